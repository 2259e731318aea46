/* guard_alloc.c -- see guard_alloc.h.
 *
 * One region of addresses is reserved; the kernel gives it memory page by page as it is
 * used. An allocation takes the next pages of the region, and a header before its first byte
 * holds their number. */
#include "support/guard_alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chela.h>

#ifdef __has_feature
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    HAS_FEATURE(address_sanitizer) || HAS_FEATURE(thread_sanitizer)
#define GUARD_PAGES 0
#else
#define GUARD_PAGES 1
#endif

#define REGION ((size_t)1 << 36)
/* Linux allows a process 65,530 mappings, and adjacent pages with different protection need
 * separate mappings. */
#define MOST_GUARDED 56000

struct header {
    size_t n, bytes; /* requested bytes; accessible bytes */
};

static atomic_size_t live, made, used, inside; /* inside: allocations in the region so far */
static atomic_bool plain = !GUARD_PAGES;
static bool guarded_ends;
static char *region;
static size_t page;

/* One byte for each page of the region: the page is freed but still accessible. */
static char *open_pages;
static bool protects = true;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of these two */

static void die(const char *why) {
    fprintf(stderr, "guard_alloc: %s\n", why);
    abort();
}

static void *guarded(size_t n) {
    size_t body = (n + 15) & ~(size_t)15;
    size_t bytes = (body + sizeof(struct header) + page - 1) / page * page;
    size_t taken = bytes + (guarded_ends ? page : 0);
    size_t at = atomic_fetch_add(&used, taken);
    if (n > REGION / 2 || at + taken > REGION)
        die("the region is used up");
    char *start = region + at;
    if (guarded_ends && mprotect(start + bytes, page, PROT_NONE) < 0)
        die("mprotect failed: too many allocations at once");
    char *p = start + bytes - body;
    ((struct header *)p)[-1] = (struct header){n, bytes};
    memset(p, 0xa5, n);
    return p;
}

static void protect(size_t first, size_t pages) {
    if (mprotect(region + first * page, pages * page, PROT_NONE) < 0)
        die("mprotect failed");
}

static void unguard(void *p) {
    struct header *h = (struct header *)p - 1;
    size_t first = (size_t)((char *)h - region) / page, pages = h->bytes / page;
    pthread_mutex_lock(&lock);
    if (open_pages[first])
        die("freed twice");
    if (protects)
        protect(first, pages);
    else
        memset(open_pages + first, 1, pages);
    pthread_mutex_unlock(&lock);
}

static void protect_open_pages(void) {
    size_t n = atomic_load(&used) / page;
    for (size_t i = 0, from; i < n; i++) {
        for (from = i; i < n && open_pages[i]; i++)
            open_pages[i] = 0;
        if (i > from)
            protect(from, i - from);
    }
}

void guard_frees(bool on) {
    if (!GUARD_PAGES)
        return;
    pthread_mutex_lock(&lock);
    bool before = protects;
    protects = on;
    if (on && !before)
        protect_open_pages();
    pthread_mutex_unlock(&lock);
}

static void *guard_malloc(size_t n) {
    atomic_fetch_add(&live, 1);
    atomic_fetch_add(&made, 1);
    if (atomic_load(&plain) ||
        atomic_fetch_add(&inside, 1) >= MOST_GUARDED / (guarded_ends ? 2 : 1))
        return malloc(n ? n : 1);
    return guarded(n);
}

static bool is_guarded(const void *p) {
    return GUARD_PAGES && (uintptr_t)p - (uintptr_t)region < REGION;
}

static void guard_free(void *p) {
    if (!p)
        return;
    atomic_fetch_sub(&live, 1);
    if (is_guarded(p))
        unguard(p);
    else
        free(p);
}

static void *guard_realloc(void *p, size_t n) {
    if (!p)
        return guard_malloc(n);
    if (!is_guarded(p))
        return realloc(p, n ? n : 1);
    size_t before = ((struct header *)p)[-1].n;
    void *q = guard_malloc(n);
    memcpy(q, p, n < before ? n : before);
    guard_free(p);
    return q;
}

#define MAPPING (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

void guard_install(bool ends) {
    guarded_ends = ends;
    page = (size_t)sysconf(_SC_PAGESIZE);
    if (GUARD_PAGES) {
        region = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAPPING, -1, 0);
        open_pages = mmap(NULL, REGION / page, PROT_READ | PROT_WRITE, MAPPING, -1, 0);
        if (region == MAP_FAILED || open_pages == MAP_FAILED)
            die("no room for the region");
    }
    chela_set_allocator(
        &(struct chela_allocator){guard_malloc, guard_realloc, guard_free, NULL});
}

void guard_pages(bool on) {
    atomic_store(&plain, !GUARD_PAGES || !on);
}

size_t guard_live(void) {
    return atomic_load(&live);
}

size_t guard_made(void) {
    return atomic_load(&made);
}

void guard_drop(void) {
    size_t n = atomic_load(&used);
    if (!GUARD_PAGES || n == 0)
        return;
    if (mprotect(region, n, PROT_READ | PROT_WRITE) < 0)
        die("mprotect failed");
    memset(open_pages, 0, n / page);
    atomic_store(&used, 0);
    atomic_store(&inside, 0);
}
