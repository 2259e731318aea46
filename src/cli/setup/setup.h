/* setup.h -- creates a runtime and an agent from flags and configuration.
 *
 * Precedence: flag, then configuration file, then default. This module contains the steps
 * shared by all commands that need an agent: finding the file, reporting its warnings,
 * choosing the model, restricting the tools. */
#ifndef CH_CLI_SETUP_H
#define CH_CLI_SETUP_H
#include <stdio.h>

#include "chela.h"
#include "cli/setup/args.h"
#include "cli/term/console.h"
#include "cli/support/input.h"

struct ch_signals;

struct ch_setup_flags {
    const char *store;
    const char *config, *agent, *workspace, *tools, *deny, *sandbox;
    const char *apply; /* NULL: the configuration decides */
    bool quiet, verbose, no_color;
};

/* Option rows for a command whose struct has the flags above as its member `setup`. */
/* clang-format off */
#define CH_SETUP_OPT(type, flag) offsetof(type, setup.flag)
#define CH_SETUP_OPTS_CONFIG(type) CH_SETUP_OPTS_CONFIG_ELSE(type, "the first")
#define CH_SETUP_OPTS_CONFIG_ELSE(type, which) /* the agent that is used without --agent */        \
    {"config", 0, CH_OPT_TEXT, CH_SETUP_OPT(type, config), "FILE", 0, 0, "Configuration",          \
     "configuration file; default: ./chela.yaml, else the user's"},                                \
    {"agent", 0, CH_OPT_TEXT, CH_SETUP_OPT(type, agent), "ID", 0, 0, "Configuration",              \
     "agent of the configuration file to use; default: " which}
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

/* The user's file of MCP servers, and the directory for the state of MCP servers; NULL: HOME is
 * not set. The caller frees the results. */
char *ch_setup_mcp_file(const struct ch_env *env);
/* The folders where users keep skills for every project; the caller frees the list, which ends
 * with NULL, and its texts. */
char **ch_setup_skill_folders(const struct ch_env *env);
char *ch_setup_mcp_state(const struct ch_env *env);

struct ch_setup_member {
    char *id; /* owned */
    chela_agent *agent; /* owned */
    unsigned hash; /* of the id */
};

struct ch_setup_team {
    struct ch_setup_member *members; /* owned */
    size_t n;
};

/* What a runtime asks its host for. */
struct ch_setup_host {
    struct ch_console *console; /* borrowed */
    chela_log_fn *log;          /* its user is the console */
    struct ch_login_keys *keys;       /* owned: of `chela login` */
    /* a variable that has another value than the environment says; borrowed, NULL: none */
    const char *variable, *value;
};

/* The parts of the configuration that a command depends on. A file that is not trusted
 * (trust.h) does not have them. */
enum ch_setup_uses {
    CH_USES_STORE = 1,
    CH_USES_MODEL = 2,
    CH_USES_TOOLS = 4, /* tools, what they may do, and all other settings of an agent */
    CH_USES_GATEWAY = 8,
    CH_USES_SCHEDULES = 16,
    CH_USES_NOTHING = 32, /* the command only shows what is in effect */
    CH_USES_RUN = CH_USES_STORE | CH_USES_MODEL | CH_USES_TOOLS,
    CH_USES_ALL = CH_USES_RUN | CH_USES_GATEWAY | CH_USES_SCHEDULES,
};

struct ch_setup {
    const struct ch_env *env;           /* borrowed */
    const struct ch_setup_flags *flags; /* borrowed */
    struct ch_console *console;         /* borrowed */
    /* directory whose configuration file is used; absolute; NULL: the current one */
    const char *directory;
    const char *ca_file;                /* borrowed, may be NULL; set by the caller */
    const char *record, *replay;        /* cassettes; borrowed, may be NULL; set by the caller */
    /* replaces log lines for people; its user is the console; set by the caller */
    chela_log_fn *log;
    void *uv_loop;                      /* the host's loop; set by the caller */
    /* questions are not put to a person: ask_user is offered only if a list allows it; set by
     * the caller */
    bool silent;
    const char *approve; /* --approve, as it is written; borrowed, may be NULL; set by the caller */
    unsigned uses;     /* enum ch_setup_uses; 0: CH_USES_ALL; set by the caller */
    bool background;   /* agents may be called in the background; set by the caller */
    const char *model; /* model of the command line; borrowed, may be NULL; set by the caller */
    bool local;        /* people are at this terminal: their locale decides if the file does not;
                        * set by the caller */
    bool strict;       /* every unknown key of the file is an error; set by the caller */
    bool complete;     /* a channel's value that is left open is an error; set by the caller */
    bool no_demo;      /* do not run on the offline demo model unless it is named */
    bool inspect;      /* read the file without acting on it: trust is not needed */
    bool reloading;    /* no person can be asked whether a file is trusted */
    struct ch_signals *signals; /* end a question; borrowed, may be NULL; set by the caller */
    struct chela_limits limits; /* limits of the command line, for all agents */
    /* A conversation: the first agent has no limit of turns and time unless one is set. */
    bool open_ended;
    struct chela_limits own; /* limits of the first agent, if open_ended */
    struct ch_setup_host *host;         /* owned; of the runtime */
    chela_runtime *rt;                  /* owned; owns the agent */
    chela_config *config;               /* owned; NULL: no file */
    chela_config *mcp[2]; /* owned: the user's mcp.json, the directory's .mcp.json; NULL: none */
    char *config_path;                  /* owned; NULL: no file */
    char *untrusted;                    /* owned: the file that is not trusted; NULL: none */
    size_t ignored;                     /* settings of that file that have no effect */
    unsigned warnings, complaints;      /* warnings and errors of the file */
    char *warned; /* owned: the warnings, each of which is shown once */
    FILE *found; /* gets each of them as a JSON object; borrowed, may be NULL; set by the caller */
    char *complaint;                    /* owned: the last error while the file is read */
    chela_store *store;                 /* owned; NULL: not opened */
    struct ch_setup_team team;          /* agents that were made */
};

