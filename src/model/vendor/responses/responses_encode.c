/* responses_encode.c -- encodes a neutral request as a Responses request.
 *
 *       head   {"model","instructions","tools":[..],"input":[
 *       items  each neutral message as zero or more items
 *       tail   ],"stream","store":false,... members that may change from turn to turn }
 *
 * The server stores nothing, so every request contains the whole history, and reasoning
 * models are asked for encrypted reasoning. Reasoning is sent back unchanged, but only to
 * the model that wrote it, and only before the item it led to: the server rejects one
 * without the other. For the same reason, item ids are sent only together with their
 * reasoning. */
#include "model/vendor/responses/responses_encode.h"

#include <stdio.h>

#include "model/codec/compacted.h"
#include "model/codec/encode.h"
#include "model/catalog/learnt.h"
#include "model/message/ids.h"
#include "model/vendor/responses/responses.h"
#include "model/vendor/responses/responses_vendor.h"

#define NO_OUTPUT "(no output)"
#define MAX_NAME 64
#define MAX_ITEM_ID 64
#define MIN_OUTPUT_TOKENS 16 /* minimum of the API */
#define COMPACT_AT_LEAST 1000 /* minimum of the API */

static bool responses_encode_has_quirk(const struct ch_model_request *req, unsigned q) {
    return req->endpoint->quirks & q;
}

/* True for OpenAI's own service, judged by the quirks. */
static bool responses_encode_is_plain(const struct ch_model_request *req) {
    return !responses_encode_has_quirk(req, CH_Q_NO_DEVELOPER);
}

/* OpenAI models that are known not to reason reject reasoning parameters; so does a
 * deployment with an unknown name (Azure). */
static bool may_reason(const struct ch_model_request *req) {
    if (responses_encode_has_quirk(req, CH_Q_REASONS | CH_Q_NO_REASONING) ||
        ch_request_facts(req)->maker == CH_MAKER_OPENAI)
        return ch_encode_reasons(req);
    return !responses_encode_has_quirk(req, CH_Q_API_KEY);
}

/* --- HTTP */

int ch_responses_http(const struct ch_model_request *req, struct ch_arena *a,
                      struct ch_http_request *out, struct chela_error *err CH_UNUSED) {
    ch_encode_openai_http(req, a, req->compact_now ? "/responses/compact" : "/responses", out);
    return CHELA_OK;
}

/* --- head and tail */

/* strict is always written, because the server's default is to try strict mode. */
static void responses_encode_write_schema(struct ch_jw *w, const char *key, struct ch_sv schema,
                                          bool strict) {
    CH_BUF_AUTO clean = {0};
    strict = strict && ch_encode_strict(schema, CH_CLEAN_OPENAI_STRICT, &clean);
    ch_jw_kraw(w, key, strict ? ch_buf_sv(&clean) : schema);
    ch_jw_kbool(w, "strict", strict);
}

static void responses_encode_write_tools(const struct ch_model_request *req, struct ch_jw *w) {
    ch_jw_kbegin(w, "tools", '[');
    if (ch_encode_defers(req, "tool_search"))
        ch_jw_raw(w, CH_SV("{\"type\":\"tool_search\"}"));
    for (size_t i = 0; i < req->ntools; i++) {
        const struct ch_tool_def *t = &req->tools[i];
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "type", "function");
        ch_jw_kstr(w, "name", t->name);
        if (t->description.n)
            ch_jw_kstr(w, "description", t->description);
        responses_encode_write_schema(
            w, "parameters",
            t->schema.n ? t->schema : CH_SV("{\"type\":\"object\",\"properties\":{}}"), t->strict);
        ch_encode_deferral(t, w);
        ch_jw_end(w, '}');
    }
    ch_encode_extra_tools(req, w);
    ch_jw_end(w, ']');
}

bool ch_responses_searches_tools(const struct ch_model_request *req) {
    return responses_encode_is_plain(req) && ch_request_is(req, CH_M_TOOL_SEARCH);
}

