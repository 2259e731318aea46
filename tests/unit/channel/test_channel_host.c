/* test_channel_host.c -- what the library gives to the author of a channel: digests and ciphers
 * with the vectors of the services, ids, delays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/api/runtime.h"
#include "base/base64.h"
#include "channel/channel.h"
#include "channel/id.h"
#include "support/modules.h"

static struct ch_channel *channel;

static int pigeon_open(const struct chela_channel_host *host, const struct chela_channel_opts *o,
                       void **out, struct chela_error *err) {
    (void)host;
    (void)o;
    (void)err;
    *out = NULL;
    return 0;
}

static void pigeon_close(void *self) {
    (void)self;
}

static const struct chela_channel_ops pigeon = {
    .name = "pigeon", .open = pigeon_open, .close = pigeon_close};

static int setup(void **state) {
    struct chela_error err = {0};
    static const char *const owners[] = {"owner", NULL};
    struct chela_channel_opts o = CHELA_CHANNEL_OPTS(.name = "pigeon", .owners = owners);
    CH_AUTOFREE char *modules = modules_dir();
    struct chela_runtime_opts ro = CHELA_RUNTIME_OPTS(.module_path = modules);
    chela_runtime *rt;
    (void)state;
    assert_int_equal(chela_runtime_new(&ro, &rt, &err), 0);
    return ch_channel_open(&pigeon, &(struct ch_channel_gateway){.rt = rt}, &o, &channel, &err);
}

static int teardown(void **state) {
    chela_runtime *rt = channel->gateway.rt;
    (void)state;
    ch_channel_close(channel);
    chela_runtime_close(rt);
    return 0;
}

/* --- who may press a button */

static unsigned decided, refused;

static void pigeon_decide(const struct chela_channel_decision *d, chela_channel_decided_fn *done,
                          void *tag, void *user) {
    (void)d;
    (void)done;
    (void)tag;
    (void)user;
    decided++;
}

static void pigeon_decided(struct chela_text answer, void *tag) {
    (void)tag;
    assert_non_null(memmem(answer.p, answer.n, "Only an owner", 13));
    refused++;
}

static void test_only_owners_decide(void **state) {
    static const char *const others[] = {NULL, "", "*", "owner2", "Owner", "owner "};
    const struct chela_channel_host *h = &channel->host;
    (void)state;
    channel->gateway.decide = pigeon_decide;
    for (size_t i = 0; i < CH_LEN(others); i++)
        h->decide(&(struct chela_channel_decision){.approval = "ap_1", .word = "allow-once",
                                                   .chat = "c", .by = others[i]},
                  pigeon_decided, NULL, h->user);
    assert_int_equal(decided, 0);
    assert_int_equal(refused, CH_LEN(others));
    h->decide(&(struct chela_channel_decision){.approval = "ap_1", .word = "allow-once",
                                               .chat = "c", .by = "owner"},
              pigeon_decided, NULL, h->user);
    assert_int_equal(decided, 1);
}

static struct chela_text text(const char *s) {
    return (struct chela_text){s, strlen(s)};
}

static void hex(const unsigned char *bytes, size_t n, char *out) {
    for (size_t i = 0; i < n; i++)
        sprintf(out + 2 * i, "%02x", bytes[i]);
}

/* WeCom: a pad of 26, to a multiple of 32. */
#define WECOM \
    "4j/AuRx71kQlxVlzbpsMWBISlvomC6YoH8j5nFCfw7DZ/Is91fYwteHV/AkIXJdXMKgFtYaSiO2hYFvak58dnw=="

