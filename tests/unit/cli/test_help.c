/* test_help.c -- help and manual say all there is, and docs/chela.1 is what
 * the tables say today. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/main/command_table.h"
#include "cli/main/help.h"
#include "cli/main/man.h"
#include "cli/main/reference.h"
#include "cli/report/out.h"
#include "cli/report/out_json.h"
#include "cli/support/suggest.h"

static char *written(void (*write)(FILE *out, const void *arg), const void *arg) {
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    write(out, arg);
    fclose(out);
    return text;
}

static void write_man(FILE *out, const void *arg) {
    (void)arg;
    ch_man_write(out, ch_command_table);
}

static void write_help(FILE *out, const void *arg) {
    ch_help_write(out, ch_command_table, arg);
}

static void assert_holds(const char *text, const char *part, const char *where) {
    if (!strstr(text, part))
        fail_msg("'%s' is missing in %s", part, where);
}

/* "--max-turns" as roff writes it. */
static void roff_flag(char *out, size_t size, const char *name) {
    size_t n = (size_t)snprintf(out, size, "\\-\\-");
    for (; *name && n + 3 < size; name++)
        n += (size_t)snprintf(out + n, size - n, *name == '-' ? "\\-" : "%c", *name);
}

static void test_every_flag_is_told(void **state) {
    (void)state;
    char *man = written(write_man, NULL), *all = written(write_help, NULL);
    for (ch_commands c = ch_command_table; *c; c++) {
        char *help = written(write_help, (*c)->name), flag[100];
        assert_holds(all, (*c)->name, "chela --help");
        assert_holds(all, (*c)->summary, "chela --help");
        for (const struct ch_opt *o = (*c)->opts; o->name; o++) {
            snprintf(flag, sizeof(flag), " --%s", o->name);
            assert_holds(help, flag, (*c)->name);
            roff_flag(flag, sizeof(flag), o->name);
            assert_holds(man, flag, "the manual");
        }
        free(help);
    }
    free(man);
    free(all);
}

/* What this version lacks is not promised. */
static void test_later_flags_are_not_told(void **state) {
    (void)state;
    char *help = written(write_help, ch_cmd_run.name);
    for (const char *const *l = ch_cmd_run.later; l && *l; l++) {
        char flag[100];
        snprintf(flag, sizeof(flag), " --%s ", *l); /* the whole name: --replay, not --re */
        if (strstr(help, flag))
            fail_msg("chela run --help tells of --%s", *l);
        for (const struct ch_opt *o = ch_cmd_run.opts; o->name; o++)
            assert_string_not_equal(o->name, *l);
    }
    free(help);
}

static void test_help_fits_a_terminal(void **state) {
    (void)state;
    for (ch_commands c = ch_command_table; *c; c++) {
        char *help = written(write_help, (*c)->name);
        for (char *rest = help, *line; (line = strsep(&rest, "\n"));)
            if (strlen(line) > 80)
                fail_msg("%s: a line of %zu columns: %s", (*c)->name, strlen(line), line);
        free(help);
    }
}

static void test_names_and_letters_are_unique(void **state) {
    (void)state;
    for (ch_commands c = ch_command_table; *c; c++)
        for (const struct ch_opt *a = (*c)->opts; a->name; a++)
            for (const struct ch_opt *b = a + 1; b->name; b++)
                if (strcmp(a->name, b->name) == 0 || (a->letter && a->letter == b->letter))
                    fail_msg("%s: --%s and --%s", (*c)->name, a->name, b->name);
}

static void write_reference(FILE *out, const void *unused) {
    (void)unused;
    ch_reference_write(out, ch_command_table);
}

static void assert_stored(const char *path, char *want) {
    char *stored = calloc(1, 1 << 20);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_true(fread(stored, 1, (1 << 20) - 1, in) > 0);
    fclose(in);
    if (strcmp(stored, want) != 0)
        fail_msg("%s is not what the tables say", path);
    free(stored);
    free(want);
}

static void test_manual_is_up_to_date_else_make_man(void **state) {
    (void)state;
    assert_stored("docs/chela.1", written(write_man, NULL));
    assert_stored("docs/reference.md", written(write_reference, NULL));
}

static const struct {
    const char *json, *want;
} pretty[] = {
    {"{}", "{}\n"},
    {"[ ]", "[]\n"},
    {"1.50", "1.50\n"},
    {"{\"a\":1,\"b\":[true,null]}", "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    null\n  ]\n}\n"},
    {"{\"a:,{\\\"}\":\"\\\\\"}", "{\n  \"a:,{\\\"}\": \"\\\\\"\n}\n"},
    {" { \"a\" : { } } ", "{\n  \"a\": {}\n}\n"},
};

static void write_pretty(FILE *out, const void *json) {
    ch_json_pretty(out, json, strlen(json));
}

static void test_pretty(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(pretty) / sizeof(pretty[0]); i++) {
        char *got = written(write_pretty, pretty[i].json);
        assert_string_equal(got, pretty[i].want);
        free(got);
    }
}

static const struct {
    const char *word, *want; /* "": none */
} slips[] = {
    {"rnu", "run"},     {"ru", "run"},    {"tool", "tools"}, {"tolos", "tools"},
    {"conf", "config"}, {"wier", "wire"}, {"halp", "help"},  {"chat", ""},
    {"serve", ""},      {"sessions", ""}, {"x", ""},         {"", ""},
};

static void test_suggestions(void **state) {
    (void)state;
    static const char *const known[] = {"run", "tools", "wire", "config", "help"};
    for (size_t i = 0; i < sizeof(slips) / sizeof(slips[0]); i++) {
        struct ch_suggest near;
        ch_suggest_init(&near, slips[i].word, strlen(slips[i].word));
        for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
            ch_suggest_try(&near, known[k], strlen(known[k]));
        const char *got = near.best ? near.best : "";
        if (strcmp(got, slips[i].want) != 0)
            fail_msg("%s: got '%s', want '%s'", slips[i].word, got, slips[i].want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_flag_is_told),
        cmocka_unit_test(test_later_flags_are_not_told),
        cmocka_unit_test(test_help_fits_a_terminal),
        cmocka_unit_test(test_names_and_letters_are_unique),
        cmocka_unit_test(test_manual_is_up_to_date_else_make_man),
        cmocka_unit_test(test_pretty),
        cmocka_unit_test(test_suggestions),
    };
    return cmocka_run_group_tests_name("cli/help", tests, NULL, NULL);
}
