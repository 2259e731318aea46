/* trust_record.c -- see chela/trust.h. The name of a record is the digest of the
 * path, so that a look-up needs no list and two programs that record different
 * files do not meet. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "chela/trust.h"
#include "config/conf.h"
#include "config/programs.h"
#include "config/trust.h"
#include "config/trust_record.h"
#include "json/writer.h"

#define NAME_SIZE (2 * CH_SHA256_SIZE + 1)

static void record_name(struct ch_sv path, char name[NAME_SIZE]) {
    unsigned char digest[CH_SHA256_SIZE];
    ch_sha256_of(path, digest);
    ch_sha256_hex(digest, name);
}

static void count_program(const char *key, const char *file,
                          const unsigned char digest[CH_SHA256_SIZE], void *user) {
    (void)key;
    (void)file;
    (void)digest;
    ++*(size_t *)user;
}

#define DIGESTS_SIZE (2 * NAME_SIZE)

/* The digest of the options and, if the file names programs of the project, '+' and theirs. */
static void digest_text(const chela_config *cfg, char hex[DIGESTS_SIZE]) {
    unsigned char digest[CH_SHA256_SIZE];
    size_t n = 0;
    ch_conf_digest(&cfg->conf, digest);
    ch_sha256_hex(digest, hex);
    ch_conf_programs(cfg, count_program, &n);
    if (!n)
        return;
    ch_conf_programs_digest(cfg, digest);
    hex[NAME_SIZE - 1] = '+';
    ch_sha256_hex(digest, hex + NAME_SIZE);
}

static int record_fail(const char *path, int why, struct chela_error *err) {
    return ch_fail(err, why == ENOENT ? CHELA_ENOENT : CHELA_EIO, "trust record %s: %s", path,
                   strerror(why));
}

/* Whoever can write the record can make the user trust a file. */
static int check_owner(int fd, const char *path, mode_t kind, struct chela_error *err) {
    struct stat st;
    if (fstat(fd, &st) < 0)
        return record_fail(path, errno, err);
    if ((st.st_mode & S_IFMT) != kind || st.st_uid != geteuid() || (st.st_mode & 022))
        return ch_fail(err, CHELA_EPERM,
                       "trust record %s: it must belong to this user and be writable by nobody "
                       "else; remove it to start again",
                       path);
    return 0;
}

/* *fd is set only on success. */
static int open_directory(const char *dir, int *fd, struct chela_error *err) {
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0)
        return errno == ELOOP || errno == ENOTDIR
                   ? ch_fail(err, CHELA_EPERM, "trust record %s: not a directory", dir)
                   : record_fail(dir, errno, err);
    int rc = check_owner(at, dir, S_IFDIR, err);
    if (rc < 0)
        close(at);
    else
        *fd = at;
    return rc;
}

/* *out: the object of the record, in the arena. */
static int record_read(int dir, const char *name, struct ch_arena *a, const struct ch_json **out,
                       struct chela_error *err) {
    CH_BUF_AUTO text = {.max = 2 * CH_LIMIT_TRUST_RECORD};
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return record_fail(name, errno == ELOOP ? EPERM : errno, err);
    int rc = check_owner(fd, name, S_IFREG, err);
    if (rc == 0)
        rc = ch_file_load_open(fd, "trust record", CH_LIMIT_TRUST_RECORD, &text, err);
    close(fd);
    if (rc == 0)
        rc = ch_json_parse(a, ch_arena_sv(a, ch_buf_sv(&text)), CH_JSON_STRICT, out, NULL, err);
    return rc;
}

/* Find the record of path; CHELA_ENOENT: there is none. */
static int find_record(const char *dir, const char *path, struct ch_arena *a,
                       const struct ch_json **out, struct chela_error *err) {
    CH_BUF_AUTO shown = {0};
    char name[NAME_SIZE];
    int fd;
    int rc = open_directory(dir, &fd, err);
    if (rc < 0)
        return rc;
    record_name(ch_sv_str(path), name);
    rc = record_read(fd, name, a, out, err);
    close(fd);
    ch_utf8_add_valid(&shown, ch_sv_str(path)); /* as JSON holds a path of any bytes */
    if (rc == 0 && !ch_sv_eq(ch_json_get_str(*out, "path"), ch_buf_sv(&shown)))
        rc = ch_fail(err, CHELA_EIO, "trust record %s: not the record of %s", name, path);
    return rc;
}

