/* openai_encode.c -- encodes a neutral request as a Chat Completions request.
 *
 *       head      {"model","tools":[..],"messages":[{system}
 *       messages  each neutral message as zero or more wire messages
 *       tail      ],"stream",... members that may change from turn to turn }
 *
 * Deviations of a server from OpenAI's own are described by the endpoint's quirks and
 * nowhere else. Tool results are text; media of results follow after all results in a user
 * message. Reasoning is sent back in the member it came in, but only to the model that
 * wrote it. */
#include "model/vendor/openai/openai_encode.h"

#include "model/codec/encode.h"
#include "model/catalog/learnt.h"
#include "model/message/ids.h"
#include "model/vendor/openai/openai.h"
#include "model/vendor/openai/openai_parts.h"
#include "model/vendor/openai/openai_turns.h"
#include "model/codec/tags.h"

#define NO_OUTPUT "(no output)"
#define MAX_NAME 64

static bool openai_encode_has_quirk(const struct ch_model_request *req, enum ch_quirk q) {
    return req->endpoint->quirks & q;
}

/* True for OpenAI's own service, judged by the quirks. */
static bool openai_encode_is_plain(const struct ch_model_request *req) {
    return !openai_encode_has_quirk(req, CH_Q_NO_DEVELOPER);
}

/* --- reasoning models reject some parameters and accept others */

/* Mistral's own service, judged by the quirks: only some models take an effort, and no other
 * than "none" and "high". */
static bool is_mistral(const struct ch_model_request *req) {
    return openai_encode_has_quirk(req, CH_Q_ID9);
}

/* A reasoning model of OpenAI's takes neither sampling parameters nor logprobs unless its effort
 * is none. */
static bool reasons_now(const struct ch_model_request *req) {
    return openai_encode_is_plain(req) && ch_encode_reasons(req) &&
           ch_encode_effort(req) != CH_EFFORT_OFF;
}

static bool takes_effort(const struct ch_model_request *req) {
    if (openai_encode_is_plain(req))
        return ch_encode_reasons(req);
    if (is_mistral(req) && !ch_request_facts(req)->efforts)
        return openai_encode_has_quirk(req, CH_Q_REASONS);
    return !openai_encode_has_quirk(req, CH_Q_NO_REASONING);
}

static void write_effort(const struct ch_model_request *req, struct ch_jw *w) {
    enum ch_effort effort = ch_encode_effort(req);
    bool off = effort == CH_EFFORT_OFF;
    if (!takes_effort(req))
        return;
    const char *word = is_mistral(req) && !off ? "high" : ch_effort_word(effort);
    if (!openai_encode_has_quirk(req, CH_Q_REASONING_OBJECT)) {
        ch_jw_kcstr(w, "reasoning_effort", word);
        return;
    }
    ch_jw_kbegin(w, "reasoning", '{');
    if (off)
        ch_jw_kbool(w, "enabled", false);
    else
        ch_jw_kcstr(w, "effort", word);
    ch_jw_end(w, '}');
}

static bool is_forced(const struct ch_model_request *req) {
    return req->ntools && !openai_encode_has_quirk(req, CH_Q_NO_FORCED_CHOICE) &&
           !ch_request_is(req, CH_M_NO_FORCED) &&
           (req->choice == CH_CHOICE_ANY || req->choice == CH_CHOICE_ONE);
}

/* A switch, and for some models an effort beside it. There is no switch for a model that always
 * reasons. */
static void write_thinking_switch(const struct ch_model_request *req, bool off, struct ch_jw *w) {
    const struct ch_model_facts *f = ch_request_facts(req);
    enum ch_effort effort = ch_encode_effort(req);
    bool beside = f->flags & CH_M_OTHER_MAKER;
    bool switches = !beside || f->efforts & 1u << CH_EFFORT_OFF;
    if (switches)
        ch_jw_kraw(w, "thinking",
                   off ? CH_SV("{\"type\":\"disabled\"}") : CH_SV("{\"type\":\"enabled\"}"));
    if (beside && effort > CH_EFFORT_OFF && !(switches && off))
        ch_jw_kcstr(w, "reasoning_effort", ch_effort_word(effort));
}

