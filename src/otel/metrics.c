/* metrics.c -- see metrics.h. */
#include "otel/metrics.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/mix.h"

#define BUCKETS 16 /* at most: bounds and one */

static const double tokens[] = {1,     4,     16,     64,      256,     1024,     4096,
                                16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864};
static const double seconds[] = {0.01, 0.02, 0.04, 0.08,  0.16,  0.32,  0.64,
                                 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92};

static const struct {
    const char *name, *unit, *description;
    const double *bounds;
    size_t n;
} kinds[CH_OTEL_METRIC_COUNT] = {
#define METRIC_ROW(metric, name, unit, bounds, description)                                    \
    [CH_OTEL_METRIC_##metric] = {name, unit, description, bounds, CH_LEN(bounds)},
    CH_OTEL_METRICS(METRIC_ROW)
#undef METRIC_ROW
};

struct ch_otel_point {
    uint64_t hash;
    const struct ch_otel_attribute *given; /* in the arena */
    size_t n;
    struct ch_buf attributes; /* members of the message, encoded */
    uint64_t count, buckets[BUCKETS];
    double sum, min, max;
};

struct ch_otel_metrics {
    bool json;
    int64_t start;
    struct ch_arena arena;
    struct {
        struct ch_otel_point **list; /* owned */
        size_t n;
    } points[CH_OTEL_METRIC_COUNT];
};

struct ch_otel_metrics *ch_otel_metrics_new(bool json, int64_t start) {
    struct ch_otel_metrics *m = ch_alloc(sizeof(*m));
    m->json = json;
    m->start = start;
    return m;
}

void ch_otel_metrics_free(struct ch_otel_metrics *m) {
    if (!m)
        return;
    for (size_t k = 0; k < CH_OTEL_METRIC_COUNT; k++) {
        for (size_t i = 0; i < m->points[k].n; i++) {
            ch_buf_release(&m->points[k].list[i]->attributes);
            ch_free(m->points[k].list[i]);
        }
        ch_free(m->points[k].list);
    }
    ch_arena_release(&m->arena);
    ch_free(m);
}

/* Encodes the attributes as a message with nothing else. */
static void encode_attributes(struct ch_buf *out, bool json,
                              const struct ch_otel_attribute *attributes, size_t n) {
    struct ch_otlp w = ch_otlp_begin(out, json);
    ch_otel_write_attributes(&w, CH_OTLP_POINT_ATTRIBUTES, attributes, n);
    ch_otlp_finish(&w);
}

/* Attributes of metrics are texts and integers; the overflow has one of another type. */
static uint64_t hash_attributes(const struct ch_otel_attribute *attributes, size_t n) {
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) {
        const struct ch_otel_attribute *a = &attributes[i];
        int64_t number = a->type == CH_OTEL_INT ? a->number : 0;
        h = ch_mix_text(h + a->key, a->type == CH_OTEL_TEXT
                                         ? a->text
                                         : ch_sv((const char *)&number, sizeof(number)));
    }
    return h;
}

static bool has_attributes(const struct ch_otel_point *p, const struct ch_otel_attribute *b,
                           size_t n) {
    bool same = p->n == n;
    for (size_t i = 0; same && i < n; i++) {
        const struct ch_otel_attribute *a = &p->given[i];
        same = a->key == b[i].key && a->type == b[i].type &&
               (a->type != CH_OTEL_TEXT || ch_sv_eq(a->text, b[i].text)) &&
               (a->type != CH_OTEL_INT || a->number == b[i].number);
    }
    return same;
}

static const struct ch_otel_attribute *
copy_attributes(struct ch_arena *arena, const struct ch_otel_attribute *from, size_t n) {
    struct ch_otel_attribute *copy = ch_arena_alloc(arena, (n + 1) * sizeof(*copy));
    for (size_t i = 0; i < n; i++) {
        copy[i] = from[i];
        if (from[i].type == CH_OTEL_TEXT)
            copy[i].text = ch_arena_sv(arena, from[i].text);
    }
    return copy;
}

/* The hash finds the point fast. A model or a tool may have a name that another one's hash
 * has, so that the attributes decide. */
static struct ch_otel_point *find_point(struct ch_otel_metrics *m, enum ch_otel_metric metric,
                                        uint64_t hash, const struct ch_otel_attribute *attributes,
                                        size_t n) {
    for (size_t i = 0; i < m->points[metric].n; i++) {
        struct ch_otel_point *p = m->points[metric].list[i];
        if (p->hash == hash && has_attributes(p, attributes, n))
            return p;
    }
    return NULL;
}

