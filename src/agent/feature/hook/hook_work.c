/* hook_work.c -- see hook_work.h. */
#include "agent/feature/hook/hook_work.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/limits.h"
#include "base/log.h"
#include "io/spawn.h"
#include "tool/process/program.h"

enum { VARIABLES = CH_PROGRAM_ENV + 2 };

/* The environment of the programs; the caller frees each text. */
static void hook_env(const chela_agent *agent, char *env[VARIABLES + 1]) {
    static const char *const names[] = {"CLAUDE_PROJECT_DIR", "CHELA_PROJECT_DIR"};
    size_t n = 0;
    ch_program_env(env);
    while (env[n])
        n++;
    for (size_t i = 0; i < CH_LEN(names); i++) {
        CH_BUF_AUTO text = {0};
        ch_buf_addf(&text, "%s=%s", names[i], agent->workspace);
        env[n++] = ch_buf_take(&text);
    }
    env[n] = NULL;
}

static void hook_env_free(char **env) {
    for (size_t i = 0; env[i]; i++)
        ch_free(env[i]);
}

/* The last part of the program's path; for a shell with -c, the beginning of its script. */
static void hook_name(const char *const *argv, struct ch_buf *out) {
    const char *slash = strrchr(argv[0], '/');
    bool script = argv[1] && strcmp(argv[1], "-c") == 0 && argv[2];
    struct ch_sv name = ch_sv_str(script ? argv[2] : slash ? slash + 1 : argv[0]);
    ch_buf_add_sv(out, ch_sv(name.p, CH_MIN(name.n, (size_t)CH_LIMIT_HOOK_NAME)));
}

/* --- programs that are waited for ------------------------------------------------------------ */

struct one {
    struct ch_hook_work *work;
    struct ch_program *program; /* NULL: it has ended */
    struct ch_buf name;
};

struct ch_hook_work {
    enum ch_hook_event event;
    struct ch_hook_verdict verdict;
    ch_hook_done_fn *done;
    void *user;
    size_t running, n;
    struct one list[];
};

static void work_free(struct ch_hook_work *w) {
    for (size_t i = 0; i < w->n; i++)
        ch_buf_release(&w->list[i].name);
    ch_hook_verdict_release(&w->verdict);
    ch_free(w);
}

static void work_on_done(const struct ch_program_result *r, void *user) {
    struct one *one = user;
    struct ch_hook_work *w = one->work;
    struct ch_hook_outcome o = {.name = ch_buf_str(&one->name), .error = r->error};
    one->program = NULL;
    if (r->child) {
        o.timed_out = r->child->timed_out;
        o.exit_code = r->child->signal ? -1 : r->child->exit_code;
        o.out = r->child->out;
        o.err = r->child->err;
    }
    ch_hook_verdict_add(&w->verdict, w->event, &o);
    if (--w->running > 0)
        return;
    w->done(&w->verdict, w->user);
    work_free(w);
}

static void work_begin(struct one *one, const chela_agent *agent, const struct ch_hook *h,
                       struct ch_sv input) {
    static const struct ch_sandbox_policy off = {.mode = CH_SANDBOX_OFF};
    char *env[VARIABLES + 1];
    hook_env(agent, env);
    struct ch_program_opts opts = {
        .policy = &off,
        .argv = h->argv,
        .env = (const char *const *)env,
        .workspace = agent->workspace,
        .cwd = h->cwd,
        .any_cwd = h->cwd != NULL,
        .trusted_argv = true,
        .pins = h->pins,
        .input = input,
        .max_output = CH_LIMIT_HOOK_OUTPUT,
        .timeout_ms = h->timeout_ms,
    };
    hook_name(h->argv, &one->name);
    one->program = ch_program_start(agent->rt->loop, agent->rt->workers, &opts, NULL, work_on_done,
                                    one);
    hook_env_free(env);
}

struct ch_hook_work *ch_hook_work_start(const chela_agent *agent, enum ch_hook_event event,
                                        const char *name, const char *other, struct ch_sv input,
                                        ch_hook_done_fn *done, void *user) {
    size_t n = 0;
    while (ch_hooks_match(agent, event, name, other, n))
        n++;
    if (n == 0)
        return NULL;
    struct ch_hook_work *w = ch_alloc(sizeof(*w) + n * sizeof(w->list[0]));
    w->event = event;
    w->done = done;
    w->user = user;
    w->running = w->n = n;
    for (size_t i = 0; i < n; i++) {
        w->list[i].work = w;
        work_begin(&w->list[i], agent, ch_hooks_match(agent, event, name, other, i), input);
    }
    return w;
}

