/* notes.c -- see notes.h. */
#include "tool/notes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tool/bm25.h"
#include "tool/path.h"

#define PASSAGE_LINES 12
#define WORDS 6       /* of a question that are looked for one by one */
#define SHORTEST_WORD 3

void ch_notes_release(struct ch_notes *n) {
    for (size_t i = 0; i < n->n; i++) {
        ch_free(n->list[i].source);
        ch_free(n->list[i].text);
    }
    ch_free(n->list);
    *n = (struct ch_notes){0};
}

static void add_note(struct ch_notes *n, char *source, struct ch_sv text, float score) {
    if (n->n == n->cap) {
        n->cap = n->cap ? n->cap * 2 : 16;
        n->list = ch_realloc(n->list, n->cap * sizeof(*n->list));
    }
    struct ch_sv shown = ch_utf8_cut(text, CH_LIMIT_NOTE_SHOWN);
    n->list[n->n++] = (struct ch_note){source, ch_strndup(shown.p, shown.n), score};
}

static int by_score(const void *a, const void *b) {
    float x = ((const struct ch_note *)a)->score, y = ((const struct ch_note *)b)->score;
    return x > y ? -1 : x < y;
}

/* Sort those from `from` on and keep the best. */
static void keep_best(struct ch_notes *n, size_t from, size_t limit) {
    if (n->n == from)
        return;
    qsort(n->list + from, n->n - from, sizeof(*n->list), by_score);
    while (n->n > from + limit) {
        n->n--;
        ch_free(n->list[n->n].source);
        ch_free(n->list[n->n].text);
    }
}

/* --- files ---------------------------------------------------------------------------- */

struct passage {
    const char *file; /* in the shelf's names */
    size_t line;
    struct ch_sv text;
};

struct shelf { /* all that is read for one search */
    int root;
    struct ch_bm25 index;
    struct passage *list;
    size_t n, cap;
    char **texts, **names;
    size_t nfiles, bytes;
};

static char *read_file(int fd, size_t max, size_t *n) {
    CH_BUF_AUTO b = {0};
    ch_buf_init(&b, max);
    for (;;) {
        char *to = ch_buf_reserve(&b, CH_MIN(max - b.n, 16 * CH_KB));
        ssize_t got = to && b.n < max ? read(fd, to, CH_MIN(max - b.n, 16 * CH_KB)) : 0;
        if (got <= 0)
            break;
        ch_buf_commit(&b, (size_t)got);
    }
    *n = b.n;
    return b.n ? ch_buf_take(&b) : NULL;
}

static void add_passage(struct shelf *s, const char *file, size_t line, struct ch_sv heading,
                        struct ch_sv text) {
    text = ch_sv_trim(text);
    if (!text.n)
        return;
    if (s->n == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 64;
        s->list = ch_realloc(s->list, s->cap * sizeof(*s->list));
    }
    s->list[s->n++] = (struct passage){file, line, text};
    ch_bm25_begin(&s->index);
    ch_bm25_text(&s->index, CH_FIELD_NAME, heading);
    ch_bm25_text(&s->index, CH_FIELD_DESCRIPTION, text);
}

/* A passage ends before a heading, at a blank line, and when it is long. */
static void cut_passages(struct shelf *s, const char *file, struct ch_sv rest) {
    struct ch_sv heading = CH_SV(""), text = ch_sv(rest.p, 0);
    size_t line = 0, first = 1;
    while (rest.n) {
        struct ch_sv l = ch_sv_split(&rest, '\n');
        bool title = ch_sv_starts(l, "#"), blank = ch_sv_trim(l).n == 0;
        line++;
        if (title || blank || line - first >= PASSAGE_LINES ||
            text.n + l.n > CH_LIMIT_NOTE_SHOWN) {
            add_passage(s, file, first, heading, text);
            text = ch_sv(l.p, 0);
            first = line;
        }
        if (title)
            heading = l;
        text.n = (size_t)(l.p + l.n - text.p);
        if (blank)
            text = ch_sv(rest.p ? rest.p : l.p, 0), first = line + 1;
    }
    add_passage(s, file, first, heading, text);
}

static void add_file(struct shelf *s, const char *path) {
    struct stat st;
    size_t n = 0;
    int fd = s->nfiles < CH_LIMIT_NOTE_FILES ? ch_beneath_open(s->root, path, O_RDONLY | O_NONBLOCK)
                                             : -1;
    if (fd < 0)
        return;
    char *text = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && s->bytes < CH_LIMIT_NOTE_BYTES
                     ? read_file(fd, CH_LIMIT_NOTE_FILE, &n)
                     : NULL;
    close(fd);
    if (!text)
        return;
    s->bytes += n;
    s->texts[s->nfiles] = text;
    s->names[s->nfiles] = ch_strdup(path);
    cut_passages(s, s->names[s->nfiles++], ch_sv(text, n));
}

