/* mcp_stdio.c -- see mcp_stdio.h. */
#include "mcp/mcp_stdio.h"

#include <limits.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "rpc/rpc_lines.h"
#include "tool/process/program.h"

struct ch_mcp_stdio {
    struct ch_mcp_link link;
    struct ch_loop *loop;
    const char *name;
    struct ch_program *program; /* NULL: ended */
    struct ch_rpc_lines out, err;
    struct ch_task opened;
    unsigned refs; /* 1 while open, and one for a callback on the stack */
    bool closed;
    void (*left)(void *user); /* NULL: not leaving */
    void *left_user;
    struct ch_timer impatient;
};

static void stdio_unref(struct ch_mcp_stdio *s) {
    if (--s->refs > 0)
        return;
    ch_rpc_lines_release(&s->out);
    ch_rpc_lines_release(&s->err);
    ch_free(s);
}

static void stdio_close(struct ch_mcp_link *l) {
    struct ch_mcp_stdio *s = CH_CONTAINER(l, struct ch_mcp_stdio, link);

    if (s->closed)
        return;
    s->closed = true;
    ch_task_cancel(s->loop, &s->opened);
    ch_timer_stop(s->loop, &s->impatient);
    ch_program_close(CH_TAKE(s->program));
    stdio_unref(s);
}

/* The program did not end with its input: SIGTERM, and SIGKILL a little later. */
static void stdio_on_impatient(struct ch_timer *t) {
    struct ch_mcp_stdio *s = CH_CONTAINER(t, struct ch_mcp_stdio, impatient);

    if (s->program)
        ch_program_stop(s->program);
}

static bool stdio_leave(struct ch_mcp_link *l, void (*left)(void *user), void *user) {
    struct ch_mcp_stdio *s = CH_CONTAINER(l, struct ch_mcp_stdio, link);

    if (!s->program || s->left || ch_program_end_input(s->program) < 0)
        return false;
    s->left = left;
    s->left_user = user;
    ch_timer_start(s->loop, &s->impatient, CH_DEFAULT_MCP_LEAVE_MS, stdio_on_impatient);
    return true;
}

static int stdio_send(struct ch_mcp_link *l, const struct ch_mcp_send *m) {
    struct ch_mcp_stdio *s = CH_CONTAINER(l, struct ch_mcp_stdio, link);
    CH_BUF_AUTO line = {0};

    if (!s->program)
        return CHELA_ENET;
    ch_buf_add_sv(&line, m->message);
    ch_buf_addc(&line, '\n');
    int rc = ch_program_write(s->program, ch_buf_sv(&line));
    return rc < 0 ? CHELA_ENET : 0;
}

static const struct ch_mcp_link_ops stdio_ops = {
    .send = stdio_send, .leave = stdio_leave, .close = stdio_close};

static void stdio_report_down(struct ch_mcp_stdio *s, int code, const char *why) {
    struct chela_error err = {0};

    ch_fail(&err, code, "%s", why);
    s->link.events->down(&err, s->link.user);
}

/* --- output of the program */

static bool on_message_line(struct ch_sv line, void *user) {
    struct ch_mcp_stdio *s = user;

    s->link.events->message(line, s->link.user);
    return !s->closed;
}

static bool on_log_line(struct ch_sv line, void *user) {
    const struct ch_mcp_stdio *s = user;
    struct ch_sv cut = ch_sv(line.p, CH_MIN(line.n, CH_KB));

    ch_log(CH_LOG_INFO, "mcp", "%s: %.*s", s->name, CH_SV_FMT(cut));
    return true;
}

static void stdio_on_output(int stream, struct ch_sv data, void *user) {
    struct ch_mcp_stdio *s = user;
    struct chela_error err = {0};

    s->refs++;
    if (stream == 1 && ch_rpc_lines_feed(&s->out, data, &err) < 0 && !s->closed)
        s->link.events->down(&err, s->link.user);
    if (stream == 2 && ch_rpc_lines_feed(&s->err, data, &err) < 0)
        ch_buf_clear(&s->err.partial); /* a long line of the log is lost */
    stdio_unref(s);
}

static void stdio_on_end(const struct ch_program_result *r, void *user) {
    struct ch_mcp_stdio *s = user;
    CH_BUF_AUTO why = {0};

    s->program = NULL;
    if (s->left) {
        s->left(s->left_user);
        return;
    }
    if (r->error)
        ch_buf_addf(&why, "the server did not start: %s", r->error);
    else if (r->child->signal)
        ch_buf_addf(&why, "the server was ended by signal %d", r->child->signal);
    else
        ch_buf_addf(&why, "the server exited with code %d", r->child->exit_code);
    stdio_report_down(s, r->error ? CHELA_ENOENT : CHELA_ENET, ch_buf_str(&why));
}

static void stdio_on_opened(struct ch_task *t) {
    struct ch_mcp_stdio *s = CH_CONTAINER(t, struct ch_mcp_stdio, opened);

    s->link.events->opened(s->link.user);
}

