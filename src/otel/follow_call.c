/* follow_call.c -- see follow_call.h. */
#include "otel/follow_call.h"

#include "agent/journal/journal_replay.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/mix.h"
#include "otel/content.h"
#include "otel/follow_run.h"
#include "tool/call/wait.h"

/* The state of a call, made if there is none; NULL: too many. */
static struct ch_follow_call *open_call(struct ch_follow_calls *calls, struct ch_sv id) {
    uint64_t hash = ch_mix_text(0, id);
    size_t i = 0;
    while (i < calls->n && calls->open[i].id != hash)
        i++;
    if (i == CH_LIMIT_OTEL_CALLS)
        return NULL;
    CH_GROW(calls->open, i, calls->cap, 4);
    if (i == calls->n)
        calls->open[calls->n++] = (struct ch_follow_call){.id = hash};
    return &calls->open[i];
}

/* A call of a run that is followed. */
struct call_ref {
    const struct ch_otel_output *o;
    const struct ch_follow_run *r;
    const chela_run *run;
    struct ch_sv id;
};

/* Emits the span of an attempt or a wait of a call. The wait for an approval comes before the
 * call, and is below the run. */
static void emit_below(const struct call_ref *at, unsigned n, struct ch_otel_span *s) {
    const struct ch_follow_run *r = at->r;
    struct ch_span_id call = ch_span_id_of_call(r->id, r->turn, at->id);
    bool approval = ch_sv_is(s->target, "approval"), wait = ch_sv_is(s->name, CH_OTEL_WAIT);
    s->context = r->context;
    s->context.has_parent = true;
    s->context.parent = approval ? r->span : call;
    s->id = ch_span_id_below(call, approval ? s->target : s->name, n);
    s->kind = CH_OTEL_INTERNAL;
    ch_follow_run_place(s, r, at->run);
    ch_otel_add_int(s, CH_OTEL_TURN, r->turn);
    ch_otel_add_text(s, CH_OTEL_TOOL_CALL_ID, at->id);
    if (n)
        ch_otel_add_int(s, CH_OTEL_ATTEMPT, n);
    if (wait)
        ch_otel_add_text(s, CH_OTEL_WAIT_REASON, s->target);
    ch_otel_output_span(at->o, s);
}

static void emit_wait(const struct call_ref *at, unsigned n, const char *reason, int64_t start,
                      int64_t end) {
    struct ch_otel_span s = {
        .name = CH_SV(CH_OTEL_WAIT), .target = ch_sv_str(reason), .start = start, .end = end};
    emit_below(at, n, &s);
}

static void emit_attempt(const struct call_ref *at, unsigned n, struct ch_sv tool, int64_t start,
                         int64_t end, struct ch_sv error) {
    struct ch_otel_span s = {.name = CH_SV(CH_OTEL_TRY),
                             .target = tool,
                             .start = start,
                             .end = end,
                             .failed = error.n > 0};
    ch_otel_add_text(&s, CH_OTEL_ERROR_TYPE, error);
    emit_below(at, n, &s);
}

/* The wait of a call is over, if there is one. */
static void leave_wait(const struct call_ref *at, struct ch_follow_call *c, int64_t now) {
    if (c->asked)
        emit_wait(at, 0, "approval", c->asked, now);
    c->asked = 0;
    if (!c->until)
        return;
    int64_t end = CH_MAX(c->since, CH_MIN(c->until, now));
    emit_wait(at, c->attempts, c->sleeps ? "timer" : "retry", c->since, end);
    c->since = end;
    c->until = 0;
}

/* Reads the journal about a call that an earlier process began: when a person was asked, and
 * the wait that is over now. */
static void recall_call(const chela_run *run, struct ch_sv id, struct ch_follow_call *c) {
    const struct ch_journal_replay *p = run->past;
    CH_ARENA_AUTO arena = {0};
    struct ch_wait_state w;
    for (size_t i = 0; p && p->reply && i < p->ncalls; i++) {
        const struct ch_replay_call *known = &p->calls[i];
        if (known->result || !ch_sv_eq(ch_journal_replay_block(p, i)->id, id))
            continue;
        if (known->approval && !known->started)
            c->asked = known->asked_at;
        if (!known->state || !ch_wait_read(ch_sv_str(known->state), &arena, &w) || !w.until)
            continue;
        c->start = w.since;
        c->since = w.from ? w.from : w.until;
        c->until = w.until;
        c->attempts = w.attempts;
        c->sleeps = w.sleeps;
        c->waited = true;
    }
}

