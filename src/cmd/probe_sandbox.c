/*
 * probe_sandbox.c - the sandbox itself: what it holds that it must not
 *
 * Weir keeps credentials on its own side, which is worth nothing where the sandbox has
 * others; and a boundary made of rules is worth nothing to who may change rules.  All is
 * looked at as the user that runs this, who should be the untrusted one.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "audit/redact.h"
#include "cmd/probe.h"
#include "cmd/talk.h"

#define FOUND_MAX ((size_t)120)
#define VALUE_MAX ((size_t)1 << 20)

extern char **environ;

/* ---- what was found, as a list of names ---- */

/* What no longer fits is not named: that there is something is enough. */
static void
note(struct buf *found, const char *name, size_t n)
{
	struct buf one;

	buf_init(&one, FOUND_MAX);
	buf_text(&one, found->n > 0 ? ", " : "");
	for (size_t i = 0; i < n; i++)
		buf_char(&one, name[i] > ' ' && name[i] <= '~' ? name[i] : '?');
	buf_str(found, buf_view(&one));
	buf_fini(&one);
}

static void
judge(struct probe *p, struct buf *found)
{
	if (found->n > 0 || found->is_over)
		probe_bad(p, "%s", found->n > 0 ? buf_cstr(found) : "too long to name");
	else
		probe_good(p, "none");
}

/* ---- secrets ---- */

/* The session's own token is what the sandbox is meant to have. */
static bool
is_own_token(const struct probe_plan *plan, struct str value)
{
	return plan->token.n > 0 && value.n >= plan->token.n &&
	       memmem(value.p, value.n, plan->token.p, plan->token.n) != NULL;
}

/* A shell's working directory has the name of a password. */
static bool
is_directory(const char *variable)
{
	return str_starts(str_of(variable), STR("PWD=/")) ||
	       str_starts(str_of(variable), STR("OLDPWD=/"));
}

static bool
is_secret(const struct redactor *r, struct str variable)
{
	struct buf out;
	bool is;

	buf_init(&out, VALUE_MAX);
	out.is_secret = true;
	is = redact(r, REDACT_TEXT, variable, &out) > 0;
	buf_fini(&out);
	return is;
}

static void
run_environment(struct probe *p)
{
	struct redactor *r = redactor_new(STR_NONE, "k0");
	struct buf found;

	buf_init(&found, FOUND_MAX);
	for (char **e = environ; *e != NULL; e++)
		if (!is_directory(*e) && !is_own_token(p->plan, str_of(*e)) &&
		    is_secret(r, str_of(*e)))
			note(&found, *e, strcspn(*e, "="));
	judge(p, &found);
	buf_fini(&found);
	redactor_free(r);
}

/* Of a home directory, without its slash. */
static const char *const home_files[] = { ".aws/credentials", ".azure/accessTokens.json",
	".azure/msal_token_cache.json",
	".config/gcloud/application_default_credentials.json",
	".config/gcloud/credentials.db", ".config/gh/hosts.yml", ".docker/config.json",
	".git-credentials", ".gnupg/private-keys-v1.d", ".kube/config", ".netrc",
	".pgpass", ".ssh/id_dsa", ".ssh/id_ecdsa", ".ssh/id_ed25519", ".ssh/id_rsa",
	".vault-token" };

static const char *const files[] = { "/etc/kubernetes/admin.conf",
	"/etc/kubernetes/kubelet.conf", "/etc/rancher/k3s/k3s.yaml", "/etc/shadow",
	"/var/lib/kubelet/config.json" };

static void
note_readable(struct buf *found, const char *path)
{
	if (access(path, R_OK) == 0)
		note(found, path, strlen(path));
}

