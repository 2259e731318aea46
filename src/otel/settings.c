/* settings.c -- see settings.h. */
#include "otel/settings.h"

#include <stdlib.h>
#include <strings.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/uri.h"
#include "guard/secrets.h"
#include "json/number.h"
#include "net/url.h"
#include "otel/conventions.h"

#define DEFAULT_ENDPOINT "http://localhost:4318"

struct reading {
    struct ch_otel_settings *out;
    const struct chela_telemetry_opts *opts;
    ch_otel_env_fn *env;
    void *user;
    struct ch_arena *a;
    bool plain; /* it was told that nothing is compressed */
};

static const struct {
    const char *name, *upper, *path, *batch;
} signals[CH_OTEL_SIGNALS] = {
    [CH_OTEL_TRACES] = {"traces", "TRACES", "/v1/traces", "OTEL_BSP_"},
    [CH_OTEL_METRIC_SIGNAL] = {"metrics", "METRICS", "/v1/metrics", "OTEL_METRIC_"},
    [CH_OTEL_LOGS] = {"logs", "LOGS", "/v1/logs", "OTEL_BLRP_"},
};

const char *ch_otel_signal_name(enum ch_otel_signal s) {
    return signals[s].name;
}

/* NULL: not set, or empty. */
static const char *variable(const struct reading *r, const char *name) {
    const char *value = r->env(name, r->user);
    return value && *value ? ch_arena_str(r->a, ch_sv_trim(ch_sv_str(value))) : NULL;
}

/* OTEL_EXPORTER_OTLP_SIGNAL_WORD, or OTEL_EXPORTER_OTLP_WORD. */
static const char *exporter_variable(const struct reading *r, enum ch_otel_signal s,
                                     const char *word) {
    const char *own = variable(
        r, ch_arena_printf(r->a, "OTEL_EXPORTER_OTLP_%s_%s", signals[s].upper, word));
    return own ? own : variable(r, ch_arena_printf(r->a, "OTEL_EXPORTER_OTLP_%s", word));
}

static bool is_true(const char *value) {
    return value && strcasecmp(value, "true") == 0;
}

static int64_t number(const struct reading *r, const char *name, const char *value,
                      int64_t otherwise, int64_t max) {
    char *end;
    if (!value)
        return otherwise;
    long long v = strtoll(value, &end, 10);
    if (*end == '\0' && v > 0)
        return CH_MIN(v, max);
    ch_log(CH_LOG_WARN, "telemetry", "%s is not a positive number: %lld is used", name,
           (long long)otherwise);
    (void)r;
    return otherwise;
}

static int64_t batch_variable(const struct reading *r, enum ch_otel_signal s, const char *word,
                              int64_t otherwise, int64_t max) {
    const char *name = ch_arena_printf(r->a, "%s%s", signals[s].batch, word);
    return number(r, name, variable(r, name), otherwise, max);
}

/* --- lists of "key=value,key=value", percent-encoded */

static struct ch_otel_pair *read_pairs(const struct reading *r, const char *name,
                                       const char *text, size_t *n) {
    struct ch_sv rest = ch_sv_str(text ? text : "");
    struct ch_otel_pair *pairs =
        ch_arena_alloc(r->a, CH_LIMIT_OTEL_PAIRS * sizeof(struct ch_otel_pair));
    *n = 0;
    while (rest.n && *n < CH_LIMIT_OTEL_PAIRS) {
        struct ch_sv value = ch_sv_split(&rest, ','), key = ch_sv_split(&value, '=');
        key = ch_sv_trim(key);
        if (!key.n && !value.p)
            continue;
        if (!key.n || !value.p) {
            ch_log(CH_LOG_WARN, "telemetry", "%s has an entry that is not KEY=VALUE; it is ignored",
                   name);
            continue;
        }
        pairs[(*n)++] = (struct ch_otel_pair){ch_uri_decode(r->a, key),
                                              ch_uri_decode(r->a, ch_sv_trim(value))};
    }
    return pairs;
}

static bool is_header(struct ch_otel_pair p) {
    for (size_t i = 0; i < p.key.n; i++)
        if (p.key.p[i] <= ' ' || p.key.p[i] >= 0x7f || p.key.p[i] == ':')
            return false;
    for (size_t i = 0; i < p.value.n; i++)
        if ((unsigned char)p.value.p[i] < ' ' || p.value.p[i] == 0x7f)
            return false;
    return true;
}

