/* test_hooks.c -- sets of hooks, called in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/handle/hooks.h"
#include "base/mem.h"

static char log_[64];

static void note(const char *what) {
    strncat(log_, what, sizeof(log_) - strlen(log_) - 1);
}

static char model[8]; /* of the hook below, which changes it */

static enum chela_flow patch(chela_run *run, struct chela_turn_patch *p, void *user) {
    (void)run;
    note(user);
    memcpy(model, "p/x", 4);
    model[2] = *(const char *)user;
    p->model = model;
    return CHELA_GO;
}

static enum chela_flow halt(chela_run *run, struct chela_turn_patch *p, void *user) {
    (void)run, (void)p;
    note(user);
    return CHELA_HALT;
}

static enum chela_flow close_run(chela_run *run, struct chela_turn_patch *p, void *user) {
    (void)p, (void)user;
    run->dead = true;
    return CHELA_GO;
}

static enum chela_flow edit(chela_run *run, struct chela_before_tool *c, void *user) {
    (void)run;
    note(c->arguments.n == 2 ? "fresh" : "edited");
    c->new_arguments = user;
    return CHELA_GO;
}

static enum chela_flow skip_call(chela_run *run, struct chela_before_tool *c, void *user) {
    (void)run, (void)user;
    c->action = CHELA_TOOL_SKIP;
    return CHELA_GO;
}

static enum chela_flow decide(chela_run *run, struct chela_approval *a, void *user) {
    (void)run;
    note(user);
    a->decision = *(const char *)user == 'y' ? CHELA_ALLOW_ONCE : CHELA_UNDECIDED;
    return CHELA_GO;
}

struct stage {
    chela_agent agent;
    chela_session session;
    chela_run run;
};

static chela_run *stage(struct stage *s, struct chela_hooks *hooks, size_t n) {
    *s = (struct stage){.agent = {.hooks = hooks, .nhooks = n}};
    s->session.agent = &s->agent;
    s->run.session = &s->session;
    s->run.stop = CH_IN_INPUT;
    log_[0] = '\0';
    return &s->run;
}

static void test_patches(void **state) {
    (void)state;
    struct stage s;
    struct chela_turn_patch p = {0};
    chela_run *run = stage(&s, NULL, 0);
    assert_true(ch_hook_before_model(run, &p));
    struct chela_hooks hooks[] = {{.before_model = patch, .user = "a"},
                                  {.user = "none"},
                                  {.before_model = patch, .user = "b"}};
    run = stage(&s, hooks, CH_LEN(hooks));
    assert_true(ch_hook_before_model(run, &p));
    assert_string_equal(log_, "ab");
    memcpy(model, "gone", 5);            /* the text was copied when the hook returned */
    assert_string_equal(p.model, "p/b"); /* a later set replaces what an earlier one said */
    ch_arena_release(&run->arena);
}

static void test_halt(void **state) {
    (void)state;
    struct stage s;
    struct chela_turn_patch p = {0};
    struct chela_hooks hooks[] = {{.before_model = halt, .user = "h"},
                                  {.before_model = patch, .user = "a"}};
    chela_run *run = stage(&s, hooks, CH_LEN(hooks));
    assert_false(ch_hook_before_model(run, &p));
    assert_string_equal(log_, "h");
    assert_int_equal(run->stop, CH_IN_CANCEL);

    struct chela_hooks closing[] = {{.before_model = close_run},
                                    {.before_model = patch, .user = "a"}};
    run = stage(&s, closing, CH_LEN(closing));
    assert_false(ch_hook_before_model(run, &p));
    assert_string_equal(log_, "");
    assert_int_equal(run->stop, CH_IN_INPUT);
}

static void test_calls(void **state) {
    (void)state;
    struct stage s;
    struct chela_before_tool c = {.arguments = {"{}", 2}};
    struct chela_hooks hooks[] = {{.before_tool = edit, .user = "{\"a\":1}"},
                                  {.before_tool = edit, .user = "{\"b\":1}"},
                                  {.before_tool = skip_call},
                                  {.before_tool = edit, .user = "{\"c\":1}"}};
    chela_run *run = stage(&s, hooks, CH_LEN(hooks));
    assert_true(ch_hook_before_tool(run, &c));
    assert_string_equal(log_, "freshedited"); /* nobody is asked after the decision to skip */
    assert_string_equal(c.new_arguments, "{\"b\":1}");
    assert_int_equal(c.action, CHELA_TOOL_SKIP);
    ch_arena_release(&run->arena);
}

static void test_approvals(void **state) {
    (void)state;
    struct stage s;
    struct chela_approval a = {0};
    struct chela_hooks hooks[] = {{.approve = decide, .user = "n"},
                                  {.approve = decide, .user = "y"},
                                  {.approve = decide, .user = "late"}};
    chela_run *run = stage(&s, hooks, CH_LEN(hooks));
    assert_true(ch_hook_approve(run, &a));
    assert_string_equal(log_, "ny");
    assert_int_equal(a.decision, CHELA_ALLOW_ONCE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patches),
        cmocka_unit_test(test_halt),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_approvals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
