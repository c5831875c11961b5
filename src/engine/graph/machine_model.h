/* machine_model.h: a small model of this machine, with which the device cpu predicts how long a
 * step takes.
 *
 * The figures belong to one processor, one instruction set and, where MACHINE_OF_THREADS says so,
 * one number of threads. A device measures them (device_measure_machine); whoever opens the device
 * may set them from a file instead. All functions are pure. A model that is not measured stands for
 * fixed rules.
 */
#ifndef TINCA_ENGINE_GRAPH_MACHINE_MODEL_H
#define TINCA_ENGINE_GRAPH_MACHINE_MODEL_H

#include <stdbool.h>
#include <stddef.h>

/* The figures, in seconds. */
enum machine_figure {
    MACHINE_HAND_OVER, /* a job shared by all threads takes this much longer than its largest part
                        */
    MACHINE_TASK,      /* taking one task of a job */
    MACHINE_OPERATION, /* reading or writing a vector, with the arithmetic of an elementwise kernel
                        */
    /* A vector multiply-add of a direct convolution that computes one or two blocks of channels at
     * once, and one of Winograd's products. */
    MACHINE_CONV_1,
    MACHINE_CONV_2,
    MACHINE_PRODUCT_1,
    MACHINE_PRODUCT_2,
    MACHINE_TRANSFORM, /* Winograd's transform of a tile, for one block of channels */
    MACHINE_READ,      /* reading a byte that is not in the level-2 cache */
    MACHINE_FIGURES
};

/* Figures below this one depend on the number of threads, the others are those of one thread. */
enum { MACHINE_OF_THREADS = MACHINE_OPERATION };

/* The names of the figures in files, by enum machine_figure, then NULL. */
extern const char *const machine_figure_names[MACHINE_FIGURES + 1];

struct machine_model {
    bool measured; /* else nothing below is valid */
    double seconds[MACHINE_FIGURES];
};

/* Returns whether a figure is a plausible number of seconds: above 0 and below one second. The
 * hand-over may be NaN: it cannot be measured while other programs keep all other cores. */
bool machine_figure_is_plausible(enum machine_figure figure, double seconds);

/* Returns whether every figure is plausible. */
bool machine_model_is_plausible(const struct machine_model *model);

/* Bytes of weights that are read from the level-2 cache, if they are needed again and again. */
enum { MACHINE_CACHE_BYTES = 1 << 20 };

/* Returns the time of reading weights of `bytes` bytes once, or 0 if the level-2 cache holds them.
 */
double machine_reading(const struct machine_model *model, double bytes);

/* Returns how many tasks a step should have that takes one thread `amount` times the figure `unit`:
 * one if sharing would take longer, one for each thread, or several for each if it takes so long
 * that the threads should help each other. Without a model (NULL, or not measured) or hand-over the
 * amount alone decides. */
size_t machine_tasks(const struct machine_model *model, enum machine_figure unit, size_t amount,
                     size_t threads);

#endif
