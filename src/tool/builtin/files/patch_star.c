/* patch_star.c -- the form of patch that models are taught:
 *
 *   *** Begin Patch
 *   *** Add File: path          then lines with "+"
 *   *** Delete File: path
 *   *** Update File: path
 *   *** Move to: new path       optional
 *   @@ a line above the change  optional, several for nested places
 *    context
 *   -old
 *   +new
 *   *** End of File             optional: the end of the file is meant
 *   *** End Patch
 *
 * A patch without its last line was cut off and is refused. */
#include "tool/builtin/files/patch_star.h"

#include "tool/builtin/files/patch.h"

/* The rest of a line after marker "*** Add File: ", trimmed; p is NULL for other lines. */
static struct ch_sv patch_star_after(struct ch_sv line, const char *marker) {
    if (!ch_sv_starts(line, marker))
        return (struct ch_sv){0};
    size_t n = strlen(marker);
    struct ch_sv rest = ch_sv_trim(ch_sv(line.p + n, line.n - n));
    return rest.p ? rest : CH_SV("");
}

static bool is_marker(struct ch_sv line) {
    return ch_sv_starts(line, "***") && (line.n == 3 || line.p[3] == ' ');
}

static bool patch_star_is_blank(struct ch_sv line) {
    return ch_sv_trim(line).n == 0;
}

/* --- a new file ---------------------------------------------------------- */

static int read_new_lines(struct ch_patch_reader *r) {
    ch_patch_add_hunk(r);
    for (;; ch_patch_skip(r)) {
        struct ch_sv line = ch_patch_peek(r, 0);
        if (!line.p || is_marker(line))
            return 0;
        if (patch_star_is_blank(line))
            continue;
        if (line.p[0] != '+')
            return ch_patch_fail(r, r->line, "every line of a new file must begin with \"+\"");
        ch_patch_add_line(r, line);
    }
}

/* --- hunks --------------------------------------------------------------- */

/* "@@", "@@ class A", "@@ -3,4 +3,5 @@ f()", "@@ f() @@". */
static void read_hint(struct ch_patch_reader *r, struct ch_sv line) {
    struct ch_sv hint = patch_star_after(line, "@@");

    if (hint.n > 1 && hint.p[0] == '-' && hint.p[1] >= '0' && hint.p[1] <= '9')
        return; /* line numbers of a unified diff are ignored */
    if (hint.n >= 2 && memcmp(hint.p + hint.n - 2, "@@", 2) == 0)
        hint = ch_sv_trim(ch_sv(hint.p, hint.n - 2));
    if (hint.n)
        ch_patch_add_hint(r, hint);
}

/* Parse one line of an update: 1 if it belongs to the update, 0 if the update ends. */
static int read_update_line(struct ch_patch_reader *r, struct ch_hunk **hunk) {
    struct ch_sv line = ch_patch_peek(r, 0);

    if (!line.p)
        return 0;
    if (patch_star_after(line, "*** End of File").p) {
        if (!*hunk)
            return ch_patch_fail(r, r->line, "\"*** End of File\" must follow a change");
        ch_patch_end_hunk(r);
        (*hunk)->at_end = true;
        *hunk = NULL;
        return 1;
    }
    if (is_marker(line))
        return 0;
    bool hint = ch_sv_starts(line, "@@");
    if (*hunk && hint && (*hunk)->nlines) {
        ch_patch_end_hunk(r);
        *hunk = NULL;
    }
    if (!*hunk && !hint && patch_star_is_blank(line))
        return 1;
    if (!*hunk)
        *hunk = ch_patch_add_hunk(r);
    if (hint)
        read_hint(r, line);
    else if (!ch_patch_add_line(r, line))
        return ch_patch_fail(r, r->line,
                             "a line of a change must begin with \" \" (unchanged), \"-\" or "
                             "\"+\"");
    return 1;
}

static int check_hunks(struct ch_patch_reader *r, const struct ch_patch_file *f) {
    const struct ch_patch *p = r->patch;

    if (f->nhunks == 0 && !f->to)
        return ch_patch_fail(r, f->where, "this file has no changes");
    for (size_t i = 0; i < f->nhunks; i++)
        if (p->hunks[f->hunks + i].nlines == 0)
            return ch_patch_fail(r, p->hunks[f->hunks + i].where, "this change has no lines");
    return 0;
}

static int read_update(struct ch_patch_reader *r) {
    struct ch_patch *p = r->patch;
    struct ch_hunk *hunk = NULL;
    int rc;

    struct ch_sv to = patch_star_after(ch_patch_peek(r, 0), "*** Move to:");
    if (to.p) {
        if (to.n == 0)
            return ch_patch_fail(r, r->line, "the path is empty");
        p->files[p->nfiles - 1].to = ch_arena_str(&p->arena, to);
        ch_patch_skip(r);
    }
    while ((rc = read_update_line(r, &hunk)) > 0)
        ch_patch_skip(r);
    if (rc == 0 && hunk)
        ch_patch_end_hunk(r);
    return rc < 0 ? rc : check_hunks(r, &p->files[p->nfiles - 1]);
}

/* --- the patch ----------------------------------------------------------- */

static int read_section(struct ch_patch_reader *r, struct ch_sv line) {
    static const struct {
        const char *marker;
        enum ch_patch_kind kind;
    } sections[] = {
        {"*** Add File:", CH_PATCH_ADD},
        {"*** Update File:", CH_PATCH_UPDATE},
        {"*** Delete File:", CH_PATCH_DELETE},
    };

    for (size_t i = 0; i < CH_LEN(sections); i++) {
        struct ch_sv path = patch_star_after(line, sections[i].marker);
        if (!path.p)
            continue;
        if (!ch_patch_add_file(r, sections[i].kind, path))
            return CHELA_EINVAL;
        ch_patch_skip(r);
        return sections[i].kind == CH_PATCH_ADD      ? read_new_lines(r)
               : sections[i].kind == CH_PATCH_UPDATE ? read_update(r)
                                                     : 0;
    }
    return ch_patch_fail(
        r, r->line,
        "expected \"*** Add File: \", \"*** Update File: \", \"*** Delete File: \" "
        "or \"*** End Patch\"");
}

/* After the patch only wrapping text may follow: a code fence or the end of a heredoc. */
static int patch_star_read_rest(struct ch_patch_reader *r) {
    for (ch_patch_skip(r);; ch_patch_skip(r)) {
        struct ch_sv line = ch_patch_peek(r, 0);
        if (!line.p)
            return 0;
        line = ch_sv_trim(line);
        if (line.n && !ch_sv_starts(line, "```") && !ch_sv_is(line, "EOF"))
            return ch_patch_fail(r, r->line, "there is text after \"*** End Patch\"");
    }
}

int ch_patch_read_star(struct ch_patch_reader *r) {
    while (!ch_sv_is(ch_sv_trim(ch_patch_peek(r, 0)), "*** Begin Patch"))
        ch_patch_skip(r);
    ch_patch_skip(r);
    for (;;) {
        struct ch_sv line = ch_patch_peek(r, 0);
        if (!line.p)
            return ch_patch_fail(r, r->line,
                                 "\"*** End Patch\" is missing; was the patch cut off?");
        if (patch_star_after(line, "*** End Patch").p)
            return patch_star_read_rest(r);
        if (patch_star_is_blank(line)) {
            ch_patch_skip(r);
            continue;
        }
        int rc = read_section(r, line);
        if (rc < 0)
            return rc;
    }
}
