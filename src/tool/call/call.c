/* call.c -- the path of every tool call.
 *
 *       look up -> arguments -> schema -> own rules -> hooks -> secrets -> consent -> host's call?
 *                                                                    |         |
 *              NEW ---------------- stages[] ----------------> ASKING | CLIENT -+- READY
 *               ^                                                |        |        | ch_call_run
 *               `--------------- approved -----------------------'        |     RUNNING (again)
 *                           any --- end: result, refusal, ----------------+--------+--> ENDED
 *                                   timeout, cancel, answer
 *
 * A stage is a function that lets the call continue, ends it, or restarts it at the first
 * stage with changed arguments. A new stage is one line in stages[]. Every failure becomes
 * the call's outcome. call_decide() is the only writer of the outcome and has an effect
 * only once.
 *
 * struct ch_tool_ops hides how a tool runs (a thread, a program), and the batch handles
 * concurrency; this file depends on neither. */
#include "tool/call/call.h"

#include "base/chars.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "model/message/left_out.h"
#include "tool/call/aftermath.h"
#include "tool/call/call_listener.h"
#include "tool/call/buffers.h"
#include "tool/call/call_by_name.h"
#include "tool/call/consent.h"
#include "tool/call/flow.h"
#include "tool/registry/argument_validation.h"
#include "tool/call/leaving.h"
#include "tool/call/progress.h"
#include "tool/call/question.h"
#include "tool/call/retry.h"
#include "tool/call/wait.h"
#include "tool/process/sandbox_policy.h"

/* --- the owner's services ------------------------------------------------ */

/* Saving results is useless if the model has no tool to read them. */
static bool can_spill(const struct ch_batch_opts *opts) {
    struct ch_sv name = CH_SV("read");
    const struct ch_tool *tool = ch_registry_find(opts->registry, name);

    return tool && !opts->no_spill && ch_policy_allows(opts->policy, name, tool->permission);
}

struct ch_call_env ch_call_env_of(const struct ch_batch_opts *opts) {
    return (struct ch_call_env){
        .loop = opts->loop,
        .workers = opts->workers,
        .registry = opts->registry,
        .workspace = opts->workspace ? opts->workspace : "/",
        .layer = opts->layer,
        .session = opts->session ? opts->session : "",
        .run = opts->run ? opts->run : "",
        .turn = opts->turn,
        .language = opts->language,
        .shape = {.window = opts->window, .records = opts->records},
        .spill = can_spill(opts),
        .state = opts->state,
        .channel = opts->channel,
        .own = opts->own,
        .policy = opts->policy,
        .approvals = opts->approvals,
        .granted = opts->granted,
        .ask_means = opts->ask_means,
        .memory = opts->memory,
        .sandbox = opts->sandbox,
        .egress = opts->egress,
        .flow = opts->flow,
        .labels = opts->labels,
        .jobs = opts->jobs,
        .listener = opts->listener,
        .buffers = opts->buffers,
    };
}

/* --- life ---------------------------------------------------------------- */

/* The parts of a key are separated by ':', so they must not contain ':'. Other special
 * characters are excluded because keys are sent in headers. */
#define NUMBERS 48 /* bytes of the numbers and signs in a key, at most */
#define TYPICAL_TEXTS 608 /* texts of a call and its parsed arguments, mostly */
#define PLAIN (CH_CHAR_WORD | CH_CHAR_DASH | CH_CHAR_DOT)

static void add_key_part(struct ch_buf *out, struct ch_sv part) {
    for (;;) {
        size_t n = ch_char_run(part, PLAIN);
        ch_buf_add(out, part.p, n);
        if (n == part.n)
            return;
        ch_buf_addf(out, "%%%02X", (unsigned char)part.p[n]);
        part = ch_sv(part.p + n + 1, part.n - n - 1);
    }
}

/* The key is stable for the same call of the same reply, also after a restart. If a lost
 * reply is requested again, the key changes, because the vendor's call ids differ. */
