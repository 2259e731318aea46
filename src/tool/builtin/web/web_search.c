/* web_search.c -- the tool `web_search`: results of a search service as a list.
 *
 * A provider is a table row: URL, request format, and the location of the results in its
 * JSON. The operator chooses the service, so it is contacted like a model service (proxies
 * included) and may be on this machine. Redirects are not followed, because the key must
 * not be sent elsewhere. Results are untrusted text. */
#include "tool/builtin/web/web_search.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tool/builtin/web/untrusted.h"
#include "tool/call/call.h"
#include "tool/builtin/web/fetch.h"
#include "tool/call/call_view.h"
#include "tool/registry/settings.h"
#include "json/writer.h"

#define DEFAULT_COUNT 5
#define MOST_QUERY 1000   /* bytes */
#define MOST_TITLE 200    /* bytes of a title */
#define MOST_SNIPPET 500  /* bytes of a snippet */
#define MOST_ADDRESS 1000 /* bytes of a URL; results with longer URLs are dropped */

struct provider {
    const char *name;
    const char *url;        /* default URL; NULL: the operator must set one */
    const char *path;       /* path and query string before the search words */
    const char *count_name; /* parameter for the number of results; may be NULL */
    const char *key_header; /* header of the API key */
    const char *key_prefix;
    bool needs_key;
    const char *group, *snippet; /* group.results[].{title,url,snippet}; may be NULL */
};

static const struct provider providers[] = {
    {.name = "searxng",
     .path = "/search?format=json&q=",
     .key_header = "Authorization",
     .key_prefix = "Bearer ",
     .snippet = "content"},
    {.name = "brave",
     .url = "https://api.search.brave.com",
     .path = "/res/v1/web/search?q=",
     .count_name = "count",
     .key_header = "X-Subscription-Token",
     .key_prefix = "",
     .needs_key = true,
     .group = "web",
     .snippet = "description"},
};

struct search {
    chela_call *call;
    const struct provider *provider;
    const char *query;
    int64_t count;
    struct ch_transport *transport;
    struct ch_http_call *http;
    struct ch_http_request req;
    struct ch_header headers[3];
    struct ch_buf url, key, body; /* owned */
    int status;
    int64_t retry_after_ms;
};

static void free_search(struct search *s) {
    ch_buf_release(&s->url);
    ch_buf_release(&s->key);
    ch_buf_release(&s->body);
    ch_free(s);
}

static void web_search_finish(struct search *s) {
    chela_call *call = s->call;

    free_search(s);
    chela_call_finish(call);
}

static const struct provider *find_provider(const char *name) {
    for (size_t i = 0; i < CH_LEN(providers); i++)
        if (strcmp(providers[i].name, name) == 0)
            return &providers[i];
    return NULL;
}

/* --- arguments ------------------------------------------------------------------------ */

static int web_search_read_arguments(chela_call *call, const char **query, int64_t *count) {
    static const char *const names[] = {"query", "q", NULL};
    static const char *const counts[] = {"count", "num_results", "max_results", "limit", NULL};

    *count = DEFAULT_COUNT;
    if (chela_arg_string(call, ch_arg_name(call, names), query) < 0 ||
        chela_arg_int_opt(call, ch_arg_name(call, counts), count) < 0)
        return CHELA_EINVAL;
    if (ch_sv_trim(ch_sv_str(*query)).n == 0)
        return ch_result_invalid(call, "The query is empty.");
    if (strlen(*query) > MOST_QUERY)
        return ch_result_invalid(call, "The query is longer than 1000 bytes.");
    if (*count < 1)
        return ch_result_invalid(call, "The argument \"count\" must be at least 1.");
    *count = CH_MIN(*count, CH_LIMIT_SEARCH_RESULTS);
    return 0;
}

int ch_web_search_check(chela_call *call, void *user) {
    const char *query;
    int64_t count;

    (void)user;
    return web_search_read_arguments(call, &query, &count);
}

/* --- results ---------------------------------------------------------------------------- */

static size_t entity(struct ch_sv s, char *to) {
    static const struct {
        const char *text;
        char c;
    } known[] = {{"&amp;", '&'},  {"&lt;", '<'},   {"&gt;", '>'},
                 {"&quot;", '"'}, {"&#39;", '\''}, {"&#x27;", '\''}};

    for (size_t i = 0; i < CH_LEN(known); i++)
        if (ch_sv_starts(s, known[i].text)) {
            *to = known[i].c;
            return strlen(known[i].text);
        }
    return 0;
}

