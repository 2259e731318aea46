/* test_shell_words.c -- commands that are provably plain, and the many that are
 * not. What is accepted is compared with what real shells make of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/limits.h"
#include "tool/process/executable.h"
#include "tool/process/shell_words.h"

/* Words as "[a][b c]", or "-why". */
static void show(struct ch_buf *out, struct ch_sv text, enum ch_words_mode mode) {
    CH_ARENA_AUTO arena = {0};
    struct ch_words w = ch_shell_words(&arena, text, mode);

    ch_buf_clear(out);
    if (!w.v)
        ch_buf_addf(out, "-%s", w.why);
    for (size_t i = 0; w.v && i < w.n; i++)
        ch_buf_addf(out, "[%s]", w.v[i]);
}

static const struct {
    const char *text, *want;
} good[] = {
    {"ls", "[ls]"},
    {"  git\tstatus ", "[git][status]"},
    {"git log --format=%H -n 5", "[git][log][--format=%H][-n][5]"},
    {"echo 'a b' \"c d\" e\\ f", "[echo][a b][c d][e f]"},
    {"echo '' \"\"", "[echo][][]"},
    {"echo 'it'\\''s'", "[echo][it's]"},
    {"echo \"a\\\"b\\\\c\\$d\\`e\"", "[echo][a\"b\\c$d`e]"},
    {"echo \"\\n\"", "[echo][\\n]"},
    {"grep -E '^a|b$' file", "[grep][-E][^a|b$][file]"},
    {"echo '$(touch C)' '`touch C`' '*' '~' '#' '!'", "[echo][$(touch C)][`touch C`][*][~][#][!]"},
    {"echo \\$HOME \\; \\&", "[echo][$HOME][;][&]"},
    {"echo 'two\nlines'", "[echo][two\nlines]"},
    {"echo \"two\nlines\"", "[echo][two\nlines]"},
    {"echo 'a;b' \"c|d\" 'e>f'", "[echo][a;b][c|d][e>f]"},
    {"cat \xe6\x96\x87\xe4\xbb\xb6.txt", "[cat][\xe6\x96\x87\xe4\xbb\xb6.txt]"},
    {"/usr/bin/git -C sub status", "[/usr/bin/git][-C][sub][status]"},
    {"dd if=a of=b", "[dd][if=a][of=b]"},
    {"a'b'\"c\"d", "[abcd]"},
    {"echo a\"\"b ''", "[echo][ab][]"},
};

static void test_plain(void **state) {
    (void)state;
    CH_BUF_AUTO got = {0};

    for (size_t i = 0; i < CH_LEN(good); i++) {
        show(&got, ch_sv_str(good[i].text), CH_WORDS_COMMAND);
        assert_string_equal(ch_buf_str(&got), good[i].want);
    }
}

#define MORE "-more than one command"
#define EXPANDS "-an expansion"
#define SHELL "-a command of the shell itself"

