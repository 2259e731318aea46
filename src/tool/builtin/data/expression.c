/* expression.c -- see expression.h.
 *
 *     sum     = product { (+ | -) product }
 *     product = signed { (* | / | %) signed }
 *     signed  = { + | - } power
 *     power   = postfix [ (^ | **) signed ]         so -2^2 is -4, 2^-1 is 0.5
 *     postfix = primary { ! }
 *     primary = number | constant | function ( sum {, sum} ) | ( sum )
 *
 * Each line of the grammar is one function. Recursion depth is limited in signed. The first
 * failure sets c->wrong and moves to the end of the text, so all functions return quickly
 * and none checks the result of another. */
#include "tool/builtin/data/expression.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tool/builtin/data/number.h"

struct calc {
    struct ch_sv text;
    size_t at;
    unsigned depth;
    struct ch_big_ctx big;
    bool wrong;
    struct chela_error *err;
};

static struct ch_number expression_sum(struct calc *c);

/* --- failing ------------------------------------------------------------- */

static unsigned expression_column(const struct calc *c, size_t at) {
    unsigned n = 1;

    for (size_t i = 0; i < at; i++)
        n += ((unsigned char)c->text.p[i] & 0xc0) != 0x80;
    return n;
}

static void expression_fail(struct calc *c, size_t at, const char *what) {
    if (!c->wrong)
        ch_fail(c->err, CHELA_EINVAL, "%s at column %u", what, expression_column(c, at));
    c->wrong = true;
    c->at = c->text.n; /* at the end of the text every loop ends */
}

static void fail_at_word(struct calc *c, size_t at, const char *what, struct ch_sv word) {
    CH_BUF_AUTO text = {0};

    ch_buf_addf(&text, "%s '%.*s'", what, (int)CH_MIN(word.n, 40), word.p);
    expression_fail(c, at, ch_buf_str(&text));
}

/* Turn the status of a number.h operation, whose result is *n, into a number or a failure. */
static struct ch_number checked(struct calc *c, size_t at, const char *wrong,
                                const struct ch_number *n) {
    if (wrong)
        expression_fail(c, at, wrong);
    return wrong ? (struct ch_number){0} : *n;
}

/* --- reading ------------------------------------------------------------- */

static void expression_skip_blanks(struct calc *c) {
    while (c->at < c->text.n) {
        struct ch_sv rest = ch_sv(c->text.p + c->at, c->text.n - c->at);
        if (rest.p[0] == ' ' || (rest.p[0] >= '\t' && rest.p[0] <= '\r'))
            c->at++;
        else if (ch_sv_starts(rest, "\xc2\xa0")) /* no-break space */
            c->at += 2;
        else
            return;
    }
}

static bool expression_take(struct calc *c, const char *word) {
    expression_skip_blanks(c);
    if (!ch_sv_starts(ch_sv(c->text.p + c->at, c->text.n - c->at), word))
        return false;
    c->at += strlen(word);
    return true;
}

/* Take either of two spellings of an operator, plain or typographic. */
static bool take_any(struct calc *c, const char *a, const char *b) {
    return expression_take(c, a) || expression_take(c, b);
}

static bool expression_is_digit(const struct calc *c, size_t at) {
    return at < c->text.n && c->text.p[at] >= '0' && c->text.p[at] <= '9';
}

static bool expression_is_letter(const struct calc *c, size_t at) {
    if (at >= c->text.n)
        return false;
    char ch = c->text.p[at];
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_';
}

static size_t skip_digits(const struct calc *c, size_t at) {
    while (expression_is_digit(c, at))
        at++;
    return at;
}

static struct ch_number expression_number(struct calc *c) {
    size_t from = c->at, end = skip_digits(c, from), exponent;
    struct ch_number n = {0};

    if (end < c->text.n && c->text.p[end] == '.')
        end = skip_digits(c, end + 1);
    if (end < c->text.n && (c->text.p[end] == 'e' || c->text.p[end] == 'E')) {
        exponent = end + 1;
        if (exponent < c->text.n && (c->text.p[exponent] == '+' || c->text.p[exponent] == '-'))
            exponent++;
        if (expression_is_digit(c, exponent))
            end = skip_digits(c, exponent);
    }
    c->at = end;
    const char *wrong = ch_number_read(&c->big, ch_sv(c->text.p + from, end - from), &n);
    return checked(c, from, wrong, &n);
}

/* --- functions ----------------------------------------------------------- */

typedef const char *fn1(struct calc *c, struct ch_number a, struct ch_number *out);
typedef const char *fn2(struct calc *c, struct ch_number a, struct ch_number b,
                        struct ch_number *out);

