/* attach.c -- see attach.h. */
#include "channel/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/machine/ending.h"
#include "base/limits.h"
#include "guard/leak.h"
#include "io/worker.h"
#include "tool/process/path.h"

/* --- contents of a message */

static bool attach_is_url(const char *media) {
    return strstr(media, "://") != NULL;
}

char *ch_outbound_text(const struct chela_outbound *m) {
    CH_BUF_AUTO text = {0};
    ch_buf_add_str(&text, m->text ? m->text : "");
    if (!text.n && m->error) /* stored by an older version */
        ch_buf_add_str(&text, ch_ending_say((enum ch_reason)m->reason, false, CH_ENDING_CHAT,
                                            CHELA_LANGUAGE_EN));
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

bool ch_outbound_is_last(const struct chela_outbound *m) {
    return m->attempts + 1 >= CH_LIMIT_SENDS;
}

/* --- reading */

struct ch_attachment {
    struct ch_work work;
    char *workspace, *path; /* owned */
    struct ch_arena arena;
    const char *const *hide; /* in the arena: files that are never sent */
    struct ch_buf bytes;
    char why[200];
    ch_attached_fn *fn; /* NULL: cancelled */
    void *user;
};

static void attach_drop(struct ch_work *w) {
    struct ch_attachment *a = CH_CONTAINER(w, struct ch_attachment, work);
    ch_free(a->workspace);
    ch_free(a->path);
    ch_arena_release(&a->arena);
    ch_buf_release(&a->bytes);
    ch_free(a);
}

#define PIECE (64 * CH_KB)

/* The buffer has room beyond the limit, so that a read past the limit shows an oversized
 * file. */
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

static bool attach_leaks(const struct ch_attachment *a, struct ch_buf *name) {
    return ch_leak_find(a->workspace, 0, ch_buf_sv(&a->bytes), name);
}

static void attach_run(struct ch_work *w) {
    struct ch_attachment *a = CH_CONTAINER(w, struct ch_attachment, work);
    const struct ch_path_guard guard = {.workspace = a->workspace, .hide = a->hide};
    int fd = ch_path_open_shown(&guard, a->path, O_CLOEXEC), rc = fd;
    CH_BUF_AUTO secret = {0};
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
        rc = -EINVAL;
    else if (fd >= 0)
        rc = attach_read_all(fd, &a->bytes);
    if (fd >= 0)
        close(fd);
    if (rc < 0)
        snprintf(a->why, sizeof(a->why), "%s",
                 rc == -CH_PATH_EHIDDEN ? "it is hidden" : strerror(-rc));
    else if (!a->bytes.n)
        snprintf(a->why, sizeof(a->why), "it is empty");
    else if (attach_leaks(a, &secret))
        snprintf(a->why, sizeof(a->why), "it holds a secret, %s", ch_buf_str(&secret));
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

/* Files hidden from the agents that use this workspace. A link may lead to such a file now
 * although it did not when the answer was checked. */
static const char *const *hidden_files(struct ch_arena *arena, chela_runtime *rt,
                                       const char *workspace) {
    struct ch_sandbox_policy all = {0};
    for (CH_LIST_EACH(i, &rt->agents)) {
        const chela_agent *agent = CH_CONTAINER(i, chela_agent, link);
        if (!agent->workspace || !agent->sandbox || strcmp(agent->workspace, workspace) != 0)
            continue;
        for (const char *const *p = agent->sandbox->hide; p && *p; p++)
            ch_sandbox_add_hide(arena, &all, *p);
    }
    return all.hide;
}

struct ch_attachment *ch_attach(chela_runtime *rt, const char *workspace, const char *path,
                                ch_attached_fn *fn, void *user) {
    struct ch_attachment *a = ch_alloc(sizeof(*a));
    a->work = (struct ch_work){.run = attach_run, .done = attach_finished, .dropped = attach_drop};
    a->workspace = ch_strdup(workspace);
    a->path = ch_strdup(path);
    a->hide = hidden_files(&a->arena, rt, workspace);
    a->fn = fn;
    a->user = user;
    ch_buf_init(&a->bytes, CH_LIMIT_CHANNEL_FILE + PIECE);
    ch_work_submit(rt->workers, &a->work);
    return a;
}

void ch_attach_drop(struct ch_attachment *a) {
    a->fn = NULL;
}
