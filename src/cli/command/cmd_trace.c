/* cmd_trace.c -- `chela trace`: shows a session step by step. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chela/json.h"
#include "cli/command/cmd.h"
#include "cli/report/trace_html.h"
#include "cli/report/trace_text.h"
#include "cli/support/draft.h"
#include "cli/support/input.h"
#include "cli/support/problem.h"
#include "cli/setup/setup.h"
#include "cli/report/trace.h"
#include "cli/term/pager.h"

struct flags {
    struct ch_setup_flags setup;
    const char *run, *html, *why;
    struct ch_real request;
    bool all, json, body, wire, otlp, content;
};

#define AT(field) offsetof(struct flags, field)

static const struct ch_opt opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    CH_SETUP_OPTS_STORE(struct flags),
    {"run", 0, CH_OPT_TEXT, AT(run), "ID", 0, 0, "Choice", "show this run instead of the last one"},
    {"all", 0, CH_OPT_SWITCH, AT(all), NULL, 0, 0, "Choice", "show all runs of the session"},
    {"request", 0, CH_OPT_REAL, AT(request), "N", 0, 1e9, "Choice",
     "show request N to the model in full (0: the last)"},
    {"body", 0, CH_OPT_SWITCH, AT(body), NULL, 0, 0, "Output",
     "with --request: the bytes that were sent, not redacted"},
    {"wire", 0, CH_OPT_SWITCH, AT(wire), NULL, 0, 0, "Output",
     "with --request: the request as 'chela wire encode' reads it, not redacted"},
    {"html", 0, CH_OPT_TEXT, AT(html), "FILE", 0, 0, "Output",
     "write a self-contained HTML page with all messages; keys are redacted"},
    {"why", 0, CH_OPT_TEXT, AT(why), "FILE", 0, 0, "Output",
     "with --html: show this report of 'chela why --json' on the page"},
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output", "print the steps as a JSON array"},
    {"otlp", 0, CH_OPT_SWITCH, AT(otlp), NULL, 0, 0, "Output",
     "print the spans as a request of OpenTelemetry's protocol, the body of a POST to "
     "/v1/traces"},
    {"content", 0, CH_OPT_SWITCH, AT(content), NULL, 0, 0, "Output",
     "with --otlp: also arguments and results of tools; keys are redacted"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

/* Conversations may be private: the page is readable by the user alone. A relative name may be
 * one of a stranger's directory: no link, and no wait for a pipe. */
static int write_page(const struct ch_trace *t, chela_store *store, const char *key,
                      const char *path, const char *why, struct chela_error *err) {
    int careful = O_NONBLOCK | (path[0] == '/' ? 0 : O_NOFOLLOW);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | careful, 0600);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f) {
        int rc = ch_problem(err, CHELA_EINVAL, "%s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return rc;
    }
    ch_trace_html(t, store, key, why, f);
    bool failed = ferror(f);
    if (fclose(f) != 0 || failed)
        return ch_problem(err, CHELA_EINTERNAL, "%s: %s", path, strerror(errno));
    return CHELA_OK;
}

static int request_show(struct ch_setup *setup, const struct flags *f, const char *key,
                        struct chela_error *err) {
    enum chela_request_form form = f->json   ? CHELA_REQUEST_JSON
                                   : f->body ? CHELA_REQUEST_BODY
                                   : f->wire ? CHELA_REQUEST_WIRE
                                             : CHELA_REQUEST_TEXT;
    char *out;
    size_t n;
    int rc = chela_trace_request(setup->store, key, (unsigned)f->request.value, form, &out, &n,
                                 err);
    if (rc < 0)
        return rc;
    if (form == CHELA_REQUEST_TEXT) {
        ch_console_page(setup->console, out, n);
    } else {
        ch_console_answer(setup->console, out, n);
        if (form != CHELA_REQUEST_BODY)
            ch_console_answer_end(setup->console);
    }
    chela_free(out);
    return 0;
}

