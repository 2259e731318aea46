/* cmd_schema.c -- `chela schema`: JSON Schema utilities.
 *
 * check reports problems of tool definitions, validate checks a value, clean rewrites a
 * schema for one vendor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chela.h"
#include "cli/command/cmd.h"
#include "cli/report/out_json.h"
#include "cli/support/draft.h"
#include "cli/support/input.h"
#include "cli/support/problem.h"

struct flags {
    const char *schema, *data, *vendor;
    struct ch_texts maps;
    bool formats, json;
};

#define AT(field) offsetof(struct flags, field)

static const struct ch_opt check_opts[] = {
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Flags", "print a JSON object for each "
                                                              "finding"},
    {.name = NULL},
};

static const struct ch_opt validate_opts[] = {
    {"schema", 0, CH_OPT_TEXT, AT(schema), "FILE", 0, 0, "Flags", "the schema"},
    {"data", 0, CH_OPT_TEXT, AT(data), "FILE|-", 0, 0, "Flags",
     "file with the value to check; default, or with -: standard input"},
    {"map", 0, CH_OPT_TEXTS, AT(maps), "URL=DIR", 0, 0, "Flags",
     "read documents under this URL from DIR; can be repeated; nothing is fetched over "
     "the network"},
    {"assert-format", 0, CH_OPT_SWITCH, AT(formats), NULL, 0, 0, "Flags",
     "also check 'format', which is otherwise an annotation"},
    {.name = NULL},
};

static const struct ch_opt clean_opts[] = {
    {"for", 0, CH_OPT_CHOICE, AT(vendor),
     "gemini|gemini-json|openai-strict|anthropic-strict", 0, 0, "Flags",
     "the dialect: Gemini's 'parameters' or 'parametersJsonSchema', or the strict mode of OpenAI "
     "or Anthropic"},
    {.name = NULL},
};

/* --- referenced documents ---------------------------------------------------------- */

struct documents {
    const struct flags *flags;
    struct ch_cli_input text; /* owned: the last document */
};

/* The part of uri after url, or NULL; "." and ".." are rejected. */
static const char *schema_below(const char *uri, const char *url, size_t n) {
    while (n && url[n - 1] == '/')
        n--;
    if (strncmp(uri, url, n) != 0 || uri[n] != '/')
        return NULL;
    const char *rest = uri + n + 1;
    for (const char *at = rest; *at; at += strcspn(at, "/"), at += *at == '/') {
        size_t part = strcspn(at, "/");
        if (part <= 2 && strspn(at, ".") >= part)
            return NULL;
    }
    return rest;
}

static const char *schema_load(const char *uri, size_t *len, void *user) {
    struct documents *d = user;
    for (size_t i = 0; i < d->flags->maps.n; i++) {
        const char *map = d->flags->maps.list[i], *equals = strrchr(map, '=');
        const char *rest = schema_below(uri, map, (size_t)(equals - map));
        struct chela_error err = {0};
        if (!rest)
            continue;
        char *path = ch_format("%s/%s", equals + 1, rest);
        ch_input_release(&d->text);
        int rc = ch_input_file(path, CH_INPUT_BODY, &d->text, &err);
        free(path);
        if (rc < 0)
            continue;
        *len = d->text.n;
        return d->text.p;
    }
    return NULL;
}

/* --- validate ------------------------------------------------------------------------ */

static int check_flags(const struct flags *f, struct chela_error *err) {
    if (!f->schema)
        return ch_problem(err, CHELA_EINVAL, "schema validate needs --schema FILE");
    for (size_t i = 0; i < f->maps.n; i++)
        if (!strchr(f->maps.list[i], '='))
            return ch_problem(err, CHELA_EINVAL, "--map must be URL=DIR, not '%s'",
                              f->maps.list[i]);
    return 0;
}

static int schema_compile(const struct flags *f, chela_schema **out, struct chela_error *err) {
    struct documents documents = {.flags = f};
    struct ch_cli_input text = {0};
    struct chela_schema_opts opts =
        CHELA_SCHEMA_OPTS(.load = schema_load, .user = &documents, .assert_format = f->formats);
    int rc = ch_input_file(f->schema, CH_INPUT_BODY, &text, err);
    if (rc < 0)
        return rc;
    rc = chela_schema_new(text.p, text.n, &opts, out, err);
    if (rc < 0)
        ch_problem_in(err, f->schema);
    ch_input_release(&text);
    ch_input_release(&documents.text);
    return rc;
}

