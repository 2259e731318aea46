/* arena.h -- memory that dies together.
 *
 * A turn's decoded events, arguments and request parts live in one arena.
 * Nothing in it is freed alone. Blocks grow geometrically from a small first
 * one, so a thousand idle agents stay small. Clearing keeps the newest block,
 * unless it is one of unusual size.
 * A zeroed struct is an empty arena. */
#ifndef CH_BASE_ARENA_H
#define CH_BASE_ARENA_H
#include <stdalign.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/sv.h"

struct ch_arena_block;
struct ch_arena {
    char *at, *end;              /* free room in the newest block */
    struct ch_arena_block *head; /* owned list, newest first */
    size_t total;                /* bytes obtained from the allocator */
};

void ch_arena_release(struct ch_arena *a);
void ch_arena_clear(struct ch_arena *a);
void *ch_arena_slow(struct ch_arena *a, size_t n, size_t align);

/* Not zeroed, aligned for any type. */
static inline void *ch_arena_alloc(struct ch_arena *a, size_t n) {
    size_t align = alignof(max_align_t);
    uintptr_t at = ((uintptr_t)a->at + align - 1) & ~(uintptr_t)(align - 1);
    if (__builtin_expect(a->at && at <= (uintptr_t)a->end &&
                             n <= (uintptr_t)a->end - at, 1)) {
        a->at = (char *)at + n;
        return (void *)at;
    }
    return ch_arena_slow(a, n, align);
}

static inline void *ch_arena_zalloc(struct ch_arena *a, size_t n) {
    return memset(ch_arena_alloc(a, n), 0, n);
}
#define CH_ARENA_NEW(a, type) ((type *)ch_arena_zalloc(a, sizeof(type)))

/* At least n aligned bytes that are not taken yet: all of [result, a->end) may
 * be written, from either side. Whoever cannot tell its size beforehand fills
 * what it needs and then sets a->at behind it (or a->end before it). */
char *ch_arena_reserve(struct ch_arena *a, size_t n);

/* Unaligned bytes. */
char *ch_arena_bytes(struct ch_arena *a, size_t n);

/* Copies; the result is followed by a NUL that is not counted. */
struct ch_sv ch_arena_sv(struct ch_arena *a, struct ch_sv s);
char *ch_arena_str(struct ch_arena *a, struct ch_sv s);
char *ch_arena_printf(struct ch_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), nonnull(2)));

#define CH_ARENA_AUTO                                                          \
    __attribute__((cleanup(ch_arena_release))) struct ch_arena

#endif
