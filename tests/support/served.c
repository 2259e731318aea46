/* served.c -- see served.h. */
#include "support/served.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "store/store.h"
#include "store/writer.h"

static const struct served *served;

static chela_store *open_at(const char *where, int *rc, struct chela_error *err) {
    struct chela_store_opts opts = CHELA_STORE_OPTS(.module_path = served->module_path);
    chela_store *s = NULL;
    *err = (struct chela_error){0};
    *rc = chela_store_open(where, &opts, &s, err);
    return s;
}

static chela_store *must_open(const char *where) {
    struct chela_error err;
    int rc;
    chela_store *s = open_at(where, &rc, &err);
    if (rc < 0)
        fail_msg("%s", err.message);
    return s;
}

static const char *url(void) {
    return served->url_at(served->port);
}

/* --- one session, watched -------------------------------------------------------- */

static int keep_token(const struct chela_store_session *row, void *user) {
    *(uint64_t *)user = row->token;
    return 0;
}

static int keep_last(const struct chela_store_session *row, void *user) {
    *(uint64_t *)user = row->last;
    return 0;
}

static int try_claim(chela_store *s, const char *owner, uint64_t *token,
                     struct chela_error *err) {
    int64_t now = ch_store_now();
    struct chela_store_claim c = {.key = "a", .agent = "", .owner = owner, .now = now,
                                  .until = now + 30000, .create = 1};
    *err = (struct chela_error){0};
    return ch_store_open_session(s, &c, keep_token, token, err);
}

static uint64_t claim(chela_store *s) {
    struct chela_error err;
    uint64_t token = 0;
    if (try_claim(s, "me", &token, &err) < 0)
        fail_msg("%s", err.message);
    return token;
}

static int append(chela_store *s, const char *key, uint64_t token, uint64_t seq, int *own,
                  struct chela_error *err) {
    struct chela_store_record r = {.seq = seq, .type = 2, .ts = 1, .data = "{}", .n = 2};
    r.sum = ch_record_sum(&r);
    struct chela_store_change c = {.kind = CHELA_STORE_APPEND, .key = key, .token = token,
                                   .now = 1, .records = &r, .nrecords = 1, .head.turns = 1};
    *err = (struct chela_error){0};
    int rc = ch_store_commit(s, &c, 1, true, err);
    *own = c.rc;
    return rc;
}

static int count_record(const struct chela_store_record *r, void *user) {
    (void)r;
    ++*(uint64_t *)user;
    return 0;
}

static int keep_turns(const struct chela_store_session *row, void *user) {
    *(uint64_t *)user = row->turns;
    return 0;
}

