/* test_delta_fast_path.c -- events that are told from the one before by their bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "model/codec/codec.h"
#include "model/codec/decoder.h"
#include "model/message/message.h"
#include "model/codec/delta_fast_path.h"
#include "json/pull.h"
#include "json/writer.h"
#include "model/message/message_json.h"

#define FIGURES "{\"in\":7,\"d\":{\"out\":1.5},\"tier\":\"x\"}"

/* `learnt` has @ before and after its piece; in `event` the piece is `piece`,
 * NULL where the event must be read in full. */
static const struct {
    const char *name, *learnt, *figures, *event, *piece, *got_figures;
} cases[] = {
    {"the same around another text", "{\"d\":\"@one@\"}", NULL, "{\"d\":\"two\"}", "two", ""},
    {"no text at all", "{\"d\":\"@one@\"}", NULL, "{\"d\":\"\"}", "", ""},
    {"escapes", "{\"d\":\"@one@\"}", NULL, "{\"d\":\"a\\n\\\"b\"}", "a\n\"b", ""},
    {"another member", "{\"d\":\"@one@\"}", NULL, "{\"d\":\"two\",\"x\":1}", NULL, NULL},
    {"another name", "{\"d\":\"@one@\"}", NULL, "{\"e\":\"two\"}", NULL, NULL},
    {"less", "{\"d\":\"@one@\"}", NULL, "{\"d\":\"two\"", NULL, NULL},
    {"a string without end", "{\"d\":\"@one@\"}", NULL, "{\"d\":\"two}", NULL, NULL},
    {"no string", "{\"d\":\"@one@\"}", NULL, "{\"d\":2}", NULL, NULL},
    {"padding", "{\"d\":\"@a@\",\"obfuscation\":\"xy\"}", NULL,
     "{\"d\":\"b\",\"obfuscation\":\"longer\"}", "b", ""},
    {"padding with an escape", "{\"d\":\"@a@\",\"p\":\"xy\"}", NULL, "{\"d\":\"b\",\"p\":\"\\n\"}",
     NULL, NULL},
    {"a sequence number before", "{\"sequence_number\":9,\"d\":\"@a@\"}", NULL,
     "{\"sequence_number\":10,\"d\":\"b\"}", "b", ""},
    {"a sequence number after", "{\"d\":\"@a@\",\"sequence_number\":9}", NULL,
     "{\"d\":\"b\",\"sequence_number\":123456}", "b", ""},
    {"a sequence number that is none", "{\"d\":\"@a@\",\"sequence_number\":9}", NULL,
     "{\"d\":\"b\",\"sequence_number\":01}", NULL, NULL},
    {"another id of the event", "{\"id\":\"x1\",\"d\":\"@a@\"}", NULL,
     "{\"id\":\"y22\",\"d\":\"b\"}", "b", ""},
    {"another id of something in it", "{\"d\":\"@a@\",\"o\":{\"id\":\"x\"}}", NULL,
     "{\"d\":\"b\",\"o\":{\"id\":\"y\"}}", NULL, NULL},
    {"another id of the item", "{\"t\":1,\"item_id\":\"x1\",\"d\":\"@a@\"}", NULL,
     "{\"t\":1,\"item_id\":\"\",\"d\":\"b\"}", "b", ""},
    {"another number", "{\"i\":1,\"d\":\"@a@\"}", NULL, "{\"i\":2,\"d\":\"b\"}", NULL, NULL},
    {"figures", "{\"d\":\"@a@\",\"u\":" FIGURES "}", FIGURES,
     "{\"d\":\"b\",\"u\":{\"in\":8,\"d\":{\"out\":-2},\"tier\":\"x\"}}", "b",
     "{\"in\":8,\"d\":{\"out\":-2},\"tier\":\"x\"}"},
    {"figures before the text", "{\"u\":" FIGURES ",\"d\":\"@a@\"}", FIGURES,
     "{\"u\":{\"in\":800,\"d\":{\"out\":0},\"tier\":\"x\"},\"d\":\"b\"}", "b",
     "{\"in\":800,\"d\":{\"out\":0},\"tier\":\"x\"}"},
    {"a figure that is a word", "{\"d\":\"@a@\",\"u\":" FIGURES "}", FIGURES,
     "{\"d\":\"b\",\"u\":{\"in\":null,\"d\":{\"out\":2},\"tier\":\"x\"}}", NULL, NULL},
    {"figures of another shape", "{\"d\":\"@a@\",\"u\":" FIGURES "}", FIGURES,
     "{\"d\":\"b\",\"u\":{\"in\":1,\"d\":{\"out\":2},\"tier\":\"y\"}}", NULL, NULL},
    {"a number counted twice", "{\"d\":\"@a@\",\"u\":{\"sequence_number\":1}}",
     "{\"sequence_number\":1}", "{\"d\":\"b\",\"u\":{\"sequence_number\":2}}", NULL, NULL},
};

