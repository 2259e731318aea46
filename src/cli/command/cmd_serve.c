/* cmd_serve.c -- `chela serve`: serves the configured agents over HTTP.
 *
 * A separate thread receives signals: the first SIGTERM or SIGINT lets work in progress
 * finish, a second one does not; SIGHUP reloads the configuration. An invalid configuration
 * changes nothing: the last valid one stays in effect. */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "chela/gateway.h"
#include "cli/command/cmd.h"
#include "cli/command/workers.h"
#include "cli/setup/channel.h"
#include "cli/setup/run_opts.h"
#include "cli/setup/setup.h"
#include "cli/setup/trust.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/support/service.h"
#include "cli/support/state_path.h"

#define DRAIN_MS 10000
#define RELEASE_SEC 15 /* for the last changes of the store */
#define CHANNELS 16
#define WORKERS 64
#define FILES 65536 /* limit of open files; the server limits its clients itself */
#define TOKEN_ENV "CHELA_TOKEN"
#define LARGE_BLOCK (512 << 10) /* blocks from here on are returned when they are freed */
#define KEEP_SEC 10          /* interval between two writings of the file about the store */
#define TRIM_SEC 5           /* interval between looks at free memory */
#define TRIM_BYTES (4 << 20) /* free memory that is worth returning */

struct flags {
    struct ch_setup_flags setup;
    const char *listen, *log_format, *model, *base_url, *api_key_env, *ca_file;
    int64_t workers;
    bool recovered;
};

#define AT(field) offsetof(struct flags, field)

