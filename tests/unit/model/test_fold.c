/* test_fold.c -- pieces in, events and a message out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "model/codec/fold.h"

/* Events as text: "T:piece|so far;" */
static void record(const struct ch_model_event *ev, void *user) {
    struct ch_buf *log = user;
    ch_buf_addf(log, "%c%u:", "TRC"[ev->type], ev -> index);
    if (ev->id.n)
        ch_buf_addf(log, "<%.*s>", CH_SV_FMT(ev->id));
    if (ev->name.n)
        ch_buf_addf(log, "<%.*s>", CH_SV_FMT(ev->name));
    ch_buf_addf(log, "%.*s|%.*s;", CH_SV_FMT(ev->text), CH_SV_FMT(ev->so_far));
}

#define NOTHING CH_SV("")

static void test_events(void **state) {
    (void)state;
    CH_BUF_AUTO log = {0};
    struct ch_fold *f = ch_fold_new(record, &log);
    ch_fold_reasoning(f, 0, CH_SV("hm"));
    ch_fold_text(f, 1, NOTHING);
    ch_fold_text(f, 1, CH_SV("a"));
    ch_fold_text(f, 1, CH_SV("b"));
    ch_fold_call(f, 2, CH_SV("id1"), CH_SV("add"), NOTHING);
    ch_fold_call(f, 3, NOTHING, NOTHING, NOTHING); /* nothing new: no event */
    ch_fold_call(f, 3, NOTHING, CH_SV("mul"), CH_SV("{"));
    ch_fold_call(f, 2, CH_SV("id2"), CH_SV("other"), CH_SV("{}"));
    ch_fold_call(f, 3, CH_SV("id3"), NOTHING, CH_SV("}"));
    ch_fold_refusal(f, 4, CH_SV("no"));
    assert_string_equal(ch_buf_str(&log), "R0:hm|hm;T0:a|a;T0:b|ab;C0:<id1><add>|;C1:<mul>{|{;"
                                          "C0:{}|{};C1:<id3>}|{};");
    ch_fold_close_all(f);
    static const struct ch_msg_author by = {.api = "openai", .model = CH_SV("m")};
    struct ch_msg *m = ch_fold_message(f, &by, 7);
    assert_int_equal(m->nblocks, 5);
    assert_int_equal(m->kind, CH_MSG_ASSISTANT);
    assert_string_equal(m->blocks[2].id.p, "id1");
    assert_string_equal(m->blocks[2].name.p, "add");
    assert_string_equal(m->blocks[3].id.p, "id3");
    assert_int_equal(m->blocks[4].type, CH_BLOCK_REFUSAL);
    ch_msg_free(m);
    ch_fold_free(f);
    ch_fold_free(NULL);
}

static void test_media(void **state) {
    static const struct {
        const char *pieces[3], *want;
        bool invalid;
    } cases[] = {
        {{"AQID"}, "AQID", false},
        {{"AQ==", "AgM=", "BA"}, "AQIDBA==", false},
        {{"AQ ID\n"}, "AQID", false},
        {{"*"}, "", true},
        {{"AQID", "BA==x", "AQID"}, "AQIDBAECAw==", true},
        {{"AQIDB"}, "AQID", true},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        static const struct ch_msg_author by = {.api = "openai", .model = CH_SV("m")};
        struct ch_fold *f = ch_fold_new(NULL, NULL);
        ch_fold_reasoning(f, 2, CH_SV("hm"));
        for (size_t k = 0; k < 3 && cases[i].pieces[k]; k++) {
            struct ch_sv piece = ch_sv_str(cases[i].pieces[k]);
            assert_int_equal(ch_fold_extra_base64(f, 2, piece), 0); /* a sealed thought */
            assert_int_equal(
                ch_fold_media(f, 1, CH_BLOCK_IMAGE, CH_SV("image/png"), piece), 0);
        }
        struct ch_msg *m = ch_fold_message(f, &by, 7);
        assert_int_equal(m->nblocks, 2);
        assert_true(ch_sv_is(m->blocks[0].extra, cases[i].want));
        assert_string_equal(m->blocks[1].text.p, cases[i].want);
        assert_int_equal(m->blocks[1].flags, cases[i].invalid ? CH_F_INVALID : 0);
        ch_msg_free(m);
        ch_fold_free(f);
    }
}

