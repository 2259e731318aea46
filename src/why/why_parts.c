/* why_parts.c -- see why_parts.h. */
#include "why/why_parts.h"

#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"

#define LEFT_OUT "-" /* services refuse messages without text */

static void add_part(struct ch_why_parts *p, struct ch_why_part part) {
    if (p->n == CH_LIMIT_WHY_PARTS || !ch_sv_trim(part.text).n)
        return;
    CH_GROW(p->list, p->n, p->cap, 64);
    p->list[p->n++] = part;
}

/* --- sentences ------------------------------------------------------------------------- */

/* True if a sentence or a line ends before position i. */
static bool ends_before(struct ch_sv text, size_t i) {
    char last = text.p[i - 1];
    if (last == '\n')
        return true;
    if (last == ' ' && i >= 2 && strchr(".!?", text.p[i - 2]))
        return true;
    return i >= 3 && memcmp(text.p + i - 3, "\xe3\x80\x82", 3) == 0;
}

static bool is_letter(unsigned char c) {
    return c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Adds the sentences of a text as parts like `of`; a sentence without words joins the next
 * one. Long texts become pieces of several sentences. */
static void add_sentences(struct ch_why_parts *p, struct ch_why_part of) {
    struct ch_sv text = of.text;
    size_t base = of.at, begin = 0, letters = 0, least = text.n / CH_LIMIT_WHY_SENTENCES;
    for (size_t i = 1; i <= text.n; i++) {
        struct ch_sv piece = ch_sv(text.p + begin, i - begin);
        letters += is_letter((unsigned char)text.p[i - 1]);
        if (i < text.n && (letters < 3 || piece.n < least || !ends_before(text, i)))
            continue;
        letters = 0;
        of.at = base + begin;
        of.size = piece.n;
        of.text = piece;
        add_part(p, of);
        begin = i;
    }
}

/* --- splitting ------------------------------------------------------------------------- */

static void split_system(struct ch_why_parts *p, const struct ch_request_past *past) {
    struct ch_sv system = ch_json_get_str(p->request, "system");
    const struct ch_trace_part *part =
        ch_trace_parts_find(&past->parts, ch_json_get_str(past->setup->v, "system"));
    for (CH_JSON_EACH(s, part ? ch_json_get(part->v, "sections") : NULL)) {
        size_t at = (size_t)ch_json_int(ch_json_get(s, "at"), 0);
        size_t n = (size_t)ch_json_int(ch_json_get(s, "bytes"), 0);
        if (at > system.n || n > system.n - at)
            continue;
        bool ours = ch_sv_is(ch_json_get_str(s, "origin"), "chela");
        struct ch_why_part w = {.kind = "section",
                                .origin = ch_json_get_str(s, "name"),
                                .place = CH_WHY_SYSTEM,
                                .at = at,
                                .size = n,
                                .text = ch_sv(system.p + at, n),
                                .rank = ours ? 2 : 0};
        if (ours)
            add_part(p, w);
        else
            add_sentences(p, w);
    }
}

static bool is_one_of(const struct ch_sv *list, size_t n, struct ch_sv name) {
    for (size_t i = 0; i < n; i++)
        if (ch_sv_eq(list[i], name))
            return true;
    return false;
}

static void split_tools(struct ch_why_parts *p, const struct ch_sv *called, size_t ncalled) {
    size_t i = 0;
    for (CH_JSON_EACH(t, ch_json_get(p->request, "tools"))) {
        struct ch_sv name = ch_json_get_str(t, "name");
        if (!is_one_of(called, ncalled, name))
            add_part(p, (struct ch_why_part){.kind = "tool",
                                             .origin = name,
                                             .place = CH_WHY_TOOL,
                                             .index = i,
                                             .text = ch_json_get_str(t, "description"),
                                             .rank = 3});
        i++;
    }
}

static struct ch_sv block_text(const struct ch_json *b) {
    bool result = ch_sv_is(ch_json_get_str(b, "type"), "tool_result");
    return ch_json_get_str(b, result ? "content" : "text");
}

static void split_message(struct ch_why_parts *p, const struct ch_json *m, size_t index,
                          bool newest) {
    struct ch_sv role = ch_json_get_str(m, "role");
    size_t block = 0;
    for (CH_JSON_EACH(b, ch_json_get(m, "content"))) {
        struct ch_sv type = ch_json_get_str(b, "type");
        bool text = ch_sv_is(type, "text"), result = ch_sv_is(type, "tool_result");
        bool context = ch_sv_is(type, "context");
        struct ch_why_part w = {.kind = result            ? "result"
                                        : context         ? "note"
                                        : newest          ? "question"
                                                          : "message",
                                .origin = result ? ch_json_get_str(b, "name") : role,
                                .place = CH_WHY_BLOCK,
                                .index = index,
                                .block = block++,
                                .text = block_text(b),
                                .rank = newest && text ? 4 : 1};
        if (text || result || context)
            add_sentences(p, w);
    }
}

static bool is_input(const struct ch_json *m) {
    bool any = false;
    for (CH_JSON_EACH(b, ch_json_get(m, "content")))
        any |= ch_sv_is(ch_json_get_str(b, "type"), "text");
    return any && ch_sv_is(ch_json_get_str(m, "role"), "user");
}

static void split_messages(struct ch_why_parts *p) {
    const struct ch_json *list = ch_json_get(p->request, "messages");
    size_t newest = SIZE_MAX, i = 0;
    for (CH_JSON_EACH(m, list)) {
        if (is_input(m))
            newest = i;
        i++;
    }
    i = 0;
    for (CH_JSON_EACH(m, list)) {
        split_message(p, m, i, i == newest);
        i++;
    }
}

/* Stable, because parts of equal rank stay in the order of the request. */
static void sort_by_rank(struct ch_why_parts *p) {
    struct ch_why_part *sorted = ch_alloc((p->n + 1) * sizeof(*sorted));
    size_t n = 0;
    for (unsigned rank = 0; rank <= 4; rank++)
        for (size_t i = 0; i < p->n; i++)
            if (p->list[i].rank == rank)
                sorted[n++] = p->list[i];
    for (size_t i = 0; i < n; i++)
        p->questions += sorted[i].rank == 4;
    ch_free(p->list);
    p->list = sorted;
    p->cap = p->n + 1;
}

int ch_why_parts_split(struct ch_why_parts *p, const struct ch_request_past *past,
                       const struct ch_sv *called, size_t ncalled, struct chela_error *err) {
    *p = (struct ch_why_parts){0};
    ch_request_past_neutral(past, &p->neutral);
    int rc = ch_json_parse(&p->arena, ch_buf_sv(&p->neutral), CH_JSON_REPLACE, &p->request, NULL,
                           err);
    if (rc < 0)
        return rc;
    split_system(p, past);
    split_tools(p, called, ncalled);
    split_messages(p);
    sort_by_rank(p);
    return 0;
}

void ch_why_parts_release(struct ch_why_parts *p) {
    ch_arena_release(&p->arena);
    ch_buf_release(&p->neutral);
    ch_free(p->list);
    *p = (struct ch_why_parts){0};
}

/* --- writing --------------------------------------------------------------------------- */

/* The text without the parts of this place that are gone. */
static void write_rest(const struct ch_why_parts *p, const bool *gone, struct ch_jw *w,
                       struct ch_sv text, const struct ch_why_part *where) {
    CH_BUF_AUTO out = {0};
    CH_AUTOFREE char *keep = ch_alloc(text.n + 1);
    memset(keep, 1, text.n);
    for (size_t i = 0; i < p->n; i++) {
        const struct ch_why_part *q = &p->list[i];
        if (gone[i] && q->place == where->place && q->index == where->index &&
            q->block == where->block && q->at <= text.n && q->size <= text.n - q->at)
            memset(keep + q->at, 0, q->size);
    }
    for (size_t i = 0; i < text.n; i++)
        if (keep[i])
            ch_buf_addc(&out, text.p[i]);
    bool bare = where->place == CH_WHY_BLOCK && !ch_sv_trim(ch_buf_sv(&out)).n;
    ch_jw_str(w, bare ? CH_SV(LEFT_OUT) : ch_buf_sv(&out));
}

static bool tool_is_gone(const struct ch_why_parts *p, const bool *gone, size_t index) {
    for (size_t i = 0; i < p->n; i++)
        if (gone[i] && p->list[i].place == CH_WHY_TOOL && p->list[i].index == index)
            return true;
    return false;
}

static void write_tools(const struct ch_why_parts *p, const bool *gone, struct ch_jw *w,
                        const struct ch_json *list) {
    size_t i = 0;
    ch_jw_begin(w, '[');
    for (CH_JSON_EACH(t, list))
        if (!tool_is_gone(p, gone, i++))
            ch_jw_value(w, t);
    ch_jw_end(w, ']');
}

static void write_block(const struct ch_why_parts *p, const bool *gone, struct ch_jw *w,
                        const struct ch_json *b, size_t index, size_t block) {
    struct ch_why_part where = {.place = CH_WHY_BLOCK, .index = index, .block = block};
    bool result = ch_sv_is(ch_json_get_str(b, "type"), "tool_result");
    bool text = result || ch_sv_is(ch_json_get_str(b, "type"), "text") ||
                ch_sv_is(ch_json_get_str(b, "type"), "context");
    ch_jw_begin(w, '{');
    for (CH_JSON_MEMBERS(k, v, b)) {
        ch_jw_key_sv(w, ch_json_str(k));
        if (text && ch_json_is(v, CH_JSON_STRING) &&
            ch_sv_is(ch_json_str(k), result ? "content" : "text"))
            write_rest(p, gone, w, ch_json_str(v), &where);
        else
            ch_jw_value(w, v);
    }
    ch_jw_end(w, '}');
}

static void write_message(const struct ch_why_parts *p, const bool *gone, struct ch_jw *w,
                          const struct ch_json *m, size_t index) {
    size_t block = 0;
    ch_jw_begin(w, '{');
    for (CH_JSON_MEMBERS(k, v, m)) {
        ch_jw_key_sv(w, ch_json_str(k));
        if (!ch_sv_is(ch_json_str(k), "content") || !ch_json_is(v, CH_JSON_ARRAY)) {
            ch_jw_value(w, v);
            continue;
        }
        ch_jw_begin(w, '[');
        for (CH_JSON_EACH(b, v))
            write_block(p, gone, w, b, index, block++);
        ch_jw_end(w, ']');
    }
    ch_jw_end(w, '}');
}

void ch_why_parts_write(const struct ch_why_parts *p, const bool *gone, struct ch_buf *out) {
    static const struct ch_why_part system = {.place = CH_WHY_SYSTEM};
    struct ch_jw w = ch_jw(out);
    size_t i = 0;
    ch_jw_begin(&w, '{');
    for (CH_JSON_MEMBERS(k, v, p->request)) {
        struct ch_sv name = ch_json_str(k);
        ch_jw_key_sv(&w, name);
        if (ch_sv_is(name, "system")) {
            write_rest(p, gone, &w, ch_json_str(v), &system);
        } else if (ch_sv_is(name, "tools")) {
            write_tools(p, gone, &w, v);
        } else if (ch_sv_is(name, "messages")) {
            ch_jw_begin(&w, '[');
            for (CH_JSON_EACH(m, v))
                write_message(p, gone, &w, m, i++);
            ch_jw_end(&w, ']');
        } else {
            ch_jw_value(&w, v);
        }
    }
    ch_jw_end(&w, '}');
}
