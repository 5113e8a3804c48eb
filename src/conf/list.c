/*
 * list.c - types of many values: listeners, servers, prefixes, paths, static answers
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "conf/text.h"
#include "conf/value.h"

#define LINE_MOST 1024

/* What one entry becomes; false after reporting.  `slot` is zeroed memory of its size. */
typedef bool entry_reader(const struct loading *l, const struct node *n, void *slot);

static bool
is_count_fit(const struct loading *l, const struct row *row, const struct node *n)
{
	if (n->n <= (size_t)row->max)
		return true;
	node_error(l->t, n, l->rep, "out_of_range", NULL,
	    "%s has at most %lld entries, not %zu", row->key, (long long)row->max, n->n);
	return false;
}

/* Reads every child even when one is wrong.  False: there are still `*count` entries to
 * free. */
static bool
entries_read(const struct loading *l, const struct node *n, entry_reader *read,
    size_t size, void **entries, size_t *count)
{
	char *slot = mem_zalloc(n->n * size + 1);
	bool is_fine = true;

	*entries = slot;
	for (const struct node *at = n->child; at != NULL; at = at->next) {
		if (read(l, at, slot)) {
			slot += size;
			*count += 1;
		} else {
			is_fine = false;
		}
	}
	return is_fine;
}

/* ---- texts */

static void
texts_free(void *field)
{
	struct texts *texts = field;

	for (size_t i = 0; i < texts->n; i++)
		free(texts->p[i]);
	free(texts->p);
}

static bool
texts_same(const void *a, const void *b)
{
	const struct texts *x = a, *y = b;

	if (x->n != y->n)
		return false;
	for (size_t i = 0; i < x->n; i++)
		if (strcmp(x->p[i], y->p[i]) != 0)
			return false;
	return true;
}

/* The first entry that stood before, or NULL; entries and nodes are in step. */
static const struct node *
texts_twice(const struct texts *texts, const struct node *n)
{
	const struct node *at = n->child;

	for (size_t i = 0; i < texts->n; i++, at = at->next)
		for (size_t k = 0; k < i; k++)
			if (strcmp(texts->p[i], texts->p[k]) == 0)
				return at;
	return NULL;
}

static bool
texts_read(const struct loading *l, const struct row *row, const struct node *n,
    void *field, entry_reader *read)
{
	struct texts texts = { 0 };
	void *entries;

	if (!node_is(l->t, n, l->rep, NODE_LIST) || !is_count_fit(l, row, n))
		return false;
	bool is_fine = entries_read(l, n, read, sizeof(char *), &entries, &texts.n);
	texts.p = entries;
	const struct node *twice = is_fine ? texts_twice(&texts, n) : NULL;
	if (twice != NULL)
		node_error(l->t, twice, l->rep, "duplicate_value", NULL,
		    "\"%.*s\" stands in this list twice", STR_ARG(twice->text));
	if (!is_fine || twice != NULL) {
		texts_free(&texts);
		return false;
	}
	*(struct texts *)field = texts;
	return true;
}

/* ---- listeners and servers */

static bool
unix_read(const struct loading *l, const struct node *n, void *slot)
{
	struct sockaddr_un un;
	struct str path = str_sub(n->text, 5, n->text.n);
	struct buf full;

	if (path.n == 0 || path.p[0] == '@') {
		node_error(l->t, n, l->rep, "bad_listener",
		    "write unix: and a path: unix:/run/weir/proxy.sock",
		    "\"%.*s\" names no socket's path", STR_ARG(n->text));
		return false;
	}
	buf_init(&full, TEXT_ANY);
	buf_text(&full, "unix:");
	if (path.p[0] != '/')
		buf_fmt(&full, "%s/", l->directory);
	buf_str(&full, path);
	bool is_fit = full.n - 5 < sizeof(un.sun_path);
	if (is_fit)
		*(char **)slot = str_dup(buf_view(&full));
	else
		node_error(l->t, n, l->rep, "bad_listener", "write a shorter path",
		    "the path of a socket has at most %zu bytes, this one has %zu",
		    sizeof(un.sun_path) - 1, full.n - 5);
	buf_fini(&full);
	return is_fit;
}

