/* approval_prompt.h -- questions in a chat about calls that need consent. */
#ifndef CH_GATEWAY_APPROVAL_PROMPT_H
#define CH_GATEWAY_APPROVAL_PROMPT_H
#include "base/say.h"
#include "gateway/chat/chat_service.h"

struct ch_approval_prompt {
    struct ch_link link;       /* in the service's approval_prompts */
    char *session, *id, *text; /* owned; id: of the approval */
    bool whole;                /* text shows the whole call, so it can be allowed there */
};

/* Sends the question to the address `to`. A question that was sent before is sent under the
 * same key, so people see it once. */
void ch_approval_prompt_send(struct ch_chat_service *chat, const char *session, const char *to,
                             struct ch_sv id, struct ch_sv summary, enum chela_language language);
struct ch_approval_prompt *ch_approval_prompt_find(const struct ch_chat_service *chat,
                                                   struct ch_sv id);
void ch_approval_prompt_free(struct ch_chat_service *chat, struct ch_approval_prompt *a);
/* Forgets the questions of a session that waits for no decision any more. */
void ch_approval_prompts_forget(struct ch_chat_service *chat, const char *session);
void ch_approval_prompts_release(struct ch_chat_service *chat);

/* `approve` of a run: "ask" if the service has owners, who may answer; else "deny". */
enum chela_approve ch_approval_prompt_policy(const struct ch_chat_service *chat);

#endif
