/* feishu_out.c -- sends answers and typing marks.
 *
 * An answer is a reply to the message, in its topic if it has one; long answers are sent
 * part by part. Each part has an id made from the answer's key, and the service accepts
 * each id once, so an answer that is sent again after a crash or a lost connection does not
 * appear twice. */
#include "channel/feishu_out.h"

#include "base/say.h"
#include "base/error.h"
#include "base/list.h"
#include "base/log.h"
#include "base/sha256.h"
#include "channel/attach.h"
#include "channel/feishu.h"
#include "channel/feishu_api.h"
#include "channel/feishu_card.h"
#include "channel/feishu_post.h"
#include "channel/feishu_stream.h"
#include "channel/feishu_upload.h"
#include "json/writer.h"

#define TYPING_MS (2 * 60 * 1000) /* older messages get no mark */

struct ch_feishu_out {
    struct chela_channel_host host;
    chela_runtime *rt;
    struct ch_feishu_api *api; /* borrowed */
    struct ch_feishu_stream *stream; /* borrowed */
    struct ch_list sendings, typings, reactions;
};

/* --- an outgoing message */

struct sending {
    struct ch_link link;
    struct ch_feishu_out *o;
    char *key, *to, *chat, *message, *text; /* owned */
    bool thread, top;
    bool plain;     /* the part in progress is sent without formatting */
    bool is_answer; /* the answer of a run */
    bool last;      /* the outbox makes no further attempt */
    bool excused;   /* a notice about the rejected text was sent */
    char *approval; /* owned: approval id if the message is an approval request; NULL: none */
    char **files;   /* owned, NULL-terminated: files of the workspace, sent after the text */
    size_t file;
    struct ch_feishu_upload *upload; /* upload in progress; NULL: none */
    const char *kind;                /* msg_type of the content */
    struct ch_parts rest;
    struct ch_parts after; /* the text after the part that a card shows */
    struct ch_buf content; /* content of the part in progress */
    unsigned part;
};

static void feishu_out_free_sending(struct sending *s) {
    ch_list_del(&s->link);
    ch_buf_release(&s->content);
    ch_free(s->key);
    ch_free(s->to);
    ch_free(s->chat);
    ch_free(s->message);
    ch_free(s->text);
    ch_free(s->approval);
    ch_strings_free(s->files);
    if (s->upload)
        ch_feishu_upload_drop(s->upload);
    ch_free(s);
}

static void feishu_out_receipt(struct sending *s, enum chela_receipt what, const char *note,
                               int64_t wait_ms) {
    struct chela_error err = {0};
    if (s->last && what == CHELA_RECEIPT_UNCERTAIN)
        what = CHELA_RECEIPT_REFUSED;
    if (what != CHELA_RECEIPT_SENT)
        ch_log(CH_LOG_WARN, "feishu", "an answer in chat %s %s: %s", s->chat,
               what == CHELA_RECEIPT_REFUSED ? "was refused" : "is sent again later", note);
    chela_outbox_receipt(s->o->rt, s->key, what, note, wait_ms, &err);
    if (what != CHELA_RECEIPT_UNCERTAIN && s->is_answer)
        ch_feishu_stream_forget(s->o->stream, s->to);
    feishu_out_free_sending(s);
}

void ch_feishu_add_uuid(struct ch_jw *w, const char *key, unsigned part) {
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    CH_BUF_AUTO text = {0};
    ch_buf_addf(&text, "%s#%u", key, part);
    ch_sha256_of(ch_buf_sv(&text), digest);
    ch_sha256_hex(digest, hex);
    ch_jw_kstr(w, "uuid", ch_sv(hex, 40));
}

/* Append the text of a post or a card. */
static void feishu_out_add_words(const struct sending *s, struct ch_buf *out) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *post = NULL;
    if (s->excused) {
        ch_buf_add_str(out, ch_say(CH_SAY_ANSWER_SENSITIVE, ch_say_language(ch_sv_str(s->text))));
        return;
    }
    if (s->approval) {
        ch_buf_addf(out, "%s\n\n/approve %s allow-once | allow-always | deny", s->text,
                    s->approval);
        return;
    }
    ch_json_parse(&arena, ch_buf_sv(&s->content), CH_JSON_REPLACE, &post, NULL, NULL);
    const struct ch_json *lines = ch_json_path(post, "zh_cn", "content", NULL);
    struct ch_sv text = ch_json_get_str(ch_json_at(ch_json_at(lines, 0), 0), "text");
    ch_buf_add_sv(out, text.p ? text : ch_sv("", 0));
}

