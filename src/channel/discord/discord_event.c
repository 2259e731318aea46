/* discord_event.c -- messages, files and presses of buttons.
 *
 *   event --direct chat, or a channel that is known--> message of the host --> stored
 *     '--else--> GET channels/ID --thread: chat is its parent--'
 *
 * In Discord a thread is a separate channel. Its chat is its parent channel, so that
 * `groups` lists channels. The id of a message in a thread is "THREAD-MESSAGE": reactions
 * and deletions need both. */
#include "channel/discord/discord_event.h"

#include <stdlib.h>

#include "channel/discord/discord_line.h"
#include "channel/discord/discord_post.h"
#include "channel/discord/discord_rest.h"
#include "channel/discord/discord_text.h"

#define FILES 10
#define MOST_FILE (20 * 1024 * 1024)
#define MOST_PLACES 1024
#define LOOKS 5                /* attempts to look up a channel; then the channel itself is used
                                 * as the chat */
#define ACKNOWLEDGED 40060     /* error code: another gateway has acknowledged the press */
#define EPOCH_MS 1420070400000 /* of the ids */

bool ch_discord_is_id(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n && s.n < CH_DISCORD_ID;
}

const char *ch_discord_id(const struct ch_json *v, const char *key, struct ch_arena *a) {
    struct ch_sv s = ch_json_get_str(v, key);
    return ch_discord_is_id(s) ? ch_arena_str(a, s) : NULL;
}

/* --- channels */

struct place {
    struct ch_link link; /* in the channel's places; the last one was used last */
    struct ch_discord *d;
    char id[CH_DISCORD_ID], parent[CH_DISCORD_ID], guild[CH_DISCORD_ID]; /* parent "": no thread */
    char *name, *topic;                                                  /* owned; may be NULL */
    bool known, asked;
    unsigned tries;
};

/* An event that waits for its channel, or is being stored. */
struct event {
    struct ch_link link; /* in the channel's events, in order */
    struct ch_discord *d;
    struct ch_arena arena;
    const struct ch_json *v; /* NULL: it is being stored */
    char channel[CH_DISCORD_ID];
    bool press;
    bool claiming; /* a press that the service may give to another gateway of the app */
    int64_t seq;
    unsigned session;
};

static struct place *place_find(const struct ch_discord *d, struct ch_sv id) {
    for (CH_LIST_EACH(k, &d->places)) {
        struct place *p = CH_CONTAINER(k, struct place, link);
        if (ch_sv_is(id, p->id))
            return p;
    }
    return NULL;
}

/* The answer to a question about a place uses the place. */
static bool place_may_go(const struct place *p) {
    return p->known && !p->asked;
}

static void place_free(struct ch_discord *d, struct place *p) {
    ch_list_del(&p->link);
    ch_free(p->name);
    ch_free(p->topic);
    ch_free(p);
    d->nplaces--;
}

static struct place *place_make(struct ch_discord *d, const char *id) {
    struct place *p = place_find(d, ch_sv_str(id));
    if (p) {
        ch_list_del(&p->link);
    } else {
        struct place *oldest = CH_LIST_FIRST(&d->places, struct place, link);
        if (d->nplaces >= MOST_PLACES && place_may_go(oldest))
            place_free(d, oldest);
        p = ch_alloc(sizeof(*p));
        p->d = d;
        snprintf(p->id, sizeof(p->id), "%s", id);
        d->nplaces++;
    }
    ch_list_add(&d->places, &p->link);
    return p;
}

static void place_put(char out[CH_DISCORD_ID], const struct ch_json *v, const char *key) {
    struct ch_sv s = ch_json_get_str(v, key);
    if (ch_discord_is_id(s))
        snprintf(out, CH_DISCORD_ID, "%.*s", CH_SV_FMT(s));
}

static bool place_is_thread(const struct ch_json *v) {
    int64_t type = ch_json_int(ch_json_get(v, "type"), 0);
    return type >= 10 && type <= 12;
}

static void place_set(char **text, struct ch_sv s, size_t most) {
    ch_free(*text);
    *text = s.n && !memchr(s.p, 0, s.n) ? ch_strndup(s.p, CH_MIN(s.n, most)) : NULL;
}

