/* crashpoint.c -- a preload library that kills its process, or fails a write, at the Nth
 * call with an effect outside of the process.
 *
 * The state that a dead process leaves behind depends only on its calls with an outside
 * effect: writes, syncs, renames, sends, programs started. One counter counts all of them,
 * in all threads, so that "die at N" for N = 1, 2, 3 ... visits every state in which the
 * process can be interrupted. Controlled by environment variables:
 *
 *   CHELA_CRASH_AT=N       the point, from 1; without it points are only counted
 *   CHELA_CRASH_WHEN=      before   die instead of making the call (default)
 *                          after    make it, then die
 *                          fail     the Nth change of a file fails
 *                          failing  the Nth and all later changes fail
 *                          stop     stop the process before the call; the sender of
 *                                   SIGCONT finds the process id in the log
 *   CHELA_CRASH_ERRNO=     ENOSPC (default) or EIO
 *   CHELA_CRASH_SYNC=no    syncs are counted but not made: they matter for the
 *                          death of a machine, not of a process
 *   CHELA_CRASH_CLOCK=FILE holds a number of seconds that is added to the wall clock
 *   CHELA_CRASH_LOG=FILE   log of what happened: "N CALL WHERE" for the
 *                          point that was hit; if none was, "total N" at exit
 *
 * With fail and failing only changes of regular files are counted, because a full disk
 * refuses only these. With ENOSPC syncs succeed, with EIO they fail. Standard streams never
 * fail. Calls that the C library makes internally (stdio) are not counted; the program under
 * test does not store data with them. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum when { COUNT, BEFORE, AFTER, STOP, FAIL, FAILING };

static struct {
    enum when when;
    long at;
    int error;
    bool no_sync;
    char log[512], clock[512];
    pid_t owner; /* a forked child is another process */
} plan;
static atomic_long counter;

/* Writes directly with a system call, without counting. */
static void say(const char *text, size_t n) {
    long fd = syscall(SYS_openat, AT_FDCWD, plan.log, O_WRONLY | O_CREAT | O_APPEND, 0600);

    if (fd < 0)
        return;
    syscall(SYS_write, fd, text, n);
    syscall(SYS_close, fd);
}

static void report(long n, const char *call, int fd) {
    char link[40], where[256] = "-", text[400];

    if (!plan.log[0])
        return;
    if (fd >= 0) {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t len = readlink(link, where, sizeof(where) - 1);
        where[len > 0 ? len : 0] = '\0';
    }
    int len = snprintf(text, sizeof(text), "%ld %s %s\n", n, call, where);
    say(text, (size_t)len);
}

__attribute__((constructor)) static void start(void) {
    const char *at = getenv("CHELA_CRASH_AT"), *when = getenv("CHELA_CRASH_WHEN");
    const char *error = getenv("CHELA_CRASH_ERRNO"), *log = getenv("CHELA_CRASH_LOG");
    static const char *const words[] = {"count", "before", "after", "stop", "fail", "failing"};

    plan.when = at || when ? BEFORE : COUNT;
    for (int i = 0; when && i <= FAILING; i++)
        if (strcmp(when, words[i]) == 0)
            plan.when = (enum when)i;
    plan.at = at ? strtol(at, NULL, 10) : 0;
    plan.error = error && strcmp(error, "EIO") == 0 ? EIO : ENOSPC;
    const char *sync = getenv("CHELA_CRASH_SYNC");
    plan.no_sync = sync && strcmp(sync, "no") == 0;
    snprintf(plan.log, sizeof(plan.log), "%s", log ? log : "");
    const char *clock = getenv("CHELA_CRASH_CLOCK");
    snprintf(plan.clock, sizeof(plan.clock), "%s", clock ? clock : "");
    plan.owner = getpid();
}

__attribute__((destructor)) static void finish(void) {
    char text[40];

    if (!plan.log[0] || getpid() != plan.owner)
        return;
    int len = snprintf(text, sizeof(text), "total %ld\n", atomic_load(&counter));
    say(text, (size_t)len);
}

/* Other threads continue until the signal is delivered; this thread does not. */
static _Noreturn void die(void) {
    for (;;)
        kill(plan.owner, SIGKILL);
}

static void stop(void) {
    char text[40];
    int len = snprintf(text, sizeof(text), "stopped %ld\n", (long)plan.owner);

    say(text, (size_t)len);
    kill(plan.owner, SIGSTOP);
}

