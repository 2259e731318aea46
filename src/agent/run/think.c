/* think.c -- one model call: build the request, send it, fold the reply.
 *
 *   deliver queued messages -> hooks may patch the turn -> encode new messages
 *   -> transport -> decoder -> events as they come -> reply into transcript
 *
 * The reply joins the transcript only if it is good: a failed, cut off or
 * refused reply leaves no trace in the history that is sent again. */
#include "agent/run/think.h"

#include "agent/context/compaction.h"
#include "agent/context/context.h"
#include "agent/context/context_budget.h"
#include "agent/context/epoch.h"
#include "agent/context/large_calls.h"
#include "agent/context/reasoning_effort.h"
#include "agent/context/recall.h"
#include "agent/context/repair.h"
#include "agent/context/reply_directives.h"
#include "agent/context/reply_extras.h"
#include "agent/context/service_compaction.h"
#include "agent/context/tool_choice.h"
#include "agent/context/tool_embedding.h"
#include "agent/handle/hooks.h"
#include "agent/handle/listener.h"
#include "agent/handle/lookup.h"
#include "agent/handle/run.h"
#include "agent/handle/run_origin.h"
#include "agent/handle/run_outcome.h"
#include "agent/journal/emit.h"
#include "agent/journal/request_record.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/event.h"
#include "agent/machine/output.h"
#include "agent/machine/run.h"
#include "agent/run/act.h"
#include "agent/run/deliver.h"
#include "agent/run/driver.h"
#include "agent/run/feature.h"
#include "agent/run/parent.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "model/catalog/model_facts.h"
#include "model/codec/compacted.h"
#include "model/codec/decoder.h"
#include "model/codec/encoder.h"
#include "model/codec/fold.h"
#include "model/codec/logprobs.h"
#include "model/provider/context_window.h"
#include "model/provider/shared_head.h"
#include "model/provider/target.h"
#include "model/provider/target_aws.h"
#include "prompt/envelope.h"

/* Texts that few turns have. */
struct turn_texts {
    struct ch_buf complaint; /* for the model: the problem with its reply */
    struct ch_buf citations; /* sources of the last reply, JSON */
    struct ch_buf logprobs;  /* log probabilities of the last reply, JSON */
};

struct ch_think {
    unsigned open;   /* turn whose TURN_END is still to be sent; 0: none */
    unsigned rounds; /* rounds of tools since the last note */
    const char *key; /* API key of the current call */
    struct ch_http_call *call;
    struct ch_sending sending; /* how the call goes out, and where its reply is made */
    struct ch_decoder *decoder; /* owned; NULL: until the response begins */
    struct ch_http_request http;
    struct ch_shared_head *head; /* a reference: has URL and headers of `http` */
    struct ch_sv body[3];
    struct ch_sv server_tools;     /* of the current request, in the run's arena */
    size_t unseen;                 /* bytes of text that came after the run was stopped */
    size_t closed, offered;        /* calls from the first on; offered: to ch_act_read_early */
    struct ch_repair repair;       /* of the current call */
    enum ch_output_way output_way; /* how this turn's request asks for the answer's form */
    struct turn_texts *texts;      /* owned; NULL: none so far */
    char *stop_sequence;           /* owned: that ended the last reply; NULL: none, or unknown */
    enum chela_stop stop_reason;   /* for TURN_END */
    bool decoding;                 /* decoder is initialised */
    bool enough;                   /* the rest of the response does not matter */
    bool output_shown;
    bool warned_price;             /* the warning about an unknown price was emitted */
    bool may_redo;                 /* the host can withdraw text that it showed */
    bool deliver_follow_up;
    size_t noted; /* length of the transcript when tell_note last considered its note */
    size_t urged; /* the same of tell_choice */
};

const size_t ch_think_size = sizeof(struct ch_think);

static void ask_for_reply(void *user);

void ch_think_init(chela_run *run, bool may_redo) {
    run->turn->stop_reason = CHELA_STOP_ERROR;
    run->turn->may_redo = may_redo;
    run->turn->sending.ask = ask_for_reply;
    run->turn->sending.request = &run->turn->http;
}

struct ch_sending *ch_think_sending(chela_run *run) {
    return &run->turn->sending;
}

void ch_think_drop(chela_run *run) {
    if (run->turn->decoding)
        ch_decoder_release(run->turn->decoder);
    run->turn->sending.decoder = NULL;
    run->turn->decoding = false; /* its memory stays: a callback of the decoder may run */
}

static struct turn_texts *need_texts(chela_run *run) {
    if (!run->turn->texts)
        run->turn->texts = ch_alloc(sizeof(*run->turn->texts));
    return run->turn->texts;
}

void ch_think_release(chela_run *run) {
    struct turn_texts *texts = CH_TAKE(run->turn->texts);
    if (texts) {
        ch_buf_release(&texts->complaint);
        ch_buf_release(&texts->citations);
        ch_buf_release(&texts->logprobs);
    }
    ch_free(texts);
    ch_free(run->turn->stop_sequence);
    ch_sending_release(&run->turn->sending);
    ch_free(run->turn->decoder);
    ch_repair_release(&run->turn->repair);
    ch_shared_head_release(run->turn->head);
}

const char *ch_think_key(const chela_run *run) {
    return run->turn->key;
}

void ch_think_stopped(chela_run *run, enum chela_stop reason) {
    run->turn->stop_reason = reason;
}

