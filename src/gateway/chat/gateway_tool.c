/* gateway_tool.c -- the tool `gateway`: an owner has the gateway's own settings
 * looked up, shown and changed, in words.
 *
 * It is offered to an owner of the channel, who writes in a direct chat, and to
 * nobody else: what is said in a group is not all theirs. That they are one is
 * looked at again before each call, and before each start. It shows no secret
 * and changes no permission: what may be changed is a list (config/patch.h) that
 * has none in it. A person is asked about each change and sees it as a diff of
 * the file; should the file change before they agree, the call is not made.
 *
 * A file is read and written on a worker thread, but for the diff, which must be
 * there when the question is put. A change is written beside the file, then put
 * in its place, so that there is never half of one; then it is taken up as on
 * SIGHUP. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/handle/driver.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "config/patch.h"
#include "gateway/chat/channels.h"
#include "io/worker.h"
#include "tool/call/call.h"

#define NAME "gateway"

static const char description[] =
    "Look after the gateway that you run in, for its owner. lookup explains options by the "
    "beginning of their key; get shows those that are set, secrets left out; patch changes one in "
    "the configuration file and takes it up; reload reads the file again; restart ends the program "
    "once what is under way has ended, and begins it anew. Keys look like "
    "gateway.drainSec, agents.defaults.model, agents.list[coder].limits.maxTurns. Secrets, owners, "
    "policies, approvals, tools and the sandbox cannot be changed.";

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"action\":{\"type\":\"string\",\"enum\":[\"lookup\",\"get\",\"patch\",\"reload\","
    "\"restart\"]},"
    "\"key\":{\"type\":\"string\",\"maxLength\":300,\"description\":"
    "\"lookup, get: the beginning of keys; patch: a whole one\"},"
    "\"value\":{\"description\":\"patch: the new value; null takes the option away\"}},"
    "\"required\":[\"action\"],\"additionalProperties\":false}";

struct tool { /* of one lane */
    chela_gateway *gw;
    char *session, *file; /* owned */
};

static int refuse(chela_call *call, const char *type, const char *why) {
    return chela_result_error(call, type, "%s", why);
}

static struct ch_sv action_of(const chela_call *call) {
    return ch_json_get_str(call->args, "action");
}

static struct ch_sv key_of(const chela_call *call) {
    struct ch_sv key = ch_json_get_str(call->args, "key");
    return key.p ? key : ch_sv("", 0);
}

/* --- for whom */

bool ch_gateway_tool_is_for(struct ch_chat *chat, const struct chela_inbound *in) {
    struct ch_channel *c = chat->channel;
    bool direct = in->chat_type && strcmp(in->chat_type, "direct") == 0;
    return direct && in->sender_id && c->ops->is_owner && c->ops->is_owner(c, in->sender_id);
}

static bool is_permitted(const struct tool *t) {
    const struct ch_lane *l = ch_lane_find(t->gw, ch_sv_str(t->session));
    const struct ch_chat *chat = ch_chat_of(t->gw, t->session);
    const chela_run *run = l ? l->session->run : NULL;
    if (!run || !chat || !run->behalf.sender || !run->behalf.channel ||
        strcmp(run->behalf.channel, chat->channel->ops->name) != 0)
        return false;
    return chat->channel->ops->is_owner(chat->channel, run->behalf.sender);
}

/* --- what changes */

static int patch_text(const char *file, struct ch_sv key, const struct ch_json *value,
                      struct ch_buf *before, struct ch_buf *after, struct chela_error *err) {
    int rc = ch_file_load(file, CH_LIMIT_YAML_FILE, before, err);
    return rc < 0 ? rc : ch_config_patch(ch_buf_sv(before), file, key, value, after, err);
}

static size_t same_head(struct ch_sv a, struct ch_sv b) {
    size_t line = 0;
    for (size_t i = 0; i < a.n && i < b.n && a.p[i] == b.p[i]; i++)
        if (a.p[i] == '\n')
            line = i + 1;
    return line;
}

static bool begins_line(struct ch_sv text, size_t from_end) {
    return from_end == text.n || text.p[text.n - from_end - 1] == '\n';
}

static size_t same_tail(struct ch_sv a, struct ch_sv b) {
    size_t line = 0;
    for (size_t i = 1; i <= a.n && i <= b.n && a.p[a.n - i] == b.p[b.n - i]; i++)
        if (begins_line(a, i) && begins_line(b, i))
            line = i;
    return line;
}

