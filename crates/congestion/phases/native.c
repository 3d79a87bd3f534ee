/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* phases.h for the simulator, called by src/phases.rs. */
#include "phases.h"

int suimon_phases_enter(struct phases *p, struct cc *c, u32 phase, u32 window, u32 age_max_ms);

int suimon_phases_enter(struct phases *p, struct cc *c, u32 phase, u32 window, u32 age_max_ms)
{
	return phases_enter(p, c, phase, window, age_max_ms);
}

_Static_assert(sizeof(struct phase_ended) == 12, "packs as Ended");
_Static_assert(sizeof(struct phases) == 4 + 12 * PHASES_MAX, "packs as Phases");
