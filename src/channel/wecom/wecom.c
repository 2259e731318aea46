/* wecom.c -- the WeCom channel: an intelligent bot. wecom.h lists the files. */
#include "channel/wecom/wecom.h"

#include "channel/kit/markdown.h"
#include "channel/wecom/wecom_hook.h"
#include "channel/wecom/wecom_line.h"
#include "channel/wecom/wecom_message.h"
#include "channel/wecom/wecom_post.h"
#include "channel/wecom/wecom_seal.h"

#define LINE "wss://openws.work.weixin.qq.com"
#define MOST_FILE (20 * 1024 * 1024)

/* --- files in: encrypted with a key of the message, or with that of callbacks */

struct wecom_fetch {
    struct ch_kit_job job; /* in the channel's jobs */
    struct ch_wecom *w;
    unsigned char key[32];
    chela_channel_bytes_fn *done;
    void *tag;
};

static void fetch_free(struct ch_kit_job *job) {
    ch_free(CH_CONTAINER(job, struct wecom_fetch, job));
}

static void fetch_on_bytes(const struct chela_channel_response *r, void *tag) {
    struct wecom_fetch *f = tag;
    chela_channel_bytes_fn *done = f->done;
    void *its = f->tag;
    struct ch_buf plain;
    ch_buf_init(&plain, MOST_FILE + 64);
    bool got = !r->why && r->status == 200;
    bool opened = got && ch_wecom_unseal_file(f->w->host, f->key, ch_kit_sv(r->body), &plain) > 0;
    ch_kit_job_end(&f->job);
    done(opened ? ch_kit_text(ch_buf_sv(&plain)) : (struct chela_text){NULL, 0},
         opened   ? NULL
         : got    ? "the file cannot be decrypted"
         : r->why ? r->why
                  : "the service refuses it",
         its);
    ch_buf_release(&plain);
}

static void wecom_fetch(void *self, const char *handle, chela_channel_bytes_fn *done, void *tag) {
    struct ch_wecom *w = self;
    CH_ARENA_AUTO a = {0};
    struct ch_wecom_file file = ch_wecom_file(handle);
    struct wecom_fetch *f = ch_alloc(sizeof(*f));
    f->w = w;
    f->done = done;
    f->tag = tag;
    memcpy(f->key, w->key, sizeof(f->key));
    ch_kit_job_begin(&w->jobs, &f->job, fetch_free);
    if (!ch_sv_is(file.key, "-") && !ch_wecom_key(file.key, f->key))
        memset(f->key, 0, sizeof(f->key)); /* cannot be decrypted */
    w->host->http(&(struct chela_channel_request){.method = "GET",
                                                  .url = ch_arena_str(
                                                      &a, file.url.p ? file.url : ch_sv("", 0)),
                                                  .most = MOST_FILE,
                                                  .wait_ms = 120000},
                  fetch_on_bytes, f, w->host->user);
}

/* --- set-up */

static bool wecom_by_line(const struct chela_channel_opts *o) {
    const char *mode = ch_kit_setting(o, "mode");
    return !mode || strcmp(mode, "socket") == 0;
}

static int wecom_check(const struct chela_channel_opts *o, struct chela_error *err) {
    const char *url = o->domain ? o->domain : LINE;
    unsigned char key[32];
    if (!ch_kit_is_token(o->account, ""))
        return ch_kit_refuse(err, "wecom", "the id of the bot (botId) is missing");
    if (wecom_by_line(o) && !ch_kit_is_token(o->secret, ""))
        return ch_kit_refuse(err, "wecom",
                             "the long connection needs the secret of the bot (secretEnv)");
    if (wecom_by_line(o) && !ch_kit_is_safe_socket(url))
        return ch_kit_refuse(err, "wecom", "url is a wss:// URL");
    if (!wecom_by_line(o) && !(o->token && *o->token))
        return ch_kit_refuse(err, "wecom",
                             "webhook mode needs the token (tokenEnv): without it anybody could "
                             "pass for the service");
    if (!wecom_by_line(o) && !ch_wecom_key(ch_sv_str(o->encrypt_key ? o->encrypt_key : ""), key))
        return ch_kit_refuse(err, "wecom",
                             "webhook mode needs the EncodingAESKey (encodingAESKeyEnv): 43 "
                             "letters and digits");
    return 0;
}

static int wecom_open(const struct chela_channel_host *host, const struct chela_channel_opts *o,
                      void **out, struct chela_error *err) {
    const char *receiver = ch_kit_setting(o, "receiveId");
    int rc = wecom_check(o, err);
    if (rc < 0)
        return rc;
    struct ch_wecom *w = ch_alloc(sizeof(*w));
    struct ch_list *lists[] = {&w->jobs, &w->presses, &w->frames, &w->streams, &w->waiting};
    for (size_t i = 0; i < CH_LEN(lists); i++)
        ch_list_init(lists[i]);
    w->host = host;
    w->bot = ch_strdup(o->account);
    w->receiver = ch_strdup(receiver ? receiver : "");
    if (wecom_by_line(o)) {
        w->url = ch_strdup(o->domain ? o->domain : LINE);
        w->secret = ch_strdup(o->secret);
    } else {
        w->token = ch_strdup(o->token);
        ch_wecom_key(ch_sv_str(o->encrypt_key), w->key);
    }
    ch_wecom_line_open(w);
    *out = w;
    return 0;
}

