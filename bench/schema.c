/* schema.c -- how fast arguments are checked; bench/schema.mjs runs it beside
 * ajv.
 *
 *   schema SECONDS <schemas.json  [{"name", "schema", "valid": [], "invalid": []}]
 *
 * Prints a line "kind nanoseconds" for each kind: CPU time for one value,
 * the median of passes over all of them. Kinds: `validate` of values that were
 * read before, `parse+validate` of their compact texts, `report` of the
 * invalid ones with every violation put into words, and `compile` of one
 * schema. With a second argument, how long `validate` takes for the values of
 * each schema. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "schema/schema.h"
#include "json/writer.h"

struct item {
    struct ch_schema *schema;
    struct ch_sv text;
    const struct ch_json *value;
    bool valid;
};

struct set {
    const struct ch_json *schemas;
    struct item *items;
    size_t n;
    struct ch_arena kept, arena;
    size_t right; /* verdicts, so that none is optimised away */
};

static double cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static const struct ch_json *parse(struct ch_arena *a, struct ch_sv text) {
    const struct ch_json *v = NULL;
    if (ch_json_parse(a, text, CH_JSON_STRICT, &v, NULL, NULL) < 0)
        abort();
    return v;
}

static size_t validate_all(struct set *s) {
    for (size_t i = 0; i < s->n; i++)
        s->right += ch_schema_valid(s->items[i].schema, s->items[i].value) == s->items[i].valid;
    return s->n;
}

static size_t parse_and_validate_all(struct set *s) {
    for (size_t i = 0; i < s->n; i++) {
        ch_arena_clear(&s->arena);
        const struct ch_json *v = parse(&s->arena, s->items[i].text);
        s->right += ch_schema_valid(s->items[i].schema, v) == s->items[i].valid;
    }
    return s->n;
}

static size_t report_all(struct set *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct ch_violations list;
        if (s->items[i].valid)
            continue;
        ch_arena_clear(&s->arena);
        ch_schema_check(s->items[i].schema, s->items[i].value, &s->arena, &list);
        s->right += list.n > 0;
        n++;
    }
    return n;
}

static size_t compile_all(struct set *s) {
    size_t n = 0;
    for (CH_JSON_EACH(e, s->schemas)) {
        struct ch_schema *schema = NULL;
        s->right += ch_schema_new(ch_json_get(e, "schema"), NULL, &schema, NULL) == 0;
        ch_schema_free(schema);
        n++;
    }
    return n;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double measure(struct set *s, size_t (*pass)(struct set *), double seconds) {
    enum { SAMPLES = 15 };
    double took[SAMPLES];
    for (size_t i = 0; i < SAMPLES; i++) {
        double start = cpu_ns(), now = start;
        size_t done = 0, wanted = 0;
        s->right = 0;
        while (now - start < seconds * 1e9 / SAMPLES) {
            for (int k = 0; k < 32; k++)
                done += pass(s);
            now = cpu_ns();
        }
        wanted = done;
        if (s->right != wanted) {
            fprintf(stderr, "wrong verdicts: %zu of %zu\n", wanted - s->right, wanted);
            exit(1);
        }
        took[i] = (now - start) / (double)done;
    }
    qsort(took, SAMPLES, sizeof(took[0]), by_size);
    return took[SAMPLES / 2];
}

static void add_values(struct set *s, struct ch_schema *schema, const struct ch_json *values,
                       bool valid) {
    for (CH_JSON_EACH(v, values)) {
        CH_BUF_AUTO text = {0};
        struct ch_jw w = ch_jw(&text);
        ch_jw_value(&w, v);
        struct ch_sv copy = ch_arena_sv(&s->kept, ch_buf_sv(&text));
        s->items = ch_realloc(s->items, (s->n + 1) * sizeof(s->items[0]));
        s->items[s->n++] = (struct item){schema, copy, parse(&s->kept, copy), valid};
    }
}

static void add_schema(struct set *s, const struct ch_json *entry) {
    struct chela_error err = {0};
    struct ch_schema *schema = NULL;
    if (ch_schema_new(ch_json_get(entry, "schema"), NULL, &schema, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    add_values(s, schema, ch_json_get(entry, "valid"), true);
    add_values(s, schema, ch_json_get(entry, "invalid"), false);
}

static void measure_each(struct set *s, double seconds) {
    for (size_t i = 0; i < s->n;) {
        struct set one = {.items = s->items + i};
        while (i < s->n && s->items[i].schema == one.items[0].schema)
            one.n++, i++;
        printf("  %.60s %.1f\n", one.items[0].text.p, measure(&one, validate_all, seconds / 4));
    }
}

static void release(struct set *s) {
    for (size_t i = 0; i < s->n; i++)
        if (i == 0 || s->items[i].schema != s->items[i - 1].schema)
            ch_schema_free(s->items[i].schema);
    ch_free(s->items);
    ch_arena_release(&s->kept);
    ch_arena_release(&s->arena);
}

int main(int argc, char **argv) {
    CH_BUF_AUTO in = {0};
    CH_ARENA_AUTO arena = {0};
    struct set s = {0};
    char *room;
    size_t n;
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 0.3;

    while ((room = ch_buf_reserve(&in, 65536)) && (n = fread(room, 1, 65536, stdin)))
        ch_buf_commit(&in, n);
    s.schemas = parse(&arena, ch_buf_sv(&in));
    for (CH_JSON_EACH(e, s.schemas))
        add_schema(&s, e);
    printf("validate %.1f\n", measure(&s, validate_all, seconds));
    printf("parse+validate %.1f\n", measure(&s, parse_and_validate_all, seconds));
    printf("report %.1f\n", measure(&s, report_all, seconds));
    printf("compile %.1f\n", measure(&s, compile_all, seconds));
    if (argc > 2)
        measure_each(&s, seconds);
    release(&s);
    return 0;
}