static const struct ch_opt opts[] = {
    {"listen", 0, CH_OPT_TEXT, AT(listen), "ADDR", 0, 0, "Gateway",
     "address and port to listen on, such as 127.0.0.1:8787 (the default) or 127.0.0.1:0 for any "
     "free port"},
    {"log-format", 0, CH_OPT_CHOICE, AT(log_format), "text|json", 0, 0, "Gateway",
     "format of the log on standard error: text, or one JSON object per line, which includes "
     "requests"},
    {"workers", 0, CH_OPT_INT, AT(workers), "N", 1, WORKERS, "Gateway",
     "processes that share the address and the store (1 is the default)"},
    {"recovered", 0, CH_OPT_SWITCH, AT(recovered), NULL, 0, 0, "Gateway",
     "go on with a store that was restored from a backup, or that lost data: what was in progress "
     "waits until 'chela sessions recover' releases it"},
    CH_SETUP_OPTS_CONFIG_ELSE(struct flags, "all of them"),
    CH_SETUP_OPTS_STORE(struct flags),
    CH_RUN_OPTS_SERVICE(struct flags),
    {"ca-file", 0, CH_OPT_TEXT, AT(ca_file), "FILE", 0, 0, "Model",
     "trusted certificates (PEM) instead of the system's"},
    CH_SETUP_OPTS_TOOLS(struct flags),
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct serve {
    struct flags flags;
    struct ch_args args;
    struct ch_console console;
    struct ch_setup setup;
    chela_gateway *gateway;
    struct chela_gateway_hook *hooks; /* owned */
    const struct chela_gateway_hook **hook_list; /* owned: pointers into hooks, NULL at the end */
    struct ch_setup_channel channels[CHANNELS];
    const struct chela_channel_opts *channel_list[CHANNELS + 1];
    struct ch_setup_schedules schedules;
    atomic_llong drain_ms; /* also read by the signal thread */
    bool tls;
    const char *socket; /* passed by a service manager; NULL: none */
    bool again;         /* restart after the end */
    struct ch_worker worker;
    atomic_bool stopping; /* a worker: was told to stop */
    atomic_bool told;     /* a worker: the parent asked for a reload */
    pthread_t waiter;
    sigset_t signals;
    pthread_t keeper; /* writes the node's file about the store */
    pthread_mutex_t keeper_lock;
    pthread_cond_t keeper_wake;
    bool keeper_ends, keeper_runs; /* keeper_ends: under keeper_lock */
};

static void log_json(enum chela_log_level level, const char *area, const char *text, void *user) {
    static const char *const names[] = {"trace", "info", "warn", "error"};
    ch_console_json(user, names[level], area, text);
}

/* --- agents ---------------------------------------------------------------- */

static int make_agents(struct serve *s, chela_agent ***out, struct chela_error *err) {
    const struct flags *f = &s->flags;
    struct chela_agent_opts opt = CHELA_AGENT_OPTS(.model = f->model, .base_url = f->base_url,
                                                   .api_key_env = f->api_key_env);
    return ch_setup_agents(&s->setup, &s->flags.setup, &opt, out, err);
}

/* --- the gateway ------------------------------------------------------------ */

/* From the file that the configuration names, else from the environment. */
static int find_token(const struct serve *s, const char *name, const char **token,
                      struct chela_error *err) {
    int rc = s->setup.config ? chela_config_token(s->setup.config, token, err) : CHELA_OK;
    if (rc < 0 || *token)
        return rc;
    *token = getenv(name);
    if (*token && **token)
        return CHELA_OK;
    ch_problem(err, CHELA_ECONFIG,
               "the gateway needs a token that its callers must show: set %s, for example "
               "with: export %s=$(openssl rand -hex 24)",
               name, name);
    return ch_problem_in(err, chela_config_place(s->setup.config, name));
}

/* If the secret of a hook is missing, the server does not start, so that no hook is
 * unprotected. */
static int find_hooks(struct serve *s, struct chela_gateway_opts *o, struct chela_error *err) {
    struct chela_gateway_hook one = CHELA_GATEWAY_HOOK(.name = NULL);
    const char *env;
    size_t n = 0;
    while (s->setup.config && chela_config_hook(s->setup.config, n, &one, &env, NULL) == 0) {
        if (ch_setup_check_agent(&s->setup, one.agent, err) < 0)
            return err->code;
        one.secret = getenv(env);
        if (!one.secret || !*one.secret) {
            ch_problem(err, CHELA_ECONFIG, "hook %s: %s, which should hold its secret, is not set",
                       one.name, env);
            return ch_problem_in(err, chela_config_place(s->setup.config, env));
        }
        s->hooks = ch_must(realloc(s->hooks, (n + 1) * sizeof(one)));
        s->hooks[n++] = one;
    }
    s->hook_list = ch_must(realloc(s->hook_list, (n + 1) * sizeof(*s->hook_list)));
    for (size_t i = 0; i < n; i++)
        s->hook_list[i] = &s->hooks[i];
    s->hook_list[n] = NULL;
    o->hooks = s->hook_list;
    return CHELA_OK;
}

/* If the secrets of a channel are missing, the server does not start. */
static int find_channels(struct serve *s, struct chela_gateway_opts *o, struct chela_error *err) {
    size_t n = 0;
    int rc = CHELA_OK;
    while (s->setup.config && n < CHANNELS && rc == CHELA_OK) {
        struct ch_setup_channel *c = &s->channels[n];
        ch_setup_channel_release(c);
        rc = ch_setup_channel(s->setup.config, n, c, err);
        if (rc == CHELA_OK && c->missing) {
            ch_problem(err, CHELA_ECONFIG, "channel %s: %s is not set", c->opts.name, c->missing);
            rc = ch_problem_in(err, c->place);
        }
        if (rc == CHELA_OK)
            rc = ch_setup_check_agent(&s->setup, c->opts.agent, err);
        if (rc == CHELA_OK)
            s->channel_list[n++] = &c->opts;
    }
    s->channel_list[n] = NULL;
    o->channels = s->channel_list;
    return rc == CHELA_ENOENT && !err->code ? CHELA_OK : rc;
}

static int serve_describe(struct serve *s, struct chela_gateway_opts *o, int64_t *drain_ms,
                          struct chela_error *err) {
    const char *token_env = TOKEN_ENV;
    *drain_ms = DRAIN_MS;
    o->listen = s->worker.number ? s->worker.listen : s->socket ? s->socket : s->flags.listen;
    o->workers = s->worker.number ? s->worker.of : (size_t)s->flags.workers;
    o->worker = s->worker.number;
    o->board = s->worker.board;
    o->store = s->setup.store;
    o->config_file = s->setup.config_path;
    int rc = 0;
    if (s->setup.config)
        rc = chela_config_gateway(s->setup.config, o, &token_env, drain_ms, err);
    if (rc == 0 && o->mcp)
        rc = ch_setup_check_agent(&s->setup, o->mcp->agent, err);
    s->tls = o->tls_cert != NULL;
    if (rc == 0)
        rc = find_token(s, token_env, &o->token, err);
    if (rc == 0)
        rc = find_hooks(s, o, err);
    if (rc == 0)
        rc = ch_setup_schedules(&s->setup, &s->schedules, err);
    o->schedules = s->schedules.list;
    return rc < 0 ? rc : find_channels(s, o, err);
}

/* Raise the limit of open files: each client needs one, and the default is too low for
 * servers. */
static void allow_files(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= FILES)
        return;
    files.rlim_cur = files.rlim_max < FILES ? files.rlim_max : FILES;
    setrlimit(RLIMIT_NOFILE, &files);
}

