/* gemini_encode.c -- encodes a neutral request as a GenerateContentRequest.
 *
 *       head      {"systemInstruction","tools":[..],"contents":[
 *       contents  each neutral message as zero or more contents
 *       tail      ],"toolConfig","generationConfig",... members that may change from turn
 *                 to turn }
 *
 * The model is part of the URL. Signatures and Gemini-specific parts are sent back to the
 * model that made them, on the same part. From Gemini 3 on, the first call of a reply needs
 * a signature; a call written by another model gets the placeholder that the service
 * defines. Before Gemini 3, calls have no ids, and results are matched by order and name.
 * There is no switch for parallel calls: no_parallel is ignored. */
#include "model/vendor/gemini/gemini_encode.h"

#include "model/codec/encode.h"
#include "model/vendor/gemini/gemini.h"
#include "model/catalog/model_facts.h"
#include "model/catalog/learnt.h"
#include "model/catalog/provider.h"
#include "model/message/ids.h"
#include "json/json.h"

#define NO_OUTPUT "(no output)"
#define MAX_NAME 64

/* --- head */

void ch_gemini_write_schema(struct ch_jw *w, const char *key, struct ch_sv schema) {
    CH_BUF_AUTO clean = {0};
    bool converted = ch_encode_strict(schema, CH_CLEAN_GEMINI_JSON, &clean);
    ch_jw_kraw(w, key, converted ? ch_buf_sv(&clean) : schema);
}

bool ch_gemini_has_parameters(struct ch_sv schema) {
    static const char *const keys[] = {"$ref", "anyOf", "oneOf", "allOf", "additionalProperties"};
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    ch_json_parse(&arena, schema, CH_JSON_STRICT, &v, NULL, NULL);
    const struct ch_json *properties = ch_json_get(v, "properties");
    for (size_t i = 0; i < CH_LEN(keys); i++)
        if (ch_json_bool(ch_json_get(v, keys[i]), ch_json_get(v, keys[i]) != NULL))
            return true;
    return ch_json_is(properties, CH_JSON_OBJECT) && properties->n;
}

static void write_declarations(const struct ch_model_request *req, struct ch_jw *w) {
    ch_jw_begin(w, '{');
    ch_jw_kbegin(w, "functionDeclarations", '[');
    for (size_t i = 0; i < req->ntools; i++) {
        const struct ch_tool_def *t = &req->tools[i];
        ch_jw_begin(w, '{');
        ch_jw_kstr(w, "name", t->name);
        if (t->description.n)
            ch_jw_kstr(w, "description", t->description);
        if (ch_gemini_has_parameters(t->schema))
            ch_gemini_write_schema(w, "parametersJsonSchema", t->schema);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
}

static void gemini_encode_write_tools(const struct ch_model_request *req, struct ch_jw *w) {
    ch_jw_kbegin(w, "tools", '[');
    if (req->ntools)
        write_declarations(req, w);
    ch_encode_extra_tools(req, w);
    ch_jw_end(w, ']');
}

int ch_gemini_head(const struct ch_model_request *req, struct ch_buf *out,
                   struct chela_error *err CH_UNUSED) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    if (!ch_is_blank(req->system)) {
        ch_jw_kbegin(&w, "systemInstruction", '{');
        ch_jw_kbegin(&w, "parts", '[');
        ch_jw_begin(&w, '{');
        ch_jw_kstr(&w, "text", req->system);
        ch_jw_end(&w, '}');
        ch_jw_end(&w, ']');
        ch_jw_end(&w, '}');
    }
    if (ch_encode_has_tools(req))
        gemini_encode_write_tools(req, &w);
    ch_jw_kbegin(&w, "contents", '[');
    return CHELA_OK;
}

/* --- tail */

static bool any_strict(const struct ch_model_request *req) {
    for (size_t i = 0; i < req->ntools; i++)
        if (req->tools[i].strict)
            return true;
    return false;
}

