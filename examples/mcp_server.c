/* mcp_server.c -- a server of the Model Context Protocol that uses every feature.
 *
 *     mcp_server [--listen ADDRESS]
 *
 * Serves http://ADDRESS/mcp; the default is 127.0.0.1:8080. The names and texts are those that
 * the protocol's conformance suite asks for, so the suite can be run against this program:
 *
 *     conformance server --url http://127.0.0.1:8080/mcp --requirements 2026-07-28 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <chela.h>

/* A red pixel, and one sample of silence. */
static const unsigned char png[] = {
    0x89, 'P',  'N',  'G',  '\r', '\n', 0x1a, '\n', 0,    0,    0,    13,   'I',  'H',
    'D',  'R',  0,    0,    0,    1,    0,    0,    0,    1,    8,    2,    0,    0,
    0,    0x90, 0x77, 0x53, 0xde, 0,    0,    0,    12,   'I',  'D',  'A',  'T',  8,
    0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0,    0,    3,    1,    1,    0,    0x18, 0xdd, 0x8d,
    0xb0, 0,    0,    0,    0,    'I',  'E',  'N',  'D',  0xae, 'B',  0x60, 0x82};
static const unsigned char wav[] = {
    'R', 'I', 'F', 'F', 38, 0, 0, 0, 'W', 'A', 'V', 'E', 'f', 'm', 't', ' ', 16, 0, 0, 0, 1, 0, 1,
    0, 0x40, 0x1f, 0, 0, 0x80, 0x3e, 0, 0, 2, 0, 16, 0, 'd', 'a', 't', 'a', 2, 0, 0, 0, 0, 0};

static chela_mcp_server *server;

static void pause_ms(long ms) {
    struct timespec t = {.tv_nsec = ms * 1000000};
    nanosleep(&t, NULL);
}

static void text(chela_mcp_call *call, const char *s) {
    chela_mcp_result_text(call, s, strlen(s));
}

/* --- results ----------------------------------------------------------------------- */

static int simple_text(chela_mcp_call *call, void *user) {
    (void)user;
    text(call, "This is a simple text response for testing.");
    return CHELA_OK;
}

static int image_content(chela_mcp_call *call, void *user) {
    (void)user;
    chela_mcp_result_media(call, "image/png", png, sizeof(png));
    return CHELA_OK;
}

static int audio_content(chela_mcp_call *call, void *user) {
    (void)user;
    chela_mcp_result_media(call, "audio/wav", wav, sizeof(wav));
    return CHELA_OK;
}

static int embedded_resource(chela_mcp_call *call, void *user) {
    static const char content[] = "This is an embedded resource content.";
    (void)user;
    chela_mcp_result_resource(call, "test://embedded-resource", "text/plain", content,
                              strlen(content));
    return CHELA_OK;
}

static int mixed_content(chela_mcp_call *call, void *user) {
    static const char json[] = "{\"test\":\"data\",\"value\":123}";
    (void)user;
    text(call, "Multiple content types test:");
    chela_mcp_result_media(call, "image/png", png, sizeof(png));
    chela_mcp_result_resource(call, "test://mixed-content-resource", "application/json", json,
                              strlen(json));
    return CHELA_OK;
}

static int failing(chela_mcp_call *call, void *user) {
    (void)user;
    return chela_mcp_result_error(call, "This tool intentionally returns an error for testing");
}

/* The arguments were checked against the schema before this function is called. */
static int greet(chela_mcp_call *call, void *user) {
    (void)user;
    chela_mcp_result_printf(call, "arguments: %s", chela_mcp_call_arguments(call));
    return CHELA_OK;
}

/* --- messages while a tool works ------------------------------------------------------ */

