/* test_sessions.c -- runs that are kept: what is written when, what a failing
 * store does to a run, and what every beginning of a journal leads to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent/journal/journal.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/run.h"
#include "agent/machine/run_counters.h"
#include "agent/run/feature.h"
#include "base/error.h"
#include "base/limits.h"
#include "store/store.h"
#include "support/stage.h"

/* --- a store that fails when it is told to -------------------------------------- */

static struct {
    unsigned commits, syncs;
    unsigned fail_at; /* this commit fails, from 1; 0: none */
    bool for_good;    /* and all after it */
} fault;

static int faulty_commit(struct chela_store_db *db, struct chela_store_change *changes, size_t n,
                         int sync, struct chela_error *err) {
    fault.commits++;
    fault.syncs += sync != 0;
    if (fault.fail_at && (fault.commits == fault.fail_at ||
                          (fault.for_good && fault.commits > fault.fail_at)))
        return ch_fail(err, CHELA_ELIMIT, "store: no space left on the disk");
    return ch_store_memory.commit(db, changes, n, sync, err);
}

static chela_store *new_store(void) {
    static struct chela_store_ops ops;
    chela_store *s = NULL;
    assert_int_equal(chela_store_open("memory:", NULL, &s, NULL), 0);
    ops = ch_store_memory;
    ops.commit = faulty_commit;
    s->ops = &ops;
    memset(&fault, 0, sizeof(fault));
    return s;
}

/* --- a run with each kind of tool -------------------------------------------------- */

static const struct fake_reply replies[] = {
    {.body = A_BEGIN A_CALL(0, "c1", "look", "{}") A_CALL(1, "c2", "put", "{}")
         A_CALL(2, "c3", "ship", "{}") A_END("tool_use")},
    {.body = A_SAY("all done")},
    {.body = A_SAY("more")},
    {.body = A_SAY("and more")},
};

struct counts {
    unsigned look, put, ship;
    char keys[8][96];
};
static struct counts made;

static int work(chela_call *call, void *user) {
    struct counts *c = &made;
    if (strcmp(user, "put") == 0)
        snprintf(c->keys[c->put % 8], sizeof(c->keys[0]), "%s", chela_call_key(call));
    ++*(strcmp(user, "look") == 0 ? &c->look : strcmp(user, "put") == 0 ? &c->put : &c->ship);
    chela_result_text(call, "ok", 2);
    return 0;
}

static void add_tools(struct stage *st) {
    static const struct {
        const char *name;
        enum chela_effect effect;
    } tools[] = {{"look", CHELA_EFFECT_READ},
                 {"put", CHELA_EFFECT_KEYED},
                 {"ship", CHELA_EFFECT_ONCE}};
    for (size_t i = 0; i < CH_LEN(tools); i++) {
        struct chela_tool_opts opts =
            CHELA_TOOL_OPTS(.name = tools[i].name, .description = "Works.", .fn = work,
                            .user = (void *)tools[i].name, .effect = tools[i].effect,
                            .flags = CHELA_TOOL_ON_LOOP);
        assert_int_equal(chela_agent_add_tool(st->agent, &opts, NULL), 0);
    }
}

/* A stage whose session is `key` of this store. */
static void open_with(struct stage *st, chela_store *store, enum chela_durability durability,
                      const char *key, size_t skip) {
    stage_open(st, NULL, replies + skip, CH_LEN(replies) - skip);
    add_tools(st);
    assert_int_equal(chela_runtime_store(st->rt, store, durability, NULL), 0);
    chela_session_close(st->session);
    assert_int_equal(chela_session_new(st->agent, key, &st->session, NULL), 0);
}

static void open_kept(struct stage *st, chela_store *store, const char *key, size_t skip) {
    open_with(st, store, CHELA_DURABILITY_DEFAULT, key, skip);
}

static void wait_open(struct stage *st) {
    struct chela_error err = {0};
    if (chela_session_wait(st->session, &err) < 0)
        fail_msg("%s", err.message);
}

static int add_type(const struct chela_store_record *r, void *user) {
    ch_buf_addf(user, "%s ", ch_record_name(r->type));
    return 0;
}

static void check_types(chela_store *store, const char *key, const char *want) {
    CH_BUF_AUTO got = {0};
    assert_int_equal(chela_store_records(store, key, 1, add_type, &got, NULL), 0);
    assert_string_equal(ch_buf_str(&got), want);
}

static void test_what_is_written(void **state) {
    struct stage st;
    chela_store *store = new_store();
    (void)state;
    made = (struct counts){0};
    open_kept(&st, store, "a", 0);
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    check_types(store, "a",
                "inbound state epoch part request message state done started started "
                "done done request message state ");
    /* one for what came in, one for the calls that change something */
    assert_int_equal(fault.syncs, 2);
    stage_close(&st);
    chela_store_close(store);
}

/* The end of a run is told: where a server could lose what was only committed, it
 * is synced; where nothing else is, too. */
