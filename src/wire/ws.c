#include "wire/ws.h"

#include <openssl/evp.h>
#include <string.h>

#define KEY_TEXT 24 /* 16 bytes in base64 */
#define SHA1_LEN 20

static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455 1.3 */

/* Strictly: 22 characters, of which the last carries two bits, and "==". */
static bool
is_key(struct str key)
{
	static const char alphabet[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	if (key.n != KEY_TEXT || !str_ends(key, STR("==")))
		return false;
	for (size_t i = 0; i < KEY_TEXT - 3; i++)
		if (key.p[i] == '\0' || strchr(alphabet, key.p[i]) == NULL)
			return false;
	return key.p[KEY_TEXT - 3] != '\0' && strchr("AQgw", key.p[KEY_TEXT - 3]) != NULL;
}

bool
ws_accept(char out[static 29], struct str key)
{
	unsigned char digest[SHA1_LEN];
	char text[KEY_TEXT + sizeof(guid) - 1];

	if (!is_key(key))
		return false;
	memcpy(text, key.p, KEY_TEXT);
	memcpy(text + KEY_TEXT, guid, sizeof(guid) - 1);
	if (EVP_Digest(text, sizeof(text), digest, NULL, EVP_sha1(), NULL) != 1)
		return false;
	EVP_EncodeBlock((unsigned char *)out, digest, SHA1_LEN);
	return true;
}

/* The one field of that name, or nothing. */
static struct str
only_value(const struct http_head *h, struct str name)
{
	const struct http_field *f = http_field(h, name);

	return f != NULL && http_field_count(h, name) == 1 ? f->value : STR_NONE;
}

bool
ws_is_request(const struct http_head *h)
{
	bool has_body = h->framing == HTTP_CHUNKED || h->length > 0;

	return h->kind == HTTP_REQUEST && h->is_upgrade && h->minor == 1 && !has_body &&
	       str_eq(h->method, STR("GET")) &&
	       is_key(only_value(h, STR("sec-websocket-key"))) &&
	       str_eq(only_value(h, STR("sec-websocket-version")), STR("13"));
}
