/*
 * control.c - the house: what starts, reloads, drains and stops everything
 */
#include "daemon/control.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/exit.h"
#include "base/log.h"
#include "daemon/admin.h"
#include "daemon/configuration.h"
#include "daemon/events.h"
#include "daemon/health.h"
#include "daemon/logging.h"
#include "daemon/notify.h"
#include "daemon/rights.h"
#include "daemon/signals.h"
#include "daemon/sockets.h"
#include "daemon/state_dir.h"
#include "daemon/watch.h"
#include "daemon/worker.h"
#include "net/mint.h"
#include "proxy/sent.h"
#include "wire/json.h"

#define PIPES_EACH 64
#define KEPT_EACH 256
#define WATCH_EVERY ((msec)30000)   /* interfaces come and go */
#define HEAD_EVERY ((msec)3600000)  /* the audit head in the log */
#define LOOK_EVERY ((msec)1000)     /* does the audit log move? */
#define SUM_EVERY ((msec)60000)     /* floods become records */
#define TOKENS_MOST ((size_t)65536) /* verified before */

struct control {
	const struct control_options *o;
	struct loop *loop;
	struct configuration configuration;
	struct snapshot *snapshot;
	struct sockets sockets;
	struct journal *journal;
	struct limits *limits;
	struct uploads *uploads;
	struct coined *coined;
	struct writers *writers;
	struct sums *sums;
	struct names *names; /* or NULL */
	struct sessions *sessions;
	uint64_t upload_changes; /* of theirs, that workers were told of */
	struct tokens *tokens;
	struct ledger *ledger; /* NULL: nobody could have a session */
	struct mint *mint;
	struct worker **worker;
	size_t nworker, nlive;
	struct health *health;
	struct admin *admin;
	struct watch *keys; /* the files that secrets were read from */
	struct logging logging;
	struct signals signals;
	struct timer watch, head, sum, look, sent, drain;
	uint64_t descriptors;
	bool is_draining, is_stopped;
};

/* ---- the audit trail of weir itself ---- */

static struct events
events_of(const struct control *c)
{
	return (struct events){ .journal = c->journal, .snapshot = c->snapshot };
}

static void
record(const struct control *c, const char *event)
{
	const struct events e = events_of(c);

	events_record(&e, event);
}

/* ---- reload ---- */

static void
publish(struct control *c, struct snapshot *s)
{
	for (size_t i = 0; i < c->nworker; i++)
		worker_reload(c->worker[i], s);
	watch_set(c->keys, &s->settings->secret_files);
	snapshot_unref(c->snapshot);
	c->snapshot = s;
}

/* False: what was in force stays in force, and the log says why. */
static bool
reload(struct control *c)
{
	struct report rep;
	struct settings *set;
	struct snapshot *s = NULL;

	notify("RELOADING=1");
	report_init(&rep);
	set = configuration_read(&c->configuration, &rep);
	if (set != NULL)
		s = configuration_snapshot(
		    &c->configuration, set, c->snapshot, &c->sockets, &rep);
	if (s != NULL && c->ledger == NULL && snapshot_has_sessions(s)) {
		log_error("sessions begin with a restart: the ledger is opened at start");
		snapshot_unref(s);
		s = NULL;
	}
	logging_report(&c->logging, &rep);
	report_fini(&rep);
	if (s == NULL) {
		count_add(COUNT_RELOAD_FAILURES, 1);
		log_error("reload refused: what was in force stays in force");
	} else {
		configuration_say_late(&c->configuration, s->settings);
		logging_set(&c->logging, s->settings);
		publish(c, s);
		count_add(COUNT_RELOADS, 1);
		log_info("reloaded", "generation", NUM((int64_t)s->generation), "policy",
		    ruleset_digest(s->rules));
		record(c, "reload");
	}
	notify("READY=1");
	return s != NULL;
}

