/* prune.c -- delete sessions: one with the sessions of the agents that it called, or all that
 * were not used for some time.
 *
 * Many sessions are deleted in transactions of some sessions each, so that other changes
 * need not wait. */
#include <stdlib.h>
#include <string.h>

#include "agent/handle/session.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "store/owner.h"
#include "store/store.h"
#include "store/writer.h"

static int store_owner_of(const struct chela_store_session *row, void *user) {
    if (row->until != CH_LEASE_ENDED)
        ch_buf_add_str(user, row->owner);
    return 0;
}

/* The time to compare with a session's lease. The lease of a dead process counts as expired;
 * the lease of a process that is alive on this machine does not, whatever the clock shows. */
static int64_t when_free(chela_store *s, const char *key) {
    CH_BUF_AUTO owner = {0};
    struct chela_error ignored = {0};

    chela_store_session(s, key, store_owner_of, &owner, &ignored);
    if (owner.n && ch_owner_is_dead(ch_buf_str(&owner)))
        return INT64_MAX;
    bool works = owner.n && ch_owner_lives(ch_buf_str(&owner)) &&
                 !ch_owner_is_stopped(ch_buf_str(&owner));
    return works ? 0 : ch_store_now();
}

static int name_holder(chela_store *s, const char *key, struct chela_error *err) {
    CH_BUF_AUTO owner = {0}, who = {0};
    struct chela_error ignored = {0};

    if (chela_store_session(s, key, store_owner_of, &owner, &ignored) < 0 || !owner.n)
        return ch_fail(err, CHELA_EBUSY, "session '%s' is in use", key); /* released just now */
    ch_owner_show(ch_buf_str(&owner), &who);
    return ch_fail(err, CHELA_EBUSY, "session '%s' is in use by %s", key, ch_buf_str(&who));
}

static int lease_until(const struct chela_store_session *row, void *user) {
    int64_t *until = user;

    *until = *row->owner ? row->until : 0;
    return 0;
}

int ch_store_check_unused(chela_store *s, const char *key, struct chela_error *err) {
    int64_t until = 0;
    int rc = chela_store_session(s, key, lease_until, &until, err);

    return rc == 0 && until > when_free(s, key) ? name_holder(s, key, err) : rc;
}

/* token: as for CHELA_STORE_DELETE. */
static int delete_one(chela_store *s, const char *key, uint64_t token, struct chela_error *err) {
    struct chela_store_change c = {
        .kind = CHELA_STORE_DELETE, .key = key, .token = token, .now = when_free(s, key)};

    int rc = ch_store_change(s, &c, err);
    return rc == CHELA_EBUSY ? name_holder(s, key, err) : rc;
}

/* Delete the sessions of agents that it called; sessions in use stay. */
static void delete_children(chela_store *s, const char *key) {
    CH_BUF_AUTO prefix = {0};
    struct ch_store_keys keys = {0};
    struct chela_error why = {0};

    ch_buf_addf(&prefix, "%s~", key);
    struct chela_store_filter filter = CHELA_STORE_FILTER(.prefix = ch_buf_str(&prefix));
    if (chela_store_list(s, &filter, ch_keys_add, &keys, &why) == 0)
        for (size_t i = 0; i < keys.n; i++)
            if (chela_session_root(keys.list[i]) <= strlen(key))
                delete_one(s, keys.list[i], 0, &why);
    ch_keys_release(&keys);
}

static int delete_with_children(chela_store *s, const char *key, uint64_t token,
                                struct chela_error *err) {
    struct chela_error why = {0};
    int rc = delete_one(s, key, token, err ? err : &why);

    if (rc == 0)
        delete_children(s, key);
    return rc;
}

int chela_store_delete(chela_store *s, const char *key, struct chela_error *err) {
    CH_NEEDS(s, err);
    return delete_with_children(s, key, 0, err);
}

int ch_store_delete_records(chela_store *s, const char *key, struct chela_error *err) {
    return delete_with_children(s, key, 2, err);
}

/* --- many sessions ------------------------------------------------------------------------ */

struct candidate {
    char *key; /* owned */
    bool held; /* the lease has an owner, who may be dead */
    bool gone;
};

struct candidates { /* sorted by key after the listing */
    struct candidate *list; /* owned */
    size_t n, cap;
};

static void prune_add(struct candidates *all, const char *key, bool held) {
    CH_GROW(all->list, all->n, all->cap, 256);
    all->list[all->n++] = (struct candidate){.key = ch_strdup(key), .held = held};
}

static void prune_release(struct candidates *all) {
    for (size_t i = 0; i < all->n; i++)
        ch_free(all->list[i].key);
    ch_free(all->list);
}

