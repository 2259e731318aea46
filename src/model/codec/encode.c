/* encode.c -- see encode.h. */
#include "model/codec/encode.h"

#include "base/base64.h"
#include "base/error.h"
#include "base/wild.h"
#include "json/json.h"
#include "model/catalog/learnt.h"
#include "model/codec/codec.h"

const char *ch_encode_url(struct ch_arena *a, const char *base_url, const char *path) {
    struct ch_sv query = ch_sv_str(base_url);
    struct ch_sv base = ch_sv_split(&query, '?');
    while (base.n && base.p[base.n - 1] == '/')
        base.n--;
    if (base.n >= 3 && memcmp(base.p + base.n - 3, "/v1", 3) == 0 && strncmp(path, "/v1/", 4) == 0)
        path += 3;
    const char *join = !query.p ? "" : strchr(path, '?') ? "&" : "?";
    struct ch_sv parts[] = {base, ch_sv_str(path), ch_sv_str(join), query};
    return ch_arena_join(a, parts, CH_LEN(parts));
}

static bool has_header(const struct ch_header *headers, size_t n, struct ch_sv name) {
    for (size_t i = 0; i < n; i++)
        if (ch_sv_eq_nocase(headers[i].name, name))
            return true;
    return false;
}

void ch_encode_http(const struct ch_model_request *req, struct ch_arena *a, const char *path,
                    const struct ch_header *defaults, size_t n, struct ch_http_request *out) {
    const struct ch_endpoint *ep = req->endpoint;
    size_t room = ep->nheaders, count = 0;
    for (size_t i = 0; i < n; i++)
        room += defaults[i].value.n > 0;
    struct ch_header *headers = ch_arena_alloc(a, room * sizeof(*headers));
    for (size_t i = 0; i < n; i++)
        if (defaults[i].value.n && !has_header(ep->headers, ep->nheaders, defaults[i].name))
            headers[count++] = defaults[i];
    for (size_t i = 0; i < ep->nheaders; i++)
        headers[count++] = ep->headers[i];
    *out = (struct ch_http_request){.method = "POST", .headers = headers, .nheaders = count};
    out->url = ch_encode_url(a, ep->base_url, path);
}

void ch_encode_add_header(struct ch_arena *a, struct ch_http_request *h, struct ch_header header) {
    struct ch_header *headers = ch_arena_alloc(a, (h->nheaders + 1) * sizeof(*headers));
    memcpy(headers, h->headers, h->nheaders * sizeof(*headers));
    headers[h->nheaders++] = header;
    h->headers = headers;
}

struct ch_sv ch_encode_bearer(struct ch_arena *a, const char *key) {
    return key && *key ? ch_sv_str(ch_arena_printf(a, "Bearer %s", key)) : CH_SV("");
}

bool ch_is_json(struct ch_sv text, enum ch_json_type type) {
    char room[512]; /* most arguments are small */
    CH_ARENA_AUTO arena = CH_ARENA_IN(room);
    const struct ch_json *v = NULL;
    ch_json_parse(&arena, text, CH_JSON_STRICT, &v, NULL, NULL);
    return ch_json_is(v, type);
}

void ch_encode_openai_http(const struct ch_model_request *req, struct ch_arena *a, const char *path,
                           struct ch_http_request *out) {
    const char *key = req->endpoint->api_key;
    bool azure = req->endpoint->quirks & CH_Q_API_KEY;
    struct ch_header defaults[] = {
        {CH_SV("content-type"), CH_SV("application/json")},
        {CH_SV("accept"), req->no_stream ? CH_SV("application/json") : CH_SV("text/event-stream")},
        {CH_SV("authorization"), azure ? CH_SV("") : ch_encode_bearer(a, key)},
        {CH_SV("api-key"), azure ? ch_sv_str(key) : CH_SV("")},
    };
    ch_encode_http(req, a, path, defaults, CH_LEN(defaults), out);
}

void ch_encode_arguments(struct ch_jw *w, struct ch_sv arguments) {
    if (ch_is_json(arguments, CH_JSON_OBJECT)) {
        ch_jw_raw(w, ch_sv_trim(arguments));
        return;
    }
    ch_jw_begin(w, '{');
    if (!ch_is_blank(arguments))
        ch_jw_kstr(w, "_invalid", arguments);
    ch_jw_end(w, '}');
}

