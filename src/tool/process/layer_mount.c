/* layer_mount.c -- see layer_mount.h. */
#include "tool/process/layer_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/random_id.h"
#include "io/child.h"
#include "io/spawn.h"
#include "layer/changes.h"
#include "layer/commit.h"
#include "layer/covered.h"
#include "layer/walk.h"
#include "tool/process/sandbox_private.h"

#define ANSWER_MAX 1024
#define FD_PATH 32 /* bytes of "/proc/self/fd/N" */

/* A process that holds a mount. */
struct holder {
    pid_t pid; /* 0: none */
    int input; /* the process ends when this is closed */
};

struct ch_layer_mount {
    struct ch_arena arena;
    struct ch_layer_mount_opts opts; /* texts in the arena */
    struct ch_work_layer *layer;     /* NULL: not mounted */
    struct holder holder;
    int tree; /* the mounted tree, or an empty place for it */
    char path[FD_PATH];
};

/* --- the process that holds a mount */

static int mount_refuse(struct chela_error *err, const char *why) {
    return ch_fail(err, CHELA_EPERM, "changes cannot be kept for review here: %s", why);
}

/* The line "ready", or the report of the failure. */
static int read_answer(int out, struct chela_error *err) {
    CH_ARENA_AUTO a = {0};
    struct pollfd p = {.fd = out, .events = POLLIN};
    char text[ANSWER_MAX];
    const char *type, *why;
    size_t n = 0;
    ssize_t got = 1;

    while (got > 0 && n < sizeof(text) && !memchr(text, '\n', n)) {
        if (poll(&p, 1, CH_LIMIT_LAYER_MOUNT_MS) <= 0)
            return mount_refuse(err, "the sandbox does not answer");
        got = read(out, text + n, sizeof(text) - n);
        n += got > 0 ? (size_t)got : 0;
    }
    struct ch_sv answer = ch_sv(text, n);
    if (ch_sv_starts(answer, "ready\n"))
        return 0;
    return mount_refuse(err, ch_sandbox_failed(&a, answer, &type, &why)
                                 ? why
                                 : "the sandbox ended without an answer");
}

static void holder_stop(struct holder *h) {
    if (h->pid <= 0)
        return;
    close(h->input);
    kill(h->pid, SIGKILL);
    while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    h->pid = 0;
}

static int holder_start(struct holder *h, const char *workspace, const char *dir,
                        const struct ch_sandbox_policy *policy, struct chela_error *err) {
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    const struct ch_sandbox_facts *f = ch_sandbox_facts(policy ? policy->helper : NULL);
    CH_ARENA_AUTO a = {0};
    struct ch_spawn_fds io;

    if (!f->layers[CH_LAYER_HELPER].ok)
        return mount_refuse(err, f->layers[CH_LAYER_HELPER].why);
    if (!f->own)
        return mount_refuse(err, f->layers[CH_LAYER_NAMESPACES].why);
    const char *const argv[] = {f->helper,
                                "--hold",
                                ch_arena_printf(&a, "--workspace=%s", workspace),
                                ch_arena_printf(&a, "--upper=%s/upper", dir),
                                ch_arena_printf(&a, "--work=%s/work", dir),
                                NULL};
    struct ch_child_opts opts = {
        .argv = argv, .env = env, .cwd = "/", .merge = true, .open_input = true};
    int rc = ch_spawn_fds_open(&io, &opts, err);
    if (rc < 0)
        return rc;
    rc = ch_spawn(&opts, &io, &h->pid, err);
    ch_spawn_fds_close_theirs(&io);
    h->input = io.ours[0];
    if (rc < 0) {
        h->pid = 0;
        close(h->input);
    } else {
        rc = read_answer(io.ours[1], err);
    }
    close(io.ours[1]);
    if (rc < 0)
        holder_stop(h);
    return rc;
}

