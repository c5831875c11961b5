/* The reasons for the choice of a kernel are translated part by part: in English every text stays
 * the same, and a small buffer cuts it. */
#include "tap.h"

#include "engine/devices/choice.h"

#include <string.h>

TEST_CASE(choice_test)
{
    static const char *const choices[] = {
        "",
        "conv direct chosen",
        "linear rows chosen; linear sgemm refused: more than 4 images",
        "; conv direct refused: a stride above 16; conv other refused: unheard of",
        "a view of its input: nothing to compute",
        "fused into conv2, which reads its input through this move",
        "fused into bn2, which computes it in the same pass",
        "what a later version may say; and this",
        "conv winograd chosen; predicted 12.3 us, conv blocked 17.8 us",
        "conv blocked chosen; as the run has recorded",
    };
    char text[256];
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        tap_ok(strcmp(choice_translate(choices[i], text, sizeof text), choices[i]) == 0,
               "\"%s\" stays", choices[i]);
    choice_translate("read through by conv2: nothing is computed or stored", text, sizeof text);
    tap_ok(strcmp(text, choices[5]) == 0, "an older version's words for a fused move: %s", text);
    choice_translate("done by bn2 in its own pass", text, sizeof text);
    tap_ok(strcmp(text, choices[6]) == 0, "an older version's words for a fused add: %s", text);
    for (size_t size = 1; size < 40; size++)
        if (strlen(choice_translate(choices[2], text, size)) != size - 1 ||
            strncmp(text, choices[2], size - 1) != 0)
            return tap_ok(false, "cut to %zu bytes: \"%s\"", size, text), tap_done();
    tap_ok(true, "a small buffer cuts it");
    return tap_done();
}
