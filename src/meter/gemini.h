/*
 * gemini.h - what Gemini's answers and embeddings share
 */
#ifndef WEIR_METER_GEMINI_H
#define WEIR_METER_GEMINI_H

#include "meter/api.h"

bool gemini_query(struct call *c);
bool gemini_read_content(struct body *b, void *to); /* text, or an object with parts */
/* The value names a model: that of the path, or the request is refused. */
bool gemini_same_model(struct body *b, struct str model);

#endif
