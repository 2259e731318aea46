/* beat.c -- see beat.h. */
#include "agent/feature/heartbeat/reply_propensity.h"
#include "agent/feature/heartbeat/beat.h"

#include <stdio.h>

#include "agent/context/context.h"
#include "agent/context/role_prompts.h"
#include "agent/feature/heartbeat/beat_reply.h"
#include "agent/feature/heartbeat/beat_tools.h"
#include "agent/feature/heartbeat/chat_view.h"
#include "agent/feature/mode/mode_settings.h"
#include "agent/feature/mode/role.h"
#include "agent/journal/emit.h"
#include "agent/machine/run.h"
#include "model/provider/target.h"
#include "agent/run/driver.h"
#include "agent/run/feature.h"
#include "agent/run/feature_turn.h"
#include "agent/run/think.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/opts.h"
#include "model/codec/encoder.h"
#include "prompt/project.h"
#include "prompt/prompts.h"

static const char by_calls[] =
    "You act by calling functions. Words that you write beside calls are thoughts: nobody sees "
    "them. To stay silent call stay_silent, or nothing.\n"
    "These are actions: %s. They end your turn, unless you set request_heartbeat to true where "
    "an action has it. All other functions tell you something: you get their results and another "
    "turn, so call them before you say what depends on them. What you call is done in order: if "
    "something fails or is refused, the rest is not done, and you get another turn.";

static const char by_text[] =
    "You act by writing one JSON object and nothing else: no text around it, no Markdown fence.\n\n"
    "{\"thoughts\": \"what you make of it; nobody sees this\",\n"
    " \"actions\": [{\"name\": \"one of the functions\", \"params\": {}}],\n"
    " \"request_heartbeat\": false}\n\n"
    "An empty list of actions means that you stay silent. These functions end your turn, unless "
    "request_heartbeat is true: %s. All other functions tell you something: you get their results "
    "and another turn, so call them before you say what depends on them. The actions are done in "
    "order: if one fails or is refused, the rest is not done, and you get another turn.\n\n"
    "Functions:\n";

/* State of a companion's run. */
struct beat {
    struct ch_role_question *asked; /* owned: question to the listener role; NULL: none */
    bool heard_opinion;             /* the listener was asked */
    struct ch_msg *view;            /* owned: the view in the last request */
    const struct ch_msg *heard;     /* message of the transcript that the turn began with */
    size_t begin;                   /* index of `heard` */
    double willingness;             /* willingness that led to the run; negative: unknown */
    bool unasked;                   /* nobody addressed the companion */
    bool spoke;                     /* an action reached the chat; stored, like `unasked` */
};

static struct beat *beat_of(const chela_run *run) {
    return ch_feature_data(run, &ch_heartbeat_feature);
}

static struct ch_sv or_none(const struct ch_buf *b) {
    return b->n ? ch_buf_sv(b) : CH_SV("none");
}

/* --- settings ---------------------------------------------------------------------- */

