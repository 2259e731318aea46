/* test_decoder.c -- framing, failures, and what a reply keeps for sending back.
 *
 * What replies fold to is tested with the bodies in tests/replay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "model/codec/codec.h"
#include "json/writer.h"
#include "model/codec/decoder.h"
#include "model/codec/opaque.h"

#define HI_STREAM                                                                                  \
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]" \
    "}\n\n"
#define HI_BODY \
    "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}"

struct run {
    struct ch_decoder d;
    struct ch_header headers[4];
    struct ch_http_head head;
};

static void begin(struct run *r, const struct ch_codec *codec, int status, const char *type) {
    *r = (struct run){.head = {.status = status}};
    r->headers[r->head.nheaders++] = (struct ch_header){CH_SV("content-type"), ch_sv_str(type)};
    r->head.headers = r->headers;
    ch_decoder_init(&r->d, codec, NULL, NULL);
}

static const struct ch_reply *finish(struct run *r, const char *body,
                                     const struct chela_error *err) {
    ch_decoder_head(&r->d, &r->head);
    ch_decoder_feed(&r->d, ch_sv_str(body));
    ch_decoder_end(&r->d, err, 5);
    return &r->d.reply;
}

static void test_framing(void **state) {
    (void)state;
    static const struct {
        const char *type, *body;
        bool ok;
    } cases[] = {
        {"text/event-stream", HI_STREAM, true},
        {"application/json", HI_BODY, true},
        {"application/json", HI_STREAM, true}, /* a stream under another name */
        {"text/event-stream", HI_BODY, true},  /* a body under another name */
        {"", HI_STREAM, true},
        {"text/plain", "\n\n  \n" HI_STREAM, true},
        {"text/html", "\r\n\r\n" HI_BODY "\r\n", true}, /* blank lines keep alive */
        {"text/event-stream", "\xef\xbb\xbf" HI_STREAM, true},
        {"application/json", "\xef\xbb\xbf" HI_BODY, true},
        {"text/event-stream", ": comment first\n\n" HI_STREAM, true},
        {"text/event-stream", "id: 1\nretry: 5\n" HI_STREAM, true},
        {"text/event-stream", "", false},
        {"text/event-stream", "\xef\xbb", false},
        {"text/event-stream", "dat", false},
        {"text/event-stream", "database is down", false},
        {"application/json", "\"hi\"", false},
        {"application/json", "[]", false},
        {"application/json", "{}", false},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct run r;
        begin(&r, &ch_codec_openai, 200, cases[i].type);
        const struct ch_reply *reply = finish(&r, cases[i].body, NULL);
        if (reply->complete != cases[i].ok || (reply->error.cls == CH_ERR_NONE) != cases[i].ok)
            fail_msg("case %zu: %s", i, cases[i].body);
        assert_int_equal(reply->msg != NULL, cases[i].ok);
        ch_decoder_release(&r.d);
    }
}

static void test_transport_failures(void **state) {
    (void)state;
    static const struct {
        int code;
        enum ch_error_class cls;
        bool retryable;
    } cases[] = {
        {CHELA_ENET, CH_ERR_NETWORK, true},   {CHELA_ETIMEOUT, CH_ERR_TIMEOUT, true},
        {CHELA_ETLS, CH_ERR_NETWORK, false},  {CHELA_EPROTO, CH_ERR_NETWORK, true},
        {CHELA_ELIMIT, CH_ERR_FORMAT, false}, {CHELA_EINVAL, CH_ERR_NETWORK, false},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct chela_error err = {.code = cases[i].code, .message = "it broke"};
        struct run r;
        begin(&r, &ch_codec_openai, 200, "text/event-stream");
        const struct ch_reply *reply = finish(
            &r, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"h\"}}]}\n\n", &err);
        assert_int_equal(reply->error.cls, cases[i].cls);
        assert_int_equal(reply->error.retryable, cases[i].retryable);
        assert_int_equal(reply->stop, CH_STOP_ERROR);
        assert_true(ch_sv_is(reply->error.message, "it broke"));
        assert_string_equal(reply->msg->blocks[0].text.p, "h"); /* what came is kept */
        ch_decoder_release(&r.d);
    }
    /* Before any head, as when there is no connection. */
    struct run r;
    struct chela_error err = {.code = CHELA_ENET, .message = "refused"};
    begin(&r, &ch_codec_anthropic, 200, "");
    ch_decoder_end(&r.d, &err, 0);
    assert_int_equal(r.d.reply.error.cls, CH_ERR_NETWORK);
    assert_null(r.d.reply.msg);
    ch_decoder_release(&r.d);
    /* After the terminal marker it no longer matters. */
    begin(&r, &ch_codec_openai, 200, "text/event-stream");
    assert_int_equal(finish(&r, HI_STREAM, &err)->error.cls, CH_ERR_NONE);
    ch_decoder_release(&r.d);
    /* A status that came outweighs how its body ended. */
    begin(&r, &ch_codec_openai, 503, "text/html");
    assert_int_equal(finish(&r, "<html>", &err)->error.cls, CH_ERR_OVERLOADED);
    ch_decoder_release(&r.d);
}

