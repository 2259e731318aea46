/* eval_case.h -- reads the cases of an evaluation: inputs, set-up and checks (docs/eval.md).
 *
 * A file is YAML or JSON. Reading is pure: no other file is opened. Paths of a case are relative
 * to the folder of its file. A case that contradicts itself is refused. */
#ifndef CH_EVAL_CASE_H
#define CH_EVAL_CASE_H
#include "base/arena.h"
#include "json/yaml.h"
#include "schema/schema.h"
#include "schema/schema_pattern.h"

enum ch_eval_kind {
    CH_EVAL_EQUALS,   /* of the answer or a file: `text` */
    CH_EVAL_MATCHES,  /* `pattern` */
    CH_EVAL_CONTAINS, /* `text` */
    CH_EVAL_SCHEMA,   /* of the answer: `schema` */
    CH_EVAL_ABSENT,   /* of a file */
    CH_EVAL_JUDGE,    /* of the answer: `json` */
    CH_EVAL_INCLUDE,  /* a call of `text`, with arguments of `schema` (may be NULL) */
    CH_EVAL_EXCLUDE,  /* no call of `text` */
    CH_EVAL_ORDER,    /* calls of the names in `json`, in this order */
    CH_EVAL_STATUS,   /* status or reason: one of `json` */
    CH_EVAL_TURNS,    /* at most `most` */
    CH_EVAL_TOKENS,
    CH_EVAL_COST,
    CH_EVAL_SECONDS,
    CH_EVAL_PROGRAM, /* `json`: arguments */
};

struct ch_eval_check {
    enum ch_eval_kind kind;
    const char *label; /* "answer.contains", "files.PATH.equals" */
    const char *file;  /* of the workspace; NULL: the answer */
    const char *text;
    const struct ch_json *json;
    struct ch_pattern *pattern;
    struct ch_schema *schema; /* owned */
    double most;
};

struct ch_eval_turn {
    const char *text, *sender; /* sender NULL: none */
};

enum ch_eval_source { CH_EVAL_REAL, CH_EVAL_RECORDED, CH_EVAL_RESULT, CH_EVAL_COMMAND };

struct ch_eval_tool { /* how the calls of a tool are answered */
    const char *name;
    enum ch_eval_source source;
    const struct ch_json *result; /* RESULT, COMMAND: the arguments of a program */
    bool is_error;                /* RESULT */
};

struct ch_eval_case {
    const char *name, *where; /* where: "FILE:LINE:COLUMN" */
    const char *agent;        /* NULL: not named */
    const char *workspace;    /* NULL: none; relative to `folder` unless absolute */
    const char *folder;       /* of the file; "": the current directory */
    struct ch_eval_turn *turns;
    size_t nturns;
    const struct ch_json *history;  /* messages before the first turn; NULL: none */
    const struct ch_json *recorded; /* [{name, arguments, result, is_error}]; NULL: none */
    struct ch_eval_tool *tools;
    size_t ntools;
    struct ch_eval_check *checks;
    size_t nchecks, checks_cap;
    const struct ch_json *tags;  /* NULL: none */
    const struct ch_json *whole; /* the case as it is in the file */
    bool wants_status;           /* a check is about the status */
};

struct ch_eval_file { /* one file; zeroed: none */
    struct ch_arena arena;
    struct ch_yaml yaml;
    const char *folder;
    struct ch_eval_case *list;
    size_t n;
    struct ch_patterns patterns;
};

/* Reads a file. name is its path. Release f in every case. CHELA_EINVAL, CHELA_EPARSE,
 * CHELA_ELIMIT: err is "FILE:LINE:COLUMN: case NAME: reason". A file with several wrong cases
 * tells the first, and how many there are. */
int ch_eval_file_read(struct ch_eval_file *f, struct ch_sv text, const char *name,
                      struct chela_error *err);
void ch_eval_file_release(struct ch_eval_file *f);

/* How the calls of a tool are answered; NULL: the case does not name it. */
const struct ch_eval_tool *ch_eval_case_tool(const struct ch_eval_case *c, struct ch_sv name);

#endif
