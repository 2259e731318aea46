/* tags.c -- see tags.h.
 *
 *       BEGIN --<think>--> THINK --</think>--> PASS      in CH_TAGS_THINK
 *          \----anything else----------------/
 *
 *       TEXT --<tool_call>, not quoted--> CALL --</tool_call>--> TEXT
 *         |---[TOOL_CALLS]--> CALL --the end of its JSON--> TEXT
 *         |---<think> on a line of its own--> THINK --</think>--> TEXT
 *         |---```--> CODE --```--> TEXT
 *         \---<tool_result>, after a call--> OVER
 *
 * Each step consumes bytes from the front, or none if it needs more input. At the end of
 * the input every step must decide. An invented result ends the reply, because everything
 * after it depends on it. */
#include "model/codec/tags.h"

#include "base/mem.h"
#include "model/codec/tagged_call.h"
#include "model/message/message.h"

enum { BEGIN, PASS, TEXT, CODE, THINK, CALL, OVER };

enum tag_kind {
    TAG_CALL,   /* the call is the content */
    TAG_ITSELF, /* the call includes the tag */
    TAG_BARE,   /* the call has no closing tag */
    TAG_THINK,
    TAG_WRAP, /* encloses calls; ignored */
    TAG_RESULT,
};

static const struct tag {
    const char *open, *close;
    enum tag_kind kind;
} tags[] = {
    {"<tool_call>", "</tool_call>", TAG_CALL},
    {"<function_call>", "</function_call>", TAG_CALL},
    {"<invoke name=", "</invoke>", TAG_ITSELF},
    {"<function=", "</function>", TAG_ITSELF},
    {"<think>", "</think>", TAG_THINK},
    {"<thinking>", "</thinking>", TAG_THINK},
    {"<scratchpad>", "</scratchpad>", TAG_THINK},
    {"<tool_calls>", NULL, TAG_WRAP},
    {"<function_calls>", NULL, TAG_WRAP},
    {"</tool_calls>", NULL, TAG_WRAP},
    {"</function_calls>", NULL, TAG_WRAP},
    {"<tool_result", NULL, TAG_RESULT},
    {"[TOOL_CALLS]", "", TAG_BARE},
};

#define FENCE_CALL "tool_call" /* ```tool_call */

/* Maximum look-ahead, so that long runs of white space or marks are not scanned repeatedly. */
#define MOST_SPACE 256
#define MOST_MARKS 64

void ch_tags_init(struct ch_tags *t, enum ch_tags_mode mode, const struct ch_tags_sink *sink,
                  void *user) {
    *t = (struct ch_tags){.sink = sink, .user = user, .mode = mode, .line_start = true,
                          .lead = true};
    t->state = mode == CH_TAGS_THINK ? BEGIN : TEXT;
    t->skip_space = mode == CH_TAGS_CALLS;
}

void ch_tags_release(struct ch_tags *t) {
    ch_buf_release(&t->hold);
    ch_buf_release(&t->space);
    ch_buf_release(&t->body);
}

