/* test_writer.c -- one thread that writes for all sessions: order, groups,
 * waiting for what was closed, and losing a lease. */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/journal/journal.h"
#include "base/mem.h"
#include "io/loop.h"
#include "store/owner.h"
#include "store/store.h"
#include "store/writer.h"
#include "support/modules.h"

static char dir[] = "/tmp/chela-writer-XXXXXX";
static char url[80];
static char *modules;

struct side { /* one user of the journal */
    struct ch_log *log;
    bool opened, lost, done;
    int rc;
    uint64_t last, committed, wanted;
    unsigned folded, told;
};

static int fold(const struct chela_store_record *r, void *past, struct chela_error *err) {
    (void)r, (void)err;
    ++*(unsigned *)past;
    return 0;
}

static void on_opened(const struct ch_log_head *head, void *past, const struct chela_error *err,
                      void *user) {
    struct side *s = user;
    s->folded = *(unsigned *)past;
    ch_free(past);
    s->opened = s->done = true;
    s->rc = err ? err->code : 0;
    s->last = head->last;
}

static void on_committed(uint64_t seq, void *user) {
    struct side *s = user;
    assert_true(seq > s->committed);
    s->committed = seq;
    s->told++;
    s->done = seq >= s->wanted;
}

static void on_lost(const struct chela_error *err, void *user) {
    struct side *s = user;
    s->lost = s->done = true;
    s->rc = err->code;
}

static const struct ch_log_handler handler = {fold, on_opened, ch_free, on_committed, on_lost};

struct rig {
    struct ch_loop *loop;
    chela_store *store;
    struct ch_journal *j;
};

