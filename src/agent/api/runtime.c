/* runtime.c -- makes and closes runtimes. */
#include "agent/api/runtime.h"

#include <stdlib.h>
#include <sys/random.h>

#include "agent/api/agent.h"
#include "agent/api/features.h"
#include "agent/context/role_prompts.h"
#include "agent/handle/agent.h"
#include "agent/handle/guarded_files.h"
#include "agent/handle/run.h"
#include "agent/handle/session.h"
#include "agent/journal/journal.h"
#include "agent/journal/outbox.h"
#include "guard/leak.h"
#include "io/loop_entry.h"
#include "model/provider/context_window.h"
#include "model/provider/errand.h"
#include "model/provider/discover.h"
#include "agent/run/driver.h"
#include "agent/session/agent_parts.h"
#include "agent/session/session.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/log_ring.h"
#include "base/mem.h"
#include "base/choice.h"
#include "base/opts.h"
#include "prompt/skill_tools.h"

#define MAX_THREADS 64

/* The only function of the library that reads the environment. */
static const char *process_env(const char *name, void *user) {
    (void)user;
    return getenv(name);
}

static const char *proxy_env(const chela_runtime *rt, const char *lower, const char *upper) {
    const char *v = ch_providers_env(&rt->providers, lower);
    if (!v && upper)
        v = ch_providers_env(&rt->providers, upper);
    return v && *v ? v : NULL;
}

/* HTTP_PROXY in capitals is not read, because a client of a CGI program can set it. */
static struct ch_http *open_http(chela_runtime *rt) {
    const char *all = proxy_env(rt, "all_proxy", "ALL_PROXY");
    const char *http = proxy_env(rt, "http_proxy", NULL);
    const char *https = proxy_env(rt, "https_proxy", "HTTPS_PROXY");
    struct ch_http_opts opts = {
        .proxy_http = http ? http : all,
        .proxy_https = https ? https : all,
        .no_proxy = proxy_env(rt, "no_proxy", "NO_PROXY"),
        .ca_file = rt->ca_file,
        .module_path = rt->module_path,
    };
    return ch_http_new(rt->loop, &opts);
}

static void log_to_host(enum ch_log_level level, const char *area, const char *line, void *user) {
    const chela_runtime *rt = user;
    struct ch_log_ring *recent = atomic_load(&rt->recent_log);
    if (recent)
        ch_log_ring_add(recent, ch_now_ms(ch_loop_clock(rt->loop)), level, area, line);
    rt->log((enum chela_log_level)level, area, line, rt->user);
}

static void open_log(chela_runtime *rt, const struct chela_runtime_opts *o) {
    if (!o->log)
        return;
    rt->log = o->log;
    rt->sink = ch_alloc(sizeof(*rt->sink));
    *rt->sink = (struct ch_log_sink){log_to_host, rt, ch_strdup(o->trace)};
    ch_loop_log_to(rt->loop, rt->sink);
}

static void close_log(chela_runtime *rt) {
    ch_loop_log_to(rt->loop, NULL);
    if (rt->sink)
        ch_free((char *)rt->sink->areas);
    ch_free(rt->sink);
    ch_log_ring_free(atomic_load(&rt->recent_log));
}

/* Frees runs, then sessions, then agents, which the others use. Freeing a run may close
 * further runs and sessions. */
static void free_closed(chela_runtime *rt) {
    for (;;) {
        chela_run *run = CH_LIST_FIRST(&rt->closed.runs, chela_run, link);
        chela_session *s = CH_LIST_FIRST(&rt->closed.sessions, chela_session, link);
        chela_agent *a = CH_LIST_FIRST(&rt->closed.agents, chela_agent, link);
        if (run)
            ch_run_part(run);
        else if (s)
            ch_session_free(s);
        else if (a)
            ch_agent_free(a);
        else
            return;
    }
}

static void on_free_closed(struct ch_task *task) {
    chela_runtime *rt = CH_CONTAINER(task, chela_runtime, free_closed);
    ch_agents_close_unused(rt);
    free_closed(rt);
}

void ch_runtime_free_closed(chela_runtime *rt) {
    if (!ch_loop_in_callback(rt->loop))
        free_closed(rt);
}

static int open_transport(chela_runtime *rt, const struct chela_runtime_opts *o,
                          struct chela_error *err) {
    CH_LOG_SCOPE(rt->sink);
    struct ch_providers *ps = &rt->providers;
    int rc = 0;
    ps->http = rt->http;
    ps->transport = ch_http_transport(rt->http);
    if (o->record && o->replay)
        return ch_fail(err, CHELA_EINVAL, "a cassette is either recorded or replayed");
    if (o->record)
        rc = ch_cassette_record(rt->loop, o->record, ps->transport, &rt->cassette, err);
    else if (o->replay)
        rc = ch_cassette_replay(rt->loop, o->replay, &rt->cassette, err);
    ps->cassette = rt->cassette;
    if (rc == 0 && rt->cassette) {
        ch_runtime_hide_file(rt, o->record ? o->record : o->replay);
        ps->transport = ch_cassette_transport(rt->cassette);
    }
    return rc;
}

