/*
 * dns_server.h - a name server that does as a table says, well or badly
 *
 * Its own thread, UDP and TCP on one loopback port.
 */
#ifndef WEIR_TESTS_DNS_SERVER_H
#define WEIR_TESTS_DNS_SERVER_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "net_wait.h"

enum { TYPE_A = 1, TYPE_CNAME = 5, TYPE_AAAA = 28 };

enum zone_act {
	ZONE_ANSWER, /* `data`: addresses; "name>" is a CNAME to that name, which owns
			what follows */
	ZONE_NODATA,
	ZONE_NXDOMAIN,
	ZONE_SERVFAIL,
	ZONE_REFUSED,
	ZONE_SILENT,
	ZONE_WRONG_ID, /* otherwise right */
	ZONE_WRONG_QUESTION,
	ZONE_GARBAGE,          /* a good header and nothing that parses */
	ZONE_STRAY,            /* the addresses belong to another name */
	ZONE_TRUNCATED,        /* whole by TCP */
	ZONE_TRUNCATED_PIECES, /* by TCP, a few bytes at a time */
};

struct zone_row {
	const char *name; /* ".x" is all names under x */
	int type;         /* 0: both */
	enum zone_act act;
	const char *data;
	uint32_t ttl;
};

#define SEEN_MAX 4096

struct dns_server {
	const struct zone_row *row;
	size_t nrow;
	int udp, tcp, stop[2];
	char address[32];
	struct endpoint endpoint;
	pthread_t thread;
	pthread_mutex_t lock;
	size_t nseen; /* questions, in order */
	char seen[SEEN_MAX][80];
};

struct dns_bytes {
	uint8_t p[4096];
	size_t n;
};

