/* acp.h -- a connection with an editor, and its sessions.
 *
 *   acp.c          connection: messages in, initialize, the table of methods
 *   acp_reply.c    messages out: answers, refusals, updates of a session
 *   acp_session.c  sessions: new, load, resume, list, close, delete, their options
 *   acp_servers.c  MCP servers of the editor
 *   acp_files.c    files as the editor holds them
 *   acp_turn.c     a prompt, from its request to its answer; cancel
 *   acp_ask.c      questions to the editor's user: consent, ask_user, trust
 *   acp_follow.c   messages that other processes add to a session
 *   acp_forward.c  prompts and decisions for a session that a gateway holds
 *   acp_update.c   events and stored messages as notifications of version 1
 *   acp_content.c  blocks of a prompt as input of a run
 *
 * A session has a chela_session only during a run, so that other processes can continue it.
 * Loop thread only. */
#ifndef CH_ACP_H
#define CH_ACP_H
#include "acp/acp_update.h"
#include "base/limits.h"
#include "base/list.h"
#include "chela/acp.h"
#include "rpc/rpc_lines.h"
#include "rpc/rpc_peer.h"

/* A code of the protocol beside those of JSON-RPC. */
enum ch_acp_code { CH_ACP_NOT_FOUND = -32002 };

/* A version of the protocol: the requests of the editor, and the notifications that show
 * events. */
struct ch_acp_version {
    int number;
    const struct ch_acp_method {
        const char *name;
        void (*fn)(chela_acp *acp, struct ch_rpc_request *r, const struct ch_json *params);
    } *methods; /* ended by an entry without a name */
    void (*event)(struct ch_acp_shown *shown, const struct chela_event *ev, ch_acp_update_fn *fn,
                  void *user);
    void (*message)(struct ch_acp_shown *shown, const struct ch_json *message,
                    ch_acp_update_fn *fn, void *user);
};

/* What the editor can do. */
struct ch_acp_client {
    bool notices, compaction; /* kinds of updates */
    bool forms;               /* elicitation by form */
    bool reads, writes;       /* files */
};

struct ch_acp_place {
    struct ch_link link;
    char *cwd; /* owned */
    struct chela_acp_place given;
    unsigned sessions; /* number of sessions that use the place */
};

/* A question to the editor's user. */
struct ch_acp_ask {
    struct ch_link link;
    struct ch_acp_session *session;
    char *approval;    /* owned; NULL: a question of the model */
    char *call, *name; /* owned: the call */
    char *arguments;   /* owned: JSON */
    char *summary;     /* owned */
    bool can_remember;
    int64_t request; /* id of the request to the editor; 0: none */
    bool spoken;     /* asked as text: the next prompt is the answer */
    bool decided;
    enum chela_decision decision;
    char *answer; /* owned: reason of a denial, or the answer to a question */
};

struct ch_acp_session {
    struct ch_link link;
    chela_acp *acp;
    char *id;                   /* owned: key of the session */
    struct ch_acp_place *place; /* counted */
    char *servers;              /* owned: MCP servers of the editor, JSON; NULL: none */
    char *model;                /* owned: chosen model; NULL: none chosen */
    struct chela_acp_choice choice;
    bool stale; /* the options changed since the agent was made */
    bool delayed; /* the mode, the model or the reasoning changed as well */
    chela_agent *agent; /* owned through hold; NULL: not made yet */
    void *hold;
    chela_session *session; /* owned; NULL: this process does not hold the session */
    chela_run *run;         /* owned handle; NULL: no run */
    bool kept;              /* the store has the session */
    bool titled;            /* the editor knows its title */
    /* the prompt in progress */
    /* open requests; the end of the run answers all */
    struct ch_rpc_request *prompts[CH_LIMIT_ACP_PROMPTS];
    size_t nprompts;
    struct ch_acp_input *input; /* owned: waits for the session to be opened; NULL: none */
    bool cancelled;
    bool opening;              /* waits for on_ready */
    struct ch_list asks;       /* undecided and decided calls of the paused run */
    int64_t trusting;          /* id of the request about the configuration; 0: none */
    struct ch_acp_shown shown; /* the part of the current run that the editor has received */
    uint64_t seen;             /* seq of the newest record that the editor knows */
    struct ch_timer poll_timer; /* for changes by other processes */
    char *forwarded;           /* owned: id of the prompt's event in the inbox; NULL: none */
    int64_t forwarded_at;
    unsigned forwards; /* events made so far */
    struct ch_buffers *buffers; /* a counted reference; NULL: not used */
    struct ch_list files;       /* requests about files */
    struct ch_task closing;    /* closes the session after RUN_END */
    struct ch_rpc_request *close; /* session/close that waits for the run's end; NULL: none */
};

struct chela_acp {
    chela_runtime *rt;
    struct chela_acp_opts host;
    struct ch_rpc_lines lines;
    struct ch_rpc_peer *peer;
    struct ch_acp_client client;
    const struct ch_acp_version *version; /* NULL: the editor has not initialized yet */
    unsigned inside; /* calls of chela_acp_feed and of the program's functions in progress */
    struct ch_list sessions, places;
};

#endif
