/* patch.h -- what a patch says, and a text with it applied; the pure half of
 * apply_patch.
 *
 * Two forms are read: the one that begins with "*** Begin Patch", and unified
 * diffs, git's included. Both become the same files and hunks. A hunk is found
 * by its lines, not by its numbers: they only help where the lines occur more
 * than once. Lines are compared as they are and, if that finds nothing, as the
 * tool `edit` does it (replace.h): blanks at line ends, CRLF and typographic
 * characters do not count. A place that cannot be told for certain is refused. */
#ifndef CH_TOOL_PATCH_H
#define CH_TOOL_PATCH_H
#include "base/arena.h"
#include "base/buf.h"

enum ch_patch_kind { CH_PATCH_ADD, CH_PATCH_UPDATE, CH_PATCH_DELETE };

struct ch_patch_line {
    struct ch_sv text; /* without sign and line end; borrowed from the patch */
    char sign;         /* ' ' stays, '-' goes, '+' comes */
    bool no_end;       /* "\ No newline at end of file" follows it */
    bool bare;         /* an empty line of the patch: a blank one, or nothing */
};

struct ch_hunk {
    size_t lines, nlines; /* from the patch's lines */
    size_t hints, nhints; /* "@@ text": lines that come before, outermost first */
    unsigned line;        /* of the old file where it should begin; 0: not said */
    bool at_end;          /* "*** End of File": the last lines are meant */
    unsigned where;       /* its line in the patch, from 1 */
};

struct ch_patch_file {
    enum ch_patch_kind kind;
    const char *path, *to; /* in the arena; to: NULL, or where it moves */
    size_t hunks, nhunks;
    unsigned where;
};

struct ch_patch {
    struct ch_patch_file *files; /* all arrays owned */
    struct ch_hunk *hunks;
    struct ch_patch_line *lines;
    struct ch_sv *hints;
    size_t nfiles, nhunks, nlines, nhints;
    size_t cap_files, cap_hunks, cap_lines, cap_hints;
    struct ch_arena arena;
};

struct ch_patch_stat {
    size_t added, removed; /* lines */
    size_t tolerant;       /* hunks found only that way */
};

/* Zeroed before. text is borrowed until release. CHELA_EINVAL, with the line
 * of the patch, when it cannot be read; release it then too. */
int ch_patch_read(struct ch_patch *p, struct ch_sv text, struct chela_error *err);
void ch_patch_release(struct ch_patch *p);

/* The readers of the two forms (patch_star.c, patch_diff.c) and what they
 * share (patch.c). */
struct ch_patch_reader {
    struct ch_patch *patch;
    struct ch_sv rest;
    unsigned line; /* number of the line at the start of rest */
    struct chela_error *err;
};

/* The line at the start of rest, or i lines later, without its end; p NULL
 * past the last one. _skip takes one off. */
struct ch_sv ch_patch_peek(const struct ch_patch_reader *r, unsigned i);
void ch_patch_skip(struct ch_patch_reader *r);

int ch_patch_fail(const struct ch_patch_reader *r, unsigned line, const char *why);
struct ch_patch_file *ch_patch_add_file(struct ch_patch_reader *r, enum ch_patch_kind kind,
                                        struct ch_sv path); /* NULL: too many */
struct ch_hunk *ch_patch_add_hunk(struct ch_patch_reader *r);
void ch_patch_add_hint(struct ch_patch_reader *r, struct ch_sv hint);
/* A line of a hunk, sign first. False: it has none. */
bool ch_patch_add_line(struct ch_patch_reader *r, struct ch_sv line);
void ch_patch_end_hunk(struct ch_patch_reader *r);

#endif
