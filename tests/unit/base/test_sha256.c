/* test_sha256.c -- the standard's examples, and every length around a block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/mem.h"
#include "base/sha256.h"
#include "base/sha256_block.h"

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

/* RFC 4231, and a key that is also where the result goes. */
static void test_hmac(void **state) {
    (void)state;
    static const char long_key[131] = {[0 ... 130] = (char)0xaa};
    static const struct {
        struct ch_sv key, text;
        const char *hex;
    } cases[] = {
        {CH_SV("\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b"),
         CH_SV("Hi There"), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {CH_SV("Jefe"), CH_SV("what do ya want for nothing?"),
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {{long_key, sizeof(long_key)},
         CH_SV("Test Using Larger Than Block-Size Key - Hash Key First"),
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {CH_SV(""), CH_SV(""), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"},
    };

    for (size_t i = 0; i < CH_LEN(cases); i++) {
        unsigned char out[CH_SHA256_SIZE];
        char hex[65];
        ch_hmac_sha256(cases[i].key, cases[i].text, out);
        for (size_t k = 0; k < sizeof(out); k++)
            snprintf(hex + 2 * k, 3, "%02x", out[k]);
        assert_string_equal(hex, cases[i].hex);
    }

    unsigned char key[CH_SHA256_SIZE] = {1, 2, 3}, other[CH_SHA256_SIZE];
    struct ch_sv same = ch_sv((const char *)key, sizeof(key));
    ch_hmac_sha256(same, CH_SV("text"), other);
    ch_hmac_sha256(same, CH_SV("text"), key);
    assert_memory_equal(key, other, sizeof(key));
}

/* The instructions of the processor give the results of plain C, at any address. */
static void test_blocks(void **state) {
    enum { BLOCKS = 5 };
    unsigned char bytes[BLOCKS * CH_SHA256_BLOCK + 16];
    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 131 + (i * i >> 3));
    for (size_t at = 0; at < 16; at++)
        for (size_t n = 0; n <= BLOCKS; n++) {
            uint32_t fast[8], plain[8];
            for (uint32_t i = 0; i < 8; i++)
                fast[i] = plain[i] = 0x9e3779b9 * (i + 1);
            ch_sha256_blocks(fast, bytes + at, n);
            ch_sha256_blocks_plain(plain, bytes + at, n);
            assert_memory_equal(fast, plain, sizeof(fast));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_a_million),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_hmac),
        cmocka_unit_test(test_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
