/* wgmma_tile.h: where a block of gemm_wgmma.cu keeps its operands in shared memory, and which
 * element is where. Plain functions without instructions of a GPU, which tests call, too.
 *
 * A stage holds, for 128 rows of the left operand and 128 columns of the right one, as many
 * successive terms of the sum as 128 bytes hold: 32 of TF32, 64 of bfloat16 or float16. Both lie
 * "K-major": a line is a row, or a column, with its terms as neighbours. (TF32 products know no
 * other order.) Lines follow each other, and their eight chunks of 16 bytes are permuted: chunk c
 * of line l lies at place c ^ l % 8. That is the 128-byte swizzle that products read and the TMA
 * writes, if a side begins at a multiple of 1024 bytes, after which the pattern repeats.
 *
 * Section "Shared Memory Matrix Layout" of NVIDIA's manual "PTX ISA" has the canonical layout:
 * Swizzle<3, 4, 3> o ((8, m), (T, 2 k)) : ((8 T, SBO), (1, T)) for chunks of T elements.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_WGMMA_TILE_H
#define TINCA_ENGINE_DEVICES_CUDA_WGMMA_TILE_H

#include <cuda_runtime.h>

#include <stdint.h>

enum {
    TILE_LINES = 128, /* rows of the left operand, columns of the right one */
    TILE_LINE_BYTES = 128,
    TILE_CHUNK_BYTES = 16,
    TILE_CHUNKS = TILE_LINE_BYTES / TILE_CHUNK_BYTES, /* of a line */
    TILE_SIDE_BYTES = TILE_LINES * TILE_LINE_BYTES,
    TILE_STAGE_BYTES = 2 * TILE_SIDE_BYTES, /* the left operand comes first */
    TILE_STAGES = 3,
    TILE_ALIGNMENT = 1024,
    TILE_SHARED_BYTES = TILE_STAGES * TILE_STAGE_BYTES + TILE_ALIGNMENT,
    TILE_PRODUCT_BYTES = 32, /* terms of one product in a line: 8 of 4 bytes, 16 of 2 */
    TILE_PRODUCTS = TILE_LINE_BYTES / TILE_PRODUCT_BYTES,
    WARPGROUP = 128,
    TILE_THREADS = 2 * WARPGROUP, /* each warpgroup multiplies 64 rows */
};

/* --- the ring of stages --- */

/* Returns how many bytes after `address` the first stage begins. */
static __host__ __device__ __forceinline__ uint32_t tile_padding(uint32_t address)
{
    return (TILE_ALIGNMENT - address % TILE_ALIGNMENT) % TILE_ALIGNMENT;
}

/* Return the stage of a step, and the parity of the phase in which its barrier is then. */
static __host__ __device__ __forceinline__ uint32_t tile_stage(uint32_t step)
{
    return step % TILE_STAGES;
}
static __host__ __device__ __forceinline__ uint32_t tile_parity(uint32_t step)
{
    return step / TILE_STAGES % 2;
}

/* Returns the offset of a chunk of a line in a side of a stage. */
static __host__ __device__ __forceinline__ uint32_t tile_offset(uint32_t line, uint32_t chunk)
{
    return line * TILE_LINE_BYTES + (chunk ^ line % 8) * TILE_CHUNK_BYTES;
}

/* Returns the descriptor of an operand that begins at this address of shared memory ("Matrix
 * Descriptor Format"): the address in bits 0 to 13; in bits 16 to 29 an offset that this layout
 * does not use and that is to be 1; in bits 32 to 45 the distance of eight lines from the next
 * eight; all in units of 16 bytes. The base offset in bits 49 to 51 is 0, because sides begin at
 * multiples of 1024. Bits 62 and 63 are 1: the swizzle of 128 bytes. A product begins
 * TILE_PRODUCT_BYTES further than the one before: the swizzle works on the bits of the sum. */
static __host__ __device__ __forceinline__ uint64_t tile_descriptor(uint32_t address)
{
    const uint64_t between_lines = 8 * TILE_LINE_BYTES;
    return (uint64_t)((address & 0x3ffffu) >> 4) | (uint64_t)1 << 16 | between_lines >> 4 << 32 |
           (uint64_t)1 << 62;
}

/* --- the sums --- */

/* Return the row, among the 64 of its warpgroup, and the column of sum e of thread i of it. */
static __host__ __device__ __forceinline__ uint32_t wgmma_row(uint32_t i, uint32_t e)
{
    return i / 32 * 16 + i % 32 / 4 + e / 2 % 2 * 8;
}
static __host__ __device__ __forceinline__ uint32_t wgmma_column(uint32_t i, uint32_t e)
{
    return e / 4 * 8 + i % 4 * 2 + e % 2;
}

/* --- the walk --- */

/* A block's tile of the product. Successive blocks take all rows of the same columns, so that the
 * right operand, which is not copied in advance, is read from the cache. */
struct tile_place {
    uint32_t row, column; /* the first ones */
};
static __host__ __device__ __forceinline__ struct tile_place tile_place_of(uint32_t block,
                                                                           uint32_t rows)
{
    const uint32_t down = (rows + TILE_LINES - 1) / TILE_LINES;
    return {block % down * TILE_LINES, block / down * TILE_LINES};
}

/* --- loading the right operand --- */

/* A thread loads, rounds and stores four chunks of a stage's right side: chunk `chunk` of the lines
 * line, line + step, line + 2 step, line + 3 step. Eight successive threads store 16 bytes each in
 * different banks.
 *
 *   by columns (a column's terms are neighbours in memory): eight threads have the chunks of one
 *       line, so they read its 128 bytes of TF32 (256 for 16-bit operands).
 *   by terms (a term's columns are neighbours): a thread's four lines are neighbours, and it loads
 *       four columns at a time for each term of the chunk. Eight threads have four chunks of two
 *       such groups; a warp reads 128 bytes of each of its terms. */
struct tile_share {
    uint32_t line, step, chunk;
};
static __host__ __device__ __forceinline__ struct tile_share tile_share_of(uint32_t thread,
                                                                           bool by_terms)
{
    const uint32_t lane = thread % 32, warp = thread / 32;
    if (!by_terms)
        return {thread / TILE_CHUNKS, TILE_LINES / 4, thread % TILE_CHUNKS};
    return {4 * (warp / 2 * 8 + lane / 8 * 2 + lane % 2), 1, warp % 2 * 4 + lane / 2 % 4};
}

#endif