static const char *
listener_hint(struct str text)
{
	struct addr addr;
	uint16_t port;
	size_t at;

	if (addr_parse(&addr, text))
		return "add a port: 127.0.0.1:3128 or [::1]:3128";
	if (port_parse(&port, text) || str_starts(text, STR(":")))
		return "write the address too: 127.0.0.1:3128";
	if (str_starts(text, STR("/")) || str_starts(text, STR(".")))
		return "write unix: before the path of a socket";
	if (str_rfind(text, ':', &at) && port_parse(&port, str_sub(text, at + 1, text.n)))
		return "write an address, not a name: 127.0.0.1:3128 or [::1]:3128";
	return "write ADDRESS:PORT, [ADDRESS]:PORT for IPv6, or unix:PATH";
}

static bool
listen_read_one(const struct loading *l, const struct node *n, void *slot)
{
	struct endpoint e;
	struct str text;

	if (!node_str(l->t, n, l->rep, &text))
		return false;
	if (str_starts(text, STR("unix:")))
		return unix_read(l, n, slot);
	if (!endpoint_parse(&e, listener_address(text))) {
		node_error(l->t, n, l->rep, "bad_listener",
		    listener_hint(listener_address(text)),
		    "\"%.*s\" is no place to listen at", STR_ARG(text));
		return false;
	}
	*(char **)slot = str_dup(text);
	return true;
}

static bool
server_read_one(const struct loading *l, const struct node *n, void *slot)
{
	struct endpoint e;
	struct str text;

	if (!node_str(l->t, n, l->rep, &text))
		return false;
	if (!addr_parse(&e.addr, text) && !endpoint_parse(&e, text)) {
		node_error(l->t, n, l->rep, "bad_address",
		    "write its address: 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:53",
		    "\"%.*s\" is not the address of a name server", STR_ARG(text));
		return false;
	}
	*(char **)slot = str_dup(text);
	return true;
}

static bool
path_read_one(const struct loading *l, const struct node *n, void *slot)
{
	char *path = path_from(l, n);

	*(char **)slot = path;
	return path != NULL;
}

static bool
listen_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	return texts_read(l, row, n, field, listen_read_one);
}

static bool
server_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	return texts_read(l, row, n, field, server_read_one);
}

static bool
paths_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	return texts_read(l, row, n, field, path_read_one);
}

static bool
text_read_one(const struct loading *l, const struct node *n, void *slot)
{
	struct str text;

	if (!node_str(l->t, n, l->rep, &text))
		return false;
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] <= ' ' || text.p[i] == 0x7f)
			text.n = 0;
	if (text.n == 0 || text.n > 255) {
		node_error(l->t, n, l->rep, "bad_text", NULL,
		    "1 to 255 characters that can be seen must stand here");
		return false;
	}
	*(char **)slot = str_dup(text);
	return true;
}

static bool
text_list_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	return texts_read(l, row, n, field, text_read_one);
}

/* Texts that are like what others write: blanks and all. */
static bool
line_read_one(const struct loading *l, const struct node *n, void *slot)
{
	struct str text;

	if (!node_str(l->t, n, l->rep, &text))
		return false;
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
			text.n = 0;
	if (text.n == 0 || text.n > LINE_MOST) {
		node_error(l->t, n, l->rep, "bad_text", NULL,
		    "1 to %d characters of one line must stand here", LINE_MOST);
		return false;
	}
	*(char **)slot = str_dup(text);
	return true;
}

static bool
line_list_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	return texts_read(l, row, n, field, line_read_one);
}

const struct type type_LIST_line = { "list of lines", "entries", line_list_read,
	texts_same, texts_free, NULL, NULL, NULL };
const struct type type_LIST_text = { "list of texts", "entries", text_list_read,
	texts_same, texts_free, NULL, NULL, NULL };
const struct type type_LIST_listen = { "list of listeners", "entries", listen_read,
	texts_same, texts_free, NULL, NULL, NULL };
const struct type type_LIST_server = { "list of addresses", "entries", server_read,
	texts_same, texts_free, NULL, NULL, NULL };
