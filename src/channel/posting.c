/* posting.c -- see posting.h.
 *
 *   deliver --> [noted] --> part --sent--> [noted] --> part ... file ... --> receipt
 *                            ^-- a while --failed-'
 *
 *   first text --> noted --> posted --> edited, edited ... --deliver takes the message over
 *
 * A note is written before a message is posted, unless the service recognises keys. So after
 * a crash it is known which message may exist already. */
#include "channel/decided.h"
#include "channel/posting.h"

#include <stdio.h>

#include "agent/journal/outbox.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "channel/arrival.h"
#include "channel/attach.h"
#include "channel/parts.h"
#include "channel/picture.h"

#define TRIES 5 /* attempts to send a message after an earlier message of the same answer was
                 * sent */
#define LONGEST_MS 60000
#define SLOWEST_MS 10000 /* between two edits, after a rate limit */
#define LEFT_MS 20000    /* after the end of a run without an answer */
#define KEY_SIZE 24
#define MOST_GROWTHS 256

/* How far a message of the outbox has come: a note. */
struct posting_mark {
    struct ch_link link; /* in the channel's marks */
    char *id;            /* owned: of the note */
    size_t n;            /* messages that were sent; the next one may have been */
    bool own;            /* made by this process */
    bool seen;           /* in the current pass over the store */
};

struct posting;

/* A message that grows. */
struct growth {
    struct ch_link link; /* in the channel's growths */
    struct ch_channel *c;
    char *to, *session, *id; /* owned; session NULL: of another process; id NULL: not known */
    char key[KEY_SIZE + 1];
    struct ch_buf text, put; /* to be shown; shown */
    int64_t step_ms;
    bool noted, busy;
    bool still; /* not edited any more */
    bool seen;
    struct ch_timer timer;
    struct posting *waiter; /* the answer, while busy; NULL: none */
};

struct posting {
    struct ch_link link; /* in the channel's sendings */
    struct ch_channel *c;
    struct ch_arena arena;
    struct ch_reply_address to;  /* in the arena */
    char *key, *text, *approval; /* owned; approval may be NULL */
    char **files;                /* owned */
    size_t index, first, file;   /* next message, the first of this attempt; next file */
    struct ch_parts rest;
    struct ch_buf part;    /* Markdown; empty: a file is sent */
    struct growth *growth; /* its message is replaced by the first part; NULL: none */
    struct ch_attachment *reading;
    bool repeated; /* an earlier attempt may have succeeded */
    bool last;     /* the outbox makes no further attempt */
    unsigned tries;
    struct ch_timer pause;
};

static struct ch_loop *posting_loop(const struct ch_channel *c) {
    return c->gateway.rt->loop;
}

/* --- keys and notes */

static void posting_digest(const char *what, const char *key, size_t index,
                           char out[KEY_SIZE + 1]) {
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    CH_BUF_AUTO text = {0};
    ch_buf_addf(&text, "%s %zu %s", what, index, key);
    ch_sha256_of(ch_buf_sv(&text), digest);
    ch_sha256_hex(digest, hex);
    snprintf(out, KEY_SIZE + 1, "%.*s", KEY_SIZE, hex);
}

static void posting_note(struct ch_channel *c, char kind, const char *digest, struct ch_sv data,
                         chela_accepted_fn *done, void *tag) {
    char id[KEY_SIZE + 3];
    snprintf(id, sizeof(id), "%c%c%s", CH_POSTING_NOTE, kind, digest);
    c->gateway.note(id, data, done, tag, c->gateway.user);
}

static struct posting_mark *mark_find(const struct ch_channel *c, const char *id) {
    for (CH_LIST_EACH(k, &c->marks)) {
        struct posting_mark *m = CH_CONTAINER(k, struct posting_mark, link);
        if (strcmp(m->id, id) == 0)
            return m;
    }
    return NULL;
}

static struct posting_mark *mark_make(struct ch_channel *c, const char *id) {
    struct posting_mark *m = mark_find(c, id);
    if (m)
        return m;
    m = ch_alloc(sizeof(*m));
    m->id = ch_strdup(id);
    ch_list_add(&c->marks, &m->link);
    return m;
}

