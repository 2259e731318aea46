/* cmd_tools.c -- `chela tools`: lists, shows and calls an agent's tools without a model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/cmd.h"
#include "cli/report/out_json.h"
#include "cli/support/array_member.h"
#include "cli/support/draft.h"
#include "cli/report/out.h"
#include "cli/support/problem.h"
#include "cli/setup/setup.h"
#include "cli/support/suggest.h"
#include "cli/term/pager.h"
#include "cli/term/table.h"

struct flags {
    struct ch_setup_flags setup;
    bool json;
    const char *args, *output, *channel, *sender;
};

#define AT(tools_field) offsetof(struct flags, tools_field)

static const struct ch_opt list_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    CH_SETUP_OPTS_TOOLS(struct flags),
    {"channel", 0, CH_OPT_TEXT, AT(channel), "NAME", 0, 0, "Tools",
     "apply the policies for this channel"},
    {"sender", 0, CH_OPT_TEXT, AT(sender), "ID", 0, 0, "Tools",
     "apply the policies for this sender, given by the id in the channel"},
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output", "print JSON with all fields"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt show_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    CH_SETUP_OPTS_TOOLS(struct flags),
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output",
     "print the tool as 'tools list --json' does"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt call_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    CH_SETUP_OPTS_TOOLS(struct flags),
    {"args", 0, CH_OPT_TEXT, AT(args), "JSON|-|@FILE", 0, 0, "Tools",
     "arguments: a JSON object, standard input, or a file; default: none"},
    {"output", 0, CH_OPT_CHOICE, AT(output), "text|json", 0, 0, "Output",
     "print the text of the result, or the whole result as a JSON object"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct tools {
    struct flags flags;
    struct ch_args args;
    struct ch_console console;
    struct ch_setup setup;
    chela_agent *agent; /* owned by the runtime */
    char *json;         /* owned: the agent's tools */
};

/* --- set-up: the same for all three ---------------------------------------------- */

/* No model is called, so any model without a key will do. */
static int tools_open_agent(struct tools *t, struct chela_error *err) {
    static const char *const none[] = {NULL};
    struct chela_agent_opts opt = CHELA_AGENT_OPTS(.model = "scripted/demo", .fallbacks = none);
    int rc = ch_setup_config(&t->setup, err);
    if (rc == 0)
        rc = ch_setup_runtime(&t->setup, err);
    if (rc == 0)
        rc = ch_setup_agent(&t->setup, &opt, &t->agent, err);
    if (rc == 0)
        t->json = t->flags.channel
                      ? chela_agent_tools_for_json(t->agent, t->flags.channel, t->flags.sender)
                      : chela_agent_tools_json(t->agent);
    return rc;
}

static int with_agent(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                      int (*body)(struct tools *t)) {
    struct tools t = {0};
    struct chela_error err = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &t.flags, &t.args);

    if (code < 0) {
        ch_console_init(&t.console, env, ch_setup_verbosity(&t.flags.setup),
                        t.flags.setup.no_color);
        t.setup = (struct ch_setup){
            .env = env,
            .flags = &t.flags.setup,
            .console = &t.console,
            .uses = cmd == &ch_cmd_tools_call ? CH_USES_TOOLS : CH_USES_NOTHING};
        if (tools_open_agent(&t, &err) == 0) {
            code = body(&t);
        } else {
            ch_console_error(&t.console, "%s", err.message);
            code = ch_problem_exit(&err);
        }
        chela_free(t.json);
        ch_setup_release(&t.setup);
        code = ch_console_exit(&t.console, code);
        ch_console_release(&t.console);
    }
    ch_args_release(&t.args);
    return code;
}

static char *tools_field(const struct tools *t, size_t i, const char *name) {
    return ch_array_member(t->json, i, name);
}

static int tools_bad_usage(struct tools *t, const char *problem) {
    ch_console_error(&t->console, "%s", problem);
    return CH_EXIT_USAGE;
}

