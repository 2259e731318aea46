/* test_shape.c -- long results: never more than fits, cut where it hurts
 * least, whole records of JSON, and the rest in a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "support/toolkit.h"
#include "tool/result/result.h"
#include "tool/result/shape.h"
#include "tool/result/spill.h"
#include "json/json.h"

static const struct ch_shape plain; /* unknown context window, no file */

#define NI "\xe4\xbd\xa0" /* a Chinese character */

static void test_room(void **state) {
    static const struct {
        int64_t window;
        uint64_t chars, cost;
    } cases[] = {
        {0, 16000, UINT64_MAX},  {-5, 16000, UINT64_MAX},   {8000, 16000, 9600},
        {99999, 16000, 119988},  {100000, 32000, 120000},   {199999, 32000, 239988},
        {200000, 64000, 240000}, {1000000, 64000, 1200000}, {10, 16000, CH_LIMIT_RESULT_LEAST},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_shape_room r = ch_room_of(cases[i].window);
        assert_int_equal(r.chars, cases[i].chars);
        assert_int_equal(r.cost, cases[i].cost);
    }
}

static uint64_t characters(struct ch_sv s) {
    return ch_room_needed(s).chars;
}

static void fill(struct ch_buf *text, const char *letter, size_t chars) {
    for (size_t i = 0; i < chars; i++)
        ch_buf_add_str(text, letter);
}

/* Texts around the cap and far beyond it, of one and of three bytes a
 * character, for several windows: never too long, valid, and every character
 * either shown or counted. */
static void test_cap(void **state) {
    static const size_t sizes[] = {900, 4000, 15999, 16000, 16001, 31000, 65000, 300000, 1000000};
    static const int64_t windows[] = {0, 1000, 8000, 100000, 200000};
    static const char *const letters[] = {"x", NI};
    static const char *const ends[] = {"END", " error END"};

    (void)state;
    for (size_t i = 0; i < CH_LEN(sizes) * CH_LEN(windows) * 4; i++) {
        size_t n = sizes[i / 4 % CH_LEN(sizes)];
        struct ch_shape how = {.window = windows[i / 4 / CH_LEN(sizes)], .tool = "t"};
        struct ch_shape failed = {.window = how.window, .tool = "t", .last = "[exit code 2]"};
        const char *letter = letters[i % 2], *end = ends[i / 2 % 2];
        struct ch_shape_room room = ch_room_of(how.window);
        CH_BUF_AUTO text = {0}, got = {0}, with = {0};
        ch_buf_add_str(&text, "BEGIN");
        fill(&text, letter, n - 5 - strlen(end));
        ch_buf_add_str(&text, end);
        bool fits = ch_room_holds(room, ch_room_needed(ch_buf_sv(&text)));
        assert_int_equal(ch_shape_text(&how, ch_buf_sv(&text), 0, &got), !fits);
        assert_true(ch_room_holds(room, ch_room_needed(ch_buf_sv(&got))));
        assert_true(ch_utf8_valid(ch_buf_sv(&got)));
        ch_shape_text(&failed, ch_buf_sv(&text), 0, &with);
        assert_true(ch_room_holds(room, ch_room_needed(ch_buf_sv(&with))));
        assert_true(ch_sv_ends(ch_buf_sv(&with), "\n[exit code 2]"));
        assert_null(strstr(with.p, ": ok"));
        if (fits) {
            assert_string_equal(got.p, text.p);
            continue;
        }
        const char *head = strstr(got.p, "BEGIN"), *note = strstr(got.p, "\n[... ");
        assert_true(strncmp(got.p, "[t: ok, ", 8) == 0 && head && note);
        const char *tail = strstr(note, "...]\n") + 5;
        assert_int_equal(characters(ch_sv(head, (size_t)(note - head))) +
                             strtoul(note + 6, NULL, 10) + characters(ch_sv_str(tail)),
                         n);
        assert_true(i / 2 % 2 ? strstr(tail, "END") != NULL : tail[0] == '\0');
    }
}

static void test_shares(void **state) {
    CH_BUF_AUTO text = {0}, got = {0};

    (void)state;
    for (int i = 0; i < 9000; i++)
        ch_buf_addf(&text, "line %04d\n", i);
    ch_buf_add_str(&text, "9000 tests passed\n");
    assert_true(ch_shape_text(&plain, ch_buf_sv(&text), 0, &got));
    char *note = strstr(got.p, "\n[... "), *tail = strstr(note, "...]\n") + 5;
    assert_int_equal(note[-1], '\n'); /* whole lines */
    assert_int_equal(strncmp(tail, "line ", 5), 0);
    size_t head = (size_t)(note - got.p), rest = strlen(tail);
    assert_true(head > 10500 && head < 11500 && rest > 4200 && rest < 4800);
    assert_non_null(strstr(note, "lines) are left out here"));
}

