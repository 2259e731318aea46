/* patch_apply.c -- applies hunks to one text, see patch.h.
 *
 * Lines are compared by hash with the search of Knuth, Morris and Pratt, so repetitive
 * texts cost no more than others; matches of the hashes are verified. Hunks are in file
 * order: each is searched after the previous one. Unchanged lines are copied from the file,
 * not from the patch. */
#include "tool/builtin/files/patch_apply.h"

#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "tool/builtin/files/patch.h"
#include "tool/builtin/files/replace.h"

#define BOM "\xef\xbb\xbf"
#define NAMED 8 /* maximum number of listed locations of an ambiguous hunk */
#define NOWHERE SIZE_MAX
#define NONE UINT32_MAX
#define FEW_HUNKS 8 /* for more of them, equal lines are found once */

/* --- a text as lines ----------------------------------------------------- */

struct lines {
    struct ch_sv text;
    uint32_t *starts; /* owned; n + 1 of them */
    uint32_t *hashes; /* owned */
    uint32_t *again;  /* owned: an equal line comes there or later, or NONE; NULL: few hunks */
    size_t n;
};

static void lines_release(struct lines *l) {
    ch_free(l->starts);
    ch_free(l->hashes);
    ch_free(l->again);
}

/* FNV-1a. */
static uint32_t patch_apply_hash_of(struct ch_sv s) {
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 16777619u;
    return h;
}

/* The line including its line end. */
static struct ch_sv whole_line(const struct lines *l, size_t i) {
    return ch_sv(l->text.p + l->starts[i], l->starts[i + 1] - l->starts[i]);
}

static struct ch_sv line_at(const struct lines *l, size_t i) {
    struct ch_sv s = whole_line(l, i);

    if (s.n && s.p[s.n - 1] == '\n')
        s.n--;
    if (s.n && s.p[s.n - 1] == '\r')
        s.n--;
    return s;
}

/* Two lines whose hashes share a slot count as equal. */
static void lines_find_again(struct lines *l) {
    size_t slots = 16;

    while (slots < 4 * l->n)
        slots *= 2;
    CH_AUTOFREE uint32_t *next = ch_malloc(slots * sizeof(*next));
    memset(next, 0xff, slots * sizeof(*next)); /* NONE */
    l->again = ch_malloc((l->n + 1) * sizeof(*l->again));
    for (size_t i = l->n; i-- > 0;) {
        uint32_t *slot = &next[l->hashes[i] & (slots - 1)];
        l->again[i] = *slot;
        *slot = (uint32_t)i;
    }
}

static void lines_init(struct lines *l, struct ch_sv text, size_t hunks) {
    size_t n = 0, at = 0;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    n += text.n && text.p[text.n - 1] != '\n';
    *l = (struct lines){.text = text, .n = n};
    l->starts = ch_malloc((n + 1) * sizeof(*l->starts));
    l->hashes = ch_malloc((n + 1) * sizeof(*l->hashes));
    for (size_t i = 0; i < n; i++) {
        const char *nl = memchr(text.p + at, '\n', text.n - at);
        l->starts[i] = (uint32_t)at;
        at = nl ? (size_t)(nl - text.p) + 1 : text.n;
    }
    l->starts[n] = (uint32_t)text.n;
    for (size_t i = 0; i < n; i++)
        l->hashes[i] = patch_apply_hash_of(line_at(l, i));
    if (hunks > FEW_HUNKS)
        lines_find_again(l);
}

/* --- the lines of a hunk ------------------------------------------------- */

struct wanted {         /* the lines that must match */
    struct ch_sv *text; /* owned */
    uint32_t *hashes;   /* owned */
    uint32_t *back;     /* owned: failure function of the search */
    size_t n;
    struct ch_buf plain; /* storage of text in tolerant mode */
};

static void wanted_release(struct wanted *w) {
    ch_free(w->text);
    ch_free(w->hashes);
    ch_free(w->back);
    ch_buf_release(&w->plain);
}

static void wanted_prepare(struct wanted *w) {
    size_t k = 0;

    for (size_t i = 0; i < w->n; i++)
        w->hashes[i] = patch_apply_hash_of(w->text[i]);
    if (w->n)
        w->back[0] = 0;
    for (size_t i = 1; i < w->n; i++) {
        while (k && w->hashes[i] != w->hashes[k])
            k = w->back[k - 1];
        k += w->hashes[i] == w->hashes[k];
        w->back[i] = (uint32_t)k;
    }
}

