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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "../chat/chat.h"

#define MOST (4 * 1024 * 1024) /* bytes of updates at once */
#define UPDATES 1024

static pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;
static const char *token;
static char *updates[UPDATES]; /* NULL: confirmed */
static long nupdates;
static unsigned messages = 500;

static void note_call(const char *file, const char *method, const char *body) {
    size_t n = strlen(method) + strlen(body) + 2;
    char *line = malloc(n);
    snprintf(line, n, "%s %s", method, body);
    note(file, line);
    free(line);
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
    int got = take_line("fail", line, sizeof(line)), status = atoi(line);
    if (got && status) {
        snprintf(json, sizeof(json),
                 "{\"ok\":false,\"error_code\":%d,\"description\":\"as the test wants it\"%s}",
                 status, status == 429 ? ",\"parameters\":{\"retry_after\":1}" : "");
        answer(fd, status, json);
        return;
    }
    note_call("sent", "sendMessage", body);
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
        note_call("calls", method, body);
        answer(fd, 200, "{\"ok\":true,\"result\":true}");
    }
}

static int serve(int fd, const struct request *r) {
    pthread_mutex_lock(&lock);
    serve_one(fd, r->path, r->body);
    pthread_mutex_unlock(&lock);
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    token = argv[2];
    return chat_serve(argv[1], serve);
}
