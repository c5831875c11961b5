/* import_torch.h: tinca import STATE.safetensors. */
#ifndef TINCA_CLI_IMPORT_TORCH_H
#define TINCA_CLI_IMPORT_TORCH_H

#include <stdbool.h>
#include <stddef.h>

struct import_torch_options {
    const char *output;    /* the saved model, or NULL: named after its network, in this folder */
    const char *network;   /* NULL: the built-in network that fits */
    const char *names;     /* a mapping, or NULL */
    const char *normalise; /* or NULL */
    size_t classes;        /* 0: those of the state dict */
    bool as_json;
};

/* The options of a table of options (options.h) that only state dicts have. */
#define IMPORT_TORCH_OPTIONS(options)                                                              \
    {.name = "names",                                                                              \
     .argument = "MAPPING",                                                                        \
     .help = N_("PyTorch: how the arrays are named: a built-in mapping, a file of one, or "        \
                "network; without it, the one that fits."),                                        \
     .kind = OPTION_TEXT,                                                                          \
     .value = &(options)->names},                                                                  \
    {                                                                                              \
        .name = "classes", .argument = "N",                                                        \
        .help = N_("PyTorch: the network's classes; without it, those of the state dict."),        \
        .kind = OPTION_COUNT, .value = &(options)->classes, .low = 1, .high = 1000000              \
    }

/* Makes a saved model of a state dict of PyTorch, and prints which mapping fits, or every array
 * that is missing, unexpected or of another shape. Returns the exit status. */
int import_torch(const char *path, const struct import_torch_options *options);

#endif
