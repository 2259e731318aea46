/* interactions_encode.c -- encodes a neutral request as an interaction of a model.
 *
 *       head   {"model","system_instruction","tools":[..],"input":[
 *       steps  each neutral message as zero or more steps
 *       tail   ],"stream","store":false,"generation_config",... members that may change from
 *              turn to turn }
 *
 * The service stores nothing unless asked, so every request contains the whole history. Thoughts
 * and the steps of the service's own tools carry signatures; they are sent back whichever Gemini
 * model wrote them, because the service sorts out which ones the model can read. Calls have no
 * signature, but the thought before them has; if there is none, as before the calls of another
 * vendor's model, a thought with the placeholder that the service defines stands for it.
 *
 * There is no switch for parallel calls: no_parallel is ignored. */
#include "model/vendor/interactions/interactions_encode.h"

#include "model/catalog/model_facts.h"
#include "model/codec/encode.h"
#include "model/message/ids.h"
#include "model/vendor/gemini/gemini_encode.h"
#include "model/vendor/gemini/gemini_http.h"

#define NO_OUTPUT "(no output)"
#define MAX_NAME 64

int ch_interactions_http(const struct ch_model_request *req, struct ch_arena *a,
                         struct ch_http_request *out, struct chela_error *err CH_UNUSED) {
    ch_gemini_request(req, a, ch_gemini_resource_url(req->endpoint->base_url, "interactions", a),
                      out);
    return CHELA_OK;
}

/* --- head */

static void write_function(const struct ch_tool_def *t, struct ch_jw *w) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "function");
    ch_jw_kstr(w, "name", t->name);
    if (t->description.n)
        ch_jw_kstr(w, "description", t->description);
    if (ch_gemini_has_parameters(t->schema))
        ch_gemini_write_schema(w, "parameters", t->schema);
    ch_jw_end(w, '}');
}

int ch_interactions_head(const struct ch_model_request *req, struct ch_buf *out,
                         struct chela_error *err CH_UNUSED) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "model", req->model);
    if (!ch_is_blank(req->system))
        ch_jw_kstr(&w, "system_instruction", req->system);
    if (ch_encode_has_tools(req)) {
        ch_jw_kbegin(&w, "tools", '[');
        for (size_t i = 0; i < req->ntools; i++)
            write_function(&req->tools[i], &w);
        ch_encode_extra_tools(req, &w);
        ch_jw_end(&w, ']');
    }
    ch_jw_kbegin(&w, "input", '[');
    return CHELA_OK;
}

/* --- tail */

/* The words are those of generateContent in lower case. */
static void write_word(struct ch_jw *w, const char *key, const char *word) {
    CH_BUF_AUTO lower = {0};
    for (; *word; word++)
        ch_buf_addc(&lower, *word >= 'A' && *word <= 'Z' ? (char)(*word + 'a' - 'A') : *word);
    ch_jw_kstr(w, key, ch_buf_sv(&lower));
}

