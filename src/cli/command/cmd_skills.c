/* cmd_skills.c -- `chela skills`: lists the skills of a workspace, and why some are not
 * used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/cmd.h"
#include "cli/report/out_json.h"
#include "cli/support/draft.h"
#include "cli/support/input.h"
#include "cli/report/out.h"
#include "cli/support/problem.h"
#include "cli/setup/setup.h"
#include "cli/support/suggest.h"
#include "cli/term/pager.h"
#include "cli/term/table.h"

struct flags {
    struct ch_setup_flags setup;
    bool json;
};

#define AT(skills_field) offsetof(struct flags, skills_field)

static const struct ch_opt list_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    {"workspace", 0, CH_OPT_TEXT, AT(setup.workspace), "DIR", 0, 0, "Tools",
     "directory that contains the skills; default: the current directory"},
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output", "print JSON with all fields"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt show_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    {"workspace", 0, CH_OPT_TEXT, AT(setup.workspace), "DIR", 0, 0, "Tools",
     "directory that contains the skills; default: the current directory"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct skills {
    struct flags flags;
    struct ch_args args;
    struct ch_console console;
    struct ch_setup setup;
    char *json; /* owned: the agent's skills */
};

/* No model is called, so any model without a key will do. */
static int skills_open_agent(struct skills *s, struct chela_error *err) {
    static const char *const none[] = {NULL};
    struct chela_agent_opts opt = CHELA_AGENT_OPTS(.model = "scripted/demo", .fallbacks = none);
    chela_agent *agent;
    int rc = ch_setup_config(&s->setup, err);
    if (rc == 0)
        rc = ch_setup_runtime(&s->setup, err);
    if (rc == 0)
        rc = ch_setup_agent(&s->setup, &opt, &agent, err);
    if (rc == 0)
        s->json = chela_agent_skills_json(agent);
    return rc;
}

static int with_skills(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                       int (*body)(struct skills *s)) {
    struct skills s = {0};
    struct chela_error err = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &s.flags, &s.args);

    if (code < 0) {
        ch_console_init(&s.console, env, ch_setup_verbosity(&s.flags.setup),
                        s.flags.setup.no_color);
        s.setup = (struct ch_setup){.env = env,
                                    .flags = &s.flags.setup,
                                    .console = &s.console,
                                    .uses = CH_USES_NOTHING};
        if (skills_open_agent(&s, &err) == 0) {
            code = body(&s);
        } else {
            ch_console_error(&s.console, "%s", err.message);
            code = ch_problem_exit(&err);
        }
        chela_free(s.json);
        ch_setup_release(&s.setup);
        code = ch_console_exit(&s.console, code);
        ch_console_release(&s.console);
    }
    ch_args_release(&s.args);
    return code;
}

/* --- list -------------------------------------------------------------------------- */

static bool skills_is(const char *value, const char *wanted) {
    return value && strcmp(value, wanted) == 0;
}

static int skills_add_word(const char *word, size_t n, void *out) {
    char *text = chela_json_get(word, n, "", NULL);
    fprintf(out, " %s", text ? text : "");
    chela_free(text);
    return 0;
}

/* Values of a skill that the lines below the table name. */
enum { LOCATION, PROBLEM, TOLD, WARNING, TOOLS, TRUSTED, UNKNOWN, FIELDS };

/* The tools that the skill may use without questions. */
static void print_tools(char *const field[FIELDS], FILE *out) {
    fprintf(out, "allowed-tools: %s:", field[LOCATION]);
    chela_json_each(field[TOOLS], strlen(field[TOOLS]), skills_add_word, out);
    fputs(skills_is(field[TRUSTED], "true")
              ? "\n"
              : " (ignored: the directory is not trusted, see 'chela trust')\n",
          out);
    if (field[UNKNOWN] && !skills_is(field[UNKNOWN], "null"))
        fprintf(out, "warning: %s: allowed-tools name unknown tools: %s\n", field[LOCATION],
                field[UNKNOWN]);
}

