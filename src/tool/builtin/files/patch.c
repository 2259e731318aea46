/* patch.c -- shared helpers of the patch parsers, see patch.h. */
#include "tool/builtin/files/patch.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "tool/builtin/files/patch_diff.h"
#include "tool/builtin/files/patch_star.h"

void ch_patch_release(struct ch_patch *p) {
    ch_free(p->files);
    ch_free(p->hunks);
    ch_free(p->lines);
    ch_free(p->hints);
    ch_arena_release(&p->arena);
    *p = (struct ch_patch){0};
}

/* Ensure room for one more element; the capacity doubles. */
static void *files_patch_grow(void *array, size_t n, size_t *cap, size_t size) {
    if (n < *cap)
        return array;
    *cap = *cap ? 2 * *cap : 16;
    return ch_realloc(array, *cap * size);
}

/* --- lines --------------------------------------------------------------- */

static struct ch_sv without_cr(struct ch_sv line) {
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

struct ch_sv ch_patch_peek(const struct ch_patch_reader *r, unsigned i) {
    struct ch_sv rest = r->rest, line = {0};

    for (unsigned k = 0; k <= i; k++) {
        if (rest.n == 0)
            return (struct ch_sv){0};
        line = ch_sv_split(&rest, '\n');
    }
    return without_cr(line);
}

/* True if the first line of rest ends in CRLF. */
static bool ends_in_cr(const struct ch_patch_reader *r) {
    struct ch_sv rest = r->rest, line = ch_sv_split(&rest, '\n');

    return line.n && line.p[line.n - 1] == '\r';
}

void ch_patch_skip(struct ch_patch_reader *r) {
    ch_sv_split(&r->rest, '\n');
    r->line++;
}

int ch_patch_fail(const struct ch_patch_reader *r, unsigned line, const char *why) {
    return ch_fail(r->err, CHELA_EINVAL, "line %u of the patch: %s", line, why);
}

/* --- building ------------------------------------------------------------ */

struct ch_patch_file *ch_patch_add_file(struct ch_patch_reader *r, enum ch_patch_kind kind,
                                        struct ch_sv path) {
    struct ch_patch *p = r->patch;

    if (p->nfiles == CH_LIMIT_PATCH_FILES || path.n == 0 || memchr(path.p, '\0', path.n)) {
        ch_patch_fail(r, r->line,
                      path.n == 0                         ? "the path is empty"
                      : p->nfiles == CH_LIMIT_PATCH_FILES ? "too many files for one patch"
                                                          : "the path has a NUL character");
        return NULL;
    }
    p->files = files_patch_grow(p->files, p->nfiles, &p->cap_files, sizeof(*p->files));
    struct ch_patch_file *f = &p->files[p->nfiles++];
    *f = (struct ch_patch_file){
        .kind = kind,
        .path = ch_arena_str(&p->arena, path),
        .hunks = p->nhunks,
        .where = r->line,
        .crlf = ends_in_cr(r),
    };
    return f;
}

struct ch_hunk *ch_patch_add_hunk(struct ch_patch_reader *r) {
    struct ch_patch *p = r->patch;

    p->hunks = files_patch_grow(p->hunks, p->nhunks, &p->cap_hunks, sizeof(*p->hunks));
    struct ch_hunk *h = &p->hunks[p->nhunks++];
    *h = (struct ch_hunk){.lines = p->nlines, .hints = p->nhints, .where = r->line};
    p->files[p->nfiles - 1].nhunks++;
    return h;
}

void ch_patch_add_hint(struct ch_patch_reader *r, struct ch_sv hint) {
    struct ch_patch *p = r->patch;

    p->hints = files_patch_grow(p->hints, p->nhints, &p->cap_hints, sizeof(*p->hints));
    p->hints[p->nhints++] = hint;
    p->hunks[p->nhunks - 1].nhints++;
}

bool ch_patch_add_line(struct ch_patch_reader *r, struct ch_sv line) {
    struct ch_patch *p = r->patch;
    struct ch_hunk *h = &p->hunks[p->nhunks - 1];
    struct ch_patch_file *f = &p->files[p->nfiles - 1];
    char sign = line.n ? line.p[0] : ' ';
    bool cr = !f->crlf && ends_in_cr(r);

    if (sign == '\\') { /* "\ No newline at end of file" */
        if (h->nlines)
            p->lines[p->nlines - 1].no_end = true;
        return true;
    }
    if (sign != ' ' && sign != '-' && sign != '+')
        return false;
    p->lines = files_patch_grow(p->lines, p->nlines, &p->cap_lines, sizeof(*p->lines));
    p->lines[p->nlines++] = (struct ch_patch_line){
        .text = line.n ? ch_sv(line.p + 1, line.n - 1) : CH_SV(""),
        .sign = sign,
        .cr = cr,
        .bare = line.n == 0,
    };
    f->exact |= cr;
    h->nlines++;
    return true;
}

/* Drop empty lines at the end of a hunk: as context they might prevent a match, and they
 * are not needed. */
void ch_patch_end_hunk(struct ch_patch_reader *r) {
    struct ch_patch *p = r->patch;
    struct ch_hunk *h = &p->hunks[p->nhunks - 1];

    while (h->nlines && p->lines[p->nlines - 1].bare) {
        h->nlines--;
        p->nlines--;
    }
}

/* --- format detection ---------------------------------------------------- */

static bool has_star_form(struct ch_sv text) {
    while (text.n)
        if (ch_sv_is(ch_sv_trim(ch_sv_split(&text, '\n')), "*** Begin Patch"))
            return true;
    return false;
}

int ch_patch_read(struct ch_patch *p, struct ch_sv text, struct chela_error *err) {
    struct ch_patch_reader r = {.patch = p, .rest = text, .line = 1, .err = err};

    if (text.n > CH_LIMIT_PATCH_TEXT)
        return ch_fail(err, CHELA_EINVAL, "the patch is longer than %zu MB",
                       CH_LIMIT_PATCH_TEXT / CH_MB);
    int rc = has_star_form(text) ? ch_patch_read_star(&r) : ch_patch_read_diff(&r);
    if (rc == 0 && p->nfiles == 0)
        rc = ch_fail(err, CHELA_EINVAL,
                     "the text has no patch: it must begin with \"*** Begin Patch\", or be a "
                     "unified diff with \"---\" and \"+++\" lines");
    return rc;
}
