/* test_postgres.c -- the PostgreSQL store: what every store does, and what only
 * a server can do to it: refuse, freeze, die, lose an answer. The server is a
 * real one, started here. */
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
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/store.h"
#include "support/conformance.h"
#include "support/modules.h"
#include "support/pgserver.h"

static struct pgserver server;
static char *modules;
static char url[128];

static void sql(const char *text) {
    char ignored[64];
    pgserver_sql(&server, text, ignored, sizeof(ignored));
}

static void reset(void) {
    sql("DROP SCHEMA IF EXISTS chela CASCADE");
}

static chela_store *open_at(const char *where, int read_only, int *rc, struct chela_error *err) {
    struct chela_store_opts opts =
        CHELA_STORE_OPTS(.module_path = modules, .read_only = read_only);
    chela_store *s = NULL;
    *err = (struct chela_error){0};
    *rc = chela_store_open(where, &opts, &s, err);
    return s;
}

static chela_store *must_open(const char *where) {
    struct chela_error err;
    int rc;
    chela_store *s = open_at(where, 0, &rc, &err);
    if (rc < 0)
        fail_msg("%s", err.message);
    return s;
}

static void check_refused(const char *where, int read_only, int code, const char *words) {
    struct chela_error err;
    int rc;
    chela_store *s = open_at(where, read_only, &rc, &err);
    chela_store_close(s);
    if (rc != code || !strstr(err.message, words))
        fail_msg("%d '%s' instead of %d '%s'", rc, err.message, code, words);
    if (strstr(err.message, "sesame"))
        fail_msg("'%s' shows the password", err.message);
}

/* --- refusals ------------------------------------------------------------------ */

static char *with(const char *password, const char *rest) {
    static char out[256];
    snprintf(out, sizeof(out), "postgres://chela:%s@127.0.0.1:%d/%s", password, server.port, rest);
    return out;
}

static void test_no_way_in(void **state) {
    (void)state;
    check_refused(with("wrong-sesame", "postgres"), 0, CHELA_EAUTH, "password authentication");
    check_refused(with(PGSERVER_PASSWORD, "elsewhere"), 0, CHELA_ENOENT, "elsewhere");
    check_refused("postgres://chela:open-sesame@127.0.0.1:1/postgres", 0, CHELA_ENET,
                  "postgres://127.0.0.1:1/postgres");
    check_refused("postgres://chela:at@sesame@127.0.0.1/postgres", 0, CHELA_EINVAL, "%XX");
    check_refused("postgres://chela:slash/sesame@127.0.0.1/x", 0, CHELA_EINVAL, "%XX");
    check_refused("postgres://chela:open-sesame@127.0.0.1/x?nonsense=1", 0, CHELA_EINVAL, "%XX");
}

static void test_other_formats(void **state) {
    (void)state;
    reset();
    check_refused(url, 1, CHELA_ENOENT, "none yet");
    chela_store_close(must_open(url));
    sql("UPDATE chela.format SET version = 99");
    check_refused(url, 0, CHELA_EPROTO, "newer chela");
    check_refused(url, 1, CHELA_EPROTO, "newer chela");
    sql("DELETE FROM chela.format");
    check_refused(url, 0, CHELA_EPARSE, "damaged");
    reset();
    sql("CREATE SCHEMA chela; CREATE TABLE chela.sessions(id int)");
    check_refused(url, 0, CHELA_EPROTO, "no store of chela");
    reset();
}

