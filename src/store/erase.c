/* erase.c -- removes sessions for good, and writes a receipt (chela/store.h).
 *
 * The records name the files that belong to a session: long results below .chela/spill/ and files
 * of messages below inbound/, both with names that the runtime chose. They are removed in the
 * workspace that the session's states name, and in those that the caller names. Then the session is
 * deleted, and the backend removes what deleted rows left in its files. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/journal/journal.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/opts.h"
#include "json/json.h"
#include "json/writer.h"
#include "store/store.h"
#include "undo/undo_erase.h"

struct erase_texts { /* a set of texts, in the order in which they were added */
    char **list;     /* owned */
    size_t n, cap;
};

struct erase_one { /* the session that is looked at */
    struct erase_texts files, workspaces, senders;
    uint64_t records, bytes;
    struct ch_arena arena;
    int64_t begun, ended;
};

struct erasing {
    chela_store *store;
    struct chela_erase_opts opts;
    struct ch_buf sessions, refused; /* elements of lists */
    struct erase_texts files;        /* removed */
    struct erase_texts kept;         /* could not be removed */
    size_t nsessions, nrefused, undone, undo_busy;
    struct chela_error first; /* of the first session that was not deleted */
    struct chela_error *err;
};

static void erase_add(struct erase_texts *t, const char *text, size_t n) {
    for (size_t i = 0; i < t->n; i++)
        if (strlen(t->list[i]) == n && memcmp(t->list[i], text, n) == 0)
            return;
    CH_GROW(t->list, t->n, t->cap, 8);
    t->list[t->n++] = ch_strndup(text, n);
}

static void erase_release(struct erase_texts *t) {
    for (size_t i = 0; i < t->n; i++)
        ch_free(t->list[i]);
    ch_free(t->list);
    *t = (struct erase_texts){0};
}

/* --- what belongs to a session */

#define NAME_CHARS \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

static void find_files(struct erase_one *o, const char *p, size_t n, const char *folder) {
    const char *end = p + n, *at = p;
    size_t length = strlen(folder);
    while ((at = memmem(at, (size_t)(end - at), folder, length))) {
        const char *name = at + length, *stop = name;
        while (stop < end && strchr(NAME_CHARS, *stop) && *stop)
            stop++;
        while (stop > name && stop[-1] == '.')
            stop--; /* the end of a sentence */
        if (stop > name && *name != '.')
            erase_add(&o->files, at, (size_t)(stop - at));
        at = name;
    }
}

