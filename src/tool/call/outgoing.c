/* outgoing.c -- see outgoing.h. */
#include "tool/call/outgoing.h"

#include "base/say.h"
#include "tool/result/display.h"

/* Tools of the runtime; what commands may reach is another matter. */
static void digest_of(const struct ch_url *to, unsigned char out[CH_SHA256_SIZE]) {
    ch_egress_digest(to, to->tls ? CH_SV("https") : CH_SV("http"), out);
}

static bool is_remembered(const chela_call *call, const struct ch_url *to) {
    unsigned char digest[CH_SHA256_SIZE];

    digest_of(to, digest);
    return ch_memory_has(call->env->memory, digest);
}

/* A person named the address. An address of this machine or its network is asked about all the
 * same, because a person may have named it as text. */
static bool was_said(const chela_call *call, const struct ch_url *to, struct ch_sv text) {
    return call->env->said && !ch_egress_is_inward(to) && call->env->said(call, text);
}

static bool is_free(const chela_call *call, const struct ch_url *to, struct ch_sv text, bool named,
                    const struct ch_egress_finding *f) {
    return f->verdict == CH_EGRESS_ALLOW || named || is_remembered(call, to) ||
           (!f->listed && (was_said(call, to, text) || ch_egress_carries_little(to)));
}

static void judge_host(chela_call *call, struct ch_outgoing *out) {
    CH_BUF_AUTO url = {0};

    if (!call->env->egress || !call->tool->destination)
        return;
    bool named = call->tool->destination(call, &url);
    if (ch_url_parse(ch_buf_sv(&url), &out->to, NULL) < 0)
        return; /* the tool refuses it */
    out->url = ch_arena_str(&call->arena, ch_buf_sv(&url));
    ch_url_parse(ch_sv_str(out->url), &out->to, NULL);
    digest_of(&out->to, out->digest);
    struct ch_egress_finding f = ch_egress_judge(call->env->egress, &out->to);
    out->verdict = f.verdict == CH_EGRESS_DENY ? CH_OUTGOING_DENIED
                   : is_free(call, &out->to, ch_sv_str(out->url), named, &f) ? CH_OUTGOING_FREE
                                                                             : CH_OUTGOING_ASK;
    out->unlisted = out->verdict == CH_OUTGOING_ASK;
}

/* "Always" for a host holds for the tool that asked, and only for this rule. */
static void digest_of_met(const chela_call *call, const struct ch_outgoing *o,
                          unsigned char out[CH_SHA256_SIZE]) {
    CH_BUF_AUTO text = {0};

    ch_buf_add_str(&text, "flow\n");
    ch_flow_add_target(call, &text);
    ch_buf_addc(&text, '\n');
    if (o->url)
        ch_url_add_authority(&text, &o->to);
    ch_sha256_of(ch_buf_sv(&text), out);
}

static void judge_flow(chela_call *call, struct ch_outgoing *out) {
    struct ch_flow_met met = ch_flow_judge(call);

    if (!met.source || (out->url && (was_said(call, &out->to, ch_sv_str(out->url)) ||
                                     ch_egress_carries_little(&out->to))))
        return;
    digest_of_met(call, out, out->met_digest);
    if (ch_memory_has(call->env->memory, out->met_digest))
        return;
    out->met = met;
    out->verdict = ch_flow_denies(call) ? CH_OUTGOING_DENIED : CH_OUTGOING_ASK;
}

void ch_outgoing_judge(chela_call *call, struct ch_outgoing *out) {
    *out = (struct ch_outgoing){.verdict = CH_OUTGOING_FREE};
    judge_host(call, out);
    if (out->verdict != CH_OUTGOING_DENIED)
        judge_flow(call, out);
}

/* A person agreed to the call, not only to the host: to its address too, then. */
static bool was_asked_about(const chela_call *call, const struct ch_url *to) {
    struct ch_url asked;

    return call->bound && call->bound->sends &&
           ch_url_parse(ch_sv_str(call->bound->sends), &asked, NULL) == 0 &&
           ch_url_same_host(&asked, to) && asked.port == to->port;
}

