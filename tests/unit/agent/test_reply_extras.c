/* test_reply_extras.c -- images and sounds of a reply as files, and the events about them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
/* after the headers it needs */
#include <cmocka.h>

#include "agent/context/reply_extras.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "support/stage.h"
#include "support/textfile.h"

#define PNG "iVBORw0KGgo=" /* 8 bytes */
#define WAV_HEAD 44

static char dir[] = "/tmp/chela-made-XXXXXX"; /* the workspace, and the current directory */
static struct ch_buf heard;                   /* events, each followed by ';' */

static void hear(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_WARNING)
        ch_buf_addf(&heard, "warning %.*s;", (int)ev->note.text.n, ev->note.text.p);
    else if (ev->type == CHELA_EV_MEDIA)
        ch_buf_addf(&heard, "media %.*s path=%.*s url=%.*s data=%.*s %zu;",
                    (int)ev->made.media_type.n, ev->made.media_type.p, (int)ev->made.path.n,
                    ev->made.path.p, (int)ev->made.url.n, ev->made.url.p, (int)ev->made.data.n,
                    ev->made.data.p, ev->made.bytes);
    else if (ev->type == CHELA_EV_SERVER_TOOL)
        ch_buf_addf(&heard, "server %.*s %.*s %.*s;", (int)ev->server.name.n, ev->server.name.p,
                    (int)ev->server.arguments.n, ev->server.arguments.p,
                    (int)ev->server.result.n, ev->server.result.p);
    else
        return;
    if (st->arg) /* the host leaves at the first event */
        chela_session_close(CH_TAKE(st->session));
}

static void open_run(struct stage *st) {
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.workspace = dir, .tools = "");
    stage_open(st, &opts, NULL, 0);
    st->on_event = hear;
    stage_start(st, "draw");
    ch_buf_clear(&heard);
}

static struct ch_msg *reply_of(const struct ch_block *blocks, size_t n) {
    return ch_msg_by(CH_MSG_ASSISTANT, blocks, n,
                     &(struct ch_msg_author){.api = "gemini", .model = CH_SV("fake-1")}, 7);
}

static struct ch_block made(enum ch_block_type type, const char *media_type, const char *data) {
    return (struct ch_block){
        .type = (uint8_t)type, .name = ch_sv_str(media_type), .text = ch_sv_str(data)};
}

/* The path of the nth file of the run. */
static const char *path_of(const struct stage *st, const char *kind, int n, const char *ending) {
    static char path[100];
    snprintf(path, sizeof(path), "media/%s-%s-%d.%s", kind, st->run->id, n, ending);
    return path;
}

static void load(const char *path, struct ch_buf *out) {
    struct chela_error err = {0};
    ch_buf_clear(out);
    if (ch_file_load(path, 100000, out, &err) < 0)
        fail_msg("%s", err.message);
}

/* --- files */

/* rate: of bare samples, which get the head of a WAV file; 0: the bytes are unchanged. */
static const struct {
    const char *type, *data, *bytes, *ending;
    enum ch_block_type block;
    uint32_t rate;
} saved[] = {
    {"image/png", PNG, "\x89PNG\r\n\x1a\n", "png", CH_BLOCK_IMAGE, 0},
    {"image/jpeg", "AQID", "\1\2\3", "jpg", CH_BLOCK_IMAGE, 0},
    {"IMAGE/WebP ; q=1", "AQID", "\1\2\3", "webp", CH_BLOCK_IMAGE, 0},
    {"image/gif", "AQI=", "\1\2", "gif", CH_BLOCK_IMAGE, 0},
    {"image/svg+xml", "AQ==", "\1", "bin", CH_BLOCK_IMAGE, 0},
    {"image/pngx", "AQ==", "\1", "bin", CH_BLOCK_IMAGE, 0},
    {"../../x.sh", "AQ==", "\1", "bin", CH_BLOCK_IMAGE, 0},
    {"", "", "", "bin", CH_BLOCK_IMAGE, 0},
    {"audio/L16", "AQID", "\1\2\3", "wav", CH_BLOCK_IMAGE, 0}, /* an image is never samples */
    {"audio/mpeg", "AQID", "\1\2\3", "mp3", CH_BLOCK_AUDIO, 0},
    {"audio/wav;rate=8000", "AQID", "\1\2\3", "wav", CH_BLOCK_AUDIO, 0},
    {"audio/pcm", "AQIDBA==", "\1\2\3\4", "wav", CH_BLOCK_AUDIO, 24000},
    {"audio/L16;codec=pcm;rate=16000", "AQI=", "\1\2", "wav", CH_BLOCK_AUDIO, 16000},
    {"audio/l16; rate=8000; codec=pcm", "AQI=", "\1\2", "wav", CH_BLOCK_AUDIO, 8000},
    {"audio/L16;rate=", "AQI=", "\1\2", "wav", CH_BLOCK_AUDIO, 24000},
    {"audio/L16;rate=123456789", "AQI=", "\1\2", "wav", CH_BLOCK_AUDIO, 24000},
    {"audio/L16;rate=0", "AQI=", "\1\2", "wav", CH_BLOCK_AUDIO, 24000},
    {"audio/L16;rate=-1", "AQI=", "\1\2", "wav", CH_BLOCK_AUDIO, 24000},
    {"audio/L16;rate=+8000", "AQI=", "\1\2", "wav", CH_BLOCK_AUDIO, 24000},
    {"audio/L16;rate=8000x", "AQI=", "\1\2", "wav", CH_BLOCK_AUDIO, 24000},
    {"audio/L16;rate", "AQI=", "\1\2", "wav", CH_BLOCK_AUDIO, 24000},
    {"audio/L16; Rate = 44100 ;", "AQI=", "\1\2", "wav", CH_BLOCK_AUDIO, 44100},
    {"audio/L16;rate=9999999", "AQI=", "\1\2", "wav", CH_BLOCK_AUDIO, 9999999},
};

