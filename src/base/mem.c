/* mem.c -- the process-wide allocator; see mem.h. */
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

static struct ch_allocator current = {malloc, realloc, free, NULL};

void ch_mem_set(const struct ch_allocator *a) {
    current = *a;
}

__attribute__((noreturn)) static void out_of_memory(size_t wanted) {
    if (current.out_of_memory)
        current.out_of_memory(wanted);
    fprintf(stderr, "chela: out of memory (%zu bytes)\n", wanted);
    abort();
}

void *ch_malloc(size_t n) {
    void *p = current.malloc(n ? n : 1);
    if (!p)
        out_of_memory(n);
    return p;
}

void *ch_alloc(size_t n) {
    return memset(ch_malloc(n), 0, n);
}

void *ch_realloc(void *p, size_t n) {
    p = current.realloc(p, n ? n : 1);
    if (!p)
        out_of_memory(n);
    return p;
}

void ch_free(void *p) {
    if (p)
        current.free(p);
}

void *ch_memdup(const void *p, size_t n) {
    void *copy = ch_malloc(n);
    if (n)
        memcpy(copy, p, n);
    return copy;
}

char *ch_strndup(const char *s, size_t n) {
    char *copy = ch_malloc(n + 1);
    if (n)
        memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *ch_strdup(const char *s) {
    return s ? ch_strndup(s, strlen(s)) : NULL;
}

char **ch_strings_dup(const char *const *list) {
    size_t n = 0;
    while (list && list[n])
        n++;
    char **out = ch_alloc((n + 1) * sizeof(*out));
    for (size_t i = 0; i < n; i++)
        out[i] = ch_strdup(list[i]);
    return out;
}

void ch_strings_free(char **list) {
    for (size_t i = 0; list && list[i]; i++)
        ch_free(list[i]);
    ch_free(list);
}
