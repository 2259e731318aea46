/* test_query_database.c -- SELECT on SQLite through the whole path, and every
 * way to change something that we know of: the file's bytes, its directory and
 * a canary must be the same afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "chela/sys/database.h"
#include "io/module.h"
#include "support/modules.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/registry/settings.h"
#include "json/writer.h"

static const char schema[] =
    "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT, score REAL, photo BLOB);"
    "INSERT INTO users VALUES(1,'Alice',1.5,x'00ff'),(2,'Bob',NULL,NULL),"
    "(3,'\u5f20\u4e09',-2,zeroblob(40)),(4,'two' || char(10) || 'lines' || char(9) || "
    "'|',1e300,NULL);"
    "CREATE TABLE numbers(n INTEGER); WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c"
    " WHERE x < 12000) INSERT INTO numbers SELECT x FROM c;"
    "CREATE VIEW adults AS SELECT * FROM users WHERE id > 1;"
    "CREATE TABLE log(t TEXT); CREATE TRIGGER noisy AFTER INSERT ON users BEGIN"
    " INSERT INTO log VALUES('x'); END;"
    "CREATE VIRTUAL TABLE words USING fts5(body); INSERT INTO words VALUES('the quick fox');"
    "CREATE TABLE huge(b); INSERT INTO huge VALUES(zeroblob(20000000));"
    "PRAGMA user_version=7;";

struct env {
    struct kit k;
    struct ch_tool_settings *settings;
    char *modules;
};

static void make_database(struct kit *k, const char *name, const char *sql) {
    CH_AUTOFREE char *path = kit_path(k, name);
    sqlite3 *db;
    char *why = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_exec(db, "PRAGMA synchronous=0", NULL, NULL, NULL);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s", why);
    sqlite3_close(db);
}

static const char *no_env(const char *name, void *user) {
    (void)name, (void)user;
    return NULL;
}

static int set_up(void **state) {
    struct env *e = ch_alloc(sizeof(*e));
    CH_BUF_AUTO main = {0}, other = {0};

    *state = e;
    kit_init(&e->k);
    e->modules = modules_dir();
    make_database(&e->k, "../data.db", schema);
    make_database(&e->k, "../other.db", "CREATE TABLE t(a); INSERT INTO t VALUES('other');");
    ch_buf_addf(&main, "databases.default=sqlite:%s/data.db", e->k.dir);
    ch_buf_addf(&other, "databases.other=sqlite:%s/other.db", e->k.dir);
    const char *const list[] = {main.p,
                                other.p,
                                "databases.gone=sqlite:/nonexistent/x.db",
                                "databases.text=sqlite:/etc/passwd",
                                "databases.pg=postgres://u:${NO_SUCH_VARIABLE}@localhost/x",
                                NULL};
    struct ch_settings_opts opts = {.list = list, .env = no_env, .module_path = e->modules};
    assert_int_equal(ch_settings_new(&opts, &e->settings, NULL), 0);
    assert_int_equal(ch_builtin_add_with(&e->k.registry, e->settings, "query_database", NULL, NULL),
                     0);
    return 0;
}

static int tear_down(void **state) {
    struct env *e = *state;
    kit_free(&e->k);
    ch_settings_unref(e->settings);
    ch_free(e->modules);
    ch_free(e);
    return 0;
}

/* --- reading --------------------------------------------------------------------- */

