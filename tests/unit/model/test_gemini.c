/* test_gemini.c -- what only Gemini has: URLs of two services,
 * signatures that go back on their part, arguments in pieces. What a reply
 * decodes to and what a request looks like is in tests/replay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/codec/codec.h"
#include "model/codec/decoder.h"
#include "model/message/message_json.h"
#include "model/vendor/gemini/gemini_args.h"
#include "model/catalog/model_facts.h"
#include "json/writer.h"

/* --- URLs */

static void test_urls(void **state) {
    (void)state;
#define GEMINI "https://generativelanguage.googleapis.com"
#define VERTEX "https://us-east5-aiplatform.googleapis.com"
#define PROJECT "/projects/p/locations/us-east5"
    static const struct {
        const char *base, *model;
        bool whole;
        const char *url;
    } rows[] = {
        {GEMINI "/v1beta", "m", false, GEMINI "/v1beta/models/m:streamGenerateContent?alt=sse"},
        {GEMINI, "m", true, GEMINI "/v1beta/models/m:generateContent"},
        {GEMINI "/", "models/m", true, GEMINI "/v1beta/models/m:generateContent"},
        {GEMINI, "m?x=1 \n", true, GEMINI "/v1beta/models/m%3Fx%3D1%20%0A:generateContent"},
        {GEMINI "/v1alpha/", "m", true, GEMINI "/v1alpha/models/m:generateContent"},
        {GEMINI "?key=k", "m", false,
         GEMINI "/v1beta/models/m:streamGenerateContent?alt=sse&key=k"},
        {GEMINI "?key=k", "m", true, GEMINI "/v1beta/models/m:generateContent?key=k"},
        {VERTEX "/v1" PROJECT, "m", true,
         VERTEX "/v1" PROJECT "/publishers/google/models/m:generateContent"},
        {VERTEX "/v1" PROJECT "/publishers/google", "m", false,
         VERTEX "/v1" PROJECT "/publishers/google/models/m:streamGenerateContent?alt=sse"},
        {VERTEX, "projects/p/locations/us-east5/publishers/google/models/m", true,
         VERTEX "/v1beta1" PROJECT "/publishers/google/models/m:generateContent"},
        {VERTEX "/v1", "projects/p/locations/us-east5/endpoints/9", true,
         VERTEX "/v1" PROJECT "/endpoints/9:generateContent"},
        {"https://aiplatform.googleapis.com", "m", true,
         "https://aiplatform.googleapis.com/v1beta1/publishers/google/models/m:generateContent"},
        {"https://aiplatform.googleapis.com/v1", "m", true,
         "https://aiplatform.googleapis.com/v1/publishers/google/models/m:generateContent"},
    };
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_ARENA_AUTO arena = {0};
        struct ch_endpoint ep = {.codec = &ch_codec_gemini, .base_url = rows[i].base};
        struct ch_model_request req = {
            .endpoint = &ep, .model = ch_sv_str(rows[i].model), .no_stream = rows[i].whole};
        struct ch_http_request http = {0};
        assert_int_equal(ch_codec_gemini.http(&req, &arena, &http, NULL), 0);
        assert_string_equal(http.url, rows[i].url);
    }
}

static void test_credentials(void **state) {
    (void)state;
    static const struct {
        const char *key;
        unsigned quirks;
        const char *header, *value; /* NULL: none */
    } rows[] = {
        {"AIzaKey", 0, "x-goog-api-key", "AIzaKey"},
        {"ya29.token", 0, "authorization", "Bearer ya29.token"},
        {"token", CH_Q_BEARER, "authorization", "Bearer token"},
        {NULL, 0, "x-goog-api-key", NULL},
        {NULL, CH_Q_BEARER, "authorization", NULL},
    };
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_ARENA_AUTO arena = {0};
        struct ch_endpoint ep = {.codec = &ch_codec_gemini,
                                 .base_url = "https://x",
                                 .api_key = rows[i].key,
                                 .quirks = rows[i].quirks};
        struct ch_model_request req = {.endpoint = &ep, .model = CH_SV("m")};
        struct ch_http_request http = {0};
        assert_int_equal(ch_codec_gemini.http(&req, &arena, &http, NULL), 0);
        struct ch_sv value = ch_header_find(http.headers, http.nheaders, rows[i].header);
        assert_true(rows[i].value ? ch_sv_is(value, rows[i].value) : !value.n);
        assert_int_equal(http.nheaders, rows[i].value ? 3 : 2);
    }
}