void ch_follow_call_begin(const struct ch_otel_output *o, struct ch_follow_run *r,
                          const chela_run *run, struct ch_sv id, int64_t now) {
    struct ch_follow_call *c = open_call(&r->calls, id);
    if (!c)
        return;
    if (!c->asked)
        recall_call(run, id, c);
    leave_wait(&(struct call_ref){o, r, run, id}, c, now);
    c->since = now;
    if (!c->start)
        c->start = now;
}

void ch_follow_call_asked(struct ch_follow_run *r, struct ch_sv id, int64_t now) {
    struct ch_follow_call *c = open_call(&r->calls, id);
    if (c)
        c->asked = now;
}

void ch_follow_call_wait(const struct ch_otel_output *o, struct ch_follow_run *r,
                         const chela_run *run, const struct ch_block *call,
                         const struct ch_wait_state *w, int64_t now) {
    struct ch_follow_call *c = open_call(&r->calls, call->id);
    if (!c)
        return;
    struct call_ref at = {o, r, run, call->id};
    /* as in the state, which a next process reads: the clock may have ticked meanwhile */
    int64_t from = w->from ? w->from : now;
    leave_wait(&at, c, from);
    if (!c->waited) /* the next process knows the beginning from the state */
        c->start = c->since = w->since;
    if (!w->sleeps)
        emit_attempt(&at, w->attempts ? w->attempts - 1 : 0, call->name, c->since, from,
                     ch_wait_error_type(w->error));
    *c = (struct ch_follow_call){.id = c->id,
                                 .start = c->start,
                                 .since = from,
                                 .until = w->until,
                                 .attempts = w->attempts,
                                 .sleeps = w->sleeps,
                                 .waited = true};
}

/* The argument text of a call of the last reply. */
static struct ch_sv arguments_of(const chela_run *run, struct ch_sv id) {
    const struct ch_transcript *t = &run->session->transcript;
    size_t n = t->n;
    while (n && t->msgs[n - 1]->kind != CH_MSG_ASSISTANT)
        n--;
    for (uint32_t i = 0; n && i < t->msgs[n - 1]->nblocks; i++) {
        const struct ch_block *b = &t->msgs[n - 1]->blocks[i];
        if (b->type == CH_BLOCK_TOOL_CALL && ch_sv_eq(b->id, id))
            return b->text;
    }
    return CH_SV("");
}

/* Empty: the call did not fail. */
static struct ch_sv error_type(const struct chela_event *ev) {
    if (!ev->result.is_error)
        return CH_SV("");
    return ch_sv_str(ev->result.error_type ? ev->result.error_type : "tool_error");
}

/* NULL: the tool has no memo, because its name is long. */
static struct ch_follow_call_memo *memo_of_calls(struct ch_follow_run *r, struct ch_sv tool) {
    struct ch_follow_call_memo *m = &r->calls.memos[ch_mix_text(0, tool) % CH_FOLLOW_CALL_MEMOS];
    if (tool.n >= sizeof(m->tool))
        return NULL;
    if (!ch_sv_is(tool, m->tool)) {
        ch_buf_clear(&m->span);
        m->duration = NULL;
        memcpy(m->tool, tool.p, tool.n);
        m->tool[tool.n] = '\0';
    }
    return m;
}

/* Adds the attributes of all calls of the tool. tool: NULL: there is no such tool,
 * because a model may invent names. */
static void add_tool(struct ch_otel_span *s, const struct ch_follow_run *r, const chela_run *run,
                     struct ch_sv name, const struct ch_tool *tool) {
    s->name = CH_SV(CH_OTEL_EXECUTE_TOOL);
    s->target = name;
    ch_otel_add_text(s, CH_OTEL_OPERATION, CH_SV(CH_OTEL_EXECUTE_TOOL));
    ch_otel_add_text(s, CH_OTEL_TOOL_TYPE, CH_SV("function"));
    ch_follow_run_place(s, r, run);
    ch_otel_add_text(s, CH_OTEL_TOOL_NAME, name);
    if (tool)
        ch_otel_add_text(s, CH_OTEL_TOOL_DESCRIPTION, ch_tool_summary(tool));
}