static void add_lines(struct ch_buf *out, char mark, struct ch_sv text) {
    while (text.n) {
        struct ch_sv line = ch_sv_split(&text, '\n');
        ch_buf_addf(out, "%c%.*s\n", mark, CH_SV_FMT(line));
    }
}

/* The lines that go and those that come: one change is in one place. */
static void add_diff(struct ch_buf *out, const char *file, struct ch_sv a, struct ch_sv b) {
    size_t head = same_head(a, b), line = 1;
    for (size_t i = 0; i < head; i++)
        line += a.p[i] == '\n';
    a = ch_sv(a.p + head, a.n - head);
    b = ch_sv(b.p + head, b.n - head);
    size_t tail = same_tail(a, b);
    ch_buf_addf(out, "%s, line %zu:\n", file, line);
    add_lines(out, '-', ch_sv(a.p, a.n - tail));
    add_lines(out, '+', ch_sv(b.p, b.n - tail));
}

static void show(chela_call *call, struct ch_buf *out) {
    const struct tool *t = call->tool->user;
    const struct ch_json *value = ch_json_get(call->args, "value");
    CH_BUF_AUTO before = {0}, after = {0};
    struct chela_error err = {0};
    if (!is_permitted(t)) {
        ch_buf_add_str(out, "not for an owner");
        return;
    }
    if (!ch_sv_is(action_of(call), "patch") || !value)
        return;
    if (patch_text(t->file, key_of(call), value, &before, &after, &err) == 0)
        add_diff(out, t->file, ch_buf_sv(&before), ch_buf_sv(&after));
    else
        ch_buf_add_str(out, err.message);
}

/* --- work on the file */

struct ch_chore {
    struct ch_link link; /* in the chat's chores */
    struct ch_work work;
    struct ch_chat *chat; /* NULL: it was closed */
    chela_call *call;     /* NULL: it was cancelled */
    char *file, *key;     /* owned */
    struct ch_arena arena;
    const struct ch_json *value; /* in the arena; NULL: nothing is changed */
    struct ch_buf text;          /* the result */
    struct chela_error err;
};

struct listing {
    struct ch_buf *out;
    const char *key;
};

static void list_option(const char *key, const char *value, int from_file, void *user) {
    const struct listing *l = user;
    if (strncmp(key, l->key, strlen(l->key)) == 0 && (from_file || *l->key))
        ch_buf_addf(l->out, "%s = %s%s\n", key, value, from_file ? "" : " (default)");
}

static void get(struct ch_chore *c) {
    CH_BUF_AUTO all = {0};
    chela_config *cfg;
    struct listing l = {&all, c->key};
    if (chela_config_load(c->file, NULL, NULL, &cfg, &c->err) < 0)
        return;
    chela_config_show(cfg, list_option, &l);
    chela_config_free(cfg);
    ch_redact_copy(&c->text, all.n ? ch_buf_sv(&all) : CH_SV("There is no such option, or it is "
                                                             "not set."));
}

/* Its mode stays; its owner does if this is root's program, and is ours otherwise. */
static bool write_like(int fd, const struct stat *like, struct ch_sv text) {
    bool good = fchmod(fd, like->st_mode & 07777) == 0 &&
                (geteuid() != 0 || fchown(fd, like->st_uid, like->st_gid) == 0);
    for (size_t at = 0; good && at < text.n;) {
        ssize_t n = write(fd, text.p + at, text.n - at);
        good = n >= 0 || errno == EINTR;
        at += n > 0 ? (size_t)n : 0;
    }
    return good && fsync(fd) == 0; /* before it takes the file's place */
}

static int not_written(const char *file, int why, struct chela_error *err) {
    return ch_fail(err, CHELA_EIO, "%s cannot be written: %s", file, strerror(why));
}

/* temp: a name of our own beside it, with the text; it goes, or takes the file's place. */
static int put_in_place(const char *temp, const char *file, struct ch_sv before,
                        struct chela_error *err) {
    CH_BUF_AUTO now = {0};
    int rc = ch_file_load(file, CH_LIMIT_YAML_FILE, &now, err);
    if (rc == 0 && !ch_sv_eq(ch_buf_sv(&now), before))
        rc = ch_fail(err, CHELA_EIO, "%s was changed meanwhile; try again", file);
    if (rc == 0 && rename(temp, file) < 0)
        rc = not_written(file, errno, err);
    if (rc < 0)
        unlink(temp);
    return rc;
}

