/* slack_event.c -- events and presses of buttons, from either way in.
 *
 * app_mention repeats a message event, in any order; both have the id channel and ts, so the
 * inbox takes one of them. */
#include "channel/slack/slack_event.h"

#include <stdio.h>

#include "channel/slack/slack_post.h"
#include "channel/slack/slack_text.h"
#include "json/number.h"

#define FILES 16
#define MOST_FILE (20 * 1024 * 1024)

/* --- messages */

/* Changes, deletions, joins and the like are not answered. */
static bool slack_is_message(const struct ch_json *event) {
    static const char *const taken[] = {"file_share", "thread_broadcast", "me_message",
                                        "message_share"};
    struct ch_sv type = ch_json_get_str(event, "type"), sub = ch_json_get_str(event, "subtype");
    if (ch_sv_is(type, "app_mention"))
        return true;
    for (size_t i = 0; sub.p && i < CH_LEN(taken); i++)
        if (ch_sv_is(sub, taken[i]))
            return ch_sv_is(type, "message");
    return ch_sv_is(type, "message") && !sub.p;
}

/* A message that a person forwards or links to. Previews of other links have no such mark. */
static bool slack_is_shared(const struct ch_json *attachment) {
    return ch_json_bool(ch_json_get(attachment, "is_share"), false) ||
           ch_json_bool(ch_json_get(attachment, "is_msg_unfurl"), false);
}

/* The service puts the text and the files of forwarded messages into attachments, and leaves the
 * text of the event to the person who forwards. A mention in a forwarded text is none. */
static void slack_add_shared(struct ch_buf *text, const struct ch_json *event) {
    for (CH_JSON_EACH(s, ch_json_get(event, "attachments"))) {
        struct ch_sv said = ch_json_get_str(s, "text"), by = ch_json_get_str(s, "author_name");
        if (!slack_is_shared(s))
            continue;
        said = said.n ? said : ch_json_get_str(s, "fallback");
        ch_buf_addf(text, "%s[forwarded%s%.*s] ", text->n ? "\n" : "", by.n ? " from " : "",
                    CH_SV_FMT(by));
        ch_slack_read(text, said, NULL);
    }
}

static size_t slack_files(const struct ch_json *from, struct ch_arena *a, size_t n,
                          struct chela_channel_file out[FILES]) {
    for (CH_JSON_EACH(f, ch_json_get(from, "files")))
        if (n < FILES)
            out[n++] = (struct chela_channel_file){.handle = ch_kit_word(f, "url_private", a),
                                                   .name = ch_kit_word(f, "name", a),
                                                   .size = ch_json_int(ch_json_get(f, "size"), 0)};
    return n;
}

static size_t slack_all_files(const struct ch_json *event, struct ch_arena *a,
                              struct chela_channel_file out[FILES]) {
    size_t n = slack_files(event, a, 0, out);
    for (CH_JSON_EACH(s, ch_json_get(event, "attachments")))
        n = slack_is_shared(s) ? slack_files(s, a, n, out) : n;
    return n;
}

/* Unless the message is in a thread already, an answer in a channel begins one. */
static const char *slack_thread(const struct ch_slack *s, const struct ch_json *event, bool direct,
                                const char *ts, struct ch_arena *a) {
    const char *thread = ch_kit_word(event, "thread_ts", a);
    return thread || direct || !s->in_threads ? thread : ts;
}

int ch_slack_take_event(struct ch_slack *s, const struct ch_json *event, chela_accepted_fn *done,
                        void *tag) {
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO text = {0};
    struct chela_channel_file files[FILES];
    const char *chat = ch_kit_word(event, "channel", &a), *ts = ch_kit_word(event, "ts", &a);
    const char *user = ch_kit_word(event, "user", &a),
               *parent = ch_kit_word(event, "parent_user_id", &a);
    struct ch_sv type = ch_json_get_str(event, "channel_type");
    if (!slack_is_message(event) || !chat || !ts || !user)
        return 0;
    bool direct = type.p ? ch_sv_is(type, "im") : chat[0] == 'D';
    double at = ch_number_strtod(ts, NULL); /* seconds; any number of a peer */
    bool mentioned = ch_slack_read(&text, ch_json_get_str(event, "text"), s->me);
    slack_add_shared(&text, event);
    struct chela_channel_message m = {
        .id = ts,
        .chat = chat,
        .thread = slack_thread(s, event, direct, ts, &a),
        .sender = user,
        .direct = direct,
        .program = ch_json_get_str(event, "bot_id").p || strcmp(user, s->me) == 0,
        .mentioned = mentioned || (parent && strcmp(parent, s->me) == 0),
        .text = ch_buf_str(&text),
        .ts = at >= 0 && at < 1e12 ? (int64_t)(at * 1000) : 0,
        .files = files,
        .nfiles = slack_all_files(event, &a, files)};
    return s->host->message(&m, done, tag, s->host->user);
}

/* --- files. The token goes to the service only: a message could name another address. */

struct slack_fetch {
    struct ch_link link; /* in the channel's fetches */
    chela_channel_bytes_fn *done;
    void *tag;
};

/* Whether a file is at Slack or at the server of the API, which receive the token. */
static bool slack_is_ours(const struct ch_slack *s, const char *url) {
    const char *host = strncmp(url, "https://", 8) == 0 ? url + 8 : NULL;
    size_t name = host ? strcspn(host, "/:@?#") : 0;
    bool slack =
        host && name > 10 && host[name] == '/' && (memcmp(host + name - 10, ".slack.com", 10) == 0);
    return slack || ch_kit_is_origin(url, s->api);
}

