/* test_tool_embedding.c -- tools chosen with an embedding model: what it is asked, what
 * comes of it, and that a run never depends on it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
/* after the headers it needs */
#include <cmocka.h>

#include "agent/context/tool_embedding.h"
#include "base/arena.h"
#include "json/json.h"
#include "support/stage.h"

#define TOOLS 30
#define LIKE 17 /* the tool that means the same as the input, with no word in common */

static const struct chela_agent_opts opts =
    CHELA_AGENT_OPTS(.toolset = &(struct chela_toolset_opts)
                                    CHELA_TOOLSET_OPTS(.selection = CHELA_SELECTION_TOPK,
                                                       .selection_size = 2,
                                                       .embedding = "ollama/nomic-embed-text"));

static const struct fake_reply says[] = {{.body = A_SAY("one")}, {.body = A_SAY("two")}};

static char warning[256];
static struct chela_usage used; /* by the last run */

static void keep_warning(struct stage *st, const struct chela_event *ev) {
    (void)st;
    if (ev->type == CHELA_EV_WARNING)
        snprintf(warning, sizeof(warning), "%.*s", (int)ev->note.text.n, ev->note.text.p);
    if (ev->type == CHELA_EV_RUN_END)
        used = ev->end.usage;
}

/* --- the observer */

static struct {
    int open; /* requests that have not ended */
    int code; /* of the last one; 0: it did not fail */
    char run[24];
} watched;

static void watch_begin(struct ch_embed_observer *w, const struct ch_embed_opts *o,
                        struct ch_embed_record *r) {
    (void)w;
    (void)r;
    watched.open++;
    snprintf(watched.run, sizeof(watched.run), "%s", o->run);
    assert_null(o->call);
}

static void watch_end(struct ch_embed_observer *w, const struct ch_embed_record *r) {
    (void)w;
    watched.open--;
    watched.code = r->err ? r->err->code : 0;
    assert_true(ch_sv_is(r->model, "nomic-embed-text"));
}

static void watch(struct stage *st) {
    static struct ch_embed_observer observer = {watch_begin, watch_end};
    memset(&watched, 0, sizeof(watched));
    st->rt->embed_observer = &observer;
}

static void check_watched(const struct stage *st, int code) {
    assert_int_equal(watched.open, 0);
    assert_int_equal(watched.code, code);
    assert_string_equal(watched.run, st->run->id);
}

static void open_both(struct stage *st, struct fake_model *embedder,
                      const struct fake_reply *replies, size_t n) {
    warning[0] = '\0';
    STAGE_OPEN(st, &opts, says);
    st->on_event = keep_warning;
    stage_tool(st, "bake_bread", 0);
    for (int i = 1; i < TOOLS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "lever%d", i);
        stage_tool(st, name, 0);
    }
    fake_model_init(embedder, st->rt->loop, replies, n);
    st->agent->embedding->embedder.opts.transport = &embedder->transport;
}

static void close_both(struct stage *st, struct fake_model *embedder) {
    stage_check_transcript(st);
    stage_close(st);
    fake_model_release(embedder);
}

/* Vectors for `n` texts: the first, and the one at `like`, point the same way.
 * Their lengths differ, which must not count. */
static void write_vectors(struct ch_buf *out, int n, int like) {
    ch_buf_add_str(out, "{\"object\":\"list\",\"data\":[");
    for (int i = n - 1; i >= 0; i--) /* told by index, not by place */
        ch_buf_addf(out, "{\"index\":%d,\"embedding\":%s}%s", i,
                    i == 0 || i == like ? "[0.25,0]" : "[1e-3,4]", i ? "," : "]");
    ch_buf_addf(out, ",\"usage\":{\"prompt_tokens\":%d,\"total_tokens\":%d}}", 1000 * n, 1000 * n);
}

static void check_described(const struct stage *st, size_t request, const char *want) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO got = {0};
    const struct ch_json *body;
    assert_int_equal(ch_json_parse(&arena, ch_buf_sv(&st->model.requests[request]), CH_JSON_STRICT,
                                   &body, NULL, NULL),
                     0);
    for (CH_JSON_EACH(tool, ch_json_get(body, "tools")))
        ch_buf_addf(&got, "%.*s ", CH_SV_FMT(ch_json_get_str(tool, "name")));
    assert_string_equal(ch_buf_str(&got), want);
}

