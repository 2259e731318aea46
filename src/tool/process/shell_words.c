/* shell_words.c -- see shell_words.h.
 *
 * One pass over the bytes with a state for the kind of quoting. The tables list the
 * characters that may stand unquoted; all others are rejected, so unknown constructs are
 * rejected too. */
#include "tool/process/shell_words.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "base/wild.h"
#include "tool/result/display.h"

/* Characters without special meaning in any shell, anywhere in a word. */
static bool shell_words_is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_-./:=@%+,", c));
}

/* The reason why a special character is rejected. */
static const char *shell_words_meaning_of(char c) {
    switch (c) {
    case '\n':
    case ';':
    case '&':
    case '|':
        return "more than one command";
    case '<':
    case '>':
        return "a redirection";
    case '$':
    case '`':
        return "an expansion";
    case '*':
    case '?':
    case '[':
    case ']':
    case '{':
    case '}':
    case '~':
        return "a pattern that the shell expands";
    case '(':
    case ')':
        return "parentheses";
    case '#':
        return "a comment";
    case '!':
    case '^':
        return "a character that some shells expand";
    }
    return "a control character";
}

/* --- words that cannot be a program ---------------------------------------- */

/* Reserved words, and shell built-ins that evaluate their arguments, change the shell, or
 * have no program of that name. A shell prefers its built-in to the program that a rule
 * names. */
static const char *const shell_words[] = {
    "!",        ".",       ":",       "[",       "[[",        "]]",       "alias",   "bg",
    "bind",     "break",   "builtin", "caller",  "case",      "cd",       "command", "compgen",
    "complete", "compopt", "coproc",  "declare", "dirs",      "disown",   "do",      "done",
    "elif",     "else",    "enable",  "esac",    "eval",      "exec",     "exit",    "export",
    "fc",       "fg",      "fi",      "for",     "function",  "getopts",  "hash",    "help",
    "history",  "if",      "in",      "jobs",    "let",       "local",    "logout",  "mapfile",
    "popd",     "printf",  "pushd",   "read",    "readarray", "readonly", "return",  "select",
    "set",      "shift",   "shopt",   "source",  "suspend",   "test",     "then",    "time",
    "times",    "trap",    "type",    "typeset", "ulimit",    "umask",    "unalias", "unset",
    "until",    "wait",    "while",   "{",       "}",         "continue",
};

static const char *wrong_with_program(const char *word) {
    if (!*word)
        return "no program";
    if (strchr(word, '='))
        return "an assignment";
    if (*word == '-' || *word == '%' || *word == '@' || *word == '+' || *word == ',')
        return "a program with an unusual name";
    for (size_t i = 0; i < CH_LEN(shell_words); i++)
        if (strcmp(shell_words[i], word) == 0)
            return "a command of the shell itself";
    return NULL;
}

/* --- reading ---------------------------------------------------------------- */

enum quote { NONE, SINGLE, DOUBLE };

struct reader {
    struct ch_arena *arena;
    enum ch_words_mode mode;
    struct ch_sv rest;
    enum quote quote;
    bool in_word;
    struct ch_buf word;
    struct ch_words out;
};

static bool shell_words_refuse(struct reader *r, const char *why) {
    r->out.why = why;
    return false;
}

/* Add a literal character. */
static void shell_words_add(struct reader *r, char c) {
    if (r->mode == CH_WORDS_PATTERN && strchr("*?\\", c))
        ch_buf_addc(&r->word, '\\');
    ch_buf_addc(&r->word, c);
    r->in_word = true;
}

static bool shell_words_end_word(struct reader *r) {
    if (!r->in_word)
        return true;
    if (r->out.n == CH_LIMIT_COMMAND_WORDS)
        return shell_words_refuse(r, "too many words");
    r->out.v[r->out.n++] = ch_arena_str(r->arena, ch_buf_sv(&r->word));
    ch_buf_clear(&r->word);
    r->in_word = false;
    return true;
}

static void shell_words_step(struct reader *r, size_t n) {
    r->rest = ch_sv(r->rest.p + n, r->rest.n - n);
}

