/* log_ring.c -- see log_ring.h. */
#include "base/log_ring.h"

#include <pthread.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"

struct ring_line {
    int64_t ts;
    enum ch_log_level level;
    char *area, *text; /* owned */
    size_t bytes;
};

struct ch_log_ring {
    pthread_mutex_t lock;
    struct ring_line lines[CH_LIMIT_LOG_RING]; /* line number n is at n % CH_LIMIT_LOG_RING */
    uint64_t first, last; /* numbers of the oldest and the newest line; first > last: none */
    size_t bytes;
};

struct ch_log_ring *ch_log_ring_new(void) {
    struct ch_log_ring *r = ch_alloc(sizeof(*r));
    pthread_mutex_init(&r->lock, NULL);
    r->first = 1;
    return r;
}

static void ring_drop_first(struct ch_log_ring *r) {
    struct ring_line *l = &r->lines[r->first++ % CH_LIMIT_LOG_RING];
    r->bytes -= l->bytes;
    ch_free(l->area);
    ch_free(l->text);
}

void ch_log_ring_free(struct ch_log_ring *r) {
    if (!r)
        return;
    while (r->first <= r->last)
        ring_drop_first(r);
    pthread_mutex_destroy(&r->lock);
    ch_free(r);
}

void ch_log_ring_add(struct ch_log_ring *r, int64_t ts, enum ch_log_level level, const char *area,
                     const char *text) {
    struct ch_sv kept = ch_utf8_cut(ch_sv_str(text), CH_LIMIT_LOG_RING_LINE);
    struct ring_line line = {ts, level, ch_strdup(area), ch_strndup(kept.p, kept.n),
                             kept.n + strlen(area) + sizeof(line)};
    pthread_mutex_lock(&r->lock);
    while (r->first <= r->last && (r->last - r->first + 1 == CH_LIMIT_LOG_RING ||
                                   r->bytes + line.bytes > CH_LIMIT_LOG_RING_BYTES))
        ring_drop_first(r);
    r->lines[++r->last % CH_LIMIT_LOG_RING] = line;
    r->bytes += line.bytes;
    pthread_mutex_unlock(&r->lock);
}

uint64_t ch_log_ring_read(struct ch_log_ring *r, uint64_t after,
                          void (*fn)(const struct ch_log_line *line, void *user), void *user) {
    pthread_mutex_lock(&r->lock);
    uint64_t last = r->last;
    for (uint64_t n = after < r->first ? r->first : after + 1; n <= last; n++) {
        const struct ring_line *l = &r->lines[n % CH_LIMIT_LOG_RING];
        fn(&(struct ch_log_line){n, l->ts, l->level, l->area, l->text}, user);
    }
    pthread_mutex_unlock(&r->lock);
    return last;
}
