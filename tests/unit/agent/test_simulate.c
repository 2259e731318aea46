/* test_simulate.c -- a recorded chat, line by line; test_reply_propensity.c has the decisions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "chela/heartbeat.h"
#include "chela/session.h"

/* Appends "LINE chat/kind@ts name:text reason;". */
static void write_line(const struct chela_simulated *s, void *user) {
    ch_buf_addf(user, "%zu %.*s/%s@%lld %.*s:%.*s %s;", s->line, (int)s->chat.n, s->chat.p,
                s->kind == CHELA_CHAT_DIRECT ? "direct" : "group", (long long)s->at,
                (int)s->name.n, s->name.p, (int)s->text.n, s->text.p,
                chela_urge_name(s->urge.reason));
}

static int play(const char *text, const struct chela_heartbeat_opts *o, struct ch_buf *out,
                struct chela_error *err) {
    return chela_heartbeat_simulate(text, strlen(text), o, write_line, out, err);
}

static const struct {
    const char *name, *text, *want;
} cases[] = {
    {"nothing", "", ""},
    {"empty lines", "\n \n\r\n", ""},
    {"the least", "{\"ts\":0}", "1 chat/group@0 : below_threshold;"},
    {"every member",
     "{\"ts\":5,\"chat\":\"c\",\"type\":\"group\",\"name\":\"Ann\",\"text\":\"hi\","
     "\"mention\":true}",
     "1 c/group@5 Ann:hi mention;"},
    {"a direct chat", "{\"ts\":5,\"type\":\"direct\",\"text\":\"hi\"}",
     "1 chat/direct@5 :hi direct;"},
    {"an own line", "{\"ts\":5,\"text\":\"hi\",\"own\":true}", "1 chat/group@5 :hi own;"},
    {"a line of a bot", "{\"ts\":5,\"text\":\"hi\",\"bot\":true}", "1 chat/group@5 :hi bot;"},
    {"empty texts are missing ones", "{\"ts\":5,\"chat\":\"\",\"type\":\"\"}",
     "1 chat/group@5 : below_threshold;"},
    {"unknown members", "{\"ts\":5,\"id\":7,\"text\":\"hi\"}",
     "1 chat/group@5 :hi below_threshold;"},
    {"the first line of a chat decides its type",
     "{\"ts\":1,\"chat\":\"a\",\"type\":\"direct\"}\n{\"ts\":2,\"chat\":\"a\"}\n"
     "{\"ts\":3,\"chat\":\"b\"}\n{\"ts\":4,\"chat\":\"b\",\"type\":\"group\"}",
     "1 a/direct@1 : direct;2 a/direct@2 : direct;3 b/group@3 : below_threshold;"
     "4 b/group@4 : below_threshold;"},
    {"line breaks of Windows, no break at the end",
     "{\"ts\":1,\"text\":\"a\"}\r\n\r\n{\"ts\":2,\"text\":\"b\"}",
     "1 chat/group@1 :a below_threshold;3 chat/group@2 :b below_threshold;"},
};

static void test_lines(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO out = {0};
        struct chela_error err = {0};
        int rc = play(cases[i].text, NULL, &out, &err);
        if (rc != 0 || strcmp(ch_buf_str(&out), cases[i].want) != 0)
            fail_msg("%s: %s%s", cases[i].name, err.message, ch_buf_str(&out));
    }
}

static const struct {
    const char *text;
    int rc;
    const char *why;
} bad[] = {
    {"{\"ts\":-1}", CHELA_EPARSE, "line 1: `ts`"},
    {"{\"ts\":1.5}", CHELA_EPARSE, "line 1: `ts`"},
    {"{\"ts\":null}", CHELA_EPARSE, "line 1: `ts`"},
    {"\"ts\"", CHELA_EPARSE, "line 1: expected an object"},
    {"{\"ts\":1} {\"ts\":2}", CHELA_EPARSE, "line 1: "},
    {"{\"ts\":1,\"type\":\"Direct\"}", CHELA_EPARSE, "line 1: `type`"},
};

static void test_bad_lines(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        CH_BUF_AUTO out = {0};
        struct chela_error err = {0};
        int rc = play(bad[i].text, NULL, &out, &err);
        if (rc != bad[i].rc || strncmp(err.message, bad[i].why, strlen(bad[i].why)) != 0 || out.n)
            fail_msg("%s: %d, %s", bad[i].text, rc, err.message);
    }
}

