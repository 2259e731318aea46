/* acp_files.c -- files as the editor holds them: tools read unsaved text, and the editor
 * writes their changes (tool/call/buffers.h). If the editor refuses to read, the tool uses
 * the file on disk; if the editor refuses to write, the tool fails. */
#include "acp/acp_files.h"

#include <errno.h>

#include "agent/handle/agent.h"
#include "agent/handle/runtime.h"
#include "base/limits.h"
#include "tool/call/buffers.h"

struct file_request { /* in the session's list until the editor answers */
    struct ch_link link;
    struct ch_acp_session *session;
    uint64_t question;
    int64_t request; /* id */
    bool reads;
};

static void on_file_answer(const struct ch_rpc_message *m, const struct chela_error *err,
                           void *user) {
    struct file_request *f = user;
    const struct ch_json *result = err || !m ? NULL : m->result;
    const struct ch_json *text = ch_json_get(result, "content");

    if (f->reads && !ch_json_is(text, CH_JSON_STRING))
        result = NULL;
    ch_list_del(&f->link);
    ch_buffers_answer(f->session->buffers, f->question, result ? 0 : -ECONNREFUSED,
                      ch_json_str(text));
    ch_free(f);
}

static void on_file_question(uint64_t id, const char *path, const struct ch_sv *content,
                             void *user) {
    struct ch_acp_session *s = user;
    CH_BUF_AUTO params = {0};
    struct ch_jw w = ch_jw(&params);
    struct file_request *f = ch_alloc(sizeof(*f));

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "sessionId", s->id);
    ch_jw_kcstr(&w, "path", path);
    if (content)
        ch_jw_kstr(&w, "content", *content);
    ch_jw_end(&w, '}');
    *f = (struct file_request){.session = s, .question = id, .reads = !content};
    ch_list_add(&s->files, &f->link);
    f->request = ch_rpc_call(s->acp->peer, content ? "fs/write_text_file" : "fs/read_text_file",
                             ch_buf_sv(&params), CH_LIMIT_EDITOR_MS, NULL, on_file_answer, f);
}

void ch_acp_files_attach(struct ch_acp_session *s) {
    const struct ch_acp_client *can = &s->acp->client;

    if (!can->reads && !can->writes)
        return;
    if (!s->buffers) {
        struct ch_buffers_opts opts = {.loop = s->acp->rt->loop,
                                       .can_read = can->reads,
                                       .can_write = can->writes,
                                       .ask = on_file_question,
                                       .user = s};
        s->buffers = ch_buffers_new(&opts);
    }
    ch_buffers_ref(s->buffers);
    s->agent->buffers = s->buffers;
}

void ch_acp_files_end(struct ch_acp_session *s) {
    if (!s->buffers)
        return;
    ch_buffers_close(s->buffers);
    for (struct file_request *f; (f = CH_LIST_FIRST(&s->files, struct file_request, link));) {
        ch_rpc_forget(s->acp->peer, f->request, true);
        ch_list_del(&f->link);
        ch_free(f);
    }
    ch_buffers_unref(s->buffers);
    s->buffers = NULL;
}
