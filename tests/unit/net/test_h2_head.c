/* test_h2_head.c -- lists of fields as requests, and those that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "net/h2_head.h"

#define ASKS ":method=POST;:scheme=https;:path=/a?b;"

/* Fields as name=value; then the body in pieces of `|`, NULL: there is none. */
static const struct {
    const char *name, *fields, *body;
    int refused;
    const char *want; /* "METHOD target host body" */
} cases[] = {
    {"plain", ":method=GET;:scheme=http;:authority=h:1;:path=/;x=y;", NULL, 0, "GET / h:1 "},
    {"authority last", ASKS ":authority=h;", "{}", 0, "POST /a?b h {}"},
    {"host instead", ASKS "host=h;", "a|b|c", 0, "POST /a?b h abc"},
    {"both, the same", ASKS ":authority=h;host=h;", NULL, 0, "POST /a?b h "},
    {"both, in other letters", ASKS ":authority=h.example:80;host=H.example.;", NULL, 0,
     "POST /a?b h.example:80 "},
    {"both, another port", ASKS ":authority=h:1;host=h:2;", NULL, 400, NULL},
    {"both, one with a user", ASKS ":authority=h;host=h@h;", NULL, 400, NULL},
    {"both, and once more", ASKS ":authority=h;host=h;host=h;", NULL, 400, NULL},
    {"both, not the same", ASKS ":authority=h;host=i;", NULL, 400, NULL},
    {"host twice", ASKS "host=h;host=h;", NULL, 400, NULL},
    {"no host", ASKS, NULL, 0, "POST /a?b - "},
    {"all servers", ":method=OPTIONS;:scheme=http;:path=*;", NULL, 0, "OPTIONS * - "},
    {"no method", ":scheme=http;:path=/;", NULL, 400, NULL},
    {"no scheme", ":method=GET;:path=/;", NULL, 400, NULL},
    {"no path", ":method=GET;:scheme=http;", NULL, 400, NULL},
    {"empty path", ":method=GET;:scheme=http;:path=;", NULL, 400, NULL},
    {"no path but a name", ":method=GET;:scheme=http;:path=a;", NULL, 400, NULL},
    {"a URL", ":method=GET;:scheme=http;:path=http://h/;", NULL, 400, NULL},
    {"a space in it", ":method=GET;:scheme=http;:path=/a b;", NULL, 400, NULL},
    {"a line in it", ":method=GET;:scheme=http;:path=/a\r\nb;", NULL, 400, NULL},
    {"another scheme", ":method=GET;:scheme=ftp;:path=/;", NULL, 400, NULL},
    {"a proxy's method", ":method=CONNECT;:authority=h;", NULL, 501, NULL},
    {"no method at all", ":method=BREW;:scheme=http;:path=/;", NULL, 501, NULL},
    {"a method in small letters", ":method=get;:scheme=http;:path=/;", NULL, 501, NULL},
    {"path twice", ASKS ":path=/b;", NULL, 400, NULL},
    {"unknown pseudo header", ASKS ":protocol=x;", NULL, 400, NULL},
    {"of an answer", ASKS ":status=200;", NULL, 400, NULL},
    {"too late", ":method=GET;:scheme=http;x=y;:path=/;", NULL, 400, NULL},
    {"capitals", ASKS "X-A=y;", NULL, 400, NULL},
    {"a space", ASKS "x a=y;", NULL, 400, NULL},
    {"no name", ASKS "=y;", NULL, 400, NULL},
    {"a line break", ASKS "x=a\r\nb;", NULL, 400, NULL},
    {"a line break alone", ASKS "x=a\nb;", NULL, 400, NULL},
    {"a line break in the host", ASKS ":authority=a\rb;", NULL, 400, NULL},
    {"a tab", ASKS "x=a\tb;", NULL, 0, "POST /a?b - "},
    {"connection", ASKS "connection=close;", NULL, 400, NULL},
    {"keep-alive", ASKS "keep-alive=1;", NULL, 400, NULL},
    {"upgrade", ASKS "upgrade=h2c;", NULL, 400, NULL},
    {"chunked", ASKS "transfer-encoding=chunked;", "x", 400, NULL},
    {"te", ASKS "te=gzip;", NULL, 400, NULL},
    {"te as it may be", ASKS "te=trailers;", NULL, 0, "POST /a?b - "},
    {"a length", ASKS "content-length=3;", "a|bc", 0, "POST /a?b - abc"},
    {"none", ASKS "content-length=0;", NULL, 0, "POST /a?b - "},
    {"too short", ASKS "content-length=3;", "ab", 400, NULL},
    {"without a body", ASKS "content-length=3;", NULL, 400, NULL},
    {"too long", ASKS "content-length=3;", "ab|cd", 400, NULL},
    {"twice", ASKS "content-length=3;content-length=3;", "abc", 400, NULL},
    {"no number", ASKS "content-length=+3;", "abc", 400, NULL},
    {"empty", ASKS "content-length=;", "abc", 400, NULL},
    {"a large one", ASKS "content-length=99999999999;", "abc", 413, NULL},
    {"a huge one", ASKS "content-length=18446744073709551619;", "abc", 400, NULL},
};

