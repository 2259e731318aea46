/* option.h -- the table of all options of chela.yaml.
 *
 * Parsing, type errors, suggestions for misspelt keys, `chela config schema`
 * and the table in docs/configuration.md all use it. To add an option, add a
 * row and a member of the struct it fills (conf.h).
 *
 * A scope is a kind of mapping with its own keys (the file, an agent, a
 * provider, ...). Rows of a scope name their key by a dotted path below it;
 * rows of the group types start another scope. */
#ifndef CH_CONFIG_OPTION_H
#define CH_CONFIG_OPTION_H
#include <stdbool.h>
#include <stddef.h>

#include "base/sv.h"

enum ch_scope {
    CH_SCOPE_FILE,
    CH_SCOPE_AGENT,
    CH_SCOPE_PROVIDER,
    CH_SCOPE_MODEL,
    CH_SCOPE_TOOL,
    CH_SCOPE_POLICY,
    CH_SCOPE_HOOK,
    CH_SCOPE_HOOK_PROGRAM,
    CH_SCOPE_SCHEDULE,
    CH_SCOPE_BUDGET,
    CH_SCOPE_SECRET,
    CH_SCOPE_MCP,
    CH_SCOPE_CHANNEL
};

/* The C type of the member that a value fills. */
enum ch_cfg_member {
    CH_MEMBER_NONE,
    CH_MEMBER_TEXT,  /* const char * */
    CH_MEMBER_TEXTS, /* const char *const * */
    CH_MEMBER_BOOL,
    CH_MEMBER_FLAG, /* signed char */
    CH_MEMBER_INT,  /* int64_t */
    CH_MEMBER_DOUBLE,
    CH_MEMBER_OPTIONAL,  /* const double * */
    CH_MEMBER_APPROVALS, /* struct ch_conf_approvals */
    CH_MEMBER_ITEM,      /* struct ch_conf_item */
    CH_MEMBER_LIST,      /* struct ch_conf_list */
    CH_MEMBER_SCOPE,     /* the struct of the scope `of` */
};

