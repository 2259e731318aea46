/* review.c -- see review.h. */
#include "layer/review.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "layer/changes.h"
#include "layer/commit.h"
#include "layer/patch.h"
#include "layer/walk.h"
#include "json/writer.h"

struct review {
    struct ch_work_layer *layer;
    struct ch_arena arena;
    struct ch_layer_changes changes;
    const struct ch_review_opts *opts;
    struct chela_error *err;
};

static int review_open(struct review *r, const struct ch_review_opts *o, struct chela_error *err) {
    const struct ch_layer_opts opts = {.workspace = o->workspace, .session = o->session};

    *r = (struct review){.opts = o, .err = err};
    int rc = ch_layer_open(&opts, &r->layer, err);
    if (rc == 0)
        rc = ch_changes_find(r->layer, &r->arena, &r->changes, err);
    return rc;
}

static void review_close(struct review *r) {
    ch_changes_free(&r->changes);
    ch_layer_close(r->layer);
    ch_arena_release(&r->arena);
}

/* --- showing */

static void write_hunks(struct ch_jw *w, const struct ch_line_diff *diff) {
    ch_jw_kbegin(w, "hunks", '[');
    for (size_t i = 0; i < diff->nhunks; i++) {
        CH_BUF_AUTO head = {0};
        ch_hunk_head(&diff->hunks[i], &head);
        ch_jw_begin(w, '{');
        ch_jw_kint(w, "n", (int64_t)i + 1);
        ch_jw_kstr(w, "header", ch_buf_sv(&head));
        ch_jw_kint(w, "added", (int64_t)diff->hunks[i].added);
        ch_jw_kint(w, "removed", (int64_t)diff->hunks[i].removed);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

static void write_counts(struct ch_jw *w, const struct ch_line_diff *diff) {
    size_t added = 0, removed = 0;

    for (size_t i = 0; i < diff->nhunks; i++) {
        added += diff->hunks[i].added;
        removed += diff->hunks[i].removed;
    }
    ch_jw_kint(w, "added", (int64_t)added);
    ch_jw_kint(w, "removed", (int64_t)removed);
}

static int write_change(struct review *r, const struct ch_layer_change *c, struct ch_jw *w,
                        struct ch_buf *patch) {
    CH_ARENA_AUTO a = {0};
    struct ch_line_diff diff = {0};
    struct ch_content content;

    int rc = ch_content_read(r->layer, c, &content, r->err);
    if (rc < 0)
        return rc;
    bool hunks = ch_change_has_hunks(c, &content);
    if (hunks)
        ch_line_diff(&a, ch_buf_sv(&content.before), ch_buf_sv(&content.after), &diff);
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "path", c->path);
    ch_jw_kcstr(w, "status", ch_change_status(c));
    ch_jw_kbool(w, "binary", content.binary);
    if (content.large)
        ch_jw_kbool(w, "large", true);
    write_counts(w, &diff);
    write_hunks(w, &diff);
    if (c->ask)
        ch_jw_kcstr(w, "ask", c->ask);
    if (c->conflict)
        ch_jw_kbool(w, "conflict", true);
    ch_jw_end(w, '}');
    ch_patch_write(c, &content, hunks ? &diff : NULL, patch);
    ch_content_release(&content);
    return 0;
}

static bool is_ref(const char *path) {
    const char *refs = strstr(path, "/refs/");

    return refs && (ch_sv_starts(ch_sv_str(refs), "/refs/heads/") ||
                    ch_sv_starts(ch_sv_str(refs), "/refs/tags/"));
}

/* A repository is one item: its changes follow each other. Returns the index after the last. */
static size_t write_repository(const struct review *r, size_t first, struct ch_jw *w) {
    const struct ch_layer_change *v = r->changes.v;
    size_t end = first, n = strlen(v[first].asked);

    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "path", v[first].asked);
    ch_jw_kcstr(w, "ask", v[first].ask);
    ch_jw_kbegin(w, "refs", '[');
    bool conflict = false;
    for (; end < r->changes.n && v[end].repository && strcmp(v[end].asked, v[first].asked) == 0;
         end++) {
        conflict |= v[end].conflict;
        if (is_ref(v[end].path) && v[end].before != CH_NODE_DIRECTORY &&
            v[end].after != CH_NODE_DIRECTORY)
            ch_jw_cstr(w, v[end].path + n + 1);
    }
    ch_jw_end(w, ']');
    ch_jw_kint(w, "files", (int64_t)(end - first));
    if (conflict)
        ch_jw_kbool(w, "conflict", true);
    ch_jw_end(w, '}');
    return end;
}

