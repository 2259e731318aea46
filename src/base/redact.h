/* redact.h -- taking secrets out of text that people will read. */
#ifndef CH_BASE_REDACT_H
#define CH_BASE_REDACT_H
#include "base/log.h"

/* Remember a secret value (copied; values under 6 bytes are ignored, they
 * would blank ordinary words; one of several lines is remembered by line).
 * Past CH_LIMIT_SECRETS the oldest is forgotten. Thread safe, as are the
 * functions below. */
void ch_redact_add(const char *secret);

/* Replace registered secrets, and anything that looks like a bearer token or
 * an API key, in place; the text never grows. */
void ch_redact(char *text);

/* The same, and control characters become spaces: one line for a reader. */
void ch_redact_line(char *text);

/* Same for a piece of text that must not be changed. */
void ch_redact_copy(struct ch_buf *out, struct ch_sv text);

/* The same, but registered secrets alone: for text that a program will read. */
void ch_redact_known(struct ch_buf *out, struct ch_sv text);

#endif