static const struct {
    const char *what, *arguments;
    const char *type, *want; /* type NULL: content equals want */
} cases[] = {
    {"a table", "{\"query\":\"SELECT id, name, score FROM users WHERE id < 4 ORDER BY id\"}", NULL,
     "id | name  | score\n"
     "---+-------+------\n"
     " 1 | Alice |   1.5\n"
     " 2 | Bob   | NULL\n"
     " 3 | \u5f20\u4e09  |    -2\n"
     "(3 rows)\n"},
    {"alias of the argument", "{\"sql\":\"SELECT 1 AS one\"}", NULL, "one\n---\n  1\n(1 row)\n"},
    {"no rows", "{\"query\":\"SELECT id FROM users WHERE id = 99\"}", NULL, "id\n--\n(0 rows)\n"},
    {"line breaks are shown", "{\"query\":\"SELECT name FROM users WHERE id = 4\"}", NULL,
     "name\n-------------\ntwo\\nlines\\t|\n(1 row)\n"},
    {"blobs", "{\"query\":\"SELECT photo FROM users WHERE id IN (1,3) ORDER BY id\"}", NULL,
     "photo\n----------------------------------------\n(2 bytes: 00ff)\n"
     "(40 bytes: 00000000000000000000000000000000...)\n(2 rows)\n"},
    {"json",
     "{\"query\":\"SELECT id, name, photo, score FROM users WHERE id IN (2, 4)\","
     "\"format\":\"json\"}",
     NULL,
     "[{\"id\":2,\"name\":\"Bob\",\"photo\":null,\"score\":null},\n"
     "{\"id\":4,\"name\":\"two\\nlines\\t|\",\"photo\":null,\"score\":1e+300}]\n(2 rows)\n"},
    {"no rows as json", "{\"query\":\"SELECT 1 WHERE 0\",\"format\":\"json\"}", NULL,
     "[]\n(0 rows)\n"},
    {"columns of one name", "{\"query\":\"SELECT 1 AS id, 2 AS id, 3 AS id\",\"format\":\"json\"}",
     NULL, "[{\"id\":1,\"id_2\":2,\"id_3\":3}]\n(1 row)\n"},
    {"another database", "{\"query\":\"SELECT a FROM t\",\"database\":\"other\"}", NULL,
     "a\n-----\nother\n(1 row)\n"},
    {"parameters are bound",
     "{\"query\":\"SELECT ? AS a, ? AS b, ? AS c, ? AS d, ? AS e\","
     "\"params\":[\"x'; DROP TABLE users; --\",2,2.5,null,true],\"format\":\"json\"}",
     NULL,
     "[{\"a\":\"x'; DROP TABLE users; --\",\"b\":2,\"c\":2.5,\"d\":null,\"e\":1}]\n(1 row)\n"},
    {"numbered parameters", "{\"query\":\"SELECT ?2 AS b, ?1 AS a\",\"params\":[1,2]}", NULL,
     "b | a\n--+--\n2 | 1\n(1 row)\n"},
    {"large numbers are exact", "{\"query\":\"SELECT 9223372036854775807 AS n, 0.1 AS d\"}", NULL,
     "n                   | d\n--------------------+----\n9223372036854775807 | 0.1\n(1 row)\n"},
    {"limit", "{\"query\":\"SELECT id FROM users ORDER BY id\",\"limit\":1}", NULL,
     "id\n--\n 1\n(1 of 4 rows shown)\n"},
    {"views", "{\"query\":\"SELECT count(*) AS n FROM adults\"}", NULL, "n\n-\n3\n(1 row)\n"},
    {"full text", "{\"query\":\"SELECT body FROM words WHERE words MATCH 'quick'\"}", NULL,
     "body\n-------------\nthe quick fox\n(1 row)\n"},
    {"common table expressions",
     "{\"query\":\"WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c WHERE x<3) "
     "SELECT sum(x) AS s FROM c\"}",
     NULL, "s\n-\n6\n(1 row)\n"},
    {"json functions", "{\"query\":\"SELECT value AS v FROM json_each('[1,2]')\"}", NULL,
     "v\n-\n1\n2\n(2 rows)\n"},
    {"the schema", "{\"query\":\"SELECT name FROM pragma_table_info('log')\"}", NULL,
     "name\n----\nt\n(1 row)\n"},
    {"and as a pragma", "{\"query\":\"PRAGMA table_info(log)\",\"format\":\"json\"}", NULL,
     "[{\"cid\":0,\"name\":\"t\",\"type\":\"TEXT\",\"notnull\":0,\"dflt_value\":null,\"pk\":0}]\n"
     "(1 row)\n"},
    {"a semicolon and comments after it", "{\"query\":\"SELECT 1 AS x; -- that is all\\n ;\"}",
     NULL, "x\n-\n1\n(1 row)\n"},

    {"no query", "{}", "invalid_arguments", "\\\"query\\\" is missing"},
    {"empty", "{\"query\":\"  \"}", "invalid_arguments", "The query is empty"},
    {"only a comment", "{\"query\":\"-- x\"}", "invalid_arguments", "the query is empty"},
    {"wrong", "{\"query\":\"SELEC 1\"}", "invalid_arguments", "near \\\"SELEC\\\": syntax error"},
    {"no such table", "{\"query\":\"SELECT * FROM nope\"}", "invalid_arguments",
     "no such table: nope"},
    {"too few params", "{\"query\":\"SELECT ?, ?\",\"params\":[1]}", "invalid_arguments",
     "2 placeholders, but params has 1"},
    {"too many params", "{\"query\":\"SELECT 1\",\"params\":[1]}", "invalid_arguments",
     "0 placeholders, but params has 1"},
    {"params is no array", "{\"query\":\"SELECT ?\",\"params\":{\"a\":1}}", "invalid_arguments",
     "must be an array"},
    {"a NUL in a value", "{\"query\":\"SELECT ?\",\"params\":[\"a\\u0000b\"]}", "invalid_arguments",
     "NUL"},
    {"limit 0", "{\"query\":\"SELECT 1\",\"limit\":0}", "invalid_arguments", "at least 1"},
    {"another format", "{\"query\":\"SELECT 1\",\"format\":\"xml\"}", "invalid_arguments",
     "must be \\\"table\\\" or \\\"json\\\""},
    {"no such database", "{\"query\":\"SELECT 1\",\"database\":\"x\"}", "not_found",
     "There are: default, other, gone, text, pg"},
    {"a path is no database", "{\"query\":\"SELECT 1\",\"database\":\"../data.db\"}", "not_found",
     "no database"},
    {"no such file", "{\"query\":\"SELECT 1\",\"database\":\"gone\"}", "not_found",
     "unable to open database file"},
    {"not a database", "{\"query\":\"SELECT 1 FROM x\",\"database\":\"text\"}", "internal",
     "file is not a database"},
    {"a variable that is not set", "{\"query\":\"SELECT 1\",\"database\":\"pg\"}", "internal",
     "the environment variable NO_SUCH_VARIABLE is not set"},
    {"more than one statement", "{\"query\":\"SELECT 1; SELECT 2\"}", "invalid_arguments",
     "more than one statement"},
    {"a value that is too large", "{\"query\":\"SELECT b FROM huge\"}", "invalid_arguments",
     "string or blob too big"},
    {"made too large", "{\"query\":\"SELECT zeroblob(900000000)\"}", "invalid_arguments",
     "too big"},
};