/* A new or a removed directory shows by its files; an empty one by itself. */
static bool shows_by_itself(const struct review *r, size_t i) {
    const struct ch_layer_change *c = &r->changes.v[i];
    size_t n = strlen(c->path);

    if (c->before != CH_NODE_DIRECTORY && c->after != CH_NODE_DIRECTORY)
        return true;
    if (c->before == c->after)
        return true;
    size_t near = c->after == CH_NODE_DIRECTORY ? i + 1 : i - 1;
    const char *other = near < r->changes.n ? r->changes.v[near].path : "";
    return strncmp(other, c->path, n) != 0 || other[n] != '/';
}

int ch_review_show(const struct ch_review_opts *opts, struct ch_buf *json,
                   struct chela_error *err) {
    CH_BUF_AUTO patch = {.max = CH_LIMIT_LAYER_PATCH};
    struct ch_jw w = ch_jw(json);
    struct review r;

    int rc = review_open(&r, opts, err);
    if (rc == 0) {
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "session", r.layer->session);
        ch_jw_kcstr(&w, "workspace", r.layer->workspace);
        ch_jw_kcstr(&w, "apply", r.layer->apply == CH_LAYER_NEVER ? "never" : "review");
        ch_jw_kbegin(&w, "files", '[');
        for (size_t i = 0; rc == 0 && i < r.changes.n; i++)
            if (!r.changes.v[i].repository && shows_by_itself(&r, i))
                rc = write_change(&r, &r.changes.v[i], &w, &patch);
        ch_jw_end(&w, ']');
        ch_jw_kbegin(&w, "repositories", '[');
        for (size_t i = 0; i < r.changes.n;)
            i = r.changes.v[i].repository ? write_repository(&r, i, &w) : i + 1;
        ch_jw_end(&w, ']');
        ch_jw_kstr(&w, "patch", ch_buf_sv(&patch));
        ch_jw_end(&w, '}');
        if (rc == 0 && (patch.overflow || json->overflow))
            rc = ch_fail(err, CHELA_ELIMIT, "the patch of the session %.120s is too large",
                         r.layer->session);
    }
    review_close(&r);
    return rc;
}

/* --- choosing */

static bool is_below(const char *path, const char *top) {
    size_t n = strlen(top);

    return strncmp(path, top, n) == 0 && path[n] == '/';
}

static bool is_named(const struct ch_layer_change *c, const char *file) {
    if (strcmp(file, c->path) == 0)
        return true;
    if (!c->ask)
        return strcmp(file, ".") == 0 || is_below(c->path, file);
    /* at or below the part that must be named */
    return strcmp(file, c->asked) == 0 || (is_below(file, c->asked) && is_below(c->path, file));
}

/* "./src/" is "src". */
static const char *clean_name(struct review *r, const char *file) {
    size_t n;

    while (file[0] == '.' && file[1] == '/')
        file += 2 + strspn(file + 2, "/");
    for (n = strlen(file); n > 1 && file[n - 1] == '/';)
        n--;
    return n ? ch_arena_str(&r->arena, ch_sv(file, n)) : ".";
}

static int name_one(struct review *r, const char *file, bool *chosen) {
    const char *name = clean_name(r, file);
    bool found = false;

    for (size_t i = 0; i < r->changes.n; i++)
        if (is_named(&r->changes.v[i], name))
            chosen[i] = found = true;
    return found ? 0
                 : ch_fail(r->err, CHELA_EINVAL,
                           "'%.200s' is none of the changes of the session %.120s: 'chela diff "
                           "%.120s' shows them",
                           file, r->layer->session, r->layer->session);
}

/* One flag for each change. */
static int choose(struct review *r, bool **out) {
    bool *chosen = *out = ch_arena_zalloc(&r->arena, r->changes.n + 1);
    int rc = 0;

    for (const char *const *f = r->opts->files; rc == 0 && f && *f; f++)
        rc = name_one(r, *f, chosen);
    for (size_t i = 0; !r->opts->files && i < r->changes.n; i++)
        chosen[i] = !r->changes.v[i].ask;
    return rc;
}

