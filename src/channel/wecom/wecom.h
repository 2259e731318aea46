/* wecom.h -- shared declarations of the WeCom channel, a separate module.
 *
 *       wecom_message.c  messages of people                              pure
 *       wecom_seal.c     signatures and ciphers of callbacks and files
 *       wecom_line.c     the long connection: frames and their answers
 *       wecom_post.c     messages, streams, cards and files out
 *       wecom_hook.c     callback mode: requests, and answers that the service fetches
 *       wecom.c          the channel: set-up, files in, presses */
#ifndef CH_CHANNEL_WECOM_WECOM_H
#define CH_CHANNEL_WECOM_WECOM_H
#include "base/list.h"
#include "channel/kit.h"
#include "channel/kit/job.h"
#include "channel/kit/redial.h"
#include "json/writer.h"

struct ch_wecom {
    const struct chela_channel_host *host;
    char *bot;                    /* owned */
    char *url, *secret;           /* owned: of the long connection; NULL in callback mode */
    char *token;                  /* owned: of callbacks; NULL on the long connection */
    char *receiver;               /* owned: receiveid; "": a bot of one's own company */
    unsigned char key[32];        /* of callbacks */
    struct ch_list jobs, presses; /* in progress */
    struct ch_redial dial;        /* wecom_line.c */
    bool subscribed;
    bool elsewhere; /* another process has the connection */
    bool waits;     /* for the end of that process */
    char *process;  /* owned: the name of this process in its note */
    bool noted;     /* the current pass over the notes has found the note of a process */
    char *holder;   /* owned: the note, if it is that of another process; else NULL */
    int64_t holder_since;  /* ms: time when holder was read first */
    struct ch_list frames; /* frames that are sent or wait to be sent */
    struct chela_channel_timer *sweep;
    struct ch_list streams; /* answers that grow, or that the service fetches */
    size_t nstreams;
    struct ch_list waiting; /* callback mode: posts that the service should fetch */
};

#define CH_WECOM_TEXT 20480
#define CH_WECOM_QUESTION 4000    /* bytes of a request for consent */
#define CH_WECOM_STREAM_MS 330000 /* a stream is used for this long; the service ends it after
                                   * six minutes */

#endif
