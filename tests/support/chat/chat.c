/* chat.c -- see chat.h. */
#include "chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../listen/listen.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static serve_fn *serve_one;
static unsigned port;

void note(const char *file, const char *text) {
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    FILE *f = fopen(path, "a");
    if (f) {
        fprintf(f, "%s\n", text);
        fclose(f);
    }
}

int peek_line(const char *file, char *out, size_t max) {
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    int got = fgets(out, (int)max, f) != NULL;
    fclose(f);
    return got;
}

int take_line(const char *file, char *out, size_t max) {
    char path[1024];
    int got = peek_line(file, out, max);
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    unlink(path);
    return got;
}

char *read_stored(const char *in, const char *name, size_t n, size_t *size) {
    char path[2048];
    if (memchr(name, '/', n))
        return NULL;
    snprintf(path, sizeof(path), "%s/%s/%.*s", folder, in, (int)n, name);
    FILE *f = fopen(path, "r");
    if (!f)
        return NULL;
    char *text = malloc(CHAT_MOST + 1);
    *size = fread(text, 1, CHAT_MOST, f);
    text[*size] = '\0';
    fclose(f);
    return text;
}

/* --- HTTP, as much as is needed */

void put(int fd, const void *p, size_t n) {
    for (size_t at = 0; at < n;) {
        ssize_t did = write(fd, (const char *)p + at, n - at);
        if (did <= 0)
            return;
        at += (size_t)did;
    }
}

void answer_with(int fd, int status, const char *more, const void *bytes, size_t n) {
    char head[512];
    int size = snprintf(head, sizeof(head),
                        "HTTP/1.1 %d X\r\nContent-Type: application/json\r\n"
                        "Content-Length: %zu\r\n%s\r\n",
                        status, n, more);
    put(fd, head, (size_t)size);
    put(fd, bytes, n);
}

void answer(int fd, int status, const char *json) {
    answer_with(fd, status, "", json, strlen(json));
}

static void read_header(const char *head, const char *name, char *out, size_t max) {
    *out = '\0';
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, name, strlen(name)) == 0) {
            const char *value = line + 2 + strlen(name);
            size_t n = strcspn(value + strspn(value, ": "), "\r");
            snprintf(out, max, "%.*s", (int)n, value + strspn(value, ": "));
            return;
        }
}

static int read_request(int fd, char *buf, struct request *r) {
    size_t n = 0;
    char *end = NULL, length[32];
    while (!end && n < CHAT_MOST) {
        ssize_t got = read(fd, buf + n, CHAT_MOST - n);
        if (got <= 0)
            return 0;
        n += (size_t)got;
        buf[n] = '\0';
        end = strstr(buf, "\r\n\r\n");
    }
    if (!end || sscanf(buf, "%15s %1023s", r->method, r->path) != 2)
        return 0;
    end[2] = '\0'; /* text in the body that looks like a header is not a header */
    read_header(buf, "authorization", r->auth, sizeof(r->auth));
    read_header(buf, "content-length", length, sizeof(length));
    read_header(buf, "sec-websocket-key", r->key, sizeof(r->key));
    size_t want = strtoul(length, NULL, 10), have = n - (size_t)(end + 4 - buf);
    while (have < want && n < CHAT_MOST) {
        ssize_t got = read(fd, buf + n, CHAT_MOST - n);
        if (got <= 0)
            return 0;
        n += (size_t)got;
        have += (size_t)got;
    }
    buf[n] = '\0';
    r->body = end + 4;
    r->nbody = have;
    return 1;
}

static void serve(int fd, void *user) {
    (void)user;
    char *buf = malloc(CHAT_MOST + 1); /* unused pages cost nothing */
    struct request r;
    while (read_request(fd, buf, &r) && serve_one(fd, &r))
        ;
    close(fd);
    free(buf);
}

noreturn void chat_serve(const char *dir, serve_fn *fn) {
    folder = dir;
    serve_one = fn;
    int fd = listen_on_loopback("chat", &port);
    printf("%u\n", port);
    fflush(stdout);
    listen_accept(fd, serve, NULL);
}

unsigned chat_port(void) {
    return port;
}
