/* slack_name.h -- names of people. */
#ifndef CH_CHANNEL_SLACK_NAME_H
#define CH_CHANNEL_SLACK_NAME_H
#include "channel/slack/slack.h"

void ch_slack_prepare(void *self, struct chela_channel_arrival *in, chela_channel_arena *a,
                      const char *workspace, void (*done)(void *tag), void *tag);
void ch_slack_names_release(struct ch_slack *s);

#endif
