/* test_redis.c -- the Redis store: what every store does, what a server can do
 * to it, what it says about the server's settings, and how long it keeps what.
 * The server is a real one, started here. */
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/redis/db.h"
#include "store/store.h"
#include "support/conformance.h"
#include "support/modules.h"
#include "support/redisserver.h"
#include "support/served.h"

static struct redisserver server;
static char *modules;
static char url[128];
static char answer[256];

static const char *tell(const char *command) {
    redisserver_tell(&server, command, answer, sizeof(answer));
    return answer;
}

static void reset(void) {
    tell("FLUSHALL");
}

static void check_refused(const char *where, int read_only, int code, const char *words) {
    served_check_refused(modules, where, read_only, code, words);
}

static const char *with(const char *login, const char *rest) {
    static char out[256];
    snprintf(out, sizeof(out), "redis://%s127.0.0.1:%d%s", login, server.port, rest);
    return out;
}

/* --- refusals ------------------------------------------------------------------ */

static void test_urls(void **state) {
    static const struct {
        const char *url, *words;
    } cases[] = {
        {"rediss://127.0.0.1", "TLS to Redis is not supported"},
        {"redis://h:0", "the port"},
        {"redis://h:65536", "the port"},
        {"redis://u:slash/sesame@h", "the port"},
        {"redis://u:at@sesame@h", "the host"},
        {"redis://u:%zz-sesame@h", "the user or the password"},
        {"redis://u:%00sesame@h", "the user or the password"},
        {"redis://h/name", "the database"},
        {"redis://h/1?nonsense=1", "not known"},
        {"redis://h/1?ttl=soon", "ttl is a number"},
        {"redis://h/1?ttl=", "ttl is a number"},
        {"redis://h/1?ttl=59", "a minute at least"},
        {"redis://h/1?ttl=99999d", "a hundred years at most"},
        {"redis://h/1?prefix=", "1 to 64"},
        {"redis://h/1?prefix=a%20b", "letters"},
        {"redis://[::1", "the host"},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++)
        check_refused(cases[i].url, 0, CHELA_EINVAL, cases[i].words);
    check_refused("redis://h?password_file=/nonexistent/sesam", 0, CHELA_EAUTH, "No such file");
}

static void test_no_way_in(void **state) {
    (void)state;
    check_refused(with("", ""), 0, CHELA_EAUTH, "NOAUTH");
    check_refused(with(":wrong-sesame@", ""), 0, CHELA_EAUTH, "WRONGPASS");
    check_refused(with("nobody:open-sesame@", ""), 0, CHELA_EAUTH, "WRONGPASS");
    check_refused(with(":" REDISSERVER_PASSWORD "@", "/5000"), 0, CHELA_ENOENT, "DB index");
    check_refused("redis://:open-sesame@127.0.0.1:1/0", 0, CHELA_ENET, "redis://127.0.0.1:1/0");
    check_refused("redis://:open-sesame@host.invalid/0", 0, CHELA_ENET, "redis://host.invalid");
}

static void test_a_password_in_a_file(void **state) {
    char path[160], where[512];
    (void)state;
    reset();
    snprintf(path, sizeof(path), "%s/pw", server.dir);
    FILE *f = fopen(path, "w");
    fprintf(f, "%s\n", REDISSERVER_PASSWORD);
    fclose(f);
    snprintf(where, sizeof(where), "%s?password_file=%s", with("", "/2"), path);
    chela_store_close(served_must_open(modules, where));
    chela_store_close(served_must_open(modules, with("default:open%2dsesame@", "/2")));
}

static void test_other_formats(void **state) {
    struct chela_error err;
    int rc;
    (void)state;
    reset();
    chela_store_close(served_open(modules, url, 1, &rc, &err));
    assert_int_equal(rc, 0);
    assert_string_equal(tell("DBSIZE"), ":0"); /* a reader makes nothing */
    chela_store_close(served_must_open(modules, url));
    tell("SET chela:format 99");
    check_refused(url, 0, CHELA_EPROTO, "newer chela");
    check_refused(url, 1, CHELA_EPROTO, "newer chela");
    /* older events were ordered by their time, and not listed by session */
    tell("HSET chela:i:x key a state new data {} receipt e ts 5 attempts 0 "
         "number 0000000000000001");
    tell("ZADD chela:inbox 1700000000000 0000000000000001:x");
    tell("SET chela:format 1");
    chela_store_close(served_must_open(modules, url));
    assert_string_equal(tell("INCRBY chela:format 0"), ":7");
    assert_string_equal(tell("ZRANK chela:i-new:a x"), ":0");
    assert_string_equal(tell("ZCOUNT chela:inbox 1 1"), ":1");
    chela_store *older = served_must_open(modules, url);
    tell("SET chela:format 6");
    assert_int_equal(ch_store_write(older, NULL, 0, false, &err), 0);
    chela_store_close(served_must_open(modules, url));
    assert_int_equal(ch_store_write(older, NULL, 0, false, &err), CHELA_EPROTO);
    chela_store_close(older);
    tell("SET chela:format mine");
    check_refused(url, 0, CHELA_EPROTO, "no store of chela");
    reset();
    tell("LPUSH chela:format 1");
    check_refused(url, 0, CHELA_EPROTO, "WRONGTYPE");
    reset();
}

