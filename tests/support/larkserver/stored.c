/* stored.c -- what a test laid down for the platform to hand out:
 *
 *   DIR/resources/KEY      a file that somebody sent, as it is
 *   DIR/messages/ID        the items of GET /im/v1/messages/ID, as JSON
 *   DIR/threads/ID         those of a topic's list of messages */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "larkserver.h"

#define MOST (8 * 1024 * 1024)

static char *read_file(const char *dir, const char *folder, const char *name, size_t n,
                       size_t *size) {
    char path[2048];
    if (memchr(name, '/', n))
        return NULL;
    snprintf(path, sizeof(path), "%s/%s/%.*s", dir, folder, (int)n, name);
    FILE *f = fopen(path, "r");
    if (!f)
        return NULL;
    char *text = malloc(MOST + 1);
    *size = fread(text, 1, MOST, f);
    text[*size] = '\0';
    fclose(f);
    return text;
}

static void answer_bytes(int fd, const char *p, size_t n) {
    char head[128];
    int k = snprintf(head, sizeof(head), "HTTP/1.1 200 X\r\nContent-Length: %zu\r\n\r\n", n);
    if (write(fd, head, (size_t)k) < 0)
        return;
    while (n) {
        ssize_t did = write(fd, p, n);
        if (did <= 0)
            return;
        p += did;
        n -= (size_t)did;
    }
}

static void answer_items(int fd, const char *items) {
    size_t n = strlen(items) + 64;
    char *json = malloc(n);
    snprintf(json, n, "{\"code\":0,\"data\":{\"has_more\":false,\"items\":%s}}", items);
    answer(fd, 200, json);
    free(json);
}

int stored_give(int fd, const struct request *r, const char *dir) {
    static const struct {
        const char *before, *folder;
    } kinds[] = {
        {"/resources/", "resources"},
        {"/im/v1/messages/", "messages"},
        {"container_id_type=thread&container_id=", "threads"},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        const char *at = strstr(r->path, kinds[i].before);
        size_t size, n = at ? strcspn(at + strlen(kinds[i].before), "?&") : 0;
        char *text = at ? read_file(dir, kinds[i].folder, at + strlen(kinds[i].before), n, &size)
                        : NULL;
        if (!text)
            continue;
        if (i == 0)
            answer_bytes(fd, text, size);
        else
            answer_items(fd, text);
        free(text);
        return 1;
    }
    return 0;
}
