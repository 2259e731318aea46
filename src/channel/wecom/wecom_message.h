/* wecom_message.h -- messages of people. Pure functions. */
#ifndef CH_CHANNEL_WECOM_MESSAGE_H
#define CH_CHANNEL_WECOM_MESSAGE_H
#include "channel/wecom/wecom.h"

/* Parses the body of a message. The texts live in a. False: not a message that names its id and
 * sender. */
bool ch_wecom_read(const struct ch_json *v, struct ch_arena *a, struct chela_channel_message *out);
/* The chat of a message or an event; NULL: none. */
const char *ch_wecom_chat(const struct ch_json *v, struct ch_arena *a);
/* The handle of a file: its key ("-": none) and its URL. */
struct ch_wecom_file {
    struct ch_sv key, url;
};
struct ch_wecom_file ch_wecom_file(const char *handle);
/* Append a text as a block of code, so that it is shown exactly. */
void ch_wecom_exact(struct ch_buf *out, struct ch_sv text);

#endif
