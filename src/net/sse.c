/* sse.c -- see sse.h.
 *
 * The hot path is an event of one or two whole lines inside the chunk: name and
 * data are then slices of the chunk, without copying. Data that is not
 * delivered by the end of a feed is copied (keep_rest).
 *
 * Whole events without CR are read one by one (feed_usual); the owner may recognise them before
 * their end is searched for. All else is read line by line. */
#include "net/sse.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/vector.h"

void ch_sse_init(struct ch_sse *s, size_t max, ch_sse_fn *fn, void *user) {
    *s = (struct ch_sse){.fn = fn, .user = user, .max = max ? max : CH_LIMIT_SSE_EVENT};
    ch_buf_init(&s->line, s->max);
    ch_buf_init(&s->data, s->max);
    ch_buf_init(&s->name, s->max);
    s->name_now = s->data_now = ch_sv("", 0);
}

void ch_sse_release(struct ch_sse *s) {
    ch_buf_release(&s->line);
    ch_buf_release(&s->data);
    ch_buf_release(&s->name);
    s->stopped = true;
}

static int sse_too_large(struct ch_sse *s, struct chela_error *err) {
    s->stopped = true;
    return ch_fail(err, CHELA_ELIMIT, "an event of the stream is larger than %zu bytes", s->max);
}

/* The first LF or CR from p on, or end. */
static const char *sse_line_end(const char *p, const char *end) {
    for (; end - p >= CH_VECTOR; p += CH_VECTOR) {
        ch_vector v = ch_vector_load(p), hit = (ch_vector)((v == '\n') | (v == '\r'));
        if (ch_vector_any(hit))
            return p + ch_vector_first(hit);
    }
    while (p < end && *p != '\n' && *p != '\r')
        p++;
    return p;
}

/* Deliver the event. `stopped` is set during the call, since a callback that
 * returns false may have released s. */
static bool dispatch(struct ch_sse *s) {
    struct ch_sv name = s->name_now, data = s->data_now;
    bool has_data = s->has_data;

    s->has_data = s->in_json = false;
    s->name_now = s->data_now = ch_sv("", 0);
    if (!has_data)
        return true;
    s->stopped = true;
    if (!s->fn(name, data, s->user))
        return false;
    s->stopped = false;
    return true;
}

/* Copy a slice into its buffer, unless it is already there. */
static void sse_keep(struct ch_buf *b, struct ch_sv *now) {
    if (now->p == b->p)
        return;
    ch_buf_clear(b);
    if (now->n > 0) /* most events have no name and need no buffer */
        ch_buf_add_sv(b, *now);
    *now = ch_buf_sv(b);
}

static bool sse_add_data(struct ch_sse *s, struct ch_sv value) {
    if (!s->has_data) {
        s->has_data = true;
        s->data_now = value;
        return true;
    }
    if (value.n >= s->max || s->data_now.n > s->max - value.n - 1)
        return false;
    sse_keep(&s->data, &s->data_now);
    ch_buf_addc(&s->data, '\n');
    ch_buf_add_sv(&s->data, value);
    s->data_now = ch_buf_sv(&s->data);
    return true;
}

/* An id without NUL bytes, up to CH_LIMIT_SSE_ID; a delay in decimal digits, up to an hour. */
static void sse_keep_position(struct ch_sse *s, struct ch_sv field, struct ch_sv value) {
    int64_t ms = 0;

    if (ch_sv_eq(field, CH_SV("id")) && value.n <= CH_LIMIT_SSE_ID &&
        !memchr(value.p, '\0', value.n)) {
        ch_buf_clear(&s->id);
        ch_buf_add_sv(&s->id, value);
    }
    if (!ch_sv_eq(field, CH_SV("retry")) || value.n == 0 || value.n > 7)
        return;
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9')
            return;
        ms = 10 * ms + (value.p[i] - '0');
    }
    s->retry_ms = CH_MIN(ms, 3600000);
}

/* The value of a line whose field name and colon have n bytes. */
static struct ch_sv sse_value(struct ch_sv line, size_t n) {
    n += n < line.n && line.p[n] == ' ';
    return ch_sv(line.p + n, line.n - n);
}

/* Fields other than data and event. Ignores comments, whose field name is empty. */
static bool sse_take_other(struct ch_sse *s, struct ch_sv line) {
    const char *colon = memchr(line.p, ':', line.n);
    struct ch_sv field = ch_sv(line.p, colon ? (size_t)(colon - line.p) : line.n);
    struct ch_sv value = colon ? sse_value(line, field.n + 1) : ch_sv("", 0);

    if (ch_sv_eq(field, CH_SV("data"))) /* without a colon */
        return sse_add_data(s, value);
    if (ch_sv_eq(field, CH_SV("event")))
        s->name_now = value;
    if (s->takes_ids)
        sse_keep_position(s, field, value);
    if (s->takes_errors && ch_sv_eq(field, CH_SV("error"))) {
        s->name_now = ch_sv("error", 5);
        return sse_add_data(s, value);
    }
    return true;
}

/* Process a line that is not empty. Nearly every line is "data:" or "event:". */
static bool sse_take_field(struct ch_sse *s, struct ch_sv line) {
    s->in_json |= s->takes_json && !s->has_data && *line.p == '{';
    if (s->in_json)
        return sse_add_data(s, line);
    if (ch_sv_starts(line, "data:"))
        return sse_add_data(s, sse_value(line, 5));
    if (!ch_sv_starts(line, "event:"))
        return sse_take_other(s, line);
    s->name_now = sse_value(line, 6);
    return true;
}

