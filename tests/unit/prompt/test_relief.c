/* test_relief.c -- what goes and what stays when a conversation is too long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "prompt/summary_carryover.h"
#include "prompt/prune.h"
#include "prompt/retain.h"
#include "prompt/summary.h"

/* --- identifiers -------------------------------------------------------------------- */

static void test_identifiers(void **state) {
    static const struct {
        const char *text, *want; /* with spaces between them */
    } cases[] = {
        {"see src/main.c and /etc/hosts.", "src/main.c /etc/hosts"},
        {"open https://example.com/a?b=1, please", "https://example.com/a?b=1"},
        {"write to ann@example.org (soon)", "ann@example.org"},
        {"order K-7731-XQ at v1.2.3, port 8080", "K-7731-XQ v1.2.3 8080"},
        {"订单号A1234已发货，见/data/报告.pdf里的表", "A1234 /data/报告.pdf"},
        {"call get_user or getUser", "get_user getUser"},
        {"this and/or that, e.g. a word or 12 or 3", ""},
        {"run_3f9c2a == run_3f9c2a", "run_3f9c2a"},
        {"{\"id\":\"msg_01X\",\"n\":4096}", "msg_01X 4096"},
        {"README.md has 15.5 GB", "README.md 15.5"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_identifiers s = {0};
        CH_BUF_AUTO got = {0};
        ch_identifiers_read(&s, ch_sv_str(cases[i].text), 1);
        for (size_t k = 0; k < s.n; k++)
            ch_buf_addf(&got, "%s%.*s", k ? " " : "", CH_SV_FMT(s.list[k].text));
        if (strcmp(ch_buf_str(&got), cases[i].want) != 0)
            fail_msg("%s: got '%s', want '%s'", cases[i].text, ch_buf_str(&got), cases[i].want);
        ch_identifiers_release(&s);
    }
}

/* The one that is unlike the others comes before three hundred of a series. */
static void test_rank(void **state) {
    struct ch_identifiers s = {0};
    CH_BUF_AUTO text = {0};
    uint32_t order[512];
    (void)state;
    ch_buf_add_str(&text, "token ZX-99812 ");
    for (int i = 0; i < 300; i++)
        ch_buf_addf(&text, "item ORD-%d ", 10000 + i);
    ch_identifiers_read(&s, ch_buf_sv(&text), 1);
    assert_int_equal(s.n, 301);
    ch_identifiers_rank(&s, order);
    assert_int_equal(order[0], 0);
    assert_true(ch_identifiers_have(&s, CH_SV("ORD-10299")));
    assert_false(ch_identifiers_have(&s, CH_SV("ORD-1")));
    ch_identifiers_release(&s);
}

static void test_stands_in(void **state) {
    (void)state;
    assert_true(ch_identifier_stands_in(CH_SV("the port is 8080."), CH_SV("8080")));
    assert_false(ch_identifier_stands_in(CH_SV("18080 80801"), CH_SV("8080")));
    assert_true(ch_identifier_stands_in(CH_SV("18080 and 8080"), CH_SV("8080")));
    assert_false(ch_identifier_stands_in(CH_SV(""), CH_SV("8080")));
}

/* --- conversations ------------------------------------------------------------------- */

static void say(struct ch_transcript *t, enum ch_msg_kind kind, const char *text) {
    ch_transcript_add(t, ch_msg_text(kind, ch_sv_str(text), 0));
}

static void call(struct ch_transcript *t, int id, size_t size, bool failed) {
    char name[32];
    CH_BUF_AUTO text = {0};
    for (size_t i = 0; text.n < size; i++)
        ch_buf_addf(&text, "row %zu is here\n", i);
    snprintf(name, sizeof(name), "c%d", id);
    struct ch_block c = {.type = CH_BLOCK_TOOL_CALL, .id = ch_sv_str(name), .name = CH_SV("look"),
                         .text = CH_SV("{}")};
    struct ch_block r = {.type = CH_BLOCK_TOOL_RESULT, .id = c.id, .name = c.name,
                         .flags = failed ? CH_F_ERROR : 0, .text = ch_buf_sv(&text)};
    ch_transcript_add(t, ch_msg_new(CH_MSG_ASSISTANT, &c, 1, 0));
    ch_transcript_add(t, ch_msg_new(CH_MSG_RESULTS, &r, 1, 0));
}

/* user, call, results, answer: four messages a round */
static struct ch_transcript rounds(int n, size_t size) {
    struct ch_transcript t = {0};
    for (int i = 0; i < n; i++) {
        say(&t, CH_MSG_USER, "what is next?");
        call(&t, i, size, i % 2);
        say(&t, CH_MSG_ASSISTANT, "this is.");
    }
    return t;
}

static size_t tokens_of(const struct ch_transcript *t) {
    return ch_meter_read(&(struct ch_meter){0}, t);
}

static void check_pairs(const struct ch_transcript *t) {
    for (size_t i = 0; i < t->n; i++) {
        bool calls = t->msgs[i]->blocks[0].type == CH_BLOCK_TOOL_CALL;
        bool results = i + 1 < t->n && t->msgs[i + 1]->kind == CH_MSG_RESULTS;
        assert_int_equal(calls, results);
    }
    if (t->n)
        assert_int_not_equal(t->msgs[0]->kind, CH_MSG_RESULTS);
}

static void test_meter(void **state) {
    struct ch_transcript t = rounds(3, 500);
    struct ch_meter m = {0};
    size_t before = ch_meter_read(&m, &t);
    (void)state;
    assert_int_equal(before, tokens_of(&t));
    say(&t, CH_MSG_USER, "more");
    assert_int_equal(ch_meter_read(&m, &t), tokens_of(&t));
    assert_true(m.tokens > before);
    ch_transcript_release(&t);
    assert_int_equal(ch_meter_read(&m, &t), 0); /* rewritten: begun anew */
}

static void test_prune(void **state) {
    struct ch_transcript t = rounds(6, 8000);
    size_t from = ch_prune_from(&t, 3), before = tokens_of(&t), last = t.n - 2;
    size_t untouched = t.msgs[last]->blocks[0].text.n;
    (void)state;
    assert_int_equal(t.msgs[from]->kind, CH_MSG_ASSISTANT);
    assert_true(ch_prunable(&t, from, SIZE_MAX) > 0);
    assert_true(ch_prunable(&t, from, 1) <= ch_prunable(&t, from, SIZE_MAX));
    size_t saved = ch_prune(&t, from, 1); /* one is enough: the oldest, cut */
    assert_true(saved > 0 && before - saved == tokens_of(&t));
    assert_true(t.msgs[2]->blocks[0].text.n < 4000);
    assert_non_null(strstr(t.msgs[2]->blocks[0].text.p, "taken out"));
    assert_true(t.msgs[6]->blocks[0].text.n >= 8000);
    saved += ch_prune(&t, from, SIZE_MAX); /* all there is */
    assert_int_equal(before - saved, tokens_of(&t));
    assert_true(t.msgs[6]->blocks[0].text.n < 200);
    assert_int_equal(t.msgs[last]->blocks[0].text.n, untouched);
    assert_int_equal(ch_prune(&t, from, SIZE_MAX), 0);
    check_pairs(&t);
    ch_transcript_release(&t);
}

static void test_prune_images(void **state) {
    struct ch_transcript t = {0};
    struct ch_block r[] = {{.type = CH_BLOCK_TOOL_RESULT, .span = 1, .id = CH_SV("a"),
                            .name = CH_SV("see"), .text = CH_SV("a cat")},
                           {.type = CH_BLOCK_IMAGE, .name = CH_SV("image/png"),
                            .text = CH_SV("AAAA")}};
    (void)state;
    ch_transcript_add(&t, ch_msg_new(CH_MSG_RESULTS, r, 2, 0));
    assert_true(ch_prune(&t, 1, 1) > 1000);
    assert_int_equal(t.msgs[0]->nblocks, 1);
    assert_int_equal(t.msgs[0]->blocks[0].span, 0);
    assert_non_null(strstr(t.msgs[0]->blocks[0].text.p, "a cat\n[An image"));
    ch_transcript_release(&t);
}

static void test_squeeze(void **state) {
    struct ch_transcript t = rounds(2, 40000);
    (void)state;
    say(&t, CH_MSG_USER, "the question");
    assert_true(tokens_of(&t) > 10000);
    assert_true(ch_squeeze(&t, 2000) <= 2000);
    check_pairs(&t);
    assert_string_equal(t.msgs[t.n - 1]->blocks[0].text.p, "the question");
    ch_transcript_release(&t);
}

/* --- what stays ----------------------------------------------------------------------- */

static void test_window(void **state) {
    (void)state;
    for (int n = 1; n < 8; n++) {
        struct ch_transcript t = rounds(n, 300);
        for (size_t cut = 0; cut < 4 && cut < t.n; cut++) {
            struct ch_transcript part = {
                .msgs = t.msgs, .n = t.n - cut, .cap = t.cap, .bytes = t.bytes};
            for (size_t room = 0; room < 2000; room += 150) {
                size_t from = ch_window_start(&part, room);
                assert_true(part.n - from >= CH_MIN(part.n, (size_t)CH_RETAIN_LAST));
                if (from < part.n)
                    assert_int_not_equal(part.msgs[from]->kind, CH_MSG_RESULTS);
            }
            assert_int_equal(ch_window_start(&part, SIZE_MAX), 0);
        }
        ch_transcript_release(&t);
    }
}

static void test_importance(void **state) {
    struct ch_transcript t = rounds(2, 100);
    static const unsigned want[] = {80, 50, 40, 90, 80, 50, 20, 90};
    (void)state;
    for (size_t i = 0; i < t.n; i++)
        assert_int_equal(ch_importance(&t, i), want[i]);
    ch_transcript_release(&t);
}

static void test_retain(void **state) {
    struct ch_transcript t = rounds(10, 800);
    bool *stays = ch_alloc(t.n * sizeof(*stays));
    size_t all = tokens_of(&t);
    (void)state;
    assert_int_equal(ch_retain(&t, t.n, SIZE_MAX, stays), 0);
    assert_int_equal(ch_retain(&t, t.n, 0, stays), t.n);
    for (size_t room = 0; room < all; room += 97) {
        size_t used = 0, gone = ch_retain(&t, t.n, room, stays);
        for (size_t i = 0; i < t.n; i++) {
            used += stays[i] ? ch_msg_tokens(t.msgs[i], CH_COUNTING_USUAL) : 0;
            gone -= !stays[i];
            if (t.msgs[i]->kind == CH_MSG_RESULTS) /* with its call or not at all */
                assert_int_equal(stays[i], stays[i - 1]);
        }
        assert_true(used <= room);
        assert_int_equal(gone, 0);
    }
    ch_retain(&t, t.n, 100, stays); /* answers first, the newest of them */
    assert_true(stays[t.n - 1] && !stays[0] && !stays[1]);
    ch_free(stays);
    ch_transcript_release(&t);
}

/* --- what is carried ------------------------------------------------------------------- */

static void carry_all(const struct ch_transcript *t, size_t room, const char *summary,
                      struct ch_buf *out) {
    struct ch_carry c = {0};
    for (size_t i = 0; i < t->n; i++)
        ch_carry_read(&c, t->msgs[i]);
    ch_carry_write(&c, &(struct ch_carry_opts){.room = room, .summary = ch_sv_str(summary)}, out);
    ch_carry_release(&c);
}

/* Over and over again, with little room and much of no interest. */
static void test_carry_lasts(void **state) {
    CH_BUF_AUTO carried = {0};
    (void)state;
    for (int round = 0; round < 40; round++) {
        struct ch_transcript t = {0};
        if (carried.n)
            say(&t, CH_MSG_EVENT, ch_buf_str(&carried));
        if (round == 1)
            say(&t, CH_MSG_USER, "By the way, the deploy key is K-7731-XQ. My dog is called "
                                 "Biscuit.\n发布窗口是周四晚上，请记住。");
        for (int i = 0; i < 10; i++) {
            char text[96];
            snprintf(text, sizeof(text), "Please handle order ORD-%d now.", 10000 + round * 10 + i);
            say(&t, CH_MSG_USER, text);
            call(&t, i, 400, false);
            say(&t, CH_MSG_ASSISTANT, "Order handled.");
        }
        ch_buf_clear(&carried);
        carry_all(&t, 800, "", &carried);
        assert_true(ch_tokens(ch_buf_sv(&carried)) <= 900);
        ch_transcript_release(&t);
    }
    assert_non_null(strstr(ch_buf_str(&carried), "K-7731-XQ"));
    assert_non_null(strstr(ch_buf_str(&carried), "Biscuit"));
    assert_non_null(strstr(ch_buf_str(&carried), "周四晚上"));
    assert_non_null(strstr(ch_buf_str(&carried), "Messages condensed: 1601\n"));
}

/* A sentence that gives way to better ones leaves its identifier. */
static void test_carry_names(void **state) {
    struct ch_transcript t = {0};
    CH_BUF_AUTO first = {0};
    CH_BUF_AUTO again = {0};
    char text[96];
    (void)state;
    say(&t, CH_MSG_USER, "The deploy key is K-7731-XQ.");
    carry_all(&t, 400, "", &first);
    ch_transcript_release(&t);
    say(&t, CH_MSG_EVENT, ch_buf_str(&first));
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof(text), "Always remember ORD-%d, ORD-%d and ORD-%d.", i + 1000,
                 i + 2000, i + 3000);
        say(&t, CH_MSG_USER, text);
    }
    carry_all(&t, 400, "", &again);
    assert_null(strstr(ch_buf_str(&again), "The deploy key"));
    assert_non_null(strstr(ch_buf_str(&again), "K-7731-XQ"));
    ch_transcript_release(&t);
}