enum ch_verbosity ch_setup_verbosity(const struct ch_setup_flags *f);

/* Run a command that works on the store, from flags to exit code: reports errors and
 * releases everything. */
void ch_setup_begin(struct ch_setup *s, const struct ch_env *env,
                    const struct ch_setup_flags *flags, struct ch_console *console);
int ch_setup_finish(struct ch_setup *s, int rc, const struct chela_error *err);

/* Find and read the configuration file, if any. A file named by a flag must exist. A file
 * of the current directory passes the gate of trust.h. */
int ch_setup_config(struct ch_setup *s, struct chela_error *err);
/* Read a file and report its warnings. Every error is CHELA_ECONFIG. */
int ch_setup_load(struct ch_setup *s, const char *path, chela_config **out,
                  struct chela_error *err);
/* Report a problem of the file to s->found: {"level","message"}. A warning is counted and shown. */
void ch_setup_found(struct ch_setup *s, const char *level, const char *message);
void ch_setup_warn(struct ch_setup *s, const char *message);
/* Create the runtime with the providers of the file. */
int ch_setup_runtime(struct ch_setup *s, struct chela_error *err);
/* Open the chosen store: from the flag, from the file, or, if `wanted`, the user's default.
 * None: s->store stays NULL. An existing runtime keeps its sessions there. */
enum ch_setup_store {
    CH_STORE_IF_CHOSEN,
    CH_STORE_WANTED,
    CH_STORE_READ,
    CH_STORE_READ_OR_NEW /* as READ, but without --store, one that does not exist is created */
};
int ch_setup_store(struct ch_setup *s, enum ch_setup_store how, struct chela_error *err);
/* The URL of the store that the commands would use; NULL: none. The caller frees it. */
char *ch_setup_store_url(const struct ch_setup *s);
/* The scheme of the store's URL, such as "redis"; the caller frees it. */
char *ch_setup_store_kind(const struct ch_setup *s);
/* CHELA_EINVAL: other processes cannot read the store, so that no run in the background can use
 * it. */
int ch_setup_store_lasts(const struct ch_setup *s, struct chela_error *err);
/* The place in the file of a model of the agent that cannot be used, if err may be about it; else
 * NULL. */
const char *ch_setup_model_place(const struct ch_setup *s, const struct chela_agent_opts *opts,
                                 const struct chela_error *err);
/* Fill the unset members of opts and create the agent with its tools, and the agents that
 * it may call. */
int ch_setup_agent(struct ch_setup *s, struct chela_agent_opts *opts, chela_agent **out,
                   struct chela_error *err);

/* How consent is given under a value of --approve, which must be one. */
enum chela_approve ch_setup_approve(const char *word);

/* The same hooks for the agent and all that it may call or hand over to. */
int ch_setup_hooks(const struct ch_setup *s, chela_agent *agent, const struct chela_hooks *hooks,
                   struct chela_error *err);

/* Take the agents created so far out of s; agents created later are new. */
struct ch_setup_team ch_setup_take_team(struct ch_setup *s);
void ch_setup_team_close(struct ch_setup_team *team);

/* Apply --sandbox: the flag sets the mode, the file all other settings. opts->sandbox may
 * then point to *own, which must live as long as opts is used. */
void ch_setup_sandbox(const struct ch_setup *s, struct chela_agent_opts *opts,
                      struct chela_sandbox_opts *own);

/* Refuse an agent that the file names and does not define. */
int ch_setup_check_agent(const struct ch_setup *s, const char *id, struct chela_error *err);

/* The schedules of the file; texts are borrowed from it. */
struct ch_setup_schedules {
    struct chela_schedule *items;
    const struct chela_schedule **list; /* NULL-terminated */
    size_t n;
};
int ch_setup_schedules(const struct ch_setup *s, struct ch_setup_schedules *out,
                       struct chela_error *err);
void ch_setup_schedules_release(struct ch_setup_schedules *l);
/* The named agent, else all agents of the file, else a default agent; NULL-terminated,
 * freed by the caller. opts: for each of them. */
int ch_setup_agents(struct ch_setup *s, struct ch_setup_flags *flags,
                    const struct chela_agent_opts *opts, chela_agent ***out,
                    struct chela_error *err);

/* The names of the agent's tools, NULL-terminated; the caller frees them. */
char **ch_setup_tool_names(const chela_agent *agent);
void ch_setup_free_names(char **names);

void ch_setup_release(struct ch_setup *s);

#endif
