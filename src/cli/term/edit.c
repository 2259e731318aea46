/* edit.c -- see edit.h: the text and the keys that change it. A character here is a base
 * character with all its combining characters (accents, variation selectors). */
#include "cli/term/edit.h"

#include <string.h>

#include "cli/support/mem.h"
#include "cli/term/term.h"

void ch_edit_init(struct ch_edit *e, struct ch_history *history) {
    *e = (struct ch_edit){.history = history, .cap = 64};
    e->text = ch_must(calloc(1, e->cap));
}

void ch_edit_release(struct ch_edit *e) {
    free(e->text);
    free(e->killed);
    free(e->draft);
    free(e->hint);
    *e = (struct ch_edit){0};
}

/* --- text -------------------------------------------------------------------------- */

static void put(struct ch_edit *e, const char *p, size_t n) {
    if (e->n + n >= e->cap) {
        e->cap = (e->n + n + 1) * 2;
        e->text = ch_must(realloc(e->text, e->cap));
    }
    memmove(e->text + e->at + n, e->text + e->at, e->n - e->at + 1);
    memcpy(e->text + e->at, p, n);
    e->n += n;
    e->at += n;
}

/* The person inserts a text: the limit holds. */
static void term_edit_insert(struct ch_edit *e, const char *p, size_t n) {
    if (e->n + n > CH_EDIT_MAX)
        e->lost_bytes += n;
    else
        put(e, p, n);
}

static void erase(struct ch_edit *e, size_t from, size_t to) {
    memmove(e->text + from, e->text + to, e->n - to + 1);
    e->n -= to - from;
    e->at = from;
}

char *ch_edit_take(struct ch_edit *e) {
    char *text = e->text;
    struct ch_history *history = e->history;
    struct ch_keys keys = e->keys;
    char *killed = e->killed;

    free(e->draft);
    free(e->hint);
    ch_edit_init(e, history);
    e->keys = keys;
    e->killed = killed;
    return text;
}

void ch_edit_set(struct ch_edit *e, const char *text) {
    e->n = e->at = 0;
    e->text[0] = '\0';
    put(e, text, strlen(text));
}

void ch_edit_replace(struct ch_edit *e, size_t from, size_t to, const char *text) {
    erase(e, from, to);
    put(e, text, strlen(text));
}

/* --- places ------------------------------------------------------------------------ */

static bool joins(const char *p, size_t n) {
    uint32_t cp;
    return ch_term_char(p, n, &cp) > 0 && cp >= 0x80 && ch_term_char_columns(cp) == 0;
}

static size_t step_right(const struct ch_edit *e, size_t at) {
    uint32_t cp;
    if (at == e->n)
        return at;
    do {
        int len = ch_term_char(e->text + at, e->n - at, &cp);
        at += len > 0 ? (size_t)len : 1;
    } while (at < e->n && joins(e->text + at, e->n - at));
    return at;
}

static size_t step_left(const struct ch_edit *e, size_t at) {
    while (at > 0) {
        do
            at--;
        while (at > 0 && ((unsigned char)e->text[at] & 0xC0) == 0x80);
        if (!joins(e->text + at, e->n - at))
            break;
    }
    return at;
}

static size_t line_start(const struct ch_edit *e, size_t at) {
    while (at > 0 && e->text[at - 1] != '\n')
        at--;
    return at;
}

static size_t term_edit_line_end(const struct ch_edit *e, size_t at) {
    return at + strcspn(e->text + at, "\n");
}

static bool term_edit_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n';
}

/* Bytes beyond ASCII count as letters. */
static bool term_edit_is_word(char c) {
    return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z') || c == '_';
}

static size_t word_left(const struct ch_edit *e) {
    size_t at = e->at;
    while (at > 0 && !term_edit_is_word(e->text[at - 1]))
        at--;
    while (at > 0 && term_edit_is_word(e->text[at - 1]))
        at--;
    return at;
}

