/* eval_run.c -- runs the trials of an evaluation; see chela/eval.h.
 *
 * The trials of all cases alternate, so that a service which fails for a while does not fail one
 * case only. A trial that ends begins the next one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/handle/runtime.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/opts.h"
#include "base/sha256.h"
#include "chela/eval.h"
#include "eval/eval_judge.h"
#include "eval/eval_kept.h"
#include "eval/eval_score.h"
#include "eval/eval_trial.h"
#include "io/loop_entry.h"

#define DEFAULT_JOBS 4
#define KEY 16

struct eval;

struct slot { /* one trial at a time */
    struct eval *e;
    struct ch_eval_trial_opts o;
    size_t index; /* of the trial, from 0 */
    bool busy;
};

struct eval {
    chela_runtime *rt;
    struct chela_eval_opts opts;
    struct ch_eval_file *files; /* owned */
    size_t nfiles;
    struct ch_eval_score score;
    const char **agents, **models; /* owned, of each row: the variant; NULL: none */
    struct ch_eval_kept kept;
    struct slot *slots; /* owned */
    size_t next, total;
    unsigned busy;
    double dearest; /* cost of the dearest trial */
    int64_t began;
    unsigned begun_with; /* trials that had ended before */
    bool stopping, over;
    struct chela_error err;  /* of a trial; code 0: none */
    size_t judge, labelled;  /* next labelled answer */
    const struct ch_json **judge_checks; /* owned, of each judge */
    size_t judge_checks_cap;
    struct ch_task task;
};

/* --- kept trials ------------------------------------------------------------------------- */

static void hash_text(struct ch_sha256 *h, const char *text) {
    ch_sha256_add(h, text ? text : "", text ? strlen(text) : 0);
    ch_sha256_add(h, "", 1);
}

/* Everything that the trial depends on, and its number. */
static void trial_key(const struct eval *e, size_t index, char out[KEY + 1]) {
    size_t row = index % e->score.nrows;
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1], numbers[64];
    struct ch_sha256 h;
    CH_BUF_AUTO whole = {0};
    struct ch_jw w = ch_jw(&whole);
    ch_jw_value(&w, e->score.rows[row].c->whole);
    ch_sha256_init(&h);
    ch_sha256_add(&h, whole.p, whole.n);
    hash_text(&h, e->agents[row]);
    hash_text(&h, e->models[row]);
    hash_text(&h, e->opts.stamp);
    hash_text(&h, e->opts.workspace);
    snprintf(numbers, sizeof(numbers), "%zu %d %lld", index / e->score.nrows, e->opts.seed != NULL,
             (long long)e->score.seed);
    hash_text(&h, numbers);
    ch_sha256_end(&h, digest);
    ch_sha256_hex(digest, hex);
    memcpy(out, hex, KEY);
    out[KEY] = '\0';
}

static void score_add(struct eval *e, size_t index, const struct ch_eval_result *r) {
    struct ch_eval_score *s = &e->score;
    struct ch_eval_row *row = &s->rows[index % s->nrows];
    row->trials[index / s->nrows] = ch_strndup(r->json.p, r->json.n);
    row->tally.trials++;
    row->tally.passed += r->pass;
    row->cost += r->cost;
    row->agent = row->agent ? row->agent : ch_strdup(r->agent);
    row->model = row->model ? row->model : ch_strdup(r->model);
    s->ended++;
    s->passed += r->pass;
    s->invalid += r->invalid;
    s->failed += r->failed;
    s->unpriced |= r->unpriced;
    s->cost += r->cost;
    e->dearest = fmax(e->dearest, r->cost);
}

struct known { /* keys of all trials, sorted */
    char key[KEY + 1];
    size_t index;
};

struct knowing {
    struct eval *e;
    struct known *list;
};

static int by_key(const void *a, const void *b) {
    return memcmp(a, b, KEY);
}

