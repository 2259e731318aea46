/* larkserver -- an open platform of a chat service, for tests: what a Feishu
 * app calls, and what became of it.
 *
 *   larkserver DIR APP_ID APP_SECRET
 *
 * Prints its port. DIR/calls has a line for each request: method, path, body.
 * DIR/sent has one for each message that people see: path, body; a message with
 * a uuid that came before is not one. A line "STATUS CODE" in DIR/fail is the
 * answer to the next message, once; the line "lost" takes the message and cuts
 * the connection. Tokens are checked; DIR/revoke makes the current one invalid.
 * Events come over the long connection when POST /test/push says so (line.c). What
 * is in DIR/resources, messages and threads is handed out (stored.c). It shares no
 * code with src/. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "larkserver.h"

#define MOST (4 * 1024 * 1024)
#define UUIDS 4096

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *dir, *app_id, *app_secret;
static unsigned tokens, messages, reactions;
static char *uuids[UUIDS];
static unsigned uuid_message[UUIDS], nuuids;

static unsigned port;

void note(const char *file, const char *text) {
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    FILE *f = fopen(path, "a");
    if (f) {
        fprintf(f, "%s\n", text);
        fclose(f);
    }
}

static void note_request(const char *file, const char *first, const struct request *r) {
    size_t n = strlen(first) + strlen(r->path) + strlen(r->body) + 8;
    char *line = malloc(n);
    snprintf(line, n, "%s%s%s %s", first, *first ? " " : "", r->path, r->body);
    note(file, line);
    free(line);
}

/* The first line of a file, which is removed; 0: there is none. */
static int take_line(const char *file, char *out, size_t max) {
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    int got = fgets(out, (int)max, f) != NULL;
    fclose(f);
    unlink(path);
    return got;
}

/* --- HTTP, as much as is needed */

void answer(int fd, int status, const char *json) {
    char head[256];
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                     "%s\r\n",
                     status, strlen(json), status == 429 ? "x-ogw-ratelimit-reset: 1\r\n" : "");
    if (write(fd, head, (size_t)n) < 0 || write(fd, json, strlen(json)) < 0)
        return;
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
    while (!end && n < MOST) {
        ssize_t got = read(fd, buf + n, MOST - n);
        if (got <= 0)
            return 0;
        n += (size_t)got;
        buf[n] = '\0';
        end = strstr(buf, "\r\n\r\n");
    }
    if (!end || sscanf(buf, "%15s %1023s", r->method, r->path) != 2)
        return 0;
    read_header(buf, "authorization", r->auth, sizeof(r->auth));
    read_header(buf, "content-length", length, sizeof(length));
    size_t want = strtoul(length, NULL, 10), have = n - (size_t)(end + 4 - buf);
    while (have < want && n < MOST) {
        ssize_t got = read(fd, buf + n, MOST - n);
        if (got <= 0)
            return 0;
        n += (size_t)got;
        have += (size_t)got;
    }
    buf[n] = '\0';
    read_header(buf, "sec-websocket-key", r->key, sizeof(r->key));
    r->body = strdup(end + 4);
    r->nbody = have;
    return 1;
}

/* --- the platform */

static int has(const char *body, const char *key, const char *value) {
    char want[512];
    snprintf(want, sizeof(want), "\"%s\":\"%s\"", key, value);
    return strstr(body, want) != NULL;
}

static void give_token(int fd, const struct request *r) {
    char json[256];
    if (!has(r->body, "app_id", app_id) || !has(r->body, "app_secret", app_secret)) {
        answer(fd, 200, "{\"code\":10014,\"msg\":\"app secret invalid\"}");
        return;
    }
    snprintf(json, sizeof(json),
             "{\"code\":0,\"msg\":\"ok\",\"tenant_access_token\":\"t-%u\",\"expire\":7200}",
             ++tokens);
    answer(fd, 200, json);
}

