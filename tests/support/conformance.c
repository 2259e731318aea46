/* conformance.c -- see conformance.h. Each test uses the backend through an open store, as
 * store/ does, and begins with an empty store. */
#include "support/conformance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "store/store.h"

static const struct conformance *under_test;
static chela_store *store;
static struct chela_error err;

static chela_store *open_store(void) {
    struct chela_store_opts opts = CHELA_STORE_OPTS(.module_path = under_test->module_path);
    chela_store *s = NULL;
    struct chela_error why = {0};
    if (chela_store_open(under_test->url, &opts, &s, &why) < 0)
        fail_msg("%s: %s", under_test->url, why.message);
    return s;
}

static int setup(void **state) {
    (void)state;
    if (under_test->reset)
        under_test->reset();
    err = (struct chela_error){0};
    store = open_store();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    chela_store_close(store);
    store = NULL;
    return 0;
}

/* --- words for tests -------------------------------------------------------- */

struct row {
    uint64_t token, last, base, window, turns, messages;
    int64_t until, updated, created;
    char owner[64], status[32], title[64], agent[64], parent[64];
    unsigned seen;
};

static int keep_row(const struct chela_store_session *s, void *user) {
    struct row *r = user;
    *r = (struct row){.token = s->token,
                      .last = s->last,
                      .base = s->base,
                      .window = s->window,
                      .turns = s->turns,
                      .messages = s->messages,
                      .until = s->until,
                      .updated = s->updated,
                      .created = s->created,
                      .seen = r->seen + 1};
    snprintf(r->owner, sizeof(r->owner), "%s", s->owner);
    snprintf(r->status, sizeof(r->status), "%s", s->status);
    snprintf(r->title, sizeof(r->title), "%s", s->title);
    snprintf(r->agent, sizeof(r->agent), "%s", s->agent);
    snprintf(r->parent, sizeof(r->parent), "%s", s->parent);
    return 0;
}

static int claim_at(const char *key, const char *owner, int64_t now, uint64_t steal,
                    struct row *row) {
    struct chela_store_claim c = {.key = key,
                                  .agent = "main",
                                  .owner = owner,
                                  .now = now,
                                  .until = now + 1000,
                                  .steal = steal,
                                  .create = 1};
    *row = (struct row){0};
    err = (struct chela_error){0};
    return ch_store_open_session(store, &c, keep_row, row, &err);
}

static uint64_t open_session(const char *key) {
    struct row row;
    if (claim_at(key, "me", 100, 0, &row) < 0)
        fail_msg("open %s: %s", key, err.message);
    return row.token;
}

static int commit(struct chela_store_change *c, size_t n) {
    err = (struct chela_error){0};
    int rc = ch_store_commit(store, c, n, true, &err);
    if (rc < 0)
        fail_msg("commit: %s", err.message);
    return c[0].rc;
}

static struct chela_store_record record(uint64_t seq, const char *data) {
    struct chela_store_record r = {
        .seq = seq, .ts = 1000 + (int64_t)seq, .type = 2, .data = data, .n = strlen(data)};
    r.sum = ch_record_sum(&r);
    return r;
}

static struct chela_store_change append_of(const char *key, uint64_t token,
                                           const struct chela_store_record *r, size_t n) {
    return (struct chela_store_change){.kind = CHELA_STORE_APPEND,
                                       .key = key,
                                       .token = token,
                                       .now = 2000,
                                       .records = r,
                                       .nrecords = n};
}

static int append(const char *key, uint64_t token, uint64_t seq, const char *data) {
    struct chela_store_record r = record(seq, data);
    struct chela_store_change c = append_of(key, token, &r, 1);
    return commit(&c, 1);
}

static int add_record(const struct chela_store_record *r, void *user) {
    ch_buf_addf(user, "%llu:%.*s;", (unsigned long long)r->seq, (int)r->n, r->data);
    return 0;
}

static void check_records(const char *key, uint64_t from, const char *want) {
    CH_BUF_AUTO got = {0};
    err = (struct chela_error){0};
    if (chela_store_records(store, key, from, add_record, &got, &err) < 0)
        fail_msg("records of %s: %s", key, err.message);
    assert_string_equal(ch_buf_str(&got), want);
}

static int no_record(const struct chela_store_record *r, void *user) {
    (void)user;
    fail_msg("record %llu was passed", (unsigned long long)r->seq);
    return 0;
}

static struct row row_of(const char *key) {
    struct row row = {0};
    chela_store_session(store, key, keep_row, &row, &err);
    return row;
}

static int add_key(const struct chela_store_session *s, void *user) {
    ch_buf_addf(user, "%s;", s->key);
    return 0;
}

static void check_list(const struct chela_store_filter *f, const char *want) {
    CH_BUF_AUTO got = {0};
    assert_int_equal(chela_store_list(store, f, add_key, &got, &err), 0);
    assert_string_equal(ch_buf_str(&got), want);
}

static int add_item(const struct chela_store_item *i, void *user) {
    ch_buf_addf(user, "%s/%s/%s/%.*s/%s/%llu;", i->id, i->key, i->state, (int)i->n, i->data,
                i->receipt, (unsigned long long)i->attempts);
    return 0;
}

static void check_box(enum chela_store_box box, const char *want) {
    CH_BUF_AUTO got = {0};
    assert_int_equal(store->ops->items(store->db, box, add_item, &got, &err), 0);
    assert_string_equal(ch_buf_str(&got), want);
}

static void check_waiting(const char *key, size_t limit, const char *want) {
    CH_BUF_AUTO got = {0};
    assert_int_equal(ch_store_waiting(store, key, limit, add_item, &got, &err), 0);
    assert_string_equal(ch_buf_str(&got), want);
}

/* --- sessions and records ----------------------------------------------------- */

static void test_a_new_session_is_empty(void **state) {
    (void)state;
    struct row row;
    assert_int_equal(claim_at("a", "me", 100, 0, &row), 0);
    assert_int_equal(row.last, 0);
    assert_int_equal(row.window, 1);
    assert_true(row.token > 0);
    assert_string_equal(row.owner, "me");
    assert_string_equal(row.status, "idle");
    assert_string_equal(row.agent, "main");
    assert_int_equal(row.created, 100);
    struct row stored = row_of("a");
    assert_memory_equal(&row, &stored, offsetof(struct row, seen));
    check_records("a", 1, "");
}

static void test_no_session_without_create(void **state) {
    (void)state;
    struct chela_store_claim c = {.key = "a", .agent = "", .owner = "me", .now = 1, .until = 2};
    struct row row = {0};
    assert_int_equal(ch_store_open_session(store, &c, keep_row, &row, &err), CHELA_ENOENT);
    assert_int_equal(row.seen, 0);
    assert_int_equal(chela_store_session(store, "a", keep_row, &row, &err), CHELA_ENOENT);
    CH_BUF_AUTO got = {0};
    assert_int_equal(chela_store_records(store, "a", 1, add_record, &got, &err), CHELA_ENOENT);
}