bool ch_think_reasoning(const chela_run *run, size_t n, struct ch_block *out) {
    const struct ch_think *t = run->turn;
    return t->decoding && t->decoder->fold &&
           ch_fold_nth(t->decoder->fold, CH_BLOCK_REASONING, n, out);
}

struct ch_msg_author ch_think_author(const chela_run *run) {
    return run->turn->decoding ? ch_decoder_author(run->turn->decoder)
                               : (struct ch_msg_author){0};
}

struct ch_buf *ch_think_complaint(chela_run *run) {
    return &need_texts(run)->complaint;
}

struct ch_sv ch_think_citations(const chela_run *run) {
    return run->turn->texts ? ch_buf_sv(&run->turn->texts->citations) : CH_SV("");
}

const char *ch_think_stop_sequence(const chela_run *run) {
    return run->turn->stop_sequence;
}

static struct ch_sv think_logprobs(const chela_run *run) {
    return run->turn->texts ? ch_buf_sv(&run->turn->texts->logprobs) : CH_SV("");
}

bool ch_think_follows_up(const chela_run *run) {
    return run->turn->deliver_follow_up;
}

void ch_think_follow_up(chela_run *run, bool deliver) {
    run->turn->deliver_follow_up = deliver;
}

/* --- messages that wait for the call */

/* Ends the run, unless it was closed, because its history is full. Returns false. */
static bool end_full(chela_run *run) {
    struct chela_error err = {0};
    ch_fail(&err, CHELA_ELIMIT, "the session's history is full");
    if (!run->dead)
        ch_driver_break(run, &err);
    return false;
}

bool ch_think_note(chela_run *run, struct ch_sv text) {
    return ch_deliver_note(run, text) || end_full(run);
}

bool ch_think_deliver(chela_run *run) {
    bool had_ended = run->turn->deliver_follow_up;
    bool complains = run->m.reask || run->m.caution;
    run->turn->deliver_follow_up = false;
    if (run->steering.n > 0 || (had_ended && run->follow_ups.n > 0))
        ch_act_heard(run);
    struct ch_sv complaint = complains ? ch_buf_sv(ch_think_complaint(run)) : CH_SV("");
    return ch_deliver_waiting(run, had_ended, complaint) || end_full(run);
}

/* --- the request */

/* The target of this turn: the one that a hook named, or the chain's. Targets of hooks are
 * kept because the same name is usually asked for again. */
static struct ch_target *find_target(chela_run *run, const char *spec, struct chela_error *err) {
    chela_agent *a = run->session->agent;
    if (!spec)
        return a->targets[run->m.model];
    for (size_t i = 0; i < a->ntargets; i++)
        if (strcmp(a->targets[i]->spec, spec) == 0)
            return a->targets[i];
    for (size_t i = 0; i < a->npatched; i++)
        if (strcmp(a->patched[i]->spec, spec) == 0)
            return a->patched[i];
    struct ch_target *t;
    if (ch_target_new(&a->rt->providers, spec, NULL, &t, err) < 0)
        return NULL;
    a->patched = ch_realloc(a->patched, (a->npatched + 1) * sizeof(struct ch_target *));
    a->patched[a->npatched++] = t;
    return t;
}

/* Chooses the target of this turn, and of its API keys one that is not cooling down. */
static int choose_target(chela_run *run, const char *spec, struct chela_error *err) {
    struct ch_providers *providers = &run->session->agent->rt->providers;
    int64_t now = ch_mono_ms(ch_loop_clock(run->loop));
    run->target = find_target(run, spec, err);
    if (!run->target)
        return err->code;
    ch_context_window_ask(providers, run->target, now);
    ch_learning_apply(providers, run->target, ch_run_now(run));
    ch_target_cooling(run->target, &providers->cooldowns, now, &run->turn->key);
    run->target->ep.api_key = run->turn->key;
    ch_sending_aim(run, &run->turn->sending);
    return 0;
}

/* Lists the tools of the request: those that a hook named, or the selected ones. The output
 * tool comes last in turns that use it. */
static void choose_tools(chela_run *run, const char *only, struct ch_arena *parts,
                         struct ch_model_request *req) {
    const chela_agent *a = run->session->agent;
    const struct ch_policy *p = &run->permit.policy;
    struct ch_tool_def *defs =
        ch_arena_alloc(parts, (a->registry.n + CH_SELECTION_OWN + 1) * sizeof(*defs));
    size_t n = ch_tool_choice_defs(run, only, req, defs);
    if (p->always && run->turn->output_way == CH_OUTPUT_BY_TOOL)
        defs[n++] = ch_tool_def(ch_registry_find(&a->registry, ch_sv_str(p->always)));
    for (size_t i = 0; i < n; i++) {
        defs[i].strict |= a->strict;
        defs[i].strict &= !(run->target->ep.quirks & CH_Q_NO_STRICT);
        run->turn->repair.held |= defs[i].strict ? CH_Q_NO_STRICT : 0;
        defs[i].callers = ch_tool_choice_callers(run, parts, defs[i].name);
    }
    req->tools = defs;
    req->ntools = n;
}

/* The run whose journal has the requests of this run. */
static chela_run *recorder(chela_run *run) {
    return run->session->asks_for ? run->session->asks_for : run;
}

