/* test_misuse.c -- every public function with NULL in place of its object, and from a thread
 * that may not call it.
 *
 * The functions are those that the library exports. docs/api.md, which is generated from the
 * headers, has their parameters and the rule for threads. A function that is added later is
 * tested as well: it must refuse, and a function of a new kind of object fails here until
 * `live` has one. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <chela.h>
#include <uv.h>

#define API "docs/api.md"
#define MOST 500
#define PARAMETERS 8
#define CASE_SECONDS 60
#define TOKEN "0123456789abcdef"

/* --- the functions ------------------------------------------------------------------------ */

/* A generic call: registers hold the arguments on all machines that chela runs on. */
typedef uintptr_t any_fn(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                         uintptr_t, uintptr_t);

enum kind { VALUE, POINTER, FUNCTION, OBJECT, ERROR };

struct function {
    char name[80];
    any_fn *fn;
    bool returns_int, returns_pointer;
    bool on_loop;       /* only the loop thread may call it */
    bool fails;         /* it has error codes */
    unsigned n;
    enum kind kinds[PARAMETERS];
    char types[PARAMETERS][40]; /* of objects: "agent" */
};

static struct function functions[MOST];
static size_t nfunctions;

static char undo_dir[256];

static int make_undo_dir(void) {
    const char *tmp = getenv("TMPDIR");
    snprintf(undo_dir, sizeof(undo_dir), "%s/chela-misuse-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(undo_dir) ? 0 : -1;
}

static int remove_undo_dir(void **state) {
    char command[sizeof(undo_dir) + 16];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", undo_dir);
    return system(command);
}

static const char *build_dir(void) {
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    assert_true(n > 0);
    path[n] = '\0';
    char *tests = strstr(path, "/tests/sweep/");
    assert_non_null(tests);
    *tests = '\0';
    return path;
}

static const char *const objects[] = {
    "runtime", "agent", "session", "run",    "gateway", "store", "config", "call", "mcp_call",
    "mcp",     "undo",  "follow",  "willing", "schema", "acp",   "tool_index", "mcp_server",
    "mcp_connection"};
#define OBJECTS (sizeof(objects) / sizeof(objects[0]))

static void read_parameter(struct function *f, const char *text) {
    unsigned i = f->n++;
    assert_true(i < PARAMETERS);
    if (strncmp(text, "const ", 6) == 0)
        text += 6;
    size_t n = strncmp(text, "chela_", 6) == 0 ? strcspn(text + 6, " *") : 0;
    bool is_fn = strstr(text, "(*") || (n > 3 && strncmp(text + 6 + n - 3, "_fn", 3) == 0);
    f->kinds[i] = strstr(text, "struct chela_error *") ? ERROR
                  : is_fn                             ? FUNCTION
                  : strchr(text, '*')                 ? POINTER
                                                      : VALUE;
    if (!n || is_fn || !strchr(text, '*') || strstr(text, "**"))
        return;
    f->kinds[i] = OBJECT;
    snprintf(f->types[i], sizeof(f->types[i]), "%.*s", (int)n, text + 6);
}

/* "char *chela_x(chela_agent *agent, int n);" */
static void read_declaration(char *text) {
    char *open = strchr(text, '('), *name = open;
    if (!open)
        return;
    while (name > text && (name[-1] == '_' || (name[-1] >= 'a' && name[-1] <= 'z') ||
                           (name[-1] >= '0' && name[-1] <= '9')))
        name--;
    if (strncmp(name, "chela_", 6) != 0 || strncmp(text, "typedef", 7) == 0)
        return;
    struct function *f = &functions[nfunctions++];
    assert_true(nfunctions < MOST);
    snprintf(f->name, sizeof(f->name), "%.*s", (int)(open - name), name);
    f->returns_int = strncmp(text, "int ", 4) == 0;
    f->returns_pointer = name[-1] == '*';
    char *p = open + 1, *end = strrchr(text, ')');
    unsigned depth = 0;
    for (char *q = p; q <= end; q++) {
        depth += *q == '(';
        if (!(depth == 0 && (*q == ',' || q == end))) {
            depth -= *q == ')';
            continue;
        }
        *q = '\0';
        p += strspn(p, " ");
        if (strcmp(p, "void") != 0 && strcmp(p, "...") != 0 && *p)
            read_parameter(f, p);
        p = q + 1;
    }
}

/* The blocks of declarations, each followed by a table of facts. */
static void read_reference(void) {
    FILE *in = fopen(API, "r");
    char line[4000], text[4000] = "";
    size_t first = 0;
    bool code = false;
    assert_non_null(in);
    while (fgets(line, sizeof(line), in)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "```", 3) == 0) {
            code = !code && strcmp(line, "```c") == 0;
            if (code)
                first = nfunctions;
            text[0] = '\0';
        } else if (code) {
            strncat(text, line, sizeof(text) - strlen(text) - 2);
            strcat(text, " ");
            if (strchr(line, ';')) {
                read_declaration(text);
                text[0] = '\0';
            }
        }
        for (size_t i = first; i < nfunctions; i++) {
            if (strcmp(line, "| Threads | the loop thread |") == 0)
                functions[i].on_loop = true;
            if (strncmp(line, "| Errors | ", 11) == 0)
                functions[i].fails = strncmp(line + 11, "none", 4) != 0;
        }
    }
    fclose(in);
}