static void
on_watch(void *arg)
{
	struct control *c = arg;
	struct snapshot *s = snapshot_moved(c->snapshot);

	if (s != NULL) {
		log_info("this machine's addresses changed");
		publish(c, s);
	}
	watch_look(c->keys);
	timer_set(c->loop, &c->watch, WATCH_EVERY);
}

static void
on_keys(void *arg)
{
	log_info("a file that a secret is read from was changed: reloading");
	(void)reload(arg);
}

static void
on_head(void *arg)
{
	struct control *c = arg;
	char head[65];

	journal_head(c->journal, head);
	log_info("audit head", "hash", head);
	journal_checkpoint(c->journal);
	timer_set(c->loop, &c->head, HEAD_EVERY);
}

static void
on_sum(void *arg)
{
	struct control *c = arg;

	const struct events e = events_of(c);
	(void)events_sums(&e, c->sums);
	writers_age(c->writers);
	timer_set(c->loop, &c->sum, SUM_EVERY);
}

static void
on_look(void *arg)
{
	struct control *c = arg;

	journal_watch(c->journal);
	timer_set(c->loop, &c->look, LOOK_EVERY);
}

/* A newer token may say another cap than what is open was judged by. */
static void
look_at_caps(struct control *c)
{
	uint64_t changes = sessions_upload_changes(c->sessions);

	if (changes == c->upload_changes)
		return;
	c->upload_changes = changes;
	for (size_t i = 0; i < c->nworker; i++)
		worker_recap(c->worker[i]);
}

static void
on_sent(void *arg)
{
	struct control *c = arg;

	look_at_caps(c);
	sent_tell(c->uploads, c->ledger, c->loop);
	timer_set(c->loop, &c->sent, SENT_EVERY_MS);
}

/* ---- drain and stop ---- */

static void
stop_now(struct control *c)
{
	if (c->is_stopped)
		return;
	c->is_stopped = true;
	for (size_t i = 0; i < c->nworker; i++)
		worker_stop(c->worker[i]);
}

static void
on_drained_out(void *arg)
{
	log_warn("the drain took too long: what is open is cut");
	stop_now(arg);
}

static void
on_emptied(void *arg)
{
	struct control *c = arg;

	if (--c->nlive == 0)
		loop_stop(c->loop);
}

static void
terminate(struct control *c)
{
	if (c->is_draining) {
		log_info("stopping at once");
		stop_now(c);
		return;
	}
	c->is_draining = true;
	notify("STOPPING=1");
	log_info("draining: a second signal stops at once");
	for (size_t i = 0; i < c->nworker; i++)
		worker_drain(c->worker[i]);
	timer_init(&c->drain, on_drained_out, c);
	timer_set(c->loop, &c->drain, c->snapshot->settings->limits_drain_timeout);
}

static void
on_signal(evutil_socket_t signal, short what, void *arg)
{
	struct control *c = arg;

	(void)what;
	switch ((int)signal) {
	case SIGHUP:
		(void)reload(c);
		return;
	case SIGUSR1:
		log_info("reopening the audit log");
		journal_reopen(c->journal);
		return;
	default:
		terminate(c);
	}
}

/* ---- start ---- */

static void
ref_grant(void *grant)
{
	(void)grant_ref(grant);
}

static void
unref_grant(void *grant)
{
	grant_unref(grant);
}

static const struct session_ops session_grants = { ref_grant, unref_grant };
static const struct tokens_ops token_grants = { ref_grant, unref_grant };

static size_t
count_workers(const struct settings *set)
{
	cpu_set_t cpus;

	if (set->workers > 0)
		return (size_t)set->workers;
	if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0 || CPU_COUNT(&cpus) < 1)
		return 1;
	return (size_t)CPU_COUNT(&cpus);
}

