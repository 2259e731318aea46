/* test_when.c -- when something is due: texts, complaints, and the next times,
 * also over the two nights in which clocks are set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/calendar.h"
#include "base/when.h"
#include "base/when_read.h"
#include "base/zone_file.h"

/* A TZif file that has its rule alone. */
static struct ch_zone *zone_of(const char *rule) {
    static const char counts[24] = {[19] = 1, [23] = 4}; /* one type, four bytes of names */
    CH_BUF_AUTO b = {0};
    for (int block = 0; block < 2; block++) {
        ch_buf_add(&b, "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
        ch_buf_add(&b, counts, sizeof(counts));
        ch_buf_add(&b, "\0\0\0\0\0\0LMT\0", 10);
    }
    ch_buf_addf(&b, "\n%s\n", rule);
    struct ch_zone *z = ch_zone_parse(ch_buf_sv(&b));
    assert_non_null(z);
    return z;
}

#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"
#define UTC "UTC0"
#define NEWYORK "EST5EDT,M3.2.0,M11.1.0"

static const struct {
    const char *when, *zone, *after, *next; /* next: what follows, in UTC; "": nothing */
} cases[] = {
    {"* * * * *", UTC, "2026-11-15T10:00:00", "2026-11-15T10:01:00 2026-11-15T10:02:00"},
    {"* * * * *", UTC, "2026-11-15T10:00:59", "2026-11-15T10:01:00"},
    {"*/15 * * * *", UTC, "2026-11-15T10:14:00", "2026-11-15T10:15:00 2026-11-15T10:30:00"},
    {"5-59/20 8,18 * * *", UTC, "2026-11-15T08:30:00",
     "2026-11-15T08:45:00 2026-11-15T18:05:00 2026-11-15T18:25:00"},
    {"50/5 * * * *", UTC, "2026-11-15T10:51:00", "2026-11-15T10:55:00 2026-11-15T11:50:00"},
    {"30 7 * * mon-fri", UTC, "2026-11-13T08:00:00", "2026-11-16T07:30:00 2026-11-17T07:30:00"},
    {"0 0 * * 7", UTC, "2026-11-15T00:00:00", "2026-11-22T00:00:00"},
    {"0 0 * * fri-sun", UTC, "2026-11-13T00:00:00",
     "2026-11-14T00:00:00 2026-11-15T00:00:00 2026-11-20T00:00:00"},
    {"0 0 * * sun-sun", UTC, "2026-11-15T00:00:00", "2026-11-22T00:00:00 2026-11-29T00:00:00"},
    {"0 0 * * 5-7", UTC, "2026-11-15T00:00:00", "2026-11-20T00:00:00"},
    {"0 0 13 * fri", UTC, "2026-11-13T00:00:00", "2026-11-20T00:00:00 2026-11-27T00:00:00"},
    {"0 0 */2 * fri", UTC, "2026-11-13T00:00:00", "2026-11-27T00:00:00"},
    {"0 0 29 2 *", UTC, "2096-03-01T00:00:00", "2104-02-29T00:00:00"},
    {"0 12 31 * *", UTC, "2026-11-15T00:00:00", "2026-12-31T12:00:00 2027-01-31T12:00:00"},
    {"0 0 1 Jan *", UTC, "2026-11-15T00:00:00", "2027-01-01T00:00:00"},
    {"@daily", UTC, "2026-11-15T00:00:00", "2026-11-16T00:00:00"},
    {"@HOURLY", UTC, "2026-11-15T10:00:00", "2026-11-15T11:00:00"},
    {"@weekly", UTC, "2026-11-15T10:00:00", "2026-11-22T00:00:00"},
    {"@monthly", UTC, "2026-11-15T10:00:00", "2026-12-01T00:00:00"},
    {"@yearly", UTC, "2026-11-15T10:00:00", "2027-01-01T00:00:00"},
    {"0 9 * * *", BERLIN, "2026-07-01T00:00:00", "2026-07-01T07:00:00"},
    {"0 9 * * *", BERLIN, "2026-12-01T00:00:00", "2026-12-01T08:00:00"},
    {"0 9 * * *", "CST-8", "2026-12-01T01:00:00", "2026-12-02T01:00:00"},
    /* 2027-03-28 in Berlin has no 02:00 to 03:00 */
    {"30 2 * * *", BERLIN, "2027-03-27T02:00:00", "2027-03-28T01:00:00 2027-03-29T00:30:00"},
    {"*/10 2 * * *", BERLIN, "2027-03-27T01:50:00", "2027-03-28T01:00:00 2027-03-29T00:00:00"},
    {"0 2,3 * * *", BERLIN, "2027-03-27T03:00:00", "2027-03-28T01:00:00 2027-03-29T00:00:00"},
    {"*/30 * * * *", BERLIN, "2027-03-28T00:15:00",
     "2027-03-28T00:30:00 2027-03-28T01:00:00 2027-03-28T01:30:00"},
    {"0 * * * *", BERLIN, "2027-03-28T00:00:00", "2027-03-28T01:00:00 2027-03-28T02:00:00"},
    /* 2026-10-25 has it twice */
    {"30 2 * * *", BERLIN, "2026-10-24T12:00:00", "2026-10-25T00:30:00 2026-10-26T01:30:00"},
    {"30 * * * *", BERLIN, "2026-10-25T00:00:00",
     "2026-10-25T00:30:00 2026-10-25T01:30:00 2026-10-25T02:30:00"},
    {"15 * 25 * *", BERLIN, "2026-10-24T20:00:00", "2026-10-24T22:15:00 2026-10-24T23:15:00"},
    {"0 0 * * *", NEWYORK, "2026-11-01T05:00:00", "2026-11-02T05:00:00"},
    {"30 1 * * *", NEWYORK, "2026-11-01T04:00:00", "2026-11-01T05:30:00 2026-11-02T06:30:00"},
    {"every 30m", UTC, "2026-11-15T10:10:00", "2026-11-15T10:30:00 2026-11-15T11:00:00"},
    {"every: 1d", BERLIN, "2026-11-15T10:10:00", "2026-11-16T00:00:00"},
    {"every 1h30m", UTC, "1970-01-01T00:00:00", "1970-01-01T01:30:00 1970-01-01T03:00:00"},
    {"at 2027-03-01T09:00", BERLIN, "2026-11-15T10:00:00", "2027-03-01T08:00:00 "},
    {"at: 2027-03-01 09:00:30+08:00", BERLIN, "2026-11-15T10:00:00", "2027-03-01T01:00:30 "},
    {"at 2027-03-01T09:00Z", UTC, "2027-03-01T09:00:00", ""},
};

static int64_t utc_of(const char *text) {
    struct ch_time t;
    assert_true(ch_time_read(ch_sv_str(text), &t));
    return ch_date_seconds(&t.date) * 1000;
}

static void test_next(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_AUTO(ch_zone) zone = zone_of(cases[i].zone);
        struct chela_error err = {0};
        struct ch_when w;
        if (ch_when_read(ch_sv_str(cases[i].when), zone, &w, &err) < 0)
            fail_msg("%s: %s", cases[i].when, err.message);
        int64_t at = utc_of(cases[i].after);
        struct ch_sv rest = ch_sv_str(cases[i].next);
        while (rest.p) {
            struct ch_sv want = ch_sv_split(&rest, ' ');
            CH_BUF_AUTO got = {0};
            at = ch_when_next(&w, zone, at);
            struct ch_date d = ch_date_of(at / 1000);
            if (at != CH_WHEN_NEVER)
                ch_date_write(&got, &d);
            if (!ch_sv_eq(ch_buf_sv(&got), want))
                fail_msg("%s after %s: %s, expected %.*s", cases[i].when, cases[i].after,
                         ch_buf_str(&got), CH_SV_FMT(want));
        }
    }
}

