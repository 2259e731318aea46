/* cmd_models.c -- `chela models`: lists models and probes one.
 *
 * `list` makes no request unless a provider is named; `probe` makes one small call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chela/models.h"
#include "cli/command/cmd.h"
#include "cli/report/out_json.h"
#include "cli/setup/run_opts.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/report/out.h"
#include "cli/support/problem.h"
#include "cli/setup/setup.h"
#include "cli/term/pager.h"
#include "cli/term/table.h"

struct flags {
    struct ch_setup_flags setup;
    const char *model, *base_url, *api_key_env;
    const char *from;
    bool json, no_stream, dry_run;
};

#define AT(field) offsetof(struct flags, field)

static const struct ch_opt list_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output",
     "print a JSON object of providers and models"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt probe_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    {"model", 0, CH_OPT_TEXT, AT(model), "PROVIDER/MODEL", 0, 0, "Model",
     "model to test; can also be given as an argument"},
    CH_RUN_OPTS_ENDPOINT(struct flags),
    {"no-stream", 0, CH_OPT_SWITCH, AT(no_stream), NULL, 0, 0, "Model",
     "request a complete reply instead of a stream"},
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output", "print a JSON object"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt update_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    {"from", 0, CH_OPT_TEXT, AT(from), "FILE|URL", 0, 0, "Source",
     "list of models: a service's, models.dev's api.json or LiteLLM's prices; or a provider, whose "
     "list is asked for; default: the lists of all providers with a key"},
    {"dry-run", 'n', CH_OPT_SWITCH, AT(dry_run), NULL, 0, 0, "Source",
     "show what would change, and write nothing"},
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output",
     "print a JSON object of the changes"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct models {
    struct flags flags;
    struct ch_args args;
    struct ch_console console;
    struct ch_setup setup;
};

/* --- a member of the JSON as text; "" if null or missing */

static char *models_text(const char *json, size_t n, const char *pointer) {
    char *value = chela_json_get(json, n, pointer, NULL);
    char *copy = ch_dup(value && strcmp(value, "null") != 0 ? value : "");
    chela_free(value);
    return copy;
}

static char *models_member(const char *json, const char *list, size_t i, const char *name) {
    char *pointer = list ? ch_format("/%s/%zu/%s", list, i, name) : ch_format("/%s", name);
    char *text = models_text(json, strlen(json), pointer);
    free(pointer);
    return text;
}

/* --- list */

static const char *const model_heads[] = {"MODEL",   "CONTEXT", "OUTPUT", "IMAGES", "$/M IN",
                                          "$/M OUT", "ENDS",    "FROM",   "ID",     NULL};
static const char *const provider_heads[] = {"PROVIDER", "PROTOCOL", "KEY", "ADDRESS", NULL};

static char *or_dash(char *text) {
    if (*text)
        return text;
    free(text);
    return ch_dup("-");
}

static int models_add_row(const char *model, size_t n, void *table) {
    static const char *const rest[] = {"/context_window", "/max_output", "/images",
                                       "/price/input",    "/price/output", "/ends",
                                       "/source",         "/resolved"};
    char *provider = models_text(model, n, "/provider"), *name = models_text(model, n, "/model");
    char **row = ch_table_row(table);
    row[0] = ch_format("%s/%s", provider, name);
    for (size_t c = 0; c < sizeof(rest) / sizeof(rest[0]); c++)
        row[c + 1] = or_dash(models_text(model, n, rest[c]));
    if (strcmp(row[3], "true") == 0)
        memcpy(row[3], "yes", 4);
    else if (strcmp(row[3], "false") == 0)
        memcpy(row[3], "no", 3);
    free(provider);
    free(name);
    return 0;
}

/* A server may offer many models: each is parsed by itself. */
static void models_list_models(const char *json, unsigned columns, FILE *out) {
    struct ch_table t = {.heads = model_heads, .columns = columns};
    char *list = chela_json_get(json, strlen(json), "/models", NULL);
    if (list)
        chela_json_each(list, strlen(list), models_add_row, &t);
    chela_free(list);
    if (t.n)
        ch_table_print(&t, out);
    ch_table_release(&t);
}

static void list_providers(const char *json, unsigned columns, FILE *out) {
    struct ch_table t = {.heads = provider_heads, .columns = columns};
    for (size_t i = 0;; i++) {
        char *name = models_member(json, "providers", i, "name");
        if (!*name) {
            free(name);
            break;
        }
        char *key = models_member(json, "providers", i, "key");
        char *env = models_member(json, "providers", i, "key_env");
        char **row = ch_table_row(&t);
        row[0] = name;
        row[1] = or_dash(models_member(json, "providers", i, "api"));
        row[2] = *env ? ch_format("%s%s", env, strcmp(key, "true") == 0 ? " (set)" : "")
                      : ch_dup(strcmp(key, "true") == 0 ? "(set)" : "-");
        row[3] = or_dash(models_member(json, "providers", i, "base_url"));
        free(key);
        free(env);
    }
    ch_table_print(&t, out);
    ch_table_release(&t);
}