static void test_arguments(void **state) {
    (void)state;
    static const struct {
        const char *name, *text, *want;
        bool closed;
        unsigned flags;
    } cases[] = {
        {"object", "{\"a\":1}", "{\"a\":1}", true, 0},
        {"bytes are kept", " { \"a\" : 1 } ", " { \"a\" : 1 } ", true, 0},
        {"empty is {}", "", "{}", true, 0},
        {"blank is {}", " \n", "{}", true, 0},
        {"null is {}", "null", "{}", true, 0},
        {"not closed", "{\"a\":1}", "{\"a\":1}", false, CH_F_CUT},
        {"not closed, empty", "", "", false, CH_F_CUT},
        {"truncated", "{\"a\":", "{\"a\":", true, CH_F_INVALID},
        {"no object", "[1]", "[1]", true, CH_F_INVALID},
        {"a string", "\"{}\"", "\"{}\"", true, CH_F_INVALID},
        {"two objects", "{}{}", "{}{}", true, CH_F_INVALID},
        {"trailing comma", "{\"a\":1,}", "{\"a\":1}", true, CH_F_REPAIRED},
        {"raw newline", "{\"a\":\"x\ny\"}", "{\"a\":\"x\\ny\"}", true, CH_F_REPAIRED},
        {"truncated is not repaired", "{\"a\":1,", "{\"a\":1,", true, CH_F_INVALID},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_fold *f = ch_fold_new(NULL, NULL);
        ch_fold_call(f, 0, CH_SV("x"), CH_SV("f"), ch_sv_str(cases[i].text));
        if (cases[i].closed)
            ch_fold_close(f, 0);
        struct ch_msg *m = ch_fold_message(f, &(struct ch_msg_author){.api = "x"}, 0);
        if (m->blocks[0].flags != cases[i].flags || strcmp(m->blocks[0].text.p, cases[i].want) != 0)
            fail_msg("%s: flags %u, text %s", cases[i].name, m->blocks[0].flags,
                     m->blocks[0].text.p);
        ch_msg_free(m);
        ch_fold_free(f);
    }
}

static void test_cut_by_length(void **state) {
    (void)state;
    static const struct {
        const char *first, *last;
        bool text_after;
        unsigned first_flags, last_flags;
    } cases[] = {
        {"{}", "{\"a\":1}", false, 0, 0},    /* whole: may be run */
        {"", "{\"a\":", false, 0, CH_F_CUT}, /* only the last is in doubt */
        {"", "", false, 0, CH_F_CUT},        /* no arguments yet, or none? */
        {"{}", "", true, 0, 0},              /* text came after it */
        {"{\"a", "", false, CH_F_INVALID, CH_F_CUT},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_fold *f = ch_fold_new(NULL, NULL);
        ch_fold_call(f, 0, CH_SV("a"), CH_SV("f"), ch_sv_str(cases[i].first));
        ch_fold_call(f, 1, CH_SV("b"), CH_SV("f"), ch_sv_str(cases[i].last));
        if (cases[i].text_after)
            ch_fold_text(f, 2, CH_SV("x"));
        ch_fold_close_all(f);
        ch_fold_cut(f);
        struct ch_msg *m = ch_fold_message(f, &(struct ch_msg_author){.api = "x"}, 0);
        assert_int_equal(m->blocks[0].flags, cases[i].first_flags);
        assert_int_equal(m->blocks[1].flags, cases[i].last_flags);
        ch_msg_free(m);
        ch_fold_free(f);
    }
    struct ch_fold *f = ch_fold_new(NULL, NULL);
    ch_fold_cut(f); /* nothing there */
    ch_fold_call(f, 0, CH_SV("a"), CH_SV("f"), CH_SV("{}"));
    ch_fold_close_all(f);
    ch_fold_abandon(f);
    struct ch_msg *m = ch_fold_message(f, &(struct ch_msg_author){.api = "x"}, 0);
    assert_int_equal(m->blocks[0].flags, CH_F_CUT);
    ch_msg_free(m);
    ch_fold_free(f);
}

