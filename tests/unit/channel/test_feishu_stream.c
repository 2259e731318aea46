/* test_feishu_stream.c -- cards that grow, before a service of the test's own: what
 * comes while a call or a note is under way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the headers it needs */
#include <cmocka.h>

#include "agent/api/runtime.h"
#include "agent/handle/agent.h"
#include "channel/feishu.h"
#include "channel/feishu_api.h"
#include "channel/feishu_stream.h"

#define T0 (INT64_C(1700000000) * 1000)
#define TO "oc_1 om_1"
#define NOTE "{\"to\":\"" TO "\",\"card\":\"c1\",\"since\":1700000000000,\"message\":\"om_r1\"}"

/* At most one call and one note are under way. */
static struct world {
    int64_t now;
    struct ch_clock clock;
    chela_runtime *rt;
    struct ch_feishu_stream *stream;
    ch_feishu_fn *fn;
    void *user;
    const char *method;
    chela_accepted_fn *noted;
    void *tag;
    bool kept; /* there is a note */
    int ended; /* enum ch_feishu_ended; -1 */
} w;

void ch_feishu_call(struct ch_feishu_api *api, const char *method, const char *path,
                    const char *body, ch_feishu_fn *fn, void *user) {
    (void)api;
    (void)path;
    (void)body;
    assert_null(w.fn);
    w.fn = fn;
    w.user = user;
    w.method = method;
}

/* Not used by cards, but beside them. */
void ch_feishu_send_form(struct ch_feishu_api *api, const char *path, const char *type,
                         struct ch_buf *body, ch_feishu_fn *fn, void *user) {
    (void)api;
    (void)path;
    (void)type;
    (void)body;
    (void)fn;
    (void)user;
    fail();
}

static void on_note(const char *id, struct chela_text data, chela_accepted_fn *done, void *tag,
                    void *user) {
    (void)user;
    assert_string_equal(id, "om_1");
    w.kept = data.p != NULL;
    w.noted = done;
    w.tag = tag;
}

static int64_t clock_now(void *user) {
    return ((struct world *)user)->now;
}

static void on_ended(enum ch_feishu_ended what, const char *note, int64_t wait_ms, void *user) {
    (void)note;
    (void)wait_ms;
    (void)user;
    w.ended = (int)what;
}

static int setup(void **state) {
    (void)state;
    w = (struct world){.now = T0, .ended = -1};
    w.clock = (struct ch_clock){clock_now, clock_now, &w};
    assert_int_equal(ch_runtime_open(NULL, &w.clock, &w.rt, NULL), 0);
    struct chela_channel_host host = {.rt = w.rt, .note = on_note};
    w.stream = ch_feishu_stream_new(&host, NULL);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    ch_feishu_stream_free(w.stream);
    chela_runtime_close(w.rt);
    return 0;
}

/* The service answers the call that is under way. */
static void answer(const char *method, int64_t code, const char *json) {
    CH_ARENA_AUTO a = {0};
    struct ch_feishu_answer is = {.code = code, .status = code ? 400 : 200, .why = "it is so"};
    ch_feishu_fn *fn = CH_TAKE(w.fn);
    assert_non_null(fn);
    assert_string_equal(w.method, method);
    if (json)
        assert_int_equal(ch_json_parse(&a, ch_sv_str(json), CH_JSON_STRICT, &is.json, NULL, NULL),
                         0);
    fn(&is, w.user);
}

static void stored(void) {
    chela_accepted_fn *done = CH_TAKE(w.noted);
    assert_non_null(done);
    done(0, NULL, w.tag);
}

static void pass(int64_t ms) {
    bool never = false;
    w.now += ms;
    assert_int_equal(ch_loop_run(w.rt->loop, &never), CHELA_ESTATE);
}

static bool end(void) {
    return ch_feishu_stream_end(w.stream, TO, CH_SV("all of it"), on_ended, NULL);
}

/* A card of a run, on its way to people. */
static void begin(void) {
    struct chela_channel_arrival in = {.to = TO, .session = "feishu:oc_1"};
    ch_feishu_stream_text(w.stream, &in, CH_SV("first words"));
    answer("POST", 0, "{\"data\":{\"card_id\":\"c1\"}}");
    stored();
    assert_true(w.kept);
}

static void test_answer_while_closed(void **state) {
    (void)state;
    begin();
    answer("POST", 0, "{\"data\":{\"message_id\":\"om_r1\"}}");
    ch_feishu_stream_over(w.stream, TO);
    pass(20000); /* nothing comes: it is closed */
    assert_string_equal(w.method, "PATCH");
    assert_true(end());
    answer("PATCH", 0, NULL);
    assert_int_equal(w.ended, -1);
    answer("PUT", 0, NULL);
    assert_int_equal(w.ended, CH_ENDED_SHOWN);
    ch_feishu_stream_forget(w.stream, TO);
    assert_false(w.kept);
}

static void test_no_answer(void **state) {
    (void)state;
    begin();
    answer("POST", 0, "{\"data\":{\"message_id\":\"om_r1\"}}");
    ch_feishu_stream_over(w.stream, TO);
    pass(20000);
    answer("PATCH", 0, NULL);
    assert_false(w.kept);
    assert_false(end());
}

static void test_given_up(void **state) {
    (void)state;
    begin();
    answer("POST", 230099, NULL); /* it cannot be shown: that is noted */
    assert_true(w.kept);
    assert_false(ch_feishu_stream_is_idle(w.stream));
    stored();
    assert_true(ch_feishu_stream_is_idle(w.stream));
    ch_feishu_stream_over(w.stream, TO);
    pass(20000);
    assert_false(w.kept);
}

static void test_busy_with_note(void **state) {
    (void)state;
    struct chela_channel_arrival in = {.to = TO, .session = "feishu:oc_1"};
    assert_true(ch_feishu_stream_is_idle(w.stream));
    ch_feishu_stream_text(w.stream, &in, CH_SV("first words"));
    answer("POST", 0, "{\"data\":{\"card_id\":\"c1\"}}");
    assert_null(w.fn);
    assert_false(ch_feishu_stream_is_idle(w.stream));
    stored();
    answer("POST", 0, "{\"data\":{\"message_id\":\"om_r1\"}}");
    assert_true(ch_feishu_stream_is_idle(w.stream));
}

/* One that its maker forgot is none: the next answer to the message is a new one. */
static void test_note_of_another(void **state) {
    (void)state;
    for (int round = 0; round < 3; round++) {
        ch_feishu_stream_recall(w.stream, "om_1", CH_SV(NOTE));
        ch_feishu_stream_recalled(w.stream);
    }
    assert_true(end());
    ch_feishu_stream_recalled(w.stream); /* it is being finished: it stays */
    answer("POST", 0, "{\"data\":{\"message_id\":\"om_r1\"}}");
    answer("PUT", 0, NULL);
    answer("PATCH", 0, NULL);
    assert_int_equal(w.ended, CH_ENDED_SHOWN);
    ch_feishu_stream_recalled(w.stream);
    assert_false(end());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_answer_while_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_given_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_busy_with_note, setup, teardown),
        cmocka_unit_test_setup_teardown(test_note_of_another, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
