/*
 * ctl.c - weir ctl: the operator's commands to a running weir, over its admin socket
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmd/config.h"
#include "cmd/main.h"
#include "cmd/usage.h"
#include "conf/settings.h"
#include "net/listener.h"
#include "wire/json.h"

#define SOCKET "/run/weir/admin.sock"
#define ANSWER_MAX ((size_t)8 << 20)
#define PATIENCE_S 10

static const char help[] =
    "usage: weir ctl [-c FILE | -s SOCKET] [option] COMMAND\n"
    "\n"
    "Talks to the admin socket of a running weir and prints its answer, JSON.\n"
    "\n"
    "  status                          what it is and how it is\n"
    "  health                          nothing printed: 0 when it takes new work\n"
    "  sessions [TENANT [SID]]         who is using it\n"
    "  arm SOURCE [SECONDS]            SOURCE, a socket's path or an address, speaks "
    "for\n"
    "                                  the session of the token on standard input\n"
    "  disarm SOURCE                   and no longer\n"
    "  revoke TENANT SID               ends the session for ever, and what it has open\n"
    "  revoke-token TENANT JTI         the same for one token\n"
    "  detach TENANT SID               the next source that comes owns it\n"
    "  reload, drain                   as SIGHUP and SIGTERM\n"
    "\n"
    "  -c, --config FILE     the socket is the first of its listen.admin\n"
    "  -s, --socket SOCKET   the socket's path (default: " SOCKET ")\n"
    "      --token-file FILE arm: the token, in place of standard input\n"
    "      --help            this text\n"
    "\n"
    "Exits 0 when it was done, 1 when weir says no, 66 when a file cannot be read, 69\n"
    "when weir does not answer, 78 when the configuration is wrong.\n";

struct request {
	const char *method;
	struct buf path, body;
};

/* ---- requests ---- */

static void
put_members(struct buf *to, size_t n, const char *const *key, const char *const *value)
{
	struct json_out j;

	json_out_init(&j, to);
	json_open(&j, '{');
	for (size_t i = 0; i < n; i++) {
		json_key(&j, key[i]);
		json_text(&j, value[i]);
	}
	json_close(&j, '}');
}

/* The token, one line. */
static bool
read_token(char token[static 16384])
{
	size_t n = fread(token, 1, 16383, stdin);

	while (n > 0 && strchr(" \r\n", token[n - 1]) != NULL)
		n--;
	token[n] = '\0';
	return n > 0 && !ferror(stdin);
}

static bool
make_get(struct request *r, char *const *word, int n)
{
	for (int i = 0; i < n; i++)
		buf_fmt(&r->path, "/%s", word[i]);
	return true;
}

static bool
make_health(struct request *r, char *const *word, int n)
{
	(void)word, (void)n;
	buf_text(&r->path, "/status");
	return true;
}

static bool
make_post(struct request *r, char *const *word, int n)
{
	(void)n;
	buf_fmt(&r->path, "/%s", word[0]);
	return true;
}

static bool
make_arm(struct request *r, char *const *word, int n)
{
	char token[16384];
	const char *const key[] = { word[1][0] == '/' ? "socket" : "address", "token",
		"ttl" };
	const char *const value[] = { word[1], token, n > 2 ? word[2] : "" };

	buf_text(&r->path, "/arm");
	if (!read_token(token)) {
		fputs("weir ctl: standard input has no token\n", stderr);
		return false;
	}
	put_members(&r->body, n > 2 ? 3 : 2, key, value);
	return true;
}

static bool
make_disarm(struct request *r, char *const *word, int n)
{
	(void)n;
	buf_fmt(&r->path, "/arm/%s%s", word[1][0] == '/' ? "unix:" : "", word[1]);
	return true;
}

static bool
make_named(struct request *r, const char *path, const char *kind, char *const *word)
{
	const char *const key[] = { "tenant", kind };
	const char *const value[] = { word[1], word[2] };

	buf_text(&r->path, path);
	put_members(&r->body, 2, key, value);
	return true;
}

static bool
make_revoke(struct request *r, char *const *word, int n)
{
	(void)n;
	return make_named(r, "/revoke", "sid", word);
}

static bool
make_revoke_token(struct request *r, char *const *word, int n)
{
	(void)n;
	return make_named(r, "/revoke", "jti", word);
}

static bool
make_detach(struct request *r, char *const *word, int n)
{
	(void)n;
	return make_named(r, "/detach", "sid", word);
}

static const struct command {
	const char *name, *method;
	int least, most; /* words, its name with them */
	bool (*make)(struct request *r, char *const *word, int n);
	const char *words; /* behind it */
} commands[] = {
	{ "status", "GET", 1, 1, make_get, "no words" },
	{ "health", "GET", 1, 1, make_health, "no words" },
	{ "sessions", "GET", 1, 3, make_get, "[TENANT [SID]]" },
	{ "arm", "POST", 2, 3, make_arm, "SOURCE [SECONDS]" },
	{ "disarm", "DELETE", 2, 2, make_disarm, "SOURCE" },
	{ "revoke", "POST", 3, 3, make_revoke, "TENANT SID" },
	{ "revoke-token", "POST", 3, 3, make_revoke_token, "TENANT JTI" },
	{ "detach", "POST", 3, 3, make_detach, "TENANT SID" },
	{ "reload", "POST", 1, 1, make_post, "no words" },
	{ "drain", "POST", 1, 1, make_post, "no words" },
};

