/* schema_coerce.c -- correct typical mistakes of weak models.
 *
 * The report of a run drives the coercion: only invalid values change, and only
 * where the schema accepts another type. The coercion works in rounds, because
 * JSON unpacked from a string may contain mistakes of its own:
 *
 *   check -> plan (at most one correction per value) -> write -> read -> ...
 *
 * Corrections that certainly fix the type are applied together. Guesses
 * (wrapping a value in an array, dropping a null) are tried one at a time and
 * kept only if they reduce the number of violations. */
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/number.h"
#include "schema/schema_program.h"
#include "json/value.h"
#include "json/writer.h"

#define ROUNDS 24
#define SHOWN 200 /* bytes of a value in the list of changes */

/* A value to be replaced. */
struct fix {
    const struct ch_json *at; /* NULL: none */
    struct ch_sv text;        /* new text; p NULL: drop the member */
    const char *what;
};

struct coercion {
    struct ch_schema *schema;
    struct ch_arena *arena;
    unsigned flags;
    const struct ch_json *value;
    struct ch_sv text; /* text of value; empty if unchanged */
    struct ch_violations *left;
    int verdict;
    int64_t fuel; /* fuel left for all checks together */
    struct fix fixes[CH_LIMIT_COERCIONS];
    size_t n;
    struct ch_changes *changes;
};

/* --- possible replacements --------------------------------------------------- */

/* Convert the output of Python's str() to JSON. */
static struct ch_sv from_python(struct ch_sv s) {
    static const char *const words[][2] = {
        {"True", "true"},   {"False", "false"}, {"TRUE", "true"},
        {"FALSE", "false"}, {"None", "null"},
    };
    for (size_t i = 0; i < CH_LEN(words); i++)
        if (ch_sv_is(s, words[i][0]))
            return ch_sv_str(words[i][1]);
    return s;
}

static const char *name_change(const struct ch_json *to) {
    switch ((enum ch_json_type)to->type) {
    case CH_JSON_NULL:
        return "string to null";
    case CH_JSON_FALSE:
    case CH_JSON_TRUE:
        return "string to boolean";
    case CH_JSON_NUMBER:
        return "string to number";
    case CH_JSON_ARRAY:
        return "JSON in a string to array";
    default:
        return "JSON in a string to object";
    }
}

/* Whether the string contains JSON of a wanted type. */
static bool unpack(struct coercion *c, const struct ch_violation *v, struct fix *fix) {
    struct ch_sv s = from_python(ch_sv_trim(ch_json_str(v->at)));
    const struct ch_json *inner;
    if (ch_json_parse(c->arena, s, CH_JSON_STRICT, &inner, NULL, NULL) < 0)
        return false;
    if (inner->type == CH_JSON_STRING || !(v->want >> inner->type & 1))
        return false;
    if (inner->type == CH_JSON_NUMBER && v->want_integer && !ch_number_is_integer(inner))
        return false;
    *fix = (struct fix){v->at, s, name_change(inner)};
    return true;
}

static struct ch_sv written(struct coercion *c, const struct ch_json *v, const char *before,
                            const char *after) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    ch_buf_add_str(&text, before);
    ch_jw_value(&w, v);
    ch_buf_add_str(&text, after);
    return ch_arena_sv(c->arena, ch_buf_sv(&text));
}

/* Plan a correction that certainly fixes the type. */
static bool plan_certain(struct coercion *c, const struct ch_violation *v, struct fix *fix) {
    enum ch_json_type type = (enum ch_json_type)v->at->type;
    if (v->unknown_key && c->flags & CH_COERCE_DROP_UNKNOWN) {
        *fix = (struct fix){.at = v->at, .what = "unknown key dropped"};
        return true;
    }
    if (type == CH_JSON_STRING)
        return unpack(c, v, fix);
    bool scalar = type == CH_JSON_NUMBER || type == CH_JSON_TRUE || type == CH_JSON_FALSE;
    if (!scalar || !(v->want & CH_BIT_STRING))
        return false;
    const char *what = type == CH_JSON_NUMBER ? "number to string" : "boolean to string";
    *fix = (struct fix){v->at, written(c, v->at, "\"", "\""), what};
    return true;
}

