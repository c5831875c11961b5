/* Replaces the functions of base/host/amx.c: all kernels for AMX are used, with the emulator. */
#include "amx_emulator.h"

bool host_has_amx(void)
{
    return amx_emulator_start();
}

bool host_has_amx_int8(void)
{
    return host_vnni() == VNNI_AVX512 && amx_emulator_start();
}
