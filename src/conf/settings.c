/*
 * settings.c - weir.yaml against the rows of settings.def
 */
#include "conf/settings.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "conf/rows.h"
#include "conf/text.h"

static const struct row rows[] = {
#define SETTING(field, key, type, fallback, min, max, reloadable, help) \
	{ key, &type_##type, fallback, min, max, reloadable, help, \
		offsetof(struct settings, field), false },
#include "conf/settings.def"
#undef SETTING
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))
_Static_assert(ROWS <= ROWS_MAX, "rows.h has room for every row");

static const struct rows all_rows = { rows, ROWS, NULL };

/* A load under way. */
struct load {
	struct loading l;
	struct settings *s;
	enum written written[ROWS];
};

static const void *
field_of(const struct settings *s, const struct row *row)
{
	return (const char *)s + row->offset;
}

/* ---- what a configuration as a whole must satisfy */

static const struct node *
node_of(const struct settings *s, const char *key)
{
	const struct node *n = s->tree == NULL ? NULL : s->tree->root;
	struct str rest = str_of(key), word;
	char name[KEY_MAX];

	while (n != NULL && n->type == NODE_BLOCK && str_split(&rest, '.', &word)) {
		snprintf(name, sizeof(name), "%.*s", STR_ARG(word));
		n = node_get(n, name);
	}
	return n;
}

/* At the key's value, or at the file alone when it was not written. */
static void PRINTF_LIKE(6, 7) key_finding(const struct settings *s, struct report *rep,
    enum severity severity, const char *key, const char *code, const char *fmt, ...)
{
	const struct tree *t = s->tree;
	const struct node *n = node_of(s, key);
	struct mark mark = { .file = t == NULL ? NULL : t->file };
	struct str source = t == NULL ? STR_NONE : t->source;
	va_list ap;

	va_start(ap, fmt);
	report_vadd(
	    rep, severity, n == NULL ? mark : n->mark, source, code, NULL, fmt, ap);
	va_end(ap);
}

void
settings_place(const struct settings *s, const char *key, char *out, size_t n)
{
	const struct node *at = node_of(s, key);
	const char *file = s->tree == NULL ? "default" : s->tree->file;

	if (at != NULL)
		snprintf(out, n, "%s:%zu", file, at->mark.line);
	else
		snprintf(out, n, "%s", file);
}

static bool
is_bad(const struct load *load, const char *key)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].key, key) == 0)
			return load->written[i] == WRITTEN_BADLY;
	return false;
}

/* Or a part of it: what was written wrong was not left out. */
static bool
is_bad_within(const struct load *load, const char *key)
{
	for (size_t i = 0; i < ROWS; i++)
		if (load->written[i] == WRITTEN_BADLY &&
		    str_starts(str_of(rows[i].key), str_of(key)))
			return true;
	return false;
}

static void
check_heads(const struct load *load)
{
	const struct settings *s = load->s;
	const struct {
		const char *key;
		int64_t bytes;
	} parts[] = {
		{ "limits.target", s->limits_target },
		{ "limits.field", s->limits_field },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *at =
		    node_of(s, parts[i].key) != NULL ? parts[i].key : "limits.head";
		if (parts[i].bytes <= s->limits_head || is_bad(load, parts[i].key) ||
		    is_bad(load, "limits.head"))
			continue;
		key_finding(s, load->l.rep, SEVERITY_ERROR, at, "limits_disagree",
		    "%s (%lld bytes) is more than limits.head (%lld bytes), which holds "
		    "it",
		    parts[i].key, (long long)parts[i].bytes, (long long)s->limits_head);
	}
}