/* Chooses how the request asks for the answer's schema. */
static int choose_output(chela_run *run, struct ch_model_request *req, struct chela_error *err) {
    const struct ch_output *o = run->session->agent->output;
    if (!o)
        return 0;
    int rc = ch_output_way(o, req, &run->turn->output_way, err);
    if (rc < 0)
        return rc;
    ch_output_ask(o, run->turn->output_way, req, &run->arena);
    if (run->turn->output_way == CH_OUTPUT_NATIVE && !ch_output_must_be_native(o))
        run->turn->repair.held |= CH_Q_NO_OUTPUT_SCHEMA;
    return 0;
}

static void force_output(chela_run *run, struct ch_model_request *req) {
    bool alone = req->ntools == 1;
    if (run->turn->output_way != CH_OUTPUT_BY_TOOL || !(alone || run->m.reasked))
        return;
    req->choice = CH_CHOICE_ONE;
    req->choice_name = CH_SV(CH_OUTPUT_TOOL);
}

static bool is_patched(const struct chela_turn_patch *p) {
    return p->system || p->tools || p->tool_choice || p->temperature || p->max_output_tokens ||
           p->reasoning;
}

/* Returns the revision of head and tail; the encoder encodes both again when it changes. */
static uint64_t revision(chela_run *run, const struct chela_turn_patch *patch) {
    chela_session *s = run->session;
    uint64_t tools = s->agent->registry.revision, selected = ch_selection_revision(s->selection);
    bool patched = is_patched(patch) || run->permit.own_policy || run->m.reasked;
    if (patched || s->patched || tools != s->registry_revision ||
        selected != s->selection_revision || s->revision == 0)
        s->revision++;
    s->patched = patched;
    s->registry_revision = tools;
    s->selection_revision = selected;
    return s->revision;
}

static bool has_note(const struct ch_msg *m) {
    const struct ch_block *last = m->nblocks ? &m->blocks[m->nblocks - 1] : NULL;
    return last && last->type == CH_BLOCK_CONTEXT && ch_sv_starts(last->text, CH_NOTE_OPEN);
}

/* What the runtime has to say about a new input, recalled memory included; in the run's
 * arena. */
static struct ch_sv note_about(chela_run *run, bool in_loop) {
    struct ch_sv about = ch_context_note(run, in_loop),
                 known = run->recall && !in_loop ? ch_recall_take(run) : CH_SV("");
    if (!about.n || !known.n)
        return about.n ? about : known;
    return ch_sv_str(ch_arena_printf(&run->arena, "%.*s\n%.*s", CH_SV_FMT(about),
                                     CH_SV_FMT(known)));
}

/* Adds the note to a new input, and to the results of every few rounds of tools. False: the
 * run is over. */
static bool tell_note(chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    const struct ch_msg *last = t->n ? t->msgs[t->n - 1] : NULL;
    if (!last || last->kind == CH_MSG_ASSISTANT || t->n == run->turn->noted)
        return true;
    bool in_loop = last->kind == CH_MSG_RESULTS;
    run->turn->noted = t->n;
    run->turn->rounds = in_loop ? run->turn->rounds + 1 : 0;
    if (in_loop ? run->turn->rounds % CH_DEFAULT_REMIND_ROUNDS != 0 : has_note(last))
        return true;
    struct ch_sv text = note_about(run, in_loop);
    return !text.n || ch_deliver_note_to_last(run, text) || end_full(run);
}

/* Tells a model that refuses a forced tool choice what is wanted, once for an input. */
static bool tell_choice(chela_run *run, const char *choice) {
    const struct ch_transcript *t = &run->session->transcript;
    const struct ch_msg *last = t->n ? t->msgs[t->n - 1] : NULL;
    CH_BUF_AUTO text = {0};
    if (!choice || strcmp(choice, "auto") == 0 || strcmp(choice, "none") == 0 || !last ||
        last->kind == CH_MSG_ASSISTANT || last->kind == CH_MSG_RESULTS ||
        t->n == run->turn->urged || !(run->target->facts.flags & CH_M_NO_FORCED))
        return true;
    run->turn->urged = t->n;
    bool any = strcmp(choice, "any") == 0;
    ch_buf_addf(&text, CH_NOTE_OPEN "\nCall %s%s before you answer.\n" CH_NOTE_CLOSE,
                any ? "a tool" : "the tool ", any ? "" : choice);
    return ch_deliver_note_to_last(run, ch_buf_sv(&text)) || end_full(run);
}