/* --- a reply that goes back */

static struct ch_msg *decode(const char *json) {
    struct ch_decoder d;
    ch_decoder_init(&d, &ch_codec_gemini, NULL, NULL);
    ch_decoder_feed(&d, ch_sv_str(json));
    ch_decoder_end(&d, NULL, 7);
    assert_int_equal(d.reply.error.cls, CH_ERR_NONE);
    struct ch_msg *m = CH_TAKE(d.reply.msg);
    ch_decoder_release(&d);
    return m;
}

static void check_replay(const char *name, const char *reply, const char *model, const char *want) {
    struct ch_msg *m = decode(reply);
    struct ch_endpoint ep = {.codec = &ch_codec_gemini, .base_url = "https://x"};
    struct ch_model_request req = {.endpoint = &ep, .model = ch_sv_str(model)};
    struct ch_msg *question = ch_msg_text(CH_MSG_USER, CH_SV("Hi"), 0);
    CH_BUF_AUTO out = {0};
    assert_int_equal(ch_codec_gemini.message(&req, question, &out, NULL), 0);
    size_t before = out.n + 1; /* and a comma */
    assert_int_equal(ch_codec_gemini.message(&req, m, &out, NULL), 0);
    const char *got = out.n < before ? "" : ch_buf_str(&out) + before;
    if (strcmp(got, want) != 0)
        fail_msg("%s for %s:\n%s\nexpected:\n%s", name, model, got, want);
    ch_msg_free(question);
    ch_msg_free(m);
}

#define REPLY(model, parts)                                               \
    "{\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[" parts \
    "]},\"finishReason\":\"STOP\",\"index\":0}],\"modelVersion\":\"" model "\"}"
#define CONTENT(parts) "{\"role\":\"model\",\"parts\":[" parts "]}"