/* Would both want the same port of the same address, or the same socket? */
static bool
listeners_clash(const char *a, const char *b)
{
	static const struct addr any = { { 0 } }, any_v4 = V4(0, 0, 0, 0);
	struct endpoint x, y;

	if (!endpoint_parse(&x, listener_address(str_of(a))) ||
	    !endpoint_parse(&y, listener_address(str_of(b))))
		return strcmp(a, b) == 0;
	return x.port == y.port &&
	       (addr_eq(&x.addr, &y.addr) || addr_eq(&x.addr, &any) ||
		   addr_eq(&y.addr, &any) ||
		   (addr_eq(&x.addr, &any_v4) && addr_is_v4(&y.addr)) ||
		   (addr_eq(&y.addr, &any_v4) && addr_is_v4(&x.addr)));
}

const struct texts *
settings_listeners(const struct settings *s, size_t i, const char **key)
{
	for (const struct row *row = rows; row < rows + ROWS; row++)
		if (row->type == &type_LIST_listen && i-- == 0) {
			*key = row->key;
			return (const void *)((const char *)s + row->offset);
		}
	return NULL;
}

static void
check_pair(const struct load *load, const char *key, const struct texts *list,
    const char *other_key, const struct texts *other)
{
	for (size_t i = 0; i < list->n; i++)
		for (size_t k = 0; k < other->n; k++)
			if (listeners_clash(list->p[i], other->p[k]))
				key_finding(load->s, load->l.rep, SEVERITY_ERROR, key,
				    "listener_conflict", "%s of %s is taken by %s (%s)",
				    list->p[i], key, other_key, other->p[k]);
}

static void
check_listeners(const struct load *load)
{
	const char *key, *other_key;
	const struct texts *list, *other;

	for (size_t i = 0; (list = settings_listeners(load->s, i, &key)) != NULL; i++)
		for (size_t k = 0; k < i; k++) {
			other = settings_listeners(load->s, k, &other_key);
			check_pair(load, key, list, other_key, other);
		}
}

/* Over TCP anybody could ask; a Unix socket knows its peer. */
static void
check_admin(const struct load *load)
{
	const struct texts *list = &load->s->listen_admin;

	for (size_t i = 0; i < list->n; i++)
		if (!str_starts(str_of(list->p[i]), STR("unix:")))
			key_finding(load->s, load->l.rep, SEVERITY_ERROR, "listen.admin",
			    "admin_not_unix",
			    "%s: operators are known by their Unix socket: write "
			    "\"unix:/run/weir/admin.sock\"",
			    list->p[i]);
}

/* An answer must come from the address that was asked, and a host's own names are not for
 * whoever reaches any of its addresses. */
static void
check_dns_door(const struct load *load)
{
	static const struct addr any = { { 0 } }, any_v4 = V4(0, 0, 0, 0);
	const struct texts *list = &load->s->listen_dns;
	struct endpoint at;

	for (size_t i = 0; i < list->n; i++) {
		if (endpoint_parse(&at, str_of(list->p[i])) && !addr_eq(&at.addr, &any) &&
		    !addr_eq(&at.addr, &any_v4))
			continue;
		key_finding(load->s, load->l.rep, SEVERITY_ERROR, "listen.dns",
		    "dns_not_named",
		    "%s: the DNS door listens at named addresses: write each, such as "
		    "\"127.0.0.1:15053\"",
		    list->p[i]);
	}
}

/* A certificate signs nothing without its key. */
static void
check_both(const struct load *load, const char *block, const char *cert, const char *key,
    const char *code)
{
	bool has_cert = node_of(load->s, cert) != NULL;
	bool has_key = node_of(load->s, key) != NULL;

	if (node_of(load->s, block) != NULL && !(has_cert && has_key))
		key_finding(load->s, load->l.rep, SEVERITY_ERROR, block, code,
		    "%s is a certificate and its key: %s is not written", block,
		    has_cert ? "key" : "cert");
}

static void
check_certificates(const struct load *load)
{
	check_both(load, "tls.intercept", "tls.intercept.cert", "tls.intercept.key",
	    "half_a_ca");
	check_both(load, "tls.listen", "tls.listen.cert", "tls.listen.key",
	    "half_a_certificate");
}

