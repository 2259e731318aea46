/* test_listener.c -- which listeners of a runtime are called, in which order, with what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/handle/listener.h"
#include "base/mem.h"

#define TRACE "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

/* A listener that logs its calls as "NAME:CALL". */
struct ear {
    struct ch_listener l; /* first */
    const char *name;
    const char *context; /* its answer; NULL: none */
    struct ch_buf *log;
};

static void note(struct ch_listener *l, const char *call) {
    struct ear *e = (struct ear *)l;
    ch_buf_addf(e->log, "%s%s:%s", e->log->n ? " " : "", e->name, call);
}

static bool answer(struct ch_listener *l, char out[CH_LISTENER_CONTEXT]) {
    const char *context = ((struct ear *)l)->context;
    if (context)
        snprintf(out, CH_LISTENER_CONTEXT, "%s", context);
    return context != NULL;
}

static void heard(struct ch_listener *l, chela_run *run, const struct chela_event *ev) {
    assert_string_equal(run->id, "run_1");
    note(l, chela_event_name(ev->type));
}

static bool context(struct ch_listener *l, const char *run, struct ch_sv call,
                    const struct ch_listener_query *q, char out[CH_LISTENER_CONTEXT]) {
    char text[64];
    snprintf(text, sizeof(text), "context(%s,%.*s,%s)", run, CH_SV_FMT(call), q ? q->role : "");
    note(l, text);
    return answer(l, out);
}

static void checkpoint(struct ch_listener *l, chela_run *run, const struct ch_block *call,
                       const char *state) {
    char text[64];
    snprintf(text, sizeof(text), "checkpoint(%s,%.*s,%s)", run->id, CH_SV_FMT(call->id), state);
    note(l, text);
}

static void queried(struct ch_listener *l, chela_run *run, const struct ch_listener_query *q) {
    assert_string_equal(run->id, "run_1");
    note(l, q->role);
}

static bool entered(struct ch_listener *l, struct ch_sv caller, char out[CH_LISTENER_CONTEXT]) {
    assert_true(ch_sv_eq(caller, CH_SV("caller")));
    note(l, "entered");
    return answer(l, out);
}

static void left(struct ch_listener *l, const struct ch_listener_request *r) {
    note(l, r->route);
}

/* A runtime with one run and three listeners: the second has only the function that is not
 * optional. */
struct world {
    chela_runtime rt;
    chela_agent agent;
    chela_session session;
    chela_run run;
    struct ch_buf log;
    struct ear ears[3];
};

static void world_open(struct world *w) {
    static const struct ch_listener all = {{NULL, NULL}, 0,       heard, context, checkpoint,
                                           queried,      entered, left};
    *w = (struct world){.ears = {{.l = all, .name = "a"},
                                 {.l = {.heard = heard}, .name = "b"},
                                 {.l = all, .name = "c"}}};
    ch_list_init(&w->rt.listeners);
    w->agent.rt = &w->rt;
    w->session.agent = &w->agent;
    w->run.session = &w->session;
    strcpy(w->run.id, "run_1");
}

static void enlist(struct world *w) {
    for (size_t i = 0; i < CH_LEN(w->ears); i++) {
        w->ears[i].log = &w->log;
        ch_list_add(&w->rt.listeners, &w->ears[i].l.link);
    }
}

static void logged(struct world *w, const char *want) {
    assert_string_equal(ch_buf_str(&w->log), want);
    ch_buf_clear(&w->log);
}

static void test_tell(void **state) {
    (void)state;
    static const struct chela_event ev = {.type = CHELA_EV_RUN_END};
    static const struct ch_block call = {.id = CH_SV("c1")};
    static const struct ch_listener_query query = {.role = "compaction"};
    static const struct ch_listener_request request = {.route = "/v1/runs"};
    struct world w;
    world_open(&w);
    enlist(&w);
    ch_listeners_tell(&w.run, &ev);
    logged(&w, "a:run_end b:run_end c:run_end");
    ch_listeners_checkpoint(&w.run, &call, "{}");
    logged(&w, "a:checkpoint(run_1,c1,{}) c:checkpoint(run_1,c1,{})");
    ch_listeners_queried(&w.run, &query);
    logged(&w, "a:compaction c:compaction");
    ch_listeners_left(&w.rt, &request);
    logged(&w, "a:/v1/runs c:/v1/runs");
    ch_list_del(&w.ears[0].l.link);
    ch_listeners_tell(&w.run, &ev);
    logged(&w, "b:run_end c:run_end");
    w.ears[1].l.ignored = CH_LISTENER_BIT(CHELA_EV_RUN_END);
    w.ears[2].l.ignored = ~CH_LISTENER_BIT(CHELA_EV_RUN_END);
    ch_listeners_tell(&w.run, &ev);
    logged(&w, "c:run_end");
    ch_buf_release(&w.log);
}

