/* arena.c -- see arena.h. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>

#define FIRST_BLOCK 256 /* many arenas hold a few short texts */
#define SMALL_BLOCK 1024
#define LARGEST_BLOCK (256 * 1024)

struct ch_arena_block {
    struct ch_arena_block *next;
    size_t size; /* includes this header */
    max_align_t data[];
};

void ch_arena_release(struct ch_arena *a) {
    for (struct ch_arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        ch_free(b);
    }
    *a = (struct ch_arena){0};
}

void ch_arena_clear(struct ch_arena *a) {
    struct ch_arena_block *keep = a->head;
    if (!keep)
        return;
    for (struct ch_arena_block *b = keep->next, *next; b; b = next) {
        next = b->next;
        ch_free(b);
    }
    keep->next = NULL;
    if (keep->size > LARGEST_BLOCK) {
        ch_arena_release(a);
        return;
    }
    a->at = (char *)keep->data;
    a->end = (char *)keep + keep->size;
    a->total = keep->size;
}

static void arena_add_block(struct ch_arena *a, size_t n) {
    size_t grown = a->head ? a->head->size * (a->head->size < SMALL_BLOCK ? 2 : 4) : FIRST_BLOCK;
    size_t size = CH_MIN(grown, LARGEST_BLOCK);
    size = CH_MAX(size, sizeof(struct ch_arena_block) + n);
    struct ch_arena_block *b = ch_malloc(size);
    b->next = a->head;
    b->size = size;
    a->head = b;
    a->total += size;
    a->at = (char *)b->data;
    a->end = (char *)b + size;
}

static uintptr_t aligned(const struct ch_arena *a, size_t align) {
    return ((uintptr_t)a->at + align - 1) & ~(uintptr_t)(align - 1);
}

void *ch_arena_slow(struct ch_arena *a, size_t n, size_t align) {
    arena_add_block(a, n + align);
    uintptr_t at = aligned(a, align);
    a->at = (char *)at + n;
    return (void *)at;
}

char *ch_arena_reserve(struct ch_arena *a, size_t n) {
    size_t align = alignof(max_align_t);
    if (!a->at || aligned(a, align) + n > (uintptr_t)a->end)
        arena_add_block(a, n + align);
    return (char *)aligned(a, align);
}

char *ch_arena_bytes(struct ch_arena *a, size_t n) {
    if (!a->at || n > (size_t)(a->end - a->at))
        arena_add_block(a, n);
    char *p = a->at;
    a->at += n;
    return p;
}

char *ch_arena_str(struct ch_arena *a, struct ch_sv s) {
    char *p = ch_arena_bytes(a, s.n + 1);
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return p;
}

char *ch_arena_text(struct ch_arena *a, struct ch_sv s) {
    static const char replacement[] = "\xEF\xBF\xBD";
    size_t nuls = 0;
    for (size_t i = 0; i < s.n; i++)
        nuls += s.p[i] == '\0';
    char *p = ch_arena_bytes(a, s.n + nuls * (sizeof(replacement) - 2) + 1), *at = p;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i])
            *at++ = s.p[i];
        else
            for (size_t k = 0; k + 1 < sizeof(replacement); k++)
                *at++ = replacement[k];
    *at = '\0';
    return p;
}

struct ch_sv ch_arena_sv(struct ch_arena *a, struct ch_sv s) {
    return ch_sv(ch_arena_str(a, s), s.n);
}

char *ch_arena_join(struct ch_arena *a, const struct ch_sv *parts, size_t n) {
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += parts[i].n;
    char *p = ch_arena_bytes(a, total + 1), *at = p;
    for (size_t i = 0; i < n; i++) {
        if (parts[i].n)
            memcpy(at, parts[i].p, parts[i].n);
        at += parts[i].n;
    }
    *at = '\0';
    return p;
}

char *ch_arena_printf(struct ch_arena *a, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    /* The text usually fits into the free space: format once. */
    size_t room = a->at ? (size_t)(a->end - a->at) : 0;
    int n = vsnprintf(a->at, room, fmt, ap);
    va_end(ap);
    n = CH_MAX(n, 0);
    char *p = ch_arena_bytes(a, (size_t)n + 1);
    if ((size_t)n >= room)
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}