static bool
has_tls(const struct texts *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (str_starts(str_of(list->p[i]), STR("tls:")))
			return true;
	return false;
}

/* Those that tokens are shown to; the others' clients were led there, or show none. */
static bool
may_have_tls(const struct settings *s, const struct texts *list)
{
	return list == &s->listen_proxy || list == &s->listen_gateway ||
	       list == &s->listen_socks5;
}

static void
check_tls_doors(const struct load *load)
{
	const struct settings *s = load->s;
	const struct texts *list;
	const char *key = NULL, *first = NULL;

	for (size_t i = 0; (list = settings_listeners(s, i, &key)) != NULL; i++) {
		if (!has_tls(list))
			continue;
		if (!may_have_tls(s, list))
			key_finding(s, load->l.rep, SEVERITY_ERROR, key, "no_tls_here",
			    "tls: is for listen.proxy, listen.gateway and "
			    "listen.socks5, and not for %s",
			    key);
		else if (first == NULL)
			first = key;
	}
	if (first != NULL && node_of(s, "tls.listen") == NULL)
		key_finding(s, load->l.rep, SEVERITY_ERROR, first, "no_certificate",
		    "a listener with tls: wants a certificate: tls: { listen: { cert: "
		    "file:weir.pem, key: file:weir.key } }");
}

/* ---- what production: true refuses */

static bool
has_no_boundary(const struct settings *s)
{
	return s->boundary_kind == BOUNDARY_UNWRITTEN;
}

static bool
has_no_sessions(const struct settings *s)
{
	return s->sessions_keys.n == 0 && s->sessions_static.n == 0;
}

static bool
lets_strangers_in(const struct settings *s)
{
	return !s->sessions_required;
}

static bool
has_laptop_session(const struct settings *s)
{
	return s->sessions_default != NULL;
}

static bool
forgets_spend(const struct settings *s)
{
	return strcmp(s->ledger_url, "memory:") == 0;
}

static bool
has_endless_session(const struct settings *s)
{
	return s->gateway_providers.n > 0 && s->budget_default.session_usd < 0 &&
	       s->budget_max.session_usd < 0;
}

static bool
has_endless_tenant(const struct settings *s)
{
	for (size_t i = 0; i < s->budget_tenants.n; i++)
		if (strcmp(s->budget_tenants.p[i].name, "*") == 0)
			return false;
	return s->gateway_providers.n > 0;
}

static bool
drops_records(const struct settings *s)
{
	return s->audit_on_failure == ON_FAILURE_DROP;
}

static const struct {
	const char *key, *code;
	bool (*is_so)(const struct settings *s);
	const char *sentence;
} refused[] = {
	{ "boundary", "no_boundary", has_no_boundary,
	    "production: true wants boundary: { kind: ... }: what keeps a sandbox from "
	    "going around weir, which builds no wall itself" },
	{ "sessions", "no_sessions", has_no_sessions,
	    "production: true wants sessions.keys or sessions.static: who may use weir" },
	{ "sessions.required", "sessions_not_required", lets_strangers_in,
	    "production: true lets in nobody without a session" },
	{ "sessions.default", "laptop_session", has_laptop_session,
	    "sessions.default is for production: false" },
	{ "ledger.url", "memory_ledger", forgets_spend,
	    "a ledger in memory forgets what was spent, which production: true does not "
	    "allow" },
	{ "budget", "endless_session", has_endless_session,
	    "production: true with a provider wants budget.default.sessionUsd or "
	    "budget.max.sessionUsd" },
	{ "budget", "endless_tenant", has_endless_tenant,
	    "production: true with a provider wants budget.tenants to have \"*\": "
	    "tenants: { \"*\": { usd: \"100\", per: day } }" },
	{ "audit.on_failure", "drops_records", drops_records,
	    "with production: true what cannot be recorded is refused, never dropped" },
};

