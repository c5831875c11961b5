/* Two IDX files in one input: the first byte is the length of the labels' file, which comes first.
 */
#include "fuzz.h"
#include "source.h"

#include <sys/stat.h>

void fuzz_idx(const uint8_t *data, size_t size)
{
    if (size < 1)
        return;
    size_t labels = data[0] < size - 1 ? data[0] : size - 1;
    mkdir(scratch_path("idx"), 0700);
    scratch_write("idx/train-labels-idx1-ubyte", data + 1, labels);
    scratch_write("idx/train-images-idx3-ubyte", data + 1 + labels, size - 1 - labels);
    source_walk(idx_open, scratch_path("idx"));
}
