/* prompt_test.c -- tests a prompt on its cases; see chela/prompt.h.
 *
 * Each run has its own session and makes one model call. The rendered prompt is the whole
 * system prompt; tools are offered but never run. The caller limits the number of parallel
 * runs; a run that ends starts the next one. prompt/judge.c judges the answers. */
#include <math.h>

#include "agent/api/agent.h"
#include "agent/context/role_prompts.h"
#include "agent/handle/agent.h"
#include "agent/handle/session.h"
#include "agent/session/agent_parts.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/utf8.h"
#include "chela/prompt.h"
#include "io/loop_entry.h"
#include "json/writer.h"
#include "prompt/cases.h"
#include "prompt/judge.h"
#include "prompt/prompts.h"

#define MOST_FAILURES 5    /* failures that the report lists per case */
#define MOST_ANSWER 4000   /* bytes of an answer in the report */
#define MOST_PARALLEL 64
#define DEFAULT_RUNS 5
#define DEFAULT_PARALLEL 4
#define DEFAULT_THRESHOLD 0.9

struct test;

struct tried { /* one case */
    const struct ch_case *c;
    struct ch_prompt_text text;
    chela_agent *agent; /* owned by the runtime; NULL: no model is asked */
    size_t passed, done;
    struct ch_buf failures; /* JSON objects, separated by commas */
    size_t nfailures;
};

struct slot { /* one run */
    struct test *test;
    struct tried *tried; /* NULL: free */
    chela_session *session;
    struct ch_arena arena;
    struct ch_sv *calls;
    size_t ncalls, cap;
};

struct test {
    chela_runtime *rt;
    struct chela_prompt_test_opts opts;
    struct ch_agent_opts agent; /* opts.agent */
    const struct ch_prompt *prompt;
    const char *model; /* model name in the report */
    struct ch_cases cases;
    struct tried *tried; /* owned, one for each case */
    struct slot *slots;  /* owned */
    size_t next, ended, total; /* runs */
    struct chela_usage usage;
};

/* --- one run --------------------------------------------------------------------------- */

static void note_failure(struct tried *t, const char *why, struct ch_sv answer) {
    if (t->nfailures++ >= MOST_FAILURES)
        return;
    struct ch_jw w = ch_jw(&t->failures);
    w.comma = t->failures.n > 0;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "why", why);
    ch_jw_kstr(&w, "answer", ch_utf8_cut(answer, MOST_ANSWER));
    ch_jw_end(&w, '}');
}

static void count_run(struct test *test, struct tried *t, const struct ch_case_outcome *o,
                      const char *error) {
    CH_BUF_AUTO why = {0};
    bool passed = !error && ch_case_judge(t->c, o, &why);
    t->done++;
    t->passed += passed;
    if (!passed)
        note_failure(t, error ? error : ch_buf_str(&why), o->text);
    if (test->opts.progress)
        test->opts.progress((unsigned)++test->ended, (unsigned)test->total, test->opts.user);
}

static void note_call(struct slot *s, const struct chela_event *ev) {
    CH_GROW(s->calls, s->ncalls, s->cap, 8);
    s->calls[s->ncalls++] = ch_arena_sv(&s->arena, ch_sv(ev->call.name.p, ev->call.name.n));
}

static void prompt_test_add_usage(struct chela_usage *sum, const struct chela_usage *u) {
    sum->input += u->input;
    sum->output += u->output;
    sum->cost_usd = u->cost_usd < 0 || sum->cost_usd < 0 ? -1 : sum->cost_usd + u->cost_usd;
}

static void start_runs(struct test *test);

/* Ends a run. A reply that calls a tool pauses the run and also counts as an answer. */
static void end_run(struct slot *s, const struct chela_event *ev) {
    struct test *test = s->test;
    struct tried *tried = s->tried;
    CH_BUF_AUTO error = {0};
    struct ch_case_outcome o = {
        .text = ch_sv(ev->end.text.p, ev->end.text.n), .calls = s->calls, .ncalls = s->ncalls};
    if (ev->end.status == CHELA_STATUS_ERROR || ev->end.status == CHELA_STATUS_CANCELLED)
        ch_buf_addf(&error, "%s: %.*s", chela_reason_name(ev->end.reason), (int)ev->end.error.n,
                    ev->end.error.p);
    prompt_test_add_usage(&test->usage, &ev->end.usage);
    count_run(test, tried, &o, error.n ? ch_buf_str(&error) : NULL);
    chela_session_close(s->session);
    ch_arena_clear(&s->arena);
    s->session = NULL;
    s->tried = NULL;
    start_runs(test);
}

static void prompt_test_on_event(const struct chela_event *ev, void *user) {
    struct slot *s = user;
    if (!s->tried)
        return;
    if (ev->type == CHELA_EV_TOOL_CALL)
        note_call(s, ev);
    else if (ev->type == CHELA_EV_RUN_END)
        end_run(s, ev);
}

