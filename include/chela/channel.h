/* channel.h -- where a conversation takes place, for the tool `message`.
 *
 * A host that carries a session's conversation over a chat service, by mail or
 * on a page of its own says how messages get there: a table of functions, given
 * to the session. While a session has one, an agent with the built-in tool
 * `message` can send, reply and react by itself; without one the model does
 * not see that tool. */
#ifndef CHELA_CHANNEL_H
#define CHELA_CHANNEL_H
#include <stddef.h>

#include "chela/error.h"
#include "chela/session.h"
#include "chela/tool.h"
CHELA_BEGIN_DECLS

/* What the model wants delivered; borrowed until the function returns. */
struct chela_message {
    const char *key;        /* idempotency key: the same message again has the same
                               one, after a retry or a restart; deliver it once */
    const char *target;     /* whom it is for, in the channel's words; NULL: this
                               conversation */
    const char *message_id; /* reply, react: which message; NULL: the one that the
                               run answers */
    const char *text;       /* send, reply: never empty; NULL for react */
    const char *emoji;      /* react; NULL otherwise */
    int more;               /* send: it goes on with what was just sent, as people write
                               several messages in a row: it answers no other */
};

/* Deliver m and answer the call, as a tool's function does on the loop thread
 * (CHELA_TOOL_ON_LOOP in tool.h): return at once, with a result that tells the
 * model what became of it (the new message's id, say), or chela_call_defer and
 * chela_call_finish later. A failure is an error result; after `network`,
 * `rate_limited`, `timeout` and `unavailable` the call is made again with the
 * same key. A target or id that the channel does not know, or does not let this
 * session reach, is its own to refuse: `not_found`, `permission_denied`. */
typedef int chela_channel_fn(chela_call *call, const struct chela_message *m, void *user);

struct chela_channel {
    size_t size; /* set by CHELA_CHANNEL */
    const char *name;         /* for the model and for people: "telegram" */
    const char *conversation; /* this conversation as a target; NULL: it has no name */
    chela_channel_fn *send, *reply, *react; /* NULL: the channel cannot do that */
    void *user;
    int parts; /* send never defers its call: a message may be sent in parts, with pauses */
};
#define CHELA_CHANNEL(...) {.size = sizeof(struct chela_channel), __VA_ARGS__}

/* The channel of the session's runs from now on; copied, but for user. NULL:
 * none. CHELA_EBUSY while a run is in progress or paused. CHELA_EINVAL: it has
 * no name, or can do nothing. */
CHELA_API int chela_session_channel(chela_session *s, const struct chela_channel *channel,
                                    struct chela_error *err);

/* --- messages that come in ------------------------------------------------- */

/* A message that stands beside the one that came: what it quotes, what was said
 * before it. All of it is what people wrote. */
struct chela_beside {
    const char *message_id, *sender, *text; /* the first two may be NULL */
};

/* What is known about a message that came through a channel; given as `inbound`
 * of chela_run_opts. Everything may be NULL or 0. The history keeps the text with
 * its id and sender before it, "[message_id: om_1] Ann: text"; the rest is shown
 * to the model in the requests of this run alone, at their end. Texts of people
 * cannot pass for any of it: what looks like our marks is broken up in them. */
struct chela_inbound {
    size_t size; /* set by CHELA_INBOUND */
    /* What the channel vouches for. */
    const char *channel, *account; /* "telegram", and which of several */
    const char *chat_type;         /* "direct", "group" */
    const char *chat_id, *thread_id, *message_id, *sender_id;
    int64_t ts;    /* ms since the epoch */
    int mentioned; /* the agent was addressed by name */
    /* What people chose. */
    const char *sender, *chat; /* names */
    const struct chela_beside *quoted;
    const struct chela_beside *recent; /* not yet in the session; the newest last */
    size_t nrecent;                    /* of more than 31 the newest are shown */
    int answers_us; /* what it quotes is the agent's own; the channel vouches for it */
};
#define CHELA_INBOUND(...) {.size = sizeof(struct chela_inbound), __VA_ARGS__}

/* A text as the history keeps it, for chela_run_steer and chela_run_follow_up,
 * which take text alone; yours to chela_free. NULL and err: the size of *in is wrong. */
CHELA_API char *chela_inbound_line(const struct chela_inbound *in, const char *text, size_t len,
                                   struct chela_error *err);

CHELA_END_DECLS
#endif