static void test_headers(void **state) {
    (void)state;
    struct run r;
    begin(&r, &ch_codec_anthropic, 429, "application/json");
    r.headers[r.head.nheaders++] = (struct ch_header){CH_SV("retry-after"), CH_SV("7")};
    const struct ch_reply *reply =
        finish(&r, "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}}", NULL);
    assert_int_equal(reply->error.retry_after_ms, 7000);
    assert_int_equal(reply->error.status, 429);
    assert_true(reply->error.retryable);
    ch_decoder_release(&r.d);

    begin(&r, &ch_codec_openai, 429, "application/json");
    reply = finish(&r, "{\"error\":{\"message\":\"Please try again in 2s\"}}", NULL);
    assert_int_equal(reply->error.retry_after_ms, 2000);
    ch_decoder_release(&r.d);

    static const struct {
        const char *says;
        int status;
        bool retryable;
    } cases[] = {{"true", 400, true}, {"false", 500, false}, {"maybe", 500, true}};
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        begin(&r, &ch_codec_openai, cases[i].status, "application/json");
        r.headers[r.head.nheaders++] =
            (struct ch_header){CH_SV("x-should-retry"), ch_sv_str(cases[i].says)};
        reply = finish(&r, "{\"error\":{\"message\":\"m\"}}", NULL);
        assert_int_equal(reply->error.retryable, cases[i].retryable);
        ch_decoder_release(&r.d);
    }
}

static void test_secrets_and_lines(void **state) {
    (void)state;
    struct run r;
    begin(&r, &ch_codec_openai, 400, "application/json");
    const struct ch_reply *reply = finish(
        &r, "{\"error\":{\"message\":\"bad\\nkey sk-abcdefghijklmnopqrstuvwxyz0123456789\"}}",
        NULL);
    assert_null(memchr(reply->error.message.p, '\n', reply->error.message.n));
    assert_null(strstr(reply->error.message.p, "abcdefghijklmnop"));
    ch_decoder_release(&r.d);
}

static void test_after_the_end(void **state) {
    (void)state;
    struct run r;
    begin(&r, &ch_codec_openai, 200, "text/event-stream");
    ch_decoder_head(&r.d, &r.head);
    assert_true(ch_decoder_feed(&r.d, CH_SV(HI_STREAM "data: [DONE]\n\n" HI_STREAM)));
    assert_true(ch_decoder_feed(&r.d, CH_SV(HI_STREAM))); /* drains, so that it can be reused */
    ch_decoder_end(&r.d, NULL, 0);
    assert_string_equal(r.d.reply.msg->blocks[0].text.p, "hi");
    ch_decoder_release(&r.d);

    begin(&r, &ch_codec_openai, 200, "text/event-stream");
    ch_decoder_head(&r.d, &r.head);
    assert_false(ch_decoder_feed(&r.d, CH_SV("data: {\"error\":{\"message\":\"m\"}}\n\n")));
    assert_false(ch_decoder_feed(&r.d, CH_SV(HI_STREAM)));
    ch_decoder_end(&r.d, NULL, 0);
    assert_null(r.d.reply.msg);
    ch_decoder_release(&r.d);
    ch_decoder_release(&r.d);
}

