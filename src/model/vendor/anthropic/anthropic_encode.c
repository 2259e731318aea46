/* anthropic_encode.c -- encodes a neutral request as a Messages request.
 *
 *       head      {"model","system":[..],"tools":[..],"messages":[
 *       messages  one wire message for each neutral message with content
 *       tail      ],"max_tokens","stream",... members that may change from turn to turn }
 *
 * Cache marks are on the last system block, on the last tool, and at the top level, where
 * the server marks the last block itself; so later messages never change earlier bytes.
 * Thinking blocks are sent back unchanged, including the signature, to the model that made them
 * and to models of its group; Anthropic-specific blocks only to their model's service. */
#include "model/vendor/anthropic/anthropic_encode.h"

#include "json/json.h"
#include "model/codec/compacted.h"
#include "model/codec/encode.h"
#include "model/message/ids.h"
#include "model/catalog/learnt.h"
#include "model/catalog/thinking.h"

#define VERSION "2023-06-01"
#define SEARCH "tool_search_tool_bm25"
#define NO_OUTPUT "(no output)"
#define COMPACT_AT_LEAST 50000 /* the service refuses a lower threshold */

/* --- HTTP */

/* Compaction at a threshold and on request have a name each; a compaction goes back under both. */
static const char *shortening(const struct ch_model_request *req) {
    if (req->compact_at && ch_request_is(req, CH_M_CLEARS))
        return ch_request_is(req, CH_M_COMPACTS)
                   ? "compact-2026-01-12,compact-2026-09-04,context-management-2025-06-27"
                   : "context-management-2025-06-27";
    return req->compact_at || req->compact_now || req->compacted
               ? "compact-2026-01-12,compact-2026-09-04"
               : "";
}

/* Thinking between calls. The model is looked up only if the request asks for thinking. */
static bool anthropic_encode_interleaves(const struct ch_model_request *req) {
    if (req->effort <= CH_EFFORT_OFF || !req->ntools)
        return false;
    struct ch_thinking p = ch_thinking_for(req);
    return p.budget && ch_request_facts(req)->maker == CH_MAKER_ANTHROPIC;
}

int ch_anthropic_http(const struct ch_model_request *req, struct ch_arena *a,
                      struct ch_http_request *out, struct chela_error *err CH_UNUSED) {
    const char *key = req->endpoint->api_key ? req->endpoint->api_key : "";
    bool oauth = strncmp(key, "sk-ant-oat", 10) == 0;
    bool bearer = oauth || req->endpoint->quirks & CH_Q_BEARER;
    bool interleave = anthropic_encode_interleaves(req);
    const char *shorten = shortening(req);
    struct ch_sv beta[] = {oauth ? CH_SV("oauth-2025-04-20") : CH_SV(""),
                           oauth && interleave ? CH_SV(",") : CH_SV(""),
                           interleave ? CH_SV("interleaved-thinking-2025-05-14") : CH_SV(""),
                           (oauth || interleave) && *shorten ? CH_SV(",") : CH_SV(""),
                           ch_sv_str(shorten)};
    struct ch_header defaults[] = {
        {CH_SV("content-type"), CH_SV("application/json")},
        {CH_SV("accept"), req->no_stream ? CH_SV("application/json") : CH_SV("text/event-stream")},
        {CH_SV("anthropic-version"), CH_SV(VERSION)},
        {CH_SV("anthropic-beta"), ch_sv_str(ch_arena_join(a, beta, CH_LEN(beta)))},
        {CH_SV("x-api-key"), bearer ? CH_SV("") : ch_sv_str(key)},
        {CH_SV("authorization"), bearer ? ch_encode_bearer(a, key) : CH_SV("")},
    };
    ch_encode_http(req, a, "/v1/messages", defaults, CH_LEN(defaults), out);
    return CHELA_OK;
}

/* --- head and tail */

static bool anthropic_encode_marks_cache(const struct ch_model_request *req) {
    return !(req->endpoint->quirks & CH_Q_NO_CACHE_MARKS) && req->cache != CH_CACHE_OFF;
}

static void anthropic_encode_write_cache_mark(const struct ch_model_request *req, struct ch_jw *w) {
    if (anthropic_encode_marks_cache(req))
        ch_jw_kraw(w, "cache_control",
                   req->cache == CH_CACHE_LONG ? CH_SV("{\"type\":\"ephemeral\",\"ttl\":\"1h\"}")
                                               : CH_SV("{\"type\":\"ephemeral\"}"));
}

