/* test_relief.c -- long conversations in small contexts: what is sent stays
 * within bounds and valid, and what matters stays in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent/context/context_budget.h"
#include "model/provider/target.h"
#include "agent/run/driver.h"
#include "json/json.h"
#include "prompt/summary_carryover.h"
#include "prompt/tokens.h"
#include "store/store.h"
#include "support/stage.h"
#include "support/textfile.h"

#define WINDOW 16384
#define SUMMARISER "You write the memory of a conversation"

/* --- a model that looks at what it is sent --------------------------------------------- */

struct talk {
    size_t window;             /* requests must fit; 0: any will do */
    const char *facts[8];      /* that every request must hold... */
    bool planted;              /* ...from now on */
    unsigned requests, summaries, refused;
    size_t largest, overflow;  /* overflow: a request of more bytes is refused */
    const char *const *says;   /* what the summariser says, in turn; NULL: bad things */
    size_t nsays;
    unsigned calls;            /* tool calls to make before an answer */
    struct ch_buf last, asked; /* the last request, the last one to the summariser */
    struct ch_buf reply_text;
    struct fake_reply reply;
};

static void wrong(const struct talk *t, const char *what, struct ch_sv body) {
    fail_msg("request %u: %s: %.*s", t->requests, what, (int)CH_MIN(body.n, 20000u), body.p);
}

/* Results follow their calls at once, and nothing is a result without one. */
static void check_pairs(const struct talk *t, struct ch_sv body) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct ch_sv open = CH_SV("");
    if (ch_json_parse(&arena, body, CH_JSON_STRICT, &v, NULL, NULL) < 0)
        wrong(t, "no JSON", body);
    for (CH_JSON_EACH(m, ch_json_get(v, "messages"))) {
        bool first = true;
        for (CH_JSON_EACH(b, ch_json_get(m, "content"))) {
            struct ch_sv type = ch_json_get_str(b, "type");
            bool result = ch_sv_is(type, "tool_result");
            if (result != (first && open.n > 0) ||
                (result && !ch_sv_eq(open, ch_json_get_str(b, "tool_use_id"))))
                wrong(t, "calls and results do not match", body);
            if (result)
                open = CH_SV("");
            if (ch_sv_is(type, "tool_use"))
                open = ch_json_get_str(b, "id");
            first = ch_sv_is(type, "tool_use");
        }
    }
    if (open.n)
        wrong(t, "a call has no result", body);
}

/* As a service would: texts as they read, not as they are escaped. */
static size_t count(struct ch_sv body) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    size_t n = 0;
    ch_json_parse(&arena, body, CH_JSON_STRICT, &v, NULL, NULL);
    for (CH_JSON_EACH(m, ch_json_get(v, "messages")))
        for (CH_JSON_EACH(b, ch_json_get(m, "content")))
            n += 10 + ch_tokens(ch_json_get_str(b, "text")) +
                 ch_tokens(ch_json_get_str(b, "content"));
    return n + 100;
}

static void check_request(struct talk *t, struct ch_sv body) {
    size_t tokens = count(body);
    t->largest = CH_MAX(t->largest, tokens);
    if (t->window && tokens > t->window * 85 / 100)
        wrong(t, "too large", ch_sv(body.p, 200));
    check_pairs(t, body);
    for (size_t i = 0; t->planted && i < CH_LEN(t->facts) && t->facts[i]; i++)
        if (!memmem(body.p, body.n, t->facts[i], strlen(t->facts[i])))
            wrong(t, t->facts[i], body);
}

static const struct fake_reply *say(struct talk *t, const char *text) {
    ch_buf_clear(&t->reply_text);
    ch_buf_add_str(&t->reply_text, A_BEGIN A_BLOCK(0, "{\"type\":\"text\",\"text\":\"\"}"));
    ch_buf_addf(&t->reply_text,
                "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
                "\"delta\":{\"type\":\"text_delta\",\"text\":\"%s\"}}\n\n",
                text);
    ch_buf_add_str(&t->reply_text, A_CLOSE(0) A_END("end_turn"));
    t->reply = (struct fake_reply){.body = ch_buf_str(&t->reply_text)};
    return &t->reply;
}

