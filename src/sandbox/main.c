/* main.c -- chela-sandbox: run one command in a box.
 *
 *     chela-sandbox OPTION... -- PROGRAM ARGUMENT...
 *     chela-sandbox --probe [--bwrap=PATH]
 *     chela-sandbox --hold --workspace=DIR --upper=DIR --work=DIR
 *
 * libchela starts this program for every external command; it is not meant for
 * people. options.c has the options, box.h the processes and their order. */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sandbox/box.h"
#include "sandbox/init.h"
#include "sandbox/leader.h"
#include "sandbox/options.h"
#include "sandbox/overlay.h"
#include "sandbox/probe.h"
#include "sandbox/report.h"

/* Without a report descriptor, the report goes to stderr. */
static void open_report(void) {
    if (fcntl(CH_FD_REPORT, F_GETFD) < 0)
        dup2(2, CH_FD_REPORT);
}

/* Die when the runtime dies, with all child processes. When memory runs out,
 * the kernel kills this process rather than the runtime. */
static void tie_to_parent(const struct ch_box *box) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (box->parent && getppid() != box->parent)
        _exit(CH_EXIT_BROKEN);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = write(fd, "1000", 4);
    (void)n; /* raising the score is always allowed and not essential */
    close(fd);
}

int main(int argc, char **argv) {
    struct ch_box box;
    int status;

    open_report();
    ch_box_parse(&box, argc, argv);
    if (box.inside)
        ch_init(&box);
    if (box.hold) /* its thread of the runtime may end before the runtime */
        ch_overlay_hold(&box);
    tie_to_parent(&box);
    if (box.probe) {
        ch_probe(&box);
        return 0;
    }
    if (!ch_leader_run(&box, &status))
        ch_die("unavailable", "the sandbox ended without a result");
    ch_leader_end(status);
}
