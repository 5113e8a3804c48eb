/*
 * books.c - which ledger a command looks at, and how it is opened
 */
#include "cmd/books.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/config.h"
#include "cmd/usage.h"
#include "ledger/sqlite.h"

/* Files that a writer makes belong to whom the ledger belongs to. */
static void
give_to(struct ledger_options *o, const char *path)
{
	struct stat st;

	if (geteuid() != 0 || stat(path, &st) != 0)
		return;
	o->uid = (int)st.st_uid;
	o->gid = (int)st.st_gid;
}

/* A name that is misspelt must not become an empty ledger. */
static int
find_file(struct books *b)
{
	static const struct str scheme = { "sqlite:", 7 };
	struct str url = str_of(b->at.url);
	int status = EXIT_YES;

	if (!str_starts(url, scheme)) {
		give_to(&b->at, b->at.directory);
		return EXIT_YES;
	}
	char *path = sqlite_path(str_sub(url, scheme.n, url.n), b->at.directory);
	if (access(path, R_OK) != 0) {
		fprintf(stderr, "weir ledger: %s: %s\n", path, strerror(errno));
		status = EXIT_NOINPUT;
	}
	give_to(&b->at, path);
	free(path);
	return status;
}

static int
refuse_url(const char *url, bool is_option)
{
	static const char forms[] =
	    "sqlite:PATH, redis://HOST:PORT/DB or redis+unix:PATH";

	if (is_option)
		return usage_refuse("ledger", "--ledger takes %s, not %s", forms, url);
	fprintf(stderr,
	    "weir ledger: the ledger of the configuration, %s, cannot be read from "
	    "outside: only %s can\n",
	    url, forms);
	return EXIT_CONFIG;
}

int
books_open(struct books *b, const char *config, const char *url)
{
	static const char *const wanted[] = { "ledger", NULL };
	const struct settings *s;
	int status;

	*b = (struct books){ .at = { .uid = -1, .gid = -1 } };
	if ((status = config_load(&b->settings, config, wanted)) != EXIT_YES)
		return status;
	s = b->settings;
	b->at.url = url != NULL ? url : s->ledger_url;
	b->at.directory = url != NULL ? "." : s->state_dir;
	b->at.password = (struct str){ s->ledger_password.bytes, s->ledger_password.n };
	if (!reader_knows(b->at.url))
		return refuse_url(b->at.url, url != NULL);
	if ((status = find_file(b)) != EXIT_YES)
		return status;
	b->reader = reader_open(&b->at);
	return b->reader == NULL ? EXIT_UNAVAILABLE : EXIT_YES;
}

void
books_close(struct books *b)
{
	reader_close(b->reader);
	settings_free(b->settings);
}