static inline void
dns_add(struct dns_bytes *b, const void *p, size_t n)
{
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

static inline void
dns_add_number(struct dns_bytes *b, uint64_t v, size_t bytes)
{
	while (bytes-- > 0)
		b->p[b->n++] = (uint8_t)(v >> (8 * bytes));
}

static inline void
dns_add_name(struct dns_bytes *b, const char *name)
{
	while (*name != '\0') {
		size_t n = strcspn(name, ".");

		dns_add_number(b, (uint32_t)n, 1);
		dns_add(b, name, n);
		name += n + (name[n] == '.');
	}
	dns_add_number(b, 0, 1);
}

static inline void
dns_add_record(
    struct dns_bytes *b, const char *owner, int type, uint32_t ttl, const char *data)
{
	struct dns_bytes rdata = { .n = 0 };
	struct addr a;

	if (type == TYPE_CNAME)
		dns_add_name(&rdata, data);
	else if (addr_parse(&a, str_of(data)))
		dns_add(&rdata, a.b + (type == TYPE_A ? 12 : 0), type == TYPE_A ? 4 : 16);
	dns_add_name(b, owner);
	dns_add_number(b, (uint32_t)type, 2);
	dns_add_number(b, 1, 2);
	dns_add_number(b, ttl, 4);
	dns_add_number(b, (uint32_t)rdata.n, 2);
	dns_add(b, rdata.p, rdata.n);
}

/* The answer section; returns how many records it has. */
static inline unsigned
dns_add_data(struct dns_bytes *b, const struct zone_row *row, int type)
{
	char copy[1024], *save = NULL;
	const char *owner = row->act == ZONE_STRAY ? "other.test" : row->name;
	static __thread char alias[80];
	unsigned n = 0;

	snprintf(copy, sizeof(copy), "%s", row->data == NULL ? "" : row->data);
	for (char *word = strtok_r(copy, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save)) {
		size_t end = strlen(word) - 1;

		n++;
		if (word[end] != '>') {
			dns_add_record(b, owner, type, row->ttl, word);
			continue;
		}
		word[end] = '\0';
		dns_add_record(b, owner, TYPE_CNAME, row->ttl, word);
		snprintf(alias, sizeof(alias), "%s", word);
		owner = alias;
	}
	return n;
}

static inline const struct zone_row *
dns_row(const struct dns_server *s, const char *name, int type)
{
	for (size_t i = 0; i < s->nrow; i++) {
		const struct zone_row *row = &s->row[i];
		bool is_it = row->name[0] == '.'
				 ? str_ends(str_of(name), str_of(row->name))
				 : strcmp(row->name, name) == 0;

		if (is_it && (row->type == 0 || row->type == type))
			return row;
	}
	return NULL;
}

/* The question of a query: its name in text, its type; returns its length on the wire. */
static inline size_t
dns_question(const uint8_t *q, char *name, int *type)
{
	size_t at = 12, n = 0;

	while (q[at] != 0) {
		if (n > 0)
			name[n++] = '.';
		memcpy(name + n, q + at + 1, q[at]);
		n += q[at];
		at += 1u + q[at];
	}
	name[n] = '\0';
	*type = q[at + 1] << 8 | q[at + 2];
	return at + 5 - 12;
}

/* False: no answer. */
static inline bool
dns_answer_to(struct dns_server *s, struct dns_bytes *out, const uint8_t *q, bool is_tcp,
    enum zone_act *act)
{
	static const unsigned rcode[] = { [ZONE_NXDOMAIN] = 3,
		[ZONE_SERVFAIL] = 2,
		[ZONE_REFUSED] = 5,
		[ZONE_TRUNCATED_PIECES] = 0 };
	char name[256];
	int type;
	size_t length = dns_question(q, name, &type);
	const struct zone_row *row = dns_row(s, name, type);
	unsigned flags = 0x8180, n = 0;

	pthread_mutex_lock(&s->lock);
	if (s->nseen < SEEN_MAX)
		snprintf(s->seen[s->nseen++], sizeof(s->seen[0]), "%.60s %d%s", name,
		    type, is_tcp ? " tcp" : "");
	pthread_mutex_unlock(&s->lock);
	*act = row == NULL ? ZONE_NXDOMAIN : row->act;
	if (*act == ZONE_SILENT)
		return false;
	flags |= rcode[*act];
	out->n = 0;
	dns_add(out, q, 2);
	if (*act == ZONE_WRONG_ID)
		out->p[0] ^= 0x55;
	if ((*act == ZONE_TRUNCATED || *act == ZONE_TRUNCATED_PIECES) && !is_tcp)
		flags |= 0x0200;
	dns_add_number(out, flags, 2);
	dns_add_number(out, 1, 2);
	dns_add_number(out, 0, 6);
	dns_add(out, q + 12, length);
	if (*act == ZONE_WRONG_QUESTION)
		out->p[13] ^= 1;
	if (*act == ZONE_GARBAGE)
		out->p[7] = 9; /* nine answers, none there */
	if ((flags & 0x020f) == 0 && *act != ZONE_NODATA && *act != ZONE_GARBAGE &&
	    row != NULL)
		n = dns_add_data(out, row, type);
	if (n > 0)
		out->p[7] = (uint8_t)n;
	return true;
}

static inline void
dns_serve_udp(struct dns_server *s)
{
	uint8_t q[1500];
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	ssize_t n = recvfrom(s->udp, q, sizeof(q), 0, (struct sockaddr *)&from, &len);
	struct dns_bytes out;
	enum zone_act act;

	if (n > 12 && dns_answer_to(s, &out, q, false, &act))
		(void)!sendto(s->udp, out.p, out.n, 0, (struct sockaddr *)&from, len);
}

static inline void
dns_send_tcp(int fd, const struct dns_bytes *out, bool is_slow)
{
	struct dns_bytes framed = { .n = 0 };
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	dns_add_number(&framed, (uint32_t)out->n, 2);
	dns_add(&framed, out->p, out->n);
	for (size_t at = 0; at < framed.n;) {
		size_t n = is_slow && at < 40 ? 1 : framed.n - at;

		if (send(fd, framed.p + at, n, MSG_NOSIGNAL) < 0)
			return;
		at += n;
		if (is_slow)
			poll(NULL, 0, 1); /* so that the pieces arrive apart */
	}
}

static inline void
dns_serve_tcp(struct dns_server *s)
{
	int fd = accept(s->tcp, NULL, NULL);
	uint8_t q[1500];
	struct dns_bytes out;
	enum zone_act act;

	while (recv(fd, q, 2, MSG_WAITALL) == 2) {
		size_t n = (size_t)(q[0] << 8 | q[1]);

		if (n > sizeof(q) || recv(fd, q, n, MSG_WAITALL) != (ssize_t)n)
			break;
		if (dns_answer_to(s, &out, q, true, &act))
			dns_send_tcp(fd, &out, act == ZONE_TRUNCATED_PIECES);
	}
	close(fd);
}

static inline void *
dns_serve(void *arg)
{
	struct dns_server *s = arg;
	struct pollfd fds[] = { { s->udp, POLLIN, 0 }, { s->tcp, POLLIN, 0 },
		{ s->stop[0], POLLIN, 0 } };

	for (;;) {
		poll(fds, 3, -1);
		if (fds[2].revents)
			return NULL;
		if (fds[0].revents)
			dns_serve_udp(s);
		if (fds[1].revents)
			dns_serve_tcp(s);
	}
}

static inline void
dns_server_start(struct dns_server *s, const struct zone_row *row, size_t nrow)
{
	struct sockaddr_storage sa;
	socklen_t len;

	memset(s, 0, sizeof(*s));
	s->row = row;
	s->nrow = nrow;
	pthread_mutex_init(&s->lock, NULL);
	s->endpoint.addr = address("127.0.0.1");
	s->tcp = listen_on("127.0.0.1", &s->endpoint.port, 64);
	len = endpoint_sockaddr(&s->endpoint, &sa);
	s->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->udp, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(pipe(s->stop), 0);
	snprintf(s->address, sizeof(s->address), "127.0.0.1:%u", s->endpoint.port);
	assert_int_equal(pthread_create(&s->thread, NULL, dns_serve, s), 0);
}

static inline void
dns_server_stop(struct dns_server *s)
{
	assert_int_equal(write(s->stop[1], "x", 1), 1);
	pthread_join(s->thread, NULL);
	close(s->udp);
	close(s->tcp);
	close(s->stop[0]);
	close(s->stop[1]);
	pthread_mutex_destroy(&s->lock);
}

static inline size_t
dns_server_seen(struct dns_server *s)
{
	size_t n;

	pthread_mutex_lock(&s->lock);
	n = s->nseen;
	pthread_mutex_unlock(&s->lock);
	return n;
}

#endif
