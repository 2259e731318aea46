/* test_directive.c -- directives in the words of a model. A reply comes in
 * pieces cut anywhere, so each case runs once for each size of piece. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/mem.h"
#include "prompt/directive.h"

static const struct {
    const char *in, *text, *found; /* found: "reply=ID current voice silent media=X;" */
} cases[] = {
    {"", "", ""},
    {"plain\ntext\n", "plain\ntext\n", ""},
    {"MEDIA:a.png", "", "media=a.png;"},
    {"Here.\nMEDIA: a b.png \nMore.", "Here.\nMore.", "media=a b.png;"},
    {"MEDIA:`a.png`\nMEDIA:\"b\"\n", "", "media=a.png;media=b;"},
    {"   MEDIA:a\n", "", "media=a;"},
    {"    MEDIA:a\n", "    MEDIA:a\n", ""},
    {"\tMEDIA:a\n", "\tMEDIA:a\n", ""},
    {"the file: MEDIA:a\n", "the file: MEDIA:a\n", ""},
    {"**MEDIA:a**\n`MEDIA:a`", "**MEDIA:a**\n`MEDIA:a`", ""},
    {"MEDIA:\nMEDI\nMEDIA", "MEDIA:\nMEDI\nMEDIA", ""},
    {"[[reply_to_current]] Yes.", "Yes.", "current;"},
    {"[[reply_to_current]]\nYes.", "Yes.", "current;"},
    {"[[reply_to:om_1]][[audio_as_voice]]  ok\nMEDIA:v.ogg", "ok\n",
     "reply=om_1;voice;media=v.ogg;"},
    {"[[reply_to: om_1 ]]x", "x", "reply=om_1;"},
    {"[[reply_to_current]]\n[[reply_to:7]]\n", "", "reply=7;"},
    {"[[reply_to:]] [[reply_to:a b]] [[other]]", "[[reply_to:]] [[reply_to:a b]] [[other]]", ""},
    {"see [[reply_to_current]]", "see [[reply_to_current]]", ""},
    {"[[reply_to:open\nnext", "[[reply_to:open\nnext", ""},
    {"[[audio_as_voice]", "[[audio_as_voice]", ""},
    {"__SILENT__", "", "silent;"},
    {"\n  __SILENT__ \n", "\n", "silent;"},
    {"Here is help.\n__SILENT__", "Here is help.\n", ""},
    {"__SILENT__ but", " but", ""},
    {"Here's help... __SILENT__", "Here's help... ", ""},
    {"one __SILENT__, two", "one , two", ""},
    {"___SILENT___", "__", "silent;"},
    {"__SILENT_", "__SILENT_", ""},
    {"a__SILENT__b__SILENT__", "ab", ""},
    {"**__SILENT__**", "****", "silent;"},
    {"\"__SILENT__\".", "\"\".", "silent;"},
    {"say `__SILENT__` then", "say `__SILENT__` then", ""},
    {"`__SILENT__`", "`__SILENT__`", ""},
    {"HEARTBEAT_OK", "", "silent;"},
    {" HEARTBEAT_OK\n", "", "silent;"},
    {"**HEARTBEAT_OK**", "****", "silent;"},
    {"The disk is full.\nHEARTBEAT_OK", "The disk is full.\n", ""},
    {"All is well. HEARTBEAT_OK", "All is well. ", ""},
    {"HEARTBEAT_O", "HEARTBEAT_O", ""},
    {"HEART", "HEART", ""},
    {"HE__SILENT__", "HE", ""},
    {"_HEARTBEAT_OK", "_", "silent;"},
    {"`HEARTBEAT_OK`", "`HEARTBEAT_OK`", ""},
    {"__SILENT__\nMEDIA:a", "", "media=a;"},
    {"```\nMEDIA:a\n[[reply_to:1]]\n__SILENT__\n```\nMEDIA:b",
     "```\nMEDIA:a\n[[reply_to:1]]\n__SILENT__\n```\n", "media=b;"},
    {"````md\n```\nMEDIA:a\n````\nMEDIA:b\n", "````md\n```\nMEDIA:a\n````\n", "media=b;"},
    {"~~~\n```\nMEDIA:a\n~~~ x\nMEDIA:b\n~~~\nMEDIA:c", "~~~\n```\nMEDIA:a\n~~~ x\nMEDIA:b\n~~~\n",
     "media=c;"},
    {"``` not a fence ```\nMEDIA:a", "``` not a fence ```\n", "media=a;"},
    {"`` x\nMEDIA:a", "`` x\n", "media=a;"},
    {"```open\nMEDIA:a", "```open\nMEDIA:a", ""},
    {"你好\nMEDIA:图.png\n再见", "你好\n再见", "media=图.png;"},
};

