/* Logs of other frameworks: lines as they write them, torn lines, repeated iterations, and values
 * that are NaN. */
#include "exchange/logs/import_log.h"

#include "session_files.h"
#include "tap.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define AT  "I1103 10:11:12.000000  4242 solver.cpp:219] "
#define AT2 "I1103 10:11:14.500000  4242 solver.cpp:219] "

static struct imported_logs logs;
static struct error error;
static struct import_request request;

/* Reads `text` as the log of one training; returns the error message if it is refused. */
static const struct imported_log *read_log(const char *text)
{
    static const struct imported_log none;
    char *copy = strdup(text);
    import_logs_free(&logs);
    error = (struct error){0};
    if (!request.path)
        request.path = "train.log";
    const bool good = copy && import_logs_read(&logs, &request, copy, strlen(copy), &error);
    free(copy);
    if (!good)
        tap_note("%s: %s", error.what, error.why);
    return good && logs.count > 0 ? &logs.logs[0] : &none;
}

static bool point_is(const struct imported_log *log, size_t i, uint64_t iteration, float loss)
{
    return i < log->count && log->points[i].iteration == iteration &&
           (log->points[i].loss == loss || (isnan(loss) && isnan(log->points[i].loss)));
}

/* --- Caffe --- */

static void test_caffe(void)
{
    const struct imported_log *log = read_log(
        AT "Iteration 0 (0 iter/s, 1.5s/1 iters), loss = 6.9\n" AT
           "    Train net output #0: loss = 6.8 (* 1 = 6.8 loss)\n" AT
           "Iteration 0, lr = 0.01\n" AT2
           "Iteration 1 (12.5 iter/s, 0.08s/1 iters), loss = -4.5e-08\n" AT2
           "    Train net output #0: accuracy = 1\n" AT2
           "    Train net output #1: loss = 0 (* 1 = 0 loss)\n" AT2 "Iteration 1, lr = 0.001\n");
    tap_ok(strcmp(log->framework, "caffe") == 0 && log->count == 2 && !log->mean_only,
           "lines of Caffe");
    tap_ok(point_is(log, 0, 1, 6.8f) && log->points[0].loss_caffe == 6.9f,
           "iterations count from 1; the loss is the output's, the mean the line's");
    tap_ok(point_is(log, 1, 2, 0) && log->points[1].loss_caffe == -4.5e-8f,
           "an output that is not a loss is ignored");
    tap_ok(log->points[0].learning_rate == 0.01f && log->points[1].learning_rate == 0.001f,
           "the rate of each");
    tap_ok(isnan(log->points[0].ms_per_image) && log->points[1].ms_per_image == 80,
           "milliseconds from iter/s, if the log has it");
    tap_ok(log->points[1].seconds == 2.5f, "seconds by glog's clock");
}

static void test_outputs(void)
{
    const struct imported_log *log =
        read_log(AT "Iteration 0, loss = 11.2\n" AT
                    "    Train net output #0: loss1/loss1 = 7 (* 0.3 = 2.1 loss)\n" AT
                    "    Train net output #1: loss2/loss1 = 7 (* 0.3 = 2.1 loss)\n" AT
                    "    Train net output #2: loss3/loss3 = 7 (* 1 = 7 loss)\n");
    tap_ok(log->count == 1 && fabsf(log->points[0].loss - 11.2f) < 1e-5f,
           "several weighted losses are summed (GoogLeNet)");
    log = read_log(AT "Iteration 0, loss = 2\n" AT "Iteration 0, loss = 2\n" AT
                      "    Train net output #0: loss = 2 (* 1 = 2 loss)\n" AT
                      "    Train net output #0: loss = 2 (* 1 = 2 loss)\n" AT
                      "Iteration 1, loss = 1\n" AT
                      "    Train net output #0: loss = 1 (* 1 = 1 loss)\n");
    tap_ok(log->count == 2 && point_is(log, 0, 1, 2) && point_is(log, 1, 2, 1) &&
               log->notes.replaced == 0,
           "a log that has each line twice");
}