static void *library;

static void *symbol(const char *name) {
    void *p = dlsym(library, name);
    if (!p)
        fail_msg("%s is not exported", name);
    return p;
}

static int open_library(void **state) {
    char path[4200];
    (void)state;
    if (make_undo_dir() < 0)
        return -1;
    snprintf(path, sizeof(path), "%s/libchela.so", build_dir());
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        print_error("%s\n", dlerror());
        return -1;
    }
    read_reference();
    for (size_t i = 0; i < nfunctions; i++)
        *(void **)&functions[i].fn = symbol(functions[i].name);
    return 0;
}

static void test_every_function_is_known(void **state) {
    char command[4300], name[128];
    unsigned n = 0;
    (void)state;
    snprintf(command, sizeof(command), "nm -D --defined-only '%s/libchela.so'", build_dir());
    FILE *f = popen(command, "r");
    assert_non_null(f);
    while (fscanf(f, "%*s %*s %127s", name) == 1) {
        size_t i = 0;
        name[strcspn(name, "@")] = '\0';
        if (strncmp(name, "chela_", 6) != 0)
            continue;
        while (i < nfunctions && strcmp(functions[i].name, name) != 0)
            i++;
        if (i == nfunctions)
            fail_msg("%s is not in " API, name);
        n++;
    }
    assert_int_equal(pclose(f), 0);
    assert_int_equal(n, nfunctions);
    for (size_t i = 0; i < nfunctions; i++)
        for (unsigned k = 0; k < functions[i].n; k++) {
            size_t o = 0;
            while (*functions[i].types[k] && strcmp(functions[i].types[k], objects[o]) != 0)
                if (++o == OBJECTS)
                    fail_msg("%s: chela_%s is not known here", functions[i].name,
                             functions[i].types[k]);
        }
}

/* --- a call ------------------------------------------------------------------------------- */

/* Shared with the process that plays: what it was doing, should it end. */
static struct outcome {
    char at[600];
    unsigned calls, problems;
    char text[20000];
} *told;

static void problem(const struct function *f, const char *what) {
    size_t n = strlen(told->text);
    told->problems++;
    snprintf(told->text + n, sizeof(told->text) - n, "%s: %s\n", f->name, what);
}

static _Alignas(64) char zeros[4096]; /* for pointers that must not be NULL */

static int nothing(void) {
    return 0;
}

#define ALL PARAMETERS /* no parameter is NULL instead of an object */