static void test_records_come_back_in_order(void **state) {
    (void)state;
    uint64_t token = open_session("a");
    struct chela_store_record two[] = {record(1, "{\"x\":1}"), record(2, "{\"y\":\"ü 中\"}")};
    struct chela_store_change c = append_of("a", token, two, 2);
    c.head = (struct chela_store_head){
        .status = "running", .title = "first words", .turns = 1, .messages = 2};
    assert_int_equal(commit(&c, 1), 0);
    assert_int_equal(append("a", token, 3, "{}"), 0);
    check_records("a", 1, "1:{\"x\":1};2:{\"y\":\"ü 中\"};3:{};");
    check_records("a", 3, "3:{};");
    struct row row = row_of("a");
    assert_int_equal(row.last, 3);
    assert_int_equal(row.turns, 1);
    assert_int_equal(row.messages, 2);
    assert_int_equal(row.updated, 2000);
    assert_string_equal(row.status, "running");
    assert_string_equal(row.title, "first words");
}

/* An append that changes neither status nor title may leave a fresh `updated` as it is. */
static void test_updated_follows(void **state) {
    static const struct {
        int64_t now;
        const char *status;
        int64_t least;
    } steps[] = {
        {5000, "running", 5000}, {5999, NULL, 5000}, {6000, NULL, 6000},
        {6500, "idle", 6500},    {6600, NULL, 6500}, {9000, NULL, 9000},
        {8000, NULL, 8000}, /* the clock was set back */
    };
    (void)state;
    uint64_t token = open_session("a");
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        struct chela_store_record r = record(i + 1, "{}");
        struct chela_store_change c = append_of("a", token, &r, 1);
        c.now = steps[i].now;
        c.head.status = steps[i].status;
        assert_int_equal(commit(&c, 1), 0);
        assert_in_range(row_of("a").updated, steps[i].least, steps[i].now);
    }
    assert_int_equal(row_of("a").last, sizeof(steps) / sizeof(*steps));
}

static void test_large_records(void **state) {
    (void)state;
    size_t n = 3 << 20;
    char *big = ch_malloc(n + 1);
    memset(big, 'x', n);
    memcpy(big, "{\"", 2);
    big[n] = '\0';
    uint64_t token = open_session("a");
    assert_int_equal(append("a", token, 1, big), 0);
    CH_BUF_AUTO got = {0};
    assert_int_equal(chela_store_records(store, "a", 1, add_record, &got, &err), 0);
    assert_int_equal(got.n, n + 3);
    ch_free(big);
}

static void test_a_gap_is_refused(void **state) {
    (void)state;
    uint64_t token = open_session("a");
    assert_int_equal(append("a", token, 2, "{}"), CHELA_ESTATE);
    assert_int_equal(append("a", token, 1, "{}"), 0);
    assert_int_equal(append("a", token, 1, "{}"), CHELA_ESTATE);
    assert_int_equal(append("b", token, 1, "{}"), CHELA_ENOENT);
    check_records("a", 1, "1:{};");
}

static void test_sessions_are_apart(void **state) {
    (void)state;
    uint64_t a = open_session("a"), b = open_session("ab");
    assert_int_equal(append("a", a, 1, "1"), 0);
    assert_int_equal(append("ab", b, 1, "2"), 0);
    assert_int_equal(append("a", a, 2, "3"), 0);
    check_records("a", 1, "1:1;2:3;");
    check_records("ab", 1, "1:2;");
}

static void test_a_refused_change_fails_alone(void **state) {
    (void)state;
    uint64_t a = open_session("a"), b = open_session("b");
    struct chela_store_record r = record(1, "{}");
    struct chela_store_change c[] = {append_of("a", a, &r, 1), append_of("b", b + 7, &r, 1),
                                     append_of("b", b, &r, 1)};
    assert_int_equal(commit(c, 3), 0);
    assert_int_equal(c[1].rc, CHELA_EPERM);
    assert_int_equal(c[2].rc, 0);
    check_records("a", 1, "1:{};");
    check_records("b", 1, "1:{};");
}

static void test_the_window_only_moves_on(void **state) {
    (void)state;
    uint64_t token = open_session("a");
    struct chela_store_record r = record(1, "{}"), s = record(2, "{}");
    struct chela_store_change c = append_of("a", token, &r, 1);
    c.head.window = 5;
    commit(&c, 1);
    c = append_of("a", token, &s, 1);
    c.head.window = 3;
    commit(&c, 1);
    assert_int_equal(row_of("a").window, 5);
}

/* --- leases ------------------------------------------------------------------------ */

static void test_one_writer(void **state) {
    (void)state;
    struct row mine, theirs;
    assert_int_equal(claim_at("a", "me", 100, 0, &mine), 0);
    assert_int_equal(claim_at("a", "you", 200, 0, &theirs), CHELA_EBUSY);
    assert_string_equal(theirs.owner, "me");
    assert_int_equal(theirs.token, mine.token);
    assert_int_equal(append("a", mine.token, 1, "{}"), 0);
}

static void test_takeover_after_expiry(void **state) {
    (void)state;
    struct row mine, theirs;
    assert_int_equal(claim_at("a", "me", 100, 0, &mine), 0);
    assert_int_equal(claim_at("a", "you", 1100, 0, &theirs), 0);
    assert_true(theirs.token > mine.token);
    assert_int_equal(append("a", mine.token, 1, "{}"), CHELA_EPERM);
    assert_int_equal(append("a", theirs.token, 1, "{}"), 0);
}

static void test_an_expired_lease_still_writes_until_taken(void **state) {
    (void)state;
    struct row mine;
    assert_int_equal(claim_at("a", "me", -5000, 0, &mine), 0);
    assert_int_equal(append("a", mine.token, 1, "{}"), 0);
}

static void test_stealing_from_the_dead(void **state) {
    (void)state;
    struct row mine, theirs;
    assert_int_equal(claim_at("a", "me", 100, 0, &mine), 0);
    assert_int_equal(claim_at("a", "you", 200, mine.token + 1, &theirs), CHELA_EBUSY);
    assert_int_equal(claim_at("a", "you", 200, mine.token, &theirs), 0);
    assert_int_equal(claim_at("a", "third", 200, mine.token, &theirs), CHELA_EBUSY);
    assert_int_equal(append("a", mine.token, 1, "{}"), CHELA_EPERM);
}

/* With `judge`, the caller knows better than the clock whether a lease has expired. */
static void test_an_expired_lease_to_be_judged(void **state) {
    (void)state;
    struct row mine, theirs = {0};
    assert_int_equal(claim_at("a", "me", 100, 0, &mine), 0);
    struct chela_store_claim c = {
        .key = "a", .agent = "", .owner = "you", .now = 9000, .until = 9900, .judge = 1};
    err = (struct chela_error){0};
    assert_int_equal(ch_store_open_session(store, &c, keep_row, &theirs, &err), CHELA_EBUSY);
    assert_string_equal(theirs.owner, "me");
    assert_int_equal(theirs.until, 1100);
    c.steal = theirs.token;
    assert_int_equal(ch_store_open_session(store, &c, keep_row, &theirs, &err), 0);
    assert_true(theirs.token > mine.token);
    assert_int_equal(append("a", mine.token, 1, "{}"), CHELA_EPERM);
}

