/* context.c -- see context.h. */
#include "agent/context/context.h"
#include "agent/context/role_prompts.h"
#include "agent/handle/lookup.h"
#include "agent/handle/run.h"
#include "agent/journal/emit.h"
#include "model/provider/target.h"

#include <sys/utsname.h>

#include "base/calendar.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/shared_text.h"
#include "io/loop_entry.h"
#include "prompt/assemble.h"
#include "prompt/envelope.h"
#include "prompt/prompt.h"
#include "prompt/skill_call.h"
#include "prompt/system.h"
#include "prompt/tokens.h"
#include "json/writer.h"

/* --- settings -------------------------------------------------------------------------- */

static const char *context_keep(chela_agent *a, const char *s) {
    return s ? ch_arena_str(&a->arena, ch_sv_str(s)) : NULL;
}

static const char *const *context_keep_list(chela_agent *a, const char *const *list, size_t *n) {
    *n = 0;
    while (list && list[*n])
        ++*n;
    const char **copy = ch_arena_zalloc(&a->arena, (*n + 1) * sizeof(*copy));
    for (size_t i = 0; i < *n; i++)
        copy[i] = context_keep(a, list[i]);
    return list ? copy : NULL;
}

static int keep_lists(chela_agent *a, const struct ch_agent_opts *o, struct chela_error *err) {
    struct ch_context_conf *c = &a->context;
    size_t nfiles, nsoft;
    c->files = context_keep_list(a, o->prompt.project_files, &nfiles);
    c->rules = context_keep_list(a, o->prompt.rules, &c->nrules);
    c->soft_rules = context_keep_list(a, o->prompt.soft_rules, &nsoft);
    if (nfiles > CH_LIMIT_PROJECT_NAMES)
        return ch_fail(err, CHELA_ELIMIT, "agent %s: more than %d project files", a->id,
                       CH_LIMIT_PROJECT_NAMES);
    if (c->nrules > CH_LIMIT_PROMPT_RULES || nsoft > CH_LIMIT_PROMPT_RULES)
        return ch_fail(err, CHELA_ELIMIT, "agent %s: more than %d rules", a->id,
                       CH_LIMIT_PROMPT_RULES);
    return 0;
}

static int check_shares(chela_agent *a, struct chela_error *err) {
    struct ch_context_conf *c = &a->context;
    c->system_share = c->system_share ? c->system_share : CH_DEFAULT_SYSTEM_SHARE;
    c->output_share = c->output_share ? c->output_share : CH_DEFAULT_OUTPUT_SHARE;
    if (c->system_share + c->output_share < 100)
        return 0;
    return ch_fail(err, CHELA_EINVAL,
                   "agent %s: %u %% of the context for the system prompt and %u %% for the answer "
                   "leave nothing to work with",
                   a->id, c->system_share, c->output_share);
}

/* The instructions of a session without a roll-out, which also shows that the prompt can be
 * used. */
static int keep_instructions(chela_agent *a, struct chela_error *err) {
    CH_BUF_AUTO text = {0};
    struct chela_error why = {0};
    int rc = ch_instructions_render(a, NULL, &text, NULL, &why);
    if (rc < 0)
        return ch_fail(err, CHELA_ECONFIG, "agent %s: systemPrompt: %s", a->id, why.message);
    a->context.instructions = ch_arena_str(&a->arena, ch_buf_sv(&text));
    return 0;
}

int ch_context_configure(chela_agent *a, const struct ch_agent_opts *o,
                         struct chela_error *err) {
    struct ch_context_conf *c = &a->context;
    c->instructions = context_keep(a, o->system);
    c->prompt = o->system ? NULL : context_keep(a, o->prompt.name);
    c->vars = context_keep(a, o->prompt.vars);
    c->replaces = o->prompt.system_replaces || (o->system && !*o->system);
    c->file_max = o->prompt.project_file_max;
    c->files_max = o->prompt.project_files_max;
    c->reminder = context_keep(a, o->prompt.reminder);
    c->docs = context_keep(a, o->prompt.docs);
    c->system_share = o->prompt.system_share;
    c->output_share = o->prompt.output_share;
    c->tools_share = o->prompt.tools_share ? o->prompt.tools_share : CH_DEFAULT_TOOLS_SHARE;
    c->style = o->prompt.style;
    int rc = ch_choice_check(CHELA_CHOICE_PROMPT_STYLE, c->style, err);
    if (rc == 0)
        rc = check_shares(a, err);
    if (rc == 0 && c->prompt)
        rc = keep_instructions(a, err);
    return rc < 0 ? rc : keep_lists(a, o, err);
}