static int recall(const struct ch_recall_query *q, ch_recall_fn *fn, void *to, void *user) {
    const chela_runtime *rt = user;
    struct ch_journal *j = rt->journal;
    return j ? j->ops->recall(j, q, fn, to) : 0;
}

/* A key that is too weak to be recognised is told to the log. */
static void hide_keys(chela_runtime *rt) {
    CH_LOG_SCOPE(rt->sink);

    ch_providers_hide_keys(&rt->providers);
}

int ch_runtime_open(const struct chela_runtime_opts *given, const struct ch_clock *clock,
                    chela_runtime **out, struct chela_error *err) {
    struct chela_runtime_opts opts;
    *out = NULL;
    int rc = CH_OPTS_READ(chela_runtime_opts, &opts, given, err);
    if (rc == 0)
        rc = ch_choice_check(CHELA_CHOICE_LANGUAGE, opts.language, err);
    if (rc < 0)
        return rc;
    chela_runtime *rt = ch_alloc(sizeof(*rt));
    rc = ch_loop_new(opts.uv_loop, clock, &rt->loop, err);
    if (rc < 0) {
        ch_free(rt);
        return rc;
    }
    open_log(rt, &opts);
    rt->own_loop = !opts.uv_loop;
    rt->user = opts.user;
    rt->providers = (struct ch_providers){
        .loop = rt->loop, .env = opts.env ? opts.env : process_env, .user = opts.user};
    hide_keys(rt);
    rt->language = opts.language;
    rt->module_path = ch_strdup(opts.module_path);
    rt->ca_file = ch_strdup(opts.ca_file);
    rt->idle = true;
    rt->features = ch_features;
    rt->free_closed.fn = on_free_closed;
    ch_list_init(&rt->agents);
    ch_list_init(&rt->extensions);
    ch_list_init(&rt->listeners);
    ch_list_init(&rt->closed.runs);
    ch_list_init(&rt->closed.sessions);
    ch_list_init(&rt->closed.agents);
    rt->recall = (struct ch_recall){recall, rt};
    rt->workers = ch_workers_new(rt->loop, opts.max_threads ? opts.max_threads : MAX_THREADS);
    rt->http = open_http(rt);
    rc = open_transport(rt, &opts, err);
    if (rc < 0) {
        chela_runtime_close(rt);
        return rc;
    }
    *out = rt;
    return 0;
}

int chela_runtime_new(const struct chela_runtime_opts *opts, chela_runtime **out,
                      struct chela_error *err) {
    CH_NEEDS_ARG(out, err);
    return ch_runtime_open(opts, NULL, out, err);
}

/* Closes all extensions, or only those that use agents. */
static void close_extensions(chela_runtime *rt, bool all) {
    struct ch_link *k = rt->extensions.head.next;
    while (k != &rt->extensions.head) {
        struct ch_extension *e = CH_CONTAINER(k, struct ch_extension, link);
        bool goes = all || e->uses_agents;
        if (goes)
            e->close(e);
        k = goes ? rt->extensions.head.next : k->next; /* closing changes the list */
    }
}

/* Closes the parts that may still log. */
static void runtime_close_parts(chela_runtime *rt) {
    CH_LOG_SCOPE(rt->sink);
    close_extensions(rt, false);
    while (!ch_list_empty(&rt->agents)) /* newest first, because overrides are newer than their
                                           base */
        ch_agent_close(CH_CONTAINER(rt->agents.head.prev, chela_agent, link));
    ch_runtime_free_closed(rt);
    ch_context_windows_free(CH_TAKE(rt->providers.reported));
    ch_errands_end(&rt->providers, rt->own_loop);
    ch_learning_release(&rt->providers.learning);
    close_extensions(rt, true);
    ch_workers_free(rt->workers);
    if (rt->journal)
        rt->journal->ops->shut(rt->journal);
    rt->journal = NULL;
    ch_outbox_free(rt->outbox);
    ch_cassette_close(rt->cassette);
    ch_runtime_release_hidden(rt);
    ch_strings_free(rt->skills);
    ch_strings_free(rt->trusted);
    ch_http_close(rt->http);
}