static void test_tests(void)
{
    const struct imported_log *log = read_log(
        AT "Iteration 0, Testing net (#0)\n" AT "    Test net output #0: accuracy = 0.125\n" AT
           "    Test net output #1: accuracy_top-5 = 0.5\n" AT
           "    Test net output #2: loss = 2.4 (* 1 = 2.4 loss)\n" AT
           "Iteration 0, Testing net (#1)\n" AT "    Test net output #0: accuracy = 0.9\n" AT
           "Iteration 0, loss = 2\n" AT "    Train net output #0: loss = 2 (* 1 = 2 loss)\n");
    const struct series_validation *test = log->validations;
    tap_ok(log->validation_count == 1 && test[0].iteration == 0 && test[0].top1 == 12.5f &&
               test[0].top5 == 50 && test[0].loss == 2.4f,
           "a test's outputs; of several test nets the first");
    tap_ok(log->count == 1 && point_is(log, 0, 1, 2), "which are no iterations");
    log = read_log("I1224 16:55:25.943426 31888 solver.cpp:106] Iteration 0, Testing net\n"
                   "I1224 16:56:24.839272 31888 solver.cpp:142] Test score #0: 0.13\n"
                   "I1224 17:08:05.139917 31888 solver.cpp:237] Iteration 1000, lr = 0.0003\n"
                   "I1224 17:08:05.140704 31888 solver.cpp:87] Iteration 1000, loss = 3.5e-08\n"
                   "I1224 17:20:54.375815 31888 solver.cpp:237] Iteration 2000, lr = 0.0002\n"
                   "I1224 17:20:54.376219 31888 solver.cpp:87] Iteration 2000, loss = 1.30465\n");
    tap_ok(log->validation_count == 0, "scores without names of old versions are ignored");
    tap_ok(log->count == 2 && log->points[0].learning_rate == 0.0003f &&
               log->points[1].learning_rate == 0.0002f,
           "its rate comes before the loss");
    tap_ok(log->mean_only && point_is(log, 1, 2001, 1.30465f) && log->points[0].iteration == 1001,
           "display 1000, and the mean alone");
    tap_ok(log->points[1].ms_per_image > 769 && log->points[1].ms_per_image < 770,
           "milliseconds of each of the 1000, by the clock (%g)",
           (double)log->points[1].ms_per_image);
}

static void test_restart(void)
{
    const struct imported_log *log =
        read_log("Iteration 0, loss = 5\nIteration 10, loss = 4\nIteration 20, loss = 3\n"
                 "Iteration 20, Testing net (#0)\n    Test net output #0: accuracy = 0.5\n"
                 "Iteration 10, loss = 4.5\nIteration 20, loss = 3.5\n");
    tap_ok(log->count == 3 && point_is(log, 1, 11, 4.5f) && point_is(log, 2, 21, 3.5f),
           "a restart: the later part holds");
    tap_ok(log->notes.replaced == 2 && log->validation_count == 0, "  and it is counted");
    log = read_log("Iteration 0, loss = 5\nIteration 10, loss = 4\n"
                   "Iteration 20, loss = 3\nOptimization Done.\n");
    tap_ok(log->finished && log->count == 3, "Optimization Done");
    log = read_log("I1 x] Initializing solver from parameters: \nmax_iter: 20\naverage_loss: 40\n"
                   "iter_size: 4\nbase_lr: 0.5\nmomentum: 0.8\nweight_decay: 0.1\ntype: \"Adam\"\n"
                   "solver_mode: CPU\nI1 net.cpp:5] Initializing net\nname: \"GoogLeNet\"\n"
                   "  batch_size: 32\n  batch_size: 50\n"
                   "Iteration 0, loss = 5\nIteration 10, loss = 4\nIteration 20, loss = 3\n");
    tap_ok(log->count == 2 && log->max_iterations == 20 && log->notes.damaged == 0,
           "the forward pass after the last iteration is no iteration");
    tap_ok(log->average_loss == 40 && log->learning_rate == 0.5 && log->momentum == 0.8 &&
               log->weight_decay == 0.1 && strcmp(log->solver, "adam") == 0 &&
               strcmp(log->device, "cpu") == 0,
           "the solver's text");
    tap_ok(strcmp(log->network, "googlenet") == 0 && log->batch == 128,
           "the network's, and iter_size batches of the training net (%zu)", log->batch);
}

