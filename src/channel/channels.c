/* channels.c -- the chat services there are. */
#include "channel/channel.h"

static const struct ch_channel_ops *const channels[] = {&ch_feishu_channel, &ch_telegram_channel};

const struct ch_channel_ops *ch_channel_find(const char *name) {
    for (size_t i = 0; i < CH_LEN(channels); i++)
        if (strcmp(channels[i]->name, name) == 0)
            return channels[i];
    return NULL;
}
