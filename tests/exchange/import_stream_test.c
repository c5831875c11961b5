/* Logs that come in pieces give what the whole log gives, whatever the pieces; names, wrapped and
 * run-on lines; and the forms of logs that other programs write today. */
#include "exchange/logs/import_stream.h"

#include "exchange/logs/internal.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct import_request request;
static struct imported_logs logs;
static struct error error;

/* Reads a text in pieces. Returns its log; one without points if there is none. */
static const struct imported_log *read_pieces(const char *text, size_t piece)
{
    static const struct imported_log none;
    const size_t length = strlen(text);
    request.path = "train.log";
    import_logs_free(&logs);
    struct import_stream *stream = import_stream_create(&request, &error);
    bool good = stream;
    for (size_t at = 0; good && at < length; at += piece)
        good = import_stream_feed(stream, text + at, length - at < piece ? length - at : piece, NAN,
                                  &error);
    good = good && import_stream_end(stream, &error) &&
           import_stream_logs(stream, false, 0, &logs, &error);
    import_stream_free(stream);
    return good && logs.count == 1 ? &logs.logs[0] : &none;
}

static const struct imported_log *read_log(const char *text)
{
    return read_pieces(text, strlen(text) + 1);
}

static bool point_is(const struct imported_log *log, size_t i, uint64_t iteration, float loss)
{
    const bool is = i < log->count && log->points[i].iteration == iteration &&
                    fabsf(log->points[i].loss - loss) < 1e-6f;
    if (!is && i < log->count)
        tap_note("point %zu is iteration %llu with %g", i,
                 (unsigned long long)log->points[i].iteration, (double)log->points[i].loss);
    return is;
}

static bool test_is(const struct imported_log *log, size_t i, uint64_t iteration, float loss,
                    float top1)
{
    const struct series_validation *test = i < log->validation_count ? &log->validations[i] : NULL;
    const bool is = test && test->iteration == iteration &&
                    (isnan(loss) ? isnan(test->loss) : fabsf(test->loss - loss) < 1e-6f) &&
                    (isnan(top1) ? isnan(test->top1) : fabsf(test->top1 - top1) < 1e-4f);
    if (!is && test)
        tap_note("validation %zu is iteration %llu with %g and %g", i,
                 (unsigned long long)test->iteration, (double)test->loss, (double)test->top1);
    return is;
}

/* --- names --- */