static void test_renewing_and_giving_back(void **state) {
    (void)state;
    struct row mine, theirs;
    assert_int_equal(claim_at("a", "me", 100, 0, &mine), 0);
    struct chela_store_change c = {
        .kind = CHELA_STORE_RENEW, .key = "a", .token = mine.token, .until = 9000};
    assert_int_equal(commit(&c, 1), 0);
    assert_int_equal(claim_at("a", "you", 5000, 0, &theirs), CHELA_EBUSY);
    c.token++;
    assert_int_equal(commit(&c, 1), CHELA_EPERM);
    c = (struct chela_store_change){
        .kind = CHELA_STORE_RELEASE, .key = "a", .token = mine.token};
    assert_int_equal(commit(&c, 1), 0);
    assert_string_equal(row_of("a").owner, "");
    assert_int_equal(claim_at("a", "you", 5000, 0, &theirs), 0);
    assert_int_equal(commit(&c, 1), CHELA_EPERM);
}

/* --- lists, titles, deletion ---------------------------------------------------------- */

static void make_at(const char *key, int64_t now, const char *status) {
    struct chela_store_record r = record(1, "{}");
    uint64_t token = open_session(key);
    struct chela_store_change c = append_of(key, token, &r, 1);
    c.now = now;
    c.head.status = status;
    commit(&c, 1);
}

static void test_lists(void **state) {
    (void)state;
    make_at("team:a", 3000, "idle");
    make_at("team:b", 5000, "paused");
    make_at("other", 4000, "idle");
    check_list(NULL, "team:b;other;team:a;");
    check_list(&(struct chela_store_filter)CHELA_STORE_FILTER(.prefix = "team:"), "team:b;team:a;");
    check_list(&(struct chela_store_filter)CHELA_STORE_FILTER(.status = "idle"), "other;team:a;");
    check_list(&(struct chela_store_filter)CHELA_STORE_FILTER(.before = 4000), "team:a;");
    check_list(&(struct chela_store_filter)CHELA_STORE_FILTER(.limit = 2), "team:b;other;");
    check_list(&(struct chela_store_filter)CHELA_STORE_FILTER(.prefix = "team:%"), "");
}

static int add_scanned(const char *key, const char *agent, const struct chela_store_record *r,
                       void *user) {
    struct ch_buf *got = user;
    ch_buf_addf(got, "%s/%s/%llu/%u;", key, agent, (unsigned long long)r->seq, r->type);
    return memcmp(r->data, "stop", CH_MIN(r->n, (size_t)4)) == 0;
}

static void check_scan(struct ch_store_scan scan, const char *one, const char *other) {
    CH_BUF_AUTO got = {0};
    err = (struct chela_error){0};
    if (ch_store_scan(store, &scan, add_scanned, &got, &err) < 0)
        fail_msg("scan: %s", err.message);
    if (strcmp(ch_buf_str(&got), one) != 0)
        assert_string_equal(ch_buf_str(&got), other);
}

static void append_typed(const char *key, int64_t now, const unsigned *types, size_t n) {
    struct chela_store_record r[4];
    uint64_t token = open_session(key);
    for (size_t i = 0; i < n; i++) {
        r[i] = record(i + 1, types[i] == 63 ? "stop" : "{}");
        r[i].type = types[i];
        r[i].sum = ch_record_sum(&r[i]);
    }
    struct chela_store_change c = append_of(key, token, r, n);
    c.now = now;
    assert_int_equal(commit(&c, 1), 0);
}

/* The store decides the order of the sessions. */
static void test_records_of_many_sessions(void **state) {
    (void)state;
    const uint64_t two = (uint64_t)1 << 2, three = (uint64_t)1 << 3, last = (uint64_t)1 << 63;
    check_scan((struct ch_store_scan){.types = ~(uint64_t)0}, "", "");
    append_typed("a", 3000, (unsigned[]){2, 3, 2, 14}, 4);
    open_session("empty");
    append_typed("b", 5000, (unsigned[]){3, 14, 2}, 3);
    check_scan((struct ch_store_scan){.types = two}, "a/main/1/2;a/main/3/2;b/main/3/2;",
               "b/main/3/2;a/main/1/2;a/main/3/2;");
    check_scan((struct ch_store_scan){.types = two | three, .since = 5000},
               "b/main/1/3;b/main/3/2;", "");
    check_scan((struct ch_store_scan){.types = three, .limit = 1}, "b/main/1/3;", "");
    append_typed("old", 4000, (unsigned[]){2, 2}, 2); /* not listed, between two that are */
    append_typed("d", 5000, (unsigned[]){2, 2}, 2);
    append_typed("older", 2000, (unsigned[]){2}, 1);
    check_scan((struct ch_store_scan){.types = two, .since = 5000},
               "b/main/3/2;d/main/1/2;d/main/2/2;", "d/main/1/2;d/main/2/2;b/main/3/2;");
    append_typed("c", 6000, (unsigned[]){63, 2}, 2);
    check_scan((struct ch_store_scan){.types = last | two, .since = 6000}, "c/main/1/63;", "");
}

static void test_records_beyond_one_query(void **state) {
    (void)state;
    enum { SESSIONS = 2 * CH_LIMIT_SCAN_SESSIONS };
    static char keys[SESSIONS][16];
    static struct chela_store_change changes[SESSIONS];
    for (size_t i = 0; i < SESSIONS; i++) {
        snprintf(keys[i], sizeof(keys[i]), "s%zu", i);
        changes[i] = (struct chela_store_change){.kind = CHELA_STORE_CREATE,
                                                 .key = keys[i],
                                                 .id = "",
                                                 .data = "main",
                                                 .n = 4,
                                                 .now = 100};
    }
    append_typed("first", 5000, (unsigned[]){2}, 1);
    assert_int_equal(commit(changes, SESSIONS), 0);
    append_typed("last", 4000, (unsigned[]){2}, 1);
    check_scan((struct ch_store_scan){.types = 1 << 2}, "first/main/1/2;last/main/1/2;",
               "last/main/1/2;first/main/1/2;");
}

static void test_titles(void **state) {
    (void)state;
    open_session("a");
    assert_int_equal(chela_store_title(store, "a", "a title", &err), 0);
    assert_string_equal(row_of("a").title, "a title");
    assert_int_equal(chela_store_title(store, "b", "x", &err), CHELA_ENOENT);
}

static void test_deletion(void **state) {
    (void)state;
    uint64_t token = open_session("a");
    append("a", token, 1, "{}");
    struct chela_store_change c[] = {
        {.kind = CHELA_STORE_ACCEPT, .id = "e1", .key = "a", .data = "x", .n = 1},
        {.kind = CHELA_STORE_INTENT, .id = "o1", .key = "a", .data = "y", .n = 1},
        {.kind = CHELA_STORE_DELETE, .key = "a", .now = 500}};
    commit(c, 3);
    assert_int_equal(c[2].rc, CHELA_EBUSY);
    c[2].now = 5000;
    assert_int_equal(commit(&c[2], 1), 0);
    assert_int_equal(commit(&c[2], 1), CHELA_ENOENT);
    check_list(NULL, "");
    check_box(CHELA_STORE_INBOX, "");
    check_box(CHELA_STORE_OUTBOX, "");
    assert_int_equal(append("a", token, 2, "{}"), CHELA_ENOENT);
    /* the key is free again, and the old records do not return */
    token = open_session("a");
    check_records("a", 1, "");
    /* token 2: only the records go */
    append("a", token, 3, "{}");
    c[0].id = "e2";
    commit(c, 2);
    c[2].token = 2;
    assert_int_equal(commit(&c[2], 1), 0);
    check_box(CHELA_STORE_INBOX, "e2/a/new/x//0;");
    check_box(CHELA_STORE_OUTBOX, "o1/a/intent/y//0;");
    check_waiting("a", 9, "e2/a/new/x//0;");
    open_session("a");
    check_records("a", 1, "");
}