static void learn(struct ch_template *t, const char *event, const char *figures,
                  struct ch_buf *text) {
    const char *from = strchr(event, '@'), *to = strchr(from + 1, '@');
    ch_buf_addf(text, "%.*s%.*s%s", (int)(from - event), event, (int)(to - from - 1), from + 1,
                to + 1);
    struct ch_sv piece = ch_sv(text->p + (from - event), (size_t)(to - from - 1));
    const char *at = figures ? strstr(ch_buf_str(text), figures) : NULL;
    ch_template_learn(t, &(struct ch_template_event){.data = ch_buf_sv(text),
                                                     .piece = piece,
                                                     .figures = at ? ch_sv(at, strlen(figures))
                                                                   : ch_sv(NULL, 0)});
}

static void test_matches(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_template t = {0};
        struct ch_template_match m;
        CH_BUF_AUTO text = {0};
        CH_BUF_AUTO scratch = {0};
        learn(&t, cases[i].learnt, cases[i].figures, &text);
        bool matched = ch_template_match(&t, ch_sv_str(cases[i].event), &scratch, &m);
        if (matched != (cases[i].piece != NULL))
            fail_msg("%s: %s", cases[i].name, matched ? "matches" : "does not match");
        if (matched && !ch_sv_is(m.piece, cases[i].piece))
            fail_msg("%s: the piece is \"%.*s\"", cases[i].name, CH_SV_FMT(m.piece));
        if (matched && !ch_sv_is(m.figures, cases[i].got_figures))
            fail_msg("%s: the figures are %.*s", cases[i].name, CH_SV_FMT(m.figures));
        ch_template_release(&t);
    }
}

/* {"d":"piece","e":"piece"} where both are to be the same. */
static void test_again(void **state) {
    (void)state;
    static const struct {
        const char *learnt, *event, *piece;
    } rows[] = {
        {"{\"d\":\"a\",\"e\":\"a\"}", "{\"d\":\"bc\",\"e\":\"bc\"}", "bc"},
        {"{\"d\":\"a\",\"e\":\"a\"}", "{\"d\":\"\\n\",\"e\":\"\\n\"}", "\n"},
        {"{\"d\":\"a\",\"e\":\"a\"}", "{\"d\":\"\",\"e\":\"\"}", ""},
        {"{\"d\":\"a\",\"e\":\"a\"}", "{\"d\":\"bc\",\"e\":\"bd\"}", NULL},
        {"{\"d\":\"a\",\"e\":\"a\"}", "{\"d\":\"bc\",\"e\":\"b\"}", NULL},
        {"{\"d\":\"a\",\"e\":\"a\"}", "{\"d\":\"b\",\"e\":\"bc\"}", NULL},
        {"{\"d\":\"a\",\"e\":\"a\"}", "{\"d\":\"bc\",\"e\":\"", NULL},
        {"{\"d\":\"a\",\"e\":\"x\"}", "{\"d\":\"b\",\"e\":\"b\"}", NULL},
    };
    for (size_t i = 0; i < 2 * CH_LEN(rows); i++) {
        struct ch_template t = {0};
        struct ch_template_match m;
        CH_BUF_AUTO scratch = {0};
        const char *learnt = rows[i / 2].learnt, *expected = rows[i / 2].piece;
        struct ch_sv one = ch_sv(learnt + 6, 1), other = ch_sv(learnt + 14, 1);
        ch_template_learn(&t, &(struct ch_template_event){.data = ch_sv_str(learnt),
                                                          .piece = i % 2 ? one : other,
                                                          .again = {i % 2 ? other : one}});
        bool matched = ch_template_match(&t, ch_sv_str(rows[i / 2].event), &scratch, &m);
        if (matched != (expected != NULL) || (matched && !ch_sv_is(m.piece, expected)))
            fail_msg("%s after %s: %s", rows[i / 2].event, learnt,
                     matched ? "matches" : "does not");
        ch_template_release(&t);
    }
}

