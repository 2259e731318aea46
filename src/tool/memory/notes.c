/* notes.c -- see notes.h. */
#include "tool/memory/notes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "model/message/ids.h"
#include "tool/process/path.h"
#include "tool/memory/passage_index.h"

#define PIECES 8 /* words of a query that are searched one by one */
#define SHORTEST_PIECE 3

/* --- results ---------------------------------------------------------------------------- */

void ch_notes_release(struct ch_notes *n) {
    for (size_t i = 0; i < n->n; i++) {
        ch_free(n->list[i].source);
        ch_free(n->list[i].text);
    }
    ch_free(n->list);
    *n = (struct ch_notes){0};
}

bool ch_notes_have(const struct ch_notes *n, struct ch_sv text) {
    struct ch_sv shown = ch_utf8_cut(text, CH_LIMIT_NOTE_SHOWN);

    for (size_t i = 0; i < n->n; i++)
        if (ch_sv_is(shown, n->list[i].text))
            return true;
    return false;
}

void ch_notes_add(struct ch_notes *n, const char *source, struct ch_sv text) {
    CH_GROW(n->list, n->n, n->cap, 16);
    struct ch_sv shown = ch_utf8_cut(text, CH_LIMIT_NOTE_SHOWN);
    n->list[n->n++] = (struct ch_note){ch_strdup(source), ch_strndup(shown.p, shown.n)};
}

void ch_notes_write(const struct ch_notes *n, size_t max, struct ch_buf *out) {
    for (size_t i = 0; i < n->n; i++) {
        size_t size = strlen(n->list[i].source) + strlen(n->list[i].text) + 6;
        if (size > max)
            continue;
        max -= size;
        ch_buf_addf(out, "%s[%s]\n%s\n", out->n ? "\n" : "", n->list[i].source, n->list[i].text);
    }
}

/* --- files ---------------------------------------------------------------------------- */

static void notes_read_file(int fd, size_t max, struct ch_buf *out) {
    ch_buf_init(out, max);
    for (;;) {
        char *to = ch_buf_reserve(out, CH_MIN(max - out->n, 16 * CH_KB));
        ssize_t got = to && out->n < max ? read(fd, to, CH_MIN(max - out->n, 16 * CH_KB)) : 0;
        if (got <= 0)
            return;
        ch_buf_commit(out, (size_t)got);
    }
}

int64_t ch_notes_text(int root, const char *path, const char *const *hide, struct ch_buf *out) {
    struct stat st = {0};
    int fd = ch_beneath_open(root, path, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !ch_path_is_listed(hide, fd))
        notes_read_file(fd, CH_LIMIT_NOTE_FILE, out);
    close(fd);
    return (int64_t)st.st_mtim.tv_sec * 1000;
}

static bool is_markdown(const char *name) {
    size_t n = strlen(name);
    return name[0] != '.' && n > 3 && strcmp(name + n - 3, ".md") == 0;
}

int ch_notes_order(const char *a, const char *b) {
    bool lasting = strcmp(a, CH_NOTES_LASTING) == 0;
    if (lasting || strcmp(b, CH_NOTES_LASTING) == 0)
        return strcmp(a, b) == 0 ? 0 : lasting ? -1 : 1;
    return strcmp(b, a);
}

static int in_order(const void *a, const void *b) {
    return ch_notes_order(*(char *const *)a, *(char *const *)b);
}

static void notes_add_path(struct ch_buf *paths, const char *name) {
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path, CH_NOTES_DIR "/%s", name);
    char *copy = ch_buf_take(&path);
    ch_buf_add(paths, &copy, sizeof(copy));
}

void ch_notes_paths(int root, ch_notes_path_fn *fn, void *user) {
    int fd = ch_beneath_open(root, CH_NOTES_DIR, O_RDONLY | O_DIRECTORY);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    CH_BUF_AUTO paths = {0}; /* of char * */
    size_t n = 0;
    if (!d && fd >= 0)
        close(fd);
    /* All names are listed before the newest are chosen: readdir has no order. */
    for (struct dirent *e; d && n < CH_LIMIT_NOTE_NAMES && (e = readdir(d));)
        if (is_markdown(e->d_name)) {
            notes_add_path(&paths, e->d_name);
            n++;
        }
    if (d)
        closedir(d);
    char **list = (char **)(void *)paths.p;
    if (n)
        qsort(list, n, sizeof(*list), in_order);
    fn(CH_NOTES_LASTING, user);
    for (size_t i = 0; i < n; i++) {
        fn(list[i], user);
        ch_free(list[i]);
    }
}

