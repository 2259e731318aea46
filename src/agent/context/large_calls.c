/* large_calls.c -- see large_calls.h. */
#include "agent/context/large_calls.h"

#include "agent/context/context_budget.h"
#include "base/arena.h"
#include "base/limits.h"
#include "model/message/left_out.h"
#include "prompt/tokens.h"

#define SHARE 3 / 4 /* of the history that the calls of one reply may have */

/* Bytes of arguments that are too large for every model. */
static bool is_huge(const struct ch_block *b) {
    return b->text.n > CH_LIMIT_ARGUMENTS;
}

/* Do the arguments fit beside those of the calls before them? *used: tokens so far. */
static bool large_calls_fits(const chela_run *run, const struct ch_block *b, size_t *used) {
    size_t most = ch_context_budget_room(run).history * SHARE;
    if (is_huge(b))
        return false;
    size_t n = ch_tokens_as(b->text, run->session->transcript.counting);
    if (most && *used + n > most)
        return false;
    *used += n;
    return true;
}

static bool large_calls_any(const struct ch_msg *m) {
    size_t n = 0;
    for (uint32_t i = 0; m && i < m->nblocks; i++)
        n += m->blocks[i].type == CH_BLOCK_TOOL_CALL ? m->blocks[i].text.n : 0;
    return n > CH_DEFAULT_ARGUMENTS;
}

struct ch_msg *ch_large_calls_omit(const chela_run *run, struct ch_msg *m) {
    CH_ARENA_AUTO arena = {0};
    size_t used = 0;
    bool any = false;
    if (!large_calls_any(m))
        return m;
    struct ch_block *blocks = ch_arena_alloc(&arena, m->nblocks * sizeof(*blocks));
    for (uint32_t i = 0; i < m->nblocks; i++) {
        blocks[i] = m->blocks[i];
        if (blocks[i].type != CH_BLOCK_TOOL_CALL || large_calls_fits(run, &blocks[i], &used))
            continue;
        blocks[i].text = ch_sv_str(ch_arena_printf(&arena, CH_LEFT_OUT "\"%zu bytes\"}",
                                                   m->blocks[i].text.n));
        blocks[i].flags = CH_F_CUT;
        any = true;
    }
    if (!any)
        return m;
    struct ch_msg *shorter = ch_msg_like(m, (enum ch_msg_kind)m->kind, blocks, m->nblocks);
    ch_msg_free(m);
    return shorter;
}
