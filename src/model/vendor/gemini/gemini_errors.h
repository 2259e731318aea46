/* gemini_errors.h -- parses errors of Google's services. */
#ifndef CH_MODEL_GEMINI_ERRORS_H
#define CH_MODEL_GEMINI_ERRORS_H
#include "model/vendor/gemini/gemini.h"

/* Fail the reply with the error in json, a chunk: google.rpc.Status, whose details contain
 * the retry delay and the exceeded quota. CHELA_EPARSE if json is malformed; no-op if it
 * contains no error. */
int ch_gemini_read_error(struct ch_decoder *d, struct ch_sv json);

#endif
