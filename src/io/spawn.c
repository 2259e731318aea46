/* spawn.c -- start a program with posix_spawn; see spawn.h.
 *
 * posix_spawn does not copy the page tables of a large host and returns a
 * failed exec as an error. The program is searched here, not in the new
 * process, in the PATH that the program will have, so that the message can tell
 * "not found" from "not executable". Relative entries of PATH are skipped: the
 * choice of program must not depend on the current directory. */
#include "io/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#include <uv.h>

#include "base/error.h"
#include "base/file.h"
#include "io/child.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

static int code_for(int errnum) {
    switch (errnum) {
    case ENOENT:
    case ENOTDIR:
        return CHELA_ENOENT;
    case EACCES:
    case EPERM:
        return CHELA_EPERM;
    case E2BIG:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
    case ENOMEM:
        return CHELA_ELIMIT;
    default:
        return CHELA_EIO;
    }
}

static int cannot_run(struct chela_error *err, const char *who, int errnum) {
    return ch_fail(err, code_for(errnum), "cannot run %s: %s", who, uv_strerror(-errnum));
}

/* --- standard streams */

static void close_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Move *fd above the program's own descriptors, 0 to 3. A host that closed its
 * stdin may have got a low number. */
static int move_up(int *fd) {
    if (*fd >= CH_SPAWN_FDS)
        return 0;
    int high = fcntl(*fd, F_DUPFD_CLOEXEC, CH_SPAWN_FDS);
    if (high < 0)
        return -1;
    close(*fd);
    *fd = high;
    return 0;
}

static int open_pipe(int *reading, int *writing) {
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return -1;
    *reading = fds[0];
    *writing = fds[1];
    return move_up(reading) < 0 || move_up(writing) < 0 ? -1 : 0;
}

/* The report can carry a descriptor, which a pipe cannot. */
static int open_report(int *reading, int *writing) {
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return -1;
    *reading = fds[0];
    *writing = fds[1];
    shutdown(fds[0], SHUT_WR);
    return move_up(reading) < 0 || move_up(writing) < 0 ? -1 : 0;
}

static int open_null(int *fd) {
    *fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return *fd < 0 || move_up(fd) < 0 ? -1 : 0;
}

/* Create a file in memory that holds the whole input before the program starts: if the host
 * dies now, the program cannot run with only a part of its input. The program gets a
 * read-only descriptor; no process can change the file. */
static int open_input(int *fd, struct ch_sv input) {
    int file = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    char name[32];

    if (file < 0)
        return -1;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
    if (ch_file_write(file, input) == 0 &&
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0)
        *fd = open(name, O_RDONLY | O_CLOEXEC);
    close(file);
    return *fd < 0 || move_up(fd) < 0 ? -1 : 0;
}

/* By default a terminal turns a line feed into CR LF. Readers of this output
 * want the line feed only. */
static void set_terminal(int fd) {
    struct winsize size = {.ws_row = 40, .ws_col = 120};
    struct termios t;

    ioctl(fd, TIOCSWINSZ, &size);
    if (tcgetattr(fd, &t) < 0)
        return;
    t.c_oflag &= ~(tcflag_t)ONLCR;
    tcsetattr(fd, TCSANOW, &t);
}

/* Two descriptors for one terminal, because reading and writing end separately. */
static int spawn_open_terminal(struct ch_spawn_fds *io) {
    int *master = &io->ours[1];

    *master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*master < 0 || move_up(master) < 0 || grantpt(*master) < 0 || unlockpt(*master) < 0)
        return -1;
    int rc = ptsname_r(*master, io->tty, sizeof(io->tty));
    if (rc != 0) {
        errno = rc;
        return -1;
    }
    set_terminal(*master);
    io->ours[0] = fcntl(*master, F_DUPFD_CLOEXEC, CH_SPAWN_FDS);
    return io->ours[0] < 0 ? -1 : 0;
}

static int open_pipes(struct ch_spawn_fds *io, const struct ch_child_opts *opts) {
    bool whole = opts->input.n > 0 && !opts->open_input &&
                 open_input(&io->theirs[0], opts->input) == 0;

    if (!whole) { /* also if there are no files in memory here */
        bool feed = opts->input.n > 0 || opts->open_input;
        close_fd(&io->theirs[0]);
        if ((feed ? open_pipe(&io->theirs[0], &io->ours[0]) : open_null(&io->theirs[0])) < 0)
            return -1;
    }
    if (open_pipe(&io->ours[1], &io->theirs[1]) < 0)
        return -1;
    if (!opts->merge)
        return open_pipe(&io->ours[2], &io->theirs[2]);
    io->theirs[2] = fcntl(io->theirs[1], F_DUPFD_CLOEXEC, CH_SPAWN_FDS);
    return io->theirs[2] < 0 ? -1 : 0;
}

int ch_spawn_fds_open(struct ch_spawn_fds *io, const struct ch_child_opts *opts,
                      struct chela_error *err) {
    *io = (struct ch_spawn_fds){{-1, -1, -1, -1}, {-1, -1, -1, -1}, ""};
    if ((opts->tty ? spawn_open_terminal(io) : open_pipes(io, opts)) == 0 &&
        (!opts->report || open_report(&io->ours[3], &io->theirs[3]) == 0))
        return 0;

    int errnum = errno;
    ch_spawn_fds_close_theirs(io);
    for (int i = 0; i < CH_SPAWN_FDS; i++)
        close_fd(&io->ours[i]);
    return cannot_run(err, opts->argv[0], errnum);
}

