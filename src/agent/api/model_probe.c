/* model_probe.c -- finds out what a model can do; see chela/models.h.
 *
 * The probe is one run of one turn, with two tools that do nothing. The events of the run
 * show what works. */
#include <stdio.h>

#include "agent/api/agent.h"
#include "agent/session/agent_parts.h"
#include "io/loop_entry.h"
#include "model/catalog/facts_import.h"
#include "model/provider/facts_book.h"
#include "model/provider/server_query.h"
#include "model/provider/target.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/opts.h"
#include "chela/models.h"
#include "json/writer.h"

static const char question[] = "Call the tools alpha and beta, both of them, in one reply and "
                               "without arguments. If you have no tools, answer: ready.";
static const char plain_question[] = "Answer with one word: ready.";

struct probe {
    int64_t began, first, ended; /* ms; first 0: no output */
    unsigned pieces, calls;
    struct chela_usage usage;
    char error[CHELA_ERROR_MAX];
};

static int64_t model_probe_now(void) {
    return ch_mono_ms(&ch_clock_system);
}

static void model_probe_on_event(const struct chela_event *ev, void *user) {
    struct probe *p = user;
    switch (ev->type) {
    case CHELA_EV_TEXT_DELTA:
    case CHELA_EV_REASONING_DELTA:
    case CHELA_EV_TOOL_CALL_DELTA:
        p->pieces++;
        if (!p->first)
            p->first = model_probe_now();
        break;
    case CHELA_EV_TOOL_CALL:
        p->calls++;
        break;
    case CHELA_EV_TURN_END:
        p->ended = model_probe_now();
        p->usage = ev->turn.usage;
        break;
    default:
        break;
    }
}

static int do_nothing(chela_call *call, void *user) {
    (void)user;
    chela_result_text(call, "ok", 2);
    return 0;
}

/* True: the run failed. A run that stops at its limit of one turn because the model called
 * a tool has not failed. */
static bool failed(const chela_run *run) {
    return chela_run_status(run) != CHELA_STATUS_DONE &&
           chela_run_reason(run) != CHELA_REASON_MAX_TURNS;
}

static int ask_model(chela_agent *agent, const char *text, struct probe *p,
                     struct chela_error *err) {
    chela_session *session;
    chela_run *run = NULL;
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = model_probe_on_event, .user = p);
    *p = (struct probe){.began = model_probe_now()};
    int rc = chela_session_new(agent, NULL, &session, err);
    if (rc == 0)
        rc = chela_run_start(session, text, strlen(text), &opts, &run, err);
    if (rc == 0)
        rc = chela_run_wait(run);
    if (rc == 0 && failed(run))
        snprintf(p->error, sizeof(p->error), "%s", chela_run_error(run));
    if (rc == 0 && failed(run) && !p->error[0])
        snprintf(p->error, sizeof(p->error), "%s",
                 chela_reason_name(chela_run_reason(run)));
    chela_run_free(run);
    return rc;
}

static int model_probe_open_agent(chela_runtime *rt, const struct chela_agent_opts *given,
                                  bool tools, chela_agent **out, struct chela_error *err) {
    static const char schema[] = "{\"type\":\"object\",\"properties\":{}}";
    struct ch_agent_opts opts;
    int rc = ch_agent_opts_read(given, &opts, err);
    if (rc < 0)
        return rc;
    opts.id = "probe";
    opts.fallbacks = NULL;
    opts.tools = opts.allow = opts.deny = NULL;
    opts.permission = CHELA_PERM_ADMIN;
    opts.system = "You are being tried out. Do what is asked, and nothing else.";
    opts.prompt.system_replaces = true;
    opts.request.max_retries = -1;
    opts.limits = (struct chela_limits){.max_turns = 1, .timeout_ms = 60000, .sum_up = -1};
    rc = ch_agent_open(rt, &opts, out, err);
    if (rc == 0 && tools) {
        chela_agent_tool(*out, "alpha", "Does nothing.", schema, do_nothing, NULL);
        chela_agent_tool(*out, "beta", "Does nothing.", schema, do_nothing, NULL);
    }
    return rc;
}

/* --- findings */

struct findings {
    const struct ch_target *t;
    struct probe p;
    bool with_tools;
    char tools_error[CHELA_ERROR_MAX];
    int64_t window;
    const char *window_source;
    struct ch_buf disagrees; /* elements of a JSON array */
};

static void write_text_or_null(struct ch_jw *w, const char *key, const char *text) {
    ch_jw_kcstr(w, key, text && *text ? text : NULL);
}

/* Writes true, false, or null if the probe could not tell. */
static void write_verdict(struct ch_jw *w, const char *key, bool seen, bool yes) {
    ch_jw_key(w, key);
    if (seen)
        ch_jw_bool(w, yes);
    else
        ch_jw_null(w);
}

