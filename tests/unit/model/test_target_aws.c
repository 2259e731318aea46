/* test_target_aws.c -- a target that Amazon serves: its address, its key, or why it
 * has none; and which variables choose it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/provider/target_aws.h"
#include "model/provider/discover.h"
#include "model/provider/target.h"
#include "base/mem.h"
#include "net/aws.h"

/* "NAME=value NAME=value" */
static const char *env(const char *name, void *user) {
    static char values[8][200];
    static size_t next;
    size_t n = strlen(name);
    for (const char *at = user; at && *at; at += strcspn(at, " "), at += *at == ' ')
        if (strncmp(at, name, n) == 0 && at[n] == '=') {
            char *value = values[next++ % 8];
            snprintf(value, 200, "%.*s", (int)strcspn(at + n + 1, " "), at + n + 1);
            return value;
        }
    return NULL;
}

static struct ch_providers providers_with(const char *variables) {
    return (struct ch_providers){.env = env, .user = (void *)variables};
}

#define KEYS "AWS_ACCESS_KEY_ID=AK AWS_SECRET_ACCESS_KEY=some-secret "
#define NOVA "bedrock/us.amazon.nova-lite-v1:0"
#define ARN \
    "bedrock/arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-lite-v1:0"
#define HOST(region) "https://bedrock-runtime." region ".amazonaws.com"

static void test_targets(void **state) {
    (void)state;
    static const struct {
        const char *env, *spec, *base_url;
        const char *url;    /* or what the failure says */
        const char *region; /* signed for; NULL: not signed */
        int rc;
    } cases[] = {
        {KEYS "AWS_REGION=us-west-2", NOVA, NULL, HOST("us-west-2"), "us-west-2", 0},
        {KEYS "AWS_DEFAULT_REGION=us-west-2", NOVA, NULL, HOST("us-west-2"), "us-west-2", 0},
        {KEYS "AWS_REGION=us-west-2", ARN, NULL, HOST("eu-west-1"), "eu-west-1", 0},
        {KEYS, ARN, NULL, HOST("eu-west-1"), "eu-west-1", 0},
        {KEYS, "prompted+" NOVA, HOST("us-west-1"), HOST("us-west-1"), "us-west-1", 0},
        {KEYS, NOVA, HOST("us-west-1") "/", HOST("us-west-1"), "us-west-1", 0},
        {KEYS "AWS_REGION=eu-west-3", NOVA, "http://127.0.0.1:1/x", "http://127.0.0.1:1/x",
         "eu-west-3", 0},
        {KEYS, NOVA, "http://127.0.0.1:1/x", "http://127.0.0.1:1/x", "us-east-1", 0},
        {"", NOVA, "http://127.0.0.1:1/x", "http://127.0.0.1:1/x", NULL, 0},
        {KEYS "AWS_BEARER_TOKEN_BEDROCK=bedrock-key AWS_REGION=us-west-2", NOVA, NULL,
         HOST("us-west-2"), NULL, 0},
        {KEYS, NOVA, NULL, "set AWS_REGION", NULL, CHELA_ECONFIG},
        {KEYS "AWS_REGION=evil.example/", NOVA, NULL, "is no AWS region", NULL, CHELA_ECONFIG},
        {"AWS_REGION=us-west-2", NOVA, NULL,
         "no credentials for bedrock: set "
         "AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID",
         NULL, CHELA_EAUTH},
        {"AWS_ACCESS_KEY_ID=AK", NOVA, NULL, "one half", NULL, CHELA_EAUTH},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_providers ps = providers_with(cases[i].env);
        struct ch_target_opts opts = {.base_url = cases[i].base_url};
        struct chela_error err = {0};
        struct ch_target *t = NULL;
        assert_int_equal(ch_target_new(&ps, cases[i].spec, &opts, &t, &err), cases[i].rc);
        if (cases[i].rc < 0) {
            if (!strstr(err.message, cases[i].url))
                fail_msg("%s: %s", cases[i].env, err.message);
        } else {
            assert_string_equal(t->ep.base_url, cases[i].url);
            assert_int_equal(t->aws != NULL, cases[i].region != NULL);
            if (t->aws)
                assert_string_equal(t->aws->region, cases[i].region);
        }
        ch_target_free(t);
        ch_providers_release(&ps);
    }
}

static void test_signing(void **state) {
    (void)state;
    struct ch_providers ps = providers_with(KEYS "AWS_REGION=us-west-2");
    struct ch_target *t;
    CH_ARENA_AUTO a = {0};
    struct ch_http_request req = {.method = "POST", .url = "https://h/"};
    assert_int_equal(ch_target_new(&ps, NOVA, NULL, &t, NULL), 0);
    assert_int_equal(ch_target_aws_sign(t, 0, &a, &req, NULL), 0);
    struct ch_sv auth = ch_header_find(req.headers, req.nheaders, "authorization");
    assert_true(ch_sv_starts(auth, "AWS4-HMAC-SHA256 Credential=AK/19700101/us-west-2/bedrock/"));

    /* What the configuration gives by hand stays. */
    struct ch_header own = {CH_SV("authorization"), CH_SV("Bearer mine")};
    struct ch_http_request other = {
        .method = "POST", .url = "https://h/", .headers = &own, .nheaders = 1};
    assert_int_equal(ch_target_aws_sign(t, 0, &a, &other, NULL), 0);
    assert_int_equal(other.nheaders, 1);
    ch_target_free(t);
    ch_providers_release(&ps);
}

static void test_discovery(void **state) {
    (void)state;
    static const struct {
        const char *env, *why;
    } cases[] = {{KEYS, "AWS_ACCESS_KEY_ID"},
                 {KEYS "AWS_BEARER_TOKEN_BEDROCK=k", "AWS_BEARER_TOKEN_BEDROCK"}};
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_providers ps = providers_with(cases[i].env);
        const char *why;
        CH_AUTOFREE char *model = ch_discover_model(&ps, &why);
        assert_true(ch_sv_starts(ch_sv_str(model), "bedrock/"));
        assert_string_equal(why, cases[i].why);
        ch_providers_release(&ps);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_signing),
        cmocka_unit_test(test_discovery),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
