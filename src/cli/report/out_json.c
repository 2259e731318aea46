/* out_json.c -- see out.h. */
#include "cli/report/out_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chela/session.h"
#include "cli/support/draft.h"

void ch_json_line(struct ch_console *c, const char *json) {
    char *line = ch_format("%s\n", json);
    ch_console_print(c, line, strlen(line)); /* one write, so that lines do not interleave */
    free(line);
}

void ch_json_event(struct ch_console *c, const struct chela_event *ev) {
    char *json = chela_event_json(ev);
    ch_json_line(c, json);
    chela_free(json);
}

void ch_json_end(struct ch_console *c, const struct chela_event *end, const char *session) {
    char *json = chela_event_json(end);
    struct ch_draft d;
    ch_draft_init(&d);
    fwrite(json, 1, strlen(json) - (session ? 1 : 0), d.f); /* without the last brace */
    if (session) {
        fputs(",\"session\":", d.f);
        ch_draft_quote(d.f, session);
        fputc('}', d.f);
    }
    ch_draft_finish(&d);
    ch_json_line(c, d.p);
    free(d.p);
    chela_free(json);
}

static void out_json_new_line(FILE *out, unsigned depth) {
    fprintf(out, "\n%*s", (int)(depth * 2), "");
}

/* Length of the string that starts at p, including quotes. */
static size_t out_json_string_length(const char *p, size_t n) {
    size_t i = 1;
    while (i < n && p[i] != '"')
        i += p[i] == '\\' ? 2 : 1;
    return i < n ? i + 1 : n;
}

static size_t skip_space(const char *p, size_t i, size_t n) {
    while (i < n && strchr(" \t\r\n", p[i]))
        i++;
    return i;
}

/* Works on the text, so nothing is reordered or rounded. */
void ch_json_pretty(FILE *out, const char *json, size_t n) {
    unsigned depth = 0;
    for (size_t i = skip_space(json, 0, n), used; i < n; i = skip_space(json, i + used, n)) {
        char c = json[i], next = '\0';
        size_t after = skip_space(json, i + 1, n);
        used = 1;
        if (after < n)
            next = json[after];
        if (c == '"') {
            used = out_json_string_length(json + i, n - i);
            fwrite(json + i, 1, used, out);
        } else if ((c == '{' && next == '}') || (c == '[' && next == ']')) {
            fprintf(out, "%c%c", c, next);
            used = after + 1 - i;
        } else if (c == '{' || c == '[') {
            fputc(c, out);
            out_json_new_line(out, ++depth);
        } else if (c == '}' || c == ']') {
            out_json_new_line(out, depth -= depth > 0);
            fputc(c, out);
        } else if (c == ',') {
            fputc(c, out);
            out_json_new_line(out, depth);
        } else {
            fputs(c == ':' ? ": " : (char[]){c, '\0'}, out);
        }
    }
    fputc('\n', out);
}
