/* message_json.c -- reads and writes the neutral JSON form of a message.
 *
 * Writing and reading are exact inverses: a stored and reloaded message must produce the
 * same request bytes, or the vendor's prompt cache is lost. Therefore vendor-specific texts
 * (signatures, opaque blocks) are stored as strings, and arguments also in the model's
 * original text if their compact form differs. Reading accepts a plain string for
 * `content`; a member of the wrong type is an error that names the member. */
#include "model/message/message_json.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/grow.h"
#include "model/message/message.h"
#include "json/json.h"
#include "json/writer.h"

/* Who runs a call, if it is not a tool of the agent; OPAQUE blocks are the vendor's. */
#define RUNTIME "runtime"

/* --- writing */

static void message_json_optional(struct ch_jw *w, const char *key, struct ch_sv s) {
    if (s.n)
        ch_jw_kstr(w, key, s);
}

static void message_json_flag(struct ch_jw *w, const char *key, bool on) {
    if (on)
        ch_jw_kbool(w, key, true);
}

static void message_json_write_media(const struct ch_block *b, struct ch_jw *w) {
    ch_jw_kstr(w, "media_type", b->name);
    ch_jw_kstr(w, b->flags & CH_F_URL ? "url" : "data", b->text);
    message_json_optional(w, "name", b->id);
    message_json_optional(w, "detail", b->extra);
}

/* Write the arguments as an object if they are one, and also as raw text if the object's
 * compact form has other bytes. */
static void message_json_write_arguments(struct ch_sv text, struct ch_jw *w) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO compact = {0};
    const struct ch_json *v = NULL;
    ch_json_parse(&arena, text, CH_JSON_STRICT, &v, NULL, NULL);
    if (ch_json_is(v, CH_JSON_OBJECT)) {
        struct ch_jw cw = ch_jw(&compact);
        ch_jw_value(&cw, v);
        ch_jw_kraw(w, "arguments", ch_buf_sv(&compact));
    }
    if (!compact.n || !ch_sv_eq(text, ch_buf_sv(&compact)))
        ch_jw_kstr(w, "arguments_raw", text);
}

static void message_json_write_block(const struct ch_block *b, struct ch_jw *w);

static void message_json_write_result(const struct ch_block *b, struct ch_jw *w) {
    ch_jw_kstr(w, "id", b->id);
    ch_jw_kstr(w, "name", b->name);
    message_json_flag(w, "is_error", b->flags & CH_F_ERROR);
    message_json_flag(w, "denied", b->flags & CH_F_DENIED);
    message_json_flag(w, "failed", b->flags & CH_F_FAILED);
    ch_jw_key(w, "content");
    if (!b->span) {
        ch_jw_str(w, b->text);
        return;
    }
    ch_jw_begin(w, '[');
    struct ch_block text = {.type = CH_BLOCK_TEXT, .text = b->text};
    if (text.text.n)
        message_json_write_block(&text, w);
    for (unsigned i = 1; i <= b->span; i++)
        message_json_write_block(b + i, w);
    ch_jw_end(w, ']');
}

static void write_members(const struct ch_block *b, struct ch_jw *w) {
    switch (b->type) {
    case CH_BLOCK_TEXT:
    case CH_BLOCK_REFUSAL:
    case CH_BLOCK_CONTEXT:
        ch_jw_kstr(w, "text", b->text);
        message_json_optional(w, "extra", b->extra);
        break;
    case CH_BLOCK_REASONING:
        ch_jw_kstr(w, "text", b->text);
        message_json_optional(w, "id", b->id);
        message_json_optional(w, "field", b->name);
        message_json_optional(w, "extra", b->extra);
        message_json_flag(w, "redacted", b->flags & CH_F_REDACTED);
        break;
    case CH_BLOCK_IMAGE:
    case CH_BLOCK_AUDIO:
    case CH_BLOCK_DOCUMENT:
        message_json_write_media(b, w);
        break;
    case CH_BLOCK_TOOL_CALL:
        ch_jw_kstr(w, "id", b->id);
        ch_jw_kstr(w, "name", b->name);
        message_json_write_arguments(b->text, w);
        message_json_optional(w, "extra", b->extra);
        message_json_flag(w, "cut", b->flags & CH_F_CUT);
        message_json_flag(w, "invalid", b->flags & CH_F_INVALID);
        message_json_flag(w, "repaired", b->flags & CH_F_REPAIRED);
        if (b->runner == CH_RUN_RUNTIME)
            ch_jw_kcstr(w, "runner", RUNTIME);
        break;
    case CH_BLOCK_TOOL_RESULT:
        message_json_write_result(b, w);
        break;
    case CH_BLOCK_OPAQUE:
        ch_jw_kstr(w, "name", b->name);
        ch_jw_kstr(w, "json", b->text);
        break;
    }
}

