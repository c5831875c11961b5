/* dlopen and dlsym of the emulator. A library's handle is its list of functions. */
#include "libraries.h"

#include "cuda_runtime.h"

void *emulator_dlopen(const char *name, int)
{
    return emulator_nccl_is_there(name)    ? (void *)emulator_nccl_functions
           : emulator_cudnn_is_there(name) ? (void *)emulator_cudnn_functions
                                           : nullptr;
}

void *emulator_dlsym(void *library, const char *name)
{
    for (const emulated_function *row = (const emulated_function *)library; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row->function;
    return nullptr;
}

int emulator_dlclose(void *)
{
    return 0;
}