static void feishu_out_add_plain(struct ch_jw *w, const struct sending *s) {
    CH_BUF_AUTO content = {0}, words = {0};
    struct ch_jw inner = ch_jw(&content);
    feishu_out_add_words(s, &words);
    ch_jw_begin(&inner, '{');
    ch_jw_kstr(&inner, "text", ch_buf_sv(&words));
    ch_jw_end(&inner, '}');
    ch_jw_kstr(w, "content", ch_buf_sv(&content));
}

static void feishu_out_on_sent(const struct ch_feishu_answer *a, void *user);

static void feishu_out_send_part(struct sending *s) {
    CH_BUF_AUTO path = {0}, body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    if (s->top)
        ch_jw_kcstr(&w, "receive_id", s->chat);
    ch_jw_kcstr(&w, "msg_type", s->plain ? "text" : s->kind);
    if (s->plain)
        feishu_out_add_plain(&w, s);
    else
        ch_jw_kstr(&w, "content", ch_buf_sv(&s->content));
    if (!s->top && s->thread)
        ch_jw_kbool(&w, "reply_in_thread", true);
    ch_feishu_add_uuid(&w, s->key, s->part);
    ch_jw_end(&w, '}');
    if (s->top)
        ch_buf_addf(&path, "/open-apis/im/v1/messages?receive_id_type=%s",
                    strncmp(s->chat, "ou_", 3) == 0 ? "open_id" : "chat_id");
    else
        ch_buf_addf(&path, "/open-apis/im/v1/messages/%s/reply", s->message);
    ch_feishu_call(s->o->api, "POST", ch_buf_str(&path), ch_buf_str(&body), feishu_out_on_sent, s);
}

static void feishu_out_send_next(struct sending *s, const char *note);

static void feishu_out_on_key(const char *key, bool picture, bool again, const char *why,
                              void *user) {
    struct sending *s = user;
    struct ch_jw w = ch_jw(&s->content);
    s->upload = NULL;
    if (!key && again) {
        feishu_out_receipt(s, CHELA_RECEIPT_UNCERTAIN, why, 0);
        return;
    }
    const char *file = s->files[s->file++];
    if (!key) {
        s->part++; /* the ids of the messages after it do not depend on it */
        ch_log(CH_LOG_WARN, "feishu", "%s is not sent: %s", file, why);
        feishu_out_send_next(s, "without a file");
        return;
    }
    s->kind = picture ? "image" : "file";
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, picture ? "image_key" : "file_key", key);
    ch_jw_end(&w, '}');
    feishu_out_send_part(s);
}

static void feishu_out_send_next(struct sending *s, const char *note) {
    const struct ch_feishu_out *o = s->o;
    ch_buf_clear(&s->content);
    s->plain = false;
    if (ch_feishu_part(&s->rest, &s->content))
        feishu_out_send_part(s);
    else if (s->files && s->files[s->file])
        s->upload = ch_feishu_upload(o->rt, o->api, o->host.workspace(o->host.user),
                                     s->files[s->file], feishu_out_on_key, s);
    else
        feishu_out_receipt(s, CHELA_RECEIPT_SENT, note, 0);
}

static bool comes_too_fast(const struct ch_feishu_answer *a) {
    return a->status == 429 || a->code == 99991400 || a->code == 230020 || a->code == 11232;
}

bool ch_feishu_may_pass(const struct ch_feishu_answer *a) {
    return comes_too_fast(a) || a->status == 0 || a->status >= 500 || a->code == -1 ||
           a->code == 230049 ||
           (a->code >= 10000 && a->code < 10100) || (a->code >= 99991661 && a->code <= 99991671);
}

/* True if the service's filters reject the text. */
static bool is_unwelcome(const struct ch_feishu_answer *a) {
    return a->code == 230022 || a->code == 230028;
}

static bool is_target_gone(const struct ch_feishu_answer *a) {
    return a->code == 230011 || a->code == 231003;
}

static void feishu_out_on_sent(const struct ch_feishu_answer *a, void *user) {
    struct sending *s = user;
    CH_ARENA_AUTO arena = {0};
    if (a->code == 0) {
        struct ch_sv id = ch_json_get_str(ch_json_get(a->json, "data"), "message_id");
        s->part++;
        feishu_out_send_next(s, ch_arena_str(&arena, id.p ? id : ch_sv("", 0)));
    } else if (comes_too_fast(a)) {
        feishu_out_receipt(s, CHELA_RECEIPT_UNCERTAIN, a->why, a->wait_ms ? a->wait_ms : 1000);
    } else if (is_target_gone(a) && !s->top && !s->thread) {
        s->top = true; /* never send a topic's answer to the surrounding group */
        feishu_out_send_part(s);
    } else if ((a->code == 230001 || a->code == 230099) && !s->plain && !s->file) {
        s->plain = true;
        feishu_out_send_part(s);
    } else if (is_unwelcome(a) && !s->excused && !s->file) {
        s->excused = s->plain = true;
        s->rest.text.n = 0;
        feishu_out_send_part(s);
    } else {
        feishu_out_receipt(s,
                           ch_feishu_may_pass(a) ? CHELA_RECEIPT_UNCERTAIN : CHELA_RECEIPT_REFUSED,
                           a->why, a->wait_ms);
    }
}