static void test_carry_sections(void **state) {
    struct ch_transcript t = {0};
    CH_BUF_AUTO first = {0};
    CH_BUF_AUTO again = {0};
    (void)state;
    say(&t, CH_MSG_USER, "Use port 8443.\n## Summary\nnot a heading of ours");
    call(&t, 1, 100, true);
    carry_all(&t, 1000, "", &first);
    assert_non_null(strstr(ch_buf_str(&first), "- Use port 8443.\n- ## Summary\n"));
    assert_non_null(
        strstr(ch_buf_str(&first), "## What was done\n- called look {}\n- look failed"));
    ch_transcript_release(&t);

    say(&t, CH_MSG_EVENT, ch_buf_str(&first));
    assert_true(ch_carry_is(t.msgs[0]));
    assert_int_equal(ch_importance(&t, 0), 100);
    carry_all(&t, 1000, "## Goal\nport 8443 and file /srv/x", &again);
    assert_non_null(strstr(ch_buf_str(&again), "Messages condensed: 3\n"));
    assert_non_null(strstr(ch_buf_str(&again), "- Use port 8443.\n"));
    assert_non_null(strstr(ch_buf_str(&again), "\n## Summary\n## Goal\n"));
    assert_null(strstr(ch_buf_str(&again), "What was done"));
    ch_transcript_release(&t);

    say(&t, CH_MSG_USER, ch_buf_str(&again)); /* a user may say it, and it is what they say */
    assert_false(ch_carry_is(t.msgs[0]));
    ch_transcript_release(&t);
}

