/* test_shared_head.c -- requests with the same URL and headers share one copy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "model/provider/shared_head.h"

static const struct ch_header two[] = {{CH_SV("accept"), CH_SV("text/plain")},
                                       {CH_SV("x-api-key"), CH_SV("k")}};

static struct ch_http_request request(const char *url, const struct ch_header *h, size_t n) {
    return (struct ch_http_request){.method = "POST", .url = url, .headers = h, .nheaders = n};
}

static void test_the_same_is_shared(void **state) {
    struct ch_shared_head *last = NULL, *a = NULL, *b = NULL;
    char url[] = "http://h/v1", value[] = "text/plain";
    struct ch_header own[] = {{CH_SV("accept"), ch_sv(value, 10)}, two[1]};
    struct ch_http_request first = request(url, own, 2), second = request("http://h/v1", two, 2);
    (void)state;
    ch_shared_head(&a, &last, &first);
    url[0] = value[0] = '!'; /* the texts were copied */
    ch_shared_head(&b, &last, &second);
    assert_ptr_equal(a, b);
    assert_ptr_equal(first.headers, second.headers);
    assert_string_equal(first.url, "http://h/v1");
    assert_true(ch_sv_is(first.headers[0].value, "text/plain"));
    ch_shared_head_release(a);
    ch_shared_head_release(last);
    assert_string_equal(second.url, "http://h/v1"); /* b holds the copy */
    ch_shared_head_release(b);
}

static void test_what_differs_is_not_shared(void **state) {
    static const struct ch_header name[] = {{CH_SV("accept"), CH_SV("text/plain")},
                                            {CH_SV("x-api-kez"), CH_SV("k")}},
                                  value[] = {{CH_SV("accept"), CH_SV("text/plain")},
                                             {CH_SV("x-api-key"), CH_SV("l")}};
    const struct ch_http_request others[] = {request("http://h/v2", two, 2),
                                             request("http://h/v1", two, 1),
                                             request("http://h/v1", name, 2),
                                             request("http://h/v1", value, 2),
                                             request("http://h/v1", NULL, 0)};
    struct ch_shared_head *last = NULL, *a = NULL, *b = NULL;
    (void)state;
    for (size_t i = 0; i < CH_LEN(others); i++) {
        struct ch_http_request first = request("http://h/v1", two, 2), other = others[i];
        ch_shared_head(&a, &last, &first); /* also gives back the reference of the last pass */
        ch_shared_head(&b, &last, &other);
        assert_ptr_not_equal(a, b);
        assert_ptr_equal(b, last);
        assert_string_equal(first.url, "http://h/v1");
        assert_string_equal(other.url, others[i].url);
        assert_int_equal(other.nheaders, others[i].nheaders);
        for (size_t k = 0; k < other.nheaders; k++)
            assert_true(ch_sv_eq(other.headers[k].name, others[i].headers[k].name) &&
                        ch_sv_eq(other.headers[k].value, others[i].headers[k].value));
    }
    ch_shared_head_release(a);
    ch_shared_head_release(b);
    ch_shared_head_release(last);
    ch_shared_head_release(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_is_shared),
        cmocka_unit_test(test_what_differs_is_not_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