static void test_odd_numbers(void)
{
    const struct imported_log *log = read_log(
        "Iteration 0, loss = nan\nIteration 1, loss = -nan\nIteration 2, loss = inf\n"
        "Iteration 3, loss = -1.#IND\nIteration 4, loss = 1.#INF\nIteration 5, loss = 1e-45\n");
    tap_ok(log->count == 6 && isnan(log->points[0].loss) && isnan(log->points[1].loss) &&
               isinf(log->points[2].loss),
           "nan, -nan, inf");
    tap_ok(isnan(log->points[3].loss) && isinf(log->points[4].loss), "and as Windows writes them");
    tap_ok(log->points[5].loss > 0, "the smallest float32");
    log = read_log("Iteration 0, loss = 1\nTrain net output #0: l = nan (* 1 = nan loss)\n"
                   " Train net output #0: l = nan (* 1 = nan loss)\n");
    tap_ok(log->count == 1 && isnan(log->points[0].loss) && !log->mean_only,
           "an output that is nan is a loss");
    log = read_log("Iteration 0, loss = 1\nIteration 99999999999999999999, loss = 2\n"
                   "Iteration -3, loss = 2\nIteration x, loss = 2\nIteration 1, loss = x\n");
    tap_ok(log->count == 1 && log->notes.damaged == 4, "unreadable lines are counted (%zu)",
           log->notes.damaged);
}

static void test_torn(void)
{
    const struct imported_log *log = read_log(
        AT "Iteration 0, loss = 5\n" AT "    Train net output #0: loss = 5 (* 1 = 5 loss)\n" AT
           "Iteration 1, loss = 0.0");
    tap_ok(log->count == 1 && log->notes.damaged == 1, "a last line that is cut: half a number");
    log = read_log(AT "Iteration 0, loss = 5\n" AT
                      "    Train net output #0: loss = 5 (* 1 = 5 loss)\n" AT
                      "Iteration 1, loss = 4\n");
    tap_ok(log->count == 1 && log->notes.damaged == 1, "an iteration without its loss");
    log = read_log(AT "Iteration 0, loss = 5\r\n" AT
                      "    Train net output #0: loss = 5 (* 1 = 5 loss)\r\n");
    tap_ok(log->count == 1 && point_is(log, 0, 1, 5), "CRLF");
    log = read_log("I1231 23:59:59.000000 1 s.cpp:1] Iteration 0, loss = 5\n"
                   "I0101 00:00:01.000000 1 s.cpp:1] Iteration 1, loss = 4\n");
    tap_ok(log->count == 2 && log->points[1].seconds > 0 && log->points[1].seconds < 2 * 86400,
           "times across the end of a year (%g s)", (double)log->points[1].seconds);
}

/* --- TensorFlow --- */