static void
run_files(struct probe *p)
{
	const char *home = getenv("HOME");
	char path[512];
	struct buf found;

	buf_init(&found, FOUND_MAX);
	for (size_t i = 0; i < sizeof(home_files) / sizeof(home_files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", home != NULL ? home : "/root",
		    home_files[i]);
		note_readable(&found, path);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		note_readable(&found, files[i]);
	judge(p, &found);
	buf_fini(&found);
}

static void
run_account(struct probe *p)
{
	struct buf found;

	buf_init(&found, FOUND_MAX);
	note_readable(&found, "/var/run/secrets/kubernetes.io/serviceaccount/token");
	judge(p, &found);
	buf_fini(&found);
}

/* ---- sockets of who has more rights ---- */

static const char *const engines[] = { "/run/docker.sock", "/var/run/docker.sock",
	"/run/containerd/containerd.sock", "/run/crio/crio.sock",
	"/run/podman/podman.sock", "/run/buildkit/buildkitd.sock",
	"/var/lib/kubelet/pod-resources/kubelet.sock", "/run/systemd/private",
	"/run/dbus/system_bus_socket" };

static void
note_socket(struct probe *p, struct buf *found, const char *path)
{
	char where[512];
	struct talk t;

	snprintf(where, sizeof(where), "unix:%s", path);
	if (talk_open(&t, where, SOCK_STREAM, p->plan->timeout_ms) == 0)
		note(found, path, strlen(path));
	talk_close(&t);
}

static void
run_engines(struct probe *p)
{
	const char *agent = getenv("SSH_AUTH_SOCK");
	struct buf found;

	buf_init(&found, FOUND_MAX);
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		note_socket(p, &found, engines[i]);
	if (agent != NULL)
		note_socket(p, &found, agent);
	judge(p, &found);
	buf_fini(&found);
}

/* ---- rights ---- */

/* A row of /proc/self/status: its number, or false. */
static bool
status_number(const char *key, int base, unsigned long long *out)
{
	char line[256];
	size_t n = strlen(key);
	bool is_found = false;
	FILE *f = fopen("/proc/self/status", "re");

	while (f != NULL && !is_found && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, key, n) == 0 && line[n] == ':') {
			*out = strtoull(line + n + 1, NULL, base);
			is_found = true;
		}
	if (f != NULL)
		fclose(f);
	return is_found;
}

/* Numbers of <linux/capability.h>; with setuid it takes the user that rules let out. */
static const struct {
	unsigned bit;
	const char *name;
} rights[] = {
	{ 1, "dac_override" },
	{ 2, "dac_read_search" },
	{ 6, "setgid" },
	{ 7, "setuid" },
	{ 12, "net_admin" },
	{ 13, "net_raw" },
	{ 16, "sys_module" },
	{ 17, "sys_rawio" },
	{ 19, "sys_ptrace" },
	{ 21, "sys_admin" },
	{ 38, "perfmon" },
	{ 39, "bpf" },
};

static void
run_rights(struct probe *p)
{
	unsigned long long effective, permitted;
	struct buf found;

	if (!status_number("CapEff", 16, &effective) ||
	    !status_number("CapPrm", 16, &permitted)) {
		probe_unsure(p, "/proc/self/status does not say");
		return;
	}
	buf_init(&found, FOUND_MAX);
	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++)
		if (((effective | permitted) >> rights[i].bit & 1) != 0)
			note(&found, rights[i].name, strlen(rights[i].name));
	judge(p, &found);
	buf_fini(&found);
}

static void
run_status(struct probe *p, const char *key, unsigned long long least, const char *off)
{
	unsigned long long n;

	if (!status_number(key, 10, &n))
		probe_unsure(p, "/proc/self/status does not say");
	else if (n < least)
		probe_bad(p, "%s", off);
	else
		probe_good(p, "it is");
}

static void
run_new_rights(struct probe *p)
{
	run_status(p, "NoNewPrivs", 1, "a set-user-ID program can");
}

static void
run_seccomp(struct probe *p)
{
	run_status(p, "Seccomp", 2, "every system call is open to it");
}

static void
run_root(struct probe *p)
{
	struct statvfs fs;

	if (statvfs("/", &fs) != 0)
		probe_unsure(p, "/: %s", strerror(errno));
	else if ((fs.f_flag & ST_RDONLY) == 0)
		probe_bad(p, "it is mounted for writing");
	else
		probe_good(p, "it is");
}

/* ---- limits ---- */

enum limit { LIMIT_UNKNOWN, LIMIT_NONE, LIMIT_SET };

/* cgroup v2 says "max", v1 a number beyond any machine. */
static enum limit
limit_of(const char *path)
{
	char text[64] = "";
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return LIMIT_UNKNOWN;
	bool is_read = fgets(text, sizeof(text), f) != NULL;
	fclose(f);
	if (!is_read)
		return LIMIT_UNKNOWN;
	return !isdigit((unsigned char)text[0]) ||
		       strtoull(text, NULL, 10) > (unsigned long long)1 << 60
		   ? LIMIT_NONE
		   : LIMIT_SET;
}

