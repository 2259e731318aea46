/* background.h -- agents in the background: runs that a session started and that go on beside
 * it.
 *
 *   start --> running (pauses for people) --> ended: the session is told, as of a process
 *
 * The run belongs to a session of its own, whose key is derived from the call that started it.
 * Its limits are its agent's. STATE records of the starter list the run until its end was told
 * to the model. After a crash the run is resumed when the starter is opened again with an
 * agent that may start such runs. Loop thread only. */
#ifndef CH_AGENT_BACKGROUND_H
#define CH_AGENT_BACKGROUND_H
#include "agent/handle/run.h"
#include "agent/handle/session.h"
#include "json/json.h"
#include "json/writer.h"

struct ch_background;

/* Begins a run of `to` beside the session of `above`, whose consent settings apply.
 * CHELA_EEXIST: the run is in progress. CHELA_ELIMIT: too many are. */
int ch_background_start(chela_run *above, chela_agent *to, const char *key, struct ch_sv task,
                        const struct chela_run_opts *opts, struct chela_error *err);
/* The list as a member of a STATE record, if there is something to list. */
void ch_background_save(const chela_session *s, struct ch_jw *w);
/* The journal was read: reads the list of its last STATE record, and goes on with the runs. */
void ch_background_load(chela_session *s, const struct ch_json *state);

/* A decision or an answer for one of the runs, which goes on. CHELA_ENOENT: none asked. */
int ch_background_approve(chela_session *s, const char *approval_id, enum chela_decision decision,
                          const char *reason, struct chela_error *err);
int ch_background_answer(chela_session *s, const char *call_id, struct ch_sv content,
                         bool is_error, struct chela_error *err);

/* Queues a message about something that happened, for the session's next model call. NULL: too
 * many wait. */
const struct ch_msg *ch_background_tell(chela_session *s, struct ch_sv text);

void ch_background_close(chela_session *s); /* the session is closed: the runs are left */
void ch_background_free(chela_session *s);  /* the session is freed, as starter or as started */

#endif
