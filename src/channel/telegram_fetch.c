/* telegram_fetch.c -- downloads the file of a message.
 *
 *       getFile --path--> GET --bytes--> into the workspace --> done
 *
 * If the file is unavailable, the message's text says so; nothing fails. */
#include "channel/telegram_fetch.h"

#include "base/limits.h"
#include "base/log.h"
#include "channel/files.h"
#include "channel/telegram.h"
#include "channel/telegram_api.h"

struct fetching {
    struct ch_link link;
    struct ch_telegram *t;
    const struct ch_telegram_file *file; /* in the arena */
    struct chela_channel_arrival *in;
    struct ch_arena *arena;
    char *workspace; /* owned; NULL: not saved */
    struct ch_filing *filing;
    struct ch_task end;
    void (*done)(void *tag);
    void *tag;
};

static void telegram_fetch_free(struct fetching *f) {
    if (f->filing)
        ch_filing_drop(f->filing);
    ch_task_cancel(f->t->host.rt->loop, &f->end);
    ch_list_del(&f->link);
    ch_free(f->workspace);
    ch_free(f);
}

static void telegram_fetch_finish(struct ch_task *task) {
    struct fetching *f = CH_CONTAINER(task, struct fetching, end);
    void (*done)(void *) = f->done;
    void *tag = f->tag;
    telegram_fetch_free(f);
    done(tag);
}

static void telegram_fetch_end(struct fetching *f) {
    f->end.fn = telegram_fetch_finish;
    ch_task_defer(f->t->host.rt->loop, &f->end);
}

static void telegram_fetch_give_up(struct fetching *f, const char *told, const char *why) {
    ch_log(CH_LOG_WARN, "telegram", "the file of message %s cannot be fetched: %s",
           f->in->about.message_id, why);
    f->in->text = ch_arena_printf(f->arena, "%s\n[%s]", f->in->text, told);
    telegram_fetch_end(f);
}

static void telegram_fetch_on_filed(void *tag) {
    struct fetching *f = tag;
    f->filing = NULL;
    telegram_fetch_end(f);
}

static void telegram_fetch_on_bytes(const struct ch_web_answer *a, void *user) {
    struct fetching *f = user;
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO stem = {0};
    if (a->why || a->status != 200 || !a->text.n) {
        telegram_fetch_give_up(f, "it could not be fetched",
                               a->status == 200 && !a->why ? "it is empty"
                                                           : ch_telegram_why(a, &arena));
        return;
    }
    ch_buf_addf(&stem, "tg%s-%s", f->in->about.chat_id, f->in->about.message_id);
    struct ch_file taken = {ch_buf_str(&stem), f->file->name, a->text};
    f->filing = ch_file_take(f->t->host.rt, f->in, f->arena, f->workspace, &taken,
                             telegram_fetch_on_filed, f);
}

/* The path becomes part of a URL that contains the token. */
static bool telegram_fetch_is_path(struct ch_sv path) {
    static const char plain[] = "0123456789_-./"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (size_t i = 0; i < path.n; i++)
        if (!path.p[i] || !strchr(plain, path.p[i]))
            return false;
    return path.n && path.p[0] != '/' && !memmem(path.p, path.n, "..", 2);
}

static void on_place(const struct ch_web_answer *a, void *user) {
    struct fetching *f = user;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *file = ch_json_get(a->json, "result");
    struct ch_sv path = ch_json_get_str(file, "file_path");
    if (!ch_telegram_ok(a))
        telegram_fetch_give_up(f, "it could not be fetched", ch_telegram_why(a, &arena));
    else if (!telegram_fetch_is_path(path))
        telegram_fetch_give_up(f, "it could not be fetched",
                               "the service does not say where it is");
    else
        ch_telegram_download(f->t, ch_arena_str(&arena, path), telegram_fetch_on_bytes, f);
}

static void telegram_fetch_ask(struct fetching *f) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "file_id", f->file->id);
    ch_jw_end(&w, '}');
    ch_telegram_call(f->t, "getFile", &body, on_place, f);
}

void ch_telegram_prepare(void *c, struct chela_channel_arrival *in, struct ch_arena *a,
                         const char *workspace, void (*done)(void *tag), void *tag) {
    struct ch_telegram *t = ch_telegram_of(c);
    struct fetching *f = ch_alloc(sizeof(*f));
    f->t = t;
    f->in = in;
    f->arena = a;
    f->workspace = workspace ? ch_strdup(workspace) : NULL;
    f->done = done;
    f->tag = tag;
    ch_list_add(&t->fetchings, &f->link);
    f->file = &((const struct ch_telegram_message *)in->message)->file;
    if (!f->file->id || (!workspace && !f->file->picture))
        telegram_fetch_end(f);
    else if (f->file->size > (int64_t)CH_LIMIT_CHANNEL_FILE)
        telegram_fetch_give_up(f, "it is too large to be fetched", "it is too large");
    else
        telegram_fetch_ask(f);
}

void ch_telegram_fetch_release(struct ch_telegram *t) {
    for (struct fetching *f; (f = CH_LIST_FIRST(&t->fetchings, struct fetching, link));)
        telegram_fetch_free(f);
}