/* The tree as the process that holds it sees it. */
static int holder_open(const struct holder *h, const char *workspace) {
    CH_BUF_AUTO path = {0};

    ch_buf_addf(&path, "/proc/%d/root%s", (int)h->pid, workspace);
    return open(ch_buf_str(&path), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* --- a mount */

static const char *const *copy_protected(struct ch_arena *a,
                                         const struct ch_sandbox_policy *policy) {
    const char *const *first = policy && policy->protect ? policy->protect : ch_sandbox_protected;
    const char *const *ask = policy ? policy->ask : NULL;
    size_t n = 0;

    for (const char *const *p = first; *p; p++)
        n++;
    for (const char *const *p = ask; p && *p; p++)
        n++;
    const char **list = ch_arena_zalloc(a, (n + 1) * sizeof(*list));
    n = 0;
    for (const char *const *p = first; *p; p++)
        list[n++] = ch_arena_str(a, ch_sv_str(*p));
    for (const char *const *p = ask; p && *p; p++)
        list[n++] = ch_arena_str(a, ch_sv_str(*p));
    return list;
}

struct ch_layer_mount *ch_layer_mount_new(const struct ch_layer_mount_opts *opts) {
    struct ch_layer_mount *m = ch_alloc(sizeof(*m));

    m->opts = *opts;
    m->opts.workspace = ch_arena_str(&m->arena, ch_sv_str(opts->workspace));
    m->opts.session = ch_arena_str(&m->arena, ch_sv_str(opts->session));
    m->tree = open("/dev/null", O_PATH | O_CLOEXEC);
    snprintf(m->path, sizeof(m->path), "/proc/self/fd/%d", m->tree);
    return m;
}

/* The number of the descriptor stays, because calls that wait know the path. */
static int mount_enter(struct ch_layer_mount *m, struct chela_error *err) {
    int fd = holder_open(&m->holder, m->layer->workspace);
    int rc = fd < 0 || dup3(fd, m->tree, O_CLOEXEC) < 0
                 ? ch_fail(err, CHELA_EIO, "the layer cannot be entered: %s", strerror(errno))
                 : 0;

    if (fd >= 0)
        close(fd);
    return rc;
}

static void mount_unmount(struct ch_layer_mount *m) {
    int nothing = open("/dev/null", O_PATH | O_CLOEXEC);

    if (nothing >= 0) {
        dup3(nothing, m->tree, O_CLOEXEC);
        close(nothing);
    }
    holder_stop(&m->holder);
}

int ch_layer_mount_up(struct ch_layer_mount *m, struct chela_error *err) {
    if (m->layer)
        return 0;
    struct ch_layer_opts opts = {.workspace = m->opts.workspace,
                                 .session = m->opts.session,
                                 .apply = m->opts.apply,
                                 .protect = copy_protected(&m->arena, m->opts.policy),
                                 .create = true};
    int rc = ch_layer_open(&opts, &m->layer, err);
    if (rc < 0)
        return rc;
    rc = ch_covered_note(m->layer, err);
    if (rc == 0)
        rc = holder_start(&m->holder, m->layer->workspace, m->layer->dir, m->opts.policy, err);
    if (rc == 0)
        rc = mount_enter(m, err);
    if (rc < 0) {
        mount_unmount(m);
        ch_layer_close(m->layer);
        m->layer = NULL;
    }
    return rc;
}

void ch_layer_mount_note(struct ch_layer_mount *m) {
    struct chela_error err = {0};

    if (m->layer && ch_covered_note(m->layer, &err) < 0)
        ch_log(CH_LOG_WARN, "layer", "%s", err.message);
}

/* Without a change, nothing is left behind. */
static bool keep_changes(struct ch_work_layer *l) {
    CH_ARENA_AUTO a = {0};
    struct chela_error err = {0};
    struct ch_layer_changes changes;
    struct ch_layer_names names = {0};

    if (ch_changes_find(l, &a, &changes, &err) < 0) {
        ch_log(CH_LOG_WARN, "layer", "%s", err.message);
        return true;
    }
    bool any = changes.n > 0;
    ch_changes_free(&changes);
    bool empty = !any && ch_layer_names_read(l->upper, &names) == 0 && names.n == 0;
    ch_layer_names_free(&names);
    if (empty && ch_layer_remove(l, &err) < 0)
        ch_log(CH_LOG_WARN, "layer", "%s", err.message);
    return any;
}

void ch_layer_mount_down(struct ch_layer_mount *m, bool *changes) {
    *changes = false;
    if (!m->layer)
        return;
    mount_unmount(m);
    *changes = keep_changes(m->layer);
    ch_layer_close(m->layer);
    m->layer = NULL;
}

void ch_layer_mount_free(struct ch_layer_mount *m) {
    bool changes;

    if (!m)
        return;
    ch_layer_mount_down(m, &changes);
    if (m->tree >= 0)
        close(m->tree);
    ch_arena_release(&m->arena);
    ch_free(m);
}

const char *ch_layer_mount_path(const struct ch_layer_mount *m) {
    return m->path;
}

pid_t ch_layer_mount_holder(const struct ch_layer_mount *m) {
    return m ? m->holder.pid : 0;
}

const char *ch_layer_mount_workspace(const struct ch_layer_mount *m) {
    return m->opts.workspace;
}

/* --- the trial */

static int trial_fail(struct chela_error *err, const char *what) {
    CH_BUF_AUTO why = {0};

    ch_buf_addf(&why, "%s: %s", what, strerror(errno));
    return mount_refuse(err, ch_buf_str(&why));
}

/* What a layer needs of the file system of its directory: attributes of users. */
static int try_attributes(int dir, struct chela_error *err) {
    int upper = openat(dir, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = upper >= 0 && fsetxattr(upper, "user.overlay.trial", "y", 1, 0) == 0 &&
              fremovexattr(upper, "user.overlay.trial") == 0;

    if (!ok)
        trial_fail(err, "the file system of chela's state directory keeps no attributes "
                        "(set XDG_STATE_HOME)");
    if (upper >= 0)
        close(upper);
    return ok ? 0 : CHELA_EPERM;
}

/* Through the mount: make a file, move it, and remove it. */
static int try_changes(int tree, struct chela_error *err) {
    char name[CH_RANDOM_ID], moved[CH_RANDOM_ID];
    struct stat st;

    ch_random_id(".tr_", name);
    ch_random_id(".tr_", moved);
    if (mkdirat(tree, name, 0700) < 0)
        return trial_fail(err, "a directory cannot be made in the layer");
    if (renameat(tree, name, tree, moved) < 0 || unlinkat(tree, moved, AT_REMOVEDIR) < 0 ||
        fstatat(tree, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return trial_fail(err, "a directory cannot be moved in the layer");
    return 0;
}

static int try_mount(const char *dir, int fd, const char *workspace,
                     const struct ch_sandbox_policy *policy, struct chela_error *err) {
    struct holder h = {0};
    int rc = try_attributes(fd, err);

    if (rc == 0)
        rc = holder_start(&h, workspace, dir, policy, err);
    if (rc < 0)
        return rc;
    int tree = holder_open(&h, workspace);
    rc = tree < 0 ? trial_fail(err, "the layer cannot be entered") : try_changes(tree, err);
    if (tree >= 0)
        close(tree);
    holder_stop(&h);
    return rc;
}

int ch_layer_mount_trial(const char *workspace, const struct ch_sandbox_policy *policy,
                         struct chela_error *err) {
    CH_ARENA_AUTO a = {0};
    const char *home = ch_layer_home(&a);
    char name[CH_RANDOM_ID];

    ch_random_id(".try_", name);
    if (policy && policy->mode == CH_SANDBOX_OFF)
        return mount_refuse(err, "the sandbox is off");
    if (!home || ch_state_make(home) < 0)
        return mount_refuse(err, "chela's state directory cannot be made: set XDG_STATE_HOME");
    const char *dir = ch_arena_printf(&a, "%s/%s", home, name);
    int fd = mkdir(dir, 0700) < 0 ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || mkdirat(fd, "upper", 0700) < 0 || mkdirat(fd, "work", 0700) < 0 ||
                     mkdirat(fd, "tree", 0700) < 0
                 ? trial_fail(err, dir)
                 : 0;
    if (rc == 0) {
        char *real = workspace ? realpath(workspace, NULL) : NULL;
        rc = try_mount(dir, fd, real ? real : ch_arena_printf(&a, "%s/tree", dir), policy, err);
        free(real);
    }
    if (fd >= 0)
        close(fd);
    ch_layer_erase(AT_FDCWD, dir);
    return rc;
}