/* Checks that there are n records without a gap, and that the row counted each once. */
static void check_exactly(chela_store *s, const char *key, uint64_t n) {
    struct chela_error err = {0};
    uint64_t seen = 0, last = 0, turns = 0;
    if (chela_store_records(s, key, 1, count_record, &seen, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(chela_store_session(s, key, keep_last, &last, &err), 0);
    assert_int_equal(chela_store_session(s, key, keep_turns, &turns, &err), 0);
    assert_int_equal(seen, n);
    assert_int_equal(last, n);
    assert_int_equal(turns, n);
}

struct writing {
    chela_store *store;
    uint64_t token, seq;
    int rc, own;
    struct chela_error err;
};

static void *write_one(void *arg) {
    struct writing *w = arg;
    w->rc = append(w->store, "a", w->token, w->seq, &w->own, &w->err);
    return NULL;
}

static void check_written(struct writing *w, pthread_t thread) {
    pthread_join(thread, NULL);
    if (w->rc < 0)
        fail_msg("%s", w->err.message);
    assert_int_equal(w->own, 0);
    check_exactly(w->store, "a", w->seq);
}

/* The times for which the server is frozen before it continues, and before it is killed. */
static void test_frozen_and_killed(void **state) {
    pthread_t thread;
    (void)state;
    served->reset();
    struct writing w = {.store = must_open(url()), .seq = 1};
    w.token = claim(w.store);
    served->freeze();
    pthread_create(&thread, NULL, write_one, &w);
    poll(NULL, 0, getenv("CRASH_ALL") ? 30000 : 1500);
    served->thaw();
    check_written(&w, thread);
    w.seq++;
    served->freeze();
    pthread_create(&thread, NULL, write_one, &w);
    poll(NULL, 0, 300);
    served->kill();
    assert_true(served->start());
    check_written(&w, thread);
    chela_store_close(w.store);
}

/* All connections are closed, between two calls and within one. */
static void test_thrown_out(void **state) {
    struct chela_error err;
    int own;
    (void)state;
    served->reset();
    chela_store *s = must_open(url());
    uint64_t token = claim(s);
    for (uint64_t seq = 1; seq <= 3; seq++) {
        served->throw_out();
        if (append(s, "a", token, seq, &own, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(own, 0);
    }
    served->throw_out();
    check_exactly(s, "a", 3);
    chela_store_close(s);
}

/* --- a connection that breaks at COMMIT --------------------------------------------- */

enum { PASS, CUT_BEFORE, CUT_AFTER };

struct middle { /* between the test and the server: one connection after the other */
    int listener, port;
    atomic_int mode; /* fault of the next COMMIT; then PASS again */
    atomic_int cuts;
    atomic_bool ending;
    pthread_t thread;
};

static int loopback(int port, bool listening, int *bound) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)port)};
    socklen_t n = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!listening) {
        if (connect(fd, (struct sockaddr *)&at, n) == 0)
            return fd;
        close(fd);
        return -1;
    }
    assert_int_equal(bind(fd, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    *bound = ntohs(at.sin_port);
    return fd;
}

/* False: the connection has ended. */
static bool pass_on(struct middle *m, int from, int to, bool upwards, bool *committing) {
    static _Thread_local char bytes[65536];
    ssize_t n = read(from, bytes, sizeof(bytes));
    if (n <= 0)
        return false;
    if (upwards && m->mode != PASS &&
        memmem(bytes, (size_t)n, served->commit, strlen(served->commit))) {
        m->cuts++;
        if (m->mode == CUT_BEFORE)
            return false;
        *committing = true;
    } else if (!upwards && *committing) {
        return false;
    }
    return send(to, bytes, (size_t)n, MSG_NOSIGNAL) == n;
}

static void serve(struct middle *m, int client) {
    int up = loopback(served->port, false, NULL);
    bool committing = false, open = up >= 0;
    while (open && !m->ending) {
        struct pollfd p[] = {{.fd = client, .events = POLLIN}, {.fd = up, .events = POLLIN}};
        poll(p, 2, 50);
        if (p[0].revents)
            open = pass_on(m, client, up, true, &committing);
        if (open && p[1].revents)
            open = pass_on(m, up, client, false, &committing);
    }
    if (committing || !open)
        m->mode = PASS;
    if (up >= 0)
        close(up);
    close(client);
}

static void *middle_main(void *arg) {
    struct middle *m = arg;
    while (!m->ending) {
        struct pollfd p = {.fd = m->listener, .events = POLLIN};
        if (poll(&p, 1, 50) > 0)
            serve(m, accept(m->listener, NULL, NULL));
    }
    return NULL;
}

static void check_cut(int mode) {
    struct middle m = {.mode = PASS};
    struct chela_error err;
    int own;
    served->reset();
    m.listener = loopback(0, true, &m.port);
    pthread_create(&m.thread, NULL, middle_main, &m);
    chela_store *s = must_open(served->url_at(m.port));
    m.mode = mode;
    uint64_t token = claim(s);
    if (served->counts_tokens)
        assert_int_equal(token, 1); /* taken once */
    m.mode = mode;
    int rc = append(s, "a", token, 1, &own, &err);
    if (rc < 0)
        fail_msg("%s", err.message);
    assert_int_equal(own, 0);
    assert_int_equal(m.cuts, 2);
    check_exactly(s, "a", 1);
    chela_store_close(s);
    m.ending = true;
    pthread_join(m.thread, NULL);
    close(m.listener);
}

static void test_commit_that_never_arrived(void **state) {
    (void)state;
    check_cut(CUT_BEFORE);
}

static void test_commit_whose_answer_was_lost(void **state) {
    (void)state;
    check_cut(CUT_AFTER);
}

/* --- several processes -------------------------------------------------------------- */

#define PROCESSES 4
#define ROUNDS 8

/* Take the session, add a record, release the session. */
static int take_turn(chela_store *s, const char *owner, struct chela_error *err) {
    uint64_t token = 0, last = 0;
    int own = 0, rc = try_claim(s, owner, &token, err);
    struct chela_store_change c = {.kind = CHELA_STORE_RELEASE, .key = "a", .token = token};
    if (rc == 0)
        rc = chela_store_session(s, "a", keep_last, &last, err);
    if (rc == 0)
        rc = append(s, "a", token, last + 1, &own, err);
    if (rc == 0)
        rc = ch_store_commit(s, &c, 1, false, err);
    return rc == 0 ? own + c.rc : rc;
}

static int compete(int number) {
    char owner[32];
    struct chela_error err;
    int rc;
    snprintf(owner, sizeof(owner), "process %d", number);
    chela_store *s = open_at(url(), &rc, &err);
    for (int done = 0; rc == 0 && done < ROUNDS;) {
        rc = take_turn(s, owner, &err);
        done += rc == 0;
        if (rc == CHELA_EBUSY)
            rc = poll(NULL, 0, 5);
    }
    chela_store_close(s);
    if (rc < 0)
        fprintf(stderr, "# %s: %d %s\n", owner, rc, err.message);
    return rc < 0;
}

static void test_processes_take_turns(void **state) {
    pid_t pids[PROCESSES];
    (void)state;
    served->reset();
    for (int i = 0; i < PROCESSES; i++)
        if ((pids[i] = fork()) == 0) /* the processes also compete to create the schema */
            _exit(compete(i));
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        waitpid(pids[i], &status, 0);
        assert_int_equal(status, 0);
    }
    chela_store *s = must_open(url());
    check_exactly(s, "a", PROCESSES * ROUNDS);
    chela_store_close(s);
}

