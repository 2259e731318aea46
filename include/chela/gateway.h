/* gateway.h -- agents behind HTTP.
 *
 * A gateway serves the agents of a runtime: to programs that speak OpenAI's
 * protocols, to pages that speak the AI SDK's, and to whoever wants sessions
 * and their events. docs/gateway.md describes the routes. It lives in the
 * runtime's loop; calls are for that thread, except where "any thread" is said. */
#ifndef CHELA_GATEWAY_H
#define CHELA_GATEWAY_H
#include "chela/schedule.h"
#include "chela/session.h"
#include "chela/store.h"
CHELA_BEGIN_DECLS

typedef struct chela_gateway chela_gateway;

/* Somebody else's program that tells an agent of events: POST /hooks/NAME,
 * signed with the secret (docs/gateway.md). */
struct chela_gateway_hook {
    size_t size;         /* set by CHELA_GATEWAY_HOOK */
    const char *name;    /* required */
    const char *secret;  /* required: at least 16 bytes */
    const char *agent;   /* NULL: the first */
    const char *session; /* NULL: one for each event */
};
#define CHELA_GATEWAY_HOOK(...) {.size = sizeof(struct chela_gateway_hook), __VA_ARGS__}

/* A chat service that people talk to an agent through: POST /channels/NAME/events
 * takes its callbacks (docs/feishu.md). */
struct chela_channel_opts {
    size_t size;             /* set by CHELA_CHANNEL_OPTS */
    const char *name;        /* "feishu" */
    const char *agent;       /* NULL: the first */
    const char *account;     /* the app's id */
    const char *secret;      /* what we show the service */
    const char *token;       /* what the service shows us */
    const char *encrypt_key; /* what its callbacks are encrypted and signed with; NULL: not */
    const char *domain;      /* "feishu", "lark" or a URL; NULL: "feishu" */
    const char *dm_policy, *group_policy; /* "allowlist" (NULL), "open", "off"; dm_policy also
                                             "pairing" (pairing.h) */
    const char *const *allow_from; /* ids of people, "*": all; NULL-terminated, may be NULL */
    const char *const *groups;     /* ids of group chats, likewise */
    int unasked;               /* in groups: answer what does not mention the app too */
    const char *group_session; /* "topic" (NULL), "chat", "sender": who shares a session */
    /* Ids of those who decide about calls that need consent, and change how the
     * agent works; NULL: nobody, such calls are refused. NULL-terminated. */
    const char *const *owners;
    const char *mode;          /* how events come: "webhook" (NULL), "websocket" */
    int streaming;             /* answers are shown while they grow, where the service can */
};
#define CHELA_CHANNEL_OPTS(...) {.size = sizeof(struct chela_channel_opts), __VA_ARGS__}

struct chela_gateway_opts { /* all texts are copied */
    size_t size; /* set by CHELA_GATEWAY_OPTS */
    const char *listen;         /* NULL: "127.0.0.1:8787"; port 0: any that is free;
                                   "fd:3": a bound socket that the process was given */
    const char *token;          /* what callers must show, on loopback too: at least 16
                                   bytes; without one there is no gateway */
    const char *const *hosts;   /* names it may be called by beside localhost and IP
                                   addresses; NULL-terminated, may be NULL */
    const char *const *origins; /* "https://app.example.com": pages that may call it */
    chela_agent *const *agents; /* NULL-terminated, at least one: the first is used
                                   when a caller names none. They stay their owner's; one that
                                   is closed (chela_agent_close) is served until a reload or
                                   chela_gateway_close leaves it out */
    chela_store *store;         /* of the runtime; borrowed; NULL: sessions are not kept */
    const struct chela_gateway_hook *const *hooks; /* NULL-terminated; may be NULL */
    const struct chela_channel_opts *const *channels; /* NULL-terminated; may be NULL */
    const char *tls_cert, *tls_key; /* files in PEM; NULL, both of them: no TLS */
    int64_t retention_days; /* sessions at rest that were not used for so long are
                               deleted; 0: none is */
    /* Runs that begin by the clock; NULL-terminated, may be NULL. Those of the store
     * are seen to in any case. */
    const struct chela_schedule *const *schedules;
    /* chela.yaml, for agents with gateway_tool: after a change there chela_gateway_run
     * returns 1, to reload it. NULL: there is no such tool. */
    const char *config_file;
};
#define CHELA_GATEWAY_OPTS(...) {.size = sizeof(struct chela_gateway_opts), __VA_ARGS__}