static bool tags_is_space(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static size_t leading_space(struct ch_sv s) {
    size_t n = 0;
    while (n < s.n && tags_is_space(s.p[n]))
        n++;
    return n;
}

static size_t some_space(struct ch_sv s) {
    return leading_space(ch_sv(s.p, CH_MIN(s.n, MOST_SPACE)));
}

static size_t marks(struct ch_sv s, char mark) {
    size_t n = 0;
    while (n < s.n && n < MOST_MARKS && s.p[n] == mark)
        n++;
    return n;
}

/* --- output */

static void tags_put(struct ch_tags *t, struct ch_sv piece) {
    if (!piece.n)
        return;
    if (t->state == THINK)
        t->sink->reasoning(piece, t->user);
    else
        t->sink->text(piece, t->user);
}

static void put_pending(struct ch_tags *t) {
    if (!t->pending.n)
        return;
    tags_put(t, t->pending);
    ch_buf_add(&t->space, t->pending.p + t->pending.n, t->pending_space);
    t->pending.n = t->pending_space = 0;
}

static size_t without_space(struct ch_sv s) {
    while (s.n && tags_is_space(s.p[s.n - 1]))
        s.n--;
    return s.n;
}

/* Emit text. White space around tags is dropped. Adjacent pieces consumed in several steps
 * are emitted as one. */
static void tags_say(struct ch_tags *t, struct ch_sv piece) {
    size_t n = without_space(piece);
    if (t->pending.n && piece.p == t->pending.p + t->pending.n + t->pending_space) {
        t->pending.n += n ? t->pending_space + n : 0;
        t->pending_space = n ? piece.n - n : t->pending_space + piece.n;
        return;
    }
    put_pending(t);
    size_t skip = t->skip_space ? CH_MIN(leading_space(piece), n) : 0;
    if (n) {
        t->skip_space = false;
        tags_put(t, ch_buf_sv(&t->space));
        ch_buf_clear(&t->space);
        t->pending = ch_sv(piece.p + skip, n - skip);
        t->pending_space = piece.n - n;
    } else if (!t->skip_space) {
        ch_buf_add_sv(&t->space, piece);
    }
}

static void tags_enter(struct ch_tags *t, int state) {
    put_pending(t);
    ch_buf_clear(&t->space);
    t->skip_space = true;
    t->line_start = t->lead = true; /* another tag may follow a tag */
    t->quotation = (struct ch_quotation){0};
    t->ticks = 0;
    t->state = state;
}

/* --- a call */

static void open_call(struct ch_tags *t, const char *closer, const char *itself) {
    tags_enter(t, CALL);
    ch_buf_clear(&t->body);
    t->closer = closer;
    t->json = t->in_string = t->escaped = t->fenced = false;
    t->depth = 0;
    t->itself = t->after_fence = *itself;
    ch_buf_add_str(&t->body, itself);
}

static void found_call(const struct ch_tagged_call *call, void *user) {
    struct ch_tags *t = user;
    t->ncalls++;
    t->sink->call(call, t->user);
}

/* The reply ended inside of a call: the call is flagged CUT. If its closing tag occurs
 * inside a string, the call probably lacks a quote and is flagged INVALID. Its text
 * contains the arguments as far as recognizable. */
static void cut_call(struct ch_tags *t) {
    struct ch_sv body = ch_sv_trim(ch_buf_sv(&t->body));
    bool closed = *t->closer && memmem(body.p, body.n, t->closer, strlen(t->closer)) != NULL;
    struct ch_tagged_call call = {
        .name = ch_tagged_name(body), .arguments = body, .flags = closed ? CH_F_INVALID : CH_F_CUT};
    const char *at = memmem(body.p, body.n, "\"arguments\":", 12);
    if (at)
        call.arguments = ch_sv(at + 12, body.n - (size_t)(at + 12 - body.p));
    found_call(&call, t);
}

/* Update the parser state for one byte of the body. */
static void note_byte(struct ch_tags *t, char c) {
    if (t->in_string) {
        t->in_string = t->escaped || c != '"';
        t->escaped = !t->escaped && c == '\\';
    } else if (t->json) {
        t->in_string = c == '"';
    } else if (!t->after_fence) {
        t->json = c == '{' || c == '[';
        t->after_fence = !t->json && !tags_is_space(c); /* XML, or a fence */
        t->fenced |= c == '`';
    } else if (c == '\n' && t->fenced) {
        t->after_fence = false; /* end of the fence line */
    }
}

/* Number of bytes that cannot end the current string. */
static size_t in_string(const struct ch_tags *t, struct ch_sv s) {
    size_t n = 0;
    if (!t->in_string || t->escaped)
        return 0;
    while (n < s.n && s.p[n] != '"' && s.p[n] != '\\')
        n++;
    return n;
}

static size_t close_call(struct ch_tags *t, size_t taken) {
    ch_tagged_calls(ch_buf_sv(&t->body), found_call, t);
    tags_enter(t, TEXT);
    return taken;
}

/* Process one byte of a call that ends with its JSON; true for the last byte. */
static bool note_bare(struct ch_tags *t, char c) {
    if (t->in_string) {
        note_byte(t, c);
        return false;
    }
    t->in_string = c == '"';
    t->json |= c == '{'; /* [ARGS] precedes the JSON */
    if (c == '{' || c == '[')
        t->depth++;
    else if ((c == '}' || c == ']') && t->depth)
        return --t->depth == 0 && t->json;
    return false;
}

static size_t step_bare(struct ch_tags *t, struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++) {
        size_t plain = in_string(t, ch_sv(s.p + i, s.n - i));
        ch_buf_add(&t->body, s.p + i, plain);
        i += plain;
        if (i == s.n)
            break;
        ch_buf_addc(&t->body, s.p[i]);
        if (note_bare(t, s.p[i]))
            return close_call(t, i + 1);
    }
    return s.n;
}

