/* telegramserver -- a fake Bot API (Telegram) for tests: long polling, and the calls that
 * send messages.
 *
 *   telegramserver DIR TOKEN
 *
 * Prints its port. The body of POST /test/update is an update without its id; getUpdates
 * returns updates, `limit` at once, until a higher offset confirms them. While a file
 * DIR/conflict exists, getUpdates is answered with 409 and the text of that file.
 * DIR/files/ID is a file that a person sent. DIR/sent has a line "METHOD BODY" for each call
 * that people see; for a form, its fields and the name and size of its file. A line "STATUS
 * [DESCRIPTION]" in DIR/fail is the answer to the next such call, once; the line "lost"
 * accepts the message and cuts the connection; "+N" before either lets N messages pass
 * first; "429 N" asks for a wait of N seconds. It shares no code with src/. */
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

static int refuse(int fd, int status, const char *why) {
    char json[1024], wait[64] = "";
    long s = strtol(why, NULL, 10);
    if (status == 429)
        snprintf(wait, sizeof(wait), ",\"parameters\":{\"retry_after\":%ld}", s > 0 ? s : 1);
    snprintf(json, sizeof(json), "{\"ok\":false,\"error_code\":%d,\"description\":\"%s\"%s}",
             status, why, wait);
    answer(fd, status, json);
    return 1;
}

static int conflicts(int fd) {
    size_t n;
    char *why = read_stored(".", "conflict", strlen("conflict"), &n);
    if (!why)
        return 0;
    why[strcspn(why, "\n")] = '\0';
    refuse(fd, 409, why);
    free(why);
    return 1;
}

static void give_updates(int fd, const char *body) {
    long offset = number(body, "\"offset\":"), wait_s = number(body, "\"timeout\":");
    long limit = number(body, "\"limit\":"), given;
    struct timespec until;
    if (conflicts(fd))
        return;
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

/* Reads the fault for the next message; 0: none. */
static int take_fault(char *out, size_t max) {
    char *rest;
    if (!take_line("fail", out, max))
        return 0;
    out[strcspn(out, "\n")] = '\0';
    long pass = out[0] == '+' ? strtol(out, &rest, 10) : 0;
    if (pass > 0) {
        char line[600];
        snprintf(line, sizeof(line), "%s%ld%s", pass > 1 ? "+" : "", pass - 1, rest);
        note("fail", pass > 1 ? line : rest + 1);
        return 0;
    }
    return 1;
}

/* Accepts a message; line: the text that people see. */
static void take_message(int fd, const char *method, const char *line) {
    char fault[512] = "", json[256];
    int got = take_fault(fault, sizeof(fault)), status = got ? atoi(fault) : 0;
    if (got && status) {
        const char *why = strchr(fault, ' ');
        refuse(fd, status, why ? why + 1 : "as the test wants it");
        return;
    }
    note_call("sent", method, line);
    snprintf(json, sizeof(json), "{\"ok\":true,\"result\":{\"message_id\":%u}}", ++messages);
    if (got)
        shutdown(fd, SHUT_RDWR);
    else
        answer(fd, 200, json);
}

/* Accepts a form: "name=value" of each field; for the file, its name and size. */
static void take_form(int fd, const char *method, const struct request *r) {
    char line[4096] = "";
    size_t n = 0;
    const char *at = r->body, *end = r->body + r->nbody;
    size_t edge = strcspn(r->body, "\r"); /* "--boundary" */
    while ((at = memmem(at, (size_t)(end - at), "; name=\"", 8))) {
        size_t name = strcspn(at += 8, "\"");
        const char *file = strncmp(at + name, "\"; filename=\"", 13) == 0 ? at + name + 13 : NULL;
        const char *value = strstr(at, "\r\n\r\n") + 4;
        const char *next = memmem(value, (size_t)(end - value), r->body, edge);
        if (!next || n > sizeof(line) - 1024)
            break;
        n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%.*s=%.*s", n ? " " : "", (int)name,
                              at, file ? (int)strcspn(file, "\"") : (int)(next - 2 - value),
                              file ? file : value);
        if (file)
            n += (size_t)snprintf(line + n, sizeof(line) - n, ":%zu", (size_t)(next - 2 - value));
        at = next;
    }
    take_message(fd, method, line);
}

static void give_place(int fd, const char *body) {
    char json[256];
    size_t size;
    const char *id = strstr(body, "\"file_id\":\"");
    size_t n = id ? strcspn(id += 11, "\"") : 0;
    char *bytes = id ? read_stored("files", id, n, &size) : NULL;
    snprintf(json, sizeof(json),
             "{\"ok\":true,\"result\":{\"file_id\":\"x\",\"file_path\":\"files/%.*s\"}}",
             (int)(n % 100), id ? id : "");
    if (bytes)
        answer(fd, 200, json);
    else
        refuse(fd, 400, "Bad Request: invalid file_id");
    free(bytes);
}

static void give_file(int fd, const char *path) {
    size_t size;
    char *bytes = read_stored("files", path, strlen(path), &size);
    if (bytes)
        answer_with(fd, 200, "", bytes, size);
    else
        refuse(fd, 404, "Not Found");
    free(bytes);
}

static void serve_one(int fd, const struct request *r) {
    char want[256], file[256];
    const char *path = r->path;
    size_t n = (size_t)snprintf(want, sizeof(want), "/bot%s/", token);
    size_t nfile = (size_t)snprintf(file, sizeof(file), "/file/bot%s/files/", token);
    const char *method = path + n;
    if (strcmp(path, "/test/update") == 0) {
        if (nupdates < UPDATES)
            updates[nupdates++] = strdup(r->body);
        pthread_cond_broadcast(&fresh);
        answer(fd, 200, "{}");
    } else if (strncmp(path, file, nfile) == 0) {
        give_file(fd, path + nfile);
    } else if (strncmp(path, want, n) != 0) {
        refuse(fd, 401, "Unauthorized");
    } else if (strcmp(method, "getMe") == 0) {
        note_call("calls", method, r->body);
        answer(fd, 200, "{\"ok\":true,\"result\":{\"id\":999,\"is_bot\":true,"
                        "\"first_name\":\"Chela\",\"username\":\"ChelaBot\"}}");
    } else if (strcmp(method, "getUpdates") == 0) {
        give_updates(fd, r->body);
    } else if (strcmp(method, "getFile") == 0) {
        give_place(fd, r->body);
    } else if (strcmp(method, "sendMessage") == 0) {
        take_message(fd, method, r->body);
    } else if (strcmp(method, "sendPhoto") == 0 || strcmp(method, "sendDocument") == 0) {
        take_form(fd, method, r);
    } else {
        note_call("calls", method, r->body);
        answer(fd, 200, "{\"ok\":true,\"result\":true}");
    }
}

static int serve(int fd, const struct request *r) {
    pthread_mutex_lock(&lock);
    serve_one(fd, r);
    pthread_mutex_unlock(&lock);
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    token = argv[2];
    chat_serve(argv[1], serve);
}