static int start_run(struct slot *s, struct tried *t, struct chela_error *err) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = prompt_test_on_event, .user = s,
                                                .prompt = s->test->prompt->fingerprint);
    int rc = chela_session_new(t->agent, NULL, &s->session, err);
    if (rc < 0)
        return rc;
    s->tried = t;
    s->ncalls = 0;
    rc = chela_run_start(s->session, ch_buf_str(&t->text.user), t->text.user.n, &opts, NULL, err);
    if (rc < 0) {
        chela_session_close(s->session);
        s->session = NULL;
        s->tried = NULL;
    }
    return rc;
}

/* Starts runs in all free slots. The runs of all cases alternate, so that a service that
 * fails for a while does not fail one case only. */
static void start_runs(struct test *test) {
    for (size_t i = 0; i < test->opts.parallel; i++) {
        struct slot *s = &test->slots[i];
        while (!s->tried && test->next < test->total) {
            struct tried *t = &test->tried[test->next++ % test->cases.n];
            struct chela_error err = {0};
            if (start_run(s, t, &err) < 0)
                count_run(test, t, &(struct ch_case_outcome){.text = CH_SV("")}, err.message);
        }
    }
}

static bool prompt_test_is_busy(const struct test *test) {
    for (size_t i = 0; i < test->opts.parallel; i++)
        if (test->slots[i].tried)
            return true;
    return false;
}

static int run_all(struct test *test) {
    int rc = 0;
    start_runs(test);
    while (rc == 0 && prompt_test_is_busy(test))
        rc = chela_runtime_run(test->rt);
    return rc;
}

/* --- agents, one for each case ----------------------------------------------------------- */

static enum chela_flow set_system(chela_run *run, struct chela_turn_patch *patch, void *user) {
    const struct tried *t = user;
    (void)run;
    patch->system = ch_buf_str(&t->text.system);
    return CHELA_GO;
}

static enum chela_flow hand_over(chela_run *run, struct chela_before_tool *call, void *user) {
    (void)run;
    (void)user;
    call->action = CHELA_TOOL_HAND_OVER;
    return CHELA_GO;
}

static int never_run(chela_call *call, void *user) {
    (void)user;
    chela_result_text(call, "", 0);
    return 0;
}

static int prompt_test_add_tools(chela_agent *agent, const struct ch_case *c,
                                 struct chela_error *err) {
    for (CH_JSON_EACH(e, c->tools)) {
        CH_BUF_AUTO name = {0};
        CH_BUF_AUTO about = {0};
        CH_BUF_AUTO schema = {0};
        const struct ch_json *parameters = ch_json_get(e, "parameters");
        ch_buf_add_sv(&name, ch_json_get_str(e, "name"));
        ch_buf_add_sv(&about, ch_json_get_str(e, "description"));
        struct ch_jw w = ch_jw(&schema);
        if (parameters)
            ch_jw_value(&w, parameters);
        else
            ch_jw_raw(&w, CH_SV("{\"type\":\"object\"}"));
        struct chela_tool_opts opts =
            CHELA_TOOL_OPTS(.name = ch_buf_str(&name), .description = ch_buf_str(&about),
                            .schema = ch_buf_str(&schema), .fn = never_run,
                            .effect = CHELA_EFFECT_READ, .permission = CHELA_PERM_READ);
        struct chela_error why = {0};
        int rc = chela_agent_add_tool(agent, &opts, &why);
        if (rc < 0)
            return ch_fail(err, rc, "%s: %s", c->where, why.message);
    }
    return 0;
}

static int prompt_test_open_agent(struct test *test, struct tried *t, struct chela_error *err) {
    struct ch_agent_opts opts = test->agent;
    opts.id = "prompt-test";
    opts.tools = opts.allow = opts.deny = opts.output_schema = NULL;
    opts.prompt.skills = "";
    opts.toolset.selection = CHELA_SELECTION_ALL;
    opts.system = "";
    opts.approve = CHELA_APPROVE_AUTO;
    opts.mode = CHELA_MODE_DEFAULT;
    opts.permission = CHELA_PERM_ADMIN;
    opts.limits.max_turns = 1;
    int rc = ch_agent_open(test->rt, &opts, &t->agent, err);
    if (rc == 0)
        rc = prompt_test_add_tools(t->agent, t->c, err);
    if (rc < 0)
        return rc;
    struct chela_hooks hooks =
        CHELA_HOOKS(.user = t, .before_model = set_system, .before_tool = hand_over);
    return chela_agent_hooks(t->agent, &hooks, err);
}

/* --- the report ------------------------------------------------------------------------- */

