/* exec.c -- the tool `exec`: runs a command in the sandbox.
 *
 * stdout and stderr are one stream, as on a terminal. A foreground call waits for the exit.
 * The output is the result, whatever the exit code is. The last line tells an exit code other
 * than 0, a signal, or the time limit that stopped the command. A background command is a job
 * of the session (jobs.h) from the start, and the call ends as soon as the job runs. */
#include "tool/builtin/shell/exec.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "tool/builtin/shell/command_end.h"
#include "tool/builtin/shell/exec_request.h"
#include "tool/call/aftermath.h"
#include "tool/call/call.h"
#include "tool/call/flow.h"
#include "tool/process/held_text.h"
#include "tool/result/head_tail.h"
#include "tool/process/jobs.h"
#include "tool/process/path.h"
#include "tool/call/plan.h"
#include "tool/process/executable.h"
#include "tool/process/program.h"
#include "tool/process/shell_words.h"
#include "json/writer.h"
#include "tool/result/sanitize.h"

/* Environment variables that describe the terminal, or its absence. */
static const char *const no_tty_env[] = {"TERM=dumb", NULL};
static const char *const tty_env[] = {"TERM=xterm-256color", "PAGER=cat", "GIT_PAGER=cat", NULL};

/* An allow rule permits a command line, not the commands that a repository's configuration
 * names. These settings override those of any file. */
static const char *const plain_git_env[] = {
    "GIT_CONFIG_COUNT=7",
    "GIT_CONFIG_KEY_0=core.fsmonitor",
    "GIT_CONFIG_VALUE_0=false",
    "GIT_CONFIG_KEY_1=core.hooksPath",
    "GIT_CONFIG_VALUE_1=/dev/null",
    "GIT_CONFIG_KEY_2=safe.bareRepository",
    "GIT_CONFIG_VALUE_2=explicit",
    "GIT_CONFIG_KEY_3=core.pager",
    "GIT_CONFIG_VALUE_3=cat",
    "GIT_CONFIG_KEY_4=core.sshCommand",
    "GIT_CONFIG_VALUE_4=false",
    "GIT_CONFIG_KEY_5=protocol.ext.allow",
    "GIT_CONFIG_VALUE_5=never",
    "GIT_CONFIG_KEY_6=protocol.file.allow", /* another repository here has its own settings */
    "GIT_CONFIG_VALUE_6=never",
    "GIT_PAGER=cat",
    "GIT_EDITOR=false",
    "GIT_TERMINAL_PROMPT=0",
    NULL,
};

struct exec_tool { /* ch_tool.impl */
    char *env[CH_PROGRAM_ENV + 1];
};

#define TELL_MS 500 /* between two looks at the output of a running command */
#define TOLD 5      /* lines of output in one progress message */
#define FRESH 2048  /* bytes of output kept for progress messages */

/* A call in progress: chela_call.doing. */
struct exec {
    chela_call *call;
    struct ch_loop *loop;
    struct ch_exec_request request; /* in the call's arena */
    int64_t started_ms;
    struct ch_ends output;
    struct ch_buf fresh;   /* the end of the output, not yet reported as progress */
    struct ch_timer tell;  /* reports the progress of a command that takes a while */
    struct ch_program *program; /* in the foreground */
    struct ch_job *job;         /* in the background; borrowed while watched */
    struct ch_job_watch watch;
};

static int64_t exec_now(const struct exec *x) {
    return ch_mono_ms(ch_loop_clock(x->loop));
}

static void free_exec(struct exec *x) {
    ch_job_unwatch(&x->watch);
    ch_timer_stop(x->loop, &x->tell);
    ch_ends_release(&x->output);
    ch_buf_release(&x->fresh);
    x->call->doing = NULL;
    ch_free(x);
}

static void exec_conclude(struct ch_work *w) {
    chela_call *call = CH_CONTAINER(w, chela_call, work);

    ch_answer_conclude(&call->answer, 0, &call->made);
}

static void on_concluded(struct ch_work *w) {
    chela_call *call = CH_CONTAINER(w, chela_call, work);

    if (call->env) /* NULL if the call was abandoned in between */
        ch_call_worked(call);
    ch_call_unref(call);
}

/* Long output is shaped and saved to a file on a worker thread. */
static void exec_finish(struct exec *x) {
    bool large = x->output.total > CH_LIMIT_RESULT_CHARS;
    chela_call *call = x->call;

    free_exec(x);
    if (large) {
        ch_call_ref(call);
        call->work =
            (struct ch_work){.run = exec_conclude, .done = on_concluded, .dropped = on_concluded};
        ch_work_submit(call->env->workers, &call->work);
        return;
    }
    ch_answer_conclude(&call->answer, 0, &call->made);
    ch_call_worked(call);
}

