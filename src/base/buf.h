/* buf.h -- a growing byte buffer with a maximum size.
 *
 * Every buffer has a maximum. An append that would exceed the maximum appends
 * nothing, marks the buffer as overflowed and returns CHELA_ELIMIT. Later
 * appends fail too, so a writer may append freely and check once at the end. A
 * NUL that is not counted always follows the bytes.
 * A zeroed struct is an empty buffer with the default maximum. */
#ifndef CH_BASE_BUF_H
#define CH_BASE_BUF_H
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/sv.h"
#include "chela/error.h"

struct ch_buf {
    char *p; /* owned; NULL while empty */
    size_t n, cap; /* cap counts the NUL and is at most max + 1 */
    uint64_t max : 63; /* 0: CH_LIMIT_BUF */
    uint64_t overflow : 1;
};

void ch_buf_init(struct ch_buf *b, size_t max);
void ch_buf_release(struct ch_buf *b);
void ch_buf_clear(struct ch_buf *b); /* keeps the memory */
/* Gives memory back: leaves room for an eighth more in a large buffer, so that a buffer which
 * grows slowly is not copied each time. */
void ch_buf_fit(struct ch_buf *b);
/* The caller will add about n bytes: a small buffer gets room for them and no more. Without
 * this call, a buffer that was fitted grows by half, mostly at a new place. */
void ch_buf_expect(struct ch_buf *b, size_t n);
int ch_buf_add(struct ch_buf *b, const void *p, size_t n);
int ch_buf_add_uint(struct ch_buf *b, uint64_t n); /* in decimal */
int ch_buf_addf(struct ch_buf *b, const char *fmt, ...) CHELA_PRINTF(2, 3);
int ch_buf_vaddf(struct ch_buf *b, const char *fmt, va_list ap);

/* Make room for n more bytes and return their address; NULL if the maximum
 * would be exceeded. ch_buf_commit then counts the bytes that were written. */
char *ch_buf_reserve(struct ch_buf *b, size_t n);
static inline void ch_buf_commit(struct ch_buf *b, size_t n) {
    b->n += n;
    b->p[b->n] = '\0';
}

static inline int ch_buf_add_sv(struct ch_buf *b, struct ch_sv s) {
    return ch_buf_add(b, s.p, s.n);
}
static inline int ch_buf_add_str(struct ch_buf *b, const char *s) {
    return ch_buf_add(b, s, strlen(s));
}
static inline int ch_buf_addc(struct ch_buf *b, char c) {
    if (b->n + 1 >= b->cap || b->overflow)
        return ch_buf_add(b, &c, 1);
    b->p[b->n] = c;
    ch_buf_commit(b, 1);
    return 0;
}
#define CH_BUF_LIT(b, literal) ch_buf_add(b, "" literal, sizeof(literal) - 1)

/* Drop the first n bytes. */
void ch_buf_consume(struct ch_buf *b, size_t n);

/* The text, NUL-terminated, "" when empty; borrowed until the next change. */
const char *ch_buf_str(const struct ch_buf *b);
static inline struct ch_sv ch_buf_sv(const struct ch_buf *b) {
    return ch_sv(b->p ? b->p : "", b->n);
}

/* Hand the bytes to the caller (ch_free) and leave the buffer empty. */
char *ch_buf_take(struct ch_buf *b);

#define CH_BUF_AUTO __attribute__((cleanup(ch_buf_release))) struct ch_buf

#endif
