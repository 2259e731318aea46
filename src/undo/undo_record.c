/* undo_record.c -- see undo_record.h. A failure to write loses facts and never stops a call. */
#include "undo/undo_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/utf8.h"

enum { CHUNK = 64 << 10, NAME = 80 };

/* Times that do not fit wrap around: a program may set any. */
static int64_t record_nanoseconds(const struct timespec *t) {
    return (int64_t)((uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec);
}

struct ch_undo_sig ch_undo_sig(const struct stat *st) {
    return (struct ch_undo_sig){
        .ino = st->st_ino,
        .size = S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size,
        .mtime = S_ISDIR(st->st_mode) ? 0 : record_nanoseconds(&st->st_mtim),
        .ctime = S_ISDIR(st->st_mode) ? 0 : record_nanoseconds(&st->st_ctim),
        .mode = st->st_mode};
}

bool ch_undo_sig_same(const struct ch_undo_sig *a, const struct ch_undo_sig *b) {
    return a->ino == b->ino && a->size == b->size && a->mtime == b->mtime &&
           a->ctime == b->ctime && a->mode == b->mode;
}

/* --- lines: words separated by spaces; other bytes than printable ASCII are escaped ---------- */

static void record_add_word(struct ch_buf *line, const char *word) {
    ch_buf_addc(line, ' ');
    for (const unsigned char *p = (const unsigned char *)word; *p; p++)
        if (*p <= ' ' || *p == '%' || *p > '~')
            ch_buf_addf(line, "%%%02x", *p);
        else
            ch_buf_addc(line, (char)*p);
}

static char *record_word(struct ch_sv *line) { /* owned */
    struct ch_sv word = ch_sv_split(line, ' ');
    char *out = ch_malloc(word.n + 1), *to = out;
    for (size_t i = 0; i < word.n; i++) {
        char hex[3] = {0};
        if (word.p[i] == '%' && i + 2 < word.n) {
            memcpy(hex, word.p + i + 1, 2);
            *to++ = (char)strtoul(hex, NULL, 16);
            i += 2;
        } else {
            *to++ = word.p[i];
        }
    }
    *to = '\0';
    return out;
}

static uint64_t record_number(struct ch_sv *line) {
    struct ch_sv word = ch_sv_split(line, ' ');
    char text[24] = {0};
    if (word.n < sizeof(text) && word.n > 0)
        memcpy(text, word.p, word.n);
    return *text == '-' ? (uint64_t)strtoll(text, NULL, 10) : strtoull(text, NULL, 10);
}

/* A log that lacks a fact takes no further one, which would be read as part of another message.
 * The record is rewritten before the next message. */
static void record_write(struct ch_undo_record *r, struct ch_buf *line) {
    ch_buf_addc(line, '\n');
    if (r->log < 0)
        return;
    if (write(r->log, line->p, line->n) == (ssize_t)line->n) {
        r->log_size += line->n;
    } else {
        close(r->log);
        r->log = -1;
    }
}

static void record_say_message(struct ch_buf *line, const struct ch_undo_message *m) {
    ch_buf_addf(line, "message %llu %lld %lld", (unsigned long long)m->id, (long long)m->turns,
                (long long)m->ts);
    record_add_word(line, m->session);
    record_add_word(line, m->text);
}

static bool record_has_copy(const struct ch_undo_state *s) {
    return s->kind == CH_UNDO_FILE || s->kind == CH_UNDO_LINK;
}

/* at: place of the copy. */
static void record_say_change(struct ch_buf *line, const struct ch_undo_change *c, uint64_t at) {
    ch_buf_addf(line, "was %c %o %llu %llu", (char)c->was.kind, c->was.mode,
                (unsigned long long)at, (unsigned long long)c->was.n);
    record_add_word(line, c->path);
}

static void record_say_settled(struct ch_buf *line, uint64_t id, const struct ch_undo_change *c) {
    ch_buf_addf(line, "is %llu %llu %llu %lld %lld %u", (unsigned long long)id,
                (unsigned long long)c->is.ino, (unsigned long long)c->is.size,
                (long long)c->is.mtime, (long long)c->is.ctime, c->is.mode);
    record_add_word(line, c->path);
}

static void record_say_own(struct ch_buf *line, const char *path) {
    ch_buf_add_str(line, "own");
    record_add_word(line, path);
}

static void record_say_fork(struct ch_buf *line, const struct ch_undo_fork *f) {
    ch_buf_addf(line, "fork %llu", (unsigned long long)f->before);
    record_add_word(line, f->from);
    record_add_word(line, f->to);
}

/* --- the list in memory ------------------------------------------------------------------- */

static struct ch_undo_message *record_last(struct ch_undo_record *r) {
    return &r->list[r->n - 1];
}

static struct ch_undo_message *record_add_message(struct ch_undo_record *r) {
    r->list = ch_realloc(r->list, (r->n + 1) * sizeof(*r->list));
    r->list[r->n] = (struct ch_undo_message){0};
    ch_undo_table_release(&r->known);
    return &r->list[r->n++];
}

static struct ch_undo_change *record_add_change(struct ch_undo_record *r, char *path,
                                                const struct ch_undo_state *was) {
    struct ch_undo_message *m = record_last(r);
    CH_GROW(m->changes, m->n, m->cap, 8);
    m->changes[m->n] = (struct ch_undo_change){.path = path, .was = *was};
    ch_undo_table_put(&r->known, path, (uint32_t)m->n);
    return &m->changes[m->n++];
}

static void record_add_call(struct ch_undo_message *m, char *text) {
    m->calls = ch_realloc(m->calls, (m->ncalls + 1) * sizeof(*m->calls));
    m->calls[m->ncalls++] = text;
}

static void record_free_message(struct ch_undo_message *m) {
    for (size_t i = 0; i < m->n; i++)
        ch_free(m->changes[i].path);
    for (size_t i = 0; i < m->ncalls; i++)
        ch_free(m->calls[i]);
    ch_free(m->changes);
    ch_free(m->calls);
    ch_free(m->session);
    ch_free(m->text);
}

static struct ch_undo_message *record_find(struct ch_undo_record *r, uint64_t id) {
    for (size_t i = r->n; i-- > 0;)
        if (r->list[i].id == id)
            return &r->list[i];
    return NULL;
}

bool ch_undo_record_knows(const struct ch_undo_record *r, const char *path) {
    return ch_undo_table_find(&r->known, path) != NULL;
}

bool ch_undo_record_belongs(const struct ch_undo_record *r, const struct ch_undo_message *m,
                            const char *session) {
    uint64_t before = UINT64_MAX;
    for (size_t i = r->nforks + 1; i-- > 0;) { /* newest first: a copy is younger than its origin */
        if (strcmp(m->session, session) == 0)
            return m->id < before;
        while (i > 0 && strcmp(r->forks[i - 1].to, session) != 0)
            i--;
        if (i == 0)
            return false;
        session = r->forks[i - 1].from;
        before = CH_MIN(before, r->forks[i - 1].before);
    }
    return false;
}

/* --- reading ------------------------------------------------------------------------------ */

static void record_read_change(struct ch_undo_record *r, struct ch_sv line) {
    struct ch_sv kind = ch_sv_split(&line, ' '), mode = ch_sv_split(&line, ' ');
    struct ch_undo_state was = {0};
    char octal[12] = {0};

    if (kind.n != 1 || mode.n >= sizeof(octal) || r->n == 0)
        return;
    memcpy(octal, mode.p, mode.n);
    was.kind = (enum ch_undo_kind)kind.p[0];
    was.mode = (unsigned)strtoul(octal, NULL, 8);
    was.at = record_number(&line);
    was.n = record_number(&line);
    char *path = record_word(&line);
    if ((record_has_copy(&was) && (was.at > r->pack_size || was.n > r->pack_size - was.at)) ||
        ch_undo_record_knows(r, path))
        ch_free(path);
    else
        record_add_change(r, path, &was);
}

static void record_read_settled(struct ch_undo_record *r, struct ch_sv line) {
    struct ch_undo_message *m = record_find(r, record_number(&line));
    struct ch_undo_sig is = {.ino = record_number(&line), .size = 0};
    is.size = record_number(&line);
    is.mtime = (int64_t)record_number(&line);
    is.ctime = (int64_t)record_number(&line);
    is.mode = (unsigned)record_number(&line);
    char *path = record_word(&line);
    const uint32_t *at = m == (r->n ? record_last(r) : NULL) ? ch_undo_table_find(&r->known, path)
                                                             : NULL;
    for (size_t i = at ? *at : 0; m && i < (at ? *at + 1 : m->n); i++)
        if (strcmp(m->changes[i].path, path) == 0) {
            m->changes[i].is = is;
            m->changes[i].settled = true;
        }
    ch_free(path);
}

static void record_read_own(struct ch_undo_record *r, struct ch_sv line) {
    char *path = record_word(&line);
    const uint32_t *at = ch_undo_table_find(&r->known, path);
    if (at)
        record_last(r)->changes[*at].owned = true;
    ch_free(path);
}

static void record_read_line(struct ch_undo_record *r, struct ch_sv line) {
    struct ch_sv what = ch_sv_split(&line, ' ');
    struct ch_undo_message *m;
    if (ch_sv_is(what, "message")) {
        m = record_add_message(r);
        m->id = record_number(&line);
        m->turns = (int64_t)record_number(&line);
        m->ts = (int64_t)record_number(&line);
        m->session = record_word(&line);
        m->text = record_word(&line);
        r->next_id = CH_MAX(r->next_id, m->id + 1);
    } else if (ch_sv_is(what, "fork")) {
        struct ch_undo_fork f = {.before = record_number(&line)};
        f.from = record_word(&line);
        f.to = record_word(&line);
        r->forks = ch_realloc(r->forks, (r->nforks + 1) * sizeof(f));
        r->forks[r->nforks++] = f;
    } else if (ch_sv_is(what, "was")) {
        record_read_change(r, line);
    } else if (ch_sv_is(what, "is")) {
        record_read_settled(r, line);
    } else if (ch_sv_is(what, "own")) {
        record_read_own(r, line);
    } else if (ch_sv_is(what, "undone")) {
        if ((m = record_find(r, record_number(&line))))
            m->undone = true;
    } else if (r->n > 0) {
        m = record_last(r);
        bool resumed = ch_sv_is(what, "resumed");
        m->ended = !resumed && (m->ended || ch_sv_is(what, "ended"));
        m->scanned = !resumed && (m->scanned || ch_sv_is(what, "scanned"));
        m->more |= ch_sv_is(what, "more");
        m->blind |= ch_sv_is(what, "blind");
        if (ch_sv_is(what, "call"))
            record_add_call(m, record_word(&line));
    }
}

static int record_slurp(int fd, struct ch_buf *out) {
    ssize_t n = 1;
    while (n > 0) {
        char *to = ch_buf_reserve(out, CHUNK);
        n = to ? read(fd, to, CHUNK) : -1;
        ch_buf_commit(out, n > 0 ? (size_t)n : 0);
    }
    return n < 0 ? -1 : 0;
}

/* --- the pack ------------------------------------------------------------------------------ */

static int record_open_pack(struct ch_undo_record *r, unsigned number, int flags) {
    char name[NAME];
    snprintf(name, sizeof(name), "pack-%u", number);
    return openat(r->dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
}

static bool record_append(int pack, const char *p, size_t n, uint64_t at) {
    while (n > 0) {
        ssize_t done = pwrite(pack, p, n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        p += done;
        n -= (size_t)done;
        at += (uint64_t)done;
    }
    return true;
}

static struct ch_undo_state record_lost(const struct stat *st, enum ch_undo_lost why) {
    return (struct ch_undo_state){.kind = CH_UNDO_LOST, .mode = st->st_mode & 07777, .at = why};
}

/* Bytes copied from fd to the pack; UINT64_MAX: more than max, or a failure. */
static uint64_t record_copy_bytes(struct ch_undo_record *r, int fd, uint64_t max) {
    char *bytes = ch_malloc(CHUNK);
    uint64_t n = 0;
    ssize_t got;
    while ((got = read(fd, bytes, CHUNK)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || n + (uint64_t)got > max ||
            !record_append(r->pack, bytes, (size_t)got, r->pack_size + n)) {
            n = UINT64_MAX;
            break;
        }
        n += (uint64_t)got;
    }
    ch_free(bytes);
    return n;
}

static struct ch_undo_state record_copy_link(struct ch_undo_record *r, int dir, const char *name,
                                             const struct stat *st) {
    char target[4096];
    ssize_t n = readlinkat(dir, name, target, sizeof(target));
    if (n <= 0 || !record_append(r->pack, target, (size_t)n, r->pack_size))
        return record_lost(st, CH_UNDO_UNREADABLE);
    struct ch_undo_state s = {CH_UNDO_LINK, 0777, r->pack_size, (uint64_t)n};
    r->pack_size += (uint64_t)n;
    return s;
}

struct ch_undo_state ch_undo_record_copy(struct ch_undo_record *r, int dir, const char *name,
                                         const struct stat *st, uint64_t max) {
    if (S_ISDIR(st->st_mode))
        return (struct ch_undo_state){.kind = CH_UNDO_DIR, .mode = st->st_mode & 07777};
    if (!S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode))
        return record_lost(st, CH_UNDO_SPECIAL);
    if ((uint64_t)st->st_size > max)
        return record_lost(st, CH_UNDO_TOO_LARGE);
    if (r->pack_size + (uint64_t)st->st_size > CH_LIMIT_UNDO_PACK)
        return record_lost(st, CH_UNDO_FULL);
    if (S_ISLNK(st->st_mode))
        return record_copy_link(r, dir, name, st);
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    uint64_t n = fd < 0 ? UINT64_MAX : record_copy_bytes(r, fd, max);
    if (fd >= 0)
        close(fd);
    if (n == UINT64_MAX)
        return record_lost(st, CH_UNDO_UNREADABLE);
    struct ch_undo_state s = {CH_UNDO_FILE, st->st_mode & 07777, r->pack_size, n};
    r->pack_size += n;
    return s;
}

/* --- adding facts --------------------------------------------------------------------------- */

static char *record_cut(struct ch_sv text, size_t max) {
    text = ch_utf8_cut(text, max);
    return ch_strndup(text.p, text.n);
}

void ch_undo_record_message(struct ch_undo_record *r, const char *session, int64_t turns,
                            int64_t ts, const char *text) {
    CH_BUF_AUTO line = {0};
    struct ch_undo_message *m = record_add_message(r);
    *m = (struct ch_undo_message){.id = r->next_id++,
                                  .turns = turns,
                                  .ts = ts,
                                  .session = ch_strdup(session),
                                  .text = record_cut(ch_sv_str(text), 4 * CH_KB)};
    record_say_message(&line, m);
    record_write(r, &line);
}

void ch_undo_record_fork(struct ch_undo_record *r, const char *from, const char *to,
                         uint64_t before) {
    CH_BUF_AUTO line = {0};
    struct ch_undo_fork f = {ch_strdup(from), ch_strdup(to), before ? before : r->next_id};
    r->forks = ch_realloc(r->forks, (r->nforks + 1) * sizeof(f));
    r->forks[r->nforks++] = f;
    record_say_fork(&line, &f);
    record_write(r, &line);
}

void ch_undo_record_undone(struct ch_undo_record *r, struct ch_undo_message *m) {
    CH_BUF_AUTO line = {0};
    m->undone = true;
    ch_buf_addf(&line, "undone %llu", (unsigned long long)m->id);
    record_write(r, &line);
}

static void record_mark(struct ch_undo_record *r, bool *flag, const char *word) {
    CH_BUF_AUTO line = {0};
    if (*flag)
        return;
    *flag = true;
    ch_buf_add_str(&line, word);
    record_write(r, &line);
}

void ch_undo_record_change(struct ch_undo_record *r, const char *path,
                           const struct ch_undo_state *was) {
    CH_BUF_AUTO line = {0};
    if (ch_undo_record_knows(r, path))
        return;
    if (record_last(r)->n >= CH_LIMIT_UNDO_CHANGES) {
        record_mark(r, &record_last(r)->more, "more");
        return;
    }
    record_say_change(&line, record_add_change(r, ch_strdup(path), was), was->at);
    record_write(r, &line);
}

void ch_undo_record_own(struct ch_undo_record *r, const char *path) {
    CH_BUF_AUTO line = {0};
    const uint32_t *at = ch_undo_table_find(&r->known, path);
    struct ch_undo_change *c = at ? &record_last(r)->changes[*at] : NULL;
    if (!c || c->owned)
        return;
    c->owned = true;
    record_say_own(&line, path);
    record_write(r, &line);
}

void ch_undo_record_call(struct ch_undo_record *r, struct ch_sv text) {
    CH_BUF_AUTO line = {0};
    struct ch_undo_message *m = record_last(r);
    if (m->ncalls >= CH_LIMIT_UNDO_CALLS)
        return;
    char *copy = record_cut(text, 200);
    record_add_call(m, copy);
    ch_buf_add_str(&line, "call");
    record_add_word(&line, copy);
    record_write(r, &line);
}

void ch_undo_record_blind(struct ch_undo_record *r) {
    record_mark(r, &record_last(r)->blind, "blind");
}

void ch_undo_record_ended(struct ch_undo_record *r) {
    record_mark(r, &record_last(r)->ended, "ended");
}

void ch_undo_record_scanned(struct ch_undo_record *r) {
    record_mark(r, &record_last(r)->scanned, "scanned");
}

void ch_undo_record_resumed(struct ch_undo_record *r) {
    bool resumed = false;
    record_last(r)->ended = record_last(r)->scanned = false;
    record_mark(r, &resumed, "resumed");
}

void ch_undo_record_settle(struct ch_undo_record *r, const struct ch_undo_message *m,
                           struct ch_undo_change *c, const struct ch_undo_sig *is) {
    CH_BUF_AUTO line = {0};
    if (c->settled && ch_undo_sig_same(&c->is, is))
        return;
    c->is = *is;
    c->settled = true;
    record_say_settled(&line, m->id, c);
    record_write(r, &line);
}

/* --- rewriting ------------------------------------------------------------------------------- */

static bool record_copy_again(const struct ch_undo_record *r, int to, uint64_t at,
                              const struct ch_undo_state *s) {
    char *bytes = ch_malloc(CHUNK);
    uint64_t left = s->n, from = s->at;
    while (left > 0) {
        ssize_t n = pread(r->pack, bytes, CH_MIN(left, CHUNK), (off_t)from);
        if (n <= 0 || !record_append(to, bytes, (size_t)n, at))
            break;
        left -= (uint64_t)n;
        from += (uint64_t)n;
        at += (uint64_t)n;
    }
    ch_free(bytes);
    return left == 0;
}

/* at: place of the first copy; the others follow. */
static void record_write_message(struct ch_buf *out, const struct ch_undo_message *m,
                                 uint64_t at) {
    record_say_message(out, m);
    ch_buf_addc(out, '\n');
    for (size_t i = 0; i < m->n; i++) {
        bool copied = record_has_copy(&m->changes[i].was);
        record_say_change(out, &m->changes[i], copied ? at : m->changes[i].was.at);
        ch_buf_addc(out, '\n');
        if (m->changes[i].owned) {
            record_say_own(out, m->changes[i].path);
            ch_buf_addc(out, '\n');
        }
        at += copied ? m->changes[i].was.n : 0;
    }
    for (size_t i = 0; i < m->n; i++)
        if (m->changes[i].settled) {
            record_say_settled(out, m->id, &m->changes[i]);
            ch_buf_addc(out, '\n');
        }
    for (size_t i = 0; i < m->ncalls; i++) {
        ch_buf_add_str(out, "call");
        record_add_word(out, m->calls[i]);
        ch_buf_addc(out, '\n');
    }
    ch_buf_addf(out, "%s%s%s%s", m->more ? "more\n" : "", m->blind ? "blind\n" : "",
                m->scanned ? "scanned\n" : "", m->ended ? "ended\n" : "");
    if (m->undone)
        ch_buf_addf(out, "undone %llu\n", (unsigned long long)m->id);
}

/* Write all messages to a new log with a new pack. The list keeps the places in the old one. */
static bool record_write_all(const struct ch_undo_record *r, int pack, struct ch_buf *out) {
    uint64_t size = 0;
    ch_buf_addf(out, "pack %u\n", r->pack_number + 1);
    for (size_t i = 0; i < r->n; i++) {
        const struct ch_undo_message *m = &r->list[i];
        record_write_message(out, m, size);
        for (size_t k = 0; k < m->n; k++) {
            const struct ch_undo_state *s = &m->changes[k].was;
            if (!record_has_copy(s))
                continue;
            if (!record_copy_again(r, pack, size, s))
                return false;
            size += s->n;
        }
    }
    for (size_t i = 0; i < r->nforks; i++) {
        record_say_fork(out, &r->forks[i]);
        ch_buf_addc(out, '\n');
    }
    return true;
}

/* The places in the pack that record_write_all wrote. Returns its size. */
static uint64_t record_take_places(struct ch_undo_record *r) {
    uint64_t size = 0;
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < r->list[i].n; k++) {
            struct ch_undo_state *s = &r->list[i].changes[k].was;
            if (!record_has_copy(s))
                continue;
            s->at = size;
            size += s->n;
        }
    return size;
}

/* Drop the oldest messages until the rest fits well into the limits. The newest message is kept
 * if it leaves room for another one. */
static void record_drop_old(struct ch_undo_record *r) {
    uint64_t bytes = 0, facts = 0;
    size_t keep = r->n;
    while (keep > 0 && r->n - keep < CH_LIMIT_UNDO_MESSAGES / 2) {
        const struct ch_undo_message *m = &r->list[keep - 1];
        for (size_t k = 0; k < m->n; k++) {
            bytes += m->changes[k].was.n;
            facts += 256 + 2 * strlen(m->changes[k].path);
        }
        if (bytes + facts > CH_LIMIT_UNDO_PACK / (keep == r->n ? 2 : 4) ||
            (facts > CH_LIMIT_UNDO_LOG && keep < r->n))
            break;
        keep--;
    }
    for (size_t i = 0; i < keep; i++)
        record_free_message(&r->list[i]);
    if (keep > 0)
        memmove(r->list, r->list + keep, (r->n - keep) * sizeof(*r->list));
    r->n -= keep;
    size_t forks = CH_MIN(r->nforks, CH_LIMIT_UNDO_MESSAGES), drop = r->nforks - forks;
    for (size_t i = 0; i < drop; i++) {
        ch_free(r->forks[i].from);
        ch_free(r->forks[i].to);
    }
    if (drop > 0)
        memmove(r->forks, r->forks + drop, forks * sizeof(*r->forks));
    r->nforks = forks;
}

static int record_start_log(struct ch_undo_record *r, const struct ch_buf *text) {
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
    int log = openat(r->dir, "log.new", flags, 0600);
    if (log < 0 || !record_append(log, text->p, text->n, 0) ||
        lseek(log, 0, SEEK_END) < 0 || renameat(r->dir, "log.new", r->dir, "log") < 0) {
        if (log >= 0)
            close(log);
        return -1;
    }
    return log;
}

/* Start a new pack and a new log with the entries that are still needed. */
static bool record_rewrite(struct ch_undo_record *r) {
    CH_BUF_AUTO text = {0};
    char name[NAME];

    record_drop_old(r);
    int pack = record_open_pack(r, r->pack_number + 1, O_CREAT | O_TRUNC);
    bool written = pack >= 0 && record_write_all(r, pack, &text);
    int log = written ? record_start_log(r, &text) : -1;
    snprintf(name, sizeof(name), "pack-%u", log < 0 ? r->pack_number + 1 : r->pack_number);
    unlinkat(r->dir, name, 0);
    if (log < 0) {
        if (pack >= 0)
            close(pack);
        return false;
    }
    unlinkat(r->dir, "index", 0); /* its copies are in the old pack */
    if (r->pack >= 0)
        close(r->pack);
    if (r->log >= 0)
        close(r->log);
    r->pack = pack;
    r->log = log;
    r->pack_number++;
    r->pack_size = record_take_places(r);
    r->log_size = text.n;
    return true;
}

bool ch_undo_record_tidy(struct ch_undo_record *r) {
    bool over = r->pack_size > CH_LIMIT_UNDO_PACK / 2 || r->log_size > CH_LIMIT_UNDO_LOG ||
                r->n > CH_LIMIT_UNDO_MESSAGES;
    return (over || r->pack < 0 || r->log < 0) && record_rewrite(r);
}

/* --- opening ---------------------------------------------------------------------------------- */

/* ours: the caller has locked the record, and will add facts. */
static void record_load(struct ch_undo_record *r, bool ours) {
    CH_BUF_AUTO text = {0};
    struct stat st;

    r->log = openat(r->dir, "log",
                    (ours ? O_RDWR | O_APPEND : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW);
    if (r->log < 0 || record_slurp(r->log, &text) < 0)
        return;
    struct ch_sv rest = ch_buf_sv(&text), line = ch_sv_split(&rest, '\n');
    if (!ch_sv_is(ch_sv_split(&line, ' '), "pack"))
        return;
    r->pack_number = (unsigned)record_number(&line);
    r->pack = record_open_pack(r, r->pack_number, 0);
    if (r->pack < 0 || fstat(r->pack, &st) < 0)
        return;
    r->pack_size = (uint64_t)st.st_size;
    while (rest.p && memchr(rest.p, '\n', rest.n))
        record_read_line(r, ch_sv_split(&rest, '\n'));
    r->log_size = text.n - rest.n;
    if (ours && rest.n > 0 && ftruncate(r->log, (off_t)r->log_size) < 0) { /* a torn line */
        close(r->log);
        r->log = -1;
    }
}

static int record_lock(int dir, const char *name, int *lock) {
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    *lock = openat(fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) == 0)
        return fd;
    if (*lock >= 0)
        close(*lock);
    close(fd);
    return -1;
}

static void record_remove(int dir, const char *name) {
    int lock, fd = record_lock(dir, name, &lock);
    DIR *d = fd < 0 ? NULL : fdopendir(dup(fd));
    for (const struct dirent *e; d && (e = readdir(d));)
        unlinkat(fd, e->d_name, 0);
    if (d)
        closedir(d);
    if (fd >= 0) {
        unlinkat(dir, name, AT_REMOVEDIR);
        close(lock);
        close(fd);
    }
}

/* Remove records that were not used for long, and the oldest one if there are too many. */
static void record_clean_up(int dir) {
    char oldest[NAME] = "";
    time_t oldest_time = 0, now = time(NULL);
    size_t n = 0;
    DIR *d = fdopendir(dup(dir));
    for (const struct dirent *e; d && (e = readdir(d));) {
        char log[sizeof(e->d_name) + 8];
        struct stat st;
        snprintf(log, sizeof(log), "%s/log", e->d_name);
        if (e->d_name[0] == '.' || fstatat(dir, log, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        n++;
        if (now - st.st_mtime > CH_LIMIT_UNDO_DAYS * 86400) {
            record_remove(dir, e->d_name);
        } else if ((!*oldest || st.st_mtime < oldest_time) && strlen(e->d_name) < sizeof(oldest)) {
            oldest_time = st.st_mtime;
            snprintf(oldest, sizeof(oldest), "%.*s", NAME - 1, e->d_name);
        }
    }
    if (d)
        closedir(d);
    if (n > CH_LIMIT_UNDO_RECORDS && *oldest)
        record_remove(dir, oldest);
}

/* The workspace is known by its device and inode as well as by its path, so that another
 * directory at the same path has another record. */
static void record_name(int root, char out[NAME]) {
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1], link[64], path[4096];
    struct stat st = {0};
    CH_BUF_AUTO text = {0};

    snprintf(link, sizeof(link), "/proc/self/fd/%d", root);
    ssize_t n = readlink(link, path, sizeof(path));
    fstat(root, &st);
    ch_buf_addf(&text, "%.*s %llu %llu", (int)(n > 0 ? n : 0), path,
                (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
    ch_sha256_of(ch_buf_sv(&text), digest);
    ch_sha256_hex(digest, hex);
    snprintf(out, NAME, "%.24s", hex);
}

int ch_undo_record_open(struct ch_undo_record *r, const char *dir, int root,
                        struct chela_error *err) {
    char name[NAME], slot[NAME + 8];

    *r = (struct ch_undo_record){.dir = -1, .lock = -1, .log = -1, .pack = -1, .next_id = 1};
    mkdir(dir, 0700); /* may exist */
    int top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return ch_fail(err, CHELA_EIO, "%s: %s", dir, strerror(errno));
    record_name(root, name);
    for (unsigned i = 0; i < CH_LIMIT_UNDO_SLOTS && r->dir < 0; i++) {
        snprintf(slot, sizeof(slot), "%s-%u", name, i);
        mkdirat(top, slot, 0700); /* may exist */
        r->dir = record_lock(top, slot, &r->lock);
        r->slot = i;
    }
    int why = errno;
    if (r->dir >= 0)
        record_clean_up(top);
    close(top);
    if (r->dir < 0)
        return ch_fail(err, why == EWOULDBLOCK ? CHELA_EBUSY : CHELA_EIO,
                       "the record of changes in %s cannot be opened: %s", dir, strerror(why));
    record_load(r, true);
    /* A record that is too large is rewritten before the next message: its last message may need
     * the index, and can still be undone. */
    if ((r->pack < 0 || r->log < 0) && !record_rewrite(r)) {
        ch_fail(err, CHELA_EIO, "the record of changes in %s cannot be written: %s", dir,
                strerror(errno));
        ch_undo_record_close(r);
        return CHELA_EIO;
    }
    return 0;
}

bool ch_undo_record_peek(struct ch_undo_record *r, const char *dir, int root, unsigned slot) {
    char name[NAME], path[NAME + 8];
    int lock, top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    *r = (struct ch_undo_record){.dir = -1, .lock = -1, .log = -1, .pack = -1, .slot = slot};
    if (top < 0)
        return false;
    record_name(root, name);
    snprintf(path, sizeof(path), "%s-%u", name, slot);
    r->dir = record_lock(top, path, &lock);
    if (r->dir >= 0)
        r->lock = lock;
    else
        r->dir = openat(top, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(top);
    if (r->dir >= 0)
        record_load(r, false);
    return r->dir >= 0;
}

void ch_undo_record_close(struct ch_undo_record *r) {
    int fds[] = {r->pack, r->log, r->lock, r->dir};
    for (size_t i = 0; i < CH_LEN(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    for (size_t i = 0; i < r->n; i++)
        record_free_message(&r->list[i]);
    for (size_t i = 0; i < r->nforks; i++) {
        ch_free(r->forks[i].from);
        ch_free(r->forks[i].to);
    }
    ch_free(r->list);
    ch_free(r->forks);
    ch_undo_table_release(&r->known);
    *r = (struct ch_undo_record){.dir = -1, .lock = -1, .log = -1, .pack = -1};
}