/* One line of text, with the tags and entities that services add removed. */
static void web_search_add_plain(struct ch_buf *out, struct ch_sv s, size_t max) {
    CH_BUF_AUTO text = {0};

    for (size_t i = 0; i < s.n && text.n < 4 * max; i++) {
        struct ch_sv rest = ch_sv(s.p + i, s.n - i);
        const char *end = s.p[i] == '<' ? memchr(rest.p, '>', CH_MIN(rest.n, 64)) : NULL;
        char c = s.p[i];
        size_t n = s.p[i] == '&' ? entity(rest, &c) : 0;
        if (end) {
            i += (size_t)(end - rest.p);
            continue;
        }
        i += n ? n - 1 : 0;
        ch_buf_addc(&text, (unsigned char)c < ' ' ? ' ' : c);
    }
    struct ch_sv all = ch_sv_trim(ch_buf_sv(&text)), cut = ch_utf8_cut(all, max);
    ch_buf_add_sv(out, cut);
    ch_buf_add_str(out, cut.n < all.n ? "…" : "");
}

static bool web_search_is_address(struct ch_sv url) {
    for (size_t i = 0; i < url.n; i++)
        if ((unsigned char)url.p[i] <= ' ' || url.p[i] == 0x7f)
            return false;
    return url.n <= MOST_ADDRESS && (ch_sv_starts(url, "http://") || ch_sv_starts(url, "https://"));
}

static const struct ch_json *find_results(const struct search *s, const struct ch_json *root) {
    const struct provider *p = s->provider;
    const struct ch_json *group = p->group ? ch_json_get(root, p->group) : root;

    if (p->group && !group && root->type == CH_JSON_OBJECT)
        return root; /* some services omit the group if there are no hits */
    return ch_json_get(group, "results");
}

static size_t list_results(const struct search *s, const struct ch_json *results,
                           struct ch_buf *text, struct ch_jw *w) {
    size_t n = 0;

    for (CH_JSON_EACH(e, results)) {
        struct ch_sv url = ch_json_get_str(e, "url");
        if (n == (size_t)s->count)
            break;
        if (!web_search_is_address(url))
            continue;
        CH_BUF_AUTO title = {0}, snippet = {0};
        web_search_add_plain(&title, ch_json_get_str(e, "title"), MOST_TITLE);
        web_search_add_plain(&snippet, ch_json_get_str(e, s->provider->snippet), MOST_SNIPPET);
        ch_buf_addf(text, "%zu. %s\n   %.*s\n", ++n, ch_buf_str(&title), CH_SV_FMT(url));
        if (snippet.n)
            ch_buf_addf(text, "   %s\n", ch_buf_str(&snippet));
        ch_jw_begin(w, '{');
        ch_jw_kstr(w, "title", ch_buf_sv(&title));
        ch_jw_kstr(w, "url", url);
        ch_jw_kstr(w, "snippet", ch_buf_sv(&snippet));
        ch_jw_end(w, '}');
    }
    return n;
}

static void web_search_answer(const struct search *s) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0}, json = {0}, out = {0};
    struct ch_jw w = ch_jw(&json);
    const struct ch_json *root, *results;

    if (ch_json_parse(&arena, ch_buf_sv(&s->body), CH_JSON_REPLACE, &root, NULL, NULL) < 0 ||
        !(results = find_results(s, root))) {
        chela_result_error(s->call, "unavailable",
                           "The search service (%s) did not answer with results.",
                           s->provider->name);
        return;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "results", '[');
    size_t n = list_results(s, results, &text, &w);
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    if (n)
        ch_untrusted_add(&out, CH_SV("a web search"), ch_buf_sv(&text));
    else
        ch_buf_add_str(&out, "Nothing was found. Try other words.\n");
    chela_result_text(s->call, ch_buf_str(&out), out.n);
    chela_result_details(s->call, ch_buf_str(&json));
}

static void explain_status(const struct search *s) {
    struct chela_error err = {.code = CHELA_EPROTO};
    const char *type = ch_fetch_error_type(&err, s->status), *hint = "";

    if (s->status == 401 || (s->status == 403 && s->provider->needs_key))
        hint = ": its key was not accepted";
    else if (s->status == 403)
        hint = ": it may not allow the format json";
    if (s->status / 100 == 3 || (s->status / 100 == 4 && strcmp(type, "invalid_arguments") == 0))
        type = "internal"; /* the configured URL is wrong, not the model's arguments */
    chela_result_error(s->call, type, "The search service (%s) answered with status %d%s.",
                       s->provider->name, s->status, hint);
    if (s->retry_after_ms)
        chela_result_retry_after(s->call, s->retry_after_ms);
}

