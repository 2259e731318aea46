/* approval_decision.c -- a decision about a call that needs consent, made in a chat.
 *
 *   a button, /approve --> the channel: may they? --> session --> run goes on
 *
 * Who may answer is the channel's to say; that the id is one that waits is the
 * session's. */
#include "base/error.h"
#include "base/log.h"
#include "gateway/chat/channels.h"

struct deciding {
    struct ch_link link; /* in the chat's decidings */
    struct ch_chat *chat;
    struct ch_lane_wait wait;
    struct ch_arena arena;
    struct ch_decision d; /* in the arena */
    bool in_words;
    struct ch_visit *visit; /* that waits for it; NULL */
    ch_decided_fn *done;
    void *tag;
};

static bool read_word(const char *word, enum chela_decision *out) {
    static const struct {
        const char *word;
        enum chela_decision decision;
    } known[] = {{"allow-once", CHELA_ALLOW_ONCE}, {"allow-always", CHELA_ALLOW_ALWAYS},
                 {"deny", CHELA_DENY}};
    for (size_t i = 0; i < CH_LEN(known); i++)
        if (strcmp(word, known[i].word) == 0) {
            *out = known[i].decision;
            return true;
        }
    return false;
}

static void write_words(struct ch_buf *out, const struct ch_decision *d,
                        const struct chela_error *err) {
    if (err)
        ch_buf_addf(out, "That cannot be decided: %s", err->message);
    else
        ch_buf_addf(out, "%s: %s", strcmp(d->word, "deny") == 0 ? "Denied" : "Allowed",
                    d->approval);
}

static void free_deciding(struct deciding *g) {
    if (g->visit)
        g->visit->left = NULL;
    ch_list_del(&g->link);
    ch_list_del(&g->wait.link);
    ch_arena_release(&g->arena);
    ch_free(g);
}

static void end_deciding(struct deciding *g, const struct chela_error *err) {
    struct ch_chat *chat = g->chat;
    struct ch_approval_prompt *a = ch_approval_prompt_find(chat, ch_sv_str(g->d.approval));
    CH_BUF_AUTO answer = {0};
    if (g->in_words)
        write_words(&answer, &g->d, err);
    else
        chat->channel->ops->decided(chat->channel, &g->d, a ? a->text : "", err, &answer);
    if (a && (!err || err->code == CHELA_EEXIST))
        ch_approval_prompt_free(chat, a);
    g->done(ch_buf_sv(&answer), g->tag);
    free_deciding(g);
}

static int carry_out(struct deciding *g, struct ch_lane *l, struct chela_error *err) {
    enum chela_decision decision = CHELA_UNDECIDED;
    struct chela_error ignored = {0};
    const struct ch_approval_prompt *a = ch_approval_prompt_find(g->chat, ch_sv_str(g->d.approval));
    CH_BUF_AUTO reason = {0};
    ch_buf_addf(&reason, "denied in the chat by %s", g->d.by);
    int rc = ch_desk_furnish(g->chat, l, NULL, err);
    if (rc == 0 && !read_word(g->d.word, &decision))
        rc = ch_fail(err, CHELA_EINVAL, "say allow-once, allow-always or deny");
    if (rc == 0 && a && !a->whole && decision != CHELA_DENY)
        rc = ch_fail(err, CHELA_EPERM, "it was not shown here: allow it in the console");
    if (rc == 0)
        rc = chela_session_approve(l->session, g->d.approval, decision,
                                   decision == CHELA_DENY ? ch_buf_str(&reason) : NULL, err);
    if (rc == 0)
        ch_lane_resume(l, ch_chat_approve(g->chat), &ignored); /* unless others still wait */
    if (rc == 0)
        ch_log(CH_LOG_INFO, "gateway", "%s: %s, by %s", g->d.approval, g->d.word, g->d.by);
    return rc;
}

static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *failed) {
    struct deciding *g = CH_CONTAINER(w, struct deciding, wait);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    int rc = failed ? err.code : carry_out(g, l, &err);
    end_deciding(g, rc < 0 ? &err : NULL);
}