/* Whether v is a member of an object, not an element or the root. */
static bool is_member(const struct ch_json *root, const struct ch_json *at) {
    const struct ch_json *name = NULL;
    size_t i;
    while (root != at)
        root = ch_json_toward(root, at, &name, &i);
    return name != NULL;
}

/* Plan a correction that may not help. */
static bool plan_guess(struct coercion *c, const struct ch_violation *v, struct fix *fix) {
    bool list = (v->want & ~CH_BIT_NULL) == CH_BIT_ARRAY && v->at->type != CH_JSON_ARRAY;
    bool null = v->at->type == CH_JSON_NULL && c->flags & CH_COERCE_DROP_NULL;
    if (null && is_member(c->value, v->at)) {
        *fix = (struct fix){.at = v->at, .what = "null dropped"};
        return true;
    }
    if (!list || v->at->type == CH_JSON_NULL)
        return false;
    *fix = (struct fix){v->at, written(c, v->at, "[", "]"), "one value to array"};
    return true;
}

/* --- writing ------------------------------------------------------------------- */

struct writing {
    struct ch_jw w;
    const struct fix *next, *end; /* in document order */
};

/* The correction of exactly this node, or NULL. Skips corrections inside
 * dropped or replaced values. */
static const struct fix *fix_of(struct writing *w, const struct ch_json *v) {
    while (w->next < w->end && w->next->at < v)
        w->next++;
    return w->next < w->end && w->next->at == v ? w->next : NULL;
}

/* The reader's depth limit bounds the recursion. */
static void write_fixed(struct writing *w, const struct ch_json *v) {
    const struct fix *fix = fix_of(w, v);
    bool untouched = w->next == w->end || w->next->at >= ch_json_next(v);
    if (fix) {
        ch_jw_raw(&w->w, fix->text);
    } else if (untouched || v->type < CH_JSON_ARRAY) {
        ch_jw_value(&w->w, v);
    } else if (v->type == CH_JSON_ARRAY) {
        ch_jw_begin(&w->w, '[');
        for (CH_JSON_EACH(e, v))
            write_fixed(w, e);
        ch_jw_end(&w->w, ']');
    } else {
        ch_jw_begin(&w->w, '{');
        for (CH_JSON_MEMBERS(name, e, v)) {
            fix = fix_of(w, e);
            if (fix && !fix->text.p)
                continue;
            ch_jw_key_sv(&w->w, ch_json_str(name));
            write_fixed(w, e);
        }
        ch_jw_end(&w->w, '}');
    }
}