static const char *const *beat_keep_list(chela_agent *a, const char *const *list) {
    size_t n = 0;
    while (list && list[n])
        n++;
    const char **copy = ch_arena_zalloc(&a->arena, (n + 1) * sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        copy[i] = ch_arena_str(&a->arena, ch_sv_str(list[i]));
    return copy;
}

static int read_willing(chela_agent *a, struct ch_companion *c, struct chela_error *err) {
    const struct chela_heartbeat_opts *o = &c->opts;
    int rc = ch_reply_propensity_read(CHELA_CHAT_GROUP, o->group, &c->group, err);
    if (rc == 0)
        rc = ch_reply_propensity_read(CHELA_CHAT_DIRECT, o->direct, &c->direct, err);
    if (rc == 0)
        rc = CH_OPTS_READ(chela_willing_rules, &c->rules, o->rules, err);
    if (rc < 0)
        return rc;
    c->rules.names = beat_keep_list(a, c->rules.names);
    c->rules.keywords = beat_keep_list(a, c->rules.keywords);
    c->rules.stop_words = beat_keep_list(a, c->rules.stop_words);
    return 0;
}

static void keep_opts(struct chela_heartbeat_opts *o) {
    o->group = o->direct = NULL; /* copied to members of struct ch_companion */
    o->rules = NULL;
    o->debounce_ms = o->debounce_ms ? o->debounce_ms : CH_DEFAULT_BEAT_DEBOUNCE_MS;
    o->opinion = NULL;
    o->memory = NULL;
}

static int read_choices(const struct chela_heartbeat_opts *o, struct ch_companion *c,
                        struct chela_error *err) {
    c->text = o->protocol == CHELA_PROTOCOL_TEXT;
    c->skips = o->busy == CHELA_BUSY_SKIP;
    int rc = ch_choice_check(CHELA_CHOICE_PROTOCOL, o->protocol, err);
    return rc < 0 ? rc : ch_choice_check(CHELA_CHOICE_BUSY, o->busy, err);
}

static int beat_configure(chela_agent *a, const struct ch_agent_opts *o,
                          const struct ch_json *state, void **data, struct chela_error *err) {
    static atomic_uint_least64_t companions;
    static const char *const memory[] = {"SOUL.md", "MEMORY.md", NULL};
    struct ch_companion *c = ch_arena_zalloc(&a->arena, sizeof(*c));
    unsigned beats;
    (void)state;
    int rc = CH_OPTS_READ(chela_heartbeat_opts, &c->opts, o->heartbeat, err);
    if (rc < 0)
        return rc;
    if (o->output_schema)
        return ch_fail(err, CHELA_EINVAL,
                       "agent %s: in mode heartbeat there is no answer that a schema could hold",
                       a->id);
    rc = read_choices(&c->opts, c, err);
    if (rc == 0)
        rc = read_willing(a, c, err);
    if (rc < 0)
        return rc;
    const char *const *names = c->rules.names;
    c->name = ch_arena_str(&a->arena, ch_sv_str(names && names[0] ? names[0] : a->id));
    c->history = c->opts.history ? c->opts.history : CH_DEFAULT_VIEW_LINES;
    c->memory = beat_keep_list(a, c->opts.memory ? c->opts.memory : memory);
    c->typing = c->opts.typing;
    ch_mode_settings_model(a, CH_ROLE_LISTENER, c->opts.opinion);
    c->utc_offset = c->rules.utc_offset;
    beats = c->opts.beats ? c->opts.beats : CH_DEFAULT_BEATS;
    if (o->limits.max_turns <= 0 || o->limits.max_turns > beats)
        a->limits.max_turns = beats;
    a->limits.sums_up = false; /* a closing turn would have no reader */
    keep_opts(&c->opts);
    c->serial = atomic_fetch_add(&companions, 1) + 1;
    *data = c;
    return ch_beat_tools_add(a, err);
}

/* --- the request -------------------------------------------------------------------- */

/* Index of the message that the turn began with: the last input without a reply, when the
 * run began. */
static size_t find_begin(const chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    size_t i = t->n;
    while (i > 0 && t->msgs[i - 1]->kind != CH_MSG_USER)
        i--;
    return i ? i - 1 : 0;
}

static size_t begin_of(chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    struct beat *k = beat_of(run);
    if (!k->heard || k->begin >= t->n || t->msgs[k->begin] != k->heard) {
        k->begin = find_begin(run);
        k->heard = t->n ? t->msgs[k->begin] : NULL;
    }
    return k->begin;
}

static struct ch_chat_view view_of(chela_run *run) {
    const struct ch_companion *c = ch_companion_of(run->session->agent);
    struct ch_chat_view_opts o = {&run->session->transcript, begin_of(run), c->history,
                                  c->utc_offset, c->name};
    struct ch_chat_view v;
    ch_chat_view_make(&o, &v);
    return v;
}

static struct ch_sv persona_of(const chela_agent *a) {
    const char *given = a->context.instructions;
    return ch_sv_str(given ? given : "a friendly member of the chat");
}

/* --- a second opinion ----------------------------------------------------------------- */

static void on_opinion(const struct ch_role_answer *a, void *user) {
    chela_run *run = user;
    beat_of(run)->asked = NULL;
    if (!a->v) /* a listener that fails does not prevent the turn */
        ch_emit_warning(run, "no model decided whether this is worth a turn: %s",
                        a->error && *a->error ? a->error : ch_reason_name(a->reason));
    if (run->dead)
        return;
    if (!a->v || ch_json_bool(ch_json_get(a->v, "speak"), false)) {
        ch_feature_turn_next(run);
        return;
    }
    ch_feature_turn_end(run);
}

static void ask_opinion(chela_run *run) {
    struct chela_error err = {0};
    const chela_agent *a = run->session->agent;
    struct ch_chat_view v = view_of(run);
    struct ch_prompt_value values[] = {
        {.name = "name", .text = ch_sv_str(ch_companion_of(a)->name)},
        {.name = "persona", .text = persona_of(a)},
        {.name = "seen", .text = or_none(&v.seen)},
        {.name = "new", .text = or_none(&v.fresh)},
    };
    beat_of(run)->heard_opinion = true;
    if (ch_think_open(run)) {
        beat_of(run)->asked =
            ch_role_ask(run, CH_ROLE_LISTENER, values, CH_LEN(values), on_opinion, run, &err);
        if (!beat_of(run)->asked)
            ch_driver_break(run, &err);
    }
    ch_chat_view_release(&v);
}

static bool wants_opinion(const chela_run *run) {
    return beat_of(run)->unasked && !beat_of(run)->heard_opinion && run->m.turns == 1 &&
           ch_mode_settings(run->session->agent)->models[CH_ROLE_LISTENER];
}

static bool beat_take_turn(chela_run *run) {
    if (wants_opinion(run)) {
        ask_opinion(run);
        return true;
    }
    bool text = ch_companion_of(run->session->agent)->text;
    struct chela_event ev = {
        .type = CHELA_EV_BEAT,
        .beat = {.n = run->m.turns,
                 .willingness = beat_of(run)->willingness,
                 .protocol = text ? CHELA_PROTOCOL_TEXT : CHELA_PROTOCOL_NATIVE}};
    return !ch_think_open(run) || !ch_emit(run, &ev);
}

/* --- context of a beat ----------------------------------------------------------------- */

/* Adds the memory files. They are read for every beat, so that changes take effect at once. */
static void add_memory(const chela_agent *a, struct ch_buf *out) {
    struct ch_project files = {0};
    struct ch_project_opts o = {.workspace = a->workspace, .names = ch_companion_of(a)->memory};
    ch_project_load(&files, &o);
    for (size_t i = 0; i < files.n; i++)
        ch_project_describe(&files.files[i], out);
    ch_project_release(&files);
    if (!out->n)
        ch_buf_add_str(out, "none");
}

/* True: no beat follows in which the model could read a result. */
static bool is_last_beat(const chela_run *run) {
    return run->m.limits.max_turns > 0 && (int64_t)run->m.turns >= run->m.limits.max_turns &&
           run->m.turns > 1;
}

static void add_scene(chela_run *run, struct ch_buf *out) {
    const chela_session *s = run->session;
    ch_buf_add_str(out, "It is ");
    ch_chat_view_time(ch_run_now(run), ch_companion_of(s->agent)->utc_offset, out);
    ch_buf_addf(out, ".\n");
    if (is_last_beat(run))
        ch_buf_add_str(out, "This is the end of your turn: only actions are left.\n");
    const struct ch_transcript *t = &s->transcript;
    const struct ch_msg *newest = NULL;
    for (size_t i = t->n; !newest && i > 0; i--)
        newest = t->msgs[i - 1]->kind == CH_MSG_USER ? t->msgs[i - 1] : NULL;
    for (uint32_t i = 0; newest && i < newest->nblocks; i++)
        if (newest->blocks[i].type == CH_BLOCK_CONTEXT)
            ch_buf_addf(out, "%.*s\n", CH_SV_FMT(ch_sv_trim(newest->blocks[i].text)));
}

/* Writes a signature such as "name(a: string, b?: integer): description". */
static void add_signature(const struct ch_tool_def *t, struct ch_buf *out) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *schema = NULL;
    const char *comma = "";
    ch_json_parse(&arena, t->schema, CH_JSON_REPLACE, &schema, NULL, NULL);
    const struct ch_json *required = ch_json_get(schema, "required");
    ch_buf_addf(out, "- %.*s(", CH_SV_FMT(t->name));
    for (CH_JSON_MEMBERS(key, value, ch_json_get(schema, "properties"))) {
        struct ch_sv name = ch_json_str(key), type = ch_json_get_str(value, "type");
        bool needed = false;
        for (CH_JSON_EACH(e, required))
            needed |= ch_sv_eq(ch_json_str(e), name);
        ch_buf_addf(out, "%s%.*s%s: %.*s", comma, CH_SV_FMT(name), needed ? "" : "?",
                    CH_SV_FMT(type.n ? type : CH_SV("any")));
        comma = ", ";
    }
    ch_buf_addf(out, "): %.*s\n", CH_SV_FMT(t->description));
}