static void tell(const struct ch_directives *d, struct ch_buf *out) {
    if (d->reply_to.n)
        ch_buf_addf(out, "reply=%s;", ch_buf_str(&d->reply_to));
    if (d->reply_current)
        ch_buf_addf(out, "current;");
    if (d->voice)
        ch_buf_addf(out, "voice;");
    if (ch_directives_silent(d))
        ch_buf_addf(out, "silent;");
    const char *m = d->media.p;
    for (size_t i = 0; i < d->nmedia; i++, m += strlen(m) + 1)
        ch_buf_addf(out, "media=%s;", m);
}

static void test_every_split(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_sv in = ch_sv_str(cases[i].in);
        struct ch_directives d = {0};
        for (size_t piece = 1; piece <= in.n + 1; piece++) {
            CH_BUF_AUTO found = {0};
            ch_directives_clear(&d);
            for (size_t at = 0; at < in.n; at += piece)
                ch_directives_feed(&d, ch_sv(in.p + at, CH_MIN(piece, in.n - at)));
            ch_directives_end(&d);
            tell(&d, &found);
            assert_string_equal(ch_buf_str(&d.text), cases[i].text);
            assert_string_equal(ch_buf_str(&found), cases[i].found);
        }
        ch_directives_release(&d);
    }
}

/* What cannot be a directive any more is not held back. */
static void test_streams(void **state) {
    (void)state;
    static const struct {
        const char *in, *shown;
    } rows[] = {{"Hel", "Hel"},      {"ME", ""},   {"MEx", "MEx"},   {"[[rep", ""},
                {"[[x", "[[x"},      {"``", ""},   {"`a", "`a"},     {"__S", ""},
                {"__SILENT__ a", " a"}, {"a __S", "a "}, {"a\nM", "a\n"},   {"    M", "    M"}};
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct ch_directives d = {0};
        ch_directives_feed(&d, ch_sv_str(rows[i].in));
        assert_string_equal(ch_buf_str(&d.text), rows[i].shown);
        ch_directives_release(&d);
    }
}

static void feed_times(struct ch_directives *d, const char *piece, size_t n) {
    for (size_t i = 0; i < n; i++)
        ch_directives_feed(d, ch_sv_str(piece));
}

static void test_bounds(void **state) {
    (void)state;
    struct ch_directives d = {0};
    feed_times(&d, "MEDIA:a\n", CH_LIMIT_REPLY_MEDIA + 3);
    assert_int_equal(d.nmedia, CH_LIMIT_REPLY_MEDIA);
    assert_int_equal(d.refused, 3);
    ch_directives_clear(&d);
    ch_directives_feed(&d, CH_SV("MEDIA:"));
    feed_times(&d, "x", 3 * CH_LIMIT_PATH);
    assert_int_equal(d.text.n, 6 + 3 * CH_LIMIT_PATH); /* nothing is that long */
    assert_int_equal(d.nmedia, 0);
    ch_directives_clear(&d);
    feed_times(&d, "`", 100 * CH_KB);
    ch_directives_feed(&d, CH_SV("\nMEDIA:a\n"));
    assert_int_equal(d.nmedia, 0);
    assert_true(d.line.cap < 64 * CH_KB);
    ch_directives_release(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_split),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
