/* test_schedule.c -- what is due: on time, missed, too often, with clocks that
 * are set. Schedules of the configuration and those that were stored are the
 * same here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/journal/schedule.h"
#include "base/calendar.h"

#define HOUR 3600000LL
#define DAY (24 * HOUR)

static int64_t utc(const char *text) {
    struct ch_time t;
    assert_true(ch_time_read(ch_sv_str(text), &t));
    return ch_date_seconds(&t.date) * 1000;
}

static struct ch_schedule *make(const char *when, enum chela_missed missed) {
    struct chela_schedule given = CHELA_SCHEDULE(.name = "s", .when = when, .timezone = "UTC",
                                                 .prompt = "p", .missed = missed);
    struct chela_error err = {0};
    struct ch_schedule *s = NULL;
    if (ch_schedule_new(&given, NULL, &s, &err) < 0)
        fail_msg("%s: %s", when, err.message);
    return s;
}

/* "09:00 10:00": the times of a day that are to be run. */
static void check(struct ch_schedule *s, const char *now, const char *want, size_t skipped) {
    struct ch_schedule_due due;
    CH_BUF_AUTO got = {0};
    ch_schedule_due(s, utc(now), &due);
    for (size_t i = 0; i < due.n; i++) {
        struct ch_date d = ch_date_of(due.times[i] / 1000);
        ch_buf_addf(&got, "%s%02d:%02d", i ? " " : "", d.hour, d.minute);
    }
    if (strcmp(ch_buf_str(&got), want) != 0 || due.skipped != skipped)
        fail_msg("at %s: '%s' and %zu, expected '%s' and %zu", now, ch_buf_str(&got), due.skipped,
                 want, skipped);
}

static void test_on_time(void **state) {
    CH_AUTO(ch_schedule) s = make("0 * * * *", CHELA_MISSED_DEFAULT);
    (void)state;
    check(s, "2026-11-15T08:30:00", "", 0); /* what was before does not count */
    check(s, "2026-11-15T08:59:59", "", 0);
    check(s, "2026-11-15T09:00:00", "09:00", 0);
    check(s, "2026-11-15T09:00:00", "", 0); /* once */
    check(s, "2026-11-15T10:00:07", "10:00", 0);
    check(s, "2026-11-15T10:30:00", "", 0);
}

static void test_missed(void **state) {
    static const struct {
        enum chela_missed policy;
        const char *now, *want;
        size_t skipped;
    } cases[] = {
        {CHELA_MISSED_DEFAULT, "2026-11-15T13:20:00", "13:00", 3},
        {CHELA_MISSED_ONCE, "2026-11-15T13:20:00", "13:00", 3},
        {CHELA_MISSED_SKIP, "2026-11-15T13:20:00", "", 4},
        {CHELA_MISSED_SKIP, "2026-11-15T13:00:30", "13:00", 3}, /* that one is on time */
        {CHELA_MISSED_ALL, "2026-11-15T13:20:00", "10:00 11:00 12:00 13:00", 0},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_AUTO(ch_schedule) s = make("0 * * * *", cases[i].policy);
        check(s, "2026-11-15T09:30:00", "", 0);
        check(s, cases[i].now, cases[i].want, cases[i].skipped);
        check(s, cases[i].now, "", 0);
    }
}

/* However long nobody was there, it takes no time and stays within bounds. */
static void test_a_long_absence(void **state) {
    static const char *const whens[] = {"* * * * *", "every 1s", "every 1h", "0 9 * * *"};
    (void)state;
    for (size_t i = 0; i < CH_LEN(whens); i++) {
        CH_AUTO(ch_schedule) s = make(whens[i], CHELA_MISSED_ALL);
        struct ch_schedule_due due;
        s->state = (struct ch_schedule_state){.since = 1, .last = utc("2026-01-01T00:00:00")};
        ch_schedule_due(s, utc("2027-06-01T12:00:00"), &due);
        assert_int_equal(due.n, CH_LIMIT_MISSED);
        assert_true(due.skipped > 0);
        for (size_t k = 1; k < due.n; k++)
            assert_true(due.times[k] > due.times[k - 1]);
        assert_true(due.times[due.n - 1] <= utc("2027-06-01T12:00:00"));
        assert_true(due.times[due.n - 1] > utc("2027-06-01T08:59:59"));
    }
}

static void test_once(void **state) {
    CH_AUTO(ch_schedule) s = make("at 2026-11-15T09:00", CHELA_MISSED_DEFAULT);
    (void)state;
    check(s, "2026-11-15T08:00:00", "", 0);
    check(s, "2026-11-16T00:00:00", "09:00", 0); /* late, but it is */
    check(s, "2026-11-16T00:00:01", "", 0);
    assert_true(ch_schedule_next(s, utc("2026-11-16T00:00:01")) == CH_WHEN_NEVER);
    CH_AUTO(ch_schedule) past = make("at 2026-11-15T09:00", CHELA_MISSED_ALL);
    check(past, "2026-11-15T09:00:01", "", 0); /* it had passed when anybody first looked */
    check(past, "2026-11-15T09:00:02", "", 0);
}

static void test_runs_of_a_day(void **state) {
    CH_AUTO(ch_schedule) s = make("0 * * * *", CHELA_MISSED_ALL);
    struct ch_schedule_due due;
    (void)state;
    s->is.max_runs_per_day = 2;
    check(s, "2026-11-15T21:30:00", "", 0);
    check(s, "2026-11-15T22:00:00", "22:00", 0);
    ch_schedule_due(s, utc("2026-11-16T03:00:00"), &due); /* 23, 0, 1, 2, 3 */
    assert_int_equal(due.n, 3);
    assert_int_equal(due.over, 2);
    assert_int_equal(due.times[2], utc("2026-11-16T01:00:00"));
    check(s, "2026-11-16T04:00:00", "", 0);
}