static void rig_open_at(struct rig *r, const struct ch_clock *clock) {
    struct chela_store_opts opts = CHELA_STORE_OPTS(.module_path = modules);
    struct chela_error err = {0};
    if (chela_store_open(url, &opts, &r->store, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(ch_loop_new(NULL, clock, &r->loop, &err), 0);
    r->j = ch_writer_new(r->loop, r->store);
}

static void rig_open(struct rig *r) {
    rig_open_at(r, NULL);
}

static void rig_close(struct rig *r) {
    r->j->ops->shut(r->j);
    ch_loop_close(r->loop, NULL, NULL);
    chela_store_close(r->store);
}

static void side_open(struct rig *r, struct side *s, const char *key) {
    *s = (struct side){0};
    s->log = r->j->ops->open(r->j, key, "main", &handler, ch_alloc(sizeof(unsigned)), s);
    assert_false(s->opened); /* never from inside the call */
}

static void side_wait(struct rig *r, struct side *s) {
    assert_int_equal(ch_loop_run(r->loop, &s->done), 0);
    s->done = false;
}

static uint64_t put(struct rig *r, struct side *s, enum ch_sync sync) {
    return r->j->ops->append(s->log, CH_REC_MESSAGE, CH_SV("{\"a\":1}"), sync);
}

static void test_appending(void **state) {
    struct rig r;
    struct side s;
    (void)state;
    rig_open(&r);
    side_open(&r, &s, "one");
    side_wait(&r, &s);
    assert_int_equal(s.rc, 0);
    assert_int_equal(put(&r, &s, CH_SYNC_LATER), 1);
    assert_int_equal(put(&r, &s, CH_SYNC_LATER), 2);
    s.wanted = put(&r, &s, CH_SYNC_DISK);
    side_wait(&r, &s);
    assert_int_equal(s.committed, 3);
    assert_int_equal(s.told, 1); /* one transaction */
    put(&r, &s, CH_SYNC_LATER);  /* is written all the same when it is closed */
    r.j->ops->close(s.log);
    side_open(&r, &s, "one"); /* waits for that */
    side_wait(&r, &s);
    assert_int_equal(s.rc, 0);
    assert_int_equal(s.folded, 4);
    assert_int_equal(s.last, 4);
    r.j->ops->close(s.log);
    rig_close(&r);
}

/* What many sessions append in one iteration is one transaction. */
static void test_groups(void **state) {
    enum { N = 50 };
    struct rig r;
    struct side s[N];
    (void)state;
    rig_open(&r);
    for (int i = 0; i < N; i++) {
        char key[16];
        snprintf(key, sizeof(key), "g%d", i);
        side_open(&r, &s[i], key);
    }
    for (int i = 0; i < N; i++)
        if (!s[i].opened)
            side_wait(&r, &s[i]);
    for (int i = 0; i < N; i++) {
        s[i].done = false;
        s[i].wanted = put(&r, &s[i], CH_SYNC_COMMIT);
    }
    side_wait(&r, &s[0]);
    for (int i = 0; i < N; i++)
        assert_int_equal(s[i].committed, 1); /* all at once */
    for (int i = 0; i < N; i++)
        r.j->ops->close(s[i].log);
    rig_close(&r);
}

/* A log that needs no job rests while others are written. A message, an event or the end of the
 * log brings it back. */
static void on_sent(int rc, const struct chela_error *err, void *user) {
    struct side *s = user;
    assert_null(err);
    s->rc = rc;
    s->done = true;
}

static void rest(struct rig *r, struct side *other) {
    other->wanted = put(r, other, CH_SYNC_COMMIT);
    side_wait(r, other);
}

static void test_logs_that_rest(void **state) {
    struct rig r;
    struct side s, other, waits;
    struct chela_store_change event = {
        .kind = CHELA_STORE_ACCEPT, .id = "ev_rest", .key = "rests", .data = "{}", .n = 2};
    (void)state;
    rig_open(&r);
    side_open(&r, &s, "rests");
    side_wait(&r, &s);
    side_open(&r, &other, "others");
    side_wait(&r, &other);
    rest(&r, &other);
    r.j->ops->change(r.j, &event, CH_SYNC_COMMIT, on_sent, &s);
    side_wait(&r, &s);
    s.wanted = put(&r, &s, CH_SYNC_COMMIT);
    side_wait(&r, &s);

    rest(&r, &other);
    s.committed = 0; /* no record is added */
    r.j->ops->take(s.log, "ev_rest");
    side_wait(&r, &s);
    assert_false(s.lost);
    rest(&r, &other);
    s.committed = 0;
    s.rc = 1;
    r.j->ops->send(s.log, "mail", CH_SV("{}"), CH_SYNC_COMMIT, on_sent, &s);
    side_wait(&r, &s);
    assert_int_equal(s.rc, 0);
    rest(&r, &other);
    r.j->ops->close(s.log);
    side_open(&r, &waits, "rests");
    side_wait(&r, &waits);
    assert_int_equal(waits.rc, 0);
    assert_int_equal(waits.folded, 1);
    r.j->ops->close(waits.log);
    r.j->ops->close(other.log);
    rig_close(&r);
}

static int64_t read_ms(void *user) {
    return *(int64_t *)user;
}

/* Records that no code waits for share a transaction: while the clock stands still, a second
 * transaction starts only for a record that must be committed now. */
static void test_pauses(void **state) {
    int64_t ms = 1000;
    const struct ch_clock clock = {read_ms, read_ms, &ms};
    struct rig r;
    struct side s;
    (void)state;
    rig_open_at(&r, &clock);
    side_open(&r, &s, "pauses");
    side_wait(&r, &s);
    s.wanted = put(&r, &s, CH_SYNC_SOON); /* no transaction ended just now */
    side_wait(&r, &s);
    assert_int_equal(s.committed, 1);

    put(&r, &s, CH_SYNC_SOON);
    assert_int_equal(ch_loop_run(r.loop, &s.done), CHELA_ESTATE); /* only time can bring it */
    assert_int_equal(s.committed, 1);
    s.wanted = put(&r, &s, CH_SYNC_SOON);
    ms += 10;
    side_wait(&r, &s);
    assert_int_equal(s.committed, 3);
    assert_int_equal(s.told, 2);

    put(&r, &s, CH_SYNC_SOON);
    s.wanted = put(&r, &s, CH_SYNC_COMMIT);
    side_wait(&r, &s);
    assert_int_equal(s.committed, 5);
    assert_int_equal(s.told, 3);

    put(&r, &s, CH_SYNC_SOON);
    r.j->ops->close(s.log); /* does not wait for the clock */
    side_open(&r, &s, "pauses");
    side_wait(&r, &s);
    assert_int_equal(s.last, 6);
    r.j->ops->close(s.log);
    rig_close(&r);
}

static void test_one_writer(void **state) {
    struct rig a, b;
    struct side one, two;
    (void)state;
    rig_open(&a);
    rig_open(&b);
    side_open(&a, &one, "w");
    side_wait(&a, &one);
    side_open(&b, &two, "w");
    side_wait(&b, &two);
    assert_int_equal(two.rc, CHELA_EBUSY);
    b.j->ops->close(two.log);
    a.j->ops->close(one.log);
    rig_close(&a);
    side_open(&b, &two, "w");
    side_wait(&b, &two);
    assert_int_equal(two.rc, 0);
    b.j->ops->close(two.log);
    rig_close(&b);
}

static int ignore_row(const struct chela_store_session *row, void *user) {
    *(uint64_t *)user = row->token;
    return 0;
}

/* Another process takes the lease: whatever we append from then on is lost. */
static void test_a_lease_that_was_taken(void **state) {
    struct rig r;
    struct side s;
    uint64_t token = 0;
    struct chela_error err = {0};
    (void)state;
    rig_open(&r);
    side_open(&r, &s, "t");
    side_wait(&r, &s);
    chela_store_session(r.store, "t", ignore_row, &token, &err);
    struct chela_store_claim thief = {.key = "t",
                                      .agent = "",
                                      .owner = "somebody else",
                                      .now = 1,
                                      .until = ch_store_now() + 6000,
                                      .steal = token};
    assert_int_equal(ch_store_open_session(r.store, &thief, ignore_row, &token, &err), 0);
    s.wanted = put(&r, &s, CH_SYNC_DISK);
    side_wait(&r, &s);
    assert_true(s.lost);
    assert_int_equal(s.rc, CHELA_EPERM);
    put(&r, &s, CH_SYNC_DISK); /* no effect, and no second word */
    r.j->ops->close(s.log);
    side_open(&r, &s, "t");
    side_wait(&r, &s);
    assert_int_equal(s.rc, CHELA_EBUSY);
    r.j->ops->close(s.log);
    rig_close(&r);
}

static char *owner_here(void) {
    CH_BUF_AUTO owner = {0};
    ch_owner_make(&owner);
    return ch_buf_take(&owner);
}

/* A process of this machine that is stopped; owner: what its leases say. */
static pid_t stopped_process(char *owner, size_t size) {
    int tube[2];
    assert_int_equal(pipe(tube), 0);
    pid_t pid = fork();
    if (pid == 0) {
        CH_AUTOFREE char *mine = owner_here();
        if (write(tube[1], mine, strlen(mine)) < 0)
            _exit(1);
        close(tube[1]);
        for (;;)
            raise(SIGSTOP);
    }
    close(tube[1]);
    ssize_t n = read(tube[0], owner, size - 1);
    close(tube[0]);
    assert_true(n > 0);
    owner[n] = '\0';
    int status;
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    return pid;
}

/* Whose lease may be taken when it says that it ends then: clocks are set, and
 * processes on this machine can be looked at. */
static void test_clocks_that_jump(void **state) {
    enum { HOUR = 3600 * 1000 };
    CH_AUTOFREE char *here = owner_here();
    char hung[256];
    pid_t pid = stopped_process(hung, sizeof(hung));
    static const char dead[] = "host boot space 1 2 3";
    const struct {
        const char *name, *owner;
        int64_t until; /* from now */
        int rc;
    } cases[] = {
        {"far away, not over", dead, 6000, CHELA_EBUSY},
        {"far away, over", dead, -1, 0},
        {"far away, over for long", dead, -HOUR, 0},
        {"far away, our clock was set back", dead, HOUR, 0},
        {"lives here, not over", here, 6000, CHELA_EBUSY},
        {"lives here, our clock was set forward", here, -HOUR, CHELA_EBUSY},
        {"lives here, our clock was set back", here, HOUR, CHELA_EBUSY},
        {"is stopped here, not over", hung, 6000, CHELA_EBUSY},
        {"is stopped here, over", hung, -1, 0},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct rig r;
        struct side s;
        uint64_t token = 0;
        struct chela_error err = {0};
        char key[16];
        snprintf(key, sizeof(key), "clock%zu", i);
        rig_open(&r);
        struct chela_store_claim other = {.key = key,
                                          .agent = "",
                                          .owner = cases[i].owner,
                                          .now = 1,
                                          .until = ch_store_now() + cases[i].until,
                                          .create = 1};
        assert_int_equal(ch_store_open_session(r.store, &other, ignore_row, &token, &err), 0);
        side_open(&r, &s, key);
        side_wait(&r, &s);
        if (s.rc != cases[i].rc)
            fail_msg("%s: %d", cases[i].name, s.rc);
        if (cases[i].owner == here)
            assert_int_equal(chela_store_delete(r.store, key, &err), CHELA_EBUSY);
        r.j->ops->close(s.log);
        rig_close(&r);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* A process that lives and does not renew its lease loses it, whatever the clock says. */
static void test_a_lease_that_nobody_renews(void **state) {
    struct rig r;
    struct side s;
    uint64_t token = 0;
    struct chela_error err = {0};
    CH_AUTOFREE char *here = owner_here();
    struct chela_store_claim other = {.key = "hung",
                                      .agent = "",
                                      .owner = here,
                                      .now = 1,
                                      .until = ch_store_now() + 3600 * 1000,
                                      .create = 1};
    int tries = 0;
    (void)state;
    rig_open(&r);
    assert_int_equal(ch_store_open_session(r.store, &other, ignore_row, &token, &err), 0);
    for (s.rc = CHELA_EBUSY; s.rc == CHELA_EBUSY && tries < 120; tries++) {
        if (tries)
            usleep(500 * 1000);
        side_open(&r, &s, "hung");
        side_wait(&r, &s);
        r.j->ops->close(s.log);
    }
    assert_int_equal(s.rc, 0);
    assert_true(tries > 2);
    rig_close(&r);
}

static int on_failed_row(const struct chela_store_session *s, void *user) {
    (void)user;
    assert_true(ch_owner_serves(s->owner)); /* a gateway recognises the run, and resumes it */
    assert_true(s->until <= ch_store_now());
    return 0;
}

static void test_a_log_that_failed(void **state) {
    struct rig r;
    struct side s;
    struct chela_error err = {0};
    (void)state;
    rig_open(&r);
    r.j->ops->serve(r.j);
    side_open(&r, &s, "failed");
    side_wait(&r, &s);
    r.j->ops->take(s.log, "no such event"); /* the store refuses the records */
    put(&r, &s, CH_SYNC_COMMIT);
    side_wait(&r, &s);
    assert_true(s.lost);
    assert_int_equal(s.rc, CHELA_EEXIST);
    r.j->ops->close(s.log);
    side_open(&r, &s, "other"); /* in the transaction before: the lease has ended */
    side_wait(&r, &s);
    s.wanted = put(&r, &s, CH_SYNC_COMMIT);
    side_wait(&r, &s);
    assert_int_equal(chela_store_session(r.store, "failed", on_failed_row, NULL, &err), 0);
    r.j->ops->close(s.log);
    side_open(&r, &s, "failed"); /* by the same process, at once */
    side_wait(&r, &s);
    assert_int_equal(s.rc, 0);
    r.j->ops->close(s.log);
    rig_close(&r);
}

static void test_closed_before_it_was_opened(void **state) {
    struct rig r;
    struct side s;
    (void)state;
    rig_open(&r);
    side_open(&r, &s, "c");
    r.j->ops->close(s.log);
    rig_close(&r);
    assert_false(s.opened);
    rig_open(&r);
    side_open(&r, &s, "c");
    side_wait(&r, &s);
    assert_int_equal(s.rc, 0);
    r.j->ops->close(s.log);
    rig_close(&r);
}

static unsigned changes_done;
static void on_change(int rc, const struct chela_error *err, void *user) {
    assert_null(err);
    *(int *)user = rc;
    changes_done++;
}

/* The inbox takes an event once; the outbox has one receipt. */
static void test_boxes(void **state) {
    struct rig r;
    int first = 1, second = 1;
    (void)state;
    rig_open(&r);
    struct chela_store_change event = {
        .kind = CHELA_STORE_ACCEPT, .id = "ev_1", .key = "chat", .data = "{}", .n = 2};
    r.j->ops->change(r.j, &event, CH_SYNC_DISK, on_change, &first);
    r.j->ops->change(r.j, &event, CH_SYNC_DISK, on_change, &second);
    while (changes_done < 2)
        ch_loop_tick(r.loop);
    assert_int_equal(first, 0);
    assert_int_equal(second, CHELA_EEXIST);
    rig_close(&r);
}

/* --- a store in which one session's row makes trouble */

static const struct chela_store_ops *real;
static int trouble;      /* what a commit with a change of "bad..." returns, as a whole */
static unsigned locked;  /* so many commits find its row locked */
static unsigned commits, largest, worlds;

static int troubled_commit(struct chela_store_db *db, struct chela_store_change *changes, size_t n,
                           int sync, struct chela_error *err) {
    struct chela_store_change *bad = NULL, kept[64];
    size_t others = 0;
    commits++;
    for (size_t i = 0; i < n; i++)
        if (changes[i].key && strncmp(changes[i].key, "bad", 3) == 0)
            bad = &changes[i];
    largest = CH_MAX(largest, (unsigned)n);
    if (bad && trouble) {
        snprintf(err->message, sizeof(err->message), "the row of bad is in trouble");
        return err->code = trouble;
    }
    if (!bad || !locked)
        return real->commit(db, changes, n, sync, err);
    locked--;
    assert_true(n <= CH_LEN(kept));
    for (size_t i = 0; i < n; i++)
        if (&changes[i] != bad)
            kept[others++] = changes[i];
    int rc = others ? real->commit(db, kept, others, sync, err) : 0;
    bad->rc = CHELA_ETIMEOUT;
    return rc;
}

static void open_troubled(struct rig *r, struct side *s, size_t n) {
    static struct chela_store_ops ops;
    rig_open(r);
    real = r->store->ops;
    ops = *real;
    ops.commit = troubled_commit;
    trouble = 0;
    locked = commits = largest = 0;
    worlds++; /* a session that failed keeps its owner for a while */
    for (size_t i = 0; i < n; i++) {
        char key[32];
        snprintf(key, sizeof(key), "%s%u-%zu", i ? "good" : "bad", worlds, i);
        side_open(r, &s[i], key);
        side_wait(r, &s[i]);
    }
    r->store->ops = &ops;
}

static void close_troubled(struct rig *r, struct side *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        r->j->ops->close(s[i].log);
    r->store->ops = real;
    rig_close(r);
}

/* The group fails because of one of them, which alone is lost. */
static void test_one_fails_alone(void **state) {
    enum { N = 8 };
    struct rig r;
    struct side s[N];
    (void)state;
    open_troubled(&r, s, N);
    trouble = CHELA_ELIMIT;
    for (int i = 0; i < N; i++)
        s[i].wanted = put(&r, &s[i], CH_SYNC_DISK);
    for (int i = 0; i < N; i++)
        if (!s[i].committed && !s[i].lost)
            side_wait(&r, &s[i]);
    assert_true(largest >= N); /* they were one group */
    assert_true(s[0].lost);
    assert_int_equal(s[0].rc, CHELA_ELIMIT);
    for (int i = 1; i < N; i++) {
        assert_false(s[i].lost);
        assert_int_equal(s[i].committed, s[i].wanted);
    }
    close_troubled(&r, s, N);
}

/* A locked row keeps its own session waiting, and nobody else. */
static void test_a_locked_row(void **state) {
    enum { N = 8 };
    struct rig r;
    struct side s[N];
    (void)state;
    open_troubled(&r, s, N);
    locked = 3;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++)
            s[i].wanted = put(&r, &s[i], CH_SYNC_DISK);
        for (int i = 1; i < N; i++)
            if (s[i].committed < s[i].wanted)
                side_wait(&r, &s[i]);
    }
    assert_true(locked > 0);
    assert_int_equal(s[0].committed, 0);
    s[0].done = false;
    while (s[0].committed < s[0].wanted)
        side_wait(&r, &s[0]);
    assert_int_equal(s[0].committed, 2); /* in order, and nothing lost */
    assert_false(s[0].lost);
    close_troubled(&r, s, N);
}

/* The writer ends while a row is locked. */
static void test_ending_with_a_locked_row(void **state) {
    struct rig r;
    struct side s[2];
    (void)state;
    open_troubled(&r, s, 2);
    locked = 1000;
    s[0].wanted = put(&r, &s[0], CH_SYNC_DISK);
    s[1].wanted = put(&r, &s[1], CH_SYNC_DISK);
    side_wait(&r, &s[1]);
    r.j->ops->close(s[1].log);
    r.j->ops->close(s[0].log);
    r.j->ops->shut(r.j);
    r.store->ops = real;
    ch_loop_close(r.loop, NULL, NULL);
    chela_store_close(r.store);
}

/* The writer ends while the server is gone: a call is retried for long, so there is only one. */
static void test_ending_without_a_server(void **state) {
    struct rig r;
    struct side s[2];
    (void)state;
    open_troubled(&r, s, 2);
    trouble = CHELA_ENET;
    put(&r, &s[0], CH_SYNC_DISK);
    r.j->ops->close(s[1].log);
    r.j->ops->close(s[0].log);
    r.j->ops->shut(r.j);
    assert_int_equal(commits, 1);
    r.store->ops = real;
    ch_loop_close(r.loop, NULL, NULL);
    chela_store_close(r.store);
}

/* --- a server that does not answer */

static struct {
    atomic_bool silent; /* calls wait */
    atomic_bool fails;  /* one of them ends nevertheless */
    atomic_int rc;      /* the outcome of a call; 0: the store's */
    atomic_uint calls;
    bool read;         /* records were read */
    unsigned released; /* sessions, after that */
} server;

static int server_wait(struct chela_error *err) {
    atomic_fetch_add(&server.calls, 1);
    while (atomic_load(&server.silent) && !atomic_exchange(&server.fails, false))
        poll(NULL, 0, 1);
    return err->code = atomic_load(&server.rc);
}

static int silent_list(struct chela_store_db *db, const struct chela_store_filter *filter,
                       chela_store_session_fn *fn, void *user, struct chela_error *err) {
    int rc = server_wait(err);
    return rc < 0 ? rc : real->list(db, filter, fn, user, err);
}

static int silent_open(struct chela_store_db *db, const struct chela_store_claim *claim,
                       chela_store_session_fn *fn, void *user, struct chela_error *err) {
    int rc = server_wait(err);
    return rc < 0 ? rc : real->open_session(db, claim, fn, user, err);
}

static int silent_records(struct chela_store_db *db, const char *key, uint64_t from,
                          chela_store_record_fn *fn, void *user, struct chela_error *err) {
    int rc = server_wait(err);
    server.read = true;
    return rc < 0 ? rc : real->records(db, key, from, fn, user, err);
}

static int counted_commit(struct chela_store_db *db, struct chela_store_change *changes, size_t n,
                          int sync, struct chela_error *err) {
    for (size_t i = 0; i < n; i++)
        server.released += server.read && changes[i].until == CH_LEASE_ENDED;
    return real->commit(db, changes, n, sync, err);
}

static void open_silent(struct rig *r, struct chela_store_ops *ops) {
    rig_open(r);
    real = r->store->ops;
    *ops = *real;
    r->store->ops = ops;
    atomic_store(&server.calls, 0);
    atomic_store(&server.rc, CHELA_ENET);
    atomic_store(&server.silent, true);
}

static void close_silent(struct rig *r) {
    r->store->ops = real;
    rig_close(r);
}

static void wait_count(atomic_uint *count, unsigned n) {
    while (atomic_load(count) < n)
        poll(NULL, 0, 1);
}

/* Waits until so many calls of the store wait. */
static void wait_for(struct rig *r, unsigned n) {
    for (unsigned waits = 0; waits < n; poll(NULL, 0, 1)) {
        pthread_mutex_lock(&r->store->lock);
        waits = r->store->waits;
        pthread_mutex_unlock(&r->store->lock);
    }
}

static void *read_store(void *store) {
    uint64_t token;
    return (void *)(intptr_t)chela_store_list(store, NULL, ignore_row, &token, NULL);
}

/* One call at a time waits for the server. Readings that wait fail with the call, also if a writer
 * tries next; later ones fail at once. The first answer ends this. */
static void test_readings_without_a_server(void **state) {
    enum { N = 6 };
    static struct chela_store_ops ops;
    struct rig r;
    struct side s;
    pthread_t t[N];
    void *rc;
    (void)state;
    open_silent(&r, &ops);
    ops.list = silent_list;
    ops.open_session = silent_open;
    assert_int_equal(pthread_create(&t[0], NULL, read_store, r.store), 0);
    wait_count(&server.calls, 1);
    side_open(&r, &s, "a0");
    wait_for(&r, 1);
    for (int i = 1; i < N; i++)
        assert_int_equal(pthread_create(&t[i], NULL, read_store, r.store), 0);
    wait_for(&r, N);
    atomic_store(&server.fails, true);
    for (int i = 0; i < N; i++) {
        pthread_join(t[i], &rc);
        assert_int_equal((intptr_t)rc, CHELA_ENET);
    }
    wait_count(&server.calls, 2); /* the writer tries */
    assert_int_equal((intptr_t)read_store(r.store), CHELA_ENET);
    assert_int_equal(atomic_load(&server.calls), 2);
    atomic_store(&server.rc, 0);
    atomic_store(&server.silent, false);
    side_wait(&r, &s);
    assert_int_equal(s.rc, 0);
    assert_int_equal((intptr_t)read_store(r.store), 0);
    r.j->ops->close(s.log);
    close_silent(&r);
}

/* Sessions that wait to be opened do not wait for the server one after the other. */
static void test_openings_without_a_server(void **state) {
    enum { N = 4 };
    static struct chela_store_ops ops;
    struct rig r;
    struct side s[N];
    (void)state;
    open_silent(&r, &ops);
    ops.open_session = silent_open;
    for (int i = 0; i < N; i++)
        side_open(&r, &s[i], (const char *[]){"a1", "a2", "a3", "a4"}[i]);
    wait_count(&server.calls, 1);
    atomic_store(&server.silent, false);
    for (int i = 0; i < N; i++) {
        if (!s[i].opened)
            side_wait(&r, &s[i]);
        assert_int_equal(s[i].rc, CHELA_ENET);
        r.j->ops->close(s[i].log);
    }
    assert_int_equal(atomic_load(&server.calls), 1);
    atomic_store(&server.rc, 0);
    poll(NULL, 0, 5); /* the clock moves on */
    side_open(&r, &s[0], "a1");
    side_wait(&r, &s[0]);
    assert_int_equal(s[0].rc, 0);
    s[0].wanted = put(&r, &s[0], CH_SYNC_DISK);
    side_wait(&r, &s[0]);

    /* The server goes between the claim and the reading: the lease expires. */
    ops.open_session = real->open_session;
    ops.records = silent_records;
    ops.commit = counted_commit;
    atomic_store(&server.rc, CHELA_ENET);
    r.j->ops->close(s[0].log);
    side_open(&r, &s[0], "a1");
    side_wait(&r, &s[0]);
    assert_int_equal(s[0].rc, CHELA_ENET);
    assert_int_equal(server.released, 0);
    r.j->ops->close(s[0].log);
    close_silent(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_appending),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_logs_that_rest),
        cmocka_unit_test(test_pauses),
        cmocka_unit_test(test_one_writer),
        cmocka_unit_test(test_a_lease_that_was_taken),
        cmocka_unit_test(test_clocks_that_jump),
        cmocka_unit_test(test_a_lease_that_nobody_renews),
        cmocka_unit_test(test_a_log_that_failed),
        cmocka_unit_test(test_closed_before_it_was_opened),
        cmocka_unit_test(test_boxes),
        cmocka_unit_test(test_one_fails_alone),
        cmocka_unit_test(test_a_locked_row),
        cmocka_unit_test(test_ending_with_a_locked_row),
        cmocka_unit_test(test_ending_without_a_server),
        cmocka_unit_test(test_readings_without_a_server),
        cmocka_unit_test(test_openings_without_a_server),
    };
    static const char *const ends[] = {"", "-wal", "-shm"};
    if (!mkdtemp(dir))
        return 1;
    modules = modules_dir();
    snprintf(url, sizeof(url), "sqlite:%s/w.db", dir);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < CH_LEN(ends); i++) {
        char name[96];
        snprintf(name, sizeof(name), "%s/w.db%s", dir, ends[i]);
        unlink(name);
    }
    rmdir(dir);
    ch_free(modules);
    return failed;
}
