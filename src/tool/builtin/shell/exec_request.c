/* exec_request.c -- see exec_request.h.
 *
 * A person who approves a command sees its text, so nothing outside of the text may change
 * its meaning. Variables that make a shell, a loader or an interpreter run other code can
 * be set only inside the command, where they are visible. */
#include "tool/builtin/shell/exec_request.h"

#include <fnmatch.h>
#include <math.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "tool/call/call.h"
#include "json/writer.h"
#include "tool/call/call_view.h"
#include "tool/result/sanitize.h"

#define LINE_BYTES 120

static const char *const cwd_names[] = {"cwd", "workdir", "working_directory", "dir", NULL};
static const char *const timeout_names[] = {"timeout", "timeout_seconds", "timeoutSeconds", NULL};
static const char *const background_names[] = {"background", "run_in_background", NULL};
static const char *const tty_names[] = {"pty", "tty", NULL};

static const char *printed(chela_call *call, const char *fmt, const char *word) {
    return ch_arena_printf(&call->arena, fmt, word);
}

/* --- the command */

static bool is_plain_word(struct ch_sv word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,@%+";

    for (size_t i = 0; i < word.n; i++)
        if (!memchr(plain, word.p[i], sizeof(plain) - 1))
            return false;
    return word.n > 0;
}

/* Quote one word for a shell. */
static void exec_request_add_quoted(struct ch_buf *out, struct ch_sv word) {
    if (out->n)
        ch_buf_addc(out, ' ');
    if (is_plain_word(word)) {
        ch_buf_add_sv(out, word);
        return;
    }
    ch_buf_addc(out, '\'');
    for (size_t i = 0; i < word.n; i++)
        if (word.p[i] == '\'')
            ch_buf_add_str(out, "'\\''");
        else
            ch_buf_addc(out, word.p[i]);
    ch_buf_addc(out, '\'');
}

static int exec_request_read_words(chela_call *call, const struct ch_json *list,
                                   struct ch_exec_request *out) {
    size_t n = list->n, i = 0;
    CH_BUF_AUTO text = {0};

    if (n == 0 || n > CH_LIMIT_EXEC_WORDS)
        return ch_result_invalid(
            call, "argv must hold the program and its arguments, at most 1024 words.");
    const char **argv = ch_arena_alloc(&call->arena, (n + 1) * sizeof(*argv));
    for (CH_JSON_EACH(item, list)) {
        struct ch_sv word = ch_json_str(item);
        if (item->type != CH_JSON_STRING || (word.n && memchr(word.p, '\0', word.n)))
            return ch_result_invalid(call,
                                     "Every word of argv must be a string without NUL characters.");
        if (i == 0 && word.n == 0)
            return ch_result_invalid(call, "argv begins with an empty word: name the program.");
        argv[i++] = ch_arena_str(&call->arena, word);
        exec_request_add_quoted(&text, word);
    }
    argv[n] = NULL;
    out->argv = argv;
    out->text = ch_arena_str(&call->arena, ch_buf_sv(&text));
    return 0;
}

static int exec_request_read_command(chela_call *call, struct ch_exec_request *out) {
    const struct ch_json *argv = ch_json_get(call->args, "argv");
    const struct ch_json *command = ch_json_get(call->args, "command");

    if (ch_json_is(command, CH_JSON_ARRAY)) /* some models send the argument list as `command` */
        argv = command;
    else if (argv && command)
        return ch_result_invalid(call, "Give either command, for a shell, or argv, without one.");
    if (argv && argv->type != CH_JSON_NULL)
        return argv->type == CH_JSON_ARRAY
                   ? exec_request_read_words(call, argv, out)
                   : ch_result_invalid(call, "argv must be a list of strings.");
    int rc = chela_arg_string(call, "command", &out->text);
    if (rc < 0)
        return rc;
    if (ch_sv_trim(ch_sv_str(out->text)).n == 0)
        return ch_result_invalid(call, "The command is empty.");
    const char **words = ch_arena_alloc(&call->arena, 4 * sizeof(*words));
    words[0] = "/bin/sh";
    words[1] = "-c";
    words[2] = out->text;
    words[3] = NULL;
    out->argv = words;
    return 0;
}

bool ch_exec_approves(const char *text) {
    CH_BUF_AUTO bare = {0};

    for (const char *p = text; *p; p++)
        if (!strchr("'\"\\", *p)) /* skip characters that a shell removes */
            ch_buf_addc(&bare, *p);
    return ch_approval_is_self_approve(ch_sv_str(text)) ||
           ch_approval_is_self_approve(ch_buf_sv(&bare));
}

/* Reject a command that would approve a call in a chat: only a person may approve. */
static int refuse_approval(chela_call *call, const struct ch_exec_request *r) {
    bool found = ch_exec_approves(r->text);

    for (size_t i = 0; !found && r->argv[i]; i++)
        found = ch_exec_approves(r->argv[i]);
    for (size_t i = 0; !found && r->env[i]; i++)
        found = ch_exec_approves(strchr(r->env[i], '=') + 1);
    if (!found)
        return 0;
    chela_result_error(call, "permission_denied",
                       "exec does not run /approve: only a person can approve a call. Ask them.");
    return CHELA_EINVAL;
}

