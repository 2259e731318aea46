/* aftermath.c -- see aftermath.h. */
#include "tool/call/aftermath.h"

#include "tool/call/consent.h"
#include "tool/result/display.h"

struct ch_aftermath {
    struct ch_held *held;
    size_t n;
    const char *text;
};

void ch_aftermath_set(chela_call *call, const struct ch_held_list *held) {
    CH_BUF_AUTO text = {0};

    if (!held || !held->n)
        return;
    struct ch_aftermath *a = CH_ARENA_NEW(&call->arena, struct ch_aftermath);
    a->held = ch_arena_alloc(&call->arena, held->n * sizeof(*a->held));
    a->n = held->n;
    for (size_t i = 0; i < held->n; i++)
        a->held[i] = (struct ch_held){
            .dir = ch_arena_str(&call->arena, ch_sv_str(held->v[i].dir)),
            .name = ch_arena_str(&call->arena, ch_sv_str(held->v[i].name)),
            .now = ch_arena_str(&call->arena, ch_sv_str(held->v[i].now)),
        };
    ch_buf_addf(&text, "%s left files that programs outside of the sandbox execute or obey. Put "
                       "these files back?\n",
                call->name);
    ch_held_text(held, call->workspace, &text);
    a->text = ch_arena_str(&call->arena, ch_buf_sv(&text));
    call->aftermath = a;
}

bool ch_aftermath_asks(chela_call *call) {
    if (!call->aftermath || !call->env->ask || call->env->ask_means == CH_CONSENT_DENY)
        return false;
    call->state = CH_CALL_ASKING;
    call->approval_id = NULL;
    return true;
}

void ch_aftermath_ask(chela_call *call) {
    struct ch_sha256 h;
    unsigned char digest[CH_SHA256_SIZE];

    ch_sha256_init(&h);
    ch_sha256_add(&h, call->aftermath->text, strlen(call->aftermath->text));
    ch_sha256_end(&h, digest);
    ch_consent_ask(call, ch_sv_str(call->aftermath->text), "files that are there already", digest);
}

void ch_aftermath_answer(chela_call *call, enum chela_decision decision) {
    struct ch_aftermath *a = call->aftermath;
    bool yes = decision == CHELA_ALLOW_ONCE || decision == CHELA_ALLOW_ALWAYS;
    int rc = 0;

    for (size_t i = 0; yes && i < a->n; i++)
        rc = CH_MIN(rc, ch_held_restore(&a->held[i]));
    ch_buf_add_str(&call->made.content,
                   !yes     ? "\n[The user was asked and left the files aside.]"
                   : rc < 0 ? "\n[The user agreed, but a file could not be put back.]"
                            : "\n[The user agreed, and the files were put back.]");
    ch_call_end(call, &call->made);
}