int ch_responses_head(const struct ch_model_request *req, struct ch_buf *out,
                      struct chela_error *err CH_UNUSED) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "model", req->model);
    if (!ch_is_blank(req->system))
        ch_jw_kstr(&w, "instructions", req->system);
    if (ch_encode_has_tools(req) && !req->compact_now) /* they are no parameter there */
        responses_encode_write_tools(req, &w);
    ch_jw_kbegin(&w, "input", '[');
    return CHELA_OK;
}

static void responses_encode_write_tool_choice(const struct ch_model_request *req,
                                               struct ch_jw *w) {
    if (!req->ntools || responses_encode_has_quirk(req, CH_Q_NO_TOOL_CHOICE))
        return;
    bool takes = !responses_encode_has_quirk(req, CH_Q_NO_FORCED_CHOICE) &&
                 !ch_request_is(req, CH_M_NO_FORCED);
    if (req->choice == CH_CHOICE_NONE || (req->choice == CH_CHOICE_ANY && takes))
        ch_jw_kcstr(w, "tool_choice", req->choice == CH_CHOICE_NONE ? "none" : "required");
    if (req->choice == CH_CHOICE_ONE && takes) {
        ch_jw_kbegin(w, "tool_choice", '{');
        ch_jw_kcstr(w, "type", "function");
        ch_jw_kstr(w, "name", req->choice_name);
        ch_jw_end(w, '}');
    }
    if (req->no_parallel)
        ch_jw_kbool(w, "parallel_tool_calls", false);
}

/* A reasoning model takes no sampling parameters unless its effort is none. */
static bool reasons_now(const struct ch_model_request *req) {
    return ch_encode_reasons(req) && ch_encode_effort(req) != CH_EFFORT_OFF;
}

/* Stop sequences and seed are not supported. */
static void responses_encode_write_sampling(const struct ch_model_request *req, struct ch_jw *w) {
    if (req->max_output_tokens > 0)
        ch_jw_kint(w, "max_output_tokens", CH_MAX(req->max_output_tokens, MIN_OUTPUT_TOKENS));
    if (reasons_now(req) || ch_request_is(req, CH_M_NO_SAMPLING))
        return;
    if (req->has_temperature) {
        ch_jw_kdouble(w, "temperature", req->temperature);
    }
    if (req->has_top_p) {
        ch_jw_kdouble(w, "top_p", req->top_p);
    }
}

