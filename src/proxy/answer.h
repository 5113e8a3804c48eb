/*
 * answer.h - what weir itself says to a client, and then the record
 */
#ifndef WEIR_PROXY_ANSWER_H
#define WEIR_PROXY_ANSWER_H

#include "proxy/conn.h"

/* The exchange ends with this reason: said through the door, or a plain close. */
enum next answer_refuse(struct conn *c, enum reason reason);
/* `at`: the offset of the byte that was refused, or -1. */
enum next answer_refuse_at(struct conn *c, enum reason reason, int64_t at);

/* ANSWER: c->out is on its way. */
enum next answer_send(struct conn *c);
enum next answer_late(struct conn *c);

#endif
