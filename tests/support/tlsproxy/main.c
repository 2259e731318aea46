/* main.c -- TLS in front of a plain port, so that https can be tested.
 *
 *     tlsproxy CERT.pem KEY.pem PORT
 *
 * Prints "port N", takes TLS connections there and passes their bytes to PORT on loopback
 * and back. Serves until its parent dies. One thread per connection. */
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../listen/listen.h"

static SSL_CTX *context;
static int target_port;

static int connect_to(int port) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Client to target: everything that is readable now. */
static int inward(SSL *tls, int fd) {
    char buf[16384];

    do {
        int n = SSL_read(tls, buf, sizeof(buf));
        if (n <= 0)
            return -1;
        if (send(fd, buf, (size_t)n, MSG_NOSIGNAL) != n)
            return -1;
    } while (SSL_pending(tls) > 0);
    return 0;
}

static int outward(SSL *tls, int fd) {
    char buf[16384];
    ssize_t n = recv(fd, buf, sizeof(buf), 0);

    return n > 0 && SSL_write(tls, buf, (int)n) > 0 ? 0 : -1;
}

static void pump(SSL *tls, int client, int target) {
    struct pollfd fds[2] = {{.fd = client, .events = POLLIN}, {.fd = target, .events = POLLIN}};

    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return;
        if (fds[0].revents && inward(tls, target) < 0)
            return;
        if (fds[1].revents && outward(tls, target) < 0) {
            SSL_shutdown(tls);
            return;
        }
    }
}

static void serve(int client, void *user) {
    int target = connect_to(target_port);
    SSL *tls = SSL_new(context);

    (void)user;
    SSL_set_fd(tls, client);
    if (target >= 0 && SSL_accept(tls) == 1)
        pump(tls, client, target);
    SSL_free(tls);
    close(client);
    if (target >= 0)
        close(target);
}

int main(int argc, char **argv) {
    unsigned port;

    if (argc != 4) {
        fprintf(stderr, "usage: tlsproxy CERT.pem KEY.pem PORT\n");
        return 2;
    }
    listen_end_with_parent();
    target_port = (int)strtol(argv[3], NULL, 10);
    context = SSL_CTX_new(TLS_server_method());
    if (SSL_CTX_use_certificate_chain_file(context, argv[1]) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, argv[2], SSL_FILETYPE_PEM) != 1) {
        ERR_print_errors_fp(stderr);
        return 1;
    }
    int fd = listen_on_loopback("tlsproxy", &port);
    printf("port %u\n", port);
    fflush(stdout);
    listen_accept(fd, serve, NULL);
}
