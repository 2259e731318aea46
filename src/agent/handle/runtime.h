/* runtime.h -- the struct behind the public handle chela_runtime.
 *
 * runtime > agent > session > run: each owns the next one. A run is also held by the
 * holders of its handle. All members belong to the loop thread. */
#ifndef CH_HANDLE_RUNTIME_H
#define CH_HANDLE_RUNTIME_H
#include <stdatomic.h>

#include "base/key_table.h"
#include "base/list.h"
#include "chela/session.h"
#include "io/worker.h"
#include "model/provider/providers.h"
#include "tool/memory/notes.h"

struct ch_call_listener;
struct ch_embed_observer;
struct ch_feature;
struct ch_journal;
struct ch_log_ring;
struct ch_outbox;
struct ch_prompts;
struct ch_target;

/* A part of a higher layer that belongs to a runtime or an agent: `close` is called when its
 * owner is closed, and must remove the extension from the list. */
struct ch_extension {
    struct ch_link link; /* in the owner's extensions */
    const void *kind;    /* address that identifies the kind */
    bool uses_agents;    /* closed before the agents of the runtime */
    void (*close)(struct ch_extension *a);
};

struct chela_runtime {
    struct ch_loop *loop;
    struct ch_recall recall;    /* search in stored sessions, for the memory tools */
    struct ch_journal *journal; /* owned; NULL: sessions are not stored */
    struct ch_outbox *outbox;   /* owned; NULL: no message was queued yet */
    struct ch_workers *workers;
    struct ch_http *http;
    struct ch_cassette *cassette; /* NULL: none */
    unsigned workspaces;          /* workspaces that were replaced by names in the cassette */
    struct ch_providers providers;
    enum chela_language language; /* of sentences for people */
    bool own_loop;
    void *user;               /* argument of the host's log and environment functions */
    struct ch_log_sink *sink; /* owned; NULL: nothing is logged */
    chela_log_fn *log;
    _Atomic(struct ch_log_ring *) recent_log; /* owned; NULL: lines are not kept */
    char *module_path, *ca_file;
    char **hidden; /* owned, NULL-terminated: guarded_files.h */
    char **skills; /* owned, NULL-terminated: directories of the user's skills; NULL: none */
    char **trusted; /* owned, NULL-terminated: "DIGEST WORKSPACE" of skills whose tools count
                       (skill_tools.h); NULL: none */
    const struct ch_feature *const *features; /* every feature, NULL-terminated */
    struct ch_prompts *prompts;               /* owned; NULL: not loaded yet */
    struct ch_list agents;
    size_t closed_agents; /* of these: agents that are freed once nothing uses them */
    struct ch_key_table sessions; /* open sessions of all agents (ch_session_find) */
    struct ch_list extensions; /* struct ch_extension */
    struct ch_list listeners;  /* struct ch_listener */
    struct ch_call_listener *listener; /* borrowed: of all tool calls; NULL: none */
    struct ch_embed_observer *embed_observer; /* borrowed: of embedding requests; NULL: none */
    struct { /* resumes paused runs at their time; set NULL: no resumption, and calls wait in
              * this process */
        void (*set)(int64_t due, void *user);
        void *user;
    } timers;
    struct { /* objects that ch_runtime_free_closed frees */
        struct ch_list runs, sessions, agents;
    } closed;
    struct ch_task free_closed;
    unsigned running; /* work in progress (ch_runtime_busy) */
    bool idle;        /* running == 0; read by ch_loop_run */
    char *default_model;
    const char *default_model_why;
};

#endif
