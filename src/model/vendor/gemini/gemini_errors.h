/* gemini_errors.h -- errors as Google's services write them. */
#ifndef CH_MODEL_GEMINI_ERRORS_H
#define CH_MODEL_GEMINI_ERRORS_H
#include "model/vendor/gemini/gemini.h"

/* The reply failed with the error that json, a chunk, holds: google.rpc.Status
 * with details that say how long to wait and which quota it was. CHELA_EPARSE
 * if json is malformed; nothing happens if it holds no error. */
int ch_gemini_read_error(struct ch_decoder *d, struct ch_sv json);

#endif
