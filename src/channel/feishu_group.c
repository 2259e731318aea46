/* feishu_group.c -- see feishu_group.h. */
#include "channel/feishu_group.h"

#include "base/limits.h"
#include "base/list.h"
#include "base/log.h"
#include "channel/arrival.h"
#include "channel/feishu_api.h"

#define GROUPS 256  /* groups whose facts are kept */
#define MEMBERS 100 /* of a group, one page of the service's list */

struct facts {
    struct ch_link link; /* in groups, the latest last */
    struct ch_arena arena;
    const char *chat, *name, *topic; /* in the arena; the last two may be NULL */
    const char *ids[MEMBERS], *names[MEMBERS + 1];
    size_t n;
    int64_t count, until; /* members, 0: unknown; monotonic */
};

/* A message that waits for the facts of its group. */
struct lookup {
    struct ch_link link; /* in lookups */
    struct ch_feishu_groups *from;
    struct facts *facts; /* owned until it is complete */
    struct chela_channel_arrival *in;
    struct ch_arena *arena;
    void (*done)(void *tag);
    void *tag;
};

struct ch_feishu_groups {
    chela_runtime *rt;
    struct ch_feishu_api *api; /* borrowed */
    struct ch_list groups, lookups;
    size_t n;
};

static int64_t group_mono(const struct ch_feishu_groups *g) {
    return ch_mono_ms(ch_loop_clock(g->rt->loop));
}

static void free_facts(struct facts *f) {
    if (!f)
        return;
    ch_arena_release(&f->arena);
    ch_free(f);
}

static void forget_group(struct ch_feishu_groups *g, struct facts *f) {
    ch_list_del(&f->link);
    g->n--;
    free_facts(f);
}

/* NULL: not known, or too old. */
static struct facts *find_group(struct ch_feishu_groups *g, const char *chat) {
    struct ch_link *k = g->groups.head.next, *next;
    for (; k != &g->groups.head; k = next) {
        struct facts *f = CH_CONTAINER(k, struct facts, link);
        next = k->next;
        if (strcmp(f->chat, chat) != 0)
            continue;
        if (f->until > group_mono(g))
            return f;
        forget_group(g, f);
    }
    return NULL;
}

static const char *group_text(struct ch_arena *a, const struct ch_json *v, const char *key) {
    struct ch_sv s = ch_json_get_str(v, key);
    return s.n && !memchr(s.p, 0, s.n) ? ch_arena_str(a, s) : NULL;
}

/* --- filling in */

static const char *name_of_member(const struct facts *f, const char *id) {
    for (size_t i = 0; id && i < f->n; i++)
        if (strcmp(f->ids[i], id) == 0)
            return f->names[i];
    return NULL;
}

static void name_speakers(const struct facts *f, struct chela_group *g, struct ch_arena *a) {
    struct chela_said *said = ch_arena_zalloc(a, (g->nsaid + 1) * sizeof(*said));
    for (size_t i = 0; i < g->nsaid; i++) {
        const char *name = name_of_member(f, g->said[i].sender_id);
        said[i] = g->said[i];
        if (name)
            said[i].sender = ch_arena_str(a, ch_sv_str(name));
    }
    g->said = said;
}

static void fill_in(const struct facts *f, struct chela_channel_arrival *in, struct ch_arena *a) {
    struct chela_group *g = ch_arrival_group(in, a);
    const char **members = ch_arena_zalloc(a, (f->n + 1) * sizeof(*members));
    for (size_t i = 0; i < f->n; i++)
        members[i] = ch_arena_str(a, ch_sv_str(f->names[i]));
    if (f->name)
        in->about.chat = ch_arena_str(a, ch_sv_str(f->name));
    if (f->topic)
        g->topic = ch_arena_str(a, ch_sv_str(f->topic));
    g->members = members;
    g->member_count = f->count;
    name_speakers(f, g, a);
}

/* --- asking */

static void drop_lookup(struct lookup *l) {
    ch_list_del(&l->link);
    free_facts(l->facts);
    ch_free(l);
}