static size_t word_right(const struct ch_edit *e) {
    size_t at = e->at;
    while (at < e->n && !term_edit_is_word(e->text[at]))
        at++;
    while (at < e->n && term_edit_is_word(e->text[at]))
        at++;
    return at;
}

/* Start of the text that Ctrl-W removes: back to a space. */
static size_t space_left(const struct ch_edit *e) {
    size_t at = e->at;
    while (at > 0 && term_edit_is_space(e->text[at - 1]))
        at--;
    while (at > 0 && !term_edit_is_space(e->text[at - 1]))
        at--;
    return at;
}

/* --- kill and yank ----------------------------------------------------------------- */

static void kill(struct ch_edit *e, size_t from, size_t to, bool was_killing) {
    size_t old = was_killing && e->killed ? strlen(e->killed) : 0, n = to - from;
    char *all = ch_must(malloc(old + n + 1));
    bool ahead = to > e->at; /* text after the cursor is appended */

    memcpy(all + (ahead ? 0 : n), e->killed ? e->killed : "", old);
    memcpy(all + (ahead ? old : 0), e->text + from, n);
    all[old + n] = '\0';
    free(e->killed);
    e->killed = all;
    e->killing = true;
    erase(e, from, to);
}

static void transpose(struct ch_edit *e) {
    size_t right = e->at == e->n ? e->at : step_right(e, e->at);
    size_t middle = step_left(e, right), left = step_left(e, middle);
    if (left == middle)
        return;
    char *both = ch_must(malloc(right - left));
    memcpy(both, e->text + middle, right - middle);
    memcpy(both + (right - middle), e->text + left, middle - left);
    memcpy(e->text + left, both, right - left);
    e->at = right;
    free(both);
}

/* --- history ----------------------------------------------------------------------- */

static const char *term_edit_entry(const struct ch_edit *e, size_t past) {
    return e->history->list[e->history->n - past];
}

static void show_past(struct ch_edit *e, size_t past) {
    if (!e->history || past > e->history->n || past == e->history_at)
        return;
    if (e->history_at == 0) {
        free(e->draft);
        e->draft = ch_dup(e->text);
    }
    e->history_at = past;
    ch_edit_set(e, past ? term_edit_entry(e, past) : e->draft);
}

/* Moves within the lines of the text first, then through the history. */
static void up(struct ch_edit *e) {
    size_t start = line_start(e, e->at);
    if (start == 0) {
        show_past(e, e->history_at + 1);
        return;
    }
    unsigned column = ch_term_text_columns(e->text + start, e->at - start);
    size_t above = line_start(e, start - 1);
    e->at = above + ch_term_fit(e->text + above, start - 1 - above, column);
}

static void down(struct ch_edit *e) {
    size_t end = term_edit_line_end(e, e->at), start = line_start(e, e->at);
    if (end == e->n) {
        if (e->history_at > 0)
            show_past(e, e->history_at - 1);
        return;
    }
    unsigned column = ch_term_text_columns(e->text + start, e->at - start);
    e->at =
        end + 1 + ch_term_fit(e->text + end + 1, term_edit_line_end(e, end + 1) - end - 1, column);
}

/* Find the nearest entry with the query, starting `past` entries back. */
static void term_edit_search(struct ch_edit *e, size_t past) {
    for (; e->history && past <= e->history->n; past++) {
        if (past > 0 && strstr(term_edit_entry(e, past), e->query)) {
            e->missing = false;
            show_past(e, past);
            return;
        }
    }
    e->missing = true;
}