static const struct {
    const char *when, *words;
} mistakes[] = {
    {"", "column 1: there is no time"},
    {"  ", "column 1: there is no time"},
    {"* * * *", "column 8: the day of the week is missing"},
    {"* * * * * *", "column 11: nothing may follow"},
    {"60 * * * *", "column 1: '60' is no minute: 0 to 59"},
    {"0 24 * * *", "column 3: '24' is no hour: 0 to 23"},
    {"0 0 0 * *", "column 5: '0' is no day of the month: 1 to 31"},
    {"0 0 1 foo *", "column 7: 'foo' is no month: 1 to 12, or a name"},
    {"0 0 1 1 8", "column 9: '8' is no day of the week"},
    {"0 0 * * mo", "column 9: 'mo' is no day of the week"},
    {"5,, * * * *", "column 3: a minute is missing"},
    {"5- * * * *", "column 3: a minute is missing"},
    {"30-10 * * * *", "column 1: the range ends before it begins"},
    {"*/0 * * * *", "column 3: a step is 1 to 59"},
    {"*/x * * * *", "column 3: a step is 1 to 59"},
    {"1?2 * * * *", "column 2: '?' is not allowed in a minute"},
    {"-5 * * * *", "column 1: a minute is missing"},
    {"0 0 31 2,4 *", "column 1: there is no such day in any year"},
    {"1e9 * * * *", "column 1: '1e9' is no minute"},
    {"99999999999 * * * *", "column 1: '99999999999' is no minute"},
    {"@often", "column 1: '@often' is not known"},
    {"every", "column 1: 'every' is no minute"},
    {"every 5", "column 7: '5' is no time span"},
    {"every 5m1h", "column 7: '5m1h' is no time span"},
    {"every 0s", "column 7: an interval has from one second"},
    {"every 400d", "column 7: an interval has from one second"},
    {"at 09:00", "column 4: '09:00' is no time"},
    {"at 2027-02-30T09:00", "column 4: '2027-02-30T09:00' is no time"},
    {"at noon", "column 4: 'noon' is no time"},
    {"tomorrow", "column 1: 'tomorrow' is no minute: 0 to 59; expected five fields of cron such as "
                 "'0 9 * * *', 'every 30m', 'at 2027-03-01T09:00' or @daily"},
    {"9:30", "expected five fields of cron"},
    {"2027-03-01T09:00", "expected five fields of cron"},
    {"monday 9 am", "expected five fields of cron"},
};

