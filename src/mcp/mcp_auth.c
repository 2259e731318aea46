/* mcp_auth.c -- see mcp_auth.h.
 *
 *     RESOURCE --document, or none--> SERVER --document, or none--> CLIENT --id--> BROWSER
 *     BROWSER --code--> TOKEN --token--> over          any --failure--> over
 *
 * RESOURCE and SERVER try a list of URLs in turn. */
#include "mcp/mcp_auth.h"

#include <stdlib.h>
#include <arpa/inet.h>
#include <sys/random.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/uri.h"
#include "egress/egress.h"
#include "guard/secrets.h"
#include "json/writer.h"
#include "net/address.h"
#include "net/server.h"
#include "net/url.h"

enum ch_mcp_auth_step { IDLE, RESOURCE, SERVER, CLIENT, BROWSER, TOKEN, REFRESH };
#define MOST_URLS 4
#define NOT_PUBLIC                                                                              \
    "the authorization server is not a public https URL, or egress.deny names its host; if it is " \
    "the right one, set auth.issuer, or name the host in egress.allow"

struct ch_mcp_auth {
    struct ch_mcp_auth_opts opts;
    enum ch_mcp_auth_step step;
    ch_mcp_auth_fn *done;
    void *user;

    /* as stored */
    char *token, *refresh;        /* owned */
    char *issuer, *id, *secret;   /* owned: the client's registration, for this issuer */
    char *method;                 /* owned: token_endpoint_auth_method of the registration */
    char *scope;                  /* owned: the scope of the last request */

    /* the log-in in progress */
    struct ch_arena arena;
    const char *urls[MOST_URLS];
    size_t nurls, at;
    const char *wanted_scope, *prm_scopes; /* space-separated; NULL: none */
    const char *resource, *as;             /* endpoint URI; issuer */
    bool must_have_metadata;               /* the issuer is not just the endpoint's origin */
    const char *authorize, *token_url, *register_url, *auth_method;
    bool iss_required, metadata_clients, offline, may_refresh;
    const char *verifier, *state, *redirect, *client_id, *client_secret;
    struct ch_server *server;
    struct ch_timer timer;

    struct ch_http_request request;
    struct ch_header headers[4];
    struct ch_sv body;
    struct ch_http_call *call;
    struct ch_buf text;
    int status;
};

static void auth_fetch(struct ch_mcp_auth *a, const char *method, const char *url, const char *type,
                       struct ch_sv body);
static void start_browser(struct ch_mcp_auth *a);
static void find_server(struct ch_mcp_auth *a);
static void use_refresh_token(struct ch_mcp_auth *a);

static void set_text(char **to, const char *text) {
    ch_free(*to);
    *to = ch_strdup(text);
}

static void end_login(struct ch_mcp_auth *a) {
    ch_timer_stop(a->opts.loop, &a->timer);
    if (a->server)
        ch_server_close(CH_TAKE(a->server));
    if (a->call)
        ch_transport_cancel(a->opts.transport, CH_TAKE(a->call));
    ch_buf_release(&a->text);
    ch_arena_release(&a->arena);
    a->arena = (struct ch_arena){0};
    a->step = IDLE;
}

static void auth_done(struct ch_mcp_auth *a, int code, const char *why) {
    ch_mcp_auth_fn *done = CH_TAKE(a->done);
    struct chela_error err = {0};

    if (code < 0)
        ch_fail(&err, code, "log-in to MCP server %s: %s", a->opts.name, why);
    end_login(a);
    if (done)
        done(code < 0 ? &err : NULL, a->user);
}

static void auth_fail(struct ch_mcp_auth *a, const char *why) {
    auth_done(a, CHELA_EAUTH, why);
}

static void auth_hide(const struct ch_mcp_auth *a) {
    ch_secret_add(a->token, "the token of MCP server %s", a->opts.name);
    ch_secret_add(a->refresh, "the refresh token of MCP server %s", a->opts.name);
    ch_secret_add(a->secret, "the client secret of MCP server %s", a->opts.name);
}

/* --- the stored tokens */

