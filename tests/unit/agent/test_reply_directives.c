/* test_reply_directives.c -- directives in a reply: text, answer, attachments, end of run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
/* after the headers it needs */
#include <cmocka.h>

#include "agent/context/reply_directives.h"
#include "agent/handle/run_outcome.h"
#include "base/mem.h"
#include "support/stage.h"

static char dir[] = "/tmp/chela-directives-XXXXXX"; /* has the file chart.png, the folder sub */
static struct ch_buf shown, warned; /* streamed text; warnings, each followed by ';' */

static void hear(struct stage *st, const struct chela_event *ev) {
    (void)st;
    if (ev->type == CHELA_EV_TEXT_DELTA)
        ch_buf_add(&shown, ev->delta.text.p, ev->delta.text.n);
    if (ev->type == CHELA_EV_WARNING)
        ch_buf_addf(&warned, "%.*s;", (int)ev->note.text.n, ev->note.text.p);
}

static int send_none(chela_call *call, const struct chela_message *m, void *user) {
    (void)m;
    (void)user;
    return chela_result_error(call, "permission_denied", "no");
}

/* A run that has made no model call yet. channel: the session has a channel. */
static void open_run(struct stage *st, bool channel, const char *message_id) {
    const struct chela_channel c = CHELA_CHANNEL(.name = "pigeon", .send = send_none);
    const struct chela_inbound in = CHELA_INBOUND(.channel = "pigeon", .message_id = message_id);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.workspace = dir, .tools = "read");
    stage_open(st, &opts, NULL, 0);
    st->on_event = hear;
    if (channel)
        assert_int_equal(chela_session_channel(st->session, &c, NULL), 0);
    stage_start_with(st, "hello", message_id ? &in : NULL);
    ch_buf_clear(&shown);
    ch_buf_clear(&warned);
}

/* Feeds a reply in pieces of n bytes, and ends the reply. */
static void reply_with(struct stage *st, const char *text, size_t n) {
    size_t len = strlen(text), begin = shown.n;
    ch_reply_directives_begin(st->run);
    for (size_t i = 0; i < len; i += n) {
        struct ch_sv piece = ch_sv(text + i, CH_MIN(n, len - i));
        struct chela_event ev = {.type = CHELA_EV_TEXT_DELTA,
                                 .delta = {.text = ch_str(piece), .so_far = ch_str(piece)}};
        bool show = ch_reply_directives_piece(st->run, &ev);
        assert_int_equal(show, ev.delta.text.n > 0);
        ch_buf_add(&shown, ev.delta.text.p, ev.delta.text.n);
        assert_int_equal(ev.delta.so_far.n, shown.n - begin);
        assert_memory_equal(ev.delta.so_far.p, ch_buf_str(&shown) + begin, shown.n - begin);
    }
    ch_run_outcome_text(st->run, ch_sv_str(text));
    ch_reply_directives_end(st->run);
}

/* RUN_END as "reply_to|media,media,|voice silent". */
static void tell(struct stage *st, size_t began, struct ch_buf *out) {
    struct chela_event end = {.type = CHELA_EV_RUN_END};
    ch_reply_directives_tell(st->run, began, &end);
    ch_buf_clear(out);
    ch_buf_addf(out, "%.*s|", (int)end.end.reply_to.n, end.end.reply_to.p);
    for (size_t i = 0; i < end.end.nmedia; i++)
        ch_buf_addf(out, "%.*s,", (int)end.end.media[i].n, end.end.media[i].p);
    ch_buf_addf(out, "|%s%s", end.end.voice ? "voice" : "", end.end.silent ? "silent" : "");
}

static void check_end(struct stage *st, size_t began, const char *want) {
    CH_BUF_AUTO got = {0};
    tell(st, began, &got);
    assert_string_equal(ch_buf_str(&got), want);
}

