/* emulated_device.h: the kernels of device cuda, on this processor, for tests written in C. */
#ifndef TINCA_TESTS_EMULATED_DEVICE_H
#define TINCA_TESTS_EMULATED_DEVICE_H

#include "engine/devices/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A driver whose memory is the host's, for device_open's callers and the planner; and its device,
 * open from the start, with a stream that is ordered as everything else here is. */
extern const struct device_driver emulated_driver;
struct device *emulated_device(void);

/* What the runtime does on a GPU before an iteration and before an update. */
void emulated_set_iteration(uint64_t iteration);
void emulated_set_step(const struct solver_settings *settings, uint64_t step, float learning_rate);

/* What failed since the last call; empty: nothing. Valid until the next. */
const char *emulated_failure(void);

/* Blocks that keep the emulated GPU busy: low, and small cases are cut as large ones are. */
void emulated_set_busy_blocks(unsigned blocks);
enum { EMULATED_BUSY_BLOCKS = 264 }; /* what the device has */

/* Keeps what `work` enqueues as a graph, in place of the one before; NULL: only drops that one. And
 * does what is kept once more. */
void emulated_capture(void (*work)(void *state), void *state);
void emulated_replay(void);

/* Whether the device has cuDNN; it does from the start. */
void emulated_use_dnn(bool use);

/* What products are multiplied in: 0 float32, 1 TF32, 2 bfloat16, 3 float16. */
void emulated_set_precision(int precision);

/* The order of blocks and threads: 0 natural, else drawn from the seed. */
void emulator_set_order(uint64_t seed);
size_t emulator_kernels_run(void);

/* Divides by the device's multiplication: the host's and the GPU's are one function. */
uint32_t emulated_divide(uint32_t n, uint32_t by, uint32_t *rest);

#ifdef __cplusplus
}
#endif

#endif