/* Describes the next request. parts: memory that must live until the request is encoded. */
static int think_describe(chela_run *run, const struct chela_turn_patch *patch,
                          struct ch_arena *parts, struct ch_model_request *req,
                          struct chela_error *err) {
    const chela_session *s = run->session;
    const chela_agent *a = s->agent;
    const char *choice = patch->tool_choice ? patch->tool_choice : a->tool_choice;
    struct ch_sv system = s->system ? ch_sv_str(s->system) : ch_context_system(run);
    if (!system.p || (!s->system && !tell_note(run)) || !tell_choice(run, choice))
        return ch_fail(err, CHELA_ECANCELED, "the session was closed");
    ch_tool_choice_select(run);
    if (choice) /* vendors refuse a tool choice whose tool is not described */
        ch_selection_offer(s->selection, ch_sv_str(choice));
    const double *own = a->has_temperature ? &a->temperature : NULL;
    const double *temperature = patch->temperature ? patch->temperature : own;
    *req = (struct ch_model_request){
        .endpoint = &run->target->ep,
        .model = ch_sv_str(run->target->model),
        .system = patch->system ? ch_sv_str(patch->system) : system,
        .messages = (const struct ch_msg *const *)s->transcript.msgs,
        .nmessages = s->transcript.n,
        .no_parallel = a->parallel == 1,
        .no_stream = a->no_stream,
        .max_output_tokens =
            patch->max_output_tokens ? patch->max_output_tokens : a->max_output_tokens,
        .kept_free = (int64_t)ch_context_budget_reply(run),
        .has_temperature = temperature != NULL,
        .temperature = temperature ? *temperature : 0,
        .has_top_p = a->has_top_p,
        .top_p = a->top_p,
        .top_k = a->top_k,
        .logprobs = a->logprobs,
        .has_seed = a->has_seed,
        .seed = a->seed,
        .stop = a->stop,
        .nstop = a->nstop,
        .passed = ch_agent_passed(a, run->target->ep.codec->name),
        .cache = ch_target_cache(run->target, a->cache),
        .effort = ch_reasoning_effort(patch->reasoning ? patch->reasoning : a->reasoning),
        .revision = revision(run, patch),
    };
    req->cache_key = ch_sending_cache_key(run, recorder(run)->record, parts);
    req->server_tools = ch_tool_choice_vendors(run);
    run->turn->server_tools = req->server_tools;
    run->turn->output_way = CH_OUTPUT_AUTO;
    run->turn->repair.held = 0;
    choose_tools(run, patch->tools, parts, req);
    int rc = choose_output(run, req, err); /* not every model takes tools and a schema together */
    if (run->turn->output_way == CH_OUTPUT_BY_TOOL)
        choose_tools(run, patch->tools, parts, req);
    ch_tool_choice_read(choice, req);
    force_output(run, req);
    rc = rc == 0 ? ch_features_shape(run, req, err) : rc;
    ch_service_compaction_ask(run, req);
    ch_learnt_omit(req);
    return rc;
}

/* The role that a run of another run plays: the name of its prompt. NULL: none. */
static const char *role_of(chela_run *run) {
    const char *prompt = ch_run_origin_prompt(run);
    if (recorder(run) == run)
        return NULL;
    return prompt ? ch_arena_str(&run->arena, ch_sv(prompt, strcspn(prompt, "@"))) : "role";
}

static void record_request(chela_run *run, const struct ch_model_request *req) {
    const chela_session *s = run->session;
    bool own = s->context.system && req->system.p == s->context.system;
    ch_request_record(recorder(run),
                      &(struct ch_request_made){.req = req,
                                                .encoder = &s->encoder,
                                                .sections = own ? s->context.sections : NULL,
                                                .origin = s->system ? "role" : "host",
                                                .role = role_of(run)});
}

#define TOO_LARGE 1

/* Describes, measures and encodes the request. TOO_LARGE: compact the history first. */
static int think_encode(chela_run *run, const struct chela_turn_patch *patch, size_t *nmessages,
                        size_t *ntools, struct chela_error *err) {
    struct ch_encoder *e = &run->session->encoder;
    struct ch_model_request req;
    char room[512];
    CH_ARENA_AUTO parts = CH_ARENA_IN(room);
    size_t tokens = 0;
    int rc = choose_target(run, patch->model, err);
    if (rc == 0)
        ch_compaction_slide(run);
    if (rc == 0)
        rc = think_describe(run, patch, &parts, &req, err);
    if (rc < 0)
        return rc;
    enum ch_context_fit fit = ch_context_budget_fit(run, &req, &tokens);
    if (fit == CH_CONTEXT_TOO_LARGE)
        return TOO_LARGE;
    if (fit == CH_CONTEXT_COLD)
        ch_compaction_prune_cold(run, tokens);
    ch_reasoning_effort_tell(run, &req);
    ch_repair_begin(&run->turn->repair, &req);
    ch_epoch_settle(run, &req);
    rc = ch_encoder_update(e, &req, err);
    if (rc == 0)
        rc = req.endpoint->codec->http(&req, &parts, &run->turn->http, err);
    if (rc < 0)
        return rc;
    *nmessages = req.nmessages;
    *ntools = req.ntools;
    struct ch_context_conf *known = &ch_agent_root(run->session->agent)->context;
    ch_encoder_share(e, &known->head, &known->tail);
    if (!run->turn->sending.known_job)
        record_request(run, &req);
    ch_shared_head(&run->turn->head, &run->target->head, &run->turn->http);
    ch_encoder_body(e, run->turn->body);
    run->turn->http.body = run->turn->body;
    run->turn->http.nbody = CH_LEN(run->turn->body);
    run->turn->http.timeouts = run->session->agent->timeouts;
    return ch_target_aws_sign(run->target, ch_run_now(run), &run->arena, &run->turn->http, err);
}

/* --- the reply */

/* True if the run, or a run that called it, is stopped: its host hears no more of the reply. */
static bool is_hushed(chela_run *run) {
    bool hushed = ch_driver_stops(run) || run->dead;
    for (const chela_run *r = ch_parent_of(run); r && !hushed; r = ch_parent_of(r))
        hushed = ch_driver_cancelled(r);
    return hushed;
}

