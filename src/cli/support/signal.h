/* signal.h -- signals: the first cancels the run, further ones force the end.
 *
 * SIGINT, SIGTERM and (unless ignored by nohup) SIGHUP are blocked in all threads and
 * received by one waiting thread, because a run may be cancelled from any thread but not
 * from a signal handler. */
#ifndef CH_CLI_SIGNAL_H
#define CH_CLI_SIGNAL_H
#include <stdbool.h>

#include "chela/session.h"

struct ch_signals;

/* Call before any other thread is started, because threads inherit the mask. NULL if no
 * thread can be created: signals then have their default effect, and the other functions
 * accept NULL. */
struct ch_signals *ch_signals_new(void);
void ch_signals_free(struct ch_signals *s);

/* Set the run that the first signal cancels. A signal that has arrived already cancels the run
 * at once. NULL: no run. */
void ch_signals_attach(struct ch_signals *s, chela_run *run);
/* The run's session is stored under this key (copied): SIGTERM gives the run ten seconds to
 * end by itself. Afterwards, or on a second signal, the run is left to be resumed
 * (chela_run_leave). If the program does not end soon after that, or on a third signal, it
 * is terminated. */
void ch_signals_drain(struct ch_signals *s, const char *key);
/* A run without a handle works on the session of this key (copied). SIGTERM gives it ten seconds to
 * end the program. Afterwards, on a second signal, or while the run waits for a person, the program
 * is terminated; the run can be resumed. */
void ch_signals_work(struct ch_signals *s, const char *key, bool waits);
/* No run can be cancelled any more: from now on a signal ends the program. */
void ch_signals_detach(struct ch_signals *s);

bool ch_signals_caught(struct ch_signals *s); /* a signal was received and the run is cancelled */
/* Forget a SIGINT whose run has ended: the program goes on. False: there is none. */
bool ch_signals_forget(struct ch_signals *s);
bool ch_signals_left(struct ch_signals *s);   /* the run was left, to be resumed */
/* Readable once either is true; -1 if unavailable. For poll(). */
int ch_signals_fd(const struct ch_signals *s);

#endif
