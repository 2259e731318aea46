/* rewrite.c -- see rewrite.h. */
#include "config/rewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"

/* --- differences */

static size_t same_head(struct ch_sv a, struct ch_sv b) {
    size_t line = 0;
    for (size_t i = 0; i < a.n && i < b.n && a.p[i] == b.p[i]; i++)
        if (a.p[i] == '\n')
            line = i + 1;
    return line;
}

static bool begins_line(struct ch_sv text, size_t from_end) {
    return from_end == text.n || text.p[text.n - from_end - 1] == '\n';
}

static size_t same_tail(struct ch_sv a, struct ch_sv b) {
    size_t line = 0;
    for (size_t i = 1; i <= a.n && i <= b.n && a.p[a.n - i] == b.p[b.n - i]; i++)
        if (begins_line(a, i) && begins_line(b, i))
            line = i;
    return line;
}

static void add_diff_lines(struct ch_buf *out, char mark, struct ch_sv text) {
    while (text.n) {
        struct ch_sv line = ch_sv_split(&text, '\n');
        ch_buf_addf(out, "%c%.*s\n", mark, CH_SV_FMT(line));
    }
}

void ch_config_diff(struct ch_buf *out, const char *file, struct ch_sv a, struct ch_sv b) {
    size_t head = same_head(a, b), line = 1;
    for (size_t i = 0; i < head; i++)
        line += a.p[i] == '\n';
    a = ch_sv(a.p + head, a.n - head);
    b = ch_sv(b.p + head, b.n - head);
    size_t tail = same_tail(a, b);
    ch_buf_addf(out, "%s, line %zu:\n", file, line);
    add_diff_lines(out, '-', ch_sv(a.p, a.n - tail));
    add_diff_lines(out, '+', ch_sv(b.p, b.n - tail));
}

/* --- files */

/* Keeps the mode, and as root also the owner. */
static bool write_like(int fd, const struct stat *like, struct ch_sv text) {
    bool good = fchmod(fd, like->st_mode & 07777) == 0 &&
                (geteuid() != 0 || fchown(fd, like->st_uid, like->st_gid) == 0);
    return good && ch_file_write(fd, text) == 0 && fsync(fd) == 0; /* before the rename */
}

static int not_written(const char *file, int why, struct chela_error *err) {
    return ch_fail(err, CHELA_EIO, "%s cannot be written: %s", file, strerror(why));
}

/* Renames temp to file if the file still has the text `before`; else deletes temp. */
static int put_in_place(const char *temp, const char *file, struct ch_sv before,
                        struct chela_error *err) {
    CH_BUF_AUTO now = {0};
    int rc = ch_file_load(file, CH_LIMIT_YAML_FILE, &now, err);
    if (rc == 0 && !ch_sv_eq(ch_buf_sv(&now), before))
        rc = ch_fail(err, CHELA_EIO, "%s was changed by another program; try again", file);
    if (rc == 0 && rename(temp, file) < 0)
        rc = not_written(file, errno, err);
    if (rc < 0)
        unlink(temp);
    return rc;
}

/* Writes text to a new file beside `file`, whose name becomes *temp. */
static int write_temp(const char *file, struct ch_sv text, struct ch_buf *temp,
                      struct chela_error *err) {
    struct stat st;
    ch_buf_addf(temp, "%s.XXXXXX", file);
    int fd = stat(file, &st) == 0 ? mkostemp(temp->p, O_CLOEXEC) : -1;
    if (fd < 0) {
        ch_buf_clear(temp);
        return not_written(file, errno, err);
    }
    int why = write_like(fd, &st, text) ? 0 : errno;
    if (close(fd) < 0 && !why)
        why = errno;
    if (!why)
        return 0;
    unlink(temp->p);
    ch_buf_clear(temp);
    return not_written(file, why, err);
}

void ch_config_previous(const char *path, struct ch_buf *out) {
    char *file = realpath(path, NULL);
    ch_buf_addf(out, "%s" CH_CONFIG_PREVIOUS, file ? file : path);
    free(file);
}

/* The previous version is in place only if the new one is. */
static int replace_file(const char *file, struct ch_sv before, struct ch_sv after,
                        struct chela_error *err) {
    CH_BUF_AUTO kept = {0}, temp = {0}, previous = {0};
    int rc = write_temp(file, before, &kept, err);
    if (rc == 0)
        rc = write_temp(file, after, &temp, err);
    if (rc == 0)
        rc = put_in_place(temp.p, file, before, err);
    ch_config_previous(file, &previous);
    if (kept.n && (rc < 0 || rename(kept.p, ch_buf_str(&previous)) < 0))
        unlink(kept.p);
    return rc;
}

/* Keeps other calls from replacing the file; *fd -1: it cannot be locked. A call that locks the
 * file after it was replaced finds another text in its place. */
static int rewrite_lock(const char *file, int *fd, struct chela_error *err) {
    *fd = open(file, O_RDONLY | O_CLOEXEC);
    if (*fd < 0 || flock(*fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return 0;
    close(*fd);
    return ch_fail(err, CHELA_EIO, "%s is being changed by another program; try again", file);
}

int ch_config_rewrite(const char *path, struct ch_sv before, struct ch_sv after,
                      struct chela_error *err) {
    char *file = realpath(path, NULL);
    int fd = -1, rc = file ? rewrite_lock(file, &fd, err) : not_written(path, errno, err);
    if (rc == 0) {
        rc = replace_file(file, before, after, err);
        if (fd >= 0)
            close(fd);
    }
    free(file);
    return rc;
}
