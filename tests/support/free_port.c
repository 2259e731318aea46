/* free_port.c -- see free_port.h. */
#include "support/free_port.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

int free_port(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool ok = bind(fd, (struct sockaddr *)&at, n) == 0 &&
              getsockname(fd, (struct sockaddr *)&at, &n) == 0;
    close(fd);
    return ok ? ntohs(at.sin_port) : 0;
}
