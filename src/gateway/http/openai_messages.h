/* openai_messages.h -- the `messages` of Chat Completions as a history. */
#ifndef CH_GATEWAY_OPENAI_MESSAGES_H
#define CH_GATEWAY_OPENAI_MESSAGES_H
#include "gateway/lane/client_history.h"
#include "json/json.h"

/* Adds sound, {data, format}. */
void ch_openai_messages_audio(struct ch_client_history *h, const struct ch_json *audio);

int ch_openai_messages(const struct ch_json *messages, struct ch_client_history *h,
                       struct chela_error *err);

#endif
