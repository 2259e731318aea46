/* eval_score.c -- see eval_score.h. */
#include "eval/eval_score.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/grow.h"

#define MOST_TAGS 200 /* distinct tags and checks of a report */

void ch_eval_score_release(struct ch_eval_score *s) {
    for (size_t i = 0; i < s->nrows; i++) {
        for (size_t k = 0; s->rows[i].trials && k < s->trials; k++)
            ch_free(s->rows[i].trials[k]);
        ch_free(s->rows[i].trials);
        ch_free(s->rows[i].agent);
        ch_free(s->rows[i].model);
    }
    ch_free(s->rows);
    ch_free(s->judges);
    *s = (struct ch_eval_score){0};
}

static void write_share(struct ch_jw *w, const struct ch_eval_share *share) {
    ch_jw_kdouble(w, "pass", share->mean);
    ch_jw_kbegin(w, "interval", '[');
    ch_jw_double(w, share->low);
    ch_jw_double(w, share->high);
    ch_jw_end(w, ']');
}

/* --- cases ------------------------------------------------------------------------------- */

static void write_row(struct ch_jw *w, const struct ch_eval_score *s,
                      const struct ch_eval_row *row) {
    struct ch_eval_share share = ch_eval_share(row->tally.passed, row->tally.trials);
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", row->c->name);
    ch_jw_kcstr(w, "where", row->c->where);
    ch_jw_kcstr(w, "agent", row->agent);
    ch_jw_kcstr(w, "model", row->model);
    ch_jw_kbegin(w, "tags", '[');
    for (CH_JSON_EACH(e, row->c->tags))
        ch_jw_value(w, e);
    ch_jw_end(w, ']');
    write_share(w, &share);
    ch_jw_kdouble(w, "cost_usd", row->cost);
    ch_jw_kbegin(w, "trials", '[');
    for (size_t i = 0; i < s->trials; i++)
        if (row->trials[i])
            ch_jw_raw(w, ch_sv_str(row->trials[i]));
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
}

/* --- groups of cases: by tag, by variant ------------------------------------------------- */

struct group {
    struct ch_sv name, model;
    struct ch_eval_tally *list; /* owned */
    size_t n, cap;
    struct ch_eval_tally sum;
};

struct groups { /* zeroed: none */
    struct group *list; /* owned */
    size_t n, cap;
};

static struct group *group_of(struct groups *g, struct ch_sv name, struct ch_sv model) {
    for (size_t i = 0; i < g->n; i++)
        if (ch_sv_eq(g->list[i].name, name) && ch_sv_eq(g->list[i].model, model))
            return &g->list[i];
    if (g->n >= MOST_TAGS)
        return NULL;
    CH_GROW(g->list, g->n, g->cap, 8);
    g->list[g->n] = (struct group){.name = name, .model = model};
    return &g->list[g->n++];
}

static void group_add(struct group *k, struct ch_eval_tally t) {
    if (!k || !t.trials)
        return;
    CH_GROW(k->list, k->n, k->cap, 8);
    k->list[k->n++] = t;
}

static void groups_release(struct groups *g) {
    for (size_t i = 0; i < g->n; i++)
        ch_free(g->list[i].list);
    ch_free(g->list);
}

static void write_tags(struct ch_jw *w, const struct ch_eval_score *s) {
    struct groups g = {0};
    for (size_t i = 0; i < s->nrows; i++)
        for (CH_JSON_EACH(e, s->rows[i].c->tags))
            group_add(group_of(&g, ch_json_str(e), CH_SV("")), s->rows[i].tally);
    ch_jw_kbegin(w, "tags", '{');
    for (size_t i = 0; i < g.n; i++) {
        struct ch_eval_share share = ch_eval_over_cases(g.list[i].list, g.list[i].n);
        ch_jw_key_sv(w, g.list[i].name);
        ch_jw_begin(w, '{');
        write_share(w, &share);
        ch_jw_kint(w, "cases", (int64_t)g.list[i].n);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, '}');
    groups_release(&g);
}

