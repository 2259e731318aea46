/* consent.c -- see consent.h.
 *
 * A person, a rule or a remembered approval approves call->bound; after that the call cannot
 * change until it starts. A denial is a normal result for the model, and the run continues. */
#include "tool/call/consent.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/error.h"
#include "tool/call/aftermath.h"
#include "tool/call/outgoing.h"
#include "tool/call/special_writes.h"
#include "tool/process/sandbox_policy.h"
#include "tool/registry/argument_validation.h"

#define MESSAGING "message,send_email,send_message,chat_react,chat_recall,chat_mute,chat_remove"

static void deny(chela_call *call, const char *why) {
    struct ch_outcome o = {0};

    ch_outcome_error(&o, "permission_denied", "%s", why);
    o.denied = true;
    ch_call_end(call, &o);
}

/* --- is approval needed? ----------------------------------------------------- */

/* True if this machine has every layer of the sandbox. Otherwise the question names the
 * missing layer, and so does one warning. */
static bool check_full_box(chela_call *call) {
    call->lacks = ch_sandbox_lacks(&call->arena, call->env->sandbox);
    return !call->lacks;
}

/* True if an allow rule lists the arguments of the call, and with them its destination. */
static bool names_destination(chela_call *call) {
    call->by_rule =
        ch_approvals_vouch(call->env->approvals, call, call->bound) == CH_VOUCH_YES &&
        !(call->tool->flags & CH_TOOL_DOUBTED);
    return call->by_rule;
}

/* True if a rule or an earlier approval covers the call; records which. Files that other
 * programs execute need a question about the very call. */
static bool find_voucher(chela_call *call) {
    const struct ch_call_env *env = call->env;
    const struct ch_bound *b = call->bound;

    if (b->kind == CH_KIND_EXECUTED)
        return false;
    if (b->met_source)
        return ch_memory_has(env->memory, b->digest);
    if (b->sends)
        return ch_memory_has(env->memory, b->digest) || names_destination(call);
    if (call->tool->flags & CH_TOOL_DOUBTED)
        return ch_memory_has(env->memory, b->digest);
    enum ch_vouch vouch = ch_approvals_vouch(env->approvals, call, b);
    if (vouch == CH_VOUCH_NO && b->kind == CH_KIND_PLAIN)
        vouch = ch_approvals_granted(env->granted, call, b);
    call->by_rule = vouch == CH_VOUCH_YES;
    call->full_box = vouch == CH_VOUCH_IN_BOX && check_full_box(call);
    return call->by_rule || call->full_box || ch_memory_has(env->memory, b->digest) ||
           (b->kind == CH_KIND_INSTRUCTIONS && env->ask_means == CH_CONSENT_AUTO);
}

static void deny_destination(chela_call *call, const struct ch_outgoing *to) {
    CH_BUF_AUTO why = {0};

    ch_outgoing_explain(to, &why);
    deny(call, ch_buf_str(&why));
}

static void deny_unasked(chela_call *call) {
    CH_BUF_AUTO why = {0};

    ch_buf_add_str(&why, "This call needs a person's consent and nobody can be asked here, so it "
                         "was not made. Do without it, or say what you would need.");
    if (call->bound->writes)
        ch_buf_add_str(&why, call->bound->writes);
    deny(call, ch_buf_str(&why));
}

/* Permit writing the files that the person was shown, or that a rule covers. */
static void permit_writes(chela_call *call) {
    call->guard.allowed = CH_MIN(call->bound->kind, CH_KIND_EXECUTED);
}

/* A command runs unasked in the full sandbox if the level of its tool, or the meaning of
 * "ask", is SANDBOX. */
static bool runs_in_full_box(chela_call *call, enum ch_consent level) {
    struct ch_plan plan = {0};

    if (level != CH_CONSENT_SANDBOX &&
        !(level == CH_CONSENT_ASK && call->env->ask_means == CH_CONSENT_SANDBOX))
        return false;
    if (call->tool->plan)
        call->tool->plan(call, &plan);
    call->full_box = plan.command.n > 0 && check_full_box(call);
    return call->full_box;
}

/* True for a call whose effect a layer does not hold back: a message, a function of the host or of
 * an MCP server. Commands run in the layer. */
