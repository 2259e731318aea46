/* disk.c -- see disk.h. */
#include "sandbox/disk.h"

#include <fts.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/mem.h"
#include "sandbox/report.h"

#define STEPS 8 /* of a limit: after a look that found less, the next one comes a step later */

/* The directories that the command may write, apart from /tmp, which has a size. Returns NULL after
 * the last one. */
static const char *disk_place(const struct ch_box *box, size_t i) {
    const char *own[] = {box->workspace, box->home ? CH_BOX_HOME : NULL};

    for (size_t k = 0; k < CH_LEN(own); k++)
        if (own[k] && i-- == 0)
            return own[k];
    return i < box->writable.n ? box->writable.p[i] : NULL;
}

static bool is_known(const struct ch_box *box, size_t i, dev_t dev) {
    struct stat st;

    while (i-- > 0)
        if (stat(disk_place(box, i), &st) == 0 && st.st_dev == dev)
            return true;
    return false;
}

/* Of all file systems together. */
static struct ch_disk_use disk_free(const struct ch_box *box) {
    struct ch_disk_use sum = {0, 0};
    struct statvfs fs;
    struct stat st;
    const char *place;

    for (size_t i = 0; (place = disk_place(box, i)); i++) {
        if (stat(place, &st) < 0 || is_known(box, i, st.st_dev) || statvfs(place, &fs) < 0)
            continue;
        sum.bytes += (uint64_t)fs.f_bfree * fs.f_frsize;
        sum.files += fs.f_ffree;
    }
    return sum;
}

static bool is_new(const struct ch_disk *d, const struct stat *st) {
    return st->st_ctim.tv_sec > d->since.tv_sec ||
           (st->st_ctim.tv_sec == d->since.tv_sec && st->st_ctim.tv_nsec >= d->since.tv_nsec);
}

static void add_tree(const struct ch_disk *d, const char *place, struct ch_disk_use *sum) {
    char *const tops[] = {(char *)place, NULL};
    FTS *fts = fts_open(tops, FTS_PHYSICAL | FTS_XDEV, NULL);
    const struct ch_box_limits *l = &d->box->limits;

    for (FTSENT *e; fts && (e = fts_read(fts));) {
        if (e->fts_info == FTS_DP || !e->fts_statp || !is_new(d, e->fts_statp))
            continue;
        sum->bytes += (uint64_t)e->fts_statp->st_blocks * 512;
        sum->files++;
        if ((l->disk && sum->bytes > l->disk) || (l->disk_files && sum->files > l->disk_files))
            break;
    }
    if (fts)
        fts_close(fts);
}

void ch_disk_begin(struct ch_disk *d, const struct ch_box *box) {
    *d = (struct ch_disk){.box = box,
                          .free = disk_free(box),
                          .bound = {box->limits.disk, box->limits.disk_files}};
    clock_gettime(CLOCK_REALTIME_COARSE, &d->since);
}

static uint64_t loss(uint64_t before, uint64_t now) {
    return before > now ? before - now : 0;
}

bool ch_disk_is_over(struct ch_disk *d) {
    const struct ch_box_limits *l = &d->box->limits;
    struct ch_disk_use now, made = {0, 0};
    const char *place;

    if (!l->disk && !l->disk_files)
        return false;
    now = disk_free(d->box);
    uint64_t bytes = loss(d->free.bytes, now.bytes), files = loss(d->free.files, now.files);
    if ((!l->disk || bytes <= d->bound.bytes) && (!l->disk_files || files <= d->bound.files))
        return false;
    for (size_t i = 0; (place = disk_place(d->box, i)); i++)
        add_tree(d, place, &made);
    d->bound = (struct ch_disk_use){bytes + l->disk / STEPS, files + l->disk_files / STEPS};
    if (l->disk && made.bytes > l->disk)
        ch_complain("internal", CH_DISK_OVER, (unsigned long long)l->disk / (1024 * 1024));
    else if (l->disk_files && made.files > l->disk_files)
        ch_complain("internal", CH_DISK_FILES_OVER, (unsigned long long)l->disk_files);
    else
        return false;
    return true;
}
