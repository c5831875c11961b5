/* All kernels of one instruction set, the better before the more general. */
#include "engine/devices/cpu/cpu.h"
#include "engine/devices/cpu/simd.h"

extern const struct kernel KERNEL(conv), KERNEL(conv_gemm), KERNEL(conv_transpose),
    KERNEL(linear_rows), KERNEL(linear), KERNEL(max_pool), KERNEL(average_pool), KERNEL(relu),
    KERNEL(leaky_relu), KERNEL(sigmoid), KERNEL(tanh), KERNEL(softmax), KERNEL(batch_norm),
    KERNEL(lrn), KERNEL(dropout), KERNEL(concat), KERNEL(add), KERNEL(channel_shuffle),
    KERNEL(channel_shift), KERNEL(softmax_cross_entropy), KERNEL(binary_cross_entropy),
    KERNEL(l1_loss), KERNEL(l2_loss);

void KERNEL(update)(const struct solver_update *update, struct pool *pool);
double KERNEL(multiply_add)(struct pool *pool);
void KERNEL(triad)(struct pool *pool, float *a, const float *b, const float *c, size_t count);
void KERNEL(read)(struct pool *pool, const float *values, size_t count);

static const struct kernel *const kernels[] = {
    &KERNEL(conv),
    &KERNEL(conv_gemm),
    &KERNEL(conv_transpose),
    &KERNEL(linear_rows),
    &KERNEL(linear),
    &KERNEL(max_pool),
    &KERNEL(average_pool),
    &KERNEL(relu),
    &KERNEL(leaky_relu),
    &KERNEL(sigmoid),
    &KERNEL(tanh),
    &KERNEL(softmax),
    &KERNEL(batch_norm),
    &KERNEL(lrn),
    &KERNEL(dropout),
    &KERNEL(concat),
    &KERNEL(add),
    &KERNEL(channel_shuffle),
    &KERNEL(channel_shift),
    &KERNEL(softmax_cross_entropy),
    &KERNEL(binary_cross_entropy),
    &KERNEL(l1_loss),
    &KERNEL(l2_loss),
    NULL,
};

extern const struct cpu_table KERNEL(table);
const struct cpu_table KERNEL(table) = {.kernels = kernels,
                                        .update = KERNEL(update),
                                        .multiply_add = KERNEL(multiply_add),
                                        .triad = KERNEL(triad),
                                        .read = KERNEL(read)};