/* What has too many figures for the holes there are is not learnt. */
static void test_too_many_figures(void **state) {
    (void)state;
    struct ch_template t = {0};
    struct ch_template_match m;
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO scratch = {0};
    learn(&t,
          "{\"d\":\"@a@\",\"u\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,"
          "18,19,20,21,22,23,24]}",
          "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24]", &text);
    assert_false(ch_template_match(&t, ch_buf_sv(&text), &scratch, &m));
    ch_template_release(&t);
}

/* {"x":..,"d":"piece","y":..} of which only "d" is read. */
static void learn_unread(struct ch_template *t, const char *event) {
    struct ch_template_unread unread = {0};
    struct ch_sv data = ch_sv_str(event), key, piece = {0};
    struct ch_pull p;
    CH_BUF_AUTO scratch = {0};
    ch_pull_init(&p, data, &scratch);
    assert_true(ch_pull_enter(&p, '{'));
    while (ch_pull_key(&p, &key)) {
        if (ch_sv_is(key, "d"))
            ch_pull_str(&p, &piece);
        else
            ch_template_skip(&unread, &p);
    }
    assert_false(ch_pull_failed(&p));
    ch_template_learn(t,
                      &(struct ch_template_event){.data = data, .piece = piece, .unread = &unread});
}

/* What nobody reads may be anything, once it was seen to differ. */
static void test_unread(void **state) {
    (void)state;
    static const struct {
        const char *event;
        bool matches;
    } events[] = {
        {"{\"x\":1,\"d\":\"b\",\"y\":{\"a\":[1,{}]}}", true},
        {"{\"x\":\"}\\\"\",\"d\":\"b\",\"y\":null}", true},
        {"{\"x\":[\"d\",[[]]],\"d\":\"b\",\"y\":-1.5e3}", true},
        {"{\"x\":1,\"d\":\"b\",\"z\":1}", false},
        {"{\"x\":1,\"d\":\"b\"}", false},
        {"{\"x\":01,\"d\":\"b\",\"y\":1}", false},
        {"{\"x\":[1,\"d\":\"b\",\"y\":1}", false},
        {"{\"x\":nul,\"d\":\"b\",\"y\":1}", false},
        {"{\"x\":,\"d\":\"b\",\"y\":1}", false},
    };
    struct ch_template t = {0};
    struct ch_template_match m;
    CH_BUF_AUTO scratch = {0};
    learn_unread(&t, "{\"x\":1,\"d\":\"a\",\"y\":2}");
    assert_false(ch_template_match(&t, ch_sv_str(events[0].event), &scratch, &m));
    ch_template_clear(&t);
    learn_unread(&t, "{\"x\":1,\"d\":\"a\",\"y\":2}");
    for (size_t i = 0; i < CH_LEN(events); i++)
        if (ch_template_match(&t, ch_sv_str(events[i].event), &scratch, &m) != events[i].matches)
            fail_msg("%s", events[i].event);
    ch_template_release(&t);
}