const char *ch_gemini_calling_mode(const struct ch_model_request *req) {
    switch (req->choice) {
    case CH_CHOICE_ANY:
    case CH_CHOICE_ONE:
        if (ch_request_is(req, CH_M_NO_FORCED))
            break;
        return "ANY";
    case CH_CHOICE_NONE:
        return "NONE";
    case CH_CHOICE_AUTO:
        break;
    }
    return any_strict(req) ? "VALIDATED" : NULL;
}

static void write_calling_config(const struct ch_model_request *req, const char *mode,
                                 struct ch_jw *w) {
    ch_jw_kbegin(w, "functionCallingConfig", '{');
    ch_jw_kcstr(w, "mode", mode);
    if (req->choice == CH_CHOICE_ONE && strcmp(mode, "ANY") == 0) {
        ch_jw_kbegin(w, "allowedFunctionNames", '[');
        ch_jw_str(w, req->choice_name);
        ch_jw_end(w, ']');
    }
    ch_jw_end(w, '}');
}

bool ch_gemini_signs_calls(const struct ch_model_request *req) {
    return !ch_request_is(req, CH_M_PLAIN_CALLS);
}

static void gemini_encode_write_tool_config(const struct ch_model_request *req, struct ch_jw *w) {
    const char *mode = ch_gemini_calling_mode(req);
    /* Gemini 3 runs its own tools beside functions only if asked. */
    bool both = req->server_tools.n && ch_gemini_signs_calls(req);
    if (!req->ntools || (!mode && !both))
        return;
    ch_jw_kbegin(w, "toolConfig", '{');
    if (both)
        ch_jw_kbool(w, "includeServerSideToolInvocations", true);
    if (mode)
        write_calling_config(req, mode, w);
    ch_jw_end(w, '}');
}

/* The least budget of a model that cannot stop thinking is smaller. */
static int64_t budget_for(const struct ch_model_facts *f, enum ch_effort effort) {
    int64_t least = f->efforts & 1u << CH_EFFORT_OFF ? 512 : 128;
    int64_t budgets[] = {[CH_EFFORT_OFF] = 0,
                         [CH_EFFORT_MINIMAL] = least,
                         [CH_EFFORT_LOW] = 2048,
                         [CH_EFFORT_MEDIUM] = 8192};
    return effort < CH_LEN(budgets) ? budgets[effort] : f->budget_max ? f->budget_max : 24576;
}

/* From Gemini 3 on, thinking takes a level and cannot be disabled. */
static const char *level_for(enum ch_effort effort) {
    static const char *const levels[] = {[CH_EFFORT_MINIMAL] = "MINIMAL",
                                         [CH_EFFORT_LOW] = "LOW",
                                         [CH_EFFORT_MEDIUM] = "MEDIUM"};
    return effort < CH_LEN(levels) ? levels[effort] : "HIGH";
}

/* The efforts of another maker's model say nothing about this protocol; those of an unknown model
 * are the user's. */
static bool thinks_by_effort(const struct ch_model_facts *f) {
    return f->efforts && (f->maker == CH_MAKER_GOOGLE || !f->match);
}

bool ch_gemini_shows_thoughts(const struct ch_model_request *req) {
    bool refused = req->endpoint->learnt.omit & (CH_PART_SUMMARY | CH_PART_EFFORT);
    return thinks_by_effort(ch_request_facts(req)) && req->effort != CH_EFFORT_OFF && !refused;
}

static void write_thinking(const struct ch_model_request *req, struct ch_jw *w) {
    const struct ch_model_facts *f = ch_request_facts(req);
    enum ch_effort effort = ch_facts_effort(f, req->effort);
    bool shown = ch_gemini_shows_thoughts(req);
    if (!thinks_by_effort(f) || !(shown || effort != CH_EFFORT_DEFAULT))
        return;
    ch_jw_kbegin(w, "thinkingConfig", '{');
    if (shown)
        ch_jw_kbool(w, "includeThoughts", true);
    if (effort != CH_EFFORT_DEFAULT && f->flags & CH_M_BUDGET)
        ch_jw_kint(w, "thinkingBudget", budget_for(f, effort));
    else if (effort != CH_EFFORT_DEFAULT)
        ch_jw_kcstr(w, "thinkingLevel", level_for(effort));
    ch_jw_end(w, '}');
}