static void take_kept(const struct ch_json *line, void *user) {
    struct knowing *k = user;
    struct ch_eval_score *s = &k->e->score;
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO json = {0};
    struct ch_sv key = ch_json_get_str(line, "key");
    const struct known *found =
        key.n == KEY ? bsearch(key.p, k->list, k->e->total, sizeof(*k->list), by_key) : NULL;
    if (!found || s->rows[found->index % s->nrows].trials[found->index / s->nrows])
        return;
    struct ch_jw w = ch_jw(&json);
    ch_jw_value(&w, ch_json_get(line, "trial"));
    struct ch_eval_result r = {
        .pass = ch_json_bool(ch_json_get(line, "pass"), false),
        .invalid = ch_json_bool(ch_json_get(line, "invalid"), false),
        .failed = ch_json_bool(ch_json_get(line, "failed"), false),
        .unpriced = ch_json_bool(ch_json_get(line, "unpriced"), false),
        .cost = ch_json_double(ch_json_get(line, "cost"), 0),
        .agent = ch_arena_text(&arena, ch_json_get_str(line, "agent")),
        .model = ch_arena_text(&arena, ch_json_get_str(line, "model")),
        .json = ch_buf_sv(&json)};
    score_add(k->e, found->index, &r);
    s->reused++;
}

static int open_kept(struct eval *e, struct chela_error *err) {
    struct knowing k = {.e = e, .list = ch_alloc((e->total + 1) * sizeof(*k.list))};
    for (size_t i = 0; e->opts.kept && i < e->total; i++) {
        trial_key(e, i, k.list[i].key);
        k.list[i].index = i;
    }
    qsort(k.list, e->total, sizeof(*k.list), by_key);
    int rc = ch_eval_kept_open(&e->kept, e->opts.kept, e->opts.scratch, take_kept, &k, err);
    e->begun_with = e->score.ended;
    ch_free(k.list);
    return rc;
}

static void keep(struct eval *e, size_t index, const struct ch_eval_result *r) {
    CH_BUF_AUTO line = {0};
    struct ch_jw w = ch_jw(&line);
    char key[KEY + 1];
    struct chela_error err = {0};
    if (e->kept.fd < 0)
        return;
    trial_key(e, index, key);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "key", key);
    ch_jw_kcstr(&w, "agent", r->agent);
    ch_jw_kcstr(&w, "model", r->model);
    ch_jw_kbool(&w, "pass", r->pass);
    ch_jw_kbool(&w, "invalid", r->invalid);
    ch_jw_kbool(&w, "failed", r->failed);
    ch_jw_kbool(&w, "unpriced", r->unpriced);
    ch_jw_kdouble(&w, "cost", r->cost);
    ch_jw_kraw(&w, "trial", r->json);
    ch_jw_end(&w, '}');
    if (ch_eval_kept_add(&e->kept, ch_buf_sv(&line), &err) < 0 && !e->err.code)
        e->err = err;
}

/* --- trials ------------------------------------------------------------------------------ */

static void start_trials(struct eval *e);

static void tell_progress(struct eval *e) {
    const struct ch_eval_score *s = &e->score;
    unsigned now = s->ended - e->begun_with;
    int64_t ms = ch_mono_ms(&ch_clock_system) - e->began;
    struct chela_eval_progress p = {
        .ended = s->ended, .total = (unsigned)e->total, .passed = s->passed, .reused = s->reused,
        .cost_usd = s->cost, .ms_left = now ? ms * (int64_t)(e->total - s->ended) / now : -1};
    if (e->opts.progress && e->opts.progress(&p, e->opts.user) != 0)
        e->stopping = true;
}

/* A budget without prices would not hold. */
static void check_prices(struct eval *e, const struct ch_eval_result *r) {
    if (e->opts.budget_usd > 0 && r->unpriced && !e->err.code)
        ch_fail(&e->err, CHELA_EINVAL,
                "the price of a model is unknown (%s), so that the budget cannot hold: set the "
                "price in the configuration (providers.NAME.models), or use no budget",
                r->model ? r->model : "?");
}

static void eval_on_trial(const struct ch_eval_result *r, void *user) {
    struct slot *slot = user;
    struct eval *e = slot->e;
    slot->busy = false;
    e->busy--;
    if (r->err) {
        if (!e->err.code)
            e->err = *r->err;
    } else {
        score_add(e, slot->index, r);
        keep(e, slot->index, r);
        check_prices(e, r);
        tell_progress(e);
    }
    start_trials(e);
}