static uint32_t le32(const char *p) {
    const unsigned char *b = (const unsigned char *)p;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void check_wav_head(struct ch_sv file, size_t n, uint32_t rate) {
    assert_int_equal(file.n, WAV_HEAD + n);
    assert_memory_equal(file.p, "RIFF", 4);
    assert_int_equal(le32(file.p + 4), 36 + n);
    assert_memory_equal(file.p + 8, "WAVEfmt \x10\0\0\0\1\0\1\0", 16);
    assert_int_equal(le32(file.p + 24), rate);
    assert_int_equal(le32(file.p + 28), 2 * rate);
    assert_memory_equal(file.p + 32, "\2\0\x10\0data", 8);
    assert_int_equal(le32(file.p + 40), n);
}

static void test_saved(void **state) {
    struct stage st;
    CH_BUF_AUTO file = {0};
    (void)state;
    open_run(&st);
    for (size_t i = 0; i < CH_LEN(saved); i++) {
        struct ch_block b = made(saved[i].block, saved[i].type, saved[i].data);
        struct ch_msg *m = ch_reply_extras_save(st.run, reply_of(&b, 1));
        const char *path = path_of(&st, saved[i].block == CH_BLOCK_IMAGE ? "image" : "audio", 1,
                                   saved[i].ending);
        size_t n = strlen(saved[i].bytes), head = saved[i].rate ? WAV_HEAD : 0;
        if (strcmp(m->blocks[0].id.p, path) != 0)
            fail_msg("%s: saved as %s", saved[i].type, m->blocks[0].id.p);
        load(path, &file);
        if (head)
            check_wav_head(ch_buf_sv(&file), n, saved[i].rate);
        assert_int_equal(file.n, head + n);
        assert_memory_equal(ch_buf_str(&file) + head, saved[i].bytes, n);
        assert_int_equal(unlink(path), 0);
        ch_msg_free(m);
    }
    assert_int_equal(heard.n, 0);
    stage_close(&st);
}

/* Blocks, their order and the author stay; what has a name or a URL is not saved. */
static void test_message_stays(void **state) {
    struct stage st;
    struct ch_block blocks[] = {made(CH_BLOCK_TEXT, "", "Look:"),
                                made(CH_BLOCK_IMAGE, "image/png", PNG),
                                made(CH_BLOCK_IMAGE, "image/png", "https://x.example/a.png"),
                                made(CH_BLOCK_AUDIO, "audio/ogg", "AQID"),
                                made(CH_BLOCK_IMAGE, "image/png", PNG),
                                made(CH_BLOCK_DOCUMENT, "application/pdf", "AQID")};
    (void)state;
    blocks[2].flags = CH_F_URL;
    blocks[3].id = CH_SV("media/old.ogg");
    open_run(&st);
    struct ch_msg *m = ch_reply_extras_save(st.run, reply_of(blocks, CH_LEN(blocks)));
    assert_int_equal(m->nblocks, CH_LEN(blocks));
    assert_int_equal(m->kind, CH_MSG_ASSISTANT);
    assert_int_equal(m->ts, 7);
    assert_string_equal(ch_msg_author(m).api, "gemini");
    assert_string_equal(ch_msg_author(m).model.p, "fake-1");
    for (size_t i = 0; i < CH_LEN(blocks); i++) {
        assert_int_equal(m->blocks[i].type, blocks[i].type);
        assert_string_equal(m->blocks[i].text.p, blocks[i].text.p);
        if (i == 1 || i == 4)
            assert_string_equal(m->blocks[i].id.p, path_of(&st, "image", i == 1 ? 1 : 2, "png"));
        else
            assert_true(ch_sv_eq(m->blocks[i].id, blocks[i].id));
    }
    assert_int_equal(unlink(m->blocks[1].id.p), 0);
    assert_int_equal(unlink(m->blocks[4].id.p), 0);
    ch_msg_free(m);
    stage_close(&st);
}

static void test_no_media(void **state) {
    struct ch_block text = made(CH_BLOCK_TEXT, "", "hi");
    struct ch_block document = made(CH_BLOCK_DOCUMENT, "application/pdf", "AQID");
    struct ch_msg *m = reply_of(&text, 1), *empty = reply_of(NULL, 0), *d = reply_of(&document, 1);
    struct stage st;
    (void)state;
    open_run(&st);
    assert_ptr_equal(ch_reply_extras_save(st.run, m), m);
    assert_ptr_equal(ch_reply_extras_save(st.run, empty), empty);
    assert_ptr_equal(ch_reply_extras_save(st.run, d), d);
    assert_null(ch_reply_extras_save(st.run, NULL));
    ch_msg_free(m);
    ch_msg_free(empty);
    ch_msg_free(d);
    stage_close(&st);
}

/* A file or a link that has the name already is left alone. */
static void test_names_taken(void **state) {
    struct ch_block b = made(CH_BLOCK_IMAGE, "image/png", PNG);
    CH_BUF_AUTO file = {0};
    struct stage st;
    (void)state;
    open_run(&st);
    rmdir("media"); /* of another test */
    assert_int_equal(mkdir("media", 0755), 0);
    put(path_of(&st, "image", 1, "png"), "mine");
    assert_int_equal(symlink("../planted", path_of(&st, "image", 2, "png")), 0);
    struct ch_msg *m = ch_reply_extras_save(st.run, reply_of(&b, 1));
    assert_string_equal(m->blocks[0].id.p, path_of(&st, "image", 3, "png"));
    load(path_of(&st, "image", 1, "png"), &file);
    assert_string_equal(ch_buf_str(&file), "mine");
    assert_int_equal(access("planted", F_OK), -1);
    for (int i = 1; i <= 3; i++)
        assert_int_equal(unlink(path_of(&st, "image", i, "png")), 0);
    ch_msg_free(m);
    stage_close(&st);
}

/* A block whose data is not base64 is dropped; the others stay. */
static void test_not_base64(void **state) {
    struct ch_block blocks[] = {made(CH_BLOCK_IMAGE, "image/png", "AQID*"),
                                made(CH_BLOCK_TEXT, "", "Look:"),
                                made(CH_BLOCK_IMAGE, "image/png", PNG),
                                made(CH_BLOCK_AUDIO, "audio/mpeg", "AQID")};
    struct stage st;
    (void)state;
    blocks[3].flags = CH_F_INVALID; /* the stream held a part that was not base64 */
    open_run(&st);
    struct ch_msg *m = ch_reply_extras_save(st.run, reply_of(blocks, CH_LEN(blocks)));
    assert_string_equal(ch_buf_str(&heard),
                        "warning image of the model is dropped: its data is not valid base64;"
                        "warning audio of the model is dropped: its data is not valid base64;");
    assert_int_equal(m->nblocks, 2);
    assert_string_equal(m->blocks[0].text.p, "Look:");
    assert_string_equal(m->blocks[1].id.p, path_of(&st, "image", 1, "png"));
    assert_int_equal(unlink(m->blocks[1].id.p), 0);
    ch_msg_free(m);
    assert_null(ch_reply_extras_save(st.run, reply_of(blocks, 1)));
    assert_false(st.run->dead);
    stage_close(&st);
}

static void test_limit(void **state) {
    struct ch_block blocks[CH_LIMIT_REPLY_MEDIA + 2];
    struct stage st;
    size_t n = CH_LEN(blocks);
    (void)state;
    for (size_t i = 0; i < n; i++)
        blocks[i] = made(CH_BLOCK_IMAGE, "image/png", PNG);
    open_run(&st);
    struct ch_msg *m = ch_reply_extras_save(st.run, reply_of(blocks, n));
    for (size_t i = 0; i < CH_LIMIT_REPLY_MEDIA; i++)
        assert_int_equal(unlink(m->blocks[i].id.p), 0);
    assert_int_equal(m->nblocks, n);
    assert_int_equal(m->blocks[n - 2].id.n + m->blocks[n - 1].id.n, 0);
    assert_string_equal(ch_buf_str(&heard),
                        "warning 2 more images and sounds of the model are not saved in media: "
                        "20 files of one reply are saved; ask the model for fewer at a time;");
    ch_msg_free(m);
    stage_close(&st);
}

/* The folder is a link, which is not followed. The next block is tried too, unless the host
 * closed the session. */
static void test_not_saved(void **state) {
    struct ch_block blocks[] = {made(CH_BLOCK_IMAGE, "image/png", PNG),
                                made(CH_BLOCK_AUDIO, "audio/mpeg", "AQID")};
    (void)state;
    rmdir("media"); /* of another test */
    assert_int_equal(mkdir("elsewhere", 0755), 0);
    assert_int_equal(symlink("elsewhere", "media"), 0);
    for (int leave = 0; leave < 2; leave++) {
        struct stage st;
        open_run(&st);
        st.arg = leave;
        struct ch_msg *m = ch_reply_extras_save(st.run, reply_of(blocks, CH_LEN(blocks)));
        assert_int_equal(m == NULL, leave);
        assert_non_null(strstr(ch_buf_str(&heard), "warning image of the model is not saved"));
        assert_int_equal(strstr(ch_buf_str(&heard), "warning audio of the model") == NULL, leave);
        for (size_t i = 0; m && i < CH_LEN(blocks); i++)
            assert_int_equal(m->blocks[i].id.n, 0);
        ch_msg_free(m);
        stage_close(&st);
    }
    assert_int_equal(unlink("media"), 0);
    assert_int_equal(rmdir("elsewhere"), 0); /* fails unless the folder is empty */
}

/* --- events */

#define OPAQUE(what, json) \
    { .type = CH_BLOCK_OPAQUE, .name = CH_SV(what), .text = CH_SV(json) }

static const struct ch_block extras[] = {
    {.type = CH_BLOCK_TEXT, .text = CH_SV("abc")},
    {.type = CH_BLOCK_IMAGE, .text = CH_SV("AQID"), .id = CH_SV("media/1"), .name = CH_SV("a/b")},
    {.type = CH_BLOCK_AUDIO, .text = CH_SV("AQI="), .name = CH_SV("c/d")},
    {.type = CH_BLOCK_IMAGE, .flags = CH_F_URL, .text = CH_SV("https://x.example")},
    {.type = CH_BLOCK_IMAGE, .text = CH_SV("AQ==")},
    {.type = CH_BLOCK_IMAGE, .text = CH_SV("AQ ID\nAQ")},
    {.type = CH_BLOCK_IMAGE},
    OPAQUE("executableCode", "{\"executableCode\":{\"language\":\"PYTHON\",\"code\":\"1\"}}"),
    OPAQUE("codeExecutionResult", "{\"codeExecutionResult\":{\"outcome\":\"OUTCOME_OK\","
                                  "\"output\":\"one\"}}"),
    OPAQUE("groundingMetadata",
           "{\"groundingChunks\":[{\"web\":{\"uri\":\"u\"}}],\"groundingSupports\":[{\"segment\":"
           "{\"startIndex\":0,\"endIndex\":2},\"groundingChunkIndices\":[0]}]}"),
};

static void test_tell(void **state) {
    struct ch_msg *m = reply_of(extras, CH_LEN(extras));
    CH_BUF_AUTO citations = {0};
    struct stage st;
    (void)state;
    open_run(&st);
    assert_true(ch_reply_extras_tell(st.run, m, &citations));
    assert_string_equal(ch_buf_str(&citations), "[{\"url\":\"u\",\"start\":0,\"end\":2}]");
    assert_string_equal(ch_buf_str(&heard),
                        "server code_execution {\"language\":\"PYTHON\",\"code\":\"1\"} one;"
                        "media a/b path=media/1 url= data=AQID 3;"
                        "media c/d path= url= data=AQI= 2;"
                        "media  path= url=https://x.example data= 0;"
                        "media  path= url= data=AQ== 1;"
                        "media  path= url= data=AQ ID\nAQ 4;"
                        "media  path= url= data= 0;");
    ch_msg_free(m);
    stage_close(&st);
}

/* No event follows after the host closed the session. */
static void test_tell_closed(void **state) {
    (void)state;
    for (size_t from = 1; from < CH_LEN(extras) - 2; from += 6) { /* media first; a call first */
        struct ch_msg *m = reply_of(extras + from, CH_LEN(extras) - from);
        CH_BUF_AUTO citations = {0};
        struct stage st;
        open_run(&st);
        st.arg = 1;
        assert_false(ch_reply_extras_tell(st.run, m, &citations));
        assert_ptr_equal(strchr(ch_buf_str(&heard), ';'), ch_buf_str(&heard) + heard.n - 1);
        ch_msg_free(m);
        stage_close(&st);
    }
}

static void test_nothing_to_tell(void **state) {
    struct ch_block text = made(CH_BLOCK_TEXT, "", "hi");
    struct ch_msg *m = reply_of(&text, 1);
    CH_BUF_AUTO citations = {0};
    struct stage st;
    (void)state;
    open_run(&st);
    assert_true(ch_reply_extras_tell(st.run, m, &citations));
    assert_int_equal(citations.n, 0);
    assert_int_equal(heard.n, 0);
    ch_msg_free(m);
    stage_close(&st);
}

/* --- what a message holds */

static const struct {
    struct ch_block block;
    bool in, media;
} kinds[] = {
    {{.type = CH_BLOCK_TEXT, .text = CH_SV("a")}, false, false},
    {{.type = CH_BLOCK_TEXT, .text = CH_SV("a"), .extra = CH_SV("[]")}, true, false},
    {{.type = CH_BLOCK_REASONING, .extra = CH_SV("s")}, false, false},
    {{.type = CH_BLOCK_TOOL_CALL, .extra = CH_SV("s")}, false, false},
    {{.type = CH_BLOCK_DOCUMENT}, false, false},
    {{.type = CH_BLOCK_OPAQUE}, true, false},
    {{.type = CH_BLOCK_IMAGE}, true, true},
    {{.type = CH_BLOCK_AUDIO}, true, true},
};

static void test_kinds(void **state) {
    (void)state;
    assert_false(ch_reply_extras_in(NULL));
    assert_false(ch_reply_extras_has_media(NULL));
    for (size_t i = 0; i < CH_LEN(kinds); i++) {
        const struct ch_block both[] = {kinds[0].block, kinds[i].block};
        struct ch_msg *m = reply_of(both, 2);
        if (ch_reply_extras_in(m) != kinds[i].in || ch_reply_extras_has_media(m) != kinds[i].media)
            fail_msg("row %zu", i);
        ch_msg_free(m);
    }
}

static void test_files(void **state) {
    const struct ch_block blocks[] = {
        {.type = CH_BLOCK_IMAGE, .id = CH_SV("one")},
        {.type = CH_BLOCK_IMAGE},
        {.type = CH_BLOCK_DOCUMENT, .id = CH_SV("d")},
        {.type = CH_BLOCK_TOOL_CALL, .id = CH_SV("c")},
        {.type = CH_BLOCK_AUDIO, .id = CH_SV("two")},
    };
    static const size_t want[] = {4, 2, 2, 0}; /* by the message that the search begins at */
    struct ch_transcript *t;
    struct stage st;
    (void)state;
    open_run(&st);
    t = &st.session->transcript;
    size_t first = t->n;
    ch_transcript_add(t, reply_of(blocks, CH_LEN(blocks)));
    ch_transcript_add(t, ch_msg_new(CH_MSG_USER, blocks, CH_LEN(blocks), 1));
    ch_transcript_add(t, reply_of(blocks, CH_LEN(blocks)));
    for (size_t i = 0; i < CH_LEN(want); i++) {
        CH_ARENA_AUTO arena = {0};
        struct chela_str *out = NULL;
        assert_int_equal(ch_reply_extras_files(st.run, first + i, &arena, &out), want[i]);
        assert_int_equal(out != NULL, want[i] > 0);
        for (size_t k = 0; k < want[i]; k++)
            assert_true(ch_sv_is(ch_unstr(out[k]), k % 2 ? "two" : "one"));
    }
    stage_close(&st);
}

static int make_workspace(void **state) {
    (void)state;
    return mkdtemp(dir) ? chdir(dir) : -1;
}

static int remove_workspace(void **state) {
    (void)state;
    ch_buf_release(&heard);
    rmdir("media");
    return chdir("/") | rmdir(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saved),           cmocka_unit_test(test_message_stays),
        cmocka_unit_test(test_no_media),        cmocka_unit_test(test_names_taken),
        cmocka_unit_test(test_not_base64),
        cmocka_unit_test(test_limit),           cmocka_unit_test(test_not_saved),
        cmocka_unit_test(test_tell),            cmocka_unit_test(test_tell_closed),
        cmocka_unit_test(test_nothing_to_tell), cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, make_workspace, remove_workspace);
}
