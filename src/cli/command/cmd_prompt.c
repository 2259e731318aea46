/* cmd_prompt.c -- `chela prompt list|show|render`. `chela prompt test` is in
 * cmd_prompt_test.c. */
#include "cli/command/cmd_prompt.h"

#include <stdlib.h>
#include <string.h>

#include "cli/report/out_json.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/command/prompt_cmd.h"
#include "cli/term/pager.h"
#include "cli/term/table.h"

#define AT(field) offsetof(struct ch_prompt_flags, field)
#define JSON_OPT {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output", "print JSON"}
#define PICK_OPTS                                                                                  \
    {"model", 0, CH_OPT_TEXT, AT(model), "PROVIDER/MODEL", 0, 0, "Prompt",                         \
     "use the variant for this model, if there is one"},                                           \
        {"session", 0, CH_OPT_TEXT, AT(session), "KEY", 0, 0, "Prompt",                            \
         "use the version that a rollout chooses for this session"}

static const struct ch_opt list_opts[] = {
    CH_PROMPT_OPTS,
    JSON_OPT,
    CH_SETUP_OPTS_OUTPUT(struct ch_prompt_flags),
    {.name = NULL},
};

static const struct ch_opt show_opts[] = {
    CH_PROMPT_OPTS,
    PICK_OPTS,
    JSON_OPT,
    CH_SETUP_OPTS_OUTPUT(struct ch_prompt_flags),
    {.name = NULL},
};

static const struct ch_opt render_opts[] = {
    CH_PROMPT_OPTS,
    PICK_OPTS,
    {"var", 0, CH_OPT_TEXTS, AT(vars), "NAME=TEXT", 0, 0, "Prompt",
     "value of a variable; NAME=@FILE reads it from a file"},
    {"values", 0, CH_OPT_TEXT, AT(values), "FILE", 0, 0, "Prompt",
     "read values from a JSON object, - for standard input; --var overrides them"},
    JSON_OPT,
    CH_SETUP_OPTS_OUTPUT(struct ch_prompt_flags),
    {.name = NULL},
};

/* --- shared ---------------------------------------------------------------------- */

int ch_prompt_cmd_failed(struct ch_prompt_cmd *p, const struct chela_error *err) {
    ch_console_error(&p->console, "%s", err->message);
    return ch_problem_exit(err);
}

static int prompt_open_all(struct ch_prompt_cmd *p, struct chela_error *err) {
    p->setup.record = p->flags.record;
    p->setup.replay = p->flags.replay;
    int rc = ch_setup_config(&p->setup, err);
    if (rc == 0)
        rc = ch_setup_runtime(&p->setup, err);
    if (rc == 0 && p->flags.dir)
        rc = chela_prompts_load(p->setup.rt, p->flags.dir, err);
    return rc;
}

int ch_prompt_cmd_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                      int (*body)(struct ch_prompt_cmd *p)) {
    struct ch_prompt_cmd p = {0};
    struct chela_error err = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &p.flags, &p.args);
    if (code < 0) {
        ch_console_init(&p.console, env, ch_setup_verbosity(&p.flags.setup),
                        p.flags.setup.no_color);
        p.setup = (struct ch_setup){
            .env = env,
            .flags = &p.flags.setup,
            .console = &p.console,
            .uses = cmd == &ch_cmd_prompt_test ? CH_USES_RUN : CH_USES_NOTHING};
        code = prompt_open_all(&p, &err) < 0 ? ch_prompt_cmd_failed(&p, &err) : body(&p);
        ch_setup_release(&p.setup);
        code = ch_console_exit(&p.console, code);
        ch_console_release(&p.console);
    }
    ch_args_release(&p.args);
    return code;
}

void ch_prompt_split(const char *word, char **name, const char **version) {
    const char *at = strchr(word, '@');
    *version = at ? at + 1 : NULL;
    *name = at ? ch_must(strndup(word, (size_t)(at - word))) : ch_dup(word);
}

static void prompt_print_draft(struct ch_prompt_cmd *p, struct ch_draft *d) {
    ch_draft_finish(d);
    ch_console_page(&p->console, d->p, d->n);
    free(d->p);
}

/* --- list ------------------------------------------------------------------------ */

/* Replace a JSON boolean by a word. */
static void prompt_say(char **cell, const char *yes, const char *no) {
    bool is = *cell && strcmp(*cell, "true") == 0;
    free(*cell);
    *cell = ch_dup(is ? yes : no);
}

static void fill_list(struct ch_table *t, const char *json) {
    static const char *const pointers[] = {"/name",        "/version", "/variant", "/used",
                                           "/fingerprint", "/cases",   "/description"};
    ch_table_fill(t, json, pointers);
    for (size_t i = 0; i < t->n; i++) {
        char **row = t->cells[i];
        prompt_say(&row[3], "yes", "-");
        prompt_say(&row[5], "yes", "-");
        if (!row[2] || !*row[2]) {
            free(row[2]);
            row[2] = ch_dup("all");
        }
    }
}

