/* sweep.h -- every public function, called from every callback.
 *
 * A *mode* (sweep_modes.c) sets a runtime up and starts a run that passes
 * through many callbacks. Each place where the library calls the host is a
 * *site* with a name: "turn_start", "hook:before_tool", "tool:check", and
 * "resumed/turn_end" after a pause. A *row* (sweep_rows_*.c) is a public function
 * and a few lines that call it. tests/sweep/test_callback_sweep.c plays each
 * mode once for each row and site, and calls the row's function there. */
#ifndef TESTS_SUPPORT_SWEEP_H
#define TESTS_SUPPORT_SWEEP_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <chela.h>
#include <uv.h>

#define SWEEP_TOKEN "0123456789abcdef" /* of gateways */
#define SWEEP_SITES 160
#define SWEEP_WAITING 8

enum sweep_flags {
    /* The call changes nothing that later calls depend on: all such rows share one case.
     * Without the flag each site has a separate case. */
    SWEEP_SHARED = 1,
    SWEEP_IN_CALL = 2,    /* needs sweep.call: sites inside a tool, or while a call is open */
    SWEEP_IN_EVENT = 4,   /* needs sweep.event */
    SWEEP_ANY_THREAD = 8, /* may be called from another thread: also from a tool's thread */
    SWEEP_STORED = 16,    /* needs sweep.store */
    /* The call does not change the course of the run: the row has one case, in which it is
     * called at each site. */
    SWEEP_ROUND = 32,
    SWEEP_ASKED = 64, /* needs an open question of the run */
    /* As SWEEP_SHARED, for a function that uses no object of the case. */
    SWEEP_PURE = 128 | SWEEP_SHARED,
    SWEEP_SENDING = 256 /* needs sweep.outbound */
};

struct sweep;
typedef void sweep_fn(struct sweep *cx);

struct sweep_row {
    const char *name; /* name of the function */
    sweep_fn *fn;     /* NULL: exempt */
    unsigned flags;
    /* Exempt: the sentence of the public header that rules out callbacks. Otherwise
     * which of several uses of the function this is; may be NULL. */
    const char *note;
};
struct sweep_rows {
    const struct sweep_row *rows;
    size_t n;
};
extern const struct sweep_rows sweep_rows_live, sweep_rows_rest;

/* The objects of a case. Rows use them, and update the struct when the function destroys an
 * object: a closed session becomes NULL. */
struct sweep {
    const struct sweep_mode *mode;
    const char *dir;       /* scripts, a workspace, a configuration file */
    const char *modules;   /* directory of libchela-*.so */
    const char *store_url; /* NULL: sessions are not stored */
    unsigned serial;       /* number of the case in its process */

    uv_loop_t loop; /* the host's loop, in the mode `hosted` */
    chela_runtime *rt;
    chela_store *store;
    chela_agent *agent, *other; /* other: the agent that is called or takes over */
    chela_session *session;
    chela_run *run;         /* owned */
    chela_gateway *gateway; /* owned; NULL unless a row created one */

    /* The site that the row is called from. */
    const struct chela_event *event; /* or NULL */
    chela_run *hook_run;             /* the run that a hook was given, or NULL */
    chela_call *call;                /* or NULL */
    const struct chela_outbound *outbound; /* the message that a channel has to send, or NULL */
    bool can_defer;                  /* inside the function of a tool on the loop */
    bool on_thread;                  /* on a tool's thread, not the loop's: this struct is a copy */
    struct sweep *owner;             /* the original of this copy, or this struct itself */

    /* State of the run so far. */
    bool woken;
    bool begun, resumed, closed; /* closed: events may have ended without RUN_END */
    char approvals[SWEEP_WAITING][64], calls[SWEEP_WAITING][64];
    unsigned napprovals, ncalls;
    bool ended; /* the last event was RUN_END */
    uint64_t next_seq;
    unsigned events, starts, ends;
    chela_call *_Atomic open_call; /* the open call of the tool `later` */

    struct sweep_side {
        struct sweep *cx;
        const char *prefix;
    } sides[2]; /* for hooks and tools of agent and other */

    /* Called at each site. */
    void (*at)(struct sweep *cx, const char *site);
};

/* Reports a problem with the case it happened in; the case continues. */
void sweep_problem(const char *fmt, ...) CHELA_PRINTF(1, 2);
#define SWEEP_EXPECT(cond)                                     \
    do {                                                       \
        if (!(cond))                                           \
            sweep_problem("%s: not so: %s", __func__, #cond); \
    } while (0)
/* A blocking call refuses to wait inside a callback. */
#define SWEEP_REFUSED(rc)                                                                      \
    do {                                                                                       \
        int refused_ = (rc);                                                                   \
        if (refused_ != CHELA_EBUSY && refused_ != CHELA_ESTATE)                               \
            sweep_problem("%s: a blocking call gave %s instead of EBUSY or ESTATE", __func__, \
                          chela_error_name(refused_));                                         \
    } while (0)

/* The run that a row uses: the hook's, else the case's. */
static inline chela_run *sweep_run(const struct sweep *cx) {
    return cx->hook_run ? cx->hook_run : cx->run;
}
/* Options for runs that a row starts: their events are not sites. */
const struct chela_run_opts *sweep_run_opts(struct sweep *cx);

struct sweep_mode {
    const char *name;
    const char *script; /* rules of the scripted model */
    const char *text;   /* the input */
    enum chela_mode agent_mode;
    unsigned tool_flags; /* flags of the tool `stamp`: CHELA_TOOL_CONFIRM */
    bool delegate, handoff, compact, rare; /* rare: retries, and a process of `exec` */
    bool hosted, mail, wakes, logs; /* the host's loop; channels; a process that outlives its
                                       run; log lines */
    unsigned workers; /* number of concurrent processes, for a mode that waits; 0: default */
    const char *only; /* only these sites, each between spaces; NULL: all */
};
extern const struct sweep_mode sweep_modes[];
extern const size_t sweep_nmodes;

/* Write the scripts and the other files of all modes to dir. */
void sweep_files(const char *dir);
/* Set up cx->rt, agents, session; start; work until everything is idle, answering all
 * questions; close. cx has mode, dir, store_url, serial, at. */
void sweep_play(struct sweep *cx);

#endif
