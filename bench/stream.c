/*
 * stream.c - the CPU that reverse proxies spend on a model call, and on each event of one
 *
 * A provider that speaks TLS and its clients, in one process, with the proxies between
 * them: `bench/gateway` starts those and this.  The provider sends an event when the
 * client has seen the one before, so each passes alone, however busy the machine is; what
 * is counted is the CPU time of the proxy's processes, which other load hardly moves.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <openssl/ssl.h>

#define STREAMS 8 /* clients, each on a connection of its own */
#define CALLS 250 /* of each client, in one round */
#define EVENTS 1000
#define ROUNDS_MAX 99
#define PROXIES_MAX 16
#define PIDS_MAX 8
#define PATIENCE 60 /* seconds without a byte: something is broken */

static const char event[] =
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
    "\"delta\":{\"type\":\"text_delta\",\"text\":\" passes\"}}\n\n";
static const char first_events[] =
    "event: message_start\ndata: "
    "{\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\","
    "\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-5-5\","
    "\"content\":[],\"usage\":{\"input_tokens\":20,\"output_tokens\":1}}}\n\n"
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"
    "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
static const char last_events[] =
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
    "\"end_turn\"},\"usage\":{\"output_tokens\":1000}}\n\n"
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
static const char document[] =
    "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":"
    "\"claude-sonnet-5-5\",\"content\":[{\"type\":\"text\",\"text\":\"It passes.\"}],"
    "\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":20,\"output_tokens\":9}}";

struct proxy {
	char *name, *path;
	int port;
	pid_t pid[PIDS_MAX];
	size_t npid;
	double call_us[ROUNDS_MAX], event_us[ROUNDS_MAX];
};

struct client {
	const struct proxy *proxy;
	int fd, number;
	bool streams;
};

static sem_t seen[STREAMS]; /* by the client: the provider may go on */
static const char *token = "";
static SSL_CTX *context;

static void
die(const char *what)
{
	perror(what);
	_exit(70);
}

static void
prepare(int fd)
{
	struct timeval patience = { PATIENCE, 0 };
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

/* ---- the provider */

static void
say(SSL *tls, const char *text, size_t n)
{
	if (SSL_write(tls, text, (int)n) != (int)n)
		die("the provider writes");
}

static void
say_chunk(SSL *tls, const char *text)
{
	char chunk[2048];
	int n = snprintf(chunk, sizeof(chunk), "%zx\r\n%s\r\n", strlen(text), text);

	say(tls, chunk, (size_t)n);
}

static void
answer_whole(SSL *tls)
{
	char text[1024];
	int n = snprintf(text, sizeof(text),
	    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
	    "%zu\r\n\r\n%s",
	    strlen(document), document);

	say(tls, text, (size_t)n);
}

static void
answer_events(SSL *tls, int number)
{
	static const char head[] =
	    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n";

	say(tls, head, strlen(head));
	say_chunk(tls, first_events);
	for (int i = 0; i < EVENTS; i++) {
		say_chunk(tls, event);
		sem_wait(&seen[number]);
	}
	say_chunk(tls, last_events);
	say(tls, "0\r\n\r\n", 5);
}

/* The length of a request that begins here; 0: not all of it is there. */
static size_t
request_size(const char *text, size_t n)
{
	const char *end = strstr(text, "\r\n\r\n"), *length;

	if (end == NULL || (length = strcasestr(text, "\r\nContent-Length:")) == NULL)
		return 0;
	size_t size = (size_t)(end + 4 - text) + strtoul(length + 17, NULL, 10);

	return size <= n ? size : 0;
}

static void
answer(SSL *tls, const char *request)
{
	const char *number = strcasestr(request, "\r\nX-Stream:");

	if (number == NULL)
		answer_whole(tls);
	else
		answer_events(tls, (int)strtol(number + 11, NULL, 10));
}

static void *
serve(void *arg)
{
	SSL *tls = arg;
	char text[65536];
	size_t n = 0, used;

	int got = SSL_accept(tls);

	while (
	    got > 0 && (got = SSL_read(tls, text + n, (int)(sizeof(text) - 1 - n))) > 0) {
		n += (size_t)got;
		text[n] = '\0';
		while ((used = request_size(text, n)) > 0) {
			answer(tls, text);
			n -= used;
			memmove(text, text + used, n + 1);
		}
	}
	close(SSL_get_fd(tls));
	SSL_free(tls);
	return NULL;
}

static void *
provide(void *arg)
{
	int listener = *(int *)arg, fd;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		pthread_t thread;
		SSL *tls = SSL_new(context);

		prepare(fd);
		SSL_set_fd(tls, fd);
		if (pthread_create(&thread, NULL, serve, tls) != 0)
			die("a thread");
		pthread_detach(thread);
	}
	return NULL;
}