static void responses_encode_write_output_schema(const struct ch_model_request *req,
                                                 struct ch_jw *w) {
    if (!req->output_schema.n || responses_encode_has_quirk(req, CH_Q_NO_OUTPUT_SCHEMA))
        return;
    ch_jw_kbegin(w, "text", '{');
    ch_jw_kbegin(w, "format", '{');
    ch_jw_kcstr(w, "type", "json_schema");
    ch_jw_kcstr(w, "name", "answer");
    responses_encode_write_schema(w, "schema", req->output_schema, true);
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

/* A summary is the readable form of the reasoning, which the service sends on request only. Some
 * accounts may not request it; their refusal is remembered. */
static void responses_encode_write_reasoning(const struct ch_model_request *req, struct ch_jw *w) {
    bool off = req->effort == CH_EFFORT_OFF, own = ch_encode_reasons(req);
    bool refused = req->endpoint->learnt.omit & (CH_PART_SUMMARY | CH_PART_EFFORT);
    bool shown = own && !off && !refused, measured = req->effort != CH_EFFORT_DEFAULT;
    if (!may_reason(req) || !(shown || measured))
        return;
    ch_jw_kbegin(w, "reasoning", '{');
    if (measured)
        ch_jw_kcstr(w, "effort", ch_effort_word(ch_encode_effort(req)));
    if (shown)
        ch_jw_kcstr(w, "summary", "auto");
    ch_jw_end(w, '}');
}

enum ch_effort ch_responses_sent_effort(const struct ch_model_request *req) {
    if (may_reason(req))
        return ch_encode_effort(req);
    return responses_encode_has_quirk(req, CH_Q_API_KEY) ? CH_EFFORT_DEFAULT : CH_EFFORT_OFF;
}

static void responses_encode_write_cache(const struct ch_model_request *req, struct ch_jw *w) {
    if (!responses_encode_is_plain(req) || req->cache == CH_CACHE_OFF)
        return;
    if (req->cache_key.n)
        ch_jw_kstr(w, "prompt_cache_key", req->cache_key);
    if (req->cache == CH_CACHE_LONG && ch_request_is(req, CH_M_CACHE_24H))
        ch_jw_kcstr(w, "prompt_cache_retention", "24h");
}

/* Parts of the reply that are sent on request only. */
static void write_include(const struct ch_model_request *req, struct ch_jw *w) {
    bool reasons = may_reason(req), odds = req->logprobs > 0 && !reasons_now(req);
    if (!reasons && !odds)
        return;
    ch_jw_kbegin(w, "include", '[');
    if (reasons)
        ch_jw_cstr(w, "reasoning.encrypted_content");
    if (odds)
        ch_jw_cstr(w, "message.output_text.logprobs");
    ch_jw_end(w, ']');
    if (odds)
        ch_jw_kint(w, "top_logprobs", req->logprobs);
}

static void write_threshold(const struct ch_model_request *req, struct ch_jw *w) {
    if (!req->compact_at || !ch_request_is(req, CH_M_COMPACTS))
        return;
    ch_jw_kbegin(w, "context_management", '[');
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "compaction");
    ch_jw_kint(w, "compact_threshold", CH_MAX(req->compact_at, COMPACT_AT_LEAST));
    ch_jw_end(w, '}');
    ch_jw_end(w, ']');
}

bool ch_responses_reads_compaction(const struct ch_model_request *req, const struct ch_msg *m) {
    return ch_encode_is_own(req, m, CH_RESPONSES);
}

int ch_responses_tail(const struct ch_model_request *req, struct ch_buf *out,
                      struct chela_error *err) {
    struct ch_jw w = ch_jw(out);
    ch_jw_end(&w, ']');
    size_t from = out->n;
    if (req->compact_now) { /* the endpoint for compaction takes no other parameters */
        responses_encode_write_cache(req, &w);
        ch_jw_end(&w, '}');
        return CHELA_OK;
    }
    if (!req->no_stream)
        ch_jw_kbool(&w, "stream", true);
    ch_jw_kbool(&w, "store", false);
    responses_encode_write_sampling(req, &w);
    responses_encode_write_tool_choice(req, &w);
    responses_encode_write_output_schema(req, &w);
    write_include(req, &w);
    responses_encode_write_reasoning(req, &w);
    responses_encode_write_cache(req, &w);
    write_threshold(req, &w);
    int rc = ch_encode_extra(req, out, from, err);
    ch_jw_end(&w, '}');
    return rc;
}

/* --- parts */

static bool is_content(const struct ch_block *b) {
    return ch_block_is_media(b) || (b->type == CH_BLOCK_TEXT && !ch_is_blank(b->text));
}

static void write_text_part(struct ch_jw *w, struct ch_sv text) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "input_text");
    ch_jw_kstr(w, "text", text);
    ch_jw_end(w, '}');
}

static void responses_encode_write_data_url(struct ch_jw *w, const char *key,
                                            const struct ch_block *b) {
    CH_BUF_AUTO url = {0};
    ch_buf_addf(&url, "data:%.*s;base64,", CH_SV_FMT(b->name));
    ch_buf_add_sv(&url, b->text);
    ch_jw_kstr(w, key, ch_buf_sv(&url));
}

static void responses_encode_write_image(struct ch_jw *w, const struct ch_block *b) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "input_image");
    if (b->flags & CH_F_URL)
        ch_jw_kstr(w, "image_url", b->text);
    else
        responses_encode_write_data_url(w, "image_url", b);
    ch_jw_kstr(w, "detail", b->extra.n ? b->extra : CH_SV("auto"));
    ch_jw_end(w, '}');
}