static void test_read_only(void **state) {
    struct chela_store_change c = {.kind = CHELA_STORE_TITLE, .key = "a", .data = "x", .n = 1};
    struct chela_error err;
    int rc;
    (void)state;
    reset();
    chela_store_close(must_open(url));
    char *where = with(PGSERVER_PASSWORD, "postgres?options=-cdefault_transaction_read_only%3Don");
    check_refused(where, 0, CHELA_EPERM, "cannot be written");
    chela_store *s = open_at(where, 1, &rc, &err);
    assert_int_equal(rc, 0);
    assert_int_equal(ch_store_commit(s, &c, 1, true, &err), CHELA_EPERM);
    chela_store_close(s);
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

/* n records without a gap, and the row counted each once. */
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

static void test_frozen_and_killed(void **state) {
    pthread_t thread;
    (void)state;
    reset();
    struct writing w = {.store = must_open(url), .seq = 1};
    w.token = claim(w.store);
    pgserver_freeze(&server);
    pthread_create(&thread, NULL, write_one, &w);
    poll(NULL, 0, 1500);
    pgserver_thaw(&server);
    check_written(&w, thread);
    w.seq++;
    pgserver_freeze(&server);
    pthread_create(&thread, NULL, write_one, &w);
    poll(NULL, 0, 300);
    pgserver_kill(&server);
    assert_true(pgserver_start(&server));
    check_written(&w, thread);
    chela_store_close(w.store);
}

/* Everybody on every connection is thrown out, between two calls and within. */
static void test_thrown_out(void **state) {
    struct chela_error err;
    int own;
    (void)state;
    reset();
    chela_store *s = must_open(url);
    uint64_t token = claim(s);
    for (uint64_t seq = 1; seq <= 3; seq++) {
        sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'chela'");
        if (append(s, "a", token, seq, &own, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(own, 0);
    }
    sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'chela'");
    check_exactly(s, "a", 3);
    chela_store_close(s);
}

/* --- a connection that breaks at COMMIT --------------------------------------------- */

enum { PASS, CUT_BEFORE, CUT_AFTER };

struct middle { /* between us and the server: one connection after the other */
    int listener, port;
    atomic_int mode; /* what the next COMMIT meets; then PASS again */
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

/* False: the connection is over. */
static bool pass_on(struct middle *m, int from, int to, bool upwards, bool *committing) {
    static _Thread_local char bytes[65536];
    ssize_t n = read(from, bytes, sizeof(bytes));
    if (n <= 0)
        return false;
    if (upwards && m->mode != PASS && memmem(bytes, (size_t)n, "COMMIT", 6)) {
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
    int up = loopback(server.port, false, NULL);
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
    char where[128];
    struct chela_error err;
    int own;
    reset();
    m.listener = loopback(0, true, &m.port);
    pthread_create(&m.thread, NULL, middle_main, &m);
    snprintf(where, sizeof(where), "postgres://chela:%s@127.0.0.1:%d/postgres", PGSERVER_PASSWORD,
             m.port);
    chela_store *s = must_open(where);
    m.mode = mode;
    uint64_t token = claim(s);
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

/* Take the session, add a record, give it back. */
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
    chela_store *s = open_at(url, 0, &rc, &err);
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
    reset();
    for (int i = 0; i < PROCESSES; i++)
        if ((pids[i] = fork()) == 0) /* they also race to make the schema */
            _exit(compete(i));
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        waitpid(pids[i], &status, 0);
        assert_int_equal(status, 0);
    }
    chela_store *s = must_open(url);
    check_exactly(s, "a", PROCESSES * ROUNDS);
    chela_store_close(s);
}

/* A server whose clock is not ours: leases go by its time, rows show ours. */
static int keep_until(const struct chela_store_session *row, void *user) {
    *(int64_t *)user = row->until;
    return 0;
}

static void test_leases_are_shown_in_our_time(void **state) {
    struct chela_error err = {0};
    int64_t until = 0, now = ch_store_now();
    (void)state;
    reset();
    chela_store *s = must_open(url);
    claim(s);
    assert_int_equal(chela_store_session(s, "a", keep_until, &until, &err), 0);
    assert_in_range(until, now + 29000, now + 60000);
    chela_store_close(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_way_in),
        cmocka_unit_test(test_other_formats),
        cmocka_unit_test(test_read_only),
        cmocka_unit_test(test_processes_take_turns),
        cmocka_unit_test(test_leases_are_shown_in_our_time),
        cmocka_unit_test(test_commit_that_never_arrived),
        cmocka_unit_test(test_commit_whose_answer_was_lost),
        cmocka_unit_test(test_thrown_out),
        cmocka_unit_test(test_frozen_and_killed),
    };
    if (!modules_have("store-postgres") || !pgserver_installed()) {
        printf("1..1\nok 1 - postgres # SKIP no PostgreSQL here: scripts/install-deps test\n");
        return 0;
    }
    if (!pgserver_open(&server)) {
        pgserver_close(&server);
        return 1;
    }
    modules = modules_dir();
    snprintf(url, sizeof(url), "postgres://chela:%s@127.0.0.1:%d/postgres", PGSERVER_PASSWORD,
             server.port);
    int failed = conformance_run(&(struct conformance){
        .name = "postgres", .url = url, .module_path = modules, .reset = reset, .lasting = true});
    failed += cmocka_run_group_tests_name("postgres server", tests, NULL, NULL);
    pgserver_close(&server);
    ch_free(modules);
    return failed;
}
