/* gitignore.c -- see gitignore.h. */
#include "tool/builtin/files/gitignore.h"

#include "base/arena.h"
#include "base/grow.h"
#include "base/limits.h"
#include "tool/builtin/files/glob.h"

#define BOM "\xef\xbb\xbf"

struct rule {
    struct ch_sv pattern; /* in the arena */
    bool keep;            /* began with "!" */
    bool dirs_only;
    bool anchored; /* matched against the whole path; else against the name */
    bool plain;    /* no special characters: compare for equality */
};

struct ch_ignore {
    struct ch_arena arena;
    struct rule *rules; /* owned */
    size_t n, cap;
    bool cut;
};

/* Trailing spaces are ignored unless preceded by a backslash. */
static struct ch_sv trim_end(struct ch_sv line) {
    size_t keep = 0;

    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] == '\\' && i + 1 < line.n)
            i++;
        else if (line.p[i] == ' ')
            continue;
        keep = i + 1;
    }
    return ch_sv(line.p, keep);
}

/* "\/" becomes "/", because paths are compared component by component and slashes must be
 * visible. */
static struct ch_sv copy_pattern(struct ch_arena *arena, struct ch_sv line) {
    char *p = ch_arena_bytes(arena, line.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] == '\\' && i + 1 < line.n && line.p[i + 1] != '/')
            p[n++] = line.p[i++];
        else if (line.p[i] == '\\' && i + 1 < line.n)
            i++;
        p[n++] = line.p[i];
    }
    return ch_sv(p, n);
}

static bool has_any(struct ch_sv s, const char *set) {
    for (size_t i = 0; i < s.n; i++)
        if (strchr(set, s.p[i]) && s.p[i])
            return true;
    return false;
}

static bool gitignore_read_rule(struct ch_arena *arena, struct ch_sv line, struct rule *r) {
    *r = (struct rule){0};
    if (line.n == 0 || line.p[0] == '#')
        return false;
    r->keep = line.p[0] == '!';
    if (r->keep)
        line = ch_sv(line.p + 1, line.n - 1);
    struct ch_sv p = copy_pattern(arena, line);
    r->dirs_only = p.n && p.p[p.n - 1] == '/';
    if (r->dirs_only)
        p.n--;
    r->anchored = has_any(p, "/");
    if (p.n && p.p[0] == '/')
        p = ch_sv(p.p + 1, p.n - 1);
    r->pattern = p;
    r->plain = !has_any(p, "*?[\\");
    return p.n > 0;
}

static void gitignore_add(struct ch_ignore *ig, const struct rule *r) {
    CH_GROW(ig->rules, ig->n, ig->cap, 16);
    ig->rules[ig->n++] = *r;
}

struct ch_ignore *ch_ignore_new(struct ch_sv text) {
    struct ch_ignore *ig = ch_alloc(sizeof(*ig));
    struct rule r;

    if (ch_sv_starts(text, BOM))
        text = ch_sv(text.p + strlen(BOM), text.n - strlen(BOM));
    while (text.n) {
        struct ch_sv line = trim_end(ch_sv_split(&text, '\n'));
        if (!gitignore_read_rule(&ig->arena, line, &r))
            continue;
        if (ig->n == CH_LIMIT_IGNORE_RULES) {
            ig->cut = true;
            break;
        }
        gitignore_add(ig, &r);
    }
    return ig;
}

void ch_ignore_free(struct ch_ignore *ig) {
    if (!ig)
        return;
    ch_free(ig->rules);
    ch_arena_release(&ig->arena);
    ch_free(ig);
}

bool ch_ignore_cut(const struct ch_ignore *ig) {
    return ig->cut;
}

static bool gitignore_matches(const struct rule *r, struct ch_sv path, struct ch_sv name) {
    struct ch_sv s = r->anchored ? path : name;

    if (r->plain)
        return ch_sv_eq(r->pattern, s);
    return r->anchored ? ch_glob_path(r->pattern, s) : ch_glob_name(r->pattern, s);
}

enum ch_ignored ch_ignore_ask(const struct ch_ignore *ig, struct ch_sv path, bool is_dir) {
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
    size_t from = slash ? (size_t)(slash + 1 - path.p) : 0;
    struct ch_sv name = ch_sv(path.p + from, path.n - from);

    for (size_t i = ig->n; i > 0; i--) {
        const struct rule *r = &ig->rules[i - 1];
        if ((is_dir || !r->dirs_only) && gitignore_matches(r, path, name))
            return r->keep ? CH_IGNORE_NO : CH_IGNORE_YES;
    }
    return CH_IGNORE_SILENT;
}
