/* cmd_init.c -- `chela init`: creates the first configuration file.
 *
 * Looks for a model (a key in the environment, a local server), asks the user if there is
 * one, writes a commented file, and makes one small call as a test. An existing file is
 * overwritten only on request; a channel is added to it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chela/gateway.h"
#include "chela/json.h"
#include "cli/term/ask.h"
#include "cli/command/cmd.h"
#include "cli/command/init_add.h"
#include "cli/command/init_channel.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/setup/setup.h"
#include "cli/setup/trust.h"

struct flags {
    struct ch_setup_flags setup;
    const char *model, *channel;
    bool force, yes, no_test;
};

#define AT(field) offsetof(struct flags, field)

static const struct ch_opt opts[] = {
    {"config", 0, CH_OPT_TEXT, AT(setup.config), "FILE", 0, 0, "Configuration",
     "file to write instead of ./chela.yaml"},
    {"model", 0, CH_OPT_TEXT, AT(model), "PROVIDER/MODEL", 0, 0, "Configuration",
     "model to use; default: the model that is found or chosen"},
    {"channel", 0, CH_OPT_TEXT, AT(channel), "NAME", 0, 0, "Configuration",
     "chat service to set up, such as slack, also in an existing file; default: none, or the "
     "chosen one"},
    {"force", 0, CH_OPT_SWITCH, AT(force), NULL, 0, 0, "Configuration",
     "overwrite an existing file"},
    {"yes", 0, CH_OPT_SWITCH, AT(yes), NULL, 0, 0, "Configuration", "do not ask questions"},
    {"no-test", 0, CH_OPT_SWITCH, AT(no_test), NULL, 0, 0, "Configuration",
     "do not call the model"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct init {
    struct flags flags;
    struct ch_console console;
    const struct ch_env *env;
    chela_runtime *rt;
    const char *path;
    char *model; /* owned */
    char *channel, *section; /* owned: its name, its options in the file; NULL: none */
    struct chela_error err;
};

/* --- the model */

/* Ask if in doubt: a question costs less than an unintended model. */
static int init_choose_model(struct init *in) {
    const char *why = NULL, *found = chela_default_model(in->rt, &why);
    struct ch_asker asker;

    if (in->flags.model) {
        in->model = ch_dup(in->flags.model);
        return CHELA_OK;
    }
    ch_console_note(&in->console, "model: %s (%s)", found, why ? why : "found");
    in->model = ch_dup(found);
    if (in->flags.yes)
        return CHELA_OK;
    ch_asker_open(&asker, &in->console, NULL);
    if (ch_asker_there(&asker)) {
        const char *answer = ch_asker_line(&asker, "Model to use, or Enter for this one: ");
        if (!answer) {
            ch_asker_close(&asker);
            return ch_problem(&in->err, CHELA_ECANCELED, "nothing was written");
        }
        if (answer[0]) {
            free(in->model);
            in->model = ch_dup(answer);
        }
    }
    ch_asker_close(&asker);
    return CHELA_OK;
}

/* Check that the model name is valid. A missing key may be set later. */
static int check_model(struct init *in) {
    struct chela_agent_opts opt = CHELA_AGENT_OPTS(.model = in->model);
    chela_agent *agent;
    int rc = chela_agent_new(in->rt, &opt, &agent, &in->err);
    if (rc == CHELA_EAUTH) {
        ch_console_note(&in->console, "%s", in->err.message);
        in->err = (struct chela_error){0};
        rc = CHELA_OK;
    }
    return rc;
}

/* --- a chat service */

/* Writes a JSON array of names as "a, b". */
static void list_names(char *json) {
    char *to = json;
    for (const char *p = json; *p; p++)
        if (!strchr("[]\"", *p)) {
            *to++ = *p;
            if (*p == ',')
                *to++ = ' ';
        }
    *to = '\0';
}

/* The chosen service; the caller frees it. NULL: none, or in->err is set. */
static char *init_choose_channel(struct init *in, struct ch_asker *asker) {
    if (in->flags.channel)
        return ch_dup(in->flags.channel);
    char *names = ch_asker_there(asker) ? chela_channel_describe(in->rt, NULL, NULL) : NULL;
    if (names)
        list_names(names);
    char *text = names ? ch_format("Chat service to connect, of %s, or Enter for none: ", names)
                       : NULL;
    const char *name = text ? ch_asker_line(asker, text) : NULL;
    char *chosen = name && *name ? ch_dup(name) : NULL;
    if (text && !name)
        ch_problem(&in->err, CHELA_ECANCELED, "nothing was written");
    free(text);
    chela_free(names);
    return chosen;
}

