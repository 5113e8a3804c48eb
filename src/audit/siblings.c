/*
 * siblings.c - the files beside a log that may be of it
 */
#include "audit/siblings.h"

#include <stdlib.h>
#include <string.h>

#include "audit/logfile.h"

const char *
siblings_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

char *
siblings_path(const char *path, const char *name)
{
	size_t directory = (size_t)(siblings_base(path) - path);
	struct buf full;

	buf_init(&full, directory + strlen(name) + 1);
	buf_str(&full, (struct str){ path, directory });
	buf_text(&full, name);
	char *copy = str_dup(buf_view(&full));
	buf_fini(&full);
	return copy;
}

DIR *
siblings_open(const char *path)
{
	char *directory = siblings_path(path, ".");
	DIR *d = opendir(directory);

	free(directory);
	return d;
}

char *
siblings_next(DIR *d, const char *path)
{
	const char *base = siblings_base(path);
	size_t n = strlen(base);
	const struct dirent *e;

	while ((e = readdir(d)) != NULL)
		if (strncmp(e->d_name, base, n) == 0 && e->d_name[n] != '\0')
			return siblings_path(path, e->d_name);
	return NULL;
}

/* Thousands of files may be beside a log: of most, little has to be read. */
static const size_t rooms[] = { (size_t)16 << 10, SIBLING_ROOM };

#define ROOMS (sizeof(rooms) / sizeof(*rooms))

static bool
first_record(struct str text, struct str *line, struct seal *s)
{
	while (str_split(&text, '\n', line))
		if (seal_read(s, *line))
			return true;
	return false;
}

/* Of a text that is not all there is, the first line may be the end of one. */
static bool
last_record(struct str text, bool is_all, struct str *line, struct seal *s)
{
	size_t at;

	while (text.n > 0) {
		bool has_more = str_rfind(text, '\n', &at);

		if (!has_more && !is_all)
			return false;
		*line = has_more ? str_sub(text, at + 1, text.n) : text;
		text.n = has_more ? at : 0;
		if (seal_read(s, *line))
			return true;
	}
	return false;
}

bool
sibling_first(int fd, struct buf *text, struct str *line, struct seal *s)
{
	for (size_t i = 0; i < ROOMS; i++) {
		logfile_read(fd, 0, rooms[i], text);
		if (first_record(buf_view(text), line, s))
			return true;
		if (text->n < rooms[i])
			return false;
	}
	return false;
}

bool
sibling_last(int fd, off_t size, struct buf *text, struct str *line, struct seal *s)
{
	for (size_t i = 0; i < ROOMS; i++) {
		off_t room = (off_t)rooms[i];
		off_t from = size > room ? size - room : 0;

		logfile_read(fd, from, rooms[i], text);
		if (last_record(buf_view(text), from == 0, line, s))
			return true;
		if (from == 0)
			return false;
	}
	return false;
}
