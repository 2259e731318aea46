/* delegate.c -- see delegate.h. The tool, and the life of a child; what goes up
 * and down between runs is in upward.c. */
#include "agent/delegate.h"

#include "agent/keep.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "chela/store.h"
#include "json/writer.h"
#include "tool/call.h"

/* Which agent a tool is. It may be replaced by another of the same id. */
struct delegate {
    chela_runtime *rt;
    chela_agent *agent;
    char *id; /* owned */
};

#define KEY_DIGITS 12

/* --- who is meant ------------------------------------------------------------------ */

static void free_delegate(void *impl) {
    struct delegate *d = impl;
    ch_free(d->id);
    ch_free(d);
}

static void start(chela_call *call);
static void cancel(chela_call *call);
static void abandon(chela_call *call);

static const struct ch_tool_ops ops = {.name = "agent",
                                       .start = start,
                                       .cancel = cancel,
                                       .abandon = abandon,
                                       .free = free_delegate,
                                       .winds_down = true};

static chela_agent *agent_of(const struct delegate *d) {
    chela_agent *found = NULL;
    for (CH_LIST_EACH(i, &d->rt->agents)) {
        chela_agent *a = CH_CONTAINER(i, chela_agent, link);
        if (a->base || strcmp(a->id, d->id) != 0)
            continue;
        if (a == d->agent)
            return a;
        found = a;
    }
    return found;
}

const char *ch_child_key(const char *session, const struct ch_tool *t, const char *call_key,
                         struct ch_arena *a) {
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    struct ch_sha256 h;
    if (!t || t->ops != &ops)
        return NULL;
    ch_sha256_init(&h);
    ch_sha256_add(&h, call_key, strlen(call_key));
    ch_sha256_end(&h, digest);
    ch_sha256_hex(digest, hex);
    return ch_arena_printf(a, "%s~%s-%.*s", session, t->name, KEY_DIGITS, hex);
}

static bool is_child_part(const char *part) {
    size_t n = strlen(part);
    const char *dash = n > KEY_DIGITS + 1 ? part + n - KEY_DIGITS - 1 : NULL;
    return dash && *dash == '-' && strspn(dash + 1, "0123456789abcdef") == KEY_DIGITS;
}

size_t chela_session_root(const char *key) {
    CH_AUTOFREE char *rest = ch_strdup(key);
    for (char *mark; (mark = strrchr(rest, '~')) && is_child_part(mark + 1);)
        *mark = '\0';
    return strlen(rest);
}

/* --- how far it may go --------------------------------------------------------------- */

/* Levels that may still be put below the run, by everybody above it. */
static int levels_left(const chela_run *run) {
    int left = CH_LIMIT_DELEGATE_DEPTH, depth = 0;
    for (const chela_run *r = run; r; r = ch_run_above(r), depth++)
        left = CH_MIN(left, (int)r->session->agent->max_depth - depth);
    return left;
}

/* One that must not call others is not told that it could. */
static void withhold(const chela_agent *a, const char *denied, struct ch_buf *out) {
    ch_buf_add_str(out, denied ? denied : "");
    for (size_t i = 0; i < a->registry.n; i++)
        if (a->registry.tools[i]->ops == &ops)
            ch_buf_addf(out, "%s%s", out->n ? "," : "", a->registry.tools[i]->name);
}

/* --- the end of a call ---------------------------------------------------------------- */

static void worked(chela_call *call) {
    ch_answer_conclude(&call->answer, 0, &call->made);
    ch_call_worked(call);
}

static void refuse(chela_call *call, const char *type, const char *why) {
    chela_result_error(call, type, "%s", why);
    worked(call);
}

static void close_child(struct ch_child *c) {
    chela_session *s = c->session;
    c->call->doing = NULL;
    ch_list_del(&c->link);
    c->run = NULL;
    chela_session_close(s); /* frees c, later */
}

struct ending {
    enum ch_reason reason;
    struct ch_sv text, error;
    const char *run;
};

static void write_details(const struct ch_child *c, const struct ending *e) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "agent", c->session->agent->id);
    ch_jw_kcstr(&w, "session", c->session->key);
    ch_jw_kcstr(&w, "run", e->run);
    ch_jw_kcstr(&w, "reason", ch_reason_name(e->reason));
    ch_jw_kint(&w, "turns", c->spent.turns);
    ch_jw_end(&w, '}');
    chela_result_details(c->call, ch_buf_str(&json));
}

