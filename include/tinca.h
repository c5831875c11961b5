/* tinca.h: runs networks that tinca has trained, in a program of your own.
 *
 *     struct tinca_error error;
 *     tinca_model *model = tinca_model_open("model.safetensors", &error);
 *     tinca_session *session = model ? tinca_prepare(model, NULL, &error) : NULL;
 *     if (!session || tinca_run(session, images, 1, outputs, &error) != TINCA_OK)
 *         fprintf(stderr, "%s\n", error.text);
 *
 * A model is a file that tinca train --save, tinca import, quantize, prune or factorize has
 * written. A session is a model that is prepared for a device and a batch: its kernels are chosen,
 * layers are fused, and all memory is allocated, so that a run allocates nothing.
 *
 * Arrays. Images and outputs are float32, dense, without padding, in the order [N,C,H,W]: number n,
 * channel c, row y, column x is at ((n * C + c) * H + y) * W + x. Pictures are bytes in the order
 * [N,height,width,channels], as a PNM file has them, row 0 on top, channels red, green, blue.
 *
 * Ownership. Arrays belong to the caller and are not kept after a call, except the bytes of
 * tinca_model_from_memory, which may also be released once it returns. Texts that functions return
 * belong to the model or the session and live as long as it does.
 *
 * Errors. A function that can fail returns NULL or a status other than TINCA_OK, and fills a struct
 * tinca_error, which may be NULL. No function ends the process, prints, changes the locale, the
 * environment or the handlers of signals, or writes a file. A damaged or hostile model is an error.
 *
 * Threads. Any number of threads may use the library. A session is used by one thread at a time; so
 * is a model, except that its sessions may run at the same time, and that the functions which only
 * read it (tinca_model_input and so on) may be called at any time. A session of the device cpu has
 * threads of its own, which wait between runs. OpenBLAS is set to one thread when a session is
 * prepared on the device cpu, for the whole process.
 *
 * Versions. The library's soname is libtinca.so.1, and its symbols have the version TINCA_1.
 * Programs that were compiled with this header go on working with later versions of the same
 * soname.
 */
#ifndef TINCA_H
#define TINCA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a function did, or why it failed. */
enum tinca_status {
    TINCA_OK = 0,
    TINCA_ERROR_ARGUMENT = 1,    /* an argument is wrong */
    TINCA_ERROR_MODEL = 2,       /* the model's file, or a value in it, is wrong */
    TINCA_ERROR_SYSTEM = 3,      /* a system call failed */
    TINCA_ERROR_MEMORY = 4,      /* there is not enough memory */
    TINCA_ERROR_UNSUPPORTED = 5, /* this library, device or model cannot do that */
    TINCA_ERROR_DEVICE = 6       /* the device failed while it computed */
};

/* Why a function failed. `text` is one line, "what: why: what to do", in English unless the program
 * has bound the text domain tinca. Only functions that fail change it. */
struct tinca_error {
    enum tinca_status status;
    char text[1100];
};

/* The shape of one image or output. */
struct tinca_shape {
    size_t channels, height, width;
};

/* How to prepare a model. Set all members to zero (TINCA_OPTIONS) and then those that you want. */
struct tinca_options {
    size_t batch;          /* the most images of a run; 0: 1 */
    const char *device;    /* "cpu", "reference", "cuda", "cuda:1", ...; NULL: "cpu" */
    size_t threads;        /* of the device cpu; 0: as many as the process may use cores */
    const char *precision; /* "float32", "bf16", "tf32", "fp16" or "int8", if the device computes in
                              it; NULL: int8 for a quantized model where the device has it, else
                              float32 */
    int strict_device; /* not 0: refuse a layer that the device cannot compute; else the reference
                          kernel computes it */
    int measure;       /* not 0: measure this machine for 0.15 s if tinca has not stored its
                          figures (~/.cache/tinca/machines.json), and choose kernels by that.
                          Two sessions may then choose different kernels, which round
                          differently. 0: use what is stored, else fixed rules */
    uint64_t reserved[4]; /* 0 */
};
#define TINCA_OPTIONS                                                                              \
    {                                                                                              \
        0, NULL, 0, NULL, 0, 0,                                                                    \
        {                                                                                          \
            0, 0, 0, 0                                                                             \
        }                                                                                          \
    }

