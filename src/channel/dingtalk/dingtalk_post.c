/* dingtalk_post.c -- messages, cards and files out, actions.
 *
 *   text:      robot/groupMessages/send, robot/oToMessages/batchSend
 *   card:      card/instances/createAndDeliver --> card/streaming, card/streaming ...
 *   question:  noted --> card/instances/createAndDeliver ... press --> card/instances
 *   file:      media/upload --> as a text
 *
 * The service has no idempotency keys for messages. A card has an id that the sender chooses
 * (outTrackId), so a card that is sent again appears once. Updates of cards are spread over
 * time, because their rate limit applies to the app, not to a chat. */
#include "channel/dingtalk/dingtalk_post.h"

#include <stdio.h>
#include <stdlib.h>

#include "channel/dingtalk/dingtalk_api.h"
#include "channel/dingtalk/dingtalk_message.h"
#include "channel/kit/markdown.h"

#define TRACK "chela-"
#define UPDATE_MS 60 /* between two updates of cards */
#define MOST_QUESTIONS 256
#define MOST_ROOMS 256
#define MOST_LATE 64 /* presses whose card is not known yet */
#define PASSES 2     /* over the notes, until the card of a press counts as unknown */
#define FLOW_MS 60000 /* pause after a person got too many messages */
#define PATH(name) "/v1.0/" name

struct dingtalk_post {
    struct ch_kit_job job; /* in the channel's jobs */
    struct ch_link turn;   /* in the channel's paced */
    struct ch_dingtalk *d;
    char *chat, *handle;   /* owned; handle may be NULL */
    char *track;           /* owned: id of a card */
    char *name, *approval; /* owned; may be NULL */
    struct ch_buf text;    /* the text, or the bytes of a file */
    bool picture, growing, edit;
    void (*act)(struct dingtalk_post *p); /* when its turn comes */
    chela_channel_posted_fn *done;
    void *tag;
};

static void post_free(struct ch_kit_job *job) {
    struct dingtalk_post *p = CH_CONTAINER(job, struct dingtalk_post, job);
    ch_list_del(&p->turn);
    ch_free(p->chat);
    ch_free(p->handle);
    ch_free(p->track);
    ch_free(p->name);
    ch_free(p->approval);
    ch_buf_release(&p->text);
    ch_free(p);
}

static void post_end(struct dingtalk_post *p, enum chela_receipt what, const char *id,
                     const char *why, int64_t wait_ms) {
    CH_ARENA_AUTO a = {0};
    chela_channel_posted_fn *done = p->done;
    void *tag = p->tag;
    id = id ? ch_arena_str(&a, ch_sv_str(id)) : NULL;
    ch_kit_job_end(&p->job);
    done(&(struct chela_channel_posted){what, id, why, wait_ms}, tag);
}

static void post_fail(struct dingtalk_post *p, const struct ch_dingtalk_answer *a) {
    post_end(p, a->what, NULL, a->why, a->wait_ms);
}

/* --- turns */

static void post_on_turn(void *tag) {
    struct ch_dingtalk *d = tag;
    struct dingtalk_post *p = CH_LIST_FIRST(&d->paced, struct dingtalk_post, turn);
    if (!p)
        return;
    ch_list_del(&p->turn);
    d->next_update = d->host->now(d->host->user) + UPDATE_MS;
    if (!ch_list_empty(&d->paced))
        d->host->timer_start(&d->pace, UPDATE_MS, post_on_turn, d, d->host->user);
    p->act(p);
}

static void post_take_turn(struct dingtalk_post *p, void (*act)(struct dingtalk_post *p)) {
    struct ch_dingtalk *d = p->d;
    bool first = ch_list_empty(&d->paced);
    int64_t wait = d->next_update - d->host->now(d->host->user);
    p->act = act;
    ch_list_add(&d->paced, &p->turn);
    if (first)
        d->host->timer_start(&d->pace, CH_MIN(CH_MAX(wait, 0), UPDATE_MS), post_on_turn, d,
                             d->host->user);
}

/* --- messages */

