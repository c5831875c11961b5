/* inference_time.h: the time that models take for one image on this machine, with their own
 * weights. */
#ifndef TINCA_MODELS_MEASURE_INFERENCE_TIME_H
#define TINCA_MODELS_MEASURE_INFERENCE_TIME_H

#include "models/saved/evaluate.h"
#include "runs/values/statistics.h"

/* Returns a random image of the model's size, to be freed; NULL with an error. */
float *inference_image(const struct model *model, struct error *error);

/* Measures the milliseconds of one image, after a warm-up, on a random image. Returns false with an
 * error. */
bool inference_time(struct model *model, struct statistics *ms, struct error *error);

/* Measures two models of one input in turns, image by image, so that both have the same load of the
 * machine. The statistics describe the times; turns.h decides whether they differ. */
bool inference_times(struct model *first, struct model *second, struct statistics ms[2],
                     struct error *error);

#endif
