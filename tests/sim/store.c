/* store.c -- the store's calls, as the backends make them, over one state that survives the
 * nodes.
 *
 * The state is a database of memory.c, whose rules the conformance suite holds against every
 * backend. This file adds what a database and a network add: time, failures, and transactions
 * of several nodes at once.
 *
 *   memory    no time passes, nothing fails
 *   sqlite    one node; a commit takes the time of the disk, and fails without effect
 *   redis     a commit is one script: it takes effect at once, when it arrives, or never. Its
 *             answer can be lost; the same script sent again gets the same answer
 *   postgres  a transaction locks rows and numbers events before its COMMIT, and can be rolled
 *             back in between: by a lost connection, a lock that another one holds, or a node
 *             that was stopped. Events are in the order of their numbers, not of the commits */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/journal/journal.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "io/module.h"
#include "sim/sim.h"
#include "store/store.h"

#define IDLE_US (5 * SIM_S)  /* PostgreSQL ends a transaction that rests so long */
#define LOCK_US (8 * SIM_S)  /* the longest wait for a row */
#define GONE_US (50 * SIM_MS) /* until a server notices that a client is dead */
#define ANSWER_US ((int64_t)CH_LIMIT_STORE_CALL_MS * SIM_MS)

const char *const sim_backend_names[] = {"memory", "sqlite", "postgres", "redis"};
const char *const sim_defect_names[] = {"none",     "early-ack", "kept-event",
                                        "no-fence", "late-mail", "unordered"};

struct chela_store_db *sim_store_db;

struct handle { /* an open store of a process */
    struct sim_node *node;
    unsigned life; /* of the node: which process */
};

static struct handle *of(struct chela_store_db *db) {
    return (struct handle *)(void *)db;
}

static bool is_server(void) {
    return sim.backend == SIM_POSTGRES || sim.backend == SIM_REDIS;
}

/* --- time and failures */

static int64_t latency(const struct sim_node *node) {
    int64_t us = sim_chance(30) ? sim_between(5 * SIM_MS, 60 * SIM_MS) : sim_between(150, 2500);
    return sim.now < node->slow ? us * sim_between(10, 150) : us;
}

static int lost(struct chela_error *err) {
    return ch_fail(err, CHELA_ENET, "the store does not answer");
}

/* A message travels to the store or back. Fails if the store cannot be reached for too long. */
static int travel(const struct handle *h, int64_t due, struct chela_error *err) {
    if (sim.backend == SIM_MEMORY)
        return 0;
    sim_sleep(latency(h->node));
    while (is_server() && sim.now < h->node->cut) {
        if (sim.now >= due)
            return lost(err);
        sim_sleep(CH_MIN(h->node->cut, due) - sim.now + 1);
    }
    return 0;
}

/* --- rows that transactions of PostgreSQL have locked */

struct transaction {
    struct sim_node *node;
    unsigned life;
    int64_t since; /* its last statement */
    bool rolled_back;
};

static struct row_lock {
    char name[160];
    struct transaction *by;
} locks[512];
static size_t nlocks;

static void unlock(const struct transaction *t) {
    size_t n = 0;
    for (size_t i = 0; i < nlocks; i++)
        if (locks[i].by != t)
            locks[n++] = locks[i];
    nlocks = n;
    sim_wake(locks);
}

static void roll_back(struct transaction *t) {
    t->rolled_back = true;
    unlock(t);
}

/* The server ends the transactions of clients that are gone or do nothing. */
static void look_after_clients(void) {
    for (size_t i = 0; i < nlocks; i++) {
        struct transaction *t = locks[i].by;
        bool dead = !t->node->up || t->life != t->node->life;
        if (sim.now - t->since > (dead ? GONE_US : IDLE_US)) {
            roll_back(t);
            i = (size_t)-1;
        }
    }
}

static struct transaction *holder_of(const char *name) {
    for (size_t i = 0; i < nlocks; i++)
        if (strcmp(locks[i].name, name) == 0)
            return locks[i].by;
    return NULL;
}

static int lock_row(struct transaction *t, const char *kind, const char *name,
                    struct chela_error *err) {
    int64_t until = sim.now + LOCK_US;
    char full[160];
    struct transaction *by;
    snprintf(full, sizeof(full), "%s%s", kind, name);
    while ((by = holder_of(full)) && by != t) {
        if (sim.now >= until)
            return ch_fail(err, CHELA_EBUSY, "row %s is locked", full);
        sim_wait_for(locks, sim.now + 20 * SIM_MS);
        t->since = sim.now;
        look_after_clients();
    }
    if (by || nlocks == sizeof(locks) / sizeof(locks[0]))
        return 0;
    memcpy(locks[nlocks].name, full, sizeof(full));
    locks[nlocks++].by = t;
    return 0;
}

