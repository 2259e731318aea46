/* test_text.c -- what a run looks like on both streams. The streams are files
 * that are declared to be terminals or not; a terminal shows both, so there
 * they are one file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/report/out.h"
#include "cli/report/out_text.h"

enum { PIPE, TTY, QUIET_PIPE, QUIET_TTY };

struct stage {
    struct ch_console console;
    struct ch_text text;
    FILE *out, *err;
};

static void open_stage(struct stage *s, int kind) {
    struct ch_env env = {.no_color = true};
    bool tty = kind == TTY || kind == QUIET_TTY;

    ch_console_init(&s->console, &env, kind >= QUIET_PIPE ? CH_QUIET : CH_NORMAL, true);
    s->out = tmpfile();
    s->err = tty ? s->out : tmpfile();
    s->console.out = (struct ch_term){.fd = fileno(s->out), .tty = tty, .live = tty};
    s->console.err = (struct ch_term){.fd = fileno(s->err), .tty = tty, .live = tty};
    s->text = (struct ch_text){.console = &s->console, .fresh = true};
}

static void close_stage(struct stage *s) {
    ch_text_release(&s->text);
    ch_console_release(&s->console);
    if (s->err != s->out)
        fclose(s->err);
    fclose(s->out);
}

static void assert_file(FILE *f, const char *want, const char *name) {
    char got[4096];
    ssize_t n = pread(fileno(f), got, sizeof(got) - 1, 0);
    got[n < 0 ? 0 : n] = '\0';
    if (strcmp(got, want) != 0)
        fail_msg("%s:\n got \"%s\"\nwant \"%s\"", name, got, want);
}

/* A run in few letters, words separated by blanks: Ttext (a piece of it, '_'
 * for a blank, '/' for a line break), Rreasoning, C (a tool call and its
 * result), N (next turn), Y (retry), Eanswer (the end). */
static struct chela_str decoded(char *word) {
    for (char *p = word; *p; p++)
        *p = *p == '_' ? ' ' : *p == '/' ? '\n' : *p == '^' ? '\033' : *p;
    return (struct chela_str){word, strlen(word)};
}

static void send(struct stage *s, struct chela_event ev) {
    ch_text_event(&s->text, &ev);
}

static void call_tool(struct stage *s) {
    struct chela_event ev = {.type = CHELA_EV_TOOL_CALL};
    ev.call.name = (struct chela_str){"ls", 2};
    ev.call.arguments = (struct chela_str){"{}", 2};
    send(s, ev);
    ev = (struct chela_event){.type = CHELA_EV_TOOL_RESULT};
    ev.result.name = (struct chela_str){"ls", 2};
    ev.result.is_error = true;
    ev.result.error_type = "not_found";
    ev.result.content = (struct chela_str){"{\"error\":\"no\"}", 14};
    send(s, ev);
    send(s, (struct chela_event){.type = CHELA_EV_TURN_END});
}

static void play(struct stage *s, const char *script) {
    char *copy = strdup(script), *rest = copy, *word;
    send(s, (struct chela_event){.type = CHELA_EV_TURN_START});
    while ((word = strsep(&rest, " "))) {
        struct chela_str text = decoded(word + 1);
        struct chela_event ev = {.type = CHELA_EV_TEXT_DELTA, .delta = {.text = text}};
        switch (*word) {
        case 'R':
            ev.type = CHELA_EV_REASONING_DELTA; /* fall through */
        case 'T':
            send(s, ev);
            break;
        case 'C':
            call_tool(s);
            break;
        case 'N':
            send(s, (struct chela_event){.type = CHELA_EV_TURN_START});
            break;
        case 'Y':
            send(s, (struct chela_event){.type = CHELA_EV_RETRY,
                                         .retry = {.attempt = 1, .reason = {"busy", 4}}});
            break;
        case 'E':
            send(s, (struct chela_event){.type = CHELA_EV_RUN_END, .end = {.text = text}});
            break;
        }
    }
    free(copy);
}

#define TOOL "[tool] ls {}\n[tool] ls failed (not_found): no\n"
#define RETRY "[retry] attempt 1 in 0.0 s: busy\n"

