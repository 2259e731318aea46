/* node_state.c -- a node keeps in a file of its own what the store was when it used it last; see
 * chela/store.h.
 *
 * The file has the store's identity, and the mark that this process had after a commit that was
 * durable. A store that was restored while no process used it has an older mark, and so has no row
 * of the process, or an earlier epoch. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/entry.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "json/json.h"
#include "json/writer.h"
#include "store/store.h"

#define FILE_MAX 4096

/* The path of a file, which need not exist. */
static void node_state_add_real(const char *file, struct ch_buf *out) {
    const char *slash = strrchr(file, '/');
    CH_AUTOFREE char *folder = ch_strndup(slash ? file : ".", slash ? (size_t)(slash - file) : 1);
    char real[PATH_MAX];
    const char *in = realpath(*folder ? folder : "/", real) ? real : folder;
    ch_buf_addf(out, "%s/%s", in, slash ? slash + 1 : file);
}

/* The name of the file of a URL, which may hold a password: its digest. */
static char *node_state_path(const char *url, const char *dir) {
    static const char scheme[] = "sqlite:";
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    CH_BUF_AUTO name = {0}, path = {0};
    if (strncmp(url, scheme, sizeof(scheme) - 1) == 0)
        node_state_add_real(url + sizeof(scheme) - 1, &name);
    else
        ch_buf_add_str(&name, url);
    ch_sha256_of(ch_buf_sv(&name), digest);
    ch_sha256_hex(digest, hex);
    ch_buf_addf(&path, "%s/%.32s.json", dir, hex);
    return ch_buf_take(&path);
}

static int node_state_identity(chela_store *s, struct chela_store_identity *inout,
                               struct chela_error *err) {
    int rc = ch_store_enter(s, err);
    return rc < 0 ? rc : ch_store_leave(s, s->ops->identity(s->db, 0, inout, err));
}

/* The change has no effect; its commit makes the mark durable. */
static int node_state_sync(chela_store *s, struct chela_error *err) {
    struct chela_store_change c = {.kind = CHELA_STORE_FORGET, .id = ""};
    return ch_store_commit(s, &c, 1, true, err);
}

int chela_store_remember(chela_store *s, const char *dir, struct chela_error *err) {
    CH_NEEDS(s, err);
    CH_NEEDS_ARG(dir, err);
    struct chela_store_identity id = {.store = ""};
    struct chela_error why = {0}, *to = err ? err : &why;
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (!s->ops->identity)
        return 0;
    int rc = node_state_sync(s, to);
    if (rc == 0)
        rc = node_state_identity(s, &id, to);
    if (rc < 0)
        return rc;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "store", id.store);
    ch_jw_kint(&w, "epoch", (int64_t)id.epoch);
    ch_jw_kcstr(&w, "writer", id.writer);
    ch_jw_kint(&w, "mark", (int64_t)id.mark);
    ch_jw_kint(&w, "ts", ch_store_now());
    ch_jw_end(&w, '}');
    CH_AUTOFREE char *path = node_state_path(s->url, dir);
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return ch_fail(to, CHELA_EIO, "%s cannot be created: %s", dir, strerror(errno));
    return ch_file_save(path, ch_buf_sv(&text), to);
}

static int node_state_on_session(const struct chela_store_session *row, void *user) {
    (void)row;
    *(bool *)user = false;
    return 1;
}

static int node_state_on_item(const struct chela_store_item *i, void *user) {
    (void)i;
    *(bool *)user = false;
    return 1;
}

static int node_state_is_empty(chela_store *s, bool *empty, struct chela_error *err) {
    struct chela_store_filter one = CHELA_STORE_FILTER(.limit = 1);
    *empty = true;
    int rc = chela_store_list(s, &one, node_state_on_session, empty, err);
    return rc < 0 ? rc
                  : chela_store_items(s, CHELA_STORE_INBOX, node_state_on_item, empty, err);
}

static int node_state_judge(chela_store *s, const struct ch_json *v, struct chela_error *err) {
    struct chela_store_identity id = {.store = ""};
    struct ch_sv writer = ch_json_get_str(v, "writer");
    int64_t mark = ch_json_int(ch_json_get(v, "mark"), 0);
    int64_t epoch = ch_json_int(ch_json_get(v, "epoch"), 0);
    bool empty = false;
    memcpy(id.writer, writer.p, CH_MIN(writer.n, sizeof(id.writer) - 1));
    int rc = node_state_identity(s, &id, err);
    bool other = !ch_sv_is(ch_json_get_str(v, "store"), id.store);
    if (rc == 0 && other)
        rc = node_state_is_empty(s, &empty, err);
    if (rc < 0)
        return rc;
    if (other && empty)
        return ch_fail(err, CHELA_ENOENT,
                       "the store is empty, and not the one that this machine used last: what was "
                       "accepted there is not known here");
    bool same = (int64_t)id.epoch == epoch, older = (int64_t)id.epoch < epoch;
    older |= same && (int64_t)id.mark < mark;
    if (!other && !older)
        return 0;
    return ch_fail(err, CHELA_EPROTO,
                   "the store is %s: what was done since may be done again. Start with --recovered "
                   "if this is the right store: what was in progress then waits for you",
                   other ? "not the one that this machine used last"
                         : "an older copy than the one that this machine used last");
}

int chela_store_compare(const char *url, const struct chela_store_opts *opts, const char *dir,
                        struct chela_error *err) {
    CH_NEEDS_ARG(url, err);
    CH_NEEDS_ARG(dir, err);
    struct chela_error why = {0}, *to = err ? err : &why;
    CH_AUTOFREE char *path = node_state_path(url, dir);
    CH_BUF_AUTO text = {0};
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    chela_store *s = NULL;
    if (ch_file_load(path, FILE_MAX, &text, &why) < 0 ||
        ch_json_parse(&arena, ch_buf_sv(&text), CH_JSON_STRICT, &v, NULL, NULL) < 0) {
        why = (struct chela_error){0};
        return 0; /* the first use, or a file that nobody can trust */
    }
    int rc = chela_store_open(url, opts, &s, to);
    if (rc < 0) /* opening the store for its use says more */
        return 0;
    rc = s->ops->identity ? node_state_judge(s, v, to) : 0;
    chela_store_close(s);
    return rc;
}
