/* signal.h -- Ctrl-C: the first asks, the second insists.
 *
 * SIGINT, SIGTERM and (unless nohup had it ignored) SIGHUP are blocked in all
 * threads and taken by one that waits for them, because cancelling a run is
 * safe from any thread but not inside a signal handler. */
#ifndef CH_CLI_SIGNAL_H
#define CH_CLI_SIGNAL_H
#include <stdbool.h>

#include "chela/session.h"

struct ch_signals;

/* Call before any other thread is started: they inherit the mask. NULL when
 * there is no thread to be had: then signals do what they do by default, and
 * the other calls take NULL. */
struct ch_signals *ch_signals_new(void);
void ch_signals_free(struct ch_signals *s);

/* The run that the first signal cancels; a signal that came before counts. NULL:
 * there is none just now. */
void ch_signals_attach(struct ch_signals *s, chela_run *run);
/* The run's session is kept, under this key (copied): SIGTERM gives the run ten
 * seconds to end by itself. Then, or with a second signal, it is left as it is
 * (chela_run_leave). If the program has not ended soon after that, or with a third
 * signal, it is ended. */
void ch_signals_drain(struct ch_signals *s, const char *key);
/* Nothing is left to be cancelled: from now on a signal ends the program. */
void ch_signals_detach(struct ch_signals *s);

bool ch_signals_caught(struct ch_signals *s); /* what there is is cancelled */
bool ch_signals_left(struct ch_signals *s);   /* the run was left, to be resumed */
/* Readable once either is true; -1 without. For poll(). */
int ch_signals_fd(const struct ch_signals *s);

#endif
