"""The training loop: what is counted, how long it goes on, where batches come from, and the loop itself."""
