/* workers.c -- see workers.h.
 *
 * The workers share the listening socket and accept connections in turn (net/server.c): the
 * parent tells a worker that its turn begins, and the worker tells the parent that its turn is
 * over. So workers get equal shares, and a connection waits while no worker runs. A worker that
 * does not accept a connection in its turn, because it is stopped or hangs, loses the turn.
 *
 * The parent has one thread and no runtime, so that it can fork at any time. */
#include "cli/command/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "chela/gateway.h"
#include "chela/session.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/support/service.h"

#define REST_MS 100          /* before a worker that ended is started again; doubled each time */
#define REST_LONGEST_MS 30000
#define STEADY_MS 60000      /* a worker that ran for so long begins with the shortest rest */
#define LOOK_MS 100          /* a connection that waits for so long ends the worker's turn */
#define STUCK_MS 10000       /* a worker that lost its turn so gets no other before */

/* Bytes to a worker: with a socket of another worker; alone, the worker's turn begins. */
enum { CONNECTION_RELAYED = 1, TURN = 2 };

/* Room for one socket in a message. */
union passed {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

struct process {
    pid_t pid;  /* 0: not running */
    int socket; /* -1: closed */
    bool ready, reloading;
    int64_t stuck; /* ms; no turn until then: it did not accept a connection in its turn */
    int64_t began, again; /* ms; when it is started again */
    int64_t rest;
};

struct crew {
    const struct ch_workers_opts *opts;
    struct process *all; /* owned */
    unsigned char *board;
    size_t board_size;
    char *address; /* owned by the library */
    int listener, signals;
    sigset_t handled, before;
    size_t turn;      /* the worker that accepts connections, or did so last */
    bool has_turn;    /* one accepts connections */
    bool quiet;       /* no connections come: the next one wakes the parent, which then looks */
    bool waiting;     /* a connection waited when the parent looked */
    int64_t look;     /* ms; when the parent looks again */
    uint64_t taken;   /* connections that the worker had accepted when the parent looked */
    bool announced, anew;
    int stops; /* signals that end the program */
    int code;
};

static int64_t workers_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static unsigned char *board_of(const struct crew *c, size_t i) {
    return c->board + i * CHELA_WORKER_BOARD;
}

void ch_worker_tell(const struct ch_worker *me, enum ch_worker_message m) {
    char byte = (char)m;
    if (me->number && send(me->parent, &byte, 1, MSG_NOSIGNAL) < 0) {
        /* the parent has ended, and the kernel has told this process to end */
    }
}

/* --- starting */

static void workers_hang_up(struct process *p) {
    if (p->socket >= 0)
        close(p->socket);
    p->socket = -1;
    p->ready = false;
}

/* In the new process: keep what belongs to it. */
static void worker_begin(struct crew *c, size_t i, int socket, pid_t parent, struct ch_worker *me) {
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(CH_EXIT_ERROR); /* the parent ended before the kernel was asked */
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        close(null);
    }
    unsetenv("NOTIFY_SOCKET"); /* the parent reports */
    for (size_t k = 0; k < c->opts->n; k++)
        workers_hang_up(&c->all[k]);
    close(c->signals);
    *me = (struct ch_worker){
        .number = i + 1, .of = c->opts->n, .parent = socket, .board = c->board};
    bool lent = c->opts->listen && strncmp(c->opts->listen, "fd:", 3) == 0;
    snprintf(me->listen, sizeof(me->listen), "pipe:%d+%s%d", socket, lent ? "fd:" : "",
             c->listener);
    pthread_sigmask(SIG_SETMASK, &c->before, NULL);
    free(c->all);
    chela_free(c->address);
}

/* Returns 1 in the new process. */
static int workers_start(struct crew *c, size_t i, struct ch_worker *me, struct chela_error *err) {
    struct process *p = &c->all[i];
    pid_t parent = getpid();
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return ch_problem(err, CHELA_EIO, "no worker can be started: %s", strerror(errno));
    memset(board_of(c, i), 0, CHELA_WORKER_BOARD);
    pid_t pid = fork();
    if (pid < 0) {
        int rc = ch_problem(err, CHELA_EIO, "no worker can be started: %s", strerror(errno));
        close(ends[0]);
        close(ends[1]);
        return rc;
    }
    if (pid == 0) {
        close(ends[0]);
        worker_begin(c, i, ends[1], parent, me);
        return 1;
    }
    close(ends[1]);
    *p = (struct process){
        .pid = pid, .socket = ends[0], .began = workers_now(), .rest = p->rest};
    return 0;
}