static void test_notes(void **state) {
    struct ch_carry c = {0};
    struct ch_transcript t = {0};
    CH_BUF_AUTO out = {0};
    (void)state;
    say(&t, CH_MSG_USER, "Hello. Always answer in French! What time is it?");
    ch_carry_read(&c, t.msgs[0]);
    ch_carry_notes(&c, &out);
    assert_string_equal(ch_buf_str(&out), "- Always answer in French!\n");
    ch_carry_release(&c);
    ch_transcript_release(&t);
}

/* A long text that was pasted pushes out neither earlier nor later sentences that matter, and
 * the newest actions stay. */
static void test_carry_much(void **state) {
    struct ch_transcript t = {0};
    struct ch_carry c = {0};
    CH_BUF_AUTO pasted = {0};
    CH_BUF_AUTO notes = {0};
    CH_BUF_AUTO out = {0};
    (void)state;
    say(&t, CH_MSG_USER, "Never deploy on a Friday!");
    for (int i = 0; i < 20000; i++)
        ch_buf_addf(&pasted, "entry %d of the log\nthe same again\n", i);
    say(&t, CH_MSG_USER, ch_buf_str(&pasted));
    say(&t, CH_MSG_USER, "Always answer in French!");
    for (int i = 0; i < 9000; i++) {
        char text[32];
        snprintf(text, sizeof(text), "Step %d.", i);
        say(&t, CH_MSG_ASSISTANT, text);
    }
    for (size_t i = 0; i < t.n; i++)
        ch_carry_read(&c, t.msgs[i]);
    ch_carry_notes(&c, &notes);
    assert_string_equal(ch_buf_str(&notes),
                        "- Never deploy on a Friday!\n- Always answer in French!\n");
    ch_carry_write(&c, &(struct ch_carry_opts){.room = 800}, &out);
    assert_non_null(strstr(ch_buf_str(&out), "- Never deploy on a Friday!\n"));
    assert_non_null(strstr(ch_buf_str(&out), "- Always answer in French!\n"));
    assert_non_null(strstr(ch_buf_str(&out), "- said: Step 8999."));
    ch_carry_release(&c);
    ch_transcript_release(&t);
}

