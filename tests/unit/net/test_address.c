/* test_address.c -- what is public and what is not, at the edges of each range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "base/mem.h"
#include "net/address.h"

static const struct {
    const char *text, *kind; /* NULL: public */
} cases[] = {
    {"1.1.1.1", NULL},
    {"8.8.8.8", NULL},
    {"93.184.216.34", NULL},
    {"0.0.0.0", "unspecified"},
    {"0.1.2.3", "unspecified"},
    {"1.0.0.0", NULL},
    {"9.255.255.255", NULL},
    {"10.0.0.0", "private"},
    {"10.255.255.255", "private"},
    {"11.0.0.0", NULL},
    {"100.63.255.255", NULL},
    {"100.64.0.0", "shared"},
    {"100.100.100.200", "shared"},
    {"100.127.255.255", "shared"},
    {"100.128.0.0", NULL},
    {"126.255.255.255", NULL},
    {"127.0.0.1", "loopback"},
    {"127.255.255.254", "loopback"},
    {"128.0.0.0", NULL},
    {"168.63.129.15", NULL},
    {"168.63.129.16", "cloud metadata"},
    {"168.63.129.17", NULL},
    {"169.253.255.255", NULL},
    {"169.254.169.254", "link-local"},
    {"169.254.170.2", "link-local"},
    {"169.255.0.0", NULL},
    {"172.15.255.255", NULL},
    {"172.16.0.0", "private"},
    {"172.31.255.255", "private"},
    {"172.32.0.0", NULL},
    {"192.0.0.192", "reserved"},
    {"192.0.1.0", NULL},
    {"192.0.2.1", "documentation"},
    {"192.88.99.1", "reserved"},
    {"192.167.255.255", NULL},
    {"192.168.0.0", "private"},
    {"192.168.255.255", "private"},
    {"192.169.0.0", NULL},
    {"198.17.255.255", NULL},
    {"198.18.0.0", "benchmark"},
    {"198.19.255.255", "benchmark"},
    {"198.20.0.0", NULL},
    {"198.51.100.7", "documentation"},
    {"203.0.113.7", "documentation"},
    {"223.255.255.255", NULL},
    {"224.0.0.1", "multicast"},
    {"239.255.255.255", "multicast"},
    {"240.0.0.1", "reserved"},
    {"255.255.255.255", "reserved"},

    {"::", "unspecified"},
    {"::1", "loopback"},
    {"::2", "reserved"},
    {"::127.0.0.1", "reserved"}, /* the old compatible form */
    {"::8.8.8.8", "reserved"},
    {"::ffff:127.0.0.1", "loopback"},
    {"::ffff:7f00:1", "loopback"},
    {"::ffff:169.254.169.254", "link-local"},
    {"::ffff:8.8.8.8", NULL},
    {"::ffff:0:127.0.0.1", "reserved"},
    {"64:ff9b::127.0.0.1", "loopback"},
    {"64:ff9b::a00:1", "private"},
    {"64:ff9b::8.8.8.8", NULL},
    {"64:ff9b:1::8.8.8.8", "reserved"},
    {"100::1", "reserved"},
    {"1fff:ffff::1", "reserved"},
    {"2000::1", NULL},
    {"2001::1", "reserved"},
    {"2001:1ff::1", "reserved"},
    {"2001:200::1", NULL},
    {"2001:db7::1", NULL},
    {"2001:db8::1", "documentation"},
    {"2001:db9::1", NULL},
    {"2002:7f00:1::", "6to4"},
    {"2002:808:808::1", "6to4"},
    {"2003::1", NULL},
    {"2606:4700:4700::1111", NULL},
    {"3fff:0fff::1", "documentation"},
    {"3fff:1000::1", NULL},
    {"4000::1", "reserved"},
    {"fc00::1", "private"},
    {"fd00:ec2::254", "private"},
    {"fd20:ce::254", "private"},
    {"fdff:ffff::1", "private"},
    {"fe80::1", "link-local"},
    {"febf::1", "link-local"},
    {"fec0::1", "private"},
    {"ff02::1", "multicast"},
};

static void as_sockaddr(const char *text, struct sockaddr_storage *out) {
    memset(out, 0, sizeof(*out));
    if (inet_pton(AF_INET, text, &((struct sockaddr_in *)out)->sin_addr) == 1)
        out->ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)out)->sin6_addr) == 1)
        out->ss_family = AF_INET6;
    else
        fail_msg("%s", text);
}

static void test_kinds(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct sockaddr_storage a;
        as_sockaddr(cases[i].text, &a);
        const char *got = ch_address_kind((struct sockaddr *)&a), *want = cases[i].kind;
        if ((got != NULL) != (want != NULL) || (got && strcmp(got, want) != 0))
            fail_msg("%s: %s", cases[i].text, got ? got : "public");
    }
}

static void test_other_families(void **state) {
    (void)state;
    struct sockaddr_un local = {.sun_family = AF_UNIX, .sun_path = "x"};
    assert_string_equal(ch_address_kind((struct sockaddr *)&local), "unknown");
    assert_false(ch_address_is_own((struct sockaddr *)&local));
}

/* Loopback is the one interface every machine has. */
static void test_own(void **state) {
    static const struct {
        const char *text;
        bool own;
    } own[] = {{"127.0.0.1", true},
               {"::ffff:127.0.0.1", true},
               {"192.0.2.77", false},
               {"2001:db8::77", false}};
    (void)state;
    for (size_t i = 0; i < CH_LEN(own); i++) {
        struct sockaddr_storage a;
        as_sockaddr(own[i].text, &a);
        if (ch_address_is_own((struct sockaddr *)&a) != own[i].own)
            fail_msg("%s", own[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_other_families),
        cmocka_unit_test(test_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
