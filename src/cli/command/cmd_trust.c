/* cmd_trust.c -- `chela trust`: trusts the configuration file of a directory, lists such
 * files and forgets them. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/command/cmd.h"
#include "cli/setup/setup.h"
#include "cli/setup/trust.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/term/table.h"

struct flags {
    struct ch_setup_flags setup;
    bool list, remove, json;
};

#define AT(field) offsetof(struct flags, field)

static const struct ch_opt opts[] = {
    {"list", 0, CH_OPT_SWITCH, AT(list), NULL, 0, 0, "Trust", "list the trusted files"},
    {"remove", 0, CH_OPT_SWITCH, AT(remove), NULL, 0, 0, "Trust",
     "forget the directory's file: it is not trusted any more"},
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output", "with --list, print a JSON array"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct trust {
    struct flags flags;
    struct ch_args args;
    struct ch_console console;
    const struct ch_env *env;
    struct ch_table table;
    struct ch_draft out;
    size_t n; /* rows in out */
    struct chela_error err;
};

/* --- list ------------------------------------------------------------------------ */

static int trust_list_row(const struct chela_trusted *t, void *user) {
    struct trust *u = user;
    time_t s = (time_t)(t->ts / 1000);
    struct tm when;
    char since[32] = "";
    if (localtime_r(&s, &when))
        strftime(since, sizeof(since), "%Y-%m-%d %H:%M", &when);
    char **cells = ch_table_row(&u->table);
    cells[0] = ch_dup(t->path);
    cells[1] = ch_dup(since);
    cells[2] = ch_format("%.12s", t->digest);
    return 0;
}

static int trust_list_json(const struct chela_trusted *t, void *user) {
    struct trust *u = user;
    fputs(u->n++ ? ",\n {\"path\":" : "{\"path\":", u->out.f);
    ch_draft_quote(u->out.f, t->path);
    fputs(",\"digest\":", u->out.f);
    ch_draft_quote(u->out.f, t->digest);
    fprintf(u->out.f, ",\"ts\":%lld}", (long long)t->ts);
    return 0;
}

static int trust_list(struct trust *u, const char *dir) {
    static const char *const heads[] = {"FILE", "SINCE", "DIGEST", NULL};
    bool json = u->flags.json;
    u->table = (struct ch_table){.heads = heads};
    ch_draft_init(&u->out);
    fputs(json ? "[" : "", u->out.f);
    int rc = chela_trust_list(dir, json ? trust_list_json : trust_list_row, u, &u->err);
    fputs(json ? "]\n" : "", u->out.f);
    if (u->table.n)
        ch_table_print(&u->table, u->out.f);
    ch_draft_finish(&u->out);
    if (rc == 0)
        ch_console_print(&u->console, u->out.p, u->out.n);
    if (rc == 0 && !json && !u->table.n)
        ch_console_note(&u->console, "no file is trusted");
    free(u->out.p);
    ch_table_release(&u->table);
    return rc;
}

/* --- add, remove ----------------------------------------------------------------- */

/* The file of a directory; a path of the file itself is accepted, too. */
static char *trust_file(const char *word) {
    size_t n = strlen(word), m = strlen("chela.yaml"), k = strlen(".mcp.json");
    if (n >= k && strcmp(word + n - k, ".mcp.json") == 0 && (n == k || word[n - k - 1] == '/'))
        return ch_dup(word);
    bool file =
        n >= m && strcmp(word + n - m, "chela.yaml") == 0 && (n == m || word[n - m - 1] == '/');
    struct stat st;
    if (file && !(stat(word, &st) == 0 && S_ISDIR(st.st_mode)))
        return ch_dup(word);
    return ch_format("%s%schela.yaml", word, n && word[n - 1] == '/' ? "" : "/");
}

static void trust_warn(const char *line, void *user) {
    struct trust *u = user;
    ch_console_note(&u->console, "warning: %s", line);
}

static int trust_add(struct trust *u, const char *file) {
    struct stat st;
    chela_config *cfg = NULL;
    struct ch_draft d;
    if (stat(file, &st) == 0 && !S_ISREG(st.st_mode))
        return ch_problem(&u->err, CHELA_EINVAL, "%s is not a regular file", file);
    struct chela_config_opts how = CHELA_CONFIG_OPTS(
        .warn = trust_warn, .user = u, .module_path = getenv("CHELA_MODULE_PATH"),
        .home = u->env->home);
    int rc = chela_config_open(file, &how, &cfg, &u->err);
    if (rc < 0)
        return u->err.code = rc == CHELA_ENOENT ? rc : CHELA_ECONFIG;
    ch_draft_init(&d);
    size_t n = ch_trust_write(d.f, u->env, cfg);
    ch_draft_finish(&d);
    rc = ch_trust_add(u->env, cfg, &u->err);
    if (rc == 0) {
        if (n && !u->flags.setup.quiet)
            ch_console_print(&u->console, d.p, d.n);
        ch_console_note(&u->console, "%s is trusted", file);
    }
    free(d.p);
    chela_config_free(cfg);
    return rc;
}

