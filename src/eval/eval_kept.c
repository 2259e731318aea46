/* eval_kept.c -- see eval_kept.h. */
#include "eval/eval_kept.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "eval/eval_fixture.h"
#include "json/writer.h"

#define SCRATCH "chela-eval-" /* the name of every folder for trials begins so */

/* Removes the folder that a killed process left. The name is checked, because anybody may have
 * written the file. */
static void remove_scratch(struct ch_sv path) {
    CH_BUF_AUTO name = {0};
    const char *slash = memrchr(path.p ? path.p : "", '/', path.n);
    size_t before = slash ? (size_t)(slash + 1 - path.p) : 0;
    if (!before || path.p[0] != '/' ||
        !ch_sv_starts(ch_sv(path.p + before, path.n - before), SCRATCH))
        return;
    ch_buf_add_sv(&name, path);
    if (!memchr(path.p, '\0', path.n))
        ch_eval_fixture_remove(ch_buf_str(&name));
}

static int read_lines(struct ch_eval_kept *k, struct ch_sv text, size_t *whole,
                      void (*fn)(const struct ch_json *line, void *user), void *user,
                      struct chela_error *err) {
    for (bool first = true; *whole < text.n; first = false) {
        CH_ARENA_AUTO arena = {0};
        const struct ch_json *v = NULL;
        const char *end = memchr(text.p + *whole, '\n', text.n - *whole);
        if (!end)
            return 0; /* cut off by the end of the process */
        struct ch_sv line = ch_sv(text.p + *whole, (size_t)(end - text.p) - *whole);
        ch_json_parse(&arena, line, CH_JSON_STRICT, &v, NULL, NULL);
        if (first && ch_json_int(ch_json_get(v, "chela_eval"), 0) != 1)
            return ch_fail(err, CHELA_EPARSE,
                           "%s has no trials of an evaluation; remove the file to begin anew",
                           k->path);
        if (first)
            remove_scratch(ch_json_get_str(v, "scratch"));
        else if (v)
            fn(v, user);
        *whole += line.n + 1;
    }
    return 0;
}

static int write_head(struct ch_eval_kept *k, const char *scratch, struct chela_error *err) {
    CH_BUF_AUTO line = {0};
    struct ch_jw w = ch_jw(&line);
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "chela_eval", 1);
    ch_jw_kcstr(&w, "scratch", scratch);
    ch_jw_end(&w, '}');
    return ch_eval_kept_add(k, ch_buf_sv(&line), err);
}

static int use_file(struct ch_eval_kept *k, const char *scratch,
                    void (*fn)(const struct ch_json *line, void *user), void *user,
                    struct chela_error *err) {
    CH_BUF_AUTO text = {0};
    size_t whole = 0;
    int rc = ch_file_load_open(k->fd, k->path, 4 * CH_LIMIT_EVAL_FILE, &text, err);
    if (rc == 0)
        rc = read_lines(k, ch_buf_sv(&text), &whole, fn, user, err);
    if (rc == 0 && (ftruncate(k->fd, (off_t)whole) < 0 || lseek(k->fd, 0, SEEK_END) < 0))
        rc = ch_fail(err, CHELA_EIO, "%s: %s", k->path, strerror(errno));
    return rc == 0 && !whole ? write_head(k, scratch, err) : rc;
}

int ch_eval_kept_open(struct ch_eval_kept *k, const char *path, const char *scratch,
                      void (*fn)(const struct ch_json *line, void *user), void *user,
                      struct chela_error *err) {
    *k = (struct ch_eval_kept){.fd = -1, .path = path};
    if (!path)
        return 0;
    k->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_APPEND, 0600);
    if (k->fd < 0)
        return ch_fail(err, CHELA_EIO, "%s: %s", path, strerror(errno));
    int rc = flock(k->fd, LOCK_EX | LOCK_NB) < 0
                 ? ch_fail(err, CHELA_EBUSY, "another evaluation writes %s; wait for its end, or "
                                             "choose another file", path)
                 : use_file(k, scratch, fn, user, err);
    if (rc < 0)
        ch_eval_kept_close(k);
    return rc;
}

int ch_eval_kept_add(struct ch_eval_kept *k, struct ch_sv line, struct chela_error *err) {
    CH_BUF_AUTO out = {0};
    if (k->fd < 0)
        return 0;
    ch_buf_add_sv(&out, line);
    ch_buf_addc(&out, '\n');
    return ch_file_write(k->fd, ch_buf_sv(&out)) < 0
               ? ch_fail(err, CHELA_EIO, "%s: %s", k->path, strerror(errno))
               : 0;
}

void ch_eval_kept_close(struct ch_eval_kept *k) {
    if (k->fd >= 0)
        close(k->fd);
    k->fd = -1;
}
