/* listen.c -- see listen.h. */
#include "listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct connection {
    int fd;
    listen_fn *serve;
    void *user;
};

int listen_on_loopback(const char *name, unsigned *port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, n) < 0 || listen(fd, 128) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &n) < 0) {
        perror(name);
        exit(1);
    }
    *port = ntohs(at.sin_port);
    return fd;
}

static void *run(void *arg) {
    struct connection c = *(struct connection *)arg;

    free(arg);
    c.serve(c.fd, c.user);
    return NULL;
}

noreturn void listen_accept(int listener, listen_fn *serve, void *user) {
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), one = 1;
        pthread_t thread;
        if (fd < 0)
            continue;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        struct connection *c = malloc(sizeof(*c));
        *c = (struct connection){fd, serve, user};
        if (pthread_create(&thread, NULL, run, c) == 0) {
            pthread_detach(thread);
        } else {
            close(fd);
            free(c);
        }
    }
}

void listen_end_with_parent(void) {
    pid_t parent = getppid();

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        exit(1);
}
