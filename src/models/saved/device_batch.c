#include "models/saved/device_batch.h"

#include <string.h>

void device_batch_set_up(struct device *device, struct data_loader_settings *settings)
{
    if (!device_provides_batches(device))
        return;
    settings->samples = true;
    settings->memory = (struct batch_memory){.owner = device,
                                             .allocate = device_allocate_batch,
                                             .release = device_release_batch,
                                             .await = device_await_batches};
}

struct execution_batch device_batch_of(const struct device *device, const struct data_batch *batch,
                                       const struct normalisation *normalisation)
{
    struct execution_batch bound = {.images = batch->images,
                                    .labels = batch->labels,
                                    .targets = batch->targets,
                                    .count = batch->count,
                                    .image_samples = batch->image_samples,
                                    .target_samples = batch->target_samples,
                                    .in_device_batch = device_provides_batches(device)};
    memcpy(bound.mean, normalisation->mean, sizeof bound.mean);
    memcpy(bound.deviation, normalisation->deviation, sizeof bound.deviation);
    return bound;
}
