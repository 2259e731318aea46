/* input_queue.h -- messages that come while a session is busy. */
#ifndef CH_AGENT_INPUT_QUEUE_H
#define CH_AGENT_INPUT_QUEUE_H
#include "agent/handle/session.h"

struct ch_replay_note;

/* Check the options and set those that are left to us. */
int ch_input_queue_opts(struct chela_queue_opts *o, struct chela_error *err);

extern const struct ch_session_owner ch_input_queue_owner;
/* From a journal; n's parts are taken. */
void ch_input_queue_recall(chela_session *s, struct ch_replay_note *n);
void ch_input_queue_free(chela_session *s);
uint64_t ch_input_queue_oldest(const chela_session *s); /* record of what waits longest; 0: none */
size_t ch_input_queue_waiting(const chela_session *s);  /* how many messages wait for a run */

struct ch_media_total ch_input_queue_media(const chela_session *s); /* and what waits to be */

#endif
