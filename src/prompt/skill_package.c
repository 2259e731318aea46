/* skill_package.c -- see skill_package.h. */
#include "prompt/skill_package.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "prompt/skill_file.h"

#define BLOCK 512
#define PAX_BYTES 8192 /* size of one extended header */

void ch_package_release(struct ch_package *p) {
    ch_free(p->files);
    ch_arena_release(&p->arena);
    *p = (struct ch_package){0};
}

/* --- files */

bool ch_package_path_is_safe(struct ch_sv path) {
    size_t depth = 0;
    if (!path.n || path.n > CH_LIMIT_SKILL_PATH || path.p[path.n - 1] == '/' ||
        !ch_utf8_valid(path))
        return false;
    for (size_t i = 0; i < path.n; i++)
        if ((unsigned char)path.p[i] < ' ' || path.p[i] == 0x7f || path.p[i] == '\\')
            return false;
    while (path.n) {
        struct ch_sv part = ch_sv_split(&path, '/');
        if (!part.n || ch_sv_is(part, ".") || ch_sv_is(part, ".."))
            return false;
        depth++;
    }
    return depth <= CH_LIMIT_SKILL_LEVELS;
}

/* Version control, which Git would obey, and records of an earlier installation. */
static bool package_leaves_out(struct ch_sv path) {
    while (path.n) {
        struct ch_sv part = ch_sv_split(&path, '/');
        if (ch_sv_eq_nocase(part, CH_SV(".git")) ||
            ch_sv_eq_nocase(part, CH_SV(CH_SKILL_RECORD)))
            return true;
    }
    return false;
}

static int package_add(struct ch_package *p, struct ch_sv path, struct ch_sv data, bool runs,
                       struct chela_error *err) {
    if (!ch_package_path_is_safe(path))
        return ch_fail(err, CHELA_EPERM, "a file of the skill has a path that is refused: %.*s",
                       (int)CH_MIN(path.n, 200), path.p);
    if (package_leaves_out(path))
        return 0;
    if (p->n >= CH_LIMIT_SKILL_FILES || data.n > CH_LIMIT_SKILL_BYTES - p->bytes)
        return ch_fail(err, CHELA_ELIMIT, "the skill has more than %d files or %zu MB",
                       CH_LIMIT_SKILL_FILES, CH_LIMIT_SKILL_BYTES / CH_MB);
    CH_GROW(p->files, p->n, p->cap, 16);
    p->files[p->n++] = (struct ch_package_file){
        .path = ch_arena_str(&p->arena, path), .data = ch_arena_sv(&p->arena, data), .runs = runs};
    p->bytes += data.n;
    return 0;
}

/* --- folders */

static int package_walk(struct ch_package *p, int fd, struct ch_sv prefix, size_t depth,
                        struct chela_error *err);

static int package_file(struct ch_package *p, int at, const char *name, struct ch_sv path,
                        const struct stat *st, struct chela_error *err) {
    CH_BUF_AUTO data = {0};
    int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return ch_fail(err, CHELA_EIO, "%.*s: %s", CH_SV_FMT(path), strerror(errno));
    int rc = ch_file_load_open(fd, name, CH_LIMIT_SKILL_BYTES, &data, err);
    close(fd);
    return rc < 0 ? rc : package_add(p, path, ch_buf_sv(&data), st->st_mode & 0100, err);
}

static int package_entry(struct ch_package *p, int at, const char *name, struct ch_sv prefix,
                         size_t depth, struct chela_error *err) {
    CH_BUF_AUTO path = {0};
    struct stat st;
    ch_buf_addf(&path, "%.*s%s", CH_SV_FMT(prefix), name);
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return ch_fail(err, CHELA_EIO, "%s: %s", ch_buf_str(&path), strerror(errno));
    if (S_ISREG(st.st_mode))
        return package_file(p, at, name, ch_buf_sv(&path), &st, err);
    if (!S_ISDIR(st.st_mode))
        return ch_fail(err, CHELA_EPERM, "%s is a link or a device: a skill has files only",
                       ch_buf_str(&path));
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return ch_fail(err, CHELA_EIO, "%s: %s", ch_buf_str(&path), strerror(errno));
    ch_buf_addc(&path, '/');
    return package_walk(p, fd, ch_buf_sv(&path), depth + 1, err);
}