static bool is_action(const chela_run *run, struct ch_sv name) {
    const struct ch_tool *t = ch_registry_find(&run->session->agent->registry, name);
    return t && t->flags & CHELA_TOOL_ACTION;
}

/* Lists the actions, then the tools. Actions that the channel lacks are left out, and so
 * are tools in the last beat. */
static void offer(chela_run *run, struct ch_model_request *req) {
    const struct ch_registry *r = &run->session->agent->registry;
    static const char *const actions[] = {CH_SEND_ACTION, CH_REACT_ACTION, CH_SILENT_ACTION};
    struct ch_tool_def *defs =
        ch_arena_alloc(&run->arena, (req->ntools + CH_LEN(actions)) * sizeof(*defs));
    size_t n = 0;
    for (size_t i = 0; i < CH_LEN(actions); i++) {
        const struct ch_tool *t = ch_registry_find(r, ch_sv_str(actions[i]));
        bool react = strcmp(actions[i], CH_REACT_ACTION) == 0;
        if (t && (!react || run->session->channel->react))
            defs[n++] = ch_tool_def(t);
    }
    for (size_t i = 0; i < req->ntools; i++)
        if (!is_last_beat(run) || is_action(run, req->tools[i].name))
            defs[n++] = req->tools[i];
    req->tools = defs;
    req->ntools = n;
}