bool ch_outgoing_may_follow(const chela_call *call, const struct ch_url *to, struct ch_sv text) {
    if (!call->env || !call->env->egress)
        return true;
    struct ch_egress_finding f = ch_egress_judge(call->env->egress, to);
    return f.verdict != CH_EGRESS_DENY &&
           (was_asked_about(call, to) || is_free(call, to, text, false, &f));
}

const char *ch_outgoing_refuses(const chela_call *call, const struct ch_url *to,
                                const struct sockaddr *at) {
    if (!call->env)
        return "cancelled";
    struct ch_egress_finding f = ch_egress_judge(call->env->egress, to);
    bool inward = ch_egress_is_inward(to);
    bool named = f.named || (inward && (was_asked_about(call, to) || is_remembered(call, to)));
    return ch_egress_refuses(call->env->egress, to, at, named);
}

/* --- texts ------------------------------------------------------------------------------- */

void ch_outgoing_show(const struct ch_outgoing *o, enum chela_language language,
                      struct ch_buf *out) {
    CH_BUF_AUTO host = {0};
    CH_BUF_AUTO shown = {0};
    ch_url_add_authority(&host, &o->to);
    ch_display_add(&shown, ch_buf_sv(&host), CH_DISPLAY_LINE);
    ch_buf_add_str(out, "\n  ");
    ch_say_add(out, CH_SAY_SHOWN_SENDS, language, CH_SAY_VALUES(ch_buf_sv(&shown)));
}

static void add_shown(struct ch_buf *out, const char *text) {
    ch_display_add(out, ch_sv_str(text), CH_DISPLAY_LINE);
}

void ch_outgoing_show_met(const char *source, const char *data, enum chela_language language,
                          struct ch_buf *out) {
    CH_BUF_AUTO a = {0}, b = {0};
    add_shown(&a, source);
    add_shown(&b, data);
    ch_buf_add_str(out, "\n  ");
    ch_say_add(out, CH_SAY_SHOWN_MET, language, CH_SAY_VALUES(ch_buf_sv(&a), ch_buf_sv(&b)));
}

/* The line of the configuration that would allow it names the word of the source. */
static void explain_met(const struct ch_outgoing *o, struct ch_buf *out) {
    struct ch_sv rest = ch_sv_str(o->met.source), word = ch_sv_split(&rest, ':');
    ch_buf_add_str(out, "This call could carry data out: the conversation holds private data (");
    add_shown(out, o->met.data);
    ch_buf_add_str(out, ") and text that nobody vouched for (");
    add_shown(out, o->met.source);
    ch_buf_add_str(out, "), so the call was not made. ");
    if (o->verdict == CH_OUTGOING_DENIED) {
        ch_buf_add_str(out, "flow.rule refuses such calls. Do without it.");
        return;
    }
    ch_buf_add_str(out, "It needs a person, and nobody can be asked here. The line flow: { trust: "
                        "[owner, member, ");
    bool whole = ch_sv_is(word, "mcp") || ch_sv_is(word, "tool");
    if (whole)
        add_shown(out, o->met.source);
    else
        ch_buf_add_sv(out, word);
    ch_buf_add_str(out, "] } of the configuration would trust that source.");
}

void ch_outgoing_explain(const struct ch_outgoing *o, struct ch_buf *out) {
    if (o->met.source && !o->unlisted) {
        explain_met(o, out);
        return;
    }
    ch_url_add_authority(out, &o->to);
    if (o->verdict == CH_OUTGOING_DENIED) {
        ch_buf_add_str(out, " is a host that egress.deny names, so the call was not made. Do "
                            "without it.");
        return;
    }
    ch_buf_add_str(out, " is a host that nobody allowed, and nobody can be asked here, so the call "
                        "was not made. It would be allowed by the line ");
    ch_egress_add_remedy(out, &o->to);
    ch_buf_add_str(out, " of the configuration. An address that stands word for word in a message "
                        "of the user needs no permission.");
}
