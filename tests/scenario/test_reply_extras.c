/* test_reply_extras.c -- events about a picture and about a tool of the vendor: a host ends
 * the run, or its session, from inside their callbacks. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/limits.h"
#include "chela/mailbox.h"
#include "chela/store.h"
#include "support/stage.h"

#define REPLY                                                                                   \
    "data: {\"candidates\":[{\"index\":0,\"content\":{\"role\":\"model\",\"parts\":["           \
    "{\"executableCode\":{\"language\":\"PYTHON\",\"code\":\"1\"}},"                            \
    "{\"codeExecutionResult\":{\"outcome\":\"OUTCOME_OK\",\"output\":\"1\"}},"                  \
    "{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"iVBORw0KGgo=\"}},"                  \
    "{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"iVBORw0KGgo=\"}},"                  \
    "{\"text\":\"done\"}]},\"finishReason\":\"STOP\"}],\"modelVersion\":\"fake-1\"}\n\n"

static const struct fake_reply replies[] = {{.body = REPLY}, {.body = REPLY}};
static char dir[] = "/tmp/chela-extras-XXXXXX";

static void cancel(struct stage *st) {
    chela_cancel(st->run, "enough");
}

static void leave(struct stage *st) {
    chela_session_close(CH_TAKE(st->session));
}

static void steer(struct stage *st) {
    assert_int_equal(chela_run_steer(st->run, "and now", 7), 0);
}

static const struct {
    enum chela_event_type at;
    void (*act)(struct stage *st);
    const char *verdict; /* NULL: the run has no end that is heard */
} cases[] = {
    /* the answer is complete when these events come, so a cancellation is too late */
    {CHELA_EV_SERVER_TOOL, cancel, "done/task_completed"},
    {CHELA_EV_MEDIA, cancel, "done/task_completed"},
    {CHELA_EV_SERVER_TOOL, leave, NULL},
    {CHELA_EV_MEDIA, leave, NULL},
    {CHELA_EV_MEDIA, steer, "done/task_completed"},
};

static void act_once(struct stage *st, const struct chela_event *ev) {
    size_t i = (size_t)st->arg;
    if (i >= CH_LEN(cases) || ev->type != cases[i].at)
        return;
    st->arg = CH_LEN(cases);
    cases[i].act(st);
}

static void empty_media(void) {
    char path[300];
    snprintf(path, sizeof(path), "%s/media", dir);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%s/media/%.200s", dir, e->d_name);
            unlink(path);
        }
    if (d)
        closedir(d);
    snprintf(path, sizeof(path), "%s/media", dir);
    rmdir(path);
}

static void test_callbacks(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct stage st;
        struct chela_agent_opts opts =
            CHELA_AGENT_OPTS(.model = "gemini/fake-1", .workspace = dir, .tools = "");
        STAGE_OPEN(&st, &opts, replies);
        st.arg = (long)i;
        st.on_event = act_once;
        stage_start(&st, "draw");
        if (cases[i].verdict) {
            stage_finish(&st);
            assert_string_equal(stage_verdict(&st), cases[i].verdict);
        } else {
            for (int n = 0; n < 1000 && st.session; n++)
                chela_runtime_poll(st.rt);
            assert_null(st.session);
        }
        assert_int_equal(st.arg, CH_LEN(cases)); /* the callback was called */
        stage_close(&st);
        empty_media();
    }
}

static void count_media(struct stage *st, const struct chela_event *ev) {
    if (ev->type != CHELA_EV_MEDIA)
        return;
    st->arg++;
    assert_int_equal(ev->made.bytes, 8);
}

/* Data that is not base64 is dropped behind the last file that is saved, too: a message with such
 * a block could not be read from a store. */
static void test_invalid_behind_the_limit(void **state) {
    CH_BUF_AUTO body = {0};
    (void)state;
    ch_buf_add_str(&body, "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"done\"}");
    for (int i = 0; i <= CH_LIMIT_REPLY_MEDIA; i++)
        ch_buf_addf(&body, ",{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"%s\"}}",
                    i < CH_LIMIT_REPLY_MEDIA ? "iVBORw0KGgo=" : "!!!");
    ch_buf_add_str(&body, "]},\"finishReason\":\"STOP\"}],\"modelVersion\":\"fake-1\"}\n\n");
    struct fake_reply reply[] = {{.body = ch_buf_str(&body)}};
    struct stage st;
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.model = "gemini/fake-1", .workspace = dir, .tools = "");
    STAGE_OPEN(&st, &opts, reply);
    st.on_event = count_media;
    stage_start(&st, "draw");
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_int_equal(st.arg, CH_LIMIT_REPLY_MEDIA);
    stage_close(&st);
    empty_media();
}

static size_t sent[4], nsent; /* files of each message that was sent */

static void on_send(chela_runtime *rt, const struct chela_outbound *m, void *user) {
    (void)user;
    assert_true(nsent < CH_LEN(sent));
    sent[nsent++] = m->nmedia;
    assert_int_equal(chela_outbox_receipt(rt, m->key, CHELA_RECEIPT_SENT, "", 0, NULL), 0);
}

static int no_call(chela_call *call, const struct chela_message *m, void *user) {
    (void)call, (void)m, (void)user;
    return 0;
}

static void follow_up(const struct chela_event *ev, void *user) {
    struct stage *st = user;
    if (ev->type == CHELA_EV_MEDIA && st->arg++ == 0)
        assert_int_equal(chela_run_follow_up(st->run, "thanks", 6), 0);
}

/* A file is sent with the answer that the model made it for, and not again with the next. */
static void test_files_are_sent_once(void **state) {
    static const struct fake_reply drawn[] = {
        {.body = REPLY},
        {.body = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"welcome\"}]},"
                 "\"finishReason\":\"STOP\"}],\"modelVersion\":\"fake-1\"}\n\n"}};
    struct chela_channel channel = CHELA_CHANNEL(.name = "wire", .send = no_call);
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.model = "gemini/fake-1", .workspace = dir, .tools = "");
    struct stage st;
    struct chela_run_opts run =
        CHELA_RUN_OPTS(.answer_to = "them", .on_event = follow_up, .user = &st);
    chela_store *store;
    (void)state;
    STAGE_OPEN(&st, &opts, drawn);
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    assert_int_equal(chela_runtime_store(st.rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    chela_session_close(st.session);
    assert_int_equal(chela_session_new(st.agent, "a", &st.session, NULL), 0);
    assert_int_equal(chela_session_wait(st.session, NULL), 0);
    assert_int_equal(chela_session_channel(st.session, &channel, NULL), 0);
    assert_int_equal(chela_outbox_channel(st.rt, "wire", on_send, NULL, NULL), 0);
    assert_int_equal(chela_run_start(st.session, "draw", 4, &run, &st.run, NULL), 0);
    for (int i = 0; i < 200; i++)
        chela_runtime_poll(st.rt);
    assert_int_equal(nsent, 2);
    assert_int_equal(sent[0], 2);
    assert_int_equal(sent[1], 0);
    stage_close(&st);
    chela_store_close(store);
    empty_media();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_callbacks),
                                       cmocka_unit_test(test_invalid_behind_the_limit),
                                       cmocka_unit_test(test_files_are_sent_once)};
    if (!mkdtemp(dir))
        return 1;
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(dir);
    return rc;
}
