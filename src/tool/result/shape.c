/* shape.c -- see shape.h. */
#include "tool/result/shape.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tool/result/result.h"
#include "tool/result/sanitize.h"
#include "tool/result/shape_json.h"
#include "tool/result/spill.h"

#define WORDS_MAX 600     /* characters reserved for heading and note */
#define TAIL_LOOK 2000    /* bytes at the end searched for telling words */
#define SNIFF (8 * CH_KB) /* bytes at the start checked for binary data */

/* --- room ---------------------------------------------------------------- */

struct ch_shape_room ch_room_of(int64_t window) {
    uint64_t tokens = window > 0 ? (uint64_t)window : 0;
    struct ch_shape_room room = {
        .chars = tokens >= 200000   ? 4 * CH_LIMIT_RESULT_CHARS
                 : tokens >= 100000 ? 2 * CH_LIMIT_RESULT_CHARS
                                    : CH_LIMIT_RESULT_CHARS,
        .cost = UINT64_MAX,
    };

    if (tokens)
        room.cost = CH_MAX(tokens / 10 * 12, CH_LIMIT_RESULT_LEAST); /* 30 % of 4 */
    return room;
}

static bool starts_character(char c) {
    return ((unsigned char)c & 0xc0) != 0x80;
}

static unsigned shape_cost_of(char first) {
    return (unsigned char)first < 0x80 ? 1 : 4;
}

struct ch_shape_room ch_room_needed(struct ch_sv text) {
    struct ch_shape_room size = {0};

    for (size_t i = 0; i < text.n; i++)
        if (starts_character(text.p[i])) {
            size.chars++;
            size.cost += shape_cost_of(text.p[i]);
        }
    return size;
}

struct ch_shape_room ch_room_less(struct ch_shape_room room, uint64_t chars) {
    room.chars -= CH_MIN(room.chars, chars);
    room.cost -= room.cost == UINT64_MAX ? 0 : CH_MIN(room.cost, chars);
    return room;
}

static struct ch_shape_room shape_share(struct ch_shape_room room, unsigned percent) {
    return (struct ch_shape_room){
        .chars = room.chars * percent / 100,
        .cost = room.cost == UINT64_MAX ? UINT64_MAX : room.cost * percent / 100,
    };
}

bool ch_room_spend(struct ch_shape_room *room, char first) {
    if (room->chars < 1 || room->cost < shape_cost_of(first))
        return false;
    room->chars--;
    room->cost -= shape_cost_of(first);
    return true;
}

/* A line end counts as near if it lies in the last tenth. */
struct ch_sv ch_room_start(struct ch_shape_room room, struct ch_sv s) {
    size_t end = 0;

    while (end < s.n && (!starts_character(s.p[end]) || ch_room_spend(&room, s.p[end])))
        end++;
    if (end == s.n)
        return s;
    for (size_t i = end; i > end - end / 10; i--)
        if (s.p[i - 1] == '\n')
            return ch_sv(s.p, i);
    return ch_sv(s.p, end);
}

/* The longest suffix of s that fits, starting at a line start if one is near. */
static struct ch_sv shape_last_part(struct ch_sv s, struct ch_shape_room room) {
    size_t at = s.n;

    for (size_t i = s.n; i > 0; i--) {
        if (!starts_character(s.p[i - 1]))
            continue;
        if (!ch_room_spend(&room, s.p[i - 1]))
            break;
        at = i - 1;
    }
    if (at == 0)
        return s;
    for (size_t i = at; i < at + (s.n - at) / 10; i++)
        if (s.p[i] == '\n')
            return ch_sv(s.p + i + 1, s.n - i - 1);
    return ch_sv(s.p + at, s.n - at);
}

/* --- which end matters --------------------------------------------------- */

/* Words that make the end of a text worth keeping: errors and outcomes. */
static const char *const telling[] = {
    "error",
    "fail",
    "exception",
    "traceback",
    "panic",
    "fatal",
    "abort",
    "exit code",
    "exit status",
    "errno",
    "warning",
    "total",
    "summary",
    "result",
    "passed",
    "complete",
    "finished",
    "done",
    "success",
    "\xe9\x94\x99\xe8\xaf\xaf", /* error */
    "\xe5\xa4\xb1\xe8\xb4\xa5", /* failure */
    "\xe5\xbc\x82\xe5\xb8\xb8", /* exception */
    "\xe6\x80\xbb\xe8\xae\xa1", /* total */
    "\xe5\x90\x88\xe8\xae\xa1", /* sum */
    "\xe5\xae\x8c\xe6\x88\x90", /* finished */
    "\xe7\xbb\x93\xe6\x9e\x9c", /* result */
};

static bool shape_is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* True if a word of s begins with start: "terror" does not begin with "error". */
static bool has_word(struct ch_sv s, const char *start) {
    size_t n = strlen(start);

    for (size_t i = 0; i + n <= s.n; i++)
        if (ch_sv_eq_nocase(ch_sv(s.p + i, n), ch_sv(start, n)) &&
            (i == 0 || !shape_is_letter(s.p[i - 1]) || !shape_is_letter(start[0])))
            return true;
    return false;
}

