/* export_caffe.h: tinca export --format prototxt and --format caffe. */
#ifndef TINCA_CLI_EXPORT_CAFFE_H
#define TINCA_CLI_EXPORT_CAFFE_H

#include "base/error.h"

#include <stdbool.h>

/* Writes the network that `operand` names (a network, a saved model, or a run) as the file `path`
 * and, with weights, as the .caffemodel file of the same name beside it. Returns false with an
 * error. */
bool export_caffe(const char *operand, const char *path, bool weights, struct error *error);

#endif