/* Apply f through a double. At 0, all functions used here have integer results, which are
 * exact. */
static const char *real(struct calc *c, double (*f)(double), struct ch_number a,
                        struct ch_number *out) {
    double d = f(ch_number_double(a));

    if (a.exact && ch_number_is_zero(a) && (d == 0 || d == 1)) {
        *out = ch_number_small(&c->big, (uint32_t)d);
        return NULL;
    }
    return ch_number_approx(d, out);
}

/* Read the shortest decimal form of d as an exact number, as a candidate for the exact
 * result. */
static bool expression_guess(struct calc *c, double d, struct ch_number *out) {
    struct ch_number approx;
    CH_BUF_AUTO text = {0};

    if (ch_number_approx(fabs(d), &approx))
        return false;
    ch_number_write(approx, &text);
    if (ch_number_read(&c->big, ch_buf_sv(&text), out))
        return false;
    if (d < 0)
        *out = ch_number_negate(*out);
    return true;
}

static double square_root(struct ch_number a) {
    int64_t exponent;
    double m = ch_number_split(a, &exponent);

    if (exponent % 2 != 0) {
        m *= 10;
        exponent--;
    }
    return exponent == 0 ? sqrt(m) : sqrt(m) * pow(10, (double)exponent / 2);
}

static double natural_log(struct ch_number a) {
    int64_t exponent;
    double m = ch_number_split(a, &exponent);

    return exponent == 0 ? log(m) : log(m) + (double)exponent * M_LN10;
}

static const char *f_sqrt(struct calc *c, struct ch_number a, struct ch_number *out) {
    struct ch_number root, square;

    if (ch_number_is_negative(a))
        return "sqrt of a negative number";
    double d = square_root(a);
    if (a.exact && expression_guess(c, d, &root) && !ch_number_mul(&c->big, root, root, &square) &&
        ch_number_same(square, a)) {
        *out = root;
        return NULL;
    }
    return ch_number_approx(d, out);
}

/* Logarithm of a to a base; integer results are verified and then exact. */
static const char *f_log_base(struct calc *c, struct ch_number a, struct ch_number base,
                              struct ch_number *out) {
    double x = ch_number_double(a), b = ch_number_double(base);
    bool plain = x > 0 && isfinite(x);
    struct ch_number to_the_e, e;

    if (ch_number_is_negative(a) || ch_number_is_zero(a))
        return "logarithm of a number that is not positive";
    if (!(b > 0) || b == 1)
        return "logarithm to a base that is not positive, or 1";
    double d = plain && b == 10  ? log10(x)
               : plain && b == 2 ? log2(x)
                                 : natural_log(a) / natural_log(base);
    if (a.exact && base.exact && fabs(d) < CH_LIMIT_CALC_DIGITS &&
        expression_guess(c, round(d), &e) && !ch_number_pow(&c->big, base, e, &to_the_e) &&
        ch_number_same(to_the_e, a)) {
        *out = e;
        return NULL;
    }
    return ch_number_approx(d, out);
}

static const char *f_ln(struct calc *c, struct ch_number a, struct ch_number *out) {
    if (ch_number_is_negative(a) || ch_number_is_zero(a))
        return "logarithm of a number that is not positive";
    if (ch_number_same(a, ch_number_small(&c->big, 1))) {
        *out = ch_number_small(&c->big, 0);
        return NULL;
    }
    return ch_number_approx(natural_log(a), out);
}

static const char *f_log10(struct calc *c, struct ch_number a, struct ch_number *out) {
    return f_log_base(c, a, ch_number_small(&c->big, 10), out);
}

static const char *f_log2(struct calc *c, struct ch_number a, struct ch_number *out) {
    return f_log_base(c, a, ch_number_small(&c->big, 2), out);
}

static const char *f_abs(struct calc *c, struct ch_number a, struct ch_number *out) {
    (void)c;
    *out = ch_number_is_negative(a) ? ch_number_negate(a) : a;
    return NULL;
}

static const char *f_floor(struct calc *c, struct ch_number a, struct ch_number *out) {
    return ch_number_floor(&c->big, a, out);
}

static const char *f_ceil(struct calc *c, struct ch_number a, struct ch_number *out) {
    const char *wrong = ch_number_floor(&c->big, ch_number_negate(a), out);

    *out = wrong ? a : ch_number_negate(*out);
    return wrong;
}

static const char *f_round(struct calc *c, struct ch_number a, struct ch_number *out) {
    return ch_number_round(&c->big, a, 0, out);
}

static const char *f_round_to(struct calc *c, struct ch_number a, struct ch_number b,
                              struct ch_number *out) {
    int64_t digits;

    if (!ch_number_to_int(b, &digits))
        return "the number of digits must be a whole number";
    return ch_number_round(&c->big, a, digits, out);
}