/* --- the result ---------------------------------------------------------- */

static const char *sandbox_word(const struct ch_program_result *r) {
    return !r->boxed ? "off" : r->degraded ? "degraded" : "on";
}

/* Append the start and a longer part of the end of an output for an error result, because
 * the end usually explains the failure. JSON quoting may double its size. */
static void exec_add_cut(struct ch_buf *out, struct ch_sv text, struct ch_shape_room room) {
    struct ch_shape_room third = {.chars = room.chars / 6, .cost = room.cost / 6};
    struct ch_shape_room half = {.chars = room.chars / 2, .cost = room.cost / 2};

    if (ch_room_holds(half, ch_room_needed(text))) {
        ch_buf_add_sv(out, text);
        return;
    }
    struct ch_sv head = ch_room_start(third, text);
    size_t want = (size_t)CH_MIN(room.chars / 3, room.cost / 12), at = text.n;
    at = text.n - head.n > want ? text.n - want : head.n;
    while (at < text.n && ((unsigned char)text.p[at] & 0xc0) == 0x80)
        at++;
    ch_buf_add_sv(out, head);
    ch_buf_addf(out, "\n[... %zu bytes are left out here ...]\n", at - head.n);
    ch_buf_add(out, text.p + at, text.n - at);
}

static void exec_set_details(struct exec *x, const struct ch_program_result *r,
                             struct ch_sv output) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);

    ch_jw_begin(&w, '{');
    if (r->child && r->child->signal)
        ch_jw_kint(&w, "signal", r->child->signal);
    else if (r->child && r->child->exit_code >= 0)
        ch_jw_kint(&w, "exit_code", r->child->exit_code);
    if (r->child && r->child->timed_out)
        ch_jw_kbool(&w, "timed_out", true);
    if (output.n)
        ch_jw_kstr(&w, "output", output);
    ch_jw_kint(&w, "output_bytes", (int64_t)x->output.total);
    ch_jw_kint(&w, "duration_ms", exec_now(x) - x->started_ms);
    ch_jw_kcstr(&w, "sandbox", sandbox_word(r));
    ch_jw_end(&w, '}');
    ch_answer_details(&x->call->answer, ch_buf_sv(&json));
}

static void exec_set_failure(struct exec *x, const struct ch_program_result *r) {
    CH_BUF_AUTO text = {0}, clean = {0}, cut = {0};

    ch_held_text(r->held, x->call->workspace, &text);
    ch_ends_text(&x->output, &text);
    ch_text_clean(&clean, ch_buf_sv(&text));
    exec_add_cut(&cut, ch_buf_sv(&clean), ch_room_of(x->call->answer.shape.window));
    exec_set_details(x, r, ch_buf_sv(&cut));
}

static void exec_set_result(struct exec *x, const struct ch_program_result *r) {
    const struct ch_child_result *c = r->child;
    struct ch_command_end end = {.exit_code = c->exit_code,
                                 .signal = c->signal,
                                 .timed_out = c->timed_out,
                                 .timeout_ms = x->request.timeout_ms};
    const char *last = ch_command_end_line(&x->call->arena, &end);
    CH_BUF_AUTO text = {.max = 3 * CH_LIMIT_OUTPUT_END};

    if (!last)
        ch_buf_addf(&text, "[exit code 0, %.1f s]\n",
                    (double)(exec_now(x) - x->started_ms) / 1000);
    ch_held_text(r->held, x->call->workspace, &text);
    ch_refused_text(r->refused, &text);
    if (x->output.total == 0)
        ch_buf_add_str(&text, "(no output)");
    ch_ends_text(&x->output, &text);
    x->call->answer.shape.tail = true;
    x->call->answer.shape.last = last;
    x->call->answer.failed = last != NULL;
    ch_answer_text(&x->call->answer, ch_buf_sv(&text));
    exec_set_details(x, r, CH_SV(""));
}

static void exec_on_done(const struct ch_program_result *r, void *user) {
    struct exec *x = user;

    x->program = NULL;
    ch_aftermath_set(x->call, r->held);
    ch_aftermath_set_hosts(x->call, r->refused, ch_sv_str(x->request.text));
    if (r->error) {
        chela_result_error(x->call, r->error_type, "%s", r->error);
        exec_set_failure(x, r);
    } else {
        exec_set_result(x, r);
    }
    exec_finish(x);
}

/* --- running ------------------------------------------------------------- */

