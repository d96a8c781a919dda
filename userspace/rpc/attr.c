/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks of what a program asks for. */
#include "attr.h"

#include <errno.h>

#include "../base/parse.h"
#include "../base/why.h"
#include "../nic/nic.h"

/* A number of an attribute, and the largest that it may be. */
struct number {
	const char *name;
	uint64_t value, max;
};

static int service_check(const char *service, char *why, size_t len)
{
	if (!service)
		return far_why(why, len, -EINVAL, "the name of a service expected");
	if (!far_parse_is_name(service, FAR_SERVICE_MAX))
		return far_why(why, len, -EINVAL, "service \"%s\": 1 to %u letters, digits, "
			       "'-', '_' and '.' expected, and no '.' at first", service,
			       FAR_SERVICE_MAX);
	return 0;
}

static int numbers_check(const char *service, const struct number *number, unsigned nr,
			 char *why, size_t len)
{
	unsigned i;

	for (i = 0; i < nr; i++)
		if (number[i].value > number[i].max)
			return far_why(why, len, -EINVAL, "service \"%s\": %s %llu: at most "
				       "%llu expected", service, number[i].name,
				       (unsigned long long)number[i].value,
				       (unsigned long long)number[i].max);
	return 0;
}

int rpc_attr_check(const struct far_rpc_attr *attr, char *why, size_t why_len)
{
	const struct number number[] = {
		{ "qps", attr->qps, FAR_RPC_QPS_MAX },
		{ "batch", attr->batch, RPC_BATCH_MAX },
	};
	int err = service_check(attr->service, why, why_len);

	return err ? err : numbers_check(attr->service, number, 2, why, why_len);
}

int rpc_server_attr_check(const struct far_rpc_server_attr *attr, char *why, size_t why_len)
{
	const struct number number[] = {
		{ "threads", attr->threads, RPC_WORKERS_MAX },
		{ "connections", attr->connections, RPC_CONNECTIONS_MAX },
		{ "nr_handlers", attr->nr_handlers, FAR_RPC_HANDLERS_MAX },
		{ "memory", attr->memory, FAR_RPC_MEMORY_MAX },
	};
	int err = service_check(attr->service, why, why_len);

	if (!err)
		err = numbers_check(attr->service, number, 4, why, why_len);
	if (!err && attr->nr_handlers && !attr->handlers)
		err = far_why(why, why_len, -EINVAL, "service \"%s\": handlers NULL: %u handlers "
			      "expected", attr->service, attr->nr_handlers);
	return err;
}

int rpc_nic_open(const char *spec, char *why, size_t why_len, struct far_nic **ret_nic)
{
	if (!spec)
		return far_why(why, why_len, -EINVAL, "the name of a back end expected");
	return far_nic_open(spec, why, why_len, ret_nic);
}