static void test_mixed_types(void **state) {
    CH_BUF_AUTO out = {0};
    struct chela_error err = {0};
    (void)state;
    assert_int_equal(play("{\"ts\":1}\n{\"ts\":2,\"type\":\"direct\"}", NULL, &out, &err),
                     CHELA_EPARSE);
    assert_string_equal(err.message, "line 2: `type` is not the one of the chat's first line");
}

/* The lines before a wrong line are reported, the lines after it are not. */
static void test_stops_at_a_bad_line(void **state) {
    CH_BUF_AUTO out = {0};
    (void)state;
    assert_int_equal(play("{\"ts\":1,\"text\":\"a\"}\n{}\n{\"ts\":3,\"text\":\"b\"}", NULL, &out,
                          NULL),
                     CHELA_EPARSE);
    assert_string_equal(ch_buf_str(&out), "1 chat/group@1 :a below_threshold;");
}

static void assert_near(double given, double want) {
    if (given < want - 1e-9 || given > want + 1e-9)
        fail_msg("%g, expected %g", given, want);
}

struct levels {
    double before[8], after[8];
    struct chela_urge urge[8];
    size_t n;
};

static void note_levels(const struct chela_simulated *s, void *user) {
    struct levels *l = user;
    assert_true(l->n < CH_LEN(l->before));
    l->before[l->n] = s->before;
    l->after[l->n] = s->after;
    l->urge[l->n++] = s->urge;
}

static void play_levels(const char *text, const struct chela_heartbeat_opts *o, struct levels *l) {
    struct chela_error err = {0};
    *l = (struct levels){0};
    if (chela_heartbeat_simulate(text, strlen(text), o, note_levels, l, &err) < 0)
        fail_msg("%s", err.message);
}

static void test_each_chat_has_its_own_state(void **state) {
    struct levels l;
    (void)state;
    play_levels("{\"ts\":1,\"chat\":\"a\",\"text\":\"x\"}\n"
                "{\"ts\":1,\"chat\":\"b\",\"text\":\"x\"}\n"
                "{\"ts\":1,\"chat\":\"a\",\"text\":\"x\"}\n",
                NULL, &l);
    assert_int_equal(l.n, 3);
    assert_near(l.before[0], 0);
    assert_near(l.after[0], 12);
    assert_near(l.before[1], 0);
    assert_near(l.before[2], 12);
    assert_true(l.after[2] > 12);
}

/* A reply costs willingness, and is a line of the agent. */
static void test_reply_is_charged(void **state) {
    struct levels l;
    (void)state;
    play_levels("{\"ts\":1,\"text\":\"x\",\"mention\":true}\n{\"ts\":1,\"text\":\"x\"}\n",
                NULL, &l);
    assert_int_equal(l.n, 2);
    assert_true(l.urge[0].reply);
    assert_near(l.urge[0].willingness, 100);
    assert_true(l.after[0] < l.urge[0].willingness);
    assert_near(l.before[1], l.after[0]);
    assert_int_equal(l.urge[1].reason, CHELA_URGE_REFRACTORY);
    assert_near(l.urge[1].probability, 0);
    assert_true(l.urge[1].share > 0);
    assert_near(l.after[1], l.urge[1].willingness); /* no reply: nothing is charged */
}

static void test_options(void **state) {
    struct chela_willing_opts group = CHELA_WILLING_OPTS(0), direct = CHELA_WILLING_OPTS(0);
    const char *const names[] = {"Rex", NULL};
    struct chela_willing_rules rules = CHELA_WILLING_RULES(.names = names);
    struct chela_heartbeat_opts o =
        CHELA_HEARTBEAT_OPTS(.group = &group, .direct = &direct, .rules = &rules);
    struct levels l;
    (void)state;
    assert_int_equal(chela_willing_defaults(CHELA_CHAT_GROUP, &group, NULL), 0);
    assert_int_equal(chela_willing_defaults(CHELA_CHAT_DIRECT, &direct, NULL), 0);
    group.text = 30;
    direct.answer_all = false;
    direct.text = 3;
    direct.direct = 4;
    play_levels("{\"ts\":1,\"chat\":\"g\",\"text\":\"x\"}\n"
                "{\"ts\":1,\"chat\":\"d\",\"type\":\"direct\",\"text\":\"x\"}\n"
                "{\"ts\":1,\"chat\":\"h\",\"text\":\"Rex, look\"}\n",
                &o, &l);
    assert_near(l.after[0], 30);
    assert_int_equal(l.urge[1].reason, CHELA_URGE_LOW);
    assert_true(l.after[1] > 0 && l.after[1] < 12);
    assert_int_equal(l.urge[2].reason, CHELA_URGE_NAMED);
}

