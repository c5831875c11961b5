/* Writes the seed corpora: `seeds FOLDER LARGE` makes FOLDER/TARGET/FILE, small valid inputs from
 * which the fuzzers start, and LARGE/TARGET/FILE, inputs as large as a fuzzer's may be. */
#include "base/files/file.h"
#include "data/formats/image_file.h"
#include "data/formats/npy.h"
#include "engine/network/network.h"
#include "engine/weights/safetensors.h"
#include "engine/weights/weights_names.h"
#include "fuzz.h"
#include "runs/folder/journal_record.h"

#include <stdio.h>
/* after stdio.h */
#include <jpeglib.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char *root;
static int failures;

/* Returns FOLDER/TARGET/NAME and creates its folders. The text is valid until the next call. */
static const char *place(const char *target, const char *name)
{
    static char path[512];
    struct error error;
    snprintf(path, sizeof path, "%s/%s", root, target);
    failures += !file_make_directories(path, &error);
    snprintf(path, sizeof path, "%s/%s/%s", root, target, name);
    return path;
}

static void put(const char *target, const char *name, const void *bytes, size_t size)
{
    struct error error;
    failures += !file_write(place(target, name), bytes, size, false, &error);
}

static void put_text(const char *target, const char *name, const char *text)
{
    put(target, name, text, strlen(text));
}

/* --- JSON --- */

static void write_networks(void)
{
    for (size_t i = 0; i < network_builtin_count; i++)
        put_text("network", network_builtins[i].name, network_builtins[i].text);
    put_text("network", "small",
             "{\"input\": [3, 8, 8], \"classes\": 4, \"layers\": [\n"
             "{\"name\": \"a\", \"repeat\": 2, \"layers\": [{\"op\": \"conv\", \"output\": 4, "
             "\"kernel\": 3, \"pad\": 1, \"groups\": 1}, {\"op\": \"relu\"}]},\n"
             "{\"op\": \"max_pool\", \"kernel\": [2, 2], \"stride\": 2}, {\"op\": \"dropout\"},\n"
             "{\"op\": \"conv\", \"output\": 4, \"kernel\": 3, \"pad\": 2, \"dilation\": 2},\n"
             "{\"op\": \"prelu\", \"slope\": 0.3}, {\"op\": \"elu\", \"alpha\": 0.5},\n"
             "{\"block\": \"squeeze_excitation\", \"reduction\": 2, \"gate\": \"hardsigmoid\"},\n"
             "{\"op\": \"dropout\", \"channels\": true},\n"
             "{\"block\": \"residual\", \"output\": 8, \"stride\": 2},\n"
             "{\"op\": \"linear\", \"output\": \"classes\", \"init\": {\"gaussian\": 0.01}}]}");
}