static int init_set_up_channel(struct init *in) {
    struct ch_asker asker;
    ch_asker_open(&asker, &in->console, NULL);
    if (in->flags.yes)
        ch_asker_close(&asker);
    in->channel = init_choose_channel(in, &asker);
    if (in->channel)
        in->section = ch_init_channel(in->rt, in->env, &asker, in->channel, &in->err);
    ch_asker_close(&asker);
    int rc = in->section ? CHELA_OK : in->err.code;
    return rc == CHELA_ENOENT ? in->err.code = CHELA_EINVAL : rc;
}

/* --- the file */

static void init_write_file(FILE *out, const char *model) {
    fprintf(out,
            "# chela.yaml: the configuration of `chela` in this directory. All options:\n"
            "# docs/configuration.md, or `chela config show --all`. API keys do not belong\n"
            "# here: chela reads them from the environment.\n"
            "\n"
            "agents:\n"
            "  defaults:\n"
            "    model: %s\n"
            "    # With a list, the next model is used when one fails:\n"
            "    # model: [%s, ollama/qwen3]\n"
            "\n"
            "    # Instructions for the model, in addition to those of chela:\n"
            "    # systemPrompt: |\n"
            "    #   You look after this project. Answer briefly.\n"
            "\n"
            "    # A run ends at the first limit that it reaches; 0: no limit. Without this line,\n"
            "    # `chela chat` has no limit of turns and time.\n"
            "    # limits: { maxTurns: 25, maxToolCalls: 200, timeoutSec: 1800 }\n"
            "\n"
            "    # All tools are offered. To offer only some of them:\n"
            "    # tools: { allow: [read, ls, grep, edit, exec], permission: write }\n"
            "\n"
            "# Calls that need approval: ask, sandbox, auto or deny for each tool, and\n"
            "# patterns of calls that need none. See docs/policy.md.\n"
            "approvals: { exec: ask, allow: [\"exec: git status\", \"exec: ls\"] }\n"
            "\n"
            "# Programs of tools run in a sandbox without a network. `auto` uses the layers that\n"
            "# this machine supports (`chela doctor` lists them); `required` requires all.\n"
            "sandbox: { mode: auto, network: none }\n"
            "\n"
            "# Sessions are stored here; `chela sessions list` lists them.\n"
            "store: sqlite:./chela.db\n",
            model, model);
}

/* A file that exists keeps its text until the new one is complete. */
static int store_file(struct init *in) {
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (in->flags.force ? 0 : O_EXCL);
    int fd = open(in->path, flags, 0644);
    struct ch_draft d;

    if (fd < 0)
        return errno == EEXIST
                   ? ch_problem(&in->err, CHELA_EEXIST,
                                "%s already exists (--force overwrites it)", in->path)
                   : ch_problem(&in->err, CHELA_EIO, "%s: %s", in->path,
                                strerror(errno));
    bool made = lseek(fd, 0, SEEK_END) == 0;
    close(fd);
    ch_draft_init(&d);
    init_write_file(d.f, in->model);
    if (in->section)
        fprintf(d.f,
                "\n# `chela serve` talks to people there. `chela channels test %s --to CHAT` tries "
                "it.\nchannels:\n  %s:\n%s",
                in->channel, in->channel, in->section);
    ch_draft_finish(&d);
    int rc = ch_init_replace(in->path, d.p, &in->err);
    free(d.p);
    if (rc < 0 && made)
        unlink(in->path);
    else if (rc == 0)
        ch_console_note(&in->console, "wrote %s", in->path);
    return rc;
}

/* Trust the file that was just written: the user has chosen its content. Without a state
 * directory the file must be given by --config. */
static int trust_written(struct init *in) {
    struct chela_error why = {0};
    chela_config *cfg;
    struct chela_config_opts how = CHELA_CONFIG_OPTS(.module_path = getenv("CHELA_MODULE_PATH"),
                                                     .home = in->env->home);
    int rc = chela_config_open(in->path, &how, &cfg, &in->err);
    if (rc < 0)
        return rc;
    if (ch_trust_add(in->env, cfg, &why) < 0)
        ch_console_note(&in->console, "warning: %s is not trusted: %s", in->path, why.message);
    chela_config_free(cfg);
    return CHELA_OK;
}

/* --- the test */

