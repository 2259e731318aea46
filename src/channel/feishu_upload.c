/* feishu_upload.c -- a file of the workspace to the service: what it gives for
 * it, a key, is what a message shows.
 *
 *   worker: read --> POST multipart --> key
 *
 * The file is opened beneath the workspace, whatever its path says. Pictures go
 * in as such where the service takes them. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "channel/feishu.h"
#include "channel/files.h"
#include "io/worker.h"
#include "tool/path.h"

struct ch_feishu_upload {
    struct ch_work work;
    chela_runtime *rt;
    struct ch_feishu_api *api; /* NULL: nobody waits */
    bool reading;              /* on a worker */
    char *workspace, *path;    /* owned */
    struct ch_buf bytes;
    char why[200];
    bool picture;
    char boundary[24]; /* at random: no file holds it */
    char type[64];
    ch_feishu_key_fn *fn;
    void *user;
};

static void free_upload(struct ch_feishu_upload *u) {
    ch_free(u->workspace);
    ch_free(u->path);
    ch_buf_release(&u->bytes);
    ch_free(u);
}

static void dropped(struct ch_work *w) {
    free_upload(CH_CONTAINER(w, struct ch_feishu_upload, work));
}

static void finish(struct ch_feishu_upload *u, const char *key, bool again, const char *why) {
    ch_feishu_key_fn *fn = u->fn;
    void *user = u->user;
    bool picture = u->picture;
    CH_AUTOFREE char *reason = ch_strdup(why ? why : "");
    free_upload(u);
    fn(key, picture, again, reason, user);
}

static int read_all(int fd, struct ch_buf *out) {
    for (;;) {
        char *at = ch_buf_reserve(out, 64 * CH_KB);
        if (!at)
            return -EFBIG;
        ssize_t n = read(fd, at, 64 * CH_KB);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        ch_buf_commit(out, (size_t)n);
    }
}

static void run(struct ch_work *w) {
    struct ch_feishu_upload *u = CH_CONTAINER(w, struct ch_feishu_upload, work);
    int fd = ch_path_open(u->workspace, u->path, O_CLOEXEC), rc = fd;
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
        rc = -EINVAL;
    else if (fd >= 0)
        rc = read_all(fd, &u->bytes);
    if (fd >= 0)
        close(fd);
    if (rc < 0)
        snprintf(u->why, sizeof(u->why), "%s", strerror(-rc));
    else if (!u->bytes.n)
        snprintf(u->why, sizeof(u->why), "it is empty");
    u->picture = u->bytes.n <= CH_LIMIT_CHANNEL_PICTURE && ch_picture_ending(ch_buf_sv(&u->bytes));
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void add_field(const struct ch_feishu_upload *u, struct ch_buf *out, const char *name,
                      const char *value) {
    ch_buf_addf(out, "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n",
                u->boundary, name, value);
}

/* Names of files are what the model chose: no quotes, no line breaks. */
static void add_name(struct ch_buf *out, const char *path) {
    for (const char *p = base_name(path); *p; p++)
        ch_buf_addc(out, (unsigned char)*p < ' ' || *p == '"' || *p == '\\' ? '_' : *p);
}

static void write_form(const struct ch_feishu_upload *u, struct ch_buf *out) {
    CH_BUF_AUTO name = {0};
    add_name(&name, u->path);
    if (u->picture) {
        add_field(u, out, "image_type", "message");
    } else {
        add_field(u, out, "file_type", "stream");
        add_field(u, out, "file_name", ch_buf_str(&name));
    }
    ch_buf_addf(out,
                "--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n"
                "Content-Type: application/octet-stream\r\n\r\n",
                u->boundary, u->picture ? "image" : "file", ch_buf_str(&name));
    ch_buf_add_sv(out, ch_buf_sv(&u->bytes));
    ch_buf_addf(out, "\r\n--%s--\r\n", u->boundary);
}

static void on_key(const struct ch_feishu_answer *a, void *user) {
    struct ch_feishu_upload *u = user;
    CH_ARENA_AUTO arena = {0};
    struct ch_sv key = ch_json_get_str(ch_json_get(a->json, "data"),
                                       u->picture ? "image_key" : "file_key");
    bool good = a->code == 0 && key.n && !memchr(key.p, 0, key.n);
    bool again = a->status == 0 || a->status == 429 || a->status >= 500 || a->code == 99991400;
    finish(u, good ? ch_arena_str(&arena, key) : NULL, again,
           good ? NULL : a->why ? a->why : "the service gave no key");
}

static void done(struct ch_work *w) {
    struct ch_feishu_upload *u = CH_CONTAINER(w, struct ch_feishu_upload, work);
    struct ch_buf form;
    u->reading = false;
    if (!u->api) {
        free_upload(u);
        return;
    }
    if (*u->why) {
        finish(u, NULL, false, u->why);
        return;
    }
    ch_buf_init(&form, CH_LIMIT_CHANNEL_FILE + 4 * CH_KB);
    write_form(u, &form);
    ch_buf_release(&u->bytes);
    ch_feishu_send_form(u->api, u->picture ? "/open-apis/im/v1/images" : "/open-apis/im/v1/files",
                        u->type, &form, on_key, u);
}

struct ch_feishu_upload *ch_feishu_upload(chela_runtime *rt, struct ch_feishu_api *api,
                                          const char *workspace, const char *path,
                                          ch_feishu_key_fn *fn, void *user) {
    struct ch_feishu_upload *u = ch_alloc(sizeof(*u));
    u->work = (struct ch_work){.run = run, .done = done, .dropped = dropped};
    u->rt = rt;
    u->api = api;
    u->workspace = ch_strdup(workspace);
    u->path = ch_strdup(path);
    u->fn = fn;
    u->user = user;
    ch_buf_init(&u->bytes, CH_LIMIT_CHANNEL_FILE);
    ch_random_id("chela-", u->boundary);
    snprintf(u->type, sizeof(u->type), "multipart/form-data; boundary=%s", u->boundary);
    u->reading = true;
    ch_work_submit(rt->workers, &u->work);
    return u;
}

void ch_feishu_upload_drop(struct ch_feishu_upload *u) {
    u->api = NULL;
    if (!u->reading)
        free_upload(u);
}