/* Look once at the schedules, those of opts and those of the store, begin what is
 * due and wait until it has ended: for who has a clock of his own. name: begin
 * this one now, whatever it says; NULL: what is due. *n counts what was begun.
 * on_event, which may be NULL, hears all events of the runs. opts: agents, store
 * and schedules matter, nothing is served. Blocking. */
CHELA_API int chela_schedule_run(chela_runtime *rt, const struct chela_gateway_opts *opts,
                                 const char *name, chela_event_fn *on_event, void *user, size_t *n,
                                 struct chela_error *err);

/* Listen. On success the caller owns *out and closes it before the runtime.
 * CHELA_ECONFIG: there is no token, or it is too short. */
CHELA_API int chela_gateway_new(chela_runtime *rt, const struct chela_gateway_opts *opts,
                                chela_gateway **out, struct chela_error *err);
CHELA_API void chela_gateway_close(chela_gateway *gw);

/* Where it listens, with the port that was chosen; borrowed. */
CHELA_API const char *chela_gateway_address(const chela_gateway *gw);

/* Serve until chela_gateway_stop (0) or chela_gateway_interrupt (1; it can be
 * called again). Not with a host's loop: there the gateway serves whenever the
 * loop runs. */
CHELA_API int chela_gateway_run(chela_gateway *gw);
CHELA_API void chela_gateway_interrupt(chela_gateway *gw); /* any thread */

/* After chela_gateway_run returned 1: an owner wants it to begin anew, by the tool
 * `gateway`. Stop it, close it, start another. */
CHELA_API int chela_gateway_wants_restart(const chela_gateway *gw);

/* Likewise: an owner changed the configuration file by the tool `gateway`. The next
 * call returns 0. */
CHELA_API int chela_gateway_patched(chela_gateway *gw);

/* From now on: these agents, this token, these hosts and origins, this certificate,
 * these hooks, schedules and channels, this retention. Runs end with what they began with; a
 * session that rests gets the new agent with its next message. With another token, who
 * follows events by the old one is hung up on. A channel whose options changed takes over
 * at once, and what the old one sends is sent to its end; one that is no longer there takes
 * nothing in, and goes after the last answer. On failure everything stays as it was. */
CHELA_API int chela_gateway_reload(chela_gateway *gw, const struct chela_gateway_opts *opts,
                                   struct chela_error *err);

/* What people should know about its configuration, for GET /readyz: that a new one was
 * refused, and why. NULL: nothing. Copied. */
CHELA_API void chela_gateway_trouble(chela_gateway *gw, const char *why);

/* Any thread. Take no new requests, let those under way end, within drain_ms;
 * what is not done by then is cut off and can be resumed from the store. A
 * second call cuts off at once. */
CHELA_API void chela_gateway_stop(chela_gateway *gw, int64_t drain_ms);

/* How a gateway that runs at this URL is, as a caller finds it: findings as of
 * chela_runtime_survey (chela/survey.h). token may be NULL. Waits for answers, some
 * seconds at most; needs a runtime with a loop of its own. Yours to chela_free. */
CHELA_API char *chela_gateway_survey(chela_runtime *rt, const char *url, const char *token);

/* Whether the account of a chat service is set up as these options need it: the
 * service is asked, and nothing changed. Likewise. NULL and err: the options cannot be read. */
CHELA_API char *chela_channel_survey(chela_runtime *rt, const struct chela_channel_opts *opts,
                                     struct chela_error *err);

CHELA_END_DECLS
#endif