static const char *make_key(chela_call *call, size_t index) {
    const struct ch_call_env *env = call->env;
    struct ch_sv session = ch_sv_str(env->session), run = ch_sv_str(env->run),
                 id = ch_sv_str(call->id);
    size_t most = 3 * (session.n + run.n + id.n) + NUMBERS; /* "%XX" is longer than its byte */
    struct ch_buf key = {.p = ch_arena_reserve(&call->arena, most), .cap = most};

    add_key_part(&key, session);
    ch_buf_addc(&key, ':');
    add_key_part(&key, run);
    ch_buf_addc(&key, ':');
    ch_buf_add_uint(&key, env->turn);
    ch_buf_addc(&key, '.');
    ch_buf_add_uint(&key, index);
    ch_buf_addc(&key, ':');
    add_key_part(&key, id);
    call->arena.at = key.p + key.n + 1; /* the text and its NUL */
    return key.p;
}

/* A tool may run longer than its owner lives, so the lists are copied. */
static struct ch_path_guard call_make_guard(chela_call *call) {
    const struct ch_sandbox_policy *policy = call->env->sandbox;

    return (struct ch_path_guard){
        .workspace = call->workspace,
        .protect = ch_sandbox_protect_list(&call->arena, policy),
        .ask = policy ? ch_sandbox_copy_list(&call->arena, policy->ask) : NULL,
        .hide = policy ? ch_sandbox_copy_list(&call->arena, policy->hide) : NULL,
        .shared = policy ? ch_sandbox_copy_list(&call->arena, policy->shared) : NULL,
    };
}

static void on_finish_post(struct ch_post *p) {
    ch_call_worked(CH_CONTAINER(p, chela_call, finish_post));
}

chela_call *ch_call_new(const struct ch_call_env *env, void *owner, const struct ch_block *block,
                        size_t index) {
    chela_call *call = ch_malloc(sizeof(*call) + TYPICAL_TEXTS);
    char *room = (char *)(call + 1);

    *call = (struct chela_call){.arena = {.at = room, .end = room + TYPICAL_TEXTS}};
    atomic_init(&call->refs, 1);
    call->env = env;
    call->owner = owner;
    call->written = block->name;
    struct ch_block named;
    if (ch_call_by_name(env->own, block, &call->arena, &named))
        block = memcpy(CH_ARENA_NEW(&call->arena, struct ch_block), &named, sizeof(named));
    call->block = block;
    call->flags = block->flags;
    call->id = ch_arena_str(&call->arena, block->id);
    call->name = ch_arena_str(&call->arena, block->name);
    call->arguments = ch_arena_sv(&call->arena, block->text);
    call->workspace = ch_arena_str(&call->arena, ch_sv_str(env->workspace));
    call->session = ch_arena_str(&call->arena, ch_sv_str(env->session));
    call->guard = call_make_guard(call);
    call->key = make_key(call, index);
    call->buffers = env->buffers;
    ch_buffers_ref(call->buffers);
    ch_buf_init(&call->answer.text, CH_LIMIT_TOOL_OUTPUT);
    call->answer.shape = env->shape;
    call->answer.shape.tool = call->name;
    call->answer.shape.workspace = env->spill ? call->workspace : NULL;
    call->answer.later = true;
    ch_gate_init(&call->gate, env->loop);
    call->finish_post.fn = on_finish_post;
    ch_progress_init(call);
    return call;
}

void ch_call_ref(chela_call *call) {
    atomic_fetch_add(&call->refs, 1);
}

void ch_call_unref(chela_call *call) {
    if (!call || atomic_fetch_sub(&call->refs, 1) != 1)
        return;
    ch_progress_drop(call);
    ch_gate_release(&call->gate);
    ch_answer_release(&call->answer);
    ch_outcome_release(&call->made);
    ch_outcome_release(&call->outcome);
    ch_labels_release(&call->labels);
    ch_tool_unref(call->tool);
    ch_buffers_unref(call->buffers);
    ch_arena_release(&call->arena);
    ch_free(call);
}

/* --- the result ---------------------------------------------------------- */

static int64_t call_now(const chela_call *call) {
    return ch_mono_ms(ch_loop_clock(call->env->loop));
}

/* When a call ends or loses its owner, its suspended work ends too. */
static void drop_suspended(chela_call *call) {
    if (!call->suspended)
        return;
    call->suspended = false;
    ch_question_drop(call);
    if (call->tool->ops->abandon)
        call->tool->ops->abandon(call);
}

/* A call that began, is not a mere read and was cut off may have taken effect. The model
 * would repeat it under another key. */
