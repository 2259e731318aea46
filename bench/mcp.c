/* mcp.c -- what an MCP server costs: a call over stdio, servers that are not used, many tools.
 *
 *   mcp [CALLS]
 *
 * Prints the CPU time of this process for a call (default 5,000 calls) beside that of the same
 * bytes over a bare pipe, the time to make 50 clients whose tools are known and to offer them to
 * an agent, and the memory of a server with 1,000 tools; and what was aimed at. The server is
 * this program itself. Uses the public API as any program would. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chela.h>

#define SERVERS 50
#define TOOLS 1000

static double cpu_us(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void check(int rc, const struct chela_error *err) {
    if (rc == 0)
        return;
    fprintf(stderr, "mcp: %s\n", err->message);
    exit(1);
}

/* --- the server: answers each line */

static void list_tools(const char *id, int tools) {
    printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":\"complete\",\"ttlMs\":0,"
           "\"cacheScope\":\"private\",\"tools\":[", id);
    for (int i = 0; i < tools; i++)
        printf("%s{\"name\":\"tool_%d\",\"description\":\"Does thing number %d, for the bench.\","
               "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\""
               ",\"description\":\"The text that the tool works on.\"},\"count\":{\"type\":"
               "\"integer\",\"minimum\":1}},\"required\":[\"text\"]}}", i ? "," : "", i, i);
    puts("]}}");
}

static int serve(int tools) {
    char *line = NULL;
    size_t size = 0;

    while (getline(&line, &size, stdin) > 0) {
        char *id = chela_json_get(line, strlen(line), "/id", NULL);
        if (strstr(line, "\"server/discover\""))
            printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":\"complete\","
                   "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},"
                   "\"ttlMs\":0,\"cacheScope\":\"private\"}}\n", id);
        else if (strstr(line, "\"tools/list\""))
            list_tools(id, tools);
        else if (id)
            printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":\"complete\","
                   "\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}\n", id);
        fflush(stdout);
        chela_free(id);
    }
    free(line);
    return 0;
}

static chela_mcp *add_server(chela_runtime *rt, const char *program, const char *dir, int i,
                             const char *tools) {
    char name[16];
    const char *command[] = {program, "serve", tools, NULL};
    struct chela_sandbox_opts box = CHELA_SANDBOX_OPTS(.mode = CHELA_SANDBOX_OFF);
    struct chela_error err = {0};
    chela_mcp *mcp;

    snprintf(name, sizeof(name), "s%d", i);
    struct chela_mcp_opts opts = CHELA_MCP_OPTS(.name = name, .command = command,
                                                .state_dir = dir, .sandbox = &box);
    check(chela_mcp_new(rt, &opts, &mcp, &err), &err);
    return mcp;
}

/* --- a call, and the bare pipe */

static const char params[] = "{\"name\":\"tool_0\",\"arguments\":{\"text\":\"hello\"}}";

static double measure_calls(const char *program, const char *dir, int calls) {
    chela_runtime *rt;
    struct chela_error err = {0};

    check(chela_runtime_new(NULL, &rt, &err), &err);
    chela_mcp *mcp = add_server(rt, program, dir, 0, "3");
    check(chela_mcp_refresh(mcp, 1, &err), &err);
    double before = cpu_us();
    for (int i = 0; i < calls; i++) {
        char *result = chela_mcp_request(mcp, "tools/call", params, &err);
        check(result ? 0 : err.code, &err);
        chela_free(result);
    }
    double cost = (cpu_us() - before) / calls;
    chela_runtime_close(rt);
    return cost;
}

static double measure_pipe(const char *program, int calls) {
    int in[2], out[2];
    char line[4096];
    static const char request[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"tool_0\","
        "\"arguments\":{\"text\":\"hello\"},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
        "\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"chela\"},"
        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}\n";

    if (pipe(in) < 0 || pipe(out) < 0)
        exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        execl(program, program, "serve", "3", (char *)NULL);
        _exit(1);
    }
    close(in[0]);
    close(out[1]);
    double before = cpu_us();
    for (int i = 0; i < calls; i++)
        if (write(in[1], request, sizeof(request) - 1) < 0 || read(out[0], line, sizeof(line)) <= 0)
            exit(1);
    double cost = (cpu_us() - before) / calls;
    close(in[1]);
    close(out[0]);
    waitpid(pid, NULL, 0);
    return cost;
}

