/* fuzz_json.c -- any bytes at all against everything in json/ that reads.
 *
 * Beyond not crashing, these must hold:
 *   - strict mode accepts what jansson accepts, and nothing else, apart from
 *     the differences listed at jansson_differs;
 *   - what strict mode accepts, replacement mode reads the same;
 *   - the pull form accepts and sees what replacement mode does;
 *   - a tree written and read again is the same tree, and written again the
 *     same bytes;
 *   - repair leaves valid text alone and has nothing to add to its own work. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/json.h"
#include "json/pull.h"
#include "json/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                     \
    do {                                                            \
        if (!(x)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
            abort();                                                \
        }                                                           \
    } while (0)

struct seen {
    unsigned depth;   /* containers around the innermost value */
    bool huge_number; /* one that jansson cannot hold */
    bool repeated;    /* a member name that occurs twice */
};

static void look(const struct ch_json *v, unsigned depth, struct seen *s) {
    s->depth = CH_MAX(s->depth, depth);
    if (v->type == CH_JSON_NUMBER) {
        int64_t n;
        double d = ch_json_double(v, 0);
        s->huge_number |= v->flags & CH_JSON_INTEGER ? !ch_json_as_int(v, &n) : d - d != 0;
    }
    for (CH_JSON_EACH(e, v))
        look(e, depth + 1, s);
    for (CH_JSON_MEMBERS(k, m, v)) {
        s->repeated |= ch_json_get_sv(v, ch_json_str(k)) != m;
        look(m, depth + 1, s);
    }
}

static void write_tree(struct ch_buf *out, const struct ch_json *v) {
    struct ch_jw w = ch_jw(out);
    ch_jw_value(&w, v);
    MUST(!out->overflow);
    MUST(ch_utf8_valid(ch_buf_sv(out)));
}

/* The same value in the other library, member by member. */
static void match(const struct ch_json *v, const json_t *j) {
    int64_t n;
    size_t i = 0;
    switch ((enum ch_json_type)v->type) {
    case CH_JSON_NULL:
        MUST(json_is_null(j));
        break;
    case CH_JSON_TRUE:
        MUST(json_is_true(j));
        break;
    case CH_JSON_FALSE:
        MUST(json_is_false(j));
        break;
    case CH_JSON_NUMBER:
        MUST(json_is_number(j));
        if (json_is_integer(j))
            MUST(ch_json_as_int(v, &n) && n == json_integer_value(j));
        else
            MUST(ch_json_double(v, 0) == json_real_value(j));
        break;
    case CH_JSON_STRING:
        MUST(json_is_string(j) && v->n == json_string_length(j));
        MUST(memcmp(v->s, json_string_value(j), v->n) == 0);
        break;
    case CH_JSON_ARRAY:
        MUST(json_is_array(j) && v->n == json_array_size(j));
        for (CH_JSON_EACH(e, v))
            match(e, json_array_get(j, i++));
        break;
    case CH_JSON_OBJECT:
        MUST(json_is_object(j));
        for (CH_JSON_MEMBERS(k, m, v)) {
            CH_AUTOFREE char *name = ch_strndup(k->s, k->n);
            if (ch_json_get_sv(v, ch_json_str(k)) == m && strlen(name) == k->n)
                match(m, json_object_get(j, name));
        }
        break;
    }
}

/* Valid JSON that jansson refuses: numbers out of range, names with a NUL
 * byte. The other way round it accepts a NUL byte behind a number. On
 * everything else both must agree. */
static bool jansson_differs(const struct ch_json *v, struct ch_sv text) {
    struct seen s = {0};
    look(v, 0, &s);
    return s.huge_number || memmem(text.p, text.n, "\\u0000", 6);
}

