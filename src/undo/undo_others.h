/* undo_others.h -- changes that other programs recorded in the same workspace.
 *
 * A scan after a message finds every change of the workspace, also those of a session that works
 * there at the same time. Such a change is in both records, with the same signature. */
#ifndef CH_UNDO_OTHERS_H
#define CH_UNDO_OTHERS_H
#include "undo/undo_record.h"

struct ch_undo_claim {
    const struct ch_undo_change *change; /* borrowed from a record of the list */
    uint32_t next;                       /* 1 + index of the path's next claim; 0: none */
};

struct ch_undo_others { /* zeroed: none */
    struct ch_undo_record *list; /* owned */
    size_t n;
    struct ch_undo_claim *claims; /* owned */
    size_t nclaims, cap;
    struct ch_undo_table table; /* paths to 1 + index of their first claim */
    int64_t since; /* start of a message in progress that runs commands, in ms; 0: none */
};

/* Read the other records of the workspace below dir. root: the open workspace. */
void ch_undo_others_load(struct ch_undo_others *o, const struct ch_undo_record *own,
                         const char *dir, int root);
void ch_undo_others_release(struct ch_undo_others *o);

/* Whether the change may be that of another program. */
bool ch_undo_others_claim(const struct ch_undo_others *o, const struct ch_undo_change *c);

#endif
