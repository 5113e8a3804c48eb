/*
 * audit_redact_test.c - what redact.h and stream.h promise
 *
 * Secrets stand here in pieces (a bar between them), so that no scanner of
 * source code takes this file for a leak.
 */
#include "audit/redact.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "redacting.h"
#include "unit.h"

#define PEM_BEGIN "-----BEGIN RSA PRIV|ATE KEY-----"
#define PEM_END "-----END RSA PRIV|ATE KEY-----"

#define STR_OF(literal) \
	{ \
		literal, sizeof(literal) - 1 \
	}

static const struct {
	const char *what;
	enum redact_as as;
	const char *in;  /* '|' stands for nothing */
	const char *out; /* #kind# stands for a mark; NULL: as it was */
} cases[] = {
	{ "nothing to mask", REDACT_TEXT, "GET /index.html took 12 ms", NULL },
	{ "no text at all", REDACT_TEXT, "", NULL },
	{ "a forge's token", REDACT_TEXT,
	    "use gh|p_0123456789abcdefghijABCDEFGHIJ012345 now", "use #github# now" },
	{ "a token that ends in -", REDACT_TEXT, "gl|pat-abcdefghijABCDEFGHI- x",
	    "#gitlab# x" },
	{ "a token longer than its format", REDACT_TEXT,
	    "sk-a|nt-api03-0123456789012345678901234567890123456789-more_of_it.",
	    "#anthropic#." },
	{ "a token glued to a word, told by its checksum", REDACT_TEXT,
	    "my1gh|p_0123456789abcdefghijABCDEFGHIJ3mp|bCX", "my1#github#" },
	{ "what only looks like a token in a word", REDACT_TEXT,
	    "my1gh|p_0123456789abcdefghijABCDEFGHIJ012345", NULL },
	{ "a token behind another's slash", REDACT_TEXT,
	    "whs|ec_0123456789abcdefghijABCD/whs|ec_0123456789abcdefghijABCD/b.c",
	    "#stripe#.c" },
	{ "a token behind an escape", REDACT_TEXT,
	    "a\\ngh|p_0123456789abcdefghijABCDEFGHIJ012345", "a\\n#github#" },
	{ "a cloud's key and its secret", REDACT_TEXT,
	    "AK|IAABCDEFGHIJKLMNOP:0123456789abcdefghij0123456789abcdefghij",
	    "#aws#:#aws#" },
	{ "a marker in the middle", REDACT_TEXT,
	    "x abc8Q|~0123456789012345678901234567890 y", "x #azure# y" },
	{ "a JWT", REDACT_TEXT,
	    "jwt ey|JhbGciOiJIUzI1NiJ9.eyJzdWIiOiJzdmMifQ.c2lnbmF0dXJl done",
	    "jwt #jwt# done" },
	{ "a bearer without a shape", REDACT_TEXT, "Bearer abcdefgh|ijkl1234 x",
	    "Bearer #authorization# x" },
	{ "the word bearer", REDACT_TEXT, "Bearer of good news", NULL },
	{ "basic", REDACT_TEXT, "Basic dXNlcjpw|YXNz", "Basic #authorization#" },
	{ "the word basic", REDACT_TEXT, "Basic authentication is off", NULL },
	{ "key and value", REDACT_TEXT, "db pwd=hunter|2;timeout=30",
	    "db pwd=#password#;timeout=30" },
	{ "key and quoted value", REDACT_TEXT, "password='two words' user=svc",
	    "password='#password#' user=svc" },
	{ "key and value in colours", REDACT_TEXT,
	    "\033[32mAPI_KEY\033[0m=\033[1mhunter|2\033[0m",
	    "\033[32mAPI_KEY\033[0m=\033[1m#api-key#\033[0m" },
	{ "a value's own shape names it", REDACT_TEXT,
	    "token=gh|p_0123456789abcdefghijABCDEFGHIJ012345", "token=#github#" },
	{ "a token in a cookie's name", REDACT_HEADER,
	    "Cookie: x gl|pat-abcdefghijABCDEFGHI :b=hunter|2; c=hunter|3",
	    "Cookie: x #gitlab# :b=#cookie#; c=#cookie#" },
	{ "a token in a field's name", REDACT_HEADER,
	    "gl|pat-abcdefghijABCDEFGHI.cookie: a=hunter|2",
	    "#gitlab#.cookie: a=#cookie#" },
	{ "a token in a variable's name", REDACT_JSON,
	    "[\"np|m_0123456789abcdefghijABCDEFGHIJ012345_TOKEN=hunter|2\"]",
	    "[\"#npm#_TOKEN=#token#\"]" },
	{ "a command's option", REDACT_TEXT, "run --password hunter|2 --user svc",
	    "run --password #password# --user svc" },
	{ "a command's login", REDACT_TEXT, "curl -u svc:hunter|2 https://h/",
	    "curl -u svc:#password# https://h/" },
	{ "a command's user and group", REDACT_TEXT, "run -u 1000:1000 image", NULL },
	{ "a key within a word", REDACT_TEXT, "tokenizer=bpe max_tokens=5 token_count: 3",
	    NULL },
	{ "a reference", REDACT_TEXT, "password: ${DB_PASSWORD} token: $(cat /run/t)",
	    NULL },
	{ "code", REDACT_TEXT, "token = get_token(user)", NULL },
	{ "somebody's mark", REDACT_TEXT, "password=*** token=[REDACTED]", NULL },
	{ "userinfo", REDACT_TEXT, "dial https://svc:hunter|2@db.example/x failed",
	    "dial https://svc:#password#@db.example/x failed" },
	{ "userinfo with an @ in it", REDACT_URL, "http://svc:p@ss|@word@host:1/",
	    "http://svc:#password#@host:1/" },
	{ "userinfo with a / in it", REDACT_URL, "http://svc:p/ss|#word@host:1",
	    "http://svc:#password#@host:1" },
	{ "a token for a user", REDACT_URL, "https://deploy|token@host/",
	    "https://#userinfo#@host/" },
	{ "a user that is none", REDACT_URL, "ssh://git@host/", NULL },
	{ "a later @", REDACT_TEXT, "https://host:8443 for build:bot@node7", NULL },
	{ "query", REDACT_URL,
	    "https://h/p?limit=20&api_key=hunter|2&key=a|b#access_token=c|d",
	    "https://h/"
	    "p?limit=20&api_key=#api-key#&key=#api-key##access_token=#token#" },
	{ "an encoded key", REDACT_URL, "/p?api%5Fkey=hunter|2",
	    "/p?api%5Fkey=#api-key#" },
	{ "a key that is none", REDACT_URL, "/p?page=2&sort_key=name", NULL },
	{ "PEM", REDACT_TEXT, "a\n" PEM_BEGIN "\nAAAA\nBBBB\n" PEM_END "\nb",
	    "a\n#pem#\nb" },
	{ "PEM that was cut", REDACT_TEXT, "a " PEM_BEGIN "\nAAAA\nBBBB", "a #pem#" },
	{ "a public key", REDACT_TEXT,
	    "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", NULL },
	{ "a header field", REDACT_HEADER, "X-Api-Key: hunter|2\r\nAccept: */*\r\n",
	    "X-Api-Key: #api-key#\r\nAccept: */*\r\n" },
	{ "the scheme stays", REDACT_HEADER,
	    "Authorization: Digest username=\"u\", response=\"0|1\"\r\n",
	    "Authorization: Digest #authorization#\r\n" },
	{ "cookies", REDACT_HEADER, "Cookie: a=hunter|2; b=hunter|3\r\n",
	    "Cookie: a=#cookie#; b=#cookie#\r\n" },
	{ "a cookie's attributes", REDACT_HEADER,
	    "Set-Cookie: a=hunter|2; Path=/; Secure\r\n",
	    "Set-Cookie: a=#cookie#; Path=/; Secure\r\n" },
	{ "obs-fold", REDACT_HEADER, "Authorization: Bearer hun\r\n ter|2\r\nHost: a\r\n",
	    "Authorization: Bearer #authorization#\r\nHost: a\r\n" },
	{ "names for values", REDACT_HEADER, "Vary: Cookie, Authorization\r\n", NULL },
	{ "JSON", REDACT_JSON, "{\"user\":\"u\", \"apiKey\" : \"hunter|2\"}",
	    "{\"user\":\"u\", \"apiKey\" : \"#api-key#\"}" },
	{ "a number", REDACT_JSON, "{\"password\":123|4,\"n\":3}",
	    "{\"password\":\"#password#\",\"n\":3}" },
	{ "what is under a secret's name", REDACT_JSON,
	    "{\"secret\":[\"a|b\",{\"c\":\"d\"}],\"e\":\"f\"}",
	    "{\"secret\":[\"#secret#\",{\"c\":\"#secret#\"}],\"e\":\"f\"}" },
	{ "an escaped name", REDACT_JSON, "{\"pass\\u0077ord\":\"hunter|2\"}",
	    "{\"pass\\u0077ord\":\"#password#\"}" },
	{ "JSON in JSON", REDACT_JSON,
	    "{\"m\":\"{\\\"password\\\":\\\"a\\\\\\\"b\\\",\\\"n\\\":1}\"}",
	    "{\"m\":\"{\\\"password\\\":\\\"#password#\\\",\\\"n\\\":1}\"}" },
	{ "a pair", REDACT_JSON,
	    "[[\"authorization\",\"Basic dXNl|cg==\"],[\"a\",\"b\"]]",
	    "[[\"authorization\",\"Basic #authorization#\"],[\"a\",\"b\"]]" },
	{ "name and value", REDACT_JSON,
	    "{\"name\":\"DB_PASSWORD\",\"value\":\"hunter|2\"}",
	    "{\"name\":\"DB_PASSWORD\",\"value\":\"#password#\"}" },
	{ "a list of names", REDACT_JSON, "{\"required\":[\"password\",\"token\"]}",
	    NULL },
	{ "a schema", REDACT_JSON,
	    "{\"properties\":{\"password\":{\"type\":\"string\"}}}", NULL },
	{ "JSON lines", REDACT_JSON, "{\"token\":\"a|b\"}\n{\"token\":\"a|b\"}\n",
	    "{\"token\":\"#token#\"}\n{\"token\":\"#token#\"}\n" },
	{ "JSON that breaks off", REDACT_JSON, "{\"a\":1,\"token\":\"hun|ter",
	    "{\"a\":1,\"token\":\"#token#" },
	{ "no JSON", REDACT_JSON, "{password=hunter|2}", "{password=#password#}" },
	{ "bytes that are no text", REDACT_TEXT, "\xff\xfe api_key=hunter|2\x01 \x80",
	    "\xff\xfe api_key=#api-key#\x01 \x80" },
	{ "a key's block that begins in another's last line", REDACT_TEXT,
	    "x Private|-Lines: 1\nabcd\n-----END A----- Private|-Lines: 2\nefgh\n"
	    "-----END B----- y\nz",
	    "x #pem# #pem# y\nz" },
	{ "a key in the last line of a key's block", REDACT_TEXT,
	    "Private|-Lines:\nCookie:\nPrivate|-Lines:s\n- x\n", "#pem#\n#pem#\n- x\n" },
	{ "a key's block in what is below a key", REDACT_TEXT,
	    "Cookie:>\n ePrivate|-Lines:\n- x\n", "Cookie:>\n #cookie#\n- x\n" },
	{ "half an escape in the line before", REDACT_URL, "\033\nm-U):p\n\\u12\n3-U):p",
	    NULL },
	{ "a token in a host", REDACT_HOST,
	    "a.gh|p_0123456789abcdefghij0123456789abcdef.b", "a.#github#.b" },
	{ "a token in a host, its capitals lost", REDACT_HOST,
	    "nr|ak-1ydqoar2nmd08se31sewbwtpck2.test", "#newrelic#.test" },
	{ "a key's id in a host, its capitals lost", REDACT_HOST,
	    "a.ak|ia2e7s4abcdefghijk.b", "a.#aws#.b" },
	{ "a token of three labels, its capitals lost", REDACT_HOST,
	    "s|g.0123456789abcdefghij01."
	    "0123456789abcdefghij0123456789abcdefghij012.b",
	    "#sendgrid#.b" },
	{ "hosts that are only hosts", REDACT_HOST,
	    "asiapacificnortheast.aizawa-web-2-blue-cluster-main-0123456789.example",
	    NULL },
	{ "a map of lists", REDACT_TEXT,
	    "map[Authorization:[Bearer kfh3|8fhw] Accept:[*/*] Cookie:[a=kfh3|8; b=c]]",
	    "map[Authorization:[Bearer #authorization#] Accept:[*/*] "
	    "Cookie:[#cookie#]]" },
	{ "another language's map of lists", REDACT_TEXT,
	    "{Authorization=[Bearer kfh3|8fhw], Accept=[*/*]}",
	    "{Authorization=[Bearer #authorization#], Accept=[*/*]}" },
	{ "typed lists", REDACT_TEXT,
	    "Header{\"X-Api-Key\":[]string{\"kfh3|8\"}, \"Accept\":[]string{\"*/*\"}}",
	    "Header{\"X-Api-Key\":[]string{\"#api-key#\"}, "
	    "\"Accept\":[]string{\"*/*\"}}" },
	{ "words in brackets", REDACT_TEXT, "a password=[abc kfh3|8] b",
	    "a password=[#password#] b" },
	{ "strings in brackets", REDACT_TEXT, "a password=['abc', 'kfh3|8'] b",
	    "a password=[#password#] b" },
	{ "a string in brackets", REDACT_TEXT, "a password: ( 'abc kfh3|8' ) b",
	    "a password: ( '#password#' ) b" },
	{ "an object without quotes", REDACT_TEXT, "token: { value: kfh3|8 }",
	    "token: { #token# }" },
	{ "brackets that are the password's", REDACT_TEXT, "DB_PASSWORD=[ab]cd kfh3|8",
	    "DB_PASSWORD=#password#" },
	{ "brackets that are the password's, in a line", REDACT_TEXT,
	    "a password=[ab]kfh3|8 b", "a password=#password# b" },
	{ "brackets with nothing in them", REDACT_TEXT, "token: {\npassword=[] secret=()",
	    NULL },
	{ "a template", REDACT_TEXT, "a token: {{ .Values.x1 }} b", NULL },
	{ "aligned", REDACT_TEXT,
	    "password                      =                    \"kfh3|8 fhw\"\n"
	    "secret\t\t\t\t\t\t\t\t\t\t\t= kfh3|8",
	    "password                      =                    \"#password#\"\n"
	    "secret\t\t\t\t\t\t\t\t\t\t\t= #secret#" },
	{ "a scheme's parameters", REDACT_TEXT,
	    "a authorization: Token token=\"kfh3|8\", user=\"kfh3|9\"",
	    "a authorization: Token #authorization#" },
	{ "a scheme's parameters in a string", REDACT_TEXT,
	    "curl -H 'Authorization: Token token=\"kfh3|8\"' https://h/",
	    "curl -H 'Authorization: Token #authorization#' https://h/" },
	{ "a scheme's parameters in a string, escaped", REDACT_TEXT,
	    "curl -H \"Authorization: Token token=\\\"kfh3|8\\\"\" https://h/",
	    "curl -H \"Authorization: Token #authorization#\" https://h/" },
	{ "credentials of many words", REDACT_TEXT,
	    "Authorization: Custom a b kfh3|8\r\nHost: a\r\n",
	    "Authorization: #authorization#\r\nHost: a\r\n" },
	{ "credentials of many words in a string", REDACT_TEXT,
	    "curl -H \"Authorization: Custom a b kfh3|8\" https://h/",
	    "curl -H \"Authorization: #authorization#\" https://h/" },
	{ "an environment's file", REDACT_TEXT,
	    "A=b c\nDB_PASSWORD=correct hor|se battery\nexport API_TOKEN=a b c\nD=e f\n",
	    "A=b c\nDB_PASSWORD=#password#\nexport API_TOKEN=#token#\nD=e f\n" },
	{ "a file of settings", REDACT_TEXT,
	    "a: b c\n  - passphrase: correct hor|se battery\n# secret = two words\nd: e "
	    "f",
	    "a: b c\n  - passphrase: #password#\n# secret = #secret#\nd: e f" },
	{ "words that begin like nothing", REDACT_TEXT,
	    "password: none of your bus|iness", "password: #password#" },
	{ "a tag", REDACT_TEXT, "password: !!str kfh3|8\nsecret: &a kfh3|8",
	    "password: #password#\nsecret: #secret#" },
	{ "a quote in quotes", REDACT_TEXT, "password: 'a '' kfh3|8' # b",
	    "password: '#password#' # b" },
	{ "no quote in quotes", REDACT_TEXT, "password='' user='svc' token=\"\"", NULL },
	{ "a variable in a string", REDACT_TEXT,
	    "run -e \"DB_PASSWORD=correct hor|se battery\" image",
	    "run -e \"DB_PASSWORD=#password#\" image" },
	{ "pairs in a line", REDACT_TEXT,
	    "token=kfh3|8 user=svc status=200\npassword: kfh3|8 user: svc\n"
	    "PHPSESSID=kfh3|8; path=/",
	    "token=#token# user=svc status=200\npassword: #password# user: svc\n"
	    "PHPSESSID=#session#; path=/" },
	{ "a variable of a command", REDACT_TEXT, "PGPASSWORD=kfh3|8 psql -h db -U svc",
	    "PGPASSWORD=#password# psql -h db -U svc" },
	{ "an option in a line of its own", REDACT_TEXT,
	    "run \\\n  --password=kfh3|8 --user svc a",
	    "run \\\n  --password=#password# --user svc a" },
	{ "what a patch takes out and puts in", REDACT_TEXT,
	    "-API_TOKEN=correct hor|se\n+API_TOKEN=correct hor|se",
	    "-API_TOKEN=#token#\n+API_TOKEN=#token#" },
	{ "sentences", REDACT_TEXT,
	    "there is no token: its address is unknown; use the password: a word of 8 "
	    "letters",
	    NULL },
	{ "a word at the end", REDACT_TEXT, "wrong password: the",
	    "wrong password: "
	    "#password#" },
	{ "a string that something holds", REDACT_TEXT,
	    "P { api_key: Some(\"kfh3|8\"), secret: Secret(\"correct hor|se\"), token: "
	    "b'kfh3|8', pwd: Some(Secret(\"a b\")) }",
	    "P { api_key: Some(\"#api-key#\"), secret: Secret(\"#secret#\"), token: "
	    "b'#token#', pwd: Some(Secret(\"#password#\")) }" },
	{ "a string that is decoded", REDACT_TEXT, "token = decode(\"kfh3|8\")",
	    "token = decode(\"#token#\")" },
	{ "where a string is from", REDACT_TEXT,
	    "password = os.environ[\"DB_PASSWORD\"]\ntoken = getenv(\"KEY_2\")\n"
	    "secret = GetValue<string>(\"Db:Password\")\nx pwd: Some(\"db.password\")\n"
	    "password = getpass(\"Password: \")",
	    NULL },
	{ "code that says nothing", REDACT_TEXT,
	    "head.is_secret = true; /* of both */\nsecret: none, try again\n"
	    "password = password.encode(\"utf-8\")",
	    NULL },
	{ "a login before a host", REDACT_TEXT,
	    "clone x-access-token:kfh3|8@h.example/a/b now",
	    "clone x-access-token:#token#@h.example/a/b now" },
	{ "a login in a URL", REDACT_TEXT, "https://x-access-token:kfh3|8@h.example/a/b",
	    "https://x-access-token:#password#@h.example/a/b" },
	{ "an @ in a token", REDACT_TEXT, "a token:kf@h.ex|ample b",
	    "a token:#token# b" },
	{ "an option of one dash", REDACT_TEXT,
	    "Connect -Server a -Password correct -Verbose\nstart -storepass kfh3|8 -v",
	    "Connect -Server a -Password #password# -Verbose\nstart -storepass "
	    "#password# "
	    "-v" },
	{ "an option's value in brackets", REDACT_TEXT,
	    "Connect -Password (ConvertTo-SecureString \"kfh3|8\" -Force) -Verbose",
	    "Connect -Password (#password#) -Verbose" },
	{ "dashes that begin no option", REDACT_TEXT,
	    "a - password reset - token -> b, a -t x, the -pass rate is 5", NULL },
	{ "pairs", REDACT_TEXT,
	    "[(b'x-api-key', b'kfh3|8'), (b'cookie', b'sid=kfh3|8'), (b'accept', "
	    "b'*/*')]",
	    "[(b'x-api-key', b'#api-key#'), (b'cookie', b'#cookie#'), (b'accept', "
	    "b'*/*')]" },
	{ "calls that set", REDACT_TEXT,
	    "define('DB_PASSWORD', 'hor|se'); p.setProperty(\"db.password\", \"hor|se\")",
	    "define('DB_PASSWORD', '#password#'); p.setProperty(\"db.password\", "
	    "\"#password#\")" },
	{ "in a longer list", REDACT_TEXT, "['Host', 'a', 'X-Api-Key', 'kfh38fhw|eoi2']",
	    "['Host', 'a', 'X-Api-Key', '#api-key#']" },
	{ "lists of names", REDACT_TEXT,
	    "IN ('password','token') f(\"token\", \"user\") ['password', 'line2', 'x'] "
	    "set(\"token\", \"password\") get(\"token\", \"none\")",
	    NULL },
	{ "a password that is told", REDACT_TEXT,
	    "the password is kfh3|8. Password was: swor|dfish, passphrase set to 'a b "
	    "kfh3|8'",
	    "the password is #password#. Password was: #password#, passphrase set to "
	    "'#password#'" },
	{ "what is told of a password", REDACT_TEXT,
	    "the password is wrong, password was: not given, password is required, "
	    "passport is kfh38, password \"reset\" failed, passwords was hunter2",
	    NULL },
	{ "whose password it is", REDACT_TEXT,
	    "the password for the db is hun|ter2-Kx93!\n"
	    "the password of the db is hun|ter2-Kx93!, password to it was hun|ter2x\n"
	    "my password is actually hun|ter2-Kx93!\npassword for bob is hun|ter2x\n"
	    "password for 'bob' was: swor|dfish.\n"
	    "secret for prod is hun|ter2-Kx93!\n"
	    "the passphrase of a key has been changed to hun|ter2x",
	    "the password for the db is #password#\n"
	    "the password of the db is #password#, password to it was #password#\n"
	    "my password is actually #password#\npassword for bob is #password#\n"
	    "password for 'bob' was: #password#.\n"
	    "secret for prod is #secret#\n"
	    "the passphrase of a key has been changed to #password#" },
	{ "a password that looks like one", REDACT_TEXT,
	    "password should be hun|ter2-Kx93! now\nset password hun|ter2-Kx93! for bob\n"
	    "using password p@ssw|0rd\nlogin failed: bad password hun|ter2-Kx93!\n"
	    "PASS hun|ter2-Kx93!\r\nchanged password of bob to hun|ter2-Kx93!",
	    "password should be #password# now\nset password #password# for bob\n"
	    "using password #password#\nlogin failed: bad password #password#\n"
	    "PASS #password#\r\nchanged password of bob to #password#" },
	{ "what is told about passwords", REDACT_TEXT,
	    "password is required\npassword for the account was reset\n"
	    "the password must be 8 characters\npassword policy v2.1\n"
	    "password reset-link-2\npassword field is empty\n"
	    "password should be at least 12 characters\nusing password YES\n"
	    "password must be base64 encoded, password should be utf8-text\n"
	    "password bob7@db.example, password argon2-x@2.0.1, password a/b1c2d3!\n"
	    "secret for host2 is in vault-7, secret of db-2 was rotated\n"
	    "password for access to db2-main is needed, password has expired",
	    NULL },
	{ "tests that pass", REDACT_TEXT,
	    "PASS FooTest#bar2test, PASS src/a2!b.test, BYPASS x1y2z3!w, PASS test_2",
	    NULL },
	{ "a token in what a password is for", REDACT_TEXT,
	    "password for gh|p_0123456789abcdefghijABCDEFGHIJ012345 is kept",
	    "password for #github# is kept" },
	{ "what a check says of a secret", REDACT_TEXT,
	    "token: expired\npassword: required\napi_key: missing\npassword: invalid.\n"
	    "bad token: revoked, [password: not set] (using password: YES)",
	    NULL },
	{ "words that are no verdict", REDACT_TEXT,
	    "x password: hidden-|7\npassword=exp|ired\npassword: \"invalid\"\n"
	    "password: hidden tig|er",
	    "x password: #password#\npassword=#password#\npassword: \"#password#\"\n"
	    "password: #password#" },
	{ "a scheme that is a value", REDACT_TEXT,
	    "token_type=Bearer expires_in=3600\nAuthScheme: Basic username=bob7", NULL },
	{ "a pair behind a scheme that is a value", REDACT_TEXT,
	    "token_type=Bearer refresh_token=hun|ter2 a=7\ntoken_type=Bearer "
	    "abcd|efgh1234\n"
	    "auth=Bearer expires_in=36|00",
	    "token_type=Bearer refresh_token=#token# a=7\ntoken_type=Bearer "
	    "#authorization#\nauth=Bearer #authorization#" },
	{ "a password in quotes", REDACT_TEXT, "login with password \"kfh3|8\" failed",
	    "login with password #password# failed" },
	{ "a parameter's key and value", REDACT_JSON,
	    "[{\"ParameterKey\":\"DbPassword\",\"ParameterValue\":\"hor|se\"},"
	    "{\"ParameterKey\":\"Size\",\"ParameterValue\":\"1\"},"
	    "{\"option_value\":\"hor|se\",\"option_name\":\"ApiToken\"},"
	    "{\"defaultValue\":\"a\",\"username\":\"token\",\"maxvalue\":1}]",
	    "[{\"ParameterKey\":\"DbPassword\",\"ParameterValue\":\"#password#\"},"
	    "{\"ParameterKey\":\"Size\",\"ParameterValue\":\"1\"},"
	    "{\"option_value\":\"#token#\",\"option_name\":\"ApiToken\"},"
	    "{\"defaultValue\":\"a\",\"username\":\"token\",\"maxvalue\":1}]" },
	{ "an option's value that is a word", REDACT_JSON,
	    "[\"--password\",\"hor|se\",\"--token\",\"--verbose\",\"-Password\",\"a\"]",
	    "[\"--password\",\"#password#\",\"--token\",\"--verbose\",\"-Password\","
	    "\"#password#\"]" },
	{ "a container's environment", REDACT_JSON,
	    "{\"env\":[\"PASSWORD=\",\"NODE_ENV=production\",\"PORT=80\"],"
	    "\"args\":[\"X-Api-Key: \",\"https://h/\"]}",
	    NULL },
	{ "a list below its key", REDACT_TEXT,
	    "password:\n- kfh3|8fhw\n- abc\nnext: 1\nsecret:\n  - 'two wo|rds'\nnext: 1",
	    "password:\n- #password#\nnext: 1\nsecret:\n  - '#secret#'\nnext: 1" },
	{ "a list below a key of many", REDACT_TEXT,
	    "a:\n  tokens:\n  - kfh3|8fhw\n  - kfh3|9fhw\n  b: c",
	    "a:\n  tokens:\n  - #token#\n  b: c" },
	{ "a list of many in a line", REDACT_TEXT,
	    "tokens: [kfh3|8, abc]\npasswords: {admin: hor|se}",
	    "tokens: [#token#]\npasswords: {#password#}" },
	{ "lists that are none of secrets", REDACT_TEXT,
	    "secrets:\n  - db_password\n  - my-cert\ntokens: [1, 2, 3]\ntokens: 5 of 7\n"
	    "secrets: [db_password, api_token]\npassword:\n- name: a\n- b c\n"
	    "max_tokens: [a1b2c]\ncredentials:\n- yes\n",
	    NULL },
	{ "blocks of every sign", REDACT_TEXT,
	    "password: >2-\n    two wo|rds\na: b\nsecret: !vault >\n  two wo|rds\na: b\n"
	    "token: > # why\n  two wo|rds\na: b\npasswd: # why\n  kfh3|8fhw\na: b",
	    "password: >2-\n    #password#\na: b\nsecret: !vault >\n  #secret#\na: b\n"
	    "token: > # why\n  #token#\na: b\npasswd: # why\n  #password#\na: b" },
	{ "comments that begin no block", REDACT_TEXT,
	    "# a: # b\n  kfh38fhw\na: b # c: # d\n  kfh38fhw\nurl: x#y:\n  kfh38fhw",
	    NULL },
	{ "an element's lines", REDACT_TEXT,
	    "<a>\n <password>\nkfh3|8\n </password>\n <token kind=\"x\">\n  two\n  "
	    "wo|rds\n </token>\n <property name=\"secret\">\n  wo|rds</property>\n</a>",
	    "<a>\n <password>\n#password#\n </password>\n <token kind=\"x\">\n  "
	    "#token#\n "
	    "</token>\n <property name=\"secret\">\n  #secret#</property>\n</a>" },
	{ "elements with none in them", REDACT_TEXT,
	    "<password>\n</password>\n<credentials>\n  <user>a</user>\n</credentials>\n"
	    "<input type=\"password\" name=\"password\">\n  Remember me\n<token/>\nabc",
	    NULL },
	{ "a parameter's key and value in lines", REDACT_TEXT,
	    "- ParameterKey: DbPassword\n  ParameterValue: hor|se\n- a: b",
	    "- ParameterKey: DbPassword\n  ParameterValue: #password#\n- a: b" },
	{ "a forged mark", REDACT_TEXT, "password=~redacted.nosuch.k1.00000000|0000~",
	    "password=#password#" },
	{ "a mark with more behind it", REDACT_TEXT,
	    "password=~redacted.token.k1.000000000000~hunter|2", "password=#password#" },
};