static void anthropic_encode_write_schema(const struct ch_tool_def *t, struct ch_jw *w) {
    CH_BUF_AUTO strict = {0};
    bool held = t->strict && ch_encode_strict(t->schema, CH_CLEAN_ANTHROPIC_STRICT, &strict);
    struct ch_sv schema = t->schema.n ? t->schema : CH_SV("{\"type\":\"object\"}");
    ch_jw_kraw(w, "input_schema", held ? ch_buf_sv(&strict) : schema);
    if (held)
        ch_jw_kbool(w, "strict", true);
}

static void anthropic_encode_write_tools(const struct ch_model_request *req, struct ch_jw *w) {
    size_t marked = req->ntools; /* one past the last tool that is described */
    while (marked && req->tools[marked - 1].deferred) /* these must not carry the mark */
        marked--;
    ch_jw_kbegin(w, "tools", '[');
    if (ch_encode_defers(req, "tool_search_tool_*"))
        ch_jw_raw(w, CH_SV("{\"type\":\"" SEARCH "_20251119\",\"name\":\"" SEARCH "\"}"));
    for (size_t i = 0; i < req->ntools; i++) {
        const struct ch_tool_def *t = &req->tools[i];
        ch_jw_begin(w, '{');
        ch_jw_kstr(w, "name", t->name);
        if (t->description.n)
            ch_jw_kstr(w, "description", t->description);
        anthropic_encode_write_schema(t, w);
        ch_encode_deferral(t, w);
        if (i + 1 == marked)
            anthropic_encode_write_cache_mark(req, w);
        ch_jw_end(w, '}');
    }
    ch_encode_extra_tools(req, w);
    ch_jw_end(w, ']');
}

int ch_anthropic_head(const struct ch_model_request *req, struct ch_buf *out,
                      struct chela_error *err CH_UNUSED) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "model", req->model);
    if (!ch_is_blank(req->system)) {
        ch_jw_kbegin(&w, "system", '[');
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "type", "text");
        ch_jw_kstr(&w, "text", req->system);
        anthropic_encode_write_cache_mark(req, &w);
        ch_jw_end(&w, '}');
        ch_jw_end(&w, ']');
    }
    if (ch_encode_has_tools(req))
        anthropic_encode_write_tools(req, &w);
    ch_jw_kbegin(&w, "messages", '[');
    return CHELA_OK;
}

/* The service refuses to hold back parallel calls where its code may call tools. */
static bool holds_back_parallel(const struct ch_model_request *req) {
    for (size_t i = 0; i < req->ntools; i++)
        if (req->tools[i].callers.n)
            return false;
    return req->no_parallel && req->choice != CH_CHOICE_NONE;
}

static void anthropic_encode_write_tool_choice(const struct ch_model_request *req,
                                               struct ch_jw *w) {
    bool forced = ch_is_forced(req) && !ch_request_is(req, CH_M_NO_FORCED);
    bool none = req->choice == CH_CHOICE_NONE, single = holds_back_parallel(req);
    if (!req->ntools || (!forced && !none && !single))
        return;
    bool one = forced && req->choice == CH_CHOICE_ONE;
    ch_jw_kbegin(w, "tool_choice", '{');
    ch_jw_kcstr(w, "type", one ? "tool" : forced ? "any" : none ? "none" : "auto");
    if (one)
        ch_jw_kstr(w, "name", req->choice_name);
    if (single)
        ch_jw_kbool(w, "disable_parallel_tool_use", true);
    ch_jw_end(w, '}');
}

bool ch_anthropic_searches_tools(const struct ch_model_request *req) {
    return ch_request_is(req, CH_M_TOOL_SEARCH);
}

bool ch_anthropic_takes_schema(const struct ch_model_request *req) {
    CH_BUF_AUTO strict = {0};
    return !(req->endpoint->quirks & CH_Q_NO_OUTPUT_SCHEMA) &&
           ch_request_is(req, CH_M_SCHEMA) &&
           ch_encode_strict(req->output_schema, CH_CLEAN_ANTHROPIC_STRICT, &strict);
}

