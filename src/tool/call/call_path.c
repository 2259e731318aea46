/* call_path.c -- see call_path.h. */
#include "tool/call/call_path.h"

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "tool/call/call.h"
#include "tool/result/similar.h"

int ch_call_path_place(const chela_call *call, const char *given, enum ch_making what, bool create,
                       struct ch_place *out) {
    struct ch_path_guard guard = call->guard;

    guard.what = what;
    return ch_path_place(call->workspace, &guard, given, create, out);
}

struct reason {
    int error;
    const char *type, *text;
};

static const struct reason reasons[] = {
    {EXDEV, "permission_denied", "it is outside of the workspace; use a path inside of it"},
    {ENOENT, "not_found", "there is no such file or directory"},
    {ENOTDIR, "not_found", "a part of the path is not a directory"},
    {EISDIR, "invalid_arguments", "it is a directory"},
    {ELOOP, "permission_denied", "it goes through too many symbolic links"},
    {EACCES, "permission_denied", "permission denied"},
    {EPERM, "permission_denied", "permission denied"},
    {EROFS, "permission_denied", "it is protected (or the file system is read-only)"},
    {CH_PATH_EASK, "permission_denied",
     "other programs execute or obey this file, and a person has to agree to the change"},
    {CH_PATH_EHIDDEN, "permission_denied", "it is hidden: it holds keys or chela's own records"},
    {ENAMETOOLONG, "invalid_arguments", "the path is too long"},
    {EINVAL, "invalid_arguments", "it is not a regular file"},
    {EFBIG, "invalid_arguments", "the file is too large"},
    {EEXIST, "unavailable", "it was created concurrently; look again"},
    {EBUSY, "unavailable", "the file changed at the same moment; read it again"},
    {ENOSPC, "unavailable", "no space is left on the device"},
    {EDQUOT, "unavailable", "the disk quota is used up"},
    {EMFILE, "unavailable", "too many files are open"},
    {ENFILE, "unavailable", "too many files are open"},
    {ECONNREFUSED, "permission_denied", "the editor refused to write the file"},
    {ETIMEDOUT, "unavailable", "the editor did not answer, and may have written the file"},
    {ENXIO, "invalid_arguments", "it is not a regular file"},
    {ECANCELED, "cancelled", "the call was cancelled"},
    {0, "internal", "input/output error"},
};

int ch_call_path_refuse(chela_call *call, const char *verb, const char *given, int error) {
    const struct reason *r = reasons;

    while (r->error && r->error != -error)
        r++;
    if (r->error)
        return chela_result_error(call, r->type, "Cannot %s %s: %s.", verb, given, r->text);
    return chela_result_error(call, r->type, "Cannot %s %s: %s (errno %d).", verb, given, r->text,
                              -error);
}

/* Collect similar names in the directory of the missing file. */
static void find_similar(const chela_call *call, const char *given, struct ch_similar *s) {
    const char *slash = strrchr(given, '/');
    const char *leaf = slash ? slash + 1 : given;
    CH_AUTOFREE char *dir = slash ? ch_strndup(given, (size_t)(slash - given) + 1) : ch_strdup(".");

    int fd = ch_path_open_shown(&call->guard, dir, O_DIRECTORY);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    s->wanted = ch_sv_str(leaf);
    struct dirent *e;
    for (unsigned n = 0; n < CH_LIMIT_LS_SCAN && (e = readdir(d)); n++)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            ch_similar_offer(s, ch_sv_str(e->d_name));
    closedir(d);
}

int ch_call_path_missing(chela_call *call, const char *verb, const char *given, int error) {
    CH_ARENA_AUTO arena = {0};
    struct ch_similar similar = {.arena = &arena};
    CH_BUF_AUTO names = {0};

    if (error == -ENOENT)
        find_similar(call, given, &similar);
    if (similar.n == 0)
        return ch_call_path_refuse(call, verb, given, error);
    ch_similar_list(&similar, &names);
    return chela_result_error(call, "not_found",
                              "Cannot %s %s: there is no such file. Similar names there: %s.", verb,
                              given, ch_buf_str(&names));
}