/* --- variables */

static const char *const telling_variables[] = {
    "LD_*",
    "DYLD_*",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "BASH_ENV",
    "ENV",
    "BASH_FUNC*",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "IFS",
    "PATH",
    "HOME",
    "TMPDIR",
    "PROMPT_COMMAND",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "NODE_*",
    "PERL5*",
    "PERLLIB",
    "RUBYOPT",
    "RUBYLIB",
    "LUA_*",
    "GIT_*",
    "LESSOPEN",
    "LESSCLOSE",
    "PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "SHELL",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "MAKEFLAGS",
    "RUSTC*",
    "CARGO_*",
    "GOFLAGS",
    "NPM_CONFIG_*",
    "npm_config_*",
    "PIP_*",
};

static bool exec_request_is_name(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(i > 0 && c >= '0' && c <= '9'))
            return false;
    }
    return s.n > 0 && s.n <= CH_LIMIT_TOOL_NAME;
}

static int check_variable(chela_call *call, const char *name, const struct ch_json *value) {
    struct ch_sv text = ch_json_str(value);

    if (!exec_request_is_name(ch_sv_str(name)))
        return ch_result_invalid(call, "env holds a name that no variable can have.");
    for (size_t i = 0; i < CH_LEN(telling_variables); i++)
        if (fnmatch(telling_variables[i], name, 0) == 0)
            return ch_result_invalid(call,
                                     printed(call,
                                             "env may not set %s: it decides which code runs. "
                                             "Write it into the command.",
                                             name));
    if (value->type != CH_JSON_STRING || (text.n && memchr(text.p, '\0', text.n)))
        return ch_result_invalid(call, printed(call, "The variable %s must be a string.", name));
    return 0;
}

static int exec_request_read_variables(chela_call *call, struct ch_exec_request *out) {
    const struct ch_json *env = ch_json_get(call->args, "env");
    const char **list = ch_arena_alloc(&call->arena, (CH_LIMIT_EXEC_VARIABLES + 1) * sizeof(*list));
    size_t n = 0;

    list[0] = NULL;
    out->env = list;
    if (!env || env->type == CH_JSON_NULL)
        return 0;
    if (env->type != CH_JSON_OBJECT)
        return ch_result_invalid(call, "env must be an object of names and values.");
    for (CH_JSON_MEMBERS(key, value, env)) {
        const char *name = ch_arena_str(&call->arena, ch_json_str(key));
        if (n == CH_LIMIT_EXEC_VARIABLES)
            return ch_result_invalid(call, "env sets more than 64 variables.");
        int rc = check_variable(call, name, value);
        if (rc < 0)
            return rc;
        list[n++] = ch_arena_printf(&call->arena, "%s=%.*s", name, CH_SV_FMT(ch_json_str(value)));
    }
    list[n] = NULL;
    return 0;
}

/* --- time */

static int read_timeout(chela_call *call, struct ch_exec_request *out) {
    double seconds = out->background ? 0 : CH_DEFAULT_EXEC_S;
    int rc = chela_arg_double_opt(call, ch_arg_name(call, timeout_names), &seconds);

    if (rc < 0)
        return rc;
    if (seconds < 0 || seconds > CH_LIMIT_EXEC_S)
        return ch_result_invalid(
            call, "timeout is in seconds, at most 3600. For what takes longer, set "
                  "background.");
    if (seconds == 0 && !out->background)
        seconds = CH_DEFAULT_EXEC_S;
    out->timeout_ms = (int64_t)ceil(seconds * 1000);
    return 0;
}

int ch_exec_read(chela_call *call, struct ch_exec_request *out) {
    *out = (struct ch_exec_request){0};
    int rc = exec_request_read_command(call, out);
    if (rc == 0)
        rc = exec_request_read_variables(call, out);
    if (rc == 0)
        rc = refuse_approval(call, out);
    if (rc == 0)
        rc = chela_arg_string_opt(call, ch_arg_name(call, cwd_names), &out->cwd);
    if (rc == 0)
        rc = chela_arg_bool_opt(call, ch_arg_name(call, background_names), &out->background);
    if (rc == 0)
        rc = chela_arg_bool_opt(call, ch_arg_name(call, tty_names), &out->tty);
    return rc == 0 ? read_timeout(call, out) : rc;
}

const char *ch_exec_line(chela_call *call, const char *text) {
    struct ch_sv whole = ch_sv_trim(ch_sv_str(text)), cut = ch_utf8_cut(whole, LINE_BYTES);
    CH_BUF_AUTO clean = {0};

    ch_text_clean(&clean, cut);
    for (size_t i = 0; i < clean.n; i++)
        if (clean.p[i] == '\n' || clean.p[i] == '\r' || clean.p[i] == '\t')
            clean.p[i] = ' ';
    if (cut.n < whole.n)
        ch_buf_add_str(&clean, "...");
    return ch_arena_str(&call->arena, ch_buf_sv(&clean));
}
