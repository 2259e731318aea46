/* arena.h -- an arena: allocations that are freed together.
 *
 * One arena holds a turn's decoded events, arguments and request parts. A
 * single allocation cannot be freed. Blocks grow geometrically from a small
 * first block, so a thousand idle agents use little memory. ch_arena_clear
 * keeps the newest block unless that block is unusually large.
 * A zeroed struct is an empty arena. An arena belongs to one thread at a time. */
#ifndef CH_BASE_ARENA_H
#define CH_BASE_ARENA_H
#include <stdalign.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/sv.h"

struct ch_arena_block;
struct ch_arena {
    char *at, *end;              /* free space in the newest block */
    struct ch_arena_block *head; /* owned list, newest first */
    size_t total;                /* bytes obtained from the allocator */
};

void ch_arena_release(struct ch_arena *a);
void ch_arena_clear(struct ch_arena *a);
void *ch_arena_slow(struct ch_arena *a, size_t n, size_t align);

/* The memory is aligned for any type and not zeroed. */
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

/* Return at least n free, aligned bytes without allocating them. The caller may
 * write anywhere in [result, a->end) and then claims the bytes: set a->at
 * behind data written at the front, or a->end before data written at the back.
 * For data whose size is not known beforehand. */
char *ch_arena_reserve(struct ch_arena *a, size_t n);

/* Allocate n bytes without alignment. */
char *ch_arena_bytes(struct ch_arena *a, size_t n);

/* Copy the text. A NUL that is not counted follows the copy. */
struct ch_sv ch_arena_sv(struct ch_arena *a, struct ch_sv s);
char *ch_arena_str(struct ch_arena *a, struct ch_sv s);
/* The same for a text that may contain a NUL, which would end it: U+FFFD in its place. */
char *ch_arena_text(struct ch_arena *a, struct ch_sv s);
/* The parts in one text, without the cost of a format. */
char *ch_arena_join(struct ch_arena *a, const struct ch_sv *parts, size_t n);
char *ch_arena_printf(struct ch_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), nonnull(2)));

/* Initializer of an arena whose first memory is `room`, an array that outlives the arena. Small
 * values need no allocation. Such an arena cannot be cleared. */
#define CH_ARENA_IN(room) {.at = (room), .end = (room) + sizeof(room)}

#define CH_ARENA_AUTO                                                          \
    __attribute__((cleanup(ch_arena_release))) struct ch_arena

#endif
