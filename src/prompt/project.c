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

/* A descriptor of the regular file, or -1 and *why; *why stays NULL if the file does not
 * exist. */
static int project_open_file(const char *workspace, const char *name, struct stat *st,
                             const char **why) {
    int fd = ch_path_open(workspace, name, 0);
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

static void project_load(struct ch_project *p, struct ch_project_file *f, const char *workspace,
                         size_t max) {
    struct stat st;
    CH_BUF_AUTO bytes = {0};
    CH_BUF_AUTO text = {0};
    int fd = project_open_file(workspace, f->name, &st, &f->problem);
    if (fd < 0)
        return;
    f->stamp = stamp_of(&st);
    f->size = (size_t)st.st_size;
    f->untrusted = is_untrusted(f->name, &st);
    project_read_some(fd, max, &bytes);
    close(fd);
    if (bytes.n && memchr(bytes.p, '\0', bytes.n)) {
        f->problem = "it is no text";
        return;
    }
    struct ch_sv some = ch_utf8_cut(ch_buf_sv(&bytes), bytes.n);
    ch_utf8_add_valid(&text, ch_sv_trim(some));
    f->text = ch_arena_sv(&p->arena, ch_buf_sv(&text));
}

void ch_project_load(struct ch_project *p, const struct ch_project_opts *o) {
    static const char *const usual[] = {"AGENTS.md", "SOUL.md",   "TOOLS.md",
                                        "USER.md",   "MEMORY.md", NULL};
    const char *const *names = o->names ? o->names : usual;
    size_t each = o->each ? o->each : CH_DEFAULT_PROJECT_FILE;
    size_t left = o->all ? o->all : CH_DEFAULT_PROJECT_FILES;
    ch_project_release(p);
    p->files = ch_arena_zalloc(&p->arena, CH_LIMIT_PROJECT_NAMES * sizeof(*p->files));
    for (; *names && p->n < CH_LIMIT_PROJECT_NAMES; names++) {
        struct ch_project_file *f = &p->files[p->n++];
        f->name = ch_arena_str(&p->arena, ch_sv_str(*names));
        project_load(p, f, o->workspace, CH_MIN(CH_MIN(each, left), CH_LIMIT_PROJECT_FILE));
        left -= CH_MIN(left, f->text.n);
    }
}

void ch_project_release(struct ch_project *p) {
    ch_arena_release(&p->arena);
    *p = (struct ch_project){0};
}

void ch_project_describe(const struct ch_project_file *f, struct ch_buf *out) {
    if (!f->text.n)
        return;
    ch_buf_addf(out, "<project_file name=\"%s\"%s>\n", f->name,
                f->untrusted ? " untrusted=\"true\"" : "");
    ch_envelope_quote(f->text, out);
    if (f->size > f->text.n + 64) /* trimmed white space needs no note */
        ch_buf_addf(out, "\n[%zu of %zu bytes: read the file for the rest]", f->text.n, f->size);
    ch_buf_add_str(out, "\n</project_file>");
}

void ch_project_changes(struct ch_project *p, const char *workspace, struct ch_buf *out) {
    for (size_t i = 0; i < p->n; i++) {
        struct stat st;
        const char *why;
        struct ch_project_stamp now = {0};
        int fd = project_open_file(workspace, p->files[i].name, &st, &why);
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