/* The numbers of a key go on after a deletion, which takes one number. A reader with a number of
 * the deleted session gets no record of the next one. */
static void test_numbers_go_on_after_a_deletion(void **state) {
    (void)state;
    struct chela_store_change gone = {.kind = CHELA_STORE_DELETE, .key = "a", .now = 5000};
    uint64_t token = open_session("a");
    append("a", token, 1, "{}");
    append("a", token, 2, "{}");
    append("a", token, 3, "{}");
    assert_int_equal(commit(&gone, 1), 0);
    struct row opened;
    assert_int_equal(claim_at("a", "me", 100, 0, &opened), 0);
    token = opened.token;
    assert_int_equal(opened.last, 4);
    assert_int_equal(opened.base, 4);
    assert_int_equal(opened.window, 5);
    assert_int_equal(row_of("a").last, 4);
    assert_int_equal(row_of("a").base, 4);
    assert_int_equal(row_of("a").window, 5);
    check_records("a", 1, "");
    assert_int_equal(append("a", token, 1, "{}"), CHELA_ESTATE);
    assert_int_equal(append("a", token, 4, "{}"), CHELA_ESTATE);
    assert_int_equal(append("a", token, 5, "{\"n\":1}"), 0);
    assert_int_equal(append("a", token, 6, "{\"n\":2}"), 0);
    check_records("a", 0, "5:{\"n\":1};6:{\"n\":2};");
    check_records("a", 1, "5:{\"n\":1};6:{\"n\":2};");
    check_records("a", 5, "5:{\"n\":1};6:{\"n\":2};");
    check_records("a", 6, "6:{\"n\":2};");
    for (uint64_t from = 2; from <= 4; from++)
        assert_int_equal(chela_store_records(store, "a", from, no_record, NULL, &err),
                         CHELA_ENOENT);
    /* other keys begin at 1; a copy and an import are numbered anew */
    open_session("b");
    assert_int_equal(row_of("b").last, 0);
    assert_int_equal(chela_store_fork(store, "a", -1, "c", &err), 0);
    check_records("c", 1, "1:{\"n\":1};2:{\"n\":2};");
    assert_int_equal(commit(&gone, 1), 0);
    assert_int_equal(chela_store_fork(store, "c", -1, "a", &err), 0);
    check_records("a", 1, "8:{\"n\":1};9:{\"n\":2};");
    /* a session without records takes no number */
    gone.key = "b";
    assert_int_equal(commit(&gone, 1), 0);
    open_session("b");
    assert_int_equal(row_of("b").last, 0);
}

/* Of more keys than the limit, the oldest are forgotten: new keys begin above their numbers. */
static void test_keys_of_deleted_sessions_are_bounded(void **state) {
    (void)state;
    enum { EACH = 100 };
    static struct chela_store_change c[3 * EACH];
    static char keys[EACH][24];
    struct chela_store_record one = record(1, "{}");
    for (int round = 0; round < CH_LIMIT_PAST / EACH + 1; round++) {
        for (int i = 0; i < EACH; i++) {
            snprintf(keys[i], sizeof(keys[i]), "k%d", round * EACH + i);
            c[3 * i] = (struct chela_store_change){.kind = CHELA_STORE_CREATE, .key = keys[i],
                                                   .id = "", .data = "", .now = 1};
            c[3 * i + 1] = append_of(keys[i], 0, &one, 1);
            c[3 * i + 2] = (struct chela_store_change){
                .kind = CHELA_STORE_DELETE, .key = keys[i], .now = 5000};
        }
        assert_int_equal(commit(c, 3 * EACH), 0);
        assert_int_equal(c[1].rc, 0);
        assert_int_equal(c[2].rc, 0);
    }
    assert_int_equal(ch_store_expire(store, 0, &err), 0);
    open_session("new");
    assert_int_equal(row_of("new").base, 2);
    open_session("k0");
    assert_int_equal(row_of("k0").base, 2);
    open_session(keys[EACH - 1]);
    assert_int_equal(row_of(keys[EACH - 1]).base, 2);
}

/* An event is accepted once, even if its session is deleted, for the time for which a handled
 * event is remembered. Another event with the same session is accepted. */
static void test_events_outlive_their_session(void **state) {
    (void)state;
    int64_t now = ch_store_now();
    struct chela_store_change c[] = {
        {.kind = CHELA_STORE_ACCEPT, .id = "e1", .key = "a", .data = "x", .n = 1, .now = now},
        {.kind = CHELA_STORE_ACCEPT, .id = "e2", .key = "a", .data = "x", .n = 1, .now = now},
        {.kind = CHELA_STORE_SETTLE, .id = "e1"}};
    struct chela_store_change gone = {.kind = CHELA_STORE_DELETE, .key = "a", .now = 5000};
    open_session("a");
    assert_int_equal(commit(c, 3), 0);
    assert_int_equal(commit(&gone, 1), 0);
    assert_int_equal(commit(&c[0], 1), CHELA_EEXIST);
    assert_int_equal(commit(&c[1], 1), CHELA_EEXIST);
    check_box(CHELA_STORE_INBOX, "");
    c[1].id = "e3";
    assert_int_equal(commit(&c[1], 1), 0);
    check_box(CHELA_STORE_INBOX, "e3/a/new/x//0;");
    c[0].now = now + CH_DEFAULT_DONE_MS;
    assert_int_equal(commit(&c[0], 1), 0);
}

/* Of more ids than the limit, the oldest are forgotten. */
static void test_ids_of_deleted_sessions_are_bounded(void **state) {
    (void)state;
    enum { EACH = 1000 };
    static struct chela_store_change c[EACH];
    static char ids[EACH][24];
    struct chela_store_change gone = {.kind = CHELA_STORE_DELETE, .key = "a", .now = 5000};
    int64_t now = ch_store_now();
    for (int round = 0; round < CH_LIMIT_GONE_EVENTS / EACH + 1; round++) {
        open_session("a");
        for (int i = 0; i < EACH; i++) {
            int n = round * EACH + i;
            snprintf(ids[i], sizeof(ids[i]), "e%d", n);
            c[i] = (struct chela_store_change){.kind = CHELA_STORE_ACCEPT, .id = ids[i],
                                               .key = "a", .data = "", .now = now + n};
        }
        assert_int_equal(commit(c, EACH), 0);
        assert_int_equal(commit(&gone, 1), 0);
    }
    struct chela_store_change again[] = {
        {.kind = CHELA_STORE_ACCEPT, .id = "e0", .key = "a", .data = "", .now = now},
        {.kind = CHELA_STORE_ACCEPT, .id = "e999", .key = "a", .data = "", .now = now},
        {.kind = CHELA_STORE_ACCEPT, .id = "e1000", .key = "a", .data = "", .now = now}};
    commit(again, 3);
    assert_int_equal(again[0].rc, 0);
    assert_int_equal(again[1].rc, 0);
    assert_int_equal(again[2].rc, CHELA_EEXIST);
}