/* Takes fd. */
static int package_walk(struct ch_package *p, int fd, struct ch_sv prefix, size_t depth,
                        struct chela_error *err) {
    DIR *dir = fdopendir(fd);
    int rc = dir ? 0 : ch_fail(err, CHELA_EIO, "%.*s: %s", CH_SV_FMT(prefix), strerror(errno));
    if (!dir)
        close(fd);
    if (rc == 0 && depth > CH_LIMIT_SKILL_LEVELS)
        rc = ch_fail(err, CHELA_ELIMIT, "the folders of the skill are nested too deeply");
    for (struct dirent *e; rc == 0 && (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            package_leaves_out(ch_sv_str(e->d_name)))
            continue;
        rc = package_entry(p, dirfd(dir), e->d_name, prefix, depth, err);
    }
    if (dir)
        closedir(dir);
    return rc;
}

/* --- tar archives: ustar, with the long names of pax and GNU */

static bool tar_number(const char *p, size_t n, uint64_t *out) {
    *out = 0;
    while (n && *p == ' ')
        p++, n--;
    for (; n && *p >= '0' && *p <= '7'; p++, n--)
        *out = *out * 8 + (uint64_t)(*p - '0');
    return n == 0 || *p == ' ' || *p == '\0';
}

static bool tar_sum_is_right(const char *head) {
    uint64_t want, sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : (unsigned char)head[i];
    return tar_number(head + 148, 8, &want) && want == sum;
}

static void tar_name(const char *head, struct ch_buf *out) {
    size_t prefix = memcmp(head + 257, "ustar", 5) == 0 && head[262] == '\0'
                        ? strnlen(head + 345, 155)
                        : 0;
    ch_buf_clear(out);
    if (prefix)
        ch_buf_addf(out, "%.*s/", (int)prefix, head + 345);
    ch_buf_add(out, head, strnlen(head, 100));
}

/* The record "LENGTH path=VALUE\n" of an extended header. */
static void tar_pax_path(struct ch_sv data, struct ch_buf *out) {
    while (data.n) {
        struct ch_sv line = ch_sv_split(&data, '\n');
        const char *value = memmem(line.p, line.n, " path=", 6);
        if (!value)
            continue;
        ch_buf_clear(out);
        ch_buf_add(out, value + 6, line.n - (size_t)(value + 6 - line.p));
    }
}

static struct ch_sv tar_trim(struct ch_sv path) {
    while (path.n > 1 && path.p[0] == '.' && path.p[1] == '/')
        path = ch_sv(path.p + 2, path.n - 2);
    return path;
}

static int tar_entry(struct ch_package *p, const char *head, struct ch_sv data,
                     struct ch_buf *longer, struct chela_error *err) {
    CH_BUF_AUTO name = {0};
    uint64_t mode;
    char type = head[156];
    if (type == 'x' || type == 'L') {
        if (data.n > PAX_BYTES)
            return ch_fail(err, CHELA_ELIMIT, "the archive has a name that is too long");
        if (type == 'x')
            tar_pax_path(data, longer);
        else
            ch_buf_clear(longer), ch_buf_add(longer, data.p, strnlen(data.p, data.n));
        return 0;
    }
    tar_name(head, &name);
    struct ch_sv path = tar_trim(longer->n ? ch_buf_sv(longer) : ch_buf_sv(&name));
    int rc = 0;
    if (type == '0' || type == '\0')
        rc = tar_number(head + 100, 8, &mode)
                 ? package_add(p, path, data, mode & 0100, err)
                 : ch_fail(err, CHELA_EPARSE, "the archive is damaged");
    else if (type != '5' && type != 'g')
        rc = ch_fail(err, CHELA_EPERM, "%.*s is a link or a device: a skill has files only",
                     (int)CH_MIN(path.n, 200), path.p);
    ch_buf_clear(longer);
    return rc;
}

