/* modules.c -- see modules.h. */
#include "support/modules.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

char *modules_dir(void) {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (n <= 0)
        abort();
    path[n] = '\0';
    char *tests = strstr(path, "/tests/");
    for (char *later; tests && (later = strstr(tests + 1, "/tests/"));)
        tests = later;
    if (!tests)
        abort();
    *tests = '\0';
    return ch_strdup(path);
}

bool modules_have(const char *name) {
    CH_AUTOFREE char *dir = modules_dir();
    CH_BUF_AUTO path = {0};

    ch_buf_addf(&path, "%s/libchela-%s.so", dir, name);
    return access(ch_buf_str(&path), R_OK) == 0;
}
