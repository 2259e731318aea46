/* slack_name.c -- names of people.
 *
 * An event has only the id of its sender. users.info is asked for the name after the event was
 * stored and acknowledged, and before the agent sees the message. Without an answer the message
 * has no name. */
#include "channel/slack/slack_name.h"

#include "channel/slack/slack_post.h"

#define NAMES 1024
#define NAME_MS (60 * 60 * 1000) /* people rename themselves */
#define NAMELESS_MS (5 * 60 * 1000)

struct slack_name {
    struct ch_link link; /* in the channel's names */
    struct ch_slack *s;
    char *id, *name;        /* owned; name NULL: the service does not tell the name */
    int64_t until;          /* ms since the epoch; 0: the service was asked and has not answered */
    struct ch_list waiting; /* arrivals */
};

/* An arrival that waits for the name. */
struct slack_nameless {
    struct ch_link link; /* in `waiting` of the name */
    struct chela_channel_arrival *in;
    chela_channel_arena *arena;
    void (*done)(void *tag);
    void *tag;
};

static struct slack_name *name_find(const struct ch_slack *s, const char *id) {
    for (CH_LIST_EACH(k, &s->names)) {
        struct slack_name *n = CH_CONTAINER(k, struct slack_name, link);
        if (strcmp(n->id, id) == 0)
            return n;
    }
    return NULL;
}

static void name_free(struct slack_name *n) {
    for (struct slack_nameless *w;
         (w = CH_LIST_FIRST(&n->waiting, struct slack_nameless, link));) {
        ch_list_del(&w->link);
        ch_free(w);
    }
    ch_list_del(&n->link);
    n->s->nnames--;
    ch_free(n->id);
    ch_free(n->name);
    ch_free(n);
}

static void name_set(const struct slack_name *n, struct chela_channel_arrival *in,
                     chela_channel_arena *a) {
    size_t size = n->name ? strlen(n->name) + 1 : 0;
    if (n->name)
        in->about.sender = memcpy(n->s->host->alloc(a, size, n->s->host->user), n->name, size);
}

static void name_on_answer(const struct ch_slack_answer *a, void *user) {
    struct slack_name *n = user;
    struct ch_slack *s = n->s;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *who = ch_json_get(a->json, "user"),
                         *profile = ch_json_get(who, "profile");
    const char *name = ch_kit_word(profile, "display_name", &arena);
    name = name ? name : ch_kit_word(profile, "real_name", &arena);
    name = name ? name : ch_kit_word(who, "name", &arena);
    bool told = a->what == CHELA_RECEIPT_SENT && name;
    if (told) {
        ch_free(n->name);
        n->name = ch_strdup(name);
    }
    n->until = s->host->now(s->host->user) + (told ? NAME_MS : CH_MAX(NAMELESS_MS, a->wait_ms));
    for (struct slack_nameless *w;
         (w = CH_LIST_FIRST(&n->waiting, struct slack_nameless, link));) {
        struct slack_nameless one = *w;
        ch_list_del(&w->link);
        ch_free(w);
        name_set(n, one.in, one.arena);
        one.done(one.tag);
    }
}

/* NULL: all names that are known are being asked for. */
static struct slack_name *name_make(struct ch_slack *s, const char *id) {
    struct slack_name *oldest = CH_LIST_FIRST(&s->names, struct slack_name, link);
    if (s->nnames >= NAMES && !oldest->until)
        return NULL;
    if (s->nnames >= NAMES)
        name_free(oldest);
    struct slack_name *n = ch_alloc(sizeof(*n));
    n->s = s;
    n->id = ch_strdup(id);
    n->until = -1;
    ch_list_init(&n->waiting);
    ch_list_add(&s->names, &n->link);
    s->nnames++;
    return n;
}

static void name_ask(struct slack_name *n) {
    CH_BUF_AUTO body = {0};
    n->until = 0;
    ch_buf_add_str(&body, "user=");
    ch_kit_percent(&body, n->id);
    ch_slack_call_as(n->s, "users.info", n->s->bearer, "application/x-www-form-urlencoded",
                     ch_buf_sv(&body), name_on_answer, n);
}

void ch_slack_prepare(void *self, struct chela_channel_arrival *in, chela_channel_arena *a,
                      const char *workspace, void (*done)(void *tag), void *tag) {
    struct ch_slack *s = self;
    const char *id = in->about.sender_id;
    struct slack_name *n = id ? name_find(s, id) : NULL;
    (void)workspace;
    n = n || !id ? n : name_make(s, id);
    if (n && n->until && n->until <= s->host->now(s->host->user))
        name_ask(n);
    if (!n || n->until) {
        if (n)
            name_set(n, in, a);
        done(tag);
        return;
    }
    struct slack_nameless *w = ch_alloc(sizeof(*w));
    *w = (struct slack_nameless){.in = in, .arena = a, .done = done, .tag = tag};
    ch_list_add(&n->waiting, &w->link);
}

void ch_slack_names_release(struct ch_slack *s) {
    for (struct slack_name *n; (n = CH_LIST_FIRST(&s->names, struct slack_name, link));)
        name_free(n);
}
