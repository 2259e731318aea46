/* slack_post.c -- messages and files out, reactions, actions.
 *
 *   text, new:      [looked for, if repeated] --> chat.postMessage
 *   text, edited:   chat.update
 *   file:           files.getUploadURLExternal --> bytes --> files.completeUploadExternal
 *
 * The service knows no idempotency keys. A message carries its key in its metadata. Before a
 * message is repeated, the newest messages of the chat, or the messages of the thread, are
 * searched for the key. */
#include "base/say.h"
#include "channel/slack/slack_post.h"

#include <stdio.h>

#include "channel/slack/slack_text.h"

#define EVENT_TYPE "chela_message"
#define PAGES 20 /* of a thread that are searched; the service shows the oldest first */

/* --- the Web API */

struct slack_call {
    struct ch_link link; /* in the channel's posts */
    ch_slack_fn *fn;
    void *user;
};

/* Whether the error may pass: a limit, a failure of the service, a token that is replaced. */
static bool slack_may_pass(struct ch_sv error) {
    static const char *const known[] = {
        "ratelimited",      "rate_limited",    "internal_error", "service_unavailable",
        "fatal_error",      "request_timeout", "not_authed",     "invalid_auth",
        "account_inactive", "token_expired",   "token_revoked",  "team_added_to_org"};
    for (size_t i = 0; i < CH_LEN(known); i++)
        if (ch_sv_is(error, known[i]))
            return true;
    return false;
}

static void slack_judge(const struct chela_channel_response *r, struct ch_arena *a,
                        struct ch_slack_answer *out) {
    struct ch_sv error;
    bool read = !r->why &&
                ch_json_parse(a, ch_kit_sv(r->body), CH_JSON_REPLACE, &out->json, NULL, NULL) == 0;
    out->wait_ms = ch_kit_retry_after(r);
    if (!read)
        out->json = NULL;
    if (r->why || r->status == 429 || r->status >= 500 || r->status < 200 || !read) {
        out->what = CHELA_RECEIPT_UNCERTAIN;
        out->why =
            r->why ? r->why : ch_arena_printf(a, "the service answered with status %d", r->status);
        return;
    }
    if (ch_json_bool(ch_json_get(out->json, "ok"), false)) {
        out->what = CHELA_RECEIPT_SENT;
        return;
    }
    error = ch_json_get_str(out->json, "error");
    struct ch_sv needed = ch_json_get_str(out->json, "needed");
    out->what = slack_may_pass(error) ? CHELA_RECEIPT_UNCERTAIN : CHELA_RECEIPT_REFUSED;
    out->why = ch_arena_printf(a, "%.*s%s%.*s", CH_SV_FMT(error), needed.n ? ", needed: " : "",
                               CH_SV_FMT(needed));
}

static void slack_on_answer(const struct chela_channel_response *r, void *tag) {
    struct slack_call *c = tag;
    ch_slack_fn *fn = c->fn;
    void *user = c->user;
    CH_ARENA_AUTO arena = {0};
    struct ch_slack_answer a = {0};
    ch_list_del(&c->link);
    ch_free(c);
    slack_judge(r, &arena, &a);
    if (fn)
        fn(&a, user);
}

void ch_slack_call_as(struct ch_slack *s, const char *method, const char *bearer, const char *type,
                      struct ch_sv body, ch_slack_fn *fn, void *user) {
    struct slack_call *c = ch_alloc(sizeof(*c));
    const char *headers[] = {"Authorization", bearer, "Content-Type", type, NULL};
    CH_BUF_AUTO url = {0};
    ch_buf_addf(&url, "%s%s", s->api, method);
    c->fn = fn;
    c->user = user;
    ch_list_add(&s->posts, &c->link);
    s->host->http(&(struct chela_channel_request){.method = "POST",
                                                  .url = ch_buf_str(&url),
                                                  .headers = headers,
                                                  .body = body.p,
                                                  .n = body.n,
                                                  .wait_ms = strcmp(method, "users.info") == 0
                                                                 ? CH_SLACK_NAME_MS
                                                                 : 0,
                                                  .once = strcmp(method, "chat.postMessage") == 0},
                  slack_on_answer, c, s->host->user);
}

void ch_slack_call(struct ch_slack *s, const char *method, struct ch_sv body, ch_slack_fn *fn,
                   void *user) {
    ch_slack_call_as(s, method, s->bearer, "application/json; charset=utf-8", body, fn, user);
}

/* --- a post */

struct slack_post {
    struct ch_slack *s;
    struct ch_link link;       /* in the channel's sending */
    char *chat, *thread, *key; /* owned; thread may be NULL */
    struct ch_buf body;        /* body of the message, or the bytes of the file */
    char *name, *file;         /* owned: of a file; its id */
    unsigned pages;            /* pages of the thread that were searched */
    chela_channel_posted_fn *done;
    void *tag;
};