/* Names the place in the file of the value of o that an error of the gateway is about. */
static int serve_blame(const struct serve *s, const struct chela_gateway_opts *o,
                       struct chela_error *err) {
    const char *const values[] = {o->listen, o->tls_cert, o->tls_key,
                                  o->mcp ? o->mcp->client_secret_env : NULL};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        const char *place = chela_config_place(s->setup.config, values[i]);
        if (!place || !strstr(err->message, values[i]))
            continue;
        err->code = CHELA_ECONFIG;
        return ch_problem_in(err, place);
    }
    return err->code;
}

static int serve_listen(struct serve *s, const struct chela_gateway_opts *o,
                        struct chela_error *err) {
    unsigned tries = 0;
    int rc;
    do {
        *err = (struct chela_error){0};
        rc = chela_gateway_new(s->setup.rt, o, &s->gateway, err);
    } while (rc < 0 && ch_service_await_address(err, &tries));
    return rc;
}

static int serve_open_gateway(struct serve *s, struct chela_error *err) {
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(.listen = NULL);
    chela_agent **agents = NULL;
    int64_t drain_ms = DRAIN_MS;
    int rc = ch_setup_runtime(&s->setup, err);
    if (rc == 0)
        rc = ch_setup_store(&s->setup, CH_STORE_WANTED, err);
    if (rc == 0)
        rc = serve_describe(s, &o, &drain_ms, err);
    if (rc == 0)
        rc = make_agents(s, &agents, err);
    o.agents = agents;
    if (rc == 0 && serve_listen(s, &o, err) < 0)
        rc = serve_blame(s, &o, err);
    s->drain_ms = drain_ms;
    free(agents);
    return rc;
}

/* --- reload ------------------------------------------------------------------ */

/* before: the configuration whose providers are restored on failure. */
static int try_reload(struct serve *s, const chela_config *before, struct chela_error *err) {
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(.listen = NULL);
    chela_agent **agents = NULL;
    int64_t drain_ms;
    int rc = serve_describe(s, &o, &drain_ms, err);
    struct ch_setup_team old = ch_setup_take_team(&s->setup);
    if (rc == 0 && s->setup.config && chela_config_apply(s->setup.config, s->setup.rt, err) < 0)
        rc = err->code;
    if (rc == 0)
        rc = make_agents(s, &agents, err);
    o.agents = agents;
    if (rc == 0 && chela_gateway_reload(s->gateway, &o, err) < 0)
        rc = serve_blame(s, &o, err);
    free(agents);
    if (rc < 0 && before)
        chela_config_apply(before, s->setup.rt, NULL);
    if (rc < 0) {
        struct ch_setup_team refused = ch_setup_take_team(&s->setup);
        ch_setup_team_close(&refused);
        s->setup.team = old;
    } else {
        s->drain_ms = drain_ms;
        ch_setup_team_close(&old); /* sessions end with the agents that they began with */
    }
    return rc;
}

static void reload(struct serve *s) {
    struct chela_error err = {0};
    chela_config *before = s->setup.config;
    char *path = s->setup.config_path;
    char *untrusted = s->setup.untrusted;
    if (chela_gateway_patched(s->gateway) && before && path && !untrusted)
        ch_trust_renew(s->setup.env, path, before);
    s->setup.config = NULL;
    s->setup.config_path = s->setup.untrusted = NULL;
    s->setup.reloading = true;
    int rc = ch_setup_config(&s->setup, &err);
    if (rc == 0)
        rc = try_reload(s, before, &err);
    chela_gateway_trouble(s->gateway, rc == 0 ? NULL : err.message);
    if (rc == 0) {
        chela_config_free(before);
        free(path);
        free(untrusted);
        ch_console_note(&s->console, "the configuration was read again");
        return;
    }
    chela_config_free(s->setup.config);
    free(s->setup.config_path);
    free(s->setup.untrusted);
    s->setup.config = before;
    s->setup.config_path = path;
    s->setup.untrusted = untrusted;
    ch_console_error(&s->console, "the configuration stays as it was: %s", err.message);
}

