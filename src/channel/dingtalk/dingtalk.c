/* dingtalk.c -- the DingTalk channel.
 *
 *   gateway/connections/open --endpoint, ticket--> socket --> SYSTEM, CALLBACK frames
 *      ^-- a while -- failed, lost, `disconnect` ----'
 *
 * A ticket opens one connection. If an app has several connections, each frame arrives on
 * one of them. A callback is answered after its message was stored; the service repeats
 * callbacks without an answer for about a minute. dingtalk.h lists the files. */
#include "channel/dingtalk/dingtalk.h"

#include <stdio.h>

#include "channel/dingtalk/dingtalk_api.h"
#include "channel/dingtalk/dingtalk_message.h"
#include "channel/dingtalk/dingtalk_post.h"
#include "channel/kit/markdown.h"

#define API "https://api.dingtalk.com"
#define OAPI "https://oapi.dingtalk.com"
#define MESSAGES "/v1.0/im/bot/messages/get"
#define CARDS "/v1.0/card/instances/callback"
#define MOST_FILE (20 * 1024 * 1024)

/* --- frames */

struct dingtalk_ack {
    struct ch_kit_job job; /* in the channel's acks */
    struct ch_dingtalk *d;
    unsigned connection;
    char *message; /* owned: id of the frame */
};

static void ack_free(struct ch_kit_job *job) {
    struct dingtalk_ack *a = CH_CONTAINER(job, struct dingtalk_ack, job);
    ch_free(a->message);
    ch_free(a);
}

/* headers NULL: uses the headers of an answer to the frame with this id. */
static void frame_answer(struct ch_dingtalk *d, const struct ch_json *headers, struct ch_sv id,
                         struct ch_sv data) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "code", 200);
    ch_jw_kcstr(&w, "message", "OK");
    ch_jw_key(&w, "headers");
    if (headers) {
        ch_jw_value(&w, headers);
    } else {
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "contentType", "application/json");
        ch_jw_kstr(&w, "messageId", id);
        ch_jw_end(&w, '}');
    }
    ch_jw_kstr(&w, "data", data);
    ch_jw_end(&w, '}');
    ch_redial_send(&d->dial, ch_buf_sv(&out));
}

static void frame_on_stored(int rc, const struct chela_error *err, void *tag) {
    struct dingtalk_ack *a = tag;
    struct ch_dingtalk *d = a->d;
    if (rc == 0)
        ch_redial_works(&d->dial);
    if (rc < 0 && rc != CHELA_EEXIST)
        d->host->log(CHELA_LOG_ERROR, err ? err->message : "a message cannot be stored",
                     d->host->user);
    else if (a->connection == d->dial.number)
        frame_answer(d, NULL, ch_sv_str(a->message), CH_SV("{\"response\":{}}"));
    ch_kit_job_end(&a->job);
}

static struct dingtalk_ack *ack_new(struct ch_dingtalk *d, struct ch_sv id) {
    struct dingtalk_ack *a = ch_alloc(sizeof(*a));
    a->d = d;
    a->connection = d->dial.number;
    a->message = ch_strndup(id.p, id.n);
    ch_kit_job_begin(&d->acks, &a->job, ack_free);
    return a;
}

static void frame_message(struct ch_dingtalk *d, const struct ch_json *data, struct ch_sv id) {
    CH_ARENA_AUTO arena = {0};
    struct chela_channel_message m;
    struct dingtalk_ack *a = ack_new(d, id);
    bool read = ch_dingtalk_read(data, &arena, &m);
    if (read && m.direct)
        ch_dingtalk_room(d, m.chat, ch_json_get_str(data, "conversationId"));
    if (!read || !d->host->message(&m, frame_on_stored, a, d->host->user))
        frame_on_stored(CHELA_EEXIST, NULL, a); /* nothing to store */
}

static const char *frame_decision(struct ch_sv action) {
    static const char *const words[] = {"allow-once", "allow-always", "deny"};
    for (size_t i = 0; i < CH_LEN(words); i++)
        if (ch_sv_is(action, words[i]))
            return words[i];
    return NULL;
}