/* values: of OBJECTS by type; NULL: no object exists. without: the parameter that gets none. */
static uintptr_t make_call(const struct function *f, void *const *values, unsigned without,
                           struct chela_error *err) {
    uintptr_t a[PARAMETERS] = {0};
    for (unsigned i = 0; i < f->n; i++) {
        for (size_t o = 0; f->kinds[i] == OBJECT && values && o < OBJECTS; o++)
            if (i != without && strcmp(f->types[i], objects[o]) == 0)
                a[i] = (uintptr_t)values[o];
        if (f->kinds[i] == ERROR)
            a[i] = (uintptr_t)err;
        if (f->kinds[i] == POINTER && i != without)
            a[i] = (uintptr_t)zeros;
        if (f->kinds[i] == FUNCTION)
            a[i] = (uintptr_t)nothing;
    }
    told->calls++;
    return f->fn(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
}

static bool has(const struct function *f, enum kind kind) {
    for (unsigned i = 0; i < f->n; i++)
        if (f->kinds[i] == kind)
            return true;
    return false;
}

/* In another process, which may die. */
static void play(void (*fn)(void *), void *user) {
    int status;
    told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(told != MAP_FAILED);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGABRT};
        for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
            signal(deadly[i], SIG_DFL);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        alarm(CASE_SECONDS);
        fn(user);
        _exit(0);
    }
    while (waitpid(pid, &status, 0) < 0)
        ;
    if (WIFSIGNALED(status) || WEXITSTATUS(status) != 0) {
        told->problems++;
        print_error("%s: %s\n", told->at,
                    WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "the process ended");
    }
    if (*told->text)
        print_error("%s", told->text);
}

static unsigned leave(void) {
    unsigned n = told->problems;
    munmap(told, sizeof(*told));
    return n;
}

/* --- NULL --------------------------------------------------------------------------------- */

static void call_with_null(void *user) {
    const struct function *f = user;
    struct chela_error err = {0};
    snprintf(told->at, sizeof(told->at), "%s with NULL", f->name);
    int rc = (int)make_call(f, NULL, ALL, &err);
    if (has(f, ERROR) && f->returns_int && f->kinds[0] == OBJECT && rc >= 0)
        problem(f, "no error with NULL");
    if (has(f, ERROR) && f->returns_int && rc < 0 && err.code != rc)
        problem(f, "the error has no message");
}

static void test_null(void **state) {
    unsigned problems = 0, n = 0;
    (void)state;
    for (size_t i = 0; i < nfunctions; i++) {
        if (!has(&functions[i], OBJECT))
            continue;
        play(call_with_null, &functions[i]);
        n++;
        problems += leave();
    }
    assert_true(n > 200);
    assert_int_equal(problems, 0);
}

/* --- the wrong thread --------------------------------------------------------------------- */

#define F(name) (*(__typeof__(&name))symbol(#name))

static struct live {
    void *values[OBJECTS]; /* by type */
    char logged[400];      /* the last line of the log */
    const char *only;      /* functions of this type of object; NULL: of all but calls */
} live;

static void **object(const char *type) {
    size_t i = 0;
    while (strcmp(objects[i], type) != 0)
        i++;
    return &live.values[i];
}

static void on_log(enum chela_log_level level, const char *area, const char *line, void *user) {
    (void)level, (void)area, (void)user;
    snprintf(live.logged, sizeof(live.logged), "%s", line);
}

static bool names(const struct function *f, const char *text) {
    return strncmp(text, f->name, strlen(f->name)) == 0 && strstr(text, "the loop thread");
}

static void call_from_elsewhere(const struct function *f) {
    struct chela_error err = {0};
    snprintf(told->at, sizeof(told->at), "%s from another thread", f->name);
    live.logged[0] = '\0';
    uintptr_t rc = make_call(f, live.values, ALL, &err);
    if (!names(f, has(f, ERROR) ? err.message : live.logged))
        problem(f, "is not refused in another thread");
    else if (f->returns_pointer && rc)
        problem(f, "refuses, and returns a pointer");
    else if (f->returns_int && f->fails && (int)rc != CHELA_ESTATE)
        problem(f, "refuses, and does not return CHELA_ESTATE");
}

static bool is_of_call(const struct function *f) {
    return strcmp(f->types[0], "call") == 0 || strcmp(f->types[0], "mcp_call") == 0;
}

