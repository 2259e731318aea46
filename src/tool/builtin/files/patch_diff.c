/* patch_diff.c -- parses unified diffs, as written by diff -u, git and models. The counts
 * in "@@ -3,4 +3,5 @@" help to distinguish a removed line "--- x" from the header "--- x"
 * of the next file; wrong counts are tolerated. Text before the first file is skipped.
 * Binary patches, copies, symbolic links and submodules are rejected. */
#include "tool/builtin/files/patch_diff.h"

#include "tool/builtin/files/patch.h"

#define NONE "/dev/null"

/* Header data of one file. */
struct header {
    struct ch_sv git;      /* after "diff --git " */
    struct ch_sv old, new; /* after "--- " and "+++ " */
    struct ch_sv from, to; /* of a rename */
    bool is_new, is_gone;
    unsigned where;
};

/* --- names --------------------------------------------------------------- */

static int octal(const char *p) {
    int v = 0;

    for (int i = 0; i < 3; i++) {
        if (p[i] < '0' || p[i] > '7')
            return -1;
        v = v * 8 + p[i] - '0';
    }
    return v;
}

/* git quotes names that are not ASCII: "\303\251.txt". */
static struct ch_sv patch_diff_unquote(struct ch_arena *arena, struct ch_sv s) {
    static const char letters[] = "abtnvfr\"\\", meant[] = "\a\b\t\n\v\f\r\"\\";
    char *out = ch_arena_bytes(arena, s.n + 1);
    size_t n = 0;

    for (size_t i = 1; i + 1 < s.n; i++) {
        const char *letter;
        int byte;
        if (s.p[i] != '\\' || i + 2 >= s.n) {
            out[n++] = s.p[i];
        } else if (i + 4 < s.n && (byte = octal(s.p + i + 1)) >= 0) {
            out[n++] = (char)byte;
            i += 3;
        } else {
            i++;
            letter = memchr(letters, s.p[i], sizeof(letters) - 1);
            out[n++] = letter ? meant[letter - letters] : s.p[i];
        }
    }
    return ch_sv(out, n);
}

/* A name after "--- ", up to the tab before a date. */
static struct ch_sv patch_diff_read_name(struct ch_patch_reader *r, struct ch_sv s) {
    s = ch_sv_trim(ch_sv_split(&s, '\t'));
    if (s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"')
        return patch_diff_unquote(&r->patch->arena, s);
    return s;
}

static bool is_none(struct ch_sv name) {
    return ch_sv_is(name, NONE);
}

static struct ch_sv patch_diff_strip(struct ch_sv name) {
    return name.n > 2 && name.p[1] == '/' ? ch_sv(name.p + 2, name.n - 2) : name;
}

/* Remove the prefixes "a/" and "b/" that git and models write. */
static void strip_both(struct header *h) {
    bool old = ch_sv_starts(h->old, "a/") || is_none(h->old);
    bool new = ch_sv_starts(h->new, "b/") || is_none(h->new);

    if (!old || !new)
        return;
    h->old = is_none(h->old) ? h->old : patch_diff_strip(h->old);
    h->new = is_none(h->new) ? h->new : patch_diff_strip(h->new);
}

/* The name in "a/x b/x", for a file without hunks: both halves are equal. */
static struct ch_sv name_of_empty(struct ch_patch_reader *r, const struct header *h) {
    struct ch_sv s = h->git;
    size_t half = s.n / 2;