/* `content` is a text of JSON, too. */
static void frame_press(struct ch_dingtalk *d, const struct ch_json *data, struct ch_sv id) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *content = ch_json_get(data, "content"), *v = content;
    struct ch_sv text = ch_json_str(content);
    struct dingtalk_ack *ack = ack_new(d, id);
    if (text.n && ch_json_parse(&a, text, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        v = NULL;
    const struct ch_json *private = ch_json_get(v, "cardPrivateData");
    struct ch_sv action = ch_json_str(ch_json_at(ch_json_get(private, "actionIds"), 0));
    const char *track = ch_kit_word(data, "outTrackId", &a);
    const char *user = ch_kit_word(data, "userId", &a), *word = frame_decision(action);
    if (!track || !user || !word ||
        !ch_dingtalk_press(d, track, user, word, frame_on_stored, ack))
        frame_on_stored(CHELA_EEXIST, NULL, ack); /* nothing to store, or not now */
}

static void frame_callback(struct ch_dingtalk *d, struct ch_sv topic, struct ch_sv id,
                           struct ch_sv text) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *data;
    if (ch_json_parse(&a, text, CH_JSON_REPLACE, &data, NULL, NULL) < 0) {
        d->host->log(CHELA_LOG_WARN, "a callback has data that is not JSON", d->host->user);
        frame_answer(d, NULL, id, CH_SV("{\"response\":{}}"));
    } else if (ch_sv_is(topic, MESSAGES)) {
        frame_message(d, data, id);
    } else if (ch_sv_is(topic, CARDS)) {
        frame_press(d, data, id);
    } else {
        frame_answer(d, NULL, id, CH_SV("{\"response\":{}}"));
    }
}

static void dingtalk_on_frame(const struct ch_json *v, void *user) {
    struct ch_dingtalk *d = user;
    const struct ch_json *headers = ch_json_get(v, "headers");
    struct ch_sv type = ch_json_get_str(v, "type"), topic = ch_json_get_str(headers, "topic");
    struct ch_sv id = ch_json_get_str(headers, "messageId"), data = ch_json_get_str(v, "data");
    d->host->seen(d->host->user);
    if (ch_sv_is(type, "SYSTEM") && ch_sv_is(topic, "ping"))
        frame_answer(d, headers, id, data);
    else if (ch_sv_is(type, "SYSTEM") && ch_sv_is(topic, "disconnect"))
        ch_redial_renew(&d->dial);
    else if (ch_sv_is(type, "EVENT") && id.n)
        frame_answer(d, NULL, id, CH_SV("{\"status\":\"SUCCESS\"}"));
    else if (ch_sv_is(type, "CALLBACK") && id.n && id.n <= 256)
        frame_callback(d, topic, id, data);
}

/* --- the connection */

static void dingtalk_on_open(void *user) {
    struct ch_dingtalk *d = user;
    ch_redial_ready(&d->dial);
}

static void dingtalk_write_open(struct ch_jw *w, const char *id, const char *secret) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "clientId", id);
    ch_jw_kcstr(w, "clientSecret", secret);
    ch_jw_kcstr(w, "ua", "chela/" CHELA_VERSION);
    ch_jw_kraw(w, "subscriptions",
               CH_SV("[{\"type\":\"CALLBACK\",\"topic\":\"" MESSAGES "\"},"
                     "{\"type\":\"CALLBACK\",\"topic\":\"" CARDS "\"}]"));
    ch_jw_end(w, '}');
}

static void dingtalk_on_ticket(const struct ch_dingtalk_answer *a, void *user) {
    struct ch_dingtalk *d = user;
    struct ch_sv endpoint = ch_json_get_str(a->json, "endpoint"),
                 ticket = ch_json_get_str(a->json, "ticket");
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO url = {0};
    if (d->dial.left)
        return;
    if (a->what != CHELA_RECEIPT_SENT || !endpoint.n || !ticket.n ||
        memchr(endpoint.p, 0, endpoint.n)) {
        ch_redial_lost(&d->dial, a->why ? a->why : "the service gave no address", a->wait_ms);
        return;
    }
    ch_buf_addf(&url, "%.*s?ticket=", CH_SV_FMT(endpoint));
    ch_kit_percent(&url, ch_arena_str(&arena, ticket));
    ch_redial_open(&d->dial, ch_buf_str(&url));
}

