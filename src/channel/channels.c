/* channels.c -- the list of chat services. */
#include "channel/channels.h"

#include "channel/channel.h"

static const struct ch_channel_ops *const channels[] = {&ch_feishu_channel, &ch_telegram_channel};

const struct ch_channel_ops *ch_channel_find(const char *name) {
    for (size_t i = 0; i < CH_LEN(channels); i++)
        if (strcmp(channels[i]->name, name) == 0)
            return channels[i];
    return NULL;
}

void ch_channel_finding(struct ch_jw *w, const char *channel, const char *status,
                        const char *detail, const char *mend) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "area", "channel");
    ch_jw_kcstr(w, "name", channel);
    ch_jw_kcstr(w, "status", status);
    ch_jw_kcstr(w, "detail", detail);
    if (mend)
        ch_jw_kcstr(w, "mend", mend);
    ch_jw_end(w, '}');
}
