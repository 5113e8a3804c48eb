/*
 * input.c - a file that a command was given: its text, or why there is none
 */
#include "cmd/input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/exit.h"
#include "cmd/usage.h"

#define PIECE ((size_t)65536)

/* Into the buffer itself: of what is secret there is no second copy. */
static bool
fill(struct buf *to, FILE *f)
{
	size_t n = 1, left;

	setvbuf(f, NULL, _IONBF, 0);
	while (n > 0 && (left = to->max - to->n) > 0) {
		size_t most = left < PIECE ? left : PIECE;
		char *room = buf_room(to, most);

		n = fread(room, 1, most, f);
		buf_grew(to, n);
	}
	return (n == 0 || fgetc(f) == EOF) && !ferror(f);
}

bool
input_read(const char *command, const char *path, struct buf *to)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	bool is_read = f != NULL && fill(to, f);

	if (!is_read)
		fprintf(stderr, "weir %s: %s cannot be read: %s\n", command, path,
		    f != NULL && !ferror(f) ? "it is too large" : strerror(errno));
	if (f != NULL && f != stdin)
		fclose(f);
	return is_read;
}

struct str
input_line(struct str text)
{
	while (text.n > 0 && memchr(" \t\r\n", text.p[text.n - 1], 4) != NULL)
		text.n--;
	return text;
}

int
input_token(const char *command, const char *path, struct buf *to, struct str *out)
{
	bool is_token;

	to->is_secret = true;
	if (!input_read(command, path, to))
		return EXIT_NOINPUT;
	*out = input_line(buf_view(to));
	is_token = out->n > 0;
	for (size_t i = 0; i < out->n; i++)
		is_token = is_token && out->p[i] > ' ' && out->p[i] <= '~';
	if (is_token)
		return EXIT_YES;
	return usage_refuse(command, "%s holds no token: one line of text",
	    strcmp(path, "-") == 0 ? "standard input" : path);
}
