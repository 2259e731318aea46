/* command.c -- tools that run a program.
 *
 * The program receives the arguments as JSON on stdin; its stdout is the result. A non-zero
 * exit status makes an error result with the end of stderr. The program runs in a sandbox
 * (sandbox_policy.h) and receives only a few environment variables, none with the host's
 * credentials. Timeout and cancellation end the whole process group; a program that exceeds
 * CH_LIMIT_TOOL_OUTPUT is stopped. */
#include <signal.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/limits.h"
#include "tool/call/command.h"
#include "tool/call/aftermath.h"
#include "tool/call/call.h"
#include "tool/call/flow.h"
#include "tool/call/plan.h"
#include "tool/process/held_text.h"
#include "tool/process/program.h"
#include "json/writer.h"
#include "schema/schema.h"
#include "tool/result/sanitize.h"

#define OWN_VARIABLES 2 /* CHELA_CALL_ID, CHELA_IDEMPOTENCY_KEY */
#define TRY_LATER 75    /* EX_TEMPFAIL: the only exit code that conventionally means "try later" */

struct command {
    char **argv; /* owned, NULL-terminated */
    char *cwd;   /* owned; NULL: the workspace */
    /* Copied when the tool is added, because getenv is not safe while threads run. */
    char *env[CH_PROGRAM_ENV + 1];
    struct ch_arena arena; /* of pins and check */
    const struct ch_pins *pins;
    struct ch_command_check check;
    struct ch_schema *rules; /* owned; NULL: none */
};

static char *command_variable(const char *name, const char *value) {
    CH_BUF_AUTO buf = {0};

    ch_buf_addf(&buf, "%s=%s", name, value);
    return ch_buf_take(&buf);
}

static void free_command(void *impl) {
    struct command *c = impl;

    if (!c)
        return;
    for (size_t i = 0; c->argv && c->argv[i]; i++)
        ch_free(c->argv[i]);
    ch_program_env_free(c->env);
    ch_schema_free(c->rules);
    ch_free(c->argv);
    ch_free(c->cwd);
    ch_arena_release(&c->arena);
    ch_free(c);
}

static void copy_check(struct command *c, const struct ch_command_check *check) {
    size_t n = 0;
    while (check->argv && check->argv[n])
        n++;
    const char **argv = ch_arena_zalloc(&c->arena, (n + 1) * sizeof(*argv));
    for (size_t i = 0; i < n; i++)
        argv[i] = ch_arena_str(&c->arena, ch_sv_str(check->argv[i]));
    c->check.argv = n ? argv : NULL;
    c->check.pins = ch_pins_copy(&c->arena, check->pins);
}

static struct command *new_command(const struct ch_command_opts *opts) {
    struct command *c = ch_alloc(sizeof(*c));
    size_t n = 0;

    while (opts->argv[n])
        n++;
    c->argv = ch_alloc((n + 1) * sizeof(*c->argv));
    for (size_t i = 0; i < n; i++)
        c->argv[i] = ch_strdup(opts->argv[i]);
    c->cwd = opts->cwd ? ch_strdup(opts->cwd) : NULL;
    ch_program_env(c->env);
    c->pins = ch_pins_copy(&c->arena, opts->pins);
    copy_check(c, &opts->check);
    return c;
}

/* --- the result ---------------------------------------------------------- */

static struct ch_sv tail(struct ch_sv s) {
    if (s.n <= CH_LIMIT_COMMAND_TAIL)
        return s;
    s = ch_sv(s.p + s.n - CH_LIMIT_COMMAND_TAIL, CH_LIMIT_COMMAND_TAIL);
    while (s.n && ((unsigned char)s.p[0] & 0xc0) == 0x80)
        s = ch_sv(s.p + 1, s.n - 1);
    return s;
}

static void command_add_tail(struct ch_jw *w, const char *key, struct ch_sv text) {
    CH_BUF_AUTO clean = {0};

    ch_text_clean(&clean, tail(text));
    ch_jw_kstr(w, key, ch_buf_sv(&clean));
}

static void command_set_details(chela_call *call, const struct ch_child_result *r) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);

    ch_jw_begin(&w, '{');
    if (r->signal)
        ch_jw_kint(&w, "signal", r->signal);
    else
        ch_jw_kint(&w, "exit_code", r->exit_code);
    if (r->err.n)
        command_add_tail(&w, "stderr", r->err);
    if (r->out.n)
        command_add_tail(&w, "stdout", r->out);
    ch_jw_end(&w, '}');
    ch_answer_details(&call->answer, ch_buf_sv(&json));
}

static struct ch_sv last_line(struct ch_sv text) {
    text = ch_sv_trim(text);
    for (size_t i = text.n; i > 0; i--)
        if (text.p[i - 1] == '\n')
            return ch_sv(text.p + i, text.n - i);
    return text;
}

static bool flooded(const struct ch_child_result *r) {
    return r->out.n >= CH_LIMIT_TOOL_OUTPUT || r->err.n >= CH_LIMIT_TOOL_OUTPUT;
}

