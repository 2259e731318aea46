/* feishu_fetch.c -- what belongs to a message and has to be asked for: its
 * sender's name, the message that it answers, the files that came with it.
 *
 *   name --> quoted --> file, file ... --> done
 *
 * One after the other; what cannot be had is left out, and nothing here fails.
 * Names and texts are what people wrote. Files go into the workspace, below
 * inbound/, under names of our own, until that is full; the model is told. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/list.h"
#include "base/log.h"
#include "channel/feishu.h"
#include "io/worker.h"

#define FOLDER "inbound"
#define NAMES 256 /* remembered */

struct known {
    struct ch_link link;
    char *id, *name; /* owned; name "": it cannot be had */
};

struct ch_feishu_fetch {
    chela_runtime *rt;
    struct ch_feishu_api *api; /* borrowed */
    struct ch_list names, fetchings; /* names: the oldest first */
    size_t nnames;
};

struct fetching {
    struct ch_link link;
    struct ch_feishu_fetch *from;
    struct ch_feishu_message m; /* in the arena */
    struct ch_arrival *in;
    struct ch_arena *arena;
    char *workspace; /* owned; NULL: files are left alone */
    enum { NAME, QUOTED, FILES } step;
    size_t file;
    struct saving *saving; /* on a worker; NULL */
    struct ch_task end;
    void (*done)(void *tag);
    void *tag;
};

struct saving {
    struct ch_work work;
    struct fetching *f;     /* for the loop; NULL: nobody waits */
    char *workspace, *name; /* owned */
    struct ch_buf bytes;
    int error; /* errno */
};

static void go_on(struct fetching *f);

static void free_fetching(struct fetching *f) {
    if (f->saving)
        f->saving->f = NULL;
    ch_task_cancel(f->from->rt->loop, &f->end);
    ch_list_del(&f->link);
    ch_free(f->workspace);
    ch_free(f);
}

/* --- names */

static void forget(struct ch_feishu_fetch *d, struct known *k) {
    ch_list_del(&k->link);
    d->nnames--;
    ch_free(k->id);
    ch_free(k->name);
    ch_free(k);
}

static const char *recall(const struct ch_feishu_fetch *d, const char *id) {
    for (CH_LIST_EACH(i, &d->names)) {
        const struct known *k = CH_CONTAINER(i, struct known, link);
        if (strcmp(k->id, id) == 0)
            return k->name;
    }
    return NULL;
}

static void remember(struct ch_feishu_fetch *d, const char *id, struct ch_sv name) {
    struct known *k = ch_alloc(sizeof(*k));
    k->id = ch_strdup(id);
    k->name = ch_strndup(name.n ? name.p : "", CH_MIN(name.n, (size_t)CH_LIMIT_INBOUND_NAME));
    ch_list_add(&d->names, &k->link);
    if (++d->nnames > NAMES)
        forget(d, CH_LIST_FIRST(&d->names, struct known, link));
}

static void use_name(struct fetching *f, const char *name) {
    if (*name)
        f->in->about.sender = ch_arena_str(f->arena, ch_sv_str(name));
    go_on(f);
}

static void on_name(const struct ch_feishu_answer *a, void *user) {
    struct fetching *f = user;
    const struct ch_json *who = ch_json_path(a->json, "data", "user", NULL);
    struct ch_sv name = ch_json_get_str(who, "name");
    if (name.n && memchr(name.p, 0, name.n))
        name.n = 0;
    if (a->status) /* an answer, also that we may not know */
        remember(f->from, f->m.open_id, name);
    use_name(f, name.n ? ch_arena_str(f->arena, name) : "");
}

/* Between two everybody knows who is who. */
static void ask_name(struct fetching *f) {
    const char *name = f->m.open_id && !f->m.direct ? recall(f->from, f->m.open_id) : "";
    CH_BUF_AUTO path = {0};
    if (name) {
        use_name(f, name);
        return;
    }
    ch_buf_addf(&path, "/open-apis/contact/v3/users/%s?user_id_type=open_id", f->m.open_id);
    ch_feishu_call(f->from->api, "GET", ch_buf_str(&path), NULL, on_name, f);
}

/* --- what it answers */

