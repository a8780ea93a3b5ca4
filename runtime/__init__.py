"""What runs an artifact: session, training loop, checkpoints and the run folder. Never imports the compiler."""
