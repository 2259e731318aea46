/* chat_complete.c -- Tab completion: /commands and /skills at the beginning, @paths
 * anywhere, and what MCP servers offer. See chat.h. */
#include "cli/chat/chat_complete.h"

#include <stdlib.h>
#include <string.h>

#include "chela/json.h"
#include "cli/chat/chat.h"
#include "cli/chat/chat_files.h"
#include "cli/chat/chat_mcp_complete.h"
#include "cli/chat/chat_slash.h"
#include "cli/chat/chat_source.h"

static void chat_complete_offer(struct ch_chat_words *w, const char *typed, char *word) {
    if (strncmp(word, typed, strlen(typed)) == 0)
        ch_chat_words_add(w, word);
    else
        free(word);
}

static bool chat_complete_is_true(const char *skill, size_t n, const char *pointer) {
    char *value = chela_json_get(skill, n, pointer, NULL);
    bool yes = value && strcmp(value, "true") == 0;
    chela_free(value);
    return yes;
}

struct offering {
    struct ch_chat_words *words;
    const char *typed;
};

static int offer_skill(const char *skill, size_t n, void *user) {
    const struct offering *o = user;
    char *name = chela_json_get(skill, n, "/name", NULL);
    if (name && chat_complete_is_true(skill, n, "/used") &&
        chat_complete_is_true(skill, n, "/user_invocable"))
        chat_complete_offer(o->words, o->typed, ch_format("/%s", name));
    chela_free(name);
    return 0;
}

static void offer_commands(struct ch_chat *c, struct ch_chat_words *w, const char *typed) {
    struct offering o = {w, typed};
    const char *name;

    for (size_t i = 0; (name = ch_chat_command_name(i)); i++)
        chat_complete_offer(w, typed, ch_format("/%s", name));
    if (!c->agent)
        return;
    char *json = chela_agent_skills_json(c->agent);
    chela_json_each(json, strlen(json), offer_skill, &o);
    chela_free(json);
}

static int chat_complete_by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void ch_chat_complete(struct ch_chat *c) {
    struct ch_chat_words w = {0};
    size_t from = c->edit.at;

    if (ch_chat_mcp_complete(c))
        return;
    while (from > 0 && !strchr(" \t\n", c->edit.text[from - 1]))
        from--;
    char *typed = ch_format("%.*s", (int)(c->edit.at - from), c->edit.text + from);
    bool command = *typed == '/' && from == 0;
    if (command)
        offer_commands(c, &w, typed);
    if (command || *typed == '@')
        ch_chat_sources_offer(c, typed, &w);
    if (*typed == '@' && w.n == 0)
        ch_chat_files_pick(c, from, typed + 1);
    qsort(w.list, w.n, sizeof(w.list[0]), chat_complete_by_name);
    ch_edit_complete(&c->edit, from, w.list, w.n);
    for (size_t i = 0; i < w.n; i++)
        free(w.list[i]);
    free(typed);
}
