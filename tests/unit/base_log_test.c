#include "base/log.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

/* stderr, while a test listens, is this pipe. */
static int saved_stderr, pipe_out;

static int
listen_to_stderr(void **state)
{
	int fd[2];

	(void)state;
	if (pipe(fd) != 0)
		return -1;
	saved_stderr = dup(STDERR_FILENO);
	pipe_out = fd[0];
	dup2(fd[1], STDERR_FILENO);
	close(fd[1]);
	return 0;
}

static int
give_stderr_back(void **state)
{
	(void)state;
	log_filter(NULL, NULL);
	log_setup(LOG_INFO, LOG_TEXT);
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	close(pipe_out);
	return 0;
}

/* One read(2): a line is one write(2), so this is one line. */
static char *
said(char out[static 8192])
{
	ssize_t n = read(pipe_out, out, 8191);

	assert_true(n > 0);
	out[n] = '\0';
	return out;
}

/* The line without its time, after a look at the time. */
static char *
said_after_time(char out[static 8192])
{
	static const char form[] = "0000-00-00T00:00:00Z ";

	said(out);
	for (size_t i = 0; form[i] != '\0'; i++)
		assert_true(
		    form[i] == '0' ? out[i] >= '0' && out[i] <= '9' : out[i] == form[i]);
	return out + strlen(form);
}

static void
test_a_line_is_message_and_pairs(void **state)
{
	char out[8192];

	(void)state;
	log_warn(
	    "dial failed", "host", "a.example", "err", "timed out", "tries", NUM(-3));
	assert_string_equal(said_after_time(out),
	    "warn dial failed host=a.example err=\"timed out\" tries=-3\n");
	log_error("no pairs");
	assert_string_equal(said_after_time(out), "error no pairs\n");
}

static void
test_a_value_cannot_break_out_of_its_quotes(void **state)
{
	static const struct {
		const char *value, *shown;
	} cases[] = {
		{ "", "\"\"" },
		{ "plain-1.2:3/4", "plain-1.2:3/4" },
		{ "a b", "\"a b\"" },
		{ "a=b", "\"a=b\"" },
		{ "say \"hi\"", "\"say \\\"hi\\\"\"" },
		{ "back\\slash", "\"back\\\\slash\"" },
		{ "two\nlines\r", "\"two\\x0alines\\x0d\"" },
		{ "\x1b[31m", "\"\\x1b[31m\"" },
		{ "caf\xc3\xa9", "\"caf\xc3\xa9\"" },
		{ "not \xff utf-8", "\"not \\xff utf-8\"" },
		{ "cut \xe2\x82", "\"cut \\xe2\\x82\"" },
		{ "\xc2\x9b"
		  "1m",
		    "\"\\xc2\\x9b1m\"" }, /* C1: an escape to some terminals */
		{ "\xe2\x80\xae"
		  "gnp",
		    "\"\\xe2\\x80\\xaegnp\"" }, /* writes backwards */
		{ NULL, "\"\"" },
	};
	char out[8192], want[256];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		log_info("m", "k", cases[i].value);
		snprintf(want, sizeof(want), "info m k=%s\n", cases[i].shown);
		assert_string_equal(said_after_time(out), want);
	}
}

