/* emulated_wgmma.h: the products of Hopper's warpgroups, the barriers in shared memory and the
 * copies of the TMA (gemm_wgmma.cu of the device) on a processor. A product reads shared memory
 * through its descriptors, as the manual "PTX ISA" specifies. With the natural order of threads
 * products and copies are done when they are begun, with any other when somebody waits for them, so
 * that a stage that is read too early or written too early gives other bits. */
#ifndef TINCA_TESTS_EMULATED_WGMMA_H
#define TINCA_TESTS_EMULATED_WGMMA_H

#include "cuda.h"
#include "cuda_runtime.h"

/* Returns the shared memory whose size the launch gives, and the address in the shared window of
 * what lies in it; another address ends the program. */
char *dynamic_shared(void);
uint32_t shared_address(const void *shared);

/* A store that fence_async must follow before the thread reaches a barrier of the block. */
void shared_store_16(void *to, uint4 words);
void fence_async(void);

void mbarrier_init(uint64_t *barrier);
void mbarrier_publish(void);
void mbarrier_expect(uint64_t *barrier, uint32_t bytes);
void mbarrier_wait(uint64_t *barrier, uint32_t parity);
void tma_load_2d(void *to, const CUtensorMap *map, int x, int y, uint64_t *barrier);

void wgmma_fence(void);
void wgmma_commit(void);
/* Does the products of all groups of this thread but the last `left`. */
void emulator_wait_products(size_t left);
template <int LEFT> static inline void wgmma_wait(void)
{
    emulator_wait_products(LEFT);
}
static inline void wgmma_hold(float *)
{
}
void wgmma_tf32(float *d, uint64_t a, uint64_t b);
void wgmma_bf16(float *d, uint64_t a, uint64_t b);
void wgmma_fp16(float *d, uint64_t a, uint64_t b);

#endif
