/* mcp_token.c -- see mcp_token.h. */
#include "gateway/http/mcp_token.h"

#include "base/base64.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/uri.h"
#include "gateway/http/mcp_keys.h"
#include "guard/secrets.h"
#include "json/json.h"
#include "json/writer.h"
#include "net/http.h"
#include "net/url.h"

#define WELL_KNOWN "/.well-known/oauth-protected-resource"
#define PRINCIPAL "oauth:"

/* An accepted token. */
struct known_token {
    unsigned char digest[CH_SHA256_SIZE];
    char *principal; /* owned; NULL: free */
    int64_t until;   /* monotonic */
};

struct ch_mcp_tokens {
    chela_runtime *rt;
    struct ch_arena arena;
    const char *issuer, *resource, *scope; /* scope may be NULL */
    const char *introspection; /* NULL: tokens are JSON Web Tokens */
    struct ch_mcp_keys *keys;  /* owned; NULL: there is an introspection endpoint */
    const char *authorization; /* header for the introspection endpoint; NULL: none */
    const char *challenge, *scope_challenge;
    struct known_token known[CH_LIMIT_MCP_TOKENS];
    size_t next; /* slot to replace */
    struct ch_list checks;
};

struct ch_mcp_token_check {
    struct ch_link link;
    struct ch_mcp_tokens *tokens;
    unsigned char digest[CH_SHA256_SIZE];
    char *token; /* owned: waits for keys; NULL: does not wait */
    struct ch_http_request request;
    struct ch_header headers[3];
    struct ch_buf form, text;
    struct ch_sv body;
    struct ch_http_call *call;
    int status;
    ch_mcp_token_fn *fn;
    void *user;
};

/* --- options */

static const char *token_copy(struct ch_mcp_tokens *t, const char *text) {
    return text ? ch_arena_str(&t->arena, ch_sv_str(text)) : NULL;
}

static int check_url(const char *name, const char *text, struct ch_url *url,
                     struct chela_error *err) {
    if (!text || ch_url_parse(ch_sv_str(text), url, NULL) < 0 || url->userinfo.p)
        return ch_fail(err, CHELA_ECONFIG, "gateway.mcp.issuer needs gateway.mcp.%s, a URL", name);
    if (!url->tls && !ch_url_is_loopback(url))
        return ch_fail(err, CHELA_ECONFIG, "gateway.mcp.%s must be https, or of this machine",
                       name);
    return 0;
}

/* "Basic ..." of RFC 6749: both parts are encoded as in a form. */
static const char *make_authorization(struct ch_mcp_tokens *t, const char *id,
                                      const char *secret) {
    CH_BUF_AUTO pair = {0};
    CH_BUF_AUTO out = {0};

    ch_uri_encode(&pair, ch_sv_str(id));
    ch_buf_addc(&pair, ':');
    ch_uri_encode(&pair, ch_sv_str(secret ? secret : ""));
    CH_BUF_LIT(&out, "Basic ");
    ch_base64_add(&out, ch_buf_sv(&pair));
    return ch_arena_str(&t->arena, ch_buf_sv(&out));
}

static void make_challenges(struct ch_mcp_tokens *t, const struct ch_url *resource) {
    CH_BUF_AUTO text = {0};
    struct ch_sv target = resource->target, path = ch_sv_split(&target, '?');

    ch_buf_addf(&text, "resource_metadata=\"%s://", resource->tls ? "https" : "http");
    ch_url_add_authority(&text, resource);
    ch_buf_addf(&text, WELL_KNOWN "%.*s\"", path.n > 1 ? (int)path.n : 0, path.n ? path.p : "");
    if (t->scope)
        ch_buf_addf(&text, ", scope=\"%s\"", t->scope);
    t->challenge = ch_arena_printf(&t->arena, "Bearer %s", ch_buf_str(&text));
    t->scope_challenge = ch_arena_printf(&t->arena, "Bearer error=\"insufficient_scope\", %s",
                                         ch_buf_str(&text));
}

/* Words that a quoted string can hold. */
static bool is_scope(const char *text) {
    for (; *text; text++)
        if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
            return false;
    return true;
}

static void tokens_on_keys(void *user);

static int tokens_check(const struct chela_gateway_mcp *o, const char *secret,
                        struct ch_url *resource, struct chela_error *err) {
    struct ch_url ignored;
    int rc = check_url("issuer", o->issuer, &ignored, err);
    if (rc == 0 && o->introspection)
        rc = check_url("introspection", o->introspection, &ignored, err);
    if (rc == 0)
        rc = check_url("resource", o->resource, resource, err);
    if (rc == 0 && o->scope && !is_scope(o->scope))
        rc = ch_fail(err, CHELA_ECONFIG, "gateway.mcp.scope has characters that no scope has");
    if (rc == 0 && o->client_secret_env && !(secret && *secret))
        rc = ch_fail(err, CHELA_ECONFIG, "gateway.mcp: %s is not set", o->client_secret_env);
    return rc;
}