static void search_key(struct ch_edit *e, const struct ch_key *k) {
    size_t n = strlen(e->query);
    if (k->code == CH_KEY_SEARCH) {
        term_edit_search(e, e->history_at + 1);
    } else if (k->code == CH_KEY_TEXT && n + strlen(k->text) < sizeof(e->query)) {
        memcpy(e->query + n, k->text, strlen(k->text) + 1);
        term_edit_search(e, e->history_at ? e->history_at : 1);
    } else if (k->code == CH_KEY_BACKSPACE && n > 0) {
        do
            e->query[--n] = '\0';
        while (n > 0 && ((unsigned char)e->query[n] & 0xC0) == 0x80);
        e->query[n] = '\0';
        term_edit_search(e, 1);
    }
}

/* --- completion -------------------------------------------------------------------- */

static size_t common(char *const *words, size_t n) {
    size_t len = strlen(words[0]);
    for (size_t i = 1; i < n; i++) {
        size_t k = 0;
        while (k < len && words[i][k] == words[0][k])
            k++;
        len = k;
    }
    while (len > 0 && ((unsigned char)words[0][len] & 0xC0) == 0x80)
        len--; /* do not split a character */
    return len;
}

static void show_words(struct ch_edit *e, char *const *words, size_t n) {
    size_t len = 0;
    for (size_t i = 0; i < n; i++)
        len += strlen(words[i]) + 2;
    char *hint = ch_must(malloc(len + 1)), *to = hint;
    for (size_t i = 0; i < n; i++) {
        size_t w = strlen(words[i]);
        memcpy(to, words[i], w);
        memcpy(to + w, "  ", 2);
        to += w + 2;
    }
    *to = '\0';
    free(e->hint);
    e->hint = hint;
}

void ch_edit_complete(struct ch_edit *e, size_t from, char *const *words, size_t n) {
    if (n == 0)
        return;
    size_t len = common(words, n);
    if (len >= e->at - from) {
        erase(e, from, e->at);
        put(e, words[0], len);
    }
    if (n > 1)
        show_words(e, words, n);
    else if (len > 0 && !strchr("/:", words[0][len - 1]))
        term_edit_insert(e, " ", 1);
}

/* --- keys -------------------------------------------------------------------------- */

static enum ch_edit_action term_edit_enter(struct ch_edit *e) {
    if (e->at > 0 && e->at == e->n && e->text[e->n - 1] == '\\') {
        erase(e, e->n - 1, e->n);
        term_edit_insert(e, "\n", 1);
        return CH_EDIT_NONE;
    }
    return CH_EDIT_SUBMIT;
}

static void move_key(struct ch_edit *e, enum ch_key_code code) {
    switch (code) {
    case CH_KEY_LEFT:
        e->at = step_left(e, e->at);
        break;
    case CH_KEY_RIGHT:
        e->at = step_right(e, e->at);
        break;
    case CH_KEY_WORD_LEFT:
        e->at = word_left(e);
        break;
    case CH_KEY_WORD_RIGHT:
        e->at = word_right(e);
        break;
    case CH_KEY_HOME:
        e->at = line_start(e, e->at);
        break;
    case CH_KEY_END:
        e->at = term_edit_line_end(e, e->at);
        break;
    case CH_KEY_UP:
        up(e);
        break;
    case CH_KEY_DOWN:
        down(e);
        break;
    case CH_KEY_PREVIOUS:
        show_past(e, e->history_at + 1);
        break;
    case CH_KEY_NEXT:
        if (e->history_at > 0)
            show_past(e, e->history_at - 1);
        break;
    default:
        break;
    }
}