static void test_a_lease_given_up(void **state) {
    (void)state;
    reset();
    chela_store *holder = served_must_open(modules, url);
    served_check_given_up(holder, served_must_open(modules, url), &holder->db->skew);
}

static void test_news(void **state) {
    (void)state;
    reset();
    served_check_news(modules, url);
}

static void test_read_only(void **state) {
    struct chela_store_change c = {.kind = CHELA_STORE_TITLE, .key = "a", .data = "x", .n = 1};
    struct chela_error err;
    int rc;
    (void)state;
    reset();
    chela_store_close(served_must_open(modules, url));
    chela_store *s = served_open(modules, url, 1, &rc, &err);
    assert_int_equal(rc, 0);
    assert_int_equal(ch_store_commit(s, &c, 1, true, &err), CHELA_EPERM);
    chela_store_close(s);
    tell("REPLICAOF 127.0.0.1 1");
    check_refused(url, 0, CHELA_EPERM, "replica");
    tell("REPLICAOF NO ONE");
}

/* --- what the server does with its data ------------------------------------------ */

static void check_note(const char *words) {
    chela_store *s = served_must_open(modules, url);
    const char *note = chela_store_note(s);
    if (words ? !note || !strstr(note, words) : note != NULL)
        fail_msg("'%s' instead of '%s'", note, words);
    chela_store_close(s);
}

static void test_notes(void **state) {
    (void)state;
    reset();
    check_note(NULL);
    tell("CONFIG SET appendfsync everysec");
    check_note("set appendfsync always");
    tell("CONFIG SET appendonly no");
    check_note("set appendonly yes and appendfsync always");
    tell("CONFIG SET maxmemory 1gb maxmemory-policy allkeys-lru");
    check_note("set noeviction");
    tell("CONFIG SET maxmemory 0 maxmemory-policy noeviction appendonly yes appendfsync always");
    check_note(NULL);
    tell("ACL SETUSER guest on nopass ~* +@all -config");
    chela_store *s = served_must_open(modules, with("guest:x@", ""));
    assert_non_null(strstr(chela_store_note(s), "does not say how it writes"));
    chela_store_close(s);
    tell("ACL DELUSER guest");
}

/* --- how long it keeps what --------------------------------------------------------- */

static void make_session(chela_store *s, const char *key) {
    struct chela_store_record r = {.seq = 1, .type = 2, .ts = -5, .data = "{}", .n = 2};
    struct chela_error err = {0};
    char id[32];
    snprintf(id, sizeof(id), "e-%s", key);
    r.sum = ch_record_sum(&r);
    struct chela_store_change c[] = {
        {.kind = CHELA_STORE_CREATE, .key = key, .data = "", .now = 1},
        {.kind = CHELA_STORE_APPEND, .key = key, .now = 1, .records = &r, .nrecords = 1},
        {.kind = CHELA_STORE_ACCEPT, .id = id, .key = key, .data = "x", .n = 1, .now = 1}};
    if (ch_store_commit(s, c, 3, true, &err) < 0)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(c[i].rc, 0);
}

static void check_ttl(const char *key, long min, long max) {
    char command[128];
    snprintf(command, sizeof(command), "TTL %s", key);
    long ttl = strtol(tell(command) + 1, NULL, 10);
    if (ttl < min || ttl > max)
        fail_msg("%s is kept for %ld s", key, ttl);
}

static int count_session(const struct chela_store_session *row, void *user) {
    (void)row;
    ++*(int *)user;
    return 0;
}

static int check_ts(const struct chela_store_record *r, void *user) {
    ++*(int *)user;
    assert_int_equal(r->ts, -5);
    return 0;
}