static const char *const session_files[] = {
    "{\"format\": \"tinca-run\", \"version\": 1, \"id\": \"20261121-063012-lenet-1a2b\", "
    "\"created\": \"2026-11-21T06:30:12Z\", \"host\": \"here\", \"config\": {\"network\": "
    "\"lenet\", \"data\": \"digits\", \"batch\": 64, \"lr\": 0.01, \"solver\": \"sgd\", "
    "\"schedule\": \"step\", \"technique\": \"none\", \"seed\": 1}}",
    "{\"event\":\"start\",\"network\":\"lenet\",\"technique\":\"none\",\"images\":64,"
    "\"iterations\":4,\"epochs\":2,\"memory\":{\"weights\":4,\"total\":9}}\n"
    "{\"iteration\":1,\"epoch\":0.5,\"loss\":2.3,\"loss_caffe\":2.3,\"loss_mean\":2.3,\"lr\":0.01,"
    "\"ms_per_image\":0.2,\"seconds\":0.1,\"memory_bytes\":4096}\n"
    "{\"iteration\":2,\"epoch\":1,\"loss\":0,\"loss_caffe\":-4.5e-08,\"loss_mean\":null,\"lr\":"
    "0.01,\"ms_per_image\":0.2,\"seconds\":0.2,\"memory_bytes\":4096,\"gpu_memory_bytes\":8192}\n"
    "{\"event\":\"validation\",\"iteration\":2,\"epoch\":1,\"loss\":0.1,\"top1\":97,\"top5\":100,"
    "\"seconds\":0.1}\n"
    "{\"event\":\"finding\",\"kind\":\"negative-loss\",\"iteration\":2,\"epoch\":1,\"text\":\"x\"}"
    "\n"
    "{\"iteration\":3,",
    "{\"status\": \"failed\", \"error\": {\"kind\": 2, \"what\": \"a\", \"why\": \"b\", "
    "\"advice\": "
    "\"c\"}, \"iteration\": 4, \"loss\": 0.5, \"loss_caffe\": 0.5, \"has_validation\": true, "
    "\"top1\": 97}",
    "{\"networks\": [\"lenet\", \"mlp\"], \"batches\": [\"1..512\"], \"devices\": [\"cpu\"], "
    "\"data\": \"digits\", \"epochs\": 1, \"lr\": [0.1, 0.01]}",
    "{\"format\": \"tinca-measurements\", \"version\": 1, \"devices\": [{\"ms_per_image\": "
    "{\"median\": 0.3, \"min\": 0.2, \"mean\": 0.33, \"sd\": 0.1, \"ci95\": 0.08}, \"device\""
    ": \"cpu\", \"host\": \"here\", \"cpu\": \"a processor\", \"threads\": 2, \"created\": \"202"
    "6-11-22T05:36:11Z\", \"data\": \"digits\", \"weights\": \"weights.safetensors\", \"ima"
    "ges\": 8, \"top1\": 25, \"top5\": 50, \"loss\": 2.3, \"model_bytes\": 2144816, \"model"
    "_changed\": 1795325768, \"memory_bytes\": 2146368}]}",
    "{\"format\": \"tinca-study\", \"version\": 1, \"studies\": [{\"network\": \"pix2pix\", \""
    "real\": \"maps\", \"generated\": \"a run\", \"fingerprint\": \"0123456789abcdef\", \"see"
    "d\": 1, \"seconds\": 1, \"shown_twice\": 0, \"seen_in_training\": null, \"images\": ["
    "{\"name\": \"a\", \"generated\": true, \"practice\": false}, {\"name\": \"b\", \"generate"
    "d\": false, \"practice\": false}], \"votes\": [{\"participant\": \"p\", \"created\": \"2"
    "026-11-22T05:36:11Z\", \"graphics\": \"256\", \"columns\": 80, \"rows\": 24, \"answers"
    "\": [{\"image\": 1, \"real\": true, \"seconds\": 1.5}, {\"image\": 0, \"real\": false, "
    "\"seconds\": 2}]}]}]}",
    "{\"format\": \"tinca-profile\", \"version\": 1, \"iteration\": 3, \"iterations\": 2, \""
    "images\": 8, \"threads\": 1, \"seconds\": 0.5, \"cost\": 0.1, \"networks\": [{\"name\":"
    " \"mlp\", \"layers\": [{\"name\": \"ip1\", \"op\": \"linear\", \"kernel\": \"gemm\", \"choice"
    "\": \"first\", \"memory_bytes\": 64, \"forward_seconds\": 0.1, \"backward_seconds\": "
    "0.2, \"forward_flops\": 9, \"backward_flops\": null, \"output\": [4, 1, 1]}], \"gem"
    "m\": [{\"kind\": \"nn\", \"shape\": [1, 2, 3], \"calls\": 2, \"seconds\": 0.1}], \"weigh"
    "ts\": [{\"name\": \"ip1.weight\", \"count\": 4, \"rank\": 2, \"learnable\": true, \"mean"
    "\": 0, \"deviation\": 1, \"low\": -1, \"high\": 1, \"norm\": 2, \"gradient_norm\": null"
    ", \"update_norm\": 0.1, \"histogram\": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0"
    ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}]}], \"arenas\": [{\"na"
    "me\": \"mlp\", \"steps\": 2, \"bytes\": 128, \"workspace\": 64, \"times\": 4, \"arrays\":"
    " [{\"kind\": \"value\", \"name\": \"ip1\", \"offset\": 0, \"bytes\": 64, \"first\": 0, \"la"
    "st\": 3}]}]}"};

/* Writes the records of a journal without its header, which the fuzzer writes. */
static void write_records(void)
{
    static const char start[] = "{\"event\":\"start\",\"iterations\":4,\"epochs\":2}";
    struct journal_codec codec = {0};
    struct text text = {0};
    struct series_point point = {.memory_bytes = 4096};
    journal_put_text(&codec, &text, start, sizeof start - 1);
    for (point.iteration = 1; point.iteration <= 4; point.iteration++) {
        point.epoch = (float)point.iteration / 2;
        point.loss = 1 / point.epoch;
        journal_put_point(&codec, &text, &point);
        journal_put_scalar(&codec, &text, point.iteration % 2 ? "x" : "y",
                           &(struct scalar_value){point.iteration, 1, 0.5});
    }
    journal_put_validation(&codec, &text, &(struct series_validation){.iteration = 4, .epoch = 2});
    put("session", "records", text.data, text.length);
    text_free(&text);
    journal_codec_free(&codec);
}

static void write_sessions(void)
{
    char name[16];
    for (size_t i = 0; i < sizeof session_files / sizeof *session_files; i++) {
        snprintf(name, sizeof name, "%zu.json", i);
        put_text("session", name, session_files[i]);
    }
    write_records();
}

static void write_settings(void)
{
    put_text("preferences", "all",
             "{\"colours\": \"light\", \"symbols\": \"ascii\", \"mouse\": false, "
             "\"export-directory\": \"/tmp\", \"export-format\": \"csv\"}");
    put_text("preferences", "none", "{}");
    put_text("sweep", "grid",
             "{\"networks\": [\"lenet\", \"mlp\"], \"batches\": [\"1..512\"], \"devices\": "
             "[\"cpu\"], \"data\": \"digits\", \"epochs\": 1, \"lr\": [0.1, 0.01]}");
    put_text("sweep", "counts",
             "{\"network\": \"mlp\", \"technique\": [\"none\"], \"batch\": [1, 2], \"data\": "
             "\"digits\", \"iterations\": 10, \"seed\": [1, 2, 3]}");
}