/* Each of these runs something that a look at its first word does not show. */
static const struct {
    const char *text, *want;
} hostile[] = {
    {"echo a && touch C", MORE},
    {"echo a; touch C", MORE},
    {"echo a | sh", MORE},
    {"echo a & touch C", MORE},
    {"echo a\ntouch C", MORE},
    {"echo a\r\ntouch C", "-a control character"},
    {"ls\n", MORE},
    {"echo $(touch C)", EXPANDS},
    {"echo `touch C`", EXPANDS},
    {"echo \"$(touch C)\"", EXPANDS},
    {"echo \"`touch C`\"", EXPANDS},
    {"echo ${x@P}", EXPANDS},
    {"echo $((a[$(touch C)]))", EXPANDS},
    {"echo $\\\n(touch C)", EXPANDS},
    {"echo \"$\\\n(touch C)\"", EXPANDS},
    {"echo $'\\x24(touch C)'", EXPANDS},
    {"echo $\"x\"", EXPANDS},
    {"cat <(touch C)", "-a redirection"},
    {"cat <<E\n$(touch C)\nE", "-a redirection"},
    {"echo x > C", "-a redirection"},
    {"echo x >! C", "-a redirection"},
    {"echo x 2>&1", "-a redirection"},
    {"{touch,C}", "-a pattern that the shell expands"},
    {"touch${IFS}C", EXPANDS},
    {"echo *", "-a pattern that the shell expands"},
    {"echo a?", "-a pattern that the shell expands"},
    {"echo [ab]", "-a pattern that the shell expands"},
    {"ls ~root", "-a pattern that the shell expands"},
    {"ls a=~/x", "-a pattern that the shell expands"},
    {"(touch C)", "-parentheses"},
    {"echo @(a|b)", "-parentheses"},
    {"f() touch C", "-parentheses"},
    {"echo a #b", "-a comment"},
    {"echo hi!touch", "-a character that some shells expand"},
    {"echo \"!!\"", "-a character that some shells expand"},
    {"^a^b", "-a character that some shells expand"},
    {"PATH=. ls", "-an assignment"},
    {"LD_PRELOAD=./x.so ls", "-an assignment"},
    {"x+=1 ls", "-an assignment"},
    {"'a=b' ls", "-an assignment"},
    {"eval ls", SHELL},
    {"exec ls", SHELL},
    {". ./script", SHELL},
    {"source script", SHELL},
    {"command ls", SHELL},
    {"e'v'al ls", SHELL},
    {"\\eval ls", SHELL},
    {"printf -v 'a[$(touch C)]' x", SHELL},
    {"test -v 'a[$(touch C)]'", SHELL},
    {"'[' -v x ']'", SHELL},
    {"cd sub", SHELL},
    {"if true", SHELL},
    {"time ls", SHELL},
    {"trap 'touch C' EXIT", SHELL},
    {"alias ls='touch C'", SHELL},
    {"echo a\\", "-a backslash at the end"},
    {"echo a\\\nb", "-a backslash before something else than a character"},
    {"echo \"a\\\nb\"", "-a backslash before something else than a character"},
    {"echo 'a", "-a quote that is not closed"},
    {"echo \"a", "-a quote that is not closed"},
    {"echo \"a\\\"", "-a quote that is not closed"},
    {"", "-no program"},
    {"   ", "-no program"},
    {"'' a", "-no program"},
    {"-x", "-a program with an unusual name"},
    {"%1", "-a program with an unusual name"},
    {"ls \x1b[2K", "-a control character"},
    {"ls '\x1b[2K'", "-a control character"},
    {"ls \x7f", "-a control character"},
    {"ls '\x07'", "-a control character"},
    {"ls\xc2\xa0-l", "-invisible characters"},
    {"ls '\xe2\x80\xae"
     "txt.exe'",
     "-invisible characters"},
    {"ls a\xe2\x80\x8b"
     "b",
     "-invisible characters"},
    {"ls \xff", "-bytes that are no text"},
    {"ls '\xc0\xaf'", "-bytes that are no text"},
};

static void test_hostile(void **state) {
    (void)state;
    CH_BUF_AUTO got = {0};

    for (size_t i = 0; i < CH_LEN(hostile); i++) {
        show(&got, ch_sv_str(hostile[i].text), CH_WORDS_COMMAND);
        if (strcmp(ch_buf_str(&got), hostile[i].want) != 0)
            fail_msg("%s: %s, not %s", hostile[i].text, ch_buf_str(&got), hostile[i].want);
    }
    show(&got, CH_SV("ls 'a\0b'"), CH_WORDS_COMMAND);
    assert_string_equal(ch_buf_str(&got), "-a control character");
}

static void test_bounds(void **state) {
    (void)state;
    CH_BUF_AUTO text = {0}, got = {0};

    for (size_t i = 0; i < CH_LIMIT_COMMAND_WORDS; i++)
        ch_buf_add_str(&text, "a ");
    show(&got, ch_buf_sv(&text), CH_WORDS_COMMAND);
    assert_int_equal(got.n, 3 * CH_LIMIT_COMMAND_WORDS);
    ch_buf_add_str(&text, "a");
    show(&got, ch_buf_sv(&text), CH_WORDS_COMMAND);
    assert_string_equal(ch_buf_str(&got), "-too many words");
    while (text.n <= CH_LIMIT_COMMAND_TEXT)
        ch_buf_addc(&text, 'a');
    show(&got, ch_buf_sv(&text), CH_WORDS_COMMAND);
    assert_string_equal(ch_buf_str(&got), "-a very long text");
}

/* --- against real shells ------------------------------------------------------- */

