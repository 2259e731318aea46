/* test_message.c -- the tool `message` against a channel that writes down what
 * it was asked to deliver, answers later, fails on demand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "chela/channel.h"
#include "io/loop.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/call/delivery.h"
#include "tool/call/state.h"

struct wire {
    struct ch_buf log; /* "send target=- id=- text=hi;" */
    char *key;         /* of the last message */
    bool same_key;     /* ...was that of the one before too */
    unsigned fail;     /* this many first ones */
    struct ch_loop *loop;
    struct ch_task later;
    chela_call *call;
};

static const char *or_dash(const char *s) {
    return s ? s : "-";
}

static int note(const char *what, chela_call *call, const struct chela_message *m, struct wire *w) {
    ch_buf_addf(&w->log, "%s target=%s id=%s ", what, or_dash(m->target), or_dash(m->message_id));
    ch_buf_addf(&w->log, "%s=%s;", m->text ? "text" : "emoji",
                or_dash(m->text ? m->text : m->emoji));
    w->same_key = w->key && strcmp(w->key, m->key) == 0;
    ch_free(w->key);
    w->key = ch_strdup(m->key);
    if (w->fail && w->fail--)
        return chela_result_error(call, "unavailable", "try again");
    chela_result_printf(call, "delivered");
    return 0;
}

static int on_send(chela_call *call, const struct chela_message *m, void *user) {
    return note("send", call, m, user);
}

static void finish_later(struct ch_task *t) {
    chela_call_finish(CH_CONTAINER(t, struct wire, later)->call);
}

static int on_reply(chela_call *call, const struct chela_message *m, void *user) {
    struct wire *w = user;
    int rc = note("reply", call, m, w);
    w->call = call;
    w->later.fn = finish_later;
    chela_call_defer(call);
    ch_task_defer(w->loop, &w->later);
    return rc;
}

static int on_react(chela_call *call, const struct chela_message *m, void *user) {
    return note("react", call, m, user);
}

struct scene {
    struct kit k;
    struct ch_session_state state;
    struct wire w;
    struct chela_channel channel;
};

static void setup(struct scene *s) {
    *s = (struct scene){0};
    kit_init(&s->k);
    assert_int_equal(ch_builtin_add_with(&s->k.registry, NULL, "message", NULL, NULL), 0);
    s->w.loop = s->k.loop;
    s->channel = (struct chela_channel)CHELA_CHANNEL(.name = "pigeon", .conversation = "loft-1",
                                                     .send = on_send, .reply = on_reply,
                                                     .react = on_react, .user = &s->w);
    s->k.opts.channel = &s->channel;
    s->k.opts.state = &s->state;
    s->k.opts.run = "run_1";
}

static void teardown(struct scene *s) {
    kit_free(&s->k);
    ch_session_state_release(&s->state);
    ch_buf_release(&s->w.log);
    ch_free(s->w.key);
}

/* wire: what the channel was asked; '!': nothing, and the result says this. */
static const struct {
    const char *arguments, *wire;
} cases[] = {
    {"{\"action\":\"send\",\"message\":\"hi\"}", "send target=- id=- text=hi;"},
    {"{\"action\":\"send\",\"message\":\"hi\",\"target\":\"bob\",\"emoji\":\"x\"}",
     "send target=bob id=- text=hi;"},
    {"{\"action\":\"reply\",\"message\":\"yes\",\"message_id\":\"42\"}",
     "reply target=- id=42 text=yes;"},
    {"{\"action\":\"reply\",\"message\":\"yes\"}", "reply target=- id=- text=yes;"},
    {"{\"action\":\"react\",\"message_id\":\"42\",\"emoji\":\"\xf0\x9f\x91\x8d\"}",
     "react target=- id=42 emoji=\xf0\x9f\x91\x8d;"},
    /* other names, and what models fill in without need */
    {"{\"action\":\"send\",\"text\":\"hi\",\"to\":\"bob\"}", "send target=bob id=- text=hi;"},
    {"{\"action\":\"reply\",\"content\":\"hi\",\"messageId\":\"7\"}",
     "reply target=- id=7 text=hi;"},
    {"{\"action\":\"send\",\"message\":\"hi\",\"target\":\"\",\"message_id\":null}",
     "send target=- id=- text=hi;"},
    {"{\"action\":\"react\",\"emoji\":\"+1\",\"message\":\"ignored\"}",
     "react target=- id=- emoji=+1;"},
    /* refused before anything is sent */
    {"{\"message\":\"hi\"}", "!action"},
    {"{\"action\":\"shout\",\"message\":\"hi\"}", "!react"},
    {"{\"action\":\"send\"}", "!\\\"message\\\" is missing"},
    {"{\"action\":\"send\",\"message\":\" \\n\"}", "!\\\"message\\\" is missing"},
    {"{\"action\":\"reply\",\"message_id\":\"1\"}", "!\\\"message\\\" is missing"},
    {"{\"action\":\"react\",\"message_id\":\"1\"}", "!\\\"emoji\\\" is missing"},
    {"{\"action\":\"send\",\"message\":[\"a\"]}", "!message"},
};

