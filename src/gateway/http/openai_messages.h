/* openai_messages.h -- the `messages` of Chat Completions as a history. */
#ifndef CH_GATEWAY_OPENAI_MESSAGES_H
#define CH_GATEWAY_OPENAI_MESSAGES_H
#include "gateway/lane/client_history.h"
#include "json/json.h"

/* Adds sound: {data, format}, or, as Mistral's clients send it, a text in base64 or a URL. */
int ch_openai_messages_audio(struct ch_client_history *h, const struct ch_json *audio,
                             struct chela_error *err);

int ch_openai_messages(const struct ch_json *messages, struct ch_client_history *h,
                       struct chela_error *err);

#endif
