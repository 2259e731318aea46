/* init_channel.c -- see init_channel.h. The table of the channel (chela/sys/channel.h) has the
 * steps and the options; this file does not know any service. */
#include "cli/command/init_channel.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chela/gateway.h"
#include "chela/json.h"
#include "cli/setup/setup.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/support/state_path.h"

struct channel_setup {
    const struct ch_env *env;
    struct ch_asker *asker;
    const char *name;
    char *json;   /* chela_free: the description of the channel */
    char *chosen; /* owned: the mode */
    FILE *out;
    unsigned open; /* values that are left to the user */
    char **kept;   /* owned: the files of secrets that were written */
    size_t nkept;
    struct chela_error *err;
};

static char *setup_get(const struct channel_setup *s, const char *pointer) {
    return chela_json_get(s->json, strlen(s->json), pointer, NULL);
}

/* A member of option i; chela_free. NULL: absent. */
static char *setup_member(const struct channel_setup *s, size_t i, const char *member) {
    char *pointer = ch_format("/options/%zu/%s", i, member);
    char *value = setup_get(s, pointer);
    free(pointer);
    return value;
}

static bool setup_is(const struct channel_setup *s, size_t i, const char *member,
                     const char *wanted) {
    char *value = setup_member(s, i, member);
    bool is = value && strcmp(value, wanted) == 0;
    chela_free(value);
    return is;
}

/* "SLACK_BOT_TOKEN" of slack and botToken. */
static char *setup_variable(const char *channel, const char *option) {
    struct ch_draft d;
    ch_draft_init(&d);
    for (const char *p = channel; *p; p++)
        fputc(isalnum((unsigned char)*p) ? toupper((unsigned char)*p) : '_', d.f);
    fputc('_', d.f);
    for (const char *p = option; *p; p++) {
        if (isupper((unsigned char)*p) && p > option && islower((unsigned char)p[-1]))
            fputc('_', d.f);
        fputc(isalnum((unsigned char)*p) ? toupper((unsigned char)*p) : '_', d.f);
    }
    ch_draft_finish(&d);
    return d.p;
}

/* --- secrets */

/* A path outside every workspace, so that tools of an agent cannot read the file. If the
 * file exists, the name gets a number, because the file may belong to another configuration.
 * NULL: HOME is not set. */
static char *setup_secret_path(const struct channel_setup *s, const char *option) {
    const struct ch_env *e = s->env;
    char *base = e->config_home
                     ? ch_format("%s/chela/secrets/%s-%s", e->config_home, s->name, option)
                 : e->home ? ch_format("%s/.config/chela/secrets/%s-%s", e->home, s->name, option)
                           : NULL;
    char *path = base ? ch_dup(base) : NULL;
    for (unsigned n = 2; path && access(path, F_OK) == 0; n++) {
        free(path);
        path = ch_format("%s-%u", base, n);
    }
    free(base);
    return path;
}

/* The file holds the whole secret, or does not exist. */
static int setup_keep(struct channel_setup *s, char *path, const char *secret) {
    size_t n = strlen(secret);
    int rc = ch_state_make_parents(path, s->err);
    if (rc < 0)
        return rc;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    ssize_t done = fd >= 0 && fchmod(fd, 0600) == 0 ? write(fd, secret, n) : -1;
    int why = done < 0 ? errno : done < (ssize_t)n ? ENOSPC : 0;
    if (fd >= 0 && close(fd) != 0 && !why)
        why = errno;
    if (fd >= 0 && why)
        unlink(path);
    return why ? ch_problem(s->err, CHELA_EIO, "%s: %s", path, strerror(why)) : 0;
}

/* Release the list of files; without the configuration they are of no use. */
static void setup_release_kept(struct channel_setup *s, bool removes) {
    while (s->nkept > 0) {
        char *path = s->kept[--s->nkept];
        if (removes)
            unlink(path);
        free(path);
    }
    free(s->kept);
}

static int setup_secret(struct channel_setup *s, size_t i, const char *option, const char *help) {
    char *given = setup_member(s, i, "default"), *path = setup_secret_path(s, option);
    char *variable = given ? ch_dup(given) : setup_variable(s->name, option);
    char *text = ch_format("%s: %s\n  Enter it to keep it in %s,\n  or nothing to use the "
                           "environment variable %s: ",
                           option, help, path ? path : "a file", variable);
    const char *secret = s->asker && path ? ch_asker_secret(s->asker, text) : "";
    int rc = 0;
    if (!secret)
        rc = ch_problem(s->err, CHELA_ECANCELED, "nothing was written");
    else if (*secret && (rc = setup_keep(s, path, secret)) == 0) {
        fprintf(s->out, "    %sFile: \"%s\"\n", option, path);
        s->kept = ch_must(realloc(s->kept, (s->nkept + 1) * sizeof(*s->kept)));
        s->kept[s->nkept++] = ch_dup(path);
    } else if (rc == 0) {
        fprintf(s->out, "    %sEnv: %s # set this variable for `chela serve`\n", option, variable);
        s->open++;
    }
    free(text);
    free(variable);
    free(path);
    chela_free(given);
    return rc;
}

/* --- other values */