static void slack_post_free(struct slack_post *p) {
    ch_list_del(&p->link);
    ch_buf_release(&p->body);
    ch_free(p->chat);
    ch_free(p->thread);
    ch_free(p->key);
    ch_free(p->name);
    ch_free(p->file);
    ch_free(p);
}

static void slack_post_end(struct slack_post *p, enum chela_receipt what, const char *id,
                           const char *why, int64_t wait_ms) {
    chela_channel_posted_fn *done = p->done;
    void *tag = p->tag;
    slack_post_free(p);
    done(&(struct chela_channel_posted){what, id, why, wait_ms}, tag);
}

static void slack_on_posted(const struct ch_slack_answer *a, void *user) {
    CH_ARENA_AUTO arena = {0};
    struct ch_sv ts = ch_json_get_str(a->json, "ts");
    slack_post_end(user, a->what, ts.n ? ch_arena_str(&arena, ts) : NULL, a->why, a->wait_ms);
}

static void slack_find(struct slack_post *p, struct ch_sv cursor);

static void slack_on_found(const struct ch_slack_answer *a, void *user) {
    struct slack_post *p = user;
    CH_ARENA_AUTO arena = {0};
    struct ch_sv next = ch_json_get_str(ch_json_get(a->json, "response_metadata"), "next_cursor");
    if (a->what == CHELA_RECEIPT_UNCERTAIN) {
        slack_post_end(p, a->what, NULL, a->why, a->wait_ms);
        return;
    }
    for (CH_JSON_EACH(m, ch_json_get(a->json, "messages"))) {
        struct ch_sv key =
            ch_json_get_str(ch_json_path(m, "metadata", "event_payload", NULL), "key");
        if (!ch_sv_is(key, p->key))
            continue;
        slack_post_end(p, CHELA_RECEIPT_SENT, ch_arena_str(&arena, ch_json_get_str(m, "ts")), NULL,
                       0);
        return;
    }
    if (p->thread && next.n && ++p->pages < PAGES)
        slack_find(p, next);
    else
        ch_slack_call(p->s, "chat.postMessage", ch_buf_sv(&p->body), slack_on_posted, p);
}

/* Looks for the message: an attempt with an unknown outcome may have succeeded. */
static void slack_find(struct slack_post *p, struct ch_sv cursor) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "channel", p->chat);
    if (p->thread)
        ch_jw_kcstr(&w, "ts", p->thread);
    if (cursor.n)
        ch_jw_kstr(&w, "cursor", cursor);
    ch_jw_kbool(&w, "include_all_metadata", true);
    ch_jw_kint(&w, "limit", 200);
    ch_jw_end(&w, '}');
    ch_slack_call(p->s, p->thread ? "conversations.replies" : "conversations.history",
                  ch_buf_sv(&body), slack_on_found, p);
}

static void slack_button(struct ch_jw *w, const char *label, const char *id, const char *style,
                         const char *approval) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "button");
    ch_jw_kbegin(w, "text", '{');
    ch_jw_kcstr(w, "type", "plain_text");
    ch_jw_kcstr(w, "text", label);
    ch_jw_end(w, '}');
    ch_jw_kcstr(w, "action_id", id);
    ch_jw_kcstr(w, "value", approval);
    if (style)
        ch_jw_kcstr(w, "style", style);
    ch_jw_end(w, '}');
}

/* The exact text, without formatting, and three buttons. */
static void slack_question(struct ch_jw *w, const struct chela_channel_post *post) {
    ch_jw_kbegin(w, "blocks", '[');
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "section");
    ch_jw_kbegin(w, "text", '{');
    ch_jw_kcstr(w, "type", "plain_text");
    ch_jw_kcstr(w, "text", post->text);
    ch_jw_kbool(w, "emoji", false);
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "actions");
    ch_jw_kbegin(w, "elements", '[');
    enum chela_language to = ch_say_language_of_question(post->text);
    slack_button(w, ch_say(CH_SAY_ALLOW_ONCE, to), "chela-once", "primary", post->approval);
    slack_button(w, ch_say(CH_SAY_ALLOW_ALWAYS, to), "chela-always", NULL, post->approval);
    slack_button(w, ch_say(CH_SAY_DENY, to), "chela-deny", "danger", post->approval);
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
    ch_jw_end(w, ']');
}

