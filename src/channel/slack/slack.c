/* slack.c -- the Slack channel.
 *
 *   auth.test --who we are--> apps.connections.open --address--> socket --hello--> events
 *      ^-- a while -- failed ------'        ^-- a while -- lost, refreshed ----------'
 *
 * In Socket Mode each connection has its own address. An event goes to any one of an app's
 * connections, so an old connection is closed before the next one is opened. An event is
 * acknowledged after it was stored; the service repeats events without an acknowledgement.
 * In webhook mode the events are signed requests, and the status of the response
 * acknowledges them. slack.h lists the files. */
#include "channel/slack/slack.h"

#include "channel/slack/slack_event.h"
#include "channel/slack/slack_name.h"
#include "channel/slack/slack_post.h"
#include "channel/slack/slack_text.h"

#define API "https://slack.com/api/"
#define WINDOW_S 300    /* age of a signed request */

static void slack_log(const struct ch_slack *s, enum chela_log_level level, const char *line) {
    s->host->log(level, line, s->host->user);
}

/* --- Socket Mode */

/* An acknowledgement. It must be sent on the connection that its envelope came from. */
struct slack_ack {
    struct ch_link link; /* in the channel's acks */
    struct ch_slack *s;
    unsigned connection;
    char *envelope;   /* owned */
    void *respond_to; /* instead: the callback to respond to; NULL: none */
};

static void slack_ack_send(struct ch_slack *s, struct ch_sv envelope) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "envelope_id", envelope);
    ch_jw_end(&w, '}');
    ch_redial_send(&s->dial, ch_buf_sv(&out));
}

static void slack_ack_free(struct slack_ack *a) {
    ch_list_del(&a->link);
    ch_free(a->envelope);
    ch_free(a);
}

static void slack_respond(struct ch_slack *s, void *to, int status) {
    s->host->respond(to, status, "text/plain", (struct chela_text){"", 0}, s->host->user);
}

static void slack_on_stored(int rc, const struct chela_error *err, void *tag) {
    struct slack_ack *a = tag;
    struct ch_slack *s = a->s;
    bool safe = rc == 0 || rc == CHELA_EEXIST;
    if (rc == 0)
        ch_redial_works(&s->dial);
    if (!safe)
        slack_log(s, CHELA_LOG_ERROR, err ? err->message : "an event cannot be stored");
    if (a->respond_to)
        slack_respond(s, a->respond_to, safe ? 200 : 503);
    else if (safe && a->connection == s->dial.number)
        slack_ack_send(s, ch_sv_str(a->envelope));
    slack_ack_free(a);
}

static struct slack_ack *slack_ack_new(struct ch_slack *s, struct ch_sv envelope, void *to) {
    struct slack_ack *a = ch_alloc(sizeof(*a));
    a->s = s;
    a->connection = s->dial.number;
    a->envelope = ch_strndup(envelope.p, envelope.n);
    a->respond_to = to;
    ch_list_add(&s->acks, &a->link);
    return a;
}

static void slack_on_envelope(struct ch_slack *s, const struct ch_json *v) {
    struct ch_sv id = ch_json_get_str(v, "envelope_id"), type = ch_json_get_str(v, "type");
    const struct ch_json *payload = ch_json_get(v, "payload");
    if (!id.n || id.n > 256)
        return;
    struct slack_ack *a = slack_ack_new(s, id, NULL);
    int taken = 0;
    if (ch_sv_is(type, "events_api"))
        taken = ch_slack_take_event(s, ch_json_get(payload, "event"), slack_on_stored, a);
    else if (ch_sv_is(type, "interactive"))
        taken = ch_slack_take_press(s, payload, slack_on_stored, a);
    if (!taken)
        slack_on_stored(CHELA_EEXIST, NULL, a); /* nothing to store */
}

static void slack_on_hello(struct ch_slack *s, const struct ch_json *v) {
    int64_t others = ch_json_int(ch_json_get(v, "num_connections"), 1) - 1;
    ch_redial_ready(&s->dial);
    if (others > 0)
        slack_log(s, CHELA_LOG_WARN,
                  "the app has other connections: each event goes to one of them");
}