/* --- weights --- */

static void write_weights(void)
{
    static const float values[6] = {1, 2, 3, 4, 5, 6};
    static const char *const metadata[] = {"network", "lenet", NULL};
    struct error error;
    const struct safetensors_array arrays[] = {
        {.name = "weight", .type = SAFETENSORS_F32, .dims = {2, 2}, .rank = 2, .data = values},
        {.name = "steps", .type = SAFETENSORS_I64, .dims = {1}, .rank = 1, .data = values + 4},
    };
    failures += !safetensors_write(place("safetensors", "two"), arrays, 2, metadata, &error);
    failures += !safetensors_write(place("safetensors", "none"), arrays, 0, NULL, &error);
}

static void write_mappings(void)
{
    for (size_t i = 0; i < weights_names_builtin_count; i++)
        put_text("mapping", weights_names_builtins[i].name, weights_names_builtins[i].text);
    put_text("mapping", "stars",
             "{\"names\": [[\"*a*a*a*a*a*a*a*b\", \"*****a***\"], [\"********\", \"*\"]], "
             "\"then\": [[\"*.*\", \"*.x.*\"], [\"**\", \"**\"]], \"identity\": [\"*a*a*a*a*b\"], "
             "\"subtract\": [[\"*.bias\", \"*.running_mean\"]], \"num_batches_tracked\": false}");
}

/* A mapping of many lines: each name is compared with each. */
static void write_many_names(void)
{
    enum { LINES = 4000, LONGEST = 64 };
    char *text = malloc((size_t)LINES * LONGEST);
    size_t used = 0;
    if (!text) {
        failures++;
        return;
    }
    for (size_t i = 0; i < LINES; i++)
        used += (size_t)snprintf(text + used, LONGEST, "%s[\"a%zu.*\", \"b%zu.*\"]",
                                 i ? ", " : "{\"names\": [", i, i);
    used += (size_t)snprintf(text + used, LONGEST, "]}");
    put("mapping", "many", text, used);
    free(text);
}

/* --- data sets --- */

static void write_idx(void)
{
    static const uint8_t two[1 + 10 + 16 + 8] = {10, /* bytes of labels */
                                                 0,  0, 8, 1, 0, 0, 0, 2, 3, 9, /* two labels */
                                                 0,  0, 8, 3, 0, 0, 0, 2, 0, 0,
                                                 0,  2, 0, 0, 0, 2}; /* two images of 2x2 */
    put("idx", "two", two, sizeof two);
}

/* Two grey images of 2x2 and their labels: after their length the labels, then the images. */
static void write_arrays(void)
{
    uint8_t labels[300], input[700];
    const size_t shape[] = {2, 2, 2};
    size_t length = npy_header_write(labels, "|u1", shape, 1);
    labels[length++] = 0;
    labels[length++] = 4;
    input[0] = (uint8_t)(length & 255);
    input[1] = (uint8_t)(length >> 8);
    memcpy(input + 2, labels, length);
    length += 2;
    length += npy_header_write(input + length, "|u1", shape, 3);
    for (uint8_t i = 0; i < 8; i++)
        input[length++] = (uint8_t)(31 * i);
    put("npy", "two", input, length);
    put_text("list", "names", "path,label\ngrey.png,cat\n\"grey.png\",\"a, b\"\r\nno.png,cat\n");
    put_text("list", "numbers", "grey.png,3\n./grey.png,0\n");
}

