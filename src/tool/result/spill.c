/* spill.c -- see spill.h.
 *
 * Each directory is opened or created relative to its parent's descriptor, without
 * following links, because the workspace is not trusted. */
#include "tool/result/spill.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"

#define TOP ".chela"
#define DIR_NAME "spill"
#define SUFFIX ".txt"

struct old {
    char name[NAME_MAX + 1];
    struct timespec when;
    uint64_t bytes;
};

/* Takes ownership of dir, which may be negative after a failed step. */
static int spill_enter(int dir, const char *name) {
    if (dir < 0)
        return dir;
    int fd = -1;
    if (mkdirat(dir, name, 0700) == 0 || errno == EEXIST)
        fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int error = errno;
    close(dir);
    return fd < 0 ? -error : fd;
}

static int write_new(int dir, const char *name, struct ch_sv text) {
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return -errno;
    int rc = ch_file_write(fd, text);
    if (close(fd) < 0 && rc == 0)
        rc = -errno;
    if (rc < 0)
        unlinkat(dir, name, 0);
    return rc;
}

static int open_dir(const char *workspace) {
    int root = open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int dir = spill_enter(spill_enter(root < 0 ? -errno : root, TOP), DIR_NAME);

    if (dir >= 0)
        write_new(dir, ".gitignore", CH_SV("*\n")); /* no-op if the file exists */
    return dir;
}

/* --- making room --------------------------------------------------------- */

static bool spill_is_ours(const char *name) {
    size_t n = strlen(name);

    return name[0] != '.' && n > strlen(SUFFIX) && strcmp(name + n - strlen(SUFFIX), SUFFIX) == 0;
}

static int by_age(const void *a, const void *b) {
    const struct timespec *x = &((const struct old *)a)->when, *y = &((const struct old *)b)->when;

    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

static size_t spill_list(DIR *d, struct old **out) {
    struct old *all = NULL;
    size_t n = 0, cap = 0;
    struct dirent *e;
    struct stat st;

    while (n < CH_LIMIT_LS_SCAN && (e = readdir(d))) {
        if (!spill_is_ours(e->d_name) || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        CH_GROW(all, n, cap, 64);
        all[n] = (struct old){.when = st.st_mtim, .bytes = (uint64_t)st.st_size};
        memcpy(all[n++].name, e->d_name, strlen(e->d_name) + 1);
    }
    if (n > 1)
        qsort(all, n, sizeof(*all), by_age);
    *out = all;
    return n;
}

static void spill_make_room(int dir, uint64_t bytes) {
    int fd = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    CH_AUTOFREE struct old *all = NULL;

    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    size_t n = spill_list(d, &all);
    for (size_t i = 0; i < n; i++)
        bytes += all[i].bytes;
    for (size_t i = 0; i < n; i++) {
        if (n - i < CH_LIMIT_SPILL_FILES && bytes <= CH_LIMIT_SPILL_BYTES)
            break;
        if (unlinkat(dir, all[i].name, 0) == 0)
            bytes -= all[i].bytes;
    }
    closedir(d);
}

/* --- writing the file ---------------------------------------------------- */

/* A readable name; the number makes it unique. */
static void make_name(struct ch_buf *out, const char *tool, uint32_t number) {
    ch_buf_clear(out);
    for (const char *p = tool ? tool : "result"; *p && out->n < CH_LIMIT_TOOL_NAME; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || *p == '-';
        ch_buf_addc(out, plain ? *p : '_');
    }
    ch_buf_addf(out, "-%08x" SUFFIX, number);
}

static int write_somewhere(int dir, const char *tool, struct ch_sv text, struct ch_buf *name) {
    for (int i = 0; i < 16; i++) {
        uint32_t r;
        if (getrandom(&r, sizeof(r), 0) != (ssize_t)sizeof(r))
            return -EIO;
        make_name(name, tool, r);
        int rc = write_new(dir, ch_buf_str(name), text);
        if (rc != -EEXIST)
            return rc;
    }
    return -EEXIST;
}

int ch_spill(const char *workspace, const char *tool, struct ch_sv text, struct ch_buf *path) {
    CH_BUF_AUTO name = {0};

    if (text.n > CH_LIMIT_SPILL_BYTES)
        return -EFBIG;
    int dir = open_dir(workspace);
    if (dir < 0)
        return dir;
    spill_make_room(dir, text.n);
    int rc = write_somewhere(dir, tool, text, &name);
    close(dir);
    if (rc == 0)
        ch_buf_addf(path, TOP "/" DIR_NAME "/%s", ch_buf_str(&name));
    return rc;
}
