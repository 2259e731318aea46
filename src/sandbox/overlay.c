/* overlay.c -- see overlay.h.
 *
 * The directories are named by descriptors, because a colon or a comma in a path would end an
 * option of overlayfs. The option userxattr is used as root, too, so that every layer has the same
 * format, and so that no command can make a directory that points elsewhere. */
#include "sandbox/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/mounts.h"
#include "sandbox/options.h"
#include "sandbox/report.h"
#include "sandbox/supervisor.h"

static int open_part(const char *path) {
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        ch_die("unavailable", "%s: %s", path, strerror(errno));
    return fd;
}

static const char *reason(int error) {
    switch (error) {
    case EPERM:
    case EACCES:
        return "the system does not allow user namespaces to mount overlayfs";
    case ENODEV:
        return "the kernel has no overlayfs";
    case EINVAL:
        return "overlayfs refuses these file systems (an overlay, NFS, a case-folding directory, "
               "or mounts below the workspace): set XDG_STATE_HOME to a directory on another one";
    default:
        return strerror(error);
    }
}

static void mount_overlay(const struct ch_box *box) {
    int lower = open_part(box->workspace), upper = open_part(box->upper),
        work = open_part(box->work);
    const char *options =
        ch_text("userxattr,lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d,workdir="
                "/proc/self/fd/%d",
                lower, upper, work);

    if (mount("chela", box->workspace, "overlay", MS_NOSUID | MS_NODEV, options) < 0)
        ch_die("unavailable", "the layer cannot be mounted: %s", reason(errno));
    close(lower);
    close(upper);
    close(work);
}

void ch_overlay_hold(const struct ch_box *box) {
    char end;

    ch_namespaces_enter();
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        ch_die("unavailable", "the sandbox cannot detach its mounts: %s", strerror(errno));
    mount_overlay(box);
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (write(1, "ready\n", 6) != 6)
        _exit(CH_EXIT_BROKEN);
    while (read(0, &end, 1) > 0 || errno == EINTR)
        errno = 0;
    _exit(0);
}

/* --- joining */

static bool same_namespace(const char *a, const char *b) {
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void join_one(const char *path, int type) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || setns(fd, type) < 0)
        ch_die("unavailable", "the layer of the run is not mounted any more (%s): %s", path,
               strerror(errno));
    close(fd);
}

void ch_overlay_join(pid_t holder) {
    const char *user = ch_text("/proc/%d/ns/user", (int)holder);
    const char *mounts = ch_text("/proc/%d/ns/mnt", (int)holder);
    pid_t parent = getppid();

    if (!same_namespace(user, "/proc/self/ns/user"))
        join_one(user, CLONE_NEWUSER);
    join_one(mounts, CLONE_NEWNS);
    /* new rights clear both */
    prctl(PR_SET_DUMPABLE, 1);
    prctl(PR_SET_PDEATHSIG, CH_SIG_GONE);
    if (getppid() != parent)
        _exit(0);
}
