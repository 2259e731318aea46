/* judge.c -- checks answers against the expectations of a case, and computes confidence
 * intervals of pass rates; see cases.h. */
#include "prompt/judge.h"

#include <math.h>

#include "base/error.h"
#include "base/utf8.h"
#include "json/writer.h"
#include "prompt/cases.h"
#include "prompt/tokens.h"

/* The input of an expectation; json is set if the text is JSON. */
struct look {
    const struct ch_case_outcome *o;
    const struct ch_json *json; /* NULL: the text is not JSON */
    const char *why_not;        /* the parse error */
    struct ch_arena *a;
};

/* The element of an array by its decimal number; NULL: none. */
static const struct ch_json *element_of(const struct ch_json *v, struct ch_sv number) {
    size_t i = 0;
    for (size_t k = 0; k < number.n; k++) {
        if (number.p[k] < '0' || number.p[k] > '9' || i > UINT32_MAX)
            return NULL;
        i = 10 * i + (size_t)(number.p[k] - '0');
    }
    return v->type == CH_JSON_ARRAY && number.n && i < v->n ? ch_json_at(v, i) : NULL;
}

/* "plan.0.step_id": members by name, elements by number. */
static const struct ch_json *field_of(const struct ch_json *v, const char *path) {
    struct ch_sv rest = ch_sv_str(path);
    while (v && rest.n) {
        struct ch_sv name = ch_sv_split(&rest, '.');
        v = v->type == CH_JSON_OBJECT ? ch_json_get_sv(v, name) : element_of(v, name);
    }
    return v;
}

static void judge_add_value(struct ch_buf *out, const struct ch_json *v) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    ch_jw_value(&w, v);
    ch_buf_add_sv(out, ch_utf8_cut(ch_buf_sv(&text), 200));
}

static bool judge_is_among(const struct ch_json *v, const struct ch_json *values) {
    for (CH_JSON_EACH(e, values))
        if (ch_json_equal(e, v))
            return true;
    return false;
}

static bool judge_field(const struct ch_expect *x, const struct look *l, struct ch_buf *why) {
    const struct ch_json *v = field_of(l->json, x->text);
    if (x->kind == CH_EXPECT_NO_FIELD) {
        if (!v)
            return true;
        ch_buf_addf(why, "no_field %s: it is there: ", x->text);
        judge_add_value(why, v);
        return false;
    }
    const char *name = x->kind == CH_EXPECT_HAS_FIELD ? "has_field" : "field_in";
    if (!v)
        ch_buf_addf(why, "%s %s: there is none", name, x->text);
    else if (x->kind == CH_EXPECT_HAS_FIELD || judge_is_among(v, x->values))
        return true;
    else {
        ch_buf_addf(why, "field_in %s: ", x->text);
        judge_add_value(why, v);
        ch_buf_add_str(why, " is not among ");
        judge_add_value(why, x->values);
    }
    return false;
}

static bool judge_schema(const struct ch_expect *x, const struct look *l, struct ch_buf *why) {
    struct ch_violations found = {0};
    if (ch_schema_check(x->schema, l->json, l->a, &found) == 0)
        return true;
    ch_buf_add_str(why, "schema: ");
    if (found.n)
        ch_buf_add_sv(why, found.list[0].message);
    return false;
}

static bool judge_calls(const struct ch_expect *x, const struct look *l, struct ch_buf *why) {
    bool none = strcmp(x->text, "none") == 0;
    for (size_t i = 0; i < l->o->ncalls; i++)
        if (!none && ch_sv_is(l->o->calls[i], x->text))
            return true;
    if (none && !l->o->ncalls)
        return true;
    ch_buf_addf(why, "calls_tool %s: ", x->text);
    for (size_t i = 0; i < l->o->ncalls; i++)
        ch_buf_addf(why, "%s%.*s", i ? ", " : "it called ", CH_SV_FMT(l->o->calls[i]));
    if (!l->o->ncalls)
        ch_buf_add_str(why, "it called no tool");
    return false;
}

