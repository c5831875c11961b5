/* caffe_golden: a network of Caffe with weights, and what it computes, in plain loops that share no
 * code with tinca.
 *
 *   caffe_golden new FILE        writes the weights in the present format (layer, type as a text)
 *   caffe_golden old FILE        writes a network and its weights in the format of Caffe's first
 * years caffe_golden mismatch FILE   writes the weights with an array that is too short
 *   caffe_golden compare FILE rgb|bgr
 *                                compares the outputs in FILE (.npy) of a 7 x 7 picture of
 * make_picture
 *
 * tests/cli/caffe/net.prototxt describes the network: conv1 (4 outputs, kernel 3, padding 1), a
 * batch norm with scale, a leaky ReLU, max pooling (2, stride 2, rounded up), a convolution in two
 * groups that is added to its input, a local response normalisation, and a product. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { C = 3, H = 7, W = 7, O = 4, P = 4, CLASSES = 5 };

static float conv1[O][C][3][3], conv1_bias[O], mean[O], variance[O], scale[O], shift[O];
static float conv2[O][2], conv2_bias[O], ip[CLASSES][O * P * P], ip_bias[CLASSES];
static const float factor = 4; /* what BatchNorm's statistics are divided by */

static float draw(void)
{
    static uint32_t state = 12345;
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / (float)(1 << 24) - 0.5f;
}

static void fill(float *values, size_t count, float spread, float middle)
{
    for (size_t i = 0; i < count; i++)
        values[i] = draw() * spread + middle;
}

static void draw_weights(void)
{
    fill(&conv1[0][0][0][0], sizeof conv1 / 4, 0.02f, 0);
    fill(conv1_bias, O, 1, 0);
    fill(mean, O, 2, 0);
    fill(variance, O, 2, 4);
    fill(scale, O, 1, 1);
    fill(shift, O, 1, 0);
    fill(&conv2[0][0], sizeof conv2 / 4, 2, 0);
    fill(conv2_bias, O, 1, 0);
    fill(&ip[0][0], sizeof ip / 4, 0.5f, 0);
    fill(ip_bias, CLASSES, 1, 0);
}

/* --- protobuf --- */

struct bytes {
    unsigned char data[1 << 16];
    size_t count;
};

static void put_number(struct bytes *bytes, uint64_t value)
{
    for (; value > 127; value >>= 7)
        bytes->data[bytes->count++] = (unsigned char)((value & 127) | 128);
    bytes->data[bytes->count++] = (unsigned char)value;
}

static void put_bytes(struct bytes *bytes, unsigned key, const void *data, size_t count)
{
    put_number(bytes, key << 3 | 2);
    put_number(bytes, count);
    memcpy(bytes->data + bytes->count, data, count);
    bytes->count += count;
}

static void put_text(struct bytes *bytes, unsigned key, const char *text)
{
    put_bytes(bytes, key, text, strlen(text));
}

static void put_integer(struct bytes *bytes, unsigned key, uint64_t value)
{
    put_number(bytes, key << 3);
    put_number(bytes, value);
}

/* Appends an array as field `key`: with a shape of one size, or as in old files with four. */
static void put_blob(struct bytes *to, unsigned key, const float *values, size_t count, int old)
{
    static struct bytes blob;
    struct bytes shape = {.count = 0};
    blob.count = 0;
    if (old) {
        for (unsigned i = 1; i <= 3; i++)
            put_integer(&blob, i, 1);
        put_integer(&blob, 4, count);
    } else {
        put_integer(&shape, 1, count);
        put_bytes(&blob, 7, shape.data, shape.count);
    }
    put_bytes(&blob, 5, values, count * 4);
    put_bytes(to, key, blob.data, blob.count);
}

static struct bytes net, layer;

static void begin(const char *name, const char *type)
{
    layer.count = 0;
    put_text(&layer, 1, name);
    put_text(&layer, 2, type);
}

static void end(void)
{
    put_bytes(&net, 100, layer.data, layer.count);
}

static void write_new(int mismatch)
{
    begin("conv1", "Convolution");
    put_blob(&layer, 7, &conv1[0][0][0][0], sizeof conv1 / 4, 0);
    put_blob(&layer, 7, conv1_bias, O, 0);
    end();
    begin("bn1", "BatchNorm");
    put_blob(&layer, 7, mean, O, 0);
    put_blob(&layer, 7, variance, O, 0);
    put_blob(&layer, 7, &factor, 1, 0);
    end();
    begin("scale1", "Scale");
    put_blob(&layer, 7, scale, O, 0);
    put_blob(&layer, 7, shift, O, 0);
    end();
    begin("conv2/1x1", "Convolution");
    put_blob(&layer, 7, &conv2[0][0], sizeof conv2 / 4, 0);
    put_blob(&layer, 7, conv2_bias, O, 0);
    end();
    begin("ip", "InnerProduct");
    put_blob(&layer, 7, &ip[0][0], sizeof ip / 4 - (mismatch ? 1 : 0), 0);
    put_blob(&layer, 7, ip_bias, CLASSES, 0);
    end();
}

static void old_layer(const char *name, unsigned type, const char *bottom, const char *top)
{
    layer.count = 0;
    put_text(&layer, 2, bottom);
    put_text(&layer, 3, top);
    put_text(&layer, 4, name);
    put_integer(&layer, 5, type);
}

