/* confine.c -- see confine.h.
 *
 * The order matters: steps that need rights or files come first, the system
 * call filter last. If a requested layer fails, the program reports it and
 * exits, because the runtime has promised the layer. */
#include "sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/sv.h"
#include "sandbox/filter.h"
#include "sandbox/mounts.h"
#include "sandbox/options.h"
#include "sandbox/renames.h"
#include "sandbox/report.h"
#include "sandbox/view.h"

#define CLOSE_RANGE 436
#define CLOSE_RANGE_ON_EXEC 4
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

_Noreturn static void missing(const char *layer, int error) {
    ch_die("unavailable", "the sandbox cannot set %s: %s", layer, strerror(-error));
}

static const char *home(const struct ch_box *box) {
    if (box->home)
        return box->outer == CH_OUTER_NONE ? box->home : CH_BOX_HOME;
    return ch_text("%s/home", box->tmp);
}

static void add_setting(struct ch_buf *to, const char *key, const char *value) {
    if (!value)
        return;
    ch_buf_addf(to, "\t%s = \"", key);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            ch_buf_addc(to, '\\');
        if ((unsigned char)*value >= ' ')
            ch_buf_addc(to, *value);
    }
    ch_buf_add_str(to, "\"\n");
}

/* Git finds the user's name in the private home, where settings of a repository take precedence.
 * Root may work in somebody's repository, and nobody owns those below /opt (unowned.h): whatever
 * their settings run, runs in the box. */