static void place_learn(struct place *p, const struct ch_json *v) {
    p->known = true;
    if (place_is_thread(v))
        place_put(p->parent, v, "parent_id");
    place_put(p->guild, v, "guild_id");
    place_set(&p->name, ch_json_get_str(v, "name"), 100);
    place_set(&p->topic, ch_json_get_str(v, "topic"), 1024);
}

void ch_discord_forget_place(struct ch_discord *d, const struct ch_json *channel) {
    struct place *p = place_find(d, ch_json_get_str(channel, "id"));
    if (p && place_may_go(p))
        place_free(d, p);
}

const char *ch_discord_guild_of(const struct ch_discord *d, const char *chat) {
    const struct place *p = place_find(d, ch_sv_str(chat));
    return p && p->guild[0] ? p->guild : NULL;
}

static void event_process(struct event *e, const struct place *p);

static void place_is_known(struct ch_discord *d, struct place *p) {
    struct ch_link *k, *next;
    for (k = d->events.head.next; k != &d->events.head; k = next) {
        struct event *e = CH_CONTAINER(k, struct event, link);
        next = k->next;
        if (e->v && !e->claiming && strcmp(e->channel, p->id) == 0)
            event_process(e, p);
    }
}

static void place_look_all(void *tag);

static void place_on_channel(const struct ch_discord_answer *a, void *user) {
    struct place *p = user;
    struct ch_discord *d = p->d;
    p->asked = false;
    if (a->what == CHELA_RECEIPT_UNCERTAIN && ++p->tries < LOOKS) {
        int64_t ms = d->host->back_off(p->tries, d->host->user);
        d->host->timer_start(&d->place_timer, CH_MAX(a->wait_ms, ms), place_look_all, d,
                             d->host->user);
        return;
    }
    place_learn(p, a->what == CHELA_RECEIPT_SENT ? a->json : NULL);
    place_is_known(d, p);
}

static void place_look(struct ch_discord *d, struct place *p) {
    CH_BUF_AUTO path = {0};
    p->asked = true;
    ch_buf_addf(&path, "channels/%s", p->id);
    ch_discord_call(d, &(struct ch_discord_call){.method = "GET", .path = ch_buf_str(&path)},
                    place_on_channel, p);
}

static void place_look_all(void *tag) {
    struct ch_discord *d = tag;
    for (CH_LIST_EACH(k, &d->places)) {
        struct place *p = CH_CONTAINER(k, struct place, link);
        if (!p->known && !p->asked)
            place_look(d, p);
    }
}

/* --- events */

static void event_free(struct event *e) {
    ch_list_del(&e->link);
    e->d->nevents--;
    ch_arena_release(&e->arena);
    ch_free(e);
}

int64_t ch_discord_safe_seq(const struct ch_discord *d) {
    int64_t seq = d->session.seq;
    for (CH_LIST_EACH(k, &d->events)) {
        const struct event *e = CH_CONTAINER(k, struct event, link);
        if (e->seq && e->session == d->session.number)
            seq = CH_MIN(seq, e->seq - 1);
    }
    return seq;
}

/* A copy of the event in its own arena; NULL: it cannot be copied. */
static struct event *event_new(struct ch_discord *d, const struct ch_json *v, const char *channel,
                               int64_t seq) {
    struct event *e = ch_alloc(sizeof(*e));
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    e->d = d;
    e->seq = seq;
    e->session = d->session.number;
    snprintf(e->channel, sizeof(e->channel), "%s", channel);
    ch_jw_value(&w, v);
    ch_list_add(&d->events, &e->link);
    d->nevents++;
    if (ch_json_parse(&e->arena, ch_arena_sv(&e->arena, ch_buf_sv(&text)), CH_JSON_REPLACE, &e->v,
                      NULL, NULL) == 0)
        return e;
    event_free(e);
    return NULL;
}