static void test_reading(void **state) {
    struct env *e = *state;

    for (size_t i = 0; i < CH_LEN(cases); i++) {
        kit_call(&e->k, "query_database", cases[i].arguments);
        const char *type = e->k.is_error ? e->k.error_type : NULL;
        bool ok = cases[i].type ? type && strcmp(type, cases[i].type) == 0 &&
                                      strstr(e->k.content, cases[i].want)
                                : !type && strcmp(e->k.content, cases[i].want) == 0;
        if (!ok)
            fail_msg("%s: %s\n%s", cases[i].what, type ? type : "no error", e->k.content);
    }
}

static void test_counts(void **state) {
    struct env *e = *state;

    kit_call(&e->k, "query_database", "{\"query\":\"SELECT n FROM numbers WHERE n <= 9999\"}");
    assert_non_null(strstr(e->k.content, "(50 of 9999 rows shown)"));
    assert_string_equal(e->k.details, "{\"database\":\"default\",\"columns\":[\"n\"],\"shown\":50,"
                                      "\"rows\":9999,\"more\":false}");
    kit_call(&e->k, "query_database", "{\"query\":\"SELECT n FROM numbers WHERE n <= 10000\"}");
    assert_non_null(strstr(e->k.content, "(50 of 10000 rows shown)"));
    kit_call(&e->k, "query_database", "{\"query\":\"SELECT n FROM numbers\",\"limit\":99}");
    assert_non_null(strstr(e->k.content, "(50 rows shown of more than 10000)"));
    assert_non_null(strstr(e->k.details, "\"rows\":10000,\"more\":true"));
}