static void command_set_failure(chela_call *call, const struct ch_child_result *r) {
    struct ch_sv said = tail(last_line(r->err));
    CH_BUF_AUTO why = {0};

    if (flooded(r))
        ch_buf_addf(&why, "%s printed more than %zu MB and was stopped.", call->name,
                    CH_LIMIT_TOOL_OUTPUT / CH_MB);
    else if (r->signal)
        ch_buf_addf(&why, "%s was ended by signal %d (%s).", call->name, r->signal,
                    strsignal(r->signal));
    else
        ch_buf_addf(&why, "%s failed with exit code %d%s%.*s", call->name, r->exit_code,
                    said.n ? ": " : ".", CH_SV_FMT(said));
    chela_result_error(call, r->exit_code == TRY_LATER ? "unavailable" : "internal", "%s",
                       ch_buf_str(&why));
    call->answer.untouched = r->exit_code == TRY_LATER && !r->signal;
    command_set_details(call, r);
}

static void command_on_done(const struct ch_program_result *r, void *user) {
    chela_call *call = user;
    const struct ch_child_result *child = r->child;

    call->program = NULL;
    ch_aftermath_set(call, r->held);
    if (r->error)
        chela_result_error(call, r->error_type, "%s", r->error);
    else if (child->exit_code != 0 || child->signal || flooded(child))
        command_set_failure(call, child);
    else
        ch_answer_text(&call->answer, child->out);
    if ((r->held || r->refused) && !call->answer.error_type) {
        CH_BUF_AUTO note = {0};
        ch_buf_addc(&note, '\n');
        ch_held_text(r->held, call->workspace, &note);
        ch_refused_text(r->refused, &note);
        ch_answer_text(&call->answer, ch_buf_sv(&note));
    }
    call->answer.untouched |= !child;
    ch_answer_conclude(&call->answer, 0, &call->made);
    ch_call_worked(call);
}

/* --- running ------------------------------------------------------------- */

/* Output beyond the limit is dropped and the program stopped. */
static void command_on_output(int stream, struct ch_sv data, void *user) {
    chela_call *call = user;
    size_t *seen = &call->child_output[stream == 2];

    *seen += data.n;
    if (*seen >= CH_LIMIT_TOOL_OUTPUT)
        ch_program_stop(call->program);
}

/* Starts one of the tool's programs with this input. */
static void run_program(chela_call *call, const char *const *argv, const struct ch_pins *pins,
                        struct ch_sv input, ch_program_fn *done) {
    const struct command *c = call->tool->impl;
    const char *env[CH_LEN(c->env) + OWN_VARIABLES];
    CH_AUTOFREE char *id = command_variable("CHELA_CALL_ID", call->id);
    CH_AUTOFREE char *key = command_variable("CHELA_IDEMPOTENCY_KEY", call->key);
    size_t n = 0;

    for (; c->env[n]; n++)
        env[n] = c->env[n];
    env[n++] = id;
    env[n++] = key;
    env[n] = NULL;
    struct ch_program_opts opts = {
        .policy = call->env->sandbox,
        .argv = argv,
        .env = env,
        .workspace = call->workspace,
        .layer = call->env->layer,
        .cwd = c->cwd,
        .any_cwd = c->cwd != NULL,
        .trusted_argv = true,
        .pins = pins,
        .free_instructions = call->env->ask_means == CH_CONSENT_AUTO,
        .met = ch_flow_judge_command(call).source != NULL,
        .input = input,
        .max_output = CH_LIMIT_TOOL_OUTPUT,
    };
    call->program = ch_program_start(call->env->loop, call->env->workers, &opts, command_on_output,
                                     done, call);
}

static void run_command(chela_call *call) {
    const struct command *c = call->tool->impl;
    atomic_store(&call->begun, true);
    run_program(call, (const char *const *)c->argv, c->pins, call->arguments, command_on_done);
}

/* --- the rule of the operator ---------------------------------------------- */

/* What the check printed, or else how it ended. */
static void add_refusal(const struct ch_child_result *r, struct ch_buf *out) {
    CH_BUF_AUTO said = {0};
    ch_text_clean(&said, tail(ch_sv_trim(r->out)));
    if (r->err.n && said.n)
        ch_buf_addc(&said, '\n');
    ch_text_clean(&said, tail(ch_sv_trim(r->err)));
    if (said.n)
        ch_buf_add_sv(out, ch_buf_sv(&said));
    else if (r->signal)
        ch_buf_addf(out, "it was ended by signal %d", r->signal);
    else
        ch_buf_addf(out, "exit status %d", r->exit_code);
}