static void mark_free(struct posting_mark *m) {
    ch_list_del(&m->link);
    ch_free(m->id);
    ch_free(m);
}

/* --- growing messages: their life */

static struct growth *growth_find(const struct ch_channel *c, const char *to) {
    for (CH_LIST_EACH(k, &c->growths)) {
        struct growth *g = CH_CONTAINER(k, struct growth, link);
        if (strcmp(g->to, to) == 0)
            return g;
    }
    return NULL;
}

static struct growth *growth_new(struct ch_channel *c, const char *to, const char *session) {
    struct growth *g = ch_alloc(sizeof(*g));
    g->c = c;
    g->to = ch_strdup(to);
    g->session = ch_strdup(session);
    g->step_ms = c->ops->edit_ms;
    posting_digest("grow", to, 0, g->key);
    ch_list_add(&c->growths, &g->link);
    c->ngrowths++;
    return g;
}

static void growth_free(struct growth *g) {
    ch_timer_stop(posting_loop(g->c), &g->timer);
    ch_list_del(&g->link);
    g->c->ngrowths--;
    ch_buf_release(&g->text);
    ch_buf_release(&g->put);
    ch_free(g->to);
    ch_free(g->session);
    ch_free(g->id);
    ch_free(g);
}

static void growth_forget(struct growth *g) {
    if (g->noted)
        posting_note(g->c, 'g', g->key, ch_sv(NULL, 0), NULL, NULL);
    growth_free(g);
}

static void growth_note(struct growth *g, chela_accepted_fn *done) {
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "to", g->to);
    if (g->id)
        ch_jw_kcstr(&w, "id", g->id);
    ch_jw_kint(&w, "since", ch_now_ms(ch_loop_clock(posting_loop(g->c))));
    ch_jw_end(&w, '}');
    g->noted = true;
    posting_note(g->c, 'g', g->key, ch_buf_sv(&data), done, done ? g : NULL);
}

/* --- the text of a message */

static size_t posting_bytes(struct ch_sv s) {
    return s.n;
}

static size_t posting_count(struct ch_sv s, unsigned beyond_bmp) {
    size_t n = 0;
    while (s.n) {
        uint32_t cp;
        unsigned used = ch_utf8_next(s, &cp);
        n += used && cp > 0xffff ? beyond_bmp : 1;
        used = used ? used : 1;
        s = ch_sv(s.p + used, s.n - used);
    }
    return n;
}

static size_t posting_characters(struct ch_sv s) {
    return posting_count(s, 1);
}

static size_t posting_utf16(struct ch_sv s) {
    return posting_count(s, 2);
}

/* The next part of rest that fits a message; false at the end. */
static bool posting_cut(const struct ch_channel *c, struct ch_parts *rest, struct ch_buf *part) {
    size_t most = c->ops->most_text;
    bool bytes = c->ops->unit == CHELA_CHANNEL_BYTES;
    struct ch_parts_ops ops = {.most = bytes ? most : 4 * most,
                               .measure = bytes ? posting_bytes
                                          : c->ops->unit == CHELA_CHANNEL_UTF16
                                              ? posting_utf16
                                              : posting_characters,
                               .units = most};
    ch_buf_clear(part);
    return ch_parts_next(rest, &ops, part);
}

static void posting_format(const struct ch_channel *c, struct ch_sv text, struct ch_buf *out) {
    if (c->ops->format)
        c->ops->format(text.p, text.n, ch_channel_write, out);
    else
        ch_buf_add_sv(out, text);
}

/* --- growing messages: their text */

static void growth_step(struct growth *g);
static void posting_begin(struct posting *s);

static void growth_on_timer(struct ch_timer *t) {
    growth_step(CH_CONTAINER(t, struct growth, timer));
}