/* Deletes a session only if it was not used since a time, and nothing waits for it. */
static void test_deletion_on_conditions(void **state) {
    (void)state;
    make_at("a", 3000, "idle");
    struct chela_store_change c[] = {
        {.kind = CHELA_STORE_ACCEPT, .id = "e1", .key = "a", .data = "x", .n = 1},
        {.kind = CHELA_STORE_INTENT, .id = "o1", .key = "a", .data = "y", .n = 1},
        {.kind = CHELA_STORE_SETTLE, .id = "e1"},
        {.kind = CHELA_STORE_RECEIPT, .id = "o1", .state = "uncertain", .data = "", .n = 0}};
    struct chela_store_change gone = {
        .kind = CHELA_STORE_DELETE, .key = "a", .now = 90000, .until = 3000};
    assert_int_equal(commit(&gone, 1), CHELA_EBUSY);
    gone.until = 3001;
    gone.token = 1;
    commit(&c[0], 1);
    assert_int_equal(commit(&gone, 1), CHELA_EBUSY);
    commit(&c[2], 1);
    commit(&c[1], 1);
    assert_int_equal(commit(&gone, 1), CHELA_EBUSY);
    commit(&c[3], 1);
    assert_int_equal(commit(&gone, 1), CHELA_EBUSY);
    c[3].state = "failed";
    commit(&c[3], 1);
    assert_int_equal(commit(&gone, 1), 0);
    assert_int_equal(commit(&gone, 1), CHELA_ENOENT);
}

/* Sessions of called agents are deleted with the session that called them, and only with
 * that session. */
static void test_many_are_deleted(void **state) {
    (void)state;
    size_t n = 0;
    char key[40];
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "old%d", i);
        make_at(key, 3000, "idle");
    }
    make_at("old7~helper-0123456789ab", 5000, "idle");
    make_at("old7~helper-0123456789ab~deep-0123456789ab", 5000, "idle");
    make_at("old70x", 5000, "idle");
    make_at("new", 5000, "idle");
    make_at("new~helper-0123456789ab", 5000, "idle");
    assert_int_equal(chela_store_prune(store, 4000, &n, &err), 0);
    assert_int_equal(n, 100);
    check_list(&(struct chela_store_filter)CHELA_STORE_FILTER(.prefix = "old"), "old70x;");
    check_list(&(struct chela_store_filter)CHELA_STORE_FILTER(.prefix = "new"),
               "new~helper-0123456789ab;new;");
}

/* Deletes sessions on the host's request: idle ones without waiting events or messages. */
static void test_retention(void **state) {
    (void)state;
    size_t n = 99;
    make_at("old", 3000, "idle");
    make_at("waits", 3000, "paused");
    make_at("due", 3000, "idle");
    make_at("unsent", 3000, "idle");
    make_at("given-up", 3000, "idle");
    make_at("new", 5000, "idle");
    struct chela_store_change c[] = {
        {.kind = CHELA_STORE_ACCEPT, .id = "e1", .key = "due", .data = "x", .n = 1},
        {.kind = CHELA_STORE_INTENT, .id = "o1", .key = "unsent", .data = "y", .n = 1},
        {.kind = CHELA_STORE_INTENT, .id = "o2", .key = "given-up", .data = "z", .n = 1},
        {.kind = CHELA_STORE_RECEIPT, .id = "o2", .state = "failed", .data = "{}", .n = 2}};
    commit(c, 3);
    commit(&c[3], 1);
    assert_int_equal(ch_store_prune_idle(store, 4000, &n, &err), 0);
    assert_int_equal(n, 2);
    check_list(&(struct chela_store_filter)CHELA_STORE_FILTER(
        .before = 5001, .status = "idle"), "new;unsent;due;");
    check_list(&(struct chela_store_filter)CHELA_STORE_FILTER(.status = "paused"), "waits;");
    assert_int_equal(chela_store_prune(store, 4000, &n, &err), 0);
    assert_int_equal(n, 3);
    check_list(NULL, "new;");
}

static void test_created_with_records(void **state) {
    (void)state;
    struct chela_store_record two[] = {record(1, "1"), record(2, "2")};
    struct chela_store_change c[] = {{.kind = CHELA_STORE_CREATE,
                                      .key = "copy",
                                      .id = "origin",
                                      .data = "coder",
                                      .n = 5,
                                      .now = 77},
                                     append_of("copy", 0, two, 2)};
    commit(c, 2);
    assert_int_equal(c[0].rc, 0);
    assert_int_equal(c[1].rc, 0);
    check_records("copy", 1, "1:1;2:2;");
    struct row row = row_of("copy");
    assert_string_equal(row.parent, "origin");
    assert_string_equal(row.agent, "coder");
    assert_string_equal(row.owner, "");
    assert_int_equal(commit(c, 2), CHELA_EEXIST);
    assert_int_equal(c[1].rc, CHELA_ESTATE);
    uint64_t token = open_session("copy");
    assert_int_equal(append("copy", token, 3, "3"), 0);
}

/* --- inbox and outbox -------------------------------------------------------------------- */

static void test_an_event_is_accepted_once(void **state) {
    (void)state;
    struct chela_store_change c[] = {
        {.kind = CHELA_STORE_ACCEPT, .id = "e1", .key = "a", .data = "{1}", .n = 3, .now = 1},
        {.kind = CHELA_STORE_ACCEPT, .id = "e2", .key = "b", .data = "{2}", .n = 3, .now = 2}};
    commit(c, 2);
    assert_int_equal(c[0].rc, 0);
    assert_int_equal(commit(c, 1), CHELA_EEXIST);
    check_box(CHELA_STORE_INBOX, "e1/a/new/{1}//0;e2/b/new/{2}//0;");
    struct chela_store_change done = {.kind = CHELA_STORE_SETTLE, .id = "e1"};
    assert_int_equal(commit(&done, 1), 0);
    check_box(CHELA_STORE_INBOX, "e2/b/new/{2}//0;");
    /* also after the event was settled */
    assert_int_equal(commit(c, 1), CHELA_EEXIST);
    done.id = "e9";
    assert_int_equal(commit(&done, 1), CHELA_ENOENT);
}

/* Clocks of several machines differ: events are ordered by their transactions. */
static void test_events_wait_in_order(void **state) {
    (void)state;
    struct chela_store_change c[] = {
        {.kind = CHELA_STORE_ACCEPT, .id = "e1", .key = "a", .data = "", .now = 30},
        {.kind = CHELA_STORE_ACCEPT, .id = "e0", .key = "a", .data = "", .now = 10},
        {.kind = CHELA_STORE_ACCEPT, .id = "e9", .key = "b", .data = "", .now = 5},
        {.kind = CHELA_STORE_ACCEPT, .id = "e2", .key = "a", .data = "", .now = 20}};
    commit(c, 3);
    commit(c + 3, 1);
    check_waiting("a", 9, "e1/a/new///0;e0/a/new///0;e2/a/new///0;");
    check_waiting("a", 2, "e1/a/new///0;e0/a/new///0;");
    check_waiting("c", 9, "");
    check_box(CHELA_STORE_INBOX, "e1/a/new///0;e0/a/new///0;e9/b/new///0;e2/a/new///0;");
    struct chela_store_change done = {.kind = CHELA_STORE_SETTLE, .id = "e0"};
    commit(&done, 1);
    check_waiting("a", 9, "e1/a/new///0;e2/a/new///0;");
}

static int take_up(uint64_t token, uint64_t seq, const char *const *takes, size_t n) {
    struct chela_store_record r = record(seq, "{}");
    struct chela_store_change c = append_of("a", token, &r, 1);
    c.takes = takes;
    c.ntakes = n;
    return commit(&c, 1);
}

