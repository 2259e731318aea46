/* test_lane.c -- sessions in memory: when there are too many, the one that has rested longest
 * makes room; if all are in use, a new one is refused. A lane knows of a run from its beginning. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/handle/run.h"
#include "agent/handle/session.h"
#include "base/limits.h"
#include "gateway/lane/client_input.h"
#include "gateway/lane/delivery.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"
#include "store/store.h"

struct world {
    chela_store *store;
    chela_runtime *rt;
    chela_agent *agent;
    chela_gateway *gw;
};

static void begin(struct world *w) {
    struct chela_error err = {0};
    assert_int_equal(chela_store_open("memory:", NULL, &w->store, &err), 0);
    assert_int_equal(chela_runtime_new(NULL, &w->rt, &err), 0);
    assert_int_equal(chela_runtime_store(w->rt, w->store, CHELA_DURABILITY_DEFAULT, &err), 0);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo", .tools = "");
    assert_int_equal(chela_agent_new(w->rt, &opts, &w->agent, &err), 0);
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(
            .listen = "127.0.0.1:0", .token = "0123456789abcdef",
            .agents = (chela_agent *const[]){w->agent, NULL}, .store = w->store);
    assert_int_equal(chela_gateway_new(w->rt, &o, &w->gw, &err), 0);
}

static void end(struct world *w) {
    chela_gateway_close(w->gw);
    chela_runtime_close(w->rt);
    chela_store_close(w->store);
}

static int use(struct world *w, int i, struct ch_lane **out) {
    struct chela_error err = {0};
    char key[24];
    snprintf(key, sizeof(key), "s%d", i);
    struct ch_lane_opts o = {.agent = w->agent, .key = key};
    return ch_lane_use(w->gw, &o, out, &err);
}

static struct ch_lane *find(struct world *w, int i) {
    char key[24];
    snprintf(key, sizeof(key), "s%d", i);
    return ch_lane_find(w->gw, ch_sv_str(key));
}

static void wait_ready(struct world *w, struct ch_lane *l) {
    for (int i = 0; i < 20000 && !l->ready; i++) {
        chela_runtime_poll(w->rt);
        poll(NULL, 0, l->ready ? 0 : 1);
    }
    assert_true(l->ready);
}

static void run(struct world *w, struct ch_lane *l) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(.approve = CHELA_APPROVE_DENY);
    assert_int_equal(ch_lane_send(l, CH_SV("hello"), &opts, NULL), 0);
    for (int i = 0; i < 20000 && l->running; i++) {
        chela_runtime_poll(w->rt);
        poll(NULL, 0, l->running ? 1 : 0);
    }
    assert_false(l->running);
}

static void nothing(struct ch_lane_watcher *w, const struct chela_event *ev) {
    (void)w;
    (void)ev;
}

static void test_the_oldest_makes_room(void **state) {
    static struct ch_lane_watcher watchers[CH_LIMIT_LANES];
    (void)state;
    struct world w;
    struct ch_lane *l = NULL, *extra;
    begin(&w);
    /* Sessions that have rested for a minute are closed. A watched session does not rest. */
    for (int i = 0; i < CH_LIMIT_LANES; i++) {
        assert_int_equal(use(&w, i, &l), 0);
        watchers[i].event = nothing;
        ch_lane_watch(l, &watchers[i]);
    }
    for (int i = 0; i < CH_LIMIT_LANES; i++)
        wait_ready(&w, find(&w, i));
    run(&w, find(&w, 0)); /* the oldest, until its run ends */
    for (int i = 0; i < CH_LIMIT_LANES; i++)
        if (i != 1) /* the oldest now, but in use */
            ch_lane_unwatch(&watchers[i]);
    assert_int_equal(use(&w, CH_LIMIT_LANES, &extra), 0);
    assert_non_null(find(&w, 0));
    assert_non_null(find(&w, 1));
    assert_null(find(&w, 2));
    assert_int_equal(w.gw->nlanes, CH_LIMIT_LANES);
    wait_ready(&w, extra);
    /* all are in use */
    for (int i = 0; i < CH_LIMIT_LANES; i++)
        if (i != 1 && i != 2)
            ch_lane_watch(find(&w, i), &watchers[i]);
    ch_lane_watch(extra, &watchers[2]);
    assert_int_equal(use(&w, CH_LIMIT_LANES + 1, &l), CHELA_EOVERLOAD);
    ch_lane_unwatch(&watchers[9]);
    assert_int_equal(use(&w, CH_LIMIT_LANES + 1, &l), 0);
    assert_null(find(&w, 9));
    end(&w);
}

