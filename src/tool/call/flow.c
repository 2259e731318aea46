/* flow.c -- see flow.h. */
#include "tool/call/flow.h"

#include <stdlib.h>

#include "base/limits.h"
#include "guard/leak.h"
#include "guard/private_file.h"
#include "net/url.h"
#include "tool/process/sandbox_policy.h"

#define LEAK_AGE_MS 2000 /* a value of an .env file may be found that much too late */

static const struct ch_flow_rules no_rules;

static const struct ch_flow_rules *rules_of(const chela_call *call) {
    return call->env->flow ? call->env->flow : &no_rules;
}

static void flow_add_origin(const chela_call *call, struct ch_buf *out) {
    if (call->tool->origin)
        ch_buf_add_str(out, call->tool->origin);
    else
        ch_buf_addf(out, "tool:%s", call->tool->name);
}

static bool is_from_workspace(const struct ch_tool *t) {
    return t->origin && strcmp(t->origin, CH_ORIGIN_WORKSPACE) == 0;
}

/* --- what a result brings ------------------------------------------------------------------ */

static bool is_word_part(char c) {
    return (unsigned char)c > ' ' && !strchr("\"'`;|&<>(){}[]=,:\\$", c);
}

/* The first word of a text that names a private file; n 0: none. */
static struct ch_sv find_private_word(struct ch_sv text, const char *patterns) {
    for (size_t i = 0, n; i < text.n; i += n + 1) {
        for (n = 0; i + n < text.n && is_word_part(text.p[i + n]);)
            n++;
        if (n && ch_private_file(ch_sv(text.p + i, n), patterns))
            return ch_sv(text.p + i, n);
    }
    return ch_sv("", 0);
}

static struct ch_sv find_in_arguments(const struct ch_json *v, const char *patterns) {
    struct ch_sv found = {0};

    if (ch_json_is(v, CH_JSON_STRING))
        return find_private_word(ch_json_str(v), patterns);
    if (ch_json_is(v, CH_JSON_ARRAY))
        for (CH_JSON_EACH(one, v))
            if ((found = find_in_arguments(one, patterns)).n)
                return found;
    if (ch_json_is(v, CH_JSON_OBJECT))
        for (CH_JSON_MEMBERS(key, value, v)) {
            (void)key;
            if ((found = find_in_arguments(value, patterns)).n)
                return found;
        }
    return found;
}

/* The file that a link in the arguments leads to. */
static struct ch_sv find_behind_link(chela_call *call, const char *patterns) {
    struct ch_sv path = ch_json_get_str(call->args, "file_path");
    CH_BUF_AUTO full = {0};

    if (!path.n || path.n > CH_LIMIT_PATH)
        return ch_sv("", 0);
    if (path.p[0] != '/')
        ch_buf_addf(&full, "%s/", call->workspace);
    ch_buf_add_sv(&full, path);
    char *real = realpath(ch_buf_str(&full), NULL);
    const char *kept = real ? ch_arena_str(&call->arena, ch_sv_str(real)) : "";
    free(real);
    const char *slash = strrchr(kept, '/');
    return slash && ch_private_file(ch_sv_str(kept), patterns) ? ch_sv_str(slash + 1)
                                                               : ch_sv("", 0);
}

/* Lines of a search begin with the path of the file. */
static struct ch_sv find_in_lines(struct ch_sv text, const char *patterns) {
    while (text.n) {
        struct ch_sv line = ch_sv_split(&text, '\n'), path = ch_sv_split(&line, ':');
        if (line.n && ch_private_file(path, patterns))
            return path;
    }
    return ch_sv("", 0);
}

static void add_private(chela_call *call, const char *word, struct ch_sv name) {
    CH_BUF_AUTO source = {0};

    ch_buf_addf(&source, "%s:%.*s", word, CH_SV_FMT(name));
    ch_labels_add(&call->labels, CH_LABEL_PRIVATE, ch_buf_sv(&source));
}

/* Nobody knows which files a command has read: all at the top of the workspace, it may be. */
static struct ch_sv find_for_command(chela_call *call, const char *patterns) {
    CH_AUTOFREE char *name = ch_private_file_in(call->workspace, patterns);

    return name ? ch_sv_str(ch_arena_str(&call->arena, ch_sv_str(name))) : ch_sv("", 0);
}

static bool is_command(const struct ch_tool *t) {
    return t->flags & CHELA_TOOL_RISKY || strcmp(t->name, "process") == 0;
}

static void label_workspace(chela_call *call, struct ch_sv result) {
    const char *patterns = rules_of(call)->private_files;
    struct ch_sv name = find_in_arguments(call->args, patterns);
    CH_BUF_AUTO secret = {0};

    if (!name.n)
        name = find_behind_link(call, patterns);
    if (!name.n && is_command(call->tool))
        name = find_for_command(call, patterns);
    if (!name.n && strcmp(call->tool->name, "grep") == 0)
        name = find_in_lines(result, patterns);
    if (name.n)
        add_private(call, "file", name);
    else if (ch_leak_find(call->workspace, LEAK_AGE_MS, result, &secret))
        add_private(call, "secret", ch_buf_sv(&secret));
}

