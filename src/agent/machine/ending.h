/* ending.h -- what a person is told about how a run ended.
 *
 * The only catalogue of these sentences, for all faces. A sentence says what happened and what
 * the person can do. It never contains the text of a service or an internal name; those are in
 * the error of the run, for logs and programs. */
#ifndef CH_AGENT_ENDING_H
#define CH_AGENT_ENDING_H
#include "agent/machine/run.h"
#include "json/writer.h"

enum ch_ending_face {
    CH_ENDING_ANYWHERE,
    CH_ENDING_CHAT, /* a chat, which has the commands of chat services */
};

/* The sentence for a reason; "": the answer says it all, or the run goes on. empty: the run
 * completed without an answer. language AUTO: English. */
const char *ch_ending_say(enum ch_reason reason, bool empty, enum ch_ending_face face,
                          enum chela_language language);

/* The sentence for a program whose request the model's service refused as wrong. */
const char *ch_ending_rejected(enum chela_language language);

/* {REASON:{"en":SENTENCE,"zh":SENTENCE}}, for a face that chooses the language itself. The
 * sentence of task_completed is the one of a run without an answer. */
void ch_ending_write_all(struct ch_jw *w);

/* The language that a person wrote: ZH if the text has Chinese characters, else EN. */
enum chela_language ch_ending_language(struct ch_sv text);

#endif
