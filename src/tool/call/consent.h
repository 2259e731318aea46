/* consent.h -- the approval stage of a call, for call.c. */
#ifndef CH_TOOL_CONSENT_H
#define CH_TOOL_CONSENT_H
#include "tool/call/call.h"

/* True if the call may continue. Otherwise the call is ASKING, or was denied and has ENDED. */
bool ch_consent_given(chela_call *call);

/* Called right before the start: true if the approved digest still matches. Otherwise the
 * call has ENDED. */
bool ch_consent_holds(chela_call *call);

/* Check arguments against the tool's schema. CHELA_EINVAL with the reason. t NULL: any
 * object is accepted. */
int ch_consent_fits(struct ch_tool *t, const char *arguments, struct chela_error *err);

/* Request approval of an ASKING call. If the decision is immediate, the call is NEW again
 * or ENDED; otherwise it stays ASKING until ch_call_consent. */
void ch_call_ask(chela_call *call);

/* Ask the host, with the call's approval id or a new one; as ch_call_ask, whose last part
 * this is. */
void ch_consent_ask(chela_call *call, struct ch_sv summary, const char *obstacle,
                    const unsigned char digest[CH_SHA256_SIZE]);

/* Apply a decision. Errors change nothing: CHELA_EPERM: "always" is not possible for this
 * call; CHELA_EINVAL: the replaced arguments do not fit the tool's schema. */
int ch_call_consent(chela_call *call, enum chela_decision decision, const char *reason,
                    struct chela_error *err);

#endif
