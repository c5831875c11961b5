/* emulated_mma.h: the instructions of tensor cores and asynchronous copies (mma.h of the device) on
 * a processor. The lanes of a warp exchange their fragments, and each computes the elements that it
 * holds on a GPU. A copy is done only when its thread waits for it, so that a kernel that forgets
 * to wait reads what was there before. */
#ifndef TINCA_TESTS_EMULATED_MMA_H
#define TINCA_TESTS_EMULATED_MMA_H

#include "cuda_runtime.h"

uint32_t round_tf32(uint32_t bits);
uint32_t pack_bf16(float low, float high);
uint32_t pack_fp16(float low, float high);

/* Return the value of an operand's bits. */
float emulator_tf32_value(uint32_t word);
float emulator_bf16_value(uint32_t half);
float emulator_fp16_value(uint32_t half);

void mma_tf32(float d[4], const uint32_t a[4], const uint32_t b[2]);
void mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2]);
void mma_fp16(float d[4], const uint32_t a[4], const uint32_t b[2]);

void ldmatrix_x4(uint32_t to[4], const void *row);
void ldmatrix_x4_transposed(uint32_t to[4], const void *row);

void cp_async_4(void *shared, const float *from, bool there);
void cp_async_16(void *shared, const float *from, bool there);
void cp_async_commit(void);

/* Does the copies of all groups of this thread but the last `left`. */
void emulator_wait_copies(size_t left);
template <int LEFT> static inline void cp_async_wait(void)
{
    emulator_wait_copies(LEFT);
}

#endif