/* Each at its own place: of several providers it says which. */
static void
check_upstreams(const struct load *load)
{
	const struct settings *s = load->s;

	for (size_t i = 0; i < s->gateway_providers.n; i++) {
		const struct provider *p = &s->gateway_providers.p[i];
		if (str_starts(str_of(p->upstream), STR("http://")))
			report_add(load->l.rep, SEVERITY_ERROR, p->mark,
			    s->tree == NULL ? STR_NONE : s->tree->source,
			    "plain_upstream", NULL,
			    "with production: true the upstream of %s begins with "
			    "https://",
			    p->name);
	}
}

static void
check_production(const struct load *load)
{
	check_upstreams(load);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (refused[i].is_so(load->s) && !is_bad_within(load, refused[i].key))
			key_finding(load->s, load->l.rep, SEVERITY_ERROR, refused[i].key,
			    refused[i].code, "%s", refused[i].sentence);
}

/* Afterwards: the policies are looked at in the same run. */
static void
refuse_production(const struct load *load)
{
	if (load->s->production && !is_bad(load, "production"))
		check_production(load);
}

/* What only a whole configuration has. */
static void
check_whole(const struct load *load)
{
	const struct settings *s = load->s;

	if (s->policies.n == 0 && !is_bad(load, "policies"))
		key_finding(s, load->l.rep, SEVERITY_ERROR, "policies", "no_policies",
		    "policies must name at least one policy file: policies: "
		    "[policy.yaml]");
}

void
settings_check_listener(const struct settings *s, struct report *rep)
{
	size_t n = s->listen_proxy.n + s->listen_gateway.n + s->listen_socks5.n +
		   s->listen_dns.n + s->listen_transparent.n;

	if (n == 0)
		key_finding(s, rep, SEVERITY_ERROR, "listen.proxy", "no_listener",
		    "no door names a place to listen at, so nobody could use this weir: "
		    "listen: { proxy: [\"127.0.0.1:3128\"] }");
}

static struct str
without_slashes(struct str path)
{
	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	return path;
}

/* The directory that the file is to be in, where it is none; owned.  `made` is one that
 * the start makes. */
static char *
missing_directory(const char *path, const char *made)
{
	struct str file = without_slashes(str_of(path));
	struct stat st;
	size_t slash;

	if (!str_rfind(file, '/', &slash) || slash == 0)
		return NULL;
	struct str in = without_slashes(str_sub(file, 0, slash));
	if (made != NULL && str_eq(in, without_slashes(str_of(made))))
		return NULL;
	char *directory = str_dup(in);
	if (stat(directory, &st) != 0 ? errno == ENOENT || errno == ENOTDIR
				      : !S_ISDIR(st.st_mode))
		return directory;
	free(directory);
	return NULL;
}

static void
check_directory(const struct settings *s, const char *key, const char *path,
    const char *made, struct report *rep)
{
	char *directory = missing_directory(path, made);

	if (directory != NULL)
		key_finding(s, rep, SEVERITY_ERROR, key, "no_directory",
		    "%s is to be in %s, which is no directory: make it", key, directory);
	free(directory);
}

/* weir starts without it. */
static void
check_anchor(const struct settings *s, struct report *rep)
{
	char *directory = missing_directory(s->audit_anchor, s->state_dir);

	if (directory != NULL)
		key_finding(s, rep, SEVERITY_WARNING, "audit.anchor", "no_directory",
		    "audit.anchor is to be in %s, which is no directory: make it; until "
		    "then checkpoints wait, and weir is not ready",
		    directory);
	free(directory);
}

static void
check_ledger(const struct settings *s, struct report *rep)
{
	static const char *const schemes[] = { "sqlite:", "redis://",
		"redis+unix:", "memory:" };
	const char *url = s->ledger_url;
	size_t n = sizeof(schemes) / sizeof(schemes[0]), i = 0;

	while (i < n && !str_starts(str_of(url), str_of(schemes[i])))
		i++;
	if (i == n)
		key_finding(s, rep, SEVERITY_ERROR, "ledger.url", "bad_ledger",
		    "no ledger is at %s: write sqlite:PATH, redis://HOST:PORT/DB or "
		    "redis+unix:PATH",
		    url);
	else if (i == 0)
		check_directory(
		    s, "ledger.url", url + strlen(schemes[0]), s->state_dir, rep);
}

