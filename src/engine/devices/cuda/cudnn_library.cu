/* Loads cuDNN: version 9, else 8. A library without a version in its name is loaded to see which
 * version it is, so that the reason for not using it can name that. */
#include "engine/devices/cuda/cudnn_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#if !HAVE_CUDNN
const struct dnn_library *dnn_load(void)
{
    return NULL;
}

void dnn_describe(int, char *version, size_t size, char *missing, size_t missing_size)
{
    snprintf(version, size, "%s", "");
    snprintf(missing, missing_size, "this build was configured --without-cudnn");
}

void dnn_note_start(int, dnn_status)
{
}

bool dnn_refuses(dnn_status)
{
    return false;
}

void dnn_text(dnn_status, char *text, size_t size)
{
    snprintf(text, size, "%s", "");
}
#else

enum { MOST_GPUS = 64 };

static struct {
    struct dnn_library functions;
    size_t version; /* 90100: 9.1.0; 8907: 8.9.7; 0: not loaded */
    char missing[200];
    char broken[MOST_GPUS][240]; /* by GPU: why cudnnCreate failed the last time; "": it did not */
} dnn;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

template <class F> static bool find(void *library, const char *name, F *function)
{
    *function = (F)dlsym(library, name);
    if (!*function)
        snprintf(dnn.missing, sizeof dnn.missing, "the library lacks the function %s", name);
    return *function != NULL;
}

static bool find_descriptors(void *library, struct dnn_library *f)
{
    return find(library, "cudnnCreate", &f->create) && find(library, "cudnnDestroy", &f->destroy) &&
           find(library, "cudnnSetStream", &f->set_stream) &&
           find(library, "cudnnGetErrorString", &f->error_text) &&
           find(library, "cudnnCreateTensorDescriptor", &f->create_tensor) &&
           find(library, "cudnnDestroyTensorDescriptor", &f->destroy_tensor) &&
           find(library, "cudnnSetTensor4dDescriptor", &f->set_tensor) &&
           find(library, "cudnnCreateFilterDescriptor", &f->create_filter) &&
           find(library, "cudnnDestroyFilterDescriptor", &f->destroy_filter) &&
           find(library, "cudnnSetFilter4dDescriptor", &f->set_filter) &&
           find(library, "cudnnCreateConvolutionDescriptor", &f->create_convolution) &&
           find(library, "cudnnDestroyConvolutionDescriptor", &f->destroy_convolution) &&
           find(library, "cudnnSetConvolution2dDescriptor", &f->set_convolution) &&
           find(library, "cudnnSetConvolutionGroupCount", &f->set_groups) &&
           find(library, "cudnnSetConvolutionMathType", &f->set_math) &&
           find(library, "cudnnCreateActivationDescriptor", &f->create_activation) &&
           find(library, "cudnnDestroyActivationDescriptor", &f->destroy_activation) &&
           find(library, "cudnnSetActivationDescriptor", &f->set_activation);
}

static bool find_passes(void *library, struct dnn_library *f)
{
    return find(library, "cudnnGetConvolutionForwardAlgorithm_v7", &f->rank_forward) &&
           find(library, "cudnnGetConvolutionBackwardDataAlgorithm_v7", &f->rank_input) &&
           find(library, "cudnnGetConvolutionBackwardFilterAlgorithm_v7", &f->rank_weights) &&
           find(library, "cudnnGetConvolutionForwardWorkspaceSize", &f->space_forward) &&
           find(library, "cudnnGetConvolutionBackwardDataWorkspaceSize", &f->space_input) &&
           find(library, "cudnnGetConvolutionBackwardFilterWorkspaceSize", &f->space_weights) &&
           find(library, "cudnnConvolutionForward", &f->forward) &&
           find(library, "cudnnConvolutionBiasActivationForward", &f->forward_fused) &&
           find(library, "cudnnConvolutionBackwardData", &f->backward_input) &&
           find(library, "cudnnConvolutionBackwardFilter", &f->backward_weights);
}

/* Returns the major version; version 9 counts in steps of 10000, earlier ones in steps of 1000. */
static size_t major_of(size_t version)
{
    return version >= 90000 ? version / 10000 : version / 1000;
}

static void write_version(size_t version, char *text, size_t size)
{
    const size_t unit = version >= 90000 ? 10000 : 1000;
    snprintf(text, size, "%zu.%zu.%zu", version / unit, version % unit / 100, version % 100);
}

static void *open_library(void)
{
    static const char *const names[] = {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so"};
    for (const char *name : names) {
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
        const char *why = name == names[0] ? dlerror() : NULL;
        if (name == names[0])
            snprintf(dnn.missing, sizeof dnn.missing, "%s", why ? why : name);
    }
    return NULL;
}

static void load(void)
{
    size_t (*get_version)(void);
    void *library = open_library();
    if (!library || !find(library, "cudnnGetVersion", &get_version))
        return;
    const size_t version = get_version(), major = major_of(version);
    char text[32];
    write_version(version, text, sizeof text);
    if (major != 8 && major != 9) {
        snprintf(dnn.missing, sizeof dnn.missing, "it is version %s, and 8 or 9 is needed", text);
        dlclose(library);
        return;
    }
    if (!find_descriptors(library, &dnn.functions) || !find_passes(library, &dnn.functions))
        return;
    dnn.functions.last_error =
        major < 9 ? NULL
                  : (decltype(dnn.functions.last_error))dlsym(library, "cudnnGetLastErrorString");
    dnn.version = version;
}

const struct dnn_library *dnn_load(void)
{
    pthread_mutex_lock(&lock);
    if (!dnn.version)
        load();
    const bool loaded = dnn.version;
    pthread_mutex_unlock(&lock);
    return loaded ? &dnn.functions : NULL;
}

void dnn_describe(int ordinal, char *version, size_t size, char *missing, size_t missing_size)
{
    const bool loaded = dnn_load();
    snprintf(version, size, "%s", "");
    pthread_mutex_lock(&lock);
    snprintf(missing, missing_size, "%s", loaded ? dnn.broken[ordinal % MOST_GPUS] : dnn.missing);
    pthread_mutex_unlock(&lock);
    if (loaded && !missing[0])
        write_version(dnn.version, version, size);
}

void dnn_note_start(int ordinal, dnn_status status)
{
    char version[32], text[160] = "";
    write_version(dnn.version, version, sizeof version);
    if (status != DNN_SUCCESS)
        dnn_text(status, text, sizeof text);
    pthread_mutex_lock(&lock);
    char *broken = dnn.broken[ordinal % MOST_GPUS];
    broken[0] = '\0';
    if (status != DNN_SUCCESS)
        snprintf(broken, sizeof dnn.broken[0], "%s cannot start: %s", version, text);
    pthread_mutex_unlock(&lock);
}

bool dnn_refuses(dnn_status status)
{
    if (major_of(dnn.version) >= 9)
        return status / 1000 == 3 || status == 4003 || status == 4004; /* no memory: host, GPU */
    return status == 9 || status == 6 || status == 2; /* not this call, not this GPU, no memory */
}

void dnn_text(dnn_status status, char *text, size_t size)
{
    char more[160] = "";
    if (dnn.functions.last_error)
        dnn.functions.last_error(more, sizeof more);
    snprintf(text, size, "%s%s%s", dnn.functions.error_text(status), more[0] ? ": " : "", more);
}
#endif
