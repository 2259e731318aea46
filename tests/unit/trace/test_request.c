/* test_request.c -- a request that is rebuilt from records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/journal/journal.h"
#include "base/mem.h"
#include "store/store.h"
#include "trace/request.h"

enum { LATER = 100 }; /* parts after the request */

static int pass(uint32_t type, uint64_t seq, const char *text, chela_store_record_fn *fn,
                void *user) {
    struct chela_store_record r = {
        .seq = seq, .ts = 1, .type = type, .data = text, .n = strlen(text)};
    r.sum = ch_record_sum(&r);
    return fn(&r, user);
}

/* A session whose program ended while it stored the parts of its second request. */
static int records(struct chela_store_db *db, const char *key, uint64_t from,
                   chela_store_record_fn *fn, void *user, struct chela_error *err) {
    (void)db, (void)key, (void)from, (void)err;
    int rc = pass(CH_REC_PART, 1,
                  "{\"id\":\"1\",\"kind\":\"setup\",\"api\":\"x\",\"request\":"
                  "{\"provider\":\"p\",\"model\":\"m\"}}",
                  fn, user);
    if (rc == 0)
        rc = pass(CH_REC_REQUEST, 2, "{\"run\":\"r\",\"setup\":\"1\"}", fn, user);
    for (uint64_t i = 0; rc == 0 && i < LATER; i++)
        rc = pass(CH_REC_PART, 3 + i, "{\"id\":\"2\",\"kind\":\"tool\"}", fn, user);
    return rc;
}

static void test_parts_after_the_request(void **state) {
    (void)state;
    static const struct chela_store_ops ops = {.records = records};
    chela_store store = {.ops = &ops, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct ch_request_past p;
    struct chela_error err = {0};
    assert_int_equal(ch_request_past_read(&p, &store, "s", 0, &err), 0);
    assert_int_equal(p.number, 1);
    assert_ptr_equal(p.setup, &p.parts.list[0]);
    assert_string_equal(p.setup->model, "p/m");
    ch_request_past_release(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts_after_the_request)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