/* What it said is the result; that it was stopped is an error that has it, too. */
static void conclude(struct ch_child *c, const struct ending *e) {
    chela_call *call = c->call;
    enum ch_status status = ch_reason_status(e->reason);
    const char *id = c->session->agent->id;
    if (status == CH_STATUS_DONE) {
        chela_result_text(call, e->text.p, e->text.n);
    } else {
        struct ch_sv so_far = ch_utf8_cut(e->text, CH_LIMIT_ROLE_RESULT);
        chela_result_error(call, status == CH_STATUS_CANCELLED ? "cancelled" : "unavailable",
                           "The agent %s did not finish: %s%s%.*s.%s%.*s", id,
                           ch_reason_name(e->reason), e->error.n ? ": " : "", CH_SV_FMT(e->error),
                           so_far.n ? " What it said last: " : "", CH_SV_FMT(so_far));
    }
    write_details(c, e);
    close_child(c);
    worked(call);
}

static void on_end(struct ch_child *c, const struct chela_event *ev) {
    struct ending e = {.reason = ch_reason_of(ch_sv_str(ev->end.reason)),
                       .text = ch_unstr(ev->end.text),
                       .error = ch_unstr(ev->end.error),
                       .run = ev->run};
    if (ch_reason_status(e.reason) != CH_STATUS_PAUSED) {
        conclude(c, &e);
        return;
    }
    c->resting = true;
    ch_call_rest(c->call);
}

/* --- events ----------------------------------------------------------------------------- */

static void on_event(const struct chela_event *ev, void *user) {
    struct ch_child *c = user;
    struct ch_spent s;
    if (!c->run || c->run->dead)
        return;
    if (ch_child_used(ev, &s))
        ch_child_charge(c, &s);
    struct chela_event told = {.type = CHELA_EV_CHILD,
                               .run = ev->run,
                               .seq = ev->seq,
                               .ts = ev->ts,
                               .child = {.event = ev,
                                         .parent = c->run->id,
                                         .agent = c->session->agent->id,
                                         .call = c->call->id,
                                         .depth = 1}};
    if (ev->type == CHELA_EV_CHILD) {
        told = *ev;
        told.child.depth++;
    }
    ch_child_tell(c->run, &told);
    if (ev->type == CHELA_EV_RUN_END && c->run && !c->run->dead)
        on_end(c, ev);
}

/* --- its run ---------------------------------------------------------------------------- */

void ch_child_bind(const chela_run *above, chela_run *run) {
    run->ask_means = CH_MAX(run->ask_means, above->ask_means);
    run->forgets |= above->forgets;
}

static void write_task(const chela_call *call, struct ch_buf *out) {
    struct ch_sv context = ch_sv_trim(ch_json_get_str(call->args, "context"));
    ch_buf_add_sv(out, ch_json_get_str(call->args, "task"));
    if (context.n)
        ch_buf_addf(out, "\n\nWhat is known already:\n%.*s", CH_SV_FMT(context));
}

static int begin(struct ch_child *c, bool resume, struct chela_error *err) {
    chela_run *run = NULL;
    CH_BUF_AUTO deny = {0};
    CH_BUF_AUTO task = {0};
    struct chela_run_opts o = CHELA_RUN_OPTS(.on_event = on_event, .user = c, .may_redo = 1);
    if (resume) {
        int rc = chela_run_resume(c->session, &o, &run, err);
        if (rc == 0)
            ch_child_bind(c->run, run);
        chela_run_free(run);
        return rc;
    }
    ch_behalf_apply(&c->run->behalf, &o);
    if (levels_left(c->run) <= 1) {
        withhold(c->session->agent, o.deny, &deny);
        o.deny = deny.n ? ch_buf_str(&deny) : o.deny;
    }
    write_task(c->call, &task);
    int rc = chela_run_start(c->session, task.p, task.n, &o, &run, err);
    if (rc == 0)
        ch_child_bind(c->run, run);
    chela_run_free(run);
    return rc;
}

static void fail(struct ch_child *c, const struct chela_error *err) {
    chela_call *call = c->call;
    struct chela_error copy = *err;
    close_child(c);
    refuse(call, "unavailable", copy.message);
}

static void bring_along(struct ch_child *c) {
    const struct ch_run *m = &c->session->keep->last;
    struct ch_spent s = {.usage = m->usage,
                         .cost = m->cost,
                         .turns = m->turns + m->below.turns,
                         .tool_calls = m->tool_calls + m->below.tool_calls};
    ch_child_charge(c, &s);
}