void ch_context_forget(chela_agent *a) {
    ch_bm25_release(&a->context.index);
    ch_shared_text_release(a->context.system);
    ch_shared_text_release(a->context.sections);
    ch_shared_text_release(a->context.head);
    ch_shared_text_release(a->context.tail);
    ch_shared_text_release(a->context.printed);
    ch_shared_text_release(a->context.fingerprint);
}

static void context_files_free(struct ch_context_files *f) {
    if (!f)
        return;
    ch_project_release(&f->project);
    ch_buf_release(&f->changed);
    ch_buf_release(&f->visited);
    ch_free(f);
}

void ch_context_release(struct ch_context *c) {
    context_files_free(c->files);
    ch_buf_release(&c->warnings);
    ch_shared_text_release(c->system);
    ch_shared_text_release(c->sections);
    ch_shared_text_release(c->fingerprint);
    *c = (struct ch_context){0};
}

char *chela_agent_expand(const chela_agent *a, const char *text, size_t len,
                         struct chela_error *err) {
    CH_ENTER_OR(a, a->rt->loop, err, NULL);
    struct ch_buf out = {0};
    if (!ch_skill_called(ch_sv(text, len)))
        return ch_strndup(text, len);
    if (ch_skill_call(&a->skills, a->workspace, ch_sv(text, len), &out, err) == 0)
        return ch_buf_take(&out);
    ch_buf_release(&out);
    return NULL;
}

int ch_context_words(const chela_agent *a, const char *channel, const char *sender,
                     struct ch_sv text, struct ch_buf *out, struct chela_error *err) {
    struct ch_policy p = {.permission = CHELA_PERM_ADMIN};
    CH_AUTOFREE struct ch_policy *bounds CH_UNUSED =
        ch_policies_bound(a->policies, (struct ch_who){channel, sender}, &a->policy, &p.within);
    const struct ch_tool *read = ch_registry_find(&a->registry, CH_SV("read"));
    bool reads = read && ch_policy_allows(&p, CH_SV("read"), read->permission);
    if (reads && ch_skill_called(text))
        return ch_skill_request(&a->skills, text, out, err);
    ch_buf_add_sv(out, text);
    return 0;
}

/* --- tools and model of the run ---------------------------------------------------------- */

static bool context_has(const chela_run *run, const char *name) {
    struct ch_sv sv = ch_sv_str(name);
    const struct ch_tool *t = ch_registry_find(&run->session->agent->registry, sv);
    return t && ch_policy_permits(&run->permit.policy, t);
}

enum { TOOLS = 1, CHANGES = 2, READS = 4, MESSAGE = 8, MEMORY = 16, MINIMAL = 32 };

static unsigned look_at_tools(const chela_run *run) {
    const struct ch_registry *r = &run->session->agent->registry;
    unsigned flags = context_has(run, "read") ? READS : 0;
    flags |= context_has(run, "message") ? MESSAGE : 0;
    flags |= context_has(run, "memory_search") ? MEMORY : 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct ch_tool *t = r->tools[i];
        if (ch_policy_permits(&run->permit.policy, t))
            flags |= TOOLS | (t->permission == CHELA_PERM_READ ? 0 : CHANGES);
    }
    return flags;
}

/* The target of the next model call, as far as it is known. */
static const struct ch_target *target_of(const chela_run *run) {
    return run->target ? run->target : run->session->agent->targets[run->m.model];
}

/* True: the system prompt should be short, because the model runs locally and reads slowly,
 * or has a small context. */
