/* test_pull.c -- the pull form, alone and against the reader: whatever the
 * text, both must accept it and see the same values, or both refuse it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "json/pull.h"
#include "json/writer.h"

/* Walk everything and write it down again. Depth is bounded by the form. */
static void rewrite(struct ch_pull *p, struct ch_jw *w) {
    struct ch_sv s;
    bool yes;
    switch (ch_pull_peek(p)) {
    case '{':
        if (!ch_pull_enter(p, '{'))
            return;
        ch_jw_begin(w, '{');
        while (ch_pull_key(p, &s)) {
            ch_jw_key_sv(w, s);
            rewrite(p, w);
        }
        ch_jw_end(w, '}');
        break;
    case '[':
        if (!ch_pull_enter(p, '['))
            return;
        ch_jw_begin(w, '[');
        while (ch_pull_item(p))
            rewrite(p, w);
        ch_jw_end(w, ']');
        break;
    case '"':
        if (ch_pull_str(p, &s))
            ch_jw_str(w, s);
        break;
    case 't':
    case 'f':
        if (ch_pull_bool(p, &yes))
            ch_jw_bool(w, yes);
        break;
    default:
        if (ch_pull_raw(p, &s))
            ch_jw_raw(w, s);
    }
}

static void check_agreement(struct ch_sv text) {
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO scratch = {0};
    CH_BUF_AUTO walked = {0};
    CH_BUF_AUTO tree = {0};
    CH_AUTOFREE char *copy = ch_memdup(text.p, text.n); /* ends where its memory ends */
    const struct ch_json *v;
    struct ch_jw w = ch_jw(&walked);
    struct ch_pull p;
    ch_pull_init(&p, ch_sv(copy, text.n), &scratch);
    rewrite(&p, &w);
    struct ch_pull skip;
    ch_pull_init(&skip, ch_sv(copy, text.n), &scratch);
    ch_pull_skip(&skip);
    int rc = ch_json_parse(&a, ch_sv(copy, text.n), CH_JSON_REPLACE, &v, NULL, NULL);
    if (ch_pull_failed(&p) != (rc < 0) || ch_pull_failed(&skip) != (rc < 0))
        fail_msg("%.*s: read %d, walked %d, skipped %d", (int)text.n, text.p, rc, !p.failed,
                 !skip.failed);
    if (rc < 0)
        return;
    w = ch_jw(&tree);
    ch_jw_value(&w, v);
    assert_string_equal(ch_buf_str(&walked), ch_buf_str(&tree));
}

static const char sample[] =
    "{\"id\":\"msg_01\",\"n\":[0,-1.5e+10,true,false,null],\"text\":\"a\\n\\u4f60\xe5\xa5\xbd "
    "\\ud83d\\ude00 plain text\",\"deep\":[[{\"a\":{}}],[]],\"\\t\":\"\", \"x\" : [ 1 , 2 ] }";

static void test_agrees_with_the_reader(void **state) {
    (void)state;
    static const char *const texts[] = {
        sample,
        "",
        " ",
        "1",
        " 1 ",
        "-",
        "01",
        "1.",
        "\"",
        "\"a\"",
        "\"\\x\"",
        "[",
        "[]",
        "[ ]",
        "{}",
        "{ }",
        "[,]",
        "[1,]",
        "[1 2]",
        "[1}",
        "{\"a\":1,}",
        "{\"a\"}",
        "{\"a\":}",
        "{,}",
        "{\"a\":1 \"b\":2}",
        "{1:2}",
        "[]]",
        "{}{}",
        "nul",
        "true",
        "true false",
        "[true,nul]",
        "\xef\xbb\xbf[1]",
        "\"\xff\"",
        "[\"\\ud800\", \"\n\"]",
        "[[[]],{\"a\":[]}]",
        "[1]x",
        "[1,,2]",
        "[\"\\u12\"]",
        "{\"a\":[1,{\"b\":2}],\"c\":{}}",
        "[{]}",
        "{[}]",
        "[-]",
    };
    for (size_t i = 0; i < CH_LEN(texts); i++)
        check_agreement(ch_sv_str(texts[i]));
    for (size_t cut = 0; cut < sizeof(sample) - 1; cut++)
        check_agreement(ch_sv(sample, cut));
    for (size_t i = 0; i < sizeof(sample) - 1; i++)
        for (const char *c = "\"\\{}[],: 0e.t\n\x80\xff"; *c; c++) {
            char text[sizeof(sample)];
            memcpy(text, sample, sizeof(sample));
            text[i] = *c;
            check_agreement(ch_sv(text, sizeof(sample) - 1));
        }
}

