/* test_sha256.c -- the standard's examples, and every length around a block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/mem.h"
#include "base/sha256.h"

static void digest(const void *p, size_t n, size_t piece, char hex[65]) {
    unsigned char out[CH_SHA256_SIZE];
    struct ch_sha256 h;

    ch_sha256_init(&h);
    for (size_t at = 0; at < n; at += piece)
        ch_sha256_add(&h, (const char *)p + at, CH_MIN(piece, n - at));
    ch_sha256_end(&h, out);
    for (size_t i = 0; i < sizeof(out); i++)
        snprintf(hex + 2 * i, 3, "%02x", out[i]);
}

static void test_known(void **state) {
    (void)state;
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
         "lmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };

    for (size_t i = 0; i < CH_LEN(cases); i++) {
        char hex[65];
        digest(cases[i].text, strlen(cases[i].text), 1000, hex);
        assert_string_equal(hex, cases[i].hex);
    }
}

static void test_a_million(void **state) {
    (void)state;
    CH_AUTOFREE char *text = ch_malloc(1000000);
    char hex[65];

    memset(text, 'a', 1000000);
    digest(text, 1000000, 977, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Where a text is cut into pieces makes no difference. */
static void test_pieces(void **state) {
    (void)state;
    char text[200], whole[65], cut[65];

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)(i * 7);
    for (size_t n = 0; n < sizeof(text); n++) {
        digest(text, n, sizeof(text), whole);
        for (size_t piece = 1; piece < 130; piece += 9) {
            digest(text, n, piece, cut);
            assert_string_equal(whole, cut);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_a_million),
        cmocka_unit_test(test_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
