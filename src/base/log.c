/* log.c -- the log sink and the trace areas; redact.c removes secrets.
 *
 * A process has one sink, which the host sets. Whether a sink is set and
 * whether tracing is on are atomic loads, so trace points in hot paths cost
 * almost nothing while the library is silent. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/utf8.h"

static struct {
    pthread_mutex_t lock;
    ch_log_fn *fn;
    void *user;
    char *areas; /* owned; NULL: tracing is off */
} sink = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_bool listening, tracing;

void ch_log_set(ch_log_fn *fn, void *user) {
    pthread_mutex_lock(&sink.lock);
    sink.fn = fn;
    sink.user = user;
    atomic_store(&listening, fn != NULL);
    pthread_mutex_unlock(&sink.lock);
}

void ch_log_trace_areas(const char *comma_list) {
    bool any = comma_list && *comma_list;
    pthread_mutex_lock(&sink.lock);
    ch_free(sink.areas);
    sink.areas = any ? ch_strdup(comma_list) : NULL;
    atomic_store(&tracing, any);
    pthread_mutex_unlock(&sink.lock);
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
    if (!atomic_load_explicit(&listening, memory_order_relaxed))
        return false;
    if (level != CH_LOG_TRACE)
        return true;
    if (!atomic_load_explicit(&tracing, memory_order_relaxed))
        return false;
    pthread_mutex_lock(&sink.lock);
    bool wanted = in_areas(ch_sv_str(sink.areas), area);
    pthread_mutex_unlock(&sink.lock);
    return wanted;
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
    pthread_mutex_lock(&sink.lock);
    ch_log_fn *fn = sink.fn;
    void *user = sink.user;
    pthread_mutex_unlock(&sink.lock);
    if (fn)
        fn(level, area, ch_buf_str(&line), user);
}