/* --- signals ------------------------------------------------------------------ */

/* Fixes limits of malloc that grow with the largest block that was ever freed: up to 64 MB of
 * free memory would stay unused. */
static void serve_limit_free_memory(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK);
#endif
}

/* Returns memory that was freed after a load to the system. malloc keeps free memory between
 * blocks in use for itself. spare: free memory at the last call. */
static void serve_trim_memory(size_t *spare) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    size_t now = mallinfo2().fordblks;
    bool changed = now > *spare ? now - *spare > TRIM_BYTES : *spare - now > TRIM_BYTES;
    if (changed && now > TRIM_BYTES)
        malloc_trim(0);
    if (changed)
        *spare = now;
#else
    (void)spare;
#endif
}

/* To a worker, SIGTERM may come twice, and SIGINT of a terminal is for the parent. */
static void serve_stop(struct serve *s, int signo) {
    if (s->worker.number && signo == SIGINT)
        return;
    ch_service_tell("STOPPING=1");
    if (!s->worker.number || !atomic_exchange(&s->stopping, true))
        chela_gateway_stop(s->gateway, s->drain_ms);
    if (signo == CH_WORKER_STOP_NOW)
        chela_gateway_stop(s->gateway, s->drain_ms);
}

static void *serve_wait_for_signals(void *user) {
    static const struct timespec look = {.tv_sec = TRIM_SEC};
    struct serve *s = user;
    size_t spare = 0;
    for (;;) {
        int signo = sigtimedwait(&s->signals, NULL, &look);
        if (signo < 0 && errno == EAGAIN)
            serve_trim_memory(&spare);
        if (signo == SIGUSR2)
            return NULL;
        if (signo == SIGHUP) {
            atomic_store(&s->told, true);
            chela_gateway_interrupt(s->gateway);
        } else if (signo > 0) {
            serve_stop(s, signo);
        }
    }
}

static void serve_block_signals(struct serve *s) {
    sigemptyset(&s->signals);
    sigaddset(&s->signals, SIGINT);
    sigaddset(&s->signals, SIGTERM);
    sigaddset(&s->signals, SIGHUP);
    sigaddset(&s->signals, SIGUSR2); /* ends the signal thread */
    if (s->worker.number)
        sigaddset(&s->signals, CH_WORKER_STOP_NOW);
    pthread_sigmask(SIG_BLOCK, &s->signals, NULL);
}

static void serve_end_now(int signo) {
    (void)signo;
    _exit(CH_EXIT_DONE);
}

static void serve_fail_now(int signo) {
    (void)signo;
    _exit(CH_EXIT_ERROR);
}

static void serve_begin_anew(struct serve *s);

static void *serve_restart_late(void *user) {
    poll(NULL, 0, RELEASE_SEC * 1000);
    serve_begin_anew(user);
    _exit(CH_EXIT_ERROR);
}

/* The release takes long if the store does not answer. A second signal or a time limit ends the
 * process, or restarts it: other gateways then resume the runs as if this gateway had been killed.
 * The parent of a worker receives the signals. rc: result of the loop. */
static void serve_bound_release(struct serve *s, int rc) {
    void (*end)(int) = rc < 0 ? serve_fail_now : serve_end_now;
    pthread_t late;
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    signal(SIGALRM, end);
    if (rc < 0 || !s->again || s->worker.number)
        alarm(RELEASE_SEC);
    else if (pthread_create(&late, NULL, serve_restart_late, s) == 0)
        pthread_detach(late);
    if (s->worker.number)
        return;
    signal(SIGTERM, end);
    signal(SIGINT, end);
    pthread_sigmask(SIG_UNBLOCK, &ends, NULL);
}

/* --- restart ------------------------------------------------------------------- */

static void stop_to_begin_anew(struct serve *s) {
    if (s->again)
        return; /* a second stop would interrupt work in progress */
    s->again = true;
    ch_console_note(&s->console, "restarting: an owner asked for it");
    ch_worker_tell(&s->worker, CH_WORKER_ANEW);
    if (!atomic_exchange(&s->stopping, true))
        chela_gateway_stop(s->gateway, s->drain_ms);
}

/* Execute the same command in the same process, which a service manager watches. */
static void serve_begin_anew(struct serve *s) {
    pthread_sigmask(SIG_UNBLOCK, &s->signals, NULL);
    ch_service_exec(s->socket != NULL, "--recovered");
    ch_console_error(&s->console, "the gateway cannot restart: %s", strerror(errno));
}

