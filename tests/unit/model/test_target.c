/* test_target.c -- targets: addresses, keys, prices and windows, as configured or built in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "model/provider/facts_book.h"
#include "model/provider/server_query.h"
#include "model/provider/target.h"

/* "NAME=value NAME=value" */
static const char *env(const char *name, void *user) {
    static char values[8][100];
    static size_t next;
    size_t n = strlen(name);
    for (const char *at = user; at && *at; at += strcspn(at, " "), at += *at == ' ')
        if (strncmp(at, name, n) == 0 && at[n] == '=') {
            char *value = values[next++ % 8];
            size_t len = strcspn(at + n + 1, " ");
            memcpy(value, at + n + 1, len);
            value[len] = '\0';
            return value;
        }
    return NULL;
}

static struct ch_providers providers(const char *variables) {
    return (struct ch_providers){.env = env, .user = (void *)variables};
}

static void configure(struct ch_providers *ps, struct chela_provider_opts opts) {
    struct chela_error err = {0};
    opts.size = sizeof(opts);
    if (ch_providers_add(ps, &opts, &err) < 0)
        fail_msg("%s", err.message);
}

static struct ch_target *target(struct ch_providers *ps, const char *spec,
                                const struct ch_target_opts *opts) {
    struct ch_target *t = NULL;
    struct chela_error err = {0};
    if (ch_target_new(ps, spec, opts, &t, &err) < 0)
        fail_msg("%s: %s", spec, err.message);
    return t;
}

static void refused(struct ch_providers *ps, const char *spec, int rc, const char *why) {
    struct ch_target *t = NULL;
    struct chela_error err = {0};
    assert_int_equal(ch_target_new(ps, spec, NULL, &t, &err), rc);
    assert_null(t);
    if (!strstr(err.message, why))
        fail_msg("%s: %s", spec, err.message);
}

/* What the agent says goes before what is configured, and that before the table. */
static void test_precedence(void **state) {
    (void)state;
    struct ch_providers ps = providers("OPENAI_API_KEY=sk-table MY_KEY=sk-mine");
    struct ch_target *t = target(&ps, "openai/gpt-5", NULL);
    assert_string_equal(t->ep.base_url, "https://api.openai.com/v1");
    assert_string_equal(t->ep.api_key, "sk-table");
    ch_target_free(t);
    configure(&ps, (struct chela_provider_opts){
                       .name = "openai", .base_url = "http://h/v1//", .api_key_env = "MY_KEY"});
    t = target(&ps, "openai/gpt-5", NULL);
    assert_string_equal(t->ep.base_url, "http://h/v1");
    assert_string_equal(t->ep.api_key, "sk-mine");
    ch_target_free(t);
    t = target(&ps, "openai/gpt-5",
               &(struct ch_target_opts){.base_url = "http://own", .api_key = "sk-own"});
    assert_string_equal(t->ep.base_url, "http://own");
    assert_string_equal(t->ep.api_key, "sk-own");
    ch_target_free(t);
    ch_providers_release(&ps);
}

