/* telegram_out.c -- sends answers: text in parts that fit a message, then files.
 *
 *       next --> part --> sent --> next ...   file --> read --> sent --> next ... receipt
 *
 * The first message is a reply; all messages stay in the topic. If the service rejects the
 * formatting, the message is sent again without it: a part as plain Markdown, an image as a
 * file. The service has no idempotency keys and does not show a bot its own messages. So the
 * number of messages that were sent is noted, and another attempt, also after a restart, sends
 * the rest. Only the message in progress may be seen twice: if its answer was lost, or if the
 * process ended before the note was stored. */
#include "channel/telegram_out.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/sha256.h"
#include "channel/attach.h"
#include "channel/files.h"
#include "channel/parts.h"
#include "channel/picture.h"
#include "channel/telegram.h"
#include "channel/telegram_api.h"
#include "channel/telegram_ask.h"
#include "channel/telegram_text.h"

#define TRIES 5 /* attempts per message, once a part was sent */
#define LONGEST_MS 60000
#define NOTE_SIZE 24

struct begun {
    struct ch_link link;
    char id[NOTE_SIZE + 2]; /* of the note */
    unsigned out;           /* messages sent, or passed over */
    bool own;               /* made by this process */
    bool listed;            /* among the notes that are being read */
};

struct sending {
    struct ch_link link;
    struct ch_telegram *t;
    char *key, *chat, *message, *thread, *text, *approval; /* owned; the last may be NULL */
    char **files; /* owned, NULL-terminated: files of the workspace */
    size_t file;
    struct ch_attachment *reading; /* file being read; NULL: none */
    struct ch_parts rest;
    struct ch_buf part;  /* part in progress, as Markdown; empty: a file is in progress */
    bool plain;          /* without formatting */
    bool last;           /* the outbox makes no further attempt */
    unsigned out, tries; /* messages sent or passed over; attempts of the next one */
    unsigned skip;       /* messages that an earlier attempt has sent or passed over */
    struct ch_timer pause;
};

static void telegram_out_free_sending(struct sending *s) {
    if (s->reading)
        ch_attach_drop(s->reading);
    ch_timer_stop(s->t->host.rt->loop, &s->pause);
    ch_list_del(&s->link);
    ch_buf_release(&s->part);
    ch_free(s->key);
    ch_free(s->chat);
    ch_free(s->message);
    ch_free(s->thread);
    ch_free(s->text);
    ch_free(s->approval);
    ch_strings_free(s->files);
    ch_free(s);
}

/* --- answers of which a part was sent */

static void begun_id(const char *key, char out[NOTE_SIZE + 2]) {
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    ch_sha256_of(ch_sv_str(key), digest);
    ch_sha256_hex(digest, hex);
    snprintf(out, NOTE_SIZE + 2, "s%.*s", NOTE_SIZE, hex);
}

static struct begun *begun_find(const struct ch_telegram *t, const char *id) {
    for (CH_LIST_EACH(k, &t->begun)) {
        struct begun *b = CH_CONTAINER(k, struct begun, link);
        if (strcmp(b->id, id) == 0)
            return b;
    }
    return NULL;
}

static struct begun *begun_make(struct ch_telegram *t, const char *id) {
    struct begun *b = begun_find(t, id);
    if (b)
        return b;
    b = ch_alloc(sizeof(*b));
    snprintf(b->id, sizeof(b->id), "%s", id);
    ch_list_add(&t->begun, &b->link);
    return b;
}

static void begun_free(struct begun *b) {
    ch_list_del(&b->link);
    ch_free(b);
}

static void begun_note(struct sending *s) {
    char id[NOTE_SIZE + 2], data[16];
    begun_id(s->key, id);
    struct begun *b = begun_make(s->t, id);
    b->own = true;
    b->out = s->out;
    int n = snprintf(data, sizeof(data), "%u", s->out);
    s->t->host.note(id, (struct chela_text){data, (size_t)n}, NULL, NULL, s->t->host.user);
}