/* $: the workspace. */
static const struct {
    const char *name, *message_id, *text, *shown, *answer, *end, *warned;
} cases[] = {
    {"no directive", "om_1", "Hello.\n", "Hello.\n", "Hello.", "||", ""},
    {"blanks around an answer", NULL, "\n Hello \n\n", "\n Hello \n\n", "Hello", "||", ""},
    {"this message", "om_1", "[[reply_to_current]] Yes.", "Yes.", "Yes.", "om_1||", ""},
    {"this message without an id", NULL, "[[reply_to_current]] Yes.", "Yes.", "Yes.", "current||",
     ""},
    {"another message", "om_1", "[[reply_to:om_9]] Yes.", "Yes.", "Yes.", "om_9||", ""},
    {"the last one counts", "om_1", "[[reply_to:om_9]] [[reply_to_current]] Yes.", "Yes.", "Yes.",
     "om_1||", ""},
    {"a voice message", NULL, "MEDIA:https://x.example/a.ogg\n[[audio_as_voice]]", "", "",
     "|https://x.example/a.ogg,|voice", ""},
    {"silence", "om_1", "__SILENT__", "", "", "||silent", ""},
    {"silence and text", NULL, "Fine. __SILENT__", "Fine. ", "Fine.", "||", ""},
    {"in a fence", NULL, "```\nMEDIA:chart.png\n```\n", "```\nMEDIA:chart.png\n```\n",
     "```\nMEDIA:chart.png\n```", "||", ""},
    {"the end is held back", NULL, "Hi\nMEDIA", "Hi\nMEDIA", "Hi\nMEDIA", "||", ""},
    {"files in order", NULL, "MEDIA:http://x.example/b\nMEDIA:chart.png\n", "", "",
     "|http://x.example/b,chart.png,|", ""},
    {"a path with dots", NULL, "MEDIA:sub/../chart.png", "", "", "|chart.png,|", ""},
    {"a path that is absolute", NULL, "MEDIA:$/chart.png", "", "", "|chart.png,|", ""},
    {"outside", NULL, "MEDIA:../x\nHi", "Hi", "Hi", "||",
     "../x is not attached: it is outside of the workspace;"},
    {"a link to the outside", NULL, "MEDIA:link", "", "", "||",
     "link is not attached: it is outside of the workspace;"},
    {"a folder", NULL, "MEDIA:sub", "", "", "||", "sub is not attached: it is no file;"},
    {"no such file", NULL, "MEDIA:none\nMEDIA:chart.png", "", "", "|chart.png,|",
     "none is not attached: No such file or directory;"},
    {"another scheme is a path", NULL, "MEDIA:ftp://x.example/a", "", "", "||",
     "ftp://x.example/a is not attached: No such file or directory;"},
};

static void expand(const char *text, struct ch_buf *out) {
    for (; *text; text++)
        if (*text == '$')
            ch_buf_add_str(out, dir);
        else
            ch_buf_addc(out, *text);
}

static void check_case(size_t i, size_t piece) {
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO end = {0};
    struct stage st;
    open_run(&st, true, cases[i].message_id);
    expand(cases[i].text, &text);
    reply_with(&st, ch_buf_str(&text), piece);
    tell(&st, st.session->transcript.n, &end);
    if (strcmp(ch_buf_str(&shown), cases[i].shown) != 0)
        fail_msg("%s, pieces of %zu: shown: %s", cases[i].name, piece, ch_buf_str(&shown));
    if (strcmp(ch_buf_str(&st.run->text), cases[i].answer) != 0)
        fail_msg("%s, pieces of %zu: answer: %s", cases[i].name, piece, ch_buf_str(&st.run->text));
    if (strcmp(ch_buf_str(&end), cases[i].end) != 0)
        fail_msg("%s, pieces of %zu: end: %s", cases[i].name, piece, ch_buf_str(&end));
    if (strcmp(ch_buf_str(&warned), cases[i].warned) != 0)
        fail_msg("%s, pieces of %zu: warned: %s", cases[i].name, piece, ch_buf_str(&warned));
    stage_close(&st);
}

static void test_cases(void **state) {
    static const size_t pieces[] = {1, 7, SIZE_MAX / 2};
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++)
        for (size_t k = 0; k < CH_LEN(pieces); k++)
            check_case(i, pieces[k]);
}

