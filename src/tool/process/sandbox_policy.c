/* sandbox_policy.c -- see sandbox_policy.h: policies, and the command line of
 * chela-sandbox.
 *
 * A layer is requested only if the probe has seen it work, and chela-sandbox does not run
 * the command if a requested layer fails. Therefore the reported layers are the actual
 * ones. */
#include "tool/process/sandbox_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "guard/repositories.h"
#include "tool/process/box_home.h"
#include "tool/process/sandbox_private.h"
#include "tool/process/unsearched.h"

/* Files that programs outside of the sandbox read and trust: git hooks and configuration,
 * chela's configuration, keys. The second half matters if the workspace is a home
 * directory. */
const char *const ch_sandbox_protected[] = {
    "chela.yaml", ".env",    ".ssh",    ".bashrc?", ".profile?",    ".bash_profile?", ".zshrc?",
    ".aws?",      ".gnupg?", ".netrc?", ".npmrc?",  ".gitconfig?",  ".kube?",         ".docker?",
    ".config/chela?", ".local/state/chela?", NULL,
};

/* The part that holds keys, which no question makes writable. The rest has a kind that
 * needs approval (file_kind.h). */
static const char *const refused[] = {
    ".env", ".ssh", ".aws?", ".gnupg?", ".netrc?", ".kube?", ".docker?", CH_UNSEARCHED_MARK, NULL,
};

