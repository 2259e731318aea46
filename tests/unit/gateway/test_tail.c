/* test_tail.c -- the tail of a session whose message is being stored: no event reaches the watcher
 * before the message is awaited, and none of the message's own events is lost. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/handle/agent.h"
#include "gateway/lane/client_input.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/tail.h"
#include "gateway/request/gateway_state.h"
#include "store/store.h"

struct world {
    chela_store *store;
    chela_runtime *rt;
    chela_agent *agent;
    chela_gateway *gw;
    struct ch_lane *lane;
    struct ch_lane_watcher keeps; /* the lane open */
    int ends;
};

struct seen {
    struct ch_lane_watcher watcher;
    int opened, events, starts, ends, deleted;
};

static void on_end(struct ch_lane_watcher *w, const struct chela_event *ev) {
    CH_CONTAINER(w, struct world, keeps)->ends += ev->type == CHELA_EV_RUN_END;
}

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
    struct ch_lane_opts l = {.agent = w->agent, .key = "s"};
    assert_int_equal(ch_lane_use(w->gw, &l, &w->lane, &err), 0);
    w->ends = 0;
    w->keeps = (struct ch_lane_watcher){.event = on_end};
    ch_lane_watch(w->lane, &w->keeps);
}

static void end(struct world *w) {
    chela_gateway_close(w->gw);
    chela_runtime_close(w->rt);
    chela_store_close(w->store);
}

static void turn(struct world *w) {
    chela_runtime_poll(w->rt);
    poll(NULL, 0, 1);
}

static void say(struct world *w, const char *id) {
    struct ch_block text = {.type = CH_BLOCK_TEXT, .text = CH_SV("hello")};
    struct ch_msg *m = ch_msg_new(CH_MSG_USER, &text, 1, 1);
    CH_BUF_AUTO data = {0};
    struct ch_jw json = ch_jw(&data);
    int before = w->ends;
    ch_client_input_write(&json, m, CH_SV("run"));
    ch_msg_free(m);
    ch_client_input_accept(w->gw, &ch_client_message, "s", w->agent->id, &data, id, NULL, NULL);
    for (int i = 0; i < 20000 && w->ends == before; i++)
        turn(w);
    assert_int_equal(w->ends, before + 1);
}

static void on_event(struct ch_lane_watcher *w, const struct chela_event *ev) {
    struct seen *s = CH_CONTAINER(w, struct seen, watcher);
    s->events++;
    s->starts += ev->type == CHELA_EV_RUN_START;
    s->ends += ev->type == CHELA_EV_RUN_END;
}

static void on_opened(struct ch_lane_watcher *w, bool gap, const struct chela_error *err,
                      void *user) {
    struct seen *s = user;
    (void)w;
    assert_false(gap);
    assert_null(err);
    s->opened++;
}

static void on_settled(const struct chela_error *err, void *user) {
    (void)user;
    assert_null(err);
}

static void open_tail(struct world *w, struct seen *s, enum ch_tail_start start) {
    *s = (struct seen){.watcher.event = on_event};
    ch_tail_open(w->gw, "s", start, CH_SV(""), &s->watcher, on_opened, s);
    for (int i = 0; i < 20000 && !s->opened; i++)
        turn(w);
    assert_int_equal(s->opened, 1);
}

static void wait_ends(struct world *w, struct seen *s, int n) {
    for (int i = 0; i < 20000 && s->ends < n; i++)
        turn(w);
    assert_int_equal(s->ends, n);
}

/* `plain` shows how far the tails have read. */
static void test_events_before_the_message_are_held(void **state) {
    (void)state;
    struct world w;
    struct seen awaiting, plain;
    begin(&w);
    say(&w, "first");
    open_tail(&w, &awaiting, CH_TAIL_AWAIT);
    open_tail(&w, &plain, CH_TAIL_NOW);
    for (int i = 1; i < 5; i++) {
        static const char *const ids[] = {"0", "1", "2", "3", "mine"};
        say(&w, ids[i]);
        wait_ends(&w, &plain, i);
    }
    assert_int_equal(awaiting.events, 0);
    ch_tail_await(&awaiting.watcher, CH_API_EVENT "mine", true, on_settled, NULL);
    wait_ends(&w, &awaiting, 1);
    assert_int_equal(awaiting.starts, 1);
    assert_string_equal(ch_tail_taken_as(&awaiting.watcher), "start");
    ch_lane_unwatch(&awaiting.watcher);
    ch_lane_unwatch(&plain.watcher);
    end(&w);
}