/* Without the bars. */
static struct buf
joined(const char *parts)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	for (; *parts != '\0'; parts++)
		if (*parts != '|')
			buf_char(&b, *parts);
	return b;
}

/* The length of the mark at the beginning of s, and its kind; 0: there is none. */
static size_t
mark_at(struct str s, struct str *kind)
{
	struct str head = STR("~redacted.");
	size_t dot;

	if (!str_starts(s, head) || !str_find(str_sub(s, head.n, s.n), '.', &dot))
		return 0;
	*kind = str_sub(s, head.n, dot);
	size_t n = head.n + dot + strlen(".k1.") + 13;
	return s.n >= n && s.p[n - 1] == '~' ? n : 0;
}

/* Marks become #kind#: their digits are another test's. */
static struct buf
with_kinds(struct str s)
{
	struct buf b;
	struct str kind;

	buf_init(&b, 1 << 20);
	while (s.n > 0) {
		size_t n = mark_at(s, &kind);

		if (n > 0)
			buf_fmt(&b, "#%.*s#", STR_ARG(kind));
		else
			buf_char(&b, s.p[0]);
		s = str_sub(s, n > 0 ? n : 1, s.n);
	}
	return b;
}

static struct redactor *
keyed(const char *key)
{
	return redactor_new(str_of(key), "k1");
}

