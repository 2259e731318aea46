/* program.c -- see program.h.
 *
 *       PREPARING --on a thread--> RUNNING --child.c--> CHECKING --on a thread--> over: done
 *            \--stopped, refused-----------------------------------------------> over: done
 *            \--closed--> ABANDONED --the thread is done--> freed
 *
 * CHECKING looks for repositories that the program made (repositories.h), also if the
 * program was stopped or closed.
 *
 * Files readable by the operator's own programs: a tool given as [python3,
 * /srv/tools/weather.py] needs its script and the files beside it. So each absolute path in
 * its command line is readable, and so is the directory of that path, unless the directory
 * is a home directory or above one. */
#include "tool/process/program.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "tool/process/git_identity.h"
#include "tool/process/git_outside.h"
#include "tool/process/held_text.h"
#include "tool/process/layer_mount.h"
#include "tool/process/path.h"
#include "tool/process/unsearched.h"

enum state { PREPARING, RUNNING, CHECKING, ABANDONED, OVER };

struct ch_program {
    struct ch_loop *loop;
    struct ch_workers *workers;
    struct ch_arena arena; /* used by the thread while PREPARING */
    struct ch_program_opts opts;
    const char *home; /* this user's home; NULL: unknown */
    ch_child_output_fn *on_output;
    ch_program_fn *done;
    void *user;
    enum state state;
    bool stopped;
    struct ch_work work;
    struct ch_child *child;
    struct ch_box_network *network; /* NULL: none */
    int reports; /* hangs up when the sandbox is empty; -1: no sandbox was started */

    /* results of the thread */
    struct ch_sandboxed box;
    const char **tops; /* writable directories, resolved; NULL: none is searched */
    enum ch_file_kind least; /* lowest kind of the special files that the program may not write */
    struct ch_repositories before;
    struct timespec since;
    struct ch_held_list held;
    struct ch_child_result child_result; /* while CHECKING; texts in the arena */
    const char *cwd; /* absolute, all links resolved */
    const char *error_type;
    struct chela_error err;
};

/* --- environment */