static void slack_on_frame(const struct ch_json *v, void *user) {
    struct ch_slack *s = user;
    struct ch_sv type = ch_json_get_str(v, "type");
    if (ch_sv_is(type, "hello")) {
        slack_on_hello(s, v);
    } else if (ch_sv_is(type, "disconnect")) {
        bool off = ch_sv_is(ch_json_get_str(v, "reason"), "link_disabled");
        ch_redial_lost(&s->dial,
                       off ? "Socket Mode is switched off for the app"
                           : "the service asked for a new connection",
                       0);
    } else {
        slack_on_envelope(s, v);
    }
}

static void slack_on_open(void *user) {
    (void)user; /* the service says hello */
}

static void slack_on_address(const struct ch_slack_answer *a, void *user) {
    struct ch_slack *s = user;
    CH_ARENA_AUTO arena = {0};
    struct ch_sv url = ch_json_get_str(a->json, "url");
    if (s->dial.left)
        return;
    if (a->what != CHELA_RECEIPT_SENT || !url.n)
        ch_redial_lost(&s->dial, a->why ? a->why : "the service gave no address", a->wait_ms);
    else
        ch_redial_open(&s->dial, ch_arena_str(&arena, url));
}

static void slack_connect(void *user);

static void slack_on_identity(const struct ch_slack_answer *a, void *user) {
    struct ch_slack *s = user;
    struct ch_sv me = ch_json_get_str(a->json, "user_id");
    if (s->dial.left)
        return;
    if (a->what != CHELA_RECEIPT_SENT || !me.n) {
        ch_redial_lost(&s->dial, a->why ? a->why : "the service did not return the id of the bot",
                       a->wait_ms);
        return;
    }
    s->me = ch_strndup(me.p, me.n);
    ch_redial_works(&s->dial);
    s->host->trouble(NULL, s->host->user);
    if (s->app_bearer)
        slack_connect(s);
}

static void slack_connect(void *user) {
    struct ch_slack *s = user;
    if (!s->me)
        ch_slack_call(s, "auth.test", CH_SV("{}"), slack_on_identity, s);
    else
        ch_slack_call_as(s, "apps.connections.open", s->app_bearer,
                         "application/x-www-form-urlencoded", CH_SV(""), slack_on_address, s);
}

static const struct ch_redial_ops slack_dial = {.connect = slack_connect,
                                                .open = slack_on_open,
                                                .message = slack_on_frame,
                                                .beat_ms = 15000,
                                                .silent_ms = 45000};

/* --- Events API */

/* Whether the request is signed by the service, and recent. */
static bool slack_is_genuine(const struct ch_slack *s, const struct chela_channel_callback *in) {
    struct ch_sv stamp = ch_kit_sv(in->header(in->request, "x-slack-request-timestamp"));
    struct ch_sv shown = ch_kit_sv(in->header(in->request, "x-slack-signature"));
    unsigned char digest[32];
    int64_t then = 0;
    CH_BUF_AUTO base = {0}, want = {0};
    for (size_t i = 0; i < stamp.n; i++) {
        if (stamp.p[i] < '0' || stamp.p[i] > '9' || i > 11)
            return false;
        then = 10 * then + (stamp.p[i] - '0');
    }
    if (!stamp.n || then < in->now / 1000 - WINDOW_S || then > in->now / 1000 + WINDOW_S)
        return false;
    ch_buf_addf(&base, "v0:%.*s:", CH_SV_FMT(stamp));
    ch_buf_add(&base, in->body.p, in->body.n);
    s->host->hmac_sha256((struct chela_text){s->signing, strlen(s->signing)},
                         (struct chela_text){base.p, base.n}, digest, s->host->user);
    ch_buf_add_str(&want, "v0=");
    for (size_t i = 0; i < sizeof(digest); i++)
        ch_buf_addf(&want, "%02x", digest[i]);
    return s->host->same((struct chela_text){shown.p, shown.n}, (struct chela_text){want.p, want.n},
                         s->host->user);
}

/* The JSON of a body: the body itself, or the field `payload` of a form. */
static struct ch_sv slack_payload(struct ch_sv body, struct ch_arena *a) {
    static const char field[] = "payload=";
    if (!ch_sv_starts(body, field))
        return body;
    struct ch_sv in = ch_sv(body.p + strlen(field), body.n - strlen(field));
    in = ch_sv_split(&in, '&');
    char *out = ch_arena_bytes(a, in.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < in.n; i++) {
        int high = in.p[i] == '%' && i + 2 < in.n ? ch_hex_digit(in.p[i + 1]) : -1;
        int low = high >= 0 ? ch_hex_digit(in.p[i + 2]) : -1;
        out[n++] = low >= 0 ? (char)(high << 4 | low) : in.p[i] == '+' ? ' ' : in.p[i];
        i += low >= 0 ? 2 : 0;
    }
    return ch_sv(out, n);
}