/* --- servers that are not used */

/* CPU of a whole run with that many known servers, none of which is used, in ms. */
static double measure_run(const char *program, const char *dir, int servers) {
    chela_runtime *rt;
    chela_agent *agent;
    chela_session *session;
    struct chela_error err = {0};
    struct chela_run_opts run = CHELA_RUN_OPTS(.on_event = NULL);
    char model[160];

    snprintf(model, sizeof(model), "scripted/%s/rules.yaml", dir);
    double before = cpu_us();
    check(chela_runtime_new(NULL, &rt, &err), &err);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.id = "bench", .model = model);
    check(chela_agent_new(rt, &opts, &agent, &err), &err);
    for (int i = 0; i < servers; i++)
        check(chela_agent_mcp(agent, add_server(rt, program, dir, i, "5"), &err), &err);
    check(chela_session_new(agent, NULL, &session, &err), &err);
    check(chela_run_start(session, "hello", 5, &run, NULL, &err), &err);
    check(chela_runtime_run(rt), &err);
    double cost = (cpu_us() - before) / 1000;
    chela_session_close(session);
    chela_runtime_close(rt);
    return cost;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* What the servers add to a run: the median of several. */
static double measure_unused(const char *program, const char *dir) {
    chela_runtime *rt;
    struct chela_error err = {0};
    double added[21];
    char rules[128];

    check(chela_runtime_new(NULL, &rt, &err), &err);
    for (int i = 0; i < SERVERS; i++) /* their tools become known */
        check(chela_mcp_refresh(add_server(rt, program, dir, i, "5"), 1, &err), &err);
    chela_runtime_close(rt);
    snprintf(rules, sizeof(rules), "%s/rules.yaml", dir);
    FILE *f = fopen(rules, "w");
    fputs("rules: [{ say: hello }]\n", f);
    fclose(f);
    for (int i = 0; i < 21; i++)
        added[i] = measure_run(program, dir, SERVERS) - measure_run(program, dir, 0);
    qsort(added, 21, sizeof(*added), by_size);
    return added[10];
}

/* --- many tools */

static double measure_tools(const char *program, const char *dir) {
    chela_runtime *rt;
    struct chela_error err = {0};
    char count[16];

    snprintf(count, sizeof(count), "%d", TOOLS);
    check(chela_runtime_new(NULL, &rt, &err), &err);
    chela_mcp *mcp = add_server(rt, program, dir, 99, count);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    check(chela_mcp_refresh(mcp, 1, &err), &err);
    size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    chela_runtime_close(rt);
    return (double)(after - before) / 1048576;
}

int main(int argc, char **argv) {
    char dir[] = "/tmp/chela-bench-XXXXXX", program[4096], command[128];

    if (argc > 2 && strcmp(argv[1], "serve") == 0)
        return serve(atoi(argv[2]));
    int calls = argc > 1 ? atoi(argv[1]) : 5000;
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (n < 0 || !mkdtemp(dir))
        return 1;
    program[n] = '\0';
    double call = measure_calls(program, dir, calls), bare = measure_pipe(program, calls);
    printf("a call over stdio: %.1f us CPU, bare pipe %.1f us, overhead %.1f us (aim: 100)\n", call,
           bare, call - bare);
    printf("%d servers that are not used add %.2f ms CPU to a run (aim: 5)\n", SERVERS,
           measure_unused(program, dir));
    printf("a server with %d tools: %.2f MB (aim: 2)\n", TOOLS, measure_tools(program, dir));
    snprintf(command, sizeof(command), "rm -r %s", dir);
    return system(command) != 0;
}