const char *ch_gemini_level(const struct ch_model_request *req) {
    const struct ch_model_facts *f = ch_request_facts(req);
    enum ch_effort effort = ch_facts_effort(f, req->effort);
    if (effort == CH_EFFORT_DEFAULT || !thinks_by_effort(f))
        return NULL;
    return level_for(effort == CH_EFFORT_OFF ? CH_EFFORT_MINIMAL : effort);
}

enum ch_effort ch_gemini_sent_effort(const struct ch_model_request *req) {
    bool sent = req->effort != CH_EFFORT_DEFAULT && thinks_by_effort(ch_request_facts(req));
    return sent ? ch_encode_effort(req) : CH_EFFORT_OFF;
}

static void write_stop(const struct ch_model_request *req, struct ch_jw *w) {
    ch_jw_kbegin(w, "stopSequences", '[');
    for (size_t i = 0; i < req->nstop; i++)
        ch_jw_str(w, req->stop[i]);
    ch_jw_end(w, ']');
}

static void gemini_encode_write_sampling(const struct ch_model_request *req, struct ch_jw *w) {
    if (req->max_output_tokens > 0)
        ch_jw_kint(w, "maxOutputTokens", req->max_output_tokens);
    if (req->has_temperature) {
        ch_jw_kdouble(w, "temperature", req->temperature);
    }
    if (req->has_top_p) {
        ch_jw_kdouble(w, "topP", req->top_p);
    }
    if (req->top_k > 0)
        ch_jw_kint(w, "topK", req->top_k);
    if (req->logprobs > 0) {
        ch_jw_kbool(w, "responseLogprobs", true);
        ch_jw_kint(w, "logprobs", req->logprobs);
    }
    if (req->has_seed)
        ch_jw_kint(w, "seed", req->seed);
    if (req->nstop)
        write_stop(req, w);
}

/* Before Gemini 3, structured output cannot be combined with tools. */
bool ch_gemini_takes_schema(const struct ch_model_request *req) {
    return !(req->endpoint->quirks & CH_Q_NO_OUTPUT_SCHEMA) &&
           (!req->ntools || ch_gemini_signs_calls(req));
}

/* The members of generationConfig. */
static void write_generation(const struct ch_model_request *req, struct ch_jw *w) {
    gemini_encode_write_sampling(req, w);
    if (req->output_schema.n) {
        ch_jw_kcstr(w, "responseMimeType", "application/json");
        ch_gemini_write_schema(w, "responseJsonSchema", req->output_schema);
    }
    write_thinking(req, w);
}

/* Most members that users add to a body belong to generationConfig (topP, seed, ...): they
 * are merged with chela's and take precedence (ch_encode_extra). */
static void write_generation_config(const struct ch_model_request *req, struct ch_jw *w) {
    CH_BUF_AUTO text = {0};
    struct ch_jw own = ch_jw(&text);
    ch_jw_begin(&own, '{');
    write_generation(req, &own);
    ch_jw_end(&own, '}');
    if (text.n > 2)
        ch_jw_kraw(w, "generationConfig", ch_buf_sv(&text));
}

/* Google's own service stores what paid projects send unless told otherwise. Vertex and other
 * servers of the protocol do not have the member. */
static bool may_store(const struct ch_model_request *req) {
    const struct ch_provider *p = ch_provider_of_url(CH_SV("gemini"), req->endpoint->base_url);
    return p && strcmp(p->name, "gemini") == 0;
}

