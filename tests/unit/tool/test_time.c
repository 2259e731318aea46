/* test_time.c -- dates, time zones and the tool that tells them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "base/calendar.h"
#include "base/zone.h"
#include "json/json.h"

/* --- dates --------------------------------------------------------------- */

static const struct {
    int64_t seconds;
    const char *text, *weekday;
    int yearday, week, week_year;
} dates[] = {
    {0, "1970-01-01T00:00:00", "Thursday", 1, 1, 1970},
    {-1, "1969-12-31T23:59:59", "Wednesday", 365, 1, 1970},
    {951782400, "2000-02-29T00:00:00", "Tuesday", 60, 9, 2000},
    {1709251199, "2024-02-29T23:59:59", "Thursday", 60, 9, 2024},
    {1735603200, "2024-12-31T00:00:00", "Tuesday", 366, 1, 2025},
    {1609459200, "2021-01-01T00:00:00", "Friday", 1, 53, 2020},
    {4107542400, "2100-03-01T00:00:00", "Monday", 60, 9, 2100},
    {-62135596800, "0001-01-01T00:00:00", "Monday", 1, 1, 1},
    {253402300799, "9999-12-31T23:59:59", "Friday", 365, 52, 9999},
};

static void test_dates(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(dates); i++) {
        struct ch_date d = ch_date_of(dates[i].seconds);
        CH_BUF_AUTO text = {0};
        int year;
        ch_date_write(&text, &d);
        assert_string_equal(ch_buf_str(&text), dates[i].text);
        assert_string_equal(ch_date_weekday(&d), dates[i].weekday);
        assert_int_equal(d.yearday, dates[i].yearday);
        assert_int_equal(ch_date_week(&d, &year), dates[i].week);
        assert_int_equal(year, dates[i].week_year);
        assert_int_equal(ch_date_seconds(&d), dates[i].seconds);
    }
    for (int64_t t = -70000000000; t < 260000000000; t += 86399 * 731) /* agree with libc */
    {
        time_t unix_time = (time_t)t;
        struct tm want;
        struct ch_date d = ch_date_of(t);
        assert_non_null(gmtime_r(&unix_time, &want));
        assert_int_equal(d.year, want.tm_year + 1900);
        assert_int_equal(d.month, want.tm_mon + 1);
        assert_int_equal(d.day, want.tm_mday);
        assert_int_equal(d.hour * 3600 + d.minute * 60 + d.second,
                         want.tm_hour * 3600 + want.tm_min * 60 + want.tm_sec);
        assert_int_equal(d.weekday, want.tm_wday);
        assert_int_equal(d.yearday, want.tm_yday + 1);
        assert_int_equal(ch_date_seconds(&d), t);
    }
}

static const struct {
    const char *text, *want; /* NULL: no time */
} times[] = {
    {"2024-02-29", "2024-02-29T00:00:00"},
    {"2024-02-29T12:34", "2024-02-29T12:34:00"},
    {" 2024-02-29 12:34:56 ", "2024-02-29T12:34:56"},
    {"2024-02-29T12:34:56.789Z", "2024-02-29T12:34:56 0"},
    {"2024-02-29T12:34:56+08:00", "2024-02-29T12:34:56 28800"},
    {"2024-02-29t12:34:56 -0530", "2024-02-29T12:34:56 -19800"},
    {"2024-02-29T12:34+08", "2024-02-29T12:34:00 28800"},
    {"12:34", "0000-00-00T12:34:00"},
    {"23:59:59Z", "0000-00-00T23:59:59 0"},
    {"2023-02-29", NULL},
    {"2024-13-01", NULL},
    {"2024-00-10", NULL},
    {"2024-01-32", NULL},
    {"0000-01-01", NULL},
    {"24:00", NULL},
    {"12:60", NULL},
    {"12:00:60", NULL},
    {"2024-01-01T", NULL},
    {"2024-01-01T12", NULL},
    {"2024-01-01T12:00+19", NULL},
    {"2024-01-01T12:00 Mars", NULL},
    {"tomorrow", NULL},
    {"", NULL},
    {"1:2", NULL},
    {"2024-1-1", NULL},
};

static void test_reading(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(times); i++) {
        struct ch_time t;
        CH_BUF_AUTO got = {0};
        bool ok = ch_time_read(ch_sv_str(times[i].text), &t);
        if (ok)
            ch_date_write(&got, &t.date);
        if (ok && t.has_offset)
            ch_buf_addf(&got, " %d", t.offset);
        if (ok != (times[i].want != NULL) || (ok && strcmp(ch_buf_str(&got), times[i].want) != 0))
            fail_msg("%s: %s", times[i].text, ch_buf_str(&got));
    }
}

/* --- zones --------------------------------------------------------------- */

