/* wgmma_products.h: runs the products of gemm_wgmma.cu on the emulated GPU, and checks where it
 * keeps its operands (wgmma_tile.h), for cuda_wgmma_test.
 */
#ifndef TINCA_TESTS_WGMMA_PRODUCTS_H
#define TINCA_TESTS_WGMMA_PRODUCTS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A product, as in gemm.h. */
struct wide_case {
    const char *name;
    size_t m, n, k, count;
    bool a_transposed, b_transposed, add;
};

/* Returns whether gemm_wgmma.cu can compute the product, whose arrays lie `offset` floats after
 * multiples of 64 bytes, and whose left operand is shared by all products or not. */
bool wide_takes(const struct wide_case *c, size_t offset, bool shared_left);

/* Computes the product into c->count images of c->m * c->n floats, with the workspace it asks for
 * or without any. Returns false if it does not. */
bool wide_run(const struct wide_case *c, const float *a, const float *b, float *to,
              bool with_workspace);

/* Rounds values to the precision of emulated_set_precision. */
void wide_round(int precision, float *values, size_t count);

/* Finds out anew whether the emulated GPU has the kernels. */
void wide_open_again(void);

/* Return how many elements or chunks are not where exactly one thread or block has them; how many
 * groups of eight threads store to a bank twice; and how many bits of descriptors are wrong. */
size_t wide_misplaced_sums(void);
size_t wide_misplaced_tiles(void);
size_t wide_misplaced_chunks(bool by_terms);
size_t wide_bank_conflicts(bool by_terms);
bool wide_descriptor_is_right(void);
bool wide_ring_is_right(void);

#ifdef __cplusplus
}
#endif

#endif