/* A run that begins with waiting messages: from then on the session takes no other. */
static void close_lane(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *err) {
    (void)w;
    assert_int_equal(err ? err->code : 0, CHELA_EBUSY);
    ch_lane_close(l);
}

/* Another process holds the session. A request that waits for the session deletes it. */
static void test_a_waiter_closes_a_lane_that_cannot_be_opened(void **state) {
    (void)state;
    struct world w;
    struct chela_error err = {0};
    struct ch_lane *l;
    struct ch_lane_wait wait = {.ready = close_lane};
    chela_runtime *other;
    chela_agent *agent;
    chela_session *s;
    begin(&w);
    assert_int_equal(chela_runtime_new(NULL, &other, &err), 0);
    assert_int_equal(chela_runtime_store(other, w.store, CHELA_DURABILITY_DEFAULT, &err), 0);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo", .tools = "");
    assert_int_equal(chela_agent_new(other, &opts, &agent, &err), 0);
    assert_int_equal(chela_session_new(agent, "s1", &s, &err), 0);
    assert_int_equal(chela_session_wait(s, &err), 0);
    assert_int_equal(use(&w, 1, &l), 0);
    ch_lane_when_ready(l, &wait);
    for (int i = 0; i < 20000 && find(&w, 1); i++) {
        chela_runtime_poll(w.rt);
        poll(NULL, 0, 1);
    }
    assert_null(find(&w, 1));
    assert_int_equal(w.gw->nlanes, 0);
    chela_runtime_poll(w.rt);
    assert_true(ch_list_empty(&w.gw->closed_lanes));
    end(&w);
    chela_runtime_close(other);
}

static void test_waiting_messages_begin(void **state) {
    (void)state;
    struct world w;
    struct ch_lane *l;
    struct chela_error err = {0};
    begin(&w);
    assert_int_equal(use(&w, 1, &l), 0);
    wait_ready(&w, l);
    struct chela_queue_opts collect = CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_COLLECT,
                                                       .debounce_ms = 1);
    assert_int_equal(chela_session_queue(l->session, &collect, &err), 0);
    struct chela_run_opts opts = CHELA_RUN_OPTS(.approve = CHELA_APPROVE_ASK);
    struct ch_block text = {.type = CH_BLOCK_TEXT, .text = CH_SV("hello")};
    assert_int_equal(ch_lane_queue(l, ch_msg_new(CH_MSG_USER, &text, 1, 1), &opts, &err), 0);
    bool begun = false;
    for (int i = 0; i < 20000 && !(begun && !l->running); i++) {
        chela_runtime_poll(w.rt);
        bool busy = l->session->run && !l->session->run->over;
        assert_int_equal(l->running, busy);
        begun |= busy;
        poll(NULL, 0, 1);
    }
    assert_true(begun && !l->running);
    end(&w);
}

static int found(const struct chela_store_session *s, void *user) {
    (void)s;
    (void)user;
    return 0;
}

/* The sender of a DELETE has left, and another DELETE was faster. */
static void test_a_late_release_creates_no_session(void **state) {
    (void)state;
    struct world w;
    struct chela_error err = {0};
    begin(&w);
    ch_delivery_restore(w.gw, CH_API_EVENT "1", "s1", CH_SV("{\"kind\":\"release\"}"));
    assert_null(find(&w, 1));
    for (int i = 0; i < 20; i++) {
        chela_runtime_poll(w.rt);
        poll(NULL, 0, 1);
    }
    assert_int_equal(chela_store_session(w.store, "s1", found, NULL, &err), CHELA_ENOENT);
    end(&w);
}