int ch_mcp_tokens_new(chela_runtime *rt, const struct chela_gateway_mcp *o,
                      struct ch_mcp_tokens **out, struct chela_error *err) {
    struct ch_url resource;
    const char *secret = o->client_secret_env
                             ? ch_providers_env(&rt->providers, o->client_secret_env)
                             : NULL;

    *out = NULL;
    if (!o->issuer)
        return o->resource || o->introspection
                   ? ch_fail(err, CHELA_ECONFIG, "gateway.mcp.issuer is missing")
                   : 0;
    int rc = tokens_check(o, secret, &resource, err);
    if (rc < 0)
        return rc;
    struct ch_mcp_tokens *t = ch_alloc(sizeof(*t));
    t->rt = rt;
    ch_list_init(&t->checks);
    t->issuer = token_copy(t, o->issuer);
    t->resource = token_copy(t, o->resource);
    t->introspection = token_copy(t, o->introspection);
    t->scope = o->scope && *o->scope ? token_copy(t, o->scope) : NULL;
    ch_secret_add(secret, "gateway.mcp.clientSecretEnv");
    if (o->client_id)
        t->authorization = make_authorization(t, o->client_id, secret);
    make_challenges(t, &resource);
    if (!t->introspection)
        rc = ch_mcp_keys_new(rt, t->issuer, tokens_on_keys, t, &t->keys, err);
    if (rc < 0)
        ch_mcp_tokens_free(t);
    else
        *out = t;
    return rc;
}

const char *ch_mcp_tokens_challenge(const struct ch_mcp_tokens *t, bool lacks_scope) {
    return lacks_scope ? t->scope_challenge : t->challenge;
}

void ch_mcp_tokens_metadata(const struct ch_mcp_tokens *t, struct ch_buf *out) {
    struct ch_sv words = ch_sv_str(t->scope);
    struct ch_jw w = ch_jw(out);

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "resource", t->resource);
    ch_jw_kbegin(&w, "authorization_servers", '[');
    ch_jw_cstr(&w, t->issuer);
    ch_jw_end(&w, ']');
    ch_jw_kraw(&w, "bearer_methods_supported", CH_SV("[\"header\"]"));
    if (t->scope) {
        ch_jw_kbegin(&w, "scopes_supported", '[');
        while (words.n)
            ch_jw_str(&w, ch_sv_split(&words, ' '));
        ch_jw_end(&w, ']');
    }
    ch_jw_end(&w, '}');
}

/* --- tokens that are known */

static void remember_token(struct ch_mcp_tokens *t, const struct ch_mcp_token_check *c,
                           const char *principal, int64_t ms) {
    struct known_token *k = &t->known[t->next++ % CH_LEN(t->known)];

    ch_free(k->principal);
    memcpy(k->digest, c->digest, sizeof(k->digest));
    k->principal = ch_strdup(principal);
    k->until = ch_mono_ms(ch_loop_clock(t->rt->loop)) + CH_MIN(ms, CH_DEFAULT_MCP_TOKEN_MS);
}

static const char *find_token(const struct ch_mcp_tokens *t, const unsigned char *digest) {
    int64_t now = ch_mono_ms(ch_loop_clock(t->rt->loop));

    for (size_t i = 0; i < CH_LEN(t->known); i++)
        if (t->known[i].principal && t->known[i].until > now &&
            ch_sha256_equal(t->known[i].digest, digest))
            return t->known[i].principal;
    return NULL;
}

/* --- a check */

static void check_free(struct ch_mcp_token_check *c) {
    ch_list_del(&c->link);
    if (c->call)
        ch_transport_cancel(ch_http_transport(c->tokens->rt->http), c->call);
    ch_buf_release(&c->form);
    ch_buf_release(&c->text);
    ch_free(c->token);
    ch_free(c);
}

void ch_mcp_token_cancel(struct ch_mcp_token_check *c) {
    if (c)
        check_free(c);
}

static void check_end(struct ch_mcp_token_check *c, int status, const char *why,
                      const char *principal) {
    ch_mcp_token_fn *fn = c->fn;
    void *user = c->user;

    check_free(c);
    fn(&(struct ch_mcp_token_answer){status, why, principal}, user);
}

/* The audience is one URL or several; a final slash does not matter. */
static bool is_audience(const char *resource, const struct ch_json *aud) {
    struct ch_sv want = ch_sv_str(resource), has = ch_json_str(aud);

    if (ch_json_is(aud, CH_JSON_ARRAY)) {
        for (CH_JSON_EACH(one, aud))
            if (ch_json_is(one, CH_JSON_STRING) && is_audience(resource, one))
                return true;
        return false;
    }
    if (want.n && want.p[want.n - 1] == '/')
        want.n--;
    if (has.n && has.p[has.n - 1] == '/')
        has.n--;
    return has.n && ch_sv_eq(want, has);
}

