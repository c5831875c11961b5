/* A build without protobuf-c refuses Caffe's binary files. */
#include "exchange/caffe/internal.h"

bool caffe_binary_check(const char *path, struct error *error)
{
    return error_set(error, ERROR_UNSUPPORTED, path,
                     "install protobuf-c (Debian: apt-get install libprotobuf-c-dev "
                     "protobuf-c-compiler), then configure and build again",
                     "this tinca was built without protobuf-c, which reads and writes Caffe's "
                     "weights");
}

struct caffe_model *caffe_model_read(const char *path, struct error *error)
{
    caffe_binary_check(path, error);
    return NULL;
}

void caffe_model_free(struct caffe_model *model)
{
    (void)model;
}

bool caffe_model_tree(const struct caffe_model *model, const char *path, struct caffe_tree *tree,
                      struct error *error)
{
    (void)model;
    (void)tree;
    return caffe_binary_check(path, error);
}

size_t caffe_model_blobs(const struct caffe_model *model, const char *layer)
{
    (void)model;
    (void)layer;
    return 0;
}

struct caffe_blob caffe_model_blob(const struct caffe_model *model, const char *layer, size_t n)
{
    (void)model;
    (void)layer;
    (void)n;
    return (struct caffe_blob){0};
}

bool caffe_binary_write(const char *text, size_t length, const struct caffe_written_layer *layers,
                        size_t count, const char *path, struct error *error)
{
    (void)text;
    (void)length;
    (void)layers;
    (void)count;
    return caffe_binary_check(path, error);
}
