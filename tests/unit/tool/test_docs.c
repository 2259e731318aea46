/* test_docs.c -- docs/tools.md says of every built-in what the registry says.
 *
 * With --print, the sections as they should be go to stdout: put them behind
 * the line "<!-- built-in tools -->" of that file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "tool/builtin/builtin.h"
#include "json/json.h"

#define DOC "docs/tools.md"

static void add_text(struct ch_buf *out, struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++) {
        if (strchr("|<*_\\", s.p[i]))
            ch_buf_addc(out, '\\');
        ch_buf_addc(out, s.p[i]);
    }
}

static bool is_required(const struct ch_json *schema, struct ch_sv name) {
    for (CH_JSON_EACH(v, ch_json_get(schema, "required")))
        if (ch_sv_eq(ch_json_str(v), name))
            return true;
    return false;
}

static void add_type(struct ch_buf *out, const struct ch_json *p) {
    const struct ch_json *values = ch_json_get(p, "enum");
    struct ch_sv items = ch_json_get_str(ch_json_get(p, "items"), "type");
    bool first = true;

    if (!values) {
        ch_buf_add_sv(out, ch_json_get_str(p, "type"));
        if (items.n)
            ch_buf_addf(out, " of %.*ss", CH_SV_FMT(items));
    }
    for (CH_JSON_EACH(v, values)) {
        ch_buf_addf(out, "%s`%.*s`", first ? "" : " ", CH_SV_FMT(ch_json_str(v)));
        first = false;
    }
}

static void add_section(struct ch_buf *out, const struct chela_tool_opts *t) {
    static const char *const permissions[] = {"admin", "write", "read"};
    static const char *const effects[] = {"once", "keyed", "read"};
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *schema;

    assert_int_equal(
        ch_json_parse(&arena, ch_sv_str(t->schema), CH_JSON_STRICT, &schema, NULL, NULL), 0);
    ch_buf_addf(out, "## %s\n\n", t->name);
    add_text(out, ch_sv_str(t->description));
    ch_buf_addf(out, "\n\nPermission `%s`, effect `%s`.\n\n", permissions[t->permission],
                effects[t->effect]);
    ch_buf_add_str(out, "| parameter | type | meaning |\n|---|---|---|\n");
    for (CH_JSON_MEMBERS(name, p, ch_json_get(schema, "properties"))) {
        ch_buf_addf(out, "| `%.*s`%s | ", CH_SV_FMT(ch_json_str(name)),
                    is_required(schema, ch_json_str(name)) ? " (required)" : "");
        add_type(out, p);
        ch_buf_add_str(out, " | ");
        add_text(out, ch_json_get_str(p, "description"));
        ch_buf_add_str(out, " |\n");
    }
}

static void test_sections(void **state) {
    CH_BUF_AUTO doc = {0};
    struct chela_error err = {0};

    (void)state;
    if (ch_file_load(DOC, CH_MB, &doc, &err) < 0)
        fail_msg("%s", err.message);
    for (const struct chela_tool_opts *t = ch_builtin_tools; t->name; t++) {
        CH_BUF_AUTO section = {0};
        add_section(&section, t);
        if (!strstr(ch_buf_str(&doc), ch_buf_str(&section)))
            fail_msg(DOC " differs; it should say:\n%s", ch_buf_str(&section));
    }
}

static void print_sections(void) {
    for (const struct chela_tool_opts *t = ch_builtin_tools; t->name; t++) {
        CH_BUF_AUTO section = {0};
        add_section(&section, t);
        printf("%s%s", t == ch_builtin_tools ? "" : "\n", ch_buf_str(&section));
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sections)};

    if (argc > 1 && strcmp(argv[1], "--print") == 0) {
        print_sections();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
