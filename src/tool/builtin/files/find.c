/* find.c -- the tool `find`: names below a directory that match a pattern. */
#include "tool/builtin/files/find.h"

#include <errno.h>

#include "base/arena.h"
#include "base/limits.h"
#include "tool/builtin/files/glob.h"
#include "tool/builtin/files/page.h"
#include "tool/builtin/files/walk.h"
#include "tool/call/call.h"
#include "tool/call/call_path.h"
#include "json/writer.h"
#include "tool/call/call_view.h"

#define NOTES 600 /* characters reserved for notes after the names */

static const char *const pattern_names[] = {"pattern", "glob", "query", "name", NULL};
static const char *const path_names[] = {"path", "directory", "dir", "cwd", NULL};
static const char *const limit_names[] = {"limit", "max_results", "head_limit", NULL};
static const char *const hidden_names[] = {"hidden", "include_hidden", NULL};
static const char *const ignored_names[] = {"include_ignored", "no_ignore", NULL};

enum type { ANY, FILES, DIRS };

struct search {
    const char *pattern, *path;
    struct ch_globs globs;
    bool from_top; /* the pattern is relative to the workspace, not to path */
    enum type type;
    int64_t limit;
    struct ch_walk_opts walk;
};

/* --- arguments ----------------------------------------------------------- */

static int read_type(chela_call *call, struct search *s) {
    static const struct {
        const char *name;
        enum type type;
    } names[] = {{"any", ANY},  {"all", ANY},     {"file", FILES},
                 {"f", FILES},  {"files", FILES}, {"directory", DIRS},
                 {"dir", DIRS}, {"d", DIRS},      {"directories", DIRS}};
    const char *type = "any";

    int rc = chela_arg_string_opt(call, "type", &type);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < CH_LEN(names); i++)
        if (strcmp(type, names[i].name) == 0) {
            s->type = names[i].type;
            return 0;
        }
    chela_result_error(call, "invalid_arguments",
                       "The argument \"type\" must be file, directory or any.");
    return CHELA_EINVAL;
}

/* A component that begins with a dot includes hidden names. */
static bool names_hidden(struct ch_sv pattern) {
    for (size_t i = 0; i + 1 < pattern.n; i++)
        if (pattern.p[i] == '.' && pattern.p[i + 1] != '/' &&
            (i == 0 || strchr("/{,", pattern.p[i - 1])))
            return true;
    return false;
}

static int find_read_pattern(chela_call *call, struct search *s) {
    struct ch_sv p = ch_sv_str(s->pattern);
    CH_BUF_AUTO rel = {0};

    if (p.n == 0 || p.n > CH_LIMIT_PATH) {
        chela_result_error(call, "invalid_arguments", "The pattern is %s.",
                           p.n ? "too long" : "empty");
        return CHELA_EINVAL;
    }
    while (ch_sv_starts(p, "./"))
        p = ch_sv(p.p + 2, p.n - 2);
    if (p.n && p.p[0] == '/') { /* some models send absolute paths */
        int rc = ch_path_inside(chela_call_workspace(call), p.p, &rel);
        if (rc < 0) {
            ch_call_path_refuse(call, "search", s->pattern, rc);
            return CHELA_EINVAL;
        }
        p = ch_arena_sv(&call->arena, ch_buf_sv(&rel));
        s->from_top = true;
    }
    if (p.n > 1 && p.p[p.n - 1] == '/') {
        p.n--;
        s->type = DIRS;
    }
    s->walk.hidden |= names_hidden(p);
    if (ch_globs_read(&s->globs, &call->arena, p) == 0)
        return 0;
    chela_result_error(call, "invalid_arguments",
                       "The braces of the pattern stand for more than %d patterns.",
                       CH_LIMIT_GLOBS);
    return CHELA_EINVAL;
}