static void message_json_write_block(const struct ch_block *b, struct ch_jw *w) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", ch_block_type_name(b->type));
    write_members(b, w);
    ch_jw_end(w, '}');
}

void ch_msg_write(const struct ch_msg *m, struct ch_jw *w) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "role", m->kind == CH_MSG_RESULTS ? "tool" : ch_msg_kind_name(m->kind));
    ch_jw_kbegin(w, "content", '[');
    for (uint32_t i = 0; i < m->nblocks; i++) {
        message_json_write_block(&m->blocks[i], w);
        i += m->blocks[i].type == CH_BLOCK_TOOL_RESULT ? m->blocks[i].span : 0;
    }
    ch_jw_end(w, ']');
    if (m->ts)
        ch_jw_kint(w, "ts", m->ts);
    struct ch_msg_author by = ch_msg_author(m);
    if (by.api)
        ch_jw_kcstr(w, "api", by.api);
    message_json_optional(w, "model", by.model);
    message_json_optional(w, "asked", by.asked);
    ch_jw_end(w, '}');
}

/* --- reading */

/* Blocks under construction; compact texts live in the arena. */
struct reading {
    struct ch_block *blocks;
    size_t n, cap;
    struct ch_arena arena;
    struct chela_error *err;
};

static struct ch_block *message_json_new_block(struct reading *r, enum ch_block_type type) {
    CH_GROW(r->blocks, r->n, r->cap, 8);
    r->blocks[r->n] = (struct ch_block){.type = (uint8_t)type};
    return &r->blocks[r->n++];
}

/* A member that must be a string if present. */
static int message_json_text_of(struct reading *r, const struct ch_json *o, const char *key,
                                struct ch_sv *out) {
    const struct ch_json *v = ch_json_get(o, key);
    if (!v || v->type == CH_JSON_NULL)
        return CHELA_OK;
    if (v->type != CH_JSON_STRING)
        return ch_fail(r->err, CHELA_EINVAL, "message: \"%s\" must be a string, not %s", key,
                       ch_json_type_name(v->type));
    *out = ch_json_str(v);
    return CHELA_OK;
}

static void flag_of(const struct ch_json *o, const char *key, unsigned bit, uint8_t *flags) {
    if (ch_json_bool(ch_json_get(o, key), false))
        *flags |= (uint8_t)bit;
}

static struct ch_sv message_json_compact(struct reading *r, const struct ch_json *v) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_value(&w, v);
    return ch_arena_sv(&r->arena, ch_buf_sv(&out));
}

static int message_json_read_media(struct reading *r, const struct ch_json *v, struct ch_block *b) {
    int rc = message_json_text_of(r, v, "data", &b->text);
    if (rc == CHELA_OK && !b->text.n) {
        rc = message_json_text_of(r, v, "url", &b->text);
        b->flags |= CH_F_URL;
    }
    if (rc == CHELA_OK && !b->text.n)
        return ch_fail(r->err, CHELA_EINVAL, "message: %s needs \"data\" or \"url\"",
                       ch_block_type_name(b->type));
    if (rc == CHELA_OK)
        rc = message_json_text_of(r, v, "media_type", &b->name);
    if (rc == CHELA_OK)
        rc = message_json_text_of(r, v, "name", &b->id);
    return rc == CHELA_OK ? message_json_text_of(r, v, "detail", &b->extra) : rc;
}