static void on_model_event(const struct ch_model_event *event, void *user) {
    chela_run *run = user;
    struct ch_model_event piece = *event, *mev = &piece;
    struct chela_event ev;
    if (run->turn->sending.job && !ch_vendor_job_is_news(run->turn->sending.job, mev))
        return;
    if (is_hushed(run)) {
        run->turn->unseen += mev->type == CH_MEV_TEXT ? mev->text.n : 0;
        return;
    }
    if (mev->type == CH_MEV_CALL_CLOSED) {
        run->turn->closed += mev->index == run->turn->closed;
        return;
    }
    if (mev->type == CH_MEV_CALL_DELTA) {
        ev.type = CHELA_EV_TOOL_CALL_DELTA;
        ev.call.index = mev->index;
        ev.call.id = ch_str(mev->id);
        ev.call.name = ch_str(mev->name);
        ev.call.arguments = ch_str(mev->text);
    } else {
        bool text = mev->type == CH_MEV_TEXT && !ch_features_keep_words(run);
        ev.type = text ? CHELA_EV_TEXT_DELTA : CHELA_EV_REASONING_DELTA;
        ev.delta.text = ch_str(mev->text);
        ev.delta.so_far = ch_str(mev->so_far);
        if (text && !ch_reply_directives_piece(run, &ev))
            return;
        run->turn->output_shown |= text;
    }
    if (ch_hook_delta(run, &ev))
        ch_emit(run, &ev);
}

static bool used_nothing(const struct ch_usage *u) {
    return !u->input && !u->output;
}

/* Charges the usage to the turn. Returns the cost; negative: unknown. */
static double account(chela_run *run, const struct ch_usage *u) {
    const struct ch_target *t = run->target;
    double cost = used_nothing(u) ? 0
                  : !t->has_price ? -1
                                  : ch_price_cost(&t->price, u,
                                                  ch_target_cache(t, run->session->agent->cache));
    ch_run_charge(&run->m, u, cost);
    return cost;
}

/* Advice for users, where the vendor's message has none. */
static const char *advice(enum ch_error_class cls) {
    return cls == CH_ERR_OVERFLOW ? " (the conversation no longer fits the model: start a new "
                                    "session, or choose a model with a larger context)"
                                  : "";
}

/* The text of a reply in progress that the host has seen becomes the answer. False: there is
 * none. */
static bool answer_with_seen(chela_run *run, const struct ch_msg *reply, struct ch_buf *text) {
    for (uint32_t i = 0; reply && i < reply->nblocks; i++)
        if (reply->blocks[i].type == CH_BLOCK_TEXT)
            ch_buf_add_sv(text, reply->blocks[i].text);
    text->n = ch_utf8_cut(ch_buf_sv(text), text->n - CH_MIN(text->n, run->turn->unseen)).n;
    if (ch_sv_trim(ch_buf_sv(text)).n == 0)
        return false;
    ch_run_outcome_text(run, ch_buf_sv(text));
    return true;
}

static void on_failure(chela_run *run, const struct ch_reply *r) {
    ch_run_outcome_error(run, "%s: %s%.*s%s", run->target->spec,
                         ch_sending_lost(&run->turn->sending, r), CH_SV_FMT(r->error.message),
                         advice(r->error.cls));
    ch_redact(run->error);
    run->failure =
        (struct ch_model_failure){r->error.cls, r->error.status, r->error.retry_after_ms};
    run->turn->stop_reason = CHELA_STOP_ERROR;
    bool mended = ch_repair_failed(run, &run->turn->repair, r);
    if (run->dead)
        return;
    CH_BUF_AUTO seen = {0};
    bool shown = run->turn->output_shown && !run->turn->may_redo;
    double cost = account(run, &r->usage);
    ch_request_record_failure(recorder(run), role_of(run), r, ch_sv_str(ch_run_error(run)), cost);
    if (shown && !run->session->agent->output) /* no retry follows */
        answer_with_seen(run, r->msg, &seen);
    ch_driver_step(run, &(struct ch_input){.kind = CH_IN_FAILED,
                                           .usage = r->usage,
                                           .cost = cost,
                                           .cls = r->error.cls,
                                           .retryable = r->error.retryable,
                                           .retry_after_ms = r->error.retry_after_ms,
                                           .mended = mended,
                                           .output_shown = shown});
}

/* The service ran a tool, such as a search, whose result is in the conversation. */
static void label_by_service(chela_run *run, const struct ch_msg *m) {
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_OPAQUE && m->blocks[i].runner == CH_RUN_VENDOR)
            ch_labels_add(&run->session->labels, CH_LABEL_FOREIGN, CH_SV("web"));
}

/* Adds the reply to the transcript. A refused reply is not kept. */
static const struct ch_msg *keep_reply(chela_run *run, struct ch_reply *r, double cost) {
    struct ch_msg *m = CH_TAKE(r->msg);
    ch_run_journal_recovered(run, 0);
    if (ch_parent_of(run))
        ch_parent_moved_on(ch_parent_of(run));
    if (!m || r->stop == CH_STOP_REFUSAL) {
        ch_request_record_failure(recorder(run), role_of(run), r,
                                  m ? ch_msg_words(m) : CH_SV(""), cost);
        ch_msg_free(m);
        ch_sending_forget_job(run, &run->turn->sending);
        ch_sending_kept(&run->turn->sending, 0);
        return NULL;
    }
    label_by_service(run, m);
    ch_sending_kept(&run->turn->sending, ch_run_journal_reply(run, m, r, cost, false));
    return ch_transcript_add(&run->session->transcript, m) == 0 ? m : NULL;
}

