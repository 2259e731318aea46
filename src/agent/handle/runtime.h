/* runtime.h -- the structs behind the public handles: the runtime.
 *
 * runtime > agent > session > run: each is owned by the one before it and freed with
 * it, except that a run is also held by whoever holds its handle. Everything here
 * belongs to the loop thread. */
#ifndef CH_HANDLE_RUNTIME_H
#define CH_HANDLE_RUNTIME_H
#include "base/list.h"
#include "chela/session.h"
#include "io/worker.h"
#include "model/provider/providers.h"
#include "tool/memory/notes.h"

struct ch_feature;
struct ch_journal;
struct ch_outbox;
struct ch_prompts;
struct ch_target;

struct chela_runtime {
    struct ch_loop *loop;
    struct ch_recall recall;    /* what is asked of it */
    struct ch_journal *journal; /* owned; NULL: sessions are not kept */
    struct ch_outbox *outbox;   /* owned; NULL: nothing was to be sent yet */
    struct ch_workers *workers;
    struct ch_http *http;
    struct ch_cassette *cassette; /* NULL: none */
    unsigned workspaces;          /* named in the cassette */
    struct ch_providers providers;
    bool own_loop;
    void *user; /* of the host's functions: log, environment */
    struct ch_log_sink *sink; /* owned, with its areas; NULL: silent */
    chela_log_fn *log;
    char *module_path, *ca_file;
    const struct ch_feature *const *features; /* all there are, NULL-terminated */
    struct ch_prompts *prompts;    /* owned; NULL: nobody asked for one yet */
    struct ch_list agents;
    struct { /* what ch_runtime_free_closed frees */
        struct ch_list runs, sessions, agents;
    } closed;
    struct ch_task free_closed;
    unsigned running; /* runs and whatever else is in progress */
    bool idle;        /* running == 0, for ch_loop_run */
    char *default_model;
    const char *default_model_why;
};

#endif