static void begun_forget(struct sending *s) {
    char id[NOTE_SIZE + 2];
    begun_id(s->key, id);
    struct begun *b = begun_find(s->t, id);
    if (!b)
        return;
    s->t->host.note(id, (struct chela_text){NULL, 0}, NULL, NULL, s->t->host.user);
    begun_free(b);
}

void ch_telegram_remind(void *c, const char *id, struct chela_text data) {
    unsigned n = 0;
    for (size_t i = 0; i < data.n && i < 6; i++)
        n = 10 * n + (unsigned)(data.p[i] - '0') % 10;
    if (id[0] != 's' || strlen(id) != NOTE_SIZE + 1)
        return;
    struct begun *b = begun_make(ch_telegram_of(c), id);
    b->listed = true;
    if (!b->own)
        b->out = n;
}

void ch_telegram_reminded(void *c) {
    struct ch_list *list = &ch_telegram_of(c)->begun;
    struct ch_link *next;
    for (struct ch_link *k = list->head.next; k != &list->head; k = next) {
        struct begun *b = CH_CONTAINER(k, struct begun, link);
        next = k->next;
        if (!b->own && !b->listed)
            begun_free(b);
        else
            b->listed = false;
    }
}

static void telegram_out_receipt(struct sending *s, enum chela_receipt what, const char *note,
                                 int64_t wait_ms) {
    if (s->last && what == CHELA_RECEIPT_UNCERTAIN)
        what = CHELA_RECEIPT_REFUSED;
    if (what != CHELA_RECEIPT_SENT)
        ch_log(CH_LOG_WARN, "telegram", "an answer in chat %s %s: %s", s->chat,
               what == CHELA_RECEIPT_REFUSED ? "was refused" : "is sent again later", note);
    if (what != CHELA_RECEIPT_UNCERTAIN)
        begun_forget(s);
    chela_outbox_receipt(s->t->host.rt, s->key, what, note, wait_ms, NULL);
    telegram_out_free_sending(s);
}

/* --- a message */

static void write_reply(struct ch_jw *w, const char *message) {
    ch_jw_begin(w, '{');
    ch_jw_kraw(w, "message_id", ch_sv_str(message));
    ch_jw_kbool(w, "allow_sending_without_reply", true);
    ch_jw_end(w, '}');
}

static bool telegram_out_is_reply(const struct sending *s) {
    return *s->message && !s->out;
}

static void telegram_out_add_text(const struct sending *s, struct ch_jw *w) {
    CH_BUF_AUTO text = {0}, entities = {0};
    if (s->plain || s->approval) { /* an approval request is shown unformatted */
        ch_jw_kstr(w, "text", ch_sv_trim(ch_buf_sv(&s->part)));
        return;
    }
    ch_telegram_text(ch_buf_sv(&s->part), &text, &entities);
    ch_jw_kstr(w, "text", ch_buf_sv(&text));
    ch_jw_kraw(w, "entities", ch_buf_sv(&entities));
}

static void telegram_out_on_sent(const struct ch_web_answer *a, void *user);

static void telegram_out_send_part(struct sending *s) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "chat_id", s->chat);
    telegram_out_add_text(s, &w);
    ch_jw_kraw(&w, "link_preview_options", ch_sv_str(CH_TELEGRAM_NO_PREVIEW));
    if (*s->thread)
        ch_jw_kraw(&w, "message_thread_id", ch_sv_str(s->thread));
    if (telegram_out_is_reply(s)) {
        ch_jw_key(&w, "reply_parameters");
        write_reply(&w, s->message);
    }
    if (s->approval)
        ch_telegram_buttons(&w, s->text, s->approval);
    ch_jw_end(&w, '}');
    ch_telegram_call(s->t, "sendMessage", &body, telegram_out_on_sent, s);
}

/* --- a file */

