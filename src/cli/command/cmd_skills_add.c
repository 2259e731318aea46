/* cmd_skills_add.c -- `chela skills add` and `chela skills remove`. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "chela/json.h"
#include "chela/prompt.h"
#include "cli/command/cmd.h"
#include "cli/setup/setup.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/support/signal.h"
#include "cli/term/ask.h"

struct flags {
    struct ch_setup_flags setup;
    bool yes, project;
};

#define AT(field) offsetof(struct flags, field)

#define PROJECT                                                                                    \
    {"project", 0, CH_OPT_SWITCH, AT(project), NULL, 0, 0, "Place",                                \
     "in ./skills, for this project, instead of the user's folder"}

static const struct ch_opt add_opts[] = {
    PROJECT,
    {"yes", 'y', CH_OPT_SWITCH, AT(yes), NULL, 0, 0, "Place", "install without asking"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt remove_opts[] = {
    PROJECT,
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

/* The folder of the skills; NULL: HOME is not set. */
static char *skills_folder(const struct ch_env *env, const struct flags *f) {
    if (f->project)
        return ch_dup("skills");
    if (env->config_home)
        return ch_format("%s/chela/skills", env->config_home);
    return env->home ? ch_format("%s/.config/chela/skills", env->home) : NULL;
}

/* True: ./skills leads somewhere else. The directory may be a stranger's. */
static bool skills_lead_out(const struct flags *f) {
    struct stat st;
    return f->project && lstat("skills", &st) == 0 && S_ISLNK(st.st_mode);
}

/* Asks a person for consent, because a model follows the text of a skill. */
static int skills_confirm(struct ch_console *console, const char *json, const char *folder,
                          struct chela_error *err) {
    struct ch_signals *signals = ch_signals_new();
    struct ch_asker asker;
    char *name = chela_json_get(json, strlen(json), "/name", NULL);
    char *files = chela_json_get(json, strlen(json), "/files", NULL);
    char *digest = chela_json_get(json, strlen(json), "/digest", NULL);
    char *description = chela_json_get(json, strlen(json), "/description", NULL);
    char *tools = chela_json_get(json, strlen(json), "/allowed_tools", NULL);
    bool wants = tools && strcmp(tools, "[]") != 0;
    char *question = ch_format("%s: %s\n%s%s%sInstall %s (%s files, digest %.12s) in %s? A model "
                               "follows its text, and can run its programs. [y/N] ",
                               name, description ? description : "",
                               wants ? "In directories that you trust, it may use without "
                                       "questions: "
                                     : "",
                               wants ? tools : "", wants ? "\n" : "", name, files, digest, folder);
    chela_free(tools);
    chela_free(description);
    ch_asker_open(&asker, console, signals);
    const char *line = ch_asker_there(&asker) ? ch_asker_line(&asker, question) : NULL;
    int rc = line && (*line == 'y' || *line == 'Y') ? CHELA_OK
             : ch_asker_there(&asker)
                 ? ch_problem(err, CHELA_ECANCELED, "nothing was installed")
                 : ch_problem(err, CHELA_EINVAL, "nobody can be asked: --yes installs %s", name);
    ch_asker_close(&asker);
    ch_signals_free(signals);
    free(question);
    chela_free(digest);
    chela_free(files);
    chela_free(name);
    return rc;
}

static int skills_add(struct ch_console *console, const struct flags *f, const char *from,
                      const char *folder, struct chela_error *err) {
    char *seen = NULL, *done = NULL;
    int rc = chela_skill_add(from, NULL, NULL, &seen, err);
    if (rc == 0 && !f->yes)
        rc = skills_confirm(console, seen, folder, err);
    char *digest = rc == 0 ? chela_json_get(seen, strlen(seen), "/digest", NULL) : NULL;
    if (rc == 0)
        rc = chela_skill_add(from, folder, digest, &done, err);
    if (rc == 0) {
        char *name = chela_json_get(done, strlen(done), "/name", NULL);
        char *line = ch_format("%s %s\n", name, digest);
        ch_console_print(console, line, strlen(line));
        free(line);
        chela_free(name);
    }
    chela_free(digest);
    chela_free(seen);
    chela_free(done);
    return rc;
}

static int skills_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    struct flags f = {0};
    struct ch_args args;
    struct ch_console console;
    struct chela_error err = {0};
    bool adds = cmd == &ch_cmd_skills_add;
    int code = ch_cmd_parse(cmd, env, argc, argv, &f, &args);
    if (code < 0) {
        ch_console_init(&console, env, ch_setup_verbosity(&f.setup), f.setup.no_color);
        char *folder = skills_folder(env, &f);
        int rc = args.n != 1 ? ch_problem(&err, CHELA_EINVAL, "usage: chela %s [flags] %s",
                                          cmd->name, cmd->args)
                 : !folder ? ch_problem(&err, CHELA_EINVAL, "HOME is not set")
                 : skills_lead_out(&f)
                     ? ch_problem(&err, CHELA_EPERM, "./skills is a link: replace it by a folder")
                 : adds    ? skills_add(&console, &f, args.words[0], folder, &err)
                           : chela_skill_remove(folder, args.words[0], &err);
        if (rc < 0)
            ch_console_error(&console, "%s", err.message);
        free(folder);
        code = ch_console_exit(&console, rc < 0 ? ch_problem_exit(&err) : CH_EXIT_DONE);
        ch_console_release(&console);
    }
    ch_args_release(&args);
    return code;
}

const struct ch_cmd ch_cmd_skills_add = {
    .name = "skills add",
    .args = "FOLDER|ARCHIVE",
    .summary = "install a skill",
    .about = "Installs a skill from a folder with a SKILL.md, or from a tar archive of one (.tar, "
             ".tar.gz, .tgz), in your folder of skills, and prints its name and digest. Links, "
             "devices and paths that lead out are refused. The digest is kept in the folder of "
             "the skill. An installed skill is not replaced: remove it first.",
    .opts = add_opts,
    .run = skills_run,
};

const struct ch_cmd ch_cmd_skills_remove = {
    .name = "skills remove",
    .args = "NAME",
    .summary = "remove an installed skill",
    .about = "Removes a skill that 'chela skills add' has installed.",
    .opts = remove_opts,
    .run = skills_run,
};
