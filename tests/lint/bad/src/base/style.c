#include <stdio.h>
	int tab;
int trailing; 
static int wide(const char *a, const char *b, const char *c, const char *d, const char *e, const char *f1);
/* 中文 a line whose bytes, not whose characters, pass one hundred: 中文中文中文中文 */
/* TODO: tidy up */
static const char *where = "/home/someone/chela";
static const char *mirror = "https://registry.npmjs.org/";
void calls(char *p) {
    strcpy(p, "x");
    ch_strcpy(p, "a function of our own with strcat( in its name");
    p->system(p); /* a field, and system( in a comment */
    sprintf (p, "%d", atoi(p));
    int most = CH_MAX(p[0]++, 1); for (int i = 0; i < CH_MIN(most, 3); i++) p--;
}
enum ch_twice { CH_TWICE };
struct ch_twice {
    int n;
};
