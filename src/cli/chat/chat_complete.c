/* chat_complete.c -- Tab completion: /commands and /skills at the beginning, @paths
 * anywhere. See chat.h. */
#include "cli/chat/chat_complete.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "chela/json.h"
#include "cli/chat/chat.h"
#include "cli/chat/chat_slash.h"
#include "cli/support/mem.h"

enum { MOST = 64 }; /* maximum number of words */

struct words {
    char *list[MOST]; /* owned */
    size_t n;
};

static void chat_complete_offer(struct words *w, const char *typed, char *word) {
    if (w->n < MOST && strncmp(word, typed, strlen(typed)) == 0)
        w->list[w->n++] = word;
    else
        free(word);
}

static bool chat_complete_is_true(const char *json, size_t i, const char *member) {
    char pointer[40];
    snprintf(pointer, sizeof(pointer), "/%zu/%s", i, member);
    char *value = chela_json_get(json, strlen(json), pointer, NULL);
    bool yes = value && strcmp(value, "true") == 0;
    chela_free(value);
    return yes;
}

static void offer_commands(struct ch_chat *c, struct words *w, const char *typed) {
    const char *name;
    char pointer[40], *skill;

    for (size_t i = 0; (name = ch_chat_command_name(i)); i++)
        chat_complete_offer(w, typed, ch_format("/%s", name));
    if (!c->agent)
        return;
    char *json = chela_agent_skills_json(c->agent);
    for (size_t i = 0;; i++) {
        snprintf(pointer, sizeof(pointer), "/%zu/name", i);
        if (!(skill = chela_json_get(json, strlen(json), pointer, NULL)))
            break;
        if (chat_complete_is_true(json, i, "used") &&
            chat_complete_is_true(json, i, "user_invocable"))
            chat_complete_offer(w, typed, ch_format("/%s", skill));
        chela_free(skill);
    }
    chela_free(json);
}

static bool is_directory(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static const char *chat_complete_place(const struct ch_chat *c) {
    return c->setup->flags->workspace ? c->setup->flags->workspace : ".";
}

/* typed: "@src/ma". Names that begin with a dot are offered only if the dot is typed. */
static void offer_paths(struct ch_chat *c, struct words *w, const char *typed) {
    const char *path = typed + 1, *slash = strrchr(path, '/');
    int stem = slash ? (int)(slash + 1 - path) : 0;
    char *dir = *path == '/' ? ch_format("%.*s", stem, path)
                             : ch_format("%s/%.*s", chat_complete_place(c), stem, path);
    DIR *d = opendir(dir);
    struct dirent *entry;

    while (d && (entry = readdir(d))) {
        if (entry->d_name[0] == '.' && path[stem] != '.')
            continue;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *full = ch_format("%s/%s", dir, entry->d_name);
        chat_complete_offer(
            w, typed,
            ch_format("@%.*s%s%s", stem, path, entry->d_name, is_directory(full) ? "/" : ""));
        free(full);
    }
    if (d)
        closedir(d);
    free(dir);
}

static int chat_complete_by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void ch_chat_complete(struct ch_chat *c) {
    struct words w = {0};
    size_t from = c->edit.at;

    while (from > 0 && !strchr(" \t\n", c->edit.text[from - 1]))
        from--;
    char *typed = ch_format("%.*s", (int)(c->edit.at - from), c->edit.text + from);
    if (*typed == '/' && from == 0)
        offer_commands(c, &w, typed);
    else if (*typed == '@')
        offer_paths(c, &w, typed);
    qsort(w.list, w.n, sizeof(w.list[0]), chat_complete_by_name);
    ch_edit_complete(&c->edit, from, w.list, w.n);
    for (size_t i = 0; i < w.n; i++)
        free(w.list[i]);
    free(typed);
}