void chela_runtime_close(chela_runtime *rt) {
    CH_ENTER_OR(rt, rt->loop, NULL, );
    if (ch_loop_in_callback(rt->loop)) {
        CH_LOG_SCOPE(rt->sink);
        ch_log(CH_LOG_ERROR, "runtime", "chela_runtime_close was called from a callback: ignored");
        return;
    }
    runtime_close_parts(rt);
    ch_providers_release(&rt->providers);
    close_log(rt);
    ch_free(rt->module_path);
    ch_free(rt->ca_file);
    ch_role_prompts_free(rt);
    ch_free(rt->default_model);
    ch_loop_close(rt->loop, NULL, NULL);
    ch_key_table_release(&rt->sessions);
    ch_leak_forget();
    ch_free(rt);
}

int chela_runtime_run(chela_runtime *rt) {
    CH_ENTER(rt, rt->loop, NULL);
    if (!rt->own_loop)
        return CHELA_ESTATE;
    if (rt->idle) /* a run that is paused may have been cancelled */
        ch_loop_tick(rt->loop);
    return rt->idle ? 0 : ch_loop_run(rt->loop, &rt->idle);
}

int chela_runtime_poll(chela_runtime *rt) {
    CH_ENTER(rt, rt->loop, NULL);
    ch_loop_tick(rt->loop);
    return 0;
}

int chela_runtime_provider(chela_runtime *rt, const struct chela_provider_opts *opts,
                           struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    return ch_providers_add(&rt->providers, opts, err);
}

int chela_runtime_price(chela_runtime *rt, const char *provider, const char *model,
                        const struct chela_price *price, struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    return ch_providers_add_price(&rt->providers, provider, model, price, err);
}

int chela_runtime_context_window(chela_runtime *rt, const char *provider, const char *model,
                                 int64_t tokens, struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    return ch_providers_add_window(&rt->providers, provider, model, tokens, err);
}

int chela_runtime_model_quirks(chela_runtime *rt, const char *provider, const char *model,
                               const char *quirks, struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    return ch_providers_add_quirks(&rt->providers, provider, model, quirks, err);
}

int chela_runtime_skills(chela_runtime *rt, const char *dir, struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    size_t n = 0;
    if (!dir || *dir != '/')
        return ch_fail(err, CHELA_EINVAL, "the path of a directory of skills must be absolute");
    for (; rt->skills && rt->skills[n]; n++)
        if (strcmp(rt->skills[n], dir) == 0)
            return 0;
    if (n == CH_LIMIT_SKILL_ROOTS)
        return ch_fail(err, CHELA_ELIMIT, "more than %d directories of skills",
                       CH_LIMIT_SKILL_ROOTS);
    rt->skills = ch_realloc(rt->skills, (n + 2) * sizeof(*rt->skills));
    rt->skills[n] = ch_strdup(dir);
    rt->skills[n + 1] = NULL;
    return 0;
}

void ch_runtime_trust_skills(chela_runtime *rt, const char *workspace, const char *digest) {
    size_t n = 0;
    CH_BUF_AUTO text = {0};
    ch_buf_addf(&text, "%s %s", digest, workspace);
    for (; rt->trusted && rt->trusted[n]; n++)
        if (strcmp(rt->trusted[n], ch_buf_str(&text)) == 0)
            return;
    rt->trusted = ch_realloc(rt->trusted, (n + 2) * sizeof(*rt->trusted));
    rt->trusted[n] = ch_buf_take(&text);
    rt->trusted[n + 1] = NULL;
}

bool ch_runtime_trusts_skills(const chela_runtime *rt, const char *workspace,
                              const struct ch_skills *skills) {
    char digest[2 * CH_SHA256_SIZE + 1];
    CH_BUF_AUTO text = {0};
    if (!rt->trusted)
        return false;
    char *real = realpath(workspace, NULL);
    ch_skills_tools_digest(skills, digest);
    ch_buf_addf(&text, "%s %s", digest, real ? real : workspace);
    free(real);
    for (size_t n = 0; rt->trusted[n]; n++)
        if (strcmp(rt->trusted[n], ch_buf_str(&text)) == 0)
            return true;
    return false;
}

const char *chela_default_model(chela_runtime *rt, const char **why) {
    CH_ENTER_OR(rt, rt->loop, NULL, NULL);
    if (!rt->default_model)
        rt->default_model = ch_discover_model(&rt->providers, &rt->default_model_why);
    if (why)
        *why = rt->default_model_why;
    return rt->default_model;
}

void chela_free(void *p) {
    ch_free(p);
}

void chela_set_allocator(const struct chela_allocator *a) {
    ch_mem_set(&(struct ch_allocator){a->malloc, a->realloc, a->free, a->out_of_memory});
}

const char *chela_version(void) {
    return CHELA_VERSION;
}

int chela_version_number(void) {
    return CHELA_VERSION_NUMBER;
}
