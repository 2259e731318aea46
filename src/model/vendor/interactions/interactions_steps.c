/* interactions_steps.c -- see interactions_steps.h. */
#include "model/vendor/interactions/interactions_steps.h"

#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/writer.h"

enum step_kind { STEP_UNKNOWN, STEP_DROPPED, STEP_OUTPUT, STEP_THOUGHT, STEP_CALL, STEP_KEPT };

void ch_interactions_steps_release(struct ch_interactions_steps *x) {
    for (size_t i = 0; i < x->n; i++)
        ch_buf_release(&x->list[i].json);
    ch_buf_release(&x->error);
    ch_free(x->list);
    *x = (struct ch_interactions_steps){0};
}

static enum step_kind kind_of(struct ch_sv type) {
    static const struct {
        const char *type;
        enum step_kind kind;
    } kinds[] = {
        {"model_output", STEP_OUTPUT},    {"thought", STEP_THOUGHT},
        {"function_call", STEP_CALL},     {"user_input", STEP_DROPPED},
        {"function_result", STEP_DROPPED},
    };
    for (size_t i = 0; i < CH_LEN(kinds); i++)
        if (ch_sv_is(type, kinds[i].type))
            return kinds[i].kind;
    return STEP_KEPT;
}

/* Makes room for the index; the steps up to it are unknown. */
static int reach(struct ch_interactions_steps *x, size_t index) {
    if (index >= CH_LIMIT_REPLY_BLOCKS)
        return CHELA_ELIMIT;
    while (x->n <= index) {
        CH_GROW(x->list, x->n, x->cap, 8);
        x->list[x->n++] = (struct ch_interactions_step){0};
    }
    return CHELA_OK;
}

/* Bytes that a step holds until it ends, or that are copied to extend it. */
static int hold(struct ch_interactions_steps *x, size_t bytes) {
    if (bytes > CH_LIMIT_REPLY - x->held)
        return CHELA_ELIMIT;
    x->held += bytes;
    return CHELA_OK;
}

/* --- contents of a step */

static int end_content(struct ch_fold *f, struct ch_interactions_step *s) {
    int rc = CHELA_OK;
    if (s->has_content && s->content == CH_BLOCK_TEXT && s->json.n) {
        CH_BUF_AUTO extra = {0};
        CH_BUF_LIT(&extra, "{\"annotations\":[");
        ch_buf_add_sv(&extra, ch_buf_sv(&s->json));
        CH_BUF_LIT(&extra, "]}");
        rc = ch_fold_extra(f, s->key, ch_buf_sv(&extra));
        ch_buf_clear(&s->json);
    }
    s->has_content = false;
    return rc;
}

static int begin_content(struct ch_interactions_steps *x, struct ch_fold *f,
                         struct ch_interactions_step *s, enum ch_block_type type) {
    int rc = end_content(f, s);
    s->content = (uint8_t)type;
    s->has_content = true;
    s->key = x->next++;
    return rc;
}

/* The elements of an array are added to those of the open text. */
static int add_annotations(struct ch_interactions_steps *x, struct ch_interactions_step *s,
                           const struct ch_json *list) {
    size_t before = s->json.n;
    for (CH_JSON_EACH(one, list)) {
        struct ch_jw w = ch_jw(&s->json);
        if (s->json.n)
            ch_buf_addc(&s->json, ',');
        ch_jw_value(&w, one);
    }
    return hold(x, s->json.n - before);
}

/* A content of another kind is kept as a step of its own. */
static int keep_content(struct ch_interactions_steps *x, struct ch_fold *f,
                        struct ch_interactions_step *s, struct ch_sv json) {
    CH_BUF_AUTO step = {0};
    int rc = end_content(f, s);
    CH_BUF_LIT(&step, "{\"type\":\"model_output\",\"content\":[");
    ch_buf_add_sv(&step, json);
    CH_BUF_LIT(&step, "]}");
    return rc < 0 ? rc : ch_fold_opaque(f, x->next++, CH_SV("model_output"), ch_buf_sv(&step));
}

/* A sound comes in pieces, which are one block; each image is one. */
static int add_media(struct ch_interactions_steps *x, struct ch_fold *f,
                     struct ch_interactions_step *s, enum ch_block_type type, struct ch_sv name,
                     struct ch_sv data) {
    bool goes_on = type == CH_BLOCK_AUDIO && s->has_content && s->content == type;
    int rc = goes_on ? CHELA_OK : begin_content(x, f, s, type);
    return rc < 0 ? rc : ch_fold_media(f, s->key, type, name, data);
}

