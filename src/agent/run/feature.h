/* feature.h -- the table of hooks through which a feature plugs into a run.
 *
 * Plans, reflection, heartbeat and hand-over are features. An agent attaches the tables
 * that its options ask for. run/ calls the hooks of the attached tables and names no
 * feature. A run of an agent without features calls none.
 *
 * Hooks run in the order in which the features were attached. The first hook that
 * takes the turn, rejects the reply or fails ends the round. A hook may end the run,
 * and the host may close the session inside an event that the hook emits. The return
 * value says so; the caller then touches nothing of the run. Every hook may be NULL.
 * All hooks are called on the loop thread. */
#ifndef CH_AGENT_FEATURE_H
#define CH_AGENT_FEATURE_H
#include "agent/handle/run.h"
#include "json/json.h"
#include "json/writer.h"
#include "tool/call/batch.h"

#define CH_MODE_PLAIN "react" /* mode of a run whose features define no mode */

enum ch_reply_verdict { /* bits */
    CH_REPLY_USE = 0,
    CH_REPLY_REJECT = 1, /* the reply cannot be used; the complaint states the reason */
    CH_REPLY_REVIEW = 2, /* the feature reviews the answer in a separate turn */
};

enum ch_call_phase {
    CH_PHASE_STARTED,
    CH_PHASE_ENDED,
    CH_PHASE_SETTLED, /* ended in an earlier process; the journal has the result */
};

struct ch_feature {
    const char *name;
    bool is_mode;       /* `name` is the mode that RUN_START and the journal show */
    bool is_fixed;      /* a stored run neither leaves nor enters this mode */
    bool words_private; /* the model's text is thought and is not shown as the answer */
    const char *own_tools; /* comma list of tools that only the feature calls; NULL: none */

    /* An agent is built from options (opts). Or a stored run needs a feature that its
     * agent lacks (opts NULL); state is then the run's last STATE record. *data belongs
     * to the feature and lives as long as the agent. */
    int (*configure)(chela_agent *a, const struct ch_agent_opts *opts,
                     const struct ch_json *state, void **data, struct chela_error *err);
    /* The agent is freed. Overrides of an agent (agent_override.h) inherit its features
     * with their data, except features that have this hook. */
    void (*release_agent)(chela_agent *a, void *data);

    /* A session's journal was read, before any run, and its last STATE record has the
     * member `loads`. May move the session to another agent. Called whether or not the
     * session's agent has the feature. */
    const char *loads;
    void (*load)(chela_session *s, const struct ch_json *state);
    /* A STATE record is being written: add the feature's members. */
    void (*save)(const chela_run *run, struct ch_jw *w);

    /* A run is created, recovered (state: its last STATE record; otherwise NULL) or bound
     * to another agent (opts NULL). *data belongs to the feature until `close`. */
    int (*open)(chela_run *run, const struct chela_run_opts *opts, const struct ch_json *state,
                void **data, struct chela_error *err);
    void (*abort)(chela_run *run);             /* drop pending work; idempotent */
    void (*close)(chela_run *run, void *data); /* the run ends, is freed, or changes its agent */

    /* A model call is due; not called for a retry or after a compaction. True: the
     * feature takes the turn and continues the run now or later, or the run is gone. */
    bool (*take_turn)(chela_run *run);
    /* Before a request is encoded. A hook that changes it calls ch_request_changed. */
    int (*shape_request)(chela_run *run, struct ch_model_request *req, struct chela_error *err);
    /* A reply arrived; the hook may change it. Returns bits of ch_reply_verdict. */
    unsigned (*on_reply)(chela_run *run, struct ch_reply *reply, struct ch_buf *complaint);
    void (*on_call)(chela_run *run, const struct ch_block *call, enum ch_call_phase phase,
                    bool failed);
    /* True: the run ends with this call of a CHELA_TOOL_ACTION tool, if all calls of the reply are
     * such calls and succeed. */
    bool (*ends_by)(const chela_run *run, const struct ch_block *call);
    /* All results of a reply are in the transcript. May change in->terminated. False: the
     * run is over or gone. */
    bool (*on_results)(chela_run *run, struct ch_input *in);
    /* A call of a tool comes up: decide as ch_batch_ops.before does; WAIT: ch_act_unhold
     * asks again. An agent with this hook begins no call before its reply is complete. */
    enum ch_before (*before_call)(chela_run *run, const struct ch_block *call, char **arguments,
                                  char **feedback);
    /* A call has ended: append text for the model. False: its result waits until
     * ch_act_unhold, which asks again. */
    bool (*after_call)(chela_run *run, const struct ch_block *call, const struct ch_result *r,
                       struct ch_buf *more);
    /* The history is about to be shortened. True: the feature calls ch_think_compact later. */
    bool (*hold_compaction)(chela_run *run);
    /* The run waits for a person. kind: "permission_prompt", "question". */
    void (*on_wait)(chela_run *run, const char *kind, struct ch_sv what);
    /* The run ends: called once, before the answer enters the outbox and the end is
     * stored. May set end->end.silent. False: no answer is sent. */
    bool (*on_end)(chela_run *run, struct chela_event *end);
};

