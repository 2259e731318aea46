/* outgoing.h -- where a call sends data to, and who allowed that.
 *
 * The lists of the agent (egress/egress.h) decide about the destination of a call. A destination
 * that no list has passes if the operator named it, or if its address stands word for word in
 * what a person said: a request for such an address carries nothing that the model composed. Any
 * other needs a person, whatever the level of the tool is. "Always" allows the host and its port
 * until the session ends.
 *
 * Besides, the rule of two holds (flow.h), for destinations that are allowed, too. */
#ifndef CH_TOOL_CALL_OUTGOING_H
#define CH_TOOL_CALL_OUTGOING_H
#include "base/sha256.h"
#include "egress/egress.h"
#include "tool/call/call.h"
#include "tool/call/flow.h"

enum ch_outgoing_verdict {
    CH_OUTGOING_FREE,  /* sends nothing, or may */
    CH_OUTGOING_ASK,   /* a person has to agree */
    CH_OUTGOING_DENIED /* a list denies the destination */
};

/* The destination of a call. The digests, of host and port and of what met for a destination, are
 * what "always" remembers. */
struct ch_outgoing {
    enum ch_outgoing_verdict verdict;
    const char *url; /* in the arena of the call; NULL: none */
    struct ch_url to;
    bool unlisted; /* the verdict is about the host */
    unsigned char digest[CH_SHA256_SIZE];
    struct ch_flow_met met; /* the verdict is about what met */
    unsigned char met_digest[CH_SHA256_SIZE];
};

/* Called like ch_tool.plan. */
void ch_outgoing_judge(chela_call *call, struct ch_outgoing *out);

/* Whether the running call may go on to another destination, where a server sent it. */
bool ch_outgoing_may_follow(const chela_call *call, const struct ch_url *to, struct ch_sv text);
/* The reason against an address, as in struct ch_address_filter. */
const char *ch_outgoing_refuses(const chela_call *call, const struct ch_url *to,
                                const struct sockaddr *at);

/* Append the line for the person who decides, and the reasons for the model. */
void ch_outgoing_show(const struct ch_outgoing *o, enum chela_language language,
                      struct ch_buf *out);
void ch_outgoing_show_met(const char *source, const char *data, enum chela_language language,
                          struct ch_buf *out);
void ch_outgoing_explain(const struct ch_outgoing *o, struct ch_buf *out);

#endif
