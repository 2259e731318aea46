/* test_mcp_skills.c -- entries and files of skills that a server offers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "mcp/mcp_skills.h"

#define HEAD "---\nname: pdf\ndescription: Read PDF\n---\n"
#define TEXT HEAD "Body\n"
/* of the text "x" */
#define X_DIGEST "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"

static const struct ch_json *parse(struct ch_arena *a, const char *text) {
    const struct ch_json *v = NULL;

    assert_int_equal(
        ch_json_parse(a, ch_arena_sv(a, ch_sv_str(text)), CH_JSON_STRICT, &v, NULL, NULL), 0);
    return v;
}

static const struct ch_json *entry_of(struct ch_arena *a, const char *uri, const char *head,
                                      const char *files) {
    CH_BUF_AUTO text = {0};

    ch_buf_addf(&text, "{\"uri\":\"%s\",\"frontmatter\":%s,\"resources\":%s}", uri, head, files);
    return parse(a, ch_buf_str(&text));
}

#define URI "skill://acme/pdf/SKILL.md"
#define GOOD_HEAD "{\"name\":\"pdf\",\"description\":\"Read PDF\"}"
#define MAIN "{\"uri\":\"" URI "\",\"digest\":\"" X_DIGEST "\",\"size\":1}"
#define OTHER(uri) "[" MAIN ",{\"uri\":\"" uri "\",\"digest\":\"" X_DIGEST "\",\"size\":1}]"

static void test_entries(void **unused) {
    static const struct {
        const char *uri, *head, *files;
        int rc;
    } cases[] = {
        {URI, GOOD_HEAD, "[" MAIN "]", 0},
        {URI, GOOD_HEAD, OTHER("skill://acme/pdf/a%20b/c.md"), 0},
        {"file:///acme/pdf/SKILL.md", GOOD_HEAD, "[" MAIN "]", CHELA_EPROTO},
        {"skill://acme/other/SKILL.md", GOOD_HEAD, "[" MAIN "]", CHELA_EPROTO},
        {"skill://acme/xpdf/SKILL.md", GOOD_HEAD, "[" MAIN "]", CHELA_EPROTO},
        {"skill://acme/pdf/README.md", GOOD_HEAD, "[" MAIN "]", CHELA_EPROTO},
        {"SKILL.md", GOOD_HEAD, "[" MAIN "]", CHELA_EPROTO},
        {"", GOOD_HEAD, "[" MAIN "]", CHELA_EPROTO},
        {URI, "{}", "[" MAIN "]", CHELA_EPROTO},
        {URI, "7", "[" MAIN "]", CHELA_EPROTO},
        {URI, "{\"name\":\"pdf\"}", "[" MAIN "]", CHELA_EPROTO},
        {URI, "{\"name\":\"../pdf\",\"description\":\"d\"}", "[" MAIN "]", CHELA_EPROTO},
        {URI, "{\"name\":\"\",\"description\":\"d\"}", "[" MAIN "]", CHELA_EPROTO},
        {URI, GOOD_HEAD, "[]", CHELA_EPROTO},
        {URI, GOOD_HEAD, "{}", CHELA_EPROTO},
        {URI, GOOD_HEAD, "[7]", CHELA_EPROTO},
        {URI, GOOD_HEAD, OTHER("skill://acme/pdf/../x.md"), CHELA_EPROTO},
        {URI, GOOD_HEAD, OTHER("skill://acme/pdf/%2e%2e/x.md"), CHELA_EPROTO},
        {URI, GOOD_HEAD, OTHER("skill://acme/pdf/a%00b"), CHELA_EPROTO},
        {URI, GOOD_HEAD, OTHER("skill://acme/pdf/a%0ab"), CHELA_EPROTO},
        {URI, GOOD_HEAD, OTHER("skill://acme/pdf/"), CHELA_EPROTO},
        {URI, GOOD_HEAD, OTHER("skill://other/pdf/x.md"), CHELA_EPROTO},
        {URI, GOOD_HEAD, OTHER("/etc/passwd"), CHELA_EPROTO},
        {URI, GOOD_HEAD, "[{\"uri\":\"" URI "\",\"digest\":\"" X_DIGEST "\",\"size\":-1}]",
         CHELA_EPROTO},
        {URI, GOOD_HEAD, "[{\"uri\":\"" URI "\",\"digest\":\"" X_DIGEST "\",\"size\":16777217}]",
         CHELA_EPROTO},
        {URI, GOOD_HEAD, "[{\"uri\":\"" URI "\",\"digest\":\"" X_DIGEST "\"}]", CHELA_EPROTO},
        {URI, GOOD_HEAD, "[{\"uri\":\"" URI "\",\"digest\":\"md5:00\",\"size\":1}]", CHELA_EPROTO},
        {URI, GOOD_HEAD, "[{\"uri\":\"" URI "\",\"size\":1}]", CHELA_EPROTO},
    };

    (void)unused;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO arena = {0};
        int rc = ch_mcp_skill_check(
            entry_of(&arena, cases[i].uri, cases[i].head, cases[i].files), NULL);
        if (rc != cases[i].rc)
            fail_msg("case %zu: %d", i, rc);
    }
}