static bool is_small(const chela_run *run) {
    enum chela_prompt_style style = run->session->agent->context.style;
    const struct ch_target *t = target_of(run);
    int64_t window = ch_target_window(t);
    if (style == CHELA_PROMPT_FULL || style == CHELA_PROMPT_MINIMAL)
        return style == CHELA_PROMPT_MINIMAL;
    return t->local || (window && window <= CH_DEFAULT_SMALL_WINDOW);
}

/* --- the beginning ------------------------------------------------------------------------- */

static void load_project(chela_session *s) {
    struct ch_context *c = &s->context;
    const chela_agent *a = s->agent;
    struct ch_project_opts opts = {.workspace = a->workspace,
                                   .names = a->context.files,
                                   .each = a->context.file_max,
                                   .all = a->context.files_max};
    if (c->files)
        return;
    c->files = ch_alloc(sizeof(*c->files));
    const struct ch_project *p = &c->files->project;
    ch_project_load(&c->files->project, &opts);
    for (size_t i = 0; i < p->n; i++)
        if (p->files[i].text.n && p->files[i].untrusted)
            ch_labels_add(&s->labels, CH_LABEL_FOREIGN,
                          strcmp(p->files[i].leaf, "MEMORY.md") == 0 ? CH_SV("memory")
                                                                     : CH_SV("workspace"));
    for (size_t i = 0; i < p->n; i++)
        if (p->files[i].problem)
            ch_buf_addf(&c->warnings, "%s is not used: %s%c", p->files[i].name,
                        p->files[i].problem, '\0');
}

static const char *reasoning_word(const chela_agent *a) {
    return a->reasoning == CHELA_REASONING_DEFAULT ? NULL : chela_reasoning_name(a->reasoning);
}

/* Writes a line such as "agent main on Linux aarch64", so that the model knows which
 * commands it can use. */
/* A model that knows what one message may take can plan for it. The limit of model calls is not
 * told: `chela run` has one and `chela chat` has none, and a session that goes from one to the
 * other keeps its system prompt. */
static void describe_limits(const struct ch_run_limits *l, struct ch_buf *out) {
    const struct {
        int64_t n;
        const char *what;
    } all[] = {{l->max_tool_calls, "tool calls"}, {l->token_budget, "tokens"}};
    const char *before = "; one message may take at most";
    for (size_t i = 0; i < CH_LEN(all); i++) {
        if (all[i].n < 0)
            continue;
        ch_buf_addf(out, "%s %lld %s", before, (long long)all[i].n, all[i].what);
        before = ",";
    }
}

static void describe_runtime(const chela_agent *a, struct ch_buf *out) {
    struct utsname u;
    ch_buf_addf(out, "agent %s", a->id);
    if (uname(&u) == 0)
        ch_buf_addf(out, " on %s %s", u.sysname, u.machine);
    describe_limits(&a->limits, out);
}

/* Writes the parts of the system prompt as JSON, for the journal. */
static void write_sections(const char *system, const struct ch_sections *s, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < s->n; i++) {
        const struct ch_section *p = &s->list[i];
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "name", p->name);
        ch_jw_kcstr(&w, "origin", p->origin);
        ch_jw_kint(&w, "at", (int64_t)p->at);
        ch_jw_kint(&w, "bytes", (int64_t)p->size);
        ch_jw_kint(&w, "tokens", (int64_t)ch_tokens(ch_sv(system + p->at, p->size)));
        if (p->of)
            ch_jw_kint(&w, "of", (int64_t)p->of);
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
}

/* Takes text. A session whose text another session of the agent has, too, shares it. */
static void keep_system(chela_session *s, char *text, const struct ch_sections *sections) {
    struct ch_context_conf *known = &ch_agent_root(s->agent)->context;
    struct ch_context *c = &s->context;
    const char *before = known->system;
    ch_shared_text_release(c->system);
    c->system = ch_shared_text(&known->system, ch_sv_str(text));
    ch_free(text);
    ch_shared_text_release(c->sections);
    if (c->system == before && known->sections) {
        c->sections = ch_shared_text_ref(known->sections);
        return;
    }
    CH_BUF_AUTO out = {0};
    write_sections(c->system, sections, &out);
    c->sections = ch_shared_text(&known->sections, ch_buf_sv(&out));
}

