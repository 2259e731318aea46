/* test_secrets.c -- secrets are found in what leaves, in the encodings that a model can write,
 * and ordinary text is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "guard/leak.h"
#include "guard/secrets.h"

#define SECRET "sk-Live+42/~Key?9"

static struct ch_secrets *one(const char *value) {
    struct ch_secrets *s = ch_secrets_new();
    ch_secrets_put(s, "THE_KEY", ch_sv_str(value));
    return s;
}

static void check_found(const struct ch_secrets *s, struct ch_sv text, bool found) {
    const char *name = ch_secrets_find(s, text);
    if ((name != NULL) != found)
        fail_msg("%.*s: %s", CH_SV_FMT(text), found ? "not found" : "found");
    if (found)
        assert_string_equal(name, "THE_KEY");
}

static void test_forms(void **state) {
    struct ch_secrets *s = one(SECRET);
    CH_BUF_AUTO hex = {0}, all = {0};
    static const char *const found[] = {
        SECRET,
        "https://x.example/?q=" SECRET "&a=b",
        "SK-LIVE+42/~KEY?9", /* the name of a host has no case */
        "sk-Live%2B42%2F%7eKey%3f9",
        "%73k-Live+42/~Key?9",
        "sk-Live%252B42%252F~Key%253F9",
        "sk-Live+42\n/~Key?9",
        "s k - L i v e + 4 2 / ~ K e y ? 9",
        "sk-Live%25252525252B42%25252525252F~Key%25252525253F9",
        "73:6b:2d:4c:69:76:65:2b:34:32:2f:7e:4b:65:79:3f:39",
        "\\x73\\x6b\\x2D\\x4c\\x69\\x76\\x65\\x2b\\x34\\x32\\x2f\\x7e\\x4b\\x65\\x79\\x3f\\x39",
        ("{0x73, 0x6b, 0x2d, 0x4c, 0x69, 0x76, 0x65, 0x2b, 0x34,\n 0x32, 0x2f, 0x7e, 0x4b, 0x65, "
         "0x79, 0x3f, 0x39}"),
        "https://736b2d4c6976652b.34322f7e4b65793f39.example/",
    };
    static const char *const not_found[] = {"", "sk-Live+42/~Key?", "%", "%7", "Key?9", "sk-Live"};
    (void)state;
    for (size_t i = 0; i < CH_LEN(found); i++)
        check_found(s, ch_sv_str(found[i]), true);
    for (size_t i = 0; i < CH_LEN(not_found); i++)
        check_found(s, ch_sv_str(not_found[i]), false);
    for (size_t i = 0; i < strlen(SECRET); i++)
        ch_buf_addf(&hex, i % 2 ? "%02X" : "%02x", (unsigned char)SECRET[i]);
    check_found(s, ch_buf_sv(&hex), true);
    for (size_t i = 0; i < strlen(SECRET); i++)
        ch_buf_addf(&all, "%%%02X", (unsigned char)SECRET[i]);
    check_found(s, ch_buf_sv(&all), true);
    ch_secrets_free(s);
}

/* At any position of a longer text, in both alphabets, with and without padding and lines. */
static void test_base64(void **state) {
    struct ch_secrets *s = one(SECRET);
    (void)state;
    for (size_t before = 0; before < 5; before++)
        for (size_t after = 0; after < 4; after++) {
            CH_BUF_AUTO plain = {0}, standard = {0}, url = {0}, lines = {0}, percent = {0};
            ch_buf_add(&plain, "\xff\xfb?>~", before);
            ch_buf_add_str(&plain, SECRET);
            ch_buf_add(&plain, "\xff\xfb?>", after);
            ch_base64_add(&standard, ch_buf_sv(&plain));
            for (size_t i = 0; i < standard.n; i++) {
                char c = standard.p[i];
                if (c != '=')
                    ch_buf_addc(&url, (char)(c == '+' ? '-' : c == '/' ? '_' : c));
                ch_buf_addf(&lines, "%c%s", c, i % 5 == 4 ? "\r\n" : "");
                ch_buf_addf(&percent, c == '+' || c == '/' || c == '=' ? "%%%02X" : "%c", c);
            }
            check_found(s, ch_buf_sv(&standard), true);
            check_found(s, ch_buf_sv(&url), true);
            check_found(s, ch_buf_sv(&lines), true);
            check_found(s, ch_buf_sv(&percent), true);
        }
    ch_secrets_free(s);
}

static void twice(const struct ch_secrets *s, bool hex_first, bool hex_then, size_t before) {
    CH_BUF_AUTO text = {0}, once = {0}, all = {0};
    ch_buf_add(&text, "abc", before);
    ch_buf_add_str(&text, SECRET);
    for (size_t i = 0; hex_first && i < text.n; i++)
        ch_buf_addf(&once, "%02x", (unsigned char)text.p[i]);
    if (!hex_first)
        ch_base64_add(&once, ch_buf_sv(&text));
    ch_buf_add_str(&all, "https://x.example/a/");
    for (size_t i = 0; hex_then && i < once.n; i++)
        ch_buf_addf(&all, "%02X", (unsigned char)once.p[i]);
    if (!hex_then)
        ch_base64_add(&all, ch_buf_sv(&once));
    check_found(s, ch_buf_sv(&all), true);
}

