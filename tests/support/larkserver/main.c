/* larkserver -- a fake open platform (Feishu) for tests: serves the calls of an app and
 * records them.
 *
 *   larkserver DIR APP_ID APP_SECRET
 *
 * Prints its port. DIR/calls has a line for each request: method, path, body. DIR/sent has a
 * line for each message that people see: path, body; a repeated message with the same uuid
 * is not listed. A line "STATUS CODE" in DIR/fail is the answer to the next message, once;
 * the line "lost" accepts the message and cuts the connection, "hang" accepts the message
 * and does not answer, "slow" answers late. Tokens are checked; DIR/revoke makes the current
 * one invalid. POST /test/push sends an event over the long connection (line.c). The files
 * in DIR/resources, messages and threads are served (stored.c). It shares no code with src/. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "larkserver.h"

#define UUIDS 4096

static const char *app_id, *app_secret;
static unsigned tokens, messages, reactions;
static char *uuids[UUIDS];
static unsigned uuid_message[UUIDS], nuuids;

static void note_request(const char *file, const char *first, const struct request *r) {
    size_t n = strlen(first) + strlen(r->path) + strlen(r->body) + 8;
    char *line = malloc(n);
    snprintf(line, n, "%s%s%s %s", first, *first ? " " : "", r->path, r->body);
    note(file, line);
    free(line);
}

/* --- the platform */

static int has(const char *body, const char *key, const char *value) {
    char want[512];
    snprintf(want, sizeof(want), "\"%s\":\"%s\"", key, value);
    return strstr(body, want) != NULL;
}

/* Gives the same token as long as it is valid, as the service does: a gateway does not invalidate
 * the token of another. */
static void give_token(int fd, const struct request *r) {
    char json[256];
    if (!has(r->body, "app_id", app_id) || !has(r->body, "app_secret", app_secret)) {
        answer(fd, 200, "{\"code\":10014,\"msg\":\"app secret invalid\"}");
        return;
    }
    snprintf(json, sizeof(json),
             "{\"code\":0,\"msg\":\"ok\",\"tenant_access_token\":\"t-%u\",\"expire\":7200}",
             tokens ? tokens : ++tokens);
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
             chat_port());
    answer(fd, 200, json);
}

static int is_known(const struct request *r) {
    char want[64], line[16];
    if (take_line("revoke", line, sizeof(line)))
        tokens++;
    snprintf(want, sizeof(want), "Bearer t-%u", tokens);
    return tokens && strcmp(want, r->auth) == 0;
}

/* The number of the message with this uuid; fresh: it is the first with this uuid. */
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
        answer_with(fd, status, status == 429 ? "x-ogw-ratelimit-reset: 1\r\n" : "", json,
                    strlen(json));
        return;
    }
    lost = strncmp(line, "lost", 4) == 0;
    unsigned number = number_of(r->body, &fresh);
    if (fresh)
        note_request("sent", "", r);
    if (lost)
        shutdown(fd, SHUT_RDWR);
    if (lost || strncmp(line, "hang", 4) == 0)
        return;
    if (strncmp(line, "slow", 4) == 0)
        usleep(400 * 1000);
    snprintf(json, sizeof(json),
             "{\"code\":0,\"msg\":\"success\",\"data\":{\"message_id\":\"om_r%u\"}}", number);
    answer(fd, 200, json);
}

/* Serves the content of a message, the message it replies to, and its author. */
static int give_more(int fd, const struct request *r) {
    if (strcmp(r->method, "GET") != 0)
        return 0;
    if (stored_give(fd, r))
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
    else if (strstr(r->path, "/im/v1/messages/om_ours")) {
        char json[512];
        snprintf(json, sizeof(json),
                 "{\"code\":0,\"data\":{\"items\":[{\"message_id\":\"om_ours\","
                 "\"msg_type\":\"text\",\"sender\":{\"id\":\"%s\",\"id_type\":\"app_id\","
                 "\"sender_type\":\"app\"},\"body\":{\"content\":\"{\\\"text\\\":"
                 "\\\"an answer\\\"}\"}}]}}",
                 app_id);
        answer(fd, 200, json);
    } else if (strstr(r->path, "/contact/v3/users/ou_nina?user_id_type=open_id"))
        answer(fd, 200, "{\"code\":0,\"data\":{\"user\":{\"name\":\"Nina\"}}}");
    else if (strstr(r->path, "/contact/v3/users/"))
        answer(fd, 400, "{\"code\":99991672,\"msg\":\"Access denied.\"}");
    else
        return 0;
    return 1;
}

/* Accepts a form: records the names of its fields and its size. */
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
    if (is_known(r) && strstr(r->path, "/reactions"))
        note_request("reactions", r->method, r); /* the accepted requests */
    if (strstr(r->path, "/tenant_access_token/internal"))
        give_token(fd, r);
    else if (strcmp(r->path, "/callback/ws/endpoint") == 0)
        give_address(fd, r);
    else if (!is_known(r))
        answer(fd, 400, "{\"code\":99991663,\"msg\":\"Invalid access token\"}");
    else if (give_more(fd, r) || cards_take(fd, r))
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

static int serve(int fd, const struct request *r) {
    if (strncmp(r->path, "/ws/v2?", 7) == 0 && *r->key) {
        line_serve(fd, r);
        return 0;
    }
    pthread_mutex_lock(&lock);
    serve_one(fd, r);
    pthread_mutex_unlock(&lock);
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    app_id = argv[2];
    app_secret = argv[3];
    chat_serve(argv[1], serve);
}
