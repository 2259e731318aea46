/* value.c -- look up, compare and copy value trees. */
#include "json/value.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/mem.h"

/* Objects up to this size are compared member by member. Larger ones are sorted
 * first, so that no peer can make the comparison quadratic. */
#define SMALL_OBJECT 16

const struct ch_json *ch_json_get_sv(const struct ch_json *object, struct ch_sv key) {
    const struct ch_json *found = NULL;
    for (CH_JSON_MEMBERS(k, v, object))
        if (ch_sv_eq(ch_sv(k->s, k->n), key))
            found = v;
    return found;
}

const struct ch_json *ch_json_get(const struct ch_json *object, const char *key) {
    return ch_json_get_sv(object, ch_sv_str(key));
}

const struct ch_json *ch_json_at(const struct ch_json *array, size_t i) {
    if (!ch_json_is(array, CH_JSON_ARRAY) || i >= array->n)
        return NULL;
    const struct ch_json *e = array + 1;
    while (i-- > 0)
        e = ch_json_next(e);
    return e;
}

const struct ch_json *ch_json_path(const struct ch_json *v, ...) {
    va_list ap;
    va_start(ap, v);
    for (const char *key; v && (key = va_arg(ap, const char *));)
        v = ch_json_get(v, key);
    va_end(ap);
    return v;
}

bool ch_json_bool(const struct ch_json *v, bool otherwise) {
    if (ch_json_is(v, CH_JSON_TRUE))
        return true;
    return ch_json_is(v, CH_JSON_FALSE) ? false : otherwise;
}

int64_t ch_json_int(const struct ch_json *v, int64_t otherwise) {
    int64_t value;
    return ch_json_as_int(v, &value) ? value : otherwise;
}

const char *ch_json_type_name(enum ch_json_type type) {
    switch (type) {
    case CH_JSON_NULL:
        return "null";
    case CH_JSON_FALSE:
    case CH_JSON_TRUE:
        return "boolean";
    case CH_JSON_NUMBER:
        return "number";
    case CH_JSON_STRING:
        return "string";
    case CH_JSON_ARRAY:
        return "array";
    case CH_JSON_OBJECT:
        return "object";
    }
    return "unknown";
}

static int by_name(const char *a, size_t na, const char *b, size_t nb) {
    int order = memcmp(a, b, CH_MIN(na, nb));
    return order ? order : (na > nb) - (na < nb);
}

static int by_name_then_place(const void *pa, const void *pb) {
    const struct ch_json *a = *(const struct ch_json *const *)pa;
    const struct ch_json *b = *(const struct ch_json *const *)pb;
    int order = by_name(a->s, a->n, b->s, b->n);
    return order ? order : (a > b) - (a < b);
}

const struct ch_json **ch_json_sorted_keys(const struct ch_json *object) {
    const struct ch_json **keys = ch_malloc(object->n * sizeof(keys[0]));
    size_t i = 0;
    for (CH_JSON_MEMBERS(k, v, object))
        keys[i++] = k;
    qsort(keys, i, sizeof(keys[0]), by_name_then_place);
    return keys;
}

const struct ch_json *ch_json_find_sorted(const struct ch_json *const *keys, size_t n,
                                          struct ch_sv name) {
    const struct ch_json *found = NULL;
    for (size_t low = 0; low < n;) { /* the result is before keys[n] */
        size_t middle = low + (n - low) / 2;
        int order = by_name(keys[middle]->s, keys[middle]->n, name.p, name.n);
        if (order == 0)
            found = keys[middle] + 1;
        if (order <= 0)
            low = middle + 1;
        else
            n = middle;
    }
    return found;
}

bool ch_json_same_name(const struct ch_json *a, const struct ch_json *b) {
    return a->n == b->n && memcmp(a->s, b->s, a->n) == 0;
}

/* Keep the last member of each name; returns how many are left. */
static size_t drop_shadowed(const struct ch_json **keys, size_t n) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || !ch_json_same_name(keys[i], keys[i + 1]))
            keys[kept++] = keys[i];
    return kept;
}