static void add32(struct ch_buf *b, uint32_t v) {
    for (int i = 24; i >= 0; i -= 8)
        ch_buf_addc(b, (char)(v >> i));
}

static void add64(struct ch_buf *b, int64_t v) {
    add32(b, (uint32_t)((uint64_t)v >> 32));
    add32(b, (uint32_t)v);
}

static void add_header(struct ch_buf *b, char version, uint32_t ntimes, uint32_t ntypes,
                       uint32_t chars) {
    ch_buf_add_str(b, "TZif");
    ch_buf_addc(b, version);
    for (int i = 0; i < 15; i++)
        ch_buf_addc(b, 0);
    add32(b, 0);
    add32(b, 0);
    add32(b, 0);
    add32(b, ntimes);
    add32(b, ntypes);
    add32(b, chars);
}

/* LMT until 1000, then AAA (+1 h) until 2000, then BBB (+2 h, summer). */
static void add_data(struct ch_buf *b, bool wide) {
    static const int64_t at[] = {1000, 2000};
    static const int offsets[] = {1234, 3600, 7200};

    for (int i = 0; i < 2; i++)
        wide ? add64(b, at[i]) : add32(b, (uint32_t)at[i]);
    ch_buf_addc(b, 1);
    ch_buf_addc(b, 2);
    for (int i = 0; i < 3; i++) {
        add32(b, (uint32_t)offsets[i]);
        ch_buf_addc(b, i == 2);
        ch_buf_addc(b, (char)(4 * i));
    }
    ch_buf_add(b, "LMT\0AAA\0BBB", 12);
}

static void make_file(struct ch_buf *b, char version, const char *footer) {
    add_header(b, version, 2, 3, 12);
    add_data(b, false);
    if (version < '2')
        return;
    add_header(b, version, 2, 3, 12);
    add_data(b, true);
    ch_buf_addf(b, "\n%s\n", footer);
}

static void expect(const struct ch_zone *z, int64_t utc, int offset, const char *abbr, bool dst) {
    struct ch_zone_time t = ch_zone_at(z, utc);

    assert_int_equal(t.offset, offset);
    assert_string_equal(t.abbr, abbr);
    assert_int_equal(t.dst, dst);
}

static void test_zone_file(void **state) {
    (void)state;
    for (char version = 0; version <= '3'; version = version ? (char)(version + 1) : '2') {
        CH_BUF_AUTO file = {0};
        make_file(&file, version, "");
        CH_AUTO(ch_zone) z = ch_zone_parse(ch_buf_sv(&file));
        assert_non_null(z);
        expect(z, -5000000000, 1234, "LMT", false);
        expect(z, 999, 1234, "LMT", false);
        expect(z, 1000, 3600, "AAA", false);
        expect(z, 1999, 3600, "AAA", false);
        expect(z, 2000, 7200, "BBB", true);
        expect(z, 5000000000, 7200, "BBB", true);
    }
}

/* Every cut and every flipped byte: refused, or read without harm. */
static void test_broken_zones(void **state) {
    CH_BUF_AUTO file = {0};

    (void)state;
    make_file(&file, '2', "CET-1CEST,M3.5.0,M10.5.0/3");
    for (size_t n = 0; n < file.n; n++) {
        CH_AUTO(ch_zone) z = ch_zone_parse(ch_sv(file.p, n));
        if (n < file.n - 1) /* without its last line feed it is whole */
            assert_true(!z || n > file.n - 30);
    }
    for (size_t i = 0; i < file.n; i++)
        for (int bit = 0; bit < 8; bit++) {
            file.p[i] = (char)(file.p[i] ^ 1 << bit);
            CH_AUTO(ch_zone) z = ch_zone_parse(ch_buf_sv(&file));
            file.p[i] = (char)(file.p[i] ^ 1 << bit);
            int64_t utc;
            for (int64_t t = -1; z && t < 5; t++) {
                ch_zone_at(z, t * 1000000000);
                ch_zone_utc(z, t * 1000000000, &utc);
            }
        }
}

