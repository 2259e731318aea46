/* test_service.c -- what is said to a service manager, and what is taken of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/support/service.h"

static void test_told(void **state) {
    (void)state;
    char dir[] = "/tmp/chela-test-XXXXXX", got[256] = "";
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    assert_non_null(mkdtemp(dir));
    snprintf(a.sun_path, sizeof(a.sun_path), "%s/notify", dir);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    setenv("NOTIFY_SOCKET", a.sun_path, 1);
    ch_service_tell("READY=1");
    assert_true(recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT) > 0);
    assert_int_equal(strncmp(got, "READY=1\nMONOTONIC_USEC=", 23), 0);
    close(fd);
    unlink(a.sun_path);
    rmdir(dir);
}

/* Nobody there, nothing said, no place for it: none of it is an error. */
static void test_nobody(void **state) {
    (void)state;
    static const char *const places[] = {"/tmp/chela-there-is-nothing", "@chela-nobody", "", "x"};
    char path[200];
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        setenv("NOTIFY_SOCKET", places[i], 1);
        ch_service_tell("READY=1");
    }
    memset(path, '/', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    setenv("NOTIFY_SOCKET", path, 1);
    ch_service_tell("READY=1");
    unsetenv("NOTIFY_SOCKET");
    ch_service_tell("READY=1");
}

static void test_socket(void **state) {
    (void)state;
    char own[32];
    snprintf(own, sizeof(own), "%ld", (long)getpid());
    assert_null(ch_service_socket());
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_PID", "1", 1);
    assert_null(ch_service_socket()); /* it was somebody else's */
    assert_null(getenv("LISTEN_FDS"));
    int before = dup(3), fd = dup(0);
    assert_true(fd >= 0 && dup2(fd, 3) == 3);
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_PID", own, 1);
    const char *socket = ch_service_socket();
    assert_non_null(socket);
    assert_string_equal(socket, "fd:3");
    assert_null(getenv("LISTEN_PID"));
    assert_null(ch_service_socket());
    if (before >= 0)
        dup2(before, 3);
    if (fd != 3)
        close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