/* OpenAI's own service refuses tools of newer models at Chat Completions. */
static void test_endpoint_of_the_model(void **state) {
    (void)state;
    static const struct {
        const char *spec, *url, *api, *want;
    } cases[] = {
        {"openai/gpt-5.6", NULL, NULL, "openai-responses"},
        {"openai/gpt-6-sol", NULL, NULL, "openai-responses"},
        {"openai/gpt-6.1-terra", "https://api.openai.com/v1/", NULL, "openai-responses"},
        {"openai/gpt-5.3-codex", NULL, NULL, "openai-responses"},
        {"openai/gpt-9", NULL, NULL, "openai-responses"},
        {"openai/gpt-5.1", NULL, NULL, "openai"},
        {"openai/gpt-4.1", NULL, NULL, "openai"},
        {"openai/gpt-6-sol", "http://10.0.0.5:8000/v1", NULL, "openai"},
        {"openai/gpt-6-sol", NULL, "openai", "openai"},
        {"openai/gpt-4.1", NULL, "openai-responses", "openai-responses"},
        {"openai/gpt-6-sol", "http://10.0.0.5:8000/v1", "openai-responses", "openai-responses"},
        {"openrouter/openai/gpt-6-sol", NULL, NULL, "openai"},
        {"gemini/gemini-3.8-flash", NULL, NULL, "gemini"},
        {"gemini-interactions/gemini-3.8-flash", NULL, NULL, "interactions"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_providers ps =
            providers("OPENAI_API_KEY=k OPENROUTER_API_KEY=k GEMINI_API_KEY=k");
        if (cases[i].url || cases[i].api)
            configure(&ps, (struct chela_provider_opts){
                               .name = "openai", .base_url = cases[i].url, .api = cases[i].api});
        struct ch_target *t = target(&ps, cases[i].spec, NULL);
        if (strcmp(t->ep.codec->name, cases[i].want) != 0)
            fail_msg("%s: %s", cases[i].spec, t->ep.codec->name);
        ch_target_free(t);
        ch_providers_release(&ps);
    }
}

/* Google's own service has a second protocol, which facts choose; another server's api counts. */
static void test_interactions_by_the_facts(void **state) {
    (void)state;
    static const struct {
        const char *url, *api, *apis, *want;
    } cases[] = {
        {NULL, NULL, "[\"interactions\"]", "interactions"},
        {NULL, NULL, "[\"gemini\",\"interactions\"]", "gemini"},
        {NULL, "gemini", "[\"interactions\"]", "gemini"},
        {NULL, "interactions", "[\"gemini\"]", "interactions"},
        {"http://10.0.0.5", NULL, "[\"interactions\"]", "gemini"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO row = {0};
        struct ch_providers ps = providers("GEMINI_API_KEY=k");
        ch_buf_addf(&row, "{\"apis\":%s}", cases[i].apis);
        assert_int_equal(
            ch_facts_book_add(&ps, "gemini", "gemini-3.8-flash", ch_buf_str(&row), NULL), 0);
        configure(&ps, (struct chela_provider_opts){
                           .name = "gemini", .base_url = cases[i].url, .api = cases[i].api});
        struct ch_target *t = target(&ps, "gemini/gemini-3.8-flash", NULL);
        if (strcmp(t->ep.codec->name, cases[i].want) != 0)
            fail_msg("row %zu: %s", i, t->ep.codec->name);
        ch_target_free(t);
        ch_providers_release(&ps);
    }
}

static void test_keys(void **state) {
    (void)state;
    struct ch_providers ps = providers("ONE=sk-1 TWO= THREE=sk-3");
    configure(&ps, (struct chela_provider_opts){.name = "x",
                                                .api = "openai",
                                                .base_url = "http://h",
                                                .api_key_env = "ONE, TWO,THREE"});
    struct ch_target *t = target(&ps, "x/m", NULL);
    assert_int_equal(t->nkeys, 2);
    assert_string_equal(t->keys[1], "sk-3");
    /* The key that rests is passed over. */
    const char *key;
    struct ch_cooldown_subject first = ch_target_subject(t, t->keys[0]);
    ch_cooldown_failed(&ps.cooldowns, first, CH_ERR_RATE_LIMIT, 5000, 1000);
    ch_cooldown_gave_up(&ps.cooldowns, first, CH_ERR_RATE_LIMIT, 1000);
    struct ch_cooling c = ch_target_cooling(t, &ps.cooldowns, 1000, &key);
    assert_int_equal(c.ms, 0);
    assert_string_equal(key, "sk-3");
    ch_target_free(t);
    configure(&ps,
              (struct chela_provider_opts){
                  .name = "x", .api = "openai", .base_url = "http://h", .api_key_env = "NONE,TWO"});
    refused(&ps, "x/m", CHELA_EAUTH, "none of NONE,TWO is set"); /* the newest settings win */
    assert_true(ch_target_has_key(&ps, "NONE,ONE"));
    assert_false(ch_target_has_key(&ps, "NONE,TWO"));
    assert_false(ch_target_has_key(&ps, NULL));
    ch_providers_release(&ps);
}

/* A variable that was read from a file may end like a line of another system. */
static void test_blanks_around_keys(void **state) {
    (void)state;
    struct ch_providers ps = providers("OPENAI_API_KEY=\tsk-1\r\n XAI_API_KEY=\r\n "
                                       "GROQ_API_KEY=sk\r\n-1");
    struct ch_target *t = target(&ps, "openai/gpt-5", NULL);
    assert_string_equal(t->ep.api_key, "sk-1");
    ch_target_free(t);
    assert_true(ch_target_has_key(&ps, "OPENAI_API_KEY"));
    assert_false(ch_target_has_key(&ps, "XAI_API_KEY"));
    refused(&ps, "xai/grok-4", CHELA_EAUTH, "set XAI_API_KEY");
    refused(&ps, "groq/m", CHELA_EAUTH, "the API key for groq holds a control character");
    ch_providers_release(&ps);
}

/* The query of a base URL follows the path of each question to the server. */
static void test_queries(void **state) {
    (void)state;
    static const struct {
        const char *name, *api, *url, *want[2];
    } rows[] = {
        {"a", "anthropic", "http://h?k=1", {"http://h/v1/models?limit=1000&k=1"}},
        {"o", "openai", "http://h/v1?k=1", {"http://h/v1/models?k=1"}},
        {"g", "gemini", "http://h?k=1", {"http://h/v1beta/models?pageSize=1000&k=1"}},
        {"ollama", "openai", "http://h/v1?k=1",
         {"http://h/api/show?k=1", "http://h/v1/models?k=1"}},
        {"llamacpp", "openai", "http://h/v1", {"http://h/props", "http://h/v1/models"}},
    };
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct ch_providers ps = providers("");
        configure(&ps, (struct chela_provider_opts){
                           .name = rows[i].name, .api = rows[i].api, .base_url = rows[i].url});
        CH_BUF_AUTO spec = {0};
        ch_buf_addf(&spec, "%s/m", rows[i].name);
        struct ch_target *t = target(&ps, ch_buf_str(&spec), NULL);
        for (unsigned step = 0; step < 2 && rows[i].want[step]; step++) {
            CH_ARENA_AUTO arena = {0};
            struct ch_server_question q;
            assert_int_equal(ch_server_query_question(t, step, &arena, &q), 0);
            assert_string_equal(q.http.url, rows[i].want[step]);
        }
        ch_target_free(t);
        ch_providers_release(&ps);
    }
}

static void test_refusals(void **state) {
    (void)state;
    struct ch_providers ps = providers("");
    refused(&ps, "gpt-5", CHELA_ECONFIG, "provider/model");
    refused(&ps, "openai/", CHELA_ECONFIG, "provider/model");
    refused(&ps, "nobody/m", CHELA_ECONFIG, "unknown provider 'nobody'");
    refused(&ps, "openai/gpt-5", CHELA_EAUTH, "set OPENAI_API_KEY");
    configure(&ps, (struct chela_provider_opts){.name = "bare"});
    refused(&ps, "bare/m", CHELA_ECONFIG, "its api is not configured");
    configure(&ps, (struct chela_provider_opts){.name = "bare", .api = "openai"});
    refused(&ps, "bare/m", CHELA_ECONFIG, "needs a base URL");
    static const struct {
        const char *url, *why;
    } bad[] = {{"nowhere", "the base URL of bare: bad URL: it must start with http://"},
               {"ftp://h", "scheme \"ftp\""},
               {"http://h:99999", "port"},
               {"http://h\r\nX: y", "0x0d"},
               {"https://u:p@h", "credentials"}};
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        configure(&ps, (struct chela_provider_opts){
                           .name = "bare", .api = "openai", .base_url = bad[i].url});
        refused(&ps, "bare/m", CHELA_ECONFIG, bad[i].why);
    }
    ch_providers_release(&ps);
}

