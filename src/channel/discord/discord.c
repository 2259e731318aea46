/* discord.c -- the Discord channel.
 *
 * Messages come over the Gateway only (discord_line.c). Presses of buttons come over the Gateway,
 * too, unless the application has an endpoint for interactions: then they are requests that the
 * service signs with Ed25519. discord.h lists the files. */
#include "channel/discord/discord.h"

#include "channel/discord/discord_event.h"
#include "channel/discord/discord_line.h"
#include "channel/discord/discord_post.h"
#include "channel/discord/discord_rest.h"
#include "channel/discord/discord_text.h"

#define API "https://discord.com/api/v10"
#define WINDOW_S 300             /* age of a signed request */
#define INTENTS (1 | 512 | 4096) /* servers, their messages, direct messages */
#define INTENT_CONTENT 32768     /* privileged */

/* --- signed interactions */

static bool discord_unhex(struct ch_sv text, unsigned char *out, size_t n) {
    if (text.n != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        int high = ch_hex_digit(text.p[2 * i]), low = ch_hex_digit(text.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static bool discord_is_recent(struct ch_sv stamp, int64_t now_ms) {
    int64_t then = 0;
    for (size_t i = 0; i < stamp.n; i++) {
        if (stamp.p[i] < '0' || stamp.p[i] > '9' || i > 11)
            return false;
        then = 10 * then + (stamp.p[i] - '0');
    }
    return stamp.n && then >= now_ms / 1000 - WINDOW_S && then <= now_ms / 1000 + WINDOW_S;
}

static bool discord_is_genuine(const struct ch_discord *d,
                               const struct chela_channel_callback *in) {
    struct ch_sv stamp = ch_kit_sv(in->header(in->request, "x-signature-timestamp"));
    struct ch_sv shown = ch_kit_sv(in->header(in->request, "x-signature-ed25519"));
    unsigned char signature[64];
    CH_BUF_AUTO base = {0};
    if (!discord_is_recent(stamp, in->now) || !discord_unhex(shown, signature, 64))
        return false;
    ch_buf_add_sv(&base, stamp);
    ch_buf_add(&base, in->body.p, in->body.n);
    return d->host->ed25519_verify(d->key, signature, ch_kit_text(ch_buf_sv(&base)), d->host->user);
}

static void discord_receive(void *self, const struct chela_channel_callback *in,
                            chela_channel_arena *a, struct chela_channel_verdict *out) {
    struct ch_discord *d = self;
    CH_ARENA_AUTO own = {0};
    const struct ch_json *v;
    (void)a;
    *out = (struct chela_channel_verdict){.status = 401,
                                          .why = "the signature is not that of the service"};
    if (!d->signed_too) {
        out->why = "interactions come over the Gateway: publicKey is not set";
        return;
    }
    if (strcmp(in->method, "POST") != 0) {
        out->status = 405;
        out->why = "method not allowed";
        return;
    }
    if (!discord_is_genuine(d, in))
        return;
    out->status = 400;
    out->why = "the body is not an interaction";
    if (ch_json_parse(&own, ch_kit_sv(in->body), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return;
    int64_t type = ch_json_int(ch_json_get(v, "type"), 0);
    if (type != 1 && type != 3)
        return;
    out->status = 200;
    out->why = NULL;
    out->answer = ch_kit_text(type == 1 ? CH_SV("{\"type\":1}") : CH_SV("{\"type\":6}"));
    ch_discord_take_press(d, v, true);
}

/* --- set-up */

static bool discord_is(const struct chela_channel_opts *o, const char *name, const char *value) {
    const char *set = ch_kit_setting(o, name);
    return set && strcmp(set, value) == 0;
}

static int discord_check(const struct chela_channel_opts *o, struct chela_error *err) {
    const char *key = ch_kit_setting(o, "publicKey");
    unsigned char bytes[32];
    if (!ch_kit_is_token(o->secret, ""))
        return ch_kit_refuse(err, "discord", "the bot token (tokenEnv) is missing, or is no token");
    if (strncmp(o->secret, "Bot ", 4) == 0)
        return ch_kit_refuse(err, "discord", "the bot token is given without \"Bot\"");
    if (key && *key && !discord_unhex(ch_sv_str(key), bytes, sizeof(bytes)))
        return ch_kit_refuse(err, "discord", "publicKey has 64 hexadecimal digits");
    if (o->domain && !ch_kit_is_safe_url(o->domain))
        return ch_kit_refuse(err, "discord", "apiUrl is an https URL");
    return 0;
}

static char *discord_join(const char *a, const char *b) {
    CH_BUF_AUTO out = {0};
    ch_buf_addf(&out, "%s%s", a, b);
    return ch_buf_take(&out);
}

static int discord_open(const struct chela_channel_host *host, const struct chela_channel_opts *o,
                        void **out, struct chela_error *err) {
    const char *api = o->domain ? o->domain : API, *key = ch_kit_setting(o, "publicKey");
    unsigned char process[8];
    int rc = discord_check(o, err);
    if (rc < 0)
        return rc;
    struct ch_discord *d = ch_alloc(sizeof(*d));
    struct ch_list *lists[] = {&d->calls,   &d->waiting, &d->events, &d->places, &d->presses,
                               &d->fetches, &d->posts,   &d->acts,   &d->typing};
    for (size_t i = 0; i < CH_LEN(lists); i++)
        ch_list_init(lists[i]);
    d->host = host;
    d->api = discord_join(api, api[strlen(api) - 1] == '/' ? "" : "/");
    d->token = ch_strdup(o->secret);
    d->bearer = discord_join("Bot ", o->secret);
    d->signed_too = key && *key && discord_unhex(ch_sv_str(key), d->key, sizeof(d->key));
    d->contents = o->unasked || host->listens || discord_is(o, "messageContent", "true");
    d->intents = INTENTS | (d->contents ? INTENT_CONTENT : 0);
    d->by_reaction = discord_is(o, "working", "reaction");
    d->bans = discord_is(o, "removal", "ban");
    host->random(process, sizeof(process), host->user);
    for (size_t i = 0; i < sizeof(process); i++)
        snprintf(d->process + 2 * i, 3, "%02x", process[i]);
    host->trouble("not connected yet", host->user);
    *out = d;
    return 0;
}

static int discord_leave(void *self) {
    struct ch_discord *d = self;
    d->leaving = true;
    ch_discord_line_leave(d);
    return ch_list_empty(&d->events) && ch_list_empty(&d->presses);
}

static void discord_close(void *self) {
    struct ch_discord *d = self;
    ch_discord_line_stop(d);
    ch_discord_calls_release(d);
    ch_discord_events_release(d);
    ch_discord_posts_release(d);
    ch_free(d->session.id);
    ch_free(d->session.url);
    ch_free(d->api);
    ch_free(d->token);
    ch_free(d->bearer);
    ch_free(d->me);
    ch_free(d->app);
    ch_free(d);
}

/* --- doctor */

static void discord_on_identity(const struct chela_channel_response *r, void *tag) {
    const struct chela_channel_survey *told = tag;
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v = NULL;
    char line[300];
    bool read =
        !r->why && ch_json_parse(&a, ch_kit_sv(r->body), CH_JSON_REPLACE, &v, NULL, NULL) == 0;
    if (r->status == 401) {
        told->tell("fail", "the bot token is refused", "reset it on the page of the bot",
                   told->user);
    } else if (!read || !ch_json_get_str(v, "username").n) {
        snprintf(line, sizeof(line), "the service cannot be asked: %s",
                 r->why ? r->why : "the answer is not JSON");
        told->tell("warn", line, NULL, told->user);
    } else {
        snprintf(line, sizeof(line), "the service knows the bot: %.*s",
                 CH_SV_FMT(ch_json_get_str(v, "username")));
        told->tell("ok", line, NULL, told->user);
    }
}

static void discord_on_limits(const struct chela_channel_response *r, void *tag) {
    const struct chela_channel_survey *told = tag;
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v = NULL;
    char line[120];
    if (r->why || ch_json_parse(&a, ch_kit_sv(r->body), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return;
    const struct ch_json *limit = ch_json_get(v, "session_start_limit");
    int64_t left = ch_json_int(ch_json_get(limit, "remaining"), -1);
    if (left < 0)
        return;
    snprintf(line, sizeof(line), "%lld of %lld new sessions are left today", (long long)left,
             (long long)ch_json_int(ch_json_get(limit, "total"), 0));
    told->tell(left > 10 ? "ok" : "warn", line,
               left > 10 ? NULL
                         : "find out what connects so often: does another program use the "
                           "token?",
               told->user);
}

static void discord_survey(chela_runtime *rt, const struct chela_channel_opts *o,
                           const struct chela_channel_survey *told) {
    const char *api = o->domain ? o->domain : API;
    static const struct {
        const char *path;
        chela_channel_response_fn *fn;
    } asked[] = {{"users/@me", discord_on_identity}, {"gateway/bot", discord_on_limits}};
    struct chela_error err = {0};
    CH_BUF_AUTO bearer = {0};
    (void)rt;
    if (discord_check(o, &err) < 0) {
        told->tell("fail", err.message, NULL, told->user);
        return;
    }
    ch_buf_addf(&bearer, "Bot %s", o->secret);
    const char *headers[] = {"Authorization", ch_buf_str(&bearer), NULL};
    for (size_t i = 0; i < CH_LEN(asked); i++) {
        CH_BUF_AUTO url = {0};
        ch_buf_addf(&url, "%s%s%s", api, api[strlen(api) - 1] == '/' ? "" : "/", asked[i].path);
        told->http(&(struct chela_channel_request){.method = "GET",
                                                   .url = ch_buf_str(&url),
                                                   .headers = headers},
                   asked[i].fn, (void *)told, told->user);
    }
}

/* --- the table */

static void discord_format(const char *text, size_t n, chela_channel_write_fn *write, void *out) {
    CH_BUF_AUTO buf = {0};
    ch_discord_format(&buf, ch_sv(text, n));
    write(buf.p, buf.n, out);
}

static const struct chela_channel_option discord_options[] = {
    {.name = "token",
     .kind = CHELA_CHANNEL_SECRET,
     .member = CHELA_CHANNEL_KEY,
     .enables = 1,
     .help = "the bot token; setting it enables the channel"},
    {.name = "messageContent",
     .kind = CHELA_CHANNEL_BOOL,
     .otherwise = "false",
     .help =
         "ask for the content of all messages (Message Content Intent), so that quoted messages "
         "have a text, and the model learns what was said between mentions; implied by "
         "requireMention: false and by the heartbeat"},
    {.name = "publicKey",
     .help = "the public key of the application, if presses of buttons come as signed requests to "
             "`POST /channels/discord/events`; without it they come over the Gateway"},
    {.name = "working",
     .kind = CHELA_CHANNEL_CHOICE,
     .words = "typing|reaction",
     .otherwise = "typing",
     .help = "how the bot shows that the agent is working"},
    {.name = "removal",
     .kind = CHELA_CHANNEL_CHOICE,
     .words = "kick|ban",
     .otherwise = "kick",
     .help = "what removing a member means, with tools.chat"},
    {.name = "streaming",
     .kind = CHELA_CHANNEL_BOOL,
     .member = CHELA_CHANNEL_STREAMING,
     .otherwise = "false",
     .help = "show an answer while the model writes it, by edits"},
    {.name = "apiUrl",
     .kind = CHELA_CHANNEL_URL,
     .member = CHELA_CHANNEL_DOMAIN,
     .otherwise = API,
     .help = "URL of the REST API"},
    {.name = NULL},
};

static const struct chela_channel_ops discord_ops = {
    .name = "discord",
    .title = "Discord",
    .docs = "discord.md",
    .setup = "Create an application at https://discord.com/developers/applications. Page Bot: "
             "Reset Token shows the token once.\n"
             "OAuth2, URL Generator: scope bot; permissions View Channels, Send Messages, Send "
             "Messages in Threads,\n"
             "  Read Message History, Add Reactions, Attach Files. Open the URL to add the bot to "
             "a server.\n"
             "Your own id: User Settings, Advanced, Developer Mode; then Copy User ID in the menu "
             "of your name.",
    .options = discord_options,
    .features = CHELA_CHANNEL_BUTTONS | CHELA_CHANNEL_ECHO,
    .most_text = CH_DISCORD_SPLIT,
    .unit = CHELA_CHANNEL_UTF16,
    .edit_ms = 1500,
    .most_question = CH_DISCORD_QUESTION,
    .open = discord_open,
    .leave = discord_leave,
    .close = discord_close,
    .receive = discord_receive,
    .fetch = ch_discord_fetch,
    .post = ch_discord_post,
    .format = discord_format,
    .working = ch_discord_working,
    .react = ch_discord_react,
    .unsend = ch_discord_unsend,
    .mute = ch_discord_mute,
    .remove = ch_discord_remove,
    .remind = ch_discord_remind,
    .reminded = ch_discord_reminded,
    .survey = discord_survey,
};

CHELA_API const struct chela_module chela_module;
const struct chela_module chela_module = {CHELA_MODULE_ABI, "channel-discord", "channel",
                                          &discord_ops};
