/* test_wecom_message.c -- messages of WeCom; the vectors of its own packages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/api/runtime.h"
#include "channel/channel.h"
#include "channel/wecom/wecom.h"
#include "channel/wecom/wecom_message.h"
#include "channel/wecom/wecom_seal.h"
#include "support/modules.h"

static struct ch_arena arena;
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
    struct chela_channel_opts o = CHELA_CHANNEL_OPTS(.name = "pigeon");
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
    ch_arena_release(&arena);
    return 0;
}

/* --- callbacks */

#define KEY "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
#define SEALED \
    "4j/AuRx71kQlxVlzbpsMWBISlvomC6YoH8j5nFCfw7DZ/Is91fYwteHV/AkIXJdXMKgFtYaSiO2hYFvak58dnw=="

static void test_seal(void **state) {
    const struct chela_channel_host *h = &channel->host;
    unsigned char key[32];
    char signature[41];
    CH_BUF_AUTO plain = {0}, sealed = {0}, none = {0};
    (void)state;
    assert_true(ch_wecom_key(CH_SV(KEY), key));
    assert_true(ch_wecom_key(CH_SV(KEY "="), key));
    assert_int_equal(key[31], 0x1f);
    assert_false(ch_wecom_key(CH_SV("AAEC"), key));
    assert_true(ch_wecom_key(CH_SV(KEY), key));
    assert_true(ch_wecom_unseal(h, key, CH_SV(SEALED), CH_SV(""), &plain));
    assert_string_equal(ch_buf_str(&plain), "{\"msgtype\":\"text\"}");
    assert_true(ch_wecom_seal(h, key, (const unsigned char *)"0123456789abcdef", ch_buf_sv(&plain),
                              CH_SV(""), &sealed));
    assert_string_equal(ch_buf_str(&sealed), SEALED);
    ch_wecom_sign(h, CH_SV("tok"), CH_SV("1700000000"), CH_SV("n1"), CH_SV(SEALED), signature);
    assert_string_equal(signature, "24b6f6b9fd87113d4f97cb981b71a5c0c45ca39e");
    assert_false(ch_wecom_unseal(h, key, CH_SV(SEALED), CH_SV("corp"), &none));
    assert_false(ch_wecom_unseal(h, key, CH_SV("AAAA"), CH_SV(""), &none));
    assert_false(ch_wecom_unseal(h, key, CH_SV(""), CH_SV(""), &none));
    assert_false(ch_wecom_unseal(h, key, CH_SV("!"), CH_SV(""), &none));
    key[0] ^= 1;
    assert_false(ch_wecom_unseal(h, key, CH_SV(SEALED), CH_SV(""), &none));
    assert_int_equal(none.n, 0);
}

/* A receiver, and lengths around the size of a block. */
static void test_lengths(void **state) {
    const struct chela_channel_host *h = &channel->host;
    unsigned char key[32] = {7};
    char text[100];
    (void)state;
    memset(text, 'x', sizeof(text));
    for (size_t n = 0; n < sizeof(text); n++) {
        CH_BUF_AUTO sealed = {0}, plain = {0};
        assert_true(ch_wecom_seal(h, key, key, ch_sv(text, n), CH_SV("corp-1"), &sealed));
        assert_true(ch_wecom_unseal(h, key, ch_buf_sv(&sealed), CH_SV("corp-1"), &plain));
        assert_int_equal(plain.n, n);
        assert_false(ch_wecom_unseal(h, key, ch_buf_sv(&sealed), CH_SV("corp-"), &plain));
    }
}

/* --- messages */

static bool read_message(const char *json, struct chela_channel_message *m) {
    const struct ch_json *v;
    assert_int_equal(ch_json_parse(&arena, ch_sv_str(json), CH_JSON_REPLACE, &v, NULL, NULL), 0);
    return ch_wecom_read(v, &arena, m);
}

static void test_read(void **state) {
    struct chela_channel_message m;
    (void)state;
    assert_true(
        read_message("{\"msgid\":\"m\",\"chattype\":\"single\",\"from\":{\"userid\":\"ann\"},"
                     "\"create_time\":1700000000,\"text\":{\"content\":\"@you hi\"}}",
                     &m));
    assert_string_equal(m.chat, "ann");
    assert_string_equal(m.text, "@you hi");
    assert_true(m.direct);
    assert_int_equal(m.ts, 1700000000000);
    assert_true(read_message("{\"msgid\":\"m\",\"chattype\":\"group\",\"chatid\":\"g\",\"from\":{"
                             "\"userid\":\"ann\"},\"text\":{\"content\":\"@Bot hi @x\"},\"quote\":{"
                             "\"text\":{\"content\":\"before\"}}}",
                             &m));
    assert_string_equal(m.chat, "g");
    assert_string_equal(m.text, "hi @x");
    assert_string_equal(m.quoted->text, "before");
    assert_false(m.direct);
    assert_true(
        read_message("{\"msgid\":\"m\",\"from\":{\"userid\":\"ann\"},\"mixed\":{\"msg_item\":["
                     "{\"text\":{\"content\":\"a\"}},{\"image\":{\"url\":\"https://u\","
                     "\"aeskey\":\"k=\"}}]},\"file\":{\"url\":\"https://f\"}}",
                     &m));
    assert_string_equal(m.text, "a");
    assert_int_equal(m.nfiles, 2);
    assert_string_equal(m.files[0].handle, "- https://f");
    assert_string_equal(m.files[1].handle, "k= https://u");
    struct ch_wecom_file f = ch_wecom_file(m.files[1].handle);
    assert_true(ch_sv_is(f.key, "k=") && ch_sv_is(f.url, "https://u"));
}

static void test_refused(void **state) {
    static const char *const rows[] = {
        "7",
        "null",
        "{}",
        "{\"msgid\":\"m\"}",
        "{\"msgid\":\"m\",\"from\":{}}",
        "{\"msgid\":\"m\",\"from\":\"ann\"}",
        "{\"msgid\":\"m\",\"chattype\":\"group\",\"from\":{\"userid\":\"ann\"}}",
        "{\"msgid\":\"m\",\"msgtype\":\"event\",\"from\":{\"userid\":\"ann\"}}"};
    struct chela_channel_message m;
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++)
        assert_false(read_message(rows[i], &m));
}

static void test_exact(void **state) {
    static const struct {
        const char *text, *shown;
    } rows[] = {{"a", "```\na\n```"}, {"a ``` b", "````\na ``` b\n````"}, {"", "```\n\n```"}};
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_BUF_AUTO out = {0};
        ch_wecom_exact(&out, ch_sv_str(rows[i].text));
        assert_string_equal(ch_buf_str(&out), rows[i].shown);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_seal), cmocka_unit_test(test_lengths),
                                       cmocka_unit_test(test_read), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_exact)};
    return cmocka_run_group_tests_name("wecom", tests, setup, teardown);
}
