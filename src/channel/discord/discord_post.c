/* discord_post.c -- messages and files out, typing, reactions, moderation.
 *
 *   text, new:      [looked for, if repeated] --> POST channels/C/messages
 *   text, edited:   PATCH channels/C/messages/M
 *   file:           POST channels/C/messages, as a form
 *
 * Each message has a nonce. For some minutes the service answers a second message with the same
 * nonce with the first one. After that time an answer is found by its text: among the messages
 * of the bot that are newer than the message it answers. */
#include "channel/discord/discord_post.h"

#include <stdlib.h>
#include <time.h>

#include "base/say.h"
#include "base/form.h"
#include "channel/discord/discord_event.h"
#include "channel/discord/discord_rest.h"
#include "channel/discord/discord_text.h"

#define TYPING_MS 8000 /* the service shows typing for ten seconds */
#define EYES "%F0%9F%91%80"
#define LONGEST_MUTE_S (28 * 24 * 60 * 60)

/* The channel and the id of a message: "THREAD-MESSAGE", or the id alone. */
struct target {
    const char *channel, *message; /* in the arena; message NULL: not an id */
};

static struct target post_target(const char *chat, const char *thread, const char *message,
                                 struct ch_arena *a) {
    struct ch_sv rest = ch_sv_str(message ? message : ""), first = ch_sv_split(&rest, '-');
    struct ch_sv id = rest.p ? rest : first;
    return (struct target){.channel = rest.p   ? ch_arena_str(a, first)
                                      : thread ? thread
                                               : chat,
                           .message = ch_discord_is_id(id) ? ch_arena_str(a, id) : NULL};
}

/* --- a post */

struct post {
    struct ch_link link; /* in the channel's posts */
    struct ch_discord *d;
    char *path, *type, *thread, *content; /* owned; the last three may be NULL */
    char answered[CH_DISCORD_ID];         /* "": not known */
    struct ch_buf body;
    chela_channel_posted_fn *done;
    void *tag;
};

static void post_free(struct post *p) {
    ch_list_del(&p->link);
    ch_buf_release(&p->body);
    ch_free(p->path);
    ch_free(p->type);
    ch_free(p->thread);
    ch_free(p->content);
    ch_free(p);
}

static void post_end(struct post *p, const struct ch_discord_answer *a, const struct ch_json *m) {
    CH_ARENA_AUTO arena = {0};
    chela_channel_posted_fn *done = p->done;
    void *tag = p->tag;
    const char *id = ch_discord_id(m, "id", &arena);
    if (id && p->thread)
        id = ch_arena_printf(&arena, "%s-%s", p->thread, id);
    post_free(p);
    done(&(struct chela_channel_posted){m ? CHELA_RECEIPT_SENT : a->what, id, a->why, a->wait_ms},
         tag);
}

/* A status of success without a message is no success: a page of a proxy, or an error. */
static void post_on_answer(const struct ch_discord_answer *a, void *user) {
    struct ch_discord_answer got = *a;
    if (a->what == CHELA_RECEIPT_SENT && !ch_json_get_str(a->json, "id").n) {
        got.what = CHELA_RECEIPT_UNCERTAIN;
        got.why = "the service answered without a message";
    }
    post_end(user, &got, got.what == CHELA_RECEIPT_SENT ? a->json : NULL);
}

static void post_send(struct post *p, const char *method) {
    ch_discord_call(p->d,
                    &(struct ch_discord_call){.method = method,
                                              .path = p->path,
                                              .type = p->type,
                                              .body = ch_buf_sv(&p->body),
                                              .once = true},
                    post_on_answer, p);
}

/* Ids grow with time. */
static bool post_is_newer(struct ch_sv id, const char *than) {
    size_t n = strlen(than);
    return id.n > n || (id.n == n && memcmp(id.p, than, n) > 0);
}

static void post_on_found(const struct ch_discord_answer *a, void *user) {
    struct post *p = user;
    if (a->what == CHELA_RECEIPT_UNCERTAIN) {
        post_end(p, a, NULL);
        return;
    }
    for (CH_JSON_EACH(m, a->json)) {
        struct ch_sv by = ch_json_get_str(ch_json_get(m, "author"), "id");
        if (p->d->me && ch_sv_is(by, p->d->me) &&
            post_is_newer(ch_json_get_str(m, "id"), p->answered) &&
            ch_sv_is(ch_json_get_str(m, "content"), p->content)) {
            post_end(p, a, m);
            return;
        }
    }
    post_send(p, "POST");
}

/* Looks for the message: an attempt with an unknown outcome may have succeeded. */
static void post_find(struct post *p) {
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path, "%s?limit=100", p->path);
    ch_discord_call(p->d, &(struct ch_discord_call){.method = "GET", .path = ch_buf_str(&path)},
                    post_on_found, p);
}

