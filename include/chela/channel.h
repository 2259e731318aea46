/* channel.h -- the channel of a session: where the conversation takes place.
 *
 * A host that connects a session to a chat service, to mail or to a page of its own gives
 * the session a channel: a table of functions that deliver messages. In a session with a
 * channel, an agent with the built-in tool `message` can send, reply and react. Without a
 * channel the model does not see the tool.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; texts are copied.
 *   Threads: loop
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_CHANNEL_H
#define CHELA_CHANNEL_H
#include <stddef.h>

#include "chela/error.h"
#include "chela/session.h"
#include "chela/tool.h"
CHELA_BEGIN_DECLS

/* A message that the model sends; borrowed until the function returns. */
struct chela_message {
    const char *key;        /* idempotency key: a repetition after a failure or a restart
                               has the same key; deliver the message once */
    const char *target;     /* the receiver, as the channel names it; NULL: this
                               conversation */
    const char *message_id; /* reply, react: id of the message; NULL: the message that the
                               run answers */
    const char *text;       /* send, reply: never empty; react: NULL */
    const char *emoji;      /* react; otherwise NULL */
    int more;               /* send: nonzero: a further part of the message that was just
                               sent, not a reply to another message */
};

/* Delivers a message and sets the result of the call, like a tool with CHELA_TOOL_ON_LOOP
 * (tool.h): the function returns at once, with a result for the model such as the id of
 * the new message, or calls chela_call_defer and later chela_call_finish. A failure is an
 * error result. After `network`, `rate_limited`, `timeout` and `unavailable` the function
 * is called again with the same key. The function must refuse a target or id that the
 * channel does not know (`not_found`) or that this session may not reach
 * (`permission_denied`). */
typedef int chela_channel_fn(chela_call *call, const struct chela_message *m, void *user);

/* A channel. */
struct chela_channel {
    size_t size; /* set by CHELA_CHANNEL */
    const char *name;         /* for the model and for people: "telegram" */
    const char *conversation; /* the conversation as a target; NULL: it is no target */
    chela_channel_fn *send, *reply, *react; /* NULL: the channel does not support it */
    void *user;               /* for the functions; borrowed */
    int parts; /* nonzero: a message may be sent in parts, with pauses; `send` then never
                  defers its call */
    int64_t language; /* enum chela_language, of sentences for people; AUTO: the runtime's */
};
#define CHELA_CHANNEL(...) {.size = sizeof(struct chela_channel), __VA_ARGS__}

/* Set the channel of the session's future runs. channel NULL: none.
 * Ownership: channel is copied, except user, which is borrowed until the channel is
 * replaced or the session is closed.
 * Errors: CHELA_EBUSY: a run is in progress or paused. CHELA_EINVAL: the channel has no name
 * or no function. */
CHELA_API int chela_session_channel(chela_session *s, const struct chela_channel *channel,
                                    struct chela_error *err);

/* --- incoming messages ----------------------------------------------------- */

/* A message that accompanies an incoming one: the message that it quotes, or an earlier
 * message of the chat. */
struct chela_beside {
    const char *message_id, *sender, *text; /* the first two may be NULL */
};

/* A line of a group that was not addressed to the agent. Members may be NULL or 0. */
struct chela_said {
    const char *message_id, *sender_id, *sender, *text;
    int64_t ts; /* milliseconds since 1970 */
};

/* The group that a message was written in. Every member may be NULL or 0. */
struct chela_group {
    size_t size;                /* set by CHELA_GROUP */
    const char *topic;          /* what the group is for, by its own description */
    const char *const *members; /* names; NULL-terminated. The model gets the first 50 */
    int64_t member_count;
    const struct chela_said *said; /* lines since the last message to the agent; newest last */
    size_t nsaid;                  /* the model gets the newest 100, 24 KB in total */
};
#define CHELA_GROUP(...) {.size = sizeof(struct chela_group), __VA_ARGS__}

/* Facts about a message that arrived through a channel: `inbound` of struct chela_run_opts.
 * Every member may be NULL or 0. The conversation keeps the text with its id and sender:
 * "[message_id: om_1] Ann: text". The other facts precede the text, in the same message.
 * Texts of people cannot imitate these marks: the library breaks up such parts of the texts. */
struct chela_inbound {
    size_t size; /* set by CHELA_INBOUND */
    /* Facts that the channel guarantees. */
    const char *channel, *account; /* "telegram", and which of several */
    const char *chat_type;         /* "direct", "group" */
    const char *chat_id, *thread_id, *message_id, *sender_id;
    int64_t ts;    /* milliseconds since 1970 */
    int mentioned; /* the message mentions the agent */
    /* Texts that people chose. */
    const char *sender, *chat; /* names */
    const struct chela_beside *quoted;
    const struct chela_beside *recent; /* not yet in the session; newest last */
    size_t nrecent;                    /* the model gets the newest 31 */
    int answers_us; /* `quoted` is a message of the agent; the channel guarantees this */
    const struct chela_group *group; /* NULL: nothing is known, or the chat is no group */
};
#define CHELA_INBOUND(...) {.size = sizeof(struct chela_inbound), __VA_ARGS__}

/* A text in the form that the conversation keeps, with id and sender: for chela_run_steer
 * and chela_run_follow_up, which take a text only.
 * Ownership: the caller frees the result with chela_free.
 * Threads: any
 * Errors: CHELA_EINVAL: the size of in is wrong. */
CHELA_API char *chela_inbound_line(const struct chela_inbound *in, const char *text, size_t len,
                                   struct chela_error *err);

CHELA_END_DECLS
#endif
