/* view.h -- the file system of the box as a list of steps.
 *
 * Made once, from the host's view; carried out by bubblewrap (bwrap.c) or by
 * ourselves (mounts.c), so that both give the same box. */
#ifndef CH_SANDBOX_VIEW_H
#define CH_SANDBOX_VIEW_H
#include "sandbox/box.h"
#include "sandbox/landlock.h"

enum ch_step_kind {
    CH_STEP_RO, /* src of the host at dst, and what is mounted below it */
    CH_STEP_RW,
    CH_STEP_SYMLINK, /* dst -> src */
    CH_STEP_DIR,
    CH_STEP_TMPFS, /* empty, for everybody, of size */
    CH_STEP_PROC,
    CH_STEP_DEV,       /* the few devices that programs need; terminals; shm */
    CH_STEP_HIDE_FILE, /* nothing to read here */
    CH_STEP_HIDE_DIR,
    CH_STEP_SEAL, /* dst itself becomes read-only, not what is mounted below */
};

struct ch_view_step {
    enum ch_step_kind kind;
    const char *src, *dst;
    uint64_t size; /* 0: half of the memory */
};

struct ch_box_view {
    struct ch_view_step *steps; /* owned */
    size_t n, cap;
};

/* Add a step. A second RO or RW for the same dst changes the first: mounting
 * over it would uncover what is mounted below. */
void ch_view_add(struct ch_box_view *view, enum ch_step_kind kind, const char *src,
                 const char *dst);

/* The RO or RW step for dst, or NULL. */
struct ch_view_step *ch_view_find(const struct ch_box_view *view, const char *dst);

/* The system, read-only; a private /tmp, /dev, /proc; the workspace and other
 * writable paths. Protected paths and the seal come after it. */
void ch_view_make(struct ch_box_view *view, const struct ch_box *box);
void ch_view_seal(struct ch_box_view *view);

/* For a box without mounts: the same view as rules. 0 or -errno. */
int ch_view_allow(struct ch_landlock *l, const struct ch_box *box);

#endif