static const struct {
	const char *name, *v2, *v1;
} limits[] = {
	{ "processes", "/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max" },
	{ "memory", "/sys/fs/cgroup/memory.max",
	    "/sys/fs/cgroup/memory/memory.limit_in_bytes" },
};

static void
run_limits(struct probe *p)
{
	struct buf found;
	bool is_known = true;

	buf_init(&found, FOUND_MAX);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		enum limit l = limit_of(limits[i].v2);

		if (l == LIMIT_UNKNOWN)
			l = limit_of(limits[i].v1);
		if (l == LIMIT_NONE)
			note(&found, limits[i].name, strlen(limits[i].name));
		is_known = is_known && l != LIMIT_UNKNOWN;
	}
	if (found.n == 0 && !is_known)
		probe_unsure(p, "no cgroup is to be seen that has limits");
	else
		judge(p, &found);
	buf_fini(&found);
}

/* ---- weir itself ---- */

/* `weir forward` and this one belong here; `weir run` does not. */
static bool
is_proxy(const char *pid)
{
	char path[64], words[64] = { 0 };

	snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return false;
	size_t n = fread(words, 1, sizeof(words) - 1, f), first = strlen(words);
	fclose(f);
	return first + 1 < n && strcmp(words + first + 1, "run") == 0 &&
	       str_ends((struct str){ words, first }, STR("weir"));
}

static bool
shares_network(const char *pid)
{
	char path[64];
	struct stat own, its;

	snprintf(path, sizeof(path), "/proc/%.20s/ns/net", pid);
	return stat("/proc/self/ns/net", &own) == 0 && stat(path, &its) == 0 &&
	       own.st_ino == its.st_ino && own.st_dev == its.st_dev;
}

static void
run_weir(struct probe *p)
{
	DIR *all = opendir("/proc");
	struct dirent *one;

	if (all == NULL) {
		probe_unsure(p, "/proc: %s", strerror(errno));
		return;
	}
	probe_good(p, "none is in sight");
	while ((one = readdir(all)) != NULL)
		if (isdigit((unsigned char)one->d_name[0]) && is_proxy(one->d_name))
			probe_bad(p, "process %.20s%s", one->d_name,
			    shares_network(one->d_name) ? ", in the same network" : "");
	closedir(all);
}

/* ---- the rows ---- */

static const struct probe_row rows[] = {
	{ "environment", "no variable holds a secret",
	    "give credentials to weir, which injects them, and none to the sandbox",
	    DOOR_NONE, OVER_ONCE, false, run_environment },
	{ "files", "no file of credentials can be read",
	    "leave them out of the image and the mounts", DOOR_NONE, OVER_ONCE, false,
	    run_files },
	{ "account", "there is no service account's token",
	    "automountServiceAccountToken: false", DOOR_NONE, OVER_ONCE, false,
	    run_account },
	{ "engine", "no socket of a container engine, bus or agent answers",
	    "do not mount it: whoever speaks to it is root on its host, or is its owner",
	    DOOR_NONE, OVER_ONCE, false, run_engines },
	{ "rights", "it has no capability that undoes the boundary",
	    "drop all capabilities (cap_drop: [ALL])", DOOR_NONE, OVER_ONCE, false,
	    run_rights },
	{ "new-rights", "nothing it runs can gain rights",
	    "no-new-privileges:true, allowPrivilegeEscalation: false", DOOR_NONE,
	    OVER_ONCE, false, run_new_rights },
	{ "seccomp", "its system calls are filtered",
	    "the engine's default profile (RuntimeDefault)", DOOR_NONE, OVER_ONCE, false,
	    run_seccomp },
	{ "root", "its root is read-only", "read_only: true, and a tmpfs where it writes",
	    DOOR_NONE, OVER_ONCE, false, run_root },
	{ "limits", "processes and memory have a limit",
	    "pids_limit and mem_limit: else one sandbox starves the others", DOOR_NONE,
	    OVER_ONCE, false, run_limits },
	{ "weir", "no weir runs where the sandbox sees it",
	    "weir belongs in a container or a host of its own: what it holds can be "
	    "read by who sees its process, and its network is a way out",
	    DOOR_NONE, OVER_ONCE, false, run_weir },
};

const struct probe_rows probe_sandboxes = { rows, sizeof(rows) / sizeof(rows[0]) };