static void add_how(const chela_run *run, const struct ch_model_request *req, struct ch_buf *out) {
    bool text = ch_companion_of(run->session->agent)->text;
    CH_BUF_AUTO actions = {0};
    for (size_t i = 0; i < req->ntools; i++)
        if (is_action(run, req->tools[i].name))
            ch_buf_addf(&actions, "%s%.*s", actions.n ? ", " : "", CH_SV_FMT(req->tools[i].name));
    if (text)
        ch_buf_addf(out, by_text, ch_buf_str(&actions));
    else
        ch_buf_addf(out, by_calls, ch_buf_str(&actions));
    for (size_t i = 0; text && i < req->ntools; i++)
        add_signature(&req->tools[i], out);
}

static int beat_render(chela_run *run, const struct ch_model_request *req,
                       struct ch_prompt_text *text, struct chela_error *err) {
    const chela_agent *a = run->session->agent;
    const struct ch_companion *c = ch_companion_of(a);
    const struct ch_prompts *all = ch_role_prompts(a->rt, err);
    struct ch_prompt_query query = {
        .name = "companion", .model = run->target->spec, .session = run->session->key};
    const struct ch_prompt *used;
    CH_BUF_AUTO memory = {0};
    CH_BUF_AUTO scene = {0};
    CH_BUF_AUTO how = {0};
    if (!all)
        return err->code;
    struct ch_chat_view v = view_of(run);
    add_memory(a, &memory);
    add_scene(run, &scene);
    add_how(run, req, &how);
    struct ch_prompt_value values[] = {
        {.name = "name", .text = ch_sv_str(c->name)},
        {.name = "persona", .text = persona_of(a)},
        {.name = "memory", .text = ch_buf_sv(&memory)},
        {.name = "how", .text = ch_buf_sv(&how)},
        {.name = "scene", .text = ch_buf_sv(&scene)},
        {.name = "members", .text = or_none(&v.members)},
        {.name = "seen", .text = or_none(&v.seen)},
        {.name = "new", .text = or_none(&v.fresh)},
        {.name = "working", .text = or_none(&v.working)},
    };
    int rc = ch_prompts_render(all, &query, values, CH_LEN(values), text, &used, err);
    ch_chat_view_release(&v);
    return rc;
}