static void write_rate(struct ch_jw *w, size_t passed, size_t runs, double threshold) {
    struct ch_rate r = ch_rate(passed, runs);
    ch_jw_kint(w, "runs", (int64_t)runs);
    ch_jw_kint(w, "passed", (int64_t)passed);
    ch_jw_kdouble(w, "rate", r.rate);
    ch_jw_kdouble(w, "low", r.low);
    ch_jw_kdouble(w, "high", r.high);
    ch_jw_kbool(w, "ok", runs > 0 && r.rate >= threshold - 1e-9);
}

static void write_case(struct ch_jw *w, const struct test *test, const struct tried *t) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", t->c->name);
    ch_jw_kcstr(w, "kind", t->c->kind);
    if (test->opts.dry_run) {
        ch_jw_kbool(w, "ok", t->nfailures == 0);
        ch_jw_kstr(w, "user", ch_buf_sv(&t->text.user));
        ch_jw_kcstr(w, "good", t->c->good);
    } else {
        write_rate(w, t->passed, t->done, test->opts.threshold);
    }
    ch_jw_kbegin(w, "failures", '[');
    if (t->failures.n)
        ch_jw_raw(w, ch_buf_sv(&t->failures));
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
}

static bool all_ok(const struct test *test) {
    for (size_t i = 0; i < test->cases.n; i++) {
        const struct tried *t = &test->tried[i];
        double rate = t->done ? (double)t->passed / (double)t->done : 0;
        if (test->opts.dry_run ? t->nfailures > 0 : rate < test->opts.threshold - 1e-9)
            return false;
    }
    return true;
}

static char *write_report(const struct test *test) {
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    size_t passed = 0, runs = 0;
    for (size_t i = 0; i < test->cases.n; i++) {
        passed += test->tried[i].passed;
        runs += test->tried[i].done;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "prompt", test->prompt->name);
    ch_jw_kcstr(&w, "version", test->prompt->version);
    ch_jw_kcstr(&w, "fingerprint", test->prompt->fingerprint);
    ch_jw_kcstr(&w, "model", test->model);
    ch_jw_kint(&w, "ts", ch_now_ms(&ch_clock_system));
    ch_jw_kdouble(&w, "threshold", test->opts.threshold);
    write_rate(&w, passed, runs, 0);
    ch_jw_kbool(&w, "pass", all_ok(test));
    ch_jw_kbegin(&w, "usage", '{');
    ch_jw_kint(&w, "input", test->usage.input);
    ch_jw_kint(&w, "output", test->usage.output);
    ch_jw_kdouble(&w, "cost_usd", test->usage.cost_usd < 0 ? (double)NAN : test->usage.cost_usd);
    ch_jw_end(&w, '}');
    ch_jw_kbegin(&w, "cases", '[');
    for (size_t i = 0; i < test->cases.n; i++)
        write_case(&w, test, &test->tried[i]);
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    return ch_buf_take(&out);
}

/* --- all cases -------------------------------------------------------------------------- */

static int read_cases(struct test *test, struct chela_error *err) {
    const struct chela_prompt_test_opts *o = &test->opts;
    CH_BUF_AUTO text = {0};
    const char *where = o->cases_name ? o->cases_name : "cases";
    if (o->cases)
        return ch_cases_read(&test->cases, ch_sv(o->cases, o->cases_len), where, test->prompt,
                             err);
    int rc = ch_prompts_cases(test->rt->prompts, test->prompt->name, &text, &where, err);
    return rc < 0 ? rc : ch_cases_read(&test->cases, ch_buf_sv(&text), where, test->prompt, err);
}

static int render_case(struct test *test, struct tried *t, struct chela_error *err) {
    struct chela_error why = {0};
    int rc = ch_prompt_render(test->prompt, t->c->values, t->c->nvalues, &t->text, &why);
    if (rc < 0)
        return ch_fail(err, rc, "%s: %s: %s", t->c->where, t->c->name, why.message);
    if (test->opts.dry_run && ch_case_check_samples(t->c, &why) < 0)
        note_failure(t, why.message, CH_SV(""));
    return 0;
}

static int pick(struct test *test, struct chela_error *err) {
    const struct ch_prompts *c = ch_role_prompts(test->rt, err);
    test->model = test->opts.dry_run ? NULL
                  : test->agent.model ? test->agent.model
                                      : chela_default_model(test->rt, NULL);
    struct ch_prompt_query q = {.name = test->opts.name, .version = test->opts.version,
                                .model = test->model};
    test->prompt = c ? ch_prompts_pick(c, &q, err) : NULL;
    return test->prompt ? 0 : CHELA_ENOENT;
}

