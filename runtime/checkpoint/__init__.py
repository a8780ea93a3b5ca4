"""Checkpoints: safetensors files, a cursor, and a marker that is written last."""
