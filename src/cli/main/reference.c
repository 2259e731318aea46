/* reference.c -- generates docs/reference.md: commands, flags and events.
 *
 * Commands come from the table of dispatch and help. For every event an example is written
 * by the library, with all optional fields, so the page shows the actual output. */
#include "cli/main/reference.h"

#include <stdio.h>
#include <string.h>

#include "chela/event.h"
#include "chela/session.h"
#include "cli/main/man.h"
#include "cli/support/env.h"

#define STR(text) ((struct chela_str){text, sizeof(text) - 1})

/* --- events --------------------------------------------------------------------- */

#define USAGE {.input = 1200, .output = 80, .cache_read = 1024, .reasoning = 32, .cost_usd = 0.0012}

static const struct chela_str media[] = {STR("chart.png")};

/* One example per member of the union. */
static const struct chela_event example_start = {
    .start = {"s_1", "main", "anthropic/claude-sonnet-5-5", CHELA_MODE_REACT,
              "system@0.1.0#92f7f32c0b4c"}};
static const struct chela_event example_state = {.state = {CHELA_STATE_OBSERVE, CHELA_STATE_THINK}};
#define SOURCES                                                                                    \
    STR("[{\"url\":\"https://example.com/paris\",\"title\":\"Weather in Paris\","                  \
        "\"start\":0,\"end\":14}]")
#define LOGPROBS \
    STR("[{\"token\":\"It\",\"logprob\":-0.1,\"top\":[{\"token\":\"It\",\"logprob\":-0.1}]}]")
static const struct chela_event example_turn = {.turn = {.turn = 1,
                                                         .stop_reason = CHELA_STOP_TOOL_USE,
                                                         .usage = USAGE,
                                                         .citations = SOURCES,
                                                         .logprobs = LOGPROBS}};
static const struct chela_event example_request = {
    .request = {1, "anthropic/claude-sonnet-5-5", 3, 13, 13075, "planner"}};
static const struct chela_event example_delta = {.delta = {.text = STR("Let me ")}};
static const struct chela_event example_call = {
    .call = {.id = STR("call_1"),
             .name = STR("read"),
             .arguments = STR("{\"file_path\":\"a.txt\"}")}};
static const struct chela_event example_note = {
    .note = {.text = STR("half of it"), .id = STR("call_1")}};
static const struct chela_event example_result = {
    .result = {.id = STR("call_1"),
               .name = STR("read"),
               .is_error = true,
               .error_type = "not_found",
               .content = STR("{\"error\":\"there is no file 'a.txt'\"}"),
               .details = STR("{}"),
               .attempts = 2,
               .duration_ms = 4}};
static const struct chela_event example_approval = {
    .approval = {.approval_id = STR("ap_1"),
                 .id = STR("call_1"),
                 .name = STR("exec"),
                 .arguments = STR("{\"command\":\"make\"}"),
                 .summary = STR("exec: make"),
                 .can_remember = true}};
static const struct chela_event example_retry = {.retry = {1, 500, STR("HTTP 529")}};
static const struct chela_event example_fallback = {
    .fallback = {"anthropic/claude-sonnet-5-5", "openai/gpt-6-sol", STR("HTTP 529")}};
static const struct chela_event example_handoff = {
    .fallback = {"front", "billing", STR("about a bill")}};
static const struct chela_event example_compaction = {
    .compaction = {CHELA_COMPACTED_SUMMARY, 90000, 12000}};
static const struct chela_event example_plan = {
    .plan = {STR("[{\"step_id\":1,\"description\":\"Read it\",\"tool_name\":\"read\","
                 "\"tool_input\":{\"file_path\":\"a.txt\"},\"depends_on\":[],"
                 "\"status\":\"running\"}]")}};
static const struct chela_event example_reflection = {
    .reflection = {CHELA_JUDGEMENT_RETRY_STEP, CHELA_JUDGEMENT_ACCEPT, 5, 2, 5, 1,
                   STR("read the whole file")}};
