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
           (!f->listed && was_said(call, to, text));
}

void ch_outgoing_judge(chela_call *call, struct ch_outgoing *out) {
    CH_BUF_AUTO url = {0};

    *out = (struct ch_outgoing){.verdict = CH_OUTGOING_FREE};
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

void ch_outgoing_explain(const struct ch_outgoing *o, struct ch_buf *out) {
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
