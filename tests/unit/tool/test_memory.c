/* test_memory.c -- memory_search and memory_write through the whole path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "base/calendar.h"
#include "tool/memory/note_index.h"
#include "tool/memory/notes.h"
#include "tool/memory/passage_index.h"
#include "tool/process/sandbox_policy.h"
#include "tool/registry/settings.h"

/* --- past conversations, as a store would have them ------------------------------------ */

static const struct {
    const char *session, *run;
    uint64_t record, turn;
    const char *text;
} said[] = {
    {"a", "r1", 3, 2, "the \x01staging\x02 server is called heron"},
    {"a", "r1", 4, 2, "Noted.\n\nIt listens on port 8443."},
    {"a", "r2", 9, 5, "we deploy on \x01" "Fridays\x02"},
    {"a", "r2", 11, 6, "we deploy on Fridays"},
    {"a", "r2", 12, 6, "航班改到明天十点"},
    {"b", "r9", 2, 1, "somebody else's \x01staging\x02 password"},
};

static int find_said(const struct ch_recall_query *q, ch_recall_fn *fn, void *to, void *user) {
    size_t left = q->limit;
    (void)user;
    for (size_t i = 0; i < CH_LEN(said) && left; i++) {
        struct ch_recalled what = {said[i].session, said[i].record, said[i].turn, said[i].text};
        CH_BUF_AUTO plain = {0};
        for (const char *c = said[i].text; *c; c++)
            if (*c != '\x01' && *c != '\x02')
                ch_buf_addc(&plain, *c);
        if ((q->session && strcmp(q->session, said[i].session) != 0) ||
            (q->run && strcmp(q->run, said[i].run) == 0) ||
            (q->text && !ch_sv_contains_nocase(ch_buf_sv(&plain), q->text)))
            continue;
        left--;
        if (fn(&what, to))
            break;
    }
    return 0;
}

static const struct ch_recall recall = {find_said, NULL};

