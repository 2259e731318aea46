/* test_compacted.c -- what a request holds of a conversation that a service has condensed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "json/json.h"
#include "model/codec/compacted.h"
#include "model/codec/decoder.h"
#include "model/wire/wire_encode.h"

#define USER(text) "{\"role\":\"user\",\"content\":\"" text "\"}"
#define SAID(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define OPAQUE(json) "{\"type\":\"opaque\",\"name\":\"compaction\",\"json\":\"" json "\"}"
#define BY(api, asked, ...)                                                                       \
    "{\"role\":\"assistant\",\"api\":\"" api "\",\"model\":\"m\",\"asked\":\"" asked              \
    "\",\"content\":[" __VA_ARGS__ "]}"
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"

#define BLOCK "{\\\"type\\\":\\\"compaction\\\",\\\"content\\\":\\\"in short\\\"}"
#define ITEM "{\\\"type\\\":\\\"compaction\\\",\\\"encrypted_content\\\":\\\"c2\\\"}"
#define CLAUDE BY("anthropic", "anthropic/claude-opus-5-5", OPAQUE(BLOCK) "," TEXT("on"))
#define OTHER_CLAUDE BY("anthropic", "anthropic/claude-haiku-5-5", OPAQUE(BLOCK) "," TEXT("on"))
#define GPT BY("openai-responses", "openai/gpt-6-sol", OPAQUE(ITEM) "," TEXT("on"))
#define NOTHING(content)                                                                          \
    BY("anthropic", "anthropic/claude-opus-5-5",                                                  \
       OPAQUE("{\\\"type\\\":\\\"compaction\\\"" content "}") "," TEXT("on"))

static const struct row {
    const char *name, *codec, *model, *messages;
    const char *holds[3], *lacks[3];
} rows[] = {
    {"its service gets it first, and nothing before it", "anthropic", "claude-opus-5-5",
     USER("old") "," SAID("reply") "," USER("more") "," CLAUDE "," USER("new"),
     {"\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"compaction\",\"content\":"
      "\"in short\"},{\"type\":\"text\",\"text\":\"on\"}]}",
      "new"},
     {"old", "reply", "more"}},
    {"another model of the service reads it", "anthropic", "claude-opus-5-5",
     USER("old") "," OTHER_CLAUDE "," USER("new"), {"\"type\":\"compaction\"", "new"}, {"old"}},
    {"the last of several counts", "anthropic", "claude-opus-5-5",
     USER("old") "," CLAUDE "," USER("between") "," CLAUDE "," USER("new"),
     {"\"type\":\"compaction\"", "new"}, {"old", "between"}},
    {"in a message the last one is first", "anthropic", "claude-opus-5-5",
     USER("old") "," BY("anthropic", "anthropic/claude-opus-5-5",
                        TEXT("aside") "," OPAQUE(BLOCK) "," TEXT("on")) "," USER("new"),
     {"\"content\":[{\"type\":\"compaction\"", "\"on\""}, {"old", "aside"}},
    {"another vendor reads the summary", "openai-responses", "gpt-6-sol",
     USER("old") "," CLAUDE "," USER("new"),
     {"Summary of the conversation so far:\\n\\nin short", "\"on\"", "new"},
     {"old", "\"compaction\""}},
    {"so does a protocol without compactions", "openai", "gpt-4o",
     USER("old") "," CLAUDE "," USER("new"), {"in short", "new"}, {"old", "\"compaction\""}},
    {"an encrypted one goes back to its service", "openai-responses", "gpt-6-sol",
     USER("old") "," GPT "," USER("new"),
     {"\"input\":[{\"type\":\"compaction\",\"encrypted_content\":\"c2\"},", "new"}, {"old"}},
    {"others get the messages instead", "anthropic", "claude-opus-5-5",
     USER("old") "," GPT "," USER("new"), {"old", "\"on\"", "new"}, {"compaction", "c2"}},
    {"an earlier one that can be read counts", "anthropic", "claude-opus-5-5",
     USER("old") "," CLAUDE "," USER("between") "," GPT "," USER("new"),
     {"\"type\":\"compaction\"", "between", "new"}, {"old", "c2"}},
    {"one without content stands for nothing", "anthropic", "claude-opus-5-5",
     USER("old") "," NOTHING("") "," USER("new"), {"old", "\"on\"", "new"}, {"compaction"}},
    {"null is no content", "anthropic", "claude-opus-5-5",
     USER("old") "," NOTHING(",\\\"content\\\":null") "," USER("new"), {"old", "new"},
     {"compaction"}},
    {"a number is no content", "openai-responses", "gpt-6-sol",
     USER("old") "," BY("openai-responses", "openai/gpt-6-sol",
                        OPAQUE("{\\\"type\\\":\\\"compaction\\\",\\\"encrypted_content\\\":7}")
                        "," TEXT("on")) "," USER("new"),
     {"old", "new"}, {"compaction"}},
    {"another provider's is not sent", "openai-responses", "gpt-6-sol",
     USER("old") "," BY("openai-responses", "azure/gpt-6-sol", OPAQUE(ITEM)) "," USER("new"),
     {"old", "new"}, {"compaction"}},
};

static void encode(const char *codec, const char *model, const char *members,
                   const char *messages, struct ch_buf *out) {
    CH_BUF_AUTO request = {0};
    struct chela_error err = {0};
    const char *provider = strcmp(codec, "anthropic") == 0 ? "anthropic" : "openai";
    ch_buf_addf(&request, "{\"provider\":\"%s\",\"messages\":[%s]%s}", provider, messages,
                members);
    if (ch_wire_encode(ch_codec_find(ch_sv_str(codec)), ch_sv_str(model), ch_buf_sv(&request), out,
                       &err) < 0)
        fail_msg("%s: %s", messages, err.message);
}

static void test_what_is_sent(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_BUF_AUTO out = {0};
        const struct row *r = &rows[i];
        encode(r->codec, r->model, "", r->messages, &out);
        for (size_t k = 0; k < CH_LEN(r->holds); k++)
            if (r->holds[k] && !strstr(ch_buf_str(&out), r->holds[k]))
                fail_msg("%s: no %s in %s", r->name, r->holds[k], ch_buf_str(&out));
        const char *body = strstr(ch_buf_str(&out), "\"body\"");
        for (size_t k = 0; k < CH_LEN(r->lacks); k++)
            if (r->lacks[k] && strstr(body, r->lacks[k]))
                fail_msg("%s: %s in %s", r->name, r->lacks[k], ch_buf_str(&out));
    }
}

static void holds(const char *codec, const char *model, const char *members, const char *want) {
    CH_BUF_AUTO out = {0};
    encode(codec, model, members, USER("hello"), &out);
    if (!strstr(ch_buf_str(&out), want))
        fail_msg("%s: no %s in %s", members, want, ch_buf_str(&out));
}

static void test_what_is_asked(void **state) {
    (void)state;
    holds("anthropic", "claude-opus-5-5", ",\"compact_at\":120000",
          "{\"type\":\"compact_20260112\",\"trigger\":{\"type\":\"input_tokens\","
          "\"value\":120000}}");
    holds("anthropic", "claude-opus-5-5", ",\"compact_at\":120000",
          "compact-2026-01-12,compact-2026-09-04,context-management-2025-06-27");
    holds("anthropic", "claude-opus-5-5", ",\"compact_at\":20000", "\"value\":50000");
    holds("anthropic", "claude-sonnet-4-5", ",\"compact_at\":120000",
          "\"edits\":[{\"type\":\"clear_tool_uses_20250919\"");
    holds("anthropic", "claude-opus-5-5", ",\"compact_now\":true",
          "\"compaction\":{\"type\":\"summarize\"}");
    holds("openai-responses", "gpt-6-sol", ",\"compact_at\":120000",
          "\"context_management\":[{\"type\":\"compaction\",\"compact_threshold\":120000}]");
    holds("openai-responses", "gpt-6-sol", ",\"compact_now\":true", "/responses/compact\"");
    holds("openai-responses", "gpt-6-sol", ",\"compact_now\":true",
          "\"body\":{\"model\":\"gpt-6-sol\",\"input\":[{\"role\":\"user\","
          "\"content\":\"hello\"}]}");
}

/* The tokens of compactions are billed beside those that the service reports at the top. */
static void test_usage(void **state) {
    (void)state;
    static const char reply[] =
        "{\"type\":\"message\",\"content\":[{\"type\":\"compaction\",\"content\":\"short\"}],"
        "\"stop_reason\":\"compaction\",\"usage\":{\"input_tokens\":20,\"output_tokens\":3,"
        "\"cache_read_input_tokens\":1,\"iterations\":["
        "{\"type\":\"compaction\",\"input_tokens\":1000,\"output_tokens\":70,"
        "\"cache_read_input_tokens\":500,\"cache_creation_input_tokens\":40},"
        "{\"type\":\"message\",\"input_tokens\":20,\"output_tokens\":3},"
        "{\"type\":\"compaction\",\"input_tokens\":-5,\"output_tokens\":1},7]}}";
    struct ch_decoder d;
    ch_decoder_init(&d, &ch_codec_anthropic, NULL, NULL);
    ch_decoder_feed(&d, ch_sv_str(reply));
    ch_decoder_end(&d, NULL, 7);
    assert_int_equal(d.reply.error.cls, CH_ERR_NONE);
    assert_int_equal(d.reply.usage.input, 20 + 1 + 1000 + 500 + 40);
    assert_int_equal(d.reply.usage.output, 3 + 70 + 1);
    assert_int_equal(d.reply.usage.cache_read, 501);
    assert_int_equal(d.reply.usage.cache_write, 40);
    assert_true(ch_compacted_in(d.reply.msg));
    ch_decoder_release(&d);
}