static void test_replay(void **state) {
    (void)state;
    static const struct {
        const char *name, *reply, *model, *want;
    } rows[] = {
        {"a signed call, then an unsigned one",
         REPLY("gemini-3-pro",
               "{\"functionCall\":{\"name\":\"f\",\"args\":{\"a\": 1},\"id\":\"x1\"},"
               "\"thoughtSignature\":\"QUI=\"},"
               "{\"functionCall\":{\"name\":\"g\",\"id\":\"x2\"}}"),
         "gemini-3.1-pro-preview",
         CONTENT("{\"functionCall\":{\"id\":\"x1\",\"name\":\"f\",\"args\":{\"a\":1}},"
                 "\"thoughtSignature\":\"QUI=\"},"
                 "{\"functionCall\":{\"id\":\"x2\",\"name\":\"g\",\"args\":{}}}")},
        {"another model's signature stays behind",
         REPLY("gemini-3-pro", "{\"functionCall\":{\"name\":\"f\",\"args\":{},\"id\":\"x1\"},"
                               "\"thoughtSignature\":\"QUI=\"},"
                               "{\"functionCall\":{\"name\":\"g\",\"id\":\"x2\"}}"),
         "gemini-3.5-flash",
         CONTENT("{\"functionCall\":{\"id\":\"x1\",\"name\":\"f\",\"args\":{}},"
                 "\"thoughtSignature\":\"skip_thought_signature_validator\"},"
                 "{\"functionCall\":{\"id\":\"x2\",\"name\":\"g\",\"args\":{}}}")},
        {"before Gemini 3 there are neither ids nor a signature to make up",
         REPLY("gemini-3-pro", "{\"functionCall\":{\"name\":\"f\",\"args\":{},\"id\":\"x1\"},"
                               "\"thoughtSignature\":\"QUI=\"}"),
         "gemini-2.5-flash", CONTENT("{\"functionCall\":{\"name\":\"f\",\"args\":{}}}")},
        {"a signed text beside an unsigned one",
         REPLY("gemini-2.5-pro", "{\"text\":\"a\",\"thoughtSignature\":\"QUI=\"},{\"text\":\"b\"},"
                                 "{\"text\":\"c\"}"),
         "gemini-2.5-pro",
         CONTENT("{\"text\":\"a\",\"thoughtSignature\":\"QUI=\"},{\"text\":\"bc\"}")},
        {"a signature under an empty text",
         REPLY("gemini-3-pro", "{\"text\":\"a\"},{\"text\":\"\",\"thoughtSignature\":\"QUI=\"}"),
         "gemini-3-pro", CONTENT("{\"text\":\"a\"},{\"text\":\"\",\"thoughtSignature\":\"QUI=\"}")},
        {"the same for another model",
         REPLY("gemini-3-pro", "{\"text\":\"a\"},{\"text\":\"\",\"thoughtSignature\":\"QUI=\"}"),
         "gemini-2.5-pro", CONTENT("{\"text\":\"a\"}")},
        {"thoughts go back only when signed",
         REPLY("gemini-3-pro",
               "{\"text\":\"hm\",\"thought\":true},{\"text\":\"so\",\"thought\":true,"
               "\"thoughtSignature\":\"QUI=\"},{\"text\":\"a\"}"),
         "gemini-3-pro",
         CONTENT("{\"text\":\"so\",\"thought\":true,\"thoughtSignature\":\"QUI=\"},"
                 "{\"text\":\"a\"}")},
        {"parts of its own kind",
         REPLY("gemini-2.5-flash",
               "{\"executableCode\":{\"code\":\"1\"}},{\"codeExecutionResult\":{\"outcome\":"
               "\"OUTCOME_OK\"}},{\"hologram\": {\"x\": [1]} }"),
         "gemini-2.5-flash",
         CONTENT("{\"executableCode\":{\"code\":\"1\"}},{\"codeExecutionResult\":{\"outcome\":"
                 "\"OUTCOME_OK\"}},{\"hologram\": {\"x\": [1]} }")},
        {"members that are null are absent",
         REPLY("gemini-2.5-flash",
               "{\"text\":\"a\",\"inlineData\":null},{\"text\":\"\",\"functionCall\":null,"
               "\"thoughtSignature\":null},{\"text\":\"b\"}"),
         "gemini-2.5-flash", CONTENT("{\"text\":\"ab\"}")},
        {"nothing that another model could use",
         REPLY("gemini-2.5-flash", "{\"executableCode\":{\"code\":\"1\"}}"), "gemini-3-pro", ""},
    };
    for (size_t i = 0; i < CH_LEN(rows); i++)
        check_replay(rows[i].name, rows[i].reply, rows[i].model, rows[i].want);
}

/* --- the short way */

/* A chunk for each piece; vary: with a member that differs, so that each is
 * read in full. '@' in the shape is the piece, '#' a rising number. */
static void stream(struct ch_buf *out, const char *shape, bool vary) {
    static const char *const pieces[] = {
        "one", " two", "\"quote\"", "\\", "", "\n", "代码", "x}]", "\",\"finishReason\":\"STOP",
        "\x01"};
    for (size_t i = 0; i < CH_LEN(pieces); i++) {
        ch_buf_add_str(out, "data: {");
        for (const char *p = shape; *p; p++) {
            if (*p == '@')
                ch_json_escape(out, ch_sv_str(pieces[i]));
            else if (*p == '#')
                ch_buf_addf(out, "%zu", 9 + i);
            else
                ch_buf_addc(out, *p);
        }
        if (vary)
            ch_buf_addf(out, ",\"n\":\"%zu\"", i);
        ch_buf_add_str(out, "}\n\n");
    }
    ch_buf_add_str(out, "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n");
}

static void decode_stream(const char *shape, bool vary, struct ch_decoder *d) {
    CH_BUF_AUTO body = {0};
    stream(&body, shape, vary);
    ch_decoder_init(d, &ch_codec_gemini, NULL, NULL);
    ch_decoder_feed(d, ch_buf_sv(&body));
    ch_decoder_end(d, NULL, 7);
}

