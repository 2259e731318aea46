/* run_cooldown.h -- models and keys that a run does not use for a while after a failure.
 *
 * The runtime has one table of cooldowns for all its runs (model/provider/cooldown.h). A run
 * reports the outcome of its model calls to the table, and the machine learns from the table
 * which models of the chain cool down. key: the key of the call. */
#ifndef CH_HANDLE_RUN_COOLDOWN_H
#define CH_HANDLE_RUN_COOLDOWN_H
#include "agent/handle/run.h"
#include "agent/machine/run.h"
#include "model/provider/cooldown.h"
#include "model/provider/target.h"

struct ch_cooling ch_run_cooldown_of(const chela_run *run, const struct ch_target *t);
/* The models of the agent's chain that cool down, one bit each. */
uint32_t ch_run_cooldown_models(const chela_run *run);
/* Appends "MODEL: left alone for 20 s more (overloaded)". */
void ch_run_cooldown_describe(const struct ch_target *t, const struct ch_cooling *c,
                              struct ch_buf *out);

/* Reports the outcome of a model call. Other inputs are ignored. */
void ch_run_cooldown_report(chela_run *run, const struct ch_input *in, const char *key);
/* Gives the key up if the service refused it or its limit is reached, and another key can be used.
 * Each key is given up at most once, because it cools down afterwards. */
bool ch_run_cooldown_change_key(chela_run *run, const struct ch_input *in, const char *key);
/* Gives the model up if its call failed and is not repeated. todo: the machine's answer. */
void ch_run_cooldown_give_up(chela_run *run, const struct ch_input *in, enum ch_do todo,
                             const char *key);

#endif
