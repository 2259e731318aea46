/* test_beat_tools.c -- the actions of a companion, with a channel and without one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/feature/heartbeat/beat_tools.h"
#include "base/limits.h"
#include "chela/heartbeat.h"
#include "support/stage.h"

enum {
    SENDS = 1,
    REPLIES = 2,
    REACTS = 4,
    PARTS = 8,  /* the channel takes parts */
    TYPES = 16, /* the companion types ten characters a second */
    FAILS = 32, /* the second message fails */
};

struct chat {
    struct stage st;
    int64_t begun;
    struct ch_buf log; /* of the channel */
    unsigned n, fails_at;
};

static int deliver(struct chat *c, const char *verb, chela_call *call,
                   const struct chela_message *m) {
    const char *own = chela_call_key(call);
    assert_int_equal(strncmp(m->key, own, strlen(own)), 0);
    ch_buf_addf(&c->log, "%s%s@%lld %s", verb, m->key + strlen(own),
                (long long)(c->st.now - c->begun), m->text ? m->text : m->emoji);
    ch_buf_addf(&c->log, "%s%s%s;", m->message_id ? " to " : "",
                m->message_id ? m->message_id : "", m->more ? " more" : "");
    if (++c->n == c->fails_at)
        return chela_result_error(call, "internal", "It was refused.");
    chela_result_printf(call, "sent %u", c->n);
    return 0;
}

static int on_send(chela_call *call, const struct chela_message *m, void *user) {
    return deliver(user, "send", call, m);
}

static int on_reply(chela_call *call, const struct chela_message *m, void *user) {
    return deliver(user, "reply", call, m);
}

static int on_react(chela_call *call, const struct chela_message *m, void *user) {
    return deliver(user, "react", call, m);
}

static void open_chat(struct chat *c, unsigned has, const struct fake_reply *replies, size_t n) {
    struct chela_heartbeat_opts beat = CHELA_HEARTBEAT_OPTS(.typing = has & TYPES ? 10 : 0);
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.mode = CHELA_MODE_HEARTBEAT, .heartbeat = &beat);
    struct chela_channel channel = CHELA_CHANNEL(.name = "fake",
                                                 .send = has & SENDS ? on_send : NULL,
                                                 .reply = has & REPLIES ? on_reply : NULL,
                                                 .react = has & REACTS ? on_react : NULL,
                                                 .user = c,
                                                 .parts = (has & PARTS) != 0);
    *c = (struct chat){.fails_at = has & FAILS ? 2 : 0};
    stage_open(&c->st, &opts, replies, n);
    if (has & (SENDS | REPLIES | REACTS))
        assert_int_equal(chela_session_channel(c->st.session, &channel, NULL), 0);
    c->begun = c->st.now;
}

static void close_chat(struct chat *c) {
    stage_close(&c->st);
    ch_buf_release(&c->log);
}

#define SAY(content) A_USE("c1", "send_message", "{\\\"content\\\":\\\"" content "\\\"}")
#define ANSWER(content, id)     \
    A_USE("c1", "send_message", \
          "{\\\"content\\\":\\\"" content "\\\",\\\"reply_to\\\":\\\"" id "\\\"}")
#define TEN "0123456789"