static void dingtalk_connect(void *user) {
    struct ch_dingtalk *d = user;
    CH_BUF_AUTO url = {0}, body = {0};
    struct ch_jw w = ch_jw(&body);
    dingtalk_write_open(&w, d->id, d->secret);
    ch_buf_addf(&url, "%s/v1.0/gateway/connections/open", d->api);
    ch_dingtalk_post_to(d, ch_buf_str(&url), ch_buf_sv(&body), dingtalk_on_ticket, d);
}

/* --- files in */

struct dingtalk_fetch {
    struct ch_kit_job job; /* in the channel's jobs */
    struct ch_dingtalk *d;
    chela_channel_bytes_fn *done;
    void *tag;
};

static void fetch_free(struct ch_kit_job *job) {
    ch_free(CH_CONTAINER(job, struct dingtalk_fetch, job));
}

static void fetch_end(struct dingtalk_fetch *f, struct chela_text bytes, const char *why) {
    chela_channel_bytes_fn *done = f->done;
    void *tag = f->tag;
    ch_kit_job_end(&f->job);
    done(bytes, why, tag);
}

static void fetch_on_bytes(const struct chela_channel_response *r, void *tag) {
    bool got = !r->why && r->status == 200;
    fetch_end(tag, got ? r->body : (struct chela_text){NULL, 0},
              got      ? NULL
              : r->why ? r->why
                       : "the service refuses it");
}

static void fetch_on_address(const struct ch_dingtalk_answer *a, void *user) {
    struct dingtalk_fetch *f = user;
    CH_ARENA_AUTO arena = {0};
    const char *url = ch_kit_word(a->json, "downloadUrl", &arena);
    if (a->what != CHELA_RECEIPT_SENT || !ch_kit_is_token(url, "")) {
        fetch_end(f, (struct chela_text){NULL, 0}, a->why ? a->why : "the service gave no address");
        return;
    }
    f->d->host->http(
        &(struct chela_channel_request){
            .method = "GET", .url = url, .most = MOST_FILE, .wait_ms = 120000},
        fetch_on_bytes, f, f->d->host->user);
}

static void dingtalk_fetch(void *self, const char *handle, chela_channel_bytes_fn *done,
                           void *tag) {
    struct ch_dingtalk *d = self;
    struct dingtalk_fetch *f = ch_alloc(sizeof(*f));
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    f->d = d;
    f->done = done;
    f->tag = tag;
    ch_kit_job_begin(&d->jobs, &f->job, fetch_free);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "downloadCode", handle);
    ch_jw_kcstr(&w, "robotCode", d->robot);
    ch_jw_end(&w, '}');
    ch_dingtalk_call(d, "POST", "/v1.0/robot/messageFiles/download", ch_buf_sv(&body),
                     fetch_on_address, f);
}

/* --- set-up */

static const struct ch_redial_ops dingtalk_dial = {.connect = dingtalk_connect,
                                                   .open = dingtalk_on_open,
                                                   .message = dingtalk_on_frame,
                                                   .beat_ms = 15000,
                                                   .silent_ms = 60000};

static const char *dingtalk_option(const struct chela_channel_opts *o, const char *name,
                                   const char *otherwise) {
    const char *value = ch_kit_setting(o, name);
    return value && *value ? value : otherwise;
}

static int dingtalk_check(const struct chela_channel_opts *o, struct chela_error *err) {
    CH_AUTOFREE char *api = ch_kit_base(o->domain ? o->domain : API);
    CH_AUTOFREE char *oapi = ch_kit_base(dingtalk_option(o, "oapiUrl", OAPI));
    if (!ch_kit_is_token(o->account, ""))
        return ch_kit_refuse(err, "dingtalk", "the client id of the app (clientId) is missing");
    if (!ch_kit_is_token(o->secret, ""))
        return ch_kit_refuse(err, "dingtalk",
                             "the client secret of the app (clientSecretEnv) is missing");
    if (!api || !oapi)
        return ch_kit_refuse(err, "dingtalk", "apiUrl and oapiUrl are https URLs");
    if (o->streaming && !dingtalk_option(o, "cardTemplate", NULL))
        return ch_kit_refuse(err, "dingtalk",
                             "streaming needs the template of an AI card (cardTemplate): messages "
                             "of this service cannot be changed");
    return 0;
}

