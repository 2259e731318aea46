/* bedrock_encode.c -- encodes a neutral request as a Converse request.
 *
 *       head      {"system":[..],"toolConfig":{..},"messages":[{"role":"user","content":[
 *       messages  see bedrock_message.c; the last wire message is left open
 *       tail      a cache mark, ]}],"inferenceConfig",... members that may change each turn }
 *
 * Cache marks are separate blocks: after the system prompt, after the tools, and after the
 * last message, in the tail. The maker of the model (model_facts.h) determines the accepted
 * parameters. Parameters that may be unsupported are omitted, because the service rejects
 * them instead of ignoring them. */
#include "base/error.h"
#include "model/vendor/bedrock/bedrock_encode.h"

#include "model/vendor/bedrock/bedrock.h"
#include "model/codec/encode.h"
#include "model/message/ids.h"
#include "model/catalog/learnt.h"
#include "model/catalog/thinking.h"

static unsigned maker_of(const struct ch_model_request *req) {
    return ch_request_facts(req)->maker;
}

/* Nova 2 is the first that reasons. */
static bool is_nova_2(const struct ch_model_request *req) {
    return maker_of(req) == CH_MAKER_AMAZON && ch_request_facts(req)->efforts;
}

static bool bedrock_encode_marks_cache(const struct ch_model_request *req) {
    return !(req->endpoint->quirks & CH_Q_NO_CACHE_MARKS) && req->cache != CH_CACHE_OFF &&
           ch_request_is(req, CH_M_CACHE_5M);
}

static void bedrock_encode_write_cache_mark(const struct ch_model_request *req, struct ch_jw *w) {
    bool hour = req->cache == CH_CACHE_LONG && ch_request_is(req, CH_M_CACHE_1H);
    ch_jw_raw(w, hour ? CH_SV("{\"cachePoint\":{\"type\":\"default\",\"ttl\":\"1h\"}}")
                      : CH_SV("{\"cachePoint\":{\"type\":\"default\"}}"));
}

bool ch_bedrock_takes_schema(const struct ch_model_request *req) {
    CH_BUF_AUTO strict = {0};
    return !(req->endpoint->quirks & CH_Q_NO_OUTPUT_SCHEMA) &&
           maker_of(req) == CH_MAKER_ANTHROPIC &&
           ch_request_is(req, CH_M_SCHEMA) &&
           ch_encode_strict(req->output_schema, CH_CLEAN_ANTHROPIC_STRICT, &strict);
}

/* --- HTTP */

/* An id is one path segment, even an ARN with slashes. */
static const char *bedrock_encode_path_of(const struct ch_model_request *req, struct ch_arena *a) {
    CH_BUF_AUTO path = {0};
    CH_BUF_LIT(&path, "/model/");
    for (size_t i = 0; i < req->model.n; i++) {
        char c = req->model.p[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            strchr("-_.~", c))
            ch_buf_addc(&path, c);
        else
            ch_buf_addf(&path, "%%%02X", (unsigned char)c);
    }
    ch_buf_add_str(&path, req->no_stream ? "/converse" : "/converse-stream");
    return ch_arena_str(a, ch_buf_sv(&path));
}

int ch_bedrock_http(const struct ch_model_request *req, struct ch_arena *a,
                    struct ch_http_request *out, struct chela_error *err CH_UNUSED) {
    struct ch_header defaults[] = {
        {CH_SV("content-type"), CH_SV("application/json")},
        {CH_SV("accept"),
         req->no_stream ? CH_SV("application/json") : CH_SV("application/vnd.amazon.eventstream")},
        {CH_SV("authorization"), ch_encode_bearer(a, req->endpoint->api_key)},
    };
    ch_encode_http(req, a, bedrock_encode_path_of(req, a), defaults, CH_LEN(defaults), out);
    return CHELA_OK;
}

/* --- head */

static bool bedrock_encode_has_calls(const struct ch_model_request *req) {
    for (size_t i = 0; i < req->nmessages && !req->no_calls; i++)
        if (ch_msg_has_calls(req->messages[i]))
            return true;
    return false;
}