static int shape_request(chela_run *run, struct ch_model_request *req,
                         struct chela_error *err) {
    struct beat *k = beat_of(run);
    chela_session *s = run->session;
    CH_PROMPT_TEXT_AUTO text = {0};
    offer(run, req);
    int rc = beat_render(run, req, &text, err);
    if (rc < 0)
        return rc;
    ch_context_constraints(run, false, &text.system);
    ch_msg_free(k->view);
    k->view = ch_msg_text(CH_MSG_USER, ch_buf_sv(&text.user), ch_run_now(run));
    req->system = ch_arena_sv(&run->arena, ch_buf_sv(&text.system));
    req->messages = (const struct ch_msg *const *)&k->view;
    req->nmessages = 1;
    req->note = CH_SV("");
    if (ch_companion_of(s->agent)->text) {
        req->tools = NULL;
        req->ntools = 0;
        req->choice = CH_CHOICE_AUTO;
    }
    ch_encoder_clear(&s->encoder); /* this request shares no bytes with earlier ones */
    ch_request_changed(run, req);
    return 0;
}

/* --- the reply ---------------------------------------------------------------------- */

static void join_words(const struct ch_msg *m, struct ch_buf *out) {
    for (uint32_t i = 0; m && i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_TEXT)
            ch_buf_add_sv(out, m->blocks[i].text);
}

/* True: the arguments of the action may have request_heartbeat. */
static bool is_own_action(struct ch_sv name) {
    return ch_policy_listed(CH_SV(CH_BEAT_ACTIONS), name);
}

/* Adds the request for another beat to the arguments of the last action, which the
 * transcript keeps. */
static struct ch_sv with_wish(struct ch_sv params, struct ch_arena *a) {
    struct ch_sv inner = ch_sv(params.p + 1, params.n - 2);
    return ch_sv_str(ch_arena_printf(a, "{%.*s%s\"request_heartbeat\":true}", CH_SV_FMT(inner),
                                     inner.n ? "," : ""));
}

static void take_reply(chela_run *run, struct ch_reply *r, struct ch_beat_reply *b,
                       struct ch_arena *a) {
    struct ch_block blocks[CH_LIMIT_BEAT_ACTIONS + 1];
    struct ch_msg *old = r->msg;
    size_t n = 0;
    bool keeps =
        b->n && (is_own_action(b->actions[b->n - 1].name) || b->n == CH_LIMIT_BEAT_ACTIONS);
    if (b->more && !keeps)
        b->actions[b->n++] = (struct ch_beat_action){CH_SV(CH_SILENT_ACTION), CH_SV("{}")};
    if (b->more && is_own_action(b->actions[b->n - 1].name))
        b->actions[b->n - 1].params = with_wish(b->actions[b->n - 1].params, a);
    if (b->thoughts.n)
        blocks[n++] = (struct ch_block){.type = CH_BLOCK_TEXT, .text = b->thoughts};
    for (size_t i = 0; i < b->n; i++)
        blocks[n++] = (struct ch_block){
            .type = CH_BLOCK_TOOL_CALL,
            .name = b->actions[i].name,
            .text = b->actions[i].params,
            .id = ch_sv_str(ch_arena_printf(a, "%s_%u_%zu", run->id, run->m.turns, i))};
    struct ch_msg_author by = {.model = ch_msg_author(old).model};
    r->msg = ch_msg_by(CH_MSG_ASSISTANT, blocks, n, &by, old->ts);
    ch_msg_free(old);
}