static void test_tensorflow(void)
{
    const struct imported_log *log =
        read_log("INFO:tensorflow:loss = 2.5, step = 1\n"
                 "INFO:tensorflow:global_step/sec: 20\n"
                 "INFO:tensorflow:loss = 0.5, step = 101 (5.000 sec)\n"
                 "INFO:tensorflow:Saving checkpoints for 101 into /tmp/m/model.ckpt.\n"
                 "INFO:tensorflow:Saving dict for global step 101: accuracy = 0.97, global_step = "
                 "101, loss = 0.25\n"
                 "INFO:tensorflow:Loss for final step: 0.01.\n");
    tap_ok(strcmp(log->framework, "tensorflow") == 0 && log->count == 2 &&
               point_is(log, 0, 1, 2.5f) && point_is(log, 1, 101, 0.5f),
           "an estimator's lines");
    tap_ok(log->points[1].ms_per_image == 50, "the seconds of 100 steps");
    tap_ok(log->validation_count == 1 && log->validations[0].top1 == 97 &&
               log->validations[0].loss == 0.25f,
           "its evaluation is a test");
    tap_ok(log->finished && log->notes.damaged == 0, "its last line");
    log = read_log("INFO:tensorflow:global step 1: loss = 79.3501 (57.126 sec/step)\n"
                   "INFO:tensorflow:global step 1: loss = 79.3501 (57.126 sec/step)\n"
                   "INFO:tensorflow:Recording summary at step 1.\n"
                   "INFO:tensorflow:global step 2: loss = 72.8609 (0.500 sec/step)\n"
                   "INFO:tensorflow:global step 2: loss = 72.8609 (0.500 sec/step)\n");
    tap_ok(log->count == 2 && log->notes.replaced == 0 && log->points[1].ms_per_image == 500,
           "slim's, each twice");
    log =
        read_log("2017-03-01 12:00:00: step 0, loss = 4.66 (347.6 examples/sec; 0.25 sec/batch)\n"
                 "2017-03-01 12:00:01: step 10, loss = nan (347.6 examples/sec; 0.25 sec/batch)\n");
    tap_ok(log->count == 2 && point_is(log, 0, 1, 4.66f) && point_is(log, 1, 11, NAN) &&
               log->points[1].ms_per_image == 250,
           "the tutorials' steps, counted from 0; nan");
    log = read_log("Step 10: loss = 2.3 (0.005 sec)\nStep 20: loss = 2.1 (0.004 sec)\n");
    tap_ok(log->count == 2 && log->points[1].ms_per_image == 4, "seconds of that step alone");
    log = read_log("Iter 1280, Minibatch Loss= 26.5, Training Accuracy= 0.2\n"
                   "Iter 2560, Minibatch Loss= 13.25, Training Accuracy= 0.5\n");
    tap_ok(log->count == 2 && point_is(log, 1, 2560, 13.25f), "examples that count by Iter");
    log = read_log("step 5, loss = 2\nstep 5, val_loss = 9\nsteps_per_epoch = 7, loss = 1\n"
                   "timestep 8, loss = 1\nstep 6, loss =\n");
    tap_ok(log->count == 1 && point_is(log, 0, 5, 2) && log->notes.damaged == 1,
           "losses of other images and other counts are ignored");
}

/* --- Keras --- */

static void test_keras(void)
{
    const struct imported_log *log = read_log(
        "Train on 60000 samples, validate on 10000 samples\nEpoch 1/12\n"
        "\r  128/60000 [.....] - ETA: 4:01 - loss: 2.3 - acc: 0.1\b\b\b\b\b\b"
        "\r60000/60000 [=====] - 3s 50us/step - loss: 0.25 - acc: 0.92 - val_loss: 0.06 - val_acc: "
        "0.98\nEpoch 2/12\n"
        "\r60000/60000 [=====] - 3s 50us/step - loss: 9.5e-04 - acc: 0.92 - val_loss: 0.05 - "
        "val_acc: 0.99\n");
    tap_ok(strcmp(log->framework, "keras") == 0 && log->count == 2 && log->epoch_means,
           "Keras: a point an epoch");
    tap_ok(point_is(log, 0, 469, 0.25f) && point_is(log, 1, 938, 9.5e-4f) && log->batch == 128 &&
               log->images == 60000,
           "the batch from the first progress line, so iterations are known");
    tap_ok(log->points[0].epoch == 1 && log->points[0].seconds == 3 &&
               fabsf(log->points[0].ms_per_image - 6.4f) < 1e-4f,
           "epochs, seconds, milliseconds of an iteration");
    tap_ok(log->validation_count == 2 && log->validations[1].top1 == 99 &&
               log->validations[1].loss == 0.05f && log->validations[1].iteration == 938,
           "its validation");
    tap_ok(log->max_iterations == 12 * 469 && !log->finished, "stopped before its end");
    log = read_log("Model: \"vgg\"\nEpoch 1/2\n"
                   "\033[1m  1/469\033[0m \033[32m━\033[0m\033[37m━━\033[0m \033[1m1:05\033[0m "
                   "140ms/step - accuracy: 0.1 - loss: 2.3\r"
                   "\033[1m469/469\033[0m \033[32m━━━\033[0m\033[37m\033[0m \033[1m3s\033[0m "
                   "5ms/step - accuracy: 0.92 - loss: 0.25 - val_accuracy: 0.9 - val_loss: 0.5\n"
                   "Epoch 2/2\n\033[1m469/469\033[0m ━━━ \033[1m3s\033[0m 5ms/step - accuracy: 0.9 "
                   "- loss: 0.125\n");
    tap_ok(log->count == 2 && point_is(log, 0, 469, 0.25f) && point_is(log, 1, 938, 0.125f) &&
               log->batch == 0 && log->finished,
           "newer versions, in colours, count steps");
    tap_ok(log->points[0].ms_per_image == 5 && log->validations[0].top1 == 90 &&
               strcmp(log->network, "vgg") == 0,
           "  with their times, tests and name");
}