static bool is_outcome_unknown(chela_call *call, const struct ch_outcome *o) {
    return call->ran && atomic_load(&call->begun) && call->tool->effect != CHELA_EFFECT_READ &&
           o->error_type && strcmp(o->error_type, "timeout") == 0;
}

/* The only function that ends a call. Moves *outcome. */
static void call_decide(chela_call *call, struct ch_outcome *outcome) {
    if (call->state == CH_CALL_RUNNING)
        call->duration_ms = call_now(call) - call->started_ms;
    call->state = CH_CALL_ENDED;
    ch_timer_stop(call->env->loop, &call->timer);
    ch_timer_stop(call->env->loop, &call->again);
    call->outcome = *outcome;
    *outcome = (struct ch_outcome){0};
    if (is_outcome_unknown(call, &call->outcome))
        ch_outcome_unknown(&call->outcome);
    ch_flow_label(call);
    drop_suspended(call);
    if (call->working) {
        atomic_store(&call->cancelled, true);
        if (call->tool->ops->cancel)
            call->tool->ops->cancel(call);
    }
    call->env->ended(call);
}

void ch_call_end(chela_call *call, struct ch_outcome *outcome) {
    if (call->state != CH_CALL_ENDED)
        call_decide(call, outcome);
    ch_outcome_release(outcome);
}

void ch_call_end_error(chela_call *call, const char *type, const char *why) {
    struct ch_outcome o = {0};

    if (call->state == CH_CALL_ENDED)
        return;
    ch_outcome_error(&o, type, "%s", why);
    call_decide(call, &o);
}

void ch_call_go_on(chela_call *call) {
    if (!call->suspended)
        return;
    call->state = CH_CALL_RUNNING;
    call->working = true;
    call->suspended = false;
    ch_call_ref(call); /* reference of the work, as in attempt() */
}

void ch_call_cancel(chela_call *call, const char *why) {
    bool suspended = call->suspended;
    bool runs = call->state == CH_CALL_RUNNING && call->working;

    if (!(suspended || runs) || !call->tool->ops->winds_down) {
        ch_call_end_error(call, "cancelled", why);
        return;
    }
    if (suspended)
        ch_call_go_on(call);
    if (!atomic_exchange(&call->cancelled, true))
        call->tool->ops->cancel(call);
}

/* --- the stages ---------------------------------------------------------- */

enum step {
    STEP_ON,    /* continue with the next stage */
    STEP_AGAIN, /* the call was changed: restart at the first stage */
    STEP_OVER   /* ended, or waits for the host */
};

/* Copy and free a text that a hook replaced; false if the hook left the original pointer. */
static bool replaced(chela_call *call, char *text, const char *before, const char **out) {
    if (!text || text == before)
        return false;
    *out = ch_arena_str(&call->arena, ch_sv_str(text));
    ch_free(text);
    return true;
}

static bool replace_arguments(chela_call *call, char *text) {
    const char *copy;

    if (!replaced(call, text, call->arguments.p, &copy))
        return false;
    call->arguments = ch_sv_str(copy);
    call->flags = 0; /* the flags described the model's own arguments */
    return true;
}

static enum step stop_run(chela_call *call) {
    call->stop_run = true;
    ch_call_end_error(call, "cancelled", "The run was stopped before this call was made.");
    return STEP_OVER;
}

/* The call cannot run. A hook may repair it; otherwise the model gets the error. */
static enum step call_refuse(chela_call *call, const char *type, const char *problem) {
    char *name = (char *)call->name, *arguments = (char *)call->arguments.p, *feedback = NULL;
    enum ch_before verdict = CH_BEFORE_RUN;
    const char *why = problem;

    if (!call->invalid_asked && call->env->invalid) {
        call->invalid_asked = true;
        verdict = call->env->invalid(call, problem, &name, &arguments, &feedback);
    }
    bool renamed = replaced(call, name, call->name, &call->name);
    bool changed = replace_arguments(call, arguments) || renamed;
    bool words = replaced(call, feedback, NULL, &why);

    if (verdict == CH_BEFORE_STOP)
        return stop_run(call);
    if (verdict == CH_BEFORE_RUN && changed)
        return STEP_AGAIN;
    ch_call_end_error(call, type, verdict == CH_BEFORE_SKIP && words ? why : problem);
    return STEP_OVER;
}