static void test_what_is_synced(void **state) {
    static const struct {
        enum chela_durability durability;
        unsigned flags, syncs;
    } cases[] = {
        {CHELA_DURABILITY_FULL, 0, 2},
        {CHELA_DURABILITY_FULL, CHELA_STORE_LAZY, 3},
        {CHELA_DURABILITY_TURN, 0, 1},
        {CHELA_DURABILITY_TURN, CHELA_STORE_LAZY, 1},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct stage st;
        chela_store *store = new_store();
        struct chela_store_ops ops = *store->ops;
        ops.flags |= cases[i].flags;
        store->ops = &ops;
        open_with(&st, store, cases[i].durability, "a", 0);
        stage_play(&st, "go");
        assert_string_equal(stage_verdict(&st), "done/task_completed");
        assert_int_equal(fault.syncs, cases[i].syncs);
        stage_close(&st);
        chela_store_close(store);
    }
}

struct sizes {
    size_t of[128]; /* by turn: bytes of its records */
};

static int add_size(const struct chela_store_record *r, void *user) {
    struct sizes *s = user;
    const char *turn = memmem(r->data, r->n, "\"turn\":", 7);
    size_t n = turn ? strtoul(turn + 7, NULL, 10) : 0;
    s->of[n % CH_LEN(s->of)] += r->n;
    return 0;
}