static void auth_load(struct ch_mcp_auth *a) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    const struct ch_json *root;
    struct {
        const char *key;
        char **to;
    } rows[] = {{"token", &a->token},   {"refresh", &a->refresh}, {"issuer", &a->issuer},
                {"id", &a->id},         {"secret", &a->secret},   {"method", &a->method},
                {"scope", &a->scope}};

    if (!a->opts.path || ch_file_load(a->opts.path, CH_LIMIT_KEY_FILE, &text, NULL) < 0 ||
        ch_json_parse(&arena, ch_buf_sv(&text), CH_JSON_STRICT, &root, NULL, NULL) < 0 ||
        !ch_sv_is(ch_json_get_str(root, "url"), a->opts.url))
        return;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct ch_sv value = ch_json_get_str(root, rows[i].key);
        if (value.p)
            *rows[i].to = ch_strndup(value.p, value.n);
    }
    auth_hide(a);
}

static void auth_save(const struct ch_mcp_auth *a) {
    struct chela_error why;
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);

    if (!a->opts.path)
        return;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "url", a->opts.url);
    ch_jw_kcstr(&w, "token", a->token);
    ch_jw_kcstr(&w, "refresh", a->refresh);
    ch_jw_kcstr(&w, "issuer", a->issuer);
    ch_jw_kcstr(&w, "id", a->id);
    ch_jw_kcstr(&w, "secret", a->secret);
    ch_jw_kcstr(&w, "method", a->method);
    ch_jw_kcstr(&w, "scope", a->scope);
    ch_jw_end(&w, '}');
    if (ch_file_save(a->opts.path, ch_buf_sv(&text), &why) < 0)
        ch_log(CH_LOG_WARN, "mcp", "%s: the token cannot be stored: %s", a->opts.name,
               why.message);
}

/* --- texts */

static const char *keep(struct ch_mcp_auth *a, struct ch_sv s) {
    return s.p ? ch_arena_str(&a->arena, s) : NULL;
}

static const char *member(struct ch_mcp_auth *a, const struct ch_json *o, const char *key) {
    return keep(a, ch_json_get_str(o, key));
}

/* The value of a parameter in WWW-Authenticate; NULL: none. */
static const char *challenge_value(struct ch_mcp_auth *a, const char *challenge, const char *name) {
    size_t n = strlen(name);

    for (const char *at = challenge; at && (at = strcasestr(at, name)); at += n) {
        if (at != challenge && !strchr(" ,", at[-1]))
            continue;
        const char *value = at + n + strspn(at + n, " ");
        if (*value++ != '=')
            continue;
        value += strspn(value, " ");
        if (*value == '"')
            return keep(a, ch_sv(value + 1, strcspn(value + 1, "\"")));
        return keep(a, ch_sv(value, strcspn(value, " ,")));
    }
    return NULL;
}

static void add_pair(struct ch_buf *out, const char *name, const char *value) {
    if (!value)
        return;
    if (out->n && !strchr("?&", out->p[out->n - 1]))
        ch_buf_addc(out, '&');
    ch_buf_addf(out, "%s=", name);
    ch_uri_encode(out, ch_sv_str(value));
}

static void add_url_base64(struct ch_buf *out, struct ch_sv bytes) {
    size_t from = out->n;

    ch_base64_add(out, bytes);
    while (out->n > from && out->p[out->n - 1] == '=')
        out->p[--out->n] = '\0';
    for (size_t i = from; i < out->n; i++)
        out->p[i] = (char)(out->p[i] == '+' ? '-' : out->p[i] == '/' ? '_' : out->p[i]);
}

static const char *make_random(struct ch_mcp_auth *a) {
    unsigned char dice[32];
    CH_BUF_AUTO text = {0};

    if (getrandom(dice, sizeof(dice), 0) != (ssize_t)sizeof(dice))
        abort(); /* getrandom never fails for so few bytes */
    add_url_base64(&text, ch_sv((const char *)dice, sizeof(dice)));
    return keep(a, ch_buf_sv(&text));
}

/* "https://host:port" of a URL; NULL: not a URL. */
static const char *origin_of(struct ch_arena *a, const char *text, const char **path) {
    struct ch_url url;
    CH_BUF_AUTO out = {0};

    if (ch_url_parse(ch_sv_str(text), &url, NULL) < 0)
        return NULL;
    ch_buf_addf(&out, "%s://", url.tls ? "https" : "http");
    ch_url_add_authority(&out, &url);
    struct ch_sv target = url.target, before = ch_sv_split(&target, '?');
    while (before.n && before.p[before.n - 1] == '/')
        before.n--;
    if (path)
        *path = before.n ? ch_arena_str(a, before) : "";
    return ch_arena_str(a, ch_buf_sv(&out));
}

