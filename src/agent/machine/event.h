/* event.h -- writing events; the type itself is public. */
#ifndef CH_AGENT_EVENT_H
#define CH_AGENT_EVENT_H
#include "base/buf.h"
#include "chela/event.h"

void ch_event_write(const struct chela_event *ev, struct ch_buf *out);

#endif