static void post_on_sent(const struct ch_dingtalk_answer *a, void *user) {
    struct dingtalk_post *p = user;
    CH_ARENA_AUTO arena = {0};
    const char *id = ch_kit_word(a->json, "processQueryKey", &arena);
    if (a->what != CHELA_RECEIPT_SENT)
        post_fail(p, a);
    else if (ch_json_at(ch_json_get(a->json, "flowControlledStaffIdList"), 0))
        post_end(p, CHELA_RECEIPT_UNCERTAIN, NULL, "the person gets too many messages", FLOW_MS);
    else if (ch_json_at(ch_json_get(a->json, "invalidStaffIdList"), 0))
        post_end(p, CHELA_RECEIPT_REFUSED, NULL, "the person is not known to the service", 0);
    else
        post_end(p, CHELA_RECEIPT_SENT, id, NULL, 0);
}

/* msgParam is a text of JSON. */
static void post_message(struct ch_dingtalk *d, const char *chat, const char *key,
                         struct ch_sv param, ch_dingtalk_fn *fn, void *user) {
    bool group = ch_dingtalk_is_conversation(chat);
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "robotCode", d->robot);
    if (group) {
        ch_jw_kcstr(&w, "openConversationId", chat);
    } else {
        ch_jw_kbegin(&w, "userIds", '[');
        ch_jw_cstr(&w, chat);
        ch_jw_end(&w, ']');
    }
    ch_jw_kcstr(&w, "msgKey", key);
    ch_jw_kstr(&w, "msgParam", param);
    ch_jw_end(&w, '}');
    ch_dingtalk_call(d, "POST",
                     group ? PATH("robot/groupMessages/send") : PATH("robot/oToMessages/batchSend"),
                     ch_buf_sv(&body), fn, user);
}

/* {"title":...,"text":...} or {"content":...} */
static void post_write(struct ch_jw *w, const struct dingtalk_post *p) {
    CH_BUF_AUTO title = {0};
    ch_jw_begin(w, '{');
    if (p->approval) {
        ch_jw_kstr(w, "content", ch_buf_sv(&p->text));
    } else {
        ch_dingtalk_title(&title, ch_buf_sv(&p->text));
        ch_jw_kstr(w, "title", ch_buf_sv(&title));
        ch_jw_kstr(w, "text", ch_buf_sv(&p->text));
    }
    ch_jw_end(w, '}');
}

/* Sends to a person outside the organization, at the webhook of the conversation. The
 * service supplies the webhook, and it expires. */
static void post_to_webhook(struct dingtalk_post *p) {
    struct ch_dingtalk *d = p->d;
    char *url;
    long long until = strtoll(p->handle, &url, 10);
    size_t n = strlen(d->oapi);
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    url += *url == ' ';
    if (strncmp(url, d->oapi, n) != 0 || url[n] != '/' || !ch_kit_is_token(url, "")) {
        post_end(p, CHELA_RECEIPT_REFUSED, NULL, "the address of the answer is not the service's",
                 0);
        return;
    }
    if (until && until < d->host->now(d->host->user)) {
        post_end(p, CHELA_RECEIPT_REFUSED, NULL, "the address of the answer has expired", 0);
        return;
    }
    const char *type = p->approval ? "text" : "markdown";
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "msgtype", type);
    ch_jw_key(&w, type);
    post_write(&w, p);
    ch_jw_end(&w, '}');
    ch_dingtalk_post_to(d, url, ch_buf_sv(&body), post_on_sent, p);
}

static void post_plain(struct dingtalk_post *p) {
    CH_BUF_AUTO param = {0};
    struct ch_jw w = ch_jw(&param);
    if (p->handle) {
        post_take_turn(p, post_to_webhook);
        return;
    }
    post_write(&w, p);
    post_message(p->d, p->chat, p->approval ? "sampleText" : "sampleMarkdown", ch_buf_sv(&param),
                 post_on_sent, p);
}

/* --- cards */

static void card_begin(struct ch_jw *w, const char *track) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "outTrackId", track);
}