static int schema_coerce_by_place(const void *pa, const void *pb) {
    const struct fix *a = pa, *b = pb;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Apply the corrections; returns a new tree. */
static const struct ch_json *schema_coerce_apply(struct coercion *c, struct fix *fixes, size_t n,
                                                 struct ch_sv *text) {
    CH_BUF_AUTO out = {.max = CH_LIMIT_JSON_TEXT};
    const struct ch_json *value;
    qsort(fixes, n, sizeof(fixes[0]), schema_coerce_by_place);
    struct writing w = {ch_jw(&out), fixes, fixes + n};
    write_fixed(&w, c->value);
    if (out.overflow)
        return NULL;
    *text = ch_arena_sv(c->arena, ch_buf_sv(&out));
    if (ch_json_parse(c->arena, *text, CH_JSON_STRICT, &value, NULL, NULL) < 0)
        return NULL; /* unpacked JSON is too deep */
    return value;
}

/* --- rounds ---------------------------------------------------------------------- */

static struct ch_sv shown(struct coercion *c, struct ch_sv text) {
    struct ch_sv head = ch_utf8_cut(text, SHOWN);
    if (head.n == text.n)
        return text;
    return ch_sv_str(ch_arena_printf(c->arena, "%.*s\xe2\x80\xa6", CH_SV_FMT(head)));
}

static void schema_coerce_note(struct coercion *c, const struct fix *fix) {
    CH_BUF_AUTO path = {0};
    struct ch_changes *all = c->changes;
    if (!all->list)
        all->list = ch_arena_alloc(c->arena, CH_LIMIT_COERCIONS * sizeof(all->list[0]));
    ch_json_pointer_to(c->value, fix->at, &path);
    all->list[all->n++] = (struct ch_schema_change){
        .path = ch_arena_sv(c->arena, ch_buf_sv(&path)),
        .from = shown(c, written(c, fix->at, "", "")),
        .to = fix->text.p ? shown(c, fix->text) : CH_SV(""),
        .what = ch_sv_str(fix->what),
    };
}

static int schema_coerce_check(struct coercion *c, const struct ch_json *v,
                               struct ch_violations *left) {
    int verdict = ch_schema_check(c->schema, v, c->arena, left);
    c->fuel -= verdict == 0 ? 0 : 1000 + c->schema->spent;
    return verdict;
}

/* The constraints common to all violations of one value. */
static struct ch_violation merged(const struct coercion *c, size_t i) {
    struct ch_violation v = c->left->list[i];
    for (size_t k = 0; k < c->left->n; k++) {
        const struct ch_violation *other = &c->left->list[k];
        if (other->at != v.at || !other->want)
            continue;
        v.want &= other->want;
        v.want_integer |= other->want_integer;
    }
    return v;
}

static bool planned(const struct coercion *c, const struct ch_json *at) {
    for (size_t i = 0; i < c->n; i++)
        if (c->fixes[i].at == at)
            return true;
    return false;
}

static bool make_certain(struct coercion *c) {
    size_t room = CH_LIMIT_COERCIONS - c->changes->n;
    struct ch_sv text;
    c->n = 0;
    for (size_t i = 0; i < c->left->n && c->n < room; i++) {
        struct ch_violation v = merged(c, i);
        bool matters = v.want || v.unknown_key;
        if (matters && !planned(c, v.at) && plan_certain(c, &v, &c->fixes[c->n]))
            c->n++;
    }
    const struct ch_json *value = c->n ? schema_coerce_apply(c, c->fixes, c->n, &text) : NULL;
    if (!value)
        return false;
    for (size_t i = 0; i < c->n; i++)
        schema_coerce_note(c, &c->fixes[i]);
    c->value = value;
    c->text = text;
    c->verdict = schema_coerce_check(c, value, c->left);
    return true;
}

static bool try_guess(struct coercion *c, struct fix *fix) {
    struct ch_violations left;
    struct ch_sv text;
    const struct ch_json *value = schema_coerce_apply(c, fix, 1, &text);
    if (!value)
        return false;
    int verdict = schema_coerce_check(c, value, &left);
    if (left.total >= c->left->total || verdict == CHELA_ELIMIT)
        return false;
    schema_coerce_note(c, fix);
    c->value = value;
    c->text = text;
    c->verdict = verdict;
    *c->left = left;
    return true;
}

static bool make_guess(struct coercion *c) {
    for (size_t i = 0; i < c->left->n && c->changes->n < CH_LIMIT_COERCIONS; i++) {
        struct ch_violation v = merged(c, i);
        struct fix fix;
        if (c->fuel > 0 && v.want && plan_guess(c, &v, &fix) && try_guess(c, &fix))
            return true;
    }
    return false;
}

int ch_schema_coerce(struct ch_schema *s, const struct ch_json *v, unsigned flags,
                     struct ch_arena *arena, const struct ch_json **out, struct ch_sv *text,
                     struct ch_changes *changes, struct ch_violations *left) {
    *changes = (struct ch_changes){0};
    *out = v;
    *text = ch_sv(NULL, 0);
    int verdict = ch_schema_check(s, v, arena, left);
    if (verdict != CHELA_EINVAL)
        return verdict;
    CH_AUTOFREE struct coercion *c = ch_alloc(sizeof(*c));
    *c = (struct coercion){.schema = s,
                           .arena = arena,
                           .flags = flags,
                           .value = v,
                           .left = left,
                           .verdict = verdict,
                           .fuel = CH_LIMIT_SCHEMA_STEPS,
                           .changes = changes};
    for (int i = 0; i < ROUNDS && c->fuel > 0 && c->verdict == CHELA_EINVAL; i++)
        if (!make_certain(c) && !make_guess(c))
            break;
    *out = c->value;
    *text = c->text;
    return c->verdict;
}
