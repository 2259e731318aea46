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
    bool compacts, erased;
};

static const struct ch_run_origin none;

static const struct ch_run_origin *origin_of(const chela_run *run) {
    return run->origin ? run->origin : &none;
}

static struct ch_run_origin *origin_to_change(chela_run *run) {
    if (!run->origin)
        run->origin = ch_alloc(sizeof(*run->origin));
    return run->origin;
}

void ch_run_origin_init(chela_run *run, const struct chela_run_opts *opts) {
    struct ch_run_origin *o = origin_to_change(run);
    o->principal = ch_principal_of(opts);
    o->prompt = ch_strdup(opts->prompt);
}

void ch_run_origin_free(chela_run *run) {
    struct ch_run_origin *o = CH_TAKE(run->origin);
    if (!o)
        return;
    ch_principal_release(&o->principal);
    ch_free(o->prompt);
    ch_msg_free(o->input);
    ch_free(o->event);
    ch_free(o->answer_to);
    ch_free(o->drop_if);
    ch_free(o->focus);
    ch_message_origin_release(&o->message_origin);
    ch_free(o);
}

void ch_run_origin_message(chela_run *run, struct ch_msg *input,
                           const struct chela_run_opts *opts) {
    struct ch_run_origin *o = origin_to_change(run);
    o->input = input;
    o->event = ch_strdup(opts->event_id);
    o->answer_to = ch_strdup(opts->answer_to);
    o->drop_if = ch_strdup(opts->drop_if);
    ch_message_origin_set(&o->message_origin, opts->inbound);
}

void ch_run_origin_compact(chela_run *run, const char *focus) {
    struct ch_run_origin *o = origin_to_change(run);
    o->compacts = true;
    o->focus = focus && *focus ? ch_strdup(focus) : NULL;
}

void ch_run_origin_recall(chela_run *run, char *answer_to, char *drop_if) {
    struct ch_run_origin *o = origin_to_change(run);
    o->answer_to = answer_to;
    o->drop_if = drop_if;
}

const struct ch_principal *ch_run_origin_principal(const chela_run *run) {
    return &origin_of(run)->principal;
}

const char *ch_run_origin_prompt(const chela_run *run) {
    return origin_of(run)->prompt;
}

const struct ch_msg *ch_run_origin_input(const chela_run *run) {
    return origin_of(run)->input;
}

struct ch_msg *ch_run_origin_take_input(chela_run *run) {
    struct ch_msg *input = run->origin ? CH_TAKE(run->origin->input) : NULL;
    if (run->origin && memcmp(run->origin, &none, sizeof(none)) == 0)
        ch_run_origin_free(run);
    return input;
}

const char *ch_run_origin_event(const chela_run *run) {
    return origin_of(run)->event;
}

const char *ch_run_origin_drop_if(const chela_run *run) {
    return origin_of(run)->drop_if;
}

const struct ch_message_origin *ch_run_origin_of_message(const chela_run *run) {
    return &origin_of(run)->message_origin;
}

const char *ch_run_origin_answer_to(const chela_run *run) {
    return origin_of(run)->answer_to;
}

void ch_run_origin_answers(chela_run *run, struct ch_message_origin *from, char *to) {
    if (!from->id && !to)
        return;
    struct ch_run_origin *o = origin_to_change(run);
    ch_message_origin_move(&o->message_origin, from);
    if (!to)
        return;
    ch_free(o->answer_to);
    o->answer_to = to;
}

bool ch_run_origin_compacts(const chela_run *run) {
    return origin_of(run)->compacts;
}

const char *ch_run_origin_focus(const chela_run *run) {
    return origin_of(run)->focus;
}

void ch_run_origin_erase(chela_run *run) {
    origin_to_change(run)->erased = true;
}

bool ch_run_origin_is_erased(const chela_run *run) {
    return origin_of(run)->erased;
}