static size_t step_call(struct ch_tags *t, struct ch_sv s, bool ended) {
    size_t closer = strlen(t->closer);
    if (!closer)
        return step_bare(t, s);
    for (size_t i = 0; i < s.n; i++) {
        size_t plain = in_string(t, ch_sv(s.p + i, s.n - i));
        ch_buf_add(&t->body, s.p + i, plain);
        i += plain;
        if (i == s.n)
            break;
        if (s.p[i] == *t->closer && !t->in_string) {
            size_t n = CH_MIN(closer, s.n - i);
            bool same = memcmp(s.p + i, t->closer, n) == 0;
            if (same && n < closer && !ended)
                return i;
            if (same && n == closer) {
                if (t->itself)
                    ch_buf_add_str(&t->body, t->closer);
                return close_call(t, i + closer);
            }
        }
        ch_buf_addc(&t->body, s.p[i]);
        note_byte(t, s.p[i]);
    }
    return s.n;
}

/* --- reasoning */

static size_t step_think(struct ch_tags *t, struct ch_sv s, bool ended) {
    size_t closer = strlen(t->closer);
    const char *lt = memchr(s.p, '<', s.n);
    if (lt != s.p) {
        size_t n = lt ? (size_t)(lt - s.p) : s.n;
        tags_say(t, ch_sv(s.p, n));
        return n;
    }
    size_t n = CH_MIN(closer, s.n);
    if (memcmp(s.p, t->closer, n) != 0) {
        tags_say(t, ch_sv(s.p, 1));
        return 1;
    }
    if (n == closer) {
        tags_enter(t, t->mode == CH_TAGS_THINK ? PASS : TEXT);
        return n;
    }
    if (!ended)
        return 0;
    tags_say(t, s);
    return s.n;
}

static void open_thought(struct ch_tags *t, const char *closer) {
    tags_enter(t, THINK);
    t->closer = closer;
}

/* --- tags in text */

/* True if the line ends with the mark that opened `code`, so that the code continues in the
 * next line. */
static bool code_continues(const struct ch_tags *t) {
    const struct ch_quotation *q = &t->quotation;
    return t->ticks && q->recent[sizeof(q->recent) - 1] == '`';
}

static size_t say_some(struct ch_tags *t, struct ch_sv s, size_t n) {
    for (size_t i = 0; i < n && t->line_start; i++)
        t->line_start = tags_is_space(s.p[i]);
    for (size_t i = 0; i < n && t->lead; i++)
        t->lead = s.p[i] && strchr(" \t\r\n>-*+.)0123456789", s.p[i]);
    if (s.p[n - 1] == '\n') {
        t->line_start = t->lead = true;
        t->ticks = code_continues(t) ? t->ticks : 0;
    }
    if (t->state == TEXT)
        ch_quotation_read(&t->quotation, ch_sv(s.p, n));
    tags_say(t, ch_sv(s.p, n));
    return n;
}