/* Checks the answer against the schema. If it matches, run->text becomes the bare JSON. */
static bool answer_fits(chela_run *run, const struct ch_input *in) {
    const struct ch_output *o = run->session->agent->output;
    CH_BUF_AUTO json = {0};
    CH_BUF_AUTO why = {0};
    if (!o)
        return true;
    struct ch_sv answer = in->has_text ? ch_buf_sv(&run->text) : CH_SV("");
    if (ch_output_check(o, answer, &json, &why)) {
        ch_run_outcome_text(run, ch_buf_sv(&json));
        return true;
    }
    if (in->stop == CH_STOP_LENGTH)
        CH_BUF_LIT(&why, "; the output limit cut it: it has to be shorter");
    ch_buf_clear(ch_think_complaint(run));
    ch_output_complain(run->turn->output_way, ch_buf_sv(&why), ch_think_complaint(run));
    ch_run_outcome_error(run, "%s: the answer does not fit its schema: %s",
                         run->target->spec, ch_buf_str(&why));
    ch_redact_line(run->error);
    return false;
}

/* Decides whether the reply is the answer, and fits. verdict: of the features. */
static void judge_reply(chela_run *run, unsigned verdict, struct ch_input *in) {
    bool rejected = verdict & CH_REPLY_REJECT;
    in->follow_ups = (unsigned)(run->steering.n + run->follow_ups.n + run->session->events.n);
    bool is_answer =
        !in->calls && in->stop != CH_STOP_REFUSAL && in->stop != CH_STOP_PAUSE && !in->follow_ups;
    in->unfit = is_answer && (rejected || !answer_fits(run, in));
    if (rejected)
        ch_run_outcome_error(run, "%s: %s", run->target->spec, ch_buf_str(ch_think_complaint(run)));
    in->review = is_answer && !in->unfit && verdict & CH_REPLY_REVIEW;
    run->turn->deliver_follow_up = in->calls == 0 && !in->unfit;
}

static void keep_stop(chela_run *run, const struct ch_reply *r) {
    struct ch_sv sequence = r->stop_sequence;
    run->turn->stop_reason = (enum chela_stop)r->stop;
    ch_free(run->turn->stop_sequence);
    run->turn->stop_sequence = sequence.n ? ch_strndup(sequence.p, sequence.n) : NULL;
}

static void keep_logprobs(chela_run *run) {
    struct ch_sv logprobs =
        run->turn->decoding ? ch_logprobs_of(run->turn->decoder) : CH_SV("");
    if (logprobs.n)
        ch_buf_add_sv(&need_texts(run)->logprobs, logprobs);
}

void ch_think_reply(chela_run *run, struct ch_reply *r) {
    bool is_private = ch_features_keep_words(run);
    unsigned verdict =
        run->features ? ch_features_reply(run, r, ch_think_complaint(run)) : CH_REPLY_USE;
    if (run->dead)
        return;
    struct ch_input in = {.kind = CH_IN_REPLY,
                          .stop = r->stop,
                          /* private words may be silence */
                          .has_text = is_private || ch_run_outcome_take_text(run, r->msg),
                          .usage = r->usage,
                          .cost = account(run, &r->usage)};
    keep_stop(run, r);
    ch_repair_worked(run, run->target, &run->turn->repair);
    ch_run_outcome_clear_error(run);
    size_t before = r->msg && ch_compacted_in(r->msg) ? ch_context_budget_tokens(run) : 0;
    if (!is_private && !before) /* a request of private words holds no history to learn from */
        ch_context_budget_learn(run, &r->usage);
    bool extras = ch_reply_extras_in(r->msg);
    if (extras)
        r->msg = ch_reply_extras_save(run, CH_TAKE(r->msg));
    if (run->dead)
        return;
    bool made = extras && ch_reply_extras_has_media(r->msg);
    r->msg = ch_large_calls_omit(run, CH_TAKE(r->msg));
    keep_logprobs(run);
    run->reply = keep_reply(run, r, in.cost);
    if (in.has_text && !is_private && r->stop != CH_STOP_REFUSAL)
        ch_reply_directives_end(run);
    if (run->dead)
        return;
    if (run->reply && !ch_compaction_received(run, run->reply, before))
        return;
    if (run->reply && extras && !ch_reply_extras_tell(run, run->reply, &need_texts(run)->citations))
        return;
    if (run->reply && !ch_act_tell(run, run->reply, &in.calls))
        return;
    if (!in.calls) /* most runs end here */
        ch_sending_hang_up(&run->turn->sending);
    judge_reply(run, verdict, &in);
    in.has_text |= made; /* an image is an answer */
    ch_think_drop(run); /* tools may run for hours; r is invalid from here on */
    ch_free(CH_TAKE(run->turn->decoder));
    ch_driver_step(run, &in);
}

bool ch_think_say(chela_run *run, struct ch_sv text, bool person) {
    struct ch_msg *m = ch_msg_text(CH_MSG_ASSISTANT, text, ch_run_now(run));
    struct ch_reply r = {.stop = CH_STOP_STOP};
    struct chela_event ev = {.type = CHELA_EV_TEXT_DELTA, .delta = {ch_str(text), ch_str(text)}};
    run->turn->stop_reason = CHELA_STOP_STOP;
    run->target = run->session->agent->targets[run->m.model]; /* perhaps no model was asked yet */
    ch_run_outcome_text(run, text);
    ch_run_journal_reply(run, m, &r, 0, person);
    ch_transcript_add(&run->session->transcript, m); /* a full history must not keep the run from
                                                        ending */
    return ch_emit(run, &ev);
}