/* --- the order of events */

static struct numbered {
    char id[64];
    uint64_t number;
} numbers[4 * SIM_EVENTS];
static size_t nnumbers;
static uint64_t next_number;

static void assign_number(const char *id) {
    for (size_t i = 0; i < nnumbers; i++)
        if (strcmp(numbers[i].id, id) == 0) {
            return; /* ON CONFLICT DO NOTHING */
        }
    if (nnumbers == sizeof(numbers) / sizeof(numbers[0]))
        return;
    snprintf(numbers[nnumbers].id, sizeof(numbers[0].id), "%s", id);
    numbers[nnumbers++].number = ++next_number;
}

static uint64_t number_of(const char *id) {
    for (size_t i = 0; i < nnumbers; i++)
        if (strcmp(numbers[i].id, id) == 0)
            return numbers[i].number;
    return UINT64_MAX;
}

/* --- what takes effect */

struct row_state {
    uint64_t token, last;
};

static int on_row_state(const struct chela_store_session *s, void *user) {
    *(struct row_state *)user = (struct row_state){s->token, s->last};
    return 0;
}

static struct row_state state_of(const char *key) {
    struct row_state r = {0};
    struct chela_error ignored = {0};
    ch_store_memory.session(sim_store_db, key, on_row_state, &r, &ignored);
    return r;
}

static void apply_one(struct chela_store_change *c) {
    struct chela_error ignored = {0};
    ch_store_memory.commit(sim_store_db, c, 1, 0, &ignored);
}

/* The defects: see enum sim_defect. */

static void apply_late(void *arg) {
    struct chela_store_change *c = arg;
    const struct sim_node *node = &sim.nodes[c->token & 7];
    unsigned life = (unsigned)(c->token >> 3);
    c->token = 0;
    if (node->up && node->life == life)
        apply_one(c);
    else
        sim_note("the commit of %s never happens", c->id);
}

static void accept_early(const struct handle *h, struct chela_store_change *c) {
    struct chela_store_change *late = ch_memdup(c, sizeof(*c));
    late->id = ch_strdup(c->id);
    late->key = ch_strdup(c->key);
    late->data = ch_strndup(c->data, c->n);
    late->token = h->node->index | (uint64_t)h->node->life << 3;
    c->rc = 0;
    sim_at(sim.now + sim_between(SIM_MS, 40 * SIM_MS), apply_late, late);
}

static void append_unfenced(struct chela_store_change *c) {
    struct row_state is = state_of(c->key);
    struct chela_store_record *records = ch_alloc((c->nrecords + 1) * sizeof(*records));
    memcpy(records, c->records, c->nrecords * sizeof(*records));
    for (size_t i = 0; i < c->nrecords; i++) {
        records[i].seq = is.last + 1 + i;
        records[i].sum = ch_record_sum(&records[i]);
    }
    struct chela_store_change any = *c;
    any.token = is.token;
    any.records = records;
    apply_one(&any);
    c->rc = any.rc;
}

static void append_alone(struct chela_store_change *c) {
    struct chela_store_change alone = *c;
    alone.ntakes = 0;
    apply_one(&alone);
    c->rc = alone.rc;
}

static void mail_late(struct chela_store_change *c) {
    apply_one(c);
    for (size_t i = 0; c->rc == CHELA_EPERM && i < c->nsends; i++) {
        struct chela_store_change mail = {.kind = CHELA_STORE_INTENT,
                                          .id = c->sends[i].id,
                                          .key = c->key,
                                          .data = c->sends[i].data,
                                          .n = c->sends[i].n,
                                          .now = c->now};
        apply_one(&mail);
    }
}

static void apply(const struct handle *h, struct chela_store_change *c) {
    bool append = c->kind == CHELA_STORE_APPEND;
    if (sim.defect == SIM_EARLY_ACK && c->kind == CHELA_STORE_ACCEPT)
        accept_early(h, c);
    else if (sim.defect == SIM_NO_FENCE && append)
        append_unfenced(c);
    else if (sim.defect == SIM_KEPT_EVENT && append)
        append_alone(c);
    else if (sim.defect == SIM_LATE_MAIL && append)
        mail_late(c);
    else
        apply_one(c);
    /* a process that is dead cannot say that it was refused */
    if ((append || c->kind == CHELA_STORE_RENEW) && c->rc == CHELA_EPERM &&
        h->life == h->node->life)
        h->node->fenced++;
}