/* Processes the event when its channel is known. */
static void event_begin(struct event *e, const struct ch_json *channel) {
    struct ch_discord *d = e->d;
    if (!ch_json_get_str(e->v, "guild_id").p) {
        event_process(e, NULL);
        return;
    }
    struct place *p = place_make(d, e->channel);
    if (channel && !p->known) {
        place_learn(p, channel);
        place_is_known(d, p); /* processes e, after the events that wait for the channel */
        return;
    }
    if (p->known) {
        event_process(e, p);
        return;
    }
    if (!p->asked)
        place_look(d, p);
}

/* --- messages */

static bool message_has_role(const struct ch_discord *d, const struct ch_json *v) {
    for (CH_JSON_EACH(role, ch_json_get(v, "mention_roles")))
        for (size_t i = 0; i < d->nroles; i++)
            if (ch_sv_is(ch_json_str(role), d->roles[i]))
                return true;
    return false;
}

static bool message_mentions(const struct ch_discord *d, const struct ch_json *v) {
    for (CH_JSON_EACH(user, ch_json_get(v, "mentions")))
        if (ch_sv_is(ch_json_get_str(user, "id"), d->me))
            return true;
    const struct ch_json *quoted = ch_json_get(v, "referenced_message");
    return ch_sv_is(ch_json_get_str(ch_json_get(quoted, "author"), "id"), d->me) ||
           message_has_role(d, v);
}

/* Default messages and replies; joins, pins and the like are not answered. A message that does not
 * mention the bot is of use only if the service gives its content. */
static bool message_is_taken(const struct ch_discord *d, const struct ch_json *v) {
    const struct ch_json *author = ch_json_get(v, "author");
    int64_t type = ch_json_int(ch_json_get(v, "type"), 0);
    return (type == 0 || type == 19) && !ch_json_bool(ch_json_get(author, "bot"), false) &&
           !ch_json_get_str(v, "webhook_id").p &&
           (d->contents || !ch_json_get_str(v, "guild_id").p || message_mentions(d, v));
}

/* Only a test waits for the bot's own message. */
static void message_is_own(struct ch_discord *d, const struct ch_json *v, const char *channel,
                           struct ch_arena *a) {
    struct chela_channel_message m = {.id = ch_discord_id(v, "id", a),
                                      .chat = channel,
                                      .sender = d->me,
                                      .program = 1,
                                      .text = ch_kit_word(v, "content", a)};
    d->host->message(&m, NULL, NULL, d->host->user);
}

void ch_discord_take_message(struct ch_discord *d, const struct ch_json *v, int64_t seq) {
    CH_ARENA_AUTO a = {0};
    const char *channel = ch_discord_id(v, "channel_id", &a);
    const char *author = ch_discord_id(ch_json_get(v, "author"), "id", &a);
    if (!channel || !author || !ch_discord_id(v, "id", &a))
        return;
    if (strcmp(author, d->me) == 0) {
        message_is_own(d, v, channel, &a);
        return;
    }
    if (!message_is_taken(d, v))
        return;
    struct event *e = event_new(d, v, channel, seq);
    if (e)
        event_begin(e, NULL);
}

static size_t message_files(const struct ch_json *v, struct ch_arena *a, size_t n,
                            struct chela_channel_file out[FILES]) {
    for (CH_JSON_EACH(f, ch_json_get(v, "attachments")))
        if (n < FILES)
            out[n++] = (struct chela_channel_file){.handle = ch_kit_word(f, "url", a),
                                                   .name = ch_kit_word(f, "filename", a),
                                                   .size = ch_json_int(ch_json_get(f, "size"), 0)};
    return n;
}

static const char *message_name(const struct ch_json *v, struct ch_arena *a) {
    const struct ch_json *author = ch_json_get(v, "author");
    const char *nick = ch_kit_word(ch_json_get(v, "member"), "nick", a);
    nick = nick ? nick : ch_kit_word(author, "global_name", a);
    return nick ? nick : ch_kit_word(author, "username", a);
}

static const char *message_text(const struct ch_discord *d, const struct ch_json *v,
                                struct ch_arena *a) {
    CH_BUF_AUTO text = {0};
    ch_discord_read(&text, ch_json_get_str(v, "content"), ch_json_get(v, "mentions"), d->me);
    for (CH_JSON_EACH(s, ch_json_get(v, "message_snapshots"))) {
        const struct ch_json *m = ch_json_get(s, "message");
        ch_buf_addf(&text, "%s[forwarded] ", text.n ? "\n" : "");
        ch_discord_read(&text, ch_json_get_str(m, "content"), ch_json_get(m, "mentions"), NULL);
    }
    return memchr(text.p ? text.p : "", 0, text.n) ? "" : ch_arena_str(a, ch_buf_sv(&text));
}

