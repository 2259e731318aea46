/* test_schema_format.c -- formats, where they are checked. Some of what the
 * official suite asks; a clone has this, not that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "schema/schema_format.h"

/* Texts that are and texts that are not, separated by spaces. */
static const struct {
    const char *format, *good, *bad;
} formats[] = {
    {"date", "2026-01-31 2024-02-29 0001-01-01", "2023-02-29 2026-13-01 2026-1-1 2026-01-011 x"},
    {"time", "08:30:06Z 23:59:60Z 01:29:60+01:30 12:00:00.5-08:00 08:30:06z",
     "24:00:00Z 12:00:00 22:59:60Z 12:00:00+24:00 8:30:06Z 12:00:00.Z"},
    {"date-time", "2026-01-31T12:00:00Z 1998-12-31T15:59:60.123-08:00 2026-01-31t12:00:00z",
     "2026-01-31 2026-01-31T12:00:00 2026-02-30T12:00:00Z 2026-01-31T12:00:00+01"},
    {"duration", "P4DT12H30M5S P1M PT36H P2W P1Y2M3D", "P PT P1YT P1D2H P1Y2W P1Y2D PT0.5S 1D"},
    {"email", "ada@example.com te~st@example.com a.b@[127.0.0.1] a@[IPv6:::1]",
     "ada @example.com ada@ .a@example.com a..b@example.com a@[127.0.0.300] a@b=c.com"},
    {"idn-email", "\xec\x8b\xa4@\xec\x8b\xa4.com ada@example.com", "ada @x.com"},
    {"hostname", "www.example.com a--b.com xn--9n2bp8q.xn--9t4b11yi5a 1host",
     "-a a- a_b .a a. a..b xn--X xn--hello-txk www.example.com\xef\xbc\x8e"
     "x"},
    {"idn-hostname", "\xec\x8b\xa4\xeb\xa1\x80.com l\xc2\xb7l \xce\xb1\xcd\xb5\xce\xb2 host",
     "\xcc\x80hello a\xc2\xb7l -hello \xce\xb1\xcd\xb5 a\xd7\x90 xn--example-"},
    {"ipv4", "192.168.0.1 0.0.0.0 255.255.255.255", "256.0.0.1 1.2.3 1.2.3.4.5 01.2.3.4 1.2.3.x"},
    {"ipv6", "::1 :: 1:2:3:4:5:6:7:8 1::d6:192.168.0.1 d6::",
     "1 1:2:3:4:5:6:7 12345:: 1::2::3 ::1.2.3 fe80::a%eth1 [::1] 1:2:3:4:5:6:7:8:9 :1::"},
    {"uri", "http://foo.bar/?q=1#f urn:a:b mailto:a@b.c http://[::1]:80/ file:/etc/x",
     "/abc abc //a/b http://a/%zz http://a:x/ 1http://a http://[::1 http://a/<>"},
    {"uri-reference", "/abc abc #f //a/b ?q ./a:b", "\\\\x /%zz 1:b //a:x/ #a\\b"},
    {"iri", "http://\xc6\x92.com/\xc3\xa9?\xc3\xa9#\xc3\xa9", "/\xc3\xa9 http://2001:db8::1"},
    {"iri-reference", "/\xc3\xa9 #\xc3\xa9", "\\\\\xc3\xa9"},
    {"uri-template", "/a/{b} {+x,y*} {v:9999} a%41", "{ } {} {a,,b} {v:0} {v:10000} {a..b} {a=b}"},
    {"uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8aa08-aa98-11ea-b4aa-73b441d1638 x"},
    {"json-pointer", "/a/b~0~1 / /a//", "a /~ /~2 #/a"},
    {"relative-json-pointer", "0 1/a 0# 120/x", "/a -1 01/a 0## 1#/a"},
    {"regex", "^a+$ [] (?<=a+)b", "^(a \\a (?i)a"},
};

static void check(const struct ch_format *f, const char *texts, bool want) {
    struct ch_patterns room = {0};
    struct ch_sv rest = ch_sv_str(texts);
    while (rest.n) {
        struct ch_sv text = ch_sv_split(&rest, ' ');
        if (f->check(text, &room) != want)
            fail_msg("%s: '%.*s' should be %s", f->name, CH_SV_FMT(text), want ? "good" : "bad");
    }
    ch_patterns_release(&room);
}

static void test_formats(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(formats); i++) {
        const struct ch_format *f = ch_format_find(ch_sv_str(formats[i].format));
        if (!f)
            fail_msg("no format %s", formats[i].format);
        check(f, formats[i].good, true);
        check(f, formats[i].bad, false);
        check(f, f->example, true);
    }
    assert_null(ch_format_find(CH_SV("colour")));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_formats)};
    return cmocka_run_group_tests_name("json/schema_format", tests, NULL, NULL);
}
