/* openai_encode.c -- our request as a Chat Completions request.
 *
 *   head      {"model","tools":[..],"messages":[{system}
 *   messages  each of ours as zero or more of theirs
 *   tail      ],"stream",... what may change from turn to turn }
 *
 * How a server departs from OpenAI's own is in the endpoint's quirks and
 * nowhere else. Tool results are text there: what else a tool returned follows
 * all results in a message from the user. Reasoning goes back under the name
 * it came in, but only to the model that wrote it. */
#include "model/encode.h"
#include "model/gpt.h"
#include "model/ids.h"
#include "model/openai.h"
#include "model/tags.h"

#define NO_OUTPUT "(no output)"
#define MAX_NAME 64

static bool has_quirk(const struct ch_model_request *req, enum ch_quirk q) {
    return req->endpoint->quirks & q;
}

/* OpenAI's own service, as far as quirks tell. */
static bool is_plain(const struct ch_model_request *req) {
    return !has_quirk(req, CH_Q_NO_DEVELOPER);
}

/* --- models that reason refuse some parameters and take others */

static void write_effort(const struct ch_model_request *req, struct ch_jw *w) {
    static const char *const efforts[] = {
        [CH_EFFORT_LOW] = "low", [CH_EFFORT_MEDIUM] = "medium", [CH_EFFORT_HIGH] = "high"};
    bool off = req->effort == CH_EFFORT_OFF;
    if (is_plain(req) && !ch_gpt_reasons(req->model))
        return;
    const char *least = is_plain(req) ? ch_gpt_least_effort(req->model) : "none";
    const char *effort = off ? least : efforts[req->effort];
    if (!has_quirk(req, CH_Q_REASONING_OBJECT)) {
        ch_jw_kcstr(w, "reasoning_effort", effort);
        return;
    }
    ch_jw_key(w, "reasoning");
    ch_jw_begin(w, '{');
    if (off)
        ch_jw_kbool(w, "enabled", false);
    else
        ch_jw_kcstr(w, "effort", effort);
    ch_jw_end(w, '}');
}

static bool is_forced(const struct ch_model_request *req) {
    return req->ntools && !has_quirk(req, CH_Q_NO_FORCED_CHOICE) &&
           (req->choice == CH_CHOICE_ANY || req->choice == CH_CHOICE_ONE);
}

static void write_reasoning_switch(const struct ch_model_request *req, struct ch_jw *w) {
    bool thinking = has_quirk(req, CH_Q_THINKING);
    bool refused = thinking && is_forced(req);
    if (req->effort == CH_EFFORT_DEFAULT && !refused)
        return;
    bool off = req->effort == CH_EFFORT_OFF || refused;
    if (thinking)
        ch_jw_kraw(w, "thinking",
                   off ? CH_SV("{\"type\":\"disabled\"}") : CH_SV("{\"type\":\"enabled\"}"));
    else if (has_quirk(req, CH_Q_TEMPLATE_THINKING))
        ch_jw_kraw(w, "chat_template_kwargs",
                   off ? CH_SV("{\"enable_thinking\":false}")
                       : CH_SV("{\"enable_thinking\":true}"));
    else if (has_quirk(req, CH_Q_REASONING_SWITCH))
        ch_jw_kraw(w, "reasoning",
                   off ? CH_SV("{\"enabled\":false}") : CH_SV("{\"enabled\":true}"));
    else if (!has_quirk(req, CH_Q_NO_EFFORT))
        write_effort(req, w);
}

/* --- HTTP */

int ch_openai_http(const struct ch_model_request *req, struct ch_arena *a,
                   struct ch_http_request *out, struct chela_error *err CH_UNUSED) {
    ch_encode_openai_http(req, a, "/chat/completions", out);
    return CHELA_OK;
}

/* --- head and tail */

static void write_schema(const struct ch_model_request *req, const struct ch_tool_def *t,
                         struct ch_jw *w) {
    CH_BUF_AUTO strict = {0};
    bool held = t->strict && !has_quirk(req, CH_Q_NO_STRICT) &&
                ch_encode_strict(t->schema, CH_CLEAN_OPENAI_STRICT, &strict);
    struct ch_sv schema =
        t->schema.n ? t->schema : CH_SV("{\"type\":\"object\",\"properties\":{}}");
    ch_jw_kraw(w, "parameters", held ? ch_buf_sv(&strict) : schema);
    if (held)
        ch_jw_kbool(w, "strict", true);
}