static bool has_scopes(const char *wanted, struct ch_sv given) {
    struct ch_sv rest = ch_sv_str(wanted);

    while (rest.n) {
        struct ch_sv word = ch_sv_split(&rest, ' '), all = given;
        bool found = word.n == 0;
        while (all.n && !found)
            found = ch_sv_eq(ch_sv_split(&all, ' '), word);
        if (!found)
            return false;
    }
    return true;
}

static struct ch_mcp_token_answer token_refuse(int status, const char *why) {
    return (struct ch_mcp_token_answer){status, why, NULL};
}

/* Is the token valid at this time? *ms becomes the time for which the answer may be used. A JSON
 * Web Token must state its end, and the clocks may differ a little. */
static bool is_current(const struct ch_mcp_tokens *t, const struct ch_json *doc, int64_t *ms) {
    const struct ch_json *exp = ch_json_get(doc, "exp"), *nbf = ch_json_get(doc, "nbf");
    double now = (double)ch_now_ms(ch_loop_clock(t->rt->loop)) / 1000;
    double skew = t->keys ? CH_DEFAULT_JWT_SKEW_S : 0, most = CH_DEFAULT_MCP_TOKEN_MS;
    double until = ch_json_double(exp, exp || t->keys ? -skew : now + most) + skew;
    double from = ch_json_double(nbf, nbf ? now + 2 * skew + 1 : 0) - skew;
    double left = (until - now) * 1000;

    *ms = left > 0 ? (int64_t)CH_MIN(left, most) : 0;
    return left > 0 && from <= now;
}

/* The person or, without one, the client. */
static bool token_names(const struct ch_json *doc, struct ch_buf *principal) {
    struct ch_sv sub = ch_json_get_str(doc, "sub"), client = ch_json_get_str(doc, "client_id");
    struct ch_sv name = sub.n ? sub : client;

    ch_buf_addf(principal, PRINCIPAL "%s%.*s", sub.n ? "" : "client:", CH_SV_FMT(name));
    return name.n && !memchr(name.p, 0, name.n);
}

/* The status and the reason of a refusal; status 0: accepted. */
static struct ch_mcp_token_answer judge_token(const struct ch_mcp_tokens *t,
                                              const struct ch_json *doc,
                                              struct ch_buf *principal, int64_t *ms) {
    const struct ch_json *iss = ch_json_get(doc, "iss");

    if (!is_current(t, doc, ms) || (!t->keys && !ch_json_bool(ch_json_get(doc, "active"), false)))
        return token_refuse(401, "the token is not valid");
    if (iss ? !ch_sv_is(ch_json_str(iss), t->issuer) : t->keys != NULL)
        return token_refuse(401, "the token is that of another issuer");
    if (!is_audience(t->resource, ch_json_get(doc, "aud")))
        return token_refuse(401, "the token is for another resource");
    if (!token_names(doc, principal))
        return token_refuse(401, "the token names nobody");
    if (ch_json_get(doc, "cnf"))
        return token_refuse(401, "the token is bound to a key of its client");
    if (t->scope && !has_scopes(t->scope, ch_json_get_str(doc, "scope")))
        return token_refuse(403, "the token lacks a scope");
    return (struct ch_mcp_token_answer){0};
}

/* doc: what the server says about the token, or its claims. */
static void check_judge(struct ch_mcp_token_check *c, const struct ch_json *doc) {
    CH_BUF_AUTO principal = {0};
    int64_t ms;
    struct ch_mcp_token_answer a = judge_token(c->tokens, doc, &principal, &ms);

    if (a.status == 0)
        remember_token(c->tokens, c, ch_buf_str(&principal), ms);
    check_end(c, a.status, a.why, ch_buf_str(&principal));
}

static void check_on_head(const struct ch_http_head *head, void *user) {
    ((struct ch_mcp_token_check *)user)->status = head->status;
}

static void check_on_data(struct ch_sv data, void *user) {
    ch_buf_add_sv(&((struct ch_mcp_token_check *)user)->text, data);
}

static void check_on_done(const struct chela_error *err, void *user) {
    struct ch_mcp_token_check *c = user;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *doc;

    c->call = NULL;
    if (err || c->status != 200 || c->text.overflow ||
        ch_json_parse(&arena, ch_buf_sv(&c->text), CH_JSON_STRICT, &doc, NULL, NULL) < 0 ||
        !ch_json_is(doc, CH_JSON_OBJECT)) {
        ch_log(CH_LOG_WARN, "gateway", "the authorization server of /mcp answered %d: %s",
               c->status, err ? err->message : "not a response of RFC 7662");
        check_end(c, 503, "the authorization server does not answer", NULL);
        return;
    }
    check_judge(c, doc);
}