static void give_address(int fd, const struct request *r) {
    char json[512];
    if (!has(r->body, "AppID", app_id) || !has(r->body, "AppSecret", app_secret)) {
        answer(fd, 200, "{\"code\":514,\"msg\":\"app secret invalid\"}");
        return;
    }
    snprintf(json, sizeof(json),
             "{\"code\":0,\"msg\":\"\",\"data\":{\"URL\":\"ws://127.0.0.1:%u/ws/v2?device_id=1&"
             "service_id=33554678&ticket=t\",\"ClientConfig\":{\"ReconnectCount\":-1,"
             "\"ReconnectInterval\":120,\"ReconnectNonce\":30,\"PingInterval\":120}}}",
             port);
    answer(fd, 200, json);
}

static int is_known(const struct request *r) {
    char want[64], line[16];
    if (take_line("revoke", line, sizeof(line)))
        tokens++;
    snprintf(want, sizeof(want), "Bearer t-%u", tokens);
    return tokens && strcmp(want, r->auth) == 0;
}

/* The number of the message with its uuid; fresh: it is the first. */
static unsigned number_of(const char *body, int *fresh) {
    const char *at = strstr(body, "\"uuid\":\"");
    *fresh = 1;
    if (!at)
        return ++messages;
    at += strlen("\"uuid\":\"");
    size_t n = strcspn(at, "\"");
    for (unsigned i = 0; i < nuuids; i++)
        if (strlen(uuids[i]) == n && strncmp(uuids[i], at, n) == 0) {
            *fresh = 0;
            return uuid_message[i];
        }
    if (nuuids < UUIDS) {
        uuids[nuuids] = strndup(at, n);
        uuid_message[nuuids++] = messages + 1;
    }
    return ++messages;
}

static void take_message(int fd, const struct request *r) {
    char line[64] = "", json[256];
    int status = 200, code = 0, fresh, lost;
    if (take_line("fail", line, sizeof(line)) && sscanf(line, "%d %d", &status, &code) == 2) {
        snprintf(json, sizeof(json), "{\"code\":%d,\"msg\":\"as the test wants it\"}", code);
        answer(fd, status, json);
        return;
    }
    lost = strncmp(line, "lost", 4) == 0;
    unsigned number = number_of(r->body, &fresh);
    if (fresh)
        note_request("sent", "", r);
    if (lost) {
        shutdown(fd, SHUT_RDWR);
        return;
    }
    snprintf(json, sizeof(json),
             "{\"code\":0,\"msg\":\"success\",\"data\":{\"message_id\":\"om_r%u\"}}", number);
    answer(fd, 200, json);
}

/* What a message holds, what it answers, and who wrote it. */
static int give_more(int fd, const struct request *r) {
    if (strcmp(r->method, "GET") != 0)
        return 0;
    if (stored_give(fd, r, dir))
        return 1;
    if (strstr(r->path, "/resources/key_gone"))
        answer(fd, 400, "{\"code\":234043,\"msg\":\"Unsupported message type.\"}");
    else if (strstr(r->path, "/resources/key_image?type=image"))
        answer(fd, 200, "\x89PNG\r\n\x1a\n, or so");
    else if (strstr(r->path, "/resources/key_file?type=file"))
        answer(fd, 200, "{\"a\":\"file\"}");
    else if (strstr(r->path, "/im/v1/messages/om_quoted"))
        answer(fd, 200, "{\"code\":0,\"data\":{\"items\":[{\"message_id\":\"om_quoted\","
                        "\"msg_type\":\"text\",\"sender\":{\"id\":\"ou_zoe\"},"
                        "\"body\":{\"content\":"
                        "\"{\\\"text\\\":\\\"what was said before\\\"}\"}}]}}");
    else if (strstr(r->path, "/contact/v3/users/ou_nina?user_id_type=open_id"))
        answer(fd, 200, "{\"code\":0,\"data\":{\"user\":{\"name\":\"Nina\"}}}");
    else if (strstr(r->path, "/contact/v3/users/"))
        answer(fd, 400, "{\"code\":99991672,\"msg\":\"Access denied.\"}");
    else
        return 0;
    return 1;
}

