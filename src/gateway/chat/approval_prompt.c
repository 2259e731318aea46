/* approval_prompt.c -- see approval_prompt.h.
 *
 *   call needs consent --> run paused, stored --> question in the outbox --> chat
 *
 * A question shows the call in full, with place-holders for known secrets; a call that is too long
 * for the chat, or holds a secret in another form, cannot be allowed there. The question's key in
 * the outbox is the id of the approval, so people see it once, even if the process dies and the
 * next one asks again. */
#include "gateway/chat/approval_prompt.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/say.h"
#include "channel/kit.h"
#include "gateway/chat/chat_service.h"
#include "gateway/request/gateway_state.h"

enum chela_approve ch_approval_prompt_policy(const struct ch_chat_service *chat) {
    return ch_channel_is_owner(chat->channel, NULL) ? CHELA_APPROVE_ASK : CHELA_APPROVE_DENY;
}

void ch_approval_prompt_free(struct ch_chat_service *chat, struct ch_approval_prompt *a) {
    chat->napproval_prompts--;
    ch_list_del(&a->link);
    ch_free(a->session);
    ch_free(a->id);
    ch_free(a->text);
    ch_free(a);
}

struct ch_approval_prompt *ch_approval_prompt_find(const struct ch_chat_service *chat,
                                                   struct ch_sv id) {
    for (CH_LIST_EACH(k, &chat->approval_prompts)) {
        struct ch_approval_prompt *a = CH_CONTAINER(k, struct ch_approval_prompt, link);
        if (ch_sv_is(id, a->id))
            return a;
    }
    return NULL;
}

/* How to decide, for a channel without buttons. */
static void approval_prompt_explain(const struct ch_chat_service *chat, const char *id,
                                    enum chela_language language, struct ch_buf *out) {
    if (!(chat->channel->ops->features & CHELA_CHANNEL_BUTTONS))
        ch_kit_decide(out, ch_say(CH_SAY_ASKS, language), id);
}

/* The line above the call, in the language of the person who caused it. */
static void add_line(enum chela_language language, struct ch_buf *out) {
    const char *asks = ch_say(CH_SAY_ASKS, language);
    if (*asks)
        ch_buf_addf(out, "%s\n", asks);
}

static struct ch_approval_prompt *approval_prompt_new(struct ch_chat_service *chat,
                                                      const char *session, struct ch_sv id,
                                                      struct ch_sv given,
                                                      enum chela_language language) {
    struct ch_approval_prompt *a = ch_approval_prompt_find(chat, id);
    CH_BUF_AUTO text = {0}, how = {0}, masked = {0}, secret = {0};
    if (a)
        return a;
    char bytes[24];
    add_line(language, &masked);
    bool shown = ch_channel_mask(chat->channel, given, &masked, &secret);
    struct ch_sv summary = ch_buf_sv(&masked);
    snprintf(bytes, sizeof(bytes), "%zu", summary.n);
    a = ch_alloc(sizeof(*a));
    a->session = ch_strdup(session);
    a->id = ch_strndup(id.p, id.n);
    approval_prompt_explain(chat, a->id, language, &how);
    a->whole = shown && summary.n + how.n <= ch_channel_most_question(chat->channel);
    if (a->whole)
        ch_buf_add_sv(&text, summary);
    else if (!shown)
        ch_say_add(&text, CH_SAY_ASK_SECRET, language, CH_SAY_VALUES(ch_buf_sv(&secret), id));
    else
        ch_say_add(&text, CH_SAY_ASK_TOO_LONG, language, CH_SAY_VALUES(ch_sv_str(bytes), id));
    a->text = ch_buf_take(&text);
    ch_list_add(&chat->approval_prompts, &a->link);
    if (++chat->napproval_prompts > CH_LIMIT_APPROVAL_PROMPTS)
        ch_approval_prompt_free(
            chat, CH_LIST_FIRST(&chat->approval_prompts, struct ch_approval_prompt, link));
    return a;
}

void ch_approval_prompt_send(struct ch_chat_service *chat, const char *session, const char *to,
                             struct ch_sv id, struct ch_sv summary, enum chela_language language) {
    struct ch_approval_prompt *a = approval_prompt_new(chat, session, id, summary, language);
    struct chela_error err = {0};
    CH_BUF_AUTO key = {0}, text = {0};
    ch_buf_addf(&key, "ask:%s", a->id);
    ch_buf_add_str(&text, a->text);
    if (a->whole)
        approval_prompt_explain(chat, a->id, language, &text);
    struct chela_outbound m =
        CHELA_OUTBOUND(.key = ch_buf_str(&key), .session = session,
                       .channel = chat->channel->ops->name, .to = to, .text = ch_buf_str(&text),
                       .approval = a->whole ? a->id : NULL);
    if (chela_outbox_put(chat->gw->rt, &m, NULL, NULL, &err) < 0)
        ch_log(CH_LOG_WARN, "gateway", "the question about %s cannot be sent: %s", a->id,
               err.message);
}

void ch_approval_prompts_forget(struct ch_chat_service *chat, const char *session) {
    struct ch_link *k = chat->approval_prompts.head.next, *next;
    for (; k != &chat->approval_prompts.head; k = next) {
        struct ch_approval_prompt *a = CH_CONTAINER(k, struct ch_approval_prompt, link);
        next = k->next;
        if (strcmp(a->session, session) == 0)
            ch_approval_prompt_free(chat, a);
    }
}

void ch_approval_prompts_release(struct ch_chat_service *chat) {
    for (struct ch_approval_prompt *a;
         (a = CH_LIST_FIRST(&chat->approval_prompts, struct ch_approval_prompt, link));)
        ch_approval_prompt_free(chat, a);
}
