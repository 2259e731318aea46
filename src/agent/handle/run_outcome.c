/* run_outcome.c -- see run_outcome.h. */
#include "agent/handle/run_outcome.h"

#include <stdarg.h>
#include <stdio.h>

bool ch_run_outcome_take_text(chela_run *run, const struct ch_msg *m) {
    static const enum ch_block_type kinds[] = {CH_BLOCK_TEXT, CH_BLOCK_REFUSAL};
    for (size_t k = 0; m && k < CH_LEN(kinds); k++) {
        bool any = false;
        for (uint32_t i = 0; i < m->nblocks; i++)
            any |= m->blocks[i].type == kinds[k] && ch_sv_trim(m->blocks[i].text).n > 0;
        if (!any)
            continue;
        ch_buf_clear(&run->text);
        for (uint32_t i = 0; i < m->nblocks; i++)
            if (m->blocks[i].type == kinds[k]) {
                ch_buf_expect(&run->text, m->blocks[i].text.n);
                ch_buf_add_sv(&run->text, m->blocks[i].text);
            }
        return true;
    }
    return false;
}

void ch_run_outcome_error(chela_run *run, const char *fmt, ...) {
    va_list ap;
    if (!run->error)
        run->error = ch_malloc(CHELA_ERROR_MAX);
    va_start(ap, fmt);
    vsnprintf(run->error, CHELA_ERROR_MAX, fmt, ap);
    va_end(ap);
}

void ch_run_outcome_clear_error(chela_run *run) {
    if (run->error)
        run->error[0] = '\0';
}

void ch_run_outcome_limit(chela_run *run) {
    const struct ch_run *m = &run->m;
    char made[64] = "";
    const char *option = NULL;
    if (m->reason == CH_REASON_MAX_TURNS) {
        option = "maxTurns";
        snprintf(made, sizeof(made), "%u model calls",
                 m->turns + m->below.turns - (m->closing != CH_REASON_NONE));
    } else if (m->reason == CH_REASON_MAX_TOOL_CALLS) {
        option = "maxToolCalls";
        snprintf(made, sizeof(made), "%u tool calls", m->tool_calls + m->below.tool_calls);
    } else if (m->reason == CH_REASON_TOO_MANY_ERRORS) {
        option = "maxConsecutiveErrors";
        snprintf(made, sizeof(made), "%u errors in a row", m->errors);
    } else if (m->reason == CH_REASON_TOKEN_BUDGET) {
        option = "tokenBudget";
        int64_t used = m->usage.input + m->usage.output;
        snprintf(made, sizeof(made), "%lld tokens", (long long)used);
    } else if (m->reason == CH_REASON_COST_BUDGET) {
        option = "costBudgetUsd";
        snprintf(made, sizeof(made), "$%.4f", m->cost);
    }
    if (option && !*ch_run_error(run))
        ch_run_outcome_error(run,
                             "the limit of one run is reached after %s (limits.%s); another "
                             "message continues the work",
                             made, option);
}
