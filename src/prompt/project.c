/* project.c -- see project.h. */
#include "prompt/project.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "prompt/envelope.h"
#include "tool/process/path.h"

/* Most of these files do not exist, which one system call shows instead of three. */
static bool is_missing(const char *dir, const char *name) {
    CH_BUF_AUTO path = {0};
    struct stat st;
    if (strchr(name, '/'))
        return false;
    ch_buf_addf(&path, "%s/%s", dir, name);
    return lstat(ch_buf_str(&path), &st) < 0 && errno == ENOENT;
}

/* A descriptor of the regular file, or -1 and *why; *why stays NULL if the file does not
 * exist. */
static int project_open_file(const char *workspace, const char *name, struct stat *st,
                             const char **why) {
    int fd = is_missing(workspace, name) ? -ENOENT : ch_path_open(workspace, name, 0);
    *why = fd == -EXDEV ? "it is outside of the workspace" : fd < 0 ? strerror(-fd) : NULL;
    if (fd == -ENOENT)
        *why = NULL;
    if (fd < 0)
        return -1;
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
        return fd;
    *why = "it is no file";
    close(fd);
    return -1;
}

static struct ch_project_stamp stamp_of(const struct stat *st) {
    return (struct ch_project_stamp){st->st_ino, st->st_size, st->st_mtim};
}

static bool is_same(const struct ch_project_stamp *a, const struct ch_project_stamp *b) {
    return a->inode == b->inode && a->size == b->size && a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Models write notes; a file that others can write may contain anything. */
static bool is_untrusted(const char *name, const struct stat *st) {
    return strcmp(name, "MEMORY.md") == 0 || st->st_mode & S_IWOTH ||
           (st->st_uid != getuid() && st->st_uid != 0);
}

static void project_read_some(int fd, size_t max, struct ch_buf *out) {
    char *room = ch_buf_reserve(out, max);
    ssize_t n = 1;
    for (size_t got = 0; room && got < max && n > 0; got += n > 0 ? (size_t)n : 0) {
        n = read(fd, room + got, max - got);
        if (n > 0)
            ch_buf_commit(out, (size_t)n);
    }
}

static void project_load(struct ch_arena *a, struct ch_project_file *f, size_t max) {
    struct stat st;
    CH_BUF_AUTO bytes = {0};
    CH_BUF_AUTO text = {0};
    int fd = project_open_file(f->dir, f->leaf, &st, &f->problem);
    if (fd < 0)
        return;
    f->stamp = stamp_of(&st);
    f->size = (size_t)st.st_size;
    f->untrusted = is_untrusted(f->leaf, &st);
    project_read_some(fd, max, &bytes);
    close(fd);
    if (bytes.n && memchr(bytes.p, '\0', bytes.n)) {
        f->problem = "it is no text";
        return;
    }
    struct ch_sv some = ch_utf8_cut(ch_buf_sv(&bytes), bytes.n);
    ch_utf8_add_valid(&text, ch_sv_trim(some));
    f->text = ch_arena_sv(a, ch_buf_sv(&text));
}

/* --- guides --------------------------------------------------------------------------- */

static const char *const guides[] = {"AGENTS.md", "CLAUDE.md", "GEMINI.md"};

/* The name of the guide in a directory; NULL: none. */
static const char *project_guide(const char *dir) {
    for (size_t i = 0; i < CH_LEN(guides); i++) {
        struct stat st;
        const char *why;
        int fd = project_open_file(dir, guides[i], &st, &why);
        if (fd >= 0)
            close(fd);
        if (fd >= 0 || why)
            return guides[i];
    }
    return NULL;
}

/* The number of directories from the workspace up to the root of its repository; 0: the
 * workspace is the root, or there is no repository of this user. */
static unsigned project_levels(const char *workspace) {
    CH_BUF_AUTO dir = {0};
    CH_BUF_AUTO git = {0};
    struct stat st;
    ch_buf_add_str(&dir, workspace);
    for (unsigned up = 0; up < CH_LIMIT_PROJECT_LEVELS; up++) {
        ch_buf_clear(&git);
        ch_buf_addf(&git, "%s/.git", ch_buf_str(&dir));
        if (lstat(ch_buf_str(&git), &st) == 0)
            return st.st_uid == getuid() || st.st_uid == 0 ? up : 0;
        while (dir.n > 1 && dir.p[dir.n - 1] != '/')
            dir.n--;
        if (dir.n <= 1)
            return 0;
        dir.p[--dir.n] = '\0';
    }
    return 0;
}

struct reading {
    struct ch_project *p;
    size_t each, left;
};

/* leaf: name of a guide in dir; NULL: another file. */
static void project_add(struct reading *r, const char *dir, const char *name, const char *leaf) {
    struct ch_project *p = r->p;
    if (p->n == CH_LIMIT_PROJECT_NAMES)
        return;
    struct ch_project_file *f = &p->files[p->n++];
    f->name = ch_arena_str(&p->arena, ch_sv_str(name));
    f->dir = dir;
    f->leaf = leaf ? leaf : f->name;
    f->guide = leaf || strcmp(name, guides[0]) == 0;
    project_load(&p->arena, f, CH_MIN(CH_MIN(r->each, r->left), CH_LIMIT_PROJECT_FILE));
    r->left -= CH_MIN(r->left, f->text.n);
}

/* The guides from the root of the repository down to the workspace. The workspace has an
 * entry in any case, so that a new file is noticed. */
static void project_add_guides(struct reading *r, const char *workspace) {
    struct ch_arena *a = &r->p->arena;
    for (unsigned up = project_levels(workspace); up > 0; up--) {
        struct ch_sv dir = ch_sv_str(workspace);
        CH_BUF_AUTO name = {0};
        for (unsigned i = 0; i < up; i++) {
            while (dir.n && dir.p[dir.n - 1] != '/')
                dir.n--;
            dir.n -= dir.n > 1;
            ch_buf_add_str(&name, "../");
        }
        const char *path = ch_arena_str(a, dir), *guide = project_guide(path);
        if (!guide)
            continue;
        ch_buf_add_str(&name, guide);
        project_add(r, path, ch_buf_str(&name), guide);
    }
    const char *guide = project_guide(workspace);
    guide = guide ? guide : guides[0];
    project_add(r, workspace, guide, guide);
}

void ch_project_load(struct ch_project *p, const struct ch_project_opts *o) {
    static const char *const usual[] = {"SOUL.md", "TOOLS.md", "USER.md", "MEMORY.md", NULL};
    struct reading r = {.p = p,
                        .each = o->each ? o->each : CH_DEFAULT_PROJECT_FILE,
                        .left = o->all ? o->all : CH_DEFAULT_PROJECT_FILES};
    ch_project_release(p);
    p->files = ch_arena_zalloc(&p->arena, CH_LIMIT_PROJECT_NAMES * sizeof(*p->files));
    const char *workspace = ch_arena_str(&p->arena, ch_sv_str(o->workspace));
    if (!o->names)
        project_add_guides(&r, workspace);
    for (const char *const *name = o->names ? o->names : usual; *name; name++)
        project_add(&r, workspace, *name, NULL);
}

/* True: the directory was looked at before, or there is no room to note it. */
static bool project_was_told(struct ch_buf *told, struct ch_sv dir) {
    size_t n = 0;
    for (size_t at = 0; at < told->n; at += strlen(told->p + at) + 1, n++)
        if (ch_sv_is(dir, told->p + at))
            return true;
    if (n == CH_LIMIT_PROJECT_NESTED)
        return true;
    ch_buf_addf(told, "%.*s%c", CH_SV_FMT(dir), '\0');
    return false;
}

static void project_tell(const char *workspace, struct ch_sv dir, struct ch_buf *out) {
    CH_ARENA_AUTO a = {0};
    const char *path = ch_arena_printf(&a, "%s/%.*s", workspace, CH_SV_FMT(dir));
    const char *guide = project_guide(path);
    if (!guide)
        return;
    struct ch_project_file f = {.name = guide, .dir = path, .leaf = guide};
    project_load(&a, &f, CH_DEFAULT_PROJECT_FILE);
    f.name = ch_arena_printf(&a, "%.*s/%s", CH_SV_FMT(dir), guide);
    if (f.text.n)
        ch_buf_add_str(out, "\n\n");
    ch_project_describe(&f, out);
}

void ch_project_nested(const char *workspace, struct ch_sv given, struct ch_buf *told,
                       struct ch_buf *out) {
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO rel = {0};
    if (ch_path_inside(workspace, ch_arena_str(&a, given), &rel) < 0)
        return;
    const char *path = ch_buf_str(&rel);
    for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
        struct ch_sv dir = ch_sv(path, (size_t)(slash - path));
        if (dir.n && !project_was_told(told, dir))
            project_tell(workspace, dir, out);
    }
}

