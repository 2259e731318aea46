/* run_origin.h -- who started a run, with which input, and where the answer goes.
 *
 * Most runs of a host need none of this once their input is in the transcript. So run->origin
 * is freed when it is empty, and NULL means that all texts are NULL. Pointers are borrowed until
 * the next change. */
#ifndef CH_AGENT_RUN_ORIGIN_H
#define CH_AGENT_RUN_ORIGIN_H
#include "agent/handle/run.h"

/* Sets principal and prompt fingerprint from the options. Texts are copied. */
void ch_run_origin_init(chela_run *run, const struct chela_run_opts *opts);
void ch_run_origin_free(chela_run *run);

/* The run starts with the message `input` (taken); event, address, drop_if and the report of
 * the channel come from the options. */
void ch_run_origin_message(chela_run *run, struct ch_msg *input,
                           const struct chela_run_opts *opts);
/* The run only compacts the history. focus: what the summary should keep; NULL: no focus. */
void ch_run_origin_compact(chela_run *run, const char *focus);
/* The run was started by an earlier process. Takes both texts; either may be NULL. */
void ch_run_origin_recall(chela_run *run, char *answer_to, char *drop_if);

const struct ch_principal *ch_run_origin_principal(const chela_run *run);
/* Fingerprint of the prompt that the caller passed; NULL: use the agent's. */
const char *ch_run_origin_prompt(const chela_run *run);
/* The input message; NULL once it is in the transcript. */
const struct ch_msg *ch_run_origin_input(const chela_run *run);
struct ch_msg *ch_run_origin_take_input(chela_run *run);
const char *ch_run_origin_event(const chela_run *run); /* id of the inbox event; NULL: none */
const char *ch_run_origin_drop_if(const chela_run *run); /* answer text that makes the run leave
                                                            no trace; NULL: none */
/* The input is not to stay in the conversation. */
void ch_run_origin_erase(chela_run *run);
bool ch_run_origin_is_erased(const chela_run *run);
/* Channel data of the newest message that the run answers. */
const struct ch_message_origin *ch_run_origin_of_message(const chela_run *run);
/* The run answers another message: moves *from, unless it is empty, and takes the address
 * `to`, unless it is NULL. */
void ch_run_origin_answers(chela_run *run, struct ch_message_origin *from, char *to);
/* Address of the answer; NULL: the answer is not sent. */
const char *ch_run_origin_answer_to(const chela_run *run);
bool ch_run_origin_compacts(const chela_run *run);
const char *ch_run_origin_focus(const chela_run *run); /* NULL: none */

#endif
