/* chat_runs.h -- the session of a chat and its runs.
 *
 * Input typed during a run steers the run. A call that needs approval or a question of the
 * model pauses the run; the prompt shows the question, and the answer continues the run. */
#ifndef CH_CLI_CHAT_RUNS_H
#define CH_CLI_CHAT_RUNS_H
#include "cli/chat/chat.h"

/* Create the agent and its session, if missing. A missing key does not end the chat. */
int ch_chat_prepare(struct ch_chat *c, struct chela_error *err);
/* Create the agent if missing. False: failed, and the reason was shown. */
bool ch_chat_ready(struct ch_chat *c);
/* Send a message; typed: the text as the person typed it; shown: typed is already above the
 * prompt. */
void ch_chat_say(struct ch_chat *c, const char *text, const char *typed, bool shown);
/* A message that was not sent goes back to the prompt, before the text that is being typed. Its
 * resources are read again when the person sends it. */
void ch_chat_give_back(struct ch_chat *c, const char *typed);
/* False: a run or a question is in progress, and the person was told that `what` has to wait. A
 * picker asks again when the person has chosen: a run may have started meanwhile. */
bool ch_chat_is_idle(struct ch_chat *c, const char *what);
/* Switch to another session. continue: show its conversation, too. */
void ch_chat_switch(struct ch_chat *c, const char *key);
void ch_chat_continue(struct ch_chat *c, const char *key);
/* Keep the settings of the chat with its session, which has an agent. */
void ch_chat_keep(const struct ch_chat *c);
void ch_chat_resume(struct ch_chat *c);
void ch_chat_compact(struct ch_chat *c, const char *focus);
void ch_chat_leave(struct ch_chat *c);

/* Answer the question at the prompt. */
void ch_chat_reply(struct ch_chat *c, char *line);
/* The person declines to answer: deny everything and cancel the run. */
void ch_chat_refuse(struct ch_chat *c);
void ch_chat_put_question(struct ch_chat *c);
void ch_chat_drop_ask(struct ch_chat *c);

#endif
