/* chat_files.c -- see chat_files.h. A text is added to the message up to a limit, a directory
 * as the list of its names, an image or PDF as it is. */
#include "cli/chat/chat_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/chat/chat_attach.h"
#include "cli/chat/chat_pick.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/term/term.h"

enum {
    TEXT = 64 << 10,   /* bytes of a text that are added */
    NAMES = 200,       /* names of a directory */
    FOUND = 5000,      /* files in the picker */
    DEPTH = 12,        /* depth of directories in the picker */
    MEDIA = 32 << 20,  /* bytes of an image or PDF */
};

static const char *files_place(const struct ch_chat *c) {
    return c->setup->flags->workspace ? c->setup->flags->workspace : ".";
}

/* The path that a name denotes, as the program can open it; the caller frees it. */
static char *files_path(const struct ch_chat *c, const char *name) {
    const char *home = c->setup->env->home;
    if (*name == '/')
        return ch_dup(name);
    if (strncmp(name, "~/", 2) == 0 && home)
        return ch_format("%s%s", home, name + 1);
    return ch_format("%s/%s", files_place(c), name);
}

char *ch_chat_files_word(const char *path) {
    const char *quote = strpbrk(path, " \t") ? "\"" : "";
    return ch_format("@%s%s%s", quote, path, quote);
}

/* --- completion -------------------------------------------------------------------------- */

