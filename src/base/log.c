/* log.c -- log sinks and trace areas; redact.c removes secrets.
 *
 * Whether a sink is bound and whether tracing is on are read from the thread's
 * own sink, so trace points in hot paths cost almost nothing while the library
 * is silent. */
#include "base/log.h"

#include <stdarg.h>

#include "base/limits.h"
#include "base/redact.h"
#include "base/utf8.h"

static _Thread_local const struct ch_log_sink *bound;

const struct ch_log_sink *ch_log_bind(const struct ch_log_sink *sink) {
    const struct ch_log_sink *before = bound;
    bound = sink;
    return before;
}

static bool in_areas(struct ch_sv list, const char *area) {
    while (list.n) {
        struct ch_sv one = ch_sv_trim(ch_sv_split(&list, ','));
        if (ch_sv_is(one, "all") || ch_sv_is(one, area))
            return true;
    }
    return false;
}

bool ch_log_wants(enum ch_log_level level, const char *area) {
    if (!bound || !bound->fn)
        return false;
    return level != CH_LOG_TRACE || (bound->areas && in_areas(ch_sv_str(bound->areas), area));
}

void ch_log(enum ch_log_level level, const char *area, const char *fmt, ...) {
    if (!ch_log_wants(level, area))
        return;
    CH_BUF_AUTO raw = {0};
    CH_BUF_AUTO line = {0};
    va_list ap;
    va_start(ap, fmt);
    ch_buf_vaddf(&raw, fmt, ap);
    va_end(ap);
    ch_utf8_add_valid(&line, ch_buf_sv(&raw));
    if (line.n) {
        ch_redact_line(line.p);
        line.p[ch_utf8_cut(ch_sv_str(line.p), CH_LIMIT_LOG_LINE).n] = '\0';
    }
    bound->fn(level, area, ch_buf_str(&line), bound->user);
}