int ch_package_tar(struct ch_package *p, struct ch_sv a, struct chela_error *err) {
    CH_BUF_AUTO longer = {0};
    while (a.n >= BLOCK && a.p[0]) {
        uint64_t size;
        const char *head = a.p;
        if (!tar_sum_is_right(head) || !tar_number(head + 124, 12, &size) || size > a.n - BLOCK)
            return ch_fail(err, CHELA_EPARSE, "the file is not a tar archive, or is damaged");
        int rc = tar_entry(p, head, ch_sv(head + BLOCK, (size_t)size), &longer, err);
        if (rc < 0)
            return rc;
        size_t step = BLOCK + (size_t)(size + BLOCK - 1) / BLOCK * BLOCK;
        a = step < a.n ? ch_sv(a.p + step, a.n - step) : ch_sv(a.p, 0);
    }
    if (a.n < BLOCK) /* a block of zeroes ends an archive */
        return ch_fail(err, CHELA_EPARSE, "the file is not a tar archive, is empty or damaged");
    return p->n ? 0 : ch_fail(err, CHELA_EPARSE, "the archive is empty");
}

/* --- archives */

/* Starts gzip(1); *fd is its output. */
static int package_gunzip(const char *path, pid_t *pid, int *fd, struct chela_error *err) {
    char *argv[] = {"gzip", "-dc", "--", (char *)path, NULL}, *env[] = {"PATH=/usr/bin:/bin", NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return ch_fail(err, CHELA_EIO, "%s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int rc = posix_spawnp(pid, "gzip", &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (rc != 0) {
        close(ends[0]);
        return ch_fail(err, CHELA_EIO, "gzip cannot be run: %s", strerror(rc));
    }
    *fd = ends[0];
    return 0;
}

static int package_read_all(int fd, struct ch_buf *out, struct chela_error *err) {
    char bytes[65536];
    ssize_t n;
    while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
        ch_buf_add(out, bytes, (size_t)n);
        if (out->n > CH_LIMIT_SKILL_BYTES + CH_LIMIT_SKILL_FILES * 4 * BLOCK)
            return ch_fail(err, CHELA_ELIMIT, "the archive has more than %zu MB",
                           CH_LIMIT_SKILL_BYTES / CH_MB);
    }
    return n < 0 ? ch_fail(err, CHELA_EIO, "the archive cannot be read: %s", strerror(errno)) : 0;
}