/* An id of a service may hold any character but quotes and line feeds. */
static void setup_write_quoted(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        if ((unsigned char)*text >= 0x20)
            fputc(*text, out);
    }
    fputc('"', out);
}

static int setup_text(struct channel_setup *s, const char *option, const char *help) {
    char *text = ch_format("%s: %s: ", option, help);
    const char *value = s->asker ? ch_asker_line(s->asker, text) : "";
    free(text);
    if (!value)
        return ch_problem(s->err, CHELA_ECANCELED, "nothing was written");
    s->open += !*value;
    fprintf(s->out, "    %s: ", option);
    setup_write_quoted(s->out, *value ? value : CHELA_CONFIG_OPEN);
    fputs(*value ? "\n" : " # the value from the console of the service\n", s->out);
    return 0;
}

/* A mode in which chela opens the connection needs no public address: of "webhook|websocket" the
 * second. */
static void setup_choose_mode(struct channel_setup *s, size_t i) {
    char *words = setup_member(s, i, "words"), *usual = setup_member(s, i, "default");
    const char *best = usual ? usual : "";
    for (char *rest = words, *word; rest && (word = strsep(&rest, "|"));)
        if (strstr(word, "socket"))
            best = word;
    s->chosen = ch_dup(best);
    if (usual && strcmp(usual, best) != 0)
        fprintf(s->out, "    mode: %s\n", best);
    chela_free(words);
    chela_free(usual);
}

static bool setup_is_asked(const struct channel_setup *s, size_t i) {
    char *mode = setup_member(s, i, "mode");
    bool applies = !mode || (s->chosen && strcmp(mode, s->chosen) == 0);
    chela_free(mode);
    return applies && setup_is(s, i, "needed", "true");
}

static int setup_options(struct channel_setup *s) {
    char *option;
    int rc = 0;
    for (size_t i = 0; (option = setup_member(s, i, "name")); i++) {
        if (strcmp(option, "mode") == 0)
            setup_choose_mode(s, i);
        chela_free(option);
    }
    for (size_t i = 0; rc == 0 && (option = setup_member(s, i, "name")); i++) {
        char *help = setup_member(s, i, "help");
        if (setup_is_asked(s, i))
            rc = setup_is(s, i, "kind", "secret") ? setup_secret(s, i, option, help ? help : "")
                                                  : setup_text(s, option, help ? help : "");
        chela_free(help);
        chela_free(option);
    }
    return rc;
}

static int setup_people(struct channel_setup *s) {
    const char *id = s->asker
                         ? ch_asker_line(s->asker, "Your own id in the service, which makes you "
                                                   "the owner, or nothing: ")
                         : "";
    if (!id)
        return ch_problem(s->err, CHELA_ECANCELED, "nothing was written");
    if (!*id) {
        fputs("    dmPolicy: pairing # a stranger gets a code: chela pairing approve CODE\n"
              "    # allowFrom: [ID]  # people who may write\n"
              "    # owners: [ID]     # people who may approve calls\n"
              "    # groups: [ID]     # group chats\n",
              s->out);
        return 0;
    }
    fputs("    allowFrom: [", s->out);
    setup_write_quoted(s->out, id);
    fputs("]\n    owners: [", s->out);
    setup_write_quoted(s->out, id);
    fputs("]\n    # groups: [ID] # group chats\n", s->out);
    return 0;
}

/* --- all of it */

static void setup_show_steps(const struct channel_setup *s, struct ch_console *c) {
    char *steps = setup_get(s, "/setup"), *title = setup_get(s, "/title");
    char *docs = setup_get(s, "/docs");
    unsigned n = 0;
    if (steps)
        ch_console_note(c, "%s, in its console:", title);
    for (char *rest = steps, *line; rest && (line = strsep(&rest, "\n"));) {
        if (*line == ' ')
            ch_console_note(c, "    %s", line + 1);
        else
            ch_console_note(c, "  %u. %s", ++n, line);
    }
    if (docs)
        ch_console_note(c, "docs/%s says more.", docs);
    chela_free(steps);
    chela_free(title);
    chela_free(docs);
}

char *ch_init_channel(chela_runtime *rt, const struct ch_env *env, struct ch_asker *asker,
                      const char *name, struct chela_error *err) {
    struct ch_console *console = asker->console;
    struct channel_setup s = {.env = env,
                              .asker = ch_asker_there(asker) ? asker : NULL,
                              .name = name,
                              .json = chela_channel_describe(rt, name, err),
                              .err = err};
    struct ch_draft d;
    if (!s.json)
        return NULL;
    ch_draft_init(&d);
    s.out = d.f;
    setup_show_steps(&s, console);
    int rc = setup_options(&s);
    if (rc == 0)
        rc = setup_people(&s);
    if (rc == 0 && s.open)
        ch_console_note(console,
                        "%u value%s of channels.%s %s left to you: see the comments in the file",
                        s.open, s.open == 1 ? "" : "s", name, s.open == 1 ? "is" : "are");
    ch_draft_finish(&d);
    setup_release_kept(&s, rc < 0);
    chela_free(s.json);
    free(s.chosen);
    if (rc == 0)
        return d.p;
    free(d.p);
    return NULL;
}