/* Whether one more trial may exceed the budget: trials cost as much as the dearest so far. The
 * first one runs alone. */
static bool is_too_dear(const struct eval *e) {
    double most = e->opts.budget_usd;
    if (most <= 0)
        return false;
    if (!e->score.ended)
        return e->busy > 0;
    return e->score.cost + e->dearest * (e->busy + 1) > most;
}

static bool is_done(const struct eval *e, size_t index) {
    return e->score.rows[index % e->score.nrows].trials[index / e->score.nrows] != NULL;
}

static void start_labelled(struct ch_task *task);

static void eval_finish(struct eval *e) {
    if (e->busy)
        return;
    e->score.complete = e->score.ended == e->total;
    if (e->err.code || !e->score.complete) {
        e->over = true;
        return;
    }
    e->task.fn = start_labelled;
    ch_task_defer(e->rt->loop, &e->task);
}

static void start_trial(struct eval *e, struct slot *slot, size_t index) {
    size_t row = index % e->score.nrows;
    slot->index = index;
    slot->busy = true;
    slot->o = (struct ch_eval_trial_opts){.rt = e->rt,
                                          .eval = &e->opts,
                                          .c = e->score.rows[row].c,
                                          .agent = e->agents[row],
                                          .model = e->models[row],
                                          .n = (unsigned)(index / e->score.nrows) + 1};
    e->busy++;
    ch_eval_trial_start(&slot->o, eval_on_trial, slot);
}

static void start_trials(struct eval *e) {
    for (size_t i = 0; i < e->opts.jobs && !e->stopping && !e->err.code; i++) {
        while (e->next < e->total && is_done(e, e->next))
            e->next++;
        if (e->next >= e->total)
            break;
        if (is_too_dear(e)) {
            e->score.over_budget |= !e->busy;
            break;
        }
        if (!e->slots[i].busy)
            start_trial(e, &e->slots[i], e->next++);
    }
    eval_finish(e);
}

/* --- labelled answers -------------------------------------------------------------------- */

static const char *judge_model(const struct eval *e, const struct ch_eval_judge_score *j) {
    const char *like = e->opts.judge ? e->opts.judge->model : NULL;
    return j->model ? j->model : like ? like : e->score.rows[0].model;
}

static void eval_on_verdict(const struct ch_eval_verdict *v, void *user) {
    struct eval *e = user;
    struct ch_eval_judge_score *j = &e->score.judges[e->judge];
    const struct ch_json *list = ch_json_get(e->judge_checks[e->judge], "labelled");
    bool right = ch_json_bool(ch_json_get(ch_json_at(list, e->labelled++), "pass"), false);
    j->asked++;
    j->invalid += !v->valid;
    if (v->valid && right)
        v->pass ? j->agreement.yes_yes++ : j->agreement.no_yes++;
    else if (v->valid)
        v->pass ? j->agreement.yes_no++ : j->agreement.no_no++;
    else
        right ? j->agreement.no_yes++ : j->agreement.yes_no++; /* never in agreement */
    e->score.cost += v->cost > 0 ? v->cost : 0;
    e->task.fn = start_labelled;
    ch_task_defer(e->rt->loop, &e->task);
}

/* Asks about the next labelled answer. */
static void start_labelled(struct ch_task *task) {
    struct eval *e = CH_CONTAINER(task, struct eval, task);
    const struct ch_json *list = NULL;
    while (e->judge < e->score.njudges) {
        list = ch_json_get(e->judge_checks[e->judge], "labelled");
        if (list && e->labelled < list->n)
            break;
        e->judge++;
        e->labelled = 0;
    }
    if (e->judge >= e->score.njudges) {
        e->over = true;
        return;
    }
    struct ch_eval_question q = ch_eval_judge_question(e->judge_checks[e->judge]);
    q.answer = ch_json_get_str(ch_json_at(list, e->labelled), "answer");
    q.task = CH_SV("(not given)");
    q.model = judge_model(e, &e->score.judges[e->judge]);
    if (ch_eval_judge(e->rt, e->opts.judge, &q, eval_on_verdict, e, &e->err) < 0)
        e->over = true;
}