static int replace(const char *file, struct ch_sv before, struct ch_sv after,
                   struct chela_error *err) {
    CH_BUF_AUTO temp = {0};
    struct stat st;
    ch_buf_addf(&temp, "%s.XXXXXX", file);
    int fd = stat(file, &st) == 0 ? mkostemp(temp.p, O_CLOEXEC) : -1;
    if (fd < 0)
        return not_written(file, errno, err);
    int why = write_like(fd, &st, after) ? 0 : errno;
    if (close(fd) < 0 && !why)
        why = errno;
    if (!why)
        return put_in_place(temp.p, file, before, err);
    unlink(temp.p);
    return not_written(file, why, err);
}

/* Of a link what it leads to is replaced. */
static void patch(struct ch_chore *c) {
    CH_BUF_AUTO before = {0}, after = {0};
    if (patch_text(c->file, ch_sv_str(c->key), c->value, &before, &after, &c->err) < 0)
        return;
    char *file = realpath(c->file, NULL);
    if (!file)
        not_written(c->file, errno, &c->err);
    else if (replace(file, ch_buf_sv(&before), ch_buf_sv(&after), &c->err) == 0)
        ch_buf_add_str(&c->text, "It is written, and is being taken up.");
    free(file);
}

static void work(struct ch_work *w) {
    struct ch_chore *c = CH_CONTAINER(w, struct ch_chore, work);
    if (c->value)
        patch(c);
    else
        get(c);
}

static void drop(struct ch_work *w) {
    struct ch_chore *c = CH_CONTAINER(w, struct ch_chore, work);
    ch_list_del(&c->link);
    ch_buf_release(&c->text);
    ch_arena_release(&c->arena);
    ch_free(c->file);
    ch_free(c->key);
    ch_free(c);
}

static void worked(struct ch_work *w) {
    struct ch_chore *c = CH_CONTAINER(w, struct ch_chore, work);
    if (c->chat && c->value && !c->err.code) {
        ch_log(CH_LOG_INFO, "gateway", "%s was changed in %s", c->key, c->file);
        chela_gateway_interrupt(c->chat->gw);
    }
    if (c->call && c->err.code)
        chela_result_error(c->call, c->err.code == CHELA_EIO ? "unavailable" : "invalid_arguments",
                           "%s", c->err.message);
    else if (c->call)
        chela_result_text(c->call, c->text.p, c->text.n);
    if (c->call)
        chela_call_finish(c->call);
    drop(w);
}

static void on_cancelled(chela_call *call, void *user) {
    struct ch_chore *c = user;
    c->call = NULL;
    chela_result_error(call, "cancelled", "It may have been done.");
    chela_call_finish(call);
}

static void begin_chore(chela_call *call, const struct tool *t, const struct ch_json *value) {
    struct ch_chore *c = ch_alloc(sizeof(*c));
    struct ch_sv key = key_of(call);
    CH_BUF_AUTO text = {0};
    c->work = (struct ch_work){.run = work, .done = worked, .dropped = drop};
    c->chat = ch_chat_of(t->gw, t->session);
    c->call = call;
    c->file = ch_strdup(t->file);
    c->key = ch_strndup(key.p, key.n);
    if (value) { /* what is the call's is not for another thread */
        struct ch_jw w = ch_jw(&text);
        ch_jw_value(&w, value);
        ch_json_parse(&c->arena, ch_arena_sv(&c->arena, ch_buf_sv(&text)), CH_JSON_STRICT,
                      &c->value, NULL, NULL);
    }
    ch_list_add(&c->chat->chores, &c->link);
    chela_call_defer(call);
    chela_call_on_cancel(call, on_cancelled, c);
    ch_work_submit(t->gw->rt->workers, &c->work);
}

void ch_gateway_tool_release(struct ch_chat *chat) {
    for (struct ch_chore *c; (c = CH_LIST_FIRST(&chat->chores, struct ch_chore, link));) {
        chela_call *call = CH_TAKE(c->call);
        ch_list_del(&c->link);
        c->chat = NULL;
        if (!call)
            continue;
        chela_call_on_cancel(call, NULL, NULL);
        chela_result_error(call, "unavailable", "The channel is being closed.");
        chela_call_finish(call);
    }
}

