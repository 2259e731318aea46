/* dingtalk.h -- shared declarations of the DingTalk channel, a separate module.
 *
 *       dingtalk_message.c  messages of people                      pure
 *       dingtalk_api.c      requests, access tokens, error codes
 *       dingtalk_post.c     messages, cards and files out, actions
 *       dingtalk.c          the channel: Stream mode, presses, files in, set-up */
#ifndef CH_CHANNEL_DINGTALK_DINGTALK_H
#define CH_CHANNEL_DINGTALK_DINGTALK_H
#include "base/list.h"
#include "channel/kit.h"
#include "channel/kit/dial.h"
#include "channel/kit/job.h"
#include "json/writer.h"

struct ch_dingtalk {
    const struct chela_channel_host *host;
    char *api, *oapi;       /* owned: URLs without a slash at the end */
    char *id, *secret;      /* owned: of the app */
    char *robot;            /* owned: robotCode */
    char *card, *variable;  /* owned: template of answers and its variable; card may be NULL */
    char *approval;         /* owned: template of questions; NULL: questions are texts */
    struct ch_dial dial;    /* dingtalk.c */
    struct ch_list jobs;    /* requests and posts in progress */
    struct ch_list acks;    /* callbacks that are being stored */
    struct ch_list presses; /* decisions in progress */
    struct ch_list late;    /* presses that wait for the note of their card */
    size_t nlate;
    struct ch_list rooms;   /* conversations of direct chats, newest last */
    size_t nrooms;
    /* dingtalk_api.c */
    struct ch_list waiting; /* calls without a token */
    char *token;            /* owned; NULL: none */
    int64_t token_until;
    bool asking;
    /* dingtalk_post.c */
    struct ch_list asked; /* questions that are cards */
    struct ch_list paced; /* updates of cards that wait for their turn */
    struct chela_channel_timer *pace;
    int64_t next_update; /* ms */
};

#define CH_DINGTALK_QUESTION 3000 /* bytes of a request for consent */

/* --- dingtalk_message.c */

/* Parses the data of a callback with a message. The texts live in a. False: not a message that
 * names its id, chat and sender. */
bool ch_dingtalk_read(const struct ch_json *v, struct ch_arena *a,
                      struct chela_channel_message *out);
/* True if the chat is a conversation; otherwise it is a person, addressed by user id. */
bool ch_dingtalk_is_conversation(const char *chat);
/* The beginning of a text without marks, for notifications. */
void ch_dingtalk_title(struct ch_buf *out, struct ch_sv markdown);

/* --- dingtalk_api.c */

/* A response of the service. */
struct ch_dingtalk_answer {
    const struct ch_json *json; /* NULL: none */
    enum chela_receipt what;
    const char *why; /* if not SENT; borrowed */
    int64_t wait_ms;
};
typedef void ch_dingtalk_fn(const struct ch_dingtalk_answer *a, void *user);
/* Call a method of the API with a JSON body, which is copied. fn may be NULL; it is not called
 * after the channel has ended. */
void ch_dingtalk_call(struct ch_dingtalk *d, const char *method, const char *path,
                      struct ch_sv body, ch_dingtalk_fn *fn, void *user);
/* Upload a file: media_id. kind: "image" or "file". */
void ch_dingtalk_upload(struct ch_dingtalk *d, const char *kind, const char *name,
                        struct ch_sv bytes, ch_dingtalk_fn *fn, void *user);
/* POST to a URL, without a token. */
void ch_dingtalk_post_to(struct ch_dingtalk *d, const char *url, struct ch_sv body,
                         ch_dingtalk_fn *fn, void *user);
/* Classify a response, whose JSON is in arena a. */
void ch_dingtalk_judge(const struct chela_channel_response *r, struct ch_arena *a,
                       struct ch_dingtalk_answer *out);

/* --- dingtalk_post.c */

void ch_dingtalk_post(void *self, const struct chela_channel_post *p, chela_channel_posted_fn *done,
                      void *tag);
void ch_dingtalk_working(void *self, const struct chela_channel_arrival *in, int at_work);
void ch_dingtalk_react(void *self, const char *chat, const char *message, const char *emoji,
                       chela_channel_acted_fn *done, void *tag);
void ch_dingtalk_unsend(void *self, const char *chat, const char *message,
                        chela_channel_acted_fn *done, void *tag);
void ch_dingtalk_mute(void *self, const char *chat, const char *member, int64_t seconds,
                      chela_channel_acted_fn *done, void *tag);
/* A press of a button of the card `track` by `user`. */
void ch_dingtalk_press(struct ch_dingtalk *d, const char *track, const char *user,
                       const char *word);
void ch_dingtalk_remind(void *self, const char *id, struct chela_text data);
void ch_dingtalk_reminded(void *self);
void ch_dingtalk_posts_release(struct ch_dingtalk *d);
/* Notes the conversation of a direct chat. */
void ch_dingtalk_room(struct ch_dingtalk *d, const char *chat, struct ch_sv conversation);

#endif
