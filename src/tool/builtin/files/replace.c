/* replace.c -- see replace.h.
 *
 * The tolerant search compares normalized forms of both texts. For each byte of the file's
 * normalized form the offset of its original byte is kept, so that a match can be mapped
 * back. Overlapping matches are all counted: "aa" occurs twice in "aaa" and is ambiguous. */
#include "tool/builtin/files/replace.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"

#define LINES_NAMED 8 /* maximum number of listed locations of an ambiguous text */
#define COUNT_MAX 100 /* stop counting here; a repetitive text may have as many matches as bytes */
#define DIFF_LINES 8  /* lines per side of an edit */
#define DIFF_LINE 160 /* bytes per line */
#define DIFF_MAX 4000 /* bytes of the whole diff */

/* --- the normalized form ------------------------------------------------- */

struct plain {
    struct ch_buf text;
    uint32_t *origin; /* owned; one per byte of text; NULL when not needed */
    size_t cap;
};

static void plain_release(struct plain *p) {
    ch_buf_release(&p->text);
    ch_free(p->origin);
}

static void replace_put(struct plain *p, char c, size_t origin) {
    if (p->text.n == p->cap) {
        p->cap = p->cap ? p->cap + p->cap / 2 : 256;
        p->origin = ch_realloc(p->origin, p->cap * sizeof(*p->origin));
    }
    p->origin[p->text.n] = (uint32_t)origin;
    ch_buf_addc(&p->text, c);
}

/* The ASCII equivalent of a typographic character, or 0 if there is none. */
static char plain_character(uint32_t c) {
    static const struct {
        uint16_t from, to;
        char plain;
    } ranges[] = {
        {0x00a0, 0x00a0, ' '},  {0x2002, 0x200a, ' '}, {0x2010, 0x2015, '-'},
        {0x2018, 0x201b, '\''}, {0x201c, 0x201f, '"'}, {0x202f, 0x202f, ' '},
        {0x2032, 0x2032, '\''}, {0x2033, 0x2033, '"'}, {0x205f, 0x205f, ' '},
        {0x2212, 0x2212, '-'},  {0x3000, 0x3000, ' '},
    };

    for (size_t i = 0; i < CH_LEN(ranges); i++)
        if (c >= ranges[i].from && c <= ranges[i].to)
            return ranges[i].plain;
    return 0;
}

static bool drop_blanks_at_end(struct plain *p) {
    size_t before = p->text.n;

    while (p->text.n && (p->text.p[p->text.n - 1] == ' ' || p->text.p[p->text.n - 1] == '\t'))
        p->text.n--;
    return p->text.n < before;
}

/* True if s ends with blanks, which the normalized form leaves out. */
static bool make_plain(struct plain *p, struct ch_sv s) {
    for (size_t i = 0; i < s.n;) {
        uint32_t c = (unsigned char)s.p[i];
        unsigned n = 1;
        if (c == '\r' && i + 1 < s.n && s.p[i + 1] == '\n') {
            n = 2;
            c = '\n';
        } else if (c >= 0x80) {
            n = ch_utf8_next(ch_sv(s.p + i, s.n - i), &c);
            c = n ? (uint32_t)plain_character(c) : 0;
            n = n ? n : 1;
        }
        if (c == '\n')
            drop_blanks_at_end(p);
        if (c)
            replace_put(p, (char)c, i);
        for (unsigned k = 0; !c && k < n; k++)
            replace_put(p, s.p[i + k], i + k);
        i += n;
    }
    return drop_blanks_at_end(p);
}

void ch_plain(struct ch_buf *out, struct ch_sv text) {
    struct plain p = {0};

    make_plain(&p, text);
    ch_buf_add_sv(out, ch_buf_sv(&p.text));
    plain_release(&p);
}