static int otlp_show(const struct ch_setup *setup, const struct flags *f, const char *key,
                     struct chela_error *err) {
    struct chela_telemetry_opts how = CHELA_TELEMETRY_OPTS(.endpoint = NULL);
    char *out = NULL;
    int rc = setup->config ? chela_config_telemetry(setup->config, &how, err) : CHELA_OK;
    how.content = f->content;
    if (rc == 0)
        rc = chela_telemetry_past(setup->store, key, f->all ? NULL : f->run ? f->run : "", &how,
                                  &out, err);
    if (rc == 0) {
        ch_console_answer(setup->console, out, strlen(out));
        ch_console_answer_end(setup->console);
    }
    chela_free(out);
    return rc;
}

/* A page is not written with a report that is none. */
static int check_report(const struct flags *f, const char *report, struct chela_error *err) {
    if (!f->html)
        return ch_problem(err, CHELA_EINVAL, "--why FILE needs --html FILE");
    static const char *const members[] = {"", "/verdict", "/decision", "/causes"};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        char *value = chela_json_get(report, strlen(report), members[i], NULL);
        if (!value && i == 0)
            return ch_problem(err, CHELA_EINVAL, "%s: no report of 'chela why --json': not JSON",
                              f->why);
        if (!value)
            return ch_problem(err, CHELA_EINVAL,
                              "%s: no report of 'chela why --json': the member \"%s\" is missing",
                              f->why, members[i] + 1);
        chela_free(value);
    }
    return CHELA_OK;
}

static int trace_show(struct ch_setup *setup, const struct flags *f, const char *key,
                      struct chela_error *err) {
    struct ch_trace t = {0};
    struct ch_draft d;
    struct ch_cli_input why = {0};
    int rc = f->why ? ch_input_file(f->why, CH_INPUT_BODY, &why, err) : CHELA_OK;
    if (rc == 0 && f->why)
        rc = check_report(f, why.p, err);
    if (rc == 0)
        rc = ch_trace_read(&t, setup->store, key, f->all ? NULL : f->run ? f->run : "", err);
    if (rc == 0 && f->html)
        rc = write_page(&t, setup->store, key, f->html, why.p, err);
    ch_input_release(&why);
    ch_draft_init(&d);
    if (rc == 0 && f->json)
        ch_trace_json(&t, d.f);
    else if (rc == 0 && !f->html)
        ch_trace_text(&t, key, ch_term_columns(&setup->console->out), d.f);
    ch_draft_finish(&d);
    ch_console_page(setup->console, d.p, d.n);
    free(d.p);
    ch_trace_release(&t);
    return rc;
}

static int trace_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    struct flags f = {0};
    struct ch_args args;
    struct ch_console console;
    struct chela_error err = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &f, &args);
    if (code >= 0) {
        ch_args_release(&args);
        return code;
    }
    ch_console_init(&console, env, ch_setup_verbosity(&f.setup), f.setup.no_color);
    struct ch_setup setup = {
        .env = env, .flags = &f.setup, .console = &console, .uses = CH_USES_STORE};
    int rc = args.n == 1 ? CHELA_OK
                         : ch_problem(&err, CHELA_EINVAL, "usage: chela trace [flags] SESSION");
    if (rc == 0)
        rc = ch_setup_config(&setup, &err);
    if (rc == 0)
        rc = ch_setup_store(&setup, CH_STORE_READ, &err);
    if (rc == 0)
        rc = f.request.set ? request_show(&setup, &f, args.words[0], &err)
             : f.otlp      ? otlp_show(&setup, &f, args.words[0], &err)
                           : trace_show(&setup, &f, args.words[0], &err);
    if (rc < 0)
        ch_console_error(&console, "%s", err.message);
    code = ch_console_exit(&console, rc < 0 ? ch_problem_exit(&err) : CH_EXIT_DONE);
    ch_setup_release(&setup);
    ch_console_release(&console);
    ch_args_release(&args);
    return code;
}

const struct ch_cmd ch_cmd_trace = {
    .name = "trace",
    .args = "SESSION",
    .summary = "show a run as a timeline",
    .about = "Shows the last run of a session, or another run, step by step: the messages, each "
             "model call with its tokens, each tool call with its result, each wait for a person, "
             "and the end. With --request, one request to the model in full: the sections of the "
             "system prompt with their sizes and origins, the tools, the messages, what was cut, "
             "the reply and its cost. With --html, a page for the browser shows each step in full "
             "on a click. With --otlp, the spans for a collector of OpenTelemetry; their ids are "
             "those of the live export.",
    .opts = opts,
    .run = trace_run,
};
