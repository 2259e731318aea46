/* test_context.c -- what requests begin and end with, over whole sessions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
/* after the headers it needs */
#include <cmocka.h>

#include "model/provider/target.h"
#include "base/limits.h"
#include "base/mem.h"
#include "json/json.h"
#include "support/stage.h"
#include "support/textfile.h"

static char dir[] = "/tmp/chela-context-XXXXXX";

static void drop(const char *name) {
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    remove(path);
}

static void make(const char *name) {
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static int make_dir(void **state) {
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state) {
    (void)state;
    return rmdir(dir);
}

static const char *sent(const struct stage *st, size_t request) {
    return ch_buf_str(&st->model.requests[request]);
}

/* True: the last message holds results of tools and nothing else. */
static bool ends_with_results(const char *body) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL, *end = NULL;
    assert_int_equal(ch_json_parse(&arena, ch_sv_str(body), CH_JSON_STRICT, &v, NULL, NULL), 0);
    for (CH_JSON_EACH(m, ch_json_get(v, "messages")))
        end = ch_json_get(m, "content");
    bool all = ch_json_is(end, CH_JSON_ARRAY);
    for (CH_JSON_EACH(b, end))
        all &= ch_sv_is(ch_json_get_str(b, "type"), "tool_result");
    return all;
}

static size_t count(const char *text, const char *what) {
    size_t n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

/* --- the prefix */

#define TURNS 50
static size_t stable[TURNS + 1]; /* bytes of each request that must not change */

static void measure(struct stage *st, const struct chela_event *ev) {
    const struct ch_encoder *e = &st->session->encoder;
    if (ev->type == CHELA_EV_MODEL_REQUEST)
        stable[st->model.nrequests] = e->head.n + e->messages.n - e->cut;
}

/* Fifty model calls in runs of two, with tools and errors, messages from people
 * with metadata of their own, and files that change meanwhile: what was sent
 * stays, byte for byte. */
static void test_prefix(void **state) {
    (void)state;
    struct fake_reply replies[TURNS];
    static const struct fake_reply says = {.body = A_SAY("done \\\"so\\\" far")},
                                   looks = {.body = A_USE("c1", "ls", "{}")},
                                   fails = {.body = A_USE("c1", "read", "{}")};
    for (size_t i = 0; i < TURNS; i++)
        replies[i] = i % 2 ? says : i % 3 ? looks : fails;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .tools = "read,ls", .workspace = dir,
        .prompt = &(struct chela_prompt_opts)CHELA_PROMPT_OPTS(
            .style = CHELA_PROMPT_FULL, .reminder = "Be exact."));
    struct stage st;
    put_in(dir, "AGENTS.md", "Use tabs.");
    STAGE_OPEN(&st, &opts, replies);
    st.on_event = measure;
    for (size_t i = 0; i < TURNS / 2; i++) {
        char id[16], text[32];
        snprintf(id, sizeof(id), "om_%zu", i);
        snprintf(text, sizeof(text), "question %zu 你好", i);
        struct chela_inbound in = CHELA_INBOUND(.channel = "pigeon", .message_id = id);
        if (i == 10)
            put_in(dir, "AGENTS.md", "Use spaces, always.");
        stage_start_with(&st, text, i % 4 ? &in : NULL);
        stage_finish(&st);
    }
    assert_int_equal(st.model.nrequests, TURNS);
    for (size_t i = 0; i + 1 < TURNS; i++) {
        assert_true(stable[i] > 1000 && stable[i] <= stable[i + 1]);
        assert_memory_equal(sent(&st, i), sent(&st, i + 1), stable[i]);
        size_t runs = i / 2 + 1; /* each has its message, and each message what it came with */
        assert_int_equal(count(sent(&st, i), "<trusted_metadata>"), runs - (runs + 3) / 4);
        assert_int_equal(count(sent(&st, i), "Be exact."), runs);
        assert_int_equal(count(sent(&st, i), "): AGENTS.md."), i < 20 ? 0 : 1);
        if (i % 2) /* nothing comes after the results of tools */
            assert_true(ends_with_results(sent(&st, i)));
        assert_int_equal(count(sent(&st, i), "Use tabs."), 1);
    }
    stage_check_transcript(&st);
    stage_close(&st);
    drop("AGENTS.md");
}

/* --- project files and skills */

