/* wire_encode.c -- see wire_encode.h. */
#include "model/wire/wire_encode.h"

#include "base/error.h"
#include "base/nearest.h"
#include "model/catalog/model_columns.h"
#include "model/catalog/provider.h"
#include "model/codec/compacted.h"
#include "model/codec/encoder.h"
#include "model/codec/refusals.h"
#include "model/message/message_json.h"
#include "json/json.h"
#include "json/writer.h"

/* Everything that a request refers to; the arena holds texts that are not in the JSON. */
struct reading {
    const struct ch_json *v;
    struct ch_arena arena;
    struct ch_transcript transcript;
    struct ch_endpoint endpoint;
    struct ch_model_facts facts;
    struct ch_model_request req;
    struct ch_sv model;     /* goes before the request's; empty: none */
    struct ch_buf *dropped; /* members that have no effect: JSON strings, comma separated */
    struct chela_error *err;
};

static void add_dropped(struct ch_buf *dropped, struct ch_sv path) {
    ch_buf_add_str(dropped, dropped->n ? ",\"" : "\"");
    ch_json_escape(dropped, path);
    ch_buf_addc(dropped, '"');
}

static void note_dropped(struct reading *r, const char *where, size_t index, struct ch_sv name) {
    CH_BUF_AUTO path = {0};
    if (where)
        ch_buf_addf(&path, "%s[%zu].", where, index);
    ch_buf_add_sv(&path, name);
    add_dropped(r->dropped, ch_buf_sv(&path));
}

static int wire_encode_bad(struct reading *r, const char *key, const char *want) {
    return ch_fail(r->err, CHELA_EINVAL, "request: \"%s\" must be %s", key, want);
}

/* All members of a request. */
static const struct {
    const char *name;
    enum { TEXT, NUMBER, BOOL, LIST, OBJECT } type;
} members[] = {
    {"provider", TEXT},        {"base_url", TEXT},
    {"model", TEXT},           {"system", TEXT},
    {"messages", LIST},        {"tools", LIST},
    {"tool_choice", TEXT},     {"parallel", BOOL},
    {"stream", BOOL},          {"temperature", NUMBER},
    {"top_p", NUMBER},         {"top_k", NUMBER},
    {"seed", NUMBER},          {"max_output_tokens", NUMBER},
    {"reasoning", TEXT},       {"stop", LIST},
    {"output_schema", OBJECT}, {"cache", TEXT},
    {"cache_key", TEXT},       {"quirks", LIST},
    {"headers", OBJECT},       {"extra_body", OBJECT},
    {"server_tools", LIST},    {"logprobs", NUMBER},
    {"kept_free", NUMBER},     {"no_calls", BOOL},
    {"note", TEXT},            {"unbound", NUMBER},
    {"facts", OBJECT},         {"learnt", OBJECT},
    {"compact_at", NUMBER},    {"compact_now", BOOL},
};

static bool is_of_type(const struct ch_json *v, int type) {
    static const enum ch_json_type types[] = {[TEXT] = CH_JSON_STRING,
                                              [NUMBER] = CH_JSON_NUMBER,
                                              [LIST] = CH_JSON_ARRAY,
                                              [OBJECT] = CH_JSON_OBJECT};
    if (v->type == CH_JSON_NULL)
        return true;
    return type == BOOL ? v->type == CH_JSON_TRUE || v->type == CH_JSON_FALSE
                        : v->type == types[type];
}

/* Unknown members are dropped and named, except probable misspellings of known ones. */
static int check_unknown(struct reading *r, struct ch_sv name) {
    struct ch_nearest near = ch_nearest(name);
    for (size_t i = 0; i < CH_LEN(members); i++)
        ch_nearest_try(&near, ch_sv_str(members[i].name));
    if (!near.best.n) {
        note_dropped(r, NULL, 0, name);
        return CHELA_OK;
    }
    return ch_fail(r->err, CHELA_EINVAL,
                   "request: unknown member \"%.*s\" (did you mean \"%.*s\"?)", CH_SV_FMT(name),
                   CH_SV_FMT(near.best));
}

