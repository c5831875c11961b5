/* NumPy's arrays and lists: fuzz_npy reads two files from one input, whose first two bytes are the
 * length of the labels' file, which comes first; fuzz_npz reads an archive; fuzz_list a CSV file.
 */
#include "fuzz.h"
#include "source.h"

void fuzz_npy(const uint8_t *data, size_t size)
{
    if (size < 2)
        return;
    size_t labels = data[0] | (size_t)data[1] << 8;
    labels = labels < size - 2 ? labels : size - 2;
    scratch_write("labels.npy", data + 2, labels);
    source_walk(npy_open, scratch_write("images.npy", data + 2 + labels, size - 2 - labels));
}

void fuzz_npz(const uint8_t *data, size_t size)
{
    source_walk(npz_open, scratch_write("arrays.npz", data, size));
}

void fuzz_list(const uint8_t *data, size_t size)
{
    /* a readable picture for the rows to name */
    static const uint8_t grey[] = {
        137, 80,  78,  71,  13, 10, 26, 10,  0,   0,  0,   13, 73,  72,  68,  82,  0,
        0,   0,   1,   0,   0,  0,  1,  8,   0,   0,  0,   0,  58,  126, 155, 85,  0,
        0,   0,   10,  73,  68, 65, 84, 120, 156, 99, 104, 0,  0,   0,   130, 0,   129,
        119, 205, 114, 182, 0,  0,  0,  0,   73,  69, 78,  68, 174, 66,  96,  130,
    };
    scratch_write("grey.png", grey, sizeof grey);
    source_walk(list_open, scratch_write("list.csv", data, size));
}
