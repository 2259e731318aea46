/* renames.c -- see renames.h. */
#include "sandbox/renames.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/confine.h"
#include "sandbox/filter.h"
#include "sandbox/move.h"
#include "sandbox/options.h"

#define GO_ON 255 /* status of a process that leaves the rename to the kernel */

/* --- the listener */

union control {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
};

void ch_renames_begin(int socket) {
    struct ch_filter f;
    char byte = 0;
    struct iovec line = {.iov_base = &byte, .iov_len = 1};
    union control control = {.room = {0}};
    struct msghdr m = {.msg_iov = &line,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control)};

    if (ch_machine_here() == CH_MACHINES)
        return;
    ch_filter_build_renames(&f, ch_machine_here());
    int fd = ch_filter_listen(&f);
    if (fd < 0)
        return;
    control.head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    if (sendmsg(socket, &m, MSG_NOSIGNAL) < 0) /* init is gone, and the box ends */
        _exit(CH_EXIT_BROKEN);
    close(fd);
}

void ch_renames_open(struct ch_renames *r, const struct ch_box *box, int socket) {
    char byte;
    struct iovec line = {.iov_base = &byte, .iov_len = 1};
    union control control = {.room = {0}};
    struct msghdr m = {.msg_iov = &line,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control)};
    ssize_t n;

    r->box = box;
    do
        n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n > 0 && m.msg_controllen >= CMSG_LEN(sizeof(int)))
        memcpy(&r->listener, CMSG_DATA(&control.head), sizeof(int));
}

static void renames_reply(const struct ch_renames *r, uint64_t id, int error, bool go_on) {
    struct seccomp_notif_resp reply = {.id = id,
                                       .error = -error,
                                       .flags = go_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0};

    /* fails if the process is gone */
    ioctl(r->listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}

/* --- what is asked for */

struct request {
    struct ch_move_end from, to;
    char texts[2][PATH_MAX];
    unsigned flags;
};

/* A text of the command's memory, which is read page by page: the next one may not exist. */
static bool read_text(pid_t pid, uint64_t at, char *out) {
    size_t n = 0, page = (size_t)sysconf(_SC_PAGESIZE);

    while (n < PATH_MAX) {
        size_t part = page - (size_t)((at + n) % page);
        part = part < PATH_MAX - n ? part : PATH_MAX - n;
        struct iovec local = {out + n, part}, remote = {(void *)(uintptr_t)(at + n), part};
        ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
        if (got <= 0)
            return false;
        if (memchr(out + n, 0, (size_t)got))
            return true;
        n += (size_t)got;
    }
    return false;
}

/* A directory of the command as a descriptor of this process. */
static int open_directory_of(pid_t pid, int fd) {
    const char *path = fd == AT_FDCWD ? ch_text("/proc/%d/cwd", (int)pid)
                                      : ch_text("/proc/%d/fd/%d", (int)pid, fd);

    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool read_end(pid_t pid, int fd, uint64_t at, char *text, struct ch_move_end *out) {
    *out = (struct ch_move_end){.dir = AT_FDCWD, .path = text};
    if (!read_text(pid, at, text))
        return false;
    for (size_t n = strlen(text); n > 1 && text[n - 1] == '/'; n--)
        text[n - 1] = '\0';
    if (text[0] == '/')
        return true;
    out->dir = open_directory_of(pid, fd);
    return text[0] && out->dir >= 0;
}

static void request_close(const struct request *q) {
    if (q->from.dir >= 0)
        close(q->from.dir);
    if (q->to.dir >= 0)
        close(q->to.dir);
}

static bool read_request(const struct seccomp_notif *n, struct request *q) {
    const uint64_t *a = (const uint64_t *)n->data.args;
    pid_t pid = (pid_t)n->pid;
    bool plain = false;

#ifdef SYS_rename
    plain = n->data.nr == SYS_rename;
#endif
    q->from.dir = q->to.dir = AT_FDCWD;
    q->flags = n->data.nr == SYS_renameat2 ? (unsigned)a[4] : 0;
    if (plain)
        return read_end(pid, AT_FDCWD, a[0], q->texts[0], &q->from) &&
               read_end(pid, AT_FDCWD, a[1], q->texts[1], &q->to);
    return read_end(pid, (int)a[0], a[1], q->texts[0], &q->from) &&
           read_end(pid, (int)a[2], a[3], q->texts[1], &q->to);
}

/* Of a process that has ended, the number and the descriptors are another's by now. */
static bool is_valid(const struct ch_renames *r, uint64_t id) {
    return ioctl(r->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static bool wants_move(const struct request *q) {
    struct stat st;

    return !(q->flags & ~(unsigned)RENAME_NOREPLACE) &&
           fstatat(q->from.dir, q->from.path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode);
}

/* --- moving */

/* Whatever else than a refused directory is the matter, the kernel says it best. */
_Noreturn static void be_mover(const struct ch_renames *r, const struct request *q) {
    ch_confine_helper(r->box);
    if (renameat2(q->from.dir, q->from.path, q->to.dir, q->to.path, q->flags) == 0)
        _exit(0);
    if (errno != EXDEV)
        _exit(GO_ON);
    int rc = ch_move_directory(&q->from, &q->to, q->flags);
    _exit(rc == -EXDEV ? GO_ON : -rc);
}

static bool renames_move(struct ch_renames *r, uint64_t id, const struct request *q) {
    size_t i = 0;

    while (i < CH_LIMIT_BOX_MOVES && r->moves[i].pid)
        i++;
    pid_t pid = i < CH_LIMIT_BOX_MOVES ? fork() : -1;
    if (pid == 0)
        be_mover(r, q);
    if (pid < 0)
        return false;
    r->moves[i].pid = pid;
    r->moves[i].id = id;
    return true;
}

void ch_renames_answer(struct ch_renames *r) {
    struct seccomp_notif n = {0};
    struct request q;

    if (ioctl(r->listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
        return; /* the process is gone */
    bool moves = read_request(&n, &q) && is_valid(r, n.id) && wants_move(&q) &&
                 renames_move(r, n.id, &q);
    request_close(&q);
    if (!moves)
        renames_reply(r, n.id, 0, true);
}

void ch_renames_ended(struct ch_renames *r, pid_t pid, int status) {
    for (size_t i = 0; i < CH_LIMIT_BOX_MOVES; i++) {
        if (r->moves[i].pid != pid)
            continue;
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
        renames_reply(r, r->moves[i].id, code == GO_ON ? 0 : code, code == GO_ON);
        r->moves[i].pid = 0;
    }
}
