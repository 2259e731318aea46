/* wecom_post.c -- messages, streams, cards and files out, on the long connection.
 *
 *   answer:    aibot_respond_msg, a stream of the message's request --expired--> aibot_send_msg
 *   more:      aibot_send_msg
 *   question:  the call as a block of code, then a card with buttons
 *   file:      aibot_upload_media_init, _chunk ..., _finish --> aibot_send_msg
 *
 * The text of a stream replaces the text before it, by the id of the stream. So an answer that is
 * sent again appears once, while its stream lasts. A stream must be finished, or it is shown as
 * unfinished for ever. */
#include "channel/wecom/wecom_post.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/say.h"
#include "base/base64.h"
#include "channel/wecom/wecom_hook.h"
#include "channel/wecom/wecom_line.h"
#include "channel/wecom/wecom_message.h"

#define CHUNK (512 * 1024)
#define MOST_STREAMS 256
#define LEFT_MS 25000  /* after the end of a run without an answer */
#define OLD_MS 3600000 /* of a stream */

static int64_t post_now(const struct ch_wecom *w) {
    return w->host->now(w->host->user);
}

static void post_free(struct ch_kit_job *job) {
    struct ch_wecom_post *p = CH_CONTAINER(job, struct ch_wecom_post, job);
    char *texts[] = {p->chat, p->handle, p->id, p->name, p->approval, p->upload, p->message};
    ch_list_del(&p->waits);
    for (size_t i = 0; i < CH_LEN(texts); i++)
        ch_free(texts[i]);
    ch_buf_release(&p->text);
    ch_free(p);
}

void ch_wecom_post_end(struct ch_wecom_post *p, enum chela_receipt what, const char *why,
                       int64_t wait_ms) {
    CH_ARENA_AUTO a = {0};
    chela_channel_posted_fn *done = p->done;
    void *tag = p->tag;
    const char *id = ch_arena_str(&a, ch_sv_str(p->id));
    ch_kit_job_end(&p->job);
    done(&(struct chela_channel_posted){what, what == CHELA_RECEIPT_SENT ? id : NULL, why, wait_ms},
         tag);
}

static void post_on_sent(const struct ch_wecom_answer *a, void *user) {
    ch_wecom_post_end(user, a->what, a->why, a->wait_ms);
}

/* --- streams */

struct ch_wecom_stream *ch_wecom_stream_find(const struct ch_wecom *w, const char *id) {
    for (CH_LIST_EACH(k, &w->streams)) {
        struct ch_wecom_stream *s = CH_CONTAINER(k, struct ch_wecom_stream, link);
        if (strcmp(s->id, id) == 0)
            return s;
    }
    return NULL;
}

void ch_wecom_stream_free(struct ch_wecom *w, struct ch_wecom_stream *s) {
    ch_list_del(&s->link);
    w->nstreams--;
    ch_free(s->id);
    ch_free(s->req);
    ch_free(s->message);
    ch_buf_release(&s->text);
    ch_free(s);
}

struct ch_wecom_stream *ch_wecom_stream(struct ch_wecom *w, const char *id, const char *req) {
    struct ch_wecom_stream *s = ch_wecom_stream_find(w, id);
    if (s)
        return s;
    if (w->nstreams >= MOST_STREAMS)
        ch_wecom_stream_free(w, CH_LIST_FIRST(&w->streams, struct ch_wecom_stream, link));
    s = ch_alloc(sizeof(*s));
    s->id = ch_strdup(id);
    s->req = ch_strdup(req);
    s->since = post_now(w);
    ch_list_add(&w->streams, &s->link);
    w->nstreams++;
    return s;
}

void ch_wecom_write_stream(struct ch_jw *j, const char *id, struct ch_sv text, bool finish) {
    ch_jw_begin(j, '{');
    ch_jw_kcstr(j, "msgtype", "stream");
    ch_jw_kbegin(j, "stream", '{');
    ch_jw_kcstr(j, "id", id);
    ch_jw_kbool(j, "finish", finish);
    ch_jw_kstr(j, "content", text);
    ch_jw_end(j, '}');
    ch_jw_end(j, '}');
}

static void stream_send(struct ch_wecom *w, const char *id, const char *req, struct ch_sv text,
                        bool finish, ch_wecom_fn *fn, void *user) {
    CH_BUF_AUTO body = {0};
    struct ch_jw j = ch_jw(&body);
    ch_wecom_write_stream(&j, id, text, finish);
    ch_wecom_send(w, "aibot_respond_msg", req, ch_buf_sv(&body), fn, user);
}

