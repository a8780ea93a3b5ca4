"""StableHLO to an artifact: one file a pass; `pipeline` reads as the table of contents."""
