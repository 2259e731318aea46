/* acp.h -- an agent inside an editor: the Agent Client Protocol, version 1.
 *
 * The program moves the bytes: the bytes of the editor go to chela_acp_feed, and the
 * library's messages, one per line, come through `write`. The library keeps the sessions,
 * runs the agents and asks the editor's user for consent.
 *
 * A session of the protocol is a session of the store. While a run works, this process holds
 * the session; between runs, and while a call waits for consent, any process may continue
 * the session: another editor, `chela chat`, or a gateway. The editor shows the messages
 * that they add.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call.
 *   Threads: loop
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_ACP_H
#define CHELA_ACP_H
#include "chela/store.h"
CHELA_BEGIN_DECLS

typedef struct chela_acp chela_acp;

/* The choices of the editor's user for a session. */
struct chela_acp_choice {
    const char *model;              /* "provider/model"; NULL: the configured model */
    enum chela_mode mode;           /* DEFAULT: the configured mode */
    enum chela_reasoning reasoning; /* DEFAULT: as configured */
    enum chela_approve approve;     /* DEFAULT: as configured */
};

/* A directory that sessions work in, as the program has prepared it. The texts and the store
 * are borrowed until `leave`. */
struct chela_acp_place {
    void *handle;              /* for the program */
    chela_store *store;        /* required */
    const char *const *models; /* to choose from; the first is the default; NULL-terminated */
    /* The directory has a configuration file that the user does not trust: its path, and a
     * text for people that lists its sensitive settings. NULL: there is no such file. */
    const char *untrusted, *settings;
    /* A directory for the MCP servers that the editor passes, as in struct chela_mcp_opts.
     * NULL: only servers with a URL are used. */
    const char *state_dir;
};

/* The functions of the program. They are called on the loop thread. A function that returns
 * a negative code sets *err. `user` is the member of this struct. */
struct chela_acp_opts {
    size_t size; /* set by CHELA_ACP_OPTS */
    void *user;
    /* Write to the editor. */
    void (*write)(const char *p, size_t n, void *user);
    /* Prepare an absolute directory. Called again for the same directory after `trust`. */
    int (*enter)(const char *cwd, struct chela_acp_place *out, struct chela_error *err,
                 void *user);
    /* No session uses the place any more. */
    void (*leave)(void *handle, void *user);
    /* Record that the user trusts the configuration file of the place. */
    int (*trust)(void *handle, struct chela_error *err, void *user);
    /* Create an agent that works in the place; its runtime uses the store of the place. *hold
     * is passed to `drop`, which closes the agent. */
    int (*agent)(void *handle, const struct chela_acp_choice *choice, chela_agent **out,
                 void **hold, struct chela_error *err, void *user);
    void (*drop)(void *hold, void *user);
};
#define CHELA_ACP_OPTS(...) {.size = sizeof(struct chela_acp_opts), __VA_ARGS__}

/* Begin a connection with an editor. rt provides the loop.
 * Ownership: the caller owns *out and closes it with chela_acp_close, before it closes rt and
 * the runtimes of the agents; opts is copied, except user.
 * Errors: CHELA_EINVAL: a function is missing, or the size of opts is wrong. */
CHELA_API int chela_acp_new(chela_runtime *rt, const struct chela_acp_opts *opts, chela_acp **out,
                            struct chela_error *err);

/* Pass on bytes of the editor.
 * Callbacks: yes, except the functions of opts, which are refused
 * Errors: CHELA_ELIMIT: a message is too long; the connection cannot continue. CHELA_EBUSY:
 * called from a function of opts. */
CHELA_API int chela_acp_feed(chela_acp *acp, const char *p, size_t n, struct chela_error *err);

/* Nonzero while a run is in progress. A program whose editor has stopped writing can wait for
 * the end of the runs. */
CHELA_API int chela_acp_busy(const chela_acp *acp);

/* End the connection. NULL is allowed. Runs in progress are left, so that they can be resumed
 * (chela_run_leave); calls that wait for consent still wait in the store.
 * Ownership: acp becomes invalid.
 * Callbacks: yes, but in a function of opts the call does nothing */
CHELA_API void chela_acp_close(chela_acp *acp);

CHELA_END_DECLS
#endif