static void test_malformed_event(void **state) {
    (void)state;
    struct run r;
    begin(&r, &ch_codec_anthropic, 200, "text/event-stream");
    const struct ch_reply *reply = finish(&r, "data: {\"type\":}\n\ndata: {}\n\n", NULL);
    assert_int_equal(reply->error.cls, CH_ERR_FORMAT);
    assert_true(reply->error.retryable);
    ch_decoder_release(&r.d);
    /* The same at the very end is an event that was cut short. */
    begin(&r, &ch_codec_anthropic, 200, "text/event-stream");
    assert_int_equal(finish(&r, "data: {\"type\":", NULL)->error.cls, CH_ERR_NETWORK);
    ch_decoder_release(&r.d);
}

/* Blanks after bytes that may begin a stream decide: the text is not searched again and again
 * while they arrive. */
static void test_blanks(void **state) {
    (void)state;
    static const char *const begins[] = {"d", "\n eve", "\xef\xbb\xbfi"};
    for (size_t i = 0; i < CH_LEN(begins); i++) {
        struct run r;
        begin(&r, &ch_codec_openai, 200, "");
        ch_decoder_head(&r.d, &r.head);
        ch_decoder_feed(&r.d, ch_sv_str(begins[i]));
        assert_int_equal(r.d.framing, CH_FRAME_NONE);
        ch_decoder_feed(&r.d, CH_SV(" "));
        assert_int_equal(r.d.framing, CH_FRAME_BODY);
        ch_decoder_end(&r.d, NULL, 0);
        assert_int_equal(r.d.reply.error.cls, CH_ERR_FORMAT);
        ch_decoder_release(&r.d);
    }
}

/* The text of an error response is an error, even if it looks like a stream. Nothing but an
 * empty body means that the prompt is too long. */
static void test_error_texts(void **state) {
    (void)state;
    static const struct {
        const char *body, *message;
        enum ch_error_class cls;
    } cases[] = {
        {"", "HTTP 400", CH_ERR_OVERFLOW},
        {"\n\n", "HTTP 400", CH_ERR_OVERFLOW},
        {"no such field", "HTTP 400: no such field", CH_ERR_FORMAT},
        {"error: no such field\n", "HTTP 400: no such field", CH_ERR_FORMAT},
        {"error: no such field\n\n", "HTTP 400: no such field", CH_ERR_FORMAT},
        {"data: no such field", "HTTP 400: no such field", CH_ERR_FORMAT},
        {"data: {\"error\":{\"message\":\"m\"}}\n\n", "HTTP 400: m", CH_ERR_FORMAT},
        {"error", "HTTP 400: error", CH_ERR_FORMAT},
        {"id: must be a number", "HTTP 400: the answer does not say why", CH_ERR_FORMAT},
        {HI_BODY, "HTTP 400: the answer does not say why", CH_ERR_FORMAT},
    };
    const struct chela_error lost = {.code = CHELA_ENET, .message = "connection lost"};
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct run r;
        begin(&r, &ch_codec_openai, 400, "text/plain");
        const struct ch_reply *reply = finish(&r, cases[i].body, NULL);
        assert_int_equal(reply->error.cls, cases[i].cls);
        assert_string_equal(reply->error.message.p, cases[i].message);
        ch_decoder_release(&r.d);
    }
    struct run r; /* whether the body was empty is not known */
    begin(&r, &ch_codec_openai, 400, "text/plain");
    const struct ch_reply *reply = finish(&r, "", &lost);
    assert_int_equal(reply->error.cls, CH_ERR_FORMAT);
    assert_string_equal(reply->error.message.p, "HTTP 400: connection lost");
    ch_decoder_release(&r.d);
}