/* The rule after the last transition: what it says in some later years. */
static const struct {
    const char *rule, *when; /* UTC */
    int offset;
    const char *abbr;
} rules[] = {
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2030-03-31T00:59:59", 3600, "CET"},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2030-03-31T01:00:00", 7200, "CEST"},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2030-10-27T00:59:59", 7200, "CEST"},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2030-10-27T01:00:00", 3600, "CET"},
    {"EST5EDT,M3.2.0,M11.1.0", "2031-03-09T06:59:59", -18000, "EST"},
    {"EST5EDT,M3.2.0,M11.1.0", "2031-03-09T07:00:00", -14400, "EDT"},
    {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2030-01-01T00:00:00", 39600, "AEDT"},
    {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2030-07-01T00:00:00", 36000, "AEST"},
    {"<+0330>-3:30", "2030-07-01T00:00:00", 12600, "+0330"},
    {"IST-1GMT0,M10.5.0,M3.5.0/1", "2030-01-01T00:00:00", 0, "GMT"},
    {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2030-03-31T00:59:59", -7200, "-02"},
    {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2030-03-31T01:00:00", -3600, "-01"},
    {"AAA0BBB-1,J60/0,J90/0", "2032-03-01T00:00:00", 3600, "BBB"}, /* a leap year */
    {"AAA0BBB-1,59/0,J90/0", "2032-02-29T00:00:00", 3600, "BBB"},
    {"PPP3EDT4,0/0,J365/23", "2030-06-01T00:00:00", -14400, "EDT"},
};

static void test_rules(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(rules); i++) {
        CH_BUF_AUTO file = {0};
        struct ch_time when;
        make_file(&file, '2', rules[i].rule);
        CH_AUTO(ch_zone) z = ch_zone_parse(ch_buf_sv(&file));
        assert_non_null(z);
        assert_true(ch_time_read(ch_sv_str(rules[i].when), &when));
        struct ch_zone_time t = ch_zone_at(z, ch_date_seconds(&when.date));
        if (t.offset != rules[i].offset || strcmp(t.abbr, rules[i].abbr) != 0)
            fail_msg("%s at %s: %d %s", rules[i].rule, rules[i].when, t.offset, t.abbr);
    }
}

static void test_bad_rules(void **state) {
    static const char *const bad[] = {"CET",
                                      "1",
                                      "CET-1CEST",
                                      "CET-1,M3.5.0",
                                      "CET-1CEST,M13.1.0,M1.1.0",
                                      "CET-1CEST,M1.6.0,M1.1.0",
                                      "CET-1CEST,M1.1.7,M1.1.0",
                                      "<CET-1",
                                      "CET-1 x",
                                      "CET-1CEST,J0,J1",
                                      "CET-999"};

    (void)state;
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        CH_BUF_AUTO file = {0};
        make_file(&file, '2', bad[i]);
        if (ch_zone_parse(ch_buf_sv(&file)))
            fail_msg("%s was accepted", bad[i]);
    }
}

static void test_local_times(void **state) {
    CH_BUF_AUTO file = {0};
    struct ch_date spring = {.year = 2030, .month = 3, .day = 31, .hour = 2, .minute = 30};
    struct ch_date autumn = {.year = 2030, .month = 10, .day = 27, .hour = 2, .minute = 30};
    struct ch_date summer = {.year = 2030, .month = 7, .day = 1};
    int64_t utc;

    (void)state;
    make_file(&file, '2', "CET-1CEST,M3.5.0,M10.5.0/3");
    CH_AUTO(ch_zone) z = ch_zone_parse(ch_buf_sv(&file));
    assert_int_equal(ch_zone_utc(z, ch_date_seconds(&summer), &utc), 1);
    assert_int_equal(utc, ch_date_seconds(&summer) - 7200);
    assert_int_equal(ch_zone_utc(z, ch_date_seconds(&spring), &utc), 0);
    assert_int_equal(utc, ch_date_seconds(&spring) - 3600);
    assert_int_equal(ch_zone_utc(z, ch_date_seconds(&autumn), &utc), 2);
    assert_int_equal(utc, ch_date_seconds(&autumn) - 7200);
}

/* --- the tool ------------------------------------------------------------ */

static const struct {
    const char *what, *arguments, *want; /* '!': an error that holds this */
} cases[] = {
    {"UTC", "{\"time\":\"2024-02-29T12:00:00Z\",\"timezone\":\"UTC\"}",
     "2024-02-29T12:00:00Z Thursday, week 9 (UTC)\nUTC 2024-02-29T12:00:00Z, Unix time "
     "1709208000\n"},
    {"offset", "{\"time\":\"2024-02-29T12:00:00+02:00\",\"timezone\":\"UTC+8\"}",
     "2024-02-29T18:00:00+08:00 Thursday, week 9 (UTC+08:00)\n"},
    {"a zone", "{\"time\":\"2024-07-01T12:00Z\",\"timezone\":\"Europe/Berlin\"}",
     "2024-07-01T14:00:00+02:00 Monday, week 27 (Europe/Berlin, CEST, daylight saving time)\n"},
    {"several", "{\"time\":\"2024-01-01T00:00Z\",\"tz\":\"Asia/Tokyo, America/New_York\"}",
     "2024-01-01T09:00:00+09:00 Monday, week 1 (Asia/Tokyo, JST)\n"
     "2023-12-31T19:00:00-05:00 Sunday, week 52 (America/New_York, EST)\n"},
    {"from a zone",
     "{\"time\":\"2024-01-01 09:00\",\"from_timezone\":\"Asia/Shanghai\","
     "\"timezone\":\"Europe/London\"}",
     "2024-01-01T01:00:00Z Monday, week 1 (Europe/London, GMT)\n"},
    {"names in any case", "{\"time\":\"2024-01-01T00:00Z\",\"timezone\":\"asia/shanghai\"}",
     "(Asia/Shanghai, CST)"},
    {"a city", "{\"time\":\"2024-01-01T00:00Z\",\"timezone\":\"new york\"}",
     "(America/New_York, EST)"},
    {"a time that does not occur",
     "{\"time\":\"2024-03-31T02:30\",\"from_timezone\":"
     "\"Europe/Berlin\",\"timezone\":\"Europe/Berlin\"}",
     "2024-03-31T03:30:00+02:00"},
    {"and that is said",
     "{\"time\":\"2024-03-31T02:30\",\"from_timezone\":\"Europe/Berlin\","
     "\"timezone\":\"UTC\"}",
     "[In Europe/Berlin clocks are put forward over this time; it does not occur.]"},
    {"a time that occurs twice",
     "{\"time\":\"2024-10-27T02:30\",\"from_timezone\":"
     "\"Europe/Berlin\",\"timezone\":\"UTC\"}",
     "[In Europe/Berlin clocks are put back over this time; the first"},
    {"Unix time", "{\"time\":\"1709208000\",\"timezone\":\"UTC\"}", "2024-02-29T12:00:00Z"},
    {"as a number", "{\"time\":1709208000,\"timezone\":\"UTC\"}", "2024-02-29T12:00:00Z"},
    {"in milliseconds", "{\"time\":\"1709208000123\",\"timezone\":\"UTC\"}",
     "2024-02-29T12:00:00Z"},
    {"no such zone", "{\"timezone\":\"Europe/Berlim\"}", "!Similar: Europe/Berlin"},
    {"nothing like it", "{\"timezone\":\"xyzzyplugh\"}", "!Use a name such as"},
    {"not a path", "{\"timezone\":\"../../../etc/passwd\"}", "!There is no time zone"},
    {"not an absolute one", "{\"timezone\":\"/etc/localtime\"}", "!There is no time zone"},
    {"not another file", "{\"timezone\":\"zone.tab\"}", "!There is no time zone"},
    {"no time", "{\"time\":\"tea time\"}", "!is no time"},
    {"no year", "{\"time\":\"0001-01-01\",\"timezone\":\"UTC\",\"from_timezone\":\"UTC\"}",
     "!is no time"},
    {"wrong type", "{\"timezone\":{}}", "!must be a string"},
    {"too many", "{\"timezone\":\"UTC,UTC,UTC,UTC,UTC,UTC,UTC,UTC,UTC,UTC,UTC\"}",
     "!More than 10 time zones"},
};

static void test_cases(void **state) {
    struct kit k;

    (void)state;
    kit_init(&k);
    ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        bool error = cases[i].want[0] == '!';
        const char *got = kit_call(&k, "time", cases[i].arguments);
        if (k.is_error != error || !strstr(got, cases[i].want + error))
            fail_msg("%s: %s", cases[i].what, got);
    }
    kit_call(&k, "time", "{\"time\":\"2024-07-01T12:00Z\",\"timezone\":\"Europe/Berlin\"}");
    assert_string_equal(
        k.details, "{\"unix\":1719835200,\"utc\":\"2024-07-01T12:00:00Z\",\"zones\":[{\"timezone\":"
                   "\"Europe/Berlin\",\"time\":\"2024-07-01T14:00:00+02:00\",\"weekday\":"
                   "\"Monday\",\"utc_offset_seconds\":7200,\"abbreviation\":\"CEST\","
                   "\"is_dst\":true}]}");
    kit_free(&k);
}

static void test_now(void **state) {
    struct kit k;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;

    (void)state;
    kit_init(&k);
    ch_builtin_add_with(&k.registry, NULL, NULL, NULL, NULL);
    int64_t before = (int64_t)time(NULL);
    kit_call(&k, "time", "{}");
    assert_false(k.is_error);
    assert_int_equal(ch_json_parse(&arena, ch_sv_str(k.details), CH_JSON_STRICT, &v, NULL, NULL),
                     0);
    int64_t told = ch_json_int(ch_json_get(v, "unix"), 0);
    assert_true(told >= before && told <= (int64_t)time(NULL));
    kit_free(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dates),       cmocka_unit_test(test_reading),
        cmocka_unit_test(test_zone_file),   cmocka_unit_test(test_broken_zones),
        cmocka_unit_test(test_rules),       cmocka_unit_test(test_bad_rules),
        cmocka_unit_test(test_local_times), cmocka_unit_test(test_cases),
        cmocka_unit_test(test_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
