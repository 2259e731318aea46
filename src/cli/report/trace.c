/* trace.c -- see trace.h. */
#include "cli/report/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/support/mem.h"

const char *ch_span_name(enum chela_span_kind kind) {
    static const char *const names[] = {"input", "model", "tool", "wait", "rewrite", "end"};
    return names[kind];
}

const char *ch_span_took(int64_t ms, char out[32]) {
    if (ms < 1000)
        snprintf(out, 32, "%" PRId64 " ms", ms);
    else if (ms < 60000)
        snprintf(out, 32, "%.1f s", (double)ms / 1000);
    else
        snprintf(out, 32, "%" PRId64 " min %" PRId64 " s", ms / 60000, ms / 1000 % 60);
    return out;
}

const char *ch_span_when(int64_t ms, char out[32]) {
    time_t t = (time_t)(ms / 1000);
    struct tm tm;
    out[0] = '\0';
    if (localtime_r(&t, &tm))
        strftime(out, 32, "%Y-%m-%d %H:%M:%S", &tm);
    return out;
}

/* The members of a span that are texts. */
#define TEXTS(X)                                        \
    X(session) X(run) X(title) X(sent) X(got) X(id)     \
    X(child) X(model) X(api) X(role) X(setup) X(stop)   \
    X(traceparent)

static int trace_keep(const struct chela_span *span, void *user) {
    struct ch_trace *t = user;
    if (t->n == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 64;
        t->spans = ch_must(realloc(t->spans, t->cap * sizeof(*t->spans)));
    }
    struct chela_span *s = &t->spans[t->n++];
    *s = *span;
#define KEEP(name) s->name = span->name ? ch_dup(span->name) : NULL;
    TEXTS(KEEP)
#undef KEEP
    return 0;
}

int ch_trace_read(struct ch_trace *t, chela_store *store, const char *key, const char *run,
                  struct chela_error *err) {
    *t = (struct ch_trace){0};
    return chela_trace_spans(store, key, run, trace_keep, t, err);
}

void ch_trace_release(struct ch_trace *t) {
    for (size_t i = 0; i < t->n; i++) {
#define DROP(name) free((char *)t->spans[i].name);
        TEXTS(DROP)
#undef DROP
    }
    free(t->spans);
    *t = (struct ch_trace){0};
}

static void total_add(struct ch_trace_total *sum, const struct chela_span *s) {
    sum->requests += s->kind == CHELA_SPAN_MODEL && s->request;
    sum->failed += s->kind == CHELA_SPAN_MODEL && s->failed;
    sum->calls += s->kind == CHELA_SPAN_TOOL && !(s->stop && strcmp(s->stop, "retried") == 0);
    if (s->kind != CHELA_SPAN_MODEL)
        return;
    sum->input += s->input;
    sum->output += s->output;
    sum->cached += s->cache_read;
    if (s->cost >= 0)
        sum->cost = (sum->cost < 0 ? 0 : sum->cost) + s->cost;
}

static bool grows(const struct chela_span *s) {
    return s->kind == CHELA_SPAN_MODEL && !s->role && s->input > 0;
}

int64_t ch_trace_growth(const struct ch_trace *t, const struct chela_span *s) {
    if (!grows(s))
        return 0;
    for (const struct chela_span *b = s; b > t->spans;) {
        b--;
        if (grows(b) && b->depth == s->depth && strcmp(b->session, s->session) == 0)
            return s->input - b->input;
        if (b->depth < s->depth)
            break;
    }
    return 0;
}

struct ch_trace_total ch_trace_total(const struct ch_trace *t) {
    struct ch_trace_total sum = {.start = t->n ? t->spans[0].start : 0, .cost = -1};
    const char *run = "";
    sum.end = sum.start;
    for (size_t i = 0; i < t->n; i++) {
        const struct chela_span *s = &t->spans[i];
        sum.start = s->start < sum.start ? s->start : sum.start;
        sum.end = s->end > sum.end ? s->end : sum.end;
        if (s->depth == 0 && strcmp(run, s->run) != 0) {
            sum.runs++;
            run = s->run;
        }
        total_add(&sum, s);
    }
    return sum;
}