static void slack_write(const struct chela_channel_post *post, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    CH_BUF_AUTO exact = {0};
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "channel", post->chat);
    if (post->edit)
        ch_jw_kcstr(&w, "ts", post->edit);
    else if (post->thread)
        ch_jw_kcstr(&w, "thread_ts", post->thread);
    if (post->approval)
        ch_slack_escape(&exact, ch_sv_str(post->text));
    ch_jw_kcstr(&w, "text", post->approval ? ch_buf_str(&exact) : post->text);
    if (post->approval)
        slack_question(&w, post);
    ch_jw_kbool(&w, "unfurl_links", false);
    ch_jw_kbool(&w, "unfurl_media", false);
    if (!post->edit) {
        ch_jw_kbegin(&w, "metadata", '{');
        ch_jw_kcstr(&w, "event_type", EVENT_TYPE);
        ch_jw_kbegin(&w, "event_payload", '{');
        ch_jw_kcstr(&w, "key", post->key);
        ch_jw_end(&w, '}');
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, '}');
}

/* --- files */

static void slack_on_shared(const struct ch_slack_answer *a, void *user) {
    const struct slack_post *p = user;
    CH_ARENA_AUTO arena = {0};
    slack_post_end(user, a->what, ch_arena_str(&arena, ch_sv_str(p->file)), a->why, a->wait_ms);
}

static void slack_on_uploaded(const struct chela_channel_response *r, void *tag) {
    struct slack_post *p = tag;
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    if (r->why || r->status < 200 || r->status > 299) {
        slack_post_end(p, CHELA_RECEIPT_UNCERTAIN, NULL, r->why ? r->why : "the upload failed", 0);
        return;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "files", '[');
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "id", p->file);
    ch_jw_kcstr(&w, "title", p->name);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, ']');
    ch_jw_kcstr(&w, "channel_id", p->chat);
    if (p->thread)
        ch_jw_kcstr(&w, "thread_ts", p->thread);
    ch_jw_end(&w, '}');
    ch_slack_call(p->s, "files.completeUploadExternal", ch_buf_sv(&body), slack_on_shared, p);
}

static void slack_on_place(const struct ch_slack_answer *a, void *user) {
    struct slack_post *p = user;
    CH_ARENA_AUTO arena = {0};
    struct ch_sv url = ch_json_get_str(a->json, "upload_url"),
                 id = ch_json_get_str(a->json, "file_id");
    const char *headers[] = {"Content-Type", "application/octet-stream", NULL};
    if (a->what != CHELA_RECEIPT_SENT || !url.n || !id.n) {
        slack_post_end(p, a->what == CHELA_RECEIPT_SENT ? CHELA_RECEIPT_REFUSED : a->what, NULL,
                       a->why ? a->why : "the service gave no address", a->wait_ms);
        return;
    }
    p->file = ch_strndup(id.p, id.n);
    p->s->host->http(&(struct chela_channel_request){.method = "POST",
                                                     .url = ch_arena_str(&arena, url),
                                                     .headers = headers,
                                                     .body = p->body.p,
                                                     .n = p->body.n,
                                                     .wait_ms = 120000},
                     slack_on_uploaded, p, p->s->host->user);
}

static void slack_send_file(struct slack_post *p, const struct chela_channel_post *post) {
    CH_BUF_AUTO form = {0};
    p->name = ch_strdup(post->name);
    ch_buf_add(&p->body, post->bytes, post->n);
    ch_buf_add_str(&form, "filename=");
    ch_kit_percent(&form, post->name);
    ch_buf_addf(&form, "&length=%zu", post->n);
    ch_slack_call_as(p->s, "files.getUploadURLExternal", p->s->bearer,
                     "application/x-www-form-urlencoded", ch_buf_sv(&form), slack_on_place, p);
}

void ch_slack_post(void *self, const struct chela_channel_post *post, chela_channel_posted_fn *done,
                   void *tag) {
    struct ch_slack *s = self;
    struct slack_post *p = ch_alloc(sizeof(*p));
    p->s = s;
    p->chat = ch_strdup(post->chat);
    p->thread = ch_strdup(post->thread);
    p->key = ch_strdup(post->key);
    p->done = done;
    p->tag = tag;
    ch_list_add(&s->sending, &p->link);
    if (post->name) {
        slack_send_file(p, post);
        return;
    }
    slack_write(post, &p->body);
    if (post->repeated && !post->edit)
        slack_find(p, ch_sv(NULL, 0));
    else
        ch_slack_call(s, post->edit ? "chat.update" : "chat.postMessage", ch_buf_sv(&p->body),
                      slack_on_posted, p);
}

/* --- reactions and actions */