static void read_delta(struct ch_pull *p, struct ch_sv *type, struct ch_sv *text) {
    struct ch_sv key;
    if (!ch_pull_enter(p, '{'))
        return;
    while (ch_pull_key(p, &key)) {
        if (ch_sv_is(key, "type"))
            ch_pull_str(p, type);
        else
            ch_pull_str(p, text);
    }
}

/* One line of a stream, as a codec reads it. */
static void test_stream_event(void **state) {
    (void)state;
    struct ch_sv line =
        CH_SV("{\"type\":\"content_block_delta\",\"index\":2,\"extra\":{\"a\":[1]},"
              "\"delta\":{\"type\":\"text_delta\",\"text\":\"a\\nb\"},\"ok\":true}");
    CH_BUF_AUTO scratch = {0};
    struct ch_sv key, type = {0}, delta_type = {0}, text = {0};
    struct ch_pull p;
    int64_t index = 0;
    bool ok = false;
    ch_pull_init(&p, line, &scratch);
    assert_true(ch_pull_enter(&p, '{'));
    while (ch_pull_key(&p, &key)) {
        if (ch_sv_is(key, "type"))
            ch_pull_str(&p, &type);
        else if (ch_sv_is(key, "index"))
            ch_pull_int(&p, &index);
        else if (ch_sv_is(key, "ok"))
            ch_pull_bool(&p, &ok);
        else if (ch_sv_is(key, "delta"))
            read_delta(&p, &delta_type, &text);
        else
            ch_pull_skip(&p);
    }
    assert_false(ch_pull_failed(&p));
    assert_true(ch_sv_is(type, "content_block_delta"));
    assert_ptr_equal(type.p, line.p + 9); /* a slice, not a copy */
    assert_true(ch_sv_is(delta_type, "text_delta"));
    assert_true(ch_sv_is(text, "a\nb"));
    assert_int_equal(index, 2);
    assert_true(ok);
}

/* Decoded strings stay where they are until the next text. */
static void test_strings_stay_valid(void **state) {
    (void)state;
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO scratch = {0};
    struct ch_sv got[500];
    struct ch_pull p;
    for (size_t i = 0; i < CH_LEN(got); i++)
        ch_buf_addf(&text, "%c\"\\t%zu\xff\"", i ? ',' : '[', i);
    ch_buf_addc(&text, ']');
    for (int round = 0; round < 2; round++) {
        size_t n = 0;
        ch_pull_init(&p, ch_buf_sv(&text), &scratch);
        ch_pull_enter(&p, '[');
        while (ch_pull_item(&p))
            ch_pull_str(&p, &got[n++]);
        assert_false(ch_pull_failed(&p));
        assert_int_equal(n, CH_LEN(got));
        for (size_t i = 0; i < n; i++) {
            CH_BUF_AUTO want = {0};
            ch_buf_addf(&want, "\t%zu\xef\xbf\xbd", i);
            assert_true(ch_sv_eq(got[i], ch_buf_sv(&want)));
        }
    }
}

static void test_other_types_are_skipped(void **state) {
    (void)state;
    CH_BUF_AUTO scratch = {0};
    struct ch_sv s = CH_SV("untouched");
    struct ch_pull p;
    int64_t i = 77;
    bool b = true;
    ch_pull_init(&p, CH_SV("[1,\"x\",\"y\",{\"a\":1},2.5,null,[1],9223372036854775808,\"z\"]"),
                 &scratch);
    assert_true(ch_pull_enter(&p, '['));
    assert_true(ch_pull_item(&p) && !ch_pull_str(&p, &s));
    assert_true(ch_pull_item(&p) && !ch_pull_int(&p, &i));
    assert_true(ch_pull_item(&p) && !ch_pull_bool(&p, &b));
    assert_true(ch_pull_item(&p) && !ch_pull_enter(&p, '['));
    assert_true(ch_pull_item(&p) && !ch_pull_int(&p, &i));
    assert_true(ch_pull_item(&p) && !ch_pull_bool(&p, &b));
    assert_true(ch_pull_item(&p) && !ch_pull_str(&p, &s));
    assert_true(ch_pull_item(&p) && !ch_pull_int(&p, &i));
    assert_true(ch_sv_is(s, "untouched"));
    assert_true(i == 77 && b);
    assert_true(ch_pull_item(&p) && ch_pull_str(&p, &s));
    assert_true(ch_sv_is(s, "z"));
    assert_false(ch_pull_item(&p));
    assert_false(ch_pull_failed(&p));
}

