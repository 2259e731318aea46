/* result.c -- see result.h. */
#include "tool/result/result.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/limits.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/writer.h"
#include "tool/result/sanitize.h"

/* --- error types --------------------------------------------------------- */

struct error_type {
    const char *name;
    bool retryable;
};

static const struct error_type error_types[] = {
#define ROW(name, retryable) {#name, retryable},
    CH_ERROR_TYPES(ROW)
#undef ROW
};

static const struct error_type *find_type(const char *name) {
    for (size_t i = 0; i < CH_LEN(error_types); i++)
        if (strcmp(error_types[i].name, name) == 0)
            return &error_types[i];
    return &error_types[CH_LEN(error_types) - 1];
}

static const char *type_of_code(int code) {
    switch (code) {
    case CHELA_ETIMEOUT:
        return "timeout";
    case CHELA_ENET:
    case CHELA_ETLS:
        return "network";
    case CHELA_EINVAL:
    case CHELA_EPARSE:
        return "invalid_arguments";
    case CHELA_ENOENT:
        return "not_found";
    case CHELA_EPERM:
    case CHELA_EAUTH:
        return "permission_denied";
    case CHELA_EBUSY:
        return "unavailable";
    case CHELA_ECANCELED:
        return "cancelled";
    }
    return "internal";
}

/* --- building an answer -------------------------------------------------- */

static void free_media(struct ch_media **media, size_t *n) {
    for (size_t i = 0; i < *n; i++) {
        ch_free((*media)[i].type);
        ch_free((*media)[i].data);
    }
    ch_free(*media);
    *media = NULL;
    *n = 0;
}

void ch_answer_release(struct ch_answer *a) {
    ch_buf_release(&a->text);
    ch_buf_release(&a->details);
    ch_buf_release(&a->error);
    free_media(&a->media, &a->nmedia);
    a->text_lost = a->media_bytes = 0;
    a->error_type = NULL;
    a->retry_after_ms = 0;
    a->unknown = a->untouched = a->failed = false;
}

void ch_answer_text(struct ch_answer *a, struct ch_sv text) {
    size_t room = CH_LIMIT_TOOL_OUTPUT - a->text.n;
    size_t n = CH_MIN(text.n, room);

    ch_buf_add(&a->text, text.p, n);
    a->text_lost += text.n - n;
}

/* Events contain details verbatim, so details must be JSON; any other text becomes a JSON
 * string. */
void ch_answer_details(struct ch_answer *a, struct ch_sv json) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *value;

    ch_buf_clear(&a->details);
    if (json.n > CH_LIMIT_TOOL_DETAILS)
        ch_buf_addf(&a->details, "{\"omitted_bytes\":%zu}", json.n);
    else if (ch_json_parse(&arena, json, CH_JSON_STRICT, &value, NULL, NULL) == 0)
        ch_buf_add_sv(&a->details, ch_sv_trim(json));
    else
        ch_json_quote(&a->details, json);
}

void ch_answer_error(struct ch_answer *a, const char *type, const char *fmt, va_list ap) {
    a->error_type = find_type(type)->name;
    ch_buf_clear(&a->error);
    ch_buf_vaddf(&a->error, fmt, ap);
}

void ch_answer_media(struct ch_answer *a, const char *type, const void *data, size_t len) {
    CH_BUF_AUTO note = {0};
    struct ch_buf text = {0};

    if (len == 0 || a->nmedia == CH_LIMIT_RESULT_PARTS || len > CH_LIMIT_RESULT_MEDIA ||
        a->media_bytes + len / 3 * 4 + 4 > CH_LIMIT_RESULT_MEDIA) {
        ch_buf_addf(&note, "[%zu bytes of %s are left out%s]\n", len, type,
                    len ? ": too much for one result" : "");
        ch_answer_text(a, ch_buf_sv(&note));
        return;
    }
    a->media = ch_realloc(a->media, (a->nmedia + 1) * sizeof(*a->media));
    struct ch_media *m = &a->media[a->nmedia++];
    m->type = ch_strdup(type);
    ch_base64_add(&text, ch_sv(data, len));
    m->n = text.n;
    m->data = ch_buf_take(&text);
    a->media_bytes += m->n;
}

/* --- concluding ---------------------------------------------------------- */

void ch_outcome_release(struct ch_outcome *o) {
    ch_buf_release(&o->content);
    ch_buf_release(&o->raw);
    ch_buf_release(&o->details);
    free_media(&o->media, &o->nmedia);
    *o = (struct ch_outcome){0};
}