static void test_sessions_end_by_themselves(void **state) {
    struct chela_error err = {0};
    struct chela_store_change done = {.kind = CHELA_STORE_SETTLE, .id = "e-a"};
    int n = 0;
    (void)state;
    reset();
    chela_store *s = served_must_open(modules, with(":" REDISSERVER_PASSWORD "@", "/0?ttl=2h"));
    make_session(s, "a");
    assert_int_equal(chela_store_records(s, "a", 1, check_ts, &n, &err), 0);
    assert_int_equal(n, 1);
    check_ttl("chela:s:a", 7100, 7200);
    check_ttl("chela:r:a", 7100, 7200);
    check_ttl("chela:i:e-a", -1, -1); /* not dealt with yet */
    assert_int_equal(ch_store_commit(s, &done, 1, true, &err), 0);
    check_ttl("chela:i:e-a", 7100, 7200);
    tell("DEL chela:s:a chela:r:a"); /* as if it were over */
    n = 0;
    assert_int_equal(chela_store_list(s, NULL, count_session, &n, &err), 0);
    assert_int_equal(n, 0);
    assert_string_equal(tell("ZCARD chela:sessions"), ":1");
    make_session(s, "b"); /* a name without a session goes with the next change */
    assert_string_equal(tell("ZCARD chela:sessions"), ":1");
    chela_store_close(s);
}

static void test_kept_for_good_again(void **state) {
    struct chela_error err = {0};
    struct chela_store_change c = {.kind = CHELA_STORE_APPEND, .key = "a", .now = 2};
    (void)state;
    reset();
    chela_store *s = served_must_open(modules, with(":" REDISSERVER_PASSWORD "@", "/0?ttl=90"));
    make_session(s, "a");
    chela_store_close(s);
    check_ttl("chela:r:a", 60, 90);
    s = served_must_open(modules, url);
    assert_int_equal(ch_store_commit(s, &c, 1, true, &err), 0);
    assert_int_equal(c.rc, 0);
    check_ttl("chela:s:a", -1, -1);
    check_ttl("chela:r:a", -1, -1);
    chela_store_close(s);
}

static void test_prefixes_are_apart(void **state) {
    struct chela_error err = {0};
    int n = 0;
    (void)state;
    reset();
    chela_store *s = served_must_open(modules, url);
    make_session(s, "a");
    chela_store *other =
        served_must_open(modules, with(":" REDISSERVER_PASSWORD "@", "/0?prefix=other:"));
    assert_int_equal(chela_store_list(other, NULL, count_session, &n, &err), 0);
    assert_int_equal(n, 0);
    chela_store_close(other);
    chela_store_close(s);
}

/* --- damage ----------------------------------------------------------------------- */

static void test_records_that_are_gone(void **state) {
    struct chela_error err = {0};
    struct chela_store_record r = {.seq = 2, .type = 2, .data = "{}", .n = 2};
    struct chela_store_change c = {
        .kind = CHELA_STORE_APPEND, .key = "a", .now = 2, .records = &r, .nrecords = 1};
    int n = 0;
    (void)state;
    reset();
    chela_store *s = served_must_open(modules, url);
    make_session(s, "a");
    tell("DEL chela:r:a");
    assert_int_equal(chela_store_records(s, "a", 1, check_ts, &n, &err), CHELA_EPARSE);
    assert_non_null(strstr(err.message, "record 1 is missing"));
    assert_int_equal(ch_store_commit(s, &c, 1, true, &err), 0);
    assert_int_equal(c.rc, CHELA_EPARSE);
    tell("RPUSH chela:r:a nonsense");
    assert_int_equal(chela_store_records(s, "a", 1, check_ts, &n, &err), CHELA_EPARSE);
    assert_non_null(strstr(err.message, "record 1 was changed"));
    chela_store_close(s);
}

static void test_no_room(void **state) {
    struct chela_error err = {0};
    struct chela_store_change c = {.kind = CHELA_STORE_TITLE, .key = "a", .data = "x", .n = 1};
    (void)state;
    reset();
    chela_store *s = served_must_open(modules, url);
    make_session(s, "a");
    tell("CONFIG SET maxmemory 1");
    assert_int_equal(ch_store_commit(s, &c, 1, true, &err), CHELA_ELIMIT);
    tell("CONFIG SET maxmemory 0");
    assert_int_equal(ch_store_commit(s, &c, 1, true, &err), 0);
    assert_int_equal(c.rc, 0);
    tell("SCRIPT FLUSH"); /* it forgets what we taught it */
    assert_int_equal(ch_store_commit(s, &c, 1, true, &err), 0);
    assert_int_equal(c.rc, 0);
    chela_store_close(s);
}

/* --- servers that are none ----------------------------------------------------------- */

