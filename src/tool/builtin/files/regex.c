/* regex.c -- see regex.h. A case-sensitive literal is searched with memmem, which is
 * faster. */
#include "tool/builtin/files/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"
#include "base/limits.h"

struct ch_regex {
    struct ch_sv literal; /* owned; p NULL: use code */
    pcre2_general_context *general;
    pcre2_match_context *match;
    pcre2_match_data *data;
    pcre2_code *code;
};

static void *regex_take(size_t n, void *user) {
    (void)user;
    return ch_malloc(n);
}

static void regex_give(void *p, void *user) {
    (void)user;
    ch_free(p);
}

static int regex_compile(struct ch_regex *r, struct ch_sv pattern, unsigned flags,
                         struct chela_error *err) {
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
    unsigned char why[128];
    size_t at;
    int code;

    if (flags & CH_REGEX_LITERAL)
        options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_LITERAL;
    else
        options |= PCRE2_UCP;
    if (flags & CH_REGEX_NOCASE)
        options |= PCRE2_CASELESS;
    pcre2_compile_context *context = pcre2_compile_context_create(r->general);
    r->code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, options, &code, &at, context);
    pcre2_compile_context_free(context);
    if (!r->code) {
        pcre2_get_error_message(code, why, sizeof(why));
        return ch_fail(err, CHELA_EINVAL, "%s, at character %zu", (char *)why, at + 1);
    }
    pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE); /* without JIT, matching is only slower */
    r->data = pcre2_match_data_create(1, r->general);
    return 0;
}

static void regex_open_contexts(struct ch_regex *r) {
    r->general = pcre2_general_context_create(regex_take, regex_give, NULL);
    r->match = pcre2_match_context_create(r->general);
    pcre2_set_match_limit(r->match, CH_LIMIT_PATTERN_STEPS);
    pcre2_set_depth_limit(r->match, CH_LIMIT_PATTERN_DEPTH);
    pcre2_set_heap_limit(r->match, CH_LIMIT_PATTERN_HEAP / CH_KB);
}

int ch_regex_new(struct ch_sv pattern, unsigned flags, struct ch_regex **out,
                 struct chela_error *err) {
    if (pattern.n > CH_LIMIT_PATTERN_TEXT)
        return ch_fail(err, CHELA_ELIMIT, "the pattern is longer than %zu bytes",
                       (size_t)CH_LIMIT_PATTERN_TEXT);
    CH_AUTO(ch_regex) r = ch_alloc(sizeof(*r));
    if (flags == CH_REGEX_LITERAL) {
        r->literal = ch_sv(ch_strndup(pattern.p, pattern.n), pattern.n);
    } else {
        regex_open_contexts(r);
        int rc = regex_compile(r, pattern, flags, err);
        if (rc < 0)
            return rc;
    }
    *out = CH_TAKE(r);
    return 0;
}

void ch_regex_free(struct ch_regex *r) {
    if (!r)
        return;
    pcre2_match_data_free(r->data);
    pcre2_code_free(r->code);
    pcre2_match_context_free(r->match);
    pcre2_general_context_free(r->general);
    ch_free((char *)r->literal.p);
    ch_free(r);
}

static int find_literal(const struct ch_regex *r, struct ch_sv line, size_t *start, size_t *end) {
    const char *at = memmem(line.p, line.n, r->literal.p, r->literal.n);

    if (!at)
        return 0;
    *start = (size_t)(at - line.p);
    *end = *start + r->literal.n;
    return 1;
}

int ch_regex_find(struct ch_regex *r, struct ch_sv line, size_t *start, size_t *end) {
    if (line.n == 0)
        line = CH_SV("");
    if (r->literal.p)
        return find_literal(r, line, start, end);
    int rc = pcre2_match(r->code, (PCRE2_SPTR)line.p, line.n, 0, 0, r->data, r->match);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) /* the JIT stack is small: retry without JIT */
        rc = pcre2_match(r->code, (PCRE2_SPTR)line.p, line.n, 0, PCRE2_NO_JIT, r->data, r->match);
    if (rc < 0)
        return rc == PCRE2_ERROR_NOMATCH ? 0 : CHELA_ELIMIT;
    const size_t *range = pcre2_get_ovector_pointer(r->data);
    *start = CH_MIN(range[0], range[1]);
    *end = CH_MAX(range[0], range[1]);
    return 1;
}