/* "cardData":{"cardParamMap":{KEY:text, "state":state}} */
static void card_data(struct ch_jw *w, const char *key, struct ch_sv text, const char *state) {
    ch_jw_kbegin(w, "cardData", '{');
    ch_jw_kbegin(w, "cardParamMap", '{');
    ch_jw_kstr(w, key, text);
    if (state)
        ch_jw_kcstr(w, "state", state);
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

static void card_create(struct dingtalk_post *p, const char *template, const char *key,
                        struct ch_sv text, const char *state, ch_dingtalk_fn *fn) {
    bool group = ch_dingtalk_is_conversation(p->chat);
    CH_BUF_AUTO body = {0}, space = {0};
    struct ch_jw w = ch_jw(&body);
    card_begin(&w, p->track);
    ch_jw_kcstr(&w, "cardTemplateId", template);
    ch_jw_kcstr(&w, "callbackType", "STREAM");
    card_data(&w, key, text, state);
    ch_buf_addf(&space, "dtv1.card//%s.%s", group ? "IM_GROUP" : "IM_ROBOT", p->chat);
    ch_jw_kcstr(&w, "openSpaceId", ch_buf_str(&space));
    ch_jw_kint(&w, "userIdType", 1);
    ch_jw_kraw(&w, group ? "imGroupOpenSpaceModel" : "imRobotOpenSpaceModel",
               CH_SV("{\"supportForward\":true}"));
    ch_jw_kbegin(&w, group ? "imGroupOpenDeliverModel" : "imRobotOpenDeliverModel", '{');
    if (!group)
        ch_jw_kcstr(&w, "spaceType", "IM_ROBOT");
    ch_jw_kcstr(&w, "robotCode", p->d->robot);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    ch_dingtalk_call(p->d, "POST", PATH("card/instances/createAndDeliver"), ch_buf_sv(&body), fn,
                     p);
}

/* A response with status 200 may say that nothing was delivered. */
static struct ch_dingtalk_answer card_delivered(const struct ch_dingtalk_answer *a,
                                                struct ch_arena *arena) {
    struct ch_dingtalk_answer out = *a;
    const struct ch_json *results = ch_json_path(a->json, "result", "deliverResults", NULL);
    if (a->what != CHELA_RECEIPT_SENT)
        return out;
    for (CH_JSON_EACH(r, results))
        if (!ch_json_bool(ch_json_get(r, "success"), true)) {
            const char *why = ch_kit_word(r, "errorMsg", arena);
            out.what = CHELA_RECEIPT_REFUSED;
            out.why = why ? why : "the card was not delivered";
        }
    return out;
}

/* After its stream has ended, a card accepts no streamed text, but its data can be replaced. */
static void card_on_replaced(const struct ch_dingtalk_answer *a, void *user) {
    struct dingtalk_post *p = user;
    if (a->what == CHELA_RECEIPT_SENT)
        post_end(p, a->what, p->track, NULL, 0);
    else
        post_fail(p, a);
}

static void card_replace(struct ch_dingtalk *d, const char *track, const char *key,
                         struct ch_sv text, const char *state, ch_dingtalk_fn *fn, void *user) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    card_begin(&w, track);
    card_data(&w, key, text, state);
    ch_jw_kraw(&w, "cardUpdateOptions", CH_SV("{\"updateCardDataByKey\":true}"));
    ch_jw_end(&w, '}');
    ch_dingtalk_call(d, "PUT", PATH("card/instances"), ch_buf_sv(&body), fn, user);
}

static void card_on_streamed(const struct ch_dingtalk_answer *a, void *user) {
    struct dingtalk_post *p = user;
    if (a->what == CHELA_RECEIPT_REFUSED && !p->growing)
        card_replace(p->d, p->track, p->d->variable, ch_buf_sv(&p->text), NULL, card_on_replaced,
                     p);
    else
        card_on_replaced(a, p);
}

static void card_stream(struct dingtalk_post *p) {
    unsigned char random[12];
    CH_BUF_AUTO body = {0}, guid = {0};
    struct ch_jw w = ch_jw(&body);
    p->d->host->random(random, sizeof(random), p->d->host->user);
    for (size_t i = 0; i < sizeof(random); i++)
        ch_buf_addf(&guid, "%02x", random[i]);
    card_begin(&w, p->track);
    ch_jw_kstr(&w, "guid", ch_buf_sv(&guid));
    ch_jw_kcstr(&w, "key", p->d->variable);
    ch_jw_kstr(&w, "content", ch_buf_sv(&p->text));
    ch_jw_kbool(&w, "isFull", true);
    ch_jw_kbool(&w, "isFinalize", !p->growing);
    ch_jw_kbool(&w, "isError", false);
    ch_jw_end(&w, '}');
    ch_dingtalk_call(p->d, "PUT", PATH("card/streaming"), ch_buf_sv(&body), card_on_streamed, p);
}

