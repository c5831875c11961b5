/* A mapping of names: what it says of names of several forms, in both directions. */
#include "engine/weights/weights_names.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

void fuzz_mapping(const uint8_t *data, size_t size)
{
    static const char *const samples[] = {"layer1.0.conv1.weight",
                                          "stage3.17.bn_shortcut.running_mean", "", "*",
                                          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    struct error error;
    struct weights_names names;
    char out[128], back[128];
    if (!weights_names_read(&names, scratch_write("mapping.json", data, size), &error))
        return;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        weights_names_translate(&names, samples[i], out, sizeof out);
        weights_names_is_identity(&names, samples[i]);
        weights_names_subtracts(&names, samples[i], out, sizeof out);
        weights_names_subtracted(&names, samples[i], out, sizeof out);
        if (!weights_names_translate_back(&names, samples[i], out, sizeof out))
            continue;
        weights_names_translate(&names, out, back, sizeof back);
        if (strcmp(back, samples[i]) != 0)
            abort(); /* a name that is written must be read back as it was */
    }
    weights_names_has_counters(&names);
    weights_names_free(&names);
}