static unsigned next_random(unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* A text made of pieces that matter to shells; most are refused. */
static void make_text(unsigned *seed, struct ch_buf *out) {
    static const char *const pieces[] = {
        "a",  "b1", " ", " ",  " ",    "'",     "'",  "\"",   "\"",  "\\", "\\'", "\\\"",
        "$",  "`",  "=", "-x", "--o=", "/",     ".",  ":",    "%s",  "@",  "+",   ",",
        "\t", "\n", "*", "?",  "[",    "{a,b}", "~",  "#",    "!",   "(",  ")",   "<",
        ">",  "|",  "&", ";",  "\\n",  "\\\\",  "''", "\"\"", "\\ ", "é",  "x y", "$(b)",
    };

    ch_buf_clear(out);
    ch_buf_add_str(out, "w ");
    for (unsigned n = 1 + next_random(seed) % 8; n; n--)
        ch_buf_add_str(out, pieces[next_random(seed) % CH_LEN(pieces)]);
}

/* One line of a script for each text that we accept: dump its words. */
static size_t write_script(const char *path, struct ch_buf *want) {
    CH_BUF_AUTO text = {0};
    FILE *f = fopen(path, "w");
    unsigned seed = 42;
    size_t accepted = 0;

    assert_non_null(f);
    fputs("w() { printf '%s' \"$#\"; for a; do printf '[%s]' \"$a\"; done; echo; }\n", f);
    while (accepted < 600) {
        CH_ARENA_AUTO arena = {0};
        make_text(&seed, &text);
        struct ch_words w = ch_shell_words(&arena, ch_buf_sv(&text), CH_WORDS_COMMAND);
        if (!w.v)
            continue;
        accepted++;
        fprintf(f, "%s\n", ch_buf_str(&text));
        ch_buf_addf(want, "%zu", w.n - 1);
        for (size_t i = 1; i < w.n; i++)
            ch_buf_addf(want, "[%s]", w.v[i]);
        ch_buf_addc(want, '\n');
    }
    assert_int_equal(fclose(f), 0);
    return accepted;
}

static void run_shell(const char *shell, const char *script, const char *out) {
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (!freopen(out, "w", stdout))
            _exit(126);
        execl(shell, shell, script, (char *)NULL);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_as_shells_do(void **state) {
    (void)state;
    static const char *const shells[] = {"/bin/sh", "/bin/bash", "/bin/dash"};
    char dir[] = "/tmp/chela-words-XXXXXX", script[64], out[64];
    CH_BUF_AUTO want = {0};

    assert_non_null(mkdtemp(dir));
    snprintf(script, sizeof(script), "%s/script", dir);
    snprintf(out, sizeof(out), "%s/out", dir);
    write_script(script, &want);
    for (size_t i = 0; i < CH_LEN(shells); i++) {
        CH_BUF_AUTO got = {0};
        if (access(shells[i], X_OK) < 0)
            continue;
        run_shell(shells[i], script, out);
        assert_int_equal(ch_file_load(out, CH_MB, &got, NULL), 0);
        assert_string_equal(ch_buf_str(&got), ch_buf_str(&want));
    }
    unlink(script);
    unlink(out);
    assert_int_equal(rmdir(dir), 0);
}

/* --- patterns --------------------------------------------------------------------- */

static void test_patterns(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *word;
        bool match;
    } cases[] = {
        {"status", "status", true},
        {"status", "stat", false},
        {"*", "anything", true},
        {"*", "", true},
        {"*", "-rf", false},
        {"?x", "-x", false},
        {"-*", "-rf", true},
        {"--depth=*", "--depth=1", true},
        {"*.c", "a.c", true},
        {"*.c", "a.h", false},
        {"a*b*c", "axxbyyc", true},
        {"a*b*c", "axxbyy", false},
        {"'*'", "*", true},
        {"'*'", "a", false},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"'a\\b'", "a\\b", true},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"'?'", "?", true},
        {"'?'", "a", false},
        {"''", "", true},
        {"''", "a", false},
        {"https://a.example/*", "https://a.example/b/c", true},
        {"https://a.example/*", "https://a.example.evil/", false},
    };

    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO arena = {0};
        struct ch_words w = ch_shell_words(&arena, ch_sv_str(cases[i].pattern), CH_WORDS_PATTERN);
        assert_non_null(w.v);
        if (ch_glob_word(w.v[0], cases[i].word) != cases[i].match)
            fail_msg("%s against %s", cases[i].pattern, cases[i].word);
    }
}

/* --- programs ------------------------------------------------------------------------ */

