/* cmd_config.c -- `chela config`: checks and shows the configuration file. */
#include <stdlib.h>
#include <string.h>

#include "cli/command/cmd.h"
#include "cli/report/out_json.h"
#include "cli/support/draft.h"
#include "cli/support/array_member.h"
#include "cli/support/mem.h"
#include "cli/report/out.h"
#include "cli/support/problem.h"
#include "cli/support/rule_conflict.h"
#include "cli/setup/setup.h"
#include "cli/term/pager.h"
#include "cli/term/table.h"

#define WIDEST 60 /* maximum width of a value in the table */

struct flags {
    struct ch_setup_flags setup;
    bool all, json, strict;
    bool named; /* FILE was given */
};

#define AT(field) offsetof(struct flags, field)

static const struct ch_opt check_opts[] = {
    CH_SETUP_OPTS_CONFIG_ELSE(struct flags, "all"),
    {"strict", 0, CH_OPT_SWITCH, AT(strict), NULL, 0, 0, "Configuration",
     "every unknown key is an error"},
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output",
     "print a JSON object: file, ok, and problems, an array of {level, message}"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt show_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    {"all", 0, CH_OPT_SWITCH, AT(all), NULL, 0, 0, "Output",
     "also print options that the file does not set"},
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output", "print a JSON array"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt schema_opts[] = {{.name = NULL}};

/* --- check ---------------------------------------------------------------------- */

/* Check that the models are known. A missing key is not an error of the file. */
static int check_models(struct ch_setup *s, struct chela_error *err) {
    /* ch_setup_agent checks the workspace of the file */
    struct chela_agent_opts opt = CHELA_AGENT_OPTS(.workspace = ".");
    struct chela_error why = {0};
    chela_agent *agent;

    int rc = chela_config_agent(s->config, s->flags->agent, &opt, err);
    if (rc < 0 || !opt.model)
        return rc;
    while ((rc = chela_agent_new(s->rt, &opt, &agent, &why)) == CHELA_EAUTH) {
        ch_setup_warn(s, why.message);
        if (!opt.fallbacks || !*opt.fallbacks)
            return CHELA_OK;
        opt.model = *opt.fallbacks++;
    }
    const char *place = rc < 0 ? ch_setup_model_place(s, &opt, &why) : NULL;
    return rc == 0 ? CHELA_OK
                   : ch_problem(err, CHELA_ECONFIG, "%s: %s", place ? place : s->config_path,
                                why.message);
}

static void on_conflict(const char *rule, const char *tool, void *user) {
    char *text = ch_format("the rule \"%s\" conflicts with the tool %s, whose description promises "
                           "it; the rule comes first in the prompt, and tools.deny hides the tool",
                           rule, tool);
    ch_setup_warn(user, text);
    free(text);
}

static void check_rules(struct ch_setup *s, const struct chela_agent_opts *opt,
                        const chela_agent *agent) {
    char *tools = chela_agent_tools_json(agent);
    ch_rule_conflicts(opt->prompt ? opt->prompt->rules : NULL, opt->system, tools, on_conflict, s);
    chela_free(tools);
}

/* A role cannot be asked with a prompt that has a placeholder without a value. */
static int check_prompts(struct ch_setup *s, struct chela_error *err) {
    char *json = chela_prompts_json(s->rt, err), *where;
    int rc = json ? CHELA_OK : err->code;
    for (size_t i = 0; rc == 0 && (where = ch_array_member(json, i, "where")); i++) {
        char *used = ch_array_member(json, i, "used");
        char *unknown = ch_array_member(json, i, "unknown/0");
        if (unknown && used && strcmp(used, "true") == 0)
            rc = ch_problem(err, CHELA_ECONFIG,
                            "%s: there is no value for the placeholder {%s}; `chela prompt list` "
                            "shows those of the built-in prompt",
                            where, unknown);
        chela_free(unknown);
        chela_free(used);
        chela_free(where);
    }
    chela_free(json);
    return rc;
}

/* id NULL: of a file without a list of agents. A missing key of an agent that the agent calls is
 * a warning, as its own. */
static int check_agent(struct ch_setup *s, const char *id, struct chela_error *err) {
    static const char *const none[] = {NULL};
    struct chela_agent_opts opt = CHELA_AGENT_OPTS(.model = "scripted/demo", .fallbacks = none);
    const struct ch_setup_flags *flags = s->flags;
    struct ch_setup_flags own = *flags;
    chela_agent *agent;
    own.agent = id;
    s->flags = &own;
    int rc = check_models(s, err);
    if (rc == 0)
        rc = ch_setup_agent(s, &opt, &agent, err);
    if (rc == 0)
        check_rules(s, &opt, agent);
    if (rc == CHELA_EAUTH)
        ch_setup_warn(s, err->message);
    s->flags = flags;
    return rc == CHELA_EAUTH ? CHELA_OK : rc;
}

/* The last problem is the result; those before it are shown here. */
static int check_agents(struct ch_setup *s, struct chela_error *err) {
    const char *id = s->flags->agent;
    size_t i = 0;
    if (!id)
        id = chela_config_agent_id(s->config, i++);
    do {
        struct chela_error why = {0};
        if (check_agent(s, id, &why) == 0 || strcmp(why.message, err->message) == 0)
            continue;
        if (err->code) {
            ch_console_error(s->console, "%s", err->message);
            ch_setup_found(s, "error", err->message);
        }
        *err = why;
    } while (!s->flags->agent && (id = chela_config_agent_id(s->config, i++)));
    return err->code;
}

/* Everything that `run` and `serve` check before the first request of an agent. */
static int check_file(struct ch_setup *s, struct chela_error *err) {
    int rc = ch_setup_config(s, err);
    if (rc == 0 && !s->config)
        return ch_problem(
            err, CHELA_ECONFIG,
            "there is no configuration file to check (./chela.yaml or --config FILE)");
    if (rc == 0)
        rc = ch_setup_runtime(s, err);
    if (rc == 0)
        rc = check_prompts(s, err);
    return rc < 0 ? rc : check_agents(s, err);
}

static void config_report(struct ch_console *c, const struct ch_setup *s) {
    char *line = s->warnings ? ch_format("%s: ok, %u warning%s\n", s->config_path, s->warnings,
                                         s->warnings == 1 ? "" : "s")
                             : ch_format("%s: ok\n", s->config_path);
    ch_console_print(c, line, strlen(line));
    free(line);
}

static void config_report_json(struct ch_console *c, const struct ch_setup *s, bool ok,
                               const char *problems) {
    struct ch_draft d;
    ch_draft_init(&d);
    fputs("{\"file\":", d.f);
    if (s->config_path)
        ch_draft_quote(d.f, s->config_path);
    else
        fputs("null", d.f);
    fprintf(d.f, ",\"ok\":%s,\"problems\":[%s]}\n", ok ? "true" : "false", problems);
    ch_draft_finish(&d);
    ch_console_print(c, d.p, d.n);
    free(d.p);
}

static int config_check(const struct flags *f, struct ch_console *c, const struct ch_env *env,
                        struct chela_error *err) {
    struct ch_setup setup = {.env = env, .flags = &f->setup, .console = c, .inspect = true};
    struct ch_draft found;
    ch_draft_init(&found);
    setup.found = found.f;
    setup.strict = f->strict;
    setup.complete = true;
    int rc = check_file(&setup, err);
    if (rc < 0 && !setup.complaints)
        ch_setup_found(&setup, "error", err->message);
    ch_draft_finish(&found);
    if (f->json)
        config_report_json(c, &setup, rc == 0, found.p);
    else if (rc == 0)
        config_report(c, &setup);
    free(found.p);
    ch_setup_release(&setup);
    return rc;
}

/* --- show ----------------------------------------------------------------------- */

struct showing {
    const struct flags *flags;
    struct ch_table table;
    FILE *out;
    size_t n;
    bool rules; /* the file has allow rules */
};

static void show_json(FILE *out, const char *name, const char *text) {
    fprintf(out, "\"%s\":", name);
    ch_draft_quote(out, text);
}

static void config_show_option(const char *key, const char *value, int from_file, void *user) {
    struct showing *s = user;
    if (!from_file && !s->flags->all)
        return;
    s->rules |= from_file && strcmp(key, "approvals") == 0 && strstr(value, "allow:");
    if (s->flags->json) {
        fputs(s->n++ ? ",\n {" : "{", s->out);
        show_json(s->out, "key", key);
        fputc(',', s->out);
        show_json(s->out, "value", value);
        fprintf(s->out, ",\"from\":\"%s\"}", from_file ? "file" : "default");
        return;
    }
    char **row = ch_table_row(&s->table);
    bool whole = strlen(value) <= WIDEST && !strchr(value, '\n');
    row[0] = ch_dup(key);
    row[1] = ch_dup(from_file ? "file" : "default");
    row[2] =
        whole ? ch_dup(value)
              : ch_format("%.*s...",
                          (int)strcspn(value, "\n") < WIDEST ? (int)strcspn(value, "\n") : WIDEST,
                          value);
}

/* Shows the commands that each allow rule vouches for. No model is called, so any model will do. */
static void show_rules(struct showing *s, struct ch_setup *setup) {
    static const char *const none[] = {NULL};
    struct chela_agent_opts opt = CHELA_AGENT_OPTS(.model = "scripted/demo", .fallbacks = none);
    struct chela_error err = {0};
    chela_agent *agent;
    if (ch_setup_runtime(setup, &err) < 0 || ch_setup_agent(setup, &opt, &agent, &err) < 0)
        return;
    char *json = chela_agent_rules_json(agent), *rule;
    for (size_t i = 0; (rule = ch_array_member(json, i, "name")); i++) {
        char *detail = ch_array_member(json, i, "detail");
        if (s->flags->json) {
            fputs(",\n {\"key\":\"approvals.allow\",", s->out);
            show_json(s->out, "rule", rule);
            fputc(',', s->out);
            show_json(s->out, "vouchesFor", detail ? detail : "");
            fputs(",\"from\":\"file\"}", s->out);
        } else {
            fprintf(s->out, "%s%s\n  vouches for %s\n", i ? "" : "\n", rule, detail ? detail : "");
        }
        chela_free(rule);
        chela_free(detail);
    }
    chela_free(json);
}

static int config_show(const struct flags *f, struct ch_console *c, const struct ch_env *env,
                       struct chela_error *err) {
    static const char *const heads[] = {"KEY", "FROM", "VALUE", NULL};
    struct ch_setup setup = {
        .env = env, .flags = &f->setup, .console = c, .uses = CH_USES_NOTHING};
    struct showing s = {.flags = f, .table = {heads, ch_console_columns(c), NULL, 0}};
    struct ch_draft d;
    int rc = ch_setup_config(&setup, err);
    if (rc == 0) {
        ch_draft_init(&d);
        s.out = d.f;
        fputs(f->json ? "[" : "", d.f);
        chela_config_show(setup.config, config_show_option, &s);
        if (s.table.n)
            ch_table_print(&s.table, d.f);
        if (s.rules && !f->named) /* a file that is only looked at gets no agent */
            show_rules(&s, &setup);
        fputs(f->json ? "]\n" : "", d.f);
        ch_draft_finish(&d);
        ch_console_note(c, "%s", setup.config_path ? setup.config_path : "no configuration file");
        ch_console_page(c, d.p, d.n);
        free(d.p);
    }
    ch_table_release(&s.table);
    ch_setup_release(&setup);
    return rc;
}

/* --- both ----------------------------------------------------------------------- */

static int with_file(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                     int (*body)(const struct flags *f, struct ch_console *c,
                                 const struct ch_env *env, struct chela_error *err)) {
    struct flags f = {0};
    struct ch_args args;
    struct ch_console console;
    struct chela_error err = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &f, &args);

    if (code < 0) {
        ch_console_init(&console, env, ch_setup_verbosity(&f.setup), f.setup.no_color);
        if (args.n)
            f.setup.config = args.words[0];
        f.named = args.n > 0;
        int rc = args.n > 1 ? ch_problem(&err, CHELA_EINVAL, "%s takes one FILE", cmd->name)
                            : body(&f, &console, env, &err);
        if (rc < 0)
            ch_console_error(&console, "%s", err.message);
        code = ch_console_exit(&console, rc < 0 ? ch_problem_exit(&err) : CH_EXIT_DONE);
        ch_console_release(&console);
    }
    ch_args_release(&args);
    return code;
}