static void add_judge(struct eval *e, struct ch_eval_file *f, const struct ch_eval_case *c,
                      const struct ch_eval_check *k) {
    struct ch_eval_score *s = &e->score;
    struct ch_sv rubric = ch_eval_judge_question(k->json).rubric;
    struct ch_sv model = ch_json_get_str(k->json, "model");
    for (size_t i = 0; i < s->njudges; i++)
        if (ch_sv_eq(s->judges[i].rubric, rubric) && ch_sv_is(model, s->judges[i].model)) {
            if (!ch_json_get(e->judge_checks[i], "labelled"))
                e->judge_checks[i] = k->json;
            return;
        }
    CH_GROW(e->judge_checks, s->njudges, e->judge_checks_cap, 8);
    CH_GROW(s->judges, s->njudges, s->judges_cap, 8);
    e->judge_checks[s->njudges] = k->json;
    s->judges[s->njudges++] =
        (struct ch_eval_judge_score){.rubric = rubric,
                                     .model = model.n ? ch_arena_text(&f->arena, model) : NULL,
                                     .label = k->label,
                                     .of = c->name};
}

/* --- cases and variants ------------------------------------------------------------------ */

static int read_files(struct eval *e, struct chela_error *err) {
    int rc = 0;
    if (!e->opts.nfiles)
        return ch_fail(err, CHELA_EINVAL, "there is no file of cases");
    if (e->opts.nfiles > CH_LIMIT_EVAL_FILES)
        return ch_fail(err, CHELA_ELIMIT, "more than %d files of cases", CH_LIMIT_EVAL_FILES);
    e->files = ch_alloc(e->opts.nfiles * sizeof(*e->files));
    for (size_t i = 0; rc == 0 && i < e->opts.nfiles; i++) {
        const struct chela_eval_file *f = &e->opts.files[i];
        e->nfiles++;
        rc = ch_eval_file_read(&e->files[i], ch_sv(f->text, f->len), f->name, err);
    }
    return rc;
}

static size_t count_of(const char *const *list) {
    size_t n = 0;
    while (list && list[n])
        n++;
    return n ? n : 1;
}

static void add_rows(struct eval *e, struct ch_eval_file *f) {
    size_t agents = count_of(e->opts.agents), models = count_of(e->opts.models);
    for (size_t i = 0; i < f->n; i++) {
        for (size_t v = 0; v < agents * models; v++) {
            size_t at = e->score.nrows++;
            e->score.rows[at].c = &f->list[i];
            e->score.rows[at].trials = ch_alloc(e->score.trials * sizeof(char *));
            e->agents[at] = e->opts.agents ? e->opts.agents[v / models] : NULL;
            e->models[at] = e->opts.models ? e->opts.models[v % models] : NULL;
        }
        for (size_t k = 0; k < f->list[i].nchecks; k++)
            if (f->list[i].checks[k].kind == CH_EVAL_JUDGE)
                add_judge(e, f, &f->list[i], &f->list[i].checks[k]);
    }
}

static int by_name(const void *a, const void *b) {
    const struct ch_eval_case *x = *(const struct ch_eval_case *const *)a,
                              *y = *(const struct ch_eval_case *const *)b;
    return strcmp(x->name, y->name);
}

/* Reports name cases, so that a name stands for one case, also of several files. */
static int check_names(const struct eval *e, size_t n, struct chela_error *err) {
    CH_AUTOFREE const struct ch_eval_case **list = ch_alloc((n + 1) * sizeof(*list));
    size_t at = 0;
    for (size_t i = 0; i < e->nfiles; i++)
        for (size_t k = 0; k < e->files[i].n; k++)
            list[at++] = &e->files[i].list[k];
    qsort(list, n, sizeof(*list), by_name);
    for (size_t i = 1; i < n; i++)
        if (strcmp(list[i - 1]->name, list[i]->name) == 0)
            return ch_fail(err, CHELA_EINVAL, "%s: case '%s': there is a case of that name in %s",
                           list[i]->where, list[i]->name, list[i - 1]->where);
    return 0;
}