/* A second object is missing. */
static void try_without(void) {
    for (size_t i = 0; i < nfunctions; i++)
        for (unsigned k = 1; k < functions[i].n; k++) {
            const struct function *f = &functions[i];
            struct chela_error err = {0};
            if (f->kinds[k] != OBJECT || f->kinds[0] != OBJECT)
                continue;
            snprintf(told->at, sizeof(told->at), "%.200s with NULL as parameter %u", f->name, k);
            uintptr_t rc = make_call(f, live.values, k, &err);
            told->calls--;
            if (has(f, ERROR) && f->returns_int && (int)rc >= 0)
                problem(f, "no error with NULL");
        }
}

static void make_objects(uv_loop_t *host);
static int in_tool(chela_call *call, void *user);

/* One pointer after another is missing: it means nothing, or is refused. */
static const struct function *lacking;
static unsigned lacks;

static void play_without_pointer(void *user) {
    const struct function *f = lacking;
    struct chela_error err = {0};
    (void)user;
    make_objects(NULL);
    snprintf(told->at, sizeof(told->at), "%.200s with NULL as parameter %u", f->name, lacks + 1);
    make_call(f, live.values, lacks, &err);
    _exit(0);
}

static void test_null_pointers(void **state) {
    unsigned problems = 0;
    (void)state;
    for (size_t i = 0; i < nfunctions; i++)
        for (unsigned k = 0; k < functions[i].n; k++) {
            if (functions[i].kinds[k] != POINTER || !functions[i].fails)
                continue;
            lacking = &functions[i];
            lacks = k;
            play(play_without_pointer, NULL);
            problems += leave();
        }
    assert_int_equal(problems, 0);
}

/* A program that looks at the error once, at its end, sees the first one. */
static void play_chain(void *user) {
    struct chela_error err = {0};
    chela_runtime *rt;
    chela_agent *agent;
    (void)user;
    F(chela_runtime_new)(NULL, &rt, &err);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "nobody/none");
    F(chela_agent_new)(rt, &opts, &agent, &err);
    F(chela_agent_tool)(agent, "t", "T.", NULL, in_tool, NULL);
    told->problems += F(chela_ask)(agent, "hello", &err) != NULL;
    if (!strstr(err.message, "unknown provider 'nobody'"))
        snprintf(told->text, sizeof(told->text), "chela_ask without an agent: %s", err.message);
    F(chela_runtime_close)(rt);
    struct chela_runtime_opts wrong = {.size = 1};
    F(chela_runtime_new)(&wrong, &rt, &err);
    snprintf(told->at, sizeof(told->at), "%s", err.message);
    F(chela_agent_new)(rt, &opts, &agent, &err);
    F(chela_ask)(agent, "hello", &err);
    if (strcmp(told->at, err.message) != 0)
        snprintf(told->text, sizeof(told->text), "chela_ask without a runtime: %s", err.message);
    told->problems += *told->text != '\0';
}

static void test_first_error_stays(void **state) {
    (void)state;
    play(play_chain, NULL);
    assert_int_equal(leave(), 0);
}

static void *elsewhere(void *user) {
    (void)user;
    for (size_t i = 0; i < nfunctions; i++) {
        const struct function *f = &functions[i];
        if (!f->on_loop || !has(f, OBJECT))
            continue;
        if (live.only ? strcmp(f->types[0], live.only) == 0 : !is_of_call(f))
            call_from_elsewhere(f);
    }
    return NULL;
}

static void try_elsewhere(const char *only) {
    pthread_t thread;
    live.only = only;
    if (pthread_create(&thread, NULL, elsewhere, NULL) != 0 || pthread_join(thread, NULL) != 0)
        abort();
}

static int in_tool(chela_call *call, void *user) {
    (void)user;
    *object("call") = call;
    try_elsewhere("call");
    return 0;
}

static int in_mcp_tool(chela_mcp_call *call, void *user) {
    (void)user;
    *object("mcp_call") = call;
    try_elsewhere("mcp_call");
    return 0;
}