static void test_settings(void **state) {
    (void)state;
    static const char *const no_colon[] = {"no colon", NULL};
    static const char *const two_lines[] = {"X-Team: a\r\nX-Role: admin", NULL};
    static const char *const split_name[] = {"X-\nTeam: a", NULL};
    static const struct {
        struct chela_provider_opts opts;
        const char *why;
    } bad[] = {
        {{.name = ""}, "needs a name"},
        {{.name = "a/b"}, "no model can name it"},
        {{.name = "x", .api = "smtp"}, "unknown api 'smtp'"},
        {{.name = "x", .quirks = "no_such"}, "unknown quirk 'no_such'"},
        {{.name = "x", .headers = no_colon}, "Name: value"},
        {{.name = "x", .headers = two_lines}, "in one line"},
        {{.name = "x", .headers = split_name}, "in one line"},
        {{.name = "x", .extra_body = "[1]"}, "no JSON object"},
        {{.name = "x", .extra_body = "{"}, "no JSON object"},
    };
    struct ch_providers ps = providers("");
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        struct chela_provider_opts o = bad[i].opts;
        struct chela_error err = {0};
        o.size = sizeof(o);
        assert_true(ch_providers_add(&ps, &o, &err) < 0);
        if (!strstr(err.message, bad[i].why))
            fail_msg("case %zu: %s", i, err.message);
    }
    assert_null(ps.confs); /* nothing of them stays */
    configure(&ps,
              (struct chela_provider_opts){.name = "x",
                                           .api = "openai",
                                           .base_url = "http://h",
                                           .headers = (const char *const[]){"X-Team:  a b ", NULL},
                                           .extra_body = " { \"a\": 1 } "});
    struct ch_target *t = target(&ps, "x/m", NULL);
    assert_int_equal(t->ep.nheaders, 1);
    assert_true(ch_sv_is(t->ep.headers[0].name, "X-Team"));
    assert_true(ch_sv_is(t->ep.headers[0].value, "a b"));
    assert_true(ch_sv_is(t->ep.extra_body, "\"a\": 1"));
    assert_false(t->has_price);
    ch_target_free(t);
    ch_providers_release(&ps);
}