static int refuse_conflicts(const struct review *r, const bool *chosen) {
    CH_BUF_AUTO names = {0};
    size_t n = 0;

    for (size_t i = 0; i < r->changes.n; i++)
        if (chosen[i] && r->changes.v[i].conflict && n++ < CH_LIMIT_HELD_SHOWN)
            ch_buf_addf(&names, "%s%s", names.n ? ", " : "", r->changes.v[i].path);
    return n == 0 ? 0
                  : ch_fail(r->err, CHELA_ESTATE,
                            "nothing was applied: changed in the workspace since the run read it: "
                            "%s. Name the other files with --file, or let the run read the file "
                            "again",
                            ch_buf_str(&names));
}

/* --- applying */

/* The only file that was chosen; hunks belong to one. */
static struct ch_layer_change *only_file(struct review *r, const bool *chosen) {
    struct ch_layer_change *found = NULL;
    size_t n = 0;

    for (size_t i = 0; i < r->changes.n; i++)
        if (chosen[i] && (r->changes.v[i].before != CH_NODE_DIRECTORY &&
                          r->changes.v[i].after != CH_NODE_DIRECTORY)) {
            found = &r->changes.v[i];
            n++;
        }
    return n == 1 ? found : NULL;
}

static int take_hunks(struct review *r, struct ch_layer_change *c, const struct ch_line_diff *diff,
                      struct ch_commit *commit) {
    bool *taken = ch_arena_zalloc(&r->arena, diff->nhunks + 1);
    CH_BUF_AUTO text = {0};
    size_t n = 0;

    for (size_t i = 0; i < r->opts->nhunks; i++) {
        unsigned hunk = r->opts->hunks[i];
        if (hunk < 1 || hunk > diff->nhunks)
            return ch_fail(r->err, CHELA_EINVAL, "%s has no hunk %u: its hunks are 1 to %zu",
                           c->path, hunk, diff->nhunks);
        n += !taken[hunk - 1];
        taken[hunk - 1] = true;
    }
    if (n == diff->nhunks)
        return ch_commit_add(commit, c, r->err);
    if (c->after == CH_NODE_NONE) /* a part of a removed file stays */
        c->after_mode = c->before_mode;
    struct ch_layer_change part = *c;
    part.after = CH_NODE_FILE;
    ch_line_diff_apply(diff, taken, &text);
    return ch_commit_add_text(commit, &part, ch_buf_sv(&text), r->err);
}

static int apply_hunks(struct review *r, const bool *chosen, struct ch_commit *commit) {
    struct ch_layer_change *c = only_file(r, chosen);
    CH_ARENA_AUTO a = {0};
    struct ch_line_diff diff;
    struct ch_content content;

    if (!c)
        return ch_fail(r->err, CHELA_EINVAL, "hunks are numbered in each file: name one --file");
    int rc = ch_content_read(r->layer, c, &content, r->err);
    if (rc < 0)
        return rc;
    if (!ch_change_has_hunks(c, &content)) {
        rc = ch_fail(r->err, CHELA_EINVAL, "%s has no hunks: it is no text, or too large", c->path);
    } else {
        ch_line_diff(&a, ch_buf_sv(&content.before), ch_buf_sv(&content.after), &diff);
        rc = take_hunks(r, c, &diff, commit);
    }
    ch_content_release(&content);
    return rc;
}

static int add_chosen(struct review *r, const bool *chosen, struct ch_commit *commit) {
    int rc = 0;

    if (r->opts->nhunks)
        return apply_hunks(r, chosen, commit);
    for (size_t i = 0; rc == 0 && i < r->changes.n; i++)
        if (chosen[i])
            rc = ch_commit_add(commit, &r->changes.v[i], r->err);
    return rc;
}

static void write_outcome(struct review *r, const bool *chosen, struct ch_jw *w) {
    const char *last = NULL;

    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "session", r->layer->session);
    ch_jw_kbegin(w, "applied", '[');
    for (size_t i = 0; i < r->changes.n; i++)
        if (chosen[i] && shows_by_itself(r, i))
            ch_jw_cstr(w, r->changes.v[i].path);
    ch_jw_end(w, ']');
    ch_jw_kbegin(w, "left", '[');
    for (size_t i = 0; i < r->changes.n; i++) {
        const struct ch_layer_change *c = &r->changes.v[i];
        if (chosen[i] || !c->ask || (last && strcmp(last, c->asked) == 0))
            continue;
        last = c->asked;
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "path", c->asked);
        ch_jw_kcstr(w, "why", c->ask);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
}

/* Nothing is left: the layer goes, too. */
static int remove_if_empty(struct review *r) {
    bool empty = false;

    int rc = ch_layer_tidy(r->layer, &empty, r->err);
    return rc == 0 && empty ? ch_layer_remove(r->layer, r->err) : rc;
}

