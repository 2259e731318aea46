/* stream_json.c -- see stream_json.h. */
#include "cli/report/stream_json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "chela/json.h"
#include "chela/mcp.h"
#include "chela/session.h"
#include "chela/version.h"
#include "cli/report/out_json.h"
#include "cli/support/mem.h"

static void stream_quote(FILE *out, struct chela_str text) {
    char *copy = ch_format("%.*s", (int)text.n, text.n ? text.p : "");
    ch_draft_quote(out, copy);
    free(copy);
}

static void stream_member(FILE *out, const char *name, const char *value) {
    fprintf(out, ",\"%s\":", name);
    ch_draft_quote(out, value ? value : "");
}

/* A JSON object; text that is no object becomes an empty one. */
static void stream_object(FILE *out, struct chela_str text) {
    char *object = text.n ? chela_json_get(text.p, text.n, "", NULL) : NULL;
    fputs(object && *object == '{' ? object : "{}", out);
    chela_free(object);
}

/* A random UUID (RFC 9562, version 4). */
static void stream_uuid(FILE *out) {
    unsigned char b[16] = {0};
    if (getrandom(b, sizeof(b), 0) != sizeof(b))
        b[0] = 0;
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    fputs(",\"uuid\":\"", out);
    for (int i = 0; i < 16; i++)
        fprintf(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", b[i]);
    fputc('"', out);
}

/* Every line ends with the session and an id of its own. */
static void stream_finish(struct ch_stream_json *s, struct ch_draft *d) {
    stream_member(d->f, "session_id", s->session);
    stream_uuid(d->f);
    fputc('}', d->f);
    ch_draft_finish(d);
    ch_json_line(s->console, d->p);
    free(d->p);
}

/* The service's convention: input without the cached tokens. */
static void stream_usage(FILE *out, const struct chela_usage *u) {
    int64_t input = u->input - u->cache_read - u->cache_write;
    fprintf(out,
            "{\"input_tokens\":%lld,\"cache_creation_input_tokens\":%lld,"
            "\"cache_read_input_tokens\":%lld,\"output_tokens\":%lld,"
            "\"server_tool_use\":{\"web_search_requests\":0},\"service_tier\":\"standard\"}",
            (long long)(input > 0 ? input : 0), (long long)u->cache_write,
            (long long)u->cache_read, (long long)u->output);
}

static const char *stream_stop(enum chela_stop stop) {
    switch (stop) {
    case CHELA_STOP_STOP:
        return "\"end_turn\"";
    case CHELA_STOP_LENGTH:
        return "\"max_tokens\"";
    case CHELA_STOP_TOOL_USE:
        return "\"tool_use\"";
    case CHELA_STOP_REFUSAL:
        return "\"refusal\"";
    case CHELA_STOP_PAUSE:
        return "\"pause_turn\"";
    case CHELA_STOP_NONE:
    case CHELA_STOP_ERROR:
    case CHELA_STOP_CANCELLED:
        break;
    }
    return "null";
}

/* --- pieces of a reply ------------------------------------------------------------------ */

static void stream_piece(struct ch_draft *d, const char *type) {
    ch_draft_init(d);
    fprintf(d->f, "{\"type\":\"stream_event\",\"event\":{\"type\":\"%s\"", type);
}

static void stream_piece_finish(struct ch_stream_json *s, struct ch_draft *d) {
    fputs("},\"parent_tool_use_id\":null", d->f);
    stream_finish(s, d);
}

static void stream_message(struct ch_stream_json *s, FILE *out, const char *content,
                           const char *stop, const struct chela_usage *usage) {
    fprintf(out, "{\"id\":\"msg_%s_%u\",\"type\":\"message\",\"role\":\"assistant\"", s->run,
            s->turn);
    stream_member(out, "model", s->model);
    fprintf(out, ",\"content\":[%s],\"stop_reason\":%s,\"stop_sequence\":null,\"usage\":", content,
            stop);
    stream_usage(out, usage);
    fputc('}', out);
}

static void stream_open_message(struct ch_stream_json *s) {
    if (!s->partial || s->opened)
        return;
    struct ch_draft d;
    stream_piece(&d, "message_start");
    struct chela_usage none = {0};
    s->opened = true;
    fputs(",\"message\":", d.f);
    stream_message(s, d.f, "", "null", &none);
    stream_piece_finish(s, &d);
}

static void stream_block_start(struct ch_stream_json *s, const char *block) {
    stream_open_message(s);
    if (!s->partial)
        return;
    struct ch_draft d;
    stream_piece(&d, "content_block_start");
    fprintf(d.f, ",\"index\":%u,\"content_block\":%s", s->at, block);
    stream_piece_finish(s, &d);
}

static void stream_block_delta(struct ch_stream_json *s, const char *type, const char *member,
                               struct chela_str text) {
    if (!s->partial || text.n == 0)
        return;
    struct ch_draft d;
    stream_piece(&d, "content_block_delta");
    fprintf(d.f, ",\"index\":%u,\"delta\":{\"type\":\"%s\",\"%s\":", s->at, type, member);
    stream_quote(d.f, text);
    fputc('}', d.f);
    stream_piece_finish(s, &d);
}

static void stream_block_stop(struct ch_stream_json *s) {
    if (s->partial) {
        struct ch_draft d;
        stream_piece(&d, "content_block_stop");
        fprintf(d.f, ",\"index\":%u", s->at);
        stream_piece_finish(s, &d);
    }
    s->at++;
}

static void stream_close_message(struct ch_stream_json *s, enum chela_stop stop,
                                 const struct chela_usage *usage) {
    if (!s->opened)
        return;
    struct ch_draft d;
    stream_piece(&d, "message_delta");
    s->opened = false;
    fprintf(d.f, ",\"delta\":{\"stop_reason\":%s,\"stop_sequence\":null},\"usage\":",
            stream_stop(stop));
    stream_usage(d.f, usage);
    stream_piece_finish(s, &d);
    stream_piece(&d, "message_stop");
    stream_piece_finish(s, &d);
}

/* --- blocks ------------------------------------------------------------------------------ */

/* The block that grows is complete: it joins the finished ones. A tool call is written as a
 * whole by stream_on_call. */
static void stream_end_block(struct ch_stream_json *s) {
    if (s->kind == CH_STREAM_NO_BLOCK)
        return;
    ch_draft_finish(&s->block);
    if (s->kind == CH_STREAM_TEXT) {
        fputs("{\"type\":\"text\",\"text\":", s->blocks.f);
        ch_draft_quote(s->blocks.f, s->block.p);
        fputs("}\n", s->blocks.f);
    } else if (s->kind == CH_STREAM_THINKING) {
        fputs("{\"type\":\"thinking\",\"thinking\":", s->blocks.f);
        ch_draft_quote(s->blocks.f, s->block.p);
        fputs(",\"signature\":\"\"}\n", s->blocks.f);
    }
    free(s->block.p);
    s->block = (struct ch_draft){0};
    s->kind = CH_STREAM_NO_BLOCK;
    stream_block_stop(s);
}

#define EMPTY_THOUGHT "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}"

static void stream_on_delta(struct ch_stream_json *s, const struct chela_event *ev) {
    bool text = ev->type == CHELA_EV_TEXT_DELTA;
    if (s->kind != (text ? CH_STREAM_TEXT : CH_STREAM_THINKING)) {
        stream_end_block(s);
        s->kind = text ? CH_STREAM_TEXT : CH_STREAM_THINKING;
        ch_draft_init(&s->block);
        stream_block_start(s, text ? "{\"type\":\"text\",\"text\":\"\"}" : EMPTY_THOUGHT);
    }
    fwrite(ev->delta.text.p, 1, ev->delta.text.n, s->block.f);
    stream_block_delta(s, text ? "text_delta" : "thinking_delta", text ? "text" : "thinking",
                       ev->delta.text);
}

static void stream_call_block(FILE *out, const struct chela_event *ev, bool arguments) {
    fputs("{\"type\":\"tool_use\",\"id\":", out);
    stream_quote(out, ev->call.id);
    fputs(",\"name\":", out);
    stream_quote(out, ev->call.name);
    fputs(",\"input\":", out);
    stream_object(out, arguments ? ev->call.arguments : (struct chela_str){0});
    fputc('}', out);
}

static void stream_on_call(struct ch_stream_json *s, const struct chela_event *ev) {
    struct ch_draft d;
    stream_end_block(s);
    ch_draft_init(&d);
    stream_call_block(d.f, ev, false);
    ch_draft_finish(&d);
    stream_block_start(s, d.p);
    free(d.p);
    stream_block_delta(s, "input_json_delta", "partial_json", ev->call.arguments);
    stream_block_stop(s);
    stream_call_block(s->blocks.f, ev, true);
    fputc('\n', s->blocks.f);
    stream_call_block(s->calls.f, ev, true);
    fputc('\n', s->calls.f);
}

/* The reply starts again: what it said so far was never printed as a message. */
static void stream_drop_reply(struct ch_stream_json *s) {
    if (s->kind != CH_STREAM_NO_BLOCK) {
        ch_draft_finish(&s->block);
        free(s->block.p);
        s->kind = CH_STREAM_NO_BLOCK;
    }
    ch_draft_finish(&s->blocks);
    free(s->blocks.p);
    ch_draft_init(&s->blocks);
    s->at = 0;
    s->opened = false;
}

static void stream_assistant(struct ch_stream_json *s, const char *block, const char *stop,
                             const struct chela_usage *usage) {
    struct ch_draft d;
    ch_draft_init(&d);
    fputs("{\"type\":\"assistant\",\"message\":", d.f);
    stream_message(s, d.f, block, stop, usage);
    fputs(",\"parent_tool_use_id\":null", d.f);
    stream_finish(s, &d);
}

static void stream_count(struct ch_stream_json *s, const struct chela_usage *u) {
    struct ch_stream_use *use = s->uses;
    while (use < s->uses + CH_STREAM_MODELS - 1 && use->model && strcmp(use->model, s->model) != 0)
        use++;
    if (!use->model)
        use->model = ch_dup(s->model);
    use->usage.input += u->input;
    use->usage.output += u->output;
    use->usage.cache_read += u->cache_read;
    use->usage.cache_write += u->cache_write;
    use->usage.cost_usd += u->cost_usd > 0 ? u->cost_usd : 0;
}

/* The reply is complete: its blocks become lines. The usage of a reply with calls is known only
 * when the calls have ended; it counts in the result of the run. */
static void stream_finish_reply(struct ch_stream_json *s, enum chela_stop stop,
                                const struct chela_usage *usage, int64_t now) {
    stream_end_block(s);
    stream_close_message(s, stop, usage);
    fflush(s->blocks.f);
    for (char *line = s->blocks.p, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        stream_assistant(s, line, end[1] ? "null" : stream_stop(stop), usage);
    }
    stream_drop_reply(s);
    s->api_ms += s->asked ? now - s->asked : 0;
    s->asked = 0;
}

static void stream_on_turn_end(struct ch_stream_json *s, const struct chela_event *ev) {
    stream_finish_reply(s, ev->turn.stop_reason, &ev->turn.usage, ev->ts);
    s->stop = ev->turn.stop_reason;
    stream_count(s, &ev->turn.usage);
}

/* --- results ------------------------------------------------------------------------------ */

static void stream_result_block(FILE *out, const struct chela_event *ev) {
    fputs("{\"type\":\"tool_result\",\"tool_use_id\":", out);
    stream_quote(out, ev->result.id);
    fputs(",\"content\":", out);
    stream_quote(out, ev->result.content);
    fprintf(out, ",\"is_error\":%s}", ev->result.is_error ? "true" : "false");
}

static void stream_on_result(struct ch_stream_json *s, const struct chela_event *ev,
                             const char *parent) {
    struct ch_draft d;
    ch_draft_init(&d);
    fputs("{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[", d.f);
    stream_result_block(d.f, ev);
    fputs("]},\"parent_tool_use_id\":", d.f);
    if (parent)
        ch_draft_quote(d.f, parent);
    else
        fputs("null", d.f);
    stream_finish(s, &d);
}

/* The arguments of a call of this turn; NULL: there is no such call. Free with chela_free. */
static char *stream_input_of(struct ch_stream_json *s, struct chela_str id) {
    char *input = NULL;
    fflush(s->calls.f);
    for (const char *line = s->calls.p, *end; !input && line && *line; line = end + 1) {
        end = strchr(line, '\n');
        char *name = chela_json_get(line, (size_t)(end - line), "/id", NULL);
        if (name && strlen(name) == id.n && memcmp(name, id.p, id.n) == 0)
            input = chela_json_get(line, (size_t)(end - line), "/input", NULL);
        chela_free(name);
    }
    return input;
}

/* A call that a rule or a person refused. */
static void stream_note_denial(struct ch_stream_json *s, const struct chela_event *ev) {
    if (!ev->result.error_type || strcmp(ev->result.error_type, "permission_denied") != 0)
        return;
    char *input = stream_input_of(s, ev->result.id);
    fputs("{\"tool_name\":", s->denials.f);
    stream_quote(s->denials.f, ev->result.name);
    fputs(",\"tool_use_id\":", s->denials.f);
    stream_quote(s->denials.f, ev->result.id);
    fprintf(s->denials.f, ",\"tool_input\":%s}\n", input ? input : "{}");
    chela_free(input);
}

/* --- runs of other agents ------------------------------------------------------------------ */

static void stream_on_child(struct ch_stream_json *s, const struct chela_event *ev) {
    const struct chela_event *in = ev->child.event;
    struct ch_draft d;
    if (in->type == CHELA_EV_TOOL_RESULT) {
        stream_on_result(s, in, ev->child.call);
        return;
    }
    if (in->type != CHELA_EV_TOOL_CALL && (in->type != CHELA_EV_RUN_END || in->end.text.n == 0))
        return;
    ch_draft_init(&d);
    fprintf(d.f,
            "{\"type\":\"assistant\",\"message\":{\"id\":\"msg_%s_%llu\",\"type\":\"message\","
            "\"role\":\"assistant\"",
            in->run, (unsigned long long)in->seq);
    stream_member(d.f, "model", s->model);
    fputs(",\"content\":[", d.f);
    if (in->type == CHELA_EV_TOOL_CALL) {
        stream_call_block(d.f, in, true);
    } else {
        fputs("{\"type\":\"text\",\"text\":", d.f);
        stream_quote(d.f, in->end.text);
        fputc('}', d.f);
    }
    fputs("],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":", d.f);
    stream_usage(d.f, &(struct chela_usage){0});
    fputs("},\"parent_tool_use_id\":", d.f);
    ch_draft_quote(d.f, ev->child.call ? ev->child.call : "");
    stream_finish(s, &d);
}

/* --- the first and the last line ------------------------------------------------------------ */

/* The names of an array of objects, as an array. */
struct names {
    struct ch_draft text;
    bool no_commands; /* skills only */
};

static int stream_name(const char *item, size_t n, void *user) {
    struct names *names = user;
    char *name = chela_json_get(item, n, "/name", NULL);
    char *command = chela_json_get(item, n, "/command", NULL);
    if (name && !(names->no_commands && command && strcmp(command, "true") == 0)) {
        fputs(ftell(names->text.f) > 0 ? "," : "", names->text.f);
        ch_draft_quote(names->text.f, name);
    }
    chela_free(name);
    chela_free(command);
    return 0;
}

static void stream_names(FILE *out, const char *member, const char *items, bool no_commands) {
    struct names names = {.no_commands = no_commands};
    ch_draft_init(&names.text);
    if (items)
        chela_json_each(items, strlen(items), stream_name, &names);
    ch_draft_finish(&names.text);
    fprintf(out, ",\"%s\":[%s]", member, names.text.p);
    free(names.text.p);
}

static const char *stream_server_state(const char *state) {
    if (!state)
        return "pending";
    return strcmp(state, "ready") == 0 ? "connected" : state;
}

static void stream_servers(const struct ch_stream_json *s, FILE *out) {
    const char *name, *comma = "";
    fputs(",\"mcp_servers\":[", out);
    for (size_t c = 0; c < sizeof(s->configs) / sizeof(s->configs[0]); c++)
        for (size_t i = 0; s->configs[c] && (name = chela_config_mcp_name(s->configs[c], i)); i++) {
            chela_mcp *client = chela_mcp_find(s->rt, name);
            char *json = client ? chela_mcp_state_json(client) : NULL;
            char *state = json ? chela_json_get(json, strlen(json), "/state", NULL) : NULL;
            fprintf(out, "%s{\"name\":", comma);
            ch_draft_quote(out, name);
            stream_member(out, "status", stream_server_state(state));
            fputc('}', out);
            comma = ",";
            chela_free(json);
            chela_free(state);
        }
    fputc(']', out);
}

static void stream_agent(struct ch_stream_json *s, FILE *out) {
    char *tools = s->agent ? chela_agent_tools_json(s->agent) : NULL;
    char *skills = s->agent ? chela_agent_skills_json(s->agent) : NULL;
    stream_names(out, "tools", tools, false);
    stream_names(out, "skills", skills, true);
    stream_names(out, "slash_commands", skills, false);
    chela_free(tools);
    chela_free(skills);
}

static void stream_on_start(struct ch_stream_json *s, const struct chela_event *ev) {
    struct ch_draft d;
    free(s->session);
    free(s->model);
    free(s->run);
    s->session = ch_dup(ev->start.session ? ev->start.session : "");
    s->model = ch_dup(ev->start.model ? ev->start.model : "");
    s->run = ch_dup(ev->run);
    s->began = ev->ts;
    s->api_ms = 0;
    ch_draft_init(&d);
    fputs("{\"type\":\"system\",\"subtype\":\"init\"", d.f);
    char *cwd = getcwd(NULL, 0);
    stream_member(d.f, "cwd", cwd);
    free(cwd);
    stream_member(d.f, "model", s->model);
    stream_member(d.f, "permissionMode", s->permission_mode);
    stream_member(d.f, "agent", ev->start.agent);
    stream_agent(s, d.f);
    stream_servers(s, d.f);
    fputs(",\"agents\":[],\"plugins\":[],\"output_style\":\"default\",\"apiKeySource\":\"user\"",
          d.f);
    stream_member(d.f, "chela_version", chela_version());
    stream_finish(s, &d);
}

static void stream_lines_as_array(FILE *out, const char *name, const char *lines) {
    fprintf(out, ",\"%s\":[", name);
    for (const char *p = lines; p && *p; p++)
        if (*p != '\n')
            fputc(*p, out);
        else if (p[1])
            fputc(',', out);
    fputc(']', out);
}

static void stream_model_usage(struct ch_stream_json *s, FILE *out) {
    fputs(",\"modelUsage\":{", out);
    for (size_t i = 0; i < CH_STREAM_MODELS && s->uses[i].model; i++) {
        const struct chela_usage *u = &s->uses[i].usage;
        int64_t input = u->input - u->cache_read - u->cache_write;
        fputs(i ? "," : "", out);
        ch_draft_quote(out, s->uses[i].model);
        fprintf(out,
                ":{\"inputTokens\":%lld,\"outputTokens\":%lld,\"cacheReadInputTokens\":%lld,"
                "\"cacheCreationInputTokens\":%lld,\"webSearchRequests\":0,\"costUSD\":%.9g}",
                (long long)(input > 0 ? input : 0), (long long)u->output, (long long)u->cache_read,
                (long long)u->cache_write, u->cost_usd);
    }
    fputc('}', out);
}

static const char *stream_subtype(enum chela_status status, enum chela_reason reason) {
    if (status == CHELA_STATUS_DONE || status == CHELA_STATUS_DECLINED)
        return "success";
    if (reason == CHELA_REASON_MAX_TURNS)
        return "error_max_turns";
    if (reason == CHELA_REASON_COST_BUDGET)
        return "error_max_budget_usd";
    return "error_during_execution";
}

static void stream_errors(FILE *out, const struct chela_event *ev) {
    fputs(",\"errors\":[", out);
    if (ev->end.error.n)
        stream_quote(out, ev->end.error);
    else if (ev->end.ending.n)
        stream_quote(out, ev->end.ending);
    else
        ch_draft_quote(out, chela_reason_name(ev->end.reason));
    fputc(']', out);
}

/* A cost that is not known counts as 0, because readers expect a number. */
static void stream_on_end(struct ch_stream_json *s, const struct chela_event *ev) {
    enum chela_status status = ev->end.status;
    const char *subtype = stream_subtype(status, ev->end.reason);
    bool refused = ev->end.reason == CHELA_REASON_REFUSED;
    bool failed = refused || strcmp(subtype, "success") != 0;
    double cost = ev->end.usage.cost_usd > 0 ? ev->end.usage.cost_usd : 0;
    struct ch_draft d;
    ch_draft_init(&d);
    fprintf(d.f,
            "{\"type\":\"result\",\"subtype\":\"%s\",\"is_error\":%s,\"duration_ms\":%lld,"
            "\"duration_api_ms\":%lld,\"num_turns\":%u,\"stop_reason\":%s,\"total_cost_usd\":%.9g",
            subtype, failed ? "true" : "false",
            (long long)(s->began && ev->ts > s->began ? ev->ts - s->began : 0),
            (long long)s->api_ms, ev->end.turns,
            stream_stop(refused ? CHELA_STOP_REFUSAL : s->stop), cost);
    fputs(",\"result\":", d.f);
    stream_quote(d.f, ev->end.text);
    fputs(",\"usage\":", d.f);
    stream_usage(d.f, &ev->end.usage);
    stream_model_usage(s, d.f);
    fflush(s->denials.f);
    stream_lines_as_array(d.f, "permission_denials", s->denials.p);
    if (failed)
        stream_errors(d.f, ev);
    stream_member(d.f, "status", chela_status_name(status));
    stream_member(d.f, "reason", chela_reason_name(ev->end.reason));
    stream_finish(s, &d);
}

static void stream_renew(struct ch_draft *d) {
    ch_draft_finish(d);
    free(d->p);
    ch_draft_init(d);
}

/* What belongs to one run. */
static void stream_forget(struct ch_stream_json *s) {
    for (size_t i = 0; i < CH_STREAM_MODELS; i++)
        free(s->uses[i].model);
    memset(s->uses, 0, sizeof(s->uses));
    stream_renew(&s->denials);
    stream_renew(&s->calls);
    s->stop = CHELA_STOP_NONE;
}

/* --- events ---------------------------------------------------------------------------------- */

static void stream_on_retry(struct ch_stream_json *s, const struct chela_event *ev) {
    struct ch_draft d;
    stream_drop_reply(s);
    ch_draft_init(&d);
    fprintf(d.f,
            "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":%u,\"retry_delay_ms\":%lld,"
            "\"error\":",
            ev->retry.attempt, (long long)ev->retry.delay_ms);
    stream_quote(d.f, ev->retry.reason);
    stream_finish(s, &d);
}

static void stream_on_compaction(struct ch_stream_json *s, const struct chela_event *ev) {
    struct ch_draft d;
    ch_draft_init(&d);
    fprintf(d.f,
            "{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"compact_metadata\":"
            "{\"trigger\":\"auto\",\"pre_tokens\":%zu}",
            ev->compaction.tokens_before);
    stream_finish(s, &d);
}

static void stream_on_request(struct ch_stream_json *s, const struct chela_event *ev) {
    if (!s->asked)
        s->asked = ev->ts;
    if (ev->request.role || !ev->request.model)
        return;
    free(s->model);
    s->model = ch_dup(ev->request.model);
}

void ch_stream_json_event(struct ch_stream_json *s, const struct chela_event *ev) {
    switch (ev->type) {
    case CHELA_EV_RUN_START:
        stream_on_start(s, ev);
        break;
    case CHELA_EV_TURN_START:
        s->turn = ev->turn.turn;
        stream_renew(&s->calls);
        break;
    case CHELA_EV_MODEL_REQUEST:
        stream_on_request(s, ev);
        break;
    case CHELA_EV_TEXT_DELTA:
    case CHELA_EV_REASONING_DELTA:
        stream_on_delta(s, ev);
        break;
    case CHELA_EV_TOOL_CALL:
        stream_on_call(s, ev);
        break;
    case CHELA_EV_STATE:
        if (ev->state.to == CHELA_STATE_ACT)
            stream_finish_reply(s, CHELA_STOP_TOOL_USE, &(struct chela_usage){0}, ev->ts);
        break;
    case CHELA_EV_TURN_END:
        stream_on_turn_end(s, ev);
        break;
    case CHELA_EV_TOOL_RESULT:
        stream_on_result(s, ev, NULL);
        stream_note_denial(s, ev);
        break;
    case CHELA_EV_RETRY:
        stream_on_retry(s, ev);
        break;
    case CHELA_EV_FALLBACK:
        stream_drop_reply(s);
        break;
    case CHELA_EV_COMPACTION:
        stream_on_compaction(s, ev);
        break;
    case CHELA_EV_CHILD:
        stream_on_child(s, ev);
        break;
    case CHELA_EV_WARNING:
        ch_console_note(s->console, "warning: %.*s", (int)ev->note.text.n, ev->note.text.p);
        break;
    case CHELA_EV_RUN_END:
        stream_on_end(s, ev);
        stream_forget(s);
        break;
    default: /* the form has no line for the event */
        break;
    }
}

void ch_stream_json_failure(struct ch_stream_json *s, const char *message) {
    struct chela_event ev = {.type = CHELA_EV_RUN_END, .run = ""};
    ev.end.status = CHELA_STATUS_ERROR;
    ev.end.reason = CHELA_REASON_INTERNAL;
    ev.end.error = (struct chela_str){message, strlen(message)};
    ev.end.usage.cost_usd = -1;
    stream_on_end(s, &ev);
}

void ch_stream_json_echo(struct ch_stream_json *s, const char *content) {
    struct ch_draft d;
    ch_draft_init(&d);
    fprintf(d.f,
            "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":%s},"
            "\"parent_tool_use_id\":null,\"isReplay\":true",
            content);
    stream_finish(s, &d);
}

void ch_stream_json_init(struct ch_stream_json *s, struct ch_console *console) {
    *s = (struct ch_stream_json){.console = console};
    ch_draft_init(&s->blocks);
    ch_draft_init(&s->denials);
    ch_draft_init(&s->calls);
}

void ch_stream_json_release(struct ch_stream_json *s) {
    if (!s->console)
        return;
    stream_drop_reply(s);
    stream_forget(s);
    ch_draft_finish(&s->blocks);
    ch_draft_finish(&s->denials);
    free(s->blocks.p);
    free(s->denials.p);
    ch_draft_finish(&s->calls);
    free(s->calls.p);
    free(s->session);
    free(s->model);
    free(s->run);
}