/* Shares the prompt of another session of the agent that was made from the same inputs. */
static bool share_system(chela_session *s, size_t budget) {
    const struct ch_context_conf *known = &s->agent->context;
    struct ch_context *c = &s->context;
    if (s->agent->base || known->key != c->key || known->budget != budget)
        return false;
    ch_shared_text_release(c->system);
    ch_shared_text_release(c->sections);
    c->system = ch_shared_text_ref(known->system);
    c->sections = ch_shared_text_ref(known->sections);
    return true;
}

/* runtime: the line about the machine, borrowed like all texts of the result. */
static struct ch_system_opts system_opts(const chela_session *s, unsigned flags, size_t budget,
                                         const char *runtime) {
    const chela_agent *a = s->agent;
    return (struct ch_system_opts){
        .given = a->context.instructions,
        .replaces = a->context.replaces,
        .workspace = a->workspace,
        .runtime = runtime,
        .skills = flags & READS ? &a->skills : NULL,
        .project = flags & READS ? &s->context.files->project : NULL,
        .channel = s->channel->name,
        .docs = a->context.docs,
        .added = a->context.added,
        .reasoning = reasoning_word(a),
        .rules = a->context.rules,
        .soft_rules = a->context.soft_rules,
        .tools = flags & TOOLS,
        .changes = flags & CHANGES,
        .message = s->channel->name && flags & MESSAGE,
        .memory = flags & MEMORY,
        .budget = budget,
    };
}

/* The instructions that the agent's prompt has for this session, and their fingerprint. If the
 * version that was rolled out cannot be used, the agent's instructions stay. */
static void take_instructions(chela_session *s, struct ch_buf *out) {
    struct ch_context_conf *known = &ch_agent_root(s->agent)->context;
    const char *fingerprint = NULL;
    struct chela_error err = {0};
    if (!s->agent->context.prompt)
        return;
    if (ch_instructions_render(s->agent, s->key, out, &fingerprint, &err) < 0) {
        ch_buf_clear(out);
        ch_buf_addf(&s->context.warnings, "the prompt that was rolled out cannot be used: %s%c",
                    err.message, '\0');
        return;
    }
    ch_shared_text_release(CH_TAKE(known->printed));
    s->context.fingerprint = ch_shared_text(&known->fingerprint, ch_sv_str(fingerprint));
}

static void make_system(chela_run *run, unsigned flags) {
    chela_session *s = run->session;
    const chela_agent *a = s->agent;
    struct ch_context_conf *known = &ch_agent_root(s->agent)->context;
    struct ch_budget budget = ch_budget_split((size_t)ch_target_window(target_of(run)),
                                              a->context.system_share, a->context.output_share);
    ch_shared_text_release(CH_TAKE(s->context.fingerprint));
    if (share_system(s, budget.system))
        return;
    CH_BUF_AUTO cut = {0};
    CH_BUF_AUTO runtime = {0};
    describe_runtime(a, &runtime);
    struct ch_system_opts o = system_opts(s, flags, budget.system, ch_buf_str(&runtime));
    CH_BUF_AUTO given = {0};
    take_instructions(s, &given);
    o.given = given.n ? ch_buf_str(&given) : o.given;
    struct ch_sections sections;
    char *text =
        flags & MINIMAL ? ch_system_minimal(&o, &sections) : ch_system_full(&o, &cut, &sections);
    keep_system(s, text, &sections);
    /* has its own agent, files, version of a prompt, or warning */
    bool own = a->base || flags & READS || a->context.prompt || cut.n;
    known->key = own ? 0 : s->context.key;
    known->budget = budget.system;
    if (cut.n)
        ch_buf_addf(&s->context.warnings,
                    "the system prompt was shortened to fit the context: %s%c", ch_buf_str(&cut),
                    '\0');
}

void ch_context_constraints(chela_run *run, bool instructions, struct ch_buf *out) {
    chela_session *s = run->session;
    const struct ch_context_conf *c = &s->agent->context;
    bool reads = look_at_tools(run) & READS;
    if (reads)
        load_project(s);
    struct ch_system_opts o = {.given = instructions ? c->instructions : NULL,
                               .project = reads ? &s->context.files->project : NULL,
                               .rules = c->rules};
    ch_system_constraints(&o, out);
    if (c->reminder)
        ch_buf_addf(out, "\n### Reminder\n%s\n", c->reminder);
}