static void write_reasoning_switch(const struct ch_model_request *req, struct ch_jw *w) {
    bool thinking = openai_encode_has_quirk(req, CH_Q_THINKING);
    bool refused = thinking && is_forced(req);
    if (ch_encode_effort(req) == CH_EFFORT_DEFAULT && !refused)
        return;
    bool off = req->effort == CH_EFFORT_OFF || refused;
    if (thinking)
        write_thinking_switch(req, off, w);
    else if (openai_encode_has_quirk(req, CH_Q_TEMPLATE_THINKING))
        ch_jw_kraw(w, "chat_template_kwargs",
                   off ? CH_SV("{\"enable_thinking\":false}")
                       : CH_SV("{\"enable_thinking\":true}"));
    else if (openai_encode_has_quirk(req, CH_Q_REASONING_SWITCH))
        ch_jw_kraw(w, "reasoning",
                   off ? CH_SV("{\"enabled\":false}") : CH_SV("{\"enabled\":true}"));
    else if (!openai_encode_has_quirk(req, CH_Q_NO_EFFORT))
        write_effort(req, w);
}

/* A switch has no measure; a model that takes no parameter has its own, or does not reason. */
enum ch_effort ch_openai_sent_effort(const struct ch_model_request *req) {
    bool thinking = openai_encode_has_quirk(req, CH_Q_THINKING);
    bool off = req->effort == CH_EFFORT_OFF;
    if (thinking && is_forced(req))
        return CH_EFFORT_OFF;
    if (thinking && ch_request_is(req, CH_M_OTHER_MAKER))
        return ch_encode_effort(req);
    if (thinking || openai_encode_has_quirk(req, CH_Q_TEMPLATE_THINKING | CH_Q_REASONING_SWITCH))
        return off ? CH_EFFORT_OFF : CH_EFFORT_DEFAULT;
    if (openai_encode_has_quirk(req, CH_Q_NO_EFFORT))
        return CH_EFFORT_DEFAULT;
    if (takes_effort(req))
        return ch_encode_effort(req);
    bool plain = openai_encode_is_plain(req) || openai_encode_has_quirk(req, CH_Q_NO_REASONING);
    return off || plain ? CH_EFFORT_OFF : CH_EFFORT_DEFAULT;
}

/* --- HTTP */

int ch_openai_http(const struct ch_model_request *req, struct ch_arena *a,
                   struct ch_http_request *out, struct chela_error *err CH_UNUSED) {
    ch_encode_openai_http(req, a, "/chat/completions", out);
    return CHELA_OK;
}

/* --- head and tail */

static void openai_encode_write_schema(const struct ch_model_request *req,
                                       const struct ch_tool_def *t, struct ch_jw *w) {
    CH_BUF_AUTO strict = {0};
    bool held = t->strict && !openai_encode_has_quirk(req, CH_Q_NO_STRICT) &&
                ch_encode_strict(t->schema, CH_CLEAN_OPENAI_STRICT, &strict);
    struct ch_sv schema =
        t->schema.n ? t->schema : CH_SV("{\"type\":\"object\",\"properties\":{}}");
    ch_jw_kraw(w, "parameters", held ? ch_buf_sv(&strict) : schema);
    if (held)
        ch_jw_kbool(w, "strict", true);
}

static void openai_encode_write_tools(const struct ch_model_request *req, struct ch_jw *w) {
    ch_jw_kbegin(w, "tools", '[');
    for (size_t i = 0; i < req->ntools; i++) {
        const struct ch_tool_def *t = &req->tools[i];
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "type", "function");
        ch_jw_kbegin(w, "function", '{');
        ch_jw_kstr(w, "name", t->name);
        if (t->description.n)
            ch_jw_kstr(w, "description", t->description);
        openai_encode_write_schema(req, t, w);
        ch_jw_end(w, '}');
        ch_jw_end(w, '}');
    }
    ch_encode_extra_tools(req, w);
    ch_jw_end(w, ']');
}

int ch_openai_head(const struct ch_model_request *req, struct ch_buf *out,
                   struct chela_error *err CH_UNUSED) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "model", req->model);
    if (ch_encode_has_tools(req))
        openai_encode_write_tools(req, &w);
    ch_jw_kbegin(&w, "messages", '[');
    if (ch_is_blank(req->system))
        return CHELA_OK;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "role", openai_encode_is_plain(req) ? "developer" : "system");
    ch_jw_kstr(&w, "content", req->system);
    ch_jw_end(&w, '}');
    return CHELA_OK;
}

