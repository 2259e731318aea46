/* child.c -- the lifetime of one program; spawn.c starts it.
 *
 *   RUNNING --leader exits--> DRAINING --pipes closed, or drain time over--> OVER
 *      |  \--timeout, stop: TERM to the group, KILL after the grace period
 *      \----closed by its owner: KILL--> ORPHAN --leader exits--> OVER
 *   FAILED (not started) --next iteration--> OVER
 *
 * The leader is watched through a pidfd. It stays a zombie (WNOWAIT) until its
 * group needs no more signals: the kernel does not reuse the pid of a zombie,
 * so kill(-pid) never hits an unrelated process.
 *
 * At most five descriptors are polled: stdin, stdout, stderr, report, pidfd.
 * The struct is freed when the state is OVER and libuv has closed the last
 * handle, so code may read c->state after calling a callback. One timer serves
 * the three waits, which never overlap: the timeout, the grace period, the
 * drain time. */
#include "io/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "io/loop_private.h"
#include "io/sigpipe.h"
#include "io/spawn.h"

#define CHUNK (16 * CH_KB)
#define CHUNKS_PER_PASS 8   /* then other work gets a turn */
#define CHUNKS_AT_END 64    /* the largest pipe of Linux: 1 MB */
#define POLL_EXIT_MS 10     /* without a pidfd: old kernels, valgrind */
#define KILLED_WAIT_MS 1000 /* wait for killed programs when the loop closes */

enum { STDOUT, STDERR, REPORT, OUTPUTS };
enum state { FAILED, RUNNING, DRAINING, ORPHAN, OVER };

struct watch {
    uv_poll_t poll;
    int fd; /* owned; -1 when closed */
};

struct output {
    struct watch watch;
    bool quiet; /* a terminal that no process has open: kept, but not polled */
    struct ch_buf kept;
    uint64_t total;
};

struct ch_child {
    struct ch_loop *loop;
    ch_child_output_fn *on_output;
    void (*on_socket)(int fd, void *user); /* NULL: none is expected any more */
    ch_child_fn *done;
    void *user;
    enum state state;
    unsigned handles; /* uv handles not closed yet */

    pid_t pid;
    bool reaped; /* the exit status was collected, here or by the host */
    struct watch exit;
    uv_timer_t exit_poll; /* used if there is no pidfd */
    bool polling;
    int exit_code, signal;

    struct watch feed;
    struct ch_buf input;
    size_t fed;
    bool open_input, tty, stream; /* as in the options */
    struct output out[OUTPUTS];

    struct ch_timer wait;
    int64_t grace_ms;
    bool timed_out, stopped;

    struct ch_task task;    /* reports FAILED; ends an ORPHAN when the loop closes */
    struct chela_error err; /* reason for FAILED */
};

static void free_if_over(struct ch_child *c) {
    if (c->state != OVER || c->handles > 0)
        return;
    ch_buf_release(&c->input);
    for (int i = 0; i < OUTPUTS; i++)
        ch_buf_release(&c->out[i].kept);
    ch_free(c);
}

/* --- watching descriptors */

static int watch_open(struct ch_child *c, struct watch *w, int fd) {
    int rc = uv_poll_init(c->loop->uv, &w->poll, fd);
    if (rc < 0)
        return rc;
    w->poll.data = c;
    w->fd = fd;
    c->handles++;
    return 0;
}

static void on_watch_closed(uv_handle_t *h) {
    struct ch_child *c = h->data;
    c->handles--;
    free_if_over(c);
}

static void watch_close(struct watch *w) {
    if (w->fd < 0)
        return;
    uv_close((uv_handle_t *)&w->poll, on_watch_closed);
    close(w->fd);
    w->fd = -1;
}

static bool is_closed(const struct output *o) {
    return o->watch.fd < 0 || o->quiet;
}

static bool pipes_closed(const struct ch_child *c) {
    return is_closed(&c->out[STDOUT]) && is_closed(&c->out[STDERR]);
}