static void exec_on_output(int stream, struct ch_sv data, void *user) {
    struct exec *x = user;

    (void)stream;
    ch_ends_add(&x->output, data);
    ch_buf_add_sv(&x->fresh, ch_sv(data.p + data.n - CH_MIN(data.n, FRESH), CH_MIN(data.n, FRESH)));
    if (x->fresh.n > 2 * FRESH) {
        memmove(x->fresh.p, x->fresh.p + x->fresh.n - FRESH, FRESH);
        x->fresh.n = FRESH;
    }
}

/* Reports the last lines of output since the last report. A command that ends soon reports
 * none. */
static void exec_on_tell(struct ch_timer *t) {
    struct exec *x = CH_CONTAINER(t, struct exec, tell);
    struct ch_sv rest = ch_buf_sv(&x->fresh), lines[TOLD] = {0};
    size_t n = 0;

    ch_timer_start(x->loop, &x->tell, TELL_MS, exec_on_tell);
    while (rest.n) {
        struct ch_sv line = ch_sv_trim(ch_sv_split(&rest, '\n'));
        if (line.n)
            lines[n++ % TOLD] = line;
    }
    for (size_t i = n > TOLD ? n - TOLD : 0; i < n; i++) {
        CH_BUF_AUTO text = {0};
        ch_utf8_add_valid(&text, lines[i % TOLD]);
        chela_call_progress(x->call, ch_buf_str(&text));
    }
    ch_buf_clear(&x->fresh);
}

static size_t exec_add_words(const char **to, size_t n, const char *const *from) {
    while (*from)
        to[n++] = *from++;
    to[n] = NULL;
    return n;
}

static bool exec_is_set(const char *const *list, const char *entry) {
    size_t n = (size_t)(strchr(entry, '=') - entry) + 1;

    for (; *list; list++)
        if (strncmp(*list, entry, n) == 0)
            return true;
    return false;
}

/* Chela's variables, then those for the terminal, then the model's; later ones win. A rule
 * covers no command with variables of the model. */
static const char *const *exec_make_env(struct exec *x, const struct exec_tool *tool) {
    enum {
        ROOM = CH_PROGRAM_ENV + CH_LEN(tty_env) + CH_LIMIT_EXEC_VARIABLES + CH_LEN(plain_git_env)
    };
    const char **env = ch_arena_alloc(&x->call->arena, ROOM * sizeof(*env));
    const char *const *terminal = x->request.tty ? tty_env : no_tty_env;
    size_t n = 0;

    for (size_t i = 0; tool->env[i]; i++)
        if (!exec_is_set(terminal, tool->env[i]) && !exec_is_set(x->request.env, tool->env[i]))
            env[n++] = tool->env[i];
    for (size_t i = 0; terminal[i]; i++)
        if (!exec_is_set(x->request.env, terminal[i]))
            env[n++] = terminal[i];
    n = exec_add_words(env, n, x->request.env);
    if (x->call->by_rule)
        exec_add_words(env, n, plain_git_env);
    return env;
}

/* memory: of the session, so it outlives the jobs of the session. */
static bool exec_is_granted(const unsigned char *digest, void *memory) {
    return ch_memory_has(memory, digest);
}

static struct ch_program_opts program_opts(struct exec *x) {
    return (struct ch_program_opts){
        .policy = x->call->env->sandbox,
        .argv = x->request.argv,
        .env = exec_make_env(x, x->call->tool->impl),
        .workspace = x->call->workspace,
        .layer = x->call->env->layer,
        .full_box = x->call->full_box,
        .free_instructions = x->call->env->ask_means == CH_CONSENT_AUTO,
        .met = ch_flow_judge_command(x->call).source != NULL,
        .granted = exec_is_granted,
        .granted_user = x->call->env->memory,
        .command = ch_sv_str(x->request.text),
        .cwd = x->request.cwd,
        .merge = true,
        .stream = true,
        .tty = x->request.tty,
        .timeout_ms = x->request.timeout_ms,
    };
}

static void answer_started(struct exec *x) {
    const char *id = ch_job_id(x->job);
    struct ch_job_end state = ch_job_state(x->job);
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);

    if (state.error)
        chela_result_error(x->call, "unavailable", "%s", state.error);
    else
        chela_result_printf(x->call,
                            "Started in the background as %s. Use process with this id to poll "
                            "it, read its log, write to it or kill it; you will be told when it "
                            "ends.",
                            id);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "id", id);
    ch_jw_end(&w, '}');
    ch_answer_details(&x->call->answer, ch_buf_sv(&json));
    exec_finish(x);
}