static void test_runners(void **state) {
    (void)state;
    static const struct {
        const char *file;
        const char *words[4];
        bool runs;
    } cases[] = {
        {"/bin/sh", {"sh", "-c", "id"}, true},
        {"/usr/bin/python3.11", {"python3"}, true},
        {"/usr/local/bin/node18", {"node"}, true},
        {"Python", {"Python"}, true},
        {"/usr/bin/env", {"env", "ls"}, true},
        {"/usr/bin/sudo", {"sudo", "ls"}, true},
        {"/usr/bin/xargs", {"xargs"}, true},
        {"/usr/bin/make", {"make", "test"}, true},
        {"/lib64/ld-linux-x86-64.so.2", {"ld.so"}, true},
        {"/usr/bin/find", {"find", ".", "-name", "x"}, false},
        {"/usr/bin/find", {"find", ".", "-execdir"}, true},
        {"/usr/bin/find", {"find", ".", "-exec"}, true},
        {"/usr/bin/sort", {"sort", "--compress-prog=sh", "x"}, true},
        {"/usr/bin/sort", {"sort", "--comp=sh", "x"}, true},
        {"/usr/bin/sort", {"sort", "--", "x"}, false},
        {"/usr/bin/sort", {"sort", "x"}, false},
        {"/usr/bin/git", {"git", "status"}, false},
        {"/usr/bin/git", {"git", "-c", "alias.x=!sh"}, true},
        {"/usr/bin/git", {"git", "grep", "-nOsh"}, true},
        {"/usr/bin/git", {"git", "rebase", "--exec=sh"}, true},
        {"/usr/bin/git", {"git", "bisect", "run"}, true},
        {"/usr/bin/git", {"git", "submodule", "foreach"}, true},
        {"/usr/bin/git", {"git", "diff", "--stat"}, false},
        {"/usr/bin/tar", {"tar", "-xf", "a.tar"}, false},
        {"/usr/bin/tar", {"tar", "-xIsh", "-fa"}, true},
        {"/usr/bin/tar", {"tar", "-xfI", "a.tar"}, true},
        {"/usr/bin/tar", {"tar", "xf", "Images"}, false},
        {"/usr/bin/tar", {"tar", "xIf", "sh"}, true},
        {"/bin/ls", {"ls"}, false},
        {"/usr/bin/sha256sum", {"sha256sum"}, false},
        {"/usr/bin/shuf", {"shuf"}, false},
    };

    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (ch_executable_runs_others(cases[i].file, cases[i].words) != cases[i].runs)
            fail_msg("%s %s", cases[i].file, cases[i].words[1] ? cases[i].words[1] : "");
    assert_true(ch_executable_runs_others("/bin/sh", NULL));
}

static void test_readers(void **state) {
    (void)state;
    static const struct {
        const char *words[5];
        bool reads;
    } cases[] = {
        {{"ls", "-la"}, true},
        {{"/bin/cat", "a"}, true},
        {{"/usr/bin/grep", "-o", "x", "a"}, true},
        {{"./cat", "a"}, false},
        {{"/tmp/bin/cat", "a"}, false},
        {{"/usr/bin/x/cat", "a"}, false},
        {{"sort", "a"}, true},
        {{"sort", "-o", "b", "a"}, false},
        {{"sort", "-uob", "a"}, false},
        {{"sort", "--out=b", "a"}, false},
        {{"sort", "--compress-program=sh", "a"}, false},
        {{"find", ".", "-name", "x"}, true},
        {{"find", ".", "-delete"}, false},
        {{"find", ".", "-fprint", "x"}, false},
        {{"find", ".", "-execdir", "rm"}, false},
        {{"rg", "--pre", "sh", "x"}, false},
        {{"rg", "--hostname-bin=sh", "x"}, false},
        {{"rg", "-n", "x"}, true},
        {{"date"}, true},
        {{"date", "-s", "1"}, false},
        {{"file", "-C", "-m", "x"}, false},
        {{"uniq", "a", "b"}, false},
        {{"touch", "a"}, false},
        {{"git", "status"}, false},
        {{"make"}, false},
        {{"sh", "-c", "ls"}, false},
    };

    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (ch_executable_only_reads(cases[i].words) != cases[i].reads)
            fail_msg("%s %s", cases[i].words[0], cases[i].words[1] ? cases[i].words[1] : "");
}

static void test_find_program(void **state) {
    (void)state;
    CH_ARENA_AUTO arena = {0};

    assert_string_equal(ch_executable_find(&arena, "sh", "/bin:/usr/bin", "/"), "/bin/sh");
    assert_string_equal(ch_executable_find(&arena, "sh", "bin::.:/bin", "/"), "/bin/sh");
    assert_string_equal(ch_executable_find(&arena, "/bin/sh", NULL, "/"), "/bin/sh");
    assert_string_equal(ch_executable_find(&arena, "bin/sh", NULL, "/"), "//bin/sh");
    assert_non_null(ch_executable_find(&arena, "sh", NULL, "/"));
    assert_null(ch_executable_find(&arena, "sh", "", "/bin"));
    assert_null(ch_executable_find(&arena, "no-such-program", NULL, "/"));
    assert_null(ch_executable_find(&arena, "", "/bin", "/"));
    assert_null(ch_executable_find(&arena, "/etc/passwd", NULL, "/"));
    assert_null(ch_executable_find(&arena, "/bin", NULL, "/"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_bounds),       cmocka_unit_test(test_as_shells_do),
        cmocka_unit_test(test_patterns),     cmocka_unit_test(test_runners),
        cmocka_unit_test(test_readers),      cmocka_unit_test(test_find_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
