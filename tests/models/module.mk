# The tests of src/models.
MODELS_CASES = \
	%D%/energy_test.c \
	%D%/error_analysis_test.c \
	%D%/gpu_meter_test.c
check_PROGRAMS += models_test
TESTS += $(MODELS_CASES)
models_test_SOURCES = $(MODELS_CASES) $(CASES_MAIN) tests/powercap_tree.h
models_test_LDADD = $(STUDIES_LIBS)
# stand-ins for NVIDIA's management library
FAKE_NVML = fake_nvml.so fake_nvml_without_count.so fake_nvml_refuses.so fake_nvml_lost.so
check_DATA += $(FAKE_NVML)
CLEANFILES += $(FAKE_NVML)
EXTRA_DIST += %D%/fake_nvml.c
FAKE_NVML_BUILD = $(AM_V_CCLD)$(CC) $(CFLAGS) -shared -fPIC -o $@ $(srcdir)/%D%/fake_nvml.c
fake_nvml.so: %D%/fake_nvml.c
	$(FAKE_NVML_BUILD)
fake_nvml_without_count.so: %D%/fake_nvml.c
	$(FAKE_NVML_BUILD) -DFAKE_WITHOUT_COUNT
fake_nvml_refuses.so: %D%/fake_nvml.c
	$(FAKE_NVML_BUILD) -DFAKE_REFUSES
fake_nvml_lost.so: %D%/fake_nvml.c
	$(FAKE_NVML_BUILD) -DFAKE_LOST
