/* cutproxy -- a connection that can be cut, for tests of partitions.
 *
 *     cutproxy LISTEN TARGET
 *
 * LISTEN and TARGET: a path of a Unix socket, or a port on 127.0.0.1 (LISTEN 0: any). The port
 * is printed. SIGUSR1: nothing passes from now on, in either direction. SIGUSR2: everything that
 * waited passes. SIGHUP: all connections are reset. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PAIRS 128
#define BYTES 65536

struct way { /* one direction of a connection */
    char bytes[BYTES];
    size_t n;
    bool ended;
};

static struct pair {
    int fds[2]; /* the client's side, the target's side; -1: none */
    struct way *ways[2]; /* ways[i]: from fds[i] to the other */
} pairs[PAIRS];
static volatile sig_atomic_t held, reset;

static void on_signal(int sig) {
    if (sig == SIGHUP)
        reset = 1;
    else
        held = sig == SIGUSR1;
}

static int fail(const char *what) {
    perror(what);
    exit(1);
}

static int make_socket(const char *name, struct sockaddr_storage *to, socklen_t *n) {
    bool path = strchr(name, '/') != NULL;
    memset(to, 0, sizeof(*to));
    if (path) {
        struct sockaddr_un *un = (struct sockaddr_un *)to;
        un->sun_family = AF_UNIX;
        snprintf(un->sun_path, sizeof(un->sun_path), "%s", name);
        *n = sizeof(*un);
    } else {
        struct sockaddr_in *in = (struct sockaddr_in *)to;
        in->sin_family = AF_INET;
        in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        in->sin_port = htons((uint16_t)strtol(name, NULL, 10));
        *n = sizeof(*in);
    }
    int fd = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? fail("socket") : fd;
}

static int listen_at(const char *name) {
    struct sockaddr_storage at;
    socklen_t n;
    int fd = make_socket(name, &at, &n);
    if (bind(fd, (struct sockaddr *)&at, n) < 0 || listen(fd, 64) < 0)
        return fail(name);
    if (at.ss_family == AF_INET) {
        getsockname(fd, (struct sockaddr *)&at, &n);
        printf("%d\n", ntohs(((struct sockaddr_in *)&at)->sin_port));
    } else {
        puts(name);
    }
    fflush(stdout);
    return fd;
}

static void drop(struct pair *p) {
    for (int i = 0; i < 2; i++) {
        close(p->fds[i]);
        p->fds[i] = -1;
        free(p->ways[i]);
        p->ways[i] = NULL;
    }
}

static void open_pair(int client, const char *target) {
    struct sockaddr_storage to;
    socklen_t n;
    struct pair *p = pairs;
    while (p < pairs + PAIRS && p->fds[0] >= 0)
        p++;
    int fd = make_socket(target, &to, &n);
    if (p == pairs + PAIRS || connect(fd, (struct sockaddr *)&to, n) < 0) {
        close(fd);
        close(client);
        return;
    }
    p->fds[0] = client;
    p->fds[1] = fd;
    for (int i = 0; i < 2; i++)
        if (!(p->ways[i] = calloc(1, sizeof(struct way))))
            fail("memory");
}

/* False: the connection has ended. */
static bool pass(struct pair *p, int i, short seen, short sees) {
    struct way *w = p->ways[i];
    if (seen & (POLLIN | POLLHUP | POLLERR) && !w->ended && w->n < BYTES) {
        ssize_t got = recv(p->fds[i], w->bytes + w->n, BYTES - w->n, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            w->ended = true;
        else if (got > 0)
            w->n += (size_t)got;
    }
    if (w->n && (sees & POLLOUT)) {
        ssize_t put = send(p->fds[!i], w->bytes, w->n, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put < 0 && errno != EAGAIN)
            return false;
        if (put > 0)
            memmove(w->bytes, w->bytes + put, w->n -= (size_t)put);
    }
    return !(w->ended && w->n == 0);
}

static void serve(int fd, const char *target, const sigset_t *open_mask) {
    struct pollfd set[2 * PAIRS + 1];
    for (;;) {
        if (reset)
            for (struct pair *p = pairs; p < pairs + PAIRS; p++)
                if (p->fds[0] >= 0)
                    drop(p);
        reset = 0;
        bool cut = held;
        set[0] = (struct pollfd){cut ? -1 : fd, POLLIN, 0};
        for (size_t k = 0; k < PAIRS; k++)
            for (int i = 0; i < 2; i++) {
                const struct way *mine = pairs[k].ways[i], *other = pairs[k].ways[!i];
                short want = mine && !mine->ended && mine->n < BYTES ? POLLIN : 0;
                if (other && other->n)
                    want |= POLLOUT;
                int at = cut || !want ? -1 : pairs[k].fds[i];
                set[1 + 2 * k + (size_t)i] = (struct pollfd){at, want, 0};
            }
        if (ppoll(set, 2 * PAIRS + 1, NULL, open_mask) < 0)
            continue;
        for (size_t k = 0; k < PAIRS; k++) {
            const struct pollfd *s = &set[1 + 2 * k];
            struct pair *p = &pairs[k];
            if (p->fds[0] >= 0 && (!pass(p, 0, s[0].revents, s[1].revents) ||
                                   !pass(p, 1, s[1].revents, s[0].revents)))
                drop(p);
        }
        if (set[0].revents & POLLIN) {
            int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
            if (client >= 0)
                open_pair(client, target);
        }
    }
}

int main(int argc, char **argv) {
    struct sigaction act = {.sa_handler = on_signal};
    sigset_t ours, before;
    if (argc != 3) {
        fputs("usage: cutproxy LISTEN TARGET\n", stderr);
        return 2;
    }
    for (size_t k = 0; k < PAIRS; k++)
        pairs[k].fds[0] = pairs[k].fds[1] = -1;
    sigemptyset(&ours);
    for (size_t i = 0; i < 3; i++) {
        int sig = (int[]){SIGUSR1, SIGUSR2, SIGHUP}[i];
        sigaddset(&ours, sig);
        sigaction(sig, &act, NULL);
    }
    sigprocmask(SIG_BLOCK, &ours, &before);
    serve(listen_at(argv[1]), argv[2], &before);
    return 0;
}