bool ch_encode_strict(struct ch_sv schema, enum ch_clean vendor, struct ch_buf *out) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    size_t mark = out->n;
    if (ch_json_parse(&arena, schema, CH_JSON_STRICT, &v, NULL, NULL) == 0 &&
        ch_schema_clean(v, vendor, out, NULL, NULL) == 0)
        return true;
    ch_encode_undo(out, mark);
    return false;
}

size_t ch_encode_begin(struct ch_buf *out, bool first) {
    size_t mark = out->n;
    if (!first)
        ch_buf_addc(out, ',');
    return mark;
}

void ch_encode_undo(struct ch_buf *out, size_t mark) {
    out->n = mark;
    if (out->p)
        out->p[mark] = '\0';
}

/* --- members from the configuration */

static const struct ch_json *read_members(struct ch_sv members, struct ch_arena *a) {
    const struct ch_json *v = NULL;
    char *text = ch_arena_printf(a, "{%.*s}", CH_SV_FMT(members));
    ch_json_parse(a, ch_sv_str(text), CH_JSON_STRICT, &v, NULL, NULL);
    return v;
}

static const struct ch_json *read_extra_body(const struct ch_endpoint *ep, struct ch_arena *a) {
    return read_members(ep->extra_body, a);
}

bool ch_encode_extra_has(const struct ch_model_request *req, const char *member) {
    CH_ARENA_AUTO arena = {0};
    return req->endpoint->extra_body.n &&
           ch_json_get(read_extra_body(req->endpoint, &arena), member);
}

bool ch_encode_has_tools(const struct ch_model_request *req) {
    CH_ARENA_AUTO arena = {0};
    if (req->ntools || req->server_tools.n)
        return true;
    if (!req->endpoint->extra_body.n)
        return false;
    const struct ch_json *extra = read_extra_body(req->endpoint, &arena);
    const struct ch_json *tools = ch_json_get(extra, "tools");
    return ch_json_is(tools, CH_JSON_ARRAY) && tools->n;
}

void ch_encode_extra_tools(const struct ch_model_request *req, struct ch_jw *w) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *own = NULL;
    if (req->server_tools.n)
        ch_json_parse(&arena, req->server_tools, CH_JSON_STRICT, &own, NULL, NULL);
    for (CH_JSON_EACH(t, own))
        ch_jw_value(w, t);
    if (!req->endpoint->extra_body.n)
        return;
    for (CH_JSON_EACH(tool, ch_json_get(read_extra_body(req->endpoint, &arena), "tools")))
        ch_jw_value(w, tool);
}

static const struct ch_json *find_tool(const struct ch_json *tools, const char *type,
                                       struct ch_sv name) {
    for (CH_JSON_EACH(t, tools))
        if (ch_wild(ch_sv_str(type), ch_json_get_str(t, "type")) &&
            (!name.n || ch_sv_eq(ch_json_get_str(t, "name"), name)))
            return t;
    return NULL;
}

const struct ch_json *ch_encode_declared(const struct ch_endpoint *ep, struct ch_sv server_tools,
                                         const char *type, struct ch_sv name, struct ch_arena *a) {
    const struct ch_json *own = NULL, *found;
    if (server_tools.n)
        ch_json_parse(a, server_tools, CH_JSON_STRICT, &own, NULL, NULL);
    found = find_tool(own, type, name);
    return found || !ep->extra_body.n
               ? found
               : find_tool(ch_json_get(read_extra_body(ep, a), "tools"), type, name);
}

bool ch_encode_declares(const struct ch_endpoint *ep, struct ch_sv server_tools, const char *type,
                        struct ch_sv name) {
    CH_ARENA_AUTO arena = {0};
    return (server_tools.n || ep->extra_body.n) &&
           ch_encode_declared(ep, server_tools, type, name, &arena);
}

bool ch_encode_defers(const struct ch_model_request *req, const char *search) {
    for (size_t i = 0; i < req->ntools; i++)
        if (req->tools[i].deferred)
            return !ch_encode_declares(req->endpoint, req->server_tools, search, CH_SV(""));
    return false;
}

void ch_encode_deferral(const struct ch_tool_def *t, struct ch_jw *w) {
    if (t->deferred)
        ch_jw_kbool(w, "defer_loading", true);
    if (t->callers.n)
        ch_jw_kraw(w, "allowed_callers", t->callers);
}