/* A turn late in a session costs what an early one did, but for a digit. */
static void test_it_grows_by_what_is_new(void **state) {
    enum { TURNS = 101 };
    struct fake_reply many[TURNS];
    struct stage st;
    struct sizes sizes = {0};
    chela_store *store = new_store();
    (void)state;
    for (size_t i = 0; i < TURNS; i++)
        many[i] = (struct fake_reply){.body = i + 1 < TURNS ? A_USE("c", "look", "{}")
                                                            : A_SAY("done")};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .limits = &(struct chela_limits)CHELA_LIMITS(.max_turns = TURNS, .max_tool_calls = -1),
        .loop_guard = &(struct chela_loop_guard)CHELA_LOOP_GUARD(.repeats = -1, .cycles = -1));
    stage_open(&st, &opts, many, TURNS);
    add_tools(&st);
    assert_int_equal(chela_runtime_store(st.rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    chela_session_close(st.session);
    assert_int_equal(chela_session_new(st.agent, "a", &st.session, NULL), 0);
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_int_equal(chela_store_records(store, "a", 1, add_size, &sizes, NULL), 0);
    assert_in_range(sizes.of[10], 100, 2000);
    assert_in_range(sizes.of[TURNS - 1], sizes.of[10], sizes.of[10] + 20);
    assert_int_equal(fault.syncs, 1);
    stage_close(&st);
    chela_store_close(store);
}

/* --- a store that fails ----------------------------------------------------------------- */

static void play_with_fault(unsigned at, bool for_good) {
    struct stage st;
    chela_store *store = new_store();
    made = (struct counts){0};
    open_kept(&st, store, "a", 0);
    wait_open(&st);
    fault.commits = 0;
    fault.fail_at = at;
    fault.for_good = for_good;
    stage_play(&st, "go");
    const char *verdict = stage_verdict(&st);
    bool done = strcmp(verdict, "done/task_completed") == 0;
    if (!done && strcmp(verdict, "error/store_error") != 0)
        fail_msg("commit %u: %s", at, verdict);
    if (at == 1 && made.look + made.put + made.ship > 0)
        fail_msg("something was done before the input was stored");
    if (at == 2 && made.put + made.ship > 0)
        fail_msg("something was changed before that was stored");
    stage_check_transcript(&st);
    /* There is room again: no restart is needed. */
    fault.fail_at = 0;
    st.model.next = 2;
    stage_play(&st, "go on");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    stage_check_transcript(&st);
    assert_true(made.ship <= 1);
    stage_close(&st);
    chela_store_close(store);
}

static void test_a_store_that_fails(void **state) {
    (void)state;
    for (unsigned at = 1; at <= 6; at++) {
        play_with_fault(at, false);
        play_with_fault(at, true);
    }
}

/* --- every beginning of a journal --------------------------------------------------------- */

struct lines {
    struct ch_buf text;
    size_t ends[64];
    size_t n;
};

static int keep_line(const char *p, size_t n, void *user) {
    struct lines *l = user;
    ch_buf_add(&l->text, p, n);
    l->ends[l->n++] = l->text.n;
    return 0;
}

static bool holds(const struct lines *l, size_t n, const char *text) {
    return memmem(l->text.p, l->ends[n], text, strlen(text)) != NULL;
}

/* Numbers that the first life may have used are not used again, and none of the
 * second is left out. */
struct numbers {
    uint64_t used, next;
};

static void check_number(const struct chela_event *ev, void *user) {
    struct numbers *n = user;
    if (ev->type == CHELA_EV_RUN_START && n->next == 0)
        n->next = ev->seq;
    assert_true(ev->seq >= n->used);
    assert_int_equal(ev->seq, n->next);
    n->next++;
}

/* As if the process had died right after the n-th record was stored. used: by
 * the events it had told. */
static void resume_after(const struct lines *l, size_t n, uint64_t used) {
    struct stage st;
    struct numbers numbers = {.used = used};
    struct chela_error err = {0};
    chela_store *store = new_store();
    if (chela_store_import(store, l->text.p, l->ends[n], NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    bool replied = holds(l, n, "\"role\":\"assistant\"");
    bool shipped = holds(l, n, "\"name\":\"ship\",\"effect\":\"once\"");
    made = (struct counts){0};
    open_kept(&st, store, "a", replied ? 1 : 0);
    wait_open(&st);
    if (chela_session_status(st.session) == CHELA_SESSION_IDLE) {
        assert_true(holds(l, n, "all done"));
    } else {
        struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = check_number, .user = &numbers);
        if (chela_run_resume(st.session, &opts, &st.run, &err) < 0)
            fail_msg("after %zu: %s", n, err.message);
        assert_int_equal(chela_run_wait(st.run), 0);
        if (chela_run_reason(st.run) != CHELA_REASON_COMPLETED)
            fail_msg("after %zu: %s %s", n, chela_reason_name(chela_run_reason(st.run)),
                     chela_run_error(st.run));
        if (shipped && made.ship)
            fail_msg("after %zu: a call that may be made once was made again", n);
        if (!shipped && made.ship != 1)
            fail_msg("after %zu: a call that was not begun was not made", n);
    }
    stage_check_transcript(&st);
    stage_close(&st);
    chela_store_close(store);
}

static void test_every_beginning_can_be_resumed(void **state) {
    struct stage st;
    struct lines lines = {0};
    chela_store *store = new_store();
    (void)state;
    open_kept(&st, store, "a", 0);
    stage_play(&st, "go");
    uint64_t used = st.next_seq;
    stage_close(&st);
    assert_int_equal(chela_store_export(store, "a", keep_line, &lines, NULL), 0);
    chela_store_close(store);
    assert_true(lines.n > 10);
    for (size_t n = 1; n < lines.n; n++)
        resume_after(&lines, n, used);
    ch_buf_release(&lines.text);
}

/* Whatever an imported journal says about the machine, it comes to an end. */
static void test_states_that_cannot_be(void **state) {
    static const char *const statuses[] = {"running", "paused", "parked"};
    struct stage st;
    struct lines lines = {0};
    chela_store *store = new_store();
    (void)state;
    open_kept(&st, store, "a", 0);
    stage_play(&st, "go");
    stage_close(&st);
    assert_int_equal(chela_store_export(store, "a", keep_line, &lines, NULL), 0);
    chela_store_close(store);
    for (int i = 0; i < (int)CH_LEN(statuses) * (CH_RUN_DECLINED + 1); i++) {
        CH_BUF_AUTO text = {0};
        size_t n = i % 2 ? 3 : 1; /* with calls that are open, and without */
        ch_buf_add(&text, lines.text.p, lines.ends[n]);
        ch_buf_addf(&text,
                    "{\"seq\":%zu,\"type\":\"state\",\"ts\":1,\"data\":{\"run\":\"r\","
                    "\"status\":\"%s\",\"state\":\"%s\",\"turns\":-1,\"seq\":9}}\n",
                    n + 1, statuses[i % (int)CH_LEN(statuses)],
                    ch_run_state_name((enum ch_run_state)(i / (int)CH_LEN(statuses))));
        store = new_store();
        assert_int_equal(chela_store_import(store, text.p, text.n, NULL, NULL, NULL), 0);
        open_kept(&st, store, "a", n == 3);
        wait_open(&st);
        struct chela_run_opts opts = CHELA_RUN_OPTS(.insist = 1);
        assert_int_equal(chela_run_resume(st.session, &opts, &st.run, NULL), 0);
        assert_int_equal(chela_run_wait(st.run), 0);
        stage_check_transcript(&st);
        stage_close(&st);
        chela_store_close(store);
    }
    ch_buf_release(&lines.text);
}

static void tell_much(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_MODEL_REQUEST && !st->arg++)
        st->next_seq = st->run->m.seq += CH_LIMIT_UNSTORED / 2;
}

/* A turn that tells very much stores how much now and then. */
static void test_numbers_are_stored(void **state) {
    struct stage st;
    chela_store *store = new_store();
    (void)state;
    open_kept(&st, store, "a", 1);
    st.on_event = tell_much;
    stage_play(&st, "go");
    check_types(store, "a", "inbound state epoch part request state message state ");
    stage_close(&st);
    chela_store_close(store);
}

/* The same call gets the same idempotency key in its second life. */
static void test_keys_stay_the_same(void **state) {
    struct stage st;
    struct lines lines = {0};
    chela_store *store = new_store();
    char key[96];
    (void)state;
    made = (struct counts){0};
    open_kept(&st, store, "a", 0);
    stage_play(&st, "go");
    stage_close(&st);
    memcpy(key, made.keys[0], sizeof(key));
    assert_int_equal(chela_store_export(store, "a", keep_line, &lines, NULL), 0);
    chela_store_close(store);
    resume_after(&lines, 7, 0); /* both have begun, neither has ended */
    assert_int_equal(made.put, 1);
    assert_string_equal(made.keys[0], key);
    ch_buf_release(&lines.text);
}

/* A run that ended although calls were open: they get results all the same. */
static void test_an_end_with_open_calls(void **state) {
    struct stage st;
    struct lines lines = {0};
    chela_store *store = new_store();
    (void)state;
    open_kept(&st, store, "a", 0);
    stage_play(&st, "go");
    stage_close(&st);
    assert_int_equal(chela_store_export(store, "a", keep_line, &lines, NULL), 0);
    chela_store_close(store);
    CH_BUF_AUTO text = {0};
    ch_buf_add(&text, lines.text.p, lines.ends[4]);
    ch_buf_add_str(&text, "{\"seq\":5,\"type\":\"state\",\"ts\":1,\"data\":{\"run\":\"r\","
                          "\"status\":\"cancelled\",\"state\":\"ERROR\"}}\n");
    store = new_store();
    struct chela_error err = {0};
    if (chela_store_import(store, text.p, text.n, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    open_kept(&st, store, "a", 1);
    wait_open(&st);
    assert_int_equal(chela_session_status(st.session), CHELA_SESSION_IDLE);
    stage_check_transcript(&st);
    stage_play(&st, "go on");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    stage_check_transcript(&st);
    stage_close(&st);
    chela_store_close(store);
    ch_buf_release(&lines.text);
}

/* --- what a feature saves ------------------------------------------------------------------ */

#define KEPT "{\"steps\":[1,{\"of\":2.50}]}"

static struct ch_buf found; /* what the feature's run was opened with */

static void save_kept(const chela_run *run, struct ch_jw *w) {
    (void)run;
    ch_jw_kraw(w, "kept", CH_SV(KEPT));
}

static int open_keeper(chela_run *run, const struct chela_run_opts *opts,
                       const struct ch_json *state, void **data, struct chela_error *err) {
    const struct ch_json *kept = ch_json_get(state, "kept");
    struct ch_jw w = ch_jw(&found);
    (void)run;
    (void)opts;
    (void)data;
    (void)err;
    if (kept)
        ch_jw_value(&w, kept);
    return 0;
}

static void test_what_a_feature_saved_is_there_again(void **state) {
    static const struct ch_feature keeper = {
        .name = "keeper", .save = save_kept, .open = open_keeper};
    static const struct ch_agent_opts none;
    struct stage st;
    struct lines lines = {0};
    chela_store *store = new_store();
    (void)state;
    open_kept(&st, store, "a", 0);
    assert_int_equal(ch_feature_attach(st.agent, &keeper, &none, NULL), 0);
    stage_play(&st, "go");
    assert_int_equal(found.n, 0);
    stage_close(&st);
    assert_int_equal(chela_store_export(store, "a", keep_line, &lines, NULL), 0);
    chela_store_close(store);
    store = new_store();
    assert_int_equal(chela_store_import(store, lines.text.p, lines.ends[4], NULL, NULL, NULL), 0);
    open_kept(&st, store, "a", 1);
    assert_int_equal(ch_feature_attach(st.agent, &keeper, &none, NULL), 0);
    wait_open(&st);
    assert_int_equal(chela_run_resume(st.session, NULL, &st.run, NULL), 0);
    assert_string_equal(ch_buf_str(&found), KEPT);
    assert_int_equal(chela_run_wait(st.run), 0);
    stage_close(&st);
    chela_store_close(store);
    ch_buf_release(&lines.text);
    ch_buf_release(&found);
}

/* --- what it was asked, and what went wrong -------------------------------------------- */

static const struct fake_reply bumpy[] = {
    {.status = 503, .body = "{\"error\":{\"message\":\"too busy\"}}"},
    {.body = A_USE("c1", "nosuch", "{}")},
    {.body = A_SAY("at last")},
};

static int last_state(const struct chela_store_record *r, void *user) {
    if (r->type == CH_REC_STATE) {
        ch_buf_clear(user);
        ch_buf_add(user, r->data, r->n);
    }
    return 0;
}

static void check_course(const struct ch_run_counters *c) {
    assert_string_equal(c->goal, "Bring it home");
    assert_int_equal(c->n, 2);
    assert_string_equal(c->errors[0].of, "anthropic/fake-1");
    assert_int_equal(c->errors[0].turn, 1);
    assert_non_null(strstr(c->errors[0].text, "too busy"));
    assert_string_equal(c->errors[1].of, "nosuch");
    assert_string_equal(c->errors[1].cls, "not_found");
}

/* Both are in every later state, shown, and there again in another process. */
static void test_goal_and_errors_are_kept(void **state) {
    struct stage st;
    chela_store *store = new_store();
    struct lines lines = {0};
    CH_BUF_AUTO last = {0};
    char *shown;
    (void)state;
    stage_open(&st, NULL, bumpy, CH_LEN(bumpy));
    assert_int_equal(chela_runtime_store(st.rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    chela_session_close(st.session);
    assert_int_equal(chela_session_new(st.agent, "a", &st.session, NULL), 0);
    stage_play(&st, "  Bring it home\nbefore the rain");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    check_course(ch_run_journal_counters(st.run));
    stage_close(&st);
    assert_int_equal(chela_store_records(store, "a", 1, last_state, &last, NULL), 0);
    assert_non_null(strstr(ch_buf_str(&last), "\"goal\":\"Bring it home\",\"error_log\":[{"));
    assert_int_equal(chela_store_show(store, "a", &shown, NULL), 0);
    assert_non_null(strstr(shown, "\"class\":\"not_found\""));
    chela_free(shown);
    assert_int_equal(chela_store_export(store, "a", keep_line, &lines, NULL), 0);
    chela_store_close(store);

    /* cut off before the last answer, and resumed twice */
    store = new_store();
    assert_int_equal(
        chela_store_import(store, lines.text.p, lines.ends[lines.n - 3], NULL, NULL, NULL), 0);
    for (int life = 0; life < 2; life++) {
        stage_open(&st, NULL, bumpy + 2, 1);
        assert_int_equal(chela_runtime_store(st.rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
        chela_session_close(st.session);
        assert_int_equal(chela_session_new(st.agent, "a", &st.session, NULL), 0);
        wait_open(&st);
        assert_int_equal(chela_run_resume(st.session, NULL, &st.run, NULL), 0);
        assert_string_equal(ch_run_journal_counters(st.run)->goal, "Bring it home");
        assert_true(ch_run_journal_counters(st.run)->n >= 1);
        assert_string_equal(ch_run_journal_counters(st.run)->errors[0].of, "anthropic/fake-1");
        if (life == 1)
            assert_int_equal(chela_run_wait(st.run), 0);
        stage_close(&st);
    }
    chela_store_close(store);
    ch_buf_release(&lines.text);
}

/* Only the newest are kept. */
static void test_the_error_log_is_bounded(void **state) {
    struct ch_run_counters c = {0};
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    (void)state;
    for (unsigned i = 1; i <= 3 * CH_LIMIT_ERROR_LOG; i++)
        ch_run_counters_failed(&c, i, CH_SV("t"), "timeout", CH_SV("{\"error\":\"slow\"}"));
    ch_jw_begin(&w, '{');
    ch_run_counters_write(&c, &w);
    ch_jw_end(&w, '}');
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    assert_int_equal(ch_json_parse(&arena, ch_buf_sv(&text), CH_JSON_STRICT, &v, NULL, NULL), 0);
    ch_run_counters_release(&c);
    c = ch_run_counters_read(v);
    assert_int_equal(c.n, CH_LIMIT_ERROR_LOG);
    assert_int_equal(c.errors[0].turn, 2 * CH_LIMIT_ERROR_LOG + 1);
    assert_string_equal(c.errors[0].text, "slow");
    ch_run_counters_release(&c);
}

/* --- consent ------------------------------------------------------------------------------ */

static const struct fake_reply two_asks[] = {
    {.body = A_USE("c1", "deploy", "{\\\"env\\\":\\\"prod\\\"}")},
    {.body = A_USE("c2", "deploy", "{\\\"env\\\":\\\"prod\\\"}")},
    {.body = A_USE("c3", "deploy", "{\\\"env\\\":\\\"test\\\"}")},
};

/* In a process of its own, as it were. */
static void open_asking(struct stage *st, chela_store *store, size_t skip) {
    stage_open(st, NULL, two_asks + skip, CH_LEN(two_asks) - skip);
    stage_tool(st, "deploy", CHELA_TOOL_CONFIRM);
    assert_int_equal(chela_runtime_store(st->rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    chela_session_close(st->session);
    assert_int_equal(chela_session_new(st->agent, "a", &st->session, NULL), 0);
}

static void note_approval(const struct chela_event *ev, void *user) {
    if (ev->type == CHELA_EV_APPROVAL_REQUIRED)
        ch_buf_addf(user, "%.*s ", (int)ev->approval.id.n, ev->approval.id.p);
    if (ev->type == CHELA_EV_TURN_END)
        ch_buf_addf(user, "end:%u:%s:%d+%d ", ev->turn.turn, chela_stop_name(ev->turn.stop_reason),
                    (int)ev->turn.usage.input, (int)ev->turn.usage.output);
}

static void test_always_outlives_the_process(void **state) {
    struct stage st;
    chela_store *store = new_store();
    CH_BUF_AUTO asked = {0};
    char id[64];
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = note_approval, .user = &asked);
    (void)state;
    open_asking(&st, store, 0);
    stage_start(&st, "go");
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "paused/approval_required");
    memcpy(id, st.approval, sizeof(id));
    stage_close(&st);

    open_asking(&st, store, 1);
    wait_open(&st);
    assert_int_equal(
        chela_session_approve(st.session, id, CHELA_ALLOW_ALWAYS, NULL, NULL), 0);
    stage_close(&st); /* it dies before it goes on */

    open_asking(&st, store, 1);
    wait_open(&st);
    assert_int_equal(chela_run_resume(st.session, &opts, &st.run, NULL), 0);
    assert_int_equal(chela_run_wait(st.run), 0);
    /* The turn that waited ends here. The very same again is not asked about, anything else is. */
    assert_string_equal(ch_buf_str(&asked), "end:1:tool_use:10+5 end:2:tool_use:10+5 c3 ");
    assert_int_equal(chela_run_reason(st.run), CHELA_REASON_APPROVAL);
    stage_close(&st);
    chela_store_close(store);
}

static const unsigned char digest[CH_SHA256_SIZE] = {0xde, 0xad, 1};

static void rewrite(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_MODEL_REQUEST && !st->arg++)
        ch_run_journal_rewritten(st->run, &(struct ch_run_journal_rewrite){.strategy = "window"});
}

/* The records that told of it are before the window: the rewrite tells it. */
static void test_a_rewrite_forgets_nothing(void **state) {
    struct stage st;
    struct lines lines = {0};
    chela_store *store = new_store(), *other = new_store();
    (void)state;
    open_kept(&st, store, "a", 1);
    wait_open(&st);
    ch_memory_add(&st.session->memory, digest);
    st.on_event = rewrite;
    stage_play(&st, "go");
    check_types(store, "a",
                "inbound state epoch part request compaction state message state ");
    stage_close(&st);

    open_kept(&st, store, "a", 2);
    wait_open(&st);
    assert_true(ch_memory_has(&st.session->memory, digest));
    stage_close(&st);

    /* a file gives no consent */
    assert_int_equal(chela_store_export(store, "a", keep_line, &lines, NULL), 0);
    assert_int_equal(chela_store_import(other, lines.text.p, lines.text.n, NULL, NULL, NULL), 0);
    open_kept(&st, other, "a", 2);
    wait_open(&st);
    assert_false(ch_memory_has(&st.session->memory, digest));
    stage_close(&st);
    chela_store_close(store);
    chela_store_close(other);
    ch_buf_release(&lines.text);
}

/* --- messages that wait ----------------------------------------------------------------------- */

#define QUEUED 10 /* records up to both: inbound, state, five parts, the request, and the two */

static void queue_both(struct stage *st, const struct chela_event *ev) {
    if (ev->type != CHELA_EV_MODEL_REQUEST || st->arg++)
        return;
    assert_int_equal(chela_run_steer(st->run, "steer", 5), 0);
    assert_int_equal(chela_run_follow_up(st->run, "follow", 6), 0);
}

static void test_messages_that_wait_survive(void **state) {
    struct stage st;
    struct lines lines = {0};
    chela_store *store = new_store();
    (void)state;
    open_kept(&st, store, "a", 0);
    st.on_event = queue_both;
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    stage_close(&st);
    assert_int_equal(chela_store_export(store, "a", keep_line, &lines, NULL), 0);
    chela_store_close(store);
    /* inbound, state, the request and its parts, two that wait: then the process died */
    store = new_store();
    assert_int_equal(
        chela_store_import(store, lines.text.p, lines.ends[QUEUED], NULL, NULL, NULL), 0);
    open_kept(&st, store, "a", 1);
    wait_open(&st);
    assert_int_equal(chela_run_resume(st.session, NULL, &st.run, NULL), 0);
    assert_int_equal(chela_run_wait(st.run), 0);
    char *json = chela_session_messages_json(st.session);
    const char *steer = strstr(json, "\"steer\""), *follow = strstr(json, "\"follow\"");
    assert_true(steer && follow && steer < follow);
    assert_null(strstr(steer + 1, "\"steer\""));
    chela_free(json);
    stage_check_transcript(&st);
    stage_close(&st);
    chela_store_close(store);
    ch_buf_release(&lines.text);
}

/* A run that is taken up still knows what its message came with. */
static void test_metadata_survives(void **state) {
    struct stage st;
    struct lines lines = {0};
    struct chela_inbound in = CHELA_INBOUND(.channel = "pigeon", .message_id = "om_5");
    chela_store *store = new_store();
    (void)state;
    open_kept(&st, store, "a", 0);
    stage_start_with(&st, "go", &in);
    stage_finish(&st);
    stage_close(&st);
    assert_int_equal(chela_store_export(store, "a", keep_line, &lines, NULL), 0);
    chela_store_close(store);
    store = new_store();
    assert_int_equal(chela_store_import(store, lines.text.p, lines.ends[2], NULL, NULL, NULL), 0);
    open_kept(&st, store, "a", 1);
    wait_open(&st);
    assert_int_equal(chela_run_resume(st.session, NULL, &st.run, NULL), 0);
    assert_int_equal(chela_run_wait(st.run), 0);
    const char *sent = ch_buf_str(&st.model.requests[0]);
    assert_non_null(strstr(sent, "<trusted_metadata>"));
    assert_non_null(strstr(strstr(sent, "<trusted_metadata>"), "om_5"));
    stage_close(&st);
    chela_store_close(store);
    ch_buf_release(&lines.text);
}

/* A new message takes the run's place: what waited for the run was said before
 * it, is delivered once, and does not come back. */
static void test_messages_of_a_run_left_behind(void **state) {
    struct stage st;
    struct lines lines = {0};
    chela_store *store = new_store();
    (void)state;
    open_kept(&st, store, "a", 0);
    st.on_event = queue_both;
    stage_play(&st, "go");
    stage_close(&st);
    assert_int_equal(chela_store_export(store, "a", keep_line, &lines, NULL), 0);
    chela_store_close(store);
    store = new_store();
    assert_int_equal(
        chela_store_import(store, lines.text.p, lines.ends[QUEUED], NULL, NULL, NULL), 0);
    for (int life = 0; life < 2; life++) {
        open_kept(&st, store, "a", 1);
        wait_open(&st);
        assert_int_equal(chela_session_status(st.session),
                         life ? CHELA_SESSION_IDLE : CHELA_SESSION_RUNNING);
        assert_int_equal(chela_session_send(st.session, NULL, 0, NULL, NULL), CHELA_ENOENT);
        stage_play(&st, life ? "last" : "new");
        assert_string_equal(stage_verdict(&st), "done/task_completed");
        CH_BUF_AUTO said = {0};
        for (size_t i = 0; i < st.session->transcript.n; i++)
            if (st.session->transcript.msgs[i]->kind == CH_MSG_USER)
                ch_buf_addf(&said, "%.*s ",
                            CH_SV_FMT(st.session->transcript.msgs[i]->blocks[0].text));
        assert_string_equal(ch_buf_str(&said),
                            life ? "go steer follow new last " : "go steer follow new ");
        stage_close(&st);
    }
    chela_store_close(store);
    ch_buf_release(&lines.text);
}

/* Cancelled while the store opens, or before what it begins with is stored:
 * a start and an end are told all the same, and no model is asked. */
static void test_cancelled_before_it_begins(void **state) {
    (void)state;
    for (int opened = 0; opened < 2; opened++) {
        struct stage st;
        chela_store *store = new_store();
        open_kept(&st, store, "k", 0);
        if (opened)
            wait_open(&st);
        stage_start(&st, "go");
        chela_cancel(st.run, "never mind");
        stage_finish(&st);
        assert_string_equal(stage_verdict(&st), "cancelled/cancelled");
        assert_ptr_equal(strstr(ch_buf_str(&st.log), "run_start"), ch_buf_str(&st.log));
        assert_int_equal(st.ends, 1);
        assert_int_equal(st.model.nrequests, 0);
        stage_play(&st, "again");
        assert_string_equal(stage_verdict(&st), "done/task_completed");
        stage_close(&st);
        chela_store_close(store);
    }
}

/* --- left ------------------------------------------------------------------------- */

static void leave_at(struct stage *st, const struct chela_event *ev) {
    (void)ev;
    if (st->arg-- == 0)
        chela_run_leave(st->run);
}

/* What another process finds and makes of it. */
static void go_on(chela_store *store, uint64_t used) {
    struct stage st;
    struct numbers numbers = {.used = used};
    struct lines lines = {0};
    assert_int_equal(chela_store_export(store, "a", keep_line, &lines, NULL), 0);
    open_kept(&st, store, "a", holds(&lines, lines.n - 1, "\"role\":\"assistant\"") ? 1 : 0);
    ch_buf_release(&lines.text);
    wait_open(&st);
    assert_int_equal(chela_session_status(st.session), CHELA_SESSION_RUNNING);
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = check_number, .user = &numbers);
    assert_int_equal(chela_run_resume(st.session, &opts, &st.run, NULL), 0);
    assert_int_equal(chela_run_wait(st.run), 0);
    assert_int_equal(chela_run_reason(st.run), CHELA_REASON_COMPLETED);
    stage_check_transcript(&st);
    stage_close(&st);
}

/* At each of its events in turn, until it has ended before that: one end is told,
 * and the rest is done by whoever resumes it. */
static void test_left_at_every_event(void **state) {
    (void)state;
    bool ended = false;
    for (long at = 0; !ended; at++) {
        struct stage st;
        chela_store *store = new_store();
        made = (struct counts){0};
        open_kept(&st, store, "a", 0);
        wait_open(&st);
        st.on_event = leave_at;
        st.arg = at;
        stage_start(&st, "go");
        stage_finish(&st);
        assert_int_equal(st.ends, 1);
        uint64_t used = st.next_seq;
        ended = strcmp(stage_verdict(&st), "done/task_completed") == 0;
        if (!ended) {
            assert_string_equal(stage_verdict(&st), "paused/interrupted");
            assert_int_equal(chela_session_status(st.session), CHELA_SESSION_RUNNING);
        }
        stage_close(&st);
        if (!ended)
            go_on(store, used);
        assert_true(made.ship <= 1);
        assert_true(at < 1000);
        chela_store_close(store);
    }
}

/* Something else may be said in the session that was left, by the same process. */
static void test_left_and_used_again(void **state) {
    struct stage st;
    chela_store *store = new_store();
    (void)state;
    open_kept(&st, store, "a", 1);
    wait_open(&st);
    st.on_event = leave_at;
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "paused/interrupted");
    stage_play(&st, "something else");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    stage_check_transcript(&st);
    chela_run_leave(st.run); /* it is over */
    assert_int_equal(chela_session_status(st.session), CHELA_SESSION_IDLE);
    stage_close(&st);
    chela_store_close(store);
}

/* A run that was left stays left: it can be neither cancelled nor taken over. */
static void test_left_and_cancelled(void **state) {
    (void)state;
    for (int taken = 0; taken < 2; taken++)
        for (long at = 0; at < 12; at++) {
            struct stage st;
            chela_store *store = new_store();
            made = (struct counts){0};
            open_kept(&st, store, "a", 0);
            wait_open(&st);
            st.on_event = leave_at;
            st.arg = at;
            stage_start(&st, "go");
            stage_finish(&st);
            assert_string_equal(stage_verdict(&st), "paused/interrupted");
            unsigned ships = made.ship;
            if (taken)
                assert_int_equal(chela_run_take_over(st.run, "mine", 4), CHELA_ESTATE);
            else
                chela_cancel(st.run, "too late");
            for (int i = 0; i < 8; i++)
                ch_loop_tick(st.rt->loop);
            assert_int_equal(st.ends, 1);
            assert_string_equal(stage_verdict(&st), "paused/interrupted");
            assert_int_equal(chela_session_status(st.session), CHELA_SESSION_RUNNING);
            assert_int_equal(made.ship, ships);
            stage_close(&st);
            chela_store_close(store);
        }
}

static void count_ready(chela_session *s, const struct chela_error *err, void *user) {
    (void)s;
    (void)err;
    ++*(unsigned *)user;
}

static void close_at_end(const struct chela_event *ev, void *user) {
    struct stage *st = user;
    if (ev->type == CHELA_EV_RUN_END)
        chela_session_close(st->session);
}

/* The run cannot begin, and the host closes the session: no callback of the session follows. */
static void test_closed_while_it_opens(void **state) {
    struct stage st;
    unsigned ready = 0;
    chela_store *store = new_store();
    (void)state;
    open_kept(&st, store, "a", 0);
    wait_open(&st);
    st.on_event = leave_at;
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "paused/interrupted");
    stage_close(&st);

    open_kept(&st, store, "a", 0);
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = close_at_end, .user = &st);
    chela_session_on_ready(st.session, count_ready, &ready);
    assert_int_equal(chela_session_compact(st.session, NULL, &opts, &st.run, NULL), 0);
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "error/store_error");
    assert_int_equal(ready, 0);
    stage_close(&st);
    chela_store_close(store);
}

static void test_left_without_a_store(void **state) {
    struct stage st;
    (void)state;
    stage_open(&st, NULL, replies, CH_LEN(replies));
    st.on_event = leave_at;
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "cancelled/cancelled");
    assert_int_equal(st.ends, 1);
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written),
        cmocka_unit_test(test_what_is_synced),
        cmocka_unit_test(test_it_grows_by_what_is_new),
        cmocka_unit_test(test_a_store_that_fails),
        cmocka_unit_test(test_every_beginning_can_be_resumed),
        cmocka_unit_test(test_states_that_cannot_be),
        cmocka_unit_test(test_numbers_are_stored),
        cmocka_unit_test(test_keys_stay_the_same),
        cmocka_unit_test(test_an_end_with_open_calls),
        cmocka_unit_test(test_what_a_feature_saved_is_there_again),
        cmocka_unit_test(test_goal_and_errors_are_kept),
        cmocka_unit_test(test_the_error_log_is_bounded),
        cmocka_unit_test(test_always_outlives_the_process),
        cmocka_unit_test(test_a_rewrite_forgets_nothing),
        cmocka_unit_test(test_messages_that_wait_survive),
        cmocka_unit_test(test_metadata_survives),
        cmocka_unit_test(test_messages_of_a_run_left_behind),
        cmocka_unit_test(test_cancelled_before_it_begins),
        cmocka_unit_test(test_left_at_every_event),
        cmocka_unit_test(test_left_and_used_again),
        cmocka_unit_test(test_left_and_cancelled),
        cmocka_unit_test(test_closed_while_it_opens),
        cmocka_unit_test(test_left_without_a_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
