/* cmd_wire.c -- `chela wire`: runs the codecs of model services alone.
 *
 * Exit code 1: input that is not of the protocol; 2: invalid arguments. A reply that
 * contains an error of the service is decoded like any other. */
#include <string.h>

#include "chela/session.h"
#include "chela/wire.h"
#include "cli/command/cmd.h"
#include "cli/report/out_json.h"
#include "cli/support/input.h"
#include "cli/support/problem.h"

struct flags {
    const char *api, *content_type, *model;
    int64_t status;
};

#define AT(field) offsetof(struct flags, field)

static const struct ch_opt decode_opts[] = {
    {"api", 0, CH_OPT_TEXT, AT(api), "NAME", 0, 0, "Flags",
     "protocol of the body, such as anthropic or openai; prompted+NAME also parses calls in its "
     "text"},
    {"status", 0, CH_OPT_INT, AT(status), "N", 100, 599, "Flags", "HTTP status of the reply (200)"},
    {"content-type", 0, CH_OPT_TEXT, AT(content_type), "TYPE", 0, 0, "Flags",
     "content type of the reply; default: by the file name (.sse, .json), else by the body"},
    {.name = NULL},
};

static const struct ch_opt encode_opts[] = {
    {"api", 0, CH_OPT_TEXT, AT(api), "NAME", 0, 0, "Flags",
     "protocol to use, such as anthropic or openai; prompted+NAME describes the tools in the "
     "prompt"},
    {"model", 0, CH_OPT_TEXT, AT(model), "MODEL", 0, 0, "Flags",
     "model to use instead of the one that the request names"},
    {.name = NULL},
};

/* True if name is one of the space-separated codecs, or the prompted layer over one. */
static bool known_api(const char *name) {
    static const char layer[] = "prompted+";
    if (strncmp(name, layer, strlen(layer)) == 0)
        name += strlen(layer);
    size_t n = strlen(name);
    for (const char *at = chela_wire_apis(); *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == n && memcmp(at, name, n) == 0)
            return true;
    return false;
}

static const char *type_by_name(const char *path) {
    const char *dot = strrchr(path, '.');
    if (dot && strcmp(dot, ".sse") == 0)
        return "text/event-stream";
    if (dot && strcmp(dot, ".json") == 0)
        return "application/json";
    return NULL;
}

static int wire_check(const struct ch_cmd *cmd, const struct flags *f, const struct ch_args *args,
                      struct chela_error *err) {
    if (!f->api)
        return ch_problem(err, CHELA_EINVAL, "%s needs --api: one of %s", cmd->name,
                          chela_wire_apis());
    if (!known_api(f->api))
        return ch_problem(err, CHELA_EINVAL, "unknown api '%s': one of %s", f->api,
                          chela_wire_apis());
    if (args->n != 1)
        return ch_problem(err, CHELA_EINVAL, "%s takes one FILE, or - for standard input",
                          cmd->name);
    return CHELA_OK;
}

static char *wire_decode(const struct flags *f, const char *path, const struct ch_cli_input *in,
                         struct chela_error *err) {
    const char *type = f->content_type ? f->content_type : type_by_name(path);
    int status = f->status ? (int)f->status : 200;
    return chela_wire_decode(f->api, status, type, in->p, in->n, err);
}

static char *wire_encode(const struct flags *f, const char *path, const struct ch_cli_input *in,
                         struct chela_error *err) {
    (void)path;
    return chela_wire_encode(f->api, f->model, in->p, in->n, err);
}

typedef char *convert_fn(const struct flags *f, const char *path, const struct ch_cli_input *in,
                         struct chela_error *err);

static int print_converted(struct ch_console *c, const struct flags *f, const char *path,
                           convert_fn *convert) {
    struct chela_error err = {0};
    struct ch_cli_input in = {0};
    int code = CH_EXIT_USAGE;

    if (ch_input_file(path, CH_INPUT_BODY, &in, &err) == 0) {
        char *json = convert(f, path, &in, &err);
        code = json ? CH_EXIT_DONE : CH_EXIT_ERROR;
        if (json)
            ch_json_line(c, json);
        else
            ch_problem_in(&err, path);
        chela_free(json);
        ch_input_release(&in);
    }
    if (err.code)
        ch_console_error(c, "%s", err.message);
    return code;
}

static int wire_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                    convert_fn *convert) {
    struct flags f = {0};
    struct ch_args args;
    struct ch_console console;
    struct chela_error err = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &f, &args);

    if (code < 0) {
        ch_console_init(&console, env, CH_NORMAL, false);
        if (wire_check(cmd, &f, &args, &err) == 0) {
            code = print_converted(&console, &f, args.words[0], convert);
        } else {
            ch_console_error(&console, "%s", err.message);
            code = CH_EXIT_USAGE;
        }
        code = ch_console_exit(&console, code);
        ch_console_release(&console);
    }
    ch_args_release(&args);
    return code;
}

static int run_decode(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return wire_run(cmd, env, argc, argv, wire_decode);
}

static int run_encode(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return wire_run(cmd, env, argc, argv, wire_encode);
}

const struct ch_cmd ch_cmd_wire_decode = {
    .name = "wire decode",
    .args = "FILE|-",
    .summary = "decode a recorded reply to one message",
    .about = "Decodes the body of a recorded reply, streamed or not, to one neutral message and "
             "prints it as a JSON object. The exit status is 0 even if the body contains an error "
             "of the service, and 1 if the body does not follow the protocol.",
    .opts = decode_opts,
    .run = run_decode,
};

const struct ch_cmd ch_cmd_wire_encode = {
    .name = "wire encode",
    .args = "FILE|-",
    .summary = "encode a request for a vendor",
    .about = "Reads a neutral request (a JSON object with model, system, messages, tools) and "
             "prints the HTTP request that would be sent: method, url, headers and body. The "
             "request contains no key.",
    .opts = encode_opts,
    .run = run_encode,
};
