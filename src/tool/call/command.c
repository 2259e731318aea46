/* command.c -- tools that run a program.
 *
 * The program receives the arguments as JSON on stdin; its stdout is the result. A non-zero
 * exit status makes an error result with the end of stderr. The program runs in a sandbox
 * (sandbox_policy.h) and receives only a few environment variables, none with the host's
 * credentials. Timeout and cancellation end the whole process group; a program that exceeds
 * CH_LIMIT_TOOL_OUTPUT is stopped. */
#include <signal.h>
#include <stdlib.h>

#include "base/limits.h"
#include "tool/call/command.h"
#include "tool/call/aftermath.h"
#include "tool/call/call.h"
#include "tool/call/plan.h"
#include "tool/process/held_text.h"
#include "tool/process/program.h"
#include "json/writer.h"
#include "tool/result/sanitize.h"

#define OWN_VARIABLES 2 /* CHELA_CALL_ID, CHELA_IDEMPOTENCY_KEY */
#define TRY_LATER 75    /* EX_TEMPFAIL: the only exit code that conventionally means "try later" */

struct command {
    char **argv; /* owned, NULL-terminated */
    char *cwd;   /* owned; NULL: the workspace */
    /* Copied when the tool is added, because getenv is not safe while threads run. */
    char *env[CH_PROGRAM_ENV + 1];
    struct ch_arena arena; /* of pins */
    const struct ch_pins *pins;
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
    ch_free(c->argv);
    ch_free(c->cwd);
    ch_arena_release(&c->arena);
    ch_free(c);
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
    if (r->held && !call->answer.error_type) {
        CH_BUF_AUTO note = {0};
        ch_buf_addc(&note, '\n');
        ch_held_text(r->held, call->workspace, &note);
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

static void command_start(chela_call *call) {
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
        .argv = (const char *const *)c->argv,
        .env = env,
        .workspace = call->workspace,
        .cwd = c->cwd,
        .any_cwd = c->cwd != NULL,
        .trusted_argv = true,
        .pins = c->pins,
        .free_instructions = call->env->ask_means == CH_CONSENT_AUTO,
        .input = call->arguments,
        .max_output = CH_LIMIT_TOOL_OUTPUT,
    };
    atomic_store(&call->begun, true);
    call->program = ch_program_start(call->env->loop, call->env->workers, &opts, command_on_output,
                                     command_on_done, call);
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
    if (!tool->resources)
        tool->resources = ch_use_workspace;
}

int ch_command_add(struct ch_registry *r, const struct ch_command_opts *opts,
                   struct chela_error *err) {
    struct command *c = new_command(opts);
    struct chela_tool_opts tool = opts->tool;
    tool.flags |= CH_TOOL_CLOSED;
    int rc = ch_registry_add(r, &tool, &ops, c, err);

    if (rc < 0)
        free_command(c);
    else
        command_complete(ch_registry_find(r, ch_sv_str(opts->tool.name)));
    return rc;
}