static int read_opts(struct test *test, const struct chela_prompt_test_opts *given,
                     struct chela_error *err) {
    struct chela_prompt_test_opts *o = &test->opts;
    int rc = CH_OPTS_NEED(chela_prompt_test_opts, o, given, err);
    if (rc == 0 && !o->name)
        rc = ch_fail(err, CHELA_EINVAL, "the name of the prompt is missing");
    if (rc == 0)
        rc = ch_agent_opts_read(o->agent, &test->agent, err);
    if (rc < 0)
        return rc;
    o->runs = o->runs ? o->runs : DEFAULT_RUNS;
    o->parallel = o->parallel ? CH_MIN(o->parallel, MOST_PARALLEL) : DEFAULT_PARALLEL;
    o->threshold = o->threshold > 0 ? o->threshold : DEFAULT_THRESHOLD;
    rc = ch_loop_may_run(test->rt->loop, err);
    if (rc < 0)
        return rc;
    if (o->runs > CH_LIMIT_CASE_RUNS)
        return ch_fail(err, CHELA_ELIMIT, "more than %d runs of a case", CH_LIMIT_CASE_RUNS);
    return o->threshold <= 1 ? 0 : ch_fail(err, CHELA_EINVAL, "the threshold must be from 0 to 1");
}

static int run_test(struct test *test, struct chela_error *err) {
    int rc = pick(test, err);
    if (rc == 0)
        rc = read_cases(test, err);
    if (rc < 0)
        return rc;
    test->tried = ch_alloc(test->cases.n * sizeof(*test->tried));
    test->slots = ch_alloc(test->opts.parallel * sizeof(*test->slots));
    for (size_t i = 0; i < test->opts.parallel; i++)
        test->slots[i].test = test;
    for (size_t i = 0; rc == 0 && i < test->cases.n; i++) {
        test->tried[i].c = &test->cases.list[i];
        rc = render_case(test, &test->tried[i], err);
        if (rc == 0 && !test->opts.dry_run)
            rc = prompt_test_open_agent(test, &test->tried[i], err);
    }
    if (rc < 0 || test->opts.dry_run)
        return rc;
    test->total = test->cases.n * test->opts.runs;
    return run_all(test);
}

static void prompt_test_release(struct test *test) {
    for (size_t i = 0; test->tried && i < test->cases.n; i++) {
        if (test->tried[i].agent)
            ch_agent_close(test->tried[i].agent);
        ch_prompt_text_release(&test->tried[i].text);
        ch_buf_release(&test->tried[i].failures);
    }
    for (size_t i = 0; test->slots && i < test->opts.parallel; i++) {
        ch_arena_release(&test->slots[i].arena);
        ch_free(test->slots[i].calls);
    }
    ch_free(test->tried);
    ch_free(test->slots);
    ch_cases_release(&test->cases);
}

char *chela_prompt_test(chela_runtime *rt, const struct chela_prompt_test_opts *opts,
                        struct chela_error *err) {
    CH_ENTER_OR(rt, rt->loop, err, NULL);
    struct test test = {.rt = rt};
    int rc = read_opts(&test, opts, err);
    if (rc == 0)
        rc = run_test(&test, err);
    char *report = rc < 0 ? NULL : write_report(&test);
    prompt_test_release(&test);
    return report;
}

/* --- comparison of two versions ---------------------------------------------------------- */

static struct ch_rate rate_in(const struct ch_json *report) {
    return ch_rate((size_t)ch_json_int(ch_json_get(report, "passed"), 0),
                   (size_t)ch_json_int(ch_json_get(report, "runs"), 0));
}

static const struct ch_json *case_in(const struct ch_json *report, struct ch_sv name) {
    for (CH_JSON_EACH(c, ch_json_get(report, "cases")))
        if (ch_sv_eq(ch_json_get_str(c, "name"), name))
            return c;
    return NULL;
}

char *chela_prompt_compare(const char *a, const char *b, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *x, *y;
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    if (ch_json_parse(&arena, ch_sv_str(a), CH_JSON_STRICT, &x, NULL, err) < 0 ||
        ch_json_parse(&arena, ch_sv_str(b), CH_JSON_STRICT, &y, NULL, err) < 0)
        return NULL;
    struct ch_rate d = ch_rate_difference(rate_in(y), rate_in(x));
    ch_jw_begin(&w, '{');
    ch_jw_kdouble(&w, "difference", d.rate);
    ch_jw_kdouble(&w, "low", d.low);
    ch_jw_kdouble(&w, "high", d.high);
    ch_jw_kcstr(&w, "verdict", d.low > 0 ? "better" : d.high < 0 ? "worse" : "same");
    ch_jw_kbegin(&w, "cases", '[');
    for (CH_JSON_EACH(c, ch_json_get(x, "cases"))) {
        struct ch_sv name = ch_json_get_str(c, "name");
        ch_jw_begin(&w, '{');
        ch_jw_kstr(&w, "name", name);
        ch_jw_kdouble(&w, "a", rate_in(c).rate);
        ch_jw_kdouble(&w, "b", rate_in(case_in(y, name)).rate);
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    return ch_buf_take(&out);
}
