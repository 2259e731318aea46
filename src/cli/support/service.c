/* service.c -- see service.h. The protocol is sd_listen_fds(3) and sd_notify(3): three
 * variables and a datagram, so no library is needed. */
#include "cli/support/service.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cli/support/draft.h"
#include "cli/support/mem.h"

#define FIRST_SOCKET 3
#define SPARE_SOCKET 1000 /* a duplicate that stays open after the gateway closed its own */
#define CHUNK 4096
#define AWAIT_MS 50 /* between attempts to listen */
#define ATTEMPTS 200

static long number_in(const char *name) {
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : 0;
}

const char *ch_service_socket(void) {
    bool ours = number_in("LISTEN_PID") == (long)getpid() && number_in("LISTEN_FDS") > 0;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (!ours || fcntl(FIRST_SOCKET, F_SETFD, FD_CLOEXEC) < 0)
        return NULL;
    fcntl(FIRST_SOCKET, F_DUPFD_CLOEXEC, SPARE_SOCKET);
    return "fd:3";
}

/* The library and libuv name the reason with different capital letters. */
bool ch_service_await_address(const struct chela_error *err, unsigned *tries) {
    if (err->code != CHELA_EIO || !strcasestr(err->message, "address already in use") ||
        *tries == ATTEMPTS)
        return false;
    ++*tries;
    poll(NULL, 0, AWAIT_MS);
    return true;
}

/* The words of this process's command line, each NUL-terminated. */
static char *service_read_words(size_t *n) {
    char *words = NULL;
    FILE *f = fopen("/proc/self/cmdline", "re");
    size_t got;
    *n = 0;
    do {
        words = ch_must(realloc(words, *n + CHUNK + 1));
        got = f ? fread(words + *n, 1, CHUNK, f) : 0;
        *n += got;
        words[*n] = '\0';
    } while (got);
    if (f)
        fclose(f);
    return words;
}

/* The environment plus, with a socket, the variables that announce it. */
static char **service_read_variables(bool socket) {
    size_t n = 0;
    while (environ[n])
        n++;
    char **all = ch_must(calloc(n + 3, sizeof(*all)));
    memcpy(all, environ, n * sizeof(*all));
    if (socket) {
        all[n++] = ch_format("LISTEN_PID=%ld", (long)getpid());
        all[n++] = ch_dup("LISTEN_FDS=1");
    }
    return all;
}

/* Allocations are released with the process image. */
void ch_service_exec(bool socket, const char *without) {
    size_t n, count = 0;
    char *words = service_read_words(&n), **argv = ch_must(calloc(n + 1, sizeof(*argv)));
    for (char *at = words; at < words + n; at += strlen(at) + 1)
        if (strcmp(at, without) != 0)
            argv[count++] = at;
    if (count && (!socket || dup2(SPARE_SOCKET, FIRST_SOCKET) == FIRST_SOCKET))
        execvpe(argv[0], argv, service_read_variables(socket));
}

/* "/path" or, with a leading '@', an abstract name. */
static socklen_t service_read_address(const char *text, struct sockaddr_un *to) {
    size_t n = strlen(text);
    if ((text[0] != '/' && text[0] != '@') || n >= sizeof(to->sun_path))
        return 0;
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(to->sun_path, text, n);
    if (text[0] == '@')
        to->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

void ch_service_tell(const char *state) {
    const char *where = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to;
    struct timespec t;
    socklen_t n = where ? service_read_address(where, &to) : 0;
    int fd = n ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &t); /* required with RELOADING=1 */
    char *text = ch_format("%s\nMONOTONIC_USEC=%lld", state,
                           (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000);
    sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&to, n);
    free(text);
    close(fd);
}
