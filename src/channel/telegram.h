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

/* --- telegram_api.c */

/* body: JSON. fn, which may be NULL, is called once, later. */
void ch_telegram_call(struct ch_telegram *t, const char *method, const struct ch_buf *body,
                      ch_web_fn *fn, void *user);
/* The same for what we ask for; it may take wait_ms. */
void ch_telegram_poll(struct ch_telegram *t, const char *method, const struct ch_buf *body,
                      int64_t wait_ms, ch_web_fn *fn, void *user);
void ch_telegram_send(struct ch_telegram *t, const char *method, struct ch_form *form,
                      ch_web_fn *fn, void *user); /* the form's body is taken */
void ch_telegram_download(struct ch_telegram *t, const char *path, ch_web_fn *fn, void *user);

bool ch_telegram_ok(const struct ch_web_answer *a);
/* Why not; in the arena. */
const char *ch_telegram_why(const struct ch_web_answer *a, struct ch_arena *arena);
int64_t ch_telegram_wait(const struct ch_web_answer *a); /* ms that it asked for; 0 */
/* An id is a number; as text, in the arena. NULL: there is none. */
const char *ch_telegram_id(const struct ch_json *v, const char *key, struct ch_arena *a);

/* --- telegram_message.c */

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

/* me, name: our id and user name; NULL: unknown yet. CHELA_EPARSE: it has no ids. */
int ch_telegram_read(const struct ch_json *m, const char *me, const char *name,
                     struct ch_arena *a, struct ch_telegram_message *out,
                     struct chela_error *err);

/* --- telegram_text.c */

size_t ch_telegram_units(struct ch_sv text);
/* What a message of Markdown says, and a JSON array of how it looks. */
void ch_telegram_text(struct ch_sv markdown, struct ch_buf *text, struct ch_buf *entities);

/* --- telegram_fetch.c: struct ch_channel_ops' prepare */

void ch_telegram_prepare(struct ch_channel *c, struct ch_arrival *in, struct ch_arena *a,
                         const char *workspace, void (*done)(void *tag), void *tag);
void ch_telegram_fetch_release(struct ch_telegram *t);

/* --- telegram_out.c */

void ch_telegram_deliver(struct ch_channel *c, const struct chela_outbound *m);
void ch_telegram_out_release(struct ch_telegram *t);

/* --- telegram_act.c */

void ch_telegram_working(struct ch_channel *c, const struct ch_arrival *in, bool at_work);
void ch_telegram_react(struct ch_channel *c, const char *chat, const char *message,
                       const char *emoji, ch_acted_fn *done, void *tag);
void ch_telegram_unsend(struct ch_channel *c, const char *chat, const char *message,
                        ch_acted_fn *done, void *tag);
void ch_telegram_mute(struct ch_channel *c, const char *chat, const char *member, int64_t seconds,
                      ch_acted_fn *done, void *tag);
void ch_telegram_remove(struct ch_channel *c, const char *chat, const char *member,
                        ch_acted_fn *done, void *tag);
void ch_telegram_act_release(struct ch_telegram *t);

/* --- telegram_ask.c */

/* As reply_markup of a message. */
void ch_telegram_buttons(struct ch_jw *w, const char *approval);
void ch_telegram_pressed(struct ch_telegram *t, const struct ch_json *query);
void ch_telegram_decided(struct ch_channel *c, const struct ch_decision *d, const char *what,
                         const struct chela_error *err, struct ch_buf *answer);
void ch_telegram_ask_release(struct ch_telegram *t);

#endif
