/* Finds and opens the module that draws with Cairo.
 *
 * The file is looked for beside the program first, where the build puts it, and then where it is
 * installed. The module is opened once and never closed, because Cairo and fontconfig keep caches
 * for the whole process. A module of another build is refused before any of its functions but
 * CANVAS_MODULE_FUNCTION is called: its structures may be laid out differently. */
#include "exchange/export/canvas.h"

#include "base/language.h"
#include "base/program_file.h"

#include <config.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char subject[] = N_("the chart");

static const struct canvas_module *check_module(const struct canvas_module *module,
                                                const char *path, struct error *error)
{
    if (module && module->interface == CANVAS_INTERFACE && module->bytes == sizeof *module &&
        strcmp(module->version, PACKAGE_VERSION) == 0)
        return module;
    error_set(error, ERROR_UNSUPPORTED, subject, "build and install tinca again",
              "%s was built for another version of tinca", path);
    return NULL;
}

const struct canvas_module *canvas_load_from(const char *path, struct error *error)
{
    canvas_module_function *function;
    if (access(path, F_OK) != 0) {
        error_set(error, ERROR_UNSUPPORTED, subject, "run \"make install\" again",
                  "the module that draws charts is missing: there is no %s", path);
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        error_set(error, ERROR_UNSUPPORTED, subject, "install Cairo (Debian: libcairo2)",
                  "the module that draws charts cannot be loaded: %s", dlerror());
        return NULL;
    }
    void *symbol = dlsym(library, CANVAS_MODULE_FUNCTION);
    memcpy(&function, &symbol, sizeof function); /* ISO C does not cast objects to functions */
    const struct canvas_module *module = check_module(symbol ? function() : NULL, path, error);
    if (!module)
        dlclose(library);
    return module;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct canvas_module *loaded;
static struct error refusal; /* why there is no module */

static void load_once(void)
{
    char path[4096];
    if (!HAVE_CAIRO) {
        error_set(&refusal, ERROR_UNSUPPORTED, subject,
                  "install libcairo2-dev, run configure and make again; or export CSV, JSON or a "
                  "report without a chart",
                  "this tinca was built without Cairo, which draws charts");
        return;
    }
    if (!program_file_beside(CANVAS_MODULE_FILE, path, sizeof path))
        snprintf(path, sizeof path, "%s/%s", PKGLIBDIR, CANVAS_MODULE_FILE);
    loaded = canvas_load_from(path, &refusal);
}

const struct canvas_module *canvas_load(struct error *error)
{
    pthread_once(&once, load_once);
    if (!loaded && error)
        *error = refusal;
    return loaded;
}
