/*
 * upload.h - may more be sent there, and how much
 *
 * What an exchange may send is the least of what its rules, limits.upload and the
 * tokens of its session and that one's ancestors say.  It is counted for the family:
 * a session and its sub-agents send together, as they spend together.
 */
#ifndef WEIR_PROXY_UPLOAD_H
#define WEIR_PROXY_UPLOAD_H

#include "proxy/exchange.h"

/*
 * x->verdict is an allow; true: it is one still, and x->lease is what may be sent.
 * False: x->verdict says why not.  Again, under other rules, is fine.
 */
bool upload_judge(struct exchange *x) MUST_CHECK;

#endif
