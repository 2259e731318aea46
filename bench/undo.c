/* undo.c -- what undo costs: a scan of a large workspace, and a file that a tool changes.
 *
 *   undo [FILES] [ROUNDS]
 *
 * Makes a workspace of FILES (50000) files in 500 directories, 2 kB each. Prints the CPU time of
 * the first scan, which copies, and the median of ROUNDS (9) scans after a command that changed
 * ten files; then the time of a copy before an edit, for files of 20 kB. The record is in the
 * temporary directory, too. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "undo/undo_scan.h"

static double cpu_ms(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static int by_size(const void *a, const void *b) {
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

static void put(const char *path, size_t n, char c) {
    char bytes[32 << 10];
    memset(bytes, c, n);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n) {
        perror(path);
        exit(1);
    }
    close(fd);
}

int main(int argc, char **argv) {
    int files = argc > 1 ? atoi(argv[1]) : 50000, rounds = argc > 2 ? atoi(argv[2]) : 9;
    char dir[] = "/tmp/chela-bench-XXXXXX", path[256];
    struct ch_undo_record r;
    struct ch_undo_index x = {0};
    struct chela_error err = {0};
    double *times = calloc((size_t)rounds, sizeof(*times));

    if (!mkdtemp(dir) || chdir(dir) < 0 || mkdir("w", 0755) < 0)
        return 1;
    for (int i = 0; i < 500; i++) {
        snprintf(path, sizeof(path), "w/dir%03d", i);
        mkdir(path, 0755);
    }
    for (int i = 0; i < files; i++) {
        snprintf(path, sizeof(path), "w/dir%03d/file%d.txt", i % 500, i);
        put(path, 2048, 'a');
    }
    int root = open("w", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof(path), "%s/record", dir);
    if (root < 0 || ch_undo_record_open(&r, path, root, &err) < 0) {
        fprintf(stderr, "undo: %s\n", err.message);
        return 1;
    }
    ch_undo_record_message(&r, "s", 0, 0, "bench");
    double began = cpu_ms();
    if (!ch_undo_scan(&x, &r, root, NULL, false))
        return 1;
    ch_undo_index_save(&x, &r);
    printf("first scan of %d files, with copies   %8.1f ms CPU\n", files, cpu_ms() - began);
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < 10; k++) {
            snprintf(path, sizeof(path), "w/dir%03d/file%d.txt", k, k);
            put(path, 2000 + (size_t)i, 'b');
        }
        began = cpu_ms();
        if (!ch_undo_scan(&x, &r, root, NULL, true))
            return 1;
        ch_undo_index_save(&x, &r);
        times[i] = cpu_ms() - began;
    }
    qsort(times, (size_t)rounds, sizeof(*times), by_size);
    printf("scan after a command (aim 120)         %8.1f ms CPU, fastest %.1f\n",
           times[rounds / 2], times[0]);
    put("w/edited", 20000, 'c');
    struct stat st;
    stat("w/edited", &st);
    began = cpu_ms();
    for (int i = 0; i < 1000; i++)
        ch_undo_record_copy(&r, root, "edited", &st, CH_LIMIT_UNDO_EDITED);
    printf("copy before an edit of 20 kB (aim 1)   %8.3f ms CPU\n", (cpu_ms() - began) / 1000);
    ch_undo_index_release(&x);
    ch_undo_record_close(&r);
    free(times);
    snprintf(path, sizeof(path), "rm -rf %s", dir);
    return system(path) == 0 ? 0 : 1;
}
