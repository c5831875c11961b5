/* libraries.h: the libraries that the CUDA device loads at run time, for dlopen and dlsym of the
 * emulator (cuda_runtime.h).
 */
#ifndef TINCA_TESTS_LIBRARIES_H
#define TINCA_TESTS_LIBRARIES_H

struct emulated_function {
    const char *name; /* NULL ends a list */
    void *function;
};

/* Return whether a library of that name is installed. */
bool emulator_nccl_is_there(const char *name);
bool emulator_cudnn_is_there(const char *name);
extern const struct emulated_function emulator_nccl_functions[], emulator_cudnn_functions[];

#endif
