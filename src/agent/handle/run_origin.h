/* run_origin.h -- who asked for a run, with what, and where its answer goes. */
#ifndef CH_AGENT_RUN_ORIGIN_H
#define CH_AGENT_RUN_ORIGIN_H
#include "agent/handle/run.h"

extern const size_t ch_run_origin_size; /* of the part that run->origin is */

/* On whose behalf, and the fingerprint of its prompt; texts are copied. */
void ch_run_origin_init(chela_run *run, const struct chela_run_opts *opts);
void ch_run_origin_release(chela_run *run);

/* The run begins with a message (taken), as the options say. */
void ch_run_origin_message(chela_run *run, struct ch_msg *input,
                           const struct chela_run_opts *opts);
/* The run only makes the history shorter; focus: what to keep above all, NULL: nothing. */
void ch_run_origin_compact(chela_run *run, const char *focus);
/* The run began in an earlier process. Both texts are taken, may be NULL. */
void ch_run_origin_recall(chela_run *run, char *answer_to, char *drop_if);

const struct ch_principal *ch_run_origin_principal(const chela_run *run);
/* Fingerprint of what the model is told; NULL: the one of the agent's prompt. */
const char *ch_run_origin_prompt(const chela_run *run);
/* What the run begins with, until it is taken into the transcript; NULL. */
const struct ch_msg *ch_run_origin_input(const chela_run *run);
struct ch_msg *ch_run_origin_take_input(chela_run *run);
const char *ch_run_origin_event(const chela_run *run); /* of the inbox; NULL: none */
const char *ch_run_origin_drop_if(const chela_run *run); /* an answer that leaves no trace; NULL */
/* What came with the newest message that the run answers. */
struct ch_message_origin *ch_run_origin_of_message(const chela_run *run);
/* Where the answer goes; NULL: nowhere. */
const char *ch_run_origin_answer_to(const chela_run *run);
void ch_run_origin_set_answer_to(chela_run *run, char *to); /* taken */
bool ch_run_origin_compacts(const chela_run *run);
const char *ch_run_origin_focus(const chela_run *run); /* NULL: none */

#endif