static int count_event(const struct chela_store_item *i, void *user) {
    (void)i;
    ++*(int *)user;
    return 0;
}

struct refusal {
    chela_store *store;
    bool refused;
    int left; /* events that the store has when the sender is told */
};

static void on_refusal(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                       const struct chela_error *err, void *user) {
    struct refusal *r = user;
    struct chela_error ignored = {0};
    (void)l;
    if (stage == CH_DELIVERY_ACCEPTED)
        return;
    assert_int_equal(stage, CH_DELIVERY_REFUSED);
    assert_int_equal(err->code, CHELA_ENOENT);
    r->refused = true;
    assert_int_equal(ch_store_waiting(r->store, d->key, 9, count_event, &r->left, &ignored), 0);
}

/* A process that ends now leaves no event that the next one would deliver. */
static void test_a_refused_event_is_removed_first(void **state) {
    (void)state;
    struct world w;
    struct ch_lane *l;
    struct refusal r = {0};
    begin(&w);
    r.store = w.store;
    assert_int_equal(use(&w, 1, &l), 0);
    wait_ready(&w, l);
    for (int n = 0; n < 10; n++) {
        char id[24];
        snprintf(id, sizeof(id), CH_API_EVENT "%d", n);
        r.refused = false;
        ch_delivery_accept(ch_delivery_new(w.gw, "results", id, "s1", "",
                                           CH_SV("\"results\":[{\"id\":\"c\",\"content\":\"\"}]")),
                           on_refusal, &r);
        for (int i = 0; i < 20000 && !r.refused; i++) {
            chela_runtime_poll(w.rt);
            poll(NULL, 0, 1);
        }
        assert_true(r.refused);
    }
    assert_int_equal(r.left, 0);
    end(&w);
}

/* A runtime has one session with a key. The session may belong to another gateway, or to the
 * program itself. */
static void test_lanes_of_one_gateway_are_found(void **state) {
    (void)state;
    struct world w;
    struct chela_error err = {0};
    struct ch_lane *l;
    chela_gateway *other;
    chela_session *s;
    begin(&w);
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(
            .listen = "127.0.0.1:0", .token = "0123456789abcdef",
            .agents = (chela_agent *const[]){w.agent, NULL}, .store = w.store);
    assert_int_equal(chela_gateway_new(w.rt, &o, &other, &err), 0);
    assert_int_equal(chela_session_new(w.agent, "s1", &s, &err), 0);
    assert_null(find(&w, 1));
    assert_int_equal(use(&w, 1, &l), CHELA_EEXIST);
    assert_int_equal(use(&w, 2, &l), 0);
    wait_ready(&w, l);
    assert_ptr_equal(find(&w, 2), l);
    assert_null(ch_lane_find(other, CH_SV("s2")));
    struct ch_lane_opts alone = {.agent = w.agent};
    assert_int_equal(ch_lane_open(w.gw, &alone, &l, &err), 0);
    assert_null(ch_lane_find(w.gw, ch_sv_str(l->session->key))); /* not stored */
    ch_lane_close(l);
    l = find(&w, 2);
    ch_lane_close(l);
    assert_null(find(&w, 2));
    assert_int_equal(use(&w, 2, &l), 0); /* while the closed lane is not freed yet */
    assert_ptr_equal(find(&w, 2), l);
    chela_gateway_close(other);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_oldest_makes_room),
        cmocka_unit_test(test_lanes_of_one_gateway_are_found),
        cmocka_unit_test(test_a_waiter_closes_a_lane_that_cannot_be_opened),
        cmocka_unit_test(test_waiting_messages_begin),
        cmocka_unit_test(test_a_late_release_creates_no_session),
        cmocka_unit_test(test_a_refused_event_is_removed_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
