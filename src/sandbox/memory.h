/* memory.h -- the memory of all processes of a box together.
 *
 * The kernel limits the total only in a cgroup, which a process may not always create. So
 * init also adds up, ten times a second, the memory that /proc reports for the processes in
 * the box. Memory that no process maps (memfd, System V segments, socket buffers) is counted
 * only by a cgroup. */
#ifndef CH_SANDBOX_MEMORY_H
#define CH_SANDBOX_MEMORY_H
#include "sandbox/box.h"

#define CH_MEMORY_POLL_NS 100000000
#define CH_MEMORY_OVER                                                                             \
    "the processes of the command used more than %llu MB of memory together, so all of them "      \
    "were ended"

/* For init: true if the processes that /proc shows use more than `limit` bytes together.
 * Memory that several of them share counts once. */
bool ch_memory_is_over(uint64_t limit);

/* A cgroup of version 2, or two of version 1, for one box. */
struct ch_box_group {
    char *dirs[2]; /* owned; NULL: none */
    int procs[2];  /* cgroup.procs of each, open for writing */
    const char *events; /* file that counts the kills in dirs[0] */
    bool kills_one; /* version 1: at the limit the kernel kills one process, not all */
};

/* For the keeper: make a cgroup with these limits beside or below its own cgroup. False: not
 * possible here. */
bool ch_group_make(struct ch_box_group *g, const struct ch_box_limits *limits);

/* For the child: join the group. False: not possible. */
bool ch_group_join(const struct ch_box_group *g);

/* True: the kernel killed a process of the group because of the memory limit. */
bool ch_group_has_killed(const struct ch_box_group *g);

/* Remove the group when the box is empty. Returns what ch_group_has_killed would. */
bool ch_group_remove(struct ch_box_group *g);

#endif