/* numpy.savez_compressed(x=zeros((2, 2, 2), uint8), y=array([0, 1], uint8)) */
static void write_npz(void)
{
    static const uint8_t two[] = {
        80,  75,  3,   4,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   151, 215, 117, 88,
        255, 255, 255, 255, 255, 255, 255, 255, 5,   0,   20,  0,   120, 46,  110, 112, 121, 1,
        0,   16,  0,   136, 0,   0,   0,   0,   0,   0,   0,   73,  0,   0,   0,   0,   0,   0,
        0,   155, 236, 23,  234, 27,  16,  201, 200, 80,  198, 80,  173, 158, 146, 90,  156, 92,
        164, 110, 165, 160, 94,  83,  106, 168, 174, 163, 160, 158, 150, 95,  84,  82,  148, 152,
        23,  159, 95,  148, 146, 10,  18,  119, 75,  204, 41,  78,  5,   138, 23,  103, 36,  22,
        164, 2,   249, 26,  70,  58,  10,  32,  164, 169, 163, 80,  171, 64,  30,  224, 98,  128,
        2,   0,   80,  75,  3,   4,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   153, 98,
        119, 223, 255, 255, 255, 255, 255, 255, 255, 255, 5,   0,   20,  0,   121, 46,  110, 112,
        121, 1,   0,   16,  0,   130, 0,   0,   0,   0,   0,   0,   0,   70,  0,   0,   0,   0,
        0,   0,   0,   155, 236, 23,  234, 27,  16,  201, 200, 80,  198, 80,  173, 158, 146, 90,
        156, 92,  164, 110, 165, 160, 94,  83,  106, 168, 174, 163, 160, 158, 150, 95,  84,  82,
        148, 152, 23,  159, 95,  148, 146, 10,  18,  119, 75,  204, 41,  78,  5,   138, 23,  103,
        36,  22,  164, 2,   249, 26,  70,  58,  154, 58,  10,  181, 10,  20,  0,   46,  6,   70,
        0,   80,  75,  1,   2,   45,  3,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   151,
        215, 117, 88,  73,  0,   0,   0,   136, 0,   0,   0,   5,   0,   0,   0,   0,   0,   0,
        0,   0,   0,   0,   0,   128, 1,   0,   0,   0,   0,   120, 46,  110, 112, 121, 80,  75,
        1,   2,   45,  3,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   153, 98,  119, 223,
        70,  0,   0,   0,   130, 0,   0,   0,   5,   0,   0,   0,   0,   0,   0,   0,   0,   0,
        0,   0,   128, 1,   128, 0,   0,   0,   121, 46,  110, 112, 121, 80,  75,  5,   6,   0,
        0,   0,   0,   2,   0,   2,   0,   102, 0,   0,   0,   253, 0,   0,   0,   0,   0,
    };
    put("npz", "two", two, sizeof two);
}

static void write_cifar(void)
{
    static uint8_t one100[3074] = {1, 99}, one10[3073] = {9};
    put("cifar", "one-of-100", one100, sizeof one100);
    put("cifar", "one-of-10", one10, sizeof one10);
}

static void write_gzip(void)
{
    static uint8_t zeros[1 << 16];
    gzFile file = gzopen(place("gz", "text"), "wb");
    failures += !file || gzputs(file, "a few words, a few words") < 0 || gzclose(file) != Z_OK;
    file = gzopen(place("gz", "bomb"), "wb9");
    for (int i = 0; file && i < 64; i++) /* 4 MiB in 4 KiB */
        gzwrite(file, zeros, sizeof zeros);
    failures += !file || gzclose(file) != Z_OK;
    put_text("gz", "plain", "not compressed at all");
}

/* --- logs of other frameworks --- */

/* An event file of PyTorch: a value in both forms. */
static const unsigned char event_file[] = {
    0x48, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xfe, 0x92, 0x48, 0x9d, 0x09, 0xdb, 0x8a, 0x30,
    0xb1, 0x2e, 0xc2, 0xda, 0x41, 0x1a, 0x0d, 0x62, 0x72, 0x61, 0x69, 0x6e, 0x2e, 0x45, 0x76, 0x65,
    0x6e, 0x74, 0x3a, 0x32, 0x52, 0x2e, 0x0a, 0x2c, 0x74, 0x65, 0x6e, 0x73, 0x6f, 0x72, 0x62, 0x6f,
    0x61, 0x72, 0x64, 0x2e, 0x73, 0x75, 0x6d, 0x6d, 0x61, 0x72, 0x79, 0x2e, 0x77, 0x72, 0x69, 0x74,
    0x65, 0x72, 0x2e, 0x65, 0x76, 0x65, 0x6e, 0x74, 0x5f, 0x66, 0x69, 0x6c, 0x65, 0x5f, 0x77, 0x72,
    0x69, 0x74, 0x65, 0x72, 0x5f, 0x73, 0x2e, 0xf9, 0x1a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x12, 0x9b, 0xd8, 0x2d, 0x09, 0x00, 0x00, 0x00, 0x00, 0x65, 0xcd, 0xcd, 0x41, 0x10, 0x01, 0x2a,
    0x0d, 0x0a, 0x0b, 0x0a, 0x04, 0x6c, 0x6f, 0x73, 0x73, 0x15, 0x00, 0x00, 0x00, 0x3f, 0x71, 0xe5,
    0xb4, 0x13, 0x2a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xae, 0x8d, 0x91, 0xf5, 0x09, 0x00,
    0x00, 0x00, 0x00, 0x65, 0xcd, 0xcd, 0x41, 0x10, 0x01, 0x2a, 0x1d, 0x0a, 0x1b, 0x0a, 0x02, 0x6c,
    0x72, 0x42, 0x08, 0x08, 0x01, 0x2a, 0x04, 0xcd, 0xcc, 0xcc, 0x3d, 0x4a, 0x0b, 0x0a, 0x09, 0x0a,
    0x07, 0x73, 0x63, 0x61, 0x6c, 0x61, 0x72, 0x73, 0x64, 0x12, 0xb9, 0xa9, 0x1d, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x60, 0x2f, 0xdf, 0x23, 0x09, 0x00, 0x00, 0x00, 0x00, 0x65, 0xcd, 0xcd,
    0x41, 0x10, 0x01, 0x2a, 0x10, 0x0a, 0x0e, 0x0a, 0x07, 0x76, 0x61, 0x6c, 0x5f, 0x61, 0x63, 0x63,
    0x15, 0x00, 0x00, 0x00, 0x3f, 0x57, 0x21, 0xd3, 0x22};

