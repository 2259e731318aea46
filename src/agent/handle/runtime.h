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
#include "model/provider/cooldown.h"
#include "net/cassette.h"
#include "net/http.h"
#include "tool/memory/notes.h"

struct ch_feature;
struct ch_journal;
struct ch_outbox;
struct ch_price_conf;
struct ch_prompts;
struct ch_provider_conf;
struct ch_target;
struct ch_context_window;
struct ch_context_window_conf;

struct chela_runtime {
    struct ch_loop *loop;
    struct ch_recall recall;    /* what is asked of it */
    struct ch_journal *journal; /* owned; NULL: sessions are not kept */
    struct ch_outbox *outbox;   /* owned; NULL: nothing was to be sent yet */
    struct ch_workers *workers;
    struct ch_http *http;
    struct ch_cassette *cassette;   /* NULL: none */
    struct ch_transport *transport; /* of model calls: the cassette's, or http's */
    unsigned workspaces;            /* named in the cassette */
    bool own_loop;
    const char *(*env)(const char *name, void *user);
    void *user;
    struct ch_log_sink *sink; /* owned, with its areas; NULL: silent */
    chela_log_fn *log;
    char *module_path, *ca_file;
    struct ch_provider_conf *providers;
    struct ch_price_conf *prices;
    struct ch_context_window_conf *windows;
    const struct ch_feature *const *features; /* all there are, NULL-terminated */
    struct ch_cooldowns cooldowns; /* what one run learns holds for all */
    struct ch_context_window *heard;       /* likewise: contexts of local servers; owned */
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