/* Text that is not JSON counts as one violation. */
static void print_unreadable(struct ch_console *c, const char *why) {
    struct ch_draft d;
    ch_draft_init(&d);
    fputs("{\"path\":\"\",\"schema\":null,\"keyword\":null,\"expected\":\"a JSON text\","
          "\"received\":\"something else\",\"message\":",
          d.f);
    char *message = ch_format("the value is no JSON: %s", why);
    ch_draft_quote(d.f, message);
    free(message);
    fputc('}', d.f);
    ch_draft_finish(&d);
    ch_json_line(c, d.p);
    free(d.p);
}

/* Print the elements of a JSON array, one per line. Returns their number. */
static size_t print_lines(struct ch_console *c, const char *array) {
    char *line;
    size_t n = 0;
    for (;; n++) {
        char *pointer = ch_format("/%zu", n);
        line = chela_json_get(array, strlen(array), pointer, NULL);
        free(pointer);
        if (!line)
            return n;
        ch_json_line(c, line);
        chela_free(line);
    }
}

static int validate(const struct flags *f, struct ch_console *c) {
    chela_schema *schema;
    struct chela_error err = {0};
    struct ch_cli_input data = {0};
    int code = CH_EXIT_USAGE;
    if (schema_compile(f, &schema, &err) < 0) {
        ch_console_error(c, "%s", err.message);
        return code;
    }
    if (ch_input_file(f->data ? f->data : "-", CH_INPUT_BODY, &data, &err) < 0) {
        ch_console_error(c, "%s", err.message);
    } else {
        char *report = chela_schema_report(schema, data.p, data.n, &err);
        if (!report)
            print_unreadable(c, err.message);
        code = report && print_lines(c, report) == 0 ? CH_EXIT_DONE : CH_EXIT_ERROR;
        chela_free(report);
    }
    ch_input_release(&data);
    chela_schema_free(schema);
    return code;
}

/* --- check --------------------------------------------------------------------------- */

/* "warning: tool /path: message (vendors)" */
static void print_finding(struct ch_console *c, const char *json) {
    static const char *const keys[] = {"/level", "/tool", "/path", "/message", "/vendors"};
    char *part[5];
    struct ch_draft d;
    for (size_t i = 0; i < 5; i++)
        part[i] = chela_json_get(json, strlen(json), keys[i], NULL);
    ch_draft_init(&d);
    fprintf(d.f, "%s:", part[0]);
    for (size_t i = 1; i < 3; i++)
        if (part[i] && *part[i])
            fprintf(d.f, " %s", part[i]);
    fprintf(d.f, "%s %s", part[1] || (part[2] && *part[2]) ? ":" : "", part[3]);
    if (part[4])
        fprintf(d.f, " (%s)", part[4]);
    fputc('\n', d.f);
    ch_draft_finish(&d);
    ch_console_print(c, d.p, d.n);
    free(d.p);
    for (size_t i = 0; i < 5; i++)
        chela_free(part[i]);
}

static bool is_error(const char *finding) {
    char *level = chela_json_get(finding, strlen(finding), "/level", NULL);
    bool error = level && strcmp(level, "error") == 0;
    chela_free(level);
    return error;
}

static int print_findings(struct ch_console *c, const char *findings, bool json) {
    int code = CH_EXIT_DONE;
    for (size_t i = 0;; i++) {
        char *pointer = ch_format("/%zu", i);
        char *one = chela_json_get(findings, strlen(findings), pointer, NULL);
        free(pointer);
        if (!one)
            return code;
        if (json)
            ch_json_line(c, one);
        else
            print_finding(c, one);
        if (is_error(one))
            code = CH_EXIT_ERROR;
        chela_free(one);
    }
}

static int schema_check(const struct flags *f, struct ch_console *c, const char *path) {
    struct chela_error err = {0};
    struct ch_cli_input text = {0};
    int code = CH_EXIT_USAGE;
    if (ch_input_file(path, CH_INPUT_BODY, &text, &err) < 0) {
        ch_console_error(c, "%s", err.message);
        return code;
    }
    char *findings = chela_schema_lint(text.p, text.n, &err);
    if (findings)
        code = print_findings(c, findings, f->json);
    else
        ch_console_error(c, "%s: %s", path, err.message);
    chela_free(findings);
    ch_input_release(&text);
    return code;
}

/* --- clean ---------------------------------------------------------------------------- */

static void print_notes(struct ch_console *c, const char *notes) {
    while (*notes) {
        size_t n = strcspn(notes, "\n");
        ch_console_note(c, "%.*s", (int)n, notes);
        notes += n + (notes[n] == '\n');
    }
}

