/* history.c -- see history.h. Failures to read or write the file are ignored. */
#include "cli/term/history.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/state_path.h"

char *ch_history_path(const struct ch_env *env) {
    return ch_state_path(env, "history");
}

/* --- the list --------------------------------------------------------------------- */

static void drop_oldest(struct ch_history *h, size_t n) {
    for (size_t i = 0; i < n; i++)
        free(h->list[i]);
    h->n -= n;
    if (h->n > 0)
        memmove(h->list, h->list + n, h->n * sizeof(*h->list));
}

/* Takes ownership of text. False: it is a duplicate. */
static bool term_history_keep(struct ch_history *h, char *text) {
    if (!*text || strlen(text) > CH_HISTORY_ENTRY ||
        (h->n > 0 && strcmp(h->list[h->n - 1], text) == 0)) {
        free(text);
        return false;
    }
    if (h->n == CH_HISTORY_ENTRIES)
        drop_oldest(h, 1);
    if (h->n == h->cap) {
        h->cap = h->cap ? h->cap * 2 : 32;
        h->list = ch_must(realloc(h->list, h->cap * sizeof(*h->list)));
    }
    h->list[h->n++] = text;
    return true;
}

/* --- the file ---------------------------------------------------------------------- */

static void term_history_write_entry(FILE *f, const char *text) {
    for (; *text; text++) {
        if (*text == '\n' || *text == '\\')
            fputc('\\', f);
        fputc(*text == '\n' ? 'n' : *text, f);
    }
    fputc('\n', f);
}

static void term_history_unescape(char *line) {
    char *to = line;
    for (const char *p = line; *p; p++) {
        if (*p == '\\' && p[1])
            *to++ = *++p == 'n' ? '\n' : *p;
        else
            *to++ = *p;
    }
    *to = '\0';
}

static FILE *open_private(const char *path, int how) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | how, 0600);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f && fd >= 0)
        close(fd);
    return f;
}

/* Rewrite a file with twice as many lines as are kept. */
static void shorten(const struct ch_history *h) {
    char *path = ch_format("%s.new", h->path);
    FILE *f = open_private(path, O_TRUNC | O_NOFOLLOW);
    for (size_t i = 0; f && i < h->n; i++)
        term_history_write_entry(f, h->list[i]);
    if (f && fclose(f) == 0)
        rename(path, h->path);
    free(path);
}

void ch_history_open(struct ch_history *h, const char *path) {
    h->path = path ? ch_dup(path) : NULL;
    FILE *f = path ? fopen(path, "re") : NULL;
    char *line = NULL;
    size_t cap = 0, lines = 0;
    ssize_t n;

    while (f && (n = getline(&line, &cap, f)) > 0) {
        lines++;
        if (line[n - 1] == '\n')
            line[n - 1] = '\0';
        term_history_unescape(line);
        term_history_keep(h, ch_dup(line));
    }
    free(line);
    if (f)
        fclose(f);
    if (lines > 2 * CH_HISTORY_ENTRIES)
        shorten(h);
}

void ch_history_add(struct ch_history *h, const char *text) {
    if (!term_history_keep(h, ch_dup(text)) || !h->path)
        return;
    FILE *f = open_private(h->path, O_APPEND);
    if (!f) {
        ch_state_make_parents(h->path, NULL);
        f = open_private(h->path, O_APPEND);
    }
    if (!f)
        return;
    term_history_write_entry(f, text);
    fclose(f);
}

void ch_history_release(struct ch_history *h) {
    drop_oldest(h, h->n);
    free(h->list);
    free(h->path);
    *h = (struct ch_history){0};
}
