/* test_budgets.c -- who meets a budget, what is used up, and what other processes spent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/limits.h"
#include "gateway/lane/budgets.h"
#include "gateway/lane/lane.h"
#include "store/budget_use.h"
#include "store/store.h"

struct world {
    chela_store *store;
    chela_runtime *rt;
    chela_agent *agent;
    chela_gateway *gw;
};

static void begin(struct world *w, const struct chela_budget *const *budgets) {
    struct chela_error err = {0};
    assert_int_equal(chela_store_open("memory:", NULL, &w->store, &err), 0);
    assert_int_equal(chela_runtime_new(NULL, &w->rt, &err), 0);
    assert_int_equal(chela_runtime_store(w->rt, w->store, CHELA_DURABILITY_DEFAULT, &err), 0);
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.id = "main", .model = "scripted/demo", .tools = "");
    assert_int_equal(chela_agent_new(w->rt, &opts, &w->agent, &err), 0);
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(
        .listen = "127.0.0.1:0", .token = "0123456789abcdef",
        .agents = (chela_agent *const[]){w->agent, NULL}, .store = w->store, .budgets = budgets);
    assert_int_equal(chela_gateway_new(w->rt, &o, &w->gw, &err), 0);
}

static void end(struct world *w) {
    chela_gateway_close(w->gw);
    chela_runtime_close(w->rt);
    chela_store_close(w->store);
}

/* A note of another process. */
static void other_spends(struct world *w, const char *process, int64_t day, const char *name,
                         const char *of, double cost, int64_t tokens) {
    CH_BUF_AUTO id = {0}, data = {0};
    struct chela_error err = {0};
    struct chela_budget_use use = {
        .name = name, .of = of, .cost_usd = cost, .tokens = tokens, .limit_usd = 9};
    ch_budget_note_id(&id, day, ch_budget_counter(name, ch_sv_str(of)), process);
    ch_budget_note_write(&data, &use);
    struct chela_store_change c = {.kind = CHELA_STORE_NOTE, .id = ch_buf_str(&id), .key = "",
                                   .data = data.p, .n = data.n, .now = ch_store_now()};
    assert_int_equal(ch_store_commit(w->store, &c, 1, true, &err), 0);
}

static int64_t today(void) {
    return ch_store_now() / CH_BUDGET_DAY_MS;
}

struct waiting {
    struct ch_budget_wait wait;
    bool known;
};

static void on_known(struct ch_budget_wait *w) {
    CH_CONTAINER(w, struct waiting, wait)->known = true;
}

static void read_others(struct world *w) {
    struct waiting k = {.wait.known = on_known};
    ch_budgets_when_known(w->gw, &k.wait);
    assert_int_equal(ch_loop_run(w->rt->loop, &k.known), 0);
}

static int admit(struct world *w, const char *agent, const char *channel, const char *sender,
                 struct chela_error *err) {
    *err = (struct chela_error){0};
    return ch_budgets_admit(w->gw, &(struct ch_spender){agent, channel, sender}, err);
}

static void several_processes_are_added_up(void **state) {
    struct chela_budget all = CHELA_BUDGET(.name = "all", .cost_usd = 10);
    const struct chela_budget *list[] = {&all, NULL};
    struct world w;
    struct chela_error err;
    (void)state;
    begin(&w, list);
    other_spends(&w, "a", today(), "all", "", 4, 1);
    other_spends(&w, "b", today(), "all", "", 5, 1);
    other_spends(&w, "c", today() - 1, "all", "", 100, 1); /* yesterday's */
    read_others(&w);
    assert_int_equal(admit(&w, "main", NULL, NULL, &err), 0);
    other_spends(&w, "b", today(), "all", "", 6, 1); /* a process replaces its own note */
    read_others(&w);
    assert_int_equal(admit(&w, "main", NULL, NULL, &err), CHELA_EBUDGET);
    assert_non_null(strstr(err.message, "'all' is used up: 10 of 10 USD today"));
    assert_in_range(err.retry_after_ms, 1, CH_BUDGET_DAY_MS);
    end(&w);
}

