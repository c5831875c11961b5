/* fuzz.h: what reads a stranger's bytes, one function a parser.
 *
 * Each takes any bytes and must come back: an error or a result, no crash, no undefined behaviour,
 * no memory beyond the parser's limits. libFuzzer calls them through libfuzzer.c, `make check`
 * through replay.c. A target may keep a scratch folder between calls, and is not thread safe.
 */
#ifndef TINCA_TESTS_FUZZ_H
#define TINCA_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void fuzz_target(const uint8_t *data, size_t size);

fuzz_target fuzz_network, fuzz_session, fuzz_safetensors, fuzz_idx, fuzz_cifar, fuzz_png, fuzz_jpeg,
    fuzz_gz, fuzz_log, fuzz_checkpoint, fuzz_preferences, fuzz_sweep;

/* In checkpoint.c: writes the checkpoint of the training that fuzz_checkpoint reads into, as
 * `directory`/checkpoint.safetensors. */
bool checkpoint_seed(const char *directory);

/* --- scratch.c --- */

/* The path of `name` in the process's own scratch folder, which goes away at exit. The text lives
 * until the next four calls. Ends the process when there is no such folder. */
const char *scratch_path(const char *name);

/* The same after writing `size` bytes to it, in place: other names of the file see them too. */
const char *scratch_write(const char *name, const void *data, size_t size);

#endif
