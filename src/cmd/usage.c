/*
 * usage.c - how every subcommand says that it was called wrongly
 */
#include "cmd/usage.h"

#include <assert.h>
#include <stdio.h>

#include "cmd/main.h"
#include "conf/report.h"

#define OPTIONS_MAX 64 /* as usage_given() has bits */

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

static const struct option *
find_option(const struct option *longs, int c)
{
	while (longs->name != NULL && longs->val != c)
		longs++;
	assert(longs->name != NULL);
	return longs;
}

int
usage_refuse_value(const char *command, const struct option *longs,
    const struct usage_value *values, int c)
{
	const struct option *o = find_option(longs, c);
	struct buf takes;

	while (values->option != 0 && values->option != c)
		values++;
	assert(values->option != 0);
	buf_init(&takes, 4096);
	if (values->words != NULL)
		put_words(&takes, values->words);
	else
		buf_text(&takes, values->what);
	int code = usage_refuse(
	    command, "--%s takes %s, not %s", o->name, buf_cstr(&takes), optarg);
	buf_fini(&takes);
	return code;
}

uint64_t
usage_given(const struct option *longs, int c)
{
	ptrdiff_t i = find_option(longs, c) - longs;

	assert(i < 64);
	return UINT64_C(1) << i;
}

int
usage_check_users(const char *command, const char *word, unsigned bit,
    const struct option *longs, const struct usage_users *users, uint64_t given)
{
	for (; users->option != 0; users++)
		if ((users->words & bit) == 0 &&
		    (given & usage_given(longs, users->option)) != 0)
			return usage_refuse(command, "%s takes no --%s", word,
			    find_option(longs, users->option)->name);
	return EXIT_YES;
}

/* "--alow" or "--alow=x" */
static int
refuse_long(const char *command, const struct option *longs, const char *word)
{
	const char *names[OPTIONS_MAX], *near;
	struct str name = str_of(word + 2);
	size_t n = 0, at;

	if (str_find(name, '=', &at))
		name = str_sub(name, 0, at);
	for (; longs[n].name != NULL; n++) {
		assert(n < OPTIONS_MAX);
		names[n] = longs[n].name;
		if (str_eq(name, str_of(names[n])))
			return usage_refuse(command, "--%s takes no value", names[n]);
	}
	near = report_suggest(name, names, n);
	if (near == NULL)
		return usage_refuse(command, "there is no option %s", word);
	return usage_refuse(
	    command, "there is no option %s; did you mean --%s?", word, near);
}

int
usage_refuse_option(
    const char *command, const struct option *longs, char *const *argv, int c)
{
	const char *word = argv[optind - 1];

	if (c == ':')
		return usage_refuse(command, "a value is missing for %s", word);
	if (word[0] == '-' && word[1] == '-')
		return refuse_long(command, longs, word);
	return usage_refuse(command, "there is no option -%c", optopt);
}