static const struct ch_http_handler check_handler = {
    .on_head = check_on_head, .on_data = check_on_data, .on_done = check_on_done};

/* --- JSON Web Tokens */

/* True: the check has ended; false: the check waits for keys. */
static bool check_signature(struct ch_mcp_token_check *c, struct ch_sv token) {
    CH_ARENA_AUTO arena = {0};
    struct ch_jwt t;
    struct chela_error err = {0};

    if (ch_jwt_read(&arena, token, &t, &err) < 0) {
        check_end(c, 401, err.message, NULL);
        return true;
    }
    switch (ch_mcp_keys_check(c->tokens->keys, &t)) {
    case CH_MCP_KEY_WAIT:
        return false;
    case CH_MCP_KEY_MISSING:
        check_end(c, 503, "the authorization server does not answer", NULL);
        return true;
    case CH_MCP_KEY_FORGED:
        check_end(c, 401, "the signature of the token is wrong", NULL);
        return true;
    case CH_MCP_KEY_GENUINE:
        check_judge(c, t.claims);
        return true;
    }
    CH_UNREACHABLE();
}

static struct ch_mcp_token_check *next_waiting(const struct ch_mcp_tokens *t) {
    for (CH_LIST_EACH(k, &t->checks))
        if (CH_CONTAINER(k, struct ch_mcp_token_check, link)->token)
            return CH_CONTAINER(k, struct ch_mcp_token_check, link);
    return NULL;
}

/* Each waiting check ends: the keys are not fetched again at once. */
static void tokens_on_keys(void *user) {
    struct ch_mcp_tokens *t = user;
    struct ch_mcp_token_check *c;

    while ((c = next_waiting(t))) {
        CH_AUTOFREE char *token = CH_TAKE(c->token);
        if (!check_signature(c, ch_sv_str(token)))
            check_end(c, 503, "the authorization server does not answer", NULL);
    }
}

/* --- starting a check */

static void check_introspect(struct ch_mcp_token_check *c, struct ch_sv token) {
    const struct ch_mcp_tokens *t = c->tokens;

    CH_BUF_LIT(&c->form, "token_type_hint=access_token&token=");
    ch_uri_encode(&c->form, token);
    ch_buf_init(&c->text, CH_LIMIT_MCP_TOKEN_ANSWER);
    c->headers[0] = (struct ch_header){CH_SV("Content-Type"),
                                       CH_SV("application/x-www-form-urlencoded")};
    c->headers[1] = (struct ch_header){CH_SV("Accept"), CH_SV("application/json")};
    c->headers[2] = (struct ch_header){CH_SV("Authorization"), ch_sv_str(t->authorization)};
    c->body = ch_buf_sv(&c->form);
    c->request = (struct ch_http_request){.method = "POST",
                                          .url = t->introspection,
                                          .headers = c->headers,
                                          .nheaders = t->authorization ? 3 : 2,
                                          .body = &c->body,
                                          .nbody = 1,
                                          .timeouts = {.total = CH_DEFAULT_MCP_INTROSPECT_MS},
                                          .max_body = CH_LIMIT_MCP_TOKEN_ANSWER};
    c->call = ch_transport_start(ch_http_transport(t->rt->http), &c->request, &check_handler, c);
}

struct ch_mcp_token_check *ch_mcp_token_check(struct ch_mcp_tokens *t, struct ch_sv token,
                                              ch_mcp_token_fn *fn, void *user) {
    struct ch_mcp_token_check *c = ch_alloc(sizeof(*c));

    c->tokens = t;
    c->fn = fn;
    c->user = user;
    ch_list_add(&t->checks, &c->link);
    ch_sha256_of(token, c->digest);
    const char *known = find_token(t, c->digest);
    if (known || token.n > CH_LIMIT_MCP_TOKEN) {
        CH_AUTOFREE char *principal = ch_strdup(known);
        check_end(c, known ? 0 : 401, known ? NULL : "the token is too long", principal);
        return NULL;
    }
    if (t->introspection)
        check_introspect(c, token);
    else if (check_signature(c, token))
        return NULL;
    else
        c->token = ch_strndup(token.p, token.n);
    return c;
}

void ch_mcp_tokens_free(struct ch_mcp_tokens *t) {
    struct ch_mcp_token_check *c;

    if (!t)
        return;
    ch_mcp_keys_free(CH_TAKE(t->keys));
    while ((c = CH_LIST_FIRST(&t->checks, struct ch_mcp_token_check, link)))
        check_end(c, 503, "the gateway changes its configuration", NULL);
    for (size_t i = 0; i < CH_LEN(t->known); i++)
        ch_free(t->known[i].principal);
    ch_arena_release(&t->arena);
    ch_free(t);
}
