/* mcp_keys.c -- see mcp_keys.h. */
#include "gateway/http/mcp_keys.h"

#include "base/error.h"
#include "base/log.h"
#include "io/module.h"
#include "mcp/mcp_auth.h"
#include "net/http.h"
#include "net/url.h"

struct ch_mcp_keys {
    chela_runtime *rt;
    const struct chela_tls_ops *crypto;
    const char *issuer; /* borrowed */
    void (*fetched)(void *user);
    void *user;
    struct ch_jwks keys;
    int64_t at;    /* monotonic time of the keys; 0: none yet */
    int64_t tried; /* monotonic time of the last attempt; 0: none yet */
    /* The attempt in progress. */
    struct ch_arena arena;
    const char *urls[CH_MCP_METADATA_URLS];
    size_t nurls, next; /* of the metadata */
    bool has_metadata;  /* the keys are being fetched */
    struct ch_http_call *call;
    struct ch_http_request request;
    struct ch_header accept;
    struct ch_buf text;
    int status;
};

static int64_t keys_now(const struct ch_mcp_keys *k) {
    return ch_mono_ms(ch_loop_clock(k->rt->loop)) + 1; /* never 0 */
}

static void keys_end(struct ch_mcp_keys *k, const char *why) {
    if (why)
        ch_log(CH_LOG_WARN, "gateway", "no keys of the issuer of /mcp: %s", why);
    ch_buf_release(&k->text);
    ch_arena_release(&k->arena);
    k->fetched(k->user);
}

static const struct ch_http_handler keys_handler;

static void keys_get(struct ch_mcp_keys *k, const char *url) {
    ch_buf_release(&k->text);
    ch_buf_init(&k->text, CH_LIMIT_JWT_DOCUMENT);
    k->status = 0;
    k->accept = (struct ch_header){CH_SV("Accept"), CH_SV("application/json")};
    k->request = (struct ch_http_request){.method = "GET",
                                          .url = url,
                                          .headers = &k->accept,
                                          .nheaders = 1,
                                          .timeouts = {.total = CH_DEFAULT_MCP_INTROSPECT_MS},
                                          .max_body = CH_LIMIT_JWT_DOCUMENT};
    k->call = ch_transport_start(ch_http_transport(k->rt->http), &k->request, &keys_handler, k);
}

static void keys_next_metadata(struct ch_mcp_keys *k) {
    if (k->next == k->nurls)
        keys_end(k, "the issuer has no metadata");
    else
        keys_get(k, k->urls[k->next++]);
}

/* The document must be that of the issuer, byte for byte. */
static void keys_take_metadata(struct ch_mcp_keys *k) {
    const struct ch_json *doc;
    struct ch_url url;

    if (ch_json_parse(&k->arena, ch_arena_sv(&k->arena, ch_buf_sv(&k->text)), CH_JSON_STRICT,
                      &doc, NULL, NULL) < 0) {
        keys_next_metadata(k);
        return;
    }
    const char *uri = ch_arena_str(&k->arena, ch_json_get_str(doc, "jwks_uri"));
    if (!ch_sv_is(ch_json_get_str(doc, "issuer"), k->issuer)) {
        keys_end(k, "its metadata is that of another issuer");
    } else if (ch_url_parse(ch_sv_str(uri), &url, NULL) < 0 || url.userinfo.p ||
               (!url.tls && !ch_url_is_loopback(&url))) {
        keys_end(k, "its metadata has no jwks_uri that is https");
    } else {
        k->has_metadata = true;
        keys_get(k, uri);
    }
}

static void keys_take(struct ch_mcp_keys *k) {
    struct ch_jwks keys = {0};
    struct chela_error err = {0};

    if (ch_jwks_read(&keys, ch_buf_sv(&k->text), &err) < 0 || !keys.n) {
        ch_jwks_release(&keys);
        keys_end(k, err.code ? err.message : "the document has no usable key");
        return;
    }
    ch_jwks_release(&k->keys);
    k->keys = keys;
    k->at = keys_now(k);
    keys_end(k, NULL);
}

static void keys_on_head(const struct ch_http_head *head, void *user) {
    ((struct ch_mcp_keys *)user)->status = head->status;
}

static void keys_on_data(struct ch_sv data, void *user) {
    ch_buf_add_sv(&((struct ch_mcp_keys *)user)->text, data);
}

static void keys_on_done(const struct chela_error *err, void *user) {
    struct ch_mcp_keys *k = user;
    bool came = !err && k->status == 200 && !k->text.overflow;

    k->call = NULL;
    if (came && k->has_metadata)
        keys_take(k);
    else if (came)
        keys_take_metadata(k);
    else if (k->has_metadata || err)
        keys_end(k, err ? err->message : "jwks_uri does not answer with 200");
    else
        keys_next_metadata(k);
}

static const struct ch_http_handler keys_handler = {
    .on_head = keys_on_head, .on_data = keys_on_data, .on_done = keys_on_done};

static void keys_fetch(struct ch_mcp_keys *k) {
    k->tried = keys_now(k);
    k->next = 0;
    k->has_metadata = false;
    k->nurls = ch_mcp_auth_metadata_urls(&k->arena, k->issuer, k->urls);
    keys_next_metadata(k);
}

enum ch_mcp_key_result ch_mcp_keys_check(struct ch_mcp_keys *k, const struct ch_jwt *t) {
    int64_t now = keys_now(k), age = now - k->at;
    bool known = k->at && ch_jwks_has(&k->keys, t);

    if (!known || age > CH_DEFAULT_JWT_KEYS_MS) {
        if (!k->call && (!k->tried || now - k->tried >= CH_DEFAULT_JWT_REFETCH_MS))
            keys_fetch(k);
        if (k->call)
            return CH_MCP_KEY_WAIT;
    }
    if (!k->at || age > CH_LIMIT_JWT_KEYS_MS)
        return CH_MCP_KEY_MISSING;
    return known && ch_jwt_verify(t, &k->keys, k->crypto) ? CH_MCP_KEY_GENUINE
                                                          : CH_MCP_KEY_FORGED;
}

int ch_mcp_keys_new(chela_runtime *rt, const char *issuer, void (*fetched)(void *user),
                    void *user, struct ch_mcp_keys **out, struct chela_error *err) {
    const void *crypto;
    int rc = ch_module_load("tls", "tls", rt->module_path, &crypto, err);

    if (rc < 0)
        return rc;
    struct ch_mcp_keys *k = ch_alloc(sizeof(*k));
    k->rt = rt;
    k->crypto = crypto;
    k->issuer = issuer;
    k->fetched = fetched;
    k->user = user;
    *out = k;
    return 0;
}

void ch_mcp_keys_free(struct ch_mcp_keys *k) {
    if (!k)
        return;
    if (k->call)
        ch_transport_cancel(ch_http_transport(k->rt->http), k->call);
    ch_buf_release(&k->text);
    ch_arena_release(&k->arena);
    ch_jwks_release(&k->keys);
    ch_free(k);
}
