/* command.h -- tools that run a program. */
#ifndef CH_TOOL_COMMAND_H
#define CH_TOOL_COMMAND_H
#include "tool/registry/registry.h"

struct ch_pins;

/* A rule of the operator for the calls of a program, beside the schema of its arguments; zeroed:
 * none. */
struct ch_command_check {
    const char *const *argv;    /* a program that receives the call as JSON on stdin and refuses it
                                   with a non-zero exit status and its output; NULL: none */
    const struct ch_pins *pins; /* of argv */
    const char *rules;          /* JSON: arguments and the patterns, or schemas, that their values
                                   must match; NULL: none */
};

/* Compile `rules`. CHELA_EINVAL: one of them is no pattern and no schema; err names it. */
struct ch_schema;
int ch_check_rules(const struct ch_json *rules, struct ch_schema **out, struct chela_error *err);

/* A tool that runs a program: arguments as JSON on stdin, result on stdout;
 * a non-zero exit is an error result with stderr. */
struct ch_command_opts {
    struct chela_tool_opts tool; /* fn, user unused */
    const char *const *argv;     /* NULL-terminated; copied */
    const char *cwd;             /* NULL: the workspace */
    const struct ch_pins *pins;  /* as in program.h; copied */
    struct ch_command_check check; /* copied */
};
int ch_command_add(struct ch_registry *r, const struct ch_command_opts *opts,
                   struct chela_error *err);

#endif