int ch_gemini_tail(const struct ch_model_request *req, struct ch_buf *out,
                   struct chela_error *err) {
    struct ch_jw w = ch_jw(out);
    ch_jw_end(&w, ']');
    size_t from = out->n;
    if (may_store(req))
        ch_jw_kbool(&w, "store", false);
    gemini_encode_write_tool_config(req, &w);
    write_generation_config(req, &w);
    int rc = ch_encode_extra(req, out, from, err);
    ch_jw_end(&w, '}');
    return rc;
}

/* --- messages */

/* State while writing the parts of one content. */
struct writing {
    struct ch_jw w;
    struct ch_buf *out;
    const char *prefix; /* prefix of the message kind, until the first text */
    bool own;           /* made by this model: signatures and specific parts are sent back */
    bool signs;         /* calls have ids and signatures, and results media */
    bool called;        /* a call was written */
    size_t mark, parts;
};

static struct writing begin_content(const struct ch_model_request *req, const struct ch_msg *m,
                                    struct ch_buf *out) {
    struct writing x = {.out = out, .mark = ch_encode_begin(out, !out->n)};
    x.w = ch_jw(out);
    x.prefix = ch_msg_kind_prefix(m->kind);
    x.own = ch_encode_wrote(req, m, "gemini");
    x.signs = ch_gemini_signs_calls(req);
    ch_jw_begin(&x.w, '{');
    ch_jw_kcstr(&x.w, "role", m->kind == CH_MSG_ASSISTANT ? "model" : "user");
    ch_jw_kbegin(&x.w, "parts", '[');
    return x;
}

/* Remove a content without parts, which the service rejects. */
static void end_content(struct writing *x) {
    ch_jw_end(&x->w, ']');
    ch_jw_end(&x->w, '}');
    if (!x->parts)
        ch_encode_undo(x->out, x->mark);
}

static void begin_part(struct writing *x) {
    ch_jw_begin(&x->w, '{');
    x->parts++;
}

static void end_part(struct writing *x, struct ch_sv signature) {
    if (signature.n)
        ch_jw_kstr(&x->w, "thoughtSignature", signature);
    ch_jw_end(&x->w, '}');
}

static void gemini_encode_write_text(struct writing *x, struct ch_sv text, struct ch_sv signature) {
    CH_BUF_AUTO room = {0};
    if (ch_is_blank(text) && !signature.n)
        return;
    begin_part(x);
    ch_jw_kstr(&x->w, "text", ch_encode_prefixed(&x->prefix, text, &room));
    end_part(x, signature);
}

/* --- media */

struct ch_sv ch_gemini_media_type(const struct ch_block *b) {
    static const struct {
        const char *ending, *type;
    } types[] = {
        {".png", "image/png"},   {".webp", "image/webp"},     {".gif", "image/gif"},
        {".heic", "image/heic"}, {".pdf", "application/pdf"}, {".mp3", "audio/mpeg"},
        {".wav", "audio/wav"},   {".txt", "text/plain"},
    };
    if (b->name.n)
        return b->name;
    for (size_t i = 0; i < CH_LEN(types); i++)
        if (b->flags & CH_F_URL && ch_sv_ends(b->text, types[i].ending))
            return ch_sv_str(types[i].type);
    return b->type == CH_BLOCK_IMAGE   ? CH_SV("image/jpeg")
           : b->type == CH_BLOCK_AUDIO ? CH_SV("audio/wav")
                                       : CH_SV("application/pdf");
}

bool ch_gemini_as_text(const struct ch_block *b, struct ch_buf *text) {
    if (b->type != CH_BLOCK_DOCUMENT || ch_sv_is(ch_gemini_media_type(b), "application/pdf"))
        return false;
    if (b->flags & CH_F_URL && ch_sv_starts(ch_gemini_media_type(b), "text/"))
        return false;
    if (b->id.n)
        ch_buf_addf(text, "[%.*s]\n", CH_SV_FMT(b->id));
    if (!ch_encode_document_text(b, text)) {
        ch_buf_clear(text);
        ch_encode_note(b, text);
    }
    return true;
}