/* --- of agents */

/* Configure the feature and attach it. */
int ch_feature_attach(chela_agent *a, const struct ch_feature *f,
                      const struct ch_agent_opts *opts, struct chela_error *err);
bool ch_feature_attached(const chela_agent *a, const struct ch_feature *f);
/* Stores data for the agent under a feature that its runs do not get. */
void ch_feature_put(chela_agent *a, const struct ch_feature *f, void *data);
/* The data of `configure` or ch_feature_put; NULL: none. */
void *ch_feature_of(const chela_agent *a, const struct ch_feature *f);
void ch_feature_detach(chela_agent *a, const struct ch_feature *f);
void ch_features_detach_turns(chela_agent *a); /* every feature with take_turn */
/* Inherit the features of a->base. */
void ch_features_inherit(chela_agent *a);
void ch_features_release(chela_agent *a);
/* own_tools of the agent's features; NULL: none. */
const char *ch_features_own_tools(const chela_agent *a);
/* Attaches the feature that a stored run needs, by the mode in its last STATE record. */
int ch_features_recall(chela_agent *a, const struct ch_json *state, struct chela_error *err);

/* --- of sessions and runs. Each function calls the hook of its name, with the contract of the
 * hook in struct ch_feature; the result combines those of all features. */

void ch_features_load(chela_session *s, const struct ch_json *state);

/* On failure the features opened so far stay open until ch_features_free. */
int ch_features_open(chela_run *run, const struct chela_run_opts *opts,
                     const struct ch_json *state, struct chela_error *err);
/* The run's data of a feature that the agent attached after the run was made; the feature is
 * opened for the run if it is not yet. NULL: the agent does not have it, or the run is over. */
void *ch_feature_join(chela_run *run, const struct ch_feature *f);
/* The run's work is over: from now on only its mode and `save` are used. */
void ch_features_close(chela_run *run);
void ch_features_free(chela_run *run);
/* The run's data of a feature; NULL: the run lacks the feature, or it is closed. */
void *ch_feature_data(const chela_run *run, const struct ch_feature *f);
/* "react", or the name of the run's feature that is a mode. */
const char *ch_run_mode(const chela_run *run);
bool ch_features_keep_words(const chela_run *run); /* any feature has words_private */
bool ch_features_end_by_actions(const chela_run *run); /* any feature has ends_by */
bool ch_features_end_by(const chela_run *run, const struct ch_block *call); /* ends_by, of any */

void ch_features_save(const chela_run *run, struct ch_jw *w);
void ch_features_abort(chela_run *run);
bool ch_features_take_turn(chela_run *run);
int ch_features_shape(chela_run *run, struct ch_model_request *req, struct chela_error *err);
unsigned ch_features_reply(chela_run *run, struct ch_reply *reply, struct ch_buf *complaint);
void ch_features_call(chela_run *run, const struct ch_block *call, enum ch_call_phase phase,
                      bool failed);
enum ch_before ch_features_before_call(chela_run *run, const struct ch_block *call,
                                       char **arguments, char **feedback);
bool ch_features_after_call(chela_run *run, const struct ch_block *call, const struct ch_result *r,
                            struct ch_buf *more);
bool ch_features_await_calls(const chela_run *run); /* any feature has before_call */
bool ch_features_hold_compaction(chela_run *run);
void ch_features_wait(chela_run *run, const char *kind, struct ch_sv what);
bool ch_features_results(chela_run *run, struct ch_input *in);
bool ch_features_end(chela_run *run, struct chela_event *end);

/* This request has its own head or tail: both are encoded again, for this request and for
 * the next. */
static inline void ch_request_changed(chela_run *run, struct ch_model_request *req) {
    run->session->patched = true;
    req->revision = ++run->session->revision;
}

#endif
