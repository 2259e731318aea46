/* chat_notes.c -- what a channel remembers beyond this process: notes of the store,
 * "note:CHANNEL:ID". */
#include "agent/journal/journal.h"
#include "gateway/chat/channels.h"

#define PREFIX "note:"

/* One that this process made. */
struct note {
    struct ch_link link; /* in the chat's notes */
    char *id; /* owned */
    struct ch_buf data;
};

/* One on its way into the store, or out of it. The latter stays until the store is
 * read again: what was read before may still have the note. */
struct noting {
    struct ch_link link; /* in the chat's notings */
    char *forgotten; /* owned: the note's id; NULL: it is none of the latter */
    bool stored;
    chela_accepted_fn *done; /* NULL: nobody waits */
    void *tag;
};

static void free_note(struct note *n) {
    ch_list_del(&n->link);
    ch_buf_release(&n->data);
    ch_free(n->id);
    ch_free(n);
}

static void remember(struct ch_chat *chat, const char *id, struct ch_sv data) {
    for (CH_LIST_EACH(k, &chat->notes)) {
        struct note *n = CH_CONTAINER(k, struct note, link);
        if (strcmp(n->id, id) == 0) {
            free_note(n);
            break;
        }
    }
    if (!data.p)
        return;
    struct note *n = ch_alloc(sizeof(*n));
    n->id = ch_strdup(id);
    ch_buf_add_sv(&n->data, data);
    ch_list_add(&chat->notes, &n->link);
}

static void free_noting(struct noting *n) {
    ch_list_del(&n->link);
    ch_free(n->forgotten);
    ch_free(n);
}

static void on_noted(int rc, const struct chela_error *err, void *user) {
    struct noting *n = user;
    chela_accepted_fn *done = n->done;
    void *tag = n->tag;
    n->stored = true;
    if (!n->forgotten)
        free_noting(n);
    if (done)
        done(rc == CHELA_ENOENT ? 0 : rc, err, tag);
}

void ch_chat_note(const char *id, struct ch_sv data, chela_accepted_fn *done, void *tag,
                  void *user) {
    struct ch_chat *chat = user;
    struct ch_journal *j = chat->gw->rt->journal;
    struct noting *n = ch_alloc(sizeof(*n));
    CH_BUF_AUTO note = {0};
    remember(chat, id, data);
    ch_buf_addf(&note, PREFIX "%s:%s", chat->channel->ops->name, id);
    n->done = done;
    n->tag = tag;
    if (!data.p)
        n->forgotten = ch_strdup(id);
    ch_list_add(&chat->notings, &n->link);
    struct chela_store_change c = {.kind = data.p ? CHELA_STORE_NOTE : CHELA_STORE_FORGET,
                                   .id = ch_buf_str(&note),
                                   .key = "",
                                   .data = data.p,
                                   .n = data.n,
                                   .now = ch_now_ms(ch_loop_clock(chat->gw->rt->loop))};
    j->ops->change(j, &c, j->gate, on_noted, n);
}

const char *ch_chat_note_owner(const char *note) {
    return strncmp(note, PREFIX, strlen(PREFIX)) == 0 ? note + strlen(PREFIX) : NULL;
}

void ch_chat_notes_look(struct ch_chat *chat) {
    struct ch_link *k = chat->notings.head.next, *next;
    for (; k != &chat->notings.head; k = next) {
        struct noting *n = CH_CONTAINER(k, struct noting, link);
        next = k->next;
        if (n->stored)
            free_noting(n);
    }
}

static bool is_forgotten(const struct ch_chat *chat, const char *id) {
    for (CH_LIST_EACH(k, &chat->notings)) {
        const struct noting *n = CH_CONTAINER(k, struct noting, link);
        if (n->forgotten && strcmp(n->forgotten, id) == 0)
            return true;
    }
    return false;
}

void ch_chat_remind(struct ch_chat *chat, const char *owner, struct ch_sv data) {
    struct ch_channel *c = chat->channel;
    const char *id = strchr(owner, ':');
    if (id && c->ops->remind && !is_forgotten(chat, id + 1))
        c->ops->remind(c, id + 1, data);
}

void ch_chat_notes_looked(struct ch_chat *chat) {
    struct ch_channel *c = chat->channel;
    if (c->ops->reminded)
        c->ops->reminded(c);
}

void ch_chat_remind_all(struct ch_chat *chat) {
    struct ch_channel *c = chat->channel;
    for (CH_LIST_EACH(k, &chat->notes)) {
        const struct note *n = CH_CONTAINER(k, struct note, link);
        if (c->ops->remind)
            c->ops->remind(c, n->id, ch_buf_sv(&n->data));
    }
}

void ch_chat_notes_release(struct ch_chat *chat) {
    for (struct note *n; (n = CH_LIST_FIRST(&chat->notes, struct note, link));)
        free_note(n);
    ch_chat_notes_look(chat);
    for (struct noting *n; (n = CH_LIST_FIRST(&chat->notings, struct noting, link));) {
        ch_list_del(&n->link);
        ch_free(CH_TAKE(n->forgotten)); /* nobody asks for it: it goes once it is stored */
        n->done = NULL;
    }
}