static void
test_secrets_go_and_the_rest_stays(void **state)
{
	struct redactor *r = keyed("a key");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buf in = joined(cases[i].in);
		struct buf want =
		    joined(cases[i].out != NULL ? cases[i].out : cases[i].in);
		struct buf out = redacted(r, cases[i].as, buf_view(&in));
		struct buf got = with_kinds(buf_view(&out));

		if (!str_eq(buf_view(&got), buf_view(&want)))
			fail_msg("%s: %s", cases[i].what, buf_cstr(&got));
		buf_fini(&in);
		buf_fini(&want);
		buf_fini(&out);
		buf_fini(&got);
	}
	redactor_free(r);
}

static void
assert_twice_is_once(const struct redactor *r, const char *what, struct str in)
{
	for (int as = REDACT_TEXT; as <= REDACT_URL; as++) {
		struct buf once = redacted(r, (enum redact_as)as, in);
		struct buf twice = redacted(r, (enum redact_as)as, buf_view(&once));

		if (!str_eq(buf_view(&once), buf_view(&twice)))
			fail_msg("%s: %s", what, buf_cstr(&twice));
		buf_fini(&once);
		buf_fini(&twice);
	}
}

static void
test_redacting_twice_is_redacting_once(void **state)
{
	struct redactor *r = keyed("a key");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buf in = joined(cases[i].in);

		for (size_t from = 0; from < in.n; from += 7)
			assert_twice_is_once(
			    r, cases[i].what, str_sub(buf_view(&in), from, in.n));
		buf_fini(&in);
	}
	redactor_free(r);
}