static enum ch_block_type media_of(struct ch_sv type) {
    return ch_sv_is(type, "image")   ? CH_BLOCK_IMAGE
           : ch_sv_is(type, "audio") ? CH_BLOCK_AUDIO
                                     : CH_BLOCK_TEXT;
}

static int add_content(struct ch_interactions_steps *x, struct ch_fold *f,
                       struct ch_interactions_step *s, const struct ch_json *v) {
    struct ch_sv type = ch_json_get_str(v, "type"), data = ch_json_get_str(v, "data");
    enum ch_block_type media = media_of(type);
    int rc;
    if (ch_sv_is(type, "text")) {
        rc = begin_content(x, f, s, CH_BLOCK_TEXT);
        if (rc == CHELA_OK)
            rc = add_annotations(x, s, ch_json_get(v, "annotations"));
        return rc < 0 ? rc : ch_fold_text(f, s->key, ch_json_get_str(v, "text"));
    }
    if (media != CH_BLOCK_TEXT && data.n)
        return add_media(x, f, s, media, ch_json_get_str(v, "mime_type"), data);
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    ch_jw_value(&w, v);
    return keep_content(x, f, s, ch_buf_sv(&json));
}

/* --- the beginning of a step */

static int begin_output(struct ch_interactions_steps *x, struct ch_fold *f,
                        struct ch_interactions_step *s, const struct ch_json *v) {
    const struct ch_json *error = ch_json_get(v, "error");
    int rc = CHELA_OK;
    if (ch_json_is(error, CH_JSON_OBJECT) && !x->error.n) {
        struct ch_jw w = ch_jw(&x->error);
        ch_jw_begin(&w, '{');
        ch_jw_kvalue(&w, "error", error);
        ch_jw_end(&w, '}');
    }
    for (CH_JSON_EACH(one, ch_json_get(v, "content")))
        if (rc == CHELA_OK)
            rc = add_content(x, f, s, one);
    return rc;
}

static int add_thought(struct ch_interactions_steps *x, struct ch_fold *f,
                       struct ch_interactions_step *s, struct ch_sv text, struct ch_sv signature) {
    int rc = CHELA_OK;
    if (!text.n && !signature.n)
        return rc;
    if (!s->has_content)
        rc = begin_content(x, f, s, CH_BLOCK_REASONING);
    if (rc == CHELA_OK)
        rc = ch_fold_reasoning(f, s->key, text);
    return rc < 0 || !signature.n ? rc : ch_fold_extra(f, s->key, signature);
}

static int begin_thought(struct ch_interactions_steps *x, struct ch_fold *f,
                         struct ch_interactions_step *s, const struct ch_json *v) {
    int rc = CHELA_OK;
    for (CH_JSON_EACH(one, ch_json_get(v, "summary")))
        if (rc == CHELA_OK)
            rc = add_thought(x, f, s, ch_json_get_str(one, "text"), CH_SV(""));
    return rc < 0 ? rc : add_thought(x, f, s, CH_SV(""), ch_json_get_str(v, "signature"));
}

static int begin_call(struct ch_interactions_steps *x, struct ch_fold *f,
                      struct ch_interactions_step *s, const struct ch_json *v) {
    const struct ch_json *arguments = ch_json_get(v, "arguments");
    struct ch_sv signature = ch_json_get_str(v, "signature");
    struct ch_jw w = ch_jw(&s->json);
    int rc = begin_content(x, f, s, CH_BLOCK_TOOL_CALL);
    if (ch_json_is(arguments, CH_JSON_STRING))
        ch_buf_add_sv(&s->json, ch_json_str(arguments));
    else if (arguments)
        ch_jw_value(&w, arguments);
    if (rc == CHELA_OK)
        rc = hold(x, s->json.n);
    if (rc == CHELA_OK)
        rc = ch_fold_call(f, s->key, ch_json_get_str(v, "id"), ch_json_get_str(v, "name"),
                          CH_SV(""));
    return rc < 0 || !signature.n ? rc : ch_fold_extra(f, s->key, signature);
}

static int begin_kept(struct ch_interactions_steps *x, struct ch_fold *f,
                      struct ch_interactions_step *s, const struct ch_json *v) {
    struct ch_jw w = ch_jw(&s->json);
    int rc = begin_content(x, f, s, CH_BLOCK_OPAQUE);
    ch_jw_value(&w, v);
    return rc < 0 ? rc : hold(x, s->json.n);
}