    if (s.n < 5 || s.n % 2 == 0 || s.p[half] != ' ')
        return CH_SV("");
    return patch_diff_strip(patch_diff_read_name(r, ch_sv(s.p, half)));
}

/* --- the file ------------------------------------------------------------ */

static struct ch_patch_file *begin_file(struct ch_patch_reader *r, struct header *h) {
    strip_both(h);
    if (h->from.p && h->to.p) {
        struct ch_patch_file *f = ch_patch_add_file(r, CH_PATCH_UPDATE, h->from);
        if (f)
            f->to = ch_arena_str(&r->patch->arena, h->to);
        return f;
    }
    if (!h->old.p)
        return ch_patch_add_file(r, h->is_new ? CH_PATCH_ADD : CH_PATCH_DELETE,
                                 name_of_empty(r, h));
    if (is_none(h->old))
        return ch_patch_add_file(r, CH_PATCH_ADD, h->new);
    if (is_none(h->new))
        return ch_patch_add_file(r, CH_PATCH_DELETE, h->old);
    struct ch_patch_file *f = ch_patch_add_file(r, CH_PATCH_UPDATE, h->old);
    if (f && !ch_sv_eq(h->old, h->new))
        f->to = ch_arena_str(&r->patch->arena, h->new);
    return f;
}

/* --- hunks --------------------------------------------------------------- */

struct counts {
    unsigned old_line, old, new;
    bool known;
};

static bool patch_diff_read_number(struct ch_sv *s, unsigned *out) {
    unsigned v = 0;
    size_t i = 0;

    for (; i < s->n && i < 9 && s->p[i] >= '0' && s->p[i] <= '9'; i++)
        v = v * 10 + (unsigned)(s->p[i] - '0');
    *s = ch_sv(s->p + i, s->n - i);
    *out = v;
    return i > 0;
}

/* Parse "3,4", or "3" for one line. */
static bool patch_diff_read_range(struct ch_sv *s, char sign, unsigned *line, unsigned *count) {
    if (s->n == 0 || s->p[0] != sign)
        return false;
    *s = ch_sv(s->p + 1, s->n - 1);
    if (!patch_diff_read_number(s, line))
        return false;
    *count = 1;
    if (s->n == 0 || s->p[0] != ',')
        return true;
    *s = ch_sv(s->p + 1, s->n - 1);
    return patch_diff_read_number(s, count);
}

static struct counts patch_diff_read_counts(struct ch_sv line) {
    struct ch_sv s = ch_sv_trim(ch_sv(line.p + 2, line.n - 2));
    struct counts c = {0};
    unsigned new_line;