const struct type type_LIST_path = { "list of paths", "entries", paths_read, texts_same,
	texts_free, NULL, NULL, NULL };

/* ---- prefixes */

/* What the text would be with its host bits cleared, or a general hint. */
static const char *
prefix_hint(struct str text, char out[static 80])
{
	struct addr addr;
	struct prefix p;
	uint64_t bits;
	size_t at;
	char clean[PREFIX_TEXT];

	if (!str_find(text, '/', &at) || !addr_parse(&addr, str_sub(text, 0, at)) ||
	    !str_decimal(str_sub(text, at + 1, text.n), &bits) || bits > 128 ||
	    !prefix_of(&p, &addr, (unsigned)bits + (addr_is_v4(&addr) ? 96 : 0)))
		return "write an address and a length: 10.0.0.0/8 or 2001:db8::/32";
	snprintf(out, 80, "write %s", prefix_text(clean, &p));
	return out;
}

static bool
prefix_read_one(const struct loading *l, const struct node *n, void *slot)
{
	struct prefix *p = slot;
	struct str text;
	char hint[80];

	if (!node_str(l->t, n, l->rep, &text))
		return false;
	if (addr_parse(&p->addr, text)) { /* one address is a range of one */
		p->len = 128;
		return true;
	}
	if (prefix_parse(p, text))
		return true;
	node_error(l->t, n, l->rep, "bad_prefix", prefix_hint(text, hint),
	    "\"%.*s\" is not a range of addresses", STR_ARG(text));
	return false;
}

/* RFC 6052 2.2 has other lengths too; weir unwraps the common one only. */
static bool
nat64_read_one(const struct loading *l, const struct node *n, void *slot)
{
	struct prefix *p = slot;

	if (!prefix_read_one(l, n, slot))
		return false;
	if (p->len == 96 && !addr_is_v4(&p->addr))
		return true;
	node_error(l->t, n, l->rep, "bad_prefix", "write an IPv6 /96: 2001:db8:64::/96",
	    "\"%.*s\" is not a NAT64 prefix of 96 bits", STR_ARG(n->text));
	return false;
}

/* Where everybody is one, everybody may say to be anybody. */
static bool
balancer_read_one(const struct loading *l, const struct node *n, void *slot)
{
	struct prefix *p = slot;

	if (!prefix_read_one(l, n, slot))
		return false;
	if (p->len > 0 && !(p->len == 96 && addr_is_v4(&p->addr)))
		return true;
	node_error(l->t, n, l->rep, "bad_prefix", "write the balancers' own addresses",
	    "\"%.*s\" is every address: any client could say that it is another one",
	    STR_ARG(n->text));
	return false;
}

static bool
prefixes_read(const struct loading *l, const struct row *row, const struct node *n,
    void *field, entry_reader *read)
{
	struct prefixes prefixes = { 0 };
	void *entries;

	if (!node_is(l->t, n, l->rep, NODE_LIST) || !is_count_fit(l, row, n))
		return false;
	bool is_fine =
	    entries_read(l, n, read, sizeof(struct prefix), &entries, &prefixes.n);
	prefixes.p = entries;
	if (is_fine)
		*(struct prefixes *)field = prefixes;
	else
		free(entries);
	return is_fine;
}

static bool
prefix_list_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	return prefixes_read(l, row, n, field, prefix_read_one);
}

static bool
nat64_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	return prefixes_read(l, row, n, field, nat64_read_one);
}

static bool
balancers_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	return prefixes_read(l, row, n, field, balancer_read_one);
}

static bool
prefix4_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	struct prefix *p = field, read;

	(void)row;
	if (!prefix_read_one(l, n, &read))
		return false;
	if (read.len < 96 || !addr_is_v4(&read.addr)) {
		node_error(l->t, n, l->rep, "bad_prefix",
		    "write an IPv4 range: 198.18.0.0/15",
		    "\"%.*s\" is no range of IPv4 addresses", STR_ARG(n->text));
		return false;
	}
	*p = read;
	return true;
}