static int trust_remove(struct trust *u, const char *dir, const char *file) {
    int rc = chela_trust_remove(dir, file, &u->err);
    if (rc == 0)
        ch_console_note(&u->console, "%s is not trusted any more", file);
    return rc;
}

static void trust_show_tools(const char *kind, const char *key, const char *value, void *user) {
    struct trust *u = user;
    fprintf(u->out.f, "  %-10s  %s: %s\n", kind, key, value);
}

/* The tools that skills of a directory may use without questions. CHELA_ENOENT: there are none. */
static int trust_add_skills(struct trust *u, const char *word) {
    struct chela_error why = {0};
    char *record = ch_trust_directory(u->env, true);
    char **folders = ch_setup_skill_folders(u->env);
    ch_draft_init(&u->out);
    int rc = chela_trust_skills_add(record, word, (const char *const *)folders, trust_show_tools, u,
                                    &why);
    ch_draft_finish(&u->out);
    if (rc == 0 && !u->flags.setup.quiet)
        ch_console_print(&u->console, u->out.p, u->out.n);
    if (rc == 0)
        ch_console_note(&u->console, "%s is trusted: its skills, and yours, may use their "
                        "allowed-tools without questions", word);
    else if (rc != CHELA_ENOENT)
        u->err = why;
    free(u->out.p);
    for (char **at = folders; *at; at++)
        free(*at);
    free(folders);
    free(record);
    return rc;
}

static int trust_remove_skills(struct trust *u, const char *dir, const char *word) {
    struct chela_error why = {0};
    char *path = ch_format("%s%sskills", word, word[strlen(word) - 1] == '/' ? "" : "/");
    int rc = chela_trust_remove(dir, path, &why);
    if (rc == 0)
        ch_console_note(&u->console, "the skills of %s are not trusted any more", word);
    else if (rc != CHELA_ENOENT)
        u->err = why;
    free(path);
    return rc;
}

static bool trust_is_directory(const char *word) {
    struct stat st;
    return *word && stat(word, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The configuration file of a directory, and the tools of its skills. One of them suffices. */
static int trust_word(struct trust *u, const char *dir, const char *word) {
    char *file = trust_file(word);
    int rc = u->flags.remove ? trust_remove(u, dir, file) : trust_add(u, file);
    free(file);
    if (!trust_is_directory(word) || (rc < 0 && rc != CHELA_ENOENT))
        return rc;
    int other = u->flags.remove ? trust_remove_skills(u, dir, word) : trust_add_skills(u, word);
    return other == CHELA_ENOENT ? rc : other;
}

/* The first problem ends the command. */
static int trust_change(struct trust *u, const char *dir) {
    size_t n = u->args.n ? u->args.n : 1;
    int rc = CHELA_OK;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = trust_word(u, dir, u->args.n ? u->args.words[i] : ".");
    return rc;
}

static int trust_perform(struct trust *u) {
    const struct flags *f = &u->flags;
    if ((f->list && (f->remove || u->args.n)) || (f->json && !f->list))
        return ch_problem(&u->err, CHELA_EINVAL,
                          "usage: chela trust [DIR]..., chela trust --list [--json] or chela trust "
                          "--remove [DIR]...");
    char *dir = ch_trust_directory(u->env, false);
    int rc = !dir      ? ch_problem(&u->err, CHELA_EINVAL,
                                    "there is no place for the trust record: HOME is not set")
             : f->list ? trust_list(u, dir)
                       : trust_change(u, dir);
    free(dir);
    return rc;
}

static int trust_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    struct trust u = {.env = env};
    int code = ch_cmd_parse(cmd, env, argc, argv, &u.flags, &u.args);
    if (code < 0) {
        ch_console_init(&u.console, env, ch_setup_verbosity(&u.flags.setup),
                        u.flags.setup.no_color);
        int rc = trust_perform(&u);
        if (rc < 0)
            ch_console_error(&u.console, "%s", u.err.message);
        code = ch_console_exit(&u.console, rc < 0 ? ch_problem_exit(&u.err) : CH_EXIT_DONE);
        ch_console_release(&u.console);
    }
    ch_args_release(&u.args);
    return code;
}

const struct ch_cmd ch_cmd_trust = {
    .name = "trust",
    .args = "[DIR]...",
    .summary = "trust the chela.yaml and the skills of a directory",
    .about =
        "Records that chela may trust chela.yaml of each DIR (default: the current directory), "
        "and prints the sensitive settings of the file: endpoints, keys, commands, the "
        "sandbox, permissions, servers, files, prompts. The record holds the path and a digest "
        "of these settings. An edit of one of them ends the trust; names, comments and layout do "
        "not count. The record is kept in the user's state directory.\n\n"
        "Of a chela.yaml that is not trusted, only harmless settings are used: its names, its "
        "prompts and limits below the usual ones. The user's own configuration holds for the "
        "rest. A command that depends on the rest asks at a terminal. Without a terminal it "
        "ends with exit status 2. A file given by --config and the user's own file need no "
        "trust.\n\n"
        "The command also records the allowed-tools of the skills of DIR, and prints them: tools "
        "that a skill may use without questions while it is active. A changed list ends the trust.",
    .opts = opts,
    .run = trust_run,
};