/* Hash of the inputs of the system prompt; never 0. */
static uint64_t context_key_of(const chela_run *run, unsigned flags) {
    uint64_t h = ch_hash(flags + 1, ch_sv_str(run->session->channel->name));
    return h ? h : 1;
}

/* Finds, once per run, the changes since the session's system prompt was made. */
static void look_for_changes(chela_run *run) {
    chela_session *s = run->session;
    struct ch_context *c = &s->context;
    struct ch_context_files *f = c->files;
    if (ch_run_did(run, CH_RUN_LOOKED) || !c->system || !(c->flags & READS))
        return;
    CH_BUF_AUTO skills = {0};
    ch_project_changes(&f->project, &f->changed);
    ch_skills_changes(&s->agent->skills, &skills);
    uint64_t told = ch_hash(0, ch_buf_sv(&skills));
    if (skills.n && told != f->told_skills)
        ch_buf_addf(&f->changed, "%s%s", f->changed.n ? ", " : "", ch_buf_str(&skills));
    f->told_skills = told;
}

static void context_settle(chela_run *run) {
    chela_session *s = run->session;
    struct ch_context *c = &s->context;
    uint64_t tools = s->agent->registry.revision;
    look_for_changes(run);
    if (ch_run_once(run, CH_RUN_LOOKED) || c->registry_revision != tools)
        c->flags = (c->flags & ~READS) | look_at_tools(run); /* as the list of tools, wider only */
    c->registry_revision = tools;
    unsigned flags = c->flags | (is_small(run) ? MINIMAL : 0);
    uint64_t key = context_key_of(run, flags);
    if (c->system && c->key == key)
        return;
    if (flags & READS)
        load_project(s);
    c->key = key;
    s->revision++;
    make_system(run, flags);
}

static void tell_warnings(chela_run *run) {
    struct ch_buf told = run->session->context.warnings;
    run->session->context.warnings = (struct ch_buf){0};
    for (size_t at = 0; at < told.n && !run->dead; at += strlen(told.p + at) + 1)
        ch_emit_warning(run, "%s", told.p + at);
    ch_buf_release(&told);
}

struct ch_sv ch_context_system(chela_run *run) {
    context_settle(run);
    if (run->session->context.warnings.n)
        tell_warnings(run);
    return run->dead ? ch_sv(NULL, 0) : ch_shared_text_sv(run->session->context.system);
}

/* The fingerprint leaves the workspace out, so it is the same on every machine. */
static char *fingerprint_of(const char *system, const char *workspace) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    size_t n = strlen(workspace);
    for (const char *at; n > 1 && (at = strstr(system, workspace)); system = at + n) {
        ch_buf_add(&text, system, (size_t)(at - system));
        ch_buf_add_str(&text, "${workspace}");
    }
    ch_buf_add_str(&text, system);
    return ch_strdup(ch_prompt_fingerprint(&arena, "system", CHELA_VERSION, ch_buf_sv(&text),
                                           CH_SV("")));
}

/* Most sessions of an agent have the same system prompt, so the agent remembers the last
 * fingerprint. */
const char *ch_context_fingerprint(chela_run *run) {
    struct ch_context *c = &run->session->context;
    struct ch_context_conf *known = &ch_agent_root(run->session->agent)->context;
    context_settle(run);
    if (c->fingerprint)
        return c->fingerprint;
    if (known->printed == c->system) {
        c->fingerprint = ch_shared_text_ref(known->fingerprint);
        return c->fingerprint;
    }
    CH_AUTOFREE char *made = fingerprint_of(c->system, run->session->agent->workspace);
    ch_shared_text_release(known->printed);
    known->printed = ch_shared_text_ref(c->system);
    c->fingerprint = ch_shared_text(&known->fingerprint, ch_sv_str(made));
    return c->fingerprint;
}

/* --- directories below the workspace ---------------------------------------------------------- */