static struct ch_otel_point *point_of(struct ch_otel_metrics *m, enum ch_otel_metric metric,
                                      const struct ch_otel_attribute *attributes, size_t n) {
    static const struct ch_otel_attribute other = {
        .key = CH_OTEL_OVERFLOW, .type = CH_OTEL_BOOL, .truth = true};
    uint64_t hash = hash_attributes(attributes, n);
    struct ch_otel_point *p = find_point(m, metric, hash, attributes, n);
    if (p)
        return p;
    size_t *have = &m->points[metric].n;
    if (*have >= CH_LIMIT_OTEL_POINTS) {
        attributes = &other;
        n = 1;
        hash = hash_attributes(attributes, n);
        if ((p = find_point(m, metric, hash, attributes, n)))
            return p;
    }
    m->points[metric].list =
        ch_realloc(m->points[metric].list, (*have + 1) * sizeof(*m->points[metric].list));
    p = m->points[metric].list[(*have)++] = ch_alloc(sizeof(*p));
    p->hash = hash;
    p->given = copy_attributes(&m->arena, attributes, n);
    p->n = n;
    encode_attributes(&p->attributes, m->json, attributes, n);
    return p;
}

void ch_otel_metrics_add(struct ch_otel_metrics *m, enum ch_otel_metric metric, double value,
                         const struct ch_otel_attribute *attributes, size_t n,
                         struct ch_otel_point **memo) {
    struct ch_otel_point *p = memo && *memo ? *memo : point_of(m, metric, attributes, n);
    size_t i = 0;
    if (memo)
        *memo = p;
    while (i < kinds[metric].n && value > kinds[metric].bounds[i])
        i++;
    p->buckets[i]++;
    p->min = p->count ? CH_MIN(p->min, value) : value;
    p->max = p->count ? CH_MAX(p->max, value) : value;
    p->sum += value;
    p->count++;
}

/* Copies the attributes of a point, which are stored as an encoded message, into the point. */
static void write_attributes(struct ch_otlp *w, const struct ch_otel_point *p) {
    struct ch_sv text = ch_buf_sv(&p->attributes);
    if (!w->json) {
        ch_buf_add_sv(w->out, text);
        return;
    }
    if (text.n <= 2) /* {} */
        return;
    ch_buf_add(w->out, text.p + 1, text.n - 2);
    w->level[w->depth].comma = true;
}

static void write_point(struct ch_otlp *w, const struct ch_otel_point *p,
                        enum ch_otel_metric metric, int64_t start, int64_t now) {
    ch_otlp_open(w, CH_OTLP_DATA_POINTS);
    write_attributes(w, p);
    ch_otlp_time(w, CH_OTLP_POINT_START, start);
    ch_otlp_time(w, CH_OTLP_POINT_TIME, now);
    ch_otlp_fixed64(w, CH_OTLP_POINT_COUNT, p->count);
    ch_otlp_double(w, CH_OTLP_POINT_SUM, p->sum);
    ch_otlp_fixed64s(w, CH_OTLP_POINT_BUCKETS, p->buckets, kinds[metric].n + 1);
    ch_otlp_doubles(w, CH_OTLP_POINT_BOUNDS, kinds[metric].bounds, kinds[metric].n);
    ch_otlp_double(w, CH_OTLP_POINT_MIN, p->min);
    ch_otlp_double(w, CH_OTLP_POINT_MAX, p->max);
    ch_otlp_close(w);
}

bool ch_otel_metrics_any(const struct ch_otel_metrics *m, enum ch_otel_metric metric) {
    return m->points[metric].n > 0;
}

void ch_otel_metrics_write(const struct ch_otel_metrics *m, enum ch_otel_metric metric,
                           int64_t now, struct ch_buf *out) {
    struct ch_otlp w = ch_otlp_begin(out, m->json);
    ch_otlp_text(&w, CH_OTLP_METRIC_NAME, ch_sv_str(kinds[metric].name));
    ch_otlp_text(&w, CH_OTLP_METRIC_DESCRIPTION, ch_sv_str(kinds[metric].description));
    ch_otlp_text(&w, CH_OTLP_METRIC_UNIT, ch_sv_str(kinds[metric].unit));
    ch_otlp_open(&w, CH_OTLP_METRIC_HISTOGRAM);
    for (size_t i = 0; i < m->points[metric].n; i++)
        write_point(&w, m->points[metric].list[i], metric, m->start, now);
    ch_otlp_number(&w, CH_OTLP_TEMPORALITY, 2); /* cumulative */
    ch_otlp_close(&w);
    ch_otlp_finish(&w);
}
