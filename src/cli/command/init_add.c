/* init_add.c -- see init_add.h.
 *
 * Lines are inserted; no other byte of the file changes. The new text is written to a file beside
 * the old one and read there: it must parse, and all other options must have the same values. Then
 * it takes the place of the old one. */
#include "cli/command/init_add.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/setup/trust.h"
#include "cli/support/draft.h"
#include "cli/support/problem.h"

static int add_open(const char *path, chela_config **out, struct chela_error *err) {
    struct chela_config_opts how = CHELA_CONFIG_OPTS(.module_path = getenv("CHELA_MODULE_PATH"),
                                                     .home = getenv("HOME"));
    return chela_config_open(path, &how, out, err);
}

/* --- the options of the file */

struct shown {
    struct ch_draft lines; /* all options but those of the channel */
    char *own;             /* owned: "channels.NAME." */
    size_t nown;           /* options of the channel in the file */
};

static void add_show(const char *key, const char *value, int from_file, void *user) {
    struct shown *s = user;
    if (strncmp(key, s->own, strlen(s->own)) == 0)
        s->nown += from_file != 0;
    else
        fprintf(s->lines.f, "%s %d %s\n", key, from_file, value);
}

/* Initialized in place: a draft must not move. */
static void shown_init(struct shown *s, const chela_config *cfg, const char *name) {
    *s = (struct shown){.own = ch_format("channels.%s.", name)};
    ch_draft_init(&s->lines);
    chela_config_show(cfg, add_show, s);
    ch_draft_finish(&s->lines);
}

static void shown_release(struct shown *s) {
    free(s->lines.p);
    free(s->own);
}

int ch_init_has_channel(const char *path, const char *name, struct chela_error *err) {
    chela_config *cfg;
    int rc = add_open(path, &cfg, err);
    if (rc < 0)
        return rc;
    struct shown s;
    shown_init(&s, cfg, name);
    if (s.nown)
        rc = ch_problem(err, CHELA_EEXIST, "%s has channels.%s already: change it there", path,
                        name);
    shown_release(&s);
    chela_config_free(cfg);
    return rc;
}

/* --- the text of the file */

static char *add_read(const char *path, struct chela_error *err) {
    struct ch_draft d;
    char part[4096];
    size_t n;
    FILE *f = fopen(path, "re");
    if (!f) {
        ch_problem(err, CHELA_EIO, "%s: %s", path, strerror(errno));
        return NULL;
    }
    ch_draft_init(&d);
    while ((n = fread(part, 1, sizeof(part), f)))
        fwrite(part, 1, n, d.f);
    fclose(f);
    ch_draft_finish(&d);
    return d.p;
}