const char *const *ch_sandbox_copy_list(struct ch_arena *a, const char *const *list) {
    size_t n = 0;

    if (!list)
        return NULL;
    while (list[n])
        n++;
    const char **copy = ch_arena_alloc(a, (n + 1) * sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        copy[i] = ch_arena_str(a, ch_sv_str(list[i]));
    copy[n] = NULL;
    return copy;
}

struct ch_sandbox_policy *ch_sandbox_copy(struct ch_arena *a, const struct ch_sandbox_policy *p) {
    struct ch_sandbox_policy *copy = CH_ARENA_NEW(a, struct ch_sandbox_policy);

    if (!p)
        return copy;
    *copy = *p;
    copy->writable = ch_sandbox_copy_list(a, p->writable);
    copy->readable = ch_sandbox_copy_list(a, p->readable);
    copy->protect = ch_sandbox_copy_list(a, p->protect);
    copy->ask = ch_sandbox_copy_list(a, p->ask);
    copy->hide = ch_sandbox_copy_list(a, p->hide);
    copy->shared = ch_sandbox_copy_list(a, p->shared);
    copy->hosts = p->hosts ? ch_arena_str(a, ch_sv_str(p->hosts)) : NULL;
    copy->helper = p->helper ? ch_arena_str(a, ch_sv_str(p->helper)) : NULL;
    return copy;
}

/* Appends parts of a path that do not exist, so that none of them is a link. */
static void add_parts(struct ch_buf *to, struct ch_sv rest) {
    while (rest.n) {
        struct ch_sv part = ch_sv_split(&rest, '/');
        if (ch_sv_is(part, ".."))
            while (to->n && to->p[--to->n] != '/')
                ;
        else if (part.n && !ch_sv_is(part, "."))
            ch_buf_addf(to, "/%.*s", CH_SV_FMT(part));
    }
}

const char *ch_sandbox_resolve(struct ch_arena *a, const char *path) {
    char *there = ch_arena_str(a, ch_sv_str(path)); /* the part that exists */
    size_t n = strlen(path);
    CH_BUF_AUTO found = {0};

    /* One system call; realpath needs one for each folder. */
    while (n && access(there, F_OK) < 0) {
        while (n && path[--n] != '/')
            ;
        there[n] = '\0';
    }
    char *real = n ? realpath(there, NULL) : NULL;
    if (real && strcmp(real, "/") != 0)
        ch_buf_add_str(&found, real);
    free(real);
    add_parts(&found, ch_sv_str(path + n));
    return found.n ? ch_arena_str(a, ch_buf_sv(&found)) : "/";
}

/* real: in the arena */
static void add_path(struct ch_arena *a, const char *const **list, const char *real) {
    size_t n = 0;

    while (*list && (*list)[n])
        n++;
    const char **longer = ch_arena_zalloc(a, (n + 2) * sizeof(*longer));
    if (n)
        memcpy(longer, *list, n * sizeof(*longer));
    longer[n] = real;
    *list = longer;
}

void ch_sandbox_add_ask(struct ch_arena *a, struct ch_sandbox_policy *p, const char *path) {
    add_path(a, &p->ask, ch_sandbox_resolve(a, path));
}

void ch_sandbox_add_hide(struct ch_arena *a, struct ch_sandbox_policy *p, const char *path) {
    add_path(a, &p->hide, ch_sandbox_resolve(a, path));
}

void ch_sandbox_add_hidden(struct ch_arena *a, struct ch_sandbox_policy *p, const char *real) {
    add_path(a, &p->hide, ch_arena_str(a, ch_sv_str(real)));
}

void ch_sandbox_add_shared(struct ch_arena *a, struct ch_sandbox_policy *p, const char *path) {
    add_path(a, &p->shared, ch_sandbox_resolve(a, path));
}

static const char *const *protected_by(const struct ch_sandbox_policy *policy) {
    return policy && policy->protect ? policy->protect : ch_sandbox_protected;
}

static bool is_in(struct ch_sv path, struct ch_sv top) {
    return path.n >= top.n && memcmp(path.p, top.p, top.n) == 0 &&
           (path.n == top.n || path.p[top.n] == '/');
}

const char *const *ch_sandbox_protect_list(struct ch_arena *a, const struct ch_sandbox_policy *p) {
    const char *const *list = p && p->protect ? ch_sandbox_copy_list(a, p->protect) : refused;

    if (list != refused)
        add_path(a, &list, CH_UNSEARCHED_MARK);
    return list;
}

/* "name?" protects a path only if the path exists. */
static bool is_there(const char *workspace, struct ch_sv name) {
    CH_BUF_AUTO path = {0};

    ch_buf_addf(&path, "%s/%.*s", name.p[0] == '/' ? "" : workspace, CH_SV_FMT(name));
    return faccessat(AT_FDCWD, ch_buf_str(&path), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool ch_sandbox_protects(const char *const *protect, const char *workspace, const char *path,
                         enum ch_making what) {
    CH_BUF_AUTO absolute = {0};

    ch_buf_addf(&absolute, "%s/%s", workspace, path);
    for (; *protect; protect++) {
        struct ch_sv name = ch_sv_str(*protect);
        bool if_there = name.n && name.p[name.n - 1] == '?';
        name.n -= if_there;
        if (!name.n)
            continue;
        struct ch_sv full = name.p[0] == '/' ? ch_buf_sv(&absolute) : ch_sv_str(path);
        bool hit = is_in(full, name) || (what == CH_MAKING_FILE && is_in(name, full));
        if (hit && (!if_there || is_there(workspace, name)))
            return true;
    }
    return false;
}

/* --- the command line */

struct words {
    struct ch_arena *arena;
    const char **p;
    size_t n, cap;
};

static void sandbox_policy_add(struct words *w, const char *word) {
    if (w->n == w->cap) {
        const char **more = ch_arena_alloc(w->arena, 2 * (w->cap + 16) * sizeof(*more));
        if (w->n)
            memcpy(more, w->p, w->n * sizeof(*more));
        w->p = more;
        w->cap = 2 * (w->cap + 16);
    }
    w->p[w->n++] = word;
}

static void add_option(struct words *w, const char *name, const char *value) {
    sandbox_policy_add(w, ch_arena_printf(w->arena, "--%s=%s", name, value));
}

static void add_absolute(struct words *w, const char *name, const char *const *paths) {
    for (; paths && *paths; paths++)
        if ((*paths)[0] == '/')
            add_option(w, name, *paths);
}

/* Relative paths are below the workspace. A workspace that is read-only protects them. */
static void add_protected(struct words *w, const struct ch_sandbox_policy *policy) {
    for (const char *const *p = protected_by(policy); p && *p; p++)
        if (!policy->workspace_read_only || (*p)[0] == '/')
            add_option(w, "protect", *p);
}

static void add_limit(struct words *w, const char *name, uint64_t value, uint64_t usual) {
    if (value != UINT64_MAX)
        sandbox_policy_add(w, ch_arena_printf(w->arena, "--limit-%s=%llu", name,
                                              (unsigned long long)(value ? value : usual)));
}

/* Memory of all processes of a command, unless the operator set a limit: three quarters of the
 * machine's. */
static uint64_t usual_total(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    return pages > 0 && size > 0 ? (uint64_t)pages / 4 * 3 * (uint64_t)size : CH_DEFAULT_BOX_MEMORY;
}

/* The memory of one process is limited only where nothing adds up that of all: the limit counts
 * what a process reserves, and sanitizers reserve terabytes. */
static void add_limits(struct words *w, const struct ch_sandbox_facts *f,
                       const struct ch_sandbox_limits *l) {
    add_limit(w, "cpu", l->cpu_s, CH_DEFAULT_BOX_CPU_S);
    if (!f->bwrap && !f->own)
        add_limit(w, "data", l->memory, CH_DEFAULT_BOX_MEMORY);
    add_limit(w, "total", l->memory, usual_total());
    add_limit(w, "file", l->file_size, CH_DEFAULT_BOX_FILE);
    add_limit(w, "files", l->files, CH_DEFAULT_BOX_FILES);
    add_limit(w, "processes", l->processes, CH_DEFAULT_BOX_PROCESSES);
    add_limit(w, "tmp", l->tmp, CH_DEFAULT_BOX_TMP);
    add_limit(w, "disk", l->disk, CH_DEFAULT_BOX_DISK);
    add_limit(w, "disk-files", l->disk_files, CH_DEFAULT_BOX_DISK_FILES);
}

static void add_outer(struct words *w, const struct ch_sandbox_facts *f) {
    add_option(w, "outer", f->bwrap ? "bwrap" : f->own ? "namespaces" : "none");
    if (f->bwrap)
        add_option(w, "bwrap", f->bwrap);
    if (f->layers[CH_LAYER_LANDLOCK].ok)
        sandbox_policy_add(w, "--landlock");
    if (f->layers[CH_LAYER_SECCOMP].ok)
        sandbox_policy_add(w, "--seccomp");
}

/* The root directory is never a writable workspace. */
static int add_workspace(struct words *w, const char *workspace, bool read_only,
                         struct chela_error *err) {
    char *real = realpath(workspace, NULL);

    if (!real)
        return ch_fail(err, CHELA_ENOENT, "the workspace %s: %s", workspace, strerror(errno));
    if (strcmp(real, "/") != 0)
        add_option(w, read_only ? "readable" : "workspace", real);
    free(real);
    return 0;
}

static int make_argv(struct words *w, const struct ch_sandbox_facts *f,
                     const struct ch_sandbox_policy *policy, const struct ch_sandbox_command *cmd,
                     struct chela_error *err) {
    sandbox_policy_add(w, f->helper);
    add_outer(w, f);
    sandbox_policy_add(w, ch_arena_printf(w->arena, "--parent=%d", (int)getpid()));
    if (policy->mode == CH_SANDBOX_REQUIRED)
        sandbox_policy_add(w, "--strict");
    if (policy->network == CH_SANDBOX_NET_HOST)
        sandbox_policy_add(w, "--network");
    else if (cmd->proxy)
        sandbox_policy_add(w, "--proxy");
    if (cmd->tty)
        sandbox_policy_add(w, "--tty");
    if (cmd->free_instructions)
        sandbox_policy_add(w, "--free-instructions");
    int rc = add_workspace(w, cmd->workspace, policy->workspace_read_only, err);
    if (rc < 0)
        return rc;
    add_option(w, "cwd", cmd->cwd);
    if (policy->home) {
        const char *home;
        rc = ch_box_home(w->arena, cmd->workspace, &home, err);
        if (rc < 0)
            return rc;
        add_option(w, "home", home);
    }
    if (cmd->layer)
        sandbox_policy_add(w, ch_arena_printf(w->arena, "--layer=%d", (int)cmd->layer));
    add_absolute(w, cmd->layer ? "readable" : "writable", policy->writable);
    add_absolute(w, "readable", policy->readable);
    add_absolute(w, "readable", policy->shared);
    add_absolute(w, "readable", cmd->readable);
    add_protected(w, policy);
    add_absolute(w, "protect", policy->ask);
    add_absolute(w, "protect", cmd->protect);
    add_absolute(w, "hide", policy->hide);
    add_absolute(w, "hide", cmd->hide);
    add_absolute(w, "repository", cmd->repositories);
    if (cmd->git_name)
        add_option(w, "git-name", cmd->git_name);
    if (cmd->git_email)
        add_option(w, "git-email", cmd->git_email);
    add_limits(w, f, &policy->limits);
    sandbox_policy_add(w, "--");
    for (const char *const *word = cmd->argv; *word; word++)
        sandbox_policy_add(w, *word);
    sandbox_policy_add(w, NULL);
    return 0;
}

/* NULL, or the first needed layer that is missing. */
static const struct ch_sandbox_layer *sandbox_policy_find_gap(
    const struct ch_sandbox_facts *f, const struct ch_sandbox_policy *policy) {
    for (size_t i = 0; i < CH_LAYERS; i++) {
        bool wanted = i != CH_LAYER_NETWORK || policy->network != CH_SANDBOX_NET_HOST;
        if (f->layers[i].needed && !f->layers[i].ok && wanted)
            return &f->layers[i];
    }
    return NULL;
}

/* A missing layer is always reported, but only once. */
static void warn_once(const struct ch_sandbox_facts *f, const struct ch_sandbox_layer *gap) {
    if (!atomic_exchange(f->warned, true))
        ch_log(CH_LOG_WARN, "sandbox",
               "not all of the sandbox holds here: %s (%s); 'chela doctor' says more", gap->name,
               gap->why);
}

const char *ch_sandbox_lacks(struct ch_arena *a, const struct ch_sandbox_policy *policy) {
    static const struct ch_sandbox_policy closed = {.network = CH_SANDBOX_NET_NONE};
    const struct ch_sandbox_facts *f = ch_sandbox_facts(policy ? policy->helper : NULL);
    const struct ch_sandbox_layer *gap = sandbox_policy_find_gap(f, &closed);

    if (!gap)
        return NULL;
    warn_once(f, gap);
    return ch_arena_printf(a, "%s (%s)", gap->name, gap->why);
}

static void find_kept(struct ch_arena *a, const struct ch_sandbox_policy *policy,
                      const struct ch_sandbox_command *cmd, struct ch_sandboxed *out) {
    const char *const *list = protected_by(policy);
    const char *workspace = ch_sandbox_resolve(a, cmd->workspace);

    for (const char *const *path = policy->ask; path && *path; path++)
        add_path(a, &list, *path);
    out->kept = ch_repositories_kept(a, workspace, list);
    out->absent = ch_repositories_absent(a, workspace, list);
    out->absent_hidden = ch_repositories_absent(a, workspace, policy->hide);
}

int ch_sandbox_wrap(struct ch_arena *a, const struct ch_sandbox_policy *policy,
                    const struct ch_sandbox_command *cmd, struct ch_sandboxed *out,
                    struct chela_error *err) {
    static const struct ch_sandbox_policy usual = {0};
    struct words w = {.arena = a};

    *out = (struct ch_sandboxed){.argv = cmd->argv};
    policy = policy ? policy : &usual;
    if (policy->mode == CH_SANDBOX_OFF)
        return 0;
    const struct ch_sandbox_facts *f = ch_sandbox_facts(policy->helper);
    const struct ch_sandbox_layer *gap = sandbox_policy_find_gap(f, policy);
    if (gap && policy->mode == CH_SANDBOX_REQUIRED)
        return ch_fail(err, CHELA_EPERM,
                       "the sandbox is required, and this machine lacks a layer of it: %s (%s)",
                       gap->name, gap->why);
    if (!f->layers[CH_LAYER_HELPER].ok)
        return ch_fail(err, CHELA_EPERM,
                       "there is no sandbox here, so the program was not run: %s. Install "
                       "chela-sandbox beside chela (make install does), or run without a sandbox "
                       "on purpose (--sandbox off, sandbox.mode: off)",
                       f->layers[CH_LAYER_HELPER].why);
    out->degraded = gap != NULL;
    if (gap)
        warn_once(f, gap);
    int rc = make_argv(&w, f, policy, cmd, err);
    if (rc < 0)
        return rc;
    out->argv = w.p;
    find_kept(a, policy, cmd, out);
    out->boxed = true;
    return 0;
}

bool ch_sandbox_failed(struct ch_arena *a, struct ch_sv report, const char **type,
                       const char **message) {
    while (report.n) {
        struct ch_sv line = ch_sv_split(&report, '\n');
        if (!ch_sv_is(ch_sv_split(&line, ' '), "error"))
            continue;
        *type = ch_arena_str(a, ch_sv_split(&line, ' '));
        *message = ch_arena_str(a, line);
        return true;
    }
    return false;
}
