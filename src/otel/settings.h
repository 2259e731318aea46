/* settings.h -- the target of telemetry, from options and OTEL_* variables.
 *
 * A variable overrides an option. A variable for one signal overrides the variable for all
 * signals. A value that cannot be used is named in a warning and ignored, as the
 * specification demands, except a protocol or an endpoint: the signal is then not exported. */
#ifndef CH_OTEL_SETTINGS_H
#define CH_OTEL_SETTINGS_H
#include "base/arena.h"
#include "chela/telemetry.h"
#include "net/transport.h"

enum ch_otel_signal { CH_OTEL_TRACES, CH_OTEL_METRIC_SIGNAL, CH_OTEL_LOGS, CH_OTEL_SIGNALS };

struct ch_otel_pair {
    struct ch_sv key, value;
};

struct ch_otel_signal_settings {
    const char *url; /* NULL: not exported */
    bool json;
    struct ch_header *headers;
    size_t nheaders;
    int64_t timeout_ms, delay_ms; /* timeout of a request; delay before a batch is sent */
    size_t queue, batch;          /* items */
};

/* Texts are in the arena. */
struct ch_otel_settings {
    bool content;      /* texts of messages and calls */
    double share;      /* share of exported traces among those that no caller began; 0 to 1 */
    bool heeds_parent; /* follow the caller's sampling decision for its traces */
    const char *service;
    struct ch_otel_pair *resource; /* OTEL_RESOURCE_ATTRIBUTES */
    size_t nresource;
    struct ch_otel_signal_settings signals[CH_OTEL_SIGNALS];
};

typedef const char *ch_otel_env_fn(const char *name, void *user);

const char *ch_otel_signal_name(enum ch_otel_signal s); /* "traces" */

/* True: at least one signal is exported. */
bool ch_otel_settings_read(struct ch_otel_settings *s, const struct chela_telemetry_opts *opts,
                           ch_otel_env_fn *env, void *user, struct ch_arena *a);

#endif