static void responses_encode_write_file(struct ch_jw *w, const struct ch_block *b) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "input_file");
    if (b->flags & CH_F_URL) {
        ch_jw_kstr(w, "file_url", b->text);
    } else {
        ch_jw_kstr(w, "filename", b->id.n ? b->id : CH_SV("document.pdf"));
        responses_encode_write_data_url(w, "file_data", b);
    }
    ch_jw_end(w, '}');
}

/* Text documents are sent as text; of the other types, PDF is generally supported. */
static void responses_encode_write_media(struct ch_jw *w, const struct ch_block *b) {
    CH_BUF_AUTO text = {0};
    bool pdf = b->type == CH_BLOCK_DOCUMENT &&
               (b->flags & CH_F_URL || ch_sv_is(b->name, "application/pdf"));
    if (b->type == CH_BLOCK_IMAGE) {
        responses_encode_write_image(w, b);
        return;
    }
    if (pdf) {
        responses_encode_write_file(w, b);
        return;
    }
    if (b->id.n)
        ch_buf_addf(&text, "[%.*s]\n", CH_SV_FMT(b->id));
    if (b->type != CH_BLOCK_DOCUMENT || !ch_encode_document_text(b, &text)) {
        ch_buf_clear(&text);
        ch_encode_note(b, &text);
    }
    write_text_part(w, ch_buf_sv(&text));
}

/* --- items of the user and of tools */

static struct ch_jw responses_encode_begin_item(struct ch_buf *out) {
    ch_encode_begin(out, !out->n);
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    return w;
}

static void responses_encode_user(const struct ch_msg *m, struct ch_buf *out) {
    CH_BUF_AUTO room = {0};
    const char *prefix = ch_msg_kind_prefix(m->kind);
    size_t content = 0, media = 0;
    struct ch_sv only = {0};
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        content += is_content(b);
        media += ch_block_is_media(b);
        if (is_content(b))
            only = b->text;
        i += b->span;
    }
    if (!content)
        return;
    struct ch_jw w = responses_encode_begin_item(out);
    ch_jw_kcstr(&w, "role", "user");
    if (content == 1 && !media) {
        ch_jw_kstr(&w, "content", ch_encode_prefixed(&prefix, only, &room));
        ch_jw_end(&w, '}');
        return;
    }
    ch_jw_kbegin(&w, "content", '[');
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (ch_block_is_media(b))
            responses_encode_write_media(&w, b);
        else if (is_content(b))
            write_text_part(&w, ch_encode_prefixed(&prefix, b->text, &room));
        i += b->span;
    }
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
}

struct extra {
    struct ch_arena arena;
    const struct ch_json *v; /* NULL: none */
};

static struct extra read_extra(const struct ch_block *b) {
    struct extra x = {0};
    if (b->extra.n &&
        ch_json_parse(&x.arena, b->extra, CH_JSON_STRICT, &x.v, NULL, NULL) != CHELA_OK)
        x.v = NULL;
    return x;
}

/* The call that a result answers; NULL: it is not known. */
static const struct ch_block *call_of(const struct ch_msg *calls, const struct ch_block *result) {
    for (uint32_t i = 0; calls && i < calls->nblocks; i++)
        if (calls->blocks[i].type == CH_BLOCK_TOOL_CALL &&
            ch_sv_eq(calls->blocks[i].id, result->id))
            return &calls->blocks[i];
    return NULL;
}

/* A result goes to whoever called: the model, or a program of the service. */
static void write_caller(struct ch_jw *w, const struct ch_block *call) {
    struct extra x = read_extra(call);
    const struct ch_json *caller = ch_json_get(x.v, "caller");
    if (caller)
        ch_jw_kvalue(w, "caller", caller);
    ch_arena_release(&x.arena);
}