static void test_two_encodings(void **state) {
    struct ch_secrets *s = one(SECRET), *words = one("correct horse battery");
    (void)state;
    for (size_t before = 0; before < 3; before++)
        for (unsigned ways = 0; ways < 4; ways++)
            twice(s, ways & 1, ways & 2, before);
    check_found(words, CH_SV("q=correct+horse+battery&x"), true);
    check_found(words, CH_SV("correct%20horse+battery"), true);
    check_found(words, CH_SV("correct horse and battery"), false);
    ch_secrets_free(s);
    ch_secrets_free(words);
}

static void test_weak(void **state) {
    static const char *const weak[] = {"", "x", "true", "1234567", "localhost", "Development",
                                       "aaaaaaaaaaaa", "  short  ", "-----BEGIN KEY-----\nabc\n"};
    struct ch_secrets *s = ch_secrets_new();
    (void)state;
    for (size_t i = 0; i < CH_LEN(weak); i++)
        assert_false(ch_secrets_put(s, "WEAK", ch_sv_str(weak[i])));
    check_found(s, CH_SV("x true 1234567 localhost development aaaaaaaaaaaa short"), false);
    assert_true(ch_secrets_put(s, "THE_KEY", CH_SV("-----BEGIN KEY-----\nMIIBVgIBADANBgkq\n")));
    check_found(s, CH_SV("-----BEGIN KEY-----"), false);
    check_found(s, CH_SV("MIIBVgIBADANBgkq"), true);
    ch_secrets_free(s);
}

static void test_names(void **state) {
    static const char *const yes[] = {"API_KEY", "db-password", "Authorization", "GITHUB_TOKEN",
                                      "dbPassword", "X-Api-Key", "PGPASSWORD", "stripe.secret"};
    static const char *const no[] = {"", "NODE_ENV", "KEYBOARD", "Content-Type", "PORT", "AUTHOR"};
    (void)state;
    for (size_t i = 0; i < CH_LEN(yes); i++)
        if (!ch_secret_is_named(ch_sv_str(yes[i])))
            fail_msg("%s", yes[i]);
    for (size_t i = 0; i < CH_LEN(no); i++)
        if (ch_secret_is_named(ch_sv_str(no[i])))
            fail_msg("%s", no[i]);
}

static void test_mask(void **state) {
    static const char *const cases[][2] = {
        {"curl -H 'k: " SECRET "' x", "curl -H 'k: [secret: THE_KEY]' x"},
        {SECRET SECRET, "[secret: THE_KEY][secret: THE_KEY]"},
        {"nothing", "nothing"},
        {"", ""},
    };
    struct ch_secrets *s = one(SECRET);
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        CH_BUF_AUTO out = {0};
        bool any = ch_secrets_mask(s, ch_sv_str(cases[i][0]), &out);
        assert_string_equal(ch_buf_str(&out), cases[i][1]);
        assert_int_equal(any, strcmp(cases[i][0], cases[i][1]) != 0);
    }
    ch_secrets_free(s);
}

/* Many secrets, dropped ones among them, and a large text: the newest are found, in time. */
static void test_bounds(void **state) {
    struct ch_secrets *s = ch_secrets_new();
    CH_BUF_AUTO text = {0};
    char value[64];
    (void)state;
    for (int i = 0; i < CH_LIMIT_SECRETS + 10; i++) {
        snprintf(value, sizeof(value), "secret-number-%d-of-many", i);
        assert_true(ch_secrets_put(s, i < 10 ? "OLD" : "THE_KEY", ch_sv_str(value)));
    }
    check_found(s, CH_SV("secret-number-3-of-many"), false);
    check_found(s, CH_SV("secret-number-200-of-many"), true);
    check_found(s, ch_sv_str(value), true);
    for (size_t i = 0; i < 20000; i++)
        ch_buf_add_str(&text, "secret-n secret% %61");
    int64_t from = ch_mono_ms(&ch_clock_system);
    check_found(s, ch_buf_sv(&text), false);
    assert_true(ch_mono_ms(&ch_clock_system) - from < 60000); /* 400 kB */
    ch_secrets_free(s);
}

/* --- a workspace */

static char space[] = "/tmp/test_secrets.XXXXXX";

