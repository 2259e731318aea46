/* disk.h -- the disk space and the files of a command.
 *
 * Only root may set quotas. So init looks at the free space of the file systems that the command
 * may write, ten times a second. If it has shrunk by more than the limit, init adds up what changed
 * in these directories since the command began, because others fill the disk, too. Files without
 * a name are not counted. */
#ifndef CH_SANDBOX_DISK_H
#define CH_SANDBOX_DISK_H
#include <time.h>

#include "sandbox/box.h"

#define CH_DISK_OVER                                                                               \
    "the command filled more than %llu MB of the disk (sandbox.limits.diskMb), so all of its "     \
    "processes were ended"
#define CH_DISK_FILES_OVER                                                                         \
    "the command made more than %llu files (sandbox.limits.diskFiles), so all of its processes "   \
    "were ended"

struct ch_disk_use {
    uint64_t bytes, files;
};

struct ch_disk {
    const struct ch_box *box;
    struct timespec since;
    struct ch_disk_use free;  /* at the start */
    struct ch_disk_use bound; /* a smaller loss of free space needs no look at the directories */
};

void ch_disk_begin(struct ch_disk *d, const struct ch_box *box);

/* True if the command is over a limit; the report then says which one. */
bool ch_disk_is_over(struct ch_disk *d);

#endif
