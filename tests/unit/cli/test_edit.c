/* test_edit.c -- the line editor. A terminal hands over bytes in any pieces, so
 * each case runs once per chunk size and must come to the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/term/edit.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define LEFT "\033[D"
#define RIGHT "\033[C"
#define UP "\033[A"
#define DOWN "\033[B"

static void release_view(struct ch_edit_view *v) {
    for (size_t i = 0; i < v->n; i++)
        free(v->lines[i]);
    free(v->lines);
}

/* want: the text with | at the cursor; the actions are letters before it. */
static const struct {
    const char *name, *keys, *want;
} cases[] = {
    {"plain", "hello", "hello|"},
    {"Enter", "hello\r", "s:hello|"},
    {"left and right", "ac" LEFT "b" RIGHT "d", "abcd|"},
    {"application keys", "ac\033ODb", "ab|c"},
    {"home and end", "bc\033[Ha\033[Fd", "abcd|"},
    {"Ctrl-A, Ctrl-E", "bc\001a\005d", "abcd|"},
    {"backspace", "abc\x7f\x7f", "a|"},
    {"backspace at the start", "a" LEFT "\x7f", "|a"},
    {"delete", "abc\001\033[3~", "|bc"},
    {"Ctrl-D deletes, then ends", "ab\001\004\004\004", "e:|"},
    {"CJK moves by character", "你好" LEFT "们", "你们|好"},
    {"CJK backspace", "你好\x7f", "你|"},
    {"a combining accent is part of its letter", "e\xCC\x81x" LEFT "\x7f", "|x"},
    {"emoji", "a\xF0\x9F\x98\x80" LEFT "b", "ab|\xF0\x9F\x98\x80"},
    {"bytes that are no UTF-8 are dropped", "a\xFF\xC3(\x80z", "a(z|"},
    {"words", "one two three\033b\033bX", "one X|two three"},
    {"words, Ctrl-Left", "one two\033[1;5DX", "one X|two"},
    {"kill a word back", "one two.three\027", "one |"},
    {"kill a word ahead", "one two\001\033d", "| two"},
    {"kill and yank", "one two\027\001\031", "two|one "},
    {"kills in a row add up", "one two three\027\027\031", "one two three|"},
    {"kill to the end", "one two\033b\013", "one |"},
    {"kill to the start", "one two\033b\025", "|two"},
    {"transpose", "ab\024", "ba|"},
    {"Alt-Enter breaks the line", "a\033\rb\r", "s:a\nb|"},
    {"Ctrl-J breaks the line", "a\nb", "a\nb|"},
    {"a backslash breaks the line", "a\\\rb\r", "s:a\nb|"},
    {"a backslash in the middle does not", "a\\b\r", "s:a\\b|"},
    {"up and down in the text", "abc\nde\nfgh" UP UP "X" DOWN "Y", "abXc\ndeY|\nfgh"},
    {"down stays at the column", "abc\ndef\001" UP DOWN RIGHT "X", "abc\ndX|ef"},
    {"paste", "\033[200~a\rb\tc\r\nd\033[201~!", "p:a\nb\tc\nd!|"},
    {"a paste sends nothing", "\033[200~rm\r\003\004\033[201~", "p:rm\n|"},
    {"a paste has no keys", "\033[200~ab\033[D\033[201~c", "p:abc|"},
    {"a paste has no C1 controls", "\033[200~a\xC2\x9B" "b\033[201~", "p:ab|"},
    {"an unknown sequence is nothing", "a\033[99;99Zb", "ab|"},
    {"an endless sequence is nothing", "a\033[1111111111111111111111111~b", "ab|"},
    {"Tab asks for words", "/he\t", "t:/he|"},
    {"Ctrl-C", "abc\003", "i:abc|"},
    {"Ctrl-O", "\017", "o:|"},
    {"Ctrl-G, Ctrl-V", "a\007\026", "gv:a|"},
    {"an empty paste is none", "a\033[200~\033[201~b", "ab|"},
    {"the end of no paste", "a\033[201~b", "ab|"},
    {"history", UP, "three\nlines\nlong|"},
    {"history, further", "\020\020", "second|"},
    {"history and back", "draft\020\020\016\016", "draft|"},
    {"down from a new text", "x" DOWN, "x|"},
    {"search", "\022sec", "second|"},
    {"search again", "\022s\022\022", "first|"},
    {"search and send", "\022fir\r", "s:first|"},
    {"search and give up", "new\022fir\003", "new|"},
    {"search in vain", "new\022zzz", "new|"},
};

static struct ch_history history = {0};