static int prune_compare(const void *a, const void *b) {
    return strcmp(((const struct candidate *)a)->key, ((const struct candidate *)b)->key);
}

static struct candidate *prune_find(const struct candidates *all, char *key) {
    struct candidate wanted = {.key = key};

    return all->n ? bsearch(&wanted, all->list, all->n, sizeof(wanted), prune_compare) : NULL;
}

static int add_row(const struct chela_store_session *row, void *user) {
    prune_add(user, row->key, *row->owner);
    return 0;
}

/* The conditions under which a session is deleted; zeroed: not in use. */
struct rule {
    int64_t unused; /* last changed before this time */
    bool idle;      /* the session has no event and no unsent message */
};

/* Deletes n sessions in one transaction. The others have changed since they were listed. */
static int delete_some(chela_store *s, struct candidate *some, size_t n, const struct rule *rule,
                       struct chela_error *err) {
    struct chela_store_change changes[CH_LIMIT_PRUNE_BATCH];

    for (size_t i = 0; i < n; i++)
        changes[i] = (struct chela_store_change){
            .kind = CHELA_STORE_DELETE,
            .key = some[i].key,
            .now = some[i].held ? when_free(s, some[i].key) : ch_store_now(),
            .until = rule->unused,
            .token = rule->idle};
    int rc = ch_store_commit(s, changes, n, false, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        some[i].gone = changes[i].rc == 0;
    return rc;
}

static int delete_all(chela_store *s, struct candidates *all, const struct rule *rule,
                      struct chela_error *err) {
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < all->n; i += CH_LIMIT_PRUNE_BATCH) {
        rc = delete_some(s, all->list + i, CH_MIN(all->n - i, (size_t)CH_LIMIT_PRUNE_BATCH), rule,
                         err);
        ch_store_give_way();
    }
    return rc;
}

struct orphans {
    const struct candidates *parents;
    struct candidates found;
};

/* Adds a session whose parent was deleted. */
static int add_orphan(const struct chela_store_session *row, void *user) {
    struct orphans *o = user;
    size_t root = chela_session_root(row->key), n = strlen(row->key);
    CH_AUTOFREE char *key = root < n ? ch_strdup(row->key) : NULL;

    for (size_t end = n; key && end-- > root;) {
        if (key[end] != '~')
            continue;
        key[end] = '\0';
        const struct candidate *parent = prune_find(o->parents, key);
        if (parent && parent->gone) {
            prune_add(&o->found, row->key, *row->owner);
            break;
        }
    }
    return 0;
}

static size_t count_gone(const struct candidates *all) {
    size_t n = 0;

    for (size_t i = 0; i < all->n; i++)
        n += all->list[i].gone;
    return n;
}

/* Sessions of agents that deleted sessions called are mostly as old, and gone already. */
static int delete_orphans(chela_store *s, const struct candidates *parents,
                          struct chela_error *err) {
    struct orphans o = {.parents = parents};
    const struct rule any = {0};
    int rc = count_gone(parents) ? chela_store_list(s, NULL, add_orphan, &o, err) : 0;

    if (rc == 0)
        rc = delete_all(s, &o.found, &any, err);
    prune_release(&o.found);
    return rc;
}

static int prune_run(chela_store *s, const struct chela_store_filter *filter,
                     const struct rule *rule, size_t *n, struct chela_error *err) {
    struct candidates all = {0};
    int rc = chela_store_list(s, filter, add_row, &all, err);

    if (all.n)
        qsort(all.list, all.n, sizeof(*all.list), prune_compare);
    if (rc == 0)
        rc = delete_all(s, &all, rule, err);
    *n = count_gone(&all);
    if (rc == 0)
        rc = delete_orphans(s, &all, err);
    prune_release(&all);
    return rc == 0 && *n ? ch_store_expire(s, 0, err) : rc; /* give the space back */
}

int chela_store_prune(chela_store *s, int64_t before, size_t *n, struct chela_error *err) {
    CH_NEEDS(s, err);
    struct chela_error why = {0};
    struct chela_store_filter filter = CHELA_STORE_FILTER(.before = before);
    size_t gone = 0;
    int rc = prune_run(s, &filter, &(struct rule){.unused = before}, &gone, err ? err : &why);

    if (n)
        *n = gone;
    return rc;
}

int ch_store_prune_idle(chela_store *s, int64_t before, size_t *n, struct chela_error *err) {
    struct chela_store_filter filter = CHELA_STORE_FILTER(.before = before, .status = "idle");

    return prune_run(s, &filter, &(struct rule){.unused = before, .idle = true}, n, err);
}
