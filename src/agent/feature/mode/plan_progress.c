/* plan_progress.c -- see plan_progress.h. */
#include "agent/feature/mode/plan_progress.h"

#include "agent/feature/mode/plan_steps.h"
#include "base/mem.h"

struct ch_sv ch_plan_progress_plan_id(struct ch_arena *a, const struct ch_transcript *t) {
    return ch_sv_str(ch_arena_printf(a, "plan_%zu", t->n));
}

struct ch_sv ch_plan_progress_step_id(struct ch_arena *a, struct ch_sv plan, unsigned step,
                                      unsigned try) {
    if (try == 0)
        return ch_sv_str(ch_arena_printf(a, "%.*s_s%u", CH_SV_FMT(plan), step));
    return ch_sv_str(ch_arena_printf(a, "%.*s_s%u_r%u", CH_SV_FMT(plan), step, try));
}

static bool plan_progress_number(struct ch_sv *s, const char *before, unsigned *out) {
    size_t n = strlen(before), digits = 0;
    if (!ch_sv_starts(*s, before))
        return false;
    *out = 0;
    for (; n + digits < s->n && digits < 6; digits++) {
        char c = s->p[n + digits];
        if (c < '0' || c > '9')
            break;
        *out = *out * 10 + (unsigned)(c - '0');
    }
    *s = ch_sv(s->p + n + digits, s->n - n - digits);
    return digits > 0;
}

/* Parses an id such as "plan_4_s2_r1": plan "plan_4", step 2, try 1. */
static bool read_step_id(struct ch_sv id, struct ch_sv plan, unsigned *step, unsigned *try) {
    if (id.n <= plan.n || memcmp(id.p, plan.p, plan.n) != 0)
        return false;
    struct ch_sv rest = ch_sv(id.p + plan.n, id.n - plan.n);
    *try = 0;
    return plan_progress_number(&rest, "_s", step) &&
           (rest.n == 0 || (plan_progress_number(&rest, "_r", try) && rest.n == 0));
}

int ch_plan_progress_step(const struct ch_plan_progress *r, struct ch_sv call_id) {
    unsigned step, try;
    if (!r->planned || !read_step_id(call_id, r->id, &step, &try))
        return -1;
    return ch_plan_steps_find(&r->steps, step);
}

/* --- the request ------------------------------------------------------------------ */

static bool is_input(const struct ch_msg *m) {
    return m->kind == CH_MSG_USER || m->kind == CH_MSG_TIMER || m->kind == CH_MSG_WEBHOOK;
}

static void add_texts(const struct ch_msg *m, struct ch_buf *out) {
    for (uint32_t i = 0; i < m->nblocks; i++) {
        if (m->blocks[i].type != CH_BLOCK_TEXT)
            continue;
        ch_buf_add_str(out, out->n ? "\n\n" : "");
        ch_buf_add_sv(out, m->blocks[i].text);
    }
}

/* The request: the user's text, or else the message that began the round. */
static void read_request(const struct ch_transcript *t, struct ch_plan_progress *r) {
    CH_BUF_AUTO text = {0};
    for (size_t i = r->begin; i < t->n; i++)
        if (is_input(t->msgs[i]))
            add_texts(t->msgs[i], &text);
    for (size_t i = r->begin; !text.n && i < t->n; i++)
        if (t->msgs[i]->kind == CH_MSG_EVENT)
            add_texts(t->msgs[i], &text);
    r->request = ch_arena_sv(&r->arena, ch_buf_sv(&text));
}

/* --- the plan and its results ----------------------------------------------------- */

static const struct ch_block *plan_progress_call_of(const struct ch_transcript *t, size_t from,
                                                    struct ch_sv id) {
    for (size_t i = from; i < t->n; i++)
        for (uint32_t k = 0; k < t->msgs[i]->nblocks; k++) {
            const struct ch_block *b = &t->msgs[i]->blocks[k];
            if (b->type == CH_BLOCK_TOOL_CALL && ch_sv_eq(b->id, id))
                return b;
        }
    return NULL;
}

static bool plan_progress_any_tool(struct ch_sv tool, void *user) {
    (void)tool;
    (void)user;
    return true;
}

/* Reads a plan from its call. The plan was checked when it was made, so only its structure
 * is checked here. If a person edited the plan, the result holds the edited plan. */