static void message_id(char out[2 * CH_DISCORD_ID], const struct place *p, const char *id) {
    bool thread = p && p->parent[0];
    snprintf(out, 2 * CH_DISCORD_ID, "%s%s%s", thread ? p->id : "", thread ? "-" : "", id);
}

static const struct chela_beside *message_quoted(const struct ch_discord *d,
                                                 const struct ch_json *v, const struct place *p,
                                                 struct ch_arena *a) {
    const struct ch_json *q = ch_json_get(v, "referenced_message");
    const char *id = ch_discord_id(q, "id", a);
    char shown[2 * CH_DISCORD_ID];
    if (!id)
        return NULL;
    struct chela_beside *b = CH_ARENA_NEW(a, struct chela_beside);
    message_id(shown, p, id);
    *b = (struct chela_beside){ch_arena_str(a, ch_sv_str(shown)), message_name(q, a),
                               message_text(d, q, a)};
    return *b->text ? b : NULL;
}

static void event_on_stored(int rc, const struct chela_error *err, void *tag) {
    struct event *e = tag;
    struct ch_discord *d = e->d;
    bool safe = rc == 0 || rc == CHELA_EEXIST;
    if (!safe) {
        ch_discord_log(d, CHELA_LOG_ERROR, err ? err->message : "an event cannot be stored");
        if (e->session == d->session.number) /* the service repeats it */
            d->session.seq = CH_MIN(d->session.seq, e->seq - 1);
    }
    event_free(e);
    ch_discord_line_stored(d, rc);
}

static void event_message(struct event *e, const struct place *p) {
    struct ch_discord *d = e->d;
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v = e->v, *snapshot = ch_json_at(ch_json_get(v, "message_snapshots"), 0);
    struct chela_channel_file files[FILES];
    const char *id = ch_discord_id(v, "id", &a);
    const char *answered =
        ch_kit_word(ch_json_path(v, "referenced_message", "author", NULL), "id", &a);
    bool direct = !p, thread = p && p->parent[0];
    char shown[2 * CH_DISCORD_ID];
    size_t n = message_files(v, &a, 0, files);
    message_id(shown, p, id);
    struct chela_channel_message m = {
        .id = shown,
        .chat = thread ? p->parent : e->channel,
        .thread = thread ? p->id : NULL,
        .sender = ch_discord_id(ch_json_get(v, "author"), "id", &a),
        .sender_name = message_name(v, &a),
        .chat_name = p ? p->name : NULL,
        .chat_topic = p ? p->topic : NULL,
        .direct = direct,
        .mentioned = message_mentions(d, v),
        .text = message_text(d, v, &a),
        .ts = (strtoll(id, NULL, 10) >> 22) + EPOCH_MS,
        .quoted = message_quoted(d, v, p, &a),
        .answers_us = answered && strcmp(answered, d->me) == 0,
        .handle = direct ? "direct" : NULL,
        .files = files,
        .nfiles = message_files(ch_json_get(snapshot, "message"), &a, n, files)};
    e->v = NULL;
    if (!d->host->message(&m, event_on_stored, e, d->host->user))
        event_free(e);
}

/* The role that a server gives to the bot: people mention it in place of the bot. */
void ch_discord_take_roles(struct ch_discord *d, const struct ch_json *guild) {
    for (CH_JSON_EACH(role, ch_json_get(guild, "roles"))) {
        struct ch_sv id = ch_json_get_str(role, "id");
        bool ours = d->me && ch_sv_is(ch_json_get_str(ch_json_get(role, "tags"), "bot_id"), d->me);
        for (size_t i = 0; i < d->nroles; i++)
            ours &= !ch_sv_is(id, d->roles[i]);
        if (ours && ch_discord_is_id(id) && d->nroles < CH_DISCORD_ROLES)
            snprintf(d->roles[d->nroles++], CH_DISCORD_ID, "%.*s", CH_SV_FMT(id));
    }
}

