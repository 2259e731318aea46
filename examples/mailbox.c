/* mailbox.c -- a chat that loses no message and sends none twice.
 *
 *   cc mailbox.c $(pkg-config --cflags --libs chela) && ./a.out ID=TEXT...
 *
 * Each argument is an event as a chat service would deliver it: the service's id, and a
 * person's text. An event is acknowledged (a line in the file "acknowledged") when it is
 * stored; the answers go to the file "sent", with their idempotency keys. Kill the program
 * at any moment and start it again: it continues with the accepted events, and sends the
 * answers that were not sent. If an event arrives twice, it is only acknowledged the second
 * time. */
#include <chela.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bot {
    chela_runtime *rt;
    chela_store *store;
    chela_session *chat;
    int failed;
};

struct event {
    struct bot *bot;
    const char *id, *text;
};

/* The outside world: a line in a file. */
static int tell(const char *file, const char *what, const char *more) {
    char line[4096];
    int n = snprintf(line, sizeof(line), "%s %s\n", what, more);
    int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0644);
    int ok = fd >= 0 && n > 0 && (size_t)n < sizeof(line) && write(fd, line, (size_t)n) == n;
    if (fd >= 0)
        close(fd);
    return ok ? 0 : -1;
}

static void complain(struct bot *bot, const char *what, const struct chela_error *err) {
    fprintf(stderr, "mailbox: %s: %s\n", what, err->message);
    bot->failed = 1;
}

/* --- out */

static void send_out(chela_runtime *rt, const struct chela_outbound *m, void *user) {
    struct chela_error err = {0};
    int rc = tell("sent", m->key, *m->text ? m->text : m->error);
    (void)user;
    chela_outbox_receipt(rt, m->key, rc == 0 ? CHELA_RECEIPT_SENT : CHELA_RECEIPT_UNCERTAIN,
                         rc == 0 ? "in the file" : "the file cannot be written", 0, &err);
}

/* The model sends a message by itself, with the tool `message`. */
static int say(chela_call *call, const struct chela_message *m, void *user) {
    struct bot *bot = (struct bot *)user;
    struct chela_error err = {0};
    struct chela_outbound out = CHELA_OUTBOUND(.key = m->key,
                                               .session = chela_session_key(bot->chat),
                                               .channel = "file", .to = m->target, .text = m->text);
    if (chela_outbox_put(bot->rt, &out, NULL, NULL, &err) < 0)
        return chela_result_error(call, "unavailable", "%s", err.message);
    chela_result_text(call, "It will be sent.", 16);
    return 0;
}

/* --- in */

/* Passes the event to the conversation. The event leaves the inbox when the conversation has
 * stored it. */
static void take_in(struct bot *bot, const char *id, const char *text, size_t n) {
    struct chela_error err = {0};
    struct chela_run_opts opts = CHELA_RUN_OPTS(.event_id = id, .answer_to = "whoever asked");
    int rc = chela_session_send(bot->chat, text, n, &opts, &err);
    if (rc < 0)
        complain(bot, id, &err);
}

static void on_accepted(int rc, const struct chela_error *err, void *user) {
    struct event *e = (struct event *)user;
    if (rc < 0 && rc != CHELA_EEXIST) {
        complain(e->bot, e->id, err);
        return;
    }
    tell("acknowledged", e->id, "");
    if (rc == 0)
        take_in(e->bot, e->id, e->text, strlen(e->text));
}

/* --- after a crash */

static int take_up(const struct chela_store_item *item, void *user) {
    struct bot *bot = (struct bot *)user;
    take_in(bot, item->id, item->data, item->n);
    return 0;
}

static int send_again(const struct chela_store_item *item, void *user) {
    struct bot *bot = (struct bot *)user;
    struct chela_error err = {0};
    if (chela_outbox_recall(bot->rt, item, &err) < 0)
        complain(bot, item->id, &err);
    return 0;
}

static int go_on(struct bot *bot, struct chela_error *err) {
    int rc = chela_session_wait(bot->chat, err);
    if (rc == 0 && chela_session_status(bot->chat) == CHELA_SESSION_RUNNING)
        rc = chela_run_resume(bot->chat, NULL, NULL, err);
    else if (rc == 0)
        chela_session_send(bot->chat, NULL, 0, NULL, NULL); /* starts with waiting messages, if
                                                             * any */
    if (rc == 0)
        rc = chela_store_items(bot->store, CHELA_STORE_OUTBOX, send_again, bot, err);
    if (rc == 0)
        rc = chela_store_items(bot->store, CHELA_STORE_INBOX, take_up, bot, err);
    return rc;
}

/* --- the program */

static int order(chela_call *call, void *user) {
    (void)user;
    tell("ordered", chela_call_key(call), "");
    chela_result_text(call, "ordered", 7);
    return 0;
}

static int open_bot(struct bot *bot, struct chela_error *err) {
    chela_agent *agent;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = getenv("CHELA_MODEL"));
    struct chela_tool_opts tool = CHELA_TOOL_OPTS(.name = "order", .description = "Order a pizza.",
                                                  .fn = order, .effect = CHELA_EFFECT_ONCE);
    struct chela_channel channel = CHELA_CHANNEL(.name = "file", .send = say, .user = bot);
    struct chela_queue_opts queue = CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_FOLLOW_UP);

    int rc = chela_store_open("sqlite:./mailbox.db", NULL, &bot->store, err);
    if (rc == 0)
        rc = chela_runtime_store(bot->rt, bot->store, CHELA_DURABILITY_FULL, err);
    if (rc == 0)
        rc = chela_agent_new(bot->rt, &opts, &agent, err);
    if (rc == 0)
        rc = chela_agent_add_tool(agent, &tool, err);
    if (rc == 0)
        rc = chela_outbox_channel(bot->rt, "file", send_out, bot, err);
    if (rc == 0)
        rc = chela_session_new(agent, "chat", &bot->chat, err);
    if (rc == 0)
        rc = chela_session_channel(bot->chat, &channel, err);
    if (rc == 0)
        rc = chela_session_queue(bot->chat, &queue, err);
    return rc;
}

int main(int argc, char **argv) {
    struct bot bot = {NULL, NULL, NULL, 0};
    struct event events[16];
    struct chela_error err = {0};
    int rc = chela_runtime_new(NULL, &bot.rt, &err);
    if (rc == 0)
        rc = open_bot(&bot, &err);
    if (rc == 0)
        rc = go_on(&bot, &err);
    for (int i = 1; rc == 0 && i < argc && i <= 16; i++) {
        struct event *e = &events[i - 1];
        char *text = strchr(argv[i], '=');
        if (!text)
            continue;
        *text++ = '\0';
        *e = (struct event){&bot, argv[i], text};
        struct chela_inbox_event in = CHELA_INBOX_EVENT(
            .id = e->id, .session = "chat", .data = e->text, .n = strlen(e->text));
        rc = chela_inbox_accept(bot.rt, &in, on_accepted, e, &err);
    }
    if (rc == 0)
        rc = chela_runtime_run(bot.rt); /* until everything is processed and sent */
    if (rc < 0)
        complain(&bot, "stopped", &err);
    chela_runtime_close(bot.rt);
    chela_store_close(bot.store);
    return bot.failed;
}