static void openai_encode_write_tool_choice(const struct ch_model_request *req, struct ch_jw *w) {
    if (!req->ntools || openai_encode_has_quirk(req, CH_Q_NO_TOOL_CHOICE))
        return;
    bool one = is_forced(req) && req->choice == CH_CHOICE_ONE &&
               !openai_encode_has_quirk(req, CH_Q_CHOICE_WORD);
    if (req->choice == CH_CHOICE_NONE)
        ch_jw_kcstr(w, "tool_choice", "none");
    else if (is_forced(req) && !one)
        ch_jw_kcstr(w, "tool_choice", "required");
    if (one) {
        ch_jw_kbegin(w, "tool_choice", '{');
        ch_jw_kcstr(w, "type", "function");
        ch_jw_kbegin(w, "function", '{');
        ch_jw_kstr(w, "name", req->choice_name);
        ch_jw_end(w, '}');
        ch_jw_end(w, '}');
    }
    if (req->no_parallel)
        ch_jw_kbool(w, "parallel_tool_calls", false);
}

static void openai_encode_write_sampling(const struct ch_model_request *req, struct ch_jw *w) {
    if (req->max_output_tokens > 0)
        ch_jw_kint(w,
                   openai_encode_has_quirk(req, CH_Q_MAX_TOKENS) ? "max_tokens"
                                                                 : "max_completion_tokens",
                   req->max_output_tokens);
    bool own = openai_encode_is_plain(req) && ch_encode_reasons(req);
    bool sampled = !(own && reasons_now(req)) && !ch_request_is(req, CH_M_NO_SAMPLING);
    if (req->has_temperature && sampled)
        ch_jw_kdouble(w, "temperature", req->temperature);
    if (req->has_top_p && sampled)
        ch_jw_kdouble(w, "top_p", req->top_p);
    if (own)
        return; /* stop is not supported */
    if (req->has_seed) /* Mistral rejects unknown members */
        ch_jw_kint(w, openai_encode_has_quirk(req, CH_Q_ID9) ? "random_seed" : "seed", req->seed);
    if (!req->nstop)
        return;
    ch_jw_kbegin(w, "stop", '[');
    for (size_t i = 0; i < req->nstop; i++)
        ch_jw_str(w, req->stop[i]);
    ch_jw_end(w, ']');
}

bool ch_openai_takes_schema(const struct ch_model_request *req) {
    return !openai_encode_has_quirk(req, CH_Q_NO_OUTPUT_SCHEMA);
}

static void openai_encode_write_output_schema(const struct ch_model_request *req, struct ch_jw *w) {
    CH_BUF_AUTO strict = {0};
    if (!req->output_schema.n)
        return;
    bool held = ch_encode_strict(req->output_schema, CH_CLEAN_OPENAI_STRICT, &strict);
    ch_jw_kbegin(w, "response_format", '{');
    ch_jw_kcstr(w, "type", "json_schema");
    ch_jw_kbegin(w, "json_schema", '{');
    ch_jw_kcstr(w, "name", "answer");
    ch_jw_kraw(w, "schema", held ? ch_buf_sv(&strict) : req->output_schema);
    if (held)
        ch_jw_kbool(w, "strict", true);
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

/* OpenRouter sets the cache marks of Claude, as Anthropic does, if it is asked to. */
static void write_router_cache(const struct ch_model_request *req, struct ch_jw *w) {
    if (!openai_encode_has_quirk(req, CH_Q_REASONING_OBJECT) ||
        openai_encode_has_quirk(req, CH_Q_NO_CACHE_MARKS) || req->cache == CH_CACHE_OFF ||
        ch_request_facts(req)->maker != CH_MAKER_ANTHROPIC)
        return;
    ch_jw_kbegin(w, "cache_control", '{');
    ch_jw_kcstr(w, "type", "ephemeral");
    if (req->cache == CH_CACHE_LONG)
        ch_jw_kcstr(w, "ttl", "1h");
    ch_jw_end(w, '}');
}

static void openai_encode_write_cache(const struct ch_model_request *req, struct ch_jw *w) {
    write_router_cache(req, w);
    if (!openai_encode_is_plain(req) || req->cache == CH_CACHE_OFF)
        return;
    if (req->cache_key.n)
        ch_jw_kstr(w, "prompt_cache_key", req->cache_key);
    if (req->cache == CH_CACHE_LONG && ch_request_is(req, CH_M_CACHE_24H))
        ch_jw_kcstr(w, "prompt_cache_retention", "24h");
}

int ch_openai_tail(const struct ch_model_request *req, struct ch_buf *out,
                   struct chela_error *err) {
    struct ch_jw w = ch_jw(out);
    ch_jw_end(&w, ']');
    size_t from = out->n;
    if (!req->no_stream) {
        ch_jw_kbool(&w, "stream", true);
        if (!openai_encode_has_quirk(req, CH_Q_NO_STREAM_USAGE))
            ch_jw_kraw(&w, "stream_options", CH_SV("{\"include_usage\":true}"));
    }
    openai_encode_write_sampling(req, &w);
    openai_encode_write_tool_choice(req, &w);
    openai_encode_write_output_schema(req, &w);
    write_reasoning_switch(req, &w);
    openai_encode_write_cache(req, &w);
    if (req->logprobs > 0 && !reasons_now(req)) {
        ch_jw_kbool(&w, "logprobs", true);
        ch_jw_kint(&w, "top_logprobs", req->logprobs);
    }
    if (req->ntools && !req->no_stream && openai_encode_has_quirk(req, CH_Q_TOOL_STREAM))
        ch_jw_kbool(&w, "tool_stream", true);
    int rc = ch_encode_extra(req, out, from, err);
    ch_jw_end(&w, '}');
    return rc;
}

/* --- messages */

static struct ch_jw begin_message(const struct ch_model_request *req, struct ch_buf *out,
                                  const char *role) {
    if (openai_encode_has_quirk(req, CH_Q_ALTERNATE))
        ch_turn_next(out, role);
    ch_encode_begin(out, !out->n && ch_is_blank(req->system));
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "role", role);
    return w;
}