static bool beat_is_known(const chela_run *run, struct ch_sv id) {
    const struct ch_transcript *t = &run->session->transcript;
    for (size_t i = t->n; i > 0 && t->msgs[i - 1]->kind != CH_MSG_USER; i--)
        for (uint32_t k = 0; k < t->msgs[i - 1]->nblocks; k++)
            if (t->msgs[i - 1]->blocks[k].type == CH_BLOCK_TOOL_CALL &&
                ch_sv_eq(t->msgs[i - 1]->blocks[k].id, id))
                return true;
    return false;
}

/* Gives the calls new ids, because a model that does not see earlier calls may use an id
 * again. */
static void renew_ids(chela_run *run, struct ch_reply *r, struct ch_arena *a) {
    struct ch_msg *old = r->msg;
    bool changed = false;
    if (!old)
        return;
    struct ch_block *blocks = ch_arena_alloc(a, old->nblocks * sizeof(*blocks) + 1);
    memcpy(blocks, old->blocks, old->nblocks * sizeof(*blocks));
    for (uint32_t i = 0; i < old->nblocks; i++) {
        if (blocks[i].type != CH_BLOCK_TOOL_CALL || !beat_is_known(run, blocks[i].id))
            continue;
        blocks[i].id = ch_sv_str(ch_arena_printf(a, "%.*s_%u_%u", CH_SV_FMT(blocks[i].id),
                                                 run->m.turns, (unsigned)i));
        changed = true;
    }
    if (!changed)
        return;
    r->msg = ch_msg_like(old, CH_MSG_ASSISTANT, blocks, old->nblocks);
    ch_msg_free(old);
}

static unsigned beat_on_reply(chela_run *run, struct ch_reply *r, struct ch_buf *complaint) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO why = {0};
    struct ch_beat_reply b;
    if (r->stop == CH_STOP_REFUSAL || r->stop == CH_STOP_PAUSE)
        return CH_REPLY_USE;
    if (!ch_companion_of(run->session->agent)->text) {
        renew_ids(run, r, &arena);
        return CH_REPLY_USE;
    }
    join_words(r->msg, &text);
    if (ch_beat_reply_read(ch_buf_sv(&text), &arena, &b, &why)) {
        take_reply(run, r, &b, &arena);
        if (b.dropped)
            ch_emit_warning(run, "%zu actions past the first %d were left out", b.dropped,
                            CH_LIMIT_BEAT_ACTIONS);
        return CH_REPLY_USE;
    }
    ch_buf_clear(complaint);
    ch_buf_addf(complaint,
                "Your last reply had no effect: %s. Answer with the JSON object alone.",
                ch_buf_str(&why));
    ch_emit_warning(run, "the reply cannot be used: %s", ch_buf_str(&why));
    return CH_REPLY_REJECT;
}

static bool wants_more(const struct ch_block *call) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    ch_json_parse(&arena, call->text, CH_JSON_REPLACE, &v, NULL, NULL);
    return ch_json_bool(ch_json_get(v, "request_heartbeat"), false);
}

static bool beat_ends_by(const chela_run *run, const struct ch_block *call) {
    return is_action(run, call->name) && !wants_more(call);
}

static const struct ch_msg *last_reply(const chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    for (size_t i = t->n; i > 0; i--)
        if (t->msgs[i - 1]->kind == CH_MSG_ASSISTANT)
            return t->msgs[i - 1];
    return NULL;
}