static bool is_kept(int fd) {
    struct stat st;
    return fd > 2 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Called before the call. Returns the number of the call if the process must die after it, 0
 * if nothing happens at this call, -1 with errno if the call must fail. */
static long enter(const char *call, int fd, bool sync) {
    if (!plan.owner || plan.owner != getpid())
        return 0; /* not initialized yet, or a forked child */
    if (plan.when >= FAIL && (!is_kept(fd) || (sync && plan.error == ENOSPC)))
        return 0;
    long n = atomic_fetch_add(&counter, 1) + 1;
    if (plan.when == FAILING ? n < plan.at || !plan.at : n != plan.at)
        return 0;
    if (n == plan.at)
        report(n, call, fd);
    if (plan.when == BEFORE)
        die();
    if (plan.when == AFTER)
        return n;
    if (plan.when == STOP)
        stop();
    if (plan.when == COUNT || plan.when == STOP)
        return 0;
    errno = plan.error;
    return -1;
}

static void leave(long n) {
    if (n > 0)
        die();
}

/* Defines TYPE NAME(PARAMS) as a counted call; fd is the descriptor it writes to, -1: none. */
#define COUNTED(type, name, fd, sync, params, args)                     \
    __attribute__((visibility("default"))) type name params {           \
        static _Atomic(type(*) params) next;                            \
        type(*real) params = atomic_load(&next);                        \
        if (!real) {                                                    \
            real = (type(*) params)dlsym(RTLD_NEXT, #name);             \
            atomic_store(&next, real);                                  \
        }                                                               \
        long point = enter(#name, fd, sync);                            \
        if (point < 0)                                                  \
            return (type)-1;                                            \
        type result = sync && plan.no_sync ? 0 : real args;             \
        int saved = errno;                                              \
        leave(point);                                                   \
        errno = saved;                                                  \
        return result;                                                  \
    }

COUNTED(ssize_t, write, fd, false, (int fd, const void *p, size_t n), (fd, p, n))
COUNTED(ssize_t, writev, fd, false, (int fd, const struct iovec *v, int n), (fd, v, n))
COUNTED(ssize_t, pwrite, fd, false, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at))
COUNTED(ssize_t, pwrite64, fd, false, (int fd, const void *p, size_t n, off64_t at), (fd, p, n, at))
COUNTED(int, fsync, fd, true, (int fd), (fd))
COUNTED(int, fdatasync, fd, true, (int fd), (fd))
COUNTED(int, ftruncate, fd, false, (int fd, off_t n), (fd, n))
COUNTED(int, ftruncate64, fd, false, (int fd, off64_t n), (fd, n))
COUNTED(int, posix_fallocate, -1, false, (int fd, off_t at, off_t n), (fd, at, n))
COUNTED(int, rename, -1, false, (const char *from, const char *to), (from, to))
COUNTED(int, link, -1, false, (const char *from, const char *to), (from, to))
COUNTED(int, unlink, -1, false, (const char *path), (path))
COUNTED(int, mkdir, -1, false, (const char *path, mode_t mode), (path, mode))
COUNTED(ssize_t, send, fd, false, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags))
COUNTED(ssize_t, sendto, fd, false,
        (int fd, const void *p, size_t n, int flags, const struct sockaddr *to, socklen_t size),
        (fd, p, n, flags, to, size))
COUNTED(ssize_t, sendmsg, fd, false, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
COUNTED(int, execve, -1, false, (const char *path, char *const argv[], char *const env[]),
        (path, argv, env))
COUNTED(int, posix_spawn, -1, false,
        (pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
         const posix_spawnattr_t *attr, char *const argv[], char *const env[]),
        (pid, path, actions, attr, argv, env))
COUNTED(int, posix_spawnp, -1, false,
        (pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
         const posix_spawnattr_t *attr, char *const argv[], char *const env[]),
        (pid, path, actions, attr, argv, env))

/* The test sets the clock at any time, so the file is read again each time. */
static long ahead(void) {
    char text[32] = "";
    long fd = syscall(SYS_openat, AT_FDCWD, plan.clock, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    syscall(SYS_read, fd, text, sizeof(text) - 1);
    syscall(SYS_close, fd);
    return strtol(text, NULL, 10);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *out) {
    int rc = (int)syscall(SYS_clock_gettime, id, out);

    if (rc == 0 && id == CLOCK_REALTIME && plan.clock[0])
        out->tv_sec += ahead();
    return rc;
}