/* --- the node's file about the store: a store that is restored while no gateway runs is noticed */

static void *serve_keep_state(void *user) {
    struct serve *s = user;
    char *dir = ch_state_path(s->setup.env, "stores");
    bool ends = dir && ch_state_make_parents(dir, NULL) < 0;
    while (dir && !ends) {
        struct timespec until;
        struct chela_error ignored = {0}; /* the gateway reports a store that fails */
        chela_store_remember(s->setup.store, dir, &ignored);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += KEEP_SEC;
        pthread_mutex_lock(&s->keeper_lock);
        while (!s->keeper_ends &&
               pthread_cond_timedwait(&s->keeper_wake, &s->keeper_lock, &until) != ETIMEDOUT)
            ;
        ends = s->keeper_ends;
        pthread_mutex_unlock(&s->keeper_lock);
    }
    free(dir);
    return NULL;
}

static void serve_start_keeper(struct serve *s) {
    pthread_mutex_init(&s->keeper_lock, NULL);
    pthread_cond_init(&s->keeper_wake, NULL);
    s->keeper_runs = pthread_create(&s->keeper, NULL, serve_keep_state, s) == 0;
}

static void serve_stop_keeper(struct serve *s) {
    pthread_mutex_lock(&s->keeper_lock);
    s->keeper_ends = true;
    pthread_cond_signal(&s->keeper_wake);
    pthread_mutex_unlock(&s->keeper_lock);
    if (s->keeper_runs)
        pthread_join(s->keeper, NULL);
}

static int serve(struct serve *s, struct chela_error *err) {
    int rc = serve_open_gateway(s, err);
    if (rc < 0)
        return rc;
    serve_start_keeper(s);
    if (pthread_create(&s->waiter, NULL, serve_wait_for_signals, s) != 0)
        return ch_problem(err, CHELA_EINTERNAL, "cannot start a thread");
    if (s->worker.number)
        ch_worker_tell(&s->worker, CH_WORKER_READY);
    else
        ch_console_note(&s->console, "listening on http%s://%s (the console is there too)",
                        s->tls ? "s" : "", chela_gateway_address(s->gateway));
    ch_service_tell("READY=1");
    while ((rc = chela_gateway_run(s->gateway)) == 1) {
        ch_service_tell("RELOADING=1");
        if (chela_gateway_wants_restart(s->gateway)) {
            stop_to_begin_anew(s);
            continue;
        }
        bool told = atomic_exchange(&s->told, false);
        reload(s);
        ch_worker_tell(&s->worker, told ? CH_WORKER_RELOADED : CH_WORKER_CHANGED);
        ch_service_tell("READY=1");
    }
    pthread_kill(s->waiter, SIGUSR2);
    pthread_join(s->waiter, NULL);
    serve_stop_keeper(s);
    serve_bound_release(s, rc);
    return rc < 0 ? ch_problem(err, rc, "the loop ended: %s", chela_error_text(rc)) : 0;
}

/* Reading may ask a question, so Ctrl-C ends the program meanwhile. */
static int serve_read_config(struct serve *s, const struct ch_env *env, struct chela_error *err) {
    s->setup = (struct ch_setup){.env = env,
                                 .flags = &s->flags.setup,
                                 .console = &s->console,
                                 .ca_file = s->flags.ca_file,
                                 .silent = true,
                                 .no_demo = true,
                                 .model = s->flags.model};
    s->setup.log = s->console.json ? log_json : NULL;
    return ch_setup_config(&s->setup, err);
}

/* With several workers: returns 0 in the parent when all have ended, and 1 in a worker, which
 * reads the configuration itself. With one: returns 1. */
static int serve_split(struct serve *s, const struct ch_env *env, int *code,
                       struct chela_error *err) {
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(.listen = s->flags.listen,
                                                     .workers = (size_t)s->flags.workers);
    int rc = s->setup.config ? chela_config_gateway(s->setup.config, &o, NULL, NULL, err) : 0;
    if (rc < 0 || o.workers < 2)
        return rc < 0 ? rc : 1;
    struct ch_workers_opts w = {.n = o.workers,
                                .listen = s->socket ? s->socket : o.listen,
                                .tls = o.tls_cert != NULL,
                                .console = &s->console};
    rc = ch_workers_run(&w, &s->worker, code, &s->again, err);
    if (rc == 1) {
        s->console.worker = (unsigned)s->worker.number;
        ch_setup_release(&s->setup);
        rc = serve_read_config(s, env, err);
        return rc < 0 ? rc : 1;
    }
    return rc < 0 ? serve_blame(s, &o, err) : rc;
}