static int message_json_read_arguments(struct reading *r, const struct ch_json *v,
                                       struct ch_block *b) {
    if (ch_json_get(v, "arguments_raw"))
        return message_json_text_of(r, v, "arguments_raw", &b->text);
    const struct ch_json *args = ch_json_get(v, "arguments");
    if (!args || args->type == CH_JSON_NULL)
        b->text = CH_SV("{}");
    else if (args->type == CH_JSON_STRING)
        b->text = ch_json_str(args);
    else if (args->type == CH_JSON_OBJECT)
        b->text = message_json_compact(r, args);
    else
        return ch_fail(r->err, CHELA_EINVAL, "message: \"arguments\" must be an object, not %s",
                       ch_json_type_name(args->type));
    return CHELA_OK;
}

static int message_json_read_call(struct reading *r, const struct ch_json *v, struct ch_block *b) {
    int rc = message_json_text_of(r, v, "id", &b->id);
    if (rc == CHELA_OK)
        rc = message_json_text_of(r, v, "name", &b->name);
    if (rc == CHELA_OK)
        rc = message_json_read_arguments(r, v, b);
    if (rc == CHELA_OK)
        rc = message_json_text_of(r, v, "extra", &b->extra);
    flag_of(v, "cut", CH_F_CUT, &b->flags);
    flag_of(v, "invalid", CH_F_INVALID, &b->flags);
    flag_of(v, "repaired", CH_F_REPAIRED, &b->flags);
    if (ch_sv_is(ch_json_get_str(v, "runner"), RUNTIME))
        b->runner = CH_RUN_RUNTIME;
    return rc;
}

static int block_type_of(const struct ch_json *v) {
    struct ch_sv type = ch_json_get_str(v, "type");
    for (int t = 0; t < CH_BLOCK_TYPES; t++)
        if (ch_sv_is(type, ch_block_type_name(t)))
            return t;
    return -1;
}

static bool message_json_is_media(int type) {
    return type == CH_BLOCK_IMAGE || type == CH_BLOCK_AUDIO || type == CH_BLOCK_DOCUMENT;
}

/* One part of a result: text is concatenated, media are attached to the result. */
static int read_result_part(struct reading *r, const struct ch_json *v, size_t at,
                            struct ch_buf *text) {
    int type = block_type_of(v);
    if (type == CH_BLOCK_TEXT) {
        struct ch_sv s = {0};
        int rc = message_json_text_of(r, v, "text", &s);
        if (text->n)
            ch_buf_addc(text, '\n');
        ch_buf_add_sv(text, s);
        return rc;
    }
    if (!message_json_is_media(type))
        return ch_fail(r->err, CHELA_EINVAL,
                       "message: a tool result holds text, images, audio and documents only");
    if (r->blocks[at].span == UINT16_MAX)
        return ch_fail(r->err, CHELA_ELIMIT, "message: too many parts in a tool result");
    r->blocks[at].span++;
    return message_json_read_media(r, v, message_json_new_block(r, type));
}

static int read_result(struct reading *r, const struct ch_json *v) {
    size_t at = r->n;
    struct ch_block *b = message_json_new_block(r, CH_BLOCK_TOOL_RESULT);
    int rc = message_json_text_of(r, v, "id", &b->id);
    if (rc == CHELA_OK)
        rc = message_json_text_of(r, v, "name", &b->name);
    if (rc < 0)
        return rc;
    flag_of(v, "is_error", CH_F_ERROR, &b->flags);
    flag_of(v, "denied", CH_F_DENIED, &b->flags);
    flag_of(v, "failed", CH_F_FAILED, &b->flags);

    const struct ch_json *content = ch_json_get(v, "content");
    if (!ch_json_is(content, CH_JSON_ARRAY))
        return message_json_text_of(r, v, "content", &b->text);
    CH_BUF_AUTO text = {0};
    for (CH_JSON_EACH(part, content))
        if ((rc = read_result_part(r, part, at, &text)) < 0)
            return rc;
    r->blocks[at].text = ch_arena_sv(&r->arena, ch_buf_sv(&text));
    return CHELA_OK;
}

