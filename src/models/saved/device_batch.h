/* device_batch.h: how the batches of a data loader reach a device.
 *
 * A device with separate memory provides the memory that the loader's workers write to, reads
 * batches from there on its own, and normalises 8-bit samples. A device that computes on the host
 * gets normalised floats in ordinary memory. */
#ifndef TINCA_MODELS_SAVED_DEVICE_BATCH_H
#define TINCA_MODELS_SAVED_DEVICE_BATCH_H

#include "data/loader/data_loader.h"
#include "engine/execution/execution.h"

/* Sets the memory of a loader's batches, and whether they are to be of samples, as suits the
 * device, which must be closed later than the loader. */
void device_batch_set_up(struct device *device, struct data_loader_settings *settings);

/* Returns the arguments of execution_bind for a batch of a loader that device_batch_set_up has set
 * up. It borrows the arrays. */
struct execution_batch device_batch_of(const struct device *device, const struct data_batch *batch,
                                       const struct normalisation *normalisation);

#endif
