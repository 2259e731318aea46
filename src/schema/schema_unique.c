/* schema_unique.c -- check that the elements of an array are distinct.
 *
 * Few elements are compared pairwise. Many are sorted by a hash that equal
 * values share, and only neighbours with the same hash are compared. Input made
 * to collide exhausts the fuel. */
#include "schema/schema_unique.h"

#include <stdlib.h>

#include "base/mem.h"
#include "json/number.h"
#include "schema/schema_run.h"
#include "json/value.h"

#define FEW 8

struct element {
    uint64_t hash;
    const struct ch_json *v;
    uint64_t index;
};

static uint64_t schema_unique_mix(uint64_t h) {
    h ^= h >> 32;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

static uint64_t hash_string(const struct ch_json *v) {
    uint64_t h = v->n;
    size_t i = 0;
    for (; i + 8 <= v->n; i += 8)
        h = schema_unique_mix(h ^ ch_word_load(v->s + i));
    return schema_unique_mix(h ^ ch_word_load_part(v->s + i, v->n - i));
}

static uint64_t hash_value(const struct ch_json *v);

static uint64_t hash_member(const struct ch_json *name) {
    return schema_unique_mix(hash_string(name) ^ 7 * hash_value(name + 1));
}

/* The sum over members, so that their order does not matter; of members with
 * the same name the last one is used. */
static uint64_t hash_object(const struct ch_json *v) {
    CH_AUTOFREE const struct ch_json **names = ch_json_sorted_keys(v);
    uint64_t h = CH_JSON_OBJECT;
    for (size_t i = 0; i < v->n; i++)
        if (i + 1 == v->n || !ch_json_same_name(names[i], names[i + 1]))
            h += hash_member(names[i]);
    return schema_unique_mix(h);
}

/* Equal values have equal hashes. The reader's depth limit bounds the
 * recursion. */
static uint64_t hash_value(const struct ch_json *v) {
    uint64_t h = v->type;
    switch ((enum ch_json_type)v->type) {
    case CH_JSON_NUMBER:
        return schema_unique_mix(ch_number_hash(v));
    case CH_JSON_STRING:
        return hash_string(v);
    case CH_JSON_ARRAY:
        for (CH_JSON_EACH(e, v))
            h = schema_unique_mix(h * 31 + hash_value(e));
        return h;
    case CH_JSON_OBJECT:
        return hash_object(v);
    default:
        return schema_unique_mix(h);
    }
}

/* The cost of a comparison: the nodes and, roughly, the text of both values. */
static int64_t schema_unique_cost(const struct ch_json *v) {
    bool text = v->type == CH_JSON_STRING || v->type == CH_JSON_NUMBER;
    return 1 + (text ? v->n / 64 : ch_json_next(v) - v);
}

static bool few_unique(const struct ch_json *array, int64_t *fuel, uint64_t *a, uint64_t *b) {
    *a = 0;
    for (CH_JSON_EACH(x, array)) {
        *b = *a + 1;
        *fuel -= schema_unique_cost(x);
        for (const struct ch_json *y = ch_json_next(x); y != x_end; y = ch_json_next(y)) {
            if (ch_json_equal(x, y))
                return false;
            ++*b;
        }
        ++*a;
    }
    return true;
}

static int by_hash(const void *pa, const void *pb) {
    const struct element *a = pa, *b = pb;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

bool ch_all_unique(const struct ch_json *array, int64_t *fuel, uint64_t *a, uint64_t *b) {
    *fuel -= (ch_json_next(array) - array) / 4;
    for (const struct ch_json *e = array; e < ch_json_next(array); e++)
        *fuel -= e->type < CH_JSON_ARRAY ? e->n / 64 : 0;
    if (*fuel < 0)
        return false;
    if (array->n <= FEW)
        return few_unique(array, fuel, a, b);
    CH_AUTOFREE struct element *list = ch_malloc(array->n * sizeof(*list));
    size_t n = 0;
    for (CH_JSON_EACH(e, array)) {
        list[n] = (struct element){hash_value(e), e, n};
        n++;
    }
    qsort(list, n, sizeof(*list), by_hash);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n && list[j].hash == list[i].hash; j++) {
            *fuel -= schema_unique_cost(list[i].v);
            if (*fuel < 0)
                return false;
            if (!ch_json_equal(list[i].v, list[j].v))
                continue;
            *a = list[i].index;
            *b = list[j].index;
            return false;
        }
    }
    return true;
}