static bool
prefix_same(const void *a, const void *b)
{
	const struct prefix *x = a, *y = b;

	return x->len == y->len && addr_eq(&x->addr, &y->addr);
}

const struct type type_PREFIX4 = { "range of IPv4 addresses", NULL, prefix4_read,
	prefix_same, NULL, NULL, NULL, NULL };

static bool
prefixes_same(const void *a, const void *b)
{
	const struct prefixes *x = a, *y = b;

	if (x->n != y->n)
		return false;
	for (size_t i = 0; i < x->n; i++)
		if (x->p[i].len != y->p[i].len || !addr_eq(&x->p[i].addr, &y->p[i].addr))
			return false;
	return true;
}

static void
prefixes_free(void *field)
{
	free(((struct prefixes *)field)->p);
}

const struct type type_LIST_prefix = { "list of ranges", "entries", prefix_list_read,
	prefixes_same, prefixes_free, NULL, NULL, NULL };
const struct type type_LIST_balancer = { "list of ranges", "entries", balancers_read,
	prefixes_same, prefixes_free, NULL, NULL, NULL };
const struct type type_LIST_nat64 = { "list of IPv6 /96", "entries", nat64_read,
	prefixes_same, prefixes_free, NULL, NULL, NULL };

/* ---- static answers */

static bool
address_read_one(const struct loading *l, const struct node *n, void *slot)
{
	struct str text;

	if (!node_str(l->t, n, l->rep, &text))
		return false;
	if (addr_parse(slot, text))
		return true;
	node_error(l->t, n, l->rep, "bad_address",
	    "write an address: 192.0.2.1 or 2001:db8::1", "\"%.*s\" is not an address",
	    STR_ARG(text));
	return false;
}

static bool
answers_read(const struct loading *l, const struct node *n, struct host_answers *out)
{
	void *entries;

	if (!node_is(l->t, n, l->rep, NODE_LIST))
		return false;
	if (n->n == 0 || n->n > HOST_ANSWERS_MAX) {
		node_error(l->t, n, l->rep, "out_of_range", NULL,
		    "a name has 1 to %d addresses, not %zu", HOST_ANSWERS_MAX, n->n);
		return false;
	}
	bool is_fine = entries_read(
	    l, n, address_read_one, sizeof(struct addr), &entries, &out->naddr);
	if (is_fine)
		out->addr = entries;
	else
		free(entries);
	return is_fine;
}

static bool
host_read_one(const struct loading *l, const struct node *n, void *slot)
{
	struct host_answers h = { .mark = n->key_mark };

	if (!answers_read(l, n, &h))
		return false;
	h.name = str_dup(n->key);
	*(struct host_answers *)slot = h;
	return true;
}

static void
hosts_free(void *field)
{
	struct hosts *hosts = field;

	for (size_t i = 0; i < hosts->n; i++) {
		free(hosts->p[i].name);
		free(hosts->p[i].addr);
	}
	free(hosts->p);
}

static bool
hosts_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	struct hosts hosts = { 0 };
	void *entries;

	if (!node_is(l->t, n, l->rep, NODE_BLOCK) || !is_count_fit(l, row, n))
		return false;
	bool is_fine = entries_read(
	    l, n, host_read_one, sizeof(struct host_answers), &entries, &hosts.n);
	hosts.p = entries;
	if (is_fine)
		*(struct hosts *)field = hosts;
	else
		hosts_free(&hosts);
	return is_fine;
}

static bool
host_same(const struct host_answers *a, const struct host_answers *b)
{
	return strcmp(a->name, b->name) == 0 && a->naddr == b->naddr &&
	       memcmp(a->addr, b->addr, a->naddr * sizeof(*a->addr)) == 0;
}

static bool
hosts_same(const void *a, const void *b)
{
	const struct hosts *x = a, *y = b;

	if (x->n != y->n)
		return false;
	for (size_t i = 0; i < x->n; i++)
		if (!host_same(&x->p[i], &y->p[i]))
			return false;
	return true;
}

const struct type type_MAP_hosts = { "block of names and lists of addresses", "entries",
	hosts_read, hosts_same, hosts_free, NULL, NULL, NULL };