static void test_keras_variants(void)
{
    const char *plain =
        "Epoch 1/2\n - 3s - loss: 0.25 - acc: 0.92\nEpoch 2/2\n - 3s - loss: 0.125\n";
    const struct imported_log *log = read_log(plain);
    tap_ok(log->count == 0 && strstr(error.advice, "--batch and --images"),
           "verbose=2 without the number of images: %s: %s", error.why, error.advice);
    request = (struct import_request){.images = 1000, .batch = 100};
    log = read_log(plain);
    tap_ok(log->count == 2 && point_is(log, 1, 20, 0.125f) && log->points[0].ms_per_image == 300,
           "  with it");
    request = (struct import_request){0};
    log = read_log("Epoch 1/2\n469/469 - 3s - loss: 0.25 - accuracy: 0.9 - 3s/epoch - 6ms/step\n");
    tap_ok(log->count == 1 && point_is(log, 0, 469, 0.25f) && log->points[0].seconds == 3,
           "verbose=2 of later versions");
    log = read_log("Epoch 1/2\n   5/100 [>...] - ETA: 9s - loss: 2.0000\r"
                   "  50/100 [==>.] - ETA: 5s - loss: 1.5000\r"
                   "  70/100 [===>] - ETA: 3s - lo");
    tap_ok(log->count == 1 && log->points[0].loss == 1.5f && log->points[0].epoch == 0.5f,
           "an epoch that was cut off: the last progress");
    log = read_log("Epoch 1/2\n   1/100 [>] - ETA: 9s - loss: 2\r100/100 [=] - 9s - loss: 1\n"
                   "Epoch 2/2\n100/100 [=] - 9s - loss: 0.5\n"
                   "Epoch 1/2\n100/100 [=] - 9s - loss: 3\n");
    tap_ok(log->count == 1 && point_is(log, 0, 100, 3) && log->notes.replaced == 2,
           "a training that begins anew (%zu replaced)", log->notes.replaced);
}

/* --- tables --- */

static void test_tables(void)
{
    request = (struct import_request){.path = "dir_x/loss_titan_caffe.csv.gz"};
    const struct imported_log *log =
        read_log("#network,mode,batch,step,loss,time\nalexnet,GPU,016,0,6.9,0.5\n"
                 "alexnet,GPU,016,1,-4.5e-08,0.25\nalexnet,CPU,016,0,6.8,5\nrubbish\n"
                 "alexnet,GPU,016,2,nan,0.25\nalexnet,GPU,016,0,7,0.5\n");
    tap_ok(logs.count == 3 && log->count == 3 && logs.logs[1].count == 1 && logs.logs[2].count == 1,
           "a table: a training for each network, mode and batch, and anew where steps begin anew");
    tap_ok(strcmp(log->framework, "caffe") == 0 && strcmp(log->host, "titan") == 0 &&
               strcmp(log->network, "alexnet") == 0 && strcmp(log->device, "cuda") == 0 &&
               log->batch == 16 && strcmp(logs.logs[1].device, "cpu") == 0,
           "  named by its file and rows");
    tap_ok(point_is(log, 0, 1, 6.9f) && point_is(log, 1, 2, -4.5e-8f) && log->mean_only &&
               log->points[1].loss_caffe == -4.5e-8f && point_is(log, 2, 3, NAN),
           "  Caffe's printed values are its mean");
    tap_ok(log->points[1].ms_per_image == 250 && log->points[1].seconds == 0.75f &&
               log->notes.damaged == 1,
           "  times, and rows that are none");
    request.path = "times_gamma_tensorflow.csv";
    log = read_log("#network,mode,batch,avg_time\r\ngooglenet,CPU,001,0.5\r\n");
    tap_ok(logs.count == 1 && log->times_only && log->points[0].ms_per_image == 500 &&
               isnan(log->points[0].loss) && strcmp(log->framework, "tensorflow") == 0,
           "a table of mean times");
    request.path = "mine.csv";
    log =
        read_log("#network,mode,batch,step,loss,time\nlenet,CPU,004,1,2.5,0.5\nlenet,CPU,004,2,1");
    tap_ok(log->count == 1 && !log->mean_only && strcmp(log->framework, "csv") == 0 &&
               log->host[0] == '\0' && log->notes.damaged == 1,
           "a file without a framework's name; a torn row");
    log = read_log("#network,mode,batch,speed\nlenet,CPU,004,1\n");
    tap_ok(log->count == 0 && strstr(error.why, "other columns"), "other columns are refused");
    log = read_log("#network,mode,batch,step,loss,time\n\nlenet\n");
    tap_ok(log->count == 0 && strstr(error.why, "no row"), "and a table without a row");
    request = (struct import_request){0};
}