/* --- the request -------------------------------------------------------------------------- */

static void web_search_on_head(const struct ch_http_head *head, void *user) {
    struct search *s = user;
    struct ch_sv wait = ch_header_find(head->headers, head->nheaders, "retry-after");

    s->status = head->status;
    for (size_t i = 0; i < CH_MIN(wait.n, 5) && wait.p[i] >= '0' && wait.p[i] <= '9'; i++)
        s->retry_after_ms = s->retry_after_ms * 10 + 1000L * (wait.p[i] - '0');
}

static void web_search_on_data(struct ch_sv data, void *user) {
    ch_buf_add_sv(&((struct search *)user)->body, data);
}

static void web_search_on_done(const struct chela_error *err, void *user) {
    struct search *s = user;

    s->http = NULL;
    chela_call_on_cancel(s->call, NULL, NULL);
    if (err)
        chela_result_error(s->call, ch_fetch_error_type(err, 0), "The search failed: %s.",
                           err->message);
    else if (s->status / 100 != 2)
        explain_status(s);
    else
        web_search_answer(s);
    web_search_finish(s);
}

static void web_search_on_cancel(chela_call *call, void *user) {
    struct search *s = user;

    (void)call;
    ch_transport_cancel(s->transport, CH_TAKE(s->http));
    web_search_finish(s);
}

static void web_search_add_query(struct ch_buf *url, const char *text) {
    for (; *text; text++) {
        char c = *text;
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     c == '-' || c == '_' || c == '.' || c == '~';
        if (plain)
            ch_buf_addc(url, c);
        else
            ch_buf_addf(url, "%%%02X", (unsigned char)c);
    }
}

static void make_url(struct search *s, const char *base) {
    size_t n = strlen(base);

    while (n && base[n - 1] == '/')
        n--;
    ch_buf_add(&s->url, base, n);
    ch_buf_add_str(&s->url, s->provider->path);
    web_search_add_query(&s->url, s->query);
    if (s->provider->count_name)
        ch_buf_addf(&s->url, "&%s=%lld", s->provider->count_name, (long long)s->count);
}

static void make_request(struct search *s, const struct ch_tool_settings *settings) {
    size_t n = 0;

    make_url(s, settings->search_url ? settings->search_url : s->provider->url);
    s->headers[n++] = (struct ch_header){CH_SV("Accept"), CH_SV("application/json")};
    s->headers[n++] = (struct ch_header){CH_SV("Accept-Encoding"), CH_SV("identity")};
    if (settings->search_key) {
        ch_buf_addf(&s->key, "%s%s", s->provider->key_prefix, settings->search_key);
        s->headers[n++] =
            (struct ch_header){ch_sv_str(s->provider->key_header), ch_buf_sv(&s->key)};
    }
    s->req = (struct ch_http_request){.method = "GET",
                                      .url = ch_buf_str(&s->url),
                                      .headers = s->headers,
                                      .nheaders = n,
                                      .timeouts = {.first_byte = CH_DEFAULT_SEARCH_MS,
                                                   .idle = CH_DEFAULT_SEARCH_MS,
                                                   .total = CH_DEFAULT_SEARCH_MS},
                                      .max_body = CH_LIMIT_SEARCH_BODY};
}

/* The operator chose the service. */
bool ch_web_search_destination(chela_call *call, struct ch_buf *url) {
    const struct ch_tool_settings *s = call->tool->user;

    ch_buf_add_str(url, s->search_url ? s->search_url : find_provider(s->search_provider)->url);
    return true;
}

int ch_web_search_run(chela_call *call, void *user) {
    static const struct ch_http_handler handler = {web_search_on_head, web_search_on_data,
                                                   web_search_on_done};
    const struct ch_tool_settings *settings = user;
    const char *query;
    int64_t count;

    if (web_search_read_arguments(call, &query, &count) < 0)
        return CHELA_EINVAL;
    const struct provider *p = find_provider(settings->search_provider);
    if ((p->needs_key || settings->search_key_env) && !settings->search_key)
        return chela_result_error(
            call, "internal", "The search service has no key: set the environment variable %s.",
            settings->search_key_env ? settings->search_key_env : "named by webSearch.apiKeyEnv");
    struct search *s = ch_alloc(sizeof(*s));
    s->call = call;
    s->provider = p;
    s->query = query;
    s->count = count;
    s->transport = settings->transport;
    make_request(s, settings);
    chela_call_defer(call);
    chela_call_on_cancel(call, web_search_on_cancel, s);
    s->http = ch_transport_start(s->transport, &s->req, &handler, s);
    return 0;
}