static const char *const kinds[] = {"append", "renew",  "release", "create",  "title",
                                    "delete", "accept", "settle",  "intent",  "receipt",
                                    "note",   "forget", "expire",  "keep"};

static void show(const struct chela_store_change *c) {
    if (!sim.trace || c->kind == CHELA_STORE_RENEW)
        return;
    sim_note("  store: %s %s%s%s", kinds[c->kind], c->key ? c->key : "", c->id ? " " : "",
             c->id ? c->id : "");
    for (size_t i = 0; i < c->nrecords; i++)
        sim_note("         %llu %s %.*s", (unsigned long long)c->records[i].seq,
                 ch_record_name(c->records[i].type), (int)CH_MIN(c->records[i].n, (size_t)900),
                 c->records[i].data);
    for (size_t i = 0; i < c->ntakes; i++)
        sim_note("         takes up %s", c->takes[i]);
    for (size_t i = 0; i < c->nsends; i++)
        sim_note("         outbox: %s %.*s", c->sends[i].id, (int)CH_MIN(c->sends[i].n, (size_t)90),
                 c->sends[i].data);
    if (c->rc)
        sim_note("         refused: %s", chela_error_text(c->rc));
}

/* Leases are in the time of the server. */
static int64_t server_time(const struct handle *h, int64_t theirs) {
    return is_server() ? theirs - h->node->skew / SIM_MS : theirs;
}

static void apply_all(const struct handle *h, struct chela_store_change *changes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct chela_store_change *c = &changes[i];
        int64_t until = c->until;
        if (c->kind == CHELA_STORE_RENEW)
            c->until = server_time(h, until);
        apply(h, c);
        c->until = until;
        show(c);
    }
}

/* A process may die while a transaction is on its way: before it, after it, or so that the
 * transaction arrives when the process is gone. */
struct last_words {
    struct handle *h;
    struct chela_store_change *changes;
    size_t n;
};

static void arrive_late(void *arg) {
    struct last_words *w = arg;
    sim_note("a transaction of %s arrives after its death", w->h->node->name);
    apply_all(w->h, w->changes, w->n);
    free(w);
}

static void may_die(struct handle *h, struct chela_store_change *changes, size_t n) {
    if (!sim_chance(sim.commit_dies))
        return;
    if (is_server() && changes && sim_chance(300)) {
        struct last_words *w = calloc(1, sizeof(*w));
        *w = (struct last_words){h, changes, n};
        sim_at(sim.now + sim_between(0, 3 * SIM_S), arrive_late, w);
    }
    sim_kill(h->node);
}

/* --- commits */

static int lock_change(struct transaction *t, const struct chela_store_change *c,
                       struct chela_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < c->ntakes; i++)
        rc = lock_row(t, "event ", c->takes[i], err);
    bool session = c->key && c->kind <= CHELA_STORE_DELETE;
    if (rc == 0 && session)
        rc = lock_row(t, "session ", c->key, err);
    if (rc == 0 && !session && c->id)
        rc = lock_row(t, c->kind == CHELA_STORE_RECEIPT ? "message " : "event ", c->id, err);
    if (rc == 0 && c->kind == CHELA_STORE_ACCEPT)
        assign_number(c->id);
    return rc;
}

/* One attempt. Rolled back: again. */
static int attempt(struct handle *h, struct chela_store_change *changes, size_t n, int64_t due,
                   bool *again, struct chela_error *err) {
    struct transaction t = {.node = h->node, .life = h->node->life, .since = sim.now};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = lock_change(&t, &changes[i], err);
    may_die(h, NULL, 0);
    if (rc == 0)
        rc = travel(h, due, err); /* the node hears of it, and says COMMIT */
    *again = t.rolled_back && sim.now < due;
    if (rc == 0 && t.rolled_back)
        rc = lost(err);
    if (rc == 0) {
        may_die(h, changes, n);
        apply_all(h, changes, n);
    }
    unlock(&t);
    return rc;
}

static int commit_postgres(struct handle *h, struct chela_store_change *changes, size_t n,
                           struct chela_error *err) {
    int64_t due = sim.now + ANSWER_US;
    bool again = true;
    int rc = travel(h, due, err);
    while (rc == 0 && again) {
        rc = attempt(h, changes, n, due, &again, err);
        if (again && rc < 0) {
            *err = (struct chela_error){0};
            rc = travel(h, due, err);
        }
    }
    if (rc < 0)
        return rc;
    may_die(h, NULL, 0);
    return travel(h, due, err); /* on failure the effect is unknown to the node */
}

