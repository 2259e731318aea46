/* mcp_cache.h -- results of a server that may be used again for the time that the server names
 * (ttlMs of 2026-07-28). */
#ifndef CH_MCP_CACHE_H
#define CH_MCP_CACHE_H
#include "base/buf.h"
#include "base/limits.h"

struct ch_mcp_kept {
    char *key, *text; /* owned; key NULL: free */
    int64_t until;    /* monotonic time */
};

/* Zero-initialized: empty. */
struct ch_mcp_cache {
    struct ch_mcp_kept *kept; /* owned: CH_LIMIT_MCP_KEPT; NULL: nothing is kept */
};

/* Whether results of the method may be kept. */
bool ch_mcp_cache_takes(const char *method);

/* A copy of the result of this request, which the caller frees; NULL: none is valid. members: the
 * parameters of the request. */
char *ch_mcp_cache_find(const struct ch_mcp_cache *c, const char *method, const char *members,
                        int64_t now);

/* Keep a result; if the cache is full, it replaces the result that expires first. */
void ch_mcp_cache_add(struct ch_mcp_cache *c, const char *method, const char *members,
                      struct ch_sv text, int64_t ttl_ms, int64_t now);

void ch_mcp_cache_clear(struct ch_mcp_cache *c);

#endif
