/* chat_review.c -- see chat_review.h. */
#include "cli/chat/chat_review.h"

#include <stdlib.h>
#include <string.h>

#include "chela/json.h"
#include "chela/review.h"
#include "cli/chat/chat_runs.h"
#include "cli/chat/chat_show.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"

enum { HUNKS = 64 }; /* named by one command */

/* --- showing */

static char *review_value(const char *json, const char *list, size_t i, const char *name) {
    char *pointer = ch_format("/%s/%zu%s%s", list, i, *name ? "/" : "", name);
    size_t n;
    char *value = chela_json_get(json, strlen(json), pointer, &n);

    free(pointer);
    return value;
}

static void review_line(struct ch_draft *d, const char *json, size_t i, const char *path) {
    static const char *const names[] = {"status", "added", "removed", "ask", "conflict"};
    char *v[sizeof(names) / sizeof(names[0])];

    for (size_t k = 0; k < sizeof(v) / sizeof(v[0]); k++)
        v[k] = review_value(json, "files", i, names[k]);
    fprintf(d->f, "  %-9s +%s -%s  ", v[0] ? v[0] : "", v[1] ? v[1] : "0", v[2] ? v[2] : "0");
    ch_draft_quote(d->f, path);
    if (v[3])
        fprintf(d->f, "  (must be named: %s)", v[3]);
    if (v[4])
        fputs("  (changed in the workspace meanwhile)", d->f);
    fputc('\n', d->f);
    for (size_t k = 0; k < sizeof(v) / sizeof(v[0]); k++)
        chela_free(v[k]);
}

static void review_list(struct ch_chat *c, const char *json) {
    struct ch_draft d;
    char *path, *patch = chela_json_get(json, strlen(json), "/patch", NULL);

    ch_draft_init(&d);
    for (size_t i = 0; (path = review_value(json, "files", i, "path")); i++) {
        review_line(&d, json, i, path);
        chela_free(path);
    }
    for (size_t i = 0; (path = review_value(json, "repositories", i, "path")); i++) {
        fprintf(d.f, "  %s  (a Git repository: must be named)\n", path);
        chela_free(path);
    }
    fputs("/review accept [FILE [HUNK]...], /review refuse [FILE] [-- COMMENT]\n", d.f);
    ch_draft_finish(&d);
    if (patch)
        ch_chat_print(c, "", patch, strlen(patch));
    ch_chat_print(c, "", d.p, d.n);
    chela_free(patch);
    free(d.p);
}

static void review_told(struct ch_chat *c, const char *json, const char *list) {
    char *path, *why;
    size_t n = 0;

    for (; (path = review_value(json, list, n, "")); n++)
        chela_free(path);
    ch_console_note(c->console, "%s: %zu file%s", list, n, n == 1 ? "" : "s");
    for (size_t i = 0; (path = review_value(json, "left", i, "path")); i++) {
        why = review_value(json, "left", i, "why");
        ch_console_note(c->console, "left out: %s: %s; /review accept %s takes it", path,
                        why ? why : "", path);
        chela_free(why);
        chela_free(path);
    }
}

/* --- the command */

/* The next word of *rest, in place; NULL: none. */
static char *review_word(char **rest) {
    char *word = *rest + strspn(*rest, " ");
    size_t n = strcspn(word, " ");

    if (n == 0)
        return NULL;
    *rest = word + n + (word[n] != '\0');
    word[n] = '\0';
    return word;
}

static char *review_ask(struct ch_chat *c, struct chela_review_opts *o) {
    struct chela_error err = {0};
    char *json = NULL;

    o->session = chela_session_key(c->session);
    if (chela_review(o, &json, &err) < 0)
        ch_console_error(c->console, "%s", err.message);
    return json;
}

static void review_accept(struct ch_chat *c, char *rest) {
    unsigned hunks[HUNKS];
    const char *files[2] = {review_word(&rest), NULL};
    struct chela_review_opts o = CHELA_REVIEW_OPTS(.action = CHELA_REVIEW_APPLY, .hunks = hunks);
    char *word;

    while ((word = review_word(&rest)) && o.nhunks < HUNKS)
        hunks[o.nhunks++] = (unsigned)strtoul(word, NULL, 10);
    o.files = files[0] ? files : NULL;
    char *json = review_ask(c, &o);
    if (json)
        review_told(c, json, "applied");
    chela_free(json);
}

/* The model hears why its changes are gone. */
static void review_refuse(struct ch_chat *c, char *rest) {
    char *comment = strncmp(rest, "-- ", 3) == 0 ? rest : strstr(rest, " -- ");
    struct chela_review_opts o = CHELA_REVIEW_OPTS(.action = CHELA_REVIEW_DISCARD);

    if (comment) {
        char *text = comment + strspn(comment, " -");
        *comment = '\0';
        comment = ch_dup(text);
    }
    const char *files[2] = {review_word(&rest), NULL};
    o.files = files[0] ? files : NULL;
    char *what = ch_dup(files[0] ? files[0] : "all files");
    char *json = review_ask(c, &o);
    if (json)
        review_told(c, json, "discarded");
    if (json && comment && *comment) {
        char *text = ch_format("I refused your changes of %s: %s", what, comment);
        ch_chat_say(c, text, text, false);
        free(text);
    }
    chela_free(json);
    free(what);
    free(comment);
}

void ch_chat_review(struct ch_chat *c, const char *args) {
    char *copy, *rest, *word;

    if (!c->session) {
        ch_console_note(c->console, "nothing has changed yet");
        return;
    }
    rest = copy = ch_dup(args);
    word = review_word(&rest);
    if (!word) {
        struct chela_review_opts o = CHELA_REVIEW_OPTS(.action = CHELA_REVIEW_SHOW);
        char *json = review_ask(c, &o);
        if (json)
            review_list(c, json);
        chela_free(json);
    } else if (strcmp(word, "accept") == 0) {
        review_accept(c, rest);
    } else if (strcmp(word, "refuse") == 0) {
        review_refuse(c, rest);
    } else {
        ch_console_error(c->console,
                         "/review %s: use /review, /review accept [FILE [HUNK]...] or /review "
                         "refuse [FILE] [-- COMMENT]",
                         word);
    }
    free(copy);
}