/* NULs between a value's bytes, where a key that is written without says it is one. */
static const struct str wide_values[] = {
	STR_OF("Cookie:\\\n h\0u\0n\0t\0e\0r\0"),
	STR_OF("Cookie:\\\n \0\0\xaa"),
	STR_OF("Cookie:\\\n hu\0nter\0\0\xaa\n"),
	STR_OF("Cookie: a=h\0u\0n; b=h\0\0ter; c=\0h\0u\n"),
	STR_OF("password: |\n  h\0u\0n\0t\n"),
	STR_OF("password='h\0u\0n\0t\0' token=\"a\0bc\"\n"),
	STR_OF("p\0w\0d\0=\0h\0u\0n\0t\0e\0r\0\n\0password:\\\n "
	       "~\0r\0e\0d\0"),
};

static void
test_redacting_twice_is_once_where_each_second_byte_is_nul(void **state)
{
	struct redactor *r = keyed("a key");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(wide_values); i++) {
		struct buf out = redacted(r, REDACT_TEXT, wide_values[i]);

		assert_twice_is_once(r, "NULs", wide_values[i]);
		assert_false(str_eq(buf_view(&out), wide_values[i]));
		assert_null(memmem(out.p, out.n, "doubt", 5));
		buf_fini(&out);
	}
	redactor_free(r);
}

