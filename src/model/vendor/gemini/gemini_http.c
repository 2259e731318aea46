/* gemini_http.c -- URL and headers of a Gemini request; the model is part of the URL.
 *
 *       Google AI  HOST/v1beta/models/M:streamGenerateContent?alt=sse
 *       Vertex     HOST/v1beta1/projects/P/locations/L/publishers/google/models/M:..
 *
 * Google AI takes an API key, Vertex an OAuth token (or, without a project, an express mode
 * key). A model may also be given by its full resource name,
 * "projects/P/locations/L/endpoints/E". */
#include "model/vendor/gemini/gemini_http.h"

#include "model/codec/encode.h"

/* True if the base URL already contains a version: "/v1beta", "/v1". */
static bool has_version(struct ch_sv base) {
    size_t i = base.n;
    while (i > 0 && base.p[i - 1] != '/')
        i--;
    return base.n - i >= 2 && base.p[i] == 'v' && base.p[i + 1] >= '1' && base.p[i + 1] <= '9';
}

static bool is_vertex(struct ch_sv base) {
    return ch_sv_contains_nocase(base, "aiplatform");
}

/* The path between base URL and a resource of the service. A base URL may end at the host, at the
 * version or, on Vertex, at the location or the publisher. */
static const char *path_to_version(struct ch_sv base) {
    if (ch_sv_contains_nocase(base, "/projects/") || has_version(base))
        return "/";
    return is_vertex(base) ? "/v1beta1/" : "/v1beta/";
}

static const char *path_to_model(struct ch_sv base, struct ch_sv model) {
    bool project = ch_sv_contains_nocase(base, "/projects/"), vertex = is_vertex(base);
    const char *version = path_to_version(base);
    if (memchr(model.p ? model.p : "", '/', model.n))
        return version;
    if (project && !ch_sv_ends(base, "/publishers/google"))
        return "/publishers/google/models/";
    if (vertex && !project) /* an express mode key */
        return version[1] ? "/v1beta1/publishers/google/models/" : "/publishers/google/models/";
    return version[1] ? "/v1beta/models/" : "/models/";
}

/* Append the model, percent-encoded because users type it. */
static void gemini_http_add_model(struct ch_buf *out, struct ch_sv model) {
    for (size_t i = 0; i < model.n; i++) {
        unsigned char c = (unsigned char)model.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (plain || (c && strchr("-._~/@", c)))
            ch_buf_addc(out, (char)c);
        else
            ch_buf_addf(out, "%%%02X", c);
    }
}

/* The base URL without its query, which is stored in *query. */
static struct ch_sv split_base(const char *base_url, struct ch_sv *query) {
    *query = ch_sv_str(base_url);
    struct ch_sv base = ch_sv_split(query, '?');
    while (base.n && base.p[base.n - 1] == '/')
        base.n--;
    return base;
}

const char *ch_gemini_models_url(const char *base_url, struct ch_arena *a) {
    struct ch_sv query, base = split_base(base_url, &query);
    struct ch_sv path = ch_sv_str(path_to_model(base, CH_SV("")));
    return ch_arena_printf(a, "%.*s%.*s?pageSize=1000%s%.*s", CH_SV_FMT(base), (int)path.n - 1,
                           path.p, query.n ? "&" : "", CH_SV_FMT(query));
}

const char *ch_gemini_resource_url(const char *base_url, const char *resource, struct ch_arena *a) {
    struct ch_sv query, base = split_base(base_url, &query);
    return ch_arena_printf(a, "%.*s%s%s%s%.*s", CH_SV_FMT(base), path_to_version(base), resource,
                           query.n ? "?" : "", CH_SV_FMT(query));
}

static const char *url_for(const struct ch_model_request *req, struct ch_arena *a) {
    struct ch_sv query, base = split_base(req->endpoint->base_url, &query);
    const char *method = req->no_stream ? "generateContent" : "streamGenerateContent?alt=sse";
    const char *join = !query.n ? "" : req->no_stream ? "?" : "&";
    CH_BUF_AUTO url = {0};
    ch_buf_add_sv(&url, base);
    ch_buf_add_str(&url, path_to_model(base, req->model));
    gemini_http_add_model(&url, req->model);
    ch_buf_addf(&url, ":%s%s", method, join);
    ch_buf_add_sv(&url, query);
    return ch_arena_str(a, ch_buf_sv(&url));
}

void ch_gemini_request(const struct ch_model_request *req, struct ch_arena *a, const char *url,
                       struct ch_http_request *out) {
    const char *key = req->endpoint->api_key ? req->endpoint->api_key : "";
    bool bearer = req->endpoint->quirks & CH_Q_BEARER || strncmp(key, "ya29.", 5) == 0;
    struct ch_header defaults[] = {
        {CH_SV("content-type"), CH_SV("application/json")},
        {CH_SV("accept"), req->no_stream ? CH_SV("application/json") : CH_SV("text/event-stream")},
        {CH_SV("x-goog-api-key"), bearer ? CH_SV("") : ch_sv_str(key)},
        {CH_SV("authorization"), bearer ? ch_encode_bearer(a, key) : CH_SV("")},
    };
    ch_encode_http(req, a, "", defaults, CH_LEN(defaults), out);
    out->url = url;
}

int ch_gemini_http(const struct ch_model_request *req, struct ch_arena *a,
                   struct ch_http_request *out, struct chela_error *err CH_UNUSED) {
    ch_gemini_request(req, a, url_for(req, a), out);
    return CHELA_OK;
}
