/* cluster.c -- see cluster.h. */
#include "base/cluster.h"

#include "base/mem.h"
#include "base/utf8.h"

#define JOINER 0x200d

/* Code points that belong to the one before them, sorted. */
static const struct {
    uint32_t from, to;
} cluster_marks[] = {
    {0x0300, 0x036f},   {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x05bf, 0x05c7},   {0x0610, 0x061a},
    {0x064b, 0x065f},   {0x0670, 0x0670}, {0x06d6, 0x06dc}, {0x06df, 0x06e4},   {0x06e7, 0x06ed},
    {0x0711, 0x0711},   {0x0730, 0x074a}, {0x07a6, 0x07b0}, {0x07eb, 0x07f3},   {0x0816, 0x082d},
    {0x0859, 0x085b},   {0x08d3, 0x0903}, {0x093a, 0x094f}, {0x0951, 0x0957},   {0x0962, 0x0963},
    {0x0981, 0x0983},   {0x09bc, 0x09d7}, {0x09e2, 0x09e3}, {0x0a01, 0x0a03},   {0x0a3c, 0x0a51},
    {0x0a70, 0x0a83},   {0x0abc, 0x0acd}, {0x0ae2, 0x0ae3}, {0x0b01, 0x0b03},   {0x0b3c, 0x0b57},
    {0x0b62, 0x0b63},   {0x0b82, 0x0b82}, {0x0bbe, 0x0bd7}, {0x0c00, 0x0c04},   {0x0c3e, 0x0c56},
    {0x0c62, 0x0c63},   {0x0c81, 0x0c83}, {0x0cbc, 0x0cd6}, {0x0ce2, 0x0ce3},   {0x0d00, 0x0d03},
    {0x0d3b, 0x0d4d},   {0x0d57, 0x0d57}, {0x0d62, 0x0d63}, {0x0d81, 0x0d83},   {0x0dca, 0x0df3},
    {0x0e31, 0x0e31},   {0x0e33, 0x0e3a}, {0x0e47, 0x0e4e}, {0x0eb1, 0x0eb1},   {0x0eb3, 0x0ebc},
    {0x0ec8, 0x0ecd},   {0x0f18, 0x0f19}, {0x0f35, 0x0f39}, {0x0f3e, 0x0f3f},   {0x0f71, 0x0f84},
    {0x0f86, 0x0f87},   {0x0f8d, 0x0fbc}, {0x102b, 0x103e}, {0x1056, 0x1059},   {0x1160, 0x11ff},
    {0x135d, 0x135f},   {0x1712, 0x1714}, {0x17b4, 0x17d3}, {0x180b, 0x180d},   {0x1ab0, 0x1aff},
    {0x1b34, 0x1b44},   {0x1dc0, 0x1dff}, {0x200c, JOINER}, {0x20d0, 0x20ff},   {0x302a, 0x302f},
    {0x3099, 0x309a},   {0xa66f, 0xa67d}, {0xa8e0, 0xa8f1}, {0xaa29, 0xaa36},   {0xabe3, 0xabed},
    {0xfe00, 0xfe0f},   {0xfe20, 0xfe2f}, {0xff9e, 0xff9f}, {0x1f3fb, 0x1f3ff}, {0xe0020, 0xe007f},
    {0xe0100, 0xe01ef},
};

static bool cluster_is_mark(uint32_t cp) {
    size_t low = 0, high = CH_LEN(cluster_marks);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (cp > cluster_marks[middle].to)
            low = middle + 1;
        else
            high = middle;
    }
    return low < CH_LEN(cluster_marks) && cp >= cluster_marks[low].from;
}

/* Half of a flag. */
static bool cluster_is_region(uint32_t cp) {
    return cp >= 0x1f1e6 && cp <= 0x1f1ff;
}

/* The code point that ends at n; *at gets its start. */
static uint32_t cluster_before(struct ch_sv s, size_t n, size_t *at) {
    uint32_t cp = 0;
    size_t i = n - 1;
    while (i > 0 && n - i < 4 && ((unsigned char)s.p[i] & 0xc0) == 0x80)
        i--;
    *at = ch_utf8_next(ch_sv(s.p + i, n - i), &cp) == n - i ? i : n - 1;
    return cp;
}

/* True if the code points before and after n belong to one character. */
static bool cluster_joins(struct ch_sv s, size_t n) {
    uint32_t next = 0;
    size_t at, regions = 0;
    if (!ch_utf8_next(ch_sv(s.p + n, s.n - n), &next))
        return false;
    uint32_t last = cluster_before(s, n, &at);
    if (cluster_is_mark(next) || last == JOINER)
        return true;
    if (!cluster_is_region(next))
        return false;
    for (; cluster_is_region(last); regions++)
        last = at ? cluster_before(s, at, &at) : 0;
    return regions % 2 == 1;
}

struct ch_sv ch_cluster_cut(struct ch_sv s, size_t n) {
    struct ch_sv most = ch_utf8_cut(s, n);
    size_t end = most.n, first = ch_utf8_next(s, NULL);
    while (end > most.n / 2 && end < s.n && cluster_joins(s, end))
        cluster_before(s, end, &end);
    most.n = end > most.n / 2 ? end : most.n;
    return most.n || !s.n ? most : ch_sv(s.p, first ? first : 1);
}
