/* log.h -- log messages of the library, with secrets redacted.
 *
 * Library code never prints. Each runtime has its own sink, and a thread logs
 * to the sink bound to it: CH_LOG_SCOPE binds a sink until the end of the
 * block. The loop's callbacks, its worker threads and the public functions that
 * may log bind the sink of their runtime; a thread without a sink is silent.
 * Tracing is enabled per area by name (the command line reads
 * CHELA_TRACE=net,sse and passes the list on). Values registered with
 * ch_redact_add never reach a sink or an error message: "***" replaces them. */
#ifndef CH_BASE_LOG_H
#define CH_BASE_LOG_H
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "chela/error.h"

enum ch_log_level { CH_LOG_TRACE, CH_LOG_INFO, CH_LOG_WARN, CH_LOG_ERROR };

typedef void ch_log_fn(enum ch_log_level level, const char *area,
                       const char *line, void *user);

/* Borrowed, and not changed while it is bound anywhere. */
struct ch_log_sink {
    ch_log_fn *fn; /* called from any thread, without a lock held: the function may log */
    void *user;
    const char *areas; /* areas that are traced: "all" or "net,sse"; NULL: none */
};

/* Set the sink of this thread; NULL: none. Returns the previous sink. */
const struct ch_log_sink *ch_log_bind(const struct ch_log_sink *sink);

static inline void ch_log_unbind_(const struct ch_log_sink *const *before) {
    ch_log_bind(*before);
}
#define CH_LOG_SCOPE(sink)                                                     \
    __attribute__((cleanup(ch_log_unbind_), unused))                           \
    const struct ch_log_sink *log_scope_ = ch_log_bind(sink)

bool ch_log_wants(enum ch_log_level level, const char *area);
void ch_log(enum ch_log_level level, const char *area, const char *fmt, ...)
    CHELA_PRINTF(3, 4) __attribute__((cold));

#define CH_TRACE(area, ...)                                                    \
    do {                                                                       \
        if (ch_log_wants(CH_LOG_TRACE, area))                                  \
            ch_log(CH_LOG_TRACE, area, __VA_ARGS__);                           \
    } while (0)

#endif
