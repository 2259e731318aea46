/* test_mcp_api.c -- the functions of chela/mcp.h that wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "chela/mcp.h"

static char dir[] = "/tmp/chela-mcp-XXXXXX";

static void on_done(const char *result, const struct chela_error *err, void *user) {
    assert_null(result);
    assert_int_equal(err->code, CHELA_ENOENT);
    chela_mcp_close(user);
}

static chela_mcp *make_client(chela_runtime *rt) {
    const char *const command[] = {"/does/not/exist", NULL};
    struct chela_mcp_opts opts =
        CHELA_MCP_OPTS(.name = "s", .command = command, .state_dir = dir);
    chela_mcp *m;

    assert_int_equal(chela_mcp_new(rt, &opts, &m, NULL), 0);
    return m;
}

/* A callback closes the client while a function waits for it. */
static void closed_while_waiting(void **state) {
    struct chela_error err = {0};
    chela_runtime *rt;

    (void)state;
    assert_int_equal(chela_runtime_new(NULL, &rt, NULL), 0);
    chela_mcp *m = make_client(rt);
    assert_int_equal(chela_mcp_send(m, "tools/list", NULL, on_done, m, NULL), 0);
    assert_null(chela_mcp_request(m, "tools/list", NULL, &err));
    assert_int_equal(err.code, CHELA_ESTATE);
    m = make_client(rt);
    assert_int_equal(chela_mcp_send(m, "tools/list", NULL, on_done, m, NULL), 0);
    assert_int_equal(chela_mcp_refresh(m, 0, &err), CHELA_ESTATE);
    assert_null(chela_mcp_find(rt, "s"));
    chela_runtime_close(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(closed_while_waiting)};

    if (!mkdtemp(dir))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char inner[sizeof(dir) + 2];
    snprintf(inner, sizeof(inner), "%s/s", dir);
    rmdir(inner);
    rmdir(dir);
    return failed;
}