void
settings_check_user(const struct settings *s, enum severity severity, struct report *rep)
{
	if (s->production && s->user == NULL && geteuid() == 0)
		key_finding(s, rep, severity, "user", "runs_as_root",
		    "production: true does not run as root: write user: weir");
}

void
settings_check_start(const struct settings *s, struct report *rep)
{
	settings_check_listener(s, rep);
	settings_check_user(s, SEVERITY_WARNING, rep);
	if (s->user != NULL && getpwnam(s->user) == NULL)
		key_finding(s, rep, geteuid() == 0 ? SEVERITY_ERROR : SEVERITY_WARNING,
		    "user", "no_such_user",
		    "this machine has no user %s: make it (useradd --system %s), or name "
		    "another",
		    s->user, s->user);
	if (s->state_dir != NULL)
		check_directory(s, "state_dir", s->state_dir, NULL, rep);
	check_ledger(s, rep);
	if (s->audit_path != NULL)
		check_directory(s, "audit.path", s->audit_path, s->state_dir, rep);
	if (s->audit_anchor != NULL)
		check_anchor(s, rep);
	if (s->listen_gateway.n > 0 && s->gateway_providers.n == 0)
		key_finding(s, rep, SEVERITY_WARNING, "listen.gateway", "no_provider",
		    "listen.gateway has no gateway.providers to lead to, so no model "
		    "call is answered there");
}

void
settings_check_audit(const struct settings *s, struct report *rep)
{
	if (s->audit_path == NULL)
		key_finding(s, rep, SEVERITY_WARNING, "audit.path", "no_audit",
		    "audit.path is not set, so nothing is recorded of what passes: "
		    "audit: { path: audit.jsonl }");
}

/* The directory a file is in, absolute. */
static char *
directory_of(const char *path)
{
	struct str all = str_of(path);
	size_t slash;
	char resolved[PATH_MAX];

	char *name = !str_rfind(all, '/', &slash) ? mem_strdup(".")
						  : str_dup(str_sub(all, 0, slash + 1));
	const char *full = realpath(name, resolved);
	char *directory = full == NULL ? name : mem_strdup(full);
	if (full != NULL)
		free(name);
	return directory;
}

/* All that the file system of the log holds; 0: unknown. */
static int64_t
log_room(const struct settings *s)
{
	if (s->audit_path == NULL || strcmp(s->audit_path, "-") == 0)
		return 0;
	char *directory = directory_of(s->audit_path);
	struct statvfs fs;
	bool is_known = statvfs(directory, &fs) == 0;

	free(directory);
	return is_known ? (int64_t)(fs.f_blocks * fs.f_frsize) : 0;
}

void
settings_check_reserve(const struct settings *s, struct report *rep)
{
	const int64_t mib = INT64_C(1) << 20; /* what people read */
	int64_t size = log_room(s);
	char asked[QUANTITY_TEXT], there[QUANTITY_TEXT];

	if (size <= 0 || s->audit_reserve <= size)
		return;
	key_finding(s, rep, SEVERITY_WARNING, "audit.reserve", "reserve_too_large",
	    "audit.reserve is %s, and the file system of audit.path holds %s in all: %s",
	    size_text(asked, s->audit_reserve),
	    size_text(there, size < mib ? size : size / mib * mib),
	    drops_records(s) ? "it is never met, and records are written while they fit"
	    : size < s->audit_reserve / 4
		? "every exchange will be refused"
		: "who writes most of the log will be refused, and soon all are");
}

static void
check_readable(
    const struct settings *s, const char *key, const char *path, struct report *rep)
{
	if (access(path, R_OK) != 0)
		key_finding(s, rep, SEVERITY_ERROR, key, "unreadable_file", "%s: %s",
		    path, strerror(errno));
}