/* What is shown stays within the cap, by whole rows. */
static void test_wide_rows(void **state) {
    struct env *e = *state;

    kit_call(&e->k, "query_database",
             "{\"query\":\"SELECT n, printf('%.400c', 'x') AS a, printf('%.9000c','y') AS b FROM "
             "numbers\",\"format\":\"json\"}");
    assert_false(e->k.truncated);
    assert_true(strlen(e->k.content) < CH_LIMIT_RESULT_CHARS);
    assert_non_null(strstr(e->k.content, "\xe2\x80\xa6 (8500 more bytes)\"}]\n(15 rows shown"));
    CH_BUF_AUTO many = {0};
    ch_buf_add_str(&many, "{\"query\":\"SELECT 1 AS c");
    for (int i = 0; i < 300; i++)
        ch_buf_addf(&many, ", %d", i);
    ch_buf_add_str(&many, "\"}");
    kit_call(&e->k, "query_database", many.p);
    assert_non_null(strstr(e->k.content, "(200 of 301 columns shown)"));
}

/* Long names of columns are cut, and still differ. */
static void test_long_names(void **state) {
    struct env *e = *state;
    CH_BUF_AUTO query = {0};

    ch_buf_add_str(&query, "{\"format\":\"json\",\"query\":\"SELECT ");
    for (int i = 0; i < 30; i++) {
        ch_buf_addf(&query, "%s1 AS \\\"", i ? "," : "");
        for (int k = 0; k < CH_LIMIT_SQL_CELL + 9; k++)
            ch_buf_addc(&query, 'x');
        ch_buf_add_str(&query, "\\\"");
    }
    ch_buf_add_str(&query, "\"}");
    kit_call(&e->k, "query_database", ch_buf_str(&query));
    assert_false(e->k.is_error);
    assert_non_null(strstr(e->k.content, "x\xe2\x80\xa6 (9 more bytes)\":1,\"x"));
    assert_non_null(strstr(e->k.content, "x_2\":1,"));
    assert_non_null(strstr(e->k.content, "x_30\":1}]"));
}

static void ignore_columns(const char *const *names, size_t n, void *user) {
    (void)names, (void)n, (void)user;
}

static void count_row(const struct chela_db_value *values, size_t n, void *user) {
    (void)values, (void)n;
    ++*(int *)user;
}

/* All wanted rows are there, and the search for one more takes too long. */
static void test_late_count(void **state) {
    struct env *e = *state;
    struct chela_db_outcome out = {0};
    int rows = 0;
    struct chela_db_query q = {
        .size = sizeof(q),
        .sql = "WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c) "
               "SELECT x FROM c WHERE x = 1",
        .max_rows = 1,
        .max_count = 10,
        .max_value = CH_MB,
        .timeout_ms = 1,
        .columns = ignore_columns,
        .row = count_row,
        .user = &rows,
    };
    CH_AUTOFREE char *path = kit_path(&e->k, "../data.db");
    const void *ops;

    assert_int_equal(ch_module_load("sqlite", "database", e->modules, &ops, NULL), 0);
    assert_int_equal(((const struct chela_database_ops *)ops)->query(path, &q, &out, NULL), 0);
    assert_int_equal(rows, 1);
    assert_int_equal(out.rows, 1);
    assert_true(out.more);
}

/* --- changing -------------------------------------------------------------------- */