static const struct fake_reply *use(struct talk *t) {
    ch_buf_clear(&t->reply_text);
    ch_buf_addf(&t->reply_text,
                A_BEGIN
                "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"
                "\"content_block\":{\"type\":\"tool_use\",\"id\":\"call_%u\",\"name\":\"look\","
                "\"input\":{}}}\n\n" A_CLOSE(0) A_END("tool_use"),
                t->requests);
    t->reply = (struct fake_reply){.body = ch_buf_str(&t->reply_text)};
    return &t->reply;
}

static const struct fake_reply *fail_with(struct talk *t, int status, const char *type,
                                          const char *message) {
    ch_buf_clear(&t->reply_text);
    ch_buf_addf(&t->reply_text,
                "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":\"%s\"}}", type,
                message);
    t->reply = (struct fake_reply){.status = status, .body = ch_buf_str(&t->reply_text)};
    return &t->reply;
}

/* Nothing, chatter, inventions, no service: whatever a summary must not be. */
static const struct fake_reply *say_something_bad(struct talk *t) {
    static const char invented[] =
        "## Goal\\nship /srv/fake/one.md\\n## Decisions\\nuse host db-77.example.net\\n"
        "## Facts and identifiers\\nK-0000-AA, /tmp/other.txt, 98765\\n## Done\\nall\\n"
        "## Open tasks\\nnone";
    switch (t->summaries % 4) {
    case 0:
        return say(t, "Sure! It was a nice conversation about many things.");
    case 1:
        return say(t, " ");
    case 2:
        return say(t, invented);
    default:
        return fail_with(t, 500, "api_error", "out of order");
    }
}

static const struct fake_reply *summarise(struct talk *t, struct ch_sv body) {
    ch_buf_clear(&t->asked);
    ch_buf_add_sv(&t->asked, body);
    unsigned n = t->summaries++;
    return t->says && n < t->nsays ? say(t, t->says[n]) : say_something_bad(t);
}

static bool ends_with_result(struct ch_sv body) {
    const char *last = NULL;
    for (const char *p = body.p, *end = body.p + body.n;
         (p = memmem(p, (size_t)(end - p), "\"role\":", 7)); p++)
        last = p;
    return last && memmem(last, (size_t)(body.p + body.n - last), "tool_result", 11);
}

static const struct fake_reply *answer(struct ch_sv body, void *user) {
    struct talk *t = user;
    if (memmem(body.p, body.n, SUMMARISER, sizeof(SUMMARISER) - 1))
        return summarise(t, body);
    t->requests++;
    if (t->overflow && body.n > t->overflow) {
        t->refused++;
        return fail_with(t, 400, "invalid_request_error", "prompt is too long: 9 > 8 maximum");
    }
    check_request(t, body);
    ch_buf_clear(&t->last);
    ch_buf_add_sv(&t->last, body);
    bool after_result = ends_with_result(body);
    if (t->calls > 1 && t->requests % t->calls)
        return use(t);
    return t->calls && !after_result ? use(t) : say(t, "Done, what is next?");
}

/* --- the stage --------------------------------------------------------------------------- */

static int rows(chela_call *call, void *user) {
    CH_BUF_AUTO text = {0};
    unsigned *n = user;
    for (int i = 0; i < 40; i++)
        ch_buf_addf(&text, "row %d of order ORD-%u costs %u.50\n", i, 20000 + *n, 100 + i);
    ++*n;
    chela_result_text(call, ch_buf_str(&text), text.n);
    return 0;
}

static void open_stage(struct stage *st, struct talk *t, const struct chela_agent_opts *opts,
                       int64_t window) {
    static unsigned made;
    stage_open(st, opts, NULL, 0);
    st->agent->targets[0]->window = window;
    st->model.choose = answer;
    st->model.user = t;
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "look", .description = "Shows an order.",
                        .schema = "{\"type\":\"object\"}", .fn = rows, .user = &made,
                        .effect = CHELA_EFFECT_READ, .flags = CHELA_TOOL_ON_LOOP);
    assert_int_equal(chela_agent_add_tool(st->agent, &tool, NULL), 0);
}

