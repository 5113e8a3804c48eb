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

bool
sibling_first(int fd, struct buf *text, struct str *line, struct seal *s)
{
	struct str rest;

	logfile_read(fd, 0, SIBLING_ROOM, text);
	rest = buf_view(text);
	while (str_split(&rest, '\n', line))
		if (seal_read(s, *line))
			return true;
	return false;
}

bool
sibling_last(int fd, off_t size, struct buf *text, struct str *line, struct seal *s)
{
	off_t from = size > (off_t)SIBLING_ROOM ? size - (off_t)SIBLING_ROOM : 0;
	struct str rest;
	size_t at;

	logfile_read(fd, from, SIBLING_ROOM, text);
	for (rest = buf_view(text); rest.n > 0;) {
		bool has_more = str_rfind(rest, '\n', &at);

		*line = has_more ? str_sub(rest, at + 1, rest.n) : rest;
		rest.n = has_more ? at : 0;
		if (seal_read(s, *line))
			return true;
	}
	return false;
}