void ch_project_release(struct ch_project *p) {
    ch_arena_release(&p->arena);
    *p = (struct ch_project){0};
}

void ch_project_describe(const struct ch_project_file *f, struct ch_buf *out) {
    if (!f->text.n)
        return;
    ch_buf_add_str(out, "<project_file name=\"");
    ch_envelope_quote(ch_sv_str(f->name), out);
    ch_buf_addf(out, "\"%s>\n", f->untrusted ? " untrusted=\"true\"" : "");
    ch_envelope_quote(f->text, out);
    if (f->size > f->text.n + 64) /* trimmed white space needs no note */
        ch_buf_addf(out, "\n[%zu of %zu bytes: read the file for the rest]", f->text.n, f->size);
    ch_buf_add_str(out, "\n</project_file>");
}

void ch_project_changes(struct ch_project *p, struct ch_buf *out) {
    for (size_t i = 0; i < p->n; i++) {
        struct stat st;
        const char *why;
        struct ch_project_stamp now = {0};
        int fd = project_open_file(p->files[i].dir, p->files[i].leaf, &st, &why);
        if (fd >= 0) {
            now = stamp_of(&st);
            close(fd);
        }
        if (is_same(&now, &p->files[i].stamp))
            continue;
        ch_buf_addf(out, "%s%s", out->n ? ", " : "", p->files[i].name);
        p->files[i].stamp = now;
    }
}