/* Reject members that would otherwise be ignored silently. */
static int check_members(struct reading *r) {
    static const char *const wants[] = {[TEXT] = "a string",
                                        [NUMBER] = "a number",
                                        [BOOL] = "true or false",
                                        [LIST] = "an array",
                                        [OBJECT] = "an object"};
    int rc = CHELA_OK;
    for (CH_JSON_MEMBERS(k, v, r->v)) {
        size_t i = 0;
        while (i < CH_LEN(members) && !ch_sv_is(ch_json_str(k), members[i].name))
            i++;
        if (rc == CHELA_OK && i == CH_LEN(members))
            rc = check_unknown(r, ch_json_str(k));
        else if (rc == CHELA_OK && !is_of_type(v, members[i].type))
            rc = wire_encode_bad(r, members[i].name, wants[members[i].type]);
    }
    return rc;
}

static struct ch_sv wire_encode_compact(struct reading *r, const struct ch_json *v) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_value(&w, v);
    return ch_arena_sv(&r->arena, ch_buf_sv(&out));
}

static const char *text_or(struct reading *r, const char *key, const char *otherwise) {
    struct ch_sv s = ch_json_get_str(r->v, key);
    return s.p ? ch_arena_str(&r->arena, s) : otherwise;
}

/* Add a message; results in several messages in a row are one message, as in sessions. */
static int add_message(struct ch_transcript *t, struct ch_msg *m) {
    const struct ch_msg *last = t->n ? t->msgs[t->n - 1] : NULL;
    if (!last || m->kind != CH_MSG_RESULTS || last->kind != CH_MSG_RESULTS)
        return ch_transcript_add(t, m);
    size_t n = last->nblocks + m->nblocks;
    CH_AUTOFREE struct ch_block *blocks = ch_alloc((n + 1) * sizeof(*blocks));
    memcpy(blocks, last->blocks, last->nblocks * sizeof(*blocks));
    memcpy(blocks + last->nblocks, m->blocks, m->nblocks * sizeof(*blocks));
    struct ch_msg *joined = ch_msg_like(last, CH_MSG_RESULTS, blocks, n);
    ch_msg_free(m);
    ch_transcript_cut(t, t->n - 1);
    return ch_transcript_add(t, joined);
}

static int read_messages(struct reading *r) {
    const struct ch_json *list = ch_json_get(r->v, "messages");
    if (!ch_json_is(list, CH_JSON_ARRAY))
        return wire_encode_bad(r, "messages", "an array");
    for (CH_JSON_EACH(e, list)) {
        struct ch_msg *m;
        int rc = ch_msg_read(e, &m, r->err);
        if (rc == CHELA_OK)
            rc = add_message(&r->transcript, m);
        if (rc < 0)
            return rc;
    }
    r->req.messages = (const struct ch_msg *const *)r->transcript.msgs;
    r->req.nmessages = r->transcript.n;
    return CHELA_OK;
}

static void check_tool(struct reading *r, const struct ch_json *tool) {
    static const char *const known[] = {"name",   "description",   "parameters",
                                        "strict", "defer_loading", "allowed_callers"};
    size_t taken = r->endpoint.codec->searches_tools ? CH_LEN(known) : CH_LEN(known) - 2;
    for (CH_JSON_MEMBERS(k, v, tool)) {
        size_t i = 0;
        while (i < taken && !ch_sv_is(ch_json_str(k), known[i]))
            i++;
        if (i == taken && v->type != CH_JSON_NULL && v->type != CH_JSON_FALSE)
            note_dropped(r, "tools", r->req.ntools, ch_json_str(k));
    }
}

