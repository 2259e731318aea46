/* test_mcp_manifest.c -- lists of tools: what is accepted, changed, left out and stored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/file.h"
#include "mcp/mcp_manifest.h"

static struct {
    struct ch_mcp_manifest list;
    char dir[32], path[64];
} w;

static int world_open(void **state) {
    (void)state;
    memset(&w, 0, sizeof(w));
    snprintf(w.dir, sizeof(w.dir), "/tmp/chela-mcp-XXXXXX");
    assert_non_null(mkdtemp(w.dir));
    snprintf(w.path, sizeof(w.path), "%s/s.json", w.dir);
    return 0;
}

static int world_close(void **state) {
    (void)state;
    ch_mcp_manifest_release(&w.list);
    unlink(w.path);
    return rmdir(w.dir);
}

/* Lists one page. */
static int list_page(const char *page) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *root;

    assert_int_equal(ch_json_parse(&arena, ch_sv_str(page), CH_JSON_STRICT, &root, NULL, NULL), 0);
    ch_mcp_manifest_begin(&w.list);
    return ch_mcp_manifest_add(&w.list, "s", root, NULL);
}

static bool list_all(const char *page, bool accept) {
    assert_int_equal(list_page(page), 0);
    return ch_mcp_manifest_end(&w.list, accept);
}

/* "a+ b! c-": offered, changed, neither. */
static void assert_tools(const char *want) {
    CH_BUF_AUTO out = {0};

    for (size_t i = 0; i < w.list.n; i++) {
        const struct ch_mcp_tool *t = &w.list.tools[i];
        ch_buf_addf(&out, "%s%s%s", i ? " " : "", t->name,
                    ch_mcp_tool_offered(t)   ? "+"
                    : ch_mcp_tool_changed(t) ? "!"
                                             : "-");
    }
    assert_string_equal(ch_buf_str(&out), want);
}

#define TOOL(name, text) \
    "{\"name\":\"" name "\",\"description\":\"" text "\",\"inputSchema\":{\"type\":\"object\"}}"

static void test_first_list_is_accepted(void **state) {
    (void)state;
    assert_true(list_all("{\"tools\":[" TOOL("a", "A") "," TOOL("b", "B") "]}", false));
    assert_tools("a+ b+");
}

static void test_changes_need_consent(void **state) {
    (void)state;
    list_all("{\"tools\":[" TOOL("a", "A") "," TOOL("b", "B") "]}", false);
    assert_false(list_all("{\"tools\":[" TOOL("c", "C") "," TOOL("b", "B2") "," TOOL("a", "A")
                          "]}", false));
    assert_tools("a+ b! c!"); /* the order of the first list stays */
    assert_true(list_all("{\"tools\":[" TOOL("b", "B2") "," TOOL("c", "C") "]}", true));
    assert_tools("a- b+ c+");
}

static void test_renamed_tool_is_new(void **state) {
    (void)state;
    list_all("{\"tools\":[" TOOL("a", "A") "]}", false);
    list_all("{\"tools\":[" TOOL("renamed", "A") "]}", false);
    assert_tools("a- renamed!");
}

static void test_output_schema_is_pinned(void **state) {
    (void)state;
    list_all("{\"tools\":[" TOOL("a", "A") "]}", false);
    list_all("{\"tools\":[{\"name\":\"a\",\"description\":\"A\",\"inputSchema\":{\"type\":"
             "\"object\"},\"outputSchema\":{\"type\":\"object\"}}]}", false);
    assert_tools("a!");
}

static void test_invisible_text_is_no_change(void **state) {
    (void)state;
    list_all("{\"tools\":[" TOOL("a", "A") "]}", false);
    list_all("{\"tools\":[" TOOL("a", "A\\u200b") "]}", false);
    assert_tools("a+"); /* the model sees the same text */
}

static void test_invalid_tools_are_left_out(void **state) {
    (void)state;
    list_all("{\"tools\":[" TOOL("good", "G") "," TOOL("", "empty") "," TOOL("new\\nline", "N")
             "," TOOL("good", "twice") ",7,null,{\"name\":\"bare\"},{\"name\":\"array\","
             "\"inputSchema\":{\"type\":\"array\"}}," TOOL("a.b", "dot") "," TOOL("a/b", "slash")
             "]}", false);
    assert_tools("good+ a.b+ a/b+");
    assert_string_not_equal(w.list.tools[1].alias, w.list.tools[2].alias);
}