static void wanted_init(struct wanted *w, const struct ch_patch *p, const struct ch_hunk *h) {
    *w = (struct wanted){0};
    w->text = ch_malloc((h->nlines + 1) * sizeof(*w->text));
    w->hashes = ch_malloc((h->nlines + 1) * sizeof(*w->hashes));
    w->back = ch_malloc((h->nlines + 1) * sizeof(*w->back));
    for (size_t i = 0; i < h->nlines; i++)
        if (p->lines[h->lines + i].sign != '+')
            w->text[w->n++] = p->lines[h->lines + i].text;
    wanted_prepare(w);
}

/* Convert to the normalized form for tolerant matching. */
static void wanted_make_plain(struct wanted *w) {
    size_t *ends = ch_malloc((w->n + 1) * sizeof(*ends));
    size_t from = 0;

    for (size_t i = 0; i < w->n; i++) {
        ch_plain(&w->plain, w->text[i]);
        ends[i] = w->plain.n;
    }
    for (size_t i = 0; i < w->n; i++) {
        w->text[i] = ch_sv(ch_buf_str(&w->plain) + from, ends[i] - from);
        from = ends[i];
    }
    ch_free(ends);
    wanted_prepare(w);
}

static bool is_at(const struct lines *l, const struct wanted *w, size_t at) {
    for (size_t i = 0; i < w->n; i++)
        if (!ch_sv_eq(line_at(l, at + i), w->text[i]))
            return false;
    return true;
}

/* The next match at or after `from`, or NOWHERE. Requires w->n > 0. */
static size_t next_place(const struct lines *l, const struct wanted *w, size_t from) {
    size_t k = 0;

    for (size_t i = from; i < l->n; i++) {
        while (k && l->hashes[i] != w->hashes[k])
            k = w->back[k - 1];
        k += l->hashes[i] == w->hashes[k];
        if (k < w->n)
            continue;
        if (is_at(l, w, i + 1 - w->n))
            return i + 1 - w->n;
        k = w->back[k - 1];
    }
    return NOWHERE;
}

/* The match after the one at `at`, or NOWHERE. Each line must come again: most hunks have a line
 * that does not, and need no search. */
static size_t another_place(const struct lines *l, const struct wanted *w, size_t at) {
    size_t from = at + 1;

    for (size_t i = 0; l->again && i < w->n; i++) {
        if (l->again[at + i] == NONE)
            return NOWHERE;
        from = CH_MAX(from, l->again[at + i] - i);
    }
    return next_place(l, w, from);
}

/* --- choosing a location ------------------------------------------------- */

struct applying {
    const chela_call *call;
    const struct ch_patch *patch;
    const struct ch_patch_file *file;
    struct lines lines, plain; /* plain: created on demand */
    struct ch_buf plain_text;
    size_t cursor; /* lines before this one are done */
    int64_t drift; /* offset between actual and stated line numbers of hunks */
    struct ch_buf *out;
    struct ch_patch_stat *stat;
    const char *newline;
    bool crossed; /* the last hunk's text had no line end */
    struct chela_error *err;
};

static int patch_apply_refuse(const struct applying *a, const struct ch_hunk *h, const char *why) {
    return ch_fail(a->err, CHELA_EINVAL, "%s: the change at line %u of the patch %s", a->file->path,
                   h->where, why);
}

static bool starts_with(struct ch_sv s, struct ch_sv start) {
    return s.n >= start.n && memcmp(s.p, start.p, start.n) == 0;
}

/* The first line at or after `from` that equals the hint, or else begins with it. */
static size_t find_hint(const struct applying *a, struct ch_sv hint, size_t from) {
    size_t found = NOWHERE;

    for (size_t i = from; i < a->lines.n; i++) {
        struct ch_sv line = ch_sv_trim(line_at(&a->lines, i));
        if (ch_sv_eq(line, hint))
            return i;
        if (found == NOWHERE && starts_with(line, hint))
            found = i;
    }
    return found;
}

