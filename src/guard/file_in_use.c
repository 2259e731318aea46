/* file_in_use.c -- see file_in_use.h. */
#include "guard/file_in_use.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/sv.h"

static bool is_number(const char *name) {
    return *name && strspn(name, "0123456789") == strlen(name);
}

/* True if a process has the file open that *st describes. */
static bool process_has_open(int proc, const char *pid, const struct stat *st) {
    char name[64];
    struct stat one;
    bool found = false;

    snprintf(name, sizeof(name), "%.20s/fd", pid);
    int fd = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e; d && !found && (e = readdir(d));)
        found = is_number(e->d_name) && fstatat(fd, e->d_name, &one, 0) == 0 &&
                one.st_ino == st->st_ino && one.st_dev == st->st_dev;
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    return found;
}

/* True if a process has locked the file: also a process whose descriptors this one may not see. */
static bool is_locked(const struct stat *st) {
    FILE *f = fopen("/proc/locks", "re");
    char line[256];
    unsigned long long inode;
    bool found = false;

    while (f && !found && fgets(line, sizeof(line), f))
        found = sscanf(line, "%*s %*s %*s %*s %*s %*[^:]:%*[^:]:%llu", &inode) == 1 &&
                inode == st->st_ino;
    if (f)
        fclose(f);
    return found;
}

static bool is_open(int dir, const char *name) {
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return false;
    bool found = is_locked(&st);
    DIR *d = found ? NULL : opendir("/proc");
    for (struct dirent *e; d && !found && (e = readdir(d));)
        found = is_number(e->d_name) && process_has_open(dirfd(d), e->d_name, &st);
    if (d)
        closedir(d);
    return found;
}

/* No process of the command is left, so a file in use belongs to another program: the log of a
 * database that chela opened meanwhile. A connection locks the -shm beside the log. */
bool ch_file_in_use(int dir, const char *name) {
    struct ch_sv stem = ch_sv_str(name);
    CH_BUF_AUTO beside = {0};

    if (is_open(dir, name))
        return true;
    if (!ch_sv_ends(stem, "-wal"))
        return false;
    ch_buf_addf(&beside, "%.*s-shm", (int)stem.n - 4, name);
    return is_open(dir, ch_buf_str(&beside));
}