bool ch_think_in_flight(const chela_run *run) {
    return run->turn->call && run->turn->decoding && !run->session->agent->output;
}

/* Keeps the text of the decoded reply that the host has seen. */
static void keep_seen(chela_run *run) {
    CH_BUF_AUTO text = {0};
    const struct ch_msg *reply = run->turn->decoder->reply.msg;
    if (!answer_with_seen(run, reply, &text))
        return;
    CH_BUF_LIT(&text, CH_REPLY_CUT);
    struct ch_block block = {.type = CH_BLOCK_TEXT, .text = ch_buf_sv(&text)};
    struct ch_msg *m = ch_msg_like(reply, CH_MSG_ASSISTANT, &block, 1);
    ch_run_journal_message(run, m);
    ch_transcript_add(&run->session->transcript, m); /* a full history must not keep the run from
                                                        ending */
}

bool ch_think_keep_said(chela_run *run) {
    static const struct chela_error cut = {.code = CHELA_ECANCELED};
    ch_decoder_end(run->turn->decoder, &cut, ch_run_now(run));
    if (!run->dead)
        keep_seen(run);
    return !run->dead;
}

/* --- the transport's callbacks */

/* The decoder of the call in flight. A call that waits for its response has none: a service
 * may take minutes, and a decoder is larger than most conversations at that time. */
static struct ch_decoder *decoder_of(chela_run *run) {
    struct ch_think *t = run->turn;
    if (t->decoding)
        return t->decoder;
    if (!t->decoder)
        t->decoder = ch_malloc(sizeof(*t->decoder));
    ch_decoder_init_for(t->decoder, &run->target->ep, ch_sv_str(run->target->model),
                        t->server_tools, on_model_event, run);
    t->decoding = true;
    t->sending.decoder = t->decoder;
    return t->decoder;
}

static void think_on_head(const struct ch_http_head *head, void *user) {
    ch_decoder_head(decoder_of(user), head);
}

static void end_call(chela_run *run, const struct chela_error *err) {
    struct ch_decoder *d = decoder_of(run);
    struct ch_reply *r = &d->reply;
    run->turn->call = NULL;
    if (ch_sending_resumes(run, &run->turn->sending, d, err, ch_driver_stops(run)))
        return;
    ch_decoder_end(d, err, ch_run_now(run));
    if (run->dead)
        return;
    bool waits =
        !ch_driver_stops(run) && ch_sending_waits(run, &run->turn->sending, d);
    if (ch_driver_stops(run)) {
        if (run->stop == CH_IN_CANCEL && !run->session->agent->output)
            keep_seen(run);
        ch_driver_stop(run);
    } else if (waits) {
        ch_think_drop(run);
    } else if (r->error.cls != CH_ERR_NONE) {
        on_failure(run, r);
    } else {
        ch_act_written(run, false);
        ch_think_reply(run, r);
    }
}

/* Begins reads whose calls the protocol has closed. Most short replies arrive whole: their calls
 * begin together. */
static void read_early(chela_run *run, const struct ch_decoder *d) {
    struct ch_think *t = run->turn;
    struct ch_block call;
    while (!run->dead && !d->stopped && !d->reply.complete && t->offered < t->closed &&
           ch_fold_nth(d->fold, CH_BLOCK_TOOL_CALL, t->offered, &call))
        ch_act_read_early(run, t->offered++, &call);
}

static void think_on_data(struct ch_sv data, void *user) {
    chela_run *run = user;
    struct ch_decoder *d = decoder_of(run);
    run->stamp = ch_run_now(run);
    ch_decoder_feed(d, data);
    run->turn->enough = d->stopped;
    read_early(run, d);
    if (!run->dead)
        ch_sending_heard(run, &run->turn->sending);
    run->stamp = 0;
    if (!run->dead && ch_driver_stops(run))
        ch_driver_stop(run);
}

static void think_on_done(const struct chela_error *err, void *user) {
    chela_run *run = user;
    run->stamp = ch_run_now(run);
    end_call(run, err);
    run->stamp = 0;
}

static const struct ch_http_handler handler = {think_on_head, think_on_data, think_on_done};

/* Warns once per run that the cost budget cannot be enforced. False: the run was closed. */
static bool mind_budget(chela_run *run) {
    if (run->m.limits.cost_budget < 0 || run->target->has_price || run->turn->warned_price)
        return true;
    run->turn->warned_price = true;
    ch_emit_warning(run,
                    "the price of %s is not known, so the cost budget cannot be kept (set it under "
                    "providers.%s.models)",
                    run->target->spec, run->target->provider);
    return !run->dead;
}

bool ch_think_open(chela_run *run) {
    struct chela_event ev = {.type = CHELA_EV_TURN_START, .turn.turn = run->m.turns};
    if (run->turn->open)
        return true;
    run->turn->open = run->m.turns;
    return ch_emit(run, &ev);
}

void ch_think_reopen(chela_run *run, unsigned turn, enum chela_stop reason) {
    run->turn->open = turn;
    run->turn->stop_reason = reason;
}

