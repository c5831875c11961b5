/* Reads a run's checkpoint into a training of a small network. The checksum is corrected first,
 * since otherwise the fuzzer would never get past it. */
#include "training/checkpoint.h"

#include "fuzz.h"
#include "runs/folder/computed_with.h"
#include "runs/folder/run_files.h"
#include "runs/settings/config.h"
#include "training/observer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char network[] =
    "{\"input\": [1, 28, 28], \"classes\": 10, \"layers\": [{\"op\": \"max_pool\", \"kernel\": 14, "
    "\"stride\": 14}, {\"op\": \"linear\", \"output\": \"classes\"}]}";

static struct trainer *make_trainer(void)
{
    static struct run run;
    static struct trainer trainer;
    static struct error error;
    static bool made;
    const char *settings[][2] = {{"data", "digits,limit=4"}, {"batch", "2"},
                                 {"threads", "1"},           {"iterations", "4"},
                                 {"solver", "adam"},         {"average-loss", "3"}};
    if (made)
        return &trainer;
    const char *path = scratch_write("network.json", network, strlen(network));
    config_defaults(&run.config);
    made = config_set(&run.config, "network", path, &error);
    for (size_t i = 0; made && i < sizeof settings / sizeof *settings; i++)
        made = config_set(&run.config, settings[i][0], settings[i][1], &error);
    trainer.run = &run;
    trainer.settings = trainer_settings(&run.config);
    trainer.error = &error;
    const struct run_preprocessing from = run_preprocessing_of(&run.config, NULL);
    made = made && observers_create(&trainer) &&
           prepare(&trainer.prepared, &run.config, &from, 0, NULL, NULL, &error) &&
           (trainer.chosen = kernel_choices_text(NULL, &error)) &&
           loss_meter_create(&trainer.meter, 3, &error);
    if (!made) {
        fprintf(stderr, "no training: %s: %s\n", error.what, error.why);
        exit(99);
    }
    return &trainer;
}

bool checkpoint_seed(const char *directory)
{
    struct error error;
    uint64_t bytes;
    struct trainer *trainer = make_trainer();
    trainer->run->directory = (char *)directory; /* checkpoint_write does not change it */
    return checkpoint_write(trainer, &bytes, &error);
}

/* Writes the CRC-32 of the bytes, computed with zeros in its place, into the header
 * (safetensors.c). */
static void mend_checksum(uint8_t *bytes, size_t size)
{
    static const char key[] = "\"tinca.crc32\":\"";
    char digits[9];
    uint8_t *at = size > 8 ? memmem(bytes + 8, size - 8, key, sizeof key - 1) : NULL;
    if (!at || (size_t)(bytes + size - at) < sizeof key - 1 + 8)
        return;
    at += sizeof key - 1;
    memset(at, '0', 8);
    snprintf(digits, sizeof digits, "%08lx", crc32_z(0, bytes + 8, size - 8));
    memcpy(at, digits, 8);
}

void fuzz_checkpoint(const uint8_t *data, size_t size)
{
    struct error error;
    struct safetensors file = {0};
    uint64_t iteration;
    struct journal_mark journal;
    struct trainer *trainer = make_trainer();
    uint8_t *copy = malloc(size + 1);
    if (!copy)
        return;
    memcpy(copy, data, size);
    mend_checksum(copy, size);
    scratch_write("checkpoint.safetensors", copy, size);
    free(copy);
    if (checkpoint_open(scratch_path("."), false, &file, &error) && file.file) {
        checkpoint_missing(&file);
        checkpoint_place(&file, &iteration, &journal, &error);
        checkpoint_restore(trainer, &file, &error);
    }
    safetensors_close(&file);
}