static void stdio_on_started(void *user) {
    struct ch_mcp_stdio *s = user;

    ch_task_defer(s->loop, &s->opened);
}

/* --- start */

/* A program needs the files around it: the packages of a Node program, the tree of a Python
 * environment. root gets the directory to read; "" if there is none. */
static void find_root(const char *word, char root[PATH_MAX]) {
    char *modules = NULL, *slash;

    *root = '\0';
    if (word[0] != '/' || !realpath(word, root))
        return;
    for (char *at = root; (at = strstr(at, "/node_modules/")); at++)
        modules = at;
    if (modules)
        modules[sizeof("/node_modules") - 1] = '\0';
    else if ((slash = strstr(root, "/bin/")) && slash != root && !strchr(slash + 5, '/'))
        *slash = '\0';
    else
        *root = '\0';
}

/* Whether the path is the directory, or below it. */
static bool is_below(const char *path, const char *dir) {
    size_t n = strlen(dir);

    return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

static const char *const *add_roots(struct ch_arena *a, const char *const *readable,
                                    const char *const *argv, const char *home) {
    size_t n = 0, words = 0;
    char root[PATH_MAX], real[PATH_MAX];

    while (readable && readable[n])
        n++;
    while (argv[words])
        words++;
    const char **list = ch_arena_zalloc(a, (n + words + 1) * sizeof(*list));
    for (size_t i = 0; i < n; i++)
        list[i] = readable[i];
    for (size_t i = 0; i < words; i++) {
        find_root(argv[i], root);
        /* a home directory is not read because a program is in ~/bin */
        if (*root && !(home && realpath(home, real) && is_below(real, root)))
            list[n++] = ch_arena_str(a, ch_sv_str(root));
    }
    return list;
}

static bool stdio_passes(const char *variable) {
    static const char *const names[] = {"PATH=", "LANG=", "LC_ALL=", "TZ="};

    for (size_t i = 0; i < CH_LEN(names); i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool is_npx(const char *program) {
    const char *slash = strrchr(program, '/');

    return strcmp(slash ? slash + 1 : program, "npx") == 0;
}

/* The environment; *home becomes the user's home directory, or NULL. */
static const char *const *make_env(struct ch_arena *a, const struct ch_mcp_stdio_opts *o,
                                   const char **home) {
    char *base[CH_PROGRAM_ENV + 1];
    size_t extra = 0, n = 0;

    ch_program_env(base);
    while (o->env && o->env[extra])
        extra++;
    const char **env = ch_arena_zalloc(a, (CH_PROGRAM_ENV + extra + 3) * sizeof(*env));
    *home = NULL;
    env[n++] = ch_arena_printf(a, "HOME=%s", o->dir);
    if (is_npx(o->argv[0])) /* in the sandbox HOME is temporary, and packages are not */
        env[n++] = ch_arena_printf(a, "npm_config_cache=%s/.npm", o->dir);
    for (size_t i = 0; base[i]; i++) {
        if (stdio_passes(base[i]))
            env[n++] = ch_arena_str(a, ch_sv_str(base[i]));
        else if (strncmp(base[i], "HOME=", 5) == 0)
            *home = ch_arena_str(a, ch_sv_str(base[i] + 5));
    }
    for (size_t i = 0; i < extra; i++) {
        size_t name = strcspn(o->env[i], "=") + 1;
        for (size_t k = 0; k < n; k++) /* a configured variable replaces ours */
            if (strncmp(env[k], o->env[i], name) == 0)
                env[k] = env[--n];
        env[n++] = o->env[i];
    }
    env[n] = NULL;
    ch_program_env_free(base);
    return env;
}

struct ch_mcp_link *ch_mcp_stdio_new(const struct ch_mcp_stdio_opts *o,
                                     const struct ch_mcp_link_events *events, void *user) {
    struct ch_mcp_stdio *s = ch_alloc(sizeof(*s));
    CH_ARENA_AUTO arena = {0};
    const char *home;

    s->link = (struct ch_mcp_link){.ops = &stdio_ops, .events = events, .user = user};
    s->loop = o->loop;
    s->name = o->name;
    s->refs = 1;
    s->opened.fn = stdio_on_opened;
    ch_rpc_lines_init(&s->out, 0, on_message_line, s);
    ch_rpc_lines_init(&s->err, CH_LIMIT_LOG_LINE, on_log_line, s);
    const char *const *env = make_env(&arena, o, &home);
    struct ch_sandbox_policy *policy = ch_sandbox_copy(&arena, o->policy);
    policy->readable = add_roots(&arena, policy->readable, o->argv, home);
    struct ch_program_opts opts = {
        .policy = policy,
        .argv = o->argv,
        .env = env,
        .workspace = o->dir,
        .trusted_argv = true,
        .pins = o->pins,
        .open_input = true,
        .stream = true,
        .started = stdio_on_started,
    };
    s->program =
        ch_program_start(o->loop, o->workers, &opts, stdio_on_output, stdio_on_end, s);
    return &s->link;
}
