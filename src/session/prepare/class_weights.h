/* class_weights.h: reads the setting class-weights. Internal to session/. */
#ifndef TINCA_SESSION_PREPARE_CLASS_WEIGHTS_H
#define TINCA_SESSION_PREPARE_CLASS_WEIGHTS_H

#include "data/dataset/dataset.h"

/* Sets *weights to a new array of `classes` weights (at least those of the data set), which the
 * caller frees. `setting` is "balanced": images / (classes with images x images of the class), and
 * 0 for a class without images; or a list of numbers, one for each class of the data set, separated
 * by commas; or the path of a file of such numbers, separated by commas or white space. Returns
 * false with an error. */
bool class_weights_make(float **weights, const char *setting, const struct dataset *dataset,
                        size_t classes, struct error *error);

#endif
