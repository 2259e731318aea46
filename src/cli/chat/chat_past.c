/* chat_past.c -- see chat_past.h. Stored messages are displayed as the events that they
 * once were. */
#include "cli/chat/chat_past.h"

#include <stdlib.h>
#include <string.h>

#include "chela/json.h"
#include "cli/chat/chat_attach.h"
#include "cli/chat/chat_show.h"

enum { MESSAGES = 20 }; /* number of messages shown: a few screens */

struct past {
    struct ch_chat *chat;
    bool user;         /* the message is not the model's */
    const char *block; /* JSON: the current block */
    size_t n;
};

/* A member of the current block; NULL: missing. The caller frees the result. */
static char *member(const struct past *p, const char *pointer) {
    return chela_json_get(p->block, p->n, pointer, NULL);
}

static struct chela_str str(const char *text) {
    return (struct chela_str){text ? text : "", text ? strlen(text) : 0};
}

static void show_call(const struct past *p) {
    char *id = member(p, "/id"), *name = member(p, "/name"), *arguments = member(p, "/arguments");
    struct chela_event ev = {
        .type = CHELA_EV_TOOL_CALL,
        .call = {.id = str(id), .name = str(name), .arguments = str(arguments)}};
    ch_chat_event(p->chat, &ev);
    chela_free(id);
    chela_free(name);
    chela_free(arguments);
}

static void show_result(const struct past *p) {
    char *id = member(p, "/id"), *name = member(p, "/name"), *failed = member(p, "/is_error");
    char *text = member(p, "/content/0/text"), *content = text ? NULL : member(p, "/content");
    struct chela_event ev = {.type = CHELA_EV_TOOL_RESULT,
                             .result = {.id = str(id),
                                        .name = str(name),
                                        .is_error = failed && strcmp(failed, "true") == 0,
                                        .content = str(text ? text : content),
                                        .attempts = 1}};
    ch_chat_event(p->chat, &ev);
    chela_free(id);
    chela_free(name);
    chela_free(failed);
    chela_free(text);
    chela_free(content);
}

static void show_text(const struct past *p) {
    char *text = member(p, "/text");
    struct chela_event ev = {.type = CHELA_EV_TEXT_DELTA, .delta = {.text = str(text)}};
    if (text && p->user) {
        char *typed = ch_chat_attach_fold(text);
        ch_chat_user(p->chat, typed, strlen(typed));
        free(typed);
    } else if (text)
        ch_chat_event(p->chat, &ev);
    chela_free(text);
}

static int show_block(const char *block, size_t n, void *user) {
    struct past *p = user;
    p->block = block;
    p->n = n;
    char *type = member(p, "/type");
    if (type && strcmp(type, "text") == 0)
        show_text(p);
    else if (type && strcmp(type, "tool_call") == 0)
        show_call(p);
    else if (type && strcmp(type, "tool_result") == 0)
        show_result(p);
    chela_free(type);
    return 0;
}

static int show_message(const char *message, size_t n, void *chat) {
    static const struct chela_event end = {.type = CHELA_EV_TURN_START};
    char *role = chela_json_get(message, n, "/role", NULL);
    char *content = chela_json_get(message, n, "/content", &n);
    struct past p = {.chat = chat, .user = role && strcmp(role, "assistant") != 0 &&
                                           strcmp(role, "tool") != 0};
    if (content)
        chela_json_each(content, n, show_block, &p);
    chela_free(content);
    chela_free(role);
    ch_chat_event(chat, &end); /* the next message is another paragraph */
    return 0;
}

void ch_chat_past(struct ch_chat *c) {
    char *json = chela_session_recent_json(c->session, MESSAGES);
    unsigned calls = c->tool_calls; /* calls of this process */
    chela_json_each(json, strlen(json), show_message, c);
    ch_chat_clear(c);
    c->tool_calls = calls;
    chela_free(json);
}
