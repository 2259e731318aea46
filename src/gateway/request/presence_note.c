/* presence_note.c -- see presence_note.h. */
#include "gateway/request/presence_note.h"

#include <string.h>

#include "base/arena.h"
#include "base/limits.h"
#include "store/store.h"

const char *ch_presence_owner(const struct chela_store_item *note, int64_t now, int64_t *until) {
    *until = note->ts + CH_DEFAULT_PRESENCE_MS * 3;
    if (strncmp(note->id, CH_PRESENCE_NOTE, strlen(CH_PRESENCE_NOTE)) != 0 || *until <= now)
        return NULL;
    return note->id + strlen(CH_PRESENCE_NOTE);
}

struct presence_search {
    struct ch_arena arena;
    struct chela_store_change changes[CH_LIMIT_NODES];
    size_t n;
    int64_t now;
};

static int find_expired(const struct chela_store_item *note, void *user) {
    struct presence_search *s = user;
    int64_t until;
    if (strncmp(note->id, CH_PRESENCE_NOTE, strlen(CH_PRESENCE_NOTE)) == 0 &&
        !ch_presence_owner(note, s->now, &until) && s->n < CH_LEN(s->changes))
        s->changes[s->n++] =
            (struct chela_store_change){.kind = CHELA_STORE_FORGET,
                                        .id = ch_arena_str(&s->arena, ch_sv_str(note->id)),
                                        .key = "",
                                        .now = s->now};
    return 0;
}

int ch_presence_expire(chela_store *store, int64_t now, struct chela_error *err) {
    struct presence_search *s = ch_alloc(sizeof(*s));
    s->now = now;
    int rc = chela_store_items(store, CHELA_STORE_NOTES, find_expired, s, err);
    if (rc == 0 && s->n)
        rc = ch_store_commit(store, s->changes, s->n, false, err);
    ch_arena_release(&s->arena);
    ch_free(s);
    return rc;
}