/* Members that tell of an error are read in every chunk. */
static void test_error_among_unread(void **state) {
    (void)state;
    static const char stream[] =
        "data: {\"t\":1,\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"base_resp\":null}\n\n"
        "data: "
        "{\"t\":2,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"}}],\"base_resp\":null}\n\n"
        "data: "
        "{\"t\":3,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"c\"}}],\"base_resp\":null}\n\n"
        "data: "
        "{\"t\":4,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"d\"}}],\"base_resp\":null}\n\n"
        "data: {\"t\":5,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"e\"}}],"
        "\"base_resp\":{\"status_code\":1002,\"status_msg\":\"rate limit\"}}\n\n";
    struct ch_decoder d;
    ch_decoder_init(&d, &ch_codec_openai, NULL, NULL);
    ch_decoder_feed(&d, ch_sv_str(stream));
    ch_decoder_end(&d, NULL, 0);
    assert_int_not_equal(d.reply.error.cls, CH_ERR_NONE);
    assert_true(ch_sv_contains_nocase(d.reply.error.message, "rate limit"));
    ch_decoder_release(&d);
}

/* Events that never repeat are soon left alone, and tried again now and then. */
static void test_learning_in_vain(void **state) {
    (void)state;
    struct ch_template t = {0};
    struct ch_template_match m;
    CH_BUF_AUTO scratch = {0};
    int learnt = 0;
    for (int i = 0; i < 1000; i++) {
        CH_BUF_AUTO text = {0};
        learn(&t, "{\"d\":\"@a@\"}", NULL, &text);
        learnt += t.nholes > 0;
        ch_template_clear(&t);
    }
    assert_in_range(learnt, 10, 100);
    for (int i = 0; i < 100 && !t.nholes; i++) { /* one that repeats: eager again */
        CH_BUF_AUTO text = {0};
        learn(&t, "{\"d\":\"@a@\"}", NULL, &text);
    }
    assert_true(ch_template_match(&t, CH_SV("{\"d\":\"b\"}"), &scratch, &m));
    assert_int_equal(t.missed, 0);
    ch_template_release(&t);
}