void ch_wecom_streams_sweep(struct ch_wecom *w) {
    struct ch_link *next;
    int64_t now = post_now(w);
    for (struct ch_link *k = w->streams.head.next; k != &w->streams.head; k = next) {
        struct ch_wecom_stream *s = CH_CONTAINER(k, struct ch_wecom_stream, link);
        next = k->next;
        if (s->left && now - s->left > LEFT_MS && w->url && s->req)
            stream_send(w, s->id, s->req, ch_buf_sv(&s->text), true, NULL, NULL);
        if ((s->left && now - s->left > LEFT_MS) || now - s->since > OLD_MS)
            ch_wecom_stream_free(w, s);
    }
}

void ch_wecom_working(void *self, const struct chela_channel_arrival *in, int at_work) {
    struct ch_wecom *w = self;
    for (CH_LIST_EACH(k, &w->streams)) {
        struct ch_wecom_stream *s = CH_CONTAINER(k, struct ch_wecom_stream, link);
        if (w->url && s->message && in->about.message_id &&
            strcmp(s->message, in->about.message_id) == 0)
            s->left = at_work ? 0 : post_now(w);
    }
}

/* --- messages */

/* {"chatid":..., "msgtype":TYPE, TYPE:{KEY:value}} */
static void post_push(struct ch_wecom *w, const char *chat, const char *type, const char *key,
                      struct ch_sv value, ch_wecom_fn *fn, void *user) {
    CH_BUF_AUTO body = {0};
    struct ch_jw j = ch_jw(&body);
    ch_jw_begin(&j, '{');
    ch_jw_kcstr(&j, "chatid", chat);
    ch_jw_kcstr(&j, "msgtype", type);
    ch_jw_key(&j, type);
    if (key) {
        ch_jw_begin(&j, '{');
        ch_jw_kstr(&j, key, value);
        ch_jw_end(&j, '}');
    } else {
        ch_jw_raw(&j, value);
    }
    ch_jw_end(&j, '}');
    ch_wecom_send(w, "aibot_send_msg", NULL, ch_buf_sv(&body), fn, user);
}

static void post_push_text(struct ch_wecom_post *p) {
    post_push(p->w, p->chat, "markdown", "content", ch_buf_sv(&p->text), post_on_sent, p);
}

static void post_on_streamed(const struct ch_wecom_answer *a, void *user) {
    struct ch_wecom_post *p = user;
    struct ch_wecom_stream *s = ch_wecom_stream_find(p->w, p->id);
    if (a->what == CHELA_RECEIPT_SENT && !p->growing && s)
        ch_wecom_stream_free(p->w, s);
    if (a->what == CHELA_RECEIPT_REFUSED && !p->growing)
        post_push_text(p); /* the stream has expired, or its request is not known any more */
    else
        post_on_sent(a, p);
}

/* The handle is a time and the id of a request. */
static const char *post_request(const struct ch_wecom_post *p) {
    const char *space = p->handle ? strchr(p->handle, ' ') : NULL;
    bool fresh = space && post_now(p->w) - strtoll(p->handle, NULL, 10) < CH_WECOM_STREAM_MS;
    return fresh || (space && p->growing) ? space + 1 : NULL;
}

static void post_answer(struct ch_wecom_post *p, const char *req) {
    if (p->growing) {
        struct ch_wecom_stream *s = ch_wecom_stream(p->w, p->id, req);
        if (!s->message)
            s->message = ch_strdup(p->message);
        ch_buf_clear(&s->text);
        ch_buf_add_sv(&s->text, ch_buf_sv(&p->text));
    }
    stream_send(p->w, p->id, req, ch_buf_sv(&p->text), !p->growing, post_on_streamed, p);
}

/* --- questions */

static void card_button(struct ch_jw *j, const char *text, int style, const char *word,
                        const char *approval) {
    CH_BUF_AUTO key = {0};
    ch_buf_addf(&key, "%s %s", word, approval);
    ch_jw_begin(j, '{');
    ch_jw_kcstr(j, "text", text);
    ch_jw_kint(j, "style", style);
    ch_jw_kstr(j, "key", ch_buf_sv(&key));
    ch_jw_end(j, '}');
}

static void card_begin(struct ch_jw *j, const char *title, struct ch_sv desc, const char *task) {
    ch_jw_begin(j, '{');
    ch_jw_kcstr(j, "card_type", "button_interaction");
    ch_jw_kcstr(j, "task_id", task);
    ch_jw_kbegin(j, "main_title", '{');
    ch_jw_kcstr(j, "title", title);
    ch_jw_kstr(j, "desc", desc);
    ch_jw_end(j, '}');
    ch_jw_kbegin(j, "button_list", '[');
}