static bool auth_same_origin(const char *a, const char *b) {
    CH_ARENA_AUTO arena = {0};
    const char *one = a ? origin_of(&arena, a, NULL) : NULL;
    const char *other = b ? origin_of(&arena, b, NULL) : NULL;

    return one && other && strcmp(one, other) == 0;
}

/* The kind of a special address: "loopback" for this machine, another for its network; NULL: a
 * public one. A name is not looked up: what answers there has a certificate for it. */
static const char *auth_kind_of(const struct ch_url *url) {
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    struct sockaddr_in four = {.sin_family = AF_INET};
    CH_AUTOFREE char *host = ch_strndup(url->host.p, url->host.n);

    if (url->kind == CH_HOST_NAME) {
        bool own = ch_sv_eq_nocase(url->host, CH_SV("localhost")) ||
                   (url->host.n > 10 && ch_sv_eq_nocase(ch_sv(url->host.p + url->host.n - 10, 10),
                                                        CH_SV(".localhost")));
        return own ? "loopback" : NULL;
    }
    if (url->kind == CH_HOST_IPV4)
        return inet_pton(AF_INET, host, &four.sin_addr) != 1
                   ? "invalid"
                   : ch_address_kind((const struct sockaddr *)&four);
    return inet_pton(AF_INET6, host, &six.sin6_addr) != 1
               ? "invalid"
               : ch_address_kind((const struct sockaddr *)&six);
}

static bool is_on_this_machine(const char *text) {
    struct ch_url url;
    const char *kind = ch_url_parse(ch_sv_str(text), &url, NULL) < 0 ? NULL : auth_kind_of(&url);

    return kind && strcmp(kind, "loopback") == 0;
}

/* A server may name addresses of its own origin, of the configured issuer and of hosts that
 * egress.allow names, and public ones with TLS, none that egress.deny names. Elsewhere, codes and
 * secrets could be read on the way, and the server could choose an address of the internal network
 * or another port of this machine. A server of this machine can reach these ports itself. */
static bool is_elsewhere(const struct ch_mcp_auth *a, const char *text) {
    struct ch_url url;
    struct ch_egress_finding f = {CH_EGRESS_ASK, false, false};

    if (ch_url_parse(ch_sv_str(text), &url, NULL) == 0)
        f = ch_egress_judge(a->opts.egress, &url);
    if (f.verdict == CH_EGRESS_DENY)
        return true;
    if ((f.verdict == CH_EGRESS_ALLOW && f.named) || auth_same_origin(text, a->opts.url) ||
        auth_same_origin(text, a->opts.issuer) ||
        (is_on_this_machine(a->opts.url) && is_on_this_machine(text)))
        return false;
    return ch_url_parse(ch_sv_str(text), &url, NULL) < 0 || !url.tls || auth_kind_of(&url);
}

/* Whether a list of words contains a word. */
static bool has_word(const char *words, const char *word) {
    struct ch_sv rest = ch_sv_str(words);

    while (rest.n)
        if (ch_sv_is(ch_sv_split(&rest, ' '), word))
            return true;
    return false;
}

static const char *join_words(struct ch_mcp_auth *a, const char *one, const char *two) {
    struct ch_sv rest = ch_sv_str(two);
    CH_BUF_AUTO out = {0};

    ch_buf_add_str(&out, one ? one : "");
    while (rest.n) {
        struct ch_sv word = ch_sv_split(&rest, ' ');
        const char *text = keep(a, word);
        if (word.n && !has_word(ch_buf_str(&out), text))
            ch_buf_addf(&out, "%s%s", out.n ? " " : "", text);
    }
    return out.n ? keep(a, ch_buf_sv(&out)) : NULL;
}

static const char *join_array(struct ch_mcp_auth *a, const struct ch_json *array) {
    CH_BUF_AUTO out = {0};

    for (CH_JSON_EACH(e, array))
        ch_buf_addf(&out, "%s%.*s", out.n ? " " : "", CH_SV_FMT(ch_json_str(e)));
    return array ? keep(a, ch_buf_sv(&out)) : NULL;
}

/* --- metadata */

static void try_next(struct ch_mcp_auth *a) {
    auth_fetch(a, "GET", a->urls[a->at], NULL, ch_sv(NULL, 0));
}

