/* The meter of GPUs with stand-in libraries that the tests build: reported values are valid, others
 * are not, and each reason for having no GPU gives a message. */
#include "models/measure/device_meter.h"

#include "tap.h"

#include <string.h>

static void check_first(const struct gpu_reading *card)
{
    tap_ok(strcmp(card->name, "Fake Accelerator") == 0, "the first card's name");
    tap_ok(gpu_has(card, GPU_MEMORY_USED) && card->values[GPU_MEMORY_USED] == 4.0 * (1 << 30) &&
               gpu_has(card, GPU_MEMORY_TOTAL) &&
               card->values[GPU_MEMORY_TOTAL] == 16.0 * (1 << 30),
           "memory in bytes");
    tap_ok(gpu_has(card, GPU_UTILISATION) && card->values[GPU_UTILISATION] == 0,
           "an idle card's utilisation is a valid 0");
    tap_ok(gpu_has(card, GPU_POWER) && card->values[GPU_POWER] == 71.5, "power in watts");
    tap_ok(gpu_has(card, GPU_TEMPERATURE) && card->values[GPU_TEMPERATURE] == 41,
           "the core's temperature");
    tap_ok(!gpu_has(card, GPU_CLOCK) && !gpu_has(card, GPU_CLOCK_MEMORY),
           "a metric without a function in the library is not valid");
}

static void check_second(const struct gpu_reading *card)
{
    tap_ok(!gpu_has(card, GPU_MEMORY_USED) && !gpu_has(card, GPU_MEMORY_TOTAL) &&
               !gpu_has(card, GPU_UTILISATION) && !gpu_has(card, GPU_POWER),
           "a metric that a GPU does not support is not valid");
    tap_ok(gpu_has(card, GPU_TEMPERATURE), "a supported metric is valid");
}

static void check_whole(void)
{
    struct error error;
    struct gpu_reading cards[GPU_MAX];
    struct gpu_meter *meter = gpu_meter_open("./fake_nvml.so", &error);
    if (!tap_ok(meter, "the library opens")) {
        tap_note("%s", error.why);
        return;
    }
    size_t count;
    bool two = tap_ok(gpu_meter_read(meter, cards, &count, &error) && count == 2, "two cards");
    if (two) {
        check_first(&cards[0]);
        check_second(&cards[1]);
    }
    gpu_meter_close(meter);
}

static void check_uncounted(void)
{
    struct error error = {0};
    struct gpu_reading cards[GPU_MAX];
    size_t count = 1;
    struct gpu_meter *meter = gpu_meter_open("./fake_nvml_lost.so", &error);
    tap_ok(meter && !gpu_meter_read(meter, cards, &count, &error) && count == 0 &&
               strstr(error.why, "GPU is lost (code 15)"),
           "cards that cannot be counted are an error: %s", error.why);
    gpu_meter_close(meter);
}

static void check_refusal(const char *library, const char *words)
{
    struct error error = {0};
    struct gpu_meter *meter = gpu_meter_open(library, &error);
    tap_ok(!meter && strstr(error.why, words) && error.advice[0], "%s: \"%s\"", library, words);
    gpu_meter_close(meter);
}

TEST_CASE(gpu_meter_test)
{
    check_whole();
    check_uncounted();
    check_refusal("./fake_nvml_without_count.so", "no nvmlDeviceGetCount_v2");
    check_refusal("./fake_nvml_refuses.so", "Driver Not Loaded");
    check_refusal("./no_such_library.so", "no NVIDIA driver");
    return tap_done();
}
