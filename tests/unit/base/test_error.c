/* test_error.c -- names, and messages that are one clean line whatever went in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/log.h"
#include "base/redact.h"
#include "base/utf8.h"

static void test_names(void **state) {
    (void)state;
    assert_string_equal(chela_error_name(0), "OK");
    assert_string_equal(chela_error_name(CHELA_EINVAL), "EINVAL");
    assert_string_equal(chela_error_name(CHELA_EINTERNAL), "EINTERNAL");
    assert_string_equal(chela_error_name(-12345), "E?");
    assert_string_equal(chela_error_text(CHELA_ETIMEOUT), "timed out");
    assert_string_equal(chela_error_text(7), "unknown error");
}

static void test_fail_fills(void **state) {
    (void)state;
    struct chela_error err = {.http_status = 429, .retry_after_ms = 5};
    assert_int_equal(ch_fail(&err, CHELA_ENET, "port %d\nclosed\x7f", 80), CHELA_ENET);
    assert_int_equal(err.code, CHELA_ENET);
    assert_string_equal(err.message, "port 80 closed ");
    assert_int_equal(err.http_status, 429);
    assert_int_equal(ch_fail(NULL, CHELA_ENET, "nobody listens"), CHELA_ENET);
    ch_fail(&err, CHELA_EIO, "%s", "");
    assert_string_equal(err.message, chela_error_text(CHELA_EIO));
}

static void test_own_message_as_argument(void **state) {
    (void)state;
    struct chela_error err = {0};
    ch_fail(&err, CHELA_EIO, "disk");
    ch_fail(&err, CHELA_EIO, "store: %s", err.message);
    assert_string_equal(err.message, "store: disk");
}

/* A long message ends at a character, at every offset of the cut. */
static void test_cut_between_characters(void **state) {
    (void)state;
    for (int pad = 0; pad < 4; pad++) {
        struct chela_error err = {0};
        CH_BUF_AUTO text = {0};
        ch_buf_addf(&text, "%*s", pad, "");
        while (text.n < 2 * CHELA_ERROR_MAX)
            ch_buf_add_str(&text, "\xe4\xbd\xa0");
        ch_fail(&err, CHELA_EIO, "%s", ch_buf_str(&text));
        size_t n = strlen(err.message);
        assert_true(n >= CHELA_ERROR_MAX - 3 && n < CHELA_ERROR_MAX);
        assert_true(ch_utf8_valid(ch_sv_str(err.message)));
    }
}

static void test_bad_bytes_are_replaced(void **state) {
    (void)state;
    struct chela_error err = {0};
    ch_fail(&err, CHELA_EPARSE, "peer said %s", "\xff\xfe");
    assert_string_equal(err.message, "peer said \xef\xbf\xbd\xef\xbf\xbd");
}

/* The cut must not leave the first half of a secret in sight. */
static void test_secret_at_the_cut(void **state) {
    (void)state;
    ch_redact_add("correct-horse-battery-staple");
    for (int pad = CHELA_ERROR_MAX - 40; pad < CHELA_ERROR_MAX; pad++) {
        struct chela_error err = {0};
        ch_fail(&err, CHELA_EAUTH, "%*s|correct-horse-battery-staple|", pad, "");
        assert_null(strstr(err.message, "corr"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_fail_fills),
        cmocka_unit_test(test_own_message_as_argument),
        cmocka_unit_test(test_cut_between_characters),
        cmocka_unit_test(test_bad_bytes_are_replaced),
        cmocka_unit_test(test_secret_at_the_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