/* Nor is a sender whose policy denies reading, in whatever session. */
static void test_by_sender(void) {
    static const struct fake_reply replies[] = {
        {.body = A_SAY("1")}, {.body = A_SAY("2")}, {.body = A_SAY("3")}};
    static const char *const owner[] = {"u_owner", NULL};
    static const struct chela_policy strangers =
        CHELA_POLICY(.id = "strangers", .channel = "chat", .except = owner, .deny = "read");
    static const struct chela_policy *const policies[] = {&strangers, NULL};
    static const char *const senders[] = {"u_owner", "u_x", "u_owner"};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .tools = "read", .workspace = dir,
        .prompt = &(struct chela_prompt_opts)CHELA_PROMPT_OPTS(.style = CHELA_PROMPT_FULL),
        .approvals = &(struct chela_approval_opts)CHELA_APPROVAL_OPTS(.policies = policies));
    struct stage st;
    STAGE_OPEN(&st, &opts, replies);
    for (size_t i = 0; i < CH_LEN(senders); i++) {
        struct chela_run_opts by = CHELA_RUN_OPTS(.channel = "chat", .sender = senders[i]);
        assert_int_equal(chela_run_start(st.session, "go", 2, &by, NULL, NULL), 0);
        assert_int_equal(ch_loop_run(st.rt->loop, &st.rt->idle), 0);
        assert_true(!strstr(sent(&st, i), "<name>deploy</name>") == (i == 1));
    }
    stage_close(&st);
}

static void test_files_are_frozen(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_SAY("1")}, {.body = A_SAY("2")},
                                                {.body = A_SAY("3")}, {.body = A_SAY("4")}};
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(
            .tools = "read", .workspace = dir,
            .prompt = &(struct chela_prompt_opts)CHELA_PROMPT_OPTS(.style = CHELA_PROMPT_FULL));
    struct stage st;
    make("skills");
    make("skills/deploy");
    put_in(dir, "skills/deploy/SKILL.md", "---\nname: deploy\ndescription: d\nversion: 1.2\n---\n");
    put_in(dir, "AGENTS.md", "Use tabs.");
    STAGE_OPEN(&st, &opts, replies);
    stage_play(&st, "one");
    put_in(dir, "AGENTS.md", "Use spaces.");
    put_in(dir, "skills/deploy/SKILL.md",
           "---\nname: deploy\ndescription: d\nversion: 1.3\n---\nNew.\n");
    stage_play(&st, "two");
    assert_non_null(strstr(sent(&st, 0), "Use tabs."));
    assert_null(strstr(sent(&st, 0), "<runtime_note>\\n"));
    assert_non_null(strstr(sent(&st, 1), "Use tabs."));
    assert_non_null(strstr(sent(&st, 1), "Changed since this conversation began (noticed on 20"));
    assert_non_null(strstr(sent(&st, 1), "): AGENTS.md, the skill deploy (version 1.3)."));
    chela_session_close(st.session);
    assert_int_equal(chela_session_new(st.agent, "t", &st.session, NULL), 0);
    stage_play(&st, "three");
    assert_non_null(strstr(sent(&st, 2), "Use spaces."));
    /* who may not read is not told what the files say */
    assert_int_equal(chela_agent_policy(st.agent, NULL, "read", CHELA_PERM_ADMIN, NULL), 0);
    stage_play(&st, "four");
    assert_null(strstr(sent(&st, 3), "Use spaces."));
    assert_null(strstr(sent(&st, 3), "deploy"));
    stage_close(&st);
    drop("AGENTS.md");
    test_by_sender();
    drop("skills/deploy/SKILL.md");
    drop("skills/deploy");
    drop("skills");
}

static void test_small_models(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_SAY("1")}};
    static const struct {
        enum chela_prompt_style style;
        int64_t window;
        bool small;
    } rows[] = {{CHELA_PROMPT_FULL, 8192, false}, {CHELA_PROMPT_MINIMAL, 200000, true},
                {CHELA_PROMPT_AUTO, 8192, true},  {CHELA_PROMPT_AUTO, 200000, false},
                {CHELA_PROMPT_AUTO, 0, false}};
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct chela_agent_opts opts = CHELA_AGENT_OPTS(
            .tools = "read",
            .prompt = &(struct chela_prompt_opts)CHELA_PROMPT_OPTS(.style = rows[i].style));
        struct stage st;
        STAGE_OPEN(&st, &opts, replies);
        st.agent->targets[0]->window = rows[i].window;
        stage_play(&st, "hello");
        assert_int_equal(strstr(sent(&st, 0), "## Safety") == NULL, rows[i].small);
        stage_close(&st);
    }
}

