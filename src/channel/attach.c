/* attach.c -- see attach.h. */
#include "agent/handle/lookup.h"
#include "channel/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/worker.h"
#include "tool/process/path.h"

/* --- what a message holds */

static bool attach_is_url(const char *media) {
    return strstr(media, "://") != NULL;
}

char *ch_outbound_text(const struct chela_outbound *m) {
    CH_BUF_AUTO text = {0};
    ch_buf_add_str(&text, m->text ? m->text : "");
    if (!text.n && m->error)
        ch_buf_addf(&text, "That did not work: %s", m->error);
    for (size_t i = 0; i < m->nmedia; i++)
        if (attach_is_url(m->media[i]))
            ch_buf_addf(&text, "%s%s", text.n ? "\n" : "", m->media[i]);
    return text.p ? ch_buf_take(&text) : ch_strdup("");
}

char **ch_outbound_files(const struct chela_outbound *m) {
    char **out = ch_alloc((m->nmedia + 1) * sizeof(*out));
    size_t n = 0;
    for (size_t i = 0; i < m->nmedia; i++)
        if (!attach_is_url(m->media[i]))
            out[n++] = ch_strdup(m->media[i]);
    return out;
}

/* --- reading */

struct ch_attachment {
    struct ch_work work;
    char *workspace, *path; /* owned */
    struct ch_buf bytes;
    char why[200];
    ch_attached_fn *fn; /* NULL: nobody waits */
    void *user;
};

static void attach_drop(struct ch_work *w) {
    struct ch_attachment *a = CH_CONTAINER(w, struct ch_attachment, work);
    ch_free(a->workspace);
    ch_free(a->path);
    ch_buf_release(&a->bytes);
    ch_free(a);
}

#define PIECE (64 * CH_KB)

/* There is room for a piece more than is taken: the end is seen by reading on. */
static int attach_read_all(int fd, struct ch_buf *out) {
    for (;;) {
        char *at = out->n <= CH_LIMIT_CHANNEL_FILE ? ch_buf_reserve(out, PIECE) : NULL;
        if (!at)
            return -EFBIG;
        ssize_t n = read(fd, at, PIECE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        ch_buf_commit(out, (size_t)n);
    }
}

static void attach_run(struct ch_work *w) {
    struct ch_attachment *a = CH_CONTAINER(w, struct ch_attachment, work);
    int fd = ch_path_open(a->workspace, a->path, O_CLOEXEC), rc = fd;
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
        rc = -EINVAL;
    else if (fd >= 0)
        rc = attach_read_all(fd, &a->bytes);
    if (fd >= 0)
        close(fd);
    if (rc < 0)
        snprintf(a->why, sizeof(a->why), "%s", strerror(-rc));
    else if (!a->bytes.n)
        snprintf(a->why, sizeof(a->why), "it is empty");
}

static void attach_finished(struct ch_work *w) {
    struct ch_attachment *a = CH_CONTAINER(w, struct ch_attachment, work);
    struct ch_buf bytes = a->bytes;
    ch_attached_fn *fn = a->fn;
    void *user = a->user;
    CH_AUTOFREE char *why = ch_strdup(a->why);
    a->bytes = (struct ch_buf){0};
    attach_drop(w);
    if (fn)
        fn(*why ? ch_sv("", 0) : ch_buf_sv(&bytes), why, user);
    ch_buf_release(&bytes);
}

struct ch_attachment *ch_attach(chela_runtime *rt, const char *workspace, const char *path,
                                ch_attached_fn *fn, void *user) {
    struct ch_attachment *a = ch_alloc(sizeof(*a));
    a->work = (struct ch_work){.run = attach_run, .done = attach_finished, .dropped = attach_drop};
    a->workspace = ch_strdup(workspace);
    a->path = ch_strdup(path);
    a->fn = fn;
    a->user = user;
    ch_buf_init(&a->bytes, CH_LIMIT_CHANNEL_FILE + PIECE);
    ch_work_submit(rt->workers, &a->work);
    return a;
}

void ch_attach_drop(struct ch_attachment *a) {
    a->fn = NULL;
}

/* --- forms */

void ch_form_init(struct ch_form *f) {
    ch_buf_init(&f->body, CH_LIMIT_CHANNEL_FILE + 64 * CH_KB);
    ch_random_id("chela-", f->boundary); /* no file holds it */
    snprintf(f->type, sizeof(f->type), "multipart/form-data; boundary=%s", f->boundary);
}

void ch_form_release(struct ch_form *f) {
    ch_buf_release(&f->body);
}

void ch_form_field(struct ch_form *f, const char *name, const char *value) {
    ch_buf_addf(&f->body, "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n",
                f->boundary, name, value);
}

/* It is what the model chose: no quotes, no line breaks. */
void ch_form_name(struct ch_buf *out, const char *path) {
    const char *slash = strrchr(path, '/');
    for (const char *p = slash ? slash + 1 : path; *p; p++)
        ch_buf_addc(out, (unsigned char)*p < ' ' || *p == '"' || *p == '\\' ? '_' : *p);
}

void ch_form_file(struct ch_form *f, const char *name, const char *path, struct ch_sv bytes) {
    ch_buf_addf(&f->body, "--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"",
                f->boundary, name);
    ch_form_name(&f->body, path);
    ch_buf_add_str(&f->body, "\"\r\nContent-Type: application/octet-stream\r\n\r\n");
    ch_buf_add_sv(&f->body, bytes);
    ch_buf_add_str(&f->body, "\r\n");
}

void ch_form_end(struct ch_form *f) {
    ch_buf_addf(&f->body, "--%s--\r\n", f->boundary);
}