static int with_logging(chela_mcp_call *call, void *user) {
    (void)user;
    chela_mcp_call_log(call, CHELA_MCP_INFO, "Tool execution started");
    pause_ms(50);
    chela_mcp_call_log(call, CHELA_MCP_INFO, "Tool processing data");
    pause_ms(50);
    chela_mcp_call_log(call, CHELA_MCP_INFO, "Tool execution completed");
    text(call, "The tool has logged three lines.");
    return CHELA_OK;
}

static int with_progress(chela_mcp_call *call, void *user) {
    (void)user;
    for (int done = 0; done <= 100; done += 50) {
        chela_mcp_call_progress(call, done, 100, "working");
        pause_ms(50);
    }
    text(call, "The tool has reported its progress.");
    return CHELA_OK;
}

/* A call that takes long does not need to hold the connection. */
static int reconnection(chela_mcp_call *call, void *user) {
    (void)user;
    chela_mcp_call_hang_up(call, 200);
    pause_ms(300);
    text(call, "The result arrived on the second connection.");
    return CHELA_OK;
}

/* --- questions to the client ----------------------------------------------------------- */

#define FORM(message, properties, required)                                             \
    "{\"message\":\"" message "\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" \
    properties "},\"required\":[" required "]}}"

static char *member(const char *json, const char *pointer) {
    return chela_json_get(json, strlen(json), pointer, NULL);
}

/* Ask for one text, and print it with FORMAT. */
static int ask_one(chela_mcp_call *call, const char *key, const char *method, const char *params,
                   const char *pointer, const char *before) {
    const char *answer = chela_mcp_call_ask(call, key, method, params);
    if (!answer)
        return CHELA_OK; /* called again when the client has answered */
    char *value = member(answer, pointer);
    chela_mcp_result_printf(call, "%s%s", before, value ? value : answer);
    chela_free(value);
    return CHELA_OK;
}

static const char name_form[] =
    FORM("What is your name?", "\"name\":{\"type\":\"string\"}", "\"name\"");
static const char confirm_form[] =
    FORM("Please confirm", "\"ok\":{\"type\":\"boolean\"}", "\"ok\"");
