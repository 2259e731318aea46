/* quotation.c -- see quotation.h. */
#include "model/codec/quotation.h"

#include "base/mem.h"

static bool ended_with(const struct ch_quotation *q, const char *word) {
    size_t n = strlen(word);

    return memcmp(q->recent + sizeof(q->recent) - n, word, n) == 0;
}

/* The byte n places before the newest. */
static char quotation_before(const struct ch_quotation *q, size_t n) {
    return q->recent[sizeof(q->recent) - 1 - n];
}

/* A quotation mark after one of these opens a quotation; after a word it closes one. */
static bool opens_after(char c) {
    return c == '\0' || strchr(" \n\t\r([{:=,>-", c) != NULL;
}

static void read_elements(struct ch_quotation *q) {
    static const char *const names[] = {"pre",      "code", "q",    "samp",  "script", "kbd",
                                        "textarea", "xmp",  "cite", "style", "table"};
    char last = quotation_before(q, 0);

    if (last != '>' && last != ' ')
        return;
    for (size_t i = 0; i < CH_LEN(names); i++) {
        size_t n = strlen(names[i]), at = sizeof(q->recent) - 1 - n;
        if (memcmp(q->recent + at, names[i], n) != 0)
            continue;
        if (q->recent[at - 1] == '<')
            q->elements++;
        else if (q->recent[at - 1] == '/' && q->recent[at - 2] == '<' && q->elements)
            q->elements--;
    }
}

/* A long name, without the mark after it. */
static void read_blockquote(struct ch_quotation *q) {
    if (ended_with(q, "<blockquote"))
        q->elements++;
    else if (ended_with(q, "</blockquote") && q->elements)
        q->elements--;
}

/* Quotation marks that have a direction. */
static void read_curved(struct ch_quotation *q) {
    static const char *const open[] = {"\xe2\x80\x9c", "\xe2\x80\x9e", "\xc2\xab", "\xe3\x80\x8c",
                                       "\xe3\x80\x8e"};
    static const char *const close[] = {"\xe2\x80\x9d", "\xc2\xbb", "\xe3\x80\x8d",
                                        "\xe3\x80\x8f"};

    for (size_t i = 0; i < CH_LEN(open); i++)
        q->curved += ended_with(q, open[i]);
    for (size_t i = 0; i < CH_LEN(close); i++)
        if (q->curved && ended_with(q, close[i]))
            q->curved--;
}

static void read_quotes(struct ch_quotation *q, char c) {
    if (ended_with(q, "\"\"\"") || ended_with(q, "'''")) {
        q->triple = !q->triple ? c : q->triple == c ? '\0' : q->triple;
        q->straight = false;
        memset(q->recent, 0, sizeof(q->recent)); /* a fourth mark begins anew */
    } else if (c == '"') {
        q->straight = !q->straight && opens_after(quotation_before(q, 1));
    }
}

static void end_line(struct ch_quotation *q) {
    if (!q->text_on_line) { /* a paragraph ends */
        q->straight = q->block = false;
        q->curved = 0;
    }
    q->text_on_line = false;
    q->indent = 0;
}

static void read_text(struct ch_quotation *q, char c) {
    if (q->html_comment) {
        q->html_comment = !ended_with(q, "-->");
    } else if (q->c_comment) {
        q->c_comment = !ended_with(q, "*/");
    } else {
        q->html_comment = ended_with(q, "<!--");
        q->c_comment = ended_with(q, "/*");
        read_quotes(q, c);
        read_curved(q);
        read_elements(q);
        read_blockquote(q);
    }
}

static void read_byte(struct ch_quotation *q, char c) {
    memmove(q->recent, q->recent + 1, sizeof(q->recent) - 1);
    q->recent[sizeof(q->recent) - 1] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    if (c == '\n') {
        end_line(q);
        return;
    }
    if (!q->text_on_line && (c == ' ' || c == '\t' || c == '\r')) {
        q->indent++;
        return;
    }
    q->block |= !q->text_on_line && c == '>';
    q->text_on_line = true;
    read_text(q, c);
}

void ch_quotation_read(struct ch_quotation *q, struct ch_sv text) {
    for (size_t i = 0; i < text.n; i++)
        read_byte(q, text.p[i]);
}

bool ch_quotation_is_free(const struct ch_quotation *q) {
    return !q->text_on_line && !q->indent && !q->straight && !q->curved && !q->html_comment &&
           !q->c_comment && !q->triple && !q->elements && !q->block;
}