struct liar { /* says the same to whatever it is asked */
    int listener;
    const char *words[2]; /* on the first connection, and on the second */
    pthread_t thread;
};

static void *lie(void *arg) {
    struct liar *l = arg;
    char ignored[4096];
    for (int i = 0; i < 2 && l->words[i]; i++) {
        int fd = accept(l->listener, NULL, NULL);
        while (recv(fd, ignored, sizeof(ignored), 0) > 0)
            send(fd, l->words[i], strlen(l->words[i]), MSG_NOSIGNAL);
        close(fd);
    }
    return NULL;
}

static void check_lies(const char *words, const char *then, int code, const char *message) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    struct liar l = {.words = {words, then},
                     .listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    char where[64];
    assert_int_equal(bind(l.listener, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(l.listener, 1), 0);
    assert_int_equal(getsockname(l.listener, (struct sockaddr *)&at, &n), 0);
    pthread_create(&l.thread, NULL, lie, &l);
    snprintf(where, sizeof(where), "redis://127.0.0.1:%d", ntohs(at.sin_port));
    check_refused(where, 0, code, message);
    pthread_join(l.thread, NULL);
    close(l.listener);
}

static void check_lie(const char *words, int code, const char *message) {
    check_lies(words, NULL, code, message);
}

static void test_servers_that_are_none(void **state) {
    (void)state;
    check_lie("HTTP/1.1 400 Bad Request\r\n\r\n", CHELA_EPROTO, "not one of Redis");
    check_lie("*2000000000\r\n", CHELA_ELIMIT, "1000000 items");
    check_lie("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", CHELA_EPROTO,
              "not one of Redis");
    check_lie("+OK\r\n", CHELA_EPROTO, "not one of Redis");
    check_lie(":1\r\n", CHELA_EPROTO, "not one of Redis");
    check_lie("$-1\r\n", CHELA_EPROTO, "not one of Redis");
    check_lie("-ERR unknown command\r\n", CHELA_EIO, "unknown command");
    check_lie("-MOVED 1 127.0.0.1:2\r\n", CHELA_EPROTO, "MOVED");
}

static void test_a_server_that_is_starting(void **state) {
    (void)state;
    check_lies("-LOADING Redis is loading the dataset in memory\r\n", "-MOVED 1 127.0.0.1:2\r\n",
               CHELA_EPROTO, "MOVED");
}

/* --- the server's part ------------------------------------------------------------- */

static const char *url_at(int port) {
    static char out[128];
    snprintf(out, sizeof(out), "redis://:%s@127.0.0.1:%d", REDISSERVER_PASSWORD, port);
    return out;
}

static void freeze(void) {
    redisserver_freeze(&server);
}

static void thaw(void) {
    redisserver_thaw(&server);
}

static void kill_it(void) {
    redisserver_kill(&server);
}

static bool start(void) {
    return redisserver_start(&server);
}

static void throw_out(void) {
    tell("CLIENT KILL TYPE normal SKIPME yes");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_no_way_in),
        cmocka_unit_test(test_a_password_in_a_file),
        cmocka_unit_test(test_other_formats),
        cmocka_unit_test(test_a_lease_given_up),
        cmocka_unit_test(test_news),
        cmocka_unit_test(test_read_only),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_sessions_end_by_themselves),
        cmocka_unit_test(test_kept_for_good_again),
        cmocka_unit_test(test_prefixes_are_apart),
        cmocka_unit_test(test_records_that_are_gone),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_servers_that_are_none),
        cmocka_unit_test(test_a_server_that_is_starting),
    };
    if (!modules_have("store-redis") || !redisserver_installed()) {
        printf("1..1\nok 1 - redis # SKIP no Redis here: scripts/install-deps test\n");
        return 0;
    }
    if (!redisserver_open(&server)) {
        redisserver_close(&server);
        return 1;
    }
    modules = modules_dir();
    snprintf(url, sizeof(url), "%s", url_at(server.port));
    int failed = conformance_run(&(struct conformance){
        .name = "redis", .url = url, .module_path = modules, .reset = reset, .lasting = true});
    failed += cmocka_run_group_tests_name("redis settings", tests, NULL, NULL);
    failed += served_run(&(struct served){.name = "redis server",
                                          .module_path = modules,
                                          .port = server.port,
                                          .url_at = url_at,
                                          .reset = reset,
                                          .freeze = freeze,
                                          .thaw = thaw,
                                          .kill = kill_it,
                                          .start = start,
                                          .throw_out = throw_out,
                                          .commit = "EVALSHA"});
    redisserver_close(&server);
    ch_free(modules);
    return failed;
}