static void test_events_are_taken_up_with_records(void **state) {
    (void)state;
    const char *const ids[] = {"e1", "e2", "e3"}, *const of_b[] = {"e4"}, *const none[] = {"e9"};
    struct chela_store_change c[] = {
        {.kind = CHELA_STORE_ACCEPT, .id = "e1", .key = "a", .data = "x", .n = 1},
        {.kind = CHELA_STORE_ACCEPT, .id = "e2", .key = "a", .data = "x", .n = 1},
        {.kind = CHELA_STORE_ACCEPT, .id = "e3", .key = "a", .data = "x", .n = 1},
        {.kind = CHELA_STORE_ACCEPT, .id = "e4", .key = "b", .data = "x", .n = 1}};
    uint64_t token = open_session("a");
    commit(c, CH_LEN(c));
    assert_int_equal(take_up(token, 1, ids, 2), 0);
    check_waiting("a", 9, "e3/a/new/x//0;");
    check_records("a", 1, "1:{};");
    /* all or nothing: fails for an event that was taken up, one of another session, an
     * unknown one */
    assert_int_equal(take_up(token, 2, ids + 1, 2), CHELA_EEXIST);
    assert_int_equal(take_up(token, 2, of_b, 1), CHELA_EEXIST);
    assert_int_equal(take_up(token, 2, none, 1), CHELA_EEXIST);
    /* fails with a lost lease, or with a gap in the records */
    assert_int_equal(take_up(token + 1, 2, ids + 2, 1), CHELA_EPERM);
    assert_int_equal(take_up(token, 3, ids + 2, 1), CHELA_ESTATE);
    check_waiting("a", 9, "e3/a/new/x//0;");
    check_waiting("b", 9, "e4/b/new/x//0;");
    check_records("a", 1, "1:{};");
    assert_int_equal(take_up(token, 2, ids + 2, 1), 0);
    check_waiting("a", 9, "");
    assert_int_equal(commit(c, 1), CHELA_EEXIST); /* and the event cannot be accepted again */
}

static void test_messages_are_sent_with_records(void **state) {
    (void)state;
    struct chela_store_send m[] = {{.id = "k1", .data = "hi", .n = 2}, {.id = "k2", .data = ""}};
    struct chela_store_record r = record(1, "{}");
    uint64_t token = open_session("a");
    struct chela_store_change c = append_of("a", token + 1, &r, 1);
    c.sends = m;
    c.nsends = 2;
    assert_int_equal(commit(&c, 1), CHELA_EPERM);
    check_box(CHELA_STORE_OUTBOX, "");
    c.token = token;
    c.nsends = 1;
    assert_int_equal(commit(&c, 1), 0);
    assert_int_equal(m[0].rc, 0);
    check_box(CHELA_STORE_OUTBOX, "k1/a/intent/hi//0;");
    /* A message that already exists does not prevent the records from being stored. */
    r = record(2, "{}");
    c.nsends = 2;
    assert_int_equal(commit(&c, 1), 0);
    assert_int_equal(m[0].rc, CHELA_EEXIST);
    assert_int_equal(m[1].rc, 0);
    check_box(CHELA_STORE_OUTBOX, "k1/a/intent/hi//0;k2/a/intent///0;");
    check_records("a", 1, "1:{};2:{};");
}

static void test_an_intent_has_one_receipt(void **state) {
    (void)state;
    struct chela_store_change c = {
        .kind = CHELA_STORE_INTENT, .id = "k1", .key = "a", .data = "hi", .n = 2, .now = 1};
    assert_int_equal(commit(&c, 1), 0);
    assert_int_equal(commit(&c, 1), CHELA_EEXIST);
    check_box(CHELA_STORE_OUTBOX, "k1/a/intent/hi//0;");
    struct chela_store_change r = {
        .kind = CHELA_STORE_RECEIPT, .id = "k1", .state = "uncertain", .data = "?", .n = 1};
    assert_int_equal(commit(&r, 1), 0);
    check_box(CHELA_STORE_OUTBOX, "k1/a/uncertain/hi/?/1;");
    r.state = "sent";
    r.data = "m";
    assert_int_equal(commit(&r, 1), 0);
    check_box(CHELA_STORE_OUTBOX, "");
    assert_int_equal(commit(&r, 1), CHELA_EEXIST);
    r.id = "k2";
    assert_int_equal(commit(&r, 1), CHELA_ENOENT);
}

static void test_what_is_done_is_forgotten(void **state) {
    (void)state;
    struct chela_store_change c[] = {
        {.kind = CHELA_STORE_ACCEPT, .id = "e1", .key = "a", .data = "", .now = 10},
        {.kind = CHELA_STORE_ACCEPT, .id = "e2", .key = "a", .data = "", .now = 10},
        {.kind = CHELA_STORE_ACCEPT, .id = "e3", .key = "a", .data = "", .now = 20},
        {.kind = CHELA_STORE_INTENT, .id = "k1", .key = "a", .data = "", .now = 10},
        {.kind = CHELA_STORE_INTENT, .id = "k2", .key = "a", .data = "", .now = 10},
        {.kind = CHELA_STORE_SETTLE, .id = "e1"},
        {.kind = CHELA_STORE_SETTLE, .id = "e3"},
        {.kind = CHELA_STORE_RECEIPT, .id = "k1", .state = "sent", .data = ""},
        {.kind = CHELA_STORE_RECEIPT, .id = "k2", .state = "failed", .data = ""}};
    struct chela_store_change expire = {.kind = CHELA_STORE_EXPIRE, .until = 20};
    commit(c, CH_LEN(c));
    assert_int_equal(commit(&expire, 1), 0);
    assert_int_equal(commit(&expire, 1), CHELA_ENOENT);
    /* items that are new, given up or waiting are still listed */
    check_box(CHELA_STORE_INBOX, "e2/a/new///0;");
    check_box(CHELA_STORE_OUTBOX, "k2/a/failed///1;");
    assert_int_equal(commit(&c[2], 1), CHELA_EEXIST);
    assert_int_equal(commit(&c[0], 1), 0);
    assert_int_equal(commit(&c[3], 1), 0);
}

static void test_notes_are_kept_by_name(void **state) {
    (void)state;
    struct chela_store_change c[] = {
        {.kind = CHELA_STORE_NOTE, .id = "n/2", .key = "", .data = "two", .n = 3, .now = 1},
        {.kind = CHELA_STORE_NOTE, .id = "n/1", .key = "a", .data = "one", .n = 3, .now = 2}};
    commit(c, 2);
    check_box(CHELA_STORE_NOTES, "n/1/a//one//0;n/2///two//0;");
    /* replaced, unless the change requires a new note */
    struct chela_store_change again = {.kind = CHELA_STORE_NOTE, .id = "n/2", .key = "b",
                                       .token = 1, .data = "zwei", .n = 4, .now = 3};
    assert_int_equal(commit(&again, 1), CHELA_EEXIST);
    again.token = 0;
    assert_int_equal(commit(&again, 1), 0);
    check_box(CHELA_STORE_NOTES, "n/1/a//one//0;n/2/b//zwei//0;");
    /* notes of a session are deleted with it, others one by one */
    open_session("a");
    struct chela_store_change gone[] = {{.kind = CHELA_STORE_DELETE, .key = "a", .now = 5000},
                                        {.kind = CHELA_STORE_FORGET, .id = "n/2"},
                                        {.kind = CHELA_STORE_FORGET, .id = "n/2"}};
    commit(gone, 1);
    assert_int_equal(gone[0].rc, 0);
    check_box(CHELA_STORE_NOTES, "n/2/b//zwei//0;");
    commit(gone + 1, 2);
    assert_int_equal(gone[1].rc, 0);
    assert_int_equal(gone[2].rc, CHELA_ENOENT);
    check_box(CHELA_STORE_NOTES, "");
}