static size_t count_texts(const struct fake_model *m, size_t request) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *body;
    assert_int_equal(ch_json_parse(&arena, ch_buf_sv(&m->requests[request]), CH_JSON_STRICT, &body,
                                   NULL, NULL),
                     0);
    assert_true(ch_sv_is(ch_json_get_str(body, "model"), "nomic-embed-text"));
    return ch_json_get(body, "input")->n;
}

/* Words find one tool, meaning another; the tools are sent once. */
static void test_by_both(void **state) {
    (void)state;
    CH_BUF_AUTO first = {0}, second = {0};
    write_vectors(&first, TOOLS + 1, LIKE + 1);
    write_vectors(&second, 1, 0);
    const struct fake_reply replies[] = {
        {.body = first.p, .status = 200, .content_type = "application/json"},
        {.body = second.p, .status = 200, .content_type = "application/json"}};
    struct fake_model embedder;
    struct stage st;
    open_both(&st, &embedder, replies, CH_LEN(replies));
    stage_play(&st, "bake bread");
    check_described(&st, 0, "find_tools call_tool bake_bread lever17 ");
    assert_int_equal(count_texts(&embedder, 0), TOOLS + 1);
    assert_int_equal(used.input / 1000, TOOLS + 1); /* what the model read is less */
    stage_play(&st, "and something else");
    assert_int_equal(embedder.nrequests, 1); /* the first input decided */
    assert_string_equal(warning, "");
    close_both(&st, &embedder);
}

/* Whatever the service does, words decide, and a warning says why. */
static void test_failures(void **state) {
    (void)state;
    static const struct {
        struct fake_reply reply;
        const char *why;
        int code;
    } cases[] = {
        {{.body = "{\"error\":{\"message\":\"no\"}}", .status = 500},
         "HTTP status 500",
         CHELA_EPROTO},
        {{.body = "<html>", .status = 200}, "it is no JSON", CHELA_EPROTO},
        {{.body = "{\"data\":[]}", .status = 200}, "not one vector for each text", CHELA_EPROTO},
        {{.fail = "reset"}, "reset", CHELA_ENET},
        {{.hang = true}, "no answer in time", CHELA_ETIMEOUT},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct fake_model embedder;
        struct stage st;
        open_both(&st, &embedder, &cases[i].reply, 1);
        watch(&st);
        stage_play(&st, "bake bread");
        check_watched(&st, cases[i].code);
        check_described(&st, 0, "find_tools call_tool bake_bread ");
        if (!strstr(warning, cases[i].why) || !strstr(warning, "ollama/nomic-embed-text"))
            fail_msg("case %zu: '%s'", i, warning);
        assert_string_equal(stage_verdict(&st), "done/task_completed");
        stage_play(&st, "bake it"); /* and it is left alone for a while */
        assert_int_equal(embedder.nrequests, 1);
        assert_int_equal(embedder.open, 0);
        close_both(&st, &embedder);
    }
}

static void test_cancelled(void **state) {
    (void)state;
    static const struct fake_reply hangs[] = {{.hang = true}};
    struct fake_model embedder;
    struct stage st;
    open_both(&st, &embedder, hangs, 1);
    watch(&st);
    stage_start(&st, "bake bread");
    for (int i = 0; i < 20; i++)
        ch_loop_tick(st.rt->loop);
    assert_int_equal(embedder.open, 1);
    chela_cancel(st.run, NULL);
    stage_finish(&st);
    check_watched(&st, CHELA_ECANCELED);
    assert_int_equal(embedder.open, 0);
    assert_int_equal(st.model.nrequests, 0);
    close_both(&st, &embedder);
}

/* Nothing is sent where nothing is chosen. */
static void test_few_tools(void **state) {
    (void)state;
    struct chela_toolset_opts toolset =
        CHELA_TOOLSET_OPTS(.embedding = "ollama/nomic-embed-text");
    struct chela_agent_opts few = CHELA_AGENT_OPTS(.toolset = &toolset);
    struct fake_model embedder;
    struct stage st;
    STAGE_OPEN(&st, &few, says);
    stage_tool(&st, "bake_bread", 0);
    fake_model_init(&embedder, st.rt->loop, NULL, 0);
    st.agent->embedding->embedder.opts.transport = &embedder.transport;
    stage_play(&st, "bake bread");
    assert_int_equal(embedder.nrequests, 0);
    close_both(&st, &embedder);
}

/* --- notes ------------------------------------------------------------------------------ */