static void close_stage(struct stage *st, struct talk *t) {
    stage_close(st);
    ch_buf_release(&t->last);
    ch_buf_release(&t->asked);
    ch_buf_release(&t->reply_text);
}

struct told {
    unsigned events;
    char last[16];
    size_t before, after;
};
static struct told told;

static void on_compaction(struct stage *st, const struct chela_event *ev) {
    (void)st;
    if (ev->type != CHELA_EV_COMPACTION)
        return;
    told.events++;
    snprintf(told.last, sizeof(told.last), "%s", chela_compacted_name(ev->compaction.strategy));
    told.before = ev->compaction.tokens_before;
    told.after = ev->compaction.tokens_after;
    assert_true(told.after < told.before);
}

static void reset(struct stage *st) {
    told = (struct told){0};
    st->on_event = on_compaction;
}

static void play(struct stage *st, const char *text) {
    stage_play(st, text);
    if (strcmp(stage_verdict(st), "done/task_completed") != 0)
        fail_msg("%s: %s", stage_verdict(st), chela_run_error(st->run));
}

static void compact(struct stage *st, const char *focus, const char *verdict) {
    struct chela_error err = {0};
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = NULL);
    chela_run *run;
    if (chela_session_compact(st->session, focus, &opts, &run, &err) < 0)
        fail_msg("%s", err.message);
    chela_run_free(st->run);
    st->run = run;
    stage_finish(st);
    assert_string_equal(stage_verdict(st), verdict);
}

/* A journal with rewrites in it is decided again as it was. */
static void count_difference(const struct chela_replay_step *step, void *user) {
    unsigned *n = user;
    n[0]++;
    n[1] += !step->same;
}

/* --- three hundred turns ------------------------------------------------------------------- */

static void reopen(struct stage *st) {
    char *before = chela_session_messages_json(st->session);
    chela_session_close(st->session);
    assert_int_equal(chela_session_new(st->agent, "long", &st->session, NULL), 0);
    assert_int_equal(chela_session_wait(st->session, NULL), 0);
    char *after = chela_session_messages_json(st->session);
    assert_string_equal(before, after);
    chela_free(before);
    chela_free(after);
}

/* Facts of turn 3 are in every request up to turn 300, though no summary is ever
 * good; the session is closed and read again from its journal now and then. */
