/* gateway.c -- see gateway.h. */
#include "sandbox/gateway.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/box.h"

#define BACKLOG 128
#define LINE "proxy\n"

static int gateway_listen(struct sockaddr_in *at) {
    socklen_t size = sizeof(*at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0)
        return -1;
    if (bind(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 && listen(fd, BACKLOG) == 0 &&
        getsockname(fd, (struct sockaddr *)at, &size) == 0)
        return fd;
    close(fd);
    return -1;
}

/* With a line, because a stream carries a descriptor beside bytes only. */
static bool gateway_send(int fd) {
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct iovec line = {.iov_base = LINE, .iov_len = sizeof(LINE) - 1};
    struct msghdr m = {.msg_iov = &line,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control)};

    control.head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    return sendmsg(CH_FD_REPORT, &m, MSG_NOSIGNAL) == (ssize_t)line.iov_len;
}

unsigned ch_gateway_open(void) {
    struct sockaddr_in at;
    int fd = gateway_listen(&at);
    bool sent = fd >= 0 && gateway_send(fd);

    if (fd >= 0)
        close(fd);
    return sent ? ntohs(at.sin_port) : 0;
}