static void anthropic_encode_write_output_config(const struct ch_model_request *req,
                                                 const struct ch_thinking *p, struct ch_jw *w) {
    if (!p->effort && !req->output_schema.n)
        return;
    CH_BUF_AUTO strict = {0};
    ch_jw_kbegin(w, "output_config", '{');
    if (p->effort)
        ch_jw_kcstr(w, "effort", p->effort);
    if (req->output_schema.n) {
        bool converted = ch_encode_strict(req->output_schema, CH_CLEAN_ANTHROPIC_STRICT, &strict);
        ch_jw_kbegin(w, "format", '{');
        ch_jw_kcstr(w, "type", "json_schema");
        ch_jw_kraw(w, "schema", converted ? ch_buf_sv(&strict) : req->output_schema);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, '}');
}

static void anthropic_encode_write_sampling(const struct ch_model_request *req,
                                            const struct ch_thinking *p, struct ch_jw *w) {
    bool taken = !ch_request_is(req, CH_M_NO_SAMPLING) && !p->on;
    if (req->has_temperature && taken) {
        ch_jw_kdouble(w, "temperature", req->temperature);
    }
    if (req->has_top_p && taken) {
        ch_jw_kdouble(w, "top_p", req->top_p);
    }
    if (req->top_k > 0 && taken)
        ch_jw_kint(w, "top_k", req->top_k);
    if (!req->nstop)
        return;
    ch_jw_kbegin(w, "stop_sequences", '[');
    for (size_t i = 0; i < req->nstop; i++)
        ch_jw_str(w, req->stop[i]);
    ch_jw_end(w, ']');
}

/* --- the container of the service's code execution */

static struct ch_sv container_in(const struct ch_model_request *req, const struct ch_msg *m,
                                 struct ch_arena *a) {
    const struct ch_json *v = NULL;
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (b->type == CH_BLOCK_OPAQUE && ch_sv_is(b->name, CH_ANTHROPIC_CONTAINER) &&
            ch_encode_is_own(req, m, "anthropic"))
            ch_json_parse(a, b->text, CH_JSON_STRICT, &v, NULL, NULL);
    }
    return ch_json_get_str(v, "id");
}

/* The id of the container of the turn that this request continues; empty: none, or the request
 * begins a turn. Containers expire, so those of earlier turns are not asked for. */
static struct ch_sv turn_container(const struct ch_model_request *req, struct ch_arena *a) {
    size_t at = req->nmessages;
    while (at && req->messages[at - 1]->kind != CH_MSG_ASSISTANT &&
           req->messages[at - 1]->kind != CH_MSG_RESULTS)
        at--;
    bool begins = at && at < req->nmessages && req->messages[at - 1]->kind == CH_MSG_ASSISTANT &&
                  !ch_msg_has_calls(req->messages[at - 1]);
    struct ch_sv id = CH_SV("");
    for (; !begins && at && !id.n; at--) {
        const struct ch_msg *m = req->messages[at - 1];
        if (m->kind != CH_MSG_ASSISTANT && m->kind != CH_MSG_RESULTS)
            break;
        id = container_in(req, m, a);
    }
    return id;
}

static bool is_from_code(const struct ch_block *call) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *caller = NULL;
    if (call->extra.n)
        ch_json_parse(&arena, call->extra, CH_JSON_STRICT, &caller, NULL, NULL);
    return ch_sv_starts(ch_json_get_str(caller, "type"), "code_execution");
}

/* True for a tool of the service's whose result is not among the later blocks. */
static bool is_unfinished(const struct ch_msg *m, uint32_t at) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    ch_json_parse(&arena, m->blocks[at].text, CH_JSON_STRICT, &v, NULL, NULL);
    struct ch_sv id = ch_json_get_str(v, "id");
    for (uint32_t i = at + 1; i < m->nblocks; i++) {
        if (m->blocks[i].type == CH_BLOCK_OPAQUE)
            ch_json_parse(&arena, m->blocks[i].text, CH_JSON_STRICT, &v, NULL, NULL);
        if (ch_sv_eq(ch_json_get_str(v, "tool_use_id"), id))
            return false;
    }
    return true;
}

bool ch_anthropic_wants_only_results(const struct ch_msg *reply) {
    for (uint32_t i = 0; i < reply->nblocks; i++) {
        const struct ch_block *b = &reply->blocks[i];
        if ((b->type == CH_BLOCK_TOOL_CALL && is_from_code(b)) ||
            (b->type == CH_BLOCK_OPAQUE && ch_sv_is(b->name, "server_tool_use") &&
             is_unfinished(reply, i)))
            return true;
    }
    return false;
}

bool ch_anthropic_tail_follows(const struct ch_model_request *req) {
    return req->server_tools.n || req->endpoint->extra_body.n; /* code may run at the service */
}