static struct ch_msg *compaction(void) {
    struct ch_block b = {.type = CH_BLOCK_OPAQUE,
                         .name = CH_SV("compaction"),
                         .text = CH_SV("{\"content\":\"short\"}")};
    return ch_msg_new(CH_MSG_ASSISTANT, &b, 1, 0);
}

static void test_transcript_knows_its_last_compaction(void **state) {
    (void)state;
    struct ch_transcript t = {0};
    for (int i = 0; i < 4; i++)
        ch_transcript_add(&t, ch_msg_text(CH_MSG_USER, CH_SV("x"), 0));
    assert_int_equal(t.compacted, 0);
    ch_transcript_add(&t, compaction());
    assert_int_equal(t.compacted, 5);
    ch_transcript_insert(&t, 2, compaction());
    assert_int_equal(t.compacted, 6);
    ch_transcript_cut(&t, 5);
    assert_int_equal(t.compacted, 3);
    assert_true(ch_compacted_in(t.msgs[2]));
    ch_transcript_insert(&t, 99, ch_msg_text(CH_MSG_USER, CH_SV("last"), 0));
    assert_string_equal(ch_msg_words(t.msgs[5]).p, "last");
    ch_transcript_cut(&t, 2);
    assert_int_equal(t.compacted, 0);
    ch_transcript_release(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_sent),
        cmocka_unit_test(test_what_is_asked),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_transcript_knows_its_last_compaction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