static void responses_encode_result(const struct ch_model_request *req, const struct ch_block *b,
                                    bool own, struct ch_buf *out) {
    char id[CH_ID_ROOM], type[CH_NAME_ROOM];
    const struct ch_block *call = own ? call_of(req->answered, b) : NULL;
    const struct ch_responses_vendor *v = call ? ch_responses_vendor_of(req, call, own) : NULL;
    struct ch_jw w = responses_encode_begin_item(out);
    snprintf(type, sizeof(type), "%s_output", v ? v->item : "function_call");
    ch_jw_kcstr(&w, "type", type);
    ch_jw_kstr(&w, "call_id", ch_id_for(CH_ID_64, b->id, id));
    if (call)
        write_caller(&w, call);
    if (v) {
        ch_responses_vendor_output(v, call, b, &w);
        ch_jw_end(&w, '}');
        return;
    }
    if (!b->span) {
        ch_jw_kstr(&w, "output", ch_is_blank(b->text) ? CH_SV(NO_OUTPUT) : b->text);
        ch_jw_end(&w, '}');
        return;
    }
    ch_jw_kbegin(&w, "output", '[');
    if (!ch_is_blank(b->text))
        write_text_part(&w, b->text);
    for (unsigned k = 1; k <= b->span; k++)
        if (ch_block_is_media(b + k))
            responses_encode_write_media(&w, b + k);
        else if (is_content(b + k))
            write_text_part(&w, b[k].text);
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
}

static void responses_encode_results(const struct ch_model_request *req, const struct ch_msg *m,
                                     struct ch_buf *out) {
    bool own = req->answered && ch_encode_is_own(req, req->answered, CH_RESPONSES);
    for (uint32_t i = 0; i < m->nblocks; i++) {
        if (m->blocks[i].type == CH_BLOCK_TOOL_RESULT)
            responses_encode_result(req, &m->blocks[i], own, out);
        i += m->blocks[i].span;
    }
    responses_encode_user(m, out); /* blocks beside the results */
}

/* --- the assistant's items */

/* Items that need an answer: the service rejects them without one. */
bool ch_responses_wants_answer(struct ch_sv type) {
    return ch_responses_vendor(type) || ch_sv_is(type, "computer_call");
}

static struct ch_sv call_id_of(const struct ch_block *b, struct ch_arena *a) {
    const struct ch_json *v = NULL;
    ch_json_parse(a, b->text, CH_JSON_STRICT, &v, NULL, NULL);
    return ch_json_get_str(v, "call_id");
}

/* True for a call of the service without its output, or the reverse; they stand in one message. */
static bool goes_unpaired(const struct ch_msg *m, const struct ch_block *b) {
    static const struct ch_sv end = CH_SV("_output");
    CH_ARENA_AUTO arena = {0};
    bool output = b->name.n > end.n && memcmp(b->name.p + b->name.n - end.n, end.p, end.n) == 0;
    struct ch_sv call = output ? ch_sv(b->name.p, b->name.n - end.n) : b->name;
    if (!ch_responses_wants_answer(call))
        return false;
    struct ch_sv id = call_id_of(b, &arena);
    for (uint32_t i = 0; id.n && i < m->nblocks; i++) {
        const struct ch_block *o = &m->blocks[i];
        if (o != b && o->type == CH_BLOCK_OPAQUE && o->name.n != b->name.n &&
            ch_sv_eq(ch_sv(o->name.p, CH_MIN(o->name.n, call.n)), call) &&
            ch_sv_eq(call_id_of(o, &arena), id))
            return false;
    }
    return true;
}

/* An item of a conversation that the service has condensed: every model there reads it. */
static bool is_condensed(const struct ch_msg *m, const struct ch_block *b) {
    return b->type == CH_BLOCK_OPAQUE &&
           (b == &m->blocks[ch_compacted_at(m)] || ch_sv_is(b->name, "message")) &&
           ch_is_json(b->text, CH_JSON_OBJECT);
}