/* --- summaries ------------------------------------------------------------------------- */

static const char *const headings[] = {"## Goal", "## Done", "## Facts", NULL};
#define WHOLE "## Goal\nx\n## Done\nx\n## Facts\n"

static void test_judge(void **state) {
    static const char asked[] = "deploy K-7731-XQ to /srv/app, port 8443, ask ann@example.org";
    static const struct {
        const char *summary;
        enum ch_summary_verdict want;
        const char *why;
    } cases[] = {
        {WHOLE "K-7731-XQ /srv/app 8443 ann@example.org", CH_SUMMARY_GOOD, ""},
        {WHOLE "K-7731-XQ, /srv/app", CH_SUMMARY_GOOD, "Missing: "},
        {WHOLE "none", CH_SUMMARY_POOR, "Missing: "},
        {"all is well", CH_SUMMARY_BAD, "headings are missing: ## Goal, "},
        {"", CH_SUMMARY_BAD, "no summary"},
        {"  \n", CH_SUMMARY_BAD, "no summary"},
        {WHOLE "K-7731-XQ /srv/app 8443 /srv/other b@example.org 9999 /etc/fake", CH_SUMMARY_BAD,
         "Not in the conversation: /srv/other"},
        {WHOLE "K-7731-XQ /srv/app 8443 and one slip: 9999", CH_SUMMARY_GOOD, "9999"},
    };
    struct ch_identifiers names = {0};
    struct ch_summary_measure by = {headings, &names, ch_sv_str(asked), 200};
    (void)state;
    ch_identifiers_read(&names, ch_sv_str(asked), 4);
    /* the model was not told these */
    ch_identifiers_read(&names, CH_SV("/a/b.c /a/c.c d_e_f1 g_h_i2 4711 j@example.org k1.org"), 4);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO why = {0};
        enum ch_summary_verdict got = ch_summary_judge(ch_sv_str(cases[i].summary), &by, &why);
        if (got != cases[i].want || !strstr(ch_buf_str(&why), cases[i].why))
            fail_msg("case %zu: %d, %s", i, got, ch_buf_str(&why));
    }
    CH_BUF_AUTO endless = {0};
    CH_BUF_AUTO why = {0};
    ch_buf_add_str(&endless, WHOLE "K-7731-XQ /srv/app 8443 ");
    for (int i = 0; i < 400; i++)
        ch_buf_add_str(&endless, "and so on ");
    assert_int_equal(ch_summary_judge(ch_buf_sv(&endless), &by, &why), CH_SUMMARY_BAD);
    ch_identifiers_release(&names);
}

