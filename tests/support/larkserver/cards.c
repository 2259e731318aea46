/* cards.c -- cards with streamed text (CardKit), as strict as the platform: the operations
 * on a card are numbered, and a closed card accepts no streamed text.
 *
 * DIR/cards has a line for each operation that had an effect: the card's id, the kind of
 * operation (create, text, whole, settings), the body. A line "WHAT STATUS CODE" in
 * DIR/failcard is the answer to the next operation of that kind, once; "WHAT lost" performs
 * the operation and cuts the connection. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "larkserver.h"

#define BASE "/open-apis/cardkit/v1/cards"
#define FIRST 7355000000000000001ULL
#define MOST 4096

static struct {
    long long sequence;
    int closed;
} cards[MOST];
static unsigned ncards;

static const char *kind_of(const struct request *r) {
    if (strcmp(r->method, "POST") == 0)
        return "create";
    if (strstr(r->path, "/elements/"))
        return "text";
    return strstr(r->path, "/settings") ? "settings" : "whole";
}

static void log_it(const char *kind, unsigned card, const char *body) {
    size_t n = strlen(body) + 64;
    char *line = malloc(n);
    snprintf(line, n, "%llu %s %s", FIRST + card, kind, body);
    note("cards", line);
    free(line);
}

static void fail(int fd, int status, int code) {
    char json[128];
    snprintf(json, sizeof(json), "{\"code\":%d,\"msg\":\"no such luck\"}", code);
    answer(fd, status, json);
}

/* Applies a fault to an operation of this kind; 1: the request was answered. */
static int is_faulty(int fd, const char *kind, int *lost) {
    char line[64], what[32];
    int status, code;
    if (!peek_line("failcard", line, sizeof(line)) || sscanf(line, "%31s", what) != 1 ||
        strcmp(what, kind) != 0)
        return 0;
    take_line("failcard", line, sizeof(line));
    *lost = strstr(line, " lost") != NULL;
    if (sscanf(line, "%*s %d %d", &status, &code) != 2)
        return 0;
    fail(fd, status, code);
    return 1;
}

static int change(int fd, const struct request *r, const char *kind) {
    unsigned long long id = strtoull(r->path + strlen(BASE "/"), NULL, 10);
    const char *number = strstr(r->body, "\"sequence\":");
    long long sequence = number ? strtoll(number + 11, NULL, 10) : 0;
    if (id < FIRST || id >= FIRST + ncards) {
        fail(fd, 400, 300301);
        return 0;
    }
    unsigned card = (unsigned)(id - FIRST);
    if (sequence <= cards[card].sequence) {
        fail(fd, 400, 300317);
        return 0;
    }
    if (cards[card].closed && strcmp(kind, "text") == 0) {
        fail(fd, 400, 300309);
        return 0;
    }
    cards[card].sequence = sequence;
    if (strstr(r->body, "\\\"streaming_mode\\\":false"))
        cards[card].closed = 1;
    log_it(kind, card, r->body);
    return 1;
}

int cards_take(int fd, const struct request *r) {
    char json[128] = "{\"code\":0,\"msg\":\"success\",\"data\":{}}";
    int lost = 0;
    if (strncmp(r->path, BASE, strlen(BASE)) != 0)
        return 0;
    const char *kind = kind_of(r);
    if (is_faulty(fd, kind, &lost))
        return 1;
    if (strcmp(kind, "create") != 0) {
        if (!change(fd, r, kind))
            return 1;
    } else if (ncards < MOST) {
        log_it(kind, ncards, r->body);
        snprintf(json, sizeof(json), "{\"code\":0,\"data\":{\"card_id\":\"%llu\"}}",
                 FIRST + ncards++);
    }
    if (lost)
        shutdown(fd, SHUT_RDWR);
    else
        answer(fd, 200, json);
    return 1;
}