/* --- the end */

static void signal_group(const struct ch_child *c, int sig) {
    if (!c->reaped)
        kill(-c->pid, sig);
}

static void io_child_reap(struct ch_child *c) {
    if (c->reaped)
        return;
    while (waitpid(c->pid, NULL, WNOHANG) < 0 && errno == EINTR)
        ;
    c->reaped = true;
}

static void close_streams(struct ch_child *c) {
    watch_close(&c->feed);
    for (int i = 0; i < OUTPUTS; i++)
        watch_close(&c->out[i].watch);
    ch_timer_stop(c->loop, &c->wait);
}

static void close_exit(struct ch_child *c) {
    watch_close(&c->exit);
    if (c->polling)
        uv_close((uv_handle_t *)&c->exit_poll, on_watch_closed);
    c->polling = false;
}

static void close_all(struct ch_child *c) {
    close_streams(c);
    close_exit(c);
}

static bool read_output(struct ch_child *c, int which, int chunks);

static void io_child_finish(struct ch_child *c) {
    if (c->stopped || c->timed_out || !pipes_closed(c))
        signal_group(c, SIGKILL);
    io_child_reap(c);
    for (int i = 0; i < OUTPUTS; i++)
        if (!read_output(c, i, CHUNKS_AT_END))
            return;
    close_all(c);
    c->state = OVER;

    struct ch_child_result result = {
        .exit_code = c->exit_code,
        .signal = c->signal,
        .timed_out = c->timed_out,
        .stopped = c->stopped,
        .out = ch_buf_sv(&c->out[STDOUT].kept),
        .err = ch_buf_sv(&c->out[STDERR].kept),
        .out_total = c->out[STDOUT].total,
        .err_total = c->out[STDERR].total,
        .report = ch_buf_sv(&c->out[REPORT].kept),
    };
    c->done(&result, NULL, c->user);
    free_if_over(c);
}

static void io_child_on_drained(struct ch_timer *t) {
    io_child_finish(CH_CONTAINER(t, struct ch_child, wait));
}

static void finish_orphan(struct ch_child *c) {
    io_child_reap(c);
    close_all(c);
    ch_task_cancel(c->loop, &c->task);
    c->state = OVER;
    free_if_over(c);
}

/* Called when the leader has exited: it is a zombie, unless the host reaped it. */
static void on_exited(struct ch_child *c) {
    close_exit(c);
    watch_close(&c->feed);
    if (c->state == ORPHAN) {
        finish_orphan(c);
        return;
    }
    ch_loop_release(c->loop);
    c->state = DRAINING;
    if (pipes_closed(c))
        io_child_finish(c);
    else
        ch_timer_start(c->loop, &c->wait, CH_DEFAULT_DRAIN_MS, io_child_on_drained);
}

/* Records the exit status of the leader without reaping the zombie. False: it still runs. */
static bool read_exit(struct ch_child *c) {
    siginfo_t info = {0};
    int rc;

    do
        rc = waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    while (rc < 0 && errno == EINTR);
    if (rc == 0 && info.si_pid == 0)
        return false;
    c->exit_code = rc == 0 && info.si_code == CLD_EXITED ? info.si_status : -1;
    c->signal = rc == 0 && info.si_code != CLD_EXITED ? info.si_status : 0;
    c->reaped = rc < 0;
    return true;
}

static void on_exit_event(uv_poll_t *poll, int status, int events) {
    struct ch_child *c = poll->data;
    CH_LOOP_CALLBACK(c->loop);
    (void)status, (void)events;
    if (read_exit(c))
        on_exited(c);
}

static void on_exit_poll(uv_timer_t *timer) {
    struct ch_child *c = timer->data;
    CH_LOOP_CALLBACK(c->loop);
    if (read_exit(c))
        on_exited(c);
}