/* --- texts that are kept for a while ----------------------------------------------------- */

static int keep_text(const struct chela_store_item *i, void *user) {
    ch_buf_addf(user, "%s=%.*s", i->id, (int)i->n, i->data);
    return 0;
}

static void check_kept(const char *id, const char *want) {
    CH_BUF_AUTO got = {0};
    err = (struct chela_error){0};
    int rc = ch_store_kept(store, id, keep_text, &got, &err);
    assert_int_equal(rc, want ? 0 : CHELA_ENOENT);
    assert_string_equal(ch_buf_str(&got), want ? want : "");
}

static void test_texts_are_kept_for_a_while(void **state) {
    (void)state;
    int64_t now = ch_store_now(), day = 24 * 3600000LL;
    struct chela_store_change c = {.kind = CHELA_STORE_KEEP, .id = "q/1", .token = 1,
                                   .data = "one", .n = 3, .now = now, .until = now + day};
    check_kept("q/1", NULL);
    assert_int_equal(commit(&c, 1), 0);
    check_kept("q/1", "q/1=one");
    check_box(CHELA_STORE_NOTES, "");
    /* the first one wins, until it may be replaced or has expired */
    c.data = "two";
    assert_int_equal(commit(&c, 1), CHELA_EEXIST);
    check_kept("q/1", "q/1=one");
    c.token = 0;
    assert_int_equal(commit(&c, 1), 0);
    check_kept("q/1", "q/1=two");
    c.token = 1;
    c.data = "new";
    c.now = now + day;
    c.until = now + 2 * day;
    assert_int_equal(commit(&c, 1), 0);
    check_kept("q/1", "q/1=new");
    /* texts that have not expired stay */
    struct chela_store_change expire = {.kind = CHELA_STORE_EXPIRE, .now = now + day};
    assert_int_equal(commit(&expire, 1), CHELA_ENOENT);
    check_kept("q/1", "q/1=new");
    c.until = 0;
    assert_int_equal(commit(&c, 1), 0);
    check_kept("q/1", NULL);
    assert_int_equal(commit(&c, 1), CHELA_ENOENT);
}

/* A text that belongs to a session is emptied with the session; its name stays. */
static void test_kept_texts_go_with_their_session(void **state) {
    (void)state;
    int64_t now = ch_store_now(), day = 24 * 3600000LL;
    struct chela_store_change c[] = {
        {.kind = CHELA_STORE_KEEP, .id = "q/1", .key = "a", .data = "one", .n = 3},
        {.kind = CHELA_STORE_KEEP, .id = "q/2", .key = "a", .data = "two", .n = 3},
        {.kind = CHELA_STORE_KEEP, .id = "q/3", .key = "a~x", .data = "three", .n = 5},
        {.kind = CHELA_STORE_KEEP, .id = "q/4", .data = "four", .n = 4},
        {.kind = CHELA_STORE_KEEP, .id = "q/5", .key = "a", .data = "old", .n = 3},
        {.kind = CHELA_STORE_KEEP, .id = "q/5", .key = "b", .data = "five", .n = 4}};
    for (size_t i = 0; i < CH_LEN(c); i++) {
        c[i].now = now;
        c[i].until = now + day + (int64_t)i;
    }
    open_session("a");
    assert_int_equal(commit(c, CH_LEN(c)), 0);
    check_kept("q/1", "q/1=one");
    struct chela_store_change gone = {
        .kind = CHELA_STORE_DELETE, .key = "a", .now = 5000, .token = 2};
    assert_int_equal(commit(&gone, 1), 0);
    check_kept("q/1", "q/1=");
    check_kept("q/2", "q/2=");
    check_kept("q/3", "q/3=three");
    check_kept("q/4", "q/4=four");
    check_kept("q/5", "q/5=five");
    c[0].token = 1;
    assert_int_equal(commit(c, 1), CHELA_EEXIST);
    /* a later session with the same key empties nothing of before */
    open_session("a");
    c[1].data = "new";
    assert_int_equal(commit(&c[1], 1), 0);
    assert_int_equal(commit(&gone, 1), 0);
    check_kept("q/2", "q/2=");
}

/* --- searching --------------------------------------------------------------------------- */

static int keep_excerpt(const struct chela_store_hit *h, void *user) {
    ch_buf_addf(user, "%s/%s", h->title, h->excerpt);
    return 0;
}

static int add_hit(const struct chela_store_hit *h, void *user) {
    ch_buf_addf(user, "%s/%llu;", h->key, (unsigned long long)h->seq);
    return 0;
}

static void check_search(const char *text, const char *key, const char *want) {
    CH_BUF_AUTO got = {0};
    err = (struct chela_error){0};
    if (chela_store_search(store, text, key, 10, add_hit, &got, &err) < 0)
        fail_msg("search %s: %s", text, err.message);
    assert_string_equal(ch_buf_str(&got), want);
}

static const char *say(char *out, size_t n, const char *text) {
    snprintf(out, n, "{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}}", text);
    return out;
}

static void test_search(void **state) {
    (void)state;
    char text[256];
    uint64_t a = open_session("a"), b = open_session("b");
    append("a", a, 1, say(text, sizeof(text), "The Quick brown fox"));
    append("b", b, 1, say(text, sizeof(text), "数据库里有三张表"));
    check_search("quick", NULL, "a/1;");
    check_search("brown quick", NULL, "a/1;");
    check_search("三张表", NULL, "b/1;");
    check_search("三张", NULL, "b/1;");
    check_search("quick", "b", "");
    check_search("三张", "b", "b/1;");
    check_search("slow", NULL, "");
    check_search("content", NULL, "");
    append("a", a, 2, say(text, sizeof(text), "a slow snail 100% \\\"quoted\\\""));
    check_search("slow", NULL, "a/2;");
    check_search("\"quoted\"", NULL, "a/2;");
    check_search("100%", NULL, "a/2;");
    check_search("%", NULL, "a/2;");
    assert_int_equal(chela_store_delete(store, "b", &err), 0);
    check_search("三张表", NULL, "");
}

/* Indexing takes more than one transaction. */
static void test_much_is_indexed(void **state) {
    (void)state;
    static char words[40000], text[41000];
    char key[40];
    memset(words, 'z', sizeof(words) - 1);
    memcpy(words + 100, " needle ", 8);
    for (int i = 0; i < 6; i++) {
        snprintf(key, sizeof(key), "s%d", i);
        uint64_t token = open_session(key);
        append(key, token, 1, say(text, sizeof(text), i == 5 ? words : "nothing"));
        append(key, token, 2, say(text, sizeof(text), i == 0 ? words : words + 200));
        append(key, token, 3, say(text, sizeof(text), i == 3 ? "the pin" : "nothing"));
    }
    check_search("pin", NULL, "s3/3;");
    CH_BUF_AUTO got = {0};
    assert_int_equal(chela_store_search(store, "needle", NULL, 10, add_hit, &got, &err), 0);
    assert_non_null(strstr(ch_buf_str(&got), "s0/2;"));
    assert_non_null(strstr(ch_buf_str(&got), "s5/1;"));
    assert_int_equal(got.n, 10);
}

