/* redisserver.c -- see redisserver.h. The server is a child of the test, and
 * dies with it. */
#include "support/redisserver.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/free_port.h"

#define START_MS 20000

static struct sockaddr_in loopback(int port) {
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                .sin_port = htons((uint16_t)port)};
}

bool redisserver_installed(void) {
    return access("/usr/bin/redis-server", X_OK) == 0 ||
           access("/usr/local/bin/redis-server", X_OK) == 0;
}

void redisserver_tell(struct redisserver *s, const char *command, char *out, size_t n) {
    struct sockaddr_in at = loopback(s->port);
    struct timeval wait = {.tv_sec = 10};
    char text[512], answer[1024] = "";
    size_t got = 0;
    out[0] = '\0';
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    int len = snprintf(text, sizeof(text), "AUTH %s\r\n%s\r\n", REDISSERVER_PASSWORD, command);
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
        send(fd, text, (size_t)len, MSG_NOSIGNAL) == len) {
        ssize_t part;
        const char *second = NULL;
        while ((!second || !strstr(second, "\r\n")) && got < sizeof(answer) - 1 &&
               (part = recv(fd, answer + got, sizeof(answer) - 1 - got, 0)) > 0) {
            got += (size_t)part;
            answer[got] = '\0';
            second = strstr(answer, "\r\n") ? strstr(answer, "\r\n") + 2 : NULL;
        }
        if (second)
            snprintf(out, n, "%.*s", (int)strcspn(second, "\r\n"), second);
    }
    close(fd);
}

static bool wait_ready(struct redisserver *s) {
    char answer[64];
    for (int ms = 0; ms < START_MS; ms += 20) {
        redisserver_tell(s, "PING", answer, sizeof(answer));
        if (strcmp(answer, "+PONG") == 0)
            return true;
        if (waitpid(s->pid, NULL, WNOHANG) == s->pid) {
            s->pid = 0;
            break;
        }
        poll(NULL, 0, 20);
    }
    fprintf(stderr, "# Redis: starting failed, see %s/log\n", s->dir);
    return false;
}

bool redisserver_start(struct redisserver *s) {
    char port[16];
    snprintf(port, sizeof(port), "%d", s->port);
    s->pid = fork();
    if (s->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int log = open("/dev/null", O_RDWR);
        dup2(log, 0);
        dup2(log, 1);
        execlp("redis-server", "redis-server", "--port", port, "--bind", "127.0.0.1", "--dir",
               s->dir, "--logfile", "log", "--save", "", "--appendonly", "yes", "--appendfsync",
               "always", "--requirepass", REDISSERVER_PASSWORD, (char *)NULL);
        _exit(127);
    }
    return wait_ready(s);
}

bool redisserver_open(struct redisserver *s) {
    const char *tmp = getenv("TMPDIR");
    *s = (struct redisserver){0};
    snprintf(s->dir, sizeof(s->dir), "%s/redis-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(s->dir))
        return false;
    s->port = free_port();
    return redisserver_start(s);
}

void redisserver_freeze(struct redisserver *s) {
    kill(s->pid, SIGSTOP);
}

void redisserver_thaw(struct redisserver *s) {
    kill(s->pid, SIGCONT);
}

void redisserver_kill(struct redisserver *s) {
    if (s->pid) {
        kill(s->pid, SIGKILL);
        waitpid(s->pid, NULL, 0);
    }
    s->pid = 0;
}

void redisserver_close(struct redisserver *s) {
    redisserver_kill(s);
    if (!s->dir[0])
        return;
    pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", s->dir, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
}
