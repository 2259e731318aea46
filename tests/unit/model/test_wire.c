/* test_wire.c -- codecs by themselves: what is and is not of a protocol. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json/json.h"
#include "model/wire/wire_decode.h"
#include "model/wire/wire_encode.h"

static void test_decode_codes(void **state) {
    (void)state;
    static const struct {
        const struct ch_codec *codec;
        int status;
        const char *body;
        int rc;
    } cases[] = {
        {&ch_codec_openai, 200, "{\"choices\":[]}", 0},
        {&ch_codec_openai, 200, "{\"error\":{\"message\":\"m\"}}", 0},
        {&ch_codec_openai, 200, "data: {\"choices\":[{\"index\":0,\"delta\":{}}]}\n\n",
         0}, /* cut */
        {&ch_codec_openai, 200, "", 0},
        {&ch_codec_openai, 0, "{\"choices\":[]}", 0},
        {&ch_codec_openai, 200, "dat", 0}, /* cut before anything was said */
        {&ch_codec_anthropic, 200, "event: message_start\ndata: {\"type\":\"mess", 0},
        {&ch_codec_anthropic, 200, "data: {\"type\":\"ping\"}\n\n", 0},
        {&ch_codec_openai, 500, "<html>oops</html>", 0}, /* the status says what it is */
        {&ch_codec_openai, 200, "<html>oops</html>", CHELA_EPROTO},
        {&ch_codec_openai, 200, "plain words", CHELA_EPROTO},
        {&ch_codec_openai, 200, "{\"type\":\"message\",\"content\":[]}", CHELA_EPROTO},
        {&ch_codec_openai, 200, "data: {\"type\":\"message_start\"}\n\n", CHELA_EPROTO},
        {&ch_codec_anthropic, 200, "{\"type\":\"message\",\"content\":[]}", 0},
        {&ch_codec_anthropic, 200, "{\"choices\":[]}", CHELA_EPROTO},
        {&ch_codec_anthropic, 200, "data: {\"choices\":[]}\n\ndata: [DONE]\n\n", CHELA_EPROTO},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO out = {0};
        CH_ARENA_AUTO arena = {0};
        struct chela_error err = {0};
        const struct ch_json *v;
        int rc = ch_wire_decode(cases[i].codec, cases[i].status, CH_SV(""),
                                ch_sv_str(cases[i].body), &out, &err);
        if (rc != cases[i].rc)
            fail_msg("%s: %d", cases[i].body, rc);
        assert_int_equal(err.code, rc);
        assert_int_equal(ch_json_parse(&arena, ch_buf_sv(&out), CH_JSON_STRICT, &v, NULL, NULL), 0);
        assert_int_equal(v->n, 10); /* an object all the same */
    }
}

static void test_encode_refuses(void **state) {
    (void)state;
    static const struct {
        const char *request, *why;
    } cases[] = {
        {"{", "line 1"},
        {"[]", "object"},
        {"{}", "messages"},
        {"{\"messages\":{}}", "messages"},
        {"{\"messages\":[{\"role\":\"x\"}]}", "role"},
        {"{\"messages\":[],\"tools\":{}}", "tools"},
        {"{\"messages\":[],\"tools\":[{}]}", "name"},
        {"{\"messages\":[],\"tools\":[{\"name\":\"f\",\"parameters\":1}]}", "parameters"},
        {"{\"messages\":[],\"reasoning\":\"lots\"}", "reasoning"},
        {"{\"messages\":[],\"quirks\":[\"odd\"]}", "odd"},
        {"{\"messages\":[],\"tool_choice\":{\"name\":\"f\"}}", "\"tool_choice\" must be a string"},
        {"{\"messages\":[],\"parallel\":\"no\"}", "\"parallel\" must be true or false"},
        {"{\"messages\":[],\"stop\":\"END\"}", "\"stop\" must be an array"},
        {"{\"messages\":[],\"parralel\":false}", "did you mean \"parallel\"?"},
        {"{\"messages\":[],\"provider\":\"nobody\"}", "nobody"},
        {"{\"messages\":[],\"provider\":\"anthropic\"}", "anthropic"}, /* of another protocol */
        {"{\"messages\":[],\"provider\":\"azure\"}", "base_url"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO out = {0};
        struct chela_error err = {0};
        int rc =
            ch_wire_encode(&ch_codec_openai, CH_SV(""), ch_sv_str(cases[i].request), &out, &err);
        if (rc == 0 || !strstr(err.message, cases[i].why))
            fail_msg("%s: %d %s", cases[i].request, rc, err.message);
        assert_int_equal(out.n, 0);
    }
}

/* null is as if it were not there; what belongs to somebody else is named and left out. */
static void test_encode_ignores(void **state) {
    (void)state;
    CH_BUF_AUTO out = {0};
    struct ch_sv request = CH_SV("{\"messages\":[],\"stop\":null,\"x-ours\":[1]}");
    assert_int_equal(ch_wire_encode(&ch_codec_openai, CH_SV("m"), request, &out, NULL), 0);
    assert_non_null(strstr(ch_buf_str(&out), "\"dropped\":[\"x-ours\"]"));
    assert_null(strstr(ch_buf_str(&out), "[1]"));
    assert_null(strstr(ch_buf_str(&out), "stop"));
}

static void test_encode_model(void **state) {
    (void)state;
    CH_BUF_AUTO out = {0};
    assert_int_equal(ch_wire_encode(&ch_codec_anthropic, CH_SV("given"),
                                    CH_SV("{\"model\":\"own\",\"messages\":[]}"), &out, NULL),
                     0);
    assert_non_null(strstr(ch_buf_str(&out), "\"model\":\"given\""));
    assert_null(strstr(ch_buf_str(&out), "own"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_codes),
        cmocka_unit_test(test_encode_refuses),
        cmocka_unit_test(test_encode_ignores),
        cmocka_unit_test(test_encode_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
