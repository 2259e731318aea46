/* undo_erase.c -- see undo_erase.h. */
#include "undo/undo_erase.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "undo/undo_record.h"

static bool undo_erase_concerns(const struct ch_undo_record *r, const char *session) {
    for (size_t i = 0; i < r->n; i++)
        if (ch_undo_record_belongs(r, &r->list[i], session))
            return true;
    return false;
}

/* The lock stays: another program may wait for it. */
static void undo_erase_files(int dir) {
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.' && strcmp(e->d_name, "lock") != 0)
            unlinkat(dir, e->d_name, 0);
    if (d)
        closedir(d);
    else if (copy >= 0)
        close(copy);
}

bool ch_undo_erase(const char *dir, int root, const char *session, size_t *n) {
    bool all = true;
    for (unsigned i = 0; i < CH_LIMIT_UNDO_SLOTS; i++) {
        struct ch_undo_record r;
        if (!ch_undo_record_peek(&r, dir, root, i))
            continue;
        bool concerns = undo_erase_concerns(&r, session);
        if (concerns && r.lock >= 0) {
            undo_erase_files(r.dir);
            ++*n;
        }
        all = all && (!concerns || r.lock >= 0);
        ch_undo_record_close(&r);
    }
    return all;
}
