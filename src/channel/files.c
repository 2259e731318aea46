/* files.c -- see files.h. The disk is accessed only on worker threads. */
#include "channel/files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "channel/picture.h"
#include "io/worker.h"

#define FOLDER "inbound"

struct ch_filing {
    struct ch_work work;
    struct chela_channel_arrival *in; /* NULL: cancelled */
    struct ch_arena *arena;
    char *workspace, *name; /* owned; workspace NULL: not saved */
    struct ch_buf bytes;
    struct ch_picture picture;
    int error; /* errno */
    void (*done)(void *tag);
    void *tag;
};

static void files_drop(struct ch_work *w) {
    struct ch_filing *f = CH_CONTAINER(w, struct ch_filing, work);
    ch_free(f->workspace);
    ch_free(f->name);
    ch_buf_release(&f->bytes);
    ch_free(f);
}

/* --- saving in the workspace */

/* Whether n more bytes fit, replacing `name`: 0 or an errno. Concurrent saves are not
 * counted. */
static int files_check_room(int dir, const char *name, size_t n) {
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    uint64_t bytes = n;
    size_t files = 1;
    if (!d) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return why;
    }
    for (struct dirent *e; (e = readdir(d));) {
        struct stat st;
        if (strcmp(e->d_name, name) == 0 ||
            fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
            continue;
        bytes += (uint64_t)st.st_size;
        files++;
    }
    closedir(d);
    return bytes > CH_LIMIT_INBOUND_FOLDER || files > CH_LIMIT_INBOUND_FILES ? EDQUOT : 0;
}

/* A redelivered message replaces its own file; a partial file is removed. */
static int save_in(int dir, const char *name, struct ch_sv bytes) {
    int why = files_check_room(dir, name, bytes.n);
    if (why)
        return why;
    unlinkat(dir, name, 0);
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    why = -ch_file_write(fd, bytes);
    close(fd);
    if (why)
        unlinkat(dir, name, 0);
    return why;
}

static void files_run(struct ch_work *w) {
    struct ch_filing *f = CH_CONTAINER(w, struct ch_filing, work);
    f->picture = ch_picture_look(ch_buf_sv(&f->bytes));
    if (!f->workspace)
        return;
    int dir = ch_file_open_folder(f->workspace, FOLDER, 0700);
    f->error = dir < 0 ? errno : save_in(dir, f->name, ch_buf_sv(&f->bytes));
    if (dir >= 0)
        close(dir);
}

/* --- showing images to the model */

static size_t shown_bytes(const struct chela_channel_arrival *in) {
    size_t n = 0;
    for (size_t i = 0; i < in->nmedia; i++)
        n += in->media[i].len;
    return n;
}

static void files_show(struct ch_filing *f) {
    struct chela_channel_arrival *in = f->in;
    const char *why_not = f->picture.why_not;
    if (!f->picture.type)
        return;
    if (!why_not && (in->nmedia == CH_LIMIT_MESSAGE_FILES ||
                     f->bytes.n + shown_bytes(in) > CH_LIMIT_MESSAGE_PICTURES))
        why_not = "there are too many";
    if (why_not) {
        in->text = ch_arena_printf(f->arena, "%s\n[a picture cannot be shown: %s]", in->text,
                                   why_not);
        return;
    }
    if (!in->media)
        in->media = ch_arena_zalloc(f->arena, CH_LIMIT_MESSAGE_FILES * sizeof(*in->media));
    in->media[in->nmedia++] = (struct chela_media){
        .data = ch_arena_sv(f->arena, ch_buf_sv(&f->bytes)).p,
        .len = f->bytes.n,
        .media_type = f->picture.type,
        .name = ch_arena_str(f->arena, ch_sv_str(f->name))};
}

static void files_tell(const struct ch_filing *f) {
    struct chela_channel_arrival *in = f->in;
    if (f->error)
        ch_log(CH_LOG_WARN, in->about.channel, "a file of message %s cannot be kept: %s",
               in->about.message_id, strerror(f->error));
    if (f->error == EDQUOT)
        in->text = ch_arena_printf(f->arena, "%s\n[not saved: " FOLDER "/ is full]", in->text);
    else if (!f->error && f->workspace)
        in->text = ch_arena_printf(f->arena, "%s\n[saved as " FOLDER "/%s]", in->text, f->name);
}

static void files_finished(struct ch_work *w) {
    struct ch_filing *f = CH_CONTAINER(w, struct ch_filing, work);
    void (*done)(void *) = f->in ? f->done : NULL;
    void *tag = f->tag;
    if (done) {
        files_tell(f);
        if (!f->in->overheard)
            files_show(f);
    }
    files_drop(w);
    if (done)
        done(tag);
}

/* --- interface for channels */

/* The extension of a file name, ".pdf"; for an image without one, derived from its bytes. */
static void add_ending(struct ch_buf *out, struct ch_sv name, struct ch_sv bytes) {
    const char *dot = name.n ? memrchr(name.p, '.', name.n) : NULL;
    size_t n = dot ? name.n - (size_t)(dot + 1 - name.p) : 0;
    bool plain = n >= 1 && n <= 8;
    for (size_t i = 0; plain && i < n; i++)
        plain = isalnum((unsigned char)dot[1 + i]) && (unsigned char)dot[1 + i] < 128;
    const char *ending = plain ? NULL : ch_picture_ending(bytes);
    if (plain)
        ch_buf_addf(out, ".%.*s", (int)n, dot + 1);
    else if (ending)
        ch_buf_add_str(out, ending);
}

struct ch_filing *ch_file_take(chela_runtime *rt, struct chela_channel_arrival *in,
                               struct ch_arena *a, const char *workspace,
                               const struct ch_file *file, void (*done)(void *tag), void *tag) {
    struct ch_filing *f = ch_alloc(sizeof(*f));
    CH_BUF_AUTO name = {0};
    ch_buf_add_str(&name, file->stem);
    add_ending(&name, file->name, file->bytes);
    f->work = (struct ch_work){.run = files_run, .done = files_finished, .dropped = files_drop};
    f->in = in;
    f->arena = a;
    f->workspace = workspace ? ch_strdup(workspace) : NULL;
    f->name = ch_buf_take(&name);
    f->done = done;
    f->tag = tag;
    ch_buf_add_sv(&f->bytes, file->bytes);
    ch_work_submit(rt->workers, &f->work);
    return f;
}

void ch_filing_drop(struct ch_filing *f) {
    f->in = NULL;
}

void ch_pictures_fit(struct chela_channel_arrival *in, struct ch_media_total held,
                     struct ch_arena *a) {
    size_t fit = 0;
    for (size_t i = 0; i < in->nmedia; i++) {
        size_t bytes = (in->media[i].len + 2) / 3 * 4;
        if (held.n >= CH_LIMIT_SESSION_PICTURES ||
            held.bytes + bytes > CH_LIMIT_SESSION_PICTURE_BYTES) {
            in->text = ch_arena_printf(a, "%s\n[a picture cannot be shown: this conversation has "
                                          "too many]", in->text);
            continue;
        }
        held.n++;
        held.bytes += bytes;
        in->media[fit++] = in->media[i];
    }
    in->nmedia = fit;
}