static int make_rows(struct eval *e, struct chela_error *err) {
    size_t n = 0;
    for (size_t i = 0; i < e->nfiles; i++)
        n += e->files[i].n;
    int rc = check_names(e, n, err);
    size_t rows = n * count_of(e->opts.agents) * count_of(e->opts.models);
    if (rc == 0 && rows > 10 * CH_LIMIT_EVAL_CASES)
        rc = ch_fail(err, CHELA_ELIMIT, "more than %d cases, counted with their variants",
                     10 * CH_LIMIT_EVAL_CASES);
    if (rc < 0)
        return rc;
    e->score.trials = e->opts.trials;
    e->score.rows = ch_alloc(rows * sizeof(*e->score.rows));
    e->agents = ch_alloc(rows * sizeof(*e->agents));
    e->models = ch_alloc(rows * sizeof(*e->models));
    for (size_t i = 0; i < e->nfiles; i++)
        add_rows(e, &e->files[i]);
    e->total = rows * e->opts.trials;
    return 0;
}

/* --- the whole --------------------------------------------------------------------------- */

static int read_opts(struct eval *e, const struct chela_eval_opts *given, struct chela_error *err) {
    struct chela_eval_opts *o = &e->opts;
    int rc = CH_OPTS_NEED(chela_eval_opts, o, given, err);
    if (rc < 0)
        return rc;
    o->trials = o->trials ? o->trials : 1;
    o->jobs = o->jobs ? CH_MIN(o->jobs, CH_LIMIT_EVAL_JOBS) : DEFAULT_JOBS;
    e->score.seed = o->seed ? *o->seed : 1;
    if (!o->open || !o->scratch)
        return ch_fail(err, CHELA_EINVAL, "open and scratch are required");
    if (o->trials > CH_LIMIT_EVAL_TRIALS)
        return ch_fail(err, CHELA_ELIMIT, "more than %d trials of a case", CH_LIMIT_EVAL_TRIALS);
    if (o->budget_usd < 0 || !isfinite(o->budget_usd))
        return ch_fail(err, CHELA_EINVAL, "the budget must be 0 or more");
    return ch_loop_may_run(e->rt->loop, err);
}

static int run_trials(struct eval *e, struct chela_error *err) {
    e->slots = ch_alloc(e->opts.jobs * sizeof(*e->slots));
    for (size_t i = 0; i < e->opts.jobs; i++)
        e->slots[i].e = e;
    e->began = ch_mono_ms(&ch_clock_system);
    ch_loop_hold(e->rt->loop);
    start_trials(e);
    int rc = ch_loop_run(e->rt->loop, &e->over);
    ch_loop_release(e->rt->loop);
    if (rc < 0)
        return ch_fail(err, rc, "the evaluation was ended");
    return e->err.code ? ch_fail(err, e->err.code, "%s", e->err.message) : 0;
}

static void eval_release(struct eval *e) {
    ch_eval_kept_close(&e->kept);
    ch_eval_score_release(&e->score);
    for (size_t i = 0; i < e->nfiles; i++)
        ch_eval_file_release(&e->files[i]);
    ch_free(e->files);
    ch_free(e->agents);
    ch_free(e->models);
    ch_free(e->slots);
    ch_free(e->judge_checks);
}

/* The report; with an earlier one, the report is compared and written once more. */
static char *make_report(struct eval *e, struct chela_error *err) {
    char *report = ch_eval_score_report(&e->score, err);
    char *against = report && e->opts.against
                        ? chela_eval_compare(report, e->opts.against, err)
                        : NULL;
    if (!report || !e->opts.against)
        return report;
    chela_free(report);
    e->score.against = against;
    report = against ? ch_eval_score_report(&e->score, err) : NULL;
    chela_free(against);
    return report;
}

char *chela_eval_run(chela_runtime *rt, const struct chela_eval_opts *opts,
                     struct chela_error *err) {
    CH_ENTER_OR(rt, rt->loop, err, NULL);
    struct eval e = {.rt = rt, .kept = {.fd = -1}};
    int rc = read_opts(&e, opts, err);
    if (rc == 0)
        rc = read_files(&e, err);
    if (rc == 0)
        rc = make_rows(&e, err);
    if (rc == 0)
        rc = open_kept(&e, err);
    if (rc == 0)
        rc = run_trials(&e, err);
    char *report = rc < 0 ? NULL : make_report(&e, err);
    eval_release(&e);
    return report;
}