static void test_mistakes_name_their_column(void **state) {
    CH_AUTO(ch_zone) zone = ch_zone_fixed(0);
    (void)state;
    for (size_t i = 0; i < CH_LEN(mistakes); i++) {
        struct chela_error err = {0};
        struct ch_when w;
        assert_int_equal(ch_when_read(ch_sv_str(mistakes[i].when), zone, &w, &err), CHELA_EINVAL);
        if (!strstr(err.message, mistakes[i].words))
            fail_msg("'%s': '%s' does not say '%s'", mistakes[i].when, err.message,
                     mistakes[i].words);
    }
}

/* Whatever it is, the next time is later, and the one after that later still. */
static void test_time_goes_on(void **state) {
    CH_AUTO(ch_zone) zone = zone_of(BERLIN);
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct chela_error err = {0};
        struct ch_when w;
        assert_int_equal(ch_when_read(ch_sv_str(cases[i].when), zone, &w, &err), 0);
        int64_t at = utc_of("2026-10-24T00:00:00");
        for (int n = 0; n < 200 && at != CH_WHEN_NEVER; n++) {
            int64_t next = ch_when_next(&w, zone, at);
            assert_true(next > at);
            at = next;
        }
        assert_true(ch_when_next(&w, zone, CH_WHEN_NEVER) == CH_WHEN_NEVER);
    }
}

static void test_zones_by_name(void **state) {
    (void)state;
    CH_AUTO(ch_zone) fixed = ch_zone_load("UTC+8");
    assert_int_equal(ch_zone_at(fixed, 0).offset, 8 * 3600);
    CH_AUTO(ch_zone) utc = ch_zone_load("UTC");
    assert_int_equal(ch_zone_at(utc, 0).offset, 0);
    assert_null(ch_zone_load("Nowhere/At_All"));
    assert_null(ch_zone_load("../../etc/passwd"));
    assert_null(ch_zone_load("/etc/localtime"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_mistakes_name_their_column),
        cmocka_unit_test(test_time_goes_on),
        cmocka_unit_test(test_zones_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
