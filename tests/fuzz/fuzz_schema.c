/* fuzz_schema.c -- any schema against any value.
 *
 * The first line is a schema, every other line a value. Beyond not crashing
 * and coming to an end, these must hold:
 *   - the verdict and the report agree, and a report is never empty;
 *   - a violation's path leads to the value it speaks of, its texts are UTF-8;
 *   - coercion leaves a valid value alone, and what it calls valid is;
 *   - a cleaned schema is JSON and a schema. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "chela/schema.h"
#include "json/get.h"
#include "schema/schema.h"
#include "schema/schema_clean.h"
#include "schema/schema_lint.h"
#include "json/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                     \
    do {                                                            \
        if (!(x)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
            abort();                                                \
        }                                                           \
    } while (0)

/* A document for those that refer to one. */
static int load(void *user, struct ch_sv uri, struct ch_buf *text, struct chela_error *err) {
    (void)user;
    (void)err;
    if (!ch_sv_is(uri, "http://other/"))
        return CHELA_ENOENT;
    return ch_buf_add_str(text, "{\"$dynamicAnchor\":\"x\",\"items\":{\"$dynamicRef\":\"#x\"},"
                                "\"$defs\":{\"n\":{\"type\":\"number\"}}}");
}

static const struct ch_json *parse(struct ch_arena *a, struct ch_sv text) {
    const struct ch_json *v = NULL;
    return ch_json_parse(a, text, CH_JSON_STRICT, &v, NULL, NULL) == 0 ? v : NULL;
}

static const struct ch_json *follow(struct ch_arena *a, const struct ch_json *v,
                                    struct ch_sv pointer) {
    if (pointer.n == 0)
        return v;
    for (ch_sv_split(&pointer, '/'); v && pointer.p;)
        v = ch_json_step(a, v, ch_sv_split(&pointer, '/'));
    return v;
}

/* Names of which one is hidden by another cannot be told apart by a path. */
static bool hides(const struct ch_json *v) {
    for (const struct ch_json *at = v; at < ch_json_next(v); at++)
        for (CH_JSON_MEMBERS(name, value, at))
            if (ch_json_get_sv(at, ch_json_str(name)) != value)
                return true;
    return false;
}

static void check_violation(struct ch_arena *a, const struct ch_json *root, bool hidden,
                            const struct ch_violation *v) {
    CH_BUF_AUTO json = {0};
    MUST(ch_utf8_valid(v->path) && ch_utf8_valid(v->schema) && ch_utf8_valid(v->message));
    MUST(v->message.n > 0 && v->expected.n > 0);
    const struct ch_json *found = follow(a, root, v->path);
    MUST(hidden || found == v->at || found == v->at + 1);
    ch_violation_json(v, &json);
    MUST(parse(a, ch_buf_sv(&json)));
}

static void check_coercion(struct ch_schema *s, const struct ch_json *v, bool valid,
                           unsigned flags) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *out;
    struct ch_sv text;
    struct ch_changes changes;
    struct ch_violations left;
    int rc = ch_schema_coerce(s, v, flags, &a, &out, &text, &changes, &left);
    MUST((out == v) == (changes.n == 0) && (out == v) == (text.p == NULL));
    MUST(!valid || (rc == 0 && out == v));
    MUST(rc != 0 || ch_schema_valid(s, out));
    MUST((rc == 0) == (left.n == 0));
}

static void check_value(struct ch_schema *s, struct ch_sv text) {
    CH_ARENA_AUTO a = {0};
    struct ch_violations list;
    const struct ch_json *v = parse(&a, text);
    if (!v)
        return;
    bool valid = ch_schema_valid(s, v), hidden = hides(v);
    int rc = ch_schema_check(s, v, &a, &list);
    MUST(valid ? rc == 0 && list.n == 0 : rc < 0 && list.n > 0);
    for (size_t i = 0; i < list.n; i++)
        check_violation(&a, v, hidden, &list.list[i]);
    check_coercion(s, v, valid, 0);
    check_coercion(s, v, valid, CH_COERCE_DROP_UNKNOWN | CH_COERCE_DROP_NULL);
}

static void check_cleaning(const struct ch_json *schema) {
    CH_ARENA_AUTO a = {0};
    struct ch_lints lints;
    for (int target = CH_CLEAN_GEMINI; target <= CH_CLEAN_OPENAI_STRICT; target++) {
        CH_BUF_AUTO out = {0};
        CH_BUF_AUTO notes = {0};
        if (ch_schema_clean(schema, (enum ch_clean)target, &out, &notes, NULL) < 0)
            continue;
        MUST(parse(&a, ch_buf_sv(&out)));
    }
    ch_schema_lint(CH_SV("tool"), CH_SV("Does something."), schema, &a, &lints);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CH_ARENA_AUTO a = {0};
    struct ch_schema *s = NULL;
    struct chela_error err = {0};
    struct ch_schema_opts opts = {.assert_format = size % 2, .load = load};
    struct ch_sv rest = ch_sv((const char *)data, size), line = ch_sv_split(&rest, '\n');
    const struct ch_json *schema = parse(&a, line);
    if (!schema)
        return 0;
    int rc = ch_schema_new(schema, &opts, &s, &err);
    MUST((rc == 0) == (s != NULL) && (rc == 0 || err.message[0]));
    if (rc == 0)
        check_cleaning(schema);
    for (int i = 0; s && rest.p && i < 8; i++)
        check_value(s, ch_sv_split(&rest, '\n'));
    ch_schema_free(s);
    return 0;
}