static void acp_write(const char *text, size_t n, void *user) {
    (void)text, (void)n, (void)user;
}

static int acp_enter(const char *cwd, struct chela_acp_place *out, struct chela_error *err,
                     void *user) {
    (void)cwd, (void)out, (void)err, (void)user;
    return CHELA_ENOENT;
}

static void acp_leave(void *handle, void *user) {
    (void)handle, (void)user;
}

static int acp_trust(void *handle, struct chela_error *err, void *user) {
    (void)handle, (void)err, (void)user;
    return CHELA_ENOENT;
}

static int acp_agent(void *handle, const struct chela_acp_choice *choice, chela_agent **out,
                     void **hold, struct chela_error *err, void *user) {
    (void)handle, (void)choice, (void)out, (void)hold, (void)err, (void)user;
    return CHELA_ENOENT;
}

#define MAKE(type, ...)                                                        \
    do {                                                                       \
        struct chela_error err = {0};                                          \
        void **out = object(type);                                             \
        if ((__VA_ARGS__) < 0) {                                               \
            snprintf(told->at, sizeof(told->at), "%s: %s", type, err.message); \
            _exit(1);                                                          \
        }                                                                      \
    } while (0)

/* One object of each kind that has functions for the loop thread. */
static void make_objects(uv_loop_t *host) {
    struct chela_runtime_opts opts =
        CHELA_RUNTIME_OPTS(.log = on_log, .module_path = build_dir(), .uv_loop = host);
    MAKE("runtime", F(chela_runtime_new)(&opts, (void *)out, &err));
    chela_runtime *rt = *object("runtime");
    MAKE("store", F(chela_store_open)("memory:", NULL, (void *)out, &err));
    MAKE("store", F(chela_runtime_store)(rt, *out, CHELA_DURABILITY_TURN, &err));
    MAKE("config", F(chela_config_open)("/dev/null", NULL, (void *)out, &err));
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "note", .fn = in_tool, .flags = CHELA_TOOL_ON_LOOP);
    struct chela_agent_opts agent = CHELA_AGENT_OPTS(.model = "scripted/demo");
    MAKE("agent", F(chela_agent_new)(rt, &agent, (void *)out, &err));
    MAKE("agent", F(chela_agent_add_tool)(*out, &tool, &err));
    chela_agent *agents[] = {*object("agent"), NULL};
    MAKE("session", F(chela_session_new)(agents[0], "s", (void *)out, &err));
    MAKE("run", F(chela_run_start)(*object("session"), "hello", 5, NULL, (void *)out, &err));
    struct chela_gateway_opts gateway =
        CHELA_GATEWAY_OPTS(.listen = "127.0.0.1:0", .token = TOKEN, .agents = agents);
    MAKE("gateway", F(chela_gateway_new)(rt, &gateway, (void *)out, &err));
    struct chela_mcp_opts mcp = CHELA_MCP_OPTS(.name = "m", .url = "http://127.0.0.1:1/mcp");
    MAKE("mcp", F(chela_mcp_new)(rt, &mcp, (void *)out, &err));
    struct chela_mcp_server_opts server = CHELA_MCP_SERVER_OPTS(.name = "s", .version = "1");
    MAKE("mcp_server", F(chela_mcp_server_new)(rt, &server, (void *)out, &err));
    struct chela_mcp_tool_opts mcp_tool =
        CHELA_MCP_TOOL_OPTS(.name = "t", .fn = in_mcp_tool, .flags = CHELA_MCP_ON_LOOP);
    MAKE("mcp_server", F(chela_mcp_server_tool)(*out, &mcp_tool, &err));
    MAKE("mcp_connection", F(chela_mcp_server_open)(*object("mcp_server"), acp_write, NULL, "me",
                                                    (void *)out, &err));
    struct chela_acp_opts acp =
        CHELA_ACP_OPTS(.write = acp_write, .enter = acp_enter, .leave = acp_leave,
                       .trust = acp_trust, .agent = acp_agent, .drop = acp_leave);
    MAKE("acp", F(chela_acp_new)(rt, &acp, (void *)out, &err));
    MAKE("undo", F(chela_undo_open)(agents[0], undo_dir, (void *)out, &err));
}

