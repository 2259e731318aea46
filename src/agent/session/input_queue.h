/* input_queue.h -- messages that arrive while a session is busy (chela_session_send). */
#ifndef CH_AGENT_INPUT_QUEUE_H
#define CH_AGENT_INPUT_QUEUE_H
#include "agent/handle/session.h"

struct ch_replay_note;

/* The treatment of a message that arrives during a run. */
enum chela_queue_mode ch_input_queue_mode(const chela_session *s);
/* chela_session_send with a message in place of a text. Takes m. */
int ch_input_queue_send(chela_session *s, struct ch_msg *m, const struct chela_run_opts *opts,
                        struct chela_error *err);

/* Makes the message of an input: context about its sender, text, media of the options. */
int ch_input_queue_message(const chela_session *s, enum ch_msg_kind kind, struct ch_sv text,
                           const struct chela_run_opts *opts, struct ch_msg **out,
                           struct chela_error *err);

/* Checks the options and applies defaults. */
int ch_input_queue_opts(struct chela_queue_opts *o, struct chela_error *err);

extern const struct ch_session_owner ch_input_queue_owner;
/* Adds a waiting message from the journal. Takes n's parts. */
void ch_input_queue_recall(chela_session *s, struct ch_replay_note *n);
void ch_input_queue_free(chela_session *s);
uint64_t ch_input_queue_oldest(const chela_session *s); /* journal position of the oldest waiting
                                                           message; 0: none */
/* Receives the events of runs that begin with a message that an ended run did not take;
 * chela_session_send replaces it. */
void ch_input_queue_listen(chela_session *s, chela_event_fn *on_event, void *user);
size_t ch_input_queue_waiting(const chela_session *s);  /* number of messages that wait for a run */
size_t ch_input_queue_room(const chela_session *s); /* number of messages that may still wait */
bool ch_input_queue_is_full(const chela_session *s); /* so many wait that no run may add more */

/* media in the transcript and in the queues */
struct ch_media_total ch_input_queue_media(const chela_session *s);

#endif
