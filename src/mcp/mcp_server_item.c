/* mcp_server_item.c -- see mcp_server_item.h. */
#include "mcp/mcp_server_item.h"

#include "base/limits.h"
#include "base/uri.h"
#include "mcp/mcp_template.h"

void ch_mcp_server_unref(chela_mcp_server *s) {
    if (--s->refs > 0)
        return;
    ch_arena_release(&s->arena);
    ch_free(s);
}

void ch_mcp_item_unref(struct ch_mcp_item *i) {
    if (--i->refs > 0)
        return;
    if (i->release)
        i->release(i->user);
    ch_schema_free(i->schema);
    ch_schema_free(i->output);
    ch_arena_release(&i->arena);
    ch_free(i->key);
    ch_free(i->listed);
    ch_free(i->older);
    ch_free(i->mime);
    ch_free(i);
}

struct ch_mcp_item *ch_mcp_server_find(const chela_mcp_server *s, enum ch_mcp_kind kind,
                                       struct ch_sv key) {
    for (CH_LIST_EACH(k, &s->items[kind])) {
        struct ch_mcp_item *i = CH_CONTAINER(k, struct ch_mcp_item, link);
        if (ch_sv_is(key, i->key))
            return i;
    }
    return NULL;
}

struct ch_mcp_item *ch_mcp_server_match(const chela_mcp_server *s, struct ch_sv uri,
                                        struct ch_jw *w) {
    CH_ARENA_AUTO arena = {0};
    struct ch_mcp_item *found = uri.n <= CH_LIMIT_MCP_URI
                                    ? ch_mcp_server_find(s, CH_MCP_RESOURCE, uri)
                                    : NULL;

    if (found || uri.n > CH_LIMIT_MCP_URI)
        return found;
    for (CH_LIST_EACH(k, &s->items[CH_MCP_TEMPLATE])) {
        struct ch_mcp_item *i = CH_CONTAINER(k, struct ch_mcp_item, link);
        struct ch_mcp_variables b;
        if (!ch_mcp_template_match(ch_sv_str(i->key), uri, &b))
            continue;
        for (size_t v = 0; v < b.n; v++) {
            ch_jw_key_sv(w, b.names[v]);
            ch_jw_str(w, ch_uri_decode(&arena, b.values[v]));
        }
        return i;
    }
    return NULL;
}
