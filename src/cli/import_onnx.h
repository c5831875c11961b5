/* import_onnx.h: tinca import MODEL.onnx. */
#ifndef TINCA_CLI_IMPORT_ONNX_H
#define TINCA_CLI_IMPORT_ONNX_H

#include <stdbool.h>

struct import_onnx_options {
    const char *output;    /* the saved model, or NULL: named after the file, in this folder */
    const char *normalise; /* or NULL */
    bool as_json;
};

/* The normalisations that --normalise knows; NULL-terminated. */
extern const char *const import_onnx_normalisations[];

/* The options of a table of options (options.h), with the address of their values. */
#define IMPORT_ONNX_OPTIONS(options)                                                               \
    {.name = "output",                                                                             \
     .letter = 'o',                                                                                \
     .argument = "FILE",                                                                           \
     .help = N_(                                                                                   \
         "Models: the saved model to write, FILE.safetensors (unless of PyTorch also FILE.json "   \
         "beside it); without it, named after the file, in the current folder."),                  \
     .kind = OPTION_TEXT,                                                                          \
     .value = &(options)->output},                                                                 \
    {                                                                                              \
        .name = "normalise", .argument = "NAME",                                                   \
        .help = N_("Models: how images are normalised; without it, as the file says, or usual."),  \
        .kind = OPTION_NAME, .value = &(options)->normalise, .choices = import_onnx_normalisations \
    }

/* Makes a network file and a saved model of an ONNX file, and prints what it made, or what tinca
 * lacks. Returns the exit status. */
int import_onnx(const char *path, const struct import_onnx_options *options);

#endif
