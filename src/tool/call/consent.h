/* consent.h -- the stage of a call in which somebody agrees to it. For call.c;
 * asking and answering (ch_call_ask, ch_call_consent) are in call.h. */
#ifndef CH_TOOL_CONSENT_H
#define CH_TOOL_CONSENT_H
#include "tool/call/call.h"

/* May the call go on? If not, it is ASKING, or it was denied and has ENDED. */
bool ch_consent_given(chela_call *call);

/* Right before the start: is what was agreed to still what would run? If not,
 * the call has ENDED. */
bool ch_consent_holds(chela_call *call);

/* Could a call of the tool have these arguments? CHELA_EINVAL and why. A tool that
 * is NULL takes any object. */
int ch_consent_fits(const struct ch_tool *t, const char *arguments, struct chela_error *err);

/* Ask about an ASKING call. If the answer comes at once it is NEW again, or
 * ENDED; otherwise it stays ASKING until ch_call_consent, any time later. */
void ch_call_ask(chela_call *call);

/* Nothing happens: CHELA_EPERM: it cannot be allowed always; CHELA_EINVAL: the
 * arguments that it is to have are none of its tool's. */
int ch_call_consent(chela_call *call, enum chela_decision decision, const char *reason,
                    struct chela_error *err);

#endif