/* Its journal was read: it is new, or stood somewhere, or has ended. */
static void on_ready(chela_session *s, const struct chela_error *err, void *user) {
    struct ch_child *c = user;
    struct chela_error why = {0};
    if (!c->run)
        return;
    if (err) {
        fail(c, err);
        return;
    }
    bool old = s->transcript.n > 0, idle = !s->keep->past;
    if (old)
        bring_along(c);
    if (old && idle) {
        CH_AUTOFREE char *text = chela_session_last_text(s);
        struct ending e = {.reason = s->keep->last.reason, .text = ch_sv_str(text), .run = ""};
        conclude(c, &e);
        return;
    }
    if (begin(c, old, &why) < 0)
        fail(c, &why);
}

static chela_run *run_of(const chela_call *call) {
    const struct delegate *d = call->tool->impl;
    return ch_run_find(d->rt, call->env->run);
}

static void open_child(chela_call *call, chela_run *run, chela_agent *to) {
    CH_ARENA_AUTO arena = {0};
    struct chela_error err = {0};
    const char *key = ch_child_key(run->session->key, call->tool, call->key, &arena);
    struct ch_child *c = ch_alloc(sizeof(*c));
    *c = (struct ch_child){.run = run, .call = call};
    if (strlen(key) > CH_LIMIT_SESSION_KEY ||
        ch_session_open(to, key, run->session->keep != NULL, &c->session, &err) < 0) {
        const char *why = err.message[0] ? err.message : "The session's key is too long.";
        ch_free(c);
        refuse(call, "unavailable", why);
        return;
    }
    c->session->child = c;
    call->doing = c;
    ch_list_add(&run->children, &c->link);
    chela_session_on_ready(c->session, on_ready, c);
    if (!c->session->keep && begin(c, false, &err) < 0)
        fail(c, &err);
}

static void go_on(struct ch_child *c) {
    struct chela_error err = {0};
    c->resting = false;
    if (begin(c, true, &err) < 0)
        fail(c, &err);
}

static void start(chela_call *call) {
    chela_run *run = run_of(call);
    chela_agent *to = agent_of(call->tool->impl);
    if (call->doing) {
        go_on(call->doing);
        return;
    }
    if (!run || !to)
        refuse(call, "internal", "There is no such agent any more.");
    else if (levels_left(run) <= 0)
        refuse(call, "permission_denied",
               "Agents may not call one another any deeper. Do the work yourself.");
    else if (run->nchildren >= run->session->agent->max_children)
        refuse(call, "permission_denied",
               "This run has called as many agents as it may. Do the rest yourself.");
    else {
        run->nchildren++;
        open_child(call, run, to);
    }
}

/* The child has its last words, and the call ends with them. */
static void cancel(chela_call *call) {
    struct ch_child *c = call->doing;
    chela_run *run = c ? c->session->run : NULL;
    if (!c)
        return; /* its result is on its way */
    c->resting = false;
    if (run && !ch_run_over(&run->m)) {
        ch_interrupt(run, CH_IN_CANCEL, "the run that called it was cancelled");
        return;
    }
    if (run && !run->over)
        return; /* its end is being stored */
    close_child(c); /* it had not begun */
    refuse(call, "cancelled", "The run was cancelled.");
}

static void abandon(chela_call *call) {
    if (call->doing)
        close_child(call->doing);
}

void ch_child_free(chela_session *s) {
    struct ch_child *c = CH_TAKE(s->child);
    if (c && c->run) { /* closed by somebody else */
        ch_list_del(&c->link);
        c->call->doing = NULL;
    }
    ch_free(c);
}

/* --- offering one ------------------------------------------------------------------------ */

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"task\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":65536,"
    "\"description\":\"what it is to do, complete in itself: it sees nothing else\"},"
    "\"context\":{\"type\":\"string\",\"maxLength\":65536,"
    "\"description\":\"what it should know for that\"}},"
    "\"required\":[\"task\"],\"additionalProperties\":false}";

int chela_agent_delegate(chela_agent *a, chela_agent *to, const struct chela_delegate_opts *given,
                         struct chela_error *err) {
    struct chela_delegate_opts o = {0};
    CH_BUF_AUTO about = {0};
    if (given)
        memcpy(&o, given, CH_MIN(given->size, sizeof(o)));
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
            .name = o.name ? o.name : to->id, .description = ch_buf_str(&about), .schema = schema,
            .effect = CHELA_EFFECT_KEYED, .permission = CHELA_PERM_READ, .timeout_ms = -1,
            .max_retries = -1);
    struct delegate *d = ch_alloc(sizeof(*d));
    *d = (struct delegate){.rt = a->rt, .agent = to, .id = ch_strdup(to->id)};
    int rc = ch_registry_add(&a->registry, &tool, &ops, d, err);
    if (rc < 0)
        free_delegate(d);
    return rc;
}
