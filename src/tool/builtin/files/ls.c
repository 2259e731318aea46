/* ls.c -- the tool `ls`: the names in one directory. */
#include "tool/builtin/files/ls.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/grow.h"
#include "base/limits.h"
#include "tool/builtin/files/page.h"
#include "tool/builtin/files/walk.h"
#include "tool/call/call.h"
#include "tool/call/call_path.h"
#include "json/writer.h"
#include "tool/call/call_view.h"

#define NOTES 200 /* characters reserved for notes after the names */

static const char *const path_names[] = {"path", "file_path", "directory", "dir", NULL};

static const char *const kind_names[] = {[CH_WALK_FILE] = "file",
                                         [CH_WALK_DIR] = "directory",
                                         [CH_WALK_LINK] = "link",
                                         [CH_WALK_OTHER] = "other"};

struct entry {
    const char *name; /* in the arena */
    enum ch_walk_kind kind;
};

struct listing {
    struct ch_arena arena;
    struct entry *entries; /* owned */
    size_t n, cap;
    bool more; /* more entries than CH_LIMIT_LS_SCAN */
};

static void ls_add(struct listing *l, int dir, const struct dirent *e) {
    CH_GROW(l->entries, l->n, l->cap, 64);
    l->entries[l->n++] = (struct entry){
        .name = ch_arena_str(&l->arena, ch_sv_str(e->d_name)),
        .kind = ch_walk_kind_of(dir, e),
    };
}

static int ls_read_names(const chela_call *call, DIR *d, struct listing *l) {
    struct dirent *e;

    for (;;) {
        errno = 0;
        e = readdir(d);
        if (!e)
            return -errno;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (chela_call_cancelled(call))
            return -ECANCELED;
        if (l->n == CH_LIMIT_LS_SCAN) {
            l->more = true;
            return 0;
        }
        ls_add(l, dirfd(d), e);
    }
}

static int ls_by_name(const void *a, const void *b) {
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static int ls_list(chela_call *call, const char *path, struct listing *l) {
    int fd = ch_path_open_shown(&call->guard, path, O_DIRECTORY);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);

    if (!d) {
        int rc = fd < 0 ? fd : -errno;
        if (fd >= 0)
            close(fd);
        return rc;
    }
    int rc = ls_read_names(call, d, l);
    closedir(d);
    if (rc == 0 && l->n > 0)
        qsort(l->entries, l->n, sizeof(*l->entries), ls_by_name);
    return rc;
}

static bool ls_add_line(struct ch_page *page, const struct entry *e) {
    CH_BUF_AUTO line = {0};

    ch_buf_add_str(&line, e->name);
    if (e->kind == CH_WALK_DIR)
        ch_buf_addc(&line, '/');
    return ch_page_add(page, ch_buf_sv(&line));
}

static void ls_add_entry(struct ch_jw *w, const struct entry *e) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", e->name);
    ch_jw_kcstr(w, "type", kind_names[e->kind]);
    ch_jw_end(w, '}');
}

static void ls_show(chela_call *call, const struct listing *l) {
    struct ch_page page;
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    size_t shown = 0;

    ch_page_init(&page, ch_call_room(call), NOTES);
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "entries", '[');
    for (; shown < l->n && shown < CH_LIMIT_LS_ENTRIES; shown++) {
        if (!ls_add_line(&page, &l->entries[shown]))
            break;
        ls_add_entry(&w, &l->entries[shown]);
    }
    ch_jw_end(&w, ']');
    if (shown < l->n)
        ch_jw_kint(&w, "omitted", (int64_t)(l->n - shown));
    ch_jw_end(&w, '}');
    if (l->n == 0)
        ch_buf_add_str(&page.text, "(The directory is empty.)");
    if (shown < l->n)
        ch_buf_addf(&page.text,
                    "[%s%zu more entries are not shown; list a directory below this one.]\n",
                    l->more ? "more than " : "", l->n - shown);
    chela_result_text(call, ch_buf_str(&page.text), page.text.n);
    chela_result_details(call, ch_buf_str(&json));
    ch_page_release(&page);
}

int ch_ls_run(chela_call *call, void *user) {
    struct listing l = {0};
    const char *path = ".";

    (void)user;
    int rc = chela_arg_string_opt(call, ch_arg_name(call, path_names), &path);
    if (rc < 0)
        return rc;
    if (path[0] == '\0')
        path = ".";
    rc = ls_list(call, path, &l);
    if (rc == 0)
        ls_show(call, &l);
    else if (rc == -ENOTDIR)
        chela_result_error(call, "invalid_arguments",
                           "Cannot list %s: it is not a directory; use read for files.", path);
    else
        ch_call_path_missing(call, "list", path, rc);
    ch_free(l.entries);
    ch_arena_release(&l.arena);
    return 0;
}