static void plan_progress_take_plan(const struct ch_transcript *t, struct ch_plan_progress *r,
                                    const struct ch_block *result) {
    struct ch_plan_tools any = {.known = plan_progress_any_tool};
    const struct ch_block *call = plan_progress_call_of(t, r->begin, result->id);
    struct ch_sv given = ch_sv_starts(result->text, "{") ? result->text : call ? call->text
                                                                               : CH_SV("");
    struct ch_sv text = ch_arena_sv(&r->arena, given);
    const struct ch_json *v;
    CH_BUF_AUTO why = {0};
    struct ch_plan_steps steps;
    if (ch_json_parse(&r->arena, text, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return;
    any.fixed = ch_json_bool(ch_json_get(v, "fixed"), false);
    if (ch_plan_steps_read(ch_json_get(v, "steps"), &any, &steps, &why) < 0)
        return;
    r->retries += r->planned ? r->tries + 1 : 0;
    r->planned = true;
    r->id = ch_arena_sv(&r->arena, result->id);
    r->steps = steps;
    r->steps.request = r->request;
    r->answer = any.fixed ? ch_json_get(v, "answer") : NULL;
    r->tries = r->refusals = 0;
    r->refused = ch_sv(NULL, 0);
    memset(r->past, 0, sizeof(r->past));
}

static void take_result(const struct ch_transcript *t, struct ch_plan_progress *r,
                        const struct ch_block *b, size_t at) {
    unsigned step, try;
    if (ch_sv_is(b->name, CH_PLAN_TOOL)) {
        if (b->flags & (CH_F_ERROR | CH_F_DENIED)) {
            r->refused = b->text;
            r->refusals++;
        } else {
            plan_progress_take_plan(t, r, b);
        }
        return;
    }
    if (!r->planned || !read_step_id(b->id, r->id, &step, &try))
        return;
    int i = ch_plan_steps_find(&r->steps, step);
    r->tries = CH_MAX(r->tries, try);
    if (i >= 0)
        r->past[i] = (struct ch_step_result){b->text, b->flags & CH_F_UNDONE, at};
}

/* A step with a condition that does not hold, or after skipped steps only, is skipped. */
static bool is_skipped(const struct ch_plan_progress *r, size_t i) {
    const struct ch_plan_step *s = &r->steps.list[i];
    struct ch_sv results[CH_LIMIT_PLAN_STEPS];
    if (s->needs && !(s->needs & ~r->skipped))
        return true;
    if (!s->when)
        return false;
    ch_plan_progress_results(r, results);
    return !ch_plan_steps_holds(&r->steps, s, results);
}

/* Settles the steps in order, so that dependencies are settled first. */
static void plan_progress_settle(struct ch_plan_progress *r) {
    for (size_t i = 0; i < r->steps.n; i++) {
        struct ch_step_result *p = &r->past[i];
        unsigned needs = r->steps.list[i].needs;
        bool settled = !(needs & ~(r->done | r->skipped));
        bool counts = p->at > 0 && settled;
        if (settled && is_skipped(r, i)) {
            r->skipped |= 1u << i;
            counts = false;
        }
        for (size_t k = 0; k < i; k++)
            counts &= !((needs & r->done) >> k & 1) || r->past[k].at < p->at;
        if (!counts)
            *p = (struct ch_step_result){.at = 0};
        else
            *(p->failed ? &r->failed : &r->done) |= 1u << i;
    }
}

void ch_plan_progress_read(const struct ch_transcript *t, struct ch_plan_progress *r) {
    *r = (struct ch_plan_progress){.begin = t->n};
    while (r->begin > 0 && (t->msgs[r->begin - 1]->kind != CH_MSG_ASSISTANT ||
                            ch_msg_has_calls(t->msgs[r->begin - 1])))
        r->begin--;
    read_request(t, r);
    for (size_t i = r->begin; i < t->n; i++) {
        const struct ch_msg *m = t->msgs[i];
        if (is_input(m)) { /* new input: earlier plans no longer count */
            r->planned = false;
            r->retries = r->tries = r->refusals = 0;
            r->refused = ch_sv(NULL, 0);
        }
        for (uint32_t k = 0; m->kind == CH_MSG_RESULTS && k < m->nblocks; k++)
            if (m->blocks[k].type == CH_BLOCK_TOOL_RESULT)
                take_result(t, r, &m->blocks[k], i - r->begin + 1);
    }
    r->retries += r->tries;
    if (r->planned)
        plan_progress_settle(r);
}

void ch_plan_progress_release(struct ch_plan_progress *r) {
    ch_arena_release(&r->arena);
    *r = (struct ch_plan_progress){.begin = 0};
}

void ch_plan_progress_results(const struct ch_plan_progress *r,
                              struct ch_sv out[CH_LIMIT_PLAN_STEPS]) {
    for (size_t i = 0; i < CH_LIMIT_PLAN_STEPS; i++)
        out[i] = i >= r->steps.n         ? ch_sv(NULL, 0)
                 : r->done >> i & 1    ? r->past[i].result
                 : r->skipped >> i & 1 ? CH_SV("null")
                                       : ch_sv(NULL, 0);
}
