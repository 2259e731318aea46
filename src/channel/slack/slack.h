/* slack.h -- shared declarations of the Slack channel, a separate module.
 *
 *       slack_text.c   Markdown and mrkdwn                  pure
 *       slack_event.c  events and presses of buttons, from either way in
 *       slack_name.c   names of people
 *       slack_post.c   messages and files out, reactions, actions
 *       slack.c        the channel: Socket Mode, Events API, set-up */
#ifndef CH_CHANNEL_SLACK_SLACK_H
#define CH_CHANNEL_SLACK_SLACK_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "channel/kit.h"
#include "channel/kit/dial.h"
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
    struct ch_dial dial; /* Socket Mode */
};

#define CH_SLACK_QUESTION 2900
#define CH_SLACK_NAME_MS 5000 /* longest wait for the name of a person */

/* A response of the Web API. */
struct ch_slack_answer {
    const struct ch_json *json; /* NULL: none */
    enum chela_receipt what;
    const char *why; /* if not SENT; borrowed */
    int64_t wait_ms;
};
typedef void ch_slack_fn(const struct ch_slack_answer *a, void *user);
/* Call a method with a JSON body, which is copied. fn may be NULL. */
void ch_slack_call(struct ch_slack *s, const char *method, struct ch_sv body, ch_slack_fn *fn,
                   void *user);
/* The same for a body of any type and another token. */
void ch_slack_call_as(struct ch_slack *s, const char *method, const char *bearer, const char *type,
                      struct ch_sv body, ch_slack_fn *fn, void *user);

/* slack_event.c. done is called if the result is nonzero: the event is being stored. */
int ch_slack_take_event(struct ch_slack *s, const struct ch_json *event, chela_accepted_fn *done,
                        void *tag);
void ch_slack_take_press(struct ch_slack *s, const struct ch_json *payload);
void ch_slack_events_release(struct ch_slack *s);
void ch_slack_fetch(void *self, const char *handle, chela_channel_bytes_fn *done, void *tag);

/* slack_name.c */
void ch_slack_prepare(void *self, struct chela_channel_arrival *in, chela_channel_arena *a,
                      const char *workspace, void (*done)(void *tag), void *tag);
void ch_slack_names_release(struct ch_slack *s);

/* slack_post.c */
void ch_slack_post(void *self, const struct chela_channel_post *p, chela_channel_posted_fn *done,
                   void *tag);
void ch_slack_posts_release(struct ch_slack *s);
void ch_slack_working(void *self, const struct chela_channel_arrival *in, int at_work);
void ch_slack_react(void *self, const char *chat, const char *message, const char *emoji,
                    chela_channel_acted_fn *done, void *tag);
void ch_slack_unsend(void *self, const char *chat, const char *message,
                     chela_channel_acted_fn *done, void *tag);
void ch_slack_remove(void *self, const char *chat, const char *member, chela_channel_acted_fn *done,
                     void *tag);

#endif
