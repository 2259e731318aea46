/* test_feature.c -- features: attached to agents, called by runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/run/feature.h"
#include "base/mem.h"
#include "model/codec/codec.h"

static char log_[128];

static void note(const char *what) {
    strncat(log_, what, sizeof(log_) - strlen(log_) - 1);
}

static int open_a(chela_run *run, const struct chela_run_opts *opts, const struct ch_json *state,
                  void **data, struct chela_error *err) {
    (void)run, (void)opts, (void)state, (void)err;
    *data = "data of a";
    note("open ");
    return 0;
}

static void close_a(chela_run *run, void *data) {
    (void)run;
    note(data ? "close " : "close? ");
}

static bool turn_no(chela_run *run) {
    (void)run;
    note("no ");
    return false;
}

static bool turn_yes(chela_run *run) {
    (void)run;
    note("yes ");
    return true;
}

static unsigned reply_review(chela_run *run, struct ch_reply *reply, struct ch_buf *complaint) {
    (void)run, (void)reply, (void)complaint;
    note("review ");
    return CH_REPLY_REVIEW;
}

static unsigned reply_reject(chela_run *run, struct ch_reply *reply, struct ch_buf *complaint) {
    (void)run, (void)reply, (void)complaint;
    note("reject ");
    return CH_REPLY_REJECT;
}

static bool end_quiet(chela_run *run, struct chela_event *end) {
    (void)run;
    end->end.silent = true;
    return false;
}

static void released(chela_agent *a, void *data) {
    (void)a, (void)data;
    note("released ");
}

static void load(chela_session *s, const struct ch_json *state) {
    (void)s, (void)state;
    note("load ");
}

static const struct ch_feature a = {
    .name = "a", .open = open_a, .close = close_a, .take_turn = turn_no, .on_reply = reply_review};
static const struct ch_feature b = {.name = "b",
                                    .is_mode = true,
                                    .own_tools = "make_plan",
                                    .take_turn = turn_yes,
                                    .on_reply = reply_reject,
                                    .on_end = end_quiet,
                                    .loads = "agent",
                                    .load = load};
static const struct ch_feature c = {.name = "c",
                                    .words_private = true,
                                    .take_turn = turn_yes,
                                    .on_reply = reply_review,
                                    .release_agent = released};

static chela_agent taker; /* the agent that a feature binds the run to */

static bool results_rebind(chela_run *run, struct ch_input *in) {
    (void)in;
    note("rebind ");
    run->session->agent = &taker;
    ch_features_free(run);
    return ch_features_open(run, NULL, NULL, NULL) == 0;
}

static bool results_seen(chela_run *run, struct ch_input *in) {
    (void)run, (void)in;
    note("seen ");
    return true;
}

static const struct ch_feature moves = {.name = "moves", .on_results = results_rebind};
static const struct ch_feature sees = {.name = "sees", .on_results = results_seen};
static const struct ch_feature *const all[] = {&a, &b, &c, NULL};

struct stage {
    chela_runtime rt;
    chela_agent agent;
    chela_session session;
    chela_run run;
};

static void stage(struct stage *s) {
    memset(s, 0, sizeof(*s));
    s->rt.features = all;
    s->agent.rt = &s->rt;
    s->session.agent = &s->agent;
    s->run.session = &s->session;
    log_[0] = '\0';
}

static void attach(struct stage *s, const struct ch_feature *f) {
    assert_int_equal(ch_feature_attach(&s->agent, f, &(struct ch_agent_opts){0}, NULL), 0);
}

static void test_none(void **state) {
    (void)state;
    struct stage s;
    struct chela_event end = {.type = CHELA_EV_RUN_END};
    stage(&s);
    assert_int_equal(ch_features_open(&s.run, NULL, NULL, NULL), 0);
    assert_null(s.run.features);
    assert_false(ch_features_take_turn(&s.run));
    assert_int_equal(ch_features_reply(&s.run, NULL, NULL), CH_REPLY_USE);
    assert_true(ch_features_end(&s.run, &end));
    assert_string_equal(ch_run_mode(&s.run), CH_MODE_PLAIN);
    assert_null(ch_features_own_tools(&s.agent));
    assert_null(ch_feature_data(&s.run, &a));
    assert_string_equal(log_, "");
}

