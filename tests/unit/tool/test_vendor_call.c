/* Calls of tools that vendors defined become calls of the tools here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/mem.h"
#include "tool/call/call_by_name.h"
#include "tool/call/vendor_call.h"

static void test_what_a_call_becomes(void **state) {
    static const struct {
        const char *name, *arguments, *tool, *becomes;
    } cases[] = {
        {"bash", "{\"command\":\"ls\"}", "exec", "{\"command\":\"ls\"}"},
        {"bash", "{\"restart\":true}", "exec", "{\"command\":\":\"}"},
        {"bash", "{\"cmd\":1}", "exec", "{\"cmd\":1}"},
        {"shell", "{\"commands\":[\"a\",\"b\"],\"timeout_ms\":1500}", "exec",
         "{\"command\":\"a\\nb\",\"timeout\":1.5}"},
        {"shell", "{\"commands\":[]}", "exec", "{\"commands\":[]}"},
        {"local_shell",
         "{\"type\":\"exec\",\"command\":[\"a\",\"b c\"],\"working_directory\":\"d\","
         "\"env\":{\"X\":\"1\"}}",
         "exec", "{\"argv\":[\"a\",\"b c\"],\"cwd\":\"d\",\"env\":{\"X\":\"1\"}}"},
        {"apply_patch", "{\"type\":\"create_file\",\"path\":\"a\",\"diff\":\"+x\"}", "apply_patch",
         "{\"input\":\"*** Begin Patch\\n*** Add File: a\\n+x\\n*** End Patch\\n\"}"},
        {"apply_patch", "{\"type\":\"delete_file\",\"path\":\"a\"}", "apply_patch",
         "{\"input\":\"*** Begin Patch\\n*** Delete File: a\\n*** End Patch\\n\"}"},
        {"apply_patch", "{\"type\":\"delete_file\",\"path\":\"a\\n*** Delete File: b\"}",
         "apply_patch", "{\"type\":\"delete_file\",\"path\":\"a\\n*** Delete File: b\"}"},
        {"apply_patch", "{\"input\":\"free text\"}", "apply_patch", "{\"input\":\"free text\"}"},
        {"memory", "{\"command\":\"view\",\"path\":\"/memories\"}", "ls",
         "{\"file_path\":\"memory\"}"},
        {"memory", "{\"command\":\"view\",\"path\":\"/memories/a.md\"}", "read",
         "{\"file_path\":\"memory/a.md\"}"},
        {"memory", "{\"command\":\"view\",\"path\":\"/memoriesx/a.md\"}", "read",
         "{\"file_path\":\"/memoriesx/a.md\"}"},
        {"memory", "{\"command\":\"delete\",\"path\":\"/memories/a.md\"}", "apply_patch",
         "{\"input\":\"*** Begin Patch\\n*** Delete File: memory/a.md\\n*** End Patch\\n\"}"},
        {"str_replace_based_edit_tool",
         "{\"command\":\"view\",\"path\":\"a\",\"view_range\":[3,5]}", "read",
         "{\"file_path\":\"a\",\"offset\":3,\"limit\":3}"},
        {"str_replace_based_edit_tool",
         "{\"command\":\"str_replace\",\"path\":\"a\",\"old_str\":\"x\"}", "edit",
         "{\"file_path\":\"a\",\"edits\":[{\"old_text\":\"x\",\"new_text\":\"\"}]}"},
        {"str_replace_based_edit_tool",
         "{\"command\":\"insert\",\"path\":\"a\",\"insert_line\":0,\"insert_text\":\"x\"}", "edit",
         "{\"file_path\":\"a\",\"insert_line\":0,\"new_text\":\"x\"}"},
        {"str_replace_based_edit_tool", "{\"command\":\"undo_edit\",\"path\":\"a\"}", "edit",
         "{\"command\":\"undo_edit\",\"path\":\"a\"}"},
        {"anything", "{\"input\":\"text\"}", "anything", "{\"input\":\"text\"}"},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO arena = {0};
        struct ch_block out, call = {.type = CH_BLOCK_TOOL_CALL,
                                     .name = ch_sv_str(cases[i].name),
                                     .text = ch_sv_str(cases[i].arguments)};
        assert_false(ch_vendor_call(&call, &arena, &out)); /* a tool of that name */
        call.runner = CH_RUN_RUNTIME;
        assert_true(ch_call_by_name(NULL, &call, &arena, &out));
        if (!ch_sv_is(out.name, cases[i].tool) || !ch_sv_is(out.text, cases[i].becomes))
            fail_msg("case %zu: %.*s %.*s", i, CH_SV_FMT(out.name), CH_SV_FMT(out.text));
        call.flags = CH_F_CUT;
        assert_false(ch_vendor_call(&call, &arena, &out));
    }
}

static void test_what_need_not_be_described(void **state) {
    static const struct {
        const char *tools, *name;
        bool replaced;
    } cases[] = {
        {"", "exec", false},
        {"[{\"type\":\"bash_20250124\",\"name\":\"bash\"}]", "exec", true},
        {"[{\"type\":\"bash_20250124\",\"name\":\"bash\"}]", "read", false},
        {"[{\"type\":\"shell\"}]", "exec", true},
        {"[{\"type\":\"custom\",\"name\":\"note\"}]", "note", true},
        {"[{\"type\":\"web_search\"}]", "web_search", false},
        {"[{\"googleSearch\":{}}]", "exec", false},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (ch_vendor_call_replaces(ch_sv_str(cases[i].tools), ch_sv_str(cases[i].name)) !=
            cases[i].replaced)
            fail_msg("case %zu", i);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_call_becomes),
        cmocka_unit_test(test_what_need_not_be_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