void ch_spawn_fds_close_theirs(struct ch_spawn_fds *io) {
    for (int i = 0; i < CH_SPAWN_FDS; i++)
        close_fd(&io->theirs[i]);
}

/* --- finding the program */

static const char *spawn_path_of(const char *const *env) {
    for (; *env; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    return DEFAULT_PATH;
}

enum found { NOT_THERE, NOT_EXECUTABLE, EXECUTABLE };

/* A directory of PATH without search permission counts as not containing the
 * program. */
static enum found check_program(const char *path) {
    struct stat st;

    if (stat(path, &st) < 0)
        return NOT_THERE;
    if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
        return NOT_EXECUTABLE;
    return EXECUTABLE;
}

/* Store the path to execute in *found. A name with a slash is used as given: it
 * is relative to the new working directory, and exec checks it. */
static int find_program(const char *name, const char *const *env, struct ch_buf *found,
                        struct chela_error *err) {
    struct ch_sv rest = ch_sv_str(spawn_path_of(env));
    bool denied = false;

    if (strchr(name, '/'))
        return ch_buf_add_str(found, name);
    while (rest.p && name[0]) {
        struct ch_sv dir = ch_sv_split(&rest, ':');
        if (dir.n == 0 || dir.p[0] != '/')
            continue;
        ch_buf_clear(found);
        ch_buf_addf(found, "%.*s/%s", CH_SV_FMT(dir), name);
        enum found rc = check_program(ch_buf_str(found));
        if (rc == EXECUTABLE)
            return 0;
        denied |= rc == NOT_EXECUTABLE;
    }
    if (denied)
        return ch_fail(err, CHELA_EPERM, "cannot run %s: the file in PATH is not executable", name);
    return ch_fail(err, CHELA_ENOENT, "cannot run %s: not found in PATH", name);
}

/* --- starting the program */

/* posix_spawn returns only errno; find the path that the error concerns. */
static int spawn_explain(struct chela_error *err, const struct ch_child_opts *opts,
                         const char *path, int errnum) {
    const char *who = opts->argv[0];
    struct stat st;

    if (opts->cwd && stat(opts->cwd, &st) < 0)
        return ch_fail(err, code_for(errno), "cannot run %s: working directory %s: %s", who,
                       opts->cwd, uv_strerror(-errno));
    if (opts->cwd && !S_ISDIR(st.st_mode))
        return ch_fail(err, CHELA_ENOENT, "cannot run %s: working directory %s: not a directory",
                       who, opts->cwd);
    if (opts->cwd && faccessat(AT_FDCWD, opts->cwd, X_OK, AT_EACCESS) < 0)
        return ch_fail(err, CHELA_EPERM, "cannot run %s: working directory %s: %s", who, opts->cwd,
                       uv_strerror(-errno));
    if (errnum == ENOEXEC)
        return ch_fail(err, CHELA_EIO, "cannot run %s: not a program (no #! line?)", who);
    if (errnum == ENOENT && path[0] == '/' && stat(path, &st) == 0)
        return ch_fail(err, CHELA_ENOENT, "cannot run %s: its interpreter is missing", who);
    return cannot_run(err, who, errnum);
}

/* Returns another value than 0 if memory is short: a program without these actions would use
 * the files and the directory of the host. */
static int set_actions(posix_spawn_file_actions_t *actions, const struct ch_child_opts *opts,
                       const struct ch_spawn_fds *io) {
    int rc = posix_spawn_file_actions_init(actions);
    if (io->tty[0]) { /* the session leader opens it: its controlling terminal */
        rc |= posix_spawn_file_actions_addopen(actions, 0, io->tty, O_RDWR, 0);
        rc |= posix_spawn_file_actions_adddup2(actions, 0, 1);
        rc |= posix_spawn_file_actions_adddup2(actions, 0, 2);
    }
    for (int i = 0; i < CH_SPAWN_FDS; i++)
        if (io->theirs[i] >= 0)
            rc |= posix_spawn_file_actions_adddup2(actions, io->theirs[i], i);
    rc |= posix_spawn_file_actions_addclosefrom_np(actions, opts->report ? 4 : 3);
    if (opts->cwd)
        rc |= posix_spawn_file_actions_addchdir_np(actions, opts->cwd);
    return rc;
}

static void spawn_set_attributes(posix_spawnattr_t *attr) {
    sigset_t all, none;

    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_init(attr);
    posix_spawnattr_setflags(attr,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigdefault(attr, &all);
    posix_spawnattr_setsigmask(attr, &none);
}

int ch_spawn(const struct ch_child_opts *opts, const struct ch_spawn_fds *io, pid_t *pid,
             struct chela_error *err) {
    const char *const *env = opts->env ? opts->env : (const char *const *)environ;
    CH_BUF_AUTO path = {0};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;

    int rc = find_program(opts->argv[0], env, &path, err);
    if (rc < 0)
        return rc;
    rc = set_actions(&actions, opts, io) ? ENOMEM : 0;
    spawn_set_attributes(&attr);
    if (rc == 0) /* POSIX does not modify the strings; its prototype lacks const. */
        rc = posix_spawn(pid, ch_buf_str(&path), &actions, &attr, (char *const *)opts->argv,
                         (char *const *)env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return rc == 0 ? 0 : spawn_explain(err, opts, ch_buf_str(&path), rc);
}