static void test_order(void **state) {
    (void)state;
    struct stage s;
    struct chela_event end = {.type = CHELA_EV_RUN_END};
    stage(&s);
    attach(&s, &a);
    attach(&s, &b);
    attach(&s, &c);
    assert_true(ch_feature_attached(&s.agent, &b));
    assert_int_equal(ch_features_open(&s.run, NULL, NULL, NULL), 0);
    assert_string_equal(ch_feature_data(&s.run, &a), "data of a");
    assert_string_equal(ch_run_mode(&s.run), "b");
    assert_string_equal(ch_features_own_tools(&s.agent), "make_plan");
    assert_true(ch_features_keep_words(&s.run));
    log_[0] = '\0';
    assert_true(ch_features_take_turn(&s.run)); /* c is not asked: b took the turn */
    assert_string_equal(log_, "no yes ");
    log_[0] = '\0';
    assert_int_equal(ch_features_reply(&s.run, NULL, NULL), CH_REPLY_REVIEW | CH_REPLY_REJECT);
    assert_string_equal(log_, "review reject ");
    assert_false(ch_features_end(&s.run, &end));
    assert_true(end.end.silent);
    log_[0] = '\0';
    ch_features_close(&s.run);
    ch_features_close(&s.run); /* once */
    assert_false(ch_features_take_turn(&s.run));
    assert_string_equal(ch_run_mode(&s.run), "b"); /* the end of the run still tells it */
    assert_string_equal(log_, "close ");
    ch_features_free(&s.run);
    ch_features_release(&s.agent);
    assert_string_equal(log_, "close released ");
}

static void test_overrides(void **state) {
    (void)state;
    struct stage s;
    stage(&s);
    attach(&s, &a);
    attach(&s, &c);
    chela_agent derived = {.rt = &s.rt, .base = &s.agent};
    ch_features_inherit(&derived);
    assert_true(ch_feature_attached(&derived, &a));
    assert_false(ch_feature_attached(&derived, &c)); /* it is released with its own agent */
    ch_features_release(&derived);
    assert_string_equal(log_, "");
    ch_features_detach_turns(&s.agent);
    assert_false(ch_feature_attached(&s.agent, &a));
    ch_features_release(&s.agent);
}

/* A feature is loaded only where the stored state has something for it. */
static void test_load(void **state) {
    (void)state;
    struct stage s;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    stage(&s);
    ch_features_load(&s.session, NULL);
    assert_int_equal(
        ch_json_parse(&arena, CH_SV("{\"mode\":\"react\"}"), CH_JSON_STRICT, &v, NULL, NULL), 0);
    ch_features_load(&s.session, v);
    assert_string_equal(log_, "");
    assert_int_equal(
        ch_json_parse(&arena, CH_SV("{\"agent\":\"x\"}"), CH_JSON_STRICT, &v, NULL, NULL), 0);
    ch_features_load(&s.session, v);
    assert_string_equal(log_, "load ");
}

/* A stored run goes on in its mode, whatever mode its agent has by now. */
static void test_recall(void **state) {
    (void)state;
    struct stage s;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *plan, *plain;
    stage(&s);
    assert_int_equal(
        ch_json_parse(&arena, CH_SV("{\"mode\":\"b\"}"), CH_JSON_STRICT, &plan, NULL, NULL), 0);
    assert_int_equal(
        ch_json_parse(&arena, CH_SV("{\"mode\":\"react\"}"), CH_JSON_STRICT, &plain, NULL, NULL),
        0);
    assert_int_equal(ch_features_recall(&s.agent, plan, NULL), 0);
    assert_int_equal(ch_features_open(&s.run, NULL, plan, NULL), 0);
    assert_string_equal(ch_run_mode(&s.run), "b");
    ch_features_free(&s.run);
    assert_int_equal(ch_features_open(&s.run, &(struct chela_run_opts){0}, NULL, NULL), 0);
    assert_string_equal(ch_run_mode(&s.run), CH_MODE_PLAIN); /* a new run does not get it */
    ch_features_free(&s.run);
    ch_features_release(&s.agent);

    stage(&s);
    attach(&s, &b);
    assert_int_equal(ch_features_open(&s.run, NULL, plain, NULL), 0);
    assert_string_equal(ch_run_mode(&s.run), CH_MODE_PLAIN);
    ch_features_free(&s.run);
    ch_features_release(&s.agent);
}

/* A feature that binds the run to another agent ends the round: the features of that agent do
 * not get results of an earlier agent. */
static void test_results_and_rebinding(void **state) {
    (void)state;
    struct stage s;
    struct ch_input in = {.kind = CH_IN_RESULTS};
    stage(&s);
    attach(&s, &moves);
    attach(&s, &sees);
    taker = (chela_agent){.rt = &s.rt};
    assert_int_equal(ch_feature_attach(&taker, &moves, &(struct ch_agent_opts){0}, NULL), 0);
    assert_int_equal(ch_feature_attach(&taker, &sees, &(struct ch_agent_opts){0}, NULL), 0);
    assert_int_equal(ch_features_open(&s.run, NULL, NULL, NULL), 0);
    assert_true(ch_features_results(&s.run, &in));
    assert_string_equal(log_, "rebind ");
    ch_features_free(&s.run);
    ch_features_release(&s.agent);
    ch_features_release(&taker);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),      cmocka_unit_test(test_order),
        cmocka_unit_test(test_overrides), cmocka_unit_test(test_load),
        cmocka_unit_test(test_recall),    cmocka_unit_test(test_results_and_rebinding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
