/* gemm.h: SGEMM on row-major matrices, recorded in the profile. Only the kernels of this folder use
 * it. */
#ifndef TINCA_ENGINE_DEVICES_CPU_GEMM_H
#define TINCA_ENGINE_DEVICES_CPU_GEMM_H

#include "engine/devices/cpu/simd.h"

#include <cblas.h>

struct gemm_call {
    enum gemm_kind kind;
    size_t m, n, k;
    const float *a, *b;
    size_t a_stride, b_stride, c_stride; /* floats from row to row in memory */
    float beta;                          /* 0: overwrites c; 1: adds to c */
    float *c;
};

/* Computes c = op(a) op(b) + beta c, with op(a) [m, k], op(b) [k, n], c [m, n]; op transposes as
 * the kind says. */
static inline void gemm(struct profile *profile, size_t thread, const struct gemm_call *g)
{
    const uint64_t start = profile_start(profile);
    cblas_sgemm(CblasRowMajor, g->kind == GEMM_TN ? CblasTrans : CblasNoTrans,
                g->kind == GEMM_NT ? CblasTrans : CblasNoTrans, (int)g->m, (int)g->n, (int)g->k, 1,
                g->a, (int)g->a_stride, g->b, (int)g->b_stride, g->beta, g->c, (int)g->c_stride);
    profile_add_gemm(profile, thread, g->kind, g->m, g->n, g->k, start);
}

#endif
