/* fuzz_mcp_manifest.c -- any JSON as a page of an MCP server's list of tools.
 *
 * Every tool that is taken over has a name for the model of plain characters, and a schema
 * that is a JSON object. A list that is read twice offers the same tools. */
#include <stdint.h>
#include <stdlib.h>

#include "mcp/mcp_manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check_tool(const struct ch_mcp_tool *t) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v = NULL;
    if (!t->alias || !*t->alias || t->alias[strspn(t->alias, plain)])
        abort();
    if (t->listed.schema &&
        (ch_json_parse(&a, ch_sv_str(t->listed.schema), CH_JSON_STRICT, &v, NULL, NULL) < 0 ||
         !ch_json_is(v, CH_JSON_OBJECT)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *page = NULL;
    struct ch_mcp_manifest m = {0};
    struct chela_error err = {0};
    if (ch_json_parse(&a, ch_sv((const char *)p, n), CH_JSON_REPLACE, &page, NULL, NULL) < 0)
        return 0;
    ch_mcp_manifest_begin(&m);
    int rc = ch_mcp_manifest_add(&m, "server", page, &err);
    if (rc < 0 && !err.message[0])
        abort();
    if (rc == 0)
        ch_mcp_manifest_end(&m, true);
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        check_tool(&m.tools[i]);
        if (m.tools[i].listed.schema && !ch_mcp_tool_offered(&m.tools[i]))
            abort();
    }
    size_t before = m.n;
    ch_mcp_manifest_begin(&m);
    if (rc == 0 && ch_mcp_manifest_add(&m, "server", page, &err) == 0 && m.n != before)
        abort();
    ch_mcp_manifest_release(&m);
    return 0;
}
