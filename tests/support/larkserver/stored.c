/* stored.c -- serves files that a test prepared:
 *
 *   DIR/resources/KEY      a file that a person sent, unchanged
 *   DIR/messages/ID        the items of GET /im/v1/messages/ID, as JSON
 *   DIR/threads/ID         the items of a topic's list of messages
 *   DIR/members/ID         the members of group ID, as JSON
 *   DIR/chats/ID           the data of GET /im/v1/chats/ID, as JSON
 *   DIR/scopes/all         the app's permissions, as JSON */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "larkserver.h"

static void answer_list(int fd, const char *key, const char *items) {
    size_t n = strlen(items) + 64;
    char *json = malloc(n);
    snprintf(json, n, "{\"code\":0,\"data\":{\"has_more\":false,\"%s\":%s}}", key, items);
    answer(fd, 200, json);
    free(json);
}

/* Groups: their data, and their members. */
static int give_group(int fd, const struct request *r) {
    const char *at = strstr(r->path, "/im/v1/chats/");
    size_t size, n = at ? strcspn(at + 13, "/?") : 0;
    int members = at && strncmp(at + 13 + n, "/members", 8) == 0;
    char *text = at ? read_stored(members ? "members" : "chats", at + 13, n, &size) : NULL;
    if (!text)
        return 0;
    if (members) {
        answer_list(fd, "items", text);
    } else {
        char *json = malloc(size + 64);
        snprintf(json, size + 64, "{\"code\":0,\"data\":%s}", text);
        answer(fd, 200, json);
        free(json);
    }
    free(text);
    return 1;
}

int stored_give(int fd, const struct request *r) {
    if (give_group(fd, r))
        return 1;
    static const struct {
        const char *before, *folder;
    } kinds[] = {
        {"/resources/", "resources"},
        {"/im/v1/messages/", "messages"},
        {"container_id_type=thread&container_id=", "threads"},
        {"/application/v6/", "scopes"},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        const char *at = strstr(r->path, kinds[i].before);
        size_t size, n = at ? strcspn(at + strlen(kinds[i].before), "?&") : 0;
        const char *name = i == 3 ? "all" : at ? at + strlen(kinds[i].before) : NULL;
        char *text = at ? read_stored(kinds[i].folder, name, i == 3 ? 3 : n, &size) : NULL;
        if (!text)
            continue;
        if (i == 0)
            answer_with(fd, 200, "", text, size);
        else
            answer_list(fd, i == 3 ? "scopes" : "items", text);
        free(text);
        return 1;
    }
    return 0;
}