/* End in s of the original character of normalized byte i. */
static size_t origin_end(const struct plain *p, struct ch_sv s, size_t i) {
    size_t at = p->origin[i];

    if (s.p[at] == p->text.p[i])
        return at + 1;
    if (s.p[at] == '\r')
        return at + 2;
    return at + ch_utf8_next(ch_sv(s.p + at, s.n - at), NULL);
}

/* --- finding ------------------------------------------------------------- */

struct found {
    size_t count;
    size_t at[LINES_NAMED]; /* offsets of the first few matches */
};

static struct found find_all(struct ch_sv text, struct ch_sv needle) {
    struct found f = {0};
    const char *at = text.p, *end = text.p + text.n;

    while (needle.n && f.count < COUNT_MAX &&
           (at = memmem(at, (size_t)(end - at), needle.p, needle.n))) {
        if (f.count < LINES_NAMED)
            f.at[f.count] = (size_t)(at - text.p);
        f.count++;
        at++;
    }
    return f;
}

/* As find_all, but a match ends at the end of a line. */
static struct found find_to_line_end(struct ch_sv text, struct ch_sv needle) {
    CH_BUF_AUTO line = {0};

    if (!needle.n)
        return (struct found){0};
    ch_buf_add_sv(&line, needle);
    ch_buf_addc(&line, '\n');
    struct found f = find_all(text, ch_buf_sv(&line));
    if (text.n >= needle.n && ch_sv_eq(ch_sv(text.p + text.n - needle.n, needle.n), needle)) {
        if (f.count < LINES_NAMED)
            f.at[f.count] = text.n - needle.n;
        f.count++;
    }
    return f;
}

static unsigned line_of(struct ch_sv text, size_t at) {
    unsigned line = 1;

    for (size_t i = 0; i < at; i++)
        line += text.p[i] == '\n';
    return line;
}

static int replace_ambiguous(struct ch_sv text, const struct found *f, size_t number,
                             struct chela_error *err) {
    CH_BUF_AUTO lines = {0};

    for (size_t i = 0; i < f->count && i < LINES_NAMED; i++)
        ch_buf_addf(&lines, "%s%u", i ? ", " : "", line_of(text, f->at[i]));
    return ch_fail(err, CHELA_EINVAL,
                   "the old text of edit %zu occurs %s%zu times (lines %s%s); add lines around it "
                   "until it is unique",
                   number, f->count == COUNT_MAX ? "at least " : "", f->count, ch_buf_str(&lines),
                   f->count > LINES_NAMED ? ", ..." : "");
}

/* Often only the first line matches: report its location. */
static int replace_not_found(struct ch_sv text, struct ch_sv old, size_t number,
                             struct chela_error *err) {
    struct ch_sv first = {NULL, 0};

    while (old.n && first.n == 0)
        first = ch_sv_trim(ch_sv_split(&old, '\n'));
    struct found f = first.n >= 4 && ch_sv_trim(old).n ? find_all(text, first) : (struct found){0};
    if (f.count == 1)
        return ch_fail(err, CHELA_EINVAL,
                       "the old text of edit %zu was not found; its first line is at line %u, but "
                       "what follows or its indentation differs. Read the file again and copy the "
                       "text exactly",
                       number, line_of(text, f.at[0]));
    return ch_fail(err, CHELA_EINVAL,
                   "the old text of edit %zu was not found. Read the file again and copy the text "
                   "exactly, with its indentation",
                   number);
}

/* Blanks at the end of the old text are ignored only at the end of a line: elsewhere they
 * separate words. */
static int find_tolerant(struct ch_sv text, struct plain *file, struct ch_replacement *e,
                         size_t number, struct chela_error *err) {
    struct plain old = {0};
    int rc = 0;

    if (!file->origin)
        make_plain(file, text);
    bool blanks = make_plain(&old, e->old_text);
    struct found f = (blanks ? find_to_line_end : find_all)(ch_buf_sv(&file->text),
                                                            ch_buf_sv(&old.text));
    if (f.count == 0) {
        rc = replace_not_found(text, e->old_text, number, err);
    } else if (f.count > 1) {
        rc = replace_ambiguous(ch_buf_sv(&file->text), &f, number, err);
    } else {
        size_t end = f.at[0] + old.text.n;
        e->from = file->origin[f.at[0]];
        e->to = !blanks              ? origin_end(file, text, end - 1)
                : end < file->text.n ? file->origin[end] /* the blanks of the line, too */
                                     : text.n;
        e->tolerant = true;
    }
    plain_release(&old);
    return rc;
}

