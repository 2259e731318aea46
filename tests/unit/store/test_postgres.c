/* test_postgres.c -- the PostgreSQL store: what every store does, and what only
 * a server can do to it: refuse, freeze, die, lose an answer. The server is a
 * real one, started here. */
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
#include "store/store.h"
#include "support/conformance.h"
#include "support/modules.h"
#include "support/pgserver.h"
#include "support/served.h"

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

static void check_refused(const char *where, int read_only, int code, const char *words) {
    served_check_refused(modules, where, read_only, code, words);
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

/* --- a server that is not ready yet */

static void send_refusal(int fd, const char *sqlstate, const char *words) {
    char m[200], ignored[1024];
    int n = 5 + snprintf(m + 5, sizeof(m) - 5, "SFATAL%cC%s%cM%s%c", 0, sqlstate, 0, words, 0) + 1;
    m[0] = 'E';
    memcpy(m + 1, &(uint32_t){htonl((uint32_t)n - 1)}, 4);
    if (recv(fd, ignored, sizeof(ignored), 0) > 0)
        send(fd, m, (size_t)n, MSG_NOSIGNAL);
}

static void *refuse(void *arg) {
    static const char *const refusals[][2] = {
        {"57P03", "the database system is starting up"},
        {"57P03", "the database system is in recovery mode"},
        {"57P03", "the database system is not yet accepting connections"},
        {"28000", "role \"chela\" does not exist"},
    };
    for (size_t i = 0; i < CH_LEN(refusals); i++) {
        int fd = accept(*(int *)arg, NULL, NULL);
        send_refusal(fd, refusals[i][0], refusals[i][1]);
        close(fd);
    }
    return NULL;
}

static void test_a_server_that_is_starting(void **state) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char where[128];
    pthread_t thread;
    (void)state;
    assert_int_equal(bind(listener, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &n), 0);
    pthread_create(&thread, NULL, refuse, &listener);
    snprintf(where, sizeof(where),
             "postgres://chela@127.0.0.1:%d/x?sslmode=disable&gssencmode=disable",
             ntohs(at.sin_port));
    check_refused(where, 0, CHELA_EAUTH, "role \"chela\" does not exist");
    pthread_join(thread, NULL);
    close(listener);
}

static int no_item(const struct chela_store_item *i, void *user) {
    (void)user;
    fail_msg("there is a note %s", i->id);
    return 0;
}

/* Who only reads leaves an older store as it is. */
static void check_reads_format_1(void) {
    struct chela_error err;
    int rc;
    chela_store *s = served_open(modules, url, 1, &rc, &err);
    assert_int_equal(rc, 0);
    assert_int_equal(chela_store_items(s, CHELA_STORE_NOTES, no_item, NULL, &err), 0);
    assert_int_equal(chela_store_list(s, NULL, NULL, NULL, &err), 0);
    chela_store_close(s);
    sql("SELECT 1 / (version = 1)::int FROM chela.format");
}

static void test_other_formats(void **state) {
    (void)state;
    reset();
    check_refused(url, 1, CHELA_ENOENT, "none yet");
    chela_store_close(served_must_open(modules, url));
    sql("UPDATE chela.format SET version = 99");
    check_refused(url, 0, CHELA_EPROTO, "newer chela");
    check_refused(url, 1, CHELA_EPROTO, "newer chela");
    sql("DROP TABLE chela.notes; UPDATE chela.format SET version = 1");
    check_reads_format_1();
    chela_store_close(served_must_open(modules, url));
    sql("SELECT FROM chela.notes, chela.format WHERE version = 7");
    chela_store *older = served_must_open(modules, url);
    struct chela_error err = {0};
    sql("UPDATE chela.format SET version = 6");
    assert_int_equal(ch_store_write(older, NULL, 0, false, &err), 0);
    chela_store_close(served_must_open(modules, url));
    assert_int_equal(ch_store_write(older, NULL, 0, false, &err), CHELA_EPROTO);
    chela_store_close(older);
    sql("DELETE FROM chela.format");
    check_refused(url, 0, CHELA_EPARSE, "damaged");
    reset();
    sql("CREATE SCHEMA chela; CREATE TABLE chela.sessions(id int)");
    check_refused(url, 0, CHELA_EPROTO, "no store of chela");
    reset();
}

#define FAST "postgres?options=-csearch_path%3Dfast,pg_catalog"

static void test_a_lease_given_up(void **state) {
    (void)state;
    reset();
    chela_store *other = served_must_open(modules, url);
    /* for the holder, the server's clock is fast */
    sql("CREATE SCHEMA fast; CREATE FUNCTION fast.clock_timestamp() RETURNS timestamptz LANGUAGE"
        " sql AS 'SELECT pg_catalog.clock_timestamp() + interval ''5 s'''");
    served_check_given_up(served_must_open(modules, with(PGSERVER_PASSWORD, FAST)), other, NULL);
    sql("DROP SCHEMA fast CASCADE");
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
    char *where = with(PGSERVER_PASSWORD, "postgres?options=-cdefault_transaction_read_only%3Don");
    check_refused(where, 0, CHELA_EPERM, "cannot be written");
    chela_store *s = served_open(modules, where, 1, &rc, &err);
    assert_int_equal(rc, 0);
    assert_int_equal(ch_store_commit(s, &c, 1, true, &err), CHELA_EPERM);
    chela_store_close(s);
}

/* --- the server's part ----------------------------------------------------------- */

static const char *url_at(int port) {
    static char out[128];
    snprintf(out, sizeof(out), "postgres://chela:%s@127.0.0.1:%d/postgres", PGSERVER_PASSWORD,
             port);
    return out;
}

static void freeze(void) {
    pgserver_freeze(&server);
}

static void thaw(void) {
    pgserver_thaw(&server);
}

static void kill_it(void) {
    pgserver_kill(&server);
}

static bool start(void) {
    return pgserver_start(&server);
}

static void throw_out(void) {
    sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'chela'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_way_in),
        cmocka_unit_test(test_a_server_that_is_starting),
        cmocka_unit_test(test_other_formats),
        cmocka_unit_test(test_a_lease_given_up),
        cmocka_unit_test(test_news),
        cmocka_unit_test(test_read_only),
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
    snprintf(url, sizeof(url), "%s", url_at(server.port));
    int failed = conformance_run(&(struct conformance){
        .name = "postgres", .url = url, .module_path = modules, .reset = reset, .lasting = true});
    failed += cmocka_run_group_tests_name("postgres refusals", tests, NULL, NULL);
    failed += served_run(&(struct served){.name = "postgres server",
                                          .module_path = modules,
                                          .port = server.port,
                                          .url_at = url_at,
                                          .reset = reset,
                                          .freeze = freeze,
                                          .thaw = thaw,
                                          .kill = kill_it,
                                          .start = start,
                                          .throw_out = throw_out,
                                          .commit = "COMMIT",
                                          .counts_tokens = true});
    pgserver_close(&server);
    ch_free(modules);
    return failed;
}
