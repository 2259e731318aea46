/* out_text.h -- see out_text.c. */
#ifndef CH_CLI_OUT_TEXT_H
#define CH_CLI_OUT_TEXT_H
#include "cli/report/out.h"

void ch_text_event(struct ch_text *t, const struct chela_event *ev);

void ch_text_release(struct ch_text *t);

/* True if text is streamed. */
bool ch_text_streams(const struct ch_text *t);

/* Print the outcome of a run on stderr, if it needs explanation. In every format. */
void ch_text_outcome(struct ch_console *c, const struct chela_event *end);

/* The exit code of a run's final status. */
int ch_text_exit(enum chela_status status);

#endif