/* The resource must be the endpoint, or a parent of it. */
static bool covers(struct ch_mcp_auth *a, const char *resource, const char *endpoint) {
    const char *path, *own;
    const char *origin = origin_of(&a->arena, resource, &path);
    const char *here = origin_of(&a->arena, endpoint, &own);
    size_t n = origin ? strlen(path) : 0;

    return origin && here && strcmp(origin, here) == 0 && strncmp(path, own, n) == 0 &&
           (own[n] == '\0' || own[n] == '/');
}

/* The only issuer to log in to: as configured, or that of the last log-in with a client that was
 * registered by hand. Without this rule an MCP server could name an authorization server of its
 * own, and get the secret of the client. NULL: any issuer. */
static const char *bound_issuer(const struct ch_mcp_auth *a) {
    if (a->opts.issuer)
        return a->opts.issuer;
    return a->opts.client_id && a->id && strcmp(a->id, a->opts.client_id) == 0 ? a->issuer : NULL;
}

/* The bound issuer if the list has it, else the first. */
static struct ch_sv choose_issuer(const struct ch_mcp_auth *a, const struct ch_json *list) {
    const char *bound = bound_issuer(a);

    for (CH_JSON_EACH(e, list))
        if (bound && ch_sv_is(ch_json_str(e), bound))
            return ch_json_str(e);
    return ch_json_str(ch_json_at(list, 0));
}

static void take_resource(struct ch_mcp_auth *a, const struct ch_json *doc) {
    const char *resource = member(a, doc, "resource");
    struct ch_sv issuer = choose_issuer(a, ch_json_get(doc, "authorization_servers"));

    if (resource && !covers(a, resource, a->opts.url)) {
        auth_fail(a, "the metadata describes another resource");
        return;
    }
    a->resource = resource ? resource : a->resource;
    a->prm_scopes = join_array(a, ch_json_get(doc, "scopes_supported"));
    if (issuer.n) {
        a->as = keep(a, issuer);
        a->must_have_metadata = true;
    }
    find_server(a);
}

static void take_server(struct ch_mcp_auth *a, const struct ch_json *doc) {
    const char *methods = join_array(a, ch_json_get(doc, "code_challenge_methods_supported"));
    const char *auth = join_array(a, ch_json_get(doc, "token_endpoint_auth_methods_supported"));

    if (!ch_sv_is(ch_json_get_str(doc, "issuer"), a->as)) {
        auth_fail(a, "the metadata is that of another issuer");
        return;
    }
    if (!methods || !has_word(methods, "S256")) {
        auth_fail(a, "the authorization server does not support PKCE with S256");
        return;
    }
    a->authorize = member(a, doc, "authorization_endpoint");
    a->token_url = member(a, doc, "token_endpoint");
    a->register_url = member(a, doc, "registration_endpoint");
    a->auth_method = !auth                                    ? "client_secret_basic"
                     : has_word(auth, "client_secret_basic") ? "client_secret_basic"
                     : has_word(auth, "client_secret_post")  ? "client_secret_post"
                                                             : "none";
    a->iss_required = ch_json_bool(
        ch_json_get(doc, "authorization_response_iss_parameter_supported"), false);
    a->metadata_clients =
        ch_json_bool(ch_json_get(doc, "client_id_metadata_document_supported"), false);
    const char *scopes = join_array(a, ch_json_get(doc, "scopes_supported"));
    a->offline = scopes && has_word(scopes, "offline_access");
    if (!a->authorize || !a->token_url)
        auth_fail(a, "the metadata of the authorization server lacks an endpoint");
    else if (is_elsewhere(a, a->authorize) || is_elsewhere(a, a->token_url) ||
             (a->register_url && is_elsewhere(a, a->register_url)))
        auth_fail(a, NOT_PUBLIC);
    else if (a->refresh && a->may_refresh && a->issuer && strcmp(a->issuer, a->as) == 0)
        use_refresh_token(a);
    else
        start_browser(a);
}

size_t ch_mcp_auth_metadata_urls(struct ch_arena *a, const char *issuer,
                                 const char *urls[CH_MCP_METADATA_URLS]) {
    const char *path, *origin = origin_of(a, issuer, &path);
    size_t n = 0;

    if (!origin)
        return 0;
    urls[n++] = ch_arena_printf(a, "%s/.well-known/oauth-authorization-server%s", origin, path);
    urls[n++] = ch_arena_printf(a, "%s/.well-known/openid-configuration%s", origin, path);
    if (*path)
        urls[n++] = ch_arena_printf(a, "%s%s/.well-known/openid-configuration", origin, path);
    return n;
}