static void print_pretty(struct ch_console *c, const char *json) {
    struct ch_draft d;
    ch_draft_init(&d);
    ch_json_pretty(d.f, json, strlen(json));
    ch_draft_finish(&d);
    ch_console_print(c, d.p, d.n);
    free(d.p);
}

static int schema_clean(const struct flags *f, struct ch_console *c, const char *path) {
    struct chela_error err = {0};
    struct ch_cli_input text = {0};
    char *notes = NULL;
    if (ch_input_file(path, CH_INPUT_BODY, &text, &err) < 0) {
        ch_console_error(c, "%s", err.message);
        return CH_EXIT_USAGE;
    }
    char *cleaned = chela_schema_clean(text.p, text.n, f->vendor, &notes, &err);
    if (cleaned) {
        print_pretty(c, cleaned);
        print_notes(c, notes);
    } else {
        ch_console_error(c, "%s: %s", path, err.message);
    }
    int code = cleaned ? CH_EXIT_DONE : err.code == CHELA_EPARSE ? CH_EXIT_USAGE : CH_EXIT_ERROR;
    chela_free(cleaned);
    chela_free(notes);
    ch_input_release(&text);
    return code;
}

/* --- commands --------------------------------------------------------------------------- */

/* The body of a command, after its flags are parsed. */
typedef int body_fn(const struct flags *f, const struct ch_args *args, struct ch_console *c);

static int schema_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                      body_fn *body) {
    struct flags f = {0};
    struct ch_args args;
    struct ch_console console;
    int code = ch_cmd_parse(cmd, env, argc, argv, &f, &args);
    if (code < 0) {
        ch_console_init(&console, env, CH_NORMAL, false);
        code = ch_console_exit(&console, body(&f, &args, &console));
        ch_console_release(&console);
    }
    ch_args_release(&args);
    return code;
}

static int schema_bad_usage(struct ch_console *c, const char *problem) {
    ch_console_error(c, "%s", problem);
    return CH_EXIT_USAGE;
}

static int check_body(const struct flags *f, const struct ch_args *args, struct ch_console *c) {
    if (args->n != 1)
        return schema_bad_usage(c, "schema check takes one FILE, or - for standard input");
    return schema_check(f, c, args->words[0]);
}

static int validate_body(const struct flags *f, const struct ch_args *args, struct ch_console *c) {
    struct chela_error err = {0};
    (void)args;
    return check_flags(f, &err) < 0 ? schema_bad_usage(c, err.message) : validate(f, c);
}

static int clean_body(const struct flags *f, const struct ch_args *args, struct ch_console *c) {
    if (!f->vendor)
        return schema_bad_usage(c, "schema clean needs --for gemini, gemini-json, openai-strict or "
                                   "anthropic-strict");
    if (args->n != 1)
        return schema_bad_usage(c, "schema clean takes one FILE, or - for standard input");
    return schema_clean(f, c, args->words[0]);
}

static int schema_run_check(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                            char **argv) {
    return schema_run(cmd, env, argc, argv, check_body);
}

static int run_validate(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return schema_run(cmd, env, argc, argv, validate_body);
}

static int run_clean(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return schema_run(cmd, env, argc, argv, clean_body);
}

const struct ch_cmd ch_cmd_schema_check = {
    .name = "schema check",
    .args = "FILE|-",
    .summary = "check a schema or a tool's definition",
    .about = "Reads a JSON Schema, a tool's definition (name, description, parameters) or a list "
             "of definitions, and reports problems for models and vendors: too many parameters, "
             "deep nesting, poor descriptions, keywords that some vendors reject. The exit status "
             "is 0 if there are only recommendations, 1 if a vendor would reject the schema, and "
             "2 if the input is not a schema.",
    .opts = check_opts,
    .run = schema_run_check,
};

const struct ch_cmd ch_cmd_schema_validate = {
    .name = "schema validate",
    .args = "",
    .summary = "validate a value against a schema",
    .about = "Validates a JSON value against a JSON Schema (draft 2020-12, or 2019-09 and 7 if "
             "$schema selects them) and prints each violation as a JSON object on its own line. "
             "The exit status is 0 if the value is valid, 1 if it is not, and 2 if the schema is "
             "invalid or refers to missing documents.",
    .opts = validate_opts,
    .run = run_validate,
};

const struct ch_cmd ch_cmd_schema_clean = {
    .name = "schema clean",
    .args = "FILE|-",
    .summary = "rewrite a schema for one vendor",
    .about = "Prints the schema in the dialect of a vendor. Omitted constraints are reported on "
             "standard error. The exit status is 1 if the dialect cannot express the schema.",
    .opts = clean_opts,
    .run = run_clean,
};