static void write_tools(const struct ch_model_request *req, struct ch_jw *w) {
    ch_jw_key(w, "tools");
    ch_jw_begin(w, '[');
    for (size_t i = 0; i < req->ntools; i++) {
        const struct ch_tool_def *t = &req->tools[i];
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "type", "function");
        ch_jw_key(w, "function");
        ch_jw_begin(w, '{');
        ch_jw_kstr(w, "name", t->name);
        if (t->description.n)
            ch_jw_kstr(w, "description", t->description);
        write_schema(req, t, w);
        ch_jw_end(w, '}');
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

int ch_openai_head(const struct ch_model_request *req, struct ch_buf *out,
                   struct chela_error *err CH_UNUSED) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "model", req->model);
    if (req->ntools)
        write_tools(req, &w);
    ch_jw_key(&w, "messages");
    ch_jw_begin(&w, '[');
    if (ch_is_blank(req->system))
        return CHELA_OK;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "role", is_plain(req) ? "developer" : "system");
    ch_jw_kstr(&w, "content", req->system);
    ch_jw_end(&w, '}');
    return CHELA_OK;
}

static void write_tool_choice(const struct ch_model_request *req, struct ch_jw *w) {
    if (!req->ntools || has_quirk(req, CH_Q_NO_TOOL_CHOICE))
        return;
    bool one = is_forced(req) && req->choice == CH_CHOICE_ONE && !has_quirk(req, CH_Q_CHOICE_WORD);
    if (req->choice == CH_CHOICE_NONE)
        ch_jw_kcstr(w, "tool_choice", "none");
    else if (is_forced(req) && !one)
        ch_jw_kcstr(w, "tool_choice", "required");
    if (one) {
        ch_jw_key(w, "tool_choice");
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "type", "function");
        ch_jw_key(w, "function");
        ch_jw_begin(w, '{');
        ch_jw_kstr(w, "name", req->choice_name);
        ch_jw_end(w, '}');
        ch_jw_end(w, '}');
    }
    if (req->no_parallel)
        ch_jw_kbool(w, "parallel_tool_calls", false);
}

static void write_sampling(const struct ch_model_request *req, struct ch_jw *w) {
    if (req->max_output_tokens > 0)
        ch_jw_kint(w, has_quirk(req, CH_Q_MAX_TOKENS) ? "max_tokens" : "max_completion_tokens",
                   req->max_output_tokens);
    if (is_plain(req) && ch_gpt_reasons(req->model))
        return; /* neither temperature nor stop is taken */
    if (req->has_temperature) {
        ch_jw_key(w, "temperature");
        ch_jw_double(w, req->temperature);
    }
    if (req->has_top_p) {
        ch_jw_key(w, "top_p");
        ch_jw_double(w, req->top_p);
    }
    if (req->has_seed)
        ch_jw_kint(w, "seed", req->seed);
    if (!req->nstop)
        return;
    ch_jw_key(w, "stop");
    ch_jw_begin(w, '[');
    for (size_t i = 0; i < req->nstop; i++)
        ch_jw_str(w, req->stop[i]);
    ch_jw_end(w, ']');
}

bool ch_openai_takes_schema(const struct ch_model_request *req) {
    return !has_quirk(req, CH_Q_NO_OUTPUT_SCHEMA);
}

static void write_output_schema(const struct ch_model_request *req, struct ch_jw *w) {
    CH_BUF_AUTO strict = {0};
    if (!req->output_schema.n)
        return;
    bool held = ch_encode_strict(req->output_schema, CH_CLEAN_OPENAI_STRICT, &strict);
    ch_jw_key(w, "response_format");
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "json_schema");
    ch_jw_key(w, "json_schema");
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", "answer");
    ch_jw_kraw(w, "schema", held ? ch_buf_sv(&strict) : req->output_schema);
    if (held)
        ch_jw_kbool(w, "strict", true);
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

static void write_cache(const struct ch_model_request *req, struct ch_jw *w) {
    if (!is_plain(req) || req->cache == CH_CACHE_OFF)
        return;
    if (req->cache_key.n)
        ch_jw_kstr(w, "prompt_cache_key", req->cache_key);
    if (req->cache == CH_CACHE_LONG && ch_gpt_caches_long(req->model))
        ch_jw_kcstr(w, "prompt_cache_retention", "24h");
}