static enum step call_look_up(chela_call *call) {
    struct ch_sv name = ch_sv_str(call->name);
    const struct ch_policy *policy = call->env->policy;
    struct ch_tool *tool = ch_registry_find(call->env->registry, name);
    struct ch_tool *own = call->env->own ? ch_registry_find(call->env->own, name) : NULL;
    CH_BUF_AUTO text = {0}, similar = {0};

    if (own)
        tool = own;
    if (own || (tool && ch_policy_permits(policy, tool))) {
        ch_tool_ref(tool);
        ch_tool_unref(call->tool);
        call->tool = tool;
        return STEP_ON;
    }
    ch_registry_similar(call->env->registry, policy, name, &similar);
    struct ch_sv shown = ch_utf8_cut(name, CH_LIMIT_TOOL_NAME);
    ch_buf_addf(&text, "There is no tool named \"%.*s\".", CH_SV_FMT(shown));
    if (similar.n)
        ch_buf_addf(&text, " Similar tools: %s.", ch_buf_str(&similar));
    else
        ch_buf_add_str(&text, " Use only the tools you were given.");
    return call_refuse(call, "not_found", ch_buf_str(&text));
}

static enum step call_read_arguments(chela_call *call) {
    struct chela_error err;
    CH_BUF_AUTO text = {0};

    ch_error_clear(&err);
    if (call->flags & CH_F_CUT && ch_sv_starts(call->arguments, CH_LEFT_OUT))
        return call_refuse(call, "invalid_arguments",
                           "The arguments were larger than the conversation can hold, so they were "
                           "left out, and the call was not run. Do the work in several smaller "
                           "calls.");
    if (call->flags & CH_F_CUT)
        return call_refuse(call, "invalid_arguments",
                           "The call was cut off before its arguments were complete, so it was not "
                           "run. Make a shorter call: less text in one argument, or the work in "
                           "several calls.");
    if (ch_sv_trim(call->arguments).n == 0)
        call->arguments = CH_SV("{}"); /* some models send this for "no arguments" */
    int rc = ch_json_parse(&call->arena, call->arguments, CH_JSON_STRICT, &call->args, NULL, &err);
    if (rc < 0)
        ch_buf_addf(&text, "The arguments are not valid JSON: %s.", err.message);
    else if (call->args->type != CH_JSON_OBJECT)
        ch_buf_addf(&text, "The arguments must be a JSON object, not %s %s.",
                    strchr("ao", *ch_json_type_name(call->args->type)) ? "an" : "a",
                    ch_json_type_name(call->args->type));
    else
        return STEP_ON;
    ch_buf_add_str(&text, " Call the tool again with one JSON object that fits its schema.");
    return call_refuse(call, "invalid_arguments", ch_buf_str(&text));
}

/* A forgiving tool accepts more argument forms than its schema shows: arguments are valid
 * if the tool's check accepts them. Errors of the check are appended to words. */
static bool is_taken_anyway(chela_call *call, struct ch_buf *words) {
    struct ch_outcome o = {0};

    if (!(call->tool->flags & CHELA_TOOL_FORGIVING) ||
        ch_contract_found_unknown(ch_tool_contract(call->tool)))
        return false;
    int rc = call->tool->check(call, call->tool->user);
    if (call->answer.error_type)
        ch_buf_addf(words, "\n%s", ch_buf_str(&call->answer.error));
    ch_answer_conclude(&call->answer, rc, &o);
    bool taken = !o.is_error;
    ch_outcome_release(&o);
    return taken;
}

static enum step fit_schema(chela_call *call) {
    CH_BUF_AUTO words = {0}, text = {0};
    struct ch_contract *contract = ch_tool_contract(call->tool);

    if (!contract)
        return STEP_ON;
    const struct ch_json *args = call->args;
    struct ch_sv arguments = call->arguments;
    enum ch_fit fit = ch_contract_check(contract, &call->arena, &args, &arguments, &words);
    call->args = args;
    call->arguments = arguments;
    if (fit == CH_FITS_NOT && call->tool->flags & CHELA_TOOL_FORGIVING && !call->tool->check &&
        !ch_contract_found_unknown(contract))
        return STEP_ON; /* the tool itself validates the parameters that it knows */
    switch (fit) {
    case CH_FITS:
        return STEP_ON;
    case CH_FITS_CORRECTED:
        ch_buf_addf(&text, "arguments corrected: %s", ch_buf_str(&words));
        if (call->env->progress)
            call->env->progress(call, ch_buf_sv(&text));
        return STEP_ON;
    case CH_FITS_NOT:
        break;
    }
    if (is_taken_anyway(call, &words))
        return STEP_ON;
    ch_buf_addf(&text, "The arguments of %s do not fit its schema:\n%s", call->name,
                ch_buf_str(&words));
    return call_refuse(call, "invalid_arguments", ch_buf_str(&text));
}

