# check-long: real data, up to hours.
LONG_TESTS = \
	%D%/aarch64_long.sh \
	%D%/accuracy_long.sh \
	%D%/after_long.sh \
	%D%/caffe_long.sh \
	%D%/commands_faults_long.sh \
	%D%/confusion_long.sh \
	%D%/container_long.sh \
	%D%/crash_states_long.sh \
	%D%/cuda_device_long.sh \
	%D%/faults_long.sh \
	%D%/find_rate_long.sh \
	%D%/fresh_machine.sh \
	%D%/fuzz_long.sh \
	%D%/gan_trajectories_long.sh \
	%D%/hosts_long.sh \
	%D%/kernels_long.sh \
	%D%/load_long.sh \
	%D%/mpi_long.sh \
	%D%/onnx_long.sh \
	%D%/onnx_top1_long.sh \
	%D%/packages_long.sh \
	%D%/portability_long.sh \
	%D%/prune_long.sh \
	%D%/ranks_torture_long.sh \
	%D%/reproducible_long.sh \
	%D%/research_long.sh \
	%D%/signals_long.sh \
	%D%/storm_long.sh \
	%D%/sweep_ends_long.sh \
	%D%/tensorboard_long.sh \
	%D%/tensorboard_server_long.sh \
	%D%/torch_long.sh \
	%D%/torture_long.sh \
	%D%/trajectories_long.sh \
	%D%/turns_long.sh \
	%D%/valgrind_long.sh \
	%D%/watch_long.sh \
	%D%/whole_lists_long.sh
EXTRA_DIST += $(LONG_TESTS) \
	%D%/caffe_check.py \
	%D%/distillation_trial.sh \
	%D%/link_relay.c \
	%D%/onnx_check.py \
	%D%/onnx_top1.py \
	%D%/research_check.py \
	%D%/tensorboard_check.py \
	%D%/tensorboard_server_check.py \
	%D%/torch_check.py \
	%D%/watch_check.py \
	%D%/watch_trainers.py
# the programs that they run
long_test_programs = json_look$(EXEEXT) journal_lines$(EXEEXT) make_picture$(EXEEXT) parity_test$(EXEEXT) kernels_test$(EXEEXT) \
	screens_test$(EXEEXT) threads_test$(EXEEXT) fuzz_seeds$(EXEEXT) cuda_device_test$(EXEEXT)
check-long: all
	$(MAKE) $(AM_MAKEFLAGS) check check_PROGRAMS='$(long_test_programs)' TESTS='$(LONG_TESTS)'
.PHONY: check-long