static const char capital[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"What is the "
    "capital of France?\"}}],\"maxTokens\":100}";

static int ask_name(chela_mcp_call *call, void *user) {
    (void)user;
    return ask_one(call, "user_name", "elicitation/create", name_form, "/content/name", "Hello, ");
}

static int ask_capital(chela_mcp_call *call, void *user) {
    (void)user;
    return ask_one(call, "capital_question", "sampling/createMessage", capital, "/content/text",
                   "The model says: ");
}

static int ask_roots(chela_mcp_call *call, void *user) {
    (void)user;
    return ask_one(call, "client_roots", "roots/list", "{}", "/roots", "Roots: ");
}

/* The question contains an argument of the call, so it is built for each call. */
static char *quoted(const char *before, const char *value, const char *after) {
    char *json = NULL;
    size_t size;
    FILE *out = open_memstream(&json, &size);
    fprintf(out, "%s\"", before);
    for (const char *p = value; *p; p++) {
        if (*p == '"' || *p == '\\' || (unsigned char)*p < 0x20)
            fprintf(out, "\\u%04x", (unsigned char)*p);
        else
            fputc(*p, out);
    }
    fprintf(out, "\"%s", after);
    fclose(out);
    return json;
}

static int sampling(chela_mcp_call *call, void *user) {
    char *params = quoted("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
                          "\"text\":",
                          chela_mcp_call_argument(call, "prompt"), "}}],\"maxTokens\":100}");
    (void)user;
    int rc = ask_one(call, "sample", "sampling/createMessage", params, "/content/text",
                     "LLM response: ");
    free(params);
    return rc;
}

static int elicitation(chela_mcp_call *call, void *user) {
    char *params = quoted(
        "{\"message\":", chela_mcp_call_argument(call, "message"),
        ",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"username\":{\"type\":"
        "\"string\","
        "\"description\":\"User's response\"},\"email\":{\"type\":\"string\",\"description\":"
        "\"User's "
        "email address\"}},\"required\":[\"username\",\"email\"]}}");
    (void)user;
    int rc = ask_one(call, "user", "elicitation/create", params, "", "User response: ");
    free(params);
    return rc;
}

static int elicitation_defaults(chela_mcp_call *call, void *user) {
    (void)user;
    return ask_one(
        call, "profile", "elicitation/create",
        FORM("Please check your profile",
             "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
             "\"age\":{\"type\":\"integer\",\"default\":30},"
             "\"score\":{\"type\":\"number\",\"default\":95.5},"
             "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"
             "\"default\":\"active\"},"
             "\"verified\":{\"type\":\"boolean\",\"default\":true}", ""),
        "", "Elicitation completed: ");
}

static int elicitation_enums(chela_mcp_call *call, void *user) {
    (void)user;
    return ask_one(
        call, "choices", "elicitation/create",
        FORM("Please choose",
             "\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\","
             "\"option3\"]},"
             "\"titledSingle\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"value1\","
             "\"title\":\"First "
             "Option\"},{\"const\":\"value2\",\"title\":\"Second Option\"},{\"const\":\"value3\","
             "\"title\":\"Third Option\"}]},"
             "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
             "\"enumNames\":["
             "\"Option One\",\"Option Two\",\"Option Three\"]},"
             "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":["
             "\"option1\","
             "\"option2\",\"option3\"]}},"
             "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"value1\","
             "\"title\":"
             "\"First Choice\"},{\"const\":\"value2\",\"title\":\"Second Choice\"},{\"const\":"
             "\"value3\","
             "\"title\":\"Third Choice\"}]}}", ""),
        "", "Elicitation completed: ");
}

/* chela_mcp_call_keep: on its second run the function knows the result of the first. */
static int with_state(chela_mcp_call *call, void *user) {
    const char *step = chela_mcp_call_kept(call, "step");
    (void)user;
    chela_mcp_call_keep(call, "step", "\"asked\"");
    const char *answer = chela_mcp_call_ask(call, "confirm", "elicitation/create", confirm_form);
    if (answer)
        text(call, step ? "state-ok" : "there was no state");
    return CHELA_OK;
}

static int several_questions(chela_mcp_call *call, void *user) {
    (void)user;
    chela_mcp_call_keep(call, "step", "\"asked\"");
    const char *name = chela_mcp_call_ask(call, "user_name", "elicitation/create", name_form);
    const char *greeting = chela_mcp_call_ask(
        call, "greeting", "sampling/createMessage",
        "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Generate a "
        "greeting\"}}],\"maxTokens\":50}");
    const char *roots = chela_mcp_call_ask(call, "client_roots", "roots/list", "{}");
    if (name && greeting && roots)
        chela_mcp_result_printf(call, "%s %s %s", name, greeting, roots);
    return CHELA_OK;
}

static int several_rounds(chela_mcp_call *call, void *user) {
    (void)user;
    chela_mcp_call_keep(call, "round", "1");
    const char *name = chela_mcp_call_ask(
        call, "step1", "elicitation/create",
        FORM("Step 1: What is your name?", "\"name\":{\"type\":\"string\"}", "\"name\""));
    if (!name)
        return CHELA_OK;
    chela_mcp_call_keep(call, "round", "2");
    const char *color = chela_mcp_call_ask(
        call, "step2", "elicitation/create",
        FORM("Step 2: What is your favorite color?", "\"color\":{\"type\":\"string\"}",
             "\"color\""));
    if (color)
        chela_mcp_result_printf(call, "%s %s", name, color);
    return CHELA_OK;
}

/* Ask only questions that the client can answer. */
static int by_capability(chela_mcp_call *call, void *user) {
    (void)user;
    if (chela_mcp_call_can_ask(call, "elicitation/create"))
        chela_mcp_call_ask(call, "user_name", "elicitation/create", name_form);
    if (chela_mcp_call_can_ask(call, "sampling/createMessage"))
        chela_mcp_call_ask(call, "capital_question", "sampling/createMessage", capital);
    text(call, "There is nothing more to ask.");
    return CHELA_OK;
}

static int logs_and_asks(chela_mcp_call *call, void *user) {
    chela_mcp_call_log(call, CHELA_MCP_INFO, "about to ask");
    return ask_name(call, user);
}

/* --- lists that change ------------------------------------------------------------------ */

static int simple_prompt(chela_mcp_call *call, void *user);

static int tool_change(chela_mcp_call *call, void *user) {
    struct chela_mcp_tool_opts opts = CHELA_MCP_TOOL_OPTS(
        .name = "test_added_tool", .description = "Comes and goes.", .fn = simple_text);
    (void)user;
    if (chela_mcp_server_remove_tool(server, opts.name) < 0)
        chela_mcp_server_tool(server, &opts, NULL);
    text(call, "The list of tools has changed.");
    return CHELA_OK;
}

static int prompt_change(chela_mcp_call *call, void *user) {
    struct chela_mcp_prompt_opts opts = CHELA_MCP_PROMPT_OPTS(
        .name = "test_added_prompt", .description = "Comes and goes.", .fn = simple_prompt);
    (void)user;
    if (chela_mcp_server_remove_prompt(server, opts.name) < 0)
        chela_mcp_server_prompt(server, &opts, NULL);
    text(call, "The list of prompts has changed.");
    return CHELA_OK;
}

/* --- resources --------------------------------------------------------------------------- */

static int static_text(chela_mcp_call *call, void *user) {
    (void)user;
    text(call, "This is the content of the static text resource.");
    return CHELA_OK;
}

static int static_binary(chela_mcp_call *call, void *user) {
    (void)user;
    chela_mcp_result_media(call, NULL, png, sizeof(png));
    return CHELA_OK;
}

static int template_data(chela_mcp_call *call, void *user) {
    const char *id = chela_mcp_call_argument(call, "id");
    (void)user;
    chela_mcp_result_printf(call, "{\"id\":\"%s\",\"templateTest\":true,\"data\":\"Data for "
                                  "ID: %s\"}",
                            id, id);
    return CHELA_OK;
}

/* --- prompts ----------------------------------------------------------------------------- */

static int simple_prompt(chela_mcp_call *call, void *user) {
    (void)user;
    text(call, "This is a simple prompt for testing.");
    return CHELA_OK;
}

static int prompt_with_arguments(chela_mcp_call *call, void *user) {
    (void)user;
    chela_mcp_result_printf(call, "Prompt with arguments: arg1='%s', arg2='%s'",
                            chela_mcp_call_argument(call, "arg1"),
                            chela_mcp_call_argument(call, "arg2"));
    return CHELA_OK;
}

static int prompt_with_resource(chela_mcp_call *call, void *user) {
    static const char content[] = "Embedded resource content for testing.";
    (void)user;
    chela_mcp_result_resource(call, chela_mcp_call_argument(call, "resourceUri"), "text/plain",
                              content, strlen(content));
    text(call, "Please process the embedded resource above.");
    return CHELA_OK;
}

static int prompt_with_image(chela_mcp_call *call, void *user) {
    (void)user;
    chela_mcp_result_media(call, "image/png", png, sizeof(png));
    text(call, "Please analyze the image above.");
    return CHELA_OK;
}

static int prompt_that_asks(chela_mcp_call *call, void *user) {
    (void)user;
    return ask_one(call, "user_context", "elicitation/create",
                   FORM("What context should the prompt use?", "\"context\":{\"type\":\"string\"}",
                        "\"context\""),
                   "/content/context", "Use this context: ");
}

/* Suggest the words that begin with the text so far. */
static int complete_word(chela_mcp_call *call, void *user) {
    static const char *const words[] = {"paris", "park", "party", "hello", "world"};
    const char *begun = chela_mcp_call_argument(call, "value");
    (void)user;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strncmp(words[i], begun, strlen(begun)) == 0)
            text(call, words[i]);
    return CHELA_OK;
}

/* --- what the server offers ---------------------------------------------------------------- */

#define STRING(name) "{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"string\"}}," \
                     "\"required\":[\"" name "\"]}"

static const char modern_schema[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\",\"$defs\":{"
    "\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{\"street\":{"
    "\"type\":"
    "\"string\"},\"city\":{\"type\":\"string\"}}}},\"properties\":{\"name\":{\"type\":\"string\"},"
    "\"address\":{\"$ref\":\"#/$defs/address\"},\"contactMethod\":{\"type\":\"string\",\"enum\":["
    "\"phone\",\"email\"]},\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
    "\"allOf\":[{"
    "\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],\"if\":{\"properties\":{"
    "\"contactMethod\":{\"const\":\"phone\"}},\"required\":[\"contactMethod\"]},\"then\":{"
    "\"required\":["
    "\"phone\"]},\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}";

/* An argument that HTTP proxies can see, in the header Mcp-Param-Region. */
static const char header_schema[] =
    "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\",\"x-mcp-header\":"
    "\"Region\"}}}";

static const struct {
    const char *name, *description, *schema;
    chela_mcp_fn *fn;
    unsigned flags;
} tools[] = {
    {"test_simple_text", "Returns a text.", NULL, simple_text, 0},
    {"test_image_content", "Returns an image.", NULL, image_content, 0},
    {"test_audio_content", "Returns audio.", NULL, audio_content, 0},
    {"test_embedded_resource", "Returns a resource.", NULL, embedded_resource, 0},
    {"test_multiple_content_types", "Returns several kinds of content.", NULL, mixed_content, 0},
    {"test_error_handling", "Fails.", NULL, failing, 0},
    {"json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", modern_schema, greet, 0},
    {"test_header_argument", "Has an argument that is a header.", header_schema, greet, 0},
    {"test_tool_with_logging", "Logs while it works.", NULL, with_logging, 0},
    {"test_logging_tool", "Logs while it works.", NULL, with_logging, 0},
    {"test_tool_with_progress", "Reports progress.", NULL, with_progress, 0},
    {"test_reconnection", "Ends the connection before its result.", NULL, reconnection, 0},
    {"test_sampling", "Asks the client's model.", STRING("prompt"), sampling, 0},
    {"test_missing_capability", "Asks the client's model.", NULL, ask_capital, 0},
    {"test_elicitation", "Asks the client's user.", STRING("message"), elicitation, 0},
    {"test_elicitation_sep1034_defaults", "Asks with defaults.", NULL, elicitation_defaults, 0},
    {"test_elicitation_sep1330_enums", "Asks with choices.", NULL, elicitation_enums, 0},
    {"test_streaming_elicitation", "Logs and asks.", NULL, logs_and_asks, 0},
    {"test_input_required_result_elicitation", "Asks for a name.", NULL, ask_name, 0},
    {"test_input_required_result_sampling", "Asks the client's model.", NULL, ask_capital, 0},
    {"test_input_required_result_list_roots", "Asks for folders.", NULL, ask_roots, 0},
    {"test_input_required_result_request_state", "Keeps state.", NULL, with_state, 0},
    {"test_input_required_result_tampered_state", "Keeps state.", NULL, with_state, 0},
    {"test_input_required_result_multiple_inputs", "Asks thrice.", NULL, several_questions, 0},
    {"test_input_required_result_multi_round", "Asks twice.", NULL, several_rounds, 0},
    {"test_input_required_result_capabilities", "Asks what it can.", NULL, by_capability, 0},
    {"test_trigger_tool_change", "Changes the list of tools.", NULL, tool_change,
     CHELA_MCP_ON_LOOP},
    {"test_trigger_prompt_change", "Changes the list of prompts.", NULL, prompt_change,
     CHELA_MCP_ON_LOOP},
};

static const struct chela_mcp_resource_opts resources[] = {
    CHELA_MCP_RESOURCE_OPTS(.uri = "test://static-text", .name = "Static text",
                            .description = "A text.", .mime_type = "text/plain", .fn = static_text),
    CHELA_MCP_RESOURCE_OPTS(.uri = "test://static-binary", .name = "Static binary",
                            .description = "An image.", .mime_type = "image/png",
                            .fn = static_binary),
    CHELA_MCP_RESOURCE_OPTS(.uri = "test://watched-resource", .name = "Watched resource",
                            .description = "A text that clients may watch.",
                            .mime_type = "text/plain", .fn = static_text),
    CHELA_MCP_RESOURCE_OPTS(.uri = "test://template/{id}/data", .name = "Template",
                            .description = "Data by id.", .mime_type = "application/json",
                            .fn = template_data, .complete = complete_word),
};

static const struct chela_mcp_prompt_opts prompts[] = {
    CHELA_MCP_PROMPT_OPTS(.name = "test_simple_prompt", .description = "A prompt.",
                          .fn = simple_prompt),
    CHELA_MCP_PROMPT_OPTS(.name = "test_prompt_with_arguments", .description = "With arguments.",
                          .arguments = "[{\"name\":\"arg1\",\"description\":\"First test "
                                       "argument\","
                                       "\"required\":true},{\"name\":\"arg2\",\"description\":"
                                       "\"Second test argument\",\"required\":true}]",
                          .fn = prompt_with_arguments, .complete = complete_word),
    CHELA_MCP_PROMPT_OPTS(.name = "test_prompt_with_embedded_resource",
                          .description = "With a resource.",
                          .arguments = "[{\"name\":\"resourceUri\",\"description\":\"URI of the "
                                       "resource to embed\",\"required\":true}]",
                          .fn = prompt_with_resource),
    CHELA_MCP_PROMPT_OPTS(.name = "test_prompt_with_image", .description = "With an image.",
                          .fn = prompt_with_image),
    CHELA_MCP_PROMPT_OPTS(.name = "test_input_required_result_prompt",
                          .description = "Asks for its context.", .fn = prompt_that_asks),
};

static int offer(struct chela_error *err) {
    int rc = CHELA_OK;
    for (size_t i = 0; rc == 0 && i < sizeof(tools) / sizeof(tools[0]); i++) {
        struct chela_mcp_tool_opts opts = CHELA_MCP_TOOL_OPTS(
            .name = tools[i].name, .description = tools[i].description,
            .schema = tools[i].schema, .fn = tools[i].fn, .flags = tools[i].flags);
        rc = chela_mcp_server_tool(server, &opts, err);
    }
    for (size_t i = 0; rc == 0 && i < sizeof(resources) / sizeof(resources[0]); i++)
        rc = chela_mcp_server_resource(server, &resources[i], err);
    for (size_t i = 0; rc == 0 && i < sizeof(prompts) / sizeof(prompts[0]); i++)
        rc = chela_mcp_server_prompt(server, &prompts[i], err);
    return rc;
}

int main(int argc, char **argv) {
    struct chela_mcp_server_opts opts =
        CHELA_MCP_SERVER_OPTS(.name = "chela-example", .version = "1.0.0");
    const char *address = argc == 3 && strcmp(argv[1], "--listen") == 0 ? argv[2] : "127.0.0.1"
                                                                                    ":8080";
    struct chela_error err = {0};
    chela_runtime *rt;

    if (chela_runtime_new(NULL, &rt, &err) < 0 ||
        chela_mcp_server_new(rt, &opts, &server, &err) < 0 || offer(&err) < 0 ||
        chela_mcp_server_listen(server, address, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("http://%s/mcp\n", chela_mcp_server_address(server));
    fflush(stdout);
    chela_mcp_server_run(server);
    chela_runtime_close(rt);
    return 0;
}
