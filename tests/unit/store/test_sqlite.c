/* test_sqlite.c -- the SQLite store: what every store does, and its files. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "chela/store.h"
#include "support/conformance.h"
#include "store/store.h"
#include "support/modules.h"

static char dir[] = "/tmp/chela-sqlite-XXXXXX";
static char path[64], url[80];
static char *modules;

static void reset(void) {
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < CH_LEN(ends); i++) {
        char name[96];
        snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        unlink(name);
    }
}

static int try_open(int read_only, struct chela_error *err) {
    struct chela_store_opts opts =
        CHELA_STORE_OPTS(.module_path = modules, .read_only = read_only);
    chela_store *s = NULL;
    *err = (struct chela_error){0};
    int rc = chela_store_open(url, &opts, &s, err);
    chela_store_close(s);
    return rc;
}

static void put(const char *text, size_t n) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), (ssize_t)n);
    close(fd);
}

static void poke(off_t at, const char *text, size_t n) {
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, text, n, at), (ssize_t)n);
    close(fd);
}

/* Refused with these words, and the file is as it was. */
static void check_refused(int code, const char *words) {
    struct chela_error err;
    struct stat before, after;
    stat(path, &before);
    assert_int_equal(try_open(0, &err), code);
    if (!strstr(err.message, words))
        fail_msg("'%s' does not say '%s'", err.message, words);
    assert_non_null(strstr(err.message, path));
    stat(path, &after);
    assert_int_equal(before.st_size, after.st_size);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

static void test_damaged_files_are_refused(void **state) {
    struct chela_error err;
    (void)state;
    reset();
    put("", 0);
    check_refused(CHELA_EPARSE, "is empty");
    put("not a database at all, but long enough to be looked at as one, surely", 69);
    check_refused(CHELA_EPARSE, "damaged");
    reset();
    assert_int_equal(try_open(0, &err), 0);
    assert_int_equal(truncate(path, 1500), 0);
    check_refused(CHELA_EPARSE, "damaged");
}

static void test_foreign_and_newer_files_are_refused(void **state) {
    struct chela_error err;
    (void)state;
    reset();
    assert_int_equal(try_open(0, &err), 0);
    poke(60, "\0\0\0\x63", 4); /* user_version */
    check_refused(CHELA_EPROTO, "newer chela");
    poke(60, "\0\0\0\x07", 4);
    assert_int_equal(try_open(0, &err), 0);
    poke(68, "\0\0\0\0", 4); /* application_id */
    check_refused(CHELA_EPROTO, "no store of chela");
}

static int no_item(const struct chela_store_item *i, void *user) {
    (void)user;
    fail_msg("there is a note %s", i->id);
    return 0;
}

static int count_session(const struct chela_store_session *row, void *user) {
    assert_int_equal(row->base, 0);
    ++*(int *)user;
    return 0;
}

static void test_format_1_is_brought_up_to_date(void **state) {
    struct chela_store_opts opts = CHELA_STORE_OPTS(.module_path = modules, .read_only = 1);
    struct chela_error err;
    chela_store *s;
    sqlite3 *raw;
    int found = 0;
    (void)state;
    reset();
    assert_int_equal(try_open(0, &err), 0);
    assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
    assert_int_equal(sqlite3_exec(raw, "DROP TABLE notes; ALTER TABLE sessions DROP COLUMN base;"
                                  "INSERT INTO sessions(key, created, updated) VALUES('a', 1, 1);"
                                  "PRAGMA user_version=1", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(raw);
    /* who only reads leaves it as it is */
    assert_int_equal(chela_store_open(url, &opts, &s, &err), 0);
    assert_int_equal(chela_store_items(s, CHELA_STORE_NOTES, no_item, NULL, &err), 0);
    assert_int_equal(chela_store_session(s, "a", count_session, &found, &err), 0);
    assert_int_equal(chela_store_list(s, NULL, count_session, &found, &err), 0);
    assert_int_equal(found, 2);
    chela_store_close(s);
    opts.read_only = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(chela_store_open(url, &opts, &s, &err), 0);
        assert_int_equal(chela_store_items(s, CHELA_STORE_NOTES, no_item, NULL, &err), 0);
        chela_store_close(s);
    }
}

/* A process that knows format 6 has the file open while a newer one migrates it. */
static void test_a_migration_ends_older_processes(void **state) {
    struct chela_store_opts opts = CHELA_STORE_OPTS(.module_path = modules);
    struct chela_error err = {0};
    chela_store *older, *newer;
    sqlite3 *raw;
    (void)state;
    reset();
    assert_int_equal(chela_store_open(url, &opts, &older, &err), 0);
    assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
    assert_int_equal(sqlite3_exec(raw, "ALTER TABLE sessions DROP COLUMN base;"
                                  "PRAGMA user_version=6", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(raw);
    assert_int_equal(ch_store_write(older, NULL, 0, false, &err), 0);
    assert_int_equal(chela_store_open(url, &opts, &newer, &err), 0);
    assert_int_equal(ch_store_write(older, NULL, 0, false, &err), CHELA_EPROTO);
    assert_non_null(strstr(err.message, "converted"));
    err = (struct chela_error){0};
    assert_int_equal(ch_store_write(newer, NULL, 0, false, &err), 0);
    chela_store_close(older);
    chela_store_close(newer);
}

static void test_places_that_cannot_be(void **state) {
    struct chela_error err;
    (void)state;
    reset();
    assert_int_equal(try_open(1, &err), CHELA_ENOENT);
    assert_int_equal(access(path, F_OK), -1);
    mkdir(path, 0700);
    assert_int_equal(try_open(0, &err), CHELA_EPROTO);
    rmdir(path);
    chela_store *s = NULL;
    struct chela_store_opts opts = CHELA_STORE_OPTS(.module_path = modules);
    assert_int_equal(chela_store_open("sqlite:/nowhere/at/all.db", &opts, &s, &err),
                     CHELA_ENOENT);
    assert_int_equal(chela_store_open("sqlite:", &opts, &s, &err), CHELA_EINVAL);
    assert_int_equal(chela_store_open("sqlite::memory:", &opts, &s, &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "use memory:"));
    assert_int_equal(chela_store_open("mysql://x", &opts, &s, &err), CHELA_EINVAL);
}

static void test_the_file_is_private(void **state) {
    struct chela_error err;
    struct stat st;
    (void)state;
    reset();
    assert_int_equal(try_open(0, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static int count_record(const struct chela_store_record *r, void *user) {
    (void)r;
    ++*(int *)user;
    return 0;
}

/* What SQLite itself cannot notice, the checksums do. */
static void test_a_changed_record_is_noticed(void **state) {
    struct chela_store_opts opts = CHELA_STORE_OPTS(.module_path = modules);
    struct chela_error err = {0};
    chela_store *s = NULL;
    int n = 0;
    (void)state;
    reset();
    static const char line[] =
        "{\"chela_session\":1,\"key\":\"a\"}\n"
        "{\"seq\":1,\"type\":\"inbound\",\"ts\":1,\"data\":{\"text\":\"AAAABBBBCCCC\"}}\n";
    assert_int_equal(chela_store_open(url, &opts, &s, &err), 0);
    if (chela_store_import(s, line, sizeof(line) - 1, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(chela_store_records(s, "a", 1, count_record, &n, &err), 0);
    chela_store_close(s);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK); /* closing it empties the WAL */
    sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
    sqlite3_close(db);
    CH_BUF_AUTO file = {0};
    int fd = open(path, O_RDONLY);
    char *to = ch_buf_reserve(&file, 1 << 20);
    ssize_t got = read(fd, to, 1 << 20);
    close(fd);
    char *at = memmem(to, (size_t)got, "AAAABBBB", 8);
    assert_non_null(at);
    poke(at - to, "AAAAXBBB", 8);
    assert_int_equal(chela_store_open(url, &opts, &s, &err), 0);
    assert_int_equal(chela_store_records(s, "a", 1, count_record, &n, &err), CHELA_EPARSE);
    assert_non_null(strstr(err.message, "record 1"));
    assert_int_equal(chela_store_check(s, NULL, &err), CHELA_EPARSE);
    assert_non_null(strstr(err.message, "record 1"));
    chela_store_close(s);
}

/* --- growth ------------------------------------------------------------------------------- */

/* A session of about 200 kB, with a word of its own. */
static void import_large(chela_store *s, int number) {
    struct chela_error err = {0};
    CH_BUF_AUTO line = {0};
    ch_buf_addf(&line, "{\"chela_session\":1,\"key\":\"s%d\"}\n", number);
    ch_buf_addf(&line,
                "{\"seq\":1,\"type\":\"inbound\",\"ts\":1,\"data\":{\"message\":"
                "{\"content\":[{\"type\":\"text\",\"text\":\"needle%d ",
                number);
    for (int i = 0; i < 30000; i++)
        ch_buf_addf(&line, "%06d ", i * 7 + number);
    ch_buf_add_str(&line, "\"}]}}}\n");
    if (chela_store_import(s, ch_buf_str(&line), line.n, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
}

static off_t size_of(const char *end) {
    char name[96];
    struct stat st = {0};
    snprintf(name, sizeof(name), "%s%s", path, end);
    stat(name, &st);
    return st.st_size;
}

/* The salt in the WAL's header. It changes when the WAL begins again. */
static uint64_t wal_salt(void) {
    char name[96];
    uint64_t salt = 0;
    snprintf(name, sizeof(name), "%s-wal", path);
    int fd = open(name, O_RDONLY);
    assert_int_equal(pread(fd, &salt, sizeof(salt), 16), sizeof(salt));
    close(fd);
    return salt;
}

static int count_hit(const struct chela_store_hit *h, void *user) {
    (void)h;
    ++*(int *)user;
    return 0;
}

static void checkpoint(void) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
    sqlite3_close(db);
}

static void test_deleted_sessions_give_their_space_back(void **state) {
    struct chela_store_opts opts = CHELA_STORE_OPTS(.module_path = modules);
    struct chela_error err = {0};
    chela_store *s = NULL;
    size_t n = 0;
    (void)state;
    reset();
    assert_int_equal(chela_store_open(url, &opts, &s, &err), 0);
    for (int i = 0; i < 120; i++)
        import_large(s, i);
    checkpoint();
    off_t full = size_of("");
    assert_true(full > 20 << 20);
    assert_int_equal(chela_store_prune(s, INT64_MAX, &n, &err), 0);
    assert_int_equal(n, 120);
    chela_store_close(s);
    checkpoint();
    assert_true(size_of("") < full / 3);
}

/* The WAL is not larger than some transactions, however much is indexed. */
static void test_a_search_indexes_in_parts(void **state) {
    struct chela_store_opts opts = CHELA_STORE_OPTS(.module_path = modules);
    struct chela_error err = {0};
    chela_store *s = NULL;
    int hits = 0;
    (void)state;
    reset();
    assert_int_equal(chela_store_open(url, &opts, &s, &err), 0);
    for (int i = 0; i < 40; i++)
        import_large(s, i);
    checkpoint();
    assert_int_equal(chela_store_search(s, "needle17", NULL, 10, count_hit, &hits, &err), 0);
    assert_int_equal(hits, 1);
    assert_true(size_of("-wal") < 12 << 20);
    size_t n = 0;
    assert_int_equal(chela_store_check(s, &n, &err), 0);
    assert_int_equal(n, 40);
    chela_store_close(s);
    assert_in_range(size_of("-wal"), 1, 1 << 20);
}

/* Sessions s1 to sN, each with a record of type 2 and one of type 3. */
static void insert_sessions(sqlite3 *db, int n) {
    sqlite3_stmt *session, *record;
    sqlite3_prepare_v2(db,
                       "INSERT INTO sessions(id, key, created, updated)"
                       " VALUES(?1, 's' || ?1, 1, 1)",
                       -1, &session, NULL);
    sqlite3_prepare_v2(db, "INSERT INTO records VALUES(?1, ?2, 1, ?3, '{}')", -1, &record, NULL);
    for (int i = 1; i <= n; i++) {
        sqlite3_bind_int(session, 1, i);
        assert_int_equal(sqlite3_step(session), SQLITE_DONE);
        sqlite3_reset(session);
        for (unsigned seq = 1; seq <= 2; seq++) {
            struct chela_store_record r = {.seq = seq, .type = seq + 1, .data = "{}", .n = 2};
            sqlite3_bind_int64(record, 1, (int64_t)i << 40 | seq);
            sqlite3_bind_int64(record, 2, r.type);
            sqlite3_bind_int64(record, 3, ch_record_sum(&r));
            assert_int_equal(sqlite3_step(record), SQLITE_DONE);
            sqlite3_reset(record);
        }
    }
    sqlite3_finalize(session);
    sqlite3_finalize(record);
}

/* The index is dropped when all of its sessions have been removed. The next search of the same
 * connection makes a new one. */
static void test_an_index_is_made_again(void **state) {
    struct chela_store_opts opts = CHELA_STORE_OPTS(.module_path = modules);
    struct chela_error err = {0};
    chela_store *s = NULL;
    sqlite3 *db = NULL;
    (void)state;
    reset();
    assert_int_equal(chela_store_open(url, &opts, &s, &err), 0);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (int i = 0; i < 2; i++) {
        int hits = 0;
        size_t n = 0;
        sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
        insert_sessions(db, 600);
        assert_int_equal(sqlite3_exec(db, "UPDATE sessions SET last = 2; COMMIT", NULL, NULL, NULL),
                         SQLITE_OK);
        import_large(s, 1000 + i);
        if (chela_store_search(s, "needle", NULL, 10, count_hit, &hits, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(hits, 1);
        assert_int_equal(chela_store_prune(s, INT64_MAX, &n, &err), 0);
        assert_int_equal(n, 601);
        assert_int_not_equal(sqlite3_exec(db, "SELECT * FROM indexed", NULL, NULL, NULL),
                             SQLITE_OK);
    }
    sqlite3_close(db);
    chela_store_close(s);
}

static int next_scanned(const char *key, const char *agent, const struct chela_store_record *r,
                        void *user) {
    int *n = user;
    char want[16];
    snprintf(want, sizeof(want), "s%d", ++*n);
    assert_string_equal(key, want);
    assert_string_equal(agent, "");
    assert_int_equal(r->type, 3);
    return 0;
}

static void test_a_scan_reads_in_parts(void **state) {
    enum { SESSIONS = 2 * CH_LIMIT_SCAN_SESSIONS + 1 };
    struct chela_store_opts opts = CHELA_STORE_OPTS(.module_path = modules);
    struct ch_store_scan scan = {.types = 1 << 3};
    struct chela_error err = {0};
    chela_store *s = NULL;
    sqlite3 *db = NULL;
    int n = 0;
    (void)state;
    reset();
    assert_int_equal(chela_store_open(url, &opts, &s, &err), 0);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    insert_sessions(db, SESSIONS);
    sqlite3_exec(db, "UPDATE sessions SET updated = 2 WHERE id = (SELECT max(id) FROM sessions)",
                 NULL, NULL, NULL);
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(ch_store_scan(s, &scan, next_scanned, &n, &err), 0);
    assert_int_equal(n, SESSIONS);
    scan.since = 2; /* the first parts have no session */
    n = SESSIONS - 1;
    assert_int_equal(ch_store_scan(s, &scan, next_scanned, &n, &err), 0);
    assert_int_equal(n, SESSIONS);
    chela_store_close(s);
}

/* A process that opens the file reads what is left in the WAL. Not every close costs a sync. The
 * WAL's file stays, so that it need not grow again. */
static void test_short_processes_leave_a_short_log(void **state) {
    struct chela_store_opts opts = CHELA_STORE_OPTS(.module_path = modules);
    struct chela_error err = {0};
    size_t n = 0;
    uint64_t salt = 0;
    int salts = 0;
    (void)state;
    reset();
    for (int i = 0; i < 12; i++) {
        chela_store *s = NULL;
        assert_int_equal(chela_store_open(url, &opts, &s, &err), 0);
        import_large(s, i);
        chela_store_close(s);
        assert_in_range(size_of("-wal"), 1, 1 << 20);
        salts += wal_salt() != salt;
        salt = wal_salt();
    }
    assert_in_range(salts, 2, 6);
    chela_store *s = NULL;
    assert_int_equal(chela_store_open(url, &opts, &s, &err), 0);
    assert_int_equal(chela_store_check(s, &n, &err), 0);
    assert_int_equal(n, 12);
    chela_store_close(s);
}

/* Without the index, which cannot be written. */
static void test_a_store_opened_for_reading_is_searched(void **state) {
    struct chela_store_opts opts = CHELA_STORE_OPTS(.module_path = modules);
    struct chela_error err = {0};
    chela_store *s = NULL;
    int hits = 0;
    (void)state;
    reset();
    assert_int_equal(chela_store_open(url, &opts, &s, &err), 0);
    import_large(s, 1);
    import_large(s, 2);
    chela_store_close(s);
    opts.read_only = 1;
    assert_int_equal(chela_store_open(url, &opts, &s, &err), 0);
    assert_int_equal(chela_store_search(s, "needle2", NULL, 10, count_hit, &hits, &err), 0);
    assert_int_equal(hits, 1);
    chela_store_close(s);
}

/* --- news */

struct listener {
    struct chela_store_db *db;
    const struct chela_store_ops *ops;
    int stop[2];
    pthread_mutex_t lock;
    char heard[256];
};

static void on_news(const char *key, int released, void *user) {
    struct listener *l = user;
    pthread_mutex_lock(&l->lock);
    size_t n = strlen(l->heard);
    snprintf(l->heard + n, sizeof(l->heard) - n, "%s%s ", released ? "-" : "+", key);
    pthread_mutex_unlock(&l->lock);
}

static void *listen_for_news(void *user) {
    struct listener *l = user;
    struct pollfd p = {.fd = l->stop[0], .events = POLLIN};
    struct chela_error err = {0};
    while (poll(&p, 1, 0) == 0)
        assert_int_equal(l->ops->hear(l->db, l->stop[0], on_news, l, &err), 0);
    return NULL;
}

static void wait_to_hear(struct listener *l, const char *text) {
    bool heard = false;
    for (int i = 0; i < 2000 && !heard; i++) {
        pthread_mutex_lock(&l->lock);
        heard = strcmp(l->heard, text) == 0;
        pthread_mutex_unlock(&l->lock);
        usleep(heard ? 0 : 10000);
    }
    assert_string_equal(l->heard, text);
}

static int ignore_session(const struct chela_store_session *s, void *user) {
    *(uint64_t *)user = s->token;
    return 0;
}

static void commit_one(chela_store *s, struct chela_store_change c) {
    struct chela_error err = {0};
    c.now = 1000;
    assert_int_equal(ch_store_commit(s, &c, 1, false, &err), 0);
    assert_int_equal(c.rc, 0);
}

/* The process that has a session hears of its events, and all hear of its release. */
static void test_news_of_other_processes(void **state) {
    (void)state;
    struct chela_store_opts opts = CHELA_STORE_OPTS(.module_path = modules);
    struct chela_store_claim claim = {
        .key = "a", .agent = "x", .owner = "somebody", .now = 1, .until = INT64_MAX, .create = 1};
    struct chela_store_change event = {
        .kind = CHELA_STORE_ACCEPT, .id = "e1", .key = "a", .data = "{}", .n = 2};
    struct listener l = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct chela_error err = {0};
    const char *note = NULL;
    uint64_t token = 0;
    chela_store *s;
    pthread_t thread;
    reset();
    assert_int_equal(chela_store_open(url, &opts, &s, &err), 0);
    commit_one(s, event); /* before anybody listens */
    assert_int_equal(ch_store_open_session(s, &claim, ignore_session, &token, &err), 0);
    l.ops = s->ops;
    assert_int_equal(s->ops->open(s->target, 1, &l.db, &note, &err), 0);
    assert_int_equal(pipe(l.stop), 0);
    assert_int_equal(pthread_create(&thread, NULL, listen_for_news, &l), 0);
    usleep(50000); /* it listens, or hears of the first event too */
    pthread_mutex_lock(&l.lock);
    l.heard[0] = '\0';
    pthread_mutex_unlock(&l.lock);
    event.id = "e2";
    commit_one(s, event);
    wait_to_hear(&l, "+a ");
    event.id = "e3";
    event.key = "nobody has it";
    commit_one(s, event);
    commit_one(s, (struct chela_store_change){
                      .kind = CHELA_STORE_RELEASE, .key = "a", .token = token});
    wait_to_hear(&l, "+a -a ");
    assert_int_equal(write(l.stop[1], "", 1), 1);
    pthread_join(thread, NULL);
    l.ops->close(l.db);
    close(l.stop[0]);
    close(l.stop[1]);
    chela_store_close(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged_files_are_refused),
        cmocka_unit_test(test_foreign_and_newer_files_are_refused),
        cmocka_unit_test(test_format_1_is_brought_up_to_date),
        cmocka_unit_test(test_a_migration_ends_older_processes),
        cmocka_unit_test(test_places_that_cannot_be),
        cmocka_unit_test(test_the_file_is_private),
        cmocka_unit_test(test_a_changed_record_is_noticed),
        cmocka_unit_test(test_deleted_sessions_give_their_space_back),
        cmocka_unit_test(test_a_search_indexes_in_parts),
        cmocka_unit_test(test_an_index_is_made_again),
        cmocka_unit_test(test_a_scan_reads_in_parts),
        cmocka_unit_test(test_short_processes_leave_a_short_log),
        cmocka_unit_test(test_a_store_opened_for_reading_is_searched),
        cmocka_unit_test(test_news_of_other_processes),
    };
    if (!mkdtemp(dir))
        return 1;
    modules = modules_dir();
    snprintf(path, sizeof(path), "%s/chela.db", dir);
    snprintf(url, sizeof(url), "sqlite:%s", path);
    int failed = conformance_run(&(struct conformance){
        .name = "sqlite", .url = url, .module_path = modules, .reset = reset, .lasting = true});
    failed += cmocka_run_group_tests_name("sqlite files", tests, NULL, NULL);
    reset();
    rmdir(dir);
    ch_free(modules);
    return failed;
}
