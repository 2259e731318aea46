/* delta_fast_path.c -- see delta_fast_path.h. */
#include "model/codec/delta_fast_path.h"

#include "json/pull.h"
#include "json/scan.h"

#define TYPICAL_STRINGS 512 /* bytes: one allocation for most replies */

/* Decode the string of which the bytes up to `at` need no decoding. */
static const char *decode_string(const char *start, const char *at, const char *end,
                                 struct ch_buf *scratch, struct ch_sv *out) {
    struct ch_scan_string s;
    struct ch_scan_fail why;
    ch_buf_clear(scratch);
    char *begin = ch_buf_reserve(scratch, CH_MAX((size_t)(end - start), TYPICAL_STRINGS));
    if (!begin)
        return NULL;
    struct ch_scan_head done = ch_scan_unescape_head(start, at, end, begin);
    const char *quote = done.at && *done.at != '"' ? ch_scan_quote(done.at, end) : done.at;
    if (quote && quote != done.at)
        done.out = ch_scan_unescape_rest(done.at, quote, end, done.out);
    if (quote && done.out) {
        *out = ch_sv(begin, (size_t)(done.out - begin));
        return quote + 1;
    }
    if (!ch_scan_string_rest(at, end, CH_JSON_REPLACE, &s, &why))
        return NULL;
    char *room = ch_buf_reserve(scratch, (size_t)(s.quote - start) + s.extra);
    if (!room)
        return NULL;
    *out = ch_sv(room, ch_scan_decode(&s, start, room));
    return s.quote + 1;
}

const char *ch_quick_string(const char *at, const char *end, struct ch_buf *scratch,
                            struct ch_sv *out) {
    const char *stop = ch_scan_plain(at, end);
    stop = ch_scan_text_rest(stop, end);
    if (stop == end || *stop != '"')
        return decode_string(at, stop, end, scratch, out);
    *out = ch_sv(at, (size_t)(stop - at));
    return stop + 1;
}

void ch_template_release(struct ch_template *t) {
    ch_buf_release(&t->bytes);
}

void ch_template_clear(struct ch_template *t) {
    t->missed += t->nholes > 0;
    t->nholes = 0;
}

/* --- learning */

void ch_template_skip(struct ch_template_unread *u, struct ch_pull *p) {
    ch_pull_peek(p);
    const char *start = p->at;
    ch_pull_skip(p);
    if (!ch_pull_failed(p) && u->n < CH_LEN(u->list))
        u->list[u->n++] = ch_sv(start, (size_t)(p->at - start));
}

/* Parts to remove from an event, in text order. */
struct cuts {
    struct cut {
        const char *p, *end;
        enum ch_template_kind kind;
    } list[CH_TEMPLATE_HOLES];
    size_t n;
    bool overflow;
};

static void delta_fast_path_cut(struct cuts *c, enum ch_template_kind kind, const char *p,
                                const char *end) {
    if (c->n == CH_TEMPLATE_HOLES) {
        c->overflow = true;
        return;
    }
    size_t i = c->n++;
    for (; i > 0 && c->list[i - 1].p > p; i--)
        c->list[i] = c->list[i - 1];
    c->list[i] = (struct cut){p, end, kind};
}

static const char *delta_fast_path_find(struct ch_sv data, struct ch_sv name) {
    const char *p = memmem(data.p, data.n, name.p, name.n);
    return p ? p + name.n : NULL;
}

/* Cut a string that the codec ignores, starting at `start`. */
static bool cut_string(struct cuts *c, const char *start, const char *end) {
    const char *stop = start ? ch_scan_plain_run(start, end) : end;
    if (stop == end || *stop != '"')
        return false;
    delta_fast_path_cut(c, CH_HOLE_PADDING, start, stop);
    return true;
}

/* Vendors pad events with a random string to hide the length of the text. */
static void cut_padding(struct cuts *c, struct ch_sv data) {
    static const struct ch_sv names[] = {CH_SV("\"obfuscation\":\""), CH_SV("\"p\":\"")};
    for (size_t i = 0; i < CH_LEN(names); i++)
        if (cut_string(c, delta_fast_path_find(data, names[i]), data.p + data.n))
            return;
}