static void card_on_created(const struct ch_dingtalk_answer *a, void *user) {
    struct dingtalk_post *p = user;
    CH_ARENA_AUTO arena = {0};
    struct ch_dingtalk_answer got = card_delivered(a, &arena);
    if (got.what == CHELA_RECEIPT_SENT) {
        post_take_turn(p, card_stream);
    } else if (got.what == CHELA_RECEIPT_REFUSED && !p->growing) {
        const char *line =
            ch_arena_printf(&arena, "a card was refused, a message follows: %s", got.why);
        p->d->host->log(CHELA_LOG_WARN, line, p->d->host->user);
        post_plain(p);
    } else {
        post_fail(p, &got);
    }
}

/* --- questions */

struct dingtalk_question {
    struct ch_link link;           /* in the channel's asked */
    char *track, *approval, *chat; /* owned */
};

static void question_free(struct dingtalk_question *q) {
    ch_list_del(&q->link);
    ch_free(q->track);
    ch_free(q->approval);
    ch_free(q->chat);
    ch_free(q);
}

static struct dingtalk_question *question_find(const struct ch_dingtalk *d, const char *track) {
    for (CH_LIST_EACH(k, &d->asked)) {
        struct dingtalk_question *q = CH_CONTAINER(k, struct dingtalk_question, link);
        if (strcmp(q->track, track) == 0)
            return q;
    }
    return NULL;
}

static void question_forget(struct ch_dingtalk *d, struct dingtalk_question *q) {
    CH_BUF_AUTO id = {0};
    ch_buf_addf(&id, "q%s", q->track);
    d->host->note(ch_buf_str(&id), (struct chela_text){NULL, 0}, NULL, NULL, d->host->user);
    question_free(q);
}

static void question_keep(struct ch_dingtalk *d, const char *track, const char *approval,
                          const char *chat) {
    size_t n = 1;
    struct dingtalk_question *q = question_find(d, track);
    if (q)
        return;
    for (CH_LIST_EACH(k, &d->asked))
        n++;
    if (n > MOST_QUESTIONS)
        question_forget(d, CH_LIST_FIRST(&d->asked, struct dingtalk_question, link));
    q = ch_alloc(sizeof(*q));
    q->track = ch_strdup(track);
    q->approval = ch_strdup(approval);
    q->chat = ch_strdup(chat);
    ch_list_add(&d->asked, &q->link);
}

void ch_dingtalk_remind(void *self, const char *id, struct chela_text data) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v;
    if (id[0] != 'q' || ch_json_parse(&a, ch_kit_sv(data), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return;
    const char *approval = ch_kit_word(v, "approval", &a), *chat = ch_kit_word(v, "chat", &a);
    if (approval && chat)
        question_keep(self, id + 1, approval, chat);
}

static void question_on_created(const struct ch_dingtalk_answer *a, void *user) {
    struct dingtalk_post *p = user;
    CH_ARENA_AUTO arena = {0};
    struct ch_dingtalk_answer got = card_delivered(a, &arena);
    if (got.what == CHELA_RECEIPT_SENT)
        post_end(p, got.what, p->track, NULL, 0);
    else
        post_fail(p, &got);
}

static void question_on_noted(int rc, const struct chela_error *err, void *tag) {
    struct dingtalk_post *p = tag;
    CH_BUF_AUTO text = {0};
    if (rc < 0) {
        post_end(p, CHELA_RECEIPT_UNCERTAIN, NULL,
                 err ? err->message : "the question cannot be noted", 0);
        return;
    }
    ch_kit_images_as_links(&text, ch_buf_sv(&p->text), true);
    card_create(p, p->d->approval, "content", ch_buf_sv(&text), "asked", question_on_created);
}

/* A button press names only the card, so the card's call and chat are noted before the card
 * is sent. */
static void question_send(struct dingtalk_post *p) {
    CH_BUF_AUTO id = {0}, data = {0};
    struct ch_jw w = ch_jw(&data);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "approval", p->approval);
    ch_jw_kcstr(&w, "chat", p->chat);
    ch_jw_end(&w, '}');
    question_keep(p->d, p->track, p->approval, p->chat);
    ch_buf_addf(&id, "q%s", p->track);
    p->d->host->note(ch_buf_str(&id), ch_kit_text(ch_buf_sv(&data)), question_on_noted, p,
                     p->d->host->user);
}