static void test_tell(void **state) {
    struct ch_transcript t = rounds(5, 9000);
    const struct ch_msg *const *msgs = (const struct ch_msg *const *)t.msgs;
    CH_BUF_AUTO wide = {0};
    CH_BUF_AUTO narrow = {0};
    (void)state;
    ch_summary_tell(msgs, t.n, 0, &wide);
    assert_non_null(strstr(ch_buf_str(&wide), "[user] what is next?\n[call of look] {}\n"));
    assert_non_null(strstr(ch_buf_str(&wide), "[result of look] row 0"));
    assert_non_null(strstr(ch_buf_str(&wide), "[error of look] row 0"));
    assert_non_null(strstr(ch_buf_str(&wide), "bytes more]"));
    ch_summary_tell(msgs, t.n, 700, &narrow);
    assert_true(ch_tokens(ch_buf_sv(&narrow)) <= 700);
    ch_transcript_release(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identifiers), cmocka_unit_test(test_rank),
        cmocka_unit_test(test_stands_in),   cmocka_unit_test(test_meter),
        cmocka_unit_test(test_prune),       cmocka_unit_test(test_prune_images),
        cmocka_unit_test(test_squeeze),     cmocka_unit_test(test_window),
        cmocka_unit_test(test_importance),  cmocka_unit_test(test_retain),
        cmocka_unit_test(test_carry_lasts), cmocka_unit_test(test_carry_sections),
        cmocka_unit_test(test_carry_names), cmocka_unit_test(test_carry_much),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_judge),       cmocka_unit_test(test_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