static void watch_exit(struct ch_child *c) {
    int fd = (int)syscall(SYS_pidfd_open, c->pid, 0);

    if (fd >= 0 && watch_open(c, &c->exit, fd) == 0) {
        uv_poll_start(&c->exit.poll, UV_READABLE, on_exit_event);
        return;
    }
    if (fd >= 0)
        close(fd);
    /* Not a ch_timer: a test that stops the clock still waits for programs. */
    uv_timer_init(c->loop->uv, &c->exit_poll);
    c->exit_poll.data = c;
    c->handles++;
    c->polling = true;
    uv_timer_start(&c->exit_poll, on_exit_poll, POLL_EXIT_MS, POLL_EXIT_MS);
}

/* --- output */

/* Keep the output that fits; false if the callback closed the child. */
static bool take_output(struct ch_child *c, int which, const char *p, size_t n) {
    struct output *o = &c->out[which];
    bool pass_on = c->stream && which != REPORT;
    size_t room = o->kept.max - o->kept.n, keep = pass_on ? n : CH_MIN(n, room);

    o->total += n;
    if (keep == 0)
        return true;
    if (!pass_on)
        ch_buf_add(&o->kept, p, keep);
    if (c->on_output && which != REPORT)
        c->on_output(which + 1, ch_sv(p, keep), c->user);
    return c->state == RUNNING || c->state == DRAINING;
}

/* Handle the end of an output stream. Closing a terminal would send SIGHUP to
 * its session, so a terminal stays open until the leader has exited. */
static void end_output(struct ch_child *c, int which) {
    struct output *o = &c->out[which];

    o->quiet = c->tty && which == STDOUT;
    if (o->quiet)
        uv_poll_stop(&o->watch.poll);
    else
        watch_close(&o->watch);
}

/* As read(), with a descriptor that came along. */
static ssize_t receive_report(int fd, char *to, size_t room, int *sent) {
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = to, .iov_len = room};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    const struct cmsghdr *h = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

    if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS)
        memcpy(sent, CMSG_DATA(h), sizeof(*sent));
    return n;
}

/* False if the callback closed the child. */
static bool take_socket(struct ch_child *c, int fd) {
    void (*on_socket)(int, void *) = CH_TAKE(c->on_socket);

    if (on_socket)
        on_socket(fd, c->user);
    else
        close(fd);
    return c->state == RUNNING || c->state == DRAINING;
}

/* Read available output, at most `chunks` chunks; false if the callback closed
 * the child. */
static bool read_output(struct ch_child *c, int which, int chunks) {
    struct watch *w = &c->out[which].watch;
    char chunk[CHUNK];

    while (w->fd >= 0 && chunks-- > 0) {
        int sent = -1;
        ssize_t n = which == REPORT ? receive_report(w->fd, chunk, sizeof(chunk), &sent)
                                    : read(w->fd, chunk, sizeof(chunk));
        if (sent >= 0 && !take_socket(c, sent))
            return false;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0) {
            end_output(c, which);
            break;
        }
        if (!take_output(c, which, chunk, (size_t)n))
            return false;
    }
    return true;
}

static void on_readable(uv_poll_t *poll, int status, int events) {
    struct ch_child *c = poll->data;
    int which = 0;
    CH_LOOP_CALLBACK(c->loop);
    (void)events;

    while (poll != &c->out[which].watch.poll)
        which++;
    if (status < 0) /* libuv has stopped polling */
        end_output(c, which);
    if (read_output(c, which, CHUNKS_PER_PASS) && c->state == DRAINING && pipes_closed(c))
        io_child_finish(c);
}

/* --- input */

static ssize_t write_quietly(int fd, const char *p, size_t n) {
    struct ch_sigpipe guard;

    ch_sigpipe_block(&guard);
    ssize_t done = write(fd, p, n);
    ch_sigpipe_restore(&guard);
    return done;
}

static void on_writable(uv_poll_t *poll, int status, int events);