/* Has the store lost something since this machine used it? */
static int serve_compare(struct serve *s, struct chela_error *err) {
    char *url = ch_setup_store_url(&s->setup), *dir = ch_state_path(s->setup.env, "stores");
    struct chela_error why = {0};
    int rc = url && dir ? chela_store_compare(url, NULL, dir, &why) : 0;
    if (rc == CHELA_ENOENT)
        ch_console_note(&s->console, "warning: store %s: %s", url, why.message);
    else if (rc < 0)
        ch_problem(err, CHELA_EINTERNAL, "store %s: %s", url, why.message);
    free(url);
    free(dir);
    return rc == CHELA_ENOENT || rc == 0 ? 0 : err->code;
}

/* Before the first worker opens the store. */
static int serve_recover(struct serve *s, struct chela_error *err) {
    size_t n = 0;
    if (!s->flags.recovered)
        return serve_compare(s, err);
    int rc = ch_setup_store(&s->setup, CH_STORE_WANTED, err);
    if (rc == 0)
        rc = chela_store_recovered(s->setup.store, &n, err);
    chela_store_close(s->setup.store);
    s->setup.store = NULL;
    if (rc < 0)
        return rc;
    ch_console_note(&s->console,
                    "the store was recovered: %zu session%s wait%s for `chela sessions recover`", n,
                    n == 1 ? "" : "s", n == 1 ? "s" : "");
    return 0;
}

/* One process. */
static int serve_alone(struct serve *s, struct chela_error *err) {
    serve_block_signals(s);
    allow_files();
    serve_limit_free_memory();
    return serve(s, err);
}

static void serve_release(struct serve *s) {
    chela_gateway_close(s->gateway);
    free(s->hooks);
    free(s->hook_list);
    ch_setup_schedules_release(&s->schedules);
    for (size_t i = 0; i < CHANNELS; i++)
        ch_setup_channel_release(&s->channels[i]);
    ch_setup_release(&s->setup);
}

static int serve_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    struct serve s = {0};
    struct chela_error err = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &s.flags, &s.args);

    if (code < 0) {
        ch_console_init(&s.console, env, ch_setup_verbosity(&s.flags.setup),
                        s.flags.setup.no_color);
        s.console.json = s.flags.log_format && strcmp(s.flags.log_format, "json") == 0;
        code = CH_EXIT_DONE;
        int rc = serve_read_config(&s, env, &err);
        s.socket = ch_service_socket();
        if (rc == 0)
            rc = serve_recover(&s, &err);
        if (rc == 0)
            rc = serve_split(&s, env, &code, &err);
        if (rc == 1)
            rc = serve_alone(&s, &err);
        if (rc < 0) {
            ch_console_error(&s.console, "%s", err.message);
            code = ch_problem_exit(&err);
        }
        serve_release(&s);
        if (s.again && code == CH_EXIT_DONE && !s.worker.number) {
            serve_begin_anew(&s);
            code = CH_EXIT_ERROR;
        }
        ch_console_release(&s.console);
    }
    ch_args_release(&s.args);
    return code;
}

const struct ch_cmd ch_cmd_serve = {
    .name = "serve",
    .args = "",
    .summary = "serve the agents over HTTP",
    .about =
        "Serves agents over HTTP: the protocols of OpenAI, Anthropic and the AI SDK, sessions and "
        "their events, a web console, and chat services (channels). All agents of the "
        "configuration file are served, or only the agent that --agent names. `model` in a "
        "request is an agent's id.\n\n"
        "Every caller must present a token. The gateway reads the token from CHELA_TOKEN, or from "
        "the variable or file that gateway.tokenEnv or gateway.tokenFile names.\n\n"
        "SIGTERM lets runs in progress finish, for ten seconds or gateway.drainSec. SIGHUP "
        "reloads the configuration and the files of secrets. If they contain an error, the last "
        "valid configuration stays in use and /readyz reports the error. A socket that systemd "
        "opened is used instead of --listen, and systemd is notified when the gateway is ready, "
        "reloads and stops.\n\n"
        "With --workers a parent process listens, and N processes serve. They share the store, "
        "which must not be memory:. A worker that ends is started again.",
    .opts = opts,
    .run = serve_run,
};