int ch_notes_root(const char *workspace) {
    return open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

struct reading {
    int root;
    size_t files, bytes;
    ch_notes_file_fn *fn;
    void *user;
};

static void notes_add_file(const char *path, void *user) {
    struct reading *r = user;
    CH_BUF_AUTO text = {0};

    if (r->files >= CH_LIMIT_NOTE_FILES || r->bytes >= CH_LIMIT_NOTE_BYTES)
        return;
    int64_t ts = ch_notes_text(r->root, path, NULL, &text);
    r->files += text.n > 0;
    r->bytes += text.n;
    if (text.n)
        r->fn(path, ts, ch_buf_sv(&text), r->user);
}

void ch_notes_files(const char *workspace, ch_notes_file_fn *fn, void *user) {
    struct reading r = {.root = ch_notes_root(workspace), .fn = fn, .user = user};

    if (r.root < 0)
        return;
    ch_notes_paths(r.root, notes_add_file, &r);
    close(r.root);
}

/* --- conversations ----------------------------------------------------------------------- */

struct hearing {
    struct ch_shelf *out;
    /* records already added */
    uint64_t seen[CH_LIMIT_RECALLED + (PIECES + 1) * CH_LIMIT_RECALL_HITS];
    size_t nseen;
    uint64_t session, turn; /* of the last text; session: a hash */
};

/* False: the text was passed on before. */
static bool add_seen(struct hearing *h, const struct ch_recalled *what) {
    uint64_t place = ch_hash(what->seq, ch_sv_str(what->session));

    for (size_t i = 0; i < h->nseen; i++)
        if (h->seen[i] == place)
            return false;
    if (h->nseen < CH_LEN(h->seen))
        h->seen[h->nseen++] = place;
    return true;
}

/* Moves to the text. True: the last text was of the same turn or of an adjacent one. */
static bool move_near(struct hearing *h, const struct ch_recalled *what) {
    uint64_t session = ch_hash(0, ch_sv_str(what->session)), turn = what->turn;
    bool near = turn && h->turn && turn <= h->turn + 1 && h->turn <= turn + 1;

    near = near && session == h->session;
    h->session = session;
    h->turn = turn;
    return near;
}

static int notes_hear(const struct ch_recalled *what, void *to) {
    struct hearing *h = to;
    CH_BUF_AUTO source = {0};
    CH_BUF_AUTO plain = {0};

    if (!add_seen(h, what))
        return 0;
    if (!move_near(h, what))
        ch_shelf_begin(h->out);
    ch_buf_addf(&source, "session %s", what->session);
    if (what->turn)
        ch_buf_addf(&source, ", turn %llu", (unsigned long long)what->turn);
    for (const char *c = what->text; *c; c++)
        if (*c != '\x01' && *c != '\x02') /* marks around the match */
            ch_buf_addc(&plain, *c);
    ch_shelf_add(h->out, ch_buf_str(&source), false, ch_buf_sv(&plain));
    return h->out->bytes >= CH_LIMIT_RECALL_BYTES;
}

static size_t char_size(struct ch_sv s) {
    unsigned n = ch_utf8_next(s, NULL);

    return n ? n : 1;
}

/* The next word, or three characters in a row in scripts without spaces; those overlap. */
static struct ch_sv notes_next_piece(struct ch_sv *rest) {
    struct ch_sv s = *rest;
    size_t n = 0, step;

    while (n < s.n && (unsigned char)s.p[n] < 0x80 && s.p[n] != ' ')
        n++;
    step = n ? n : char_size(s);
    if (n == 0)
        for (unsigned i = 0; i < 3 && n < s.n && (unsigned char)s.p[n] >= 0x80; i++)
            n += char_size(ch_sv(s.p + n, s.n - n));
    *rest = ch_sv(s.p + step, s.n - step);
    return ch_sv(s.p, n);
}

void ch_notes_recall(const struct ch_recall *r, const char *session, const char *run,
                     struct ch_sv query, struct ch_shelf *out) {
    struct ch_recall_query q = {.session = session, .run = run, .limit = CH_LIMIT_RECALLED};
    CH_AUTOFREE struct hearing *h = ch_alloc(sizeof(*h));
    CH_AUTOFREE char *all = ch_strndup(query.p, query.n);
    struct ch_sv rest = query;

    h->out = out;
    r->find(&q, notes_hear, h, r->user);
    q.text = all;
    q.limit = CH_LIMIT_RECALL_HITS;
    r->find(&q, notes_hear, h, r->user);
    for (unsigned tried = 0; rest.n && tried < PIECES && out->bytes < CH_LIMIT_RECALL_BYTES;) {
        struct ch_sv piece = notes_next_piece(&rest);
        if (piece.n < SHORTEST_PIECE || piece.n == query.n)
            continue;
        tried++;
        CH_AUTOFREE char *one = ch_strndup(piece.p, piece.n);
        q.text = one;
        r->find(&q, notes_hear, h, r->user);
    }
}