/* Reactions have names; the model writes emoji. */
static const struct {
    const char *emoji, *name;
} slack_emoji[] = {
    {"\xf0\x9f\x91\x8d", "thumbsup"},
    {"\xf0\x9f\x91\x8e", "thumbsdown"},
    {"\xe2\x9d\xa4", "heart"},
    {"\xf0\x9f\x98\x82", "joy"},
    {"\xf0\x9f\x8e\x89", "tada"},
    {"\xf0\x9f\x91\x80", "eyes"},
    {"\xe2\x9c\x85", "white_check_mark"},
    {"\xf0\x9f\x99\x8f", "pray"},
    {"\xf0\x9f\x94\xa5", "fire"},
    {"\xf0\x9f\x98\x80", "grinning"},
    {"\xf0\x9f\x9a\x80", "rocket"},
    {"\xf0\x9f\x92\xaf", "100"},
    {"\xf0\x9f\x91\x8f", "clap"},
    {"\xf0\x9f\xa4\x94", "thinking_face"},
    {"\xf0\x9f\x98\xa2", "cry"},
    {"\xf0\x9f\x98\xae", "open_mouth"},
    {"\xf0\x9f\x91\x8c", "ok_hand"},
    {"\xf0\x9f\x99\x8c", "raised_hands"},
    {"\xe2\x9d\x8c", "x"},
    {"\xe2\x9a\xa0", "warning"},
};

/* NULL: Slack has no such reaction, or it is not in the list. */
static const char *slack_emoji_name(const char *emoji, struct ch_arena *a) {
    struct ch_sv s = ch_sv_str(emoji);
    for (size_t i = 0; i < CH_LEN(slack_emoji); i++)
        if (ch_sv_starts(s, slack_emoji[i].emoji))
            return slack_emoji[i].name;
    if (s.n > 1 && s.p[0] == ':' && s.p[s.n - 1] == ':')
        s = ch_sv(s.p + 1, s.n - 2);
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_+-", s.p[i]))
            return NULL;
    return s.n ? ch_arena_str(a, s) : NULL;
}

struct slack_act {
    chela_channel_acted_fn *done;
    void *tag;
    struct ch_link link; /* in the channel's acts */
};

static void slack_on_acted(const struct ch_slack_answer *a, void *user) {
    struct slack_act one = *(struct slack_act *)user;
    struct chela_error err = {.code = a->what == CHELA_RECEIPT_REFUSED ? CHELA_EINVAL : CHELA_ENET};
    ch_list_del(&((struct slack_act *)user)->link);
    ch_free(user);
    snprintf(err.message, sizeof(err.message), "%s", a->why ? a->why : "");
    one.done(a->what == CHELA_RECEIPT_SENT ? NULL : &err, one.tag);
}

/* {"channel":chat, KEY:value, "name":name}; done NULL: no caller waits. */
static void slack_act(struct ch_slack *s, const char *method, const char *chat, const char *key,
                      const char *value, const char *name, chela_channel_acted_fn *done,
                      void *tag) {
    struct slack_act *one = done ? ch_alloc(sizeof(*one)) : NULL;
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "channel", chat);
    ch_jw_kcstr(&w, key, value);
    if (name)
        ch_jw_kcstr(&w, "name", name);
    ch_jw_end(&w, '}');
    if (one) {
        one->done = done;
        one->tag = tag;
        ch_list_add(&s->acts, &one->link);
    }
    ch_slack_call(s, method, ch_buf_sv(&body), one ? slack_on_acted : NULL, one);
}

void ch_slack_working(void *self, const struct chela_channel_arrival *in, int at_work) {
    slack_act(self, at_work ? "reactions.add" : "reactions.remove", in->about.chat_id, "timestamp",
              in->about.message_id, "eyes", NULL, NULL);
}

void ch_slack_react(void *self, const char *chat, const char *message, const char *emoji,
                    chela_channel_acted_fn *done, void *tag) {
    CH_ARENA_AUTO a = {0};
    const char *name = slack_emoji_name(emoji, &a);
    /* A name that the service lacks is refused by the service. */
    slack_act(self, "reactions.add", chat, "timestamp", message, name ? name : "no_such_emoji",
              done, tag);
}

void ch_slack_unsend(void *self, const char *chat, const char *message,
                     chela_channel_acted_fn *done, void *tag) {
    slack_act(self, "chat.delete", chat, "ts", message, NULL, done, tag);
}

void ch_slack_remove(void *self, const char *chat, const char *member, chela_channel_acted_fn *done,
                     void *tag) {
    slack_act(self, "conversations.kick", chat, "user", member, NULL, done, tag);
}

void ch_slack_posts_release(struct ch_slack *s) {
    for (struct slack_post *p; (p = CH_LIST_FIRST(&s->sending, struct slack_post, link));)
        slack_post_free(p);
    for (struct slack_act *a; (a = CH_LIST_FIRST(&s->acts, struct slack_act, link));) {
        ch_list_del(&a->link);
        ch_free(a);
    }
    for (struct slack_call *c; (c = CH_LIST_FIRST(&s->posts, struct slack_call, link));) {
        ch_list_del(&c->link);
        ch_free(c);
    }
}