/* The first worker starts alone: an error in the configuration is told once. */
static int workers_start_due(struct crew *c, struct ch_worker *me, struct chela_error *err) {
    int64_t now = workers_now();
    int rc = 0;
    for (size_t i = 0; rc == 0 && !c->stops && i < c->opts->n; i++) {
        struct process *p = &c->all[i];
        if (i > 0 && !c->announced && !c->all[0].ready)
            break;
        if (!p->pid && p->again <= now)
            rc = workers_start(c, i, me, err);
        if (rc < 0 && c->announced) { /* no memory for a process, for instance */
            ch_console_error(c->opts->console, "%s", err->message);
            *err = (struct chela_error){0};
            p->again = now + REST_LONGEST_MS;
            rc = 0;
        }
    }
    return rc;
}

/* --- signals and ends */

static void workers_signal(struct crew *c, int signo, const struct process *but) {
    for (size_t i = 0; i < c->opts->n; i++) {
        struct process *p = &c->all[i];
        if (!p->pid || p == but)
            continue;
        p->reloading |= signo == SIGHUP && p->ready;
        kill(p->pid, signo);
    }
}

/* The first signal lets workers finish, the second ends their work, the third ends them. */
static void workers_stop(struct crew *c) {
    if (c->stops == 0)
        ch_service_tell("STOPPING=1");
    c->stops++;
    if (c->listener >= 0)
        close(c->listener);
    c->listener = -1;
    workers_signal(c, c->stops == 1 ? SIGTERM : c->stops == 2 ? CH_WORKER_STOP_NOW : SIGKILL, NULL);
}

static void workers_reload(struct crew *c, const struct process *but) {
    ch_service_tell("RELOADING=1");
    workers_signal(c, SIGHUP, but);
}

static void workers_end_reload(struct crew *c, struct process *p) {
    bool was = p->reloading;
    p->reloading = false;
    for (size_t i = 0; i < c->opts->n; i++)
        was = was && !c->all[i].reloading;
    if (was)
        ch_service_tell("READY=1");
}

static void workers_announce(struct crew *c) {
    for (size_t i = 0; i < c->opts->n; i++)
        if (!c->all[i].ready)
            return;
    c->announced = true;
    ch_console_note(c->opts->console, "listening on http%s://%s (the console is there too)",
                    c->opts->tls ? "s" : "", c->address);
    ch_service_tell("READY=1");
}

/* A worker that cannot begin ends the program; later it is started again, after a while. */
static void workers_ended(struct crew *c, size_t i, int status) {
    struct process *p = &c->all[i];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : CH_EXIT_ERROR;
    int64_t now = workers_now();
    long pid = (long)p->pid;
    p->pid = 0;
    workers_hang_up(p);
    workers_end_reload(c, p);
    if (c->stops || !c->announced) {
        c->code = c->code ? c->code : code;
        if (!c->stops)
            workers_stop(c);
        return;
    }
    p->rest = now - p->began >= STEADY_MS || !p->rest ? REST_MS
              : p->rest * 2 < REST_LONGEST_MS         ? p->rest * 2
                                                      : REST_LONGEST_MS;
    p->again = now + p->rest;
    if (WIFSIGNALED(status))
        ch_console_error(c->opts->console,
                         "worker %zu (process %ld) was ended by signal %d; it is started again "
                         "after %lld ms", i + 1, pid, WTERMSIG(status), (long long)p->rest);
    else
        ch_console_error(c->opts->console,
                         "worker %zu (process %ld) has ended with code %d; it is started again "
                         "after %lld ms", i + 1, pid, code, (long long)p->rest);
}

static void workers_collect(struct crew *c) {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (size_t i = 0; i < c->opts->n; i++)
            if (c->all[i].pid == pid)
                workers_ended(c, i, status);
}

static void workers_on_signals(struct crew *c) {
    struct signalfd_siginfo s;
    while (read(c->signals, &s, sizeof(s)) == (ssize_t)sizeof(s)) {
        if (s.ssi_signo == SIGHUP)
            workers_reload(c, NULL);
        else if (s.ssi_signo != SIGCHLD)
            workers_stop(c);
    }
    workers_collect(c);
}