enum verdict { NO, YES, MORE }; /* MORE: needs more input */

/* Does this word follow, after white space? */
static enum verdict tags_follows(struct ch_sv s, const char *word) {
    size_t space = some_space(s), n = CH_MIN(strlen(word), s.n - space);
    if (memcmp(s.p + space, word, n) != 0)
        return NO;
    return n == strlen(word) ? YES : MORE;
}

/* Does a name follow, then one of two words? */
static enum verdict tags_is_named(struct ch_sv s, const char *one, const char *other) {
    size_t n = ch_tagged_name_length(s);
    struct ch_sv rest = ch_sv(s.p + n, s.n - n);
    enum verdict a = tags_follows(rest, one), b = tags_follows(rest, other);
    if (!n)
        return NO;
    return a == YES || b == YES ? YES : a == MORE || b == MORE ? MORE : NO;
}

/* Decide by the text after a tag whether it is a real tag. A call may be a bare name, but
 * an empty <tool_call></tool_call> in prose is no call. */
static enum verdict is_meant(const struct tag *tag, struct ch_sv after) {
    size_t space = tag->kind == TAG_ITSELF ? 0 : some_space(after);
    struct ch_sv rest = ch_sv(after.p + space, after.n - space);
    char next = rest.n ? *rest.p : '\0';
    if (tag->kind == TAG_THINK || tag->kind == TAG_RESULT || tag->open[1] == '/')
        return YES;
    if (!rest.n)
        return MORE;
    switch (tag->kind) {
    case TAG_CALL:
        if (next == '{' || next == '[' || next == '<' || next == '`')
            return YES;
        return tags_is_named(rest, "<arg_key>", space ? "<arg_key>" : tag->close);
    case TAG_BARE:
        if (next == '{' || next == '[')
            return next == '{' ? YES : tags_follows(ch_sv(rest.p + 1, rest.n - 1), "{");
        return tags_is_named(rest, "[ARGS]", "[CALL_ID]");
    case TAG_ITSELF:
        return next == '"' || next == '\'' || next == '_' || (next >= 'a' && next <= 'z') ||
                       (next >= 'A' && next <= 'Z')
                   ? YES
                   : NO;
    default:
        return next == '<' ? YES : NO;
    }
}

static bool is_allowed_here(const struct ch_tags *t, const struct tag *tag) {
    if (t->mode == CH_TAGS_THINK && tag->kind != TAG_THINK)
        return false;
    if (tag->kind == TAG_RESULT || tag->open[1] == '/')
        return t->ncalls > 0;
    if (tag->kind == TAG_THINK)
        return t->line_start;
    /* right after a tag, or at the beginning, nothing can be quoted */
    return t->skip_space || ch_quotation_is_free(&t->quotation);
}

static size_t open_tag(struct ch_tags *t, const struct tag *tag) {
    size_t n = strlen(tag->open);
    if (tag->kind == TAG_THINK) {
        open_thought(t, tag->close);
    } else if (tag->kind == TAG_WRAP) {
        tags_enter(t, TEXT);
    } else if (tag->kind == TAG_RESULT) {
        tags_enter(t, OVER);
    } else {
        open_call(t, tag->close, tag->kind == TAG_ITSELF ? tag->open : "");
    }
    return n;
}

