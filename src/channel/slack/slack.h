/* slack.h -- shared declarations of the Slack channel, a separate module.
 *
 *       slack_text.c   Markdown and mrkdwn                  pure
 *       slack_event.c  events and presses of buttons, from either way in
 *       slack_name.c   names of people
 *       slack_post.c   calls of the Web API; messages and files out, reactions, actions
 *       slack.c        the channel: Socket Mode, Events API, set-up */
#ifndef CH_CHANNEL_SLACK_SLACK_H
#define CH_CHANNEL_SLACK_SLACK_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "channel/kit.h"
#include "channel/kit/redial.h"
#include "json/get.h"
#include "json/json.h"
#include "json/writer.h"

struct ch_slack {
    const struct chela_channel_host *host;
    char *api, *bearer, *app_bearer, *signing; /* owned; the last two may be NULL */
    bool in_threads;                           /* an answer in a channel begins a thread */
    char *me;                                  /* owned: the bot's user id; NULL: not known yet */
    struct ch_list acks, posts, sending, acts, presses,
        fetches; /* in progress, each owned by its file */
    struct ch_list names; /* slack_name.c: of people, the oldest first */
    size_t nnames;
    struct ch_redial dial; /* Socket Mode */
};

#define CH_SLACK_QUESTION 2900
#define CH_SLACK_NAME_MS 5000 /* longest wait for the name of a person */

#endif