/* Why nothing new is served; NULL: it is. */
static const char *
unready(void *arg)
{
	const struct control *c = arg;

	if (c->is_draining)
		return "it drains";
	if (!journal_is_healthy(c->journal))
		return "the audit log cannot be written";
	if (journal_room(c->journal) == ROOM_NONE)
		return "the audit log's file system is full but for a reserve";
	if (!journal_is_anchored(c->journal))
		return "the audit anchor cannot be written";
	if (c->ledger != NULL && ledger_health(c->ledger) != LEDGER_OK)
		return ledger_answer_text(ledger_health(c->ledger));
	return NULL;
}

/* ---- what operators ask ---- */

static struct snapshot *
admin_snapshot(void *arg)
{
	const struct control *c = arg;

	return c->snapshot;
}

static bool
admin_reload(void *arg)
{
	return reload(arg);
}

static void
admin_drain(void *arg)
{
	struct control *c = arg;

	if (!c->is_draining)
		terminate(c);
}

static void
admin_record(
    void *arg, const char *event, struct str tenant, struct str name, struct str source)
{
	const struct events e = events_of(arg);

	events_command(&e, event, tenant, name, source);
}

static const char *
ledger_state(const struct control *c)
{
	return c->ledger == NULL ? "none" : ledger_answer_text(ledger_health(c->ledger));
}

static void
admin_status(void *arg, struct buf *to)
{
	struct control *c = arg;
	char head[65];
	struct json_out j;

	journal_head(c->journal, head);
	json_out_init(&j, to);
	json_open(&j, '{');
	json_key(&j, "name");
	json_text(&j, c->snapshot->settings->name);
	json_key(&j, "ready");
	json_bool(&j, unready(c) == NULL);
	json_key(&j, "draining");
	json_bool(&j, c->is_draining);
	json_key(&j, "production");
	json_bool(&j, c->snapshot->settings->production);
	json_key(&j, "generation");
	json_int(&j, (int64_t)c->snapshot->generation);
	json_key(&j, "policy");
	json_text(&j, ruleset_digest(c->snapshot->rules));
	json_key(&j, "workers");
	json_int(&j, (int64_t)c->nworker);
	json_key(&j, "ledger");
	json_text(&j, ledger_state(c));
	json_key(&j, "audit_head");
	json_text(&j, head);
	json_key(&j, "audit_room");
	json_text(&j, room_state_name(journal_room(c->journal)));
	json_key(&j, "audit_free");
	json_int(&j, journal_free_bytes(c->journal));
	json_close(&j, '}');
}

static struct admin *
make_admin(struct control *c)
{
	const struct admin_options o = {
		.loop = c->loop,
		.sessions = c->sessions,
		.tokens = c->tokens,
		.ledger = c->ledger,
		.sockets = &c->sockets,
		.snapshot = admin_snapshot,
		.print_status = admin_status,
		.reload = admin_reload,
		.drain = admin_drain,
		.record = admin_record,
		.arg = c,
	};

	return admin_new(&o);
}

static void
share_room(void *writers, int64_t left)
{
	writers_share(writers, left);
}

static int
open_journal(struct control *c, int uid, int gid)
{
	const struct settings *set = c->snapshot->settings;
	struct journal_options o = {
		.path = set->audit_path,
		.key = { set->audit_key.bytes, set->audit_key.n },
		.name = set->name,
		.sign = { set->audit_sign.bytes, set->audit_sign.n },
		.anchor = set->audit_anchor,
		.segment = (uint64_t)set->audit_segment,
		.reserve = set->audit_reserve,
		.share = share_room,
		.share_arg = c->writers,
		.drops = set->audit_on_failure == ON_FAILURE_DROP,
		.places = (size_t)c->descriptors + 1024,
		.uid = uid,
		.gid = gid,
	};

	c->journal = journal_open(&o);
	return c->journal != NULL ? 0 : EXIT_UNAVAILABLE;
}