static void
test_json_lines_are_json_whatever_is_in_them(void **state)
{
	const char *ts;
	char out[8192];
	json_t *line;

	(void)state;
	log_setup(LOG_INFO, LOG_JSON);
	log_error("he said \"no\"", "host", "a\"\\\n\x01\xff\xc2\x9b", "empty", "");
	line = json_loads(said(out), JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(line);
	assert_string_equal(json_string_value(json_object_get(line, "level")), "error");
	assert_string_equal(
	    json_string_value(json_object_get(line, "msg")), "he said \"no\"");
	assert_string_equal(json_string_value(json_object_get(line, "host")),
	    "a\"\\\n\x01\xef\xbf\xbd\xc2\x9b");
	assert_string_equal(json_string_value(json_object_get(line, "empty")), "");
	ts = json_string_value(json_object_get(line, "ts"));
	assert_int_equal(strlen(ts), 20);
	json_decref(line);
	assert_null(strstr(out, "\xc2\x9b")); /* a control stays escaped in the bytes */
}

static void
test_only_wanted_levels_are_written(void **state)
{
	char out[8192];

	(void)state;
	log_setup(LOG_WARN, LOG_TEXT);
	assert_true(log_wants(LOG_ERROR));
	assert_false(log_wants(LOG_INFO));
	log_info("not this");
	log_debug("nor this");
	log_warn("this");
	assert_string_equal(said_after_time(out), "warn this\n");
	log_setup(LOG_DEBUG, LOG_TEXT);
	log_debug("and this", "k", "v");
	assert_string_equal(said_after_time(out), "debug and this k=v\n");
}

static void
mask(struct buf *value, void *arg)
{
	++*(int *)arg;
	if (strstr(buf_cstr(value), "hunter2") == NULL)
		return;
	buf_reset(value);
	buf_text(value, "masked");
}

static void
test_the_filter_sees_every_value_whole(void **state)
{
	char out[8192], *hidden = calloc(1, 3000);
	int calls = 0;

	(void)state;
	log_filter(mask, &calls);
	log_info("m", "a", "x", "b", "my hunter2!", "c", "y");
	assert_string_equal(said_after_time(out), "info m a=x b=masked c=y\n");
	assert_int_equal(calls, 3);
	memset(hidden, 'x', 2000); /* the secret begins where the shown part has ended */
	for (size_t i = 0; i < strlen("hunter2"); i++)
		hidden[1020 + i] = "hunter2"[i];
	log_info("m", "a", hidden);
	assert_string_equal(said_after_time(out), "info m a=masked\n");
	free(hidden);
}

static void
test_what_is_too_long_for_the_filter_is_not_shown_at_all(void **state)
{
	char out[8192], *huge = calloc(1, 70001);

	(void)state;
	memset(huge, 'x', 70000);
	log_info("m", "a", huge);
	assert_string_equal(said_after_time(out), "info m a=\"(too long to show)\"\n");
	huge[5000] = '\0';
	log_info("m", "a", huge);
	assert_int_equal(strlen(said_after_time(out)), strlen("info m a=\n") + 1024);
	free(huge);
}

static void *
talk(void *arg)
{
	for (int i = 0; i < 100; i++)
		log_info("from a thread", "k", "v");
	return arg;
}

static void
test_setup_may_change_while_threads_talk(void **state)
{
	pthread_t thread;
	char out[8192];
	FILE *f;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, talk, NULL), 0);
	for (int i = 0; i < 100; i++)
		log_setup(LOG_INFO, i % 2 == 0 ? LOG_JSON : LOG_TEXT);
	pthread_join(thread, NULL);
	f = fdopen(dup(pipe_out), "r");
	for (int i = 0; i < 100; i++) {
		assert_non_null(fgets(out, sizeof(out), f));
		assert_true(out[0] == '{'
				? strcmp(strrchr(out, '}'), "}\n") == 0
				: strstr(out, " info from a thread k=v\n") != NULL);
	}
	fclose(f);
}

int
main(void)
{
#define LISTENING(test) \
	cmocka_unit_test_setup_teardown(test, listen_to_stderr, give_stderr_back)
	static const struct CMUnitTest tests[] = {
		LISTENING(test_a_line_is_message_and_pairs),
		LISTENING(test_a_value_cannot_break_out_of_its_quotes),
		LISTENING(test_json_lines_are_json_whatever_is_in_them),
		LISTENING(test_only_wanted_levels_are_written),
		LISTENING(test_the_filter_sees_every_value_whole),
		LISTENING(test_what_is_too_long_for_the_filter_is_not_shown_at_all),
		LISTENING(test_setup_may_change_while_threads_talk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