static void card_on_asked(const struct ch_wecom_answer *a, void *user) {
    struct ch_wecom_post *p = user;
    CH_BUF_AUTO card = {0};
    struct ch_jw j = ch_jw(&card);
    if (a->what != CHELA_RECEIPT_SENT) {
        post_on_sent(a, p);
        return;
    }
    enum chela_language to = ch_say_language_of_question(ch_buf_str(&p->text));
    card_begin(&j, ch_say(CH_SAY_APPROVAL_NEEDED, to), ch_sv_str(ch_say(CH_SAY_SHOWN_ABOVE, to)),
               p->id);
    card_button(&j, ch_say(CH_SAY_ALLOW_ONCE, to), 1, "allow-once", p->approval);
    card_button(&j, ch_say(CH_SAY_ALWAYS, to), 4, "allow-always", p->approval);
    card_button(&j, ch_say(CH_SAY_DENY, to), 2, "deny", p->approval);
    ch_jw_end(&j, ']');
    ch_jw_end(&j, '}');
    post_push(p->w, p->chat, "template_card", NULL, ch_buf_sv(&card), post_on_sent, p);
}

/* A card shows about a hundred characters: the call precedes it. */
static void card_ask(struct ch_wecom_post *p) {
    CH_BUF_AUTO exact = {0};
    ch_wecom_exact(&exact, ch_buf_sv(&p->text));
    post_push(p->w, p->chat, "markdown", "content", ch_buf_sv(&exact), card_on_asked, p);
}

struct wecom_press {
    struct ch_kit_job job; /* in the channel's presses */
    struct ch_wecom *w;
    char *req, *task, *user; /* owned; task may be NULL */
};

static void press_free(struct ch_kit_job *job) {
    struct wecom_press *p = CH_CONTAINER(job, struct wecom_press, job);
    ch_free(p->req);
    ch_free(p->task);
    ch_free(p->user);
    ch_free(p);
}

/* answer: a line for the person and, if the question is settled, a text. The card shows the
 * line: a card can be replaced once, within five seconds. */
static void press_on_decided(struct chela_text answer, void *tag) {
    struct wecom_press *p = tag;
    struct ch_sv rest = ch_kit_sv(answer), line = ch_sv_split(&rest, '\n');
    CH_BUF_AUTO body = {0};
    struct ch_jw j = ch_jw(&body);
    if (rest.p && p->task) {
        ch_jw_begin(&j, '{');
        ch_jw_kcstr(&j, "response_type", "update_template_card");
        ch_jw_key(&j, "template_card");
        card_begin(&j, "Decided", line, p->task);
        ch_jw_raw(&j, CH_SV("{\"text\":\"Decided\",\"style\":2,\"key\":\"settled\"}"));
        ch_jw_end(&j, ']');
        ch_jw_end(&j, '}');
        ch_jw_end(&j, '}');
        ch_wecom_send(p->w, "aibot_respond_update_msg", p->req, ch_buf_sv(&body), NULL, NULL);
    } else {
        post_push(p->w, p->user, "markdown", "content", line, NULL, NULL);
    }
    ch_kit_job_end(&p->job);
}

/* The key of a button is a decision and the id of a call. */
void ch_wecom_press(struct ch_wecom *w, const struct ch_json *body, const char *req) {
    static const char *const words[] = {"allow-once", "allow-always", "deny"};
    CH_ARENA_AUTO a = {0};
    const struct ch_json *event = ch_json_get(body, "event");
    const struct ch_json *card = ch_json_get(event, "template_card_event");
    const struct ch_json *at = ch_json_get(card, "event_key") ? card : event;
    const char *key = ch_kit_word(at, "event_key", &a), *word = NULL;
    const char *user = ch_kit_word(ch_json_get(body, "from"), "userid", &a);
    const char *chat = ch_wecom_chat(body, &a), *space = key ? strchr(key, ' ') : NULL;
    for (size_t i = 0; space && i < CH_LEN(words); i++)
        if (ch_sv_is(ch_sv(key, (size_t)(space - key)), words[i]))
            word = words[i];
    if (!word || !user || !chat)
        return;
    struct wecom_press *p = ch_alloc(sizeof(*p));
    p->w = w;
    p->req = ch_strdup(req);
    p->task = ch_strdup(ch_kit_word(at, "task_id", &a));
    p->user = ch_strdup(user);
    ch_kit_job_begin(&w->presses, &p->job, press_free);
    w->host->decide(
        &(struct chela_channel_decision){
            .approval = space + 1, .chat = chat, .word = word, .by = user},
        press_on_decided, p, w->host->user);
}