static void test_names(void)
{
    static const struct {
        const char *name;
        enum import_quantity quantity;
    } cases[] = {{"loss", IMPORT_LOSS},
                 {"train_loss", IMPORT_LOSS},
                 {"Loss/train", IMPORT_LOSS},
                 {"train_loss_step", IMPORT_LOSS},
                 {"val_loss", IMPORT_VAL_LOSS},
                 {"Loss/validation", IMPORT_VAL_LOSS},
                 {"eval/loss", IMPORT_VAL_LOSS},
                 {"test loss", IMPORT_VAL_LOSS},
                 {"val_acc", IMPORT_TOP1},
                 {"val_sparse_categorical_accuracy", IMPORT_TOP1},
                 {"val/top5", IMPORT_TOP5},
                 {"val_top_k_categorical_accuracy", IMPORT_TOP5},
                 {"accuracy", IMPORT_ACCURACY},
                 {"train_acc", IMPORT_ACCURACY},
                 {"lr", IMPORT_RATE},
                 {"lr-SGD", IMPORT_RATE},
                 {"learning_rate", IMPORT_RATE},
                 {"train/learning_rate", IMPORT_RATE},
                 {"global_step", IMPORT_STEP},
                 {"trainer/global_step", IMPORT_STEP},
                 {"_step", IMPORT_STEP},
                 {"Iteration", IMPORT_STEP},
                 {"epoch", IMPORT_EPOCH},
                 {"timestamp", IMPORT_TIME},
                 {"wall_time", IMPORT_TIME},
                 {"epoch_time", IMPORT_UNKNOWN},
                 {"batch_size", IMPORT_BATCH},
                 {"grad_norm", IMPORT_UNKNOWN},
                 {"val_stop_count", IMPORT_UNKNOWN},
                 {"", IMPORT_UNKNOWN},
                 {"___", IMPORT_UNKNOWN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int rank;
        const enum import_quantity quantity = import_name_means(cases[i].name, &rank);
        tap_ok(quantity == cases[i].quantity, "the name \"%s\" (%d)", cases[i].name, (int)quantity);
    }
    struct import_names names = {0};
    tap_ok(import_names_give(&names, "loss=my loss,top1=a", &error) &&
               strcmp(names.chosen[IMPORT_LOSS].text, "my loss") == 0,
           "names that the user gives");
    tap_ok(!import_names_give(&names, "loss", &error) &&
               !import_names_give(&names, "x=y", &error) &&
               !import_names_give(&names, "loss=", &error),
           "what names no column is refused");
}

/* --- pieces --- */

static void test_pieces(void)
{
    static const char *const texts[] = {
        "step,loss,lr\n1,0.5,0.1\n2,0.25,0.1\n3,0.125,0.05\n",
        "{\"step\": 1, \"loss\": 0.5}\n{\"step\": 2, \"loss\": 0.25}\n{\"step\": 3, \"loss\": "
        "0.125}",
        "Epoch 1/3\n1/2 [=>..] - ETA: 0s - loss: 1.0\r2/2 [====] - 1s 5ms/step - loss: 0.5\n"
        "Epoch 2/3\n2/2 [====] - 1s 5ms/step - loss: 0.25\nEpoch 3/3\n2/2 - 1s - loss: 0.125\n",
        "Epoch 0: 100%|##| 1/1 [00:00<00:00, 5.00it/s, v_num=0, train_loss=0.5]\r"
        "Epoch 1: 100%|##| 1/1 [00:00<00:00, 5.00it/s, v_num=0, train_loss=0.25]\r"
        "Epoch 2: 100%|##| 1/1 [00:00<00:00, 5.00it/s, v_num=0, train_loss=0.125]\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bool same = true;
        for (size_t piece = 1; piece < 50; piece += 7) {
            const struct imported_log *log = read_pieces(texts[i], piece);
            same = same && log->count == 3 && log->points[0].loss == 0.5f &&
                   log->points[1].loss == 0.25f && log->points[2].loss == 0.125f &&
                   log->notes.damaged == 0;
        }
        tap_ok(same, "text %zu in pieces of 1 to 50 bytes", i);
    }
}

/* --- tables and JSON lines --- */

static void test_tables(void)
{
    const struct imported_log *log =
        read_log("epoch,accuracy,loss,val_accuracy,val_loss\n0,0.5,2,0.25,3\n1,0.6,1,0.5,2\n");
    tap_ok(point_is(log, 0, 1, 2) && point_is(log, 1, 2, 1) && log->points[1].epoch == 2 &&
               test_is(log, 1, 2, 2, 50) && log->epoch_means,
           "a table of epochs (CSVLogger of Keras)");
    log = read_log("epoch,lr-SGD,step,train_loss,val_acc,val_loss\n0,,9,1.5,,\n0,,19,1.25,,\n"
                   ",0.1,20,,,\n0,,19,,0.75,0.5\n1,,29,1,,\n");
    tap_ok(log->count == 3 && point_is(log, 2, 29, 1) && test_is(log, 0, 19, 0.5f, 75),
           "a table with empty cells (CSVLogger of Lightning)");
    log = read_log("epoch,batch,loss\n1,1,4\n1,2,3\n2,1,2\n2,2,1\n");
    tap_ok(log->count == 4 && point_is(log, 3, 4, 1), "rows that repeat their epoch are counted");
    log = read_log("step;loss\n1;4\n2;nan\n3;x\n4;1\n");
    tap_ok(log->count == 3 && isnan(log->points[1].loss) && log->notes.damaged == 1,
           "semicolons; NaN is a value, a word is damage");
    log = read_log("step,loss\n1,4\n2,3\n3,2\n2,9\n");
    tap_ok(log->count == 2 && point_is(log, 1, 2, 9) && log->notes.replaced == 2,
           "steps that go back: the training was started again");
    log = read_log("\"step\",\"my, loss\",loss\n1,4,\"5\"\n");
    tap_ok(point_is(log, 0, 1, 5), "quotes");
    request.columns = "loss=objective,top1=score";
    log = read_log("step,objective,loss,score\n1,4,9,0.5\n");
    tap_ok(point_is(log, 0, 1, 4) && test_is(log, 0, 1, NAN, 50), "columns that the user names");
    request.columns = NULL;
    log = read_log("{\"step\": 5, \"train\": {\"loss\": 2.5}, \"time\": \"2026-11-26T10:00:00\"}\n"
                   "{\"step\": 10, \"train\": {\"loss\": 2}, \"time\": \"2026-11-26T10:00:05\"}\n"
                   "{\"step\": 10, \"eval\": {\"loss\": 3, \"accuracy\": 0.5}}\n{\"step\": 15, \n");
    tap_ok(log->count == 2 && point_is(log, 1, 10, 2) && log->points[1].seconds == 5 &&
               test_is(log, 0, 10, 3, 50) && log->notes.damaged == 1,
           "JSON lines with objects and dates; a torn one is damage");
    log = read_log("{\"loss\": 2, \"epoch\": 0.5}\n{\"loss\": 1, \"epoch\": 1.0}\n"
                   "{\"eval_loss\": 3, \"epoch\": 1.0}\n");
    tap_ok(log->count == 2 && point_is(log, 1, 2, 1) && log->points[0].epoch == 0.5f &&
               test_is(log, 0, 2, 3, NAN),
           "lines without steps are counted");
    log = read_log("{\"step\": 1e99, \"loss\": 1}\n{\"step\": -1, \"loss\": 1}\n[1]\n{}\n");
    tap_ok(log->count == 0, "steps that none can have");
}

/* --- Keras --- */

static void test_keras(void)
{
    const struct imported_log *log =
        read_log("Epoch 1/2\n\033[1m 1/12\033[0m \033[32m\342\224\201\033[0m\033[37m\342\224\201"
                 "\033[0m \033[1m0s\033[0m 12ms/step - accuracy: 0.1 - loss: 3.0\b\b\b\r"
                 "\033[1m12/12\033[0m \033[32m\342\224\201\342\224\201\033[0m\033[37m\033[0m "
                 "\033[1m1s\033[0m 9ms/step - accuracy: 0.5 - loss: 2.0 - val_accuracy: 0.25 - "
                 "val_loss: 1.5 - learning_rate: 0.01\n");
    tap_ok(point_is(log, 0, 12, 2) && test_is(log, 0, 12, 1.5f, 25) &&
               log->points[0].learning_rate == 0.01f,
           "Keras 3: colours, a bar of lines, the rate");
    log = read_log("Epoch 1/1\n10/10 - 1s - loss: 3.0 - aux_loss: 1.0 - main_loss: 2.0 - "
                   "val_loss: 2.5 - val_aux_accuracy: 0.25 - val_main_accuracy: 0.75\n");
    tap_ok(point_is(log, 0, 10, 3) && test_is(log, 0, 10, 2.5f, 75) && log->notes.several_top1 &&
               strcmp(log->notes.top1_name, "val_main_accuracy") == 0,
           "several outputs: not the auxiliary one");
    request.columns = "top1=val_b_accuracy";
    log = read_log("Epoch 1/1\n10/10 - 1s - loss: 3.0 - a_loss: 1.0 - b_loss: 2.0 - "
                   "val_loss: 2.5 - val_a_accuracy: 0.25 - val_b_accuracy: 0.75\n");
    tap_ok(test_is(log, 0, 10, 2.5f, 75) && !log->notes.several_top1,
           "several outputs: the one asked for");
    request.columns = NULL;
}

static void test_wrapped(void)
{
    const struct imported_log *log = read_log(
        "Epoch 1/2\n10/10 [=====] - 1s 5ms/step - loss: 0.25\n00 - acc: 0.5 - val_lo\n"
        "ss: 0.75 - val_acc:\n0.5\nEpoch 2/2\n10/10 [=====] - 1s 5ms/step - loss: 0.125 -\n"
        "acc: 0.5\n- val_loss: 0.5 - val_acc: 0.25\n");
    tap_ok(log->count == 2 && point_is(log, 0, 10, 0.25f) && test_is(log, 0, 10, 0.75f, 50) &&
               point_is(log, 1, 20, 0.125f) && test_is(log, 1, 20, 0.5f, 25) &&
               log->notes.damaged == 0,
           "lines that were wrapped within a number, a name, and at a space (%zu damaged)",
           log->notes.damaged);
    log = read_log("Epoch 1/2\n10/10 [=====] - 1s 5ms/step - loss: 0.25 - acc: 0.5 - val_loss:\n"
                   "Epoch 2/2\n10/10 [=====] - 1s 5ms/step - loss: 0.125\n");
    tap_ok(log->count == 2 && log->notes.damaged == 1, "what is missing counts as damaged");
    log =
        read_log("Epoch 1/2\n   1/60 [>...] - ETA: 3s - loss: 2.0000 - acc: 0.100030/60 [==>..] - "
                 "ETA: 1s - loss: 1.0 - acc: 0.200060/60 [====] - 3s 50us/step - loss: 0.5 - acc: "
                 "0.3Epoch 2/260/60 [====] - 3s 50us/step - loss: 0.25\n");
    tap_ok(log->count >= 1 && point_is(log, 0, 60, 0.5f), "records that run together are divided");
    log = read_log("I1103 10:11:12.0 42 solver.cpp:219] Iteration 0, loss = 2.\n5\n"
                   "I1103 10:11:13.0 42 solver.cpp:219] Iteration 1, loss = 2I1103 10:11:14.0 42 "
                   "solver.cpp:219] Iteration 2, loss = 1.5\n");
    tap_ok(log->count == 3 && point_is(log, 0, 1, 2.5f) && point_is(log, 1, 2, 2) &&
               point_is(log, 2, 3, 1.5f),
           "the same of Caffe");
    log = read_log(
        "2017-03-01 12:00:00.1: step 10, loss = \n2017-03-01 12:00:05.1: step 20, loss = 1.5 "
        "(5 examples/sec; 0.1 sec/batch)\n2017-03-01 12:00:05.1: step 30, loss = \n-4.5e-08\n");
    tap_ok(log->count == 2 && point_is(log, 0, 20, 1.5f) && point_is(log, 1, 30, -4.5e-8f) &&
               log->notes.damaged == 1,
           "a date is not the rest of a loss; a number is (%zu damaged)", log->notes.damaged);
    log = read_log("INFO:tensorflow:loss = 2.5, step = 1\nINFO:tensorflow:loss = 2, step = "
                   "101 (0.5 sec)INFO:tensorflow:loss = 1, step = 201 (0.5 sec)\n");
    tap_ok(log->count == 3 && point_is(log, 2, 201, 1), "the same of TensorFlow");
}

/* --- Lightning and Estimator --- */

static void test_lightning(void)
{
    const struct imported_log *log = read_log(
        "Sanity Checking DataLoader 0:  50%|#####     | 1/2 [00:00<00:00, 99.00it/s]\r"
        "Epoch 0:   0%|          | 0/2 [00:00<?, ?it/s]\r"
        "Epoch 0:  50%|#####     | 1/2 [00:00<00:00, 10.00it/s, v_num=3, train_loss=2.000]\r"
        "Epoch 0: 100%|##########| 2/2 [00:00<00:00, 20.00it/s, v_num=3, train_loss=1.500]\r"
        "Validation DataLoader 0:  50%|#####     | 1/2 [00:00<00:00, 99.00it/s]\r"
        "Epoch 0: 100%|##########| 2/2 [00:00<00:00, 15.00it/s, v_num=3, train_loss=1.500, "
        "val_loss=1.250, val_acc=0.500]\r"
        "Epoch 1:  50%|#####     | 1/2 [00:00<00:00, 10.00it/s, v_num=3, train_loss=1.000, "
        "val_loss=1.250, val_acc=0.500]\r"
        "Epoch 1: 100%|##########| 2/2 [00:00<00:00, 10.00it/s, v_num=3, train_loss=0.500, "
        "val_loss=1.250, val_acc=0.500]\r"
        "Validation DataLoader 0:  50%|#####     | 1/2 [00:00<00:00, 99.00it/s]\r"
        "Epoch 1: 100%|##########| 2/2 [00:00<00:00, 10.00it/s, v_num=3, train_loss=0.500, "
        "val_loss=1.250, val_acc=0.500]\n");
    tap_ok(strcmp(log->framework, "lightning") == 0 && log->count == 4 && point_is(log, 0, 1, 2) &&
               point_is(log, 3, 4, 0.5f) && log->points[1].epoch == 1,
           "Lightning's progress");
    tap_ok(log->validation_count == 2 && test_is(log, 0, 2, 1.25f, 50) &&
               test_is(log, 1, 4, 1.25f, 50),
           "  a validation counts once, also one with the same values (%zu)",
           log->validation_count);
    log = read_log("Epoch 0/9 \342\224\201\342\224\201 5/10 0:00:00 \342\200\242 0:00:00 45.33it/s "
                   "v_num: 0.000 train_loss: 2.250\n");
    tap_ok(point_is(log, 0, 5, 2.25f), "  its other bar");
    log = read_log(
        "Epoch 3/3  \342\224\201 12/12 0:00:00 \342\200\242 0:00:00 25.11it/s v_num: 0   \n"
        "                       train_loss: 0.25\n                       val_loss: 0.5  \n"
        "                       val_acc: 0.75  \n");
    tap_ok(point_is(log, 0, 48, 0.25f) && test_is(log, 0, 48, 0.5f, 75),
           "  its values below it, where it is narrow");
    log = read_log(
        "INFO:tensorflow:loss = 2.3, step = 1\nINFO:tensorflow:global_step/sec: 100\n"
        "INFO:tensorflow:loss = 1.3, step = 101 (1.000 sec)\n"
        "INFO:tensorflow:Saving dict for global step 200: accuracy = 0.75, average_loss = 0.5, "
        "global_step = 200, loss = 16\nINFO:tensorflow:Loss for final step: 0.25.\n");
    tap_ok(log->count == 2 && point_is(log, 1, 101, 1.3f) && test_is(log, 0, 200, 0.5f, 75) &&
               log->finished,
           "Estimator");
}

/* --- hostile texts --- */

static void test_hostile(void)
{
    static char text[1 << 18];
    memset(text, 'x', sizeof text - 1);
    tap_ok(read_log(text)->count == 0, "a line without end");
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "a,", 2);
    tap_ok(read_log(text)->count == 0, "a table of 100,000 columns");
    memset(text, '{', sizeof text - 1);
    tap_ok(read_log(text)->count == 0, "objects in objects");
    static char many[1 << 16];
    size_t length = 0;
    for (int i = 0; i < 3000; i++)
        length += (size_t)snprintf(many + length, sizeof many - length, "%s\"k%d\":1",
                                   i ? "," : "{\"loss\":1,", i);
    snprintf(many + length, sizeof many - length, "}\n");
    tap_ok(read_log(many)->count == 1, "an object of 3,000 members");
    tap_ok(read_log("Epoch 99999999999999999999: 1%|#| 1/1 [1.0it/s, train_loss=1]\n")->count == 0,
           "an epoch without end");
}

TEST_CASE(import_stream_test)
{
    test_names();
    test_pieces();
    test_tables();
    test_keras();
    test_wrapped();
    test_lightning();
    test_hostile();
    import_logs_free(&logs);
    return tap_done();
}