/* --- sockets over sockets */

static void workers_pass(int socket, int fd) {
    char byte = CONNECTION_RELAYED;
    union passed room = {0};
    struct iovec part = {&byte, 1};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = room.bytes,
                       .msg_controllen = sizeof(room.bytes)};
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(h), &fd, sizeof(fd));
    ssize_t n;
    do
        n = sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
}

/* --- messages of workers */

static void workers_on_message(struct crew *c, struct process *p, char message) {
    switch (message) {
    case CH_WORKER_READY:
        p->ready = true;
        if (!c->announced)
            workers_announce(c);
        break;
    case CH_WORKER_TURN_OVER:
        p->stuck = 0;
        c->has_turn = c->has_turn && p != &c->all[c->turn];
        break;
    case CH_WORKER_RELOADED:
        workers_end_reload(c, p);
        break;
    case CH_WORKER_CHANGED:
        workers_reload(c, p);
        break;
    case CH_WORKER_ANEW:
        c->anew = true;
        if (!c->stops)
            workers_stop(c);
        break;
    }
}

/* The next byte of a worker, and the socket that came with it; -1: none. */
static ssize_t workers_receive(int socket, char *byte, int *fd) {
    union passed room = {0};
    struct iovec part = {byte, 1};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = room.bytes,
                       .msg_controllen = sizeof(room.bytes)};
    ssize_t n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *h = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    *fd = -1;
    if (h && h->cmsg_type == SCM_RIGHTS && h->cmsg_len == CMSG_LEN(sizeof(*fd)))
        memcpy(fd, CMSG_DATA(h), sizeof(*fd));
    return n;
}

/* A socket for a worker that does not serve is closed: its sender notices. */
static void workers_relay(struct crew *c, unsigned char number, int fd) {
    size_t i = (size_t)number - 1;
    if (i < c->opts->n && c->all[i].ready)
        workers_pass(c->all[i].socket, fd);
    close(fd);
}

static void workers_hear(struct crew *c, struct process *p) {
    char byte;
    int fd;
    ssize_t n;
    while (p->socket >= 0 && (n = workers_receive(p->socket, &byte, &fd)) != 0) {
        if (n < 0 && errno == ECONNRESET)
            break;
        if (n < 0 && errno != EINTR)
            return;
        if (fd >= 0)
            workers_relay(c, (unsigned char)byte, fd);
        else if (n > 0)
            workers_on_message(c, p, byte);
    }
    workers_hang_up(p); /* it ends, and takes no more connections */
}

/* --- connections */

static uint64_t workers_taken(const struct crew *c, size_t i) {
    return __atomic_load_n((const uint64_t *)(const void *)board_of(c, i), __ATOMIC_RELAXED);
}