static void on_news(struct ch_job_watch *w) {
    struct exec *x = CH_CONTAINER(w, struct exec, watch);

    if (ch_job_prepared(x->job))
        answer_started(x);
    else
        ch_job_watch(x->job, &x->watch);
}

static void start_job(struct exec *x) {
    struct ch_program_opts opts = program_opts(x);
    struct ch_jobs *jobs = x->call->env->jobs;
    struct chela_error err = {0};

    if (!jobs) {
        chela_result_error(x->call, "unavailable",
                           "Nothing can be run in the background here; run it without.");
        exec_finish(x);
        return;
    }
    if (ch_job_start(jobs, &opts, ch_exec_line(x->call, x->request.text), &x->job, &err) < 0) {
        chela_result_error(x->call, "unavailable", "%s: wait for one to end, or kill one.",
                           err.message);
        exec_finish(x);
        return;
    }
    x->watch.fn = on_news;
    ch_job_watch(x->job, &x->watch);
}

static void exec_start(chela_call *call) {
    struct exec *x = ch_alloc(sizeof(*x));

    x->call = call;
    x->loop = call->env->loop;
    call->doing = x;
    atomic_store(&call->begun, true);
    if (ch_exec_read(call, &x->request) < 0) {
        exec_finish(x); /* the check passed before, so a hook changed the arguments */
        return;
    }
    x->started_ms = exec_now(x);
    if (x->request.background) {
        start_job(x);
        return;
    }
    struct ch_program_opts opts = program_opts(x);
    ch_timer_start(x->loop, &x->tell, TELL_MS, exec_on_tell);
    x->program =
        ch_program_start(x->loop, call->env->workers, &opts, exec_on_output, exec_on_done, x);
}

static void exec_cancel(chela_call *call) {
    struct exec *x = call->doing;

    if (x && x->program)
        ch_program_stop(x->program);
    else if (x && x->job)
        ch_job_kill(x->job);
}

static void exec_abandon(chela_call *call) {
    struct exec *x = call->doing;

    if (!x)
        return; /* the program has ended; only the result is being made */
    ch_program_close(x->program);
    if (x->job)
        ch_job_kill(x->job);
    free_exec(x);
}

static void free_tool(void *impl) {
    struct exec_tool *tool = impl;

    if (!tool)
        return;
    ch_program_env_free(tool->env);
    ch_free(tool);
}

static const struct ch_tool_ops ops = {
    .name = "exec",
    .start = exec_start,
    .cancel = exec_cancel,
    .abandon = exec_abandon,
    .free = free_tool,
};

/* --- checks -------------------------------------------------------------- */

int ch_exec_check(chela_call *call, void *user) {
    struct ch_exec_request request;

    (void)user;
    return ch_exec_read(call, &request);
}

/* True if the command provably changes nothing in the workspace. A variable of the model may
 * name other programs, and a terminal may change what a program does. */
static bool exec_only_reads(chela_call *call) {
    struct ch_exec_request r;

    if (ch_exec_read(call, &r) < 0 || r.env[0] || r.tty)
        return false;
    struct ch_words words =
        ch_shell_words(&call->arena, ch_sv_str(r.text), CH_WORDS_COMMAND);
    return words.v && ch_executable_only_reads((const char *const *)words.v);
}

void ch_exec_uses(chela_call *call, void *user) {
    (void)user;
    chela_call_uses(call, CH_USE_FILES,
                    exec_only_reads(call) ? CHELA_USE_SHARED : CHELA_USE_ALONE);
}

static void exec_plan(chela_call *call, struct ch_plan *out) {
    const struct exec_tool *tool = call->tool->impl;
    struct ch_exec_request r;
    CH_BUF_AUTO rel = {0};

    if (ch_exec_read(call, &r) < 0)
        return;
    out->command = ch_sv_str(r.text);
    if (r.cwd && ch_path_inside(call->workspace, r.cwd, &rel) == 0)
        out->cwd = ch_arena_printf(&call->arena, "%s/%s", call->workspace, ch_buf_str(&rel));
    for (size_t i = 0; tool->env[i]; i++)
        if (strncmp(tool->env[i], "PATH=", 5) == 0)
            out->path = tool->env[i] + 5;
    out->plain = !r.env[0] && !r.tty;
}

int ch_exec_add(struct ch_registry *r, const struct chela_tool_opts *opts,
                struct chela_error *err) {
    struct exec_tool *tool = ch_alloc(sizeof(*tool));

    ch_program_env(tool->env);
    int rc = ch_registry_add(r, opts, &ops, tool, err);
    if (rc < 0)
        free_tool(tool);
    else
        ch_registry_find(r, ch_sv_str(opts->name))->plan = exec_plan;
    return rc;
}