/* Empty instructions ask for no text of chela's own; rules of the host stay. */
static void test_empty_instructions(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_SAY("1")}};
    static const char *const rules[] = {"Stay calm.", NULL};
    static const enum chela_prompt_style styles[] = {CHELA_PROMPT_FULL, CHELA_PROMPT_MINIMAL};
    for (size_t i = 0; i < 2 * CH_LEN(styles); i++) {
        bool ruled = i / CH_LEN(styles);
        struct chela_prompt_opts prompt = CHELA_PROMPT_OPTS(.style = styles[i % CH_LEN(styles)],
                                                            .rules = ruled ? rules : NULL);
        struct chela_agent_opts opts =
            CHELA_AGENT_OPTS(.system = "", .tools = "calculate", .prompt = &prompt);
        struct stage st;
        STAGE_OPEN(&st, &opts, replies);
        stage_play(&st, "hello");
        assert_null(strstr(sent(&st, 0), "destructive"));
        assert_int_equal(strstr(sent(&st, 0), "\"system\"") != NULL, ruled);
        assert_int_equal(strstr(sent(&st, 0), "Stay calm.") != NULL, ruled);
        stage_close(&st);
    }
}

/* A service that must be told how long a reply may be is told what was kept free
 * for it. */
static void test_room_for_the_reply(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_SAY("1")}};
    static const struct {
        int64_t window, asked;
        unsigned percent;
        const char *want;
    } rows[] = {{16384, 0, 0, "\"max_tokens\":2457,"}, {100000, 0, 0, "\"max_tokens\":15000,"},
                {100000, 0, 30, "\"max_tokens\":30000,"}, {1000000, 0, 0, "\"max_tokens\":32000,"},
                {16384, 500, 0, "\"max_tokens\":500,"}, {0, 0, 0, "\"max_tokens\":8192,"}};
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct chela_agent_opts opts = CHELA_AGENT_OPTS(
            .max_output_tokens = rows[i].asked,
            .prompt = &(struct chela_prompt_opts)CHELA_PROMPT_OPTS(
                .output_share = rows[i].percent));
        struct stage st;
        STAGE_OPEN(&st, &opts, replies);
        st.agent->targets[0]->window = rows[i].window;
        stage_play(&st, "hello");
        assert_non_null(strstr(sent(&st, 0), rows[i].want));
        stage_close(&st);
    }
}

static void hear_warning(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_WARNING)
        st->arg += memmem(ev->note.text.p, ev->note.text.n, "context: TOOLS.md (", 19) != NULL;
}

/* What had to be left out of the prompt is told. */
static void test_cut_is_told(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_SAY("1")}};
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(
            .tools = "read", .workspace = dir,
            .prompt = &(struct chela_prompt_opts)CHELA_PROMPT_OPTS(.style = CHELA_PROMPT_FULL));
    CH_BUF_AUTO big = {0};
    for (int i = 0; i < 2000; i++)
        ch_buf_addf(&big, "rule %d\n", i);
    put_in(dir, "AGENTS.md", "Use tabs.");
    put_in(dir, "TOOLS.md", ch_buf_str(&big));
    struct stage st;
    STAGE_OPEN(&st, &opts, replies);
    st.agent->targets[0]->window = 8000;
    st.on_event = hear_warning;
    stage_play(&st, "hello");
    assert_int_equal(st.arg, 1);
    assert_non_null(strstr(sent(&st, 0),
                           "the rest is left out: there is no room for it]\\n</project_file>"));
    stage_close(&st);
    drop("TOOLS.md");
    drop("AGENTS.md");
}

/* Sessions of an agent share a prompt only if all inputs of the prompt are the same. */
static void test_prompts_of_sessions(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_SAY("1")}, {.body = A_SAY("2")},
                                                {.body = A_SAY("3")}, {.body = A_SAY("4")},
                                                {.body = A_SAY("5")}};
    static const struct {
        const char *deny; /* tools that the run may not call */
        int64_t window;
        size_t like; /* the first row with the same prompt */
    } rows[] = {{NULL, 200000, 0},
                {NULL, 200000, 0},
                {"greet", 200000, 2},
                {NULL, 8192, 3},
                {NULL, 200000, 0}};
    struct stage st;
    const char *prompts[CH_LEN(rows)];
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.system = NULL);
    opts.prompt = &(struct chela_prompt_opts)CHELA_PROMPT_OPTS(.style = CHELA_PROMPT_AUTO);
    STAGE_OPEN(&st, &opts, replies);
    stage_tool(&st, "greet", 0);
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        chela_session *s;
        struct chela_run_opts by = CHELA_RUN_OPTS(.deny = rows[i].deny);
        st.agent->targets[0]->window = rows[i].window;
        assert_int_equal(chela_session_new(st.agent, NULL, &s, NULL), 0);
        assert_int_equal(chela_run_start(s, "go", 2, &by, NULL, NULL), 0);
        assert_int_equal(ch_loop_run(st.rt->loop, &st.rt->idle), 0);
        prompts[i] = s->context.system;
        for (size_t k = 0; k < i; k++)
            assert_int_equal(strcmp(prompts[k], prompts[i]) == 0, rows[k].like == rows[i].like);
    }
    assert_ptr_equal(prompts[0], prompts[1]);
    stage_close(&st);
}

