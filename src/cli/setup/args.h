/* args.h -- command line flags, described by one table.
 *
 * A command has one table of options. The parser, the --help text and the manual are
 * generated from that table, so they cannot disagree. Values are written directly into the
 * command's struct, at the offset in the row. */
#ifndef CH_CLI_ARGS_H
#define CH_CLI_ARGS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chela/error.h"

#include "chela/choice.h"
#include "cli/support/input.h"

struct ch_real { /* a number for which 0 is a valid value */
    bool set;
    double value;
};

struct ch_texts { /* a flag that may be given several times */
    const char *list[32];
    size_t n;
};

enum ch_opt_kind {
    CH_OPT_SWITCH, /* bool: no value */
    CH_OPT_TEXT,   /* const char *: borrowed from argv */
    CH_OPT_TEXTS,  /* struct ch_texts: all values */
    CH_OPT_CHOICE, /* const char *: one of the words of .value, "a|b|c" */
    CH_OPT_INT,    /* int64_t in min..max */
    CH_OPT_LIMIT,  /* int64_t in 0..max; 0 is stored as -1: no limit */
    CH_OPT_REAL,   /* struct ch_real in min..max */
};

struct ch_opt {
    const char *name; /* without dashes; NULL ends a table */
    char letter;      /* short form, 0 for none */
    enum ch_opt_kind kind;
    size_t at;         /* offset of the field in the command's struct */
    const char *value; /* name of the value in help, or the choices */
    double min, max;
    const char *group; /* heading in help; rows of a group are adjacent */
    const char *help;
};

struct ch_args {
    const char **words; /* arguments that are not flags, in order; owned array, borrowed texts */
    size_t n;
    bool help; /* --help or -h was given */
};

/* Split argv (argc entries, without the command's name) into flags, written to *into, and
 * words. `later` (may be NULL, NULL-terminated) lists flags that are known but not
 * supported in this version. Accepts --flag value, --flag=value, -x, -xyz, -x value,
 * -xvalue; after "--" all arguments are words, and "-" always is one. The last value of a
 * repeated flag counts, except for CH_OPT_TEXTS.
 *
 * Returns 0, or CHELA_EINVAL with the first problem in *err; the rest is parsed too, so
 * that --output is known when the problem is reported. Release args in both cases. */
int ch_args_parse(const struct ch_opt *opts, const char *const *later, int argc, char *const *argv,
                  void *into, struct ch_args *args, struct chela_error *err);
void ch_args_release(struct ch_args *args);

/* The value of a word that a CH_OPT_CHOICE option took; NULL: 0, the default. */
int ch_args_choice(enum chela_choice set, const char *word);

/* True if one of the words is "-". */
bool ch_args_want_stdin(const struct ch_args *args);
/* Join the words, except "-", by spaces; then a blank line and the input. */
struct ch_cli_input ch_args_join(const struct ch_args *args, const struct ch_cli_input *in);

#endif
