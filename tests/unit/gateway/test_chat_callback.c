/* test_chat_callback.c -- a callback of a chat service is freed when it was answered, also if its
 * client has left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/chat/chat_callback.h"
#include "gateway/chat/chat_service.h"
#include "gateway/request/request.h"

static void test_a_client_that_left(void **state) {
    struct ch_chat_service chat = {0};
    struct ch_request req = {0};
    (void)state;
    ch_list_init(&chat.callbacks);
    struct ch_chat_callback *k = ch_chat_callback_new(&chat);
    ch_chat_callback_await(k, &req);
    req.on_disconnect(&req);
    ch_chat_callback_respond(k, 200, "text/plain", CH_SV("late"));
    assert_true(ch_list_empty(&chat.callbacks));
}

/* An answer that comes before the request waits is kept. */
static void test_an_early_answer(void **state) {
    struct ch_chat_service chat = {0};
    (void)state;
    ch_list_init(&chat.callbacks);
    struct ch_chat_callback *k = ch_chat_callback_new(&chat);
    ch_chat_callback_respond(k, 200, "text/plain", CH_SV("early"));
    assert_false(ch_list_empty(&chat.callbacks));
    ch_chat_callbacks_release(&chat);
    assert_true(ch_list_empty(&chat.callbacks));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_client_that_left),
        cmocka_unit_test(test_an_early_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