static bool large_objects_equal(const struct ch_json *a, const struct ch_json *b) {
    CH_AUTOFREE const struct ch_json **ka = ch_json_sorted_keys(a);
    CH_AUTOFREE const struct ch_json **kb = ch_json_sorted_keys(b);
    size_t n = drop_shadowed(ka, a->n);
    if (n != drop_shadowed(kb, b->n))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!ch_json_same_name(ka[i], kb[i]))
            return false;
    for (size_t i = 0; i < n; i++)
        if (!ch_json_equal(ka[i] + 1, kb[i] + 1))
            return false;
    return true;
}

static size_t distinct_names(const struct ch_json *object) {
    size_t n = 0;
    for (CH_JSON_MEMBERS(k, v, object))
        n += ch_json_get_sv(object, ch_sv(k->s, k->n)) == v;
    return n;
}

static bool objects_equal(const struct ch_json *a, const struct ch_json *b) {
    if (CH_MAX(a->n, b->n) > SMALL_OBJECT)
        return large_objects_equal(a, b);
    if (distinct_names(a) != distinct_names(b))
        return false;
    for (CH_JSON_MEMBERS(k, v, a)) {
        struct ch_sv name = ch_sv(k->s, k->n);
        const struct ch_json *other = ch_json_get_sv(b, name);
        if (!other)
            return false;
        if (ch_json_get_sv(a, name) == v && !ch_json_equal(v, other))
            return false;
    }
    return true;
}

static bool arrays_equal(const struct ch_json *a, const struct ch_json *b) {
    const struct ch_json *other = b + 1;
    if (a->n != b->n)
        return false;
    for (CH_JSON_EACH(e, a)) {
        if (!ch_json_equal(e, other))
            return false;
        other = ch_json_next(other);
    }
    return true;
}

/* Recursion is bounded: the readers limit the depth to CH_LIMIT_JSON_DEPTH. */
bool ch_json_equal(const struct ch_json *a, const struct ch_json *b) {
    if (!a || !b || a->type != b->type)
        return a == b;
    switch ((enum ch_json_type)a->type) {
    case CH_JSON_NULL:
    case CH_JSON_FALSE:
    case CH_JSON_TRUE:
        return true;
    case CH_JSON_NUMBER:
        return ch_json_compare(a, b) == 0;
    case CH_JSON_STRING:
        return ch_json_same_name(a, b);
    case CH_JSON_ARRAY:
        return arrays_equal(a, b);
    case CH_JSON_OBJECT:
        return objects_equal(a, b);
    }
    return false;
}

static void value_add_token(struct ch_buf *out, const struct ch_json *name) {
    for (size_t i = 0; i < name->n; i++) {
        if (name->s[i] == '~' || name->s[i] == '/')
            ch_buf_add_str(out, name->s[i] == '~' ? "~0" : "~1");
        else
            ch_buf_addc(out, name->s[i]);
    }
}

/* Nodes are in document order: the result is the first child whose subtree ends
 * behind `at`. */
const struct ch_json *ch_json_toward(const struct ch_json *container, const struct ch_json *at,
                                     const struct ch_json **name, size_t *i) {
    bool object = container->type == CH_JSON_OBJECT;
    const struct ch_json *child = container + 1 + object;
    for (*i = 0; ch_json_next(child) <= at; ++*i)
        child = ch_json_next(child) + object;
    *name = object ? child - 1 : NULL;
    return child;
}

void ch_json_pointer_to(const struct ch_json *root, const struct ch_json *at, struct ch_buf *out) {
    const struct ch_json *name = NULL;
    size_t i;
    while (root != at && name != at) {
        root = ch_json_toward(root, at, &name, &i);
        ch_buf_addc(out, '/');
        if (name)
            value_add_token(out, name);
        else
            ch_buf_addf(out, "%zu", i);
    }
}

const struct ch_json *ch_json_copy(struct ch_arena *a, const struct ch_json *v) {
    size_t nodes = (size_t)(ch_json_next(v) - v);
    struct ch_json *copy = ch_arena_alloc(a, nodes * sizeof(*copy));
    memcpy(copy, v, nodes * sizeof(*copy));
    for (size_t i = 0; i < nodes; i++)
        if (copy[i].type == CH_JSON_STRING || copy[i].type == CH_JSON_NUMBER)
            copy[i].s = ch_arena_str(a, ch_sv(copy[i].s, copy[i].n));
    return copy;
}