static void write_git_config(const struct ch_box *box) {
    CH_BUF_AUTO text = {0};

    if (box->git_name || box->git_email)
        ch_buf_add_str(&text, "[user]\n");
    add_setting(&text, "name", box->git_name);
    add_setting(&text, "email", box->git_email);
    if (geteuid() == 0)
        ch_buf_add_str(&text, "[safe]\n\tdirectory = *\n");
    const char *path = ch_text("%s/.gitconfig", home(box));
    unlink(path); /* an earlier command's, in a home that stays */
    int fd = text.n ? open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (fd < 0 && errno == EEXIST) /* of a command that began at the same time */
        return;
    if (text.n && (fd < 0 || write(fd, text.p, text.n) != (ssize_t)text.n))
        ch_die("unavailable", "the sandbox cannot make %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
}

void ch_confine_home(const struct ch_box *box) {
    if (!box->home && mkdir(home(box), 0700) < 0 && errno != EEXIST)
        ch_die("unavailable", "the sandbox cannot make %s: %s", home(box), strerror(errno));
    write_git_config(box);
}

/* --- a session and its signals */

static void start_session(const struct ch_box *box) {
    sigset_t none;

    setsid();
    if (box->tty)
        ioctl(0, TIOCSCTTY, 0);
    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Replace the host's /dev/null, which cannot be opened again inside the box by
 * name (/dev/stdin), by the box's own. */
static void take_own_null(void) {
    struct stat st;

    if (fstat(0, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
        return;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        dup2(fd, 0);
}

/* The report must stay open until exec has succeeded. */
static void close_others(void) {
    if (syscall(CLOSE_RANGE, 3u, ~0u, CLOSE_RANGE_ON_EXEC) == 0)
        return;
    for (int fd = 3; fd < 1024; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* --- limits */

static void confine_limit(int resource, const char *name, uint64_t value) {
    struct rlimit old;

    if (getrlimit((__rlimit_resource_t)resource, &old) < 0)
        missing(name, -errno);
    rlim_t to = old.rlim_max == RLIM_INFINITY ? (rlim_t)value : CH_MIN((rlim_t)value, old.rlim_max);
    struct rlimit new = {.rlim_cur = to, .rlim_max = to};
    if (setrlimit((__rlimit_resource_t)resource, &new) < 0)
        missing(name, -errno);
}

static void set_limits(const struct ch_box_limits *l) {
    confine_limit(RLIMIT_CORE, "RLIMIT_CORE", 0);
    if (l->cpu_s)
        confine_limit(RLIMIT_CPU, "RLIMIT_CPU", l->cpu_s);
    if (l->data)
        confine_limit(RLIMIT_DATA, "RLIMIT_DATA", l->data);
    if (l->file_size)
        confine_limit(RLIMIT_FSIZE, "RLIMIT_FSIZE", l->file_size);
    if (l->files)
        confine_limit(RLIMIT_NOFILE, "RLIMIT_NOFILE", l->files);
    if (l->processes)
        confine_limit(RLIMIT_NPROC, "RLIMIT_NPROC", l->processes);
}

/* --- rights */

static void drop_capabilities(const struct ch_box *box) {
    uint32_t keep =
        ch_needs_dac(box) ? 1u << CAP_DAC_OVERRIDE | 1u << CAP_FOWNER | 1u << CAP_CHOWN : 0;
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct now[2] = {{0}};

    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    /* may fail; exec gains no rights anyway. No capability has a number that is invalid. */
    for (int cap = 0, rc = 0; cap < 64 && (rc == 0 || errno != EINVAL); cap++)
        if (cap >= 32 || !(keep >> cap & 1))
            rc = prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    if (syscall(SYS_capget, &head, now) < 0)
        missing("capabilities", -errno);
    keep &= now[0].permitted;
    struct __user_cap_data_struct data[2] = {{.effective = keep, .permitted = keep}};
    if (syscall(SYS_capset, &head, data) < 0)
        missing("capabilities", -errno);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        missing("no_new_privs", -errno);
}

/* --- files and system calls */

/* In a box with mounts, allow reading everything, and writing only where the
 * mounts are writable: the same policy as the mounts. */
static int allow_in_box(struct ch_landlock *l, const struct ch_box *box) {
    int rc = ch_landlock_allow(l, "/", CH_MAY_READ);

    if (rc == 0)
        rc = ch_landlock_allow(l, "/dev", CH_MAY_DEVICE);
    if (rc == 0)
        rc = ch_landlock_allow(l, "/dev/shm", CH_MAY_WRITE);
    for (size_t i = 0; rc == 0 && i < box->writable.n; i++)
        rc = ch_landlock_allow(l, box->writable.p[i], CH_MAY_WRITE);
    if (rc == 0 && box->workspace)
        rc = ch_landlock_allow(l, box->workspace, CH_MAY_WRITE);
    if (rc == 0 && box->home)
        rc = ch_landlock_allow(l, CH_BOX_HOME, CH_MAY_WRITE);
    return rc == 0 ? ch_landlock_allow(l, box->tmp, CH_MAY_WRITE) : rc;
}

static void lock_files(const struct ch_box *box) {
    bool bare = box->outer == CH_OUTER_NONE;
    struct ch_landlock l;
    int rc = ch_landlock_begin(&l, bare && !box->network);

    if (rc == 0)
        rc = bare ? ch_view_allow(&l, box) : allow_in_box(&l, box);
    if (rc == 0)
        rc = ch_landlock_enforce(&l);
    if (rc < 0)
        missing("Landlock", rc);
}

/* With the host's network, Unix sockets without a name lead to programs outside, unless Landlock
 * prevents this; without mounts, those with a name do, too. */
static enum ch_sockets allowed_sockets(const struct ch_box *box, bool bare) {
    if (!box->network)
        return bare ? CH_SOCKETS_NONE : CH_SOCKETS_USUAL;
    return bare || !box->landlock || !ch_landlock_scopes() ? CH_SOCKETS_INET : CH_SOCKETS_USUAL;
}

static void lock_calls(const struct ch_box *box) {
    bool bare = box->outer == CH_OUTER_NONE;
    enum ch_machine machine = ch_machine_here();
    struct ch_filter f;

    if (machine == CH_MACHINES)
        missing("seccomp", -ENOSYS);
    ch_filter_build(&f, machine, allowed_sockets(box, bare), bare);
    int rc = ch_filter_apply(&f);
    if (rc < 0)
        missing("seccomp", rc);
}

/* --- the command */

static bool confine_is_variable(const char *entry, const char *name) {
    size_t n = strlen(name);

    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

static bool is_set(const char *entry) {
    size_t n = strcspn(entry, "=");

    for (char **e = environ; *e; e++)
        if (strncmp(*e, entry, n + 1) == 0)
            return true;
    return false;
}

/* Programs read one spelling or the other. */
static void add_proxy(struct ch_argv *w, unsigned port) {
    static const char *const names[] = {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"};
    static const char *const own[] = {"no_proxy=localhost,127.0.0.1,::1",
                                      "NO_PROXY=localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY=1"};

    for (size_t i = 0; i < CH_LEN(names); i++)
        if (!is_set(ch_text("%s=", names[i])))
            ch_argv_add(w, ch_text("%s=http://127.0.0.1:%u", names[i], port));
    for (size_t i = 0; i < CH_LEN(own); i++)
        if (!is_set(own[i]))
            ch_argv_add(w, own[i]);
}

/* The environment of the command. The runtime chose every variable of the
 * current one. */
static char **make_environment(const struct ch_box *box) {
    /* Without a network, package managers repeat what cannot succeed, npm for 71 seconds. */
    static const char *const no_retries[] = {"npm_config_fetch_retries=0", "PIP_RETRIES=0",
                                             "CARGO_NET_RETRY=0"};
    struct ch_argv w = {0};

    for (char **e = environ; *e; e++)
        if (!confine_is_variable(*e, "HOME") && !confine_is_variable(*e, "TMPDIR"))
            ch_argv_add(&w, *e);
    ch_argv_add(&w, ch_text("HOME=%s", home(box)));
    ch_argv_add(&w, ch_text("TMPDIR=%s", box->tmp));
    for (size_t i = 0; !box->network && i < CH_LEN(no_retries); i++)
        if (!is_set(no_retries[i]))
            ch_argv_add(&w, no_retries[i]);
    if (box->proxy_port)
        add_proxy(&w, box->proxy_port);
    ch_argv_add(&w, NULL);
    return (char **)w.p;
}

static const char *confine_path_of(char **env) {
    for (; *env; env++)
        if (confine_is_variable(*env, "PATH"))
            return *env + 5;
    return DEFAULT_PATH;
}

/* The paths to try for the program, as in io/spawn.c: relative entries of PATH
 * are skipped. */
static struct ch_argv candidates(const char *name, char **env) {
    struct ch_sv rest = ch_sv_str(confine_path_of(env));
    struct ch_argv w = {0};

    if (strchr(name, '/'))
        ch_argv_add(&w, name);
    while (rest.p && *name && !strchr(name, '/')) {
        struct ch_sv dir = ch_sv_split(&rest, ':');
        if (dir.n > 0 && dir.p[0] == '/')
            ch_argv_add(&w, ch_text("%.*s/%s", CH_SV_FMT(dir), name));
    }
    return w;
}

_Noreturn static void confine_run(const struct ch_argv *paths, char **argv, char **env) {
    int error = ENOENT;

    for (size_t i = 0; i < paths->n; i++) {
        execve(paths->p[i], argv, env);
        if (errno != ENOENT && errno != ENOTDIR)
            error = errno;
    }
    if (error == ENOENT)
        ch_die("not_found", "cannot run %s: not found%s", argv[0],
               strchr(argv[0], '/') ? "" : " in PATH");
    ch_die(error == EACCES ? "permission_denied" : "unavailable", "cannot run %s: %s", argv[0],
           strerror(error));
}

void ch_confine_helper(const struct ch_box *box) {
    drop_capabilities(box);
    if (box->landlock)
        lock_files(box);
    set_limits(&box->limits);
}

/* Nothing is allocated after the memory limit is set. */
void ch_confine_exec(const struct ch_box *box) {
    char **env = make_environment(box);
    struct ch_argv paths = {0};

    if (!box->trial)
        paths = candidates(box->argv[0], env);
    start_session(box);
    take_own_null();
    close_others();
    if (chdir(box->cwd) < 0)
        ch_die("not_found", "working directory %s: %s", box->cwd, strerror(errno));
    drop_capabilities(box);
    if (box->landlock)
        lock_files(box);
    set_limits(&box->limits);
    if (box->renames)
        ch_renames_begin(box->renames);
    if (box->seccomp)
        lock_calls(box);
    if (box->trial)
        _exit(0);
    confine_run(&paths, box->argv, env);
}