/* Some servers use a new id for every event: the event's own id at its beginning, or its
 * item's id. */
static void cut_ids(struct cuts *c, struct ch_sv data) {
    static const struct ch_sv first = CH_SV("{\"id\":\"");
    if (ch_sv_starts(data, first.p))
        cut_string(c, data.p + first.n, data.p + data.n);
    cut_string(c, delta_fast_path_find(data, CH_SV("\"item_id\":\"")), data.p + data.n);
}

/* Quotes inside a string are escaped, so a match of this member name is the member itself. */
static void cut_sequence(struct cuts *c, struct ch_sv data) {
    struct ch_scan_fail why;
    bool integer;
    const char *start = delta_fast_path_find(data, CH_SV("\"sequence_number\":"));
    const char *stop = start ? ch_scan_number(start, data.p + data.n, &integer, &why) : NULL;
    if (stop)
        delta_fast_path_cut(c, CH_HOLE_NUMBER, start, stop);
}

static void cut_figures(struct cuts *c, struct ch_sv figures) {
    const char *end = figures.p + figures.n;
    struct ch_scan_fail why;
    bool integer;
    for (const char *at = figures.p; at < end && !c->overflow;) {
        if (*at == '"') {
            at = ch_scan_plain_run(at + 1, end);
            c->overflow |= at == end || *at != '"'; /* more than names and numbers */
            at++;
        } else if (ch_scan_is_digit(*at) || *at == '-') {
            const char *stop = ch_scan_number(at, end, &integer, &why);
            delta_fast_path_cut(c, CH_HOLE_NUMBER, at, stop ? stop : end);
            at = stop ? stop : end;
        } else {
            at++;
        }
    }
}

/* Cut the parts that known vendors vary. */
static void cut_known(struct cuts *c, struct ch_sv data, const char *after) {
    cut_padding(c, ch_sv(after, (size_t)(data.p + data.n - after)));
    cut_ids(c, data);
    cut_sequence(c, data);
}

static void cut_unread(struct cuts *c, const struct ch_template_unread *u) {
    for (size_t i = 0; i < u->n; i++)
        delta_fast_path_cut(c, CH_HOLE_VALUE, u->list[i].p, u->list[i].p + u->list[i].n);
}

/* If the events of a server never match, only some of them are learnt. */
static bool is_in_vain(const struct ch_template *t) {
    return t->missed > 8 && t->missed % 32;
}

static void note_figure(struct ch_template *t, const struct cut *x, size_t i,
                        struct ch_sv figures) {
    if (!figures.n || x->p < figures.p || x->p >= figures.p + figures.n)
        return;
    if (!t->nfigures++) {
        t->first_figure = i;
        t->lead = (size_t)(x->p - figures.p);
    }
    t->trail = (size_t)(figures.p + figures.n - x->end);
}

/* Returns false if two cuts overlap. */
static bool assemble(struct ch_template *t, struct ch_sv data, const struct cuts *cuts) {
    const char *from = data.p;
    for (size_t i = 0; i < cuts->n; i++) {
        const struct cut *x = &cuts->list[i];
        if (x->p < from)
            return false;
        ch_buf_add(&t->bytes, from, (size_t)(x->p - from));
        t->holes[i] = (struct ch_template_hole){t->bytes.n, x->kind};
        from = x->end;
    }
    ch_buf_add(&t->bytes, from, (size_t)(data.p + data.n - from));
    return true;
}

/* The first occurrence in the text is the piece; the others must equal it. False if they
 * differ already. */
static bool cut_piece(struct cuts *c, const struct ch_template_event *e) {
    delta_fast_path_cut(c, CH_HOLE_AGAIN, e->piece.p, e->piece.p + e->piece.n);
    for (size_t i = 0; i < CH_LEN(e->again) && e->again[i].n; i++) {
        if (!ch_sv_eq(e->again[i], e->piece))
            return false;
        delta_fast_path_cut(c, CH_HOLE_AGAIN, e->again[i].p, e->again[i].p + e->again[i].n);
    }
    c->list[0].kind = CH_HOLE_PIECE;
    return true;
}

