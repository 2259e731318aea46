/* bwrap.c -- see bwrap.h. */
#include "sandbox/bwrap.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/mounts.h"
#include "sandbox/options.h"
#include "sandbox/report.h"

static void bwrap_add(struct ch_argv *w, const char *a, const char *b, const char *c) {
    ch_argv_add(w, a);
    if (b)
        ch_argv_add(w, b);
    if (c)
        ch_argv_add(w, c);
}

static void add_tmpfs(struct ch_argv *w, const struct ch_view_step *op, const char *dst) {
    if (op->size)
        bwrap_add(w, "--size", ch_text("%llu", (unsigned long long)op->size), NULL);
    bwrap_add(w, "--tmpfs", dst, NULL);
}

/* bubblewrap reads the text from a descriptor that is open when it starts. */
static void add_text(struct ch_argv *w, const struct ch_view_step *op) {
    size_t n = strlen(op->src);
    int fd = n ? memfd_create("text", 0) : open("/dev/null", O_RDONLY);

    if (fd < 0 || (n && (write(fd, op->src, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) < 0)))
        ch_die("unavailable", "the sandbox cannot make a file for %s: %s", op->dst,
               strerror(errno));
    bwrap_add(w, "--perms", "0444", NULL);
    bwrap_add(w, "--ro-bind-data", ch_text("%d", fd), op->dst);
}

static void add_op(struct ch_argv *w, const struct ch_view_step *op) {
    switch (op->kind) {
    case CH_STEP_RO:
        bwrap_add(w, "--ro-bind", op->src, op->dst);
        break;
    case CH_STEP_RW:
        bwrap_add(w, "--bind", op->src, op->dst);
        break;
    case CH_STEP_SYMLINK:
        bwrap_add(w, "--symlink", op->src, op->dst);
        break;
    case CH_STEP_DIR:
        bwrap_add(w, "--dir", op->dst, NULL);
        break;
    case CH_STEP_TMPFS:
        bwrap_add(w, "--perms", "1777", NULL);
        add_tmpfs(w, op, op->dst);
        break;
    case CH_STEP_PROC:
        bwrap_add(w, "--proc", op->dst, NULL);
        break;
    case CH_STEP_DEV:
        bwrap_add(w, "--dev", op->dst, NULL);
        bwrap_add(w, "--perms", "1777", NULL);
        add_tmpfs(w, op, ch_text("%s/shm", op->dst));
        break;
    case CH_STEP_HIDE_FILE:
        bwrap_add(w, "--ro-bind", "/dev/null", op->dst);
        break;
    case CH_STEP_TEXT:
        add_text(w, op);
        break;
    case CH_STEP_HIDE_DIR:
        bwrap_add(w, "--tmpfs", op->dst, NULL);
        bwrap_add(w, "--remount-ro", op->dst, NULL);
        break;
    case CH_STEP_SEAL:
        bwrap_add(w, "--remount-ro", op->dst, NULL);
        break;
    }
}

/* --new-session is not used: init would leave the keeper's group and not get
 * SIGTERM. init creates the command's session. */
static void add_namespaces(struct ch_argv *w, const struct ch_box *box) {
    if (!ch_is_privileged())
        ch_argv_add(w, "--unshare-user");
    bwrap_add(w, "--unshare-pid", "--unshare-ipc", "--unshare-uts");
    bwrap_add(w, "--unshare-cgroup-try", "--as-pid-1", "--die-with-parent");
    if (!box->network)
        ch_argv_add(w, "--unshare-net");
    bwrap_add(w, "--hostname", CH_BOX_NAME, NULL);
    bwrap_add(w, "--cap-drop", "ALL", NULL);
    if (ch_is_privileged()) /* to empty the bounding set; dropped before the command runs */
        bwrap_add(w, "--cap-add", "CAP_SETPCAP", NULL);
    if (ch_needs_dac(box)) {
        bwrap_add(w, "--cap-add", "CAP_DAC_OVERRIDE", NULL);
        bwrap_add(w, "--cap-add", "CAP_FOWNER", NULL);
        bwrap_add(w, "--cap-add", "CAP_CHOWN", NULL);
    }
}

static const char *own_path(void) {
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (n <= 0)
        ch_die("unavailable", "the sandbox cannot find its own program: %s", strerror(errno));
    return path;
}

void ch_bwrap_exec(const struct ch_box *box, const struct ch_box_view *view) {
    struct ch_argv w = {0};

    ch_argv_add(&w, box->bwrap);
    add_namespaces(&w, box);
    for (size_t i = 0; i < view->n; i++) {
        if (view->steps[i].kind == CH_STEP_SEAL && strcmp(view->steps[i].dst, "/") == 0)
            bwrap_add(&w, "--ro-bind", own_path(), CH_BOX_SELF);
        add_op(&w, &view->steps[i]);
    }
    bwrap_add(&w, "--chdir", "/", NULL);
    bwrap_add(&w, "--", CH_BOX_SELF, NULL);
    for (int i = 0; i < box->noptions; i++)
        ch_argv_add(&w, box->options[i]);
    /* supervisor.c may have raised the limit */
    ch_argv_add(&w, ch_text("--limit-processes=%llu",
                            (unsigned long long)box->limits.processes));
    bwrap_add(&w, "--inside", "--", NULL);
    for (size_t i = 0; box->argv[i]; i++)
        ch_argv_add(&w, box->argv[i]);
    ch_argv_add(&w, NULL);
    execv(box->bwrap, (char *const *)w.p);
    ch_die("unavailable", "bubblewrap cannot be run: %s: %s", box->bwrap, strerror(errno));
}