static int
open_ledger(struct control *c, int uid, int gid)
{
	const struct settings *set = c->snapshot->settings;
	struct ledger_options o = {
		.url = set->ledger_url,
		.directory = set->state_dir,
		.password = { set->ledger_password.bytes, set->ledger_password.n },
		.uid = uid,
		.gid = gid,
	};

	if (!snapshot_has_sessions(c->snapshot))
		return 0;
	c->ledger = ledger_open(&o);
	return c->ledger != NULL ? 0 : EXIT_UNAVAILABLE;
}

static int
make_workers(struct control *c, size_t n)
{
	struct worker_options o = {
		.snapshot = c->snapshot,
		.journal = c->journal,
		.limits = c->limits,
		.uploads = c->uploads,
		.coined = c->coined,
		.writers = c->writers,
		.sums = c->sums,
		.names = c->names,
		.sessions = c->sessions,
		.tokens = c->tokens,
		.ledger = c->ledger,
		.mint = c->mint,
		.max_pipes = PIPES_EACH,
		.max_kept = KEPT_EACH,
		.says_refusals = c->o->config == NULL,
		.home = c->loop,
		.emptied = on_emptied,
		.arg = c,
	};
	const char *why = NULL;

	c->worker = mem_zalloc(n * sizeof(struct worker *));
	for (; c->nworker < n; c->nworker++) {
		c->worker[c->nworker] = worker_new(&o, &why);
		if (c->worker[c->nworker] == NULL) {
			log_error("no resolver", "why", why);
			return EXIT_UNAVAILABLE;
		}
	}
	return 0;
}

static void
give_door(struct control *c, const struct open_socket *o)
{
	struct entrance to = { .door = o->door,
		.unix_path = o->at.is_unix ? o->source : NULL,
		.is_tls = o->at.is_tls };

	for (size_t w = 0; w < c->nworker; w++) {
		int fd = o->fd[o->nfd > 1 ? w : 0];
		if (o->at.is_udp)
			worker_hear(c->worker[w], fd, o->door);
		else
			worker_listen(c->worker[w], fd, &to, o->is_inherited);
	}
}

static void
give_sockets(struct control *c)
{
	for (size_t i = 0; i < c->sockets.n; i++) {
		struct open_socket *o = &c->sockets.p[i];
		switch (o->kind) {
		case SOCKET_HEALTH:
			health_listen(c->health, o->fd[0]);
			break;
		case SOCKET_ADMIN:
			admin_listen(c->admin, o->fd[0]);
			break;
		case SOCKET_DOOR:
			give_door(c, o);
			break;
		}
	}
}

static int
no_thread(int error)
{
	log_error("a thread cannot be started", "err", strerror(error));
	return EXIT_UNAVAILABLE;
}

static int
start_workers(struct control *c)
{
	int error;

	signals_block(true);
	journal_start(c->journal);
	record(c, "start"); /* before any exchange: none is open behind it */
	journal_checkpoint(c->journal);
	if (c->ledger != NULL)
		ledger_start(c->ledger);
	error = mint_start(c->mint);
	for (size_t i = 0; i < c->nworker && error == 0; i++) {
		error = worker_start(c->worker[i]);
		if (error == 0)
			c->nlive++;
	}
	signals_block(false);
	return error == 0 ? 0 : no_thread(error);
}

/* Root read it all; a reload is done by somebody else. */
static void
warn_of_reloads(const struct settings *set)
{
	struct report rep;

	report_init(&rep);
	settings_check_readable(set, &rep);
	for (size_t i = 0; i < rep.n; i++)
		if (rep.finding[i].severity == SEVERITY_ERROR)
			log_warn("a reload will be refused: the user weir runs as must "
				 "be able to read this",
			    "user", set->user, "why", rep.finding[i].text);
	report_fini(&rep);
}

static int
drop_rights(const struct settings *set, uid_t uid, gid_t gid)
{
	if (geteuid() == 0 && set->user != NULL && !rights_drop(uid, gid)) {
		log_error("rights cannot be dropped", "user", set->user);
		return EXIT_UNAVAILABLE;
	}
	if (set->user != NULL && set->tree != NULL)
		warn_of_reloads(set);
	rights_seal();
	return 0;
}