static void slack_on_file(const struct chela_channel_response *r, void *tag) {
    struct slack_fetch *f = tag;
    chela_channel_bytes_fn *done = f->done;
    void *its = f->tag;
    struct ch_sv type = ch_kit_sv(r->header(r, "content-type"));
    struct chela_text none = {NULL, 0};
    ch_list_del(&f->link);
    ch_free(f);
    if (r->why || r->status != 200)
        done(none, r->why ? r->why : "the service refuses it", its);
    else if (ch_sv_starts(type, "text/html"))
        done(none, "the service returned a page: the app lacks the permission files:read", its);
    else
        done(r->body, NULL, its);
}

void ch_slack_fetch(void *self, const char *handle, chela_channel_bytes_fn *done, void *tag) {
    struct ch_slack *s = self;
    struct slack_fetch *f = ch_alloc(sizeof(*f));
    const char *headers[] = {"Authorization", s->bearer, NULL};
    f->done = done;
    f->tag = tag;
    ch_list_add(&s->fetches, &f->link);
    s->host->http(
        &(struct chela_channel_request){.method = "GET",
                                        .url = handle,
                                        .headers = slack_is_ours(s, handle) ? headers : NULL,
                                        .most = MOST_FILE,
                                        .wait_ms = 120000},
        slack_on_file, f, s->host->user);
}

/* --- presses */

struct slack_press {
    struct ch_link link; /* in the channel's presses */
    struct ch_slack *s;
    char *chat, *message, *user, *thread; /* owned; thread may be NULL */
    chela_accepted_fn *done;
    void *tag;
};

static void slack_press_free(struct slack_press *p) {
    ch_list_del(&p->link);
    ch_free(p->chat);
    ch_free(p->message);
    ch_free(p->user);
    ch_free(p->thread);
    ch_free(p);
}

/* A line for the person and, if the question is settled, the text that replaces it. */
static void slack_on_decided(struct chela_text answer, void *tag) {
    struct slack_press *p = tag;
    struct ch_sv rest = ch_kit_sv(answer), line = ch_sv_split(&rest, '\n');
    CH_BUF_AUTO body = {0}, text = {0};
    struct ch_jw w = ch_jw(&body);
    ch_slack_escape(&text, rest.p ? rest : line);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "channel", p->chat);
    ch_jw_kstr(&w, "text", ch_buf_sv(&text));
    if (rest.p) {
        ch_jw_kcstr(&w, "ts", p->message);
        ch_jw_kraw(&w, "blocks", CH_SV("[]"));
        ch_jw_kbool(&w, "unfurl_links", false);
        ch_jw_kbool(&w, "unfurl_media", false);
    } else {
        ch_jw_kcstr(&w, "user", p->user);
        if (p->thread)
            ch_jw_kcstr(&w, "thread_ts", p->thread);
    }
    ch_jw_end(&w, '}');
    ch_slack_call(p->s, rest.p ? "chat.update" : "chat.postEphemeral", ch_buf_sv(&body), NULL,
                  NULL);
    p->done(0, NULL, p->tag);
    slack_press_free(p);
}

static const char *slack_decision(struct ch_sv action) {
    return ch_sv_is(action, "chela-once")     ? "allow-once"
           : ch_sv_is(action, "chela-always") ? "allow-always"
           : ch_sv_is(action, "chela-deny")   ? "deny"
                                              : NULL;
}

int ch_slack_take_press(struct ch_slack *s, const struct ch_json *v, chela_accepted_fn *done,
                        void *tag) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *action = ch_json_at(ch_json_get(v, "actions"), 0);
    const struct ch_json *container = ch_json_get(v, "container");
    const char *user = ch_kit_word(ch_json_get(v, "user"), "id", &a);
    const char *chat = ch_kit_word(ch_json_get(v, "channel"), "id", &a);
    const char *message = ch_kit_word(container, "message_ts", &a);
    const char *approval = ch_kit_word(action, "value", &a);
    const char *word = slack_decision(ch_json_get_str(action, "action_id"));
    if (!ch_sv_is(ch_json_get_str(v, "type"), "block_actions") || !user || !chat || !message ||
        !approval || !word)
        return 0;
    struct slack_press *p = ch_alloc(sizeof(*p));
    p->s = s;
    p->chat = ch_strdup(chat);
    p->message = ch_strdup(message);
    p->user = ch_strdup(user);
    p->thread = ch_strdup(ch_kit_word(container, "thread_ts", &a));
    p->done = done;
    p->tag = tag;
    ch_list_add(&s->presses, &p->link);
    s->host->decide(
        &(struct chela_channel_decision){
            .approval = approval, .chat = chat, .word = word, .by = user},
        slack_on_decided, p, s->host->user);
    return 1;
}

void ch_slack_events_release(struct ch_slack *s) {
    for (struct slack_press *p; (p = CH_LIST_FIRST(&s->presses, struct slack_press, link));)
        slack_press_free(p);
    for (struct slack_fetch *f; (f = CH_LIST_FIRST(&s->fetches, struct slack_fetch, link));) {
        ch_list_del(&f->link);
        ch_free(f);
    }
}
