/* guard_alloc.h -- an allocator that faults on every wrong access.
 *
 * Each allocation has pages of its own. Pages that were freed cannot be read or
 * written, and are not used again until guard_drop. So a use after free and a second
 * free are a SIGSEGV at the place of the fault. With guarded ends an allocation ends
 * where its last page does (up to the alignment of 16 bytes), and the next page
 * cannot be read or written: a write past the end is a SIGSEGV too. That takes twice
 * the time.
 *
 * After 56,000 allocations (28,000 with guarded ends) without guard_drop the kernel has no
 * more mappings for a process; further ones come from malloc.
 *
 * With AddressSanitizer, which does the same for malloc, the functions only
 * count. Thread safe but for guard_drop. */
#ifndef TESTS_SUPPORT_GUARD_ALLOC_H
#define TESTS_SUPPORT_GUARD_ALLOC_H
#include <stdbool.h>
#include <stddef.h>

/* For chela_set_allocator; call guard_install before the first allocation. */
void guard_install(bool ends);

/* off: allocations from now on come from malloc. Pages take microseconds each, and
 * what lives from the start of a case to its end needs none. */
void guard_pages(bool on);

/* off: pages that are freed stay accessible until this is called with true. Protecting a
 * page takes microseconds, protecting many pages at once hardly more. */
void guard_frees(bool on);

/* Allocations that were made and not freed. */
size_t guard_live(void);
/* Allocations made since the start of the process. */
size_t guard_made(void);

/* Forget all pages. Only while nothing is allocated. */
void guard_drop(void);

#endif
