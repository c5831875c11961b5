/* emulated_device.h: runs the kernels of device cuda on this processor, for tests in C. */
#ifndef TINCA_TESTS_EMULATED_DEVICE_H
#define TINCA_TESTS_EMULATED_DEVICE_H

#include "engine/devices/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A driver with host memory, for callers of device_open and for the planner; and its device, which
 * is open from the start and executes everything in order. */
extern const struct device_driver emulated_driver;
struct device *emulated_device(void);

/* Does what the runtime does on a GPU before an iteration and before an update. */
void emulated_set_iteration(uint64_t iteration);
void emulated_set_step(const struct solver_settings *settings, uint64_t step, float learning_rate);

/* Returns the error since the last call, "" if there was none. Valid until the next call. */
const char *emulated_failure(void);

/* Sets how many blocks keep the emulated GPU busy; with a low number small cases are divided like
 * large ones. */
void emulated_set_busy_blocks(unsigned blocks);
enum { EMULATED_BUSY_BLOCKS = 264 }; /* the value of the device */

/* Returns the parts of a sum (split_count of implicit_gemm.h). */
size_t emulated_split_count(size_t blocks, size_t positions, size_t resident);

/* Returns the parts of the sums of a convolution's forward pass (gemm_split.h), with plain values
 * and precision 0 or above. */
struct shape;
struct conv_attributes;
size_t emulated_gemm_parts(const struct shape *in, const struct shape *out,
                           const struct conv_attributes *conv, size_t batch, int precision);

/* Captures what `work` enqueues as a graph, which replaces the earlier one; NULL only frees that.
 * The second function replays the graph. */
void emulated_capture(void (*work)(void *state), void *state);
void emulated_replay(void);

/* Sets whether the device has cuDNN; at first it has. */
void emulated_use_dnn(bool use);

/* Sets whether plans below float32 have channels-last values; at first they have. */
void emulated_use_channels_last(bool use);

/* Sets the type of factors in products: 0 float32, 1 TF32, 2 bfloat16, 3 float16. */
void emulated_set_precision(int precision);

/* Sets the order of blocks and threads: 0 natural, otherwise drawn from this seed. */
void emulator_set_order(uint64_t seed);
size_t emulator_kernels_run(void);

/* Divides by multiplication as the device does; host and GPU use the same function. */
uint32_t emulated_divide(uint32_t n, uint32_t by, uint32_t *rest);

#ifdef __cplusplus
}
#endif

#endif
