/* option.h -- the one table of options that chela.yaml may hold.
 *
 * Parsing, type errors, suggestions for misspelt keys, `chela config schema`
 * and the table in docs/configuration.md all come from it: adding an option is
 * adding a row, and a member of the struct it fills (conf.h).
 *
 * A scope is a kind of mapping with keys of its own (the file, an agent, a
 * provider, ...). Rows of a scope name their key by a dotted path below it;
 * rows of the group types say that another scope begins there. */
#ifndef CH_CONFIG_OPTION_H
#define CH_CONFIG_OPTION_H
#include <stdbool.h>
#include <stddef.h>

#include "base/sv.h"

enum ch_scope { CH_SCOPE_FILE, CH_SCOPE_AGENT, CH_SCOPE_PROVIDER, CH_SCOPE_MODEL, CH_SCOPE_TOOL,
                CH_SCOPE_POLICY, CH_SCOPE_HOOK, CH_SCOPE_SCHEDULE };

/* X(name, what users call it, C type of the member that it fills) */
#define CH_CFG_TYPES(X)                                                                         \
    X(TEXT, "text", const char *)                                                               \
    X(NAME, "name", const char *) /* [a-zA-Z0-9_-]{1,64} */                                     \
    X(PATH, "path", const char *) /* resolved against the file's directory */                   \
    X(URL, "http(s) URL", const char *)                                                         \
    X(SMTP, "smtp(s) URL", const char *)                                                        \
    X(WHEN, "time", const char *)       /* as in schedules.md */                                \
    X(SPAN, "time span", const char *)  /* 30m, 6h */                                           \
    X(HOURS, "hours", const char *)     /* 22:00-07:00 */                                       \
    X(ENV, "variable name", const char *)                                                       \
    X(ENVS, "variable name, or a list", const char *) /* joined with commas */                  \
    X(CHOICE, "choice", const char *) /* one of `words` */                                      \
    X(BOOL, "true or false", bool)                                                              \
    X(UNLESS, "true or false", bool) /* true unless the file says false: kept inverted */       \
    X(INT, "whole number", int64_t)                                                             \
    X(LIMIT, "whole number, 0: no limit", int64_t) /* 0 is kept as -1, as the library has it */ \
    X(COUNT, "whole number, 0: none", int64_t)     /* likewise */                               \
    X(SECONDS, "seconds, 0: no limit", int64_t)    /* kept as milliseconds; likewise */         \
    X(BUDGET, "number, 0: no limit", double)       /* likewise */                               \
    X(NUMBER, "number", const double *)                                                         \
    X(NAMES, "list of names", const char *) /* joined with commas; "" when empty */             \
    X(PATTERNS, "list of patterns", const char *) /* of hosts or addresses; likewise */         \
    X(PATHS, "list of paths", const char *const *)                                              \
    X(PLACES, "list of paths", const char *const *) /* or the word `workspace` */               \
    X(INSIDE, "list of paths", const char *const *) /* of the workspace, or absolute */         \
    X(MODEL, "PROVIDER/MODEL", const char *)                                                    \
    X(MODELS, "PROVIDER/MODEL, or a list", const char *const *)                                 \
    X(COMMAND, "list of texts", const char *const *)                                            \
    X(TEXTS, "list of texts", const char *const *)                                              \
    X(HEADERS, "mapping of texts", const char *const *) /* "Name: value" */                     \
    X(DATABASES, "mapping of names to URLs", const char *const *) /* "databases.NAME=URL" */    \
    X(QUIRKS, "mapping of true or false", const char *) /* "a,-b" */                            \
    X(JSON, "mapping", const char *)                    /* as compact JSON */                   \
    X(APPROVALS, "mapping of tools to ask, auto or deny", struct ch_conf_approvals)             \
    X(FOLDER, "path", struct ch_conf_item) /* and where it stands */                            \
    X(PINS, "mapping of prompts to versions", struct ch_conf_list)                              \
    X(ROLLOUT, "mapping of prompts to versions and percentages", struct ch_conf_list)           \
    X(REFUSED, "refused", void)                         /* an error that says `help` */         \
    X(ANY, "anything", void)                            /* known, not looked into */            \
    X(ONE, "mapping", struct of its scope)              /* one mapping of scope `of` */         \
    X(LIST, "list of mappings", struct ch_conf_list)                                            \
    X(MAP, "mapping by name", struct ch_conf_list)

enum ch_cfg_type {
#define CH_CFG_ENUM(name, text, member) CH_CFG_##name,
    CH_CFG_TYPES(CH_CFG_ENUM)
#undef CH_CFG_ENUM
};

enum ch_cfg_flags {
    CH_CFG_REQUIRED = 1,
    CH_CFG_ITEM = 2,   /* only for entries of a list, not for defaults */
    CH_CFG_SECRET = 4, /* the value is never shown, and redacted elsewhere */
    CH_CFG_UNUSED = 8, /* known, without effect: not in the manual */
    CH_CFG_ADDRESS = 16, /* text; a password in it is not shown, and redacted elsewhere */
};

struct ch_option {
    enum ch_scope scope;
    const char *key; /* "limits.maxTurns" */
    enum ch_cfg_type type;
    unsigned flags;
    size_t offset;         /* of the member, in the struct of the scope */
    double min, max;       /* of numbers */
    const char *words;     /* of choices: "once|keyed|read" */
    enum ch_scope of;      /* of groups */
    const char *otherwise; /* what holds without it, as users would write it; NULL: nothing */
    const char *help;
};

extern const struct ch_option ch_options[]; /* ended by key == NULL */

const char *ch_cfg_type_name(enum ch_cfg_type type);
size_t ch_scope_size(enum ch_scope scope); /* of its struct in conf.h */

/* The option with this key. */
const struct ch_option *ch_option_find(enum ch_scope scope, struct ch_sv key);

/* The keys directly below `above` ("" for the scope itself): call with *at NULL
 * first; each call gives the next name once. False when there are no more. */
bool ch_option_each_key(enum ch_scope scope, struct ch_sv above, const struct ch_option **at,
                        struct ch_sv *name);

/* Is there an option somewhere below this key? */
bool ch_option_is_group(enum ch_scope scope, struct ch_sv key);

#endif