static int prompt_list(struct ch_prompt_cmd *p) {
    static const char *const heads[] = {"PROMPT",      "VERSION", "MODELS",      "USED",
                                        "FINGERPRINT", "CASES",   "DESCRIPTION", NULL};
    struct chela_error err = {0};
    struct ch_table table = {.heads = heads, .columns = ch_console_columns(&p->console)};
    struct ch_draft d;
    char *json = chela_prompts_json(p->setup.rt, &err);
    if (!json)
        return ch_prompt_cmd_failed(p, &err);
    if (p->flags.json) {
        ch_json_line(&p->console, json);
    } else {
        fill_list(&table, json);
        ch_draft_init(&d);
        ch_table_print(&table, d.f);
        prompt_print_draft(p, &d);
        ch_table_release(&table);
    }
    chela_free(json);
    return CH_EXIT_DONE;
}

/* --- show ------------------------------------------------------------------------ */

static void prompt_print_member(FILE *out, const char *label, const char *json,
                                const char *pointer) {
    char *value = ch_prompt_member(json, pointer);
    if (*value && strcmp(value, "[]") != 0)
        fprintf(out, "%-12s %s\n", label, value);
    free(value);
}

static void print_variables(FILE *out, const char *json) {
    static const char *const heads[] = {"VARIABLE", "TRUSTED", "MEANING", NULL};
    static const char *const pointers[] = {"/name", "/untrusted", "/about"};
    struct ch_table t = {.heads = heads};
    char *list = ch_prompt_member(json, "/variables");
    ch_table_fill(&t, list, pointers);
    for (size_t i = 0; i < t.n; i++)
        prompt_say(&t.cells[i][1], "no", "yes");
    if (t.n) {
        fputc('\n', out);
        ch_table_print(&t, out);
    }
    ch_table_release(&t);
    free(list);
}

static void print_last_test(struct ch_prompt_cmd *p, FILE *out, const char *json) {
    char *dir = ch_prompt_results_dir(p->setup.env);
    char *fingerprint = ch_prompt_member(json, "/fingerprint");
    char *last = dir ? ch_prompt_last(dir, fingerprint) : NULL;
    if (last) {
        char *passed = ch_prompt_member(last, "/passed"), *runs = ch_prompt_member(last, "/runs");
        char *model = ch_prompt_member(last, "/model");
        fprintf(out, "%-12s %s of %s runs passed on %s\n", "last test", passed, runs, model);
        free(passed);
        free(runs);
        free(model);
    }
    free(last);
    free(fingerprint);
    free(dir);
}

static void print_prompt(struct ch_prompt_cmd *p, FILE *out, const char *json) {
    char *text = ch_prompt_member(json, "/text");
    prompt_print_member(out, "fingerprint", json, "/fingerprint");
    prompt_print_member(out, "file", json, "/where");
    prompt_print_member(out, "models", json, "/variant");
    prompt_print_member(out, "description", json, "/description");
    prompt_print_member(out, "changelog", json, "/changelog");
    prompt_print_member(out, "modules", json, "/modules");
    prompt_print_member(out, "headings", json, "/headings");
    prompt_print_member(out, "schema", json, "/schema");
    print_last_test(p, out, json);
    print_variables(out, json);
    fprintf(out, "\n%s\n", text);
    free(text);
}

/* The prompt named by the arguments; NULL after reporting an error. */
static char *prompt_pick(struct ch_prompt_cmd *p, const char *values, int *code) {
    struct chela_error err = {0};
    char *name, *json;
    const char *version;
    ch_prompt_split(p->args.words[0], &name, &version);
    struct chela_prompt_query q = CHELA_PROMPT_QUERY(.name = name, .version = version,
                                                     .model = p->flags.model,
                                                     .session = p->flags.session);
    json = values ? chela_prompt_render(p->setup.rt, &q, values, strlen(values), &err)
                  : chela_prompt_json(p->setup.rt, &q, &err);
    *code = json ? CH_EXIT_DONE : ch_prompt_cmd_failed(p, &err);
    free(name);
    return json;
}

static int prompt_show(struct ch_prompt_cmd *p) {
    struct ch_draft d;
    int code;
    if (p->args.n != 1) {
        ch_console_error(&p->console,
                         "which prompt? usage: chela prompt show [flags] NAME[@VERSION]");
        return CH_EXIT_USAGE;
    }
    char *json = prompt_pick(p, NULL, &code);
    if (json && p->flags.json) {
        ch_json_line(&p->console, json);
    } else if (json) {
        ch_draft_init(&d);
        print_prompt(p, d.f, json);
        prompt_print_draft(p, &d);
    }
    chela_free(json);
    return code;
}

/* --- render ---------------------------------------------------------------------- */

