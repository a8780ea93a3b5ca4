"""The compiler: an experiment in the language becomes StableHLO (`frontend`), then one artifact (`passes`)."""