static void test_files(void **unused) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *entry =
        entry_of(&arena, URI, GOOD_HEAD, OTHER("skill://acme/pdf/a%20b/c.md"));

    (void)unused;
    assert_non_null(ch_mcp_skill_file(entry, CH_SV("SKILL.md")));
    assert_non_null(ch_mcp_skill_file(entry, CH_SV("a b/c.md")));
    assert_null(ch_mcp_skill_file(entry, CH_SV("a%20b/c.md")));
    assert_null(ch_mcp_skill_file(entry, CH_SV("")));
    assert_null(ch_mcp_skill_file(NULL, CH_SV("SKILL.md")));
    assert_null(ch_mcp_skill_file(entry, CH_SV("../pdf/SKILL.md")));
}

/* Reads the file of an entry whose digest and size are those of `promised`. */
static int verify(const char *promised, const char *head, const char *result) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO files = {0};
    CH_BUF_AUTO out = {0};
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];

    ch_sha256_of(ch_sv_str(promised), digest);
    ch_sha256_hex(digest, hex);
    ch_buf_addf(&files, "[{\"uri\":\"" URI "\",\"digest\":\"sha256:%s\",\"size\":%zu}]", hex,
                strlen(promised));
    const struct ch_json *entry = entry_of(&arena, URI, head, ch_buf_str(&files));
    assert_int_equal(ch_mcp_skill_check(entry, NULL), 0);
    return ch_mcp_skill_verify(entry, ch_mcp_skill_file(entry, CH_SV("SKILL.md")),
                               parse(&arena, result), &out, NULL);
}

#define JSON_TEXT "---\\nname: pdf\\ndescription: Read PDF\\n---\\nBody\\n"
#define RESULT(text) "{\"contents\":[{\"uri\":\"" URI "\",\"text\":\"" text "\"}]}"

static void test_verify(void **unused) {
    (void)unused;
    assert_int_equal(verify(TEXT, GOOD_HEAD, RESULT(JSON_TEXT)), 0);
    assert_int_equal(verify(TEXT, GOOD_HEAD,
                            "{\"contents\":[{\"uri\":\"" URI "\",\"blob\":\"LS0tCm5hbWU6IHBkZgpkZX"
                            "NjcmlwdGlvbjogUmVhZCBQREYKLS0tCkJvZHkK\"}]}"), 0);
    assert_int_equal(verify(TEXT, GOOD_HEAD, RESULT("---")), CHELA_EPROTO);
    assert_int_equal(verify(HEAD "Evil\n", GOOD_HEAD, RESULT(JSON_TEXT)), CHELA_EPROTO);
    assert_int_equal(verify(TEXT, "{\"name\":\"pdf\",\"description\":\"Other\"}",
                            RESULT(JSON_TEXT)), CHELA_EPROTO);
    assert_int_equal(verify(TEXT, "{\"name\":\"pdf\",\"description\":\"Read PDF\",\"x\":1}",
                            RESULT(JSON_TEXT)), CHELA_EPROTO);
    assert_int_equal(verify(TEXT, GOOD_HEAD, "{}"), CHELA_EPROTO);
    assert_int_equal(verify(TEXT, GOOD_HEAD, "{\"contents\":[]}"), CHELA_EPROTO);
    assert_int_equal(verify(TEXT, GOOD_HEAD, "{\"contents\":[{\"uri\":\"skill://acme/other\","
                            "\"text\":\"" JSON_TEXT "\"}]}"), CHELA_EPROTO);
    assert_int_equal(verify(TEXT, GOOD_HEAD, "{\"contents\":[{\"uri\":\"" URI "\","
                            "\"blob\":\"%\"}]}"), CHELA_EPROTO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_verify),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