/* A program may close its stdin early: this is not an error. */
static void io_child_feed(struct ch_child *c) {
    bool broken = false;

    while (c->fed < c->input.n && !broken) {
        ssize_t n = write_quietly(c->feed.fd, c->input.p + c->fed, c->input.n - c->fed);
        if (n < 0 && errno == EAGAIN) {
            uv_poll_start(&c->feed.poll, UV_WRITABLE, on_writable);
            return;
        }
        broken = n < 0 && errno != EINTR;
        c->fed += n > 0 ? (size_t)n : 0;
    }
    c->fed = 0;
    ch_buf_clear(&c->input);
    if (c->open_input && !broken)
        uv_poll_stop(&c->feed.poll);
    else
        watch_close(&c->feed);
}

static void on_writable(uv_poll_t *poll, int status, int events) {
    struct ch_child *c = poll->data;
    CH_LOOP_CALLBACK(c->loop);
    (void)events;

    if (status < 0) /* POLLERR: the reader closed the pipe */
        watch_close(&c->feed);
    else
        io_child_feed(c);
}

int ch_child_write(struct ch_child *c, struct ch_sv data) {
    if (c->state != RUNNING || c->feed.fd < 0 || !c->open_input)
        return CHELA_ESTATE;
    if (data.n > CH_LIMIT_CHILD_INPUT || c->input.n - c->fed > CH_LIMIT_CHILD_INPUT - data.n)
        return CHELA_ELIMIT;
    ch_buf_consume(&c->input, c->fed);
    c->fed = 0;
    ch_buf_add_sv(&c->input, data);
    io_child_feed(c);
    return 0;
}

/* A terminal cannot be closed in one direction: the end of input is a ^D
 * character, and output still comes through the other descriptor. */
void ch_child_end_input(struct ch_child *c) {
    if (c->state != RUNNING || c->feed.fd < 0 || !c->open_input)
        return;
    if (c->tty)
        ch_buf_addc(&c->input, '\4');
    c->open_input = false;
    io_child_feed(c);
}

/* --- stopping */

static void on_grace_over(struct ch_timer *t) {
    signal_group(CH_CONTAINER(t, struct ch_child, wait), SIGKILL);
}

/* While draining, the pending on_drained kills the group. */
static void terminate(struct ch_child *c) {
    signal_group(c, SIGTERM);
    if (c->state == RUNNING)
        ch_timer_start(c->loop, &c->wait, c->grace_ms, on_grace_over);
}

static void io_child_on_timeout(struct ch_timer *t) {
    struct ch_child *c = CH_CONTAINER(t, struct ch_child, wait);
    c->timed_out = true;
    terminate(c);
}

void ch_child_stop(struct ch_child *c) {
    if ((c->state != RUNNING && c->state != DRAINING) || c->stopped)
        return;
    c->stopped = true;
    if (!c->timed_out)
        terminate(c);
}

/* The loop closes before a killed leader has exited: wait a moment. */
static void on_loop_close(struct ch_task *t) {
    struct ch_child *c = CH_CONTAINER(t, struct ch_child, task);
    struct pollfd p = {.fd = c->exit.fd, .events = POLLIN};

    if (p.fd >= 0)
        poll(&p, 1, KILLED_WAIT_MS);
    finish_orphan(c);
}

/* The leader still has to be reaped: the struct stays in the loop until the
 * leader has exited, without keeping the loop alive. */
static void orphan(struct ch_child *c) {
    signal_group(c, SIGKILL);
    close_streams(c);
    ch_loop_release(c->loop);
    uv_unref(c->polling ? (uv_handle_t *)&c->exit_poll : (uv_handle_t *)&c->exit.poll);
    c->task = (struct ch_task){.fn = on_loop_close};
    ch_loop_at_close(c->loop, &c->task);
    c->state = ORPHAN;
}

void ch_child_close(struct ch_child *c) {
    if (!c || c->state == ORPHAN || c->state == OVER)
        return;
    if (c->state == RUNNING) {
        orphan(c);
        return;
    }
    if (c->state == DRAINING) {
        signal_group(c, SIGKILL);
        io_child_reap(c);
    }
    close_all(c);
    ch_task_cancel(c->loop, &c->task);
    c->state = OVER;
    free_if_over(c);
}

