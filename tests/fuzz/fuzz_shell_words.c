/* fuzz_shell_words.c -- any command, any text for people.
 *
 * What is accepted as one plain command must be so however its words are
 * quoted, must match itself as a pattern, and holds nothing that a shell acts
 * upon. What is shown of any text holds nothing that a terminal acts upon, and
 * is another for another text. */
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "tool/call/approval.h"
#include "tool/result/display.h"
#include "tool/process/executable.h"
#include "tool/process/shell_words.h"

static void quote(struct ch_buf *out, const char *word) {
    ch_buf_add_str(out, out->n ? " '" : "'");
    for (; *word; word++)
        if (*word == '\'')
            ch_buf_add_str(out, "'\\''");
        else
            ch_buf_addc(out, *word);
    ch_buf_addc(out, '\'');
}

static void check_words(struct ch_arena *arena, const struct ch_words *w) {
    CH_BUF_AUTO text = {0};

    for (size_t i = 0; i < w->n; i++)
        quote(&text, w->v[i]);
    struct ch_words again = ch_shell_words(arena, ch_buf_sv(&text), CH_WORDS_COMMAND);
    struct ch_words pattern = ch_shell_words(arena, ch_buf_sv(&text), CH_WORDS_PATTERN);
    if (!again.v || again.n != w->n || !pattern.v || pattern.n != w->n)
        abort();
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(again.v[i], w->v[i]) != 0 || !ch_glob_word(pattern.v[i], w->v[i]))
            abort();
    ch_executable_runs_others(w->v[0], w->v);
}

/* Outside of quotes none of these can stand in a plain command. */
static void check_text(struct ch_sv text) {
    char quoted = 0;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '\\' && quoted != '\'')
            i++;
        else if (quoted && c == quoted)
            quoted = 0;
        else if (!quoted && (c == '\'' || c == '"'))
            quoted = c;
        else if ((!quoted && strchr("\n\r;&|<>()$`*?[]{}~#!^", c)) ||
                 (quoted == '"' && strchr("$`!", c)))
            abort();
    }
}

static void check_display(struct ch_sv text) {
    CH_BUF_AUTO line = {0}, lines = {0};

    ch_display_add(&line, text, CH_DISPLAY_LINE);
    ch_display_add(&lines, text, CH_DISPLAY_TEXT);
    if (!ch_utf8_valid(ch_buf_sv(&line)) || !ch_utf8_valid(ch_buf_sv(&lines)))
        abort();
    for (struct ch_sv s = ch_buf_sv(&line); s.n;) {
        uint32_t cp;
        unsigned n = ch_utf8_next(s, &cp);
        if (ch_display_hidden(cp))
            abort();
        s = ch_sv(s.p + n, s.n - n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ch_sv text = ch_sv((const char *)data, size);
    CH_ARENA_AUTO arena = {0};
    struct ch_words w = ch_shell_words(&arena, text, CH_WORDS_COMMAND);

    if (w.v) {
        check_text(text);
        check_words(&arena, &w);
    } else if (!w.why) {
        abort();
    }
    check_display(text);
    ch_approval_is_self_approve(text);
    return 0;
}