/* --- presses */

struct press {
    struct ch_link link; /* in the channel's presses */
    struct ch_discord *d;
    char *channel, *message, *token; /* owned; token NULL: cannot be answered */
};

static void press_free(struct press *p) {
    ch_list_del(&p->link);
    ch_free(p->channel);
    ch_free(p->message);
    ch_free(p->token);
    ch_free(p);
}

/* Sends a line that only the person sees. */
static void press_tell(struct press *p, struct ch_sv line) {
    CH_BUF_AUTO path = {0}, body = {0};
    struct ch_jw w = ch_jw(&body);
    if (!p->token || !p->d->app)
        return;
    ch_buf_addf(&path, "webhooks/%s/", p->d->app);
    ch_kit_percent(&path, p->token);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "content", line);
    ch_jw_kint(&w, "flags", 64);
    ch_jw_kraw(&w, "allowed_mentions", CH_SV("{\"parse\":[]}"));
    ch_jw_end(&w, '}');
    ch_discord_call(p->d,
                    &(struct ch_discord_call){
                        .method = "POST", .path = ch_buf_str(&path), .body = ch_buf_sv(&body)},
                    NULL, NULL);
}

/* A line for the person and, if the question is settled, the text that replaces it. */
static void press_on_decided(struct chela_text answer, void *tag) {
    struct press *p = tag;
    struct ch_sv rest = ch_kit_sv(answer), line = ch_sv_split(&rest, '\n');
    if (rest.p)
        ch_discord_settle(p->d, p->channel, p->message, rest);
    else
        press_tell(p, line);
    press_free(p);
}

static void event_press(struct event *e, const struct place *place) {
    struct ch_discord *d = e->d;
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v = e->v, *member = ch_json_get(v, "member");
    const char *user = ch_discord_id(ch_json_get(member ? member : v, "user"), "id", &a);
    const char *message = ch_discord_id(ch_json_get(v, "message"), "id", &a);
    const char *custom = ch_kit_word(ch_json_get(v, "data"), "custom_id", &a);
    const char *token = ch_kit_word(v, "token", &a);
    static const char prefix[] = "chela:";
    char letter =
        custom && strncmp(custom, prefix, 6) == 0 && custom[6] && custom[7] == ':' ? custom[6] : 0;
    const char *word = letter == 'o'   ? "allow-once"
                       : letter == 'a' ? "allow-always"
                       : letter == 'd' ? "deny"
                                       : NULL;
    if (user && message && word) {
        struct press *p = ch_alloc(sizeof(*p));
        bool thread = place && place->parent[0];
        p->d = d;
        p->channel = ch_strdup(e->channel);
        p->message = ch_strdup(message);
        p->token = ch_strdup(token);
        ch_list_add(&d->presses, &p->link);
        d->host->decide(
            &(struct chela_channel_decision){.approval = custom + 8,
                                             .chat = thread ? place->parent : e->channel,
                                             .word = word,
                                             .by = user},
            press_on_decided, p, d->host->user);
    }
    event_free(e);
}

static void event_process(struct event *e, const struct place *p) {
    if (e->press)
        event_press(e, p);
    else
        event_message(e, p);
}

/* The event of a press may name its channel. */
static void press_begin(struct event *e) {
    const struct ch_json *place = ch_json_get(e->v, "channel");
    bool named = ch_sv_is(ch_json_get_str(place, "id"), e->channel) && ch_json_get(place, "type");
    event_begin(e, named ? place : NULL);
}

/* Every gateway of the app gets the press. The one whose acknowledgement comes first has it. */
static void press_on_acknowledged(const struct ch_discord_answer *a, void *user) {
    struct event *e = user;
    e->claiming = false;
    if (ch_json_int(ch_json_get(a->json, "code"), 0) == ACKNOWLEDGED)
        event_free(e);
    else
        press_begin(e);
}