static bool judge_text(const struct ch_expect *x, const struct look *l, struct ch_buf *why) {
    if (x->kind == CH_EXPECT_MATCHES) {
        CH_BUF_AUTO valid = {0};
        int64_t fuel = INT64_MAX; /* one match */
        ch_utf8_add_valid(&valid, l->o->text);
        if (ch_pattern_match(x->pattern, ch_buf_sv(&valid), &fuel) > 0)
            return true;
        ch_buf_addf(why, "matches %s: it does not", x->text);
        return false;
    }
    size_t tokens = ch_tokens(l->o->text);
    if (tokens <= (size_t)x->tokens)
        return true;
    ch_buf_addf(why, "max_tokens %lld: it has about %zu", (long long)x->tokens, tokens);
    return false;
}

static bool judge_one(const struct ch_expect *x, const struct look *l, struct ch_buf *why) {
    if (x->kind == CH_EXPECT_CALLS_TOOL)
        return judge_calls(x, l, why);
    if (x->kind == CH_EXPECT_MATCHES || x->kind == CH_EXPECT_MAX_TOKENS)
        return judge_text(x, l, why);
    if (!l->json) {
        ch_buf_addf(why, "json_valid: %s", l->why_not);
        return false;
    }
    if (x->kind == CH_EXPECT_JSON_VALID)
        return true;
    return x->kind == CH_EXPECT_SCHEMA ? judge_schema(x, l, why) : judge_field(x, l, why);
}

bool ch_case_judge(const struct ch_case *c, const struct ch_case_outcome *o, struct ch_buf *why) {
    CH_ARENA_AUTO a = {0};
    struct chela_error err = {0};
    struct look l = {.o = o, .a = &a};
    if (ch_json_parse(&a, o->text, CH_JSON_STRICT, &l.json, NULL, &err) < 0)
        l.why_not = err.message;
    for (size_t i = 0; i < c->n; i++)
        if (!judge_one(&c->expects[i], &l, why))
            return false;
    return true;
}

/* In a sample, a call is its name in angle brackets: "<calculator>". */
static struct ch_case_outcome sample(const char *text, struct ch_sv *call) {
    struct ch_sv s = ch_sv_str(text);
    bool calls = s.n > 2 && s.p[0] == '<' && s.p[s.n - 1] == '>' && !memchr(s.p, ' ', s.n);
    if (!calls)
        return (struct ch_case_outcome){.text = s};
    *call = ch_sv(s.p + 1, s.n - 2);
    return (struct ch_case_outcome){.text = CH_SV(""), .calls = call, .ncalls = 1};
}

int ch_case_check_samples(const struct ch_case *c, struct chela_error *err) {
    CH_BUF_AUTO why = {0};
    struct ch_sv call;
    if (c->good) {
        struct ch_case_outcome o = sample(c->good, &call);
        if (!ch_case_judge(c, &o, &why))
            return ch_fail(err, CHELA_EINVAL, "%s: %s: its good answer does not pass: %s",
                           c->where, c->name, ch_buf_str(&why));
    }
    for (size_t i = 0; c->bad && c->bad[i]; i++) {
        struct ch_case_outcome o = sample(c->bad[i], &call);
        if (ch_case_judge(c, &o, &why))
            return ch_fail(err, CHELA_EINVAL, "%s: %s: its bad answer passes: %s", c->where,
                           c->name, c->bad[i]);
    }
    return 0;
}

/* --- confidence intervals ------------------------------------------------------------- */

struct ch_rate ch_rate(size_t passed, size_t runs) {
    const double z = 1.959963984540054; /* 95%, two-sided */
    if (!runs)
        return (struct ch_rate){0, 0, 1};
    double n = (double)runs, p = (double)passed / n, square = z * z;
    double middle = (p + square / (2 * n)) / (1 + square / n);
    double half = z / (1 + square / n) * sqrt(p * (1 - p) / n + square / (4 * n * n));
    return (struct ch_rate){p, passed ? fmax(0, middle - half) : 0,
                            passed < runs ? fmin(1, middle + half) : 1};
}

struct ch_rate ch_rate_difference(struct ch_rate a, struct ch_rate b) {
    double d = a.rate - b.rate;
    return (struct ch_rate){d, d - hypot(a.rate - a.low, b.high - b.rate),
                            d + hypot(a.high - a.rate, b.rate - b.low)};
}
