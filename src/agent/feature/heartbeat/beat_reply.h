/* beat_reply.h -- reads a companion's actions from the text of a reply.
 *
 *   {"thoughts": "...", "actions": [{"name": "send_message", "params": {..}}],
 *    "request_heartbeat": false}
 *
 * Models do not always write exactly this form. Deviations whose meaning is clear are
 * accepted: text and fences around the object, a bare list of actions, other usual names of
 * members, a single action without a list, request_heartbeat among the thoughts, raw line
 * breaks in strings, a superfluous comma. A truncated object is never accepted, because half
 * an action may mean something else. */
#ifndef CH_AGENT_BEAT_REPLY_H
#define CH_AGENT_BEAT_REPLY_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "json/json.h"

struct ch_beat_action {
    struct ch_sv name;
    struct ch_sv params; /* JSON object */
};

struct ch_beat_reply { /* texts in the arena */
    struct ch_sv thoughts; /* may be empty */
    struct ch_beat_action actions[CH_LIMIT_BEAT_ACTIONS];
    size_t n;
    size_t dropped; /* actions over the limit */
    bool more;      /* member request_heartbeat */
};

/* Parses the reply. False: the text contains no such object; `why` tells the model the
 * problem. */
bool ch_beat_reply_read(struct ch_sv text, struct ch_arena *a, struct ch_beat_reply *out,
                        struct ch_buf *why);

#endif
