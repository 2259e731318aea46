/* fuzz_skill_tar.c -- any bytes as the archive of a skill.
 *
 * The checksum of each header is made right, so that the search reaches what follows. An
 * accepted file has a relative path that stays inside, and its data lies inside the archive. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "prompt/skill_package.h"

enum { BLOCK = 512, SUM = 148, SUM_SIZE = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static volatile char sink; /* what is read must be readable */

static void mend_sums(char *p, size_t n) {
    for (size_t at = 0; at + BLOCK <= n; at += BLOCK) {
        unsigned sum = 0;
        if (memcmp(p + at + 257, "ustar", 5) != 0)
            continue;
        memset(p + at + SUM, ' ', SUM_SIZE);
        for (size_t i = 0; i < BLOCK; i++)
            sum += (unsigned char)p[at + i];
        snprintf(p + at + SUM, SUM_SIZE, "%06o", sum);
    }
}

static void check_path(const char *path) {
    if (!*path || *path == '/' || strstr(path, "//"))
        abort();
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += *at == '/';
        size_t len = strcspn(at, "/");
        if (len == 0 || (len <= 2 && strncmp(at, "..", len) == 0))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    struct ch_package package = {0};
    struct chela_error err = {0};
    char *archive = ch_strndup((const char *)p, n);
    mend_sums(archive, n);
    int rc = ch_package_tar(&package, ch_sv(archive, n), &err);
    if (rc < 0 && !*err.message)
        abort();
    for (size_t i = 0; rc == 0 && i < package.n; i++) {
        check_path(package.files[i].path);
        for (size_t k = 0; k < package.files[i].data.n; k++)
            sink ^= package.files[i].data.p[k];
    }
    ch_package_release(&package);
    ch_free(archive);
    return 0;
}