static void find_server(struct ch_mcp_auth *a) {
    const char *bound = bound_issuer(a);

    a->step = SERVER;
    a->at = 0;
    a->nurls = ch_mcp_auth_metadata_urls(&a->arena, a->as, a->urls);
    if (bound && strcmp(bound, a->as) != 0)
        auth_fail(a, ch_arena_printf(&a->arena,
                                     "the server names the authorization server %.200s, not %.200s "
                                     "%s",
                                     a->as, bound,
                                     a->opts.issuer ? "(auth.issuer)"
                                                    : "of the last log-in: if the change is "
                                                      "right, set auth.issuer"));
    else if (is_elsewhere(a, a->as))
        auth_fail(a, NOT_PUBLIC);
    else if (a->nurls)
        try_next(a);
    else
        auth_fail(a, "the authorization server is not an http URL");
}

/* Without metadata: uses the endpoints of the version 2025-03-26. */
static void use_default_endpoints(struct ch_mcp_auth *a) {
    const char *origin = origin_of(&a->arena, a->as, NULL);

    if (a->must_have_metadata) {
        auth_fail(a, "the authorization server has no metadata");
        return;
    }
    a->authorize = ch_arena_printf(&a->arena, "%s/authorize", origin);
    a->token_url = ch_arena_printf(&a->arena, "%s/token", origin);
    a->register_url = ch_arena_printf(&a->arena, "%s/register", origin);
    a->auth_method = "client_secret_post";
    start_browser(a);
}

/* --- the client, and the browser */

static void open_browser(struct ch_mcp_auth *a) {
    unsigned char digest[CH_SHA256_SIZE];
    CH_BUF_AUTO challenge = {0};
    CH_BUF_AUTO url = {0};
    struct ch_url parts;
    const char *scope = a->wanted_scope ? a->wanted_scope : a->prm_scopes;

    if (a->offline)
        scope = join_words(a, scope, "offline_access");
    set_text(&a->scope, scope);
    a->verifier = make_random(a);
    a->state = make_random(a);
    ch_sha256_of(ch_sv_str(a->verifier), digest);
    add_url_base64(&challenge, ch_sv((const char *)digest, sizeof(digest)));
    ch_buf_addf(&url, "%s%c", a->authorize, strchr(a->authorize, '?') ? '&' : '?');
    add_pair(&url, "response_type", "code");
    add_pair(&url, "client_id", a->client_id);
    add_pair(&url, "redirect_uri", a->redirect);
    add_pair(&url, "code_challenge", ch_buf_str(&challenge));
    add_pair(&url, "code_challenge_method", "S256");
    add_pair(&url, "state", a->state);
    add_pair(&url, "resource", a->resource);
    add_pair(&url, "scope", scope);
    if (ch_url_parse(ch_buf_sv(&url), &parts, NULL) < 0) { /* it is given to a program */
        auth_fail(a, "the address of the log-in page is not an http URL");
        return;
    }
    a->step = BROWSER;
    a->opts.open_url(ch_buf_str(&url), a->opts.user);
}

static void take_client(struct ch_mcp_auth *a, const struct ch_json *doc) {
    const char *method = member(a, doc, "token_endpoint_auth_method");

    a->client_id = member(a, doc, "client_id");
    a->client_secret = member(a, doc, "client_secret");
    if (!a->client_id) {
        auth_fail(a, "the registration gave no client id");
        return;
    }
    if (method)
        a->auth_method = method;
    else if (!a->client_secret)
        a->auth_method = "none";
    ch_secret_add(a->client_secret, "the client secret of MCP server %s", a->opts.name);
    open_browser(a);
}

static void register_client(struct ch_mcp_auth *a) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "client_name", "chela");
    ch_jw_kcstr(&w, "application_type", "native");
    ch_jw_kbegin(&w, "redirect_uris", '[');
    ch_jw_cstr(&w, a->redirect);
    ch_jw_end(&w, ']');
    ch_jw_kraw(&w, "grant_types", CH_SV("[\"authorization_code\",\"refresh_token\"]"));
    ch_jw_kraw(&w, "response_types", CH_SV("[\"code\"]"));
    ch_jw_kcstr(&w, "token_endpoint_auth_method", a->auth_method);
    ch_jw_end(&w, '}');
    a->step = CLIENT;
    auth_fetch(a, "POST", a->register_url, "application/json", ch_buf_sv(&body));
}