static void test_three_hundred_turns(void **state) {
    struct stage st;
    struct talk t = {.window = WINDOW, .calls = 1,
                     .facts = {"K-7731-XQ", "/srv/reports/q3.md", "Biscuit", "周四晚上"}};
    chela_store *store = NULL;
    char text[256];
    (void)state;
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    open_stage(&st, &t, NULL, WINDOW);
    assert_int_equal(chela_runtime_store(st.rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    chela_session_close(st.session);
    assert_int_equal(chela_session_new(st.agent, "long", &st.session, NULL), 0);
    reset(&st);
    for (int turn = 1; turn <= 300; turn++) {
        snprintf(text, sizeof(text), "Please look at order ORD-%d and tell me if it is fine.",
                 10000 + turn);
        if (turn == 3)
            snprintf(text, sizeof(text), "The deploy key is K-7731-XQ, and the report goes to "
                                         "/srv/reports/q3.md. My dog is called Biscuit. "
                                         "发布窗口是周四晚上。");
        play(&st, text);
        t.planted |= turn == 3;
        if (turn % 50 == 0)
            reopen(&st);
    }
    assert_int_equal(t.requests, 600);
    assert_true(told.events > 10);
    assert_true(told.events < 50); /* rare */
    assert_true(t.summaries > 0);
    assert_true(t.largest > WINDOW / 2); /* the context is made use of */
    compact(&st, NULL, "done/task_completed");
    play(&st, "And now?");
    reopen(&st);
    unsigned steps[2] = {0};
    assert_int_equal(chela_replay(st.agent, store, "long", count_difference, steps, NULL), 0);
    assert_true(steps[0] > 600);
    assert_int_equal(steps[1], 0);
    char *all; /* nothing is lost */
    assert_int_equal(chela_store_show(store, "long", &all, NULL), 0);
    assert_non_null(strstr(all, "Please look at order ORD-10001 and"));
    assert_non_null(strstr(all, "row 39 of order ORD-"));
    chela_free(all);
    chela_store_close(store);
    close_stage(&st, &t);
}

/* The same in one run: nothing but calls and results after the first message. */
static void test_one_long_run(void **state) {
    struct stage st;
    struct talk t = {.window = WINDOW, .calls = 300, .planted = true,
                     .facts = {"K-7731-XQ", "all three hundred orders"}};
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(
            .limits = &(struct chela_limits)CHELA_LIMITS(
                .max_turns = -1, .max_tool_calls = -1, .timeout_ms = -1));
    (void)state;
    open_stage(&st, &t, &opts, WINDOW);
    reset(&st);
    play(&st, "Look at all three hundred orders with key K-7731-XQ, one by one.");
    assert_int_equal(t.requests, 300);
    assert_true(told.events > 3 && told.events < 45);
    assert_int_equal(ch_run_began(st.run), 0); /* the first message has gone */
    close_stage(&st, &t);
}

/* --- a summary ----------------------------------------------------------------------------- */

static void fill(struct stage *st, int turns) {
    char text[128];
    for (int i = 0; i < turns; i++) {
        snprintf(text, sizeof(text), "Please look at order ORD-%d now.", 30000 + i);
        play(st, text);
    }
}

static void test_by_hand(void **state) {
    static const char *const says[] = {"## Goal\\nno good",
                                       "## Goal\\nlook at ORD-30000 to ORD-30007\\n## Decisions\\n"
                                       "none\\n## Facts and identifiers\\nORD-30001 ORD-30002 "
                                       "ORD-30003 ORD-30004 ORD-30005 ORD-30006\\n## Done\\nall "
                                       "of them\\n## Open tasks\\nnone"};
    struct stage st;
    struct talk t = {.says = says, .nsays = 2, .calls = 1};
    (void)state;
    open_stage(&st, &t, NULL, 200000);
    compact(&st, NULL, "done/task_completed"); /* of nothing */
    assert_string_equal(chela_run_text(st.run), "There is nothing to condense.");
    fill(&st, 8);
    size_t before = st.session->transcript.n;
    compact(&st, "prices of orders", "done/task_completed");
    assert_int_equal(t.summaries, 2); /* the first was bad */
    assert_non_null(strstr(ch_buf_str(&t.asked), "prices of orders"));
    assert_non_null(strstr(ch_buf_str(&t.asked), "headings are missing"));
    assert_true(st.session->transcript.n < before);
    assert_true(ch_carry_is(st.session->transcript.msgs[0]));
    assert_non_null(
        strstr(st.session->transcript.msgs[0]->blocks[0].text.p, "look at ORD-30000 to ORD-30007"));
    stage_check_transcript(&st);
    play(&st, "And now?");
    assert_non_null(strstr(ch_buf_str(&t.last), "ORD-30003"));
    close_stage(&st, &t);
}

/* Again and again: what was condensed is not condensed away. */
static void test_by_hand_often(void **state) {
    struct stage st;
    struct talk t = {.calls = 1,
                     .facts = {"K-7731-XQ", "/srv/reports/q3.md", "Biscuit", "harbour crane",
                               "walnut cake", "violin lesson", "lighthouse"}};
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.compaction = &(struct chela_compaction_opts)
                                           CHELA_COMPACTION_OPTS(.mode = CHELA_COMPACTION_RETAIN));
    (void)state;
    open_stage(&st, &t, &opts, 200000);
    play(&st, "The deploy key is K-7731-XQ, and the report goes to /srv/reports/q3.md. My dog is "
              "called Biscuit and sleeps all day long. The harbour crane is painted green since "
              "spring. For her birthday Ann wants a walnut cake with cream. The violin lesson was "
              "moved to another street last week. From the lighthouse one sees both islands.");
    t.planted = true;
    fill(&st, 30);
    t.calls = 0; /* little is added from here on */
    for (int i = 0; i < 12; i++) {
        compact(&st, NULL, "done/task_completed");
        play(&st, "And what about the next one, is it worth a look?");
    }
    compact(&st, NULL, "done/task_completed");
    compact(&st, NULL, "done/task_completed");
    assert_string_equal(chela_run_text(st.run), "There is nothing to condense.");
    stage_check_transcript(&st);
    close_stage(&st, &t);
}

/* Without a model of its own for it, and with none at all. */
static void test_without_summary(void **state) {
    struct stage st;
    struct talk t = {.window = WINDOW, .calls = 1, .facts = {"K-7731-XQ"}};
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.compaction = &(struct chela_compaction_opts)
                                           CHELA_COMPACTION_OPTS(.mode = CHELA_COMPACTION_RETAIN));
    (void)state;
    open_stage(&st, &t, &opts, WINDOW);
    reset(&st);
    play(&st, "The key is K-7731-XQ.");
    t.planted = true;
    fill(&st, 60);
    assert_true(told.events > 0);
    assert_int_equal(t.summaries, 0);
    close_stage(&st, &t);
}