static int wire_encode_read_tools(struct reading *r) {
    const struct ch_json *list = ch_json_get(r->v, "tools");
    if (!list)
        return CHELA_OK;
    if (!ch_json_is(list, CH_JSON_ARRAY))
        return wire_encode_bad(r, "tools", "an array");
    struct ch_tool_def *tools = ch_arena_alloc(&r->arena, (list->n + 1) * sizeof(*tools));
    for (CH_JSON_EACH(e, list)) {
        const struct ch_json *schema = ch_json_get(e, "parameters");
        const struct ch_json *callers = ch_json_get(e, "allowed_callers");
        struct ch_sv name = ch_json_get_str(e, "name");
        if (!name.n)
            return wire_encode_bad(r, "tools", "objects with a name");
        if (schema && !ch_json_is(schema, CH_JSON_OBJECT))
            return wire_encode_bad(r, "parameters", "an object");
        check_tool(r, e);
        tools[r->req.ntools++] = (struct ch_tool_def){
            .name = name,
            .description = ch_json_get_str(e, "description"),
            .schema = schema ? wire_encode_compact(r, schema) : CH_SV(""),
            .strict = ch_json_bool(ch_json_get(e, "strict"), false),
            .deferred = ch_json_bool(ch_json_get(e, "defer_loading"), false),
            .callers = ch_json_is(callers, CH_JSON_ARRAY) ? wire_encode_compact(r, callers)
                                                          : CH_SV(""),
        };
    }
    r->req.tools = tools;
    return CHELA_OK;
}

static void wire_encode_read_choice(struct reading *r) {
    static const struct {
        const char *word;
        enum ch_tool_choice choice;
    } words[] = {{"auto", CH_CHOICE_AUTO}, {"any", CH_CHOICE_ANY}, {"none", CH_CHOICE_NONE}};
    struct ch_sv word = ch_json_get_str(r->v, "tool_choice");
    if (!word.n)
        return;
    r->req.choice = CH_CHOICE_ONE;
    r->req.choice_name = word;
    for (size_t i = 0; i < CH_LEN(words); i++)
        if (ch_sv_is(word, words[i].word))
            r->req.choice = words[i].choice;
}

static int read_effort(struct reading *r) {
    struct ch_sv word = ch_json_get_str(r->v, "reasoning");
    if (!word.n || ch_effort_read(word, &r->req.effort))
        return CHELA_OK;
    return wire_encode_bad(r, "reasoning", "off, minimal, low, medium, high, xhigh or max");
}

static int read_cache(struct reading *r) {
    static const char *const words[] = {"short", "off", "long"};
    struct ch_sv word = ch_json_get_str(r->v, "cache");
    r->req.cache_key = ch_json_get_str(r->v, "cache_key");
    if (!word.n)
        return CHELA_OK;
    for (size_t i = 0; i < CH_LEN(words); i++)
        if (ch_sv_is(word, words[i])) {
            r->req.cache = (enum ch_cache)i;
            return CHELA_OK;
        }
    return wire_encode_bad(r, "cache", "short, long or off");
}

static void read_sampling(struct reading *r) {
    const struct ch_json *temperature = ch_json_get(r->v, "temperature");
    const struct ch_json *top_p = ch_json_get(r->v, "top_p");
    const struct ch_json *seed = ch_json_get(r->v, "seed");
    r->req.has_temperature = ch_json_is(temperature, CH_JSON_NUMBER);
    r->req.temperature = ch_json_double(temperature, 0);
    r->req.has_top_p = ch_json_is(top_p, CH_JSON_NUMBER);
    r->req.top_p = ch_json_double(top_p, 0);
    r->req.top_k = ch_json_int(ch_json_get(r->v, "top_k"), 0);
    r->req.logprobs = ch_json_int(ch_json_get(r->v, "logprobs"), 0);
    r->req.has_seed = ch_json_is(seed, CH_JSON_NUMBER);
    r->req.seed = ch_json_int(seed, 0);
}

static void read_parameters(struct reading *r) {
    const struct ch_json *stop = ch_json_get(r->v, "stop");
    const struct ch_json *schema = ch_json_get(r->v, "output_schema");
    r->req.system = ch_json_get_str(r->v, "system");
    r->req.no_parallel = !ch_json_bool(ch_json_get(r->v, "parallel"), true);
    r->req.no_stream = !ch_json_bool(ch_json_get(r->v, "stream"), true);
    r->req.max_output_tokens = ch_json_int(ch_json_get(r->v, "max_output_tokens"), 0);
    r->req.kept_free = ch_json_int(ch_json_get(r->v, "kept_free"), 0);
    r->req.no_calls = ch_json_bool(ch_json_get(r->v, "no_calls"), false);
    r->req.note = ch_json_get_str(r->v, "note");
    read_sampling(r);
    if (ch_json_is(schema, CH_JSON_OBJECT))
        r->req.output_schema = wire_encode_compact(r, schema);
    if (!ch_json_is(stop, CH_JSON_ARRAY))
        return;
    struct ch_sv *texts = ch_arena_alloc(&r->arena, (stop->n + 1) * sizeof(*texts));
    for (CH_JSON_EACH(e, stop))
        texts[r->req.nstop++] = ch_json_str(e);
    r->req.stop = texts;
}

