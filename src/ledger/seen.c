/*
 * seen.c - the newest state of the store that this instance knows of
 *
 * One line: "weir-seen 1 ID REVISION HASH-OF-URL", of a fixed length, so that one write
 * replaces it whole.
 */
#include "ledger/seen.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define NAME "ledger.seen"
#define MAGIC "weir-seen 1"
#define URL_HEX 16
#define REVISION_DIGITS 19
#define LINE (sizeof(MAGIC) + SEEN_ID + REVISION_DIGITS + 1 + URL_HEX + 1)
#define SYNC_MS 1000

static void
url_digest(char out[static URL_HEX + 1], const char *url)
{
	unsigned char digest[SHA256_DIGEST_LENGTH];

	SHA256((const unsigned char *)url, strlen(url), digest);
	for (size_t i = 0; i < URL_HEX / 2; i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static void
print_line(const struct seen *s, char out[static LINE + 1])
{
	snprintf(out, LINE + 1, MAGIC " %-32s %019lld %s\n", s->id[0] ? s->id : "-",
	    (long long)s->revision, s->url);
}

/* MAGIC, an id or "-" and spaces, a revision of fixed length, the URL's digest */
static bool
parse_line(struct str line, struct str *id, uint64_t *revision, struct str *url)
{
	struct str magic = STR(MAGIC " "), number;

	if (line.n != LINE || !str_starts(line, magic) || line.p[LINE - 1] != '\n')
		return false;
	*id = str_trim(str_sub(line, magic.n, SEEN_ID - 1));
	number = str_sub(line, magic.n + SEEN_ID, REVISION_DIGITS);
	while (number.n > 1 && number.p[0] == '0')
		number = str_sub(number, 1, number.n);
	*url = str_sub(line, magic.n + SEEN_ID + REVISION_DIGITS + 1, URL_HEX);
	return id->n > 0 && str_decimal(number, revision) && *revision <= INT64_MAX;
}

/* A file that is not ours is no reason to forget what it may have said. */
static bool
read_line(struct seen *s)
{
	char line[LINE + 1];
	struct str id, url;
	uint64_t revision;
	ssize_t n = pread(s->fd, line, sizeof(line), 0);

	if (n == 0)
		return true;
	if (n < 0 || !parse_line((struct str){ line, (size_t)n }, &id, &revision, &url))
		return false;
	if (!str_eq(url, str_of(s->url))) {
		log_warn(
		    "ledger.url has changed: what the other ledger held is not known "
		    "to this one",
		    "file", s->path);
		return true;
	}
	if (!str_eq(id, STR("-")))
		memcpy(s->id, id.p, id.n);
	s->revision = (int64_t)revision;
	return true;
}

bool
seen_open(struct seen *s, const char *directory, const char *url, int uid, int gid)
{
	struct buf path;

	*s = (struct seen){ .fd = -1 };
	url_digest(s->url, url);
	buf_init(&path, 4096);
	buf_fmt(&path, "%s/" NAME, directory != NULL ? directory : ".");
	s->path = mem_strdup(buf_cstr(&path));
	buf_fini(&path);
	s->fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->fd < 0 || (uid >= 0 && fchown(s->fd, (uid_t)uid, (gid_t)gid) != 0)) {
		log_error("cannot remember the ledger's state", "file", s->path, "err",
		    strerror(errno));
		seen_close(s);
		return false;
	}
	if (!read_line(s)) {
		log_error("this file should say which state of the ledger was seen",
		    "file", s->path, "remedy",
		    "look at weir ledger verify, then remove the file");
		seen_close(s);
		return false;
	}
	return true;
}

void
seen_close(struct seen *s)
{
	if (s->fd >= 0) {
		(void)fdatasync(s->fd);
		close(s->fd);
	}
	free(s->path);
	*s = (struct seen){ .fd = -1 };
}

bool
seen_admits(const struct seen *s, struct str id, int64_t revision)
{
	return s->id[0] == '\0' || (str_eq(str_of(s->id), id) && revision >= s->revision);
}

void
seen_note(struct seen *s, struct str id, int64_t revision, msec now)
{
	char line[LINE + 1];

	if (s->id[0] != '\0' && revision <= s->revision)
		return;
	if (id.n < SEEN_ID) {
		memcpy(s->id, id.p, id.n);
		s->id[id.n] = '\0';
	}
	s->revision = revision;
	if (s->fd < 0)
		return;
	print_line(s, line);
	if (pwrite(s->fd, line, LINE, 0) != (ssize_t)LINE)
		log_warn("cannot remember the ledger's state", "file", s->path, "err",
		    strerror(errno));
	s->is_behind = true;
	seen_sync(s, now);
}

void
seen_sync(struct seen *s, msec now)
{
	if (!s->is_behind || now - s->synced < SYNC_MS)
		return;
	s->synced = now;
	s->is_behind = fdatasync(s->fd) != 0;
}
