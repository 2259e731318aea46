/* test_threads.c -- every function that the headers allow on any thread, called by
 * several threads at once. With the thread sanitizer (make check-long) a data race is a
 * failure; without it only results are compared. tools/check_api fails if a function
 * whose comment says "Threads: any" is not called here. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "chela.h"

#define THREADS 4
#define ROUNDS 8
#define SCHEMA "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}"
#define TOOLS "[{\"name\":\"add\",\"description\":\"Add two numbers.\"}]"
#define CHAT "{\"ts\":1,\"text\":\"hi\"}\n"
#define JOURNAL "{\"chela_session\":1,\"key\":\"x\",\"agent\":\"main\"}\n"

static chela_store *store;
static atomic_uint problems;

/* cmocka's assertions are for its own thread. */
#define EXPECT(cond)                                                          \
    do {                                                                      \
        if (!(cond)) {                                                        \
            fprintf(stderr, "# %s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
            atomic_fetch_add(&problems, 1);                                   \
        }                                                                     \
    } while (0)

static void drop(char *text) {
    EXPECT(text && *text);
    chela_free(text);
}

static void with_threads(void *(*fn)(void *)) {
    pthread_t threads[THREADS];
    unsigned before = atomic_load(&problems);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fn, (void *)i), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&problems), before);
}

/* --- functions without an object -------------------------------------------------------- */

static void on_simulated(const struct chela_simulated *s, void *user) {
    (void)user;
    drop(chela_simulated_json(s));
}

static int count_element(const char *element, size_t len, void *user) {
    size_t *n = user;
    (void)element;
    *n += len > 0;
    return 0;
}

static void use_values(void) {
    struct chela_event ev = {.type = CHELA_EV_STATE, .run = "run_1"};
    struct chela_inbound in = CHELA_INBOUND(.message_id = "om_1", .sender = "Ann");
    struct chela_schedule s = CHELA_SCHEDULE(.name = "a", .when = "@daily", .prompt = "go",
                                             .timezone = "Europe/Berlin");
    struct chela_schedule_row row = {.schedule = &s, .next = INT64_MAX};
    struct chela_willing_opts willing = CHELA_WILLING_OPTS(.text = 0);
    char secret[] = "the key is sk-abcdefghijklmnopqrstuvwx";
    char *notes = NULL, *one;
    int a = 0, b = 0;
    int64_t next = 0;
    size_t n = 0;

    EXPECT(strcmp(chela_version(), "") != 0 && chela_version_number() == CHELA_VERSION_NUMBER);
    EXPECT(strcmp(chela_error_name(CHELA_EINVAL), "EINVAL") == 0 && *chela_error_text(-1));
    EXPECT(strcmp(chela_event_name(CHELA_EV_STATE), "state") == 0);
    EXPECT(strcmp(chela_urge_name(CHELA_URGE_MENTION), "mention") == 0);
    EXPECT(strcmp(chela_choice_name(CHELA_CHOICE_MODE, CHELA_MODE_PLAN), "plan") == 0);
    EXPECT(chela_choice_read(CHELA_CHOICE_MODE, "none", &a, NULL) == CHELA_EINVAL);
    chela_redact(secret);
    EXPECT(!strstr(secret, "abcdefgh"));
    EXPECT(chela_edits("agent", 5, "agnet", 5) == 1);
    drop(chela_event_json(&ev));
    EXPECT(chela_json_each("[1,2]", 5, count_element, &n) == 0 && n == 2);
    drop(chela_json_get("{\"a\":[1,2]}", 11, "/a/1", &n));
    chela_json_get_all("{\"a\":1}", 7, (const char *const[]){"/a"}, &one, 1);
    drop(one);
    drop(chela_inbound_line(&in, "hi", 2, NULL));
    drop(chela_heard_line(0, 60, "om_1", "Ann", (struct chela_str){"hi", 2}));
    EXPECT(chela_quiet_hours_read("23:00-07:30", &a, &b, NULL) == 0 && b == 450);
    EXPECT(chela_utc_offset_read("+08:00", &a, NULL) == 0 && a == 480);
    EXPECT(chela_willing_defaults(CHELA_CHAT_GROUP, &willing, NULL) == 0 && willing.text > 0);
    EXPECT(chela_heartbeat_simulate(CHAT, strlen(CHAT), NULL, on_simulated, NULL, NULL) == 0);
    EXPECT(chela_schedule_check(&s, NULL) == 0);
    EXPECT(chela_schedule_next(&s, 0, &next, NULL) == 0 && next > 0);
    drop(chela_schedule_time(&s, next));
    drop(chela_schedule_row_json(&row));
    drop(chela_config_schema());
    drop(chela_prompt_compare("{\"passed\":1,\"runs\":2}", "{\"passed\":2,\"runs\":2}", NULL));
    drop(chela_schema_clean(SCHEMA, strlen(SCHEMA), "openai-strict", &notes, NULL));
    chela_free(notes);
    drop(chela_schema_lint(SCHEMA, strlen(SCHEMA), NULL));
    EXPECT(strstr(chela_wire_apis(), "anthropic") != NULL);
    drop(chela_wire_encode("openai", "m", "{\"messages\":[]}", 15, NULL));
    EXPECT(!chela_wire_decode("openai", 200, NULL, "x", 1, NULL));
    struct chela_review_opts review = CHELA_REVIEW_OPTS(.session = "no such session");
    char *changes;
    EXPECT(chela_review(&review, &changes, NULL) < 0);
    EXPECT(chela_session_root("room") == 4);
    EXPECT(chela_store_record_name(1) != NULL);
}