/* Returns false when decoding is over: stopped, or *rc holds the error. */
static bool sse_take_line(struct ch_sse *s, struct ch_sv line, int *rc, struct chela_error *err) {
    if (line.n > s->max) {
        *rc = sse_too_large(s, err);
        return false;
    }
    if (!s->past_bom) {
        s->past_bom = true;
        if (ch_sv_starts(line, "\xef\xbb\xbf"))
            line = ch_sv(line.p + 3, line.n - 3);
    }
    if (line.n == 0)
        return dispatch(s);
    if (!sse_take_field(s, line)) {
        *rc = sse_too_large(s, err);
        return false;
    }
    return true;
}

/* A line of a field whose name and colon are `lead`, up to LF: its value in *value. Returns the
 * position after LF; NULL: another field, another end, not complete, or too large. */
__attribute__((always_inline)) static inline const char *usual_line(const struct ch_sse *s,
                                                                    const char *p, const char *end,
                                                                    struct ch_sv lead,
                                                                    struct ch_sv *value) {
    if ((size_t)(end - p) < lead.n || memcmp(p, lead.p, lead.n) != 0)
        return NULL;
    const char *lf = sse_line_end(p, end);
    if (lf == end || *lf == '\r' || (size_t)(lf - p) > s->max)
        return NULL;
    *value = sse_value(ch_sv(p, (size_t)(lf - p)), lead.n);
    return lf + 1;
}

/* The usual event: a name or none, one line of data, an empty line. Returns the position after
 * it; NULL: it has another form or is not complete. */
static const char *usual_event(struct ch_sse *s, const char *p, const char *end) {
    struct ch_sv name = {"", 0}, data;
    if (*p == 'e' && !(p = usual_line(s, p, end, CH_SV("event:"), &name)))
        return NULL;
    if (!(p = usual_line(s, p, end, CH_SV("data:"), &data)) || p == end || *p != '\n')
        return NULL;
    s->name_now = name;
    s->data_now = data;
    s->has_data = true;
    return p + 1;
}

/* Keep the bytes from p to the data of the usual event that was just read. They must end with
 * the space after the colon: without it, a space at the beginning of the next data would
 * belong to the lead. */
static void sse_keep_lead(struct ch_sse *s, const char *p) {
    size_t n = (size_t)(s->data_now.p - p);
    s->nlead = 0;
    if (n > sizeof(s->lead) || p[n - 1] != ' ')
        return;
    memcpy(s->lead, p, n);
    s->nlead = n;
    s->nname = s->name_now.n;
    s->name_at = s->nname ? (size_t)(s->name_now.p - p) : 0;
}

/* The event at p, if it begins like the last one and the owner recognises it. Returns the
 * position after it, or NULL. An event larger than max is not offered in whole. */
static const char *quick_event(const struct ch_sse *s, const char *p, const char *end) {
    if (!s->nlead || (size_t)(end - p) < s->nlead || !ch_vector_same(p, s->lead, s->nlead))
        return NULL;
    if ((size_t)(end - p) > s->max)
        end = p + s->max;
    return s->quick(ch_sv(s->lead + s->name_at, s->nname), p + s->nlead, end, s->user);
}

/* The fast path: deliver usual events from p on, as long as one follows another. Returns the
 * position after them; NULL: stopped. */
static const char *feed_usual(struct ch_sse *s, const char *p, const char *end) {
    const char *next;
    while (p < end) {
        if ((next = quick_event(s, p, end))) {
            p = next;
            continue;
        }
        if (!(next = usual_event(s, p, end)))
            break;
        if (s->quick)
            sse_keep_lead(s, p);
        if (!dispatch(s))
            return NULL;
        p = next;
    }
    return p;
}

/* At the end of a chunk, copy the parts of the current event and the current line that are in the
 * chunk. `carried`: s->line has the beginning of this line. */
static int keep_rest(struct ch_sse *s, struct ch_sv rest, bool carried, struct chela_error *err) {
    sse_keep(&s->name, &s->name_now);
    sse_keep(&s->data, &s->data_now);
    if (!carried)
        ch_buf_clear(&s->line);
    if (rest.n > 0 && ch_buf_add_sv(&s->line, rest) < 0)
        return sse_too_large(s, err);
    return 0;
}

int ch_sse_feed(struct ch_sse *s, struct ch_sv bytes, struct chela_error *err) {
    if (s->stopped || bytes.n == 0)
        return 0;

    const char *p = bytes.p, *end = p + bytes.n, *at;
    bool carried = s->line.n > 0; /* the current line began in an earlier chunk */
    int rc = 0;

    if (!s->past_bom && !carried) /* at the first byte of the stream */
        s->past_bom = *p != '\xef';
    p += s->after_cr && *p == '\n';
    s->after_cr = false;
    for (;;) {
        bool between = s->past_bom && !carried && !s->has_data && !s->name_now.n;
        if (between && !(p = feed_usual(s, p, end)))
            return 0;
        if ((at = sse_line_end(p, end)) == end)
            break;
        struct ch_sv line = ch_sv(p, (size_t)(at - p));
        if (carried) {
            carried = false;
            if (ch_buf_add_sv(&s->line, line) < 0)
                return sse_too_large(s, err);
            line = ch_buf_sv(&s->line);
        }
        p = at + 1;
        if (*at == '\r') {
            s->after_cr = p == end;
            p += p < end && *p == '\n';
        }
        if (!sse_take_line(s, line, &rc, err))
            return rc;
    }
    return keep_rest(s, ch_sv(p, (size_t)(end - p)), carried, err);
}

int ch_sse_end(struct ch_sse *s, struct chela_error *err) {
    int rc = 0;

    if (s->stopped)
        return 0;
    if (s->line.n > 0 && !sse_take_line(s, ch_buf_sv(&s->line), &rc, err))
        return rc;
    if (dispatch(s))
        s->stopped = true;
    return 0;
}