static const char *const attempts[] = {
    "INSERT INTO users(name) VALUES('x')",
    "INSERT INTO users(name) VALUES('x') RETURNING id",
    "REPLACE INTO users VALUES(1,'x',0,NULL)",
    "UPDATE users SET name = 'x'",
    "DELETE FROM users",
    "WITH x AS (SELECT 1) DELETE FROM users",
    "WITH x AS (SELECT 1) INSERT INTO users(name) SELECT 'x' FROM x",
    "CREATE TABLE t2(a)",
    "CREATE TEMP TABLE t2(a)",
    "CREATE INDEX i ON users(name)",
    "CREATE VIEW v AS SELECT 1",
    "CREATE TEMP VIEW v AS SELECT 1",
    "CREATE TRIGGER tr AFTER INSERT ON users BEGIN DELETE FROM users; END",
    "CREATE VIRTUAL TABLE v2 USING fts5(a)",
    "DROP TABLE users",
    "DROP VIEW adults",
    "DROP TRIGGER noisy",
    "ALTER TABLE users ADD COLUMN x",
    "ALTER TABLE users RENAME TO y",
    "REINDEX",
    "ANALYZE",
    "VACUUM",
    "VACUUM INTO '%s/canary'",
    "ATTACH '%s/canary' AS c",
    "ATTACH '%s/other.db' AS c",
    "ATTACH ':memory:' AS c",
    "DETACH main",
    "BEGIN",
    "BEGIN IMMEDIATE",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT s",
    "PRAGMA query_only = 0",
    "PRAGMA query_only(0)",
    "PRAGMA query_only",
    "PRAGMA writable_schema = 1",
    "PRAGMA user_version = 8",
    "PRAGMA application_id = 8",
    "PRAGMA journal_mode = WAL",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA temp_store_directory = '%s'",
    "PRAGMA wal_checkpoint",
    "PRAGMA incremental_vacuum",
    "PRAGMA optimize",
    "PRAGMA schema_version = 9",
    "PRAGMA trusted_schema = 1",
    "PRAGMA database_list",
    "PRAGMA page_size = 8192",
    "PRAGMA data_version = 2",
    "SELECT * FROM pragma_page_size('8192')",
    "PRAGMA shrink_memory",
    "SELECT * FROM pragma_query_only",
    "SELECT * FROM pragma_user_version",
    "SELECT load_extension('%s/canary')",
    "SELECT fts3_tokenizer('x')",
    "SELECT fts3_tokenizer('x', x'00')",
    "SELECT writefile('%s/canary', 'x')",
    "SELECT readfile('/etc/passwd')",
    "SELECT edit('x')",
    "INSERT INTO words(words) VALUES('rebuild')",
    "UPDATE sqlite_master SET sql = 'x'",
    "DELETE FROM sqlite_master",
    "SELECT 1; DELETE FROM users",
    "SELECT 1; PRAGMA query_only=0",
    "SELECT 1;; INSERT INTO users(name) VALUES('x')",
    "/* SELECT */ DELETE FROM users",
    "EXPLAIN SELECT 1; DELETE FROM users",
    "delete\nfrom\nusers",
};

/* How many files there are, and the bytes of the database. */
static char *fingerprint(struct kit *k) {
    CH_BUF_AUTO out = {0};
    CH_AUTOFREE char *path = kit_path(k, "../data.db");
    uint64_t hash = 1469598103934665603u;
    FILE *f = fopen(path, "rb");
    int c;

    assert_non_null(f);
    while ((c = getc(f)) != EOF)
        hash = (hash ^ (unsigned)c) * 1099511628211u;
    fclose(f);
    ch_buf_addf(&out, "%d %llx", kit_entries(k, "../"), (unsigned long long)hash);
    return ch_buf_take(&out);
}

static void test_changing(void **state) {
    struct env *e = *state;
    CH_AUTOFREE char *before = fingerprint(&e->k);

    for (size_t i = 0; i < CH_LEN(attempts); i++) {
        CH_BUF_AUTO sql = {0}, arguments = {0};
        const char *hole = strstr(attempts[i], "%s");
        ch_buf_add(&sql, attempts[i], hole ? (size_t)(hole - attempts[i]) : strlen(attempts[i]));
        if (hole)
            ch_buf_addf(&sql, "%s%s", e->k.dir, hole + 2);
        ch_buf_add_str(&arguments, "{\"query\":");
        ch_json_quote(&arguments, ch_buf_sv(&sql));
        ch_buf_add_str(&arguments, "}");
        kit_call(&e->k, "query_database", arguments.p);
        if (!e->k.is_error)
            fail_msg("%s: %s", sql.p, e->k.content);
    }
    CH_AUTOFREE char *after = fingerprint(&e->k);
    assert_string_equal(before, after);
}

/* A file that a stranger made must not do more than data can. */
static void test_hostile_schema(void **state) {
    struct env *e = *state;
    static const char sql[] = "CREATE TABLE t(a); INSERT INTO t VALUES(1);"
                              "CREATE VIEW evil AS SELECT load_extension('x') AS a FROM t;"
                              "CREATE VIEW deep AS SELECT fts3_tokenizer('simple') AS a;";
    struct ch_tool_settings *settings = NULL;
    CH_BUF_AUTO line = {0};
    struct ch_registry r = {0};

    make_database(&e->k, "../evil.db", sql);
    ch_buf_addf(&line, "databases.default=sqlite:%s/evil.db", e->k.dir);
    struct ch_settings_opts opts = {.list = (const char *const[]){line.p, NULL},
                                    .module_path = e->modules};
    assert_int_equal(ch_settings_new(&opts, &settings, NULL), 0);
    assert_int_equal(ch_builtin_add_with(&r, settings, "query_database", NULL, NULL), 0);
    ch_settings_unref(settings);
    e->k.opts.registry = &r;
    kit_call(&e->k, "query_database", "{\"query\":\"SELECT a FROM t\"}");
    assert_false(e->k.is_error);
    kit_call(&e->k, "query_database", "{\"query\":\"SELECT a FROM evil\"}");
    assert_true(e->k.is_error);
    kit_call(&e->k, "query_database", "{\"query\":\"SELECT a FROM deep\"}");
    assert_true(e->k.is_error);
    kit_end(&e->k);
    ch_registry_release(&r);
}