void
settings_check_readable(const struct settings *s, struct report *rep)
{
	check_readable(s, "", s->tree->file, rep);
	for (size_t i = 0; i < s->policies.n; i++)
		check_readable(s, "policies", s->policies.p[i], rep);
	if (s->tls_roots != NULL)
		check_readable(s, "tls.roots", s->tls_roots, rep);
	for (size_t i = 0; i < s->secret_files.n; i++)
		check_readable(s, "", s->secret_files.p[i].path, rep);
}

/* What access(2) asks for: the real ids, and the groups. */
static bool
act_as(uid_t uid, gid_t gid, size_t ngroups, const gid_t *groups)
{
	return setgroups(ngroups, groups) == 0 &&
	       setresgid(gid, (gid_t)-1, (gid_t)-1) == 0 &&
	       setresuid(uid, (uid_t)-1, (uid_t)-1) == 0;
}

/* False: this process may not look as another. */
static bool
check_readable_as(const struct settings *s, const struct passwd *user, struct report *rep)
{
	gid_t groups[NGROUPS_MAX], gid = getgid();
	int n = getgroups(NGROUPS_MAX, groups);
	bool is_so = n >= 0 && act_as(user->pw_uid, user->pw_gid, 0, NULL);

	if (is_so)
		settings_check_readable(s, rep);
	return n >= 0 && act_as(0, gid, (size_t)n, groups) && is_so;
}

void
settings_check_reload(const struct settings *s, struct report *rep)
{
	const struct passwd *user = s->user == NULL ? NULL : getpwnam(s->user);
	struct report found;

	if (geteuid() != 0 || getuid() != 0 || user == NULL || s->tree == NULL)
		return;
	report_init(&found);
	if (!check_readable_as(s, user, &found))
		key_finding(s, rep, SEVERITY_WARNING, "user", "user_not_tried",
		    "it could not be tried what %s can read", s->user);
	for (size_t i = 0; i < found.n; i++)
		key_finding(s, rep, SEVERITY_WARNING, "user", "unreadable_for_user",
		    "%s: for %s, who must be able to read it, or a reload will be "
		    "refused",
		    found.finding[i].text, s->user);
	report_fini(&found);
}

void
settings_refuse(const struct settings *s, struct report *rep, const char *key,
    const char *code, const char *why)
{
	key_finding(s, rep, SEVERITY_ERROR, key, code, "%s", why);
}

void
settings_refuse_roots(const struct settings *s, struct report *rep)
{
	key_finding(s, rep, SEVERITY_ERROR, "tls.roots", "bad_roots",
	    "%s holds no certificate that can be read; name a PEM file with "
	    "certificates, or write system",
	    s->tls_roots);
}

void
settings_refuse_sign(const struct settings *s, struct report *rep)
{
	key_finding(s, rep, SEVERITY_ERROR, "audit.sign", "bad_sign",
	    "audit.sign is no Ed25519 private key in PEM without a passphrase: openssl "
	    "genpkey -algorithm ed25519 makes one");
}

/* ---- loading */

static struct settings *
settings_new(struct load *load)
{
	load->s = mem_zalloc(sizeof(*load->s));
	load->s->tree = load->l.t;
	load->s->is_part = load->l.wanted != NULL;
	load->l.secret_files = &load->s->secret_files;
	if (load->l.t != NULL) {
		rows_hide(&load->l, &all_rows, load->l.t->root);
		(void)rows_read(
		    &load->l, &all_rows, load->l.t->root, load->s, load->written);
	}
	rows_default(&all_rows, load->s, load->written);
	/* nobody could bring a session where there are none */
	if (!load->s->production && has_no_sessions(load->s) &&
	    node_of(load->s, "sessions.required") == NULL)
		load->s->sessions_required = false;
	return load->s;
}