static void on_quoted(const struct ch_feishu_answer *a, void *user) {
    struct fetching *f = user;
    const struct ch_json *item = ch_json_at(ch_json_path(a->json, "data", "items", NULL), 0);
    struct ch_sv text;
    if (item && ch_feishu_words(ch_json_get_str(item, "msg_type"),
                                ch_json_get_str(ch_json_get(item, "body"), "content"),
                                ch_json_get(item, "mentions"), f->arena, &text) == 0) {
        struct chela_beside *b = CH_ARENA_NEW(f->arena, struct chela_beside);
        struct ch_sv who = ch_json_get_str(ch_json_get(item, "sender"), "id");
        b->message_id = f->m.parent;
        b->sender = who.n && !memchr(who.p, 0, who.n) ? ch_arena_str(f->arena, who) : NULL;
        b->text = ch_arena_str(f->arena, text);
        f->in->about.quoted = b;
    }
    go_on(f);
}

static void ask_quoted(struct fetching *f) {
    CH_BUF_AUTO path = {0};
    if (!f->m.parent) {
        go_on(f);
        return;
    }
    ch_buf_addf(&path, "/open-apis/im/v1/messages/%s", f->m.parent);
    ch_feishu_call(f->from->api, "GET", ch_buf_str(&path), NULL, on_quoted, f);
}

/* --- files */

static void drop_saving(struct ch_work *w) {
    struct saving *s = CH_CONTAINER(w, struct saving, work);
    ch_free(s->workspace);
    ch_free(s->name);
    ch_buf_release(&s->bytes);
    ch_free(s);
}

