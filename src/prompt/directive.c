/* directive.c -- see directive.h.
 *
 * A line is held back while it may still become a directive or a fence; afterwards the rest
 * of the line is emitted directly. MEDIA and the words of silence need their whole line; a
 * line that is longer than any directive is text. */
#include "prompt/directive.h"

#include "base/mem.h"

enum verdict { NONE, MAYBE, TAKEN };

static const char media[] = "MEDIA:", current[] = "[[reply_to_current]]",
                  reply[] = "[[reply_to:", voice[] = "[[audio_as_voice]]";

/* True if one is a prefix of the other. */
static bool agrees(struct ch_sv s, const char *word) {
    size_t n = CH_MIN(s.n, strlen(word));
    return memcmp(s.p, word, n) == 0;
}

/* The word of silence that s begins with, or is the beginning of; NULL: none. The words begin with
 * different letters. */
static const char *directive_hush(struct ch_sv s) {
    static const char *const words[] = {CH_SILENT, CH_WAKE_OK};
    for (size_t i = 0; i < CH_LEN(words); i++)
        if (agrees(s, words[i]))
            return words[i];
    return NULL;
}

static bool directive_is_blank(char c) {
    return c == ' ' || c == '\t';
}

static size_t directive_indent(struct ch_sv s) {
    size_t n = 0;
    while (n < s.n && s.p[n] == ' ')
        n++;
    return n;
}

/* --- directives at the start of a line --------------------------------------------- */

/* A channel's id: no blanks, no brackets. */
static bool is_id(struct ch_sv s) {
    if (!s.n || s.n > CH_LIMIT_MESSAGE_NAME)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == '[' || s.p[i] == ']' || s.p[i] == 0x7f)
            return false;
    return true;
}

static enum verdict directive_take_reply(struct ch_directives *d, struct ch_sv s, size_t *len) {
    size_t n = strlen(reply);
    const char *end = memmem(s.p + n, s.n - n, "]]", 2);
    if (!end)
        return s.n - n <= CH_LIMIT_MESSAGE_NAME + 2 && !memchr(s.p, '\n', s.n) ? MAYBE : NONE;
    struct ch_sv id = ch_sv_trim(ch_sv(s.p + n, (size_t)(end - s.p) - n));
    if (!is_id(id))
        return NONE;
    ch_buf_clear(&d->reply_to);
    ch_buf_add_sv(&d->reply_to, id);
    d->reply_current = false;
    *len = (size_t)(end - s.p) + 2;
    return TAKEN;
}

/* s begins where a directive in brackets may begin. */
static enum verdict take_brackets(struct ch_directives *d, struct ch_sv s, size_t *len) {
    enum verdict v = NONE;
    if (agrees(s, current)) {
        v = s.n < strlen(current) ? MAYBE : TAKEN;
        *len = strlen(current);
        if (v == TAKEN) {
            d->reply_current = true;
            ch_buf_clear(&d->reply_to);
        }
    } else if (agrees(s, voice)) {
        v = s.n < strlen(voice) ? MAYBE : TAKEN;
        *len = strlen(voice);
        d->voice |= v == TAKEN;
    }
    if (v == NONE && agrees(s, reply))
        v = s.n < strlen(reply) ? MAYBE : directive_take_reply(d, s, len);
    return v;
}

/* Parse a whole line. Quotes around the attachment are removed. */
static bool directive_take_media(struct ch_directives *d, struct ch_sv line) {
    struct ch_sv what = ch_sv_trim(ch_sv(line.p + strlen(media), line.n - strlen(media)));
    bool quoted = what.n > 2 && strchr("`\"'", what.p[0]) && what.p[what.n - 1] == what.p[0];
    if (quoted)
        what = ch_sv_trim(ch_sv(what.p + 1, what.n - 2));
    if (!what.n || memchr(what.p, '\0', what.n))
        return false;
    if (d->nmedia == CH_LIMIT_REPLY_MEDIA) {
        d->refused++;
        return true;
    }
    ch_buf_add_sv(&d->media, what);
    ch_buf_addc(&d->media, '\0');
    d->nmedia++;
    return true;
}

