/* ending.h -- what a person is told about how a run ended.
 *
 * The only catalogue of these sentences, for all faces. A sentence says what happened and what
 * the person can do. It never contains the text of a service or an internal name; those are in
 * the error of the run, for logs and programs. */
#ifndef CH_AGENT_ENDING_H
#define CH_AGENT_ENDING_H
#include "agent/machine/run.h"

enum ch_ending_face {
    CH_ENDING_ANYWHERE,
    CH_ENDING_CHAT, /* a chat, which has the commands of chat services */
};

/* The sentence for a reason; "": the answer says it all, or the run goes on. empty: the run
 * completed without an answer. language AUTO: English. */
const char *ch_ending_say(enum ch_reason reason, bool empty, enum ch_ending_face face,
                          enum chela_language language);

/* The language that a person wrote: ZH if the text has Chinese characters, else EN. */
enum chela_language ch_ending_language(struct ch_sv text);

#endif