/* The service refuses results of calls that its code waits for without the container of the
 * code. An object is written if the configuration adds members, such as skills. */
static void write_container(const struct ch_model_request *req, struct ch_jw *w) {
    CH_ARENA_AUTO arena = {0};
    if (!ch_anthropic_tail_follows(req))
        return;
    struct ch_sv id = turn_container(req, &arena);
    if (!id.n)
        return;
    bool object = ch_encode_extra_has(req, "container");
    if (object)
        ch_jw_kbegin(w, "container", '{');
    ch_jw_kstr(w, object ? "id" : "container", id);
    if (object)
        ch_jw_end(w, '}');
}

static void write_edit(struct ch_jw *w, const char *type, int64_t tokens) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", type);
    ch_jw_kbegin(w, "trigger", '{');
    ch_jw_kcstr(w, "type", "input_tokens");
    ch_jw_kint(w, "value", tokens);
    ch_jw_end(w, '}');
}

/* Results of tools go at half of the threshold, and many at once, because the cache of the service
 * starts anew there. */
static void write_edits(const struct ch_model_request *req, struct ch_jw *w) {
    int64_t at = CH_MAX(req->compact_at, COMPACT_AT_LEAST);
    if (!req->compact_at)
        return;
    ch_jw_kbegin(w, "context_management", '{');
    ch_jw_kbegin(w, "edits", '[');
    if (ch_request_is(req, CH_M_CLEARS)) {
        write_edit(w, "clear_tool_uses_20250919", at / 2);
        ch_jw_kraw(w, "keep", CH_SV("{\"type\":\"tool_uses\",\"value\":3}"));
        ch_jw_kbegin(w, "clear_at_least", '{');
        ch_jw_kcstr(w, "type", "input_tokens");
        ch_jw_kint(w, "value", at / 8);
        ch_jw_end(w, '}');
        ch_jw_end(w, '}');
    }
    if (ch_request_is(req, CH_M_COMPACTS)) {
        write_edit(w, "compact_20260112", at);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
}

bool ch_anthropic_reads_compaction(const struct ch_model_request *req, const struct ch_msg *m) {
    return ch_encode_is_own(req, m, "anthropic");
}

int ch_anthropic_tail(const struct ch_model_request *req, struct ch_buf *out,
                      struct chela_error *err) {
    struct ch_thinking p = ch_thinking_for(req);
    struct ch_jw w = ch_jw(out);
    ch_jw_end(&w, ']');
    size_t from = out->n;
    ch_jw_kint(&w, "max_tokens", p.max_tokens);
    if (!req->no_stream)
        ch_jw_kbool(&w, "stream", true);
    write_container(req, &w);
    if (req->compact_now)
        ch_jw_kraw(&w, "compaction", CH_SV("{\"type\":\"summarize\"}"));
    write_edits(req, &w);
    anthropic_encode_write_tool_choice(req, &w);
    ch_thinking_write(&p, &w);
    anthropic_encode_write_output_config(req, &p, &w);
    anthropic_encode_write_sampling(req, &p, &w);
    if (!req->note.n) /* otherwise the last message carries the mark */
        anthropic_encode_write_cache_mark(req, &w);
    int rc = ch_encode_extra(req, out, from, err);
    ch_jw_end(&w, '}');
    return rc;
}

/* Mark the last block of the last message. */
size_t ch_anthropic_mark(const struct ch_model_request *req, struct ch_sv messages,
                         struct ch_buf *tail) {
    static const char end[] = "}]}";
    size_t n = strlen(end);
    if (!anthropic_encode_marks_cache(req) || messages.n < n ||
        memcmp(messages.p + messages.n - n, end, n) != 0)
        return 0;
    struct ch_jw w = {.out = tail, .comma = true};
    anthropic_encode_write_cache_mark(req, &w);
    ch_buf_add_str(tail, end);
    return n;
}

/* --- messages */

/* State while writing the content blocks of one wire message. */
struct writing {
    struct ch_jw w;
    const struct ch_model_request *req;
    const struct ch_msg *m;
    const char *prefix; /* prefix of the message kind, until the first text */
    size_t blocks;
};

/* Made by this service: its own blocks may be sent back. Asked by blocks that depend on the
 * author; most do not. */
static bool anthropic_encode_is_own(const struct writing *x) {
    return ch_encode_is_own(x->req, x->m, "anthropic");
}

/* The beginning of a block, the same with the name of its next member, and a name. Such texts
 * are copied, since every round of tools writes some. */
#define BLOCK(type) CH_SV("{\"type\":\"" type "\"")
#define BLOCK_WITH(type, name) CH_SV("{\"type\":\"" type "\",\"" name "\":")
#define NAME(name) CH_SV("\"" name "\":")

static void anthropic_encode_begin_block(struct writing *x, struct ch_sv begin) {
    ch_jw_raw(&x->w, begin);
    x->blocks++;
}

/* Write a string after the name of its member, which ends `before`. */
static void anthropic_encode_add_string(struct writing *x, struct ch_sv before, struct ch_sv s) {
    ch_jw_raw(&x->w, before);
    x->w.comma = false;
    ch_jw_str(&x->w, s);
}

static void anthropic_encode_end_block(struct writing *x) {
    ch_jw_end(&x->w, '}');
}

static void anthropic_encode_write_text(struct writing *x, struct ch_sv text,
                                        struct ch_sv citations) {
    CH_BUF_AUTO room = {0};
    if (ch_is_blank(text))
        return;
    anthropic_encode_begin_block(x, BLOCK("text"));
    ch_jw_kstr(&x->w, "text", ch_encode_prefixed(&x->prefix, text, &room));
    if (citations.n && anthropic_encode_is_own(x) && ch_is_json(citations, CH_JSON_ARRAY))
        ch_jw_kraw(&x->w, "citations", citations);
    anthropic_encode_end_block(x);
}

static void anthropic_encode_write_source(struct writing *x, const struct ch_block *b) {
    CH_BUF_AUTO text = {0};
    bool url = b->flags & CH_F_URL;
    bool plain = !url && ch_encode_document_text(b, &text);
    ch_jw_kbegin(&x->w, "source", '{');
    ch_jw_kcstr(&x->w, "type", url ? "url" : plain ? "text" : "base64");
    if (url) {
        ch_jw_kstr(&x->w, "url", b->text);
    } else {
        ch_jw_kstr(&x->w, "media_type", plain ? CH_SV("text/plain") : b->name);
        ch_jw_kstr(&x->w, "data", plain ? ch_buf_sv(&text) : b->text);
    }
    ch_jw_end(&x->w, '}');
}

static bool is_sendable(const struct ch_block *b) {
    CH_BUF_AUTO text = {0};
    return b->type == CH_BLOCK_IMAGE ||
           (b->type == CH_BLOCK_DOCUMENT &&
            (b->flags & CH_F_URL || ch_sv_is(b->name, "application/pdf") ||
             ch_encode_document_text(b, &text)));
}

static void anthropic_encode_write_media(struct writing *x, const struct ch_block *b) {
    if (!is_sendable(b)) {
        CH_BUF_AUTO note = {0};
        ch_encode_note(b, &note);
        anthropic_encode_write_text(x, ch_buf_sv(&note), CH_SV(""));
        return;
    }
    anthropic_encode_begin_block(x, b->type == CH_BLOCK_IMAGE ? BLOCK("image") : BLOCK("document"));
    anthropic_encode_write_source(x, b);
    if (b->type == CH_BLOCK_DOCUMENT && b->id.n)
        ch_jw_kstr(&x->w, "title", b->id);
    anthropic_encode_end_block(x);
}

/* Reasoning is sent back to the model that wrote it, and to models of its group: their service
 * drops what a model cannot read, and refuses what is missing in the middle. */
static void anthropic_encode_write_reasoning(struct writing *x, const struct ch_block *b) {
    if (!b->extra.n || !ch_encode_wrote(x->req, x->m, "anthropic"))
        return;
    bool redacted = b->flags & CH_F_REDACTED;
    anthropic_encode_begin_block(x, redacted ? BLOCK("redacted_thinking") : BLOCK("thinking"));
    if (!redacted)
        ch_jw_kstr(&x->w, "thinking", b->text);
    ch_jw_kstr(&x->w, redacted ? "data" : "signature", b->extra);
    anthropic_encode_end_block(x);
}

static void anthropic_encode_write_call(struct writing *x, const struct ch_block *b) {
    char id[CH_ID_ROOM], name[CH_NAME_ROOM];
    x->blocks++;
    anthropic_encode_add_string(x, BLOCK_WITH("tool_use", "id"), ch_id_for(CH_ID_64, b->id, id));
    anthropic_encode_add_string(x, NAME("name"), ch_name_for(CH_NAME_ROOM, b->name, name));
    ch_jw_raw(&x->w, NAME("input"));
    x->w.comma = false;
    ch_encode_arguments(&x->w, b->text);
    if (b->extra.n && anthropic_encode_is_own(x) && ch_is_json(b->extra, CH_JSON_OBJECT))
        ch_jw_kraw(&x->w, "caller", b->extra);
    anthropic_encode_end_block(x);
}

/* An error result may contain only text: its media follow after all results. */
static void anthropic_encode_write_result(struct writing *x, const struct ch_block *b) {
    char id[CH_ID_ROOM];
    bool error = b->flags & CH_F_ERROR;
    bool inside = b->span && !error;
    struct ch_sv text = ch_is_blank(b->text) && !inside ? CH_SV(NO_OUTPUT) : b->text;
    x->blocks++;
    anthropic_encode_add_string(x, BLOCK_WITH("tool_result", "tool_use_id"),
                                ch_id_for(CH_ID_64, b->id, id));
    if (inside) {
        ch_jw_kbegin(&x->w, "content", '[');
        anthropic_encode_write_text(x, text, CH_SV(""));
        for (unsigned i = 1; i <= b->span; i++)
            anthropic_encode_write_media(x, b + i);
        ch_jw_end(&x->w, ']');
    } else {
        anthropic_encode_add_string(x, NAME("content"), text);
    }
    if (error)
        ch_jw_kbool(&x->w, "is_error", true);
    anthropic_encode_end_block(x);
}

static void anthropic_encode_write_results(struct writing *x) {
    const struct ch_msg *m = x->m;
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_TOOL_RESULT)
            anthropic_encode_write_result(x, &m->blocks[i]);
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        for (unsigned k = 1; b->flags & CH_F_ERROR && k <= b->span; k++)
            anthropic_encode_write_media(x, b + k);
    }
}