/* Its strings are paid for by the line: a budget of their own would be too small for it.
 */
static void
test_a_line_is_judged_behind_a_long_document_in_it(void **state)
{
	struct redactor *r = keyed("a key");
	struct buf in, out;

	(void)state;
	buf_init(&in, 1 << 20);
	buf_text(&in, "got {\"a\": [\"");
	for (int i = 0; i < 8000; i++)
		buf_text(&in, "x ");
	buf_text(&in, "\", \"y\"]}, pwd=hunter2; done: all\n");
	out = redacted(r, REDACT_TEXT, buf_view(&in));
	assert_true(str_ends(buf_view(&out), STR("~; done: all\n")));
	assert_null(memmem(out.p, out.n, "hunter2", 7));
	assert_null(memmem(out.p, out.n, "doubt", 5));
	buf_fini(&in);
	buf_fini(&out);
	redactor_free(r);
}

static void
test_a_line_that_costs_too_much_is_one_mark(void **state)
{
	struct redactor *r = keyed("a key");
	struct buf in, out, kinds;

	(void)state;
	buf_init(&in, 1 << 20);
	buf_text(&in, "one\n");
	for (int i = 0; i < 4000; i++)
		buf_text(&in, "mysql ");
	buf_text(&in, "\nthree pwd=hunter2\n");
	out = redacted(r, REDACT_TEXT, buf_view(&in));
	kinds = with_kinds(buf_view(&out));
	assert_string_equal(buf_cstr(&kinds), "one\n#doubt#\nthree pwd=#password#\n");
	/* wherever the text ends: lines do not know of each other */
	buf_reset(&kinds);
	redact(r, REDACT_TEXT, str_sub(buf_view(&in), 0, in.n - 18), &kinds);
	assert_true(str_starts(buf_view(&out), buf_view(&kinds)));
	assert_twice_is_once(r, "a line that costs too much", buf_view(&in));
	buf_fini(&in);
	buf_fini(&out);
	buf_fini(&kinds);
	redactor_free(r);
}