/* The tools are called on the loop thread, and have a call. */
static void call_tools(void) {
    static const char words[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
        "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n";
    chela_runtime *rt = *object("runtime");
    F(chela_free)(F(chela_agent_call_tool)(*object("agent"), "note", "{}", NULL));
    F(chela_mcp_connection_feed)(*object("mcp_connection"), words, sizeof(words) - 1, NULL);
    for (int i = 0; i < 1000 && !*object("mcp_call"); i++)
        F(chela_runtime_poll)(rt);
}

static void play_elsewhere(void *user) {
    unsigned n = 0;
    (void)user;
    make_objects(NULL);
    try_elsewhere(NULL);
    try_without();
    call_tools();
    for (size_t i = 0; i < nfunctions; i++)
        n += functions[i].on_loop && has(&functions[i], OBJECT);
    if (told->calls != n)
        snprintf(told->text, sizeof(told->text), "%u of %u functions were called", told->calls, n);
    told->problems += told->calls != n;
    snprintf(told->at, sizeof(told->at), "closing"); /* nothing was closed by another thread */
    F(chela_undo_close)(*object("undo"));
    F(chela_acp_close)(*object("acp"));
    F(chela_mcp_connection_close)(*object("mcp_connection"));
    F(chela_mcp_server_close)(*object("mcp_server"));
    F(chela_gateway_close)(*object("gateway"));
    F(chela_run_free)(*object("run"));
    F(chela_runtime_close)(*object("runtime"));
    F(chela_store_close)(*object("store"));
    F(chela_config_free)(*object("config"));
}

static void test_wrong_thread(void **state) {
    (void)state;
    play(play_elsewhere, NULL);
    assert_int_equal(leave(), 0);
}

/* While the host's thread polls its loop, no other thread may call. */
static void stop_host(uv_async_t *h) {
    uv_close((uv_handle_t *)h, NULL);
}

static void *while_host_polls(void *user) {
    static const char *const names[] = {"chela_session_new", "chela_session_key",
                                        "chela_runtime_close"};
    for (int i = 0; i < 1000 && F(chela_session_key)(*object("session")); i++)
        usleep(10000); /* the host has not come to its poll yet */
    for (size_t i = 0; i < nfunctions; i++)
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
            if (strcmp(functions[i].name, names[k]) == 0)
                call_from_elsewhere(&functions[i]);
    uv_async_send(user);
    return NULL;
}

static pthread_t other;

static void when_polling(uv_timer_t *t) {
    if (pthread_create(&other, NULL, while_host_polls, t->data) != 0)
        abort();
    uv_close((uv_handle_t *)t, NULL);
}

static void play_hosted(void *user) {
    uv_loop_t host;
    uv_async_t done;
    uv_timer_t timer;
    (void)user;
    uv_loop_init(&host);
    uv_async_init(&host, &done, stop_host);
    uv_timer_init(&host, &timer);
    timer.data = &done;
    make_objects(&host);
    F(chela_run_free)(*object("run"));
    uv_timer_start(&timer, when_polling, 50, 0);
    while (!uv_is_closing((uv_handle_t *)&done))
        uv_run(&host, UV_RUN_ONCE);
    pthread_join(other, NULL);
    snprintf(told->at, sizeof(told->at), "a host's loop that nobody runs");
    if (F(chela_session_key)(*object("session")) == NULL) /* any thread may be the next */
        told->problems++;
}

static void test_wrong_thread_of_a_host(void **state) {
    (void)state;
    play(play_hosted, NULL);
    assert_int_equal(leave(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_function_is_known),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_null_pointers),
        cmocka_unit_test(test_first_error_stays),
        cmocka_unit_test(test_wrong_thread),
        cmocka_unit_test(test_wrong_thread_of_a_host),
    };
    return cmocka_run_group_tests(tests, open_library, remove_undo_dir);
}