/* If all workers are stuck, the next attempt tries them again. */
static void workers_give_turn(struct crew *c) {
    const char byte = TURN;
    size_t from = c->turn + 1, n = c->opts->n;
    int64_t now = workers_now();
    c->has_turn = c->waiting = c->quiet = false;
    for (size_t k = 0; k < n && !c->has_turn; k++) {
        struct process *p = &c->all[c->turn = (from + k) % n];
        c->has_turn = p->ready && p->stuck <= now &&
                      send(p->socket, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
    }
    for (size_t i = 0; i < n && !c->has_turn; i++)
        c->all[i].stuck = 0;
}

/* A connection that waits at two looks, between which the worker has accepted none, is one that
 * the worker does not accept. */
static void workers_look(struct crew *c) {
    struct pollfd p = {.fd = c->listener, .events = POLLIN};
    uint64_t taken = workers_taken(c, c->turn);
    bool waits = poll(&p, 1, 0) == 1;
    int64_t now = workers_now();
    if (waits && c->waiting && taken == c->taken) {
        c->all[c->turn].stuck = now + STUCK_MS;
        c->has_turn = false;
    }
    c->quiet = !waits && taken == c->taken;
    c->waiting = waits;
    c->taken = taken;
    c->look = now + LOOK_MS;
}

static void workers_watch_turn(struct crew *c) {
    if (c->has_turn && !c->quiet && workers_now() >= c->look)
        workers_look(c);
    if (!c->has_turn || !c->all[c->turn].ready)
        workers_give_turn(c);
}

/* --- the parent's life */

static bool workers_run_any(const struct crew *c) {
    for (size_t i = 0; i < c->opts->n; i++)
        if (c->all[i].pid)
            return true;
    return false;
}

static int workers_wait_ms(const struct crew *c) {
    int64_t now = workers_now(), least = c->announced && !c->stops && !c->quiet ? LOOK_MS : -1;
    for (size_t i = 0; i < c->opts->n && !c->stops; i++) {
        const struct process *p = &c->all[i];
        int64_t left = p->again > now ? p->again - now : 0;
        if (!p->pid && c->announced && (least < 0 || left < least))
            least = left;
    }
    return (int)least;
}

static void workers_turn(struct crew *c, struct pollfd *p) {
    size_t n = c->opts->n;
    if (c->announced && !c->stops)
        workers_watch_turn(c);
    p[0] = (struct pollfd){.fd = c->signals, .events = POLLIN};
    p[1] = (struct pollfd){.fd = c->quiet && !c->stops ? c->listener : -1, .events = POLLIN};
    for (size_t i = 0; i < n; i++)
        p[2 + i] = (struct pollfd){.fd = c->all[i].socket, .events = POLLIN};
    int ready = poll(p, (nfds_t)n + 2, workers_wait_ms(c));
    if (ready <= 0)
        return;
    if (p[1].revents) {
        c->quiet = false;
        c->look = workers_now() + LOOK_MS;
    }
    for (size_t i = 0; i < n; i++)
        if (p[2 + i].revents)
            workers_hear(c, &c->all[i]);
    if (p[0].revents)
        workers_on_signals(c);
}

static int workers_open(struct crew *c, struct chela_error *err) {
    unsigned tries = 0;
    int rc;
    do {
        *err = (struct chela_error){0};
        rc = chela_gateway_listen(c->opts->listen, &c->listener, &c->address, err);
    } while (rc < 0 && ch_service_await_address(err, &tries));
    if (rc < 0)
        return rc;
    sigemptyset(&c->handled);
    sigaddset(&c->handled, SIGINT);
    sigaddset(&c->handled, SIGTERM);
    sigaddset(&c->handled, SIGHUP);
    sigaddset(&c->handled, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &c->handled, &c->before);
    c->signals = signalfd(-1, &c->handled, SFD_CLOEXEC | SFD_NONBLOCK);
    c->board_size = c->opts->n * CHELA_WORKER_BOARD;
    c->board = mmap(NULL, c->board_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c->signals < 0 || c->board == MAP_FAILED)
        return ch_problem(err, CHELA_EIO, "no worker can be started: %s", strerror(errno));
    return 0;
}

static void workers_close(struct crew *c) {
    for (size_t i = 0; i < c->opts->n; i++)
        workers_hang_up(&c->all[i]);
    if (c->listener >= 0)
        close(c->listener);
    if (c->signals >= 0)
        close(c->signals);
    if (c->board && c->board != MAP_FAILED)
        munmap(c->board, c->board_size);
    pthread_sigmask(SIG_SETMASK, &c->before, NULL);
    free(c->all);
    chela_free(c->address);
}

int ch_workers_run(const struct ch_workers_opts *o, struct ch_worker *me, int *code, bool *anew,
                   struct chela_error *err) {
    struct crew c = {.opts = o, .listener = -1, .signals = -1};
    c.all = ch_must(calloc(o->n, sizeof(*c.all)));
    for (size_t i = 0; i < o->n; i++)
        c.all[i].socket = -1;
    pthread_sigmask(SIG_SETMASK, NULL, &c.before);
    int rc = workers_open(&c, err);
    struct pollfd *polled = ch_must(calloc(o->n + 2, sizeof(*polled)));
    for (;;) {
        if (rc == 0)
            rc = workers_start_due(&c, me, err);
        if (rc < 0 && !c.stops)
            workers_stop(&c);
        if (rc == 1 || (c.stops && !workers_run_any(&c)))
            break;
        workers_turn(&c, polled);
    }
    free(polled);
    if (rc == 1)
        return 1;
    *code = c.code;
    *anew = c.anew && c.stops == 1;
    workers_close(&c);
    return rc;
}
