/* waiting_calls.c -- see waiting_calls.h. */
#include "gateway/request/waiting_calls.h"

struct paused_sessions {
    char **keys; /* owned */
    size_t n;
};

static int waiting_keep(const struct chela_store_session *s, void *user) {
    struct paused_sessions *f = user;
    if (s->key[chela_session_root(s->key)])
        return 0; /* a sub-session: its parent lists the call */
    f->keys = ch_realloc(f->keys, (f->n + 1) * sizeof(*f->keys));
    f->keys[f->n++] = ch_strdup(s->key);
    return 0;
}

static int waiting_read(chela_store *store, const char *key, ch_waiting_call_fn *fn, void *user) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    char *text = NULL;
    int rc = 0;
    if (chela_store_show(store, key, &text, NULL) < 0)
        return 0; /* deleted meanwhile */
    if (ch_json_parse(&arena, ch_sv_str(text), CH_JSON_REPLACE, &v, NULL, NULL) == 0)
        for (CH_JSON_EACH(w, ch_json_get(v, "waiting")))
            rc = rc ? rc : fn(key, ch_json_get(v, "agent"), w, user);
    chela_free(text);
    return rc;
}

int ch_waiting_calls(chela_store *store, const char *prefix, ch_waiting_call_fn *fn, void *user,
                     struct chela_error *err) {
    struct paused_sessions f = {0};
    struct chela_store_filter paused = CHELA_STORE_FILTER(.prefix = prefix, .status = "paused");
    int rc = chela_store_list(store, &paused, waiting_keep, &f, err);
    int ended = rc;
    for (size_t i = 0; i < f.n; i++) {
        if (!ended)
            ended = waiting_read(store, f.keys[i], fn, user);
        ch_free(f.keys[i]);
    }
    ch_free(f.keys);
    return rc;
}
