/* chat_pick.c -- see chat_pick.h. */
#include "cli/chat/chat_pick.h"

#include "cli/support/mem.h"

void ch_chat_pick_close(struct ch_chat *c) {
    if (c->chosen)
        ch_pick_release(&c->pick);
    c->chosen = NULL;
}

struct ch_pick *ch_chat_pick(struct ch_chat *c, const char *prompt, ch_chat_chosen_fn *chosen) {
    ch_chat_pick_close(c);
    ch_pick_init(&c->pick, prompt);
    c->chosen = chosen;
    c->dirty = true;
    return &c->pick;
}

/* The picker is closed first: chosen may open another one. */
static void pick_act(struct ch_chat *c, enum ch_pick_action action) {
    if (action == CH_PICK_NONE)
        return;
    ch_chat_chosen_fn *chosen = c->chosen;
    const struct ch_pick_item *item = ch_pick_selected(&c->pick);
    char *id = action == CH_PICK_CHOSEN && item ? ch_dup(item->id) : NULL;
    ch_chat_pick_close(c);
    chosen(c, id);
    free(id);
}

size_t ch_chat_pick_feed(struct ch_chat *c, const char *p, size_t n) {
    enum ch_pick_action action;
    size_t used = ch_pick_feed(&c->pick, p, n, &action);
    pick_act(c, action);
    return used;
}

void ch_chat_pick_flush(struct ch_chat *c) {
    pick_act(c, ch_pick_flush(&c->pick));
}
