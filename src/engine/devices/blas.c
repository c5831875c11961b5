#include "engine/devices/blas.h"

#include "base/host/host.h"
#include "base/program_file.h"

#include <cblas.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *blas_name(char *text, size_t size)
{
    /* "OpenBLAS 0.3.21 NO_AFFINITY ...": the build options after the version change no result */
    const char *config = openblas_get_config(), *version = strchr(config, ' ');
    const size_t length =
        version ? (size_t)(version - config) + 1 + strcspn(version + 1, " ") : strlen(config);
    snprintf(text, size, "%.*s %s", (int)length, config, openblas_get_corename());
    return text;
}

static const char variable[] = "OPENBLAS_CORETYPE";

/* Returns the OpenBLAS name of the core type with kernels for this processor's instructions, or
 * NULL if OpenBLAS has only its kernels for unknown processors. */
static const char *known_core(void)
{
    switch (host_instruction_set()) {
    case ISA_AVX512:
        return "SkylakeX";
    case ISA_AVX2:
        return "Haswell";
    default:
        return NULL;
    }
}

void blas_core_choose(char **argv)
{
    static const char fallback[] = "Prescott";
    const char *core = known_core();
    char program[PATH_MAX];
    if (!core || getenv(variable) || strcmp(openblas_get_corename(), fallback) != 0)
        return;
    if (!program_file_path(program, sizeof program) || setenv(variable, core, 1) != 0)
        return;
    execv(program, argv);
}
