/*
 * refusal.h - a refusal in the words of the family that was asked
 *
 * A client's SDK understands its own API's errors only.  Pure; any thread.
 */
#ifndef WEIR_METER_REFUSAL_H
#define WEIR_METER_REFUSAL_H

#include "meter/family.h"

enum refusal_kind {
	REFUSAL_REQUEST,    /* malformed, too large, an encoding */
	REFUSAL_SESSION,    /* no or a bad token */
	REFUSAL_POLICY,     /* model, tool, endpoint, object */
	REFUSAL_BUDGET,     /* money */
	REFUSAL_RATE,       /* waiting helps */
	REFUSAL_MISSING,    /* object_not_owned */
	REFUSAL_UPSTREAM,   /* the provider is away */
	REFUSAL_UNAVAILABLE /* weir is */
};

struct refusal {
	enum refusal_kind kind;
	int status;         /* as sent: of Codex's where it is one */
	const char *reason; /* the reason's id */
	struct str message, request_id;
};

/* The JSON body. */
void refusal_body(enum shape shape, const struct refusal *r, struct buf *to);
/* Codex stops at once only on 400: by `originator` or the beginning of `user-agent`. */
bool refusal_is_codex(const struct http_head *request);

#endif
