/* test_secret_refs.c -- a secret goes to the hosts that own it, and nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "egress/secret_refs.h"
#include "guard/secrets.h"

static const char *look_up(const char *name, void *user) {
    (void)user;
    return strcmp(name, "TOKEN") == 0  ? "t0ken-of-the-test"
           : strcmp(name, "PATH") == 0 ? "/usr/bin:/bin"
           : strcmp(name, "CREDENTIALS_DIRECTORY") == 0 ? "/nowhere"
                                                        : NULL;
}

static int add(struct ch_secret_refs **list, const char *json, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    *err = (struct chela_error){0};
    assert_int_equal(ch_json_parse(&arena, ch_sv_str(json), CH_JSON_STRICT, &v, NULL, NULL), 0);
    return ch_secret_refs_add(list, CH_SV("git"), v, look_up, NULL, err);
}

static void parse(const char *text, struct ch_url *out) {
    assert_int_equal(ch_url_parse(ch_sv_str(text), out, NULL), 0);
}

static void test_only_an_owner_gets_the_value(void **state) {
    static const struct {
        const char *hosts, *url;
        bool want;
    } rows[] = {
        {"api.example.com", "https://api.example.com/x", true},
        {"api.example.com", "http://api.example.com/x", false},
        {"api.example.com", "https://api.example.com:444/x", false},
        {"api.example.com", "https://api.example.com.evil.example/x", false},
        {"api.example.com", "https://evil.example/api.example.com", false},
        {"*.example.com", "https://a.example.com/", true},
        {"*.example.com", "https://example.com/", false},
        {"127.0.0.1:8080", "http://127.0.0.1:8080/", true},
        {"127.0.0.1:8080", "http://127.0.0.1:8081/", false},
        {"api.example.com:*", "http://api.example.com/", false},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct ch_secret_refs *list = NULL;
        struct chela_error err;
        struct ch_url to;
        CH_ARENA_AUTO arena = {0};
        CH_BUF_AUTO json = {0}, text = {0};
        const char *headers[2];
        ch_buf_addf(&json, "{\"env\":\"TOKEN\",\"hosts\":[\"%s\"],\"header\":\"A: Bearer {}\"}",
                    rows[i].hosts);
        assert_int_equal(add(&list, ch_buf_str(&json), &err), 0);
        parse(rows[i].url, &to);
        size_t n = ch_secret_refs_headers(list, &to, &arena, headers, 2);
        int rc = ch_secret_refs_fill(list, &to, CH_SV("x {{secret:git}} y"), &text, &err);
        if (n != rows[i].want || (rc == 0) != rows[i].want)
            fail_msg("%s: %s", rows[i].hosts, rows[i].url);
        if (n) {
            assert_string_equal(headers[0], "A: Bearer t0ken-of-the-test");
            assert_string_equal(ch_buf_str(&text), "x t0ken-of-the-test y");
        } else {
            assert_null(strstr(err.message, "t0ken"));
        }
        ch_secret_refs_free(list);
    }
}

static void test_a_value_is_a_known_secret(void **state) {
    struct ch_secret_refs *list = NULL;
    struct chela_error err;
    CH_BUF_AUTO name = {0};
    (void)state;
    assert_int_equal(add(&list, "{\"env\":\"TOKEN\",\"hosts\":[\"a.com\"]}", &err), 0);
    assert_true(ch_secret_find(CH_SV("send t0ken-of-the-test away"), &name));
    ch_secret_refs_free(list);
}

static void test_values_come_from_files_and_commands(void **state) {
    char path[] = "/tmp/chela-secret-XXXXXX";
    struct ch_secret_refs *list = NULL;
    struct chela_error err;
    struct ch_url to;
    CH_BUF_AUTO json = {0}, text = {0};
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0 && write(fd, "from a file\n", 12) == 12);
    close(fd);
    ch_buf_addf(&json, "{\"file\":\"%s\",\"hosts\":[\"a.com\"]}", path);
    assert_int_equal(add(&list, ch_buf_str(&json), &err), 0);
    unlink(path);
    parse("https://a.com/", &to);
    assert_int_equal(ch_secret_refs_fill(list, &to, CH_SV("{{secret:git}}"), &text, &err), 0);
    assert_string_equal(ch_buf_str(&text), "from a file");
    ch_secret_refs_free(list);
    list = NULL;
    ch_buf_clear(&text);
    assert_int_equal(
        add(&list, "{\"command\":[\"echo\",\"from a program\"],\"hosts\":[\"a.com\"]}", &err), 0);
    assert_int_equal(ch_secret_refs_fill(list, &to, CH_SV("{{secret:git}}"), &text, &err), 0);
    assert_string_equal(ch_buf_str(&text), "from a program");
    ch_secret_refs_free(list);
}

static void test_a_wrong_secret_is_named_and_refused(void **state) {
    static const struct {
        const char *json, *part;
    } rows[] = {
        {"{\"env\":\"ABSENT\",\"hosts\":[\"a.com\"]}", "secrets.git: there is no value"},
        {"{\"file\":\"/nowhere/x\",\"hosts\":[\"a.com\"]}", "there is no value"},
        {"{\"credential\":\"x\",\"hosts\":[\"a.com\"]}", "there is no value"},
        {"{\"credential\":\"../x\",\"hosts\":[\"a.com\"]}", "there is no value"},
        {"{\"command\":[\"false\"],\"hosts\":[\"a.com\"]}", "there is no value"},
        {"{\"command\":[\"printf\",\"a\\\\nb\"],\"hosts\":[\"a.com\"]}", "there is no value"},
        {"{\"command\":[],\"hosts\":[\"a.com\"]}", "there is no value"},
        {"{\"env\":\"TOKEN\",\"hosts\":[]}", "name the hosts"},
        {"{\"env\":\"TOKEN\",\"hosts\":[\"*\"]}", "owns no secret"},
        {"{\"env\":\"TOKEN\",\"hosts\":[\"https://a.com/x\"]}", "without scheme"},
        {"{\"env\":\"TOKEN\",\"hosts\":[\"a.com\"],\"header\":\"X\"}", "header: expected"},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct ch_secret_refs *list = NULL;
        struct chela_error err;
        if (add(&list, rows[i].json, &err) >= 0 || !strstr(err.message, rows[i].part))
            fail_msg("%s: %s", rows[i].json, err.message);
        ch_secret_refs_free(list);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_an_owner_gets_the_value),
        cmocka_unit_test(test_a_value_is_a_known_secret),
        cmocka_unit_test(test_values_come_from_files_and_commands),
        cmocka_unit_test(test_a_wrong_secret_is_named_and_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