/* Every key is one of a policy: nothing else need be said of it. */
static bool
is_policy(const struct node *root)
{
	const struct node *n = root->type == NODE_BLOCK ? root->child : NULL;

	if (n == NULL)
		return false;
	for (; n != NULL; n = n->next)
		if (!rows_is_of_a_policy(n->key))
			return false;
	return true;
}

/* Takes the tree. */
static struct settings *
settings_load(struct tree *t, const char *directory, const char *const *wanted,
    struct report *rep, bool is_whole, size_t errors_before)
{
	struct load load = {
		.l = { .t = t, .directory = directory, .rep = rep, .wanted = wanted }
	};

	if (t == NULL)
		return NULL;
	if (is_whole && is_policy(t->root)) {
		node_error(t, t->root, rep, "not_a_configuration",
		    "name it under policies, or check it by itself: weir check FILE",
		    "this is a policy, not a configuration");
		tree_free(t);
		return NULL;
	}
	struct settings *s = settings_new(&load);
	check_heads(&load);
	check_listeners(&load);
	check_admin(&load);
	check_dns_door(&load);
	check_certificates(&load);
	check_tls_doors(&load);
	if (is_whole)
		check_whole(&load);
	bool is_good = rep->errors == errors_before;
	if (is_whole)
		refuse_production(&load);
	if (is_good)
		return s;
	settings_free(s);
	return NULL;
}

struct settings *
settings_load_text(
    const char *name, struct str text, const char *directory, struct report *rep)
{
	size_t errors = rep->errors;

	return settings_load(
	    tree_read_text(name, text, rep), directory, NULL, rep, false, errors);
}

struct settings *
settings_load_part(const char *path, const char *const *wanted, struct report *rep)
{
	size_t errors = rep->errors;
	char *directory = directory_of(path);
	struct settings *s = settings_load(tree_read_file(path, TREE_CONFIG_MAX, rep),
	    directory, wanted, rep, true, errors);

	free(directory);
	return s;
}

struct settings *
settings_load_file(const char *path, struct report *rep)
{
	return settings_load_part(path, NULL, rep);
}

static void
free_fields(struct settings *s, bool reloadable)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].is_reloadable == reloadable && rows[i].type->free != NULL)
			rows[i].type->free((char *)s + rows[i].offset);
}

void
settings_prune(struct settings *s)
{
	free_fields(s, true);
	s->is_pruned = true;
}

void
settings_free(struct settings *s)
{
	if (s == NULL)
		return;
	free_fields(s, false);
	if (!s->is_pruned)
		free_fields(s, true);
	secret_files_free(&s->secret_files);
	tree_free(s->tree);
	free(s);
}

void
settings_secrets(const struct settings *s, secret_see *see, void *arg)
{
	assert(!s->is_pruned && !s->is_part);
	rows_show(&all_rows, s, see, arg);
}

/* ---- without a configuration */

/* NULL: this user has no home. */
static char *
laptop_state_dir(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	const struct passwd *user = NULL;
	struct buf path;

	if (geteuid() == 0)
		return mem_strdup("/var/lib/weir");
	if (home == NULL || home[0] != '/')
		home = (user = getpwuid(geteuid())) != NULL ? user->pw_dir : NULL;
	buf_init(&path, PATH_MAX);
	if (state != NULL &&
	    state[0] == '/') /* the specification: ignore a relative one */
		buf_fmt(&path, "%s/weir", state);
	else if (home != NULL)
		buf_fmt(&path, "%s/.local/state/weir", home);
	char *copy = path.n == 0 ? NULL : str_dup(buf_view(&path));
	buf_fini(&path);
	return copy;
}

static char *
joined(const char *directory, const char *name)
{
	struct buf path;

	buf_init(&path, TEXT_ANY);
	buf_fmt(&path, "%s/%s", directory, name);
	char *copy = str_dup(buf_view(&path));
	buf_fini(&path);
	return copy;
}