static void gemini_encode_write_data(struct writing *x, const struct ch_block *b) {
    bool url = b->flags & CH_F_URL;
    ch_jw_kbegin(&x->w, url ? "fileData" : "inlineData", '{');
    ch_jw_kstr(&x->w, "mimeType", ch_gemini_media_type(b));
    ch_jw_kstr(&x->w, url ? "fileUri" : "data", b->text);
    ch_jw_end(&x->w, '}');
}

static void gemini_encode_write_media(struct writing *x, const struct ch_block *b) {
    CH_BUF_AUTO text = {0};
    if (ch_gemini_as_text(b, &text)) {
        gemini_encode_write_text(x, ch_buf_sv(&text), CH_SV(""));
        return;
    }
    begin_part(x);
    gemini_encode_write_data(x, b);
    end_part(x, x->own ? b->extra : CH_SV("")); /* an image of the model may be signed */
}

/* --- results */

/* True if a functionResponse may contain this block beside its text. */
static bool fits_response(const struct writing *x, const struct ch_block *b) {
    static const char *const types[] = {"image/png", "image/jpeg", "image/webp", "application/pdf"};
    for (size_t i = 0; i < CH_LEN(types); i++)
        if (x->signs && !(b->flags & CH_F_URL) && ch_sv_is(b->name, types[i]))
            return true;
    return false;
}

static void write_response_parts(struct writing *x, const struct ch_block *b) {
    bool any = false;
    for (unsigned i = 1; i <= b->span; i++) {
        if (!fits_response(x, b + i))
            continue;
        if (!any) {
            ch_jw_kbegin(&x->w, "parts", '[');
        }
        any = true;
        ch_jw_begin(&x->w, '{');
        gemini_encode_write_data(x, b + i);
        ch_jw_end(&x->w, '}');
    }
    if (any)
        ch_jw_end(&x->w, ']');
}

static void gemini_encode_write_result(struct writing *x, const struct ch_block *b) {
    char id[CH_ID_ROOM], name[CH_NAME_ROOM];
    struct ch_sv nothing = b->span ? CH_SV("(follows)") : CH_SV(NO_OUTPUT);
    begin_part(x);
    ch_jw_kbegin(&x->w, "functionResponse", '{');
    if (x->signs)
        ch_jw_kstr(&x->w, "id", ch_id_for(CH_ID_64, b->id, id));
    ch_jw_kstr(&x->w, "name", ch_name_for(MAX_NAME, b->name, name));
    ch_jw_kbegin(&x->w, "response", '{');
    ch_jw_kstr(&x->w, b->flags & CH_F_ERROR ? "error" : "output",
               ch_is_blank(b->text) ? nothing : b->text);
    ch_jw_end(&x->w, '}');
    write_response_parts(x, b);
    ch_jw_end(&x->w, '}');
    end_part(x, CH_SV(""));
}

/* Write the media of a result that the result itself cannot contain, labelled with the
 * result. */
static void write_rest_of_result(struct writing *x, const struct ch_block *b) {
    CH_BUF_AUTO label = {0};
    for (unsigned i = 1; i <= b->span; i++) {
        if (fits_response(x, b + i))
            continue;
        if (!label.n) {
            ch_buf_addf(&label, "From the result of %.*s:", CH_SV_FMT(b->name));
            gemini_encode_write_text(x, ch_buf_sv(&label), CH_SV(""));
        }
        gemini_encode_write_media(x, b + i);
    }
}

/* All results of a batch are one content. Other parts must not follow in the same content,
 * because the model would take them for its own words. */
