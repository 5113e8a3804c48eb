/*
 * answer.h - what weir itself says to a client, and then the record
 */
#ifndef WEIR_PROXY_ANSWER_H
#define WEIR_PROXY_ANSWER_H

#include "proxy/conn.h"

/* The exchange ends with this reason: said through the door, or a plain close. */
enum next answer_refuse(struct conn *c, enum reason reason);
/* The same without a word, for who would not understand one; closed_by is said. */
enum next answer_dismiss(struct conn *c, enum reason reason, enum after after);

/* FIRST: waits until the client's first bytes tell which language it understands. */
enum next answer_first(struct conn *c);
enum next answer_unsaid(struct conn *c); /* none came in time */
/* HOLD: an answer that is to come late; ANSWER: c->out is on its way. */
enum next answer_hold(struct conn *c);
enum next answer_held(struct conn *c);
enum next answer_send(struct conn *c);
enum next answer_late(struct conn *c);

#endif