static bool reaches_out(const chela_call *call) {
    const struct ch_tool *t = call->tool;

    if (!call->env->layer)
        return false;
    if (ch_tool_matches(CH_SV(MESSAGING), ch_sv_str(call->name)))
        return true;
    return t->ops && strcmp(t->ops->name, "function") == 0 &&
           !(t->flags & CH_TOOL_CONSTANT) && t->effect == CHELA_EFFECT_ONCE &&
           t->permission != CHELA_PERM_READ;
}

bool ch_consent_given(chela_call *call) {
    const struct ch_call_env *env = call->env;
    enum ch_consent level = ch_approvals_level(env->approvals, call->tool);
    const char *writes;
    enum ch_file_kind kind;
    struct ch_outgoing to;

    if (level == CH_CONSENT_DENY) {
        deny(call, "The rules here deny this tool, so the call was not made. Do without it.");
        return false;
    }
    ch_outgoing_judge(call, &to);
    if (to.verdict == CH_OUTGOING_DENIED) {
        deny_destination(call, &to);
        return false;
    }
    kind = ch_special_writes(call, &writes);
    call->bound = NULL; /* of arguments that a person has replaced */
    call->by_rule = call->full_box = false;
    call->lacks = NULL;
    bool plain = kind == CH_KIND_PLAIN && to.verdict == CH_OUTGOING_FREE &&
                 !(call->tool->flags & CH_TOOL_DOUBTED) && !reaches_out(call);
    if (plain && (runs_in_full_box(call, level) || level == CH_CONSENT_AUTO ||
                  env->ask_means == CH_CONSENT_AUTO))
        return true;
    call->bound = ch_arena_alloc(&call->arena, sizeof(*call->bound));
    ch_bind(call, call->bound);
    if (call->edited || find_voucher(call)) {
        permit_writes(call);
        return true;
    }
    bool nobody = env->ask_means == CH_CONSENT_DENY || !env->ask;
    if (to.verdict == CH_OUTGOING_ASK && (nobody || env->ask_means == CH_CONSENT_AUTO))
        deny_destination(call, &to); /* who allows calls unasked is not there to answer */
    else if (nobody)
        deny_unasked(call);
    else
        call->state = CH_CALL_ASKING;
    return false;
}

bool ch_consent_holds(chela_call *call) {
    struct ch_bound now;

    if (!call->bound)
        return true;
    ch_bind(call, &now);
    if (memcmp(now.digest, call->bound->digest, sizeof(now.digest)) == 0)
        return true;
    deny(call, "What this call would run was changed after it was agreed to, so it was not run. "
               "Make the call again.");
    return false;
}

/* --- asking ------------------------------------------------------------------- */

/* The id is unpredictable, so only those who received the request can answer it. */
static const char *consent_make_id(struct ch_arena *arena) {
    unsigned char dice[12];
    CH_BUF_AUTO id = {0};

    if (getrandom(dice, sizeof(dice), 0) != (ssize_t)sizeof(dice))
        abort(); /* getrandom never fails for so few bytes */
    ch_buf_add_str(&id, "ap_");
    for (size_t i = 0; i < sizeof(dice); i++)
        ch_buf_addf(&id, "%02x", dice[i]);
    return ch_arena_str(arena, ch_buf_sv(&id));
}

/* Reduce the wanted decision to a possible one: "always" may be unavailable. */
static enum chela_decision possible(const char *obstacle, enum chela_decision wanted) {
    return wanted == CHELA_ALLOW_ALWAYS && obstacle ? CHELA_ALLOW_ONCE : wanted;
}

/* True if the same request was made before a restart. */
static bool consent_is_known(const chela_call *call, const unsigned char *digest) {
    return call->known_id && memcmp(call->known_digest, digest, CH_SHA256_SIZE) == 0;
}

void ch_consent_ask(chela_call *call, struct ch_sv summary, const char *obstacle,
                    const unsigned char digest[CH_SHA256_SIZE]) {
    char *reason = NULL;

    call->approval_id =
        consent_is_known(call, digest) ? call->known_id : consent_make_id(&call->arena);
    if (!call->env->ask)
        return;
    struct ch_ask ask = {.approval_id = call->approval_id,
                         .arguments = call->arguments,
                         .summary = summary,
                         .obstacle = obstacle,
                         .digest = digest};
    ch_call_ref(call); /* the host may close the batch in its callback */
    enum chela_decision decision = call->env->ask(call, &ask, &reason);
    struct chela_error err = {0};
    if (decision != CHELA_UNDECIDED && call->env && call->state == CH_CALL_ASKING &&
        ch_call_consent(call, possible(obstacle, decision), reason, &err) < 0)
        deny(call, err.message);
    ch_call_unref(call);
    ch_free(reason);
}

