/* eval_compare.c -- compares two reports about the same cases; see chela/eval.h. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "chela/eval.h"
#include "eval/eval_stats.h"
#include "json/writer.h"

#define SIGNIFICANT 0.05
#define LEAST_DIFFERENT 6 /* fewer cases that differ cannot reach it */

struct entry { /* a case of a report, with its variant */
    struct ch_sv name, agent, model;
    double pass, cost;
    size_t trials;
    const struct entry *other; /* in the other report; NULL: none */
};

struct entries {
    struct entry *list; /* owned, sorted */
    size_t n;
};

static int by_text(struct ch_sv a, struct ch_sv b) {
    int order = memcmp(a.p ? a.p : "", b.p ? b.p : "", CH_MIN(a.n, b.n));
    return order ? order : a.n < b.n ? -1 : a.n > b.n;
}

static int by_entry(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    int order = by_text(x->name, y->name);
    order = order ? order : by_text(x->agent, y->agent);
    return order ? order : by_text(x->model, y->model);
}

static int read_report(struct ch_arena *arena, const char *text, struct entries *out,
                       struct chela_error *err) {
    const struct ch_json *v;
    int rc = ch_json_parse(arena, ch_sv_str(text ? text : ""), CH_JSON_STRICT, &v, NULL, err);
    if (rc < 0)
        return rc;
    const struct ch_json *cases = ch_json_get(v, "cases");
    if (!ch_json_is(cases, CH_JSON_ARRAY) || !ch_json_get(v, "summary"))
        return ch_fail(err, CHELA_EINVAL, "the text is not a report of an evaluation");
    out->list = ch_alloc((cases->n + 1) * sizeof(*out->list));
    for (CH_JSON_EACH(c, cases)) {
        const struct ch_json *trials = ch_json_get(c, "trials");
        if (!ch_json_is(trials, CH_JSON_ARRAY) || !trials->n)
            continue;
        out->list[out->n++] = (struct entry){.name = ch_json_get_str(c, "name"),
                                             .agent = ch_json_get_str(c, "agent"),
                                             .model = ch_json_get_str(c, "model"),
                                             .pass = ch_json_double(ch_json_get(c, "pass"), 0),
                                             .cost = ch_json_double(ch_json_get(c, "cost_usd"), 0),
                                             .trials = trials->n};
    }
    qsort(out->list, out->n, sizeof(*out->list), by_entry);
    return 0;
}

/* The entries of a name: first and number. */
static const struct entry *named(const struct entries *e, struct ch_sv name, size_t *n) {
    size_t low = 0, high = e->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_text(e->list[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (*n = 0; low + *n < e->n && ch_sv_eq(e->list[low + *n].name, name);)
        ++*n;
    return *n ? &e->list[low] : NULL;
}

/* A case with one variant in both reports is the same case, whatever the variant: a report about
 * another model is compared so. */
static const struct entry *find_other(const struct entries *own, const struct entries *others,
                                      const struct entry *e) {
    size_t mine, n;
    named(own, e->name, &mine);
    const struct entry *first = named(others, e->name, &n);
    if (mine == 1 && n == 1)
        return first;
    for (size_t i = 0; i < n; i++)
        if (by_entry(&first[i], e) == 0)
            return &first[i];
    return NULL;
}

struct comparison {
    size_t pairs, better, worse, missing;
    bool single; /* one trial of each case */
    double pass, earlier, p;
    struct ch_eval_share cost;
};

static void compare(struct entries *now, const struct entries *then, struct comparison *out) {
    double *d = ch_alloc(3 * (now->n + 1) * sizeof(*d)), *costs = d + now->n + 1,
           *before = costs + now->n + 1;
    out->single = true;
    for (size_t i = 0; i < now->n; i++) {
        struct entry *e = &now->list[i];
        e->other = find_other(now, then, e);
        if (!e->other)
            continue;
        costs[out->pairs] = e->cost;
        before[out->pairs] = e->other->cost;
        d[out->pairs++] = e->pass - e->other->pass;
        out->better += e->pass > e->other->pass;
        out->worse += e->pass < e->other->pass;
        out->single = out->single && e->trials == 1 && e->other->trials == 1;
        out->pass += e->pass;
        out->earlier += e->other->pass;
    }
    if (out->pairs) {
        out->pass /= (double)out->pairs;
        out->earlier /= (double)out->pairs;
        out->p = out->single ? ch_eval_mcnemar(out->better, out->worse)
                             : ch_eval_sign_flips(d, out->pairs, 1);
        out->cost = ch_eval_ratio(costs, before, out->pairs, 1);
    }
    out->missing = then->n > out->pairs ? then->n - out->pairs : 0;
    ch_free(d);
}

static const char *verdict(const struct comparison *c) {
    if (c->p >= SIGNIFICANT || c->pass == c->earlier)
        return "unclear";
    return c->pass > c->earlier ? "better" : "worse";
}

static void write_names(struct ch_jw *w, const char *key, const struct entries *now, bool better) {
    ch_jw_kbegin(w, key, '[');
    for (size_t i = 0; i < now->n; i++) {
        const struct entry *e = &now->list[i];
        if (e->other && (better ? e->pass > e->other->pass : e->pass < e->other->pass))
            ch_jw_str(w, e->name);
    }
    ch_jw_end(w, ']');
}

static char *write_comparison(const struct comparison *c, const struct entries *now) {
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    double share = (double)(c->better + c->worse) / (double)c->pairs;
    ch_jw_begin(&w, '{');
    ch_jw_kdouble(&w, "pass", c->earlier);
    ch_jw_kdouble(&w, "now", c->pass);
    ch_jw_kdouble(&w, "difference", c->pass - c->earlier);
    ch_jw_kint(&w, "better", (int64_t)c->better);
    ch_jw_kint(&w, "worse", (int64_t)c->worse);
    ch_jw_kint(&w, "same", (int64_t)(c->pairs - c->better - c->worse));
    ch_jw_kdouble(&w, "p", c->p);
    ch_jw_kcstr(&w, "test", c->single ? "McNemar, exact" : "sign flips by case");
    ch_jw_kcstr(&w, "verdict", verdict(c));
    ch_jw_kbool(&w, "could_tell", c->better + c->worse >= LEAST_DIFFERENT);
    ch_jw_kdouble(&w, "visible", ch_eval_visible(c->pairs, fmax(share, 1.0 / (double)c->pairs)));
    ch_jw_kint(&w, "missing", (int64_t)c->missing);
    ch_jw_kbegin(&w, "cost_ratio", '[');
    ch_jw_double(&w, c->cost.low);
    ch_jw_double(&w, c->cost.mean);
    ch_jw_double(&w, c->cost.high);
    ch_jw_end(&w, ']');
    write_names(&w, "better_cases", now, true);
    write_names(&w, "worse_cases", now, false);
    ch_jw_end(&w, '}');
    return ch_buf_take(&out);
}

char *chela_eval_compare(const char *report, const char *earlier, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct entries now = {0}, then = {0};
    struct comparison c = {.p = 1};
    char *out = NULL;
    int rc = read_report(&arena, report, &now, err);
    if (rc == 0)
        rc = read_report(&arena, earlier, &then, err);
    if (rc == 0)
        compare(&now, &then, &c);
    if (rc == 0 && !c.pairs)
        rc = ch_fail(err, CHELA_ENOENT, "the reports have no case in common");
    if (rc == 0)
        out = write_comparison(&c, &now);
    ch_free(now.list);
    ch_free(then.list);
    return out;
}
