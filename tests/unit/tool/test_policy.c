/* test_policy.c -- who may see which tool, as a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/mem.h"
#include "tool/registry/policy.h"

static const struct {
    const char *allow, *deny;
    enum chela_permission bound;
    const char *name;
    enum chela_permission needs;
    bool allowed;
} cases[] = {
    /* lists */
    {NULL, NULL, CHELA_PERM_ADMIN, "read", CHELA_PERM_READ, true},
    {"read,ls", NULL, CHELA_PERM_ADMIN, "ls", CHELA_PERM_READ, true},
    {" read , ls ", NULL, CHELA_PERM_ADMIN, "ls", CHELA_PERM_READ, true},
    {"read,ls", NULL, CHELA_PERM_ADMIN, "write", CHELA_PERM_WRITE, false},
    {"", NULL, CHELA_PERM_ADMIN, "read", CHELA_PERM_READ, false},
    {" , ,", NULL, CHELA_PERM_ADMIN, "read", CHELA_PERM_READ, false},
    {"*", NULL, CHELA_PERM_ADMIN, "read", CHELA_PERM_READ, true},
    {"web_*", NULL, CHELA_PERM_ADMIN, "web_fetch", CHELA_PERM_READ, true},
    {"web_*", NULL, CHELA_PERM_ADMIN, "web", CHELA_PERM_READ, false},
    {"READ", NULL, CHELA_PERM_ADMIN, "read", CHELA_PERM_READ, false},
    {"rea", NULL, CHELA_PERM_ADMIN, "read", CHELA_PERM_READ, false},
    /* deny wins */
    {"read", "read", CHELA_PERM_ADMIN, "read", CHELA_PERM_READ, false},
    {"*", "exec", CHELA_PERM_ADMIN, "exec", CHELA_PERM_ADMIN, false},
    {"exec", "*", CHELA_PERM_ADMIN, "exec", CHELA_PERM_ADMIN, false},
    {NULL, "", CHELA_PERM_ADMIN, "exec", CHELA_PERM_ADMIN, true},
    /* groups */
    {"group:files", NULL, CHELA_PERM_ADMIN, "edit", CHELA_PERM_WRITE, true},
    {"group:files", NULL, CHELA_PERM_ADMIN, "exec", CHELA_PERM_ADMIN, false},
    {"group:files,exec", "group:runtime", CHELA_PERM_ADMIN, "exec", CHELA_PERM_ADMIN, false},
    {NULL, "group:net", CHELA_PERM_ADMIN, "web_fetch", CHELA_PERM_READ, false},
    {NULL, "group:net", CHELA_PERM_ADMIN, "read", CHELA_PERM_READ, true},
    /* permission */
    {NULL, NULL, CHELA_PERM_READ, "read", CHELA_PERM_READ, true},
    {NULL, NULL, CHELA_PERM_READ, "write", CHELA_PERM_WRITE, false},
    {NULL, NULL, CHELA_PERM_READ, "mine", CHELA_PERM_ADMIN, false},
    {NULL, NULL, CHELA_PERM_WRITE, "write", CHELA_PERM_WRITE, true},
    {NULL, NULL, CHELA_PERM_WRITE, "mine", CHELA_PERM_ADMIN, false},
    {NULL, NULL, CHELA_PERM_ADMIN, "mine", CHELA_PERM_ADMIN, true},
    {"exec", NULL, CHELA_PERM_READ, "exec", CHELA_PERM_ADMIN, false},
};

static void test_table(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_policy p;
        assert_int_equal(ch_policy_init(&p, cases[i].allow, cases[i].deny, cases[i].bound, NULL),
                         0);
        if (ch_policy_allows(&p, ch_sv_str(cases[i].name), cases[i].needs) != cases[i].allowed)
            fail_msg("case %zu: allow %s, deny %s, %s", i, cases[i].allow, cases[i].deny,
                     cases[i].name);
        ch_policy_release(&p);
    }
    assert_true(ch_policy_allows(NULL, CH_SV("any"), CHELA_PERM_ADMIN));
}

/* What one is within bounds it; it never widens. */
static void test_nested(void **state) {
    (void)state;
    struct ch_policy agent, sender;

    assert_int_equal(ch_policy_init(&agent, "read,exec", NULL, CHELA_PERM_ADMIN, NULL), 0);
    assert_int_equal(ch_policy_init(&sender, "*", "exec", CHELA_PERM_WRITE, NULL), 0);
    sender.within = &agent;
    assert_true(ch_policy_allows(&sender, CH_SV("read"), CHELA_PERM_READ));
    assert_false(ch_policy_allows(&sender, CH_SV("exec"), CHELA_PERM_ADMIN));
    assert_false(ch_policy_allows(&sender, CH_SV("write"), CHELA_PERM_WRITE));
    assert_true(ch_policy_allows(&agent, CH_SV("exec"), CHELA_PERM_ADMIN));
    ch_policy_release(&sender);
    ch_policy_release(&agent);
}

static void test_unknown_group(void **state) {
    (void)state;
    struct chela_error err = {0};
    struct ch_policy p;

    assert_int_equal(ch_policy_init(&p, "group:file", NULL, CHELA_PERM_ADMIN, &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "there is no group:file (there are group:files, "));
    assert_int_equal(ch_policy_init(&p, NULL, "read,group:", CHELA_PERM_ADMIN, &err), CHELA_EINVAL);
    ch_policy_release(&p);
}

static void test_contradictions(void **state) {
    (void)state;
    static const struct {
        const char *word, *deny;
        bool bad;
    } list[] = {
        {"exec", "exec", true},
        {"exec", "read, exec", true},
        {"exec", "group:runtime", true},
        {"exec", "e*", true},
        {"exec", "read", false},
        {"*", "exec", false},
        {"*", "*", true},
        {"group:files", "edit", false},
        {"group:files", "group:files", true},
        {"web_*", "web_fetch", false},
        {"exec", "", false},
    };

    for (size_t i = 0; i < CH_LEN(list); i++)
        if (ch_policy_contradicts(ch_sv_str(list[i].word), ch_sv_str(list[i].deny)) != list[i].bad)
            fail_msg("%s, %s", list[i].word, list[i].deny);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_unknown_group),
        cmocka_unit_test(test_contradictions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