int ch_child_copy_report(const struct ch_child *c) {
    int fd = c->out[REPORT].watch.fd;

    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* --- starting */

static void report_failure(struct ch_task *t) {
    struct ch_child *c = CH_CONTAINER(t, struct ch_child, task);

    c->state = OVER;
    c->done(NULL, &c->err, c->user);
    free_if_over(c);
}

/* Pass the parent's ends of the pipes to their watches, or close them. */
static int open_watches(struct ch_child *c, struct ch_spawn_fds *io, const char *who) {
    struct watch *watches[CH_SPAWN_FDS] = {&c->feed, &c->out[STDOUT].watch, &c->out[STDERR].watch,
                                           &c->out[REPORT].watch};
    int rc = 0;

    for (int i = 0; i < CH_SPAWN_FDS; i++) {
        if (io->ours[i] < 0)
            continue;
        if (rc == 0)
            rc = watch_open(c, watches[i], io->ours[i]);
        if (rc < 0)
            close(io->ours[i]);
    }
    return rc < 0 ? ch_fail(&c->err, CHELA_ELIMIT, "cannot run %s: %s", who, uv_strerror(rc)) : 0;
}

static int io_child_start(struct ch_child *c, const struct ch_child_opts *opts) {
    struct ch_spawn_fds io;

    if (!opts->argv || !opts->argv[0] || !opts->argv[0][0])
        return ch_fail(&c->err, CHELA_EINVAL, "cannot run a program without a name");
    int rc = ch_spawn_fds_open(&io, opts, &c->err);
    if (rc < 0)
        return rc;
    rc = open_watches(c, &io, opts->argv[0]);
    if (rc == 0)
        rc = ch_spawn(opts, &io, &c->pid, &c->err);
    ch_spawn_fds_close_theirs(&io);
    return rc;
}

static void set_going(struct ch_child *c, const struct ch_child_opts *opts) {
    c->state = RUNNING;
    ch_loop_hold(c->loop);
    watch_exit(c);
    for (int i = 0; i < OUTPUTS; i++)
        if (c->out[i].watch.fd >= 0)
            uv_poll_start(&c->out[i].watch.poll, UV_READABLE, on_readable);
    if (opts->timeout_ms > 0)
        ch_timer_start(c->loop, &c->wait, opts->timeout_ms, io_child_on_timeout);
    if (c->feed.fd >= 0) {
        c->input.max = CH_MAX(opts->input.n, CH_LIMIT_CHILD_INPUT) + 1; /* and ^D */
        ch_buf_add_sv(&c->input, opts->input);
        if (c->tty && !c->open_input)
            ch_buf_addc(&c->input, '\4');
        io_child_feed(c);
    }
}

struct ch_child *ch_child_start(struct ch_loop *loop, const struct ch_child_opts *opts,
                                ch_child_output_fn *on_output, ch_child_fn *done, void *user) {
    struct ch_child *c = ch_alloc(sizeof(*c));

    c->loop = loop;
    c->on_output = on_output;
    c->on_socket = opts->on_socket;
    c->done = done;
    c->user = user;
    c->grace_ms = opts->grace_ms > 0 ? opts->grace_ms : CH_DEFAULT_GRACE_MS;
    c->open_input = opts->open_input;
    c->tty = opts->tty;
    c->stream = opts->stream;
    c->feed.fd = c->exit.fd = -1;
    for (int i = 0; i < OUTPUTS; i++) {
        c->out[i].watch.fd = -1;
        ch_buf_init(&c->out[i].kept, opts->max_output ? opts->max_output : CH_LIMIT_TOOL_OUTPUT);
    }
    c->out[REPORT].kept.max = CH_LIMIT_CHILD_REPORT;

    if (io_child_start(c, opts) == 0) {
        set_going(c, opts);
        return c;
    }
    close_all(c);
    c->task.fn = report_failure;
    ch_task_defer(loop, &c->task);
    return c;
}