/* Proxies answer with a page; the status says what it means. */
static void test_error_pages(void **state) {
    (void)state;
    static const struct {
        int status;
        enum ch_error_class cls;
        bool retryable;
    } cases[] = {
        {200, CH_ERR_FORMAT, false},   {302, CH_ERR_FORMAT, false},
        {400, CH_ERR_FORMAT, false},   {401, CH_ERR_AUTH, false},
        {403, CH_ERR_AUTH, false},     {404, CH_ERR_FORMAT, false},
        {408, CH_ERR_TIMEOUT, true},   {413, CH_ERR_OVERFLOW, false},
        {429, CH_ERR_RATE_LIMIT, true}, {502, CH_ERR_SERVER, true},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct run r;
        begin(&r, &ch_codec_openai, cases[i].status, "text/html");
        const struct ch_reply *reply = finish(&r, "<html><h1>Sorry</h1></html>", NULL);
        assert_int_equal(reply->error.cls, cases[i].cls);
        assert_int_equal(reply->error.retryable, cases[i].retryable);
        assert_non_null(strstr(reply->error.message.p, "web page, not JSON: \"Sorry\""));
        ch_decoder_release(&r.d);
    }
}

static void test_limits(void **state) {
    (void)state;
    struct run r;
    size_t n = CH_MB;
    char *chunk = ch_alloc(n + 1);
    memset(chunk, '9', n);
    begin(&r, &ch_codec_openai, 200, "application/json");
    ch_decoder_head(&r.d, &r.head);
    ch_decoder_feed(&r.d, CH_SV("{\"a\":"));
    size_t fed = 0;
    while (fed <= CH_LIMIT_HTTP_BODY && ch_decoder_feed(&r.d, ch_sv(chunk, n)))
        fed += n;
    assert_true(fed <= CH_LIMIT_HTTP_BODY);
    ch_decoder_end(&r.d, NULL, 0);
    assert_int_equal(r.d.reply.error.cls, CH_ERR_FORMAT);
    assert_false(r.d.reply.error.retryable);
    ch_decoder_release(&r.d);

    begin(&r, &ch_codec_anthropic, 200, "text/event-stream");
    const struct ch_reply *reply = finish(
        &r, "data: {\"type\":\"content_block_start\",\"index\":99999999,\"content_block\":{}}\n\n",
        NULL);
    assert_int_equal(reply->error.cls, CH_ERR_FORMAT);
    ch_decoder_release(&r.d);
    ch_free(chunk);
}

/* --- what must go back as it came */

static struct ch_msg *decode(const struct ch_codec *codec, const char *body) {
    struct run r;
    begin(&r, codec, 200, "");
    finish(&r, body, NULL);
    assert_int_equal(r.d.reply.error.cls, CH_ERR_NONE);
    struct ch_msg *m = CH_TAKE(r.d.reply.msg);
    ch_decoder_release(&r.d);
    return m;
}

#define A_START(i, block) \
    "data: {\"type\":\"content_block_start\",\"index\":" #i ",\"content_block\":" block "}\n\n"
#define A_DELTA(i, delta) \
    "data: {\"type\":\"content_block_delta\",\"index\":" #i ",\"delta\":" delta "}\n\n"