static void growth_on_posted(const struct chela_channel_posted *r, void *tag) {
    struct growth *g = tag;
    g->busy = false;
    if (r->what == CHELA_RECEIPT_SENT && !g->id && r->id) {
        g->id = ch_strdup(r->id);
        growth_note(g, NULL);
    }
    if (r->what == CHELA_RECEIPT_UNCERTAIN && g->id)
        g->step_ms = CH_MIN(CH_MAX(2 * g->step_ms, r->wait_ms), SLOWEST_MS);
    else if (r->what != CHELA_RECEIPT_SENT || !g->id)
        g->still = true;
    if (r->what == CHELA_RECEIPT_REFUSED && !g->id && !g->waiter) {
        growth_forget(g);
        return;
    }
    if (g->waiter) {
        growth_step(g);
        return;
    }
    ch_timer_start(posting_loop(g->c), &g->timer, g->step_ms, growth_on_timer);
}

static void growth_post(struct growth *g) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    struct ch_reply_address to = ch_reply_address_read(ch_sv_str(g->to), &arena);
    g->busy = true;
    ch_buf_clear(&g->put);
    ch_buf_add_sv(&g->put, ch_buf_sv(&g->text));
    posting_format(g->c, ch_buf_sv(&g->put), &text);
    g->c->ops->post(g->c->self,
                    &(struct chela_channel_post){.key = g->key,
                                                 .chat = to.chat,
                                                 .thread = to.thread,
                                                 .reply = to.message,
                                                 .handle = to.handle,
                                                 .edit = g->id,
                                                 .text = ch_buf_str(&text),
                                                 .growing = 1},
                    growth_on_posted, g);
}

static void growth_on_noted(int rc, const struct chela_error *err, void *tag) {
    struct growth *g = tag;
    (void)err;
    g->busy = false;
    g->still = rc < 0;
    if (g->waiter || g->still)
        growth_step(g);
    else
        growth_post(g);
}

static void growth_step(struct growth *g) {
    if (g->busy)
        return;
    if (g->waiter) {
        posting_begin(CH_TAKE(g->waiter));
        return;
    }
    if (g->still || ch_timer_armed(&g->timer) || ch_sv_eq(ch_buf_sv(&g->text), ch_buf_sv(&g->put)))
        return;
    if (g->noted) {
        growth_post(g);
        return;
    }
    g->busy = true;
    growth_note(g, growth_on_noted);
}

void ch_posting_stream(struct ch_channel *c, const struct chela_channel_arrival *in,
                       struct ch_sv text) {
    struct growth *g = growth_find(c, in->to);
    struct ch_parts rest = {.text = text};
    if (!ch_sv_trim(text).n || (!g && c->ngrowths >= MOST_GROWTHS))
        return;
    g = g ? g : growth_new(c, in->to, in->session);
    if (posting_cut(c, &rest, &g->text))
        growth_step(g);
}

static void growth_on_left(struct ch_timer *t) {
    struct growth *g = CH_CONTAINER(t, struct growth, timer);
    if (g->busy || g->waiter || ch_outbox_has(g->c->gateway.rt, g->session))
        ch_timer_start(posting_loop(g->c), t, LEFT_MS, growth_on_left);
    else
        growth_forget(g);
}

void ch_posting_over(struct ch_channel *c, const struct chela_channel_arrival *in) {
    struct growth *g = growth_find(c, in->to);
    if (!g || !g->session)
        return;
    g->still = true;
    ch_timer_start(posting_loop(c), &g->timer, LEFT_MS, growth_on_left);
}

/* --- a message of the outbox */

static void posting_free(struct posting *s) {
    if (s->reading)
        ch_attach_drop(s->reading);
    ch_timer_stop(posting_loop(s->c), &s->pause);
    ch_list_del(&s->link);
    ch_buf_release(&s->part);
    ch_arena_release(&s->arena);
    ch_free(s->key);
    ch_free(s->text);
    ch_free(s->approval);
    ch_strings_free(s->files);
    ch_free(s);
}

static void posting_mark_of(const struct posting *s, char digest[KEY_SIZE + 1],
                            char id[KEY_SIZE + 3]) {
    posting_digest("sent", s->key, 0, digest);
    snprintf(id, KEY_SIZE + 3, "%cs%s", CH_POSTING_NOTE, digest);
}

