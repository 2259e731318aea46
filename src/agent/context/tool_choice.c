/* tool_choice.c -- see tool_choice.h. */
#include "agent/context/tool_choice.h"

#include "agent/context/tool_embedding.h"
#include "agent/handle/run.h"
#include "agent/journal/emit.h"
#include "agent/machine/server_tools.h"
#include "model/provider/target.h"
#include "prompt/tokens.h"
#include "tool/call/vendor_call.h"

#define PER_TOOL 8 /* tokens that protocols add per tool */

/* The text that the choice is made for: the first of the history with words, so that another
 * process makes the same choice. */
static struct ch_sv first_input(const struct ch_transcript *t) {
    for (size_t i = 0; i < t->n; i++) {
        const struct ch_msg *m = t->msgs[i];
        for (uint32_t k = 0; k < m->nblocks && m->kind != CH_MSG_ASSISTANT; k++)
            if (m->blocks[k].type == CH_BLOCK_TEXT && ch_sv_trim(m->blocks[k].text).n)
                return m->blocks[k].text;
    }
    return CH_SV("");
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

static size_t tool_cost(const struct ch_tool *t, unsigned how) {
    enum ch_counting as = (enum ch_counting)how;
    return PER_TOOL + ch_tokens_as(ch_sv_str(t->name), as) +
           ch_tokens_as(ch_sv_str(t->description), as) + ch_tokens_as(ch_sv_str(t->schema), as);
}

/* The descriptions of tools may take a share of the context window, if that is known. */
static void limit_selection(const chela_run *run) {
    const chela_session *s = run->session;
    size_t window = (size_t)ch_target_window(run->target);
    if (window)
        ch_selection_limit(s->selection, window * s->agent->context.tools_share / 100, tool_cost,
                           run->target->facts.counting);
}

static void warn_of_excess(chela_run *run) {
    const chela_agent *a = run->session->agent;
    size_t offered, all, tokens = ch_selection_excess(run->session->selection, &offered, &all);
    if (!tokens)
        return;
    size_t window = (size_t)ch_target_window(run->target);
    const char *so = a->selection == CH_SELECT_ALL
                         ? ", and tools.selection says that all are described"
                     : offered == all ? "; there are too few tools to choose from"
                                      : ", so that only those are described that fit the input";
    ch_emit_warning(run,
                    "the descriptions of %zu tool%s take about %zu tokens, %zu %% of the context "
                    "window; the budget is %u %% (context.toolsPercent)%s",
                    all, all == 1 ? "" : "s", tokens, tokens * 100 / window,
                    a->context.tools_share, so);
}

void ch_tool_choice_select(chela_run *run) {
    chela_session *s = run->session;
    bool begins = ch_selection_is_new(ch_tool_choice_selection(s));
    if (!ch_run_once(run, CH_RUN_SELECTED) && !begins)
        return;
    if (begins)
        limit_selection(run);
    ch_selection_input(s->selection, &run->permit.policy, first_input(&s->transcript));
    if (begins)
        warn_of_excess(run);
}

void ch_tool_choice_renew(chela_session *s) {
    ch_selection_free(CH_TAKE(s->selection));
    s->selection_revision = 0;
}

/* --- the tools of a request ------------------------------------------------------------- */

/* `serverTools` for the service that is asked; NULL: none. */
static const struct ch_json *vendors_list(const chela_run *run) {
    return ch_server_tools_list(run->session->agent->server_tools, run->target->provider,
                                run->target->ep.codec->name);
}

struct ch_sv ch_tool_choice_vendors(chela_run *run) {
    return ch_server_tools_for(&run->arena, vendors_list(run));
}

struct ch_sv ch_tool_choice_callers(const chela_run *run, struct ch_arena *a, struct ch_sv name) {
    return ch_server_tools_callers(a, vendors_list(run), name);
}

static size_t list_named(const chela_run *run, const char *only, struct ch_tool_def *out) {
    const struct ch_registry *r = &run->session->agent->registry;
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (ch_policy_permits(&run->permit.policy, r->tools[i]) &&
            ch_policy_listed(ch_sv_str(only), ch_sv_str(r->tools[i]->name)))
            out[n++] = ch_tool_def(r->tools[i]);
    }
    return n;
}

size_t ch_tool_choice_defs(const chela_run *run, const char *only,
                           const struct ch_model_request *req, struct ch_tool_def *out) {
    const struct ch_policy *p = &run->permit.policy;
    const struct ch_codec *codec = req->endpoint->codec;
    bool searched = codec->searches_tools && codec->searches_tools(req);
    size_t found = only ? list_named(run, only, out)
                        : ch_selection_defs(run->session->selection, searched, out);
    size_t n = 0;
    for (size_t i = 0; i < found; i++)
        if (!(p->always && ch_sv_is(out[i].name, p->always)) &&
            !(p->own && ch_policy_listed(ch_sv_str(p->own), out[i].name)) &&
            !(req->server_tools.n && ch_vendor_call_replaces(req->server_tools, out[i].name)))
            out[n++] = out[i];
    return n;
}

void ch_tool_choice_read(const char *choice, struct ch_model_request *req) {
    static const struct {
        const char *name;
        enum ch_tool_choice value;
    } known[] = {{"auto", CH_CHOICE_AUTO}, {"any", CH_CHOICE_ANY}, {"none", CH_CHOICE_NONE}};
    if (!choice)
        return;
    req->choice = CH_CHOICE_ONE;
    req->choice_name = ch_sv_str(choice);
    for (size_t i = 0; i < CH_LEN(known); i++)
        if (strcmp(choice, known[i].name) == 0)
            req->choice = known[i].value;
}
