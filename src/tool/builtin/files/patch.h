/* patch.h -- parses a patch; the pure half of apply_patch.
 *
 * Two formats are read: the format that begins with "*** Begin Patch", and unified diffs,
 * including git's. Both produce the same files and hunks. A hunk is located by its lines;
 * its line numbers only decide between several matches. Lines are compared exactly first
 * and, if nothing matches, tolerantly as in the tool `edit` (replace.h): trailing blanks,
 * CRLF and typographic characters are ignored. A hunk with an ambiguous location is
 * rejected. New lines get the line ends of the file, unless the patch shows them: some hunk
 * lines end in CRLF and the header does not, as in a diff of a file with CRLF. */
#ifndef CH_TOOL_PATCH_H
#define CH_TOOL_PATCH_H
#include "base/arena.h"
#include "base/buf.h"

enum ch_patch_kind { CH_PATCH_ADD, CH_PATCH_UPDATE, CH_PATCH_DELETE };

struct ch_patch_line {
    struct ch_sv text; /* without sign and line end; borrowed from the patch */
    char sign;         /* ' ' context, '-' removed, '+' added */
    bool no_end;       /* "\ No newline at end of file" follows this line */
    bool cr;           /* a CR before the line end belongs to the file's text */
    /* an empty line of the patch: either an empty context line or no line at all */
    bool bare;
};

struct ch_hunk {
    size_t lines, nlines; /* range in ch_patch.lines */
    size_t hints, nhints; /* "@@ text" lines, which precede the hunk in the file; outermost first */
    unsigned line;        /* expected first line in the old file; 0: not given */
    bool at_end;          /* "*** End of File": the hunk matches at the end of the file */
    unsigned where;       /* line of the hunk in the patch, from 1 */
};

struct ch_patch_file {
    enum ch_patch_kind kind;
    const char *path, *to; /* in the arena; to: new path of a moved file, else NULL */
    size_t hunks, nhunks;
    unsigned where;
    bool crlf;  /* the patch itself has CRLF line ends */
    bool exact; /* a hunk line has a CR of the file: new lines end as the patch says */
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
    size_t added, removed; /* number of lines */
    size_t tolerant;       /* hunks that matched only tolerantly */
};

/* p must be zeroed. text is borrowed until release. CHELA_EINVAL: err gives the line of the
 * patch that cannot be parsed. Release p in both cases. */
int ch_patch_read(struct ch_patch *p, struct ch_sv text, struct chela_error *err);
void ch_patch_release(struct ch_patch *p);

/* Parsers of the two formats (patch_star.c, patch_diff.c) and their shared helpers
 * (patch.c). */
struct ch_patch_reader {
    struct ch_patch *patch;
    struct ch_sv rest;
    unsigned line; /* number of the first line of rest */
    struct chela_error *err;
};

/* The i-th line of rest, without its line end; p is NULL past the last line. _skip consumes
 * one line. */
struct ch_sv ch_patch_peek(const struct ch_patch_reader *r, unsigned i);
void ch_patch_skip(struct ch_patch_reader *r);

int ch_patch_fail(const struct ch_patch_reader *r, unsigned line, const char *why);
struct ch_patch_file *ch_patch_add_file(struct ch_patch_reader *r, enum ch_patch_kind kind,
                                        struct ch_sv path); /* returns NULL if there are too many */
struct ch_hunk *ch_patch_add_hunk(struct ch_patch_reader *r);
void ch_patch_add_hint(struct ch_patch_reader *r, struct ch_sv hint);
/* Add a hunk line that begins with its sign. Returns false if the line has no sign. */
bool ch_patch_add_line(struct ch_patch_reader *r, struct ch_sv line);
void ch_patch_end_hunk(struct ch_patch_reader *r);

#endif
