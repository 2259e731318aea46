/* slack_post.h -- calls of the Web API; messages and files out, reactions, actions. */
#ifndef CH_CHANNEL_SLACK_POST_H
#define CH_CHANNEL_SLACK_POST_H
#include "channel/slack/slack.h"

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

/* Members of struct chela_channel_ops (chela/sys/channel.h), which states their contracts. */
void ch_slack_post(void *self, const struct chela_channel_post *p, chela_channel_posted_fn *done,
                   void *tag);
void ch_slack_working(void *self, const struct chela_channel_arrival *in, int at_work);
void ch_slack_react(void *self, const char *chat, const char *message, const char *emoji,
                    chela_channel_acted_fn *done, void *tag);
void ch_slack_unsend(void *self, const char *chat, const char *message,
                     chela_channel_acted_fn *done, void *tag);
void ch_slack_remove(void *self, const char *chat, const char *member, chela_channel_acted_fn *done,
                     void *tag);

void ch_slack_posts_release(struct ch_slack *s);

#endif
