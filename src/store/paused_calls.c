/* paused_calls.c -- see paused_calls.h. */
#include "store/paused_calls.h"

#include "base/limits.h"

struct ch_paused_session {
    struct ch_keyed by_key;
    char *key;                /* owned */
    int64_t created, updated; /* of the row, when the journal was read */
    uint64_t last;
    char *text; /* owned: of ch_store_show_page; NULL: not read, or not kept */
};

static void paused_session_free(struct ch_paused_session *p) {
    ch_free(p->key);
    ch_free(p->text);
    ch_free(p);
}

void ch_paused_sessions_release(struct ch_paused_sessions *s) {
    for (size_t i = 0; i < s->n; i++)
        paused_session_free(s->list[i]);
    ch_free(s->list);
    ch_key_table_release(&s->by_key);
}

/* --- the rows */

struct paused_rows {
    struct ch_paused_sessions *known, now;
};

/* Moves a session whose row has not changed from the known ones to those of now. */
static int paused_row(const struct chela_store_session *s, void *user) {
    struct paused_rows *rows = user;
    struct ch_paused_sessions *now = &rows->now;
    if (s->key[chela_session_root(s->key)])
        return 0; /* a sub-session: its parent lists the call */
    struct ch_keyed *e = ch_key_table_find(&rows->known->by_key, ch_sv_str(s->key));
    struct ch_paused_session *p = e ? CH_CONTAINER(e, struct ch_paused_session, by_key) : NULL;
    if (p && p->created == s->created && p->updated == s->updated && p->last == s->last) {
        ch_key_table_del(&rows->known->by_key, &p->by_key);
    } else {
        p = ch_alloc(sizeof(*p));
        *p = (struct ch_paused_session){.key = ch_strdup(s->key),
                                        .created = s->created,
                                        .updated = s->updated,
                                        .last = s->last};
    }
    now->list = ch_realloc(now->list, (now->n + 1) * sizeof(*now->list));
    now->list[now->n++] = p;
    now->bytes += p->text ? strlen(p->text) : 0;
    return 0;
}

static int paused_update(chela_store *store, struct chela_error *err) {
    struct chela_store_filter paused = CHELA_STORE_FILTER(.status = "paused");
    struct ch_paused_sessions *known = &store->paused;
    struct paused_rows rows = {.known = known};
    int rc = chela_store_list(store, &paused, paused_row, &rows, err);
    for (size_t i = known->n; i-- > 0;)
        if (!known->list[i]->by_key.key) /* moved */
            known->list[i] = known->list[--known->n];
    ch_paused_sessions_release(known);
    *known = rows.now;
    for (size_t i = 0; i < known->n; i++)
        ch_key_table_add(&known->by_key, &known->list[i]->by_key, known->list[i]->key);
    return rc;
}

/* --- the calls */

static int paused_pass(const struct ch_paused_session *p, const char *text,
                       const struct ch_paused_search *search) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    int rc = 0;
    if ((search->approval && !strstr(text, search->approval)) ||
        ch_json_parse(&arena, ch_sv_str(text), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return 0;
    for (CH_JSON_EACH(call, ch_json_get(v, "waiting")))
        if (!search->approval || ch_sv_is(ch_json_get_str(call, "approval_id"), search->approval))
            rc = rc ? rc : search->fn(p->key, ch_json_get(v, "agent"), call, search->user);
    return rc;
}

static int paused_read(chela_store *store, struct ch_paused_session *p,
                       const struct ch_paused_search *search) {
    char *text = NULL;
    if (p->text)
        return paused_pass(p, p->text, search);
    if (ch_store_show_page(store, p->key, 0, 0, &text, NULL) < 0)
        return 0; /* deleted meanwhile */
    int rc = paused_pass(p, text, search);
    size_t n = strlen(text);
    if (store->paused.bytes + n <= CH_LIMIT_PAUSED_CALLS) {
        store->paused.bytes += n;
        p->text = CH_TAKE(text);
    }
    ch_free(text);
    return rc;
}

int ch_paused_calls(chela_store *store, const struct ch_paused_search *search,
                    struct chela_error *err) {
    size_t prefix = search->prefix ? strlen(search->prefix) : 0;
    pthread_mutex_lock(&store->paused_lock);
    int rc = paused_update(store, err), ended = rc;
    for (size_t i = 0; i < store->paused.n && !ended; i++) {
        struct ch_paused_session *p = store->paused.list[i];
        if (!prefix || strncmp(p->key, search->prefix, prefix) == 0)
            ended = paused_read(store, p, search);
    }
    pthread_mutex_unlock(&store->paused_lock);
    return rc;
}
