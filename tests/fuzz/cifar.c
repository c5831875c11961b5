/* CIFAR-100 and CIFAR-10, whose five files are the same bytes, with these bytes for class names. */
#include "fuzz.h"
#include "source.h"

#include <stdio.h>
#include <sys/stat.h>

void fuzz_cifar(const uint8_t *data, size_t size)
{
    char name[48];
    mkdir(scratch_path("cifar"), 0700);
    scratch_write("cifar/train.bin", data, size);
    scratch_write("cifar/fine_label_names.txt", data, size);
    scratch_write("cifar/batches.meta.txt", data, size);
    source_walk(cifar100_open, scratch_path("cifar"));
    for (int i = 1; i <= 5; i++) {
        snprintf(name, sizeof name, "cifar/data_batch_%d.bin", i);
        scratch_write(name, data, size);
    }
    source_walk(cifar10_open, scratch_path("cifar"));
}