/* --- files */

static void file_on_finished(const struct ch_wecom_answer *a, void *user) {
    struct ch_wecom_post *p = user;
    struct ch_sv id = ch_json_get_str(a->body, "media_id");
    if (a->what != CHELA_RECEIPT_SENT || !id.n)
        ch_wecom_post_end(p, a->what == CHELA_RECEIPT_SENT ? CHELA_RECEIPT_REFUSED : a->what,
                          a->why ? a->why : "the upload has no id", a->wait_ms);
    else
        post_push(p->w, p->chat, p->picture ? "image" : "file", "media_id", id, post_on_sent, p);
}

static void file_next(struct ch_wecom_post *p);

static void file_on_chunk(const struct ch_wecom_answer *a, void *user) {
    if (a->what == CHELA_RECEIPT_SENT)
        file_next(user);
    else
        post_on_sent(a, user);
}

static void file_next(struct ch_wecom_post *p) {
    CH_BUF_AUTO body = {0}, data = {0};
    struct ch_jw j = ch_jw(&body);
    bool more = p->sent < p->text.n;
    size_t n = CH_MIN(p->text.n - p->sent, (size_t)CHUNK);
    ch_jw_begin(&j, '{');
    ch_jw_kcstr(&j, "upload_id", p->upload);
    if (more) {
        ch_base64_add(&data, ch_sv(p->text.p + p->sent, n));
        ch_jw_kint(&j, "chunk_index", (int64_t)(p->sent / CHUNK));
        ch_jw_kstr(&j, "base64_data", ch_buf_sv(&data));
        p->sent += n;
    }
    ch_jw_end(&j, '}');
    ch_wecom_send(p->w, more ? "aibot_upload_media_chunk" : "aibot_upload_media_finish", NULL,
                  ch_buf_sv(&body), more ? file_on_chunk : file_on_finished, p);
}

static void file_on_begun(const struct ch_wecom_answer *a, void *user) {
    struct ch_wecom_post *p = user;
    struct ch_sv id = ch_json_get_str(a->body, "upload_id");
    if (a->what != CHELA_RECEIPT_SENT || !id.n) {
        ch_wecom_post_end(p, a->what == CHELA_RECEIPT_SENT ? CHELA_RECEIPT_REFUSED : a->what,
                          a->why ? a->why : "the upload has no id", a->wait_ms);
        return;
    }
    p->upload = ch_strndup(id.p, id.n);
    file_next(p);
}

static void file_begin(struct ch_wecom_post *p) {
    CH_BUF_AUTO body = {0};
    struct ch_jw j = ch_jw(&body);
    ch_jw_begin(&j, '{');
    ch_jw_kcstr(&j, "type", p->picture ? "image" : "file");
    ch_jw_kcstr(&j, "filename", p->name);
    ch_jw_kint(&j, "total_size", (int64_t)p->text.n);
    ch_jw_kint(&j, "total_chunks", (int64_t)((p->text.n + CHUNK - 1) / CHUNK));
    ch_jw_end(&j, '}');
    ch_wecom_send(p->w, "aibot_upload_media_init", NULL, ch_buf_sv(&body), file_on_begun, p);
}

/* --- a post */

static void post_begin(struct ch_wecom_post *p) {
    const char *req = post_request(p);
    if (!p->w->url)
        ch_wecom_hook_post(p);
    else if (p->name)
        file_begin(p);
    else if (p->approval)
        card_ask(p);
    else if (p->first && req)
        post_answer(p, req);
    else
        post_push_text(p);
}

void ch_wecom_post(void *self, const struct chela_channel_post *post, chela_channel_posted_fn *done,
                   void *tag) {
    struct ch_wecom_post *p = ch_alloc(sizeof(*p));
    CH_BUF_AUTO id = {0};
    ch_buf_addf(&id, "chela-%s", post->key);
    p->w = self;
    p->chat = ch_strdup(post->chat);
    p->handle = ch_strdup(post->handle);
    p->id = ch_strdup(post->edit ? post->edit : ch_buf_str(&id));
    p->message = ch_strdup(post->reply);
    p->name = ch_strdup(post->name);
    p->approval = ch_strdup(post->approval);
    p->picture = post->picture;
    p->growing = post->growing;
    p->first = post->reply || post->edit;
    p->repeated = post->repeated;
    p->done = done;
    p->tag = tag;
    if (post->name)
        ch_buf_add(&p->text, post->bytes, post->n);
    else
        ch_buf_add_str(&p->text, post->text);
    ch_kit_job_begin(&p->w->jobs, &p->job, post_free);
    post_begin(p);
}
