/* stage.c -- see stage.h. */
#include "agent/api/runtime.h"
#include "model/provider/target.h"
#include "support/stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static int64_t clock_now(void *user) {
    return ((struct stage *)user)->now;
}

static void log_event(struct stage *st, const struct chela_event *ev) {
    struct ch_buf *b = &st->log;
    ch_buf_addf(b, "%s%s", b->n ? " " : "", chela_event_name(ev->type));
    switch (ev->type) {
    case CHELA_EV_STATE:
        ch_buf_addf(b, "(%s)", chela_state_name(ev->state.to));
        break;
    case CHELA_EV_TEXT_DELTA:
    case CHELA_EV_REASONING_DELTA:
        ch_buf_addf(b, "(%.*s)", (int)ev->delta.text.n, ev->delta.text.p);
        break;
    case CHELA_EV_TOOL_CALL:
    case CHELA_EV_TOOL_START:
    case CHELA_EV_CLIENT_TOOL_REQUIRED:
        ch_buf_addf(b, "(%.*s)", (int)ev->call.id.n, ev->call.id.p);
        break;
    case CHELA_EV_TOOL_RESULT:
        ch_buf_addf(b, "(%.*s%s%s)", (int)ev->result.id.n, ev->result.id.p,
                    ev->result.is_error ? "!" : "",
                    ev->result.is_error ? ev->result.error_type : "");
        break;
    case CHELA_EV_APPROVAL_REQUIRED:
        ch_buf_addf(b, "(%.*s)", (int)ev->approval.id.n, ev->approval.id.p);
        snprintf(st->approval, sizeof(st->approval), "%.*s", (int)ev->approval.approval_id.n,
                 ev->approval.approval_id.p);
        break;
    case CHELA_EV_STEERING:
    case CHELA_EV_FOLLOW_UP:
    case CHELA_EV_SYSTEM_EVENT:
        ch_buf_addf(b, "(%.*s)", (int)ev->note.text.n, ev->note.text.p);
        break;
    case CHELA_EV_RETRY:
        ch_buf_addf(b, "(%u)", ev->retry.attempt);
        break;
    case CHELA_EV_FALLBACK:
        ch_buf_addf(b, "(%s)", ev->fallback.to);
        break;
    case CHELA_EV_TURN_END:
        ch_buf_addf(b, "(%s)", chela_stop_name(ev->turn.stop_reason));
        break;
    case CHELA_EV_RUN_END:
        ch_buf_addf(b, "(%s)", chela_reason_name(ev->end.reason));
        break;
    default:
        break;
    }
}

static void on_event(const struct chela_event *ev, void *user) {
    struct stage *st = user;
    assert_int_equal(ev->seq, st->next_seq);
    assert_int_equal(ev->ts, st->now);
    st->next_seq++;
    st->events++;
    st->ends += ev->type == CHELA_EV_RUN_END;
    log_event(st, ev);
    char *json = chela_event_json(ev); /* every event must be convertible at any time */
    assert_non_null(json);
    chela_free(json);
    if (st->on_event)
        st->on_event(st, ev);
}

void stage_open(struct stage *st, const struct chela_agent_opts *given,
                const struct fake_reply *replies, size_t n) {
    struct chela_error err = {0};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.id = NULL);
    if (given)
        opts = *given;
    if (!opts.model)
        opts.model = "anthropic/fake-1";
    opts.api_key = "test-key-0123456789";
    static const struct chela_prompt_opts alone = CHELA_PROMPT_OPTS(.system_replaces = 1);
    if (!opts.system && !opts.prompt)
        opts.system = "Be brief.";
    if (opts.system && !opts.prompt)
        opts.prompt = &alone;
    memset(st, 0, sizeof(*st));
    st->now = 1700000000000;
    st->clock = (struct ch_clock){clock_now, clock_now, st};
    assert_int_equal(ch_runtime_open(NULL, &st->clock, &st->rt, &err), 0);
    if (chela_agent_new(st->rt, &opts, &st->agent, &err) < 0)
        fail_msg("%s", err.message);
    fake_model_init(&st->model, st->rt->loop, replies, n);
    for (size_t i = 0; i < st->agent->ntargets; i++)
        st->agent->targets[i]->transport = &st->model.transport;
    assert_int_equal(chela_session_new(st->agent, "s", &st->session, &err), 0);
}