/* If a channel was given, explain which policies apply. */
static void note_policies(struct tools *t) {
    char *json = chela_agent_policies_json(t->agent, t->flags.channel, t->flags.sender);
    char *ids = chela_json_get(json, strlen(json), "/policies", NULL);
    char *approve = chela_json_get(json, strlen(json), "/approve", NULL);

    if (strcmp(ids, "[]") == 0)
        ch_console_note(&t->console, "no policy matches");
    else
        ch_console_note(&t->console, "policies that match: %s; calls that need approval: %s", ids,
                        approve);
    chela_free(ids);
    chela_free(approve);
    chela_free(json);
}

/* --- list -------------------------------------------------------------------------- */

static void tools_print_list(const struct tools *t, FILE *out) {
    static const char *const heads[] = {"NAME", "PERMISSION", "EFFECT", "SUMMARY", NULL};
    static const char *const pointers[] = {"/name", "/permission", "/effect", "/summary"};
    struct ch_table table = {.heads = heads, .columns = ch_console_columns(&t->console)};
    ch_table_fill(&table, t->json, pointers);
    ch_table_print(&table, out);
    ch_table_release(&table);
}

static int tools_list(struct tools *t) {
    struct ch_draft d;

    if (t->flags.sender && !t->flags.channel)
        return tools_bad_usage(t, "--sender needs --channel: an id is valid in one channel only");
    if (t->flags.channel)
        note_policies(t);
    if (t->flags.json) {
        ch_json_line(&t->console, t->json);
        return CH_EXIT_DONE;
    }
    ch_draft_init(&d);
    tools_print_list(t, d.f);
    ch_draft_finish(&d);
    ch_console_page(&t->console, d.p, d.n);
    free(d.p);
    return CH_EXIT_DONE;
}

/* --- show -------------------------------------------------------------------------- */

static void print_tool(const struct tools *t, size_t i, FILE *out) {
    static const char *const short_fields[] = {"permission", "effect"};
    char *description = tools_field(t, i, "description"), *schema = tools_field(t, i, "schema");

    fprintf(out, "%s\n\n", description ? description : "");
    for (size_t f = 0; f < sizeof(short_fields) / sizeof(short_fields[0]); f++) {
        char *value = tools_field(t, i, short_fields[f]);
        fprintf(out, "%s: %s\n", short_fields[f], value ? value : "");
        chela_free(value);
    }
    fputs("arguments: ", out);
    if (schema)
        ch_json_pretty(out, schema, strlen(schema));
    chela_free(description);
    chela_free(schema);
}

/* Prints the allow rules of this tool, with the calls that they permit. */
static void print_rules(const struct tools *t, const char *name, FILE *out) {
    char *json = chela_agent_rules_json(t->agent), *tool;
    for (size_t i = 0; (tool = ch_array_member(json, i, "tool")); i++) {
        char *rule = ch_array_member(json, i, "name"), *detail = ch_array_member(json, i, "detail");
        if (strcmp(tool, name) == 0)
            fprintf(out, "allowed: %s\n  %s\n", rule, detail);
        chela_free(tool);
        chela_free(rule);
        chela_free(detail);
    }
    chela_free(json);
}

/* Index of the tool in the list, or -1 after reporting that no such tool exists. */
static long find_tool(struct tools *t, const char *wanted) {
    char **names = ch_setup_tool_names(t->agent);
    struct ch_suggest near;
    long at = -1;

    ch_suggest_init(&near, wanted, strlen(wanted));
    for (size_t i = 0; names[i]; i++) {
        ch_suggest_try(&near, names[i], strlen(names[i]));
        if (strcmp(names[i], wanted) == 0)
            at = (long)i;
    }
    if (at < 0 && near.best)
        ch_console_error(&t->console, "there is no tool '%s' (did you mean '%s'?)", wanted,
                         near.best);
    else if (at < 0)
        ch_console_error(&t->console, "there is no tool '%s' ('chela tools list' shows them)",
                         wanted);
    ch_setup_free_names(names);
    return at;
}

static void print_tool_json(struct tools *t, long i) {
    char at[32];
    snprintf(at, sizeof(at), "/%ld", i);
    char *tool = chela_json_get(t->json, strlen(t->json), at, NULL);
    ch_json_line(&t->console, tool);
    chela_free(tool);
}

