/* input_queue.h -- messages that come while a session is busy. */
#ifndef CH_AGENT_INPUT_QUEUE_H
#define CH_AGENT_INPUT_QUEUE_H
#include "agent/handle/session.h"

struct ch_past_note;

/* Check the options and set those that are left to us. */
int ch_queue_opts_fill(struct chela_queue_opts *o, struct chela_error *err);

extern const struct ch_session_owner ch_inflow_owner;
/* From a journal; n's parts are taken. */
void ch_inflow_recall(chela_session *s, struct ch_past_note *n);
void ch_inflow_free(chela_session *s);
uint64_t ch_inflow_oldest(const chela_session *s); /* record of what waits longest; 0: none */
size_t ch_inflow_waiting(const chela_session *s);  /* how many messages wait for a run */

struct ch_shown ch_session_shown(const chela_session *s); /* and what waits to be */

#endif
