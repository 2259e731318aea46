/* write.c -- the tool `write`: a whole file at once, atomically. */
#include "tool/call/call_path.h"
#include "tool/builtin/files/write.h"

#include "tool/builtin/files/file.h"
#include "json/writer.h"

int ch_write_check(chela_call *call, void *user) {
    const char *content;
    int rc = ch_file_check(call, user);

    return rc < 0 ? rc : chela_arg_string(call, "content", &content);
}

static void write_set_details(chela_call *call, const char *path, size_t bytes) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "path", path);
    ch_jw_kint(&w, "bytesWritten", (int64_t)bytes);
    ch_jw_end(&w, '}');
    chela_result_details(call, ch_buf_str(&json));
}

int ch_write_run(chela_call *call, void *user) {
    struct ch_place place;
    const char *path, *content;

    (void)user;
    int rc = ch_file_arg(call, &path);
    if (rc == 0)
        rc = chela_arg_string(call, "content", &content);
    if (rc < 0)
        return rc;
    struct ch_sv text = ch_sv_str(content);
    rc = ch_call_path_place(call, path, CH_MAKING_FILE, true, &place);
    if (rc == 0)
        rc = ch_file_replace(call, &place, NULL, text);
    ch_place_release(&place);
    if (rc < 0)
        return ch_call_path_refuse(call, "write", path, rc);
    chela_result_printf(call, "Wrote %s (%zu bytes)", path, text.n);
    write_set_details(call, path, text.n);
    return 0;
}