/* A request has the options that its service knows, and no others. */
static void test_services(void **state) {
    static const struct {
        const char *spec;
        struct chela_provider_opts opts;
        const char *members; /* of each request; or, with refused, part of the error */
        bool refused;
    } rows[] = {
        {"openai/gpt-4o", {0}, "\"store\":false", false},
        {"openai/gpt-6-sol", {0}, "", false}, /* the codec says it */
        {"groq/m", {.store = -1}, "", false},
        {"openai-responses/m", {.service_tier = "flex"}, "\"service_tier\":\"flex\"", false},
        {"openai-responses/m", {.background = 1}, "\"background\":true,\"store\":true", false},
        {"openai/gpt-6-sol", {.background = 1}, "\"background\":true,\"store\":true", false},
        {"openai/gpt-4o", {.background = 1}, "background, for openai/gpt-4o", true},
        {"openai-responses/m", {.store = 1, .extra_body = "{\"a\":1,\"store\":false}"},
         "\"a\":1,\"store\":false", false},
        {"anthropic/m", {.service_tier = "standard_only", .cache_ttl = "1h", .store = -1},
         "\"service_tier\":\"standard_only\"", false},
        {"anthropic/m", {.service_tier = "flex"}, "no such tier", true},
        {"gemini/m", {.service_tier = "flex", .store = 1},
         "\"serviceTier\":\"flex\",\"store\":true", false},
        {"bedrock/m", {.service_tier = "priority", .base_url = "http://x"},
         "\"serviceTier\":{\"type\":\"priority\"}", false},
        {"vertex/m", {.service_tier = "flex", .base_url = "http://x"}, "no tiers", true},
        {"prompted+groq/m", {.service_tier = "flex"}, "\"service_tier\":\"flex\"", false},
        {"anthropic/m", {.transport = "websocket"}, "transport", true},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct ch_providers ps = providers("OPENAI_API_KEY=k GROQ_API_KEY=k ANTHROPIC_API_KEY=k "
                                           "GEMINI_API_KEY=k AWS_BEARER_TOKEN_BEDROCK=k "
                                           "VERTEX_ACCESS_TOKEN=k AWS_REGION=us-east-1");
        struct chela_provider_opts opts = rows[i].opts;
        const char *name = rows[i].spec;
        if (strncmp(name, "prompted+", 9) == 0)
            name += 9;
        CH_AUTOFREE char *provider = ch_strndup(name, strcspn(name, "/"));
        opts.name = provider;
        configure(&ps, opts);
        if (rows[i].refused) {
            refused(&ps, rows[i].spec, CHELA_ECONFIG, rows[i].members);
        } else {
            CH_AUTO(ch_target) t = target(&ps, rows[i].spec, NULL);
            if (!ch_sv_is(t->ep.extra_body, rows[i].members))
                fail_msg("%s: %.*s", rows[i].spec, CH_SV_FMT(t->ep.extra_body));
        }
        ch_providers_release(&ps);
    }
    struct ch_providers ps = providers("ANTHROPIC_API_KEY=k");
    configure(&ps, (struct chela_provider_opts){.name = "anthropic", .cache_ttl = "1h"});
    CH_AUTO(ch_target) t = target(&ps, "anthropic/m", NULL);
    assert_int_equal(ch_target_cache(t, CH_CACHE_SHORT), CH_CACHE_LONG);
    assert_int_equal(ch_target_cache(t, CH_CACHE_OFF), CH_CACHE_OFF);
    ch_providers_release(&ps);
}

