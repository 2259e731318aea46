/* term.c -- see term.h. The filter works on code points, because a C1 control
 * such as U+009B (CSI) is two bytes that may arrive in two pieces. */
#include "cli/term/term.h"

#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "cli/support/draft.h"

struct ch_term ch_term_probe(int fd, bool dumb, bool no_color) {
    bool tty = isatty(fd) == 1;
    return (struct ch_term){
        .fd = fd, .tty = tty, .color = tty && !dumb && !no_color, .live = tty && !dumb};
}

unsigned ch_term_columns(const struct ch_term *t) {
    struct winsize ws;
    if (ioctl(t->fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
        return ws.ws_col;
    return 80;
}

unsigned ch_term_rows(const struct ch_term *t) {
    struct winsize ws;
    if (ioctl(t->fd, TIOCGWINSZ, &ws) == 0 && ws.ws_row > 0)
        return ws.ws_row;
    return 24;
}

/* --- UTF-8 ---------------------------------------------------------------- */

enum { BAD = -1, MORE = 0 };

int ch_term_char(const char *p, size_t n, uint32_t *cp) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)p[0];
    int len = first < 0x80                    ? 1
              : first >= 0xC2 && first < 0xE0 ? 2
              : first >= 0xE0 && first < 0xF0 ? 3
              : first >= 0xF0 && first < 0xF5 ? 4
                                              : BAD;
    if (len == BAD)
        return BAD;
    uint32_t v = len == 1 ? first : first & (0x7Fu >> len);
    for (int i = 1; i < len; i++) {
        if ((size_t)i == n)
            return MORE;
        if (((unsigned char)p[i] & 0xC0) != 0x80)
            return BAD;
        v = v << 6 | ((unsigned char)p[i] & 0x3F);
    }
    if (v < least[len] || v > 0x10FFFF || (v >= 0xD800 && v < 0xE000))
        return BAD;
    *cp = v;
    return len;
}

static bool is_unsafe(uint32_t cp) {
    return cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || /* C0, DEL, C1 */
           (cp >= 0x202A && cp <= 0x202E) ||         /* embeddings, overrides */
           (cp >= 0x2066 && cp <= 0x2069);           /* isolates */
}

/* --- the filter ----------------------------------------------------------- */

static void term_put_char(const struct ch_escape *e, FILE *out, const char *p, int len,
                          uint32_t cp) {
    if ((cp == '\n' || cp == '\t') && e->mode == CH_ESCAPE_LINE)
        fputs(cp == '\n' ? "\\n" : "\\t", out);
    else if (cp != '\n' && cp != '\t' && is_unsafe(cp))
        fprintf(out, "\\u%04x", (unsigned)cp);
    else
        fwrite(p, 1, (size_t)len, out);
}

/* Process the n bytes at p; returns the number consumed, 0 if more bytes are needed. */
static size_t term_step(const struct ch_escape *e, FILE *out, const char *p, size_t n) {
    uint32_t cp;
    if (*p == '\r') {
        if (n > 1 && p[1] != '\n')
            term_put_char(e, out, p, 1, '\r');
        return n > 1 ? 1 : 0;
    }
    int len = ch_term_char(p, n, &cp);
    if (len == MORE)
        return 0;
    if (len == BAD) {
        fputs("\xEF\xBF\xBD", out);
        return 1;
    }
    term_put_char(e, out, p, len, cp);
    return (size_t)len;
}

static size_t plain_run(const char *p, size_t n) {
    size_t i = 0;
    while (i < n && p[i] >= 0x20 && p[i] < 0x7F)
        i++;
    return i;
}

/* Complete the bytes held back with the first bytes of p; returns the number consumed. */
static size_t feed_held(struct ch_escape *e, FILE *out, const char *p, size_t n) {
    size_t taken = 0;
    while (e->n > 0) {
        size_t used = term_step(e, out, e->held, e->n);
        if (used > 0) {
            e->n -= (unsigned)used;
            memmove(e->held, e->held + used, e->n);
        } else if (taken < n) {
            e->held[e->n++] = p[taken++];
        } else {
            break;
        }
    }
    return taken;
}

void ch_escape_feed(struct ch_escape *e, FILE *out, const char *p, size_t n) {
    size_t i = feed_held(e, out, p, n);
    while (i < n) {
        size_t used = plain_run(p + i, n - i);
        if (used > 0)
            fwrite(p + i, 1, used, out);
        else
            used = term_step(e, out, p + i, n - i);
        if (used == 0) {
            e->n = (unsigned)(n - i);
            memcpy(e->held, p + i, e->n);
            return;
        }
        i += used;
    }
}

void ch_escape_finish(struct ch_escape *e, FILE *out) {
    if (e->n > 0)
        fputs(e->held[0] == '\r' ? "\\u000d" : "\xEF\xBF\xBD", out);
    e->n = 0;
}

void ch_escape_write(FILE *out, enum ch_escape_mode mode, const char *p, size_t n) {
    struct ch_escape safe = {.mode = mode};
    ch_escape_feed(&safe, out, p, n);
    ch_escape_finish(&safe, out);
}

char *ch_escape_whole(enum ch_escape_mode mode, const char *p, size_t n, size_t *n_out) {
    struct ch_draft d;
    ch_draft_init(&d);
    ch_escape_write(d.f, mode, p, n);
    ch_draft_finish(&d);
    if (n_out)
        *n_out = d.n;
    return d.p;
}

/* --- columns -------------------------------------------------------------- */

/* Loaded at first use: most commands need no widths, and loading takes a tenth of the time of
 * chela --version. */
static locale_t utf8;

static void load_utf8(void) {
    utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

unsigned ch_term_char_columns(uint32_t cp) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (cp < 0x7F)
        return 1;
    pthread_once(&once, load_utf8);
    locale_t before = uselocale(utf8);
    int w = wcwidth((wchar_t)cp);
    uselocale(before);
    /* an unknown character counts as wide: a gap is better than a wrap */
    return w >= 0 ? (unsigned)w : 2;
}

/* Advance until the next character would exceed `columns`; *used: columns taken. */
static size_t term_walk(const char *p, size_t n, unsigned columns, unsigned *used) {
    size_t i = 0;
    *used = 0;
    while (i < n) {
        uint32_t cp = 0xFFFD;
        int len = ch_term_char(p + i, n - i, &cp);
        unsigned w = ch_term_char_columns(cp);
        if (w > columns - *used)
            break;
        *used += w;
        i += len > 0 ? (size_t)len : 1;
    }
    return i;
}

size_t ch_term_fit(const char *p, size_t n, unsigned columns) {
    unsigned used;
    return term_walk(p, n, columns, &used);
}

unsigned ch_term_text_columns(const char *p, size_t n) {
    unsigned used;
    term_walk(p, n, ~0u, &used);
    return used;
}