static const char *line_end(const char *line) {
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

static bool is_empty(const char *line) {
    line += strspn(line, " \t\r");
    return !*line || *line == '\n' || *line == '#';
}

/* The line "channels:" of the file; NULL: none. */
static const char *find_channels(const char *text) {
    for (const char *line = text; *line; line = line_end(line))
        if (strncmp(line, "channels:", 9) == 0)
            return line;
    return NULL;
}

/* The indentation of the first channel below `line`; 2 if there is none. */
static size_t indentation_below(const char *line) {
    for (line = line_end(line); *line && is_empty(line);)
        line = line_end(line);
    size_t n = strspn(line, " ");
    return n ? n : 2;
}

static void write_section(FILE *out, size_t indent, const char *name, const char *section) {
    fprintf(out, "%*s%s:\n", (int)indent, "", name);
    for (const char *line = section, *end; *line; line = end) {
        end = line_end(line);
        fprintf(out, "%*s%.*s", (int)indent, "", (int)(end - line) - 2, line + 2);
    }
}

static void write_whole(FILE *out, const char *name, const char *section) {
    fputs("channels:\n", out);
    write_section(out, 2, name, section);
}

/* The text with the section; the caller frees it. NULL: `channels` is not a block. */
static char *add_insert(const char *text, const char *name, const char *section) {
    const char *at = find_channels(text);
    struct ch_draft d;
    if (at && !is_empty(at + 9))
        return NULL;
    ch_draft_init(&d);
    size_t n = strlen(text), head = at ? (size_t)(line_end(at) - text) : n;
    fwrite(text, 1, head, d.f);
    if (head && text[head - 1] != '\n')
        fputc('\n', d.f);
    if (at) {
        write_section(d.f, indentation_below(at), name, section);
    } else {
        fputc('\n', d.f);
        write_whole(d.f, name, section);
    }
    fwrite(text + head, 1, n - head, d.f);
    ch_draft_finish(&d);
    return d.p;
}

/* --- the new file */

static bool add_write(int fd, const char *text) {
    size_t n = strlen(text);
    while (n) {
        ssize_t done = write(fd, text, n);
        if (done < 0 && errno != EINTR)
            return false;
        text += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return fsync(fd) == 0;
}

/* A file beside path with its mode; the caller frees the name. NULL: see err. */
static char *add_write_beside(const char *path, const char *text, struct chela_error *err) {
    struct stat st;
    char *temp = ch_format("%s.XXXXXX", path);
    int fd = mkostemp(temp, O_CLOEXEC);
    bool done = fd >= 0 && stat(path, &st) == 0 && fchmod(fd, st.st_mode & 07777) == 0 &&
                (geteuid() != 0 || fchown(fd, st.st_uid, st.st_gid) == 0) && add_write(fd, text);
    int why = errno;
    if (fd >= 0 && close(fd) != 0 && done) {
        why = errno;
        done = false;
    }
    if (done)
        return temp;
    ch_problem(err, CHELA_EIO, "%s cannot be written: %s", path, strerror(why));
    if (fd >= 0)
        unlink(temp);
    free(temp);
    return NULL;
}

/* Whether the new file has the channel, and all other options of the old one. */
static bool add_is_right(const char *temp, const chela_config *before, const char *name) {
    struct chela_error ignored = {0};
    chela_config *now;
    if (add_open(temp, &now, &ignored) < 0)
        return false;
    struct shown was, is;
    shown_init(&was, before, name);
    shown_init(&is, now, name);
    bool right = is.nown && strcmp(was.lines.p, is.lines.p) == 0;
    shown_release(&was);
    shown_release(&is);
    chela_config_free(now);
    return right;
}

/* Takes temp. rc < 0: the file keeps its text. */
static int add_finish(char *temp, const char *path, int rc, struct chela_error *err) {
    if (rc == 0 && rename(temp, path) < 0)
        rc = ch_problem(err, CHELA_EIO, "%s cannot be written: %s", path,
                        strerror(errno));
    if (temp && rc < 0)
        unlink(temp);
    free(temp);
    return rc;
}

int ch_init_replace(const char *path, const char *text, struct chela_error *err) {
    char *file = realpath(path, NULL);
    char *temp = add_write_beside(file ? file : path, text, err);
    int rc = add_finish(temp, file ? file : path, temp ? 0 : err->code, err);
    free(file);
    return rc;
}

/* The file gets the new text; CHELA_ECONFIG without a message: it would not be right. */
static int add_replace(const char *path, const chela_config *before, const char *name,
                       const char *text, struct chela_error *err) {
    char *temp = add_write_beside(path, text, err);
    int rc = temp ? 0 : err->code;
    if (rc == 0 && !add_is_right(temp, before, name))
        rc = CHELA_ECONFIG;
    return add_finish(temp, path, rc, err);
}

static int add_refuse(struct ch_console *console, const char *path, const char *name,
                      const char *section, struct chela_error *err) {
    struct ch_draft d;
    ch_draft_init(&d);
    write_whole(d.f, name, section);
    ch_draft_finish(&d);
    ch_console_print(console, d.p, d.n);
    free(d.p);
    return ch_problem(err, CHELA_ECONFIG,
                      "%s is not changed, because of its layout: put the lines above under its key "
                      "channels",
                      path);
}

/* The user has just chosen the channel, but perhaps not the rest of the file. */
static void add_trust(const struct ch_env *env, struct ch_console *console, const char *path,
                      bool trusted) {
    struct chela_error err = {0};
    chela_config *now = NULL;
    if (trusted && add_open(path, &now, &err) == 0)
        ch_trust_add(env, now, &err);
    if (!trusted)
        ch_console_note(console, "%s is not trusted: read the file, then run 'chela trust'", path);
    else if (err.code)
        ch_console_note(console, "warning: %s is not trusted: %s", path, err.message);
    chela_config_free(now);
}

static bool add_is_trusted(const struct ch_env *env, const chela_config *cfg) {
    struct chela_error ignored = {0};
    char *dir = ch_trust_directory(env, false);
    bool trusted = dir && chela_trust_check(dir, cfg, &ignored) == CHELA_OK;
    free(dir);
    return trusted;
}

int ch_init_add_channel(const struct ch_env *env, struct ch_console *console, const char *path,
                        const char *name, const char *section, struct chela_error *err) {
    chela_config *before;
    char *file = realpath(path, NULL), *text = add_read(path, err), *after = NULL;
    int rc = text ? add_open(path, &before, err) : err->code;
    if (rc == 0) {
        bool trusted = add_is_trusted(env, before);
        after = add_insert(text, name, section);
        rc = after ? add_replace(file ? file : path, before, name, after, err) : CHELA_ECONFIG;
        if (rc == 0) {
            ch_console_note(console, "added channels.%s to %s", name, path);
            add_trust(env, console, path, trusted);
        } else if (!err->code) {
            add_refuse(console, path, name, section, err);
        }
        chela_config_free(before);
    }
    free(file);
    free(text);
    free(after);
    return rc < 0 ? err->code : 0;
}
