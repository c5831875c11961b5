/* The machine code of kernels that a run does not use: those of other instruction sets, and those
 * for bf16 in a run of float32. The linker places the code of a library of kernels in one piece, so
 * the functions of a table's kernels mark its extent, but for the last function. */
#include "engine/devices/cpu/cpu.h"

struct extent {
    uintptr_t begin, end;
};

static void include_function(struct extent *extent, uintptr_t function)
{
    if (function == 0)
        return;
    if (extent->begin == 0 || function < extent->begin)
        extent->begin = function;
    if (function > extent->end)
        extent->end = function;
}

static uint64_t unloaded_bytes(const struct kernel *const *kernels)
{
    struct extent extent = {0};
    for (; *kernels; kernels++) {
        include_function(&extent, (uintptr_t)(*kernels)->supports);
        include_function(&extent, (uintptr_t)(*kernels)->prepare);
        include_function(&extent, (uintptr_t)(*kernels)->forward);
        include_function(&extent, (uintptr_t)(*kernels)->backward);
    }
    return host_unloaded_bytes(extent.begin, extent.end);
}

uint64_t cpu_idle_code_bytes(enum device_precision precision)
{
    const char *reason;
    const enum instruction_set used = host_instruction_set();
    const struct cpu_bf16_table *bf16 = cpu_bf16_table_here(&reason);
    uint64_t bytes = bf16 && precision != PRECISION_BF16 ? unloaded_bytes(bf16->kernels) : 0;
    if (cpu_amx_table() && (precision != PRECISION_BF16 || !cpu_amx_table_here()))
        bytes += unloaded_bytes(cpu_amx_table()->kernels);
    for (int set = 0; set < INSTRUCTION_SETS; set++) {
        const struct cpu_table *table = cpu_table_for((enum instruction_set)set);
        if (table && set != (int)used)
            bytes += unloaded_bytes(table->kernels);
    }
    return bytes;
}
