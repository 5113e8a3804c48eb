/*
 * config.c - the configuration that a command was given, and how to end without it
 */
#include "cmd/config.h"

#include <string.h>

const char *const config_no_secrets[] = { NULL };

int
config_status(const struct report *rep, const char *path)
{
	return path != NULL && report_lacks(rep, path) ? EXIT_NOINPUT : EXIT_CONFIG;
}

int
config_status_of_reference(const struct report *rep)
{
	for (size_t i = 0; i < rep->n; i++)
		if (strcmp(rep->finding[i].code, "secret_missing") == 0)
			return EXIT_NOINPUT;
	return EXIT_CONFIG;
}

int
config_load(struct settings **out, const char *path, const char *const *wanted)
{
	struct report rep;
	int status = EXIT_YES;

	report_init(&rep);
	*out =
	    path == NULL ? settings_laptop(&rep) : settings_load_part(path, wanted, &rep);
	if (*out == NULL) {
		report_say(&rep);
		status = config_status(&rep, path);
	}
	report_fini(&rep);
	return status;
}
