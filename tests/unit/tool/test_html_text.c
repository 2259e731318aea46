/* test_html_text.c -- pages as text and Markdown, with the real parser; events
 * that no parser would send; pages made to be expensive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "io/module.h"
#include "support/modules.h"
#include "support/toolkit.h"
#include "tool/builtin/web/html_text.h"

static const struct chela_html_ops *parser;

static int load(void **state) {
    CH_AUTOFREE char *dir = modules_dir();
    const void *ops;

    (void)state;
    if (!modules_have("html"))
        return 0;
    assert_int_equal(ch_module_load("html", "html", dir, &ops, NULL), 0);
    parser = ops;
    return 0;
}

static void convert(const char *html, size_t n, bool markdown, struct ch_html *out) {
    struct ch_html_opts opts = {.url = CH_SV("https://site.example/dir/page?x=1"),
                                .markdown = markdown};
    if (!parser)
        skip();
    assert_int_equal(ch_html_read(parser, ch_sv(html, n), &opts, out, NULL), 0);
}

static const struct {
    const char *what, *html, *markdown, *text;
} cases[] = {
    {"plain text", "hello  \n world", "hello world", NULL},
    {"paragraphs", "<p>one<p>two</p>three", "one\n\ntwo\n\nthree", NULL},
    {"empty ones leave no trace", "<p></p><div> </div><p>a</p><p>&nbsp;</p><p>b</p>", "a\n\nb",
     NULL},
    {"blocks", "<div>a</div><div>b</div>c", "a\nb\nc", NULL},
    {"headings", "<h1>A</h1><h2> B <i>c</i></h2><h6></h6>x", "# A\n\n## B *c*\n\nx",
     "A\n\nB c\n\nx"},
    {"styles", "a <b>bold</b>, <em>soft</em>, <code>x = 1</code><b> </b>.",
     "a **bold**, *soft*, `x = 1` .", "a bold, soft, x = 1 ."},
    {"spaces stay outside of styles", "a<b> b </b>c", "a **b** c", "a b c"},
    {"styles that overlap", "<b>a<i>b</b>c</i>", "**a*b***c", "abc"},
    {"links", "<a href=/x>root</a> <a href='y z'>rel</a> <a href='http://b.example/?q=1#f'>abs</a>",
     "[root](https://site.example/x) [rel](https://site.example/dir/y%20z) "
     "[abs](http://b.example/?q=1#f)",
     "root rel abs"},
    {"links that lead nowhere",
     "<a href='javascript:alert(1)'>a</a> <a href=#top>b</a> <a>c</a> <a href='data:,x'>d</a> "
     "<a href=/e></a>",
     "a b c d", NULL},
    {"a link around blocks", "x<a href=/y><div><p>z</p></div></a>w",
     "x\n\n[z](https://site.example/y)\n\nw", "x\n\nz\n\nw"},
    {"base", "<base href='https://other.example/a/'><a href=b>c</a>",
     "[c](https://other.example/a/b)", "c"},
    {"lists", "<p>x</p><ul><li>a<li>b<ul><li>c</li></ul></li></ul><ol><li>d</li><li>e</li></ol>y",
     "x\n\n- a\n- b\n  - c\n\n1. d\n2. e\n\ny", "x\n\n- a\n- b\n  - c\n\n1. d\n2. e\n\ny"},
    {"items with paragraphs", "<ul><li><p>a</p><p>b</p></li><li>c</li></ul>", "- a\n\n  b\n\n- c",
     NULL},
    {"definitions", "<dl><dt>t</dt><dd>d</dd></dl>", "t\n- d", NULL},
    {"quotes", "<blockquote>a<p>b</p></blockquote>c", "> a\n\n> b\n\nc", NULL},
    {"code blocks", "<pre>\n  a\n\n  b &lt; c\n</pre>d", "```\n  a\n\n  b < c\n```\n\nd",
     "a\n\n  b < c\n\nd"},
    {"code in a code block", "<pre><code class=c>int <b>x</b>;</code></pre>", "```\nint x;\n```",
     "int x;"},
    {"line breaks", "a<br>b<br><br><br>c", "a\nb\n\nc", NULL},
    {"rules", "a<hr>b", "a\n\n---\n\nb", "a\n\nb"},
    {"images", "<img src=x.png alt='A cat'><img src=y.png><img alt=''>z", "[image: A cat]z", NULL},
    {"tables", "<p>x<table><thead><tr><th>a<th>b</thead><tr><td>1|2<td><p>3</p></table>y",
     "x\n\n| a | b |\n| --- | --- |\n| 1\\|2 | 3 |\n\ny", "x\n\na | b\n1|2 | 3\n\ny"},
    {"empty cells", "<table><tr><td>a<td><td>c</table>", "| a |  | c |\n| --- | --- | --- |",
     "a |  | c"},
    {"a line break in a cell", "<table><tr><td>a<br>b<td>c</table>", "| a b | c |\n| --- | --- |",
     "a b | c"},
    {"tables for layout", "<table><tr><td><p>a</p><p>b</p></td><td>c</td></tr></table>",
     "a\n\nb\n\nc", NULL},
    {"a table in a table", "<table><tr><td>x<table><tr><td>1<td>2</table></td><td>y</td></table>",
     "x\n\n| 1 | 2 |\n| --- | --- |\n\ny", "x\n\n1 | 2\n\ny"},
    {"one cell", "<table><tr><td>a</table>", "a", NULL},
    {"scripts and styles",
     "a<script>if (x < y) document.write('<p>no</p>')</script><style>p{}</style><noscript>no"
     "</noscript><template><p>no</template><svg><title>no</title><text>no</text></svg>b",
     "ab", NULL},
    {"what is hidden",
     "a<p hidden>no</p><div style='DISPLAY : none'>no<p>no</p></div><span aria-hidden=true>no"
     "</span><p style='color:red;visibility:hidden'>no</p>b",
     "a\n\nb", NULL},
    {"navigation", "<nav><a href=/>home</a></nav><div role=navigation>no</div>a", "a", NULL},
    {"comments", "a<!-- no <p> --><!-- -- no -->b", "ab", NULL},
    {"entities", "&lt;b&gt; &amp;amp; &#20320;&#x597d; &copy; &nosuch; &#0;", NULL, NULL},
    {"no-break and zero-width spaces",
     "a&nbsp;&nbsp;b a\xe2\x80\x8b\xc2\xad"
     "b",
     "a b ab", NULL},
    {"the title is not text", "<title> The \n title </title><p>a", "a", NULL},
    {"forms",
     "<form>Name <input value=no><select><option>no</select><textarea>no</textarea>"
     "<button>Go</button></form>",
     "Name", NULL},
    {"unknown elements", "<x-y>a</x-y><foo>b</foo>", "ab", NULL},
    {"stray ends", "</div>a</b></table>b", "ab", NULL},
    {"brackets in an address", "<a href='/a_(b)'>c</a>", "c", NULL},
    {"other alphabets", "<h1>\u4f60\u597d</h1><p>\u043f\u0440\u0438\u0432\u0435\u0442</p>",
     "# \u4f60\u597d\n\n\u043f\u0440\u0438\u0432\u0435\u0442",
     "\u4f60\u597d\n\n\u043f\u0440\u0438\u0432\u0435\u0442"},
};

static void test_cases(void **state) {
    int bad = 0;

    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        for (int markdown = 0; markdown < 2; markdown++) {
            const char *want = markdown || !cases[i].text ? cases[i].markdown : cases[i].text;
            struct ch_html page;
            convert(cases[i].html, strlen(cases[i].html), markdown, &page);
            if (want && strcmp(ch_buf_str(&page.text), want) != 0) {
                print_error("%s: got\n%s\nwant\n%s\n", cases[i].what, ch_buf_str(&page.text), want);
                bad++;
            }
            if (!ch_utf8_valid(ch_buf_sv(&page.text)))
                fail_msg("%s: not UTF-8", cases[i].what);
            ch_html_release(&page);
        }
    }
    assert_int_equal(bad, 0);
}

static void test_title(void **state) {
    static const char html[] =
        "<head><title>\n A  &amp; B </title><title>no</title></head><body><svg><title>no</title>"
        "</svg>x";
    struct ch_html page;

    (void)state;
    convert(html, sizeof(html) - 1, true, &page);
    assert_string_equal(ch_buf_str(&page.title), "A & B");
    assert_string_equal(ch_buf_str(&page.text), "x");
    ch_html_release(&page);
}

/* The declared encoding was dealt with before: the parser must not look. */
static void test_encoding(void **state) {
    static const char html[] = "<meta charset=gbk><meta http-equiv=content-type "
                               "content='text/html; charset=iso-8859-1'><p>\u4f60\u597d \u00e9";
    struct ch_html page;

    (void)state;
    convert(html, sizeof(html) - 1, true, &page);
    assert_string_equal(ch_buf_str(&page.text), "\u4f60\u597d \u00e9");
    ch_html_release(&page);
}

