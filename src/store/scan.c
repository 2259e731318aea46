/* scan.c -- reads the records of many sessions (store.h).
 *
 * A backend with `scan` reads some sessions in one query. The lock is released after each
 * query, so that others can use the store. Otherwise each session is read by itself. */
#include "base/error.h"
#include "base/grow.h"
#include "base/mem.h"
#include "store/store.h"

struct scan_session {
    char *key, *agent; /* owned */
};

struct scan {
    struct scan_session *sessions; /* owned */
    size_t n, cap;
    const struct scan_session *at;
    int64_t since;
    uint64_t types;
    chela_store_scan_fn *fn;
    void *user;
    struct chela_error *err;
    int rc;
    bool stopped; /* fn ended the listing */
};

static int scan_pass(const char *key, const char *agent, const struct chela_store_record *r,
                     void *user) {
    struct scan *sc = user;

    if (r->sum != ch_record_sum(r))
        sc->rc = ch_record_damaged(key, r->seq, sc->err);
    sc->stopped = sc->rc < 0 || sc->fn(key, agent, r, sc->user);
    return sc->stopped;
}

static int scan_together(chela_store *s, struct scan *sc) {
    uint64_t at = 0;
    int rc;

    do {
        rc = ch_store_enter(s, sc->err);
        if (rc == 0)
            rc = ch_store_leave(s, s->ops->scan(s->db, sc->since, sc->types, &at, scan_pass, sc,
                                                sc->err));
    } while (rc > 0 && !sc->stopped);
    return rc < 0 ? rc : sc->rc;
}

static int scan_add_session(const struct chela_store_session *row, void *user) {
    struct scan *sc = user;

    if (row->updated < sc->since)
        return 0;
    CH_GROW(sc->sessions, sc->n, sc->cap, 64);
    sc->sessions[sc->n++] = (struct scan_session){ch_strdup(row->key), ch_strdup(row->agent)};
    return 0;
}

static int scan_on_record(const struct chela_store_record *r, void *user) {
    struct scan *sc = user;

    if (r->type < 64 && sc->types >> r->type & 1)
        sc->stopped = sc->fn(sc->at->key, sc->at->agent, r, sc->user) != 0;
    return sc->stopped;
}

static int scan_one_by_one(chela_store *s, size_t limit, struct scan *sc) {
    struct chela_store_filter filter = CHELA_STORE_FILTER(.limit = limit);
    int rc = chela_store_list(s, &filter, scan_add_session, sc, sc->err);

    for (size_t i = 0; i < sc->n; i++) {
        sc->at = &sc->sessions[i];
        if (rc == 0 && !sc->stopped)
            rc = chela_store_records(s, sc->at->key, 1, scan_on_record, sc, sc->err);
        if (rc == CHELA_ENOENT)
            rc = 0; /* deleted meanwhile */
        ch_free(sc->sessions[i].key);
        ch_free(sc->sessions[i].agent);
    }
    ch_free(sc->sessions);
    return rc;
}

int ch_store_scan(chela_store *s, const struct ch_store_scan *scan, chela_store_scan_fn *fn,
                  void *user, struct chela_error *err) {
    struct chela_error why = {0};
    struct scan sc = {.since = scan->since,
                      .types = scan->types,
                      .fn = fn,
                      .user = user,
                      .err = err ? err : &why};

    return s->ops->scan && !scan->limit ? scan_together(s, &sc)
                                        : scan_one_by_one(s, scan->limit, &sc);
}