static void write_variants(struct ch_jw *w, const struct ch_eval_score *s) {
    struct groups g = {0};
    for (size_t i = 0; i < s->nrows; i++)
        group_add(group_of(&g, ch_sv_str(s->rows[i].agent), ch_sv_str(s->rows[i].model)),
                  s->rows[i].tally);
    ch_jw_kbegin(w, "variants", '[');
    for (size_t i = 0; i < g.n; i++) {
        struct ch_eval_share share = ch_eval_over_cases(g.list[i].list, g.list[i].n);
        ch_jw_begin(w, '{');
        ch_jw_kstr(w, "agent", g.list[i].name);
        ch_jw_kstr(w, "model", g.list[i].model);
        write_share(w, &share);
        ch_jw_kint(w, "cases", (int64_t)g.list[i].n);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
    groups_release(&g);
}

/* Passes of each check, over all trials. */
static void write_checks(struct ch_jw *w, const struct ch_eval_score *s) {
    struct groups g = {0};
    CH_ARENA_AUTO names = {0};
    for (size_t i = 0; i < s->nrows * s->trials; i++) {
        const char *text = s->rows[i / s->trials].trials[i % s->trials];
        CH_ARENA_AUTO arena = {0};
        const struct ch_json *v = NULL;
        if (text)
            ch_json_parse(&arena, ch_sv_str(text), CH_JSON_STRICT, &v, NULL, NULL);
        for (CH_JSON_EACH(e, ch_json_get(v, "checks"))) {
            struct ch_sv label = ch_json_get_str(e, "check");
            size_t before = g.n;
            struct group *k = group_of(&g, label, CH_SV(""));
            if (g.n > before)
                k->name = ch_arena_sv(&names, label);
            if (k) {
                k->sum.trials++;
                k->sum.passed += ch_json_bool(ch_json_get(e, "pass"), false);
            }
        }
    }
    ch_jw_kbegin(w, "checks", '{');
    for (size_t i = 0; i < g.n; i++) {
        ch_jw_key_sv(w, g.list[i].name);
        ch_jw_begin(w, '{');
        ch_jw_kint(w, "passed", (int64_t)g.list[i].sum.passed);
        ch_jw_kint(w, "of", (int64_t)g.list[i].sum.trials);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, '}');
    groups_release(&g);
}

/* --- the summary ------------------------------------------------------------------------- */

static void write_pass_k(struct ch_jw *w, const struct ch_eval_score *s) {
    ch_jw_kbegin(w, "pass_k", '{');
    for (size_t k = 1; k <= s->trials; k++) {
        bool listed = k <= 10 || k == s->trials;
        double sum = 0;
        size_t n = 0;
        char key[24];
        for (size_t i = 0; listed && i < s->nrows; i++) {
            double share = ch_eval_pass_k(s->rows[i].tally, k);
            n += share >= 0;
            sum += share >= 0 ? share : 0;
        }
        if (!n)
            continue;
        snprintf(key, sizeof(key), "%zu", k);
        ch_jw_kdouble(w, key, sum / (double)n);
    }
    ch_jw_end(w, '}');
}

static void write_flaky(struct ch_jw *w, const struct ch_eval_score *s) {
    const char *last = NULL;
    ch_jw_kbegin(w, "flaky", '[');
    for (size_t i = 0; i < s->nrows; i++) {
        const struct ch_eval_row *row = &s->rows[i];
        bool flaky = row->tally.passed > 0 && row->tally.passed < row->tally.trials;
        if (!flaky || (last && strcmp(last, row->c->name) == 0))
            continue;
        last = row->c->name;
        ch_jw_cstr(w, last);
    }
    ch_jw_end(w, ']');
}

static void write_judge(struct ch_jw *w, const struct ch_eval_judge_score *j) {
    const struct ch_eval_agreement *a = &j->agreement;
    size_t right = a->yes_yes + a->no_no, n = right + a->yes_no + a->no_yes;
    struct ch_eval_share share = ch_eval_share(right, n);
    double yes = (double)(a->yes_yes + a->no_yes), no = (double)(a->yes_no + a->no_no);
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "check", j->label);
    ch_jw_kcstr(w, "case", j->of);
    ch_jw_kcstr(w, "model", j->model);
    ch_jw_kstr(w, "rubric", j->rubric);
    ch_jw_kint(w, "labelled", j->asked);
    ch_jw_kint(w, "invalid", j->invalid);
    ch_jw_kdouble(w, "agreement", n ? share.mean : (double)NAN);
    ch_jw_kbegin(w, "interval", '[');
    ch_jw_double(w, share.low);
    ch_jw_double(w, share.high);
    ch_jw_end(w, ']');
    ch_jw_kdouble(w, "kappa", ch_eval_kappa(a));
    ch_jw_kdouble(w, "true_positive_rate", yes > 0 ? (double)a->yes_yes / yes : (double)NAN);
    ch_jw_kdouble(w, "true_negative_rate", no > 0 ? (double)a->no_no / no : (double)NAN);
    ch_jw_end(w, '}');
}

static struct ch_eval_share score_share(const struct ch_eval_score *s) {
    CH_AUTOFREE struct ch_eval_tally *t = ch_alloc((s->nrows + 1) * sizeof(*t));
    for (size_t i = 0; i < s->nrows; i++)
        t[i] = s->rows[i].tally;
    return ch_eval_over_cases(t, s->nrows);
}

static void write_summary(struct ch_jw *w, const struct ch_eval_score *s) {
    struct ch_eval_share share = score_share(s);
    ch_jw_kbegin(w, "summary", '{');
    write_share(w, &share);
    ch_jw_kint(w, "cases", (int64_t)s->nrows);
    ch_jw_kint(w, "trials", s->ended);
    ch_jw_kint(w, "passed", s->passed);
    ch_jw_kint(w, "invalid", s->invalid);
    ch_jw_kint(w, "service_failures", s->failed);
    ch_jw_kint(w, "reused", s->reused);
    write_pass_k(w, s);
    write_flaky(w, s);
    ch_jw_kdouble(w, "cost_usd", s->cost);
    ch_jw_kbool(w, "cost_complete", !s->unpriced);
    ch_jw_kbegin(w, "judges", '[');
    for (size_t i = 0; i < s->njudges; i++)
        write_judge(w, &s->judges[i]);
    ch_jw_end(w, ']');
    if (s->against)
        ch_jw_kraw(w, "against", ch_sv_str(s->against));
    ch_jw_kint(w, "seed", s->seed);
    write_variants(w, s);
    write_tags(w, s);
    write_checks(w, s);
    ch_jw_end(w, '}');
}

char *ch_eval_score_report(const struct ch_eval_score *s, struct chela_error *err) {
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "cases", '[');
    for (size_t i = 0; i < s->nrows; i++)
        write_row(&w, s, &s->rows[i]);
    ch_jw_end(&w, ']');
    write_summary(&w, s);
    ch_jw_kbool(&w, "complete", s->complete);
    ch_jw_kbool(&w, "over_budget", s->over_budget);
    ch_jw_end(&w, '}');
    if (!out.overflow)
        return ch_buf_take(&out);
    ch_buf_release(&out);
    ch_fail(err, CHELA_ELIMIT, "the report is too large");
    return NULL;
}
