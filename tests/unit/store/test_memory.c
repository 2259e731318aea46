/* test_memory.c -- memory: is a store like any other. */
#include "support/conformance.h"

int main(void) {
    return conformance_run(&(struct conformance){.name = "memory", .url = "memory:"});
}
