// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
/*
 * An energy zone whose counter is what was last written to its parameter: an emulated CPU has no energy to count. The
 * files are those of the kernel's powercap framework, under the name and with the range of Intel's driver.
 */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/powercap.h>

#define RANGE_UJ 262143328850ULL
#define LIMIT_UW 65000000ULL

static ulong energy_uj;
module_param(energy_uj, ulong, 0644);
MODULE_PARM_DESC(energy_uj, "what the counter shows");

static struct powercap_control_type *rapl;
static struct powercap_zone *package;

static int energy(struct powercap_zone *zone, u64 *uj)
{
	*uj = energy_uj;
	return 0;
}

static int range(struct powercap_zone *zone, u64 *uj)
{
	*uj = RANGE_UJ;
	return 0;
}

static const struct powercap_zone_ops ops = {
	.get_energy_uj = energy,
	.get_max_energy_range_uj = range,
};

/* One limit, which nobody can change. A driver has no window for each limit, and then answers this. */
static int get_limit(struct powercap_zone *zone, int id, u64 *uw)
{
	*uw = LIMIT_UW;
	return 0;
}

static int get_window(struct powercap_zone *zone, int id, u64 *us)
{
	return -ENODATA;
}

static int set(struct powercap_zone *zone, int id, u64 value)
{
	return -EPERM;
}

static const char *limit_name(struct powercap_zone *zone, int id)
{
	return "long_term";
}

static const struct powercap_zone_constraint_ops limits = {
	.get_power_limit_uw = get_limit,
	.set_power_limit_uw = set,
	.get_time_window_us = get_window,
	.set_time_window_us = set,
	.get_name = limit_name,
};

static int __init zone_init(void)
{
	rapl = powercap_register_control_type(NULL, "intel-rapl", NULL);
	if (IS_ERR(rapl))
		return PTR_ERR(rapl);
	package = powercap_register_zone(NULL, rapl, "package-0", NULL, &ops, 1, &limits);
	if (IS_ERR(package)) {
		powercap_unregister_control_type(rapl);
		return PTR_ERR(package);
	}
	return 0;
}

static void __exit zone_exit(void)
{
	powercap_unregister_zone(rapl, package);
	powercap_unregister_control_type(rapl);
}

module_init(zone_init);
module_exit(zone_exit);
MODULE_DESCRIPTION("an energy zone that counts what it is told");
MODULE_LICENSE("GPL");
