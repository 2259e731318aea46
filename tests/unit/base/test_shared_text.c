/* test_shared_text.c -- who shares a text, and how long the text lives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/shared_text.h"

static void test_equal_texts_are_one(void **state) {
    (void)state;
    const char *last = NULL;
    const char *a = ch_shared_text(&last, CH_SV("one text"));
    const char *b = ch_shared_text(&last, CH_SV("one text"));
    assert_ptr_equal(a, b);
    assert_string_equal(a, "one text");
    const char *c = ch_shared_text(&last, CH_SV("one tex"));
    const char *d = ch_shared_text(&last, CH_SV("one texT"));
    assert_ptr_not_equal(a, c);
    assert_ptr_not_equal(c, d);
    assert_string_equal(c, "one tex");
    assert_ptr_equal(last, d);
    ch_shared_text_release(a);
    assert_string_equal(b, "one text"); /* b still holds the text, which is not the last any more */
    ch_shared_text_release(b);
    ch_shared_text_release(c);
    ch_shared_text_release(d);
    assert_string_equal(last, "one texT");
    const char *e = ch_shared_text_ref(last);
    ch_shared_text_release(last);
    assert_string_equal(e, "one texT");
    ch_shared_text_release(e);
    ch_shared_text_release(NULL);
}

static void test_any_bytes(void **state) {
    (void)state;
    const char *last = NULL;
    const char *none = ch_shared_text(&last, ch_sv(NULL, 0));
    assert_string_equal(none, "");
    const char *bytes = ch_shared_text(&last, ch_sv("a\0b", 3));
    assert_memory_equal(bytes, "a\0b", 4);
    assert_int_equal(ch_shared_text_sv(bytes).n, 3);
    assert_ptr_equal(ch_shared_text_sv(bytes).p, bytes);
    assert_ptr_not_equal(bytes, ch_shared_text(&last, ch_sv("a\0c", 3)));
    ch_shared_text_release(none);
    ch_shared_text_release(bytes);
    ch_shared_text_release(last);
    ch_shared_text_release(last);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_texts_are_one),
        cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