void ch_context_visit(chela_run *run, struct ch_sv arguments, struct ch_buf *out) {
    static const char *const members[] = {"file_path", "path"};
    chela_session *s = run->session;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    if (s->agent->context.files || !s->context.files || !(s->context.flags & READS) ||
        ch_json_parse(&arena, arguments, CH_JSON_STRICT, &v, NULL, NULL) < 0)
        return;
    for (size_t i = 0; i < CH_LEN(members); i++) {
        struct ch_sv path = ch_json_get_str(v, members[i]);
        if (path.n)
            ch_project_nested(s->agent->workspace, path, &s->context.files->visited, out);
    }
}

/* --- the note --------------------------------------------------------------------------------- */

static struct ch_sv last_input(const chela_session *s) {
    const struct ch_transcript *t = &s->transcript;
    for (size_t i = t->n; i > 0; i--) {
        const struct ch_msg *m = t->msgs[i - 1];
        if (m->kind != CH_MSG_ASSISTANT && m->kind != CH_MSG_RESULTS && ch_msg_words(m).n)
            return ch_msg_words(m);
    }
    return CH_SV("");
}

static void index_rules(struct ch_context_conf *c) {
    if (c->index.ndocs)
        return;
    for (size_t i = CH_DEFAULT_PROMPT_RULES; i < c->nrules; i++) {
        ch_bm25_begin(&c->index);
        ch_bm25_text(&c->index, CH_FIELD_DESCRIPTION, ch_sv_str(c->rules[i]));
    }
    ch_bm25_settle(&c->index);
}

/* Adds the rules that fit the input best, of those that the system prompt does not hold. */
static void add_turn_rules(chela_run *run, struct ch_buf *out) {
    struct ch_context_conf *c = &run->session->agent->context;
    float scores[CH_LIMIT_PROMPT_RULES];
    if (c->nrules <= CH_DEFAULT_PROMPT_RULES)
        return;
    index_rules(c);
    struct ch_sv input = last_input(run->session);
    ch_bm25_score(&c->index, ch_sv(input.p, CH_MIN(input.n, CH_LIMIT_SELECT_QUERY)), scores);
    for (unsigned taken = 0; taken < CH_DEFAULT_TURN_RULES; taken++) {
        size_t best = 0;
        for (size_t i = 1; i < c->index.ndocs; i++)
            if (scores[i] > scores[best])
                best = i;
        if (scores[best] <= 0)
            return;
        ch_buf_addf(out, "- %s\n", c->rules[CH_DEFAULT_PROMPT_RULES + best]);
        scores[best] = 0;
    }
}

void ch_context_reminders(chela_run *run, struct ch_buf *out) {
    const struct ch_context_conf *c = &run->session->agent->context;
    add_turn_rules(run, out);
    if (c->reminder)
        ch_buf_addf(out, "%s\n", c->reminder);
}

struct ch_sv ch_context_note(chela_run *run, bool in_loop) {
    chela_session *s = run->session;
    const struct ch_context_conf *c = &s->agent->context;
    struct ch_context_files *f = s->context.files;
    CH_BUF_AUTO inner = {0};
    if (f && f->changed.n && s->context.flags & READS) {
        struct ch_date d = ch_date_of(ch_run_now(run) / 1000);
        ch_buf_addf(&inner,
                    "Changed since this conversation began (noticed on %04d-%02d-%02d): %s. Read "
                    "again what you need of it.\n",
                    d.year, d.month, d.day, ch_buf_str(&f->changed));
    }
    if (f)
        ch_buf_clear(&f->changed);
    for (size_t i = 0; in_loop && i < c->nrules && i < CH_DEFAULT_PROMPT_RULES; i++)
        ch_buf_addf(&inner, "%s- %s\n", i ? "" : "These rules still hold:\n", c->rules[i]);
    ch_context_reminders(run, &inner);
    if (!inner.n)
        return CH_SV("");
    return ch_sv_str(ch_arena_printf(&run->arena, "%s\n%s" CH_NOTE_CLOSE,
                                     in_loop ? CH_NOTE_REPEATS : CH_NOTE_OPEN,
                                     ch_buf_str(&inner)));
}
