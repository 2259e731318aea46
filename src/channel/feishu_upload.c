/* feishu_upload.c -- uploads a file of the workspace; the service returns a key that a
 * message refers to. Images are uploaded as images where the service accepts them. */
#include "channel/feishu_upload.h"

#include "base/limits.h"
#include "channel/attach.h"
#include "channel/feishu.h"
#include "channel/feishu_api.h"
#include "channel/files.h"
#include "channel/picture.h"

struct ch_feishu_upload {
    struct ch_feishu_api *api;
    struct ch_attachment *reading; /* NULL: reading is finished */
    char *path;                    /* owned */
    struct ch_form form;
    bool picture;
    ch_feishu_key_fn *fn;
    void *user;
};

static void free_upload(struct ch_feishu_upload *u) {
    ch_form_release(&u->form);
    ch_free(u->path);
    ch_free(u);
}

static void feishu_upload_finish(struct ch_feishu_upload *u, const char *key, bool again,
                                 const char *why) {
    ch_feishu_key_fn *fn = u->fn;
    void *user = u->user;
    bool picture = u->picture;
    CH_AUTOFREE char *reason = ch_strdup(why ? why : "");
    free_upload(u);
    fn(key, picture, again, reason, user);
}

static void feishu_upload_on_key(const struct ch_feishu_answer *a, void *user) {
    struct ch_feishu_upload *u = user;
    CH_ARENA_AUTO arena = {0};
    struct ch_sv key = ch_json_get_str(ch_json_get(a->json, "data"),
                                       u->picture ? "image_key" : "file_key");
    bool good = a->code == 0 && key.n && !memchr(key.p, 0, key.n);
    bool again = a->status == 0 || a->status == 429 || a->status >= 500 || a->code == 99991400;
    feishu_upload_finish(u, good ? ch_arena_str(&arena, key) : NULL, again,
                         good     ? NULL
                         : a->why ? a->why
                                  : "the service gave no key");
}

static void write_form(struct ch_feishu_upload *u, struct ch_sv bytes) {
    CH_BUF_AUTO name = {0};
    ch_form_name(&name, u->path);
    if (u->picture) {
        ch_form_field(&u->form, "image_type", "message");
    } else {
        ch_form_field(&u->form, "file_type", "stream");
        ch_form_field(&u->form, "file_name", ch_buf_str(&name));
    }
    ch_form_file(&u->form, u->picture ? "image" : "file", u->path, bytes);
    ch_form_end(&u->form);
}

static void feishu_upload_on_read(struct ch_sv bytes, const char *why, void *user) {
    struct ch_feishu_upload *u = user;
    u->reading = NULL;
    if (!bytes.n) {
        feishu_upload_finish(u, NULL, false, why);
        return;
    }
    u->picture = bytes.n <= CH_LIMIT_CHANNEL_PICTURE && ch_picture_ending(bytes);
    write_form(u, bytes);
    ch_feishu_send_form(u->api, u->picture ? "/open-apis/im/v1/images" : "/open-apis/im/v1/files",
                        u->form.type, &u->form.body, feishu_upload_on_key, u);
}

struct ch_feishu_upload *ch_feishu_upload(chela_runtime *rt, struct ch_feishu_api *api,
                                          const char *workspace, const char *path,
                                          ch_feishu_key_fn *fn, void *user) {
    struct ch_feishu_upload *u = ch_alloc(sizeof(*u));
    u->api = api;
    u->path = ch_strdup(path);
    u->fn = fn;
    u->user = user;
    ch_form_init(&u->form);
    u->reading = ch_attach(rt, workspace, path, feishu_upload_on_read, u);
    return u;
}

void ch_feishu_upload_drop(struct ch_feishu_upload *u) {
    if (u->reading)
        ch_attach_drop(u->reading);
    free_upload(u);
}
