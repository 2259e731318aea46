/* toolkit.c -- see toolkit.h. */
#include "support/toolkit.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tool/process/sandbox_policy.h"

static void note(struct kit *k, const char *what, const struct ch_block *call) {
    ch_buf_addf(&k->log, "%s %.*s;", what, CH_SV_FMT(call->id));
}

static void on_started(const struct ch_block *call, void *user) {
    note(user, "started", call);
}

static void on_progress(const struct ch_block *call, struct ch_sv text, void *user) {
    struct kit *k = user;

    ch_buf_addf(&k->log, "progress %.*s %.*s;", CH_SV_FMT(call->id), CH_SV_FMT(text));
}

static char *copy(struct ch_sv s) {
    return ch_strndup(s.p, s.n);
}

static void on_finished(const struct ch_block *call, const struct ch_result *r, void *user) {
    struct kit *k = user;

    note(k, r->is_error ? "failed" : "finished", call);
    ch_free(k->content);
    ch_free(k->details);
    k->content = copy(r->content);
    k->details = copy(r->details);
    k->is_error = r->is_error;
    k->truncated = r->truncated;
    k->error_type = r->error_type;
}

static void on_client(const struct ch_block *call, void *user) {
    note(user, "client", call);
}

static void on_over(size_t waiting, void *user) {
    struct kit *k = user;

    ch_buf_addf(&k->log, "over %zu;", waiting);
    k->over = true;
    k->waiting = waiting;
}

/* Programs run without a sandbox unless a test sets a policy. */
static const struct ch_sandbox_policy no_sandbox = {.mode = CH_SANDBOX_OFF};

void kit_init(struct kit *k) {
    const char *tmp = getenv("TMPDIR");
    CH_BUF_AUTO name = {0};

    *k = (struct kit){0};
    ch_buf_addf(&name, "%s/chela-tool-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(name.p));
    k->dir = ch_strdup(name.p);
    k->workspace = kit_path(k, "../ws");
    assert_int_equal(mkdir(k->workspace, 0755), 0);
    assert_int_equal(ch_loop_new(NULL, NULL, &k->loop, NULL), 0);
    k->workers = ch_workers_new(k->loop, 16);
    k->ops = (struct ch_batch_ops){
        .started = on_started,
        .progress = on_progress,
        .finished = on_finished,
        .client = on_client,
        .over = on_over,
    };
    k->opts = (struct ch_batch_opts){
        .loop = k->loop,
        .sandbox = &no_sandbox,
        .workers = k->workers,
        .registry = &k->registry,
        .workspace = k->workspace,
        .session = "s",
        .run = "r",
        .turn = 1,
        .max_calls = SIZE_MAX,
    };
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* A sandbox that has just ended may still be removing its own files. */
static void remove_all(const char *dir) {
    for (int i = 0; i < 1000 && nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0; i++) {
        if (access(dir, F_OK) < 0)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

void kit_end(struct kit *k) {
    ch_batch_close(k->batch);
    k->batch = NULL;
    ch_msg_free(k->reply);
    k->reply = NULL;
    ch_msg_free(k->results);
    k->results = NULL;
    ch_buf_clear(&k->log);
}

void kit_free(struct kit *k) {
    kit_end(k);
    ch_registry_release(&k->registry);
    ch_workers_free(k->workers);
    ch_loop_close(k->loop, NULL, NULL);
    remove_all(k->dir);
    ch_buf_release(&k->log);
    ch_free(k->content);
    ch_free(k->details);
    ch_free(k->workspace);
    ch_free(k->dir);
}

void kit_start(struct kit *k, const struct kit_call *calls, size_t n) {
    struct ch_block *blocks = ch_alloc(n * sizeof(*blocks));

    kit_end(k);
    k->over = false;
    for (size_t i = 0; i < n; i++)
        blocks[i] = (struct ch_block){
            .type = CH_BLOCK_TOOL_CALL,
            .flags = (uint8_t)calls[i].flags,
            .id = ch_sv_str(calls[i].id),
            .name = ch_sv_str(calls[i].name),
            .text = ch_sv_str(calls[i].arguments),
        };
    k->reply = ch_msg_by(CH_MSG_ASSISTANT, blocks, n,
                         &(struct ch_msg_author){.api = "test", .model = CH_SV("m")}, 0);
    ch_free(blocks);
    k->opts.ops = &k->ops;
    k->opts.user = k;
    k->batch = ch_batch_start(k->reply, &k->opts);
}

void kit_wait(struct kit *k) {
    assert_int_equal(ch_loop_run(k->loop, &k->over), 0);
}

const char *kit_call(struct kit *k, const char *name, const char *arguments) {
    struct kit_call call = {"c", name, arguments, 0};

    kit_start(k, &call, 1);
    kit_wait(k);
    k->results = ch_batch_message(k->batch, 0);
    return k->content;
}

/* --- files */

char *kit_path(struct kit *k, const char *path) {
    CH_BUF_AUTO buf = {0};

    if (strncmp(path, "../", 3) == 0)
        ch_buf_addf(&buf, "%s/%s", k->dir, path + 3);
    else
        ch_buf_addf(&buf, "%s/%s", k->workspace, path);
    return ch_buf_take(&buf);
}

void kit_put_bytes(struct kit *k, const char *path, const void *p, size_t n) {
    CH_AUTOFREE char *full = kit_path(k, path);
    int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, p, n), n);
    close(fd);
}

void kit_put(struct kit *k, const char *path, const char *content) {
    kit_put_bytes(k, path, content, strlen(content));
}

void kit_mkdir(struct kit *k, const char *path) {
    CH_AUTOFREE char *full = kit_path(k, path);

    assert_int_equal(mkdir(full, 0755), 0);
}

void kit_link(struct kit *k, const char *target, const char *path) {
    CH_AUTOFREE char *full = kit_path(k, path);

    assert_int_equal(symlink(target, full), 0);
}

char *kit_get(struct kit *k, const char *path) {
    CH_AUTOFREE char *full = kit_path(k, path);
    CH_BUF_AUTO buf = {0};
    int fd = open(full, O_RDONLY);
    ssize_t n = 0;

    if (fd < 0)
        return NULL;
    do {
        char *at = ch_buf_reserve(&buf, 65536);
        n = read(fd, at, 65536);
        ch_buf_commit(&buf, n > 0 ? (size_t)n : 0);
    } while (n > 0);
    close(fd);
    return ch_buf_take(&buf);
}

int kit_entries(struct kit *k, const char *path) {
    CH_AUTOFREE char *full = kit_path(k, path);
    DIR *d = opendir(full);
    int n = 0;

    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

int64_t kit_ms(void) {
    return ch_mono_ms(&ch_clock_system);
}