void ch_template_learn(struct ch_template *t, const struct ch_template_event *e) {
    struct cuts cuts = {0};
    ch_buf_clear(&t->bytes);
    t->nholes = t->nfigures = t->first_figure = 0;
    if (is_in_vain(t)) {
        t->missed++;
        return;
    }
    if (!cut_piece(&cuts, e))
        return;
    if (e->unread && t->missed)
        cut_unread(&cuts, e->unread);
    else
        cut_known(&cuts, e->data, e->piece.p + e->piece.n);
    if (e->figures.n)
        cut_figures(&cuts, e->figures);
    if (cuts.overflow)
        return;

    for (size_t i = 0; i < cuts.n; i++)
        note_figure(t, &cuts.list[i], i, e->figures);
    t->nholes = assemble(t, e->data, &cuts) ? cuts.n : 0;
}

/* --- matching */

/* The piece of an event: undecoded and decoded. */
struct found {
    struct ch_sv raw, *piece;
    struct ch_buf *scratch;
};

static const char *past_piece(const char *at, const char *end, struct found *f) {
    const char *stop = ch_quick_string(at, end, f->scratch, f->piece);
    if (!stop)
        return NULL;
    f->raw = ch_sv(at, (size_t)(stop - 1 - at)); /* the quote is part of the template */
    return stop - 1;
}

static const char *past_again(const char *at, const char *end, struct ch_sv raw) {
    bool same = (size_t)(end - at) >= raw.n && memcmp(at, raw.p, raw.n) == 0;
    return same ? at + raw.n : NULL;
}

/* Position after the content of a hole; NULL if the content does not fit the kind. */
static const char *past_hole(enum ch_template_kind kind, const char *at, const char *end,
                             struct found *f) {
    struct ch_scan_fail why;
    bool integer;
    switch (kind) {
    case CH_HOLE_NUMBER:
        return ch_scan_number(at, end, &integer, &why);
    case CH_HOLE_PADDING:
        return ch_scan_plain(at, end);
    case CH_HOLE_PIECE:
        return past_piece(at, end, f);
    case CH_HOLE_AGAIN:
        return past_again(at, end, f->raw);
    case CH_HOLE_VALUE:
        return ch_pull_past(at, end);
    }
    CH_UNREACHABLE();
}

bool ch_template_match(struct ch_template *t, struct ch_sv data, struct ch_buf *scratch,
                       struct ch_template_match *out) {
    const char *at = data.p, *end = data.p + data.n, *figures = NULL;
    struct found found = {.piece = &out->piece, .scratch = scratch};
    size_t from = 0, last = t->first_figure + t->nfigures;
    if (!t->nholes)
        return false;
    out->figures = ch_sv(NULL, 0);
    for (size_t i = 0; i < t->nholes; i++) {
        size_t n = t->holes[i].at - from;
        if ((size_t)(end - at) < n || memcmp(at, t->bytes.p + from, n) != 0)
            return false;
        at += n;
        from = t->holes[i].at;
        if (t->nfigures && i == t->first_figure)
            figures = at - t->lead;
        at = past_hole(t->holes[i].kind, at, end, &found);
        if (!at)
            return false;
        if (figures && i + 1 == last)
            out->figures = ch_sv(figures, (size_t)(at - figures) + t->trail);
    }
    size_t n = t->bytes.n - from;
    if ((size_t)(end - at) != n || memcmp(at, t->bytes.p + from, n) != 0)
        return false;
    t->missed = 0;
    return true;
}

bool ch_template_find(struct ch_sv data, struct ch_sv name, struct ch_sv *piece) {
    CH_BUF_AUTO scratch = {0};
    struct ch_sv same;
    if (piece->p >= data.p && piece->p < data.p + data.n)
        return true;
    const char *at = memmem(data.p, data.n, name.p, name.n);
    const char *start = at ? at + name.n : NULL;
    const char *end = start ? ch_quick_string(start, data.p + data.n, &scratch, &same) : NULL;
    if (!end || !ch_sv_eq(same, *piece))
        return false;
    *piece = ch_sv(start, (size_t)(end - 1 - start));
    return true;
}
