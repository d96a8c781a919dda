// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A poll that finds nothing weighs more than one that finds work: it takes longer. */
#include "spin.h"

void snic_spin_found(struct snic_spin *spin, uint64_t now)
{
	if (spin->polling)
		spin->wait /= 2;
	spin->polling = false;
	spin->since = now;
}

bool snic_spin_on(struct snic_spin *spin, uint64_t now)
{
	if (spin->off || !spin->max_ns)
		return false;
	if (now - spin->since < spin->max_ns) {
		spin->polling = true;
		return true;
	}
	spin->polling = false;
	spin->off = true;
	spin->naps = 0;
	spin->wait = spin->wait * 4 + 1;
	if (spin->wait > SNIC_SPIN_MAX_WAIT)
		spin->wait = SNIC_SPIN_MAX_WAIT;
	return false;
}

void snic_spin_slept(struct snic_spin *spin, uint64_t ns)
{
	if (ns < spin->max_ns && ++spin->naps >= spin->wait)
		spin->off = false;
}