static void test_refusals(void)
{
    read_log("nothing of the kind\n");
    tap_ok(error.kind == ERROR_INPUT && strstr(error.why, "looked for") && error.advice[0],
           "an unknown log: the message names the expected lines");
    read_log(" \n");
    tap_ok(strstr(error.why, "empty"), "an empty file");
    const char *mixture =
        "Iteration 0, loss = 5\nEpoch 1/2\n1/9 [>] - loss: 2\r9/9 [=] - loss: 1\n";
    read_log(mixture);
    tap_ok(strstr(error.why, "caffe (1) and of keras (1)") && strstr(error.advice, "--framework"),
           "two frameworks in one file: %s", error.why);
    request.framework = "keras";
    const struct imported_log *log = read_log(mixture);
    tap_ok(log->count == 1 && point_is(log, 0, 9, 1), "  and accepted with one named");
    request.framework = "tensorflow";
    log = read_log("Iteration 10, loss = 5\n");
    tap_ok(log->count == 1 && point_is(log, 0, 10, 5), "a TensorFlow script with Caffe's wording");
    request = (struct import_request){0};
}

/* --- runs --- */

static bool is_empty(const char *directory)
{
    char command[600];
    snprintf(command, sizeof command, "test -z \"$(ls -A %s 2>/dev/null)\"", directory);
    return system(command) == 0;
}

/* A disk without space for the second run of a table: the first is deleted, too. */
static void test_failure(void)
{
    struct import_results results = {0};
    struct rlimit limit = {.rlim_cur = 200000, .rlim_max = RLIM_INFINITY};
    const struct import_request whole = {.path = home_path("loss_h_caffe.csv")};
    const char *home = home_path("tinca/runs");
    FILE *file = fopen(whole.path, "w");
    fputs("#network,mode,batch,step,loss,time\nlenet,CPU,004,1,2.5,0.5\n", file);
    for (int i = 1; i < 4000; i++)
        fprintf(file, "alexnet,CPU,004,%d,%d.5,0.5\n", i, i);
    fclose(file);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    tap_ok(!import_file(&whole, &results, &error) && results.count == 0,
           "no space for the second run of a table: %s: %s", error.what, error.why);
    tap_ok(is_empty(home), "  leaves no run directory");
    import_results_free(&results);
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    tap_ok(import_file(&whole, &results, &error) && results.count == 2 && !is_empty(home),
           "  with space it gives both");
    import_results_free(&results);
}

TEST_CASE(import_log_test)
{
    if (!make_home())
        return 99;
    test_caffe();
    test_outputs();
    test_tests();
    test_restart();
    test_odd_numbers();
    test_torn();
    test_tensorflow();
    test_keras();
    test_keras_variants();
    test_tables();
    test_refusals();
    test_failure();
    import_logs_free(&logs);
    remove_home();
    return tap_done();
}