/* Streams that have a short way; read in full they say the same. */
static const struct stream {
    const char *name;
    const struct ch_codec *codec;
    const char *events[7];
} streams[] = {
    {"details repeat the reasoning",
     &ch_codec_openai,
     {"{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"a\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.text\",\"text\":\"a\",\"index\":0}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"b\\n\",\"reasoning_details\":[{"
      "\"type\":\"reasoning.text\",\"text\":\"b\\n\",\"index\":0}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"c\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.text\",\"text\":\"c\",\"index\":0}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.text\",\"text\":\"\",\"index\":0}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"d\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.text\",\"text\":\"d\",\"index\":0}]},\"finish_reason\":null}]}"}},
    {"details of another text",
     &ch_codec_openai,
     {"{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"a\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.text\",\"text\":\"a\",\"index\":0}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"b\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.text\",\"text\":\"b\",\"index\":0}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"c\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.text\",\"text\":\"x\",\"index\":0}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"d\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.text\",\"text\":\"d\",\"index\":0}]},\"finish_reason\":null}]}"}},
    {"details without reasoning",
     &ch_codec_openai,
     {"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.summary\",\"summary\":\"a\",\"index\":0}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.summary\",\"summary\":\"b\",\"index\":0}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.summary\",\"summary\":\"c\",\"index\":0}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.summary\",\"summary\":\"d\",\"index\":1}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.summary\",\"summary\":\"e\",\"index\":1}]},\"finish_reason\":null}]}"}},
    {"details that are signed",
     &ch_codec_openai,
     {"{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"a\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.text\",\"text\":\"a\",\"signature\":\"\"}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"b\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.text\",\"text\":\"b\",\"signature\":\"\"}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"c\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.text\",\"text\":\"c\",\"signature\":\"s\"}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"d\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.text\",\"text\":\"d\",\"signature\":\"s\"}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"e\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.text\",\"text\":\"e\",\"signature\":\"\"}]},\"finish_reason\":null}]}"}},
    {"two details",
     &ch_codec_openai,
     {"{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"a\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.text\",\"text\":\"a\"},{\"type\":\"reasoning.encrypted\",\"data\":\"x\"}]},"
      "\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"b\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.text\",\"text\":\"b\"},{\"type\":\"reasoning.encrypted\",\"data\":\"x\"}]},"
      "\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"c\",\"reasoning_details\":[{\"type\":"
      "\"reasoning.text\",\"text\":\"c\"},{\"type\":\"reasoning.encrypted\",\"data\":\"x\"}]},"
      "\"finish_reason\":null}]}"}},
    {"reasoning under two names",
     &ch_codec_openai,
     {"{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"a\",\"reasoning_content\":\"a\"},"
      "\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"b\",\"reasoning_content\":\"b\"},"
      "\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"c\",\"reasoning_content\":\"d\"},"
      "\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"e\",\"reasoning_content\":\"e\"},"
      "\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"f\",\"reasoning_content\":\"f\"},"
      "\"finish_reason\":null}]}"}},
    {"thinking, then text, in parts",
     &ch_codec_openai,
     {"{\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[{"
      "\"type\":\"text\",\"text\":\"a\"}]}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[{"
      "\"type\":\"text\",\"text\":\"b\"}]}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[{"
      "\"type\":\"text\",\"text\":\"c\"}]}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]},"
      "\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"b\"}]},"
      "\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"c\"}]},"
      "\"finish_reason\":null}]}"}},
    {"two parts of one text",
     &ch_codec_openai,
     {"{\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{"
      "\"type\":\"text\",\"text\":\"a\"}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"b\"},{"
      "\"type\":\"text\",\"text\":\"b\"}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"c\"},{"
      "\"type\":\"text\",\"text\":\"c\"}]},\"finish_reason\":null}]}"}},
    {"the delta before its index",
     &ch_codec_openai,
     {"{\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":null,\"index\":0}]}",
      "{\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":null,\"index\":0}]}",
      "{\"choices\":[{\"delta\":{\"content\":\"c\"},\"finish_reason\":null,\"index\":1}]}",
      "{\"choices\":[{\"delta\":{\"content\":\"d\"},\"finish_reason\":null,\"index\":0}]}",
      "{\"choices\":[{\"delta\":{\"content\":\"\\u4e00\"},\"finish_reason\":null,\"index\":0}]}"}},
    {"nothing but escapes",
     &ch_codec_openai,
     {"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\u4e00\"},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\u4e01\"},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\n\"},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}"}},
    {"content and reasoning at once",
     &ch_codec_openai,
     {"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\",\"reasoning\":\"a\"},\"finish_"
      "reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\",\"reasoning\":\"b\"},\"finish_"
      "reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"c\",\"reasoning\":\"c\"},\"finish_"
      "reason\":null}]}"}},
    {"a call with something of its vendor",
     &ch_codec_openai,
     {"{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"1\","
      "\"function\":{\"name\":\"f\",\"arguments\":\"{\"},\"extra_content\":{\"s\":1}}]},\"finish_"
      "reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"1\","
      "\"function\":{\"name\":\"f\",\"arguments\":\"\"},\"extra_content\":{\"s\":1}}]},\"finish_"
      "reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"1\","
      "\"function\":{\"name\":\"f\",\"arguments\":\"}\"},\"extra_content\":{\"s\":1}}]},\"finish_"
      "reason\":null}]}"}},
    {"arguments",
     &ch_codec_openai,
     {"{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"0\","
      "\"function\":{\"name\":\"f\",\"arguments\":\"[\"}}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"0\","
      "\"function\":{\"name\":\"f\",\"arguments\":\"1\"}}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"0\","
      "\"function\":{\"name\":\"f\",\"arguments\":\",2\"}}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"1\","
      "\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"1\","
      "\"function\":{\"name\":\"f\",\"arguments\":\"}\"}}]},\"finish_reason\":null}]}",
      "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"1\","
      "\"function\":{\"name\":\"f\",\"arguments\":\" \"}}]},\"finish_reason\":null}]}"}},
    {"with blanks",
     &ch_codec_anthropic,
     {"{\"type\": \"content_block_delta\", \"index\": 0, \"delta\": {\"type\": \"text_delta\", "
      "\"text\": \"a\"}}",
      "{\"type\": \"content_block_delta\", \"index\": 0, \"delta\": {\"type\": \"text_delta\", "
      "\"text\": \"b\"}}",
      "{\"type\": \"content_block_delta\", \"index\": 0, \"delta\": {\"type\": \"text_delta\", "
      "\"text\": \"\\n\"}}",
      "{\"type\": \"content_block_delta\", \"index\": 1, \"delta\": {\"type\": \"text_delta\", "
      "\"text\": \"c\"}}",
      "{\"type\": \"content_block_delta\", \"index\": 1, \"delta\": {\"type\": \"text_delta\", "
      "\"text\": \"d\"}}"}},
    {"in another order",
     &ch_codec_anthropic,
     {"{\"delta\":{\"thinking\":\"a\",\"type\":\"thinking_delta\"},\"index\":0,\"type\":\"content_"
      "block_delta\"}",
      "{\"delta\":{\"thinking\":\"b\",\"type\":\"thinking_delta\"},\"index\":0,\"type\":\"content_"
      "block_delta\"}",
      "{\"delta\":{\"signature\":\"x\",\"type\":\"signature_delta\"},\"index\":0,\"type\":"
      "\"content_block_delta\"}",
      "{\"delta\":{\"signature\":\"y\",\"type\":\"signature_delta\"},\"index\":0,\"type\":"
      "\"content_block_delta\"}",
      "{\"delta\":{\"text\":\"c\",\"type\":\"text_delta\"},\"index\":1,\"type\":\"content_block_"
      "delta\"}",
      "{\"delta\":{\"text\":\"d\",\"type\":\"text_delta\"},\"index\":1,\"type\":\"content_block_"
      "delta\"}"}},
    {"two strings in a delta",
     &ch_codec_anthropic,
     {"{\"delta\":{\"text\":\"a\",\"thinking\":\"a\",\"type\":\"text_delta\"},\"index\":0,\"type\":"
      "\"content_block_delta\"}",
      "{\"delta\":{\"text\":\"b\",\"thinking\":\"b\",\"type\":\"text_delta\"},\"index\":0,\"type\":"
      "\"content_block_delta\"}",
      "{\"delta\":{\"text\":\"c\",\"thinking\":\"c\",\"type\":\"text_delta\"},\"index\":0,\"type\":"
      "\"content_block_delta\"}"}},
};