enum ch_id_rule ch_openai_ids(const struct ch_model_request *req) {
    return openai_encode_has_quirk(req, CH_Q_ID9) ? CH_ID_9 : CH_ID_40;
}

/* A user message with string content. */
static void write_as_text(const struct ch_model_request *req, const struct ch_msg *m,
                          struct ch_buf *out) {
    CH_BUF_AUTO text = {0};
    bool turns = openai_encode_has_quirk(req, CH_Q_ALTERNATE);
    ch_openai_join(req, m, &text);
    if (turns && ch_turn_goes_on(out, "user")) {
        ch_turn_add_text(out, ch_buf_sv(&text));
        return;
    }
    struct ch_jw w = begin_message(req, out, "user");
    ch_jw_kstr(&w, "content", ch_buf_sv(&text));
    if (turns)
        ch_turn_leave_open(out);
    else
        ch_jw_end(&w, '}');
}

static void write_as_parts(const struct ch_model_request *req, const struct ch_msg *m,
                           struct ch_buf *out) {
    bool turns = openai_encode_has_quirk(req, CH_Q_ALTERNATE);
    struct ch_jw w = ch_jw(out);
    if (turns && ch_turn_goes_on(out, "user")) {
        w.comma = true;
        ch_openai_parts(req, m, &w);
        return;
    }
    w = begin_message(req, out, "user");
    ch_jw_kbegin(&w, "content", '[');
    ch_openai_parts(req, m, &w);
    if (turns)
        return;
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
}

static void openai_encode_user(const struct ch_model_request *req, const struct ch_msg *m,
                               struct ch_buf *out) {
    size_t content = 0, media = 0;
    for (uint32_t i = 0; i < m->nblocks; i++) {
        content += ch_openai_is_content(&m->blocks[i]);
        media += ch_block_is_media(&m->blocks[i]);
        i += m->blocks[i].span;
    }
    if (!content)
        return;
    /* If later content may be merged into this message, it may be an image, so parts are
     * needed. */
    bool plain = content == 1 && !media && !openai_encode_has_quirk(req, CH_Q_ALTERNATE);
    if (plain || openai_encode_has_quirk(req, CH_Q_STRING_CONTENT))
        write_as_text(req, m, out);
    else
        write_as_parts(req, m, out);
}

static void openai_encode_result(const struct ch_model_request *req, const struct ch_block *b,
                                 struct ch_buf *out) {
    char id[CH_ID_ROOM], name[CH_NAME_ROOM];
    struct ch_jw w = begin_message(req, out, "tool");
    ch_jw_kstr(&w, "tool_call_id", ch_id_for(ch_openai_ids(req), b->id, id));
    if (openai_encode_has_quirk(req, CH_Q_ID9))
        ch_jw_kstr(&w, "name", ch_name_for(MAX_NAME, b->name, name));
    struct ch_sv nothing = b->span ? CH_SV("(follows below)") : CH_SV(NO_OUTPUT);
    ch_jw_kstr(&w, "content", ch_is_blank(b->text) ? nothing : b->text);
    ch_jw_end(&w, '}');
}

