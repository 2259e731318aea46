/* model_end.c -- see model_end.h. */
#include "agent/context/model_end.h"

#include "agent/handle/runtime.h"
#include "agent/handle/session.h"
#include "agent/journal/emit.h"
#include "base/calendar.h"
#include "base/limits.h"
#include "io/loop.h"

#define DAY_S 86400

/* Days from today to the day, which is "2026-12-11". */
static int64_t days_until(const char *day, int64_t now_ms) {
    int n = ch_model_day_of(day);
    struct ch_date d = {.year = n / 10000, .month = n / 100 % 100, .day = n % 100};
    return ch_date_seconds(&d) / DAY_S - now_ms / 1000 / DAY_S;
}

bool ch_model_end_write(const struct ch_target *t, int64_t now_ms, struct ch_buf *out) {
    const struct ch_model_facts *f = &t->facts;
    int64_t days = f->ends ? days_until(f->ends, now_ms) : INT64_MAX;
    if (days > CH_LIMIT_FACTS_END_DAYS)
        return false;
    if (days < 0)
        ch_buf_addf(out, "%s ended on %s", t->spec, f->ends);
    else if (days == 0)
        ch_buf_addf(out, "%s ends today, %s", t->spec, f->ends);
    else
        ch_buf_addf(out, "%s ends on %s, in %lld day%s", t->spec, f->ends, (long long)days,
                    days == 1 ? "" : "s");
    if (f->routed_to)
        ch_buf_addf(out, "; then %s answers in its place, at its own price", f->routed_to);
    if (f->successor)
        ch_buf_addf(out, "; its successor is %s/%s", t->provider, f->successor);
    return true;
}

void ch_model_end_tell(chela_run *run) {
    CH_BUF_AUTO text = {0};
    struct ch_target *t = run->target;
    int64_t now = ch_now_ms(ch_loop_clock(run->session->agent->rt->loop));
    if (t->told_end || !ch_model_end_write(t, now, &text))
        return;
    t->told_end = true;
    ch_emit_warning(run, "%s", ch_buf_str(&text));
}
