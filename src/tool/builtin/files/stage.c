/* stage.c -- see stage.h. */
#include "base/grow.h"
#include "tool/call/call_path.h"
#include "tool/builtin/files/stage.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/mem.h"

struct ch_change {
    struct ch_place place;
    char temp[CH_TEMP_NAME]; /* file with the new content; "" for a removal, or once renamed */
    char kept[CH_TEMP_NAME]; /* name of the saved old file; "" if none, or not saved yet */
    struct stat expect;
    bool fresh; /* the file must not exist */
    bool done;
};

/* --- directories --------------------------------------------------------- */

static int stage_make_directory(struct ch_stage *s, const char *path) {
    struct ch_place place;

    int fd = ch_path_open(chela_call_workspace(s->call), path, O_DIRECTORY);
    if (fd >= 0)
        close(fd);
    if (fd != -ENOENT)
        return fd < 0 ? fd : 0;
    int rc = ch_call_path_place(s->call, path, CH_MAKING_DIRECTORY, false, &place);
    if (rc == 0 && mkdirat(place.dir, place.leaf, 0777) < 0)
        rc = -errno;
    ch_place_release(&place);
    if (rc == 0)
        ch_buf_add(&s->made, path, strlen(path) + 1);
    return rc == -EEXIST ? 0 : rc;
}

/* Create missing parent directories one by one, so that each can be removed again. */
static int stage_make_directories(struct ch_stage *s, const char *path) {
    CH_BUF_AUTO rel = {0}, part = {0};

    int rc = ch_path_inside(chela_call_workspace(s->call), path, &rel);
    struct ch_sv rest = ch_buf_sv(&rel);
    while (rc == 0) {
        struct ch_sv name = ch_sv_split(&rest, '/');
        if (!rest.p)
            return 0;
        ch_buf_addf(&part, "%s%.*s", part.n ? "/" : "", CH_SV_FMT(name));
        rc = stage_make_directory(s, ch_buf_str(&part));
    }
    return rc;
}

static void remove_directory(struct ch_stage *s, const char *path) {
    struct ch_place place;

    if (ch_call_path_place(s->call, path, CH_MAKING_DIRECTORY, false, &place) == 0)
        unlinkat(place.dir, place.leaf, AT_REMOVEDIR);
    ch_place_release(&place);
}

/* Remove created directories, last first. A directory that is not empty is in use and
 * stays. */
static void remove_directories(struct ch_stage *s) {
    while (s->made.n) {
        size_t from = s->made.n - 1;
        while (from > 0 && s->made.p[from - 1])
            from--;
        remove_directory(s, s->made.p + from);
        s->made.n = from;
    }
}

/* --- preparing ----------------------------------------------------------- */

static struct ch_change *stage_add(struct ch_stage *s) {
    CH_GROW(s->changes, s->n, s->cap, 8);
    struct ch_change *c = &s->changes[s->n++];
    *c = (struct ch_change){.place = {.dir = -1}};
    return c;
}

/* Check that the file on disk is the expected one. */
static int stage_check(const struct ch_change *c) {
    struct stat now;
    int there = ch_file_look(&c->place, &now);

    if (there < 0)
        return there;
    if (c->fresh)
        return there ? -EEXIST : 0;
    return there && ch_file_same(&now, &c->expect) ? 0 : -EBUSY;
}

static int stage_begin(struct ch_stage *s, struct ch_change *c, const char *path,
                       const struct stat *expect) {
    c->fresh = !expect;
    if (expect)
        c->expect = *expect;
    int rc = expect ? 0 : stage_make_directories(s, path);
    if (rc == 0)
        rc = ch_call_path_place(s->call, path, CH_MAKING_FILE, false, &c->place);
    return rc < 0 ? rc : stage_check(c);
}

int ch_stage_write(struct ch_stage *s, const char *path, const struct stat *expect,
                   const struct stat *like, struct ch_sv content) {
    struct ch_change *c = stage_add(s);
    int rc = stage_begin(s, c, path, expect);

    if (rc == 0)
        rc = ch_file_temp(s->call, &c->place, like, content, c->temp);
    if (rc < 0)
        c->temp[0] = '\0';
    return rc;
}

int ch_stage_remove(struct ch_stage *s, const char *path, const struct stat *expect) {
    return stage_begin(s, stage_add(s), path, expect);
}

/* --- commit and undo ----------------------------------------------------- */

/* Save the old file under another name for undo. On file systems without hard links the
 * file is renamed, so its path is briefly missing. */
static int keep_old(struct ch_change *c) {
    const struct ch_place *p = &c->place;
    uint64_t r;

    if (getrandom(&r, sizeof(r), 0) != (ssize_t)sizeof(r))
        return -EIO;
    snprintf(c->kept, sizeof(c->kept), ".chela-%016llx.old", (unsigned long long)r);
    if (c->temp[0] && linkat(p->dir, p->leaf, p->dir, c->kept, 0) == 0)
        return 0;
    if (renameat(p->dir, p->leaf, p->dir, c->kept) == 0)
        return 0;
    int rc = -errno;
    c->kept[0] = '\0';
    return rc;
}

static int stage_put_new(struct ch_change *c) {
    const struct ch_place *p = &c->place;
    int rc = renameat2(p->dir, c->temp, p->dir, p->leaf, c->fresh ? RENAME_NOREPLACE : 0);

    if (rc < 0 && errno == EINVAL) /* this file system does not support RENAME_NOREPLACE */
        rc = renameat(p->dir, c->temp, p->dir, p->leaf);
    if (rc < 0)
        return -errno;
    c->temp[0] = '\0';
    return 0;
}

static void stage_undo(struct ch_change *c) {
    const struct ch_place *p = &c->place;

    if (c->kept[0] && renameat(p->dir, c->kept, p->dir, p->leaf) == 0) {
        /* rename of two links to one file does nothing: remove the second link */
        unlinkat(p->dir, c->kept, 0);
        c->kept[0] = '\0';
    } else if (c->done && c->fresh) {
        unlinkat(p->dir, p->leaf, 0);
    }
    c->done = false;
}

static int commit(struct ch_change *c) {
    int rc = stage_check(c);

    if (rc == 0 && !c->fresh)
        rc = keep_old(c);
    if (rc == 0 && c->temp[0])
        rc = stage_put_new(c);
    c->done = rc == 0;
    return rc;
}

int ch_stage_commit(struct ch_stage *s, size_t *failed) {
    size_t i = 0;
    int rc = 0;

    for (; i < s->n; i++) {
        rc = chela_call_cancelled(s->call) ? -ECANCELED : commit(&s->changes[i]);
        if (rc < 0)
            break;
    }
    if (rc == 0) {
        s->made.n = 0; /* keep the created directories */
        return 0;
    }
    *failed = i;
    for (size_t k = CH_MIN(i + 1, s->n); k > 0; k--)
        stage_undo(&s->changes[k - 1]);
    return rc;
}

void ch_stage_release(struct ch_stage *s) {
    for (size_t i = 0; i < s->n; i++) {
        struct ch_change *c = &s->changes[i];
        if (c->temp[0])
            unlinkat(c->place.dir, c->temp, 0);
        if (c->kept[0] && c->done)
            unlinkat(c->place.dir, c->kept, 0);
        ch_place_release(&c->place);
    }
    remove_directories(s);
    ch_free(s->changes);
    ch_buf_release(&s->made);
    *s = (struct ch_stage){0};
}