/* Days since a day such as 2026-11-19; negative: it is none. */
static long days_since(const char *day) {
    struct tm t = {0};
    if (sscanf(day, "%4d-%2d-%2d", &t.tm_year, &t.tm_mon, &t.tm_mday) != 3)
        return -1;
    t.tm_year -= 1900;
    t.tm_mon--;
    return (long)((ch_wall_ms() / 1000 - (int64_t)timegm(&t)) / 86400);
}

static void print_age(FILE *out, const char *what, const char *day) {
    long days = days_since(day);
    fprintf(out, "%s, as of %s", what, *day ? day : "an unknown day");
    if (days > 0)
        fprintf(out, " (%ld day%s old)", days, days == 1 ? "" : "s");
    fputc('\n', out);
}

/* Where the facts are from, and how old they are. */
static void list_sources(const char *json, FILE *out) {
    char *as_of = models_text(json, strlen(json), "/facts/as_of");
    char *file = models_text(json, strlen(json), "/facts/file");
    char *models = models_text(json, strlen(json), "/facts/file_models");
    char *file_as_of = models_text(json, strlen(json), "/facts/file_as_of");
    print_age(out, "facts: table: built in", as_of);
    if (strcmp(models, "0") != 0) {
        char *what = ch_format("facts: file: %s, %s models", file, models);
        print_age(out, what, file_as_of);
        free(what);
    }
    free(as_of);
    free(file);
    free(models);
    free(file_as_of);
}

static void warn_of_faults(struct models *m, const char *json) {
    for (size_t i = 0;; i++) {
        char *pointer = ch_format("/facts/faults/%zu", i);
        char *text = models_text(json, strlen(json), pointer);
        free(pointer);
        bool more = *text;
        if (more)
            ch_console_note(&m->console, "%s", text);
        free(text);
        if (!more)
            return;
    }
}

static int models_print_list(struct models *m, const char *json, bool one) {
    struct ch_draft d;
    if (m->flags.json) {
        ch_json_line(&m->console, json);
        return CH_EXIT_DONE;
    }
    ch_draft_init(&d);
    models_list_models(json, ch_console_columns(&m->console), d.f);
    if (!one) {
        fputc('\n', d.f);
        list_providers(json, ch_console_columns(&m->console), d.f);
        fputc('\n', d.f);
        list_sources(json, d.f);
    }
    ch_draft_finish(&d);
    ch_console_page(&m->console, d.p, d.n);
    free(d.p);
    warn_of_faults(m, json);
    return CH_EXIT_DONE;
}

static int models_list(struct models *m) {
    struct chela_error err = {0};
    if (m->args.n > 1) {
        ch_console_error(&m->console, "one provider at a time: chela models list [PROVIDER]");
        return CH_EXIT_USAGE;
    }
    const char *only = m->args.n ? m->args.words[0] : NULL;
    char *json = chela_models_json(m->setup.rt, only, &err);
    if (!json) {
        ch_console_error(&m->console, "%s%s%s", only ? only : "", only ? ": " : "", err.message);
        return err.code == CHELA_ENOENT ? CH_EXIT_USAGE : ch_problem_exit(&err);
    }
    int code = models_print_list(m, json, only != NULL);
    chela_free(json);
    return code;
}

/* --- probe */

static const char *yes_no(const char *json_bool) {
    return strcmp(json_bool, "true") == 0 ? "yes" : strcmp(json_bool, "false") == 0 ? "no" : "?";
}

static void print_fact(FILE *out, const char *name, const char *value, const char *more) {
    fprintf(out, "%-10s %s%s\n", name, value, more);
}

/* What the service's own list says against the facts. */
static void print_disagreements(const char *json, FILE *out) {
    for (size_t i = 0;; i++) {
        char *column = models_member(json, "disagrees", i, "column");
        char *facts = models_member(json, "disagrees", i, "facts");
        char *server = models_member(json, "disagrees", i, "server");
        bool more = *column;
        if (more)
            fprintf(out, "%-10s %s: %s is known, the server says %s\n", "differs", column,
                    *facts ? facts : "nothing", *server ? server : "nothing");
        free(column);
        free(facts);
        free(server);
        if (!more)
            return;
    }
}

