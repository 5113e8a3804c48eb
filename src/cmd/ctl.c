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
#include "cmd/input.h"
#include "cmd/main.h"
#include "cmd/usage.h"
#include "conf/settings.h"
#include "net/listener.h"
#include "wire/json.h"

#define SOCKET "/run/weir/admin.sock"
#define ANSWER_MAX ((size_t)8 << 20)
#define TOKEN_MAX ((size_t)16384)
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
	const char *token_file; /* "-" is standard input */
	struct buf path, body;
};

/* ---- requests ---- */

static void
put_members(struct buf *to, size_t n, const char *const *key, const struct str *value)
{
	struct json_out j;

	json_out_init(&j, to);
	json_open(&j, '{');
	for (size_t i = 0; i < n; i++) {
		json_key(&j, key[i]);
		json_str(&j, value[i]);
	}
	json_close(&j, '}');
}

static int
make_get(struct request *r, char *const *word, int n)
{
	for (int i = 0; i < n; i++)
		buf_fmt(&r->path, "/%s", word[i]);
	return EXIT_YES;
}

static int
make_health(struct request *r, char *const *word, int n)
{
	(void)word, (void)n;
	buf_text(&r->path, "/status");
	return EXIT_YES;
}

static int
make_post(struct request *r, char *const *word, int n)
{
	(void)n;
	buf_fmt(&r->path, "/%s", word[0]);
	return EXIT_YES;
}

static int
make_arm(struct request *r, char *const *word, int n)
{
	const char *const key[] = { word[1][0] == '/' ? "socket" : "address", "token",
		"ttl" };
	struct buf text;
	struct str token;
	int status;

	buf_init(&text, TOKEN_MAX);
	buf_text(&r->path, "/arm");
	r->body.is_secret = true;
	status = input_token("ctl", r->token_file, &text, &token);
	if (status == EXIT_YES) {
		const struct str value[] = { str_of(word[1]), token,
			str_of(n > 2 ? word[2] : "") };
		put_members(&r->body, n > 2 ? 3 : 2, key, value);
	}
	buf_fini(&text);
	return status;
}

static int
make_disarm(struct request *r, char *const *word, int n)
{
	(void)n;
	buf_fmt(&r->path, "/arm/%s%s", word[1][0] == '/' ? "unix:" : "", word[1]);
	return EXIT_YES;
}

static int
make_named(struct request *r, const char *path, const char *kind, char *const *word)
{
	const char *const key[] = { "tenant", kind };
	const struct str value[] = { str_of(word[1]), str_of(word[2]) };

	buf_text(&r->path, path);
	put_members(&r->body, 2, key, value);
	return EXIT_YES;
}

static int
make_revoke(struct request *r, char *const *word, int n)
{
	(void)n;
	return make_named(r, "/revoke", "sid", word);
}

static int
make_revoke_token(struct request *r, char *const *word, int n)
{
	(void)n;
	return make_named(r, "/revoke", "jti", word);
}

static int
make_detach(struct request *r, char *const *word, int n)
{
	(void)n;
	return make_named(r, "/detach", "sid", word);
}