/* Returns the bytes consumed; 0: more input needed; SIZE_MAX: no tag. */
static size_t try_tags(struct ch_tags *t, struct ch_sv s, bool ended) {
    bool wait = false;
    for (size_t i = 0; i < CH_LEN(tags); i++) {
        const struct tag *tag = &tags[i];
        if (s.n > 1 && s.p[1] != tag->open[1])
            continue; /* quick rejection */
        size_t n = strlen(tag->open), common = CH_MIN(n, s.n);
        if (!is_allowed_here(t, tag) || memcmp(s.p, tag->open, common) != 0)
            continue;
        struct ch_sv rest = ch_sv(s.p + common, s.n - common);
        enum verdict meant = common < n ? MORE : is_meant(tag, rest);
        if (meant == YES)
            return open_tag(t, tag);
        wait |= meant == MORE;
    }
    return wait && !ended ? 0 : SIZE_MAX;
}

static size_t step_tag(struct ch_tags *t, struct ch_sv s, bool ended) {
    size_t n = t->ticks ? SIZE_MAX : try_tags(t, s, ended);
    return n == SIZE_MAX ? say_some(t, s, 1) : n;
}

/* "```tool_call" and a line end begin a call. 0: undecided, SIZE_MAX: no. */
static size_t try_fence_call(struct ch_tags *t, struct ch_sv s, size_t run, bool ended) {
    struct ch_sv rest = ch_sv(s.p + run, s.n - run);
    size_t n = CH_MIN(strlen(FENCE_CALL), rest.n), at = n;
    if (*s.p != '`' || memcmp(rest.p, FENCE_CALL, n) != 0)
        return SIZE_MAX;
    while (at < CH_MIN(rest.n, MOST_SPACE) && (rest.p[at] == ' ' || rest.p[at] == '\r'))
        at++;
    if (at == rest.n)
        return ended ? SIZE_MAX : 0;
    if (rest.p[at] != '\n')
        return SIZE_MAX;
    open_call(t, "```", "");
    return run + at + 1;
}

static size_t step_ticks(struct ch_tags *t, struct ch_sv s, bool ended) {
    size_t run = marks(s, *s.p);
    if (run == s.n && run < MOST_MARKS && !ended)
        return 0;
    if (t->lead && run >= 3) {
        bool free = t->skip_space || ch_quotation_is_free(&t->quotation);
        size_t n = free ? try_fence_call(t, s, run, ended) : SIZE_MAX;
        if (n != SIZE_MAX)
            return n;
        say_some(t, s, run);
        t->fence = *s.p;
        t->fence_n = (unsigned)run;
        t->state = CODE;
        return run;
    }
    if (*s.p == '`')
        t->ticks = !t->ticks ? (unsigned)run : t->ticks == run ? 0 : t->ticks;
    return say_some(t, s, run);
}

/* Quick check by the following letters whether '<' or '[' may begin a tag, so that HTML,
 * links and comparisons are not split. True if the input is too short to decide. */
static bool may_open(const struct ch_tags *t, struct ch_sv s) {
    if (s.n < 3)
        return !t->ticks;
    if (*s.p == '[')
        return s.p[1] == 'T' && s.p[2] == 'O';
    switch (s.p[1]) {
    case 't':
        return s.p[2] == 'o' || s.p[2] == 'h';
    case 'f':
        return s.p[2] == 'u';
    case 'i':
        return s.p[2] == 'n';
    case 's':
        return s.p[2] == 'c';
    default:
        return s.p[1] == '/' && t->ncalls;
    }
}

/* Non-zero if one of the bytes is c. */
static uint64_t has_byte(uint64_t word, char c) {
    const uint64_t ones = UINT64_MAX / 255;
    uint64_t x = word ^ ones * (unsigned char)c;
    return (x - ones) & ~x & ones << 7;
}

/* Offset of the first significant byte at or after n, or the end. */
static size_t next_mark(struct ch_sv s, size_t n) {
    static const bool decides[256] = {
        ['<'] = true, ['['] = true, ['`'] = true, ['~'] = true, ['\n'] = true};
    uint64_t word;
    for (; s.n - n >= sizeof(word); n += sizeof(word)) {
        memcpy(&word, s.p + n, sizeof(word));
        if (has_byte(word, '<') | has_byte(word, '[') | has_byte(word, '`') | has_byte(word, '~') |
            has_byte(word, '\n'))
            break;
    }
    while (n < s.n && !decides[(unsigned char)s.p[n]])
        n++;
    return n;
}

