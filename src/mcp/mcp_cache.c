/* mcp_cache.c -- see mcp_cache.h. */
#include "mcp/mcp_cache.h"

#include "base/mem.h"

bool ch_mcp_cache_takes(const char *method) {
    static const char *const methods[] = {"prompts/list", "resources/list",
                                          "resources/templates/list", "resources/read"};

    for (size_t i = 0; i < CH_LEN(methods); i++)
        if (strcmp(method, methods[i]) == 0)
            return true;
    return false;
}

static bool is_key(const char *key, const char *method, const char *members) {
    size_t n = strlen(method);

    return key && strncmp(key, method, n) == 0 && key[n] == ' ' &&
           strcmp(key + n + 1, members) == 0;
}

char *ch_mcp_cache_find(const struct ch_mcp_cache *c, const char *method, const char *members,
                        int64_t now) {
    for (size_t i = 0; c->kept && i < CH_LIMIT_MCP_KEPT; i++)
        if (c->kept[i].until > now && is_key(c->kept[i].key, method, members))
            return ch_strdup(c->kept[i].text);
    return NULL;
}

void ch_mcp_cache_add(struct ch_mcp_cache *c, const char *method, const char *members,
                      struct ch_sv text, int64_t ttl_ms, int64_t now) {
    CH_BUF_AUTO key = {0};

    if (strlen(members) > CH_LIMIT_MCP_URI || text.n > CH_LIMIT_MCP_KEPT_BYTES)
        return;
    if (!c->kept)
        c->kept = ch_alloc(CH_LIMIT_MCP_KEPT * sizeof(*c->kept));
    struct ch_mcp_kept *place = &c->kept[0];
    for (size_t i = 0; i < CH_LIMIT_MCP_KEPT; i++) {
        if (is_key(c->kept[i].key, method, members)) {
            place = &c->kept[i];
            break;
        }
        if (c->kept[i].until < place->until)
            place = &c->kept[i];
    }
    ch_buf_addf(&key, "%s %s", method, members);
    ch_free(place->key);
    ch_free(place->text);
    place->key = ch_buf_take(&key);
    place->text = ch_strndup(text.p, text.n);
    place->until = now + CH_MIN(ttl_ms, CH_LIMIT_MCP_KEPT_MS);
}

void ch_mcp_cache_clear(struct ch_mcp_cache *c) {
    for (size_t i = 0; c->kept && i < CH_LIMIT_MCP_KEPT; i++) {
        ch_free(c->kept[i].key);
        ch_free(c->kept[i].text);
    }
    ch_free(c->kept);
    c->kept = NULL;
}