/* True: the call with this id has a result and was neither refused nor failed. */
static bool succeeded(const chela_run *run, struct ch_sv id) {
    const struct ch_transcript *t = &run->session->transcript;
    const struct ch_msg *m = t->n ? t->msgs[t->n - 1] : NULL;
    for (uint32_t i = 0; m && i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_TOOL_RESULT && ch_sv_eq(m->blocks[i].id, id))
            return !ch_result_failed(&m->blocks[i]);
    return false;
}

/* True: the last reply held only actions, asked for no other beat, and all actions were
 * performed. Otherwise the model sees what failed and what was not done. */
static bool ends(const chela_run *run) {
    const struct ch_msg *m = last_reply(run);
    bool done = false;
    for (uint32_t i = 0; m && i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (b->type != CH_BLOCK_TOOL_CALL)
            continue;
        if (!beat_ends_by(run, b) || !succeeded(run, b->id))
            return false;
        done = true;
    }
    return done;
}

static bool beat_on_results(chela_run *run, struct ch_input *in) {
    in->terminated = ends(run);
    return true;
}

/* A companion speaks through actions, so the answer is not sent. A person who addressed the
 * companion and got no reply is told how the turn ended; a turn that nobody asked for fails
 * without a word in the chat. */
static bool beat_on_end(chela_run *run, struct chela_event *end) {
    const struct beat *k = beat_of(run);
    end->end.silent |= !k->spoke && run->m.reason == CH_REASON_COMPLETED;
    return !k->unasked && !k->spoke && run->m.reason != CH_REASON_COMPLETED && end->end.ending.n;
}

/* --- life ---------------------------------------------------------------------------- */

/* An action that ended in an earlier process counts as well. */
static void beat_on_call(chela_run *run, const struct ch_block *call, enum ch_call_phase phase,
                         bool failed) {
    if (phase != CH_PHASE_STARTED && !failed &&
        (ch_sv_is(call->name, CH_SEND_ACTION) || ch_sv_is(call->name, CH_REACT_ACTION)))
        beat_of(run)->spoke = true;
}

static void beat_save(const chela_run *run, struct ch_jw *w) {
    const struct beat *k = beat_of(run);
    if (!k) /* the run has ended */
        return;
    ch_jw_kbool(w, "unasked", k->unasked);
    ch_jw_kbool(w, "spoke", k->spoke);
}

static int open_beat(chela_run *run, const struct chela_run_opts *opts,
                     const struct ch_json *state, void **data, struct chela_error *err) {
    const struct chela_urge *urge = opts ? opts->urge : NULL;
    struct beat *k = ch_alloc(sizeof(*k));
    (void)run;
    (void)err;
    k->willingness = urge ? urge->willingness : -1;
    k->unasked = urge ? urge->reason == CHELA_URGE_WILLING
                      : ch_json_bool(ch_json_get(state, "unasked"), false);
    k->spoke = ch_json_bool(ch_json_get(state, "spoke"), false);
    *data = k;
    return 0;
}

static void abort_beat(chela_run *run) {
    ch_role_close(CH_TAKE(beat_of(run)->asked));
}

static void close_beat(chela_run *run, void *data) {
    struct beat *k = data;
    (void)run;
    if (!k)
        return;
    ch_role_close(CH_TAKE(k->asked));
    ch_msg_free(k->view);
    ch_free(k);
}

/* A companion has more settings than its mode: its runs take no other mode, and runs of
 * other agents cannot take this one. */
const struct ch_feature ch_heartbeat_feature = {
    .name = "heartbeat",
    .is_mode = true,
    .is_fixed = true,
    .words_private = true,
    .own_tools = CH_BEAT_ACTIONS,
    .configure = beat_configure,
    .save = beat_save,
    .open = open_beat,
    .abort = abort_beat,
    .close = close_beat,
    .take_turn = beat_take_turn,
    .shape_request = shape_request,
    .on_reply = beat_on_reply,
    .on_call = beat_on_call,
    .ends_by = beat_ends_by,
    .on_results = beat_on_results,
    .on_end = beat_on_end,
};
