/* layer.c -- see layer.h. */
#include "layer/layer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "layer/commit.h"
#include "layer/walk.h"
#include "json/writer.h"

#define DIGITS 24 /* of the digest in the name of a layer */
#define META "layer.json"

const char *ch_layer_home(struct ch_arena *a) {
    return ch_state_part(a, "layers");
}

const char *ch_state_part(struct ch_arena *a, const char *part) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (state && state[0] == '/')
        return ch_arena_printf(a, "%s/chela/%s", state, part);
    return home && home[0] == '/' ? ch_arena_printf(a, "%s/.local/state/chela/%s", home, part)
                                  : NULL;
}

static int no_layer(const struct ch_layer_opts *o, struct chela_error *err) {
    return ch_fail(err, CHELA_ENOENT, "the session %.120s has no changes that wait for review%s%s",
                   o->session, o->workspace ? " in " : "", o->workspace ? o->workspace : "");
}

/* --- finding */

static const char *path_for(struct ch_arena *a, const char *home, const char *workspace,
                            const char *session) {
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    struct ch_sha256 h;

    ch_sha256_init(&h);
    ch_sha256_add(&h, workspace, strlen(workspace) + 1);
    ch_sha256_add(&h, session, strlen(session));
    ch_sha256_end(&h, digest);
    ch_sha256_hex(digest, hex);
    return ch_arena_printf(a, "%s/%.*s", home, DIGITS, hex);
}

struct meta {
    const char *workspace, *session;
    enum ch_layer_apply apply;
    const char *const *protect;
};

static int read_meta(struct ch_arena *a, const char *dir, struct meta *out,
                     struct chela_error *err) {
    const char *path = ch_arena_printf(a, "%s/%s", dir, META);
    const struct ch_json *v, *list;
    CH_BUF_AUTO text = {0};

    int rc = ch_file_load(path, CH_LIMIT_LAYER_RECORDS, &text, err);
    if (rc < 0)
        return rc;
    rc = ch_json_parse(a, ch_arena_sv(a, ch_buf_sv(&text)), CH_JSON_STRICT, &v, NULL, err);
    struct ch_sv workspace = ch_json_get_str(v, "workspace"), key = ch_json_get_str(v, "session");
    if (rc < 0 || !workspace.n || !key.n)
        return ch_fail(err, CHELA_EPARSE, "%s is damaged", path);
    *out = (struct meta){.workspace = ch_arena_str(a, workspace),
                         .session = ch_arena_str(a, key),
                         .apply = ch_sv_is(ch_json_get_str(v, "apply"), "never") ? CH_LAYER_NEVER
                                                                                 : CH_LAYER_REVIEW};
    list = ch_json_get(v, "protect");
    const char **protect = ch_arena_zalloc(a, ((list ? list->n : 0) + 1) * sizeof(*protect));
    size_t n = 0;
    for (CH_JSON_EACH(e, list))
        protect[n++] = ch_arena_str(a, ch_json_str(e));
    out->protect = protect;
    return 0;
}

static int write_meta(const struct ch_work_layer *l, const struct ch_layer_opts *o,
                      struct chela_error *err) {
    CH_BUF_AUTO text = {0}, path = {0};
    struct ch_jw w = ch_jw(&text);

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "workspace", l->workspace);
    ch_jw_kcstr(&w, "session", l->session);
    ch_jw_kcstr(&w, "apply", o->apply == CH_LAYER_NEVER ? "never" : "review");
    ch_jw_kbegin(&w, "protect", '[');
    for (const char *const *p = o->protect; p && *p; p++)
        ch_jw_cstr(&w, *p);
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    ch_buf_addf(&path, "%s/%s", l->dir, META);
    return ch_file_save(ch_buf_str(&path), ch_buf_sv(&text), err);
}