static struct ch_tool_settings *open_kit(struct kit *k, const char *sessions) {
    const char *list[] = {"memory.enabled=true", sessions, NULL};
    struct ch_settings_opts opts = {.list = list, .recall = &recall};
    struct ch_tool_settings *s;
    struct chela_error err = {0};
    kit_init(k);
    k->opts.session = "a";
    if (ch_settings_new(&opts, &s, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(ch_builtin_add_with(&k->registry, s, "group:memory", NULL, NULL), 0);
    assert_int_equal(k->registry.n, 2);
    return s;
}

static void close_kit(struct kit *k, struct ch_tool_settings *s) {
    kit_free(k);
    ch_settings_unref(s);
}

static void has(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("no '%s' in: %s", part, text);
}

static void lacks(const char *text, const char *part) {
    if (strstr(text, part))
        fail_msg("'%s' in: %s", part, text);
}

static void test_not_offered(void **state) {
    struct ch_settings_opts opts = {.list = NULL};
    struct ch_tool_settings *s;
    struct kit k;
    (void)state;
    kit_init(&k);
    assert_int_equal(ch_settings_new(&opts, &s, NULL), 0);
    assert_int_equal(ch_builtin_add_with(&k.registry, s, "group:memory", NULL, NULL), 0);
    assert_int_equal(k.registry.n, 0);
    close_kit(&k, s);
}

static void test_search(void **state) {
    struct kit k;
    struct ch_tool_settings *s = open_kit(&k, NULL);
    (void)state;
    has(kit_call(&k, "memory_search", "{\"query\":\"anything\"}"), "Nothing is written down");
    assert_false(k.is_error);
    kit_put(&k, "MEMORY.md",
            "# People\n\n- Ann likes tea\n- Bob likes coffee\n\n# Servers\n\nThe staging server is "
            "heron.\nIts port is 8443.\n");
    kit_mkdir(&k, "memory");
    kit_put(&k, "memory/2026-01-02.md", "- 发布窗口是周四晚上\n- the cat is called Tom\n");
    kit_put(&k, "memory/.hidden.md", "- the staging secret\n");
    kit_put(&k, "memory/other.txt", "- staging in a text file\n");
    const char *got = kit_call(&k, "memory_search", "{\"query\":\"which port has staging\"}");
    has(got, "[MEMORY.md:8]\n# Servers\nThe staging server is heron.\nIts port is 8443.\n");
    has(got, "[session a, turn 2]\nthe staging server is called heron\n");
    has(got, "[session a, turn 2]\nIt listens on port 8443.\n");
    lacks(got, "Fridays");
    lacks(got, "somebody else");
    lacks(got, "secret");
    lacks(got, "text file");
    has(k.details, "\"MEMORY.md:8\"");
    has(kit_call(&k, "memory_search", "{\"query\":\"发布窗口\"}"), "[memory/2026-01-02.md:1]");
    has(kit_call(&k, "memory_search", "{\"query\":\"what does Ann drink, likes\",\"limit\":1}"),
        "Ann likes tea");
    has(kit_call(&k, "memory_search", "{\"query\":\"我的航班是几点\"}"), "[session a, turn 6]");
    kit_call(&k, "memory_search", "{\"query\":\"\"}");
    assert_true(k.is_error);
    close_kit(&k, s);
}

/* What is said now is no news. */
static void test_this_run(void **state) {
    struct kit k;
    struct ch_tool_settings *s = open_kit(&k, NULL);
    (void)state;
    k.opts.run = "r1";
    has(kit_call(&k, "memory_search", "{\"query\":\"staging\"}"), "Nothing is written down");
    const char *got = kit_call(&k, "memory_search", "{\"query\":\"deploy\"}");
    has(got, "[session a, turn 5]");
    lacks(got, "[session a, turn 6]\nwe deploy"); /* the same words once more */
    has(got, "[session a, turn 6]\n航班改到明天十点"); /* beside these words */
    close_kit(&k, s);
}

static void test_reach(void **state) {
    struct kit k;
    (void)state;
    struct ch_tool_settings *s = open_kit(&k, "memory.sessions=all");
    has(kit_call(&k, "memory_search", "{\"query\":\"staging\"}"), "[session b, turn 1]");
    close_kit(&k, s);
    s = open_kit(&k, NULL);
    k.opts.session = NULL; /* a call by hand has no past of its own */
    has(kit_call(&k, "memory_search", "{\"query\":\"staging\"}"), "Nothing is written");
    close_kit(&k, s);
    s = open_kit(&k, "memory.sessions=none");
    has(kit_call(&k, "memory_search", "{\"query\":\"staging\"}"), "Nothing is written");
    close_kit(&k, s);
}

/* Every day is searched, and of equally good passages the newest come first, whatever the
 * order of the directory. */
static void test_all_days(void **state) {
    enum { FILES = 1500 };
    struct kit k;
    struct ch_tool_settings *s = open_kit(&k, NULL);
    char name[32], text[64];
    (void)state;
    kit_mkdir(&k, "memory");
    for (int i = FILES - 1; i >= 0; i--) {
        snprintf(name, sizeof(name), "memory/day%05d.md", i);
        snprintf(text, sizeof(text), "- word%05d heron\n", i);
        kit_put(&k, name, text);
    }
    for (int i = 0; i < FILES; i += 97) {
        snprintf(text, sizeof(text), "{\"query\":\"word%05d\"}", i);
        snprintf(name, sizeof(name), "day%05d.md", i);
        has(kit_call(&k, "memory_search", text), name);
    }
    has(kit_call(&k, "memory_search", "{\"query\":\"heron\",\"limit\":1}"), "day01499.md");
    kit_put(&k, "memory/day01500.md", "- word01500 heron\n");
    has(kit_call(&k, "memory_search", "{\"query\":\"heron\",\"limit\":1}"), "day01500.md");
    close_kit(&k, s);
}

/* --- the index between searches --------------------------------------------------------- */

/* A link that a command left does not make a hidden file a note. */
static void test_hidden_file(void **state) {
    struct kit k;
    struct ch_sandbox_policy policy = {0};

    (void)state;
    struct ch_tool_settings *s = open_kit(&k, "memory.sessions=none");
    kit_mkdir(&k, "memory");
    kit_put(&k, "keys", "- the heron key is s3cret\n");
    kit_put(&k, "memory/plain.md", "- the heron key is kept elsewhere\n");
    kit_link(&k, "../keys", "memory/leak.md");
    CH_AUTOFREE char *keys = kit_path(&k, "keys");
    const char *const list[] = {keys, NULL};
    policy.hide = list;
    k.opts.sandbox = &policy;
    const char *got = kit_call(&k, "memory_search", "{\"query\":\"heron key\"}");
    has(got, "[memory/plain.md:1]");
    assert_null(strstr(got, "s3cret"));
    close_kit(&k, s);
}

/* Write a file whose last change was `age` seconds ago. */
static void put_old(struct kit *k, const char *path, const char *text, int64_t age) {
    CH_AUTOFREE char *full = kit_path(k, path);
    struct timespec at = {.tv_sec = (time_t)(ch_now_ms(&ch_clock_system) / 1000 - age)};
    const struct timespec times[] = {at, at};
    kit_put(k, path, text);
    assert_int_equal(utimensat(AT_FDCWD, full, times, 0), 0);
}

/* The sources of the passages that have the words, best first. */
static const char *found(struct ch_note_index *x, struct kit *k, const char *words,
                         struct ch_buf *out) {
    struct ch_vectors none = {0};
    struct ch_notes notes = {0};
    ch_buf_clear(out);
    ch_shelf_best(ch_note_index_lock(x, k->workspace, NULL), ch_sv_str(words), &none, NULL, 9,
                  &notes);
    ch_note_index_unlock(x);
    for (size_t i = 0; i < notes.n; i++)
        ch_buf_addf(out, "%s ", notes.list[i].source);
    ch_notes_release(&notes);
    return ch_buf_str(out);
}

static void test_index_reads_changes(void **state) {
    struct ch_note_index *x = ch_note_index_new();
    struct kit k;
    CH_BUF_AUTO out = {0};
    (void)state;
    kit_init(&k);
    assert_string_equal(found(x, &k, "heron", &out), "");
    kit_mkdir(&k, "memory");
    put_old(&k, "MEMORY.md", "the heron stands\n", 90);
    put_old(&k, "memory/a.md", "a heron flies\n", 80);
    put_old(&k, "memory/b.md", "an owl sleeps\n", 70);
    assert_string_equal(found(x, &k, "heron", &out), "MEMORY.md:1 memory/a.md:1 ");
    assert_int_equal(ch_note_index_reads(x), 3);
    assert_string_equal(found(x, &k, "owl", &out), "memory/b.md:1 ");
    assert_int_equal(ch_note_index_reads(x), 3); /* nothing has changed */

    put_old(&k, "memory/b.md", "an owl and a heron\n", 60);
    assert_string_equal(found(x, &k, "owl", &out), "memory/b.md:1 ");
    assert_int_equal(ch_note_index_reads(x), 4);
    CH_AUTOFREE char *a = kit_path(&k, "memory/a.md"), *c = kit_path(&k, "memory/c.md");
    assert_int_equal(rename(a, c), 0);
    assert_string_equal(found(x, &k, "flies", &out), "memory/c.md:1 ");
    assert_int_equal(unlink(c), 0);
    assert_string_equal(found(x, &k, "flies", &out), "");
    assert_string_equal(found(x, &k, "stands", &out), "MEMORY.md:1 ");

    /* The same size and time: only the time since the change tells. */
    put_old(&k, "memory/b.md", "an elk and a heron\n", 0);
    assert_string_equal(found(x, &k, "elk", &out), "memory/b.md:1 ");
    put_old(&k, "memory/b.md", "an emu and a heron\n", 0);
    assert_string_equal(found(x, &k, "emu", &out), "memory/b.md:1 ");
    assert_string_equal(found(x, &k, "elk", &out), "");
    for (int i = 0; i < 4; i++) { /* the year 2436, whose nanoseconds do not fit */
        put_old(&k, "memory/b.md", i % 2 ? "an elk\n" : "an emu\n", -13000000000);
        assert_string_equal(found(x, &k, i % 2 ? "elk" : "emu", &out), "memory/b.md:1 ");
    }
    for (int i = 0; i < 40; i++) { /* the passages that are gone are given up at times */
        put_old(&k, "memory/b.md", i % 2 ? "an elk\n" : "an emu\n", 50 - i);
        assert_string_equal(found(x, &k, i % 2 ? "elk" : "emu", &out), "memory/b.md:1 ");
        assert_string_equal(found(x, &k, i % 2 ? "emu" : "elk", &out), "");
    }
    ch_note_index_free(x);
    kit_free(&k);
}

/* An answer without the words of the question follows the question. */
static void test_neighbours(void **state) {
    struct ch_note_index *x = ch_note_index_new();
    struct kit k;
    CH_BUF_AUTO out = {0};
    (void)state;
    kit_init(&k);
    put_old(&k, "MEMORY.md",
            "an eel\n\na stork\n\nwhere is the heron?\n\nby the pond\n\nan owl\n\nan elk\n\n"
            "# Other\n\nan emu\n\nthe otter\n",
            90);
    assert_string_equal(found(x, &k, "heron", &out),
                        "MEMORY.md:5 MEMORY.md:3 MEMORY.md:7 MEMORY.md:1 MEMORY.md:9 ");
    assert_string_equal(found(x, &k, "otter", &out), "MEMORY.md:17 MEMORY.md:15 ");
    ch_note_index_free(x);
    kit_free(&k);
}

/* The names of a directory are listed again only after a change of the directory. */
static void test_index_of_a_directory_at_rest(void **state) {
    struct ch_note_index *x = ch_note_index_new();
    struct kit k;
    CH_BUF_AUTO out = {0};
    (void)state;
    kit_init(&k);
    kit_mkdir(&k, "memory");
    put_old(&k, "memory/a.md", "a heron flies\n", 80);
    put_old(&k, "memory/b.md", "an owl sleeps\n", 70);
    put_old(&k, "memory/c.md", "an eel\n", 70);
    CH_AUTOFREE char *b = kit_path(&k, "memory/b.md"), *c = kit_path(&k, "memory/c.md");
    for (int round = 0; round < 2; round++) {
        usleep(1200 * 1000); /* more than the time in which a change may not show */
        for (int i = 0; i < 3; i++)
            assert_string_equal(found(x, &k, "heron", &out), "memory/a.md:1 ");
        assert_int_equal(ch_note_index_reads(x), round ? 7 : 3);
        if (round)
            break;
        put_old(&k, "memory/a.md", "a stork flies\n", 60); /* leaves the directory as it was */
        put_old(&k, "MEMORY.md", "the stork stands\n", 90);
        assert_string_equal(found(x, &k, "stork", &out), "MEMORY.md:1 memory/a.md:1 ");
        assert_string_equal(found(x, &k, "heron", &out), "");
        put_old(&k, "memory/d.md", "a stork\n", 60);
        assert_int_equal(unlink(b), 0);
        assert_string_equal(found(x, &k, "owl", &out), "");
        assert_string_equal(found(x, &k, "eel", &out), "memory/c.md:1 ");
        put_old(&k, "memory/a.md", "a heron flies\n", 50);
    }
    assert_int_equal(unlink(c), 0); /* a name that leads nowhere, and then to a note */
    kit_link(&k, "../later.md", "memory/c.md");
    usleep(1200 * 1000);
    assert_string_equal(found(x, &k, "eel", &out), "");
    put_old(&k, "later.md", "an eel\n", 60);
    assert_string_equal(found(x, &k, "eel", &out), "memory/c.md:1 ");
    ch_note_index_free(x);
    kit_free(&k);
}

/* Links out of the workspace are not followed, and much is cut. */
static void test_bounds(void **state) {
    struct kit k;
    struct ch_tool_settings *s = open_kit(&k, NULL);
    CH_BUF_AUTO text = {0};
    (void)state;
    kit_put(&k, "../outside.md", "the treasure is here\n");
    kit_link(&k, "../outside.md", "MEMORY.md");
    has(kit_call(&k, "memory_search", "{\"query\":\"treasure\"}"), "Nothing is written");
    kit_mkdir(&k, "memory");
    for (int i = 0; i < 3000; i++)
        ch_buf_addf(&text, "\nthe hoard number %d lies deep%s\n", i, i % 7 ? "" : ", very deep");
    kit_put(&k, "memory/long.md", ch_buf_str(&text));
    const char *got = kit_call(&k, "memory_search", "{\"query\":\"hoard\",\"limit\":20}");
    assert_true(strlen(got) < 3000);
    ch_buf_clear(&text);
    for (int i = 0; i < 2000; i++)
        ch_buf_add_str(&text, "hoard ");
    kit_put(&k, "memory/one_line.md", ch_buf_str(&text));
    got = kit_call(&k, "memory_search", "{\"query\":\"hoard\",\"limit\":1}");
    assert_true(strlen(got) < CH_LIMIT_NOTE_SHOWN + 100);
    close_kit(&k, s);
}

static char *today(void) {
    struct ch_date d = ch_date_of(ch_now_ms(&ch_clock_system) / 1000);
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path, "memory/%04d-%02d-%02d.md", d.year, d.month, d.day);
    return ch_buf_take(&path);
}

static void test_write(void **state) {
    struct kit k;
    struct ch_tool_settings *s = open_kit(&k, NULL);
    (void)state;
    CH_AUTOFREE char *before = today();
    has(kit_call(&k, "memory_write", "{\"text\":\"Ann likes tea\\n- Bob too\"}"),
        "Noted in memory/");
    assert_false(k.is_error);
    CH_AUTOFREE char *after = today();
    CH_AUTOFREE char *first = kit_get(&k, before);
    CH_AUTOFREE char *second = kit_get(&k, after); /* midnight may have passed */
    assert_string_equal(first ? first : second, "- Ann likes tea\n- Bob too\n");

    has(kit_call(&k, "memory_write", "{\"text\":\"the port is 8443\",\"kind\":\"lasting\"}"),
        "Noted in MEMORY.md");
    has(kit_call(&k, "memory_write", "{\"text\":\"the port is 8443\",\"kind\":\"lasting\"}"),
        "MEMORY.md has that already");
    kit_call(&k, "memory_write", "{\"text\":\"and more\",\"kind\":\"lasting\"}");
    CH_AUTOFREE char *lasting = kit_get(&k, "MEMORY.md");
    assert_string_equal(lasting, "- the port is 8443\n- and more\n");
    has(kit_call(&k, "memory_search", "{\"query\":\"port\"}"), "8443");

    kit_call(&k, "memory_write", "{\"text\":\"\"}");
    assert_true(k.is_error);
    close_kit(&k, s);
}

static void test_write_stays_inside(void **state) {
    struct kit k;
    struct ch_tool_settings *s = open_kit(&k, NULL);
    (void)state;
    kit_link(&k, "../outside.md", "MEMORY.md");
    kit_put(&k, "../outside.md", "old\n");
    kit_call(&k, "memory_write", "{\"text\":\"x\",\"kind\":\"lasting\"}");
    assert_true(k.is_error);
    CH_AUTOFREE char *outside = kit_get(&k, "../outside.md");
    assert_string_equal(outside, "old\n");
    close_kit(&k, s);
}

static void test_inject_setting(void **state) {
    const char *list[] = {"memory.inject=500", NULL};
    struct ch_settings_opts opts = {.list = list};
    struct ch_tool_settings *s;
    (void)state;
    assert_int_equal(ch_settings_new(&opts, &s, NULL), 0);
    assert_int_equal(s->memory_inject, 500);
    ch_settings_unref(s);
}

static void test_settings(void **state) {
    static const struct {
        const char *line, *why;
    } cases[] = {
        {"memory.enabled=perhaps", "memory.enabled: expected true or false"},
        {"memory.sessions=mine", "memory.sessions: expected own, all or none"},
        {"memory.inject=some", "memory.inject: expected a whole number"},
        {"memory.inject=99999999", "memory.inject: expected a whole number"},
        {"memory.enable=true", "did you mean memory.enabled?"},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        const char *list[] = {cases[i].line, NULL};
        struct ch_settings_opts opts = {.list = list};
        struct ch_tool_settings *s;
        struct chela_error err = {0};
        assert_int_equal(ch_settings_new(&opts, &s, &err), CHELA_EINVAL);
        has(err.message, cases[i].why);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_offered), cmocka_unit_test(test_search),
        cmocka_unit_test(test_reach),       cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_this_run),    cmocka_unit_test(test_all_days),
        cmocka_unit_test(test_write),       cmocka_unit_test(test_write_stays_inside),
        cmocka_unit_test(test_settings),    cmocka_unit_test(test_inject_setting),
        cmocka_unit_test(test_index_reads_changes),
        cmocka_unit_test(test_neighbours),  cmocka_unit_test(test_hidden_file),
        cmocka_unit_test(test_index_of_a_directory_at_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
