/* test_registry.c -- adding, finding, describing and matching tools. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "tool/builtin/builtin.h"
#include "tool/builtin/outside.h"
#include "tool/registry/registry.h"
#include "tool/call/function.h"

static int nothing(chela_call *call, void *user) {
    (void)call;
    (void)user;
    return 0;
}

static const struct {
    const char *what, *name, *schema;
    int want;
    const char *message;
} adding[] = {
    {"plain", "read_file-2", "{}", 0, ""},
    {"no schema", "a", NULL, 0, ""},
    {"taken", "a", NULL, CHELA_EEXIST, "there is a tool named a already"},
    {"no name", NULL, NULL, CHELA_EINVAL, "bad tool name"},
    {"empty name", "", NULL, CHELA_EINVAL, "bad tool name"},
    {"space in the name", "a b", NULL, CHELA_EINVAL, "bad tool name"},
    {"dot in the name", "a.b", NULL, CHELA_EINVAL, "bad tool name"},
    {"not ASCII", "\xc3\xa9", NULL, CHELA_EINVAL, "bad tool name"},
    {"64 characters", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL, 0,
     ""},
    {"65 characters", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL,
     CHELA_EINVAL, "bad tool name"},
    {"schema is no JSON", "b", "{", CHELA_EINVAL, "tool b: schema:"},
    {"schema is an array", "b", "[]", CHELA_EINVAL, "must be a JSON object"},
    {"schema of a string", "b", "{\"type\":\"string\"}", CHELA_EINVAL, "must be \"object\""},
};

static void test_adding(void **state) {
    struct ch_registry r = {0};

    (void)state;
    for (size_t i = 0; i < CH_LEN(adding); i++) {
        struct chela_tool_opts opts =
            CHELA_TOOL_OPTS(.name = adding[i].name, .fn = nothing, .schema = adding[i].schema);
        struct chela_error err = {0};
        uint64_t revision = r.revision;
        int rc = ch_function_add(&r, &opts, &err);
        if (rc != adding[i].want || !strstr(err.message, adding[i].message))
            fail_msg("%s: %d %s", adding[i].what, rc, err.message);
        assert_int_equal(r.revision != revision, rc == 0);
    }
    ch_registry_release(&r);
}

static void test_who_runs_it(void **state) {
    struct ch_registry r = {0};
    struct chela_tool_opts none = CHELA_TOOL_OPTS(.name = "none");
    struct chela_tool_opts host = CHELA_TOOL_OPTS(.name = "host", .flags = CHELA_TOOL_CLIENT);
    struct chela_tool_opts both =
        CHELA_TOOL_OPTS(.name = "both", .fn = nothing, .flags = CHELA_TOOL_CLIENT);
    struct chela_tool_opts no_size = {.name = "x", .fn = nothing};

    (void)state;
    assert_int_equal(ch_function_add(&r, &none, NULL), CHELA_EINVAL);
    assert_int_equal(ch_function_add(&r, &both, NULL), CHELA_EINVAL);
    assert_int_equal(ch_function_add(&r, &no_size, NULL), CHELA_EINVAL);
    assert_int_equal(ch_function_add(&r, NULL, NULL), CHELA_EINVAL);
    assert_int_equal(ch_function_add(&r, &host, NULL), 0);
    assert_null(ch_registry_find(&r, CH_SV("host"))->ops);
    ch_registry_release(&r);
}

static void test_texts(void **state) {
    static const struct {
        const char *description, *summary;
    } texts[] = {
        {"Reads a file. Then more.", "Reads a file."},
        {"Version 1.2 of it. More", "Version 1.2 of it."},
        {"one line\nsecond", "one line"},
        {"no end", "no end"},
        {"\xe8\xaf\xbb\xe3\x80\x82\xe5\x86\x99", "\xe8\xaf\xbb\xe3\x80\x82"},
        {NULL, ""},
    };
    struct ch_registry r = {0};
    struct ch_tool_def defs[CH_LEN(texts)];

    (void)state;
    for (size_t i = 0; i < CH_LEN(texts); i++) {
        char name[2] = {(char)('a' + i), '\0'};
        struct chela_tool_opts opts =
            CHELA_TOOL_OPTS(.name = name, .fn = nothing, .description = texts[i].description,
                            .schema = "{ \"properties\" : { \"x\": {\"type\":\"string\"} } }");
        assert_int_equal(ch_function_add(&r, &opts, NULL), 0);
        assert_true(ch_sv_is(ch_tool_summary(r.tools[i]), texts[i].summary));
    }
    ch_registry_defs(&r, defs);
    assert_true(ch_sv_is(defs[0].name, "a"));
    assert_true(ch_sv_is(defs[0].description, "Reads a file. Then more."));
    assert_true(ch_sv_is(defs[0].schema,
                         "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}}}"));
    ch_registry_release(&r);
}

static void test_timeouts(void **state) {
    static const struct {
        int64_t given, want;
    } cases[] = {{0, CH_DEFAULT_TOOL_MS}, {-1, 0}, {5, 5}};

    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_registry r = {0};
        struct chela_tool_opts opts =
            CHELA_TOOL_OPTS(.name = "a", .fn = nothing, .timeout_ms = cases[i].given);
        assert_int_equal(ch_function_add(&r, &opts, NULL), 0);
        assert_int_equal(r.tools[0]->timeout_ms, cases[i].want);
        ch_registry_release(&r);
    }
}

static void test_removing(void **state) {
    struct ch_registry r = {0};

    (void)state;
    assert_int_equal(ch_builtin_add_with(&r, NULL, NULL, NULL, NULL), 0);
    struct ch_tool *held = ch_registry_find(&r, CH_SV("write"));
    ch_tool_ref(held);
    size_t n = r.n;
    uint64_t revision = r.revision;
    assert_int_equal(ch_registry_remove(&r, "write"), 0);
    assert_int_equal(ch_registry_remove(&r, "write"), CHELA_ENOENT);
    assert_int_equal(r.n, n - 1);
    assert_int_equal(r.revision, revision + 1);
    assert_null(ch_registry_find(&r, CH_SV("write")));
    assert_string_equal(r.tools[1]->name, "edit"); /* the order is kept */
    ch_registry_release(&r);
    assert_string_equal(held->name, "write"); /* a call in progress still has it */
    ch_tool_unref(held);
}

