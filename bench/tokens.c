/* tokens.c -- the guess of ch_tokens for each file named on standard input, one
 * number a line, and on standard error what guessing cost; see tokens.mjs. Its
 * argument is the name of a model. */
#include "prompt/tokens.h"

#include <stdio.h>
#include <time.h>

#include "base/buf.h"

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int read_file(const char *path, struct ch_buf *out) {
    char chunk[65536];
    FILE *f = fopen(path, "rb");
    if (!f)
        return -1;
    for (size_t n; (n = fread(chunk, 1, sizeof(chunk), f)) > 0;)
        ch_buf_add(out, chunk, n);
    fclose(f);
    return 0;
}

int main(int argc, char **argv) {
    enum ch_counting how = ch_model_facts(ch_sv_str(argc > 1 ? argv[1] : ""))->counting;
    char path[4096];
    double seconds = 0;
    size_t bytes = 0;

    while (fgets(path, sizeof(path), stdin)) {
        CH_BUF_AUTO text = {0};
        path[strcspn(path, "\n")] = 0;
        if (read_file(path, &text) < 0) {
            perror(path);
            return 1;
        }
        double start = cpu();
        size_t n = ch_tokens_as(ch_buf_sv(&text), how);
        seconds += cpu() - start;
        bytes += text.n;
        printf("%zu\n", n);
    }
    fprintf(stderr, "%.1f MB/s\n", (double)bytes / 1e6 / seconds);
}