static void test_main(void **state) {
    CH_BUF_AUTO html = {0}, body = {0};
    struct ch_html page;

    (void)state;
    for (int i = 0; i < 40; i++)
        ch_buf_addf(&body, "<p>Sentence number %d.</p>", i);
    ch_buf_addf(&html, "<header>Menu</header><main><h1>T</h1>%s</main><footer>Imprint</footer>",
                body.p);
    convert(html.p, html.n, true, &page);
    assert_true(page.main_only);
    assert_int_equal(strncmp(page.text.p, "# T\n\nSentence number 0.", 23), 0);
    assert_null(strstr(page.text.p, "Menu"));
    assert_null(strstr(page.text.p, "Imprint"));
    ch_html_release(&page);

    ch_buf_clear(&html);
    ch_buf_addf(&html, "Menu<article>%s</article><article>%s</article>", body.p, body.p);
    convert(html.p, html.n, true, &page);
    assert_false(page.main_only); /* neither of two articles is the page */
    ch_html_release(&page);

    convert("Menu<main>short</main>", 22, true, &page);
    assert_false(page.main_only);
    assert_string_equal(page.text.p, "Menu\n\nshort");
    ch_html_release(&page);
}

/* --- pages that mean harm ------------------------------------------------------------ */

static bool after_a_second(void *user) {
    return kit_ms() - *(int64_t *)user > 1000;
}

