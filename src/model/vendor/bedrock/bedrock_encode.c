/* bedrock_encode.c -- encodes a neutral request as a Converse request.
 *
 *       head      {"system":[..],"toolConfig":{..},"messages":[{"role":"user","content":[
 *       messages  see bedrock_message.c; the last wire message is left open
 *       tail      a cache mark, ]}],"inferenceConfig",... members that may change each turn }
 *
 * Cache marks are separate blocks: after the system prompt, after the tools, and after the
 * last message, in the tail. The model id names the maker, which determines the accepted
 * parameters. Parameters that may be unsupported are omitted, because the service rejects
 * them instead of ignoring them. */
#include "base/error.h"
#include "model/vendor/bedrock/bedrock_encode.h"

#include "model/vendor/bedrock/bedrock.h"
#include "model/codec/encode.h"
#include "model/message/ids.h"
#include "model/catalog/learnt.h"
#include "model/catalog/thinking.h"

/* --- the maker of a model */

enum ch_maker ch_bedrock_maker(struct ch_sv model) {
    static const struct {
        const char *part;
        enum ch_maker maker;
    } parts[] = {
        {"amazon.nova-2", CH_MAKER_NOVA_2},   {"amazon.nova", CH_MAKER_NOVA},
        {"openai.gpt-oss", CH_MAKER_GPT_OSS}, {"openai.gpt", CH_MAKER_GPT},
        {"mistral.", CH_MAKER_MISTRAL},
    };
    if (ch_claude_parse(model).family != CH_CLAUDE_NOT)
        return CH_MAKER_CLAUDE;
    for (size_t i = 0; i < CH_LEN(parts); i++)
        if (ch_sv_contains_nocase(model, parts[i].part))
            return parts[i].maker;
    return CH_MAKER_OTHER;
}

static bool bedrock_encode_marks_cache(const struct ch_model_request *req, enum ch_maker f) {
    struct ch_claude c = ch_claude_parse(req->model);
    if (req->endpoint->quirks & CH_Q_NO_CACHE_MARKS || req->cache == CH_CACHE_OFF)
        return false;
    if (f == CH_MAKER_CLAUDE)
        return ch_claude_from(c, 3, 7) || (c.family == CH_CLAUDE_HAIKU && ch_claude_from(c, 3, 5));
    return ch_maker_is_nova(f);
}

static void bedrock_encode_write_cache_mark(const struct ch_model_request *req, struct ch_jw *w) {
    bool hour = req->cache == CH_CACHE_LONG && ch_claude_from(ch_claude_parse(req->model), 4, 5);
    ch_jw_raw(w, hour ? CH_SV("{\"cachePoint\":{\"type\":\"default\",\"ttl\":\"1h\"}}")
                      : CH_SV("{\"cachePoint\":{\"type\":\"default\"}}"));
}