/* --- rules */

static void test_rules(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_SAY("1")}, {.body = A_SAY("2")}};
    static const char *const rules[] = {
        "r1", "r2", "r3", "r4", "r5", "r6", "r7",
        "Money transfers need a second signature.", "Photographs are kept for a year.",
        "Invoices are paid on Fridays.", NULL};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .prompt = &(struct chela_prompt_opts)CHELA_PROMPT_OPTS(.rules = rules));
    struct stage st;
    STAGE_OPEN(&st, &opts, replies);
    stage_play(&st, "please pay this invoice");
    assert_non_null(strstr(sent(&st, 0), "## Rules\\n- r1\\n- r2"));
    assert_non_null(strstr(sent(&st, 0), "<runtime_note>\\n- Invoices are paid on Fridays."));
    assert_null(strstr(sent(&st, 0), "Photographs"));
    stage_play(&st, "delete the photograph");
    assert_non_null(strstr(sent(&st, 1), "<runtime_note>\\n- Photographs are kept"));
    assert_int_equal(count(sent(&st, 1), "Invoices"), 1); /* in the message of that time */
    stage_close(&st);
}

static void test_bad_settings(void **state) {
    (void)state;
    static const char *many[CH_LIMIT_PROMPT_RULES + 2];
    struct chela_error err = {0};
    chela_runtime *rt;
    chela_agent *agent;
    for (size_t i = 0; i <= CH_LIMIT_PROMPT_RULES; i++)
        many[i] = "r";
    const struct {
        struct chela_agent_opts opts;
        int code;
    } rows[] = {
        {CHELA_AGENT_OPTS(.prompt = &(struct chela_prompt_opts)CHELA_PROMPT_OPTS(
            .style = (enum chela_prompt_style)9)), CHELA_EINVAL},
        {CHELA_AGENT_OPTS(
            .prompt = &(struct chela_prompt_opts)CHELA_PROMPT_OPTS(
                .system_share = 80, .output_share = 20)), CHELA_EINVAL},
        {CHELA_AGENT_OPTS(.prompt = &(struct chela_prompt_opts)CHELA_PROMPT_OPTS(
            .rules = many)), CHELA_ELIMIT},
    };
    assert_int_equal(chela_runtime_new(NULL, &rt, &err), 0);
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct chela_agent_opts opts = rows[i].opts;
        opts.model = "scripted/demo";
        assert_int_equal(chela_agent_new(rt, &opts, &agent, &err), rows[i].code);
    }
    chela_runtime_close(rt);
}

/* --- many tools */

static int answer(chela_call *call, void *user) {
    (void)user;
    chela_result_printf(call, "ok");
    return 0;
}

static size_t bytes_with(enum chela_selection selection) {
    static const struct fake_reply replies[] = {{.body = A_SAY("1")}};
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\",\"description\":\"A "
        "path, relative to the root of the store that is meant.\"},\"count\":{\"type\":\"integer\","
        "\"minimum\":1}},\"required\":[\"path\"]}";
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .toolset = &(struct chela_toolset_opts)CHELA_TOOLSET_OPTS(.selection = selection));
    struct stage st;
    STAGE_OPEN(&st, &opts, replies);
    for (int i = 0; i < 200; i++) {
        char name[32], text[160];
        snprintf(name, sizeof(name), "store_action_%d", i);
        snprintf(text, sizeof(text),
                 "Do action %d in a store. It changes what is there and returns a list of what was "
                 "changed, with the old values.",
                 i);
        assert_int_equal(chela_agent_tool(st.agent, name, text, schema, answer, NULL), 0);
    }
    stage_play(&st, "do action 17");
    size_t n = st.model.requests[0].n;
    stage_close(&st);
    return n;
}

static void test_many_tools(void **state) {
    (void)state;
    size_t all = bytes_with(CHELA_SELECTION_ALL), some = bytes_with(CHELA_SELECTION_DEFAULT);
    print_message("200 tools: %zu bytes of %zu\n", some, all);
    assert_true(4 * some <= all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefix),       cmocka_unit_test(test_files_are_frozen),
        cmocka_unit_test(test_small_models), cmocka_unit_test(test_cut_is_told),
        cmocka_unit_test(test_empty_instructions),
        cmocka_unit_test(test_prompts_of_sessions),
        cmocka_unit_test(test_rules),        cmocka_unit_test(test_bad_settings),
        cmocka_unit_test(test_many_tools),   cmocka_unit_test(test_room_for_the_reply),
    };
    return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
