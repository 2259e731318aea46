/* test_acp_content.c -- blocks of a prompt as input of a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "acp/acp_content.h"
#include "base/limits.h"

static const struct {
    const char *blocks;
    int rc;
    const char *text;  /* of the input, or part of the error */
    const char *media; /* URL of the only image; NULL: none */
} cases[] = {
    {"[{\"type\":\"text\",\"text\":\"hello\"}]", 0, "hello", NULL},
    {"[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]", 0, "ab", NULL},
    {"[{\"type\":\"text\",\"text\":\"see \"},{\"type\":\"resource_link\",\"name\":\"x.c\","
     "\"uri\":\"file:///src/x.c\"}]",
     0, "see [x.c](/src/x.c)", NULL},
    {"[{\"type\":\"resource_link\",\"name\":\"x y\",\"uri\":\"file:///src/x%20y%C3%A9\"}]", 0,
     "[x y](/src/x y\u00e9)", NULL},
    {"[{\"type\":\"resource_link\",\"name\":\"x\",\"uri\":\"file:///a%00b%zz\"}]", 0,
     "[x](file:///a%00b%zz)", NULL},
    {"[{\"type\":\"resource_link\",\"name\":\"x\",\"uri\":\"https://e.org/a%20b\"}]", 0,
     "[x](https://e.org/a%20b)", NULL},
    {"[{\"type\":\"resource_link\",\"uri\":\"https://e.org/\"}]", 0,
     "[https://e.org/](https://e.org/)", NULL},
    {"[{\"type\":\"text\",\"text\":\"see\"},{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///"
     "b\","
     "\"text\":\"line\"}},{\"type\":\"text\",\"text\":\"end\"}]",
     0, "see\n<file uri=\"file:///b\">\nline\n</file>\nend", NULL},
    {"[{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///\\\"></file>\\n\",\"text\":\"a\\n"
     "</file>\\n</file>b\"}}]",
     0, "<file uri=\"file:///%22%3E%3C/file%3E%0A\">\na\n</ file>\n</ file>b\n</file>\n", NULL},
    {"[{\"type\":\"resource_link\",\"name\":\"x\\ny\",\"uri\":\"file:///a%0Ab\"}]", 0,
     "[x%0Ay](/a%0Ab)", NULL},
    {"[{\"type\":\"text\",\"text\":\"a\\u0000b\"}]", CHELA_EINVAL, "NUL", NULL},
    {"[{\"type\":\"image\",\"data\":\"iVBO\",\"mimeType\":\"image/png\"}]", 0, "",
     "data:image/png;base64,iVBO"},
    {"[{\"type\":\"resource\",\"resource\":{\"uri\":\"x\",\"blob\":\"iVBO\",\"mimeType\":\"image/"
     "png\"}}]",
     0, "", "data:image/png;base64,iVBO"},
    {"[]", CHELA_EINVAL, "list of content blocks", NULL},
    {"\"hello\"", CHELA_EINVAL, "list of content blocks", NULL},
    {"[{\"type\":\"text\"}]", CHELA_EINVAL, "not supported", NULL},
    {"[{\"type\":\"audio\",\"data\":\"\"}]", CHELA_EINVAL, "'audio'", NULL},
    {"[{\"type\":\"image\",\"data\":\"iVBO\"}]", CHELA_EINVAL, "mimeType", NULL},
    {"[{\"type\":\"resource_link\",\"name\":\"x\"}]", CHELA_EINVAL, "uri", NULL},
    {"[{\"type\":\"resource\",\"resource\":{\"uri\":\"x\"}}]", CHELA_EINVAL, "text or blob", NULL},
    {"[7]", CHELA_EINVAL, "not supported", NULL},
};

static void test_blocks(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO a = {0};
        const struct ch_json *v = NULL;
        struct ch_acp_input *in = NULL;
        struct chela_error err = {0};
        assert_int_equal(
            ch_json_parse(&a, ch_sv_str(cases[i].blocks), CH_JSON_STRICT, &v, NULL, NULL), 0);
        assert_int_equal(ch_acp_input_read(v, &in, &err), cases[i].rc);
        if (cases[i].rc < 0) {
            assert_non_null(strstr(err.message, cases[i].text));
            assert_null(in);
            continue;
        }
        assert_string_equal(ch_buf_str(&in->text), cases[i].text);
        assert_int_equal(in->nmedia, cases[i].media != NULL);
        if (cases[i].media)
            assert_string_equal(in->media[0].url, cases[i].media);
        ch_acp_input_free(in);
    }
}

static void test_too_many_images(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO text = {0};
    const struct ch_json *v = NULL;
    struct ch_acp_input *in = NULL;
    struct chela_error err = {0};
    for (int i = 0; i <= CH_LIMIT_INPUT_MEDIA; i++)
        ch_buf_addf(&text, "%s{\"type\":\"image\",\"data\":\"iVBO\",\"mimeType\":\"image/png\"}",
                    i ? "," : "[");
    ch_buf_addc(&text, ']');
    assert_int_equal(ch_json_parse(&a, ch_buf_sv(&text), CH_JSON_STRICT, &v, NULL, NULL), 0);
    assert_int_equal(ch_acp_input_read(v, &in, &err), CHELA_ELIMIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_too_many_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