static void put(const char *name, const char *text) {
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path, "%s/%s", space, name);
    FILE *f = fopen(ch_buf_str(&path), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const char *leak(const char *text) {
    static char name[200];
    CH_BUF_AUTO found = {0};
    bool any = ch_leak_find(space, 0, ch_sv_str(text), &found);
    snprintf(name, sizeof(name), "%s", ch_buf_str(&found));
    return any ? name : NULL;
}

static void check_leaks(const char *text, const char *name) {
    const char *found = leak(text);
    if (!found || strcmp(found, name) != 0)
        fail_msg("%s: %s, not %s", text, found ? found : "none", name);
}

static void test_dotenv(void **state) {
    static const char *const settings[] = {
        "development-server", "my-application", "https://api.example.com/v1", "us-east-1",
        "/var/lib/application", "claude-sonnet-4-6", "127.0.0.1:8080", "me@mail.example.com",
        "an-example-key-of-all", "short"};
    CH_BUF_AUTO path = {0};
    (void)state;
    assert_non_null(mkdtemp(space));
    ch_buf_addf(&path, "%s/sub", space);
    assert_int_equal(mkdir(ch_buf_str(&path), 0700), 0);
    put(".env", "# a comment = with-SECRET-0815x\n"
                "NODE_ENV=development-server\nAPP_NAME=my-application\n"
                "BASE_URL=https://api.example.com/v1\nREGION=us-east-1\n"
                "DATA=/var/lib/application\nMODEL=claude-sonnet-4-6\nLISTEN=127.0.0.1:8080\n"
                "MAIL=me@mail.example.com\nPIN_KEY=short\n"
                "export API_KEY = \"correct-horse\" # words\r\n"
                "DB=postgres://me:hunter2hunter2@db/x\n"
                "CACHE=redis://:short@cache/0\n"
                "OPAQUE=4f9a8b7c6d5e4f3a\nSHOWN_KEY=an-example-key-of-all\n"
                "PEM_KEY='-----BEGIN X-----\nMIIBVgIBADANBgkqABC\n-----END X-----'\n"
                "LAST_TOKEN=last-token");
    put(".env.example", "SHOWN_KEY=an-example-key-of-all\nOPAQUE=4f9a8b7c6d5e4f3a\n");
    put("sub/prod.env", "STRIPE_SECRET=whsec_abcdefgh\n");
    put("notes.txt", "OTHER_SECRET=not-an-env-file\n");
    for (size_t i = 0; i < CH_LEN(settings); i++)
        if (leak(settings[i]))
            fail_msg("%s: %s", settings[i], leak(settings[i]));
    assert_null(leak("with-SECRET-0815x and not-an-env-file"));
    check_leaks("a correct-horse battery", "API_KEY (.env)");
    check_leaks("Y29ycmVjdC1ob3JzZQ==", "API_KEY (.env)");
    check_leaks("hunter2hunter2", "DB (.env)");
    check_leaks("4f9a8b7c6d5e4f3a", "OPAQUE (.env)");
    check_leaks("redis://:short@cache/0", "CACHE (.env)");
    check_leaks("MIIBVgIBADANBgkqABC", "PEM_KEY (.env)");
    check_leaks("last-token", "LAST_TOKEN (.env)");
    check_leaks("whsec_abcdefgh", "STRIPE_SECRET (sub/prod.env)");
    put(".env", "API_KEY=another-horse\n");
    for (int i = 0; i < 40; i++) { /* each full of values */
        CH_BUF_AUTO many = {0}, name = {0};
        for (int k = 0; k < CH_LIMIT_SECRETS; k++)
            ch_buf_addf(&many, "K_KEY=other-value-%d-%d\n", i, k);
        ch_buf_addf(&name, "%d.env", i);
        put(ch_buf_str(&name), ch_buf_str(&many));
    }
    check_leaks("another-horse", "API_KEY (.env)");
    assert_null(leak("correct-horse"));
    check_leaks("another-horse", "API_KEY (.env)");
    CH_BUF_AUTO command = {0};
    ch_buf_addf(&command, "rm -rf '%s'", space);
    assert_int_equal(system(ch_buf_str(&command)), 0);
    assert_null(leak("another-horse"));
}

static void test_process(void **state) {
    CH_BUF_AUTO name = {0}, none = {0};
    (void)state;
    ch_secret_add("Bearer the-token-of-a-test", "the header %s", "Authorization");
    ch_secret_add("x", "SHORT");
    ch_secret_add(NULL, "UNSET");
    assert_true(ch_leak_find(NULL, 0, CH_SV("q=the-token-of-a-test"), &name));
    assert_string_equal(ch_buf_str(&name), "the header Authorization");
    assert_false(ch_leak_find(NULL, 0, CH_SV("Bearer of x x x x x x"), &none));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mask),
        cmocka_unit_test(test_forms), cmocka_unit_test(test_base64),
        cmocka_unit_test(test_two_encodings), cmocka_unit_test(test_weak),
        cmocka_unit_test(test_names), cmocka_unit_test(test_bounds), cmocka_unit_test(test_dotenv),
        cmocka_unit_test(test_process)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
