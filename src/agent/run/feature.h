/* feature.h -- what plugs into a run.
 *
 * A feature is a table of hooks that an agent attaches: plans, reflection, heartbeat,
 * hand-over. run/ calls the hooks of the tables that it was given and names none of
 * them. A run of an agent without features has none, and pays for none.
 *
 * Hooks run in the order in which the features were attached. The first one that
 * takes the turn, rejects the reply or fails ends the round. A hook may end the run,
 * or the host may close its session inside an event that the hook emits: after a hook
 * that says so nothing of the run is touched. Every hook may be NULL. All of them are
 * called on the loop thread. */
#ifndef CH_AGENT_FEATURE_H
#define CH_AGENT_FEATURE_H
#include "agent/handle/run.h"
#include "json/json.h"
#include "json/writer.h"

#define CH_MODE_PLAIN "react" /* the mode of a run without a feature that is one */

enum ch_reply_verdict { /* bits */
    CH_REPLY_USE = 0,
    CH_REPLY_REJECT = 1, /* it is of no use; the complaint says why */
    CH_REPLY_REVIEW = 2, /* if it is the answer, the feature looks at it in a turn of its own */
};

enum ch_call_phase {
    CH_PHASE_STARTED,
    CH_PHASE_ENDED,
    CH_PHASE_SETTLED, /* it ended in an earlier process, and its result was found */
};

struct ch_feature {
    const char *name;
    bool is_mode;       /* the name is the mode of its runs, for RUN_START and the journal */
    bool is_fixed;      /* a mode that runs neither leave nor enter after a restart */
    bool words_private; /* what a model writes is thought, not speech */
    const char *own_tools; /* names, with commas: only the feature calls these; NULL: none */

    /* An agent is built from options; or, with opts NULL, a stored run needs a feature
     * that its agent lacks, and state is the run's last STATE record. *data is the
     * feature's own; it lives as long as the agent. */
    int (*configure)(chela_agent *a, const struct ch_agent_opts *opts,
                     const struct ch_json *state, void **data, struct chela_error *err);
    /* The agent is freed. A feature with this hook is not passed on to agents that
     * are derived from this one; the others are, with their data. */
    void (*release_agent)(chela_agent *a, void *data);

    /* A session's journal was read, before any run, and its last STATE record has the
     * member `loads`. May move the session to another agent. Called whether or not the
     * session's agent has the feature. */
    const char *loads;
    void (*load)(chela_session *s, const struct ch_json *state);
    /* A STATE record is written: add members of the feature's own. */
    void (*save)(const chela_run *run, struct ch_jw *w);

    /* A run is made, recovered (state: its last STATE record; else NULL) or bound to
     * another agent (opts NULL). *data is the feature's own, until `close`. */
    int (*open)(chela_run *run, const struct chela_run_opts *opts, const struct ch_json *state,
                void **data, struct chela_error *err);
    void (*abort)(chela_run *run);             /* drop pending work; idempotent */
    void (*close)(chela_run *run, void *data); /* the run ends, is freed, or changes its agent */

    /* A model call is due; not for a retry, nor after a compaction. True: the turn is
     * taken, and the feature goes on with the run, now or later; or the run is gone. */
    bool (*take_turn)(chela_run *run);
    /* Before a request is encoded. Whoever changes it says ch_request_changed. */
    int (*shape_request)(chela_run *run, struct ch_model_request *req, struct chela_error *err);
    /* A reply came. May change it; bits of ch_reply_verdict. */
    unsigned (*on_reply)(chela_run *run, struct ch_reply *reply, struct ch_buf *complaint);
    void (*on_call)(chela_run *run, const struct ch_block *call, enum ch_call_phase phase,
                    bool failed);
    /* All results are in the transcript, live or recovered. May unset in->terminated.
     * False: the run is over or gone. */
    bool (*on_results)(chela_run *run, struct ch_input *in);
    /* The run ends; once, before its answer is mailed and its end stored. May set
     * end->end.silent. False: nothing is mailed. */
    bool (*on_end)(chela_run *run, struct chela_event *end);
};

/* --- of agents */

/* Configure the feature and attach it. */
int ch_feature_attach(chela_agent *a, const struct ch_feature *f,
                      const struct ch_agent_opts *opts, struct chela_error *err);
bool ch_feature_attached(const chela_agent *a, const struct ch_feature *f);
/* A place for the agent's data of a feature that no run of it has. */
void ch_feature_put(chela_agent *a, const struct ch_feature *f, void *data);
/* What `configure` or ch_feature_put gave; NULL: the agent has none. */
void *ch_feature_of(const chela_agent *a, const struct ch_feature *f);
void ch_feature_detach(chela_agent *a, const struct ch_feature *f);
void ch_features_detach_turns(chela_agent *a); /* those that take turns */
/* Take the features of a->base. */
void ch_features_inherit(chela_agent *a);
void ch_features_release(chela_agent *a);
/* The tools that only features of the agent call; NULL: none. */
const char *ch_features_own_tools(const chela_agent *a);
/* A run in the mode that its last STATE record tells can go on with this agent. */
int ch_features_recall(chela_agent *a, const struct ch_json *state, struct chela_error *err);

/* --- of sessions and runs */

void ch_features_load(chela_session *s, const struct ch_json *state);

int ch_features_open(chela_run *run, const struct chela_run_opts *opts,
                     const struct ch_json *state, struct chela_error *err);
/* The work of the run is over: from here on only its mode and what it saves count. */
void ch_features_close(chela_run *run);
void ch_features_free(chela_run *run);
/* The run's data of a feature; NULL: the run does not have it, or it is closed. */
void *ch_feature_data(const chela_run *run, const struct ch_feature *f);
/* "react", or the name of the run's feature that is a mode. */
const char *ch_run_mode(const chela_run *run);
bool ch_features_keep_words(const chela_run *run); /* words_private of any */

void ch_features_save(const chela_run *run, struct ch_jw *w);
void ch_features_abort(chela_run *run);
bool ch_features_take_turn(chela_run *run);
int ch_features_shape(chela_run *run, struct ch_model_request *req, struct chela_error *err);
unsigned ch_features_reply(chela_run *run, struct ch_reply *reply, struct ch_buf *complaint);
void ch_features_call(chela_run *run, const struct ch_block *call, enum ch_call_phase phase,
                      bool failed);
bool ch_features_results(chela_run *run, struct ch_input *in);
bool ch_features_end(chela_run *run, struct chela_event *end);

/* Head and tail of this request differ from those of others: they are encoded anew,
 * for this request and for the next. */
static inline void ch_request_changed(chela_run *run, struct ch_model_request *req) {
    run->session->patched = true;
    req->revision = ++run->session->revision;
}

#endif
