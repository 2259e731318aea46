/* events.h -- making binary event streams out of text, for tests.
 *
 * One line is one message:
 *   NAME JSON                an event of that type
 *   exception NAME JSON      an exception of that type
 *   error CODE MESSAGE       an error without a payload
 *   headers NAME JSON        an event with a header of every other type too
 *   hex BYTES                these bytes, no message */
#ifndef TESTS_SUPPORT_EVENTS_H
#define TESTS_SUPPORT_EVENTS_H
#include "base/buf.h"

/* headers: already encoded. */
void events_message(struct ch_buf *out, struct ch_sv headers, struct ch_sv payload);
void events_header(struct ch_buf *headers, const char *name, struct ch_sv value);
void events_assemble(struct ch_buf *out, struct ch_sv text);

#endif
