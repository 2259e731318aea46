/* view.h -- the file system of the box as a list of steps.
 *
 * The list is made once, from the host's file system. bubblewrap (bwrap.c) or
 * this program (mounts.c) carries it out, so that both give the same box. */
#ifndef CH_SANDBOX_VIEW_H
#define CH_SANDBOX_VIEW_H
#include "sandbox/box.h"
#include "sandbox/landlock.h"

enum ch_step_kind {
    CH_STEP_RO, /* the host's src at dst, including mounts below it */
    CH_STEP_RW,
    CH_STEP_SYMLINK, /* dst -> src */
    CH_STEP_DIR,
    CH_STEP_TMPFS, /* empty, writable for all, of `size` bytes */
    CH_STEP_PROC,
    CH_STEP_DEV,       /* common devices, terminals and shm */
    CH_STEP_HIDE_FILE, /* close a file of the system: it cannot be opened */
    CH_STEP_TEXT,      /* a read-only file with the text src at dst, which exists */
    CH_STEP_HIDE_DIR,
    CH_STEP_SEAL, /* make dst itself read-only, not the mounts below it */
};

struct ch_view_step {
    enum ch_step_kind kind;
    const char *src, *dst;
    uint64_t size; /* 0: half of the memory */
    int mount;     /* RO: a mount without a place (unowned.h), for this one; 0: none */
};

struct ch_box_view {
    struct ch_view_step *steps; /* owned */
    size_t n, cap;
};

/* Add a step. A second RO or RW step for the same dst changes the first:
 * another mount would uncover the mounts below. So does a second TEXT step: the file below has no
 * name any more, and nothing can be mounted on such a file. */
void ch_view_add(struct ch_box_view *view, enum ch_step_kind kind, const char *src,
                 const char *dst);

/* The RO or RW step for dst, or NULL. */
struct ch_view_step *ch_view_find(const struct ch_box_view *view, const char *dst);

/* True if the host's path is visible in the box. */
bool ch_view_covers(const struct ch_box_view *view, const char *path);

/* Build the view: the system read-only; a private /tmp, /dev and /proc; the
 * workspace and other writable paths. The steps for protected paths and the
 * seal follow later. The readable and writable paths of the box become real ones. */
void ch_view_make(struct ch_box_view *view, struct ch_box *box);
void ch_view_seal(struct ch_box_view *view);

/* For a box without mounts: the same view as Landlock rules. Returns 0 or
 * -errno. */
int ch_view_allow(struct ch_landlock *l, const struct ch_box *box);

#endif
