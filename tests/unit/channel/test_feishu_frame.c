/* test_feishu_frame.c -- frames of the long connection, and events in parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/mem.h"
#include "channel/feishu_frame.h"

/* As the service's own client writes it. */
static void test_ping(void **state) {
    (void)state;
    static const char want[] = "\x08\x00\x10\x00\x18\xf6\x81\x80\x10\x20\x00\x2a\x0c\x0a\x04type"
                               "\x12\x04ping";
    struct ch_feishu_frame f = {.service = 33554678,
                                .headers = {{CH_SV("type"), CH_SV("ping")}},
                                .nheaders = 1};
    CH_BUF_AUTO out = {0};
    ch_feishu_frame_write(&f, &out);
    assert_int_equal(out.n, sizeof(want) - 1);
    assert_memory_equal(out.p, want, out.n);
}

static void test_round_trip(void **state) {
    (void)state;
    struct ch_feishu_frame b, a = {
        .seq = UINT64_MAX, .log = 1, .service = -1, .method = CH_FEISHU_DATA, .nheaders = 2,
        .headers = {{CH_SV("type"), CH_SV("event")}, {CH_SV(""), CH_SV("")}},
        .encoding = CH_SV("none"), .type = CH_SV("json"), .payload = CH_SV("{}"),
        .log_new = CH_SV("x")};
    CH_BUF_AUTO one = {0}, two = {0};
    ch_feishu_frame_write(&a, &one);
    assert_int_equal(ch_feishu_frame_read(ch_buf_sv(&one), &b, NULL), 0);
    assert_true(b.seq == UINT64_MAX && b.service == -1 && b.method == 1 && b.nheaders == 2);
    assert_true(ch_sv_is(ch_feishu_frame_header(&b, "type"), "event"));
    assert_null(ch_feishu_frame_header(&b, "other").p);
    ch_feishu_frame_write(&b, &two);
    assert_true(ch_sv_eq(ch_buf_sv(&one), ch_buf_sv(&two)));
    for (size_t n = 0; n < one.n; n++) { /* cut anywhere it is broken, or lacks what is last */
        CH_AUTOFREE char *copy = ch_memdup(one.p, n ? n : 1);
        ch_feishu_frame_read(ch_sv(copy, n), &b, NULL);
    }
}

#define BYTES(literal) {literal, sizeof(literal) - 1}
#define NEEDED "\x08\x00\x10\x00\x18\x00\x20\x01"

