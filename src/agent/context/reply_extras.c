/* reply_extras.c -- see reply_extras.h.
 *
 * The name of a file is made here; the model chooses the bytes only. Files are written on
 * the loop's thread: a reply has few, and the page cache takes them. */
#include "agent/context/reply_extras.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/journal/emit.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/limits.h"
#include "model/wire/reply_findings.h"

#define FOLDER "media"
#define MOST_NAMES 10000 /* names that are tried for one file */
#define DEFAULT_RATE 24000

static bool is_made(const struct ch_block *b) {
    return b->type == CH_BLOCK_IMAGE || b->type == CH_BLOCK_AUDIO;
}

bool ch_reply_extras_has_media(const struct ch_msg *m) {
    for (uint32_t i = 0; m && i < m->nblocks; i++)
        if (is_made(&m->blocks[i]))
            return true;
    return false;
}

/* --- files */

/* The ending of a file's name; "bin" for a type that is not listed, so that no program takes
 * the file for something to execute. */
static const char *ending_of(struct ch_sv type) {
    static const struct {
        const char *type, *ending;
    } endings[] = {
        {"image/png", "png"},   {"image/jpeg", "jpg"}, {"image/webp", "webp"},
        {"image/gif", "gif"},   {"audio/wav", "wav"},  {"audio/x-wav", "wav"},
        {"audio/mpeg", "mp3"},  {"audio/mp3", "mp3"},  {"audio/ogg", "ogg"},
        {"audio/flac", "flac"}, {"audio/aac", "aac"},  {"audio/l16", "wav"},
        {"audio/pcm", "wav"},
    };
    struct ch_sv rest = type, name = ch_sv_trim(ch_sv_split(&rest, ';'));
    for (size_t i = 0; i < CH_LEN(endings); i++)
        if (ch_sv_eq_nocase(name, ch_sv_str(endings[i].type)))
            return endings[i].ending;
    return "bin";
}

/* The number of 1 to 7 digits that is the value of a parameter; 0: the value is another. */
static uint32_t parameter_number(struct ch_sv value) {
    uint32_t n = 0;
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9' || i == 7)
            return 0;
        n = 10 * n + (uint32_t)(value.p[i] - '0');
    }
    return n;
}

/* True for bare samples: 16 bits, one channel; *rate in Hz, DEFAULT_RATE unless the type has a
 * usable rate. */
static bool is_samples(struct ch_sv type, uint32_t *rate) {
    struct ch_sv rest = type, name = ch_sv_trim(ch_sv_split(&rest, ';'));
    *rate = DEFAULT_RATE;
    while (rest.n) {
        struct ch_sv value = ch_sv_split(&rest, ';'), key = ch_sv_trim(ch_sv_split(&value, '='));
        uint32_t n = parameter_number(ch_sv_trim(value));
        if (ch_sv_eq_nocase(key, CH_SV("rate")) && n)
            *rate = n;
    }
    return ch_sv_eq_nocase(name, CH_SV("audio/l16")) || ch_sv_eq_nocase(name, CH_SV("audio/pcm"));
}

static void put_le(struct ch_buf *out, uint32_t v, int bytes) {
    for (int i = 0; i < bytes; i++)
        ch_buf_addc(out, (char)(v >> (8 * i)));
}

/* The head of a WAV file for n bytes of samples. */
static void add_wav_head(struct ch_buf *out, uint32_t n, uint32_t rate) {
    CH_BUF_LIT(out, "RIFF");
    put_le(out, n + 36, 4);
    CH_BUF_LIT(out, "WAVEfmt ");
    put_le(out, 16, 4);
    put_le(out, 1, 2); /* PCM */
    put_le(out, 1, 2); /* channels */
    put_le(out, rate, 4);
    put_le(out, 2 * rate, 4);
    put_le(out, 2, 2);
    put_le(out, 16, 2);
    CH_BUF_LIT(out, "data");
    put_le(out, n, 4);
}