static void post_button(struct ch_jw *w, const char *label, char letter, int style,
                        const char *approval) {
    CH_BUF_AUTO id = {0};
    ch_buf_addf(&id, "chela:%c:%s", letter, approval); /* at most 100 characters */
    ch_jw_begin(w, '{');
    ch_jw_kint(w, "type", 2);
    ch_jw_kint(w, "style", style);
    ch_jw_kcstr(w, "label", label);
    ch_jw_kstr(w, "custom_id", ch_buf_sv(&id));
    ch_jw_end(w, '}');
}

static void post_buttons(struct ch_jw *w, const char *question, const char *approval) {
    enum chela_language to = ch_say_language_of_question(question);
    ch_jw_kbegin(w, "components", '[');
    ch_jw_begin(w, '{');
    ch_jw_kint(w, "type", 1);
    ch_jw_kbegin(w, "components", '[');
    post_button(w, ch_say(CH_SAY_ALLOW_ONCE, to), 'o', 3, approval);
    post_button(w, ch_say(CH_SAY_ALLOW_ALWAYS, to), 'a', 1, approval);
    post_button(w, ch_say(CH_SAY_DENY, to), 'd', 4, approval);
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
    ch_jw_end(w, ']');
}

/* The model's text notifies nobody, and links show no previews. */
static void post_common(struct ch_jw *w, const char *content) {
    if (content)
        ch_jw_kcstr(w, "content", content);
    ch_jw_kraw(w, "allowed_mentions", CH_SV("{\"parse\":[],\"replied_user\":false}"));
    ch_jw_kint(w, "flags", 4);
}

static void post_write(struct ch_buf *out, const struct chela_channel_post *post,
                       const char *content, const char *answered) {
    struct ch_jw w = ch_jw(out);
    bool direct = post->handle && strcmp(post->handle, "direct") == 0;
    ch_jw_begin(&w, '{');
    post_common(&w, content);
    if (!post->edit) {
        ch_jw_kcstr(&w, "nonce", post->key);
        ch_jw_kbool(&w, "enforce_nonce", true);
    }
    if (!post->edit && answered && !direct) {
        ch_jw_kbegin(&w, "message_reference", '{');
        ch_jw_kcstr(&w, "message_id", answered);
        ch_jw_kbool(&w, "fail_if_not_exists", false);
        ch_jw_end(&w, '}');
    }
    if (post->approval)
        post_buttons(&w, post->text, post->approval);
    if (post->name) {
        CH_BUF_AUTO name = {0};
        ch_form_name(&name, post->name);
        ch_jw_kbegin(&w, "attachments", '[');
        ch_jw_begin(&w, '{');
        ch_jw_kint(&w, "id", 0);
        ch_jw_kstr(&w, "filename", ch_buf_sv(&name));
        ch_jw_end(&w, '}');
        ch_jw_end(&w, ']');
    }
    ch_jw_end(&w, '}');
}

static void post_attach(struct post *p, const struct chela_channel_post *post) {
    struct ch_form form;
    ch_form_init(&form);
    ch_form_field(&form, "payload_json", ch_buf_str(&p->body));
    ch_form_file(&form, "files[0]", post->name, ch_sv(post->bytes, post->n));
    ch_form_end(&form);
    ch_buf_release(&p->body);
    p->body = form.body;
    p->type = ch_strdup(form.type);
}

void ch_discord_post(void *self, const struct chela_channel_post *post,
                     chela_channel_posted_fn *done, void *tag) {
    struct ch_discord *d = self;
    struct post *p = ch_alloc(sizeof(*p));
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO path = {0}, exact = {0};
    struct target to = post_target(post->chat, post->thread, post->edit, &a);
    struct target answered = post_target(post->chat, post->thread, post->reply, &a);
    p->d = d;
    p->done = done;
    p->tag = tag;
    p->thread = ch_strdup(post->thread);
    ch_list_add(&d->posts, &p->link);
    ch_buf_add_str(&path, "channels/");
    ch_kit_percent(&path, to.channel);
    ch_buf_add_str(&path, "/messages");
    if (post->edit)
        ch_buf_addf(&path, "/%s", to.message ? to.message : "0");
    p->path = ch_buf_take(&path);
    if (post->approval)
        ch_discord_exact(&exact, ch_sv_str(post->text));
    else if (post->text)
        ch_buf_add_str(&exact, post->text);
    p->content = post->text ? ch_buf_take(&exact) : NULL;
    if (answered.message)
        snprintf(p->answered, sizeof(p->answered), "%s", answered.message);
    post_write(&p->body, post, p->content, answered.message);
    if (post->name)
        post_attach(p, post);
    if (post->repeated && !post->edit && p->content && *p->answered)
        post_find(p);
    else
        post_send(p, post->edit ? "PATCH" : "POST");
}