static int begin_step(struct ch_interactions_steps *x, struct ch_fold *f,
                      struct ch_interactions_step *s, const struct ch_json *v) {
    struct ch_buf json = s->json;
    ch_buf_clear(&json);
    *s = (struct ch_interactions_step){.open = true, .json = json};
    s->kind = (uint8_t)kind_of(ch_json_get_str(v, "type"));
    switch (s->kind) {
    case STEP_OUTPUT:
        return begin_output(x, f, s, v);
    case STEP_THOUGHT:
        return begin_thought(x, f, s, v);
    case STEP_CALL:
        return begin_call(x, f, s, v);
    case STEP_KEPT:
        return begin_kept(x, f, s, v);
    default:
        return CHELA_OK;
    }
}

int ch_interactions_begin(struct ch_interactions_steps *x, struct ch_fold *f, size_t index,
                          struct ch_sv json) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    int rc = reach(x, index);
    if (rc == CHELA_OK)
        rc = ch_interactions_end(x, f, index); /* of an earlier step with this index */
    if (rc == CHELA_OK && ch_json_parse(&arena, json, CH_JSON_REPLACE, &v, NULL, NULL) == 0 &&
        ch_json_is(v, CH_JSON_OBJECT))
        rc = begin_step(x, f, &x->list[index], v);
    return rc;
}

/* --- deltas */

static const struct ch_json *read_json(struct ch_sv text, struct ch_arena *a) {
    const struct ch_json *v = NULL;
    return text.n && ch_json_parse(a, text, CH_JSON_REPLACE, &v, NULL, NULL) == 0 ? v : NULL;
}

static int grow_output(struct ch_interactions_steps *x, struct ch_fold *f,
                       struct ch_interactions_step *s, const struct ch_interactions_delta *d) {
    CH_ARENA_AUTO arena = {0};
    enum ch_block_type media = media_of(d->type);
    int rc = CHELA_OK;
    if (ch_sv_is(d->type, "text")) {
        if (!s->has_content || s->content != CH_BLOCK_TEXT)
            rc = begin_content(x, f, s, CH_BLOCK_TEXT);
        return rc < 0 ? rc : ch_fold_text(f, s->key, d->text);
    }
    if (d->annotations.n) {
        bool open = s->has_content && s->content == CH_BLOCK_TEXT;
        return open ? add_annotations(x, s, read_json(d->annotations, &arena)) : rc;
    }
    if (media != CH_BLOCK_TEXT && d->data.n)
        return add_media(x, f, s, media, d->media_type, d->data);
    return keep_content(x, f, s, d->json);
}

static int grow_call(struct ch_fold *f, struct ch_interactions_step *s,
                     const struct ch_interactions_delta *d) {
    if (d->signature.n)
        return ch_fold_extra(f, s->key, d->signature);
    s->grown |= d->arguments.n > 0;
    return ch_fold_call(f, s->key, CH_SV(""), CH_SV(""), d->arguments);
}

/* Both arrays, or the later value. */
static void merge_value(struct ch_jw *w, const struct ch_json *old, const struct ch_json *new) {
    if (!ch_json_is(old, CH_JSON_ARRAY) || !ch_json_is(new, CH_JSON_ARRAY)) {
        ch_jw_value(w, new ? new : old);
        return;
    }
    ch_jw_begin(w, '[');
    for (CH_JSON_EACH(one, old))
        ch_jw_value(w, one);
    for (CH_JSON_EACH(one, new))
        ch_jw_value(w, one);
    ch_jw_end(w, ']');
}

/* The members of the delta are added to those of the step; its type says what it extends. */
static void merge(const struct ch_json *step, const struct ch_json *delta, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    for (CH_JSON_MEMBERS(key, value, step)) {
        struct ch_sv name = ch_json_str(key);
        const struct ch_json *new = ch_sv_is(name, "type") ? NULL : ch_json_get_sv(delta, name);
        ch_jw_key_sv(&w, name);
        merge_value(&w, value, new);
    }
    for (CH_JSON_MEMBERS(key, value, delta))
        if (!ch_json_get_sv(step, ch_json_str(key))) {
            ch_jw_key_sv(&w, ch_json_str(key));
            ch_jw_value(&w, value);
        }
    ch_jw_end(&w, '}');
}