static size_t tags_step_text(struct ch_tags *t, struct ch_sv s, bool ended) {
    size_t n = next_mark(s, 0);
    while (n < s.n && (s.p[n] == '<' || s.p[n] == '[') && !may_open(t, ch_sv(s.p + n, s.n - n)))
        n = next_mark(s, n + 1);
    if (n)
        return say_some(t, s, n);
    if (*s.p == '<' || *s.p == '[')
        return step_tag(t, s, ended);
    return *s.p == '\n' ? say_some(t, s, 1) : step_ticks(t, s, ended);
}

/* In a code block: ends at a line that consists of at least as many fence marks. */
static size_t step_code(struct ch_tags *t, struct ch_sv s, bool ended) {
    size_t n = 0;
    while (n < s.n && s.p[n] != t->fence && s.p[n] != '\n')
        n++;
    if (n)
        return say_some(t, s, n);
    if (*s.p == '\n')
        return say_some(t, s, 1);
    size_t run = marks(s, t->fence);
    if (run == s.n && run < MOST_MARKS && !ended)
        return 0;
    bool last = t->lead && run >= t->fence_n && (run == s.n || tags_is_space(s.p[run]));
    say_some(t, s, run);
    if (last)
        t->state = TEXT;
    return run;
}

/* --- mode CH_TAGS_THINK: reasoning at the beginning only */

static size_t step_begin(struct ch_tags *t, struct ch_sv s, bool ended) {
    size_t space = some_space(s);
    if (space == s.n && space < MOST_SPACE && !ended)
        return 0;
    if (space < s.n && s.p[space] == '<') {
        size_t n = try_tags(t, ch_sv(s.p + space, s.n - space), ended);
        if (n != SIZE_MAX)
            return n ? space + n : 0;
    }
    t->state = PASS;
    tags_put(t, s);
    return s.n;
}

static size_t step_pass(struct ch_tags *t, struct ch_sv s) {
    size_t space = t->skip_space ? leading_space(s) : 0;
    t->skip_space = t->skip_space && space == s.n;
    tags_put(t, ch_sv(s.p + space, s.n - space));
    return s.n;
}

/* --- input */

static size_t tags_step(struct ch_tags *t, struct ch_sv s, bool ended) {
    switch (t->state) {
    case BEGIN:
        return step_begin(t, s, ended);
    case PASS:
        return step_pass(t, s);
    case TEXT:
        return tags_step_text(t, s, ended);
    case CODE:
        return step_code(t, s, ended);
    case THINK:
        return step_think(t, s, ended);
    case CALL:
        return step_call(t, s, ended);
    default:
        return s.n;
    }
}

/* Returns the number of bytes consumed. */
static size_t tags_run(struct ch_tags *t, struct ch_sv s, bool ended) {
    size_t at = 0;
    while (at < s.n) {
        size_t n = tags_step(t, ch_sv(s.p + at, s.n - at), ended);
        if (!n)
            break;
        at += n;
    }
    put_pending(t);
    return at;
}

void ch_tags_feed(struct ch_tags *t, struct ch_sv piece) {
    if (!piece.n)
        return;
    if (!t->hold.n) {
        size_t n = tags_run(t, piece, false);
        ch_buf_add(&t->hold, piece.p + n, piece.n - n);
        return;
    }
    ch_buf_add_sv(&t->hold, piece);
    ch_buf_consume(&t->hold, tags_run(t, ch_buf_sv(&t->hold), false));
}

void ch_tags_end(struct ch_tags *t) {
    tags_run(t, ch_buf_sv(&t->hold), true);
    ch_buf_clear(&t->hold);
    if (t->state == CALL)
        cut_call(t);
    t->state = OVER;
}
