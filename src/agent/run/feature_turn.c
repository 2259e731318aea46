/* feature_turn.c -- see feature_turn.h. */
#include "agent/run/feature_turn.h"

#include <stdio.h>

#include "agent/context/tool_choice.h"
#include "agent/handle/run_outcome.h"
#include "agent/journal/emit.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/event.h"
#include "agent/machine/run.h"
#include "agent/run/act.h"
#include "agent/run/driver.h"
#include "agent/run/think.h"

void ch_feature_turn_next(chela_run *run) {
    ch_think_stopped(run, CHELA_STOP_STOP);
    ch_driver_step(run, &(struct ch_input){.kind = CH_IN_ROLE});
}

void ch_feature_turn_calls(chela_run *run, const struct ch_block *calls, size_t n) {
    struct ch_reply r = {.stop = CH_STOP_TOOL_USE,
                         .msg = ch_msg_new(CH_MSG_ASSISTANT, calls, n, ch_run_now(run))};
    run->target = run->session->agent->targets[run->m.model];
    ch_tool_choice_selection(run->session);
    ch_act_written(run, true);
    ch_think_reply(run, &r);
}

void ch_feature_turn_say(chela_run *run, struct ch_sv text, enum ch_reason reason) {
    if (ch_think_say(run, text, false))
        ch_driver_step(run, &(struct ch_input){.kind = CH_IN_DECIDED, .reason = reason});
}

void ch_feature_turn_end(chela_run *run) {
    ch_think_stopped(run, CHELA_STOP_STOP);
    ch_driver_step(run, &(struct ch_input){.kind = CH_IN_DECIDED, .reason = CH_REASON_COMPLETED});
}

void ch_feature_turn_fail(chela_run *run, enum ch_reason reason, const char *why) {
    ch_run_outcome_error(run, "%s", why);
    ch_think_stopped(run, CHELA_STOP_ERROR);
    ch_driver_step(run, &(struct ch_input){.kind = CH_IN_DECIDED, .reason = reason});
}

void ch_feature_turn_charge(chela_run *run, const struct chela_usage *u) {
    struct ch_usage used = ch_own_usage(u);
    ch_run_spend(&run->m, &used, u->cost_usd);
    ch_run_charge(&run->m, &used, u->cost_usd);
}