#define A_STOP(i) "data: {\"type\":\"content_block_stop\",\"index\":" #i "}\n\n"
#define A_END                                                                         \
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n" \
    "data: {\"type\":\"message_stop\"}\n\n"

static void test_anthropic_keeps(void **state) {
    (void)state;
    struct ch_msg *m = decode(
        &ch_codec_anthropic,
        "data: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-x\"}}\n\n" A_START(
            0, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}")
            A_DELTA(0, "{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}")
                A_DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"c2\"}")
                    A_DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"ln\"}") A_STOP(0)
                        A_START(1, "{\"type\":\"redacted_thinking\",\"data\":\"cmVk\"}") A_STOP(1)
                            A_START(2, "{\"type\":\"server_tool_use\",\"id\":\"s\",\"input\":{}}")
                                A_DELTA(2, "{\"type\":\"input_json_delta\",\"partial_json\":"
                                           "\"{\\\"q\\\"\"}")
                                    A_DELTA(2, "{\"type\":\"input_json_delta\",\"partial_json\":"
                                               "\": 1}\"}") A_STOP(2)
                                        A_START(3, "{\"type\":\"compaction\",\"content\":null}")
                                            A_DELTA(3, "{\"type\":\"compaction_delta\",\"content\":"
                                                       "\"a\"}")
                                                A_DELTA(3, "{\"type\":\"compaction_delta\","
                                                           "\"content\":\"b\"}") A_STOP(3)
                                                    A_START(4, "{\"type\":\"web_search_tool_result"
                                                               "\", \"content\":[ ]}") A_STOP(4)
                                                        A_START(5, "{\"type\":\"text\",\"text\":"
                                                                   "\"x\"}")
                                                            A_DELTA(5, "{\"type\":\"citations_delta"
                                                                       "\",\"citation\":{\"n\":1}}")
                                                                A_DELTA(5, "{\"type\":\"citations_"
                                                                           "delta\",\"citation\":{"
                                                                           "\"n\":2}}") A_STOP(5)
                                                                    A_END);
    static const struct {
        int type;
        unsigned flags;
        const char *text, *name, *extra;
    } want[] = {
        {CH_BLOCK_REASONING, 0, "hm", "", "c2ln"},
        {CH_BLOCK_REASONING, CH_F_REDACTED, "", "", "cmVk"},
        {CH_BLOCK_OPAQUE, 0, "{\"type\":\"server_tool_use\",\"id\":\"s\",\"input\":{\"q\": 1}}",
         "server_tool_use", ""},
        {CH_BLOCK_OPAQUE, 0, "{\"type\":\"compaction\",\"content\":\"ab\"}", "compaction", ""},
        {CH_BLOCK_OPAQUE, 0, "{\"type\":\"web_search_tool_result\", \"content\":[ ]}",
         "web_search_tool_result", ""},
        {CH_BLOCK_TEXT, 0, "x", "", "[{\"n\":1},{\"n\":2}]"},
    };
    assert_string_equal(ch_msg_author(m).api, "anthropic");
    assert_string_equal(ch_msg_author(m).model.p, "claude-x");
    assert_int_equal(m->ts, 5);
    assert_int_equal(m->nblocks, CH_LEN(want));
    for (size_t i = 0; i < CH_LEN(want); i++) {
        assert_int_equal(m->blocks[i].type, want[i].type);
        assert_int_equal(m->blocks[i].flags, want[i].flags);
        assert_string_equal(m->blocks[i].text.p, want[i].text);
        assert_string_equal(m->blocks[i].name.p, want[i].name);
        assert_string_equal(m->blocks[i].extra.p, want[i].extra);
    }
    ch_msg_free(m);
}

#define O_DELTA(delta) "data: {\"choices\":[{\"index\":0,\"delta\":" delta "}]}\n\n"
#define O_END "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"

/* Sources beside the text count as parts of the reply. */
static void test_many_annotations(void **state) {
    (void)state;
    struct run r;
    CH_BUF_AUTO event = {0};
    char *large = ch_alloc(CH_MB);
    memset(large, 'x', CH_MB - 1);
    ch_buf_addf(&event, O_DELTA("{\"content\":\"a\",\"annotations\":[\"%s\"]}"), large);
    begin(&r, &ch_codec_openai, 200, "text/event-stream");
    ch_decoder_head(&r.d, &r.head);
    for (size_t n = 0; n < CH_LIMIT_REPLY + 2 * CH_MB; n += CH_MB)
        ch_decoder_feed(&r.d, ch_buf_sv(&event));
    ch_decoder_feed(&r.d, CH_SV(O_END));
    ch_decoder_end(&r.d, NULL, 5);
    assert_int_equal(r.d.reply.error.cls, CH_ERR_FORMAT);
    ch_decoder_release(&r.d);
    ch_free(large);
}

static void check_piece(const struct ch_model_event *ev, void *user) {
    assert_true(ch_utf8_valid(ev->text));
    ++*(unsigned *)user;
}

/* Events and messages hold only UTF-8, even if a server sends a value of another type than
 * usual, which is taken as source text. */