static int read_search(chela_call *call, struct search *s) {
    *s = (struct search){.path = ".", .limit = CH_LIMIT_FIND_RESULTS};
    int rc = chela_arg_string(call, ch_arg_name(call, pattern_names), &s->pattern);
    if (rc == 0)
        rc = chela_arg_string_opt(call, ch_arg_name(call, path_names), &s->path);
    if (rc == 0)
        rc = chela_arg_int_opt(call, ch_arg_name(call, limit_names), &s->limit);
    if (rc == 0)
        rc = chela_arg_bool_opt(call, ch_arg_name(call, hidden_names), &s->walk.hidden);
    if (rc == 0)
        rc = chela_arg_bool_opt(call, ch_arg_name(call, ignored_names), &s->walk.ignored);
    if (rc == 0)
        rc = read_type(call, s);
    if (rc < 0)
        return rc;
    if (s->path[0] == '\0')
        s->path = ".";
    s->limit = s->limit < 1 ? 1 : CH_MIN(s->limit, CH_LIMIT_FIND_RESULTS);
    return find_read_pattern(call, s);
}

int ch_find_check(chela_call *call, void *user) {
    struct search s;

    (void)user;
    return read_search(call, &s);
}

/* --- the work ------------------------------------------------------------ */

static bool find_is_wanted(const struct search *s, const struct ch_walk_entry *e) {
    bool dir = e->kind == CH_WALK_DIR;

    if ((s->type == FILES && dir) || (s->type == DIRS && !dir))
        return false;
    return ch_globs_match(&s->globs, s->from_top ? e->path : e->below);
}

static bool find_add(struct ch_page *page, struct ch_jw *json, const struct ch_walk_entry *e) {
    CH_BUF_AUTO line = {0};

    ch_buf_add_sv(&line, e->path);
    if (e->kind == CH_WALK_DIR)
        ch_buf_addc(&line, '/');
    if (!ch_page_add(page, ch_buf_sv(&line)))
        return false;
    ch_jw_str(json, ch_buf_sv(&line));
    return true;
}

static void find_add_notes(struct ch_page *page, const struct search *s, const struct ch_walk *w,
                           bool more, size_t found) {
    struct ch_buf *out = &page->text;

    if (found == 0 && !more)
        ch_buf_addf(out, "Nothing below %s matches the pattern%s%s.\n",
                    strcmp(s->path, ".") == 0 ? "the workspace" : "this directory",
                    s->walk.hidden ? "" : "; hidden names were not looked at",
                    s->walk.ignored ? "" : "; what .gitignore rules out was not looked at");
    if (more)
        ch_buf_addf(out, "[There are more than these %zu; use a narrower pattern or path.]\n",
                    found);
    ch_walk_notes(w, out);
}

static int find_search(chela_call *call, const struct search *s, struct ch_walk *w) {
    struct ch_walk_entry e;
    struct ch_page page;
    CH_BUF_AUTO json = {0};
    struct ch_jw out = ch_jw(&json);
    int64_t found = 0;
    bool more = false;
    int rc;

    ch_page_init(&page, ch_call_room(call), NOTES);
    ch_jw_begin(&out, '{');
    ch_jw_kbegin(&out, "matches", '[');
    while (!more && (rc = ch_walk_next(w, &e)) > 0) {
        if (!find_is_wanted(s, &e))
            continue;
        more = found == s->limit || !find_add(&page, &out, &e);
        found += !more;
    }
    ch_jw_end(&out, ']');
    ch_jw_kbool(&out, "truncated", more);
    ch_jw_end(&out, '}');
    if (more || rc == 0) {
        find_add_notes(&page, s, w, more, (size_t)found);
        chela_result_text(call, ch_buf_str(&page.text), page.text.n);
        chela_result_details(call, ch_buf_str(&json));
    } else {
        ch_call_path_refuse(call, "search", s->path, rc);
    }
    ch_page_release(&page);
    return 0;
}

int ch_find_run(chela_call *call, void *user) {
    struct search s;
    struct ch_walk *w;

    (void)user;
    int rc = read_search(call, &s);
    if (rc < 0)
        return rc;
    rc = ch_walk_new(call, s.path, &s.walk, &w);
    if (rc == -ENOTDIR)
        return chela_result_error(call, "invalid_arguments",
                                  "Cannot search %s: it is not a directory.", s.path);
    if (rc < 0)
        return ch_call_path_missing(call, "search", s.path, rc);
    rc = find_search(call, &s, w);
    ch_walk_free(w);
    return rc;
}