/* A registration is valid for one issuer only: registrations of other issuers are not used. */
static void choose_client(struct ch_mcp_auth *a) {
    if (a->opts.client_id) {
        a->client_id = a->opts.client_id;
        a->client_secret = a->opts.client_secret;
        if (!a->client_secret)
            a->auth_method = "none";
        open_browser(a);
    } else if (a->metadata_clients && a->opts.client_metadata_url) {
        a->client_id = a->opts.client_metadata_url;
        a->auth_method = "none";
        open_browser(a);
    } else if (a->register_url) /* each log-in has its own port, and so its own registration */
        register_client(a);
    else
        auth_fail(a, "the authorization server registers no clients: configure auth.clientId");
}

static void exchange_code(struct ch_mcp_auth *a, const char *code);

static const char *query_value(struct ch_arena *arena, struct ch_sv query, const char *name) {
    while (query.n) {
        struct ch_sv value = ch_sv_split(&query, '&'), key = ch_sv_split(&value, '=');
        if (!ch_sv_is(key, name) || !value.p)
            continue;
        char *text = ch_arena_str(arena, value);
        for (char *c = text; *c; c++)
            *c = (char)(*c == '+' ? ' ' : *c);
        return ch_arena_str(arena, ch_uri_decode(arena, ch_sv_str(text)));
    }
    return NULL;
}

/* NULL: the redirect is good. Its own error text is not shown if the issuer is wrong. */
static const char *judge_redirect(const struct ch_mcp_auth *a, struct ch_arena *arena,
                                  struct ch_sv query, const char **code) {
    const char *iss = query_value(arena, query, "iss");
    const char *error = query_value(arena, query, "error");

    if (iss ? strcmp(iss, a->as) != 0 : a->iss_required)
        return "the redirect comes from another issuer";
    *code = query_value(arena, query, "code");
    if (error)
        return ch_arena_printf(arena, "the authorization server refused: %.200s", error);
    return *code ? NULL : "the redirect has no code";
}

static void auth_on_request(struct ch_exchange *x, void *user) {
    struct ch_mcp_auth *a = user;
    CH_ARENA_AUTO arena = {0};
    struct ch_sv query = ch_inbound_target(ch_exchange_inbound(x));
    struct ch_sv path = ch_sv_split(&query, '?');
    const char *code = NULL, *state = query_value(&arena, query, "state");

    /* every page and program here can send a request; only the redirect knows the state */
    if (!ch_sv_is(path, "/callback") || a->step != BROWSER || !state ||
        strcmp(state, a->state) != 0) {
        ch_exchange_respond(x, 404, "text/plain", CH_SV("not found\n"));
        return;
    }
    const char *problem = judge_redirect(a, &arena, query, &code);
    ch_exchange_respond(x, problem ? 400 : 200, "text/plain",
                        problem ? CH_SV("The log-in failed. You can close this page.\n")
                                : CH_SV("The log-in is complete. You can close this page.\n"));
    if (problem)
        auth_fail(a, problem);
    else
        exchange_code(a, code);
}

static void auth_on_timer(struct ch_timer *t) {
    auth_fail(CH_CONTAINER(t, struct ch_mcp_auth, timer), "the log-in was not finished in time");
}

static void auth_on_head(struct ch_exchange *x, void *user) {
    (void)x, (void)user;
}

static void start_browser(struct ch_mcp_auth *a) {
    struct ch_server_opts opts = {.listen = "127.0.0.1:0",
                                  .head = auth_on_head,
                                  .request = auth_on_request,
                                  .user = a};
    struct chela_error err = {0};

    if (!a->opts.open_url)
        auth_fail(a, ch_arena_printf(&a->arena, "nobody can log in here: run chela mcp login %s",
                                     a->opts.name));
    else if (ch_server_new(a->opts.loop, &opts, &a->server, &err) < 0)
        auth_fail(a, keep(a, ch_sv_str(err.message)));
    else {
        a->redirect =
            ch_arena_printf(&a->arena, "http://%s/callback", ch_server_address(a->server));
        ch_timer_start(a->opts.loop, &a->timer, CH_DEFAULT_MCP_LOGIN_MS, auth_on_timer);
        choose_client(a);
    }
}

/* --- the token */