void stage_close(struct stage *st) {
    chela_run_free(st->run);
    chela_runtime_close(st->rt);
    assert_int_equal(st->model.open, 0);
    fake_model_release(&st->model);
    ch_buf_release(&st->log);
}

void stage_start(struct stage *st, const char *text) {
    stage_start_with(st, text, NULL);
}

void stage_start_with(struct stage *st, const char *text, const struct chela_inbound *in) {
    struct chela_error err = {0};
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = on_event, .user = st, .inbound = in);
    chela_run_free(CH_TAKE(st->run));
    ch_buf_clear(&st->log);
    st->next_seq = 0;
    st->ends = 0;
    if (chela_run_start(st->session, text, strlen(text), &opts, &st->run, &err) < 0)
        fail_msg("%s", err.message);
}

void stage_finish(struct stage *st) {
    for (int jumps = 0; ch_loop_run(st->rt->loop, &st->run->over) < 0; jumps++) {
        int64_t due = ch_loop_next_due(st->rt->loop);
        if (due < 0 || jumps > 1000)
            fail_msg("the run cannot end; so far: %s", ch_buf_str(&st->log));
        st->now += due;
    }
    for (int i = 0; i < 4; i++)
        ch_loop_tick(st->rt->loop); /* no event may follow the end */
}

void stage_play(struct stage *st, const char *text) {
    stage_start(st, text);
    stage_finish(st);
    assert_int_equal(st->ends, 1);
    stage_check_transcript(st);
}

static int echo(chela_call *call, void *user) {
    (void)user;
    chela_result_printf(call, "%s:%s", chela_call_name(call), chela_call_arguments(call));
    return 0;
}

void stage_tool(struct stage *st, const char *name, unsigned flags) {
    struct chela_error err = {0};
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = name, .description = "Says what it was told.",
                        .schema = "{\"type\":\"object\"}",
                        .fn = flags & CHELA_TOOL_CLIENT ? NULL : echo,
                        .flags = flags | (flags & CHELA_TOOL_CLIENT ? 0 : CHELA_TOOL_ON_LOOP));
    if (chela_agent_add_tool(st->agent, &tool, &err) < 0)
        fail_msg("%s", err.message);
}

static size_t results_of(const struct ch_msg *m, struct ch_sv id) {
    size_t n = 0;
    for (uint32_t i = 0; i < m->nblocks; i++)
        n += m->blocks[i].type == CH_BLOCK_TOOL_RESULT && ch_sv_eq(m->blocks[i].id, id);
    return n;
}

static size_t blocks_of(const struct ch_msg *m, enum ch_block_type type) {
    size_t n = 0;
    for (uint32_t i = 0; m && i < m->nblocks; i++)
        n += m->blocks[i].type == type;
    return n;
}

void stage_check_transcript(const struct stage *st) {
    const struct ch_transcript *t = &st->session->transcript;
    for (size_t i = 0; i < t->n; i++) {
        const struct ch_msg *m = t->msgs[i], *next = i + 1 < t->n ? t->msgs[i + 1] : NULL;
        size_t calls = blocks_of(m, CH_BLOCK_TOOL_CALL);
        size_t results =
            next && next->kind == CH_MSG_RESULTS ? blocks_of(next, CH_BLOCK_TOOL_RESULT) : 0;
        if (calls != results)
            fail_msg("message %zu has %zu calls, but %zu results follow", i, calls, results);
        for (uint32_t k = 0; k < m->nblocks; k++)
            if (m->blocks[k].type == CH_BLOCK_TOOL_CALL)
                assert_int_equal(results_of(next, m->blocks[k].id), 1);
        if (m->kind == CH_MSG_RESULTS)
            assert_true(i > 0 && t->msgs[i - 1]->kind == CH_MSG_ASSISTANT);
    }
}

const char *stage_verdict(const struct stage *st) {
    static char verdict[64];
    snprintf(verdict, sizeof(verdict), "%s/%s", chela_status_name(chela_run_status(st->run)),
             chela_reason_name(chela_run_reason(st->run)));
    return verdict;
}
