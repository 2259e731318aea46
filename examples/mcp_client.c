/* mcp_client.c -- connect to an MCP server, list its tools and call each of them.
 *
 *     mcp_client URL
 *
 * The arguments of a call are made up from the tool's schema. The server may ask for input;
 * this program accepts every form with its default values. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chela.h>

extern char **environ;

/* Answers elicitation/create, sampling/createMessage and roots/list. */
static char *answer(const char *method, const char *params, void *user) {
    (void)user;
    fprintf(stderr, "the server asks: %s %s\n", method, params);
    if (strcmp(method, "elicitation/create") == 0)
        return strdup("{\"action\":\"accept\",\"content\":{}}"); /* defaults are filled in */
    if (strcmp(method, "sampling/createMessage") == 0)
        return strdup("{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"hello\"},"
                      "\"model\":\"example\",\"stopReason\":\"endTurn\"}");
    return strdup("{\"roots\":[]}");
}

/* Opens the log-in page in a browser. $BROWSER may be any command. */
static void open_url(const char *url, void *user) {
    const char *browser = getenv("BROWSER");
    pid_t pid;
    const char *argv[] = {"sh", "-c", "exec ${BROWSER:-xdg-open} \"$0\" >/dev/null", url, NULL};

    (void)user;
    fprintf(stderr, "log in at %s\n", url);
    if (browser || getenv("DISPLAY"))
        posix_spawnp(&pid, "sh", NULL, NULL, (char *const *)argv, environ);
}

static char *get(const char *json, const char *fmt, size_t i, const char *name) {
    char pointer[512];

    snprintf(pointer, sizeof(pointer), fmt, i, name);
    return chela_json_get(json, strlen(json), pointer, NULL);
}

/* A value of the right type. */
static const char *value_of(const char *type) {
    if (type && (strcmp(type, "number") == 0 || strcmp(type, "integer") == 0))
        return "5";
    if (type && strcmp(type, "boolean") == 0)
        return "true";
    if (type && strcmp(type, "object") == 0)
        return "{}";
    if (type && strcmp(type, "array") == 0)
        return "[]";
    return "\"text\"";
}

/* {"name": TOOL, "arguments": {...}} with all required arguments of tool i. An argument named
 * schema becomes the schema of the first tool. */
static char *make_call(const char *state, size_t i, const char *tool) {
    char *text = NULL, *name;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    fprintf(out, "{\"name\":\"%s\",\"arguments\":{", tool);
    for (size_t k = 0;; k++) {
        char pointer[64];
        snprintf(pointer, sizeof(pointer), "/tools/%zu/schema/required/%zu", i, k);
        if (!(name = chela_json_get(state, strlen(state), pointer, NULL)))
            break;
        char *type = get(state, "/tools/%zu/schema/properties/%s/type", i, name);
        char *first = get(state, "/tools/%zu/schema%s", 0, "");
        fprintf(out, "%s\"%s\":%s", k ? "," : "", name,
                strcmp(name, "schema") == 0 ? first : value_of(type));
        chela_free(first);
        chela_free(type);
        chela_free(name);
    }
    fputs("}}", out);
    fclose(out);
    return text;
}

static void call_tool(chela_mcp *mcp, const char *params) {
    struct chela_error err = {0};
    char *result = chela_mcp_request(mcp, "tools/call", params, &err);

    printf("%s: %s\n", params, result ? result : err.message);
    chela_free(result);
}

/* Make the calls that a test suite wants, {"toolCalls": [...]}. Returns their number. */
static size_t make_wanted_calls(chela_mcp *mcp, const char *context) {
    size_t n = 0;

    for (char *params; context && (params = get(context, "/toolCalls/%zu%s", n, "")); n++) {
        call_tool(mcp, params);
        chela_free(params);
    }
    return n;
}

/* Connect, list the tools, and call those with a valid definition. */
static int call_tools(chela_mcp *mcp, struct chela_error *err) {
    if (chela_mcp_refresh(mcp, 1, err) < 0)
        return 1;
    if (make_wanted_calls(mcp, getenv("MCP_CONFORMANCE_CONTEXT")))
        return 0;
    char *state = chela_mcp_state_json(mcp), *name;
    for (size_t i = 0; (name = get(state, "/tools/%zu/name%s", i, "")); i++) {
        char *params = make_call(state, i, name);
        call_tool(mcp, params);
        free(params);
        chela_free(name);
    }
    chela_free(state);
    return 0;
}

int main(int argc, char **argv) {
    chela_runtime *rt;
    chela_mcp *mcp;
    struct chela_error err = {0};

    if (argc != 2) {
        fprintf(stderr, "usage: mcp_client URL\n");
        return 2;
    }
    if (chela_runtime_new(NULL, &rt, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    const char *context = getenv("MCP_CONFORMANCE_CONTEXT");
    context = context ? context : "{}";
    char *id = chela_json_get(context, strlen(context), "/client_id", NULL);
    char *secret = chela_json_get(context, strlen(context), "/client_secret", NULL);
    struct chela_mcp_opts opts = CHELA_MCP_OPTS(
        .name = "example", .url = argv[1], .input = answer, .client_id = id,
        .client_secret = secret, .client_metadata_url = getenv("CLIENT_METADATA_URL"),
        .open_url = open_url);
    int failed = chela_mcp_new(rt, &opts, &mcp, &err) < 0 || call_tools(mcp, &err);
    chela_free(id);
    chela_free(secret);
    if (failed)
        fprintf(stderr, "%s\n", err.message);
    chela_runtime_close(rt);
    return failed;
}