static void test_source_texts(void **state) {
    (void)state;
#define G_ARGS(value)                                                                      \
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\","      \
    "\"partialArgs\":[{\"jsonPath\":\"$.a\",\"numberValue\":" value                           \
    "}]}}]},\"finishReason\":\"STOP\"}]}\n\n"
    static const struct {
        const struct ch_codec *codec;
        const char *body, *want;
    } cases[] = {
        {&ch_codec_openai,
         "{\"choices\":[{\"message\":{\"content\":{\"a\":\"\xff\"}},\"finish_reason\":\"stop\"}]}",
         "{\"a\":\"\xef\xbf\xbd\"}"},
        {&ch_codec_openai,
         O_DELTA("{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\","
                 "\"arguments\":{\"a\":\"\xff\"}}}]}") O_END,
         "{\"a\":\"\xef\xbf\xbd\"}"},
        {&ch_codec_gemini, G_ARGS("7"), "{\"a\":7}"},
        {&ch_codec_gemini, G_ARGS("\"\xff\""), "{\"a\":\"\xef\xbf\xbd\"}"},
        {&ch_codec_gemini, G_ARGS("{\"b\":\"\xff\"}"), "{}"},
    };
#undef G_ARGS
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_decoder d;
        unsigned events = 0;
        ch_decoder_init(&d, cases[i].codec, check_piece, &events);
        ch_decoder_feed(&d, ch_sv_str(cases[i].body));
        ch_decoder_end(&d, NULL, 5);
        assert_true(events > 0);
        assert_string_equal(d.reply.msg->blocks[0].text.p, cases[i].want);
        ch_decoder_release(&d);
    }
}

/* The explanation of a refusal may come with each message_delta; the last one counts. */
static void test_anthropic_refusal(void **state) {
    (void)state;
#define REFUSED(why)                                                                   \
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\",\"stop_details\"" \
    ":{\"explanation\":\"" why "\"}}}\n\n"
    struct ch_msg *m = decode(&ch_codec_anthropic, REFUSED("No.") REFUSED("No.") REFUSED("Never.")
                                                       "data: {\"type\":\"message_stop\"}\n\n");
#undef REFUSED
    assert_int_equal(m->nblocks, 1);
    assert_int_equal(m->blocks[0].type, CH_BLOCK_REFUSAL);
    assert_string_equal(m->blocks[0].text.p, "Never.");
    ch_msg_free(m);
}

