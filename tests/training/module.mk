# The tests of src/training.
TRAINING_CASES = \
	%D%/computed_with_test.c \
	%D%/experiment_test.c \
	%D%/fallback_test.c \
	%D%/find_rate_test.c \
	%D%/gan_run_test.c \
	%D%/hostile_test.c \
	%D%/memory_test.c \
	%D%/roofline_test.c \
	%D%/run_energy_test.c \
	%D%/scaling_test.c
check_PROGRAMS += training_test
TESTS += $(TRAINING_CASES)
training_test_SOURCES = $(TRAINING_CASES) $(CASES_MAIN) tests/cuda/lab.h tests/cuda/lacking.h tests/powercap_tree.h tests/session_files.h tests/stopped_run.h
training_test_LDADD = $(STUDIES_LIBS)
