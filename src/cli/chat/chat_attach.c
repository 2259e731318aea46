/* chat_attach.c -- see chat_attach.h. */
#include "cli/chat/chat_attach.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/chat/chat_files.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"

enum {
    FOLD_LINES = 4,   /* a paste of this many lines is folded */
    FOLD_BYTES = 1000 /* a paste of this many bytes is folded */
};

/* --- names ------------------------------------------------------------------------------- */

static bool attach_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n';
}

/* The name at p, after '@'; the caller frees it. *len: bytes that the name takes. */
static char *attach_name(const char *p, size_t *len) {
    const char *end = *p == '"' ? strchr(p + 1, '"') : NULL;
    if (end) {
        *len = (size_t)(end + 1 - p);
        return ch_format("%.*s", (int)(end - p - 1), p + 1);
    }
    *len = strcspn(p, " \t\n");
    return ch_format("%.*s", (int)*len, p);
}

/* Attach one name. A mark that ends a sentence is not part of the name. */
static int attach_one(struct ch_chat *c, char *name, struct ch_chat_message *m,
                      struct chela_error *err) {
    int rc = *name ? ch_chat_sources_attach(c, name, m, err) : 1;
    for (size_t n = strlen(name); rc == 0 && n > 1 && strchr(".,;:!?)", name[n - 1]); n--) {
        name[n - 1] = '\0';
        rc = ch_chat_sources_attach(c, name, m, err);
    }
    if (rc == 0 && strpbrk(name, "./"))
        ch_console_note(c->console, "there is no '%s' to attach: the words are sent as they are",
                        name);
    return rc < 0 ? rc : CHELA_OK;
}

static int attach_names(struct ch_chat *c, const char *text, struct ch_chat_message *m,
                        struct chela_error *err) {
    int rc = CHELA_OK;
    for (size_t i = 0; rc == 0 && text[i]; i++) {
        if (text[i] != '@' || (i > 0 && !attach_is_space(text[i - 1]) && text[i - 1] != '('))
            continue;
        size_t len;
        char *name = attach_name(text + i + 1, &len);
        rc = attach_one(c, name, m, err);
        i += len;
        free(name);
    }
    return rc;
}

int ch_chat_attach(struct ch_chat *c, const char *message, const char *typed,
                   struct ch_chat_message *m, char **text, struct chela_error *err) {
    char *whole = ch_chat_attach_unfold(c, message);
    *m = (struct ch_chat_message){0};
    ch_draft_init(&m->more);
    fputs(whole, m->more.f);
    if (c->outputs)
        fputs(c->outputs, m->more.f);
    if (c->served)
        fputs(c->served, m->more.f);
    int rc = attach_names(c, typed, m, err);
    ch_draft_finish(&m->more);
    *text = ch_dup(m->more.p);
    free(whole);
    return rc;
}

void ch_chat_attach_release(struct ch_chat_message *m) {
    for (size_t i = 0; i < m->nmedia; i++) {
        ch_input_release(&m->files[i]);
        free(m->names[i]);
    }
    free(m->more.p);
    *m = (struct ch_chat_message){0};
}

/* --- blocks -------------------------------------------------------------------------------- */

void ch_chat_attach_text(FILE *out, const char *kind, const char *text, size_t max) {
    for (; *text && max > 0; text++, max--) {
        fputc(*text, out);
        if (*text == '<' && text[1] == '/' && strncmp(text + 2, kind, strlen(kind)) == 0)
            fputc(' ', out);
    }
    if (*text)
        fputs("\n[the rest is left out]", out);
}

void ch_chat_attach_name(FILE *out, const char *name) {
    for (; *name; name++)
        fprintf(out, (unsigned char)*name < ' ' || strchr("\"<>", *name) ? "%%%02X" : "%c", *name);
}

/* --- outputs of commands ------------------------------------------------------------------ */

void ch_chat_attach_output(struct ch_chat *c, const char *command, int code, const char *output) {
    size_t n = strlen(output);
    struct ch_draft d;
    ch_draft_init(&d);
    fprintf(d.f, "%s\n\n<command exit=\"%d\">\n$ %s\n", c->outputs ? c->outputs : "", code,
            command);
    ch_chat_attach_text(d.f, "command", output, n);
    fprintf(d.f, "%s</command>", n > 0 && output[n - 1] != '\n' ? "\n" : "");
    ch_draft_finish(&d);
    free(c->outputs);
    c->outputs = d.p;
}

void ch_chat_attach_served(struct ch_chat *c, const char *text) {
    char *all = text ? ch_format("%s%s", c->served ? c->served : "", text) : NULL;
    free(c->served);
    c->served = all;
}

void ch_chat_attach_forget(struct ch_chat *c) {
    ch_chat_attach_served(c, NULL);
    free(c->outputs);
    c->outputs = NULL;
}

enum { TAGS = 3 };

/* The block that begins at p, such as <file path="a.c">...</file>, as one line. 0: none.
 * stop: the end of the text. unclosed: the rest of the text has no end of such a block. */