/* A tool's check rejects a call by setting an error result. */
static enum step own_rules(chela_call *call) {
    struct ch_outcome o = {0};

    if (!call->tool->check)
        return STEP_ON;
    int rc = call->tool->check(call, call->tool->user);
    ch_answer_conclude(&call->answer, rc, &o);
    if (o.is_error)
        ch_call_end(call, &o);
    ch_outcome_release(&o);
    return call->state == CH_CALL_ENDED ? STEP_OVER : STEP_ON;
}

static enum step call_skip(chela_call *call, const char *feedback) {
    struct ch_outcome o = {.denied = true};

    ch_shape_text(&(struct ch_shape){0}, ch_sv_str(feedback ? feedback : "The call was skipped."),
                  0, &o.content);
    ch_call_end(call, &o);
    return STEP_OVER;
}

static enum step call_refuse_by_hook(chela_call *call, const char *why) {
    struct ch_outcome o = {0};

    ch_outcome_error(&o, "permission_denied", "Blocked by a hook of the user: %s",
                     why ? why : "no reason was given");
    o.denied = true;
    ch_call_end(call, &o);
    return STEP_OVER;
}

static enum step ask_hook(chela_call *call) {
    char *arguments = (char *)call->arguments.p, *feedback = NULL;
    const char *words = NULL;

    if (call->hook_asked || !call->env->before)
        return STEP_ON;
    call->hook_asked = true;
    enum ch_before verdict = call->env->before(call, &arguments, &feedback);
    bool changed = replace_arguments(call, arguments);
    replaced(call, feedback, NULL, &words);

    switch (verdict) {
    case CH_BEFORE_RUN:
        return changed ? STEP_AGAIN : STEP_ON;
    case CH_BEFORE_SKIP:
        return call_skip(call, words);
    case CH_BEFORE_STOP:
        return stop_run(call);
    case CH_BEFORE_REFUSE:
        return call_refuse_by_hook(call, words);
    case CH_BEFORE_WAIT:
        call->state = CH_CALL_HELD;
        return STEP_OVER;
    case CH_BEFORE_CLIENT:
        call->hand_over = true;
        return changed ? STEP_AGAIN : STEP_ON;
    }
    CH_UNREACHABLE();
}

/* After the hooks, which may have changed the arguments. */
static enum step keep_secrets(chela_call *call) {
    CH_BUF_AUTO why = {0};

    return ch_leaving_is_refused(call, &why)
               ? call_refuse(call, "permission_denied", ch_buf_str(&why))
               : STEP_ON;
}

/* Resources are declared when the arguments are final, before any approval. */
static enum step name_resources(chela_call *call) {
    call->uses = (struct ch_uses){0};
    if (call->tool->resources)
        call->tool->resources(call, call->tool->user);
    return STEP_ON;
}

static enum step get_consent(chela_call *call) {
    return ch_consent_given(call) ? STEP_ON : STEP_OVER;
}

static enum step call_hand_over(chela_call *call) {
    if (call->tool->ops && !call->hand_over)
        return STEP_ON;
    call->state = CH_CALL_CLIENT;
    return STEP_OVER;
}

/* Before a restart the work was done, and a person was asked about the files it left behind. */
static enum step recall_aftermath(chela_call *call) {
    return call->left && ch_aftermath_recall(call, call->left) ? STEP_OVER : STEP_ON;
}

static enum step (*const stages[])(chela_call *call) = {
    call_look_up, call_read_arguments, recall_aftermath, fit_schema,    own_rules,
    ask_hook,     keep_secrets,        name_resources,   get_consent,   call_hand_over,
};

void ch_call_prepare(chela_call *call) {
    while (call->stage < CH_LEN(stages)) {
        enum step step = stages[call->stage](call);
        call->stage = step == STEP_AGAIN ? 0 : call->stage + 1;
        if (step == STEP_OVER || call->state == CH_CALL_ENDED)
            return; /* a hook may have cancelled the batch */
    }
    call->state = CH_CALL_READY;
}

