/*
 * conf_tree_fuzz.c - any bytes: a tree or findings, never a crash
 *
 * The tree is then read as a configuration, so that every type meets every node.
 */
#include <assert.h>
#include <stdlib.h>

#include "conf/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
read_as_settings(struct str text)
{
	struct report rep;
	struct buf shown;

	report_init(&rep);
	struct settings *s = settings_load_text("fuzz.yaml", text, "/", &rep);
	assert((s == NULL) == (rep.errors > 0));
	buf_init(&shown, 1 << 20);
	report_print_text(&rep, &shown);
	report_print_json(&rep, &shown);
	buf_fini(&shown);
	settings_free(s);
	report_fini(&rep);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str text = { (const char *)data, n };
	struct report rep;

	report_init(&rep);
	struct tree *t = tree_read_text("fuzz.yaml", text, &rep);
	assert(t != NULL || rep.errors > 0);
	assert(t == NULL || t->root->type == NODE_BLOCK);
	tree_free(t);
	report_fini(&rep);
	read_as_settings(text);
	return 0;
}
