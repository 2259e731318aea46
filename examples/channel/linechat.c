/* linechat.c -- a complete channel for a made-up chat service, outside the tree of chela.
 *
 * The service speaks lines over TCP. Texts have \n and \\ escaped.
 *
 *     >  HELLO password                      <  WELCOME bot
 *                                            <  MSG id room sender text
 *     >  ACK id
 *     >  SAY key room text                   <  SAID key id, or SLOW key seconds, or NO key why
 *
 * A message is delivered again until it is acknowledged. A key that was seen before is
 * answered with the id of the first message. A room that begins with @ is a direct chat.
 * See docs/channels.md. */
#include <chela/sys/channel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LINE 8192

struct say { /* waits for SAID */
    struct say *next;
    char key[32];
    char *line;
    chela_channel_posted_fn *done;
    void *tag;
};

struct linechat {
    const struct chela_channel_host *host;
    char server[256], password[256], me[64];
    int port;
    struct chela_channel_stream *stream;
    struct chela_channel_timer *again;
    unsigned failures;
    int open;
    char line[MOST_LINE];
    size_t n;
    struct say *says;
};

struct ack {
    struct linechat *c;
    char id[256];
};

static void send_line(struct linechat *c, const char *line) {
    if (c->stream)
        c->host->stream_send(c->stream, (struct chela_text){line, strlen(line)}, c->host->user);
}

/* --- messages in */

/* The inbox has the message now, or had it already: acknowledges it to the service. */
static void on_stored(int rc, const struct chela_error *err, void *tag) {
    struct ack *a = tag;
    char line[300];
    (void)err;
    snprintf(line, sizeof(line), "ACK %s\n", a->id);
    if (rc == 0 || rc == CHELA_EEXIST)
        send_line(a->c, line);
    free(a);
}

static void unescape(char *s) {
    char *out = s;
    for (; *s; s++)
        *out++ = *s != '\\' || !s[1] ? *s : *++s == 'n' ? '\n' : *s;
    *out = '\0';
}

/* Whether the text mentions the bot. A mention at the beginning is skipped, so that a command
 * behind it (/approve ID) is recognised. */
static int is_mention(const struct linechat *c, char **text) {
    char call[80];
    size_t n = (size_t)snprintf(call, sizeof(call), "@%s", c->me);
    if (strncmp(*text, call, n) != 0 || ((*text)[n] != ' ' && (*text)[n] != '\0'))
        return strstr(*text, call) != NULL;
    *text += n + strspn(*text + n, " ");
    return 1;
}

static void take_message(struct linechat *c, char *rest) {
    char *id = strsep(&rest, " "), *room = strsep(&rest, " "), *sender = strsep(&rest, " ");
    if (!rest || strlen(id) >= sizeof(((struct ack *)0)->id))
        return;
    unescape(rest);
    int mentioned = is_mention(c, &rest);
    struct ack *a = calloc(1, sizeof(*a));
    a->c = c;
    snprintf(a->id, sizeof(a->id), "%s", id);
    struct chela_channel_message m = {.id = id, .chat = room, .sender = sender, .text = rest,
                                      .direct = room[0] == '@',
                                      .program = strcmp(sender, c->me) == 0,
                                      .mentioned = mentioned,
                                      .ts = c->host->now(c->host->user)};
    if (!c->host->message(&m, on_stored, a, c->host->user))
        on_stored(0, NULL, a); /* not for this bot: the service need not repeat the message */
}

/* --- messages out */

static void answer(struct linechat *c, const char *key, const struct chela_channel_posted *p) {
    for (struct say **at = &c->says; *at; at = &(*at)->next) {
        struct say *s = *at;
        if (strcmp(s->key, key) != 0)
            continue;
        *at = s->next;
        s->done(p, s->tag);
        free(s->line);
        free(s);
        return;
    }
}

/* Requests that the service did not answer may have succeeded: the host repeats them with
 * the same key. */
static void answer_all(struct linechat *c, const char *why) {
    while (c->says) {
        char key[32];
        memcpy(key, c->says->key, sizeof(key));
        answer(c, key, &(struct chela_channel_posted){CHELA_RECEIPT_UNCERTAIN, NULL, why, 0});
    }
}

static void post(void *self, const struct chela_channel_post *p, chela_channel_posted_fn *done,
                 void *tag) {
    struct linechat *c = self;
    char line[MOST_LINE];
    struct say *s = calloc(1, sizeof(*s));
    s->next = c->says;
    snprintf(s->key, sizeof(s->key), "%s", p->key);
    s->done = done;
    s->tag = tag;
    c->says = s;
    size_t n = (size_t)snprintf(line, sizeof(line), "SAY %s %s ", p->key, p->chat);
    for (const char *t = p->text ? p->text : p->name; *t && n < sizeof(line) - 3; t++) {
        if (*t == '\n' || *t == '\\')
            line[n++] = '\\';
        line[n++] = *t == '\n' ? 'n' : *t;
    }
    line[n++] = '\n';
    line[n] = '\0';
    s->line = strdup(line);
    if (c->open) /* otherwise it is sent after WELCOME */
        send_line(c, line);
}