/* Values of headers are usually keys. */
static void read_headers(const struct reading *r, enum ch_otel_signal s) {
    struct ch_otel_signal_settings *o = &r->out->signals[s];
    size_t n;
    struct ch_otel_pair *pairs = read_pairs(r, "OTEL_EXPORTER_OTLP_HEADERS",
                                            exporter_variable(r, s, "HEADERS"), &n);
    o->headers = ch_arena_alloc(r->a, (n + 1) * sizeof(*o->headers));
    struct ch_sv type = o->json ? CH_SV("application/json") : CH_SV("application/x-protobuf");
    o->headers[o->nheaders++] = (struct ch_header){CH_SV("Content-Type"), type};
    for (size_t i = 0; i < n; i++) {
        if (!is_header(pairs[i])) {
            ch_log(CH_LOG_WARN, "telemetry", "OTEL_EXPORTER_OTLP_HEADERS: '%.*s' is not a header",
                   CH_SV_FMT(pairs[i].key));
            continue;
        }
        const char *value = ch_arena_str(r->a, pairs[i].value);
        if (ch_secret_is_named(pairs[i].key))
            ch_secret_add(value, "OTEL_EXPORTER_OTLP_HEADERS");
        else
            ch_redact_add(value);
        o->headers[o->nheaders++] = (struct ch_header){pairs[i].key, pairs[i].value};
    }
}

/* --- one signal */

/* Whether OTEL_TRACES_EXPORTER and its like ask for the signal. */
static bool is_wanted(const struct reading *r, enum ch_otel_signal s, bool *named) {
    const char *name = ch_arena_printf(r->a, "OTEL_%s_EXPORTER", signals[s].upper);
    const char *value = variable(r, name);
    *named = value != NULL;
    if (!value || strcmp(value, "otlp") == 0)
        return true;
    if (strcmp(value, "none") != 0)
        ch_log(CH_LOG_WARN, "telemetry", "%s=%s is not supported: %s are not exported", name,
               value, signals[s].name);
    return false;
}

static bool read_protocol(const struct reading *r, enum ch_otel_signal s) {
    const char *word = exporter_variable(r, s, "PROTOCOL");
    if (!word)
        word = r->opts->protocol ? r->opts->protocol : "http/json";
    r->out->signals[s].json = strcmp(word, "http/json") == 0;
    if (r->out->signals[s].json || strcmp(word, "http/protobuf") == 0)
        return true;
    ch_log(CH_LOG_WARN, "telemetry",
           "the protocol '%s' is not supported (http/json and http/protobuf are): %s are not "
           "exported",
           word, signals[s].name);
    return false;
}

/* The URL; NULL: none. The endpoint for all signals is a base URL, the endpoint for one
 * signal is used unchanged. */
static const char *endpoint_of(const struct reading *r, enum ch_otel_signal s, bool named) {
    const char *own = variable(
        r, ch_arena_printf(r->a, "OTEL_EXPORTER_OTLP_%s_ENDPOINT", signals[s].upper));
    const char *base = variable(r, "OTEL_EXPORTER_OTLP_ENDPOINT");
    if (own)
        return own;
    if (!base)
        base = r->opts->endpoint ? r->opts->endpoint : named ? DEFAULT_ENDPOINT : NULL;
    if (!base)
        return NULL;
    struct ch_sv text = ch_sv_str(base);
    while (text.n && text.p[text.n - 1] == '/')
        text.n--;
    return ch_arena_printf(r->a, "%.*s%s", CH_SV_FMT(text), signals[s].path);
}

