/* slack_event.h -- events and presses of buttons, from Socket Mode or the Events API. */
#ifndef CH_CHANNEL_SLACK_EVENT_H
#define CH_CHANNEL_SLACK_EVENT_H
#include "channel/slack/slack.h"

/* done is called if the result is nonzero: the event, or the decision, is being stored. */
int ch_slack_take_event(struct ch_slack *s, const struct ch_json *event, chela_accepted_fn *done,
                        void *tag);
int ch_slack_take_press(struct ch_slack *s, const struct ch_json *payload, chela_accepted_fn *done,
                        void *tag);
void ch_slack_events_release(struct ch_slack *s);
void ch_slack_fetch(void *self, const char *handle, chela_channel_bytes_fn *done, void *tag);

#endif