static void slack_take_callback(struct ch_slack *s, const struct chela_channel_callback *in,
                                const struct ch_json *v, chela_channel_arena *a,
                                struct chela_channel_verdict *out) {
    struct ch_sv type = ch_json_get_str(v, "type"), challenge = ch_json_get_str(v, "challenge");
    out->status = 200;
    out->type = "text/plain";
    if (ch_sv_is(type, "url_verification") && challenge.p) {
        char *copy = s->host->alloc(a, challenge.n + 1, s->host->user);
        memcpy(copy, challenge.p, challenge.n);
        out->answer = (struct chela_text){copy, challenge.n};
    } else if (ch_sv_is(type, "event_callback") && !s->me) {
        out->status = 503; /* the service repeats it */
        out->why = "the channel is not ready";
    } else if (ch_sv_is(type, "event_callback") || ch_sv_is(type, "block_actions")) {
        struct slack_ack *ack = slack_ack_new(s, CH_SV("-"), in->respond_to);
        out->later = ch_sv_is(type, "block_actions")
                         ? ch_slack_take_press(s, v, slack_on_stored, ack)
                         : ch_slack_take_event(s, ch_json_get(v, "event"), slack_on_stored, ack);
        if (!out->later)
            slack_ack_free(ack);
    }
}

static void slack_receive(void *self, const struct chela_channel_callback *in,
                          chela_channel_arena *a, struct chela_channel_verdict *out) {
    struct ch_slack *s = self;
    CH_ARENA_AUTO own = {0};
    const struct ch_json *v;
    *out = (struct chela_channel_verdict){.status = 401,
                                          .why = "the signature is not that of the service"};
    if (!s->signing) {
        out->why = "events come over Socket Mode";
        return;
    }
    if (strcmp(in->method, "POST") != 0) {
        out->status = 405;
        out->why = "method not allowed";
        return;
    }
    if (!slack_is_genuine(s, in))
        return;
    out->status = 400;
    out->why = "the body is not a JSON object";
    struct ch_sv text = slack_payload(ch_kit_sv(in->body), &own);
    if (ch_json_parse(&own, text, CH_JSON_REPLACE, &v, NULL, NULL) == 0 &&
        ch_json_is(v, CH_JSON_OBJECT))
        slack_take_callback(s, in, v, a, out);
}

/* --- set-up */

static bool slack_by_socket(const struct chela_channel_opts *o) {
    const char *mode = ch_kit_setting(o, "mode");
    return !mode || strcmp(mode, "socket") == 0;
}

static char *slack_bearer(const char *token) {
    CH_BUF_AUTO out = {0};
    ch_buf_addf(&out, "Bearer %s", token);
    return ch_buf_take(&out);
}

static int slack_check(const struct chela_channel_opts *o, struct chela_error *err) {
    const char *api = o->domain ? o->domain : API;
    if (!ch_kit_is_token(o->secret, "xoxb-"))
        return ch_kit_refuse(err, "slack",
                             "the bot token (botTokenEnv) is missing, or does not begin with "
                             "xoxb-");
    if (slack_by_socket(o) && !ch_kit_is_token(ch_kit_setting(o, "appToken"), "xapp-"))
        return ch_kit_refuse(err, "slack",
                             "Socket Mode needs the app-level token (appTokenEnv), which "
                             "begins with xapp-");
    if (!slack_by_socket(o) && !(o->token && *o->token))
        return ch_kit_refuse(err, "slack",
                             "webhook mode needs the signing secret (signingSecretEnv): "
                             "without it anybody could pass for the service");
    if (!ch_kit_is_safe_url(api))
        return ch_kit_refuse(err, "slack", "apiUrl is an https URL");
    return 0;
}