/* Without a channel directives are text. */
static void test_no_channel(void **state) {
    static const char text[] = "[[audio_as_voice]]\nMEDIA:chart.png\n__SILENT__";
    struct chela_event ev = {.delta = {.text = ch_str(ch_sv_str(text))}};
    struct stage st;
    (void)state;
    open_run(&st, false, NULL);
    ch_reply_directives_begin(st.run);
    assert_true(ch_reply_directives_piece(st.run, &ev));
    assert_ptr_equal(ev.delta.text.p, text);
    assert_int_equal(ev.delta.text.n, strlen(text));
    ch_run_outcome_text(st.run, ch_sv_str(text));
    ch_reply_directives_end(st.run);
    assert_string_equal(ch_buf_str(&st.run->text), text);
    check_end(&st, st.session->transcript.n, "||");
    assert_int_equal(warned.n, 0);
    stage_close(&st);
}

/* The directives of a reply count until a later reply of the run has text. */
static void test_later_reply(void **state) {
    struct stage st;
    size_t began;
    (void)state;
    open_run(&st, true, "om_1");
    began = st.session->transcript.n;
    check_end(&st, began, "||");
    reply_with(&st, "[[reply_to_current]] [[audio_as_voice]]\nMEDIA:chart.png", 100);
    check_end(&st, began, "om_1|chart.png,|voice");
    ch_reply_directives_begin(st.run); /* a reply of tool calls alone */
    check_end(&st, began, "om_1|chart.png,|voice");
    reply_with(&st, "[[reply_to:om_2]] Done.", 100);
    assert_string_equal(ch_buf_str(&st.run->text), "Done.");
    check_end(&st, began, "om_2||");
    ch_reply_directives_release(st.run);
    check_end(&st, began, "||");
    ch_reply_directives_release(st.run);
    stage_close(&st);
}

static void test_too_many(void **state) {
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO want = {0};
    struct stage st;
    (void)state;
    ch_buf_add_str(&want, "|");
    for (int i = 0; i < CH_LIMIT_REPLY_MEDIA + 2; i++) {
        ch_buf_addf(&text, "MEDIA:https://x.example/%d\n", i);
        if (i < CH_LIMIT_REPLY_MEDIA)
            ch_buf_addf(&want, "https://x.example/%d,", i);
    }
    ch_buf_add_str(&want, "|");
    open_run(&st, true, NULL);
    reply_with(&st, ch_buf_str(&text), 64);
    check_end(&st, st.session->transcript.n, ch_buf_str(&want));
    assert_string_equal(ch_buf_str(&warned), "2 more files are not attached: a reply takes 20;");
    stage_close(&st);
}

static void add_image(struct stage *st, const char *path) {
    struct ch_block b = {.type = CH_BLOCK_IMAGE,
                         .text = CH_SV("AAAA"),
                         .id = ch_sv_str(path),
                         .name = CH_SV("image/png")};
    struct ch_msg *m =
        ch_msg_by(CH_MSG_ASSISTANT, &b, 1, &(struct ch_msg_author){.model = CH_SV("fake-1")}, 1);
    assert_int_equal(ch_transcript_add(&st->session->transcript, m), 0);
}

/* Files that the model made since `began` follow the attachments. */
static void test_made_files(void **state) {
    struct stage st;
    size_t n;
    (void)state;
    for (int channel = 0; channel < 2; channel++) {
        open_run(&st, channel, NULL);
        n = st.session->transcript.n;
        add_image(&st, "media/1.png");
        add_image(&st, "media/2.png");
        check_end(&st, n, "|media/1.png,media/2.png,|");
        reply_with(&st, "MEDIA:chart.png", SIZE_MAX / 2);
        check_end(&st, n + 1, channel ? "|chart.png,media/2.png,|" : "|media/2.png,|");
        check_end(&st, n + 2, channel ? "|chart.png,|" : "||");
        stage_close(&st);
    }
}

static int make_files(void **state) {
    (void)state;
    if (!mkdtemp(dir) || chdir(dir) < 0 || mkdir("sub", 0700) < 0 || symlink("/etc", "link") < 0)
        return -1;
    FILE *f = fopen("chart.png", "w");
    return f ? fclose(f) : -1;
}

static int remove_files(void **state) {
    (void)state;
    ch_buf_release(&shown);
    ch_buf_release(&warned);
    return unlink("chart.png") | unlink("link") | rmdir("sub") | chdir("/") | rmdir(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),        cmocka_unit_test(test_no_channel),
        cmocka_unit_test(test_later_reply),  cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_made_files),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