static int tools_show(struct tools *t) {
    if (t->args.n != 1)
        return tools_bad_usage(t, "which tool? usage: chela tools show [flags] NAME");
    long i = find_tool(t, t->args.words[0]);
    if (i < 0)
        return CH_EXIT_USAGE;
    if (t->flags.json) {
        print_tool_json(t, i);
        return CH_EXIT_DONE;
    }
    struct ch_draft d;
    ch_draft_init(&d);
    print_tool(t, (size_t)i, d.f);
    print_rules(t, t->args.words[0], d.f);
    ch_draft_finish(&d);
    ch_console_print(&t->console, d.p, d.n);
    free(d.p);
    return CH_EXIT_DONE;
}

/* --- call -------------------------------------------------------------------------- */

static int print_result(struct tools *t, const char *result) {
    size_t n = strlen(result), content_n = 0;
    char *failed = chela_json_get(result, n, "/is_error", NULL);
    char *content = chela_json_get(result, n, "/content", &content_n);
    bool ok = failed && strcmp(failed, "false") == 0;

    if (t->flags.output && strcmp(t->flags.output, "json") == 0) {
        ch_json_line(&t->console, result);
    } else if (ok) {
        ch_console_answer(&t->console, content, content_n);
        ch_console_answer_end(&t->console);
    } else {
        ch_console_complain(&t->console, content, content_n);
    }
    chela_free(failed);
    chela_free(content);
    return ok ? CH_EXIT_DONE : CH_EXIT_ERROR;
}

static int tools_read_arguments(const char *flag, struct ch_cli_input *out,
                                struct chela_error *err) {
    if (flag && strcmp(flag, "-") == 0)
        return ch_input_file("-", CH_INPUT_PROMPT, out, err);
    return ch_input_text(flag ? flag : "{}", CH_INPUT_PROMPT, out, err);
}

static int tools_call(struct tools *t) {
    struct chela_error err = {0};
    struct ch_cli_input arguments = {0};

    if (t->args.n != 1)
        return tools_bad_usage(t, "which tool? usage: chela tools call [flags] NAME --args JSON");
    if (tools_read_arguments(t->flags.args, &arguments, &err) < 0)
        return tools_bad_usage(t, err.message);
    int code = CH_EXIT_USAGE;
    if (find_tool(t, t->args.words[0]) >= 0) {
        char *result = chela_agent_call_tool(t->agent, t->args.words[0], arguments.p, &err);
        code = result ? print_result(t, result) : CH_EXIT_ERROR;
        if (!result)
            ch_console_error(&t->console, "%s", err.message);
        chela_free(result);
    }
    ch_input_release(&arguments);
    return code;
}

/* --- commands ---------------------------------------------------------------------- */

static int tools_run_list(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                          char **argv) {
    return with_agent(cmd, env, argc, argv, tools_list);
}

static int tools_run_show(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                          char **argv) {
    return with_agent(cmd, env, argc, argv, tools_show);
}

static int run_call(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return with_agent(cmd, env, argc, argv, tools_call);
}

const struct ch_cmd ch_cmd_tools_list = {
    .name = "tools list",
    .args = "",
    .summary = "list the tools of an agent",
    .about = "Lists the tools that 'chela run' with the same flags would offer to the model, with "
             "permission and effect. Effect 'read': the tool changes nothing. 'keyed': a call may "
             "be repeated with the same key. 'once': a call is never repeated.",
    .opts = list_opts,
    .run = tools_run_list,
};

const struct ch_cmd ch_cmd_tools_show = {
    .name = "tools show",
    .args = "NAME",
    .summary = "show a tool's description and schema",
    .about = "Prints the description of a tool, the JSON Schema of its arguments, and the allow "
             "rules for the tool with the program and the arguments that each rule vouches for.",
    .opts = show_opts,
    .run = tools_run_show,
};

const struct ch_cmd ch_cmd_tools_call = {
    .name = "tools call",
    .args = "NAME",
    .summary = "run one tool without a model",
    .about = "Runs one tool through the same path as a model's call: the arguments are validated "
             "against the tool's schema, and time and output are limited. The result goes to "
             "standard output. An error result goes to standard error, with exit status 1.",
    .opts = call_opts,
    .run = run_call,
};
