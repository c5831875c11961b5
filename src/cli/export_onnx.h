/* export_onnx.h: tinca export --format onnx. */
#ifndef TINCA_CLI_EXPORT_ONNX_H
#define TINCA_CLI_EXPORT_ONNX_H

#include "base/error.h"

#include <stdbool.h>

struct run;

struct export_onnx_options {
    bool fold;
    const char *precision; /* NULL: as the model has them */
    const char *integers;  /* NULL: the first of export_onnx_integers */
};

/* The types that the weights of quantized layers can have. */
extern const char *const export_onnx_integers[];

/* The options of a table of options (options.h), with the address of their values. */
#define EXPORT_ONNX_OPTIONS(options)                                                               \
    {.name = "fold-batch-norm",                                                                    \
     .help = N_("ONNX: make batch norms part of the layers before them."),                         \
     .kind = OPTION_SWITCH,                                                                        \
     .value = &(options)->fold},                                                                   \
        {.name = "save-precision",                                                                 \
         .argument = "NAME",                                                                       \
         .help = N_("Models: number format of the weights; without it, the model's."),             \
         .kind = OPTION_NAME,                                                                      \
         .value = &(options)->precision,                                                           \
         .choices = weights_format_names},                                                         \
    {                                                                                              \
        .name = "int8-weights", .argument = "TYPE",                                                \
        .help = N_("ONNX: uint8, exact on every processor, or int8, faster where it has VNNI."),   \
        .kind = OPTION_NAME, .value = &(options)->integers, .choices = export_onnx_integers        \
    }

/* Writes the saved model, or the model of the run, that `operand` names as an ONNX file. Returns
 * false with an error. */
bool export_onnx(const char *operand, const struct export_onnx_options *options, const char *path,
                 struct error *error);

#endif
