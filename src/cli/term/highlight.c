/* highlight.c -- see highlight.h. */
#include "cli/term/highlight.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/term/term.h"

#define COMMENT "\033[2m"
#define STRING "\033[32m"
#define NUMBER "\033[36m"
#define KEYWORD "\033[35m"
#define PLAIN "\033[0m"

static const struct {
    const char *names; /* separated by spaces */
    const char *line_comment;
    bool blocks;
} languages[] = {
    {" c h cpp c++ cc hpp java js javascript jsx ts typescript tsx go rust rs swift kotlin cs "
     "csharp php zig scala dart json jsonc css ",
     "//", true},
    {" python py sh bash zsh shell console ruby rb yaml yml toml make makefile perl r dockerfile "
     "ini conf elixir ",
     "#", false},
    {" sql lua haskell hs ", "--", false},
    {" lisp scheme clojure ", ";", false},
};

static const char *const keywords =
    " and as assert async await auto bool break case catch char class const continue def default "
    "defer delete do double elif else end enum esac except export extends extern false fi final "
    "finally float fn for foreach from func function go if impl import in inline int interface is "
    "lambda let local long loop match mod module mut namespace new nil none not null or package "
    "pass private protected pub public raise return select self short signed sizeof static struct "
    "super switch then this throw trait true try type typedef union unless unsigned until use "
    "using var void volatile when where while with yield ";

static bool highlight_is_listed(const char *list, const char *p, size_t n) {
    if (memchr(p, '\0', n)) /* a zero byte would match the end of the list */
        return false;
    for (const char *at = list; n > 0 && (at = strcasestr(at, " ")); at++)
        if (strncasecmp(at + 1, p, n) == 0 && at[1 + n] == ' ')
            return true;
    return false;
}

struct ch_highlight ch_highlight_for(const char *language, size_t n) {
    for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++)
        if (highlight_is_listed(languages[i].names, language, n))
            return (struct ch_highlight){.line_comment = languages[i].line_comment,
                                         .blocks = languages[i].blocks,
                                         .known = true};
    return (struct ch_highlight){0};
}

static void highlight_put(FILE *out, const char *style, const char *p, size_t n) {
    fputs(style, out);
    fwrite(p, 1, n, out);
    fputs(*style ? PLAIN : "", out);
}

static size_t comment_end(struct ch_highlight *h, const char *p, size_t n) {
    const char *end = memmem(p, n, "*/", 2);
    h->in_comment = !end;
    return end ? (size_t)(end + 2 - p) : n;
}

static size_t string_end(const char *p, size_t n) {
    for (size_t i = 1; i < n; i++) {
        if (p[i] == '\\')
            i++;
        else if (p[i] == p[0])
            return i + 1;
    }
    return n;
}

static size_t word_end(const char *p, size_t n) {
    size_t i = 0;
    while (i < n && (isalnum((unsigned char)p[i]) || p[i] == '_' || (unsigned char)p[i] >= 0x80))
        i++;
    return i;
}

static bool begins_comment(const struct ch_highlight *h, const char *p, size_t at, size_t n) {
    size_t len = strlen(h->line_comment);
    if (n - at < len || memcmp(p + at, h->line_comment, len) != 0)
        return false;
    /* "$#" and "#" inside a word are no comments */
    return *h->line_comment != '#' || at == 0 || p[at - 1] == ' ';
}

/* Write one token of the safe text; returns its length. */
static size_t token(struct ch_highlight *h, FILE *out, const char *p, size_t at, size_t n) {
    const char *from = p + at;
    size_t left = n - at, len;

    if (h->in_comment) {
        highlight_put(out, COMMENT, from, len = comment_end(h, from, left));
    } else if (h->blocks && left > 1 && from[0] == '/' && from[1] == '*') {
        len = 2 + comment_end(h, from + 2, left - 2);
        highlight_put(out, COMMENT, from, len);
    } else if (begins_comment(h, p, at, n)) {
        highlight_put(out, COMMENT, from, len = left);
    } else if (*from == '"' || *from == '\'') {
        highlight_put(out, STRING, from, len = string_end(from, left));
    } else if ((len = word_end(from, left)) > 0) {
        bool number = isdigit((unsigned char)*from);
        highlight_put(out,
                      number                                     ? NUMBER
                      : highlight_is_listed(keywords, from, len) ? KEYWORD
                                                                 : "",
                      from, len);
    } else {
        highlight_put(out, "", from, len = 1);
    }
    return len;
}

void ch_highlight_line(struct ch_highlight *h, FILE *out, bool color, const char *p, size_t n) {
    char *safe = ch_escape_whole(CH_ESCAPE_TEXT, p, n, &n);
    if (!color || !h->known)
        fwrite(safe, 1, n, out);
    else
        for (size_t i = 0; i < n;)
            i += token(h, out, safe, i, n);
    free(safe);
}