static int config_run_check(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                            char **argv) {
    return with_file(cmd, env, argc, argv, config_check);
}

static int config_run_show(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                           char **argv) {
    return with_file(cmd, env, argc, argv, config_show);
}

/* --- schema --------------------------------------------------------------------- */

static void print_schema(struct ch_console *c) {
    char *schema = chela_config_schema();
    struct ch_draft d;
    ch_draft_init(&d);
    ch_json_pretty(d.f, schema, strlen(schema));
    ch_draft_finish(&d);
    ch_console_print(c, d.p, d.n);
    chela_free(schema);
    free(d.p);
}

static int run_schema(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    struct ch_args args;
    struct ch_console console;
    int code = ch_cmd_parse(cmd, env, argc, argv, NULL, &args);

    if (code < 0) {
        ch_console_init(&console, env, CH_NORMAL, false);
        print_schema(&console);
        code = ch_console_exit(&console, CH_EXIT_DONE);
        ch_console_release(&console);
    }
    ch_args_release(&args);
    return code;
}

const struct ch_cmd ch_cmd_config_check = {
    .name = "config check",
    .args = "[FILE]",
    .summary = "check the configuration file",
    .about = "Reads the configuration file that 'chela run' would use and reports errors with "
             "line and column, all of them at once, for each of its agents. FILE is the same as "
             "--config FILE. An unknown key is an error in agents, policies, approvals, sandbox, "
             "tools, channels, gateway, providers and store, and a warning elsewhere. A value of "
             "a channel that 'chela init' left open (" CHELA_CONFIG_OPEN ") is an error. "
             "The file need not be trusted.",
    .opts = check_opts,
    .run = config_run_check,
};

const struct ch_cmd ch_cmd_config_show = {
    .name = "config show",
    .args = "[FILE]",
    .summary = "print the configuration as chela reads it",
    .about = "Prints every option of the configuration file with its value, one per line; with "
             "--all also the defaults of the other options. Values that may be secret are not "
             "shown. The allow rules of approvals follow, each with the program and the "
             "arguments that the rule vouches for.",
    .opts = show_opts,
    .run = config_run_show,
};

const struct ch_cmd ch_cmd_config_schema = {
    .name = "config schema",
    .args = "",
    .summary = "print the JSON Schema of the configuration",
    .about = "Prints the JSON Schema of chela.yaml, for editors that complete and check YAML.",
    .opts = schema_opts,
    .run = run_schema,
};