static bool tail_matters(struct ch_sv text) {
    text = ch_sv_trim(text);
    if (text.n == 0)
        return false;
    char first = text.p[0], last = text.p[text.n - 1];
    if ((first == '{' && last == '}') || (first == '[' && last == ']'))
        return true;
    size_t look = CH_MIN(text.n, TAIL_LOOK);
    struct ch_sv tail = ch_sv(text.p + text.n - look, look);
    for (size_t i = 0; i < CH_LEN(telling); i++)
        if (has_word(tail, telling[i]))
            return true;
    return false;
}

static bool is_odd(unsigned char c) {
    return c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\b' && c != 0x1b;
}

/* A text counts as binary if a third of it is not text. */
static bool is_binary(struct ch_sv text) {
    struct ch_sv head = ch_utf8_cut(text, SNIFF);
    size_t odd = 0;

    if (head.n < 64)
        return false;
    for (size_t i = 0; i < head.n;) {
        unsigned n = ch_utf8_next(ch_sv(head.p + i, head.n - i), NULL);
        odd += n == 0 || is_odd((unsigned char)head.p[i]);
        i += n ? n : 1;
    }
    return odd > head.n / 3;
}

/* --- truncating ---------------------------------------------------------- */

static uint64_t shape_count_lines(struct ch_sv s) {
    uint64_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '\n';
    return n;
}

static const char *shape_name_of(const struct ch_shape *how) {
    return how->tool ? how->tool : "result";
}

/* A result with a last line tells its own outcome. */
static const char *shape_ok(const struct ch_shape *how) {
    return how->last ? "" : "ok, ";
}

static void add_heading(struct ch_buf *out, const struct ch_shape *how, struct ch_sv text,
                        uint64_t chars) {
    ch_buf_addf(out, "[%s: %s%llu characters in %llu lines, too long to be shown whole]\n",
                shape_name_of(how), shape_ok(how), (unsigned long long)chars,
                (unsigned long long)shape_count_lines(text) + 1);
}

static void shape_add_note(struct ch_buf *out, struct ch_sv missing, uint64_t lost,
                           const char *spill) {
    uint64_t lines = shape_count_lines(missing);

    ch_buf_addf(out, "\n[... %llu characters", (unsigned long long)ch_room_needed(missing).chars);
    if (lines)
        ch_buf_addf(out, " (%llu line%s)", (unsigned long long)lines, lines == 1 ? "" : "s");
    ch_buf_add_str(out, " are left out here");
    if (lost)
        ch_buf_addf(out, ", and %llu bytes after the end", (unsigned long long)lost);
    if (spill)
        ch_buf_addf(out, "; %s is in %s: read it with offset and limit, or grep in it ...]\n",
                    lost ? "what came before those" : "all of it", spill);
    else
        ch_buf_add_str(out, "; ask for less, for example with a narrower query, a filter or a "
                            "range, to see them ...]\n");
}

static void cut_text(const struct ch_shape *how, struct ch_shape_room room, struct ch_sv text,
                     uint64_t lost, const char *spill, struct ch_buf *out) {
    bool both = how->tail || tail_matters(text);

    room = ch_room_less(room, WORDS_MAX);
    struct ch_sv head = ch_room_start(shape_share(room, both ? 70 : 100), text);
    struct ch_sv rest = ch_sv(text.p + head.n, text.n - head.n);
    struct ch_sv tail =
        both ? shape_last_part(rest, shape_share(room, 30)) : ch_sv(rest.p + rest.n, 0);
    add_heading(out, how, text, ch_room_needed(text).chars);
    ch_buf_add_sv(out, head);
    shape_add_note(out, ch_sv(rest.p, rest.n - tail.n), lost, spill);
    ch_buf_add_sv(out, tail);
}

/* Add the text to out; an empty out takes the memory instead of a copy. */
static void put_all(struct ch_buf *out, struct ch_buf *text) {
    struct ch_buf empty = *out;
    if (out->n || out->overflow || out->max != text->max) {
        ch_buf_add_sv(out, ch_buf_sv(text));
        return;
    }
    *out = *text;
    *text = empty;
}

static bool shape_body(const struct ch_shape *how, struct ch_shape_room room, struct ch_sv text,
                       uint64_t lost, struct ch_buf *out) {
    CH_BUF_AUTO clean = {0}, spill = {0};

    if (is_binary(text)) {
        ch_buf_addf(out, "[%s: %s%llu bytes that are not text (or not in UTF-8), not shown]",
                    shape_name_of(how), shape_ok(how), (unsigned long long)(text.n + lost));
        return true;
    }
    ch_text_clean(&clean, text);
    struct ch_sv s = ch_buf_sv(&clean);
    if (lost == 0 && ch_room_holds(room, ch_room_needed(s))) {
        put_all(out, &clean);
        return false;
    }
    if (lost == 0 && ch_shape_records(how, room, s, out))
        return true;
    if (how->workspace)
        ch_spill(how->workspace, how->tool, s, &spill);
    cut_text(how, room, s, lost, spill.n ? ch_buf_str(&spill) : NULL, out);
    return true;
}

bool ch_shape_text(const struct ch_shape *how, struct ch_sv text, uint64_t lost,
                   struct ch_buf *out) {
    struct ch_shape_room room = ch_room_of(how->window);

    if (!how->last)
        return shape_body(how, room, text, lost, out);
    bool cut = shape_body(how, ch_room_less(room, strlen(how->last) + 1), text, lost, out);
    if (out->n && out->p[out->n - 1] != '\n')
        ch_buf_addc(out, '\n');
    ch_buf_add_str(out, how->last);
    return cut;
}