static int print_problem(const char *skill, size_t n, void *out) {
    static const char *const pointers[FIELDS] = {
        "/location",      "/problem",       "/told",          "/warning",
        "/allowed_tools", "/tools_trusted", "/unknown_tools",
    };
    char *field[FIELDS];

    chela_json_get_all(skill, n, pointers, field, FIELDS);
    if (field[PROBLEM] && !skills_is(field[PROBLEM], "null"))
        fprintf(out, "not used: %s: %s\n", field[LOCATION], field[PROBLEM]);
    else if (skills_is(field[TOLD], "false"))
        fprintf(out, "the model is not told of it: %s\n", field[LOCATION]);
    if (field[WARNING] && !skills_is(field[WARNING], "null"))
        fprintf(out, "warning: %s: %s\n", field[LOCATION], field[WARNING]);
    if (field[TOOLS] && !skills_is(field[TOOLS], "[]"))
        print_tools(field, out);
    for (size_t i = 0; i < FIELDS; i++)
        chela_free(field[i]);
    return 0;
}

static int skills_list(struct skills *s) {
    static const char *const heads[] = {"NAME", "VERSION", "LOCATION", "DESCRIPTION", NULL};
    static const char *const pointers[] = {"/name", "/version", "/location", "/description"};
    struct ch_table table = {.heads = heads, .columns = ch_console_columns(&s->console)};
    struct ch_draft d;

    if (s->flags.json) {
        ch_json_line(&s->console, s->json);
        return CH_EXIT_DONE;
    }
    ch_table_fill(&table, s->json, pointers);
    ch_draft_init(&d);
    if (table.n)
        ch_table_print(&table, d.f);
    else
        ch_console_note(&s->console, "there are no skills (they are files such as "
                                     "skills/NAME/SKILL.md, here or in ~/.agents)");
    chela_json_each(s->json, strlen(s->json), print_problem, d.f);
    ch_draft_finish(&d);
    ch_console_page(&s->console, d.p, d.n);
    free(d.p);
    ch_table_release(&table);
    return CH_EXIT_DONE;
}

/* --- show -------------------------------------------------------------------------- */

/* Index of the skill in the table, a used one preferred; -1 after reporting that no such
 * skill exists. */
static long skills_find(struct skills *s, const struct ch_table *table, const char *wanted) {
    struct ch_suggest near;

    ch_suggest_init(&near, wanted, strlen(wanted));
    for (size_t i = 0; i < table->n; i++) {
        const char *name = table->cells[i][0];
        if (strcmp(name, wanted) == 0)
            return (long)i;
        ch_suggest_try(&near, name, strlen(name));
    }
    if (near.best)
        ch_console_error(&s->console, "there is no skill '%s' (did you mean '%s'?)", wanted,
                         near.best);
    else
        ch_console_error(&s->console, "there is no skill '%s' ('chela skills list' shows them)",
                         wanted);
    return -1;
}

static int print_file(struct skills *s, const char *file) {
    struct chela_error err = {0};
    struct ch_cli_input text = {0};
    if (ch_input_file(file, CH_INPUT_SYSTEM, &text, &err) < 0) {
        ch_console_error(&s->console, "%s", err.message);
        return CH_EXIT_ERROR;
    }
    ch_console_answer(&s->console, text.p, text.n);
    ch_console_answer_end(&s->console);
    ch_input_release(&text);
    return CH_EXIT_DONE;
}

static int skills_show(struct skills *s) {
    static const char *const pointers[] = {"/name", "/file", NULL};
    struct ch_table table = {.heads = pointers};

    if (s->args.n != 1) {
        ch_console_error(&s->console, "which skill? usage: chela skills show [flags] NAME");
        return CH_EXIT_USAGE;
    }
    ch_table_fill(&table, s->json, pointers);
    long i = skills_find(s, &table, s->args.words[0]);
    int code = i < 0 ? CH_EXIT_USAGE : print_file(s, table.cells[i][1]);
    ch_table_release(&table);
    return code;
}

/* --- commands ---------------------------------------------------------------------- */

static int skills_run_list(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                           char **argv) {
    return with_skills(cmd, env, argc, argv, skills_list);
}

static int skills_run_show(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                           char **argv) {
    return with_skills(cmd, env, argc, argv, skills_show);
}

const struct ch_cmd ch_cmd_skills_list = {
    .name = "skills list",
    .args = "",
    .summary = "list the skills of the workspace",
    .about = "Lists the skills that are offered to the agent, and the skills that are not, with "
             "the reason: no description, a missing program, a duplicate name.",
    .opts = list_opts,
    .run = skills_run_list,
};

const struct ch_cmd ch_cmd_skills_show = {
    .name = "skills show",
    .args = "NAME",
    .summary = "print a skill",
    .about = "Prints the file of a skill as the model would read it.",
    .opts = show_opts,
    .run = skills_run_show,
};