/* Tells the service that the press arrived, which it must know within three seconds. */
static bool press_acknowledge(struct event *e) {
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO path = {0};
    const char *id = ch_discord_id(e->v, "id", &a), *token = ch_kit_word(e->v, "token", &a);
    if (!id || !token)
        return false;
    ch_buf_addf(&path, "interactions/%s/", id);
    ch_kit_percent(&path, token);
    ch_buf_add_str(&path, "/callback");
    e->claiming = true;
    ch_discord_call(e->d,
                    &(struct ch_discord_call){
                        .method = "POST", .path = ch_buf_str(&path), .body = CH_SV("{\"type\":6}")},
                    press_on_acknowledged, e);
    return true;
}

void ch_discord_take_press(struct ch_discord *d, const struct ch_json *v, bool acknowledged) {
    CH_ARENA_AUTO a = {0};
    const char *channel = ch_discord_id(v, "channel_id", &a);
    if (ch_json_int(ch_json_get(v, "type"), 0) != 3 || !channel)
        return;
    struct event *e = event_new(d, v, channel, 0);
    if (!e)
        return;
    e->press = true;
    if (acknowledged || !press_acknowledge(e))
        press_begin(e);
}

/* --- files. Their addresses expire: the service makes new ones. */

struct fetch {
    struct ch_link link; /* in the channel's fetches */
    struct ch_discord *d;
    bool refreshed;
    char *url; /* owned */
    chela_channel_bytes_fn *done;
    void *tag;
};

static void fetch_end(struct fetch *f, struct chela_text bytes, const char *why) {
    chela_channel_bytes_fn *done = f->done;
    void *tag = f->tag;
    ch_list_del(&f->link);
    ch_free(f->url);
    ch_free(f);
    done(bytes, why, tag);
}

static void fetch_go(struct fetch *f, const char *url);

static void fetch_on_fresh(const struct ch_discord_answer *a, void *user) {
    CH_ARENA_AUTO arena = {0};
    const char *url =
        ch_kit_word(ch_json_at(ch_json_get(a->json, "refreshed_urls"), 0), "refreshed", &arena);
    if (url)
        fetch_go(user, url);
    else
        fetch_end(user, (struct chela_text){NULL, 0}, "the service has the file no more");
}

static void fetch_on_bytes(const struct chela_channel_response *r, void *tag) {
    struct fetch *f = tag;
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    bool gone = !r->why && (r->status == 403 || r->status == 404);
    if (!gone || f->refreshed) {
        bool bad = r->why || r->status != 200;
        fetch_end(f, bad ? (struct chela_text){NULL, 0} : r->body,
                  !bad     ? NULL
                  : r->why ? r->why
                           : "the service refuses it");
        return;
    }
    f->refreshed = true;
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "attachment_urls", '[');
    ch_jw_cstr(&w, f->url);
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    ch_discord_call(f->d,
                    &(struct ch_discord_call){.method = "POST",
                                              .path = "attachments/refresh-urls",
                                              .body = ch_buf_sv(&body)},
                    fetch_on_fresh, f);
}

/* Sends no token: the address belongs to another server. */
static void fetch_go(struct fetch *f, const char *url) {
    f->d->host->http(
        &(struct chela_channel_request){
            .method = "GET", .url = url, .most = MOST_FILE, .wait_ms = 120000},
        fetch_on_bytes, f, f->d->host->user);
}

void ch_discord_fetch(void *self, const char *handle, chela_channel_bytes_fn *done, void *tag) {
    struct ch_discord *d = self;
    struct fetch *f = ch_alloc(sizeof(*f));
    f->d = d;
    f->url = ch_strdup(handle);
    f->done = done;
    f->tag = tag;
    ch_list_add(&d->fetches, &f->link);
    fetch_go(f, handle);
}

void ch_discord_events_release(struct ch_discord *d) {
    for (struct event *e; (e = CH_LIST_FIRST(&d->events, struct event, link));)
        event_free(e);
    for (struct place *p; (p = CH_LIST_FIRST(&d->places, struct place, link));)
        place_free(d, p);
    for (struct press *p; (p = CH_LIST_FIRST(&d->presses, struct press, link));)
        press_free(p);
    for (struct fetch *f; (f = CH_LIST_FIRST(&d->fetches, struct fetch, link));) {
        ch_list_del(&f->link);
        ch_free(f->url);
        ch_free(f);
    }
}