static void gemini_encode_results(const struct ch_model_request *req, const struct ch_msg *m,
                                  struct ch_buf *out) {
    struct writing x = begin_content(req, m, out);
    for (uint32_t i = 0; i < m->nblocks; i += 1u + m->blocks[i].span)
        if (m->blocks[i].type == CH_BLOCK_TOOL_RESULT)
            gemini_encode_write_result(&x, &m->blocks[i]);
    end_content(&x);
    x = begin_content(req, m, out);
    for (uint32_t i = 0; i < m->nblocks; i += 1u + m->blocks[i].span) {
        const struct ch_block *b = &m->blocks[i];
        if (b->type == CH_BLOCK_TOOL_RESULT)
            write_rest_of_result(&x, b);
        else if (b->type == CH_BLOCK_TEXT)
            gemini_encode_write_text(&x, b->text, CH_SV(""));
        else if (ch_block_is_media(b))
            gemini_encode_write_media(&x, b);
    }
    end_content(&x);
}

/* --- calls, reasoning and whole messages */

static void gemini_encode_write_call(struct writing *x, const struct ch_block *b) {
    char id[CH_ID_ROOM], name[CH_NAME_ROOM];
    struct ch_sv signature = x->own ? b->extra : CH_SV("");
    if (!signature.n && x->signs && !x->called)
        signature = CH_SV(CH_GEMINI_NO_SIGNATURE);
    x->called = true;
    begin_part(x);
    ch_jw_kbegin(&x->w, "functionCall", '{');
    if (x->signs)
        ch_jw_kstr(&x->w, "id", ch_id_for(CH_ID_64, b->id, id));
    ch_jw_kstr(&x->w, "name", ch_name_for(MAX_NAME, b->name, name));
    ch_jw_key(&x->w, "args");
    ch_encode_arguments(&x->w, b->text);
    ch_jw_end(&x->w, '}');
    end_part(x, signature);
}

/* Summaries of thoughts are for people and omitted; a signed one must be sent back. */
static void gemini_encode_write_reasoning(struct writing *x, const struct ch_block *b) {
    if (!x->own || !b->extra.n)
        return;
    begin_part(x);
    ch_jw_kstr(&x->w, "text", b->text);
    ch_jw_kbool(&x->w, "thought", true);
    end_part(x, b->extra);
}

static void gemini_encode_write_block(struct writing *x, const struct ch_block *b) {
    switch (b->type) {
    case CH_BLOCK_TEXT:
    case CH_BLOCK_REFUSAL:
        gemini_encode_write_text(x, b->text,
                                 x->own && b->type == CH_BLOCK_TEXT ? b->extra : CH_SV(""));
        break;
    case CH_BLOCK_REASONING:
        gemini_encode_write_reasoning(x, b);
        break;
    case CH_BLOCK_IMAGE:
    case CH_BLOCK_AUDIO:
    case CH_BLOCK_DOCUMENT:
        gemini_encode_write_media(x, b);
        break;
    case CH_BLOCK_TOOL_CALL:
        gemini_encode_write_call(x, b);
        break;
    case CH_BLOCK_OPAQUE:
        if (x->own && !ch_sv_is(b->name, CH_GEMINI_GROUNDING) &&
            ch_is_json(b->text, CH_JSON_OBJECT)) {
            ch_jw_raw(&x->w, b->text);
            x->parts++;
        }
        break;
    }
}

int ch_gemini_message(const struct ch_model_request *req, const struct ch_msg *m,
                      struct ch_buf *out, struct chela_error *err CH_UNUSED) {
    if (m->kind == CH_MSG_RESULTS) {
        gemini_encode_results(req, m, out);
        return CHELA_OK;
    }
    if (!out->n && m->kind == CH_MSG_ASSISTANT) /* the service rejects it as the first content */
        ch_buf_add_str(out, "{\"role\":\"user\",\"parts\":[{\"text\":\"" CH_ENCODE_CONTINUED
                            "\"}]}");
    struct writing x = begin_content(req, m, out);
    for (uint32_t i = 0; i < m->nblocks; i += 1u + m->blocks[i].span)
        gemini_encode_write_block(&x, &m->blocks[i]);
    end_content(&x);
    return CHELA_OK;
}