/* Shows the text around a match, cut between two characters. */
static void test_excerpts(void **state) {
    (void)state;
    char text[1024], words[700] = "";
    for (int i = 0; i < 50; i++)
        strncat(words, "天地", sizeof(words) - strlen(words) - 1);
    strncat(words, " needle ", sizeof(words) - strlen(words) - 1);
    for (int i = 0; i < 50; i++)
        strncat(words, "玄黄", sizeof(words) - strlen(words) - 1);
    append("a", open_session("a"), 1, say(text, sizeof(text), words));
    assert_int_equal(chela_store_title(store, "a", "hay", &err), 0);
    CH_BUF_AUTO got = {0};
    err = (struct chela_error){0};
    assert_int_equal(chela_store_search(store, "needle", NULL, 10, keep_excerpt, &got, &err), 0);
    assert_true(ch_utf8_valid(ch_buf_sv(&got)));
    assert_ptr_equal(strstr(ch_buf_str(&got), "hay/"), ch_buf_str(&got));
    assert_non_null(strstr(ch_buf_str(&got), "地 \x01needle\x02 玄"));
    assert_true(got.n < 300);
}

/* --- lasting ------------------------------------------------------------------------------- */

static void test_what_was_committed_stays(void **state) {
    (void)state;
    uint64_t token = open_session("a");
    append("a", token, 1, "{\"one\":1}");
    if (!under_test->lasting)
        return;
    chela_store_close(store);
    store = open_store();
    check_records("a", 1, "1:{\"one\":1};");
    assert_int_equal(row_of("a").token, token);
    assert_int_equal(append("a", token, 2, "{}"), 0);
}

static void test_two_handles(void **state) {
    (void)state;
    if (!under_test->lasting)
        return;
    uint64_t token = open_session("a");
    chela_store *first = store, *second = open_store();
    struct row row;
    store = second;
    assert_int_equal(claim_at("a", "you", 200, 0, &row), CHELA_EBUSY);
    store = first;
    assert_int_equal(append("a", token, 1, "{}"), 0);
    store = second;
    check_records("a", 1, "1:{};");
    assert_int_equal(claim_at("a", "you", 2000, 0, &row), 0);
    assert_int_equal(append("a", row.token, 2, "{}"), 0);
    store = first;
    assert_int_equal(append("a", token, 3, "{}"), CHELA_EPERM);
    check_records("a", 1, "1:{};2:{};");
    chela_store_close(second);
}

static struct chela_store_identity identity_of(chela_store *s, int raise) {
    struct chela_store_identity id = {.store = ""};
    assert_int_equal(s->ops->identity(s->db, raise, &id, &err), 0);
    return id;
}

/* Every change, and the examination, is refused, again and again. */
static void check_lost(chela_store *s) {
    struct chela_store_change note = {
        .kind = CHELA_STORE_NOTE, .id = "n", .key = "", .data = "x", .n = 1, .now = 1};
    struct chela_store_claim claim = {
        .key = "b", .agent = "", .owner = "me", .now = 100, .until = 200, .create = 1};
    struct row row;
    for (int i = 0; i < 2; i++) {
        err = (struct chela_error){0};
        assert_int_equal(ch_store_write(s, &note, 1, true, &err), CHELA_EPROTO);
        assert_non_null(strstr(err.message, "is not the one that this process opened"));
        assert_int_equal(ch_store_write(s, NULL, 0, false, &err), CHELA_EPROTO);
        assert_int_equal(ch_store_open_session(s, &claim, keep_row, &row, &err), CHELA_EPROTO);
    }
    err = (struct chela_error){0};
}

static void test_a_new_epoch_ends_the_old_one(void **state) {
    (void)state;
    if (!under_test->lasting)
        return;
    chela_store *first = store, *second = open_store();
    uint64_t token = open_session("a");
    assert_int_equal(ch_store_write(first, NULL, 0, false, &err), 0);
    struct chela_store_identity before = identity_of(first, 0);
    assert_true(before.mark > 0);
    assert_int_equal(before.format, CHELA_STORE_VERSION);
    struct chela_store_identity after = identity_of(second, 1);
    assert_string_equal(before.store, after.store);
    assert_string_not_equal(before.writer, after.writer);
    assert_int_equal(after.epoch, before.epoch + 1);
    check_lost(first);
    store = second;
    assert_int_equal(append("a", token, 1, "{}"), 0);
    check_records("a", 1, "1:{};");
    chela_store_close(first);
}

static void test_an_emptied_store_is_noticed(void **state) {
    (void)state;
    if (!under_test->lasting || !under_test->reset)
        return;
    open_session("a");
    struct chela_store_identity before = identity_of(store, 0);
    under_test->reset();
    chela_store *second = open_store();
    struct chela_store_identity after = identity_of(second, 0);
    assert_string_not_equal(before.store, after.store);
    check_lost(store);
    chela_store_close(second);
}

int conformance_run(const struct conformance *c) {
#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_a_new_session_is_empty),
        CASE(test_no_session_without_create),
        CASE(test_records_come_back_in_order),
        CASE(test_updated_follows),
        CASE(test_large_records),
        CASE(test_a_gap_is_refused),
        CASE(test_sessions_are_apart),
        CASE(test_a_refused_change_fails_alone),
        CASE(test_the_window_only_moves_on),
        CASE(test_one_writer),
        CASE(test_takeover_after_expiry),
        CASE(test_an_expired_lease_still_writes_until_taken),
        CASE(test_stealing_from_the_dead),
        CASE(test_an_expired_lease_to_be_judged),
        CASE(test_renewing_and_giving_back),
        CASE(test_lists),
        CASE(test_records_of_many_sessions),
        CASE(test_records_beyond_one_query),
        CASE(test_titles),
        CASE(test_deletion),
        CASE(test_numbers_go_on_after_a_deletion),
        CASE(test_keys_of_deleted_sessions_are_bounded),
        CASE(test_events_outlive_their_session),
        CASE(test_ids_of_deleted_sessions_are_bounded),
        CASE(test_deletion_on_conditions),
        CASE(test_many_are_deleted),
        CASE(test_retention),
        CASE(test_created_with_records),
        CASE(test_an_event_is_accepted_once),
        CASE(test_events_wait_in_order),
        CASE(test_events_are_taken_up_with_records),
        CASE(test_messages_are_sent_with_records),
        CASE(test_an_intent_has_one_receipt),
        CASE(test_what_is_done_is_forgotten),
        CASE(test_notes_are_kept_by_name),
        CASE(test_texts_are_kept_for_a_while),
        CASE(test_kept_texts_go_with_their_session),
        CASE(test_search),
        CASE(test_much_is_indexed),
        CASE(test_excerpts),
        CASE(test_what_was_committed_stays),
        CASE(test_two_handles),
        CASE(test_a_new_epoch_ends_the_old_one),
        CASE(test_an_emptied_store_is_noticed),
    };
#undef CASE
    under_test = c;
    return cmocka_run_group_tests_name(c->name, tests, NULL, NULL);
}