static int wecom_leave(void *self) {
    struct ch_wecom *w = self;
    bool idle = ch_list_empty(&w->presses) && ch_list_empty(&w->frames) && ch_list_empty(&w->jobs);
    ch_redial_leave(&w->dial);
    if (w->dial.socket && idle)
        ch_wecom_line_hang_up(w);
    return idle;
}

static void wecom_close(void *self) {
    struct ch_wecom *w = self;
    char *texts[] = {w->bot, w->url, w->secret, w->token, w->receiver};
    ch_wecom_line_release(w);
    ch_kit_jobs_release(&w->presses);
    ch_kit_jobs_release(&w->jobs);
    for (struct ch_wecom_stream *s; (s = CH_LIST_FIRST(&w->streams, struct ch_wecom_stream, link));)
        ch_wecom_stream_free(w, s);
    for (size_t i = 0; i < CH_LEN(texts); i++)
        ch_free(texts[i]);
    ch_free(w);
}

static void wecom_survey(chela_runtime *rt, const struct chela_channel_opts *o,
                         const struct chela_channel_survey *told) {
    struct chela_error err = {0};
    (void)rt;
    if (wecom_check(o, &err) < 0)
        told->tell("fail", err.message, NULL, told->user);
    else
        told->tell("ok", "the options are complete; the service is asked when the gateway connects",
                   NULL, told->user);
}

/* --- the table */

static const struct chela_channel_option wecom_options[] = {
    {.name = "botId",
     .member = CHELA_CHANNEL_ACCOUNT,
     .enables = 1,
     .help = "the id of the intelligent bot; setting it enables the channel"},
    {.name = "mode",
     .kind = CHELA_CHANNEL_CHOICE,
     .words = "socket|webhook",
     .otherwise = "socket",
     .help = "how messages arrive: over a long connection that chela opens, or as requests to "
             "`/channels/wecom/events`"},
    {.name = "secret",
     .kind = CHELA_CHANNEL_SECRET,
     .member = CHELA_CHANNEL_KEY,
     .otherwise = "WECOM_BOT_SECRET",
     .mode = "socket",
     .help = "the secret of the bot, for the long connection"},
    {.name = "token",
     .kind = CHELA_CHANNEL_SECRET,
     .member = CHELA_CHANNEL_TOKEN,
     .otherwise = "WECOM_TOKEN",
     .mode = "webhook",
     .help = "the token, with which the service signs its requests"},
    {.name = "encodingAESKey",
     .kind = CHELA_CHANNEL_SECRET,
     .member = CHELA_CHANNEL_ENCRYPT_KEY,
     .otherwise = "WECOM_ENCODING_AES_KEY",
     .mode = "webhook",
     .help = "the EncodingAESKey, with which requests are encrypted"},
    {.name = "receiveId",
     .mode = "webhook",
     .help = "the receiver that requests name; empty for a bot of one's own company"},
    {.name = "streaming",
     .kind = CHELA_CHANNEL_BOOL,
     .member = CHELA_CHANNEL_STREAMING,
     .otherwise = "false",
     .help = "show an answer while the model writes it"},
    {.name = "url",
     .member = CHELA_CHANNEL_DOMAIN,
     .otherwise = LINE,
     .help = "URL of the long connection"},
    {.name = NULL},
};

static void wecom_format(const char *text, size_t n, chela_channel_write_fn *write, void *out) {
    CH_BUF_AUTO buf = {0};
    ch_kit_images_as_links(&buf, ch_sv(text, n), false);
    write(ch_buf_str(&buf), buf.n, out);
}

static const struct chela_channel_ops wecom_ops = {
    .name = "wecom",
    .title = "WeCom",
    .docs = "wecom.md",
    .setup = "Admin console, Management tools, Intelligent bots: create a bot in API mode, with a "
             "long connection.\n"
             "Copy the Bot ID and the Secret. Make the bot visible to the people who may use it.",
    .options = wecom_options,
    .features = CHELA_CHANNEL_MENTIONS_ONLY | CHELA_CHANNEL_BUTTONS,
    .most_text = CH_WECOM_TEXT - 480,
    .edit_ms = 2500,
    .most_question = CH_WECOM_QUESTION,
    .open = wecom_open,
    .leave = wecom_leave,
    .close = wecom_close,
    .receive = ch_wecom_receive,
    .fetch = wecom_fetch,
    .format = wecom_format,
    .post = ch_wecom_post,
    .working = ch_wecom_working,
    .remind = ch_wecom_remind,
    .reminded = ch_wecom_reminded,
    .survey = wecom_survey,
};

CHELA_API const struct chela_module chela_module;
const struct chela_module chela_module = {CHELA_MODULE_ABI, "channel-wecom", "channel", &wecom_ops};
