#include "ledger_rig.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"

#define PATIENCE_MS 120000 /* a sanitized build on a busy machine takes its time */

/* Waits for a condition; the test fails when it does not come true. */
#define wait_for(condition) \
	for (int ms_ = 0; !(condition); ms_++) { \
		if (ms_ == PATIENCE_MS) \
			fail_msg("in vain: %s", #condition); \
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL); \
	}

/* ---- redis-server */

static bool
socket_answers(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is_there;

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	is_there = connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0;
	close(fd);
	return is_there;
}

void
redis_start(struct rig *r)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/redis.sock", r->directory);
	unlink(path);
	r->redis = fork();
	if (r->redis == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 1);
		execlp("redis-server", "redis-server", "--port", "0", "--unixsocket",
		    path, "--dir", r->directory, "--save", "", "--appendonly", "yes",
		    "--appendfsync", "no", "--auto-aof-rewrite-min-size", "64mb",
		    (char *)NULL);
		_exit(127);
	}
	wait_for(socket_answers(path));
}

void
redis_kill(struct rig *r)
{
	if (r->redis <= 0)
		return;
	kill(r->redis, SIGKILL);
	waitpid(r->redis, NULL, 0);
	r->redis = 0;
}

/* ---- opening */

static int
remove_one(const char *path, const struct stat *st, int what, struct FTW *at)
{
	(void)st, (void)what, (void)at;
	return remove(path);
}