static void check_on_done(const struct ch_program_result *r, void *user) {
    chela_call *call = user;
    CH_BUF_AUTO why = {0};
    call->program = NULL;
    bool passes = !r->error && r->child->exit_code == 0 && !r->child->signal;
    if (passes && !chela_call_cancelled(call)) {
        memset(call->child_output, 0, sizeof(call->child_output));
        run_command(call);
        return;
    }
    if (r->error) {
        chela_result_error(call, r->error_type, "The check of %s did not run: %s", call->name,
                           r->error);
    } else {
        add_refusal(r->child, &why);
        chela_result_error(call, "invalid_arguments", "The check of %s refused this call: %s",
                           call->name, ch_buf_str(&why));
    }
    call->answer.untouched = true;
    ch_answer_conclude(&call->answer, 0, &call->made);
    ch_call_worked(call);
}

static void run_check(chela_call *call) {
    const struct command *c = call->tool->impl;
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "name", call->name);
    ch_jw_kcstr(&w, "id", call->id);
    ch_jw_kraw(&w, "arguments", call->arguments);
    ch_jw_end(&w, '}');
    run_program(call, c->check.argv, c->check.pins, ch_buf_sv(&json), check_on_done);
}

static void command_start(chela_call *call) {
    const struct command *c = call->tool->impl;
    if (c->check.argv)
        run_check(call);
    else
        run_command(call);
}

/* {"sql": "^SELECT", "n": {"maximum": 9}} is a schema of these properties. */
int ch_check_rules(const struct ch_json *rules, struct ch_schema **out, struct chela_error *err) {
    CH_BUF_AUTO schema = {0};
    struct ch_jw w = ch_jw(&schema);
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "properties", '{');
    for (CH_JSON_MEMBERS(k, v, rules)) {
        ch_jw_key_sv(&w, ch_json_str(k));
        if (!ch_json_is(v, CH_JSON_STRING) && !ch_json_is(v, CH_JSON_OBJECT))
            return ch_fail(err, CHELA_EINVAL, "check: %.*s: expected a pattern or a schema",
                           CH_SV_FMT(ch_json_str(k)));
        if (ch_json_is(v, CH_JSON_OBJECT)) {
            ch_jw_value(&w, v);
            continue;
        }
        ch_jw_begin(&w, '{');
        ch_jw_kvalue(&w, "pattern", v);
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    return ch_schema_parse(ch_buf_sv(&schema), NULL, out, err);
}

static int check_rules(chela_call *call, void *user) {
    const struct command *c = user;
    struct ch_violations found = {0};
    CH_BUF_AUTO text = {0};
    if (ch_schema_check(c->rules, call->args, &call->arena, &found) == 0)
        return 0;
    ch_violations_text(&found, &text);
    chela_result_error(call, "invalid_arguments", "The check of %s refused this call: %s",
                       call->name, ch_buf_str(&text));
    return CHELA_EINVAL;
}

static int read_rules(struct command *c, const char *json, struct chela_tool_opts *tool,
                      struct chela_error *err) {
    const struct ch_json *v = NULL;
    int rc = ch_json_parse(&c->arena, ch_sv_str(json), CH_JSON_STRICT, &v, NULL, err);
    if (rc == 0)
        rc = ch_check_rules(v, &c->rules, err);
    tool->check = check_rules;
    tool->user = c;
    return rc;
}

static void command_cancel(chela_call *call) {
    ch_program_stop(call->program);
}

static void command_abandon(chela_call *call) {
    ch_program_close(call->program);
    call->program = NULL;
}

static const struct ch_tool_ops ops = {
    .name = "command",
    .start = command_start,
    .cancel = command_cancel,
    .abandon = command_abandon,
    .free = free_command,
};

static void command_plan(chela_call *call, struct ch_plan *out) {
    const struct command *c = call->tool->impl;

    out->argv = (const char *const *)c->argv;
    out->cwd = c->cwd;
    for (size_t i = 0; c->env[i]; i++)
        if (strncmp(c->env[i], "PATH=", 5) == 0)
            out->path = c->env[i] + 5;
    out->plain = true;
}

/* The files that the program uses are unknown, so it does not run in parallel with a call
 * that writes files. */
static void command_complete(struct ch_tool *tool) {
    tool->plan = command_plan;
    tool->flow = tool->flags & CHELA_TOOL_FLOW ? ch_tool_flow_of(tool->flags)
                                               : CH_FLOW_READS | CH_FLOW_INGESTS | CH_FLOW_IF_OPEN;
    if (!tool->resources)
        tool->resources = ch_use_workspace;
}

int ch_command_add(struct ch_registry *r, const struct ch_command_opts *opts,
                   struct chela_error *err) {
    struct command *c = new_command(opts);
    struct chela_tool_opts tool = opts->tool;
    tool.flags |= CH_TOOL_CLOSED;
    int rc = opts->check.rules ? read_rules(c, opts->check.rules, &tool, err) : 0;
    if (rc == 0)
        rc = ch_registry_add(r, &tool, &ops, c, err);

    if (rc < 0)
        free_command(c);
    else
        command_complete(ch_registry_find(r, ch_sv_str(opts->tool.name)));
    return rc;
}
