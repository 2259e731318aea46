/* feishu_fetch.c -- fetches what belongs to a message: its sender's name, the quoted
 * message, earlier messages of its topic, its group, its files.
 *
 *       name --> quoted --> topic --> group --> file, file ... --> done
 *
 * The steps run one after the other. Data that cannot be fetched is omitted; nothing fails.
 * Names and texts are untrusted. */
#include "channel/feishu_fetch.h"

#include <ctype.h>

#include "base/limits.h"
#include "base/list.h"
#include "base/log.h"
#include "channel/feishu.h"
#include "channel/arrival.h"
#include "channel/feishu_api.h"
#include "channel/feishu_group.h"
#include "channel/feishu_message.h"
#include "channel/files.h"

#define NAMES 256 /* number of cached names */
#define TOPIC_MESSAGES 20

struct known {
    struct ch_link link;
    char *id, *name; /* owned; name "": unavailable */
};

struct ch_feishu_fetch {
    chela_runtime *rt;
    struct ch_feishu_api *api; /* borrowed */
    struct ch_feishu_groups *groups; /* owned */
    struct ch_list names, fetchings; /* names: the oldest first */
    size_t nnames;
};

struct fetching {
    struct ch_link link;
    struct ch_feishu_fetch *from;
    const struct ch_feishu_message *m; /* in the arena */
    struct chela_channel_arrival *in;
    struct ch_arena *arena;
    char *workspace; /* owned; NULL: files are not saved */
    enum { NAME, QUOTED, TOPIC, GROUP, FILES } step;
    size_t file;
    struct ch_filing *filing; /* file being saved; NULL: none */
    struct ch_task end;
    void (*done)(void *tag);
    void *tag;
};

static void feishu_fetch_go_on(struct fetching *f);

static void feishu_fetch_free(struct fetching *f) {
    if (f->filing)
        ch_filing_drop(f->filing);
    ch_task_cancel(f->from->rt->loop, &f->end);
    ch_list_del(&f->link);
    ch_free(f->workspace);
    ch_free(f);
}

/* --- names */

static void feishu_fetch_forget(struct ch_feishu_fetch *d, struct known *k) {
    ch_list_del(&k->link);
    d->nnames--;
    ch_free(k->id);
    ch_free(k->name);
    ch_free(k);
}

static const char *feishu_fetch_recall(const struct ch_feishu_fetch *d, const char *id) {
    for (CH_LIST_EACH(i, &d->names)) {
        const struct known *k = CH_CONTAINER(i, struct known, link);
        if (strcmp(k->id, id) == 0)
            return k->name;
    }
    return NULL;
}

static void feishu_fetch_remember(struct ch_feishu_fetch *d, const char *id, struct ch_sv name) {
    struct known *k = ch_alloc(sizeof(*k));
    k->id = ch_strdup(id);
    k->name = ch_strndup(name.n ? name.p : "", CH_MIN(name.n, (size_t)CH_LIMIT_INBOUND_NAME));
    ch_list_add(&d->names, &k->link);
    if (++d->nnames > NAMES)
        feishu_fetch_forget(d, CH_LIST_FIRST(&d->names, struct known, link));
}

static void use_name(struct fetching *f, const char *name) {
    if (*name)
        f->in->about.sender = ch_arena_str(f->arena, ch_sv_str(name));
    feishu_fetch_go_on(f);
}

static void on_name(const struct ch_feishu_answer *a, void *user) {
    struct fetching *f = user;
    const struct ch_json *who = ch_json_path(a->json, "data", "user", NULL);
    struct ch_sv name = ch_json_get_str(who, "name");
    if (name.n && memchr(name.p, 0, name.n))
        name.n = 0;
    if (a->status) /* cache every answer, including "not permitted" */
        feishu_fetch_remember(f->from, f->m->open_id, name);
    use_name(f, name.n ? ch_arena_str(f->arena, name) : "");
}

static void ask_name(struct fetching *f) {
    const char *name = f->m->open_id ? feishu_fetch_recall(f->from, f->m->open_id) : "";
    CH_BUF_AUTO path = {0};
    if (name) {
        use_name(f, name);
        return;
    }
    ch_buf_addf(&path, "/open-apis/contact/v3/users/%s?user_id_type=open_id", f->m->open_id);
    ch_feishu_call(f->from->api, "GET", ch_buf_str(&path), NULL, on_name, f);
}

/* --- the quoted message */

static bool is_shared(const struct ch_feishu_fetch *d, const char *id, const char *name) {
    for (CH_LIST_EACH(i, &d->names)) {
        const struct known *k = CH_CONTAINER(i, struct known, link);
        if (strcmp(k->name, name) == 0 && strcmp(k->id, id) != 0)
            return true;
    }
    return false;
}