static void delete_session(struct world *w) {
    struct chela_error err = {0};
    int rc = CHELA_EBUSY;
    ch_lane_unwatch(&w->keeps);
    ch_lane_close(w->lane);
    for (int i = 0; i < 20000 && rc == CHELA_EBUSY; i++) {
        turn(w);
        rc = chela_store_delete(w->store, "s", &err);
    }
    assert_int_equal(rc, 0);
}

static void on_deleted(struct ch_lane_watcher *w) {
    CH_CONTAINER(w, struct seen, watcher)->deleted++;
}

/* A watcher that stays is told once, whether it watches a lane or a tail. */
static void test_a_deleted_session_ends_its_watchers(void **state) {
    (void)state;
    struct world w;
    struct seen tail, lane = {.watcher = {.event = on_event, .deleted = on_deleted}};
    begin(&w);
    say(&w, "first");
    open_tail(&w, &tail, CH_TAIL_NOW);
    tail.watcher.deleted = on_deleted;
    ch_lane_watch(w.lane, &lane.watcher);
    delete_session(&w);
    for (int i = 0; i < 20000 && !(tail.deleted && lane.deleted); i++)
        turn(&w);
    for (int i = 0; i < 20; i++)
        turn(&w);
    assert_int_equal(tail.deleted, 1);
    assert_int_equal(lane.deleted, 1);
    end(&w);
}

static bool told_gone;

static void on_told(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                    const struct chela_error *err, void *user) {
    (void)d, (void)l, (void)user;
    told_gone |= stage == CH_DELIVERY_REFUSED && err->code == CHELA_ENOENT;
}

static int is_free(const struct chela_store_session *s, void *user) {
    *(bool *)user = !*s->owner;
    return 0;
}

/* A result for a session that its gateway has just released is awaited: any gateway takes it up,
 * or refuses it. */
static void test_a_session_that_nobody_holds_is_awaited(void **state) {
    (void)state;
    struct world w;
    struct seen awaiting;
    bool unheld = false;
    begin(&w);
    say(&w, "first");
    ch_lane_unwatch(&w.keeps);
    ch_lane_close(w.lane);
    for (int i = 0; i < 20000 && !unheld; i++) {
        turn(&w);
        assert_int_equal(chela_store_session(w.store, "s", is_free, &unheld, NULL), 0);
    }
    assert_true(unheld);
    open_tail(&w, &awaiting, CH_TAIL_AWAIT); /* without a gap */
    ch_lane_unwatch(&awaiting.watcher);
    end(&w);
}

/* The request to release a session that was deleted meanwhile does not create it again. */
static void test_a_release_creates_no_session(void **state) {
    (void)state;
    struct world w;
    struct chela_error err = {0};
    bool unheld = false;
    CH_BUF_AUTO none = {0};
    begin(&w);
    say(&w, "first");
    delete_session(&w);
    ch_client_input_accept(w.gw, &ch_client_release, "s", "", &none, "r", on_told, NULL);
    for (int i = 0; i < 20000 && !told_gone; i++)
        turn(&w);
    assert_true(told_gone);
    assert_int_equal(chela_store_session(w.store, "s", is_free, &unheld, &err), CHELA_ENOENT);
    end(&w);
}

static int refused_with;

static void on_refused(const struct chela_error *err, void *user) {
    struct seen *s = user;
    assert_non_null(err);
    refused_with = err->code;
    ch_lane_unwatch(&s->watcher);
}

static void test_a_deleted_session_refuses(void **state) {
    (void)state;
    struct world w;
    struct seen awaiting, plain;
    begin(&w);
    say(&w, "first");
    open_tail(&w, &awaiting, CH_TAIL_AWAIT);
    open_tail(&w, &plain, CH_TAIL_NOW);
    delete_session(&w);
    wait_ends(&w, &plain, 1);
    for (int i = 0; i < 20; i++)
        turn(&w);
    assert_int_equal(awaiting.events, 0);
    assert_non_null(awaiting.watcher.tail);
    ch_tail_await(&awaiting.watcher, CH_API_EVENT "mine", true, on_refused, &awaiting);
    for (int i = 0; i < 20000 && !refused_with; i++)
        turn(&w);
    assert_int_equal(refused_with, CHELA_ENOENT);
    assert_int_equal(awaiting.events, 0);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_before_the_message_are_held),
        cmocka_unit_test(test_a_deleted_session_refuses),
        cmocka_unit_test(test_a_deleted_session_ends_its_watchers),
        cmocka_unit_test(test_a_session_that_nobody_holds_is_awaited),
        cmocka_unit_test(test_a_release_creates_no_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