static void test_short_way(void **state) {
    (void)state;
#define PARTS(p) "\"candidates\":[{\"content\":{\"parts\":[" p "]},\"index\":0}]"
    static const char *const shapes[] = {
        PARTS("{\"text\":\"@\"}"),
        PARTS("{\"text\":\"@\",\"thought\":true}"),
        PARTS("{\"text\": \"@\"}") ",\"usageMetadata\": {\"promptTokenCount\": 7,"
                                   "\"candidatesTokenCount\": #,\"promptTokensDetails\":"
                                   "[{\"modality\":\"TEXT\",\"tokenCount\":7}]}",
        "\"usageMetadata\":{\"thoughtsTokenCount\":#}," PARTS("{\"thought\":false,\"text\":\"@\"}"),
        PARTS("{\"text\":\"@\",\"thoughtSignature\":\"QUI=\"}"),
        PARTS("{\"text\":\"@\"},{\"text\":\"@\",\"thought\":true}"),
        PARTS("{\"text\":\"@\",\"text\":1}"),
        PARTS("{\"text\":\"a\",\"text\":\"@\"}"),
        PARTS("{\"functionCall\":{\"name\":\"f\",\"args\":{\"a\":\"@\"}}}"),
        "\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"@\"}]},\"index\":1}]",
        "\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"@\"}]}},{\"index\":1}]",
    };
    for (size_t i = 0; i < CH_LEN(shapes); i++) {
        struct ch_decoder a, b;
        decode_stream(shapes[i], false, &a);
        decode_stream(shapes[i], true, &b);
        CH_BUF_AUTO x = {0};
        CH_BUF_AUTO y = {0};
        struct ch_jw wx = ch_jw(&x), wy = ch_jw(&y);
        assert_int_equal(a.reply.msg != NULL, b.reply.msg != NULL);
        if (a.reply.msg) {
            ch_msg_write(a.reply.msg, &wx);
            ch_msg_write(b.reply.msg, &wy);
            assert_string_equal(ch_buf_str(&x), ch_buf_str(&y));
        }
        assert_memory_equal(&a.reply.usage, &b.reply.usage, sizeof(a.reply.usage));
        ch_decoder_release(&a);
        ch_decoder_release(&b);
    }
}

/* --- errors say when to come back */

static void test_retry_info(void **state) {
    (void)state;
    static const struct {
        const char *body;
        long ms;
    } rows[] = {
        {"{\"error\":{\"code\":429,\"message\":\"m\",\"status\":\"RESOURCE_EXHAUSTED\",\"details\":"
         "[{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"34.4s\"}]}}",
         34400},
        {"[{\"error\":{\"code\":429,\"message\":\"Please retry in 850ms.\",\"status\":"
         "\"RESOURCE_EXHAUSTED\"}}]",
         850},
        {"{\"error\":{\"code\":429,\"message\":\"m\",\"status\":\"RESOURCE_EXHAUSTED\"}}", 0},
    };
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct ch_decoder d;
        ch_decoder_init(&d, &ch_codec_gemini, NULL, NULL);
        ch_decoder_head(&d, &(struct ch_http_head){.status = 429});
        ch_decoder_feed(&d, ch_sv_str(rows[i].body));
        ch_decoder_end(&d, NULL, 0);
        assert_int_equal(d.reply.error.cls, CH_ERR_RATE_LIMIT);
        assert_true(d.reply.error.retryable);
        assert_int_equal(d.reply.error.retry_after_ms, rows[i].ms);
        ch_decoder_release(&d);
    }
}

/* --- arguments in pieces */

