/* test_aws.c -- where keys and regions come from: environment and files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/aws.h"
#include "support/textfile.h"

#define CREDENTIALS                                                                               \
    "# mine\n[default]\naws_access_key_id = AKDEFAULT\naws_secret_access_key=default/secret+1\n"  \
    "\n[work]\r\naws_access_key_id=AKWORK\r\naws_secret_access_key = work-secret ; a comment\r\n" \
    "aws_session_token = \"work-token\"\r\nregion = eu-west-3\r\n[half]\naws_access_key_id=AK\n"  \
    "[other half]\naws_secret_access_key=other-secret\n[roles only]\nsource_profile=work\n"
#define CONFIG                                                                                    \
    "[default]\nregion = us-west-2\ns3 =\n  region = nowhere\n[profile work]\nregion=us-east-2\n" \
    "[profile sso]\nsso_session = corp\nregion = ap-south-1\n[profile \"in config\"]\n"           \
    "aws_access_key_id=AKCONFIG\naws_secret_access_key=config-secret\n[sso-session corp]\n"       \
    "region = elsewhere\n[profile assume]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = a\n"

static char folder[] = "/tmp/test_aws.XXXXXX";

/* "NAME=value NAME=value"; FOLDER stands for the folder of the files. */
static const char *env(const char *name, void *user) {
    static char values[8][200];
    static size_t next;
    char *value = values[next++ % 8];
    const char *at = user;
    size_t n = strlen(name);
    while (at && *at) {
        const char *end = at + strcspn(at, " ");
        if (strncmp(at, name, n) == 0 && at[n] == '=') {
            bool file = strncmp(at + n + 1, "FOLDER", 6) == 0;
            snprintf(value, 200, "%s%.*s", file ? folder : "",
                     (int)(end - at - (long)n - 1 - (file ? 6 : 0)), at + n + 1 + (file ? 6 : 0));
            for (char *c = value; *c; c++)
                *c = *c == '_' && strcmp(name, "AWS_PROFILE") == 0 ? ' ' : *c;
            return value;
        }
        at = *end ? end + 1 : end;
    }
    return NULL;
}

#define FILES "AWS_SHARED_CREDENTIALS_FILE=FOLDER/credentials AWS_CONFIG_FILE=FOLDER/config "