static void write_streams(void)
{
    put("events", "torch", event_file, sizeof event_file);
    put_text("events", "table",
             "epoch,step,train_loss,val_loss,lr\n0,1,2.5,,0.1\n0,2,,3.5,\n1,2,\"1.5\",nan,0.1\n");
    put_text("events", "lines",
             "{\"step\": 1, \"train\": {\"loss\": 2.5}, \"time\": \"2026-11-26T10:00:00\"}\n"
             "{\"step\": 2, \"eval\": {\"loss\": 1, \"accuracy\": 0.5}, \"lr\": 1e-3}\n");
    put_text("events", "lightning",
             "Epoch 0:  50%|##  | 1/2 [00:00<00:00, 10.00it/s, v_num=3, train_loss=2.0]\r"
             "Validation DataLoader 0: 50%|#| 1/2 [00:00<00:00]\r"
             "Epoch 0: 100%|####| 2/2 [00:00<00:00, 1.00s/it, train_loss=2.0, val_acc=0.5]\n"
             "Epoch 1/9 -- 5/10 0:00:00 - 0:00:00 45.33it/s v_num: 0.000\n    train_loss: 2.250\n");
    put_text("events", "keras",
             "Epoch 1/2\n\033[1m2/2\033[0m \342\224\201 \033[1m0s\033[0m 9ms/step - loss: 0.2\n"
             "5 - val_a_acc: 0.5 - val_b_acc: 0.2 - lr: 0.1Epoch 2/2\n2/2 [==] - 1s - loss:\n");
}

static void write_logs(void)
{
    put_text(
        "log", "caffe",
        "Log file created at: 2016/11/03 10:11:12\nRunning on machine: titan\n"
        "I1103 10:11:12.100000 42 solver.cpp:44] Initializing solver from parameters:\n"
        "base_lr: 0.01\nmax_iter: 6\naverage_loss: 2\n"
        "I1103 10:11:13.000000 42 solver.cpp:228] Iteration 0 (2 iter/s, 1s/2 iters), loss = 2.3\n"
        "I1103 10:11:13.000000 42 solver.cpp:244]     Train net output #0: loss = -1.2e-08 (* 1 = "
        "-1.2e-08 loss)\n"
        "I1103 10:11:14.000000 42 solver.cpp:404]     Test net output #0: accuracy = 0.98\n");
    put_text("log", "tensorflow",
             "2017-03-01 12:00:00.1: step 0, loss = 4.68 (2.4 examples/sec; 0.500 sec/batch)\n"
             "INFO:tensorflow:loss = 2.3, step = 101 (0.7 sec)\n");
    put_text("log", "keras",
             "Epoch 1/2\n  128/60000 [>....] - ETA: 3s - loss: 2.0\b\b\r60000/60000 [====] - 3s "
             "50us/step - loss: 0.25 - acc: 0.92 - val_loss: 0.06\nEpoch 2/2\n469/469 - 3s - loss: "
             "nan\n");
    put_text("log", "losses",
             "#network,mode,batch,step,loss,time\nalexnet,CPU,016,0,6.90776,2.5\n");
    put_text("log", "times", "#network,mode,batch,avg_time\nalexnet,GPU,016,0.125\n");
}

/* --- pictures --- */

static void fill(struct image *image)
{
    for (size_t i = 0; i < image->width * image->height * image->channels; i++)
        image->pixels[i] = (uint8_t)(i * 37);
}

static void write_pngs(void)
{
    struct error error;
    for (size_t channels = 1; channels <= 3; channels += 2) {
        struct image image;
        failures += !image_create(&image, 7, 5, channels, &error);
        fill(&image);
        failures +=
            !image_file_write_png(&image, place("png", channels == 1 ? "grey" : "rgb"), &error);
        image_free(&image);
    }
}