static int commit_redis(struct handle *h, struct chela_store_change *changes, size_t n,
                        struct chela_error *err) {
    int64_t due = sim.now + ANSWER_US;
    int rc = travel(h, due, err);
    if (rc < 0)
        return rc;
    may_die(h, changes, n);
    apply_all(h, changes, n);
    may_die(h, NULL, 0);
    return travel(h, due, err);
}

static int commit_sqlite(struct handle *h, struct chela_store_change *changes, size_t n,
                         struct chela_error *err) {
    sim_sleep(latency(h->node));
    if (sim.now < h->node->broken)
        return ch_fail(err, sim_chance(500) ? CHELA_ELIMIT : CHELA_EIO, "the disk refuses");
    may_die(h, NULL, 0);
    apply_all(h, changes, n);
    may_die(h, NULL, 0);
    return 0;
}

static int sim_commit(struct chela_store_db *db, struct chela_store_change *changes, size_t n,
                      int sync, struct chela_error *err) {
    (void)sync;
    switch (sim.backend) {
    case SIM_POSTGRES:
        return commit_postgres(of(db), changes, n, err);
    case SIM_REDIS:
        return commit_redis(of(db), changes, n, err);
    case SIM_SQLITE:
        return commit_sqlite(of(db), changes, n, err);
    default:
        apply_all(of(db), changes, n);
        return 0;
    }
}

/* --- leases and reading */

struct row_reader {
    struct handle *h;
    chela_store_session_fn *fn;
    void *user;
};

static int on_row(const struct chela_store_session *s, void *user) {
    struct row_reader *r = user;
    struct chela_store_session row = *s;
    if (is_server())
        row.until += r->h->node->skew / SIM_MS;
    return r->fn(&row, r->user);
}

static int sim_open_session(struct chela_store_db *db, const struct chela_store_claim *claim,
                            chela_store_session_fn *fn, void *user, struct chela_error *err) {
    struct handle *h = of(db);
    struct row_reader r = {h, fn, user};
    struct chela_store_claim c = *claim;
    struct transaction t = {.node = h->node, .life = h->node->life};
    int64_t due = sim.now + ANSWER_US;
    int rc = travel(h, due, err);
    t.since = sim.now;
    if (rc == 0 && sim.backend == SIM_POSTGRES)
        rc = lock_row(&t, "session ", claim->key, err);
    if (rc < 0)
        return rc;
    if (sim.backend == SIM_SQLITE && sim.now < h->node->broken)
        return ch_fail(err, CHELA_EIO, "the disk refuses");
    c.now = server_time(h, claim->now);
    c.until = server_time(h, claim->until);
    rc = ch_store_memory.open_session(sim_store_db, &c, on_row, &r, err);
    sim.takeovers += rc == 0 && claim->steal;
    sim_note("  store: open %s%s: %s", claim->key, claim->steal ? ", taking it over" : "",
             rc ? chela_error_text(rc) : "ok");
    unlock(&t);
    may_die(h, NULL, 0);
    struct chela_error why = {0};
    return travel(h, due, &why) < 0 ? (*err = why, why.code) : rc;
}

static int sim_session(struct chela_store_db *db, const char *key, chela_store_session_fn *fn,
                       void *user, struct chela_error *err) {
    struct row_reader r = {of(db), fn, user};
    int rc = travel(of(db), sim.now + ANSWER_US, err);
    return rc < 0 ? rc : ch_store_memory.session(sim_store_db, key, on_row, &r, err);
}

static int sim_list(struct chela_store_db *db, const struct chela_store_filter *f,
                    chela_store_session_fn *fn, void *user, struct chela_error *err) {
    struct row_reader r = {of(db), fn, user};
    int rc = travel(of(db), sim.now + ANSWER_US, err);
    return rc < 0 ? rc : ch_store_memory.list(sim_store_db, f, on_row, &r, err);
}

static int sim_records(struct chela_store_db *db, const char *key, uint64_t from,
                       chela_store_record_fn *fn, void *user, struct chela_error *err) {
    int rc = travel(of(db), sim.now + ANSWER_US, err);
    return rc < 0 ? rc : ch_store_memory.records(sim_store_db, key, from, fn, user, err);
}

/* Items in the order of the backend. */
struct item_list {
    struct chela_store_item list[4 * SIM_EVENTS];
    size_t n;
};

