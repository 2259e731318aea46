/* buf.c -- see buf.h. */
#include "base/buf.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"

#define FIRST_CAP 64
#define SMALL 4096 /* copied in less time than an allocation takes */

void ch_buf_init(struct ch_buf *b, size_t max) {
    *b = (struct ch_buf){.max = max};
}

void ch_buf_release(struct ch_buf *b) {
    char *p = b->p;
    *b = (struct ch_buf){.max = b->max};
    ch_free(p);
}

void ch_buf_clear(struct ch_buf *b) {
    b->n = 0;
    b->overflow = false;
    if (b->p)
        b->p[0] = '\0';
}

void ch_buf_fit(struct ch_buf *b) {
    size_t cap = b->n + (b->n < SMALL ? 0 : b->n / 8) + 1;
    if (b->cap > cap) {
        b->cap = cap;
        b->p = ch_realloc(b->p, cap);
    }
}

static size_t buf_limit_of(const struct ch_buf *b) {
    return b->max ? b->max : CH_LIMIT_BUF;
}

void ch_buf_expect(struct ch_buf *b, size_t n) {
    size_t cap = b->n + n + 1;
    if (n > SMALL || cap > SMALL || cap <= b->cap || cap > buf_limit_of(b))
        return;
    b->cap = cap;
    b->p = ch_realloc(b->p, cap);
    b->p[b->n] = '\0';
}

char *ch_buf_reserve(struct ch_buf *b, size_t n) {
    size_t max = buf_limit_of(b);
    if (b->overflow || n > max || b->n > max - n) {
        b->overflow = true;
        return NULL;
    }
    size_t need = b->n + n + 1;
    if (need > b->cap) {
        size_t cap = CH_MAX(CH_MAX(b->cap + b->cap / 2, need), FIRST_CAP);
        cap = CH_MIN(cap, max + 1);
        b->p = ch_realloc(b->p, cap);
        b->cap = cap;
    }
    return b->p + b->n;
}

int ch_buf_add(struct ch_buf *b, const void *p, size_t n) {
    bool fits = n < b->cap - b->n && !b->overflow; /* the usual case, and within the maximum */
    char *to = fits ? b->p + b->n : ch_buf_reserve(b, n);
    if (!to)
        return CHELA_ELIMIT;
    if (n)
        memcpy(to, p, n);
    ch_buf_commit(b, n);
    return 0;
}

int ch_buf_vaddf(struct ch_buf *b, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    /* The text usually fits into the free space, so it is formatted once. */
    if (!b->cap)
        ch_buf_reserve(b, 0);
    size_t room = b->cap - b->n;
    int n = vsnprintf(room ? b->p + b->n : NULL, room, fmt, ap);
    char *to = n < 0 ? NULL : ch_buf_reserve(b, (size_t)n);
    if (to && (size_t)n >= room)
        vsnprintf(to, (size_t)n + 1, fmt, again);
    if (to)
        ch_buf_commit(b, (size_t)n);
    else if (room)
        b->p[b->n] = '\0';
    va_end(again);
    return to ? 0 : CHELA_ELIMIT;
}

int ch_buf_add_uint(struct ch_buf *b, uint64_t n) {
    char digits[20];
    size_t at = sizeof(digits);
    do
        digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    return ch_buf_add(b, digits + at, sizeof(digits) - at);
}

int ch_buf_addf(struct ch_buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int rc = ch_buf_vaddf(b, fmt, ap);
    va_end(ap);
    return rc;
}

void ch_buf_consume(struct ch_buf *b, size_t n) {
    if (n == 0)
        return;
    memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
    b->p[b->n] = '\0';
}

const char *ch_buf_str(const struct ch_buf *b) {
    return b->p ? b->p : "";
}

char *ch_buf_take(struct ch_buf *b) {
    char *p = b->p ? b->p : ch_strdup("");
    *b = (struct ch_buf){.max = b->max};
    return p;
}