static void test_similar(void **state) {
    static const struct {
        const char *name, *want;
    } cases[] = {
        {"raed", "read"},
        {"Write", "write"},
        {"read_file", "read"},
        {"calculator", "calculate"},
        {"lss", "ls"},
        {"frobnicate", ""},
        {"", ""},
    };
    struct ch_registry r = {0};

    (void)state;
    ch_builtin_add_with(&r, NULL, NULL, NULL, NULL);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO got = {0};
        ch_registry_similar(&r, NULL, ch_sv_str(cases[i].name), &got);
        if (strncmp(ch_buf_str(&got), cases[i].want, strlen(cases[i].want)) != 0 ||
            (!cases[i].want[0] && got.n))
            fail_msg("%s: %s", cases[i].name, ch_buf_str(&got));
    }
    ch_registry_release(&r);
}

static void test_patterns(void **state) {
    static const struct {
        const char *patterns, *name;
        bool want;
    } cases[] = {
        {"read", "read", true},
        {"read", "reads", false},
        {"read,write", "write", true},
        {" read , write ", "write", true},
        {"web_*", "web_fetch", true},
        {"web_*", "web_", true},
        {"web_*", "we", false},
        {"*", "anything", true},
        {"*e*c*", "execute", true},
        {"*e*c*", "edit", false},
        {"r??d", "read", true},
        {"r?d", "read", false},
        {"", "read", false},
        {",,", "read", false},
        {"**a", "bca", true},
        {"*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (ch_tool_matches(ch_sv_str(cases[i].patterns), ch_sv_str(cases[i].name)) !=
            cases[i].want)
            fail_msg("%s on %s", cases[i].patterns, cases[i].name);
}

static void test_builtins(void **state) {
    static const struct {
        const char *allow, *deny, *want;
    } cases[] = {
        {"read,write,edit,ls,calculate", NULL, "read write edit ls calculate "},
        {"read,ls,nosuch", NULL, "read ls "},
        {"read,write,edit,l*", "write,edit", "read ls "},
        {"*", "*", ""},
        {"", NULL, ""},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_registry r = {0};
        CH_BUF_AUTO got = {0};
        assert_int_equal(ch_builtin_add_with(&r, NULL, cases[i].allow, cases[i].deny, NULL), 0);
        for (size_t k = 0; k < r.n; k++)
            ch_buf_addf(&got, "%s ", r.tools[k]->name);
        assert_string_equal(ch_buf_str(&got), cases[i].want);
        ch_registry_release(&r);
    }
}

/* Without a list there are all that need no settings, in the table's order. */
static void test_all_builtins(void **state) {
    struct ch_registry r = {0};
    size_t n = 0;

    (void)state;
    assert_int_equal(ch_builtin_add_with(&r, NULL, NULL, NULL, NULL), 0);
    for (const struct chela_tool_opts *t = ch_builtin_tools; t->name; t++)
        if (n < r.n && strcmp(r.tools[n]->name, t->name) == 0)
            n++;
        else
            assert_non_null(ch_outside_find(t->name));
    assert_int_equal(n, r.n);
    ch_registry_release(&r);
}

/* The registry trusts the texts of built-in tools (CH_TOOL_CONSTANT): the schemas are valid,
 * and as compact as the registry would make them. */
static void test_constants(void **state) {
    struct ch_registry r = {0};

    (void)state;
    for (const struct chela_tool_opts *t = ch_builtin_tools; t->name; t++) {
        struct chela_tool_opts opts = *t;
        opts.fn = t->flags & CHELA_TOOL_CLIENT ? NULL : nothing;
        opts.flags |= CHELA_TOOL_FORGIVING | CH_TOOL_CLOSED;
        assert_int_equal(ch_function_add(&r, &opts, NULL), 0);
        struct ch_tool *copy = r.tools[r.n - 1];
        assert_non_null(copy->contract);
        assert_string_equal(copy->schema, t->schema);
        assert_non_null(t->description);
        opts.flags |= CH_TOOL_CONSTANT;
        assert_int_equal(ch_registry_remove(&r, t->name), 0);
        assert_int_equal(ch_function_add(&r, &opts, NULL), 0);
        struct ch_tool *constant = r.tools[r.n - 1];
        assert_ptr_equal(constant->schema, t->schema);
        assert_null(constant->contract);
        assert_non_null(ch_tool_contract(constant));
    }
    ch_registry_release(&r);
}

/* A description of its own is copied; the schema stays a constant that is not compiled yet. */
static void test_described(void **state) {
    struct ch_registry r = {0};
    struct chela_tool_opts opts = ch_builtin_tools[0];
    char text[] = "Reads. The host is h.";

    (void)state;
    opts.fn = nothing;
    opts.description = text;
    opts.flags |= CH_TOOL_CONSTANT | CH_TOOL_DESCRIBED;
    assert_int_equal(ch_function_add(&r, &opts, NULL), 0);
    memset(text, 'x', sizeof(text) - 1);
    assert_string_equal(r.tools[0]->description, "Reads. The host is h.");
    assert_ptr_equal(r.tools[0]->schema, ch_builtin_tools[0].schema);
    assert_null(r.tools[0]->contract);
    ch_registry_release(&r);
}

/* Names are found whatever was added and removed before. */
static void test_many(void **state) {
    enum { MANY = 500 };
    struct ch_registry r = {0};
    char name[16];

    (void)state;
    assert_null(ch_registry_find(&r, CH_SV("t0")));
    assert_int_equal(ch_registry_remove(&r, "t0"), CHELA_ENOENT);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "t%d", i);
        struct chela_tool_opts opts = CHELA_TOOL_OPTS(.name = name, .fn = nothing);
        assert_int_equal(ch_function_add(&r, &opts, NULL), 0);
        assert_int_equal(ch_function_add(&r, &opts, NULL), CHELA_EEXIST);
    }
    for (int i = 0; i < MANY; i += 3) {
        snprintf(name, sizeof(name), "t%d", i);
        assert_int_equal(ch_registry_remove(&r, name), 0);
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "t%d", i);
        struct ch_tool *t = ch_registry_find(&r, ch_sv_str(name));
        assert_int_equal(t == NULL, i % 3 == 0);
        assert_true(!t || strcmp(t->name, name) == 0);
    }
    ch_registry_release(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adding),   cmocka_unit_test(test_who_runs_it),
        cmocka_unit_test(test_texts),    cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_removing), cmocka_unit_test(test_similar),
        cmocka_unit_test(test_patterns), cmocka_unit_test(test_builtins),
        cmocka_unit_test(test_all_builtins), cmocka_unit_test(test_constants),
        cmocka_unit_test(test_described),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
