/* openai_media.c -- see openai_media.h. */
#include "model/vendor/openai/openai_media.h"

#include "json/members.h"
#include "model/message/sound.h"
#include "model/vendor/openai/openai_calls.h"

#define KEY_SOUND CH_OPENAI_MEDIA_KEYS
#define KEY_IMAGES (CH_OPENAI_MEDIA_KEYS + 1)
/* The keys after these are used for calls: further images are dropped. */
#define MOST_IMAGES (CH_OPENAI_CALL_KEYS - KEY_IMAGES)

/* data:image/png;base64,DATA, or a URL of another kind. */
static int fold_image(struct ch_openai_media *m, struct ch_fold *f, struct ch_sv url) {
    unsigned key = KEY_IMAGES + m->images;
    struct ch_sv rest = url;
    if (!url.n || m->images == MOST_IMAGES)
        return CHELA_OK;
    m->images++;
    if (!ch_sv_starts(url, "data:")) {
        int rc = ch_fold_media(f, key, CH_BLOCK_IMAGE, CH_SV(""), CH_SV(""));
        ch_fold_flag(f, key, CH_F_URL);
        return rc < 0 ? rc : ch_fold_replace(f, key, url);
    }
    rest = ch_sv(url.p + 5, url.n - 5);
    struct ch_sv head = ch_sv_split(&rest, ',');
    return ch_fold_media(f, key, CH_BLOCK_IMAGE, ch_sv_split(&head, ';'), rest);
}

int ch_openai_fold_images(struct ch_openai_media *m, struct ch_fold *f, struct ch_sv array,
                          struct ch_buf *scratch) {
    struct image {
        struct ch_sv url;
    };
    static const struct ch_member inside[] = {CH_MEMBER(struct image, url, "url", CH_MEMBER_STR)};
    static const struct ch_member members[] = {CH_MEMBERS_IN("image_url", inside)};
    struct ch_pull p;
    int rc = CHELA_OK;
    ch_pull_init(&p, array, scratch);
    if (!ch_pull_enter(&p, '['))
        return rc;
    while (rc == CHELA_OK && ch_pull_item(&p)) {
        struct image x = {0};
        ch_members_pull(&p, members, CH_LEN(members), &x);
        rc = fold_image(m, f, x.url);
    }
    return rc;
}

int ch_openai_fold_sound(struct ch_openai_media *m, struct ch_fold *f, struct ch_sv object,
                         struct ch_buf *scratch, struct ch_sv *transcript) {
    struct sound {
        struct ch_sv data, transcript;
    } x = {0};
    static const struct ch_member members[] = {
        CH_MEMBER(struct sound, data, "data", CH_MEMBER_STR),
        CH_MEMBER(struct sound, transcript, "transcript", CH_MEMBER_STR),
    };
    ch_members_read(object, scratch, members, CH_LEN(members), &x);
    if (x.transcript.n)
        *transcript = x.transcript;
    if (!x.data.n)
        return CHELA_OK;
    m->sound = true;
    return ch_fold_media(f, KEY_SOUND, CH_BLOCK_AUDIO, CH_SV(""), x.data);
}

void ch_openai_media_end(const struct ch_openai_media *m, struct ch_fold *f) {
    if (!m->sound)
        return;
    const char *type = ch_sound_type(ch_fold_block_text(f, KEY_SOUND));
    if (!type)
        type = "audio/L16;rate=24000"; /* a stream sends bare samples */
    ch_fold_field(f, KEY_SOUND, ch_sv_str(type), CH_SV(""));
}