static void interactions_write_choice(const struct ch_model_request *req, struct ch_jw *w) {
    const char *mode = req->ntools ? ch_gemini_calling_mode(req) : NULL;
    if (!mode)
        return;
    if (req->choice != CH_CHOICE_ONE || strcmp(mode, "ANY") != 0) {
        write_word(w, "tool_choice", mode);
        return;
    }
    ch_jw_kbegin(w, "tool_choice", '{');
    ch_jw_kbegin(w, "allowed_tools", '{');
    write_word(w, "mode", mode);
    ch_jw_kbegin(w, "tools", '[');
    ch_jw_str(w, req->choice_name);
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

static void interactions_write_sampling(const struct ch_model_request *req, struct ch_jw *w) {
    if (req->max_output_tokens > 0)
        ch_jw_kint(w, "max_output_tokens", req->max_output_tokens);
    if (req->has_temperature) {
        ch_jw_kdouble(w, "temperature", req->temperature);
    }
    if (req->has_top_p) {
        ch_jw_kdouble(w, "top_p", req->top_p);
    }
    if (req->has_seed)
        ch_jw_kint(w, "seed", req->seed);
    if (!req->nstop)
        return;
    ch_jw_kbegin(w, "stop_sequences", '[');
    for (size_t i = 0; i < req->nstop; i++)
        ch_jw_str(w, req->stop[i]);
    ch_jw_end(w, ']');
}

static void write_config(const struct ch_model_request *req, struct ch_jw *w) {
    CH_BUF_AUTO text = {0};
    struct ch_jw own = ch_jw(&text);
    const char *level = ch_gemini_level(req);
    ch_jw_begin(&own, '{');
    interactions_write_sampling(req, &own);
    if (level)
        write_word(&own, "thinking_level", level);
    if (ch_gemini_shows_thoughts(req))
        ch_jw_kcstr(&own, "thinking_summaries", "auto");
    interactions_write_choice(req, &own);
    ch_jw_end(&own, '}');
    if (text.n > 2)
        ch_jw_kraw(w, "generation_config", ch_buf_sv(&text));
}

enum ch_effort ch_interactions_sent_effort(const struct ch_model_request *req) {
    return ch_gemini_level(req) ? ch_encode_effort(req) : CH_EFFORT_OFF;
}

static void write_format(const struct ch_model_request *req, struct ch_jw *w) {
    if (!req->output_schema.n)
        return;
    ch_jw_kbegin(w, "response_format", '{');
    ch_jw_kcstr(w, "type", "text");
    ch_jw_kcstr(w, "mime_type", "application/json");
    ch_gemini_write_schema(w, "schema", req->output_schema);
    ch_jw_end(w, '}');
}

int ch_interactions_tail(const struct ch_model_request *req, struct ch_buf *out,
                         struct chela_error *err) {
    struct ch_jw w = ch_jw(out);
    ch_jw_end(&w, ']');
    size_t from = out->n;
    if (!req->no_stream)
        ch_jw_kbool(&w, "stream", true);
    ch_jw_kbool(&w, "store", false);
    write_config(req, &w);
    write_format(req, &w);
    int rc = ch_encode_extra(req, out, from, err);
    ch_jw_end(&w, '}');
    return rc;
}

/* --- contents */

/* The steps of one message. Contents that follow each other are one step. */
struct step_writer {
    struct ch_buf *out;
    struct ch_jw w;
    const char *type;   /* of the step for contents */
    const char *prefix; /* prefix of the message kind, until the first text */
    bool open;          /* a step for contents is open */
    bool own;           /* the service wrote the message: signatures are sent back */
    bool signs;         /* a call needs a signed thought before it */
};

static void open_step(struct step_writer *x, const char *type) {
    ch_encode_begin(x->out, !x->out->n);
    x->w = ch_jw(x->out);
    ch_jw_begin(&x->w, '{');
    ch_jw_kcstr(&x->w, "type", type);
}

static void open_contents(struct step_writer *x) {
    if (x->open)
        return;
    open_step(x, x->type);
    ch_jw_kbegin(&x->w, "content", '[');
    x->open = true;
}

static void close_contents(struct step_writer *x) {
    if (!x->open)
        return;
    ch_jw_end(&x->w, ']');
    ch_jw_end(&x->w, '}');
    x->open = false;
}

/* extra: {"annotations":[..]}, or empty. */
static void write_text(struct ch_jw *w, struct ch_sv text, struct ch_sv extra) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "text");
    ch_jw_kstr(w, "text", text);
    if (extra.n > 2 && ch_is_json(extra, CH_JSON_OBJECT)) {
        CH_ARENA_AUTO arena = {0};
        const struct ch_json *v = NULL;
        ch_json_parse(&arena, extra, CH_JSON_STRICT, &v, NULL, NULL);
        ch_jw_kvalue(w, "annotations", ch_json_get(v, "annotations"));
    }
    ch_jw_end(w, '}');
}

static void write_media(struct ch_jw *w, const struct ch_block *b) {
    CH_BUF_AUTO text = {0};
    if (ch_gemini_as_text(b, &text)) {
        write_text(w, ch_buf_sv(&text), CH_SV(""));
        return;
    }
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", ch_block_type_name((enum ch_block_type)b->type));
    ch_jw_kstr(w, b->flags & CH_F_URL ? "uri" : "data", b->text);
    ch_jw_kstr(w, "mime_type", ch_gemini_media_type(b));
    ch_jw_end(w, '}');
}

static void interactions_write_content(struct step_writer *x, const struct ch_block *b) {
    CH_BUF_AUTO room = {0};
    if (ch_block_is_media(b)) {
        open_contents(x);
        write_media(&x->w, b);
    } else if (!ch_is_blank(b->text)) {
        open_contents(x);
        write_text(&x->w, ch_encode_prefixed(&x->prefix, b->text, &room),
                   x->own ? b->extra : CH_SV(""));
    }
}

/* --- results */

