/* telegram.h -- shared declarations of the Telegram channel.
 *
 *       telegram_message.c  parses messages                   pure
 *       telegram_text.c     Markdown as text and entities     pure
 *       telegram_api.c      calls of the Bot API
 *       telegram_fetch.c    files of a message
 *       telegram_out.c      answers and their files
 *       telegram_act.c      typing indicator and actions of the model
 *       telegram_ask.c      approval requests with buttons
 *       telegram.c          the channel: long polling */
#ifndef CH_CHANNEL_TELEGRAM_H
#define CH_CHANNEL_TELEGRAM_H
#include "channel/channel.h"
#include "channel/rules.h"
#include "channel/web.h"
#include "json/writer.h"

#define CH_TELEGRAM_UNITS 4096   /* maximum UTF-16 units of a message */
#define CH_TELEGRAM_QUESTION 4000 /* maximum bytes of a request; leaves room for the decision */
/* The service fetches the address of a previewed link, and with it what the model wrote there. */
#define CH_TELEGRAM_NO_PREVIEW "{\"is_disabled\":true}"
#define CH_TELEGRAM_ENTITIES 100 /* the service ignores further entities */

struct ch_form;

struct ch_telegram {
    struct chela_channel_host host;
    struct ch_rules rules;
    struct ch_web web, poll; /* for sending, and for polling */
    char *base, *files; /* owned: URLs that contain the token; never logged */
    char *me, *name;    /* owned: the bot's id and user name; NULL: not known yet */
    /* telegram.c */
    struct ch_timer poll_timer; /* before the next poll */
    unsigned failures; /* in a row */
    int64_t offset;   /* offset of the next update */
    unsigned max_updates; /* number of updates to request */
    int64_t newest;   /* newest update received */
    unsigned storing; /* updates being stored */
    bool failed;      /* an update could not be stored: fetch them again */
    bool leaving;     /* another process polls */
    char *trouble;    /* owned: why no messages arrive; NULL: no problem */
    /* operations in progress, each owned by its file */
    struct ch_list fetchings, sendings, typings, acts, presses;
    struct ch_list begun; /* telegram_out.c: answers of which a part was sent */
};

static inline struct ch_telegram *ch_telegram_of(void *self) {
    return self;
}

/* The store has an update that t->storing counts. */
void ch_telegram_stored(struct ch_telegram *t);

struct ch_telegram_file {
    const char *id;    /* NULL: none */
    struct ch_sv name; /* the sender's file name; may be empty */
    int64_t size;      /* 0: unknown */
    bool picture;
};

struct ch_telegram_message { /* texts live in the arena passed to ch_telegram_read */
    struct ch_author who;
    const char *id, *text, *name; /* name: the sender's chosen name; may be NULL */
    const char *title;            /* of the group; NULL: none */
    int64_t ts;
    const struct chela_beside *quoted; /* NULL: none */
    bool answers_us;                   /* replies to a message of this bot */
    bool news;                         /* a service message, such as a member joining */
    struct ch_telegram_file file;
};

#endif