static void keep_facts(struct ch_feishu_groups *g, struct facts *f) {
    struct facts *before = find_group(g, f->chat); /* another message asked, too */
    if (before)
        forget_group(g, before);
    if (g->n == GROUPS)
        forget_group(g, CH_LIST_FIRST(&g->groups, struct facts, link));
    f->until = group_mono(g) + CH_DEFAULT_GROUP_FACTS_MS;
    ch_list_add(&g->groups, &f->link);
    g->n++;
}

static void on_members(const struct ch_feishu_answer *a, void *user) {
    struct lookup *l = user;
    struct facts *f = CH_TAKE(l->facts);
    void (*done)(void *) = l->done;
    void *tag = l->tag;
    for (CH_JSON_EACH(item, ch_json_path(a->json, "data", "items", NULL))) {
        const char *id = group_text(&f->arena, item, "member_id");
        const char *name = group_text(&f->arena, item, "name");
        if (!id || !name || f->n == MEMBERS)
            continue;
        f->ids[f->n] = id;
        f->names[f->n++] = name;
    }
    int64_t total = ch_json_int(ch_json_path(a->json, "data", "member_total", NULL), 0);
    f->count = total > 0 ? total : f->count;
    fill_in(f, l->in, l->arena);
    keep_facts(l->from, f);
    drop_lookup(l);
    done(tag);
}

/* The service gives counts as texts. */
static int64_t group_count(const struct ch_json *v, const char *key) {
    struct ch_sv s = ch_json_get_str(v, key);
    int64_t n = 0;
    for (size_t i = 0; i < s.n && i < 9; i++)
        n = s.p[i] >= '0' && s.p[i] <= '9' ? n * 10 + (s.p[i] - '0') : n;
    return s.n ? n : ch_json_int(ch_json_get(v, key), 0);
}

static void on_chat(const struct ch_feishu_answer *a, void *user) {
    struct lookup *l = user;
    struct facts *f = l->facts;
    const struct ch_json *data = ch_json_get(a->json, "data");
    CH_BUF_AUTO path = {0};
    if (a->code != 0)
        ch_log(CH_LOG_INFO, "feishu", "group %s cannot be looked up: %s", f->chat,
               a->why ? a->why : "no answer");
    f->name = group_text(&f->arena, data, "name");
    f->topic = group_text(&f->arena, data, "description");
    f->count = group_count(data, "user_count");
    ch_buf_addf(&path, "/open-apis/im/v1/chats/%s/members?member_id_type=open_id&page_size=%d",
                f->chat, MEMBERS);
    ch_feishu_call(l->from->api, "GET", ch_buf_str(&path), NULL, on_members, l);
}

bool ch_feishu_group_tell(struct ch_feishu_groups *g, struct chela_channel_arrival *in,
                          struct ch_arena *a, void (*done)(void *tag), void *tag) {
    const char *chat = in->about.chat_id;
    const struct facts *known = find_group(g, chat);
    CH_BUF_AUTO path = {0};
    if (known) {
        fill_in(known, in, a);
        return false;
    }
    struct lookup *l = ch_alloc(sizeof(*l));
    *l = (struct lookup){.from = g, .in = in, .arena = a, .done = done, .tag = tag};
    l->facts = ch_alloc(sizeof(*l->facts));
    l->facts->chat = ch_arena_str(&l->facts->arena, ch_sv_str(chat));
    ch_list_add(&g->lookups, &l->link);
    ch_buf_addf(&path, "/open-apis/im/v1/chats/%s", chat);
    ch_feishu_call(g->api, "GET", ch_buf_str(&path), NULL, on_chat, l);
    return true;
}

/* --- life */

struct ch_feishu_groups *ch_feishu_groups_new(chela_runtime *rt, struct ch_feishu_api *api) {
    struct ch_feishu_groups *g = ch_alloc(sizeof(*g));
    g->rt = rt;
    g->api = api;
    ch_list_init(&g->groups);
    ch_list_init(&g->lookups);
    return g;
}

void ch_feishu_groups_free(struct ch_feishu_groups *g) {
    if (!g)
        return;
    for (struct lookup *l; (l = CH_LIST_FIRST(&g->lookups, struct lookup, link));)
        drop_lookup(l);
    for (struct facts *f; (f = CH_LIST_FIRST(&g->groups, struct facts, link));)
        forget_group(g, f);
    ch_free(g);
}