int chela_trust_check(const char *dir, const chela_config *cfg, struct chela_error *err) {
    CH_NEEDS(cfg, err);
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *record;
    char hex[DIGESTS_SIZE];
    int rc = find_record(dir, cfg->path, &arena, &record, err);
    if (rc < 0)
        return rc;
    digest_text(cfg, hex);
    if (ch_sv_is(ch_json_get_str(record, "digest"), hex)) {
        ch_conf_programs_agree(cfg);
        return 0;
    }
    hex[NAME_SIZE - 1] = '\0'; /* the options alone */
    if (ch_sv_starts(ch_json_get_str(record, "digest"), hex))
        ch_conf_programs_doubt(cfg);
    else
        ch_conf_programs_refuse(cfg);
    return ch_fail(err, CHELA_ESTATE, "%s has changed since it was trusted", cfg->path);
}

/* --- comparison */

struct comparing {
    const struct ch_json *settings; /* settings of the record; NULL: no record */
    chela_trust_change_fn *fn;
    void *user;
};

static bool has_setting(const struct ch_json *settings, struct ch_sv key, struct ch_sv value) {
    for (CH_JSON_EACH(e, settings))
        if (ch_sv_eq(ch_json_get_str(e, "key"), key) &&
            ch_sv_eq(ch_json_get_str(e, "value"), value))
            return true;
    return false;
}

static void compare_new(const char *kind, const char *key, const char *value, void *user) {
    const struct comparing *c = user;
    if (!has_setting(c->settings, ch_sv_str(key), ch_sv_str(value)))
        c->fn(1, kind, key, value, c->user);
}

static void write_setting(const char *kind, const char *key, const char *value, void *user) {
    struct ch_jw *w = user;
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "kind", kind);
    ch_jw_kcstr(w, "key", key);
    ch_jw_kcstr(w, "value", value);
    ch_jw_end(w, '}');
}

static void write_settings(const chela_config *cfg, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '[');
    chela_config_claims(cfg, write_setting, &w);
    ch_jw_end(&w, ']');
}

static void compare_old(const struct ch_json *old, const struct ch_json *now,
                        chela_trust_change_fn *fn, void *user) {
    for (CH_JSON_EACH(e, old)) {
        struct ch_sv key = ch_json_get_str(e, "key"), value = ch_json_get_str(e, "value");
        if (has_setting(now, key, value))
            continue;
        CH_ARENA_AUTO arena = {0};
        fn(-1, ch_arena_str(&arena, ch_json_get_str(e, "kind")), ch_arena_str(&arena, key),
           ch_arena_str(&arena, value), user);
    }
}

int chela_trust_compare(const char *dir, const chela_config *cfg, chela_trust_change_fn *fn,
                        void *user, struct chela_error *err) {
    CH_NEEDS(cfg, err);
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {.max = 2 * CH_LIMIT_TRUST_RECORD};
    const struct ch_json *record = NULL, *now = NULL;
    int rc = dir ? find_record(dir, cfg->path, &arena, &record, err) : CHELA_ENOENT;
    if (rc < 0 && rc != CHELA_ENOENT)
        return rc;
    write_settings(cfg, &text);
    rc = ch_json_parse(&arena, ch_buf_sv(&text), CH_JSON_STRICT, &now, NULL, err);
    if (rc < 0)
        return rc;
    const struct ch_json *old = record ? ch_json_get(record, "settings") : NULL;
    compare_old(old, now, fn, user);
    chela_config_claims(cfg, compare_new, &(struct comparing){old, fn, user});
    return 0;
}

/* --- changes */

/* Atomic: the record is the old one or the new one. */
static int record_write(int dir, const char *name, struct ch_sv text, struct chela_error *err) {
    CH_BUF_AUTO temp = {0};
    ch_buf_addf(&temp, ".%s.%ld", name, (long)getpid());
    unlinkat(dir, ch_buf_str(&temp), 0); /* left by a crashed program with the same id */
    int fd = openat(dir, temp.p, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return record_fail(name, errno, err);
    bool good = ch_file_write(fd, text) == 0 && fsync(fd) == 0; /* before the rename */
    int why = errno;
    if (close(fd) < 0 && good) {
        good = false;
        why = errno;
    }
    if (good && renameat(dir, temp.p, dir, name) < 0) {
        good = false;
        why = errno;
    }
    if (good && fsync(dir) == 0)
        return 0;
    if (good)
        why = errno;
    unlinkat(dir, temp.p, 0);
    return record_fail(name, why, err);
}

int ch_trust_record_put(const char *dir, const char *path, const char *digest,
                        struct ch_sv settings, struct chela_error *err) {
    CH_BUF_AUTO text = {.max = CH_LIMIT_TRUST_RECORD};
    char name[NAME_SIZE];
    int fd;
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return record_fail(dir, errno, err);
    int rc = open_directory(dir, &fd, err);
    if (rc < 0)
        return rc;
    record_name(ch_sv_str(path), name);
    struct ch_jw w = ch_jw(&text);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "path", path);
    ch_jw_kcstr(&w, "digest", digest);
    ch_jw_kint(&w, "ts", ch_now_ms(&ch_clock_system));
    ch_jw_kraw(&w, "settings", settings);
    ch_jw_end(&w, '}');
    rc = text.overflow
             ? ch_fail(err, CHELA_ELIMIT, "%s: too many settings for a trust record", path)
             : record_write(fd, name, ch_buf_sv(&text), err);
    close(fd);
    return rc;
}