static void post_token(struct ch_mcp_auth *a, struct ch_buf *form) {
    bool basic = a->auth_method && strcmp(a->auth_method, "client_secret_basic") == 0;

    add_pair(form, "resource", a->resource);
    if (!basic || !a->client_secret)
        add_pair(form, "client_id", a->client_id);
    if (!basic && a->client_secret && strcmp(a->auth_method, "none") != 0)
        add_pair(form, "client_secret", a->client_secret);
    auth_fetch(a, "POST", a->token_url, "application/x-www-form-urlencoded", ch_buf_sv(form));
}

static void exchange_code(struct ch_mcp_auth *a, const char *code) {
    CH_BUF_AUTO form = {0};

    a->step = TOKEN;
    add_pair(&form, "grant_type", "authorization_code");
    add_pair(&form, "code", code);
    add_pair(&form, "redirect_uri", a->redirect);
    add_pair(&form, "code_verifier", a->verifier);
    post_token(a, &form);
}

/* Uses the refresh token of the client that was last used with this issuer. */
static void use_refresh_token(struct ch_mcp_auth *a) {
    CH_BUF_AUTO form = {0};

    a->step = REFRESH;
    a->client_id = keep(a, ch_sv_str(a->id));
    a->client_secret = keep(a, ch_sv_str(a->secret));
    a->auth_method = a->method ? keep(a, ch_sv_str(a->method)) : "none";
    add_pair(&form, "grant_type", "refresh_token");
    add_pair(&form, "refresh_token", a->refresh);
    post_token(a, &form);
}

static void take_token(struct ch_mcp_auth *a, const struct ch_json *doc) {
    const char *token = member(a, doc, "access_token"), *type = member(a, doc, "token_type");
    const char *refresh = member(a, doc, "refresh_token");

    if (!token || (type && strcasecmp(type, "bearer") != 0) || strpbrk(token, "\r\n")) {
        auth_fail(a, "the authorization server gave no bearer token");
        return;
    }
    set_text(&a->token, token);
    set_text(&a->issuer, a->as);
    set_text(&a->id, a->client_id);
    set_text(&a->secret, a->client_secret);
    set_text(&a->method, a->auth_method);
    if (refresh)
        set_text(&a->refresh, refresh);
    auth_hide(a);
    auth_save(a);
    auth_done(a, 0, NULL);
}

/* --- HTTP */

static void auth_on_head_of(const struct ch_http_head *head, void *user) {
    ((struct ch_mcp_auth *)user)->status = head->status;
}

static void auth_on_data(struct ch_sv data, void *user) {
    ch_buf_add_sv(&((struct ch_mcp_auth *)user)->text, data);
}

/* No usable document at this URL: try the next one. */
static void no_document(struct ch_mcp_auth *a) {
    if (++a->at < a->nurls)
        try_next(a);
    else if (a->step == RESOURCE)
        find_server(a);
    else
        use_default_endpoints(a);
}

static void take_document(struct ch_mcp_auth *a, const struct ch_json *doc) {
    switch (a->step) {
    case RESOURCE:
        take_resource(a, doc);
        break;
    case SERVER:
        take_server(a, doc);
        break;
    case CLIENT:
        take_client(a, doc);
        break;
    default:
        take_token(a, doc);
    }
}

/* True: the server refuses the refresh token for good. After any other failure the token is
 * kept. */
static bool is_refused(const struct ch_mcp_auth *a, const struct chela_error *err) {
    return !err && a->status >= 400 && a->status < 500 && a->status != 408 && a->status != 429;
}

static void auth_on_done(const struct chela_error *err, void *user) {
    struct ch_mcp_auth *a = user;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *doc = NULL;
    struct ch_buf text = a->text;
    bool search = a->step == RESOURCE || a->step == SERVER;

    a->call = NULL;
    a->text = (struct ch_buf){0};
    if (!err && a->status >= 200 && a->status < 300 && !text.overflow)
        ch_json_parse(&arena, ch_buf_sv(&text), CH_JSON_STRICT, &doc, NULL, NULL);
    if (ch_json_is(doc, CH_JSON_OBJECT))
        take_document(a, doc);
    else if (search)
        no_document(a);
    else if (a->step == REFRESH && is_refused(a, err)) {
        ch_free(CH_TAKE(a->refresh));
        start_browser(a);
    } else if (a->step == REFRESH)
        auth_done(a, CHELA_ENET, "the authorization server does not refresh the token now");
    else
        auth_fail(a, a->step == CLIENT ? "the registration was refused"
                                       : "the authorization server refused to give a token");
    ch_buf_release(&text);
}