static const char *f_factorial(struct calc *c, struct ch_number a, struct ch_number *out) {
    return ch_number_factorial(&c->big, a, out);
}

static const char *f_pow(struct calc *c, struct ch_number a, struct ch_number b,
                         struct ch_number *out) {
    return ch_number_pow(&c->big, a, b, out);
}

static const char *f_min(struct calc *c, struct ch_number a, struct ch_number b,
                         struct ch_number *out) {
    *out = ch_number_less(&c->big, b, a) ? b : a;
    return NULL;
}

static const char *f_max(struct calc *c, struct ch_number a, struct ch_number b,
                         struct ch_number *out) {
    *out = ch_number_less(&c->big, a, b) ? b : a;
    return NULL;
}

#define REAL(name, f)                                                                    \
    static const char *name(struct calc *c, struct ch_number a, struct ch_number *out) { \
        return real(c, f, a, out);                                                       \
    }
REAL(f_exp, exp)
REAL(f_sin, sin)
REAL(f_cos, cos)
REAL(f_tan, tan)
REAL(f_asin, asin)
REAL(f_acos, acos)
REAL(f_atan, atan)

static const struct function {
    const char *name;
    fn1 *one;  /* variant with one argument; NULL: more are required */
    fn2 *two;  /* variant with two arguments; NULL: only one is allowed */
    bool many; /* `two` is applied again for each further argument */
} functions[] = {
    {"sqrt", f_sqrt, NULL, false},
    {"abs", f_abs, NULL, false},
    {"floor", f_floor, NULL, false},
    {"ceil", f_ceil, NULL, false},
    {"round", f_round, f_round_to, false},
    {"min", NULL, f_min, true},
    {"max", NULL, f_max, true},
    {"pow", NULL, f_pow, false},
    {"log", f_ln, f_log_base, false},
    {"ln", f_ln, NULL, false},
    {"log10", f_log10, NULL, false},
    {"log2", f_log2, NULL, false},
    {"exp", f_exp, NULL, false},
    {"sin", f_sin, NULL, false},
    {"cos", f_cos, NULL, false},
    {"tan", f_tan, NULL, false},
    {"asin", f_asin, NULL, false},
    {"acos", f_acos, NULL, false},
    {"atan", f_atan, NULL, false},
    {"factorial", f_factorial, NULL, false},
};

static const struct function *find_function(struct ch_sv name) {
    for (size_t i = 0; i < CH_LEN(functions); i++)
        if (ch_sv_eq_nocase(name, ch_sv_str(functions[i].name)))
            return &functions[i];
    return NULL;
}

/* Parse the arguments after "(", including ")", and apply f. */
static struct ch_number expression_apply(struct calc *c, const struct function *f, size_t at) {
    struct ch_number result = expression_sum(c), next;
    unsigned n = 1;

    for (; expression_take(c, ","); n++) {
        next = expression_sum(c);
        if (c->wrong)
            break;
        if (!f->two || (n > 1 && !f->many))
            fail_at_word(c, at, "too many arguments for", ch_sv_str(f->name));
        else
            result = checked(c, at, f->two(c, result, next, &next), &next);
    }
    if (!c->wrong && !expression_take(c, ")"))
        expression_fail(c, c->at, "expected ')'");
    if (!c->wrong && n == 1 && !f->one && !f->many)
        fail_at_word(c, at, "too few arguments for", ch_sv_str(f->name));
    if (!c->wrong && n == 1 && f->one)
        result = checked(c, at, f->one(c, result, &next), &next);
    return result;
}

static struct ch_number name(struct calc *c) {
    size_t from = c->at, end = from;
    struct ch_number n = {0};

    while (expression_is_letter(c, end) || (end > from && expression_is_digit(c, end)))
        end++;
    struct ch_sv word = ch_sv(c->text.p + from, end - from);
    c->at = end;
    const struct function *f = find_function(word);
    if (f && expression_take(c, "("))
        return expression_apply(c, f, from);
    if (f)
        fail_at_word(c, end, "expected '(' after", word);
    else if (ch_sv_eq_nocase(word, CH_SV("pi")))
        ch_number_approx(M_PI, &n);
    else if (ch_sv_is(word, "e"))
        ch_number_approx(M_E, &n);
    else
        fail_at_word(c, from, "unknown name", word);
    return n;
}

/* --- the grammar --------------------------------------------------------- */

