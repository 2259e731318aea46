/* log.h -- log messages of the library, with secrets redacted.
 *
 * Library code never prints. It logs through a sink that the host sets; without
 * a sink the library is silent. Tracing is enabled per area by name (the
 * command line reads CHELA_TRACE=net,sse and passes the list on). Values
 * registered with ch_redact_add never reach a sink or an error message: "***"
 * replaces them. */
#ifndef CH_BASE_LOG_H
#define CH_BASE_LOG_H
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "chela/error.h"

enum ch_log_level { CH_LOG_TRACE, CH_LOG_INFO, CH_LOG_WARN, CH_LOG_ERROR };

typedef void ch_log_fn(enum ch_log_level level, const char *area,
                       const char *line, void *user);

/* All log functions may be called from any thread. The sink is called without a
 * lock held, so it may log. A call in progress in another thread can still
 * reach a sink that was just replaced. NULL makes the library silent. */
void ch_log_set(ch_log_fn *fn, void *user);
void ch_log_trace_areas(const char *comma_list); /* "all" or "net,sse"; NULL: none */
bool ch_log_wants(enum ch_log_level level, const char *area);
void ch_log(enum ch_log_level level, const char *area, const char *fmt, ...)
    CHELA_PRINTF(3, 4);

#define CH_TRACE(area, ...)                                                    \
    do {                                                                       \
        if (ch_log_wants(CH_LOG_TRACE, area))                                  \
            ch_log(CH_LOG_TRACE, area, __VA_ARGS__);                           \
    } while (0)

#endif
