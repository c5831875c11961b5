/* A sweep's file, and the cells that its grid expands to. */
#include "studies/sweep/sweep.h"

#include "fuzz.h"
#include "studies/sweep/sweep_grid.h"

#include <stdlib.h>

void fuzz_sweep(const uint8_t *data, size_t size)
{
    struct error error;
    struct sweep_grid grid;
    struct sweep sweep = {0};
    sweep_grid_begin(&grid);
    if (sweep_grid_read(&grid, scratch_write("sweep.json", data, size), &error) &&
        sweep_create(&sweep, &grid, &error))
        sweep_free(&sweep);
    sweep_grid_free(&grid);
}
