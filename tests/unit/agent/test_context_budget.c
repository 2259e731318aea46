/* test_context_budget.c -- requests measured against a context window. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/context/context_budget.h"
#include "base/mem.h"
#include "model/provider/target.h"

static int64_t now = 1000;

static int64_t time_now(void *user) {
    (void)user;
    return now;
}

struct stage {
    struct ch_loop *loop;
    chela_agent agent;
    chela_session session;
    chela_run run;
    struct ch_target target;
    struct ch_model_request req;
};

static void set_up(struct stage *s, int64_t window) {
    static const struct ch_clock clock = {time_now, time_now, NULL};
    memset(s, 0, sizeof(*s));
    assert_int_equal(ch_loop_new(NULL, &clock, &s->loop, NULL), 0);
    s->target.window = window;
    s->agent.context.output_share = 10;
    s->session.agent = &s->agent;
    s->run.session = &s->session;
    s->run.loop = s->loop;
    s->run.target = &s->target;
    s->req.system = CH_SV("You are an agent.");
    s->req.revision = 1;
}

static void tear_down(struct stage *s) {
    ch_transcript_release(&s->session.transcript);
    ch_loop_close(s->loop, NULL, NULL);
}

static void say(struct stage *s, size_t words) {
    CH_BUF_AUTO text = {0};
    for (size_t i = 0; i < words; i++)
        ch_buf_add_str(&text, "word ");
    ch_transcript_add(&s->session.transcript, ch_msg_text(CH_MSG_USER, ch_buf_sv(&text), 0));
}

static enum ch_context_fit fit(struct stage *s, size_t *tokens) {
    return ch_context_budget_fit(&s->run, &s->req, tokens);
}

static void test_fit(void **state) {
    (void)state;
    struct stage s;
    size_t tokens = 77;
    set_up(&s, 1000);
    say(&s, 10);
    assert_int_equal(fit(&s, &tokens), CH_CONTEXT_FITS);
    assert_int_equal(tokens, 77); /* too small to be counted */
    say(&s, 300);
    assert_int_equal(fit(&s, &tokens), CH_CONTEXT_FITS);
    assert_true(tokens > 200 && tokens < 800);
    say(&s, 1000);
    assert_int_equal(fit(&s, &tokens), CH_CONTEXT_TOO_LARGE);
    assert_true(tokens > 1000);
    s.agent.compact_mode = CH_COMPACTION_OFF;
    assert_int_equal(fit(&s, &tokens), CH_CONTEXT_FITS); /* nothing could be done about it */
    tear_down(&s);
}

static void test_room(void **state) {
    (void)state;
    struct stage s;
    size_t tokens;
    set_up(&s, 1000);
    say(&s, 300);
    fit(&s, &tokens);
    struct ch_context_room room = ch_context_budget_room(&s.run);
    assert_int_equal(room.window, 1000);
    assert_int_equal(ch_context_budget_reply(&s.run), 100);
    assert_true(room.request < 900 && room.request > 700); /* a guess needs a margin */
    assert_true(room.history < room.request);
    s.req.max_output_tokens = 5000; /* more than the window: half of it at most */
    fit(&s, &tokens);
    assert_true(ch_context_budget_room(&s.run).request < 500);
    tear_down(&s);
}

static void test_learning(void **state) {
    (void)state;
    struct stage s;
    size_t first, then;
    set_up(&s, 4000);
    say(&s, 800);
    fit(&s, &first);
    ch_context_budget_learn(&s.run, &(struct ch_usage){.input = (int64_t)(first * 10)});
    fit(&s, &then);
    assert_int_equal(then, first); /* that counted something else */
    ch_context_budget_learn(&s.run, &(struct ch_usage){.input = (int64_t)(first * 3 / 2)});
    fit(&s, &then);
    assert_true(then > first);
    struct ch_target other = {.window = 4000};
    s.run.target = &other;
    fit(&s, &then);
    assert_int_equal(then, first); /* another model counts otherwise */
    tear_down(&s);
}

/* A window that nobody knows is found out by what is refused. */
static void test_refused(void **state) {
    (void)state;
    struct stage s;
    size_t tokens = 77;
    set_up(&s, 0);
    say(&s, 20000);
    assert_int_equal(fit(&s, &tokens), CH_CONTEXT_FITS);
    assert_int_equal(tokens, 77); /* without a known limit, counting is of no use */
    assert_int_equal(ch_context_budget_room(&s.run).window, 0);
    ch_context_budget_overflowed(&s.run);
    size_t window = ch_context_budget_room(&s.run).window;
    assert_int_equal(fit(&s, &tokens), CH_CONTEXT_TOO_LARGE);
    assert_in_range(window, tokens - 10, tokens + 10);
    struct ch_target other = {0};
    s.run.target = &other;
    assert_int_equal(fit(&s, &tokens), CH_CONTEXT_FITS); /* it was another model that refused */
    tear_down(&s);
}

/* The service's counts of earlier requests correct the guess about the refused one. */
static void test_refused_after_counts(void **state) {
    (void)state;
    struct stage s;
    size_t tokens;
    set_up(&s, 0);
    say(&s, 1000);
    fit(&s, &tokens);
    ch_context_budget_learn(&s.run, &(struct ch_usage){.input = 1500});
    say(&s, 1000);
    fit(&s, &tokens);
    ch_context_budget_overflowed(&s.run);
    assert_in_range(ch_context_budget_room(&s.run).window, 2900, 3100);
    tear_down(&s);
}

static void test_cold(void **state) {
    (void)state;
    struct stage s;
    size_t tokens;
    set_up(&s, 1000);
    say(&s, 400);
    assert_int_equal(fit(&s, &tokens), CH_CONTEXT_FITS);
    ch_context_budget_learn(&s.run, &(struct ch_usage){.input = (int64_t)tokens});
    now += 4 * 60 * 1000;
    assert_int_equal(fit(&s, &tokens), CH_CONTEXT_FITS);
    now += 2 * 60 * 1000;
    assert_int_equal(fit(&s, &tokens), CH_CONTEXT_COLD);
    s.agent.cache = CH_CACHE_LONG;
    assert_int_equal(fit(&s, &tokens), CH_CONTEXT_FITS); /* kept for an hour */
    tear_down(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit),      cmocka_unit_test(test_room),
        cmocka_unit_test(test_learning), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cold),     cmocka_unit_test(test_refused_after_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