static void posting_receipt(struct posting *s, enum chela_receipt what, const char *note,
                            int64_t wait_ms) {
    char digest[KEY_SIZE + 1], id[KEY_SIZE + 3];
    posting_mark_of(s, digest, id);
    struct posting_mark *mark = mark_find(s->c, id);
    if (s->last && what == CHELA_RECEIPT_UNCERTAIN)
        what = CHELA_RECEIPT_REFUSED;
    bool over = what == CHELA_RECEIPT_SENT || what == CHELA_RECEIPT_REFUSED;
    if (what == CHELA_RECEIPT_REFUSED || what == CHELA_RECEIPT_UNCERTAIN)
        ch_log(CH_LOG_WARN, s->c->ops->name, "an answer in chat %s %s: %s", s->to.chat,
               over ? "was refused" : "is sent again later", note);
    chela_outbox_receipt(s->c->gateway.rt, s->key, what, note, wait_ms, NULL);
    if (over && mark) {
        posting_note(s->c, 's', digest, ch_sv(NULL, 0), NULL, NULL);
        mark_free(mark);
    } else if (what == CHELA_RECEIPT_ELSEWHERE && mark) {
        mark->own = false; /* the process that sends the message deletes the note */
    }
    if (over && s->growth)
        growth_forget(s->growth);
    posting_free(s);
}

static void posting_next(struct posting *s, const char *note);
static void posting_send(struct posting *s);

static void posting_on_pause(struct ch_timer *t) {
    posting_send(CH_CONTAINER(t, struct posting, pause));
}

static void posting_failed(struct posting *s, const struct chela_channel_posted *r) {
    const char *why = r->why ? r->why : "the service does not say why";
    int64_t wait_ms = CH_MAX(r->wait_ms, (int64_t)500 << s->tries);
    if (r->what == CHELA_RECEIPT_UNCERTAIN && s->index > s->first && s->tries < TRIES &&
        r->wait_ms <= LONGEST_MS) {
        s->tries++;
        ch_timer_start(posting_loop(s->c), &s->pause, wait_ms, posting_on_pause);
    } else if (r->what != CHELA_RECEIPT_REFUSED) {
        posting_receipt(s, r->what, why, r->wait_ms);
    } else if (!s->part.n && !s->approval) {
        ch_log(CH_LOG_WARN, s->c->ops->name, "%s is not sent: %s", s->files[s->file], why);
        s->file++;
        s->index++;
        posting_next(s, "without a file");
    } else {
        posting_receipt(s, r->what, why, 0);
    }
}

static void posting_on_posted(const struct chela_channel_posted *r, void *tag) {
    struct posting *s = tag;
    struct growth *g = s->index == 0 ? s->growth : NULL;
    if (r->what == CHELA_RECEIPT_REFUSED && g) { /* the growing message is gone */
        s->growth = NULL;
        growth_forget(g);
        posting_send(s);
        return;
    }
    if (r->what != CHELA_RECEIPT_SENT) {
        s->repeated = true;
        posting_failed(s, r);
        return;
    }
    s->tries = 0;
    if (g && !g->id && r->id) { /* the message may show the text of an earlier attempt */
        g->id = ch_strdup(r->id);
        growth_note(g, NULL);
        posting_send(s);
        return;
    }
    s->repeated = false;
    s->index++;
    s->file += !s->part.n;
    posting_next(s, r->id ? r->id : "");
}

static void posting_post(struct posting *s, struct chela_channel_post *p) {
    const struct growth *g = s->index == 0 ? s->growth : NULL;
    char key[KEY_SIZE + 1];
    posting_digest("part", s->key, s->index, key);
    p->key = g ? g->key : key;
    p->chat = s->to.chat;
    p->thread = s->to.thread;
    p->reply = s->index == 0 ? s->to.message : NULL;
    p->handle = s->to.handle;
    p->edit = g ? g->id : NULL;
    p->repeated = s->repeated || (g && !g->id);
    s->c->ops->post(s->c->self, p, posting_on_posted, s);
}

static void posting_post_text(struct posting *s) {
    CH_BUF_AUTO text = {0};
    struct ch_sv part = ch_sv_trim(ch_buf_sv(&s->part));
    if (s->approval) /* shown exactly */
        ch_buf_add_sv(&text, part);
    else
        posting_format(s->c, part, &text);
    posting_post(s,
                 &(struct chela_channel_post){.text = ch_buf_str(&text), .approval = s->approval});
}