int ch_openai_tail(const struct ch_model_request *req, struct ch_buf *out,
                   struct chela_error *err CH_UNUSED) {
    struct ch_jw w = ch_jw(out);
    ch_jw_end(&w, ']');
    if (!req->no_stream) {
        ch_jw_kbool(&w, "stream", true);
        if (!has_quirk(req, CH_Q_NO_STREAM_USAGE))
            ch_jw_kraw(&w, "stream_options", CH_SV("{\"include_usage\":true}"));
    }
    write_sampling(req, &w);
    write_tool_choice(req, &w);
    write_output_schema(req, &w);
    write_reasoning_switch(req, &w);
    write_cache(req, &w);
    if (req->ntools && !req->no_stream && has_quirk(req, CH_Q_TOOL_STREAM))
        ch_jw_kbool(&w, "tool_stream", true);
    if (req->endpoint->extra_body.n)
        ch_buf_addf(out, ",%.*s", CH_SV_FMT(req->endpoint->extra_body));
    ch_jw_end(&w, '}');
    return CHELA_OK;
}

/* --- messages */

/* Who speaks in the last message of out. Its text cannot be mistaken for this:
 * there, quotes are escaped. */
static struct ch_sv last_role(const struct ch_buf *out) {
    static const char mark[] = "{\"role\":\"";
    size_t n = sizeof(mark) - 1;
    for (size_t at = out->n; at-- > 0;) {
        if (out->p[at] != '{' || out->n - at < n || memcmp(out->p + at, mark, n) != 0)
            continue;
        struct ch_sv rest = ch_sv(out->p + at + n, out->n - at - n);
        return ch_sv_split(&rest, '"');
    }
    return CH_SV("");
}

/* Templates that know of user and assistant in turn refuse all else. */
static void keep_turns(const struct ch_model_request *req, struct ch_buf *out, const char *role) {
    if (!has_quirk(req, CH_Q_ALTERNATE) || strcmp(role, "user") != 0)
        return;
    struct ch_sv last = last_role(out);
    if (ch_sv_is(last, "user") || ch_sv_is(last, "tool"))
        CH_BUF_LIT(out, ",{\"role\":\"assistant\",\"content\":\"(noted)\"}");
}

static struct ch_jw begin_message(const struct ch_model_request *req, struct ch_buf *out,
                                  const char *role) {
    keep_turns(req, out, role);
    ch_encode_begin(out, !out->n && ch_is_blank(req->system));
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "role", role);
    return w;
}

enum ch_id_rule ch_openai_ids(const struct ch_model_request *req) {
    return has_quirk(req, CH_Q_ID9) ? CH_ID_9 : CH_ID_40;
}

static void write_text_part(struct ch_jw *w, struct ch_sv text) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "text");
    ch_jw_kstr(w, "text", text);
    ch_jw_end(w, '}');
}

/* "data:image/png;base64,...": long, so written in place. */
static void write_data_url(struct ch_jw *w, const char *key, const struct ch_block *b) {
    CH_BUF_AUTO url = {0};
    if (b->flags & CH_F_URL) {
        ch_jw_kstr(w, key, b->text);
        return;
    }
    ch_buf_addf(&url, "data:%.*s;base64,", CH_SV_FMT(b->name));
    ch_buf_add_sv(&url, b->text);
    ch_jw_kstr(w, key, ch_buf_sv(&url));
}

static void write_image(struct ch_jw *w, const struct ch_block *b) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "image_url");
    ch_jw_key(w, "image_url");
    ch_jw_begin(w, '{');
    write_data_url(w, "url", b);
    if (b->extra.n)
        ch_jw_kstr(w, "detail", b->extra);
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

static void write_audio(struct ch_jw *w, const struct ch_block *b) {
    bool mp3 = ch_sv_is(b->name, "audio/mpeg") || ch_sv_is(b->name, "audio/mp3");
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "input_audio");
    ch_jw_key(w, "input_audio");
    ch_jw_begin(w, '{');
    ch_jw_kstr(w, "data", b->text);
    ch_jw_kcstr(w, "format", mp3 ? "mp3" : "wav");
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

static void write_file(struct ch_jw *w, const struct ch_block *b) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "file");
    ch_jw_key(w, "file");
    ch_jw_begin(w, '{');
    ch_jw_kstr(w, "filename", b->id.n ? b->id : CH_SV("document.pdf"));
    write_data_url(w, "file_data", b);
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

/* What a part reads as where only text is taken; false: it must be sent. */
static bool part_as_text(const struct ch_model_request *req, const struct ch_block *b,
                         struct ch_buf *text) {
    bool url = b->flags & CH_F_URL;
    bool sendable =
        !has_quirk(req, CH_Q_STRING_CONTENT) &&
        (b->type == CH_BLOCK_IMAGE || (b->type == CH_BLOCK_AUDIO && !url) ||
         (b->type == CH_BLOCK_DOCUMENT && ch_sv_is(b->name, "application/pdf") && !url));
    if (sendable)
        return false;
    if (b->id.n)
        ch_buf_addf(text, "[%.*s]\n", CH_SV_FMT(b->id));
    if (b->type != CH_BLOCK_DOCUMENT || !ch_encode_document_text(b, text)) {
        ch_buf_clear(text);
        ch_encode_note(b, text);
    }
    return true;
}