static bool is_sent(const struct ch_msg *m, const struct ch_block *b, bool same) {
    switch (b->type) {
    case CH_BLOCK_TEXT:
    case CH_BLOCK_REFUSAL:
        return !ch_is_blank(b->text);
    case CH_BLOCK_TOOL_CALL:
    case CH_BLOCK_IMAGE:
        return true;
    case CH_BLOCK_OPAQUE:
        return same && !goes_unpaired(m, b) && !ch_block_is_compaction(b) &&
               !ch_sv_is(b->name, "message") && ch_is_json(b->text, CH_JSON_OBJECT);
    default:
        return false;
    }
}

/* True if reasoning precedes the item it led to, so that it can be sent back. */
static bool goes_back(const struct ch_msg *m, uint32_t at) {
    uint32_t next = at + 1;
    while (next < m->nblocks && m->blocks[next].type == CH_BLOCK_REASONING)
        next++;
    return next < m->nblocks && is_sent(m, &m->blocks[next], true) &&
           ch_is_json(m->blocks[at].extra, CH_JSON_OBJECT);
}

/* Ids are valid only together with all reasoning that belongs to them. */
static bool sends_ids(const struct ch_msg *m) {
    size_t reasoning = 0;
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_REASONING) {
            if (!goes_back(m, i))
                return false;
            reasoning++;
        }
    return reasoning > 0;
}

/* The id of an item, if the server accepts it for this item type. */
static struct ch_sv item_id(const struct extra *x, const char *prefix) {
    struct ch_sv id = ch_json_get_str(x->v, "id");
    return id.n <= MAX_ITEM_ID && ch_sv_starts(id, prefix) ? id : CH_SV("");
}

static void write_output_text(struct ch_jw *w, const struct ch_block *b, const struct extra *x) {
    const struct ch_json *annotations = ch_json_get(x->v, "annotations");
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "output_text");
    ch_jw_kstr(w, "text", b->text);
    ch_jw_key(w, "annotations");
    if (ch_json_is(annotations, CH_JSON_ARRAY))
        ch_jw_value(w, annotations);
    else
        ch_jw_raw(w, CH_SV("[]"));
    ch_jw_end(w, '}');
}

static bool responses_encode_has_id(const struct ch_block *b, struct ch_sv id) {
    struct extra x = read_extra(b);
    bool same = b->type == CH_BLOCK_TEXT && ch_sv_eq(ch_json_get_str(x.v, "id"), id);
    ch_arena_release(&x.arena);
    return same;
}

static void write_phase(struct ch_jw *w, const struct extra *x) {
    struct ch_sv phase = ch_json_get_str(x->v, "phase");
    if (phase.n)
        ch_jw_kstr(w, "phase", phase);
}

/* Texts of one item are its parts; a text with an unknown item is an item of the simple
 * form. Returns the index of the last block written. */
static uint32_t encode_text(const struct ch_msg *m, uint32_t at, bool own, bool ids,
                            struct ch_buf *out) {
    const struct ch_block *b = &m->blocks[at];
    struct extra x = own ? read_extra(b) : (struct extra){0};
    struct ch_sv id = ids ? item_id(&x, "msg_") : CH_SV("");
    struct ch_jw w = responses_encode_begin_item(out);
    if (!id.n) {
        ch_jw_kcstr(&w, "role", "assistant");
        ch_jw_kstr(&w, "content", b->text);
        write_phase(&w, &x);
    } else {
        ch_jw_kcstr(&w, "type", "message");
        ch_jw_kstr(&w, "id", id);
        ch_jw_kcstr(&w, "role", "assistant");
        ch_jw_kcstr(&w, "status", "completed");
        write_phase(&w, &x);
        ch_jw_kbegin(&w, "content", '[');
        write_output_text(&w, b, &x);
        for (; at + 1 < m->nblocks && responses_encode_has_id(&m->blocks[at + 1], id); at++) {
            struct extra next = read_extra(&m->blocks[at + 1]);
            write_output_text(&w, &m->blocks[at + 1], &next);
            ch_arena_release(&next.arena);
        }
        ch_jw_end(&w, ']');
    }
    ch_jw_end(&w, '}');
    ch_arena_release(&x.arena);
    return at;
}

