/* delegate.c -- the tool that is an agent: see delegate.h. */
#include "agent/feature/team/delegate.h"

#include "agent/feature/team/background.h"
#include "agent/feature/team/child_run.h"
#include "agent/handle/lookup.h"
#include "agent/handle/run_origin.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/child_key.h"
#include "agent/machine/principal.h"
#include "agent/run/parent.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/opts.h"
#include "chela/store.h"
#include "io/loop_entry.h"
#include "tool/call/call.h"

/* The agent behind a tool. The id is looked up at each call, because the agent may be
 * replaced. */
struct delegate {
    chela_runtime *rt;
    chela_agent *agent;
    char *id; /* owned */
};

/* --- the called agent --------------------------------------------------------------- */

static void free_delegate(void *impl) {
    struct delegate *d = impl;
    ch_free(d->id);
    ch_free(d);
}

static void delegate_start(chela_call *call);

static const struct ch_tool_ops ops = {.name = "agent",
                                       .start = delegate_start,
                                       .cancel = ch_child_run_cancel,
                                       .abandon = ch_child_run_abandon,
                                       .free = free_delegate,
                                       .winds_down = true,
                                       .is_run = true};

static chela_agent *delegate_agent_of(const struct delegate *d) {
    for (CH_LIST_EACH(i, &d->rt->agents)) {
        chela_agent *a = CH_CONTAINER(i, chela_agent, link);
        if (a == d->agent && !a->base && !a->closed && strcmp(a->id, d->id) == 0)
            return a;
    }
    return ch_agent_find(d->rt, d->id);
}

/* --- limits of depth and number ------------------------------------------------------ */

/* True: the run is a delegated agent, one level below its caller. */
static bool is_level(const chela_run *run) {
    return run->session->child && run->session->child->kind->level;
}

/* Levels of delegation that every run above still allows. */
static int levels_left(const chela_run *run) {
    int left = CH_LIMIT_DELEGATE_DEPTH, depth = 0;
    for (const chela_run *r = run; r; depth += is_level(r), r = ch_parent_of(r))
        left = CH_MIN(left, (int)r->session->agent->max_depth - depth);
    return left;
}

/* The run that is the caller: for a plan's step, the parent of the step. */
static chela_run *caller(chela_run *run) {
    while (ch_parent_of(run) && !is_level(run))
        run = ch_parent_of(run);
    return run;
}

/* Number of running agents that the run called. */
static unsigned at_work(const chela_run *run) {
    unsigned n = 0;
    for (CH_LIST_EACH(k, &run->children)) {
        const struct ch_child_run *c = CH_CONTAINER(k, struct ch_child_run, link);
        if (c->kind->level)
            n++;
        else if (c->session->run) /* a plan's step calls on behalf of the run */
            n += at_work(c->session->run);
    }
    return n;
}

void ch_delegate_ended(const struct ch_child_run *c) {
    chela_run *by = caller(c->run);
    if (!c->kind->level)
        return;
    ch_parent_child_ended(by);
    if (by != c->run && by->m.state == CH_RUN_ACT && !by->dead)
        ch_run_journal_acting(by, CH_SYNC_COMMIT); /* its next record may be far off */
}

void ch_delegate_withhold(const struct ch_child_run *c, const char *denied, struct ch_buf *out) {
    const struct ch_registry *r = &c->session->agent->registry;
    ch_buf_add_str(out, denied ? denied : "");
    if (levels_left(c->run) > c->kind->level)
        return;
    for (size_t i = 0; i < r->n; i++)
        if (r->tools[i]->ops == &ops)
            ch_buf_addf(out, "%s%s", out->n ? "," : "", r->tools[i]->name);
}

/* --- a call ---------------------------------------------------------------------------- */

static void delegate_write_task(const struct ch_child_run *c, struct ch_buf *out) {
    struct ch_sv context = ch_sv_trim(ch_json_get_str(c->call->args, "context"));
    ch_buf_add_sv(out, ch_json_get_str(c->call->args, "task"));
    if (context.n)
        ch_buf_addf(out, "\n\nWhat is known already:\n%.*s", CH_SV_FMT(context));
}

static const struct ch_child_kind kind = {.level = true, .write_task = delegate_write_task};

/* --- in the background ------------------------------------------------------------------- */

static bool delegate_is_background(const chela_call *call) {
    return ch_json_bool(ch_json_get(call->args, "background"), false);
}

static void delegate_write_all(const chela_call *call, struct ch_buf *out) {
    const struct ch_child_run c = {.call = (chela_call *)call};
    delegate_write_task(&c, out);
}

