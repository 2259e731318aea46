/* why_versus.c -- the first difference between two sessions (chela/why.h). */
#include <stdio.h>

#include "base/entry.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "chela/trace.h"
#include "chela/why.h"
#include "json/writer.h"
#include "trace/parts.h"

#define MOST_TEXT 500 /* bytes of a text in the report */

struct versus {
    const struct ch_json *a, *b; /* the n-th request of each of the two sessions */
    struct ch_jw w;
    size_t differences;
};

static struct ch_sv json_of(struct ch_buf *out, const struct ch_json *v) {
    struct ch_jw w = ch_jw(out);
    if (ch_json_is(v, CH_JSON_STRING))
        return ch_json_str(v);
    if (!v)
        return CH_SV("");
    ch_jw_value(&w, v);
    return ch_buf_sv(out);
}

/* The texts from the first line that differs on. Of a long line, from a point shortly before the
 * difference on. */
static void skip_common(struct ch_sv *a, struct ch_sv *b) {
    size_t i = 0, line = 0;
    while (i < a->n && i < b->n && a->p[i] == b->p[i])
        if (a->p[i++] == '\n')
            line = i;
    if (i - line > MOST_TEXT / 2)
        for (line = i - MOST_TEXT / 4; ((unsigned char)a->p[line] & 0xC0) == 0x80;)
            line--;
    *a = ch_utf8_cut(ch_sv(a->p + line, a->n - line), MOST_TEXT);
    *b = ch_utf8_cut(ch_sv(b->p + line, b->n - line), MOST_TEXT);
}

static void compare(struct versus *v, const char *what, struct ch_sv name,
                    const struct ch_json *a, const struct ch_json *b) {
    CH_BUF_AUTO x = {0}, y = {0};
    struct ch_sv then = json_of(&x, a), now = json_of(&y, b);
    if (ch_sv_eq(then, now))
        return;
    skip_common(&then, &now);
    v->differences++;
    ch_jw_begin(&v->w, '{');
    ch_jw_kcstr(&v->w, "what", what);
    if (name.n)
        ch_jw_kstr(&v->w, "name", name);
    ch_jw_kstr(&v->w, "a", then);
    ch_jw_kstr(&v->w, "b", now);
    ch_jw_end(&v->w, '}');
}

static const struct ch_json *named(const struct ch_json *list, struct ch_sv name) {
    for (CH_JSON_EACH(e, list))
        if (ch_sv_eq(ch_json_get_str(e, "name"), name))
            return e;
    return NULL;
}

/* Compares named elements; member: the member to compare, NULL: the element itself. */
static void compare_named(struct versus *v, const char *what, const char *list,
                          const char *member) {
    const struct ch_json *a = ch_json_get(v->a, list), *b = ch_json_get(v->b, list);
    for (CH_JSON_EACH(e, a)) {
        const struct ch_json *o = named(b, ch_json_get_str(e, "name"));
        compare(v, what, ch_json_get_str(e, "name"), member ? ch_json_get(e, member) : e,
                member ? ch_json_get(o, member) : o);
    }
    for (CH_JSON_EACH(e, b))
        if (!named(a, ch_json_get_str(e, "name")))
            compare(v, what, ch_json_get_str(e, "name"), NULL,
                    member ? ch_json_get(e, member) : e);
}

static void compare_parameters(struct versus *v) {
    const struct ch_json *a = ch_json_get(v->a, "parameters"), *b = ch_json_get(v->b, "parameters");
    for (CH_JSON_MEMBERS(k, m, a)) {
        CH_AUTOFREE char *name = ch_strndup(ch_json_str(k).p, ch_json_str(k).n);
        if (strcmp(name, "cache_key") != 0) /* follows from the first message */
            compare(v, strcmp(name, "model") == 0 ? "model" : "parameter", ch_json_str(k), m,
                    ch_json_get(b, name));
    }
    for (CH_JSON_MEMBERS(k, m, b)) {
        CH_AUTOFREE char *name = ch_strndup(ch_json_str(k).p, ch_json_str(k).n);
        if (!ch_json_get(a, name) && strcmp(name, "cache_key") != 0)
            compare(v, "parameter", ch_json_str(k), NULL, m);
    }
}

static void compare_messages(struct versus *v) {
    const struct ch_json *a = ch_json_get(v->a, "messages"), *b = ch_json_get(v->b, "messages");
    size_t most = CH_MAX(a ? a->n : 0, b ? b->n : 0), before = v->differences;
    for (size_t i = 0; i < most && v->differences == before; i++) {
        char name[24];
        snprintf(name, sizeof(name), "%zu", i + 1);
        compare(v, "message", ch_sv_str(name), ch_json_get(ch_json_at(a, i), "content"),
                ch_json_get(ch_json_at(b, i), "content"));
    }
}

static void compare_requests(struct versus *v) {
    compare(v, "version", CH_SV(""), ch_json_get(v->a, "version"), ch_json_get(v->b, "version"));
    compare_parameters(v);
    compare_named(v, "section", "sections", "text");
    compare_named(v, "tool", "tools", NULL);
    compare_messages(v);
    compare(v, "reply", CH_SV(""), ch_json_get(ch_json_get(v->a, "reply"), "content"),
            ch_json_get(ch_json_get(v->b, "reply"), "content"));
    compare(v, "reply", CH_SV("failure"), ch_json_path(v->a, "failure", "class", NULL),
            ch_json_path(v->b, "failure", "class", NULL));
}

static int read_request(struct ch_arena *arena, chela_store *store, const char *key, unsigned n,
                        const struct ch_json **out, struct chela_error *err) {
    char *text;
    size_t len;
    int rc = chela_trace_request(store, key, n, CHELA_REQUEST_JSON, &text, &len, err);
    if (rc < 0)
        return rc;
    struct ch_sv copy = ch_arena_sv(arena, ch_sv(text, len));
    chela_free(text);
    return ch_json_parse(arena, copy, CH_JSON_REPLACE, out, NULL, err);
}

/* Compares request n of both. 1: they differ, or were the last ones. */
static int compare_at(struct versus *v, chela_store *store, const char *a_key, const char *b_key,
                      unsigned n, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    int rc = read_request(&arena, store, a_key, n, &v->a, err);
    if (rc == 0)
        rc = read_request(&arena, store, b_key, n, &v->b, err);
    if (rc < 0)
        return rc;
    compare_requests(v);
    int64_t a = ch_json_int(ch_json_get(v->a, "of"), 0);
    int64_t b = ch_json_int(ch_json_get(v->b, "of"), 0);
    if (!v->differences && (a == n || b == n) && a != b)
        compare(v, "end", CH_SV("number of requests"), ch_json_get(v->a, "of"),
                ch_json_get(v->b, "of"));
    return v->differences || a == n || b == n;
}

char *chela_why_versus(chela_store *store, const char *a_key, const char *b_key,
                       struct chela_error *err) {
    CH_NEEDS_OR(store, err, NULL);
    CH_BUF_AUTO list = {0};
    struct versus v = {.w = ch_jw(&list)};
    unsigned n = 1;
    int rc;
    while ((rc = compare_at(&v, store, a_key, b_key, n, err)) == 0)
        n++;
    if (rc < 0)
        return NULL;
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "a", a_key);
    ch_jw_kcstr(&w, "b", b_key);
    ch_jw_kint(&w, "request", n);
    ch_jw_kbool(&w, "same", v.differences == 0);
    ch_jw_key(&w, "differences");
    ch_buf_addf(&out, "[%s]", ch_buf_str(&list));
    w.comma = true;
    ch_jw_end(&w, '}');
    return ch_buf_take(&out);
}