/* A name that two people have is shown with the id. */
static const char *feishu_fetch_name_of(struct fetching *f, const char *id) {
    const char *name = feishu_fetch_recall(f->from, id);
    if (!name || !*name)
        return id;
    return is_shared(f->from, id, name) ? ch_arena_printf(f->arena, "%s (%s)", name, id)
                                        : ch_arena_str(f->arena, ch_sv_str(name));
}

static const struct ch_json *items(const struct ch_feishu_answer *a) {
    return ch_json_path(a->json, "data", "items", NULL);
}

static const char *feishu_fetch_text_of(const struct fetching *f, struct ch_sv text) {
    return text.n && !memchr(text.p, 0, text.n) ? ch_arena_str(f->arena, text) : NULL;
}

/* Parse a message from the service; false: no text. */
static bool feishu_fetch_read_item(struct fetching *f, const struct ch_json *item,
                                   struct chela_beside *out) {
    const char *who = feishu_fetch_text_of(f, ch_json_get_str(ch_json_get(item, "sender"), "id"));
    struct ch_sv text;
    if (!item || ch_json_bool(ch_json_get(item, "deleted"), false) ||
        ch_feishu_words(ch_json_get_str(item, "msg_type"),
                        ch_json_get_str(ch_json_get(item, "body"), "content"),
                        ch_json_get(item, "mentions"), f->arena, &text) < 0)
        return false;
    *out = (struct chela_beside){.message_id =
                                     feishu_fetch_text_of(f, ch_json_get_str(item, "message_id")),
                                 .sender = who ? feishu_fetch_name_of(f, who) : NULL,
                                 .text = ch_arena_str(f->arena, text)};
    return true;
}

static void on_quoted(const struct ch_feishu_answer *a, void *user) {
    struct fetching *f = user;
    const struct ch_json *item = ch_json_at(items(a), 0);
    struct chela_beside *b = CH_ARENA_NEW(f->arena, struct chela_beside);
    if (feishu_fetch_read_item(f, item, b)) {
        struct ch_sv who = ch_json_get_str(ch_json_get(item, "sender"), "id");
        b->message_id = f->m->parent;
        f->in->about.quoted = b;
        /* an app is identified by its own id */
        f->in->about.answers_us = ch_sv_is(who, f->in->about.account);
    }
    feishu_fetch_go_on(f);
}

static void ask_quoted(struct fetching *f) {
    CH_BUF_AUTO path = {0};
    if (!f->m->parent) {
        feishu_fetch_go_on(f);
        return;
    }
    ch_buf_addf(&path, "/open-apis/im/v1/messages/%s", f->m->parent);
    ch_feishu_call(f->from->api, "GET", ch_buf_str(&path), NULL, on_quoted, f);
}

/* --- earlier messages of the topic */

/* Newest first; includes the message itself. */
static void on_topic(const struct ch_feishu_answer *a, void *user) {
    struct fetching *f = user;
    struct chela_beside *before =
        ch_arena_zalloc(f->arena, TOPIC_MESSAGES * sizeof(*before));
    size_t n = 0;
    if (a->code != 0)
        ch_log(CH_LOG_INFO, "feishu", "earlier messages of topic %s cannot be read: %s",
               f->m->thread, a->why);
    for (CH_JSON_EACH(item, items(a))) {
        struct chela_beside *b = &before[TOPIC_MESSAGES - 1 - n];
        if (n == TOPIC_MESSAGES)
            break;
        if (feishu_fetch_read_item(f, item, b) && b->message_id &&
            strcmp(b->message_id, f->m->id) != 0)
            n++;
    }
    f->in->about.recent = before + TOPIC_MESSAGES - n;
    f->in->about.nrecent = n;
    if (n && f->in->about.group) /* what was overheard in the topic is among these messages */
        ch_arrival_group(f->in, f->arena)->nsaid = 0;
    feishu_fetch_go_on(f);
}

static void list_topic(struct fetching *f, const char *id) {
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path,
                "/open-apis/im/v1/messages?container_id_type=thread&container_id=%s"
                "&sort_type=ByCreateTimeDesc&page_size=%d",
                id, TOPIC_MESSAGES + 1);
    ch_feishu_call(f->from->api, "GET", ch_buf_str(&path), NULL, on_topic, f);
}

static bool is_topic(struct ch_sv id) {
    for (size_t i = 0; i < id.n; i++)
        if (!isalnum((unsigned char)id.p[i]) && id.p[i] != '_' && id.p[i] != '-')
            return false;
    return id.n > 4 && id.n <= CH_LIMIT_CHANNEL_ID && memcmp(id.p, "omt_", 4) == 0;
}

static void on_itself(const struct ch_feishu_answer *a, void *user) {
    struct fetching *f = user;
    struct ch_sv id = ch_json_get_str(ch_json_at(items(a), 0), "thread_id");
    if (is_topic(id))
        list_topic(f, ch_arena_str(f->arena, id));
    else
        feishu_fetch_go_on(f);
}