static char letter(enum ch_edit_action action) {
    static const char letters[] = {[CH_EDIT_SUBMIT] = 's',  [CH_EDIT_COMPLETE] = 't',
                                   [CH_EDIT_INTERRUPT] = 'i', [CH_EDIT_EOF] = 'e',
                                   [CH_EDIT_ESCAPE] = 'x',  [CH_EDIT_UNFOLD] = 'o',
                                   [CH_EDIT_REDRAW] = 'r',  [CH_EDIT_SUSPEND] = 'z',
                                   [CH_EDIT_EDITOR] = 'g',  [CH_EDIT_CLIPBOARD] = 'v',
                                   [CH_EDIT_PASTED] = 'p'};
    return letters[action];
}

static char *type(const char *keys, size_t n, size_t chunk) {
    struct ch_edit e;
    char *got;
    size_t len, acts = 0;
    FILE *out = open_memstream(&got, &len);

    ch_edit_init(&e, &history);
    for (size_t at = 0; at < n; at += chunk) {
        size_t piece = n - at < chunk ? n - at : chunk;
        for (size_t used = 0; used < piece;) {
            enum ch_edit_action action;
            used += ch_edit_feed(&e, keys + at + used, piece - used, &action);
            if (action != CH_EDIT_NONE)
                acts += fputc(letter(action), out) != EOF;
        }
    }
    fprintf(out, "%s%.*s|%s", acts ? ":" : "", (int)e.at, e.text, e.text + e.at);
    fclose(out);
    ch_edit_release(&e);
    return got;
}

static void test_every_split(void **state) {
    (void)state;
    for (size_t i = 0; i < LEN(cases); i++) {
        size_t n = strlen(cases[i].keys);
        for (size_t chunk = 1; chunk <= n; chunk++) {
            char *got = type(cases[i].keys, n, chunk);
            if (strcmp(got, cases[i].want) != 0)
                fail_msg("%s in pieces of %zu: got '%s', want '%s'", cases[i].name, chunk, got,
                         cases[i].want);
            free(got);
        }
    }
}

/* Whatever bytes come, what is drawn fits and has no control character. */
static void test_any_bytes(void **state) {
    (void)state;
    for (unsigned v = 0; v < 0x10000; v += 7) {
        char keys[] = {(char)(v >> 8), (char)v, 'a', (char)(v >> 3), '\n', (char)(v >> 8)};
        struct ch_edit e;
        struct ch_edit_view view;
        enum ch_edit_action action;

        ch_edit_init(&e, &history);
        for (size_t at = 0; at < sizeof(keys);)
            at += ch_edit_feed(&e, keys + at, sizeof(keys) - at, &action);
        ch_edit_view(&e, "> ", 10, 5, &view);
        assert_true(view.n >= 1 && view.n <= 5 && view.row < view.n && view.column <= 10);
        for (size_t i = 0; i < view.n; i++)
            for (const unsigned char *p = (unsigned char *)view.lines[i]; *p; p++)
                if (*p < 0x20 || *p == 0x7F || (*p == 0xC2 && p[1] < 0xA0))
                    fail_msg("%04x draws '%s'", v, view.lines[i]);
        release_view(&view);
        ch_edit_release(&e);
    }
}

static void test_escape_alone(void **state) {
    struct ch_edit e;
    enum ch_edit_action action;

    (void)state;
    ch_edit_init(&e, NULL);
    ch_edit_feed(&e, "\033", 1, &action);
    assert_int_equal(action, CH_EDIT_NONE);
    assert_true(ch_keys_waiting(&e.keys));
    assert_int_equal(ch_edit_flush(&e), CH_EDIT_ESCAPE);
    assert_int_equal(ch_edit_flush(&e), CH_EDIT_NONE);
    ch_edit_release(&e);
}

static const struct {
    const char *text;
    unsigned columns;
    size_t rows;
    const char *want; /* lines, then row,column */
    const char *prompt;
} views[] = {
    {"", 20, 5, "> /0,2", "> "},
    {"hello", 20, 5, "> hello/0,7", "> "},
    {"a\nb", 20, 5, "> a/  b/1,3", "> "},
    {"12345678", 10, 5, "> 12345678/  /1,2", "> "},
    {"123456789", 10, 5, "> 12345678/  9/1,3", "> "},
    {"你好你好你", 10, 5, "> 你好你好/  你/1,4", "> "},
    {"1你好你好", 10, 5, "> 1你好你/  好/1,4", "> "},
    {"a\tb", 20, 5, "> a    b/0,8", "> "},
    {"a\nb\nc\nd", 20, 2, "  c/  d/1,3", "> "},
    {"yes", 40, 5, "allow? [o]nce, [n]o > yes/0,25", "allow? [o]nce, [n]o > "},
    {"yes", 30, 5, "allow? [o]nce, /[n]o > yes/1,10", "allow? [o]nce, [n]o > "},
    {"yes", 8, 5, "[o]n /ce, /[n]o /> yes/3,5", "[o]nce, [n]o > "},
};