static void test_ids(void **state) {
    (void)state;
    static const char *const ids[] = {"a", "", "a", "a_2", "", "a"};
    static const char *const want[] = {"a", "call_10_1", "a_2", "a_2_2", "call_10_4", "a_3"};
    struct ch_fold *f = ch_fold_new(NULL, NULL);
    for (unsigned i = 0; i < CH_LEN(ids); i++)
        ch_fold_call(f, i, ch_sv_str(ids[i]), CH_SV("f"), NOTHING);
    struct ch_msg *m = ch_fold_message(f, &(struct ch_msg_author){.api = "x"}, 16);
    for (size_t i = 0; i < CH_LEN(ids); i++)
        assert_string_equal(m->blocks[i].id.p, want[i]);
    ch_msg_free(m);
    ch_fold_free(f);
}

/* As many calls as a reply may have, all with one id. */
static void test_one_id(void **state) {
    (void)state;
    struct ch_fold *f = ch_fold_new(NULL, NULL);
    for (unsigned i = 0; i < CH_LIMIT_CALLS_READ; i++)
        assert_int_equal(ch_fold_call(f, i, CH_SV("a"), CH_SV("f"), NOTHING), 0);
    struct ch_msg *m = ch_fold_message(f, &(struct ch_msg_author){.api = "x"}, 16);
    assert_string_equal(m->blocks[0].id.p, "a");
    for (unsigned i = 1; i < CH_LIMIT_CALLS_READ; i++) {
        CH_BUF_AUTO want = {0};
        ch_buf_addf(&want, "a_%u", i + 1);
        assert_string_equal(m->blocks[i].id.p, ch_buf_str(&want));
    }
    ch_msg_free(m);
    ch_fold_free(f);
}

static void test_keys(void **state) {
    (void)state;
    struct ch_fold *f = ch_fold_new(NULL, NULL);
    assert_int_equal(ch_fold_text(f, CH_FOLD_KEYS - 1, CH_SV("far")), 0);
    assert_int_equal(ch_fold_text(f, CH_FOLD_KEYS, CH_SV("too far")), CHELA_ELIMIT);
    ch_fold_text(f, 0, CH_SV("one"));
    ch_fold_release_key(f, 0);
    ch_fold_text(f, 0, CH_SV("two"));
    ch_fold_call(f, 0, CH_SV("x"), CH_SV("f"), NOTHING); /* another type: a new block */
    assert_int_equal(ch_fold_extra(f, 77, CH_SV("nobody")), 0);
    ch_fold_close(f, 77);
    ch_fold_release_key(f, 100000);
    struct ch_msg *m = ch_fold_message(f, &(struct ch_msg_author){.api = "x"}, 0);
    assert_int_equal(m->nblocks, 4);
    assert_string_equal(m->blocks[1].text.p, "one");
    assert_string_equal(m->blocks[2].text.p, "two");
    ch_msg_free(m);
    ch_fold_free(f);
}