static void
test_a_stream_gives_the_same_however_it_is_split(void **state)
{
	struct redactor *r = keyed("a key");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buf in = joined(cases[i].in);
		struct buf whole = redacted(r, cases[i].as, buf_view(&in));

		for (size_t step = 1; step < 40; step += 3) {
			struct buf pieces =
			    streamed(r, cases[i].as, buf_view(&in), 0, step);

			if (!str_eq(buf_view(&pieces), buf_view(&whole)))
				fail_msg("%s: by %zu: %s", cases[i].what, step,
				    buf_cstr(&pieces));
			buf_fini(&pieces);
		}
		buf_fini(&in);
		buf_fini(&whole);
	}
	redactor_free(r);
}

static void
test_a_line_is_given_out_when_it_ends(void **state)
{
	struct redactor *r = keyed("a key");
	struct redact_stream s;
	struct buf out;

	(void)state;
	buf_init(&out, 1 << 20);
	redact_stream_init(&s, r, REDACT_TEXT);
	redact_stream_feed(&s, STR("one\ntwo"), &out);
	assert_true(str_eq(buf_view(&out), STR("one\n")));
	redact_stream_feed(&s, STR("\n"), &out);
	assert_true(str_eq(buf_view(&out), STR("one\ntwo\n")));
	redact_stream_fini(&s);
	buf_fini(&out);
	redactor_free(r);
}