/* s: a line from its first letter on; whole: it is complete. */
static enum verdict directive_take_line(struct ch_directives *d, struct ch_sv s, bool whole) {
    if (agrees(s, media) && (s.n >= strlen(media) || !whole)) {
        if (!whole)
            return s.n <= CH_LIMIT_PATH ? MAYBE : NONE;
        return directive_take_media(d, s) ? TAKEN : NONE;
    }
    const char *hush = directive_hush(s);
    if (!hush)
        return NONE;
    struct ch_sv word = ch_sv_trim(s);
    if (!whole)
        return word.n <= strlen(hush) && s.n <= CH_LIMIT_PATH ? MAYBE : NONE;
    d->hushed |= ch_sv_is(word, hush);
    return ch_sv_is(word, hush) ? TAKEN : NONE;
}

/* --- fences ------------------------------------------------------------------------- */

/* Maximum bytes of a line that are examined. */
#define FENCE_LINE 256

static bool is_fence(char c) {
    return c == '`' || c == '~';
}

static size_t directive_run_of(struct ch_sv s) {
    size_t n = 0;
    while (n < s.n && s.p[n] == s.p[0])
        n++;
    return n;
}

/* Update the fence state for a line from its first letter on. */
static void mind_fence(struct ch_directives *d, struct ch_sv s) {
    size_t n = s.n && is_fence(s.p[0]) ? directive_run_of(s) : 0;
    if (n < 3)
        return;
    struct ch_sv rest = ch_sv_trim(ch_sv(s.p + n, s.n - n));
    bool ticks = s.p[0] == '`' && rest.n && memchr(rest.p, '`', rest.n); /* inline code */
    if (!d->fence && !ticks) {
        d->fence = s.p[0];
        d->fence_len = n;
    } else if (d->fence == s.p[0] && n >= d->fence_len && !rest.n) {
        d->fence = 0;
    }
}

/* --- the word inside a text --------------------------------------------------------- */

/* Emit text without the word. Its beginning is held back until it is known to be another. */
static void directive_say(struct ch_directives *d, struct ch_sv s) {
    struct ch_buf *w = &d->word;
    for (size_t i = 0; i < s.n; i++) {
        bool code = d->fence || (!w->n && d->text.n && d->text.p[d->text.n - 1] == '`');
        if (code || (!w->n && !directive_hush(ch_sv(s.p + i, 1)))) {
            ch_buf_add_sv(&d->text, ch_buf_sv(w));
            ch_buf_clear(w);
            ch_buf_add(&d->text, s.p + i, 1);
            continue;
        }
        ch_buf_add(w, s.p + i, 1);
        const char *hush;
        while (!(hush = directive_hush(ch_buf_sv(w)))) {
            ch_buf_add(&d->text, w->p, 1);
            ch_buf_consume(w, 1);
        }
        if (w->n == strlen(hush)) {
            d->hushed = true;
            ch_buf_clear(w);
        }
    }
}

static void directive_say_rest(struct ch_directives *d) {
    ch_buf_add_sv(&d->text, ch_buf_sv(&d->word));
    ch_buf_clear(&d->word);
}

/* --- lines -------------------------------------------------------------------------- */

static void directive_new_line(struct ch_directives *d) {
    ch_buf_clear(&d->line);
    d->in_text = d->stripped = false;
}

/* Emit the held back text. */
static void directive_let_go(struct ch_directives *d) {
    directive_say(d, ch_buf_sv(&d->line));
    ch_buf_clear(&d->line);
    d->in_text = true;
}

static void directive_skip_blanks(struct ch_directives *d) {
    size_t n = 0;
    while (n < d->line.n && directive_is_blank(d->line.p[n]))
        n++;
    ch_buf_consume(&d->line, n);
}

/* Remove directives in brackets from the beginning. */
static enum verdict directive_strip(struct ch_directives *d) {
    enum verdict v;
    do {
        if (d->stripped)
            directive_skip_blanks(d);
        struct ch_sv s = ch_buf_sv(&d->line);
        size_t skip = directive_indent(s), len = 0;
        if (skip > 3)
            return NONE;
        if (skip == s.n)
            return MAYBE;
        v = take_brackets(d, ch_sv(s.p + skip, s.n - skip), &len);
        if (v == TAKEN)
            ch_buf_consume(&d->line, skip + len);
        d->stripped |= v == TAKEN;
    } while (v == TAKEN);
    return v;
}

