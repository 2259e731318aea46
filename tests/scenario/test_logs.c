/* test_logs.c -- each runtime logs to its own sink: two in one thread, one after the
 * other or in one loop of their host's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
/* after the headers it needs */
#include <cmocka.h>
#include <uv.h>

#include <chela.h>

struct house {
    chela_runtime *rt;
    chela_agent *agent;
    chela_session *session;
    char text[4096]; /* what it logged */
    const char *port;
    unsigned ends;
};

static void take_line(enum chela_log_level level, const char *area, const char *line, void *user) {
    struct house *h = user;
    size_t n = strlen(h->text);
    (void)level;
    snprintf(h->text + n, sizeof(h->text) - n, "%s: %s\n", area, line);
}

static void build(struct house *h, void *uv, const char *port) {
    struct chela_error err = {0};
    struct chela_runtime_opts opts =
        CHELA_RUNTIME_OPTS(.uv_loop = uv, .log = take_line, .trace = "net", .user = h);
    *h = (struct house){.port = port};
    if (chela_runtime_new(&opts, &h->rt, &err) < 0)
        fail_msg("%s", err.message);
}

/* An agent that is both allowed and denied a tool is worth a line. Its model is at a
 * port that nobody listens on. */
static void furnish(struct house *h) {
    struct chela_error err = {0};
    char url[64];
    snprintf(url, sizeof(url), "http://127.0.0.1:%s/v1", h->port);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "openai/x", .base_url = url,
                                                    .api_key = "a-key", .max_retries = -1,
                                                    .tools = "read,ls", .allow = "read",
                                                    .deny = "read");
    if (chela_agent_new(h->rt, &opts, &h->agent, &err) < 0 ||
        chela_session_new(h->agent, NULL, &h->session, &err) < 0)
        fail_msg("%s", err.message);
}

static void on_event(const struct chela_event *ev, void *user) {
    ((struct house *)user)->ends += ev->type == CHELA_EV_RUN_END;
}

static void begin(struct house *h) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = on_event, .user = h);
    assert_int_equal(chela_run_start(h->session, "hi", 2, &opts, NULL, NULL), 0);
}

/* Its own lines, and none of the other. */
static void check(const struct house *h, const struct house *other) {
    char here[16], there[16];
    snprintf(here, sizeof(here), ":%s", h->port);
    snprintf(there, sizeof(there), ":%s", other->port);
    if (!strstr(h->text, here) || strstr(h->text, there))
        fail_msg("the log of port %s:\n%s", h->port, h->text);
}

static void test_one_after_the_other(void **state) {
    struct house a, b;
    (void)state;
    build(&a, NULL, "1");
    build(&b, NULL, "2");
    furnish(&a);
    assert_non_null(strstr(a.text, "policy: "));
    assert_string_equal(b.text, "");
    furnish(&b);
    assert_non_null(strstr(b.text, "policy: "));
    begin(&a);
    begin(&b);
    chela_runtime_run(b.rt);
    chela_runtime_run(a.rt);
    check(&a, &b);
    check(&b, &a);
    chela_runtime_close(b.rt);
    a.text[0] = '\0';
    begin(&a); /* the other one is gone, and took its own log alone */
    chela_runtime_run(a.rt);
    check(&a, &b);
    chela_runtime_close(a.rt);
}

static void test_in_one_loop(void **state) {
    struct house a, b;
    uv_loop_t uv;
    (void)state;
    uv_loop_init(&uv);
    build(&a, &uv, "1");
    build(&b, &uv, "2");
    furnish(&a);
    furnish(&b);
    for (unsigned i = 1; i <= 3; i++) {
        begin(&a);
        begin(&b);
        while (a.ends < i || b.ends < i)
            uv_run(&uv, UV_RUN_ONCE);
    }
    check(&a, &b);
    check(&b, &a);
    chela_runtime_close(a.rt);
    chela_runtime_close(b.rt);
    uv_run(&uv, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&uv), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_in_one_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