static void
test_a_line_without_end_is_masked_in_bounded_memory(void **state)
{
	static char piece[1 << 20];
	struct redactor *r = keyed("a key");
	struct redact_stream s;
	struct buf out;

	(void)state;
	memset(piece, 'a', sizeof(piece));
	buf_init(&out, 1 << 30);
	redact_stream_init(&s, r, REDACT_TEXT);
	for (size_t n = 0; n < 3 * STREAM_UNIT_MAX; n += sizeof(piece)) {
		redact_stream_feed(&s, (struct str){ piece, sizeof(piece) }, &out);
		assert_true(s.held.cap <= 4 * STREAM_UNIT_MAX);
	}
	redact_stream_feed(&s, STR("\nnext\n"), &out);
	redact_stream_end(&s, &out);
	struct buf got = with_kinds(buf_view(&out));
	assert_string_equal(buf_cstr(&got), "#doubt#\nnext\n");
	redact_stream_fini(&s);
	buf_fini(&out);
	buf_fini(&got);
	redactor_free(r);
}

static void
test_a_part_is_the_beginning_of_the_whole_and_costs_no_more_marks(void **state)
{
	static const char *const pieces[] = { "://a:b@", "password=x&", "Bearer ", "a/" };
	struct redactor *r = redactor_new(STR("key"), "k1");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(pieces); i++) {
		struct buf text, whole, part;

		buf_init(&text, 1 << 16);
		buf_init(&whole, 1 << 20);
		buf_init(&part, 1 << 20);
		for (int n = 0; n < 2000; n++)
			buf_text(&text, pieces[i]);
		size_t masked = redact(r, REDACT_URL, buf_view(&text), &whole);
		redact_part(r, REDACT_URL, buf_view(&text), 500, &part);
		assert_row(pieces[i], part.n >= 500 || part.n == whole.n);
		assert_row(pieces[i],
		    str_eq(buf_view(&part), str_sub(buf_view(&whole), 0, part.n)));
		assert_row(pieces[i], masked < 100 || part.n < 600);
		buf_fini(&text);
		buf_fini(&whole);
		buf_fini(&part);
	}
	redactor_free(r);
}

/* The digits of the mark that `out` ends with. */
static struct str
digits(const struct buf *out)
{
	return str_sub(buf_view(out), out->n - 13, 12);
}

static bool
has_text(struct str in, struct str text)
{
	return text.n > 0 && memmem(in.p, in.n, text.p, text.n) != NULL;
}

static void
test_one_secret_has_one_mark_in_every_form(void **state)
{
	static const struct {
		enum redact_as as;
		const char *in;
	} forms[] = {
		{ REDACT_TEXT, "password=\"hun/ter2\"" },
		{ REDACT_URL, "?password=hun%2fter2" },
		{ REDACT_JSON, "{\"password\":\"hun\\/ter2\"}" },
		{ REDACT_JSON, "{\"password\":\"hun\\u002Fter2\"}" },
		{ REDACT_HEADER, "X-Token: hun/ter2\r\n" },
	};
	struct redactor *r = keyed("a key");
	struct redactor *other = keyed("another key");
	struct buf mark, foreign;

	(void)state;
	buf_init(&mark, 100);
	buf_init(&foreign, 100);
	redact_mark(r, "password", STR("hun/ter2"), &mark);
	redact_mark(other, "password", STR("hun/ter2"), &foreign);
	assert_false(str_eq(digits(&mark), digits(&foreign)));
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		struct buf out = redacted(r, forms[i].as, str_of(forms[i].in));

		assert_row(forms[i].in, has_text(buf_view(&out), digits(&mark)));
		buf_fini(&out);
	}
	buf_fini(&mark);
	buf_fini(&foreign);
	redactor_free(r);
	redactor_free(other);
}

static void
test_without_a_key_marks_say_k0(void **state)
{
	struct redactor *r = redactor_new(STR_NONE, "k7");
	struct buf out = redacted(r, REDACT_TEXT, STR("password=hunter2"));

	(void)state;
	assert_true(str_starts(buf_view(&out), STR("password=~redacted.password.k0.")));
	buf_fini(&out);
	redactor_free(r);
}

/* Else a secret in the log could not be followed into the audit log, nor over a reload.
 */
static void
test_without_a_key_one_secret_has_one_mark_for_the_whole_run(void **state)
{
	struct redactor *one = redactor_new(STR_NONE, NULL);
	struct redactor *other = redactor_new(STR_NONE, NULL);
	struct buf a = redacted(one, REDACT_TEXT, STR("password=hunter2"));
	struct buf b = redacted(other, REDACT_TEXT, STR("password=hunter2"));

	(void)state;
	assert_true(str_eq(buf_view(&a), buf_view(&b)));
	buf_fini(&a);
	buf_fini(&b);
	redactor_free(one);
	redactor_free(other);
}

