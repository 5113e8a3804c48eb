/*
 * misread.c - what a model call that cannot be understood is refused with
 */
#include "proxy/misread.h"

enum reason
misread(enum call_error error)
{
	switch (error) {
	case CALL_NOT_METERED:
		return REASON_ENDPOINT_NOT_METERED;
	case CALL_ENCODED:
		return REASON_ENCODING_UNSUPPORTED;
	case CALL_TOO_LARGE:
		return REASON_BODY_TOO_LARGE;
	case CALL_FOREIGN_KEY:
		return REASON_CREDENTIAL_REFUSED;
	case CALL_OK:
	case CALL_MALFORMED:
	case CALL_AMBIGUOUS:
		break;
	}
	return REASON_REQUEST_MALFORMED;
}
