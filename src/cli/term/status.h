/* status.h -- the live status line: turn, tool, tokens, elapsed time.
 *
 * A ticker thread draws the line at most ten times a second, so that the time advances
 * while no event arrives. The ticker only reads the state that events set here and writes
 * through the console. */
#ifndef CH_CLI_STATUS_H
#define CH_CLI_STATUS_H
#include "chela/event.h"
#include "cli/term/console.h"

struct ch_status;

/* NULL if stderr cannot show a status line or quiet is set: the other functions accept
 * NULL. The console must outlive it. */
struct ch_status *ch_status_new(struct ch_console *c);
void ch_status_event(struct ch_status *s, const struct chela_event *ev);
/* Stop the ticker and remove the line. */
void ch_status_free(struct ch_status *s);

#endif