static void test_quiet_hours(void **state) {
    struct chela_schedule given = CHELA_SCHEDULE(.name = "s", .when = "0 */6 * * *",
                                                 .timezone = "+02:00", .prompt = "p",
                                                 .quiet_hours = "22:00-07:00");
    CH_AUTO(ch_schedule) s = NULL;
    (void)state;
    assert_int_equal(ch_schedule_new(&given, NULL, &s, NULL), 0);
    int64_t at = utc("2026-11-15T00:00:00");
    assert_int_equal(at = ch_schedule_next(s, at), utc("2026-11-15T10:00:00"));
    assert_int_equal(at = ch_schedule_next(s, at), utc("2026-11-15T16:00:00"));
    assert_int_equal(ch_schedule_next(s, at), utc("2026-11-16T10:00:00"));
}

static void test_clocks_that_are_set(void **state) {
    CH_AUTO(ch_schedule) s = make("0 * * * *", CHELA_MISSED_DEFAULT);
    struct ch_schedule_due due;
    (void)state;
    check(s, "2026-11-15T08:30:00", "", 0);
    check(s, "2026-11-15T10:00:00", "10:00", 1);
    check(s, "2026-11-15T08:59:00", "", 0); /* an hour back: nothing is done again */
    check(s, "2026-11-15T10:00:00", "", 0);
    check(s, "2026-11-15T11:00:00", "11:00", 0);
    ch_schedule_due(s, utc("2030-01-01T00:00:10"), &due); /* a clock that is all wrong */
    assert_int_equal(due.n, 1);
    ch_schedule_due(s, utc("2026-11-15T11:30:00"), &due); /* and put right */
    assert_true(due.set_back);
    assert_int_equal(due.n, 0);
    check(s, "2026-11-15T12:00:00", "12:00", 0);
}

static void test_notes(void **state) {
    struct chela_schedule given =
        CHELA_SCHEDULE(.name = "a-b_1", .when = "at 2027-01-01T09:00", .timezone = "+08:00",
                       .agent = "coder", .session = "k", .prompt = "say \"hi\"\n",
                       .missed = CHELA_MISSED_SKIP, .quiet_hours = "01:00-02:00", .fresh = 1,
                       .cost_budget_usd = 0.25, .max_turns = 3, .timeout_ms = 4000,
                       .max_runs_per_day = 5);
    struct ch_schedule_state before = {1, 2, 3, 4}, after;
    CH_AUTO(ch_schedule) s = NULL;
    CH_AUTO(ch_schedule) again = NULL;
    CH_BUF_AUTO one = {0}, two = {0}, note = {0}, id = {0}, key = {0};
    (void)state;
    assert_int_equal(ch_schedule_new(&given, "k", &s, NULL), 0);
    ch_schedule_write(s, &one);
    assert_int_equal(ch_schedule_read(ch_buf_sv(&one), "k", &again, NULL), 0);
    ch_schedule_write(again, &two);
    assert_string_equal(ch_buf_str(&one), ch_buf_str(&two));
    assert_string_equal(again->is.prompt, given.prompt);
    assert_true(again->is.cost_budget_usd == 0.25);
    ch_schedule_state_write(&before, &note);
    ch_schedule_state_read(ch_buf_sv(&note), &after);
    assert_memory_equal(&before, &after, sizeof(before));
    ch_schedule_event_id(s, s->when.ms, &id);
    assert_string_equal(ch_buf_str(&id), "schedule/a-b_1/2027-01-01T01:00:00Z");
    ch_schedule_session(s, s->when.ms, &key);
    assert_string_equal(ch_buf_str(&key), "k:2027-01-01T01:00:00Z");
}

static void test_mistakes(void **state) {
    static const struct {
        struct chela_schedule is;
        const char *words;
    } cases[] = {
        {CHELA_SCHEDULE(.name = "a b", .when = "@daily", .prompt = "p"), "a schedule's name"},
        {CHELA_SCHEDULE(.when = "@daily", .prompt = "p"), "a schedule's name"},
        {CHELA_SCHEDULE(.name = "a", .prompt = "p"), "column 1: there is no time"},
        {CHELA_SCHEDULE(.name = "a", .when = "@daily"), "there is no prompt"},
        {CHELA_SCHEDULE(.name = "a", .when = "@daily", .prompt = "p", .timezone = "Mars/One"),
         "no time zone 'Mars/One'"},
        {CHELA_SCHEDULE(.name = "a", .when = "@daily", .prompt = "p",
                        .missed = (enum chela_missed)9),
         "there is no missed 9"},
        {CHELA_SCHEDULE(.name = "a", .when = "@daily", .prompt = "p", .quiet_hours = "22-7h"),
         "quiet hours are two times"},
        {CHELA_SCHEDULE(.name = "a", .when = "@daily", .prompt = "p", .max_turns = -1),
         "not negative"},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct chela_error err = {0};
        assert_int_equal(chela_schedule_check(&cases[i].is, &err), CHELA_EINVAL);
        if (!strstr(err.message, cases[i].words))
            fail_msg("'%s' does not say '%s'", err.message, cases[i].words);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_on_time),
        cmocka_unit_test(test_missed),
        cmocka_unit_test(test_a_long_absence),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_runs_of_a_day),
        cmocka_unit_test(test_quiet_hours),
        cmocka_unit_test(test_clocks_that_are_set),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