/* result: of the call in the log of events. */
static const struct {
    const char *name;
    unsigned has;
    const char *body, *log, *result;
} cases[] = {
    {"one message", SENDS, SAY("hi"), "send@0 hi;", "tool_result(c1)"},
    {"spaces around it", SENDS, SAY("  hi "), "send@0 hi;", "tool_result(c1)"},
    {"a channel without parts", SENDS, SAY("a<sep/>b"), "send@0 a\nb;", "tool_result(c1)"},
    {"parts", SENDS | PARTS, SAY("a<sep/> <sep/>b"), "send/0@0 a;send/1@0 b more;",
     "tool_result(c1)"},
    {"one part", SENDS | PARTS, SAY("a<sep/>"), "send@0 a;", "tool_result(c1)"},
    {"a pause is as long as the next part", SENDS | PARTS | TYPES, SAY("a<sep/>" TEN),
     "send/0@0 a;send/1@1500 " TEN " more;", "tool_result(c1)"},
    {"the pause of characters, not bytes", SENDS | PARTS | TYPES,
     SAY("a<sep/>ääääääääää"), "send/0@0 a;send/1@1500 ääääääääää more;", "tool_result(c1)"},
    {"the least pause", SENDS | PARTS | TYPES, SAY("a<sep/>b"), "send/0@0 a;send/1@800 b more;",
     "tool_result(c1)"},
    {"the longest pause", SENDS | PARTS | TYPES, SAY("a<sep/>" TEN TEN TEN TEN TEN),
     "send/0@0 a;send/1@4000 " TEN TEN TEN TEN TEN " more;", "tool_result(c1)"},
    {"a part that fails ends the message", SENDS | PARTS | FAILS, SAY("a<sep/>b<sep/>c"),
     "send/0@0 a;send/1@0 b more;", "tool_result(c1!internal)"},
    {"an answer", SENDS | REPLIES, ANSWER("hi", "m1"), "reply@0 hi to m1;", "tool_result(c1)"},
    {"an answer to nothing", SENDS | REPLIES, ANSWER("hi", ""), "send@0 hi;", "tool_result(c1)"},
    {"a channel without answers", SENDS, ANSWER("hi", "m1"), "send@0 hi to m1;",
     "tool_result(c1)"},
    {"only the first part is an answer", SENDS | REPLIES | PARTS, ANSWER("a<sep/>b", "m1"),
     "reply/0@0 a to m1;send/1@0 b more;", "tool_result(c1)"},
    {"a channel that cannot send", REACTS, SAY("hi"), "", "tool_result(c1!unavailable)"},
    {"only separators", SENDS, SAY("<sep/> <sep/>"), "", "tool_result(c1!invalid_arguments)"},
    {"an empty message", SENDS, SAY(""), "", "tool_result(c1!invalid_arguments)"},
    {"no message", SENDS, A_USE("c1", "send_message", "{}"), "",
     "tool_result(c1!invalid_arguments)"},
    {"a reaction", SENDS | REACTS,
     A_USE("c1", "react", "{\\\"emoji\\\":\\\"ok\\\",\\\"message_id\\\":\\\"m1\\\"}"),
     "react@0 ok to m1;", "tool_result(c1)"},
    {"a reaction to the last message", SENDS | REACTS,
     A_USE("c1", "react", "{\\\"emoji\\\":\\\"ok\\\"}"), "react@0 ok;", "tool_result(c1)"},
    {"a channel without reactions", SENDS, A_USE("c1", "react", "{\\\"emoji\\\":\\\"ok\\\"}"), "",
     "tool_result(c1!unavailable)"},
    {"silence", SENDS | REACTS, A_USE("c1", "stay_silent", "{\\\"why\\\":\\\"busy\\\"}"), "",
     "tool_result(c1)"},
};

static void test_actions(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct fake_reply replies[] = {{.body = cases[i].body},
                                       {.body = A_USE("c2", "stay_silent", "{}")}};
        struct chat c;
        bool failed = strchr(cases[i].result, '!') != NULL;
        open_chat(&c, cases[i].has, replies, CH_LEN(replies));
        stage_play(&c.st, "[10:02] Ann: hello");
        if (strcmp(ch_buf_str(&c.log), cases[i].log) != 0)
            fail_msg("%s: %s", cases[i].name, ch_buf_str(&c.log));
        if (!strstr(ch_buf_str(&c.st.log), cases[i].result))
            fail_msg("%s: %s", cases[i].name, ch_buf_str(&c.st.log));
        if (c.st.model.nrequests != (failed ? 2 : 1)) /* an action ends the turn */
            fail_msg("%s: %zu requests", cases[i].name, c.st.model.nrequests);
        close_chat(&c);
    }
}

/* Parts beyond the limit are lines of the last message. */
static void test_most_parts(void **state) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO want = {0};
    struct chat c;
    (void)state;
    for (int i = 0; i < CH_LIMIT_BEAT_PARTS + 2; i++)
        ch_buf_addf(&text, "%s%d", i ? CH_SEPARATOR : "", i);
    for (int i = 0; i < CH_LIMIT_BEAT_PARTS - 1; i++)
        ch_buf_addf(&want, "send/%d@0 %d%s;", i, i, i ? " more" : "");
    ch_buf_addf(&want, "send/%d@0 %d\n%d\n%d more;", CH_LIMIT_BEAT_PARTS - 1,
                CH_LIMIT_BEAT_PARTS - 1, CH_LIMIT_BEAT_PARTS, CH_LIMIT_BEAT_PARTS + 1);
    struct fake_reply reply = {
        .body = ch_arena_printf(&arena,
                                A_BEGIN A_CALL(0, "c1", "send_message",
                                               "{\\\"content\\\":\\\"%s\\\"}") A_END("tool_use"),
                                ch_buf_str(&text))};
    open_chat(&c, SENDS | PARTS, &reply, 1);
    stage_play(&c.st, "[10:02] Ann: hello");
    assert_string_equal(ch_buf_str(&c.log), ch_buf_str(&want));
    close_chat(&c);
}