/* A form: what its fields are called, and how large it is. */
static void take_upload(int fd, const struct request *r) {
    char line[2048];
    int picture = strstr(r->path, "/images") != NULL;
    if (!is_known(r)) {
        answer(fd, 400, "{\"code\":99991663,\"msg\":\"Invalid access token\"}");
        return;
    }
    const char *file = strstr(r->body, "filename=\"");
    snprintf(line, sizeof(line), "%s %zu %.*s%s%s", r->path, r->nbody,
             file ? (int)strcspn(file + 10, "\"") % 200 : 0, file ? file + 10 : "",
             strstr(r->body, "name=\"image_type\"\r\n\r\nmessage") ? " message" : "",
             strstr(r->body, "name=\"file_type\"\r\n\r\nstream") ? " stream" : "");
    note("uploads", line);
    answer(fd, 200, picture ? "{\"code\":0,\"data\":{\"image_key\":\"img_up\"}}"
                            : "{\"code\":0,\"data\":{\"file_key\":\"file_up\"}}");
}

static void serve_one(int fd, const struct request *r) {
    char json[256];
    if (strncmp(r->path, "/test/", 6) == 0) {
        line_test(fd, r);
        return;
    }
    if (strcmp(r->path, "/open-apis/im/v1/images") == 0 ||
        strcmp(r->path, "/open-apis/im/v1/files") == 0) {
        take_upload(fd, r);
        return;
    }
    note_request("calls", r->method, r);
    if (strstr(r->path, "/tenant_access_token/internal"))
        give_token(fd, r);
    else if (strcmp(r->path, "/callback/ws/endpoint") == 0)
        give_address(fd, r);
    else if (!is_known(r))
        answer(fd, 400, "{\"code\":99991663,\"msg\":\"Invalid access token\"}");
    else if (give_more(fd, r))
        return;
    else if (strstr(r->path, "/bot/v3/info"))
        answer(fd, 200, "{\"code\":0,\"msg\":\"ok\",\"bot\":{\"open_id\":\"ou_bot\"}}");
    else if (strstr(r->path, "/reactions") && strcmp(r->method, "POST") == 0) {
        snprintf(json, sizeof(json), "{\"code\":0,\"data\":{\"reaction_id\":\"re_%u\"}}",
                 ++reactions);
        answer(fd, 200, json);
    } else if (strstr(r->path, "/im/v1/messages") && strcmp(r->method, "POST") == 0)
        take_message(fd, r);
    else
        answer(fd, 200, "{\"code\":0,\"msg\":\"ok\",\"data\":{}}");
}

static void *serve(void *arg) {
    int fd = (int)(long)arg;
    char *buf = malloc(MOST + 1);
    struct request r;
    while (read_request(fd, buf, &r)) {
        int upgrades = strncmp(r.path, "/ws/v2?", 7) == 0 && *r.key;
        if (upgrades) {
            line_serve(fd, &r);
        } else {
            pthread_mutex_lock(&lock);
            serve_one(fd, &r);
            pthread_mutex_unlock(&lock);
        }
        free(r.body);
        if (upgrades)
            break;
    }
    close(fd);
    free(buf);
    return NULL;
}

int main(int argc, char **argv) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    if (argc != 4)
        return 2;
    dir = argv[1];
    app_id = argv[2];
    app_secret = argv[3];
    signal(SIGPIPE, SIG_IGN);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, n) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &n) < 0)
        return 1;
    port = ntohs(at.sin_port);
    printf("%u\n", port);
    fflush(stdout);
    for (;;) {
        pthread_t thread;
        int one = accept(fd, NULL, NULL);
        if (one >= 0 && pthread_create(&thread, NULL, serve, (void *)(long)one) == 0)
            pthread_detach(thread);
    }
}
