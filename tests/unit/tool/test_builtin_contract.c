/* test_builtin_contract.c -- built-in tools are held to their schemas: slips
 * are corrected, other names and forms are understood, and what does not fit is
 * explained with path, expectation and what came instead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/call/retry.h"

static const struct {
    const char *tool, *arguments;
    const char *says, *says_too; /* parts of the result; says_too may be NULL */
    bool is_error;
} cases[] = {
    /* slips of weak models */
    {"read", "{\"file_path\":\"f\",\"offset\":\"2\"}", "two", NULL, false},
    {"read", "{\"file_path\":\"f\",\"limit\":null}", "one", "two", false},
    {"find", "{\"pattern\":\"*\",\"hidden\":\"true\"}", "f", NULL, false},
    /* other names, other forms */
    {"read", "{\"path\":\"f\"}", "one", NULL, false},
    {"edit", "{\"path\":\"f\",\"old_string\":\"one\",\"new_string\":\"ONE\"}", "f", NULL, false},
    {"calculate", "{\"expr\":\"1+1\"}", "2", NULL, false},
    /* what does not fit: all of it, with the tool's name, paths and values */
    {"read", "{\"offset\":\"x\"}", "The arguments of read do not fit its schema",
     "offset must be an integer", true},
    {"read", "{\"file_path\":[1]}", "file_path", "string", true},
    {"find", "{\"pattern\":\"*\",\"type\":\"socket\"}", "type", "directory", true},
    {"grep", "{\"pattern\":\"a\",\"output_mode\":\"all\"}", "output_mode", "files_with_matches",
     true},
    {"todo", "{\"action\":\"burn\"}", "action", "replace", true},
    {"ask_user", "{}", "question", "do not fit", true},
};

static void test_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct kit k;
        kit_init(&k);
        assert_int_equal(ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL), 0);
        kit_put(&k, "f", "one\ntwo\n");
        const char *content = kit_call(&k, cases[i].tool, cases[i].arguments);
        if (k.is_error != cases[i].is_error || !strstr(content, cases[i].says) ||
            (cases[i].says_too && !strstr(content, cases[i].says_too)))
            fail_msg("%s %s: %s", cases[i].tool, cases[i].arguments, content);
        if (k.is_error)
            assert_string_equal(k.error_type, "invalid_arguments");
        kit_free(&k);
    }
}

/* A parameter of another tool is refused: the model would believe that it had an effect. */
static void test_parameters_of_other_tools(void **state) {
    static const struct {
        const char *tool, *arguments, *says;
    } rows[] = {
        {"write", "{\"file_path\":\"f\",\"content\":\"x\",\"mode\":\"append\"}",
         "unknown key 'mode'; allowed: file_path, content"},
        {"write", "{\"path\":\"f\",\"content\":\"x\",\"mode\":\"append\"}",
         "unknown key 'mode'; allowed: file_path, content"},
        {"write", "{\"file_path\":\"f\",\"content\":\"x\",\"text\":\"y\"}", "unknown key 'text'"},
        {"read", "{\"file_path\":\"f\",\"timeout\":5}", "unknown key 'timeout'"},
        {"ls", "{\"path\":\".\",\"mode\":\"long\"}", "unknown key 'mode'; allowed: path"},
        {"edit", "{\"file_path\":\"f\",\"edits\":[],\"mode\":\"all\"}", "unknown key 'mode'"},
        {"edit",
         "{\"file_path\":\"f\",\"edits\":[{\"old_text\":\"one\",\"new_text\":\"1\","
         "\"mode\":\"all\"}]}",
         "unknown key 'mode'"},
        {"calculate", "{\"expression\":\"1\",\"timeout\":5}", "unknown key 'timeout'"},
        {"time", "{\"mode\":\"utc\"}", "unknown key 'mode'"},
        {"todo", "{\"task\":\"x\"}", "unknown key 'task'"},
        {"exec", "{\"command\":\"true\",\"mode\":\"x\"}", "unknown key 'mode'"},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct kit k;
        kit_init(&k);
        assert_int_equal(ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL), 0);
        kit_put(&k, "f", "one\n");
        const char *content = kit_call(&k, rows[i].tool, rows[i].arguments);
        if (!k.is_error || strcmp(k.error_type, "invalid_arguments") != 0 ||
            !strstr(content, rows[i].says))
            fail_msg("%s %s: %s", rows[i].tool, rows[i].arguments, content);
        CH_AUTOFREE char *file = kit_get(&k, "f");
        assert_string_equal(file, "one\n");
        kit_free(&k);
    }
}

/* Tools with a time limit of their own end at the time that their description names, repetitions
 * included. */
static void test_times(void **state) {
    (void)state;
    static const struct {
        const char *tool;
        int64_t ms;
        const char *says; /* NULL: no number */
    } times[] = {
        {"web_fetch", CH_DEFAULT_WEB_MS, "30 seconds"},
        {"query_database", CH_DEFAULT_SQL_MS, "20 seconds"},
        {"web_search", CH_DEFAULT_SEARCH_MS, NULL},
    };
    for (size_t i = 0; i < CH_LEN(times); i++) {
        const struct chela_tool_opts *o = ch_builtin_tools;
        while (o->name && strcmp(o->name, times[i].tool) != 0)
            o++;
        struct ch_tool t = {.effect = o->effect, .max_retries = 2, .timeout_ms = o->timeout_ms};
        struct ch_outcome late = {0};
        assert_non_null(o->name);
        assert_in_range(o->timeout_ms, times[i].ms, times[i].ms + 1000);
        if (times[i].says)
            assert_non_null(strstr(o->description, times[i].says));
        ch_outcome_error(&late, "timeout", "x");
        assert_int_equal(ch_retry_delay(&t, &late, 1, times[i].ms), -1);
        ch_outcome_release(&late);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_times),
                                       cmocka_unit_test(test_parameters_of_other_tools)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