/* --- time and memory ---------------------------------------------------------------- */

#define ENDLESS                                                                                  \
    "{\"query\":\"WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c) SELECT max(x) " \
    "FROM c\"}"
#define GREEDY                                                                               \
    "{\"query\":\"WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c) SELECT x, " \
    "randomblob(100000) FROM c ORDER BY random()\"}"

static void test_cancel(void **state) {
    struct env *e = *state;
    struct kit_call call = {"c", "query_database", ENDLESS, 0};
    int64_t start = kit_ms();

    kit_start(&e->k, &call, 1);
    while (kit_ms() - start < 50)
        ch_loop_tick(e->k.loop);
    assert_false(e->k.over);
    ch_batch_cancel(e->k.batch, "enough");
    kit_wait(&e->k);
    assert_string_equal(e->k.error_type, "cancelled");
    kit_end(&e->k);
    ch_workers_free(e->k.workers); /* waits for the thread: the query has ended */
    e->k.workers = NULL;
    assert_true(kit_ms() - start < 5000);
}

static void test_memory(void **state) {
    struct env *e = *state;

    kit_call(&e->k, "query_database", GREEDY);
    assert_string_equal(e->k.error_type, "invalid_arguments");
    assert_non_null(strstr(e->k.content, "more than 256 MB of memory"));
}

/* Functions that compare long texts end with the query. */
static void test_long_search(void **state) {
    static const char *const searches[] = {
        "instr(x, substr(x,2,800000)||'1')",
        "replace(x, substr(x,2,800000)||'1', '')",
        "trim(x, substr(x,1,400000))",
        "x LIKE '%'||substr(x,1,900)||'1'",
        "x GLOB '*'||substr(x,1,900)||'1'",
    };
    struct env *e = *state;
    char call[300];

    for (size_t i = 0; i < CH_LEN(searches); i++) {
        int64_t start = kit_ms();
        snprintf(call, sizeof(call),
                 "{\"query\":\"WITH h(x) AS (SELECT replace(hex(zeroblob(100000)),'0','00000000')) "
                 "SELECT %s FROM h\"}",
                 searches[i]);
        kit_call(&e->k, "query_database", call);
        bool refused = strstr(e->k.content, "pattern too long for this value") != NULL;
        assert_true(refused == (strstr(searches[i], "'%'") || strstr(searches[i], "'*'")));
        kit_end(&e->k);
        if (kit_ms() - start > 15000)
            fail_msg("%s: %lld ms", searches[i], (long long)(kit_ms() - start));
    }
}

#define CHINESE "\xe4\xbd\xa0\xe5\xa5\xbd"

