/* fuzz.h: the fuzz targets, one function for each parser of untrusted bytes.
 *
 * Each accepts any bytes and must return: with an error or a result, without a crash, undefined
 * behaviour, or memory beyond the parser's limits. libFuzzer calls them through libfuzzer.c, `make
 * check` through replay.c. A target may keep a scratch folder between calls, and is not thread
 * safe.
 */
#ifndef TINCA_TESTS_FUZZ_H
#define TINCA_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void fuzz_target(const uint8_t *data, size_t size);

fuzz_target fuzz_network, fuzz_session, fuzz_safetensors, fuzz_idx, fuzz_cifar, fuzz_png, fuzz_jpeg,
    fuzz_gz, fuzz_log, fuzz_checkpoint, fuzz_preferences, fuzz_sweep, fuzz_npy, fuzz_npz, fuzz_list,
    fuzz_onnx, fuzz_mapping, fuzz_prototxt, fuzz_caffemodel, fuzz_events;

/* In checkpoint.c: writes the checkpoint of the training that fuzz_checkpoint reads into, as
 * `directory`/checkpoint.safetensors. */
bool checkpoint_seed(const char *directory);

/* --- scratch.c --- */

/* Returns the path of `name` in the process's scratch folder, which is deleted at exit. The text is
 * valid for the next three calls. Ends the process if the folder cannot be created. */
const char *scratch_path(const char *name);

/* The same after writing `size` bytes to the file, in place, so that its hard links have them, too.
 */
const char *scratch_write(const char *name, const void *data, size_t size);

#endif