static size_t attach_block(const char *p, const char *stop, bool unclosed[TAGS], FILE *out) {
    static const char *const tags[TAGS] = {"file", "directory", "command"};
    for (size_t i = 0; i < TAGS; i++) {
        size_t n = strlen(tags[i]);
        if (unclosed[i] || (size_t)(stop - p) < n + 4 || memcmp(p, "\n\n<", 3) != 0 ||
            memcmp(p + 3, tags[i], n) != 0 || p[3 + n] != ' ')
            continue;
        const char *first = memchr(p + 3, '\n', (size_t)(stop - p) - 3);
        if (!first)
            return 0;
        const char *title = memchr(p, '"', (size_t)(first - p));
        char *close = ch_format("\n</%s>", tags[i]);
        const char *end =
            title ? memmem(first, (size_t)(stop - first), close, strlen(close)) : NULL;
        size_t len = end ? (size_t)(end - p) + strlen(close) : 0;
        free(close);
        unclosed[i] = title && !end;
        if (!end)
            return 0;
        if (i == 2)
            fprintf(out, "\n[%.*s]", (int)strcspn(first + 1, "\n"), first + 1);
        else
            fprintf(out, "\n[%s %.*s]", tags[i], (int)strcspn(title + 1, "\""), title + 1);
        return len;
    }
    return 0;
}

char *ch_chat_attach_fold(const char *text) {
    const char *stop = text + strlen(text);
    struct ch_draft d;
    bool unclosed[TAGS] = {false};
    ch_draft_init(&d);
    while (text < stop) {
        size_t n = attach_block(text, stop, unclosed, d.f);
        if (n == 0)
            fputc(text[n++], d.f);
        text += n;
    }
    ch_draft_finish(&d);
    return d.p;
}

/* --- pastes --------------------------------------------------------------------------------- */

static char *attach_mark(size_t number, const char *text) {
    size_t lines = 1;
    for (const char *p = text; *p; p++)
        lines += *p == '\n' && p[1];
    return lines > 1 ? ch_format("[pasted %zu: %zu lines]", number, lines)
                     : ch_format("[pasted %zu: %zu bytes]", number, strlen(text));
}

char *ch_chat_attach_unfold(const struct ch_chat *c, const char *typed) {
    char *text = ch_dup(typed);
    for (size_t i = 0; i < c->npastes; i++) {
        char *mark = attach_mark(i + 1, c->pastes[i]), *at = strstr(text, mark);
        if (at) {
            char *more = ch_format("%.*s%s%s", (int)(at - text), text, c->pastes[i],
                                   at + strlen(mark));
            free(text);
            text = more;
        }
        free(mark);
    }
    return text;
}

/* One word of a shell's command line, unquoted, as terminals write the path of a file that is
 * dropped on them; the caller frees it. Returns the rest. */
static const char *attach_word(const char *p, char **out) {
    struct ch_draft d;
    char quote = '\0';
    ch_draft_init(&d);
    for (; *p && (quote || !attach_is_space(*p)); p++) {
        if (quote ? *p == quote : *p == '\'' || *p == '"')
            quote = quote ? '\0' : *p;
        else
            fputc(*p == '\\' && quote != '\'' && p[1] ? *++p : *p, d.f);
    }
    ch_draft_finish(&d);
    *out = d.p;
    return p + strspn(p, " \t\n");
}

static int attach_hex(char c) {
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* file:///a%20b.png becomes /a b.png, in place. */
static void attach_plain_path(char *word) {
    static const char scheme[] = "file://";
    if (strncmp(word, scheme, sizeof(scheme) - 1) != 0)
        return;
    char *to = word;
    for (const char *p = word + sizeof(scheme) - 1; *p; p++) {
        bool code = *p == '%' && isxdigit((unsigned char)p[1]) && isxdigit((unsigned char)p[2]);
        *to++ = code ? (char)(attach_hex(p[1]) * 16 + attach_hex(p[2])) : *p;
        p += code ? 2 : 0;
    }
    *to = '\0';
}

static bool attach_is_image(const char *path) {
    char head[16];
    int fd = *path == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head));
    if (fd >= 0)
        close(fd);
    return n > 0 && ch_chat_files_is_media(head, (size_t)n);
}

/* The attachments that the pasted text names, if it is nothing but paths of images; NULL
 * otherwise. The caller frees it. */
static char *attach_dropped(const char *text) {
    struct ch_draft d;
    bool all = *text != '\0';
    ch_draft_init(&d);
    text += strspn(text, " \t\n");
    while (*text && all) {
        char *word;
        text = attach_word(text, &word);
        attach_plain_path(word);
        all = attach_is_image(word);
        char *name = ch_chat_files_word(word);
        fprintf(d.f, "%s ", name);
        free(name);
        free(word);
    }
    ch_draft_finish(&d);
    if (all)
        return d.p;
    free(d.p);
    return NULL;
}

void ch_chat_attach_pasted(struct ch_chat *c, size_t from) {
    char *text = ch_format("%.*s", (int)(c->edit.at - from), c->edit.text + from);
    char *instead = strlen(text) < FOLD_BYTES ? attach_dropped(text) : NULL;
    size_t lines = 1;

    for (const char *p = text; *p; p++)
        lines += *p == '\n' && p[1];
    if (!instead && (lines >= FOLD_LINES || strlen(text) > FOLD_BYTES)) {
        c->pastes = ch_must(realloc(c->pastes, (c->npastes + 1) * sizeof(*c->pastes)));
        c->pastes[c->npastes++] = ch_dup(text);
        instead = attach_mark(c->npastes, text);
    }
    if (instead)
        ch_edit_replace(&c->edit, from, c->edit.at, instead);
    free(instead);
    free(text);
}