/* A server whose clock differs: leases use the server's time, rows show the test's time. */
static int keep_until(const struct chela_store_session *row, void *user) {
    *(int64_t *)user = row->until;
    return 0;
}

static void test_leases_are_shown_in_our_time(void **state) {
    struct chela_error err = {0};
    int64_t until = 0, now = ch_store_now();
    (void)state;
    served->reset();
    chela_store *s = must_open(url());
    claim(s);
    assert_int_equal(chela_store_session(s, "a", keep_until, &until, &err), 0);
    assert_in_range(until, now + 29000, now + 60000);
    chela_store_close(s);
}

int served_run(const struct served *s) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes_take_turns),
        cmocka_unit_test(test_leases_are_shown_in_our_time),
        cmocka_unit_test(test_commit_that_never_arrived),
        cmocka_unit_test(test_commit_whose_answer_was_lost),
        cmocka_unit_test(test_thrown_out),
        cmocka_unit_test(test_frozen_and_killed),
    };
    served = s;
    return cmocka_run_group_tests_name(s->name, tests, NULL, NULL);
}

/* --- opening a store ---------------------------------------------------------------- */

chela_store *served_open(const char *modules, const char *url, int read_only, int *rc,
                         struct chela_error *err) {
    struct chela_store_opts opts =
        CHELA_STORE_OPTS(.module_path = modules, .read_only = read_only);
    chela_store *s = NULL;
    *err = (struct chela_error){0};
    *rc = chela_store_open(url, &opts, &s, err);
    return s;
}

chela_store *served_must_open(const char *modules, const char *url) {
    struct chela_error err;
    int rc;
    chela_store *s = served_open(modules, url, 0, &rc, &err);
    if (rc < 0)
        fail_msg("%s", err.message);
    return s;
}