static struct sockaddr_in
loopback(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
}

static void
start_provider(const char *certificate, const char *key, int port)
{
	static int listener;
	struct sockaddr_in at = loopback(port);
	pthread_t thread;
	int on = 1;

	context = SSL_CTX_new(TLS_server_method());
	if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
	    SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
		die(certificate);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(listener, 64) < 0 ||
	    pthread_create(&thread, NULL, provide, &listener) != 0)
		die("the provider's port");
}

/* ---- the clients */

static void
ask(const struct client *c)
{
	static const char body[] =
	    "{\"model\":\"claude-sonnet-5-5\",\"max_tokens\":2000,%s\"messages\":["
	    "{\"role\":\"user\",\"content\":\"What does it decide?\"}]}";
	char text[4096], content[512], mark[32] = "";
	int length = snprintf(
	    content, sizeof(content), body, c->streams ? "\"stream\":true," : "");

	if (c->streams)
		snprintf(mark, sizeof(mark), "X-Stream: %d\r\n", c->number);
	int n = snprintf(text, sizeof(text),
	    "POST %s/v1/messages HTTP/1.1\r\nHost: weir\r\nx-api-key: %s\r\n"
	    "anthropic-version: 2023-06-01\r\nContent-Type: application/json\r\n%s"
	    "Content-Length: %d\r\n\r\n%s",
	    c->proxy->path, token, mark, length, content);

	if (send(c->fd, text, (size_t)n, MSG_NOSIGNAL) != n)
		die("a client sends");
}

static bool
ends_with(const char *text, size_t n, const char *end)
{
	size_t m = strlen(end);

	return n >= m && memcmp(text + n - m, end, m) == 0;
}

static bool
is_whole(const char *text, size_t n)
{
	const char *end = strstr(text, "\r\n\r\n"), *length;

	if (end == NULL)
		return false;
	length = strcasestr(text, "\r\nContent-Length:");
	if (length == NULL || length > end)
		return ends_with(text, n, "\r\n0\r\n\r\n");
	return n >= (size_t)(end + 4 - text) + strtoul(length + 17, NULL, 10);
}

/* Events that have come; the provider hears of each. */
static void
tell(const struct client *c, const char *text, size_t n, size_t *told)
{
	const char *at = text + *told, *end = text + n;

	while ((at = memmem(at, (size_t)(end - at), event, strlen(event))) != NULL) {
		at += strlen(event);
		*told = (size_t)(at - text);
		sem_post(&seen[c->number]);
	}
}

static void
hear(const struct client *c, char *text, size_t room)
{
	size_t n = 0, told = 0;

	do {
		ssize_t got = recv(c->fd, text + n, room - 1 - n, 0);
		if (got <= 0)
			die(c->proxy->name);
		n += (size_t)got;
		text[n] = '\0';
		if (c->streams)
			tell(c, text, n, &told);
	} while (!is_whole(text, n));
	if (strncmp(text, "HTTP/1.1 200", 12) != 0) {
		fprintf(stderr, "%s: %s\n", c->proxy->name, text);
		_exit(1);
	}
}

static void *
client(void *arg)
{
	struct client *c = arg;
	size_t room = (size_t)EVENTS * (sizeof(event) + 32) + 65536;
	char *text = malloc(room);

	if (text == NULL)
		die("memory");
	for (int i = 0; i < (c->streams ? 1 : CALLS); i++) {
		ask(c);
		hear(c, text, room);
	}
	free(text);
	return NULL;
}

