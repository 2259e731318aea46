/* wait_until.c -- the tool `wait_until`: the run goes on at a time, or after some seconds.
 *
 * The end of the wait is stored when the wait begins (tool/call/wait.h), so a wait in seconds
 * does not begin again after a restart. */
#include "tool/builtin/data/wait_until.h"

#include "base/calendar.h"
#include "base/limits.h"
#include "base/zone.h"
#include "base/zone_file.h"
#include "tool/call/call.h"
#include "tool/call/call_view.h"

#define MOST_SECONDS (CH_LIMIT_WAIT_MS / 1000)

static int64_t wait_until_now(const chela_call *call) {
    return ch_now_ms(ch_loop_clock(call->env->loop));
}

/* A time without an offset is one of this machine's zone. */
static bool wait_until_read(const char *text, int64_t *ms) {
    struct ch_time t;

    if (!ch_time_read(ch_sv_str(text), &t) || !t.has_date)
        return false;
    int64_t local = ch_date_seconds(&t.date), utc = local - t.offset;
    if (!t.has_offset) {
        struct ch_zone *zone = ch_zone_load(NULL);
        if (zone)
            ch_zone_utc(zone, local, &utc);
        ch_zone_free(zone);
    }
    *ms = utc * 1000;
    return true;
}

static int wait_until_due(chela_call *call, int64_t *due) {
    const char *until = NULL;
    double seconds = -1;
    int64_t now = wait_until_now(call);
    int rc = chela_arg_string_opt(call, "until", &until);

    if (rc == 0)
        rc = chela_arg_double_opt(call, "seconds", &seconds);
    if (rc < 0)
        return rc;
    if ((until != NULL) == (seconds >= 0))
        return ch_result_invalid(call, "Give either until or seconds, which is not negative.");
    if (until && !wait_until_read(until, due))
        return ch_result_invalid(call, "until is no time with a date. Use ISO 8601, for example "
                                       "2027-03-01T09:00:00+08:00.");
    if (!until)
        *due = now + (int64_t)(CH_MIN(seconds, (double)MOST_SECONDS + 1) * 1000);
    if (*due > now + CH_LIMIT_WAIT_MS)
        return ch_result_invalid(call, "A wait lasts at most 366 days.");
    return 0;
}

int ch_wait_until_check(chela_call *call, void *user) {
    int64_t due;

    (void)user;
    return wait_until_due(call, &due);
}

int ch_wait_until_run(chela_call *call, void *user) {
    int64_t now = wait_until_now(call), due = 0;
    CH_BUF_AUTO stamp = {0};

    (void)user;
    int rc = call->wait.over ? 0 : wait_until_due(call, &due);
    if (rc < 0)
        return rc;
    if (due > now) {
        chela_call_defer(call);
        ch_call_sleep(call, due);
        return 0;
    }
    struct ch_date d = ch_date_of(now / 1000);
    ch_date_write(&stamp, &d);
    chela_result_printf(call, "The wait is over. It is %sZ now.", ch_buf_str(&stamp));
    return 0;
}