/* libjpeg's default error handler ends the process, as a failing seed should. */
static void write_jpeg(const char *name, bool progressive, int colours)
{
    static uint8_t row[3 * 24];
    static const uint8_t exif[] = {'E', 'x', 'i', 'f',  0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8,
                                   0,   1,   1,   0x12, 0, 3, 0,   0,   0, 1,  0, 6, 0, 0};
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr manager;
    JSAMPROW line = row;
    FILE *file = fopen(place("jpeg", name), "wb");
    failures += !file;
    if (!file)
        return;
    jpeg.err = jpeg_std_error(&manager);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = 24;
    jpeg.image_height = 17;
    jpeg.input_components = colours;
    jpeg.in_color_space = colours == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&jpeg);
    if (progressive)
        jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1, exif, sizeof exif);
    while (jpeg.next_scanline < jpeg.image_height) {
        memset(row, (int)(jpeg.next_scanline * 13), sizeof row);
        jpeg_write_scanlines(&jpeg, &line, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    failures += fclose(file) != 0;
}

/* --- large files --- */

/* Writes an input of the maximum size: `head`, as many `item`s as fit, `tail`. `item` is a printf
 * format for its number and the previous number. */
static void put_large(const char *target, const char *name, const char *head, const char *item,
                      const char *tail)
{
    static char text[1 << 20];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", head);
    for (int i = 1; used + strlen(item) + strlen(tail) + 32 < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, item, i, i - 1);
    snprintf(text + used, sizeof text - used, "%s", tail);
    put_text(target, name, text);
}

/* A chain of layers, and layers that name their input. */
static void write_large_networks(void)
{
    const char *head = "{\"input\": [1, 2, 2], \"classes\": 2, \"layers\": [{\"op\": \"relu\", "
                       "\"name\": \"r0\"}";
    const char *tail = ", {\"op\": \"linear\", \"output\": \"classes\"}]}";
    put_large("network", "chain", head,
              ",\n{\"op\": \"conv\", \"name\": \"c%d\", \"output\": 2, \"kernel\": 1}", tail);
    put_large("network", "branches", head,
              ",\n{\"op\": \"add\", \"name\": \"r%d\", \"from\": [\"r%d\", \"r0\"]}", tail);
}

static void write_many_weights(void)
{
    enum { MANY = 10000 };
    static struct safetensors_array arrays[MANY];
    static const float values[1] = {1};
    static char names[MANY][16];
    struct error error;
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "layer%zu", i);
        arrays[i] = (struct safetensors_array){
            .name = names[i], .type = SAFETENSORS_F32, .dims = {1}, .rank = 1, .data = values};
    }
    failures += !safetensors_write(place("safetensors", "many"), arrays, MANY, NULL, &error);
}

static void write_large_lines(void)
{
    put_large("session", "journal", session_files[1],
              "\n{\"iteration\":%d,\"epoch\":1,\"loss\":0.%d,\"lr\":0.01,\"memory_bytes\":4096}",
              "\n");
    put_large("log", "long", "I1103 10:11:12.100000 42 solver.cpp:44] Initializing solver\n",
              "I1103 10:11:13.000000 42 solver.cpp:228] Iteration %d, loss = 2.%d\n", "");
    put_large("events", "long", "", "{\"step\": %d, \"loss\": 0.%d}\n", "");
}

/* --- ONNX --- */

/* branches.onnx of tests/cli/onnx/hostile_files.py: a convolution, and a ReLU inside two
 * conditions. */