static int erase_on_record(const struct chela_store_record *r, void *user) {
    struct erase_one *o = user;
    const struct ch_json *v;
    o->records++;
    o->bytes += r->n;
    o->begun = o->begun ? o->begun : r->ts;
    o->ended = r->ts;
    find_files(o, r->data, r->n, ".chela/spill/");
    find_files(o, r->data, r->n, "inbound/");
    if (r->type != CH_REC_INBOUND && r->type != CH_REC_STATE)
        return 0;
    ch_arena_clear(&o->arena);
    if (ch_json_parse(&o->arena, ch_sv(r->data, r->n), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return 0;
    struct ch_sv dir = ch_json_get_str(ch_json_get(v, "host"), "directory");
    struct ch_sv sender = ch_json_get_str(ch_json_get(v, "for"), "sender");
    if (dir.n)
        erase_add(&o->workspaces, dir.p, dir.n);
    if (sender.n)
        erase_add(&o->senders, sender.p, sender.n);
    return 0;
}

static void erase_one_release(struct erase_one *o) {
    erase_release(&o->files);
    erase_release(&o->workspaces);
    erase_release(&o->senders);
    ch_arena_release(&o->arena);
}

/* --- files */

/* Removes a file of a workspace; links are not followed. */
static void erase_file(struct erasing *e, int root, const char *workspace, const char *file) {
    CH_BUF_AUTO path = {0};
    const char *slash = strrchr(file, '/');
    CH_AUTOFREE char *folder = ch_strndup(file, (size_t)(slash - file));
    struct stat st;
    int dir = openat(root, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return;
    ch_buf_addf(&path, "%s/%s", workspace, file);
    if (fstatat(dir, slash + 1, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
        erase_add(unlinkat(dir, slash + 1, 0) == 0 ? &e->files : &e->kept, ch_buf_str(&path),
                  path.n);
    close(dir);
}

static void erase_in_workspace(struct erasing *e, const struct erase_one *o, const char *key,
                               const char *workspace) {
    int root = open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return;
    for (size_t i = 0; i < o->files.n; i++)
        erase_file(e, root, workspace, o->files.list[i]);
    if (e->opts.undo_dir)
        e->undo_busy += !ch_undo_erase(e->opts.undo_dir, root, key, &e->undone);
    close(root);
}

/* --- sessions */

static void write_erased(struct erasing *e, const char *key, const struct erase_one *o) {
    struct ch_jw w = ch_jw(&e->sessions);
    w.comma = e->nsessions++ > 0;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "session", key);
    ch_jw_kint(&w, "records", (int64_t)o->records);
    ch_jw_kint(&w, "bytes", (int64_t)o->bytes);
    ch_jw_kint(&w, "from", o->begun);
    ch_jw_kint(&w, "to", o->ended);
    ch_jw_kbegin(&w, "senders", '[');
    for (size_t i = 0; i < o->senders.n; i++)
        ch_jw_str(&w, ch_sv_str(o->senders.list[i]));
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
}

static void write_refused(struct erasing *e, const char *key, const struct chela_error *why) {
    struct ch_jw w = ch_jw(&e->refused);
    w.comma = e->nrefused++ > 0;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "session", key);
    ch_jw_kcstr(&w, "why", why->message);
    ch_jw_end(&w, '}');
    if (!e->first.code)
        e->first = *why;
}

/* The files go first: a second attempt after a crash finds what is left in the records. A session
 * in use is refused before anything is removed. */
static void erase_session(struct erasing *e, const char *key) {
    struct chela_error why = {0};
    struct erase_one o = {0};
    int rc = chela_store_records(e->store, key, 1, erase_on_record, &o, &why);
    if (rc == CHELA_EPARSE) /* damaged: what is left is deleted */
        rc = 0;
    if (rc == 0)
        rc = ch_store_check_unused(e->store, key, &why);
    if (rc == 0) {
        for (size_t i = 0; i < o.workspaces.n; i++)
            erase_in_workspace(e, &o, key, o.workspaces.list[i]);
        for (const char *const *dir = e->opts.workspaces; dir && *dir; dir++)
            erase_in_workspace(e, &o, key, *dir);
        rc = chela_store_delete(e->store, key, &why);
    }
    if (rc == 0)
        write_erased(e, key, &o);
    else
        write_refused(e, key, &why);
    erase_one_release(&o);
}

/* --- which sessions */

struct erase_sender {
    const char *sender;
    struct erase_texts keys;
};

static int erase_on_sender(const char *key, const char *agent, const struct chela_store_record *r,
                           void *user) {
    struct erase_sender *s = user;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    (void)agent;
    if (!memmem(r->data, r->n, "\"sender\"", 8) ||
        ch_json_parse(&arena, ch_sv(r->data, r->n), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return 0;
    if (ch_sv_is(ch_json_get_str(ch_json_get(v, "for"), "sender"), s->sender))
        erase_add(&s->keys, key, strlen(key));
    return 0;
}

static int erase_on_old(const struct chela_store_session *row, void *user) {
    erase_add(user, row->key, strlen(row->key));
    return 0;
}

static int erase_choose(struct erasing *e, struct erase_texts *keys) {
    const struct chela_erase_opts *o = &e->opts;
    struct erase_sender s = {.sender = o->sender};
    struct ch_store_scan scan = {.types =
                                     (uint64_t)1 << CH_REC_INBOUND | (uint64_t)1 << CH_REC_STATE};
    int rc = 0;
    if (o->key)
        erase_add(keys, o->key, strlen(o->key));
    if (o->before) {
        struct chela_store_filter filter = CHELA_STORE_FILTER(.before = o->before);
        rc = chela_store_list(e->store, &filter, erase_on_old, keys, e->err);
    }
    if (rc < 0 || !o->sender)
        return rc;
    rc = ch_store_scan(e->store, &scan, erase_on_sender, &s, e->err);
    for (size_t i = 0; i < s.keys.n; i++)
        erase_add(keys, s.keys.list[i], strlen(s.keys.list[i]));
    erase_release(&s.keys);
    return rc;
}

/* --- the receipt */

static void write_texts(struct ch_jw *w, const char *name, const struct erase_texts *t) {
    ch_jw_kbegin(w, name, '[');
    for (size_t i = 0; i < t->n; i++)
        ch_jw_str(w, ch_sv_str(t->list[i]));
    ch_jw_end(w, ']');
}

static void write_list(struct ch_jw *w, const char *name, const struct ch_buf *elements) {
    CH_BUF_AUTO list = {0};
    ch_buf_addf(&list, "[%s]", ch_buf_str(elements));
    ch_jw_kraw(w, name, ch_buf_sv(&list));
}

static void write_remains(struct ch_jw *w, const struct erasing *e, const char *left) {
    ch_jw_kbegin(w, "remains", '[');
    if (*left)
        ch_jw_str(w, ch_sv_str(left));
    if (e->undo_busy)
        ch_jw_str(w, CH_SV("copies for /undo of a program that runs: end it and erase again"));
    ch_jw_str(w, CH_SV("digests of the ids of events and the names of kept answers, without text, "
                       "for a week: so that an old message is not taken again"));
    ch_jw_str(w, CH_SV("the number of a session's last record, under a digest of its key"));
    ch_jw_str(w, CH_SV("logs, traces and recordings that were sent or written elsewhere, files "
                       "that tools wrote, memory files of agents, and backups"));
    ch_jw_str(w, CH_SV("what model services and chat services keep"));
    ch_jw_end(w, ']');
}

static void write_receipt(const struct erasing *e, const char *left, struct ch_buf *out) {
    struct chela_store_identity id = {.store = ""};
    struct chela_error ignored = {0};
    struct ch_jw w = ch_jw(out);
    if (e->store->ops->identity && ch_store_enter(e->store, &ignored) == 0)
        ch_store_leave(e->store, e->store->ops->identity(e->store->db, 0, &id, &ignored));
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "ts", ch_store_now());
    ch_jw_kcstr(&w, "backend", e->store->ops->name);
    ch_jw_kcstr(&w, "store", id.store);
    ch_jw_kbool(&w, "complete", e->nrefused == 0 && e->kept.n == 0 && !e->undo_busy);
    write_list(&w, "erased", &e->sessions);
    write_list(&w, "refused", &e->refused);
    write_texts(&w, "files", &e->files);
    write_texts(&w, "files_left", &e->kept);
    ch_jw_kint(&w, "undo_records", (int64_t)e->undone);
    write_remains(&w, e, left);
    ch_jw_end(&w, '}');
}

static void erase_end(struct erasing *e, struct erase_texts *keys) {
    ch_buf_release(&e->sessions);
    ch_buf_release(&e->refused);
    erase_release(&e->files);
    erase_release(&e->kept);
    erase_release(keys);
}

int chela_store_erase(chela_store *s, const struct chela_erase_opts *given, char **receipt,
                      struct chela_error *err) {
    CH_NEEDS(s, err);
    CH_NEEDS_ARG(receipt, err);
    struct chela_error why = {0};
    struct erasing e = {.store = s, .err = err ? err : &why};
    struct erase_texts keys = {0};
    const char *left = "";
    CH_BUF_AUTO out = {0};
    *receipt = NULL;
    int rc = CH_OPTS_READ(chela_erase_opts, &e.opts, given, e.err);
    if (rc == 0 && !e.opts.key && !e.opts.sender && !e.opts.before)
        rc = ch_fail(e.err, CHELA_EINVAL, "no session was chosen: set key, sender or before");
    if (rc == 0)
        rc = erase_choose(&e, &keys);
    for (size_t i = 0; rc == 0 && i < keys.n; i++)
        erase_session(&e, keys.list[i]);
    if (rc == 0)
        rc = ch_store_purge(s, !e.opts.quick, &left, e.err);
    if (rc == 0) {
        write_receipt(&e, left, &out);
        *receipt = ch_buf_take(&out);
        *e.err = e.first;
        rc = e.first.code;
    }
    erase_end(&e, &keys);
    return rc;
}