static void check_jansson(struct ch_sv text, const struct ch_json *v) {
    json_error_t why;
    json_t *j = json_loadb(text.p, text.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    if (v && !j)
        MUST(jansson_differs(v, text));
    if (v && j)
        match(v, j);
    if (!v && !memchr(text.p, '\0', text.n))
        MUST(!j);
    json_decref(j);
}

static void check_round_trip(struct ch_arena *a, const struct ch_json *v) {
    CH_BUF_AUTO once = {0};
    CH_BUF_AUTO twice = {0};
    const struct ch_json *again = NULL;
    write_tree(&once, v);
    MUST(ch_json_parse(a, ch_buf_sv(&once), CH_JSON_STRICT, &again, NULL, NULL) == 0);
    MUST(ch_json_equal(v, again));
    write_tree(&twice, again);
    MUST(ch_sv_eq(ch_buf_sv(&once), ch_buf_sv(&twice)));
}

static void rewrite(struct ch_pull *p, struct ch_jw *w) {
    struct ch_sv s;
    char c = ch_pull_peek(p);
    if (c == '{' && ch_pull_enter(p, c)) {
        ch_jw_begin(w, '{');
        while (ch_pull_key(p, &s)) {
            ch_jw_key_sv(w, s);
            rewrite(p, w);
        }
        ch_jw_end(w, '}');
    } else if (c == '[' && ch_pull_enter(p, c)) {
        ch_jw_begin(w, '[');
        while (ch_pull_item(p))
            rewrite(p, w);
        ch_jw_end(w, ']');
    } else if (c == '"' ? ch_pull_str(p, &s) : ch_pull_raw(p, &s)) {
        c == '"' ? ch_jw_str(w, s) : ch_jw_raw(w, s);
    }
}

/* v: what replacement mode read, or NULL. */
static void check_pull(struct ch_sv text, const struct ch_json *v) {
    CH_BUF_AUTO scratch = {0};
    CH_BUF_AUTO walked = {0};
    CH_BUF_AUTO tree = {0};
    struct ch_jw w = ch_jw(&walked);
    struct ch_pull walk, skip;
    struct seen s = {0};
    if (v)
        look(v, 0, &s);
    ch_pull_init(&walk, text, &scratch);
    rewrite(&walk, &w);
    ch_pull_init(&skip, text, &scratch);
    ch_pull_skip(&skip);
    MUST(ch_pull_failed(&walk) == ch_pull_failed(&skip));
    if (s.depth >= CH_LIMIT_PULL_DEPTH)
        return;
    MUST(ch_pull_failed(&walk) == !v);
    if (!v)
        return;
    write_tree(&tree, v);
    MUST(ch_sv_eq(ch_buf_sv(&walked), ch_buf_sv(&tree)));
}

static void check_repair(struct ch_sv text, bool valid) {
    CH_BUF_AUTO once = {0};
    CH_BUF_AUTO twice = {0};
    bool changed = ch_json_repair(text, &once);
    MUST(!(valid && changed));
    MUST(changed || once.n == 0);
    if (changed)
        MUST(!ch_json_repair(ch_buf_sv(&once), &twice));
}

static const struct ch_json *read_in(struct ch_arena *a, struct ch_sv text, enum ch_json_mode mode,
                                     int *rc) {
    const struct ch_json *v = NULL;
    struct ch_json_where w = {0};
    struct chela_error err = {0};
    *rc = ch_json_parse(a, text, mode, &v, &w, &err);
    MUST((*rc == 0) == (v != NULL));
    if (*rc < 0)
        MUST(err.code == *rc && err.message[0] && w.offset <= text.n && w.line && w.column);
    return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ch_sv text = ch_sv((const char *)data, size);
    CH_ARENA_AUTO a = {0};
    int strict_rc, loose_rc;
    const struct ch_json *strict = read_in(&a, text, CH_JSON_STRICT, &strict_rc);
    const struct ch_json *loose = read_in(&a, text, CH_JSON_REPLACE, &loose_rc);
    check_repair(text, strict != NULL);
    if (strict_rc == CHELA_ELIMIT || loose_rc == CHELA_ELIMIT)
        return 0; /* too deep for us; jansson may or may not go there */
    check_jansson(text, strict);
    check_pull(text, loose);
    if (strict)
        MUST(loose && ch_json_equal(strict, loose));
    if (loose)
        check_round_trip(&a, loose);
    return 0;
}
