/* scratch.c -- see scratch.h. The command may have left directories a million
 * levels deep, so removal does not recurse. It moves nested directories to the
 * top level under new names until none is left. */
#include "sandbox/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/options.h"
#include "sandbox/report.h"

const char *ch_scratch_make(void) {
    char *path = ch_text("/tmp/chela-XXXXXX");

    if (!mkdtemp(path))
        ch_die("unavailable", "the sandbox cannot make a directory for temporary files: %s",
               strerror(errno));
    return path;
}

static bool is_dot(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static DIR *open_directory(int at, const char *name) {
    fchmodat(at, name, 0700, 0); /* the command may have removed its own rights */
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);

    if (!d && fd >= 0)
        close(fd);
    return d;
}

/* Move a directory to the top level under a name that is not taken. Only a directory that may be
 * written can be moved. */
static bool scratch_move(int from, const char *name, int top, unsigned long *fresh) {
    char moved[32];
    int rc;

    fchmodat(from, name, 0700, 0);
    do {
        snprintf(moved, sizeof(moved), "%lx", ++*fresh);
        rc = renameat(from, name, top, moved);
    } while (rc < 0 && (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR));
    return rc == 0;
}

/* Empty the top-level directory `name`, moving its subdirectories to the top
 * level. Returns false if nothing changed. */
static bool flatten(int top, const char *name, unsigned long *fresh) {
    DIR *d = open_directory(top, name);
    bool changed = false;

    for (struct dirent *e; d && (e = readdir(d));)
        if (!is_dot(e->d_name) &&
            (unlinkat(dirfd(d), e->d_name, 0) == 0 ||
             unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR) == 0 ||
             scratch_move(dirfd(d), e->d_name, top, fresh)))
            changed = true;
    if (d)
        closedir(d);
    return unlinkat(top, name, AT_REMOVEDIR) == 0 || changed;
}

/* Returns false if nothing changed: everything is removed, or the rest cannot be. */
static bool scratch_sweep(const char *path, unsigned long *fresh) {
    DIR *top = open_directory(AT_FDCWD, path);
    bool changed = false;

    for (struct dirent *e; top && (e = readdir(top));)
        if (!is_dot(e->d_name) && (unlinkat(dirfd(top), e->d_name, 0) == 0 ||
                                   flatten(dirfd(top), e->d_name, fresh)))
            changed = true;
    if (top)
        closedir(top);
    return changed;
}

void ch_scratch_remove(const char *path) {
    unsigned long fresh = 0;

    while (scratch_sweep(path, &fresh))
        ;
    rmdir(path);
}