static int grow_kept(struct ch_interactions_steps *x, struct ch_interactions_step *s,
                     const struct ch_interactions_delta *d) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO merged = {0};
    const struct ch_json *step = read_json(ch_buf_sv(&s->json), &arena);
    const struct ch_json *delta = read_json(d->json, &arena);
    if (!ch_json_is(delta, CH_JSON_OBJECT))
        return CHELA_OK;
    if (hold(x, s->json.n + d->json.n) < 0)
        return CHELA_ELIMIT;
    merge(step, delta, &merged);
    ch_buf_clear(&s->json);
    ch_buf_add_sv(&s->json, ch_buf_sv(&merged));
    return CHELA_OK;
}

/* The kind of a step whose beginning was not seen. */
static enum step_kind kind_of_delta(struct ch_sv type) {
    if (ch_sv_is(type, "text") || media_of(type) != CH_BLOCK_TEXT)
        return STEP_OUTPUT;
    return ch_sv_starts(type, "thought_") ? STEP_THOUGHT : STEP_DROPPED;
}

int ch_interactions_grow(struct ch_interactions_steps *x, struct ch_fold *f, size_t index,
                         const struct ch_interactions_delta *d) {
    CH_ARENA_AUTO arena = {0};
    int rc = reach(x, index);
    if (rc < 0)
        return rc;
    struct ch_interactions_step *s = &x->list[index];
    if (s->kind == STEP_UNKNOWN)
        *s = (struct ch_interactions_step){.kind = (uint8_t)kind_of_delta(d->type), .open = true};
    switch (s->kind) {
    case STEP_OUTPUT:
        return grow_output(x, f, s, d);
    case STEP_THOUGHT:
        return add_thought(x, f, s, ch_json_get_str(read_json(d->content, &arena), "text"),
                           d->signature);
    case STEP_CALL:
        return grow_call(f, s, d);
    case STEP_KEPT:
        return grow_kept(x, s, d);
    default:
        return CHELA_OK;
    }
}

bool ch_interactions_target(const struct ch_interactions_steps *x, size_t index,
                            enum ch_block_type *type, unsigned *key) {
    if (index >= x->n || !x->list[index].has_content)
        return false;
    *type = (enum ch_block_type)x->list[index].content;
    *key = x->list[index].key;
    return *type == CH_BLOCK_TEXT || *type == CH_BLOCK_TOOL_CALL;
}

/* --- the end */

static int end_call(struct ch_fold *f, struct ch_interactions_step *s) {
    int rc = s->grown ? CHELA_OK
                      : ch_fold_call(f, s->key, CH_SV(""), CH_SV(""), ch_buf_sv(&s->json));
    ch_fold_close(f, s->key);
    return rc;
}

static int end_kept(struct ch_fold *f, struct ch_interactions_step *s) {
    CH_ARENA_AUTO arena = {0};
    struct ch_sv type = ch_json_get_str(read_json(ch_buf_sv(&s->json), &arena), "type");
    return ch_fold_opaque(f, s->key, type, ch_buf_sv(&s->json));
}

int ch_interactions_end(struct ch_interactions_steps *x, struct ch_fold *f, size_t index) {
    if (index >= x->n || !x->list[index].open)
        return CHELA_OK;
    struct ch_interactions_step *s = &x->list[index];
    s->open = false;
    if (s->kind == STEP_CALL)
        return end_call(f, s);
    return s->kind == STEP_KEPT ? end_kept(f, s) : end_content(f, s);
}

int ch_interactions_end_all(struct ch_interactions_steps *x, struct ch_fold *f) {
    int rc = CHELA_OK;
    for (size_t i = 0; i < x->n && rc == CHELA_OK; i++)
        rc = ch_interactions_end(x, f, i);
    return rc;
}

int ch_interactions_whole(struct ch_interactions_steps *x, struct ch_fold *f, struct ch_sv steps) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = read_json(steps, &arena);
    size_t known = x->n, index = 0;
    int rc = CHELA_OK;
    for (CH_JSON_EACH(step, v)) {
        size_t at = index++;
        if (at < known || rc < 0 || !ch_json_is(step, CH_JSON_OBJECT))
            continue;
        rc = reach(x, at);
        if (rc == CHELA_OK)
            rc = begin_step(x, f, &x->list[at], step);
        if (rc == CHELA_OK)
            rc = ch_interactions_end(x, f, at);
    }
    return rc;
}