/* Does the end of a long text matter? */
static void test_tail(void **state) {
    static const struct {
        const char *start, *end;
        bool both;
    } cases[] = {
        {"", "nothing to see", false},
        {"", "Error: no such table", true},
        {"", "3 FAILED, 20 passed", true},
        {"", "a terror of a mirror", false},
        {"", "Traceback (most recent call last)", true},
        {"", "exit code 2", true},
        {"", "Total: 12", true},
        {"{\"a\":\"", "\"}", true},
        {"{", "}", true},
        {"", "}", false},
        {"", "\xe9\x94\x99\xe8\xaf\xaf: x", true},
        {"", "\xe5\xae\x8c\xe6\x88\x90", true},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO text = {0}, got = {0};
        ch_buf_add_str(&text, cases[i].start);
        fill(&text, "blah\t", 5000);
        ch_buf_add_str(&text, cases[i].end);
        assert_true(ch_shape_text(&plain, ch_buf_sv(&text), 0, &got));
        bool both = got.p[got.n - 2] != ']' && strstr(got.p + got.n - 40, cases[i].end);
        if (both != cases[i].both)
            fail_msg("%s...%s", cases[i].start, cases[i].end);
    }
}

static void test_escapes_do_not_count(void **state) {
    CH_BUF_AUTO text = {0}, got = {0};

    (void)state;
    for (int i = 0; i < 100000; i++)
        ch_buf_add_str(&text, i == 50000 ? "\x1b[31mX" : "\x1b[31m");
    assert_false(ch_shape_text(&plain, ch_buf_sv(&text), 0, &got));
    assert_string_equal(ch_buf_str(&got), "X");
}

static void test_binary(void **state) {
    char junk[500];
    CH_BUF_AUTO got = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(junk); i++)
        junk[i] = (char)(i * 37 ^ i >> 3);
    struct ch_shape how = {.tool = "t"};
    assert_true(ch_shape_text(&how, ch_sv(junk, sizeof(junk)), 0, &got));
    assert_string_equal(ch_buf_str(&got),
                        "[t: ok, 500 bytes that are not text (or not in UTF-8), not shown]");
    ch_buf_clear(&got);
    memset(junk, 'x', sizeof(junk));
    junk[7] = '\0';
    junk[9] = (char)0xff; /* a little of it is not */
    assert_false(ch_shape_text(&how, ch_sv(junk, sizeof(junk)), 0, &got));
    assert_int_equal(got.n, sizeof(junk) - 1 + 2);
}

/* --- records ------------------------------------------------------------- */

static const struct ch_json *parse(struct ch_arena *a, const struct ch_buf *text) {
    const struct ch_json *v;

    assert_int_equal(ch_json_parse(a, ch_buf_sv(text), CH_JSON_STRICT, &v, NULL, NULL), 0);
    return v;
}

static void add_records(struct ch_buf *out, size_t n, size_t width) {
    for (size_t i = 0; i < n; i++) {
        ch_buf_addf(out, "%s{\"id\":%zu,\"text\":\"", i ? ", " : "", i);
        fill(out, i % 3 ? "z" : NI, width);
        ch_buf_add_str(out, "\"}");
    }
}

