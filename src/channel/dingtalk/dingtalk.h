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
#include "channel/kit/job.h"
#include "channel/kit/redial.h"
#include "json/writer.h"

struct ch_dingtalk {
    const struct chela_channel_host *host;
    char *api, *oapi;       /* owned: URLs without a slash at the end */
    char *id, *secret;      /* owned: of the app */
    char *robot;            /* owned: robotCode */
    char *card, *variable;  /* owned: template of answers and its variable; card may be NULL */
    char *approval;         /* owned: template of questions; NULL: questions are texts */
    struct ch_redial dial;  /* dingtalk.c */
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

#endif
