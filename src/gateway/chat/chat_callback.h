/* chat_callback.h -- requests of a service that its channel answers later. */
#ifndef CH_GATEWAY_CHAT_CALLBACK_H
#define CH_GATEWAY_CHAT_CALLBACK_H
#include "gateway/request/request.h"

struct ch_chat_service;
struct ch_chat_callback;

/* `respond_to` of a callback; the request is answered by ch_chat_callback_respond or, if the
 * channel did not ask for that, the callback is dropped first. */
struct ch_chat_callback *ch_chat_callback_new(struct ch_chat_service *chat);
void ch_chat_callback_drop(struct ch_chat_callback *k);
/* The channel answers later. */
void ch_chat_callback_await(struct ch_chat_callback *k, struct ch_request *req);
/* `respond` of struct ch_channel_gateway. type NULL: JSON. */
void ch_chat_callback_respond(void *callback, int status, const char *type, struct ch_sv body);
/* The service is closed: its requests fail. */
void ch_chat_callbacks_release(struct ch_chat_service *chat);

#endif