/* Objects of the thread's own. */
static void use_objects(void) {
    struct chela_heard line = {.at = 1, .text = {"hi", 2}};
    struct chela_urge urge;
    chela_schema *schema = NULL;
    chela_tool_index *index = NULL;
    chela_willing *willing = NULL;
    EXPECT(chela_schema_new(SCHEMA, strlen(SCHEMA), NULL, &schema, NULL) == 0);
    EXPECT(chela_schema_valid(schema, "{\"n\":1}", 7) == 1);
    chela_schema_free(schema);
    EXPECT(chela_tool_index_new(TOOLS, strlen(TOOLS), &index, NULL) == 0);
    drop(chela_tool_index_select(index, "add two numbers", 15, 1));
    chela_tool_index_free(index);
    EXPECT(chela_willing_new(CHELA_CHAT_DIRECT, NULL, NULL, &willing, NULL) == 0);
    chela_willing_hear(willing, &line, &urge);
    EXPECT(urge.reply);
    chela_willing_free(willing);
}

static void *use_all(void *user) {
    (void)user;
    for (int i = 0; i < ROUNDS; i++) {
        use_values();
        use_objects();
    }
    return NULL;
}

static void values_need_no_thread(void **state) {
    (void)state;
    with_threads(use_all);
}

/* A runtime for each thread. All are open before one is closed: libuv closes its files
 * behind the sanitizer's back, which takes a descriptor that is used again for a race. */
static pthread_barrier_t all_open;

static void *use_runtime(void *user) {
    chela_runtime *rt = NULL;
    chela_agent *agent = NULL;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo");
    (void)user;
    EXPECT(chela_runtime_new(NULL, &rt, NULL) == 0);
    EXPECT(chela_agent_new(rt, &opts, &agent, NULL) == 0);
    drop(chela_ask(agent, "hi", NULL));
    pthread_barrier_wait(&all_open);
    chela_runtime_close(rt);
    return NULL;
}

static void every_thread_has_a_runtime(void **state) {
    (void)state;
    assert_int_equal(pthread_barrier_init(&all_open, NULL, THREADS), 0);
    with_threads(use_runtime);
    pthread_barrier_destroy(&all_open);
}

/* --- one store ---------------------------------------------------------------------------- */

static int on_session(const struct chela_store_session *s, void *user) {
    (void)user;
    drop(chela_store_session_json(s));
    return 0;
}

static void on_followed(const struct chela_event *ev, void *user) {
    (void)ev;
    (void)user;
}

static int on_record(const struct chela_store_record *r, void *user) {
    (void)r, (void)user;
    return 0;
}