static void
say_serving(const struct control *c)
{
	struct buf proxy, gateway, socks, dns, led, health, admin;

	log_info("serving", "proxy",
	    sockets_text(&c->sockets, SOCKET_DOOR, &door_http, &proxy), "gateway",
	    sockets_text(&c->sockets, SOCKET_DOOR, &door_gateway, &gateway), "health",
	    sockets_text(&c->sockets, SOCKET_HEALTH, NULL, &health), "admin",
	    sockets_text(&c->sockets, SOCKET_ADMIN, NULL, &admin), "socks5",
	    sockets_text(&c->sockets, SOCKET_DOOR, &door_socks, &socks), "dns",
	    sockets_text(&c->sockets, SOCKET_DOOR, &door_dns, &dns), "transparent",
	    sockets_text(&c->sockets, SOCKET_DOOR, &door_transparent, &led), "workers",
	    NUM((int64_t)c->nworker), "descriptors", NUM((int64_t)c->descriptors),
	    "policy", ruleset_digest(c->snapshot->rules));
	buf_fini(&admin);
	buf_fini(&health);
	buf_fini(&led);
	buf_fini(&dns);
	buf_fini(&socks);
	buf_fini(&gateway);
	buf_fini(&proxy);
}

static void
say_started(const struct control *c)
{
	const struct settings *set = c->snapshot->settings;

	if (c->o->config == NULL)
		log_info("no configuration: production is false, all is refused but "
			 "example.com and what --allow names",
		    "audit", set->audit_path);
	else if (set->user == NULL && geteuid() == 0)
		log_warn("running as root: name a user in the configuration");
	if (set->audit_path == NULL)
		log_warn("no audit log: what passes is not recorded; write audit.path");
	say_serving(c);
}

/* What needs a checked configuration and the rights of the start. */
static int
open_all(struct control *c, uid_t *uid, gid_t *gid)
{
	const struct settings *set = c->snapshot->settings;
	int code;

	if (geteuid() == 0 && set->user != NULL && !rights_find(set->user, uid, gid)) {
		log_error("there is no such user", "user", set->user);
		return EXIT_CONFIG;
	}
	if (sockets_open(&c->sockets, set, count_workers(set)) != 0)
		return EXIT_UNAVAILABLE;
	if ((code = state_dir_make(set, c->o->config == NULL, *uid, *gid)) != 0)
		return code;
	if ((code = open_journal(c, (int)*uid, (int)*gid)) != 0)
		return code;
	return open_ledger(c, (int)*uid, (int)*gid);
}

static int
start(struct control *c)
{
	const struct settings *set = c->snapshot->settings;
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;
	int code;

	logging_begin(&c->logging, set);
	c->descriptors = rights_descriptors();
	c->limits = limits_new();
	c->uploads = uploads_new();
	c->coined = coined_new();
	c->writers = writers_new((size_t)set->audit_writers);
	c->sums = sums_new((size_t)set->audit_sums);
	if (set->dns_door_mode == DNS_SYNTHETIC && set->listen_dns.n > 0)
		c->names = names_new(&set->dns_door_pool4, (size_t)set->dns_door_names);
	c->sessions = sessions_new(&session_grants);
	c->tokens = tokens_new(TOKENS_MOST, &token_grants);
	c->mint = mint_new(
	    (size_t)set->tls_intercept_leaves, (size_t)set->tls_intercept_waiting);
	c->health = health_new(c->loop, unready, c);
	if ((code = open_all(c, &uid, &gid)) != 0 ||
	    (code = drop_rights(set, uid, gid)) != 0 ||
	    (code = make_workers(c, count_workers(set))) != 0)
		return code;
	c->admin = make_admin(c);
	give_sockets(c);
	if ((code = start_workers(c)) != 0)
		return code;
	c->keys = watch_new(c->loop, on_keys, c);
	watch_set(c->keys, &set->secret_files);
	timer_init(&c->watch, on_watch, c);
	timer_set(c->loop, &c->watch, WATCH_EVERY);
	timer_init(&c->sum, on_sum, c);
	timer_set(c->loop, &c->sum, SUM_EVERY);
	timer_init(&c->look, on_look, c);
	if (set->audit_path != NULL)
		timer_set(c->loop, &c->look, LOOK_EVERY);
	timer_init(&c->sent, on_sent, c);
	if (c->ledger != NULL)
		timer_set(c->loop, &c->sent, SENT_EVERY_MS);
	timer_init(&c->head, on_head, c);
	timer_set(c->loop, &c->head, HEAD_EVERY);
	say_started(c);
	notify("READY=1");
	return 0;
}