static const unsigned char onnx_model[] = {
    0x08, 0x08, 0x12, 0x04, 0x74, 0x65, 0x73, 0x74, 0x3a, 0xf5, 0x03, 0x0a, 0x1b, 0x0a, 0x01, 0x78,
    0x0a, 0x01, 0x77, 0x12, 0x01, 0x63, 0x1a, 0x08, 0x74, 0x68, 0x65, 0x5f, 0x43, 0x6f, 0x6e, 0x76,
    0x22, 0x04, 0x43, 0x6f, 0x6e, 0x76, 0x3a, 0x00, 0x0a, 0xdf, 0x02, 0x0a, 0x01, 0x74, 0x12, 0x01,
    0x79, 0x1a, 0x06, 0x74, 0x68, 0x65, 0x5f, 0x49, 0x66, 0x22, 0x02, 0x49, 0x66, 0x2a, 0xf5, 0x01,
    0x0a, 0x0b, 0x74, 0x68, 0x65, 0x6e, 0x5f, 0x62, 0x72, 0x61, 0x6e, 0x63, 0x68, 0xa0, 0x01, 0x05,
    0x32, 0xe2, 0x01, 0x0a, 0xba, 0x01, 0x0a, 0x01, 0x74, 0x12, 0x01, 0x79, 0x1a, 0x06, 0x74, 0x68,
    0x65, 0x5f, 0x49, 0x66, 0x22, 0x02, 0x49, 0x66, 0x2a, 0x51, 0x0a, 0x0b, 0x74, 0x68, 0x65, 0x6e,
    0x5f, 0x62, 0x72, 0x61, 0x6e, 0x63, 0x68, 0xa0, 0x01, 0x05, 0x32, 0x3f, 0x0a, 0x18, 0x0a, 0x01,
    0x63, 0x12, 0x01, 0x79, 0x1a, 0x08, 0x74, 0x68, 0x65, 0x5f, 0x52, 0x65, 0x6c, 0x75, 0x22, 0x04,
    0x52, 0x65, 0x6c, 0x75, 0x3a, 0x00, 0x12, 0x05, 0x67, 0x72, 0x61, 0x70, 0x68, 0x62, 0x1c, 0x0a,
    0x01, 0x79, 0x12, 0x17, 0x0a, 0x15, 0x08, 0x01, 0x12, 0x11, 0x0a, 0x03, 0x12, 0x01, 0x6e, 0x0a,
    0x02, 0x08, 0x02, 0x0a, 0x02, 0x08, 0x04, 0x0a, 0x02, 0x08, 0x04, 0x2a, 0x51, 0x0a, 0x0b, 0x65,
    0x6c, 0x73, 0x65, 0x5f, 0x62, 0x72, 0x61, 0x6e, 0x63, 0x68, 0xa0, 0x01, 0x05, 0x32, 0x3f, 0x0a,
    0x18, 0x0a, 0x01, 0x63, 0x12, 0x01, 0x79, 0x1a, 0x08, 0x74, 0x68, 0x65, 0x5f, 0x52, 0x65, 0x6c,
    0x75, 0x22, 0x04, 0x52, 0x65, 0x6c, 0x75, 0x3a, 0x00, 0x12, 0x05, 0x67, 0x72, 0x61, 0x70, 0x68,
    0x62, 0x1c, 0x0a, 0x01, 0x79, 0x12, 0x17, 0x0a, 0x15, 0x08, 0x01, 0x12, 0x11, 0x0a, 0x03, 0x12,
    0x01, 0x6e, 0x0a, 0x02, 0x08, 0x02, 0x0a, 0x02, 0x08, 0x04, 0x0a, 0x02, 0x08, 0x04, 0x3a, 0x00,
    0x12, 0x05, 0x67, 0x72, 0x61, 0x70, 0x68, 0x62, 0x1c, 0x0a, 0x01, 0x79, 0x12, 0x17, 0x0a, 0x15,
    0x08, 0x01, 0x12, 0x11, 0x0a, 0x03, 0x12, 0x01, 0x6e, 0x0a, 0x02, 0x08, 0x02, 0x0a, 0x02, 0x08,
    0x04, 0x0a, 0x02, 0x08, 0x04, 0x2a, 0x51, 0x0a, 0x0b, 0x65, 0x6c, 0x73, 0x65, 0x5f, 0x62, 0x72,
    0x61, 0x6e, 0x63, 0x68, 0xa0, 0x01, 0x05, 0x32, 0x3f, 0x0a, 0x18, 0x0a, 0x01, 0x63, 0x12, 0x01,
    0x79, 0x1a, 0x08, 0x74, 0x68, 0x65, 0x5f, 0x52, 0x65, 0x6c, 0x75, 0x22, 0x04, 0x52, 0x65, 0x6c,
    0x75, 0x3a, 0x00, 0x12, 0x05, 0x67, 0x72, 0x61, 0x70, 0x68, 0x62, 0x1c, 0x0a, 0x01, 0x79, 0x12,
    0x17, 0x0a, 0x15, 0x08, 0x01, 0x12, 0x11, 0x0a, 0x03, 0x12, 0x01, 0x6e, 0x0a, 0x02, 0x08, 0x02,
    0x0a, 0x02, 0x08, 0x04, 0x0a, 0x02, 0x08, 0x04, 0x3a, 0x00, 0x12, 0x05, 0x67, 0x72, 0x61, 0x70,
    0x68, 0x2a, 0x27, 0x08, 0x02, 0x08, 0x03, 0x08, 0x01, 0x08, 0x01, 0x10, 0x01, 0x42, 0x01, 0x77,
    0x4a, 0x18, 0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x40, 0x40, 0x00, 0x00,
    0x80, 0x40, 0x00, 0x00, 0xa0, 0x40, 0x00, 0x00, 0xc0, 0x40, 0x2a, 0x08, 0x10, 0x09, 0x42, 0x01,
    0x74, 0x4a, 0x01, 0x01, 0x5a, 0x1c, 0x0a, 0x01, 0x78, 0x12, 0x17, 0x0a, 0x15, 0x08, 0x01, 0x12,
    0x11, 0x0a, 0x03, 0x12, 0x01, 0x6e, 0x0a, 0x02, 0x08, 0x03, 0x0a, 0x02, 0x08, 0x04, 0x0a, 0x02,
    0x08, 0x04, 0x62, 0x1c, 0x0a, 0x01, 0x79, 0x12, 0x17, 0x0a, 0x15, 0x08, 0x01, 0x12, 0x11, 0x0a,
    0x03, 0x12, 0x01, 0x6e, 0x0a, 0x02, 0x08, 0x02, 0x0a, 0x02, 0x08, 0x04, 0x0a, 0x02, 0x08, 0x04,
    0x42, 0x02, 0x10, 0x11,
};

static void write_onnx(void)
{
    put("onnx", "branches", onnx_model, sizeof onnx_model);
}

/* --- Caffe --- */

