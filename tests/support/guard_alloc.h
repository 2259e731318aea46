/* guard_alloc.h -- an allocator that faults on every wrong access.
 *
 * Each allocation has separate pages. Freed pages cannot be read or written, and are not
 * reused until guard_drop. So a use after free and a double free cause a SIGSEGV at the
 * faulty instruction. With guarded ends an allocation ends where its last page does (up to
 * the alignment of 16 bytes), and the next page cannot be read or written: a write past the
 * end also causes a SIGSEGV. Guarded ends double the run time.
 *
 * After 56,000 allocations (28,000 with guarded ends) without guard_drop the kernel has no
 * more mappings for a process; further ones come from malloc.
 *
 * With AddressSanitizer, which does the same for malloc, the functions only count. Thread
 * safe except guard_drop. */
#ifndef TESTS_SUPPORT_GUARD_ALLOC_H
#define TESTS_SUPPORT_GUARD_ALLOC_H
#include <stdbool.h>
#include <stddef.h>

/* For chela_set_allocator; call guard_install before the first allocation. */
void guard_install(bool ends);

/* off: allocations from now on come from malloc. Each page costs microseconds, and objects
 * that live for the whole case need no guard. */
void guard_pages(bool on);

/* off: freed pages stay accessible until this is called with true. Protecting a page takes
 * microseconds; protecting many pages at once takes hardly longer. */
void guard_frees(bool on);

/* Number of allocations that are not freed. */
size_t guard_live(void);
/* Number of allocations since the start of the process. */
size_t guard_made(void);

/* Forget all pages. Only while nothing is allocated. */
void guard_drop(void);

#endif
