/*
 * ca.c - weir ca: the CA that answers in place of origins is made, and replaced
 *
 * A directory holds it: ca.pem and ca.key sign, bundle.pem is what sandboxes trust.  A
 * rotation has two steps, because who trusts a new CA must have it before it signs:
 * next.pem and next.key are made and published beside the old, and later take its place.
 */
#include <errno.h>
#include <getopt.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/loop.h"
#include "cmd/input.h"
#include "cmd/main.h"
#include "cmd/newfile.h"
#include "cmd/usage.h"
#include "net/ca.h"

#define TEXT_MAX ((size_t)1 << 20)
#define PATH_TEXT 4096
#define NAME_ROOM 32 /* for a file's name, behind the directory's */
#define PERMIT_MAX 64

static const char help[] =
    "usage: weir ca init DIRECTORY [option]...\n"
    "       weir ca rotate DIRECTORY [--finish] [option]...\n"
    "       weir ca show DIRECTORY\n"
    "\n"
    "The CA under which weir answers TLS in place of an origin, where a rule wants to\n"
    "see requests (tls.intercept in weir.yaml).\n"
    "\n"
    "  init      makes ca.pem, ca.key, and bundle.pem for the sandboxes' trust\n"
    "  rotate    makes next.pem and next.key; bundle.pem has old and new\n"
    "  rotate --finish\n"
    "            when every sandbox has that bundle: the new one signs; reload weir\n"
    "  show      what is there: names, ends, fingerprints\n"
    "\n"
    "      --name TEXT     the CA's name (default: weir interception CA)\n"
    "      --days N        how long it is good (default: 365)\n"
    "      --permit NAME   it may sign for NAME and what is below it, and for nothing\n"
    "                      else (name constraints); may stand several times\n"
    "      --help          this text\n"
    "\n"
    "Exits 0 when it is done, 1 when what is there does not allow it (a rotation under\n"
    "way, none to finish, a CA that does not sign), 66 when a file cannot be read, 69\n"
    "when one cannot be written.\n";

struct options {
	const char *directory;
	struct ca_order order;
	struct host permitted[PERMIT_MAX];
	const char *permit[PERMIT_MAX]; /* their names */
	bool finishes;
};

struct path {
	char text[PATH_TEXT];
};

static const char *
in(const struct options *o, const char *name, struct path *p)
{
	snprintf(p->text, sizeof(p->text), "%s/%s", o->directory, name);
	return p->text;
}

static bool
is_there(const struct options *o, const char *name)
{
	struct path p;

	return access(in(o, name, &p), F_OK) == 0;
}

/* ---- one that is there */

static bool
read_text(const struct options *o, const char *name, struct buf *to)
{
	struct path p;

	return input_read("ca", in(o, name, &p), to);
}

/* Does the first file hold what the second does? */
static bool
holds(const struct options *o, const char *file, const char *other)
{
	struct buf all, part;
	bool is_in = false;

	buf_init(&all, TEXT_MAX);
	buf_init(&part, TEXT_MAX);
	if (is_there(o, file) && read_text(o, file, &all) && read_text(o, other, &part))
		is_in = part.n > 0 && memmem(all.p, all.n, part.p, part.n) != NULL;
	buf_fini(&all);
	buf_fini(&part);
	return is_in;
}