/* Animated images would be shown as stills. */
static bool is_photo(const struct sending *s, struct ch_sv bytes) {
    const char *ending = ch_picture_ending(bytes);
    return ending && !s->plain && bytes.n <= CH_LIMIT_CHANNEL_PICTURE &&
           strcmp(ending, ".gif") != 0;
}

static void telegram_out_send_next(struct sending *s, const char *note);

/* A file that is not sent is counted, so that another attempt skips the same messages. */
static void telegram_out_pass_over(struct sending *s, const char *why) {
    ch_log(CH_LOG_WARN, "telegram", "%s is not sent: %s", s->files[s->file++], why);
    s->out++;
    telegram_out_send_next(s, "without a file");
}

static void telegram_out_on_read(struct ch_sv bytes, const char *why, void *user) {
    struct sending *s = user;
    const char *path = s->files[s->file];
    bool photo = is_photo(s, bytes);
    CH_BUF_AUTO reply = {0};
    struct ch_jw w = ch_jw(&reply);
    struct ch_form form;
    s->reading = NULL;
    if (!bytes.n) {
        telegram_out_pass_over(s, why);
        return;
    }
    ch_form_init(&form);
    ch_form_field(&form, "chat_id", s->chat);
    if (*s->thread)
        ch_form_field(&form, "message_thread_id", s->thread);
    if (telegram_out_is_reply(s)) {
        write_reply(&w, s->message);
        ch_form_field(&form, "reply_parameters", ch_buf_str(&reply));
    }
    ch_form_file(&form, photo ? "photo" : "document", path, bytes);
    ch_form_end(&form);
    ch_telegram_send(s->t, photo ? "sendPhoto" : "sendDocument", &form, telegram_out_on_sent, s);
    ch_form_release(&form);
}

/* --- sequence */

static void send_again(struct sending *s) {
    const struct chela_channel_host *host = &s->t->host;
    if (s->part.n)
        telegram_out_send_part(s);
    else
        s->reading = ch_attach(host->rt, host->workspace(host->user), s->files[s->file],
                               telegram_out_on_read, s);
}

static bool telegram_out_fits(struct ch_sv part, struct ch_sv more) {
    return ch_telegram_units(part) + ch_telegram_units(more) <= CH_TELEGRAM_UNITS;
}

static const struct ch_parts_ops parts = {.most = 4 * CH_TELEGRAM_UNITS, .fits = telegram_out_fits};

/* False: nothing is left to be sent. */
static bool telegram_out_take(struct sending *s) {
    ch_buf_clear(&s->part);
    s->plain = false;
    s->tries = 0;
    return ch_parts_next(&s->rest, &parts, &s->part) || (s->files && s->files[s->file]);
}

static void telegram_out_send_next(struct sending *s, const char *note) {
    bool more = telegram_out_take(s);
    for (; more && s->skip; s->skip--) {
        s->out++;
        s->file += !s->part.n;
        more = telegram_out_take(s);
    }
    if (more && s->out)
        begun_note(s);
    if (more)
        send_again(s);
    else
        telegram_out_receipt(s, CHELA_RECEIPT_SENT, note, 0);
}

static void on_pause(struct ch_timer *timer) {
    send_again(CH_CONTAINER(timer, struct sending, pause));
}

/* True for transient failures: network, service, token, rate limit. */
static bool telegram_out_may_pass(const struct ch_web_answer *a) {
    return a->status < 400 || a->status >= 500 || a->status == 429 || a->status == 401;
}

/* True if the service rejected the formatting or the image. */
static bool is_about_looks(const struct sending *s, const struct ch_web_answer *a) {
    struct ch_sv why = ch_json_get_str(a->json, "description");
    if (a->status != 400 || s->plain)
        return false;
    return s->part.n ? ch_sv_contains_nocase(why, "entit")
                     : ch_sv_contains_nocase(why, "photo") || ch_sv_contains_nocase(why, "image");
}