static int on_hit(const struct chela_store_hit *h, void *user) {
    (void)user;
    drop(chela_store_hit_json(h));
    return 0;
}

static int on_budget(const struct chela_budget_use *use, void *user) {
    (void)user;
    return !use;
}

static int on_item(const struct chela_store_item *i, void *user) {
    (void)i, (void)user;
    return 0;
}

static int on_span(const struct chela_span *span, void *user) {
    (void)user;
    return !span;
}

static int on_model_call(const struct chela_model_call *call, void *user) {
    (void)user;
    return !call;
}

static int on_part(const struct chela_setup_part *part, void *user) {
    (void)user;
    return !part;
}

static int on_line(const char *p, size_t n, void *user) {
    (void)p, (void)n, (void)user;
    return 0;
}

static int on_schedule(const struct chela_schedule_row *row, void *user) {
    (void)row, (void)user;
    return 0;
}

static int on_pairing(const struct chela_pairing *p, void *user) {
    (void)p, (void)user;
    return 0;
}

static void use_store(const char *key, const char *copy) {
    struct chela_schedule s = CHELA_SCHEDULE(.name = key, .when = "@daily", .prompt = "go");
    char *text = NULL;
    size_t n = 0;
    EXPECT(chela_store_import(store, JOURNAL, strlen(JOURNAL), key, NULL, NULL) == 0);
    EXPECT(chela_store_title(store, key, "a title", NULL) == 0);
    EXPECT(chela_store_session(store, key, on_session, NULL, NULL) == 0);
    EXPECT(chela_store_list(store, NULL, on_session, NULL, NULL) == 0);
    EXPECT(chela_store_records(store, key, 0, on_record, NULL, NULL) == 0);
    EXPECT(chela_skill_add("/nonexistent/skill", NULL, NULL, &text, NULL) == CHELA_ENOENT);
    EXPECT(chela_skill_remove("/nonexistent", "none", NULL) == CHELA_ENOENT);
    chela_follow *f;
    enum chela_holder holder;
    EXPECT(chela_follow_new(store, key, &f, NULL) == 0);
    EXPECT(chela_follow_read(f, on_followed, NULL, NULL) == 0);
    EXPECT(chela_follow_holder(f, &holder, NULL) == 0 && holder == CHELA_HOLDER_NONE);
    EXPECT(chela_follow_say(f, "hi", 2, NULL) == 0);
    EXPECT(chela_follow_cancel(f, NULL) == 0);
    EXPECT(chela_follow_decide(f, "ap_1", CHELA_DENY, NULL, NULL) == 0);
    EXPECT(chela_follow_answer(f, "call_1", "yes", 3, NULL) == 0);
    chela_follow_close(f);
    EXPECT(chela_store_search(store, "word", NULL, 3, on_hit, NULL, NULL) == 0);
    EXPECT(chela_store_items(store, CHELA_STORE_INBOX, on_item, NULL, NULL) == 0);
    EXPECT(chela_store_budgets(store, 0, on_budget, NULL, NULL) == 0);
    EXPECT(chela_store_show(store, key, &text, NULL) == 0);
    drop(text);
    EXPECT(chela_trace_spans(store, key, NULL, on_span, NULL, NULL) == 0);
    EXPECT(chela_trace_calls(store, 0, 0, on_model_call, NULL, NULL) == 0);
    EXPECT(chela_trace_setups(store, key, on_part, NULL, NULL) == 0);
    EXPECT(chela_trace_request(store, key, 0, CHELA_REQUEST_JSON, &text, NULL, NULL) ==
           CHELA_ENOENT);
    EXPECT(!chela_why_versus(store, key, key, NULL));
    EXPECT(!chela_eval_add(store, key, 99, NULL));
    EXPECT(chela_trace_export(store, key, CHELA_EXPORT_OPENAI, &text, NULL) == 0);
    drop(text);
    EXPECT(!chela_eval_compare("{}", "{}", NULL));
    EXPECT(!chela_eval_render("{}", CHELA_EVAL_TEXT, NULL));
    EXPECT(!chela_eval_import("{}", 2, "x", NULL));
    EXPECT(chela_telemetry_past(store, key, NULL, NULL, &text, NULL) == 0);
    drop(text);
    EXPECT(chela_store_fork(store, key, -1, copy, NULL) == 0);
    EXPECT(chela_store_fork_before(store, key, 0, copy, NULL) == CHELA_EINVAL);
    EXPECT(chela_store_export(store, key, on_line, NULL, NULL) == 0);
    EXPECT(chela_schedule_add(store, &s, NULL, NULL) == 0);
    EXPECT(chela_schedule_list(store, NULL, on_schedule, NULL, NULL) == 0);
    EXPECT(chela_schedule_remove(store, key, NULL) == 0);
    EXPECT(chela_pairing_list(store, on_pairing, NULL, NULL) == 0);
    EXPECT(chela_pairing_approve(store, "none", NULL, NULL, NULL) == CHELA_ENOENT);
    EXPECT(chela_pairing_remove(store, "feishu", key, NULL) == CHELA_ENOENT);
    EXPECT(chela_store_delete(store, copy, NULL) == 0);
    EXPECT(chela_store_prune(store, 1, &n, NULL) == 0 && n == 0);
    EXPECT(chela_store_erase(store, &(struct chela_erase_opts)CHELA_ERASE_OPTS(.key = "gone"),
                             &text, NULL) == CHELA_ENOENT);
    drop(text);
    EXPECT(chela_store_check(store, &n, NULL) == 0);
    chela_store *own = NULL;
    EXPECT(chela_store_open("memory:", NULL, &own, NULL) == 0);
    EXPECT(chela_store_recovered(own, &n, NULL) == 0 && n == 0);
    chela_store_close(own);
    EXPECT(chela_store_held(store, &text, NULL) == 0);
    drop(text);
    EXPECT(chela_store_release(store, "gone", 0, NULL) == CHELA_ENOENT);
    EXPECT(chela_store_remember(store, "/nowhere/at/all", NULL) <= 0);
    EXPECT(chela_store_compare("memory:", NULL, "/nowhere/at/all", NULL) == 0);
    chela_store_note(store);
}