void served_check_refused(const char *modules, const char *url, int read_only, int code,
                          const char *words) {
    struct chela_error err;
    int rc;
    chela_store *s = served_open(modules, url, read_only, &rc, &err);
    chela_store_close(s);
    if (rc != code || !strstr(err.message, words))
        fail_msg("%s: %d '%s' instead of %d '%s'", url, rc, err.message, code, words);
    if (strstr(err.message, "sesame"))
        fail_msg("'%s' shows the password", err.message);
}

/* --- news */

struct listener {
    chela_store *store;
    int stop; /* eventfd */
    atomic_bool heard;
};

static void on_news(const char *key, int released, void *user) {
    struct listener *l = user;
    if (strcmp(key, "news") == 0 && !released)
        atomic_store(&l->heard, true);
}

static void *listen_for_news(void *arg) {
    struct listener *l = arg;
    struct chela_store_db *db = NULL;
    struct chela_error err = {0};
    const char *note;
    if (l->store->ops->open(l->store->url, 1, &db, &note, &err) == 0) {
        l->store->ops->hear(db, l->stop, on_news, l, &err);
        l->store->ops->close(db);
    }
    return NULL;
}

static int ignore_row(const struct chela_store_session *row, void *user) {
    (void)row;
    (void)user;
    return 0;
}

void served_check_given_up(chela_store *holder, chela_store *other, int64_t *skew) {
    int64_t now = ch_store_now(), until = 0;
    struct chela_store_claim claim = {.key = "given", .agent = "main", .owner = "a b c 1 2 3",
                                      .now = now, .until = now + 60000, .create = 1};
    struct chela_store_change c = {.kind = CHELA_STORE_RENEW, .key = "given",
                                   .until = CH_LEASE_ENDED};
    struct chela_error err = {0};
    assert_int_equal(ch_store_open_session(holder, &claim, keep_token, &c.token, &err), 0);
    if (skew)
        *skew = 900; /* less than a difference that the next transaction would correct */
    assert_int_equal(ch_store_commit(holder, &c, 1, false, &err), 0);
    assert_int_equal(c.rc, 0);
    assert_int_equal(chela_store_session(other, "given", keep_until, &until, &err), 0);
    assert_int_equal(until, CH_LEASE_ENDED);
    assert_int_equal(chela_store_session(holder, "given", keep_until, &until, &err), 0);
    assert_int_equal(until, CH_LEASE_ENDED);
    chela_store_close(other);
    chela_store_close(holder);
}

void served_check_news(const char *modules, const char *url) {
    chela_store *holder = served_must_open(modules, url), *other = served_must_open(modules, url);
    struct listener l = {.store = holder, .stop = eventfd(0, EFD_CLOEXEC)};
    int64_t now = ch_store_now();
    struct chela_store_claim claim = {.key = "news", .agent = "main", .owner = "a b c 1 2 3",
                                      .now = now, .until = now + 60000, .create = 1};
    struct chela_error err = {0};
    pthread_t thread;
    assert_int_equal(ch_store_open_session(holder, &claim, ignore_row, NULL, &err), 0);
    assert_int_equal(pthread_create(&thread, NULL, listen_for_news, &l), 0);
    for (int i = 0; i < 400 && !atomic_load(&l.heard); i++) {
        char id[24];
        snprintf(id, sizeof(id), "e%d", i);
        struct chela_store_change c = {.kind = CHELA_STORE_ACCEPT, .id = id, .key = "news",
                                       .data = "{}", .n = 2, .now = now};
        assert_int_equal(ch_store_commit(other, &c, 1, false, &err), 0);
        poll(NULL, 0, 50);
    }
    assert_int_equal(write(l.stop, &(uint64_t){1}, sizeof(uint64_t)), sizeof(uint64_t));
    pthread_join(thread, NULL);
    assert_true(atomic_load(&l.heard));
    close(l.stop);
    chela_store_close(other);
    chela_store_close(holder);
}