struct dingtalk_press {
    struct ch_kit_job job; /* in the channel's presses, or in late */
    struct ch_dingtalk *d;
    char *track, *user; /* owned */
    const char *word;   /* static */
    unsigned passes;    /* late: over the notes, since the press */
    chela_accepted_fn *done; /* NULL: acknowledged */
    void *tag;
};

static void press_free(struct ch_kit_job *job) {
    struct dingtalk_press *p = CH_CONTAINER(job, struct dingtalk_press, job);
    ch_free(p->track);
    ch_free(p->user);
    ch_free(p);
}

/* A line for the person and, if the question is settled, the text that replaces it. */
static void press_on_decided(struct chela_text answer, void *tag) {
    struct dingtalk_press *p = tag;
    struct ch_dingtalk *d = p->d;
    struct ch_sv rest = ch_kit_sv(answer), line = ch_sv_split(&rest, '\n');
    struct dingtalk_question *q = question_find(d, p->track);
    CH_BUF_AUTO param = {0}, text = {0};
    struct ch_jw w = ch_jw(&param);
    if (rest.p) {
        ch_kit_images_as_links(&text, rest, true);
        card_replace(d, p->track, "content", ch_buf_sv(&text), "settled", NULL, NULL);
        if (q)
            question_forget(d, q);
    } else {
        ch_jw_begin(&w, '{');
        ch_jw_kstr(&w, "content", line);
        ch_jw_end(&w, '}');
        post_message(d, p->user, "sampleText", ch_buf_sv(&param), NULL, NULL);
    }
    if (p->done)
        p->done(0, NULL, p->tag);
    ch_kit_job_end(&p->job);
}

static void press_decide(struct dingtalk_press *p, const struct dingtalk_question *q) {
    struct ch_dingtalk *d = p->d;
    ch_kit_job_begin(&d->presses, &p->job, press_free);
    d->host->decide(
        &(struct chela_channel_decision){
            .approval = q->approval, .chat = q->chat, .word = p->word, .by = p->user},
        press_on_decided, p, d->host->user);
}

/* The card may be one of another process, whose note is not read yet: the press waits. */
int ch_dingtalk_press(struct ch_dingtalk *d, const char *track, const char *user, const char *word,
                      chela_accepted_fn *done, void *tag) {
    const struct dingtalk_question *q = question_find(d, track);
    struct dingtalk_press *p = ch_alloc(sizeof(*p));
    p->d = d;
    p->track = ch_strdup(track);
    p->user = ch_strdup(user);
    p->word = word;
    if (q) {
        p->done = done;
        p->tag = tag;
        press_decide(p, q);
        return 1;
    }
    if (d->nlate >= MOST_LATE) {
        press_free(&p->job);
        return 0;
    }
    d->nlate++;
    ch_kit_job_begin(&d->late, &p->job, press_free);
    return 0;
}

void ch_dingtalk_reminded(void *self) {
    struct ch_dingtalk *d = self;
    struct ch_link *next;
    for (struct ch_link *k = d->late.head.next; k != &d->late.head; k = next) {
        struct dingtalk_press *p = CH_CONTAINER(k, struct dingtalk_press, job.link);
        const struct dingtalk_question *q = question_find(d, p->track);
        next = k->next;
        if (!q && ++p->passes < PASSES)
            continue;
        d->nlate--;
        ch_list_del(&p->job.link);
        if (q) {
            press_decide(p, q);
        } else {
            d->host->log(CHELA_LOG_WARN, "a button of an unknown card was pressed", d->host->user);
            press_free(&p->job);
        }
    }
}

/* --- files */

static const char *file_type(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && dot[1] ? dot + 1 : "bin";
}

static void file_on_uploaded(const struct ch_dingtalk_answer *a, void *user) {
    struct dingtalk_post *p = user;
    struct ch_sv id = ch_json_get_str(a->json, "media_id");
    CH_BUF_AUTO param = {0};
    struct ch_jw w = ch_jw(&param);
    if (a->what != CHELA_RECEIPT_SENT || !id.n) {
        post_end(p, a->what == CHELA_RECEIPT_SENT ? CHELA_RECEIPT_REFUSED : a->what, NULL,
                 a->why ? a->why : "the upload has no id", a->wait_ms);
        return;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, p->picture ? "photoURL" : "mediaId", id);
    if (!p->picture) {
        ch_jw_kcstr(&w, "fileName", p->name);
        ch_jw_kcstr(&w, "fileType", file_type(p->name));
    }
    ch_jw_end(&w, '}');
    post_message(p->d, p->chat, p->picture ? "sampleImageMsg" : "sampleFile", ch_buf_sv(&param),
                 post_on_sent, p);
}

