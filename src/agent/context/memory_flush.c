/* memory_flush.c -- see memory_flush.h. */
#include "agent/context/memory_flush.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/utf8.h"
#include "json/writer.h"
#include "tool/builtin/chat/memory.h"

struct ch_memory_flush {
    struct ch_msg *reply; /* owned: message that holds the call */
    struct ch_batch *batch;
    void (*done)(void *user);
    void *user;
};

void ch_memory_flush_cancel(struct ch_memory_flush *f) {
    if (!f)
        return;
    ch_batch_close(f->batch);
    ch_msg_free(f->reply);
    ch_free(f);
}

static void memory_flush_finished(const struct ch_block *call, const struct ch_result *r,
                                  void *user) {
    (void)call;
    (void)user;
    ch_log(CH_LOG_INFO, "context", "notes before a compaction: %.*s", CH_SV_FMT(r->content));
}

static void memory_flush_over(size_t waiting, void *user) {
    struct ch_memory_flush *f = user;
    (void)waiting;
    f->done(f->user);
}

static bool may_write(const chela_run *run) {
    const struct ch_tool *t =
        ch_registry_find(&run->session->agent->registry, CH_SV(CH_MEMORY_WRITE_TOOL));
    return t && ch_policy_allows(&run->permit.policy, CH_SV(CH_MEMORY_WRITE_TOOL), t->permission);
}

struct ch_memory_flush *ch_memory_flush_start(chela_run *run, struct ch_sv notes,
                                              void (*done)(void *user), void *user) {
    static const struct ch_batch_ops ops = {.finished = memory_flush_finished,
                                            .over = memory_flush_over};
    chela_session *s = run->session;
    const chela_agent *a = s->agent;
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    if (!notes.n || !may_write(run))
        return NULL;
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "text", ch_utf8_cut(notes, CH_LIMIT_NOTE_TEXT));
    ch_jw_end(&w, '}');
    struct ch_block call = {.type = CH_BLOCK_TOOL_CALL, .id = CH_SV("notes"),
                            .name = CH_SV(CH_MEMORY_WRITE_TOOL), .text = ch_buf_sv(&json)};
    struct ch_memory_flush *f = ch_alloc(sizeof(*f));
    f->done = done;
    f->user = user;
    f->reply = ch_msg_new(CH_MSG_ASSISTANT, &call, 1, 0);
    struct ch_batch_opts opts = {.loop = run->loop,
                                 .workers = a->rt->workers,
                                 .registry = &a->registry,
                                 .workspace = a->workspace,
                                 .session = s->key,
                                 .run = run->id,
                                 .max_calls = 1,
                                 .policy = &run->permit.policy,
                                 .approvals = a->approvals,
                                 .ask_means = CH_CONSENT_DENY,
                                 .sandbox = a->sandbox,
                                 .state = &s->state,
                                 .ops = &ops,
                                 .user = f};
    f->batch = ch_batch_start(f->reply, &opts);
    return f;
}
