// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
/*
 * Tells the kernel that the CPUs have the registers APERF and MPERF, from which x86 works out the current frequency. An
 * emulated CPU has none and answers 0; what matters is what the kernel does to ask for them: before Linux 5.19 it
 * interrupts the CPU and sleeps whenever somebody reads scaling_cur_freq.
 */
#include <linux/module.h>
#include <asm/cpufeature.h>
#include <asm/processor.h>

static int __init aperf_init(void)
{
	set_cpu_cap(&boot_cpu_data, X86_FEATURE_APERFMPERF);
	return 0;
}

static void __exit aperf_exit(void)
{
	clear_bit(X86_FEATURE_APERFMPERF, (unsigned long *)boot_cpu_data.x86_capability);
}

module_init(aperf_init);
module_exit(aperf_exit);
MODULE_DESCRIPTION("frequency registers that are not there");
MODULE_LICENSE("GPL");
