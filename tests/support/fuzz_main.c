/* fuzz_main.c -- play files to a fuzz target, without a fuzzer.
 *
 *     fuzz_TARGET DIRECTORY|FILE...
 *
 * Each file is a test case (TAP): the seeds of a corpus, and inputs that once crashed. A
 * target without files fails. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count;

/* Allocates exactly the size of the file, so that ASan detects a read one byte beyond the
 * end. */
static void play_file(const char *path) {
    FILE *f = fopen(path, "rb");
    struct stat st;

    if (!f || fstat(fileno(f), &st) < 0) {
        perror(path);
        exit(1);
    }
    uint8_t *data = malloc(st.st_size ? (size_t)st.st_size : 1);
    if (!data || fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size) {
        perror(path);
        exit(1);
    }
    fclose(f);
    LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
    free(data);
    printf("ok %d - %s\n", ++count, path);
    fflush(stdout);
}

static int visible(const struct dirent *e) {
    return e->d_name[0] != '.';
}

static void play_directory(const char *path) {
    struct dirent **names;
    int n = scandir(path, &names, visible, alphasort);

    for (int i = 0; i < n; i++) {
        char *file = NULL;
        if (asprintf(&file, "%s/%s", path, names[i]->d_name) < 0)
            abort();
        play_file(file);
        free(file);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
            play_directory(argv[i]);
        else
            play_file(argv[i]);
    }
    printf("1..%d\n", count);
    return count == 0;
}