static int wire_encode_read_quirks(struct reading *r) {
    for (CH_JSON_EACH(e, ch_json_get(r->v, "quirks"))) {
        struct ch_sv name = ch_json_str(e);
        if (ch_sv_is(name, "=")) { /* exactly the following */
            r->endpoint.quirks = 0;
            continue;
        }
        bool off = ch_sv_starts(name, "-");
        unsigned bit = ch_quirk_find(off ? ch_sv(name.p + 1, name.n - 1) : name);
        if (!bit)
            return ch_fail(r->err, CHELA_EINVAL, "request: unknown quirk \"%.*s\"",
                           CH_SV_FMT(name));
        r->endpoint.quirks = off ? r->endpoint.quirks & ~bit : r->endpoint.quirks | bit;
    }
    return CHELA_OK;
}

/* Columns of facts that differ from the built-in ones, and what was learnt. */
static int read_facts(struct reading *r) {
    const struct ch_json *v = ch_json_get(r->v, "facts");
    struct ch_some_facts some = {0};
    if (!ch_json_is(v, CH_JSON_OBJECT) && !r->endpoint.learnt.rules)
        return CHELA_OK;
    for (CH_JSON_MEMBERS(key, x, v)) {
        struct chela_error why = {0};
        enum ch_column c = ch_column_find(ch_json_str(key));
        if (c == CH_COLUMNS)
            return ch_fail(r->err, CHELA_EINVAL, "request: there is no fact \"%.*s\"",
                           CH_SV_FMT(ch_json_str(key)));
        if (ch_column_read(c, x, &r->arena, &some, &why) < 0)
            return ch_fail(r->err, CHELA_EINVAL, "request: facts: %s: %s", ch_column_name(c),
                           why.message);
    }
    r->facts = *ch_model_facts(r->req.model);
    ch_columns_apply(&r->facts, &some, ~UINT64_C(0));
    ch_learnt_correct(&r->endpoint.learnt, &r->facts);
    r->endpoint.facts = &r->facts;
    return CHELA_OK;
}

static void read_extras(struct reading *r) {
    const struct ch_json *headers = ch_json_get(r->v, "headers");
    const struct ch_json *body = ch_json_get(r->v, "extra_body");
    if (ch_json_is(body, CH_JSON_OBJECT) && body->n) {
        struct ch_sv text = wire_encode_compact(r, body);
        r->endpoint.extra_body = ch_sv(text.p + 1, text.n - 2);
    }
    ch_refusal_read_all(ch_json_get(r->v, "learnt"), &r->endpoint.learnt);
    r->req.unbound = (size_t)CH_MAX(ch_json_int(ch_json_get(r->v, "unbound"), 0), 0);
    r->req.compact_at = ch_token_count(ch_json_int(ch_json_get(r->v, "compact_at"), 0));
    r->req.compact_now = ch_json_bool(ch_json_get(r->v, "compact_now"), false);
    if (ch_json_is(ch_json_get(r->v, "server_tools"), CH_JSON_ARRAY))
        r->req.server_tools = wire_encode_compact(r, ch_json_get(r->v, "server_tools"));
    if (!ch_json_is(headers, CH_JSON_OBJECT))
        return;
    struct ch_header *list = ch_arena_alloc(&r->arena, (headers->n + 1) * sizeof(*list));
    for (CH_JSON_MEMBERS(k, v, headers))
        list[r->endpoint.nheaders++] = (struct ch_header){ch_json_str(k), ch_json_str(v)};
    r->endpoint.headers = list;
}