/* --- what a service says ------------------------------------------------------------------- */

static void test_overflow(void **state) {
    struct stage st;
    struct talk t = {.overflow = 20000, .calls = 1};
    (void)state;
    open_stage(&st, &t, NULL, 0); /* nobody knows how large it is */
    reset(&st);
    fill(&st, 40);
    assert_true(t.refused > 0 && t.refused < 8); /* what was refused is remembered */
    assert_true(told.events >= t.refused);
    t.overflow = 10; /* whatever is sent */
    t.refused = 0;
    stage_play(&st, "Go on.");
    assert_string_equal(stage_verdict(&st), "error/context_overflow");
    assert_int_equal(t.refused, 2); /* one compaction, one more try */
    close_stage(&st, &t);
}

static void test_off(void **state) {
    struct stage st;
    struct talk t = {.overflow = 10};
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.compaction = &(struct chela_compaction_opts)
                                           CHELA_COMPACTION_OPTS(.mode = CHELA_COMPACTION_OFF));
    (void)state;
    open_stage(&st, &t, &opts, WINDOW);
    reset(&st);
    stage_play(&st, "Hello.");
    assert_string_equal(stage_verdict(&st), "error/context_overflow");
    assert_int_equal(t.refused, 1);
    assert_int_equal(told.events, 0);
    close_stage(&st, &t);
}

/* One message alone is too much: said, not sent. The next run has room again. */
static void test_one_huge_message(void **state) {
    struct stage st;
    struct talk t = {.window = WINDOW};
    CH_BUF_AUTO text = {0};
    (void)state;
    for (int i = 0; text.n < 120000; i++)
        ch_buf_addf(&text, "line %d of a very long log\n", i);
    open_stage(&st, &t, NULL, WINDOW);
    fill(&st, 3);
    t.requests = 0;
    stage_play(&st, ch_buf_str(&text));
    assert_string_equal(stage_verdict(&st), "error/context_overflow");
    assert_non_null(strstr(chela_run_error(st.run), "the message is about "));
    assert_int_equal(t.requests, 0);
    reset(&st);
    play(&st, "Sorry. What did I ask first?");
    assert_true(told.events > 0);
    close_stage(&st, &t);
}

/* --- pruning -------------------------------------------------------------------------------- */

static void test_prune_when_cold(void **state) {
    struct stage st;
    struct talk t = {.window = WINDOW, .calls = 1};
    (void)state;
    open_stage(&st, &t, NULL, WINDOW);
    reset(&st);
    fill(&st, 8);
    if (told.events)
        fail_msg("it was full before: %s", told.last);
    st.now += 6 * 60 * 1000; /* the service has forgotten */
    play(&st, "And now?");
    assert_int_equal(told.events, 1);
    assert_string_equal(told.last, "prune");
    assert_non_null(strstr(ch_buf_str(&t.last), "taken out to make room"));
    fill(&st, 1); /* warm: nothing is touched */
    assert_int_equal(told.events, 1);
    close_stage(&st, &t);
}