static int dingtalk_open(const struct chela_channel_host *host, const struct chela_channel_opts *o,
                         void **out, struct chela_error *err) {
    int rc = dingtalk_check(o, err);
    if (rc < 0)
        return rc;
    struct ch_dingtalk *d = ch_alloc(sizeof(*d));
    struct ch_list *lists[] = {&d->jobs,    &d->acks,  &d->presses, &d->late,
                               &d->rooms,   &d->waiting, &d->asked, &d->paced};
    for (size_t i = 0; i < CH_LEN(lists); i++)
        ch_list_init(lists[i]);
    d->host = host;
    d->api = ch_kit_base(o->domain ? o->domain : API);
    d->oapi = ch_kit_base(dingtalk_option(o, "oapiUrl", OAPI));
    d->id = ch_strdup(o->account);
    d->secret = ch_strdup(o->secret);
    d->robot = ch_strdup(dingtalk_option(o, "robotCode", o->account));
    d->card = ch_strdup(dingtalk_option(o, "cardTemplate", NULL));
    d->variable = ch_strdup(dingtalk_option(o, "cardVariable", "content"));
    d->approval = ch_strdup(dingtalk_option(o, "approvalTemplate", NULL));
    ch_redial_init(&d->dial, host, &dingtalk_dial, d);
    ch_redial_start(&d->dial, 0);
    *out = d;
    return 0;
}

static int dingtalk_leave(void *self) {
    struct ch_dingtalk *d = self;
    ch_redial_leave(&d->dial);
    if (d->dial.socket && ch_list_empty(&d->acks))
        ch_redial_hang_up(&d->dial);
    return ch_list_empty(&d->acks) && ch_list_empty(&d->presses);
}

static void dingtalk_close(void *self) {
    struct ch_dingtalk *d = self;
    char *texts[] = {d->api,  d->oapi,     d->id,       d->secret, d->robot,
                     d->card, d->variable, d->approval, d->token};
    ch_redial_leave(&d->dial);
    ch_redial_hang_up(&d->dial);
    ch_kit_jobs_release(&d->acks);
    ch_kit_jobs_release(&d->presses);
    ch_kit_jobs_release(&d->late);
    ch_kit_jobs_release(&d->jobs);
    ch_dingtalk_posts_release(d);
    for (size_t i = 0; i < CH_LEN(texts); i++)
        ch_free(texts[i]);
    ch_free(d);
}

/* --- doctor */

struct dingtalk_check_up {
    const struct chela_channel_survey *told;
    const char *what;
};

static void check_on_response(const struct chela_channel_response *r, void *tag) {
    const struct dingtalk_check_up *c = tag;
    CH_ARENA_AUTO arena = {0};
    struct ch_dingtalk_answer a;
    char line[400];
    ch_dingtalk_judge(r, &arena, &a);
    bool refused = a.what == CHELA_RECEIPT_REFUSED || r->status == 401;
    snprintf(line, sizeof(line), "%s%s%s", c->what,
             a.what == CHELA_RECEIPT_SENT ? " is accepted"
             : refused                    ? " is refused: "
                                          : " cannot be checked: ",
             a.what == CHELA_RECEIPT_SENT ? "" : a.why);
    c->told->tell(a.what == CHELA_RECEIPT_SENT ? "ok"
                  : refused                    ? "fail"
                                               : "warn",
                  line,
                  refused ? "compare clientId and the client secret with the app's page" : NULL,
                  c->told->user);
}

static void dingtalk_survey(chela_runtime *rt, const struct chela_channel_opts *o,
                            const struct chela_channel_survey *told) {
    static const char *const headers[] = {"Content-Type", "application/json", "Accept",
                                          "application/json", NULL};
    CH_AUTOFREE char *api = ch_kit_base(o->domain ? o->domain : API);
    struct dingtalk_check_up c = {told, "the client secret"};
    struct chela_error err = {0};
    CH_BUF_AUTO url = {0}, body = {0};
    struct ch_jw w = ch_jw(&body);
    (void)rt;
    if (dingtalk_check(o, &err) < 0) {
        told->tell("fail", err.message, NULL, told->user);
        return;
    }
    ch_buf_addf(&url, "%s/v1.0/oauth2/accessToken", api);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "appKey", o->account);
    ch_jw_kcstr(&w, "appSecret", o->secret);
    ch_jw_end(&w, '}');
    struct chela_channel_request r = {
        .method = "POST", .url = ch_buf_str(&url), .headers = headers, .body = body.p, .n = body.n};
    told->http(&r, check_on_response, &c, told->user);
    ch_buf_clear(&url);
    ch_buf_clear(&body);
    w = ch_jw(&body);
    ch_buf_addf(&url, "%s/v1.0/gateway/connections/open", api);
    dingtalk_write_open(&w, o->account, o->secret);
    r.url = ch_buf_str(&url);
    r.body = body.p;
    r.n = body.n;
    c.what = "a connection in Stream mode";
    told->http(&r, check_on_response, &c, told->user);
    if (!dingtalk_option(o, "approvalTemplate", NULL))
        told->tell("ok", "approvals are decided in words: no approvalTemplate is set", NULL,
                   told->user);
}