/* What it still has to say goes to the loops. */
static void
close_ledger(struct control *c)
{
	if (c->ledger == NULL)
		return;
	sent_tell(c->uploads, c->ledger, c->loop);
	ledger_close(c->ledger);
	loop_settle(c->loop); /* while what is told of is there */
}

/* What was made, in the reverse order. */
static void
take_down(struct control *c)
{
	signals_block(true); /* one more may not end what is left to be written */
	timer_clear(&c->watch);
	timer_clear(&c->head);
	timer_clear(&c->sum);
	timer_clear(&c->look);
	timer_clear(&c->sent);
	timer_clear(&c->drain);
	watch_free(c->keys);
	admin_free(c->admin);
	close_ledger(c);
	mint_free(c->mint); /* the same */
	for (size_t i = 0; i < c->nworker; i++)
		worker_free(c->worker[i]);
	free(c->worker);
	health_free(c->health);
	signals_forget(&c->signals);
	if (c->journal != NULL)
		journal_close(c->journal);
	sockets_close(&c->sockets);
	sessions_free(c->sessions);
	tokens_free(c->tokens);
	limits_free(c->limits);
	uploads_free(c->uploads);
	coined_free(c->coined);
	writers_free(c->writers);
	sums_free(c->sums);
	names_free(c->names);
	snapshot_unref(c->snapshot);
	configuration_fini(&c->configuration);
	logging_end(&c->logging);
	loop_free(c->loop);
}

static int
load_first(struct control *c)
{
	struct report rep;
	struct settings *set;

	report_init(&rep);
	set = configuration_read(&c->configuration, &rep);
	if (set != NULL) {
		settings_check_user(set, SEVERITY_ERROR, &rep);
		c->snapshot = configuration_snapshot(
		    &c->configuration, set, NULL, &c->sockets, &rep);
	}
	report_say(&rep);
	bool is_missing = c->o->config != NULL && report_lacks(&rep, c->o->config);
	report_fini(&rep);
	if (c->snapshot != NULL)
		return configuration_remember(&c->configuration) ? 0 : EXIT_CONFIG;
	return is_missing ? EXIT_NOINPUT : EXIT_CONFIG;
}

int
control_run(const struct control_options *o)
{
	struct control c = {
		.o = o,
		.loop = loop_new(),
		.configuration = { .path = o->config,
		    .allow = o->allow,
		    .nallow = o->nallow },
		.logging = LOGGING_NONE,
	};
	int code;

	/* before anything listens: whoever sees weir may signal it */
	signals_watch(&c.signals, c.loop, on_signal, &c);
	if ((code = load_first(&c)) == 0 && (code = start(&c)) == 0) {
		loop_run(c.loop);
		const struct events e = events_of(&c);
		size_t left = events_sums(&e, c.sums);
		if (left > 0)
			log_error(
			    "counts of refusals are lost: the audit log has no room",
			    "rows", NUM((int64_t)left));
		record(&c, "stop");
		journal_checkpoint(c.journal);
		log_info("stopped");
	}
	take_down(&c);
	return code;
}
