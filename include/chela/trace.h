/* trace.h -- what happened in a stored session: its steps, and every request to a model.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; the caller frees *out with chela_free.
 *   Threads: any
 *   Callbacks: yes
 *   Errors: those of chela_store_records. CHELA_ENOENT: there is no such session, run or
 *   request. */
#ifndef CHELA_TRACE_H
#define CHELA_TRACE_H
#include "chela/store.h"
CHELA_BEGIN_DECLS

/* The kinds of steps. */
enum chela_span_kind {
    CHELA_SPAN_INPUT = 0,   /* a message to the agent */
    CHELA_SPAN_MODEL = 1,   /* a request to a model, answered or not */
    CHELA_SPAN_TOOL = 2,    /* a call of a tool */
    CHELA_SPAN_WAIT = 3,    /* waiting for a person, for a time, or for the next attempt */
    CHELA_SPAN_REWRITE = 4, /* the history was shortened */
    CHELA_SPAN_END = 5,     /* end of a run, or a pause */
};

/* One step. Texts may be NULL; keys are redacted in them. */
struct chela_span {
    enum chela_span_kind kind;
    const char *session; /* key */
    const char *run;     /* id */
    unsigned turn;       /* turn of the run; 0: none */
    unsigned depth;      /* nesting depth of called agents; 0: the session itself */
    int64_t start, end;  /* ms, wall clock */
    int failed;
    const char *title; /* one line: the tool, the model, the reason */
    const char *sent;  /* arguments, reasoning, question, goal */
    const char *got;   /* result, reply, decision, errors */
    const char *id;    /* of a call */
    const char *child; /* session of a called agent */
    /* of a model call; of the whole run at its end */
    int64_t input, output, cache_read, cache_write, reasoning;
    double cost;         /* US dollars; negative: unknown */
    unsigned request;    /* number of the request in its session, from 1; 0: not known */
    unsigned attempt;    /* of a request or a call; 0: the first. Of a wait: attempts before it */
    const char *model;   /* model of the request: "anthropic/claude-sonnet-4-6" */
    const char *api;     /* protocol */
    const char *role;    /* who asked instead of the run: "planner", "compaction" */
    const char *setup;   /* id of the request's setup (chela_trace_setups) */
    size_t messages;     /* number of messages in the request */
    size_t bytes;        /* bytes of the request */
    /* Why the reply ended: "tool_use"; class of the error. Of a wait: "approval", "timer" or
     * "retry". Of a call: "retried": the attempt failed, and another one follows. */
    const char *stop;
    const char *traceparent; /* for an input: trace context of its sender */
    /* Of a model call or a tool call: number of the turn in the session, from 1, as chela_why
     * counts turns; each reply is a turn. 0: none, for example a request without a reply. */
    unsigned session_turn;
};
/* Receives the steps; span is borrowed until the function returns. Nonzero ends the
 * listing. */
typedef int chela_span_fn(const struct chela_span *span, void *user);

/* List the steps of a session in order; steps of called agents follow their call, of at most
 * 4,096 sessions of called agents. run: only this run; NULL: all; "": the last run. */
CHELA_API int chela_trace_spans(chela_store *store, const char *key, const char *run,
                                chela_span_fn *fn, void *user, struct chela_error *err);

/* How a request is shown. */
enum chela_request_form {
    /* A JSON object: "request", "of" (number of requests), "run", "turn", "model", "ts", "ms",
     * "sections" of the system prompt with their origins and sizes, "tools", "parameters",
     * "messages", "cut" (what was left out, and why), "usage", "cost_usd", "reply" or
     * "failure", "http" (method, url, headers and body as sent, without the key), "bytes",
     * "verified" (the body has the digest of the one that was sent) */
    CHELA_REQUEST_JSON = 0,
    CHELA_REQUEST_TEXT = 1, /* for people */
    CHELA_REQUEST_BODY = 2, /* the body alone, byte for byte; keys are not redacted */
    CHELA_REQUEST_WIRE = 3, /* chela's own format, as chela_wire_encode reads it; not redacted */
};

/* Request number n of a session, from 1 (0: the last one). Keys in the texts are redacted
 * where the form does not say otherwise. *out_len (may be NULL) becomes the length.
 * Errors: also CHELA_ESTATE: the journal lacks parts of the request, so that its body cannot
 * be rebuilt. CHELA_EINVAL: there is no such form. */
CHELA_API int chela_trace_request(chela_store *store, const char *key, unsigned n,
                                  enum chela_request_form form, char **out, size_t *out_len,
                                  struct chela_error *err);

/* Forms of other programs in which a session can be written. */
enum chela_export_form {
    CHELA_EXPORT_ATIF = 0,  /* the agent trajectory interchange format, version 1.7 */
    CHELA_EXPORT_OPENAI = 1 /* {"messages":[...]}, as in a request to Chat Completions */
};

/* Write a session as a JSON object in the form of other programs. Keys are redacted.
 * Errors: also CHELA_EINVAL: there is no such form. */
CHELA_API int chela_trace_export(chela_store *store, const char *key, enum chela_export_form form,
                                 char **out, struct chela_error *err);

/* A part of the setup of requests. */
struct chela_setup_part {
    const char *setup;  /* id */
    const char *kind;   /* "section", "tool", "parameters" */
    const char *name;   /* name of the section or tool; NULL: none */
    const char *origin; /* for a section: "chela", "configuration: rules"; NULL: none */
    const char *text;   /* section; description of a tool; parameters as JSON */
    size_t bytes;
    size_t tokens; /* of a section */
    size_t of;     /* tokens before the section was shortened; 0: it was not */
};
/* Receives the parts of setups; part is borrowed until the function returns. */
typedef int chela_setup_fn(const struct chela_setup_part *part, void *user);

/* List the parts of all setups of a session. Requests that differ in their messages alone
 * have the same setup. Keys are redacted. */
CHELA_API int chela_trace_setups(chela_store *store, const char *key, chela_setup_fn *fn,
                                 void *user, struct chela_error *err);

/* A call of a model, or the cost of a run. Texts are not redacted. */
struct chela_model_call {
    const char *session, *agent; /* key of the session, and its agent */
    const char *model;           /* NULL: this is the cost of a run that ended */
    int64_t ts, ms;              /* end and duration of the call */
    unsigned calls;              /* 1; more: calls of an embedding model */
    int64_t input, output, cache_read;
    double cost; /* US dollars; negative: unknown */
};
/* Receives the calls; call is borrowed until the function returns. Nonzero ends the
 * listing. */
typedef int chela_model_call_fn(const struct chela_model_call *call, void *user);

/* List the model calls of the newest `sessions` sessions (0: all) since a time (milliseconds
 * since 1970). A call that several sessions have, because one is a copy of the other, is
 * listed once. Failed calls are not listed. */
CHELA_API int chela_trace_calls(chela_store *store, int64_t since, size_t sessions,
                                chela_model_call_fn *fn, void *user, struct chela_error *err);

CHELA_END_DECLS
#endif