/* The reply. With `blanks` no event is like another. */
static void play(const struct stream *s, bool blanks, struct ch_buf *out) {
    struct ch_decoder d;
    ch_decoder_init(&d, s->codec, NULL, NULL);
    for (size_t i = 0; i < CH_LEN(s->events) && s->events[i]; i++) {
        CH_BUF_AUTO event = {0};
        ch_buf_addf(&event, "data: {%*s%s\n\n", blanks ? (int)i + 1 : 0, "", s->events[i] + 1);
        ch_decoder_feed(&d, ch_buf_sv(&event));
    }
    ch_decoder_feed(&d, s->codec == &ch_codec_openai
                            ? CH_SV("data: {\"choices\":[{\"index\":0,\"delta\":{},"
                                    "\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
                            : CH_SV("data: {\"type\":\"message_stop\"}\n\n"));
    ch_decoder_end(&d, NULL, 0);
    struct ch_jw w = ch_jw(out);
    assert_non_null(d.reply.msg);
    ch_msg_write(d.reply.msg, &w); /* with what only its vendor reads */
    ch_msg_free(d.reply.msg);
    d.reply.msg = NULL;
    ch_decoder_release(&d);
}

static void test_both_ways(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(streams); i++) {
        CH_BUF_AUTO quick = {0};
        CH_BUF_AUTO full = {0};
        play(&streams[i], false, &quick);
        play(&streams[i], true, &full);
        if (!ch_sv_eq(ch_buf_sv(&quick), ch_buf_sv(&full)))
            fail_msg("%s:\n%s\nread in full:\n%s", streams[i].name, ch_buf_str(&quick),
                     ch_buf_str(&full));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_too_many_figures),
        cmocka_unit_test(test_learning_in_vain),
        cmocka_unit_test(test_unread),
        cmocka_unit_test(test_error_among_unread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
