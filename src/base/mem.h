/* mem.h -- allocation that cannot fail, and scoped ownership.
 *
 * Allocations never return NULL: when memory is exhausted, the out_of_memory
 * hook runs, which must not return. Sizes that a peer controls are checked
 * against limits.h before they reach this file. The allocator is process-wide.
 * A host replaces it once, before any other call (chela_set_allocator), as with
 * libuv and SQLite. */
#ifndef CH_BASE_MEM_H
#define CH_BASE_MEM_H
#include <stddef.h>
#include <string.h>

struct ch_allocator {
    void *(*malloc)(size_t n);
    void *(*realloc)(void *p, size_t n);
    void (*free)(void *p);
    void (*out_of_memory)(size_t wanted); /* must not return; NULL: abort */
};

void ch_mem_set(const struct ch_allocator *a);

void *ch_alloc(size_t n);  /* zeroed */
void *ch_malloc(size_t n); /* not zeroed */
void *ch_realloc(void *p, size_t n);
void ch_free(void *p);
char *ch_strndup(const char *s, size_t n);
char *ch_strdup(const char *s); /* NULL gives NULL */
void *ch_memdup(const void *p, size_t n);

/* Arrays of strings that end with NULL. The copy of a NULL array is an empty
 * array. */
char **ch_strings_dup(const char *const *list);
void ch_strings_free(char **list);

/* CH_AUTO(ch_schema) s = ...; calls ch_schema_free(s) at the end of the
 * scope. A type supports CH_AUTO through CH_DEFINE_AUTO(ch_schema) in its
 * header. */
#define CH_DEFINE_AUTO(type)                                                   \
    static inline void type##_auto_(struct type **p) { type##_free(*p); }
#define CH_AUTO(type) __attribute__((cleanup(type##_auto_))) struct type *

static inline void ch_free_auto_(void *p) {
    ch_free(*(void **)p);
}
#define CH_AUTOFREE __attribute__((cleanup(ch_free_auto_)))

/* Transfer ownership: yields p and sets the variable to NULL. */
#define CH_TAKE(p)                                                             \
    ({                                                                         \
        __typeof__(p) taken_ = (p);                                            \
        (p) = NULL;                                                            \
        taken_;                                                                \
    })

#define CH_LEN(a) (sizeof(a) / sizeof((a)[0]))
/* Both macros evaluate an argument twice: pass no expression with side effects. */
#define CH_MIN(a, b) ((a) < (b) ? (a) : (b))
#define CH_MAX(a, b) ((a) > (b) ? (a) : (b))
#define CH_CONTAINER(ptr, type, member)                                        \
    ((type *)((char *)(ptr) - offsetof(type, member)))
#define CH_UNREACHABLE() __builtin_unreachable()
#define CH_UNUSED __attribute__((unused))

#endif