static struct ch_buf *call_template(const struct ch_otel_output *o, const struct ch_follow_run *r,
                                    const chela_run *run, const struct ch_tool *tool,
                                    struct ch_follow_call_memo *m) {
    struct ch_otel_span s = ch_follow_run_span(r, (struct ch_span_id){{0}}, 0, 0);
    if (m->span.n)
        return &m->span;
    add_tool(&s, r, run, ch_sv_str(m->tool), tool);
    ch_otel_template_set(&m->span, o->settings->signals[CH_OTEL_TRACES].json, &s);
    return &m->span;
}

static void measure_call(const struct ch_otel_output *o, struct ch_follow_call_memo *m,
                         const struct ch_otel_span *s, struct ch_sv tool, struct ch_sv error) {
    struct ch_otel_attribute list[] = {
        {.key = CH_OTEL_OPERATION, .type = CH_OTEL_TEXT, .text = CH_SV(CH_OTEL_EXECUTE_TOOL)},
        {.key = CH_OTEL_TOOL_NAME, .type = CH_OTEL_TEXT, .text = tool},
        {.key = CH_OTEL_ERROR_TYPE, .type = CH_OTEL_TEXT, .text = error}};
    ch_otel_output_measure(o, CH_OTEL_METRIC_TOOL_DURATION, ch_otel_seconds(s->end - s->start),
                           list, error.n ? 3 : 2, m && !error.n ? &m->duration : NULL);
}

void ch_follow_call_end(const struct ch_otel_output *o, struct ch_follow_run *r, chela_run *run,
                        const struct chela_event *ev) {
    struct ch_sv id = ch_unstr(ev->result.id), name = ch_unstr(ev->result.name);
    const struct ch_tool *tool = ch_registry_find(&run->session->agent->registry, name);
    struct ch_follow_call *c = open_call(&r->calls, id);
    int64_t start = ev->ts - ev->result.duration_ms;
    CH_BUF_AUTO arguments = {0};
    CH_BUF_AUTO content = {0};
    if (c) {
        struct call_ref at = {o, r, run, id};
        if (!c->start && !c->asked)
            recall_call(run, id, c);
        leave_wait(&at, c, ev->ts);
        if (c->waited && ev->result.attempts > 1)
            emit_attempt(&at, ev->result.attempts - 1, name, c->since, ev->ts, error_type(ev));
        start = c->start ? c->start : start;
        *c = r->calls.open[--r->calls.n];
    }
    struct ch_otel_span s =
        ch_follow_run_span(r, ch_span_id_of_call(r->id, r->turn, id), start, ev->ts);
    s.failed = ev->result.is_error;
    /* names that a model invents are measured as one */
    struct ch_follow_call_memo *m = tool ? memo_of_calls(r, name) : NULL;
    measure_call(o, m, &s, tool ? name : CH_SV("_OTHER"), error_type(ev));
    if (!ch_follow_run_wants_span(o, r))
        return;
    if (m)
        s.template = call_template(o, r, run, tool, m);
    else
        add_tool(&s, r, run, name, tool);
    ch_otel_add_text(&s, CH_OTEL_ERROR_TYPE, error_type(ev));
    ch_otel_add_text(&s, CH_OTEL_TOOL_CALL_ID, id);
    ch_otel_add_int(&s, CH_OTEL_TURN, r->turn);
    if (o->settings->content) {
        ch_otel_write_text(&arguments, arguments_of(run, id));
        ch_otel_write_text(&content, ch_unstr(ev->result.content));
        ch_otel_add_text(&s, CH_OTEL_TOOL_ARGUMENTS, ch_buf_sv(&arguments));
        ch_otel_add_text(&s, CH_OTEL_TOOL_RESULT, ch_buf_sv(&content));
    }
    ch_otel_output_span(o, &s);
}
