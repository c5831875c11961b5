# The tests of src/engine without those of kernels.
ENGINE_CASES = \
	%D%/adam_test.c \
	%D%/batch_subtrees_test.c \
	%D%/bf16_test.c \
	%D%/choice_test.c \
	%D%/cluster_hang_test.c \
	%D%/cluster_stuck_test.c \
	%D%/execution_test.c \
	%D%/factorization_test.c \
	%D%/gan_test.c \
	%D%/gradient_buckets_test.c \
	%D%/gradient_test.c \
	%D%/image_blocks_test.c \
	%D%/int8_test.c \
	%D%/layer_reader_test.c \
	%D%/loss_scale_test.c \
	%D%/network_test.c \
	%D%/network_write_test.c \
	%D%/ops_test.c \
	%D%/parameter_groups_test.c \
	%D%/perceptron_test.c \
	%D%/plan_test.c \
	%D%/prune_test.c \
	%D%/quantize_test.c \
	%D%/rank_device_test.c \
	%D%/read_through_test.c \
	%D%/recompute_test.c \
	%D%/safetensors_test.c \
	%D%/soft_targets_test.c \
	%D%/traffic_test.c \
	%D%/training_test.c
check_PROGRAMS += engine_test
TESTS += $(ENGINE_CASES)
engine_test_SOURCES = $(ENGINE_CASES) $(CASES_MAIN) %D%/factorization_golden.h %D%/loss_scale_golden.h %D%/perceptron_golden.h %D%/prune_golden.h %D%/quantize_golden.h tests/instruction_sets.h tests/thread_ranks.h
engine_test_LDADD = libopharness.a $(ENGINE_LIBS)
# networks in bf16 and int8 with AMX, which is emulated
check_PROGRAMS += bf16_amx_test int8_amx_test
TESTS += bf16_amx_test int8_amx_test
bf16_amx_test_SOURCES = %D%/bf16_test.c $(CASES_MAIN) tests/amx_assumed.c tests/amx_emulator.c tests/amx_emulator.h
bf16_amx_test_CPPFLAGS = $(AM_CPPFLAGS) -DEMULATED
bf16_amx_test_LDADD = $(ENGINE_LIBS)
int8_amx_test_SOURCES = %D%/int8_test.c $(CASES_MAIN) tests/amx_assumed.c tests/amx_emulator.c tests/amx_emulator.h
int8_amx_test_LDADD = $(ENGINE_LIBS)