static void test_void_blocks(void **state) {
    (void)state;
    struct ch_fold *f = ch_fold_new(NULL, NULL);
    assert_null(ch_fold_message(f, &(struct ch_msg_author){.api = "x"}, 0));
    ch_fold_text(f, 0, NOTHING);
    ch_fold_reasoning(f, 1, NOTHING);
    ch_fold_refusal(f, 2, NOTHING);
    assert_false(ch_fold_has(f, CH_BLOCK_TEXT));
    assert_null(ch_fold_message(f, &(struct ch_msg_author){.api = "x"}, 0));
    ch_fold_extra(f, 1, CH_SV("sig"));
    ch_fold_extra(f, 1, CH_SV("nature"));
    ch_fold_field(f, 1, CH_SV("reasoning"), CH_SV("rs_1"));
    ch_fold_flag(f, 1, CH_F_REDACTED);
    struct ch_msg *m = ch_fold_message(f, &(struct ch_msg_author){.api = "x"}, 0);
    assert_int_equal(m->nblocks, 1);
    assert_string_equal(m->blocks[0].extra.p, "signature");
    assert_string_equal(m->blocks[0].name.p, "reasoning");
    assert_string_equal(m->blocks[0].id.p, "rs_1");
    assert_int_equal(m->blocks[0].flags, CH_F_REDACTED);
    ch_msg_free(m);
    ch_fold_free(f);
}

static void test_limits(void **state) {
    (void)state;
    struct ch_fold *f = ch_fold_new(NULL, NULL);
    char *big = ch_alloc(CH_LIMIT_REPLY + 1);
    for (unsigned i = 0; i < CH_LIMIT_CALLS_READ; i++)
        assert_int_equal(ch_fold_call(f, i, NOTHING, CH_SV("f"), NOTHING), 0);
    assert_int_equal(ch_fold_call(f, CH_LIMIT_CALLS_READ, NOTHING, CH_SV("f"), NOTHING),
                     CHELA_ELIMIT);
    assert_int_equal(ch_fold_text(f, CH_LIMIT_CALLS_READ + 1, ch_sv(big, CH_LIMIT_REPLY + 1)),
                     CHELA_ELIMIT);
    ch_fold_free(f);

    /* An id that is too long is replaced by a shorter one. */
    f = ch_fold_new(NULL, NULL);
    memset(big, 'x', CH_LIMIT_CALL_ID + 1);
    assert_int_equal(ch_fold_call(f, 0, ch_sv(big, CH_LIMIT_CALL_ID + 1), CH_SV("f"), CH_SV("{}")),
                     0);
    struct ch_msg *call = ch_fold_message(f, &(struct ch_msg_author){.api = "x"}, 0);
    assert_in_range(call->blocks[0].id.n, 17, 64);
    assert_int_equal(call->blocks[0].flags & CH_F_INVALID, 0);
    ch_msg_free(call);
    ch_fold_free(f);

    f = ch_fold_new(NULL, NULL);
    for (unsigned i = 0; i < CH_LIMIT_REPLY_BLOCKS; i++)
        assert_int_equal(ch_fold_text(f, i, CH_SV("x")), 0);
    assert_int_equal(ch_fold_text(f, CH_LIMIT_REPLY_BLOCKS, CH_SV("x")), CHELA_ELIMIT);
    ch_fold_free(f);

    f = ch_fold_new(NULL, NULL);
    memset(big, 'n', CH_LIMIT_TOOL_NAME + 1);
    assert_int_equal(ch_fold_call(f, 0, CH_SV("a"), ch_sv(big, CH_LIMIT_TOOL_NAME + 1), NOTHING),
                     0);
    ch_fold_close_all(f);
    struct ch_msg *m = ch_fold_message(f, &(struct ch_msg_author){.api = "x"}, 0);
    assert_int_equal(m->blocks[0].name.n, CH_LIMIT_TOOL_NAME);
    assert_int_equal(m->blocks[0].flags, CH_F_INVALID); /* no tool has this name */
    ch_msg_free(m);
    ch_fold_free(f);
    ch_free(big);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_cut_by_length), cmocka_unit_test(test_ids),
        cmocka_unit_test(test_one_id),
        cmocka_unit_test(test_keys),          cmocka_unit_test(test_void_blocks),
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_media),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