/* Find all hints in order; NOWHERE if one is missing. */
static size_t find_hints(const struct applying *a, const struct ch_hunk *h, size_t from) {
    size_t at = from;

    for (size_t i = 0; i < h->nhints && at != NOWHERE; i++) {
        at = find_hint(a, a->patch->hints[h->hints + i], at);
        if (at != NOWHERE && i + 1 < h->nhints)
            at++;
    }
    return at;
}

static int patch_apply_ambiguous(const struct applying *a, const struct ch_hunk *h,
                                 const struct lines *l, const struct wanted *w, size_t first) {
    CH_BUF_AUTO why = {0};
    size_t n = 0, at = first;

    ch_buf_add_str(&why, "fits at several places (lines ");
    for (; at != NOWHERE && n < NAMED; at = another_place(l, w, at), n++)
        ch_buf_addf(&why, "%s%zu", n ? ", " : "", at + 1);
    ch_buf_addf(&why, "%s); add unchanged lines around it%s", at == NOWHERE ? "" : ", ...",
                h->nhints ? "" : ", or a line \"@@ \" with a line above it that is unique");
    return patch_apply_refuse(a, h, ch_buf_str(&why));
}

/* Choose among the matches in l: 1 and *at, or 0 if there is none. */
static int patch_apply_choose(const struct applying *a, const struct ch_hunk *h,
                              const struct lines *l, const struct wanted *w, size_t *at) {
    size_t from = find_hints(a, h, a->cursor);
    if (from == NOWHERE)
        return 0;
    size_t first = next_place(l, w, from);
    if (first == NOWHERE)
        return 0;
    size_t end = l->n - w->n;
    if (h->at_end && end >= from && is_at(l, w, end)) {
        *at = end;
        return 1;
    }
    int64_t said = h->line ? (int64_t)h->line - 1 + a->drift : -1;
    if (said >= (int64_t)from && said <= (int64_t)end && is_at(l, w, (size_t)said)) {
        *at = (size_t)said;
        return 1;
    }
    /* After a hint the first match is taken, unless the hint occurs again. */
    size_t second = another_place(l, w, first);
    size_t again = second != NOWHERE && h->nhints ? find_hints(a, h, first + 1) : NOWHERE;
    if (second != NOWHERE && (!h->nhints || again <= second))
        return patch_apply_ambiguous(a, h, l, w, first);
    *at = first;
    return 1;
}

static int patch_apply_not_found(const struct applying *a, const struct ch_hunk *h,
                                 const struct wanted *w) {
    CH_BUF_AUTO why = {0};

    if (find_hints(a, h, a->cursor) == NOWHERE)
        return patch_apply_refuse(a, h,
                                  "has an \"@@\" line that is not in the file (or only before the "
                                  "change above)");
    size_t i = 0;
    while (i + 1 < w->n && ch_sv_trim(w->text[i]).n == 0)
        i++;
    struct ch_sv first = ch_sv_trim(w->text[i]);
    size_t line = first.n >= 4 ? find_hint(a, first, a->cursor) : NOWHERE;
    if (line != NOWHERE)
        ch_buf_addf(&why,
                    "does not fit: its first line is like line %zu, but others differ. Read the "
                    "file again and copy the unchanged and the removed lines exactly",
                    line + 1);
    else
        ch_buf_add_str(&why, "does not fit: its lines are not in the file (or only before the "
                             "change above). Read the file again and copy them exactly");
    return patch_apply_refuse(a, h, ch_buf_str(&why));
}

/* Location of a hunk without old lines. */
static int place_insertion(const struct applying *a, const struct ch_hunk *h, size_t *at) {
    if (h->nhints) {
        size_t hint = find_hints(a, h, a->cursor);
        if (hint == NOWHERE)
            return patch_apply_refuse(a, h, "has an \"@@\" line that is not in the file");
        *at = hint + 1;
        return 0;
    }
    if (!h->at_end && a->lines.n > a->cursor)
        return patch_apply_refuse(a, h,
                                  "only adds lines and does not say where; give it unchanged lines "
                                  "around them");
    *at = a->lines.n;
    return 0;
}

static void make_plain_lines(struct applying *a) {
    if (a->plain.starts)
        return;
    ch_plain(&a->plain_text, a->lines.text);
    lines_init(&a->plain, ch_buf_sv(&a->plain_text), a->file->nhunks);
}

