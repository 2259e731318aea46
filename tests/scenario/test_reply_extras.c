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

static size_t sent[8], nsent; /* files of each message that was sent */

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

#define SAYS(text)                                                                               \
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"" text "\"}]},"                \
    "\"finishReason\":\"STOP\"}],\"modelVersion\":\"fake-1\"}\n\n"

/* A stage whose answers go to a channel. */
static void open_life(struct stage *st, chela_store *store, const struct fake_reply *drawn,
                      size_t n) {
    struct chela_channel channel = CHELA_CHANNEL(.name = "wire", .send = no_call);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .model = "gemini/fake-1", .workspace = dir, .tools = "",
        .compaction = &(struct chela_compaction_opts)CHELA_COMPACTION_OPTS(
            .mode = CHELA_COMPACTION_RETAIN));
    nsent = 0;
    stage_open(st, &opts, drawn, n);
    assert_int_equal(chela_runtime_store(st->rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    chela_session_close(st->session);
    assert_int_equal(chela_session_new(st->agent, "a", &st->session, NULL), 0);
    assert_int_equal(chela_session_wait(st->session, NULL), 0);
    assert_int_equal(chela_session_channel(st->session, &channel, NULL), 0);
    assert_int_equal(chela_outbox_channel(st->rt, "wire", on_send, NULL, NULL), 0);
}

/* The same; the store is the caller's. */
static chela_store *open_channel(struct stage *st, const struct fake_reply *drawn, size_t n) {
    chela_store *store;
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    open_life(st, store, drawn, n);
    return store;
}

static void play(struct stage *st, const char *text) {
    struct chela_run_opts run =
        CHELA_RUN_OPTS(.answer_to = "them", .on_event = follow_up, .user = st);
    chela_run_free(CH_TAKE(st->run));
    assert_int_equal(chela_run_start(st->session, text, strlen(text), &run, &st->run, NULL), 0);
    for (int i = 0; i < 200; i++)
        chela_runtime_poll(st->rt);
    assert_int_equal(chela_run_status(st->run), CHELA_STATUS_DONE);
}

/* A file is sent with the answer that the model made it for, and not again with the next. */
static void test_files_are_sent_once(void **state) {
    static const struct fake_reply drawn[] = {{.body = REPLY}, {.body = SAYS("welcome")}};
    struct stage st;
    (void)state;
    chela_store *store = open_channel(&st, drawn, CH_LEN(drawn));
    play(&st, "draw");
    assert_int_equal(nsent, 2);
    assert_int_equal(sent[0], 2);
    assert_int_equal(sent[1], 0);
    stage_close(&st);
    chela_store_close(store);
    empty_media();
}

static void follow_up_and_die(const struct chela_event *ev, void *user) {
    struct stage *st = user;
    follow_up(ev, user);
    if (ev->type == CHELA_EV_FOLLOW_UP)
        chela_run_leave(st->run);
}

/* Nor by the process that goes on with the run. */
static void test_files_are_sent_once_after_a_crash(void **state) {
    static const struct fake_reply drawn[] = {{.body = REPLY}, {.hang = true}};
    static const struct fake_reply last = {.body = SAYS("welcome")};
    struct stage st;
    (void)state;
    chela_store *store = open_channel(&st, drawn, CH_LEN(drawn));
    struct chela_run_opts run =
        CHELA_RUN_OPTS(.answer_to = "them", .on_event = follow_up_and_die, .user = &st);
    assert_int_equal(chela_run_start(st.session, "draw", 4, &run, &st.run, NULL), 0);
    for (int i = 0; i < 200; i++)
        chela_runtime_poll(st.rt);
    assert_int_equal(chela_run_reason(st.run), CHELA_REASON_INTERRUPTED);
    assert_int_equal(nsent, 1);
    assert_int_equal(sent[0], 2);
    stage_close(&st);

    open_life(&st, store, &last, 1);
    run = (struct chela_run_opts)CHELA_RUN_OPTS(.user = NULL);
    assert_int_equal(chela_run_resume(st.session, &run, &st.run, NULL), 0);
    for (int i = 0; i < 200; i++)
        chela_runtime_poll(st.rt);
    assert_int_equal(chela_run_status(st.run), CHELA_STATUS_DONE);
    assert_int_equal(nsent, 1);
    assert_int_equal(sent[0], 0);
    stage_close(&st);
    chela_store_close(store);
    empty_media();
}

/* A file is sent although a compaction of the run has shortened the conversation. */
static void test_files_after_a_compaction(void **state) {
    static const struct fake_reply ok = {.body = SAYS("ok")};
    const struct fake_reply drawn[] = {
        ok, ok, ok, ok, ok, ok, ok, ok,
        {.status = 400,
         .body = "{\"error\":{\"code\":400,\"message\":\"The input token count (9) exceeds the "
                 "maximum number of tokens allowed (8).\",\"status\":\"INVALID_ARGUMENT\"}}"},
        {.body = REPLY}};
    struct stage st;
    CH_BUF_AUTO words = {0};
    (void)state;
    chela_store *store = open_channel(&st, drawn, CH_LEN(drawn));
    for (int i = 0; i < 500; i++)
        ch_buf_add_str(&words, "many words ");
    st.arg = 1; /* no follow-up */
    for (int i = 0; i < 8; i++)
        play(&st, ch_buf_str(&words));
    nsent = 0;
    play(&st, "draw");
    assert_true(st.session->transcript.n < 16);
    assert_int_equal(nsent, 1);
    assert_int_equal(sent[0], 2);
    stage_close(&st);
    chela_store_close(store);
    empty_media();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_callbacks),
                                       cmocka_unit_test(test_invalid_behind_the_limit),
                                       cmocka_unit_test(test_files_are_sent_once),
                                       cmocka_unit_test(test_files_are_sent_once_after_a_crash),
                                       cmocka_unit_test(test_files_after_a_compaction)};
    if (!mkdtemp(dir))
        return 1;
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(dir);
    return rc;
}