static bool is_here(const struct ch_chat *chat, const struct ch_decision *d) {
    size_t n = strlen(chat->channel->ops->name);
    CH_AUTOFREE char *asked_in = ch_chat_id(d->session);
    return strncmp(d->session, chat->channel->ops->name, n) == 0 && d->session[n] == ':' &&
           (!d->chat || strcmp(d->chat, asked_in) == 0);
}

static struct deciding *start(struct ch_chat *chat, const struct ch_decision *d, bool in_words,
                              ch_decided_fn *done, void *tag) {
    struct deciding *g = ch_alloc(sizeof(*g));
    g->chat = chat;
    g->in_words = in_words;
    g->done = done;
    g->tag = tag;
    g->wait.ready = on_ready;
    const struct ch_approval_prompt *a = ch_approval_prompt_find(chat, ch_sv_str(d->approval));
    const char *session = d->session ? d->session : a ? a->session : "";
    g->d = (struct ch_decision){.session = ch_arena_str(&g->arena, ch_sv_str(session)),
                                .chat = d->chat ? ch_arena_str(&g->arena, ch_sv_str(d->chat))
                                                : NULL,
                                .approval = ch_arena_str(&g->arena, ch_sv_str(d->approval)),
                                .word = ch_arena_str(&g->arena, ch_sv_str(d->word)),
                                .by = ch_arena_str(&g->arena, ch_sv_str(d->by))};
    ch_list_add(&chat->decidings, &g->link);
    return g;
}

static void go_on(struct deciding *g) {
    struct chela_error err = {0};
    struct ch_lane *lane;
    const struct ch_approval_prompt *a = ch_approval_prompt_find(g->chat, ch_sv_str(g->d.approval));
    int rc = is_here(g->chat, &g->d) && (!a || strcmp(a->session, g->d.session) == 0)
                 ? ch_chat_lane(g->chat, g->d.session, &lane, &err)
                 : ch_fail(&err, CHELA_ENOENT, "nothing of that kind waits here");
    if (rc == 0)
        ch_lane_when_ready(lane, &g->wait);
    else
        end_deciding(g, &err);
}

void ch_desk_decide(const struct ch_decision *d, ch_decided_fn *done, void *tag, void *user) {
    go_on(start(user, d, false, done, tag));
}

void ch_desk_decide_in_words(struct ch_chat *chat, const struct ch_decision *d,
                             ch_decided_fn *done, void *tag) {
    go_on(start(chat, d, true, done, tag));
}

static void tell_nobody(struct ch_sv answer, void *tag) {
    (void)answer;
    (void)tag;
}

bool ch_desk_deny(struct ch_chat *chat, const char *session, const char *by) {
    bool any = false;
    struct ch_link *k = chat->asks.head.next, *next;
    for (; k != &chat->asks.head; k = next) {
        const struct ch_approval_prompt *a = CH_CONTAINER(k, struct ch_approval_prompt, link);
        next = k->next;
        if (strcmp(a->session, session) != 0)
            continue;
        struct ch_decision d = {.session = session, .approval = a->id, .word = "deny", .by = by};
        any = true;
        ch_desk_decide_in_words(chat, &d, tell_nobody, NULL);
    }
    return any;
}

/* A callback of the service, which waits for the answer. */

static void on_left(struct ch_visit *v) {
    ((struct deciding *)v->user)->visit = NULL;
}

static void tell_visit(struct ch_sv answer, void *tag) {
    struct deciding *g = tag;
    struct ch_visit *v = CH_TAKE(g->visit);
    CH_BUF_AUTO out = {0};
    if (!v)
        return;
    v->left = NULL;
    ch_buf_add_sv(&out, answer);
    ch_visit_json(v, 200, &out);
}

void ch_desk_visit(struct ch_visit *v, struct ch_chat *chat, const struct ch_decision *d) {
    struct deciding *g = start(chat, d, false, tell_visit, NULL);
    g->tag = g;
    g->visit = v;
    v->user = g;
    v->left = on_left;
    go_on(g);
}

void ch_decisions_release(struct ch_chat *chat) {
    for (struct deciding *g; (g = CH_LIST_FIRST(&chat->decidings, struct deciding, link));) {
        if (g->in_words)
            g->done(ch_sv("", 0), g->tag); /* a parcel, which is no longer of the chat */
        free_deciding(g);
    }
}