static const char *const passed_on[] = {"PATH", "HOME", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ"};

/* Add the absolute entries of PATH. A relative entry depends on the working directory: a
 * file of the workspace could replace a program of the system. */
static void add_path(struct ch_buf *out, const char *path) {
    struct ch_sv rest = ch_sv_str(path);
    size_t before = out->n;

    while (rest.n) {
        struct ch_sv dir = ch_sv_split(&rest, ':');
        if (ch_sv_starts(dir, "/"))
            ch_buf_addf(out, "%s%.*s", out->n > before ? ":" : "", CH_SV_FMT(dir));
    }
    if (out->n == before)
        ch_buf_add_str(out, "/usr/local/bin:/usr/bin:/bin");
}

void ch_program_env(char *out[CH_PROGRAM_ENV + 1]) {
    size_t n = 0;

    for (size_t i = 0; i < CH_LEN(passed_on); i++) {
        const char *value = getenv(passed_on[i]);
        CH_BUF_AUTO text = {0};
        if (!value && i > 0)
            continue;
        ch_buf_addf(&text, "%s=", passed_on[i]);
        if (i == 0)
            add_path(&text, value);
        else
            ch_buf_add_str(&text, value);
        out[n++] = ch_buf_take(&text);
    }
    out[n] = NULL;
}

void ch_program_env_free(char *env[CH_PROGRAM_ENV + 1]) {
    for (size_t i = 0; env[i]; i++)
        ch_free(env[i]);
}

static const char *program_variable(const char *const *env, const char *name) {
    size_t n = strlen(name);

    for (; env && *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

/* --- preparation, on the worker thread */

static int program_refuse(struct ch_program *p, const char *type, int code, const char *what,
                          int error) {
    p->error_type = type;
    return ch_fail(&p->err, code, "%s: %s", what, strerror(error));
}

/* The path of an open directory, according to the kernel. */
static const char *program_path_of(struct ch_arena *a, int fd) {
    char path[PATH_MAX];
    const char *link = ch_arena_printf(a, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path));

    return n > 0 && (size_t)n < sizeof(path) ? ch_arena_str(a, ch_sv(path, (size_t)n)) : NULL;
}

static int find_cwd(struct ch_program *p) {
    const char *given = p->opts.cwd ? p->opts.cwd : ".";
    bool any = p->opts.any_cwd && given[0] == '/';
    int fd = any ? open(given, O_PATH | O_DIRECTORY | O_CLOEXEC)
                 : ch_path_open(p->opts.workspace, given, O_DIRECTORY);

    if (fd < 0 && !any && fd == -EXDEV)
        return program_refuse(p, "permission_denied", CHELA_EPERM, given, EXDEV);
    if (fd < 0)
        return program_refuse(p, "not_found", CHELA_ENOENT,
                              ch_arena_printf(&p->arena, "working directory %s", given),
                              any ? errno : -fd);
    p->cwd = program_path_of(&p->arena, fd);
    close(fd);
    return p->cwd ? 0 : program_refuse(p, "internal", CHELA_EIO, given, ENOENT);
}

static bool is_above(struct ch_sv dir, const char *path) {
    return path && dir.n <= strlen(path) && memcmp(dir.p, path, dir.n) == 0 &&
           (path[dir.n] == '/' || path[dir.n] == '\0');
}

/* Files of the operator's program, see the comment at the top. */
static const char *const *files_of(struct ch_program *p) {
    size_t n = 0;

    while (p->opts.argv[n])
        n++;
    const char **list = ch_arena_alloc(&p->arena, (2 * n + 3) * sizeof(*list));
    size_t out = 0;
    for (size_t i = 0; p->opts.trusted_argv && i < n; i++) {
        const char *word = p->opts.argv[i], *slash = strrchr(word, '/');
        struct stat st;
        if (word[0] != '/' || stat(word, &st) < 0)
            continue;
        list[out++] = word;
        struct ch_sv dir = ch_sv(word, (size_t)(slash - word));
        if (dir.n > 1 && !S_ISDIR(st.st_mode) && !is_above(dir, p->home))
            list[out++] = ch_arena_str(&p->arena, dir);
    }
    if (p->opts.any_cwd)
        list[out++] = p->cwd;
    const char *repository = ch_git_outside(&p->arena, p->opts.workspace);
    if (repository)
        list[out++] = repository;
    list[out] = NULL;
    return list;
}

static void add_top(struct ch_program *p, size_t *n, const char *path) {
    char *real = realpath(path, NULL);

    if (real && strcmp(real, "/") != 0)
        p->tops[(*n)++] = ch_arena_str(&p->arena, ch_sv_str(real));
    free(real);
}

/* What an earlier command left must be known before another one runs. */
static bool search_what_was_left(struct ch_program *p) {
    CH_BUF_AUTO text = {0};

    ch_unsearched_retry(&p->arena, (const char *const *)p->tops, &p->held);
    if (!p->held.unsearched)
        return true;
    struct ch_held_list failure = {.unsearched = p->held.unsearched,
                                   .unsearched_error = p->held.unsearched_error};
    ch_held_text(&failure, p->opts.workspace, &text);
    p->held.unsearched = NULL; /* the error says so */
    p->error_type = "permission_denied";
    ch_fail(&p->err, CHELA_EPERM,
            "the command was not run, because of what an earlier one left. %s", ch_buf_str(&text));
    return false;
}

static void find_in_workspace(struct ch_program *p) {
    const char *tops[] = {ch_layer_mount_workspace(p->opts.layer), NULL};

    ch_repositories_find(&p->arena, tops, p->least, &p->before);
}

/* The directories that the program can write, and the repositories in them. */
static void find_repositories(struct ch_program *p) {
    const struct ch_sandbox_policy *policy = p->opts.policy;
    size_t n = 0;

    if (policy->mode == CH_SANDBOX_OFF)
        return;
    if (p->opts.layer) { /* judged before it becomes real; only what exists is protected */
        find_in_workspace(p);
        return;
    }
    while (policy->writable && policy->writable[n])
        n++;
    p->tops = ch_arena_zalloc(&p->arena, (n + 2) * sizeof(*p->tops));
    ch_holds_begin();
    n = 0;
    if (!policy->workspace_read_only)
        add_top(p, &n, p->opts.workspace);
    for (size_t i = 0; policy->writable && policy->writable[i]; i++)
        add_top(p, &n, policy->writable[i]);
    if (!search_what_was_left(p))
        return;
    clock_gettime(CLOCK_REALTIME_COARSE, &p->since);
    ch_repositories_find(&p->arena, p->tops, p->least, &p->before);
}

/* Last, so that little time remains for another change. */
static bool is_as_trusted(struct ch_program *p) {
    const char *file = ch_pins_changed(&p->arena, p->opts.pins, p->opts.argv, p->cwd);

    if (!file)
        return true;
    p->error_type = "permission_denied";
    ch_fail(&p->err, CHELA_EPERM,
            "%s is not as it was when %s was trusted, so it was not run: a person must read it, "
            "run 'chela trust' and start chela again",
            file, p->opts.pins->config);
    return false;
}

static void program_prepare(struct ch_work *w) {
    struct ch_program *p = CH_CONTAINER(w, struct ch_program, work);

    if (find_cwd(p) < 0)
        return;
    find_repositories(p);
    if (p->error_type || !is_as_trusted(p))
        return;
    struct ch_git_identity identity;
    ch_git_identity(&p->arena, p->home, p->opts.workspace, &identity);
    struct ch_sandbox_command cmd = {
        .argv = p->opts.argv,
        .cwd = p->cwd,
        .workspace = p->opts.workspace,
        .layer = ch_layer_mount_holder(p->opts.layer),
        .readable = files_of(p),
        .repositories = p->before.paths,
        .protect = p->before.fixed,
        .hide = p->before.sockets,
        .git_name = identity.name,
        .git_email = identity.email,
        .tty = p->opts.tty,
        .proxy = p->network != NULL,
        .free_instructions = p->least == CH_KIND_EXECUTED,
    };
    int rc = ch_sandbox_wrap(&p->arena, p->opts.policy, &cmd, &p->box, &p->err);
    p->before.loose = p->box.degraded;
    p->before.kept = p->box.kept;
    p->before.absent = p->box.absent;
    p->before.absent_hidden = p->box.absent_hidden;
    p->before.hidden = p->opts.policy->hide;
    if (rc < 0)
        p->error_type = rc == CHELA_EPERM ? "permission_denied" : "not_found";
}

/* --- running, on the loop */

static void program_destroy(struct ch_program *p) {
    ch_box_network_close(p->network);
    if (p->reports >= 0)
        close(p->reports);
    if (p->tops)
        ch_holds_end();
    ch_arena_release(&p->arena);
    ch_free(p);
}

static void program_finish(struct ch_program *p, struct ch_program_result *r) {
    p->state = OVER;
    r->boxed = p->box.boxed;
    r->degraded = p->box.degraded;
    r->refused = ch_box_network_refused(p->network);
    r->held = p->held.n || p->held.unsearched ? &p->held : NULL;
    p->done(r, p->user);
    program_destroy(p);
}

static void program_fail(struct ch_program *p, const char *type, const char *why) {
    program_finish(p, &(struct ch_program_result){.error_type = type, .error = why});
}

/* --- after the program, on the worker thread */

static void program_check(struct ch_work *w) {
    struct ch_program *p = CH_CONTAINER(w, struct ch_program, work);
    struct pollfd reports = {.fd = p->reports};

    /* A program that was killed may live for some milliseconds more, and write. */
    if (poll(&reports, p->reports >= 0, CH_LIMIT_SANDBOX_END_MS) < 0 && errno != EINTR)
        ch_log(CH_LOG_WARN, "tool", "poll: %s", strerror(errno));
    struct ch_held_list held;
    ch_repositories_hold(&p->arena, (const char *const *)p->tops, p->least, &p->before, &p->since,
                         &held);
    if (held.unsearched)
        ch_unsearched_keep((const char *const *)p->tops, p->least, &p->before, &p->since);
    ch_held_append(&p->arena, &p->held, &held);
}

/* The sandbox says why a command was ended, or could not run. */
static void finish_with_report(struct ch_program *p, const struct ch_child_result *child) {
    struct ch_program_result r = {.child = child};

    if (p->box.boxed && !child->stopped && !child->timed_out)
        ch_sandbox_failed(&p->arena, child->report, &r.error_type, &r.error);
    program_finish(p, &r);
}

static void program_on_checked(struct ch_work *w) {
    struct ch_program *p = CH_CONTAINER(w, struct ch_program, work);
    const struct ch_child_result *child = &p->child_result;

    if (p->state == ABANDONED) {
        program_destroy(p);
        return;
    }
    finish_with_report(p, child);
}

/* The pool is shut down, so the check runs now: files that the program created must not
 * remain unchecked. */
static void on_check_dropped(struct ch_work *w) {
    program_check(w);
    program_destroy(CH_CONTAINER(w, struct ch_program, work));
}

static void start_check(struct ch_program *p) {
    p->state = p->state == ABANDONED ? ABANDONED : CHECKING;
    p->work = (struct ch_work){
        .run = program_check, .done = program_on_checked, .dropped = on_check_dropped};
    ch_work_submit(p->workers, &p->work);
}

static void on_child_done(const struct ch_child_result *child, const struct chela_error *err,
                          void *user) {
    struct ch_program *p = user;

    p->child = NULL;
    ch_box_network_stop(p->network);
    if (!child) {
        program_fail(p, err->code == CHELA_ENOENT ? "not_found" : "unavailable", err->message);
        return;
    }
    if (!p->tops) {
        finish_with_report(p, child);
        return;
    }
    p->child_result = *child;
    p->child_result.out = ch_arena_sv(&p->arena, child->out);
    p->child_result.err = ch_arena_sv(&p->arena, child->err);
    p->child_result.report = ch_arena_sv(&p->arena, child->report);
    start_check(p);
}

static void on_child_socket(int fd, void *user) {
    const struct ch_program *p = user;

    ch_box_network_listen(p->network, fd);
}

static void on_child_output(int stream, struct ch_sv data, void *user) {
    struct ch_program *p = user;

    p->on_output(stream, data, p->user);
}

static void program_run(struct ch_program *p) {
    struct ch_child_opts opts = {
        .argv = p->box.argv,
        .env = p->opts.env,
        .cwd = p->box.boxed ? "/" : p->cwd,
        .input = p->opts.input,
        .open_input = p->opts.open_input,
        .merge = p->opts.merge,
        .stream = p->opts.stream,
        .tty = p->opts.tty,
        .report = p->box.boxed,
        .on_socket = p->network ? on_child_socket : NULL,
        .max_output = p->opts.max_output,
        .timeout_ms = p->opts.timeout_ms,
    };
    p->state = RUNNING;
    p->child =
        ch_child_start(p->loop, &opts, p->on_output ? on_child_output : NULL, on_child_done, p);
    if (p->box.boxed && p->tops)
        p->reports = ch_child_copy_report(p->child);
    if (p->opts.started)
        p->opts.started(p->user); /* the callback may close p */
}

static void program_on_prepared(struct ch_work *w) {
    struct ch_program *p = CH_CONTAINER(w, struct ch_program, work);
    static const struct ch_child_result never = {.exit_code = -1, .stopped = true};

    if (p->state == ABANDONED)
        program_destroy(p);
    else if (p->stopped)
        program_finish(p, &(struct ch_program_result){.child = &never});
    else if (p->error_type)
        program_fail(p, p->error_type, p->err.message);
    else
        program_run(p);
}

/* The pool is shut down first, so the owner of the program is already gone. */
static void on_dropped(struct ch_work *w) {
    program_destroy(CH_CONTAINER(w, struct ch_program, work));
}

static const char *const *copy_words(struct ch_arena *a, const char *const *words) {
    size_t n = 0;

    while (words && words[n])
        n++;
    const char **copy = ch_arena_alloc(a, (n + 1) * sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        copy[i] = ch_arena_str(a, ch_sv_str(words[i]));
    copy[n] = NULL;
    return copy;
}

struct ch_program *ch_program_start(struct ch_loop *loop, struct ch_workers *workers,
                                    const struct ch_program_opts *opts,
                                    ch_child_output_fn *on_output, ch_program_fn *done,
                                    void *user) {
    struct ch_program *p = ch_alloc(sizeof(*p));

    p->reports = -1;
    p->loop = loop;
    p->workers = workers;
    p->on_output = on_output;
    p->done = done;
    p->user = user;
    p->opts = *opts;
    struct ch_sandbox_policy *policy = ch_sandbox_copy(&p->arena, opts->policy);
    if (opts->full_box) {
        policy->mode = CH_SANDBOX_REQUIRED;
        policy->network = CH_SANDBOX_NET_NONE;
    }
    p->opts.policy = policy;
    p->opts.argv = copy_words(&p->arena, opts->argv);
    p->opts.env = copy_words(&p->arena, opts->env);
    p->opts.workspace = ch_arena_str(&p->arena, ch_sv_str(opts->workspace));
    p->opts.cwd = opts->cwd ? ch_arena_str(&p->arena, ch_sv_str(opts->cwd)) : NULL;
    p->opts.input = ch_arena_sv(&p->arena, opts->input);
    p->opts.pins = ch_pins_copy(&p->arena, opts->pins);
    p->opts.command = ch_arena_sv(&p->arena, opts->command);
    p->network = ch_box_network_new(&(struct ch_box_network_opts){
        .loop = loop,
        .policy = policy,
        .command = p->opts.command,
        .met = opts->met,
        .granted = opts->granted,
        .user = opts->granted_user,
    });
    p->home = program_variable(p->opts.env, "HOME");
    p->least = opts->free_instructions ? CH_KIND_EXECUTED : CH_KIND_INSTRUCTIONS;
    p->work = (struct ch_work){
        .run = program_prepare, .done = program_on_prepared, .dropped = on_dropped};
    ch_work_submit(workers, &p->work);
    return p;
}

int ch_program_write(struct ch_program *p, struct ch_sv data) {
    return p->child ? ch_child_write(p->child, data) : CHELA_EBUSY;
}

int ch_program_end_input(struct ch_program *p) {
    if (!p->child)
        return CHELA_EBUSY;
    ch_child_end_input(p->child);
    return 0;
}

void ch_program_stop(struct ch_program *p) {
    p->stopped = true;
    if (p->child)
        ch_child_stop(p->child);
}

void ch_program_close(struct ch_program *p) {
    if (!p || p->state == OVER)
        return;
    if (p->state == PREPARING || p->state == CHECKING) {
        p->state = ABANDONED;
        return;
    }
    ch_child_close(p->child);
    ch_box_network_stop(p->network);
    if (!p->tops) {
        program_destroy(p);
        return;
    }
    p->state = ABANDONED;
    start_check(p);
}