static void test_pieces(void **state) {
    (void)state;
    static const struct {
        const char *pieces, *want;
    } rows[] = {
        {"[]", "{}"},
        {"[{\"jsonPath\":\"$.a\",\"stringValue\":\"x\"}]", "{\"a\":\"x\"}"},
        {"[{\"jsonPath\":\"$.a\",\"stringValue\":\"x\",\"willContinue\":true},"
         "{\"jsonPath\":\"$.a\",\"stringValue\":\"y\"},{\"jsonPath\":\"$.b\",\"numberValue\":1e2}]",
         "{\"a\":\"xy\",\"b\":1e2}"},
        {"[{\"jsonPath\":\"$.a\",\"stringValue\":\"x\"},{\"jsonPath\":\"$.a\",\"stringValue\":"
         "\"y\"}]",
         "{\"a\":\"y\"}"},
        {"[{\"jsonPath\":\"$.a[0][0].b\",\"boolValue\":false},{\"jsonPath\":\"$.a[0][1]\","
         "\"nullValue\":\"NULL_VALUE\"},{\"jsonPath\":\"$[\\\"q r\\\"]\",\"stringValue\":\"\"}]",
         "{\"a\":[[{\"b\":false},null]],\"q r\":\"\"}"},
        {"[{\"jsonPath\":\"$.a\"},{\"willContinue\":true},7]", "{}"},
        {"[{\"jsonPath\":\"$.a[1]\",\"stringValue\":\"x\"}]", ""},
        {"[{\"jsonPath\":\"$.a\",\"stringValue\":\"x\"},{\"jsonPath\":\"$.a.b\",\"stringValue\":"
         "\"x\"}]",
         ""},
        {"[{\"jsonPath\":\"$\",\"stringValue\":\"x\"}]", ""},
        {"[{\"jsonPath\":\"a\",\"stringValue\":\"x\"}]", ""},
        {"[{\"jsonPath\":\"$.\",\"stringValue\":\"x\"}]", ""},
        {"[{\"jsonPath\":\"$.a[\",\"stringValue\":\"x\"}]", ""},
        {"[{\"jsonPath\":\"$.a['b\",\"stringValue\":\"x\"}]", ""},
        {"[{\"jsonPath\":\"$.a[99999999999999999999]\",\"stringValue\":\"x\"}]", ""},
        {"[{\"stringValue\":\"x\"}]", ""},
    };
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct ch_gemini_args args = {0};
        CH_BUF_AUTO out = {0};
        ch_gemini_args_add(&args, ch_sv_str(rows[i].pieces));
        ch_gemini_args_write(&args, &out);
        assert_string_equal(ch_buf_str(&out), rows[i].want);
        ch_gemini_args_release(&args);
    }
}

/* Pieces for the newest member or item of thousands are found at once. The search for others has
 * a limit. */
static void test_many_pieces(void **state) {
    (void)state;
    for (int which = 0; which < 3; which++) {
        struct ch_gemini_args args = {0};
        CH_BUF_AUTO pieces = {0}, out = {0};
        const char *path = which ? "$.a[%d]" : "$.k%d";
        ch_buf_addc(&pieces, '[');
        for (int i = 0; i < 4000; i++) {
            CH_BUF_AUTO name = {0};
            ch_buf_addf(&name, path, which == 2 ? CH_MIN(i, 3000) : i);
            for (int k = 0; k < 3; k++)
                ch_buf_addf(&pieces, "%s{\"jsonPath\":\"%s\",\"stringValue\":\"x\","
                            "\"willContinue\":true}", pieces.n > 1 ? "," : "", ch_buf_str(&name));
        }
        for (int i = 0; which == 2 && i < 20000; i++)
            ch_buf_add_str(&pieces, ",{\"jsonPath\":\"$.a[2000]\",\"stringValue\":\"x\"}");
        ch_buf_addc(&pieces, ']');
        ch_gemini_args_add(&args, ch_buf_sv(&pieces));
        ch_gemini_args_write(&args, &out);
        assert_int_equal(args.bad, which == 2);
        assert_int_equal(out.n > 0, which != 2);
        ch_gemini_args_release(&args);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {    cmocka_unit_test(test_urls),
        cmocka_unit_test(test_credentials), cmocka_unit_test(test_replay),
        cmocka_unit_test(test_short_way),   cmocka_unit_test(test_retry_info),
        cmocka_unit_test(test_pieces),      cmocka_unit_test(test_many_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