/* --- the table */

static void dingtalk_format(const char *text, size_t n, chela_channel_write_fn *write, void *out) {
    CH_BUF_AUTO buf = {0}, links = {0};
    ch_kit_images_as_links(&links, ch_sv(text, n), false);
    ch_kit_format(&buf, ch_buf_sv(&links));
    write(ch_buf_str(&buf), buf.n, out);
}

static const struct chela_channel_option dingtalk_options[] = {
    {.name = "clientSecret",
     .kind = CHELA_CHANNEL_SECRET,
     .member = CHELA_CHANNEL_KEY,
     .enables = 1,
     .help = "the client secret (AppSecret) of the app; setting it enables the channel"},
    {.name = "clientId",
     .member = CHELA_CHANNEL_ACCOUNT,
     .help = "the client id (AppKey) of the app"},
    {.name = "robotCode", .help = "the code of the robot, if it is not the client id"},
    {.name = "cardTemplate",
     .help = "id of an AI card template: answers are cards, which appear once and can grow"},
    {.name = "cardVariable",
     .otherwise = "content",
     .help = "the variable of cardTemplate that holds the answer"},
    {.name = "approvalTemplate",
     .help = "id of a card template with the buttons of an approval; without it people decide in "
             "words"},
    {.name = "streaming",
     .kind = CHELA_CHANNEL_BOOL,
     .member = CHELA_CHANNEL_STREAMING,
     .otherwise = "false",
     .help = "show an answer while the model writes it; needs cardTemplate"},
    {.name = "apiUrl",
     .kind = CHELA_CHANNEL_URL,
     .member = CHELA_CHANNEL_DOMAIN,
     .otherwise = API,
     .help = "URL of the API"},
    {.name = "oapiUrl",
     .kind = CHELA_CHANNEL_URL,
     .otherwise = OAPI,
     .help = "URL of the older API, for uploads"},
    {.name = NULL},
};

static const struct chela_channel_ops dingtalk_ops = {
    .name = "dingtalk",
    .title = "DingTalk",
    .docs = "dingtalk.md",
    .setup = "Create an internal app at https://open-dev.dingtalk.com. Add the capability Robot, "
             "in Stream mode.\n"
             "Permissions: qyapi_robot_sendmsg; for cards also Card.Instance.Write and "
             "Card.Streaming.Write.\n"
             "Credentials: copy the Client ID and the Client Secret. Publish a version of the app.",
    .options = dingtalk_options,
    .features = CHELA_CHANNEL_MENTIONS_ONLY | CHELA_CHANNEL_BUTTONS,
    .most_text = 3800,
    .unit = CHELA_CHANNEL_CHARACTERS,
    .edit_ms = 1500,
    .most_question = CH_DINGTALK_QUESTION,
    .open = dingtalk_open,
    .leave = dingtalk_leave,
    .close = dingtalk_close,
    .fetch = dingtalk_fetch,
    .post = ch_dingtalk_post,
    .format = dingtalk_format,
    .working = ch_dingtalk_working,
    .react = ch_dingtalk_react,
    .unsend = ch_dingtalk_unsend,
    .mute = ch_dingtalk_mute,
    .remind = ch_dingtalk_remind,
    .reminded = ch_dingtalk_reminded,
    .survey = dingtalk_survey,
};

CHELA_API const struct chela_module chela_module;
const struct chela_module chela_module = {CHELA_MODULE_ABI, "channel-dingtalk", "channel",
                                          &dingtalk_ops};