static void test_reading(void **state) {
    (void)state;
    static const struct {
        const char *name;
        struct ch_sv bytes;
        int rc;
    } cases[] = {
        {"what must be there", BYTES(NEEDED), 0},
        {"nothing", BYTES(""), CHELA_EPARSE},
        {"no method", BYTES("\x08\x00\x10\x00\x18\x00"), CHELA_EPARSE},
        {"a field that nobody knows", BYTES(NEEDED "\x98\x01\x05"), 0},
        {"fields of fixed size", BYTES(NEEDED "\xa5\x01" "1234" "\xa1\x01" "12345678"), 0},
        {"a group", BYTES(NEEDED "\x9b\x01"), CHELA_EPARSE},
        {"field 0", BYTES(NEEDED "\x00\x01"), CHELA_EPARSE},
        {"a number without an end", BYTES(NEEDED "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
         CHELA_EPARSE},
        {"a payload that is not there", BYTES(NEEDED "\x42\x05" "abc"), CHELA_EPARSE},
        {"one that is larger than all memory",
         BYTES(NEEDED "\x42\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), CHELA_EPARSE},
        {"a header without a value", BYTES(NEEDED "\x2a\x03\x0a\x01" "k"), CHELA_EPARSE},
        {"a broken header", BYTES(NEEDED "\x2a\x02\x0a\x09"), CHELA_EPARSE},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_AUTOFREE char *copy = ch_memdup(cases[i].bytes.p, cases[i].bytes.n + 1);
        struct ch_feishu_frame f;
        int rc = ch_feishu_frame_read(ch_sv(copy, cases[i].bytes.n), &f, NULL);
        if (rc != cases[i].rc)
            fail_msg("%s: got %d", cases[i].name, rc);
    }
}

static void test_too_many_headers(void **state) {
    (void)state;
    CH_BUF_AUTO bytes = {0};
    struct ch_feishu_frame f;
    ch_buf_add(&bytes, NEEDED, sizeof(NEEDED) - 1);
    for (int i = 0; i <= CH_LIMIT_FRAME_HEADERS; i++)
        CH_BUF_LIT(&bytes, "\x2a\x04\x0a\x00\x12\x00");
    assert_int_equal(ch_feishu_frame_read(ch_buf_sv(&bytes), &f, NULL), CHELA_ELIMIT);
}

/* One frame of an event: "id sum seq payload". */
static enum ch_feishu_gathered add(struct ch_feishu_gather *g, int64_t now, const char *id,
                                   const char *sum, const char *seq, struct ch_sv payload,
                                   struct ch_buf *out) {
    struct ch_feishu_frame f = {.method = CH_FEISHU_DATA,
                                .headers = {{CH_SV("message_id"), ch_sv_str(id)},
                                            {CH_SV("sum"), ch_sv_str(sum)},
                                            {CH_SV("seq"), ch_sv_str(seq)}},
                                .nheaders = 3, .payload = payload};
    return ch_feishu_gather(g, &f, now, out);
}

static void test_gathering(void **state) {
    (void)state;
    struct ch_feishu_gather g;
    CH_BUF_AUTO out = {0}, large = {0};
    ch_feishu_gather_init(&g);
    assert_int_equal(add(&g, 0, "a", "1", "0", CH_SV("x"), &out), CH_FEISHU_WHOLE);
    assert_int_equal(add(&g, 0, "a", "", "", CH_SV("y"), &out), CH_FEISHU_WHOLE);
    assert_string_equal(ch_buf_str(&out), "xy");
    ch_buf_clear(&out);
    assert_int_equal(add(&g, 0, "b", "3", "2", CH_SV("3"), &out), CH_FEISHU_PART);
    assert_int_equal(add(&g, 0, "c", "2", "0", CH_SV("c"), &out), CH_FEISHU_PART);
    assert_int_equal(add(&g, 0, "b", "3", "2", CH_SV("twice"), &out), CH_FEISHU_PART);
    assert_int_equal(add(&g, 0, "b", "3", "1", CH_SV(""), &out), CH_FEISHU_PART);
    assert_int_equal(add(&g, 0, "b", "3", "0", CH_SV("1"), &out), CH_FEISHU_WHOLE);
    assert_string_equal(ch_buf_str(&out), "13");
    assert_int_equal(add(&g, 0, "d", "2", "2", CH_SV("x"), &out), CH_FEISHU_USELESS);
    assert_int_equal(add(&g, 0, "d", "-2", "0", CH_SV("x"), &out), CH_FEISHU_USELESS);
    assert_int_equal(add(&g, 0, "d", "9999999999", "0", CH_SV("x"), &out), CH_FEISHU_USELESS);
    assert_int_equal(add(&g, 0, "", "2", "0", CH_SV("x"), &out), CH_FEISHU_USELESS);
    assert_int_equal(add(&g, 0, "c", "3", "1", CH_SV("x"), &out), CH_FEISHU_USELESS);
    assert_int_equal(add(&g, CH_LIMIT_FRAGMENT_MS + 1, "c", "2", "1", CH_SV("x"), &out),
                     CH_FEISHU_PART); /* what came first is forgotten */
    ch_buf_reserve(&large, CH_LIMIT_CALLBACK);
    memset(large.p, 'x', CH_LIMIT_CALLBACK);
    ch_buf_commit(&large, CH_LIMIT_CALLBACK);
    assert_int_equal(add(&g, 0, "e", "2", "0", ch_buf_sv(&large), &out), CH_FEISHU_PART);
    assert_int_equal(add(&g, 0, "e", "2", "1", CH_SV("x"), &out), CH_FEISHU_USELESS);
    for (int i = 0; i < 100; i++) {
        char id[16];
        snprintf(id, sizeof(id), "f%d", i);
        assert_int_equal(add(&g, 0, id, "2", "0", CH_SV("x"), &out), CH_FEISHU_PART);
        assert_true(g.n <= CH_LIMIT_FRAGMENT_SETS);
    }
    ch_feishu_gather_release(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ping),     cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_reading),  cmocka_unit_test(test_too_many_headers),
        cmocka_unit_test(test_gathering),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