static const char caffe_net[] =
    "name: \"small\" # a comment\nlayer { name: 'data' type: \"Input\" top: \"data\" input_param "
    "{ shape: { dim: [1, 3, 8, 8] } } }\nlayer { name: \"conv\" type: \"Convolution\" bottom: "
    "\"data\" top: \"c\" convolution_param { num_output: 4 kernel_size: 3 pad: 1 group: 1 "
    "weight_filler < type: \"xavier\" > } }\nlayer { name: \"bn\" type: \"BatchNorm\" bottom: "
    "\"c\" "
    "top: \"c\" }\nlayer { name: \"s\" type: \"Scale\" bottom: \"c\" top: \"c\" scale_param { "
    "bias_term: true } }\nlayer { name: \"p\" type: \"Pooling\" bottom: \"c\" top: \"p\" "
    "pooling_param { pool: AVE kernel_size: 3 stride: 2 } }\nlayer { name: \"n\" type: \"LRN\" "
    "bottom: \"p\" top: \"n\" lrn_param { local_size: 3 alpha: 1e-4 } }\nlayer { name: \"j\" type: "
    "\"Concat\" bottom: \"p\" bottom: \"n\" top: \"j\" }\nlayer { name: \"ip\" type: "
    "\"InnerProduct\" bottom: \"j\" top: \"ip\" inner_product_param { num_output: 5 } }\nlayer { "
    "name: \"loss\" type: \"SoftmaxWithLoss\" bottom: \"ip\" bottom: \"ip\" top: \"l\" include { "
    "phase: TEST } }\n";
static const char caffe_old_net[] =
    "input: \"data\"\ninput_dim: 1\ninput_dim: 1\ninput_dim: 4\ninput_dim: 4\nlayers { name: "
    "\"ip\" "
    "type: INNER_PRODUCT bottom: \"data\" top: \"ip\" blobs_lr: 1 blobs_lr: 2 inner_product_param "
    "{ "
    "num_output: 2 } }\nlayers { name: \"p\" type: SOFTMAX bottom: \"ip\" top: \"p\" }\n";
static const char caffe_solver[] =
    "net: \"train.prototxt\"\nbase_lr: 0.01\nlr_policy: \"step\"\ngamma: 0.1\nstepsize: 100\n"
    "momentum: 0.9\nweight_decay: 0.0005\nmax_iter: 450\nsnapshot: 5\nsolver_mode: GPU\n";

/* What caffe_golden writes in the old format: a product of four values and a softmax. */
static const unsigned char caffe_model[] = {
    0x0a, 0x07, 0x6f, 0x6c, 0x64, 0x20, 0x6e, 0x65, 0x74, 0x1a, 0x04, 0x64, 0x61, 0x74, 0x61,
    0x20, 0x01, 0x20, 0x01, 0x20, 0x02, 0x20, 0x02, 0x12, 0x55, 0x12, 0x04, 0x64, 0x61, 0x74,
    0x61, 0x1a, 0x02, 0x69, 0x70, 0x22, 0x02, 0x69, 0x70, 0x28, 0x0e, 0x32, 0x2a, 0x08, 0x01,
    0x10, 0x01, 0x18, 0x01, 0x20, 0x08, 0x2a, 0x20, 0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00,
    0x40, 0x00, 0x00, 0x40, 0x40, 0x00, 0x00, 0x80, 0x40, 0x00, 0x00, 0xa0, 0x40, 0x00, 0x00,
    0xc0, 0x40, 0x00, 0x00, 0xe0, 0x40, 0x00, 0x00, 0x00, 0x41, 0x32, 0x12, 0x08, 0x01, 0x10,
    0x01, 0x18, 0x01, 0x20, 0x02, 0x2a, 0x08, 0x00, 0x00, 0x00, 0x3f, 0x00, 0x00, 0x00, 0xbf,
    0x8a, 0x01, 0x02, 0x08, 0x02, 0x12, 0x12, 0x12, 0x02, 0x69, 0x70, 0x1a, 0x04, 0x70, 0x72,
    0x6f, 0x62, 0x22, 0x04, 0x70, 0x72, 0x6f, 0x62, 0x28, 0x14,
};

static void write_large_caffe(void)
{
    put_large("prototxt", "large", caffe_old_net,
              "layers { name: \"r%d\" type: RELU bottom: \"ip\" top: \"ip%d\" }\n", "");
}

static void write_caffe(void)
{
    put("caffemodel", "old", caffe_model, sizeof caffe_model);
    put_text("prototxt", "net", caffe_net);
    put_text("prototxt", "old", caffe_old_net);
    put_text("prototxt", "solver", caffe_solver);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s FOLDER LARGE\n", argv[0]);
        return 2;
    }
    char folder[512];
    root = argv[1];
    write_networks();
    write_sessions();
    write_settings();
    write_weights();
    write_mappings();
    write_onnx();
    write_caffe();
    place("checkpoint", "");
    snprintf(folder, sizeof folder, "%s/checkpoint", root);
    failures += !checkpoint_seed(folder);
    write_idx();
    write_arrays();
    write_npz();
    write_cifar();
    write_gzip();
    write_logs();
    write_streams();
    write_pngs();
    write_jpeg("rgb", false, 3);
    write_jpeg("progressive", true, 3);
    write_jpeg("grey", false, 1);
    root = argv[2];
    write_large_caffe();
    write_large_networks();
    write_large_lines();
    write_many_weights();
    write_many_names();
    return failures ? 1 : 0;
}