static void write_result(struct step_writer *x, const struct ch_block *b) {
    char id[CH_ID_ROOM], name[CH_NAME_ROOM];
    open_step(x, "function_result");
    ch_jw_kstr(&x->w, "call_id", ch_id_for(CH_ID_64, b->id, id));
    ch_jw_kstr(&x->w, "name", ch_name_for(MAX_NAME, b->name, name));
    if (b->flags & CH_F_ERROR)
        ch_jw_kbool(&x->w, "is_error", true);
    if (b->span) {
        ch_jw_kbegin(&x->w, "result", '[');
        if (!ch_is_blank(b->text))
            write_text(&x->w, b->text, CH_SV(""));
        for (unsigned i = 1; i <= b->span; i++)
            if (ch_block_is_media(b + i))
                write_media(&x->w, b + i);
            else if (!ch_is_blank(b[i].text))
                write_text(&x->w, b[i].text, CH_SV(""));
        ch_jw_end(&x->w, ']');
    } else {
        ch_jw_kstr(&x->w, "result", ch_is_blank(b->text) ? CH_SV(NO_OUTPUT) : b->text);
    }
    ch_jw_end(&x->w, '}');
}

/* What was said beside the results follows them. */
static void interactions_encode_results(struct step_writer *x, const struct ch_msg *m) {
    for (uint32_t i = 0; i < m->nblocks; i += 1u + m->blocks[i].span)
        if (m->blocks[i].type == CH_BLOCK_TOOL_RESULT)
            write_result(x, &m->blocks[i]);
    for (uint32_t i = 0; i < m->nblocks; i += 1u + m->blocks[i].span)
        if (m->blocks[i].type == CH_BLOCK_TEXT || ch_block_is_media(&m->blocks[i]))
            interactions_write_content(x, &m->blocks[i]);
}

/* --- replies */

static void write_thought(struct step_writer *x, struct ch_sv signature, struct ch_sv summary) {
    close_contents(x);
    x->signs = false;
    open_step(x, "thought");
    ch_jw_kstr(&x->w, "signature", signature);
    if (summary.n) {
        ch_jw_kbegin(&x->w, "summary", '[');
        write_text(&x->w, summary, CH_SV(""));
        ch_jw_end(&x->w, ']');
    }
    ch_jw_end(&x->w, '}');
}

static void write_call(struct step_writer *x, const struct ch_block *b) {
    char id[CH_ID_ROOM], name[CH_NAME_ROOM];
    if (x->signs)
        write_thought(x, CH_SV(CH_GEMINI_NO_SIGNATURE), CH_SV(""));
    close_contents(x);
    open_step(x, "function_call");
    ch_jw_kstr(&x->w, "id", ch_id_for(CH_ID_64, b->id, id));
    ch_jw_kstr(&x->w, "name", ch_name_for(MAX_NAME, b->name, name));
    ch_jw_key(&x->w, "arguments");
    ch_encode_arguments(&x->w, b->text);
    if (x->own && b->extra.n)
        ch_jw_kstr(&x->w, "signature", b->extra);
    ch_jw_end(&x->w, '}');
}

static void write_block(struct step_writer *x, const struct ch_block *b) {
    switch (b->type) {
    case CH_BLOCK_REASONING:
        if (x->own && b->extra.n)
            write_thought(x, b->extra, b->text);
        break;
    case CH_BLOCK_TOOL_CALL:
        write_call(x, b);
        break;
    case CH_BLOCK_OPAQUE:
        if (x->own && ch_is_json(b->text, CH_JSON_OBJECT)) {
            close_contents(x);
            ch_encode_begin(x->out, !x->out->n);
            ch_buf_add_sv(x->out, b->text);
        }
        break;
    default:
        interactions_write_content(x, b);
    }
}

int ch_interactions_message(const struct ch_model_request *req, const struct ch_msg *m,
                            struct ch_buf *out, struct chela_error *err CH_UNUSED) {
    bool reply = m->kind == CH_MSG_ASSISTANT;
    struct step_writer x = {.out = out,
                            .type = reply ? "model_output" : "user_input",
                            .prefix = ch_msg_kind_prefix(m->kind)};
    if (reply && !out->n) /* a conversation begins with the user */
        ch_buf_add_str(out, "{\"type\":\"user_input\",\"content\":[{\"type\":\"text\",\"text\":\""
                            CH_ENCODE_CONTINUED "\"}]}");
    x.own = reply && !req->without_reasoning &&
            ch_encode_is_own(req, m, CH_INTERACTIONS);
    x.signs = reply && ch_gemini_signs_calls(req);
    if (m->kind == CH_MSG_RESULTS)
        interactions_encode_results(&x, m);
    else
        for (uint32_t i = 0; i < m->nblocks; i += 1u + m->blocks[i].span)
            write_block(&x, &m->blocks[i]);
    close_contents(&x);
    return CHELA_OK;
}
