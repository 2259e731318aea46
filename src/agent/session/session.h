/* session.h -- sessions: opening, starting runs, closing. */
#ifndef CH_AGENT_SESSION_H
#define CH_AGENT_SESSION_H
#include "agent/handle/session.h"
#include "agent/journal/run_journal.h"

void ch_session_free(chela_session *s); /* called by ch_runtime_free_closed only */
void ch_session_opened(chela_session *s); /* the journal was read, or reading it failed */
/* CHELA_EINVAL: not a valid key. */
int ch_session_key_check(struct ch_sv key, struct chela_error *err);
/* chela_session_new without a check of the key. kept: stored, if the runtime has a store. */
int ch_session_open(chela_agent *agent, const char *key, bool kept, chela_session **out,
                    struct chela_error *err);
/* chela_run_start with any message that may follow the transcript, such as tool results.
 * Takes input, also on failure. */
int ch_session_start(chela_session *s, struct ch_msg *input, const struct chela_run_opts *opts,
                     chela_run **out, struct chela_error *err);
/* An accepted message cannot start a run: begins a run without rights that ends with why. Sends
 * the events at once, so only the loop may call it. < 0: there was no run. */
int ch_session_refuse(chela_session *s, const struct chela_run_opts *opts,
                      const struct chela_error *why);

/* True: the run is paused and waits for a time only. */
bool ch_session_sleeps(const chela_session *s);

/* 0 if chela_session_answer would take an answer of n bytes, else its error. */
int ch_session_may_answer(const chela_session *s, const char *call_id, size_t n,
                          struct chela_error *err);

/* Queues a message to steer or to follow the run. from: the message came through
 * chela_session_send and goes back to the session if the run ends first; NULL: the message
 * came another way. Takes m if it returns 0. */
int ch_session_enqueue(chela_run *run, bool follow_up, struct ch_msg *m,
                       const struct ch_inbound_origin *from);

/* Reads the options of a run and checks those of its inbound message. */
int ch_session_run_opts(const struct chela_run_opts *given, struct chela_run_opts *out,
                        struct chela_error *err);

/* Queues a message about something that happened, for the session's next model call. NULL: too
 * many wait. */
const struct ch_msg *ch_session_tell(chela_session *s, struct ch_sv text);

#endif
