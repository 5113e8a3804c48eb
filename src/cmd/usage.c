/*
 * usage.c - how every subcommand says that it was called wrongly
 */
#include "cmd/usage.h"

#include <assert.h>
#include <stdio.h>

#include "cmd/main.h"

int
usage_refuse(const char *command, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "weir %s: ", command);
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\nsee: weir %s --help\n", command);
	va_end(ap);
	return EXIT_USAGE;
}

/* "a, b or c" */
static void
put_words(struct buf *to, const char *const *words)
{
	for (size_t i = 0; words[i] != NULL; i++)
		buf_fmt(to, "%s%s",
		    i == 0                 ? ""
		    : words[i + 1] == NULL ? " or "
					   : ", ",
		    words[i]);
}

int
usage_refuse_value(const char *command, const struct option *longs,
    const struct usage_value *values, int c)
{
	struct buf takes;

	while (longs->name != NULL && longs->val != c)
		longs++;
	while (values->option != 0 && values->option != c)
		values++;
	assert(longs->name != NULL && values->option != 0);
	buf_init(&takes, 4096);
	if (values->words != NULL)
		put_words(&takes, values->words);
	else
		buf_text(&takes, values->what);
	int code = usage_refuse(
	    command, "--%s takes %s, not %s", longs->name, buf_cstr(&takes), optarg);
	buf_fini(&takes);
	return code;
}

int
usage_refuse_option(const char *command, char *const *argv, int c)
{
	const char *word = argv[optind - 1];

	if (c == ':')
		return usage_refuse(command, "a value is missing for %s", word);
	if (word[0] == '-' && word[1] == '-')
		return usage_refuse(command, "there is no option %s", word);
	return usage_refuse(command, "there is no option -%c", optopt);
}