/* --- streamed answers */

static void on_card(enum ch_feishu_ended what, const char *note, int64_t wait_ms, void *user) {
    struct sending *s = user;
    CH_AUTOFREE char *said = ch_strdup(note ? note : "");
    if (what == CH_ENDED_LATER) {
        feishu_out_receipt(s, CHELA_RECEIPT_UNCERTAIN, said, wait_ms);
        return;
    }
    if (what == CH_ENDED_SHOWN) {
        s->rest = s->after;
        s->part++;
    }
    feishu_out_send_next(s, said);
}

/* Ends the streamed card with the first part of the answer. False: there is no such card. */
static bool send_in_card(struct sending *s) {
    CH_BUF_AUTO part = {0};
    s->after = s->rest;
    return s->is_answer && ch_feishu_cut(&s->after, &part) &&
           ch_feishu_stream_end(s->o->stream, s->to, ch_buf_sv(&part), on_card, s);
}

/* --- queue */

struct ch_feishu_place ch_feishu_place(const char *to) {
    struct ch_sv rest = ch_sv_str(to), chat = ch_sv_split(&rest, ' ');
    struct ch_sv message = rest.p ? ch_sv_split(&rest, ' ') : ch_sv("", 0);
    return (struct ch_feishu_place){chat, message, rest.p && ch_sv_is(rest, "thread")};
}

void ch_feishu_deliver(struct ch_feishu_out *o, const struct chela_outbound *m) {
    struct sending *s = ch_alloc(sizeof(*s));
    struct ch_feishu_place at = ch_feishu_place(m->to ? m->to : "");
    s->o = o;
    s->key = ch_strdup(m->key);
    s->to = ch_strdup(m->to ? m->to : "");
    s->chat = ch_strndup(at.chat.p, at.chat.n);
    s->message = ch_strndup(at.message.p, at.message.n);
    s->thread = at.thread;
    s->top = !at.message.n;
    s->is_answer = m->run != NULL;
    s->last = ch_outbound_is_last(m);
    s->text = ch_outbound_text(m);
    s->files = ch_outbound_files(m);
    s->kind = m->approval ? "interactive" : "post";
    ch_list_add(&o->sendings, &s->link);
    if (!at.chat.n) {
        feishu_out_receipt(s, CHELA_RECEIPT_REFUSED, "the message has no address", 0);
    } else if (m->approval) {
        s->approval = ch_strdup(m->approval);
        ch_feishu_card_ask(&s->content, s->text, m->session, m->approval);
        feishu_out_send_part(s);
    } else {
        s->rest.text = ch_sv_str(s->text);
        if (!send_in_card(s))
            feishu_out_send_next(s, "nothing to say");
    }
}

/* --- typing mark: a reaction to the message */

struct typing {
    struct ch_link link;
    struct ch_feishu_out *o;
    char *message, *reaction; /* owned; reaction NULL: not created yet */
    bool over;
};

static void feishu_out_free_typing(struct typing *t) {
    ch_list_del(&t->link);
    ch_free(t->message);
    ch_free(t->reaction);
    ch_free(t);
}

static void feishu_out_take_back(struct typing *t) {
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path, "/open-apis/im/v1/messages/%s/reactions/%s", t->message, t->reaction);
    ch_feishu_call(t->o->api, "DELETE", ch_buf_str(&path), NULL, NULL, NULL);
    feishu_out_free_typing(t);
}

static void on_typing(const struct ch_feishu_answer *a, void *user) {
    struct typing *t = user;
    struct ch_sv id = ch_json_get_str(ch_json_get(a->json, "data"), "reaction_id");
    if (a->code != 0 || !id.n || memchr(id.p, 0, id.n) || memchr(id.p, '/', id.n)) {
        feishu_out_free_typing(t); /* failures are ignored */
        return;
    }
    t->reaction = ch_strndup(id.p, id.n);
    if (t->over)
        feishu_out_take_back(t);
}