static void label_by_tool(chela_call *call) {
    const struct ch_tool *t = call->tool;
    CH_BUF_AUTO origin = {0};
    struct ch_url url;

    flow_add_origin(call, &origin);
    if (t->origin && strcmp(t->origin, CH_ORIGIN_WEB) == 0 && t->destination) {
        CH_BUF_AUTO text = {0};
        t->destination(call, &text);
        if (ch_url_parse(ch_buf_sv(&text), &url, NULL) == 0)
            ch_buf_addf(&origin, ":%.*s", CH_SV_FMT(url.host));
    }
    if (t->flow & CH_FLOW_INGESTS)
        ch_labels_add(&call->labels, CH_LABEL_FOREIGN, ch_buf_sv(&origin));
    if (t->flow & CH_FLOW_READS || call->outcome.authorised)
        ch_labels_add(&call->labels, CH_LABEL_PRIVATE, ch_buf_sv(&origin));
}

void ch_flow_label(chela_call *call) {
    struct ch_sv result = ch_buf_sv(&call->outcome.content);

    if (!call->ran || !call->tool || !call->args || call->outcome.denied)
        return;
    result.n = CH_MIN(result.n, CH_LIMIT_LABEL_SCAN);
    label_by_tool(call);
    if (is_from_workspace(call->tool))
        label_workspace(call, result);
}

/* --- what a call would carry out ------------------------------------------------------------ */

/* A program in the sandbox reaches the network through the proxy alone, which asks by itself
 * (box_network.h). */
static bool is_boxed(const chela_call *call) {
    const struct ch_sandbox_policy *p = call->env->sandbox;

    return !p || (p->mode != CH_SANDBOX_OFF && p->network != CH_SANDBOX_NET_HOST);
}

static bool flow_sends(chela_call *call) {
    const struct ch_tool *t = call->tool;

    if (t->stays && t->stays(call))
        return false;
    if (t->flow & CH_FLOW_IF_OPEN)
        return !is_boxed(call);
    return t->flow & CH_FLOW_SENDS;
}

static const char *first_foreign(const struct ch_labels *l, const struct ch_flow_rules *rules) {
    struct ch_sv trust = ch_sv_str(rules->trust ? rules->trust : CH_FLOW_TRUST);

    for (size_t i = 0; l && i < l->n[CH_LABEL_FOREIGN]; i++)
        if (!ch_labels_listed(trust, ch_sv_str(l->names[CH_LABEL_FOREIGN][i])))
            return l->names[CH_LABEL_FOREIGN][i];
    return NULL;
}

/* Data that did not come from where it would go. local: it would go to a program of this machine,
 * which may have what the operator's other programs return. */
static const char *first_private(const struct ch_labels *l, struct ch_sv target, bool local) {
    for (size_t i = 0; l && i < l->n[CH_LABEL_PRIVATE]; i++) {
        const char *name = l->names[CH_LABEL_PRIVATE][i];
        bool of_program = strncmp(name, "tool:", strlen("tool:")) == 0;
        if (!ch_sv_is(target, name) && !(local && of_program))
            return name;
    }
    return NULL;
}

void ch_flow_add_target(const chela_call *call, struct ch_buf *out) {
    flow_add_origin(call, out);
}

static struct ch_flow_met judge_for(chela_call *call, struct ch_sv target, bool local) {
    struct ch_flow_met met = {0};
    const struct ch_flow_rules *rules = rules_of(call);

    if (rules->rule == CH_FLOW_OFF || !call->env->labels)
        return met;
    met.source = first_foreign(call->env->labels, rules);
    met.data = met.source ? first_private(call->env->labels, target, local) : NULL;
    return met.data ? met : (struct ch_flow_met){0};
}

struct ch_flow_met ch_flow_judge(chela_call *call) {
    CH_BUF_AUTO target = {0};

    if (!flow_sends(call))
        return (struct ch_flow_met){0};
    ch_flow_add_target(call, &target);
    return judge_for(call, ch_buf_sv(&target), call->tool->flow & CH_FLOW_IF_OPEN);
}

struct ch_flow_met ch_flow_judge_command(chela_call *call) {
    const struct ch_flow_rules *rules = rules_of(call);
    struct ch_flow_met met = judge_for(call, CH_SV(""), false);
    struct ch_sv own;

    if (met.source || rules->rule == CH_FLOW_OFF || !call->env->labels)
        return met;
    met.source = first_foreign(call->env->labels, rules);
    own = met.source ? find_for_command(call, rules->private_files) : ch_sv("", 0);
    if (own.n)
        met.data = ch_arena_printf(&call->arena, "file:%.*s", CH_SV_FMT(own));
    return met.data ? met : (struct ch_flow_met){0};
}

bool ch_flow_denies(const chela_call *call) {
    return rules_of(call)->rule == CH_FLOW_DENY;
}

unsigned ch_flow_flags(const char *words) {
    struct ch_sv list = ch_sv_str(words);

    if (!words)
        return 0;
    return CHELA_TOOL_FLOW | (ch_labels_listed(list, CH_SV("reads")) ? CHELA_TOOL_READS : 0u) |
           (ch_labels_listed(list, CH_SV("ingests")) ? CHELA_TOOL_INGESTS : 0u) |
           (ch_labels_listed(list, CH_SV("sends")) ? CHELA_TOOL_SENDS : 0u);
}