static int slack_open(const struct chela_channel_host *host, const struct chela_channel_opts *o,
                      void **out, struct chela_error *err) {
    const char *api = o->domain ? o->domain : API;
    const char *replies = ch_kit_setting(o, "replies");
    CH_BUF_AUTO base = {0};
    int rc = slack_check(o, err);
    if (rc < 0)
        return rc;
    struct ch_slack *s = ch_alloc(sizeof(*s));
    struct ch_list *lists[] = {&s->acks,    &s->posts,   &s->sending, &s->acts,
                               &s->presses, &s->fetches, &s->names};
    for (size_t i = 0; i < CH_LEN(lists); i++)
        ch_list_init(lists[i]);
    ch_buf_addf(&base, "%s%s", api, api[strlen(api) - 1] == '/' ? "" : "/");
    s->host = host;
    s->api = ch_buf_take(&base);
    s->bearer = slack_bearer(o->secret);
    s->in_threads = !replies || strcmp(replies, "thread") == 0;
    if (slack_by_socket(o))
        s->app_bearer = slack_bearer(ch_kit_setting(o, "appToken"));
    else
        s->signing = ch_strdup(o->token);
    ch_redial_init(&s->dial, host, &slack_dial, s);
    ch_redial_start(&s->dial, 0);
    *out = s;
    return 0;
}

static int slack_leave(void *self) {
    struct ch_slack *s = self;
    ch_redial_leave(&s->dial);
    if (s->dial.socket && ch_list_empty(&s->acks))
        ch_redial_hang_up(&s->dial);
    return ch_list_empty(&s->acks) && ch_list_empty(&s->presses);
}

static void slack_close(void *self) {
    struct ch_slack *s = self;
    ch_redial_leave(&s->dial);
    ch_redial_hang_up(&s->dial);
    for (struct slack_ack *a; (a = CH_LIST_FIRST(&s->acks, struct slack_ack, link));)
        slack_ack_free(a);
    ch_slack_events_release(s);
    ch_slack_names_release(s);
    ch_slack_posts_release(s);
    ch_free(s->api);
    ch_free(s->bearer);
    ch_free(s->app_bearer);
    ch_free(s->signing);
    ch_free(s->me);
    ch_free(s);
}

/* --- doctor */

struct slack_check_up {
    const struct chela_channel_survey *told;
    const char *what;
};

static void slack_on_checked(const struct chela_channel_response *r, void *tag) {
    const struct slack_check_up *c = tag;
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v = NULL;
    char line[300];
    bool read =
        !r->why && ch_json_parse(&a, ch_kit_sv(r->body), CH_JSON_REPLACE, &v, NULL, NULL) == 0;
    if (!read) {
        snprintf(line, sizeof(line), "the service cannot be asked: %s",
                 r->why ? r->why : "the answer is not JSON");
        c->told->tell("warn", line, NULL, c->told->user);
    } else if (!ch_json_bool(ch_json_get(v, "ok"), false)) {
        struct ch_sv error = ch_json_get_str(v, "error");
        snprintf(line, sizeof(line), "the %s is refused: %.*s", c->what, CH_SV_FMT(error));
        c->told->tell("fail", line, "compare it with the pages of the app", c->told->user);
    } else if (ch_json_get_str(v, "team").n) {
        snprintf(line, sizeof(line), "the service knows the app: %.*s in %.*s",
                 CH_SV_FMT(ch_json_get_str(v, "user")), CH_SV_FMT(ch_json_get_str(v, "team")));
        c->told->tell("ok", line, NULL, c->told->user);
    } else {
        snprintf(line, sizeof(line), "the %s is accepted", c->what);
        c->told->tell("ok", line, NULL, c->told->user);
    }
}

static void slack_survey(chela_runtime *rt, const struct chela_channel_opts *o,
                         const struct chela_channel_survey *told) {
    const char *api = o->domain ? o->domain : API, *app = ch_kit_setting(o, "appToken");
    struct slack_check_up c = {told, "bot token"};
    struct chela_error err = {0};
    CH_BUF_AUTO url = {0}, bearer = {0};
    (void)rt;
    if (slack_check(o, &err) < 0) {
        told->tell("fail", err.message, NULL, told->user);
        return;
    }
    const char *slash = api[strlen(api) - 1] == '/' ? "" : "/";
    ch_buf_addf(&url, "%s%sauth.test", api, slash);
    ch_buf_addf(&bearer, "Bearer %s", o->secret);
    const char *headers[] = {"Authorization", ch_buf_str(&bearer), NULL};
    struct chela_channel_request r = {
        .method = "POST", .url = ch_buf_str(&url), .headers = headers};
    told->http(&r, slack_on_checked, &c, told->user);
    if (!slack_by_socket(o))
        return;
    ch_buf_clear(&url);
    ch_buf_clear(&bearer);
    ch_buf_addf(&url, "%s%sapps.connections.open", api, slash);
    ch_buf_addf(&bearer, "Bearer %s", app);
    headers[1] = ch_buf_str(&bearer);
    r.url = ch_buf_str(&url);
    c.what = "app-level token";
    told->http(&r, slack_on_checked, &c, told->user);
}