static int read_endpoint(struct reading *r, const struct ch_codec *codec) {
    const char *api = codec->inner ? codec->inner->name : codec->name;
    const struct ch_provider *vendor = ch_provider_of_api(api);
    const char *name = text_or(r, "provider", vendor ? vendor->name : api);
    const struct ch_provider *p = ch_provider_find(ch_sv_str(name));
    bool other = !p || strcmp(p->api, "scripted") == 0; /* one of a configuration, or ours */
    if (other && ch_json_get(r->v, "base_url"))
        p = vendor;
    if (p && strcmp(p->api, api) != 0) /* a service may have two protocols, as OpenAI's */
        p = ch_provider_of_url(ch_sv_str(api), text_or(r, "base_url", p->base_url));
    if (!p && ch_json_get(r->v, "base_url")) /* such a service at a URL of the user's */
        p = ch_provider_find(ch_sv_str(api));
    if (!p)
        return ch_fail(r->err, CHELA_EINVAL, "request: no provider \"%s\" of the %s protocol", name,
                       api);
    r->endpoint.codec = codec;
    r->endpoint.provider = name;
    r->endpoint.base_url = text_or(r, "base_url", p->base_url);
    if (!r->endpoint.base_url)
        return ch_fail(r->err, CHELA_EINVAL, "request: provider \"%s\" needs a \"base_url\"", name);
    const struct ch_provider *there = ch_provider_of_url(ch_sv_str(api), r->endpoint.base_url);
    r->endpoint.quirks = there ? there->quirks : p->quirks;
    if (p->key_env)
        r->endpoint.api_key = ch_arena_printf(&r->arena, "$%s", p->key_env);
    r->req.endpoint = &r->endpoint;
    r->req.model = r->model.n ? r->model : ch_json_get_str(r->v, "model");
    if (!r->req.model.n)
        r->req.model = ch_sv_str(p->default_model ? p->default_model : "");
    read_extras(r);
    int rc = wire_encode_read_quirks(r);
    if (rc == CHELA_OK)
        rc = read_facts(r);
    if (r->endpoint.quirks & CH_Q_PROMPTED && !codec->inner)
        r->endpoint.codec = ch_codec_prompted(codec);
    return rc;
}

static int wire_encode_read_request(struct reading *r, const struct ch_codec *codec) {
    if (!ch_json_is(r->v, CH_JSON_OBJECT))
        return ch_fail(r->err, CHELA_EINVAL, "request: must be an object");
    int rc = check_members(r);
    if (rc == CHELA_OK)
        rc = read_endpoint(r, codec);
    if (rc == CHELA_OK)
        rc = read_messages(r);
    if (rc == CHELA_OK)
        rc = wire_encode_read_tools(r);
    if (rc == CHELA_OK)
        rc = read_effort(r);
    if (rc == CHELA_OK)
        rc = read_cache(r);
    wire_encode_read_choice(r);
    read_parameters(r);
    return rc;
}

/* Appends the request as an object that is not closed. body: where the bytes of the body are. */
static int wire_encode_write_request(struct reading *r, struct ch_buf *out, struct ch_sv *body) {
    struct ch_encoder e = {0};
    struct ch_http_request http = {0};
    ch_compacted_settle(&r->req);
    int rc = ch_encoder_update(&e, &r->req, r->err);
    if (rc == CHELA_OK)
        rc = r->endpoint.codec->http(&r->req, &r->arena, &http, r->err);
    if (rc == CHELA_OK) {
        struct ch_jw w = ch_jw(out);
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "method", http.method);
        ch_jw_kcstr(&w, "url", http.url);
        ch_jw_kbegin(&w, "headers", '{');
        for (size_t i = 0; i < http.nheaders; i++) {
            ch_jw_key_sv(&w, http.headers[i].name);
            ch_jw_str(&w, http.headers[i].value);
        }
        ch_jw_end(&w, '}');
        ch_jw_key(&w, "body");
        size_t at = out->n;
        struct ch_sv pieces[3];
        ch_encoder_body(&e, pieces);
        for (size_t i = 0; i < CH_LEN(pieces); i++)
            ch_buf_add_sv(out, pieces[i]);
        *body = ch_sv(out->p + at, out->n - at);
    }
    ch_encoder_release(&e);
    return rc;
}