/* --- notes --------------------------------------------------------------------------------- */

/* One file, or two if the day ends meanwhile. */
static char *read_day(const char *dir) {
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO pattern = {0};
    char part[512];
    glob_t g;
    ch_buf_addf(&pattern, "%s/memory/*.md", dir);
    assert_int_equal(glob(ch_buf_str(&pattern), 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        FILE *f = fopen(g.gl_pathv[i], "r");
        for (size_t n; (n = fread(part, 1, sizeof(part), f)) > 0;)
            ch_buf_add(&text, part, n);
        fclose(f);
        remove(g.gl_pathv[i]);
    }
    globfree(&g);
    return ch_buf_take(&text);
}

static void drop(const char *dir, const char *name) {
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path, "%s/%s", dir, name);
    remove(ch_buf_str(&path));
}

/* What is to be remembered is written down before it is condensed; what is
 * written down is told in a message that it suits, once, and stays there. */
static void test_notes(void **state) {
    static const char *const settings[] = {"memory.enabled=true", "memory.inject=200", NULL};
    char dir[] = "/tmp/chela-notes-XXXXXX";
    struct stage st;
    struct talk t = {0};
    (void)state;
    assert_non_null(mkdtemp(dir));
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(
            .workspace = dir, .tools = "memory_*", .approve = CHELA_APPROVE_AUTO,
            .toolset = &(struct chela_toolset_opts)CHELA_TOOLSET_OPTS(.settings = settings));
    open_stage(&st, &t, &opts, 200000);
    put_in(dir, "MEMORY.md",
           "# Servers\n\nThe staging server is called heron.\n\n# Pets\n\nA cat.\n");
    play(&st, "Always deploy to staging on Fridays. Hello.");
    assert_non_null(
        strstr(ch_buf_str(&t.last), "[MEMORY.md:3]\\n# Servers\\nThe staging server is called"));
    assert_null(strstr(ch_buf_str(&t.last), "A cat"));
    fill(&st, 20);
    const char *first = strstr(ch_buf_str(&t.last), "heron");
    assert_true(first && !strstr(first + 1, "heron"));
    compact(&st, NULL, "done/task_completed");
    CH_AUTOFREE char *notes = read_day(dir);
    assert_string_equal(notes, "- Always deploy to staging on Fridays.\n");
    close_stage(&st, &t);
    drop(dir, "MEMORY.md");
    drop(dir, "memory");
    drop(dir, "");
}

/* --- interruption ---------------------------------------------------------------------------- */

static void test_cancel_while_condensing(void **state) {
    struct stage st;
    struct talk t = {.calls = 1};
    struct chela_error err = {0};
    (void)state;
    open_stage(&st, &t, NULL, 200000);
    fill(&st, 6);
    char *before = chela_session_messages_json(st.session);
    chela_run_free(CH_TAKE(st.run));
    assert_int_equal(chela_session_compact(st.session, NULL, NULL, &st.run, &err), 0);
    assert_int_equal(chela_session_compact(st.session, NULL, NULL, NULL, &err), CHELA_EBUSY);
    ch_loop_tick(st.rt->loop);
    ch_loop_tick(st.rt->loop);
    assert_non_null(st.run->compaction);
    chela_cancel(st.run, "enough");
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "cancelled/cancelled");
    char *after = chela_session_messages_json(st.session);
    assert_string_equal(before, after);
    chela_free(before);
    chela_free(after);
    assert_int_equal(chela_session_compact(st.session, NULL, NULL, NULL, &err), 0);
    ch_loop_tick(st.rt->loop);
    ch_loop_tick(st.rt->loop);
    chela_session_close(st.session); /* nothing comes after, nothing leaks */
    close_stage(&st, &t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_hundred_turns), cmocka_unit_test(test_one_long_run),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_by_hand_often),
        cmocka_unit_test(test_without_summary),
        cmocka_unit_test(test_overflow),            cmocka_unit_test(test_off),
        cmocka_unit_test(test_one_huge_message),    cmocka_unit_test(test_prune_when_cold),
        cmocka_unit_test(test_cancel_while_condensing), cmocka_unit_test(test_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
