/* chat_sessions.c -- see chat_sessions.h. */
#include "cli/chat/chat_sessions.h"

#include <string.h>

#include "chela/json.h"
#include "cli/chat/chat_pick.h"
#include "cli/chat/chat_runs.h"
#include "cli/chat/chat_undo.h"
#include "cli/support/local_time.h"
#include "cli/support/mem.h"

enum {
    SESSIONS = 2000, /* read from the store, at most */
    RECORDS = 40,    /* searched for the preview */
    DEPTH = 32,      /* of forks */
};

struct row {
    char *key, *parent, *title, *facts; /* owned */
};

struct rows {
    struct row *list; /* owned, newest first */
    size_t n;
};

static int sessions_add_row(const struct chela_store_session *s, void *user) {
    struct rows *r = user;
    char time[CH_LOCAL_TIME];
    if (chela_session_root(s->key) != strlen(s->key) || s->turns + s->messages == 0)
        return 0; /* a called agent's, or an empty one */
    r->list = ch_must(realloc(r->list, (r->n + 1) * sizeof(*r->list)));
    r->list[r->n++] = (struct row){
        .key = ch_dup(s->key),
        .parent = ch_dup(s->parent),
        .title = ch_dup(*s->title ? s->title : s->key),
        .facts = ch_format("%s%s%llu turn%s  %s", strcmp(s->status, "idle") ? s->status : "",
                           strcmp(s->status, "idle") ? "  " : "", (unsigned long long)s->turns,
                           s->turns == 1 ? "" : "s", ch_local_time(s->updated, time))};
    return 0;
}

static void sessions_release(struct rows *r) {
    for (size_t i = 0; i < r->n; i++) {
        free(r->list[i].key);
        free(r->list[i].parent);
        free(r->list[i].title);
        free(r->list[i].facts);
    }
    free(r->list);
    *r = (struct rows){0};
}

static bool sessions_read(struct ch_chat *c, struct rows *r) {
    struct chela_store_filter some = CHELA_STORE_FILTER(.limit = SESSIONS);
    struct chela_error err = {0};
    if (!c->setup->store) {
        ch_console_error(c->console, "this conversation has no store with other sessions");
        return false;
    }
    int rc = chela_store_list(c->setup->store, &some, sessions_add_row, r, &err);
    if (rc < 0)
        ch_console_error(c->console, "%s", err.message);
    return rc == 0;
}

/* --- the preview ----------------------------------------------------------------------- */

struct last { /* the last texts of a session */
    char *user, *answer; /* owned; NULL: none */
};

static int sessions_take_text(const struct chela_store_record *r, void *user) {
    struct last *last = user;
    char *role = chela_json_get(r->data, r->n, "/message/role", NULL);
    char *text = NULL, pointer[64];
    for (size_t i = 0; role && !text && i < 4; i++) { /* the text may follow reasoning */
        snprintf(pointer, sizeof(pointer), "/message/content/%zu/type", i);
        char *type = chela_json_get(r->data, r->n, pointer, NULL);
        snprintf(pointer, sizeof(pointer), "/message/content/%zu/text", i);
        if (type && strcmp(type, "text") == 0)
            text = chela_json_get(r->data, r->n, pointer, NULL);
        chela_free(type);
    }
    if (text && strcmp(role, "tool") != 0) {
        char **place = strcmp(role, "assistant") == 0 ? &last->answer : &last->user;
        free(*place);
        *place = ch_dup(text);
    }
    chela_free(role);
    chela_free(text);
    return 0;
}

static int sessions_take_last(const struct chela_store_session *s, void *user) {
    uint64_t *from = user;
    *from = s->last > s->base + RECORDS ? s->last - RECORDS : 1;
    return 0;
}

static void sessions_preview(struct ch_pick_item *item, void *user) {
    struct ch_chat *c = user;
    struct last last = {0};
    uint64_t from = 1;
    chela_store_session(c->setup->store, item->id, sessions_take_last, &from, NULL);
    chela_store_records(c->setup->store, item->id, from, sessions_take_text, &last, NULL);
    char *lines = ch_format("%s%.*s%s%.600s", last.user ? "> " : "",
                            (int)strcspn(last.user ? last.user : "", "\n"),
                            last.user ? last.user : "", last.user ? "\n" : "",
                            last.answer ? last.answer : "");
    item->about = lines;
    free(last.user);
    free(last.answer);
}

/* --- the picker -------------------------------------------------------------------------- */

