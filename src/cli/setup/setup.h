/* setup.h -- from flags to a runtime and an agent.
 *
 * Order: flag, then configuration file, then default. What every command that
 * needs an agent does the same way is here: finding the file, reporting its
 * warnings, choosing the model, narrowing the tools. */
#ifndef CH_CLI_SETUP_H
#define CH_CLI_SETUP_H
#include "chela.h"
#include "cli/setup/args.h"
#include "cli/term/console.h"
#include "cli/support/input.h"

struct ch_setup_flags {
    const char *store;
    const char *config, *agent, *workspace, *tools, *deny, *sandbox;
    bool quiet, verbose, no_color;
};

/* Rows for the option table of a command whose struct has the flags above as
 * its member `setup`. */
/* clang-format off */
#define CH_SETUP_OPT(type, flag) offsetof(type, setup.flag)
#define CH_SETUP_OPTS_CONFIG(type)                                                                 \
    {"config", 0, CH_OPT_TEXT, CH_SETUP_OPT(type, config), "FILE", 0, 0, "Configuration",          \
     "configuration file; default: ./chela.yaml, else the user's"},                                \
    {"agent", 0, CH_OPT_TEXT, CH_SETUP_OPT(type, agent), "ID", 0, 0, "Configuration",              \
     "agent of the configuration file to use; default: the first"}
#define CH_SETUP_OPTS_STORE(type)                                                                  \
    {"store", 0, CH_OPT_TEXT, CH_SETUP_OPT(type, store), "URL", 0, 0, "Configuration",             \
     "store for sessions: sqlite:PATH, postgres://HOST/DATABASE, redis://HOST, or memory:; "       \
     "default: the configuration file's, else the user's database"}
#define CH_SETUP_OPTS_TOOLS(type)                                                                  \
    {"workspace", 0, CH_OPT_TEXT, CH_SETUP_OPT(type, workspace), "DIR", 0, 0, "Tools",             \
     "directory that the file tools work in; default: the current directory"},                     \
    {"tools", 0, CH_OPT_TEXT, CH_SETUP_OPT(type, tools), "LIST", 0, 0, "Tools",                    \
     "offer only these tools: names, globs or groups, comma separated; \"\" for none"},            \
    {"deny", 0, CH_OPT_TEXT, CH_SETUP_OPT(type, deny), "LIST", 0, 0, "Tools",                      \
     "do not offer these tools"},                                                                  \
    {"sandbox", 0, CH_OPT_CHOICE, CH_SETUP_OPT(type, sandbox), "required|auto|off", 0, 0, "Tools", \
     "run programs of tools in the complete sandbox or not at all (required), with the layers "    \
     "that this machine supports (auto, the default), or without a sandbox (off)"}
#define CH_SETUP_OPTS_OUTPUT(type)                                                                 \
    {"quiet", 'q', CH_OPT_SWITCH, CH_SETUP_OPT(type, quiet), NULL, 0, 0, "Output",                 \
     "print only the result and errors"},                                                          \
    {"verbose", 'v', CH_OPT_SWITCH, CH_SETUP_OPT(type, verbose), NULL, 0, 0, "Output",             \
     "print details of the run, too"},                                                             \
    {"no-color", 0, CH_OPT_SWITCH, CH_SETUP_OPT(type, no_color), NULL, 0, 0, "Output",             \
     "do not use colors on a terminal"}
/* clang-format on */

struct ch_setup {
    const struct ch_env *env;           /* borrowed */
    const struct ch_setup_flags *flags; /* borrowed */
    struct ch_console *console;         /* borrowed */
    const char *ca_file;                /* borrowed, may be NULL: set by the caller */
    const char *record, *replay;        /* likewise: cassettes */
    chela_log_fn *log; /* likewise: instead of lines for people; its user is the console */
    void *uv_loop;                      /* likewise: a host's loop */
    bool nobody; /* can answer: ask_user is offered only where a list allows it; by the caller */
    struct chela_limits limits; /* that the command line gives, for all agents */
    chela_runtime *rt;                  /* owned; owns the agent */
    chela_config *config;               /* owned; NULL: there is no file */
    char *config_path;                  /* owned; NULL: there is no file */
    unsigned warnings;                  /* the file gave */
    chela_store *store;                 /* owned; NULL: not opened */
    struct ch_setup_member *team;       /* owned: agents that were made, by id */
    size_t nteam;
};

struct ch_setup_member {
    char *id; /* owned */
    chela_agent *agent;
};

enum ch_verbosity ch_setup_verbosity(const struct ch_setup_flags *f);

/* A command that works on the store, from its flags to its exit code: an error is
 * shown, everything is given back. */
void ch_setup_begin(struct ch_setup *s, const struct ch_env *env,
                    const struct ch_setup_flags *flags, struct ch_console *console);
int ch_setup_finish(struct ch_setup *s, int rc, const struct chela_error *err);

/* Find and read the configuration file, if there is one. A file that was
 * named must be there. */
int ch_setup_config(struct ch_setup *s, struct chela_error *err);
/* Make the runtime and give it the providers of the file. */
int ch_setup_runtime(struct ch_setup *s, struct chela_error *err);
/* Open the store that was chosen: by the flag, by the file, or, if it is
 * `wanted` all the same, the user's own. None: s->store stays NULL. A runtime
 * that was made keeps its sessions there. */
enum ch_setup_store { CH_STORE_IF_CHOSEN, CH_STORE_WANTED, CH_STORE_READ };
int ch_setup_store(struct ch_setup *s, enum ch_setup_store how, struct chela_error *err);
/* Of its URL, such as "redis"; yours to free. */
char *ch_setup_store_kind(const struct ch_setup *s);
/* Fill what opts leaves open and make the agent with its tools, and those agents
 * that it may call. */
int ch_setup_agent(struct ch_setup *s, struct chela_agent_opts *opts, chela_agent **out,
                   struct chela_error *err);

/* The same hooks for the agent and all that it may call or hand over to. */
int ch_setup_hooks(const struct ch_setup *s, chela_agent *agent, const struct chela_hooks *hooks);

/* Forget which agents were made: the next ones are new. */
void ch_setup_forget(struct ch_setup *s);

/* The flag --sandbox says how strict; what the file says about the rest stays.
 * opts->sandbox may then be *own, which must last as long as it is used. */
void ch_setup_sandbox(const struct ch_setup *s, struct chela_agent_opts *opts,
                      struct chela_sandbox_opts *own);

/* What begins by the clock, as the file has it; its texts are the file's. */
struct ch_setup_schedules {
    struct chela_schedule *items;
    const struct chela_schedule **list; /* NULL-terminated */
    size_t n;
};
int ch_setup_schedules(const struct ch_setup *s, struct ch_setup_schedules *out,
                       struct chela_error *err);
void ch_setup_schedules_release(struct ch_setup_schedules *l);
/* The agent that was named, else all of the file, else one by default; ended by
 * NULL, to be freed. opts: of each of them. */
int ch_setup_agents(struct ch_setup *s, struct ch_setup_flags *flags,
                    const struct chela_agent_opts *opts, chela_agent ***out,
                    struct chela_error *err);

/* The names of the agent's tools, ended by NULL; give them back. */
char **ch_setup_tool_names(const chela_agent *agent);
void ch_setup_free_names(char **names);

void ch_setup_release(struct ch_setup *s);

#endif