static void post_refuse(struct dingtalk_post *p) {
    post_end(p, CHELA_RECEIPT_REFUSED, NULL,
             p->name ? "people outside the organisation get no files" : "no card can grow here", 0);
}

/* --- a post */

static void post_begin(struct dingtalk_post *p) {
    struct ch_dingtalk *d = p->d;
    bool cards = d->card && !p->handle && !p->approval;
    if (p->handle ? p->name || p->growing || p->edit : p->growing && !d->card)
        post_take_turn(p, post_refuse);
    else if (p->name)
        ch_dingtalk_upload(d, p->picture ? "image" : "file", p->name, ch_buf_sv(&p->text),
                           file_on_uploaded, p);
    else if (p->edit)
        post_take_turn(p, card_stream);
    else if (cards)
        card_create(p, d->card, d->variable, p->growing ? CH_SV("") : ch_buf_sv(&p->text), NULL,
                    card_on_created);
    else if (p->approval && d->approval && !p->handle)
        question_send(p);
    else
        post_plain(p);
}

void ch_dingtalk_post(void *self, const struct chela_channel_post *post,
                      chela_channel_posted_fn *done, void *tag) {
    struct ch_dingtalk *d = self;
    struct dingtalk_post *p = ch_alloc(sizeof(*p));
    CH_BUF_AUTO track = {0};
    ch_buf_addf(&track, TRACK "%s", post->key);
    p->d = d;
    p->chat = ch_strdup(post->chat);
    p->handle = ch_strdup(post->handle);
    p->track = ch_strdup(post->edit ? post->edit : ch_buf_str(&track));
    p->name = ch_strdup(post->name);
    p->approval = ch_strdup(post->approval);
    p->picture = post->picture;
    p->growing = post->growing;
    p->edit = post->edit;
    p->done = done;
    p->tag = tag;
    if (post->name)
        ch_buf_add(&p->text, post->bytes, post->n);
    else
        ch_buf_add_str(&p->text, post->text);
    if (post->approval && (!d->approval || post->handle))
        ch_kit_decide(&p->text, post->text, post->approval);
    ch_kit_job_begin(&d->jobs, &p->job, post_free);
    post_begin(p);
}

/* --- reactions and actions */

struct dingtalk_room {
    struct ch_link link;       /* in the channel's rooms */
    char *chat, *conversation; /* owned */
};

static void room_free(struct ch_dingtalk *d, struct dingtalk_room *r) {
    ch_list_del(&r->link);
    d->nrooms--;
    ch_free(r->chat);
    ch_free(r->conversation);
    ch_free(r);
}

static struct dingtalk_room *room_find(const struct ch_dingtalk *d, const char *chat) {
    for (CH_LIST_EACH(k, &d->rooms)) {
        struct dingtalk_room *r = CH_CONTAINER(k, struct dingtalk_room, link);
        if (strcmp(r->chat, chat) == 0)
            return r;
    }
    return NULL;
}

void ch_dingtalk_room(struct ch_dingtalk *d, const char *chat, struct ch_sv conversation) {
    struct dingtalk_room *r = room_find(d, chat);
    if (r)
        room_free(d, r);
    else if (d->nrooms >= MOST_ROOMS)
        room_free(d, CH_LIST_FIRST(&d->rooms, struct dingtalk_room, link));
    r = ch_alloc(sizeof(*r));
    r->chat = ch_strdup(chat);
    r->conversation = ch_strndup(conversation.p, conversation.n);
    ch_list_add(&d->rooms, &r->link);
    d->nrooms++;
}

struct dingtalk_act {
    struct ch_kit_job job; /* in the channel's jobs */
    chela_channel_acted_fn *done;
    void *tag;
};

static void act_free(struct ch_kit_job *job) {
    ch_free(CH_CONTAINER(job, struct dingtalk_act, job));
}