static int try_model(struct init *in) {
    struct chela_agent_opts opt = CHELA_AGENT_OPTS(.model = in->model);
    char *json = chela_model_probe(in->rt, &opt, &in->err);
    if (!json)
        return in->err.code;
    size_t n = strlen(json);
    char *problem = chela_json_get(json, n, "/error", NULL);
    char *ms = chela_json_get(json, n, "/total_ms", NULL);
    char *tools = chela_json_get(json, n, "/tools", NULL);
    bool answered = !problem || strcmp(problem, "null") == 0 || !problem[0];
    bool calls = tools && strcmp(tools, "true") == 0;
    bool demo = strncmp(in->model, "scripted/", 9) == 0; /* its rules decide about tool calls */
    int rc = CHELA_OK;
    if (!answered)
        rc = ch_problem(&in->err, CHELA_ENET, "%s does not answer: %s", in->model, problem);
    else
        ch_console_note(&in->console, "%s answers, in %s ms%s", in->model, ms ? ms : "?",
                        calls || demo ? ""
                                      : "; it called no tool, prompted+PROVIDER/MODEL may help");
    chela_free(problem);
    chela_free(ms);
    chela_free(tools);
    chela_free(json);
    return rc;
}

static void say_next(struct init *in) {
    static const char next[] = "Next: chela run \"what is in this directory?\"\n";
    static const char chat[] = "Next: chela doctor, then CHELA_TOKEN=... chela serve\n";
    if (in->model)
        ch_console_print(&in->console, next, sizeof(next) - 1);
    if (in->section)
        ch_console_print(&in->console, chat, sizeof(chat) - 1);
}

static int init_open_runtime(struct init *in) {
    struct chela_runtime_opts rt_opts =
        CHELA_RUNTIME_OPTS(.module_path = getenv("CHELA_MODULE_PATH"));
    return chela_runtime_new(&rt_opts, &in->rt, &in->err);
}

/* The file is there: it gets the channel, and nothing else changes. */
static int init_add(struct init *in) {
    if (!in->flags.channel || in->flags.model)
        return ch_problem(&in->err, CHELA_EEXIST,
                          "%s already exists (--force overwrites it, --channel NAME alone adds "
                          "a chat service)",
                          in->path);
    int rc = init_open_runtime(in);
    if (rc == 0)
        rc = ch_init_has_channel(in->path, in->flags.channel, &in->err);
    if (rc == 0)
        rc = init_set_up_channel(in);
    if (rc == 0)
        rc = ch_init_add_channel(in->env, &in->console, in->path, in->channel, in->section,
                                 &in->err);
    if (rc == 0)
        say_next(in);
    return rc;
}

static int init_set_up(struct init *in) {
    if (access(in->path, F_OK) == 0 && !in->flags.force)
        return init_add(in);
    int rc = init_open_runtime(in);
    if (rc == 0)
        rc = init_choose_model(in);
    if (rc == 0)
        rc = check_model(in);
    if (rc == 0)
        rc = init_set_up_channel(in);
    if (rc == 0)
        rc = store_file(in);
    if (rc == 0)
        rc = trust_written(in);
    if (rc == 0 && !in->flags.no_test)
        rc = try_model(in);
    if (rc == 0)
        say_next(in);
    return rc;
}

static int init_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    struct init in = {.env = env};
    struct ch_args args;
    int code = ch_cmd_parse(cmd, env, argc, argv, &in.flags, &args);

    if (code < 0) {
        ch_console_init(&in.console, env, ch_setup_verbosity(&in.flags.setup),
                        in.flags.setup.no_color);
        in.path = in.flags.setup.config ? in.flags.setup.config : "chela.yaml";
        int rc = init_set_up(&in);
        if (rc < 0)
            ch_console_error(&in.console, "%s", in.err.message);
        code = rc < 0 ? ch_problem_exit(&in.err) : CH_EXIT_DONE;
        chela_runtime_close(in.rt);
        free(in.model);
        free(in.channel);
        free(in.section);
        code = ch_console_exit(&in.console, code);
        ch_console_release(&in.console);
    }
    ch_args_release(&args);
    return code;
}

const struct ch_cmd ch_cmd_init = {
    .name = "init",
    .args = "",
    .summary = "write a first chela.yaml and try it",
    .about = "Finds a model (a key in the environment, else a server on this machine, else the "
             "offline demo), asks which one to use if there is a terminal, writes a commented "
             "./chela.yaml, records that the file is trusted ('chela trust'), and calls the model "
             "once as a test.\n\n"
             "With --channel, or if a chat service is chosen at the terminal, the steps in the "
             "console of the service are shown, and its values are asked for. Secrets are kept in "
             "files below ~/.config/chela/secrets, or left to environment variables; chela.yaml "
             "names the file or the variable only. If chela.yaml is there already, --channel adds "
             "the service to it; the rest of the file keeps its text and its comments.\n\n"
             "The exit status is 1 if the model does not answer. The file is written in any case.",
    .opts = opts,
    .run = init_run,
};