static void write_tool(const struct ch_model_request *req, const struct ch_tool_def *t,
                       struct ch_jw *w) {
    char name[CH_NAME_ROOM];
    CH_BUF_AUTO strict = {0};
    bool held = t->strict && ch_request_is(req, CH_M_SCHEMA) &&
                ch_encode_strict(t->schema, CH_CLEAN_ANTHROPIC_STRICT, &strict);
    struct ch_sv schema = t->schema.n > 2 ? t->schema : CH_SV("{\"type\":\"object\"}");
    ch_jw_begin(w, '{');
    ch_jw_kbegin(w, "toolSpec", '{');
    ch_jw_kstr(w, "name", ch_name_for(CH_BEDROCK_NAME, t->name, name));
    if (!ch_is_blank(t->description))
        ch_jw_kstr(w, "description", t->description);
    ch_jw_kbegin(w, "inputSchema", '{');
    ch_jw_kraw(w, "json", held ? ch_buf_sv(&strict) : schema);
    ch_jw_end(w, '}');
    if (held)
        ch_jw_kbool(w, "strict", true);
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

/* Other makers reject a forced choice; Mistral supports "any" but not a named tool. */
static void bedrock_encode_write_tool_choice(const struct ch_model_request *req,
                                             struct ch_jw *w) {
    char name[CH_NAME_ROOM];
    unsigned f = maker_of(req);
    bool taken = (f == CH_MAKER_ANTHROPIC || f == CH_MAKER_AMAZON || f == CH_MAKER_MISTRAL) &&
                 !ch_request_is(req, CH_M_NO_FORCED);
    if (!ch_is_forced(req) || !taken)
        return;
    bool one = req->choice == CH_CHOICE_ONE && f != CH_MAKER_MISTRAL;
    ch_jw_kbegin(w, "toolChoice", '{');
    ch_jw_kbegin(w, one ? "tool" : "any", '{');
    if (one)
        ch_jw_kstr(w, "name", ch_name_for(CH_BEDROCK_NAME, req->choice_name, name));
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

/* There is no choice "none": without calls in the history the tools are omitted; with calls
 * the service requires tool definitions. */
static void bedrock_encode_write_tool_config(const struct ch_model_request *req,
                                             struct ch_jw *w) {
    static const struct ch_tool_def stub = {
        .name = {"unavailable", 11},
        .description = {"No tool is available now: answer without one.", 45}};
    bool wanted = (req->ntools && req->choice != CH_CHOICE_NONE) || req->server_tools.n;
    if (!wanted && !bedrock_encode_has_calls(req))
        return;
    ch_jw_kbegin(w, "toolConfig", '{');
    ch_jw_kbegin(w, "tools", '[');
    for (size_t i = 0; i < req->ntools; i++)
        write_tool(req, &req->tools[i], w);
    if (!req->ntools && !req->server_tools.n)
        write_tool(req, &stub, w);
    ch_encode_extra_tools(req, w);
    if (maker_of(req) == CH_MAKER_ANTHROPIC && bedrock_encode_marks_cache(req))
        bedrock_encode_write_cache_mark(req, w);
    ch_jw_end(w, ']');
    bedrock_encode_write_tool_choice(req, w);
    ch_jw_end(w, '}');
}

int ch_bedrock_head(const struct ch_model_request *req, struct ch_buf *out,
                    struct chela_error *err CH_UNUSED) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    if (!ch_is_blank(req->system)) {
        ch_jw_kbegin(&w, "system", '[');
        ch_jw_begin(&w, '{');
        ch_jw_kstr(&w, "text", req->system);
        ch_jw_end(&w, '}');
        if (bedrock_encode_marks_cache(req))
            bedrock_encode_write_cache_mark(req, &w);
        ch_jw_end(&w, ']');
    }
    bedrock_encode_write_tool_config(req, &w);
    ch_jw_key(&w, "messages");
    ch_buf_add_str(out, "[{\"role\":\"user\",\"content\":[");
    return CHELA_OK;
}

/* --- tail */

/* True if the last content is the user's and a mark may follow it: not after a document,
 * and not after results without calls, which are not sent. */
static bool ends_markable(const struct ch_model_request *req) {
    size_t n = req->nmessages;
    const struct ch_msg *last = n ? req->messages[n - 1] : NULL;
    if (!last || last->kind == CH_MSG_ASSISTANT || !last->nblocks)
        return false;
    const struct ch_block *b = &last->blocks[last->nblocks - 1];
    if (last->kind == CH_MSG_RESULTS)
        return n > 1 && ch_msg_has_calls(req->messages[n - 2]) && b->type != CH_BLOCK_DOCUMENT;
    bool text = b->type == CH_BLOCK_TEXT || b->type == CH_BLOCK_CONTEXT;
    return b->type == CH_BLOCK_IMAGE || (text && !ch_is_blank(b->text));
}

static enum ch_effort nova_effort(const struct ch_model_request *req) {
    return ch_facts_effort(ch_request_facts(req), req->effort);
}

static void write_inference(const struct ch_model_request *req, const struct ch_thinking *t,
                            struct ch_jw *w) {
    /* Nova 2 at its highest effort gets neither an output limit nor sampling parameters. */
    bool free_hand = is_nova_2(req) && nova_effort(req) == CH_EFFORT_HIGH;
    bool claude = maker_of(req) == CH_MAKER_ANTHROPIC;
    bool samples = claude ? !ch_request_is(req, CH_M_NO_SAMPLING) && !t->on : !free_hand;
    int64_t most = claude ? t->max_tokens : req->max_output_tokens;
    bool limit = (req->max_output_tokens > 0 || (claude && t->budget)) && !free_hand;
    if (!limit && !(samples && (req->has_temperature || req->has_top_p)) && !req->nstop)
        return;
    ch_jw_kbegin(w, "inferenceConfig", '{');
    if (limit)
        ch_jw_kint(w, "maxTokens", most);
    if (samples && req->has_temperature) {
        ch_jw_kdouble(w, "temperature", req->temperature);
    }
    if (samples && req->has_top_p) {
        ch_jw_kdouble(w, "topP", req->top_p);
    }
    if (req->nstop) {
        ch_jw_kbegin(w, "stopSequences", '[');
        for (size_t i = 0; i < req->nstop; i++)
            ch_jw_str(w, req->stop[i]);
        ch_jw_end(w, ']');
    }
    ch_jw_end(w, '}');
}

/* Only Anthropic's own parameter can disable parallel calls. */
static void write_claude_choice(const struct ch_model_request *req, struct ch_jw *w) {
    char name[CH_NAME_ROOM];
    if (!req->no_parallel || !req->ntools || req->choice == CH_CHOICE_NONE ||
        !ch_request_is(req, CH_M_ONE_CALL))
        return;
    bool forced = ch_is_forced(req) && !ch_request_is(req, CH_M_NO_FORCED);
    bool one = forced && req->choice == CH_CHOICE_ONE;
    ch_jw_kbegin(w, "tool_choice", '{');
    ch_jw_kcstr(w, "type", one ? "tool" : forced ? "any" : "auto");
    if (one)
        ch_jw_kstr(w, "name", ch_name_for(CH_BEDROCK_NAME, req->choice_name, name));
    ch_jw_kbool(w, "disable_parallel_tool_use", true);
    ch_jw_end(w, '}');
}

static void write_claude_fields(const struct ch_model_request *req, const struct ch_thinking *t,
                                struct ch_jw *w) {
    ch_thinking_write(t, w);
    if (t->effort) {
        ch_jw_kbegin(w, "output_config", '{');
        ch_jw_kcstr(w, "effort", t->effort);
        ch_jw_end(w, '}');
    }
    if (t->budget && req->ntools)
        ch_jw_kraw(w, "anthropic_beta", CH_SV("[\"interleaved-thinking-2025-05-14\"]"));
    if (req->top_k > 0 && !t->on && !ch_request_is(req, CH_M_NO_SAMPLING))
        ch_jw_kint(w, "top_k", req->top_k);
    write_claude_choice(req, w);
}

static void bedrock_encode_write_object(struct ch_jw *w, const char *key, const char *member,
                                        const char *value) {
    ch_jw_kbegin(w, key, '{');
    ch_jw_kcstr(w, member, value);
    ch_jw_end(w, '}');
}

static void write_nova_fields(const struct ch_model_request *req, struct ch_jw *w) {
    enum ch_effort effort = is_nova_2(req) ? nova_effort(req) : CH_EFFORT_DEFAULT;
    if (effort == CH_EFFORT_OFF) {
        bedrock_encode_write_object(w, "reasoningConfig", "type", "disabled");
    } else if (effort > CH_EFFORT_OFF) {
        ch_jw_kbegin(w, "reasoningConfig", '{');
        ch_jw_kcstr(w, "type", "enabled");
        ch_jw_kcstr(w, "maxReasoningEffort", ch_effort_word(effort));
        ch_jw_end(w, '}');
    }
    if (req->top_k > 0 && effort != CH_EFFORT_HIGH) {
        ch_jw_kbegin(w, "inferenceConfig", '{');
        ch_jw_kint(w, "topK", req->top_k);
        ch_jw_end(w, '}');
    }
}

static void write_gpt_fields(const struct ch_model_request *req, struct ch_jw *w) {
    const char *effort = ch_effort_word(ch_facts_effort(ch_request_facts(req), req->effort));
    if (req->effort == CH_EFFORT_DEFAULT)
        return;
    if (maker_of(req) == CH_MAKER_OPENAI_OPEN)
        ch_jw_kcstr(w, "reasoning_effort", effort);
    else
        bedrock_encode_write_object(w, "reasoning", "effort", effort);
}

enum ch_effort ch_bedrock_sent_effort(const struct ch_model_request *req) {
    unsigned f = maker_of(req);
    if (f == CH_MAKER_ANTHROPIC)
        return ch_thinking_effort(req);
    if (is_nova_2(req) || f == CH_MAKER_OPENAI || f == CH_MAKER_OPENAI_OPEN)
        return ch_encode_effort(req);
    return f == CH_MAKER_AMAZON || req->effort == CH_EFFORT_OFF ? CH_EFFORT_OFF : CH_EFFORT_DEFAULT;
}

/* Write the maker-specific parameters. */
static void write_fields(const struct ch_model_request *req, const struct ch_thinking *t,
                         struct ch_jw *w) {
    CH_BUF_AUTO fields = {0};
    unsigned f = maker_of(req);
    struct ch_jw inner = ch_jw(&fields);
    ch_jw_begin(&inner, '{');
    if (f == CH_MAKER_ANTHROPIC)
        write_claude_fields(req, t, &inner);
    else if (f == CH_MAKER_AMAZON)
        write_nova_fields(req, &inner);
    else if (f == CH_MAKER_OPENAI || f == CH_MAKER_OPENAI_OPEN)
        write_gpt_fields(req, &inner);
    ch_jw_end(&inner, '}');
    if (fields.n > 2)
        ch_jw_kraw(w, "additionalModelRequestFields", ch_buf_sv(&fields));
}

static void bedrock_encode_write_output_config(const struct ch_model_request *req,
                                               struct ch_jw *w) {
    CH_BUF_AUTO strict = {0};
    if (!req->output_schema.n)
        return;
    bool converted = ch_encode_strict(req->output_schema, CH_CLEAN_ANTHROPIC_STRICT, &strict);
    ch_jw_kbegin(w, "outputConfig", '{');
    ch_jw_kbegin(w, "textFormat", '{');
    ch_jw_kcstr(w, "type", "json_schema");
    ch_jw_kbegin(w, "structure", '{');
    ch_jw_kbegin(w, "jsonSchema", '{');
    ch_jw_kcstr(w, "name", "answer");
    ch_jw_kstr(w, "schema", converted ? ch_buf_sv(&strict) : req->output_schema);
    for (int i = 0; i < 4; i++)
        ch_jw_end(w, '}');
}

/* The last message is still open, so the mark is appended as a block. */
size_t ch_bedrock_mark(const struct ch_model_request *req, struct ch_sv messages CH_UNUSED,
                       struct ch_buf *tail) {
    struct ch_jw w = {.out = tail, .comma = true};
    if (bedrock_encode_marks_cache(req) && ends_markable(req))
        bedrock_encode_write_cache_mark(req, &w);
    return 0;
}

bool ch_bedrock_tail_follows(const struct ch_model_request *req) {
    (void)req;
    return true; /* the tail closes the last message, which the cache mark follows */
}

int ch_bedrock_tail(const struct ch_model_request *req, struct ch_buf *out,
                    struct chela_error *err) {
    struct ch_thinking t = ch_thinking_for(req);
    struct ch_jw w = ch_jw(out);
    if (!req->note.n)
        ch_bedrock_mark(req, CH_SV(""), out);
    ch_buf_add_str(out, "]}]");
    w.comma = true;
    size_t from = out->n;
    if (ch_encode_extra_has(req, "toolConfig")) /* chela writes toolConfig before the messages */
        return ch_fail(err, CHELA_ECONFIG, "provider %s: extraBody must not contain \"toolConfig\"",
                       req->endpoint->provider);
    write_inference(req, &t, &w);
    write_fields(req, &t, &w);
    bedrock_encode_write_output_config(req, &w);
    int rc = ch_encode_extra(req, out, from, err);
    ch_jw_end(&w, '}');
    return rc;
}
