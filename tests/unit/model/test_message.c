/* test_message.c -- messages, transcripts, and the neutral JSON form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "model/message/message.h"
#include "json/json.h"
#include "json/writer.h"
#include "model/message/message_json.h"

static const struct ch_block all_types[] = {
    {.type = CH_BLOCK_TEXT, .text = CH_SV("hi \"there\"\n"), .extra = CH_SV("[{\"a\":1}]")},
    {.type = CH_BLOCK_REASONING,
     .text = CH_SV("hm"),
     .id = CH_SV("rs_1"),
     .name = CH_SV("reasoning"),
     .extra = CH_SV("c2ln")},
    {.type = CH_BLOCK_REASONING, .flags = CH_F_REDACTED, .extra = CH_SV("x")},
    {.type = CH_BLOCK_REFUSAL, .text = CH_SV("no")},
    {.type = CH_BLOCK_IMAGE, .text = CH_SV("AAAA"), .name = CH_SV("image/png")},
    {.type = CH_BLOCK_IMAGE,
     .flags = CH_F_URL,
     .text = CH_SV("https://example.com/a"),
     .name = CH_SV("image/png"),
     .extra = CH_SV("low")},
    {.type = CH_BLOCK_AUDIO, .text = CH_SV("BBBB"), .name = CH_SV("audio/wav")},
    {.type = CH_BLOCK_DOCUMENT,
     .text = CH_SV("CCCC"),
     .name = CH_SV("application/pdf"),
     .id = CH_SV("a.pdf")},
    {.type = CH_BLOCK_TOOL_CALL,
     .runner = CH_RUN_RUNTIME, .text = CH_SV("{\"a\":1}"), .id = CH_SV("c1"), .name = CH_SV("f")},
    {.type = CH_BLOCK_TOOL_CALL,
     .text = CH_SV("{ \"a\" : 1.0, \"u\":\"\\u00e9\" }"),
     .id = CH_SV("c2"),
     .name = CH_SV("f"),
     .extra = CH_SV("sig")},
    {.type = CH_BLOCK_TOOL_CALL,
     .flags = CH_F_CUT,
     .text = CH_SV("{\"a\":"),
     .id = CH_SV("c3"),
     .name = CH_SV("f")},
    {.type = CH_BLOCK_TOOL_CALL, .flags = CH_F_CUT, .id = CH_SV("c4"), .name = CH_SV("f")},
    {.type = CH_BLOCK_TOOL_CALL,
     .flags = CH_F_INVALID,
     .text = CH_SV("[1]"),
     .id = CH_SV("c5"),
     .name = CH_SV("f")},
    {.type = CH_BLOCK_TOOL_CALL,
     .flags = CH_F_REPAIRED,
     .text = CH_SV("{}"),
     .id = CH_SV("c6"),
     .name = CH_SV("f")},
    {.type = CH_BLOCK_TOOL_RESULT, .text = CH_SV("ok"), .id = CH_SV("c1"), .name = CH_SV("f")},
    {.type = CH_BLOCK_TOOL_RESULT,
     .flags = CH_F_ERROR | CH_F_DENIED,
     .text = CH_SV("no"),
     .id = CH_SV("c3"),
     .name = CH_SV("f")},
    {.type = CH_BLOCK_TOOL_RESULT,
     .flags = CH_F_ERROR | CH_F_DENIED,
     .span = 2,
     .text = CH_SV("bad"),
     .id = CH_SV("c2"),
     .name = CH_SV("f")},
    {.type = CH_BLOCK_IMAGE, .text = CH_SV("AAAA"), .name = CH_SV("image/png")},
    {.type = CH_BLOCK_DOCUMENT, .text = CH_SV("CCCC"), .name = CH_SV("application/pdf")},
    {.type = CH_BLOCK_OPAQUE,
     .runner = CH_RUN_VENDOR,
     .text = CH_SV("{\"type\": \"x\"}"),
     .name = CH_SV("server_tool_use")},
};

static void assert_same_text(struct ch_sv a, struct ch_sv b) {
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.p, b.p, a.n);
    assert_int_equal(b.p[b.n], '\0');
}

static void assert_same_block(const struct ch_block *a, const struct ch_block *b) {
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->span, b->span);
    assert_int_equal(a->runner, b->runner);
    assert_same_text(a->text, b->text);
    assert_same_text(a->id, b->id);
    assert_same_text(a->name, b->name);
    assert_same_text(a->extra, b->extra);
}

static struct ch_msg *read_text(const char *json, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct ch_msg *m = NULL;
    assert_int_equal(ch_json_parse(&arena, ch_sv_str(json), CH_JSON_STRICT, &v, NULL, err), 0);
    return ch_msg_read(v, &m, err) == 0 ? m : NULL;
}

static void test_copies_everything(void **state) {
    (void)state;
    char text[] = "text", api[] = "anthropic", model[] = "m-1";
    struct ch_block b = {.type = CH_BLOCK_TEXT, .text = ch_sv_str(text)};
    struct ch_msg *m =
        ch_msg_by(CH_MSG_ASSISTANT, &b, 1,
                  &(struct ch_msg_author){.api = api, .model = ch_sv_str(model)}, 42);
    memset(text, 'x', 4);
    memset(api, 'x', 9);
    memset(model, 'x', 3);
    assert_string_equal(m->blocks[0].text.p, "text");
    assert_string_equal(ch_msg_author(m).api, "anthropic");
    assert_string_equal(ch_msg_author(m).model.p, "m-1");
    assert_int_equal(m->ts, 42);
    assert_int_equal(m->blocks[0].extra.n, 0);
    assert_string_equal(m->blocks[0].extra.p, "");
    ch_msg_free(m);
    ch_msg_free(NULL);
}

static void test_shared_name(void **state) {
    (void)state;
    struct ch_block b = {.type = CH_BLOCK_TEXT, .text = CH_SV("text")};
    static const struct ch_msg_author same = {"openai", CH_SV("m-1"), CH_SV("azure/m-1")};
    static const struct ch_msg_author other = {"openai", CH_SV("m-2"), CH_SV("azure/m-1")};
    struct ch_msg *x = ch_msg_by(CH_MSG_ASSISTANT, &b, 1, &same, 0);
    struct ch_msg *y = ch_msg_like(x, CH_MSG_ASSISTANT, &b, 1);
    struct ch_msg *z = ch_msg_by(CH_MSG_ASSISTANT, &b, 1, &other, 0);
    ch_msg_free(x);
    assert_string_equal(ch_msg_author(y).model.p, "m-1");
    assert_string_equal(ch_msg_author(y).asked.p, "azure/m-1");
    assert_string_equal(y->blocks[0].text.p, "text");
    assert_string_equal(ch_msg_author(z).model.p, "m-2");
    assert_true(y->size < z->size);
    ch_msg_free(y);
    ch_msg_free(z);
}

static void test_round_trip(void **state) {
    (void)state;
    size_t n = CH_LEN(all_types);
    for (int kind = 0; kind < CH_MSG_KINDS; kind++) {
        bool assistant = kind == CH_MSG_ASSISTANT;
        static const struct ch_msg_author model = {"openai", CH_SV("m"),
                                                   CH_SV("azure/my-deployment")};
        static const struct ch_msg_author person;
        struct ch_msg *m = ch_msg_by(kind, all_types, n, assistant ? &model : &person,
                                     kind ? 1700000000123 : 0);
        CH_BUF_AUTO json = {0};
        CH_BUF_AUTO again = {0};
        struct ch_jw w = ch_jw(&json);
        struct chela_error err = {0};
        ch_msg_write(m, &w);
        struct ch_msg *back = read_text(ch_buf_str(&json), &err);
        assert_string_equal(err.message, "");
        assert_int_equal(back->kind, kind);
        assert_int_equal(back->ts, m->ts);
        assert_same_text(ch_msg_author(m).model, ch_msg_author(back).model);
        assert_same_text(ch_msg_author(m).asked, ch_msg_author(back).asked);
        assert_int_equal(ch_msg_author(back).asked.n > 0, assistant);
        if (assistant)
            assert_string_equal(ch_msg_author(back).api, "openai");
        else
            assert_null(ch_msg_author(back).api);
        assert_int_equal(back->nblocks, n);
        for (size_t i = 0; i < n; i++)
            assert_same_block(&m->blocks[i], &back->blocks[i]);
        w = ch_jw(&again);
        ch_msg_write(back, &w);
        assert_string_equal(ch_buf_str(&json), ch_buf_str(&again));
        ch_msg_free(m);
        ch_msg_free(back);
    }
}

static void test_reads_short_forms(void **state) {
    (void)state;
    struct chela_error err = {0};
    struct ch_msg *m = read_text("{\"role\":\"user\",\"content\":\"hi\"}", &err);
    assert_int_equal(m->nblocks, 1);
    assert_string_equal(m->blocks[0].text.p, "hi");
    ch_msg_free(m);
    m = read_text("{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_call\",\"id\":\"a\","
                  "\"name\":\"f\"},{\"type\":\"tool_call\",\"id\":\"b\",\"name\":\"f\","
                  "\"arguments\":\"{ }\"}]}",
                  &err);
    assert_string_equal(m->blocks[0].text.p, "{}");
    assert_string_equal(m->blocks[1].text.p, "{ }");
    ch_msg_free(m);
    m = read_text("{\"role\":\"tool\",\"content\":[{\"type\":\"tool_result\",\"id\":\"a\","
                  "\"content\":[{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"text\",\"text\":"
                  "\"y\"}]}]}",
                  &err);
    assert_int_equal(m->kind, CH_MSG_RESULTS);
    assert_string_equal(m->blocks[0].text.p, "x\ny");
    ch_msg_free(m);
}

static void test_refuses(void **state) {
    (void)state;
    static const struct {
        const char *json, *why;
    } cases[] = {
        {"{\"content\":\"x\"}", "unknown role"},
        {"{\"role\":\"king\",\"content\":\"x\"}", "king"},
        {"{\"role\":\"user\"}", "content"},
        {"{\"role\":\"user\",\"content\":5}", "content"},
        {"{\"role\":\"user\",\"content\":[5]}", "unknown block type"},
        {"{\"role\":\"user\",\"content\":[{\"type\":\"poem\"}]}", "poem"},
        {"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":5}]}", "\"text\""},
        {"{\"role\":\"user\",\"content\":[{\"type\":\"image\"}]}", "image needs"},
        {"{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_call\",\"arguments\":[1]}]}",
         "\"arguments\""},
        {"{\"role\":\"tool\",\"content\":[{\"type\":\"tool_result\",\"content\":[{\"type\":"
         "\"tool_call\"}]}]}",
         "tool result holds"},
        {"{\"role\":\"assistant\",\"content\":\"x\",\"model\":5}", "\"model\""},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct chela_error err = {0};
        struct ch_msg *m = read_text(cases[i].json, &err);
        assert_null(m);
        assert_int_equal(err.code, CHELA_EINVAL);
        assert_non_null(strstr(err.message, cases[i].why));
    }
}

static void test_transcript(void **state) {
    (void)state;
    struct ch_transcript t = {0};
    for (int i = 0; i < 100; i++)
        assert_int_equal(ch_transcript_add(&t, ch_msg_text(CH_MSG_USER, CH_SV("x"), i)), 0);
    assert_int_equal(t.n, 100);
    assert_int_equal(t.msgs[99]->ts, 99);
    assert_int_equal(t.bytes, 100 * t.msgs[0]->size);
    t.bytes = CH_LIMIT_HISTORY - 10; /* as if full */
    assert_int_equal(ch_transcript_add(&t, ch_msg_text(CH_MSG_USER, CH_SV("x"), 0)), CHELA_ELIMIT);
    assert_int_equal(t.n, 100);
    ch_transcript_release(&t);
    ch_transcript_release(&t);
}

static void test_names(void **state) {
    (void)state;
    assert_string_equal(ch_msg_kind_name(CH_MSG_RESULTS), "results");
    assert_string_equal(ch_block_type_name(CH_BLOCK_OPAQUE), "opaque");
    assert_null(ch_msg_kind_prefix(CH_MSG_USER));
    assert_null(ch_msg_kind_prefix(CH_MSG_RESULTS));
    assert_string_equal(ch_msg_kind_prefix(CH_MSG_TIMER), "[timer] ");
    assert_string_equal(ch_msg_kind_prefix(CH_MSG_WEBHOOK), "[webhook] ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_everything), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_shared_name),
        cmocka_unit_test(test_reads_short_forms), cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_transcript),        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
