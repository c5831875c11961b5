#include "engine/loss_meter.h"

#include "base/memory.h"

#include <stdlib.h>

bool loss_meter_create(struct loss_meter *meter, size_t average_loss, struct error *error)
{
    *meter = (struct loss_meter){.size = average_loss ? average_loss : 1};
    meter->window = memory_new(meter->size, sizeof *meter->window, "the loss window", error);
    return meter->window;
}

void loss_meter_free(struct loss_meter *meter)
{
    free(meter->window);
    *meter = (struct loss_meter){0};
}

void loss_meter_add(struct loss_meter *meter, float loss)
{
    float size = (float)meter->size;
    size_t slot = meter->seen % meter->size;
    /* volatile: each intermediate is rounded to float32, as in Caffe, on every machine */
    volatile float value;
    if (meter->seen < meter->size) {
        value = meter->caffe * (float)meter->seen;
        value = value + loss;
        meter->caffe = value / (float)(meter->seen + 1);
    } else {
        value = loss - meter->window[slot];
        value = value / size;
        meter->caffe = meter->caffe + value;
    }
    meter->window[slot] = loss;
    meter->seen++;

    size_t held = meter->seen < meter->size ? (size_t)meter->seen : meter->size;
    double sum = 0;
    for (size_t i = 0; i < held; i++)
        sum += meter->window[i];
    meter->exact = sum / (double)held;
}