static bool write_all(int fd, struct ch_sv bytes) {
    while (bytes.n) {
        ssize_t n = write(fd, bytes.p, bytes.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes = ch_sv(bytes.p + n, bytes.n - (size_t)n);
    }
    return true;
}

/* No link is followed below the workspace: what a tool left there decides
 * nothing. -1: errno says why. */
static int open_folder(const char *workspace) {
    int top = open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return -1;
    mkdirat(top, FOLDER, 0700); /* it may be there */
    int dir = openat(top, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int why = errno;
    close(top);
    errno = why;
    return dir;
}

/* Is there room for n bytes more, in the place of `name`? 0, or an errno. Files
 * that are saved at the same time do not see each other. */
static int check_room(int dir, const char *name, size_t n) {
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    uint64_t bytes = n;
    size_t files = 1;
    if (!d) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return why;
    }
    for (struct dirent *e; (e = readdir(d));) {
        struct stat st;
        if (strcmp(e->d_name, name) == 0 ||
            fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
            continue;
        bytes += (uint64_t)st.st_size;
        files++;
    }
    closedir(d);
    return bytes > CH_LIMIT_INBOUND_FOLDER || files > CH_LIMIT_INBOUND_FILES ? EDQUOT : 0;
}

/* The same message again replaces its own file; half a file is none. */
static int save_in(int dir, const char *name, struct ch_sv bytes) {
    int why = check_room(dir, name, bytes.n);
    if (why)
        return why;
    unlinkat(dir, name, 0);
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    why = write_all(fd, bytes) ? 0 : errno;
    close(fd);
    if (why)
        unlinkat(dir, name, 0);
    return why;
}

static void save(struct ch_work *w) {
    struct saving *s = CH_CONTAINER(w, struct saving, work);
    int dir = open_folder(s->workspace);
    s->error = dir < 0 ? errno : save_in(dir, s->name, ch_buf_sv(&s->bytes));
    if (dir >= 0)
        close(dir);
}

static void saved(struct ch_work *w) {
    struct saving *s = CH_CONTAINER(w, struct saving, work);
    struct fetching *f = s->f;
    if (!f) {
        drop_saving(w);
        return;
    }
    f->saving = NULL;
    if (s->error)
        ch_log(CH_LOG_WARN, "feishu", "a file of message %s cannot be kept: %s", f->m.id,
               strerror(s->error));
    if (s->error == EDQUOT)
        f->in->text = ch_arena_printf(f->arena, "%s\n[not saved: " FOLDER "/ is full]",
                                      f->in->text);
    else if (!s->error)
        f->in->text = ch_arena_printf(f->arena, "%s\n[saved as " FOLDER "/%s]", f->in->text,
                                      s->name);
    drop_saving(w);
    go_on(f);
}

static bool begins(struct ch_sv bytes, const char *with, size_t n) {
    return bytes.n >= n && memcmp(bytes.p, with, n) == 0;
}

/* ".pdf" of "report.pdf"; of a picture, what its bytes are. */
static void add_ending(struct ch_buf *out, struct ch_sv name, struct ch_sv bytes) {
    const char *dot = name.n ? memrchr(name.p, '.', name.n) : NULL;
    size_t n = dot ? name.n - (size_t)(dot + 1 - name.p) : 0;
    bool plain = n >= 1 && n <= 8;
    for (size_t i = 0; plain && i < n; i++)
        plain = isalnum((unsigned char)dot[1 + i]) && (unsigned char)dot[1 + i] < 128;
    if (plain)
        ch_buf_addf(out, ".%.*s", (int)n, dot + 1);
    else if (begins(bytes, "\x89PNG", 4))
        ch_buf_add_str(out, ".png");
    else if (begins(bytes, "\xff\xd8\xff", 3))
        ch_buf_add_str(out, ".jpg");
    else if (begins(bytes, "GIF8", 4))
        ch_buf_add_str(out, ".gif");
    else if (begins(bytes, "RIFF", 4))
        ch_buf_add_str(out, ".webp");
}

static void on_file(const struct ch_feishu_answer *a, void *user) {
    struct fetching *f = user;
    const struct ch_feishu_file *file = &f->m.files[f->file++];
    CH_BUF_AUTO name = {0};
    if (a->code != 0 || !a->body.n) {
        ch_log(CH_LOG_WARN, "feishu", "a file of message %s cannot be had: %s", f->m.id,
               a->why ? a->why : "it is empty");
        go_on(f);
        return;
    }
    struct saving *s = ch_alloc(sizeof(*s));
    ch_buf_addf(&name, "%s-%zu", f->m.id, f->file);
    add_ending(&name, file->name, a->body);
    s->work = (struct ch_work){.run = save, .done = saved, .dropped = drop_saving};
    s->f = f;
    s->workspace = ch_strdup(f->workspace);
    s->name = ch_buf_take(&name);
    ch_buf_add_sv(&s->bytes, a->body);
    f->saving = s;
    ch_work_submit(f->from->rt->workers, &s->work);
}

static void ask_file(struct fetching *f) {
    const struct ch_feishu_file *file = &f->m.files[f->file];
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path, "/open-apis/im/v1/messages/%s/resources/%s?type=%s", f->m.id, file->key,
                file->picture ? "image" : "file");
    ch_feishu_download(f->from->api, ch_buf_str(&path), on_file, f);
}

/* --- all of it */

static void finish(struct ch_task *t) {
    struct fetching *f = CH_CONTAINER(t, struct fetching, end);
    void (*done)(void *) = f->done;
    void *tag = f->tag;
    free_fetching(f);
    done(tag);
}

static void go_on(struct fetching *f) {
    if (f->step == NAME) {
        f->step = QUOTED;
        ask_quoted(f);
    } else if (f->workspace && f->file < f->m.nfiles) {
        f->step = FILES;
        ask_file(f);
    } else {
        f->end.fn = finish;
        ch_task_defer(f->from->rt->loop, &f->end);
    }
}

void ch_feishu_prepare(struct ch_feishu_fetch *d, const struct ch_feishu_message *m,
                       struct ch_arrival *in, struct ch_arena *a, const char *workspace,
                       void (*done)(void *), void *tag) {
    struct fetching *f = ch_alloc(sizeof(*f));
    f->from = d;
    f->m = *m;
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
    ch_list_init(&d->names);
    ch_list_init(&d->fetchings);
    return d;
}

void ch_feishu_fetch_free(struct ch_feishu_fetch *d) {
    if (!d)
        return;
    for (struct fetching *f; (f = CH_LIST_FIRST(&d->fetchings, struct fetching, link));)
        free_fetching(f);
    for (struct known *k; (k = CH_LIST_FIRST(&d->names, struct known, link));)
        forget(d, k);
    ch_free(d);
}
