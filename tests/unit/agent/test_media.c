/* test_media.c -- what may stand beside a prompt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/machine/media.h"
#include "base/limits.h"
#include "base/mem.h"

#define PNG "\x89PNG\r\n\x1a\n....."
#define BYTES(s) .data = (s), .len = sizeof(s) - 1

static const struct {
    struct chela_media m;
    const char *what; /* "type name", or what the error says */
    int rc;
} cases[] = {
    {{BYTES(PNG), .name = "a.png"}, "image/png", 0},
    {{BYTES("\xff\xd8\xff\xe0...")}, "image/jpeg", 0},
    {{BYTES("GIF89a...")}, "image/gif", 0},
    {{BYTES("RIFF....WEBPVP8 ")}, "image/webp", 0},
    {{BYTES("%PDF-1.7")}, "application/pdf", 0},
    {{BYTES(PNG), .media_type = "image/png"}, "image/png", 0},
    {{BYTES(PNG), .media_type = "image/jpeg", .name = "a.jpg"},
     "a.jpg: it is image/png",
     CHELA_EINVAL},
    {{BYTES("RIFF....WAVEfmt ")}, "neither", CHELA_EINVAL},
    {{BYTES("hello"), .name = "x.png"}, "x.png: neither", CHELA_EINVAL},
    {{BYTES("")}, "neither", CHELA_EINVAL},
    {{.url = "https://h/a.png"}, "", 0},
    {{.url = "data:image/png;base64,iVBORw0KGgoAAAAA"}, "image/png", 0},
    {{.url = "data:image/png,abc"}, "expected data:", CHELA_EINVAL},
    {{.url = "data:image/png;base64,aGVsbG8="}, "neither", CHELA_EINVAL},
    {{.url = "data:image/png;base64,***"}, "expected data:", CHELA_EINVAL},
    {{.url = "file:///etc/passwd"}, "expected an http(s)", CHELA_EINVAL},
};

static const struct ch_media_input see = {.kind = CH_MSG_USER, .text = CH_SV("see"), .ts = 5},
                                   empty = {.kind = CH_MSG_USER, .text = CH_SV("")};

static void test_kinds(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_msg *m = NULL;
        struct chela_error err = {0};
        int rc = ch_media_message(&see, &cases[i].m, 1, &m, &err);
        if (rc != cases[i].rc || (rc < 0 && !strstr(err.message, cases[i].what)))
            fail_msg("case %zu: %d %s", i, rc, err.message);
        if (rc == 0) {
            assert_int_equal(m->nblocks, 2);
            assert_true(ch_sv_is(m->blocks[0].text, "see"));
            assert_true(ch_sv_is(m->blocks[1].name, cases[i].what));
            bool url = cases[i].m.url && cases[i].m.url[0] == 'h';
            assert_int_equal(m->blocks[1].flags & CH_F_URL, url ? CH_F_URL : 0);
        }
        ch_msg_free(m);
    }
}

static void test_sizes(void **state) {
    (void)state;
    struct ch_msg *m = NULL;
    struct chela_error err = {0};
    char *large = ch_alloc(CH_LIMIT_IMAGE_READ + 1);
    memcpy(large, PNG, 8);
    struct chela_media one = {.data = large, .len = CH_LIMIT_IMAGE_READ + 1};
    assert_int_equal(ch_media_message(&empty, &one, 1, &m, &err), CHELA_ELIMIT);
    one.len--;
    assert_int_equal(ch_media_message(&empty, &one, 1, &m, &err), 0);
    ch_msg_free(m);
    ch_free(large);
    assert_int_equal(ch_media_message(&empty, &one, CH_LIMIT_INPUT_MEDIA + 1, &m,
                                      &err),
                     CHELA_ELIMIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