static void telegram_out_failed(struct sending *s, const struct ch_web_answer *a) {
    CH_ARENA_AUTO arena = {0};
    const char *why = ch_telegram_why(a, &arena);
    int64_t wait_ms = ch_telegram_wait(a);
    if (telegram_out_may_pass(a) && s->out && s->tries < TRIES && wait_ms <= LONGEST_MS) {
        ch_log(CH_LOG_WARN, "telegram", "the rest of an answer in chat %s waits: %s", s->chat, why);
        wait_ms = CH_MAX(wait_ms, (int64_t)500 << s->tries);
        s->tries++;
        ch_timer_start(s->t->host.rt->loop, &s->pause, wait_ms, on_pause);
    } else if (telegram_out_may_pass(a)) {
        telegram_out_receipt(s, CHELA_RECEIPT_UNCERTAIN, why, wait_ms);
    } else if (!s->part.n) {
        telegram_out_pass_over(s, why);
    } else {
        telegram_out_receipt(s, CHELA_RECEIPT_REFUSED, why, 0);
    }
}

static void telegram_out_on_sent(const struct ch_web_answer *a, void *user) {
    struct sending *s = user;
    CH_ARENA_AUTO arena = {0};
    const char *id = ch_telegram_id(ch_json_get(a->json, "result"), "message_id", &arena);
    const char *moved =
        ch_telegram_id(ch_json_get(a->json, "parameters"), "migrate_to_chat_id", &arena);
    if (ch_telegram_ok(a)) {
        s->out++;
        s->file += !s->part.n;
        telegram_out_send_next(s, id ? id : "");
    } else if (is_about_looks(s, a)) {
        s->plain = true;
        send_again(s);
    /* a group that became a supergroup has a new id */
    } else if (moved && strcmp(moved, s->chat) != 0) {
        ch_free(s->chat);
        s->chat = ch_strdup(moved);
        send_again(s);
    } else {
        telegram_out_failed(s, a);
    }
}

/* --- starting a message */

static char *telegram_out_next_word(struct ch_sv *rest) {
    struct ch_sv word = rest->p ? ch_sv_split(rest, ' ') : ch_sv("", 0);
    return ch_strndup(word.p, word.n);
}

void ch_telegram_deliver(void *c, const struct chela_outbound *m) {
    struct sending *s = ch_alloc(sizeof(*s));
    struct ch_sv to = ch_sv_str(m->to ? m->to : "");
    char id[NOTE_SIZE + 2];
    s->t = ch_telegram_of(c);
    s->key = ch_strdup(m->key);
    s->chat = telegram_out_next_word(&to);
    s->message = telegram_out_next_word(&to);
    s->thread = telegram_out_next_word(&to);
    s->text = ch_outbound_text(m);
    s->files = ch_outbound_files(m);
    s->approval = m->approval ? ch_strdup(m->approval) : NULL;
    s->last = ch_outbound_is_last(m);
    ch_list_add(&s->t->sendings, &s->link);
    begun_id(s->key, id);
    const struct begun *begun = begun_find(s->t, id);
    s->skip = begun ? begun->out : 0;
    if (!*s->chat) {
        telegram_out_receipt(s, CHELA_RECEIPT_REFUSED, "the message has no address", 0);
        return;
    }
    if (!s->approval)
        s->rest.text = ch_sv_str(s->text);
    else /* a request is one message, ensured by most_question */
        ch_buf_add_str(&s->part, s->text);
    if (s->part.n)
        telegram_out_send_part(s);
    else
        telegram_out_send_next(s, "nothing to say");
}

void ch_telegram_out_release(struct ch_telegram *t) {
    for (struct begun *b; (b = CH_LIST_FIRST(&t->begun, struct begun, link));)
        begun_free(b);
    for (struct sending *s; (s = CH_LIST_FIRST(&t->sendings, struct sending, link));)
        telegram_out_free_sending(s);
}