void ch_call_unhold(chela_call *call) {
    if (call->state != CH_CALL_HELD)
        return;
    call->state = CH_CALL_NEW;
    call->hook_asked = false;
    call->stage--; /* the stage of `before` */
}

/* --- running ------------------------------------------------------------- */

static bool call_repeat_late(chela_call *call, struct ch_outcome *o);

static void call_on_timeout(struct ch_timer *t) {
    chela_call *call = CH_CONTAINER(t, chela_call, timer);
    int64_t ms = call->tool->timeout_ms;
    struct ch_outcome o = {0};

    /* Set `cancelled` before reading `begun`: a function that has not begun by now never
     * will (function.c uses the opposite order). */
    atomic_store(&call->cancelled, true);
    bool begun = atomic_load(&call->begun);
    ch_outcome_error(
        &o, "timeout", "%s did not finish within %g seconds.%s", call->name, (double)ms / 1000,
        !begun ? " It was still waiting for its turn and has not run."
        : call->tool->effect == CHELA_EFFECT_READ ? ""
                                                  : " Whether it took effect is unknown.");
    if (call_repeat_late(call, &o))
        return;
    call_decide(call, &o);
}

static void call_begin(chela_call *call) {
    struct ch_call_listener *listener = call->env->listener ? *call->env->listener : NULL;
    if (listener && !listener->starting(listener, call))
        return;
    call->ran = call->working = true;
    call->suspended = false;
    call->tool->ops->start(call);
}

static void call_attempt(chela_call *call) {
    if (!ch_consent_holds(call))
        return;
    call->attempts++;
    ch_call_ref(call); /* reference of the work, until ch_call_worked */
    call_begin(call);
}

/* Files may have changed while the call was held, so its approval is checked again. */
void ch_call_start(chela_call *call) {
    if (call->env && call->state == CH_CALL_RUNNING && !call->working && ch_consent_holds(call))
        call_begin(call);
    else
        ch_call_unref(call);
}

void ch_call_run(chela_call *call) {
    int64_t timeout = call->tool->timeout_ms;

    call->state = CH_CALL_RUNNING;
    call->answer.shape.tool = call->tool->name;
    call->started_ms = call_now(call);
    if (!call->wait.since && call->tool->retry.backoff_ms > 0)
        call->wait.since = ch_now_ms(ch_loop_clock(call->env->loop));
    if (timeout > 0)
        ch_timer_start_at(call->env->loop, &call->timer, call->started_ms + timeout,
                          call_on_timeout);
    call_attempt(call);
}

static void on_again(struct ch_timer *t) {
    call_attempt(CH_CONTAINER(t, chela_call, again));
}

/* Reset the call for the next attempt; only the count and the time limit continue. */
static void forget_attempt(chela_call *call) {
    ch_outcome_release(&call->made);
    ch_answer_release(&call->answer);
    call->deferred = false;
    atomic_store(&call->finished, false);
    call->child_output[0] = call->child_output[1] = 0;
}

/* How long the call has been tried. With a retry policy, the time before a restart is
 * included. */
static int64_t call_elapsed(const chela_call *call) {
    if (call->tool->retry.backoff_ms > 0)
        return ch_now_ms(ch_loop_clock(call->env->loop)) - call->wait.since;
    return call_now(call) - call->started_ms;
}

/* Appends "type: text" of the attempt that failed. */
static void call_write_error(const chela_call *call, struct ch_buf *out) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    struct ch_sv content = ch_buf_sv(&call->made.content);

    ch_json_parse(&arena, content, CH_JSON_REPLACE, &v, NULL, NULL);
    struct ch_sv text = ch_json_get_str(v, "error");
    ch_buf_addf(out, "%s: ", call->made.error_type);
    ch_buf_add_sv(out, ch_utf8_cut(text.n ? text : content, CH_LIMIT_WAIT_ERROR));
}