static void patterns_have_budgets_of_their_own(void **state) {
    struct chela_budget people = CHELA_BUDGET(.name = "people", .sender = "*", .tokens = 10);
    struct chela_budget agents = CHELA_BUDGET(.name = "agents", .agent = "m*", .tokens = 10);
    struct chela_budget web = CHELA_BUDGET(.name = "web", .channel = "http", .tokens = 10);
    const struct chela_budget *list[] = {&people, &agents, &web, NULL};
    struct world w;
    struct chela_error err;
    (void)state;
    begin(&w, list);
    other_spends(&w, "a", today(), "people", "feishu/ann", 0, 10);
    read_others(&w);
    assert_int_equal(admit(&w, "main", "feishu", "ann", &err), CHELA_EBUDGET);
    assert_non_null(strstr(err.message, "'people' of feishu/ann"));
    assert_int_equal(admit(&w, "main", "slack", "ann", &err), 0); /* another person */
    assert_int_equal(admit(&w, "main", "feishu", "bob", &err), 0);
    assert_int_equal(admit(&w, "main", "feishu", NULL, &err), 0);
    other_spends(&w, "a", today(), "agents", "main", 0, 11);
    read_others(&w);
    assert_int_equal(admit(&w, "main", "feishu", "bob", &err), CHELA_EBUDGET);
    assert_int_equal(admit(&w, "mate", "feishu", "bob", &err), 0);
    assert_int_equal(admit(&w, "other", "feishu", "bob", &err), 0);
    other_spends(&w, "a", today(), "web", "", 0, 11);
    read_others(&w);
    assert_int_equal(admit(&w, "other", NULL, NULL, &err), CHELA_EBUDGET);
    assert_int_equal(admit(&w, "other", "feishu", NULL, &err), 0);
    end(&w);
}

static void wrong_budgets_are_refused(void **state) {
    struct chela_budget none = CHELA_BUDGET(.name = "none"),
                        nameless = CHELA_BUDGET(.tokens = 1),
                        less = CHELA_BUDGET(.name = "less", .cost_usd = -1, .tokens = 1),
                        one = CHELA_BUDGET(.name = "one", .tokens = 1);
    const struct chela_budget *const lists[][3] = {
        {&none, NULL}, {&nameless, NULL}, {&less, NULL}, {&one, &one, NULL}};
    (void)state;
    for (size_t i = 0; i < CH_LEN(lists); i++) {
        struct chela_error err = {0};
        struct ch_budget_plan *plan = NULL;
        struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(.budgets = lists[i]);
        assert_int_equal(ch_budgets_plan(&o, &plan, &err), CHELA_ECONFIG);
        assert_null(plan);
    }
}

static int count_use(const struct chela_budget_use *use, void *user) {
    int64_t *tokens = user;
    assert_int_equal(use->resets, (today() + 1) * CH_BUDGET_DAY_MS);
    tokens[strcmp(use->name, "b") == 0] += use->tokens;
    return 0;
}

static void malformed_notes_are_left_out(void **state) {
    static const char *const ids[] = {"budget/", "budget/x", "budget/1/2",
                                      "budget/99999999999999999999/0/a"};
    struct chela_budget b = CHELA_BUDGET(.name = "b", .tokens = 10);
    const struct chela_budget *list[] = {&b, NULL};
    struct world w;
    struct chela_error err;
    int64_t tokens[2] = {0};
    (void)state;
    begin(&w, list);
    for (size_t i = 0; i < CH_LEN(ids); i++) {
        struct chela_store_change c = {
            .kind = CHELA_STORE_NOTE, .id = ids[i], .key = "", .data = "[1", .n = 2};
        assert_int_equal(ch_store_commit(w.store, &c, 1, true, &err), 0);
    }
    other_spends(&w, "a", today(), "b", "", 0, -5); /* a negative use counts nothing */
    other_spends(&w, "c", today(), "b", "", 0, 7);
    read_others(&w);
    assert_int_equal(admit(&w, "main", NULL, NULL, &err), 0);
    assert_int_equal(chela_store_budgets(w.store, ch_store_now(), count_use, tokens, &err), 0);
    assert_int_equal(tokens[0], 0);
    assert_int_equal(tokens[1], 7);
    end(&w);
}

static int count_note(const struct chela_store_item *i, void *user) {
    (void)i;
    ++*(int *)user;
    return 0;
}

static void old_notes_are_removed(void **state) {
    struct chela_budget b = CHELA_BUDGET(.name = "b", .tokens = 10);
    const struct chela_budget *list[] = {&b, NULL};
    struct world w;
    struct chela_error err = {0};
    int n = 0;
    (void)state;
    begin(&w, list);
    for (int64_t d = 1; d <= 5; d++)
        other_spends(&w, "a", today() - d, "b", "", 0, 1);
    for (int i = 0; i < 1000 && n != 1; i++) { /* another thread commits the removal */
        n = 0;
        read_others(&w);
        assert_int_equal(chela_store_items(w.store, CHELA_STORE_NOTES, count_note, &n, &err), 0);
    }
    assert_int_equal(n, 1);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_processes_are_added_up),
        cmocka_unit_test(patterns_have_budgets_of_their_own),
        cmocka_unit_test(wrong_budgets_are_refused),
        cmocka_unit_test(malformed_notes_are_left_out),
        cmocka_unit_test(old_notes_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
