/* scripted_demo.c -- demo.yaml embedded in the library, so that the first run needs no
 * file, no key and no network. The path is relative to make's working directory. */

__asm__(".pushsection .rodata\n"
        ".global ch_scripted_demo\n"
        ".hidden ch_scripted_demo\n"
        "ch_scripted_demo:\n"
        ".incbin \"src/model/scripted/demo.yaml\"\n"
        ".global ch_scripted_demo_end\n"
        ".hidden ch_scripted_demo_end\n"
        "ch_scripted_demo_end:\n"
        ".byte 0\n"
        ".popsection\n");