    if (!patch_diff_read_range(&s, '-', &c.old_line, &c.old))
        return (struct counts){0};
    s = ch_sv_trim(s);
    c.known = patch_diff_read_range(&s, '+', &new_line, &c.new);
    return c;
}

/* True if the next file begins at this line. While the counts expect more lines, "--- " is
 * taken as a removed line unless a complete file header follows. */
static bool next_file_begins(const struct ch_patch_reader *r, const struct counts *c) {
    struct ch_sv line = ch_patch_peek(r, 0);

    if (ch_sv_starts(line, "diff ") || ch_sv_starts(line, "Index: "))
        return true;
    if (!ch_sv_starts(line, "--- ") || !ch_sv_starts(ch_patch_peek(r, 1), "+++ "))
        return false;
    return !c->known || (c->old == 0 && c->new == 0) || ch_sv_starts(ch_patch_peek(r, 2), "@@");
}

static void patch_diff_count_line(struct counts *c, struct ch_sv line) {
    char sign = line.n ? line.p[0] : ' ';

    if (sign != '+' && sign != '\\' && c->old)
        c->old--;
    if (sign != '-' && sign != '\\' && c->new)
        c->new --;
}

/* "-- " ends a patch in a mail; it is not a removed line once the counts are met. */
static bool is_signature(const struct counts *c, struct ch_sv line) {
    return c->known && c->old == 0 && c->new == 0 &&
           (ch_sv_is(line, "-- ") || ch_sv_is(line, "--"));
}

static int read_hunk(struct ch_patch_reader *r) {
    struct counts c = patch_diff_read_counts(ch_patch_peek(r, 0));
    struct ch_hunk *h = ch_patch_add_hunk(r);

    h->line = c.known ? c.old_line : 0;
    for (ch_patch_skip(r);; ch_patch_skip(r)) {
        struct ch_sv line = ch_patch_peek(r, 0);
        if (!line.p || ch_sv_starts(line, "@@") || next_file_begins(r, &c))
            break;
        if (is_signature(&c, line) || (line.n == 0 && c.known && c.old == 0 && c.new == 0))
            break;
        if (ch_sv_starts(line, "```"))
            break;
        if (!ch_patch_add_line(r, line))
            return ch_patch_fail(r, r->line,
                                 "a line of a hunk must begin with \" \" (unchanged), \"-\" or "
                                 "\"+\"");
        patch_diff_count_line(&c, line);
    }
    ch_patch_end_hunk(r);
    if (h->nlines == 0)
        return ch_patch_fail(r, h->where, "this hunk has no lines");
    return 0;
}

/* --- headers ------------------------------------------------------------- */

static bool patch_diff_take(struct ch_sv line, const char *start, struct ch_sv *out) {
    size_t n = strlen(start);

    if (!ch_sv_starts(line, start))
        return false;
    *out = ch_sv(line.p + n, line.n - n);
    return true;
}

/* "new file mode 120000": a symbolic link; 160000: the commit of a submodule. */
static bool makes_no_file(struct ch_sv line) {
    struct ch_sv mode;

    return (patch_diff_take(line, "new file mode ", &mode) ||
            patch_diff_take(line, "new mode ", &mode)) &&
           (ch_sv_starts(mode, "12") || ch_sv_starts(mode, "16"));
}

/* Parse the lines of a file before its hunks; there may be none. */
static int patch_diff_read_header(struct ch_patch_reader *r, struct header *h) {
    struct ch_sv s;

    *h = (struct header){.where = r->line};
    patch_diff_take(ch_patch_peek(r, 0), "diff --git ", &h->git);
    for (;; ch_patch_skip(r)) {
        struct ch_sv line = ch_patch_peek(r, 0);
        if (!line.p || ch_sv_starts(line, "@@"))
            return 0;
        if (r->line != h->where && ch_sv_starts(line, "diff --git "))
            return 0;
        if (ch_sv_starts(line, "GIT binary patch") || ch_sv_starts(line, "Binary files "))
            return ch_patch_fail(r, r->line, "binary files cannot be patched");
        if (makes_no_file(line))
            return ch_patch_fail(r, r->line, "symbolic links and submodules cannot be patched");
        if (ch_sv_starts(line, "copy from "))
            return ch_patch_fail(r, r->line, "copies are not supported; add the file instead");
        if (patch_diff_take(line, "rename from ", &s))
            h->from = patch_diff_read_name(r, s);
        else if (patch_diff_take(line, "rename to ", &s))
            h->to = patch_diff_read_name(r, s);
        h->is_new |= ch_sv_starts(line, "new file mode");
        h->is_gone |= ch_sv_starts(line, "deleted file mode");
        if (patch_diff_take(line, "--- ", &s) && ch_sv_starts(ch_patch_peek(r, 1), "+++ ")) {
            h->old = patch_diff_read_name(r, s);
            patch_diff_take(ch_patch_peek(r, 1), "+++ ", &s);
            h->new = patch_diff_read_name(r, s);
            ch_patch_skip(r);
            ch_patch_skip(r);
            return 0;
        }
    }
}

static int patch_diff_read_file(struct ch_patch_reader *r) {
    struct header h;

    int rc = patch_diff_read_header(r, &h);
    if (rc < 0)
        return rc;
    bool says_something = h.old.p || (h.from.p && h.to.p) || h.is_new || h.is_gone;
    if (!says_something && ch_sv_starts(ch_patch_peek(r, 0), "@@"))
        return ch_patch_fail(r, r->line, "no \"---\" and \"+++\" lines say which file is meant");
    if (!says_something)
        return 0; /* only a mode change, or text around the patch */
    struct ch_patch_file *f = begin_file(r, &h);
    if (!f)
        return CHELA_EINVAL;
    f->where = h.where;
    while (rc == 0 && ch_sv_starts(ch_patch_peek(r, 0), "@@"))
        rc = read_hunk(r);
    f = &r->patch->files[r->patch->nfiles - 1];
    if (rc == 0 && f->kind == CH_PATCH_UPDATE && f->nhunks == 0 && !f->to)
        rc = ch_patch_fail(r, h.where, "this file has no hunks");
    return rc;
}

int ch_patch_read_diff(struct ch_patch_reader *r) {
    int rc = 0;

    while (rc == 0 && ch_patch_peek(r, 0).p)
        rc = patch_diff_read_file(r);
    return rc;
}
