/* telemetry.h -- traces, metrics and log events for OpenTelemetry (docs/telemetry.md).
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call.
 *   Threads: loop
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_TELEMETRY_H
#define CHELA_TELEMETRY_H
#include "chela/session.h"
#include "chela/store.h"
CHELA_BEGIN_DECLS

/* Where telemetry goes. Texts are copied. An OTEL_* variable of the runtime's environment
 * overrides the corresponding member. */
struct chela_telemetry_opts {
    size_t size; /* set by CHELA_TELEMETRY_OPTS */
    const char *endpoint; /* base URL of a collector: "http://127.0.0.1:4318"; NULL: none */
    const char *protocol; /* "http/json" or "http/protobuf"; NULL: "http/json" */
    const char *service;  /* service.name; NULL: "chela" */
    int content; /* nonzero: also texts of prompts, replies, arguments and results */
};
#define CHELA_TELEMETRY_OPTS(...) {.size = sizeof(struct chela_telemetry_opts), __VA_ARGS__}

/* Export the runs of rt from now on. Does nothing if neither opts (may be NULL) nor a
 * variable names an endpoint. Exporting never delays a run; data that cannot be sent is
 * dropped. A second call replaces the first.
 * Errors: CHELA_EINVAL: the size of opts is wrong. */
CHELA_API int chela_telemetry_start(chela_runtime *rt, const struct chela_telemetry_opts *opts,
                                    struct chela_error *err);

/* Send the queued data, and wait up to timeout_ms for the collector. Returns the number of
 * spans, log events and metrics that still wait. In a host's loop the function sends and
 * does not wait; the host runs its loop and calls again.
 * Callbacks: yes, but the function does not wait. */
CHELA_API size_t chela_telemetry_flush(chela_runtime *rt, int64_t timeout_ms);

/* The spans of a stored session as JSON of an ExportTraceServiceRequest, the body of a POST to
 * /v1/traces. The ids are those of the live export. run: as in chela_trace_spans. opts (may
 * be NULL): only `service` and `content` count, and no variable does. Keys are redacted.
 * Ownership: the caller frees *out with chela_free.
 * Threads: any
 * Errors: those of chela_trace_spans. CHELA_EINVAL: the size of opts is wrong. */
CHELA_API int chela_telemetry_past(chela_store *store, const char *key, const char *run,
                                   const struct chela_telemetry_opts *opts, char **out,
                                   struct chela_error *err);

CHELA_END_DECLS
#endif