/* True if the incomplete line may still be a directive or a fence. */
static bool is_open(struct ch_directives *d) {
    if (!d->fence && directive_strip(d) == MAYBE)
        return true;
    struct ch_sv s = ch_buf_sv(&d->line);
    size_t skip = directive_indent(s);
    struct ch_sv rest = ch_sv(s.p + skip, s.n - skip);
    if (d->stripped || skip > 3)
        return false;
    if (!rest.n)
        return true;
    if (is_fence(rest.p[0])) {
        size_t run = directive_run_of(rest);
        return (run == rest.n || run >= 3) && rest.n <= FENCE_LINE;
    }
    return !d->fence && directive_take_line(d, rest, false) == MAYBE;
}

/* ended: by a newline, not by the end of the reply. */
static void finish_line(struct ch_directives *d, bool ended) {
    struct ch_sv s = ch_buf_sv(&d->line);
    size_t skip = directive_indent(s);
    struct ch_sv rest = ch_sv(s.p + skip, s.n - skip);
    bool held = !d->in_text && skip <= 3;
    bool gone = d->stripped && !d->in_text;
    if (!gone && held && !d->fence && rest.n)
        gone = directive_take_line(d, rest, true) == TAKEN;
    if (!gone && held)
        mind_fence(d, rest);
    if (!gone) {
        directive_say(d, s);
        directive_say(d, ended ? CH_SV("\n") : CH_SV(""));
    }
    directive_new_line(d);
}

static void feed_byte(struct ch_directives *d, char c) {
    if (c == '\n') {
        finish_line(d, true);
        return;
    }
    ch_buf_addc(&d->line, c);
    if (is_open(d))
        return;
    size_t skip = directive_indent(ch_buf_sv(&d->line));
    if (skip <= 3 && !d->stripped) /* a fence with a long info string */
        mind_fence(d, ch_sv(d->line.p + skip, d->line.n - skip));
    directive_let_go(d);
}

void ch_directives_feed(struct ch_directives *d, struct ch_sv piece) {
    while (piece.n) {
        const char *nl = d->in_text ? memchr(piece.p, '\n', piece.n) : NULL;
        size_t n = !d->in_text ? 0 : nl ? (size_t)(nl - piece.p) : piece.n;
        directive_say(d, ch_sv(piece.p, n));
        piece = ch_sv(piece.p + n, piece.n - n);
        if (!piece.n)
            return;
        feed_byte(d, piece.p[0]);
        piece = ch_sv(piece.p + 1, piece.n - 1);
    }
}

void ch_directives_end(struct ch_directives *d) {
    if (d->line.n || d->stripped)
        finish_line(d, false);
    directive_say_rest(d);
}

void ch_directives_clear(struct ch_directives *d) {
    struct ch_directives fresh = {.text = d->text, .line = d->line, .word = d->word,
                                  .reply_to = d->reply_to, .media = d->media};
    ch_buf_clear(&fresh.text);
    ch_buf_clear(&fresh.line);
    ch_buf_clear(&fresh.word);
    ch_buf_clear(&fresh.reply_to);
    ch_buf_clear(&fresh.media);
    *d = fresh;
}

void ch_directives_release(struct ch_directives *d) {
    ch_buf_release(&d->text);
    ch_buf_release(&d->line);
    ch_buf_release(&d->word);
    ch_buf_release(&d->reply_to);
    ch_buf_release(&d->media);
    *d = (struct ch_directives){0};
}

/* True if the text has no letter and no digit. */
static bool says_nothing(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c >= 0x80 || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'))
            return false;
    }
    return true;
}

/* Marks around the word, as in **__SILENT__**, are no answer either. */
bool ch_directives_silent(const struct ch_directives *d) {
    return d->hushed && !d->nmedia && says_nothing(ch_buf_sv(&d->text));
}