static void result_write_error(struct ch_outcome *o, struct ch_sv message, struct ch_sv details) {
    struct ch_jw w = ch_jw(&o->content);

    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "error", message);
    ch_jw_kcstr(&w, "error_type", o->error_type);
    ch_jw_kbool(&w, "retryable", o->retryable);
    ch_jw_kraw(&w, "details", details);
    ch_jw_end(&w, '}');
}

/* Reserve room for escaping, which may double the message, and for the other members. */
static struct ch_shape_room message_room(struct ch_shape_room room) {
    return (struct ch_shape_room){
        .chars = CH_MIN(room.chars / 3, CH_LIMIT_TOOL_ERROR),
        .cost = room.cost / 3,
    };
}

/* Uses o->details; an error that would become too long omits them. */
static void make_error(struct ch_outcome *o, const char *type, struct ch_sv message,
                       int64_t window) {
    const struct error_type *t = find_type(type);
    struct ch_shape_room room = ch_room_of(window);
    CH_BUF_AUTO clean = {0};

    o->is_error = true;
    o->error_type = t->name;
    o->retryable = t->retryable;
    ch_text_clean(&clean, message);
    struct ch_sv whole = ch_sv_trim(ch_buf_sv(&clean));
    struct ch_sv shown = ch_room_start(message_room(room), whole);
    o->truncated = shown.n < whole.n;
    result_write_error(o, shown, o->details.n ? ch_buf_sv(&o->details) : CH_SV("{}"));
    if (!ch_room_holds(room, ch_room_needed(ch_buf_sv(&o->content)))) {
        ch_buf_clear(&o->content);
        o->truncated = true;
        result_write_error(o, shown, CH_SV("{}"));
    }
}

void ch_outcome_unknown(struct ch_outcome *o) {
    static const char yes[] = "\",\"retryable\":true,"; /* quotes in a message are escaped */
    const char *at = o->is_error && o->content.n
                         ? memmem(o->content.p, o->content.n, yes, strlen(yes))
                         : NULL;
    if (!o->retryable)
        return;
    o->retryable = false;
    if (!at)
        return;
    size_t from = (size_t)(at - o->content.p) + strlen(yes) - strlen("true,");
    CH_BUF_AUTO rest = {0};
    ch_buf_add_str(&rest, "false");
    ch_buf_add(&rest, o->content.p + from + strlen("true"), o->content.n - from - strlen("true"));
    o->content.n = from;
    ch_buf_add_sv(&o->content, ch_buf_sv(&rest));
}

void ch_outcome_error(struct ch_outcome *o, const char *type, const char *fmt, ...) {
    CH_BUF_AUTO message = {0};
    va_list ap;

    va_start(ap, fmt);
    ch_buf_vaddf(&message, fmt, ap);
    va_end(ap);
    ch_outcome_release(o);
    make_error(o, type, ch_buf_sv(&message), 0);
}

void ch_outcome_shape(struct ch_outcome *o, const struct ch_shape *how) {
    if (o->raw.n || o->raw_lost)
        o->truncated = ch_shape_text(how, ch_buf_sv(&o->raw), o->raw_lost, &o->content);
    ch_buf_release(&o->raw);
    o->raw_lost = 0;
}

void ch_answer_conclude(struct ch_answer *a, int rc, struct ch_outcome *out) {
    out->details = a->details;
    out->retry_after_ms = a->retry_after_ms;
    a->details = (struct ch_buf){0};
    if (a->error_type) {
        make_error(out, a->error_type, ch_buf_sv(&a->error), a->shape.window);
        out->untouched = a->untouched;
        if (a->unknown)
            ch_outcome_unknown(out);
    } else if (rc < 0) {
        /* Text that the tool wrote before it failed usually explains the failure. */
        struct ch_sv said = ch_sv_trim(ch_buf_sv(&a->text));
        make_error(out, type_of_code(rc), said.n ? said : ch_sv_str(chela_error_text(rc)),
                   a->shape.window);
    } else {
        out->raw = a->text;
        out->raw_lost = a->text_lost;
        a->text = (struct ch_buf){.max = a->text.max};
        if (!a->later || out->raw.n <= ch_room_of(a->shape.window).chars)
            ch_outcome_shape(out, &a->shape);
        out->media = CH_TAKE(a->media);
        out->nmedia = a->nmedia;
        out->failed = a->failed;
        a->nmedia = 0;
    }
    out->authorised = a->authorised;
    ch_answer_release(a);
}