static void write_part(const struct ch_model_request *req, struct ch_jw *w,
                       const struct ch_block *b) {
    CH_BUF_AUTO text = {0};
    if (part_as_text(req, b, &text))
        write_text_part(w, ch_buf_sv(&text));
    else if (b->type == CH_BLOCK_IMAGE)
        write_image(w, b);
    else if (b->type == CH_BLOCK_AUDIO)
        write_audio(w, b);
    else
        write_file(w, b);
}

static bool is_media(const struct ch_block *b) {
    return b->type == CH_BLOCK_IMAGE || b->type == CH_BLOCK_AUDIO || b->type == CH_BLOCK_DOCUMENT;
}

/* Blocks that a user's message is made of: text that says something, media. */
static bool is_content(const struct ch_block *b) {
    return is_media(b) || (b->type == CH_BLOCK_TEXT && !ch_is_blank(b->text));
}

static void write_string_content(const struct ch_model_request *req, const struct ch_msg *m,
                                 struct ch_jw *w) {
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO part = {0};
    const char *prefix = ch_msg_kind_prefix(m->kind);
    if (prefix)
        ch_buf_add_str(&text, prefix);
    for (uint32_t i = 0, n = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (is_content(b)) {
            if (n++)
                CH_BUF_LIT(&text, "\n\n");
            ch_buf_clear(&part);
            ch_buf_add_sv(&text,
                          is_media(b) && part_as_text(req, b, &part) ? ch_buf_sv(&part) : b->text);
        }
        i += b->span;
    }
    ch_jw_kstr(w, "content", ch_buf_sv(&text));
}

static void write_parts(const struct ch_model_request *req, const struct ch_msg *m,
                        struct ch_jw *w) {
    CH_BUF_AUTO room = {0};
    const char *prefix = ch_msg_kind_prefix(m->kind);
    ch_jw_key(w, "content");
    ch_jw_begin(w, '[');
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (is_media(b))
            write_part(req, w, b);
        else if (is_content(b))
            write_text_part(w, ch_encode_prefixed(&prefix, b->text, &room));
        i += b->span;
    }
    ch_jw_end(w, ']');
}

static void encode_user(const struct ch_model_request *req, const struct ch_msg *m,
                        struct ch_buf *out) {
    size_t content = 0, media = 0;
    for (uint32_t i = 0; i < m->nblocks; i++) {
        content += is_content(&m->blocks[i]);
        media += is_media(&m->blocks[i]);
        i += m->blocks[i].span;
    }
    if (!content)
        return;
    struct ch_jw w = begin_message(req, out, "user");
    if ((content == 1 && !media) || has_quirk(req, CH_Q_STRING_CONTENT))
        write_string_content(req, m, &w);
    else
        write_parts(req, m, &w);
    ch_jw_end(&w, '}');
}

static void encode_result(const struct ch_model_request *req, const struct ch_block *b,
                          struct ch_buf *out) {
    char id[CH_ID_ROOM], name[CH_NAME_ROOM];
    struct ch_jw w = begin_message(req, out, "tool");
    ch_jw_kstr(&w, "tool_call_id", ch_id_for(ch_openai_ids(req), b->id, id));
    if (has_quirk(req, CH_Q_ID9))
        ch_jw_kstr(&w, "name", ch_name_for(MAX_NAME, b->name, name));
    struct ch_sv nothing = b->span ? CH_SV("(follows below)") : CH_SV(NO_OUTPUT);
    ch_jw_kstr(&w, "content", ch_is_blank(b->text) ? nothing : b->text);
    ch_jw_end(&w, '}');
}

/* Images and documents of the results, as the user's, each named. */
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
        struct ch_msg *media = ch_msg_new(CH_MSG_USER, blocks, n, NULL, CH_SV(""), 0);
        struct ch_jw w = begin_message(req, out, "user");
        if (has_quirk(req, CH_Q_STRING_CONTENT))
            write_string_content(req, media, &w);
        else
            write_parts(req, media, &w);
        ch_jw_end(&w, '}');
        ch_msg_free(media);
    }
    ch_free(blocks);
}