/* The only layer of the session, whatever its workspace. */
static int find_only(struct ch_arena *a, const char *home, const char *session, const char **out,
                     struct chela_error *err) {
    DIR *d = opendir(home);
    struct dirent *e;
    struct meta m;
    int found = 0;

    while (d && (e = readdir(d))) {
        const char *dir = ch_arena_printf(a, "%s/%s", home, e->d_name);
        if (e->d_name[0] == '.' || read_meta(a, dir, &m, NULL) < 0 ||
            strcmp(m.session, session) != 0)
            continue;
        *out = dir;
        found++;
    }
    if (d)
        closedir(d);
    if (found > 1)
        return ch_fail(err, CHELA_EINVAL,
                       "the session %.120s has changes in %d workspaces: name one with --workspace",
                       session, found);
    return found ? 0 : CHELA_ENOENT;
}

/* --- opening */

static int layer_fail(const struct ch_work_layer *l, const char *what, struct chela_error *err) {
    return ch_fail(err, errno == ENOSPC ? CHELA_ELIMIT : CHELA_EIO, "the layer %s: %s: %s", l->dir,
                   what, strerror(errno));
}

static int layer_lock(struct ch_work_layer *l, struct chela_error *err) {
    l->fd = open(l->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (l->fd >= 0)
        l->lock = openat(l->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (l->lock < 0)
        return layer_fail(l, "lock", err);
    if (flock(l->lock, LOCK_EX | LOCK_NB) == 0)
        return 0;
    return errno == EWOULDBLOCK
               ? ch_fail(err, CHELA_EBUSY,
                         "the session %.120s is at work on its changes: wait for the end of the "
                         "run and of its background processes",
                         l->session)
               : layer_fail(l, "lock", err);
}

int ch_state_make(const char *home) {
    CH_BUF_AUTO path = {0};

    for (const char *at = home; *at; at++) {
        if (*at == '/' && at != home && mkdir(ch_buf_str(&path), 0700) < 0 && errno != EEXIST)
            return -errno;
        ch_buf_addc(&path, *at);
    }
    return mkdir(home, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* The directory of the changes has the owner and the mode of the workspace, because the mounted
 * layer shows them. */
static int make_parts(struct ch_work_layer *l, struct chela_error *err) {
    struct stat st;

    if ((mkdirat(l->fd, "upper", 0700) < 0 || mkdirat(l->fd, "work", 0700) < 0) && errno != EEXIST)
        return layer_fail(l, "make", err);
    l->upper = openat(l->fd, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    l->real = open(l->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (l->upper < 0)
        return layer_fail(l, "upper", err);
    if (l->real < 0 || fstat(l->real, &st) < 0)
        return ch_fail(err, CHELA_ENOENT, "the workspace %s: %s", l->workspace, strerror(errno));
    if (geteuid() == 0 && fchown(l->upper, st.st_uid, st.st_gid) < 0)
        return layer_fail(l, "upper", err);
    return fchmod(l->upper, st.st_mode & 07777) < 0 ? layer_fail(l, "upper", err) : 0;
}

static int layer_make(struct ch_work_layer *l, const char *home, const struct ch_layer_opts *o,
                      struct chela_error *err) {
    int rc = ch_state_make(home);

    if (rc < 0)
        return ch_fail(err, CHELA_EIO, "%s cannot be made: %s (set XDG_STATE_HOME)", home,
                       strerror(-rc));
    if (mkdir(l->dir, 0700) < 0 && errno != EEXIST)
        return layer_fail(l, "make", err);
    return write_meta(l, o, err);
}

static int layer_find(struct ch_work_layer *l, const struct ch_layer_opts *o, const char *home,
                      struct chela_error *err) {
    struct meta m;
    int rc = 0;

    if (o->workspace) {
        char *real = realpath(o->workspace, NULL);
        if (!real)
            return ch_fail(err, CHELA_ENOENT, "the workspace %s: %s", o->workspace,
                           strerror(errno));
        l->workspace = ch_arena_str(&l->arena, ch_sv_str(real));
        l->dir = path_for(&l->arena, home, real, o->session);
        free(real);
    } else {
        rc = find_only(&l->arena, home, o->session, &l->dir, err);
    }
    if (rc == CHELA_ENOENT)
        return no_layer(o, err);
    if (rc < 0)
        return rc;
    l->session = ch_arena_str(&l->arena, ch_sv_str(o->session));
    rc = read_meta(&l->arena, l->dir, &m, err);
    if (rc == 0 && o->create && m.apply != o->apply) {
        rc = write_meta(l, o, err);
        m.apply = o->apply;
    }
    if (rc == CHELA_ENOENT && o->create) {
        rc = layer_make(l, home, o, err);
        if (rc == 0)
            rc = read_meta(&l->arena, l->dir, &m, err);
    }
    if (rc == CHELA_ENOENT)
        return no_layer(o, err);
    if (rc < 0)
        return rc;
    l->workspace = m.workspace;
    l->apply = m.apply;
    l->protect = m.protect;
    return 0;
}

int ch_layer_open(const struct ch_layer_opts *o, struct ch_work_layer **out,
                  struct chela_error *err) {
    struct ch_work_layer *l = ch_alloc(sizeof(*l));
    const char *home = ch_layer_home(&l->arena);

    l->fd = l->lock = l->upper = l->real = -1;
    int rc = home ? layer_find(l, o, home, err)
                  : ch_fail(err, CHELA_EIO,
                            "there is no directory for layers: set HOME, or "
                            "XDG_STATE_HOME");
    if (rc == 0)
        rc = layer_lock(l, err);
    if (rc == 0)
        rc = make_parts(l, err);
    if (rc == 0)
        rc = ch_commit_finish(l, err);
    if (rc < 0) {
        ch_layer_close(l);
        return rc;
    }
    *out = l;
    return 0;
}

bool ch_layer_exists(const char *workspace, const char *session, enum ch_layer_apply *apply) {
    CH_ARENA_AUTO a = {0};
    const char *home = ch_layer_home(&a);
    char *real = home ? realpath(workspace, NULL) : NULL;
    struct meta m;

    bool exists = real && read_meta(&a, path_for(&a, home, real, session), &m, NULL) == 0;
    free(real);
    if (exists)
        *apply = m.apply;
    return exists;
}

void ch_layer_close(struct ch_work_layer *l) {
    if (!l)
        return;
    const int fds[] = {l->upper, l->real, l->fd, l->lock};
    for (size_t i = 0; i < CH_LEN(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    ch_arena_release(&l->arena);
    ch_free(l);
}

int ch_layer_remove(struct ch_work_layer *l, struct chela_error *err) {
    int rc = ch_layer_erase(AT_FDCWD, l->dir);

    return rc < 0 ? ch_fail(err, CHELA_EIO, "the layer %s: %s", l->dir, strerror(-rc)) : 0;
}

/* --- all layers */

void ch_layers_each(ch_layer_fn *fn, void *user) {
    struct ch_arena a = {0};
    const char *home = ch_layer_home(&a);
    DIR *d = home ? opendir(home) : NULL;

    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        const char *dir = ch_arena_printf(&a, "%s/%s", home, e->d_name);
        int lock = open(ch_arena_printf(&a, "%s/lock", dir), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        bool in_use = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) < 0;
        if (lock >= 0)
            close(lock);
        fn(dir, in_use, user);
    }
    if (d)
        closedir(d);
    ch_arena_release(&a);
}

static void recover_one(const char *dir, bool in_use, void *user) {
    CH_ARENA_AUTO a = {0};
    struct chela_error err = {0};
    struct ch_work_layer *l;
    struct meta m;

    (void)user;
    if (in_use || !ch_commit_pending(dir) || read_meta(&a, dir, &m, NULL) < 0)
        return;
    struct ch_layer_opts o = {.workspace = m.workspace, .session = m.session};
    if (ch_layer_open(&o, &l, &err) == 0)
        ch_layer_close(l);
    else
        ch_log(CH_LOG_WARN, "layer", "an interrupted commit was not finished: %s", err.message);
}

void ch_layers_recover(void) {
    ch_layers_each(recover_one, NULL);
}
