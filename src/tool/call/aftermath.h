/* aftermath.h -- a question about what the program of a call left behind: files, and hosts that it
 * could not reach.
 *
 * The files were set aside when the program had ended (guard/repositories.h). The call has
 * done its work and holds back its result: if the person agrees, the files are put back;
 * otherwise they stay set aside. If nobody can be asked, only the result mentions the files.
 *
 * A host that nobody had allowed was refused at once. If the person agrees, the same command, or
 * every command of the session ("always"), may reach the host: the model makes the call again. */
#ifndef CH_TOOL_AFTERMATH_H
#define CH_TOOL_AFTERMATH_H
#include "tool/call/call.h"
#include "guard/repositories.h"

/* For the tool's side, before ch_call_worked: remember the files that were set aside, beside
 * those of earlier attempts. held may be NULL. */
void ch_aftermath_set(chela_call *call, const struct ch_held_list *held);

/* The same for hosts that were refused to the command; list may be NULL. A question about files
 * leaves them out. */
struct ch_refused_hosts;
void ch_aftermath_set_hosts(chela_call *call, const struct ch_refused_hosts *list,
                            struct ch_sv command);

/* True if a person has to be asked now; the call is then in state ASKING. The question and
 * the result of the work are stored, for a process that continues the call. */
bool ch_aftermath_asks(chela_call *call);

/* True if `left`, the state that an earlier process stored, is a question after the work: the
 * call is ASKING then, with its result. */
bool ch_aftermath_recall(chela_call *call, const char *left);

/* The question, and the answer. The call ends with the result of its work. */
void ch_aftermath_ask(chela_call *call);
void ch_aftermath_answer(chela_call *call, enum chela_decision decision);

#endif