static void posting_on_read(struct ch_sv bytes, const char *why, void *user) {
    struct posting *s = user;
    const char *path = s->files[s->file], *slash = strrchr(path, '/');
    s->reading = NULL;
    if (!bytes.n) {
        ch_log(CH_LOG_WARN, s->c->ops->name, "%s is not sent: %s", path, why);
        s->file++;
        s->index++;
        posting_next(s, "without a file");
        return;
    }
    struct ch_picture picture = ch_picture_look(bytes);
    posting_post(s, &(struct chela_channel_post){.name = slash ? slash + 1 : path,
                                                 .bytes = bytes.p,
                                                 .n = bytes.n,
                                                 .picture = picture.type});
}

static void posting_go(struct posting *s) {
    if (s->part.n)
        posting_post_text(s);
    else
        s->reading = ch_attach(s->c->gateway.rt, s->c->gateway.workspace(s->c->gateway.user),
                               s->files[s->file], posting_on_read, s);
}

static void posting_on_noted(int rc, const struct chela_error *err, void *tag) {
    struct posting *s = tag;
    if (rc < 0)
        posting_receipt(s, CHELA_RECEIPT_UNCERTAIN, err ? err->message : chela_error_text(rc), 0);
    else
        posting_go(s);
}

/* An edit can be repeated; so can a message with a key that the service recognises. */
static void posting_send(struct posting *s) {
    char digest[KEY_SIZE + 1], id[KEY_SIZE + 3], n[24];
    bool edit = s->index == 0 && s->growth && s->growth->id;
    bool keyed = s->c->ops->features & CHELA_CHANNEL_KEYED;
    posting_mark_of(s, digest, id);
    const struct posting_mark *known = mark_find(s->c, id);
    if (edit || (known && known->own && known->n == s->index) || (keyed && !s->index)) {
        posting_go(s);
        return;
    }
    struct posting_mark *mark = mark_make(s->c, id);
    mark->own = true;
    mark->n = s->index;
    snprintf(n, sizeof(n), "%zu", s->index);
    posting_note(s->c, 's', digest, ch_sv_str(n), posting_on_noted, s);
}

static void posting_next(struct posting *s, const char *note) {
    bool asks = s->approval && s->index == 0;
    ch_buf_clear(&s->part);
    if (asks)
        ch_buf_add_str(&s->part, s->text);
    if ((asks && s->part.n) || (!s->approval && posting_cut(s->c, &s->rest, &s->part)) ||
        (s->files && s->files[s->file]))
        posting_send(s);
    else
        posting_receipt(s, CHELA_RECEIPT_SENT, note, 0);
}

/* Skips the messages that an earlier attempt has sent. */
static void posting_begin(struct posting *s) {
    CH_BUF_AUTO part = {0};
    for (size_t i = 0; i < s->first; i++)
        if (!posting_cut(s->c, &s->rest, &part) && s->files && s->files[s->file])
            s->file++;
    s->index = s->first;
    posting_next(s, "nothing to say");
}

void ch_posting_deliver(struct ch_channel *c, const struct chela_outbound *m) {
    char digest[KEY_SIZE + 1], id[KEY_SIZE + 3];
    struct posting *s = ch_alloc(sizeof(*s));
    s->c = c;
    s->key = ch_strdup(m->key);
    s->to = ch_reply_address_read(ch_sv_str(m->to ? m->to : ""), &s->arena);
    s->text = ch_outbound_text(m);
    s->files = ch_outbound_files(m);
    s->approval = ch_strdup(m->approval);
    s->rest.text = ch_sv_str(s->text);
    ch_list_add(&c->sendings, &s->link);
    if (!*s->to.chat) {
        posting_receipt(s, CHELA_RECEIPT_REFUSED, "the message has no address", 0);
        return;
    }
    posting_mark_of(s, digest, id);
    const struct posting_mark *mark = mark_find(c, id);
    s->first = mark ? mark->n : 0;
    s->repeated = mark || m->attempts;
    s->last = ch_outbound_is_last(m);
    s->growth = m->run && !m->approval && m->to && *s->text ? growth_find(c, m->to) : NULL;
    if (s->growth) {
        ch_timer_stop(posting_loop(c), &s->growth->timer);
        s->growth->still = true;
    }
    if (s->growth && s->growth->busy)
        s->growth->waiter = s;
    else
        posting_begin(s);
}