static int on_item(const struct chela_store_item *i, void *user) {
    struct item_list *l = user;
    if (l->n < sizeof(l->list) / sizeof(l->list[0]))
        l->list[l->n++] = *i; /* its texts live as long as nothing is committed */
    return 0;
}

static int by_number(const void *a, const void *b) {
    uint64_t x = number_of(((const struct chela_store_item *)a)->id),
             y = number_of(((const struct chela_store_item *)b)->id);
    return x < y ? -1 : x > y;
}

static void pass_items(struct item_list *l, size_t limit, chela_store_item_fn *fn, void *user) {
    if (sim.defect == SIM_UNORDERED)
        for (size_t i = l->n; i > 1; i--) {
            size_t k = sim_random(i);
            struct chela_store_item x = l->list[i - 1];
            l->list[i - 1] = l->list[k];
            l->list[k] = x;
        }
    else if (sim.backend == SIM_POSTGRES)
        qsort(l->list, l->n, sizeof(l->list[0]), by_number);
    for (size_t i = 0; i < l->n && i < limit; i++)
        if (fn(&l->list[i], user))
            break;
}

static int sim_items(struct chela_store_db *db, enum chela_store_box box, chela_store_item_fn *fn,
                     void *user, struct chela_error *err) {
    int rc = travel(of(db), sim.now + ANSWER_US, err);
    if (rc < 0 || box != CHELA_STORE_INBOX)
        return rc < 0 ? rc : ch_store_memory.items(sim_store_db, box, fn, user, err);
    struct item_list *l = ch_alloc(sizeof(*l));
    ch_store_memory.items(sim_store_db, box, on_item, l, err);
    pass_items(l, SIZE_MAX, fn, user);
    ch_free(l);
    return 0;
}

static int sim_waiting(struct chela_store_db *db, const char *key, size_t limit,
                       chela_store_item_fn *fn, void *user, struct chela_error *err) {
    int rc = travel(of(db), sim.now + ANSWER_US, err);
    if (rc < 0)
        return rc;
    struct item_list *l = ch_alloc(sizeof(*l));
    ch_store_memory.waiting(sim_store_db, key, SIZE_MAX, on_item, l, err);
    pass_items(l, limit, fn, user);
    ch_free(l);
    return 0;
}

static int sim_kept(struct chela_store_db *db, const char *id, chela_store_item_fn *fn, void *user,
                    struct chela_error *err) {
    int rc = travel(of(db), sim.now + ANSWER_US, err);
    return rc < 0 ? rc : ch_store_memory.kept(sim_store_db, id, fn, user, err);
}

/* --- opening */

static int sim_open(const char *target, int read_only, struct chela_store_db **out,
                    const char **note, struct chela_error *err) {
    struct handle *h = ch_alloc(sizeof(*h));
    (void)target, (void)read_only, (void)note, (void)err;
    h->node = sim_here();
    h->life = h->node->life;
    *out = (struct chela_store_db *)(void *)h;
    return 0;
}

static void sim_close(struct chela_store_db *db) {
    ch_free(of(db));
}

static struct chela_store_ops ops = {
    .name = "sim",
    .open = sim_open,
    .close = sim_close,
    .commit = sim_commit,
    .open_session = sim_open_session,
    .session = sim_session,
    .list = sim_list,
    .records = sim_records,
    .items = sim_items,
    .waiting = sim_waiting,
    .kept = sim_kept,
};

/* Takes the place of the loader: the store's module is the simulated one. */
int __wrap_ch_module_load(const char *name, const char *kind, const char *search_path,
                          const void **out, struct chela_error *err);
int __wrap_ch_module_load(const char *name, const char *kind, const char *search_path,
                          const void **out, struct chela_error *err) {
    (void)search_path;
    if (strcmp(kind, "store") != 0)
        return ch_fail(err, CHELA_EMODULE, "there is no module %s here", name);
    *out = &ops;
    return 0;
}

void sim_store_begin(void) {
    static const unsigned flags[] = {[SIM_MEMORY] = CHELA_STORE_INSTANT,
                                     [SIM_POSTGRES] = CHELA_STORE_LAZY | CHELA_STORE_SHARED,
                                     [SIM_REDIS] = CHELA_STORE_SHARED,
                                     [SIM_SQLITE] = 0};
    struct chela_error ignored = {0};
    const char *note;
    ops.flags = flags[sim.backend];
    ch_store_memory.open("", 0, &sim_store_db, &note, &ignored);
}