static int check_apply(const struct review *r) {
    return r->layer->apply == CH_LAYER_NEVER
               ? ch_fail(r->err, CHELA_EINVAL,
                         "the run of the session %.120s was under 'apply: never': 'chela diff "
                         "%.120s' prints its changes as a patch for 'git apply'",
                         r->layer->session, r->layer->session)
               : 0;
}

int ch_review_apply(const struct ch_review_opts *opts, struct ch_buf *json,
                    struct chela_error *err) {
    struct ch_commit commit = {0};
    struct ch_jw w = ch_jw(json);
    struct review r;
    bool *chosen;

    int rc = review_open(&r, opts, err);
    commit.layer = r.layer;
    if (rc == 0)
        rc = check_apply(&r);
    if (rc == 0)
        rc = choose(&r, &chosen);
    if (rc == 0)
        rc = refuse_conflicts(&r, chosen);
    if (rc == 0)
        rc = add_chosen(&r, chosen, &commit);
    if (rc == 0)
        rc = ch_commit_run(&commit, err);
    if (rc == 0) {
        write_outcome(&r, chosen, &w);
        rc = remove_if_empty(&r);
    }
    ch_commit_release(&commit);
    review_close(&r);
    return rc;
}

/* --- discarding */

static int discard_one(struct review *r, const struct ch_layer_change *c) {
    const char *name;
    int dir = ch_file_open_parent(r->layer->upper, c->path, 0, &name);
    struct stat st;
    bool there = dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;

    int rc = there ? ch_layer_erase(dir, name) : 0;
    if (dir >= 0)
        close(dir);
    if (rc < 0)
        return ch_fail(r->err, CHELA_EIO, "%s: %s", c->path, strerror(-rc));
    /* removed with its directory, or below a directory that was discarded before */
    return 0;
}

/* True if a name of the list hides others: only the whole directory can come back. */
static bool is_within_removed(const struct review *r, const struct ch_layer_change *c,
                              const bool *chosen) {
    CH_BUF_AUTO path = {0};
    struct stat st;

    ch_buf_add_str(&path, c->path);
    for (char *slash; (slash = strrchr(ch_buf_str(&path), '/'));) {
        *slash = '\0';
        path.n = (size_t)(slash - path.p);
        int fd = openat(r->layer->upper, path.p, O_RDONLY | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
        bool hides = fd < 0 ? fstatat(r->layer->upper, path.p, &st, AT_SYMLINK_NOFOLLOW) == 0
                            : ch_layer_is_opaque(fd);
        if (fd >= 0)
            close(fd);
        if (!hides || c->before == CH_NODE_NONE)
            continue;
        for (size_t i = 0; i < r->changes.n; i++)
            if (!chosen[i] && is_below(r->changes.v[i].path, path.p))
                return true;
    }
    return false;
}

static int discard_chosen(struct review *r, const bool *chosen, struct ch_jw *w) {
    int rc = 0;

    for (size_t i = 0; i < r->changes.n; i++)
        if (chosen[i] && is_within_removed(r, &r->changes.v[i], chosen))
            return ch_fail(r->err, CHELA_EINVAL,
                           "%s was replaced together with its directory: name the directory",
                           r->changes.v[i].path);
    ch_jw_kbegin(w, "discarded", '[');
    for (size_t i = r->changes.n; rc == 0 && i-- > 0;)
        if (chosen[i]) {
            rc = discard_one(r, &r->changes.v[i]);
            if (shows_by_itself(r, i))
                ch_jw_cstr(w, r->changes.v[i].path);
        }
    ch_jw_end(w, ']');
    return rc;
}

int ch_review_discard(const struct ch_review_opts *opts, struct ch_buf *json,
                      struct chela_error *err) {
    struct ch_jw w = ch_jw(json);
    struct review r;
    bool *chosen;

    int rc = review_open(&r, opts, err);
    if (rc == 0)
        rc = choose(&r, &chosen);
    if (rc == 0) {
        if (!opts->files)
            memset(chosen, true, r.changes.n);
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "session", r.layer->session);
        rc = discard_chosen(&r, chosen, &w);
        ch_jw_end(&w, '}');
    }
    if (rc == 0)
        rc = opts->files ? remove_if_empty(&r) : ch_layer_remove(r.layer, err);
    review_close(&r);
    return rc;
}