static void
print_one(const struct ca *ca, const char *what)
{
	time_t at = (time_t)ca_expires_s(ca);
	char print[65], when[32];
	struct tm tm;

	ca_fingerprint(ca, print);
	gmtime_r(&at, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	printf("%-9s until %s  sha256 %s\n", what, when, print);
}

/* EXIT_YES when it is one that signs. */
static int
show_one(const struct options *o, const char *cert, const char *key, const char *what)
{
	struct buf c, k;
	struct ca *ca = NULL;
	const char *why = NULL;

	buf_init(&c, TEXT_MAX);
	buf_init(&k, TEXT_MAX);
	k.is_secret = true;
	if (read_text(o, cert, &c) && read_text(o, key, &k))
		ca = ca_load(buf_view(&c), buf_view(&k), &why);
	if (ca != NULL)
		print_one(ca, what);
	else if (why != NULL)
		fprintf(stderr, "weir ca: %s/%s: %s\n", o->directory, cert, why);
	ca_unref(ca);
	buf_fini(&c);
	buf_fini(&k);
	return ca != NULL ? EXIT_YES : why != NULL ? EXIT_NO : EXIT_NOINPUT;
}

static int
show(const struct options *o)
{
	int code = show_one(o, "ca.pem", "ca.key", "signs");

	if (is_there(o, "next.pem") && code == EXIT_YES)
		code = show_one(o, "next.pem", "next.key", "is next");
	return code;
}

/* ---- one that is made */

/* The key first: a certificate without it would be found by who looks for both. */
static bool
write_pair(const struct options *o, const char *cert_name, const char *key_name,
    struct str cert, struct str key)
{
	struct path c, k;

	if (!newfile_write("ca", in(o, key_name, &k), 0600, key))
		return false;
	if (newfile_write("ca", in(o, cert_name, &c), 0644, cert))
		return true;
	unlink(k.text); /* it is no CA's, and would be in the way of one */
	return false;
}

static bool
make(const struct options *o, const char *cert_name, const char *key_name)
{
	struct buf cert, key;
	bool is_made;

	buf_init(&cert, TEXT_MAX);
	buf_init(&key, TEXT_MAX);
	key.is_secret = true;
	is_made = ca_make(&o->order, &cert, &key);
	if (!is_made)
		fputs("weir ca: OpenSSL makes no CA of this\n", stderr);
	is_made = is_made &&
		  write_pair(o, cert_name, key_name, buf_view(&cert), buf_view(&key));
	buf_fini(&cert);
	buf_fini(&key);
	return is_made;
}

/* What sandboxes trust: one, or one after the other. */
static bool
publish(const struct options *o, const char *first, const char *then)
{
	struct buf all;
	struct path p;
	bool is_done;

	buf_init(&all, TEXT_MAX);
	is_done = read_text(o, first, &all) &&
		  (then == NULL || read_text(o, then, &all)) &&
		  newfile_replace("ca", in(o, "bundle.pem", &p), 0644, buf_view(&all));
	buf_fini(&all);
	return is_done;
}

/* Both or neither: one that nobody can trust would be in the way of another. */
static bool
make_and_publish(const struct options *o, const char *cert_name, const char *key_name,
    const char *then)
{
	struct path c, k;

	if (!make(o, cert_name, key_name))
		return false;
	if (publish(o, cert_name, then))
		return true;
	unlink(in(o, cert_name, &c));
	unlink(in(o, key_name, &k));
	return false;
}

static int
init(const struct options *o)
{
	if (mkdir(o->directory, 0755) != 0 && errno != EEXIST) {
		fprintf(stderr, "weir ca: %s cannot be made: %s\n", o->directory,
		    strerror(errno));
		return EXIT_UNAVAILABLE;
	}
	if (!make_and_publish(o, "ca.pem", "ca.key", NULL))
		return EXIT_UNAVAILABLE;
	printf("In weir.yaml:\n\n"
	       "  tls: { intercept: { cert: file:%s/ca.pem, key: file:%s/ca.key } }\n\n"
	       "Sandboxes trust %s/bundle.pem (weir env --ca prints their variables).\n"
	       "ca.key is for weir alone: give it to the user that weir runs as.\n\n",
	    o->directory, o->directory, o->directory);
	return show(o);
}

static int
say_under_way(void)
{
	fputs("weir ca: a rotation is under way: weir ca rotate --finish ends it\n",
	    stderr);
	return EXIT_NO;
}

/* Where a run was cut off: of a key alone nothing was made, and a CA that is not in the
 * bundle is to be in it. */
static int
begin_rotation(const struct options *o)
{
	struct path key;
	bool is_made = is_there(o, "next.pem");

	if (is_made && holds(o, "bundle.pem", "next.pem"))
		return say_under_way();
	if (!is_made)
		unlink(in(o, "next.key", &key));
	if (is_made ? !publish(o, "next.pem", "ca.pem")
		    : !make_and_publish(o, "next.pem", "next.key", "ca.pem"))
		return EXIT_UNAVAILABLE;
	printf("Give %s/bundle.pem, which has both, to every sandbox; then\n"
	       "  weir ca rotate --finish %s\n\n",
	    o->directory, o->directory);
	return show(o);
}

static bool
move(const struct options *o, const char *from, const char *to)
{
	struct path f, t;

	if (rename(in(o, from, &f), in(o, to, &t)) == 0)
		return true;
	fprintf(stderr, "weir ca: %s cannot become %s: %s\n", f.text, t.text,
	    strerror(errno));
	return false;
}

/* Again is fine: what has moved already has. */
static int
finish_rotation(const struct options *o)
{
	if (!is_there(o, "next.pem")) {
		fputs("weir ca: there is no new CA: weir ca rotate makes one\n", stderr);
		return EXIT_NO;
	}
	if (!holds(o, "bundle.pem", "next.pem")) {
		fputs("weir ca: bundle.pem does not have the new CA, so that no sandbox "
		      "trusts it: weir ca rotate publishes it\n",
		    stderr);
		return EXIT_NO;
	}
	if ((is_there(o, "next.key") && !move(o, "next.key", "ca.key")) ||
	    !move(o, "next.pem", "ca.pem"))
		return EXIT_UNAVAILABLE;
	printf("Reload weir.  %s/bundle.pem still has the old CA, under which\n"
	       "certificates of the last week may be in use.\n\n",
	    o->directory);
	return show(o);
}

/* ---- options */

enum option_id { OPTION_NAME = 256, OPTION_DAYS, OPTION_PERMIT, OPTION_FINISH };

static const struct option longs[] = {
	{ "name", required_argument, NULL, OPTION_NAME },
	{ "days", required_argument, NULL, OPTION_DAYS },
	{ "permit", required_argument, NULL, OPTION_PERMIT },
	{ "finish", no_argument, NULL, OPTION_FINISH },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static int
take_days(struct options *o)
{
	uint64_t days;

	if (!str_decimal(str_of(optarg), &days) || days < 1 || days > 3650)
		return usage_refuse("ca", "--days takes 1 to 3650");
	o->order.days = (int64_t)days;
	return EXIT_YES;
}

static int
take_permit(struct options *o)
{
	size_t n = o->order.npermit;
	struct host *host = &o->permitted[n];

	if (n == PERMIT_MAX)
		return usage_refuse("ca", "--permit may stand %d times", PERMIT_MAX);
	if (host_parse(host, str_of(optarg)) != HOST_OK || host->is_literal)
		return usage_refuse(
		    "ca", "--permit takes a name like example.com, not \"%s\"", optarg);
	o->permit[n] = host->name; /* with a dot behind it, it would fit no name */
	o->order.npermit++;
	return EXIT_YES;
}

static int
take_option(struct options *o, int c, char *const *argv)
{
	switch (c) {
	case OPTION_NAME:
		if (strlen(optarg) == 0 || strlen(optarg) > 64)
			return usage_refuse("ca", "--name takes 1 to 64 characters");
		o->order.name = optarg;
		return EXIT_YES;
	case OPTION_DAYS:
		return take_days(o);
	case OPTION_PERMIT:
		return take_permit(o);
	case OPTION_FINISH:
		o->finishes = true;
		return EXIT_YES;
	default:
		return usage_refuse_option("ca", longs, argv, c);
	}
}

enum { INIT = 1, ROTATE = 2, FINISH = 4, SHOW = 8 };

/* Which of them an option is for. */
static const struct usage_users users[] = {
	{ OPTION_NAME, INIT | ROTATE },
	{ OPTION_DAYS, INIT | ROTATE },
	{ OPTION_PERMIT, INIT | ROTATE },
	{ OPTION_FINISH, FINISH },
	{ 0, 0 },
};

static const struct deed {
	const char *word;
	bool finishes;
	const char *name; /* of both */
	unsigned bit;
	int (*run)(const struct options *o);
} deeds[] = {
	{ "init", false, "init", INIT, init },
	{ "rotate", false, "rotate", ROTATE, begin_rotation },
	{ "rotate", true, "rotate --finish", FINISH, finish_rotation },
	{ "show", false, "show", SHOW, show },
};

/* NULL: there is none.  Of one that has nothing to finish --finish is refused later. */
static const struct deed *
deed_find(const char *word, bool finishes)
{
	const struct deed *found = NULL;

	for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++)
		if (strcmp(deeds[i].word, word) == 0 &&
		    (found == NULL || deeds[i].finishes == finishes))
			found = &deeds[i];
	return found;
}

int
cmd_ca(int argc, char **argv)
{
	struct options o = {
		.order = { .name = "weir interception CA", .days = 365 },
	};
	const struct deed *deed;
	uint64_t given = 0;
	int c, status;

	o.order.permit = o.permit;
	o.order.from_s = clock_wall_s();
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return EXIT_YES;
		}
		if ((status = take_option(&o, c, argv)) != EXIT_YES)
			return status;
		given |= usage_given(longs, c);
	}
	if (argc - optind != 2 || (deed = deed_find(argv[optind], o.finishes)) == NULL)
		return usage_refuse("ca", "say init, rotate or show, and a directory");
	o.directory = argv[optind + 1];
	if (strlen(o.directory) > PATH_TEXT - NAME_ROOM)
		return usage_refuse("ca", "the directory's path is too long");
	status = usage_check_users("ca", deed->name, deed->bit, longs, users, given);
	return status == EXIT_YES ? deed->run(&o) : status;
}