static void say_fields(struct ch_h2_head *h, const char *fields) {
    struct ch_sv rest = ch_sv_str(fields);
    while (rest.n) {
        struct ch_sv value = ch_sv_split(&rest, ';');
        struct ch_sv name = ch_sv_split(&value, '=');
        ch_h2_head_field(h, name, value);
    }
}

static void say_body(struct ch_h2_head *h, const char *body) {
    struct ch_sv rest = ch_sv_str(body ? body : "");
    ch_h2_head_end(h, !body);
    while (rest.n)
        ch_h2_head_body(h, ch_sv_split(&rest, '|'));
    ch_h2_head_whole(h);
}

static void test_requests(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_inbound in;
        struct ch_h2_head h = {.in = &in};
        CH_BUF_AUTO got = {0};
        ch_inbound_init(&in);
        say_fields(&h, cases[i].fields);
        say_body(&h, cases[i].body);
        struct ch_sv host = ch_inbound_header(&in, "host");
        ch_buf_addf(&got, "%s %.*s %.*s %s", ch_inbound_method(&in),
                    CH_SV_FMT(ch_inbound_target(&in)), host.p ? (int)host.n : 1,
                    host.p ? host.p : "-", ch_buf_str(&in.body));
        if (in.refused != cases[i].refused || in.whole != !in.refused)
            fail_msg("%s: refused with %d", cases[i].name, in.refused);
        if (cases[i].want && strcmp(cases[i].want, ch_buf_str(&got)) != 0)
            fail_msg("%s: %s", cases[i].name, ch_buf_str(&got));
        ch_inbound_release(&in);
    }
}

static void test_has_body(void **state) {
    static const struct {
        const char *fields;
        bool last, has;
    } rows[] = {{ASKS, true, false},
                {ASKS, false, true},
                {ASKS "content-length=0;", false, false},
                {ASKS "content-length=1;", false, true}};
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct ch_inbound in;
        struct ch_h2_head h = {.in = &in};
        ch_inbound_init(&in);
        say_fields(&h, rows[i].fields);
        ch_h2_head_end(&h, rows[i].last);
        assert_int_equal(ch_inbound_has_body(&in), rows[i].has);
        ch_inbound_release(&in);
    }
}

/* So many fields of such a size, besides what each request has. */
static int refused_with(size_t count, size_t size, const char *name) {
    struct ch_inbound in;
    struct ch_h2_head h = {.in = &in};
    char *value = ch_malloc(size + 1);
    memset(value, '/', size);
    ch_inbound_init(&in);
    if (name[0] != ':')
        say_fields(&h, ASKS);
    for (size_t i = 0; i < count; i++)
        ch_h2_head_field(&h, ch_sv_str(name), ch_sv(value, size));
    int refused = in.refused;
    assert_true(in.message.text.n <= CH_LIMIT_INBOUND_HEADERS);
    ch_inbound_release(&in);
    ch_free(value);
    return refused;
}

static void test_bounds(void **state) {
    (void)state;
    assert_int_equal(refused_with(CH_LIMIT_INBOUND_HEADER_COUNT, 1, "x"), 0);
    assert_int_equal(refused_with(CH_LIMIT_INBOUND_HEADER_COUNT + 1, 1, "x"), 431);
    assert_int_equal(refused_with(1, CH_LIMIT_INBOUND_HEADERS, "x"), 431);
    assert_int_equal(refused_with(50, CH_LIMIT_INBOUND_HEADERS / 40, "x"), 431);
    assert_int_equal(refused_with(1, CH_LIMIT_URL, ":path"), 0);
    assert_int_equal(refused_with(1, CH_LIMIT_URL + 1, ":path"), 414);
}

static void test_zero_byte_and_trailers(void **state) {
    (void)state;
    struct ch_inbound in;
    struct ch_h2_head h = {.in = &in};
    ch_inbound_init(&in);
    say_fields(&h, ASKS);
    ch_h2_head_end(&h, false);
    assert_int_equal(in.refused, 0);
    ch_h2_head_field(&h, CH_SV("x-trailer"), CH_SV("y"));
    assert_int_equal(in.refused, 400);
    ch_inbound_release(&in);
    h = (struct ch_h2_head){.in = &in};
    ch_inbound_init(&in);
    say_fields(&h, ASKS);
    ch_h2_head_field(&h, CH_SV("x"), ch_sv("a\0b", 3));
    assert_int_equal(in.refused, 400);
    ch_inbound_release(&in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_has_body),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_zero_byte_and_trailers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
