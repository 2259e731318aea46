/* quick.c -- see quick.h. */
#include "model/quick.h"

#include "json/scan.h"

const char *ch_quick_string(const char *at, const char *end, struct ch_buf *scratch,
                            struct ch_sv *out) {
    struct ch_scan_string s = {0};
    struct ch_scan_fail why;
    const char *stop = ch_scan_plain(at, end);
    if (stop < end && *stop == '"') {
        *out = ch_sv(at, (size_t)(stop - at));
        return stop + 1;
    }
    if (!ch_scan_string_rest(stop, end, CH_JSON_REPLACE, &s, &why))
        return NULL;
    *out = ch_sv(at, (size_t)(s.quote - at));
    if (s.decode) {
        ch_buf_clear(scratch);
        char *room = ch_buf_reserve(scratch, out->n + s.extra);
        if (!room)
            return NULL;
        *out = ch_sv(room, ch_scan_decode(at, s.quote, room));
    }
    return s.quote + 1;
}

void ch_template_release(struct ch_template *t) {
    ch_buf_release(&t->before);
    ch_buf_release(&t->after);
}

void ch_template_clear(struct ch_template *t) {
    ch_buf_clear(&t->before);
}

/* Vendors pad events with a random string, to hide the length of the text. */
static void leave_out_padding(struct ch_template *t) {
    static const struct ch_sv names[] = {CH_SV("\"obfuscation\":\""), CH_SV("\"p\":\"")};
    for (size_t i = 0; i < 2; i++) {
        const char *p = memmem(t->after.p, t->after.n, names[i].p, names[i].n);
        if (!p)
            continue;
        const char *start = p + names[i].n, *end = t->after.p + t->after.n;
        const char *stop = ch_scan_plain(start, end);
        if (stop == end || *stop != '"')
            return;
        t->pad = (size_t)(start - t->after.p);
        memmove(t->after.p + t->pad, stop, (size_t)(end - stop));
        t->after.n -= (size_t)(stop - start);
        return;
    }
}

void ch_template_learn(struct ch_template *t, struct ch_sv data, size_t at, size_t n) {
    ch_buf_clear(&t->before);
    ch_buf_clear(&t->after);
    ch_buf_add(&t->before, data.p, at);
    ch_buf_add(&t->after, data.p + at + n, data.n - at - n);
    t->pad = 0;
    leave_out_padding(t);
}

static bool same_rest(const struct ch_template *t, const char *at, const char *end) {
    const char *after = t->after.p;
    size_t n = t->after.n;
    if (t->pad) {
        if ((size_t)(end - at) < n || memcmp(at, after, t->pad) != 0)
            return false;
        at = ch_scan_plain(at + t->pad, end);
        after += t->pad;
        n -= t->pad;
    }
    return (size_t)(end - at) == n && memcmp(at, after, n) == 0;
}

bool ch_template_match(const struct ch_template *t, struct ch_sv data, struct ch_buf *scratch,
                       struct ch_sv *out) {
    const char *end = data.p + data.n, *at;
    if (!t->before.n || data.n < t->before.n || memcmp(data.p, t->before.p, t->before.n) != 0)
        return false;
    at = ch_quick_string(data.p + t->before.n, end, scratch, out);
    return at && same_rest(t, at - 1, end);
}