/* X(name, name for users, the member that a value fills: enum ch_cfg_member) */
#define CH_CFG_TYPES(X)                                                                        \
    X(TEXT, "text", TEXT)                                                                      \
    X(SYSTEM, "text, or { prompt, vars }", TEXT) /* CH_CONF_PROMPT and JSON for a prompt */   \
    X(NAME, "name", TEXT) /* [a-zA-Z0-9_-]{1,64} */                                            \
    X(PATH, "path", TEXT) /* resolved against the file's directory */                          \
    X(URL, "http(s) URL", TEXT)                                                                \
    X(SMTP, "smtp(s) URL", TEXT)                                                               \
    X(WHEN, "time", TEXT) /* as in schedules.md */                                             \
    X(SPAN, "time span", TEXT) /* 30m, 6h */                                                   \
    X(HOURS, "hours", TEXT) /* 22:00-07:00 */                                                  \
    X(ENV, "variable name", TEXT)                                                              \
    X(ENVS, "variable name, or a list", TEXT) /* joined with commas */                         \
    X(CHOICE, "choice", TEXT) /* one of `words` */                                             \
    X(BOOL, "true or false", BOOL)                                                             \
    X(FLAG, "true or false", FLAG) /* 1, -1; 0: not set, so that defaults count */             \
    X(UNLESS, "true or false", BOOL) /* true unless the file says false: stored inverted */    \
    X(INT, "whole number", INT)                                                                \
    X(LIMIT, "whole number, 0: no limit", INT) /* 0 is stored as -1, as in the library */      \
    X(COUNT, "whole number, 0: none", INT) /* as LIMIT */                                      \
    X(SECONDS, "seconds, 0: no limit", INT) /* stored as milliseconds; 0 as in LIMIT */        \
    X(BUDGET, "number, 0: no limit", DOUBLE) /* 0 as in LIMIT */                               \
    X(NUMBER, "number", OPTIONAL)                                                              \
    X(NAMES, "list of names", TEXT) /* joined with commas; "" when empty */                    \
    X(PATTERNS, "list of patterns", TEXT) /* hosts or addresses; as NAMES */                   \
    X(WORDS, "list of words", TEXT) /* of `words`; one that ends in ":" begins a name; as NAMES */ \
    X(HOSTS, "list of hosts", TEXT) /* patterns of egress.h; as NAMES */                       \
    X(NETWORK, "none, host, or a list of hosts", TEXT) /* a list as HOSTS */                   \
    X(PATHS, "list of paths", TEXTS)                                                           \
    X(PLACES, "list of paths", TEXTS) /* or the word `workspace` */                            \
    X(INSIDE, "list of paths", TEXTS) /* below the workspace, or absolute */                   \
    X(MODEL, "PROVIDER/MODEL", TEXT)                                                           \
    X(MODELS, "PROVIDER/MODEL, or a list", TEXTS)                                              \
    X(COMMAND, "list of texts", TEXTS)                                                         \
    X(TEXTS, "list of texts", TEXTS)                                                           \
    X(HEADERS, "mapping of texts", TEXTS) /* "Name: value" */                                  \
    X(DATABASES, "mapping of names to URLs", TEXTS) /* "databases.NAME=URL" */                 \
    X(QUIRKS, "mapping of true or false", TEXT) /* "a,-b" */                                   \
    X(JSON, "mapping", TEXT) /* as compact JSON */                                             \
    X(CHECK, "list of texts, or mapping of arguments to patterns", TEXT) /* as compact JSON */ \
    X(FACT, "fact", TEXT) /* value of a column of facts about models, as compact JSON */       \
    X(APPROVALS, "mapping of tools to ask, sandbox, auto or deny", APPROVALS)                  \
    X(FOLDER, "path", ITEM) /* with its position in the file */                                \
    X(PINS, "mapping of prompts to versions", LIST)                                            \
    X(ROLLOUT, "mapping of prompts to versions and percentages", LIST)                         \
    X(REFUSED, "refused", NONE) /* an error with `help` as message */                          \
    X(ANY, "anything", NONE) /* known, not inspected */                                        \
    X(ONE, "mapping", SCOPE) /* one mapping of scope `of` */                                   \
    X(LIST, "list of mappings", LIST)                                                          \
    X(MAP, "mapping by name", LIST)                                                            \
    X(CHANNELS, "mapping by name", LIST) /* each entry has its own options */

enum ch_cfg_type {
#define CH_CFG_ENUM(name, text, member) CH_CFG_##name,
    CH_CFG_TYPES(CH_CFG_ENUM)
#undef CH_CFG_ENUM
};

enum ch_cfg_flags {
    CH_CFG_REQUIRED = 1,
    CH_CFG_ITEM = 2,   /* only in entries of a list, not in defaults */
    CH_CFG_SECRET = 4, /* the value is never shown, and redacted everywhere */
    CH_CFG_UNUSED = 8, /* known but without effect: not documented */
    CH_CFG_ADDRESS = 16, /* text: URL of a store; passwords in it are hidden and redacted */
    CH_CFG_LISTEN = 32,  /* text: an address that a server can listen on */
    CH_CFG_AGENT = 64,   /* text: id of an agent */
};

struct ch_option {
    enum ch_scope scope;
    const char *key; /* "limits.maxTurns" */
    enum ch_cfg_type type;
    unsigned flags;
    size_t offset;         /* offset of the member in the scope's struct */
    double min, max;       /* range of numbers */
    const char *words;     /* words of choices: "once|keyed|read" */
    enum ch_scope of;      /* scope of groups */
    const char *otherwise; /* the default, as users would write it; NULL: none */
    const char *help;
};

extern const struct ch_option ch_options[]; /* ended by key == NULL */

const char *ch_cfg_type_name(enum ch_cfg_type type);
enum ch_cfg_member ch_cfg_member(enum ch_cfg_type type);
size_t ch_scope_size(enum ch_scope scope); /* size of its struct in conf.h */

#endif