/* The module's search functions give the results of SQLite's own. */
static void test_search(void **state) {
    static const char *const texts[] = {
        "NULL", "''",  "'a'",       "'abcabc'", "'ABC'",           "'  ab  '",          "'a%b'",
        "12345", "1.5", "x'616263'", "x''",      "'" CHINESE "'", "'x" CHINESE "x'",
    };
    static const char *const parts[] = {
        "NULL",       "''",  "'a'",              "'b'", "'bc'",  "'abcabcd'", "'%b%'",  "'a_c%'",
        "'a*[a-c]'", "' '", "'x" CHINESE "'", "3",   "x'62'", "x''",       "'\\%'", "'" CHINESE "'",
    };
    struct env *e = *state;
    sqlite3 *db;
    char *want, expression[512], arguments[700];

    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    for (size_t i = 0; i < CH_LEN(texts) * CH_LEN(parts); i++) {
        const char *t = texts[i % CH_LEN(texts)], *p = parts[i / CH_LEN(texts)];
        snprintf(expression, sizeof(expression),
                 "quote(instr(%1$s,%2$s))||'|'||quote(replace(%1$s,%2$s,'<>'))||'|'||"
                 "quote(trim(%1$s,%2$s))||'|'||quote(ltrim(%1$s,%2$s))||'|'||"
                 "quote(rtrim(%1$s,%2$s))||'|'||quote(trim(%1$s))||'|'||"
                 "quote(%1$s LIKE %2$s)||'|'||"
                 "quote(%1$s LIKE %2$s ESCAPE 'a')||'|'||quote(%1$s GLOB %2$s)",
                 t, p);
        snprintf(arguments, sizeof(arguments), "SELECT %s", expression);
        sqlite3_stmt *stmt;
        assert_int_equal(sqlite3_prepare_v2(db, arguments, -1, &stmt, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        want = sqlite3_mprintf("%s", sqlite3_column_text(stmt, 0));
        sqlite3_finalize(stmt);
        CH_BUF_AUTO call = {0};
        ch_buf_addf(&call, "{\"query\":");
        ch_json_quote(&call, ch_sv_str(arguments));
        ch_buf_add_str(&call, "}");
        kit_call(&e->k, "query_database", call.p);
        if (e->k.is_error || !strstr(e->k.content, want))
            fail_msg("%s: %s instead of %s", arguments, e->k.content, want);
        sqlite3_free(want);
    }
    sqlite3_close(db);
}

/* A writer holds the database: wait a little, then say so. */
static void test_locked(void **state) {
    struct env *e = *state;
    CH_AUTOFREE char *path = kit_path(&e->k, "../data.db");
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    struct kit_call call = {"c", "query_database", "{\"query\":\"SELECT id FROM users\"}", 0};
    kit_start(&e->k, &call, 1);
    int64_t start = kit_ms();
    while (kit_ms() - start < 100)
        ch_loop_tick(e->k.loop);
    assert_false(e->k.over);
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    kit_wait(&e->k);
    assert_false(e->k.is_error);
}

/* --- what is offered ------------------------------------------------------------------ */

static void test_description(void **state) {
    struct env *e = *state;
    struct ch_registry none = {0};
    struct ch_settings_opts opts = {.list = NULL};
    struct ch_tool_settings *empty = NULL;

    const struct ch_tool *t = ch_registry_find(&e->k.registry, CH_SV("query_database"));
    assert_non_null(strstr(t->description, "Databases: default (SQLite, placeholders ?), other"));
    assert_non_null(strstr(t->description, "pg (PostgreSQL, placeholders $1)."));
    assert_int_equal(ch_settings_new(&opts, &empty, NULL), 0);
    assert_int_equal(ch_builtin_add_with(&none, empty, NULL, NULL, NULL), 0);
    assert_null(ch_registry_find(&none, CH_SV("query_database")));
    assert_non_null(ch_registry_find(&none, CH_SV("read")));
    ch_settings_unref(empty);
    ch_registry_release(&none);
}

static void test_no_module(void **state) {
    struct env *e = *state;
    struct ch_tool_settings *settings = NULL;
    struct ch_registry r = {0};
    const char *const list[] = {"databases.x=sqlite:/tmp/x", NULL};
    struct ch_settings_opts opts = {.list = list, .module_path = "/nonexistent"};

    assert_int_equal(ch_settings_new(&opts, &settings, NULL), 0);
    assert_int_equal(ch_builtin_add_with(&r, settings, NULL, NULL, NULL), 0);
    ch_settings_unref(settings);
    e->k.opts.registry = &r;
    kit_call(&e->k, "query_database", "{\"query\":\"SELECT 1\"}");
    assert_string_equal(e->k.error_type, "internal");
    assert_non_null(strstr(e->k.content, "libchela-sqlite.so was not found"));
    kit_end(&e->k);
    ch_registry_release(&r);
}

int main(void) {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_reading),        TEST(test_counts),    TEST(test_wide_rows), TEST(test_changing),
        TEST(test_hostile_schema), TEST(test_cancel),    TEST(test_memory),    TEST(test_locked),
        TEST(test_description),    TEST(test_no_module), TEST(test_late_count),
        TEST(test_long_names),     TEST(test_search),    TEST(test_long_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