/* A response with status 200 may list failures. */
static void act_on_answer(const struct ch_dingtalk_answer *a, void *user) {
    struct dingtalk_act one = *(struct dingtalk_act *)user;
    struct chela_error err = {.code =
                                  a->what == CHELA_RECEIPT_UNCERTAIN ? CHELA_ENET : CHELA_EINVAL};
    const struct ch_json *failed = ch_json_get(a->json, "failedResult");
    ch_kit_job_end(&((struct dingtalk_act *)user)->job);
    bool partly = ch_json_is(failed, CH_JSON_OBJECT) && failed->n;
    snprintf(err.message, sizeof(err.message), "%s",
             a->why && a->what != CHELA_RECEIPT_SENT ? a->why : "the service refuses it");
    one.done(a->what == CHELA_RECEIPT_SENT && !partly ? NULL : &err, one.tag);
}

/* done NULL: no caller waits. */
static void act_call(struct ch_dingtalk *d, const char *path, const struct ch_buf *body,
                     chela_channel_acted_fn *done, void *tag) {
    struct dingtalk_act *one = done ? ch_alloc(sizeof(*one)) : NULL;
    if (one) {
        one->done = done;
        one->tag = tag;
        ch_kit_job_begin(&d->jobs, &one->job, act_free);
    }
    ch_dingtalk_call(d, "POST", path, ch_buf_sv(body), one ? act_on_answer : NULL, one);
}

static void act_emotion(struct ch_dingtalk *d, const char *path, const char *chat,
                        const char *message, const char *emotion, chela_channel_acted_fn *done,
                        void *tag) {
    const struct dingtalk_room *room = room_find(d, chat);
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "robotCode", d->robot);
    ch_jw_kcstr(&w, "openMsgId", message);
    ch_jw_kcstr(&w, "openConversationId", room ? room->conversation : chat);
    ch_jw_kint(&w, "emotionType", 2);
    ch_jw_kcstr(&w, "emotionName", emotion);
    ch_jw_kbegin(&w, "textEmotion", '{');
    ch_jw_kcstr(&w, "emotionId", "2659900");
    ch_jw_kcstr(&w, "emotionName", emotion);
    ch_jw_kcstr(&w, "text", emotion);
    ch_jw_kcstr(&w, "backgroundId", "im_bg_1");
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    act_call(d, path, &body, done, tag);
}

#define THINKING "\xf0\x9f\xa4\x94"

void ch_dingtalk_working(void *self, const struct chela_channel_arrival *in, int at_work) {
    act_emotion(self, at_work ? PATH("robot/emotion/reply") : PATH("robot/emotion/recall"),
                in->about.chat_id, in->about.message_id, THINKING, NULL, NULL);
}

void ch_dingtalk_react(void *self, const char *chat, const char *message, const char *emoji,
                       chela_channel_acted_fn *done, void *tag) {
    act_emotion(self, PATH("robot/emotion/reply"), chat, message, emoji, done, tag);
}

void ch_dingtalk_unsend(void *self, const char *chat, const char *message,
                        chela_channel_acted_fn *done, void *tag) {
    struct ch_dingtalk *d = self;
    bool group = ch_dingtalk_is_conversation(chat);
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "robotCode", d->robot);
    if (group)
        ch_jw_kcstr(&w, "openConversationId", chat);
    ch_jw_kbegin(&w, "processQueryKeys", '[');
    ch_jw_cstr(&w, message);
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    act_call(d, group ? PATH("robot/groupMessages/recall") : PATH("robot/otoMessages/batchRecall"),
             &body, done, tag);
}

void ch_dingtalk_mute(void *self, const char *chat, const char *member, int64_t seconds,
                      chela_channel_acted_fn *done, void *tag) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "openConversationId", chat);
    ch_jw_kbegin(&w, "userIdList", '[');
    ch_jw_cstr(&w, member);
    ch_jw_end(&w, ']');
    ch_jw_kint(&w, "muteStatus", seconds > 0);
    ch_jw_kint(&w, "muteDuration", 1000 * seconds);
    ch_jw_end(&w, '}');
    act_call(self, PATH("im/sceneGroups/muteMembers/set"), &body, done, tag);
}

void ch_dingtalk_posts_release(struct ch_dingtalk *d) {
    for (struct dingtalk_question *q;
         (q = CH_LIST_FIRST(&d->asked, struct dingtalk_question, link));)
        question_free(q);
    for (struct dingtalk_room *r; (r = CH_LIST_FIRST(&d->rooms, struct dingtalk_room, link));)
        room_free(d, r);
}
