/* Only one process measures at a time: it locks the folder of the cache, and the others wait a
 * moment and then read what it has stored. A lock that stays held does not stop anyone.
 *
 * The process keeps the measurements of --tune in memory as well, in case they cannot be stored. */
#include "runs/machine/tuned_device.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/files/user_path.h"
#include "base/language.h"
#include "base/memory.h"
#include "runs/machine/autotune_file.h"
#include "runs/machine/machine_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { TRIES = 100 };
static const double PAUSE = 0.01; /* seconds between two tries */

const char *const machine_source_names[MACHINE_SOURCES] = {
    [MACHINE_UNUSED] = "unused",     [MACHINE_FIXED] = "fixed",       [MACHINE_STORED] = "stored",
    [MACHINE_MEASURED] = "measured", [MACHINE_UNSTORED] = "unstored",
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Protected by the mutex. */
static bool measure_again;
static struct {
    struct machine_key key;
    struct machine_model model; /* not measured: none is kept */
    struct error error;         /* why it is not stored */
} kept;

void tuned_device_measure_again(void)
{
    pthread_mutex_lock(&mutex);
    measure_again = true;
    pthread_mutex_unlock(&mutex);
}

/* --- the folder --- */

/* Makes the folder of the cache if it is missing and opens it. Returns a descriptor, or -1 with an
 * error if no file can be made there. */
static int open_folder(const char *path, struct error *error)
{
    char *folder = memory_copy_text(path, error);
    int descriptor = -1;
    if (folder && strrchr(folder, '/')) {
        *strrchr(folder, '/') = '\0';
        if (user_path_make_cache_folder(path, error)) {
            descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            if (descriptor < 0 || faccessat(descriptor, ".", W_OK, AT_EACCESS) != 0) {
                error_set_errno(error, folder, "check its permissions, or set XDG_CACHE_HOME",
                                "no file can be made there");
                if (descriptor >= 0)
                    close(descriptor);
                descriptor = -1;
            }
        }
    }
    free(folder);
    return descriptor;
}

static void lock_folder(int descriptor)
{
    for (int i = 0; i < TRIES && flock(descriptor, LOCK_EX | LOCK_NB) != 0; i++)
        clock_sleep(PAUSE);
}

/* --- figures --- */

/* Measures. The figures of one thread that the file has remain unless `again`: what depends on them
 * must not depend on when a number of threads was used for the first time. */
static bool measure(struct device *device, const struct machine_key *key, const char *path,
                    bool again, struct error *error)
{
    struct machine_model stored;
    bool alone = false;
    if (!device_measure_machine(device, error))
        return false;
    if (!again && path)
        machine_file_read(path, key, &stored, &alone);
    for (size_t i = MACHINE_OF_THREADS; alone && i < MACHINE_FIGURES; i++)
        device->machine.seconds[i] = stored.seconds[i];
    return true;
}

/* Measures and stores, or reads what another process has stored meanwhile. */
static enum machine_source measure_and_store(struct device *device, const struct machine_key *key,
                                             const char *path, bool again, struct error *error)
{
    enum machine_source source = MACHINE_FIXED;
    const int folder = path ? open_folder(path, error) : -1;
    if (folder < 0)
        return again && measure(device, key, NULL, again, error) ? MACHINE_UNSTORED : source;
    lock_folder(folder);
    if (!again && machine_file_read(path, key, &device->machine, NULL))
        source = MACHINE_STORED;
    else if (!measure(device, key, path, again, error))
        source = MACHINE_FIXED;
    else if (machine_file_write(path, key, &device->machine, error))
        source = MACHINE_MEASURED;
    else if (again)
        source = MACHINE_UNSTORED;
    else
        device->machine = (struct machine_model){0};
    close(folder);
    return source;
}

static bool is_kept(const struct machine_key *key)
{
    return kept.model.measured && kept.key.threads == key->threads &&
           strcmp(kept.key.processor, key->processor) == 0 &&
           strcmp(kept.key.instruction_set, key->instruction_set) == 0;
}

/* Sets the figures of the device; the mutex is held. */
static void set_figures(struct device *device, struct machine_origin *origin)
{
    const struct machine_key key = machine_key_here(device->threads);
    char *path = machine_file_path(&origin->error);
    const bool again = measure_again;
    measure_again = false;
    if (!again && is_kept(&key)) {
        device->machine = kept.model;
        *origin = (struct machine_origin){MACHINE_UNSTORED, kept.error};
    } else if (!again && path && machine_file_read(path, &key, &device->machine, NULL)) {
        origin->source = MACHINE_STORED;
    } else {
        origin->source = measure_and_store(device, &key, path, again, &origin->error);
    }
    if (origin->source == MACHINE_UNSTORED) {
        kept.key = key;
        kept.model = device->machine;
        kept.error = origin->error;
    }
    free(path);
}

struct machine_model tuned_device_figures(const struct device_driver *driver, size_t threads)
{
    struct machine_model model = {0};
    struct error unused;
    if (!driver->measure_machine)
        return model;
    const struct machine_key key = machine_key_here(threads);
    char *path = machine_file_path(&unused);
    pthread_mutex_lock(&mutex);
    if (is_kept(&key))
        model = kept.model;
    else if (path && !machine_file_read(path, &key, &model, NULL))
        model = (struct machine_model){0};
    pthread_mutex_unlock(&mutex);
    free(path);
    return model;
}

static bool take_measure_again(void)
{
    pthread_mutex_lock(&mutex);
    const bool again = measure_again;
    measure_again = false;
    pthread_mutex_unlock(&mutex);
    return again;
}

struct device *tuned_device_open(const char *name, size_t threads, struct machine_origin *origin,
                                 struct error *error)
{
    struct device *device = device_open(name, threads, error);
    struct machine_origin here = {.source = MACHINE_UNUSED};
    if (device && device->driver->measure_machine) {
        pthread_mutex_lock(&mutex);
        set_figures(device, &here);
        pthread_mutex_unlock(&mutex);
    } else if (device && device->driver->use_autotune) {
        const bool stores = autotune_file_use(device, true, take_measure_again(), &here.error);
        here.source = stores ? MACHINE_STORED : MACHINE_FIXED;
    }
    if (origin)
        *origin = here;
    return device;
}

void tuned_device_measure(const char *name, size_t threads)
{
    struct error unused;
    const struct device_driver *driver = device_find(name, NULL, &unused);
    pthread_mutex_lock(&mutex);
    const bool again = measure_again;
    pthread_mutex_unlock(&mutex);
    if (driver && driver->measure_machine &&
        (again || !tuned_device_figures(driver, device_threads(threads)).measured))
        device_close(tuned_device_open(name, threads, NULL, &unused));
}

const char *machine_origin_text(const struct machine_origin *origin)
{
    static const char *const texts[MACHINE_SOURCES] = {
        [MACHINE_UNUSED] = N_("this device needs no figures of the machine"),
        [MACHINE_FIXED] = N_("fixed rules: the figures of this machine cannot be stored"),
        [MACHINE_STORED] = N_("the stored figures of this machine"),
        [MACHINE_MEASURED] = N_("the figures of this machine, measured now and stored"),
        [MACHINE_UNSTORED] = N_("figures measured by this process, which could not be stored"),
    };
    return gettext(texts[origin->source]);
}