static bool think_announce(chela_run *run, size_t nmessages, size_t ntools) {
    struct chela_event ev;
    if (!mind_budget(run) || !ch_think_open(run))
        return false;
    ev = (struct chela_event){
        .type = CHELA_EV_MODEL_REQUEST,
        .request = {.turn = run->m.turns,
                    .model = run->target->spec,
                    .messages = nmessages,
                    .tools = ntools,
                    .bytes = run->turn->body[0].n + run->turn->body[1].n + run->turn->body[2].n}};
    return ch_emit(run, &ev);
}

static void think_compact(chela_run *run) {
    const struct chela_turn_patch patch = {0};
    CH_ARENA_AUTO parts = {0};
    struct ch_model_request req;
    struct chela_error err;
    bool asks = run->session->agent->service_compacts &&
                (run->target || choose_target(run, NULL, &err) == 0) &&
                think_describe(run, &patch, &parts, &req, &err) == 0;
    if (run->dead)
        return;
    if (!run->target)
        run->target = run->session->agent->targets[run->m.model];
    run->reply = NULL; /* compaction may free the message */
    ch_compaction_start(run, asks ? &req : NULL, ch_driver_step);
}

void ch_think_compact(chela_run *run) {
    if (!ch_features_hold_compaction(run) && !run->dead)
        think_compact(run);
}

/* Forgets the last reply. */
static void expect_reply(chela_run *run) {
    struct turn_texts *texts = run->turn->texts;
    ch_sending_begin(&run->turn->sending);
    ch_act_drop_early(run);
    ch_arena_clear(&run->arena);
    run->turn->output_shown = false;
    run->turn->unseen = run->turn->closed = run->turn->offered = 0;
    if (texts) {
        ch_buf_clear(&texts->citations);
        ch_buf_clear(&texts->logprobs);
    }
    ch_reply_directives_begin(run);
}

static void start_call(chela_run *run) {
    if (ch_listeners_any(run))
        ch_listeners_add_context(run, NULL, &run->arena, &run->turn->http);
    ch_think_drop(run);
    run->turn->enough = false;
    run->turn->http.enough = &run->turn->enough;
    if (run->turn->sending.known_job) {
        ch_sending_recall(run, &run->turn->sending);
        return;
    }
    run->turn->call = ch_transport_start(ch_sending_transport(run, &run->turn->sending),
                                         &run->turn->http, &handler, run);
}

static void ask_for_reply(void *user) {
    chela_run *run = user;
    run->turn->enough = false;
    run->turn->sending.via = run->target->transport;
    run->turn->call = ch_transport_start(
        run->target->transport, ch_vendor_job_request(run->turn->sending.job), &handler, run);
}

void ch_think(chela_run *run) {
    struct chela_turn_patch patch = {.turn = run->m.turns};
    struct chela_error err;
    size_t nmessages = 0, ntools = 0;
    ch_error_clear(&err);
    expect_reply(run);
    const chela_agent *a = run->session->agent;
    if ((!run->turn->sending.known_job && !ch_think_deliver(run)) ||
        (a->embedding && ch_tool_embedding_input(run, ch_think)))
        return;
    if (!run->session->system && ch_recall_wanted(run) && !ch_recall_ready(run, ch_think))
        return;
    bool go = ch_hook_before_model(run, &patch);
    if (run->dead)
        return;
    if (!go) {
        ch_driver_stop(run);
        return;
    }
    if (run->m.closing != CH_REASON_NONE)
        patch.tool_choice = "none"; /* tools stay described so that the cached prefix stays valid */
    int rc = think_encode(run, &patch, &nmessages, &ntools, &err);
    if (rc < 0 && !run->dead)
        ch_driver_break(run, &err);
    else if (rc == TOO_LARGE && !run->dead)
        ch_think_compact(run);
    if (rc != 0 || run->dead)
        return;
    if (!ch_epoch_tell(run) || !think_announce(run, nmessages, ntools))
        return;
    if (ch_driver_stops(run))
        ch_driver_stop(run);
    else
        start_call(run);
}

void ch_think_abort(chela_run *run) {
    ch_features_abort(run);
    if (run->embedding)
        ch_tool_embedding_abort(run);
    struct ch_http_call *call = CH_TAKE(run->turn->call);
    if (call)
        ch_transport_cancel(run->turn->sending.via, call);
    ch_vendor_job_end(&run->turn->sending.job);
    if (run->compaction)
        ch_compaction_abort(run);
    if (run->recall)
        ch_recall_abort(run);
}

void ch_think_stop(chela_run *run, bool for_good) {
    ch_sending_cancel_job(run, &run->turn->sending, for_good);
    ch_think_abort(run);
    ch_sending_hang_up(&run->turn->sending);
}

bool ch_think_close(chela_run *run) {
    if (!run->turn->open)
        return true;
    struct chela_event ev = {
        .type = CHELA_EV_TURN_END,
        .turn = {run->turn->open, run->turn->stop_reason,
                 ch_public_usage(&run->m.turn.usage, run->m.turn.cost),
                 ch_str(ch_think_citations(run)), ch_str(think_logprobs(run))}};
    run->turn->open = 0;
    run->m.turn.usage = (struct ch_usage){0};
    run->m.turn.cost = 0;
    ch_hook_after_model(run, &ev);
    return ch_emit(run, &ev);
}
