/* route.c -- from a path to the function that answers it.
 *
 * A path is decoded once. What could be read in two ways, an encoded slash, a
 * segment of dots, an empty one, is no path at all: so nothing can be reached
 * under a second name. What is not in the table does not exist. */
#include "gateway/request/gateway.h"
#include "gateway/http/routes.h"

const struct ch_route ch_routes[] = {
    {"GET", "/", CH_ROUTE_OPEN, ch_console},
    {"GET", "/healthz", CH_ROUTE_OPEN, ch_health_live},
    {"GET", "/readyz", CH_ROUTE_OPEN, ch_health_ready},
    {"GET", "/v1/models", 0, ch_openai_models},
    {"GET", "/v1/models/{}", 0, ch_openai_model},
    {"POST", "/v1/chat/completions", 0, ch_openai_chat},
    {"POST", "/v1/responses", 0, ch_openai_responses},
    {"POST", "/api/chat", 0, ch_ui_chat},
    {"GET", "/api/chat/{}/stream", 0, ch_ui_resume},
    {"GET", "/api/sessions", 0, ch_sessions_list},
    {"GET", "/api/sessions/{}", 0, ch_sessions_show},
    {"DELETE", "/api/sessions/{}", 0, ch_sessions_delete},
    {"GET", "/api/sessions/{}/records", 0, ch_sessions_records},
    {"GET", "/api/sessions/{}/events", 0, ch_sessions_events},
    {"GET", "/api/sessions/{}/socket", CH_ROUTE_SOCKET, ch_sessions_socket},
    {"POST", "/api/sessions/{}/messages", 0, ch_sessions_message},
    {"POST", "/api/sessions/{}/cancel", 0, ch_sessions_cancel},
    {"GET", "/api/approvals", 0, ch_approvals_list},
    {"POST", "/api/approvals/{}", 0, ch_approvals_decide},
    {"POST", "/hooks/{}", CH_ROUTE_OPEN, ch_hook_call},
    {"POST", "/channels/{}/events", CH_ROUTE_OPEN | CH_ROUTE_SMALL, ch_channel_call},
    {"POST", "/tools/invoke", 0, ch_tools_invoke},
    {"GET", "/api/usage", 0, ch_usage},
    {"GET", "/metrics", 0, ch_metrics},
    {.method = NULL},
};

static int hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One character of a path; -1: none that a path may hold. */
static int next_char(struct ch_sv *rest) {
    unsigned char c = (unsigned char)rest->p[0];
    size_t n = 1;
    if (c == '%') {
        int high = rest->n > 2 ? hex(rest->p[1]) : -1, low = rest->n > 2 ? hex(rest->p[2]) : -1;
        if (high < 0 || low < 0)
            return -1;
        c = (unsigned char)(high << 4 | low);
        n = 3;
        if (c == '/' || c == '\\' || c == '%')
            return -1;
    }
    *rest = ch_sv(rest->p + n, rest->n - n);
    return c < ' ' || c == 0x7f || c == '\\' ? -1 : c;
}

static bool is_proper(struct ch_sv path) {
    struct ch_sv rest = path;
    if (!path.n || path.p[0] != '/')
        return false;
    ch_sv_split(&rest, '/');
    while (rest.p) {
        struct ch_sv word = ch_sv_split(&rest, '/');
        if (ch_sv_is(word, ".") || ch_sv_is(word, "..") || (!word.n && (rest.p || path.n > 1)))
            return false;
    }
    return true;
}

struct ch_sv ch_path_decode(struct ch_arena *a, struct ch_sv target, struct ch_sv *query) {
    struct ch_sv after = target, path = ch_sv_split(&after, '?');
    char *out = ch_arena_bytes(a, path.n + 1);
    size_t n = 0;
    *query = after;
    while (path.n) {
        int c = next_char(&path);
        if (c < 0)
            return ch_sv(NULL, 0);
        out[n++] = (char)c;
    }
    struct ch_sv decoded = ch_sv(out, n);
    return is_proper(decoded) ? decoded : ch_sv(NULL, 0);
}

struct ch_sv ch_query_decode(struct ch_arena *a, struct ch_sv text) {
    char *out = ch_arena_bytes(a, text.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        int high = text.p[i] == '%' && i + 2 < text.n ? hex(text.p[i + 1]) : -1;
        int low = high >= 0 ? hex(text.p[i + 2]) : -1;
        unsigned char c = (unsigned char)(low >= 0 ? high << 4 | low : text.p[i]);
        i += low >= 0 ? 2 : 0;
        out[n++] = (char)(c < ' ' || (c == '+' && low < 0) ? ' ' : c);
    }
    return ch_sv(out, n);
}

static bool leads_to(const struct ch_route *r, struct ch_sv path, struct ch_sv *param) {
    struct ch_sv pattern = ch_sv_str(r->path);
    while (pattern.p && path.p) {
        struct ch_sv want = ch_sv_split(&pattern, '/'), word = ch_sv_split(&path, '/');
        if (ch_sv_is(want, "{}") && word.n)
            *param = word;
        else if (!ch_sv_eq(want, word))
            return false;
    }
    return !pattern.p && !path.p;
}

const struct ch_route *ch_route_find(const char *method, struct ch_sv path, struct ch_sv *param,
                                     bool *other) {
    *other = false;
    for (const struct ch_route *r = ch_routes; r->method; r++) {
        if (!leads_to(r, path, param))
            continue;
        bool reads = strcmp(method, "HEAD") == 0 && strcmp(r->method, "GET") == 0;
        if (reads || strcmp(r->method, method) == 0)
            return r;
        *other = true;
    }
    return NULL;
}
