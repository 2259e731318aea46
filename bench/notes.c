/* notes.c -- what memory_search costs over many files, by words alone.
 *
 *     notes DIRECTORY N
 *
 * Writes N notes to DIRECTORY and searches them. Prints the CPU time of the first search, which
 * reads all notes, and the median of the searches after it, which read none. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "tool/memory/note_index.h"
#include "tool/memory/passage_index.h"

#define SEARCHES 15

static double cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Written an hour ago: a note that was just written is read again by each search. */
static int write_note(const char *dir, long i) {
    static const char *const things[] = {"garden", "engine", "invoice", "harbour", "recipe"};
    struct timespec past[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path, "%s/memory/%04ld-%02ld-%02ld.md", dir, 1000 + i / 372, 1 + i / 31 % 12,
                1 + i % 31);
    FILE *f = fopen(ch_buf_str(&path), "w");
    if (!f)
        return -1;
    fprintf(f, "# Day %ld\n\nThe %s of number %ld was seen to by the people of house %ld.\n\n", i,
            things[i % 5], i, i % 97);
    fprintf(f, "Somebody asked about the %s again; the answer is in letter %ld.\n", things[i % 3],
            i * 7);
    fclose(f);
    return utimensat(AT_FDCWD, ch_buf_str(&path), past, 0);
}

static double search(struct ch_note_index *x, const char *dir, struct ch_notes *found) {
    double before = cpu_ms();
    struct ch_shelf *shelf = ch_note_index_lock(x, dir, NULL);
    ch_shelf_best(shelf, CH_SV("harbour of number 13"), NULL, NULL, 10, found);
    ch_note_index_unlock(x);
    return cpu_ms() - before;
}

static int by_size(const void *a, const void *b) {
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

int main(int argc, char **argv) {
    CH_BUF_AUTO memory = {0};
    struct ch_notes found = {0};
    double next[SEARCHES];
    if (argc != 3)
        return 2;
    long n = strtol(argv[2], NULL, 10);
    ch_buf_addf(&memory, "%s/memory", argv[1]);
    mkdir(argv[1], 0700);
    mkdir(ch_buf_str(&memory), 0700);
    for (long i = 0; i < n; i++)
        if (write_note(argv[1], i) < 0) {
            perror(ch_buf_str(&memory));
            return 1;
        }
    usleep(1200 * 1000); /* a directory that has just changed is listed again by each search */
    struct ch_note_index *x = ch_note_index_new();
    double first = search(x, argv[1], &found);
    for (int i = 0; i < SEARCHES; i++) {
        ch_notes_release(&found);
        next[i] = search(x, argv[1], &found);
    }
    qsort(next, SEARCHES, sizeof(*next), by_size);
    printf("files=%ld reads=%zu found=%zu first_ms=%.2f next_ms=%.3f\n", n, ch_note_index_reads(x),
           found.n, first, next[SEARCHES / 2]);
    ch_notes_release(&found);
    ch_note_index_free(x);
    return 0;
}