static void test_views(void **state) {
    (void)state;
    for (size_t i = 0; i < LEN(views); i++) {
        struct ch_edit e;
        struct ch_edit_view v;
        char *got;
        size_t len;
        FILE *out = open_memstream(&got, &len);

        ch_edit_init(&e, NULL);
        ch_edit_set(&e, views[i].text);
        ch_edit_view(&e, views[i].prompt, views[i].columns, views[i].rows, &v);
        for (size_t k = 0; k < v.n; k++)
            fprintf(out, "%s/", v.lines[k]);
        fprintf(out, "%zu,%u", v.row, v.column);
        fclose(out);
        if (strcmp(got, views[i].want) != 0)
            fail_msg("'%s' in %u columns: got '%s', want '%s'", views[i].text, views[i].columns,
                     got, views[i].want);
        free(got);
        release_view(&v);
        ch_edit_release(&e);
    }
}

static const struct {
    const char *text;
    size_t from;
    const char *words[4];
    const char *want, *hint;
} completions[] = {
    {"/he", 0, {"/help"}, "/help ", NULL},
    {"see @sr", 4, {"@src/"}, "see @src/", NULL},
    {"/", 0, {"/fork", "/forget"}, "/for", "/fork  /forget  "},
    {"/x", 0, {NULL}, "/x", NULL},
    {"@", 0, {"@你好", "@你们"}, "@你", "@你好  @你们  "},
};

static void test_completion(void **state) {
    (void)state;
    for (size_t i = 0; i < LEN(completions); i++) {
        struct ch_edit e;
        char *words[4];
        size_t n = 0;

        for (; n < 4 && completions[i].words[n]; n++)
            words[n] = strdup(completions[i].words[n]);
        ch_edit_init(&e, NULL);
        ch_edit_set(&e, completions[i].text);
        ch_edit_complete(&e, completions[i].from, words, n);
        assert_string_equal(e.text, completions[i].want);
        if (completions[i].hint)
            assert_string_equal(e.hint, completions[i].hint);
        else
            assert_null(e.hint);
        ch_edit_release(&e);
        while (n > 0)
            free(words[--n]);
    }
}

static void test_history_file(void **state) {
    char dir[] = "/tmp/chela-history-XXXXXX", path[64];
    struct ch_history a = {0}, b = {0};
    struct stat st;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/state/history", dir);
    ch_history_open(&a, path);
    ch_history_add(&a, "one\ntwo \\n");
    ch_history_add(&a, "one\ntwo \\n");
    ch_history_add(&a, "");
    for (int i = 0; i < 2 * CH_HISTORY_ENTRIES; i++) {
        char text[16];
        snprintf(text, sizeof(text), "%d", i);
        ch_history_add(&a, text);
    }
    assert_int_equal(a.n, CH_HISTORY_ENTRIES);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    ch_history_open(&b, path); /* which makes it shorter */
    assert_int_equal(b.n, CH_HISTORY_ENTRIES);
    assert_string_equal(b.list[b.n - 1], "1999");
    ch_history_add(&b, "one\ntwo \\n");
    ch_history_release(&a);
    ch_history_open(&a, path);
    assert_int_equal(a.n, CH_HISTORY_ENTRIES);
    assert_string_equal(a.list[a.n - 1], "one\ntwo \\n");
    ch_history_release(&a);
    ch_history_release(&b);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    rmdir(dir);
}

/* The limit is for keys: a text that is given back to the person is complete. */
static void test_given_back(void **state) {
    struct ch_edit e;
    enum ch_edit_action action;
    size_t n = CH_EDIT_MAX + 10;
    char *text = malloc(n + 1);
    (void)state;
    assert_non_null(text);
    memset(text, 'a', n);
    text[n] = '\0';
    ch_edit_init(&e, NULL);
    ch_edit_set(&e, text);
    assert_int_equal(e.n, n);
    assert_string_equal(e.text, text);
    ch_edit_feed(&e, "b", 1, &action);
    assert_int_equal(e.n, n);
    ch_edit_replace(&e, 0, 1, "cd");
    assert_int_equal(e.n, n + 1);
    assert_memory_equal(e.text, "cdaa", 4);
    ch_edit_release(&e);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_split), cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_escape_alone), cmocka_unit_test(test_views),
        cmocka_unit_test(test_completion),  cmocka_unit_test(test_history_file),
        cmocka_unit_test(test_given_back),
    };
    ch_history_add(&history, "first");
    ch_history_add(&history, "second");
    ch_history_add(&history, "three\nlines\nlong");
    int failed = cmocka_run_group_tests_name("cli/edit", tests, NULL, NULL);
    ch_history_release(&history);
    return failed;
}