static int package_archive(struct ch_package *p, const char *from, bool packed,
                           struct chela_error *err) {
    CH_BUF_AUTO data = {0};
    pid_t pid = 0;
    struct stat st;
    int known = stat(from, &st);
    if (known == 0 && !S_ISREG(st.st_mode)) /* a pipe would block */
        return ch_fail(err, CHELA_EINVAL, "not a file");
    int fd = packed ? -1 : open(from, O_RDONLY | O_CLOEXEC), status = 0, rc = 0;
    if (packed && known == 0)
        rc = package_gunzip(from, &pid, &fd, err);
    else if (fd < 0)
        rc = ch_fail(err, CHELA_ENOENT, "%s", strerror(errno));
    if (rc < 0)
        return rc;
    rc = package_read_all(fd, &data, err);
    close(fd);
    if (pid && rc < 0)
        kill(pid, SIGKILL);
    while (pid && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (rc == 0 && status != 0)
        rc = ch_fail(err, CHELA_EPARSE, "gzip cannot decompress it");
    return rc < 0 ? rc : ch_package_tar(p, ch_buf_sv(&data), err);
}

/* --- the skill */

static int package_compare(const void *a, const void *b) {
    const struct ch_package_file *x = a, *y = b;
    int rc = strcasecmp(x->path, y->path);
    return rc ? rc : strcmp(x->path, y->path);
}

static bool package_is_skill(const char *path) {
    const char *slash = strrchr(path, '/'), *leaf = slash ? slash + 1 : path;
    return strcmp(leaf, "SKILL.md") == 0 || strcmp(leaf, "skill.md") == 0;
}

/* An archive mostly has one folder at its top: the skill begins where its SKILL.md is. */
static int package_strip(struct ch_package *p, struct chela_error *err) {
    const struct ch_package_file *head = NULL;
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (package_is_skill(p->files[i].path) &&
            (!head || strlen(p->files[i].path) < strlen(head->path)))
            head = &p->files[i];
    if (!head)
        return ch_fail(err, CHELA_EINVAL, "there is no SKILL.md: a skill is a folder that has one");
    const char *slash = strrchr(head->path, '/');
    size_t skip = slash ? (size_t)(slash + 1 - head->path) : 0;
    CH_AUTOFREE char *top = ch_strndup(head->path, skip);
    for (size_t i = 0; i < p->n; i++) {
        if (strncmp(p->files[i].path, top, skip) != 0)
            return ch_fail(err, CHELA_EINVAL, "%s is outside of the skill's folder %s",
                           p->files[i].path, top);
        p->files[n] = p->files[i];
        p->files[n++].path += skip;
    }
    qsort(p->files, p->n, sizeof(*p->files), package_compare);
    for (size_t i = 1; i < p->n; i++)
        if (strcasecmp(p->files[i - 1].path, p->files[i].path) == 0)
            return ch_fail(err, CHELA_EINVAL, "%s occurs twice, or in two spellings",
                           p->files[i].path);
    return 0;
}

static void package_digest(struct ch_package *p) {
    unsigned char out[CH_SHA256_SIZE];
    struct ch_sha256 h;
    ch_sha256_init(&h);
    for (size_t i = 0; i < p->n; i++) {
        const struct ch_package_file *f = &p->files[i];
        uint64_t n = f->data.n;
        ch_sha256_add(&h, f->path, strlen(f->path) + 1);
        ch_sha256_add(&h, f->runs ? "x" : "-", 1);
        ch_sha256_add(&h, &n, sizeof(n));
        ch_sha256_add(&h, f->data.p, f->data.n);
    }
    ch_sha256_end(&h, out);
    ch_sha256_hex(out, p->digest);
}

static int package_find_name(struct ch_package *p, const char *from, struct chela_error *err) {
    CH_AUTOFREE char *path = ch_strdup(from);
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    const char *slash = strrchr(path, '/');
    char *folder = (char *)(slash ? slash + 1 : path), *dot;
    while ((dot = strrchr(folder, '.')) && dot != folder &&
           (strcmp(dot, ".gz") == 0 || strcmp(dot, ".tgz") == 0 || strcmp(dot, ".tar") == 0))
        *dot = '\0';
    for (size_t i = 0; i < p->n; i++) {
        if (strchr(p->files[i].path, '/') || !package_is_skill(p->files[i].path))
            continue;
        struct ch_skill_head head = ch_skill_head_read(&p->arena, p->files[i].data, folder);
        if (head.problem)
            return ch_fail(err, CHELA_EINVAL, "SKILL.md: %s", head.problem);
        p->name = head.name;
        p->description = head.description;
        p->tools = head.tools;
    }
    return ch_package_path_is_safe(ch_sv_str(p->name)) && !strchr(p->name, '/')
               ? 0
               : ch_fail(err, CHELA_EINVAL, "the skill has no usable name");
}

static int package_load(struct ch_package *p, const char *from, struct chela_error *err) {
    size_t n = strlen(from);
    bool packed = (n > 3 && strcmp(from + n - 3, ".gz") == 0) ||
                  (n > 4 && strcmp(from + n - 4, ".tgz") == 0);
    bool tar = n > 4 && strcmp(from + n - 4, ".tar") == 0;
    int fd = packed || tar ? -1 : open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!packed && !tar && fd < 0 && errno == ENOTDIR)
        return ch_fail(err, CHELA_EINVAL,
                       "a skill is installed from a folder or from a tar archive (.tar, "
                       ".tar.gz, .tgz); other archives, such as zip, have to be unpacked first");
    if (!packed && !tar && fd < 0)
        return ch_fail(err, CHELA_ENOENT, "%s", strerror(errno));
    int rc = fd >= 0 ? package_walk(p, fd, CH_SV(""), 1, err)
                     : package_archive(p, from, packed, err);
    if (rc == 0)
        rc = package_strip(p, err);
    if (rc == 0)
        rc = package_find_name(p, from, err);
    if (rc == 0)
        package_digest(p);
    return rc;
}

int ch_package_read(struct ch_package *p, const char *from, struct chela_error *err) {
    struct chela_error why = {0};
    int rc = package_load(p, from, &why);
    return rc < 0 ? ch_fail(err, rc, "%s: %s", from, why.message) : rc;
}
