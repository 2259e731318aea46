/* json.c -- how fast json/ reads; bench/json.mjs runs it beside V8.
 *
 *   json SECONDS <groups.json        [{"name": "...", "texts": ["...", ...]}]
 *
 * Prints a line "name kind nanoseconds" for each group: CPU time of one pass
 * over a group's texts, divided by their number. Kinds: `parse` builds the
 * tree, `write` turns it into text again, and `pull` takes a stream event
 * apart (type, index, delta.type, delta.text) without a tree; it is measured
 * only for the group named "deltas". */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"
#include "json/pull.h"
#include "json/writer.h"

/* Something of every result ends here, so that none is optimised away. */
static volatile size_t kept;

struct group {
    const struct ch_json *texts;
    struct ch_arena arena;
    struct ch_buf buf;
    size_t kept;
};

static double cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static const struct ch_json *parse(struct group *g, struct ch_sv text) {
    const struct ch_json *v = NULL;
    ch_arena_clear(&g->arena);
    if (ch_json_parse(&g->arena, text, CH_JSON_STRICT, &v, NULL, NULL) < 0)
        fprintf(stderr, "refused: %.*s\n", CH_SV_FMT(text));
    return v;
}

static void parse_all(struct group *g) {
    for (CH_JSON_EACH(t, g->texts))
        g->kept += (size_t)parse(g, ch_json_str(t))->n;
}

static void write_all(struct group *g) {
    for (CH_JSON_EACH(t, g->texts)) {
        struct ch_jw w = ch_jw(&g->buf);
        ch_buf_clear(&g->buf);
        ch_jw_value(&w, parse(g, ch_json_str(t)));
        g->kept += g->buf.n;
    }
}

struct delta {
    struct ch_sv type, delta_type, text;
    int64_t index;
};

static void pull_delta(struct ch_pull *p, struct delta *d) {
    struct ch_sv key;
    if (!ch_pull_enter(p, '{'))
        return;
    while (ch_pull_key(p, &key)) {
        if (ch_sv_is(key, "type"))
            ch_pull_str(p, &d->delta_type);
        else if (ch_sv_is(key, "text"))
            ch_pull_str(p, &d->text);
        else
            ch_pull_skip(p);
    }
}

static void pull_event(struct ch_pull *p, struct delta *d) {
    struct ch_sv key;
    if (!ch_pull_enter(p, '{'))
        return;
    while (ch_pull_key(p, &key)) {
        if (ch_sv_is(key, "type"))
            ch_pull_str(p, &d->type);
        else if (ch_sv_is(key, "index"))
            ch_pull_int(p, &d->index);
        else if (ch_sv_is(key, "delta"))
            pull_delta(p, d);
        else
            ch_pull_skip(p);
    }
}

static void pull_all(struct group *g) {
    for (CH_JSON_EACH(t, g->texts)) {
        struct ch_pull p;
        struct delta d = {0};
        ch_pull_init(&p, ch_json_str(t), &g->buf);
        pull_event(&p, &d);
        if (ch_pull_failed(&p))
            fprintf(stderr, "refused: %.*s\n", CH_SV_FMT(ch_json_str(t)));
        g->kept += d.type.n + d.delta_type.n + d.text.n + (size_t)d.index;
    }
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The median over samples of nanoseconds a text. */
static double measure(struct group *g, void (*pass)(struct group *), double seconds) {
    enum { SAMPLES = 15 };
    double took[SAMPLES];
    for (size_t i = 0; i < SAMPLES; i++) {
        double start = cpu_ns(), now = start;
        size_t passes = 0;
        while (now - start < seconds * 1e9 / SAMPLES) {
            for (int k = 0; k < 16; k++)
                pass(g);
            passes += 16;
            now = cpu_ns();
        }
        took[i] = (now - start) / (double)passes / g->texts->n;
    }
    qsort(took, SAMPLES, sizeof(took[0]), by_size);
    return took[SAMPLES / 2];
}

static void measure_group(const struct ch_json *group, double seconds) {
    struct group g = {.texts = ch_json_get(group, "texts")};
    struct ch_sv name = ch_json_get_str(group, "name");
    if (!ch_json_is(g.texts, CH_JSON_ARRAY) || g.texts->n == 0)
        return;
    double parsed = measure(&g, parse_all, seconds);
    double written = measure(&g, write_all, seconds) - parsed;
    printf("%.*s parse %.1f\n", CH_SV_FMT(name), parsed);
    printf("%.*s write %.1f\n", CH_SV_FMT(name), written);
    if (ch_sv_is(name, "deltas"))
        printf("%.*s pull %.1f\n", CH_SV_FMT(name), measure(&g, pull_all, seconds));
    kept = g.kept;
    ch_arena_release(&g.arena);
    ch_buf_release(&g.buf);
}

int main(int argc, char **argv) {
    CH_BUF_AUTO in = {0};
    CH_ARENA_AUTO arena = {0};
    struct chela_error err = {0};
    const struct ch_json *groups;
    char *room;
    size_t n;
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 0.3;

    while ((room = ch_buf_reserve(&in, 65536)) && (n = fread(room, 1, 65536, stdin)))
        ch_buf_commit(&in, n);
    if (ch_json_parse(&arena, ch_buf_sv(&in), CH_JSON_STRICT, &groups, NULL, &err) < 0) {
        fprintf(stderr, "stdin: %s\n", err.message);
        return 1;
    }
    for (CH_JSON_EACH(g, groups))
        measure_group(g, seconds);
    return 0;
}
