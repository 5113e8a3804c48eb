/*
 * pages.h - a small HTTP server for operators: one request a connection
 *
 * On one loop, with limits on all that a visitor can make grow.  A request is answered
 * at once or later; a visitor who has gone meanwhile is answered all the same, into
 * nothing.
 */
#ifndef WEIR_DAEMON_PAGES_H
#define WEIR_DAEMON_PAGES_H

#include "base/loop.h"
#include "wire/http.h"

struct pages;
struct visit;

struct pages_options {
	const char *type; /* Content-Type, where visit_type() does not say another */
	size_t body_max;  /* of a request; 0: none may have one */
	bool is_private;  /* only this process's own user and root may ask */
	/* Answers with visit_answer(), once; head and body are good until then. */
	void (*ask)(
	    void *arg, struct visit *v, const struct http_head *head, struct str body);
	void *arg;
};

struct pages *pages_new(struct loop *l, const struct pages_options *o);
void pages_listen(struct pages *p, int fd); /* borrowed */
/* Everything asked has been answered. */
void pages_free(struct pages *p); /* NULL is fine */

void visit_type(struct visit *v, const char *type); /* of its answer; static */
void visit_answer(struct visit *v, int status, struct str body);

#endif