static void anthropic_encode_write_block(struct writing *x, const struct ch_block *b) {
    switch (b->type) {
    case CH_BLOCK_TEXT:
    case CH_BLOCK_REFUSAL:
        anthropic_encode_write_text(x, b->text, b->type == CH_BLOCK_TEXT ? b->extra : CH_SV(""));
        break;
    case CH_BLOCK_REASONING:
        anthropic_encode_write_reasoning(x, b);
        break;
    case CH_BLOCK_IMAGE:
    case CH_BLOCK_AUDIO:
    case CH_BLOCK_DOCUMENT:
        anthropic_encode_write_media(x, b);
        break;
    case CH_BLOCK_TOOL_CALL:
        anthropic_encode_write_call(x, b);
        break;
    case CH_BLOCK_OPAQUE:
        if (!ch_sv_is(b->name, CH_ANTHROPIC_CONTAINER) && !ch_block_is_compaction(b) &&
            anthropic_encode_is_own(x) && ch_is_json(b->text, CH_JSON_OBJECT)) {
            ch_jw_raw(&x->w, b->text);
            x->blocks++;
        }
        break;
    }
}

/* A compaction is the first block. Returns the index after it; 0: the message has none. */
static uint32_t write_compaction(struct writing *x) {
    uint32_t at = ch_compacted_at(x->m);
    if (at == x->m->nblocks || !anthropic_encode_is_own(x))
        return 0;
    ch_jw_raw(&x->w, x->m->blocks[at].text);
    x->blocks++;
    return at + 1;
}

int ch_anthropic_message(const struct ch_model_request *req, const struct ch_msg *m,
                         struct ch_buf *out, struct chela_error *err CH_UNUSED) {
    bool assistant = m->kind == CH_MSG_ASSISTANT;
    size_t mark = ch_encode_begin(out, !out->n);
    struct writing x = {
        .w = ch_jw(out), .req = req, .m = m, .prefix = ch_msg_kind_prefix(m->kind)};
    ch_jw_raw(&x.w, assistant ? CH_SV("{\"role\":\"assistant\",\"content\":[")
                              : CH_SV("{\"role\":\"user\",\"content\":["));
    x.w.comma = false;
    anthropic_encode_write_results(&x);
    for (uint32_t i = write_compaction(&x), n = ch_encode_end_of(m); i < n; i++) {
        anthropic_encode_write_block(&x, &m->blocks[i]);
        i += m->blocks[i].span;
    }
    ch_jw_end(&x.w, ']');
    ch_jw_end(&x.w, '}');
    if (!x.blocks)
        ch_encode_undo(out, mark);
    return CHELA_OK;
}