/* Images and documents of results as a user message, each labelled. */
static void encode_result_media(const struct ch_model_request *req, const struct ch_msg *m,
                                struct ch_buf *out) {
    size_t n = 0;
    struct ch_block *blocks = ch_alloc((2 * (size_t)m->nblocks + 1) * sizeof(*blocks));
    CH_ARENA_AUTO arena = {0};
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (b->span)
            blocks[n++] =
                (struct ch_block){.type = CH_BLOCK_TEXT,
                                  .text = ch_sv_str(ch_arena_printf(
                                      &arena, "From the result of %.*s:", CH_SV_FMT(b->name)))};
        for (unsigned k = 1; k <= b->span; k++)
            blocks[n++] = b[k];
        i += b->span;
    }
    if (n) {
        struct ch_msg *media = ch_msg_new(CH_MSG_USER, blocks, n, 0);
        if (openai_encode_has_quirk(req, CH_Q_STRING_CONTENT))
            write_as_text(req, media, out);
        else
            write_as_parts(req, media, out);
        ch_msg_free(media);
    }
    ch_free(blocks);
}

static void openai_encode_results(const struct ch_model_request *req, const struct ch_msg *m,
                                  struct ch_buf *out) {
    for (uint32_t i = 0; i < m->nblocks; i++) {
        if (m->blocks[i].type == CH_BLOCK_TOOL_RESULT)
            openai_encode_result(req, &m->blocks[i], out);
        i += m->blocks[i].span;
    }
    encode_result_media(req, m, out);
    openai_encode_user(req, m, out); /* blocks beside the results */
}

/* --- assistant messages */

/* True if the requested model wrote this reply. */
static bool openai_encode_is_own(const struct ch_model_request *req, const struct ch_msg *m) {
    return ch_encode_wrote(req, m, "openai");
}

static const struct ch_block *find_reasoning(const struct ch_msg *m) {
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_REASONING &&
            !ch_sv_is(m->blocks[i].name, CH_TAGS_REASONING))
            return &m->blocks[i];
    return NULL;
}

static void join_blocks(const struct ch_msg *m, enum ch_block_type type, struct ch_buf *out) {
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (m->blocks[i].type == type)
            ch_buf_add_sv(out, m->blocks[i].text);
}

static void openai_encode_write_calls(const struct ch_model_request *req, const struct ch_msg *m,
                                      bool own, struct ch_jw *w) {
    char id[CH_ID_ROOM], name[CH_NAME_ROOM];
    CH_BUF_AUTO arguments = {0};
    ch_jw_kbegin(w, "tool_calls", '[');
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (b->type != CH_BLOCK_TOOL_CALL)
            continue;
        ch_buf_clear(&arguments);
        struct ch_jw aw = ch_jw(&arguments);
        ch_encode_arguments(&aw, b->text);
        ch_jw_begin(w, '{');
        ch_jw_kstr(w, "id", ch_id_for(ch_openai_ids(req), b->id, id));
        ch_jw_kcstr(w, "type", "function");
        ch_jw_kbegin(w, "function", '{');
        ch_jw_kstr(w, "name", ch_name_for(MAX_NAME, b->name, name));
        ch_jw_kstr(w, "arguments", ch_buf_sv(&arguments));
        ch_jw_end(w, '}');
        if (own && b->extra.n && ch_is_json(b->extra, CH_JSON_OBJECT))
            ch_jw_kraw(w, "extra_content", b->extra);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

/* Some servers require the member on every turn, even if empty. */
static void openai_encode_write_reasoning(const struct ch_model_request *req,
                                          const struct ch_msg *m, bool own, struct ch_jw *w) {
    bool demanded = openai_encode_has_quirk(req, CH_Q_REPLAY_REASONING);
    const struct ch_block *b = find_reasoning(m);
    const char *api = b && (own || demanded) ? ch_msg_author(m).api : NULL;
    bool usable = api && strcmp(api, "openai") == 0;
    const char *member = usable && b->name.n && !demanded ? b->name.p : "reasoning_content";
    if (demanded || (usable && b->text.n))
        ch_jw_kstr(w, member, usable ? b->text : CH_SV(""));
    if (own && usable && b->extra.n && ch_is_json(b->extra, CH_JSON_ARRAY))
        ch_jw_kraw(w, "reasoning_details", b->extra);
}

/* Mistral expects its reasoning back as a part of the content. */
static void write_thinking_content(const struct ch_block *reasoning, struct ch_sv text,
                                   struct ch_jw *w) {
    ch_jw_kbegin(w, "content", '[');
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "thinking");
    ch_jw_kbegin(w, "thinking", '[');
    ch_openai_text_part(w, reasoning->text);
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
    if (!ch_is_blank(text))
        ch_openai_text_part(w, text);
    ch_jw_end(w, ']');
}