/* The question, a blank line, the decision. */
void ch_discord_settle(struct ch_discord *d, const char *channel, const char *message,
                       struct ch_sv text) {
    CH_BUF_AUTO path = {0}, body = {0}, content = {0};
    struct ch_jw w = ch_jw(&body);
    size_t cut = text.n;
    while (cut && text.p[cut - 1] != '\n')
        cut--;
    if (cut)
        ch_discord_exact(&content, ch_sv_trim(ch_sv(text.p, cut)));
    ch_buf_addf(&content, "%s%.*s", cut ? "\n" : "", (int)(text.n - cut), text.p + cut);
    ch_jw_begin(&w, '{');
    post_common(&w, ch_buf_str(&content));
    ch_jw_kraw(&w, "components", CH_SV("[]"));
    ch_jw_end(&w, '}');
    ch_buf_addf(&path, "channels/%s/messages/%s", channel, message);
    ch_discord_call(d,
                    &(struct ch_discord_call){
                        .method = "PATCH", .path = ch_buf_str(&path), .body = ch_buf_sv(&body)},
                    NULL, NULL);
}

/* --- a sign of work */

struct typing {
    struct ch_link link; /* in the channel's typing */
    char channel[CH_DISCORD_ID];
    unsigned n; /* messages that are worked on */
};

static void typing_show(struct ch_discord *d, const struct typing *t) {
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path, "channels/%s/typing", t->channel);
    ch_discord_call(
        d, &(struct ch_discord_call){.method = "POST", .path = ch_buf_str(&path), .brief = true},
        NULL, NULL);
}

static void typing_on_timer(void *tag) {
    struct ch_discord *d = tag;
    for (CH_LIST_EACH(k, &d->typing))
        typing_show(d, CH_CONTAINER(k, struct typing, link));
    if (!ch_list_empty(&d->typing))
        d->host->timer_start(&d->typing_timer, TYPING_MS, typing_on_timer, d, d->host->user);
}

static void typing_count(struct ch_discord *d, const char *channel, bool more) {
    struct typing *found = NULL;
    bool first = ch_list_empty(&d->typing);
    for (CH_LIST_EACH(k, &d->typing)) {
        struct typing *t = CH_CONTAINER(k, struct typing, link);
        found = strcmp(t->channel, channel) == 0 ? t : found;
    }
    if (!found && more) {
        found = ch_alloc(sizeof(*found));
        snprintf(found->channel, sizeof(found->channel), "%s", channel);
        ch_list_add(&d->typing, &found->link);
    }
    if (!found)
        return;
    found->n = more ? found->n + 1 : found->n - 1;
    if (!found->n) {
        ch_list_del(&found->link);
        ch_free(found);
    } else if (more) {
        typing_show(d, found);
    }
    if (first && more)
        d->host->timer_start(&d->typing_timer, TYPING_MS, typing_on_timer, d, d->host->user);
}

/* --- reactions and moderation */

struct act {
    struct ch_link link; /* in the channel's acts */
    struct ch_discord *d;
    char *member;    /* owned; NULL: the call itself is in progress */
    int64_t seconds; /* 0: the member is removed */
    chela_channel_acted_fn *done;
    void *tag;
};

static struct act *act_new(struct ch_discord *d, chela_channel_acted_fn *done, void *tag) {
    struct act *one = ch_alloc(sizeof(*one));
    one->d = d;
    one->done = done;
    one->tag = tag;
    ch_list_add(&d->acts, &one->link);
    return one;
}

static void act_on_done(const struct ch_discord_answer *a, void *user) {
    struct act one = *(struct act *)user;
    struct chela_error err = {.code = a->what == CHELA_RECEIPT_REFUSED ? CHELA_EINVAL : CHELA_ENET};
    ch_list_del(&((struct act *)user)->link);
    ch_free(one.member);
    ch_free(user);
    snprintf(err.message, sizeof(err.message), "%s", a->why ? a->why : "");
    one.done(a->what == CHELA_RECEIPT_SENT ? NULL : &err, one.tag);
}

/* done NULL: no caller waits. */
static void act_on_message(struct ch_discord *d, const char *method, const struct target *to,
                           const char *more, chela_channel_acted_fn *done, void *tag) {
    CH_BUF_AUTO path = {0};
    ch_buf_add_str(&path, "channels/");
    ch_kit_percent(&path, to->channel);
    ch_buf_addf(&path, "/messages/%s%s", to->message ? to->message : "0", more);
    ch_discord_call(d, &(struct ch_discord_call){.method = method, .path = ch_buf_str(&path)},
                    done ? act_on_done : NULL, done ? act_new(d, done, tag) : NULL);
}