static bool is_markdown(const char *name) {
    size_t n = strlen(name);
    return name[0] != '.' && n > 3 && strcmp(name + n - 3, ".md") == 0;
}

static int newest_first(const void *a, const void *b) {
    return strcmp(*(char *const *)b, *(char *const *)a);
}

static void add_days(struct shelf *s) {
    int fd = ch_beneath_open(s->root, CH_NOTES_DIR, O_RDONLY | O_DIRECTORY);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    CH_AUTOFREE char **names = ch_malloc(CH_LIMIT_NOTE_FILES * sizeof(*names));
    size_t n = 0;
    if (!d && fd >= 0)
        close(fd);
    for (struct dirent *e; d && n < CH_LIMIT_NOTE_FILES && (e = readdir(d));)
        if (is_markdown(e->d_name))
            names[n++] = ch_strdup(e->d_name);
    if (d)
        closedir(d);
    qsort(names, n, sizeof(*names), newest_first);
    for (size_t i = 0; i < n; i++) {
        CH_BUF_AUTO path = {0};
        ch_buf_addf(&path, CH_NOTES_DIR "/%s", names[i]);
        add_file(s, ch_buf_str(&path));
        ch_free(names[i]);
    }
}

static void rank(struct shelf *s, struct ch_sv query, struct ch_notes *out) {
    CH_AUTOFREE float *scores = ch_malloc((s->n + 1) * sizeof(*scores));
    ch_bm25_settle(&s->index);
    ch_bm25_score(&s->index, query, scores);
    for (size_t i = 0; i < s->n; i++) {
        CH_BUF_AUTO source = {0};
        if (scores[i] <= 0)
            continue;
        ch_buf_addf(&source, "%s:%zu", s->list[i].file, s->list[i].line);
        add_note(out, ch_buf_take(&source), s->list[i].text, scores[i]);
    }
}

void ch_notes_search(const char *workspace, struct ch_sv query, size_t limit,
                     struct ch_notes *out) {
    struct shelf s = {.root = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC)};
    size_t from = out->n;
    if (s.root < 0)
        return;
    s.texts = ch_alloc(CH_LIMIT_NOTE_FILES * sizeof(*s.texts));
    s.names = ch_alloc(CH_LIMIT_NOTE_FILES * sizeof(*s.names));
    add_file(&s, CH_NOTES_LASTING);
    add_days(&s);
    close(s.root);
    if (s.n)
        rank(&s, query, out);
    keep_best(out, from, limit);
    for (size_t i = 0; i < s.nfiles; i++) {
        ch_free(s.texts[i]);
        ch_free(s.names[i]);
    }
    ch_free(s.texts);
    ch_free(s.names);
    ch_free(s.list);
    ch_bm25_release(&s.index);
}

/* --- conversations ----------------------------------------------------------------------- */

struct hits {
    struct ch_notes *out;
    size_t from;
    float worth;
};

/* The same place again is worth more. */
static int add_hit(const char *session, uint64_t record, const char *excerpt, void *to) {
    struct hits *h = to;
    CH_BUF_AUTO source = {0};
    CH_BUF_AUTO plain = {0};
    ch_buf_addf(&source, "session %s, record %llu", session, (unsigned long long)record);
    for (size_t i = h->from; i < h->out->n; i++)
        if (strcmp(h->out->list[i].source, ch_buf_str(&source)) == 0) {
            h->out->list[i].score += h->worth;
            return 0;
        }
    for (const char *c = excerpt; *c; c++)
        if (*c != '\x01' && *c != '\x02') /* marks around the match */
            ch_buf_addc(&plain, *c == '\n' ? ' ' : *c);
    add_note(h->out, ch_buf_take(&source), ch_buf_sv(&plain), h->worth);
    return 0;
}

void ch_notes_recall(const struct ch_recall *r, const char *session, struct ch_sv query,
                     size_t limit, struct ch_notes *out) {
    struct hits h = {out, out->n, WORDS};
    CH_AUTOFREE char *all = ch_strndup(query.p, query.n);
    r->search(all, session, limit, add_hit, &h, r->user);
    struct ch_sv rest = query;
    h.worth = 1;
    for (unsigned tried = 0; rest.n && tried < WORDS && out->n - h.from < limit;) {
        struct ch_sv word = ch_sv_split(&rest, ' ');
        if (word.n < SHORTEST_WORD || word.n == query.n)
            continue;
        tried++;
        CH_AUTOFREE char *one = ch_strndup(word.p, word.n);
        r->search(one, session, limit, add_hit, &h, r->user);
    }
    keep_best(out, h.from, limit);
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