static int encode_open(const struct ch_codec *codec, struct ch_sv model, struct ch_sv request,
                       struct ch_buf *out, struct ch_buf *dropped, struct ch_sv *body,
                       struct chela_error *err) {
    struct reading r = {.model = model, .dropped = dropped, .err = err};
    int rc = ch_json_parse(&r.arena, request, CH_JSON_STRICT, &r.v, NULL, err);
    if (rc == CHELA_OK)
        rc = wire_encode_read_request(&r, codec);
    if (rc == CHELA_OK)
        rc = wire_encode_write_request(&r, out, body);
    ch_transcript_release(&r.transcript);
    ch_arena_release(&r.arena);
    return rc;
}

static void encode_close(struct ch_buf *out, const struct ch_buf *dropped) {
    if (dropped->n)
        ch_buf_addf(out, ",\"dropped\":[%.*s]", CH_SV_FMT(ch_buf_sv(dropped)));
    ch_buf_addc(out, '}');
}

/* --- members without an effect */

/* Members that a service may not have, with the word that asks for nothing. */
static const struct {
    const char *name, *nothing;
} options[] = {
    {"temperature", NULL}, {"top_p", NULL},         {"top_k", NULL},         {"seed", NULL},
    {"stop", NULL},        {"logprobs", NULL},      {"cache_key", NULL},     {"cache", "short"},
    {"reasoning", "off"},  {"output_schema", NULL}, {"tool_choice", "auto"}, {"parallel", NULL},
    {"max_output_tokens", NULL},
};

static bool asks(const struct ch_json *v, const char *nothing) {
    return v && v->type != CH_JSON_NULL && v->type != CH_JSON_TRUE &&
           !(nothing && ch_sv_is(ch_json_str(v), nothing));
}

static void write_without(const struct ch_json *request, const char *name, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    for (CH_JSON_MEMBERS(key, v, request))
        if (!ch_sv_is(ch_json_str(key), name)) {
            ch_jw_key_sv(&w, ch_json_str(key));
            ch_jw_value(&w, v);
        }
    ch_jw_end(&w, '}');
}

/* An option has no effect if the request without it is the same bytes. */
static void name_options(const struct ch_codec *codec, struct ch_sv model, struct ch_sv request,
                         struct ch_sv whole, struct ch_buf *dropped) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    ch_json_parse(&arena, request, CH_JSON_STRICT, &v, NULL, NULL);
    for (size_t i = 0; i < CH_LEN(options); i++) {
        CH_BUF_AUTO less = {0};
        CH_BUF_AUTO out = {0};
        CH_BUF_AUTO unread = {0};
        struct ch_sv body;
        if (!asks(ch_json_get(v, options[i].name), options[i].nothing))
            continue;
        write_without(v, options[i].name, &less);
        if (encode_open(codec, model, ch_buf_sv(&less), &out, &unread, &body, NULL) == CHELA_OK &&
            ch_sv_eq(ch_buf_sv(&out), whole))
            add_dropped(dropped, ch_sv_str(options[i].name));
    }
}

int ch_wire_encode(const struct ch_codec *codec, struct ch_sv model, struct ch_sv request,
                   struct ch_buf *out, struct chela_error *err) {
    CH_BUF_AUTO dropped = {0};
    struct ch_sv body;
    size_t from = out->n;
    int rc = encode_open(codec, model, request, out, &dropped, &body, err);
    if (rc < 0)
        return rc;
    name_options(codec, model, request, ch_sv(out->p + from, out->n - from), &dropped);
    encode_close(out, &dropped);
    return rc;
}

int ch_wire_encode_body(const struct ch_codec *codec, struct ch_sv model, struct ch_sv request,
                        struct ch_buf *out, struct ch_sv *body, struct chela_error *err) {
    CH_BUF_AUTO dropped = {0};
    int rc = encode_open(codec, model, request, out, &dropped, body, err);
    if (rc == CHELA_OK) {
        size_t at = (size_t)(body->p - out->p);
        encode_close(out, &dropped);
        body->p = out->p + at;
    }
    return rc;
}