static void test_bad_options(void **state) {
    struct chela_willing_opts sizeless = {0};
    struct chela_willing_rules no_rules = {0};
    const struct {
        const char *why;
        struct chela_heartbeat_opts o;
    } options[] = {
        {"chela_heartbeat_opts", {0}},
        {"chela_willing_opts", CHELA_HEARTBEAT_OPTS(.group = &sizeless)},
        {"chela_willing_opts", CHELA_HEARTBEAT_OPTS(.direct = &sizeless)},
        {"chela_willing_rules", CHELA_HEARTBEAT_OPTS(.rules = &no_rules)},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(options); i++) {
        CH_BUF_AUTO out = {0};
        struct chela_error err = {0};
        assert_int_equal(play("{\"ts\":1}", &options[i].o, &out, &err), CHELA_EINVAL);
        if (!strstr(err.message, options[i].why))
            fail_msg("%s: %s", options[i].why, err.message);
        assert_int_equal(out.n, 0);
    }
}

static void count(const struct chela_simulated *s, void *user) {
    (void)s;
    ++*(size_t *)user;
}

static void test_most_chats(void **state) {
    CH_BUF_AUTO text = {0};
    struct chela_error err = {0};
    size_t n = 0;
    (void)state;
    for (int i = 0; i < CH_LIMIT_HEARTBEAT_CHATS; i++)
        ch_buf_addf(&text, "{\"ts\":1,\"chat\":\"c%d\"}\n", i);
    ch_buf_add_str(&text, "{\"ts\":1,\"chat\":\"c0\"}\n"); /* a chat that is known */
    assert_int_equal(chela_heartbeat_simulate(text.p, text.n, NULL, count, &n, &err), 0);
    assert_int_equal(n, CH_LIMIT_HEARTBEAT_CHATS + 1);
    ch_buf_add_str(&text, "{\"ts\":1,\"chat\":\"one more\"}\n");
    n = 0;
    assert_int_equal(chela_heartbeat_simulate(text.p, text.n, NULL, count, &n, &err),
                     CHELA_ELIMIT);
    assert_non_null(strstr(err.message, "more than "));
    assert_int_equal(n, CH_LIMIT_HEARTBEAT_CHATS + 1);
}

static void test_json(void **state) {
    struct chela_simulated s = {.line = 3,
                                .chat = {"c", 1},
                                .name = {"A\"n", 3},
                                .text = {"a\nb", 3},
                                .kind = CHELA_CHAT_DIRECT,
                                .at = 1700000000000,
                                .before = 0.5,
                                .urge = {.reply = true,
                                         .reason = CHELA_URGE_WILLING,
                                         .willingness = 60,
                                         .probability = 0.25,
                                         .roll = 0.125,
                                         .share = 0.75},
                                .after = 25};
    (void)state;
    char *json = chela_simulated_json(&s);
    assert_string_equal(json, "{\"line\":3,\"chat\":\"c\",\"type\":\"direct\",\"ts\":1700000000000,"
                              "\"name\":\"A\\\"n\",\"text\":\"a\\nb\",\"before\":0.5,"
                              "\"willingness\":60,\"probability\":0.25,\"roll\":0.125,"
                              "\"share\":0.75,\"reply\":true,\"reason\":\"willing\",\"after\":25}");
    chela_free(json);
    s = (struct chela_simulated){.urge.reason = CHELA_URGE_DICE};
    json = chela_simulated_json(&s);
    assert_non_null(strstr(json, "\"type\":\"group\""));
    assert_non_null(strstr(json, "\"reply\":false,\"reason\":\"dice\""));
    chela_free(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_mixed_types),
        cmocka_unit_test(test_stops_at_a_bad_line),
        cmocka_unit_test(test_each_chat_has_its_own_state),
        cmocka_unit_test(test_reply_is_charged),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_most_chats),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
