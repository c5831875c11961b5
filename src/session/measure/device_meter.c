/* The thread fills `next` without the lock and copies it to `sample` with the lock, so readers
 * never wait for /proc or the GPU's driver. */
#include "session/measure/device_meter.h"

#include "base/memory.h"
#include "base/threads/condition.h"
#include "base/threads/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct device_meter {
    pthread_t thread;
    pthread_mutex_t lock; /* guards the next four members; never held during a measurement */
    pthread_cond_t changed;
    bool ending, enabled, sampled;
    struct device_sample sample;

    /* used by the thread alone */
    struct host_sampler sampler;
    struct gpu_meter *gpus;
    struct device_sample next;
};

static void read_gpus(struct device_meter *meter)
{
    struct error error;
    struct device_sample *next = &meter->next;
    next->why_no_gpu[0] = '\0';
    if (!gpu_meter_read(meter->gpus, next->gpus, &next->gpu_count, &error))
        error_format(&error, next->why_no_gpu, sizeof next->why_no_gpu);
}

/* Takes a sample and publishes it. Before the GPUs are open, it has the processor's load only. */
static void take_sample(struct device_meter *meter)
{
    host_sample(&meter->sampler, &meter->next.load);
    if (meter->gpus)
        read_gpus(meter);
    pthread_mutex_lock(&meter->lock);
    meter->sample = meter->next;
    meter->sampled = true;
    pthread_mutex_unlock(&meter->lock);
}

static void open_gpus(struct device_meter *meter)
{
    struct error error;
    meter->gpus = gpu_meter_open(NULL, &error);
    meter->next.gpus_known = true;
    if (!meter->gpus)
        error_format(&error, meter->next.why_no_gpu, sizeof meter->next.why_no_gpu);
}

/* Waits until the next sample is due and sampling is enabled. Returns false if the meter ends. */
static bool rest(struct device_meter *meter)
{
    struct timespec due;
    condition_now(&due);
    due.tv_sec += DEVICE_METER_MILLISECONDS / 1000;
    pthread_mutex_lock(&meter->lock);
    int code = 0;
    while (!meter->ending && (code == 0 || !meter->enabled))
        code = meter->enabled ? pthread_cond_timedwait(&meter->changed, &meter->lock, &due)
                              : pthread_cond_wait(&meter->changed, &meter->lock);
    bool ending = meter->ending;
    pthread_mutex_unlock(&meter->lock);
    return !ending;
}

static void *work(void *context)
{
    struct device_meter *meter = context;
    take_sample(meter);
    open_gpus(meter);
    do
        take_sample(meter);
    while (rest(meter));
    gpu_meter_close(meter->gpus);
    return NULL;
}

static void free_meter(struct device_meter *meter)
{
    pthread_cond_destroy(&meter->changed);
    pthread_mutex_destroy(&meter->lock);
    free(meter);
}

struct device_meter *device_meter_start(struct error *error)
{
    struct device_meter *meter = memory_new(1, sizeof *meter, "the meter of the devices", error);
    if (!meter)
        return NULL;
    meter->enabled = true;
    pthread_mutex_init(&meter->lock, NULL);
    condition_create(&meter->changed);
    int code = thread_start(&meter->thread, work, meter);
    if (code == 0)
        return meter;
    free_meter(meter);
    error_set(error, ERROR_SYSTEM, "the meter of the devices", "end other programs",
              "no thread can be made: %s", strerror(code));
    return NULL;
}

void device_meter_enable(struct device_meter *meter, bool enabled)
{
    pthread_mutex_lock(&meter->lock);
    if (meter->enabled != enabled) {
        meter->enabled = enabled;
        pthread_cond_signal(&meter->changed);
    }
    pthread_mutex_unlock(&meter->lock);
}

bool device_meter_read(struct device_meter *meter, struct device_sample *sample)
{
    pthread_mutex_lock(&meter->lock);
    bool sampled = meter->sampled;
    if (sampled)
        *sample = meter->sample;
    pthread_mutex_unlock(&meter->lock);
    return sampled;
}

void device_meter_stop(struct device_meter *meter)
{
    if (!meter)
        return;
    pthread_mutex_lock(&meter->lock);
    meter->ending = true;
    pthread_cond_signal(&meter->changed);
    pthread_mutex_unlock(&meter->lock);
    pthread_join(meter->thread, NULL);
    free_meter(meter);
}
