/* chat_notes.c -- see chat_notes.h. The id of a note in the store is "note:CHANNEL:ID". */
#include "gateway/chat/chat_notes.h"

#include "agent/journal/journal.h"
#include "gateway/chat/chat_service.h"
#include "gateway/request/gateway_state.h"

#define PREFIX "note:"

/* A note that this process wrote. */
struct chat_note {
    struct ch_link link; /* in the service's notes */
    char *id; /* owned */
    struct ch_buf data;
};

/* A note that is being written or deleted. A deletion is remembered until the next read of
 * the store begins: a read in progress may still return the note. */
struct chat_note_write {
    struct ch_link link; /* in the service's note_writes */
    char *deleted;       /* owned: the id of a deleted note; NULL: written */
    bool stored;
    chela_accepted_fn *done; /* may be NULL */
    void *tag;
};

static void chat_note_free(struct chat_note *n) {
    ch_list_del(&n->link);
    ch_buf_release(&n->data);
    ch_free(n->id);
    ch_free(n);
}

static void chat_notes_remember(struct ch_chat_service *chat, const char *id, struct ch_sv data) {
    for (CH_LIST_EACH(k, &chat->notes)) {
        struct chat_note *n = CH_CONTAINER(k, struct chat_note, link);
        if (strcmp(n->id, id) == 0) {
            chat_note_free(n);
            break;
        }
    }
    if (!data.p)
        return;
    struct chat_note *n = ch_alloc(sizeof(*n));
    n->id = ch_strdup(id);
    ch_buf_add_sv(&n->data, data);
    ch_list_add(&chat->notes, &n->link);
}

static void chat_note_write_free(struct chat_note_write *n) {
    ch_list_del(&n->link);
    ch_free(n->deleted);
    ch_free(n);
}

static void chat_note_on_written(int rc, const struct chela_error *err, void *user) {
    struct chat_note_write *n = user;
    chela_accepted_fn *done = n->done;
    void *tag = n->tag;
    n->stored = true;
    if (!n->deleted)
        chat_note_write_free(n);
    if (done)
        done(rc == CHELA_ENOENT ? 0 : rc, err, tag);
}

void ch_chat_notes_put(const char *id, struct ch_sv data, chela_accepted_fn *done, void *tag,
                       void *user) {
    struct ch_chat_service *chat = user;
    struct ch_journal *j = chat->gw->rt->journal;
    struct chat_note_write *n = ch_alloc(sizeof(*n));
    CH_BUF_AUTO note = {0};
    chat_notes_remember(chat, id, data);
    ch_buf_addf(&note, PREFIX "%s:%s", chat->channel->ops->name, id);
    n->done = done;
    n->tag = tag;
    if (!data.p)
        n->deleted = ch_strdup(id);
    ch_list_add(&chat->note_writes, &n->link);
    struct chela_store_change c = {.kind = data.p ? CHELA_STORE_NOTE : CHELA_STORE_FORGET,
                                   .id = ch_buf_str(&note),
                                   .key = "",
                                   .data = data.p,
                                   .n = data.n,
                                   .now = ch_now_ms(ch_loop_clock(chat->gw->rt->loop))};
    j->ops->change(j, &c, j->gate, chat_note_on_written, n);
}

const char *ch_chat_notes_owner(const char *note) {
    return strncmp(note, PREFIX, strlen(PREFIX)) == 0 ? note + strlen(PREFIX) : NULL;
}

void ch_chat_notes_begin_read(struct ch_chat_service *chat) {
    struct ch_link *k = chat->note_writes.head.next, *next;
    for (; k != &chat->note_writes.head; k = next) {
        struct chat_note_write *n = CH_CONTAINER(k, struct chat_note_write, link);
        next = k->next;
        if (n->stored)
            chat_note_write_free(n);
    }
}

static bool is_deleted(const struct ch_chat_service *chat, const char *id) {
    for (CH_LIST_EACH(k, &chat->note_writes)) {
        const struct chat_note_write *n = CH_CONTAINER(k, struct chat_note_write, link);
        if (n->deleted && strcmp(n->deleted, id) == 0)
            return true;
    }
    return false;
}

void ch_chat_notes_pass_on(struct ch_chat_service *chat, const char *owner, struct ch_sv data) {
    struct ch_channel *c = chat->channel;
    const char *id = strchr(owner, ':');
    if (id && !is_deleted(chat, id + 1))
        ch_channel_remind(c, id + 1, data);
}

void ch_chat_notes_end_read(struct ch_chat_service *chat) {
    ch_channel_reminded(chat->channel);
}

void ch_chat_notes_replay_own(struct ch_chat_service *chat) {
    for (CH_LIST_EACH(k, &chat->notes)) {
        const struct chat_note *n = CH_CONTAINER(k, struct chat_note, link);
        ch_channel_remind(chat->channel, n->id, ch_buf_sv(&n->data));
    }
}

void ch_chat_notes_release(struct ch_chat_service *chat) {
    for (struct chat_note *n; (n = CH_LIST_FIRST(&chat->notes, struct chat_note, link));)
        chat_note_free(n);
    ch_chat_notes_begin_read(chat);
    for (struct chat_note_write *n;
         (n = CH_LIST_FIRST(&chat->note_writes, struct chat_note_write, link));) {
        ch_list_del(&n->link);
        ch_free(CH_TAKE(n->deleted)); /* n itself is freed when the store has answered */
        n->done = NULL;
    }
}