static void term_edit_change_key(struct ch_edit *e, const struct ch_key *k, bool was_killing) {
    size_t end = term_edit_line_end(e, e->at);
    switch (k->code) {
    case CH_KEY_TEXT:
        term_edit_insert(e, k->text, strlen(k->text));
        break;
    case CH_KEY_NEWLINE:
        term_edit_insert(e, "\n", 1);
        break;
    case CH_KEY_BACKSPACE:
        erase(e, step_left(e, e->at), e->at);
        break;
    case CH_KEY_DELETE:
        erase(e, e->at, step_right(e, e->at));
        break;
    case CH_KEY_KILL_LINE:
        kill(e, e->at, end > e->at || end == e->n ? end : end + 1, was_killing);
        break;
    case CH_KEY_KILL_BACK:
        kill(e, line_start(e, e->at), e->at, was_killing);
        break;
    case CH_KEY_KILL_WORD:
        kill(e, e->at, word_right(e), was_killing);
        break;
    case CH_KEY_KILL_WORD_BACK:
        kill(e, space_left(e), e->at, was_killing);
        break;
    case CH_KEY_YANK:
        term_edit_insert(e, e->killed ? e->killed : "", e->killed ? strlen(e->killed) : 0);
        break;
    case CH_KEY_TRANSPOSE:
        transpose(e);
        break;
    default:
        move_key(e, k->code);
    }
}

static enum ch_edit_action press(struct ch_edit *e, const struct ch_key *k) {
    bool was_killing = e->killing;

    e->killing = false;
    free(e->hint);
    e->hint = NULL;
    if (e->searching) {
        bool goes_on = k->code == CH_KEY_SEARCH || k->code == CH_KEY_PASTE_BEGIN ||
                       k->code == CH_KEY_PASTE_END || k->code == CH_KEY_TEXT ||
                       k->code == CH_KEY_BACKSPACE;
        if (goes_on) {
            search_key(e, k);
            return CH_EDIT_NONE;
        }
        e->searching = false;
        if (k->code == CH_KEY_INTERRUPT || k->code == CH_KEY_ESCAPE) {
            if (k->code == CH_KEY_INTERRUPT)
                show_past(e, 0);
            return CH_EDIT_NONE;
        }
    }
    switch (k->code) {
    case CH_KEY_ENTER:
        return term_edit_enter(e);
    case CH_KEY_TAB:
        return CH_EDIT_COMPLETE;
    case CH_KEY_INTERRUPT:
        return CH_EDIT_INTERRUPT;
    case CH_KEY_ESCAPE:
        return CH_EDIT_ESCAPE;
    case CH_KEY_UNFOLD:
        return CH_EDIT_UNFOLD;
    case CH_KEY_REDRAW:
        return CH_EDIT_REDRAW;
    case CH_KEY_SUSPEND:
        return CH_EDIT_SUSPEND;
    case CH_KEY_EDITOR:
        return CH_EDIT_EDITOR;
    case CH_KEY_CLIPBOARD:
        return CH_EDIT_CLIPBOARD;
    case CH_KEY_PASTE_BEGIN:
        e->pasted_from = e->at;
        e->lost_bytes = 0;
        return CH_EDIT_NONE;
    case CH_KEY_PASTE_END: /* a paste that an interrupted search took has no text here */
        return e->pasted_from < e->at ? CH_EDIT_PASTED : CH_EDIT_NONE;
    case CH_KEY_EOF:
        if (e->n == 0)
            return CH_EDIT_EOF;
        erase(e, e->at, step_right(e, e->at));
        return CH_EDIT_NONE;
    case CH_KEY_SEARCH:
        e->searching = true;
        e->missing = false;
        e->query[0] = '\0';
        return CH_EDIT_NONE;
    default:
        term_edit_change_key(e, k, was_killing);
        return CH_EDIT_NONE;
    }
}

size_t ch_edit_feed(struct ch_edit *e, const char *p, size_t n, enum ch_edit_action *action) {
    size_t i = 0;
    *action = CH_EDIT_NONE;
    while (i < n && *action == CH_EDIT_NONE) {
        struct ch_key k = ch_keys_feed(&e->keys, p[i++]);
        if (k.code != CH_KEY_NONE)
            *action = press(e, &k);
    }
    return i;
}

enum ch_edit_action ch_edit_flush(struct ch_edit *e) {
    struct ch_key k = ch_keys_flush(&e->keys);
    return k.code == CH_KEY_NONE ? CH_EDIT_NONE : press(e, &k);
}
