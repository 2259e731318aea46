/* tool_choice.c -- see tool_choice.h. */
#include "agent/context/tool_choice.h"

#include "agent/context/tool_embedding.h"
#include "agent/handle/run.h"

/* Adds tools that fit the text of a message, and tools that it calls. */
static void select_for(chela_run *run, const struct ch_msg *m) {
    struct ch_selection *s = run->session->selection;
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (m->kind == CH_MSG_ASSISTANT && b->type == CH_BLOCK_TOOL_CALL)
            ch_selection_offer(s, b->name);
        else if (m->kind != CH_MSG_ASSISTANT && b->type == CH_BLOCK_TEXT)
            ch_selection_input(s, &run->permit.policy, b->text);
    }
}

struct ch_selection *ch_tool_choice_selection(chela_session *s) {
    const chela_agent *a = s->agent;
    if (!s->selection)
        s->selection = ch_selection_new(&(struct ch_selection_opts){
            .registry = &a->registry,
            .ranking = &s->agent->ranking,
            .mode = a->selection,
            .k = a->selection_size,
            .vectors = a->embedding ? ch_tool_embedding_vectors(a->embedding) : NULL});
    return s->selection;
}

/* Adds tools for the run's input to the session's selection. A new selection is made from
 * the whole history. */
void ch_tool_choice_select(chela_run *run) {
    chela_session *s = run->session;
    const struct ch_transcript *t = &s->transcript;
    if (!ch_run_once(run, CH_RUN_SELECTED))
        return;
    size_t i = t->n;
    if (ch_selection_is_new(ch_tool_choice_selection(s))) {
        i = 0;
    } else {
        while (i > 0 && t->msgs[i - 1]->kind != CH_MSG_USER)
            i--;
        i -= i > 0;
    }
    for (; i < t->n; i++)
        select_for(run, t->msgs[i]);
}
