/* state.c -- see state.h. */
#include "tool/call/state.h"

#include "base/mem.h"

struct ch_state_slot {
    struct ch_state_slot *next;
    const struct ch_state_kind *kind;
    void *value;
};

void *ch_session_state_find(const struct ch_session_state *s, const struct ch_state_kind *kind) {
    for (const struct ch_state_slot *at = s->slots; at; at = at->next)
        if (at->kind == kind)
            return at->value;
    return NULL;
}

void *ch_session_state_get(struct ch_session_state *s, const struct ch_state_kind *kind) {
    void *value = ch_session_state_find(s, kind);
    if (value)
        return value;
    struct ch_state_slot *slot = ch_alloc(sizeof(*slot));
    *slot = (struct ch_state_slot){.next = s->slots, .kind = kind, .value = kind->make()};
    s->slots = slot;
    return slot->value;
}

void ch_session_state_release(struct ch_session_state *s) {
    while (s->slots) {
        struct ch_state_slot *slot = s->slots;
        s->slots = slot->next;
        slot->kind->free(slot->value);
        ch_free(slot);
    }
}