static void test_array(void **state) {
    static const struct {
        size_t n, width;
        unsigned records;
        size_t shown;
    } cases[] = {
        {1000, 100, 0, 5}, {1000, 100, 20, 20}, {1000, 100, 100000, 128}, {100, 5000, 0, 3},
        {3, 9000, 0, 1},   {4, 20000, 0, 0},    {2000, 10, 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_shape how = {.records = cases[i].records};
        CH_BUF_AUTO text = {0}, got = {0};
        CH_ARENA_AUTO arena = {0};
        ch_buf_add_str(&text, " [");
        add_records(&text, cases[i].n, cases[i].width);
        ch_buf_add_str(&text, "]\n");
        assert_true(ch_shape_text(&how, ch_buf_sv(&text), 0, &got));
        assert_true(characters(ch_buf_sv(&got)) <= CH_LIMIT_RESULT_CHARS);
        const struct ch_json *v = parse(&arena, &got);
        assert_int_equal(ch_json_int(ch_json_get(v, "total_count"), -1), cases[i].n);
        assert_int_equal(ch_json_int(ch_json_get(v, "showing_first"), -1), cases[i].shown);
        const struct ch_json *records = ch_json_get(v, "records");
        assert_int_equal(records->n, cases[i].shown);
        if (records->n)
            assert_int_equal(
                ch_json_int(ch_json_get(ch_json_at(records, records->n - 1), "id"), -1),
                records->n - 1);
        assert_true(ch_json_get_str(v, "note").n > 20);
    }
}

static void test_scalars(void **state) {
    CH_BUF_AUTO text = {0}, got = {0};
    CH_ARENA_AUTO arena = {0};

    (void)state;
    for (int i = 0; i < 20000; i++)
        ch_buf_addf(&text, "%c%d", i ? ',' : '[', i);
    ch_buf_addc(&text, ']');
    assert_true(ch_shape_text(&plain, ch_buf_sv(&text), 0, &got));
    const struct ch_json *v = parse(&arena, &got);
    assert_true(ch_json_get(v, "records")->n > 3000); /* as many as fit */
}

static void test_member(void **state) {
    CH_BUF_AUTO text = {0}, got = {0};
    CH_ARENA_AUTO arena = {0};

    (void)state;
    ch_buf_add_str(&text, "{\"took\":3,\"small\":[1,2],\"data\":{\"a/b\":[");
    add_records(&text, 400, 100);
    ch_buf_add_str(&text, "],\"n\":null},\"last\":1.50}");
    assert_true(ch_shape_text(&plain, ch_buf_sv(&text), 0, &got));
    const struct ch_json *v = parse(&arena, &got), *cut = ch_json_get(v, "_cut");
    assert_int_equal(strncmp(got.p, "{\"took\":3,\"small\":[1,2],\"data\":{\"a/b\":[{", 38), 0);
    assert_non_null(strstr(got.p, "],\"n\":null},\"last\":1.50,\"_cut\":{"));
    assert_int_equal(ch_json_path(v, "data", "a/b", NULL)->n, 5);
    assert_true(ch_sv_is(ch_json_get_str(cut, "at"), "/data/a~1b"));
    assert_int_equal(ch_json_int(ch_json_get(cut, "total_count"), -1), 400);
}

/* Not a list of records: cut as text, and the end is kept. */
static void test_other_json(void **state) {
    CH_BUF_AUTO text = {0}, got = {0};

    (void)state;
    ch_buf_add_str(&text, "{\"a\":\"");
    fill(&text, "y", 50000);
    ch_buf_add_str(&text, "\",\"b\":[1,2]}");
    assert_true(ch_shape_text(&plain, ch_buf_sv(&text), 0, &got));
    assert_string_equal(got.p + got.n - 12, "\",\"b\":[1,2]}");
}

static void test_lines(void **state) {
    CH_BUF_AUTO text = {0}, got = {0};

    (void)state;
    for (int i = 0; i < 2000; i++)
        ch_buf_addf(&text, "{\"id\":%d,\"name\":\"something\"}\n%s", i, i % 7 ? "" : "\n");
    assert_true(ch_shape_text(&plain, ch_buf_sv(&text), 0, &got));
    const char *want = "{\"id\":0,\"name\":\"something\"}\n{\"id\":1,\"name\":\"something\"}\n"
                       "{\"id\":2,\"name\":\"something\"}\n{\"id\":3,\"name\":\"something\"}\n"
                       "{\"id\":4,\"name\":\"something\"}\n[... only the first 5 of 2000 records";
    assert_int_equal(strncmp(got.p, want, strlen(want)), 0);
}

/* Any nesting, any sizes: what is shown fits, is valid, and each record shown
 * is one of the original, whole and in its place. */
static void test_never_splits(void **state) {
    uint32_t seed = 42;

    (void)state;
    for (int round = 0; round < 60; round++) {
        CH_BUF_AUTO text = {0}, got = {0};
        CH_ARENA_AUTO arena = {0};
        static const int64_t windows[] = {0, 4000, 150000, 1000000};
        struct ch_shape how = {.window = windows[round % 4], .records = 1u << round % 9};
        ch_buf_addc(&text, '[');
        for (int i = 0; text.n < 250000; i++) {
            seed = seed * 1664525u + 1013904223u;
            ch_buf_addf(&text, "%s{\"i\":%d,\"v\":[\"", i ? "," : "", i);
            fill(&text, seed >> 30 ? "q" : NI, seed >> 20 & 1023);
            ch_buf_add_str(&text, "\",{\"deep\":[[1],[2]]}]}");
        }
        ch_buf_addc(&text, ']');
        assert_true(ch_shape_text(&how, ch_buf_sv(&text), 0, &got));
        assert_true(ch_room_holds(ch_room_of(how.window), ch_room_needed(ch_buf_sv(&got))));
        assert_true(ch_utf8_valid(ch_buf_sv(&got)));
        const struct ch_json *all = parse(&arena, &text);
        const struct ch_json *v = ch_json_get(parse(&arena, &got), "records");
        assert_true(v->n <= how.records);
        size_t i = 0;
        for (CH_JSON_EACH(record, v))
            assert_true(ch_json_equal(record, ch_json_at(all, i++)));
    }
}

/* --- spilling ------------------------------------------------------------ */

static void test_spill(void **state) {
    struct kit k;
    CH_BUF_AUTO text = {0}, got = {0};
    struct stat st;

    (void)state;
    kit_init(&k);
    struct ch_shape how = {.tool = "my_tool", .workspace = k.workspace};
    for (int i = 0; i < 5000; i++)
        ch_buf_addf(&text, "\x1b[1mline\x1b[0m %d\n", i);
    assert_true(ch_shape_text(&how, ch_buf_sv(&text), 0, &got));
    char *at = strstr(got.p, ".chela/spill/my_tool-"), *end = strstr(at, ".txt:");
    assert_non_null(end);
    end[4] = '\0';
    CH_AUTOFREE char *file = kit_get(&k, at), *full = kit_path(&k, at);
    assert_int_equal(strncmp(file, "line 0\nline 1\n", 14), 0);
    assert_non_null(strstr(file, "line 4999\n"));
    assert_int_equal(stat(full, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    CH_AUTOFREE char *rule = kit_get(&k, ".chela/spill/.gitignore");
    assert_string_equal(rule, "*\n");
    kit_free(&k);
}

static void test_spill_records(void **state) {
    struct kit k;
    CH_BUF_AUTO text = {0}, got = {0};

    (void)state;
    kit_init(&k);
    struct ch_shape how = {.workspace = k.workspace};
    ch_buf_add_str(&text, "{\"rows\":[");
    add_records(&text, 300, 100);
    ch_buf_add_str(&text, "]}");
    assert_true(ch_shape_text(&how, ch_buf_sv(&text), 0, &got));
    char *at = strstr(got.p, ".chela/spill/result-"), *end = strstr(at, ".txt");
    end[4] = '\0';
    CH_AUTOFREE char *file = kit_get(&k, at);
    size_t lines = 0;
    for (const char *p = file; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, 302);
    assert_int_equal(strncmp(file, "{\"rows\":[\n{\"id\":0,", 18), 0);
    kit_free(&k);
}

static void test_spill_is_bounded(void **state) {
    struct kit k;
    CH_BUF_AUTO first = {0}, last = {0};
    struct utimbuf old = {1, 1};

    (void)state;
    kit_init(&k);
    assert_int_equal(ch_spill(k.workspace, "a", CH_SV("first"), &first), 0);
    CH_AUTOFREE char *full = kit_path(&k, ch_buf_str(&first));
    assert_int_equal(utime(full, &old), 0);
    for (int i = 0; i < CH_LIMIT_SPILL_FILES + 5; i++) {
        ch_buf_clear(&last);
        assert_int_equal(ch_spill(k.workspace, "../x/y", CH_SV("more"), &last), 0);
    }
    assert_int_equal(strncmp(ch_buf_str(&last), ".chela/spill/___x_y-", 20), 0);
    assert_int_equal(kit_entries(&k, ".chela/spill"), CH_LIMIT_SPILL_FILES + 1);
    assert_null(kit_get(&k, ch_buf_str(&first)));
    CH_AUTOFREE char *kept = kit_get(&k, ch_buf_str(&last));
    assert_string_equal(kept, "more");
    char *big = ch_malloc(20 * CH_MB);
    memset(big, 'x', 20 * CH_MB);
    for (int i = 0; i < 4; i++)
        assert_int_equal(ch_spill(k.workspace, "b", ch_sv(big, 20 * CH_MB), &last), 0);
    ch_free(big);
    assert_int_equal(kit_entries(&k, ".chela/spill"), 4);
    kit_free(&k);
}

/* A link in the workspace leads nowhere; the result is cut all the same. */
static void test_spill_elsewhere(void **state) {
    struct kit k;
    CH_BUF_AUTO text = {0}, got = {0}, path = {0};

    (void)state;
    kit_init(&k);
    kit_mkdir(&k, "../out");
    kit_link(&k, "../out", ".chela");
    assert_true(ch_spill(k.workspace, "a", CH_SV("x"), &path) < 0);
    assert_int_equal(path.n, 0);
    fill(&text, "x", 20000);
    struct ch_shape how = {.workspace = k.workspace};
    assert_true(ch_shape_text(&how, ch_buf_sv(&text), 0, &got));
    assert_non_null(strstr(got.p, "ask for less"));
    assert_int_equal(kit_entries(&k, "../out"), 0);
    kit_free(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_cap),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_tail),
        cmocka_unit_test(test_escapes_do_not_count),
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_array),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_member),
        cmocka_unit_test(test_other_json),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_never_splits),
        cmocka_unit_test(test_spill),
        cmocka_unit_test(test_spill_records),
        cmocka_unit_test(test_spill_is_bounded),
        cmocka_unit_test(test_spill_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