struct settings *
settings_laptop(struct report *rep)
{
	static const char *const listeners[] = { "127.0.0.1:3128", "[::1]:3128" };
	struct load load = { .l = { .directory = "/", .rep = rep } };
	char *state_dir = laptop_state_dir();

	if (state_dir == NULL) {
		report_add(rep, SEVERITY_ERROR, (struct mark){ 0 }, STR_NONE,
		    "no_state_dir",
		    "set HOME or XDG_STATE_HOME, or write a configuration",
		    "there is no directory to keep the audit log in");
		return NULL;
	}
	struct settings *s = settings_new(&load);
	s->production = false;
	s->sessions_required = false;
	s->errors = ERRORS_DEVELOPER;
	s->listen_proxy.p = mem_zalloc(sizeof(listeners));
	for (; s->listen_proxy.n < 2; s->listen_proxy.n++)
		s->listen_proxy.p[s->listen_proxy.n] =
		    mem_strdup(listeners[s->listen_proxy.n]);
	s->state_dir = state_dir;
	s->audit_path = joined(state_dir, "audit.jsonl");
	return s;
}

/* ---- looking at settings */

size_t
settings_not_reloadable(
    const struct settings *old, const struct settings *new, const char **key, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < ROWS && n < max; i++) {
		const struct row *row = &rows[i];
		if (!row->is_reloadable &&
		    !row->type->same(field_of(old, row), field_of(new, row)))
			key[n++] = rows[i].key;
	}
	return n;
}

/* "0 to 64 entries", "at least 0 bytes", or nothing where bounds mean nothing. */
static void
range_text(const struct row *row, char out[static KEY_MAX])
{
	const char *unit = row->type->unit;

	out[0] = '\0';
	if (unit == NULL)
		return;
	if (row->max == INT64_MAX)
		snprintf(out, KEY_MAX, "at least %lld %s", (long long)row->min, unit);
	else
		snprintf(out, KEY_MAX, "%lld to %lld %s", (long long)row->min,
		    (long long)row->max, unit);
	for (size_t n = strlen(out); n > 0 && out[n - 1] == ' '; n--)
		out[n - 1] = '\0';
}

static void
print_default_text(const struct row *row, struct buf *to)
{
	char range[KEY_MAX];

	range_text(row, range);
	buf_fmt(to, "%-26s %-10s %s\n", row->key,
	    row->fallback == NULL ? "-" : row->fallback, row->help);
	buf_fmt(to, "%37s %s%s%s; changes %s\n", "", row->type->name,
	    range[0] == '\0' ? "" : ", ", range,
	    row->is_reloadable ? "on reload" : "with a restart");
}

static void
json_text(struct buf *to, const char *key, const char *text)
{
	buf_fmt(to, ",\"%s\":", key);
	text_quote(to, text);
}

static void
print_default_json(const struct row *row, struct buf *to)
{
	buf_fmt(to, "{\"key\":\"%s\"", row->key);
	json_text(to, "type", row->type->name);
	json_text(to, "default", row->fallback);
	if (row->type->unit != NULL)
		buf_fmt(to, ",\"minimum\":%lld,\"maximum\":%lld", (long long)row->min,
		    (long long)row->max);
	else
		buf_text(to, ",\"minimum\":null,\"maximum\":null");
	json_text(to, "unit", row->type->unit);
	buf_fmt(to, ",\"reloadable\":%s", row->is_reloadable ? "true" : "false");
	json_text(to, "help", row->help);
	buf_char(to, '}');
}

void
settings_print_defaults(struct buf *to, bool as_json)
{
	bool is_first = true;

	if (as_json)
		buf_char(to, '[');
	for (size_t i = 0; i < ROWS; i++) {
		if (as_json && !is_first)
			buf_text(to, ",\n");
		is_first = false;
		if (as_json)
			print_default_json(&rows[i], to);
		else
			print_default_text(&rows[i], to);
	}
	if (as_json)
		buf_text(to, "]\n");
}
