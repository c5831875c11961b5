#include "engine/devices/blas_name.h"

#include <cblas.h>
#include <stdio.h>
#include <string.h>

char *blas_name(char *text, size_t size)
{
    /* "OpenBLAS 0.3.21 NO_AFFINITY ...": the build options after the version change no result */
    const char *config = openblas_get_config(), *version = strchr(config, ' ');
    const size_t length =
        version ? (size_t)(version - config) + 1 + strcspn(version + 1, " ") : strlen(config);
    snprintf(text, size, "%.*s %s", (int)length, config, openblas_get_corename());
    return text;
}