/* The deltas of a block of unknown type are read once: eight names are merged. */
static void test_opaque_names(void **state) {
    (void)state;
    static const struct {
        const char *start, *deltas, *want;
    } cases[] = {
        {"{\"type\":\"t\",\"a\":1,\"b\":\"\"}",
         "[{\"type\":\"d\",\"b\":\"x\"},{\"b\":\"y\",\"a\":2}]",
         "{\"type\":\"t\",\"a\":1,\"b\":\"xy\"}"},
        {"{\"input\":{},\"input\":1}", "[{\"partial_json\":\"{\"},{\"partial_json\":\"}\"}]",
         "{\"input\":{},\"input\":{}}"},
        {"{\"input\":7}", "[{\"partial_json\":\"{\"}]", "{\"input\":7}"},
        {"{\"h\":0,\"i\":0}",
         "[{\"a\":\"\",\"b\":\"\",\"c\":\"\",\"d\":\"\",\"e\":\"\",\"f\":\"\",\"g\":\"\","
         "\"h\":\"x\",\"i\":\"x\"}]",
         "{\"h\":\"x\",\"i\":0}"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO out = {0};
        ch_opaque_merge(ch_sv_str(cases[i].start), ch_sv_str(cases[i].deltas), &out);
        assert_string_equal(ch_buf_str(&out), cases[i].want);
    }
}

/* A delta that repeats the last one up to its string is recognised by its bytes if the whole
 * event came at once. Byte by byte the same events are parsed, with the same outcome. */
static void test_anthropic_repeats(void **state) {
    (void)state;
#define TEXT(piece) A_DELTA(0, "{\"type\":\"text_delta\",\"text\":\"" piece "\"}")
    static const char *const cases[] = {
        TEXT("a") TEXT("b") TEXT("") TEXT("c d e f g h i j k l") A_STOP(0) A_END,
        TEXT("a") TEXT("\\n\\u00e9") TEXT("\xc3\xa9\xe5\xbc\xa0") TEXT("\xff") TEXT("b") A_END,
        TEXT("a") TEXT("b\nc") TEXT("d") A_END,
        TEXT("a") TEXT("b\rc") TEXT("d") A_END,
        TEXT("a") TEXT("\xc3\xa9\nc") TEXT("d") A_END,
        TEXT("a") TEXT("\\q") TEXT("d") A_END,
        TEXT("a") A_STOP(0) A_START(0, "{\"type\":\"future\",\"text\":\"\"}") TEXT("b") TEXT("c")
            A_STOP(0) A_END,
        TEXT("a") A_DELTA(1, "{\"type\":\"text_delta\",\"text\":\"b\"}")
            A_DELTA(1, "{\"type\":\"thinking_delta\",\"thinking\":\"c\"}") TEXT("d") A_END,
        TEXT("a") "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
                  "\"text_delta\",\"text\":\"b\"}}\ndata: \n\n" TEXT("c") A_END,
        TEXT("a") "event: error\n" TEXT("b") "event: error\n" TEXT("c") A_END,
        TEXT("a") "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
                  "\"text_delta\",\"text\":\"b\"} }\n\n" TEXT("c") A_END,
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct run whole, split;
        begin(&whole, &ch_codec_anthropic, 200, "");
        begin(&split, &ch_codec_anthropic, 200, "");
        const struct ch_reply *a = finish(&whole, cases[i], NULL), *b = &split.d.reply;
        ch_decoder_head(&split.d, &split.head);
        for (const char *p = cases[i]; *p; p++)
            ch_decoder_feed(&split.d, ch_sv(p, 1));
        ch_decoder_end(&split.d, NULL, 5);
        assert_int_equal(a->error.cls, b->error.cls);
        assert_true(ch_sv_eq(a->error.message, b->error.message));
        assert_int_equal(a->msg->nblocks, b->msg->nblocks);
        for (uint32_t k = 0; k < a->msg->nblocks; k++)
            assert_true(ch_sv_eq(a->msg->blocks[k].text, b->msg->blocks[k].text));
        ch_decoder_release(&whole.d);
        ch_decoder_release(&split.d);
    }
#undef TEXT
}

static void test_openai_keeps(void **state) {
    (void)state;
    static const char *const members[] = {"reasoning_content", "reasoning", "reasoning_text"};
    for (size_t i = 0; i < CH_LEN(members); i++) {
        CH_BUF_AUTO body = {0};
        ch_buf_addf(&body, "data: {\"choices\":[{\"index\":0,\"delta\":{\"%s\":\"hm\"}}]}\n\n%s",
                    members[i], O_END);
        struct ch_msg *m = decode(&ch_codec_openai, ch_buf_str(&body));
        assert_string_equal(m->blocks[0].name.p, members[i]);
        ch_msg_free(m);
    }
    struct ch_msg *m = decode(
        &ch_codec_openai,
        O_DELTA("{\"reasoning\":\"a\",\"reasoning_details\":[{\"type\":\"reasoning.text\","
                "\"text\":\"a\",\"index\":0,\"format\":\"f\"}]}")
            O_DELTA("{\"reasoning\":\"b\",\"reasoning_details\":[{\"type\":\"reasoning.text\","
                    "\"text\":\"b\",\"index\":0}]}")
                O_DELTA("{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"\","
                        "\"signature\":\"sig\",\"index\":0}]}")
                    O_DELTA("{\"reasoning_details\":[{\"type\":\"reasoning.summary\",\"summary\":"
                            "\"s\",\"index\":1},{\"type\":\"reasoning.summary\",\"summary\":\"t\","
                            "\"index\":1},{\"type\":\"reasoning.encrypted\", \"data\":\"x\"},"
                            "{\"type\":\"reasoning.encrypted\",\"data\":\"y\"}]}")
                        O_DELTA("{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":"
                                "\"f\",\"arguments\":\"{}\"},\"extra_content\":{\"g\":1}}]}")
                            O_END);
    assert_int_equal(m->nblocks, 2);
    assert_string_equal(m->blocks[0].text.p, "abst"); /* without a member of its own */
    assert_string_equal(
        m->blocks[0].extra.p,
        "[{\"type\":\"reasoning.text\",\"text\":\"ab\",\"index\":0,\"format\":\"f\","
        "\"signature\":\"sig\"},{\"type\":\"reasoning.summary\",\"summary\":\"st\","
        "\"index\":1},{\"type\":\"reasoning.encrypted\",\"data\":\"x\"},"
        "{\"type\":\"reasoning.encrypted\",\"data\":\"y\"}]");
    assert_string_equal(m->blocks[1].extra.p, "{\"g\":1}");
    ch_msg_free(m);

    m = decode(&ch_codec_openai,
               O_DELTA("{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\","
                       "\"text\":\"hm\"}]}]}") O_END);
    assert_string_equal(m->blocks[0].name.p, "thinking");
    ch_msg_free(m);
}

/* --- the short way and the long way say the same */

static void stream(struct ch_buf *out, const char *const *pieces, size_t n, const char *shape,
                   bool vary) {
    for (size_t i = 0; i < n; i++) {
        CH_BUF_AUTO quoted = {0};
        ch_json_escape(&quoted, ch_sv_str(pieces[i]));
        const char *hole = strchr(shape, '@');
        ch_buf_addf(out, "data: {%.*s%s%s", (int)(hole - shape), shape, ch_buf_str(&quoted),
                    hole + 1);
        if (vary)
            ch_buf_addf(out, ",\"n\":%zu", i);
        ch_buf_add_str(out, "}\n\n");
    }
    ch_buf_add_str(out, O_END);
}

static void test_short_way(void **state) {
    (void)state;
    static const char *const pieces[] = {"one",      " two",     "\"quote\"",
                                         "\\",       "",         "\n",
                                         "代码",     "x}]",      "\",\"finish_reason\":\"stop",
                                         "\x7f\x01", "{\"a\":1}"};
    static const char *const shapes[] = {
        "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"@\"},\"finish_reason\":null}]",
        "\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"@\"}}],\"usage\":null",
        "\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\","
        "\"function\":{\"name\":\"f\",\"arguments\":\"@\"}}]}}]",
        "\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,"
        "\"function\":{\"arguments\":\"@\"}}]}}],\"obfuscation\":\"abc\"",
        "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"@\"}}],\"p\":\"abcdef\"",
        "\"choices\":[{\"index\":1,\"delta\":{\"content\":\"@\"}}]",
        "\"choices\":[{\"delta\":{\"content\":\"@\"},\"index\":0}]",
        "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"@\",\"reasoning\":\"r\"}}]",
    };
    for (size_t i = 0; i < CH_LEN(shapes); i++) {
        CH_BUF_AUTO quick = {0};
        CH_BUF_AUTO slow = {0};
        stream(&quick, pieces, CH_LEN(pieces), shapes[i], false);
        stream(&slow, pieces, CH_LEN(pieces), shapes[i], true);
        struct ch_msg *a = decode(&ch_codec_openai, ch_buf_str(&quick));
        struct ch_msg *b = decode(&ch_codec_openai, ch_buf_str(&slow));
        assert_int_equal(a != NULL, b != NULL);
        assert_int_equal(a ? a->nblocks : 0, b ? b->nblocks : 0);
        for (uint32_t k = 0; a && k < a->nblocks; k++) {
            assert_int_equal(a->blocks[k].type, b->blocks[k].type);
            assert_string_equal(a->blocks[k].text.p, b->blocks[k].text.p);
            assert_string_equal(a->blocks[k].id.p, b->blocks[k].id.p);
        }
        ch_msg_free(a);
        ch_msg_free(b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_framing),       cmocka_unit_test(test_transport_failures),
        cmocka_unit_test(test_headers),       cmocka_unit_test(test_secrets_and_lines),
        cmocka_unit_test(test_after_the_end), cmocka_unit_test(test_malformed_event),
        cmocka_unit_test(test_anthropic_repeats),
        cmocka_unit_test(test_source_texts),
        cmocka_unit_test(test_anthropic_refusal),
        cmocka_unit_test(test_opaque_names),
        cmocka_unit_test(test_blanks),
        cmocka_unit_test(test_error_texts),
        cmocka_unit_test(test_error_pages),
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_anthropic_keeps),
        cmocka_unit_test(test_many_annotations),
        cmocka_unit_test(test_openai_keeps),  cmocka_unit_test(test_short_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