static const struct {
    const char *what, *piece, *before, *after;
} heavy[] = {
    {"one tag with a million attributes", "a%d ", "<p>x</p><div ", ">y</div>"},
    {"half a million open elements", "<b>", "", ""},
    {"open elements, then ends of others", "<b></i>", "", ""},
    {"nested tables", "<table><tr><td>", "", ""},
    {"nested lists", "<ul><li>a", "", ""},
    {"one comment", "xyz", "a<!--", ""},
    {"an attribute without end", "xyz", "a<p title='", ""},
    {"entities", "&am", "", ""},
    {"ends of nothing", "</p>", "", ""},
    {"rows without end", "<tr><td>a<td>b", "<table>", ""},
    {"cells without end", "<td>a", "<table><tr>", ""},
    {"angle brackets", "<", "", ""},
};

static void test_heavy_pages(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(heavy); i++) {
        CH_BUF_AUTO html = {0};
        struct ch_html page;
        int64_t start = kit_ms();
        struct ch_html_opts opts = {.markdown = true, .stop = after_a_second, .user = &start};

        if (!parser)
            skip();
        ch_buf_add_str(&html, heavy[i].before);
        for (int k = 0; html.n < 2 * CH_MB; k++)
            if (strstr(heavy[i].piece, "%d"))
                ch_buf_addf(&html, "a%d ", k);
            else
                ch_buf_add_str(&html, heavy[i].piece);
        ch_buf_add_str(&html, heavy[i].after);
        assert_int_equal(ch_html_read(parser, ch_buf_sv(&html), &opts, &page, NULL), 0);
        if (kit_ms() - start > 15000)
            fail_msg("%s: %lld ms", heavy[i].what, (long long)(kit_ms() - start));
        assert_true(page.text.n <= CH_LIMIT_HTML_TEXT);
        ch_html_release(&page);
    }
}

static void test_stopped_at_once(void **state) {
    struct ch_html page;
    int64_t start = 0;
    struct ch_html_opts opts = {.stop = after_a_second, .user = &start};

    (void)state;
    if (!parser)
        skip();
    assert_int_equal(ch_html_read(parser, CH_SV("<p>x"), &opts, &page, NULL), 0);
    assert_true(page.cut);
    assert_int_equal(page.text.n, 0);
    ch_html_release(&page);
}

/* No parser would: unbalanced, unknown, deep. */
static void test_odd_events(void **state) {
    static const char *const none[] = {NULL};
    static const char *const names[] = {"table", "tr",  "td", "pre",  "a",  "b",
                                        "ul",    "li",  "h1", "nav",  "br", "blockquote",
                                        "main",  "img", "x",  "title"};
    struct ch_html_opts opts = {.markdown = true};
    const struct chela_html_events *ev = &ch_html_events;
    uint32_t seed = 1;

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct ch_html page;
        struct ch_html_reader *r = ch_html_reader_new(&opts, &page);
        for (int i = 0; i < 2000; i++) {
            seed = seed * 1664525u + 1013904223u;
            const char *name = names[(seed >> 16) % CH_LEN(names)];
            if ((seed >> 8) % 5 < 2)
                ev->open(name, none, r);
            else if ((seed >> 8) % 5 == 2)
                ev->close(name, r);
            else
                ev->text(" t|\n", 1 + (seed >> 24) % 4, r);
        }
        ch_html_reader_finish(r);
        assert_true(ch_utf8_valid(ch_buf_sv(&page.text)));
        ch_html_release(&page);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),       cmocka_unit_test(test_title),
        cmocka_unit_test(test_encoding),    cmocka_unit_test(test_main),
        cmocka_unit_test(test_heavy_pages), cmocka_unit_test(test_stopped_at_once),
        cmocka_unit_test(test_odd_events),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