static void test_sources(void **state) {
    (void)state;
    static const struct {
        const char *env, *want; /* key/secret/token/region */
        const char *missing;    /* a part of it */
    } cases[] = {
        {"", "-/-/-/-", "AWS_ACCESS_KEY_ID"},
        {"HOME=/nowhere", "-/-/-/-", "no AWS profile default"},
        {"AWS_REGION=r1 AWS_DEFAULT_REGION=r2", "-/-/-/r1", "AWS_ACCESS_KEY_ID"},
        {"AWS_DEFAULT_REGION=r2", "-/-/-/r2", "AWS_ACCESS_KEY_ID"},
        {"AWS_ACCESS_KEY_ID=AK AWS_SECRET_ACCESS_KEY=some-secret AWS_REGION=r",
         "AK/some-secret/-/r", NULL},
        {FILES "AWS_ACCESS_KEY_ID=AK AWS_SECRET_ACCESS_KEY=some-secret AWS_SESSION_TOKEN=some-tok",
         "AK/some-secret/some-tok/us-west-2", NULL},
        {FILES "AWS_PROFILE=work AWS_ACCESS_KEY_ID=AK AWS_SECRET_ACCESS_KEY=some-secret",
         "AK/some-secret/-/eu-west-3", NULL},
        {"AWS_SHARED_CREDENTIALS_FILE=FOLDER AWS_CONFIG_FILE=FOLDER/config AWS_ACCESS_KEY_ID=AK "
         "AWS_SECRET_ACCESS_KEY=some-secret",
         "AK/some-secret/-/us-west-2", NULL},
        {"AWS_SHARED_CREDENTIALS_FILE=FOLDER AWS_CONFIG_FILE=FOLDER AWS_ACCESS_KEY_ID=AK "
         "AWS_SECRET_ACCESS_KEY=some-secret",
         "AK/some-secret/-/-", NULL},
        {FILES, "AKDEFAULT/default/secret+1/-/us-west-2", NULL},
        {FILES "AWS_PROFILE=work", "AKWORK/work-secret/work-token/eu-west-3", NULL},
        {FILES "AWS_PROFILE=work AWS_REGION=r", "AKWORK/work-secret/work-token/r", NULL},
        {FILES "AWS_PROFILE=in_config", "AKCONFIG/config-secret/-/-", NULL},
        {FILES "AWS_PROFILE=sso", "-/-/-/ap-south-1", "profile sso has its keys by sso_session"},
        {FILES "AWS_PROFILE=assume", "-/-/-/-", "by role_arn"},
        {FILES "AWS_PROFILE=roles_only", "-/-/-/-", "profile roles only has no keys"},
        {FILES "AWS_PROFILE=nobody", "-/-/-/-", "no AWS profile nobody"},
        {"HOME=FOLDER/home", "AKHOME/home-secret/-/-", NULL},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_aws aws;
        struct chela_error err = {0};
        CH_BUF_AUTO got = {0};
        assert_int_equal(ch_aws_load(&aws, env, (void *)cases[i].env, &err), 0);
        ch_buf_addf(&got, "%s/%s/%s/%s", aws.access_key ? aws.access_key : "-",
                    aws.secret_key ? aws.secret_key : "-",
                    aws.session_token ? aws.session_token : "-", aws.region ? aws.region : "-");
        if (strcmp(ch_buf_str(&got), cases[i].want) != 0)
            fail_msg("%s: got %s, want %s", cases[i].env, ch_buf_str(&got), cases[i].want);
        assert_true(!aws.missing == !cases[i].missing);
        if (aws.missing && !strstr(aws.missing, cases[i].missing))
            fail_msg("%s: %s", cases[i].env, aws.missing);
        ch_aws_release(&aws);
    }
}

static void test_failures(void **state) {
    (void)state;
    static const struct {
        const char *env;
        int rc;
        const char *message;
    } cases[] = {
        {"AWS_ACCESS_KEY_ID=AK", CHELA_EAUTH, "the environment has one half of an AWS key"},
        {FILES "AWS_PROFILE=half", CHELA_EAUTH,
         "AWS profile half has one half of an AWS key: the "
         "secret is missing"},
        {FILES "AWS_PROFILE=other_half", CHELA_EAUTH, "the access key id is missing"},
        {"AWS_CONFIG_FILE=FOLDER", CHELA_EIO, "test_aws"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_aws aws;
        struct chela_error err = {0};
        assert_int_equal(ch_aws_load(&aws, env, (void *)cases[i].env, &err), cases[i].rc);
        if (!strstr(err.message, cases[i].message))
            fail_msg("%s: %s", cases[i].env, err.message);
        assert_null(aws.access_key);
        assert_null(aws.region);
    }
}

static const char *const made[] = {"credentials", "config", "home/.aws/credentials"};
static const char *const folders[] = {"home", "home/.aws"};

static int make_files(void **state) {
    (void)state;
    static const char *const texts[] = {
        CREDENTIALS, CONFIG,
        "[default]\naws_access_key_id=AKHOME\naws_secret_access_key=home-secret\n"};
    char path[200];
    if (!mkdtemp(folder))
        return -1;
    for (size_t i = 0; i < CH_LEN(folders); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
        mkdir(path, 0700);
    }
    for (size_t i = 0; i < CH_LEN(made); i++)
        put_in(folder, made[i], texts[i]);
    return 0;
}

static int remove_files(void **state) {
    (void)state;
    char path[200];
    for (size_t i = 0; i < CH_LEN(made); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, made[i]);
        unlink(path);
    }
    for (size_t i = CH_LEN(folders); i-- > 0;) {
        snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
        rmdir(path);
    }
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
