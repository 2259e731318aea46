/* feishu_act.c -- actions in a chat other than sending: delete a message, remove a member.
 *
 * An app may delete its own messages, and messages of others in a group that it owns or
 * administers; it may remove members from its own group. The service rejects everything
 * else with its own error text. It has no call to mute one member: its moderation is a list
 * of members who may speak. */
#include "channel/feishu_act.h"

#include "base/error.h"
#include "base/list.h"
#include "channel/feishu.h"
#include "channel/feishu_api.h"
#include "json/writer.h"

struct ch_feishu_acts {
    struct ch_feishu_api *api; /* borrowed */
    struct ch_list list;
};

struct deed {
    struct ch_link link;
    chela_channel_acted_fn *done;
    void *tag;
};

static bool feishu_act_may_pass(const struct ch_feishu_answer *a) {
    return a->status == 0 || a->status == 429 || a->status >= 500 || a->code == -1;
}

static void feishu_act_on_done(const struct ch_feishu_answer *a, void *user) {
    struct deed *d = user;
    chela_channel_acted_fn *done = d->done;
    void *tag = d->tag;
    struct chela_error err = {0};
    const struct ch_json *invalid = ch_json_path(a->json, "data", "invalid_id_list", NULL);
    if (a->code != 0)
        ch_fail(&err, feishu_act_may_pass(a) ? CHELA_ENET : CHELA_EINVAL, "%s", a->why);
    else if (ch_json_is(invalid, CH_JSON_ARRAY) && invalid->n)
        ch_fail(&err, CHELA_EINVAL, "they are no member of this chat");
    ch_list_del(&d->link);
    ch_free(d);
    done(err.code ? &err : NULL, tag);
}

static void feishu_act_call(struct ch_feishu_acts *s, const struct ch_buf *path, const char *body,
                            chela_channel_acted_fn *done, void *tag) {
    struct deed *d = ch_alloc(sizeof(*d));
    d->done = done;
    d->tag = tag;
    ch_list_add(&s->list, &d->link);
    ch_feishu_call(s->api, "DELETE", ch_buf_str(path), body, feishu_act_on_done, d);
}

void ch_feishu_unsend(struct ch_feishu_acts *s, const char *message, chela_channel_acted_fn *done,
                      void *tag) {
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path, "/open-apis/im/v1/messages/%s", message);
    feishu_act_call(s, &path, NULL, done, tag);
}

void ch_feishu_remove(struct ch_feishu_acts *s, const char *chat, const char *member,
                      chela_channel_acted_fn *done, void *tag) {
    CH_BUF_AUTO path = {0}, body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_buf_addf(&path, "/open-apis/im/v1/chats/%s/members?member_id_type=open_id", chat);
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "id_list", '[');
    ch_jw_str(&w, ch_sv_str(member));
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    feishu_act_call(s, &path, ch_buf_str(&body), done, tag);
}

struct ch_feishu_acts *ch_feishu_acts_new(struct ch_feishu_api *api) {
    struct ch_feishu_acts *s = ch_alloc(sizeof(*s));
    s->api = api;
    ch_list_init(&s->list);
    return s;
}

void ch_feishu_acts_free(struct ch_feishu_acts *s) {
    if (!s)
        return;
    for (struct deed *d; (d = CH_LIST_FIRST(&s->list, struct deed, link));) {
        ch_list_del(&d->link);
        ch_free(d);
    }
    ch_free(s);
}
