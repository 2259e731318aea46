/* undo_scan.h -- detects changes that commands make in a workspace.
 *
 * The index lists every file, directory and link of the workspace with its size, times,
 * inode and mode, and with a copy if the file is small enough and no .gitignore names it. A
 * scan compares the workspace with the index, copies new files, and makes a new index. */
#ifndef CH_UNDO_SCAN_H
#define CH_UNDO_SCAN_H
#include "base/arena.h"
#include "undo/undo_record.h"

struct ch_undo_entry {
    const char *path; /* in the arena */
    struct ch_undo_sig sig;
    struct ch_undo_state copy;
    bool seen;
};

struct ch_undo_index {
    struct ch_arena arena;
    struct ch_undo_entry *list; /* owned */
    size_t n, cap;
    struct ch_undo_table table;
    bool valid; /* false: there was no scan */
    bool stored; /* the file of the index has the same entries */
};

void ch_undo_index_release(struct ch_undo_index *x);
/* Read the index of a record; without a usable one, x is not valid. */
void ch_undo_index_load(struct ch_undo_index *x, const struct ch_undo_record *r);
void ch_undo_index_save(struct ch_undo_index *x, const struct ch_undo_record *r);

/* Files and directories that a scan leaves out. */
struct ch_undo_hidden {
    struct {
        dev_t dev;
        ino_t ino;
    } list[64];
    size_t n;
};
/* paths: absolute, NULL-terminated; may be NULL. */
void ch_undo_hide(struct ch_undo_hidden *h, char **paths);

/* Bring the index up to date. hidden may be NULL. note: differences from the index belong to the
 * last message of the record. False: the workspace is too large; the index is not valid then. */
bool ch_undo_scan(struct ch_undo_index *x, struct ch_undo_record *r, int root,
                  const struct ch_undo_hidden *hidden, bool note);

#endif
