/* beat_reply.h -- what a companion wants, from the text of a reply.
 *
 *   {"thoughts": "...", "actions": [{"name": "send_message", "params": {..}}],
 *    "request_heartbeat": false}
 *
 * Models write that form almost. What they meant is taken where it is beyond
 * doubt: words and fences around the object, a list of actions alone, other
 * usual names of the members, a single action that is no list, a request for a
 * beat among the thoughts, raw line breaks in strings, a comma too many. What is
 * cut off is never taken: half an action may be another one. */
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
    struct ch_sv thoughts; /* as text; may be empty */
    struct ch_beat_action actions[CH_LIMIT_BEAT_ACTIONS];
    size_t n;
    size_t dropped; /* actions past the limit */
    bool more;      /* request_heartbeat */
};

/* False: there is no such object; why says what is wrong, for the model. */
bool ch_beat_reply_read(struct ch_sv text, struct ch_arena *a, struct ch_beat_reply *out,
                        struct ch_buf *why);

#endif