static const struct {
    int kind;
    const char *script, *out, *err;
} cases[] = {
    /* exactly one newline, whatever the model wrote */
    {PIPE, "Thi Ehi", "hi\n", ""},
    {PIPE, "Thi/// Ehi///", "hi\n", ""},
    {PIPE, "E", "", ""},
    {PIPE, "Ta//b Ea//b", "a\n\nb\n", ""},
    {TTY, "Thi Ehi", "hi\n", ""},
    {TTY, "Thi/ T/ Ehi//", "hi\n", ""},
    {TTY, "Ta/ T/b Ea//b", "a\n\nb\n", ""},
    /* the answer is passed on as it is, but not to a terminal */
    {PIPE, "Ta^b Ea^b", "a\033b\n", ""},
    {TTY, "Ta^b Ea^b", "a\\u001bb\n", ""},
    /* text before tool calls is not the answer */
    {PIPE, "Tlook T_here C N Tdone Edone", "done\n", "[text] look here\n" TOOL},
    {TTY, "Tlook T_here C N Tdone Edone", "look here\n" TOOL "done\n", ""},
    {PIPE, "Rhm Tlook C N Rso Tdone Edone", "done\n",
     "[reasoning] hm\n[text] look\n" TOOL "[reasoning] so\n"},
    {QUIET_PIPE, "Tlook C N Tdone Edone", "done\n", ""},
    {QUIET_TTY, "Tlook C N Tdone Edone", "done\n", ""},
    /* an answer that was not streamed, or is not the last text */
    {TTY, "Ewhole", "whole\n", ""},
    {TTY, "Ta Eother", "a\nother\n", ""},
    /* the end came while tools were at work: text is not shown twice */
    {TTY, "Tlook C Elook", "look\n" TOOL, ""},
    /* reasoning has lines of its own */
    {PIPE, "Rhm Rm/so Tdone Edone", "done\n", "[reasoning] hmm\nso\n"},
    {TTY, "Rhm T42 E42", "[reasoning] hm\n42\n", ""},
    {TTY, "T4 Rhm T2 E42", "4\n[reasoning] hm\n2\n", ""},
    {PIPE, "R^[2J E", "", "[reasoning] \\u001b[2J\n"},
    /* a reply that starts over */
    {PIPE, "Tpart Y Twhole Ewhole", "whole\n", "[text] part\n" RETRY},
    {TTY, "Tpart Y Twhole Ewhole", "part\n" RETRY "whole\n", ""},
};

static void test_table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct stage s;
        open_stage(&s, cases[i].kind);
        play(&s, cases[i].script);
        assert_file(s.out, cases[i].out, cases[i].script);
        if (s.err != s.out)
            assert_file(s.err, cases[i].err, cases[i].script);
        close_stage(&s);
    }
}

#define ERASE "\r\033[K"

/* The status line goes before anything else is written, and does not come
 * while a line of text is unfinished. */
static void test_status_line(void **state) {
    (void)state;
    struct stage s;
    open_stage(&s, TTY);
    ch_console_status(&s.console, "turn 1");
    ch_console_note(&s.console, "a note");
    ch_console_status(&s.console, "turn 2");
    ch_console_answer(&s.console, "half", 4);
    ch_console_status(&s.console, "turn 3");
    ch_console_answer_end(&s.console);
    ch_console_status(&s.console, "turn 4");
    ch_console_status(&s.console, NULL);
    assert_file(s.out,
                ERASE "turn 1" ERASE "a note\n" ERASE "turn 2" ERASE "half\n" ERASE "turn 4" ERASE,
                "status line");
    close_stage(&s);
}

/* Every step of the longest plan has a line. */
static void test_plan(void **state) {
    enum { STEPS = 32 };
    char *json, *want;
    size_t n, len;
    FILE *steps = open_memstream(&json, &n), *lines = open_memstream(&want, &len);
    struct stage s;
    (void)state;
    for (int i = 1; i <= STEPS; i++) {
        fprintf(steps, "%c{\"description\":\"do %d\",\"status\":\"pending\"}", i > 1 ? ',' : '[',
                i);
        fprintf(lines, "[plan] [ ] %d. do %d\n", i, i);
    }
    fputc(']', steps);
    fclose(steps);
    open_stage(&s, PIPE);
    struct chela_event ev = {.type = CHELA_EV_PLAN, .plan = {{json, n}}};
    send(&s, ev);
    memcpy(strrchr(json, '"') - strlen("pending"), "failed\" ", strlen("failed\" "));
    send(&s, ev);
    send(&s, ev); /* once */
    fprintf(lines, "[plan] [!] %d. do %d\n", STEPS, STEPS);
    fclose(lines);
    assert_file(s.err, want, "the plan");
    close_stage(&s);
    free(json);
    free(want);
}

static void test_status_line_needs_a_terminal(void **state) {
    (void)state;
    struct stage s;
    open_stage(&s, PIPE);
    ch_console_status(&s.console, "turn 1");
    assert_file(s.err, "", "status line");
    close_stage(&s);
}

static void test_failed_write_is_remembered(void **state) {
    (void)state;
    struct stage s;
    open_stage(&s, PIPE);
    int fd = s.console.out.fd;
    s.console.out.fd = -1;
    ch_console_print(&s.console, "x", 1);
    s.console.out.fd = fd;
    ch_console_print(&s.console, "y", 1); /* nothing after a gap */
    assert_true(ch_console_failure(&s.console) != 0);
    assert_int_equal(ch_console_exit(&s.console, 0), 1);
    assert_int_equal(ch_console_exit(&s.console, 4), 4);
    assert_file(s.out, "", "stdout");
    close_stage(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_status_line),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_status_line_needs_a_terminal),
        cmocka_unit_test(test_failed_write_is_remembered),
    };
    return cmocka_run_group_tests_name("cli/text", tests, NULL, NULL);
}