static bool
is_secret_name(const char *name)
{
	struct redactor *r = redactor_new(STR_NONE, NULL);
	struct buf in, out;

	buf_init(&in, 256);
	buf_init(&out, 1024);
	buf_fmt(&in, "{\"%s\": \"hunter22\"}", name);
	size_t n = redact(r, REDACT_JSON, buf_view(&in), &out);
	buf_fini(&in);
	buf_fini(&out);
	redactor_free(r);
	return n > 0;
}

static void
test_names_are_judged_by_their_last_words(void **state)
{
	static const char *const secret[] = { "password", "DB_PASSWORD", "clientSecret",
		"x-api-key", "PGPASSWORD", "Proxy-Authorization", "refresh.token",
		"AWSSecretAccessKey", "csrftoken", "DB_PASS", "session_id", "sessionId",
		"JSESSIONID", "PHPSESSID", "connect.sid", "ASP.NET_SessionId", "X-Auth" };
	static const char *const plain[] = { "tokenizer", "token_type", "max_tokens",
		"password_hint", "sort_key", "author", "passport", "monkey",
		"private_key_id", "", "bypass", "sid", "session", "session_name",
		"session_ids", "request_id", "X-Auth-User" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(secret); i++)
		assert_row(secret[i], is_secret_name(secret[i]));
	for (size_t i = 0; i < COUNT_OF(plain); i++)
		assert_row(plain[i], !is_secret_name(plain[i]));
}

/* RFC 2104: a key longer than a block is hashed first. */
static void
test_a_mark_is_the_beginning_of_an_hmac(void **state)
{
	static const size_t lengths[] = { 1, 63, 64, 65, 200 };
	struct str secret = STR("hunter2");
	char key[200];

	(void)state;
	memset(key, 'k', sizeof(key));
	for (size_t i = 0; i < COUNT_OF(lengths); i++) {
		struct str bytes = { key, lengths[i] };
		struct redactor *r = redactor_new(bytes, "k1");
		unsigned char mac[32];
		size_t n;
		struct buf is, expected;

		assert_non_null(
		    EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, bytes.p, bytes.n,
			(const unsigned char *)secret.p, secret.n, mac, sizeof(mac), &n));
		buf_init(&is, 256);
		buf_init(&expected, 256);
		redact_mark(r, "password", secret, &is);
		buf_text(&expected, "~redacted.password.k1.");
		for (size_t k = 0; k < 6; k++)
			buf_fmt(&expected, "%02x", mac[k]);
		buf_char(&expected, '~');
		assert_string_equal(buf_cstr(&is), buf_cstr(&expected));
		buf_fini(&is);
		buf_fini(&expected);
		redactor_free(r);
	}
}

static void
test_what_follows_too_many_secrets_in_a_line_is_one_mark(void **state)
{
	static const struct {
		enum redact_as as;
		const char *begin, *unit;
		size_t least; /* marks; a document cut short is none, and goes whole */
	} dense[] = {
		{ REDACT_TEXT, "", "token=hun|ter2 ", 256 },
		{ REDACT_TEXT, "", "AK|IAABCDEFGHIJKLMNOP ", 256 },
		{ REDACT_TEXT, "[", "[\"token\",\"hun|ter2\"],", 1 },
		{ REDACT_JSON, "[", "[\"token\",\"hun|ter2\"],", 1 },
		{ REDACT_HEADER, "x: ", "token=hun|ter2 ", 256 },
		{ REDACT_URL, "http://h/?", "token=hun|ter2&", 256 },
	};
	struct redactor *r = keyed("a key");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(dense); i++) {
		struct buf in = joined(dense[i].begin);
		struct buf unit = joined(dense[i].unit);

		while (in.n < 20000)
			buf_str(&in, buf_view(&unit));
		buf_text(&in, "\na=b token=other1 c=d\n");
		struct buf out = redacted(r, dense[i].as, buf_view(&in));
		assert_int_equal(count_of(buf_view(&out), "hunter2"), 0);
		assert_int_equal(count_of(buf_view(&out), "IAABCDEF"), 0);
		assert_int_equal(count_of(buf_view(&out), "other1"), 0);
		assert_in_range(count_of(buf_view(&out), "~redacted."), dense[i].least,
		    256 + 20000 / 64 + 8);
		if (dense[i].as != REDACT_JSON) /* there it is one document */
			assert_int_equal(count_of(buf_view(&out), " c=d\n"), 1);
		buf_fini(&unit);
		buf_fini(&in);
		buf_fini(&out);
	}
	redactor_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_secrets_go_and_the_rest_stays),
		cmocka_unit_test(test_redacting_twice_is_redacting_once),
		cmocka_unit_test(
		    test_redacting_twice_is_once_where_each_second_byte_is_nul),
		cmocka_unit_test(test_a_line_is_judged_behind_a_long_document_in_it),
		cmocka_unit_test(test_a_line_that_costs_too_much_is_one_mark),
		cmocka_unit_test(test_a_stream_gives_the_same_however_it_is_split),
		cmocka_unit_test(test_a_line_is_given_out_when_it_ends),
		cmocka_unit_test(test_a_line_without_end_is_masked_in_bounded_memory),
		cmocka_unit_test(
		    test_a_part_is_the_beginning_of_the_whole_and_costs_no_more_marks),
		cmocka_unit_test(test_one_secret_has_one_mark_in_every_form),
		cmocka_unit_test(test_without_a_key_marks_say_k0),
		cmocka_unit_test(
		    test_without_a_key_one_secret_has_one_mark_for_the_whole_run),
		cmocka_unit_test(test_names_are_judged_by_their_last_words),
		cmocka_unit_test(test_a_mark_is_the_beginning_of_an_hmac),
		cmocka_unit_test(
		    test_what_follows_too_many_secrets_in_a_line_is_one_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
