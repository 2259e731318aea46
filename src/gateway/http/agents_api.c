/* agents_api.c -- see agents_api.h.
 *
 * An agent is shown with all tools that are registered, also with those that its policy does
 * not offer to the model, and with the reason for each decision. */
#include "gateway/http/agents_api.h"

#include "agent/handle/agent.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "model/provider/target.h"
#include "tool/call/approval.h"

static const char *const effects[] = {"once", "keyed", "read"};
static const char *const permissions[] = {"admin", "write", "read"};

/* Why the policy does not offer a tool; NULL: it does. */
static const char *agents_why_withheld(const struct ch_policy *p, const struct ch_tool *t) {
    struct ch_sv name = ch_sv_str(t->name);
    if (ch_policy_allows(p, name, t->permission))
        return NULL;
    if (p->deny && ch_policy_listed(ch_sv_str(p->deny), name))
        return "denied";
    return t->permission < p->permission ? "permission" : "allow";
}

static void agents_write_consent(struct ch_jw *w, const chela_agent *a, const struct ch_tool *t) {
    enum ch_consent level = ch_approvals_level(a->approvals, t);
    bool stated = level != ch_approvals_level(NULL, t);
    bool confirms = t->flags & (CHELA_TOOL_CONFIRM | CHELA_TOOL_RISKY);
    ch_jw_kcstr(w, "consent", ch_consent_name(level == CH_CONSENT_ASK ? a->ask_means : level));
    ch_jw_kcstr(w, "consent_why", stated ? "configured" : confirms ? "confirm" : "default");
}

static void agents_write_tool(struct ch_jw *w, const chela_agent *a, const struct ch_tool *t) {
    const char *why = agents_why_withheld(&a->policy, t);
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", t->name);
    ch_jw_kstr(w, "summary", ch_tool_summary(t));
    ch_jw_kcstr(w, "effect", effects[t->effect]);
    ch_jw_kcstr(w, "permission", permissions[t->permission]);
    ch_jw_kcstr(w, "kind", t->ops ? t->ops->name : "client");
    ch_jw_kbool(w, "offered", !why);
    ch_jw_kcstr(w, "why", why);
    agents_write_consent(w, a, t);
    ch_jw_end(w, '}');
}

static void agents_write_limits(struct ch_jw *w, const chela_agent *a) {
    ch_jw_kbegin(w, "limits", '{');
    ch_jw_kint(w, "max_turns", a->limits.max_turns);
    ch_jw_kint(w, "max_tool_calls", a->limits.max_tool_calls);
    ch_jw_kint(w, "token_budget", a->limits.token_budget);
    ch_jw_kint(w, "timeout_ms", a->timeout_ms);
    ch_jw_end(w, '}');
}

static void agents_write(struct ch_jw *w, const chela_agent *a) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "id", a->id);
    ch_jw_kcstr(w, "description", a->description);
    ch_jw_kcstr(w, "workspace", a->workspace);
    ch_jw_kcstr(w, "permission", permissions[a->policy.permission]);
    ch_jw_kcstr(w, "approve", ch_consent_name(a->ask_means));
    ch_jw_kbegin(w, "models", '[');
    for (size_t i = 0; i < a->ntargets; i++)
        ch_jw_cstr(w, a->targets[i]->spec);
    ch_jw_end(w, ']');
    agents_write_limits(w, a);
    ch_jw_kbegin(w, "tools", '[');
    for (size_t i = 0; i < a->registry.n; i++)
        agents_write_tool(w, a, a->registry.tools[i]);
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
}

void ch_agents_list(struct ch_request *req) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "agents", '[');
    for (chela_agent **a = req->gw->agents; *a; a++)
        agents_write(&w, *a);
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, 200, &out);
}

void ch_agents_skills(struct ch_request *req) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "agents", '[');
    for (chela_agent **a = req->gw->agents; *a; a++) {
        char *skills = chela_agent_skills_json(*a);
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "id", (*a)->id);
        ch_jw_kraw(&w, "skills", ch_sv_str(skills));
        ch_jw_end(&w, '}');
        chela_free(skills);
    }
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, 200, &out);
}