static char *write_findings(const struct findings *f) {
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    bool ok = !f->p.error[0];
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "model", f->t->spec);
    ch_jw_kcstr(&w, "resolved", f->t->model);
    ch_jw_kcstr(&w, "api", f->t->ep.codec->name);
    ch_jw_kcstr(&w, "base_url", f->t->base_url);
    ch_jw_kbool(&w, "reachable", ok);
    ch_jw_key(&w, "context_window");
    if (f->window)
        ch_jw_int(&w, f->window);
    else
        ch_jw_null(&w);
    ch_jw_kcstr(&w, "context_source", f->window_source);
    write_verdict(&w, "stream", ok, f->p.pieces > 1);
    write_verdict(&w, "tools", ok, f->with_tools && f->p.calls > 0);
    write_verdict(&w, "parallel", ok && f->p.calls > 0, f->p.calls > 1);
    ch_jw_kint(&w, "first_ms", f->p.first ? f->p.first - f->p.began : 0);
    ch_jw_kint(&w, "total_ms", f->p.ended ? f->p.ended - f->p.began : 0);
    ch_jw_kbegin(&w, "usage", '{');
    ch_jw_kint(&w, "input", f->p.usage.input);
    ch_jw_kint(&w, "output", f->p.usage.output);
    ch_jw_end(&w, '}');
    ch_jw_kbegin(&w, "disagrees", '[');
    if (f->disagrees.n)
        ch_jw_raw(&w, ch_buf_sv(&f->disagrees));
    ch_jw_end(&w, ']');
    write_text_or_null(&w, "error", f->p.error);
    write_text_or_null(&w, "tools_error", f->tools_error);
    ch_jw_end(&w, '}');
    return ch_buf_take(&out);
}

static void write_disagreements(struct ch_buf *out, const struct ch_model_facts *known,
                                const struct ch_model_facts *says) {
    ch_column_set differ = ch_columns_compare(known, says);
    for (unsigned c = 0; c < CH_COLUMNS; c++) {
        if (!(differ & UINT64_C(1) << c))
            continue;
        if (out->n)
            ch_buf_addc(out, ',');
        struct ch_jw w = ch_jw(out);
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "column", ch_column_name((enum ch_column)c));
        ch_jw_key(&w, "facts");
        ch_column_write(&w, (enum ch_column)c, known);
        ch_jw_key(&w, "server");
        ch_column_write(&w, (enum ch_column)c, says);
        ch_jw_end(&w, '}');
    }
}

static void model_probe_find_window(chela_runtime *rt, struct findings *f) {
    f->window = ch_server_query_context(&rt->providers, f->t);
    f->window_source = f->window ? "server" : NULL;
    if (f->window)
        return;
    f->window = ch_target_window(f->t);
    const char *as_of, *source = ch_facts_book_source(&rt->providers, f->t->provider,
                                                      ch_sv_str(f->t->model), &as_of);
    f->window_source = f->t->window ? "config" : f->window ? source : NULL;
}

/* Compares the facts with what the service's own list says about the model. */
static void compare(chela_runtime *rt, struct findings *f) {
    CH_BUF_AUTO body = {0};
    struct ch_facts_file list = {0};
    if (ch_server_query_models(&rt->providers, f->t, &body, NULL) == 0 &&
        ch_facts_import(&list, ch_buf_sv(&body), f->t->provider, NULL, NULL, NULL) == 0)
        for (size_t i = 0; i < list.n; i++) {
            struct ch_facts_row *row = &list.rows[i];
            if (strcmp(row->name, f->t->model) != 0)
                continue;
            struct ch_model_facts says = f->t->facts;
            ch_columns_apply(&says, &row->some, ~UINT64_C(0));
            write_disagreements(&f->disagrees, &f->t->facts, &says);
        }
    ch_facts_file_release(&list);
}

char *chela_model_probe(chela_runtime *rt, const struct chela_agent_opts *opts,
                        struct chela_error *err) {
    CH_ENTER_OR(rt, rt->loop, err, NULL);
    struct findings f = {.with_tools = true};
    chela_agent *agent = NULL;
    char *report = NULL;
    int rc = ch_loop_may_run(rt->loop, err);
    if (rc == 0)
        rc = model_probe_open_agent(rt, opts, true, &agent, err);
    if (rc == 0)
        rc = ask_model(agent, question, &f.p, err);
    if (rc == 0 && f.p.error[0]) {
        memcpy(f.tools_error, f.p.error, sizeof(f.tools_error));
        f.with_tools = false;
        ch_agent_close(CH_TAKE(agent));
        rc = model_probe_open_agent(rt, opts, false, &agent, err);
        if (rc == 0)
            rc = ask_model(agent, plain_question, &f.p, err);
    }
    if (f.p.error[0])
        f.tools_error[0] = '\0'; /* the error is not about tools */
    if (rc == 0) {
        f.t = agent->targets[0];
        if (!f.p.error[0]) {
            model_probe_find_window(rt, &f);
            compare(rt, &f);
        }
        report = write_findings(&f);
        ch_buf_release(&f.disagrees);
    }
    if (agent) /* with its sessions, whose events use `f` */
        ch_agent_close(agent);
    return report;
}