static bool sessions_is_here(const struct ch_chat *c, const char *key) {
    return c->session && strcmp(chela_session_key(c->session), key) == 0;
}

static void sessions_chosen(struct ch_chat *c, const char *key) {
    if (!key) {
        if (!c->session)
            ch_chat_ready(c);
        return;
    }
    if (sessions_is_here(c, key) || !ch_chat_is_idle(c, "resume"))
        return;
    ch_chat_undo_forget(c);
    ch_chat_continue(c, key);
}

static struct ch_pick *sessions_open_picker(struct ch_chat *c, const char *prompt) {
    struct ch_pick *p = ch_chat_pick(c, prompt, sessions_chosen);
    p->preview = sessions_preview;
    p->user = c;
    return p;
}

static bool sessions_taken_back(const char *title) {
    return strncmp(title, CH_CHAT_TAKEN_BACK, sizeof(CH_CHAT_TAKEN_BACK) - 1) == 0;
}

bool ch_chat_sessions_pick(struct ch_chat *c, const char *query) {
    struct rows r = {0};
    size_t n = 0;
    bool exact = false;

    bool read = sessions_read(c, &r);
    for (size_t i = 0; i < r.n; i++) {
        exact |= strcmp(r.list[i].key, query) == 0;
        n += !sessions_taken_back(r.list[i].title) && !sessions_is_here(c, r.list[i].key);
    }
    if (exact) {
        sessions_chosen(c, query);
    } else if (n > 0) {
        struct ch_pick *p = sessions_open_picker(c, "resume");
        for (size_t i = 0; i < r.n; i++)
            if (!sessions_taken_back(r.list[i].title) && !sessions_is_here(c, r.list[i].key))
                ch_pick_add(p, r.list[i].key, r.list[i].title, r.list[i].facts);
        ch_pick_filter(p, query);
    } else if (read) {
        ch_console_error(c->console, "there is no other session to continue");
    }
    sessions_release(&r);
    return exact || n > 0;
}

/* --- the tree ---------------------------------------------------------------------------- */

static const struct row *sessions_find(const struct rows *r, const char *key) {
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->list[i].key, key) == 0)
            return &r->list[i];
    return NULL;
}

/* The oldest known ancestor. */
static const struct row *sessions_first(const struct rows *r, const struct row *at) {
    const struct row *up;
    for (unsigned i = 0; at && i < DEPTH && (up = sessions_find(r, at->parent)); i++)
        at = up;
    return at;
}

static void sessions_add_branch(struct ch_chat *c, struct ch_pick *p, const struct rows *r,
                                const struct row *at, unsigned depth) {
    char *title = ch_format("%*s%s%s%s", (int)(depth ? (depth - 1) * 2 : 0), "",
                            depth ? "└ " : "", at->title,
                            sessions_is_here(c, at->key) ? "  (here)" : "");
    char *facts = ch_format("%s  %s", at->key, at->facts);
    ch_pick_add(p, at->key, title, facts);
    free(title);
    free(facts);
    for (size_t i = r->n; i-- > 0 && depth < DEPTH;) /* oldest first */
        if (strcmp(r->list[i].parent, at->key) == 0)
            sessions_add_branch(c, p, r, &r->list[i], depth + 1);
}

void ch_chat_sessions_tree(struct ch_chat *c) {
    struct rows r = {0};
    const struct row *here = NULL;
    if (sessions_read(c, &r))
        here = sessions_first(&r, sessions_find(&r, chela_session_key(c->session)));
    if (here) {
        struct ch_pick *p = sessions_open_picker(c, "tree");
        sessions_add_branch(c, p, &r, here, 0);
        ch_pick_filter(p, "");
    } else if (c->setup->store) {
        ch_console_note(c->console, "nothing was said in this session yet");
    }
    sessions_release(&r);
}

/* --- undo ---------------------------------------------------------------------------------- */

static int sessions_take_title(const struct chela_store_session *s, void *user) {
    *(char **)user = ch_dup(*s->title ? s->title : s->key);
    return 0;
}

void ch_chat_sessions_take_back(struct ch_chat *c, const char *key) {
    char *title = NULL;
    chela_store_session(c->setup->store, key, sessions_take_title, &title, NULL);
    if (title && !sessions_taken_back(title)) {
        char *marked = ch_format("%s%s", CH_CHAT_TAKEN_BACK, title);
        chela_store_title(c->setup->store, key, marked, NULL);
        free(marked);
    }
    free(title);
}