/* Without a channel the parts are lines of the answer. */
static void test_no_channel(void **state) {
    static const struct fake_reply replies[] = {{.body = SAY("a<sep/> b")}};
    struct chat c;
    (void)state;
    open_chat(&c, 0, replies, CH_LEN(replies));
    stage_play(&c.st, "[10:02] Ann: hello");
    assert_string_equal(ch_buf_str(&c.st.run->text), "a\nb");
    assert_non_null(strstr(ch_buf_str(&c.st.log), "text_delta(a) text_delta(\nb)"));
    close_chat(&c);
}

static void count_starts(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_TOOL_START)
        st->arg++;
}

/* A cancelled message keeps the parts that were sent; the others are not sent. */
static void test_cancel(void **state) {
    static const struct fake_reply replies[] = {{.body = SAY("a<sep/>b<sep/>c")}};
    struct chat c;
    (void)state;
    open_chat(&c, SENDS | PARTS | TYPES, replies, CH_LEN(replies));
    c.st.on_event = count_starts;
    stage_start(&c.st, "[10:02] Ann: hello");
    for (int i = 0; i < 100 && c.n == 0; i++)
        ch_loop_tick(c.st.rt->loop);
    assert_int_equal(c.n, 1);
    assert_int_equal(c.st.arg, 1);
    chela_cancel(c.st.run, NULL);
    stage_finish(&c.st);
    stage_check_transcript(&c.st);
    assert_string_equal(ch_buf_str(&c.log), "send/0@0 a;");
    assert_string_equal(stage_verdict(&c.st), "cancelled/cancelled");
    assert_int_equal(ch_loop_next_due(c.st.rt->loop), -1); /* no part waits */
    close_chat(&c);
}

/* --- several actions in one reply ---------------------------------------------------------- */

enum ban { WORKS, FAILS_TO, HANGS, ASKS };

struct banning {
    struct chat chat;
    enum ban how;
};

static void ban_ends(chela_call *call, void *user) {
    (void)user;
    chela_call_finish(call);
}

static int ban_member(chela_call *call, void *user) {
    struct banning *b = user;
    ch_buf_addf(&b->chat.log, "ban;");
    if (b->how == FAILS_TO)
        return chela_result_error(call, "internal", "He is an owner.");
    if (b->how == HANGS) {
        chela_call_defer(call);
        chela_call_on_cancel(call, ban_ends, NULL);
    }
    chela_result_printf(call, "banned");
    return 0;
}

static void open_banning(struct banning *b, enum ban how, const struct fake_reply *replies,
                         size_t n) {
    struct chela_error err = {0};
    open_chat(&b->chat, SENDS, replies, n);
    b->how = how;
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "ban_member", .description = "Removes a member.",
                        .fn = ban_member, .user = b, .timeout_ms = 1000, .max_retries = -1,
                        .effect = CHELA_EFFECT_ONCE, .permission = CHELA_PERM_READ,
                        .flags = CHELA_TOOL_ON_LOOP | CHELA_TOOL_ACTION |
                                 (how == ASKS ? CHELA_TOOL_CONFIRM : 0));
    assert_int_equal(chela_agent_add_tool(b->chat.st.agent, &tool, &err), 0);
}

#define BAN_AND_SAY                                                     \
    A_BEGIN A_CALL(0, "c1", "ban_member", "{}")                         \
        A_CALL(1, "c2", "send_message", "{\\\"content\\\":\\\"banned\\\"}") A_END("tool_use")

/* The last request to the model, which shows what came of the reply. */
static const char *last_request(const struct banning *b) {
    return ch_buf_str(&b->chat.st.model.requests[b->chat.st.model.nrequests - 1]);
}