/* An input of 1 x 2 x 2, a product with two outputs, and a softmax. */
static void write_old(void)
{
    static const float weights[8] = {1, 2, 3, 4, 5, 6, 7, 8}, bias[2] = {0.5f, -0.5f};
    struct bytes param = {.count = 0};
    put_text(&net, 1, "old net");
    put_text(&net, 3, "data");
    for (size_t i = 0; i < 4; i++)
        put_integer(&net, 4, i < 2 ? 1 : 2);
    old_layer("ip", 14, "data", "ip");
    put_blob(&layer, 6, weights, 8, 1);
    put_blob(&layer, 6, bias, 2, 1);
    put_integer(&param, 1, 2);
    put_bytes(&layer, 17, param.data, param.count);
    put_bytes(&net, 2, layer.data, layer.count);
    old_layer("prob", 20, "ip", "prob");
    put_bytes(&net, 2, layer.data, layer.count);
}

static int write_file(const char *path)
{
    FILE *file = fopen(path, "wb");
    const int written = file && fwrite(net.data, 1, net.count, file) == net.count;
    return file && fclose(file) == 0 && written ? 0 : 1;
}

/* --- the network --- */

static float image[C][H][W], hidden[O][H][W], pooled[O][P][P], sum[O][P][P], out[CLASSES];

/* The picture of make_picture, with the means of Caffe subtracted, in the order of channels. */
static void make_image(int bgr)
{
    static const float means[3] = {123, 117, 104};
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            const float rgb[3] = {(float)(x * 255 / W), (float)(y * 255 / H), (float)(x ^ y)};
            for (int c = 0; c < C; c++)
                image[bgr ? 2 - c : c][y][x] = rgb[c] - means[c];
        }
}

static void convolve(void)
{
    for (int o = 0; o < O; o++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                double value = conv1_bias[o];
                for (int c = 0; c < C; c++)
                    for (int ky = 0; ky < 3; ky++)
                        for (int kx = 0; kx < 3; kx++) {
                            const int iy = y + ky - 1, ix = x + kx - 1;
                            if (iy >= 0 && iy < H && ix >= 0 && ix < W)
                                value += (double)conv1[o][c][ky][kx] * image[c][iy][ix];
                        }
                value = (value - mean[o] / factor) / sqrt(variance[o] / factor + 1e-5);
                value = value * scale[o] + shift[o];
                hidden[o][y][x] = (float)(value > 0 ? value : 0.1 * value);
            }
}

static void pool(void)
{
    for (int o = 0; o < O; o++)
        for (int y = 0; y < P; y++)
            for (int x = 0; x < P; x++) {
                float most = -INFINITY;
                for (int iy = 2 * y; iy < 2 * y + 2 && iy < H; iy++)
                    for (int ix = 2 * x; ix < 2 * x + 2 && ix < W; ix++)
                        most = fmaxf(most, hidden[o][iy][ix]);
                pooled[o][y][x] = most;
            }
}

static void add_and_normalise(void)
{
    for (int y = 0; y < P; y++)
        for (int x = 0; x < P; x++) {
            double values[O];
            for (int o = 0; o < O; o++)
                values[o] = pooled[o][y][x] + conv2_bias[o] +
                            (double)conv2[o][0] * pooled[o / 2 * 2][y][x] +
                            (double)conv2[o][1] * pooled[o / 2 * 2 + 1][y][x];
            for (int o = 0; o < O; o++) {
                double squares = 0;
                for (int k = o - 1; k <= o + 1; k++)
                    squares += k >= 0 && k < O ? values[k] * values[k] : 0;
                sum[o][y][x] = (float)(values[o] * pow(1 + 0.5 / 3 * squares, -0.75));
            }
        }
}

static void compute(void)
{
    convolve();
    pool();
    add_and_normalise();
    for (int k = 0; k < CLASSES; k++) {
        double value = ip_bias[k];
        for (int i = 0; i < O * P * P; i++)
            value += (double)ip[k][i] * (&sum[0][0][0])[i];
        out[k] = (float)value;
    }
}

/* Compares the last CLASSES floats of a file with what the network computes. */
static int compare(const char *path)
{
    float found[CLASSES], error = 0, largest = 1;
    FILE *file = fopen(path, "rb");
    const int read = file && fseek(file, -(long)sizeof found, SEEK_END) == 0 &&
                     fread(found, sizeof found, 1, file) == 1;
    if (file)
        fclose(file);
    for (int k = 0; read && k < CLASSES; k++) {
        error = fmaxf(error, fabsf(found[k] - out[k]));
        largest = fmaxf(largest, fabsf(out[k]));
        printf("%g %g\n", (double)found[k], (double)out[k]);
    }
    return read && error <= 1e-5f * largest ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    draw_weights();
    if (strcmp(argv[1], "compare") == 0) {
        make_image(argc > 3 && strcmp(argv[3], "bgr") == 0);
        compute();
        return compare(argv[2]);
    }
    if (strcmp(argv[1], "old") == 0)
        write_old();
    else
        write_new(strcmp(argv[1], "mismatch") == 0);
    return write_file(argv[2]);
}