static void read_signal(struct reading *r, enum ch_otel_signal s) {
    struct ch_otel_signal_settings *o = &r->out->signals[s];
    struct chela_error err = {0};
    struct ch_url url;
    bool named, metric = s == CH_OTEL_METRIC_SIGNAL;
    if (!is_wanted(r, s, &named))
        return;
    const char *text = endpoint_of(r, s, named);
    if (!text || !read_protocol(r, s))
        return;
    if (ch_url_parse(ch_sv_str(text), &url, &err) < 0) {
        ch_log(CH_LOG_WARN, "telemetry", "the endpoint for %s cannot be used: %s",
               signals[s].name, err.message);
        return;
    }
    read_headers(r, s);
    const char *gzip = exporter_variable(r, s, "COMPRESSION");
    if (gzip && strcmp(gzip, "none") != 0 && !r->plain) {
        r->plain = true;
        ch_log(CH_LOG_WARN, "telemetry",
               "OTEL_EXPORTER_OTLP_COMPRESSION=%.16s is not supported: telemetry is sent without "
               "compression",
               gzip);
    }
    o->timeout_ms = number(r, "OTEL_EXPORTER_OTLP_TIMEOUT", exporter_variable(r, s, "TIMEOUT"),
                           CH_DEFAULT_OTEL_TIMEOUT_MS, CH_LIMIT_OTEL_MS);
    o->delay_ms = metric ? batch_variable(r, s, "EXPORT_INTERVAL", CH_DEFAULT_OTEL_INTERVAL_MS,
                                          CH_LIMIT_OTEL_MS)
                         : batch_variable(r, s, "SCHEDULE_DELAY",
                                          s == CH_OTEL_LOGS ? CH_DEFAULT_OTEL_LOG_DELAY_MS
                                                            : CH_DEFAULT_OTEL_DELAY_MS,
                                          CH_LIMIT_OTEL_MS);
    o->queue = metric ? CH_OTEL_METRIC_COUNT
                      : (size_t)batch_variable(r, s, "MAX_QUEUE_SIZE", CH_DEFAULT_OTEL_QUEUE,
                                               CH_LIMIT_OTEL_QUEUE);
    o->batch = metric ? CH_OTEL_METRIC_COUNT
                      : (size_t)batch_variable(r, s, "MAX_EXPORT_BATCH_SIZE",
                                               CH_DEFAULT_OTEL_BATCH, CH_LIMIT_OTEL_QUEUE);
    o->batch = CH_MIN(o->batch, o->queue);
    o->url = text;
}

/* --- all settings */

/* OTEL_TRACES_SAMPLER_ARG: a value that is no share counts as not set. */
static double read_share(const struct reading *r) {
    const char *arg = variable(r, "OTEL_TRACES_SAMPLER_ARG");
    char *end;
    double v = arg ? ch_number_strtod(arg, &end) : 1;
    if (!arg || (end > arg && *end == '\0' && v >= 0 && v <= 1))
        return v;
    ch_log(CH_LOG_WARN, "telemetry",
           "OTEL_TRACES_SAMPLER_ARG is no number from 0 to 1: every trace is exported");
    return 1;
}

static void read_sampler(const struct reading *r) {
    static const char parent_based[] = "parentbased_";
    const char *name = variable(r, "OTEL_TRACES_SAMPLER");
    r->out->share = 1;
    r->out->heeds_parent = true;
    if (!name)
        return;
    r->out->heeds_parent = strncmp(name, parent_based, sizeof(parent_based) - 1) == 0;
    const char *root = r->out->heeds_parent ? name + sizeof(parent_based) - 1 : name;
    if (strcmp(root, "always_off") == 0)
        r->out->share = 0;
    else if (strcmp(root, "traceidratio") == 0)
        r->out->share = read_share(r);
    else if (strcmp(root, "always_on") != 0)
        ch_log(CH_LOG_WARN, "telemetry", "OTEL_TRACES_SAMPLER=%s is not supported: every trace is "
               "exported", name);
}

static bool has_content(const struct reading *r) {
    const char *value = variable(r, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT");
    if (!value)
        return r->opts->content;
    return is_true(value) || strcasecmp(value, "span_only") == 0 ||
           strcasecmp(value, "span_and_event") == 0;
}

bool ch_otel_settings_read(struct ch_otel_settings *s, const struct chela_telemetry_opts *opts,
                           ch_otel_env_fn *env, void *user, struct ch_arena *a) {
    struct reading r = {s, opts, env, user, a, false};
    bool any = false;
    *s = (struct ch_otel_settings){0};
    if (is_true(variable(&r, "OTEL_SDK_DISABLED")))
        return false;
    for (unsigned i = 0; i < CH_OTEL_SIGNALS; i++) {
        read_signal(&r, (enum ch_otel_signal)i);
        any |= s->signals[i].url != NULL;
    }
    if (!any)
        return false;
    s->resource = read_pairs(&r, "OTEL_RESOURCE_ATTRIBUTES",
                             variable(&r, "OTEL_RESOURCE_ATTRIBUTES"), &s->nresource);
    const char *service = variable(&r, "OTEL_SERVICE_NAME");
    for (size_t i = 0; i < s->nresource && !service; i++)
        if (ch_sv_is(s->resource[i].key, "service.name"))
            service = ch_arena_str(a, s->resource[i].value);
    s->service = service         ? service
                 : opts->service ? ch_arena_str(a, ch_sv_str(opts->service))
                                 : "chela";
    s->content = has_content(&r);
    read_sampler(&r);
    return true;
}