/* Characters beyond ASCII are letters to every shell; invisible ones are rejected. */
static bool read_wide(struct reader *r) {
    uint32_t cp;
    unsigned n = ch_utf8_next(r->rest, &cp);

    if (!n)
        return shell_words_refuse(r, "bytes that are no text");
    if (ch_display_hidden(cp))
        return shell_words_refuse(r, "invisible characters");
    ch_buf_add(&r->word, r->rest.p, n);
    r->in_word = true;
    shell_words_step(r, n);
    return true;
}

/* After a backslash: outside of quotes any printable character is literal; inside double
 * quotes only four are, before others the backslash is kept. */
static bool read_escape(struct reader *r) {
    if (r->rest.n < 2)
        return shell_words_refuse(r, "a backslash at the end");
    char c = r->rest.p[1];
    if (c < ' ' || c > '~')
        return shell_words_refuse(r, "a backslash before something else than a character");
    if (r->quote == DOUBLE && !strchr("$`\"\\", c))
        shell_words_add(r, '\\');
    shell_words_add(r, c);
    shell_words_step(r, 2);
    return true;
}

static bool read_quoted(struct reader *r, char c) {
    bool control = (unsigned char)c < ' ' && c != '\n' && c != '\t';

    if (control || c == 0x7f)
        return shell_words_refuse(r, "a control character");
    if (c == (r->quote == SINGLE ? '\'' : '"')) {
        r->quote = NONE;
        shell_words_step(r, 1);
        return true;
    }
    if (r->quote == DOUBLE && c == '\\')
        return read_escape(r);
    if (r->quote == DOUBLE && strchr("$`!", c))
        return shell_words_refuse(r, shell_words_meaning_of(c));
    shell_words_add(r, c);
    shell_words_step(r, 1);
    return true;
}

static bool read_bare(struct reader *r, char c) {
    if (c == '\\')
        return read_escape(r);
    if (c == '\'' || c == '"') {
        r->quote = c == '"' ? DOUBLE : SINGLE;
        r->in_word = true; /* an empty pair of quotes is a word */
    } else if (c == ' ' || c == '\t') {
        if (!shell_words_end_word(r))
            return false;
    } else if (shell_words_is_plain(c)) {
        shell_words_add(r, c);
    } else if (r->mode == CH_WORDS_PATTERN && (c == '*' || c == '?')) {
        ch_buf_addc(&r->word, c);
        r->in_word = true;
    } else {
        return shell_words_refuse(r, shell_words_meaning_of(c));
    }
    shell_words_step(r, 1);
    return true;
}

static bool shell_words_read_all(struct reader *r) {
    while (r->rest.n) {
        char c = *r->rest.p;
        bool ok = (unsigned char)c >= 0x80 ? read_wide(r)
                  : r->quote               ? read_quoted(r, c)
                                           : read_bare(r, c);
        if (!ok)
            return false;
    }
    if (r->quote)
        return shell_words_refuse(r, "a quote that is not closed");
    if (!shell_words_end_word(r))
        return false;
    if (r->out.n == 0)
        return shell_words_refuse(r, "no program");
    const char *why = r->mode == CH_WORDS_COMMAND ? wrong_with_program(r->out.v[0]) : NULL;
    return why ? shell_words_refuse(r, why) : true;
}

struct ch_words ch_shell_words(struct ch_arena *arena, struct ch_sv text, enum ch_words_mode mode) {
    struct reader r = {.arena = arena, .mode = mode, .rest = text};

    if (text.n > CH_LIMIT_COMMAND_TEXT)
        return (struct ch_words){.why = "a very long text"};
    r.out.v = ch_arena_alloc(arena, (CH_LIMIT_COMMAND_WORDS + 1) * sizeof(*r.out.v));
    if (shell_words_read_all(&r))
        r.out.v[r.out.n] = NULL;
    else
        r.out = (struct ch_words){.why = r.out.why};
    ch_buf_release(&r.word);
    return r.out;
}

/* --- matching ----------------------------------------------------------------- */

bool ch_glob_word(const char *pattern, const char *word) {
    if (*word == '-' && *pattern != '-')
        return false;
    return ch_wild(ch_sv_str(pattern), ch_sv_str(word));
}
