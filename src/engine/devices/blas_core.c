#include "engine/devices/blas_core.h"

#include "base/host/host.h"
#include "base/program_file.h"

#include <cblas.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char variable[] = "OPENBLAS_CORETYPE";

/* Returns the processor that OpenBLAS has kernels for and that has the instructions of this one, or
 * NULL if it has none but those that it uses for processors that it does not know. */
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
