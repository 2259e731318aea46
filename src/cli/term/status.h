/* status.h -- the live status line: turn, tool, tokens, elapsed time.
 *
 * A ticker thread draws it ten times a second at most, so that time moves on
 * while a model thinks or a tool works and no event comes. It only reads what
 * the events left here and writes through the console. */
#ifndef CH_CLI_STATUS_H
#define CH_CLI_STATUS_H
#include "chela/event.h"
#include "cli/term/console.h"

struct ch_status;

/* NULL when stderr cannot show one or the user wants quiet: the other calls
 * take NULL. The console must outlive it. */
struct ch_status *ch_status_new(struct ch_console *c);
void ch_status_event(struct ch_status *s, const struct chela_event *ev);
/* Stops the ticker and takes the line away. */
void ch_status_free(struct ch_status *s);

#endif
