/* test_mode_settings.c -- settings of an agent for plans, roles and reflection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/feature/mode/mode_settings.h"
#include "agent/run/feature.h"
#include "base/mem.h"
#include "support/textfile.h"

static void release(chela_agent *a) {
    ch_features_release(a);
    ch_arena_release(&a->arena);
}

static const struct {
    const char *name;
    struct chela_planning_opts given;
    struct ch_reflecting want;
} reflections[] = {
    {"default", {.reflection = CHELA_REFLECTION_DEFAULT}, {0}},
    {"default, an empty list", {.reflect_tools = ""}, {0}},
    {"default, tools", {.reflect_tools = "save,mail_*"}, {.tools = "save,mail_*"}},
    {"implicit", {.reflection = CHELA_REFLECTION_IMPLICIT}, {.never = true}},
    {"on_error", {.reflection = CHELA_REFLECTION_ON_ERROR}, {.errors = true}},
    {"on_error, an empty list",
     {.reflection = CHELA_REFLECTION_ON_ERROR, .reflect_tools = ""},
     {.errors = true}},
    {"on_error, tools",
     {.reflection = CHELA_REFLECTION_ON_ERROR, .reflect_tools = "save"},
     {.errors = true, .tools = "save"}},
    {"explicit",
     {.reflection = CHELA_REFLECTION_EXPLICIT},
     {.answers = true, .errors = true}},
};

static bool same(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void test_reflection(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(reflections); i++) {
        const struct ch_reflecting *want = &reflections[i].want;
        chela_agent a = {0};
        struct ch_agent_opts o = {.planning = reflections[i].given};
        struct chela_error err = {0};
        if (ch_mode_settings_read(&a, &o, &err) != 0)
            fail_msg("%s: %s", reflections[i].name, err.message);
        const struct ch_reflecting *r = &ch_mode_settings(&a)->reflection;
        if (r->answers != want->answers || r->errors != want->errors ||
            r->never != want->never || !same(r->tools, want->tools))
            fail_msg("%s: answers %d, errors %d, never %d, tools %s", reflections[i].name,
                     r->answers, r->errors, r->never, r->tools ? r->tools : "none");
        release(&a);
    }
}

static void test_unknown_reflection(void **state) {
    chela_agent a = {0};
    struct ch_agent_opts o = {.planning = {.reflection = (enum chela_reflection)4}};
    struct chela_error err = {0};
    (void)state;
    assert_int_equal(ch_mode_settings_read(&a, &o, &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "reflection"));
    assert_false(ch_mode_settings(&a)->reflection.answers);
    release(&a);
}

static void test_none(void **state) {
    chela_agent a = {0};
    struct ch_agent_opts o = {
        .planning = {.router = "", .planner = "", .executor = "", .reflector = "", .plan = ""}};
    (void)state;
    assert_int_equal(ch_mode_settings_read(&a, &o, NULL), 0);
    assert_null(a.features); /* an agent without settings needs no memory for them */
    const struct ch_mode_settings *s = ch_mode_settings(&a);
    for (int i = 0; i < CH_ROLES; i++)
        assert_null(s->models[i]);
    assert_null(s->plan);
    release(&a);
}

static void test_models(void **state) {
    char router[] = "p/router";
    chela_agent a = {0}, other = {0};
    struct ch_agent_opts o = {.planning = {.router = router,
                                           .planner = "p/planner",
                                           .executor = "p/executor",
                                           .reflector = "p/reflector"}};
    (void)state;
    assert_int_equal(ch_mode_settings_read(&a, &o, NULL), 0);
    memset(router, 'x', strlen(router));
    const struct ch_mode_settings *s = ch_mode_settings(&a);
    assert_string_equal(s->models[CH_ROLE_ROUTER], "p/router");
    assert_string_equal(s->models[CH_ROLE_PLANNER], "p/planner");
    assert_string_equal(s->models[CH_ROLE_EXECUTOR], "p/executor");
    assert_string_equal(s->models[CH_ROLE_REFLECTOR], "p/reflector");
    assert_null(s->models[CH_ROLE_LISTENER]);
    assert_null(ch_mode_settings(&other)->models[CH_ROLE_ROUTER]); /* each agent has its own */
    release(&a);
    release(&other);
}

static void test_one_model(void **state) {
    char model[] = "p/listener";
    chela_agent a = {0};
    (void)state;
    ch_mode_settings_model(&a, CH_ROLE_LISTENER, NULL);
    ch_mode_settings_model(&a, CH_ROLE_LISTENER, "");
    assert_null(ch_mode_settings(&a)->models[CH_ROLE_LISTENER]);
    ch_mode_settings_model(&a, CH_ROLE_LISTENER, model);
    memset(model, 'x', strlen(model));
    assert_string_equal(ch_mode_settings(&a)->models[CH_ROLE_LISTENER], "p/listener");
    assert_null(ch_mode_settings(&a)->models[CH_ROLE_ROUTER]);
    ch_mode_settings_model(&a, CH_ROLE_LISTENER, "p/other");
    assert_string_equal(ch_mode_settings(&a)->models[CH_ROLE_LISTENER], "p/other");
    ch_mode_settings_model(&a, CH_ROLE_LISTENER, NULL);
    ch_mode_settings_model(&a, CH_ROLE_LISTENER, "");
    assert_string_equal(ch_mode_settings(&a)->models[CH_ROLE_LISTENER], "p/other");
    release(&a);
}

/* The reading of further options keeps the settings that are there. */
static void test_settings_are_kept(void **state) {
    chela_agent a = {0};
    struct ch_agent_opts o = {.planning = {.reflection = CHELA_REFLECTION_EXPLICIT}};
    (void)state;
    ch_mode_settings_model(&a, CH_ROLE_LISTENER, "p/listener");
    assert_int_equal(ch_mode_settings_read(&a, &o, NULL), 0);
    assert_string_equal(ch_mode_settings(&a)->models[CH_ROLE_LISTENER], "p/listener");
    assert_true(ch_mode_settings(&a)->reflection.answers);
    release(&a);
}

static void test_plan(void **state) {
    char path[] = "/tmp/chela-mode.XXXXXX";
    int fd = mkstemp(path);
    chela_agent a = {0};
    struct ch_agent_opts o = {
        .planning = {.plan = path, .reflection = CHELA_REFLECTION_ON_ERROR}};
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    put(path, "steps: [{ id: 3, tool: save }]\n");
    int rc = ch_mode_settings_read(&a, &o, NULL);
    unlink(path);
    assert_int_equal(rc, 0);
    const struct ch_json *steps = ch_json_get(ch_mode_settings(&a)->plan, "steps");
    assert_int_equal(ch_json_int(ch_json_get(ch_json_at(steps, 0), "step_id"), 0), 3);
    assert_true(ch_mode_settings(&a)->reflection.errors); /* options after the plan are read */
    release(&a);
}

static void test_no_plan(void **state) {
    char path[] = "/tmp/chela-mode.XXXXXX";
    int fd = mkstemp(path);
    chela_agent a = {0};
    struct ch_agent_opts o = {.planning = {.plan = path}};
    struct chela_error err = {0};
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    put(path, "steps: 5\n");
    int rc = ch_mode_settings_read(&a, &o, &err);
    unlink(path);
    assert_int_equal(rc, CHELA_EINVAL);
    assert_non_null(strstr(err.message, path));
    release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reflection),
        cmocka_unit_test(test_unknown_reflection),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_one_model),
        cmocka_unit_test(test_settings_are_kept),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_no_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