/* --- decisions */

void ch_posting_decided(const struct chela_channel_decision *d, const char *what,
                        const struct chela_error *err, struct ch_buf *answer) {
    bool late = err && (err->code == CHELA_EEXIST || err->code == CHELA_ENOENT);
    enum chela_language to = ch_say_language_of_question(what);
    CH_BUF_AUTO said = {0};
    if (err)
        ch_decided_in_words(d, to, err, &said);
    else
        ch_decided_by(d, to, &said);
    ch_buf_add_sv(answer, ch_buf_sv(&said));
    if (!err || late)
        ch_buf_addf(answer, "\n%s\n\n%s", *what ? what : d->approval, ch_buf_str(&said));
}

/* --- notes of other processes */

static void growth_remind(struct ch_channel *c, const char *id, struct ch_sv data) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    if (ch_json_parse(&arena, data, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return;
    struct ch_sv to = ch_json_get_str(v, "to"), message = ch_json_get_str(v, "id");
    int64_t since = ch_json_int(ch_json_get(v, "since"), 0);
    if (!to.n || ch_now_ms(ch_loop_clock(posting_loop(c))) - since > CH_LIMIT_CARD_MS) {
        c->gateway.note(id, ch_sv(NULL, 0), NULL, NULL, c->gateway.user);
        return;
    }
    const char *target = ch_arena_str(&arena, to);
    struct growth *g = growth_find(c, target);
    g = g ? g : c->ngrowths < MOST_GROWTHS ? growth_new(c, target, NULL) : NULL;
    if (!g)
        return;
    g->seen = true;
    if (!g->session) {
        g->noted = g->still = true;
        g->id = g->id || !message.n ? g->id : ch_strndup(message.p, message.n);
    }
}

void ch_posting_remind(struct ch_channel *c, const char *id, struct ch_sv data) {
    if (!c->ops->post)
        return;
    if (id[1] == 'g') {
        growth_remind(c, id, data);
        return;
    }
    struct posting_mark *m = mark_make(c, id);
    m->seen = true;
    if (m->own)
        return;
    m->n = 0;
    for (size_t i = 0; i < data.n && i < 6 && data.p[i] >= '0' && data.p[i] <= '9'; i++)
        m->n = 10 * m->n + (size_t)(data.p[i] - '0');
}

/* Work that another process has finished and deleted is forgotten. */
void ch_posting_reminded(struct ch_channel *c) {
    struct ch_link *k, *next;
    for (k = c->marks.head.next; k != &c->marks.head; k = next) {
        struct posting_mark *m = CH_CONTAINER(k, struct posting_mark, link);
        next = k->next;
        if (!m->own && !m->seen)
            mark_free(m);
        else
            m->seen = false;
    }
    for (k = c->growths.head.next; k != &c->growths.head; k = next) {
        struct growth *g = CH_CONTAINER(k, struct growth, link);
        next = k->next;
        bool used = g->busy || g->waiter;
        for (CH_LIST_EACH(p, &c->sendings))
            used |= CH_CONTAINER(p, struct posting, link)->growth == g;
        if (!g->session && !g->seen && !used)
            growth_free(g);
        else
            g->seen = false;
    }
}

bool ch_posting_is_idle(const struct ch_channel *c) {
    for (CH_LIST_EACH(k, &c->growths))
        if (CH_CONTAINER(k, struct growth, link)->busy)
            return false;
    return ch_list_empty(&c->sendings);
}

void ch_posting_release(struct ch_channel *c) {
    for (struct posting *s; (s = CH_LIST_FIRST(&c->sendings, struct posting, link));)
        posting_free(s);
    for (struct growth *g; (g = CH_LIST_FIRST(&c->growths, struct growth, link));)
        growth_free(g);
    for (struct posting_mark *m; (m = CH_LIST_FIRST(&c->marks, struct posting_mark, link));)
        mark_free(m);
}