/* ---- what it costs */

static double
cpu_us(const struct proxy *p)
{
	double sum = 0;

	for (size_t i = 0; i < p->npid; i++) {
		struct timespec t;
		clockid_t clock;

		if (clock_getcpuclockid(p->pid[i], &clock) != 0 ||
		    clock_gettime(clock, &t) != 0)
			die(p->name);
		sum += (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
	}
	return sum;
}

/* All clients at once; the connections, to the provider too, are open by then. */
static double
run(const struct proxy *p, const int *fd, bool streams)
{
	struct client c[STREAMS];
	pthread_t thread[STREAMS];
	double before = cpu_us(p);

	for (int i = 0; i < STREAMS; i++) {
		c[i] = (struct client){ p, fd[i], i, streams };
		if (pthread_create(&thread[i], NULL, client, &c[i]) != 0)
			die("a thread");
	}
	for (int i = 0; i < STREAMS; i++)
		pthread_join(thread[i], NULL);
	return cpu_us(p) - before;
}

static void
measure(struct proxy *p, int round)
{
	struct sockaddr_in at = loopback(p->port);
	int fd[STREAMS];

	for (int i = 0; i < STREAMS; i++) {
		fd[i] = socket(AF_INET, SOCK_STREAM, 0);
		prepare(fd[i]);
		if (connect(fd[i], (struct sockaddr *)&at, sizeof(at)) < 0)
			die(p->name);
	}
	run(p, fd, false); /* warm */
	p->call_us[round] = run(p, fd, false) / (STREAMS * CALLS);
	p->event_us[round] =
	    (run(p, fd, true) - STREAMS * p->call_us[round]) / (STREAMS * EVENTS);
	for (int i = 0; i < STREAMS; i++)
		close(fd[i]);
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median(double *x, int n)
{
	qsort(x, (size_t)n, sizeof(*x), by_size);
	return x[n / 2];
}

static void
print_table(struct proxy *p, size_t n, int rounds)
{
	double call = median(p[0].call_us, rounds), one = median(p[0].event_us, rounds);

	printf("%-24s %10s %8s %10s %8s\n", "CPU, us", "a call", "x", "an event", "x");
	for (size_t i = 0; i < n; i++) {
		double c = median(p[i].call_us, rounds),
		       e = median(p[i].event_us, rounds);
		printf("%-24s %10.1f %8.2f %10.2f %8.2f\n", p[i].name, c, c / call, e,
		    e / one);
	}
}

/* NAME=PORT,PATH,PID[,PID...] */
static bool
read_proxy(struct proxy *p, char *text)
{
	char *word, *rest;

	p->name = strtok_r(text, "=", &rest);
	if ((word = strtok_r(NULL, ",", &rest)) == NULL)
		return false;
	p->port = (int)strtol(word, NULL, 10);
	p->path = strtok_r(NULL, ",", &rest);
	while (p->npid < PIDS_MAX && (word = strtok_r(NULL, ",", &rest)) != NULL)
		p->pid[p->npid++] = (pid_t)strtol(word, NULL, 10);
	return p->npid > 0;
}

int
main(int argc, char **argv)
{
	static struct proxy proxy[PROXIES_MAX];
	size_t n = 0;

	if (argc < 7 || argc - 6 > PROXIES_MAX) {
		fprintf(stderr, "usage: stream CERTIFICATE KEY PORT ROUNDS TOKEN "
				"NAME=PORT,PATH,PID... ...\n");
		return 64;
	}
	int rounds = (int)strtol(argv[4], NULL, 10);

	if (rounds < 1 || rounds > ROUNDS_MAX)
		return 64;
	token = argv[5];
	for (int i = 0; i < STREAMS; i++)
		sem_init(&seen[i], 0, 0);
	for (int i = 6; i < argc; i++)
		if (!read_proxy(&proxy[n++], argv[i]))
			return 64;
	start_provider(argv[1], argv[2], (int)strtol(argv[3], NULL, 10));
	for (int round = 0; round < rounds; round++)
		for (size_t i = 0; i < n; i++)
			measure(&proxy[i], round);
	print_table(proxy, n, rounds);
	return 0;
}
