#include "engine/training/loss_meter.h"

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

struct loss_step loss_meter_step(size_t size, uint64_t seen, float mean, float leaving, float loss)
{
    /* volatile rounds each intermediate to float32 on every machine, as in Caffe */
    volatile float first, second, after;
    const bool filling = seen < size;
    const size_t held = filling ? (size_t)seen + 1 : size;
    if (filling) {
        first = mean * (float)seen;
        second = first + loss;
        after = second / (float)held;
    } else {
        first = loss - leaving;
        second = first / (float)size;
        after = mean + second;
    }
    return (struct loss_step){.filling = filling,
                              .held = held,
                              .before = mean,
                              .leaving = filling ? 0 : leaving,
                              .loss = loss,
                              .first = first,
                              .second = second,
                              .after = after};
}

void loss_meter_add(struct loss_meter *meter, float loss)
{
    const size_t slot = meter->seen % meter->size;
    const struct loss_step step =
        loss_meter_step(meter->size, meter->seen, meter->caffe, meter->window[slot], loss);
    meter->caffe = step.after;
    meter->window[slot] = loss;
    meter->seen++;

    double sum = 0;
    for (size_t i = 0; i < step.held; i++)
        sum += (double)meter->window[i];
    meter->exact = sum / (double)step.held;
}