static int patch_apply_find_place(struct applying *a, const struct ch_hunk *h, size_t *at) {
    struct wanted w;

    wanted_init(&w, a->patch, h);
    int rc = w.n == 0 ? place_insertion(a, h, at) : patch_apply_choose(a, h, &a->lines, &w, at);
    if (w.n && rc == 0) {
        make_plain_lines(a);
        wanted_make_plain(&w);
        rc = patch_apply_choose(a, h, &a->plain, &w, at);
        a->stat->tolerant += rc > 0;
        if (rc == 0)
            rc = patch_apply_not_found(a, h, &w);
    }
    wanted_release(&w);
    return CH_MIN(rc, 0);
}

/* --- writing ------------------------------------------------------------- */

/* Add the missing line end of the file's last line before more text. */
static void patch_apply_put(struct applying *a, struct ch_sv s) {
    if (a->crossed)
        ch_buf_add_str(a->out, a->newline);
    ch_buf_add_sv(a->out, s);
    a->crossed = s.n && s.p[s.n - 1] != '\n';
}

static void patch_apply_put_new(struct applying *a, const struct ch_patch_line *line) {
    patch_apply_put(a, line->text);
    a->crossed = line->no_end;
    if (line->no_end)
        ch_buf_add_str(a->out, line->cr ? "\r" : "");
    else if (a->file->exact)
        ch_buf_add_str(a->out, line->cr ? "\r\n" : "\n");
    else
        ch_buf_add_str(a->out, a->newline);
    a->stat->added++;
}

static void copy_to(struct applying *a, size_t line) {
    for (; a->cursor < line; a->cursor++)
        patch_apply_put(a, whole_line(&a->lines, a->cursor));
}

static void write_hunk(struct applying *a, const struct ch_hunk *h, size_t at) {
    copy_to(a, at);
    for (size_t i = 0; i < h->nlines; i++) {
        const struct ch_patch_line *line = &a->patch->lines[h->lines + i];
        if (line->sign == '+') {
            patch_apply_put_new(a, line);
        } else if (line->sign == '-') {
            a->cursor++;
            a->stat->removed++;
        } else {
            copy_to(a, a->cursor + 1);
        }
    }
    if (h->line)
        a->drift = (int64_t)at - ((int64_t)h->line - 1);
}

static bool mostly_crlf(struct ch_sv text) {
    size_t lf = 0, crlf = 0;

    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '\n' && i && text.p[i - 1] == '\r')
            crlf++;
        else
            lf += text.p[i] == '\n';
    return crlf > lf;
}

static int patch_apply_all(struct applying *a) {
    for (size_t i = 0; i < a->file->nhunks; i++) {
        const struct ch_hunk *h = &a->patch->hunks[a->file->hunks + i];
        size_t at;
        if (a->call && chela_call_cancelled(a->call))
            return ch_fail(a->err, CHELA_ECANCELED, "the call was cancelled");
        int rc = patch_apply_find_place(a, h, &at);
        if (rc < 0)
            return rc;
        write_hunk(a, h, at);
    }
    copy_to(a, a->lines.n);
    return 0;
}

int ch_patch_apply(const chela_call *call, const struct ch_patch *p, const struct ch_patch_file *f,
                   struct ch_sv old, struct ch_buf *out, struct ch_patch_stat *stat,
                   struct chela_error *err) {
    struct applying a = {
        .call = call, .patch = p, .file = f, .out = out, .stat = stat, .err = err};
    size_t before = out->n;

    *stat = (struct ch_patch_stat){0};
    if (ch_sv_starts(old, BOM)) {
        ch_buf_add_str(out, BOM);
        old = ch_sv(old.p + strlen(BOM), old.n - strlen(BOM));
    }
    a.newline = mostly_crlf(old) ? "\r\n" : "\n";
    lines_init(&a.lines, old, f->nhunks);
    int rc = patch_apply_all(&a);
    if (rc < 0 && out->p) {
        out->n = before;
        out->p[before] = '\0';
    }
    lines_release(&a.lines);
    lines_release(&a.plain);
    ch_buf_release(&a.plain_text);
    return rc;
}