/* A message that reports an action leaves only after the action has succeeded. */
static void test_sequence(void **state) {
    static const struct {
        const char *name, *log, *told;
        enum ban how;
        size_t requests;
    } rows[] = {
        {"it works", "ban;send@0 banned;", NULL, WORKS, 1},
        {"it fails", "ban;", "because ban_member, which comes before it in the same reply, failed",
         FAILS_TO, 2},
        {"it hangs", "ban;",
         "because ban_member, which comes before it in the same reply, took too long", HANGS, 2},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct fake_reply replies[] = {{.body = BAN_AND_SAY},
                                       {.body = A_USE("c3", "stay_silent", "{}")}};
        struct banning b;
        open_banning(&b, rows[i].how, replies, CH_LEN(replies));
        stage_play(&b.chat.st, "[10:02] Ann: throw him out");
        if (strcmp(ch_buf_str(&b.chat.log), rows[i].log) != 0)
            fail_msg("%s: %s", rows[i].name, ch_buf_str(&b.chat.log));
        if (b.chat.st.model.nrequests != rows[i].requests)
            fail_msg("%s: %zu requests", rows[i].name, b.chat.st.model.nrequests);
        if (rows[i].told && !strstr(last_request(&b), rows[i].told))
            fail_msg("%s: %s", rows[i].name, last_request(&b));
        if (rows[i].told) /* what it wanted to say */
            assert_non_null(strstr(last_request(&b), "you called send_message"));
        close_chat(&b.chat);
    }
}

/* Nothing is said while a person is asked; then the rest is done, or the model is told. */
static void test_sequence_with_consent(void **state) {
    static const struct {
        enum chela_decision decision;
        const char *log;
        size_t requests;
    } rows[] = {{CHELA_ALLOW_ONCE, "ban;send@0 banned;", 1}, {CHELA_DENY, "", 2}};
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct fake_reply replies[] = {{.body = BAN_AND_SAY},
                                       {.body = A_USE("c3", "stay_silent", "{}")}};
        struct banning b;
        open_banning(&b, ASKS, replies, CH_LEN(replies));
        stage_start(&b.chat.st, "[10:02] Ann: throw him out");
        stage_finish(&b.chat.st);
        assert_string_equal(stage_verdict(&b.chat.st), "paused/approval_required");
        assert_string_equal(ch_buf_str(&b.chat.log), "");
        assert_int_equal(chela_session_approve(b.chat.st.session, b.chat.st.approval,
                                               rows[i].decision, NULL, NULL),
                         0);
        b.chat.st.ends = 0;
        assert_int_equal(chela_run_resume(b.chat.st.session, NULL, NULL, NULL), 0);
        stage_finish(&b.chat.st);
        stage_check_transcript(&b.chat.st);
        assert_string_equal(ch_buf_str(&b.chat.log), rows[i].log);
        assert_int_equal(b.chat.st.model.nrequests, rows[i].requests);
        if (rows[i].requests > 1)
            assert_non_null(strstr(last_request(&b), "same reply, was refused"));
        close_chat(&b.chat);
    }
}

/* A reply whose last message failed goes on, so that the model knows. */
static void test_last_fails(void **state) {
    struct fake_reply replies[] = {
        {.body = A_BEGIN A_CALL(0, "c1", "send_message", "{\\\"content\\\":\\\"one\\\"}")
                 A_CALL(1, "c2", "send_message", "{\\\"content\\\":\\\"two\\\"}")
                     A_END("tool_use")},
        {.body = A_USE("c3", "stay_silent", "{}")}};
    struct banning b;
    (void)state;
    open_banning(&b, WORKS, replies, CH_LEN(replies));
    b.chat.fails_at = 2;
    stage_play(&b.chat.st, "[10:02] Ann: hello");
    assert_string_equal(ch_buf_str(&b.chat.log), "send@0 one;send@0 two;");
    assert_int_equal(b.chat.st.model.nrequests, 2);
    assert_non_null(strstr(last_request(&b), "It was refused."));
    close_chat(&b.chat);
}

static void test_tools(void **state) {
    static const char *const names[] = {CH_SEND_ACTION, CH_REACT_ACTION, CH_SILENT_ACTION};
    static const struct fake_reply none[] = {{.hang = true}};
    struct chat c;
    struct chela_error err = {0};
    (void)state;
    open_chat(&c, 0, none, CH_LEN(none));
    for (size_t i = 0; i < CH_LEN(names); i++) {
        const struct ch_tool *t = ch_registry_find(&c.st.agent->registry, ch_sv_str(names[i]));
        assert_non_null(t);
        assert_true(t->flags & CHELA_TOOL_ACTION);
        assert_int_equal(t->permission, CHELA_PERM_READ);
    }
    assert_true(ch_beat_tools_add(c.st.agent, &err) < 0); /* the names are taken */
    assert_non_null(strstr(err.message, CH_SEND_ACTION));
    close_chat(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_actions), cmocka_unit_test(test_most_parts),
        cmocka_unit_test(test_no_channel), cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_tools), cmocka_unit_test(test_sequence),
        cmocka_unit_test(test_sequence_with_consent), cmocka_unit_test(test_last_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