static const struct command *
command_find(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

/* ---- asking ---- */

static int
connect_to(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = PATIENCE_S };
	int fd;

	if (strlen(path) >= sizeof(sa.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(sa.sun_path, path, strlen(path));
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
		return fd;
	close(fd);
	return -1;
}

static bool
send_all(int fd, struct str s)
{
	while (s.n > 0) {
		ssize_t n = send(fd, s.p, s.n, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		s = str_sub(s, (size_t)n, s.n);
	}
	return true;
}

static bool
read_all(int fd, struct buf *to)
{
	char bytes[16384];
	ssize_t n;

	while (
	    (n = recv(fd, bytes, sizeof(bytes), 0)) > 0 && to->n + (size_t)n < ANSWER_MAX)
		buf_add(to, bytes, (size_t)n);
	return n == 0;
}

static bool
exchange(const char *path, const struct request *r, struct buf *answer)
{
	struct buf head;
	int fd = connect_to(path);

	if (fd < 0)
		return false;
	buf_init(&head, 65536);
	buf_fmt(&head,
	    "%s %.*s HTTP/1.1\r\nHost: weir\r\nContent-Length: %zu\r\n"
	    "Connection: close\r\n\r\n",
	    r->method, (int)r->path.n, r->path.p, r->body.n);
	bool is_ok = send_all(fd, buf_view(&head)) && send_all(fd, buf_view(&r->body)) &&
		     read_all(fd, answer) &&
		     str_starts(buf_view(answer), STR("HTTP/1.1 ")) && answer->n > 12;
	buf_fini(&head);
	close(fd);
	return is_ok;
}

static bool
find_body(struct str all, struct str *body)
{
	for (size_t i = 0; i + 4 <= all.n; i++)
		if (memcmp(all.p + i, "\r\n\r\n", 4) == 0) {
			*body = str_sub(all, i + 4, all.n);
			return true;
		}
	return false;
}

static bool
is_ready(struct str body)
{
	struct arena a;
	const char *why;

	arena_init(&a, (size_t)1 << 20);
	const struct json_value *o = json_parse(body, &a, &why);
	const struct json_value *v =
	    o == NULL || o->type != JSON_OBJECT ? NULL : json_get(o, "ready");
	bool is = v != NULL && v->type == JSON_TRUE;
	arena_fini(&a);
	return is;
}

static int
run(const struct command *c, const char *path, const struct request *r)
{
	struct buf answer;
	struct str body;
	int code = EXIT_UNAVAILABLE;

	buf_init(&answer, ANSWER_MAX);
	if (!exchange(path, r, &answer) || !find_body(buf_view(&answer), &body)) {
		fprintf(
		    stderr, "weir ctl: no answer from %s: %s\n", path, strerror(errno));
	} else if (c->make == make_health) {
		code = is_ready(body) ? EXIT_YES : EXIT_NO;
	} else {
		fwrite(body.p, 1, body.n, stdout);
		code = answer.p[9] == '2' ? EXIT_YES : EXIT_NO;
	}
	buf_fini(&answer);
	return code;
}

/* ---- where ---- */

/* EXIT_YES with *path, which is the caller's; or how to end, after saying why. */
static int
socket_of(char **path, const char *config)
{
	struct settings *s;
	struct listen_at at;
	int code = config_load(&s, config, config_no_secrets);

	if (code != EXIT_YES)
		return code;
	if (s->listen_admin.n > 0 && listen_at_parse(&at, str_of(s->listen_admin.p[0])) &&
	    at.is_unix) {
		*path = mem_strdup(at.path);
	} else {
		fprintf(stderr, "weir ctl: %s has no listen.admin\n", config);
		code = EXIT_CONFIG;
	}
	settings_free(s);
	return code;
}

static const struct option options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "socket", required_argument, NULL, 's' },
	{ "token-file", required_argument, NULL, 't' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static int
command_run(const struct command *c, const char *path, char *const *word, int n)
{
	struct request r = { .method = c->method };
	int code = EXIT_NOINPUT;

	buf_init(&r.path, 4096);
	buf_init(&r.body, 65536);
	if (c->make(&r, word, n))
		code = run(c, path, &r);
	buf_fini(&r.path);
	buf_fini(&r.body);
	return code;
}

int
cmd_ctl(int argc, char **argv)
{
	const char *config = NULL, *path = NULL, *token = NULL;
	char *found = NULL;
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "+:c:s:h", options, NULL)) != -1)
		switch (opt) {
		case 'c':
			config = optarg;
			break;
		case 's':
			path = optarg;
			break;
		case 't':
			token = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_YES;
		default:
			return usage_refuse_option("ctl", argv, opt);
		}
	const struct command *c = optind < argc ? command_find(argv[optind]) : NULL;
	int words = argc - optind;
	if (optind == argc)
		return usage_refuse("ctl", "which command? weir ctl --help names them");
	if (c == NULL)
		return usage_refuse("ctl", "there is no command \"%s\"", argv[optind]);
	if (words < c->least || words > c->most)
		return usage_refuse("ctl", "%s takes %s", c->name, c->words);
	if (token != NULL && freopen(token, "re", stdin) == NULL) {
		fprintf(stderr, "weir ctl: %s: %s\n", token, strerror(errno));
		return EXIT_NOINPUT;
	}
	int code = EXIT_YES;
	if (config != NULL && (code = socket_of(&found, config)) != EXIT_YES)
		return code;
	if (found != NULL)
		path = found;
	else if (path == NULL)
		path = SOCKET;
	code = command_run(c, path, &argv[optind], words);
	free(found);
	return code;
}