static void test_aes(void **state) {
    const struct chela_channel_host *h = &channel->host;
    static const char plain[] = "0123456789abcdef\0\0\0\x12{\"msgtype\":\"text\"}";
    unsigned char key[32];
    char out[128], again[128];
    CH_BUF_AUTO sealed = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (unsigned char)i;
    assert_true(ch_base64_read(CH_SV(WECOM), &sealed));
    struct chela_text in = {sealed.p, sealed.n};
    assert_int_equal(h->aes_decrypt(key, key, in, CHELA_CHANNEL_PKCS7_32, out, h->user),
                     sizeof(plain) - 1);
    assert_memory_equal(out, plain, sizeof(plain) - 1);
    assert_int_equal(h->aes_decrypt(key, key, in, CHELA_CHANNEL_PKCS7, out, h->user), -1);
    struct chela_text bare = {plain, sizeof(plain) - 1};
    assert_int_equal(h->aes_encrypt(key, key, bare, CHELA_CHANNEL_PKCS7_32, again, h->user),
                     sealed.n);
    assert_memory_equal(again, sealed.p, sealed.n);
    in.n -= 1;
    assert_int_equal(h->aes_decrypt(key, key, in, CHELA_CHANNEL_PKCS7_32, out, h->user), -1);
    sealed.p[sealed.n - 1] ^= 1;
    in.n += 1;
    assert_int_equal(h->aes_decrypt(key, key, in, CHELA_CHANNEL_PKCS7_32, out, h->user), -1);
}

/* Slack, WeCom. */
static void test_digests(void **state) {
    const struct chela_channel_host *h = &channel->host;
    unsigned char out[32];
    char shown[65];
    (void)state;
    h->hmac_sha256(text("test-signing-secret"),
                   text("v0:1700000000:{\"type\":\"url_verification\",\"challenge\":\"abc\"}"), out,
                   h->user);
    hex(out, 32, shown);
    assert_string_equal(shown, "150f3e2597227d90deb3d93af65b6450381ac5c2ff275a89b8daf98c8df38326");
    h->sha1(text("1700000000" WECOM "n1tok"), out, h->user);
    hex(out, 20, shown);
    assert_string_equal(shown, "24b6f6b9fd87113d4f97cb981b71a5c0c45ca39e");
    assert_true(h->same(text("abc"), text("abc"), h->user));
    assert_false(h->same(text("abc"), text("abd"), h->user));
    assert_false(h->same(text("abc"), text("ab"), h->user));
}

static void unhex(const char *s, unsigned char *out) {
    for (unsigned byte; *s; s += 2) {
        assert_int_equal(sscanf(s, "%2x", &byte), 1);
        *out++ = (unsigned char)byte;
    }
}

/* Discord. */
static void test_ed25519(void **state) {
    const struct chela_channel_host *h = &channel->host;
    unsigned char key[32], signature[64];
    (void)state;
    unhex("79b5562e8fe654f94078b112e8a98ba7901f853ae695bed7e0e3910bad049664", key);
    unhex("f586f8c3650c3322ac5f08321a41265709aaf2e6941e7c2e4c27f7afc3234f07"
          "d974a7724f4b21106869234183284cc22cd004eff9b8c56f1c260118412d650c",
          signature);
    assert_true(h->ed25519_verify(key, signature, text("1700000000{\"type\":1}"), h->user));
    assert_false(h->ed25519_verify(key, signature, text("1700000000{\"type\":2}"), h->user));
    signature[0] ^= 1;
    assert_false(h->ed25519_verify(key, signature, text("1700000000{\"type\":1}"), h->user));
}

static void test_back_off(void **state) {
    const struct chela_channel_host *h = &channel->host;
    (void)state;
    for (unsigned n = 0; n < 100; n++) {
        int64_t most = n > 5 ? 60000 : 1000 << n, ms = h->back_off(n, h->user);
        assert_true(ms >= most / 4 && ms <= most / 4 + most);
    }
}

static void test_ids(void **state) {
    static const struct {
        const char *id, *encoded;
    } rows[] = {{"oc_1", "oc_1"},
                {"-100", "-100"},
                {"$:LWCP_v1:$x+/=", "$~3ALWCP_v1~3A$x+~2F="},
                {"a b\n~%\\", "a~20b~0A~7E~25~5C"},
                {"\xe4\xb8\x80", "\xe4\xb8\x80"}};
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_BUF_AUTO encoded = {0}, id = {0};
        ch_id_add(&encoded, ch_sv_str(rows[i].id));
        assert_string_equal(ch_buf_str(&encoded), rows[i].encoded);
        ch_id_read(&id, ch_buf_sv(&encoded));
        assert_string_equal(ch_buf_str(&id), rows[i].id);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_owners_decide),
        cmocka_unit_test(test_aes),     cmocka_unit_test(test_digests),
        cmocka_unit_test(test_ed25519), cmocka_unit_test(test_back_off),
        cmocka_unit_test(test_ids),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