static const struct chela_event example_beat = {.beat = {1, 61.5, CHELA_PROTOCOL_NATIVE}};
static const struct chela_event example_end = {.end = {.status = CHELA_STATUS_DONE,
                                                       .reason = CHELA_REASON_COMPLETED,
                                                       .text = STR("It says hello."),
                                                       .error = STR("one line, if it failed"),
                                                       .ending = STR("one sentence for the person"),
                                                       .turns = 2,
                                                       .tool_calls = 1,
                                                       .usage = USAGE,
                                                       .delivered = true,
                                                       .reply_to = STR("om_1"),
                                                       .media = media,
                                                       .nmedia = 1,
                                                       .voice = true,
                                                       .silent = true,
                                                       .citations = SOURCES}};

static const struct chela_event example_server = {
    .server = {STR("srvtoolu_1"), STR("web_search"), STR("{\"query\":\"weather in Paris\"}"),
               STR("Weather in Paris https://example.com/paris")}};
static const struct chela_event example_made = {.made = {.media_type = STR("image/png"),
                                                         .path = STR("media/image-run_1-1.png"),
                                                         .url = STR("https://example.com/1.png"),
                                                         .bytes = 20480}};

static const struct chela_event example_budget = {
    .budget = {"people", STR("feishu/ou_1"), false, 1, 1.02, 1767225600000}};

static const struct chela_event example_epoch = {.epoch = {2, "tools"}};

static const struct chela_event child_call = {
    .type = CHELA_EV_TOOL_CALL,
    .call = {.id = STR("call_1"), .name = STR("read"), .arguments = STR("{}")}};
static const struct chela_event example_child = {
    .child = {&child_call, "run_0", "researcher", "call_1", 1}};

static const struct chela_event *const examples[] = {
#define EXAMPLE(name, value, text, member) [value] = &example_##member,
    CHELA_EVENTS(EXAMPLE)
#undef EXAMPLE
};

static const char *const meanings[] = {
    [CHELA_EV_RUN_START] = "A run starts, or a paused run continues.",
    [CHELA_EV_STATE] = "The run changes its state.",
    [CHELA_EV_TURN_START] = "A turn starts: a model call and the tool calls of its reply.",
    [CHELA_EV_MODEL_REQUEST] = "A request is sent to a model; `role` names the role if it is not "
                               "the agent itself.",
    [CHELA_EV_TEXT_DELTA] = "A piece of the answer.",
    [CHELA_EV_REASONING_DELTA] = "A piece of the model's reasoning.",
    [CHELA_EV_TOOL_CALL_DELTA] = "A piece of a tool call; id and name are sent once.",
    [CHELA_EV_TOOL_CALL] = "A complete tool call.",
    [CHELA_EV_TOOL_START] = "A tool starts.",
    [CHELA_EV_TOOL_PROGRESS] = "Progress of a tool.",
    [CHELA_EV_TOOL_RESULT] = "The result of a tool call, exactly one for each call; `error_type` "
                             "and `retryable` if it failed.",
    [CHELA_EV_APPROVAL_REQUIRED] = "A call needs a person's approval.",
    [CHELA_EV_CLIENT_TOOL_REQUIRED] = "A call that the client must carry out.",
    [CHELA_EV_STEERING] = "A message that arrived during the run is delivered before the next "
                          "model call.",
    [CHELA_EV_FOLLOW_UP] = "A message that arrived during the run is delivered when the run would "
                           "have ended.",
    [CHELA_EV_SYSTEM_EVENT] = "The model is told of an event, such as the end of a background "
                              "process.",
    [CHELA_EV_RETRY] = "A model call failed and will be retried.",
    [CHELA_EV_FALLBACK] = "A fallback model is used.",
    [CHELA_EV_COMPACTION] = "The conversation was shortened.",
    [CHELA_EV_WARNING] = "A problem that does not stop the run.",
    [CHELA_EV_PLAN] = "The plan, sent whenever a step changes.",
    [CHELA_EV_REFLECTION] = "The review of a result and the action that follows.",
    [CHELA_EV_BEAT] = "Mode heartbeat: a model call of a turn, with the agent's willingness.",
    [CHELA_EV_TURN_END] = "The model call ended.",
    [CHELA_EV_RUN_END] = "The last event, exactly one: the status of the run and its answer.",
    [CHELA_EV_HANDOFF] = "Another agent takes over the conversation.",
    [CHELA_EV_SERVER_TOOL] = "The vendor of the model ran a tool of its own; chela ran nothing.",
    [CHELA_EV_MEDIA] = "The model made an image or a sound; `path` is its file in the workspace, "
                       "or `url` its address.",
    [CHELA_EV_BUDGET] = "A budget of the gateway is used up; the run ends. `resets`: when the use "
                        "is zero again (ms).",
    [CHELA_EV_EPOCH] = "Requests begin with other bytes from here on: `reason` names the change. "
                       "The vendor's cache starts anew.",
    [CHELA_EV_CHILD] = ("An event of a child run: an agent that was called, or a plan step that "
                        "is a run. `run` and `seq` are the child's. The first event is "
                        "`child_start`, the last `child_end`."),
};
#define EVENTS (sizeof(examples) / sizeof(examples[0]))
_Static_assert(sizeof(meanings) / sizeof(meanings[0]) == EVENTS, "one for each event");

