/* out_extras.h -- lines about the other parts of a reply: files that the model made, calls
 * of the vendor's own tools, cited sources. */
#ifndef CH_CLI_OUT_EXTRAS_H
#define CH_CLI_OUT_EXTRAS_H
#include "chela/event.h"
#include "cli/term/console.h"

/* One line for an event SERVER_TOOL or MEDIA. */
void ch_out_extra(struct ch_console *c, const struct chela_event *ev);
/* One line for each source, without repetitions. citations: a JSON array, or empty. */
void ch_out_sources(struct ch_console *c, struct chela_str citations);

#endif