static void test_cases(void **state) {
    (void)state;
    struct scene s;
    setup(&s);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        bool refused = cases[i].wire[0] == '!';
        ch_buf_clear(&s.w.log);
        const char *got = kit_call(&s.k, "message", cases[i].arguments);
        if (s.k.is_error != refused ||
            strcmp(ch_buf_str(&s.w.log), refused ? "" : cases[i].wire) != 0 ||
            (refused && !strstr(got, cases[i].wire + 1)))
            fail_msg("%s: %s: %s", cases[i].arguments, ch_buf_str(&s.w.log), got);
        if (!refused)
            assert_string_equal(got, "delivered");
    }
    teardown(&s);
}

static void test_bounds(void **state) {
    (void)state;
    struct scene s;
    CH_BUF_AUTO args = {0};
    setup(&s);
    ch_buf_add_str(&args, "{\"action\":\"send\",\"message\":\"");
    for (size_t i = 0; i <= CH_LIMIT_MESSAGE_TEXT; i++)
        ch_buf_addc(&args, 'a');
    ch_buf_add_str(&args, "\"}");
    assert_non_null(strstr(kit_call(&s.k, "message", ch_buf_str(&args)), "65537 bytes"));
    assert_int_equal(s.w.log.n, 0);
    teardown(&s);
}

static void test_what_a_channel_cannot(void **state) {
    (void)state;
    struct scene s;
    setup(&s);
    s.channel.react = NULL;
    const char *got = kit_call(&s.k, "message", "{\"action\":\"react\",\"emoji\":\"x\"}");
    assert_non_null(strstr(got, "The channel pigeon cannot react."));
    s.k.opts.channel = NULL;
    got = kit_call(&s.k, "message", "{\"action\":\"send\",\"message\":\"x\"}");
    assert_non_null(strstr(got, "no channel"));
    assert_true(s.k.is_error);
    assert_int_equal(s.w.log.n, 0);
    teardown(&s);
}

/* A channel that is not there for a moment is asked again, with the same key. */
static void test_retry(void **state) {
    (void)state;
    struct scene s;
    setup(&s);
    s.w.fail = 1;
    const char *got = kit_call(&s.k, "message", "{\"action\":\"reply\",\"message\":\"x\"}");
    assert_string_equal(got, "delivered");
    assert_string_equal(ch_buf_str(&s.w.log),
                        "reply target=- id=- text=x;reply target=- id=- text=x;");
    assert_true(s.w.same_key);
    teardown(&s);
}

/* Messages of one reply arrive in its order, however long each takes. */
static void test_order(void **state) {
    (void)state;
    struct scene s;
    static const struct kit_call calls[] = {
        {"c1", "message", "{\"action\":\"reply\",\"message\":\"one\"}", 0},
        {"c2", "message", "{\"action\":\"send\",\"message\":\"two\"}", 0},
        {"c3", "message", "{\"action\":\"reply\",\"message\":\"three\"}", 0},
    };
    setup(&s);
    kit_start(&s.k, calls, CH_LEN(calls));
    kit_wait(&s.k);
    assert_string_equal(ch_buf_str(&s.w.log), "reply target=- id=- text=one;"
                                              "send target=- id=- text=two;"
                                              "reply target=- id=- text=three;");
    kit_end(&s.k);
    teardown(&s);
}

static void test_deliveries(void **state) {
    (void)state;
    struct ch_session_state s = {0};
    const struct ch_sv c1 = CH_SV("c1"), text = CH_SV(" all\n is  well ");
    ch_delivery_begin(&s, "r1", c1, text);
    assert_false(ch_delivery_has(&s, "r1", CH_SV("all is well"))); /* it may still fail */
    ch_delivery_done(&s, "r1", c1);
    assert_true(ch_delivery_has(&s, "r1", CH_SV("all is well")));
    assert_true(ch_delivery_has(&s, "r1", CH_SV("all is well\n")));
    assert_false(ch_delivery_has(&s, "r1", CH_SV("all is well indeed")));
    assert_false(ch_delivery_has(&s, "r1", CH_SV("")));
    assert_false(ch_delivery_has(&s, "r2", CH_SV("all is well")));
    ch_delivery_done(&s, "r1", CH_SV("c9"));
    for (int i = 0; i < CH_LIMIT_DELIVERIES; i++) { /* only the newest are kept */
        char call[] = {'d', (char)('a' + i)};
        ch_delivery_begin(&s, "r1", ch_sv(call, 2), CH_SV("other"));
    }
    assert_false(ch_delivery_has(&s, "r1", CH_SV("all is well")));
    ch_session_state_release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_what_a_channel_cannot),
        cmocka_unit_test(test_retry),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_deliveries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