/* The content of an assistant message besides its reasoning. */
struct content {
    struct ch_buf text, refusal; /* owned */
    bool blank;                  /* text has no character but white space */
    bool calls;                  /* the message has tool calls */
};

static struct content content_of(const struct ch_msg *m) {
    struct content c = {0};
    join_blocks(m, CH_BLOCK_TEXT, &c.text);
    join_blocks(m, CH_BLOCK_REFUSAL, &c.refusal);
    for (uint32_t i = 0; i < m->nblocks; i++)
        c.calls |= m->blocks[i].type == CH_BLOCK_TOOL_CALL;
    c.blank = ch_is_blank(ch_buf_sv(&c.text));
    return c;
}

static void write_assistant(const struct ch_model_request *req, const struct ch_msg *m,
                            const struct content *c, struct ch_buf *out) {
    bool own = openai_encode_is_own(req, m), turns = openai_encode_has_quirk(req, CH_Q_ALTERNATE);
    const struct ch_block *reasoning = find_reasoning(m);
    bool parts =
        own && reasoning && reasoning->text.n && ch_sv_is(reasoning->name, CH_OPENAI_THINKING);
    bool open = turns && !parts && !c->calls && !c->refusal.n;
    struct ch_jw w = begin_message(req, out, "assistant");
    if (open)
        openai_encode_write_reasoning(req, m, own, &w);
    if (parts)
        write_thinking_content(reasoning, ch_buf_sv(&c->text), &w);
    else if (!c->blank || openai_encode_has_quirk(req, CH_Q_STRING_CONTENT))
        ch_jw_kstr(&w, "content", ch_buf_sv(&c->text));
    else
        ch_jw_kcstr(&w, "content", NULL);
    if (open) {
        ch_turn_leave_open(out);
        return;
    }
    if (c->refusal.n)
        ch_jw_kstr(&w, "refusal", ch_buf_sv(&c->refusal));
    if (!parts)
        openai_encode_write_reasoning(req, m, own, &w);
    if (c->calls)
        openai_encode_write_calls(req, m, own, &w);
    ch_jw_end(&w, '}');
}

/* Append to the previous message, which contained only text. */
static void continue_assistant(const struct ch_model_request *req, const struct ch_msg *m,
                               const struct content *c, struct ch_buf *out) {
    struct ch_jw w = {.out = out, .comma = true};
    if (!c->blank)
        ch_turn_add_text(out, ch_buf_sv(&c->text));
    if (!c->calls && !c->refusal.n)
        return;
    ch_buf_addc(out, '"');
    if (c->refusal.n)
        ch_jw_kstr(&w, "refusal", ch_buf_sv(&c->refusal));
    if (c->calls)
        openai_encode_write_calls(req, m, openai_encode_is_own(req, m), &w);
    ch_jw_end(&w, '}');
}

static void openai_encode_assistant(const struct ch_model_request *req, const struct ch_msg *m,
                                    struct ch_buf *out) {
    struct content c = content_of(m);
    bool turns = openai_encode_has_quirk(req, CH_Q_ALTERNATE);
    if (turns && ch_turn_goes_on(out, "assistant"))
        continue_assistant(req, m, &c, out);
    else if (!c.blank || c.calls || c.refusal.n)
        write_assistant(req, m, &c, out);
    ch_buf_release(&c.text);
    ch_buf_release(&c.refusal);
}

void ch_openai_close(const struct ch_model_request *req, struct ch_buf *out) {
    if (openai_encode_has_quirk(req, CH_Q_ALTERNATE))
        ch_turn_close(out);
}

int ch_openai_message(const struct ch_model_request *req, const struct ch_msg *m,
                      struct ch_buf *out, struct chela_error *err CH_UNUSED) {
    if (m->kind == CH_MSG_ASSISTANT)
        openai_encode_assistant(req, m, out);
    else if (m->kind == CH_MSG_RESULTS)
        openai_encode_results(req, m, out);
    else
        openai_encode_user(req, m, out);
    return CHELA_OK;
}
