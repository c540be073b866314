"""Planning: engines, MemPlan, verification and the replanning policy."""
