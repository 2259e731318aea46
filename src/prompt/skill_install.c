/* skill_install.c -- installs and removes skills (chela/prompt.h).
 *
 * The files are written to a new folder beside the target, which is then renamed: a skill is
 * there completely or not at all. A record in the folder has the source and the digest; only
 * folders with a record are removed. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/entry.h"
#include "base/error.h"
#include "base/file.h"
#include "chela/prompt.h"
#include "json/writer.h"
#include "prompt/skill_package.h"

static int install_unlink(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static int install_remove_tree(const char *path) {
    return nftw(path, install_unlink, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Returns 0 or a negative errno. */
static int install_write(const char *path, struct ch_sv data, bool runs) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, runs ? 0755 : 0644);
    int rc = fd < 0 ? -errno : ch_file_write(fd, data);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Makes the folders of a path below `root` bytes. Returns the error of the first that cannot be
 * made; it matters if the next open() finds no directory. */
static int install_make_folders(char *path, size_t root) {
    int why = 0;
    for (char *slash = path + root; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        if (mkdir(path, 0755) < 0 && errno != EEXIST && !why)
            why = errno;
        *slash = '/';
    }
    return why;
}

/* Returns 0 or a negative errno. */
static int install_files(const struct ch_package *p, const char *to, const char *record) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->n; i++) {
        CH_BUF_AUTO path = {0};
        ch_buf_addf(&path, "%s/%s", to, p->files[i].path);
        install_make_folders(path.p, strlen(to));
        rc = install_write(ch_buf_str(&path), p->files[i].data, p->files[i].runs);
    }
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path, "%s/" CH_SKILL_RECORD, to);
    return rc < 0 ? rc : install_write(ch_buf_str(&path), ch_sv_str(record), false);
}

static int install_put(const struct ch_package *p, const char *folder, const char *record,
                       struct chela_error *err) {
    CH_BUF_AUTO made = {0}, target = {0};
    ch_buf_addf(&target, "%s/%s", folder, p->name);
    ch_buf_addf(&made, "%s/.install-XXXXXX", folder);
    if (access(ch_buf_str(&target), F_OK) == 0)
        return ch_fail(err, CHELA_EEXIST, "there is a skill %s already: %s", p->name,
                       ch_buf_str(&target));
    int why = install_make_folders(made.p, 0);
    if (!mkdtemp(made.p) || chmod(made.p, 0755) < 0)
        return ch_fail(err, CHELA_EIO, "%s: %s", folder,
                       strerror(why && errno == ENOENT ? why : errno));
    why = -install_files(p, made.p, record);
    if (!why && rename(made.p, ch_buf_str(&target)) < 0)
        why = errno;
    if (!why)
        return 0;
    install_remove_tree(made.p);
    return ch_fail(err, why == ENOTEMPTY || why == EEXIST ? CHELA_EEXIST : CHELA_EIO, "%s: %s",
                   ch_buf_str(&target), strerror(why));
}

int chela_skill_add(const char *from, const char *folder, const char *digest, char **out,
                    struct chela_error *err) {
    struct ch_package p = {0};
    struct ch_buf json = {0};
    struct ch_jw w = ch_jw(&json);
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    CH_NEEDS_ARG(from, err);
    int rc = ch_package_read(&p, from, err);
    if (rc == 0 && digest && strcmp(digest, p.digest) != 0)
        rc = ch_fail(err, CHELA_ESTATE, "the files of %s have changed: the digest is %s", p.name,
                     p.digest);
    if (rc == 0) {
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "name", p.name);
        ch_jw_kcstr(&w, "source", from);
        ch_jw_kcstr(&w, "digest", p.digest);
        ch_jw_kint(&w, "files", (int64_t)p.n);
        ch_jw_kint(&w, "bytes", (int64_t)p.bytes);
        ch_jw_kcstr(&w, "description", p.description);
        ch_jw_kbegin(&w, "allowed_tools", '[');
        for (const char *const *tool = p.tools; *tool; tool++)
            ch_jw_cstr(&w, *tool);
        ch_jw_end(&w, ']');
        ch_jw_end(&w, '}');
    }
    if (rc == 0 && folder)
        rc = install_put(&p, folder, ch_buf_str(&json), err);
    if (rc == 0)
        *out = ch_buf_take(&json);
    ch_buf_release(&json);
    ch_package_release(&p);
    return rc;
}

int chela_skill_remove(const char *folder, const char *name, struct chela_error *err) {
    CH_BUF_AUTO path = {0}, record = {0};
    struct stat st;
    CH_NEEDS_ARG(folder, err);
    CH_NEEDS_ARG(name, err);
    if (!*name || strchr(name, '/') || name[0] == '.')
        return ch_fail(err, CHELA_EINVAL, "'%s' is not the name of a skill", name);
    ch_buf_addf(&path, "%s/%s", folder, name);
    ch_buf_addf(&record, "%s/" CH_SKILL_RECORD, ch_buf_str(&path));
    if (lstat(ch_buf_str(&path), &st) < 0)
        return ch_fail(err, CHELA_ENOENT, "there is no skill %s in %s", name, folder);
    if (!S_ISDIR(st.st_mode) || access(ch_buf_str(&record), F_OK) < 0)
        return ch_fail(err, CHELA_EPERM,
                       "%s was not installed with 'chela skills add': delete it yourself",
                       ch_buf_str(&path));
    return install_remove_tree(ch_buf_str(&path)) == 0
               ? 0
               : ch_fail(err, CHELA_EIO, "%s: %s", ch_buf_str(&path), strerror(errno));
}