static bool call_try_again(chela_call *call) {
    CH_BUF_AUTO note = {0}, error = {0};

    if (!call->made.is_error)
        return false;
    int64_t delay = ch_retry_delay(call->tool, &call->made, call->attempts, call_elapsed(call));
    if (delay < 0)
        return false;
    call_write_error(call, &error);
    ch_buf_addf(&note, "attempt %u failed (%s), the next follows in %.1f s", call->attempts,
                call->made.error_type, (double)delay / 1000);
    chela_call_progress(call, ch_buf_str(&note));
    forget_attempt(call);
    if (call->tool->retry.backoff_ms > 0)
        ch_wait_begin(call, ch_now_ms(ch_loop_clock(call->env->loop)) + delay,
                      ch_buf_sv(&error));
    else
        ch_timer_start(call->env->loop, &call->again, delay, on_again);
    return true;
}

/* With a retry policy, an attempt that takes too long is repeated, if its work can be ended at
 * once. */
static bool call_repeat_late(chela_call *call, struct ch_outcome *o) {
    if (call->tool->retry.backoff_ms == 0 || !call->working || !call->tool->ops->abandon ||
        ch_retry_delay(call->tool, o, call->attempts, call_elapsed(call)) < 0)
        return false;
    call->tool->ops->abandon(call);
    call->working = false;
    atomic_store(&call->cancelled, false);
    call->made = *o;
    if (!call_try_again(call)) /* the deadline has passed meanwhile */
        call_decide(call, &call->made);
    ch_call_unref(call); /* reference of the work */
    return true;
}

/* The result is ready: use it, unless the outcome was already set. */
static void call_settle(chela_call *call) {
    if (!call->env || call->state != CH_CALL_RUNNING || call_try_again(call)) {
        ch_call_unref(call);
        return;
    }
    if (ch_aftermath_asks(call)) {
        call->duration_ms = call_now(call) - call->started_ms;
        ch_timer_stop(call->env->loop, &call->timer);
        call->env->rested(call);
    } else {
        call_decide(call, &call->made);
    }
    ch_call_unref(call);
}

static void shape_on_thread(struct ch_work *w) {
    chela_call *call = CH_CONTAINER(w, chela_call, work);

    ch_outcome_shape(&call->made, &call->answer.shape);
}

static void on_shaped(struct ch_work *w) {
    call_settle(CH_CONTAINER(w, chela_call, work));
}

/* A long text is shaped and saved to a file on a worker thread. */
void ch_call_worked(chela_call *call) {
    call->working = false;
    if (!call->env || call->state != CH_CALL_RUNNING || call->made.raw.n == 0) {
        call_settle(call);
        return;
    }
    call->work = (struct ch_work){
        .run = shape_on_thread,
        .done = on_shaped,
        .dropped = on_shaped,
    };
    ch_work_submit(call->env->workers, &call->work);
}

void ch_call_rest(chela_call *call) {
    call->working = false;
    call->suspended = true;
    if (call->env && call->state == CH_CALL_RUNNING) {
        call->state = CH_CALL_RESTING;
        ch_timer_stop(call->env->loop, &call->timer);
        if (call->env->rested)
            call->env->rested(call);
    } else {
        drop_suspended(call);
    }
    ch_call_unref(call);
}

void ch_call_sleep(chela_call *call, int64_t due) {
    call->working = false;
    if (call->env && call->state == CH_CALL_RUNNING) {
        call->attempts--; /* the same attempt continues after the wait */
        call->wait.sleeps = true;
        ch_wait_begin(call, due, CH_SV(""));
    }
    ch_call_unref(call);
}

void ch_call_checkpoint(chela_call *call, const char *state) {
    if (!call->env)
        return;
    ch_timer_stop(call->env->loop, &call->timer);
    if (call->env->checkpoint)
        call->env->checkpoint(call, state);
}

void ch_call_abandon(chela_call *call) {
    struct ch_loop *loop = call->env->loop;

    call->env = NULL;
    call->block = NULL;
    atomic_store(&call->cancelled, true);
    ch_timer_stop(loop, &call->timer);
    ch_timer_stop(loop, &call->again);
    ch_gate_shut(&call->gate);
    ch_loop_unpost(loop, &call->progress_post);
    bool posted = ch_loop_unpost(loop, &call->finish_post);
    if (posted)
        ch_call_worked(call);
    else if (call->suspended)
        drop_suspended(call);
    else if (call->working && call->tool->ops->abandon) {
        call->tool->ops->abandon(call);
        ch_call_worked(call);
    } else if (call->working && call->tool->ops->cancel) {
        call->tool->ops->cancel(call); /* the work ends by itself, but may stop early */
    }
    ch_call_unref(call);
}
