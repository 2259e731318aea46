/* test_patch.c -- which options may be changed by a program, and how. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "config/option.h"
#include "config/patch.h"

#define FILE_TEXT                                                                       \
    "agents:\n  list:\n    - { id: coder, model: a/b, limits: { maxTurns: 5 } } # ours\n" \
    "gateway: { drainSec: 10 }\n"

static int set(const char *text, const char *key, const char *json, struct ch_buf *out,
               struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    assert_int_equal(ch_json_parse(&arena, ch_sv_str(json), CH_JSON_STRICT, &v, NULL, err), 0);
    return ch_config_patch(ch_sv_str(text), &(struct ch_config_place){.file = "c.yaml"},
                           ch_sv_str(key), v, out, err);
}

static void test_changes(void **state) {
    static const struct {
        const char *key, *value, *line; /* that is in the new text */
    } cases[] = {
        {"gateway.drainSec", "20", "gateway: { drainSec: 20 }\n"},
        {"gateway.retentionDays", "7", "gateway: { drainSec: 10, retentionDays: 7 }\n"},
        {"agents.list[coder].limits.maxTurns", "9",
         "    - { id: coder, model: a/b, limits: { maxTurns: 9 } } # ours\n"},
        {"agents.list[coder].systemPrompt", "\"be: brief # please\"",
         "limits: { maxTurns: 5 }, systemPrompt: \"be: brief # please\" } # ours\n"},
        {"agents.list[coder].stop", "[\"a\",\"b\"]", "stop: [\"a\",\"b\"] } # ours\n"},
        {"agents.defaults.temperature", "0.5",
         "agents:\n  defaults: { temperature: 0.5 }\n  list:\n"},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct chela_error err = {0};
        CH_BUF_AUTO out = {0};
        if (set(FILE_TEXT, cases[i].key, cases[i].value, &out, &err) < 0 ||
            !strstr(ch_buf_str(&out), cases[i].line))
            fail_msg("%s: %s\n%s", cases[i].key, err.message, ch_buf_str(&out));
    }
}

static void test_refusals(void **state) {
    static const struct {
        const char *key, *value;
        int code;
    } cases[] = {
        {"agents.list[coder].tools.permission", "\"admin\"", CHELA_EPERM},
        {"agents.list[coder].tools.gateway", "true", CHELA_EPERM},
        {"agents.list[coder].tools.allow", "[\"*\"]", CHELA_EPERM},
        {"agents.list[coder].workspaceDir", "\"/\"", CHELA_EPERM},
        {"agents.list[coder].sendTo", "[\"*\"]", CHELA_EPERM},
        {"agents.list[coder].id", "\"other\"", CHELA_EPERM},
        {"gateway.tokenFile", "\"x\"", CHELA_EPERM},
        {"gateway.hosts", "[\"*\"]", CHELA_EPERM},
        {"channels.feishu.owners", "[\"ou_eve\"]", CHELA_EPERM},
        {"channels.feishu.appSecretFile", "\"x\"", CHELA_EPERM},
        {"sandbox.mode", "\"off\"", CHELA_EPERM},
        {"approvals", "{}", CHELA_EPERM},
        {"policies", "[]", CHELA_EPERM},
        {"databases", "{}", CHELA_EPERM},
        {"webFetch.allowPrivate", "true", CHELA_EPERM},
        {"store", "\"memory:\"", CHELA_EPERM},
        {"agents.list", "[]", CHELA_ENOENT},
        {"agents.list[coder]", "{}", CHELA_ENOENT},
        {"agents.list[nobody].model", "\"a/b\"", CHELA_ENOENT},
        {"gateway.drainsec", "1", CHELA_ENOENT},
        {"", "1", CHELA_ENOENT},
        {"gateway.drainSec", "\"soon\"", CHELA_ECONFIG},
        {"gateway.drainSec", "0", CHELA_ECONFIG},
        {"gateway.drainSec", "10", CHELA_EEXIST},
        {"agents.list[coder].limits.maxTurns", "{\"x\":1}", CHELA_ECONFIG},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct chela_error err = {0};
        CH_BUF_AUTO out = {0};
        int rc = set(FILE_TEXT, cases[i].key, cases[i].value, &out, &err);
        if (rc != cases[i].code || out.n)
            fail_msg("%s: %d %s\n%s", cases[i].key, rc, err.message, ch_buf_str(&out));
    }
}

/* Whatever is added to the table: what sounds like a permission or a secret is the
 * operator's until somebody decides otherwise, here. */
static void test_the_table(void **state) {
    static const char *const never[] = {"secret", "token", "Env",   "File",  "Key", "owners",
                                        "allow",  "deny",  "tools", "groups"};
    (void)state;
    for (const struct ch_option *o = ch_options; o->key; o++) {
        struct chela_error err = {0};
        CH_BUF_AUTO key = {0}, out = {0};
        ch_buf_addf(&key, "%s%s", o->scope == CH_SCOPE_AGENT ? "agents.list[coder]." : "", o->key);
        if (o->scope != CH_SCOPE_AGENT && o->scope != CH_SCOPE_FILE)
            continue;
        bool may = set(FILE_TEXT, ch_buf_str(&key), "null", &out, &err) != CHELA_EPERM;
        for (size_t i = 0; i < CH_LEN(never); i++)
            if (may && strstr(o->key, never[i]) && strcmp(o->key, "limits.tokenBudget") != 0)
                fail_msg("%s can be changed", ch_buf_str(&key));
    }
}

static void test_explain(void **state) {
    CH_BUF_AUTO one = {0}, none = {0}, agent = {0};
    (void)state;
    assert_int_equal(ch_config_explain(CH_SV("gateway.drainSec"), &one), 1);
    assert_non_null(strstr(ch_buf_str(&one), "from 1 to 3600, default 10. time that runs"));
    assert_non_null(strstr(ch_buf_str(&one), "Can be patched."));
    assert_int_equal(ch_config_explain(CH_SV("nonsense"), &none), 0);
    assert_int_equal(ch_config_explain(CH_SV("agents.list[x].limits.maxTurns"), &agent), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_the_table), cmocka_unit_test(test_explain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
