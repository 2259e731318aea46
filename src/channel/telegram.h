/* telegram.h -- what the files of the Telegram channel share.
 *
 *   telegram_message.c  what does a message say?          pure
 *   telegram_text.c     Markdown as words and entities    pure
 *   telegram_api.c      calls of the Bot API
 *   telegram_fetch.c    files that came with a message
 *   telegram_out.c      answers and their files
 *   telegram_act.c      that somebody is at work, and what the model does
 *   telegram_ask.c      questions with buttons, and who pressed one
 *   telegram.c          the channel made of these: long polling */
#ifndef CH_CHANNEL_TELEGRAM_H
#define CH_CHANNEL_TELEGRAM_H
#include "channel/rules.h"
#include "channel/web.h"
#include "json/writer.h"

#define CH_TELEGRAM_UNITS 4096   /* of UTF-16, of a message */
#define CH_TELEGRAM_QUESTION 4000 /* bytes, which are no fewer; and who decided fits behind them */
#define CH_TELEGRAM_ENTITIES 100 /* the service leaves out what is beyond */

struct ch_form;

struct ch_telegram {
    struct ch_channel channel;
    struct ch_channel_host host;
    struct ch_rules rules;
    struct ch_web web, poll; /* what we tell, and what we ask for */
    char *base, *files; /* owned: addresses with the token in them, so never shown */
    char *me, *name;    /* owned: our id and user name; NULL: unknown yet */
    /* telegram.c */
    struct ch_timer rest;
    int64_t rest_ms;
    int64_t offset;   /* of the next update */
    unsigned most;    /* updates to ask for */
    int64_t newest;   /* of those that came */
    unsigned storing; /* updates on their way into the inbox */
    bool failed;      /* one of them cannot be stored: they must come again */
    bool leaving;     /* another asks */
    char *trouble;    /* owned: why nothing comes in; NULL: nothing is wrong */
    /* what is under way, each of its file */
    struct ch_list fetchings, sendings, typings, acts, presses;
};

static inline struct ch_telegram *ch_telegram_of(struct ch_channel *c) {
    return CH_CONTAINER(c, struct ch_telegram, channel);
}

struct ch_telegram_file {
    const char *id;    /* NULL: there is none */
    struct ch_sv name; /* as its sender calls it; may be empty */
    int64_t size;      /* 0: not known */
    bool picture;
};

struct ch_telegram_message { /* texts live in the arena it was read in */
    struct ch_author who;
    const char *id, *text, *name; /* name: of its sender, as they chose it; may be NULL */
    int64_t ts;
    const struct chela_beside *quoted; /* NULL: nothing */
    bool answers_us;                   /* a message of ours */
    bool news;                         /* of the service's own: somebody joined, say */
    struct ch_telegram_file file;
};

#endif