static void test_alias_of_another_tool(void **state) {
    CH_BUF_AUTO page = {0};

    (void)state;
    list_all("{\"tools\":[" TOOL("a.b", "dot") "]}", false);
    /* a server that gives a tool the alias of another one gets a different alias */
    ch_buf_addf(&page, "{\"tools\":[" TOOL("a.b", "dot") ",{\"name\":\"%s\",\"inputSchema\":{"
                "\"type\":\"object\"}}]}", w.list.tools[0].alias + 3);
    list_all(ch_buf_str(&page), true);
    assert_int_equal(w.list.n, 2);
    assert_string_not_equal(w.list.tools[0].alias, w.list.tools[1].alias);
}

static void test_no_list(void **state) {
    (void)state;
    assert_int_equal(list_page("{}"), CHELA_EPROTO);
    assert_int_equal(list_page("{\"tools\":{}}"), CHELA_EPROTO);
}

static void test_too_many_tools(void **state) {
    CH_BUF_AUTO page = {0};

    (void)state;
    ch_buf_add_str(&page, "{\"tools\":[");
    for (int i = 0; i <= CH_LIMIT_MCP_TOOLS; i++)
        ch_buf_addf(&page, "%s{\"name\":\"t%d\",\"inputSchema\":{\"type\":\"object\"}}",
                    i ? "," : "", i);
    ch_buf_add_str(&page, "]}");
    assert_int_equal(list_page(ch_buf_str(&page)), CHELA_ELIMIT);
}

/* So many tools with schemas of 60,000 bytes. */
static void add_large_tools(struct ch_buf *page, int n) {
    ch_buf_add_str(page, "{\"tools\":[");
    for (int i = 0; i < n; i++)
        ch_buf_addf(page, "%s{\"name\":\"t%d\",\"inputSchema\":{\"type\":\"object\",\"title\":"
                    "\"%060000d\"}}", i ? "," : "", i, i);
    ch_buf_add_str(page, "]}");
}

/* --- the file */

static void save_and_load(const char *origin, int rc) {
    assert_int_equal(ch_mcp_manifest_save(&w.list, w.path, "origin", NULL), 0);
    ch_mcp_manifest_release(&w.list);
    assert_int_equal(ch_mcp_manifest_load(&w.list, "s", w.path, origin, NULL), rc);
}

static void test_file(void **state) {
    (void)state;
    list_all("{\"tools\":[" TOOL("a", "A") "," TOOL("b", "B \\\"quoted\\\"") "]}", false);
    list_all("{\"tools\":[" TOOL("a", "A") "," TOOL("c", "C") "]}", false);
    save_and_load("origin", 0);
    assert_tools("a+ b-"); /* c was never accepted */
    list_all("{\"tools\":[" TOOL("a", "changed") "," TOOL("c", "C") "]}", false);
    assert_tools("a! b- c!");
}

/* Every list that is accepted can be read again. */
static void test_large_file(void **state) {
    CH_BUF_AUTO much = {0};
    CH_BUF_AUTO too_much = {0};

    (void)state;
    add_large_tools(&much, 130);
    add_large_tools(&too_much, 150);
    assert_int_equal(list_page(ch_buf_str(&too_much)), CHELA_ELIMIT);
    ch_mcp_manifest_release(&w.list);
    list_all(ch_buf_str(&much), false);
    save_and_load("origin", 0);
}

static void test_file_of_another_server(void **state) {
    (void)state;
    list_all("{\"tools\":[" TOOL("a", "A") "]}", false);
    save_and_load("other", CHELA_ENOENT);
    assert_int_equal(w.list.n, 0);
}

static void test_damaged_file(void **state) {
    static const char *const texts[] = {
        "", "{", "[]", "{\"v\":2,\"origin\":\"origin\",\"tools\":[]}",
        "{\"v\":1,\"origin\":\"origin\",\"tools\":[7]}",
        "{\"v\":1,\"origin\":\"origin\",\"tools\":[" TOOL("a", "A") "," TOOL("a", "A") "]}"};

    (void)state;
    for (size_t i = 0; i < CH_LEN(texts); i++) {
        FILE *f = fopen(w.path, "w");
        fputs(texts[i], f);
        fclose(f);
        assert_int_equal(ch_mcp_manifest_load(&w.list, "s", w.path, "origin", NULL),
                         CHELA_EPARSE);
        assert_int_equal(w.list.n, 0);
    }
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_open, world_close)
    const struct CMUnitTest tests[] = {
        TEST(test_first_list_is_accepted),
        TEST(test_changes_need_consent),
        TEST(test_renamed_tool_is_new),
        TEST(test_output_schema_is_pinned),
        TEST(test_invisible_text_is_no_change),
        TEST(test_invalid_tools_are_left_out),
        TEST(test_alias_of_another_tool),
        TEST(test_no_list),
        TEST(test_too_many_tools),
        TEST(test_file),
        TEST(test_large_file),
        TEST(test_file_of_another_server),
        TEST(test_damaged_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