static void write_function(const struct ch_block *b, struct ch_jw *w) {
    char name[CH_NAME_ROOM];
    CH_BUF_AUTO arguments = {0};
    struct ch_jw aw = ch_jw(&arguments);
    ch_encode_arguments(&aw, b->text);
    ch_jw_kstr(w, "name", ch_name_for(MAX_NAME, b->name, name));
    ch_jw_kstr(w, "arguments", ch_buf_sv(&arguments));
}

static void encode_call(const struct ch_model_request *req, const struct ch_block *b, bool own,
                        bool ids, struct ch_buf *out) {
    char call[CH_ID_ROOM];
    const struct ch_responses_vendor *v = ch_responses_vendor_of(req, b, own);
    struct extra x = own ? read_extra(b) : (struct extra){0};
    struct ch_sv id = ids ? item_id(&x, v ? "" : "fc_") : CH_SV("");
    struct ch_jw w = responses_encode_begin_item(out);
    ch_jw_kcstr(&w, "type", v ? v->item : "function_call");
    if (id.n)
        ch_jw_kstr(&w, "id", id);
    ch_jw_kstr(&w, "call_id", ch_id_for(CH_ID_64, b->id, call));
    if (v)
        ch_responses_vendor_call(v, b, &w);
    else
        write_function(b, &w);
    for (const char *const *key = (const char *const[]){"namespace", "caller", NULL}; *key; key++) {
        const struct ch_json *kept = ch_json_get(x.v, *key);
        if (kept) {
            ch_jw_kvalue(&w, *key, kept);
        }
    }
    ch_jw_end(&w, '}');
    ch_arena_release(&x.arena);
}

/* The whole item for its author; a note for another model. */
static void encode_image(const struct ch_block *b, bool same, struct ch_buf *out) {
    CH_BUF_AUTO note = {0};
    if (same && b->extra.n > 2 && ch_is_json(b->extra, CH_JSON_OBJECT)) {
        ch_encode_begin(out, !out->n);
        ch_buf_add(out, b->extra.p, b->extra.n - 1);
        CH_BUF_LIT(out, ",\"result\":");
        ch_json_quote(out, b->text);
        CH_BUF_LIT(out, "}");
        return;
    }
    struct ch_jw w = responses_encode_begin_item(out);
    ch_encode_note(b, &note);
    ch_jw_kcstr(&w, "role", "assistant");
    ch_jw_kstr(&w, "content", ch_buf_sv(&note));
    ch_jw_end(&w, '}');
}

static void responses_encode_assistant(const struct ch_model_request *req, const struct ch_msg *m,
                                       struct ch_buf *out) {
    bool own = ch_encode_is_own(req, m, CH_RESPONSES);
    bool same = ch_encode_wrote(req, m, CH_RESPONSES);
    bool ids = same && sends_ids(m);
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (b->type == CH_BLOCK_REASONING && same && goes_back(m, i)) {
            ch_encode_begin(out, !out->n);
            ch_buf_add_sv(out, b->extra);
        } else if (own && is_condensed(m, b)) {
            ch_encode_begin(out, !out->n);
            ch_buf_add_sv(out, b->text);
        } else if (!is_sent(m, b, same)) {
            continue;
        } else if (b->type == CH_BLOCK_TOOL_CALL) {
            encode_call(req, b, own, ids, out);
        } else if (b->type == CH_BLOCK_IMAGE) {
            encode_image(b, same, out);
        } else if (b->type == CH_BLOCK_OPAQUE) {
            ch_encode_begin(out, !out->n);
            ch_buf_add_sv(out, b->text);
        } else {
            i = encode_text(m, i, own, ids, out);
        }
    }
}

int ch_responses_message(const struct ch_model_request *req, const struct ch_msg *m,
                         struct ch_buf *out, struct chela_error *err CH_UNUSED) {
    if (m->kind == CH_MSG_ASSISTANT)
        responses_encode_assistant(req, m, out);
    else if (m->kind == CH_MSG_RESULTS)
        responses_encode_results(req, m, out);
    else
        responses_encode_user(m, out);
    return CHELA_OK;
}