bool ch_bedrock_takes_schema(const struct ch_model_request *req) {
    CH_BUF_AUTO strict = {0};
    return !(req->endpoint->quirks & CH_Q_NO_OUTPUT_SCHEMA) &&
           ch_bedrock_maker(req->model) == CH_MAKER_CLAUDE &&
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
static void bedrock_encode_write_tool_choice(const struct ch_model_request *req, enum ch_maker f,
                                             struct ch_jw *w) {
    char name[CH_NAME_ROOM];
    bool taken = f == CH_MAKER_CLAUDE ? !ch_request_is(req, CH_M_NO_FORCED)
                                      : ch_maker_is_nova(f) || f == CH_MAKER_MISTRAL;
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
static void bedrock_encode_write_tool_config(const struct ch_model_request *req, enum ch_maker f,
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
    if (f == CH_MAKER_CLAUDE && bedrock_encode_marks_cache(req, f))
        bedrock_encode_write_cache_mark(req, w);
    ch_jw_end(w, ']');
    bedrock_encode_write_tool_choice(req, f, w);
    ch_jw_end(w, '}');
}

int ch_bedrock_head(const struct ch_model_request *req, struct ch_buf *out,
                    struct chela_error *err CH_UNUSED) {
    enum ch_maker f = ch_bedrock_maker(req->model);
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    if (!ch_is_blank(req->system)) {
        ch_jw_kbegin(&w, "system", '[');
        ch_jw_begin(&w, '{');
        ch_jw_kstr(&w, "text", req->system);
        ch_jw_end(&w, '}');
        if (bedrock_encode_marks_cache(req, f))
            bedrock_encode_write_cache_mark(req, &w);
        ch_jw_end(&w, ']');
    }
    bedrock_encode_write_tool_config(req, f, &w);
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

static void write_inference(const struct ch_model_request *req, enum ch_maker f,
                            const struct ch_thinking *t, struct ch_jw *w) {
    /* Nova 2 at its highest effort gets neither an output limit nor sampling parameters. */
    bool free_hand = f == CH_MAKER_NOVA_2 && nova_effort(req) == CH_EFFORT_HIGH;
    bool budget = f == CH_MAKER_CLAUDE && t->budget;
    bool claude = f == CH_MAKER_CLAUDE;
    bool samples = claude ? !ch_request_is(req, CH_M_NO_SAMPLING) && !t->on : !free_hand;
    int64_t most = claude ? t->max_tokens : req->max_output_tokens;
    bool limit = (req->max_output_tokens > 0 || budget) && !free_hand;
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
    struct ch_claude c = ch_claude_parse(req->model);
    char name[CH_NAME_ROOM];
    if (!req->no_parallel || !req->ntools || req->choice == CH_CHOICE_NONE ||
        !ch_claude_from(c, 4, 5))
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

static void write_nova_fields(const struct ch_model_request *req, enum ch_maker f,
                              struct ch_jw *w) {
    enum ch_effort effort = nova_effort(req);
    if (f == CH_MAKER_NOVA_2 && effort == CH_EFFORT_OFF) {
        bedrock_encode_write_object(w, "reasoningConfig", "type", "disabled");
    } else if (f == CH_MAKER_NOVA_2 && effort > CH_EFFORT_OFF) {
        ch_jw_kbegin(w, "reasoningConfig", '{');
        ch_jw_kcstr(w, "type", "enabled");
        ch_jw_kcstr(w, "maxReasoningEffort", ch_effort_word(effort));
        ch_jw_end(w, '}');
    }
    if (req->top_k > 0 && !(f == CH_MAKER_NOVA_2 && effort == CH_EFFORT_HIGH)) {
        ch_jw_kbegin(w, "inferenceConfig", '{');
        ch_jw_kint(w, "topK", req->top_k);
        ch_jw_end(w, '}');
    }
}

static void write_gpt_fields(const struct ch_model_request *req, enum ch_maker f, struct ch_jw *w) {
    const char *effort = ch_effort_word(ch_facts_effort(ch_request_facts(req), req->effort));
    if (req->effort == CH_EFFORT_DEFAULT)
        return;
    if (f == CH_MAKER_GPT_OSS)
        ch_jw_kcstr(w, "reasoning_effort", effort);
    else
        bedrock_encode_write_object(w, "reasoning", "effort", effort);
}

enum ch_effort ch_bedrock_sent_effort(const struct ch_model_request *req) {
    enum ch_maker f = ch_bedrock_maker(req->model);
    if (f == CH_MAKER_CLAUDE)
        return ch_thinking_effort(req);
    if (f == CH_MAKER_NOVA_2 || f == CH_MAKER_GPT_OSS || f == CH_MAKER_GPT)
        return ch_encode_effort(req);
    return ch_maker_is_nova(f) || req->effort == CH_EFFORT_OFF ? CH_EFFORT_OFF : CH_EFFORT_DEFAULT;
}

/* Write the maker-specific parameters. */
static void write_fields(const struct ch_model_request *req, enum ch_maker f,
                         const struct ch_thinking *t, struct ch_jw *w) {
    CH_BUF_AUTO fields = {0};
    struct ch_jw inner = ch_jw(&fields);
    ch_jw_begin(&inner, '{');
    if (f == CH_MAKER_CLAUDE)
        write_claude_fields(req, t, &inner);
    else if (ch_maker_is_nova(f))
        write_nova_fields(req, f, &inner);
    else if (f == CH_MAKER_GPT_OSS || f == CH_MAKER_GPT)
        write_gpt_fields(req, f, &inner);
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
    if (bedrock_encode_marks_cache(req, ch_bedrock_maker(req->model)) && ends_markable(req))
        bedrock_encode_write_cache_mark(req, &w);
    return 0;
}

bool ch_bedrock_tail_follows(const struct ch_model_request *req) {
    (void)req;
    return true; /* the tail closes the last message, which the cache mark follows */
}

int ch_bedrock_tail(const struct ch_model_request *req, struct ch_buf *out,
                    struct chela_error *err) {
    enum ch_maker f = ch_bedrock_maker(req->model);
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
    write_inference(req, f, &t, &w);
    write_fields(req, f, &t, &w);
    bedrock_encode_write_output_config(req, &w);
    int rc = ch_encode_extra(req, out, from, err);
    ch_jw_end(&w, '}');
    return rc;
}
