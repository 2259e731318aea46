/* test_health_state.c -- which events make the model healthy or not, and errors that are
 * reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/redact.h"
#include "gateway/lane/health_state.h"

static struct chela_str text(const char *s) {
    return (struct chela_str){s, strlen(s)};
}

static void test_model(void **state) {
    (void)state;
    struct ch_health_state *h = ch_health_state_new();
    struct chela_event retry = {.type = CHELA_EV_RETRY, .retry = {.reason = text("overloaded")}};
    struct chela_event turn = {.type = CHELA_EV_TURN_END};
    struct chela_event failed = {
        .type = CHELA_EV_RUN_END,
        .end = {.reason = CHELA_REASON_MODEL_ERROR, .error = text("no route")}};
    struct chela_event ended = {.type = CHELA_EV_RUN_END,
                                .end = {.reason = CHELA_REASON_CANCELLED}};
    assert_null(ch_health_state_model_error(h));
    ch_health_state_observe(h, &retry);
    assert_string_equal(ch_health_state_model_error(h), "overloaded");
    ch_health_state_observe(h, &turn);
    assert_null(ch_health_state_model_error(h));
    ch_health_state_observe(h, &failed);
    assert_string_equal(ch_health_state_model_error(h), "no route");
    ch_health_state_observe(h, &ended); /* says nothing about the model */
    assert_string_equal(ch_health_state_model_error(h), "no route");
    ch_health_state_free(h);
}

static void test_store_and_config(void **state) {
    (void)state;
    struct ch_health_state *h = ch_health_state_new();
    struct chela_error err = {.code = CHELA_EIO, .message = "disk full"};
    assert_null(ch_health_state_store_error(h));
    assert_null(ch_health_state_config_error(h));
    ch_health_state_set_store(h, &err);
    assert_string_equal(ch_health_state_store_error(h), "disk full");
    err.code = 0;
    ch_health_state_set_store(h, &err);
    assert_null(ch_health_state_store_error(h));
    ch_redact_add("0123456789abcdef-secret");
    ch_health_state_set_config(h, "bad key 0123456789abcdef-secret");
    assert_non_null(strstr(ch_health_state_config_error(h), "bad key "));
    assert_null(strstr(ch_health_state_config_error(h), "abcdef-secret"));
    ch_health_state_set_config(h, NULL);
    assert_null(ch_health_state_config_error(h));
    ch_health_state_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_store_and_config),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