/* Only the conversation itself starts agents beside it. */
static void delegate_start_beside(chela_call *call, chela_run *run, chela_agent *to) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO task = {0};
    struct chela_run_opts o = CHELA_RUN_OPTS(.may_redo = 1);
    struct chela_error err = {0};
    const char *session = run->session->key;
    const char *key = ch_child_key(session, call->tool->name, call->key, &arena);
    if (!run->session->agent->starts_background || session[chela_session_root(session)]) {
        ch_child_run_refuse(call, "permission_denied",
                            "Nothing can be started in the background here; call it without.");
        return;
    }
    ch_principal_apply(ch_run_origin_principal(run), &o);
    delegate_write_all(call, &task);
    int rc = strlen(key) > CH_LIMIT_SESSION_KEY
                 ? ch_fail(&err, CHELA_EINVAL, "The session's key is too long.")
                 : ch_background_start(run, to, key, ch_buf_sv(&task), &o, &err);
    if (rc < 0 && rc != CHELA_EEXIST) {
        ch_child_run_refuse(call, "unavailable", err.message);
        return;
    }
    chela_result_printf(call,
                        "Started in the background as task %s. You will be told when it ends; go "
                        "on with other work, or answer.",
                        key);
    ch_answer_conclude(&call->answer, 0, &call->made);
    ch_call_worked(call);
}

static void open_child(chela_call *call, chela_run *run, chela_agent *to) {
    chela_run *by = caller(run);
    if (levels_left(run) <= 0) {
        ch_child_run_refuse(call, "permission_denied",
                            "Agents may not call one another any deeper. Do the work yourself.");
        return;
    }
    if (by->nchildren + at_work(by) >= by->session->agent->max_children) {
        ch_child_run_refuse(call, "permission_denied",
                            "This run has called as many agents as it may. Do the rest yourself.");
        return;
    }
    ch_child_run_open(&kind, call, run, to);
}

static void delegate_start(chela_call *call) {
    const struct delegate *d = call->tool->impl;
    chela_run *run = ch_run_find(d->rt, call->env->session, call->env->run);
    chela_agent *to = delegate_agent_of(d);
    if (call->doing)
        ch_child_run_go_on(call);
    else if (!run || !to)
        ch_child_run_refuse(call, "internal", "There is no such agent any more.");
    else if (delegate_is_background(call))
        delegate_start_beside(call, run, to);
    else
        open_child(call, run, to);
}

/* --- offering an agent as a tool --------------------------------------------------------- */

#define DELEGATE_BEGIN                                                                             \
    "{\"type\":\"object\",\"properties\":{"                                                        \
    "\"task\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":65536,"                           \
    "\"description\":\"what it is to do, complete in itself: it sees nothing else\"},"             \
    "\"context\":{\"type\":\"string\",\"maxLength\":65536,"                                        \
    "\"description\":\"what it should know for that\"}"
#define DELEGATE_END "},\"required\":[\"task\"],\"additionalProperties\":false}"

static const char schema[] = DELEGATE_BEGIN DELEGATE_END;
static const char schema_background[] = DELEGATE_BEGIN
    ",\"background\":{\"type\":\"boolean\",\"description\":\"Return at once and go on beside the "
    "conversation; you are told when it ends\"}" DELEGATE_END;

int chela_agent_delegate(chela_agent *a, chela_agent *to, const struct chela_delegate_opts *given,
                         struct chela_error *err) {
    CH_ENTER(a, a->rt->loop, err);
    CH_NEEDS(to, err);
    static const struct ch_agent_opts none;
    struct chela_delegate_opts o;
    CH_BUF_AUTO about = {0};
    int rc = CH_OPTS_READ(chela_delegate_opts, &o, given, err);
    if (rc < 0)
        return rc;
    if (a->rt != to->rt)
        return ch_fail(err, CHELA_EINVAL, "agent %s belongs to another runtime", to->id);
    const char *words = o.description   ? o.description
                        : to->description ? to->description
                                          : to->context.instructions;
    ch_buf_addf(&about, "Give a task to the agent %s, which works on its own and answers once. ",
                to->id);
    ch_buf_add_sv(&about, o.description || to->description ? ch_sv_str(words)
                                                           : ch_first_sentence(ch_sv_str(words)));
    struct chela_tool_opts tool = CHELA_TOOL_OPTS(
            .name = o.name ? o.name : to->id, .description = ch_buf_str(&about),
            .schema = o.background ? schema_background : schema,
            .effect = CHELA_EFFECT_KEYED, .permission = CHELA_PERM_READ, .timeout_ms = -1,
            .max_retries = -1);
    struct delegate *d = ch_alloc(sizeof(*d));
    *d = (struct delegate){.rt = a->rt, .agent = to, .id = ch_strdup(to->id)};
    rc = ch_registry_add(&a->registry, &tool, &ops, d, err);
    if (rc < 0) {
        free_delegate(d);
        return rc;
    }
    a->starts_background |= o.background != 0;
    return ch_feature_attached(a, &ch_background_feature)
               ? 0
               : ch_feature_attach(a, &ch_background_feature, &none, err);
}
