/* walk.c -- see walk.h.
 *
 * The walk keeps a stack of open directories, each with its sorted names and the rules of
 * its .gitignore. The rules of the directories above the start are loaded first, so the
 * start directory does not affect which names are ignored. */
#include "tool/builtin/files/walk.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/entry_type.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "tool/builtin/files/gitignore.h"
#include "tool/call/call.h"
#include "tool/process/path.h"

#define RULES_NAME ".gitignore"

struct name {
    const char *text; /* in the frame's arena */
    enum ch_walk_kind kind;
};

struct frame { /* one directory being walked */
    DIR *dir;
    struct ch_arena arena;
    struct name *names; /* owned */
    size_t n, cap, next;
    size_t path_n; /* length of the walk's path when the directory was entered */
    bool has_level;
};

struct level { /* rules of one .gitignore file */
    struct ch_ignore *rules;
    size_t base; /* the rules apply to names relative to the directory path[0..base) */
};

struct ch_walk {
    const chela_call *call;
    struct ch_walk_opts opts;
    struct ch_buf path; /* path below the workspace */
    size_t start_n;     /* length of the start directory in path */
    struct frame frames[CH_LIMIT_WALK_DEPTH];
    size_t nframes;
    struct level *levels; /* owned; the nearest one last */
    size_t nlevels, cap_levels;
    bool enter; /* the last returned entry is a directory */
    size_t seen, unreadable, too_deep;
    bool cut, rules_cut; /* too many entries; too many rules */
};

/* --- rules --------------------------------------------------------------- */

static void push_level(struct ch_walk *w, struct ch_ignore *rules, size_t base) {
    CH_GROW(w->levels, w->nlevels, w->cap_levels, 8);
    w->levels[w->nlevels++] = (struct level){.rules = rules, .base = base};
    w->rules_cut |= ch_ignore_cut(rules);
}

/* Takes ownership of fd. NULL if the file is no readable .gitignore. */
static struct ch_ignore *walk_read_rules(struct ch_walk *w, int fd) {
    struct ch_ignore *rules = NULL;
    CH_BUF_AUTO text = {0};
    struct stat st;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        char *at = ch_buf_reserve(&text, CH_LIMIT_IGNORE_FILE + 1);
        ssize_t n = read(fd, at, CH_LIMIT_IGNORE_FILE + 1);
        ch_buf_commit(&text, n > 0 ? (size_t)n : 0);
        w->rules_cut |= text.n > CH_LIMIT_IGNORE_FILE;
        rules = n < 0 ? NULL : ch_ignore_new(ch_buf_sv(&text));
    }
    close(fd);
    return rules;
}

static bool load_rules(struct ch_walk *w, int dir, const char *name, size_t base) {
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    struct ch_ignore *rules = walk_read_rules(w, ch_beneath_open(dir, name, flags));

    if (!rules)
        return false;
    push_level(w, rules, base);
    return true;
}

/* Load the rules that apply to rel, from the workspace down to its parent. */
static int load_parents(struct ch_walk *w, const char *rel) {
    int root = ch_path_open(chela_call_workspace(w->call), ".", O_DIRECTORY);

    if (root < 0)
        return root;
    load_rules(w, root, ".git/info/exclude", 0);
    struct ch_sv rest = ch_sv_str(rel);
    CH_BUF_AUTO name = {0};
    while (rest.n && !ch_sv_is(rest, ".")) {
        size_t base = name.n;
        ch_buf_add_str(&name, RULES_NAME);
        load_rules(w, root, ch_buf_str(&name), base);
        name.n = base;
        ch_buf_add_sv(&name, ch_sv_split(&rest, '/'));
        ch_buf_addc(&name, '/');
    }
    close(root);
    return 0;
}

static bool is_ignored(const struct ch_walk *w, bool is_dir) {
    for (size_t i = w->nlevels; i > 0; i--) {
        const struct level *l = &w->levels[i - 1];
        struct ch_sv path = ch_sv(w->path.p + l->base, w->path.n - l->base);
        enum ch_ignored verdict = ch_ignore_ask(l->rules, path, is_dir);
        if (verdict != CH_IGNORE_SILENT)
            return verdict == CH_IGNORE_YES;
    }
    return false;
}

/* --- one directory ------------------------------------------------------- */

enum ch_walk_kind ch_walk_kind_of(int dir, const struct dirent *e) {
    unsigned char type = ch_entry_type(dir, e);

    return type == DT_REG   ? CH_WALK_FILE
           : type == DT_DIR ? CH_WALK_DIR
           : type == DT_LNK ? CH_WALK_LINK
                            : CH_WALK_OTHER;
}

static bool walk_is_wanted(const struct ch_walk *w, const char *name) {
    if (name[0] != '.')
        return true;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, ".git") == 0)
        return false;
    return w->opts.hidden;
}

static void walk_add_name(struct frame *f, const struct dirent *e) {
    CH_GROW(f->names, f->n, f->cap, 32);
    f->names[f->n++] = (struct name){
        .text = ch_arena_str(&f->arena, ch_sv_str(e->d_name)),
        .kind = ch_walk_kind_of(dirfd(f->dir), e),
    };
}

