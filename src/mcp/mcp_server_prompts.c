/* mcp_server_prompts.c -- prompts of the configuration's files for clients of a server.
 *
 * The versions of the files are those that a session gets outside of a roll-out. Variables are
 * arguments, all of them required. chela's own prompts are not offered. */
#include "mcp/mcp_server_prompts.h"

#include "agent/context/role_prompts.h"
#include "base/error.h"
#include "base/log.h"
#include "chela/prompt.h"
#include "prompt/prompts.h"

static int get_prompt(chela_mcp_call *call, void *user) {
    struct chela_prompt_query q = CHELA_PROMPT_QUERY(.name = chela_mcp_call_name(call));
    const char *values = chela_mcp_call_arguments(call);
    CH_ARENA_AUTO arena = {0};
    struct chela_error err = {0};
    const struct ch_json *parts = NULL;
    char *json = chela_prompt_render(user, &q, values, strlen(values), &err);

    if (!json || ch_json_parse(&arena, ch_sv_str(json), CH_JSON_STRICT, &parts, NULL, &err) < 0) {
        chela_free(json);
        return chela_mcp_result_error(call, "%s", err.message);
    }
    const char *const names[] = {"system", "user"};
    for (size_t i = 0; i < CH_LEN(names); i++) {
        struct ch_sv text = ch_json_get_str(parts, names[i]);
        if (text.n)
            chela_mcp_result_text(call, text.p, text.n);
    }
    chela_free(json);
    return 0;
}

static int offer_prompt(chela_mcp_server *s, const struct ch_prompt *p, struct chela_error *err) {
    CH_BUF_AUTO arguments = {0};
    struct ch_jw w = ch_jw(&arguments);

    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < p->nvariables; i++) {
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "name", p->variables[i].name);
        if (p->variables[i].about && *p->variables[i].about)
            ch_jw_kcstr(&w, "description", p->variables[i].about);
        ch_jw_kbool(&w, "required", true);
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
    struct chela_mcp_prompt_opts opts = CHELA_MCP_PROMPT_OPTS(
        .name = p->name, .description = p->head.description, .arguments = ch_buf_str(&arguments),
        .fn = get_prompt, .user = s->rt, .flags = CHELA_MCP_ON_LOOP);
    int rc = chela_mcp_server_prompt(s, &opts, err);
    if (rc != CHELA_EEXIST)
        return rc;
    ch_log(CH_LOG_INFO, "mcp", "prompt %s is not offered: there is a skill of this name", p->name);
    return 0;
}

int ch_mcp_server_prompts(chela_mcp_server *s, struct chela_error *err) {
    const struct ch_prompts *all = s->rt->prompts;
    const char *last = NULL;
    int rc = 0;

    for (size_t i = 0; rc == 0 && all && all->dir && i < all->n; i++) {
        const char *name = all->list[i].prompt.name;
        if (last && strcmp(last, name) == 0)
            continue;
        last = name;
        const struct ch_prompt *p =
            ch_prompts_pick(all, &(struct ch_prompt_query){.name = name}, NULL);
        if (p && strncmp(p->where, all->dir, strlen(all->dir)) == 0)
            rc = offer_prompt(s, p, err);
    }
    return rc;
}