/* Is a change on its way to the disk? The next one is made to what that leaves. */
static bool is_patching(const chela_gateway *gw) {
    for (CH_LIST_EACH(k, &gw->chats)) {
        const struct ch_chat *chat = CH_CONTAINER(k, struct ch_chat, link);
        for (CH_LIST_EACH(m, &chat->chores))
            if (CH_CONTAINER(m, struct ch_chore, link)->value)
                return true;
    }
    return false;
}

/* --- the tool */

/* What cannot be done is not asked about. */
static int check(chela_call *call, void *user) {
    const struct tool *t = user;
    const struct ch_json *value = ch_json_get(call->args, "value");
    bool patches = ch_sv_is(action_of(call), "patch");
    CH_BUF_AUTO before = {0}, after = {0};
    struct chela_error err = {0};
    if (!is_permitted(t))
        return refuse(call, "permission_denied", "This is for an owner of the channel alone.");
    if (patches && !value)
        return refuse(call, "invalid_arguments", "patch needs a key and a value");
    if (patches && patch_text(t->file, key_of(call), value, &before, &after, &err) < 0)
        return refuse(call, err.code == CHELA_EPERM ? "permission_denied" : "invalid_arguments",
                      err.message);
    return 0;
}

static void look_up(chela_call *call) {
    CH_BUF_AUTO out = {0};
    size_t n = ch_config_explain(key_of(call), &out);
    if (n > CH_LIMIT_EXPLAINED)
        ch_buf_addf(&out, "and %zu more: say more of the key\n", n - CH_LIMIT_EXPLAINED);
    if (!n)
        ch_buf_add_str(&out, "There is no option whose key begins so.");
    chela_result_text(call, out.p, out.n);
}

static int run(chela_call *call, void *user) {
    const struct tool *t = user;
    struct ch_sv action = action_of(call);
    if (ch_sv_is(action, "patch") && is_patching(t->gw))
        return refuse(call, "unavailable", "Another change is being written; try again.");
    if (ch_sv_is(action, "lookup")) {
        look_up(call);
    } else if (ch_sv_is(action, "reload")) {
        chela_result_printf(call, "The configuration is read again; if something is wrong with it, "
                                  "the last good one holds, and the log and /readyz say why.");
        chela_gateway_interrupt(t->gw);
    } else if (ch_sv_is(action, "restart")) {
        chela_result_printf(call, "It begins anew as soon as what is under way has ended: finish "
                                  "your answer.");
        t->gw->wants_restart = true;
        chela_gateway_interrupt(t->gw);
    } else {
        begin_chore(call, t, ch_sv_is(action, "patch") ? ch_json_get(call->args, "value") : NULL);
    }
    return 0;
}

static bool only_looks(const chela_call *call) {
    return ch_sv_is(action_of(call), "lookup") || ch_sv_is(action_of(call), "get");
}

static void release(void *user) {
    struct tool *t = user;
    ch_free(t->session);
    ch_free(t->file);
    ch_free(t);
}

int ch_gateway_tool_equip(chela_gateway *gw, chela_agent *agent, const char *key,
                          struct chela_error *err) {
    if (!agent->gateway_tool || agent->companion || !gw->config_file)
        return 0;
    struct tool *t = ch_alloc(sizeof(*t));
    *t = (struct tool){gw, ch_strdup(key), ch_strdup(gw->config_file)};
    struct chela_tool_opts o = CHELA_TOOL_OPTS(
        .name = NAME, .description = description, .schema = schema, .fn = run, .check = check,
        .user = t, .release = release, .effect = CHELA_EFFECT_ONCE,
        .permission = CHELA_PERM_ADMIN, .flags = CHELA_TOOL_ON_LOOP | CHELA_TOOL_CONFIRM);
    int rc = ch_registry_add(&agent->registry, &o, NULL, NULL, err);
    if (rc < 0) {
        release(t);
        return rc;
    }
    struct ch_tool *made = ch_registry_find(&agent->registry, CH_SV(NAME));
    made->show = show;
    made->only_looks = only_looks;
    return 0;
}