static void write_merged(struct ch_jw *w, const struct ch_json *own, const struct ch_json *added) {
    if (!ch_json_is(own, CH_JSON_OBJECT) || !ch_json_is(added, CH_JSON_OBJECT)) {
        ch_jw_value(w, added);
        return;
    }
    ch_jw_begin(w, '{');
    for (CH_JSON_MEMBERS(k, v, own))
        if (!ch_json_get_sv(added, ch_json_str(k))) {
            ch_jw_key_sv(w, ch_json_str(k));
            ch_jw_value(w, v);
        }
    for (CH_JSON_MEMBERS(key, value, added)) {
        ch_jw_key_sv(w, ch_json_str(key));
        ch_jw_value(w, value);
    }
    ch_jw_end(w, '}');
}

static int check_extra(const struct ch_model_request *req, const struct ch_json *extra,
                       struct chela_error *err) {
    static const char *const own[] = {"model", "messages", "input",   "instructions",
                                      "system", "contents", "systemInstruction"};
    for (size_t i = 0; i < CH_LEN(own); i++)
        if (ch_json_get(extra, own[i]))
            return ch_fail(err, CHELA_ECONFIG, "provider %s: extraBody must not contain \"%s\"",
                           req->endpoint->provider, own[i]);
    const struct ch_json *tools = ch_json_get(extra, "tools");
    if (tools && !ch_json_is(tools, CH_JSON_ARRAY))
        return ch_fail(err, CHELA_ECONFIG, "provider %s: \"tools\" in extraBody must be a list",
                       req->endpoint->provider);
    return CHELA_OK;
}

/* Adds members to the body. wins: they replace those of the same name. */
static void encode_merge(struct ch_buf *tail, size_t from, const struct ch_json *added, bool wins) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *own = NULL;
    char *text = ch_arena_printf(&arena, "{\"\":0%.*s}", (int)(tail->n - from), tail->p + from);
    ch_json_parse(&arena, ch_sv_str(text), CH_JSON_STRICT, &own, NULL, NULL);
    ch_encode_undo(tail, from);
    struct ch_jw w = {.out = tail, .comma = true};
    for (CH_JSON_MEMBERS(k, v, own))
        if (ch_json_str(k).n && !ch_json_get_sv(added, ch_json_str(k))) {
            ch_jw_key_sv(&w, ch_json_str(k));
            ch_jw_value(&w, v);
        }
    for (CH_JSON_MEMBERS(key, value, added)) {
        const struct ch_json *mine = ch_json_get_sv(own, ch_json_str(key));
        if (ch_sv_is(ch_json_str(key), "tools") && ch_json_is(value, CH_JSON_ARRAY))
            continue; /* in the head */
        ch_jw_key_sv(&w, ch_json_str(key));
        if (wins || !mine)
            write_merged(&w, mine, value);
        else
            write_merged(&w, value, mine);
    }
}

int ch_encode_extra(const struct ch_model_request *req, struct ch_buf *tail, size_t from,
                    struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    if (req->passed.n)
        encode_merge(tail, from, read_members(req->passed, &arena), false);
    if (!req->endpoint->extra_body.n)
        return CHELA_OK;
    const struct ch_json *extra = read_extra_body(req->endpoint, &arena);
    int rc = check_extra(req, extra, err);
    if (rc == 0)
        encode_merge(tail, from, extra, true);
    return rc;
}

/* --- authors of messages */

/* The group of models that take each other's reasoning; NULL: none. What servers of OpenAI's
 * protocols encrypt, the model itself alone takes back, and from the same server. */
static const char *group_of(const struct ch_model_facts *f, const char *api) {
    return strncmp(api, "openai", 6) == 0 ? NULL : f->reads;
}

/* Both are of one group, or one is a deployment's own name. */
static bool may_read(const struct ch_model_request *req, struct ch_sv writer, const char *api) {
    const struct ch_model_facts *by = ch_model_facts(writer), *to = ch_request_facts(req);
    const char *a = group_of(by, api), *b = group_of(to, api);
    return a && b ? strcmp(a, b) == 0 : (a && !to->match) || (b && !by->match);
}

/* Another provider of such models accepts what they wrote. */
static bool is_portable(const struct ch_model_request *req, struct ch_sv writer,
                        const char *api) {
    return group_of(ch_model_facts(writer), api) && group_of(ch_request_facts(req), api);
}

