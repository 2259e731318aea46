/* cmd_review.c -- `chela diff` and `chela apply`: the changes of a run under review. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "chela/json.h"
#include "chela/review.h"
#include "cli/command/cmd.h"
#include "cli/report/out_json.h"
#include "cli/setup/setup.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"

struct flags {
    struct ch_setup_flags setup;
    struct ch_texts files, hunks;
    bool discard, json;
};

#define AT(field) offsetof(struct flags, field)

/* clang-format off */
#define WORKSPACE                                                                                  \
    {"workspace", 0, CH_OPT_TEXT, AT(setup.workspace), "DIR", 0, 0, "Review",                      \
     "the workspace of the changes, if the session has changes in several"}
/* clang-format on */

/* The flags that name a session everywhere. Its changes are in the state directory, by its key. */
#define WHERE CH_SETUP_OPTS_CONFIG(struct flags), CH_SETUP_OPTS_STORE(struct flags)

static const struct ch_opt diff_opts[] = {
    WHERE,
    WORKSPACE,
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output",
     "print a JSON object: files with their hunks, repositories, and the patch"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt apply_opts[] = {
    WHERE,
    {"file", 0, CH_OPT_TEXTS, AT(files), "FILE", 0, 0, "Review",
     "apply only this file or directory; can be repeated. A change that others execute, such as a "
     "repository, is applied only if it is named"},
    {"hunk", 0, CH_OPT_TEXTS, AT(hunks), "N", 0, 0, "Review",
     "apply only this hunk of the --file, counted from 1; can be repeated"},
    {"discard", 0, CH_OPT_SWITCH, AT(discard), NULL, 0, 0, "Review",
     "drop the changes, or those of the --file, instead"},
    WORKSPACE,
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output",
     "print a JSON object: what was applied, and what was left"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct reviewing {
    struct flags flags;
    struct ch_args args;
    struct ch_console console;
    char *workspace; /* owned; NULL: not given */
    unsigned hunks[sizeof(((struct ch_texts *)0)->list) / sizeof(char *)];
};

/* --- input */

static int read_hunks(struct reviewing *r, struct chela_error *err) {
    const struct ch_texts *t = &r->flags.hunks;

    for (size_t i = 0; i < t->n; i++) {
        char *end;
        unsigned long n = strtoul(t->list[i], &end, 10);
        if (!*t->list[i] || *end || n < 1 || n > 1000000)
            return ch_problem(err, CHELA_EINVAL, "--hunk '%s' is not a number from 1", t->list[i]);
        r->hunks[i] = (unsigned)n;
    }
    return 0;
}

static int review_check(struct reviewing *r, const struct ch_cmd *cmd, struct chela_error *err) {
    const struct flags *f = &r->flags;

    if (r->args.n != 1)
        return ch_problem(err, CHELA_EINVAL, "chela %s needs the key of one session", cmd->name);
    if (f->discard && f->hunks.n)
        return ch_problem(err, CHELA_EINVAL, "--discard drops whole files: leave out --hunk");
    if (f->setup.workspace && !(r->workspace = realpath(f->setup.workspace, NULL)))
        return ch_problem(err, CHELA_EINVAL, "--workspace %s: there is no such directory",
                          f->setup.workspace);
    return read_hunks(r, err);
}

static int review_ask(struct reviewing *r, enum chela_review_action action, char **json,
                      struct chela_error *err) {
    const struct flags *f = &r->flags;
    const char *files[sizeof(f->files.list) / sizeof(char *) + 1] = {NULL};

    memcpy(files, f->files.list, f->files.n * sizeof(*files));
    struct chela_review_opts opts =
        CHELA_REVIEW_OPTS(.action = action, .session = r->args.words[0], .workspace = r->workspace,
                          .files = f->files.n ? files : NULL, .hunks = f->hunks.n ? r->hunks : NULL,
                          .nhunks = f->hunks.n);
    return chela_review(&opts, json, err);
}

/* --- output */

typedef int element_fn(const char *json, size_t n, void *user);

/* Calls fn for each element of a member that is an array. */
static void each(const char *json, size_t len, const char *pointer, element_fn *fn, void *user) {
    size_t n = 0;
    char *list = chela_json_get(json, len, pointer, &n);

    if (list)
        chela_json_each(list, n, fn, user);
    chela_free(list);
}

static int tell_file(const char *json, size_t n, void *user) {
    static const char *const names[] = {"/path", "/ask", "/conflict", "/large"};
    struct ch_console *c = user;
    char *v[4];

    chela_json_get_all(json, n, names, v, 4);
    if (v[0] && v[1])
        ch_console_note(c, "%s: %s; applied only with --file %s", v[0], v[1], v[0]);
    if (v[0] && v[2])
        ch_console_note(c, "%s: changed in the workspace since the run read it", v[0]);
    if (v[0] && v[3])
        ch_console_note(c, "%s: too large for the patch", v[0]);
    for (size_t i = 0; i < 4; i++)
        chela_free(v[i]);
    return 0;
}

/* A name of a branch or tag, as a string of JSON. */
static int add_ref(const char *json, size_t n, void *user) {
    char **list = user, *ref = chela_json_get(json, n, "", NULL);
    char *longer = ch_format("%s%s%s", *list, **list ? ", " : ": ", ref ? ref : "");

    free(*list);
    *list = longer;
    chela_free(ref);
    return 0;
}

/* A patch cannot hold the parts of a repository. */
static int tell_repository(const char *json, size_t n, void *user) {
    static const char *const names[] = {"/path", "/files"};
    char *v[2], *refs = ch_dup("");

    chela_json_get_all(json, n, names, v, 2);
    each(json, n, "/refs", add_ref, &refs);
    if (v[0] && v[1])
        ch_console_note(user,
                        "%s: %s changed files of the repository%s; not in the patch, applied only "
                        "with --file %s",
                        v[0], v[1], refs, v[0]);
    free(refs);
    chela_free(v[0]);
    chela_free(v[1]);
    return 0;
}

static void show_diff(struct reviewing *r, const char *json) {
    size_t n = strlen(json);
    char *patch = chela_json_get(json, n, "/patch", NULL);

    if (patch)
        ch_console_print(&r->console, patch, strlen(patch));
    chela_free(patch);
    each(json, n, "/files", tell_file, &r->console);
    each(json, n, "/repositories", tell_repository, &r->console);
}

struct told {
    struct reviewing *r;
    const char *what; /* "applied" or "discarded" */
    size_t n;
};

static int tell_done(const char *json, size_t n, void *user) {
    struct told *t = user;
    char *path = chela_json_get(json, n, "", NULL);
    char *line = ch_format("%s %s\n", t->what, path ? path : "");

    ch_console_print(&t->r->console, line, strlen(line));
    t->n++;
    free(line);
    chela_free(path);
    return 0;
}

static int tell_left(const char *json, size_t n, void *user) {
    static const char *const names[] = {"/path", "/why"};
    char *v[2];

    chela_json_get_all(json, n, names, v, 2);
    if (v[0] && v[1])
        ch_console_note(user, "left out: %s: %s; name it with --file %s", v[0], v[1], v[0]);
    chela_free(v[0]);
    chela_free(v[1]);
    return 0;
}

static void show_applied(struct reviewing *r, const char *json) {
    struct told t = {.r = r, .what = r->flags.discard ? "discarded" : "applied"};
    size_t n = strlen(json);

    each(json, n, r->flags.discard ? "/discarded" : "/applied", tell_done, &t);
    if (t.n == 0)
        ch_console_note(&r->console, "nothing was %s", t.what);
    each(json, n, "/left", tell_left, &r->console);
}

/* --- the commands */

static int review_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                      bool apply) {
    struct reviewing r = {0};
    struct chela_error err = {0};
    char *json = NULL;
    int code = ch_cmd_parse(cmd, env, argc, argv, &r.flags, &r.args);

    if (code < 0) {
        ch_console_init(&r.console, env, ch_setup_verbosity(&r.flags.setup),
                        r.flags.setup.no_color);
        enum chela_review_action action = !apply            ? CHELA_REVIEW_SHOW
                                          : r.flags.discard ? CHELA_REVIEW_DISCARD
                                                            : CHELA_REVIEW_APPLY;
        int rc = review_check(&r, cmd, &err);
        if (rc == 0)
            rc = review_ask(&r, action, &json, &err);
        if (rc < 0)
            ch_console_error(&r.console, "%s", err.message);
        else if (r.flags.json)
            ch_json_line(&r.console, json);
        else if (apply)
            show_applied(&r, json);
        else
            show_diff(&r, json);
        code = ch_console_exit(&r.console, rc < 0 ? ch_problem_exit(&err) : CH_EXIT_DONE);
        ch_console_release(&r.console);
    }
    chela_free(json);
    free(r.workspace);
    ch_args_release(&r.args);
    return code;
}

static int run_diff(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return review_run(cmd, env, argc, argv, false);
}

static int run_apply(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return review_run(cmd, env, argc, argv, true);
}

const struct ch_cmd ch_cmd_diff = {
    .name = "diff",
    .args = "SESSION",
    .summary = "print the changes of a run under review as a patch",
    .about = "Prints what the runs of a session changed under --apply review or never, as a patch "
             "that 'git apply' takes. Hunks are numbered from 1 in each file. Changes of a "
             "repository are not in the patch; a line names them.",
    .opts = diff_opts,
    .run = run_diff,
};

const struct ch_cmd ch_cmd_apply = {
    .name = "apply",
    .args = "SESSION",
    .summary = "make the changes of a run real, or drop them",
    .about =
        "Applies the changes of a session to its workspace: all of them, or those of --file and "
        "--hunk. Either all named changes are applied or none is, also if chela is killed "
        "meanwhile: the next command finishes the work. If a file changed in the workspace since "
        "the run read it, nothing is applied, and the exit status is 1.\n\n"
        "Changes of files that others execute, of instructions for agents and of repositories are "
        "left out unless --file names them. Changes of a run under --apply never cannot be "
        "applied: 'chela diff' prints them for 'git apply'.",
    .opts = apply_opts,
    .run = run_apply,
};