void ch_call_ask(chela_call *call) {
    CH_BUF_AUTO summary = {0};

    if (call->aftermath) {
        ch_aftermath_ask(call);
        return;
    }
    ch_bind(call, call->bound); /* earlier calls may have changed files */
    ch_bound_show(call, call->bound, &summary);
    ch_consent_ask(call, ch_buf_sv(&summary), call->bound->obstacle, call->bound->digest);
}

static void deny_by_person(chela_call *call, const char *reason) {
    CH_BUF_AUTO why = {0};

    ch_buf_add_str(&why, "The user was asked and did not allow this call, so it was not made");
    if (reason && *reason)
        ch_buf_addf(&why, ": %s", reason);
    ch_buf_add_str(&why, why.p[why.n - 1] == '.' ? " " : ". ");
    ch_buf_add_str(&why, "Do not make the same call again unless the user asks for it.");
    deny(call, ch_buf_str(&why));
}

int ch_consent_fits(struct ch_tool *t, const char *arguments, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO words = {0};
    const struct ch_json *v;
    struct ch_sv text = ch_sv_str(arguments);
    struct chela_error why = {0};

    if (ch_json_parse(&arena, text, CH_JSON_STRICT, &v, NULL, &why) < 0)
        return ch_fail(err, CHELA_EINVAL, "the arguments are not JSON: %s", why.message);
    if (v->type != CH_JSON_OBJECT)
        return ch_fail(err, CHELA_EINVAL, "the arguments of a call are a JSON object");
    struct ch_contract *contract =
        t && !(t->flags & CHELA_TOOL_FORGIVING) ? ch_tool_contract(t) : NULL;
    if (!contract || ch_contract_check(contract, &arena, &v, &text, &words) != CH_FITS_NOT)
        return 0;
    return ch_fail(err, CHELA_EINVAL, "the new arguments of %s do not fit its schema: %s", t->name,
                   ch_buf_str(&words));
}

/* Replace the arguments; everything derived from the old ones is reset. */
static int consent_edit(chela_call *call, const char *arguments, struct chela_error *err) {
    int rc = ch_consent_fits(call->tool, arguments, err);

    if (rc < 0)
        return rc;
    call->arguments = ch_sv_str(ch_arena_str(&call->arena, ch_sv_str(arguments)));
    call->flags = 0;
    call->edited = true;
    call->stage = 0;
    call->state = CH_CALL_NEW;
    return 0;
}

static void answer_by_person(chela_call *call, const char *text) {
    struct ch_outcome o = {0};

    ch_shape_text(&(struct ch_shape){0}, ch_sv_str(text), 0, &o.content);
    ch_buf_add_str(&o.details, "{\"answered_by\":\"person\"}");
    call->ran = true;
    ch_call_end(call, &o);
}

static void remember(struct ch_memory *memory, const struct ch_bound *b) {
    for (unsigned i = 0; i < b->nplaces; i++)
        ch_memory_add(memory, b->places[i]);
    if (!b->nplaces)
        ch_memory_add(memory, b->digest);
}

int ch_call_consent(chela_call *call, enum chela_decision decision, const char *reason,
                    struct chela_error *err) {
    const struct ch_bound *b = call->bound;

    if (call->aftermath) {
        ch_aftermath_answer(call, decision);
        return 0;
    }
    if (decision == CHELA_EDIT)
        return consent_edit(call, reason ? reason : "", err);
    if (decision == CHELA_ANSWER) {
        answer_by_person(call, reason ? reason : "");
        return 0;
    }
    if (decision == CHELA_TAKE_OVER) {
        deny(call, "A person took over here, so this call was not made.");
        return 0;
    }

    if (decision == CHELA_DENY) {
        deny_by_person(call, reason);
        return 0;
    }
    if (decision == CHELA_ALLOW_ALWAYS && b->obstacle)
        return ch_fail(err, CHELA_EPERM, "this call cannot be allowed always: it uses %s",
                       b->obstacle);
    if (decision == CHELA_ALLOW_ALWAYS && call->env->memory)
        remember(call->env->memory, b);
    permit_writes(call);
    call->state = CH_CALL_NEW; /* continue after this stage */
    return 0;
}
