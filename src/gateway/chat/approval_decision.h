/* approval_decision.h -- decisions that people make in a chat about calls that need
 * consent. */
#ifndef CH_GATEWAY_APPROVAL_DECISION_H
#define CH_GATEWAY_APPROVAL_DECISION_H
#include "gateway/chat/chat_service.h"
#include "gateway/request/request.h"

/* Carries out a decision, which is copied. done receives the channel's response, at once or
 * later; `decide` of struct ch_channel_gateway, user is the service. */
void ch_approval_decision_apply(const struct chela_channel_decision *d,
                                chela_channel_decided_fn *done, void *tag, void *user);
/* The same for a command: done receives a line of text for people. An empty approval id: the only
 * call of the session that waits. reason: of a denial; may be NULL. */
void ch_approval_decision_apply_in_words(struct ch_chat_service *chat,
                                         const struct chela_channel_decision *d,
                                         const char *reason, enum chela_language language,
                                         chela_channel_decided_fn *done, void *tag);
/* The same for a callback of the service: req is answered with the channel's response. */
void ch_approval_decision_from_request(struct ch_request *req, struct ch_chat_service *chat,
                                       const struct chela_channel_decision *d);
/* The gateway's deliveries were freed before. */
void ch_approval_decisions_release(struct ch_chat_service *chat);
/* A decision as an event of the inbox: {"approval","word","by",["reason"]}. */
extern const struct ch_delivery_kind ch_chat_press;

#endif
