/* test_queue.c -- messages that wait: their order, their limits, and what goes with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/machine/queue.h"
#include "base/limits.h"
#include "base/mem.h"

static struct ch_msg *text(const char *s) {
    return ch_msg_text(CH_MSG_USER, ch_sv_str(s), 1);
}

static void test_order(void **state) {
    (void)state;
    struct ch_queue q;
    ch_queue_init(&q);
    assert_null(ch_queue_pop(&q));
    assert_null(ch_queue_principal(&q));
    assert_int_equal(ch_queue_seq(&q), 0);
    assert_true(ch_sv_is(ch_queue_text(&q), ""));
    for (int i = 0; i < 3; i++) {
        char word[2] = {(char)('a' + i), '\0'};
        assert_int_equal(ch_queue_push(&q, text(word)), 0);
        ch_queue_mark(&q, (uint64_t)(10 + i));
    }
    for (int i = 0; i < 3; i++) {
        char word[2] = {(char)('a' + i), '\0'};
        assert_int_equal(ch_queue_seq(&q), 10 + i);
        assert_true(ch_sv_is(ch_queue_text(&q), word));
        struct ch_msg *m = ch_queue_pop(&q);
        assert_true(ch_sv_is(m->blocks[0].text, word));
        ch_msg_free(m);
    }
    assert_int_equal(q.n, 0);
    assert_int_equal(q.bytes, 0);
}

static void test_number(void **state) {
    (void)state;
    struct ch_queue q;
    ch_queue_init(&q);
    for (int i = 0; i < CH_LIMIT_QUEUE; i++)
        assert_int_equal(ch_queue_push(&q, text("x")), 0);
    struct ch_msg *m = text("one too many");
    assert_false(ch_queue_fits(&q, m));
    assert_int_equal(ch_queue_push(&q, m), CHELA_ELIMIT); /* m stays the caller's */
    ch_msg_free(ch_queue_pop(&q));
    assert_int_equal(ch_queue_push(&q, m), 0);
    ch_queue_release(&q);
    assert_int_equal(q.bytes, 0);
}

/* The size of a message is simulated: the limit is larger than a test should allocate. */
static void test_bytes(void **state) {
    (void)state;
    struct ch_queue q;
    ch_queue_init(&q);
    struct ch_msg *large = text("large"), *small = text("small");
    size_t was = large->size;
    large->size = CH_LIMIT_QUEUE_BYTES + 1;
    assert_int_equal(ch_queue_push(&q, large), 0); /* an empty queue takes one of any size */
    assert_int_equal(ch_queue_push(&q, small), CHELA_ELIMIT);
    assert_ptr_equal(ch_queue_pop(&q), large);
    assert_int_equal(ch_queue_push(&q, small), 0);
    large->size = CH_LIMIT_QUEUE_BYTES - small->size;
    assert_true(ch_queue_fits(&q, large)); /* exactly full */
    large->size++;
    assert_false(ch_queue_fits(&q, large));
    large->size = was;
    ch_msg_free(large);
    ch_queue_release(&q);
}

static void test_company(void **state) {
    (void)state;
    struct ch_queue q;
    ch_queue_init(&q);
    ch_queue_push(&q, text("plain"));
    ch_queue_push(&q, text("sent"));
    ch_queue_set_principal(&q, ch_principal_of(&(struct chela_run_opts){.sender = "ann"}));
    ch_queue_keep(&q, "chat 1");
    struct ch_message_origin given = {.id = (char *)"om_1"};
    ch_queue_set_origin(&q, &given);

    struct ch_message_origin origin = {.id = ch_strdup("older")};
    assert_false(ch_queue_stays(&q));
    assert_null(ch_queue_take_to(&q));
    ch_queue_take_origin(&q, &origin); /* the first has none: what was known stays */
    assert_string_equal(origin.id, "older");
    ch_msg_free(ch_queue_pop(&q));

    assert_true(ch_queue_stays(&q));
    assert_string_equal(ch_queue_principal(&q)->sender, "ann");
    CH_AUTOFREE char *to = ch_queue_take_to(&q);
    assert_string_equal(to, "chat 1");
    assert_null(ch_queue_take_to(&q)); /* once */
    ch_queue_take_origin(&q, &origin);
    assert_string_equal(origin.id, "om_1");
    ch_message_origin_release(&origin);
    ch_queue_release(&q);
}

/* Messages that can be read again go. The position of the others may be given to another
 * record. */
static void test_lost(void **state) {
    (void)state;
    struct ch_queue q;
    ch_queue_init(&q);
    for (int i = 0; i < 4; i++) {
        char word[2] = {(char)('a' + i), '\0'};
        ch_queue_push(&q, text(word));
        ch_queue_mark(&q, (uint64_t)(10 + i));
    }
    ch_queue_from_inbox(&q);
    ch_queue_lost(&q, 11);
    assert_int_equal(q.n, 1);
    assert_true(ch_sv_is(ch_queue_text(&q), "c"));
    assert_int_equal(ch_queue_seq(&q), 0);
    ch_queue_release(&q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_number),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_company),
        cmocka_unit_test(test_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