typedef struct tinca_model tinca_model;
typedef struct tinca_session tinca_session;

/* Returns the version of the library: "0.1.0". */
const char *tinca_version(void);

/* --- models --- */

/* Reads a saved model. Returns NULL with an error if the file cannot be read or is no model. */
tinca_model *tinca_model_open(const char *path, struct tinca_error *error);

/* Reads a saved model from the `size` bytes of such a file, which tinca export --format c writes as
 * an array of C. Returns NULL with an error. */
tinca_model *tinca_model_from_memory(const void *bytes, size_t size, struct tinca_error *error);

/* Frees a model; NULL is allowed. One that still has sessions is freed with the last of them. */
void tinca_model_close(tinca_model *model);

/* Returns the name of the network with its technique: "resnet20-shift". */
const char *tinca_model_name(const tinca_model *model);

/* Return the shape of an image as the network reads it, and of an output. A classifier's output has
 * as many channels as classes, and height and width 1. */
struct tinca_shape tinca_model_input(const tinca_model *model);
struct tinca_shape tinca_model_output(const tinca_model *model);

/* Returns how many classes a classifier has; 0 for a network that makes images. */
size_t tinca_model_classes(const tinca_model *model);

/* Returns the name of a class, counted from 0, in UTF-8; NULL if there is no such class. */
const char *tinca_model_class_name(const tinca_model *model, size_t number);

/* Write the mean and the deviation of each of three channels, in units of 0..255, by which the
 * model wants its images normalised: (sample - mean) / deviation. A grey image has the first
 * channel. */
void tinca_model_normalisation(const tinca_model *model, float mean[3], float deviation[3]);

/* Makes an image [C,H,W] of the network's input shape of a picture [height,width,channels] of 1 or
 * 3 channels, as tinca predict does: converts it to the network's channels, resizes its shorter
 * side to the size that the model records, with the filter that it records, cuts the middle out,
 * and normalises. The picture is upright: whoever decodes it turns it. Returns a status. */
enum tinca_status tinca_model_fit_picture(const tinca_model *model, const uint8_t *picture,
                                          size_t height, size_t width, size_t channels,
                                          float *image, struct tinca_error *error);

/* --- sessions --- */

/* Prepares a model for a device and a batch; `options` may be NULL. Returns NULL with an error. */
tinca_session *tinca_prepare(tinca_model *model, const struct tinca_options *options,
                             struct tinca_error *error);

/* Frees a session; NULL is allowed. */
void tinca_session_close(tinca_session *session);

/* Return the most images of a run, the threads, and the precision ("float32"). */
size_t tinca_session_batch(const tinca_session *session);
size_t tinca_session_threads(const tinca_session *session);
const char *tinca_session_precision(const tinca_session *session);

/* Returns the bytes that the session needs besides the model: values between layers, workspace, and
 * what was computed from the weights beforehand. */
uint64_t tinca_session_memory(const tinca_session *session);

/* Computes the outputs of `count` normalised images [count,C,H,W], 1 to the batch of the session,
 * and writes them to outputs [count,C,H,W]. A classifier's outputs are scores, [count,classes]; see
 * tinca_probabilities. An image has the same output in every run of a session. */
enum tinca_status tinca_run(tinca_session *session, const float *images, size_t count,
                            float *outputs, struct tinca_error *error);

/* Does the same with pictures [count,height,width,channels], each of which becomes an image as
 * tinca_model_fit_picture makes it. */
enum tinca_status tinca_run_pictures(tinca_session *session, const uint8_t *pictures, size_t count,
                                     size_t height, size_t width, size_t channels, float *outputs,
                                     struct tinca_error *error);

/* Computes the probabilities of `classes` scores (softmax), which may be written over the scores.
 * Scores of +infinity share the probability evenly. With a NaN among the scores no class is
 * predicted: all probabilities are NaN. */
void tinca_probabilities(const float *scores, size_t classes, float *probabilities);

#ifdef __cplusplus
}
#endif

#endif
