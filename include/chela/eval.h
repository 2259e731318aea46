/* eval.h -- evaluations: run an agent on cases, several times each, and judge what it did
 * (docs/eval.md).
 *
 * A trial works in a copy of the workspace of its case, with a session of its own. Calls with an
 * effect outside of the copy are simulated unless the case says otherwise.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; the caller frees the result with chela_free.
 *   Threads: any
 *   Callbacks: yes
 *   Errors: CHELA_EPARSE: a text is not JSON or YAML. CHELA_ELIMIT: a text is too large. */
#ifndef CHELA_EVAL_H
#define CHELA_EVAL_H
#include "chela/store.h"
CHELA_BEGIN_DECLS

/* A file of cases. */
struct chela_eval_file {
    const char *name; /* path, for messages; paths of the cases are relative to its folder */
    const char *text;
    size_t len;
};

/* What the agent of a trial is made from. */
struct chela_eval_request {
    const char *agent;     /* id; NULL: the host's choice */
    const char *model;     /* "provider/model"; NULL: the agent's */
    const char *workspace; /* folder of the trial */
    const int64_t *seed;   /* for the model; NULL: none */
};

/* Makes the agent of a trial, and the agents that it may call: *agents becomes a list that ends
 * with NULL, the agent itself first, and *handle a value for `close`.
 * The host owns the agents. They must have been made for this trial alone: their tools are
 * replaced. Returns 0 or a negative code, and err. */
typedef int chela_eval_open_fn(const struct chela_eval_request *request,
                               chela_agent *const **agents, void **handle, void *user,
                               struct chela_error *err);

/* The state of an evaluation. */
struct chela_eval_progress {
    unsigned ended, total, passed; /* trials */
    unsigned reused;               /* trials that an earlier process had ended */
    double cost_usd;
    int64_t ms_left; /* a guess; negative: unknown */
};

/* An evaluation. */
struct chela_eval_opts {
    size_t size; /* set by CHELA_EVAL_OPTS */
    const struct chela_eval_file *files;
    size_t nfiles;
    /* Variants: every case runs with every agent and every model, NULL-terminated. NULL: the
     * agent that the case names, and the agent's own model. */
    const char *const *agents, *const *models;
    unsigned trials;       /* trials of each case and variant; 0: 1 */
    unsigned jobs;         /* trials at the same time; 0: 4 */
    const int64_t *seed;   /* of everything that is drawn, and of the model's requests; NULL: 1 for
                              what is drawn, none for the model */
    double budget_usd;     /* 0: no limit */
    const char *scratch;   /* existing folder for the workspaces of trials; required */
    const char *workspace; /* copied for cases that name none; NULL: an empty folder */
    /* A file that keeps the trials that have ended, so that the same evaluation goes on after a
     * crash; the caller removes it. NULL: none */
    const char *kept;
    const char *stamp; /* what trials depend on besides the options above, such as the text of a
                          configuration: kept trials with another stamp are not used; may be NULL */
    const struct chela_agent_opts *judge; /* model and service of judges; NULL: the agent's */
    const char *against; /* an earlier report: the summary has the comparison; NULL: none */
    int transcripts;     /* the report has the messages of every trial */
    chela_eval_open_fn *open;             /* required */
    void (*close)(void *handle, void *user);
    /* Called on the loop thread after each trial; nonzero: no further trial begins. May be NULL. */
    int (*progress)(const struct chela_eval_progress *p, void *user);
    void *user; /* for the functions */
};
#define CHELA_EVAL_OPTS(...) {.size = sizeof(struct chela_eval_opts), __VA_ARGS__}

/* Run an evaluation and wait for it: {"cases":[{"name","agent","model","tags","pass","interval",
 * "trials":[{"n","pass","status","reason","session","turns","calls","usage","checks"}]}],
 * "summary":{"pass","interval","cases","trials","pass_k","flaky","cost_usd","judges",...},
 * "complete"}. complete is false if the budget was used up, or the progress function ended the
 * evaluation.
 * Threads: loop
 * Callbacks: no: CHELA_EBUSY
 * Errors: also CHELA_EINVAL: a case or an option is wrong. CHELA_ESTATE: the loop belongs to a
 * host. CHELA_EBUSY: called from a callback, or another process uses the file `kept`. CHELA_EIO:
 * a file cannot be written. CHELA_ECONFIG, CHELA_EAUTH, CHELA_ENOENT: an agent cannot be made. */
CHELA_API char *chela_eval_run(chela_runtime *rt, const struct chela_eval_opts *opts,
                               struct chela_error *err);

/* Compare a report with an earlier one about the same cases: {"pass","better","worse","same","p",
 * "difference","cost_ratio","verdict":"better|worse|unclear","visible","missing"}. pass is the
 * share of the earlier report; worse: fewer passes, and p < 0.05. Cases are paired by name, and
 * by agent and model where a report has several variants of a case.
 * Errors: also CHELA_EINVAL: a text is not a report. CHELA_ENOENT: the reports share no case. */
CHELA_API char *chela_eval_compare(const char *report, const char *earlier,
                                   struct chela_error *err);

/* Forms of a report. */
enum chela_eval_form {
    CHELA_EVAL_TEXT = 0,  /* a table for people */
    CHELA_EVAL_JUNIT = 1, /* JUnit XML */
    CHELA_EVAL_HTML = 2   /* a page that needs no other file */
};

/* Write a report for people or programs.
 * Errors: also CHELA_EINVAL: there is no such form, or the text is not a report. */
CHELA_API char *chela_eval_render(const char *report, enum chela_eval_form form,
                                  struct chela_error *err);

/* Make a case from a turn of a stored session: the history before the turn, the input, and the
 * results of its tool calls as records; turn 0: the last input. Keys are redacted. The result is
 * a file of cases in JSON; its members "note" tell what the store did not have.
 * Errors: also those of chela_store_show. CHELA_EINVAL: the session has no such turn. */
CHELA_API char *chela_eval_add(chela_store *store, const char *key, unsigned turn,
                               struct chela_error *err);

/* Translate cases of another program: a configuration of promptfoo, or a data set with one JSON
 * object a line. name decides what is read: a name that ends with ".jsonl" is a data set. The
 * result is {"cases":[...],"lost":[{"case","what"}]}: what cannot be expressed is listed.
 * Errors: also CHELA_EINVAL: the text has no case. */
CHELA_API char *chela_eval_import(const char *text, size_t len, const char *name,
                                  struct chela_error *err);

CHELA_END_DECLS
#endif
