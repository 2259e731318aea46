/* telegramserver -- the Bot API of a chat service, for tests: long polling, and
 * what a bot sends.
 *
 *   telegramserver DIR TOKEN
 *
 * Prints its port. POST /test/update has an update without its id as its body;
 * it is given to getUpdates, `limit` at once, until a higher offset confirms it. DIR/sent has a
 * line "METHOD BODY" for each call that people see. A line "STATUS" in DIR/fail
 * is the answer to the next sendMessage, once; the line "lost" takes the message
 * and cuts the connection. It shares no code with src/. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST (4 * 1024 * 1024)
#define UPDATES 1024

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;
static const char *dir, *token;
static char *updates[UPDATES]; /* NULL: confirmed */
static long nupdates;
static unsigned messages = 500;

static void note(const char *file, const char *method, const char *body) {
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    FILE *f = fopen(path, "a");
    if (f) {
        fprintf(f, "%s %s\n", method, body);
        fclose(f);
    }
}

static int take_fault(char *out, size_t max) {
    char path[1024];
    snprintf(path, sizeof(path), "%s/fail", dir);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    int got = fgets(out, (int)max, f) != NULL;
    fclose(f);
    unlink(path);
    return got;
}

static void answer(int fd, int status, const char *json) {
    char head[256];
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                     "\r\n",
                     status, strlen(json));
    if (write(fd, head, (size_t)n) < 0 || write(fd, json, strlen(json)) < 0)
        return;
}

static long number(const char *body, const char *key) {
    const char *at = strstr(body, key);
    return at ? strtol(at + strlen(key), NULL, 10) : 0;
}

static void give_updates(int fd, const char *body) {
    long offset = number(body, "\"offset\":"), wait_s = number(body, "\"timeout\":");
    long limit = number(body, "\"limit\":"), given;
    struct timespec until;
    char *out = malloc(MOST + UPDATES);
    size_t n;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += wait_s;
    for (long i = 0; i < offset - 1 && i < nupdates; i++) {
        free(updates[i]);
        updates[i] = NULL;
    }
    do {
        n = (size_t)snprintf(out, MOST, "{\"ok\":true,\"result\":[");
        given = 0;
        for (long i = 0; i < nupdates && given < (limit ? limit : 100); i++)
            if (updates[i] && n + strlen(updates[i]) + 64 < MOST)
                n += (size_t)snprintf(out + n, MOST - n, "%s{\"update_id\":%ld,%s",
                                      given++ ? "," : "", i + 1, updates[i] + 1);
        if (given)
            break;
    } while (pthread_cond_timedwait(&fresh, &lock, &until) == 0);
    snprintf(out + n, MOST - n, "]}");
    answer(fd, 200, out);
    free(out);
}

static void take_message(int fd, const char *body) {
    char line[64] = "", json[256];
    int got = take_fault(line, sizeof(line)), status = atoi(line);
    if (got && status) {
        snprintf(json, sizeof(json),
                 "{\"ok\":false,\"error_code\":%d,\"description\":\"as the test wants it\"%s}",
                 status, status == 429 ? ",\"parameters\":{\"retry_after\":1}" : "");
        answer(fd, status, json);
        return;
    }
    note("sent", "sendMessage", body);
    snprintf(json, sizeof(json), "{\"ok\":true,\"result\":{\"message_id\":%u}}", ++messages);
    if (got)
        shutdown(fd, SHUT_RDWR);
    else
        answer(fd, 200, json);
}

static void serve_one(int fd, const char *path, const char *body) {
    char want[256];
    size_t n = (size_t)snprintf(want, sizeof(want), "/bot%s/", token);
    const char *method = path + n;
    if (strcmp(path, "/test/update") == 0) {
        if (nupdates < UPDATES)
            updates[nupdates++] = strdup(body);
        pthread_cond_broadcast(&fresh);
        answer(fd, 200, "{}");
    } else if (strncmp(path, want, n) != 0) {
        answer(fd, 401, "{\"ok\":false,\"error_code\":401,\"description\":\"Unauthorized\"}");
    } else if (strcmp(method, "getMe") == 0) {
        answer(fd, 200, "{\"ok\":true,\"result\":{\"id\":999,\"is_bot\":true,"
                        "\"first_name\":\"Chela\",\"username\":\"ChelaBot\"}}");
    } else if (strcmp(method, "getUpdates") == 0) {
        give_updates(fd, body);
    } else if (strcmp(method, "sendMessage") == 0) {
        take_message(fd, body);
    } else {
        note("calls", method, body);
        answer(fd, 200, "{\"ok\":true,\"result\":true}");
    }
}

static int read_request(int fd, char *buf, char *path, char **body) {
    size_t n = 0;
    char *end = NULL;
    while (!end && n < MOST) {
        ssize_t got = read(fd, buf + n, MOST - n);
        if (got <= 0)
            return 0;
        n += (size_t)got;
        buf[n] = '\0';
        end = strstr(buf, "\r\n\r\n");
    }
    if (!end || sscanf(buf, "%*s %1023s", path) != 1)
        return 0;
    const char *length = strcasestr(buf, "content-length:");
    size_t want = length && length < end ? strtoul(length + 15, NULL, 10) : 0;
    size_t have = n - (size_t)(end + 4 - buf);
    while (have < want && n < MOST) {
        ssize_t got = read(fd, buf + n, MOST - n);
        if (got <= 0)
            return 0;
        n += (size_t)got;
        have += (size_t)got;
    }
    buf[n] = '\0';
    *body = end + 4;
    return 1;
}

static void *serve(void *arg) {
    int fd = (int)(long)arg;
    char *buf = malloc(MOST + 1), *body, path[1024];
    while (read_request(fd, buf, path, &body)) {
        pthread_mutex_lock(&lock);
        serve_one(fd, path, body);
        pthread_mutex_unlock(&lock);
    }
    close(fd);
    free(buf);
    return NULL;
}

int main(int argc, char **argv) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    if (argc != 3)
        return 2;
    dir = argv[1];
    token = argv[2];
    signal(SIGPIPE, SIG_IGN);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, n) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &n) < 0)
        return 1;
    printf("%u\n", ntohs(at.sin_port));
    fflush(stdout);
    for (;;) {
        pthread_t thread;
        int one = accept(fd, NULL, NULL);
        if (one >= 0 && pthread_create(&thread, NULL, serve, (void *)(long)one) == 0)
            pthread_detach(thread);
    }
}