static int read_reasoning(struct reading *r, const struct ch_json *v, struct ch_block *b) {
    int rc = message_json_text_of(r, v, "text", &b->text);
    if (rc == CHELA_OK)
        rc = message_json_text_of(r, v, "id", &b->id);
    if (rc == CHELA_OK)
        rc = message_json_text_of(r, v, "field", &b->name);
    flag_of(v, "redacted", CH_F_REDACTED, &b->flags);
    return rc == CHELA_OK ? message_json_text_of(r, v, "extra", &b->extra) : rc;
}

static int message_json_read_block(struct reading *r, const struct ch_json *v) {
    int type = block_type_of(v);
    if (type < 0)
        return ch_fail(r->err, CHELA_EINVAL, "message: unknown block type \"%.*s\"",
                       CH_SV_FMT(ch_json_get_str(v, "type")));
    if (type == CH_BLOCK_TOOL_RESULT)
        return read_result(r, v);
    struct ch_block *b = message_json_new_block(r, type);
    if (message_json_is_media(type))
        return message_json_read_media(r, v, b);
    if (type == CH_BLOCK_TOOL_CALL)
        return message_json_read_call(r, v, b);
    if (type == CH_BLOCK_REASONING)
        return read_reasoning(r, v, b);
    if (type == CH_BLOCK_OPAQUE) {
        int rc = message_json_text_of(r, v, "name", &b->name);
        return rc == CHELA_OK ? message_json_text_of(r, v, "json", &b->text) : rc;
    }
    int rc = message_json_text_of(r, v, "text", &b->text);
    return rc == CHELA_OK ? message_json_text_of(r, v, "extra", &b->extra) : rc;
}

static int message_json_read_content(struct reading *r, const struct ch_json *content) {
    if (ch_json_is(content, CH_JSON_STRING)) {
        message_json_new_block(r, CH_BLOCK_TEXT)->text = ch_json_str(content);
        return CHELA_OK;
    }
    if (!ch_json_is(content, CH_JSON_ARRAY))
        return ch_fail(r->err, CHELA_EINVAL, "message: \"content\" must be a string or an array");
    for (CH_JSON_EACH(part, content)) {
        int rc = message_json_read_block(r, part);
        if (rc < 0)
            return rc;
    }
    return CHELA_OK;
}

static int message_json_kind_of(struct ch_sv role) {
    if (ch_sv_is(role, "tool"))
        return CH_MSG_RESULTS;
    for (int k = 0; k < CH_MSG_KINDS; k++)
        if (ch_sv_is(role, ch_msg_kind_name(k)))
            return k;
    return -1;
}

int ch_msg_read(const struct ch_json *v, struct ch_msg **out, struct chela_error *err) {
    struct ch_sv role = ch_json_get_str(v, "role"), api = {0};
    struct ch_msg_author by = {0};
    int kind = message_json_kind_of(role);
    if (kind < 0)
        return ch_fail(err, CHELA_EINVAL, "message: unknown role \"%.*s\"", CH_SV_FMT(role));

    struct reading r = {.err = err};
    int rc = message_json_read_content(&r, ch_json_get(v, "content"));
    if (rc == CHELA_OK)
        rc = message_json_text_of(&r, v, "api", &api);
    if (rc == CHELA_OK)
        rc = message_json_text_of(&r, v, "model", &by.model);
    if (rc == CHELA_OK)
        rc = message_json_text_of(&r, v, "asked", &by.asked);
    by.api = api.n ? ch_arena_str(&r.arena, api) : NULL;
    if (rc == CHELA_OK)
        *out = ch_msg_by(kind, r.blocks, r.n, &by, ch_json_int(ch_json_get(v, "ts"), 0));
    ch_free(r.blocks);
    ch_arena_release(&r.arena);
    return rc;
}