static void test_raw(void **state) {
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {" {\"a\": [1, 2]} ", "{\"a\": [1, 2]}"},
        {"\"\\n\"", "\"\\n\""},
        {" -1.50 ", "-1.50"},
        {"null", "null"},
        {"[ ]", "[ ]"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_sv raw;
        struct ch_pull p;
        ch_pull_init(&p, ch_sv_str(cases[i].text), NULL);
        assert_true(ch_pull_raw(&p, &raw));
        assert_true(ch_sv_is(raw, cases[i].want));
    }
}

static void test_after_a_failure(void **state) {
    (void)state;
    CH_BUF_AUTO scratch = {0};
    struct ch_sv s;
    struct ch_pull p;
    int64_t i;
    bool b;
    ch_pull_init(&p, CH_SV("{\"a\" 1, \"b\": 2}"), &scratch);
    assert_true(ch_pull_enter(&p, '{'));
    assert_false(ch_pull_key(&p, &s));
    assert_true(ch_pull_failed(&p));
    ch_pull_skip(&p);
    assert_false(ch_pull_key(&p, &s) || ch_pull_item(&p) || ch_pull_str(&p, &s) ||
                 ch_pull_int(&p, &i) || ch_pull_bool(&p, &b) || ch_pull_raw(&p, &s) ||
                 ch_pull_enter(&p, '{') || ch_pull_peek(&p));
    assert_true(ch_pull_failed(&p));
}

static void test_depth(void **state) {
    (void)state;
    for (size_t depth = CH_LIMIT_PULL_DEPTH - 1; depth <= CH_LIMIT_PULL_DEPTH + 1; depth++) {
        CH_BUF_AUTO text = {0};
        CH_BUF_AUTO out = {0};
        CH_BUF_AUTO scratch = {0};
        struct ch_jw w = ch_jw(&out);
        struct ch_pull p;
        for (size_t i = 0; i < depth; i++)
            ch_buf_add_str(&text, i % 3 ? "[" : "{\"a\":");
        ch_buf_addc(&text, '1');
        for (size_t i = depth; i-- > 0;)
            ch_buf_addc(&text, i % 3 ? ']' : '}');
        ch_pull_init(&p, ch_buf_sv(&text), &scratch);
        rewrite(&p, &w);
        assert_int_equal(ch_pull_failed(&p), depth > CH_LIMIT_PULL_DEPTH);
        ch_pull_init(&p, ch_buf_sv(&text), &scratch);
        ch_pull_skip(&p);
        assert_int_equal(ch_pull_failed(&p), depth > CH_LIMIT_PULL_DEPTH);
        ch_pull_init(&p, ch_buf_sv(&text), &scratch);
        struct ch_sv key;
        assert_true(ch_pull_enter(&p, '{') && ch_pull_key(&p, &key));
        ch_pull_skip(&p); /* the rest of it: the level already open counts */
        assert_int_equal(ch_pull_failed(&p), depth > CH_LIMIT_PULL_DEPTH);
    }
}

/* Reading the same strings on copies of the state must end, not overrun. */
static void test_scratch_is_never_overrun(void **state) {
    (void)state;
    CH_BUF_AUTO scratch = {0};
    struct ch_sv s;
    struct ch_pull p;
    int taken = 0;
    ch_pull_init(&p, CH_SV("[\"\\n234567890\",\"\\n234567890\"]"), &scratch);
    assert_true(ch_pull_enter(&p, '[') && ch_pull_item(&p) && ch_pull_str(&p, &s));
    assert_true(ch_pull_item(&p));
    for (int i = 0; i < 100; i++) {
        struct ch_pull copy = p;
        taken += ch_pull_str(&copy, &s);
    }
    assert_true(taken > 0 && taken < 100);
    assert_true(scratch.n < scratch.cap);
}

static void test_scratch_cap(void **state) {
    (void)state;
    CH_BUF_AUTO small = {.max = 8};
    struct ch_sv s;
    struct ch_pull p;
    ch_pull_init(&p, CH_SV("\"\\n234567890123456\""), &small);
    assert_false(ch_pull_str(&p, &s));
    assert_true(ch_pull_failed(&p));
    ch_pull_init(&p, CH_SV("\"a slice needs no scratch\""), &small);
    assert_true(ch_pull_str(&p, &s));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_the_reader),
        cmocka_unit_test(test_stream_event),
        cmocka_unit_test(test_strings_stay_valid),
        cmocka_unit_test(test_other_types_are_skipped),
        cmocka_unit_test(test_raw),
        cmocka_unit_test(test_after_a_failure),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_scratch_is_never_overrun),
        cmocka_unit_test(test_scratch_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
