/* schema_pattern.c -- see schema_pattern.h. */
#include "schema/schema_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "schema/schema_ecma.h"

/* Compiling to machine code takes as long as some hundred matches. */
#define USES_BEFORE_JIT 64
#define FEW 32 /* this part of the steps is free; a unit of fuel pays for as many steps */

#define OPTIONS \
    (PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C)

struct ch_pattern {
    struct ch_pattern *next;
    struct ch_sv source; /* owned */
    pcre2_code *code;
    pcre2_match_data *data;     /* borrowed from ch_patterns, as the next */
    pcre2_match_context *match;
    unsigned uses;
    bool fast;   /* machine code is available */
    bool native; /* source is PCRE2 syntax */
};

static void *schema_pattern_take(size_t n, void *user) {
    (void)user;
    return ch_malloc(n);
}

static void schema_pattern_give(void *p, void *user) {
    (void)user;
    ch_free(p);
}

static void schema_pattern_open_contexts(struct ch_patterns *p) {
    if (p->general)
        return;
    p->general = pcre2_general_context_create(schema_pattern_take, schema_pattern_give, NULL);
    p->match = pcre2_match_context_create(p->general);
    p->data = pcre2_match_data_create(CH_PATTERN_GROUPS + 1, p->general);
    pcre2_set_depth_limit(p->match, CH_LIMIT_PATTERN_DEPTH);
    pcre2_set_heap_limit(p->match, CH_LIMIT_PATTERN_HEAP / CH_KB);
}

static void free_pattern(struct ch_pattern *p) {
    pcre2_code_free(p->code);
    ch_free((char *)p->source.p);
    ch_free(p);
}

void ch_patterns_release(struct ch_patterns *p) {
    for (struct ch_pattern *at = p->list, *next; at; at = next) {
        next = at->next;
        free_pattern(at);
    }
    pcre2_match_data_free(p->data);
    pcre2_match_context_free(p->match);
    pcre2_general_context_free(p->general);
    *p = (struct ch_patterns){0};
}

static pcre2_code *schema_pattern_compile(struct ch_patterns *p, struct ch_sv text,
                                          char reason[128]) {
    size_t at;
    int code;
    pcre2_compile_context *context = pcre2_compile_context_create(p->general);
    pcre2_code *out = pcre2_compile((PCRE2_SPTR)text.p, text.n, OPTIONS, &code, &at, context);
    pcre2_compile_context_free(context);
    if (!out)
        pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, 128);
    return out;
}

static struct ch_pattern *schema_pattern_find(const struct ch_patterns *p, struct ch_sv source,
                                              bool native) {
    struct ch_pattern *at = p->list;
    while (at && !(at->native == native && ch_sv_eq(at->source, source)))
        at = at->next;
    return at;
}

static struct ch_pattern *schema_pattern_keep(struct ch_patterns *p, struct ch_sv source,
                                              pcre2_code *code) {
    struct ch_pattern *new = ch_alloc(sizeof(*new));
    new->next = p->list;
    new->source = ch_sv(ch_strndup(source.n ? source.p : "", source.n), source.n);
    new->code = code;
    new->data = p->data;
    new->match = p->match;
    p->list = new;
    p->n++;
    return new;
}

int ch_patterns_add(struct ch_patterns *p, struct ch_sv source, struct ch_pattern **out,
                    struct chela_error *err) {
    CH_BUF_AUTO text = {.max = 64 * CH_LIMIT_PATTERN_TEXT};
    char reason[128];
    size_t at = 0;
    *out = schema_pattern_find(p, source, false);
    if (*out)
        return 0;
    if (p->n >= CH_LIMIT_PATTERNS)
        return ch_fail(err, CHELA_ELIMIT, "more than %d regular expressions", CH_LIMIT_PATTERNS);
    const char *why = ch_ecma_translate(source, &text, &at);
    if (why)
        return ch_fail(err, CHELA_EINVAL, "not a regular expression: %s (at byte %zu)", why, at);
    schema_pattern_open_contexts(p);
    pcre2_code *code = schema_pattern_compile(p, ch_buf_sv(&text), reason);
    if (!code)
        return ch_fail(err, CHELA_EINVAL, "this regular expression is not supported: %s", reason);
    *out = schema_pattern_keep(p, source, code);
    return 0;
}

int ch_patterns_add_native(struct ch_patterns *p, struct ch_sv source, struct ch_pattern **out,
                           struct chela_error *err) {
    char reason[128];
    *out = schema_pattern_find(p, source, true);
    if (*out)
        return 0;
    schema_pattern_open_contexts(p);
    pcre2_code *code = schema_pattern_compile(p, source, reason);
    if (!code)
        return ch_fail(err, CHELA_EINVAL, "%s", reason);
    *out = schema_pattern_keep(p, source, code);
    (*out)->native = true;
    return 0;
}

/* Match with machine code, which has a small stack of its own; on overflow
 * match again without it. */
static int match_fast(struct ch_pattern *p, struct ch_sv text) {
    int rc = pcre2_jit_match(p->code, (PCRE2_SPTR)text.p, text.n, 0, PCRE2_NO_UTF_CHECK, p->data,
                             p->match);
    if (rc != PCRE2_ERROR_JIT_STACKLIMIT)
        return rc;
    return pcre2_match(p->code, (PCRE2_SPTR)text.p, text.n, 0, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                       p->data, p->match);
}

static int match_plain(struct ch_pattern *p, struct ch_sv text) {
    if (++p->uses == USES_BEFORE_JIT)
        p->fast = pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE) == 0;
    return pcre2_match(p->code, (PCRE2_SPTR)text.p, text.n, 0, PCRE2_NO_UTF_CHECK, p->data,
                       p->match);
}

static int schema_pattern_match(struct ch_pattern *p, struct ch_sv text, size_t steps) {
    pcre2_set_match_limit(p->match, (uint32_t)CH_MIN(steps, UINT32_MAX));
    return p->fast ? match_fast(p, text) : match_plain(p, text);
}

/* PCRE2 does not tell the number of steps. A match that needs few steps is free. */
int ch_pattern_match(struct ch_pattern *p, struct ch_sv text, int64_t *fuel) {
    size_t steps = CH_LIMIT_PATTERN_STEPS + CH_LIMIT_PATTERN_STEPS_BYTE * text.n;
    if (text.n == 0)
        text = CH_SV("");
    int rc = schema_pattern_match(p, text, steps / FEW);
    if (rc == PCRE2_ERROR_MATCHLIMIT && (*fuel -= (int64_t)steps / FEW) >= 0)
        rc = schema_pattern_match(p, text, steps);
    if (rc >= 0)
        return 1;
    return rc == PCRE2_ERROR_NOMATCH ? 0 : CHELA_ELIMIT;
}

size_t ch_pattern_groups(const struct ch_pattern *p) {
    uint32_t n;
    pcre2_pattern_info(p->code, PCRE2_INFO_CAPTURECOUNT, &n);
    return n;
}

struct ch_sv ch_pattern_group(const struct ch_pattern *p, size_t i, struct ch_sv text) {
    const size_t *at = pcre2_get_ovector_pointer(p->data) + 2 * i;
    return at[0] == PCRE2_UNSET ? CH_SV("") : ch_sv(text.p + at[0], at[1] - at[0]);
}

struct ch_sv ch_pattern_source(const struct ch_pattern *p) {
    return p->source;
}
