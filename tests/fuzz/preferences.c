/* The configuration file of the workbench. */
#include "ui/shared/preferences.h"

#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void fuzz_preferences(const uint8_t *data, size_t size)
{
    struct error error;
    struct preferences preferences;
    mkdir(scratch_path("tinca"), 0700);
    scratch_write("tinca/config.json", data, size);
    setenv("XDG_CONFIG_HOME", scratch_path("."), 1);
    if (preferences_read(&preferences, &error))
        preferences_write(&preferences, &error);
}