static void *use_one_store(void *user) {
    char key[32], copy[32];
    for (int i = 0; i < ROUNDS; i++) {
        chela_store *own = NULL;
        snprintf(key, sizeof(key), "key-%zu-%d", (size_t)user, i);
        snprintf(copy, sizeof(copy), "copy-%zu-%d", (size_t)user, i);
        use_store(key, copy);
        EXPECT(chela_store_open("memory:", NULL, &own, NULL) == 0);
        chela_store_close(own);
        char *address;
        int fd;
        EXPECT(chela_gateway_listen("127.0.0.1:0", &fd, &address, NULL) == 0);
        close(fd);
        drop(address);
    }
    return NULL;
}

static void a_store_is_shared(void **state) {
    (void)state;
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    with_threads(use_one_store);
    chela_store_close(store);
}

/* --- a run and its calls, from beside the loop ---------------------------------------------- */

static chela_call *open_call;
static chela_run *run;
static chela_gateway *gateway;
static pthread_t finisher;

/* A call that another thread finishes, while others look on. */
static void *work_on_call(void *user) {
    for (int i = 0; i < ROUNDS; i++) {
        chela_call_progress(open_call, "at work");
        EXPECT(!chela_call_cancelled(open_call));
    }
    if (user) {
        chela_result_text(open_call, "done", 4);
        chela_call_finish(open_call);
    }
    return NULL;
}

static int later(chela_call *call, void *user) {
    pthread_t other;
    (void)user;
    chela_call_defer(call);
    open_call = call;
    EXPECT(pthread_create(&other, NULL, work_on_call, NULL) == 0);
    pthread_join(other, NULL);
    EXPECT(pthread_create(&finisher, NULL, work_on_call, call) == 0);
    return 0;
}

static void *stop_all(void *user) {
    if (user)
        chela_cancel(run, "no longer wanted");
    else
        chela_run_leave(run);
    chela_gateway_interrupt(gateway);
    chela_gateway_stop(gateway, 0);
    return NULL;
}