/* Opens a new file; its path in the workspace is left in `path`. */
static int create_file(const chela_run *run, int dir, const struct ch_block *b,
                       struct ch_buf *path) {
    for (unsigned i = 1; i <= MOST_NAMES; i++) {
        ch_buf_clear(path);
        ch_buf_addf(path, FOLDER "/%s-%s-%u.%s", ch_block_type_name(b->type), run->id, i,
                    ending_of(b->name));
        int fd = openat(dir, ch_buf_str(path) + sizeof(FOLDER),
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Returns 0 or an errno. */
static int write_out(int fd, struct ch_sv bytes) {
    int why = -ch_file_write(fd, bytes);
    if (close(fd) < 0 && !why)
        why = errno;
    return why;
}

/* Writes the bytes of a block to a new file. Returns 0 or an errno. */
static int save_bytes(const chela_run *run, const struct ch_block *b, struct ch_sv bytes,
                      struct ch_buf *path) {
    CH_BUF_AUTO file = {0};
    uint32_t rate;
    if (b->type == CH_BLOCK_AUDIO && is_samples(b->name, &rate))
        add_wav_head(&file, (uint32_t)bytes.n, rate);
    ch_buf_add_sv(&file, bytes);
    int dir = ch_file_open_folder(run->session->agent->workspace, FOLDER, 0755);
    if (dir < 0)
        return errno;
    int fd = create_file(run, dir, b, path), why = fd < 0 ? errno : 0;
    if (fd >= 0)
        why = write_out(fd, ch_buf_sv(&file));
    if (fd >= 0 && why)
        unlinkat(dir, ch_buf_str(path) + sizeof(FOLDER), 0);
    close(dir);
    return why;
}

/* Decodes the data of a block. False: the data cannot be used. */
static bool decode_block(chela_run *run, const struct ch_block *b, struct ch_buf *bytes) {
    if (!(b->flags & CH_F_INVALID) && ch_base64_read(b->text, bytes))
        return true;
    ch_emit_warning(run, "%s of the model is dropped: its data is not valid base64",
                    ch_block_type_name(b->type));
    return false;
}

/* Saves a block and names the file in it. */
static bool save_block(chela_run *run, struct ch_block *b, struct ch_sv bytes,
                       struct ch_arena *a) {
    CH_BUF_AUTO path = {0};
    int why = save_bytes(run, b, bytes, &path);
    if (why)
        ch_emit_warning(run, "%s of the model is not saved in " FOLDER ": %s",
                        ch_block_type_name(b->type), strerror(why));
    else
        b->id = ch_arena_sv(a, ch_buf_sv(&path));
    return why == 0;
}

/* Copies the blocks that stay to `to`, and returns their number. */
static size_t save_blocks(chela_run *run, const struct ch_msg *m, struct ch_block *to,
                          struct ch_arena *a) {
    size_t n = 0, saved = 0, refused = 0;
    for (uint32_t i = 0; i < m->nblocks && !run->dead; i++) {
        struct ch_block *b = &to[n++];
        CH_BUF_AUTO bytes = {0};
        *b = m->blocks[i];
        if (!is_made(b) || b->flags & CH_F_URL || b->id.n)
            continue;
        if (!decode_block(run, b, &bytes)) /* such a block could not be stored */
            n--;
        else if (saved == CH_LIMIT_REPLY_MEDIA)
            refused++;
        else
            saved += save_block(run, b, ch_buf_sv(&bytes), a);
    }
    if (refused && !run->dead)
        ch_emit_warning(run,
                        "%zu more images and sounds of the model are not saved in " FOLDER
                        ": %d files of one reply are saved; ask the model for fewer at a time",
                        refused, CH_LIMIT_REPLY_MEDIA);
    return n;
}

struct ch_msg *ch_reply_extras_save(chela_run *run, struct ch_msg *m) {
    CH_ARENA_AUTO arena = {0};
    if (!ch_reply_extras_has_media(m))
        return m;
    struct ch_block *blocks = ch_arena_alloc(&arena, m->nblocks * sizeof(*blocks));
    size_t n = save_blocks(run, m, blocks, &arena);
    struct ch_msg *named = n && !run->dead ? ch_msg_like(m, m->kind, blocks, n) : NULL;
    ch_msg_free(m);
    return named;
}

/* --- events */

static bool tell_media(chela_run *run, const struct ch_block *b) {
    bool url = b->flags & CH_F_URL;
    struct chela_event ev = {.type = CHELA_EV_MEDIA,
                             .made = {.media_type = ch_str(b->name),
                                      .path = ch_str(b->id),
                                      .url = ch_str(url ? b->text : CH_SV("")),
                                      .data = ch_str(url ? CH_SV("") : b->text),
                                      .bytes = url ? 0 : ch_base64_size(b->text)}};
    return ch_emit(run, &ev);
}

bool ch_reply_extras_tell(chela_run *run, const struct ch_msg *m, struct ch_buf *citations) {
    struct ch_findings f = {0};
    bool on = true;
    ch_findings_read(&f, m);
    ch_findings_write(&f, citations);
    for (size_t i = 0; on && i < ch_findings_ncalls(&f); i++) {
        const struct ch_server_call *c = ch_findings_call_at(&f, i);
        struct chela_event ev = {.type = CHELA_EV_SERVER_TOOL,
                                 .server = {.id = ch_str(c->id),
                                            .name = ch_str(c->name),
                                            .arguments = ch_str(c->arguments),
                                            .result = ch_str(c->result)}};
        on = ch_emit(run, &ev);
    }
    ch_findings_release(&f);
    for (uint32_t i = 0; on && i < m->nblocks; i++)
        on = !is_made(&m->blocks[i]) || tell_media(run, &m->blocks[i]);
    return on;
}

size_t ch_reply_extras_files(const chela_run *run, size_t began, struct ch_arena *a,
                             struct chela_str **out) {
    const struct ch_transcript *t = &run->session->transcript;
    size_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1 && n)
            *out = ch_arena_alloc(a, n * sizeof(**out));
        n = 0;
        for (size_t i = began; i < t->n; i++)
            for (uint32_t k = 0; t->msgs[i]->kind == CH_MSG_ASSISTANT && k < t->msgs[i]->nblocks;
                 k++) {
                const struct ch_block *b = &t->msgs[i]->blocks[k];
                if (!is_made(b) || !b->id.n)
                    continue;
                if (pass == 1)
                    (*out)[n] = ch_str(ch_arena_sv(a, b->id));
                n++;
            }
    }
    return n;
}
