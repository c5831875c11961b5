/* import_caffe.h: tinca import NET.prototxt, NET.caffemodel and solver.prototxt. */
#ifndef TINCA_CLI_IMPORT_CAFFE_H
#define TINCA_CLI_IMPORT_CAFFE_H

#include "cli/options.h"

#include <stdbool.h>

struct import_caffe_options {
    const char *weights; /* --weights: the .caffemodel file, or NULL */
    const char *order;   /* --channel-order: of import_caffe_orders, or NULL */
    const char *input;   /* --input: CxHxW, or NULL */
};

/* The orders of channels that a network can have been trained with; NULL-terminated. */
extern const char *const import_caffe_orders[];

/* The options of a table of options (options.h), with the address of their values. */
#define IMPORT_CAFFE_OPTIONS(options)                                                              \
    {.name = "weights",                                                                            \
     .argument = "FILE",                                                                           \
     .help = N_("Caffe: the .caffemodel file of the network; without it only a network file is "   \
                "written."),                                                                       \
     .kind = OPTION_TEXT,                                                                          \
     .value = &(options)->weights},                                                                \
        {.name = "channel-order",                                                                  \
         .argument = "NAME",                                                                       \
         .help = N_("Caffe: the channels that the network was trained on; bgr, as Caffe reads "    \
                    "images, or rgb."),                                                            \
         .kind = OPTION_NAME,                                                                      \
         .value = &(options)->order,                                                               \
         .choices = import_caffe_orders},                                                          \
    {                                                                                              \
        .name = "input", .argument = "CxHxW",                                                      \
        .help = N_("Caffe: channels, height and width of the images, if the file does not have "   \
                   "them."),                                                                       \
        .kind = OPTION_TEXT, .value = &(options)->input                                            \
    }

/* Returns whether one of the operands is a file of Caffe's. */
bool import_caffe_is(const struct operands *operands);

/* Makes a network file and a saved model of a network of Caffe, or prints a solver file as options.
 * Returns the exit status. `output`, `normalise` and `as_json` are those of import_onnx.h. */
int import_caffe_network(const struct operands *operands,
                         const struct import_caffe_options *options, const char *output,
                         const char *normalise, bool as_json);

#endif
