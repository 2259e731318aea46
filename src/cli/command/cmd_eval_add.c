/* cmd_eval_add.c -- `chela eval add` and `chela eval import`: cases from sessions and from other
 * programs. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "chela/json.h"
#include "cli/command/cmd.h"
#include "cli/command/eval_files.h"
#include "cli/setup/setup.h"
#include "cli/support/problem.h"

struct flags {
    struct ch_setup_flags setup;
    const char *out;
    int64_t turn;
};

#define AT(field) offsetof(struct flags, field)
#define MOST (32 << 20)
#define OUT_OPT                                                                                    \
    {"out", 0, CH_OPT_TEXT, AT(out), "FILE", 0, 0, "Output",                                       \
     "write the cases to a new file; default: standard output"}

static const struct ch_opt add_opts[] = {
    {"config", 0, CH_OPT_TEXT, CH_SETUP_OPT(struct flags, config), "FILE", 0, 0, "Configuration",
     "configuration file; default: ./chela.yaml, else the user's"},
    CH_SETUP_OPTS_STORE(struct flags),
    {"turn", 0, CH_OPT_INT, AT(turn), "N", 1, 1e9, "Choice",
     "turn of the session, as 'chela why' counts; default: the last message of the user"},
    OUT_OPT,
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt import_opts[] = {
    OUT_OPT,
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct cmd {
    struct flags flags;
    struct ch_args args;
    struct ch_console console;
    struct ch_setup setup;
};

/* A case may have been edited by a person: no file is replaced. */
static int check_out(const struct cmd *c, struct chela_error *err) {
    const char *path = c->flags.out;
    return !path || access(path, F_OK) != 0
               ? 0
               : ch_problem(err, CHELA_EINVAL, "--out %s: the file exists; choose a new name",
                            path);
}

static int write_cases(struct cmd *c, const char *cases, struct chela_error *err) {
    if (!c->flags.out) {
        ch_console_print(&c->console, cases, strlen(cases));
        return 0;
    }
    int rc = ch_eval_file_write(c->flags.out, cases, err);
    if (rc == 0)
        ch_console_note(&c->console, "wrote %s", c->flags.out);
    return rc;
}

static int tell_lost(const char *lost, size_t n, void *user) {
    struct cmd *c = user;
    char *name = chela_json_get(lost, n, "/case", NULL);
    char *what = chela_json_get(lost, n, "/what", NULL);
    ch_console_note(&c->console, "not translated: %s%s%s", name ? name : "",
                    name && *name ? ": " : "", what ? what : "");
    chela_free(name);
    chela_free(what);
    return 0;
}

static int count_one(const char *element, size_t n, void *user) {
    (void)element;
    (void)n;
    ++*(unsigned *)user;
    return 0;
}

static unsigned count_of(const char *json, const char *pointer) {
    unsigned n = 0;
    char *list = chela_json_get(json, strlen(json), pointer, NULL);
    if (list)
        chela_json_each(list, strlen(list), count_one, &n);
    chela_free(list);
    return n;
}

static int import_body(struct cmd *c, struct chela_error *err) {
    struct ch_cli_input text = {0};
    int rc = c->args.n == 1 ? check_out(c, err)
                            : ch_problem(err, CHELA_EINVAL,
                                         "usage: chela eval import FILE [--out FILE]");
    if (rc == 0)
        rc = ch_input_file(c->args.words[0], MOST, &text, err);
    char *cases = rc < 0 ? NULL : chela_eval_import(text.p, text.n, c->args.words[0], err);
    ch_input_release(&text);
    if (!cases)
        return err->code = CHELA_EINVAL; /* any error: exit 2 */
    char *lost = chela_json_get(cases, strlen(cases), "/lost", NULL);
    chela_json_each(lost, strlen(lost), tell_lost, c);
    ch_console_note(&c->console, "%u cases; %u parts were not translated",
                    count_of(cases, "/cases"), count_of(cases, "/lost"));
    rc = write_cases(c, cases, err);
    chela_free(lost);
    chela_free(cases);
    return rc;
}

static int add_body(struct cmd *c, struct chela_error *err) {
    int rc = c->args.n == 1 ? check_out(c, err)
                            : ch_problem(err, CHELA_EINVAL,
                                         "usage: chela eval add SESSION [--turn N] [--out FILE]");
    if (rc == 0)
        rc = ch_setup_config(&c->setup, err);
    if (rc == 0)
        rc = ch_setup_store(&c->setup, CH_STORE_READ, err);
    if (rc < 0)
        return rc;
    char *cases = chela_eval_add(c->setup.store, c->args.words[0], (unsigned)c->flags.turn, err);
    if (!cases)
        return err->code;
    char *note = chela_json_get(cases, strlen(cases), "/cases/0/note", NULL);
    ch_console_note(&c->console, "%s", note ? note : "");
    rc = write_cases(c, cases, err);
    chela_free(note);
    chela_free(cases);
    return rc;
}

static int run_with(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                    int (*body)(struct cmd *c, struct chela_error *err)) {
    struct cmd c = {0};
    struct chela_error err = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &c.flags, &c.args);
    if (code < 0) {
        ch_setup_begin(&c.setup, env, &c.flags.setup, &c.console);
        c.setup.uses = CH_USES_STORE;
        code = ch_setup_finish(&c.setup, body(&c, &err), &err);
    }
    ch_args_release(&c.args);
    return code;
}

static int add_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return run_with(cmd, env, argc, argv, add_body);
}

static int import_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return run_with(cmd, env, argc, argv, import_body);
}

const struct ch_cmd ch_cmd_eval_add = {
    .name = "eval add",
    .args = "SESSION",
    .summary = "make a case from a stored session",
    .about =
        "Writes a case with the history before a turn of the session, the input of the turn, and "
        "the results of its tool calls as records, so that no call is made again. Keys are "
        "redacted. The note of the case tells what the store does not have. Edit `checks`: state "
        "what a right answer has.",
    .opts = add_opts,
    .run = add_run,
};

const struct ch_cmd ch_cmd_eval_import = {
    .name = "eval import",
    .args = "FILE",
    .summary = "translate cases of other programs",
    .about =
        "Translates a configuration of promptfoo (YAML), or a data set with one JSON object a line "
        "(.jsonl): input or messages, and ideal, target, expected or answer. A check that has no "
        "counterpart is named and counted, and left out.",
    .opts = import_opts,
    .run = import_run,
};