static int walk_by_text(const void *a, const void *b) {
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static int walk_read_names(struct ch_walk *w, struct frame *f) {
    for (;;) {
        errno = 0;
        struct dirent *e = readdir(f->dir);
        if (!e) { /* on a read error, keep the names read so far */
            w->unreadable += errno != 0;
            break;
        }
        if (chela_call_cancelled(w->call))
            return -ECANCELED;
        if (!walk_is_wanted(w, e->d_name))
            continue;
        if (++w->seen > CH_LIMIT_WALK_ENTRIES) {
            w->cut = true;
            break;
        }
        walk_add_name(f, e);
    }
    if (f->n > 1)
        qsort(f->names, f->n, sizeof(*f->names), walk_by_text);
    return 0;
}

/* Push a directory; takes ownership of fd. */
static int walk_push(struct ch_walk *w, int fd) {
    struct frame *f = &w->frames[w->nframes];

    *f = (struct frame){.dir = fdopendir(fd), .path_n = w->path.n};
    if (!f->dir) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    w->nframes++;
    if (!w->opts.ignored)
        f->has_level = load_rules(w, dirfd(f->dir), RULES_NAME, f->path_n);
    return walk_read_names(w, f);
}

static void walk_pop(struct ch_walk *w) {
    struct frame *f = &w->frames[--w->nframes];

    if (f->has_level)
        ch_ignore_free(w->levels[--w->nlevels].rules);
    closedir(f->dir);
    ch_free(f->names);
    ch_arena_release(&f->arena);
}

/* --- the walk ------------------------------------------------------------ */

static int walk_begin(struct ch_walk *w, const char *given) {
    const char *workspace = chela_call_workspace(w->call);
    CH_BUF_AUTO rel = {0};

    int rc = ch_path_inside(workspace, given, &rel);
    if (rc < 0)
        return rc;
    int fd = ch_path_open_shown(&w->call->guard, given, O_DIRECTORY);
    if (fd < 0)
        return fd;
    if (rel.n > 1 && rel.p[rel.n - 1] == '/')
        rel.n--;
    if (!ch_sv_is(ch_buf_sv(&rel), ".")) {
        ch_buf_add_sv(&w->path, ch_buf_sv(&rel));
        ch_buf_addc(&w->path, '/');
    }
    w->start_n = w->path.n;
    rc = w->opts.ignored ? 0 : load_parents(w, ch_buf_str(&w->path));
    if (rc < 0) {
        close(fd);
        return rc;
    }
    return walk_push(w, fd);
}

int ch_walk_new(const chela_call *call, const char *given, const struct ch_walk_opts *opts,
                struct ch_walk **out) {
    struct ch_walk *w = ch_alloc(sizeof(*w));

    w->call = call;
    w->opts = *opts;
    int rc = walk_begin(w, given);
    if (rc < 0)
        ch_walk_free(w);
    else
        *out = w;
    return rc;
}

void ch_walk_free(struct ch_walk *w) {
    if (!w)
        return;
    while (w->nframes)
        walk_pop(w);
    while (w->nlevels)
        ch_ignore_free(w->levels[--w->nlevels].rules);
    ch_free(w->levels);
    ch_buf_release(&w->path);
    ch_free(w);
}

/* Enter the last returned directory. Directories that are hidden from tools are skipped; those
 * that cannot be opened are counted, too. */
static int walk_enter(struct ch_walk *w) {
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct frame *f = &w->frames[w->nframes - 1];

    w->enter = false;
    if (w->nframes == CH_LIMIT_WALK_DEPTH || w->path.n > CH_LIMIT_PATH) {
        w->too_deep++;
        return 0;
    }
    int fd = openat(dirfd(f->dir), f->names[f->next - 1].text, flags);
    if (fd >= 0 && ch_path_is_listed(w->call->guard.hide, fd)) {
        close(fd);
        return 0;
    }
    ch_buf_addc(&w->path, '/');
    int rc = fd < 0 ? -errno : walk_push(w, fd);
    if (rc == 0 || rc == -ECANCELED)
        return rc;
    w->unreadable++;
    return 0;
}

static bool walk_take(struct ch_walk *w, struct frame *f, struct ch_walk_entry *e) {
    const struct name *name = &f->names[f->next++];

    w->path.n = f->path_n;
    ch_buf_add_str(&w->path, name->text);
    if (is_ignored(w, name->kind == CH_WALK_DIR))
        return false;
    *e = (struct ch_walk_entry){
        .path = ch_buf_sv(&w->path),
        .below = ch_sv(w->path.p + w->start_n, w->path.n - w->start_n),
        .name = name->text,
        .dir = dirfd(f->dir),
        .kind = name->kind,
    };
    w->enter = name->kind == CH_WALK_DIR;
    return true;
}

int ch_walk_next(struct ch_walk *w, struct ch_walk_entry *e) {
    int rc = w->enter ? walk_enter(w) : 0;

    if (rc < 0)
        return rc;
    while (w->nframes) {
        struct frame *f = &w->frames[w->nframes - 1];
        if (chela_call_cancelled(w->call))
            return -ECANCELED;
        if (f->next == f->n)
            walk_pop(w);
        else if (walk_take(w, f, e))
            return 1;
    }
    return 0;
}

void ch_walk_notes(const struct ch_walk *w, struct ch_buf *out) {
    if (w->cut)
        ch_buf_addf(out, "[Stopped after %d names; start further down, with path.]\n",
                    CH_LIMIT_WALK_ENTRIES);
    if (w->too_deep)
        ch_buf_addf(out, "[%zu directories nested too deeply were left out.]\n", w->too_deep);
    if (w->unreadable)
        ch_buf_addf(out, "[%zu directories could not be read.]\n", w->unreadable);
    if (w->rules_cut)
        ch_buf_add_str(out, "[A .gitignore file is too large; only a part of it was applied.]\n");
}