void
redis_empty(struct rig *r)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/appendonlydir", r->directory);
	assert_int_equal(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void
make_directory(struct rig *r)
{
	snprintf(r->directory, sizeof(r->directory), "/tmp/weir-ledger-XXXXXX");
	assert_non_null(mkdtemp(r->directory));
}

static void
init(struct rig *r, enum rig_kind kind)
{
	*r = (struct rig){ .kind = kind, .sweep_ms = RIG_CLOSED_SWEEP };
	make_directory(r);
	r->loop = loop_new();
}

void
rig_init(struct rig *r, enum rig_kind kind)
{
	init(r, kind);
	if (kind == RIG_REDIS) {
		redis_start(r);
		snprintf(
		    r->url, sizeof(r->url), "redis+unix:%s/redis.sock", r->directory);
	} else {
		snprintf(r->url, sizeof(r->url), "%s",
		    kind == RIG_MEMORY ? "memory:" : "sqlite:ledger.db");
	}
}

void
rig_join(struct rig *r, const struct rig *first)
{
	init(r, first->kind);
	memcpy(r->url, first->url, sizeof(r->url));
}

struct ledger *
rig_try_open(struct rig *r)
{
	struct ledger_options o = { .url = r->url,
		.directory = r->directory,
		.patience_ms = r->patience_ms,
		.sweep_ms = r->sweep_ms,
		.uid = -1,
		.gid = -1,
		.shift_us = &r->shift_us };

	r->ledger = ledger_open(&o);
	if (r->ledger != NULL)
		ledger_start(r->ledger);
	return r->ledger;
}

void
rig_wait_health(struct rig *r, enum ledger_answer is)
{
	wait_for(ledger_health(r->ledger) == is);
}

void
rig_open(struct rig *r)
{
	assert_non_null(rig_try_open(r));
	rig_wait_health(r, LEDGER_OK);
}

void
rig_close(struct rig *r)
{
	ledger_close(r->ledger);
	r->ledger = NULL;
}

void
rig_fini(struct rig *r)
{
	rig_close(r);
	loop_free(r->loop);
	redis_kill(r);
	nftw(r->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- asking */

struct answer {
	struct rig *rig;
	bool is_done, is_started;
	struct ledger_reply reply;
};

static struct str
keep(char *to, size_t n, struct str s)
{
	if (s.n > n)
		s.n = n;
	if (s.n > 0)
		memcpy(to, s.p, s.n);
	return (struct str){ to, s.n };
}

static void
on_done(void *arg, const struct ledger_reply *reply)
{
	static char claims[128], kin[LEDGER_ANCESTORS][2][128], note[4][256];
	struct answer *a = arg;

	assert_true(a->is_started); /* never inside start */
	assert_false(a->is_done);
	a->is_done = true;
	a->reply = *reply;
	a->reply.claims = keep(claims, 128, reply->claims);
	for (size_t i = 0; i < reply->nkin; i++) {
		a->reply.kin[i].sid = keep(kin[i][0], 128, reply->kin[i].sid);
		a->reply.kin[i].claims = keep(kin[i][1], 128, reply->kin[i].claims);
	}
	a->reply.note.issuer = keep(note[0], 256, reply->note.issuer);
	a->reply.note.tenant = keep(note[1], 256, reply->note.tenant);
	a->reply.note.sid = keep(note[2], 256, reply->note.sid);
	a->reply.note.text = keep(note[3], 256, reply->note.text);
	loop_stop(a->rig->loop);
}

void
rig_run_until(struct rig *r, const bool *is_done)
{
	while (!*is_done)
		loop_run(r->loop);
}

static struct ledger_reply
await(struct answer *a, const struct ledger_op *op)
{
	assert_non_null(op);
	a->is_started = true;
	rig_run_until(a->rig, &a->is_done);
	return a->reply;
}

struct ledger_reply
rig_reserve(struct rig *r, const struct ledger_reserve *q)
{
	struct answer a = { .rig = r };

	return await(&a, ledger_reserve_start(r->ledger, r->loop, q, on_done, &a));
}

struct ledger_reply
rig_session(struct rig *r, const struct ledger_who *who)
{
	struct answer a = { .rig = r };

	return await(&a, ledger_session_start(r->ledger, r->loop, who, on_done, &a));
}

struct ledger_reply
rig_settle(struct rig *r, const struct ledger_settle *s)
{
	struct answer a = { .rig = r };

	return await(&a, ledger_settle_start(r->ledger, r->loop, s, on_done, &a));
}

struct ledger_reply
rig_look(struct rig *r, const struct ledger_scope *scope)
{
	struct ledger_look q = { 1, scope };
	struct answer a = { .rig = r };

	return await(&a, ledger_look_start(r->ledger, r->loop, &q, on_done, &a));
}

struct ledger_reply
rig_renew(struct rig *r, const char *request, msec lease_ms)
{
	struct ledger_renew q = { { str_of(request), 0 }, lease_ms };
	struct answer a = { .rig = r };

	return await(&a, ledger_renew_start(r->ledger, r->loop, &q, on_done, &a));
}

struct ledger_reply
rig_adjust(struct rig *r, const struct ledger_adjust *q)
{
	struct answer a = { .rig = r };

	return await(&a, ledger_adjust_start(r->ledger, r->loop, q, on_done, &a));
}

struct ledger_reply
rig_forget(struct rig *r, const struct ledger_forget *f)
{
	struct answer a = { .rig = r };

	return await(&a, ledger_forget_start(r->ledger, r->loop, f, on_done, &a));
}

struct ledger_reply
rig_revoke(struct rig *r, const char *sid)
{
	struct answer a = { .rig = r };

	return await(&a, ledger_revoke_start(r->ledger, r->loop, STR("iss"), STR("acme"),
			     str_of(sid), on_done, &a));
}

struct ledger_reply
rig_note_put(struct rig *r, const struct ledger_note *n)
{
	struct answer a = { .rig = r };

	return await(&a, ledger_note_put_start(r->ledger, r->loop, n, on_done, &a));
}

struct ledger_reply
rig_note_add(struct rig *r, const struct ledger_note *n)
{
	struct answer a = { .rig = r };

	return await(&a, ledger_note_add_start(r->ledger, r->loop, n, on_done, &a));
}

struct ledger_reply
rig_note_get(struct rig *r, const struct ledger_note *n)
{
	struct answer a = { .rig = r };

	return await(&a, ledger_note_get_start(r->ledger, r->loop, n, on_done, &a));
}

struct ledger_reply
rig_note_delete(struct rig *r, const struct ledger_note *n)
{
	struct answer a = { .rig = r };

	return await(&a, ledger_note_delete_start(r->ledger, r->loop, n, on_done, &a));
}