/* --- the table */

static void slack_format(const char *text, size_t n, chela_channel_write_fn *write, void *out) {
    CH_BUF_AUTO buf = {0};
    ch_slack_format(&buf, ch_sv(text, n));
    write(buf.p, buf.n, out);
}

static const struct chela_channel_option slack_options[] = {
    {.name = "botToken",
     .kind = CHELA_CHANNEL_SECRET,
     .member = CHELA_CHANNEL_KEY,
     .enables = 1,
     .help = "the bot token (xoxb-); setting it enables the channel"},
    {.name = "mode",
     .kind = CHELA_CHANNEL_CHOICE,
     .words = "socket|webhook",
     .otherwise = "socket",
     .help = "how events arrive: over a connection that chela opens (Socket Mode), or as requests "
             "to `POST /channels/slack/events`"},
    {.name = "appToken",
     .kind = CHELA_CHANNEL_SECRET,
     .otherwise = "SLACK_APP_TOKEN",
     .mode = "socket",
     .help = "the app-level token (xapp-) for Socket Mode"},
    {.name = "signingSecret",
     .kind = CHELA_CHANNEL_SECRET,
     .member = CHELA_CHANNEL_TOKEN,
     .otherwise = "SLACK_SIGNING_SECRET",
     .mode = "webhook",
     .help = "the signing secret, with which the service signs its requests"},
    {.name = "replies",
     .kind = CHELA_CHANNEL_CHOICE,
     .words = "thread|channel",
     .otherwise = "thread",
     .help = "where a message in a channel is answered: in a thread of its own, or in the channel"},
    {.name = "streaming",
     .kind = CHELA_CHANNEL_BOOL,
     .member = CHELA_CHANNEL_STREAMING,
     .otherwise = "false",
     .help = "show an answer while the model writes it, by edits"},
    {.name = "apiUrl",
     .kind = CHELA_CHANNEL_URL,
     .member = CHELA_CHANNEL_DOMAIN,
     .otherwise = API,
     .help = "URL of the Web API"},
    {.name = NULL},
};

static const struct chela_channel_ops slack_ops = {
    .name = "slack",
    .title = "Slack",
    .docs = "slack.md",
    .setup = "Create an app at https://api.slack.com/apps, From scratch.\n"
             "OAuth & Permissions, Bot Token Scopes: chat:write, app_mentions:read, im:history, "
             "channels:history, groups:history,\n"
             "  mpim:history, users:read, reactions:write, files:read, files:write. Install the "
             "app; copy the Bot User OAuth Token.\n"
             "Socket Mode: enable it. Basic Information, App-Level Tokens: create one with "
             "connections:write.\n"
             "Event Subscriptions: message.im, message.channels, message.groups, message.mpim. "
             "Interactivity: enable it.\n"
             "App Home, Messages Tab: allow users to send messages.",
    .options = slack_options,
    .features = CHELA_CHANNEL_BUTTONS | CHELA_CHANNEL_ECHO,
    .most_text = 3500,
    .unit = CHELA_CHANNEL_CHARACTERS,
    .edit_ms = 1200,
    .most_question = CH_SLACK_QUESTION,
    .open = slack_open,
    .leave = slack_leave,
    .close = slack_close,
    .receive = slack_receive,
    .fetch = ch_slack_fetch,
    .prepare = ch_slack_prepare,
    .post = ch_slack_post,
    .format = slack_format,
    .working = ch_slack_working,
    .react = ch_slack_react,
    .unsend = ch_slack_unsend,
    .remove = ch_slack_remove,
    .survey = slack_survey,
};

CHELA_API const struct chela_module chela_module;
const struct chela_module chela_module = {CHELA_MODULE_ABI, "channel-slack", "channel", &slack_ops};