static void print_probe(const char *json, FILE *out) {
    static const char *const names[] = {
        "model",  "resolved", "api",      "base_url", "context_window", "context_source",
        "stream", "tools",    "parallel", "first_ms", "total_ms",       "tools_error"};
    enum { MODEL, ID, API, URL, WINDOW, SOURCE, STREAM, TOOLS, PARALLEL, FIRST, TOTAL, WHY, N };
    char *v[N];
    for (size_t i = 0; i < N; i++)
        v[i] = models_member(json, NULL, 0, names[i]);
    char *source = *v[SOURCE] ? ch_format(" tokens (%s)", strcmp(v[SOURCE], "server") == 0
                                                              ? "the server says"
                                                              : "known of this model")
                              : ch_dup("");
    char *why = *v[WHY] ? ch_format(" (%s; prompted+%s may work)", v[WHY], v[MODEL]) : ch_dup("");
    char *time = ch_format("%s ms to the first piece, %s ms in all", v[FIRST], v[TOTAL]);
    print_fact(out, "model", v[MODEL], "");
    print_fact(out, "id", v[ID], "");
    print_fact(out, "protocol", v[API], "");
    print_fact(out, "address", v[URL], "");
    print_fact(out, "context", *v[WINDOW] ? v[WINDOW] : "?", source);
    print_fact(out, "stream", yes_no(v[STREAM]), "");
    print_fact(out, "tools", yes_no(v[TOOLS]), why);
    print_fact(out, "parallel", yes_no(v[PARALLEL]), "");
    print_fact(out, "time", time, "");
    print_disagreements(json, out);
    for (size_t i = 0; i < N; i++)
        free(v[i]);
    free(source);
    free(why);
    free(time);
}

static int print_probed(struct models *m, const char *json) {
    char *error = models_member(json, NULL, 0, "error");
    int code = *error ? CH_EXIT_ERROR : CH_EXIT_DONE;
    if (m->flags.json) {
        ch_json_line(&m->console, json);
    } else if (*error) {
        ch_console_error(&m->console, "%s", error);
    } else {
        struct ch_draft d;
        ch_draft_init(&d);
        print_probe(json, d.f);
        ch_draft_finish(&d);
        ch_console_print(&m->console, d.p, d.n);
        free(d.p);
    }
    free(error);
    return code;
}

static int probe(struct models *m) {
    struct chela_error err = {0};
    struct chela_request_opts request = CHELA_REQUEST_OPTS(.no_stream = m->flags.no_stream);
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.base_url = m->flags.base_url, .api_key_env = m->flags.api_key_env,
                         .request = &request);
    opts.model = m->args.n ? m->args.words[0] : m->flags.model;
    int rc = m->args.n > 1 ? ch_problem(&err, CHELA_ECONFIG, "one model at a time") : 0;
    if (rc == 0 && !opts.model && m->setup.config)
        rc = chela_config_agent(m->setup.config, m->flags.setup.agent, &opts, &err);
    char *json = rc == 0 ? chela_model_probe(m->setup.rt, &opts, &err) : NULL;
    if (!json) {
        ch_console_error(&m->console, "%s", err.message);
        return ch_problem_exit(&err);
    }
    int code = print_probed(m, json);
    chela_free(json);
    return code;
}

/* --- update */

static int add_change(const char *change, size_t n, void *table) {
    char **row = ch_table_row(table);
    row[0] = models_text(change, n, "/match");
    row[1] = models_text(change, n, "/column");
    row[2] = or_dash(models_text(change, n, "/before"));
    row[3] = or_dash(models_text(change, n, "/after"));
    return 0;
}

static void print_changes(const char *json, unsigned columns, FILE *out) {
    static const char *const heads[] = {"MODEL", "FACT", "BEFORE", "AFTER", NULL};
    struct ch_table t = {.heads = heads, .columns = columns};
    char *list = chela_json_get(json, strlen(json), "/changes", NULL);
    if (list)
        chela_json_each(list, strlen(list), add_change, &t);
    chela_free(list);
    if (t.n)
        ch_table_print(&t, out);
    ch_table_release(&t);
}

static void print_texts(struct models *m, const char *json, const char *list, const char *before) {
    for (size_t i = 0;; i++) {
        char *pointer = ch_format("/%s/%zu", list, i);
        char *text = models_text(json, strlen(json), pointer);
        free(pointer);
        bool more = *text;
        if (more)
            ch_console_note(&m->console, "%s%s", before, text);
        free(text);
        if (!more)
            return;
    }
}

static void print_update(struct models *m, const char *json) {
    char *file = models_text(json, strlen(json), "/file");
    char *written = models_text(json, strlen(json), "/written");
    char *models = models_text(json, strlen(json), "/models");
    char *first = models_text(json, strlen(json), "/changes/0/match");
    struct ch_draft d;
    ch_draft_init(&d);
    print_changes(json, ch_console_columns(&m->console), d.f);
    if (!*first)
        fprintf(d.f, "%s models are as known: nothing changes\n", models);
    else if (strcmp(written, "true") == 0)
        fprintf(d.f, "written: %s\n", file);
    else
        fprintf(d.f, "not written, because of --dry-run: %s\n", file);
    ch_draft_finish(&d);
    ch_console_print(&m->console, d.p, d.n);
    free(d.p);
    print_texts(m, json, "warnings", "");
    print_texts(m, json, "kept", "your own row stays as it is: ");
    free(file);
    free(written);
    free(models);
    free(first);
}

