#include "session/files/computed_with.h"

#include "base/language.h"
#include "engine/devices/blas.h"
#include "engine/execution/numerics.h"

#include <config.h>
#include <stdio.h>
#include <string.h>

const char *computed_with_word(size_t value)
{
    static const char *const words[COMPUTED_WITH] = {
        [COMPUTED_PROGRAM] = N_("tinca"),
        [COMPUTED_NUMERICS] = N_("arithmetic of version"),
        [COMPUTED_KERNELS] = N_("kernels for"),
        [COMPUTED_BLAS] = N_("the BLAS library"),
    };
    return words[value];
}

void computed_with_here(struct computed_with *here, const char *device,
                        enum device_precision precision)
{
    *here = (struct computed_with){.keys = {[COMPUTED_PROGRAM] = "version",
                                            [COMPUTED_NUMERICS] = "numerics",
                                            [COMPUTED_KERNELS] = "kernels",
                                            [COMPUTED_BLAS] = "blas"}};
    snprintf(here->values[COMPUTED_PROGRAM], COMPUTED_WITH_SIZE, "%s", PACKAGE_VERSION);
    snprintf(here->values[COMPUTED_NUMERICS], COMPUTED_WITH_SIZE, "%d", NUMERICS_VERSION);
    device_computes_with(device, precision, here->values[COMPUTED_KERNELS], COMPUTED_WITH_SIZE);
    if (strcmp(device, "cpu") == 0)
        blas_name(here->values[COMPUTED_BLAS], COMPUTED_WITH_SIZE);
}

bool computed_with_add(struct json *event, const char *device, enum device_precision precision)
{
    struct computed_with here;
    computed_with_here(&here, device, precision);
    for (size_t i = 0; i < COMPUTED_WITH; i++)
        if (here.values[i][0] && !json_add_string(event, here.keys[i], here.values[i]))
            return false;
    return event;
}