static void test_prices_and_windows(void **state) {
    (void)state;
    struct ch_providers ps = providers("OPENAI_API_KEY=k");
    struct chela_error err = {0};
    struct chela_price price = {.size = sizeof(price), .input = 1, .output = 2};
    double negative = -1;
    assert_int_equal(ch_providers_add_price(&ps, "openai", "own", &price, NULL), 0);
    price.input = -1;
    assert_int_equal(ch_providers_add_price(&ps, "openai", "own", &price, &err), CHELA_EINVAL);
    price.input = 3;
    price.cache_read = &negative;
    assert_int_equal(ch_providers_add_price(&ps, "openai", "own", &price, &err), CHELA_EINVAL);
    assert_int_equal(ch_providers_add_price(&ps, "", "own", &price, &err), CHELA_EINVAL);
    assert_int_equal(ch_providers_add_window(&ps, "openai", "own", 0, &err), CHELA_EINVAL);
    assert_int_equal(ch_providers_add_window(&ps, "openai", "own", 1000, NULL), 0);
    assert_int_equal(ch_providers_add_window(&ps, "openai", "own", 2000, NULL), 0);
    struct ch_target *t = target(&ps, "openai/own", NULL);
    assert_true(t->has_price && t->price.input == 1 && t->price.output == 2);
    assert_int_equal(ch_target_window(t), 2000); /* the newest wins */
    ch_target_free(t);
    t = target(&ps, "openai/other", NULL);
    assert_int_equal(t->window, 0);
    ch_target_free(t);
    ch_providers_release(&ps);
}

/* The configuration goes before the user's file, and that before the table. */
static void test_facts(void **state) {
    (void)state;
    static const char file[] =
        "{\"format\":1,\"models\":[{\"match\":\"openai/gpt-6-sol\",\"efforts\":[\"low\"],"
        "\"window\":5000,\"price_in\":9},{\"match\":\"openai/own*\",\"windw\":1,"
        "\"apis\":[\"responses\"],\"price_in\":1,\"price_out\":2}]}";
    char dir[] = "/tmp/chela-facts-XXXXXX", path[80], variables[120];
    struct chela_error err = {0};
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/chela", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/chela/models.json", dir);
    assert_int_equal(ch_file_save(path, ch_sv_str(file), &err), 0);
    snprintf(variables, sizeof(variables), "OPENAI_API_KEY=sk XDG_CONFIG_HOME=%s", dir);

    struct ch_providers ps = providers(variables);
    assert_int_equal(ch_facts_book_add(&ps, "openai", "gpt-6-sol", "{\"window\":7000}", &err), 0);
    assert_int_equal(ch_facts_book_add(&ps, "openai", "x", "{\"window\":\"big\"}", &err),
                     CHELA_ECONFIG);
    assert_string_equal(err.message, "openai/x: window: expected a number of tokens, not string");
    struct ch_target *t = target(&ps, "openai/gpt-6-sol", NULL);
    assert_int_equal(ch_target_window(t), 7000);
    assert_int_equal(t->facts.efforts, 1u << CH_EFFORT_LOW);
    assert_true(t->has_price && t->price.input == 9 && t->price.output == 10);
    assert_ptr_equal(t->ep.facts, &t->facts);
    ch_target_free(t);
    t = target(&ps, "openai/own-2", NULL); /* a row with a fault counts for the rest */
    assert_true(t->has_price && t->price.input == 1 && t->price.cache_read == -1);
    assert_ptr_equal(t->ep.codec, &ch_codec_responses);
    ch_target_free(t);
    assert_int_equal(unlink(path), 0); /* the file is read once */
    t = target(&ps, "openai/own-2", NULL);
    assert_true(t->has_price);
    ch_target_free(t);
    ch_providers_release(&ps);
    snprintf(path, sizeof(path), "%s/chela", dir);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precedence),         cmocka_unit_test(test_interactions_by_the_facts),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_endpoint_of_the_model),
        cmocka_unit_test(test_blanks_around_keys),
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_refusals),           cmocka_unit_test(test_settings),
        cmocka_unit_test(test_services),           cmocka_unit_test(test_prices_and_windows),
        cmocka_unit_test(test_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
