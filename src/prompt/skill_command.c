/* skill_command.c -- see skill_command.h. */
#include "prompt/skill_command.h"

#include <string.h>
#include <strings.h>

#define ALL_WORDS "$ARGUMENTS"

bool ch_command_is_file(const char *path) {
    const char *slash = strrchr(path, '/');
    return strcasecmp(slash ? slash + 1 : path, "SKILL.md") != 0;
}

static bool command_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Cuts the first word off, without its quotes. */
static struct ch_sv command_next_word(struct ch_sv *words) {
    *words = ch_sv_trim(*words);
    char quote = words->n && (*words->p == '"' || *words->p == '\'') ? *words->p : '\0';
    size_t n = quote ? 1 : 0;
    while (n < words->n && (quote ? words->p[n] != quote : !command_is_space(words->p[n])))
        n++;
    size_t from = quote ? 1 : 0, end = n + (quote && n < words->n);
    struct ch_sv word = ch_sv(words->p + from, n - from);
    *words = ch_sv(words->p + end, words->n - end);
    return word;
}

/* The n-th word, from 1; empty if there are fewer. */
static struct ch_sv command_word(struct ch_sv words, unsigned n) {
    struct ch_sv word = {"", 0};
    while (n-- > 0)
        word = command_next_word(&words);
    return word;
}

/* Appends what the place at the start of the text stands for. Returns its length; 0: no place. */
static size_t command_fill(struct ch_sv text, struct ch_sv words, struct ch_buf *out) {
    if (ch_sv_starts(text, ALL_WORDS)) {
        ch_buf_add_sv(out, ch_sv_trim(words));
        return strlen(ALL_WORDS);
    }
    bool digit = text.n > 1 && text.p[1] >= '1' && text.p[1] <= '9';
    bool longer = text.n > 2 && text.p[2] >= '0' && text.p[2] <= '9'; /* an amount: $100 */
    if (!digit || longer)
        return 0;
    ch_buf_add_sv(out, command_word(words, (unsigned)(text.p[1] - '0')));
    return 2;
}

void ch_command_expand(struct ch_sv body, struct ch_sv words, struct ch_buf *out) {
    bool used = false;
    for (size_t i = 0; i < body.n;) {
        struct ch_sv rest = ch_sv(body.p + i, body.n - i);
        size_t n = *rest.p == '$' ? command_fill(rest, words, out) : 0;
        used |= n > 0;
        if (n == 0)
            ch_buf_addc(out, *rest.p);
        i += n ? n : 1;
    }
    if (!used && ch_sv_trim(words).n)
        ch_buf_addf(out, "\n\n%.*s", CH_SV_FMT(ch_sv_trim(words)));
}