static void auth_fetch(struct ch_mcp_auth *a, const char *method, const char *url, const char *type,
                       struct ch_sv body) {
    static const struct ch_http_handler handler = {auth_on_head_of, auth_on_data, auth_on_done};
    size_t n = 0;

    a->body = ch_arena_sv(&a->arena, body);
    a->headers[n++] = (struct ch_header){CH_SV("Accept"), CH_SV("application/json")};
    if (type)
        a->headers[n++] = (struct ch_header){CH_SV("Content-Type"), ch_sv_str(type)};
    if (a->step >= TOKEN && a->client_secret &&
        strcmp(a->auth_method, "client_secret_basic") == 0) {
        CH_BUF_AUTO pair = {0};
        CH_BUF_AUTO value = {0};
        ch_uri_encode(&pair, ch_sv_str(a->client_id));
        ch_buf_addc(&pair, ':');
        ch_uri_encode(&pair, ch_sv_str(a->client_secret));
        ch_buf_add_str(&value, "Basic ");
        ch_base64_add(&value, ch_buf_sv(&pair));
        a->headers[n++] =
            (struct ch_header){CH_SV("Authorization"), ch_arena_sv(&a->arena, ch_buf_sv(&value))};
    }
    ch_buf_init(&a->text, CH_MB);
    a->status = 0;
    a->request = (struct ch_http_request){.method = method,
                                          .url = url,
                                          .headers = a->headers,
                                          .nheaders = n,
                                          .body = &a->body,
                                          .nbody = type ? 1 : 0,
                                          .max_body = CH_MB};
    a->call = ch_transport_start(a->opts.transport, &a->request, &handler, a);
}

/* --- life */

struct ch_mcp_auth *ch_mcp_auth_new(const struct ch_mcp_auth_opts *opts) {
    struct ch_mcp_auth *a = ch_alloc(sizeof(*a));

    a->opts = *opts;
    auth_load(a);
    return a;
}

void ch_mcp_auth_free(struct ch_mcp_auth *a) {
    if (!a)
        return;
    end_login(a);
    ch_free(a->token);
    ch_free(a->refresh);
    ch_free(a->issuer);
    ch_free(a->id);
    ch_free(a->secret);
    ch_free(a->method);
    ch_free(a->scope);
    ch_free(a);
}

void ch_mcp_auth_open_by(struct ch_mcp_auth *a, void (*open_url)(const char *url, void *user),
                         void *user) {
    a->opts.open_url = open_url;
    a->opts.user = user;
}

const char *ch_mcp_auth_token(const struct ch_mcp_auth *a) {
    return a->token;
}

/* The endpoint without its query and a final slash. */
static const char *canonical(struct ch_mcp_auth *a) {
    const char *path, *origin = origin_of(&a->arena, a->opts.url, &path);

    return ch_arena_printf(&a->arena, "%s%s", origin, path);
}

int ch_mcp_auth_start(struct ch_mcp_auth *a, int status, const char *challenge,
                      ch_mcp_auth_fn *done, void *user) {
    const char *path, *origin, *bound = bound_issuer(a);

    if (a->step != IDLE)
        return CHELA_EBUSY;
    a->done = done;
    a->user = user;
    origin = origin_of(&a->arena, a->opts.url, &path);
    const char *metadata = challenge_value(a, challenge, "resource_metadata");
    const char *scope = challenge_value(a, challenge, "scope");
    a->wanted_scope = status == 403 ? join_words(a, a->scope, scope) : scope;
    a->prm_scopes = NULL;
    a->resource = canonical(a);
    a->as = bound ? keep(a, ch_sv_str(bound)) : origin;
    a->must_have_metadata = strcmp(a->as, origin) != 0;
    a->iss_required = a->metadata_clients = a->offline = false;
    a->client_id = a->client_secret = a->register_url = a->auth_method = NULL;
    a->may_refresh = status == 401;
    a->step = RESOURCE;
    a->nurls = a->at = 0;
    if (metadata && !is_elsewhere(a, metadata))
        a->urls[a->nurls++] = metadata;
    else {
        if (*path)
            a->urls[a->nurls++] = ch_arena_printf(
                &a->arena, "%s/.well-known/oauth-protected-resource%s", origin, path);
        a->urls[a->nurls++] =
            ch_arena_printf(&a->arena, "%s/.well-known/oauth-protected-resource", origin);
    }
    try_next(a);
    return 0;
}
