/* redact.h -- redact secrets in text that people read. All functions are thread
 * safe. */
#ifndef CH_BASE_REDACT_H
#define CH_BASE_REDACT_H
#include "base/log.h"

/* Register a secret value for redaction (copied). Values under 6 bytes are
 * ignored, since they would also match ordinary words. Of a value with several
 * lines, each line is registered. Beyond CH_LIMIT_SECRETS the oldest value is
 * dropped. */
void ch_redact_add(const char *secret);

/* Replace registered secrets, and text that looks like a bearer token or an API
 * key, in place. The text never grows. */
void ch_redact(char *text);

/* As ch_redact, and replace control characters with spaces, so that the text is
 * one line. */
void ch_redact_line(char *text);

/* Append a redacted copy of text to out. */
void ch_redact_copy(struct ch_buf *out, struct ch_sv text);

/* As ch_redact_copy, but only registered secrets are replaced: for text that a
 * program will read. */
void ch_redact_known(struct ch_buf *out, struct ch_sv text);

#endif