/* The place after a line. Lines of their own are put there, whatever ends the text before. */
static int replace_place(struct ch_sv text, struct ch_replacement *e, size_t number,
                         struct chela_error *err) {
    size_t at = 0;
    for (unsigned line = 0; line < e->line; line++) {
        const char *end = at < text.n ? memchr(text.p + at, '\n', text.n - at) : NULL;
        if (at >= text.n)
            return ch_fail(err, CHELA_EINVAL, "edit %zu is after line %u of a file of %u", number,
                           e->line, line);
        at = end ? (size_t)(end - text.p) + 1 : text.n;
    }
    if (at && text.p[at - 1] != '\n')
        ch_buf_addc(&e->with, '\n');
    e->from = e->to = at;
    return 0;
}

static int replace_find(struct ch_sv text, struct plain *file, struct ch_replacement *e,
                        size_t number, struct chela_error *err) {
    if (e->placed)
        return replace_place(text, e, number, err);
    if (e->old_text.n == 0)
        return ch_fail(err, CHELA_EINVAL,
                       "the old text of edit %zu is empty; use write to create a file", number);
    struct found f = find_all(text, e->old_text);
    if (f.count > 1)
        return replace_ambiguous(text, &f, number, err);
    if (f.count == 0)
        return find_tolerant(text, file, e, number, err);
    e->from = f.at[0];
    e->to = e->from + e->old_text.n;
    if (e->from && text.p[e->from] == '\n' && text.p[e->from - 1] == '\r')
        e->from--; /* keep CR and LF together */
    return 0;
}

/* --- replacing ----------------------------------------------------------- */

enum line_ends { ENDS_UNKNOWN, ENDS_LF, ENDS_CRLF };

static enum line_ends line_ends_of(struct ch_sv text) {
    size_t lf = 0, crlf = 0;

    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != '\n')
            continue;
        if (i && text.p[i - 1] == '\r')
            crlf++;
        else
            lf++;
    }
    return crlf > lf ? ENDS_CRLF : lf ? ENDS_LF : ENDS_UNKNOWN;
}

/* The line ends of the replaced text, or else those of the file. */
static enum line_ends new_line_ends(struct ch_sv text, const struct ch_replacement *e,
                                    enum line_ends usual) {
    enum line_ends own = line_ends_of(ch_sv(text.p + e->from, e->to - e->from));

    return own == ENDS_UNKNOWN ? usual : own;
}

static void add_with_ends(struct ch_buf *out, struct ch_sv s, enum line_ends ends) {
    for (size_t i = 0; i < s.n; i++) {
        bool pair = s.p[i] == '\r' && i + 1 < s.n && s.p[i + 1] == '\n';
        if (pair && ends == ENDS_LF)
            continue;
        if (s.p[i] == '\n' && ends == ENDS_CRLF && !(i && s.p[i - 1] == '\r'))
            ch_buf_addc(out, '\r');
        ch_buf_addc(out, s.p[i]);
    }
}

static int replace_by_place(const void *a, const void *b) {
    const struct ch_replacement *x = a, *y = b;

    return x->from < y->from ? -1 : x->from > y->from;
}

static int check_overlaps(struct ch_sv text, const struct ch_replacement *edits, size_t n,
                          struct chela_error *err) {
    for (size_t i = 1; i < n; i++)
        if (edits[i].from < edits[i - 1].to)
            return ch_fail(err, CHELA_EINVAL, "two edits overlap at line %u; make them one edit",
                           line_of(text, edits[i].from));
    return 0;
}