/* --- the connection */

static void connect_now(void *tag);

static void lost(struct linechat *c, const char *why) {
    c->host->trouble(why, c->host->user);
    c->host->stream_close(c->stream, c->host->user);
    c->stream = NULL;
    c->open = 0;
    c->n = 0;
    answer_all(c, why);
    c->host->timer_start(&c->again, c->host->back_off(c->failures++, c->host->user), connect_now, c,
                         c->host->user);
}

static void take_line(struct linechat *c, char *line) {
    char *rest = line, *word = strsep(&rest, " ");
    if (strcmp(word, "WELCOME") == 0 && rest) {
        snprintf(c->me, sizeof(c->me), "%s", rest);
        c->open = 1;
        c->failures = 0;
        c->host->trouble(NULL, c->host->user);
        for (struct say *s = c->says; s; s = s->next)
            send_line(c, s->line);
    } else if (strcmp(word, "MSG") == 0 && rest) {
        take_message(c, rest);
    } else if (strcmp(word, "SAID") == 0 && rest) {
        char *key = strsep(&rest, " ");
        answer(c, key, &(struct chela_channel_posted){CHELA_RECEIPT_SENT, rest, NULL, 0});
    } else if (strcmp(word, "SLOW") == 0 && rest) {
        char *key = strsep(&rest, " ");
        answer(c, key, &(struct chela_channel_posted){CHELA_RECEIPT_UNCERTAIN, NULL, "rate limit",
                                                      1000 * (rest ? atol(rest) : 1)});
    } else if (strcmp(word, "NO") == 0 && rest) {
        char *key = strsep(&rest, " ");
        answer(c, key, &(struct chela_channel_posted){CHELA_RECEIPT_REFUSED, NULL, rest, 0});
    }
}

static void on_open(void *tag) {
    struct linechat *c = tag;
    char line[300];
    snprintf(line, sizeof(line), "HELLO %s\n", c->password);
    send_line(c, line);
}

static void on_bytes(struct chela_text bytes, void *tag) {
    struct linechat *c = tag;
    for (size_t i = 0; i < bytes.n; i++) {
        if (bytes.p[i] == '\n') {
            c->line[c->n] = '\0';
            c->n = 0;
            take_line(c, c->line);
        } else if (c->n < sizeof(c->line) - 1) { /* the rest of a longer line is dropped */
            c->line[c->n++] = bytes.p[i];
        }
    }
}

static void on_gone(const char *why, void *tag) {
    lost(tag, why);
}

static void connect_now(void *tag) {
    static const struct chela_channel_stream_events events = {on_open, on_bytes, on_gone};
    struct linechat *c = tag;
    struct chela_error err = {0};
    if (c->host->stream_open(c->server, c->port, 0, &events, c, &c->stream, &err, c->host->user) <
        0)
        lost(c, err.message);
}

/* --- open and close */

static int linechat_open(const struct chela_channel_host *host,
                         const struct chela_channel_opts *o, void **out, struct chela_error *err) {
    const char *server = o->domain, *colon = server ? strrchr(server, ':') : NULL;
    if (!colon || !o->secret || strpbrk(o->secret, " \n")) {
        snprintf(err->message, sizeof(err->message), "channel linechat needs server: HOST:PORT and "
                                                     "a password of one word");
        return err->code = CHELA_ECONFIG;
    }
    struct linechat *c = calloc(1, sizeof(*c));
    c->host = host;
    snprintf(c->server, sizeof(c->server), "%.*s", (int)(colon - server), server);
    c->port = atoi(colon + 1);
    snprintf(c->password, sizeof(c->password), "%s", o->secret);
    host->timer_start(&c->again, 0, connect_now, c, host->user);
    *out = c;
    return 0;
}

static int linechat_leave(void *self) {
    struct linechat *c = self;
    c->host->timer_stop(c->again, c->host->user);
    return c->says == NULL;
}

static void linechat_close(void *self) {
    struct linechat *c = self;
    c->host->stream_close(c->stream, c->host->user);
    for (struct say *s; (s = c->says);) {
        c->says = s->next;
        free(s->line);
        free(s);
    }
    free(c);
}

static const struct chela_channel_option options[] = {
    {.name = "password", .kind = CHELA_CHANNEL_SECRET, .member = CHELA_CHANNEL_KEY, .enables = 1,
     .help = "the password of the bot; setting it enables the channel"},
    {.name = "server", .member = CHELA_CHANNEL_DOMAIN, .help = "HOST:PORT of the service"},
    {.name = NULL},
};

static const struct chela_channel_ops ops = {
    .name = "linechat",
    .title = "Linechat",
    .options = options,
    .features = CHELA_CHANNEL_KEYED,
    .most_text = 2000,
    .open = linechat_open,
    .leave = linechat_leave,
    .close = linechat_close,
    .post = post,
};

__attribute__((visibility("default"))) extern const struct chela_module chela_module;
const struct chela_module chela_module = {CHELA_MODULE_ABI, "channel-linechat", "channel", &ops};
