/* The reasons for the choice of a kernel are translated part by part: in English every text stays
 * the same, and a small buffer cuts it. */
#include "../tap.h"

#include "engine/devices/choice.h"

#include <string.h>

int main(void)
{
    static const char *const choices[] = {
        "",
        "conv direct chosen",
        "linear rows chosen; linear sgemm refused: more than 4 images",
        "; conv direct refused: a stride above 16; conv other refused: unheard of",
        "a view of its input: nothing to compute",
        "read through by conv2: nothing is computed or stored",
        "done by bn2 in its own pass",
        "what a later version may say; and this",
    };
    char text[256];
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        tap_ok(strcmp(choice_translate(choices[i], text, sizeof text), choices[i]) == 0,
               "\"%s\" stays", choices[i]);
    for (size_t size = 1; size < 40; size++)
        if (strlen(choice_translate(choices[2], text, size)) != size - 1 ||
            strncmp(text, choices[2], size - 1) != 0)
            return tap_ok(false, "cut to %zu bytes: \"%s\"", size, text), tap_done();
    tap_ok(true, "a small room cuts it");
    return tap_done();
}
