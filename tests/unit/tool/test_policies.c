/* test_policies.c -- which policies fit whom, and what they leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "tool/registry/policies.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct ch_policies *read_some(void) {
    static const char *const owner[] = {"ou_owner", "*@staff.example", NULL};
    static const char *const bob[] = {"ou_bob", NULL};
    static const struct chela_policy
        all = CHELA_POLICY(.id = "all", .channel = "*", .deny = "group:runtime"),
        strangers = CHELA_POLICY(.id = "strangers", .channel = "feishu", .except = owner,
                                 .permission = CHELA_PERM_READ, .approve = CHELA_APPROVE_DENY),
        bobs = CHELA_POLICY(.id = "bob", .channel = "feishu", .senders = bob,
                            .allow = "read,write,exec", .approve = CHELA_APPROVE_ASK),
        web = CHELA_POLICY(.id = "web", .channel = "web-?", .allow = "");
    const struct chela_policy *const list[] = {&all, &strangers, &bobs, &web, NULL};
    struct ch_policies *ps;
    struct chela_error err = {0};
    if (ch_policies_new(list, &ps, &err) < 0)
        fail_msg("%s", err.message);
    return ps;
}

static const struct {
    const char *channel, *sender, *fit, *tools;
    enum ch_consent means; /* of a run that lets everything run */
} cases[] = {
    {NULL, NULL, "", "read write exec", CH_CONSENT_AUTO},
    {NULL, "ou_bob", "", "read write exec", CH_CONSENT_AUTO},
    {"feishu", "ou_owner", "all ", "read write", CH_CONSENT_AUTO},
    {"feishu", "amy@staff.example", "all ", "read write", CH_CONSENT_AUTO},
    {"feishu", "ou_x", "all strangers ", "read", CH_CONSENT_DENY},
    {"feishu", "ou_bob", "all strangers bob ", "read", CH_CONSENT_DENY},
    /* who is not known is nobody's exception */
    {"feishu", NULL, "all strangers ", "read", CH_CONSENT_DENY},
    {"feishu", "", "all strangers ", "read", CH_CONSENT_DENY},
    /* ids are compared as they are, and hold for their channel alone */
    {"feishu", "OU_OWNER", "all strangers ", "read", CH_CONSENT_DENY},
    {"feishu", "ou_owner ", "all strangers ", "read", CH_CONSENT_DENY},
    {"mail", "ou_bob", "all ", "read write", CH_CONSENT_AUTO},
    {"Feishu", "ou_x", "all ", "read write", CH_CONSENT_AUTO},
    {"web-1", "any", "all web ", "", CH_CONSENT_AUTO},
    {"web-10", "any", "all ", "read write", CH_CONSENT_AUTO},
};

static void list_tools(const struct ch_policy *p, struct ch_buf *out) {
    static const struct {
        const char *name;
        enum chela_permission needs;
    } tools[] = {{"read", CHELA_PERM_READ}, {"write", CHELA_PERM_WRITE},
                 {"exec", CHELA_PERM_ADMIN}};
    for (size_t i = 0; i < CH_LEN(tools); i++)
        if (ch_policy_allows(p, ch_sv_str(tools[i].name), tools[i].needs))
            ch_buf_addf(out, "%s%s", out->n ? " " : "", tools[i].name);
}

static void test_table(void **state) {
    (void)state;
    struct ch_policies *ps = read_some();
    static const struct ch_policy agent = {.permission = CHELA_PERM_ADMIN};
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_who who = {cases[i].channel, cases[i].sender};
        CH_BUF_AUTO fit = {0}, tools = {0};
        const struct ch_policy *outer;
        size_t at = 0;
        for (const char *id; (id = ch_policies_each(ps, who, &at));)
            ch_buf_addf(&fit, "%s ", id);
        struct ch_policy *bounds = ch_policies_bound(ps, who, &agent, &outer);
        list_tools(outer, &tools);
        if (strcmp(ch_buf_str(&fit), cases[i].fit) != 0 ||
            strcmp(ch_buf_str(&tools), cases[i].tools) != 0 ||
            ch_policies_consent(ps, who, CH_CONSENT_AUTO) != cases[i].means)
            fail_msg("case %zu: fit '%s', tools '%s'", i, ch_buf_str(&fit), ch_buf_str(&tools));
        ch_free(bounds);
    }
    ch_policies_free(ps);
}

/* They take away from what the agent may do, and never add. */
static void test_within(void **state) {
    (void)state;
    struct ch_policies *ps = read_some();
    struct ch_policy agent;
    const struct ch_policy *outer;
    assert_int_equal(ch_policy_init(&agent, "write", NULL, CHELA_PERM_ADMIN, NULL), 0);
    struct ch_policy *bounds =
        ch_policies_bound(ps, (struct ch_who){"feishu", "ou_owner"}, &agent, &outer);
    assert_true(ch_policy_allows(outer, CH_SV("write"), CHELA_PERM_WRITE));
    assert_false(ch_policy_allows(outer, CH_SV("read"), CHELA_PERM_READ));
    ch_free(bounds);
    assert_int_equal(
        ch_policies_consent(ps, (struct ch_who){"feishu", "ou_owner"}, CH_CONSENT_DENY),
        CH_CONSENT_DENY);
    assert_null(ch_policies_bound(NULL, (struct ch_who){"feishu", "x"}, &agent, &outer));
    assert_ptr_equal(outer, &agent);
    ch_policy_release(&agent);
    ch_policies_free(ps);
}

static void test_same(void **state) {
    (void)state;
    struct ch_policies *ps = read_some();
    struct ch_who owner = {"feishu", "ou_owner"}, x = {"feishu", "ou_x"}, y = {"feishu", "ou_y"};
    assert_true(ch_policies_same(ps, x, y));
    assert_false(ch_policies_same(ps, x, owner));
    assert_true(ch_policies_same(NULL, x, owner));
    ch_policies_free(ps);
}

static const struct {
    struct chela_policy policy;
    const char *why;
} bad[] = {
    {CHELA_POLICY(.id = "p"), "policy p: channel is missing"},
    {CHELA_POLICY(.id = "p", .channel = ""), "policy p: channel is missing"},
    {CHELA_POLICY(.channel = "x", .approve = (enum chela_approve)9),
     "policy ?: there is no approve 9"},
    {CHELA_POLICY(.id = "p", .channel = "x", .deny = "group:all"),
     "policy p: there is no group:all (there are "},
};

static void test_bad(void **state) {
    (void)state;
    struct chela_policy anywhere =
        CHELA_POLICY(.id = "p", .channel = "f*", .except = LIST("ou_owner"));
    struct ch_policies *ps;
    struct chela_error err = {0};
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        const struct chela_policy *const list[] = {&bad[i].policy, NULL};
        assert_int_equal(ch_policies_new(list, &ps, &err), CHELA_EINVAL);
        if (strncmp(err.message, bad[i].why, strlen(bad[i].why)) != 0)
            fail_msg("%s", err.message);
    }
    const struct chela_policy *const list[] = {&anywhere, NULL};
    assert_int_equal(ch_policies_new(list, &ps, &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "must be one name"));
    assert_int_equal(ch_policies_new(NULL, &ps, &err), 0);
    assert_null(ps);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_within),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