/* Append the members of --values, without the enclosing braces. */
static int prompt_add_values(struct ch_prompt_cmd *p, FILE *out, struct chela_error *err) {
    struct ch_cli_input in = {0};
    if (!p->flags.values)
        return 0;
    int rc = ch_input_file(p->flags.values, CH_INPUT_PROMPT, &in, err);
    char *all = rc < 0 ? NULL : chela_json_get(in.p, in.n, "", NULL);
    const char *open = all ? strchr(all, '{') : NULL, *close = all ? strrchr(all, '}') : NULL;
    if (rc == 0 && (!open || open != all || !close))
        rc = ch_problem(err, CHELA_EINVAL, "--values %s: expected a JSON object", p->flags.values);
    if (rc == 0)
        fwrite(open + 1, 1, (size_t)(close - open - 1), out);
    chela_free(all);
    ch_input_release(&in);
    return rc;
}

static int add_var(const char *var, FILE *out, struct chela_error *err) {
    const char *equals = strchr(var, '=');
    struct ch_cli_input text = {0};
    if (!equals || equals == var)
        return ch_problem(err, CHELA_EINVAL, "--var %s: expected NAME=TEXT", var);
    int rc = ch_input_text(equals + 1, CH_INPUT_PROMPT, &text, err);
    char *name = ch_format("%.*s", (int)(equals - var), var);
    if (rc == 0 && strlen(text.p) < text.n)
        rc = ch_problem(err, CHELA_EINVAL, "--var %s: the text has a NUL byte", name);
    if (rc == 0) {
        ch_draft_quote(out, name);
        fputc(':', out);
        ch_draft_quote(out, text.p);
    }
    free(name);
    ch_input_release(&text);
    return rc;
}

static char *prompt_read_values(struct ch_prompt_cmd *p, struct chela_error *err) {
    struct ch_draft d;
    ch_draft_init(&d);
    fputc('{', d.f);
    int rc = prompt_add_values(p, d.f, err);
    for (size_t i = 0; rc == 0 && i < p->flags.vars.n; i++) {
        fflush(d.f);
        if (d.n > 1)
            fputc(',', d.f);
        rc = add_var(p->flags.vars.list[i], d.f, err);
    }
    fputc('}', d.f);
    ch_draft_finish(&d);
    if (rc == 0)
        return d.p;
    free(d.p);
    return NULL;
}

static void print_rendered(struct ch_prompt_cmd *p, const char *json) {
    struct ch_draft d;
    char *system = ch_prompt_member(json, "/system"), *user = ch_prompt_member(json, "/user");
    char *fingerprint = ch_prompt_member(json, "/fingerprint");
    char *tokens = ch_prompt_member(json, "/tokens");
    ch_draft_init(&d);
    if (*system)
        fprintf(d.f, "%s\n=== user ===\n", system);
    fprintf(d.f, "%s\n", user);
    prompt_print_draft(p, &d);
    ch_console_note(&p->console, "%s, about %s tokens", fingerprint, tokens);
    free(system);
    free(user);
    free(fingerprint);
    free(tokens);
}

static int prompt_render(struct ch_prompt_cmd *p) {
    struct chela_error err = {0};
    int code;
    if (p->args.n != 1) {
        ch_console_error(&p->console,
                         "which prompt? usage: chela prompt render [flags] NAME[@VERSION]");
        return CH_EXIT_USAGE;
    }
    char *values = prompt_read_values(p, &err);
    if (!values)
        return ch_prompt_cmd_failed(p, &err);
    char *json = prompt_pick(p, values, &code);
    if (json && p->flags.json)
        ch_json_line(&p->console, json);
    else if (json)
        print_rendered(p, json);
    chela_free(json);
    free(values);
    return code;
}

/* --- commands -------------------------------------------------------------------- */

static int prompt_run_list(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                           char **argv) {
    return ch_prompt_cmd_run(cmd, env, argc, argv, prompt_list);
}

static int prompt_run_show(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                           char **argv) {
    return ch_prompt_cmd_run(cmd, env, argc, argv, prompt_show);
}

static int run_render(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return ch_prompt_cmd_run(cmd, env, argc, argv, prompt_render);
}

const struct ch_cmd ch_cmd_prompt_list = {
    .name = "prompt list",
    .args = "",
    .summary = "list prompts and their versions",
    .about = "Lists every version of every prompt, built-in or in prompts.dir, and marks the "
             "versions in use: the pinned version, else the newest one that is not under rollout.",
    .opts = list_opts,
    .run = prompt_run_list,
};

const struct ch_cmd ch_cmd_prompt_show = {
    .name = "prompt show",
    .args = "NAME[@VERSION]",
    .summary = "show a prompt's variables, schema and text",
    .about = "Shows the header and the text of a prompt file, and the result of its last test.",
    .opts = show_opts,
    .run = prompt_run_show,
};

const struct ch_cmd ch_cmd_prompt_render = {
    .name = "prompt render",
    .args = "NAME[@VERSION]",
    .summary = "render a prompt with values",
    .about = "Prints the rendered prompt: the system prompt and, below the line === user ===, the "
             "user message. Every variable needs a value, and every value needs a placeholder. "
             "Values of untrusted variables are marked as untrusted.\n\n"
             "    chela prompt render summariser --var previous=none --var focus=none \\\n"
             "        --var max_words=200 --var conversation=@talk.txt",
    .opts = render_opts,
    .run = run_render,
};