static int wait_for_cancel(chela_call *call, void *user) {
    (void)user;
    while (!chela_call_cancelled(call))
        sched_yield();
    return 0;
}

static void write_rules(char *path, const char *dir) {
    snprintf(path, 256, "%s/rules.yaml", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("rules:\n"
          "  - when: { user: wait }\n    call: { tool: endless, args: {} }\n"
          "  - when: { after: later }\n    say: finished\n"
          "  - call: { tool: later, args: {} }\n",
          f);
    fclose(f);
}

static chela_mcp_server *offers;

static void *stop_server(void *user) {
    (void)user;
    for (int i = 0; i < ROUNDS; i++)
        chela_mcp_server_stop(offers);
    return NULL;
}

static void a_server_is_stopped_from_elsewhere(void **state) {
    struct chela_mcp_server_opts opts = CHELA_MCP_SERVER_OPTS(.name = "m", .version = "1");
    chela_runtime *rt = NULL;
    pthread_t other;
    (void)state;
    assert_int_equal(chela_runtime_new(NULL, &rt, NULL), 0);
    assert_int_equal(chela_mcp_server_new(rt, &opts, &offers, NULL), 0);
    assert_int_equal(pthread_create(&other, NULL, stop_server, NULL), 0);
    assert_int_equal(chela_mcp_server_run(offers), 0);
    pthread_join(other, NULL);
    chela_runtime_close(rt);
}

static void a_run_is_stopped_from_elsewhere(void **state) {
    char dir[200], path[256], model[300];
    const char *tmp = getenv("TMPDIR");
    chela_runtime *rt = NULL;
    chela_agent *agent = NULL;
    chela_session *session = NULL;
    (void)state;
    snprintf(dir, sizeof(dir), "%s/chela-threads-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(dir));
    write_rules(path, dir);
    snprintf(model, sizeof(model), "scripted/%s", path);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = model);
    struct chela_tool_opts deferred = CHELA_TOOL_OPTS(.name = "later", .description = "Later.",
                                                      .fn = later, .flags = CHELA_TOOL_ON_LOOP);
    assert_int_equal(chela_runtime_new(NULL, &rt, NULL), 0);
    assert_int_equal(chela_agent_new(rt, &opts, &agent, NULL), 0);
    assert_int_equal(chela_agent_add_tool(agent, &deferred, NULL), 0);
    assert_int_equal(
        chela_agent_tool(agent, "endless", "Waits.", NULL, wait_for_cancel, NULL), 0);
    assert_int_equal(chela_session_new(agent, NULL, &session, NULL), 0);
    chela_agent *agents[] = {agent, NULL};
    struct chela_gateway_opts serve = CHELA_GATEWAY_OPTS(
        .listen = "127.0.0.1:0", .token = "0123456789abcdef", .agents = agents);
    assert_int_equal(chela_gateway_new(rt, &serve, &gateway, NULL), 0);

    assert_int_equal(chela_run_start(session, "go", 2, NULL, &run, NULL), 0);
    assert_int_equal(chela_run_wait(run), 0);
    assert_string_equal(chela_run_text(run), "finished");
    pthread_join(finisher, NULL);
    chela_run_free(run);

    assert_int_equal(chela_run_start(session, "wait", 4, NULL, &run, NULL), 0);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, stop_all, i % 2 ? &threads : NULL), 0);
    assert_int_equal(chela_run_wait(run), 0);
    assert_int_equal(chela_run_status(run), CHELA_STATUS_CANCELLED);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    int rc;
    while ((rc = chela_gateway_run(gateway)) == 1) /* interrupted */
        continue;
    assert_int_equal(rc, 0);
    chela_run_free(run);
    chela_gateway_close(gateway);
    chela_runtime_close(rt);
    assert_int_equal(atomic_load(&problems), 0);
    remove(path);
    remove(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_need_no_thread),
        cmocka_unit_test(every_thread_has_a_runtime),
        cmocka_unit_test(a_store_is_shared),
        cmocka_unit_test(a_server_is_stopped_from_elsewhere),
        cmocka_unit_test(a_run_is_stopped_from_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
