/* test_read.c -- reading files: ranges, limits, images and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"

static void setup(struct kit *k) {
    kit_init(k);
    ch_builtin_add_with(&k->registry, NULL, NULL, NULL, NULL);
}

static const struct {
    const char *what, *arguments;
    const char *type, *want; /* type NULL: content equals want */
} cases[] = {
    {"whole", "{\"file_path\":\"abc\"}", NULL, "one\ntwo\nthree\n"},
    {"alias", "{\"path\":\"abc\"}", NULL, "one\ntwo\nthree\n"},
    {"no line feed at the end", "{\"file_path\":\"open\"}", NULL, "one\ntwo"},
    {"from a line", "{\"file_path\":\"abc\",\"offset\":2}", NULL, "two\nthree\n"},
    {"offset 0 is the first line", "{\"file_path\":\"abc\",\"offset\":0,\"limit\":3}", NULL,
     "one\ntwo\nthree\n"},
    {"some lines", "{\"file_path\":\"abc\",\"limit\":2}", NULL,
     "one\ntwo\n[Lines 1 to 2 of 3. Use offset=3 to read on.]\n"},
    {"one line in the middle", "{\"file_path\":\"abc\",\"offset\":2,\"limit\":1}", NULL,
     "two\n[Lines 2 to 2 of 3. Use offset=3 to read on.]\n"},
    {"last line, open", "{\"file_path\":\"open\",\"offset\":2}", NULL, "two"},
    {"first line, open", "{\"file_path\":\"open\",\"limit\":1}", NULL,
     "one\n[Lines 1 to 1 of 2. Use offset=2 to read on.]\n"},
    {"empty", "{\"file_path\":\"empty\"}", NULL, "(The file is empty.)"},
    {"CRLF stays", "{\"file_path\":\"crlf\"}", NULL, "a\r\nb\r\n"},
    {"UTF-8", "{\"file_path\":\"utf8\"}", NULL, "\xe4\xbd\xa0\xe5\xa5\xbd\n"},
    {"Latin-1 is shown as it can be", "{\"file_path\":\"latin1\"}", NULL, "caf\xef\xbf\xbd\n"},
    {"through a link", "{\"file_path\":\"link\"}", NULL, "one\ntwo\nthree\n"},
    {"past the end", "{\"file_path\":\"abc\",\"offset\":9}", "invalid_arguments",
     "offset 9 is past the end: abc has 3 lines"},
    {"bad offset", "{\"file_path\":\"abc\",\"offset\":-1}", "invalid_arguments", "at least 1"},
    {"bad limit", "{\"file_path\":\"abc\",\"limit\":0}", "invalid_arguments", "at least 1"},
    {"offset is no number", "{\"file_path\":\"abc\",\"offset\":\"two\"}", "invalid_arguments",
     "must be a whole number"},
    {"no path", "{}", "invalid_arguments", "\\\"file_path\\\" is missing"},
    {"empty path", "{\"file_path\":\"\"}", "invalid_arguments", "The path is empty"},
    {"path is a number", "{\"file_path\":[]}", "invalid_arguments", "must be a string"},
    {"missing, similar", "{\"file_path\":\"abd\"}", "not_found", "Similar names there: abc"},
    {"missing in a directory", "{\"file_path\":\"sub/maim.py\"}", "not_found", "main.py"},
    {"missing, nothing close", "{\"file_path\":\"zzzzzzzzzz\"}", "not_found", "no such file"},
    {"missing directory", "{\"file_path\":\"nodir/x\"}", "not_found", "no such file"},
    {"a file as directory", "{\"file_path\":\"abc/x\"}", "not_found", "not a directory"},
    {"directory", "{\"file_path\":\"sub\"}", "invalid_arguments", "it is a directory; use ls"},
    {"the workspace", "{\"file_path\":\".\"}", "invalid_arguments", "directory"},
    {"binary", "{\"file_path\":\"binary\"}", "invalid_arguments", "not text but binary data"},
    {"ELF", "{\"file_path\":\"elf\"}", "invalid_arguments", "an ELF program"},
    {"PDF", "{\"file_path\":\"pdf\"}", "invalid_arguments", "a PDF document"},
    {"UTF-16", "{\"file_path\":\"utf16\"}", "invalid_arguments", "UTF-16 text"},
};

static void test_cases(void **state) {
    struct kit k;

    (void)state;
    setup(&k);
    kit_put(&k, "abc", "one\ntwo\nthree\n");
    kit_put(&k, "open", "one\ntwo");
    kit_put(&k, "empty", "");
    kit_put(&k, "crlf", "a\r\nb\r\n");
    kit_put(&k, "utf8", "\xe4\xbd\xa0\xe5\xa5\xbd\n");
    kit_put(&k, "latin1", "caf\xe9\n");
    kit_put_bytes(&k, "binary", "a\0b", 3);
    kit_put_bytes(&k, "elf",
                  "\x7f"
                  "ELF\2\1\1",
                  7);
    kit_put(&k, "pdf", "%PDF-1.4 text so far");
    kit_put_bytes(&k, "utf16",
                  "\xff\xfe"
                  "h\0i\0",
                  6);
    kit_mkdir(&k, "sub");
    kit_put(&k, "sub/main.py", "");
    kit_link(&k, "abc", "link");
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        kit_call(&k, "read", cases[i].arguments);
        if (k.is_error != (cases[i].type != NULL) ||
            (cases[i].type
                 ? strcmp(k.error_type, cases[i].type) != 0 || !strstr(k.content, cases[i].want)
                 : strcmp(k.content, cases[i].want) != 0))
            fail_msg("%s: %s", cases[i].what, k.content);
    }
    kit_free(&k);
}