static void open_notes(struct stage *st, struct fake_model *embedder, char *dir,
                       const struct fake_reply *replies, size_t n) {
    static const char *const settings[] = {"memory.enabled=true", "memory.inject=200", NULL};
    CH_BUF_AUTO path = {0};
    assert_non_null(mkdtemp(dir));
    struct chela_agent_opts with = CHELA_AGENT_OPTS(
        .workspace = dir,
        .toolset = &(struct chela_toolset_opts)CHELA_TOOLSET_OPTS(
            .settings = settings, .embedding = "ollama/nomic-embed-text"),
        .prompt = &(struct chela_prompt_opts)CHELA_PROMPT_OPTS(.style = CHELA_PROMPT_FULL));
    ch_buf_addf(&path, "%s/MEMORY.md", dir);
    FILE *f = fopen(ch_buf_str(&path), "w");
    fputs("Ann takes Darjeeling.\n\nBob plays chess.\n", f);
    fclose(f);
    warning[0] = '\0';
    STAGE_OPEN(st, &with, says);
    st->on_event = keep_warning;
    fake_model_init(embedder, st->rt->loop, replies, n);
    st->agent->embedding->embedder.opts.transport = &embedder->transport;
    st->agent->embedding->embedder.cache = NULL;
}

static void close_notes(struct stage *st, struct fake_model *embedder, const char *dir) {
    CH_BUF_AUTO path = {0};
    close_both(st, embedder);
    ch_buf_addf(&path, "%s/MEMORY.md", dir);
    remove(ch_buf_str(&path));
    remove(dir);
}

/* Told unasked, without a word in common. */
static void test_notes(void **state) {
    (void)state;
    char dir[] = "/tmp/chela-meaning-XXXXXX";
    CH_BUF_AUTO vectors = {0};
    write_vectors(&vectors, 3, 1);
    const struct fake_reply reply = {
        .body = vectors.p, .status = 200, .content_type = "application/json"};
    struct fake_model embedder;
    struct stage st;
    open_notes(&st, &embedder, dir, &reply, 1);
    watch(&st);
    stage_play(&st, "what does she like to drink?");
    check_watched(&st, 0);
    assert_int_equal(count_texts(&embedder, 0), 3);
    const char *sent = ch_buf_str(&st.model.requests[0]);
    assert_non_null(strstr(sent, "[MEMORY.md:1]\\nAnn takes Darjeeling."));
    assert_null(strstr(sent, "Bob plays chess"));
    assert_string_equal(warning, "");
    close_notes(&st, &embedder, dir);
}

/* The run goes on, by words, and says why. */
static void test_notes_in_vain(void **state) {
    (void)state;
    static const struct {
        struct fake_reply reply;
        const char *why;
        int code;
    } cases[] = {
        {{.body = "<html>", .status = 200},
         "it is no JSON; notes are found by words alone",
         CHELA_EPROTO},
        {{.hang = true}, "no answer in time; notes are found by words alone", CHELA_ETIMEOUT},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        char dir[] = "/tmp/chela-meaning-XXXXXX";
        struct fake_model embedder;
        struct stage st;
        open_notes(&st, &embedder, dir, &cases[i].reply, 1);
        watch(&st);
        stage_play(&st, "who plays chess?");
        check_watched(&st, cases[i].code);
        assert_non_null(strstr(ch_buf_str(&st.model.requests[0]), "[MEMORY.md:3]"));
        assert_string_equal(stage_verdict(&st), "done/task_completed");
        if (!strstr(warning, cases[i].why))
            fail_msg("case %zu: '%s'", i, warning);
        stage_play(&st, "and now?");
        assert_int_equal(embedder.nrequests, 1);
        assert_int_equal(embedder.open, 0);
        close_notes(&st, &embedder, dir);
    }
}

static void test_notes_cancelled(void **state) {
    (void)state;
    static const struct fake_reply hangs[] = {{.hang = true}};
    char dir[] = "/tmp/chela-meaning-XXXXXX";
    struct fake_model embedder;
    struct stage st;
    open_notes(&st, &embedder, dir, hangs, 1);
    stage_start(&st, "who plays chess?");
    bool never = false;
    while (embedder.open == 0) /* notes are read by a thread first */
        ch_loop_run(st.rt->loop, &never);
    chela_cancel(st.run, NULL);
    stage_finish(&st);
    assert_int_equal(embedder.open, 0);
    assert_int_equal(st.model.nrequests, 0);
    close_notes(&st, &embedder, dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_both),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_notes_in_vain),
        cmocka_unit_test(test_notes_cancelled),
        cmocka_unit_test(test_few_tools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
