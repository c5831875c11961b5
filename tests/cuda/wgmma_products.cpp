#include "wgmma_products.h"

#include "emulated_device.h"
#include "emulator/emulated_mma.h"

#include "engine/devices/cuda/gemm.h"
#include "engine/devices/cuda/wgmma_tile.h"

#include <cstring>
#include <set>
#include <vector>

static struct cuda_context *context_now(void)
{
    return (struct cuda_context *)emulated_device()->state;
}

static struct product product_of(const struct wide_case *c)
{
    struct product p = {};
    p.m = c->m;
    p.n = c->n;
    p.k = c->k;
    p.a_transposed = c->a_transposed;
    p.b_transposed = c->b_transposed;
    p.beta = c->add ? 1.0f : 0.0f;
    p.count = c->count;
    p.b_stride = c->count > 1 ? c->n * c->k : 0;
    p.c_stride = c->count > 1 ? c->m * c->n : 0;
    return p;
}

bool wide_takes(const struct wide_case *c, size_t offset, bool shared_left)
{
    struct product p = product_of(c);
    p.b = (const float *)(uintptr_t)(64 + 4 * offset);
    p.a_stride = shared_left ? 0 : c->m * c->k;
    return wgmma_takes(context_now(), &p);
}

bool wide_run(const struct wide_case *c, const float *a, const float *b, float *to,
              bool with_workspace)
{
    struct product p = product_of(c);
    p.a = a;
    p.b = b;
    p.c = to;
    const size_t bytes = with_workspace ? wgmma_workspace(context_now(), &p) : 0;
    void *memory = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    if (memory)
        memset(memory, 0xff, bytes); /* NaN */
    const bool computed = wgmma_multiply(context_now(), "a test", &p, memory, bytes);
    free(memory);
    return computed;
}

void wide_round(int precision, float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        values[i] = precision == 1   ? emulator_tf32_value(round_tf32(bits))
                    : precision == 2 ? emulator_bf16_value(pack_bf16(values[i], 0))
                    : precision == 3 ? emulator_fp16_value(pack_fp16(values[i], 0))
                                     : values[i];
    }
}

void wide_open_again(void)
{
    cuda_wgmma_open(context_now());
}

/* --- places --- */

size_t wide_misplaced_sums(void)
{
    std::vector<unsigned> seen(64 * 128);
    for (uint32_t thread = 0; thread < WARPGROUP; thread++)
        for (uint32_t e = 0; e < 64; e++)
            seen[wgmma_row(thread, e) * 128 + wgmma_column(thread, e)]++;
    size_t wrong = 0;
    for (unsigned count : seen)
        wrong += count != 1;
    return wrong;
}

/* A product of 300 rows and 1000 columns has 3 x 8 tiles. */
size_t wide_misplaced_tiles(void)
{
    std::set<std::pair<uint32_t, uint32_t>> seen;
    size_t wrong = 0;
    for (uint32_t block = 0; block < 24; block++) {
        const struct tile_place place = tile_place_of(block, 300);
        wrong += place.row % 128 != 0 || place.row > 256 || place.column % 128 != 0 ||
                 place.column > 896 || !seen.insert({place.row, place.column}).second;
    }
    return wrong;
}

size_t wide_misplaced_chunks(bool by_terms)
{
    std::vector<unsigned> seen(TILE_SIDE_BYTES / TILE_CHUNK_BYTES);
    size_t wrong = 0;
    for (uint32_t thread = 0; thread < TILE_THREADS; thread++) {
        const struct tile_share share = tile_share_of(thread, by_terms);
        for (uint32_t u = 0; u < 4; u++)
            seen[tile_offset(share.line + u * share.step, share.chunk) / TILE_CHUNK_BYTES]++;
    }
    for (unsigned count : seen)
        wrong += count != 1;
    return wrong;
}

/* Shared memory has 32 banks of four bytes, so eight stores of 16 bytes at once must differ in bits
 * 4 to 6 of their addresses. */
size_t wide_bank_conflicts(bool by_terms)
{
    size_t conflicts = 0;
    for (uint32_t first = 0; first < TILE_THREADS; first += 8)
        for (uint32_t u = 0; u < 4; u++) {
            std::set<uint32_t> banks;
            for (uint32_t thread = first; thread < first + 8; thread++) {
                const struct tile_share share = tile_share_of(thread, by_terms);
                banks.insert(tile_offset(share.line + u * share.step, share.chunk) / 16 % 8);
            }
            conflicts += banks.size() != 8;
        }
    return conflicts;
}

/* The constant is put together by hand from the table "Matrix Descriptor Format": swizzle mode 1 in
 * bits 62 and 63, a stride of 1024 bytes and an unused offset of 1 in units of 16 bytes, and the
 * address 0x12340, of which 0x1234 is left. */
bool wide_descriptor_is_right(void)
{
    return tile_descriptor(0x12340) == 0x4000004000011234u &&
           tile_descriptor(0x52340) == 0x4000004000011234u;
}

bool wide_ring_is_right(void)
{
    bool right = tile_padding(0) == 0 && tile_padding(1024) == 0 && tile_padding(1040) == 1008;
    for (uint32_t step = 0; step < 30; step++)
        right = right && tile_stage(step) < TILE_STAGES &&
                tile_stage(step + TILE_STAGES) == tile_stage(step) &&
                tile_parity(step + TILE_STAGES) != tile_parity(step);
    return right && tile_stage(0) == 0 && tile_parity(0) == 0;
}