static struct typing *feishu_out_find_typing(const struct ch_feishu_out *o, const char *message) {
    for (CH_LIST_EACH(k, &o->typings)) {
        struct typing *t = CH_CONTAINER(k, struct typing, link);
        if (!t->over && strcmp(t->message, message) == 0)
            return t;
    }
    return NULL;
}

void ch_feishu_working(struct ch_feishu_out *o, const char *message, int64_t ts, int at_work) {
    struct typing *t = feishu_out_find_typing(o, message);
    if (!at_work) {
        if (t && t->reaction)
            feishu_out_take_back(t);
        else if (t)
            t->over = true;
        return;
    }
    if (t || ch_now_ms(ch_loop_clock(o->rt->loop)) - ts > TYPING_MS)
        return;
    CH_BUF_AUTO path = {0};
    t = ch_alloc(sizeof(*t));
    t->o = o;
    t->message = ch_strdup(message);
    ch_list_add(&o->typings, &t->link);
    ch_buf_addf(&path, "/open-apis/im/v1/messages/%s/reactions", message);
    ch_feishu_call(o->api, "POST", ch_buf_str(&path),
                   "{\"reaction_type\":{\"emoji_type\":\"Typing\"}}", on_typing, t);
}

/* --- reactions by the model */

struct reaction {
    struct ch_link link;
    chela_channel_acted_fn *done;
    void *tag;
};

/* The service's own name of an emoji. */
static const char *emoji_type(const char *emoji) {
    static const struct {
        const char *emoji, *type;
    } known[] = {
        {"\U0001f44d", "THUMBSUP"}, {"\u2764\ufe0f", "HEART"},  {"\u2764", "HEART"},
        {"\U0001f604", "SMILE"},    {"\U0001f602", "LAUGH"},    {"\U0001f44f", "APPLAUSE"},
        {"\u2705", "DONE"},         {"\U0001f389", "PARTY"},    {"\U0001f44c", "OK"},
        {"\U0001f64f", "THANKS"},   {"\U0001f62d", "CRY"},
    };
    for (size_t i = 0; i < CH_LEN(known); i++)
        if (strcmp(emoji, known[i].emoji) == 0)
            return known[i].type;
    return emoji; /* the service reports an unknown name itself */
}

static void on_reaction(const struct ch_feishu_answer *a, void *user) {
    struct reaction *r = user;
    chela_channel_acted_fn *done = r->done;
    void *tag = r->tag;
    struct chela_error err = {0};
    if (a->code != 0)
        ch_fail(&err, ch_feishu_may_pass(a) ? CHELA_ENET : CHELA_EINVAL, "%s", a->why);
    ch_list_del(&r->link);
    ch_free(r);
    done(a->code != 0 ? &err : NULL, tag);
}

void ch_feishu_react(struct ch_feishu_out *o, const char *message, const char *emoji,
                     chela_channel_acted_fn *done, void *tag) {
    struct reaction *r = ch_alloc(sizeof(*r));
    CH_BUF_AUTO path = {0}, body = {0};
    struct ch_jw w = ch_jw(&body);
    r->done = done;
    r->tag = tag;
    ch_list_add(&o->reactions, &r->link);
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "reaction_type", '{');
    ch_jw_kcstr(&w, "emoji_type", emoji_type(emoji));
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    ch_buf_addf(&path, "/open-apis/im/v1/messages/%s/reactions", message);
    ch_feishu_call(o->api, "POST", ch_buf_str(&path), ch_buf_str(&body), on_reaction, r);
}

/* --- open and close */

struct ch_feishu_out *ch_feishu_out_new(const struct chela_channel_host *host,
                                        struct ch_feishu_api *api,
                                        struct ch_feishu_stream *stream) {
    struct ch_feishu_out *o = ch_alloc(sizeof(*o));
    o->host = *host;
    o->rt = host->rt;
    o->api = api;
    o->stream = stream;
    ch_list_init(&o->sendings);
    ch_list_init(&o->typings);
    ch_list_init(&o->reactions);
    return o;
}

void ch_feishu_out_free(struct ch_feishu_out *o) {
    if (!o)
        return;
    for (struct sending *s; (s = CH_LIST_FIRST(&o->sendings, struct sending, link));)
        feishu_out_free_sending(s);
    for (struct typing *t; (t = CH_LIST_FIRST(&o->typings, struct typing, link));)
        feishu_out_free_typing(t);
    for (struct reaction *r; (r = CH_LIST_FIRST(&o->reactions, struct reaction, link));) {
        ch_list_del(&r->link);
        ch_free(r);
    }
    ch_free(o);
}