int chela_trust_add(const char *dir, const chela_config *cfg, struct chela_error *err) {
    CH_NEEDS(cfg, err);
    CH_BUF_AUTO settings = {.max = CH_LIMIT_TRUST_RECORD};
    char hex[DIGESTS_SIZE];
    digest_text(cfg, hex);
    write_settings(cfg, &settings);
    if (settings.overflow)
        return ch_fail(err, CHELA_ELIMIT, "%s: too many settings for a trust record", cfg->path);
    int rc = ch_trust_record_put(dir, cfg->path, hex, ch_buf_sv(&settings), err);
    if (rc == 0)
        ch_conf_programs_agree(cfg);
    return rc;
}

int ch_trust_record_digest(const char *dir, const char *path, struct ch_buf *out,
                           struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *record;
    int rc = find_record(dir, path, &arena, &record, err);
    if (rc == 0)
        ch_buf_add_sv(out, ch_json_get_str(record, "digest"));
    return rc;
}

/* The real directory and the name, as chela_config_load makes them; if the directory does
 * not exist any more, the given path. */
static char *record_path(const char *file) {
    const char *slash = strrchr(file, '/');
    CH_AUTOFREE char *given = slash ? ch_strndup(file, (size_t)(slash - file) + 1) : ch_strdup(".");
    char *real = realpath(given, NULL);
    CH_BUF_AUTO path = {0};
    if (real)
        ch_buf_addf(&path, "%s/%s", strcmp(real, "/") == 0 ? "" : real, slash ? slash + 1 : file);
    else
        ch_buf_add_str(&path, file);
    free(real);
    return ch_buf_take(&path);
}

int chela_trust_remove(const char *dir, const char *file, struct chela_error *err) {
    CH_NEEDS_ARG(dir, err);
    CH_NEEDS_ARG(file, err);
    CH_AUTOFREE char *path = record_path(file);
    char name[NAME_SIZE];
    int fd;
    int rc = open_directory(dir, &fd, err);
    if (rc == 0) {
        record_name(ch_sv_str(path), name);
        if (unlinkat(fd, name, 0) < 0)
            rc = record_fail(name, errno, err);
        close(fd);
    }
    return rc == CHELA_ENOENT ? ch_fail(err, rc, "%s is not trusted", path) : rc;
}

/* --- the list */

static int list_record(int dir, const char *name, chela_trusted_fn *fn, void *user) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *record;
    if (strlen(name) != NAME_SIZE - 1 || record_read(dir, name, &arena, &record, NULL) < 0)
        return 0;
    struct ch_sv path = ch_json_get_str(record, "path");
    if (!path.n)
        return 0;
    struct chela_trusted t = {.path = ch_arena_str(&arena, path),
                              .digest = ch_arena_str(&arena, ch_json_get_str(record, "digest")),
                              .ts = ch_json_int(ch_json_get(record, "ts"), 0)};
    return fn(&t, user);
}

int chela_trust_list(const char *dir, chela_trusted_fn *fn, void *user, struct chela_error *err) {
    int fd;
    int rc = open_directory(dir, &fd, err);
    if (rc < 0)
        return rc == CHELA_ENOENT ? 0 : rc;
    DIR *all = fdopendir(fd);
    if (!all) {
        close(fd);
        return record_fail(dir, errno, err);
    }
    size_t n = 0;
    for (struct dirent *e; rc == 0 && n < CH_LIMIT_TRUST_RECORDS && (e = readdir(all)); n++)
        rc = list_record(fd, e->d_name, fn, user);
    closedir(all);
    return rc;
}