static const struct command {
	const char *name, *method;
	int least, most; /* words, its name with them */
	int (*make)(struct request *r, char *const *word, int n);
	const char *words;   /* behind it */
	const char *unknown; /* what is said where the answer has "known": false */
} commands[] = {
	{ "status", "GET", 1, 1, make_get, "no words", NULL },
	{ "health", "GET", 1, 1, make_health, "no words", NULL },
	{ "sessions", "GET", 1, 3, make_get, "[TENANT [SID]]", NULL },
	{ "arm", "POST", 2, 3, make_arm, "SOURCE [SECONDS]", NULL },
	{ "disarm", "DELETE", 2, 2, make_disarm, "SOURCE", "it was not armed" },
	{ "revoke", "POST", 3, 3, make_revoke, "TENANT SID",
	    "no such session is known here; it is revoked all the same" },
	{ "revoke-token", "POST", 3, 3, make_revoke_token, "TENANT JTI", NULL },
	{ "detach", "POST", 3, 3, make_detach, "TENANT SID",
	    "no such session is known here; there was nothing to detach" },
	{ "reload", "POST", 1, 1, make_post, "no words", NULL },
	{ "drain", "POST", 1, 1, make_post, "no words", NULL },
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

static const char *
why_not(int number)
{
	switch (number) {
	case ENOENT:
	case ECONNREFUSED:
		return "is weir running, with this socket in listen.admin?";
	case EACCES:
	case ECONNRESET:
	case EPIPE:
		return "only root and the user that weir runs as may ask";
	case EAGAIN:
		return "it takes too long";
	default:
		return strerror(number);
	}
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
	if (n > 0)
		errno = EMSGSIZE;
	else if (n == 0 && to->n == 0)
		errno = ECONNRESET; /* closed before it was heard */
	return n == 0 && to->n > 0;
}

/* NULL; or why there is no answer (static). */
static const char *
exchange(const char *path, const struct request *r, struct buf *answer)
{
	const char *why = NULL;
	struct buf head;
	int fd = connect_to(path);

	if (fd < 0)
		return why_not(errno);
	buf_init(&head, 65536);
	buf_fmt(&head,
	    "%s %.*s HTTP/1.1\r\nHost: weir\r\nContent-Length: %zu\r\n"
	    "Connection: close\r\n\r\n",
	    r->method, (int)r->path.n, r->path.p, r->body.n);
	if (!send_all(fd, buf_view(&head)) || !send_all(fd, buf_view(&r->body)) ||
	    !read_all(fd, answer))
		why = why_not(errno);
	else if (!str_starts(buf_view(answer), STR("HTTP/1.1 ")) || answer->n <= 12)
		why = "it is not weir that answers there";
	buf_fini(&head);
	close(fd);
	return why;
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

/* Has the answer that key, with true or false as asked for? */
static bool
says(struct str body, const char *key, bool wanted)
{
	struct arena a;
	const char *why;

	arena_init(&a, (size_t)1 << 20);
	const struct json_value *o = json_parse(body, &a, &why);
	const struct json_value *v =
	    o == NULL || o->type != JSON_OBJECT ? NULL : json_get(o, key);
	bool is = v != NULL && v->type == (wanted ? JSON_TRUE : JSON_FALSE);
	arena_fini(&a);
	return is;
}

static int
run(const struct command *c, const char *path, const struct request *r, char *const *word,
    int n)
{
	struct buf answer;
	struct str body;
	int code = EXIT_UNAVAILABLE;

	buf_init(&answer, ANSWER_MAX);
	const char *why = exchange(path, r, &answer);
	if (why == NULL && !find_body(buf_view(&answer), &body))
		why = "it was cut off";
	if (why != NULL) {
		fprintf(stderr, "weir ctl: no answer from %s: %s\n", path, why);
	} else if (c->make == make_health) {
		code = says(body, "ready", true) ? EXIT_YES : EXIT_NO;
	} else {
		fwrite(body.p, 1, body.n, stdout);
		code = answer.p[9] == '2' ? EXIT_YES : EXIT_NO;
		if (c->unknown != NULL && says(body, "known", false))
			fprintf(stderr, "weir ctl: %s%s%s: %s\n", word[1],
			    n > 2 ? "/" : "", n > 2 ? word[2] : "", c->unknown);
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
command_run(const struct command *c, const char *path, const char *token_file,
    char *const *word, int n)
{
	struct request r = { .method = c->method,
		.token_file = token_file != NULL ? token_file : "-" };
	int code;

	buf_init(&r.path, 4096);
	buf_init(&r.body, 65536);
	if ((code = c->make(&r, word, n)) == EXIT_YES)
		code = run(c, path, &r, word, n);
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
			return usage_refuse_option("ctl", options, argv, opt);
		}
	const struct command *c = optind < argc ? command_find(argv[optind]) : NULL;
	int words = argc - optind;
	if (optind == argc)
		return usage_refuse("ctl", "which command? weir ctl --help names them");
	if (c == NULL)
		return usage_refuse("ctl", "there is no command \"%s\"", argv[optind]);
	if (words < c->least || words > c->most)
		return usage_refuse("ctl", "%s takes %s", c->name, c->words);
	if (token != NULL && c->make != make_arm)
		return usage_refuse("ctl", "--token-file is for arm, not %s", c->name);
	if (config != NULL && path != NULL)
		return usage_refuse("ctl", "--config and --socket exclude each other");
	int code = EXIT_YES;
	if (config != NULL && (code = socket_of(&found, config)) != EXIT_YES)
		return code;
	if (found != NULL)
		path = found;
	else if (path == NULL)
		path = SOCKET;
	code = command_run(c, path, token, &argv[optind], words);
	free(found);
	return code;
}
