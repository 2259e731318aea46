/* run_origin.c -- see run_origin.h. */
#include "agent/handle/run_origin.h"

#include "agent/machine/message_origin.h"
#include "agent/machine/principal.h"
struct ch_run_origin {
    struct ch_principal principal;
    char *prompt;
    struct ch_msg *input;
    char *event, *answer_to, *drop_if, *focus; /* owned; NULL: none */
    struct ch_message_origin message_origin;
    bool compacts;
};

const size_t ch_run_origin_size = sizeof(struct ch_run_origin);

void ch_run_origin_init(chela_run *run, const struct chela_run_opts *opts) {
    run->origin->principal = ch_principal_of(opts);
    run->origin->prompt = ch_strdup(opts->prompt);
}

void ch_run_origin_release(chela_run *run) {
    struct ch_run_origin *o = run->origin;
    ch_principal_release(&o->principal);
    ch_free(o->prompt);
    ch_msg_free(o->input);
    ch_free(o->event);
    ch_free(o->answer_to);
    ch_free(o->drop_if);
    ch_free(o->focus);
    ch_message_origin_release(&o->message_origin);
}

void ch_run_origin_message(chela_run *run, struct ch_msg *input,
                           const struct chela_run_opts *opts) {
    struct ch_run_origin *o = run->origin;
    o->input = input;
    o->event = ch_strdup(opts->event_id);
    o->answer_to = ch_strdup(opts->answer_to);
    o->drop_if = ch_strdup(opts->drop_if);
}

void ch_run_origin_compact(chela_run *run, const char *focus) {
    run->origin->compacts = true;
    run->origin->focus = focus && *focus ? ch_strdup(focus) : NULL;
}

void ch_run_origin_recall(chela_run *run, char *answer_to, char *drop_if) {
    run->origin->answer_to = answer_to;
    run->origin->drop_if = drop_if;
}

const struct ch_principal *ch_run_origin_principal(const chela_run *run) {
    return &run->origin->principal;
}

const char *ch_run_origin_prompt(const chela_run *run) {
    return run->origin->prompt;
}

const struct ch_msg *ch_run_origin_input(const chela_run *run) {
    return run->origin->input;
}

struct ch_msg *ch_run_origin_take_input(chela_run *run) {
    return CH_TAKE(run->origin->input);
}

const char *ch_run_origin_event(const chela_run *run) {
    return run->origin->event;
}

const char *ch_run_origin_drop_if(const chela_run *run) {
    return run->origin->drop_if;
}

struct ch_message_origin *ch_run_origin_of_message(const chela_run *run) {
    return &run->origin->message_origin;
}

const char *ch_run_origin_answer_to(const chela_run *run) {
    return run->origin->answer_to;
}

void ch_run_origin_set_answer_to(chela_run *run, char *to) {
    ch_free(run->origin->answer_to);
    run->origin->answer_to = to;
}

bool ch_run_origin_compacts(const chela_run *run) {
    return run->origin->compacts;
}

const char *ch_run_origin_focus(const chela_run *run) {
    return run->origin->focus;
}