static void encode_results(const struct ch_model_request *req, const struct ch_msg *m,
                           struct ch_buf *out) {
    for (uint32_t i = 0; i < m->nblocks; i++) {
        if (m->blocks[i].type == CH_BLOCK_TOOL_RESULT)
            encode_result(req, &m->blocks[i], out);
        i += m->blocks[i].span;
    }
    encode_result_media(req, m, out);
    encode_user(req, m, out); /* what stands beside the results */
}

/* --- the assistant's */

/* Whether the model that is asked wrote this reply. */
static bool is_own(const struct ch_model_request *req, const struct ch_msg *m) {
    return m->api && strcmp(m->api, "openai") == 0 && ch_gpt_same(m->model, req->model);
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

static void write_calls(const struct ch_model_request *req, const struct ch_msg *m, bool own,
                        struct ch_jw *w) {
    char id[CH_ID_ROOM], name[CH_NAME_ROOM];
    CH_BUF_AUTO arguments = {0};
    ch_jw_key(w, "tool_calls");
    ch_jw_begin(w, '[');
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
        ch_jw_key(w, "function");
        ch_jw_begin(w, '{');
        ch_jw_kstr(w, "name", ch_name_for(MAX_NAME, b->name, name));
        ch_jw_kstr(w, "arguments", ch_buf_sv(&arguments));
        ch_jw_end(w, '}');
        if (own && b->extra.n && ch_is_json(b->extra, CH_JSON_OBJECT))
            ch_jw_kraw(w, "extra_content", b->extra);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

/* Some servers demand the member on every turn, also empty. */
static void write_reasoning(const struct ch_model_request *req, const struct ch_msg *m, bool own,
                            struct ch_jw *w) {
    bool demanded = has_quirk(req, CH_Q_REPLAY_REASONING);
    const struct ch_block *b = find_reasoning(m);
    bool usable = b && m->api && strcmp(m->api, "openai") == 0 && (own || demanded);
    const char *member = usable && b->name.n && !demanded ? b->name.p : "reasoning_content";
    if (demanded || (usable && b->text.n))
        ch_jw_kstr(w, member, usable ? b->text : CH_SV(""));
    if (own && usable && b->extra.n && ch_is_json(b->extra, CH_JSON_ARRAY))
        ch_jw_kraw(w, "reasoning_details", b->extra);
}

/* Mistral has its reasoning back as it gave it: a part of the content. */
static void write_thinking_content(const struct ch_block *reasoning, struct ch_sv text,
                                   struct ch_jw *w) {
    ch_jw_key(w, "content");
    ch_jw_begin(w, '[');
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "thinking");
    ch_jw_key(w, "thinking");
    ch_jw_begin(w, '[');
    write_text_part(w, reasoning->text);
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
    if (!ch_is_blank(text))
        write_text_part(w, text);
    ch_jw_end(w, ']');
}

static void encode_assistant(const struct ch_model_request *req, const struct ch_msg *m,
                             struct ch_buf *out) {
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO refusal = {0};
    bool own = is_own(req, m), calls = false;
    join_blocks(m, CH_BLOCK_TEXT, &text);
    join_blocks(m, CH_BLOCK_REFUSAL, &refusal);
    for (uint32_t i = 0; i < m->nblocks; i++)
        calls |= m->blocks[i].type == CH_BLOCK_TOOL_CALL;
    bool silent = ch_is_blank(ch_buf_sv(&text));
    if (silent && !calls && !refusal.n)
        return;

    const struct ch_block *reasoning = find_reasoning(m);
    bool parts =
        own && reasoning && reasoning->text.n && ch_sv_is(reasoning->name, CH_OPENAI_THINKING);
    struct ch_jw w = begin_message(req, out, "assistant");
    if (parts)
        write_thinking_content(reasoning, ch_buf_sv(&text), &w);
    else if (!silent || has_quirk(req, CH_Q_STRING_CONTENT))
        ch_jw_kstr(&w, "content", ch_buf_sv(&text));
    else
        ch_jw_kcstr(&w, "content", NULL);
    if (refusal.n)
        ch_jw_kstr(&w, "refusal", ch_buf_sv(&refusal));
    if (!parts)
        write_reasoning(req, m, own, &w);
    if (calls)
        write_calls(req, m, own, &w);
    ch_jw_end(&w, '}');
}

int ch_openai_message(const struct ch_model_request *req, const struct ch_msg *m,
                      struct ch_buf *out, struct chela_error *err CH_UNUSED) {
    if (m->kind == CH_MSG_ASSISTANT)
        encode_assistant(req, m, out);
    else if (m->kind == CH_MSG_RESULTS)
        encode_results(req, m, out);
    else
        encode_user(req, m, out);
    return CHELA_OK;
}