/* Whatever goes wrong, the file is as it was. */
static int models_update(struct models *m) {
    struct chela_error err = {0};
    const char *from = m->flags.from ? m->flags.from : m->args.n ? m->args.words[0] : NULL;
    if (m->args.n > 1 || (m->args.n && m->flags.from)) {
        ch_console_error(&m->console, "one source at a time: chela models update --from FILE|URL");
        return CH_EXIT_USAGE;
    }
    char *json = chela_models_update(m->setup.rt, from, m->flags.dry_run, &err);
    if (!json) {
        ch_console_error(&m->console, "%s; nothing is changed", err.message);
        return CH_EXIT_USAGE;
    }
    if (m->flags.json)
        ch_json_line(&m->console, json);
    else
        print_update(m, json);
    chela_free(json);
    return CH_EXIT_DONE;
}

/* --- commands */

static int with_runtime(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                        int (*body)(struct models *m)) {
    struct models m = {0};
    struct chela_error err = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &m.flags, &m.args);

    if (code < 0) {
        ch_console_init(&m.console, env, ch_setup_verbosity(&m.flags.setup),
                        m.flags.setup.no_color);
        m.setup = (struct ch_setup){.env = env,
                                    .flags = &m.flags.setup,
                                    .console = &m.console,
                                    .uses = cmd == &ch_cmd_models_probe ? CH_USES_MODEL
                                                                        : CH_USES_NOTHING,
                                    .model = m.args.n ? m.args.words[0] : m.flags.model};
        int rc = ch_setup_config(&m.setup, &err);
        if (rc == 0)
            rc = ch_setup_runtime(&m.setup, &err);
        if (rc == 0) {
            code = body(&m);
        } else {
            ch_console_error(&m.console, "%s", err.message);
            code = ch_problem_exit(&err);
        }
        ch_setup_release(&m.setup);
        code = ch_console_exit(&m.console, code);
        ch_console_release(&m.console);
    }
    ch_args_release(&m.args);
    return code;
}

static int models_run_list(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                           char **argv) {
    return with_runtime(cmd, env, argc, argv, models_list);
}

static int run_probe(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return with_runtime(cmd, env, argc, argv, probe);
}

static int run_update(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return with_runtime(cmd, env, argc, argv, models_update);
}

const struct ch_cmd ch_cmd_models_update = {
    .name = "models update",
    .args = "[PROVIDER]",
    .summary = "bring the file of facts about models up to date",
    .about = "Reads a list of models, shows how it differs from what chela knows (context windows, "
             "prices, efforts, last days), and writes the differences to the user's file, "
             "$XDG_CONFIG_HOME/chela/models.json. Rows of this file that have no \"source\" are "
             "yours and stay as they are. chela never runs this command by itself.\n\n"
             "    chela models update\n"
             "    chela models update --dry-run --from https://models.dev/api.json\n\n"
             "The exit status is 2 if the list cannot be fetched or read, or makes no sense; the "
             "file is then unchanged.",
    .opts = update_opts,
    .run = run_update,
};

const struct ch_cmd ch_cmd_models_list = {
    .name = "models list",
    .args = "[PROVIDER]",
    .summary = "list known models, or a provider's models",
    .about = "Without an argument: lists the models with known context windows and prices, and "
             "the providers with the environment variables of their keys. With a provider: lists "
             "the models that its server offers now. Models of a service are listed from the "
             "newest on, those past their last day at its end. A dash stands for an unknown value. "
             "FROM says where the facts are from: the built-in table, your file or the "
             "configuration. The last column is the id that an alias stands for.",
    .opts = list_opts,
    .run = models_run_list,
};

const struct ch_cmd ch_cmd_models_probe = {
    .name = "models probe",
    .args = "[PROVIDER/MODEL]",
    .summary = "test what a model supports",
    .about = "Makes one small model call with two tools that do nothing. Reports whether the "
             "reply was streamed, whether the model called the tools, whether it called both in "
             "one reply, the time, and the size of the context window. If the call with tools "
             "fails, it is made once more without tools. Lines 'differs' show where the service's "
             "own list says something else than the facts. The default is the model that 'chela "
             "run' would use.\n\n"
             "The exit status is 1 if the model did not answer.",
    .opts = probe_opts,
    .run = run_probe,
};
