/* The inner loop of the products of integers with AMX (int8_amx.h). Every shape of a group has a
 * loop of its own; the larger ones have four sums, so that products do not wait for each other. */
#include "engine/devices/cpu/int8_amx.h"

#define AMX_INLINE static inline __attribute__((always_inline))

AMX_INLINE void multiply(const struct amx_product *p, const struct amx_group *group,
                         int32_t *totals, const int tiles, const int columns)
{
    const size_t step = p->step, column = amx_column_bytes(p);
    const size_t chunk = p->chunk_terms * TERM_FACTORS * INT8_BLOCK;
    const uint8_t *const *values = group->values;
    const int8_t *weights = group->weights;
    amx_fence();
    amx_clear_sums();
    for (size_t k = 0; k < p->chunks; k++, weights += chunk) {
        const size_t at = p->offsets[k];
        _tile_loadd(WEIGHTS_0, weights, TILE_BYTES);
        _tile_loadd(VALUES_0, values[0] + at, step);
        _tile_dpbusd(SUMS_0, VALUES_0, WEIGHTS_0);
        if (columns > 1) {
            _tile_loadd(WEIGHTS_1, weights + column, TILE_BYTES);
            _tile_dpbusd(SUMS_1, VALUES_0, WEIGHTS_1);
        }
        if (columns > 2) {
            _tile_loadd(WEIGHTS_0, weights + 2 * column, TILE_BYTES);
            _tile_dpbusd(SUMS_2, VALUES_0, WEIGHTS_0);
        }
        if (columns > 3) {
            _tile_loadd(WEIGHTS_1, weights + 3 * column, TILE_BYTES);
            _tile_dpbusd(SUMS_3, VALUES_0, WEIGHTS_1);
        }
        if (tiles > 1)
            _tile_loadd(VALUES_1, values[1] + at, step);
        if (tiles > 1 && columns > 1) {
            _tile_dpbusd(SUMS_2, VALUES_1, WEIGHTS_0);
            _tile_dpbusd(SUMS_3, VALUES_1, WEIGHTS_1);
        } else if (tiles > 1) {
            _tile_dpbusd(SUMS_1, VALUES_1, WEIGHTS_0);
        }
        if (tiles > 2) {
            _tile_loadd(VALUES_0, values[2] + at, step);
            _tile_dpbusd(SUMS_2, VALUES_0, WEIGHTS_0);
        }
        if (tiles > 3) {
            _tile_loadd(VALUES_1, values[3] + at, step);
            _tile_dpbusd(SUMS_3, VALUES_1, WEIGHTS_0);
        }
    }
    amx_store_sums(totals);
}

/* Has the shape of the group as constants. */
typedef void group_function(const struct amx_product *p, const struct amx_group *group,
                            int32_t *totals);

#define GROUP(TILES, COLUMNS)                                                                      \
    static void group_##TILES##x##COLUMNS(const struct amx_product *p,                             \
                                          const struct amx_group *group, int32_t *totals)          \
    {                                                                                              \
        multiply(p, group, totals, TILES, COLUMNS);                                                \
    }
GROUP(1, 1)
GROUP(1, 2)
GROUP(1, 3)
GROUP(1, 4)
GROUP(2, 1)
GROUP(2, 2)
GROUP(3, 1)
GROUP(4, 1)
#undef GROUP

void KERNEL(amx_multiply)(const struct amx_product *p, const struct amx_group *group,
                          int32_t *totals)
{
    static group_function *const functions[AMX_TILES][AMX_TILES] = {
        {group_1x1, group_1x2, group_1x3, group_1x4},
        {group_2x1, group_2x2},
        {group_3x1},
        {group_4x1}};
    functions[group->tiles - 1][group->columns - 1](p, group, totals);
}
