/*
 * element.h - secrets in elements and attributes of XML
 *
 * <password>VALUE<, <property name="password">VALUE<, <add key="password"
 * value="VALUE"/>, <key>password</key><string>VALUE<.  Any thread.
 */
#ifndef WEIR_AUDIT_ELEMENT_H
#define WEIR_AUDIT_ELEMENT_H

#include "audit/piece.h"

/* At a tag's >: where to go on, or 0: there is nothing. */
size_t look_element(struct piece *p, size_t at);
/*
 * The kind (static) of what is in the element with that tag, which is all between < and
 * >; NULL: none, or nothing can be in it.
 */
const char *element_kind(struct str tag);

#endif