static void test_details(void **state) {
    struct kit k;

    (void)state;
    setup(&k);
    kit_put(&k, "abc", "one\ntwo\nthree\n");
    kit_call(&k, "read", "{\"file_path\":\"abc\",\"offset\":2,\"limit\":1}");
    assert_string_equal(k.details,
                        "{\"path\":\"abc\",\"firstLine\":2,\"lastLine\":2,\"totalLines\":3}");
    kit_free(&k);
}

/* Following the offsets gives every line once, whatever the line lengths. */
static void test_reading_on(void **state) {
    static const int widths[] = {0, 1, 7, 79, 400, 14999, 15000};

    (void)state;
    for (size_t i = 0; i < CH_LEN(widths); i++) {
        CH_BUF_AUTO file = {0}, got = {0};
        struct kit k;
        int lines = widths[i] > 1000 ? 5 : 5000, pages = 0;
        setup(&k);
        for (int n = 1; n <= lines; n++) {
            for (int w = 0; w < widths[i]; w++)
                ch_buf_addc(&file, (char)('a' + (n + w) % 26));
            ch_buf_addc(&file, '\n');
        }
        kit_put_bytes(&k, "file", file.p, file.n);
        for (long at = 1; at > 0; pages++) {
            char args[64];
            snprintf(args, sizeof(args), "{\"file_path\":\"file\",\"offset\":%ld}", at);
            kit_call(&k, "read", args);
            assert_false(k.is_error);
            assert_false(k.truncated);
            char *note = strstr(k.content, "[L");
            char *next = note ? strstr(note, "offset=") : NULL;
            at = next ? strtol(next + 7, NULL, 10) : 0;
            if (note)
                *note = '\0';
            ch_buf_add_str(&got, k.content);
            assert_true(pages < 1000);
        }
        assert_int_equal(got.n, file.n);
        assert_memory_equal(got.p, file.p, file.n);
        assert_true(pages > 1);
        kit_free(&k);
    }
}

static void test_long_line(void **state) {
    CH_BUF_AUTO file = {0};
    struct kit k;

    (void)state;
    setup(&k);
    for (int n = 0; n < 50000; n++)
        ch_buf_add_str(&file, "\xe4\xbd\xa0");
    ch_buf_add_str(&file, "\nafter\n");
    kit_put_bytes(&k, "file", file.p, file.n);
    kit_call(&k, "read", "{\"file_path\":\"file\"}");
    assert_false(k.truncated);
    assert_non_null(strstr(k.content, "[Line 1 is too long: only its first 15000 characters are "
                                      "shown. Use offset=2 to read on.]"));
    assert_string_equal(kit_call(&k, "read", "{\"file_path\":\"file\",\"offset\":2}"), "after\n");
    kit_free(&k);
}

static void test_large_file(void **state) {
    struct kit k;

    (void)state;
    setup(&k);
    kit_put(&k, "large", "first\n");
    CH_AUTOFREE char *path = kit_path(&k, "large");
    CH_AUTOFREE char *block = ch_malloc(CH_MB);
    memset(block, 'x', CH_MB);
    for (size_t i = 1023; i < CH_MB; i += 1024)
        block[i] = '\n';
    FILE *f = fopen(path, "a");
    for (int i = 0; i < 20; i++)
        assert_int_equal(fwrite(block, 1, CH_MB, f), CH_MB);
    fclose(f);
    kit_call(&k, "read", "{\"file_path\":\"large\",\"limit\":1}");
    assert_non_null(strstr(k.content, "first\n[Lines 1 to 1 of at least 16"));
    kit_call(&k, "read", "{\"file_path\":\"large\",\"offset\":16384}");
    assert_false(k.is_error);
    assert_non_null(strstr(k.content, "Only the first 16 MB of the file's 20971526 bytes"));
    kit_free(&k);
}

static void test_images(void **state) {
    static const struct {
        const char *name, *bytes;
        size_t n;
        const char *type;
    } images[] = {
        {"a.png", "\x89PNG\r\n\x1a\n0000", 12, "image/png"},
        {"b.dat", "\xff\xd8\xff\xe0xx", 6, "image/jpeg"},
        {"c.gif", "GIF89a..", 8, "image/gif"},
        {"d.webp", "RIFF\0\0\0\0WEBPVP8 ", 16, "image/webp"},
    };
    struct kit k;

    (void)state;
    setup(&k);
    for (size_t i = 0; i < CH_LEN(images); i++) {
        CH_BUF_AUTO args = {0};
        kit_put_bytes(&k, images[i].name, images[i].bytes, images[i].n);
        ch_buf_addf(&args, "{\"file_path\":\"%s\"}", images[i].name);
        kit_call(&k, "read", ch_buf_str(&args));
        assert_false(k.is_error);
        assert_int_equal(k.results->nblocks, 2);
        assert_int_equal(k.results->blocks[1].type, CH_BLOCK_IMAGE);
        assert_true(ch_sv_is(k.results->blocks[1].name, images[i].type));
        assert_int_equal(k.results->blocks[1].text.n, (images[i].n + 2) / 3 * 4);
    }
    kit_put_bytes(&k, "big.png", "\x89PNG\r\n\x1a\n", 8);
    CH_AUTOFREE char *big = kit_path(&k, "big.png");
    assert_int_equal(truncate(big, 5000000), 0);
    kit_call(&k, "read", "{\"file_path\":\"big.png\"}");
    assert_true(k.is_error);
    assert_non_null(strstr(k.content, "5000000 bytes, the limit is"));
    kit_free(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),      cmocka_unit_test(test_details),
        cmocka_unit_test(test_reading_on), cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_large_file), cmocka_unit_test(test_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
