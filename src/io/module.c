/* module.c -- see module.h. module_file.c loads a file. */
#include "io/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* Whether name is valid: the name becomes part of a path. */
static bool io_module_is_name(const char *name) {
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n > 0 && name[n] == '\0';
}

/* Whether modules may be in this directory. A relative path depends on the current directory,
 * whose author may be a stranger. */
static bool io_module_is_place(struct ch_sv dir) {
    return dir.n && dir.p[0] == '/';
}

/* The directory of the object that contains this code: libchela.so, or the
 * program if linked statically. For a program the linker reports argv[0], which
 * does not give its location; Linux's /proc does. Relative paths are rejected,
 * since they depend on the current directory. */
int ch_module_directory(struct ch_buf *out) {
    Dl_info info;
    char *to;

    if (dladdr((void *)(uintptr_t)ch_module_load, &info) && info.dli_fname &&
        info.dli_fname[0] == '/') {
        ch_buf_add_str(out, info.dli_fname);
    } else if ((to = ch_buf_reserve(out, 4096))) {
        ssize_t n = readlink("/proc/self/exe", to, 4096);
        ch_buf_commit(out, n > 0 ? (size_t)n : 0);
    }
    const char *slash = out->n ? memrchr(out->p, '/', out->n) : NULL;
    if (!slash)
        return CHELA_ENOENT;
    out->n = (size_t)(slash - out->p);
    out->p[out->n] = '\0';
    return CHELA_OK;
}

static int io_module_check(const struct chela_module *m, const char *name, const char *kind,
                           const char *path, struct chela_error *err) {
    if (!m)
        return ch_fail(err, CHELA_EMODULE, "%s is not a chela module: it exports no chela_module",
                       path);
    if (m->abi != CHELA_MODULE_ABI)
        return ch_fail(err, CHELA_EMODULE, "%s was built for module ABI %u, this chela has %u",
                       path, (unsigned)m->abi, (unsigned)CHELA_MODULE_ABI);
    if (strcmp(m->name, name) != 0 || strcmp(m->kind, kind) != 0)
        return ch_fail(err, CHELA_EMODULE, "%s is module %s of kind %s, not %s of kind %s", path,
                       m->name, m->kind, name, kind);
    return CHELA_OK;
}

/* Returns 1 if there is no such file; otherwise as ch_module_load. */
static int try_path(const char *path, const char *name, const char *kind, const void **ops,
                    struct chela_error *err) {
    const struct chela_module *m;
    if (access(path, F_OK) != 0)
        return 1;
    int rc = ch_module_open(path, name, &m, err);
    if (rc == CHELA_OK)
        rc = io_module_check(m, name, kind, path, err);
    if (rc == CHELA_OK)
        *ops = m->ops;
    return rc;
}

static int try_directory(struct ch_sv dir, const char *name, const char *kind, struct ch_buf *tried,
                         const void **ops, struct chela_error *err) {
    CH_BUF_AUTO path = {0};

    if (!io_module_is_place(dir))
        return 1;
    ch_buf_addf(&path, "%.*s/libchela-%s.so", CH_SV_FMT(dir), name);
    ch_buf_addf(tried, "%s%.*s", tried->n ? ", " : "", CH_SV_FMT(dir));
    return try_path(ch_buf_str(&path), name, kind, ops, err);
}

static bool is_in_directory(struct ch_sv dir, const char *name) {
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path, "%.*s/libchela-%s.so", CH_SV_FMT(dir), name);
    return io_module_is_place(dir) && access(ch_buf_str(&path), F_OK) == 0;
}

bool ch_module_is_installed(const char *name, const char *search_path) {
    CH_BUF_AUTO own = {0};
    struct ch_sv rest = ch_sv_str(search_path);
    const struct chela_module *m;
    if (!io_module_is_name(name))
        return false;
    int linked = ch_module_linked(name, &m, NULL);
    if (linked <= 0)
        return linked == 0;
    while (rest.p)
        if (is_in_directory(ch_sv_split(&rest, ':'), name))
            return true;
    if (ch_module_directory(&own) < 0)
        return false;
    if (is_in_directory(ch_buf_sv(&own), name))
        return true;
    CH_BUF_LIT(&own, "/chela");
    return is_in_directory(ch_buf_sv(&own), name);
}

int ch_module_load(const char *name, const char *kind, const char *search_path, const void **ops,
                   struct chela_error *err) {
    CH_BUF_AUTO tried = {0};
    CH_BUF_AUTO own = {0};
    struct ch_sv rest = ch_sv_str(search_path);
    const struct chela_module *m;

    if (!io_module_is_name(name))
        return ch_fail(err, CHELA_EINVAL, "bad module name");
    int rc = ch_module_linked(name, &m, err);
    if (rc == 0 && (rc = io_module_check(m, name, kind, name, err)) == 0)
        *ops = m->ops;
    while (rc == 1 && rest.p)
        rc = try_directory(ch_sv_split(&rest, ':'), name, kind, &tried, ops, err);
    if (rc == 1 && ch_module_directory(&own) == CHELA_OK) {
        rc = try_directory(ch_buf_sv(&own), name, kind, &tried, ops, err);
        CH_BUF_LIT(&own, "/chela");
        if (rc == 1)
            rc = try_directory(ch_buf_sv(&own), name, kind, &tried, ops, err);
    }
    if (rc != 1)
        return rc;
    return ch_fail(err, CHELA_EMODULE,
                   "libchela-%s.so was not found in %s: install it, or name its directory in "
                   "CHELA_MODULE_PATH",
                   name, ch_buf_str(&tried));
}