static void test_no_listeners(void **state) {
    (void)state;
    static const struct chela_event ev = {.type = CHELA_EV_RUN_END};
    CH_ARENA_AUTO arena = {0};
    struct ch_http_request h = {0};
    char out[CH_LISTENER_CONTEXT] = "as before";
    struct world w;
    world_open(&w);
    assert_false(ch_listeners_any(&w.run));
    ch_listeners_tell(&w.run, &ev);
    assert_false(ch_listeners_entered(&w.rt, CH_SV("caller"), out));
    assert_false(ch_listeners_context(&w.rt, "run_1", CH_SV("c1"), out));
    ch_listeners_add_context(&w.run, NULL, &arena, &h);
    assert_int_equal(h.nheaders, 0);
    assert_string_equal(out, "as before");
    enlist(&w);
    assert_true(ch_listeners_any(&w.run));
}

/* The first listener that has a context gives it; the later ones are not asked. */
static void test_contexts(void **state) {
    (void)state;
    static const struct {
        const char *a, *c; /* answers of the listeners */
        const char *out;   /* NULL: none */
        const char *asked, *entered;
    } cases[] = {
        {NULL, NULL, NULL, "a:context(run_1,c1,) c:context(run_1,c1,)", "a:entered c:entered"},
        {TRACE, NULL, TRACE, "a:context(run_1,c1,)", "a:entered"},
        {NULL, TRACE, TRACE, "a:context(run_1,c1,) c:context(run_1,c1,)", "a:entered c:entered"},
        {"first", "second", "first", "a:context(run_1,c1,)", "a:entered"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        const char *want = cases[i].out ? cases[i].out : "as before";
        char out[CH_LISTENER_CONTEXT] = "as before", inside[CH_LISTENER_CONTEXT] = "as before";
        struct world w;
        world_open(&w);
        enlist(&w);
        w.ears[0].context = cases[i].a;
        w.ears[2].context = cases[i].c;
        assert_int_equal(ch_listeners_context(&w.rt, "run_1", CH_SV("c1"), out),
                         cases[i].out != NULL);
        logged(&w, cases[i].asked);
        assert_string_equal(out, want);
        assert_int_equal(ch_listeners_entered(&w.rt, CH_SV("caller"), inside),
                         cases[i].out != NULL);
        logged(&w, cases[i].entered);
        assert_string_equal(inside, want);
        ch_buf_release(&w.log);
    }
}

static void test_header(void **state) {
    (void)state;
    static const struct ch_listener_query compaction = {.role = "compaction"};
    static const struct ch_header before[] = {{CH_SV("x-api-key"), CH_SV("k")}};
    static const struct {
        const char *context;
        const struct ch_listener_query *q;
        const char *asked;
    } cases[] = {
        {NULL, NULL, "a:context(run_1,,) c:context(run_1,,)"},
        {TRACE, NULL, "a:context(run_1,,)"},
        {TRACE, &compaction, "a:context(run_1,,compaction)"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO arena = {0};
        struct ch_http_request h = {.headers = before, .nheaders = CH_LEN(before)};
        struct world w;
        world_open(&w);
        enlist(&w);
        w.ears[0].context = cases[i].context;
        ch_listeners_add_context(&w.run, cases[i].q, &arena, &h);
        logged(&w, cases[i].asked);
        assert_int_equal(h.nheaders, cases[i].context ? 2 : 1);
        assert_true(ch_sv_eq(h.headers[0].name, CH_SV("x-api-key")));
        assert_true(ch_sv_eq(h.headers[0].value, CH_SV("k")));
        if (cases[i].context) {
            assert_true(ch_sv_eq(h.headers[1].name, CH_SV("traceparent")));
            assert_true(ch_sv_eq(h.headers[1].value, CH_SV(TRACE)));
        }
        ch_buf_release(&w.log);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tell),
        cmocka_unit_test(test_no_listeners),
        cmocka_unit_test(test_contexts),
        cmocka_unit_test(test_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
