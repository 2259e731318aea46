/* chat_call.c -- see chat_call.h. */
#include "cli/chat/chat_call.h"

#include <stdlib.h>
#include <string.h>

#include "chela/json.h"
#include "chela/session.h"
#include "cli/report/out_command.h"
#include "cli/support/draft.h"
#include "cli/term/term.h"

#define STR(s) (int)(s).n, (s).p

enum {
    ABOUT = 400,      /* bytes of an argument shown in one line */
    DIFF_LINES = 24,  /* maximum lines of a diff */
    WRITE_LINES = 8,  /* maximum lines of a new file */
};

char *ch_call_safe(const char *p, size_t n) {
    return ch_escape_whole(CH_ESCAPE_LINE, p, n, NULL);
}

char *ch_call_text(const char *p, size_t n) {
    return ch_escape_whole(CH_ESCAPE_TEXT, p, n, NULL);
}

/* --- the line ----------------------------------------------------------------------- */

/* Arguments that name the subject of a call, under the tools' names. */
static const char *const subjects[] = {"/file_path", "/path", "/command", "/pattern", "/url",
                                       "/query",     "/expression", "/question", "/name", "/to"};

char *ch_call_label(struct chela_str name, struct chela_str arguments) {
    char *about = NULL;
    for (size_t i = 0; !about && i < sizeof(subjects) / sizeof(subjects[0]); i++)
        about = chela_json_get(arguments.p, arguments.n, subjects[i], NULL);
    const char *text = about ? about : arguments.p;
    size_t n = about ? strlen(about) : arguments.n;
    if (!about && n == 2)
        n = 0; /* {} */
    char *line = ch_format("%.*s%s%.*s", STR(name), n > 0 ? " " : "",
                           (int)(n < ABOUT ? n : ABOUT), text);
    char *label = ch_call_safe(line, strlen(line));
    free(line);
    chela_free(about);
    return label;
}

static void put_outcome(FILE *out, const struct chela_event *ev) {
    struct chela_str how, output;
    if (ch_command_failed(ev, &how, &output)) {
        fprintf(out, "%.*s, %lld ms", STR(how), (long long)ev->result.duration_ms);
        return;
    }
    if (!ev->result.is_error) {
        if (ev->result.content.n < 10000)
            fprintf(out, "%zu byte%s, ", ev->result.content.n,
                    ev->result.content.n == 1 ? "" : "s");
        else
            fprintf(out, "%.1f KB, ", (double)ev->result.content.n / 1024);
        fprintf(out, "%lld ms%s", (long long)ev->result.duration_ms,
                ev->result.truncated ? ", truncated" : "");
        return;
    }
    char *sentence = chela_json_get(ev->result.content.p, ev->result.content.n, "/error", NULL);
    char *why = sentence ? ch_call_safe(sentence, strlen(sentence))
                         : ch_call_safe(ev->result.content.p, ev->result.content.n);
    fprintf(out, "%s: %s", ev->result.error_type ? ev->result.error_type : "error", why);
    free(why);
    chela_free(sentence);
}

void ch_call_print(FILE *out, const struct ch_call_look *look, const char *label,
                   const struct chela_event *ev) {
    struct ch_draft d;
    char *name = label ? NULL : ch_call_safe(ev->result.name.p, ev->result.name.n);
    struct chela_str how, output;
    bool bad = ev->result.is_error || ch_command_failed(ev, &how, &output);
    const char *mark = bad ? "✗" : "✓";
    const char *hue = bad ? "\033[31m" : "\033[32m";

    if (!label)
        label = name;
    ch_draft_init(&d);
    put_outcome(d.f, ev);
    ch_draft_finish(&d);
    /* two thirds of the line for the call, the rest for its result */
    unsigned room = look->columns > 10 ? look->columns - 6 : 10;
    unsigned outcome = ch_term_text_columns(d.p, d.n);
    unsigned most = outcome < room / 3 ? room - outcome : room * 2 / 3;
    size_t fit = ch_term_fit(label, strlen(label), most);
    room -= ch_term_text_columns(label, fit);
    fprintf(out, "%s%s%s %.*s %s%.*s%s\n", look->color ? hue : "", mark,
            look->color ? "\033[0m" : "", (int)fit, label, look->color ? "\033[2m" : "- ",
            (int)ch_term_fit(d.p, d.n, room), d.p, look->color ? "\033[0m" : "");
    free(d.p);
    free(name);
}

/* --- changes ------------------------------------------------------------------------- */

static const char *hue_of(const struct ch_call_look *look, char first) {
    if (!look->color)
        return "";
    return first == '+' ? "\033[32m" : first == '-' ? "\033[31m" : "\033[2m";
}

/* mark: prefix of each line; 0: the lines have their own. */
static void put_lines(FILE *out, const struct ch_call_look *look, const char *text, char mark,
                      size_t most) {
    size_t n = 0;
    for (; *text && n < most; n++) {
        size_t len = strcspn(text, "\n");
        char *line = ch_call_safe(text, len);
        unsigned room = look->columns > 8 ? look->columns - 6 : 2;
        fprintf(out, "    %s", hue_of(look, mark ? mark : *text));
        if (mark)
            fputc(mark, out);
        fprintf(out, "%.*s%s\n", (int)ch_term_fit(line, strlen(line), room), line,
                look->color ? "\033[0m" : "");
        free(line);
        text += len + (text[len] != '\0');
    }
    size_t left = 0;
    for (; *text; left++) {
        size_t len = strcspn(text, "\n");
        text += len + (text[len] != '\0');
    }
    if (left > 0)
        fprintf(out, "    %s... %zu more line%s (Ctrl-O)%s\n", look->color ? "\033[2m" : "", left,
                left == 1 ? "" : "s", look->color ? "\033[0m" : "");
}

void ch_call_tail(FILE *out, const struct ch_call_look *look, const char *text, size_t most) {
    size_t n = strlen(text), lines = 0, from;
    while (n > 0 && text[n - 1] == '\n')
        n--;
    for (from = n; from > 0; from--)
        if (text[from - 1] == '\n' && ++lines == most)
            break;
    size_t above = 0;
    for (size_t i = 0; i < from; i++)
        above += text[i] == '\n';
    if (above > 0)
        fprintf(out, "    %s... %zu line%s before (Ctrl-O)%s\n", look->color ? "\033[2m" : "",
                above, above == 1 ? "" : "s", look->color ? "\033[0m" : "");
    char *last = ch_format("%.*s", (int)(n - from), text + from);
    put_lines(out, look, last, ' ', most);
    free(last);
}

static bool chat_call_is_named(const struct chela_event *ev, const char *name) {
    return ev->result.name.n == strlen(name) &&
           memcmp(ev->result.name.p, name, ev->result.name.n) == 0;
}

void ch_call_details(FILE *out, const struct ch_call_look *look, const char *arguments,
                     const struct chela_event *ev) {
    struct chela_str how, output;
    if (ch_command_failed(ev, &how, &output)) {
        char *text = ch_format("%.*s", STR(output));
        ch_call_tail(out, look, text, CH_COMMAND_LINES);
        free(text);
    }
    if (ev->result.is_error)
        return;
    char *diff = chela_json_get(ev->result.details.p, ev->result.details.n, "/diff", NULL);
    if (diff) {
        put_lines(out, look, diff, 0, DIFF_LINES);
    } else if (arguments && chat_call_is_named(ev, "write")) {
        char *content = chela_json_get(arguments, strlen(arguments), "/content", NULL);
        if (content)
            put_lines(out, look, content, '+', WRITE_LINES);
        chela_free(content);
    }
    chela_free(diff);
}