static bool files_is_directory(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Names that begin with a dot are offered only if the dot is typed. */
static bool files_is_hidden(const char *name, const char *typed) {
    return (*name == '.' && *typed != '.') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static void files_offer(struct ch_chat *c, const char *typed, struct ch_chat_words *w) {
    if (*typed != '@')
        return;
    const char *path = typed + 1 + (typed[1] == '"'), *slash = strrchr(path, '/');
    int stem = slash ? (int)(slash + 1 - path) : 0;
    char *base = ch_format("%.*s", stem, path), *dir = files_path(c, base);
    DIR *d = opendir(dir);
    struct dirent *entry;

    while (d && (entry = readdir(d))) {
        if (files_is_hidden(entry->d_name, path + stem) ||
            strncmp(entry->d_name, path + stem, strlen(path + stem)) != 0)
            continue;
        char *full = ch_format("%s/%s", dir, entry->d_name);
        char *name = ch_format("%s%s%s", base, entry->d_name, files_is_directory(full) ? "/" : "");
        ch_chat_words_add(w, ch_chat_files_word(name));
        free(full);
        free(name);
    }
    if (d)
        closedir(d);
    free(dir);
    free(base);
}

/* --- the picker ---------------------------------------------------------------------------- */

/* The kind of an entry, DT_REG and others. Some file systems leave it to lstat. */
static int files_type(const char *dir, const struct dirent *entry) {
    struct stat st;
    char *path = entry->d_type == DT_UNKNOWN ? ch_format("%s/%s", dir, entry->d_name) : NULL;
    int type = path && lstat(path, &st) == 0 ? (int)IFTODT(st.st_mode) : entry->d_type;
    free(path);
    return type;
}

/* Directories that hold copies and results, not sources. */
static bool files_is_bulk(const char *name) {
    return *name == '.' || strcmp(name, "node_modules") == 0 || strcmp(name, "__pycache__") == 0;
}

static void files_collect(struct ch_pick *p, const char *root, const char *base, unsigned depth) {
    char *dir = ch_format("%s/%s", root, base);
    DIR *d = opendir(dir);
    struct dirent *entry;
    while (d && p->n < FOUND && (entry = readdir(d))) {
        if (files_is_bulk(entry->d_name))
            continue;
        char *name = ch_format("%s%s", base, entry->d_name);
        int type = files_type(dir, entry);
        if (type == DT_REG) {
            ch_pick_add(p, name, name, NULL);
        } else if (type == DT_DIR && depth < DEPTH) {
            char *below = ch_format("%s/", name);
            files_collect(p, root, below, depth + 1);
            free(below);
        }
        free(name);
    }
    if (d)
        closedir(d);
    free(dir);
}

static void files_chosen(struct ch_chat *c, const char *name) {
    if (!name)
        return;
    char *word = ch_chat_files_word(name), *text = ch_format("%s ", word);
    ch_edit_replace(&c->edit, c->attach_from, c->edit.at, text);
    free(word);
    free(text);
}

bool ch_chat_files_pick(struct ch_chat *c, size_t from, const char *query) {
    struct ch_pick *p = ch_chat_pick(c, "file", files_chosen);
    c->attach_from = from;
    files_collect(p, files_place(c), "", 0);
    ch_pick_filter(p, query);
    if (p->nshown > 0)
        return true;
    ch_chat_pick_close(c);
    return false;
}

/* --- attaching ------------------------------------------------------------------------------ */

bool ch_chat_files_is_media(const char *p, size_t n) {
    static const struct {
        const char *magic;
        size_t n;
    } kinds[] = {{"\x89PNG\r\n", 6}, {"\xFF\xD8\xFF", 3}, {"GIF8", 4}, {"%PDF-", 5}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (n >= kinds[i].n && memcmp(p, kinds[i].magic, kinds[i].n) == 0)
            return true;
    return n >= 12 && memcmp(p, "RIFF", 4) == 0 && memcmp(p + 8, "WEBP", 4) == 0;
}

/* Read at most max bytes. Opened without waiting: a FIFO has no writer perhaps. */
static int files_read(const char *path, size_t max, struct ch_cli_input *in, bool *cut,
                      struct chela_error *err) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        int rc = fd < 0 ? ch_problem(err, CHELA_EIO, "cannot read %s: %s", path, strerror(errno))
                        : ch_problem(err, CHELA_EINVAL, "%s is not a file", path);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    size_t want = (size_t)st.st_size < max ? (size_t)st.st_size : max;
    in->p = ch_must(malloc(want + 1));
    ssize_t got;
    while (in->n < want && (got = read(fd, in->p + in->n, want - in->n)) > 0)
        in->n += (size_t)got;
    in->p[in->n] = '\0';
    *cut = (size_t)st.st_size > max;
    close(fd);
    return CHELA_OK;
}

static int files_add_media(struct ch_chat *c, const char *name, const char *path,
                           struct ch_chat_message *m, struct chela_error *err) {
    bool cut;
    if (m->nmedia == CH_CHAT_MEDIA)
        return ch_problem(err, CHELA_ELIMIT, "a message has at most %d images", CH_CHAT_MEDIA);
    struct ch_cli_input *in = &m->files[m->nmedia];
    int rc = files_read(path, MEDIA, in, &cut, err);
    if (rc == 0 && cut)
        rc = ch_problem(err, CHELA_ELIMIT, "%s is larger than %d MB", name, MEDIA >> 20);
    if (rc < 0) {
        ch_input_release(in);
        return rc;
    }
    const char *slash = strrchr(name, '/');
    m->names[m->nmedia] = ch_dup(slash ? slash + 1 : name);
    m->media[m->nmedia] =
        (struct chela_media){.data = in->p, .len = in->n, .name = m->names[m->nmedia]};
    m->nmedia++;
    ch_console_note(c->console, "attached %s (%zu KB)", name, (in->n + 1023) / 1024);
    return 1;
}

/* Begin a block. */
static void files_begin(struct ch_chat_message *m, const char *kind, const char *name) {
    fprintf(m->more.f, "\n\n<%s path=\"", kind);
    ch_chat_attach_name(m->more.f, name);
    fputs("\">\n", m->more.f);
}

static int files_add_names(struct ch_chat *c, const char *name, const char *path,
                           struct ch_chat_message *m, struct chela_error *err) {
    struct dirent **list = NULL;
    int n = scandir(path, &list, NULL, alphasort);
    if (n < 0)
        return ch_problem(err, CHELA_EIO, "cannot read %s: %s", name, strerror(errno));
    files_begin(m, "directory", name);
    for (int i = 0, shown = 0; i < n; i++) {
        bool skip = strcmp(list[i]->d_name, ".") == 0 || strcmp(list[i]->d_name, "..") == 0;
        if (!skip && shown++ < NAMES) {
            ch_chat_attach_name(m->more.f, list[i]->d_name);
            fputs(files_type(path, list[i]) == DT_DIR ? "/\n" : "\n", m->more.f);
        }
        free(list[i]);
    }
    free(list);
    fprintf(m->more.f, "%s</directory>", n > NAMES + 2 ? "...\n" : "");
    ch_console_note(c->console, "attached the names in %s", name);
    return 1;
}

/* Length of the beginning that is text: valid UTF-8 without NUL. */
static size_t files_valid(const char *p, size_t n) {
    size_t at = 0;
    while (at < n && p[at]) {
        uint32_t cp;
        int len = ch_term_char(p + at, n - at, &cp);
        if (len <= 0)
            break;
        at += (size_t)len;
    }
    return at;
}

static int files_add_text(struct ch_chat *c, const char *name, struct ch_cli_input *in, bool cut,
                          struct ch_chat_message *m, struct chela_error *err) {
    size_t lines = 0;
    size_t valid = files_valid(in->p, in->n);
    if (valid < in->n && !(cut && in->n - valid < 4)) /* a character may be cut */
        return ch_problem(err, CHELA_EINVAL, "%s is neither text nor an image", name);
    in->n = valid;
    if (cut) /* whole lines */
        while (in->n > TEXT / 2 && in->p[in->n - 1] != '\n')
            in->n--;
    for (size_t i = 0; i < in->n; i++)
        lines += in->p[i] == '\n' || i + 1 == in->n;
    files_begin(m, "file", name);
    in->p[in->n] = '\0';
    ch_chat_attach_text(m->more.f, "file", in->p, in->n);
    fprintf(m->more.f, "%s%s</file>", in->n > 0 && in->p[in->n - 1] != '\n' ? "\n" : "",
            cut ? "[the file goes on]\n" : "");
    ch_console_note(c->console, "attached %s%s (%zu line%s)", cut ? "the beginning of " : "", name,
                    lines, lines == 1 ? "" : "s");
    return 1;
}

/* Does the name of a file in the workspace lead to a file elsewhere? A person who types ".."
 * means the other place. */
static bool files_leads_out(const struct ch_chat *c, const char *name, const char *path) {
    char *place = realpath(files_place(c), NULL), *target = realpath(path, NULL);
    size_t n = place ? strlen(place) : 0;
    bool out = place && target && n > 1 &&
               (strncmp(place, target, n) != 0 || (target[n] && target[n] != '/'));
    free(place);
    free(target);
    return out && *name != '/' && *name != '~' && !strstr(name, "..");
}

static int files_attach(struct ch_chat *c, const char *name, struct ch_chat_message *m,
                        struct chela_error *err) {
    struct ch_cli_input in = {0};
    struct stat st;
    bool cut = false;
    char *path = files_path(c, name);
    int rc = stat(path, &st) < 0 ? 0 : 1;

    if (rc == 1 && files_leads_out(c, name, path)) {
        rc = ch_problem(err, CHELA_EPERM, "%s leads out of the workspace: name the file itself",
                        name);
    } else if (rc == 1 && S_ISDIR(st.st_mode)) {
        rc = files_add_names(c, name, path, m, err);
    } else if (rc == 1) {
        rc = files_read(path, TEXT, &in, &cut, err);
        if (rc == 0 && ch_chat_files_is_media(in.p, in.n))
            rc = files_add_media(c, name, path, m, err);
        else if (rc == 0)
            rc = files_add_text(c, name, &in, cut, m, err);
    }
    ch_input_release(&in);
    free(path);
    return rc;
}

const struct ch_chat_source ch_chat_files = {
    .name = "files", .offer = files_offer, .attach = files_attach};