static void reference_write_events(FILE *out) {
    fputs("## Events\n\n"
          "`--output jsonl` prints these events, the gateway streams them, and the library passes "
          "them to the callback.\n`seq` counts the events of a run from 0, without gaps unless the "
          "run was interrupted. `ts` is in milliseconds since\n1970. Each example shows all fields "
          "of the event; empty fields are omitted.\n",
          out);
    for (size_t i = 0; i < EVENTS; i++) {
        struct chela_event ev = *examples[i];
        ev.type = (enum chela_event_type)i;
        ev.run = "run_1";
        if (examples[i] == &example_note && ev.type != CHELA_EV_TOOL_PROGRESS)
            ev.note.id = STR("");
        if (ev.type == CHELA_EV_HANDOFF)
            ev.fallback = example_handoff.fallback;
        char *json = chela_event_json(&ev);
        fprintf(out, "\n`%s`: %s\n\n```json\n%s\n```\n", chela_event_name(ev.type), meanings[i],
                json);
        chela_free(json);
    }
}

/* --- commands -------------------------------------------------------------------- */

/* Text for a cell of a table. */
static void reference_put_cell(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '|')
            fputc('\\', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
}

static void write_flag(FILE *out, const struct ch_opt *o) {
    fputs("| `", out);
    if (o->letter)
        fprintf(out, "-%c`, `", o->letter);
    fprintf(out, "--%s", o->name);
    if (o->value) {
        fputc(' ', out);
        reference_put_cell(out, o->value);
    }
    fputs("` | ", out);
    reference_put_cell(out, o->help);
    fputs(" |\n", out);
}

static void write_command(FILE *out, const struct ch_cmd *cmd) {
    fprintf(out, "\n### `chela %s%s%s%s`\n\n%s\n", cmd->name, cmd->opts->name ? " [flags]" : "",
            *cmd->args ? " " : "", cmd->args, cmd->about);
    if (!cmd->opts->name)
        return;
    fputs("\n| flag | |\n|---|---|\n", out);
    for (const struct ch_opt *o = cmd->opts; o->name; o++)
        write_flag(out, o);
}

void ch_reference_write(FILE *out, ch_commands all) {
    fputs("# Reference\n\n"
          "`make man` generates this page from the program's tables. "
          "[configuration.md](configuration.md) lists the keys of\n`chela.yaml`, "
          "[limits.md](limits.md) the limits, and [api.md](api.md) the library's "
          "functions.\n\n"
          "## Commands\n\n"
          "Long flags accept `--flag value` and `--flag=value`. Every command has `--help`.\n",
          out);
    for (ch_commands c = all; *c; c++)
        write_command(out, *c);
    fputs("\n## Exit status\n\n| | |\n|---|---|\n", out);
    for (const struct ch_exit_help *e = ch_exit_help; e->code; e++)
        fprintf(out, "| %s | %s |\n", e->code, e->meaning);
    fputs("\n## Environment\n\n| variable | |\n|---|---|\n", out);
    for (const struct ch_env_help *e = ch_env_help; e->name; e++) {
        fprintf(out, "| `%s` | ", e->name);
        reference_put_cell(out, e->help);
        fputs(" |\n", out);
    }
    fputc('\n', out);
    reference_write_events(out);
}