void ch_hook_work_close(struct ch_hook_work *w) {
    if (!w)
        return;
    for (size_t i = 0; i < w->n; i++)
        if (w->list[i].program)
            ch_program_close(w->list[i].program);
    work_free(w);
}

/* --- programs that nobody waits for ----------------------------------------------------------- */

struct launched {
    const struct ch_pins *pins;
    const char **argv;
    const char *cwd;
};

struct ch_hook_launch {
    struct ch_arena arena;
    char *env[VARIABLES + 1]; /* owned */
    const char *workspace;
    struct ch_sv input;
    size_t n;
    struct launched *list;
};

/* A shell starts the program in the background, so that the program belongs to no process of
 * ours. */
static const char **launch_argv(struct ch_arena *a, const struct ch_hook *h) {
    size_t n = 0;
    while (h->argv[n])
        n++;
    const char **argv = ch_arena_alloc(a, (n + 5) * sizeof(*argv));
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = "exec 3<&0; timeout -k 1 \"$0\" \"$@\" <&3 3<&- >/dev/null 2>&1 &";
    argv[3] = ch_arena_printf(a, "%g", (double)h->timeout_ms / 1000);
    for (size_t i = 0; i <= n; i++)
        argv[4 + i] = h->argv[i] ? ch_arena_str(a, ch_sv_str(h->argv[i])) : NULL;
    return argv;
}

struct ch_hook_launch *ch_hook_launch_new(const chela_agent *agent, enum ch_hook_event event,
                                          const char *name, struct ch_sv input) {
    size_t n = 0;
    while (ch_hooks_match(agent, event, name, NULL, n))
        n++;
    if (n == 0)
        return NULL;
    struct ch_hook_launch *l = ch_alloc(sizeof(*l));
    hook_env(agent, l->env);
    l->workspace = ch_arena_str(&l->arena, ch_sv_str(agent->workspace));
    l->input = ch_arena_sv(&l->arena, input);
    l->n = n;
    l->list = ch_arena_zalloc(&l->arena, n * sizeof(*l->list));
    for (size_t i = 0; i < n; i++) {
        const struct ch_hook *h = ch_hooks_match(agent, event, name, NULL, i);
        l->list[i] = (struct launched){
            .pins = ch_pins_copy(&l->arena, h->pins),
            .argv = launch_argv(&l->arena, h),
            .cwd = h->cwd ? ch_arena_str(&l->arena, ch_sv_str(h->cwd)) : l->workspace};
    }
    return l;
}

static void launch_one(struct ch_hook_launch *l, const struct launched *p) {
    struct ch_child_opts opts = {.argv = p->argv,
                                 .env = (const char *const *)l->env,
                                 .cwd = p->cwd,
                                 .input = l->input};
    struct ch_spawn_fds io;
    struct chela_error err = {0};
    pid_t pid;
    int status;
    const char *changed = ch_pins_changed(&l->arena, p->pins, p->argv + 4, p->cwd);
    if (changed) {
        ch_log(CH_LOG_WARN, "hook", "%s has changed since it was trusted, so it was not run",
               changed);
        return;
    }
    int rc = ch_spawn_fds_open(&io, &opts, &err);
    if (rc == 0) {
        rc = ch_spawn(&opts, &io, &pid, &err);
        ch_spawn_fds_close_theirs(&io);
        for (size_t i = 0; i < CH_SPAWN_FDS; i++)
            if (io.ours[i] >= 0)
                close(io.ours[i]);
    }
    if (rc < 0)
        ch_log(CH_LOG_WARN, "hook", "%s: %s", p->argv[4], err.message);
    while (rc == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
}

void ch_hook_launch_go(struct ch_hook_launch *l) {
    if (!l)
        return;
    for (size_t i = 0; i < l->n; i++)
        launch_one(l, &l->list[i]);
    hook_env_free(l->env);
    ch_arena_release(&l->arena);
    ch_free(l);
}