void ch_discord_working(void *self, const struct chela_channel_arrival *in, int at_work) {
    struct ch_discord *d = self;
    CH_ARENA_AUTO a = {0};
    struct target to =
        post_target(in->about.chat_id, in->about.thread_id, in->about.message_id, &a);
    if (!d->by_reaction)
        typing_count(d, to.channel, at_work);
    else if (to.message)
        act_on_message(d, at_work ? "PUT" : "DELETE", &to, "/reactions/" EYES "/@me", NULL, NULL);
}

void ch_discord_react(void *self, const char *chat, const char *message, const char *emoji,
                      chela_channel_acted_fn *done, void *tag) {
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO more = {0};
    struct target to = post_target(chat, NULL, message, &a);
    ch_buf_add_str(&more, "/reactions/");
    ch_kit_percent(&more, emoji);
    ch_buf_add_str(&more, "/@me");
    act_on_message(self, "PUT", &to, ch_buf_str(&more), done, tag);
}

void ch_discord_unsend(void *self, const char *chat, const char *message,
                       chela_channel_acted_fn *done, void *tag) {
    CH_ARENA_AUTO a = {0};
    struct target to = post_target(chat, NULL, message, &a);
    act_on_message(self, "DELETE", &to, "", done, tag);
}

static void act_on_member(struct act *one, struct ch_sv guild) {
    struct ch_discord *d = one->d;
    CH_BUF_AUTO path = {0}, body = {0};
    bool mute = one->seconds > 0;
    time_t until = (time_t)(ch_discord_now(d) / 1000 + one->seconds);
    char stamp[32];
    struct tm tm;
    ch_buf_addf(&path, "guilds/%.*s/%s/", CH_SV_FMT(guild), mute || !d->bans ? "members" : "bans");
    ch_kit_percent(&path, one->member);
    gmtime_r(&until, &tm);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &tm);
    if (mute)
        ch_buf_addf(&body, "{\"communication_disabled_until\":\"%s\"}", stamp);
    ch_discord_call(d,
                    &(struct ch_discord_call){.method = mute      ? "PATCH"
                                                        : d->bans ? "PUT"
                                                                  : "DELETE",
                                              .path = ch_buf_str(&path),
                                              .body = ch_buf_sv(&body)},
                    act_on_done, one);
}

static void act_on_guild(const struct ch_discord_answer *a, void *user) {
    struct ch_sv guild = ch_json_get_str(a->json, "guild_id");
    if (a->what == CHELA_RECEIPT_SENT && ch_discord_is_id(guild))
        act_on_member(user, guild);
    else
        act_on_done(
            &(struct ch_discord_answer){.what = CHELA_RECEIPT_REFUSED,
                                        .why = a->why ? a->why : "the chat is not in a server"},
            user);
}

static void act_in_guild(struct ch_discord *d, const char *chat, const char *member,
                         int64_t seconds, chela_channel_acted_fn *done, void *tag) {
    struct act *one = act_new(d, done, tag);
    const char *guild = ch_discord_guild_of(d, chat);
    CH_BUF_AUTO path = {0};
    one->member = ch_strdup(member);
    one->seconds = seconds;
    if (guild) {
        act_on_member(one, ch_sv_str(guild));
        return;
    }
    ch_buf_add_str(&path, "channels/");
    ch_kit_percent(&path, chat);
    ch_discord_call(d, &(struct ch_discord_call){.method = "GET", .path = ch_buf_str(&path)},
                    act_on_guild, one);
}

void ch_discord_mute(void *self, const char *chat, const char *member, int64_t seconds,
                     chela_channel_acted_fn *done, void *tag) {
    act_in_guild(self, chat, member, CH_MIN(CH_MAX(seconds, 1), LONGEST_MUTE_S), done, tag);
}

void ch_discord_remove(void *self, const char *chat, const char *member,
                       chela_channel_acted_fn *done, void *tag) {
    act_in_guild(self, chat, member, 0, done, tag);
}

void ch_discord_posts_release(struct ch_discord *d) {
    for (struct post *p; (p = CH_LIST_FIRST(&d->posts, struct post, link));)
        post_free(p);
    for (struct act *a; (a = CH_LIST_FIRST(&d->acts, struct act, link));) {
        ch_list_del(&a->link);
        ch_free(a->member);
        ch_free(a);
    }
    for (struct typing *t; (t = CH_LIST_FIRST(&d->typing, struct typing, link));) {
        ch_list_del(&t->link);
        ch_free(t);
    }
}