static void fail_here(struct calc *c) {
    struct ch_sv rest = ch_sv(c->text.p + c->at, c->text.n - c->at);

    if (rest.n == 0)
        expression_fail(c, c->at, "the expression ends too early");
    else
        fail_at_word(c, c->at, "unexpected", ch_sv(rest.p, CH_MAX(ch_utf8_next(rest, NULL), 1u)));
}

static struct ch_number primary(struct calc *c) {
    struct ch_number n = {0};

    expression_skip_blanks(c);
    if (expression_is_digit(c, c->at) ||
        (c->at < c->text.n && c->text.p[c->at] == '.' && expression_is_digit(c, c->at + 1)))
        return expression_number(c);
    if (expression_is_letter(c, c->at))
        return name(c);
    if (expression_take(c, "\xcf\x80")) { /* the Greek letter */
        ch_number_approx(M_PI, &n);
        return n;
    }
    if (!expression_take(c, "(")) {
        fail_here(c);
        return n;
    }
    n = expression_sum(c);
    if (!c->wrong && !expression_take(c, ")"))
        expression_fail(c, c->at, "expected ')'");
    return n;
}

static struct ch_number postfix(struct calc *c) {
    struct ch_number n = primary(c);

    for (size_t at; !c->wrong && (at = c->at, expression_take(c, "!"));)
        n = checked(c, at, ch_number_factorial(&c->big, n, &n), &n);
    return n;
}

static struct ch_number signed_power(struct calc *c);

static struct ch_number power(struct calc *c) {
    struct ch_number base = postfix(c), n;
    size_t at = c->at;

    if (c->wrong || !take_any(c, "**", "^"))
        return base;
    struct ch_number exponent = signed_power(c);
    if (c->wrong)
        return base;
    return checked(c, at, ch_number_pow(&c->big, base, exponent, &n), &n);
}

static struct ch_number signed_power(struct calc *c) {
    bool negative = false;

    if (++c->depth > CH_LIMIT_CALC_DEPTH)
        expression_fail(c, c->at, "too deeply nested");
    for (;;) {
        if (take_any(c, "-", "\xe2\x88\x92"))
            negative = !negative;
        else if (!expression_take(c, "+"))
            break;
    }
    struct ch_number n = power(c);
    c->depth--;
    return negative ? ch_number_negate(n) : n;
}

static struct ch_number product(struct calc *c) {
    struct ch_number left = signed_power(c), right;

    while (!c->wrong) {
        expression_skip_blanks(c);
        size_t at = c->at;
        const char *(*op)(struct ch_big_ctx *, struct ch_number, struct ch_number,
                          struct ch_number *) = NULL;
        if (take_any(c, "*", "\xc3\x97"))
            op = ch_number_mul;
        else if (take_any(c, "/", "\xc3\xb7"))
            op = ch_number_div;
        else if (expression_take(c, "%"))
            op = ch_number_mod;
        if (!op)
            break;
        right = signed_power(c);
        if (!c->wrong)
            left = checked(c, at, op(&c->big, left, right, &right), &right);
    }
    return left;
}

static struct ch_number expression_sum(struct calc *c) {
    struct ch_number left = product(c), right;

    while (!c->wrong) {
        expression_skip_blanks(c);
        size_t at = c->at;
        bool minus = take_any(c, "-", "\xe2\x88\x92");
        if (!minus && !expression_take(c, "+"))
            break;
        right = product(c);
        if (!c->wrong)
            left = checked(c, at,
                           minus ? ch_number_sub(&c->big, left, right, &right)
                                 : ch_number_add(&c->big, left, right, &right),
                           &right);
    }
    return left;
}

static void fail_at_rest(struct calc *c) {
    char next = c->text.p[c->at];

    if (next == ',')
        expression_fail(c, c->at, "unexpected ',' (write numbers without thousands separators)");
    else if (next == '(' || expression_is_letter(c, c->at) || expression_is_digit(c, c->at))
        expression_fail(c, c->at, "expected an operator (write * to multiply)");
    else
        fail_here(c);
}

int ch_expression(struct ch_sv text, struct ch_buf *out, bool *exact, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct calc c = {
        .text = text,
        .big = {.arena = &arena, .work = CH_LIMIT_CALC_WORK},
        .err = err,
    };

    if (text.n > CH_LIMIT_CALC_TEXT)
        return ch_fail(err, CHELA_EINVAL, "the expression is longer than %d characters",
                       CH_LIMIT_CALC_TEXT);
    struct ch_number result = expression_sum(&c);
    expression_skip_blanks(&c);
    if (!c.wrong && c.at < text.n)
        fail_at_rest(&c);
    if (c.wrong)
        return CHELA_EINVAL;
    *exact = result.exact;
    ch_number_write(result, out);
    return 0;
}
