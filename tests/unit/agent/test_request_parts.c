/* test_request_parts.c -- ids of parts of requests, their text, and the set of stored ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/journal/request_parts.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/shared_text.h"

/* The first 16 digits of the SHA-256 of a text; the last two are the examples of FIPS 180. */
static void test_id(void **state) {
    (void)state;
    static const struct {
        struct ch_sv json;
        uint64_t id;
    } cases[] = {
        {CH_SV(""), 0xe3b0c44298fc1c14},
        {CH_SV("abc"), 0xba7816bf8f01cfea},
        {CH_SV("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), 0x248d6a61d20638b8},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++)
        assert_true(ch_part_id(cases[i].json) == cases[i].id);
}

static void test_text_of_an_id(void **state) {
    (void)state;
    static const struct {
        uint64_t id;
        const char *hex;
    } cases[] = {
        {0, "0000000000000000"},
        {1, "0000000000000001"},
        {0x0123456789abcdef, "0123456789abcdef"},
        {0x8000000000000000, "8000000000000000"},
        {UINT64_MAX, "ffffffffffffffff"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        char hex[CH_PART_HEX];
        uint64_t id = ~cases[i].id;
        ch_part_id_write(cases[i].id, hex);
        assert_string_equal(hex, cases[i].hex);
        assert_true(ch_part_id_read(ch_sv_str(hex), &id));
        assert_true(id == cases[i].id);
    }
}

static void test_texts_that_are_no_ids(void **state) {
    (void)state;
    static const struct ch_sv cases[] = {
        CH_SV(""),
        CH_SV("0"),
        CH_SV("0123456789abcde"),    /* a digit short */
        CH_SV("0123456789abcdef0"),  /* a digit too long */
        CH_SV("0123456789abcdeF"),   /* ids have small letters */
        CH_SV("0123456789abcdeg"),
        CH_SV("012345678`abcdef"),   /* the neighbours of the digits in ASCII */
        CH_SV("012345678/abcdef"),
        CH_SV("012345678:abcdef"),
        CH_SV("0x23456789abcdef"),
        CH_SV(" 123456789abcdef"),
        CH_SV("-123456789abcdef"),
        CH_SV("01234567\x00"
              "9abcdef"),
        CH_SV("01234567\xff"
              "9abcdef"),
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        uint64_t id;
        if (ch_part_id_read(cases[i], &id))
            fail_msg("case %zu is read as an id", i);
    }
}

static void test_set(void **state) {
    (void)state;
    static const struct {
        uint64_t id;
        bool added;
    } cases[] = {
        {0, true}, /* 0 is an id like any other */
        {0, false}, {UINT64_MAX, true}, {7, true}, {UINT64_MAX, false}, {0, false}, {7, false},
        {8, true},
    };
    struct ch_part_ids s = {0};
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (ch_part_ids_add(&s, cases[i].id) != cases[i].added)
            fail_msg("case %zu", i);
    assert_int_equal(s.n, 4);
    ch_part_ids_release(&s);
    assert_null(s.list);
    assert_int_equal(s.n, 0);
    assert_true(ch_part_ids_add(&s, 7)); /* a released set is empty, and can be used again */
    ch_part_ids_release(&s);
    ch_part_ids_release(&s);
}

/* A full set forgets its ids instead of growing: parts are stored twice, never not at all. */
static void test_limit_of_the_set(void **state) {
    (void)state;
    struct ch_part_ids s = {0};
    for (uint64_t id = 0; id < CH_LIMIT_PART_IDS; id++)
        assert_true(ch_part_ids_add(&s, id));
    assert_int_equal(s.n, CH_LIMIT_PART_IDS);
    assert_false(ch_part_ids_add(&s, 0)); /* a full set still knows its ids */
    assert_false(ch_part_ids_add(&s, CH_LIMIT_PART_IDS - 1));
    assert_true(ch_part_ids_add(&s, CH_LIMIT_PART_IDS));
    assert_false(ch_part_ids_add(&s, CH_LIMIT_PART_IDS));
    assert_true(ch_part_ids_add(&s, 0));
    assert_int_equal(s.n, 2);
    assert_true(s.cap <= CH_LIMIT_PART_IDS);
    ch_part_ids_release(&s);
}

/* The memo answers as ch_part_id does, whatever was asked before at the same position. */
static void test_memo_of_parts(void **state) {
    (void)state;
    static const struct {
        size_t position;
        struct ch_sv json;
    } cases[] = {
        {0, CH_SV("abc")}, {1, CH_SV("def")}, {0, CH_SV("abc")}, {1, CH_SV("abc")},
        {1, CH_SV("abd")}, {0, CH_SV("ab")},  {0, CH_SV("")},    {0, CH_SV("a\0b")},
        {0, CH_SV("a\0c")}, {2, CH_SV("")},   {0, CH_SV("abc")},
    };
    struct ch_request_digests *m = ch_alloc(sizeof(*m));
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        uint64_t id = ch_request_digests_part(m, cases[i].position, cases[i].json);
        if (id != ch_part_id(cases[i].json))
            fail_msg("case %zu", i);
    }
    ch_request_digests_free(m);
    ch_request_digests_free(NULL);
}

static void check_head(struct ch_request_digests *m, const char *head) {
    unsigned char got[CH_SHA256_SIZE], want[CH_SHA256_SIZE];
    struct ch_sha256 sha = ch_request_digests_head(m, head);
    ch_sha256_end(&sha, got);
    ch_sha256_of(ch_shared_text_sv(head), want);
    assert_memory_equal(got, want, sizeof(want));
}

/* The memo holds its head: a text at the address of a released one would have its digest. */
static void test_memo_of_a_head(void **state) {
    (void)state;
    struct ch_request_digests *m = ch_alloc(sizeof(*m));
    for (int i = 0; i < 4; i++) {
        char text[100];
        const char *last = NULL, *head;
        memset(text, 'a' + i, sizeof(text));
        head = ch_shared_text(&last, ch_sv(text, sizeof(text)));
        check_head(m, head);
        check_head(m, head);
        ch_shared_text_release(head);
        ch_shared_text_release(last);
    }
    ch_request_digests_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_id),
        cmocka_unit_test(test_text_of_an_id),
        cmocka_unit_test(test_texts_that_are_no_ids),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_limit_of_the_set),
        cmocka_unit_test(test_memo_of_parts),
        cmocka_unit_test(test_memo_of_a_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