static int find_all_edits(struct ch_sv text, struct ch_replacement *edits, size_t n,
                          struct chela_error *err) {
    struct plain file = {0};
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = replace_find(text, &file, &edits[i], i + 1, err);
    plain_release(&file);
    return rc;
}

int ch_replace(struct ch_sv text, struct ch_replacement *edits, size_t n, struct ch_buf *out,
               struct chela_error *err) {
    enum line_ends ends = line_ends_of(text);
    size_t at = 0;

    int rc = find_all_edits(text, edits, n, err);
    if (rc == 0) {
        qsort(edits, n, sizeof(*edits), replace_by_place);
        rc = check_overlaps(text, edits, n, err);
    }
    if (rc < 0)
        return rc;
    size_t before = out->n;
    for (size_t i = 0; i < n; i++) {
        struct ch_replacement *e = &edits[i];
        e->line = line_of(text, e->from);
        add_with_ends(&e->with, e->new_text, new_line_ends(text, e, ends));
        if (e->placed && e->with.n && e->with.p[e->with.n - 1] != '\n' && e->from < text.n)
            add_with_ends(&e->with, CH_SV("\n"), new_line_ends(text, e, ends));
        ch_buf_add(out, text.p + at, e->from - at);
        ch_buf_add_sv(out, ch_buf_sv(&e->with));
        at = e->to;
    }
    ch_buf_add(out, text.p + at, text.n - at);
    if (ch_sv_eq(ch_sv(ch_buf_str(out) + before, out->n - before), text)) {
        out->n = before;
        return ch_fail(err, CHELA_EINVAL, "the edits change nothing: old and new text are equal");
    }
    return 0;
}

void ch_edits_release(struct ch_replacement *edits, size_t n) {
    for (size_t i = 0; i < n; i++)
        ch_buf_release(&edits[i].with);
}

/* --- the diff ------------------------------------------------------------ */

static void replace_add_lines(struct ch_buf *out, char sign, struct ch_sv lines) {
    for (unsigned i = 0; lines.n; i++) {
        struct ch_sv line = ch_sv_split(&lines, '\n');
        if (i == DIFF_LINES) {
            ch_buf_addf(out, "%c ...\n", sign);
            return;
        }
        if (line.n && line.p[line.n - 1] == '\r')
            line.n--;
        bool cut = line.n > DIFF_LINE;
        ch_buf_addc(out, sign);
        ch_buf_add_sv(out, ch_utf8_cut(line, DIFF_LINE));
        ch_buf_add_str(out, cut ? "...\n" : "\n");
    }
}

/* Append an edit extended to whole lines, before and after. */
static void replace_add_edit(struct ch_buf *out, struct ch_sv text,
                             const struct ch_replacement *e) {
    size_t from = e->from, to = e->to;
    CH_BUF_AUTO after = {0};

    while (from > 0 && text.p[from - 1] != '\n')
        from--;
    while (to < text.n && text.p[to] != '\n' && !(to > from && text.p[to - 1] == '\n'))
        to++;
    ch_buf_add(&after, text.p + from, e->from - from);
    ch_buf_add_sv(&after, ch_buf_sv(&e->with));
    ch_buf_add(&after, text.p + e->to, to - e->to);
    ch_buf_addf(out, "@@ line %u @@\n", e->line);
    replace_add_lines(out, '-', ch_sv(text.p + from, to - from));
    replace_add_lines(out, '+', ch_buf_sv(&after));
}

void ch_replace_diff(struct ch_sv text, const struct ch_replacement *edits, size_t n,
                     struct ch_buf *out) {
    size_t limit = out->n + DIFF_MAX;

    for (size_t i = 0; i < n; i++) {
        if (out->n > limit) {
            ch_buf_addf(out, "@@ %zu more @@\n", n - i);
            return;
        }
        replace_add_edit(out, text, &edits[i]);
    }
}
