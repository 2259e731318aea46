/* reply_directives.h -- directives of a reply to the channel of its session.
 *
 * In a session with a channel a model may put directives into its text
 * (prompt/directive.h). They are removed from the streamed text and from the run's answer,
 * and RUN_END reports them. An attachment is a URL or a file of the workspace; anything
 * else is left out with a warning. The history keeps the reply unchanged. Without a channel
 * directives are plain text. */
#ifndef CH_AGENT_REPLY_DIRECTIVES_H
#define CH_AGENT_REPLY_DIRECTIVES_H
#include "agent/handle/run.h"

/* A model call begins. */
void ch_reply_directives_begin(chela_run *run);
/* Removes directives from a piece of text. False: no part of the piece can be shown yet. */
bool ch_reply_directives_piece(chela_run *run, struct chela_event *ev);
/* The reply is complete: shows the text that was held back, and removes the directives from
 * run->text. */
void ch_reply_directives_end(chela_run *run);
/* Fills RUN_END. began: index of the run's first message in the transcript, or SIZE_MAX if a
 * compaction has moved the message; files that the model made since then are attached in every
 * session. */
void ch_reply_directives_tell(chela_run *run, size_t began, struct chela_event *end);
void ch_reply_directives_release(chela_run *run);

#endif