static bool encode_is_own(const struct ch_model_request *req, const struct ch_msg_author *by,
                          const char *api) {
    if (!by->api || strcmp(by->api, api) != 0)
        return false;
    struct ch_sv model = by->asked, provider = ch_sv_split(&model, '/');
    return !by->asked.n || ch_sv_eq(provider, ch_sv_str(req->endpoint->provider)) ||
           is_portable(req, by->model, api);
}

bool ch_encode_is_own(const struct ch_model_request *req, const struct ch_msg *m,
                      const char *api) {
    struct ch_msg_author by = ch_msg_author(m);
    return encode_is_own(req, &by, api);
}

bool ch_encode_wrote(const struct ch_model_request *req, const struct ch_msg *m,
                     const char *api) {
    struct ch_msg_author by = ch_msg_author(m);
    if (req->without_reasoning || !encode_is_own(req, &by, api))
        return false;
    struct ch_sv model = by.asked, provider = ch_sv_split(&model, '/');
    if (by.asked.n && ch_sv_eq(provider, ch_sv_str(req->endpoint->provider)) &&
        ch_sv_eq(model, req->model))
        return true;
    return ch_model_same(by.model, req->model) ||
           ((!by.asked.n || is_portable(req, by.model, api)) && may_read(req, by.model, api));
}

/* --- reasoning */

bool ch_encode_reasons(const struct ch_model_request *req) {
    const struct ch_model_facts *f = ch_request_facts(req);
    unsigned quirks = req->endpoint->quirks;
    if (quirks & (CH_Q_REASONS | CH_Q_NO_REASONING))
        return quirks & CH_Q_REASONS;
    return f->maker == CH_MAKER_OPENAI && f->efforts;
}

/* OpenAI's Chat Completions refuses tools of newer models unless their effort is none, which is
 * not their default. A deployment whose name says nothing takes at least "low". */
enum ch_effort ch_encode_effort(const struct ch_model_request *req) {
    const struct ch_endpoint *ep = req->endpoint;
    const struct ch_model_facts *f = ch_request_facts(req);
    const char *api = ep->codec->inner ? ep->codec->inner->name : ep->codec->name;
    bool own = strncmp(api, "openai", 6) == 0 && !(ep->quirks & CH_Q_NO_DEVELOPER);
    bool chat = own && strcmp(api, "openai") == 0;
    if (chat && req->ntools && f->flags & CH_M_RESPONSES && f->efforts & 1u << CH_EFFORT_OFF)
        return CH_EFFORT_OFF;
    if (own && !f->efforts && req->effort == CH_EFFORT_OFF)
        return CH_EFFORT_LOW;
    return ch_facts_effort(f, req->effort);
}

/* --- documents and parts that cannot be sent */

bool ch_encode_document_text(const struct ch_block *b, struct ch_buf *out) {
    bool text = ch_sv_starts(b->name, "text/") || ch_sv_is(b->name, "application/json") ||
                ch_sv_is(b->name, "application/xml");
    return !(b->flags & CH_F_URL) && text && ch_base64_read(b->text, out);
}

void ch_encode_note(const struct ch_block *b, struct ch_buf *out) {
    ch_buf_addf(out, "[%s%s%.*s%s%.*s", ch_block_type_name(b->type), b->id.n ? " " : "",
                CH_SV_FMT(b->id), b->name.n ? " " : "", CH_SV_FMT(b->name));
    if (b->flags & CH_F_URL)
        ch_buf_addf(out, " at %.*s]", CH_SV_FMT(b->text));
    else
        CH_BUF_LIT(out, ": cannot be shown to this model]");
}

struct ch_sv ch_encode_prefixed(const char **prefix, struct ch_sv text, struct ch_buf *room) {
    if (!*prefix)
        return text;
    ch_buf_clear(room);
    ch_buf_add_str(room, *prefix);
    ch_buf_add_sv(room, text);
    *prefix = NULL;
    return ch_buf_sv(room);
}

uint32_t ch_encode_end_of(const struct ch_msg *m) {
    uint32_t n = m->nblocks;
    while (n && (m->blocks[n - 1].type == CH_BLOCK_REASONING ||
                 (m->blocks[n - 1].type == CH_BLOCK_TEXT && ch_is_blank(m->blocks[n - 1].text))))
        n--;
    return n;
}