/* In topic groups a message may name only the first message of its topic. */
static void ask_topic(struct fetching *f) {
    CH_BUF_AUTO path = {0};
    if (!f->in->fresh || !f->m->thread) {
        feishu_fetch_go_on(f);
    } else if (is_topic(ch_sv_str(f->m->thread))) {
        list_topic(f, f->m->thread);
    } else {
        ch_buf_addf(&path, "/open-apis/im/v1/messages/%s", f->m->id);
        ch_feishu_call(f->from->api, "GET", ch_buf_str(&path), NULL, on_itself, f);
    }
}

/* --- the group */

static void on_group(void *tag) {
    feishu_fetch_go_on(tag);
}

static void ask_group(struct fetching *f) {
    if (f->m->direct || f->in->overheard ||
        !ch_feishu_group_tell(f->from->groups, f->in, f->arena, on_group, f))
        feishu_fetch_go_on(f);
}

/* --- files */

static void feishu_fetch_on_filed(void *tag) {
    struct fetching *f = tag;
    f->filing = NULL;
    feishu_fetch_go_on(f);
}

static void on_file(const struct ch_feishu_answer *a, void *user) {
    struct fetching *f = user;
    const struct ch_feishu_file *file = &f->m->files[f->file++];
    CH_BUF_AUTO stem = {0};
    if (a->code != 0 || !a->body.n) {
        ch_log(CH_LOG_WARN, "feishu", "a file of message %s cannot be fetched: %s", f->m->id,
               a->why ? a->why : "it is empty");
        feishu_fetch_go_on(f);
        return;
    }
    ch_buf_addf(&stem, "%s-%zu", f->m->id, f->file);
    struct ch_file taken = {ch_buf_str(&stem), file->name, a->body};
    f->filing =
        ch_file_take(f->from->rt, f->in, f->arena, f->workspace, &taken, feishu_fetch_on_filed, f);
}

static void ask_file(struct fetching *f) {
    const struct ch_feishu_file *file = &f->m->files[f->file];
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path, "/open-apis/im/v1/messages/%s/resources/%s?type=%s", f->m->id, file->key,
                file->picture ? "image" : "file");
    ch_feishu_download(f->from->api, ch_buf_str(&path), on_file, f);
}

/* Moves to the next file to fetch; without a workspace only images are fetched. False: none is
 * left. */
static bool seek_file(struct fetching *f) {
    while (!f->workspace && f->file < f->m->nfiles && !f->m->files[f->file].picture)
        f->file++;
    return f->file < f->m->nfiles;
}

/* --- the sequence */

static void feishu_fetch_finish(struct ch_task *t) {
    struct fetching *f = CH_CONTAINER(t, struct fetching, end);
    void (*done)(void *) = f->done;
    void *tag = f->tag;
    feishu_fetch_free(f);
    done(tag);
}

static void feishu_fetch_go_on(struct fetching *f) {
    if (f->step == NAME) {
        f->step = QUOTED;
        ask_quoted(f);
    } else if (f->step == QUOTED) {
        f->step = TOPIC;
        ask_topic(f);
    } else if (f->step == TOPIC) {
        f->step = GROUP;
        ask_group(f);
    } else if (seek_file(f)) {
        f->step = FILES;
        ask_file(f);
    } else {
        f->end.fn = feishu_fetch_finish;
        ch_task_defer(f->from->rt->loop, &f->end);
    }
}

void ch_feishu_prepare(struct ch_feishu_fetch *d, struct chela_channel_arrival *in,
                       struct ch_arena *a, const char *workspace, void (*done)(void *), void *tag) {
    struct fetching *f = ch_alloc(sizeof(*f));
    f->from = d;
    f->m = in->message;
    f->in = in;
    f->arena = a;
    f->workspace = workspace ? ch_strdup(workspace) : NULL;
    f->done = done;
    f->tag = tag;
    ch_list_add(&d->fetchings, &f->link);
    ask_name(f);
}

struct ch_feishu_fetch *ch_feishu_fetch_new(chela_runtime *rt, struct ch_feishu_api *api) {
    struct ch_feishu_fetch *d = ch_alloc(sizeof(*d));
    d->rt = rt;
    d->api = api;
    d->groups = ch_feishu_groups_new(rt, api);
    ch_list_init(&d->names);
    ch_list_init(&d->fetchings);
    return d;
}

void ch_feishu_fetch_free(struct ch_feishu_fetch *d) {
    if (!d)
        return;
    for (struct fetching *f; (f = CH_LIST_FIRST(&d->fetchings, struct fetching, link));)
        feishu_fetch_free(f);
    for (struct known *k; (k = CH_LIST_FIRST(&d->names, struct known, link));)
        feishu_fetch_forget(d, k);
    ch_feishu_groups_free(d->groups);
    ch_free(d);
}
