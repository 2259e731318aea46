/* outcome.h -- the lines about the end of a run that follow the sentence for people: the option
 * that helps, and the service's own words. English or Chinese, as the sentence. */
#ifndef CH_CLI_OUTCOME_H
#define CH_CLI_OUTCOME_H
#include "chela/event.h"
#include "cli/term/console.h"

void ch_outcome_done(struct ch_console *c, const struct chela_event *end);
void ch_outcome_declined(struct ch_console *c, const struct chela_event *end);
void ch_outcome_stopped(struct ch_console *c, const struct chela_event *end);
/* What a run that pauses waits for. flags: of the command that continues it; NULL: there is no
 * store. */
void ch_outcome_waits(struct ch_console *c, enum chela_reason reason, const char *session,
                      const char *flags);
/* Changes wait for a person. */
void ch_outcome_review(struct ch_console *c, const char *session);
/* A pause, or an end without a sentence. */
void ch_outcome_other(struct ch_console *c, const struct chela_event *end);

#endif
